// SPDX-License-Identifier: Apache-2.0
//! Instants and lengths of time on the command line.

use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

use crate::live::clock::duration;
use crate::questions::instant as day_or_instant;

/// An instant of landscape time, or how long ago it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    At(DateTime<Utc>),
    Ago(TimeDelta),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither an instant (2025-01-31T10:00:00Z) nor a duration (90s, 24h, 2w)");
        match day_or_instant(text) {
            Ok(instant) => Ok(Self::At(instant)),
            Err(_) => duration(text).map(Self::Ago).map_err(|_| wrong()),
        }
    }
}

impl Since {
    /// The instant, seen from `now`.
    pub(crate) fn from(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::At(instant) => instant,
            Self::Ago(length) => now.checked_sub_signed(length).unwrap_or(DateTime::<Utc>::MIN_UTC),
        }
    }
}

/// A revision of the log, or an instant of landscape time: the last revision at or before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Revision(u64),
    At(DateTime<Utc>),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(revision) = text.parse() {
            return Ok(Self::Revision(revision));
        }
        let instant = day_or_instant(text).map(Self::At);
        instant.map_err(|_| format!("`{text}` is neither a revision (1042) nor an instant (2025-01-31T10:00:00Z)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_durations_are_told_apart() {
        let instant: DateTime<Utc> = "2025-01-31T10:00:00Z".parse().expect("an instant");
        assert_eq!("2025-01-31T10:00:00Z".parse(), Ok(Since::At(instant)));
        assert_eq!("2025-01-31T11:00:00+01:00".parse(), Ok(Since::At(instant)));
        assert_eq!("2025-01-31T10:00:00Z".parse(), Ok(Place::At(instant)));
        assert_eq!("1042".parse(), Ok(Place::Revision(1042)));
        assert_eq!("2h".parse::<Since>().map(|since| since.from(instant)), Ok(instant - TimeDelta::hours(2)));
        let midnight: DateTime<Utc> = "2025-01-31T00:00:00Z".parse().expect("an instant");
        assert_eq!(("2025-01-31".parse(), "2025-01-31".parse()), (Ok(Since::At(midnight)), Ok(Place::At(midnight))));
        for text in ["", "-1", "yesterday", "2025-01-32"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
            assert!(text.parse::<Since>().is_err(), "{text}");
        }
    }
}
