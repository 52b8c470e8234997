// SPDX-License-Identifier: Apache-2.0
//! Fields that differ between two values, and immutable fields.

use apimachinery::field::Path;
use serde::Serialize;
use serde_json::Value;

use super::super::Errors;
use super::super::meta::immutable;

/// Returns the fields in which two values differ, as `Provider.Workers.slice[0].Maximum: 3 != 5`; at most ten.
pub fn differences<T: Serialize>(new: &T, old: &T) -> Vec<String> {
    let tree = |value: &T| serde_json::to_value(value).unwrap_or_default();
    let mut found = Vec::new();
    difference(&mut found, "", &tree(new), &tree(old));
    found.truncate(10);
    found
}

fn difference(found: &mut Vec<String>, path: &str, new: &Value, old: &Value) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            let keys: std::collections::BTreeSet<&String> = new.keys().chain(old.keys()).collect();
            for key in keys {
                let mut name = key.clone();
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_uppercase();
                }
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                difference(found, &path, new.get(key).unwrap_or(&Value::Null), old.get(key).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            for index in 0..new.len().max(old.len()) {
                let item = |list: &[Value]| list.get(index).cloned().unwrap_or_default();
                difference(found, &format!("{path}.slice[{index}]"), &item(new), &item(old));
            }
        }
        _ if new == old => {}
        _ => found.push(format!("{path}: {} != {}", go_text(new), go_text(old))),
    }
}

fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil pointer>".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Adds an error if a field below `spec` has changed.
pub(super) fn keep<T: PartialEq + Serialize>(errors: &mut Errors, new: &T, old: &T, path: &Path, field: &str) {
    immutable(errors, new, old, &path.child(field));
}
