// SPDX-License-Identifier: Apache-2.0
//! Types of kind `MachineSet` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A number of equal Machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSet {
    pub metadata: ObjectMeta,
    pub spec: MachineSetSpec,
    pub status: MachineSetStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSetCondition {
    #[schema(required)]
    pub r#type: String,
    #[schema(required)]
    pub status: String,
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What a MachineSet is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSetSpec {
    #[serde(skip_serializing_if = "is_zero")]
    pub replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    pub machine_class: ClassSpec,
    pub template: MachineTemplateSpec,
    #[serde(skip_serializing_if = "is_zero")]
    pub min_ready_seconds: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub auto_preserve_failed_machine_max: i32,
}

/// What is known of a MachineSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSetStatus {
    #[serde(skip_serializing_if = "is_zero")]
    pub replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub fully_labeled_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub ready_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub available_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub preserved_failed_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_set_condition: Vec<MachineSetCondition>,
    pub last_operation: LastOperation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_machines: Option<Vec<MachineSummary>>,
    #[serde(skip_serializing_if = "is_zero")]
    pub auto_preserve_failed_machine_count: i32,
}

impl_resource!(MachineSet, "machine.sapcloud.io", "v1alpha1", "MachineSet", "machinesets", true);
