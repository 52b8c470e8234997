// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Machine` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are
//! the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// One virtual machine that becomes a Node.
#[api_type]
pub struct Machine {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Machine.
    pub spec: MachineSpec,
    /// Observed state of the Machine.
    pub status: MachineStatus,
}

/// The phase of a machine.
#[api_type]
pub struct CurrentStatus {
    /// Pending, Available, Running, Terminating, Unknown, Failed, CrashLoopBackOff, InPlaceUpdating and so on.
    pub phase: String,
    /// True while the timeout runs after which the machine fails.
    pub timeout_active: bool,
    /// Time of the last change of phase.
    pub last_update_time: Time,
    /// Time until which a failed machine is preserved.
    pub preserve_expiry_time: Option<Time>,
}

/// Status of a Machine.
#[api_type]
pub struct MachineStatus {
    /// Addresses of the node.
    pub addresses: Vec<crate::kubernetes::core::NodeAddress>,
    /// Conditions of the node.
    pub conditions: Vec<crate::kubernetes::core::NodeCondition>,
    /// The last operation on the machine.
    pub last_operation: LastOperation,
    /// The phase of the machine.
    pub current_status: CurrentStatus,
    /// Last state that the provider's driver reported; the driver uses it to find the machine.
    pub last_known_state: String,
}

impl_resource!(Machine, "machine.sapcloud.io", "v1alpha1", "Machine", "machines", true);
