// SPDX-License-Identifier: Apache-2.0
//! Validation of a container's environment variables: names, and one source each.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (ValidateEnv, ValidateEnvFrom).

use apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::tree::{items, set, text};
use crate::validation::{Errors, meta};

const SOURCES: [&str; 4] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"];
/// Fields of its pod to which a variable can refer.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Other fields with a name, to which a variable cannot refer.
const OTHER_FIELDS: [&str; 6] = [
    "metadata.annotations",
    "metadata.labels",
    "spec.host",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const TOO_MANY: &str = "may not have more than one field specified at a time";

/// Adds violations of `env` and `envFrom`.
pub(super) fn variables(errors: &mut Errors, container: &Value, path: &Path) {
    let at = path.child("env");
    for (index, variable) in items(container, "env").iter().enumerate() {
        let path = at.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else if name.contains('=') {
            let detail = "environment variable name must not contain '='";
            errors.push(FieldError::invalid(&path.child("name"), name, detail));
        }
        if let Some(from) = set(variable, "valueFrom") {
            source(errors, from, text(variable, "value"), &path.child("valueFrom"));
        }
    }
    let at = path.child("envFrom");
    for (index, from) in items(container, "envFrom").iter().enumerate() {
        all_of(errors, from, &at.index(index));
    }
}

fn source(errors: &mut Errors, from: &Value, value: &str, path: &Path) {
    let mut sources = 0;
    for name in SOURCES {
        let Some(source) = set(from, name) else { continue };
        sources += 1;
        let path = path.child(name);
        match name {
            "fieldRef" => field(errors, text(source, "fieldPath"), &path.child("fieldPath")),
            "resourceFieldRef" => resource(errors, text(source, "resource"), &path.child("resource")),
            _ => key(errors, text(source, "key"), &path.child("key")),
        }
    }
    if sources == 0 {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
        errors.push(FieldError::invalid(path, "", detail));
    }
    if !value.is_empty() {
        if sources != 0 {
            errors.push(FieldError::invalid(path, "", "may not be specified when `value` is not empty"));
        }
    } else if sources > 1 {
        errors.push(FieldError::invalid(path, "", TOO_MANY));
    }
}

/// Source: validateObjectFieldSelector.
fn field(errors: &mut Errors, field: &str, path: &Path) {
    let of_map = field.strip_suffix("']").and_then(|rest| rest.split_once("['"));
    if field.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if let Some((map @ ("metadata.annotations" | "metadata.labels"), key)) = of_map {
        // Upstream compares keys of annotations in lower case.
        let small = key.to_lowercase();
        let key = if map == "metadata.annotations" { &small } else { key };
        meta::invalid_each(errors, path, key, meta::qualified_name(key));
    } else if OTHER_FIELDS.contains(&field) {
        errors.push(FieldError::not_supported(path, field, &FIELDS));
    } else if !FIELDS.contains(&field) {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        errors.push(FieldError::invalid(path, field, &detail));
    }
}

/// Source: validateContainerResourceFieldSelector.
fn resource(errors: &mut Errors, resource: &str, path: &Path) {
    let of_pages = ["limits.hugepages-", "requests.hugepages-"].iter().any(|start| resource.starts_with(start));
    if resource.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !of_pages && !RESOURCES.contains(&resource) {
        errors.push(FieldError::not_supported(path, resource, &RESOURCES));
    }
}

/// Source: validateConfigMapKeySelector, validateSecretKeySelector.
fn key(errors: &mut Errors, key: &str, path: &Path) {
    if key.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else {
        meta::invalid_each(errors, path, key, meta::config_map_key(key));
    }
}

fn all_of(errors: &mut Errors, from: &Value, path: &Path) {
    let mut sources = 0;
    for name in ["configMapRef", "secretRef"] {
        let Some(source) = set(from, name) else { continue };
        sources += 1;
        if text(source, "name").is_empty() {
            errors.push(FieldError::required(&path.child(name).child("name"), ""));
        }
    }
    match sources {
        0 => errors.push(FieldError::invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")),
        1 => {}
        _ => errors.push(FieldError::invalid(path, "", TOO_MANY)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(container: Value, expected: &[&str]) {
        let mut errors = Errors::new();
        variables(&mut errors, &container, &Path::new("c"));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{container}");
    }

    #[test]
    fn a_variable_has_a_value_or_one_source() {
        check(json!({"env": [{"name": "A", "value": "a"}, {"name": "B"}]}), &[]);
        check(
            json!({"env": [{}, {"name": "A=B"}, {"name": "A", "valueFrom": {}}]}),
            &[
                "c.env[0].name: Required value",
                "c.env[1].name: Invalid value: \"A=B\": environment variable name must not contain '='",
                "c.env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, \
                 `configMapKeyRef` or `secretKeyRef`",
            ],
        );
        let of_map = json!({"configMapKeyRef": {"name": "m", "key": "k"}});
        check(
            json!({"env": [{"name": "A", "value": "a", "valueFrom": of_map}]}),
            &["c.env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"],
        );
        let two = json!({"configMapKeyRef": {"key": "k"}, "secretKeyRef": {"key": ""}});
        check(
            json!({"env": [{"name": "A", "valueFrom": two}]}),
            &[
                "c.env[0].valueFrom.secretKeyRef.key: Required value",
                "c.env[0].valueFrom: Invalid value: \"\": may not have more than one field specified at a time",
            ],
        );
    }

    #[test]
    fn a_variable_shows_a_field_of_its_pod_or_an_amount() {
        let field = |path: &str| json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]});
        for path in ["metadata.name", "status.podIPs", "metadata.labels['app']", "metadata.annotations['A.b/C']"] {
            check(field(path), &[]);
        }
        let at = "c.env[0].valueFrom.fieldRef.fieldPath";
        check(field(""), &[&format!("{at}: Required value")]);
        check(
            field("status.phase"),
            &[&format!(
                "{at}: Unsupported value: \"status.phase\": supported values: \"metadata.name\", \"metadata.namespace\", \
                 \"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \
                 \"status.podIP\", \"status.podIPs\""
            )],
        );
        check(
            field("spec.x"),
            &[&format!(
                "{at}: Invalid value: \"spec.x\": error converting fieldPath: field label not supported: spec.x"
            )],
        );
        let amount = |of: &str| json!({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": of}}}]});
        check(amount("limits.hugepages-2Mi"), &[]);
        check(amount("requests.cpu"), &[]);
        check(
            amount("cpu"),
            &[
                "c.env[0].valueFrom.resourceFieldRef.resource: Unsupported value: \"cpu\": supported values: \"limits.cpu\", \
               \"limits.ephemeral-storage\", \"limits.memory\", \"requests.cpu\", \"requests.ephemeral-storage\", \
               \"requests.memory\"",
            ],
        );
    }

    #[test]
    fn all_keys_of_a_map_come_from_one_object() {
        check(json!({"envFrom": [{"configMapRef": {"name": "m"}}, {"prefix": "P", "secretRef": {"name": "s"}}]}), &[]);
        check(
            json!({"envFrom": [{}, {"secretRef": {}}]}),
            &[
                "c.envFrom[0]: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
                "c.envFrom[1].secretRef.name: Required value",
            ],
        );
    }
}
