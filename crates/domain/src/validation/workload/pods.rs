// SPDX-License-Identifier: Apache-2.0
//! Validation of pods and pod templates.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (ValidatePodSpec).

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{dns_subdomain, is_same, items, number, one_of, set, text, texts};
use super::{containers, scheduling, volumes};
use crate::validation::{Errors, meta};

/// Returns all violations of a new pod's fields except metadata, in upstream's order.
pub fn pod(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (of_pod, path) = (fields.get("spec").unwrap_or(&Value::Null), Path::new("spec"));
    spec(&mut errors, of_pod, &path);
    if !items(of_pod, "ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden(&path.child("ephemeralContainers"), "cannot be set on create"));
    }
    errors
}

/// Returns all violations of an update of `pods/ephemeralcontainers`, in upstream's order. Unlike upstream's, messages do
/// not contain the differences.
///
/// Source: ValidatePodEphemeralContainersUpdate.
pub fn ephemeral_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (path, null) = (Path::new("spec"), Value::Null);
    let (new, old) = (fields.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    spec(&mut errors, new, &path);
    let path = path.child("ephemeralContainers");
    for before in items(old, "ephemeralContainers") {
        let name = text(before, "name");
        let quoted = apimachinery::go::quote(name);
        let found = items(new, "ephemeralContainers").iter().find(|container| text(container, "name") == name);
        let what = match found {
            Some(found) if is_same(Some(found), Some(before)) => continue,
            Some(_) => "changed",
            None => "removed",
        };
        let detail = format!("existing ephemeral containers {quoted} may not be {what}\n");
        errors.push(FieldError::forbidden(&path, &detail));
    }
    errors
}

const MAY_CHANGE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Returns all violations of a changed pod, in upstream's order. `binds`: true if the change may also assign the pod to a
/// node, as the scheduler does. Unlike upstream's, messages do not contain the differences.
///
/// Source: ValidatePodUpdate.
pub fn pod_update(fields: &Map<String, Value>, old: &Map<String, Value>, binds: bool) -> Errors {
    let mut errors = Errors::new();
    let (path, null) = (Path::new("spec"), Value::Null);
    let (new, old) = (fields.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    spec(&mut errors, new, &path);
    for list in ["containers", "initContainers"] {
        if items(new, list).len() != items(old, list).len() {
            errors.push(FieldError::forbidden(&path.child(list), "pod updates may not add or remove containers"));
            return errors;
        }
    }
    let (deadline, before) = (number(new, "activeDeadlineSeconds"), number(old, "activeDeadlineSeconds"));
    if let Some(before) = before {
        let at = path.child("activeDeadlineSeconds");
        match deadline {
            Some(deadline) if deadline > before => {
                let detail = "must be less than or equal to previous value";
                errors.push(FieldError::invalid(&at, deadline, detail));
            }
            None => errors.push(FieldError::invalid(
                &at,
                Value::Null,
                "must not update from a positive integer to nil value",
            )),
            Some(_) => {}
        }
    }
    let without_seconds = |toleration: &Value| {
        let mut fields = toleration.as_object().cloned().unwrap_or_default();
        fields.remove("tolerationSeconds");
        Value::Object(fields)
    };
    let tolerations = items(new, "tolerations");
    for toleration in items(old, "tolerations") {
        let kept = |other: &Value| is_same(Some(&without_seconds(other)), Some(&without_seconds(toleration)));
        if !tolerations.iter().any(kept) {
            let detail = "existing toleration can not be modified except its tolerationSeconds";
            errors.push(FieldError::forbidden(&path.child("tolerations"), detail));
        }
    }
    let fixed = |spec: &Value| {
        let mut spec = spec.as_object().cloned().unwrap_or_default();
        for field in ["activeDeadlineSeconds", "tolerations"] {
            spec.remove(field);
        }
        if binds && text(old, "nodeName").is_empty() {
            spec.remove("nodeName");
        }
        if number(old, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
            spec.remove("terminationGracePeriodSeconds");
        }
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Value::Object(container) = container {
                    container.remove("image");
                }
            }
        }
        Value::Object(spec)
    };
    if !is_same(Some(&fixed(new)), Some(&fixed(old))) {
        errors.push(FieldError::forbidden(&path, MAY_CHANGE));
    }
    errors
}

