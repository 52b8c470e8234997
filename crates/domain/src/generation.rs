// SPDX-License-Identifier: Apache-2.0
//! Changes that raise `metadata.generation` of other kinds than the Shoot (pkg/apiserver/registry/core/*/strategy.go
//! @ v1.120.0; the Shoot's rule is [`crate::reconcile::generation_on_update`]), and the effect of a binding on a
//! Shoot.
//!
//! Each function returns true if the generation rises by one, and removes operation annotations that are consumed.

use api::constants::{annotation, operation, operation_state, operation_type};
use api::core::{BackupBucket, BackupEntry, LastOperation, Seed, Shoot};
use api::seedmanagement::{Gardenlet, ManagedSeed};
use apimachinery::meta::ObjectMeta;

use crate::annotations::is_true;

/// Applies a binding to a Shoot: the status is kept, except for a pending creation, which ends with scheduling.
pub fn shoot_binding(shoot: &mut Shoot, old: &Shoot) -> bool {
    shoot.status = old.status.clone();
    let pending = |operation: &LastOperation| {
        operation.r#type == operation_type::CREATE && operation.state == operation_state::PENDING
    };
    if old.spec.seed_name.is_none() && shoot.spec.seed_name.is_some() {
        shoot.status.last_operation.take_if(|operation| pending(operation));
    }
    shoot.spec != old.spec
}

/// A Seed: for a changed spec, or a newly set operation.
pub fn seed_update(seed: &mut Seed, old: &Seed) -> bool {
    if seed.spec != old.spec || newly_marked(&seed.metadata, &old.metadata) {
        return true;
    }
    let operation = seed.metadata.annotation(annotation::OPERATION);
    if operation == old.metadata.annotation(annotation::OPERATION) {
        return false;
    }
    match operation {
        Some(operation::RECONCILE) => {
            seed.metadata.annotations.remove(annotation::OPERATION);
            true
        }
        Some("renew-garden-access-secrets" | "renew-workload-identity-tokens" | operation::RENEW_KUBECONFIG) => true,
        _ => false,
    }
}

/// A BackupBucket: for a changed spec, or the operation `reconcile`.
pub fn backup_bucket_update(bucket: &mut BackupBucket, old: &BackupBucket) -> bool {
    if bucket.spec != old.spec || newly_marked(&bucket.metadata, &old.metadata) {
        return true;
    }
    let reconcile = bucket.metadata.annotation(annotation::OPERATION) == Some(operation::RECONCILE);
    if reconcile {
        bucket.metadata.annotations.remove(annotation::OPERATION);
    }
    reconcile
}

/// A BackupEntry: for any operation; `restore` counts only when newly set, and stays.
pub fn backup_entry_update(entry: &mut BackupEntry, old: &BackupEntry) -> bool {
    let forced = |entry: &BackupEntry| is_true(&entry.metadata.annotations, annotation::BACKUP_ENTRY_FORCE_DELETION);
    if entry.spec != old.spec || newly_marked(&entry.metadata, &old.metadata) || (forced(entry) && !forced(old)) {
        return true;
    }
    match entry.metadata.annotation(annotation::OPERATION) {
        None | Some("") => false,
        Some(operation::RESTORE) => old.metadata.annotation(annotation::OPERATION) != Some(operation::RESTORE),
        Some(_) => {
            entry.metadata.annotations.remove(annotation::OPERATION);
            true
        }
    }
}

/// A Gardenlet: for a changed spec, a deletion, the operation `reconcile`, and every update while another operation
/// is set.
pub fn gardenlet_update(gardenlet: &mut Gardenlet, old: &Gardenlet) -> bool {
    asked(&mut gardenlet.metadata, &old.metadata) || gardenlet.spec != old.spec
}

/// A ManagedSeed: like a [Gardenlet](gardenlet_update).
pub fn managed_seed_update(seed: &mut ManagedSeed, old: &ManagedSeed) -> bool {
    asked(&mut seed.metadata, &old.metadata) || seed.spec != old.spec
}

/// Returns true if metadata alone raises the generation; `reconcile` is consumed.
fn asked(new: &mut ObjectMeta, old: &ObjectMeta) -> bool {
    let is_deleted = newly_marked(new, old);
    match new.annotation(annotation::OPERATION) {
        Some(operation::RECONCILE) => {
            new.annotations.remove(annotation::OPERATION);
            true
        }
        Some(operation::RENEW_KUBECONFIG | operation::FORCE_REDEPLOY) => true,
        _ => is_deleted,
    }
}

fn newly_marked(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    new.is_being_deleted() && !old.is_being_deleted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_ends_a_pending_creation() {
        let mut old = Shoot::default();
        let operation = |type_: &str, state: &str| {
            Some(LastOperation { r#type: type_.to_owned(), state: state.to_owned(), ..LastOperation::default() })
        };
        old.status.last_operation = operation("Create", "Pending");
        let mut new = old.clone();
        new.spec.seed_name = Some("seed".to_owned());
        assert!(shoot_binding(&mut new, &old));
        assert_eq!(new.status.last_operation, None);
        let bound = new.clone();
        assert!(!shoot_binding(&mut new, &bound));

        old.status.last_operation = operation("Create", "Processing");
        let mut new = old.clone();
        new.spec.seed_name = Some("seed".to_owned());
        assert!(shoot_binding(&mut new, &old));
        assert_eq!(new.status.last_operation, operation("Create", "Processing"));
    }

    #[test]
    fn an_operation_on_a_gardenlet_counts_while_annotated() {
        for (operation, raises, stays) in [
            ("reconcile", true, false),
            ("force-redeploy", true, true),
            ("renew-kubeconfig", true, true),
            ("", false, true),
        ] {
            let mut old = Gardenlet::default();
            old.metadata.annotations.insert("gardener.cloud/operation".to_owned(), operation.to_owned());
            let mut new = old.clone();
            assert_eq!(gardenlet_update(&mut new, &old), raises, "{operation}");
            assert_eq!(new.metadata.annotations.contains_key("gardener.cloud/operation"), stays, "{operation}");
        }
        let mut new = Gardenlet::default();
        new.spec.deployment.replica_count = Some(3);
        assert!(gardenlet_update(&mut new, &Gardenlet::default()));
    }

    #[test]
    fn an_operation_on_a_seed_counts_when_it_is_new() {
        for (operation, raises, stays) in [
            ("reconcile", true, false),
            ("renew-kubeconfig", true, true),
            ("renew-garden-access-secrets", true, true),
            ("other", false, true),
        ] {
            let old = Seed::default();
            let mut new = Seed::default();
            new.metadata.annotations.insert("gardener.cloud/operation".to_owned(), operation.to_owned());
            let before = new.clone();
            assert_eq!(seed_update(&mut new, &old), raises, "{operation}");
            assert_eq!(new.metadata.annotations.contains_key("gardener.cloud/operation"), stays, "{operation}");
            assert!(!seed_update(&mut before.clone(), &before), "{operation} again");
        }
    }
}
