// SPDX-License-Identifier: Apache-2.0
//! Encoder with the behaviour of Go's generated code, and samples of every kind for it.

use std::collections::BTreeMap;

use apimachinery::opaque;
use apimachinery::schema::{Emit, Field, Node, ObjectSchema};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Removes zero values, which Go writes although JSON omits them.
pub(super) fn without_zeros(tree: &Value) -> Value {
    match tree {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, value)| (name.clone(), without_zeros(value)));
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.iter().map(without_zeros).collect(),
        other => other.clone(),
    }
}

/// Pseudorandom choices from a seed.
pub(super) struct Choices(pub(super) u64);

impl Choices {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Draws a value in canonical JSON form.
pub(super) fn sample(node: &Node, depth: u64, choices: &mut Choices) -> Value {
    match node {
        Node::Object(reference) => {
            let mut tree = Map::new();
            for field in &reference.get().fields {
                let always = field.emit == Emit::Always && !matches!(field.node, Node::List(_) | Node::Map(_));
                if !always && choices.below(2 + depth * 2) > 0 {
                    continue;
                }
                let value = sample(&field.node, depth + 1, choices);
                let left_out = field.emit == Emit::OmitEmpty && is_empty(&value);
                if !value.is_null() && !left_out {
                    tree.insert(field.name.to_owned(), value);
                }
            }
            Value::Object(tree)
        }
        Node::Map(values) => {
            let entries = (0..=choices.below(2)).map(|index| (format!("k{index}"), sample(values, depth + 1, choices)));
            Value::Object(entries.collect())
        }
        Node::List(items) => (0..=choices.below(2)).map(|_| sample(items, depth + 1, choices)).collect(),
        Node::String => json!(["", "é", "x\ny"][usize::try_from(choices.below(3)).expect("small")]),
        Node::Boolean => json!(choices.below(2) == 1),
        Node::Integer { bits: 64, .. } => {
            json!([0, i64::MIN, i64::MAX][usize::try_from(choices.below(3)).expect("small")])
        }
        Node::Integer { .. } => json!([0, -1, i32::MAX][usize::try_from(choices.below(3)).expect("small")]),
        Node::Number => json!(0.5),
        Node::IntOrString => {
            [json!(0), json!(-7), json!("25%")][usize::try_from(choices.below(3)).expect("small")].clone()
        }
        Node::Quantity => json!(["0", "1500m", "4Gi"][usize::try_from(choices.below(3)).expect("small")]),
        Node::Duration => json!("1h30m0s"),
        Node::Time => json!("2023-07-28T09:07:27Z"),
        Node::MicroTime => json!("1969-07-20T20:17:40.000001Z"),
        Node::Bytes => json!("AAE="),
        Node::Raw => json!({"a": [1, null, "x"]}),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(value) => !value,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Null => true,
    }
}

pub(super) fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

pub(super) fn put(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(super) fn put_number(out: &mut Vec<u8>, number: u32, value: i64) {
    varint(out, u64::from(number) << 3);
    varint(out, value.cast_unsigned());
}

/// Encodes a struct, with the zero values that Go writes for fields missing in JSON.
pub(super) fn message(object: &ObjectSchema, tree: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let mut embedded: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for field in &object.fields {
        let protobuf = field.protobuf.expect("a number");
        let into = match protobuf.embedded_in {
            Some(outer) => embedded.entry(outer).or_default(),
            None => &mut out,
        };
        match tree.get(field.name) {
            Some(value) => put_value(into, protobuf.number, &field.node, value),
            None => put_zero(into, protobuf.number, field),
        }
    }
    for (number, bytes) in embedded {
        put(&mut out, number, &bytes);
    }
    out
}

fn put_zero(out: &mut Vec<u8>, number: u32, field: &Field) {
    match (&field.node, field.emit) {
        (_, Emit::Pointer) => {}
        (Node::String | Node::Time | Node::MicroTime, _) => put(out, number, b""),
        (Node::Integer { .. } | Node::Boolean, _) => put_number(out, number, 0),
        _ => {}
    }
}

fn put_value(out: &mut Vec<u8>, number: u32, node: &Node, value: &Value) {
    match (node, value) {
        (Node::List(items), Value::Array(values)) => {
            for value in values {
                if let Node::Map(_) = **items {
                    let mut inner = Vec::new();
                    put_value(&mut inner, 1, items, value);
                    put(out, number, &inner);
                } else {
                    put_value(out, number, items, value);
                }
            }
        }
        (Node::Map(values), Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                put(&mut entry, 1, key.as_bytes());
                if let Node::List(_) = **values {
                    let mut items = Vec::new();
                    put_value(&mut items, 1, values, value);
                    put(&mut entry, 2, &items);
                } else {
                    put_value(&mut entry, 2, values, value);
                }
                put(out, number, &entry);
            }
        }
        (Node::Object(reference), value) => put(out, number, &message(reference.get(), value)),
        (Node::Boolean, Value::Bool(value)) => put_number(out, number, i64::from(*value)),
        (Node::Integer { .. }, Value::Number(value)) => put_number(out, number, value.as_i64().expect("an integer")),
        (Node::Number, Value::Number(value)) => {
            varint(out, u64::from(number) << 3 | 1);
            out.extend_from_slice(&value.as_f64().expect("a number").to_le_bytes());
        }
        (Node::Bytes, Value::String(text)) => put(out, number, &STANDARD.decode(text).expect("base64")),
        (Node::String, Value::String(text)) => put(out, number, text.as_bytes()),
        (Node::Raw, value) => put(out, number, &wrapped(opaque::to_json(value).as_bytes())),
        (Node::Quantity, Value::String(text)) => put(out, number, &wrapped(text.as_bytes())),
        (Node::Duration, Value::String(text)) => {
            let duration: apimachinery::meta::Duration = text.parse().expect("a duration");
            let mut inner = Vec::new();
            put_number(&mut inner, 1, duration.nanoseconds);
            put(out, number, &inner);
        }
        (Node::Time | Node::MicroTime, Value::String(text)) => {
            let time: chrono::DateTime<chrono::Utc> = text.parse().expect("a time");
            let mut inner = Vec::new();
            put_number(&mut inner, 1, time.timestamp());
            put_number(&mut inner, 2, i64::from(time.timestamp_subsec_nanos()));
            put(out, number, &inner);
        }
        (Node::IntOrString, value) => {
            let mut inner = Vec::new();
            put_number(&mut inner, 1, i64::from(value.is_string()));
            put_number(&mut inner, 2, value.as_i64().unwrap_or_default());
            put(&mut inner, 3, value.as_str().unwrap_or_default().as_bytes());
            put(out, number, &inner);
        }
        (node, value) => panic!("{value} is no {node:?}"),
    }
}

pub(super) fn wrapped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, 1, bytes);
    out
}

pub(super) fn body(node: &Node, tree: &Value) -> Vec<u8> {
    let mut unknown = Vec::new();
    let mut type_meta = Vec::new();
    put(&mut type_meta, 1, b"g/v1");
    put(&mut type_meta, 2, b"Thing");
    put(&mut unknown, 1, &type_meta);
    put(&mut unknown, 2, &message(node.as_object().expect("a struct"), tree));
    put(&mut unknown, 3, b"");
    put(&mut unknown, 4, b"");
    [b"k8s\0", &unknown[..]].concat()
}
