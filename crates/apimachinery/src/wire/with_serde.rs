// SPDX-License-Identifier: Apache-2.0
//! Values for other serializers and deserializers: the same text, field by field.

use serde::de::Error as _;
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize as _, Deserializer, Serialize, Serializer};

use super::{View, Wire};
use crate::meta::Raw;

struct Serial<'a>(&'a dyn Wire);

impl Serialize for Serial<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, serializer)
    }
}

/// Implements `Serialize` of every API type.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(value: &dyn Wire, serializer: S) -> Result<S::Ok, S::Error> {
    match value.view() {
        View::Null => serializer.serialize_none(),
        View::Boolean(value) => serializer.serialize_bool(value),
        View::Integer(value) => serializer.serialize_i64(value),
        View::Number(value) => serializer.serialize_f64(value),
        View::Text(text) => serializer.serialize_str(&text),
        View::Raw(raw) => raw.serialize(serializer),
        View::Tree(tree) => tree.serialize(serializer),
        View::List(list) => {
            let mut out = serializer.serialize_seq(Some(list.len()))?;
            for position in 0..list.len() {
                out.serialize_element(&Serial(list.get(position)))?;
            }
            out.end()
        }
        View::Map(map) => {
            let mut out = serializer.serialize_map(None)?;
            let mut result = Ok(());
            map.each(&mut |key, value| {
                if result.is_ok() {
                    result = out.serialize_entry(key, &Serial(value));
                }
            });
            result?;
            out.end()
        }
        View::Struct(object) => {
            let mut out = serializer.serialize_map(None)?;
            for (position, info) in object.fields().iter().enumerate() {
                let value = object.field(position);
                if info.always || !value.is_zero() {
                    out.serialize_entry(info.name, &Serial(value))?;
                }
            }
            out.end()
        }
    }
}

/// Implements `Deserialize` of every API type by the text of the value.
///
/// # Errors
/// Those of the deserializer, and a value of a wrong type.
pub fn deserialize<'de, T: Wire + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let raw = Raw::deserialize(deserializer)?;
    let mut value = T::default();
    super::read(&mut value, raw.text()).map_err(D::Error::custom)?;
    Ok(value)
}
