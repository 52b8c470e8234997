// SPDX-License-Identifier: Apache-2.0
//! Responses in protobuf: converts the JSON of a response to the message of the same object, by the schema tree.
//!
//! ```text
//! object   k8s\0  Unknown { 1: TypeMeta { 1: apiVersion, 2: kind }, 2: the message of that kind }
//! list     the same; the message is { 1: ListMeta, 2: message of an item … }
//! watch    for each frame: length (4 bytes, the highest first), WatchEvent { 1: type, 2: RawExtension { 1: object } }
//! ```
//!
//! Like Go's generated code, a message has the zero of each number, text and boolean that JSON leaves out, unless the
//! field is a pointer.
//!
//! **Deliberately absent**: kinds whose fields have no numbers ([`super::is_known`]) and tables, which have no message
//! upstream either. Negotiation of the form of a response, which is done by the server.
//!
//! Source: apimachinery pkg/runtime/serializer/protobuf, pkg/util/framer, pkg/apis/meta/v1/generated.proto.

use std::collections::BTreeMap;

use apimachinery::decode;
use apimachinery::meta::{Duration, ListMeta, ObjectMeta};
use apimachinery::opaque;
use apimachinery::schema::{Emit, Field, Node, ObjectSchema, Schema as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde_json::Value;
use serde_json::value::RawValue;

use super::PREFIX;

/// Media type of a watch in protobuf.
pub const WATCH_MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Function that finds the schema of a kind by `apiVersion` and kind.
pub type Find<'a> = &'a dyn Fn(&str, &str) -> Option<Node>;

/// Returns the envelope of a response that is one object, list, Status or part of discovery in JSON. `None`: it has no message.
pub fn body(json: &[u8], find: Find<'_>) -> Option<Vec<u8>> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(json).ok()?;
    let text = |name: &str| fields.get(name).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let (api_version, kind) = (text("apiVersion").unwrap_or_default(), text("kind")?);
    let message = match fixed(&api_version, &kind) {
        Some(rows) => rows_of(rows, &serde_json::from_slice(json).ok()?),
        None if find(&api_version, &kind).is_some() => object(json, &find(&api_version, &kind)?)?,
        None => list(&fields, &find(&api_version, kind.strip_suffix("List")?)?)?,
    };
    let mut type_meta = Vec::new();
    put(&mut type_meta, 1, api_version.as_bytes());
    put(&mut type_meta, 2, kind.as_bytes());
    let mut out = PREFIX.to_vec();
    put(&mut out, 1, &type_meta);
    put(&mut out, 2, &message);
    put(&mut out, 3, b"");
    put(&mut out, 4, b"");
    Some(out)
}

/// Returns one frame of a watch from its line of JSON. `None`: its object has no message.
pub fn frame(line: &[u8], find: Find<'_>) -> Option<Vec<u8>> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(line).ok()?;
    let type_: String = serde_json::from_str(fields.get("type")?.get()).ok()?;
    let mut event = Vec::new();
    put(&mut event, 1, type_.as_bytes());
    put(&mut event, 2, &wrapped(&body(fields.get("object")?.get().as_bytes(), find)?));
    let length = u32::try_from(event.len()).ok()?;
    Some([&length.to_be_bytes()[..], &event[..]].concat())
}

/// Returns the message of one object.
fn object(json: &[u8], node: &Node) -> Option<Vec<u8>> {
    let tree = decode::json_with_opaque(json, node).ok()?.tree;
    let mut out = Vec::new();
    message(&mut out, node.as_object()?, &tree)?;
    Some(out)
}

fn list(fields: &BTreeMap<String, &RawValue>, item: &Node) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    put(&mut out, 1, &object(fields.get("metadata")?.get().as_bytes(), &ListMeta::node())?);
    let items: Vec<&RawValue> = serde_json::from_str(fields.get("items")?.get()).ok()?;
    for one in items {
        put(&mut out, 2, &object(one.get().as_bytes(), item)?);
    }
    Some(out)
}

