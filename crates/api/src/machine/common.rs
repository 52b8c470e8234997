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

/// The operation that ran last, and how far it got.
#[api_type]
pub struct LastOperation {
    /// What is being done, or how it ended.
    pub description: String,
    /// Code of the error, where the provider gives one.
    pub error_code: String,
    /// When the operation's state changed last.
    pub last_update_time: Time,
    /// Processing, Failed or Successful.
    pub state: String,
    /// Create, Update, Delete, HealthCheck, Drain or InPlaceUpdate.
    pub r#type: String,
}

/// How a machine is looked after.
#[api_type]
pub struct MachineConfiguration {
    /// How long draining the node may take.
    pub drain_timeout: Option<Duration>,
    /// How long the machine may be unhealthy.
    pub health_timeout: Option<Duration>,
    /// How long the machine may take to come up.
    pub creation_timeout: Option<Duration>,
    /// How long an in-place update may take.
    pub in_place_update_timeout: Option<Duration>,
    /// How long a failed machine is kept.
    pub machine_preserve_timeout: Option<Duration>,
    /// Whether the machine is never replaced for being unhealthy.
    pub disable_health_timeout: Option<bool>,
    /// How often a pod's eviction is tried again.
    pub max_evict_retries: Option<i32>,
    /// Conditions of the node by which the machine counts as unhealthy, with commas.
    pub node_conditions: Option<String>,
}

/// Specification of a Machine.
#[api_type]
pub struct MachineSpec {
    /// Class that says what machine it is.
    pub class: ClassSpec,
    /// Identifier of the machine at the provider.
    #[schema(rename = "providerID")]
    pub provider_id: String,
    /// Labels, annotations and taints of the node.
    pub node_template: NodeTemplateSpec,
    /// How long draining the node may take.
    pub drain_timeout: Option<Duration>,
    /// How long the machine may be unhealthy.
    pub health_timeout: Option<Duration>,
    /// How long the machine may take to come up.
    pub creation_timeout: Option<Duration>,
    /// How long an in-place update may take.
    pub in_place_update_timeout: Option<Duration>,
    /// How long a failed machine is kept.
    pub machine_preserve_timeout: Option<Duration>,
    /// Whether the machine is never replaced for being unhealthy.
    pub disable_health_timeout: Option<bool>,
    /// How often a pod's eviction is tried again.
    pub max_evict_retries: Option<i32>,
    /// Conditions of the node by which the machine counts as unhealthy, with commas.
    pub node_conditions: Option<String>,
}

/// A machine that failed.
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

/// A machine to be made.
#[api_type]
pub struct MachineTemplateSpec {
    /// Labels and annotations of the machine.
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    /// What the machine is to be.
    pub spec: MachineSpec,
}

/// What a machine's node gets.
#[api_type]
pub struct NodeTemplateSpec {
    /// Labels and annotations of the node.
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    /// Taints of the node.
    pub spec: crate::kubernetes::core::NodeSpec,
}
