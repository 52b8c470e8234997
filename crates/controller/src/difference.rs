// SPDX-License-Identifier: Apache-2.0
//! What differs between two states of an object, as a JSON merge patch (RFC 7386).

use std::fmt;

use serde::Serialize;
use serde::ser::{Impossible, SerializeStruct, Serializer};
use serde_json::{Map, Value};

/// The merge patch that turns `old` into `new`; empty if they are equal.
pub fn merge_patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (name, value) in new {
        match (old.get(name), value) {
            (Some(old), new) if old == new => {}
            (None, Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = merge_patch(old, new);
                // Empty when the difference is a null that JSON merge patch cannot express and servers drop anyway.
                if !inner.is_empty() {
                    patch.insert(name.clone(), Value::Object(inner));
                }
            }
            (_, new) => {
                patch.insert(name.clone(), new.clone());
            }
        }
    }
    for (name, value) in old {
        if !new.contains_key(name) && !value.is_null() {
            patch.insert(name.clone(), Value::Null);
        }
    }
    patch
}

/// The top-level fields of a struct that `wanted` names, as trees; the others are not even visited.
pub(crate) fn fields<T: Serialize>(
    object: &T,
    wanted: impl Fn(&'static str) -> bool,
) -> Result<Map<String, Value>, serde_json::Error> {
    object.serialize(Picker { wanted })
}

struct Picker<W> {
    wanted: W,
}

struct Picked<W> {
    wanted: W,
    fields: Map<String, Value>,
}

impl<W: Fn(&'static str) -> bool> SerializeStruct for Picked<W> {
    type Ok = Map<String, Value>;
    type Error = serde_json::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Self::Error> {
        if (self.wanted)(name) {
            self.fields.insert(name.to_owned(), serde_json::to_value(value)?);
        }
        Ok(())
    }

    fn end(self) -> Result<Self::Ok, Self::Error> {
        Ok(self.fields)
    }
}

fn no_struct() -> serde_json::Error {
    serde::ser::Error::custom("an API object is a struct")
}

type Never = Impossible<Map<String, Value>, serde_json::Error>;

impl<W: Fn(&'static str) -> bool> Serializer for Picker<W> {
    type Ok = Map<String, Value>;
    type Error = serde_json::Error;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Picked<W>;
    type SerializeStructVariant = Never;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Self::Error> {
        Ok(Picked { wanted: self.wanted, fields: Map::new() })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Self::Ok, Self::Error> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, Self::Error> {
        value.serialize(self)
    }

    fn serialize_bool(self, _: bool) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_i8(self, _: i8) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_i16(self, _: i16) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_i32(self, _: i32) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_i64(self, _: i64) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_u8(self, _: u8) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_u16(self, _: u16) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_u32(self, _: u32) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_u64(self, _: u64) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_f32(self, _: f32) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_f64(self, _: f64) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_char(self, _: char) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_str(self, _: &str) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_none(self) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_unit(self) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Self::Ok, Self::Error> {
        Err(no_struct())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Self::Error> {
        Err(no_struct())
    }
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Self::Error> {
        Err(no_struct())
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Self::Error> {
        Err(no_struct())
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Self::Error> {
        Err(no_struct())
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Self::Error> {
        Err(no_struct())
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Self::Error> {
        Err(no_struct())
    }
}

impl<W> fmt::Debug for Picker<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Picker")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(old: Value, new: Value, expected: Value) {
        let (Value::Object(old), Value::Object(new)) = (old, new) else { panic!("the rows are objects") };
        assert_eq!(Value::Object(merge_patch(&old, &new)), expected);
    }

    #[test]
    fn a_patch_names_what_differs_and_nothing_else() {
        check(json!({"a": 1, "b": {"c": 2}}), json!({"a": 1, "b": {"c": 2}}), json!({}));
        check(json!({"a": 1, "b": {"c": 2, "d": 3}}), json!({"a": 1, "b": {"c": 4, "d": 3}}), json!({"b": {"c": 4}}));
        check(json!({"a": 1, "b": {"c": 2}}), json!({"a": 1, "b": {}}), json!({"b": {"c": null}}));
        check(json!({"a": 1, "b": 2}), json!({"b": 2}), json!({"a": null}));
        check(json!({"a": [1, 2]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!({"a": {"b": 1}}), json!({"a": 1}), json!({"a": 1}));
        check(json!({}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}));
    }

    #[test]
    fn a_null_is_an_absent_field() {
        check(json!({"a": null}), json!({}), json!({}));
        check(json!({}), json!({"a": null}), json!({}));
        check(json!({"a": "t"}), json!({"a": null}), json!({"a": null}));
        check(json!({"a": null}), json!({"a": "t"}), json!({"a": "t"}));
    }

    #[test]
    fn only_wanted_fields_are_visited() {
        struct Unwilling;
        impl Serialize for Unwilling {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("visited"))
            }
        }
        #[derive(Serialize)]
        struct Object {
            spec: Unwilling,
            status: u8,
        }
        let object = Object { spec: Unwilling, status: 7 };
        assert_eq!(Value::Object(fields(&object, |name| name == "status").expect("a struct")), json!({"status": 7}));
        assert!(fields(&object, |name| name == "spec").is_err());
        assert!(fields(&7, |_| true).is_err());
    }
}
