// SPDX-License-Identifier: Apache-2.0
//! Decoding of bytes to a pruned tree, directed by a schema.
//!
//! First step of two: unknown and duplicate fields are collected with their paths (`spec.workers[0].foo`), values of a
//! wrong type are refused with the texts of Go's decoder, scalars get their canonical form. After that the conversion
//! to a typed value cannot fail. `apiVersion` and `kind` at the root are always known and stay in the tree.
//!
//! Source: sigs.k8s.io/json, encoding/json.

mod findings;
mod json;
mod scalar;

use serde_json::{Map, Value};

use self::findings::{Findings, Segment};
use self::json::Opaque;
use crate::meta::{marked, nesting};
use crate::schema::{Node, ObjectRef, ObjectSchema};

/// Result of decoding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The tree without unknown fields; of duplicates the last counts. A `null` that Go ignores is left out.
    pub tree: Value,
    /// Paths of unknown fields, in order of appearance.
    pub unknown: Vec<String>,
    /// Paths of duplicate fields, in order of appearance.
    pub duplicates: Vec<String>,
    /// The messages of both, in order of appearance: `unknown field "spec.foo"`, `duplicate field "spec.a"`. At most
    /// a hundred.
    pub strict: Vec<String>,
}

/// Reason for which bytes are not an object; the text is that of the real API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    /// Go's text.
    pub message: String,
    /// True if the bytes are not JSON, as opposed to JSON of a wrong shape.
    pub malformed: bool,
}

/// Maximum nesting depth of values.
///
/// Unlike upstream, whose limit is 10,000; no kind comes near either. Stored objects are read again by readers whose
/// limit is 128, also within a list or the frame of a watch.
pub const MAX_DEPTH: usize = 100;

/// Reads JSON.
///
/// # Errors
/// Malformed JSON, a value of a wrong type.
pub fn json(bytes: &[u8], schema: &Node) -> Result<Decoded, DecodeError> {
    json::read(&String::from_utf8_lossy(bytes), schema, Opaque::Read)
}

/// Reads JSON of kinds that have no type in Go, like [`json`]: duplicate keys are also reported within JSON of any shape.
///
/// # Errors
/// The same as those of [`json`].
pub fn json_without_types(bytes: &[u8], schema: &Node) -> Result<Decoded, DecodeError> {
    json::read(&String::from_utf8_lossy(bytes), schema, Opaque::Judged)
}

/// Reads JSON like [`json`]; opaque JSON keeps its text ([`crate::opaque`]), which trees for output or for other types
/// must not hold.
///
/// # Errors
/// The same as those of [`json`].
pub fn json_with_opaque(bytes: &[u8], schema: &Node) -> Result<Decoded, DecodeError> {
    json::read(&String::from_utf8_lossy(bytes), schema, Opaque::Kept)
}

/// Prunes and checks a tree that was parsed or patched already; finds no duplicates.
///
/// # Errors
/// A value of a wrong type.
pub fn tree(mut tree: Value, schema: &Node) -> Result<Decoded, DecodeError> {
    if !is_within(&tree, MAX_DEPTH) {
        return Err(DecodeError { message: "exceeded max depth".to_owned(), malformed: true });
    }
    let mut findings = Findings::default();
    if !prune(&mut findings, &mut tree, schema) {
        tree = zero(schema);
    }
    findings.finish(tree)
}

/// Prunes and checks a merge patch of a value with this schema, as [`tree`] would the object that results from the
/// patch; `null` stays where it deletes a value.
///
/// # Errors
/// A value of a wrong type.
pub fn merge_patch(mut patch: Value, schema: &Node) -> Result<Decoded, DecodeError> {
    if !is_within(&patch, MAX_DEPTH) {
        return Err(DecodeError { message: "exceeded max depth".to_owned(), malformed: true });
    }
    let mut findings = Findings::default();
    findings.keeps_null = true;
    prune(&mut findings, &mut patch, schema);
    findings.finish(patch)
}

