// SPDX-License-Identifier: Apache-2.0
//! What maintenance asks of gardenlet: the operation annotation and the tasks of the next reconciliation.

use api::constants::{annotation, operation, operation_state, task};
use api::core::Shoot;

use crate::annotations;

/// Which pods maintenance restarts (`controllers.shootMaintenance` of gardener-controller-manager).
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

/// The tasks that every completed run adds, in order.
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

/// Turns the request for maintenance, or the operation that waits for it, into the operation to do now.
///
/// Returns the operation, if it is more than a reconciliation. A Shoot that failed is retried only if it says so; its
/// waiting operation keeps waiting. Without a last operation there is nothing to do. An operation that is present is
/// overwritten.
pub fn take_over(shoot: &mut Shoot) -> Option<String> {
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
    let waiting = present.remove(annotation::MAINTENANCE_OPERATION).filter(|operation| !operation.is_empty());
    let operation = waiting.unwrap_or_else(|| operation::RECONCILE.to_owned());
    present.insert(annotation::OPERATION.to_owned(), operation.clone());
    Some(operation).filter(|operation| operation != operation::RECONCILE)
}
