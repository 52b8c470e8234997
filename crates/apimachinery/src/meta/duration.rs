// SPDX-License-Identifier: Apache-2.0
//! `metav1.Duration`: lengths of time in Go's text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// `metav1.Duration`: whole nanoseconds.
///
/// Shape: Go's `time.Duration` text, `1h30m0s`, `500ms`, `0s`; always written in Go's canonical form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    /// Nanoseconds; may be negative.
    pub nanoseconds: i64,
}

impl Duration {
    /// Creates a duration of whole seconds.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self { nanoseconds: seconds * 1_000_000_000 }
    }

    /// Creates a duration of whole minutes.
    pub const fn from_minutes(minutes: i64) -> Self {
        Self::from_seconds(minutes * 60)
    }

    /// Creates a duration of whole hours.
    pub const fn from_hours(hours: i64) -> Self {
        Self::from_minutes(hours * 60)
    }

    /// Converts to a chrono duration.
    pub const fn to_chrono(self) -> chrono::TimeDelta {
        chrono::TimeDelta::nanoseconds(self.nanoseconds)
    }
}

/// Units of Go's text in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000), // U+00B5
    ("μs", 1_000), // U+03BC
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl FromStr for Duration {
    type Err = String;

    /// Parses like Go's `time.ParseDuration`, with its error texts.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || format!("time: invalid duration {text:?}");
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self::default());
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after) = digits(rest);
            let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
            let (unit, after) = after.split_at(end);
            if unit.is_empty() {
                return Err(format!("time: missing unit in duration {text:?}"));
            }
            let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
                return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
            };
            let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
            total = whole
                .checked_mul(*scale)
                .and_then(|value| value.checked_add(fraction_of(fraction, *scale)))
                .and_then(|value| value.checked_add(total))
                .filter(|value| *value <= 1 << 63)
                .ok_or_else(invalid)?;
            rest = after;
        }
        let nanoseconds = if negative {
            0_i64.checked_sub_unsigned(total).ok_or_else(invalid)?
        } else {
            i64::try_from(total).map_err(|_| invalid())?
        };
        Ok(Self { nanoseconds })
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Returns `0.fraction * scale`, truncated.
fn fraction_of(fraction: &str, scale: u64) -> u64 {
    let (mut value, mut unit) = (0, scale);
    let mut numerator: u128 = 0;
    let mut denominator: u128 = 1;
    for digit in fraction.bytes().take(18) {
        numerator = numerator * 10 + u128::from(digit - b'0');
        denominator *= 10;
        unit /= 10;
    }
    if numerator > 0 {
        value = u64::try_from(numerator * u128::from(scale) / denominator).unwrap_or(unit);
    }
    value
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.nanoseconds.unsigned_abs();
        if total == 0 {
            return f.write_str("0s");
        }
        if self.nanoseconds < 0 {
            f.write_str("-")?;
        }
        if total < 1_000_000_000 {
            let (unit, scale) = match total {
                0..1_000 => ("ns", 1),
                1_000..1_000_000 => ("µs", 1_000),
                _ => ("ms", 1_000_000),
            };
            decimal(f, total, scale)?;
            return f.write_str(unit);
        }
        let minutes = total / 60_000_000_000;
        if minutes >= 60 {
            write!(f, "{}h", minutes / 60)?;
        }
        if minutes > 0 {
            write!(f, "{}m", minutes % 60)?;
        }
        decimal(f, total % 60_000_000_000, 1_000_000_000)?;
        f.write_str("s")
    }
}

/// Writes `value / scale` with as many decimals as necessary.
fn decimal(f: &mut fmt::Formatter<'_>, value: u64, scale: u64) -> fmt::Result {
    write!(f, "{}", value / scale)?;
    let (mut fraction, mut width) = (value % scale, scale.ilog10() as usize);
    if fraction > 0 {
        while fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        write!(f, ".{fraction:0width$}")?;
    }
    Ok(())
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(text) = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let actual = text.parse::<Duration>().map_or_else(|error| error, |duration| duration.to_string());
        assert_eq!(actual, expected);
    }

    #[test]
    fn text_becomes_gos_canonical_form() {
        check("0", "0s");
        check("90m", "1h30m0s");
        check("1.5h", "1h30m0s");
        check("24h", "24h0m0s");
        check("500ms", "500ms");
        check("1500ms", "1.5s");
        check("-2m", "-2m0s");
        check("1us", "1µs");
        check(".5s", "500ms");
        check("1h1ns", "1h0m0.000000001s");
    }

    #[test]
    fn wrong_texts_are_refused_in_gos_words() {
        check("", "time: invalid duration \"\"");
        check("abc", "time: invalid duration \"abc\"");
        check("5", "time: missing unit in duration \"5\"");
        check("5d", "time: unknown unit \"d\" in duration \"5d\"");
        check("9223372036855s", "time: invalid duration \"9223372036855s\"");
    }

    proptest! {
        #[test]
        fn durations_round_trip(nanoseconds in any::<i64>()) {
            let duration = Duration { nanoseconds };
            prop_assert_eq!(duration.to_string().parse::<Duration>(), Ok(duration));
        }
    }
}
