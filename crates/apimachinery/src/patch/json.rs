// SPDX-License-Identifier: Apache-2.0
//! JSON patch with the behaviour and the texts of the library of the real API server.
//!
//! Source: gopkg.in/evanphx/json-patch.v4, apiserver pkg/endpoints/handlers/patch.go.

use serde_json::{Map, Value};

use super::PatchError;
use crate::decode::{MAX_DEPTH, any_json, is_within};

/// Maximum number of operations.
const MAX_OPERATIONS: usize = 10_000;

/// Maximum size in bytes of the JSON that the copies of one patch may add (k8s.io/apiserver pkg/server/options,
/// JSONPatchMaxCopyBytes).
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a patch of RFC 6902, with the library texts of the real API, at most 10,000 operations, and at most 3 MiB of copies.
///
/// Beyond the RFC, negative indices count from the end, and a `test` for `null` holds where the key is absent. The
/// target is unchanged when an operation fails.
///
/// # Errors
/// See [`PatchError`].
pub fn json_patch(target: &mut Value, patch: &[u8]) -> Result<(), PatchError> {
    let malformed = |text: &str| PatchError::Malformed(format!("error decoding patch: {text}"));
    let operations = match any_json(patch) {
        Ok(Value::Array(operations)) => operations,
        Ok(other) => return Err(malformed(&wrong_type(&other, "jsonpatch.Patch"))),
        Err(error) => return Err(malformed(&error.message)),
    };
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
        )));
    }
    let mut decoded = Vec::with_capacity(operations.len());
    for operation in operations {
        match operation {
            Value::Object(fields) => decoded.push(fields),
            other => return Err(malformed(&wrong_type(&other, "jsonpatch.Operation"))),
        }
    }
    let mut document = target.clone();
    let mut copied = 0;
    for operation in decoded {
        apply(&mut document, operation, &mut copied).map_err(PatchError::Unprocessable)?;
    }
    *target = document;
    Ok(())
}

fn wrong_type(value: &Value, wanted: &str) -> String {
    let found = match value {
        Value::Null | Value::Object(_) => "object",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    format!("json: cannot unmarshal {found} into Go value of type {wanted}")
}

const MISSING: &str = "missing value";

fn apply(document: &mut Value, mut operation: Map<String, Value>, copied: &mut usize) -> Result<(), String> {
    let text = |operation: &Map<String, Value>, name: &str| operation.get(name)?.as_str().map(str::to_owned);
    let kind = text(&operation, "op").unwrap_or_else(|| "unknown".to_owned());
    if !matches!(kind.as_str(), "add" | "remove" | "replace" | "move" | "test" | "copy") {
        return Err(format!("Unexpected kind: {kind}"));
    }
    let path = text(&operation, "path").ok_or_else(|| format!("{kind} operation failed to decode path: {MISSING}"))?;
    let value = operation.remove("value").unwrap_or(Value::Null);
    match kind.as_str() {
        "add" => {
            let (place, key) = find(document, &path)
                .ok_or_else(|| format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}"))?;
            check_depth(&path, &value)?;
            place.add(&key, value).map_err(|error| format!("error in add for path: '{path}': {error}"))
        }
        "remove" => {
            let (place, key) = find(document, &path).ok_or_else(|| {
                format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}")
            })?;
            place.remove(&key).map_err(|error| format!("error in remove for path: '{path}': {error}"))?;
            Ok(())
        }
        "replace" => replace(document, &path, value),
        "test" => test(document, &path, &value),
        _ => {
            let from =
                text(&operation, "from").ok_or_else(|| format!("{kind} operation failed to decode from: {MISSING}"))?;
            if kind == "move" { relocate(document, &from, &path) } else { copy(document, &from, &path, copied) }
        }
    }
}

