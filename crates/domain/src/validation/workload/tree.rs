// SPDX-License-Identifier: Apache-2.0
//! Access to a tree that its schema has pruned: missing fields, null and values of another type are empty.

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{LabelSelector, TextMap};
use serde_json::{Map, Value};

use crate::validation::{Errors, meta};

/// Returns a field that exists and is not null.
pub(super) fn set<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, name: &str) -> Option<i64> {
    value.get(name).and_then(Value::as_i64)
}

pub(super) fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn texts(value: &Value, name: &str) -> TextMap {
    let map = value.get(name).and_then(Value::as_object);
    let pairs = map.into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

/// Checks that a number is not negative, if it is set.
pub(super) fn non_negative(errors: &mut Errors, value: &Value, name: &str, path: &Path) {
    if let Some(number) = number(value, name) {
        meta::non_negative(errors, number, &path.child(name));
    }
}

/// Checks that a text is one of the allowed ones; a missing field has its default.
pub(super) fn one_of(errors: &mut Errors, value: &Value, name: &str, allowed: &[&str], path: &Path) {
    let text = text(value, name);
    if !text.is_empty() && !allowed.contains(&text) {
        errors.push(FieldError::not_supported(&path.child(name), text, allowed));
    }
}

/// Checks that a name is a DNS subdomain, if it is set.
pub(super) fn dns_subdomain(errors: &mut Errors, value: &Value, name: &str, path: &Path) {
    let text = text(value, name);
    if !text.is_empty() {
        meta::invalid_each(errors, &path.child(name), text, meta::dns_subdomain(text));
    }
}

/// True if two values are equivalent: missing, null and empty values are equal.
pub(super) fn is_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a.filter(|it| !is_empty(it)), b.filter(|it| !is_empty(it))) {
        (None, None) => true,
        (Some(Value::Object(a)), Some(Value::Object(b))) => is_same_map(a, b),
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(Some(a), Some(b)))
        }
        (a, b) => a == b,
    }
}

/// Compares the fields of two maps as [`is_same`].
pub(super) fn is_same_map(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.keys().chain(b.keys()).all(|name| is_same(a.get(name), b.get(name)))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_empty),
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Checks a label selector and its values; one that cannot be parsed was refused before.
pub(super) fn label_selector(errors: &mut Errors, selector: &Value, path: &Path) {
    let Ok(typed) = serde_json::from_value::<LabelSelector>(selector.clone()) else { return };
    meta::label_selector_with_values(errors, &typed, path);
}
