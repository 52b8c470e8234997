// SPDX-License-Identifier: Apache-2.0
//! Volumes of a pod: names, and one source each.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (ValidateVolumes).

use std::collections::BTreeSet;

use apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::tree::{items, set, text};
use crate::validation::{Errors, meta};

/// The sources, in the order in which upstream looks at them.
const SOURCES: [&str; 29] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "azureFile",
    "configMap",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "scaleIO",
    "projected",
    "csi",
    "ephemeral",
    "image",
];

/// What a source cannot be without.
const REQUIRED: [(&str, &str); 5] = [
    ("hostPath", "path"),
    ("secret", "secretName"),
    ("configMap", "name"),
    ("persistentVolumeClaim", "claimName"),
    ("csi", "driver"),
];

/// Violations of the volumes; the names of those that can be mounted.
pub(super) fn volumes<'a>(errors: &mut Errors, spec: &'a Value, path: &Path) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in items(spec, "volumes").iter().enumerate() {
        let path = path.index(index);
        source(errors, volume, &path);
        let name = text(volume, "name");
        let at = path.child("name");
        let wrong = meta::dns_label(name);
        if name.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if !wrong.is_empty() {
            meta::invalid_each(errors, &at, name, wrong);
        } else if !names.insert(name) {
            errors.push(FieldError::duplicate(&at, name));
        }
    }
    names
}

/// A volume without a source is an empty directory.
fn source(errors: &mut Errors, volume: &Value, path: &Path) {
    let mut found = 0;
    for name in SOURCES {
        let Some(source) = set(volume, name) else { continue };
        found += 1;
        let path = path.child(name);
        if found > 1 {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 volume type"));
            continue;
        }
        let required = REQUIRED.iter().filter(|(of, _)| *of == name);
        for (_, field) in required.filter(|(_, field)| text(source, field).is_empty()) {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
}
