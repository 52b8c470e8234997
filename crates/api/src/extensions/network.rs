// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Network` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// The network plugin of a Shoot.
#[api_type]
pub struct Network {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Network.
    #[schema(required)]
    pub spec: NetworkSpec,
    /// Observed state of the Network.
    pub status: NetworkStatus,
}

/// Specification of a Network.
#[api_type]
pub struct NetworkSpec {
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Network of the pods, in CIDR form.
    #[schema(rename = "podCIDR", required)]
    pub pod_cidr: String,
    /// Network of the services, in CIDR form.
    #[schema(rename = "serviceCIDR", required)]
    pub service_cidr: String,
    /// IP families, the first one preferred.
    pub ip_families: Vec<String>,
}

/// Status of a Network.
#[api_type]
pub struct NetworkStatus {
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
    /// IP families that the network supports at present.
    pub ip_families: Vec<String>,
}

impl_resource!(Network, "extensions.gardener.cloud", "v1alpha1", "Network", "networks", true);
