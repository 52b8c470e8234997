// SPDX-License-Identifier: Apache-2.0
//! The tree of a text, read with serde: of JSON, for which this is several times faster, and of the few texts of YAML
//! that libyaml accepts and the parser of `tree` does not (closing brackets further left than their block).
//!
//! A scalar of such YAML that has an anchor or a tag is resolved by YAML 1.2, since serde does not report its quotes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::document::{Document, Duplicate, Limits};
use crate::error::Error;
use crate::scalar::Scalar;

/// Returns the tree of a JSON text; `None` if it is not JSON, has a duplicate key, or exceeds the limits: the YAML
/// reader then reports the error.
pub(crate) fn json(text: &str, limits: Limits) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let walk =
        Walk { yaml: None, depth: limits.depth, left: &Cell::new(limits.nodes), duplicates: &RefCell::default() };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = walk.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    walk.duplicates.borrow().is_empty().then_some(value)
}

/// Returns the tree of a text that libyaml accepts.
pub(crate) fn yaml(text: &str, limits: Limits) -> Result<Document, Error> {
    let duplicates = RefCell::default();
    let walk = Walk { yaml: Some(text), depth: limits.depth, left: &Cell::new(limits.nodes), duplicates: &duplicates };
    let mut documents = serde_yaml_ng::Deserializer::from_str(text);
    let first = if limits.is_go { documents.next() } else { Some(documents) };
    let value = first
        .map_or(Ok(Value::Null), |document| walk.deserialize(document))
        .map_err(|error| Error::at(error.location().map_or(0, |place| place.line()), error.to_string()))?;
    Ok(Document { value, duplicates: duplicates.into_inner() })
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    /// The text, if it is YAML.
    yaml: Option<&'a str>,
    /// Remaining nesting depth of collections.
    depth: usize,
    left: &'a Cell<usize>,
    duplicates: &'a RefCell<Vec<Duplicate>>,
}

impl<'a> Walk<'a> {
    fn scalar<E: serde::de::Error>(self, scalar: Scalar) -> Result<Value, E> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| E::custom("too many nodes"))?;
        self.left.set(left);
        scalar.value().map_err(E::custom)
    }

    /// Returns the walk for the content of a collection.
    fn inside<E: serde::de::Error>(self) -> Result<Walk<'a>, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("exceeded max depth"))?;
        Ok(Walk { depth, ..self })
    }

    /// Returns the position of a part in the text, unless the part is quoted.
    fn plain_at(self, part: &str) -> Option<usize> {
        let whole = self.yaml?;
        let at = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize).filter(|at| *at <= whole.len())?;
        let is_quoted = at > 0 && matches!(whole.as_bytes()[at - 1], b'"' | b'\'');
        (!is_quoted).then_some(at)
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'de> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'de> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value of JSON")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.scalar(Scalar::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.scalar(Scalar::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.scalar(i64::try_from(value).map_or(Scalar::Unsigned(value), Scalar::Int))
    }

    #[expect(clippy::cast_precision_loss, reason = "as Go has it")]
    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        self.scalar(Scalar::Float(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "as Go has it")]
    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        self.scalar(Scalar::Float(value as f64))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.scalar(Scalar::Float(value))
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<Value, E> {
        let is_plain = self.plain_at(value).is_some();
        self.scalar(if is_plain { Scalar::plain(value) } else { Scalar::Text(value.to_owned()) })
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.scalar(Scalar::Text(value.to_owned()))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.scalar(Scalar::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        self.scalar(Scalar::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = entries.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut map = Map::new();
        let mut merged = BTreeSet::new();
        while let Some(key) = entries.next_key_seed(Key(inside))? {
            let value = entries.next_value_seed(inside)?;
            match (key, value) {
                (KeyRead::Merge, value) => {
                    let maps = maps_of(value)
                        .ok_or_else(|| A::Error::custom("map merge requires map or sequence of maps as the value"))?;
                    for (key, value) in maps.into_iter().flatten() {
                        merged.insert(key.clone());
                        map.insert(key, value);
                    }
                }
                (KeyRead::Key { key, shown, line }, value) => {
                    let is_merged = merged.remove(&key);
                    if map.insert(key, value).is_some() {
                        self.duplicates.borrow_mut().push(Duplicate { line, key: shown, is_merged });
                    }
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// Returns the merged maps; the one with the highest priority is the last.
pub(crate) fn maps_of(value: Value) -> Option<Vec<Map<String, Value>>> {
    match value {
        Value::Object(map) => Some(vec![map]),
        Value::Array(items) => {
            let maps = items.into_iter().rev().map(|item| match item {
                Value::Object(map) => Some(map),
                _ => None,
            });
            maps.collect()
        }
        _ => None,
    }
}

/// Reads a key.
struct Key<'a>(Walk<'a>);

/// Result of reading a key.
enum KeyRead {
    Merge,
    Key { key: String, shown: String, line: usize },
}

impl<'de> DeserializeSeed<'de> for Key<'de> {
    type Value = KeyRead;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<KeyRead, D::Error> {
        if self.0.yaml.is_some() { deserializer.deserialize_any(self) } else { deserializer.deserialize_str(self) }
    }
}

impl Key<'_> {
    fn found<E: serde::de::Error>(&self, scalar: Scalar, at: Option<usize>) -> Result<KeyRead, E> {
        let (key, shown) = scalar.key().map_err(E::custom)?;
        let text = self.0.yaml.unwrap_or_default();
        let line = at.map_or(1, |at| text[..at].bytes().filter(|byte| *byte == b'\n').count() + 1);
        Ok(KeyRead::Key { key, shown, line })
    }
}

impl<'de> Visitor<'de> for Key<'de> {
    type Value = KeyRead;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<KeyRead, E> {
        self.found(Scalar::Bool(value), None)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<KeyRead, E> {
        self.found(Scalar::Int(value), None)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<KeyRead, E> {
        self.found(i64::try_from(value).map_or(Scalar::Unsigned(value), Scalar::Int), None)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<KeyRead, E> {
        self.found(Scalar::Float(value), None)
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<KeyRead, E> {
        match self.0.plain_at(value) {
            Some(_) if value == "<<" => Ok(KeyRead::Merge),
            Some(at) => self.found(Scalar::plain(value), Some(at)),
            None => self.found(Scalar::Text(value.to_owned()), None),
        }
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<KeyRead, E> {
        self.found(Scalar::Text(value.to_owned()), None)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<KeyRead, E> {
        self.found(Scalar::Null, None)
    }
}
