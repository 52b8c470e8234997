// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ClusterOpenIDConnectPreset` (`settings.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/settings/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// OpenID Connect settings for new Shoots of selected Projects.
#[api_type]
pub struct ClusterOpenIDConnectPreset {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Specification of the ClusterOpenIDConnectPreset.
    #[schema(required)]
    pub spec: ClusterOpenIDConnectPresetSpec,
}

/// Specification of a ClusterOpenIDConnectPreset.
#[api_type]
pub struct ClusterOpenIDConnectPresetSpec {
    /// Settings of the API server.
    #[schema(required)]
    pub server: KubeAPIServerOpenIDConnect,
    /// Settings of clients.
    #[schema(deprecated)]
    pub client: Option<OpenIDConnectClientAuthentication>,
    /// Labels of the Shoots that get the settings. Default: all.
    pub shoot_selector: Option<LabelSelector>,
    /// Weight of the preset; of several that match, the one with the highest weight applies; 1 to 100.
    #[schema(required)]
    pub weight: i32,
    /// Labels of the projects whose Shoots get the settings. Default: all.
    pub project_selector: Option<LabelSelector>,
}

impl_resource!(
    ClusterOpenIDConnectPreset,
    "settings.gardener.cloud",
    "v1alpha1",
    "ClusterOpenIDConnectPreset",
    "clusteropenidconnectpresets",
    false
);
