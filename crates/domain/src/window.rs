// SPDX-License-Identifier: Apache-2.0
//! Maintenance time windows: parsing, opening times, and the next window.
//!
//! ```text
//! nominal    22:00 ├──────────────────────────────────┤ 23:00
//! effective  22:00 ├─────────────────────────┤ 22:45           both ends inclusive, whole seconds
//! next       22:00 ├─────────────────────────◁ 22:45           a point in it is drawn; the end is not reached
//! ```
//!
//! Source: pkg/utils/timewindow/timewindow.go, pkg/utils/gardener/shoot.go @ v1.120.0.

use std::fmt;

use api::core::{Maintenance, MaintenanceTimeWindow, Shoot};
use chrono::{DateTime, NaiveTime, TimeDelta, Timelike, Utc};

const DAY: u32 = 24 * 60 * 60;

/// Minutes before the end of a window in which no new maintenance begins; a text, so that constant texts can contain it.
pub const CUT_MINUTES: &str = "15";

const CUT_SECONDS: u32 = match u32::from_str_radix(CUT_MINUTES, 10) {
    Ok(minutes) => minutes * 60,
    Err(_) => panic!("a number"),
};

/// A time of day in UTC, whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(u32);

/// Error of a text that is not a time of day: the detail is Go's, `parsing time "x" as "150405-0700": …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not parse the value into the maintenanceTime format: {detail}")]
pub struct ParseError {
    detail: String,
}

/// Error of a window that does not parse. The begin is parsed first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// The begin does not parse.
    #[error("could not parse begin time: {0}")]
    Begin(#[source] ParseError),
    /// The end does not parse.
    #[error("could not parse end time: {0}")]
    End(#[source] ParseError),
}

impl TimeOfDay {
    /// Creates a time of day from a count of seconds; more than a day wraps.
    pub const fn from_seconds(seconds: u32) -> Self {
        Self(seconds % DAY)
    }

    /// Seconds since midnight.
    pub const fn seconds(self) -> u32 {
        self.0
    }

    /// The time of day of an instant, cut to seconds.
    pub fn of(instant: DateTime<Utc>) -> Self {
        Self(instant.num_seconds_from_midnight())
    }

    /// Reads `HHMMSS+HHMM` or `HHMMSS-HHMM`.
    ///
    /// Shape: two digits each for hour (00-23), minute and second; a fraction after `.` or `,` is ignored; the offset
    /// may have 00-24 hours and 00-60 minutes.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse_time_of_day(text).map_err(|detail| ParseError { detail })
    }

    fn on_day_of(self, instant: DateTime<Utc>) -> DateTime<Utc> {
        instant.date_naive().and_time(NaiveTime::MIN).and_utc() + TimeDelta::seconds(i64::from(self.0))
    }
}

/// Formats the time as `HH:MM:SS`.
impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}", self.0 / 3600, self.0 / 60 % 60, self.0 % 60)
    }
}

/// Parses by Go's layout `150405-0700`, with Go's error texts.
fn parse_time_of_day(text: &str) -> Result<TimeOfDay, String> {
    let cannot = |rest: &str, element: &str| {
        format!("parsing time {text:?} as \"150405-0700\": cannot parse {rest:?} as {element:?}")
    };
    let out_of_range = |what: &str| format!("parsing time {text:?}: {what} out of range");

    let mut rest = text;
    let mut values = [0; 3];
    for (value, (element, limit, name)) in
        values.iter_mut().zip([("15", 24, "hour"), ("04", 60, "minute"), ("05", 60, "second")])
    {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count().min(2);
        // Go accepts an hour of one digit, and then fails at the minute.
        if digits == 0 || (digits == 1 && element != "15") {
            return Err(cannot(rest, element));
        }
        let (number, after) = rest.split_at(digits);
        *value = number.parse().unwrap_or(limit);
        if *value >= limit {
            return Err(out_of_range(name));
        }
        rest = after;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ','])
        && fraction.starts_with(|first: char| first.is_ascii_digit())
    {
        rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
    }
    let offset = rest.as_bytes();
    let is_offset =
        offset.len() >= 5 && matches!(offset[0], b'+' | b'-') && offset[1..5].iter().all(u8::is_ascii_digit);
    if !is_offset {
        return Err(cannot(rest, "-0700"));
    }
    let number = |from: usize| u32::from(offset[from] - b'0') * 10 + u32::from(offset[from + 1] - b'0');
    let (hours, minutes) = (number(1), number(3));
    if hours > 24 {
        return Err(out_of_range("time zone offset hour"));
    }
    if minutes > 60 {
        return Err(out_of_range("time zone offset minute"));
    }
    if rest.len() > 5 {
        return Err(format!("parsing time {text:?}: extra text: {:?}", &rest[5..]));
    }
    let [hour, minute, second] = values;
    let local = hour * 3600 + minute * 60 + second;
    let shift = hours * 3600 + minutes * 60;
    // Two days are added so that the difference stays positive.
    Ok(TimeOfDay::from_seconds(if offset[0] == b'+' { local + 2 * DAY - shift } else { local + shift }))
}

