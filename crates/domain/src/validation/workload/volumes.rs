// SPDX-License-Identifier: Apache-2.0
//! Validation of a pod's volumes: their names, and the names of the objects that they mount.
//!
//! Deliberately absent: all other rules of sources, also that a volume has only one.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (ValidateVolumes).

use std::collections::BTreeSet;

use apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::tree::{items, set, text};
use crate::validation::{Errors, meta};

/// Sources of volumes, and for each the field that names the mounted object.
const REQUIRED: [(&str, &str); 3] =
    [("secret", "secretName"), ("persistentVolumeClaim", "claimName"), ("configMap", "name")];

/// Adds violations of the volumes; returns the names of those that can be mounted.
pub(super) fn volumes<'a>(errors: &mut Errors, spec: &'a Value, path: &Path) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in items(spec, "volumes").iter().enumerate() {
        let path = path.index(index);
        for (source, field) in REQUIRED {
            if set(volume, source).is_some_and(|source| text(source, field).is_empty()) {
                errors.push(FieldError::required(&path.child(source).child(field), ""));
            }
        }
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
