// SPDX-License-Identifier: Apache-2.0
//! Opaque JSON: a text that stays unchanged between client and storage.
//!
//! Go keeps the bytes of a `runtime.RawExtension` as a client wrote them; its encoder removes the white space and
//! escapes the special characters of HTML. So order and repetition of keys and the form of numbers stay, and a change
//! of these alone is a change of the object.
//!
//! Source: k8s.io/apimachinery pkg/runtime/extension.go; encoding/json (compact).

use std::fmt;
use std::sync::Arc;

use memchr::{memchr, memchr2, memchr3};
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The name by which serde_json recognizes a type that reads text instead of values.
const TEXT: &str = "$serde_json::private::RawValue";
/// Prefix of a [`mark`].
const MARK: &str = "\0raw:";

/// `runtime.RawExtension` and `apiextensions.JSON`: any JSON value with its original text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawExtension(pub Raw);

/// The text of a JSON value, without white space, as Go's encoder would write it.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(Arc<str>);

impl RawExtension {
    /// Parses the value.
    pub fn value(&self) -> Value {
        self.0.value()
    }
}

impl From<Value> for RawExtension {
    fn from(value: Value) -> Self {
        Self(value.into())
    }
}

impl Raw {
    /// Creates the value from a JSON text.
    fn compact(text: &str) -> Self {
        if is_compact(text) {
            return Self(text.into());
        }
        let mut out = String::with_capacity(text.len());
        let mut in_text = false;
        let mut is_escaped = false;
        for character in text.chars() {
            if !in_text {
                in_text = character == '"';
                if !matches!(character, ' ' | '\t' | '\r' | '\n') {
                    out.push(character);
                }
                continue;
            }
            in_text = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            match character {
                '<' => out.push_str("\\u003c"),
                '>' => out.push_str("\\u003e"),
                '&' => out.push_str("\\u0026"),
                '\u{2028}' => out.push_str("\\u2028"),
                '\u{2029}' => out.push_str("\\u2029"),
                other => out.push(other),
            }
        }
        Self(out.into())
    }

