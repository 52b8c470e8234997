// SPDX-License-Identifier: Apache-2.0
//! Strategic merge patch: a merge patch that merges lists by keys of the schema, and may contain directives.
//!
//! Source: apimachinery pkg/util/strategicpatch @ v0.32. Where upstream's result depends on the order of a Go map, ours
//! is the alphabetical one.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::PatchError;
use crate::decode::json_type;
use crate::schema::{Field, Node};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

const BAD_RETAIN_KEYS: &str = "invalid patch format of retainKeys";
const BAD_PRIMITIVE_LIST: &str = "invalid patch format of primitive list";
const BAD_ORDER: &str = "invalid patch format of setElementOrder list";

type Fields = Map<String, Value>;

/// Applies a strategic merge patch, by the merge keys and strategies of the schema and the patch's own directives.
///
/// The target is undefined when the patch fails.
///
/// # Errors
/// See [`PatchError`].
pub fn strategic_merge_patch(target: &mut Value, patch: &Value, schema: &Node) -> Result<(), PatchError> {
    let Value::Object(patch) = patch else {
        let text =
            format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", json_type(patch));
        return Err(PatchError::Malformed(text));
    };
    let original = match target.take() {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    };
    *target = Value::Object(merge_map(original, patch.clone(), schema)?);
    Ok(())
}

fn internal<T>(message: String) -> Result<T, PatchError> {
    Err(PatchError::Internal(message))
}

/// Merge strategy of a field.
#[derive(Default)]
struct Strategy {
    merges: bool,
    replaces: bool,
    key: Option<&'static str>,
}

impl Strategy {
    fn of(field: &Field) -> Self {
        let has = |word| field.patch_strategy.is_some_and(|strategy| strategy.split(',').any(|part| part == word));
        Self { merges: has("merge"), replaces: has("replace"), key: field.merge_key }
    }
}

/// Returns the node and the strategy of a field below a struct or map.
fn look_up<'a>(schema: &'a Node, field: &str) -> Result<(&'a Node, Strategy), PatchError> {
    match schema {
        Node::Object(reference) => match reference.get().field(field) {
            Some(found) => Ok((&found.node, Strategy::of(found))),
            None => no_such_field(reference.get().name, field),
        },
        Node::Map(values) => Ok((values, Strategy::default())),
        Node::Raw => no_such_field("RawExtension", field),
        other => internal(format!(
            "merging an object in json but data type is not struct, instead is: {}",
            if matches!(other, Node::List(_)) { "slice".to_owned() } else { other.go_type() }
        )),
    }
}

fn no_such_field<T>(schema: &str, field: &str) -> Result<T, PatchError> {
    internal(format!("unable to find api field in struct {schema} for the json field {}", crate::go::quote(field)))
}

fn items_of<'a>(node: &'a Node, field: &str) -> Result<&'a Node, PatchError> {
    match node {
        Node::List(items) => Ok(items),
        Node::Raw => no_such_field("RawExtension", field),
        other => internal(format!("expected slice or array type, but got: {}", other.go_type())),
    }
}

fn merge_map(mut original: Fields, mut patch: Fields, schema: &Node) -> Result<Fields, PatchError> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Fields::new()),
        Some(other) => return internal(unknown_directive(other, &patch)),
    }
    retain_keys(&mut original, &mut patch)?;
    set_orders(&mut original, &mut patch, schema)?;
    for (name, value) in patch {
        let (name, deletes) = match name.strip_prefix(DELETE_FROM) {
            None => (name.as_str(), false),
            Some(rest) => match rest.strip_prefix('/') {
                Some(name) => (name, true),
                None => return Err(PatchError::Malformed(BAD_PRIMITIVE_LIST.to_owned())),
            },
        };
        if value.is_null() {
            original.remove(name);
            continue;
        }
        let Some(current) = original.get_mut(name) else {
            if !deletes && let Some(value) = plain(value) {
                original.insert(name.to_owned(), value);
            }
            continue;
        };
        match (current, value) {
            (Value::Object(current), Value::Object(value)) => {
                let (node, strategy) = look_up(schema, name)?;
                *current = if strategy.replaces { value } else { merge_map(std::mem::take(current), value, node)? };
            }
            (Value::Array(current), Value::Array(value)) => {
                let (node, strategy) = look_up(schema, name)?;
                let items = items_of(node, name)?;
                *current = merge_lists(std::mem::take(current), value, items, &strategy, deletes)?;
            }
            (_, value) if deletes => drop(value),
            (current, value) => match plain(value) {
                Some(value) => *current = value,
                None => drop(original.remove(name)),
            },
        }
    }
    Ok(original)
}

