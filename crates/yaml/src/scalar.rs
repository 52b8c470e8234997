// SPDX-License-Identifier: Apache-2.0
//! Resolution of scalars: goyaml.v2/resolve.go @ sigs.k8s.io/yaml v1.4.0, and their form in encoding/json.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

/// Tags of YAML, `int` of `!!int`.
const RESOLVABLE: [&str; 6] = ["str", "bool", "int", "float", "null", "timestamp"];

/// Resolved value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above the range of `Int`.
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Scalar {
    /// Resolves a scalar with a YAML tag, or a plain one without a tag.
    ///
    /// # Errors
    /// The scalar does not have the tag's type.
    pub(crate) fn of(tag: Option<&str>, text: &str) -> Result<Self, String> {
        match tag {
            None => Ok(Self::plain(text)),
            Some("str") => Ok(Self::Text(text.to_owned())),
            Some("binary") => {
                let text: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
                let bytes = STANDARD.decode(text).map_err(|_| "!!binary value contains invalid base64 data")?;
                Ok(Self::Text(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Some("timestamp") if is_timestamp(text) => Ok(Self::Text(text.to_owned())),
            Some(tag) if RESOLVABLE.contains(&tag) => match (tag, Self::plain(text)) {
                ("null", Self::Null) => Ok(Self::Null),
                ("bool", value @ Self::Bool(_))
                | ("int", value @ (Self::Int(_) | Self::Unsigned(_)))
                | ("float", value @ Self::Float(_)) => Ok(value),
                #[expect(clippy::cast_precision_loss, reason = "as Go converts them")]
                ("float", Self::Int(value)) => Ok(Self::Float(value as f64)),
                (tag, found) => Err(format!("cannot decode !!{} `{text}` as a !!{tag}", found.tag())),
            },
            Some(_) => Ok(Self::Text(text.to_owned())),
        }
    }

    /// Resolves a scalar without quotes and tag.
    pub(crate) fn plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                return Self::Bool(true);
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
                return Self::Bool(false);
            }
            ".nan" | ".NaN" | ".NAN" => return Self::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Self::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => return Self::Float(f64::NEG_INFINITY),
            _ => {}
        }
        match text.as_bytes().first() {
            Some(b'.') => fraction(text),
            Some(b'0'..=b'9' | b'+' | b'-') => number(text),
            _ => None,
        }
        .unwrap_or_else(|| Self::Text(text.to_owned()))
    }

    const fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Unsigned(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
        }
    }

    /// Returns the value in JSON.
    ///
    /// # Errors
    /// The number cannot be represented in JSON.
    pub(crate) fn value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Int(value) => value.into(),
            Self::Unsigned(value) => value.into(),
            Self::Float(value) => match whole(value) {
                Some(value) => value.into(),
                None => Value::Number(
                    Number::from_f64(value)
                        .ok_or_else(|| format!("json: unsupported value: {}", unsupported(value)))?,
                ),
            },
            Self::Text(text) => Value::String(text),
        })
    }

    /// Returns the key of a map for the scalar, and its form in Go's messages.
    ///
    /// # Errors
    /// The key cannot be represented in JSON.
    pub(crate) fn key(self) -> Result<(String, String), String> {
        let refused = |kind: &str, key: &str| Err(format!("unsupported map key of type: {kind}, key: {key}"));
        let key = match self {
            Self::Null => return refused("%!s(<nil>)", "<nil>"),
            Self::Unsigned(value) => return refused("uint64", &format!("{value:#x}")),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => float_key(value),
            Self::Text(text) => {
                let shown = format!("{text:?}");
                return Ok((text, shown));
            }
        };
        Ok((key.clone(), key))
    }
}

/// Returns a float without fraction as an integer: Go's JSON omits the fraction, so that the number is read as an integer.
#[expect(clippy::cast_possible_truncation, reason = "the bound is checked")]
fn whole(value: f64) -> Option<i64> {
    const BOUND: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() <= BOUND).then_some(value as i64)
}

const fn unsupported(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}

