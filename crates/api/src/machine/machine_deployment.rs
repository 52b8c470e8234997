// SPDX-License-Identifier: Apache-2.0
//! Types of kind `MachineDeployment` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are
//! the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// Maintains a number of Machines, and rolls out changes of their template.
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
    /// Number, or percentage, of machines that may be missing.
    pub max_unavailable: Option<IntOrString>,
    /// Number, or percentage, of machines that may be added beyond the desired number.
    pub max_surge: Option<IntOrString>,
    /// Selection of machines: Auto (one after the other) or Manual (by the user).
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
    /// Time of the last update of the condition.
    pub last_update_time: Time,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// Specification of a MachineDeployment.
#[api_type]
pub struct MachineDeploymentSpec {
    /// Desired number of machines.
    pub replicas: i32,
    /// Labels of the machines.
    pub selector: Option<LabelSelector>,
    /// Template of the machines.
    #[schema(required)]
    pub template: MachineTemplateSpec,
    /// Strategy for updating machines.
    #[schema(patch_strategy = "retainKeys")]
    pub strategy: MachineDeploymentStrategy,
    /// Seconds for which a machine must be ready to count as available.
    pub min_ready_seconds: i32,
    /// Number of old MachineSets to keep.
    pub revision_history_limit: Option<i32>,
    /// Suspends the roll-out of changes.
    pub paused: bool,
    /// Revision to roll back to.
    pub rollback_to: Option<RollbackConfig>,
    /// Seconds after which a roll-out without progress counts as failed.
    pub progress_deadline_seconds: Option<i32>,
    /// Maximum number of failed machines that are preserved automatically.
    pub auto_preserve_failed_machine_max: i32,
}

/// Status of a MachineDeployment.
#[api_type]
pub struct MachineDeploymentStatus {
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Number of machines.
    pub replicas: i32,
    /// Number of machines that have the current template.
    pub updated_replicas: i32,
    /// Number of machines that are ready.
    pub ready_replicas: i32,
    /// Number of machines that have been ready for minReadySeconds.
    pub available_replicas: i32,
    /// Number of failed machines that are preserved.
    pub preserved_failed_replicas: i32,
    /// Number of machines that are missing or not available.
    pub unavailable_replicas: i32,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<MachineDeploymentCondition>,
    /// Number of collisions of names of MachineSets.
    pub collision_count: Option<i32>,
    /// Failed machines.
    pub failed_machines: Vec<MachineSummary>,
}

/// Strategy for updating machines.
#[api_type]
pub struct MachineDeploymentStrategy {
    /// Recreate, RollingUpdate or InPlaceUpdate.
    pub r#type: String,
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateMachineDeployment>,
    /// Settings of InPlaceUpdate.
    pub in_place_update: Option<InPlaceUpdateMachineDeployment>,
}

/// Rollback to an older revision.
#[api_type]
pub struct RollbackConfig {
    /// The revision; 0 means the last one.
    pub revision: i64,
}

/// Settings of a rolling update.
#[api_type]
pub struct RollingUpdateMachineDeployment {
    /// Number, or percentage, of machines that may be missing.
    pub max_unavailable: Option<IntOrString>,
    /// Number, or percentage, of machines that may be added beyond the desired number.
    pub max_surge: Option<IntOrString>,
}

/// Bounds of an update.
#[api_type]
pub struct UpdateConfiguration {
    /// Number, or percentage, of machines that may be missing.
    pub max_unavailable: Option<IntOrString>,
    /// Number, or percentage, of machines that may be added beyond the desired number.
    pub max_surge: Option<IntOrString>,
}

impl_resource!(MachineDeployment, "machine.sapcloud.io", "v1alpha1", "MachineDeployment", "machinedeployments", true);
