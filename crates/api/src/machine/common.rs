// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `machine.sapcloud.io/v1alpha1` share.
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

/// Reference to a MachineClass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClassSpec {
    /// Group of the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// Kind: MachineClass.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Name of the class.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The operation that ran last, and how far it got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LastOperation {
    /// What is being done, or how it ended.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Code of the error, where the provider gives one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error_code: String,
    /// When the operation's state changed last.
    pub last_update_time: Time,
    /// Processing, Failed or Successful.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Create, Update, Delete, HealthCheck, Drain or InPlaceUpdate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#type: String,
}

/// How a machine is looked after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineConfiguration {
    /// How long draining the node may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<Duration>,
    /// How long the machine may be unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_timeout: Option<Duration>,
    /// How long the machine may take to come up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timeout: Option<Duration>,
    /// How long an in-place update may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update_timeout: Option<Duration>,
    /// How long a failed machine is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_preserve_timeout: Option<Duration>,
    /// Whether the machine is never replaced for being unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_health_timeout: Option<bool>,
    /// How often a pod's eviction is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    /// Conditions of the node by which the machine counts as unhealthy, with commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_conditions: Option<String>,
}

/// What a Machine is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSpec {
    /// Class that says what machine it is.
    pub class: ClassSpec,
    /// Identifier of the machine at the provider.
    #[serde(rename = "providerID", skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    /// Labels, annotations and taints of the node.
    pub node_template: NodeTemplateSpec,
    /// How long draining the node may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<Duration>,
    /// How long the machine may be unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_timeout: Option<Duration>,
    /// How long the machine may take to come up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timeout: Option<Duration>,
    /// How long an in-place update may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update_timeout: Option<Duration>,
    /// How long a failed machine is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_preserve_timeout: Option<Duration>,
    /// Whether the machine is never replaced for being unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_health_timeout: Option<bool>,
    /// How often a pod's eviction is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    /// Conditions of the node by which the machine counts as unhealthy, with commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_conditions: Option<String>,
}

/// A machine that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSummary {
    /// Name of the machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Identifier of the machine at the provider.
    #[serde(rename = "providerID", skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    /// The operation that failed.
    pub last_operation: LastOperation,
    /// MachineSet of the machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner_ref: String,
}

/// A machine to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineTemplateSpec {
    /// Labels and annotations of the machine.
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    /// What the machine is to be.
    pub spec: MachineSpec,
}

/// What a machine's node gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeTemplateSpec {
    /// Labels and annotations of the node.
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    /// Taints of the node.
    pub spec: crate::kubernetes::core::NodeSpec,
}
