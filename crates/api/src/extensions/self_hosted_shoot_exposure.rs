// SPDX-License-Identifier: Apache-2.0
//! Types of kind `SelfHostedShootExposure` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.149.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Exposure of the control plane of a self-hosted Shoot. Served; not emulated.
#[api_type]
pub struct SelfHostedShootExposure {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Specification of the exposure. Served; not emulated.
    #[schema(required)]
    pub spec: SelfHostedShootExposureSpec,
    /// Status of the exposure. Served; not emulated.
    pub status: SelfHostedShootExposureStatus,
}

/// A node of the control plane. Served; not emulated.
#[api_type]
pub struct ControlPlaneEndpoint {
    /// Name of the node. Served; not emulated.
    #[schema(required)]
    pub node_name: String,
    /// Addresses of the node. Served; not emulated.
    #[schema(required)]
    pub addresses: Vec<crate::kubernetes::core::NodeAddress>,
}

/// Specification of a SelfHostedShootExposure. Served; not emulated.
#[api_type]
pub struct SelfHostedShootExposureSpec {
    /// Type of the extension that is responsible. Served; not emulated.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden. Served; not emulated.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension. Served; not emulated.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Credentials of the infrastructure, if Gardener manages it. Served; not emulated.
    pub credentials_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// Port of the API server and of the exposure. Served; not emulated.
    #[schema(required)]
    pub port: i32,
    /// Healthy nodes of the control plane. Served; not emulated.
    #[schema(required)]
    pub endpoints: Vec<ControlPlaneEndpoint>,
}

/// Status of a SelfHostedShootExposure. Served; not emulated.
#[api_type]
pub struct SelfHostedShootExposureStatus {
    /// Status in the format of the provider's extension. Served; not emulated.
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type. Served; not emulated.
    pub conditions: Vec<crate::core::Condition>,
    /// The last error. Served; not emulated.
    pub last_error: Option<crate::core::LastError>,
    /// The operation in progress, or the last one. Served; not emulated.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last. Served; not emulated.
    pub observed_generation: i64,
    /// State to persist, in the extension's format. Served; not emulated.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses. Served; not emulated.
    pub resources: Vec<crate::core::NamedResourceReference>,
    /// Addresses of the exposure. Served; not emulated.
    pub ingress: Vec<crate::kubernetes::core::LoadBalancerIngress>,
}

impl_resource!(
    SelfHostedShootExposure,
    "extensions.gardener.cloud",
    "v1alpha1",
    "SelfHostedShootExposure",
    "selfhostedshootexposures",
    true
);
