// SPDX-License-Identifier: Apache-2.0
//! Claims, volumes and their classes.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go @ v1.32.

use apimachinery::catalogue::Cell::Function;
use apimachinery::catalogue::{Column, ResourceInfo};
use serde_json::{Value, json};

use super::{PRINTED_AGE as AGE, bare, cells, column, path, wide};
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
    column("Capacity", Function(|claim| of_volume(claim, cells::text(claim, "/status/capacity/storage", "0")))),
    column("Access Modes", Function(|claim| of_volume(claim, modes(&claim["status"]["accessModes"])))),
    column("StorageClass", Function(class)),
    ATTRIBUTES,
    AGE,
    MODE,
];

const VOLUME: &[Column] = &[
    column("Capacity", Function(|volume| cells::text(volume, "/spec/capacity/storage", "0"))),
    column("Access Modes", Function(|volume| modes(&volume["spec"]["accessModes"]))),
    path("Reclaim Policy", ".spec.persistentVolumeReclaimPolicy"),
    column("Status", Function(phase)),
    column("Claim", Function(claim)),
    column("StorageClass", Function(class)),
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

/// Class of a claim or volume: of the beta annotation if present, else of the field.
fn class(object: &Value) -> Value {
    match object["metadata"]["annotations"][annotation::BETA_STORAGE_CLASS].as_str() {
        Some(class) => json!(class),
        None => cells::text(object, "/spec/storageClassName", ""),
    }
}

/// A value that depends on a claim's volume; empty as long as the claim has none.
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
    let annotations = &class["metadata"]["annotations"];
    let is_default = [annotation::DEFAULT_STORAGE_CLASS, annotation::BETA_DEFAULT_STORAGE_CLASS]
        .iter()
        .any(|name| annotations[*name] == "true");
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
    fn volumes_show_their_claim_and_classes_the_default() {
        assert_eq!(claim(&json!({"spec": {}})), "");
        assert_eq!(claim(&json!({"spec": {"claimRef": {"namespace": "n", "name": "c"}}})), "n/c");
        let mut class = json!({"metadata": {"name": "x"}});
        assert_eq!(class_name(&class), "x");
        class["metadata"]["annotations"] = json!({"storageclass.kubernetes.io/is-default-class": "true"});
        assert_eq!(class_name(&class), "x (default)");
        class["metadata"]["annotations"] = json!({"storageclass.beta.kubernetes.io/is-default-class": "true"});
        assert_eq!(class_name(&class), "x (default)");
    }

    #[test]
    fn the_beta_annotation_of_a_class_takes_precedence() {
        let mut claim = json!({"metadata": {}, "spec": {}});
        assert_eq!(super::class(&claim), "");
        claim["spec"]["storageClassName"] = json!("new");
        assert_eq!(super::class(&claim), "new");
        claim["metadata"]["annotations"] = json!({"volume.beta.kubernetes.io/storage-class": "old"});
        assert_eq!(super::class(&claim), "old");
    }
}
