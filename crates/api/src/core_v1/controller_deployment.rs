// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerDeployment` (`core.gardener.cloud/v1`).
//!
//! Source: pkg/apis/core/v1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Deployment of an extension controller.
#[api_type]
pub struct ControllerDeployment {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Chart and values.
    pub helm: Option<HelmControllerDeployment>,
    /// Injects a kubeconfig for the garden cluster into the controller.
    pub inject_garden_kubeconfig: Option<bool>,
    /// Named references to Secrets and ConfigMaps of namespace garden that values of the chart use.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub resources: Vec<NamedResourceReference>,
}

/// A Helm chart and its values.
#[api_type]
pub struct HelmControllerDeployment {
    /// The chart itself, as a compressed archive.
    pub raw_chart: ByteString,
    /// Values for the chart.
    pub values: Option<RawExtension>,
    /// Registry that holds the chart.
    pub oci_repository: Option<OCIRepository>,
}

/// A reference to an object that values of a chart use by a name.
#[api_type]
pub struct NamedResourceReference {
    /// Name of the reference; unique in the list.
    #[schema(required)]
    pub name: String,
    /// The object: a Secret or ConfigMap.
    #[schema(required)]
    pub resource_ref: crate::kubernetes::autoscaling::CrossVersionObjectReference,
}

/// A chart or image in a registry.
#[api_type]
pub struct OCIRepository {
    /// Full reference, with tag or digest; takes precedence over the other fields.
    pub r#ref: Option<String>,
    /// Address of the repository.
    pub repository: Option<String>,
    /// Tag of the version.
    pub tag: Option<String>,
    /// Digest of the version; takes precedence over the tag.
    pub digest: Option<String>,
    /// Secret with the credentials for the registry.
    pub pull_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
    /// Secret with the certificates of the registry's authority, under the key `bundle.crt`.
    pub ca_bundle_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

impl_resource!(
    ControllerDeployment,
    "core.gardener.cloud",
    "v1",
    "ControllerDeployment",
    "controllerdeployments",
    false
);
