// SPDX-License-Identifier: Apache-2.0
//! Validation of StorageClasses.
//!
//! Source: k8s.io/kubernetes pkg/apis/storage/validation/validation.go (ValidateStorageClass, ValidateStorageClassUpdate)
//! @ v1.31.

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{is_same, items, text, texts};
use crate::validation::{Errors, meta};

const MOST_PARAMETERS: usize = 512;
const MOST_BYTES: usize = 256 * 1024;
const MODES: [&str; 2] = ["Immediate", "WaitForFirstConsumer"];

/// Returns all violations of a StorageClass, in upstream's order.
pub fn storage_class(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let tree = Value::Object(fields.clone());
    let (provisioner, path) = (text(&tree, "provisioner"), Path::new("provisioner"));
    if provisioner.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        meta::invalid_each(&mut errors, &path, provisioner, meta::qualified_name(&provisioner.to_lowercase()));
    }
    parameters(&mut errors, &tree);
    let policy = text(&tree, "reclaimPolicy");
    if !policy.is_empty() && !["Delete", "Retain"].contains(&policy) {
        errors.push(FieldError::not_supported(&Path::new("reclaimPolicy"), policy, &["Delete", "Retain"]));
    }
    let (mode, path) = (text(&tree, "volumeBindingMode"), Path::new("volumeBindingMode"));
    if mode.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else if !MODES.contains(&mode) {
        errors.push(FieldError::not_supported(&path, mode, &MODES));
    }
    topologies(&mut errors, items(&tree, "allowedTopologies"), &Path::new("allowedTopologies"));
    errors
}

fn parameters(errors: &mut Errors, class: &Value) {
    let (parameters, path) = (texts(class, "parameters"), Path::new("parameters"));
    if parameters.len() > MOST_PARAMETERS {
        errors.push(FieldError::too_long(&path, MOST_PARAMETERS));
        return;
    }
    let mut bytes = 0;
    for (key, value) in &parameters {
        if key.is_empty() {
            errors.push(FieldError::invalid(&path, key, "field can not be empty."));
        }
        bytes += key.len() + value.len();
    }
    if bytes > MOST_BYTES {
        errors.push(FieldError::too_long(&path, MOST_BYTES));
    }
}

fn topologies(errors: &mut Errors, terms: &[Value], path: &Path) {
    // Like upstream's, the list of seen terms begins with an empty one for each term.
    let mut seen = vec![BTreeMap::new(); terms.len()];
    for (index, term) in terms.iter().enumerate() {
        // Like upstream's, the paths of a term's parts omit the index of the term.
        let at = path.child("matchLabelExpressions");
        let expressions = items(term, "matchLabelExpressions");
        if expressions.is_empty() {
            errors.push(FieldError::required(&at, ""));
        }
        let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (index, expression) in expressions.iter().enumerate() {
            let (key, at) = (text(expression, "key"), at.index(index));
            let values = expression_values(errors, expression, &at);
            if found.insert(key, values).is_some() {
                errors.push(FieldError::duplicate(&at.child("key"), key));
            }
        }
        let same = seen.iter().filter(|seen| **seen == found).count();
        let at = path.index(index).child("matchLabelExpressions");
        errors.extend((0..same).map(|_| FieldError::duplicate(&at, "")));
        seen.push(found);
    }
}

fn expression_values<'a>(errors: &mut Errors, expression: &'a Value, path: &Path) -> BTreeSet<&'a str> {
    let (values, at) = (items(expression, "values"), path.child("values"));
    if values.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    let mut found = BTreeSet::new();
    for (index, value) in values.iter().map(|value| value.as_str().unwrap_or_default()).enumerate() {
        if !found.insert(value) {
            errors.push(FieldError::duplicate(&at.index(index), value));
        }
    }
    let key = text(expression, "key");
    meta::invalid_each(errors, &path.child("key"), key, meta::qualified_name(key));
    found
}

