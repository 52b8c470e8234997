// SPDX-License-Identifier: Apache-2.0
//! Operation annotations of a Shoot: one operation each, and since v1.133 several, separated by `;` (module [`several`]).

mod several;

use std::collections::BTreeSet;

use api::constants::{annotation, operation};
use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use super::super::common::one_of;
use super::facts::{is_in_hibernation, is_ready_for_rotation, rotation_phases, same_resources};
use super::gates::Gates;
use crate::encryption;
use crate::release::{Release, Releases};
use crate::rotation::is_always_whole;
use crate::shoot_facts::is_in_place;

/// Operations that a hibernated Shoot refuses, except those that name worker pools.
pub(super) const FORBIDDEN_WHEN_HIBERNATED: [&str; 9] = [
    operation::ROTATE_CREDENTIALS_START,
    operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
    operation::ROTATE_CREDENTIALS_COMPLETE,
    operation::ROTATE_ETCD_ENCRYPTION_KEY,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_START,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE,
];

/// Operations behind the gate `CredentialsRotationWithoutWorkersRollout`, except `rotate-rollout-workers`.
const WITHOUT_WORKERS_ROLLOUT: [&str; 3] = [
    operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
    operation::ROTATE_CA_START_WITHOUT_WORKERS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
];

/// Operations of the maintenance annotation up to v1.127, sorted.
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

/// True if a release has an operation.
fn exists(operation: &str, release: Release) -> bool {
    let since = match operation {
        operation if replaces_nodes(operation) => 132,
        operation::FORCE_IN_PLACE_UPDATE => 118,
        operation if rolls_workers(operation) || WITHOUT_WORKERS_ROLLOUT.contains(&operation) => 112,
        _ => 0,
    };
    Releases::since(since).contain(release)
}

/// Returns the operations of the maintenance annotation, sorted.
pub fn maintenance_operations(gates: Gates) -> Vec<&'static str> {
    let mut operations = MAINTENANCE.to_vec();
    operations.retain(|operation| exists(operation, gates.release));
    if gates.etcd_encryption_key_rotates_as_a_whole() {
        operations.push(operation::ROTATE_ETCD_ENCRYPTION_KEY);
    }
    operations.extend(Some(operation::ROLLOUT_WORKERS).filter(|operation| exists(operation, gates.release)));
    operations.sort_unstable();
    operations
}

/// Returns the operations that are executed immediately, sorted.
fn immediate_operations(gates: Gates) -> Vec<&'static str> {
    let mut operations = maintenance_operations(gates);
    operations.extend([operation::MAINTAIN, operation::RETRY]);
    operations.extend(Some(operation::FORCE_IN_PLACE_UPDATE).filter(|operation| exists(operation, gates.release)));
    operations.sort_unstable();
    operations
}

/// True if an operation names worker pools whose nodes a rotation waits for.
fn rolls_workers(operation: &str) -> bool {
    operation.starts_with(operation::ROTATE_ROLLOUT_WORKERS)
}

/// True if an operation names worker pools whose nodes are replaced at any time.
fn replaces_nodes(operation: &str) -> bool {
    operation.starts_with(operation::ROLLOUT_WORKERS)
}

/// True if an operation names worker pools.
fn names_pools(operation: &str) -> bool {
    rolls_workers(operation) || replaces_nodes(operation)
}

/// True if an operation starts a re-encryption, which a change of the encrypted resources has already started.
fn waits_for_encryption(operation: &str) -> bool {
    let waits = [
        operation::ROTATE_CREDENTIALS_START,
        operation::ROTATE_ETCD_ENCRYPTION_KEY,
        operation::ROTATE_ETCD_ENCRYPTION_KEY_START,
    ];
    waits.contains(&operation)
}

/// True if the encrypted resources are to change.
fn encryption_changes(shoot: &Shoot, release: Release) -> bool {
    let wanted = encryption::wanted_resources(&shoot.spec);
    !same_resources(&wanted, &encryption::encrypted_resources(&shoot.status), release)
}