fn unknown_directive(directive: &Value, patch: &Fields) -> String {
    format!("unknown patch type: {} in map: {}", go_text(directive), go_map(patch))
}

/// Removes directives and `null`s from a value that has no counterpart; `None` for a value with a directive.
fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            if fields.contains_key(DIRECTIVE) {
                return None;
            }
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(kept.filter_map(|(name, value)| Some((name, plain(value)?))).collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(plain).collect())),
        scalar => Some(scalar),
    }
}

/// `$retainKeys`: removes all other keys.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::Malformed(BAD_RETAIN_KEYS.to_owned());
    let Value::Array(keys) = keys else { return Err(malformed()) };
    let retained = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let is_directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !retained(name)) {
        return Err(malformed());
    }
    original.retain(|name, _| retained(name));
    Ok(())
}

/// `$setElementOrder/FIELD`: merges the field immediately, and puts its items in the given order.
fn set_orders(original: &mut Fields, patch: &mut Fields, schema: &Node) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            other => return bad_type("slice", &other.unwrap_or_default()),
        };
        let Some(field) = directive.strip_prefix(SET_ORDER).and_then(|rest| rest.strip_prefix('/')) else {
            return Err(PatchError::Malformed(BAD_ORDER.to_owned()));
        };
        let list = |value: Option<Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => bad_type("slice", &other),
        };
        let current = list(original.get(field).cloned())?;
        let change = list(patch.get(field).cloned())?;
        let (node, strategy) = look_up(schema, field)?;
        let items = items_of(node, field)?;
        check_order(change.as_deref().unwrap_or_default(), &order, strategy.key)?;
        let server_order = current.clone().unwrap_or_default();
        let merged = match (current, change) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(change)) => change.into_iter().filter_map(plain).collect(),
            (Some(current), Some(change)) => merge_lists(current, change, items, &strategy, false)?,
        };
        let ordered = in_order(merged, &order, &server_order, strategy.key)?;
        original.insert(field.to_owned(), Value::Array(ordered));
        patch.remove(field);
    }
    Ok(())
}

/// Checks that the patch's items are in the order of the directive.
fn check_order(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if order.is_empty() || change.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter();
    for item in change.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let identity = identity(item, key)?;
        let mut found = false;
        for candidate in wanted.by_ref() {
            if self::identity(candidate, key)? == identity {
                found = true;
                break;
            }
        }
        if !found {
            return internal(format!(
                "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
                go_list(change),
                go_list(order)
            ));
        }
    }
    Ok(())
}

/// Returns the identity of an item: the value of its merge key, or a scalar itself.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    let Some(key) = key else { return Ok(item) };
    let Value::Object(fields) = item else { return bad_type("map", item) };
    fields.get(key).ok_or_else(|| no_key(fields, key))
}

fn no_key(fields: &Fields, key: &str) -> PatchError {
    PatchError::Internal(format!("map: {} does not contain declared merge key: {key}", go_map(fields)))
}

fn bad_type<T>(expected: &str, actual: &Value) -> Result<T, PatchError> {
    let actual = match actual {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    };
    internal(format!("expected a {expected}, but received a {actual}"))
}

