// SPDX-License-Identifier: Apache-2.0
//! What maintenance asks of gardenlet: the operation annotation and the tasks of the next reconciliation.

use api::core::Shoot;

use crate::annotations;
use crate::last_operation::FAILED;

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
    let mut tasks =
        vec!["deployInfrastructure", "deployDNSRecordInternal", "deployDNSRecordExternal", "deployDNSRecordIngress"];
    if restarters.control_plane {
        tasks.push("restartControlPlanePods");
    }
    if restarters.core_addons {
        tasks.push("restartCoreAddons");
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
        shoot.metadata.annotations.remove(annotations::OPERATION);
    }
    let last_operation = shoot.status.last_operation.as_ref()?;
    let present = &mut shoot.metadata.annotations;
    if last_operation.state == FAILED {
        if annotations::is_true(present, annotations::NEEDS_RETRY_OPERATION) {
            present.insert(annotations::OPERATION.to_owned(), "retry".to_owned());
            present.remove(annotations::NEEDS_RETRY_OPERATION);
        }
        return None;
    }
    let waiting = present.remove(annotations::MAINTENANCE_OPERATION).filter(|operation| !operation.is_empty());
    let operation = waiting.unwrap_or_else(|| "reconcile".to_owned());
    present.insert(annotations::OPERATION.to_owned(), operation.clone());
    Some(operation).filter(|operation| operation != "reconcile")
}
