// SPDX-License-Identifier: Apache-2.0
//! Instants and durations in their wire forms.

use std::fmt;

use chrono::{DateTime, Datelike as _, NaiveDate, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// `metav1.Time`: an instant with whole seconds, in UTC.
///
/// Shape: RFC 3339, `2023-07-28T09:07:27Z`; other offsets are converted to UTC, fractions are truncated. Go's zero time
/// (year 1) is written as `null`, and `null` is read as the zero time.
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
    /// Truncates an instant to whole seconds.
    pub fn from_instant(instant: DateTime<Utc>) -> Self {
        Self(DateTime::from_timestamp(instant.timestamp(), 0).unwrap_or(ZERO_TIME))
    }

    /// Parses an instant.
    ///
    /// # Errors
    /// A text that is not RFC 3339.
    pub(crate) fn instant_of(text: &str) -> Result<DateTime<Utc>, String> {
        if let Some(instant) = from_canonical(text) {
            return Ok(instant);
        }
        DateTime::parse_from_rfc3339(text).map(|time| time.with_timezone(&Utc)).map_err(|error| error.to_string())
    }

    /// True if this is Go's zero time.
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
        let mut buffer = [0; 20];
        match canonical(&mut buffer, self.0) {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Secs, true)),
        }
    }
}

/// Formats `2023-07-28T09:07:27Z`, for years of four digits. Objects have many times, and chrono's formatting is slow.
fn canonical(buffer: &mut [u8; 20], instant: DateTime<Utc>) -> Option<&str> {
    let seconds = instant.timestamp();
    let date = instant.date_naive();
    let year = u32::try_from(date.year()).ok().filter(|year| *year <= 9999)?;
    let of_day = u32::try_from(seconds.rem_euclid(86_400)).ok()?;
    *buffer = *b"0000-00-00T00:00:00Z";
    two(&mut buffer[0..2], year / 100);
    two(&mut buffer[2..4], year % 100);
    two(&mut buffer[5..7], date.month());
    two(&mut buffer[8..10], date.day());
    two(&mut buffer[11..13], of_day / 3600);
    two(&mut buffer[14..16], of_day / 60 % 60);
    two(&mut buffer[17..19], of_day % 60);
    std::str::from_utf8(buffer).ok()
}

/// Writes two decimal digits.
fn two(place: &mut [u8], value: u32) {
    for (byte, digit) in place.iter_mut().zip([value / 10 % 10, value % 10]) {
        *byte = b'0' + u8::try_from(digit).unwrap_or(0);
    }
}

/// Parses `2023-07-28T09:07:27Z`; `None` for any other shape.
fn from_canonical(text: &str) -> Option<DateTime<Utc>> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 20
        && bytes.iter().zip(b"0000-00-00T00:00:00Z").all(|(given, pattern)| match pattern {
            b'0' => given.is_ascii_digit(),
            _ => given == pattern,
        });
    if !shaped {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        bytes[range].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'))
    };
    let date = NaiveDate::from_ymd_opt(i32::try_from(number(0..4)).ok()?, number(5..7), number(8..10))?;
    Some(date.and_hms_opt(number(11..13), number(14..16), number(17..19))?.and_utc())
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
        if self.is_zero() {
            return serializer.serialize_none();
        }
        let mut buffer = [0; 20];
        match canonical(&mut buffer, self.0) {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_str(self),
        }
    }
}

impl Serialize for MicroTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == ZERO_TIME { serializer.serialize_none() } else { serializer.collect_str(self) }
    }
}

fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime<Utc>, D::Error> {
    let Some(text) = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)? else { return Ok(ZERO_TIME) };
    Time::instant_of(&text).map_err(D::Error::custom)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let time: Time = from_value(json!(text)).expect("a time");
        assert_eq!(time.to_string(), expected);
        assert_eq!(to_value(time).expect("serialises"), json!(expected));
    }

    #[test]
    fn times_become_utc_with_whole_seconds() {
        check("2023-07-28T09:07:27Z", "2023-07-28T09:07:27Z");
        check("2023-07-28T09:07:27.9Z", "2023-07-28T09:07:27Z");
        check("2023-07-28T11:07:27+02:00", "2023-07-28T09:07:27Z");
        check("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z");
        check("0099-12-31T00:00:00Z", "0099-12-31T00:00:00Z");
        assert!(from_value::<Time>(json!("2023-02-29T00:00:00Z")).is_err());
    }

    #[test]
    fn gos_zero_time_is_null() {
        assert_eq!(to_value(Time::default()).expect("serialises"), json!(null));
        assert!(from_value::<Time>(json!(null)).expect("null is a time").is_zero());
        assert!(from_value::<Time>(json!("0001-01-01T00:00:00Z")).expect("a time").is_zero());
    }

    #[test]
    fn micro_times_keep_six_digits() {
        let time: MicroTime = from_value(json!("2023-07-28T09:07:27.12Z")).expect("a time");
        assert_eq!(to_value(time).expect("serialises"), json!("2023-07-28T09:07:27.120000Z"));
    }

    proptest! {
        #[test]
        fn times_round_trip(seconds in -62_135_596_799_i64..253_402_300_799) {
            let time = Time(DateTime::from_timestamp(seconds, 0).expect("in range"));
            let text = time.to_string();
            prop_assert_eq!(&text, &time.0.to_rfc3339_opts(SecondsFormat::Secs, true));
            prop_assert_eq!(from_value::<Time>(json!(text)).expect("reads back"), time);
        }
    }
}