/// Reads JSON of any shape into a tree; a duplicate key's last value counts.
///
/// # Errors
/// Malformed JSON, with Go's text.
pub fn any_json(bytes: &[u8]) -> Result<Value, DecodeError> {
    Ok(json::read(&String::from_utf8_lossy(bytes), &Node::Raw, Opaque::Read)?.tree)
}

/// Returns the name of a value's JSON type in Go's error messages.
pub const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// True if a value has at most this nesting depth, that of opaque JSON ([`crate::opaque`]) included; deeper levels are
/// not visited.
pub fn is_within(value: &Value, depth: usize) -> bool {
    if let Some(text) = marked(value) {
        return nesting(text) <= depth;
    }
    match value {
        Value::Object(fields) => depth > 0 && fields.values().all(|value| is_within(value, depth - 1)),
        Value::Array(items) => depth > 0 && items.iter().all(|value| is_within(value, depth - 1)),
        _ => true,
    }
}

/// Value that Go uses for an ignored `null` in a list.
fn zero(node: &Node) -> Value {
    match node {
        Node::Object(_) | Node::Map(_) => Value::Object(Map::new()),
        Node::List(_) => Value::Array(Vec::new()),
        Node::String | Node::Bytes => Value::String(String::new()),
        Node::Boolean => Value::Bool(false),
        Node::Integer { .. } | Node::Number | Node::IntOrString => Value::from(0),
        Node::Quantity => Value::String("0".to_owned()),
        Node::Duration => Value::String("0s".to_owned()),
        Node::Time | Node::MicroTime | Node::Raw => Value::Null,
    }
}

/// Index of the field `name`, searched from index `from` on, since fields are mostly in order.
fn find_field(schema: &'static ObjectSchema, name: &str, from: usize) -> Option<usize> {
    let fields = &schema.fields;
    let from = from.min(fields.len());
    fields[from..]
        .iter()
        .position(|field| field.name == name)
        .map(|at| at + from)
        .or_else(|| fields[..from].iter().position(|field| field.name == name))
}

fn is_type_meta(name: &str) -> Option<&'static str> {
    match name {
        "apiVersion" => Some("apiVersion"),
        "kind" => Some("kind"),
        _ => None,
    }
}

/// Prunes a value in place; false if Go ignores the value, which must be left out.
fn prune(findings: &mut Findings, given: &mut Value, node: &Node) -> bool {
    if let Node::Raw = node {
        return true;
    }
    let scalar = match given {
        Value::Null => None,
        Value::Bool(given) => findings.boolean(*given, node),
        Value::Number(number) => findings.number(&number.to_string(), node),
        Value::String(text) => findings.text(std::mem::take(text).into(), node),
        Value::Array(items) => {
            let Node::List(item_node) = node else { return findings.mismatch("array", node).is_some() };
            // A patch replaces a list as a whole.
            let keeps_null = std::mem::take(&mut findings.keeps_null);
            for (index, item) in items.iter_mut().enumerate() {
                findings.path.push(Segment::Index(index));
                if !prune(findings, item, item_node) {
                    *item = zero(item_node);
                }
                findings.path.pop();
            }
            findings.keeps_null = keeps_null;
            return true;
        }
        Value::Object(fields) => {
            match node {
                Node::Map(value_node) => prune_map(findings, fields, value_node),
                Node::Object(reference) => prune_struct(findings, fields, *reference),
                _ => return findings.mismatch("object", node).is_some(),
            }
            return true;
        }
    };
    let is_kept = scalar.is_some();
    *given = scalar.unwrap_or_default();
    is_kept
}

fn prune_map(findings: &mut Findings, entries: &mut Map<String, Value>, node: &Node) {
    // Only containers have paths below them.
    let deep = matches!(node, Node::Object(_) | Node::Map(_) | Node::List(_));
    entries.retain(|key, given| {
        if findings.keeps_null && given.is_null() {
            return true;
        }
        if !deep {
            return prune(findings, given, node);
        }
        findings.path.push(Segment::Key(key.clone()));
        let is_kept = prune(findings, given, node);
        findings.path.pop();
        is_kept
    });
}