fn merge_lists(
    original: Vec<Value>,
    patch: Vec<Value>,
    items: &Node,
    strategy: &Strategy,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if !strategy.merges && !deletes {
        return Ok(patch);
    }
    let Some(first) = original.first().or_else(|| patch.first()) else { return Ok(original) };
    let kind = std::mem::discriminant(first);
    if original.iter().chain(&patch).any(|item| std::mem::discriminant(item) != kind) {
        let lists = [&original, &patch].map(|list| go_list(list)).join(" ");
        return internal(format!("list element types are not identical: [{lists}]"));
    }
    if !first.is_object() {
        if deletes {
            return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut merged: Vec<Value> = Vec::new();
        for item in original.iter().chain(&patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return in_order(merged, &patch, &original, None);
    }
    let Some(key) = strategy.key else {
        return internal(format!("cannot merge lists without merge key for {}", items.go_type()));
    };
    let (mut current, patch) = special_items(original, patch, key)?;
    let server_order = current.clone();
    for item in &patch {
        let Value::Object(fields) = item else { return bad_type("map", item) };
        let wanted = fields.get(key).ok_or_else(|| no_key(fields, key))?;
        match current.iter_mut().find(|candidate| candidate.get(key) == Some(wanted)) {
            Some(Value::Object(found)) => {
                *found = merge_map(std::mem::take(found), fields.clone(), items)?;
            }
            _ => current.push(item.clone()),
        }
    }
    in_order(current, &patch, &server_order, Some(key))
}

/// Applies the items that are directives; returns the rest of the list and of the patch.
fn special_items(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let (mut ordinary, mut replaces) = (Vec::new(), false);
    for item in patch {
        let Value::Object(fields) = &item else { return bad_type("map", &item) };
        match fields.get(DIRECTIVE) {
            None => ordinary.push(item),
            Some(Value::String(directive)) if directive == "delete" => {
                let wanted = fields.get(key).ok_or_else(|| no_key(fields, key))?;
                original.retain(|candidate| candidate.get(key) != Some(wanted));
            }
            Some(Value::String(directive)) if directive == "replace" => replaces = true,
            Some(Value::String(directive)) if directive == "merge" => {
                return internal("merging lists cannot yet be specified in the patch".to_owned());
            }
            Some(other) => return internal(unknown_directive(other, fields)),
        }
    }
    Ok(if replaces { (ordinary, Vec::new()) } else { (original, ordinary) })
}

/// Puts the items that the patch names in its order, and keeps the others relative to their neighbours.
fn in_order(
    merged: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    for item in merged.iter().chain(patch_order) {
        identity(item, key)?;
    }
    let same = |left: &Value, right: &Value| match key {
        Some(key) => left.get(key) == right.get(key),
        None => left == right,
    };
    let index = |order: &[Value], item: &Value| order.iter().position(|candidate| same(candidate, item));
    let (mut patched, mut server_only): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| index(patch_order, item).is_some());
    patched.sort_by_key(|item| index(patch_order, item));
    server_only.sort_by_key(|item| index(server_order, item).unwrap_or(usize::MAX));
    let mut out = Vec::with_capacity(patched.len() + server_only.len());
    let (mut left, mut right) = (server_only.into_iter().peekable(), patched.into_iter().peekable());
    loop {
        let from_left = match (left.peek(), right.peek()) {
            (None, None) => return Ok(out),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(server), Some(patched)) => match (index(server_order, server), index(server_order, patched)) {
                (Some(server), Some(patched)) => server < patched,
                _ => false,
            },
        };
        out.extend(if from_left { left.next() } else { right.next() });
    }
}

/// Formats a value like Go's `%v` of a decoded JSON value: `map[a:1 b:[x y]]`.
pub fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => go_list(items),
        Value::Object(fields) => go_map(fields),
        other => other.to_string(),
    }
}

fn go_list(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(go_text).collect();
    format!("[{}]", items.join(" "))
}

fn go_map(fields: &Fields) -> String {
    let mut out = "map[".to_owned();
    for (index, (name, value)) in fields.iter().enumerate() {
        let _ = write!(out, "{}{name}:{}", if index > 0 { " " } else { "" }, go_text(value));
    }
    out.push(']');
    out
}
