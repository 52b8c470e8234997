// SPDX-License-Identifier: Apache-2.0
//! Types of kind `MachineDeployment` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are
//! the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A number of like Machines, and how changes are rolled out.
#[api_type]
pub struct MachineDeployment {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the MachineDeployment.
    pub spec: MachineDeploymentSpec,
    /// Observed state of the MachineDeployment.
    pub status: MachineDeploymentStatus,
}

/// Settings of in-place updates.
#[api_type]
pub struct InPlaceUpdateMachineDeployment {
    /// How many machines may be missing.
    pub max_unavailable: Option<IntOrString>,
    /// How many machines may be added beyond the wanted number.
    pub max_surge: Option<IntOrString>,
    /// Auto: machines are chosen one after the other; Manual: the user chooses.
    pub orchestration_type: String,
}

/// One aspect of a MachineDeployment's state.
#[api_type]
pub struct MachineDeploymentCondition {
    /// Type of the condition: Available, Progressing, ReplicaFailure, Frozen.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// When the condition was looked at last.
    pub last_update_time: Time,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Reason in sentences.
    pub message: String,
}

/// Specification of a MachineDeployment.
#[api_type]
pub struct MachineDeploymentSpec {
    /// Wanted number of machines.
    pub replicas: i32,
    /// Labels by which the machines are found.
    pub selector: Option<LabelSelector>,
    /// The machines to be made.
    #[schema(required)]
    pub template: MachineTemplateSpec,
    /// How machines are updated.
    #[schema(patch_strategy = "retainKeys")]
    pub strategy: MachineDeploymentStrategy,
    /// Seconds for which a machine must be ready to count as available.
    pub min_ready_seconds: i32,
    /// How many old MachineSets are kept.
    pub revision_history_limit: Option<i32>,
    /// Whether changes are not rolled out.
    pub paused: bool,
    /// Revision to go back to.
    pub rollback_to: Option<RollbackConfig>,
    /// Seconds after which a roll-out without progress counts as failed.
    pub progress_deadline_seconds: Option<i32>,
    /// How many failed machines are kept at most.
    pub auto_preserve_failed_machine_max: i32,
}

/// Status of a MachineDeployment.
#[api_type]
pub struct MachineDeploymentStatus {
    /// Generation of the specification that was acted on last.
    pub observed_generation: i64,
    /// Number of machines.
    pub replicas: i32,
    /// Number of machines that follow the present template.
    pub updated_replicas: i32,
    /// Number of machines that are ready.
    pub ready_replicas: i32,
    /// Number of machines that have been ready for long enough.
    pub available_replicas: i32,
    /// Number of failed machines that are kept.
    pub preserved_failed_replicas: i32,
    /// Number of machines that are missing or not available.
    pub unavailable_replicas: i32,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<MachineDeploymentCondition>,
    /// How many names of MachineSets clashed.
    pub collision_count: Option<i32>,
    /// Machines that failed.
    pub failed_machines: Vec<MachineSummary>,
}

/// How machines are updated.
#[api_type]
pub struct MachineDeploymentStrategy {
    /// Recreate, RollingUpdate or InPlaceUpdate.
    pub r#type: String,
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateMachineDeployment>,
    /// Settings of InPlaceUpdate.
    pub in_place_update: Option<InPlaceUpdateMachineDeployment>,
}

/// Going back to an older revision.
#[api_type]
pub struct RollbackConfig {
    /// The revision; 0 means the last one.
    pub revision: i64,
}

/// Settings of a rolling update.
#[api_type]
pub struct RollingUpdateMachineDeployment {
    /// How many machines may be missing.
    pub max_unavailable: Option<IntOrString>,
    /// How many machines may be added beyond the wanted number.
    pub max_surge: Option<IntOrString>,
}

/// Bounds of an update.
#[api_type]
pub struct UpdateConfiguration {
    /// How many machines may be missing.
    pub max_unavailable: Option<IntOrString>,
    /// How many machines may be added beyond the wanted number.
    pub max_surge: Option<IntOrString>,
}

impl_resource!(MachineDeployment, "machine.sapcloud.io", "v1alpha1", "MachineDeployment", "machinedeployments", true);
