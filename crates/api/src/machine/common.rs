// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `machine.sapcloud.io/v1alpha1` share.
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are
//! the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

/// Reference to a MachineClass.
#[api_type]
pub struct ClassSpec {
    /// Group of the kind.
    pub api_group: String,
    /// Kind: MachineClass.
    pub kind: String,
    /// Name of the class.
    pub name: String,
}

/// The current or last operation and its progress.
#[api_type]
pub struct LastOperation {
    /// Description of the current step, or of the result.
    pub description: String,
    /// Code of the error, if the provider reports one.
    pub error_code: String,
    /// Time of the last change in the operation's state.
    pub last_update_time: Time,
    /// Processing, Failed or Successful.
    pub state: String,
    /// Create, Update, Delete, HealthCheck, Drain or InPlaceUpdate.
    pub r#type: String,
}

/// Timeouts and health checks of a machine.
#[api_type]
pub struct MachineConfiguration {
    /// Maximum duration of draining the node.
    pub drain_timeout: Option<Duration>,
    /// Duration for which the machine may be unhealthy.
    pub health_timeout: Option<Duration>,
    /// Maximum duration of the machine's creation.
    pub creation_timeout: Option<Duration>,
    /// Maximum duration of an in-place update.
    pub in_place_update_timeout: Option<Duration>,
    /// Duration for which a failed machine is preserved.
    pub machine_preserve_timeout: Option<Duration>,
    /// True if an unhealthy machine is never replaced.
    pub disable_health_timeout: Option<bool>,
    /// Maximum number of evictions of a pod that are tried.
    pub max_evict_retries: Option<i32>,
    /// Conditions of the node that make the machine unhealthy, separated by commas.
    pub node_conditions: Option<String>,
}

/// Specification of a Machine.
#[api_type]
pub struct MachineSpec {
    /// Class of the machine.
    pub class: ClassSpec,
    /// Identifier of the machine at the provider.
    #[schema(rename = "providerID")]
    pub provider_id: String,
    /// Labels, annotations and taints of the node.
    pub node_template: NodeTemplateSpec,
    /// Maximum duration of draining the node.
    pub drain_timeout: Option<Duration>,
    /// Duration for which the machine may be unhealthy.
    pub health_timeout: Option<Duration>,
    /// Maximum duration of the machine's creation.
    pub creation_timeout: Option<Duration>,
    /// Maximum duration of an in-place update.
    pub in_place_update_timeout: Option<Duration>,
    /// Duration for which a failed machine is preserved.
    pub machine_preserve_timeout: Option<Duration>,
    /// True if an unhealthy machine is never replaced.
    pub disable_health_timeout: Option<bool>,
    /// Maximum number of evictions of a pod that are tried.
    pub max_evict_retries: Option<i32>,
    /// Conditions of the node that make the machine unhealthy, separated by commas.
    pub node_conditions: Option<String>,
}

/// A failed machine.
#[api_type]
pub struct MachineSummary {
    /// Name of the machine.
    pub name: String,
    /// Identifier of the machine at the provider.
    #[schema(rename = "providerID")]
    pub provider_id: String,
    /// The operation that failed.
    pub last_operation: LastOperation,
    /// MachineSet of the machine.
    pub owner_ref: String,
}

/// Template of machines.
#[api_type]
pub struct MachineTemplateSpec {
    /// Labels and annotations of the machine.
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    /// Desired state of the machines.
    pub spec: MachineSpec,
}

/// Labels, annotations and taints of a machine's node.
#[api_type]
pub struct NodeTemplateSpec {
    /// Labels and annotations of the node.
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    /// Taints of the node.
    pub spec: crate::kubernetes::core::NodeSpec,
}
