// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerDeployment` (`core.gardener.cloud/v1`).
//!
//! Source: pkg/apis/core/v1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// How an extension controller is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerDeployment {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Chart and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<HelmControllerDeployment>,
    /// Whether the controller gets a kubeconfig for the garden cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_garden_kubeconfig: Option<bool>,
}

/// A Helm chart and its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmControllerDeployment {
    /// The chart itself, as a compressed archive.
    #[serde(skip_serializing_if = "is_zero")]
    pub raw_chart: ByteString,
    /// Values for the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<RawExtension>,
    /// Registry that holds the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci_repository: Option<OCIRepository>,
}

/// A chart or image in a registry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OCIRepository {
    /// Full reference, with tag or digest; wins over the other fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    /// Address of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Tag of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Digest of the version; wins over the tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Secret with the credentials for the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

impl_resource!(
    ControllerDeployment,
    "core.gardener.cloud",
    "v1",
    "ControllerDeployment",
    "controllerdeployments",
    false
);