/// A daily window: two times of day, both inclusive; it crosses midnight if its end lies before its begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First second of the window.
    pub begin: TimeOfDay,
    /// Last second of the window.
    pub end: TimeOfDay,
}

impl Window {
    /// 00:00:00 to 23:59:59.
    pub const ALWAYS: Self = Self { begin: TimeOfDay(0), end: TimeOfDay(DAY - 1) };

    /// Reads a window as written in the spec: nothing is cut.
    pub fn parse(begin: &str, end: &str) -> Result<Self, WindowError> {
        let begin = TimeOfDay::parse(begin).map_err(WindowError::Begin)?;
        let end = TimeOfDay::parse(end).map_err(WindowError::End)?;
        Ok(Self { begin, end })
    }

    /// Returns the same window with its end earlier by [`CUT_MINUTES`], on the clock face: it may stop crossing midnight
    /// by that.
    pub const fn effective(self) -> Self {
        Self { begin: self.begin, end: TimeOfDay::from_seconds(self.end.0 + DAY - CUT_SECONDS) }
    }

    /// Returns the time from begin to end; a whole day if they are equal.
    pub fn duration(self) -> TimeDelta {
        let seconds = (self.end.0 + DAY - self.begin.0) % DAY;
        TimeDelta::seconds(i64::from(if seconds == 0 { DAY } else { seconds }))
    }

    /// Returns true if an instant, cut to seconds, lies in the window; both ends are inside.
    pub fn contains(self, instant: DateTime<Utc>) -> bool {
        let time = TimeOfDay::of(instant);
        if self.end < self.begin {
            time <= self.end || time >= self.begin
        } else {
            self.begin <= time && time <= self.end
        }
    }

    /// The window's begin on the day of an instant.
    pub fn begin_on_day_of(self, instant: DateTime<Utc>) -> DateTime<Utc> {
        self.begin.on_day_of(instant)
    }

    /// The window's end for [`Window::begin_on_day_of`]: the day after, unless it lies behind the begin.
    pub fn end_on_day_of(self, instant: DateTime<Utc>) -> DateTime<Utc> {
        let end = self.end.on_day_of(instant);
        if self.end <= self.begin { end + TimeDelta::days(1) } else { end }
    }

    /// Returns the next window as seen from an instant: the one of today if it has not begun, else the one of
    /// tomorrow.
    ///
    /// From inside a window that began yesterday it is the one that begins today; from the exact begin of a window it
    /// is that window.
    pub fn next(self, from: DateTime<Utc>) -> Span {
        let (begin, end) = (self.begin_on_day_of(from), self.end_on_day_of(from));
        let later =
            if begin < from && (self.contains(from) || from > end) { TimeDelta::days(1) } else { TimeDelta::zero() };
        Span { earliest: begin + later, end: end + later }
    }

    /// Returns the rest of the window that contains `from`; outside of a window, [`Window::next`]. From the window's
    /// last second on the rest is empty and stands for `from` itself.
    pub fn rest_or_next(self, from: DateTime<Utc>) -> Span {
        if !self.contains(from) {
            return self.next(from);
        }
        let today = self.end_on_day_of(from);
        let began_yesterday = from.hour() < self.begin.0 / 3600;
        let end = if began_yesterday { today - TimeDelta::days(1) } else { today };
        Span { earliest: from, end: end.max(from) }
    }
}

/// A stretch of time from which an instant is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first instant that can be drawn.
    pub earliest: DateTime<Utc>,
    /// The first instant after `earliest` that cannot be drawn; equal to it for an empty span.
    pub end: DateTime<Utc>,
}

impl Span {
    /// The instant for a random number: uniform over the span's nanoseconds; `earliest` for an empty span.
    pub fn instant(self, draw: u64) -> DateTime<Utc> {
        let nanoseconds = (self.end - self.earliest).num_nanoseconds().and_then(|length| u64::try_from(length).ok());
        match nanoseconds {
            None | Some(0) => self.earliest,
            Some(length) => self.earliest + TimeDelta::nanoseconds((draw % length).cast_signed()),
        }
    }