/// Returns all violations of an update of a StorageClass, in upstream's order.
pub fn storage_class_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = storage_class(fields);
    for field in ["parameters", "provisioner", "reclaimPolicy"] {
        if !is_same(fields.get(field), old.get(field)) {
            errors.push(FieldError::forbidden(&Path::new(field), &format!("updates to {field} are forbidden.")));
        }
    }
    let mode = |fields: &Map<String, Value>| fields.get("volumeBindingMode").cloned().unwrap_or_default();
    meta::immutable(&mut errors, &mode(fields), &mode(old), &Path::new("volumeBindingMode"));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a valid class with changes.
    fn class(changes: Value) -> Map<String, Value> {
        let mut fields = json!({
            "provisioner": "ebs.csi.aws.com", "reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer",
            "parameters": {"type": "gp3"},
        });
        for (field, value) in changes.as_object().expect("fields") {
            fields[field] = value.clone();
        }
        fields.as_object().cloned().expect("fields")
    }

    #[track_caller]
    fn check(found: &Errors, expected: &[&str]) {
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn topology(expressions: Value) -> Value {
        json!({ "matchLabelExpressions": expressions })
    }

    #[test]
    fn accepts_what_people_write() {
        let zone = |values: &[&str]| topology(json!([{"key": "topology.kubernetes.io/zone", "values": values}]));
        for changes in [
            json!({}),
            json!({"provisioner": "kubernetes.io/No-Provisioner", "reclaimPolicy": "Retain"}),
            json!({"volumeBindingMode": "Immediate", "parameters": {}}),
            json!({"allowedTopologies": [zone(&["a", "b"]), zone(&["c"])]}),
        ] {
            check(&storage_class(&class(changes)), &[]);
        }
    }

    #[test]
    fn rejects_what_upstream_rejects() {
        check(
            &storage_class(&class(
                json!({"provisioner": "", "reclaimPolicy": "Recycle", "volumeBindingMode": "Never"}),
            )),
            &[
                "provisioner: Required value",
                "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"",
                "volumeBindingMode: Unsupported value: \"Never\": supported values: \"Immediate\", \"WaitForFirstConsumer\"",
            ],
        );
        check(
            &storage_class(&class(json!({"provisioner": "/a"}))),
            &["provisioner: Invalid value: \"/a\": prefix part must be non-empty"],
        );
        check(
            &storage_class(&class(json!({"parameters": {"": "x"}}))),
            &["parameters: Invalid value: \"\": field can not be empty."],
        );
        let many: Map<String, Value> = (0..513).map(|number| (format!("k{number}"), json!("v"))).collect();
        check(
            &storage_class(&class(json!({ "parameters": many }))),
            &["parameters: Too long: may not be more than 512 bytes"],
        );
        let expressions = |list: Value| class(json!({"allowedTopologies": [topology(list)]}));
        check(
            &storage_class(&expressions(json!([{"key": "a", "values": ["x", "x"]}, {"key": "a"}]))),
            &[
                "allowedTopologies.matchLabelExpressions[0].values[1]: Duplicate value: \"x\"",
                "allowedTopologies.matchLabelExpressions[1].values: Required value",
                "allowedTopologies.matchLabelExpressions[1].key: Duplicate value: \"a\"",
            ],
        );
        let same = topology(json!([{"key": "a", "values": ["x"]}]));
        check(
            &storage_class(&class(json!({"allowedTopologies": [same, same]}))),
            &["allowedTopologies[1].matchLabelExpressions: Duplicate value: \"\""],
        );
        storage_class(&class(json!({"allowedTopologies": [1, {"matchLabelExpressions": [null]}], "parameters": 3})));
    }

    #[test]
    fn a_class_stays_what_it_is() {
        let old = class(json!({}));
        check(&storage_class_update(&class(json!({"allowVolumeExpansion": true})), &old), &[]);
        check(
            &storage_class_update(
                &class(json!({
                    "provisioner": "b", "reclaimPolicy": "Retain", "volumeBindingMode": "Immediate", "parameters": {},
                })),
                &old,
            ),
            &[
                "parameters: Forbidden: updates to parameters are forbidden.",
                "provisioner: Forbidden: updates to provisioner are forbidden.",
                "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
                "volumeBindingMode: Invalid value: \"Immediate\": field is immutable",
            ],
        );
    }
}
