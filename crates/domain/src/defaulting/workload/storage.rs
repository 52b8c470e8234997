// SPDX-License-Identifier: Apache-2.0
//! Defaults of claims, volumes and their classes, and the finalizers that protect those in use.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go,
//! plugin/pkg/admission/storage/storageobjectinuseprotection.

use api::constants::finalizer;
use serde_json::{Map, Value, json};

use super::put;

/// Fills in missing fields; `None`: another kind.
pub(super) fn fill(group: &str, plural: &str, fields: &mut Map<String, Value>) -> Option<()> {
    let spec = |fields: &mut Map<String, Value>, fill: fn(&mut Map<String, Value>)| {
        fields.get_mut("spec").and_then(Value::as_object_mut).into_iter().for_each(fill);
    };
    match (group, plural) {
        ("", "persistentvolumeclaims") => spec(fields, claim),
        ("", "persistentvolumes") => spec(fields, |spec| {
            claim(spec);
            put(spec, "persistentVolumeReclaimPolicy", json!("Retain"));
        }),
        ("storage.k8s.io", "storageclasses") => {
            put(fields, "reclaimPolicy", json!("Delete"));
            put(fields, "volumeBindingMode", json!("Immediate"));
        }
        _ => return None,
    }
    Some(())
}

/// Fills in the missing fields of `spec` of a claim, which a volume has, too.
pub(super) fn claim(spec: &mut Map<String, Value>) {
    put(spec, "volumeMode", json!("Filesystem"));
}

/// Finalizer that protects a new object from its deletion while it is in use; `None`: the kind has none.
pub fn protection(group: &str, plural: &str) -> Option<&'static str> {
    match (group, plural) {
        ("", "persistentvolumeclaims") => Some(finalizer::CLAIM_PROTECTION),
        ("", "persistentvolumes") => Some(finalizer::VOLUME_PROTECTION),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_set_for_missing_fields_only() {
        for (group, plural, given, expected) in [
            ("", "persistentvolumeclaims", json!({"spec": {}}), json!({"spec": {"volumeMode": "Filesystem"}})),
            (
                "",
                "persistentvolumeclaims",
                json!({"spec": {"volumeMode": "Block"}}),
                json!({"spec": {"volumeMode": "Block"}}),
            ),
            ("", "persistentvolumeclaims", json!({}), json!({})),
            (
                "",
                "persistentvolumes",
                json!({"spec": {}}),
                json!({"spec": {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain"}}),
            ),
            (
                "storage.k8s.io",
                "storageclasses",
                json!({"reclaimPolicy": "Retain"}),
                json!({"reclaimPolicy": "Retain", "volumeBindingMode": "Immediate"}),
            ),
        ] {
            let mut fields = given.as_object().cloned().expect("an object");
            assert_eq!(fill(group, plural, &mut fields), Some(()));
            assert_eq!(Value::Object(fields), expected, "{plural}");
        }
        assert_eq!(fill("", "configmaps", &mut Map::new()), None);
    }

    #[test]
    fn claims_and_volumes_are_protected() {
        assert_eq!(protection("", "persistentvolumeclaims"), Some("kubernetes.io/pvc-protection"));
        assert_eq!(protection("", "persistentvolumes"), Some("kubernetes.io/pv-protection"));
        assert_eq!(protection("storage.k8s.io", "storageclasses"), None);
    }
}
