// SPDX-License-Identifier: Apache-2.0
//! `resource.Quantity`: exact amounts with a suffix.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// `resource.Quantity`: an amount in whole billionths and the notation it is written in.
///
/// Shape: always Go's canonical form (`1500m`, `2Gi`, `1e3`). Amounts finer than a billionth are rounded away from
/// zero; amounts beyond 2^63-1 are limited to it. Equality and order compare the amount only.
/// Source: apimachinery pkg/api/resource/quantity.go @ v0.32.
#[derive(Clone, Copy, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Format {
    #[default]
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

/// Text for an invalid quantity.
pub const QUANTITY_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
/// Text for an unknown suffix.
const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

const NANOS: i128 = 1_000_000_000;
const LIMIT: i128 = i64::MAX as i128 * NANOS;

impl Quantity {
    /// Creates a whole amount, written decimally.
    pub const fn from_integer(value: i64) -> Self {
        Self { nanos: value as i128 * NANOS, format: Format::DecimalSi }
    }

    /// Creates an amount of thousandths, written decimally: `1500` is `1500m`.
    pub const fn from_millis(millis: i64) -> Self {
        Self { nanos: millis as i128 * 1_000_000, format: Format::DecimalSi }
    }

    /// Creates a number of bytes, written with binary suffixes: `1073741824` is `1Gi`.
    pub const fn from_bytes(bytes: i64) -> Self {
        Self { nanos: bytes as i128 * NANOS, format: Format::BinarySi }
    }

    /// Returns the amount as a whole number, rounded up.
    pub fn value(&self) -> i64 {
        rounded_up(self.nanos, NANOS)
    }

    /// Returns the amount in thousandths, rounded up.
    pub fn millis(&self) -> i64 {
        rounded_up(self.nanos, 1_000_000)
    }

    /// True if the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// Returns -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        self.nanos.cmp(&0) as i32
    }

    /// Adds; keeps the notation, unless this was zero.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: (self.nanos + other.nanos).clamp(-LIMIT, LIMIT), format }
    }

    /// Subtracts; keeps the notation, unless this was zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(Self { nanos: -other.nanos, format: other.format })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "amounts are cut to 64 bits when they are made")]
fn rounded_up(nanos: i128, unit: i128) -> i64 {
    let whole = nanos / unit + i128::from(nanos % unit > 0);
    whole.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl FromStr for Quantity {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let split = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(split);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(QUANTITY_FORMAT);
        }
        let (base, exponent, format) = scale(suffix)?;
        let nanos = amount(whole, fraction, base, exponent);
        Ok(Self { nanos: if negative { -nanos } else { nanos }, format })
    }
}

/// Base, exponent and notation of a suffix.
fn scale(suffix: &str) -> Result<(i128, i32, Format), &'static str> {
    let letters = suffix.find(|c: char| !"eEinumkKMGTP".contains(c)).unwrap_or(suffix.len());
    let (word, digits) = suffix.split_at(letters);
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QUANTITY_FORMAT);
    }
    if matches!(word, "e" | "E") && !unsigned.is_empty() {
        return Ok((10, digits.parse().map_err(|_| WRONG_SUFFIX)?, Format::DecimalExponent));
    }
    if !digits.is_empty() {
        return Err(WRONG_SUFFIX);
    }
    if let Some(power) = BINARY.iter().position(|known| *known == word).filter(|_| !word.is_empty()) {
        return Ok((1024, i32::try_from(power).unwrap_or(0), Format::BinarySi));
    }
    let power = DECIMAL.iter().position(|known| *known == word).ok_or(WRONG_SUFFIX)?;
    Ok((10, (i32::try_from(power).unwrap_or(0) - 3) * 3, Format::DecimalSi))
}

