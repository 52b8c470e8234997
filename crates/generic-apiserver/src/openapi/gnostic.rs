// SPDX-License-Identifier: Apache-2.0
//! An OpenAPI 2.0 document as the protobuf message `openapi.v2.Document`: a writer over tables of numbers.
//!
//! The input document is JSON. A table lists each field's number and the form of its value; extensions, which are
//! fields whose names begin with `x-`, become pairs of name and text. Fields that are in no table are not written.
//!
//! Source: gnostic openapiv2/OpenAPIv2.proto.

use serde_json::Value;

/// Form in which a value is written.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Text,
    Texts,
    Flag,
    /// A floating-point number of 64 bits.
    Number,
    /// A whole number.
    Long,
    /// A number, a flag or a text, each in its own field; anything else is left out.
    Scalar,
    Message(&'static Table),
    /// Bytes that the function returns for the value.
    Wrapped(fn(&Value) -> Vec<u8>),
    /// A list; each item is written as the bytes that the function returns for it.
    Repeated(fn(&Value) -> Vec<u8>),
    /// An object as a message of pairs in field 1.
    Pairs(fn(&Value) -> Vec<u8>),
}

/// A message: its fields, and the field number of its extensions.
pub(super) struct Table {
    pub(super) fields: &'static [(&'static str, u32, Form)],
    pub(super) extensions: Option<u32>,
}

static DOCUMENT: Table = Table {
    fields: &[
        ("swagger", 1, Form::Text),
        ("info", 2, Form::Message(&INFO)),
        ("paths", 8, Form::Wrapped(paths)),
        ("definitions", 9, Form::Pairs(schema)),
    ],
    extensions: Some(16),
};

static INFO: Table = Table {
    fields: &[("title", 1, Form::Text), ("version", 2, Form::Text), ("description", 3, Form::Text)],
    extensions: Some(7),
};

static PATH_ITEM: Table = Table {
    fields: &[
        ("get", 2, Form::Message(&OPERATION)),
        ("put", 3, Form::Message(&OPERATION)),
        ("post", 4, Form::Message(&OPERATION)),
        ("delete", 5, Form::Message(&OPERATION)),
        ("options", 6, Form::Message(&OPERATION)),
        ("head", 7, Form::Message(&OPERATION)),
        ("patch", 8, Form::Message(&OPERATION)),
        ("parameters", 9, Form::Repeated(parameter)),
    ],
    extensions: Some(10),
};

static OPERATION: Table = Table {
    fields: &[
        ("tags", 1, Form::Texts),
        ("summary", 2, Form::Text),
        ("description", 3, Form::Text),
        ("operationId", 5, Form::Text),
        ("produces", 6, Form::Texts),
        ("consumes", 7, Form::Texts),
        ("parameters", 8, Form::Repeated(parameter)),
        ("responses", 9, Form::Pairs(response)),
        ("schemes", 10, Form::Texts),
    ],
    extensions: Some(13),
};

static RESPONSE: Table =
    Table { fields: &[("description", 1, Form::Text), ("schema", 2, Form::Wrapped(one_schema))], extensions: Some(5) };

static BODY: Table = Table {
    fields: &[
        ("description", 1, Form::Text),
        ("name", 2, Form::Text),
        ("in", 3, Form::Text),
        ("required", 4, Form::Flag),
        ("schema", 5, Form::Message(&SCHEMA)),
    ],
    extensions: Some(6),
};

static QUERY: Table = Table {
    fields: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 6, Form::Text),
        ("format", 7, Form::Text),
        ("uniqueItems", 20, Form::Flag),
    ],
    extensions: Some(23),
};

static PATH: Table = Table {
    fields: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 5, Form::Text),
        ("format", 6, Form::Text),
        ("uniqueItems", 19, Form::Flag),
    ],
    extensions: Some(22),
};

static SCHEMA: Table = Table {
    fields: &[
        ("$ref", 1, Form::Text),
        ("format", 2, Form::Text),
        ("title", 3, Form::Text),
        ("description", 4, Form::Text),
        ("default", 5, Form::Wrapped(any)),
        ("required", 19, Form::Texts),
        ("enum", 20, Form::Repeated(any)),
        ("additionalProperties", 21, Form::Wrapped(additional_properties)),
        ("type", 22, Form::Wrapped(types)),
        ("items", 23, Form::Wrapped(one_schema)),
        ("allOf", 24, Form::Repeated(schema)),
        ("properties", 25, Form::Pairs(schema)),
    ],
    extensions: Some(31),
};

/// Encodes a document as a message.
pub(super) fn document(tree: &Value) -> Vec<u8> {
    message(&DOCUMENT, tree)
}

