// SPDX-License-Identifier: Apache-2.0
//! Pods and templates of pods.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (ValidatePodSpec).

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{dns_label, dns_subdomain, items, number, one_of, set, text, texts};
use super::{containers, volumes};
use crate::validation::{Errors, meta};

/// All violations of a new pod's fields but metadata, in upstream's order.
pub fn pod(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    spec(&mut errors, fields.get("spec").unwrap_or(&Value::Null), &Path::new("spec"));
    errors
}

/// A template of pods.
pub(super) fn template(errors: &mut Errors, template: &Value, path: &Path) {
    template_metadata(errors, template, path);
    let of_pod = template.get("spec").unwrap_or(&Value::Null);
    spec(errors, of_pod, &path.child("spec"));
    if !items(of_pod, "ephemeralContainers").is_empty() {
        let path = path.child("spec").child("ephemeralContainers");
        errors.push(FieldError::forbidden(&path, "ephemeral containers not allowed in pod template"));
    }
}

/// Labels and annotations of a template; upstream's paths leave `metadata` out.
pub(super) fn template_metadata(errors: &mut Errors, template: &Value, path: &Path) {
    let metadata = template.get("metadata").unwrap_or(&Value::Null);
    meta::labels(errors, &texts(metadata, "labels"), &path.child("labels"));
    meta::annotations(errors, &texts(metadata, "annotations"), &path.child("annotations"));
}

fn spec(errors: &mut Errors, spec: &Value, path: &Path) {
    let volumes = volumes::volumes(errors, spec, &path.child("volumes"));
    containers::containers(errors, spec, &volumes, path);
    one_of(errors, spec, "restartPolicy", &["Always", "OnFailure", "Never"], path);
    one_of(errors, spec, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], path);
    if let Some(seconds) = number(spec, "terminationGracePeriodSeconds") {
        meta::non_negative(errors, seconds, &path.child("terminationGracePeriodSeconds"));
    }
    meta::labels(errors, &texts(spec, "nodeSelector"), &path.child("nodeSelector"));
    for (index, secret) in items(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            // Upstream names the whole entry; it is warned of and taken since it does no harm.
            continue;
        }
        dns_subdomain(errors, secret, "name", &path.child("imagePullSecrets").index(index));
    }
    dns_subdomain(errors, spec, "serviceAccountName", path);
    dns_subdomain(errors, spec, "nodeName", path);
    if let Some(seconds) = number(spec, "activeDeadlineSeconds").filter(|it| !(1..=i64::from(i32::MAX)).contains(it)) {
        let detail = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(&path.child("activeDeadlineSeconds"), seconds, detail));
    }
    dns_label(errors, spec, "hostname", path);
    dns_label(errors, spec, "subdomain", path);
    for (index, toleration) in items(spec, "tolerations").iter().enumerate() {
        tolerates(errors, toleration, &path.child("tolerations").index(index));
    }
    dns_subdomain(errors, spec, "priorityClassName", path);
    dns_subdomain(errors, spec, "runtimeClassName", path);
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
                // The field is upstream's.
                let detail = "value must be empty when `operator` is 'Exists'";
                let operator = path.child("operator");
                errors.push(super::go::invalid(&operator, &toleration_value(toleration), detail));
            }
        }
        _ => errors.push(FieldError::not_supported(&path.child("operator"), operator, &["Equal", "Exists"])),
    }
    one_of(errors, toleration, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], path);
}

/// Upstream prints where the seconds lie in memory: `…` stands for them.
fn toleration_value(toleration: &Value) -> String {
    let field = |name: &str| apimachinery::status::quote(text(toleration, name));
    let seconds = if set(toleration, "tolerationSeconds").is_some() { "(*int64)(…)" } else { "(*int64)(nil)" };
    format!(
        "core.Toleration{{Key:{}, Operator:{}, Value:{}, Effect:{}, TolerationSeconds:{seconds}}}",
        field("key"),
        field("operator"),
        field("value"),
        field("effect"),
    )
}
