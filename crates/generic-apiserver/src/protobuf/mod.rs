// SPDX-License-Identifier: Apache-2.0
//! Request bodies in protobuf: converted from bytes to the tree that the same object has in JSON, by the schema tree;
//! and back, for responses ([`answer`]).
//!
//! ```text
//! k8s\0  Unknown { 1: TypeMeta { 1: apiVersion, 2: kind }, 2: raw, … }      raw: the message of that kind
//! ```
//!
//! Names of fields are those of JSON; their numbers are in the schema (`Field::protobuf`). Fields that JSON leaves out
//! when they are empty are left out here, too, because Go writes every field. Unknown fields are dropped silently, as
//! in Go.
//!
//! **Deliberately absent**: messages of custom resources, whose fields have no numbers ([`is_known`]).
//!
//! Source: apimachinery pkg/runtime/serializer/protobuf, pkg/runtime/generated.proto, the `generated.proto` of each
//! group.

pub mod answer;
mod wire;

use std::collections::BTreeSet;
use std::ptr;

use apimachinery::schema::{Emit, Field, Node, ObjectSchema};
use apimachinery::{decode, opaque};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Datelike as _, SecondsFormat, Utc};
use serde_json::{Map, Number, Value};

use self::wire::{Reader, Result, Wire};

/// Media type of bodies in protobuf.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Prefix of every body.
const PREFIX: &[u8; 4] = b"k8s\0";

/// Maximum nesting depth of messages.
const MAX_DEPTH: usize = apimachinery::decode::MAX_DEPTH;

