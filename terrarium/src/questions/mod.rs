// SPDX-License-Identifier: Apache-2.0
//! Questions before acting: the rules alone, no API server.
//!
//! The answers come from the functions of `domain` that the components use, over objects given as manifests or read from
//! a landscape that runs.
//!
//! **Tour.** [`forecast`] what maintenance will do, [`rows`] how it is told, [`summary`] counted; [`versions`] what is
//! offered and who uses it; [`why`] what one Shoot waits for; [`world`] profiles and Shoots, [`what_if`] other dates and
//! classifications; [`explain`] why a version is chosen or left.

pub(crate) mod explain;
pub(crate) mod forecast;
mod rows;
mod summary;
pub(crate) mod versions;
mod what_if;
pub(crate) mod why;
mod world;

use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Utc};

/// An instant on the command line: RFC 3339, or a date, which stands for its midnight in UTC.
pub(crate) fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    if let Ok(instant) = text.parse::<DateTime<Utc>>() {
        return Ok(instant);
    }
    let date = text.parse::<NaiveDate>();
    date.map(|date| date.and_time(NaiveTime::MIN).and_utc())
        .map_err(|_| format!("`{text}` is no instant: use 2027-01-31 or 2027-01-31T10:00:00Z"))
}

/// An instant as it is shown.
pub(crate) fn show(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_stand_for_their_midnight() {
        for (text, expected) in [
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T10:00:00Z", "2027-01-31T10:00:00Z"),
            ("2027-01-31T10:00:00+02:00", "2027-01-31T08:00:00Z"),
        ] {
            assert_eq!(instant(text).map(show), Ok(expected.to_owned()), "{text}");
        }
        for text in ["", "tomorrow", "2027-02-30", "31.1.2027"] {
            assert!(instant(text).is_err(), "{text}");
        }
    }
}
