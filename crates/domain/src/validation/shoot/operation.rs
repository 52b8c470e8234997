// SPDX-License-Identifier: Apache-2.0
//! Operation annotations of a Shoot.

use std::collections::BTreeSet;

use api::constants::{annotation, operation, operation_state, operation_type};
use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::common::one_of;
use super::update::{encrypted_resources, rotation_phases};
use super::{Errors, Gates, is_in_hibernation};

/// Operations that a hibernated Shoot refuses, beside `rotate-rollout-workers`.
pub(super) const FORBIDDEN_WHEN_HIBERNATED: [&str; 8] = [
    operation::ROTATE_CREDENTIALS_START,
    operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
    operation::ROTATE_CREDENTIALS_COMPLETE,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_START,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE,
];

/// Operations behind the gate `CredentialsRotationWithoutWorkersRollout`, beside `rotate-rollout-workers`.
const WITHOUT_WORKERS_ROLLOUT: [&str; 3] = [
    operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
    operation::ROTATE_CA_START_WITHOUT_WORKERS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
];

/// Operations of the maintenance annotation, sorted.
const MAINTENANCE: [&str; 15] = [
    operation::RECONCILE,
    operation::ROTATE_CA_COMPLETE,
    operation::ROTATE_CA_START,
    operation::ROTATE_CA_START_WITHOUT_WORKERS,
    operation::ROTATE_CREDENTIALS_COMPLETE,
    operation::ROTATE_CREDENTIALS_START,
    operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_START,
    operation::ROTATE_OBSERVABILITY_CREDENTIALS,
    operation::ROTATE_ROLLOUT_WORKERS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
    operation::ROTATE_SSH_KEYPAIR,
];

pub(super) fn operations(errors: &mut Errors, shoot: &Shoot, gates: Gates) {
    let value = |key: &str| shoot.metadata.annotation(key).unwrap_or_default();
    let (operation, maintenance) = (value(annotation::OPERATION), value(annotation::MAINTENANCE_OPERATION));
    if operation.is_empty() && maintenance.is_empty() {
        return;
    }
    let path = Path::new("metadata").child("annotations");
    let (operation_path, maintenance_path) =
        (path.key(annotation::OPERATION), path.key(annotation::MAINTENANCE_OPERATION));
    let both = [(operation, &operation_path), (maintenance, &maintenance_path)];
    if operation == maintenance {
        let text = format!("annotations {operation_path} and {maintenance_path} must not be equal");
        errors.push(FieldError::forbidden(&path, &text));
    }
    if !gates.credentials_rotation_without_workers_rollout {
        for (operation, path) in both {
            if WITHOUT_WORKERS_ROLLOUT.contains(&operation) || operation.starts_with(operation::ROTATE_ROLLOUT_WORKERS)
            {
                let text = format!(
                    "the {operation} operation can only be used when the CredentialsRotationWithoutWorkersRollout \
                     feature gate is enabled"
                );
                errors.push(FieldError::forbidden(path, &text));
            }
        }
    }
    let mut immediate: Vec<&str> = MAINTENANCE.to_vec();
    immediate.extend([operation::MAINTAIN, operation::RETRY, operation::FORCE_IN_PLACE_UPDATE]);
    immediate.sort_unstable();
    let stored: BTreeSet<&str> = shoot.status.encrypted_resources.iter().map(String::as_str).collect();
    let encryption_changes = encrypted_resources(&shoot.spec) != stored;
    for ((operation, path), supported) in both.into_iter().zip([&immediate[..], &MAINTENANCE[..]]) {
        if operation.is_empty() {
            continue;
        }
        let rolls_workers = operation.starts_with(operation::ROTATE_ROLLOUT_WORKERS);
        if !rolls_workers {
            one_of(errors, operation, supported, path);
        }
        if is_in_hibernation(shoot) && (rolls_workers || FORBIDDEN_WHEN_HIBERNATED.contains(&operation)) {
            let text = "operation is not permitted when shoot is hibernated or is waking up";
            errors.push(FieldError::forbidden(path, text));
        }
        let waits = [operation::ROTATE_CREDENTIALS_START, operation::ROTATE_ETCD_ENCRYPTION_KEY_START];
        if encryption_changes && waits.contains(&operation) {
            let text = "operation is not permitted because a previous encryption configuration change is currently \
                        being rolled out";
            errors.push(FieldError::forbidden(path, text));
        }
    }
    for covering in [maintenance, operation] {
        let other = if covering == maintenance { operation } else { maintenance };
        if covers(covering, other) {
            let text =
                format!("operation '{operation}' is not permitted when maintenance operation is '{maintenance}'");
            errors.push(FieldError::forbidden(&operation_path, &text));
        }
    }
    operation_context(errors, shoot, operation, &operation_path);
    if !shoot.metadata.is_being_deleted() {
        operation_context(errors, shoot, maintenance, &maintenance_path);
    }
}

