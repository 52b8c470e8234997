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
    pub metadata: ObjectMeta,
    pub spec: MachineSpec,
    pub status: MachineStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CurrentStatus {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout_active: bool,
    pub last_update_time: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_expiry_time: Option<Time>,
}

/// What is known of a Machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<crate::kubernetes::core::NodeAddress>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::kubernetes::core::NodeCondition>,
    pub last_operation: LastOperation,
    pub current_status: CurrentStatus,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_known_state: String,
}

impl_resource!(Machine, "machine.sapcloud.io", "v1alpha1", "Machine", "machines", true);
