// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `machine.sapcloud.io/v1alpha1` share.
//!
//! Source: machine-controller-manager pkg/apis/machine/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClassSpec {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The operation that ran last, and how far it got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LastOperation {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error_code: String,
    pub last_update_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_preserve_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_health_timeout: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_conditions: Option<String>,
}

/// What a Machine is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSpec {
    pub class: ClassSpec,
    #[serde(rename = "providerID", skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    pub node_template: NodeTemplateSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_preserve_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_health_timeout: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_conditions: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSummary {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(rename = "providerID", skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    pub last_operation: LastOperation,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub owner_ref: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineTemplateSpec {
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    pub spec: MachineSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeTemplateSpec {
    #[schema(preserve_unknown)]
    pub metadata: ObjectMeta,
    pub spec: crate::kubernetes::core::NodeSpec,
}