const ENCRYPTION_CHANGES: &str =
    "operation is not permitted because a previous encryption configuration change is currently being rolled out";

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
    if gates.several_operations() {
        several::operations(errors, shoot, gates, both);
        return;
    }
    if operation == maintenance {
        let text = format!("annotations {operation_path} and {maintenance_path} must not be equal");
        errors.push(FieldError::forbidden(&path, &text));
    }
    if !gates.credentials_rotation_without_workers_rollout {
        for (operation, path) in both {
            let is_gated = WITHOUT_WORKERS_ROLLOUT.contains(&operation) || rolls_workers(operation);
            if is_gated && exists(operation, gates.release) {
                let text = format!(
                    "the {operation} operation can only be used when the CredentialsRotationWithoutWorkersRollout \
                     feature gate is enabled"
                );
                errors.push(FieldError::forbidden(path, &text));
            }
        }
    }
    let encryption_changes = encryption_changes(shoot, gates.release);
    let supported = [immediate_operations(gates), maintenance_operations(gates)];
    for ((operation, path), supported) in both.into_iter().zip(supported) {
        if operation.is_empty() {
            continue;
        }
        if !names_pools(operation) || !exists(operation, gates.release) {
            one_of(errors, operation, &supported, path);
        }
        halves_are_gone(errors, shoot, gates, operation, path);
        let replaces_nodes = replaces_nodes(operation) && exists(operation, gates.release);
        let needs_nodes = replaces_nodes || rolls_workers(operation) || FORBIDDEN_WHEN_HIBERNATED.contains(&operation);
        if is_in_hibernation(shoot) && needs_nodes {
            let text = "operation is not permitted when shoot is hibernated or is waking up";
            errors.push(FieldError::forbidden(path, text));
        }
        if encryption_changes && waits_for_encryption(operation) {
            errors.push(FieldError::forbidden(path, ENCRYPTION_CHANGES));
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
    // An operation that the release does not have was refused as an unsupported value.
    if exists(operation, gates.release) {
        operation_context(errors, shoot, operation, &operation_path);
    }
    if !shoot.metadata.is_being_deleted() && exists(maintenance, gates.release) {
        operation_context(errors, shoot, maintenance, &maintenance_path);
    }
}

/// Refuses the two phases of the rotation of etcd's encryption key for Shoots of Kubernetes 1.34 and later.
fn halves_are_gone(errors: &mut Errors, shoot: &Shoot, gates: Gates, operation: &str, path: &Path) {
    let halves = [operation::ROTATE_ETCD_ENCRYPTION_KEY_START, operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE];
    if gates.etcd_encryption_key_rotates_as_a_whole() && halves.contains(&operation) && is_always_whole(&shoot.spec) {
        let text = format!(
            "for Kubernetes versions >= 1.34, operation '{operation}' is no longer supported, please use \
             'rotate-etcd-encryption-key' instead, which performs a complete etcd encryption key rotation"
        );
        errors.push(FieldError::forbidden(path, &text));
    }
}

/// True if a rotation of all credentials and another operation exclude each other in the two annotations.
fn covers(all: &str, one: &str) -> bool {
    match all {
        operation::ROTATE_CREDENTIALS_START | operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS => [
            operation::ROTATE_CA_START,
            operation::ROTATE_CA_START_WITHOUT_WORKERS,
            operation::ROTATE_SERVICE_ACCOUNT_KEY_START,
            operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
            operation::ROTATE_ETCD_ENCRYPTION_KEY,
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

/// Checks that an operation may start now, by the status of the credentials that it rotates.
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
        operation::ROTATE_ETCD_ENCRYPTION_KEY
        | operation::ROTATE_ETCD_ENCRYPTION_KEY_START
        | operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE => ("ETCD encryption key rotation", &[etcd]),
        _ => {
            if rolls_workers(operation) {
                rotate_rollout_workers(errors, shoot, operation, path);
            } else if replaces_nodes(operation) {
                rollout_workers(errors, shoot, operation, path);
            }
            return;
        }
    };
    let mut forbidden = |text: &str| errors.push(FieldError::forbidden(path, text));
    if base.ends_with("-complete") {
        // In a rotation of all credentials, the key that encrypts etcd then completes automatically.
        let completes_itself = credentials.len() > 1 && is_always_whole(&shoot.spec);
        let asked = credentials.iter().filter(|(name, _)| !completes_itself || *name != etcd.0);
        for (name, _) in asked.filter(|(_, phase)| *phase != "Prepared") {
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
    if !matches!(base, operation::ROTATE_ETCD_ENCRYPTION_KEY_START | operation::ROTATE_ETCD_ENCRYPTION_KEY)
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

fn rotate_rollout_workers(errors: &mut Errors, shoot: &Shoot, operation: &str, path: &Path) {
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
    pool_names(errors, shoot, &pools, true, path);
}

/// Checks the pools whose nodes are to be replaced: a list of names, or `*` for all.
fn rollout_workers(errors: &mut Errors, shoot: &Shoot, operation: &str, path: &Path) {
    let pools = operation.strip_prefix("rollout-workers=").unwrap_or(operation);
    let mut pools: Vec<&str> = pools.split(',').collect();
    if pools.contains(&"") {
        let text =
            "must provide either '*' or at least one pool name via rollout-workers=<poolName1>[,<poolName2>,...]";
        errors.push(FieldError::required(path, text));
    }
    if pools == ["*"] {
        pools = shoot.spec.provider.workers.iter().map(|worker| worker.name.as_str()).collect();
    }
    if pools.contains(&"*") {
        errors.push(FieldError::forbidden(path, "if '*' is provided, no other pool names are allowed"));
    }
    pool_names(errors, shoot, &pools, false, path);
}

/// Checks that names of pools are unique and that each pool exists.
fn pool_names(errors: &mut Errors, shoot: &Shoot, pools: &[&str], in_place_is_allowed: bool, path: &Path) {
    let mut seen = BTreeSet::new();
    for pool in pools {
        if !seen.insert(pool) {
            let text = format!("pool name {pool} was specified multiple times");
            errors.push(FieldError::duplicate(path, &text));
        }
        let worker = shoot.spec.provider.workers.iter().find(|worker| worker.name == *pool);
        let text = match worker {
            None => format!("worker pool name {pool} does not exist in .spec.provider.workers[]"),
            Some(worker) if !in_place_is_allowed && is_in_place(worker) => format!(
                "worker pool {pool} is using in-place update strategy; manual worker pool rollout is not supported for \
                 such pools"
            ),
            Some(_) => continue,
        };
        errors.push(FieldError::invalid(path, *pool, &text));
    }
}

#[cfg(test)]
mod tests;
