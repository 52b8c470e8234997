// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Network` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// The network plugin of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Network {
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub spec: NetworkSpec,
    pub status: NetworkStatus,
}

/// What a Network is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkSpec {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    #[serde(rename = "podCIDR")]
    #[schema(required)]
    pub pod_cidr: String,
    #[serde(rename = "serviceCIDR")]
    #[schema(required)]
    pub service_cidr: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

/// What is known of a Network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<crate::core::LastError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<crate::core::LastOperation>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<crate::core::NamedResourceReference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

impl_resource!(Network, "extensions.gardener.cloud", "v1alpha1", "Network", "networks", true);
