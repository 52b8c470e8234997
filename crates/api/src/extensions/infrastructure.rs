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
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(required)]
    pub spec: InfrastructureSpec,
    /// What is there.
    pub status: InfrastructureStatus,
}

/// What an Infrastructure is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InfrastructureSpec {
    /// Type: which extension is responsible.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Region of the infrastructure.
    #[schema(required)]
    pub region: String,
    /// Secret with the credentials of the infrastructure.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    /// Public key for access to the machines.
    #[serde(skip_serializing_if = "is_zero")]
    pub ssh_public_key: ByteString,
}

/// What is known of an Infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InfrastructureStatus {
    /// What the extension tells of the object, in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<crate::core::LastError>,
    /// The operation that runs, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// State that must not be lost, in the extension's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Objects that the state refers to, by names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<crate::core::NamedResourceReference>,
    /// Network of the nodes, where the extension chose it.
    #[serde(rename = "nodesCIDR", skip_serializing_if = "Option::is_none")]
    pub nodes_cidr: Option<String>,
    /// Addresses with which traffic leaves the cluster, in CIDR form.
    #[serde(rename = "egressCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub egress_cid_rs: Vec<String>,
    /// Networks as the extension made them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<InfrastructureStatusNetworking>,
}

/// Networks as an infrastructure extension made them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InfrastructureStatusNetworking {
    /// Networks of the pods, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
    /// Networks of the nodes, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Networks of the services, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
}

impl_resource!(Infrastructure, "extensions.gardener.cloud", "v1alpha1", "Infrastructure", "infrastructures", true);
