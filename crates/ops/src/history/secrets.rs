// SPDX-License-Identifier: Apache-2.0
//! Values of objects that are never shown: those of Secrets, and copies of them elsewhere.

use api::constants::annotation;
use serde_json::{Value, json};

use super::changes::Change;

/// Top-level fields that hold credentials, by kind.
const FIELDS: [(&str, &[&str]); 4] = [
    ("Secret", &["data", "stringData"]),
    ("InternalSecret", &["data", "stringData"]),
    // Credentials and states of the cluster, to be restored on another seed.
    ("ShootState", &["spec"]),
    // Scripts and files of machines, tokens among them.
    ("OperatingSystemConfig", &["spec"]),
];

const SHOWN: &str = "(not shown)";

fn fields(kind: &str) -> &'static [&'static str] {
    FIELDS.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, fields)| fields)
}

/// Hides the credentials of an object: each leaf below such a field is replaced, so names and structure remain.
pub fn hide(object: &mut Value) {
    let fields = fields(object["kind"].as_str().unwrap_or_default());
    for field in fields {
        if let Some(value) = object.get_mut(field) {
            hide_leaves(value);
        }
    }
    if !fields.is_empty()
        && let Some(copy) =
            object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(annotation::KUBECTL_LAST_APPLIED))
    {
        *copy = json!(SHOWN);
    }
}

fn hide_leaves(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(hide_leaves),
        Value::Array(items) => items.iter_mut().for_each(hide_leaves),
        leaf => *leaf = json!(SHOWN),
    }
}

/// Hides the credentials in a change of an object of a kind.
pub fn hide_change(kind: &str, change: &mut Change) {
    let fields = fields(kind);
    let is_below = |field: &&str| {
        let rest = change.path.strip_prefix('.').and_then(|path| path.strip_prefix(*field));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let annotations = change.path.starts_with(".metadata.annotations") && !fields.is_empty();
    if fields.iter().any(is_below) {
        change.before.iter_mut().chain(&mut change.after).for_each(hide_leaves);
    } else if annotations && (change.path.ends_with(']') && change.path.contains(annotation::KUBECTL_LAST_APPLIED)) {
        change.before.iter_mut().chain(&mut change.after).for_each(|value| *value = json!(SHOWN));
    } else if annotations {
        for copy in change
            .before
            .iter_mut()
            .chain(&mut change.after)
            .filter_map(|all| all.get_mut(annotation::KUBECTL_LAST_APPLIED))
        {
            *copy = json!(SHOWN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::changes::between;
    use super::*;

    #[test]
    fn values_of_secrets_are_not_shown_and_their_names_are() {
        let secret = |value: &str| {
            json!({
                "kind": "Secret", "type": "Opaque", "data": { "password": value, "user": "same" },
                "metadata": { "name": "s", "annotations": { "kubectl.kubernetes.io/last-applied-configuration": format!("password: {value}"), "a": "b" } },
            })
        };
        let mut hidden = secret("cGFzc3dvcmQ=");
        hide(&mut hidden);
        assert_eq!(hidden["data"]["password"], "(not shown)");
        assert_eq!(hidden["metadata"]["annotations"]["a"], "b");
        assert!(!hidden.to_string().contains("cGFz"), "{hidden}");

        let with = |before: &Value, after: &Value| {
            let mut changes = between(before, after);
            for change in &mut changes {
                hide_change("Secret", change);
            }
            changes.iter().map(|change| change.line(200)).collect::<Vec<_>>().join("\n")
        };
        for (before, after) in [(secret("cGFz1"), secret("cGFz2")), (json!({ "kind": "Secret" }), secret("cGFz2"))] {
            let text = with(&before, &after);
            assert!(text.contains("data") && text.contains("(not shown)") && !text.contains("cGFz"), "{text}");
        }
        let mut other = json!({ "kind": "ConfigMap", "data": { "a": "b" } });
        hide(&mut other);
        assert_eq!(other["data"]["a"], "b");
    }
}