/// Formats a float like `strconv.FormatFloat(value, 'g', -1, 32)`, with YAML's names for infinities and NaN.
#[expect(clippy::cast_possible_truncation, reason = "as upstream does")]
fn float_key(value: f64) -> String {
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let shown = format!("{value:e}");
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // `%g` with the shortest precision: an exponent below -4 or from 6 on is written with `e`.
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Parses a float that begins with its point; underscores are allowed between digits.
fn fraction(text: &str) -> Option<Scalar> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let is_between = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    let are_between = bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || is_between(at));
    are_between.then(|| text.replace('_', "")).filter(|text| is_float(text)).and_then(|text| finite(&text))
}

/// Parses an integer in any base, or a float; underscores are ignored.
fn number(text: &str) -> Option<Scalar> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.as_bytes().first() {
        Some(b'-') => ("-", &plain[1..]),
        Some(b'+') => ("+", &plain[1..]),
        _ => ("", plain.as_str()),
    };
    if let Some((base, digits)) = based(digits) {
        let minus = if sign == "-" { "-" } else { "" };
        if let Ok(value) = i64::from_str_radix(&format!("{minus}{digits}"), base) {
            return Some(Scalar::Int(value));
        }
        if sign.is_empty()
            && let Ok(value) = u64::from_str_radix(digits, base)
        {
            return Some(Scalar::Unsigned(value));
        }
    }
    if is_float(&plain)
        && let Some(value) = finite(&plain)
    {
        return Some(value);
    }
    // The sign may follow the prefix.
    let binary = plain.strip_prefix("0b").and_then(|digits| i64::from_str_radix(digits, 2).ok());
    binary.map(Scalar::Int)
}

/// Returns the base of an integer, and its digits.
fn based(text: &str) -> Option<(u32, &str)> {
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', b'o' | b'O', ..] => (8, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    (!digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base))).then_some((base, digits))
}

/// True if a text matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits(text);
    let mut rest = &text[whole..];
    if let Some(behind) = rest.strip_prefix('.') {
        let count = digits(behind);
        if whole == 0 && count == 0 {
            return false;
        }
        rest = &behind[count..];
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        None => rest.is_empty(),
    }
}

/// Parses a float within range.
fn finite(text: &str) -> Option<Scalar> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Scalar::Float)
}

