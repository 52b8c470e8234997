// SPDX-License-Identifier: Apache-2.0
//! Validation of metadata, the same for every kind (`k8s.io/apimachinery/pkg/api/validation/objectmeta.go`).

use apimachinery::meta::TextMap;

use apimachinery::field::{ErrorType, FieldError, Path};
use apimachinery::meta::{ObjectMeta, OwnerReference};
use apimachinery::{Status, validation};

use crate::kind::Names;
use crate::status::Failure;

/// Maximum total size of keys and values of all annotations, in bytes.
const ANNOTATIONS: usize = 256 * 1024;

/// Returns the 400 for an object whose name differs from that in the URL.
pub(crate) fn name_mismatch(given: &str, url: &str) -> Failure {
    Failure::BadRequest(format!("the name of the object ({given}) does not match the name on the URL ({url})"))
}

/// Parses the resource version of an object; 0 if it is empty.
///
/// # Errors
/// Status 500 with Go's message, as upstream.
pub(crate) fn resource_version(text: &str) -> Result<u64, Failure> {
    if text.is_empty() {
        return Ok(0);
    }
    parse_uint(text).map_err(|why| Status::failure(500, "", why).into())
}

/// Parses an unsigned number of 64 bits as Go does; the error has Go's text.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    let failed = |why: &str| format!("strconv.ParseUint: parsing {text:?}: {why}");
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(failed("invalid syntax"));
    }
    text.parse().map_err(|_| failed("value out of range"))
}

/// Removes duplicate owner references; returns the warning for the client, if there were any.
///
/// Source: k8s.io/apiserver pkg/endpoints/handlers/rest.go.
pub(crate) fn dedup_owners(meta: &mut ObjectMeta, after_admission: bool) -> Option<String> {
    let mut kept: Vec<OwnerReference> = Vec::with_capacity(meta.owner_references.len());
    let mut twice: Vec<String> = Vec::new();
    for reference in std::mem::take(&mut meta.owner_references) {
        if kept.contains(&reference) {
            twice.push(reference.uid);
        } else {
            kept.push(reference);
        }
    }
    meta.owner_references = kept;
    let when = if after_admission { " after mutating admission happens" } else { "" };
    (!twice.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and \
             may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        )
    })
}

/// Returns the violations in a new object's metadata.
pub(crate) fn validate_create(meta: &ObjectMeta, names: &Names) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let mut errors = Vec::new();
    if meta.name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        for reason in name_violations(&meta.name, names) {
            errors.push(FieldError::invalid(&path.child("name"), &meta.name, &reason));
        }
    }
    common(meta, names, &mut errors);
    errors
}

/// Violations of a change that sets marks of deletion: only the server sets them, and marks that are set do not change.
pub(crate) fn changed_marks(meta: &ObjectMeta, old: &ObjectMeta) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let mut errors = Vec::new();
    let mut immutable = |field: &str, value: String| {
        errors.push(FieldError {
            error_type: ErrorType::Invalid,
            field: path.child(field).to_string(),
            body: format!("Invalid value: {value}: field is immutable"),
        });
    };
    if let Some(time) = meta.deletion_timestamp.filter(|_| old.deletion_timestamp.is_none()) {
        // Go's format of an instant.
        immutable("deletionTimestamp", time.0.format("%Y-%m-%d %H:%M:%S +0000 UTC").to_string());
    }
    let grace = meta.deletion_grace_period_seconds;
    if let Some(seconds) = grace.filter(|_| grace != old.deletion_grace_period_seconds) {
        immutable("deletionGracePeriodSeconds", seconds.to_string());
    }
    errors
}