pub(super) fn message(table: &Table, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    // In the order of their numbers, as generated code writes them.
    for (name, number, form) in table.fields {
        if let Some(value) = value.get(*name) {
            field(&mut out, *number, *form, value);
        }
    }
    if let Some(number) = table.extensions {
        for (name, value) in value.as_object().into_iter().flatten() {
            if name.starts_with("x-") {
                put(&mut out, number, &pair(name, &any(value)));
            }
        }
    }
    out
}

fn field(out: &mut Vec<u8>, number: u32, form: Form, value: &Value) {
    match form {
        Form::Text => put(out, number, value.as_str().unwrap_or_default().as_bytes()),
        Form::Texts => {
            for text in items(value).iter().filter_map(Value::as_str) {
                put(out, number, text.as_bytes());
            }
        }
        Form::Flag => {
            if value == true {
                varint(out, u64::from(number) << 3);
                out.push(1);
            }
        }
        Form::Number => {
            if let Some(value) = value.as_f64() {
                varint(out, u64::from(number) << 3 | 1);
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        Form::Long => {
            if let Some(value) = value.as_u64() {
                varint(out, u64::from(number) << 3);
                varint(out, value);
            }
        }
        Form::Scalar => {
            let written = match value {
                Value::Number(value) => [&[0x09][..], &value.as_f64().unwrap_or_default().to_le_bytes()].concat(),
                Value::Bool(value) => vec![0x10, u8::from(*value)],
                Value::String(text) => wrap(3, text.as_bytes()),
                _ => return,
            };
            put(out, number, &written);
        }
        Form::Message(table) => put(out, number, &message(table, value)),
        Form::Wrapped(write) => put(out, number, &write(value)),
        Form::Repeated(write) => {
            for item in items(value) {
                put(out, number, &write(item));
            }
        }
        Form::Pairs(write) => put(out, number, &pairs(1, value, write)),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn schema(value: &Value) -> Vec<u8> {
    message(&SCHEMA, value)
}

/// Encodes a schema where the message also allows other forms or several schemas.
fn one_schema(value: &Value) -> Vec<u8> {
    wrap(1, &schema(value))
}

fn additional_properties(value: &Value) -> Vec<u8> {
    match value {
        Value::Bool(allowed) => vec![0x10, u8::from(*allowed)],
        value => one_schema(value),
    }
}

fn types(value: &Value) -> Vec<u8> {
    wrap(1, value.as_str().unwrap_or_default().as_bytes())
}

fn paths(value: &Value) -> Vec<u8> {
    pairs(2, value, |item| message(&PATH_ITEM, item))
}

/// Encodes a parameter: in the body, or one of the others.
fn parameter(value: &Value) -> Vec<u8> {
    let place = value["in"].as_str().unwrap_or_default();
    let parameter = match place {
        "body" => wrap(1, &message(&BODY, value)),
        "path" => wrap(2, &wrap(4, &message(&PATH, value))),
        _ => wrap(2, &wrap(3, &message(&QUERY, value))),
    };
    wrap(1, &parameter)
}

fn response(value: &Value) -> Vec<u8> {
    wrap(1, &message(&RESPONSE, value))
}

/// Encodes a value of any shape as its text, which is YAML as all JSON is.
pub(super) fn any(value: &Value) -> Vec<u8> {
    wrap(2, format!("{value}\n").as_bytes())
}

pub(super) fn pairs(number: u32, value: &Value, write: fn(&Value) -> Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        put(&mut out, number, &pair(name, &write(value)));
    }
    out
}

fn pair(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = wrap(1, name.as_bytes());
    put(&mut out, 2, value);
    out
}

/// Encodes a message with one field.
pub(super) fn wrap(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 6);
    put(&mut out, number, bytes);
    out
}

/// Appends a field of text, bytes or a message.
fn put(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Expected bytes were written by hand from the field numbers of the messages.
    #[test]
    fn a_document_is_written_by_its_numbers() {
        let tree = json!({
            "swagger": "2.0",
            "info": { "title": "T", "version": "v" },
            "definitions": { "D": { "type": "object", "required": ["a"], "x-y": [1] } },
        });
        let definition = b"\x9a\x01\x01a\xb2\x01\x08\n\x06object\xfa\x01\x0d\n\x03x-y\x12\x06\x12\x04[1]\n".as_slice();
        let named = [b"\n\x01D\x12", &[u8::try_from(definition.len()).expect("short")][..], definition].concat();
        let pairs = [b"\n", &[u8::try_from(named.len()).expect("short")][..], &named].concat();
        let expected =
            [b"\n\x032.0\x12\x06\n\x01T\x12\x01vJ", &[u8::try_from(pairs.len()).expect("short")][..], &pairs].concat();
        assert_eq!(document(&tree), expected);
    }
}
