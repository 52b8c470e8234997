// SPDX-License-Identifier: Apache-2.0
//! Claims, volumes and their classes.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go @ v1.32.

use apimachinery::catalogue::Cell::Function;
use apimachinery::catalogue::{Column, ResourceInfo};
use serde_json::{Value, json};

use super::{AGE, bare, cells, column, path, wide};
use crate::constants::annotation;
use crate::kubernetes::tables;

const STATUS: &[&str] = &["status"];

const ATTRIBUTES: Column = column(
    "VolumeAttributesClass",
    Function(|object| cells::text(object, "/spec/volumeAttributesClassName", "<unset>")),
);
const MODE: Column = wide("VolumeMode", Function(|object| cells::text(object, "/spec/volumeMode", "<unset>")));

const CLAIM: &[Column] = &[
    column("Status", Function(phase)),
    path("Volume", ".spec.volumeName"),
    column("Capacity", Function(|claim| of_volume(claim, json!(claim["status"]["capacity"]["storage"])))),
    column("Access Modes", Function(|claim| of_volume(claim, modes(&claim["status"]["accessModes"])))),
    path("StorageClass", ".spec.storageClassName"),
    ATTRIBUTES,
    AGE,
    MODE,
];

const VOLUME: &[Column] = &[
    path("Capacity", ".spec.capacity.storage"),
    column("Access Modes", Function(|volume| modes(&volume["spec"]["accessModes"]))),
    path("Reclaim Policy", ".spec.persistentVolumeReclaimPolicy"),
    column("Status", Function(phase)),
    column("Claim", Function(claim)),
    path("StorageClass", ".spec.storageClassName"),
    ATTRIBUTES,
    path("Reason", ".status.reason"),
    AGE,
    MODE,
];

const CLASS: &[Column] = &[
    column("Name", Function(class_name)),
    path("Provisioner", ".provisioner"),
    column("ReclaimPolicy", Function(|class| cells::text(class, "/reclaimPolicy", "Delete"))),
    column("VolumeBindingMode", Function(|class| cells::text(class, "/volumeBindingMode", "Immediate"))),
    column("AllowVolumeExpansion", Function(|class| json!(class["allowVolumeExpansion"] == true))),
    AGE,
];

fn phase(object: &Value) -> Value {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return json!("Terminating");
    }
    cells::text(object, "/status/phase", "")
}

/// What is known of a claim's volume; nothing while it has none.
fn of_volume(claim: &Value, value: Value) -> Value {
    let has_volume = claim["spec"]["volumeName"].as_str().is_some_and(|name| !name.is_empty());
    if has_volume && !value.is_null() { value } else { json!("") }
}

/// Access modes as abbreviations.
fn modes(list: &Value) -> Value {
    let short = |mode: &Value| {
        Some(match mode.as_str()? {
            "ReadWriteOnce" => "RWO",
            "ReadOnlyMany" => "ROX",
            "ReadWriteMany" => "RWX",
            "ReadWriteOncePod" => "RWOP",
            _ => return None,
        })
    };
    let found: Vec<&str> = list.as_array().into_iter().flatten().filter_map(short).collect();
    json!(found.join(","))
}

/// `NAMESPACE/NAME` of a volume's claim.
fn claim(volume: &Value) -> Value {
    let reference = &volume["spec"]["claimRef"];
    if reference.is_object() { cells::namespaced_name(reference) } else { json!("") }
}

fn class_name(class: &Value) -> Value {
    let name = class["metadata"]["name"].as_str().unwrap_or_default();
    let is_default = class["metadata"]["annotations"][annotation::DEFAULT_STORAGE_CLASS] == "true";
    json!(if is_default { format!("{name} (default)") } else { name.to_owned() })
}

pub(super) fn rows() -> Vec<ResourceInfo> {
    vec![
        ResourceInfo {
            subresources: STATUS,
            ..bare("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true, &["pvc"], CLAIM, || {
                tables::node("core", "PersistentVolumeClaim").expect("the table has the kind")
            })
        },
        ResourceInfo {
            subresources: STATUS,
            ..bare("", "v1", "PersistentVolume", "persistentvolumes", false, &["pv"], VOLUME, || {
                tables::node("core", "PersistentVolume").expect("the table has the kind")
            })
        },
        bare("storage.k8s.io", "v1", "StorageClass", "storageclasses", false, &["sc"], CLASS, || {
            tables::node("storage", "StorageClass").expect("the table has the kind")
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_shows_its_volume_when_it_has_one() {
        let mut object = json!({
            "spec": {},
            "status": {"phase": "Pending", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]},
        });
        let shown = |object: &Value| {
            [
                phase(object),
                of_volume(object, object["status"]["capacity"]["storage"].clone()),
                of_volume(object, modes(&object["status"]["accessModes"])),
            ]
        };
        assert_eq!(shown(&object), ["Pending", "", ""]);
        object["spec"]["volumeName"] = json!("v");
        object["metadata"]["deletionTimestamp"] = json!("x");
        assert_eq!(shown(&object), ["Terminating", "1Gi", "RWO,ROX"]);
    }

    #[test]
    fn a_volume_names_its_claim_and_a_class_says_that_it_is_the_default() {
        assert_eq!(claim(&json!({"spec": {}})), "");
        assert_eq!(claim(&json!({"spec": {"claimRef": {"namespace": "n", "name": "c"}}})), "n/c");
        let mut class = json!({"metadata": {"name": "x"}});
        assert_eq!(class_name(&class), "x");
        class["metadata"]["annotations"] = json!({"storageclass.kubernetes.io/is-default-class": "true"});
        assert_eq!(class_name(&class), "x (default)");
    }
}
