// SPDX-License-Identifier: Apache-2.0
//! Types of kind `MachineDeployment` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A number of like Machines, and how changes are rolled out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineDeployment {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: MachineDeploymentSpec,
    /// What is there.
    pub status: MachineDeploymentStatus,
}

/// Settings of in-place updates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdateMachineDeployment {
    /// How many machines may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How many machines may be added beyond the wanted number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// Auto: machines are chosen one after the other; Manual: the user chooses.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub orchestration_type: String,
}

/// One aspect of a MachineDeployment's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineDeploymentCondition {
    /// Type of the condition: Available, Progressing, ReplicaFailure, Frozen.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// When the condition was looked at last.
    pub last_update_time: Time,
    /// When the status changed last.
    pub last_transition_time: Time,
    /// Reason in one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Reason in sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What a MachineDeployment is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineDeploymentSpec {
    /// Wanted number of machines.
    #[serde(skip_serializing_if = "is_zero")]
    pub replicas: i32,
    /// Labels by which the machines are found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// The machines to be made.
    #[schema(required)]
    pub template: MachineTemplateSpec,
    /// How machines are updated.
    #[schema(patch_strategy = "retainKeys")]
    pub strategy: MachineDeploymentStrategy,
    /// Seconds for which a machine must be ready to count as available.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_ready_seconds: i32,
    /// How many old MachineSets are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    /// Whether changes are not rolled out.
    #[serde(skip_serializing_if = "is_zero")]
    pub paused: bool,
    /// Revision to go back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<RollbackConfig>,
    /// Seconds after which a roll-out without progress counts as failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_deadline_seconds: Option<i32>,
    /// How many failed machines are kept at most.
    #[serde(skip_serializing_if = "is_zero")]
    pub auto_preserve_failed_machine_max: i32,
}

/// What is known of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineDeploymentStatus {
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Number of machines.
    #[serde(skip_serializing_if = "is_zero")]
    pub replicas: i32,
    /// Number of machines that follow the present template.
    #[serde(skip_serializing_if = "is_zero")]
    pub updated_replicas: i32,
    /// Number of machines that are ready.
    #[serde(skip_serializing_if = "is_zero")]
    pub ready_replicas: i32,
    /// Number of machines that have been ready for long enough.
    #[serde(skip_serializing_if = "is_zero")]
    pub available_replicas: i32,
    /// Number of failed machines that are kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub preserved_failed_replicas: i32,
    /// Number of machines that are missing or not available.
    #[serde(skip_serializing_if = "is_zero")]
    pub unavailable_replicas: i32,
    /// Conditions of the object, one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<MachineDeploymentCondition>,
    /// How many names of MachineSets clashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision_count: Option<i32>,
    /// Machines that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_machines: Vec<MachineSummary>,
}

/// How machines are updated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineDeploymentStrategy {
    /// Recreate, RollingUpdate or InPlaceUpdate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#type: String,
    /// Settings of RollingUpdate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdateMachineDeployment>,
    /// Settings of InPlaceUpdate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update: Option<InPlaceUpdateMachineDeployment>,
}

/// Going back to an older revision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RollbackConfig {
    /// The revision; 0 means the last one.
    #[serde(skip_serializing_if = "is_zero")]
    pub revision: i64,
}

/// Settings of a rolling update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdateMachineDeployment {
    /// How many machines may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How many machines may be added beyond the wanted number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
}

/// Bounds of an update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpdateConfiguration {
    /// How many machines may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How many machines may be added beyond the wanted number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
}

impl_resource!(MachineDeployment, "machine.sapcloud.io", "v1alpha1", "MachineDeployment", "machinedeployments", true);
