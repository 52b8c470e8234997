// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Machine` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// One virtual machine that becomes a Node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Machine {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: MachineSpec,
    /// What is there.
    pub status: MachineStatus,
}

/// The phase of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CurrentStatus {
    /// Pending, Available, Running, Terminating, Unknown, Failed, CrashLoopBackOff, InPlaceUpdating and the like.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Whether the time after which the machine fails is running.
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout_active: bool,
    /// When the phase changed last.
    pub last_update_time: Time,
    /// Until when a failed machine is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_expiry_time: Option<Time>,
}

/// What is known of a Machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// Addresses of the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<crate::kubernetes::core::NodeAddress>,
    /// Conditions of the node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::kubernetes::core::NodeCondition>,
    /// The last operation on the machine.
    pub last_operation: LastOperation,
    /// The phase of the machine.
    pub current_status: CurrentStatus,
    /// What the provider's driver needs to find the machine again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_known_state: String,
}

impl_resource!(Machine, "machine.sapcloud.io", "v1alpha1", "Machine", "machines", true);
