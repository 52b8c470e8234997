// SPDX-License-Identifier: Apache-2.0
//! Scalars with their own wire form: integer-or-string, bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Equivalent of Go's `intstr.IntOrString`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A text, mostly a percentage.
    String(String),
}

/// `[]byte`: base64 on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteString(pub Vec<u8>);

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl IntOrString {
    /// Returns the number, or the percentage of `total`, rounded up or down.
    ///
    /// # Errors
    /// A text that is not a percentage, with upstream's text.
    pub fn scaled(&self, total: i32, round_up: bool) -> Result<i32, String> {
        let text = match self {
            Self::Int(value) => return Ok(*value),
            Self::String(text) => text,
        };
        let Some(number) = text.strip_suffix('%') else {
            return Err("invalid value for IntOrString: invalid type: string is not a percentage".to_owned());
        };
        let percent: i64 = number
            .parse()
            .map_err(|_| format!("invalid value for IntOrString: invalid value {text:?}: strconv.Atoi: parsing {number:?}: invalid syntax"))?;
        let product = percent.saturating_mul(i64::from(total));
        let scaled = if round_up { (product + 99).div_euclid(100) } else { product.div_euclid(100) };
        Ok(i32::try_from(scaled).unwrap_or(i32::MAX))
    }

    /// True if the value is a percentage.
    pub fn is_percentage(&self) -> bool {
        matches!(self, Self::String(text) if text.ends_with('%'))
    }
}

impl From<i32> for IntOrString {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::String(text) => f.write_str(text),
        }
    }
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(value) => serializer.serialize_i32(*value),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

struct IntOrStringVisitor;

impl de::Visitor<'_> for IntOrStringVisitor {
    type Value = IntOrString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or a string")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<IntOrString, E> {
        i32::try_from(value).map(IntOrString::Int).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<IntOrString, E> {
        i32::try_from(value).map(IntOrString::Int).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<IntOrString, E> {
        Ok(IntOrString::String(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<IntOrString, E> {
        Ok(IntOrString::String(text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<IntOrString, E> {
        Ok(IntOrString::default())
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntOrStringVisitor)
    }
}

impl ByteString {
    /// Decodes base64 text as Go does: standard alphabet, padded, line breaks ignored.
    ///
    /// # Errors
    /// The text of Go's decoder.
    pub fn from_base64(text: &str) -> Result<Self, String> {
        let decoded = if text.contains(['\n', '\r']) {
            STANDARD.decode(text.replace(['\n', '\r'], ""))
        } else {
            STANDARD.decode(text)
        };
        decoded.map(Self).map_err(|error| {
            let offset = match error {
                base64::DecodeError::InvalidByte(offset, _) | base64::DecodeError::InvalidLastSymbol(offset, _) => {
                    offset
                }
                base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => text.len() / 4 * 4,
            };
            format!("illegal base64 data at input byte {offset}")
        })
    }

    /// Encodes as base64 text.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.0)
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.unwrap_or_default();
        Self::from_base64(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn integer_or_string_keeps_its_form() {
        for value in [json!(3), json!("25%"), json!("x")] {
            let read: IntOrString = from_value(value.clone()).expect("either form is read");
            assert_eq!(to_value(read).expect("serialises"), value);
        }
        assert!(from_value::<IntOrString>(json!(true)).is_err());
    }

    #[test]
    fn percentages_round_in_the_requested_direction() {
        let quarter = IntOrString::from("25%");
        assert_eq!(quarter.scaled(5, true), Ok(2));
        assert_eq!(quarter.scaled(5, false), Ok(1));
        assert_eq!(IntOrString::from(3).scaled(5, false), Ok(3));
        assert_eq!(
            IntOrString::from("x").scaled(5, false),
            Err("invalid value for IntOrString: invalid type: string is not a percentage".to_owned())
        );
    }

    #[test]
    fn bytes_that_are_no_base64_are_refused_in_gos_words() {
        assert_eq!(ByteString::from_base64("!"), Err("illegal base64 data at input byte 0".to_owned()));
        assert_eq!(ByteString::from_base64("YWI="), Ok(ByteString::from("ab")));
    }

    proptest! {
        #[test]
        fn bytes_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let value = ByteString(bytes);
            let wire = to_value(&value).expect("serialises");
            prop_assert_eq!(from_value::<ByteString>(wire).expect("reads back"), value);
        }
    }
}
