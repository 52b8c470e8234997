// SPDX-License-Identifier: Apache-2.0
//! Instants on the command line, in one form for all commands: an instant, a day, `now`, or a distance from now.
//!
//! ```text
//! 2025-01-31T10:00:00Z · 2025-01-31 (its midnight) · now · 90s, 24h, 2w, 1h30m (ago, or ahead, as the option says)
//! ```
//!
//! **Tour.** [`goal`] instants to which the clock is moved.

pub mod goal;

use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use clock::END;

use crate::Error;

/// An instant, or its distance from now, in the direction that the option defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// A fixed instant.
    At(DateTime<Utc>),
    /// Distance from now; not negative.
    Off(TimeDelta),
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("now") {
            return Ok(Self::Off(TimeDelta::zero()));
        }
        if let Some(instant) = instant(text) {
            return Ok(Self::At(instant));
        }
        duration(text).map(Self::Off).map_err(|error| {
            if text.starts_with('-') && error.contains("is negative") {
                return error;
            }
            format!(
                "`{text}` is no instant: use 2027-01-31, 2027-01-31T10:00:00Z, now, or a duration as 90s, 24h or 2w"
            )
        })
    }
}

impl When {
    /// Returns the instant, with a duration counted back from `now`.
    pub fn before(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::At(instant) => instant,
            Self::Off(length) => now.checked_sub_signed(length).map_or_else(first, |instant| instant.max(first())),
        }
    }

    /// Returns the instant, with a duration counted forward from `now`.
    pub fn behind(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::At(instant) => instant,
            Self::Off(length) => now.checked_add_signed(length).map_or(END, |instant| instant.min(END)),
        }
    }
}

/// A position in the log: a revision, or a time, which stands for the last revision at or before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A revision.
    Revision(u64),
    /// The last revision at or before a time.
    At(When),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(revision) = text.parse() {
            return Ok(Self::Revision(revision));
        }
        text.parse().map(Self::At).map_err(|error: String| {
            if error.contains("is negative") {
                return error;
            }
            format!("`{text}` is neither a revision (1042) nor a time (2027-01-31T10:00:00Z, 2027-01-31, now, 2h)")
        })
    }
}

/// Parses RFC 3339, or a date, which stands for its midnight in UTC; years have four digits.
fn instant(text: &str) -> Option<DateTime<Utc>> {
    let day = |text: &str| Some(text.parse::<NaiveDate>().ok()?.and_time(NaiveTime::MIN).and_utc());
    let instant = text.parse().ok().or_else(|| day(text))?;
    (first()..=END).contains(&instant).then_some(instant)
}

/// Adds a duration to an instant; `None`: the result is after the last instant that clients can read.
pub fn after(now: DateTime<Utc>, length: TimeDelta) -> Option<DateTime<Utc>> {
    now.checked_add_signed(length).filter(|instant| *instant <= END)
}

/// Adds a duration to an instant.
///
/// # Errors
/// The result is after the last instant that clients can read.
pub fn reach(now: DateTime<Utc>, length: TimeDelta) -> Result<DateTime<Utc>, Error> {
    let end = || format!("it ends at {}", crate::show(END));
    after(now, length).ok_or_else(|| Error::input("that is further than time goes", end()))
}

fn first() -> DateTime<Utc> {
    "0001-01-01T00:00:00Z".parse().expect("a literal instant")
}

/// Error for a negative duration, with the duration to use; `None` for any other text.
pub fn negative_duration(text: &str) -> Option<String> {
    let positive = text.strip_prefix('-').filter(|rest| !rest.starts_with('-') && duration(rest).is_ok())?;
    Some(format!("`{text}` is negative: a duration counts back or on as its option says, so use {positive}"))
}

