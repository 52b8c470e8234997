// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Infrastructure` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// The networks and the like that a Shoot's nodes live in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Infrastructure {
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub spec: InfrastructureSpec,
    pub status: InfrastructureStatus,
}

/// What an Infrastructure is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InfrastructureSpec {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    #[schema(required)]
    pub region: String,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    #[serde(skip_serializing_if = "is_zero")]
    pub ssh_public_key: ByteString,
}

/// What is known of an Infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InfrastructureStatus {
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
    #[serde(rename = "nodesCIDR", skip_serializing_if = "Option::is_none")]
    pub nodes_cidr: Option<String>,
    #[serde(rename = "egressCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub egress_cid_rs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<InfrastructureStatusNetworking>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InfrastructureStatusNetworking {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
}

impl_resource!(Infrastructure, "extensions.gardener.cloud", "v1alpha1", "Infrastructure", "infrastructures", true);
