// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Bastion` (`operations.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/operations/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// A host through which operators reach the nodes of a Shoot for a while.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Bastion {
    #[schema(required)]
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub spec: BastionSpec,
    pub status: BastionStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionIngressPolicy {
    #[schema(required)]
    pub ip_block: crate::kubernetes::networking::IPBlock,
}

/// What a Bastion is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionSpec {
    #[schema(required)]
    pub shoot_ref: crate::kubernetes::core::LocalObjectReference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_type: Option<String>,
    #[schema(required)]
    pub ssh_public_key: String,
    #[schema(required)]
    pub ingress: Vec<BastionIngressPolicy>,
}

/// What is known of a Bastion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<crate::kubernetes::core::LoadBalancerIngress>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl_resource!(Bastion, "operations.gardener.cloud", "v1alpha1", "Bastion", "bastions", true);
