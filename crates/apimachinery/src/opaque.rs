// SPDX-License-Identifier: Apache-2.0
//! Opaque JSON in trees of values: a tree sorts keys, so where a text must not change, the tree holds a mark, from
//! which [`crate::meta::Raw`] is read.
//!
//! ```text
//! body ──json_with_opaque──► tree with marks ──► typed object, whose texts are the client's
//! stored bytes ──json_with_opaque──► tree with marks ──patch──► parts that the patch does not change keep their text
//! ```
//!
//! As upstream, which patches bytes and parses only the parts that an operation changes; a strategic merge patch parses
//! everything, so it needs no marks.
//!
//! Source: gopkg.in/evanphx/json-patch.v4; apiserver pkg/endpoints/handlers/patch.go.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::decode::{self, DecodeError};
use crate::meta::{mark, marked};
use crate::schema::Node;

/// Maximum number of operations of a JSON patch for which opaque JSON keeps its text, since each is compared with every
/// other; with more its keys are sorted.
const MOST_OPERATIONS: usize = 256;

/// Returns the tree without marks.
#[must_use]
pub fn plain(tree: Value) -> Value {
    if let Some(text) = marked(&tree) {
        return serde_json::from_str(text).unwrap_or_default();
    }
    match tree {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        other => other,
    }
}

/// Returns a JSON text as a mark; `null` stays `null`.
///
/// # Errors
/// Malformed JSON, with Go's text.
pub fn marked_json(text: &[u8]) -> Result<Value, DecodeError> {
    let value = decode::any_json(text)?;
    Ok(if value.is_null() { value } else { mark(&String::from_utf8_lossy(text)) })
}

/// Formats a tree as text; marks are replaced by their texts.
#[must_use]
pub fn to_json(tree: &Value) -> String {
    struct Opened<'a>(&'a Value);
    impl Serialize for Opened<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if let Some(raw) = marked(self.0).and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) {
                return raw.serialize(serializer);
            }
            match self.0 {
                Value::Array(items) => serializer.collect_seq(items.iter().map(Opened)),
                Value::Object(fields) => {
                    serializer.collect_map(fields.iter().map(|(name, value)| (name, Opened(value))))
                }
                other => other.serialize(serializer),
            }
        }
    }
    serde_json::to_string(&Opened(tree)).unwrap_or_default()
}

/// Replaces the marks that a merge patch changes by their values.
pub fn open_for_merge(tree: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return };
    open(tree);
    let Value::Object(fields) = tree else { return };
    for (name, value) in patch {
        if let Some(field) = fields.get_mut(name) {
            open_for_merge(field, value);
        }
    }
}

/// Replaces the marks that a JSON patch changes by their values; returns the patch, whose opaque JSON is replaced by
/// marks. A patch that cannot be read stays as it is. Only for kinds that keep opaque JSON: other kinds would store the
/// marks.
#[must_use]
pub fn open_for_json_patch(tree: &mut Value, patch: &[u8], schema: &Node) -> Vec<u8> {
    // Values that are too deep could not be read below.
    if decode::any_json(patch).is_err() {
        return patch.to_vec();
    }
    let Ok(mut operations) = serde_json::from_slice::<Vec<BTreeMap<String, Box<RawValue>>>>(patch) else {
        return patch.to_vec();
    };
    if operations.len() > MOST_OPERATIONS {
        *tree = plain(std::mem::take(tree));
        return patch.to_vec();
    }
    let places: Vec<Place> = operations.iter().flat_map(Place::of).collect();
    for place in &places {
        place.open(tree);
    }
    for operation in &mut operations {
        let Some(value) = operation.remove("value") else { continue };
        let Some(path) = text(operation, "path") else {
            operation.insert("value".to_owned(), value);
            continue;
        };
        let path = segments(&path);
        let value = match below(schema, &path) {
            Some(node) if text(operation, "op").is_none_or(|op| op != "test") => {
                let mut value = with_marks(&value, node);
                for place in &places {
                    place.open_in(&mut value, &path);
                }
                serde_json::value::to_raw_value(&value).ok()
            }
            _ => Some(value),
        };
        operation.extend(value.map(|value| ("value".to_owned(), value)));
    }
    serde_json::to_vec(&operations).unwrap_or_else(|_| patch.to_vec())
}

/// Replaces a mark by its value.
fn open(tree: &mut Value) {
    if let Some(text) = marked(tree) {
        *tree = serde_json::from_str(text).unwrap_or_default();
    }
}

/// Target of an operation.
struct Place {
    path: Vec<String>,
    /// True if the operation reads the value at the path, not only its parent.
    looks: bool,
}

impl Place {
    fn of(operation: &BTreeMap<String, Box<RawValue>>) -> Vec<Self> {
        let looks = text(operation, "op").is_some_and(|op| op == "test");
        let paths = ["path", "from"].into_iter().filter_map(|name| text(operation, name));
        paths.map(|path| Self { path: segments(&path), looks }).collect()
    }

