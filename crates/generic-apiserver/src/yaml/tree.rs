// SPDX-License-Identifier: Apache-2.0
//! A tree from YAML of which no more is made than the limits allow, whatever its aliases stand for.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Makes a tree of as many nodes as are left.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) left: &'a Cell<usize>,
    /// Keys that were found twice in one map.
    pub(super) duplicates: &'a RefCell<Vec<String>>,
}

impl Tree<'_> {
    fn count<E: Error>(self, value: Value) -> Result<Value, E> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(E::custom("the document is too large once its aliases are replaced"));
        };
        self.left.set(left);
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value of JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.count(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.count(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.count(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.count(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.count(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.count(Value::String(value))
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.count(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.count(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        self.count(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if map.contains_key(&name) {
                self.duplicates.borrow_mut().push(name.clone());
            }
            map.insert(name, value);
        }
        self.count(Value::Object(map))
    }
}
