// SPDX-License-Identifier: Apache-2.0
//! Types of kind `MachineSet` (`machine.sapcloud.io/v1alpha1`).
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are
//! the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// Maintains a number of identical Machines.
#[api_type]
pub struct MachineSet {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the MachineSet.
    pub spec: MachineSetSpec,
    /// Observed state of the MachineSet.
    pub status: MachineSetStatus,
}

/// One aspect of a MachineSet's state.
#[api_type]
pub struct MachineSetCondition {
    /// Type of the condition.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// Specification of a MachineSet.
#[api_type]
pub struct MachineSetSpec {
    /// Desired number of machines.
    pub replicas: i32,
    /// Labels of the machines.
    pub selector: Option<LabelSelector>,
    /// Class of the machines.
    pub machine_class: ClassSpec,
    /// Template of the machines.
    pub template: MachineTemplateSpec,
    /// Seconds for which a machine must be ready to count as available.
    pub min_ready_seconds: i32,
    /// Maximum number of failed machines that are preserved automatically.
    pub auto_preserve_failed_machine_max: i32,
}

/// Status of a MachineSet.
#[api_type]
pub struct MachineSetStatus {
    /// Number of machines.
    pub replicas: i32,
    /// Number of machines with all labels of the template.
    pub fully_labeled_replicas: i32,
    /// Number of machines that are ready.
    pub ready_replicas: i32,
    /// Number of machines that have been ready for minReadySeconds.
    pub available_replicas: i32,
    /// Number of failed machines that are preserved.
    pub preserved_failed_replicas: i32,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Conditions of the MachineSet.
    pub machine_set_condition: Vec<MachineSetCondition>,
    /// The last operation.
    pub last_operation: LastOperation,
    /// Failed machines.
    pub failed_machines: Option<Vec<MachineSummary>>,
    /// Number of failed machines that were preserved automatically.
    pub auto_preserve_failed_machine_count: i32,
}

impl_resource!(MachineSet, "machine.sapcloud.io", "v1alpha1", "MachineSet", "machinesets", true);