/// A body without its envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// `group/version`; may be empty.
    pub api_version: String,
    /// Kind; may be empty.
    pub kind: String,
    /// The message of that kind.
    pub raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Opens the envelope.
    ///
    /// # Errors
    /// A missing prefix, an empty body, an invalid message; the text is Go's.
    pub fn open(body: &'a [u8]) -> std::result::Result<Self, String> {
        if body.is_empty() {
            return Err("empty data".to_owned());
        }
        let Some(message) = body.strip_prefix(PREFIX) else {
            let text = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
            return Err(text.to_owned());
        };
        if message.is_empty() {
            return Err("empty body".to_owned());
        }
        let mut envelope = Self::default();
        let mut reader = Reader::new(message, "Unknown");
        while let Some((number, value)) = reader.field()? {
            match (number, value) {
                (1, Wire::Bytes(bytes)) => envelope.type_meta(bytes)?,
                (2, Wire::Bytes(bytes)) => envelope.raw = bytes,
                (1, other) => return Err(wrong_form(other, "TypeMeta")),
                (2, other) => return Err(wrong_form(other, "Raw")),
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn type_meta(&mut self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes, "TypeMeta");
        while let Some((number, value)) = reader.field()? {
            match number {
                1 => self.api_version = text(value, "apiVersion")?,
                2 => self.kind = text(value, "kind")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the message as the tree that the object has in JSON, opaque JSON as marks (see
    /// [`apimachinery::opaque`]); `apiVersion` and `kind` are present if the envelope has them.
    ///
    /// # Errors
    /// A message that is broken or does not match the schema; the text is Go's.
    pub fn tree(&self, schema: &Node) -> std::result::Result<Value, String> {
        let object = schema.as_object().ok_or("only structs are messages")?;
        let mut tree = Map::new();
        message(&mut tree, self.raw, object, None, 0)?;
        for (name, text) in [("apiVersion", &self.api_version), ("kind", &self.kind)] {
            if !text.is_empty() {
                tree.insert(name.to_owned(), Value::String(text.clone()));
            }
        }
        let decoded = decode::tree(Value::Object(tree), schema).map_err(|error| error.message)?;
        Ok(decoded.tree)
    }
}

/// True if every field of a kind, at any depth, has a number: otherwise a body would lose the fields without one.
pub fn is_known(schema: &Node) -> bool {
    schema.as_object().is_some() && known(schema, &mut BTreeSet::new())
}

fn known(node: &Node, seen: &mut BTreeSet<usize>) -> bool {
    match node {
        Node::Map(below) | Node::List(below) => known(below, seen),
        Node::Object(reference) => {
            let object = reference.get();
            !seen.insert(ptr::from_ref(object).addr())
                || object.fields.iter().all(|field| field.protobuf.is_some() && known(&field.node, seen))
        }
        _ => true,
    }
}

/// Reads the fields of a message into `tree`; `embedded_in`: the message is that of an embedded struct, whose fields
/// are in the same object as those of `object`.
fn message(
    tree: &mut Map<String, Value>,
    bytes: &[u8],
    object: &'static ObjectSchema,
    embedded_in: Option<u32>,
    depth: usize,
) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err("exceeded max depth".to_owned());
    }
    let mut reader = Reader::new(bytes, object.name);
    while let Some((number, value)) = reader.field()? {
        let found = object.fields.iter().find(|field| {
            field.protobuf.is_some_and(|protobuf| protobuf.embedded_in == embedded_in && protobuf.number == number)
        });
        if let Some(field) = found {
            read_field(tree, field, value, depth)?;
            continue;
        }
        let embeds = |field: &Field| field.protobuf.is_some_and(|protobuf| protobuf.embedded_in == Some(number));
        if embedded_in.is_none() && object.fields.iter().any(embeds) {
            let Wire::Bytes(bytes) = value else { return Err(wrong_form(value, object.name)) };
            message(tree, bytes, object, Some(number), depth + 1)?;
        }
    }
    Ok(())
}

/// Adds a value to its field: appends to a list, inserts into a map, merges into a struct, replaces a scalar.
fn read_field(tree: &mut Map<String, Value>, field: &'static Field, given: Wire<'_>, depth: usize) -> Result<()> {
    let before = tree.remove(field.name);
    let after = match &field.node {
        Node::List(items) => {
            let mut list = match before {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            match (&**items, given) {
                (Node::Integer { .. } | Node::Boolean | Node::Number, Wire::Bytes(packed)) => {
                    unpack(&mut list, items, packed)?;
                }
                // A map cannot be repeated: it is wrapped into a message with the entries.
                (Node::Map(values), Wire::Bytes(message)) => list.push(map_in(message, values, field.name, depth)?),
                _ => list.push(single(None, items, given, field.name, depth)?),
            }
            Value::Array(list)
        }
        Node::Map(values) => {
            let mut map = match before {
                Some(Value::Object(map)) => map,
                _ => Map::new(),
            };
            let Wire::Bytes(entry) = given else { return Err(wrong_form(given, field.name)) };
            let (key, value) = entry_of(entry, values, field.name, depth)?;
            map.insert(key, value);
            Value::Object(map)
        }
        node => single(before, node, given, field.name, depth)?,
    };
    let empty = match &after {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(value) => !value,
        Value::Array(_) | Value::Object(_) => false,
    };
    if after.is_null() || (empty && field.emit == Emit::OmitEmpty) {
        return Ok(());
    }
    tree.insert(field.name.to_owned(), after);
    Ok(())
}

/// Reads the items of a packed list.
fn unpack(list: &mut Vec<Value>, node: &Node, packed: &[u8]) -> Result<()> {
    let mut reader = Reader::new(packed, "");
    while !reader.is_empty() {
        let item =
            if let Node::Number = node { Wire::Fixed64(reader.fixed64()?) } else { Wire::Varint(reader.varint()?) };
        list.push(single(None, node, item, "", 0)?);
    }
    Ok(())
}

/// Reads key and value of a map.
fn entry_of(bytes: &[u8], values: &Node, name: &str, depth: usize) -> Result<(String, Value)> {
    let (mut key, mut value) = (String::new(), None);
    let mut reader = Reader::new(bytes, name);
    while let Some((number, given)) = reader.field()? {
        match (number, values) {
            (1, _) => key = text(given, name)?,
            // A list cannot be a map's value: it is wrapped into a message with the items.
            (2, Node::List(items)) => value = Some(wrapped(given, items, name, depth)?),
            (2, _) => value = Some(single(value.take(), values, given, name, depth)?),
            _ => {}
        }
    }
    let value = match value {
        Some(value) => value,
        None => match values {
            Node::String | Node::Bytes => Value::String(String::new()),
            Node::List(_) => Value::Array(Vec::new()),
            Node::Object(_) | Node::Map(_) => Value::Object(Map::new()),
            Node::Quantity => Value::String("0".to_owned()),
            Node::Integer { .. } => Value::from(0),
            Node::Boolean => Value::Bool(false),
            _ => Value::Null,
        },
    };
    Ok((key, value))
}

/// Reads the map that is field 1 of a message.
fn map_in(message: &[u8], values: &Node, name: &str, depth: usize) -> Result<Value> {
    let mut map = Map::new();
    let mut reader = Reader::new(message, name);
    while let Some((number, given)) = reader.field()? {
        match (number, given) {
            (1, Wire::Bytes(entry)) => {
                let (key, value) = entry_of(entry, values, name, depth)?;
                map.insert(key, value);
            }
            (1, other) => return Err(wrong_form(other, name)),
            _ => {}
        }
    }
    Ok(Value::Object(map))
}

fn wrapped(given: Wire<'_>, items: &Node, name: &str, depth: usize) -> Result<Value> {
    let Wire::Bytes(bytes) = given else { return Err(wrong_form(given, name)) };
    let mut list = Vec::new();
    let mut reader = Reader::new(bytes, name);
    while let Some((number, given)) = reader.field()? {
        if number == 1 {
            list.push(single(None, items, given, "Items", depth)?);
        }
    }
    Ok(Value::Array(list))
}

/// Reads one value that is neither list nor map; `null` for an absent value.
fn single(before: Option<Value>, node: &Node, given: Wire<'_>, name: &str, depth: usize) -> Result<Value> {
    let wrong = || Err(wrong_form(given, name));
    match (node, given) {
        (Node::String, Wire::Bytes(bytes)) => Ok(Value::String(String::from_utf8_lossy(bytes).into_owned())),
        (Node::Bytes, Wire::Bytes(bytes)) => Ok(Value::String(STANDARD.encode(bytes))),
        (Node::Boolean, Wire::Varint(number)) => Ok(Value::Bool(number != 0)),
        (Node::Integer { bits, signed }, Wire::Varint(number)) => Ok(Value::from(integer(number, *bits, *signed))),
        (Node::Number, Wire::Fixed64(bits)) => {
            Ok(Number::from_f64(f64::from_bits(bits)).map_or(Value::Null, Value::Number))
        }
        (Node::Object(reference), Wire::Bytes(bytes)) => {
            let mut tree = match before {
                Some(Value::Object(tree)) => tree,
                _ => Map::new(),
            };
            message(&mut tree, bytes, reference.get(), None, depth + 1)?;
            Ok(Value::Object(tree))
        }
        (Node::Time | Node::MicroTime, Wire::Bytes(bytes)) => time(bytes),
        (Node::Duration, Wire::Bytes(bytes)) => {
            let nanos = number_of(bytes, "Duration")?;
            Ok(Value::String(apimachinery::meta::Duration { nanoseconds: nanos.cast_signed() }.to_string()))
        }
        (Node::Quantity, Wire::Bytes(bytes)) => match first(bytes, "Quantity")? {
            Some(bytes) => Ok(Value::String(String::from_utf8_lossy(bytes).into_owned())),
            None => Ok(Value::String("0".to_owned())),
        },
        (Node::Raw, Wire::Bytes(bytes)) => match first(bytes, "RawExtension")? {
            None | Some([]) => Ok(Value::Null),
            Some(json) => opaque::marked_json(json).map_err(|error| error.message),
        },
        (Node::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes),
        _ => wrong(),
    }
}

/// Converts a number to the width in the schema, as Go's conversion does.
fn integer(number: u64, bits: u8, signed: bool) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "Go's generated code cuts numbers off as well")]
    match (bits, signed) {
        (16, false) => i64::from(number as u16),
        (16, true) => i64::from(number as i16),
        (32, false) => i64::from(number as u32),
        (32, true) => i64::from(number as i32),
        _ => number.cast_signed(),
    }
}

fn text(given: Wire<'_>, name: &str) -> Result<String> {
    match given {
        Wire::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => Err(wrong_form(other, name)),
    }
}

/// Returns the last field 1 of a message, which is bytes.
fn first<'a>(bytes: &'a [u8], message: &'a str) -> Result<Option<&'a [u8]>> {
    let mut found = None;
    let mut reader = Reader::new(bytes, message);
    while let Some((number, value)) = reader.field()? {
        match (number, value) {
            (1, Wire::Bytes(bytes)) => found = Some(bytes),
            (1, other) => return Err(wrong_form(other, message)),
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the last field 1 of a message, which is a number.
fn number_of(bytes: &[u8], message: &str) -> Result<u64> {
    let mut found = 0;
    let mut reader = Reader::new(bytes, message);
    while let Some((number, value)) = reader.field()? {
        match (number, value) {
            (1, Wire::Varint(number)) => found = number,
            (1, other) => return Err(wrong_form(other, message)),
            _ => {}
        }
    }
    Ok(found)
}

/// Reads seconds and nanoseconds since 1970; both zero mean an absent time.
fn time(bytes: &[u8]) -> Result<Value> {
    let (mut seconds, mut nanos) = (0_i64, 0_i64);
    let mut reader = Reader::new(bytes, "Time");
    while let Some((number, value)) = reader.field()? {
        match (number, value) {
            (1, Wire::Varint(number)) => seconds = number.cast_signed(),
            (2, Wire::Varint(number)) => nanos = integer(number, 32, true),
            (1, other) => return Err(wrong_form(other, "Seconds")),
            (2, other) => return Err(wrong_form(other, "Nanos")),
            _ => {}
        }
    }
    if seconds == 0 && nanos == 0 {
        return Ok(Value::Null);
    }
    let seconds = seconds.saturating_add(nanos.div_euclid(1_000_000_000));
    let nanos = u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or_default();
    match DateTime::<Utc>::from_timestamp(seconds, nanos) {
        Some(time) if (0..=9999).contains(&time.year()) => {
            Ok(Value::String(time.to_rfc3339_opts(SecondsFormat::Micros, true)))
        }
        _ => Err("Time.MarshalJSON: year outside of range [0,9999]".to_owned()),
    }
}

fn int_or_string(bytes: &[u8]) -> Result<Value> {
    let (mut kind, mut number, mut string) = (0, 0, String::new());
    let mut reader = Reader::new(bytes, "IntOrString");
    while let Some((field, value)) = reader.field()? {
        match (field, value) {
            (1, Wire::Varint(value)) => kind = value,
            (2, Wire::Varint(value)) => number = integer(value, 32, true),
            (3, value) => string = text(value, "StrVal")?,
            (1, other) => return Err(wrong_form(other, "Type")),
            (2, other) => return Err(wrong_form(other, "IntVal")),
            _ => {}
        }
    }
    match kind {
        0 => Ok(Value::from(number)),
        1 => Ok(Value::String(string)),
        _ => Err("impossible IntOrString.Type".to_owned()),
    }
}

/// Returns the error for a value whose wire form is not that of its field; Go uses the field's name in Go.
fn wrong_form(given: Wire<'_>, name: &str) -> String {
    let mut letters = name.chars();
    let go = letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>());
    format!("proto: wrong wireType = {} for field {}", given.number(), go.unwrap_or_default())
}
