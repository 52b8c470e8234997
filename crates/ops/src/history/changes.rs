// SPDX-License-Identifier: Apache-2.0
//! Difference between two states of an object, field by field.
//!
//! Items of a list are identified by the first of [`KEYS`] that all of them have with distinct values; then an item that
//! only moved is unchanged. A path names such an item by its key: `.status.conditions[APIServerAvailable]`.

use serde_json::{Map, Value};

/// Fields that identify items of upstream's lists.
const KEYS: [&str; 8] = ["name", "type", "version", "uid", "key", "kind", "machineClassName", "manager"];

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Path, for example `.spec.kubernetes.version`.
    pub path: String,
    /// Value before; `None`: the field did not exist.
    pub before: Option<Value>,
    /// Value after; `None`: the field was removed.
    pub after: Option<Value>,
}

/// Returns the fields that differ, ordered by path. Added and removed trees are listed leaf by leaf.
pub fn between(before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare("", Some(before), Some(after), &mut changes);
    changes
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    match (before, after) {
        (left, right) if left == right => {}
        (Some(Value::Object(left)), Some(Value::Object(right))) => fields(path, left, right, changes),
        (None, Some(Value::Object(right))) if !right.is_empty() => fields(path, &Map::new(), right, changes),
        (Some(Value::Object(left)), None) if !left.is_empty() => fields(path, left, &Map::new(), changes),
        (None, Some(Value::Array(right))) if key_of(&[], right).is_some() => {
            compare(path, Some(&Value::Array(Vec::new())), Some(&Value::Array(right.clone())), changes);
        }
        (Some(Value::Array(left)), None) if key_of(left, &[]).is_some() => {
            compare(path, Some(&Value::Array(left.clone())), Some(&Value::Array(Vec::new())), changes);
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if let Some(key) = key_of(left, right) => {
            let named = |items: &[Value]| -> Map<String, Value> {
                items.iter().map(|item| (item[key].to_string().trim_matches('"').to_owned(), item.clone())).collect()
            };
            let (left, right) = (named(left), named(right));
            let only_right = right.keys().filter(|name| !left.contains_key(*name));
            for name in left.keys().chain(only_right) {
                compare(&format!("{path}[{name}]"), left.get(name), right.get(name), changes);
            }
        }
        (before, after) => {
            changes.push(Change { path: path.to_owned(), before: before.cloned(), after: after.cloned() });
        }
    }
}

fn fields(path: &str, left: &Map<String, Value>, right: &Map<String, Value>, changes: &mut Vec<Change>) {
    let mut names: Vec<&String> = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name))).collect();
    names.sort();
    for name in names {
        // Keys of labels and annotations have dots of their own.
        let below = if name.contains(['.', '/']) { format!("{path}[{name}]") } else { format!("{path}.{name}") };
        compare(&below, left.get(name), right.get(name), changes);
    }
}

/// Field that identifies the items of two lists.
fn key_of(left: &[Value], right: &[Value]) -> Option<&'static str> {
    KEYS.into_iter().find(|key| is_key(key, left) && is_key(key, right) && !(left.is_empty() && right.is_empty()))
}

fn is_key(key: &str, items: &[Value]) -> bool {
    let mut names: Vec<&str> = items.iter().filter_map(|item| item[key].as_str()).collect();
    let all = names.len() == items.len();
    names.sort_unstable();
    names.dedup();
    all && names.len() == items.len()
}

/// Formats a value on one line of at most `longest` characters.
pub fn short(value: &Value, longest: usize) -> String {
    let text = match value {
        Value::String(text) if !text.is_empty() && !text.contains(['\n', '"']) => text.clone(),
        other => other.to_string(),
    };
    cut(&text, longest)
}

/// Truncates a text to `longest` characters.
pub fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{kept}…")
}

impl Change {
    /// Formats the change on one line.
    pub fn line(&self, longest: usize) -> String {
        let path = self.path.trim_start_matches('.');
        let value = |value: &Value| short(value, longest);
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{path} {} → {}", value(before), value(after)),
            (None, Some(after)) => format!("{path} = {}", value(after)),
            (_, None) => format!("{path} removed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        between(before, after).iter().map(|change| change.line(40)).collect()
    }

    #[test]
    fn fields_are_named_and_items_known_by_their_keys() {
        let before = json!({
            "metadata": { "labels": { "a/b.c": "1" } },
            "spec": { "version": "1.26.4", "gone": true },
            "status": { "conditions": [{ "type": "A", "status": "True" }, { "type": "B", "status": "True" }] },
        });
        let after = json!({
            "metadata": { "labels": { "a/b.c": "2" } },
            "spec": { "version": "1.27.1", "list": [1, 2] },
            "status": { "conditions": [{ "type": "B", "status": "False" }, { "type": "A", "status": "True" }] },
        });
        assert_eq!(
            lines(&before, &after),
            [
                "metadata.labels[a/b.c] 1 → 2",
                "spec.gone removed",
                "spec.list = [1,2]",
                "spec.version 1.26.4 → 1.27.1",
                "status.conditions[B].status True → False",
            ]
        );
        assert!(lines(&after, &after).is_empty());
    }

    #[test]
    fn lists_without_keys_are_values() {
        let list = |items: Value| json!({ "a": items });
        assert_eq!(lines(&list(json!([1])), &list(json!([1, 2]))), ["a [1] → [1,2]"]);
        let twice = json!([{ "name": "x" }, { "name": "x", "b": 1 }]);
        assert_eq!(lines(&list(json!([])), &list(twice)).len(), 1, "names that are not unique tell nothing apart");
        let named = list(json!([{ "name": "x", "b": 1 }]));
        assert_eq!(lines(&list(json!([])), &named), ["a[x].b = 1", "a[x].name = x"]);
        assert_eq!(lines(&named, &json!({})), ["a[x].b removed", "a[x].name removed"]);
        assert_eq!(lines(&json!({}), &json!({ "a": {}, "b": [] })), ["a = {}", "b = []"]);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(short(&json!("äöü"), 2), "ä…");
        assert_eq!(short(&json!("äöü"), 3), "äöü");
        assert_eq!(short(&json!("a\nb"), 10), "\"a\\nb\"");
    }
}