/// Checks that a value at the end of a path does not make the document deeper than readers allow: later walks over it
/// recurse to its depth.
fn check_depth(path: &str, value: &Value) -> Result<(), String> {
    let above = path.matches('/').count();
    let is_within = above <= MAX_DEPTH && is_within(value, MAX_DEPTH - above);
    if is_within { Ok(()) } else { Err("exceeded max depth".to_owned()) }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    check_depth(path, &value)?;
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    let (place, key) = find(document, path)
        .ok_or_else(|| format!("replace operation does not apply: doc is missing path: {path}: {MISSING}"))?;
    match place.get(&key) {
        Ok(current) => {
            *current = value;
            Ok(())
        }
        Err(_) => Err(format!("replace operation does not apply: doc is missing key: {path}: {MISSING}")),
    }
}

fn test(document: &mut Value, path: &str, value: &Value) -> Result<(), String> {
    let failed = || format!("testing value {path} failed: test failed");
    if path.is_empty() {
        return if document == value { Ok(()) } else { Err(failed()) };
    }
    let (place, key) = find(document, path)
        .ok_or_else(|| format!("test operation does not apply: is missing path: {path}: {MISSING}"))?;
    match place.get(&key) {
        Ok(current) if current == value => Ok(()),
        Ok(_) => Err(failed()),
        Err(error) if error.ends_with(MISSING) => {
            if value.is_null() {
                Ok(())
            } else {
                Err(failed())
            }
        }
        Err(error) => Err(format!("error in test for path: '{path}': {error}")),
    }
}

fn relocate(document: &mut Value, from: &str, path: &str) -> Result<(), String> {
    let absent = || format!("move operation does not apply: doc is missing from path: {from}: {MISSING}");
    let failed = |key: &str, error: String| format!("error in move for path: '{key}': {error}");
    let (place, key) = find(document, from).ok_or_else(absent)?;
    place.get(&key).map_err(|error| failed(&key, error))?;
    let (place, key) = find(document, from).ok_or_else(absent)?;
    let value = place.remove(&key).map_err(|error| failed(&key, error))?;
    let (place, key) = find(document, path)
        .ok_or_else(|| format!("move operation does not apply: doc is missing destination path: {path}: {MISSING}"))?;
    check_depth(path, &value)?;
    place.add(&key, value).map_err(|error| failed(path, error))
}

fn copy(document: &mut Value, from: &str, path: &str, copied: &mut usize) -> Result<(), String> {
    let (place, key) = find(document, from)
        .ok_or_else(|| format!("copy operation does not apply: doc is missing from path: {from}: {MISSING}"))?;
    let value = place.get(&key).map_err(|error| format!("error in copy for from: '{from}': {error}"))?;
    *copied += value.to_string().len();
    if *copied > MAX_COPIED {
        return Err(format!(
            "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED}"
        ));
    }
    let value = value.clone();
    check_depth(path, &value)?;
    let (place, key) = find(document, path)
        .ok_or_else(|| format!("copy operation does not apply: doc is missing destination path: {path}: {MISSING}"))?;
    place.add(&key, value).map_err(|error| format!("error while adding value during copy: {error}"))
}

