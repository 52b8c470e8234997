// SPDX-License-Identifier: Apache-2.0
//! Defaults of claims, volumes and their classes, and the finalizers that protect those in use.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go,
//! plugin/pkg/admission/storage/storageobjectinuseprotection.

use api::constants::finalizer;
use serde_json::{Map, Value, json};

use domain::defaulting::workload::put;

/// Sets the defaults of an object.
pub(crate) fn fill(plural: &str, fields: &mut Map<String, Value>) {
    if plural == "storageclasses" {
        put(fields, "reclaimPolicy", json!("Delete"));
        put(fields, "volumeBindingMode", json!("Immediate"));
        return;
    }
    let Some(Value::Object(spec)) = fields.get_mut("spec") else { return };
    put(spec, "volumeMode", json!("Filesystem"));
    if plural == "persistentvolumes" {
        put(spec, "persistentVolumeReclaimPolicy", json!("Retain"));
    }
}

/// Protection finalizer of a new object.
pub(crate) fn protection(plural: &str) -> Option<&'static str> {
    match plural {
        "persistentvolumeclaims" => Some(finalizer::CLAIM_PROTECTION),
        "persistentvolumes" => Some(finalizer::VOLUME_PROTECTION),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_set_for_missing_fields_only() {
        for (plural, given, expected) in [
            ("persistentvolumeclaims", json!({"spec": {}}), json!({"spec": {"volumeMode": "Filesystem"}})),
            (
                "persistentvolumeclaims",
                json!({"spec": {"volumeMode": "Block"}}),
                json!({"spec": {"volumeMode": "Block"}}),
            ),
            (
                "persistentvolumes",
                json!({"spec": {}}),
                json!({"spec": {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain"}}),
            ),
            (
                "storageclasses",
                json!({"reclaimPolicy": "Retain"}),
                json!({"reclaimPolicy": "Retain", "volumeBindingMode": "Immediate"}),
            ),
        ] {
            let mut fields = given.as_object().cloned().expect("an object");
            fill(plural, &mut fields);
            assert_eq!(Value::Object(fields), expected, "{plural}");
        }
        assert_eq!(protection("persistentvolumeclaims"), Some("kubernetes.io/pvc-protection"));
        assert_eq!(protection("persistentvolumes"), Some("kubernetes.io/pv-protection"));
        assert_eq!(protection("storageclasses"), None);
    }
}
