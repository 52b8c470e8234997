// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Bastion` (`operations.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/operations/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A host through which operators reach the nodes of a Shoot for a while.
#[api_type]
pub struct Bastion {
    /// Metadata of the object.
    #[schema(required)]
    pub metadata: ObjectMeta,
    /// Desired state of the Bastion.
    #[schema(required)]
    pub spec: BastionSpec,
    /// Observed state of the Bastion.
    pub status: BastionStatus,
}

/// Who may reach a bastion.
#[api_type]
pub struct BastionIngressPolicy {
    /// Network that may reach it.
    #[schema(required)]
    pub ip_block: crate::kubernetes::networking::IPBlock,
}

/// Specification of a Bastion.
#[api_type]
pub struct BastionSpec {
    /// Shoot to whose nodes the bastion leads. Cannot be changed.
    #[schema(required)]
    pub shoot_ref: crate::kubernetes::core::LocalObjectReference,
    /// Seed of the Shoot; set by the server.
    pub seed_name: Option<String>,
    /// Provider of the Shoot; set by the server.
    pub provider_type: Option<String>,
    /// Public key of the user who logs in. Cannot be changed.
    #[schema(required)]
    pub ssh_public_key: String,
    /// Who may reach the bastion.
    #[schema(required)]
    pub ingress: Vec<BastionIngressPolicy>,
}

/// Status of a Bastion.
#[api_type]
pub struct BastionStatus {
    /// Address of the bastion.
    pub ingress: Option<crate::kubernetes::core::LoadBalancerIngress>,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    /// When somebody said last that the bastion is still needed.
    pub last_heartbeat_timestamp: Option<Time>,
    /// When the bastion is deleted if nobody says so again.
    pub expiration_timestamp: Option<Time>,
    /// Generation of the specification that was acted on last.
    pub observed_generation: Option<i64>,
}

impl_resource!(Bastion, "operations.gardener.cloud", "v1alpha1", "Bastion", "bastions", true);