/// Parses numbers with units, `90s` or `1h30m`.
pub fn duration(text: &str) -> Result<TimeDelta, String> {
    let wrong = || format!("`{text}` is no duration: use ms, s, m, h, d and w, as in 90s, 1h30m or 2w");
    if let Some(error) = negative_duration(text) {
        return Err(error);
    }
    let mut total = TimeDelta::zero();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|length| *length > 0).ok_or_else(wrong)?;
        let number: i64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let (unit, after) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let milliseconds = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 7 * 86_400_000,
            _ => return Err(wrong()),
        };
        let part = number.checked_mul(milliseconds).and_then(TimeDelta::try_milliseconds).ok_or_else(wrong)?;
        total = total.checked_add(&part).ok_or_else(wrong)?;
        rest = after;
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_days_and_weeks() {
        for (text, seconds) in [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("3d", 259_200), ("2w", 1_209_600)] {
            assert_eq!(duration(text), Ok(TimeDelta::seconds(seconds)), "{text}");
        }
        assert_eq!(duration("1s500ms"), Ok(TimeDelta::milliseconds(1500)));
        for text in ["", "5", "h", "1y", "-1h", "99999999999999999999s", "1é", "1.5h", "1h 2m"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn instants_days_and_distances_are_told_apart() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().expect("an instant");
        let now = at("2025-01-31T10:00:00Z");
        for (text, before, behind) in [
            ("2025-01-31T10:00:00Z", "2025-01-31T10:00:00Z", "2025-01-31T10:00:00Z"),
            ("2025-01-31T11:00:00+02:00", "2025-01-31T09:00:00Z", "2025-01-31T09:00:00Z"),
            ("2025-01-31", "2025-01-31T00:00:00Z", "2025-01-31T00:00:00Z"),
            ("now", "2025-01-31T10:00:00Z", "2025-01-31T10:00:00Z"),
            ("NOW", "2025-01-31T10:00:00Z", "2025-01-31T10:00:00Z"),
            ("2h", "2025-01-31T08:00:00Z", "2025-01-31T12:00:00Z"),
            ("90d", "2024-11-02T10:00:00Z", "2025-05-01T10:00:00Z"),
            ("1w1h", "2025-01-24T09:00:00Z", "2025-02-07T11:00:00Z"),
        ] {
            let when: When = text.parse().expect(text);
            assert_eq!((when.before(now), when.behind(now)), (at(before), at(behind)), "{text}");
            assert_eq!(text.parse(), Ok(Place::At(when)), "{text}");
        }
        assert_eq!("1042".parse(), Ok(Place::Revision(1042)));
        assert!("1042".parse::<When>().is_err(), "a number is no time");
        for text in ["", "-1", "yesterday", "2025-01-32", "31.1.2027", "1y", "+12027-01-31T00:00:00Z"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
            assert!(text.parse::<When>().is_err(), "{text}");
        }
        let last = at("9999-12-31T23:59:59Z");
        assert_eq!(after(last - TimeDelta::hours(1), TimeDelta::hours(1)), Some(last));
        assert_eq!(after(last, TimeDelta::nanoseconds(1)), None, "clients cannot read years of five digits");
        assert_eq!(after(now, TimeDelta::MAX), None);
        let refused = reach(last, TimeDelta::seconds(1)).expect_err("there is no later one");
        assert_eq!(refused.to_string(), "that is further than time goes");
        assert_eq!(refused.hint(), "it ends at 9999-12-31T23:59:59Z");
        let far: When = "999999999w".parse().expect("a distance");
        assert_eq!((far.before(now), far.behind(now)), (at("0001-01-01T00:00:00Z"), at("9999-12-31T23:59:59Z")));
    }

    #[test]
    fn negative_durations_are_explained() {
        for refused in [duration("-2h").err(), "-2h".parse::<When>().err(), "-2h".parse::<Place>().err()] {
            let refused = refused.expect("it is negative");
            assert!(refused.starts_with("`-2h` is negative") && refused.ends_with("use 2h"), "{refused}");
        }
        assert!(duration("-").is_err_and(|refused| refused.contains("is no duration")));
    }
}
