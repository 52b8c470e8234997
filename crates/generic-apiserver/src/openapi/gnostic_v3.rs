// SPDX-License-Identifier: Apache-2.0
//! An OpenAPI 3.0 document as the protobuf message `openapi.v3.Document`: the tables of its field numbers.
//!
//! As for version 2, the input document is JSON, and fields that are in no table are not written.
//!
//! Source: gnostic openapiv3/OpenAPIv3.proto.

use serde_json::Value;

use super::gnostic::{Form, Table, any, message, pairs, wrap};

static DOCUMENT: Table = Table {
    fields: &[
        ("openapi", 1, Form::Text),
        ("info", 2, Form::Message(&INFO)),
        ("paths", 4, Form::Wrapped(paths)),
        ("components", 5, Form::Message(&COMPONENTS)),
    ],
    extensions: Some(9),
};

static INFO: Table = Table {
    fields: &[("title", 1, Form::Text), ("description", 2, Form::Text), ("version", 6, Form::Text)],
    extensions: Some(7),
};

static COMPONENTS: Table = Table { fields: &[("schemas", 1, Form::Pairs(schema))], extensions: Some(10) };

static PATH_ITEM: Table = Table {
    fields: &[
        ("get", 4, Form::Message(&OPERATION)),
        ("put", 5, Form::Message(&OPERATION)),
        ("post", 6, Form::Message(&OPERATION)),
        ("delete", 7, Form::Message(&OPERATION)),
        ("options", 8, Form::Message(&OPERATION)),
        ("head", 9, Form::Message(&OPERATION)),
        ("patch", 10, Form::Message(&OPERATION)),
        ("parameters", 13, Form::Repeated(parameter)),
    ],
    extensions: Some(14),
};

static OPERATION: Table = Table {
    fields: &[
        ("tags", 1, Form::Texts),
        ("summary", 2, Form::Text),
        ("description", 3, Form::Text),
        ("operationId", 5, Form::Text),
        ("parameters", 6, Form::Repeated(parameter)),
        ("requestBody", 7, Form::Wrapped(body)),
        ("responses", 8, Form::Wrapped(responses)),
    ],
    extensions: Some(13),
};

static PARAMETER: Table = Table {
    fields: &[
        ("name", 1, Form::Text),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("required", 4, Form::Flag),
        ("schema", 10, Form::Wrapped(schema)),
    ],
    extensions: Some(14),
};

static BODY: Table = Table {
    fields: &[("description", 1, Form::Text), ("content", 2, Form::Pairs(media_type)), ("required", 3, Form::Flag)],
    extensions: Some(4),
};

static RESPONSE: Table =
    Table { fields: &[("description", 1, Form::Text), ("content", 3, Form::Pairs(media_type))], extensions: Some(5) };

static MEDIA_TYPE: Table = Table { fields: &[("schema", 1, Form::Wrapped(schema))], extensions: Some(5) };

static REFERENCE: Table = Table { fields: &[("$ref", 1, Form::Text)], extensions: None };

static SCHEMA: Table = Table {
    fields: &[
        ("nullable", 1, Form::Flag),
        ("readOnly", 3, Form::Flag),
        ("writeOnly", 4, Form::Flag),
        ("example", 7, Form::Wrapped(any)),
        ("deprecated", 8, Form::Flag),
        ("title", 9, Form::Text),
        ("multipleOf", 10, Form::Number),
        ("maximum", 11, Form::Number),
        ("exclusiveMaximum", 12, Form::Flag),
        ("minimum", 13, Form::Number),
        ("exclusiveMinimum", 14, Form::Flag),
        ("maxLength", 15, Form::Long),
        ("minLength", 16, Form::Long),
        ("pattern", 17, Form::Text),
        ("maxItems", 18, Form::Long),
        ("minItems", 19, Form::Long),
        ("uniqueItems", 20, Form::Flag),
        ("maxProperties", 21, Form::Long),
        ("minProperties", 22, Form::Long),
        ("required", 23, Form::Texts),
        ("enum", 24, Form::Repeated(any)),
        ("type", 25, Form::Text),
        ("allOf", 26, Form::Repeated(schema)),
        ("oneOf", 27, Form::Repeated(schema)),
        ("anyOf", 28, Form::Repeated(schema)),
        ("not", 29, Form::Message(&SCHEMA)),
        ("items", 30, Form::Wrapped(one_schema)),
        ("properties", 31, Form::Pairs(schema)),
        ("additionalProperties", 32, Form::Wrapped(additional_properties)),
        ("default", 33, Form::Scalar),
        ("description", 34, Form::Text),
        ("format", 35, Form::Text),
    ],
    extensions: Some(36),
};

