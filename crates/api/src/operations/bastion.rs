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
    /// Metadata of the object.
    #[schema(required)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(required)]
    pub spec: BastionSpec,
    /// What is there.
    pub status: BastionStatus,
}

/// Who may reach a bastion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionIngressPolicy {
    /// Network that may reach it.
    #[schema(required)]
    pub ip_block: crate::kubernetes::networking::IPBlock,
}

/// What a Bastion is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionSpec {
    /// Shoot to whose nodes the bastion leads. Cannot be changed.
    #[schema(required)]
    pub shoot_ref: crate::kubernetes::core::LocalObjectReference,
    /// Seed of the Shoot; set by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// Provider of the Shoot; set by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_type: Option<String>,
    /// Public key of the user who logs in. Cannot be changed.
    #[schema(required)]
    pub ssh_public_key: String,
    /// Who may reach the bastion.
    #[schema(required)]
    pub ingress: Vec<BastionIngressPolicy>,
}

/// What is known of a Bastion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionStatus {
    /// Address of the bastion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<crate::kubernetes::core::LoadBalancerIngress>,
    /// Conditions of the object, one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    /// When somebody said last that the bastion is still needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_timestamp: Option<Time>,
    /// When the bastion is deleted if nobody says so again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_timestamp: Option<Time>,
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl_resource!(Bastion, "operations.gardener.cloud", "v1alpha1", "Bastion", "bastions", true);
