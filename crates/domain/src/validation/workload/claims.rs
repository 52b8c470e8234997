// SPDX-License-Identifier: Apache-2.0
//! Validation of PersistentVolumeClaims.
//!
//! Deliberately absent: data sources, classes of attributes.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaim,
//! ValidatePersistentVolumeClaimUpdate) @ v1.31.

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Quantity;
use serde_json::{Map, Value};

use super::tree::{is_same, items, label_selector, one_of, set, text};
use crate::validation::{Errors, meta};

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// Access mode that excludes all others.
const EXCLUSIVE: &str = "ReadWriteOncePod";
const IMMUTABLE: &str =
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/// Returns all violations of a new claim, in upstream's order.
pub fn claim(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let null = Value::Null;
    spec(&mut errors, fields.get("spec").unwrap_or(&null), &Path::new("spec"));
    errors
}

fn spec(errors: &mut Errors, spec: &Value, path: &Path) {
    let at = path.child("accessModes");
    let modes = items(spec, "accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&at, "at least 1 access mode is required"));
    }
    if let Some(selector) = set(spec, "selector") {
        label_selector(errors, selector, &path.child("selector"));
    }
    for mode in modes.iter().map(|mode| mode.as_str().unwrap_or_default()).filter(|mode| !MODES.contains(mode)) {
        errors.push(FieldError::not_supported(&at, mode, &MODES));
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode == EXCLUSIVE) {
        errors.push(FieldError::forbidden(&at, "may not use ReadWriteOncePod with other access modes"));
    }
    let at = path.child("resources").child("requests").key("storage");
    let at_required = path.child("resources").key("storage");
    match set(&spec["resources"]["requests"], "storage") {
        None => errors.push(FieldError::required(&at_required, "")),
        Some(amount) => {
            if let Ok(amount) = serde_json::from_value::<Quantity>(amount.clone())
                && amount.sign() <= 0
            {
                errors.push(FieldError::invalid(&at, amount.to_string(), "must be greater than zero"));
            }
        }
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        meta::invalid_each(errors, &path.child("storageClassName"), class, meta::dns_subdomain(class));
    }
    one_of(errors, spec, "volumeMode", &["Block", "Filesystem"], path);
}

/// Returns all violations of a changed claim: an existing claim may be bound, and its storage request may grow. Unlike
/// upstream's, messages do not contain the differences.
pub fn claim_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = claim(fields);
    let (path, null) = (Path::new("spec"), Value::Null);
    let (spec, before) = (fields.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    let is_bound = old.get("status").is_some_and(|status| text(status, "phase") == "Bound");
    let fixed = |spec: &Value| {
        let mut spec = spec.as_object().cloned().unwrap_or_default();
        if text(before, "volumeName").is_empty() {
            spec.remove("volumeName");
        }
        if set(before, "storageClassName").is_none() {
            spec.remove("storageClassName");
        }
        if is_bound {
            spec.remove("volumeAttributesClassName");
            if let Some(Value::Object(resources)) = spec.get_mut("resources") {
                resources.remove("requests");
            }
        }
        Value::Object(spec)
    };
    if !is_same(Some(&fixed(spec)), Some(&fixed(before))) {
        errors.push(FieldError::forbidden(&path, IMMUTABLE));
    }
    let asked =
        |spec: &Value| serde_json::from_value::<Quantity>(spec["resources"]["requests"]["storage"].clone()).ok();
    if asked(spec).zip(asked(before)).is_some_and(|(new, old)| new < old) {
        let at = path.child("resources").child("requests").child("storage");
        errors.push(FieldError::forbidden(&at, "field can not be less than previous value"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(size: &str, more: &Value, phase: &str) -> Map<String, Value> {
        let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
        for (field, value) in more.as_object().expect("fields") {
            spec[field] = value.clone();
        }
        Map::from_iter([("spec".to_owned(), spec), ("status".to_owned(), json!({"phase": phase}))])
    }

    #[track_caller]
    fn check(found: &Errors, expected: &[&str]) {
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn accepts_and_rejects_what_upstream_does() {
        let none = json!({});
        check(&claim(&of("1Gi", &none, "")), &[]);
        check(
            &claim(&Map::new()),
            &[
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        );
        check(
            &claim(&of("0", &json!({"accessModes": ["Some"], "volumeMode": "Tape"}), "")),
            &[
                "spec.accessModes: Unsupported value: \"Some\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \
             \"ReadWriteOnce\", \"ReadWriteOncePod\"",
                "spec.resources.requests[storage]: Invalid value: \"0\": must be greater than zero",
                "spec.volumeMode: Unsupported value: \"Tape\": supported values: \"Block\", \"Filesystem\"",
            ],
        );
        check(
            &claim(&of("1Gi", &json!({"accessModes": ["ReadWriteOncePod", "ReadWriteMany"]}), "")),
            &["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        );
        for spec in [json!(1), json!({"accessModes": 1, "resources": [], "selector": 3})] {
            claim(&Map::from_iter([("spec".to_owned(), spec)]));
        }
    }

    #[test]
    fn a_claim_is_bound_once_and_only_grows() {
        let (none, bound) = (json!({}), json!({"volumeName": "pv"}));
        check(&claim_update(&of("1Gi", &bound, ""), &of("1Gi", &none, "Pending")), &[]);
        let immutable = format!("spec: Forbidden: {IMMUTABLE}");
        check(
            &claim_update(&of("1Gi", &json!({"volumeName": "other"}), ""), &of("1Gi", &bound, "Bound")),
            &[&immutable],
        );
        check(&claim_update(&of("2Gi", &none, ""), &of("1Gi", &none, "Pending")), &[&immutable]);
        check(&claim_update(&of("2Gi", &bound, ""), &of("1Gi", &bound, "Bound")), &[]);
        check(
            &claim_update(&of("1Gi", &bound, ""), &of("2Gi", &bound, "Bound")),
            &["spec.resources.requests.storage: Forbidden: field can not be less than previous value"],
        );
    }
}