/// Suffixes of powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Suffixes of powers of 1000, from -3 on.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// Returns `whole.fraction * base^exponent` in billionths, rounded up and limited.
fn amount(whole: &str, fraction: &str, base: i128, exponent: i32) -> i128 {
    // Only digits that can matter are read: 19 before the point and, rounded up, 18 after it.
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() && fraction.is_empty() {
        return 0;
    }
    let cut = fraction.len().min(18);
    let mut mantissa: i128 = 0;
    for digit in whole.bytes().chain(fraction[..cut].bytes()) {
        let Some(next) = mantissa.checked_mul(10).and_then(|value| value.checked_add(i128::from(digit - b'0'))) else {
            return LIMIT;
        };
        mantissa = next;
    }
    if fraction.len() > cut {
        mantissa += 1;
    }
    let mut ten = 9 - i32::try_from(cut).unwrap_or(0);
    if base == 10 {
        ten = ten.saturating_add(exponent);
    } else {
        for _ in 0..exponent {
            mantissa = mantissa.saturating_mul(base);
        }
    }
    while ten > 0 {
        mantissa = mantissa.saturating_mul(10);
        if mantissa >= LIMIT {
            return LIMIT;
        }
        ten -= 1;
    }
    let mut inexact = false;
    while ten < 0 && mantissa > 0 {
        inexact |= mantissa % 10 != 0;
        mantissa /= 10;
        ten += 1;
    }
    (mantissa + i128::from(inexact)).min(LIMIT)
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        if self.format == Format::BinarySi && self.nanos.abs() >= 1024 * NANOS && self.nanos % NANOS == 0 {
            let (mut value, mut power) = (self.nanos / NANOS, 0);
            while value % 1024 == 0 && power + 1 < BINARY.len() {
                value /= 1024;
                power += 1;
            }
            return write!(f, "{value}{}", BINARY[power]);
        }
        let (mut value, mut thousands) = (self.nanos, -3);
        while value % 1000 == 0 && thousands < 6 {
            value /= 1000;
            thousands += 1;
        }
        match self.format {
            Format::DecimalExponent if thousands == 0 => write!(f, "{value}"),
            Format::DecimalExponent => write!(f, "{value}e{}", thousands * 3),
            _ => write!(f, "{value}{}", DECIMAL[usize::try_from(thousands + 3).unwrap_or(3)]),
        }
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        text.trim().parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity, E> {
        Ok(Quantity::from_integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity, E> {
        value.to_string().parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Quantity, E> {
        value.to_string().parse().map_err(E::custom)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::default())
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let actual = match text.parse::<Quantity>() {
            Ok(quantity) => quantity.to_string(),
            Err(error) => error.to_owned(),
        };
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn text_becomes_canonical() {
        check("0", "0");
        check("0.5", "500m");
        check("1500m", "1500m");
        check("1000m", "1");
        check("100", "100");
        check("1000", "1k");
        check("1e3", "1e3");
        check("12E2", "1200");
        check("1.5Gi", "1536Mi");
        check("1024Ki", "1Mi");
        check("1000Ki", "1000Ki");
        check("0.5Gi", "512Mi");
        check("500Gi", "500Gi");
        check("1023", "1023");
        check(".1n", "1n");
        check("-1.5", "-1500m");
        check("+1", "1");
        check("1E", "1E");
        check("9e30", "9223372036854775807e0".trim_end_matches("e0"));
    }

    #[test]
    fn wrong_texts_are_refused_in_upstreams_words() {
        check("", QUANTITY_FORMAT);
        check("x", QUANTITY_FORMAT);
        check("1.2.3", QUANTITY_FORMAT);
        check("1 Gi", QUANTITY_FORMAT);
        check("1G5", WRONG_SUFFIX);
        check("1Kii", WRONG_SUFFIX);
        check("10KB", QUANTITY_FORMAT);
    }

    #[test]
    fn amounts_add_and_compare_across_notations() {
        let gib: Quantity = "1Gi".parse().expect("a quantity");
        let half: Quantity = "512Mi".parse().expect("a quantity");
        assert_eq!(gib.minus(half).to_string(), "512Mi");
        assert_eq!(gib, "1073741824".parse().expect("a quantity"));
        assert!(half < gib);
        assert_eq!("1500m".parse::<Quantity>().expect("a quantity").value(), 2);
    }

    proptest! {
        #[test]
        fn canonical_text_is_stable(value in any::<i64>(), suffix in "(n|u|m||k|M|G|Ki|Mi|Gi|e-2|e3)") {
            let quantity: Quantity = format!("{value}{suffix}").parse().expect("a quantity");
            let text = quantity.to_string();
            let again: Quantity = text.parse().expect("canonical text is a quantity");
            prop_assert_eq!(again, quantity);
            prop_assert_eq!(again.to_string(), text);
        }
    }
}
