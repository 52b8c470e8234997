// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Bastion` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A host that gives operators temporary access to the nodes of a Shoot.
#[api_type]
pub struct Bastion {
    /// Metadata of the object.
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
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Script that the machine runs at its start.
    #[schema(required)]
    pub user_data: ByteString,
    /// Networks with access to the bastion.
    #[schema(required)]
    pub ingress: Vec<BastionIngressPolicy>,
}

/// Status of a Bastion.
#[api_type]
pub struct BastionStatus {
    /// Status that the extension reports for the object, in its own format.
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type.
    pub conditions: Vec<crate::core::Condition>,
    /// The last error.
    pub last_error: Option<crate::core::LastError>,
    /// The current operation, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// State to persist, in the extension's format.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses.
    pub resources: Vec<crate::core::NamedResourceReference>,
    /// Address of the bastion.
    pub ingress: Option<crate::kubernetes::core::LoadBalancerIngress>,
}

impl_resource!(Bastion, "extensions.gardener.cloud", "v1alpha1", "Bastion", "bastions", true);