/// Container of the last key of a path.
enum Place<'a> {
    Object(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

/// Returns the container and the last key; `None` if a part of the path is missing.
fn find<'a>(document: &'a mut Value, path: &str) -> Option<(Place<'a>, String)> {
    let (parents, key) = path.rsplit_once('/')?;
    let mut value = document;
    for part in parents.split('/').skip(1) {
        let place = Place::of(value)?;
        value = place.get(&unescape(part)).ok()?;
    }
    Some((Place::of(value)?, unescape(key)))
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

impl<'a> Place<'a> {
    fn of(value: &'a mut Value) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Self::Object(fields)),
            Value::Array(items) => Some(Self::List(items)),
            _ => None,
        }
    }

    fn get(self, key: &str) -> Result<&'a mut Value, String>
    where
        Self: 'a,
    {
        match self {
            Self::Object(fields) => {
                fields.get_mut(key).ok_or_else(|| format!("unable to get nonexistent key: {key}: {MISSING}"))
            }
            Self::List(items) => {
                let at = position(key, items.len())?;
                items.get_mut(at).ok_or_else(|| invalid_index(key))
            }
        }
    }

    fn remove(self, key: &str) -> Result<Value, String> {
        match self {
            Self::Object(fields) => {
                fields.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}"))
            }
            Self::List(items) => {
                let at = position(key, items.len())?;
                if at < items.len() { Ok(items.remove(at)) } else { Err(invalid_index(key)) }
            }
        }
    }

    fn add(self, key: &str, value: Value) -> Result<(), String> {
        match self {
            Self::Object(fields) => {
                fields.insert(key.to_owned(), value);
            }
            Self::List(items) if key == "-" => items.push(value),
            Self::List(items) => {
                if key.parse::<i64>().is_err() {
                    return Err(format!("value was not a proper array index: '{key}': {}", not_a_number(key)));
                }
                let at = position(key, items.len() + 1)?;
                if at > items.len() {
                    return Err(invalid_index(key));
                }
                items.insert(at, value);
            }
        }
        Ok(())
    }
}

/// Returns the index for `key` in a list of `length`; it may be after the end.
fn position(key: &str, length: usize) -> Result<usize, String> {
    let index: i64 = key.parse().map_err(|_| not_a_number(key))?;
    let index = if index < 0 { i64::try_from(length).unwrap_or(i64::MAX) + index } else { index };
    usize::try_from(index).map_err(|_| invalid_index(key))
}

fn not_a_number(key: &str) -> String {
    format!("strconv.Atoi: parsing {}: invalid syntax", crate::go::quote(key))
}