/// Whether a rotation of all credentials includes another operation.
fn covers(all: &str, one: &str) -> bool {
    match all {
        operation::ROTATE_CREDENTIALS_START | operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS => [
            operation::ROTATE_CA_START,
            operation::ROTATE_CA_START_WITHOUT_WORKERS,
            operation::ROTATE_SERVICE_ACCOUNT_KEY_START,
            operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
            operation::ROTATE_ETCD_ENCRYPTION_KEY_START,
        ]
        .contains(&one),
        operation::ROTATE_CREDENTIALS_COMPLETE => [
            operation::ROTATE_CA_COMPLETE,
            operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE,
            operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE,
        ]
        .contains(&one),
        _ => false,
    }
}

/// Whether an operation may begin now, by what the status says of the credentials that it rotates.
pub fn operation_context(errors: &mut Errors, shoot: &Shoot, operation: &str, path: &Path) {
    let phases = rotation_phases(&shoot.status);
    let ca = ("certificateAuthorities", phases.certificate_authorities);
    let key = ("serviceAccountKey", phases.service_account_key);
    let etcd = ("etcdEncryptionKey", phases.etcd_encryption_key);
    let base = operation.strip_suffix("-without-workers-rollout").unwrap_or(operation);
    let (what, credentials): (&str, &[(&str, &str)]) = match base {
        operation::ROTATE_CREDENTIALS_START | operation::ROTATE_CREDENTIALS_COMPLETE => {
            ("rotation of all credentials", &[ca, key, etcd])
        }
        operation::ROTATE_CA_START | operation::ROTATE_CA_COMPLETE => ("CA rotation", &[ca]),
        operation::ROTATE_SERVICE_ACCOUNT_KEY_START | operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE => {
            ("service account key rotation", &[key])
        }
        operation::ROTATE_ETCD_ENCRYPTION_KEY_START | operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE => {
            ("ETCD encryption key rotation", &[etcd])
        }
        _ => {
            if operation.starts_with(operation::ROTATE_ROLLOUT_WORKERS) {
                rollout_workers(errors, shoot, operation, path);
            }
            return;
        }
    };
    let mut forbidden = |text: &str| errors.push(FieldError::forbidden(path, text));
    if base.ends_with("-complete") {
        for (name, _) in credentials.iter().filter(|(_, phase)| *phase != "Prepared") {
            forbidden(&format!(
                "cannot complete {what} if .status.credentials.rotation.{name}.phase is not 'Prepared'"
            ));
        }
        return;
    }
    if !is_ready_for_rotation(shoot.status.last_operation.as_ref()) {
        forbidden(&format!(
            "cannot start {what} if shoot was not yet created successfully or is not ready for reconciliation"
        ));
    }
    for (name, _) in credentials.iter().filter(|(_, phase)| !phase.is_empty() && *phase != "Completed") {
        forbidden(&format!("cannot start {what} if .status.credentials.rotation.{name}.phase is not 'Completed'"));
    }
    let updates = shoot.status.in_place_updates.as_ref().and_then(|updates| updates.pending_worker_updates.as_ref());
    if base != operation::ROTATE_ETCD_ENCRYPTION_KEY_START
        && let Some(pending) = updates
    {
        let lists = [
            ("autoInPlaceUpdate", &pending.auto_in_place_update),
            ("manualInPlaceUpdate", &pending.manual_in_place_update),
        ];
        for (name, _) in lists.into_iter().filter(|(_, pools)| !pools.is_empty()) {
            forbidden(&format!(
                "cannot start {what} if status.inPlaceUpdates.pendingWorkerUpdates.{name} is not empty"
            ));
        }
    }
}

fn is_ready_for_rotation(last_operation: Option<&LastOperation>) -> bool {
    last_operation.is_some_and(|operation| match operation.r#type.as_str() {
        "Reconcile" => true,
        operation_type::CREATE | operation_type::RESTORE => operation.state == operation_state::SUCCEEDED,
        _ => false,
    })
}

fn rollout_workers(errors: &mut Errors, shoot: &Shoot, operation: &str, path: &Path) {
    let phases = rotation_phases(&shoot.status);
    let waiting = "WaitingForWorkersRollout";
    if phases.certificate_authorities != waiting && phases.service_account_key != waiting {
        let text = "either .status.credentials.rotation.certificateAuthorities.phase or \
                    .status.credentials.rotation.serviceAccountKey.phase must be in 'WaitingForWorkersRollout' in \
                    order to trigger workers rollout";
        errors.push(FieldError::forbidden(path, text));
    }
    let pools = operation.strip_prefix("rotate-rollout-workers=").unwrap_or(operation);
    let pools: Vec<&str> = pools.split(',').collect();
    if pools.contains(&"") {
        let text = "must provide at least one pool name via rotate-rollout-workers=<poolName1>[,<poolName2>,...]";
        errors.push(FieldError::required(path, text));
    }
    let mut seen = BTreeSet::new();
    for pool in pools {
        if !seen.insert(pool) {
            let text = format!("pool name {pool} was specified multiple times");
            errors.push(FieldError::duplicate(path, &text));
        }
        if !shoot.spec.provider.workers.iter().any(|worker| worker.name == pool) {
            let text = format!("worker pool name {pool} does not exist in .spec.provider.workers[]");
            errors.push(FieldError::invalid(path, pool, &text));
        }
    }
}

#[cfg(test)]
mod tests;
