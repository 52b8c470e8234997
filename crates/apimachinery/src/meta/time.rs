// SPDX-License-Identifier: Apache-2.0
//! Instants and durations in their wire forms.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// `metav1.Time`: an instant with whole seconds, in UTC.
///
/// Shape: RFC 3339, `2023-07-28T09:07:27Z`; other offsets are read and turned to UTC, fractions are cut off. Go's zero
/// time (year 1) is written as `null`, and `null` is read as it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub DateTime<Utc>);

/// `metav1.MicroTime`: an instant with six digits after the second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(pub DateTime<Utc>);

/// Go's zero time.
pub const ZERO_TIME: DateTime<Utc> = match DateTime::from_timestamp(-62_135_596_800, 0) {
    Some(time) => time,
    None => panic!("year 1 is a valid instant"),
};

impl Default for Time {
    fn default() -> Self {
        Self(ZERO_TIME)
    }
}

impl Default for MicroTime {
    fn default() -> Self {
        Self(ZERO_TIME)
    }
}

impl Time {
    /// The instant, cut to whole seconds.
    pub fn from_instant(instant: DateTime<Utc>) -> Self {
        Self(DateTime::from_timestamp(instant.timestamp(), 0).unwrap_or(ZERO_TIME))
    }

    /// Whether this is Go's zero time.
    pub fn is_zero(&self) -> bool {
        self.0 == ZERO_TIME
    }
}

impl From<DateTime<Utc>> for Time {
    fn from(instant: DateTime<Utc>) -> Self {
        Self::from_instant(instant)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

impl fmt::Debug for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_zero() { serializer.serialize_none() } else { serializer.collect_str(self) }
    }
}

impl Serialize for MicroTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == ZERO_TIME { serializer.serialize_none() } else { serializer.collect_str(self) }
    }
}

fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime<Utc>, D::Error> {
    let Some(text) = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)? else { return Ok(ZERO_TIME) };
    DateTime::parse_from_rfc3339(&text).map(|time| time.with_timezone(&Utc)).map_err(D::Error::custom)
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        instant(deserializer).map(Self::from_instant)
    }
}

impl<'de> Deserialize<'de> for MicroTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        instant(deserializer).map(Self)
    }
}