    /// Days since 1970 of the span's begin: the ordinal of the draws of one Shoot.
    pub fn ordinal(self) -> u64 {
        u64::try_from(self.earliest.timestamp().div_euclid(i64::from(DAY))).unwrap_or_default()
    }
}

/// Returns the window of a Shoot as specified; `None` if there is none or it does not parse.
pub fn nominal_window(maintenance: Option<&Maintenance>) -> Option<Window> {
    let window = maintenance?.time_window.as_ref()?;
    Window::parse(&window.begin, &window.end).ok()
}

/// Returns the part of the specified maintenance window in which new maintenance may begin;
/// [`crate::maintenance::upcoming`] decides whether it is the one that counts now.
///
/// Without `.spec.maintenance.timeWindow`, or with one that does not parse, the window is always open. Never fails.
/// Source: docs/usage/shoot/shoot_maintenance.md.
pub fn effective_window(shoot: &Shoot) -> Window {
    nominal_window(shoot.spec.maintenance.as_ref()).map_or(Window::ALWAYS, Window::effective)
}

/// The window that defaulting gives to a Shoot: one hour that begins at a full hour from 0 to 22, UTC.
pub fn default_window(draw: u64) -> MaintenanceTimeWindow {
    let hour = draw % 23;
    MaintenanceTimeWindow { begin: format!("{hour:02}0000+0000"), end: format!("{:02}0000+0000", hour + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> DateTime<Utc> {
        let text = if text.len() == 20 { text.to_owned() } else { format!("2025-06-{text}Z") };
        text.parse().expect("RFC 3339")
    }

    /// Text, and the time of day in UTC or Go's error.
    const TIMES: &str = r#"
220000+0000      => 22:00:00
220000+0100      => 21:00:00
003000+0200      => 22:30:00
230000-0500      => 04:00:00
220000,25+0000   => 22:00:00
220000.9+0000    => 22:00:00
235959+2400      => 23:59:59
000000-2460      => 01:00:00
220000Z          => parsing time "220000Z" as "150405-0700": cannot parse "Z" as "-0700"
220000           => parsing time "220000" as "150405-0700": cannot parse "" as "-0700"
220000.+0000     => parsing time "220000.+0000" as "150405-0700": cannot parse ".+0000" as "-0700"
2200+0000        => parsing time "2200+0000" as "150405-0700": cannot parse "+0000" as "05"
9+0000           => parsing time "9+0000" as "150405-0700": cannot parse "+0000" as "04"
22:00:00+0000    => parsing time "22:00:00+0000" as "150405-0700": cannot parse ":00:00+0000" as "04"
240000+0000      => parsing time "240000+0000": hour out of range
226000+0000      => parsing time "226000+0000": minute out of range
220060+0000      => parsing time "220060+0000": second out of range
220000+2500      => parsing time "220000+2500": time zone offset hour out of range
220000+0061      => parsing time "220000+0061": time zone offset minute out of range
220000+00000     => parsing time "220000+00000": extra text: "0"
"#;

    #[test]
    fn times_of_day_are_read_as_go_reads_them() {
        for row in TIMES.lines().filter(|row| !row.is_empty()) {
            let (text, expected) = row.split_once("=>").expect("row has an arrow");
            let actual = match TimeOfDay::parse(text.trim()) {
                Ok(time) => time.to_string(),
                Err(error) => error.detail,
            };
            assert_eq!(actual, expected.trim(), "row: {row}");
        }
    }

    #[test]
    fn errors_name_the_side_and_the_format() {
        let error = Window::parse("x", "y").unwrap_err().to_string();
        let expected = "could not parse begin time: could not parse the value into the maintenanceTime format: \
                        parsing time \"x\" as \"150405-0700\": cannot parse \"x\" as \"15\"";
        assert_eq!(error, expected);
        let error = Window::parse("220000+0000", "y").unwrap_err().to_string();
        assert!(error.starts_with("could not parse end time: "), "{error}");
    }

    /// Nominal window, effective window, instants inside, instants outside.
    const WINDOWS: &str = "
220000+0000 230000+0000 | 22:00:00 22:45:00 | 15T22:00:00 15T22:45:00 15T22:45:00.9 | 15T21:59:59 15T22:45:01
230000+0000 010000+0000 | 23:00:00 00:45:00 | 15T23:00:00 15T00:45:00 15T00:00:00   | 15T22:59:59 15T00:45:01 15T12:00:00
233000+0000 001000+0000 | 23:30:00 23:55:00 | 15T23:30:00 15T23:55:00               | 15T23:55:01 15T00:05:00
220000+0100 230000+0000 | 21:00:00 22:45:00 | 15T21:00:00                           | 15T20:59:59
";

    #[test]
    fn effective_windows_end_15_minutes_earlier_inclusive() {
        for row in WINDOWS.lines().filter(|row| !row.is_empty()) {
            let cells: Vec<Vec<&str>> = row.split('|').map(|cell| cell.split_whitespace().collect()).collect();
            let window = Window::parse(cells[0][0], cells[0][1]).expect("window").effective();
            assert_eq!([window.begin.to_string(), window.end.to_string()], cells[1][..], "row: {row}");
            assert!(cells[2].iter().all(|inside| window.contains(instant(inside))), "row: {row}");
            assert!(!cells[3].iter().any(|outside| window.contains(instant(outside))), "row: {row}");
        }
    }

    /// Instant, and the next window; the last cell is the rest of the present one.
    const NEXT: &str = "
22-23 15T10:00:00 => 15T22:00:00 15T22:45:00
22-23 15T22:10:00 => 16T22:00:00 16T22:45:00 | 15T22:10:00 15T22:45:00
22-23 15T22:50:00 => 16T22:00:00 16T22:45:00
22-23 15T22:00:00 => 15T22:00:00 15T22:45:00 | 15T22:00:00 15T22:45:00
22-23 15T22:00:00.000000001 => 16T22:00:00 16T22:45:00 | 15T22:00:00.000000001 15T22:45:00
22-23 15T22:45:00 => 16T22:00:00 16T22:45:00 | 15T22:45:00 15T22:45:00
22-23 15T22:45:00.5 => 16T22:00:00 16T22:45:00 | 15T22:45:00.5 15T22:45:00.5
23-01 15T23:30:00 => 16T23:00:00 17T00:45:00 | 15T23:30:00 16T00:45:00
23-01 15T00:30:00 => 15T23:00:00 16T00:45:00 | 15T00:30:00 15T00:45:00
23-01 15T00:50:00 => 15T23:00:00 16T00:45:00
";

    #[test]
    fn next_window_is_today_or_tomorrow() {
        for row in NEXT.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let mut words = given.split_whitespace();
            let (begin, end) = words.next().and_then(|hours| hours.split_once('-')).expect("row has hours");
            let window = Window::parse(&format!("{begin}0000+0000"), &format!("{end}0000+0000")).expect("window");
            let window = window.effective();
            let from = instant(words.next().expect("row has an instant"));
            let spans: Vec<Span> = expected
                .split('|')
                .map(|cell| {
                    let ends: Vec<_> = cell.split_whitespace().map(instant).collect();
                    Span { earliest: ends[0], end: ends[1] }
                })
                .collect();
            assert_eq!(window.next(from), spans[0], "row: {row}");
            assert_eq!(window.rest_or_next(from), *spans.last().expect("a span"), "row: {row}");
        }
    }

    #[test]
    fn draws_are_spread_over_the_span_without_its_end() {
        let span = Window::ALWAYS.next(instant("15T12:00:00"));
        assert_eq!(span.instant(0), instant("16T00:00:00"));
        let length = 86_399_000_000_000;
        assert_eq!(span.instant(length - 1), instant("16T23:59:58.999999999"));
        assert_eq!(span.instant(length), instant("16T00:00:00"));
        assert_eq!(span.ordinal(), 20_255);
        let empty = Span { earliest: span.earliest, end: span.earliest };
        assert_eq!(empty.instant(7), span.earliest);
    }

    #[test]
    fn default_windows_are_full_hours_from_0_to_22() {
        let window = |draw| {
            let window = default_window(draw);
            (window.begin, window.end)
        };
        assert_eq!(window(0), ("000000+0000".to_owned(), "010000+0000".to_owned()));
        assert_eq!(window(22), ("220000+0000".to_owned(), "230000+0000".to_owned()));
        assert_eq!(window(23), window(0));
    }

    #[test]
    fn a_window_without_length_lasts_a_day() {
        let hours = |begin, end| Window::parse(begin, end).expect("window").duration().num_hours();
        assert_eq!(hours("220000+0000", "220000+0000"), 24);
        assert_eq!(hours("220000+0000", "040000+0000"), 6);
        assert_eq!(hours("220000+0100", "230000+0000"), 2);
    }
}
