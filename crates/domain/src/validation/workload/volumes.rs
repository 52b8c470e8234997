// SPDX-License-Identifier: Apache-2.0
//! Validation of a pod's volumes: names, and one source each.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (ValidateVolumes).

use std::collections::BTreeSet;

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Quantity;
use serde_json::Value;

use super::tree::{items, number, one_of, set, text};
use crate::validation::{Errors, meta};

/// The sources, in the order of upstream's checks.
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

/// Sources and their required fields.
const REQUIRED: [(&str, &str); 7] = [
    ("hostPath", "path"),
    ("secret", "secretName"),
    ("nfs", "server"),
    ("nfs", "path"),
    ("persistentVolumeClaim", "claimName"),
    ("configMap", "name"),
    ("csi", "driver"),
];
/// Types of a `hostPath`; empty: not checked.
const HOST_PATHS: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
const NO_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const STEPS_BACK: &str = "must not contain '..'";

/// Adds violations of the volumes; returns the names of those that can be mounted.
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

/// Checks the source of a volume; a volume without a source is an empty directory.
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
        inner(errors, name, source, &path);
    }
}

/// Checks the further fields of a source.
fn inner(errors: &mut Errors, name: &str, source: &Value, path: &Path) {
    match name {
        "emptyDir" => {
            let limit =
                set(source, "sizeLimit").and_then(|limit| serde_json::from_value::<Quantity>(limit.clone()).ok());
            if limit.is_some_and(|limit| limit.sign() < 0) {
                let detail = "SizeLimit field must be a valid resource quantity";
                errors.push(FieldError::forbidden(&path.child("sizeLimit"), detail));
            }
        }
        "hostPath" => {
            let (place, at) = (text(source, "path"), path.child("path"));
            if place.split('/').any(|part| part == "..") {
                errors.push(FieldError::invalid(&at, place, STEPS_BACK));
            }
            one_of(errors, source, "type", &HOST_PATHS, path);
        }
        "nfs" => {
            let place = text(source, "path");
            if !place.is_empty() && !place.starts_with('/') {
                errors.push(FieldError::invalid(&path.child("path"), place, "must be an absolute path"));
            }
        }
        "secret" | "configMap" => {
            mode(errors, source, "defaultMode", path);
            let at = path.child("items");
            for (index, item) in items(source, "items").iter().enumerate() {
                key_to_path(errors, item, &at.index(index));
            }
        }
        _ => {}
    }
}

fn mode(errors: &mut Errors, of: &Value, field: &str, path: &Path) {
    if let Some(mode) = number(of, field).filter(|mode| !(0..=0o777).contains(mode)) {
        errors.push(FieldError::invalid(&path.child(field), mode, NO_MODE));
    }
}

/// Source: validateKeyToPath.
fn key_to_path(errors: &mut Errors, item: &Value, path: &Path) {
    for field in ["key", "path"] {
        if text(item, field).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    let (place, at) = (text(item, "path"), path.child("path"));
    if place.starts_with('/') {
        errors.push(FieldError::invalid(&at, place, "must be a relative path"));
    }
    if place.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(&at, place, STEPS_BACK));
    } else if place.starts_with("..") {
        errors.push(FieldError::invalid(&at, place, "must not start with '..'"));
    }
    mode(errors, item, "mode", path);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(source: Value, expected: &[&str]) {
        let mut volume = source.clone();
        volume["name"] = json!("v");
        let mut errors = Errors::new();
        volumes(&mut errors, &json!({"volumes": [volume]}), &Path::new("v"));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{source}");
    }

    #[test]
    fn a_source_says_where_its_contents_come_from() {
        for good in [
            json!({}),
            json!({"emptyDir": {"sizeLimit": "1Gi"}}),
            json!({"hostPath": {"path": "/a..b", "type": "Directory"}}),
            json!({"nfs": {"server": "s", "path": "/"}}),
            json!({"secret": {"secretName": "s", "defaultMode": 0o777, "items": [{"key": "k", "path": "a/b..c"}]}}),
        ] {
            check(good, &[]);
        }
        check(
            json!({"emptyDir": {"sizeLimit": "-1"}}),
            &["v[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
        );
        check(
            json!({"hostPath": {"path": "/a/../b", "type": "Some"}}),
            &[
                "v[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
                "v[0].hostPath.type: Unsupported value: \"Some\": supported values: \"\", \"BlockDevice\", \
                 \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
            ],
        );
        check(
            json!({"nfs": {"path": "a"}}),
            &["v[0].nfs.server: Required value", "v[0].nfs.path: Invalid value: \"a\": must be an absolute path"],
        );
        check(
            json!({"configMap": {"name": "m", "defaultMode": 512, "items": [
                {}, {"key": "k", "path": "/a"}, {"key": "k", "path": "a/.."}, {"key": "k", "path": "..a", "mode": -1},
            ]}}),
            &[
                "v[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both \
                 inclusive",
                "v[0].configMap.items[0].key: Required value",
                "v[0].configMap.items[0].path: Required value",
                "v[0].configMap.items[1].path: Invalid value: \"/a\": must be a relative path",
                "v[0].configMap.items[2].path: Invalid value: \"a/..\": must not contain '..'",
                "v[0].configMap.items[3].path: Invalid value: \"..a\": must not start with '..'",
                "v[0].configMap.items[3].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both \
                 inclusive",
            ],
        );
    }
}
