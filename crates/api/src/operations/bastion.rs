// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Bastion` (`operations.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/operations/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A host that gives operators temporary access to the nodes of a Shoot.
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

/// Network with access to a bastion.
#[api_type]
pub struct BastionIngressPolicy {
    /// Network, in CIDR form.
    #[schema(required)]
    pub ip_block: crate::kubernetes::networking::IPBlock,
}

/// Specification of a Bastion.
#[api_type]
pub struct BastionSpec {
    /// Shoot whose nodes the bastion gives access to. Cannot be changed.
    #[schema(required)]
    pub shoot_ref: crate::kubernetes::core::LocalObjectReference,
    /// Seed of the Shoot; set by the server.
    pub seed_name: Option<String>,
    /// Provider of the Shoot; set by the server.
    pub provider_type: Option<String>,
    /// Public key of the user who logs in. Cannot be changed.
    #[schema(required)]
    pub ssh_public_key: String,
    /// Networks with access to the bastion.
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
    /// Time of the last heartbeat, with which a user confirms that the bastion is still needed.
    pub last_heartbeat_timestamp: Option<Time>,
    /// Time at which the bastion is deleted unless another heartbeat follows.
    pub expiration_timestamp: Option<Time>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: Option<i64>,
}

impl_resource!(Bastion, "operations.gardener.cloud", "v1alpha1", "Bastion", "bastions", true);
