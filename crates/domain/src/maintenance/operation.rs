// SPDX-License-Identifier: Apache-2.0
//! Requests of maintenance to gardenlet: the operation annotation and the tasks of the next reconciliation.

use api::constants::{annotation, operation, operation_state, task};
use api::core::Shoot;

use super::RotationOutcome;
use crate::annotations;

/// Restarts of pods that maintenance requests (`controllers.shootMaintenance` of gardener-controller-manager).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarters {
    /// `enableShootControlPlaneRestarter`; on by default.
    pub control_plane: bool,
    /// `enableShootCoreAddonRestarter`; off by default.
    pub core_addons: bool,
}

impl Default for Restarters {
    fn default() -> Self {
        Self { control_plane: true, core_addons: false }
    }
}

/// Returns the tasks that every completed run adds, in order.
pub fn tasks(restarters: Restarters) -> Vec<&'static str> {
    let mut tasks = vec![
        task::DEPLOY_INFRASTRUCTURE,
        task::DEPLOY_DNS_RECORD_INTERNAL,
        task::DEPLOY_DNS_RECORD_EXTERNAL,
        task::DEPLOY_DNS_RECORD_INGRESS,
    ];
    if restarters.control_plane {
        tasks.push(task::RESTART_CONTROL_PLANE_PODS);
    }
    if restarters.core_addons {
        tasks.push(task::RESTART_CORE_ADDONS);
    }
    tasks
}

/// Converts the request for maintenance, the operations that wait for it, and the rotations that are due into the
/// operation to run now.
///
/// Returns the value of the annotation, if it is more than a reconciliation. A failed Shoot is retried only if it is
/// annotated accordingly; its waiting operation remains waiting, and no credentials are rotated. Without a last operation
/// there is nothing to do. An existing operation is overwritten.
///
/// A single operation is set alone, as releases before 1.133 require; several, and any rotation that is due, are joined
/// with `reconcile`.
pub fn take_over(shoot: &mut Shoot, rotations: &[RotationOutcome]) -> Option<String> {
    if super::is_requested(shoot) {
        shoot.metadata.annotations.remove(annotation::OPERATION);
    }
    let last_operation = shoot.status.last_operation.as_ref()?;
    let present = &mut shoot.metadata.annotations;
    if last_operation.state == operation_state::FAILED {
        if annotations::is_true(present, annotation::NEEDS_RETRY_OPERATION) {
            present.insert(annotation::OPERATION.to_owned(), operation::RETRY.to_owned());
            present.remove(annotation::NEEDS_RETRY_OPERATION);
        }
        return None;
    }
    let waiting = present.remove(annotation::MAINTENANCE_OPERATION).unwrap_or_default();
    let asked = annotations::operations(&waiting);
    let mut started = rotations.iter().filter(|rotation| rotation.is_started).map(|one| one.operation).peekable();
    let operation = if started.peek().is_none() && asked.len() == 1 {
        waiting
    } else {
        let is_begun_by_hand = asked.contains(&operation::ROTATE_ETCD_ENCRYPTION_KEY_START);
        let mut operations = asked;
        let begun = started.filter(|one| !(is_begun_by_hand && *one == operation::ROTATE_ETCD_ENCRYPTION_KEY));
        for one in std::iter::once(operation::RECONCILE).chain(begun) {
            if !operations.contains(&one) {
                operations.push(one);
            }
        }
        annotations::join_operations(&operations)
    };
    present.insert(annotation::OPERATION.to_owned(), operation.clone());
    Some(operation).filter(|operation| operation != operation::RECONCILE)
}
