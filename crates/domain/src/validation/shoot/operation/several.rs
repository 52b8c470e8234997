// SPDX-License-Identifier: Apache-2.0
//! Rules for several operations in one annotation.
//!
//! Source: pkg/api/core/validation/shoot.go @ v1.141.0.

use std::collections::BTreeSet;

use api::constants::operation;
use api::core::Shoot;
use apimachinery::field::{FieldError, Path};

use super::{
    ENCRYPTION_CHANGES, FORBIDDEN_WHEN_HIBERNATED, covers, encryption_changes, halves_are_gone, immediate_operations,
    maintenance_operations, names_pools, operation_context, waits_for_encryption,
};
use crate::annotations;
use crate::validation::Errors;
use crate::validation::common::one_of;
use crate::validation::shoot::facts::is_in_hibernation;
use crate::validation::shoot::gates::Gates;

/// Operations, each with those that cannot be combined with it in one annotation.
const INCOMPATIBLE: [(&str, &[&str]); 5] = [
    (
        operation::ROTATE_CREDENTIALS_START,
        &[
            operation::ROTATE_CA_START_WITHOUT_WORKERS,
            operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
            operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
        ],
    ),
    (
        operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
        &[operation::ROTATE_CA_START, operation::ROTATE_SERVICE_ACCOUNT_KEY_START],
    ),
    (operation::ROTATE_CA_START, &[operation::ROTATE_CA_START_WITHOUT_WORKERS]),
    (operation::ROTATE_SERVICE_ACCOUNT_KEY_START, &[operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS]),
    (operation::ROTATE_ETCD_ENCRYPTION_KEY, &[operation::ROTATE_ETCD_ENCRYPTION_KEY_START]),
];

/// Validates the values of both annotations, each with its path: the immediate operations, then those of the next maintenance.
pub(super) fn operations(errors: &mut Errors, shoot: &Shoot, gates: Gates, both: [(&str, &Path); 2]) {
    let [(now, now_path), (later, later_path)] = both.map(|(value, path)| (annotations::operations(value), path));
    // Both are compared with the immediate operations, as upstream does.
    let supported = immediate_operations(gates);
    let parallel = maintenance_operations(gates);
    for (asked, path) in [(&now, now_path), (&later, later_path)] {
        for one in asked.iter().filter(|one| !names_pools(one)) {
            if !supported.contains(one) {
                one_of(errors, one, &supported, path);
                return;
            }
            if asked.len() > 1 && !parallel.contains(one) {
                let text = format!("operation '{one}' is not permitted to be run in parallel with other operations");
                errors.push(FieldError::forbidden(path, &text));
                return;
            }
        }
    }
    if now.iter().any(|one| later.contains(one)) {
        let text = format!("annotations {now_path} and {later_path} must not have any equal operations");
        errors.push(FieldError::forbidden(&Path::new("metadata").child("annotations"), &text));
    }
    let encryption_changes = encryption_changes(shoot, gates.release);
    for (asked, path, kind) in [(&now, now_path, ""), (&later, later_path, "maintenance ")] {
        for one in asked {
            halves_are_gone(errors, shoot, gates, one, now_path);
            let incompatible = INCOMPATIBLE.iter().find(|(all, _)| all == one).map_or(&[][..], |(_, others)| others);
            if asked.iter().any(|other| incompatible.contains(other)) {
                let text = format!(
                    "operation '{one}' is not permitted to be run together with {} {kind}operations",
                    incompatible.join(", ")
                );
                errors.push(FieldError::forbidden(path, &text));
            }
            if is_in_hibernation(shoot) && (names_pools(one) || FORBIDDEN_WHEN_HIBERNATED.contains(one)) {
                let text = format!("operation '{one}' is not permitted when shoot is hibernated or is waking up");
                errors.push(FieldError::forbidden(path, &text));
            }
            if encryption_changes && waits_for_encryption(one) {
                let text = ENCRYPTION_CHANGES.replacen("operation", &format!("operation '{one}'"), 1);
                errors.push(FieldError::forbidden(path, &text));
            }
        }
    }
    let conflicts = |all: &str, others: &[&str]| {
        let covered: BTreeSet<&str> = others.iter().copied().filter(|one| covers(all, one)).collect();
        (!covered.is_empty()).then(|| covered.into_iter().collect::<Vec<_>>().join(", "))
    };
    for all in &later {
        if let Some(covered) = conflicts(all, &now) {
            refuse_conflict(errors, now_path, &covered, all);
        }
    }
    for all in &now {
        if let Some(covered) = conflicts(all, &later) {
            refuse_conflict(errors, now_path, all, &covered);
        }
    }
    for one in &now {
        operation_context(errors, shoot, one, now_path);
    }
    if !shoot.metadata.is_being_deleted() {
        for one in &later {
            operation_context(errors, shoot, one, later_path);
        }
    }
}

fn refuse_conflict(errors: &mut Errors, path: &Path, now: &str, later: &str) {
    let text = format!("operation '{now}' is not permitted when maintenance operation is '{later}'");
    errors.push(FieldError::forbidden(path, &text));
}
