// SPDX-License-Identifier: Apache-2.0
//! Types of a schema as CEL declares them, with the largest size of their values.
//!
//! Source: k8s.io/apiserver pkg/cel/{types,limits}.go, pkg/cel/common/schemas.go; k8s.io/apiextensions-apiserver
//! pkg/apiserver/schema/cel/model/schemas.go.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::{Additional, Schema};

/// Maximum size of a request, in bytes.
pub(crate) const REQUEST: u64 = 3 << 20;
/// Maximum length of an object's name.
const NAME: u64 = 253;

/// Kind of a CEL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Dyn,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List,
    Map,
    Object,
    Other,
}

/// A type with the largest size of its values.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) kind: Kind,
    /// Maximum number of items, entries or bytes; 0 for values of one size.
    pub(crate) most: u64,
    /// Size of the shortest JSON of a value, in bytes.
    pub(crate) smallest: u64,
    pub(crate) fields: BTreeMap<String, Declared>,
    /// Type of the items of a list, or of the values of a map.
    pub(crate) items: Option<Box<Declared>>,
}

/// Type of the keys of all maps.
pub(crate) static KEY: Declared = Declared::plain(Kind::String, 0, 2);

impl Declared {
    const fn plain(kind: Kind, most: u64, smallest: u64) -> Self {
        Self { kind, most, smallest, fields: BTreeMap::new(), items: None }
    }

    /// Returns the type of a schema; None if rules cannot access its values.
    pub(crate) fn of(schema: &Schema, is_root: bool) -> Option<Self> {
        if schema.int_or_string {
            let most = schema.max_length.map_or(REQUEST - 2, |most| most as u64 * 4);
            return Some(Self::plain(Kind::Dyn, most, 1));
        }
        Some(match schema.r#type.as_str() {
            "array" => {
                let item = schema.items.as_ref()?;
                let item = Self::of(item, item.embedded_resource)?;
                let fitting = (REQUEST - 2) / (item.smallest + 1);
                let most = schema.max_items.map_or(fitting, |most| most as u64);
                Self { items: Some(Box::new(item)), ..Self::plain(Kind::List, most, 2) }
            }
            "object" => match &schema.additional_properties {
                Some(Additional::Schema(value)) => {
                    let value = Self::of(value, value.embedded_resource)?;
                    // A key, quotation marks, colon, comma.
                    let fitting = (REQUEST - 2) / (value.smallest + 6);
                    let most = schema.max_properties.map_or(fitting, |most| most as u64);
                    Self { items: Some(Box::new(value)), ..Self::plain(Kind::Map, most, 2) }
                }
                _ => Self::object(schema, is_root || schema.embedded_resource),
            },
            "string" => Self::text(schema),
            "boolean" => Self::plain(Kind::Bool, 0, 4),
            "number" => Self::plain(Kind::Double, 0, 1),
            "integer" => Self::plain(Kind::Int, 0, 1),
            _ => return None,
        })
    }

    fn object(schema: &Schema, is_root: bool) -> Self {
        let mut object = Self::plain(Kind::Object, 0, 2);
        for (name, property) in &schema.properties {
            let Some(declared) = Self::of(property, property.embedded_resource) else { continue };
            if schema.required.contains(name) && property.default.is_none() {
                object.smallest += name.len() as u64 + declared.smallest + 4;
            }
            object.fields.insert(name.clone(), declared);
        }
        if is_root {
            for name in ["apiVersion", "kind"] {
                object.fields.insert(name.to_owned(), Self::plain(Kind::String, REQUEST - 2, 2));
            }
            let mut metadata = Self::plain(Kind::Object, 0, 2);
            for (name, most) in [("name", NAME), ("generateName", NAME - 1)] {
                metadata.fields.insert(name.to_owned(), Self::plain(Kind::String, most * 4, 2));
            }
            object.fields.insert("metadata".to_owned(), metadata);
        }
        object
    }

    fn text(schema: &Schema) -> Self {
        let (kind, most, smallest) = match schema.format.as_str() {
            "byte" => (Kind::Bytes, schema.max_length.map_or(REQUEST - 2, |most| most as u64), 2),
            "duration" => (Kind::Duration, 32, 3),
            "date" => (Kind::Timestamp, 12, 12),
            "date-time" => (Kind::Timestamp, 32, 21),
            _ => {
                let longest = || schema.r#enum.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or_default();
                let most = match schema.max_length {
                    // A character has up to four bytes.
                    Some(most) => most as u64 * 4,
                    None if schema.r#enum.is_empty() => REQUEST - 2,
                    None => longest() as u64,
                };
                (Kind::String, most, 2)
            }
        };
        Self::plain(kind, most, smallest)
    }
}