    /// Creates the value from a JSON text, which may be that of a [`mark`].
    pub(crate) fn of_json(text: &str) -> Self {
        if text.starts_with("\"\\u0000")
            && let Ok(marked) = serde_json::from_str::<String>(text)
            && let Some(inner) = marked_text(&marked)
        {
            return Self::compact(inner);
        }
        Self::compact(text)
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Parses the value.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Returns the value with sorted keys, as after a conversion to Go's maps.
    #[must_use]
    pub fn sorted(&self) -> Self {
        if super::sorted::is_sorted(&self.0) { self.clone() } else { self.value().into() }
    }
}

/// True if a JSON text has nothing to remove or to escape, like one that [`crate::encode`] has written.
fn is_compact(text: &str) -> bool {
    let mut rest = text.as_bytes();
    // 0xe2 is the first byte of U+2028 and U+2029, and of other characters, which are checked one by one.
    if memchr3(b'<', b'>', b'&', rest).is_some() || memchr(0xe2, rest).is_some() {
        return false;
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    while let Some(start) = memchr(b'"', rest) {
        if rest[..start].iter().any(is_blank) {
            return false;
        }
        rest = &rest[start + 1..];
        while let Some(at) = memchr2(b'"', b'\\', rest) {
            let is_end = rest[at] == b'"';
            // An escaped character does not end a text.
            rest = rest.get(at + if is_end { 1 } else { 2 }..).unwrap_or_default();
            if is_end {
                break;
            }
        }
    }
    !rest.iter().any(is_blank)
}

impl Default for Raw {
    fn default() -> Self {
        Self("null".into())
    }
}

impl From<Value> for Raw {
    fn from(value: Value) -> Self {
        if let Value::String(text) = &value
            && let Some(inner) = marked_text(text)
        {
            return Self::compact(inner);
        }
        let mut out = Vec::new();
        crate::go::write_tree(&mut out, &value);
        Self(String::from_utf8(out).unwrap_or_default().into())
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(&self.0) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(TEXT, RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    /// serde_json passes the text as the only entry of a map.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        struct Text(Option<String>);
        impl<'de> Deserialize<'de> for Text {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                Ok(Self((name != TEXT).then_some(name)))
            }
        }
        match map.next_key::<Text>()? {
            Some(Text(None)) => map.next_value::<OfText>().map(|text| text.0),
            None => Ok(Value::Object(serde_json::Map::new()).into()),
            Some(Text(Some(first))) => {
                let value = map.next_value::<Value>()?;
                let mut rest = rest::<_, serde_json::Map<String, Value>>(map)?;
                rest.entry(first).or_insert(value);
                Ok(Value::Object(rest).into())
            }
        }
    }

    /// Other deserializers pass the value.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Value::deserialize(deserializer).map(Raw::from)
    }
}

/// The value that serde_json passes: borrowed from its input text, or built from a value.
struct OfText(Raw);

impl<'de> Deserialize<'de> for OfText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfTextVisitor;
        impl Visitor<'_> for OfTextVisitor {
            type Value = OfText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the text of a JSON value")
            }

            fn visit_borrowed_str<E: Error>(self, text: &str) -> Result<OfText, E> {
                Ok(OfText(Raw::of_json(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OfText, E> {
                Ok(OfText(Raw::of_json(text)))
            }

            /// Numbers of a value have lost their form, and get Go's.
            fn visit_string<E: Error>(self, text: String) -> Result<OfText, E> {
                serde_json::from_str::<Value>(&text).map(|value| OfText(value.into())).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(OfTextVisitor)
    }
}

fn rest<'de, A: MapAccess<'de>, T: DeserializeOwned>(map: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}

/// Returns a text that represents opaque JSON in a tree of values, which could not keep its form otherwise; [`Raw`] is
/// read from it.
pub(crate) fn mark(text: &str) -> Value {
    Value::String(format!("{MARK}{text}"))
}

/// Returns the text in a [`mark`].
pub(crate) fn marked(value: &Value) -> Option<&str> {
    marked_text(value.as_str()?)
}

fn marked_text(text: &str) -> Option<&str> {
    // A client's own text may have the same prefix.
    let text = text.strip_prefix(MARK)?;
    serde_json::from_str::<&RawValue>(text).is_ok().then_some(text)
}

/// Returns the nesting depth of a JSON text.
pub(crate) fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest): (usize, usize) = (0, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        let raw: RawExtension = serde_json::from_str(given).expect("JSON");
        assert_eq!(raw.0.text(), expected);
        let mut out = Vec::new();
        crate::go::write_json(&mut out, &raw);
        assert_eq!(String::from_utf8(out).expect("text"), expected);
        let again: RawExtension = serde_json::from_str(expected).expect("JSON");
        assert_eq!(again, raw);
        let marked: RawExtension = serde_json::from_value(mark(given)).expect("a mark");
        assert_eq!(marked, raw);
        let in_struct: Vec<Option<RawExtension>> = serde_json::from_value(json!([mark(given)])).expect("a list");
        assert_eq!(in_struct, [Some(raw)]);
    }

    #[test]
    fn a_text_stays_but_for_white_space_and_html() {
        check(r#"{"b": 1, "a": 2}"#, r#"{"b":1,"a":2}"#);
        check("{\"b\" :\n[ 1.0 ,1e2, 1E+2 ,-0 ]\t}", r#"{"b":[1.0,1e2,1E+2,-0]}"#);
        check(r#"{"a":1,"a":{"z":null,"y":true}}"#, r#"{"a":1,"a":{"z":null,"y":true}}"#);
        check(r#"{"a b":"c \" : d\\" , "e":"<&>/"}"#, r#"{"a b":"c \" : d\\","e":"\u003c\u0026\u003e/"}"#);
        check("\"\u{2028}é\\u00e9\"", "\"\\u2028é\\u00e9\"");
        check(" 12345678901234567890123 ", "12345678901234567890123");
        check("[]", "[]");
        check(r#"{"a":"b c\\","d": 1}"#, r#"{"a":"b c\\","d":1}"#);
        check(r#"{"a":"b\" c","d":"e"}"#, r#"{"a":"b\" c","d":"e"}"#);
    }

    #[test]
    fn a_compact_text_is_taken_as_it_is() {
        for (text, expected) in [
            (r#"{"a":"b c","d":[1,"\\"]}"#, true),
            (r#"{"a": 1}"#, false),
            (r#"{"a":"\"", "b":1}"#, false),
            (r#"{"a":"\\","b":1} "#, false),
            ("\"é\"", true),
            ("\"<\"", false),
            ("\"\u{2028}\"", false),
            ("1", true),
        ] {
            assert_eq!(is_compact(text), expected, "{text}");
        }
    }

    #[test]
    fn trees_are_sorted_and_invalid_json_is_a_text() {
        let of = |value: Value| serde_json::from_value::<RawExtension>(value).expect("any").0.text().to_owned();
        assert_eq!(of(json!({"b": 1, "a": {"d": 1, "c": 2}})), r#"{"a":{"c":2,"d":1},"b":1}"#);
        assert_eq!(of(json!("\0raw:{")), r#""\u0000raw:{""#);
        assert_eq!(of(json!([100.0, 1e21, 0.5])), "[100,1e+21,0.5]");
        let raw: RawExtension = serde_json::from_str(r#"{"b":1,"a":2}"#).expect("JSON");
        assert_eq!(raw.0.sorted().text(), r#"{"a":2,"b":1}"#);
        assert_ne!(raw.0.sorted(), raw.0, "an order is part of it");
        assert_eq!(serde_json::to_value(&raw).expect("a tree"), json!({"a": 2, "b": 1}));
    }

    #[test]
    fn brackets_in_texts_are_no_levels() {
        for (text, depth) in
            [("1", 0), ("{}", 1), (r#"{"a": [{"b": 1}, [[]]]}"#, 4), (r#""[[[""#, 0), (r#"["\"[[", "\\", [1]]"#, 2)]
        {
            assert_eq!(nesting(text), depth, "{text}");
        }
    }
}
