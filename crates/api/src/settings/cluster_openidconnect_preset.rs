// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ClusterOpenIDConnectPreset` (`settings.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/settings/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::impl_resource;

/// OpenID Connect settings for new Shoots of selected Projects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterOpenIDConnectPreset {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(required)]
    pub spec: ClusterOpenIDConnectPresetSpec,
}

/// What a ClusterOpenIDConnectPreset is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterOpenIDConnectPresetSpec {
    /// What the API server is told.
    #[schema(required)]
    pub server: KubeAPIServerOpenIDConnect,
    /// What clients are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub client: Option<OpenIDConnectClientAuthentication>,
    /// Labels of the Shoots that get the settings. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_selector: Option<LabelSelector>,
    /// Which preset wins when several fit: the one with the highest weight; 1 to 100.
    #[schema(required)]
    pub weight: i32,
    /// Labels of the projects whose Shoots get the settings. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
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
