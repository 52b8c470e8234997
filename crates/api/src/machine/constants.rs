// SPDX-License-Identifier: Apache-2.0
//! Keys and values of machine-controller-manager, as clients see them.
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1, pkg/util/{provider,nodeops} @ v0.58.

/// Finalizer of Machines and MachineClasses.
pub const FINALIZER: &str = "machine.sapcloud.io/machine-controller-manager";
/// Annotation: a Machine's rank when machines are deleted; `1` goes first.
pub const PRIORITY: &str = "machinepriority.machine.sapcloud.io";
/// Label of a Machine: the name of its Node.
pub const NODE_LABEL: &str = "node";
/// Label of MachineSets and Machines: hash of the template.
pub const TEMPLATE_HASH: &str = "machine-template-hash";
/// Label that stops a MachineSet or MachineDeployment from creating machines.
pub const FREEZE: &str = "freeze";
/// Annotation that ends a freeze.
pub const UNFREEZE: &str = "safety.machine.sapcloud.io/unfreeze";
/// Taint of nodes, and annotation of MachineSets, that a roll-out leaves behind.
pub const PREFER_NO_SCHEDULE: &str = "deployment.machine.sapcloud.io/prefer-no-schedule";
/// Annotation of a Node: annotations, labels and taints of its Machine's template when they were applied last.
pub const LAST_APPLIED: &str = "node.machine.sapcloud.io/last-applied-anno-labels-taints";
/// Label of a Node whose machine is to be updated in place.
pub const CANDIDATE_FOR_UPDATE: &str = "node.machine.sapcloud.io/candidate-for-update";
/// Label of a Node that was selected for an update in place; only its presence counts.
pub const SELECTED_FOR_UPDATE: &str = "node.machine.sapcloud.io/selected-for-update";
/// Label of a Node: how the update in place ended, [`UPDATE_SUCCESSFUL`] or [`UPDATE_FAILED`].
pub const UPDATE_RESULT: &str = "node.machine.sapcloud.io/update-result";
/// Value of [`UPDATE_RESULT`].
pub const UPDATE_SUCCESSFUL: &str = "successful";
/// Value of [`UPDATE_RESULT`].
pub const UPDATE_FAILED: &str = "failed";
/// Annotation of a Node: why an update in place failed.
pub const UPDATE_FAILED_REASON: &str = "node.machine.sapcloud.io/update-failed-reason";
/// Label of a MachineSet that an update in place must not scale up.
pub const SCALE_UP_DISABLED: &str = "node.machine.sapcloud.io/scale-up-disabled";
/// Annotation of a Machine: when somebody asked for its deletion.
pub const MARKED_FOR_DELETION_TIME: &str = "machine.sapcloud.io/marked-for-deletion-time";

/// Phases of a Machine.
pub mod phase {
    /// Created, its Node has not joined.
    pub const PENDING: &str = "Pending";
    /// Created, without a Node to wait for.
    pub const AVAILABLE: &str = "Available";
    /// Its Node is ready.
    pub const RUNNING: &str = "Running";
    /// Its Node is not ready.
    pub const UNKNOWN: &str = "Unknown";
    /// Given up.
    pub const FAILED: &str = "Failed";
    /// Being deleted.
    pub const TERMINATING: &str = "Terminating";
    /// Creation failed and is tried again.
    pub const CRASH_LOOP_BACK_OFF: &str = "CrashLoopBackOff";
    /// Being updated in place.
    pub const IN_PLACE_UPDATING: &str = "InPlaceUpdating";
    /// The update in place succeeded.
    pub const IN_PLACE_UPDATE_SUCCESSFUL: &str = "InPlaceUpdateSuccessful";
    /// The update in place failed.
    pub const IN_PLACE_UPDATE_FAILED: &str = "InPlaceUpdateFailed";
}
