// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Infrastructure` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Networks and other infrastructure of a Shoot's nodes.
#[api_type]
pub struct Infrastructure {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Infrastructure.
    #[schema(required)]
    pub spec: InfrastructureSpec,
    /// Observed state of the Infrastructure.
    pub status: InfrastructureStatus,
}

/// Specification of an Infrastructure.
#[api_type]
pub struct InfrastructureSpec {
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Region of the infrastructure.
    #[schema(required)]
    pub region: String,
    /// Secret with the credentials of the infrastructure.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    /// Public key for access to the machines.
    pub ssh_public_key: ByteString,
}

/// Status of an Infrastructure.
#[api_type]
pub struct InfrastructureStatus {
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
    /// Network of the nodes, if the extension chose it.
    #[schema(rename = "nodesCIDR")]
    pub nodes_cidr: Option<String>,
    /// Source addresses of traffic that leaves the cluster, in CIDR form.
    #[schema(rename = "egressCIDRs")]
    pub egress_cid_rs: Vec<String>,
    /// Networks that the extension created.
    pub networking: Option<InfrastructureStatusNetworking>,
}

/// Networks that an infrastructure extension created.
#[api_type]
pub struct InfrastructureStatusNetworking {
    /// Networks of the pods, in CIDR form.
    pub pods: Vec<String>,
    /// Networks of the nodes, in CIDR form.
    pub nodes: Vec<String>,
    /// Networks of the services, in CIDR form.
    pub services: Vec<String>,
}

impl_resource!(Infrastructure, "extensions.gardener.cloud", "v1alpha1", "Infrastructure", "infrastructures", true);
