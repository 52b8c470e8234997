// SPDX-License-Identifier: Apache-2.0
//! Operations of a Garden, in its annotation.
//!
//! Unlike upstream: operations are checked in the order of the annotation; upstream's order is random.
//!
//! Source: pkg/apis/operator/v1alpha1/validation/garden.go @ v1.120.0, v1.128.0 and v1.133.0.

use api::constants::{annotation, operation};
use api::operator::Garden;
use apimachinery::field::{FieldError, Path};

use super::Errors;
use crate::annotations;
use crate::garden::rotation::{Credential, Step, is_always_whole, phased};
use crate::release::Release;
use crate::rotation::{COMPLETED, KEY_ROTATES_AS_A_WHOLE, PREPARED};

/// Operations of a Garden, sorted.
const OPERATIONS: [&str; 13] = [
    operation::RECONCILE,
    operation::ROTATE_CA_COMPLETE,
    operation::ROTATE_CA_START,
    operation::ROTATE_CREDENTIALS_COMPLETE,
    operation::ROTATE_CREDENTIALS_START,
    operation::ROTATE_ETCD_ENCRYPTION_KEY,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_START,
    operation::ROTATE_OBSERVABILITY_CREDENTIALS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START,
    operation::ROTATE_WORKLOAD_IDENTITY_KEY_COMPLETE,
    operation::ROTATE_WORKLOAD_IDENTITY_KEY_START,
];

/// Checks the operations of the annotation by the rules of a release.
pub(super) fn check(errors: &mut Errors, garden: &Garden, release: Release) {
    let value = garden.metadata.annotation(annotation::OPERATION).unwrap_or_default();
    let asked = if annotations::SEVERAL_OPERATIONS.contain(release) {
        annotations::operations(value)
    } else {
        Some(value).into_iter().filter(|value| !value.is_empty()).collect()
    };
    let path = Path::new("metadata").child("annotations").key(annotation::OPERATION);
    let is_whole = is_always_whole(garden, release);
    let (start, complete) =
        (operation::ROTATE_ETCD_ENCRYPTION_KEY_START, operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE);
    let mut supported = OPERATIONS.to_vec();
    supported.retain(|one| *one != operation::ROTATE_ETCD_ENCRYPTION_KEY || KEY_ROTATES_AS_A_WHOLE.contain(release));
    for one in &asked {
        if is_whole && [start, complete].contains(one) {
            let text = format!(
                "for Kubernetes versions >= 1.34, operation '{one}' is no longer supported, please use \
                 'rotate-etcd-encryption-key' instead, which performs a complete etcd encryption key rotation"
            );
            errors.push(FieldError::forbidden(&path, &text));
        }
        if !supported.contains(one) {
            errors.push(FieldError::not_supported(&path, one, &supported));
        }
        if *one == operation::ROTATE_ETCD_ENCRYPTION_KEY && asked.contains(&start) {
            let text = format!("operation '{one}' is not permitted to be run together with {start} operations");
            errors.push(FieldError::forbidden(&path, &text));
        }
    }
    for one in asked.into_iter().filter(|one| supported.contains(one)) {
        context(errors, garden, one, is_whole, &path);
    }
}

/// Checks that the phases of the credentials allow an operation.
fn context(errors: &mut Errors, garden: &Garden, operation: &str, is_whole: bool, path: &Path) {
    let is_all = matches!(operation, operation::ROTATE_CREDENTIALS_START | operation::ROTATE_CREDENTIALS_COMPLETE);
    let what = |credentials: &[Credential]| match credentials.first() {
        Some(credential) if !is_all => credential.what(),
        _ => "rotation of all credentials",
    };
    if let Some((step, credentials)) = phased(operation, is_whole) {
        let (verb, expected) = match step {
            Step::Start => ("start", COMPLETED),
            Step::Complete => ("complete", PREPARED),
        };
        let what = what(&credentials);
        if garden.metadata.is_being_deleted() {
            let text = format!("cannot {verb} {what} if garden has deletion timestamp");
            errors.push(FieldError::forbidden(path, &text));
        }
        for credential in credentials {
            let phase = credential.phase(&garden.status);
            let is_right = phase == expected || (step == Step::Start && phase.is_empty());
            if !is_right {
                let field = credential.field();
                let text =
                    format!("cannot {verb} {what} if .status.credentials.rotation.{field}.phase is not '{expected}'");
                errors.push(FieldError::forbidden(path, &text));
            }
        }
    } else if operation == operation::ROTATE_OBSERVABILITY_CREDENTIALS && garden.metadata.is_being_deleted() {
        let text = "cannot start Observability credentials rotation if garden has deletion timestamp";
        errors.push(FieldError::forbidden(path, text));
    }
}