    fn open(&self, tree: &mut Value) {
        self.open_at(tree, &self.path);
    }

    /// Replaces marks in a value that will be at path `at`, like [`Place::open`].
    fn open_in(&self, value: &mut Value, at: &[String]) {
        let is_below = self.path.len() >= at.len()
            && self.path.iter().zip(at).all(|(own, other)| own == other || is_index(own) && is_index(other));
        if is_below {
            self.open_at(value, &self.path[at.len()..]);
        }
    }

    fn open_at(&self, tree: &mut Value, path: &[String]) {
        if !path.is_empty() || self.looks {
            open(tree);
        }
        let Some((first, rest)) = path.split_first() else { return };
        match tree {
            Value::Object(fields) => {
                if let Some(field) = fields.get_mut(first) {
                    self.open_at(field, rest);
                }
            }
            // Earlier operations may move items.
            Value::Array(items) => items.iter_mut().for_each(|item| self.open_at(item, rest)),
            _ => {}
        }
    }
}

fn is_index(segment: &str) -> bool {
    segment == "-" || segment.strip_prefix('-').unwrap_or(segment).bytes().all(|byte| byte.is_ascii_digit())
}

fn text(operation: &BTreeMap<String, Box<RawValue>>, name: &str) -> Option<String> {
    serde_json::from_str(operation.get(name)?.get()).ok()
}

fn segments(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()
}

/// Returns the node at a path; `None`: there is none, or it is inside of opaque JSON.
fn below<'a>(node: &'a Node, path: &[String]) -> Option<&'a Node> {
    let Some((first, rest)) = path.split_first() else { return Some(node) };
    match node {
        Node::Object(reference) => {
            let field = reference.get().fields.iter().find(|field| field.name == first)?;
            below(&field.node, rest)
        }
        Node::Map(values) => below(values, rest),
        Node::List(items) => below(items, rest),
        _ => None,
    }
}

/// Parses a text to a tree in which opaque JSON is marked.
fn with_marks(raw: &RawValue, node: &Node) -> Value {
    let text = raw.get();
    let fields = || serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text).ok();
    let found = match node {
        Node::Raw if text != "null" => Some(mark(text)),
        Node::Object(reference) => fields().map(|fields| {
            let schema = &reference.get().fields;
            let value = |(name, value): (String, Box<RawValue>)| {
                let node = schema.iter().find(|field| field.name == name).map(|field| &field.node);
                let value = node.map_or_else(|| any(&value), |node| with_marks(&value, node));
                (name, value)
            };
            Value::Object(fields.into_iter().map(value).collect::<Map<_, _>>())
        }),
        Node::Map(values) => fields().map(|fields| {
            let value = |(name, value): (String, Box<RawValue>)| (name, with_marks(&value, values));
            Value::Object(fields.into_iter().map(value).collect::<Map<_, _>>())
        }),
        Node::List(items) => {
            let all = serde_json::from_str::<Vec<Box<RawValue>>>(text).ok();
            all.map(|all| all.iter().map(|item| with_marks(item, items)).collect())
        }
        _ => None,
    };
    found.unwrap_or_else(|| any(raw))
}