/// Encodes a document as a message.
pub(super) fn document(tree: &Value) -> Vec<u8> {
    message(&DOCUMENT, tree)
}

/// Encodes a schema, or a reference to one.
fn schema(value: &Value) -> Vec<u8> {
    if value["$ref"].is_string() { wrap(2, &message(&REFERENCE, value)) } else { wrap(1, &message(&SCHEMA, value)) }
}

/// Encodes a schema where the message allows several.
fn one_schema(value: &Value) -> Vec<u8> {
    wrap(1, &schema(value))
}

fn additional_properties(value: &Value) -> Vec<u8> {
    match value {
        Value::Bool(allowed) => vec![0x10, u8::from(*allowed)],
        value => one_schema(value),
    }
}

fn paths(value: &Value) -> Vec<u8> {
    pairs(1, value, |item| message(&PATH_ITEM, item))
}

fn parameter(value: &Value) -> Vec<u8> {
    wrap(1, &message(&PARAMETER, value))
}

fn body(value: &Value) -> Vec<u8> {
    wrap(1, &message(&BODY, value))
}

fn responses(value: &Value) -> Vec<u8> {
    pairs(2, value, |response| wrap(1, &message(&RESPONSE, response)))
}

fn media_type(value: &Value) -> Vec<u8> {
    message(&MEDIA_TYPE, value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Expected bytes were written by hand from the field numbers of the messages.
    #[test]
    fn a_document_is_written_by_its_numbers() {
        let short = |bytes: &[u8]| u8::try_from(bytes.len()).expect("short");
        let tree = json!({
            "openapi": "3.0.0",
            "info": { "title": "T", "version": "v" },
            "components": { "schemas": { "D": { "type": "object", "properties": { "a": { "$ref": "#/b" } } } } },
        });
        // Field 2, a reference, whose field 1 is the text.
        let reference = b"\x12\x05\n\x03#/b".to_vec();
        let property = [b"\n\x01a\x12", &[short(&reference)][..], &reference].concat();
        let properties = [b"\n", &[short(&property)][..], &property].concat();
        let fields = [b"\xca\x01\x06object\xfa\x01", &[short(&properties)][..], &properties].concat();
        let schema = [b"\n", &[short(&fields)][..], &fields].concat();
        let named = [b"\n\x01D\x12", &[short(&schema)][..], &schema].concat();
        let pairs = [b"\n", &[short(&named)][..], &named].concat();
        let components = [b"\n", &[short(&pairs)][..], &pairs].concat();
        let head = b"\n\x053.0.0\x12\x06\n\x01T2\x01v*";
        assert_eq!(document(&tree), [&head[..], &[short(&components)][..], &components].concat());
    }

    #[test]
    fn numbers_and_defaults_are_written() {
        let tree = json!({"maximum": 1.5, "maxLength": 3, "default": "x", "additionalProperties": true});
        assert_eq!(
            message(&SCHEMA, &tree),
            [&b"Y"[..], &1.5_f64.to_le_bytes(), b"x\x03\x82\x02\x02\x10\x01\x8a\x02\x03\x1a\x01x"].concat()
        );
        // No message can hold an object as a default.
        assert!(message(&SCHEMA, &json!({"default": {}})).is_empty());
    }
}
