// SPDX-License-Identifier: Apache-2.0
//! Validation of PriorityClasses and RuntimeClasses.
//!
//! Source: k8s.io/kubernetes pkg/apis/scheduling/validation/validation.go, pkg/apis/scheduling/v1/helpers.go,
//! pkg/apis/node/validation/validation.go @ v1.32.

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{number, text, texts};
use super::{containers, pods};
use crate::validation::{Errors, meta};

/// Maximum priority of a class that users define.
const HIGHEST_OF_USERS: i64 = 1_000_000_000;

/// A PriorityClass of every cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemClass {
    /// Name of the class, `system-node-critical`.
    pub name: &'static str,
    /// Priority of its pods, above those of classes that users define.
    pub value: i64,
    /// Description of its purpose, as upstream.
    pub description: &'static str,
}

/// The PriorityClasses of every cluster.
pub const SYSTEM_CLASSES: [SystemClass; 2] = [
    SystemClass {
        name: "system-node-critical",
        value: 2 * HIGHEST_OF_USERS + 1000,
        description: "Used for system critical pods that must not be moved from their current node.",
    },
    SystemClass {
        name: "system-cluster-critical",
        value: 2 * HIGHEST_OF_USERS,
        description: "Used for system critical pods that must run in the cluster, but can be moved to another node if \
                      necessary.",
    },
];

/// Returns violations of a PriorityClass.
pub fn priority_class(name: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let tree = Value::Object(fields.clone());
    let value = number(&tree, "value").unwrap_or(0);
    if name.starts_with("system-") {
        if let Err(reason) = is_system_class(name, value, tree["globalDefault"] == true) {
            let text =
                format!("priority class names with 'system-' prefix are reserved for system use only. error: {reason}");
            errors.push(FieldError::forbidden(&Path::new("metadata").child("name"), &text));
        }
    } else if value > HIGHEST_OF_USERS {
        let text = format!("maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}");
        errors.push(FieldError::forbidden(&Path::new("value"), &text));
    }
    preemption_policy(&mut errors, &tree);
    errors
}

fn preemption_policy(errors: &mut Errors, class: &Value) {
    let policy = text(class, "preemptionPolicy");
    if !matches!(policy, "" | "PreemptLowerPriority" | "Never") {
        let allowed = ["PreemptLowerPriority", "Never"];
        errors.push(FieldError::not_supported(&Path::new("preemptionPolicy"), policy, &allowed));
    }
}

fn is_system_class(name: &str, value: i64, is_default: bool) -> Result<(), String> {
    let Some(class) = SYSTEM_CLASSES.iter().find(|class| class.name == name) else {
        return Err(format!("{name} is not a known system priority class"));
    };
    if class.value != value {
        return Err(format!("value of {name} PriorityClass must be {}", class.value));
    }
    if is_default {
        return Err(format!("globalDefault of {name} PriorityClass must be false"));
    }
    Ok(())
}

/// Returns violations of a changed PriorityClass.
pub fn priority_class_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let value = |fields: &Map<String, Value>| fields.get("value").and_then(Value::as_i64).unwrap_or(0);
    if value(fields) != value(old) {
        errors.push(FieldError::forbidden(&Path::new("value"), "may not be changed in an update."));
    }
    let policy = |fields: &Map<String, Value>| fields.get("preemptionPolicy").cloned().unwrap_or_default();
    meta::immutable(&mut errors, &policy(fields), &policy(old), &Path::new("preemptionPolicy"));
    errors
}

/// Returns violations of a RuntimeClass.
pub fn runtime_class(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let tree = Value::Object(fields.clone());
    let handler = text(&tree, "handler");
    meta::invalid_each(&mut errors, &Path::new("handler"), handler, meta::dns_label(handler));
    if tree["overhead"].is_object() {
        let limits = serde_json::json!({ "limits": tree["overhead"]["podFixed"] });
        containers::amounts(&mut errors, &limits, &Path::new("overhead"));
    }
    let (scheduling, path) = (&tree["scheduling"], Path::new("scheduling"));
    meta::labels(&mut errors, &texts(scheduling, "nodeSelector"), &path.child("nodeSelector"));
    pods::tolerations(&mut errors, scheduling, &path);
    errors
}

/// Returns violations of a changed RuntimeClass.
pub fn runtime_class_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let handler = |fields: &Map<String, Value>| fields.get("handler").cloned().unwrap_or_default();
    meta::immutable(&mut errors, &handler(fields), &handler(old), &Path::new("handler"));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(errors: &Errors, expected: &[&str]) {
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn map(tree: Value) -> Map<String, Value> {
        tree.as_object().cloned().expect("an object")
    }

    #[test]
    fn users_define_no_system_priority_classes() {
        let judge = |name: &str, tree: Value| priority_class(name, &map(tree));
        check(&judge("a", json!({"value": 1_000_000_000})), &[]);
        check(
            &judge("a", json!({"value": 1_000_000_001, "preemptionPolicy": "Sometimes"})),
            &[
                "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
                "preemptionPolicy: Unsupported value: \"Sometimes\": supported values: \"PreemptLowerPriority\", \"Never\"",
            ],
        );
        check(&judge("system-node-critical", json!({"value": 2_000_001_000})), &[]);
        let prefix = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. \
                      error: ";
        for (name, tree, expected) in [
            ("system-mine", json!({"value": 1}), "system-mine is not a known system priority class"),
            (
                "system-cluster-critical",
                json!({"value": 1}),
                "value of system-cluster-critical PriorityClass must be 2000000000",
            ),
            (
                "system-cluster-critical",
                json!({"value": 2_000_000_000, "globalDefault": true}),
                "globalDefault of system-cluster-critical PriorityClass must be false",
            ),
        ] {
            check(&judge(name, tree), &[&format!("{prefix}{expected}")]);
        }
        let old = map(json!({"value": 1, "preemptionPolicy": "Never"}));
        check(&priority_class_update(&old, &old), &[]);
        check(
            &priority_class_update(&map(json!({"value": 2, "preemptionPolicy": "PreemptLowerPriority"})), &old),
            &[
                "value: Forbidden: may not be changed in an update.",
                "preemptionPolicy: Invalid value: \"PreemptLowerPriority\": field is immutable",
            ],
        );
    }

    #[test]
    fn a_runtime_class_has_a_handler_which_stays() {
        check(&runtime_class(&map(json!({"handler": "runc"}))), &[]);
        let text = runtime_class(&map(json!({"handler": "Run_c"}))).iter().map(ToString::to_string).collect::<String>();
        assert!(
            text.starts_with("handler: Invalid value: \"Run_c\": a lowercase RFC 1123 label must consist of"),
            "{text}"
        );
        let tolerations = json!([{"key": "a", "operator": "Sometimes"}]);
        check(
            &runtime_class(&map(json!({"handler": "runc", "scheduling": {"tolerations": tolerations}}))),
            &[
                "scheduling.tolerations[0].operator: Unsupported value: \"Sometimes\": supported values: \"Equal\", \"Exists\"",
            ],
        );
        check(
            &runtime_class_update(&map(json!({"handler": "a"})), &map(json!({"handler": "b"}))),
            &["handler: Invalid value: \"a\": field is immutable"],
        );
    }
}