fn any(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::meta::RawExtension;
    use crate::patch;
    use crate::schema::{Field, ObjectRef, ObjectSchema};

    /// A list of objects with opaque JSON.
    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Thing {
        config: Option<RawExtension>,
        name: String,
        things: Vec<Thing>,
    }

    #[test]
    fn a_marked_text_is_written_unchanged() {
        let mut tree = json!({"name": "a", "things": [{"name": "<"}]});
        tree["config"] = marked_json(br#"{"z": 1, "a": [2.50]}"#).expect("JSON");
        assert_eq!(to_json(&tree), r#"{"config":{"z": 1, "a": [2.50]},"name":"a","things":[{"name":"<"}]}"#);
        assert_eq!(marked_json(b" null ").expect("JSON"), Value::Null);
        assert!(marked_json(b"{").is_err());
    }

    fn node() -> Node {
        static SCHEMA: std::sync::LazyLock<ObjectSchema> = std::sync::LazyLock::new(|| {
            let fields = vec![
                Field::new("config", Node::Raw),
                Field::new("name", Node::String),
                Field::new("things", Node::List(Box::new(node()))),
            ];
            ObjectSchema { name: "Thing", package: "things", description: "", fields }
        });
        Node::Object(ObjectRef::Static(|| &SCHEMA))
    }

    const STORED: &str = r#"{"config":{"z":1,"a":{"y":1,"b":2}},"things":[{"config":{"d":1,"c":2}},{"config":[3]}]}"#;

    fn stored() -> Value {
        decode::json_with_opaque(STORED.as_bytes(), &node()).expect("JSON").tree
    }

    fn texts(tree: Value) -> Vec<String> {
        let thing: Thing = serde_json::from_value(tree).expect("a thing");
        let all = std::iter::once(&thing).chain(&thing.things);
        all.map(|it| it.config.as_ref().map_or_else(String::new, |it| it.0.text().to_owned())).collect()
    }

    #[test]
    fn decoded_opaque_json_keeps_its_text() {
        assert_eq!(texts(stored()), [r#"{"z":1,"a":{"y":1,"b":2}}"#, r#"{"d":1,"c":2}"#, "[3]"]);
        let value: Value = serde_json::from_str(STORED).expect("JSON");
        assert_eq!(plain(stored()), value);
    }

    #[test]
    fn a_merge_patch_sorts_only_changed_parts() {
        let check = |patch: Value, expected: &[&str]| {
            let mut tree = stored();
            open_for_merge(&mut tree, &patch);
            patch::merge_patch(&mut tree, &patch);
            assert_eq!(texts(tree), expected, "{patch}");
        };
        check(json!({"name": "n"}), &[r#"{"z":1,"a":{"y":1,"b":2}}"#, r#"{"d":1,"c":2}"#, "[3]"]);
        check(json!({"config": {"n": 1}}), &[r#"{"a":{"b":2,"y":1},"n":1,"z":1}"#, r#"{"d":1,"c":2}"#, "[3]"]);
        check(json!({"config": null}), &["", r#"{"d":1,"c":2}"#, "[3]"]);
        check(json!({"things": [{"config": {"b": 1, "a": 2}}]}), &[r#"{"z":1,"a":{"y":1,"b":2}}"#, r#"{"a":2,"b":1}"#]);
    }

    #[test]
    fn a_json_patch_keeps_the_text_of_its_values() {
        let check = |patch: &str, expected: &[&str]| {
            let mut tree = stored();
            let patch = open_for_json_patch(&mut tree, patch.as_bytes(), &node());
            patch::json_patch(&mut tree, &patch).expect("applies");
            assert_eq!(texts(tree), expected);
        };
        let first = r#"{"z":1,"a":{"y":1,"b":2}}"#;
        let sorted = r#"{"a":{"b":2,"y":1},"z":1}"#;
        check(
            r#"[{"op":"replace","path":"/config","value":{"b": 1,"a":2}}]"#,
            &[r#"{"b":1,"a":2}"#, r#"{"d":1,"c":2}"#, "[3]"],
        );
        check(
            r#"[{"op":"add","path":"/things/0","value":{"config":{"b":1,"a":2},"name":"n"}}]"#,
            &[first, r#"{"b":1,"a":2}"#, r#"{"d":1,"c":2}"#, "[3]"],
        );
        check(
            r#"[{"op":"add","path":"/config/n","value":{"b":1,"a":2}}]"#,
            &[r#"{"a":{"b":2,"y":1},"n":{"a":2,"b":1},"z":1}"#, r#"{"d":1,"c":2}"#, "[3]"],
        );
        check(r#"[{"op":"copy","from":"/config","path":"/things/1/config"}]"#, &[first, r#"{"d":1,"c":2}"#, first]);
        check(
            r#"[{"op":"test","path":"/config","value":{"a":{"b":2,"y":1},"z":1}}]"#,
            &[sorted, r#"{"d":1,"c":2}"#, "[3]"],
        );
        check(
            r#"[{"op":"remove","path":"/things/0"},{"op":"add","path":"/things/-","value":{"config":{"f":1,"e":2}}},
                {"op":"add","path":"/things/1/config/n","value":1}]"#,
            &[first, "[3]", r#"{"e":2,"f":1,"n":1}"#],
        );
    }

    #[test]
    fn a_json_patch_makes_no_object_deeper_than_readers_allow() {
        let patched = |path: &str, depth: usize| {
            let (mut tree, value) = (stored(), format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)));
            let patch = format!(r#"[{{"op":"add","path":"{path}","value":{value}}}]"#);
            let patch = open_for_json_patch(&mut tree, patch.as_bytes(), &node());
            patch::json_patch(&mut tree, &patch).map_err(|error| error.to_string())?;
            let text = to_json(&tree);
            let read = decode::json_with_opaque(text.as_bytes(), &node()).map_err(|error| error.message)?;
            assert_eq!(to_json(&read.tree), text);
            Ok::<_, String>(())
        };
        // A patch is two levels above its values.
        let in_patch = "error decoding patch: exceeded max depth";
        for (path, depth, expected) in [
            ("/config", 98, Ok(())),
            ("/config", 99, Err(in_patch)),
            ("/things/0/config", 97, Ok(())),
            ("/things/0/config", 98, Err("exceeded max depth")),
            ("/config/a/e", 97, Ok(())),
            ("/config/a/e", 98, Err("exceeded max depth")),
            ("/name", 2000, Err(in_patch)),
            ("/config", 2000, Err(in_patch)),
        ] {
            assert_eq!(patched(path, depth), expected.map_err(str::to_owned), "{path} {depth}");
        }
    }
}
