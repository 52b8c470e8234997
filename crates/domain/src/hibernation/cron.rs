// SPDX-License-Identifier: Apache-2.0
//! Cron schedules of five fields, as robfig/cron v1 parses and evaluates them.
//!
//! Shape: minute, hour, day of month, month, day of week, each `*`, `?`, numbers, names, ranges, steps and lists; or
//! a descriptor (`@daily`). If both days are restricted, either is enough. An activation is a minute of the local
//! clock: one that the clock skips in spring does not happen, one that it shows twice happens at the first.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

/// Fields of a schedule: least and greatest number, names of numbers.
const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Descriptors and their schedules.
const DESCRIPTORS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Number of days in which an activation is searched: a schedule for February 29th has one within eight years.
const HORIZON_DAYS: i64 = 9 * 366;

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Minutes of the local clock.
    Clock {
        /// Minutes of an hour, 0 to 59.
        minutes: BTreeSet<u32>,
        /// Hours of a day, 0 to 23.
        hours: BTreeSet<u32>,
        /// Days of the month; `None` if any.
        days: Option<BTreeSet<u32>>,
        /// Months of a year, 1 to 12.
        months: BTreeSet<u32>,
        /// Days of the week from Sunday, 0; `None` if any.
        weekdays: Option<BTreeSet<u32>>,
    },
    /// Fixed interval, `@every 90m`: whole seconds, at least one.
    Every(TimeDelta),
}

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// The message of the library.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Empty spec string".to_owned());
        }
        if text.starts_with('@') {
            if let Some((_, fields)) = DESCRIPTORS.iter().find(|(name, _)| *name == text) {
                return Self::parse(fields);
            }
            let Some(interval) = text.strip_prefix("@every ") else {
                return Err(format!("Unrecognized descriptor: {text}"));
            };
            let wrong = |error: &dyn std::fmt::Display| format!("Failed to parse duration {text}: {error}");
            let duration: apimachinery::meta::Duration = interval.parse().map_err(|error| wrong(&error))?;
            return Ok(Self::Every(TimeDelta::seconds(duration.to_chrono().num_seconds().max(1))));
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!("Expected exactly 5 fields, found {}: {text}", fields.len()));
        };
        let field = |text: &str, index: usize| field(text, FIELDS[index]);
        let (minutes, _) = field(minute, 0)?;
        let (hours, _) = field(hour, 1)?;
        let (days, any_day) = field(day, 2)?;
        let (months, _) = field(month, 3)?;
        let (weekdays, any_weekday) = field(weekday, 4)?;
        Ok(Self::Clock {
            minutes,
            hours,
            days: (!any_day).then_some(days),
            months,
            weekdays: (!any_weekday).then_some(weekdays),
        })
    }

    /// The first activation after an instant; `None` for a date that never comes.
    pub fn next(&self, after: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let Self::Clock { minutes, hours, .. } = self else {
            let Self::Every(interval) = self else { return None };
            return Some((after - TimeDelta::nanoseconds(i64::from(after.nanosecond()))) + *interval);
        };
        let first = after.with_timezone(&zone).date_naive();
        for offset in 0..HORIZON_DAYS {
            let date = first.checked_add_signed(TimeDelta::days(offset))?;
            if !self.is_on(date) {
                continue;
            }
            let times = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| (*hour, *minute)));
            let instants = times.filter_map(|(hour, minute)| {
                let time = NaiveTime::from_hms_opt(hour, minute, 0)?;
                Some(zone.from_local_datetime(&date.and_time(time)).earliest()?.with_timezone(&Utc))
            });
            if let Some(found) = instants.filter(|instant| *instant > after).min() {
                return Some(found);
            }
        }
        None
    }

    /// The last activation after `from` and not after `to`.
    pub fn last_within(&self, from: DateTime<Utc>, to: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let mut last = None;
        let mut next = self.next(from, zone);
        while let Some(activation) = next.filter(|activation| *activation <= to) {
            last = Some(activation);
            next = self.next(activation, zone);
        }
        last
    }

    fn is_on(&self, date: NaiveDate) -> bool {
        let Self::Clock { days, months, weekdays, .. } = self else { return false };
        let of_month = |days: &BTreeSet<u32>| days.contains(&date.day());
        let of_week = |days: &BTreeSet<u32>| days.contains(&date.weekday().num_days_from_sunday());
        months.contains(&date.month())
            && match (days, weekdays) {
                (None, None) => true,
                (Some(days), None) => of_month(days),
                (None, Some(weekdays)) => of_week(weekdays),
                (Some(days), Some(weekdays)) => of_month(days) || of_week(weekdays),
            }
    }
}

/// Returns the numbers of a field, and true if it begins a range with `*` or `?`.
fn field(text: &str, bounds: (u32, u32, &[&str])) -> Result<(BTreeSet<u32>, bool), String> {
    let (mut numbers, mut is_any) = (BTreeSet::new(), false);
    for expression in text.split(',').filter(|expression| !expression.is_empty()) {
        let (range, step, any) = range(expression, bounds)?;
        numbers.extend(range.step_by(step));
        is_any |= any;
    }
    Ok((numbers, is_any))
}

type Range = (std::ops::RangeInclusive<u32>, usize, bool);