/// True if a text has the form of a date or a time.
fn is_timestamp(text: &str) -> bool {
    let (day, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let parts: Vec<&str> = day.split('-').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3
        && parts.iter().all(is_number)
        && parts[0].len() == 4
        && parts[1..].iter().all(|part| part.len() <= 2)
        && time
            .is_none_or(|time| time.split(':').count() >= 3 && time.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compares texts with the expected values.
    fn check(rows: &[(&str, Value)]) {
        for (texts, expected) in rows {
            for text in texts.split_whitespace() {
                assert_eq!(Scalar::plain(text).value(), Ok(expected.clone()), "{text}");
            }
        }
    }

    #[test]
    fn words_are_booleans_and_nulls() {
        check(&[
            ("y Y yes Yes YES true True TRUE on On ON", json!(true)),
            ("n N no No NO false False FALSE off Off OFF", json!(false)),
            ("~ null Null NULL", json!(null)),
        ]);
        for text in ["yEs", "tRUE", "oN", "nO", "nil", "none", "t", "f", "enabled", "nULL", "yes!", "on-off"] {
            assert_eq!(Scalar::plain(text), Scalar::Text(text.to_owned()));
        }
        assert_eq!(Scalar::plain(""), Scalar::Null);
    }

    #[test]
    fn integers_have_bases_signs_and_underscores() {
        check(&[
            ("685230 +685_230 02472256 0o2472256 0x_0A_74_AE 0b1010_0111_0100_1010_1110", json!(685_230)),
            ("0777 0o777 0O777 0x1FF 0X1ff 0b111111111", json!(511)),
            ("-0b101010 -42 -052 -0x2a 0b-101010", json!(-42)),
            ("0 00 -0 +0 0_0 0.0 -0.0", json!(0)),
            ("08 8.0 8. 0_8", json!(8)),
            ("9223372036854775807", json!(i64::MAX)),
            ("9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
            ("18446744073709551615 0xFFFFFFFFFFFFFFFF", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
        ]);
    }

    #[test]
    fn floats_have_points_and_exponents_and_whole_ones_are_integers() {
        check(&[
            ("685_230.15 685.230_15e+03", json!(685_230.15)),
            ("1.5 1_.5 +1.5 1.50 15e-1 1.5e0 1.5E+0", json!(1.5)),
            (".5 +.5 .5e0 0.5", json!(0.5)),
            (".1_5 0.15", json!(0.15)),
            ("1e3 1E3 1000.0 1_000", json!(1000)),
            ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ]);
        assert_eq!(Scalar::plain("6.8523e+5").value(), Ok(json!(685_230)));
        for text in
            [".", "-", "+", "1e", "1.5.2", "._5", "1e400", "0x", "0b2", "0o8", "1.5e", "-.e5", "--1", "+-1", "1e5x"]
        {
            assert_eq!(Scalar::plain(text), Scalar::Text(text.to_owned()));
        }
    }

    #[test]
    fn times_addresses_and_numbers_of_base_60_are_texts() {
        for text in [
            "2015-01-01",
            "2015-02-24T18:19:39Z",
            "2015-02-24 18:19:39",
            "1:30",
            "190:20:30",
            "190:20:30.15",
            "10.0.0.0/16",
            "1.2.3",
            "v1.31",
            "50cent_of_dollar",
            "-b_c",
            "+b_c",
            "<<",
            "=",
            "100m",
            "1Gi",
            "3s",
            "inf",
            "nan",
            "Infinity",
        ] {
            assert_eq!(Scalar::plain(text), Scalar::Text(text.to_owned()));
        }
    }

    #[test]
    fn infinities_and_nan_have_no_json() {
        for (text, word) in [(".nan", "NaN"), (".NAN", "NaN"), (".inf", "+Inf"), ("+.INF", "+Inf"), ("-.Inf", "-Inf")] {
            assert_eq!(Scalar::plain(text).value(), Err(format!("json: unsupported value: {word}")));
        }
    }

    #[test]
    fn tags_define_the_type_despite_quotes() {
        let of = |tag, text| Scalar::of(Some(tag), text).and_then(Scalar::value);
        assert_eq!(of("str", "12"), Ok(json!("12")));
        assert_eq!(of("str", "yes"), Ok(json!("yes")));
        assert_eq!(of("int", "12"), Ok(json!(12)));
        assert_eq!(of("bool", "yes"), Ok(json!(true)));
        assert_eq!(of("float", "1.1"), Ok(json!(1.1)));
        assert_eq!(of("float", "1"), Ok(json!(1)));
        assert_eq!(of("null", ""), Ok(json!(null)));
        assert_eq!(of("binary", "aGVs\nbG8="), Ok(json!("hello")));
        assert_eq!(of("timestamp", "2015-01-01"), Ok(json!("2015-01-01")));
        assert_eq!(of("own", "12"), Ok(json!("12")));
        for (tag, text, expected) in [
            ("int", "x", "cannot decode !!str `x` as a !!int"),
            ("int", "1.5", "cannot decode !!float `1.5` as a !!int"),
            ("bool", "1", "cannot decode !!int `1` as a !!bool"),
            ("null", "no", "cannot decode !!bool `no` as a !!null"),
            ("timestamp", "soon", "cannot decode !!str `soon` as a !!timestamp"),
            ("binary", "?", "!!binary value contains invalid base64 data"),
        ] {
            assert_eq!(of(tag, text), Err(expected.to_owned()));
        }
    }

    #[test]
    fn keys_are_texts_of_their_values() {
        let key = |text: &str| Scalar::plain(text).key().map(|(key, _)| key);
        for (texts, expected) in [
            ("on yes True", "true"),
            ("n off", "false"),
            ("10 0xA 012 1_0", "10"),
            ("1.10 1.1", "1.1"),
            ("1e30", "1e+30"),
            ("1000000.0 1e6", "1e+06"),
            ("1e-7", "1e-07"),
            ("1.5e3", "1500"),
            (".inf", ".inf"),
            ("a.b", "a.b"),
        ] {
            for text in texts.split_whitespace() {
                assert_eq!(key(text), Ok(expected.to_owned()), "{text}");
            }
        }
        assert_eq!(key("~"), Err("unsupported map key of type: %!s(<nil>), key: <nil>".to_owned()));
        assert_eq!(
            key("18446744073709551615"),
            Err("unsupported map key of type: uint64, key: 0xffffffffffffffff".to_owned())
        );
    }
}