fn prune_struct(findings: &mut Findings, fields: &mut Map<String, Value>, reference: ObjectRef) {
    let schema = reference.get();
    let root = findings.path.is_empty();
    findings.structs.push(schema);
    fields.retain(|name, given| {
        let (name, node) = if let Some(at) = find_field(schema, name, 0) {
            (schema.fields[at].name, &schema.fields[at].node)
        } else if let Some(name) = is_type_meta(name).filter(|_| root) {
            (name, &Node::String)
        } else if reference.is_open() {
            return true;
        } else {
            // A patch could delete nothing there.
            if !(findings.keeps_null && given.is_null()) {
                findings.unknown(name);
            }
            return false;
        };
        if findings.keeps_null && given.is_null() {
            return true;
        }
        findings.path.push(Segment::Name(name));
        let is_kept = prune(findings, given, node);
        findings.path.pop();
        is_kept
    });
    findings.structs.pop();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::meta::ObjectMeta;
    use crate::schema::{Field, Schema as _};

    fn thing() -> Node {
        fn object() -> &'static ObjectSchema {
            static SCHEMA: std::sync::OnceLock<ObjectSchema> = std::sync::OnceLock::new();
            SCHEMA.get_or_init(|| ObjectSchema {
                name: "Thing",
                package: "example/v1",
                description: "",
                fields: [
                    ("metadata", ObjectMeta::node()),
                    ("things", Node::List(Box::new(thing()))),
                    ("count", Node::Integer { bits: 32, signed: true }),
                    ("flag", Node::Boolean),
                    ("map", Node::Map(Box::new(Node::String))),
                    ("raw", Node::Raw),
                    ("size", Node::Quantity),
                    ("share", Node::IntOrString),
                    ("after", Node::Duration),
                    ("at", Node::Time),
                    ("exactly", Node::MicroTime),
                    ("data", Node::Bytes),
                    ("ratio", Node::Number),
                ]
                .into_iter()
                .map(|(name, node)| Field::new(name, node))
                .collect(),
            })
        }
        Node::Object(ObjectRef::Static(object))
    }

    #[track_caller]
    fn accepted(text: &str, expected: &Value, strict: &[&str]) {
        let decoded = json(text.as_bytes(), &thing()).expect("is accepted");
        assert_eq!(decoded.tree, *expected);
        assert_eq!(decoded.strict, strict);
        assert_eq!(decoded.unknown.len() + decoded.duplicates.len(), strict.len());
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = json(text.as_bytes(), &thing()).expect_err("is refused");
        assert_eq!(error.message, expected);
        if !error.malformed {
            let given = any_json(text.as_bytes()).expect("is JSON");
            assert_eq!(tree(given, &thing()).expect_err("is refused").message, expected, "as a tree");
        }
    }

    #[test]
    fn duplicates_in_untyped_kinds_are_reported_at_every_depth() {
        let text = br#"{"a": {"x": 1, "x": 2, "l": [{"y": 1, "y": 2}]}, "x": 1}"#;
        let judged = json_without_types(text, &Node::Raw).expect("JSON");
        assert_eq!(judged.strict, [r#"duplicate field "a.x""#, r#"duplicate field "a.l[0].y""#]);
        assert_eq!(judged.tree["a"]["x"], 2);
        assert!(json(text, &Node::Raw).expect("JSON").strict.is_empty());
    }

    #[test]
    fn unknown_and_duplicate_fields_are_found_with_their_paths() {
        accepted(
            r#"{"kind": "Thing", "apiVersion": "v1", "things": [{"bogus": {"x": [1]}, "flag": true, "flag": false}],
                "Count": 1, "map": {"a": "1", "a": "2"}, "raw": {"b": 1, "a": 1.5}}"#,
            &json!({
                "kind": "Thing", "apiVersion": "v1", "things": [{"flag": false}], "map": {"a": "2"},
                "raw": {"a": 1.5, "b": 1},
            }),
            &[
                r#"unknown field "things[0].bogus""#,
                r#"duplicate field "things[0].flag""#,
                r#"unknown field "Count""#,
                r#"duplicate field "map.a""#,
            ],
        );
    }

    #[test]
    fn a_merge_patch_is_checked_like_its_result() {
        let object = json!({"map": {"a": "1"}, "things": [{"count": 1}], "flag": true, "after": "1h0m0s"});
        for patch in [
            json!({"flag": null, "map": {"a": null, "b": "2"}, "Gone": null, "metadata": null}),
            json!({"after": "90m", "size": 0.5, "metadata": {"labels": {"x": "y", "z": null}, "Gone": null}}),
            json!({"things": [null, {"flag": null, "bogus": null, "count": 2}], "raw": {"a": null}}),
            json!({"bogus": {"a": null}, "map": {"c": null}, "kind": "Thing", "apiVersion": null}),
            json!({"map": 1}),
            json!({"flag": {"a": null}}),
            json!({"things": [{"count": "1"}]}),
            json!({"metadata": {"labels": {"a": 1}}}),
        ] {
            let merged = |patch: &Value| {
                let mut merged = object.clone();
                crate::patch::merge_patch(&mut merged, patch);
                merged
            };
            let of_patch = merge_patch(patch.clone(), &thing());
            let of_object = tree(merged(&patch), &thing());
            assert_eq!(of_patch.as_ref().err(), of_object.as_ref().err(), "{patch}");
            if let (Ok(of_patch), Ok(of_object)) = (of_patch, of_object) {
                assert_eq!(of_patch.strict, of_object.strict, "{patch}");
                assert_eq!(merged(&of_patch.tree), of_object.tree, "{patch}");
            }
        }
        let deep = json!({"raw": any_json(nested(MAX_DEPTH).as_bytes()).expect("it is within")});
        assert_eq!(merge_patch(deep, &thing()).expect_err("one too deep").message, "exceeded max depth");
    }

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn null_is_ignored_as_go_ignores_it() {
        accepted(
            r#"{"map": null, "count": null, "things": [null], "raw": {"a": null}, "metadata": {"creationTimestamp": null}}"#,
            &json!({"things": [{}], "raw": {"a": null}, "metadata": {}}),
            &[],
        );
    }

    #[test]
    fn scalars_become_canonical() {
        accepted(
            r#"{"size": 0.5, "share": "25%", "after": "90m", "at": "2023-07-28T11:07:27.5+02:00", "data": "YWI=",
                "exactly": "2023-07-28T09:07:27.000001Z", "ratio": 1, "metadata": {"name": "\u00e9\ud83d\ude00\n"}}"#,
            &json!({
                "size": "500m", "share": "25%", "after": "1h30m0s", "at": "2023-07-28T09:07:27Z", "data": "YWI=",
                "exactly": "2023-07-28T09:07:27.000001Z", "ratio": 1.0, "metadata": {"name": "é😀\n"},
            }),
            &[],
        );
    }

    #[test]
    fn values_of_a_wrong_type_are_refused_in_gos_words() {
        refused(r#"{"flag": 1}"#, "json: cannot unmarshal number into Go struct field Thing.flag of type bool");
        refused(
            r#"{"things": [{"count": "1"}]}"#,
            "json: cannot unmarshal string into Go struct field Thing.things.count of type int32",
        );
        refused(
            r#"{"count": 1.5}"#,
            "json: cannot unmarshal number 1.5 into Go struct field Thing.count of type int32",
        );
        refused(
            r#"{"count": 2147483648}"#,
            "json: cannot unmarshal number 2147483648 into Go struct field Thing.count of type int32",
        );
        refused(
            r#"{"things": {}}"#,
            "json: cannot unmarshal object into Go struct field Thing.things of type []v1.Thing",
        );
        refused(
            r#"{"metadata": {"labels": {"a": 1}}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        );
        refused(
            r#"{"metadata": []}"#,
            "json: cannot unmarshal array into Go struct field Thing.metadata of type v1.ObjectMeta",
        );
        refused("[]", "json: cannot unmarshal array into Go value of type v1.Thing");
        refused(r#"{"size": "x"}"#, crate::meta::QUANTITY_FORMAT);
        refused(r#"{"after": "5d"}"#, "time: unknown unit \"d\" in duration \"5d\"");
        refused(r#"{"after": 5}"#, "json: cannot unmarshal number into Go struct field Thing.after of type string");
        refused(
            r#"{"at": "x"}"#,
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        );
        refused(r#"{"at": "2023-13-01T00:00:00Z"}"#, "parsing time \"2023-13-01T00:00:00Z\": month out of range");
        refused(r#"{"at": "2023-02-30T00:00:00Z"}"#, "parsing time \"2023-02-30T00:00:00Z\": day out of range");
        refused(r#"{"data": "!"}"#, "illegal base64 data at input byte 0");
    }

    #[test]
    fn opaque_json_is_refused_alike_read_or_kept() {
        let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let (within, beyond) = (deep(MAX_DEPTH - 1), deep(MAX_DEPTH));
        for raw in [
            r#"{"a":[1,-2.5e3,true,false,null,"\u00e9\""],"b":{}}"#,
            "null",
            "7",
            "\"x\"",
            " [ ] ",
            &within,
            &beyond,
            "",
            "{",
            "x",
            "[1,]",
            "[1 2]",
            r#"{"a" 1}"#,
            r#"{"a":1,}"#,
            r"{a:1}",
            "01",
            "1.",
            "1e",
            "-",
            "tru",
            "nul",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\n\"",
            "\"x",
            "[{}",
            "]",
        ] {
            let text = format!("{{\"raw\":{raw}}}");
            let (read, kept) = (json(text.as_bytes(), &thing()), json_with_opaque(text.as_bytes(), &thing()));
            assert_eq!(read.as_ref().err(), kept.as_ref().err(), "{raw}");
            if let (Ok(read), Ok(kept)) = (read, kept) {
                let tree = crate::opaque::plain(kept.tree);
                assert_eq!(tree, read.tree, "{raw}");
            }
        }
    }

    #[test]
    fn malformed_texts_are_refused_in_gos_words() {
        refused("", "unexpected end of JSON input");
        refused("{", "unexpected end of JSON input");
        refused("x", "invalid character 'x' looking for beginning of value");
        refused(r#"{"count": 1,}"#, "invalid character '}' looking for beginning of object key string");
        refused(r#"{"count" 1}"#, "invalid character '1' after object key");
        refused(r#"{"count": 01}"#, "invalid character '1' after object key:value pair");
        refused(r#"{"things": [{} {}]}"#, "invalid character '{' after array element");
        refused(r#"{"flag": tru}"#, "invalid character '}' in literal true (expecting 'e')");
        refused("{\"map\": {\"a\": \"\n\"}}", "invalid character '\\n' in string literal");
        refused("{} {}", "invalid character '{' after top-level value");
        refused(&"[".repeat(1000), "exceeded max depth");
        refused(&nested(MAX_DEPTH + 1), "exceeded max depth");
        let deepest = any_json(nested(MAX_DEPTH).as_bytes()).expect("it is within");
        assert!(tree(deepest.clone(), &Node::Raw).is_ok());
        let error = tree(Value::Array(vec![deepest]), &Node::Raw).expect_err("one too deep");
        assert_eq!(error.message, "exceeded max depth");
        // A wrong type before a malformed end: Go checks the whole text first.
        refused(r#"{"flag": 1,"#, "unexpected end of JSON input");
    }
}