/// Violations in a changed object's metadata; `marks`: result of [`changed_marks`].
pub(crate) fn validate_update(
    meta: &ObjectMeta,
    old: &ObjectMeta,
    marks: Vec<FieldError>,
    names: &Names,
) -> Vec<FieldError> {
    let path = Path::new("metadata");
    let mut errors = Vec::new();
    if meta.is_being_deleted() {
        let new: Vec<&str> =
            meta.finalizers.iter().filter(|finalizer| !old.has_finalizer(finalizer)).map(String::as_str).collect();
        if !new.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                new.iter().map(|finalizer| format!("{finalizer:?}")).collect::<Vec<_>>().join(", ")
            );
            errors.push(FieldError::forbidden(&path.child("finalizers"), &detail));
        }
    }
    errors.extend(marks);
    // The stored metadata was valid: only changes are validated.
    if meta.labels != old.labels
        || meta.annotations != old.annotations
        || meta.owner_references != old.owner_references
        || meta.finalizers != old.finalizers
    {
        common(meta, names, &mut errors);
    }
    errors
}

fn common(meta: &ObjectMeta, names: &Names, errors: &mut Vec<FieldError>) {
    let path = Path::new("metadata");
    labels(&meta.labels, &path.child("labels"), errors);
    let annotations = path.child("annotations");
    let mut size = 0;
    for (key, value) in &meta.annotations {
        size += key.len() + value.len();
        for reason in validation::qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(&annotations, key, &reason));
        }
    }
    if size > ANNOTATIONS {
        errors.push(FieldError::too_long(&annotations, ANNOTATIONS));
    }
    owners(&meta.owner_references, &path.child("ownerReferences"), errors);
    finalizers(&meta.finalizers, &path.child("finalizers"), names, errors);
}

fn labels(labels: &TextMap, path: &Path, errors: &mut Vec<FieldError>) {
    for (key, value) in labels {
        for reason in validation::qualified_name(key) {
            errors.push(FieldError::invalid(path, key, &reason));
        }
        for reason in validation::label_value(value) {
            errors.push(FieldError::invalid(path, value, &reason));
        }
    }
}

fn owners(references: &[OwnerReference], path: &Path, errors: &mut Vec<FieldError>) {
    let mut controller: Option<&OwnerReference> = None;
    for (index, reference) in references.iter().enumerate() {
        let path = path.index(index);
        if reference.api_version.is_empty() {
            let detail = "version must not be empty";
            errors.push(FieldError::invalid(&path.child("apiVersion"), &reference.api_version, detail));
        }
        for (name, value) in [("kind", &reference.kind), ("name", &reference.name), ("uid", &reference.uid)] {
            if value.is_empty() {
                errors.push(FieldError::invalid(&path.child(name), value, &format!("{name} must not be empty")));
            }
        }
        if reference.controller == Some(true) {
            if let Some(first) = controller {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
                    first.name, reference.name
                );
                errors.push(FieldError::invalid(&Path::new("metadata.ownerReferences"), references, &detail));
            } else {
                controller = Some(reference);
            }
        }
    }
}

fn finalizers(finalizers: &[String], path: &Path, names: &Names, errors: &mut Vec<FieldError>) {
    // Groups without a dot, and Kubernetes' own, are those of built-in kinds.
    let group = names.info.group;
    let built_in = !names.info.custom && (!group.contains('.') || group.ends_with(".k8s.io"));
    for (index, finalizer) in finalizers.iter().enumerate() {
        let path = path.index(index);
        let violations = validation::qualified_name(finalizer);
        if built_in
            && violations.is_empty()
            && !finalizer.contains('/')
            && !matches!(finalizer.as_str(), "orphan" | "foregroundDeletion" | "kubernetes")
        {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(&path, finalizer, detail));
        }
        for reason in violations {
            errors.push(FieldError::invalid(&path, finalizer, &reason));
        }
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizers orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, finalizers, detail));
    }
}

fn name_violations(name: &str, names: &Names) -> Vec<String> {
    let info = &names.info;
    if info.group == "rbac.authorization.k8s.io" {
        validation::path_segment_name(name)
    } else if info.group.is_empty() && info.plural == "namespaces" {
        validation::dns1123_label(name)
    } else {
        validation::dns1123_subdomain(name)
    }
}
