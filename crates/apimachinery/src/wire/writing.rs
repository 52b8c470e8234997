// SPDX-License-Identifier: Apache-2.0
//! Values as JSON text, as Go's encoder writes it, and as trees.

use std::io::Write as _;

use serde_json::{Map, Number, Value};

use super::{Fields, View, Wire};
use crate::go::{write_json, write_text, write_tree};

/// Appends a value as Go's encoder would write it.
pub fn write(out: &mut Vec<u8>, value: &dyn Wire) {
    match value.view() {
        View::Null => out.extend_from_slice(b"null"),
        View::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        View::Integer(value) => {
            // Writing to memory does not fail.
            let _ = write!(out, "{value}");
        }
        View::Number(value) => write_json(out, &value),
        View::Text(text) => write_text(out, &text),
        View::Raw(raw) => out.extend_from_slice(raw.text().as_bytes()),
        View::Tree(tree) => write_tree(out, tree),
        View::List(list) => {
            out.push(b'[');
            for position in 0..list.len() {
                if position > 0 {
                    out.push(b',');
                }
                write(out, list.get(position));
            }
            out.push(b']');
        }
        View::Map(map) => {
            out.push(b'{');
            let mut is_first = true;
            map.each(&mut |key, value| {
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
                write_text(out, key);
                out.push(b':');
                write(out, value);
            });
            out.push(b'}');
        }
        View::Struct(object) => {
            let start = out.len();
            for position in 0..object.fields().len() {
                write_field(out, object, position);
            }
            // The comma of the first field is replaced by the brace.
            match out.get_mut(start) {
                Some(comma) => *comma = b'{',
                None => out.push(b'{'),
            }
            out.push(b'}');
        }
    }
}

/// Appends `,"name":value` for a field, unless it is left out.
pub fn write_field(out: &mut Vec<u8>, object: &dyn Fields, position: usize) {
    let info = &object.fields()[position];
    let value = object.field(position);
    if info.always || !value.is_zero() {
        out.extend_from_slice(info.key.as_bytes());
        write(out, value);
    }
}

/// Converts a value to a tree.
pub fn to_tree(value: &dyn Wire) -> Value {
    match value.view() {
        View::Null => Value::Null,
        View::Boolean(value) => Value::Bool(value),
        View::Integer(value) => value.into(),
        View::Number(value) => Number::from_f64(value).map_or(Value::Null, Value::Number),
        View::Text(text) => Value::String(text.into_owned()),
        View::Raw(raw) => raw.value(),
        View::Tree(value) => value.clone(),
        View::List(list) => (0..list.len()).map(|position| to_tree(list.get(position))).collect(),
        View::Map(map) => {
            let mut out = Map::new();
            map.each(&mut |key, value| {
                out.insert(key.to_owned(), to_tree(value));
            });
            Value::Object(out)
        }
        View::Struct(object) => to_tree_of(object, &|_| true),
    }
}

/// Converts the wanted fields of a struct to a tree.
pub fn to_tree_of(object: &dyn Fields, wanted: &dyn Fn(&str) -> bool) -> Value {
    let mut out = Map::new();
    for (position, info) in object.fields().iter().enumerate().filter(|(_, info)| wanted(info.name)) {
        let value = object.field(position);
        if info.always || !value.is_zero() {
            out.insert(info.name.to_owned(), to_tree(value));
        }
    }
    Value::Object(out)
}