/// A field of a message that no kind's schema describes.
type Row = (&'static str, u32, Form);

/// Form in which such a field is written.
enum Form {
    Text,
    /// A list of texts.
    Texts,
    /// A list of texts within a message, so that an empty list differs from a missing one.
    Verbs,
    Flag,
    Number,
    /// A struct with a schema.
    Schema(fn() -> Node),
    /// A message; left out if the field is absent.
    One(&'static [Row]),
    Many(&'static [Row]),
}

/// `PartialObjectMetadata`, whose metadata is that of every object.
const PARTIAL: &[Row] = &[("metadata", 1, Form::Schema(ObjectMeta::node))];
const PARTIAL_LIST: &[Row] = &[("metadata", 1, Form::Schema(ListMeta::node)), ("items", 2, Form::Many(PARTIAL))];
const STATUS: &[Row] = &[
    ("metadata", 1, Form::Schema(ListMeta::node)),
    ("status", 2, Form::Text),
    ("message", 3, Form::Text),
    ("reason", 4, Form::Text),
    ("details", 5, Form::One(DETAILS)),
    ("code", 6, Form::Number),
];
const DETAILS: &[Row] = &[
    ("name", 1, Form::Text),
    ("group", 2, Form::Text),
    ("kind", 3, Form::Text),
    ("causes", 4, Form::Many(&[("reason", 1, Form::Text), ("message", 2, Form::Text), ("field", 3, Form::Text)])),
    ("retryAfterSeconds", 5, Form::Number),
    ("uid", 6, Form::Text),
];
const ADDRESS: &[Row] = &[("clientCIDR", 1, Form::Text), ("serverAddress", 2, Form::Text)];
const VERSION: &[Row] = &[("groupVersion", 1, Form::Text), ("version", 2, Form::Text)];
const GROUP: &[Row] = &[
    ("name", 1, Form::Text),
    ("versions", 2, Form::Many(VERSION)),
    ("preferredVersion", 3, Form::One(VERSION)),
    ("serverAddressByClientCIDRs", 4, Form::Many(ADDRESS)),
];
const RESOURCE: &[Row] = &[
    ("name", 1, Form::Text),
    ("namespaced", 2, Form::Flag),
    ("kind", 3, Form::Text),
    ("verbs", 4, Form::Verbs),
    ("shortNames", 5, Form::Texts),
    ("singularName", 6, Form::Text),
    ("categories", 7, Form::Texts),
    ("group", 8, Form::Text),
    ("version", 9, Form::Text),
    ("storageVersionHash", 10, Form::Text),
];
const SCALE: &[Row] = &[
    ("metadata", 1, Form::Schema(ObjectMeta::node)),
    ("spec", 2, Form::One(&[("replicas", 1, Form::Number)])),
    ("status", 3, Form::One(&[("replicas", 1, Form::Number), ("selector", 2, Form::Text)])),
];

/// Returns the fields of messages that are not kinds of the catalogue.
fn fixed(api_version: &str, kind: &str) -> Option<&'static [Row]> {
    Some(match (api_version, kind) {
        ("v1", "Status") => STATUS,
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadata") => PARTIAL,
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadataList") => PARTIAL_LIST,
        ("" | "v1", "APIVersions") => {
            &[("versions", 1, Form::Texts), ("serverAddressByClientCIDRs", 2, Form::Many(ADDRESS))]
        }
        ("" | "v1", "APIGroupList") => &[("groups", 1, Form::Many(GROUP))],
        ("" | "v1", "APIGroup") => GROUP,
        ("" | "v1", "APIResourceList") => &[("groupVersion", 1, Form::Text), ("resources", 2, Form::Many(RESOURCE))],
        ("autoscaling/v1", "Scale") => SCALE,
        _ => return None,
    })
}

fn rows_of(rows: &[Row], tree: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, number, form) in rows {
        let value = &tree[*name];
        let texts = || value.as_array().into_iter().flatten().filter_map(Value::as_str);
        let structs = || value.as_array().into_iter().flatten();
        match form {
            Form::Text => put(&mut out, *number, value.as_str().unwrap_or_default().as_bytes()),
            Form::Texts => texts().for_each(|text| put(&mut out, *number, text.as_bytes())),
            Form::Verbs if value.is_null() => {}
            Form::Verbs => {
                let mut verbs = Vec::new();
                texts().for_each(|text| put(&mut verbs, 1, text.as_bytes()));
                put(&mut out, *number, &verbs);
            }
            Form::Flag => put_number(&mut out, *number, i64::from(value.as_bool().unwrap_or_default())),
            Form::Number => put_number(&mut out, *number, value.as_i64().unwrap_or_default()),
            Form::Schema(node) => put(&mut out, *number, &schema_of(&node(), value)),
            Form::One(_) if value.is_null() => {}
            Form::One(rows) => put(&mut out, *number, &rows_of(rows, value)),
            Form::Many(rows) => structs().for_each(|one| put(&mut out, *number, &rows_of(rows, one))),
        }
    }
    out
}

fn schema_of(node: &Node, value: &Value) -> Vec<u8> {
    let text = if value.is_object() { value.to_string() } else { "{}".to_owned() };
    object(text.as_bytes(), node).unwrap_or_default()
}

/// Appends the message of a struct; `None` if a value does not fit its field, or a field has no number.
fn message(out: &mut Vec<u8>, object: &ObjectSchema, tree: &Value) -> Option<()> {
    let mut embedded: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for field in &object.fields {
        let protobuf = field.protobuf?;
        let into = match protobuf.embedded_in {
            Some(outer) => embedded.entry(outer).or_default(),
            None => &mut *out,
        };
        match tree.get(field.name) {
            Some(value) if !value.is_null() => put_value(into, protobuf.number, &field.node, value)?,
            _ => put_zero(into, protobuf.number, field),
        }
    }
    for (number, bytes) in embedded {
        put(out, number, &bytes);
    }
    Some(())
}

/// Appends the value that Go writes for a field that JSON leaves out.
fn put_zero(out: &mut Vec<u8>, number: u32, field: &Field) {
    match (&field.node, field.emit) {
        (_, Emit::Pointer) => {}
        (Node::String | Node::Time | Node::MicroTime, _) => put(out, number, b""),
        (Node::Integer { .. } | Node::Boolean, _) => put_number(out, number, 0),
        _ => {}
    }
}

fn put_value(out: &mut Vec<u8>, number: u32, node: &Node, value: &Value) -> Option<()> {
    match (node, value) {
        (Node::List(items), Value::Array(values)) => {
            for value in values {
                if let Node::Map(_) = **items {
                    // A map cannot be repeated: it is wrapped into a message with the entries.
                    let mut inner = Vec::new();
                    put_value(&mut inner, 1, items, value)?;
                    put(out, number, &inner);
                } else {
                    put_value(out, number, items, value)?;
                }
            }
        }
        (Node::Map(values), Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                put(&mut entry, 1, key.as_bytes());
                if let Node::List(_) = **values {
                    // A list cannot be a map's value: it is wrapped into a message with the items.
                    let mut items = Vec::new();
                    put_value(&mut items, 1, values, value)?;
                    put(&mut entry, 2, &items);
                } else {
                    put_value(&mut entry, 2, values, value)?;
                }
                put(out, number, &entry);
            }
        }
        (Node::Object(reference), value) => {
            let mut inner = Vec::new();
            message(&mut inner, reference.get(), value)?;
            put(out, number, &inner);
        }
        (Node::Boolean, Value::Bool(value)) => put_number(out, number, i64::from(*value)),
        (Node::Integer { .. }, Value::Number(value)) => put_number(out, number, value.as_i64()?),
        (Node::Number, Value::Number(value)) => {
            varint(out, u64::from(number) << 3 | 1);
            out.extend_from_slice(&value.as_f64()?.to_le_bytes());
        }
        (Node::Bytes, Value::String(text)) => put(out, number, &STANDARD.decode(text).ok()?),
        (Node::String, Value::String(text)) => put(out, number, text.as_bytes()),
        (Node::Raw, value) => put(out, number, &wrapped(opaque::to_json(value).as_bytes())),
        (Node::Quantity, Value::String(text)) => put(out, number, &wrapped(text.as_bytes())),
        (Node::Quantity, Value::Number(value)) => put(out, number, &wrapped(value.to_string().as_bytes())),
        (Node::Duration, Value::String(text)) => {
            let mut inner = Vec::new();
            put_number(&mut inner, 1, text.parse::<Duration>().ok()?.nanoseconds);
            put(out, number, &inner);
        }
        (Node::Time | Node::MicroTime, Value::String(text)) => {
            let time: DateTime<Utc> = text.parse().ok()?;
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
        _ => return None,
    }
    Some(())
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Appends a field of bytes: a text, a message.
fn put(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_number(out: &mut Vec<u8>, number: u32, value: i64) {
    varint(out, u64::from(number) << 3);
    varint(out, value.cast_unsigned());
}

/// Returns a message whose field 1 is `bytes`.
fn wrapped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, 1, bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::{body, frame};

    fn nothing(_: &str, _: &str) -> Option<apimachinery::schema::Node> {
        None
    }

    #[test]
    fn a_status_is_the_message_that_go_writes() {
        let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m","reason":"r",
            "details":{"name":"n","causes":[{"reason":"c"}]},"code":404}"#;
        let raw = b"\x0a\x06\x0a\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x01m\x22\x01r\
            \x2a\x14\x0a\x01n\x12\x00\x1a\x00\x22\x07\x0a\x01c\x12\x00\x1a\x00\x28\x00\x32\x00\x30\x94\x03";
        let mut expected = b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12".to_vec();
        expected.push(u8::try_from(raw.len()).expect("short"));
        expected.extend_from_slice(raw);
        expected.extend_from_slice(b"\x1a\x00\x22\x00");
        assert_eq!(body(status.as_bytes(), &nothing), Some(expected));
    }

    #[test]
    fn json_without_a_message_is_not_converted() {
        for text in ["", "{", "[]", "{}", r#"{"kind":"Thing","apiVersion":"g/v1"}"#, r#"{"kind":"ThingList"}"#] {
            assert_eq!(body(text.as_bytes(), &nothing), None, "{text}");
            assert_eq!(frame(text.as_bytes(), &nothing), None, "{text}");
        }
        assert_eq!(
            frame(br#"{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1"}}"#, &nothing),
            None
        );
    }

    #[test]
    fn a_frame_has_its_length_in_front() {
        let line = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410}}"#;
        let frame = frame(line.as_bytes(), &nothing).expect("a frame");
        let (length, event) = frame.split_first_chunk::<4>().expect("a length");
        assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
        assert!(event.starts_with(b"\x0a\x05ERROR\x12"), "{event:?}");
    }
}