fn range(expression: &str, (least, greatest, names): (u32, u32, &[&str])) -> Result<Range, String> {
    let number = |text: &str| -> Result<u32, String> {
        let named = names.iter().position(|name| *name == text.to_lowercase());
        if let Some(position) = named.and_then(|position| u32::try_from(position).ok()) {
            return Ok(least + position);
        }
        if text.strip_prefix('-').is_some_and(|rest| rest.parse::<u32>().is_ok()) {
            return Err(format!("Negative number ({text}) not allowed: {text}"));
        }
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        unsigned
            .parse()
            .map_err(|_| format!("Failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
    };
    let steps: Vec<&str> = expression.split('/').collect();
    let bounds: Vec<&str> = steps[0].split('-').collect();
    let is_any = matches!(bounds[0], "*" | "?");
    let (start, mut end) = match bounds[..] {
        ["*" | "?", ..] => (least, greatest),
        [single] => {
            let start = number(single)?;
            (start, start)
        }
        [first, last] => (number(first)?, number(last)?),
        _ => return Err(format!("Too many hyphens: {expression}")),
    };
    let step = match steps[..] {
        [_] => 1,
        [_, step] => {
            if bounds.len() == 1 {
                end = greatest;
            }
            number(step)?
        }
        _ => return Err(format!("Too many slashes: {expression}")),
    };
    if start < least {
        return Err(format!("Beginning of range ({start}) below minimum ({least}): {expression}"));
    }
    if end > greatest {
        return Err(format!("End of range ({end}) above maximum ({greatest}): {expression}"));
    }
    if start > end {
        return Err(format!("Beginning of range ({start}) beyond end of range ({end}): {expression}"));
    }
    let step = usize::try_from(step).ok().filter(|step| *step > 0);
    let step = step.ok_or_else(|| format!("Step of range should be a positive number: {expression}"))?;
    Ok((start..=end, step, is_any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_cron_specs_of_five_fields() {
        let check = |schedule: &str, expected: Result<(), &str>| {
            assert_eq!(Schedule::parse(schedule).map(drop), expected.map_err(str::to_owned), "{schedule}");
        };
        check("0 20 * * *", Ok(()));
        check("00 20 * * 1,2,3,4,5", Ok(()));
        check("*/5 8-17 * jan-mar mon-fri", Ok(()));
        check("@daily", Ok(()));
        check("@every 1h30m", Ok(()));
        check("", Err("Empty spec string"));
        check("@often", Err("Unrecognized descriptor: @often"));
        check("0 20 * *", Err("Expected exactly 5 fields, found 4: 0 20 * *"));
        check("60 20 * * *", Err("End of range (60) above maximum (59): 60"));
        check("0 20 0 * *", Err("Beginning of range (0) below minimum (1): 0"));
        check("a 20 * * *", Err("Failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"));
        check("5-1 20 * * *", Err("Beginning of range (5) beyond end of range (1): 5-1"));
        check("1-2-3 20 * * *", Err("Too many hyphens: 1-2-3"));
        check("*/0 20 * * *", Err("Step of range should be a positive number: */0"));
    }

    /// Schedule, zone, instant, and the next activation after it in UTC. 2025-06-15 is a Sunday.
    const NEXT: &str = "
0 20 * * *       | UTC           | 2025-06-15T19:59:59Z => 2025-06-15T20:00:00Z
0 20 * * *       | UTC           | 2025-06-15T20:00:00Z => 2025-06-16T20:00:00Z
0 20 * * 1-5     | UTC           | 2025-06-13T21:00:00Z => 2025-06-16T20:00:00Z
0 20 * * *       | Europe/Berlin | 2025-06-15T12:00:00Z => 2025-06-15T18:00:00Z
0 20 * * *       | Europe/Berlin | 2025-12-15T12:00:00Z => 2025-12-15T19:00:00Z
30 2 * * *       | Europe/Berlin | 2025-03-29T12:00:00Z => 2025-03-31T00:30:00Z
30 2 * * *       | Europe/Berlin | 2025-10-25T12:00:00Z => 2025-10-26T00:30:00Z
*/20 * * * *     | UTC           | 2025-06-15T19:59:59Z => 2025-06-15T20:00:00Z
0 0 13 * fri     | UTC           | 2025-06-14T00:00:00Z => 2025-06-20T00:00:00Z
0 0 29 2 *       | UTC           | 2025-06-14T00:00:00Z => 2028-02-29T00:00:00Z
0 0 30 2 *       | UTC           | 2025-06-14T00:00:00Z => never
@every 90m       | UTC           | 2025-06-15T19:59:59Z => 2025-06-15T21:29:59Z
";

    #[test]
    fn activations_are_minutes_of_the_local_clock() {
        for row in NEXT.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let cells: Vec<&str> = given.split('|').map(str::trim).collect();
            let schedule = Schedule::parse(cells[0]).expect("a schedule");
            let next = schedule.next(cells[2].parse().expect("RFC 3339"), cells[1].parse().expect("a zone"));
            let actual =
                next.map_or_else(|| "never".to_owned(), |next| next.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
            assert_eq!(actual, expected.trim(), "row: {row}");
        }
    }

    #[test]
    fn the_last_activation_may_be_at_the_end_only() {
        let schedule = Schedule::parse("0 * * * *").expect("a schedule");
        let at = |text: &str| -> DateTime<Utc> { format!("2025-06-15T{text}:00Z").parse().expect("RFC 3339") };
        let last = |from, to| schedule.last_within(at(from), at(to), Tz::UTC);
        assert_eq!(last("10:00", "12:00"), Some(at("12:00")));
        assert_eq!(last("10:00", "10:59"), None);
        assert_eq!(last("09:59", "10:59"), Some(at("10:00")));
    }
}