fn invalid_index(key: &str) -> String {
    format!("Unable to access invalid index: {key}: invalid index referenced")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(patch: &Value, expected: Result<Value, &str>) {
        let mut document = json!({"x": {"y": 1}, "l": ["a", "b"], "n": null, "a/b": 1});
        let before = document.clone();
        let outcome = json_patch(&mut document, patch.to_string().as_bytes());
        match expected {
            Ok(expected) => {
                assert_eq!(outcome, Ok(()));
                for (name, value) in expected.as_object().expect("expected fields") {
                    assert_eq!(document[name], *value, "{name}");
                }
            }
            Err(message) => {
                assert_eq!(outcome.expect_err("is refused").to_string(), message);
                assert_eq!(document, before, "a refused patch changes nothing");
            }
        }
    }

    #[test]
    fn operations_apply() {
        check(&json!([{"op": "add", "path": "/z", "value": 2}]), Ok(json!({"z": 2})));
        check(&json!([{"op": "add", "path": "/l/1", "value": "c"}]), Ok(json!({"l": ["a", "c", "b"]})));
        check(&json!([{"op": "add", "path": "/l/-", "value": "c"}]), Ok(json!({"l": ["a", "b", "c"]})));
        check(&json!([{"op": "add", "path": "/l/-1", "value": "c"}]), Ok(json!({"l": ["a", "b", "c"]})));
        check(&json!([{"op": "remove", "path": "/l/-1"}]), Ok(json!({"l": ["a"]})));
        check(&json!([{"op": "replace", "path": "/x/y", "value": 2}]), Ok(json!({"x": {"y": 2}})));
        check(&json!([{"op": "replace", "path": "/a~1b", "value": 2}]), Ok(json!({"a/b": 2})));
        check(&json!([{"op": "move", "from": "/x/y", "path": "/l/0"}]), Ok(json!({"l": [1, "a", "b"], "x": {}})));
        check(&json!([{"op": "copy", "from": "/x", "path": "/w"}]), Ok(json!({"w": {"y": 1}})));
        check(&json!([{"op": "test", "path": "/x/y", "value": 1}]), Ok(json!({})));
        check(&json!([{"op": "test", "path": "/x/absent", "value": null}]), Ok(json!({})));
    }

    #[test]
    fn refusals_have_the_texts_of_the_library() {
        check(
            &json!([{"op": "add", "path": "/z", "value": 1}, {"op": "test", "path": "/x/y", "value": 2}]),
            Err("testing value /x/y failed: test failed"),
        );
        check(
            &json!([{"op": "test", "path": "/a/b", "value": 2}]),
            Err("test operation does not apply: is missing path: /a/b: missing value"),
        );
        check(
            &json!([{"op": "remove", "path": "/q"}]),
            Err("error in remove for path: '/q': Unable to remove nonexistent key: q: missing value"),
        );
        check(
            &json!([{"op": "remove", "path": "/a/b"}]),
            Err("remove operation does not apply: doc is missing path: \"/a/b\": missing value"),
        );
        check(
            &json!([{"op": "replace", "path": "/q", "value": 1}]),
            Err("replace operation does not apply: doc is missing key: /q: missing value"),
        );
        check(
            &json!([{"op": "replace", "path": "/a/b", "value": 1}]),
            Err("replace operation does not apply: doc is missing path: /a/b: missing value"),
        );
        check(
            &json!([{"op": "add", "path": "/a/b", "value": 1}]),
            Err("add operation does not apply: doc is missing path: \"/a/b\": missing value"),
        );
        check(
            &json!([{"op": "remove", "path": "/l/9"}]),
            Err("error in remove for path: '/l/9': Unable to access invalid index: 9: invalid index referenced"),
        );
        check(&json!([{"op": "jump", "path": "/l"}]), Err("Unexpected kind: jump"));
        check(
            &json!({}),
            Err("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        );
    }

    #[test]
    fn growth_by_repeated_operations_is_bounded() {
        let refused = |patch: Value, expected: &str| {
            let mut document = json!({"x": {"text": "y".repeat(1000)}});
            let error = json_patch(&mut document, patch.to_string().as_bytes()).expect_err("is refused");
            assert_eq!((error.to_status().code, error.to_string().as_str()), (422, expected));
        };
        let copies = vec![json!({"op": "copy", "from": "/x", "path": "/y/-"}); 3200];
        let limit = "Unable to complete the copy, the accumulated size increase of copy is 3146232, exceeding the limit 3145728";
        refused(Value::Array([&[json!({"op": "add", "path": "/y", "value": []})], &copies[..]].concat()), limit);
        // Each is as deep as everything before it.
        let depth = "exceeded max depth";
        let mut copies = vec![json!({"op": "remove", "path": "/x/text"})];
        copies.resize(120, json!({"op": "copy", "from": "/x", "path": "/x/x"}));
        refused(json!(copies), depth);
        let adds: Vec<Value> =
            (1..=101).map(|level| json!({"op": "add", "path": "/x".repeat(level), "value": {}})).collect();
        refused(json!(adds), depth);
        let moves: Vec<Value> = (0..101)
            .flat_map(|_| {
                let down = json!({"op": "move", "from": "/x", "path": "/y/x"});
                [
                    json!({"op": "add", "path": "/y", "value": {}}),
                    down,
                    json!({"op": "move", "from": "/y", "path": "/x"}),
                ]
            })
            .collect();
        refused(json!(moves), depth);
        let mut document = json!({});
        let patch = Value::Array(adds[..99].to_vec());
        assert_eq!(json_patch(&mut document, patch.to_string().as_bytes()), Ok(()));
        assert!(is_within(&document, MAX_DEPTH));
    }

    #[test]
    fn too_many_operations_are_refused() {
        let patch = Value::Array(vec![json!({"op": "test", "path": "", "value": {}}); MAX_OPERATIONS + 1]);
        let error = json_patch(&mut json!({}), patch.to_string().as_bytes()).expect_err("is refused");
        assert_eq!(error.to_status().code, 413);
        assert_eq!(error.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
    }
}