/// Checks a pod template.
pub(super) fn template(errors: &mut Errors, template: &Value, path: &Path) {
    template_metadata(errors, template, path);
    let of_pod = template.get("spec").unwrap_or(&Value::Null);
    spec(errors, of_pod, &path.child("spec"));
    if !items(of_pod, "ephemeralContainers").is_empty() {
        let path = path.child("spec").child("ephemeralContainers");
        errors.push(FieldError::forbidden(&path, "ephemeral containers not allowed in pod template"));
    }
}

/// Checks labels and annotations of a template; upstream's paths omit `metadata`.
pub(super) fn template_metadata(errors: &mut Errors, template: &Value, path: &Path) {
    let metadata = template.get("metadata").unwrap_or(&Value::Null);
    meta::labels(errors, &texts(metadata, "labels"), &path.child("labels"));
    meta::annotations(errors, &texts(metadata, "annotations"), &path.child("annotations"));
}

fn spec(errors: &mut Errors, spec: &Value, path: &Path) {
    let volumes = volumes::volumes(errors, spec, &path.child("volumes"));
    containers::containers(errors, spec, &volumes, path);
    containers::ephemeral(errors, spec, &volumes, path);
    one_of(errors, spec, "restartPolicy", &["Always", "OnFailure", "Never"], path);
    one_of(errors, spec, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], path);
    if let Some(seconds) = number(spec, "terminationGracePeriodSeconds") {
        meta::non_negative(errors, seconds, &path.child("terminationGracePeriodSeconds"));
    }
    meta::labels(errors, &texts(spec, "nodeSelector"), &path.child("nodeSelector"));
    scheduling::numbers(errors, spec, path);
    dns_subdomain(errors, spec, "serviceAccountName", path);
    dns_subdomain(errors, spec, "nodeName", path);
    if let Some(seconds) = number(spec, "activeDeadlineSeconds").filter(|it| !(1..=i64::from(i32::MAX)).contains(it)) {
        let detail = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(&path.child("activeDeadlineSeconds"), seconds, detail));
    }
    tolerations(errors, spec, path);
    dns_subdomain(errors, spec, "priorityClassName", path);
    dns_subdomain(errors, spec, "runtimeClassName", path);
}

/// Checks the tolerations of a pod or of a RuntimeClass.
pub(super) fn tolerations(errors: &mut Errors, of: &Value, path: &Path) {
    for (index, toleration) in items(of, "tolerations").iter().enumerate() {
        tolerates(errors, toleration, &path.child("tolerations").index(index));
    }
}

/// Source: ValidateTolerations.
fn tolerates(errors: &mut Errors, toleration: &Value, path: &Path) {
    let (key, operator, effect) = (text(toleration, "key"), text(toleration, "operator"), text(toleration, "effect"));
    if !key.is_empty() {
        meta::invalid_each(errors, &path.child("key"), key, meta::qualified_name(key));
    }
    let exists = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
    if key.is_empty() && operator != "Exists" {
        errors.push(FieldError::invalid(&path.child("operator"), operator, exists));
    }
    if set(toleration, "tolerationSeconds").is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(FieldError::invalid(&path.child("effect"), effect, detail));
    }
    let value = text(toleration, "value");
    match operator {
        "Equal" | "" => meta::invalid_each(errors, &path.child("operator"), value, meta::label_value(value)),
        "Exists" => {
            if !value.is_empty() {
                // The field is the one of upstream's message.
                let detail = "value must be empty when `operator` is 'Exists'";
                let operator = path.child("operator");
                errors.push(super::go::invalid(&operator, &toleration_value(toleration), detail));
            }
        }
        _ => errors.push(FieldError::not_supported(&path.child("operator"), operator, &["Equal", "Exists"])),
    }
    one_of(errors, toleration, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], path);
}

/// Formats a toleration; upstream prints the memory address of the seconds, which `…` replaces.
fn toleration_value(toleration: &Value) -> String {
    let field = |name: &str| apimachinery::go::quote(text(toleration, name));
    let seconds = if set(toleration, "tolerationSeconds").is_some() { "(*int64)(…)" } else { "(*int64)(nil)" };
    format!(
        "core.Toleration{{Key:{}, Operator:{}, Value:{}, Effect:{}, TolerationSeconds:{seconds}}}",
        field("key"),
        field("operator"),
        field("value"),
        field("effect"),
    )
}
