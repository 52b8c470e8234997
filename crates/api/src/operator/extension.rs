// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Extension` (`operator.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/operator/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// An extension that gardener-operator installs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Extension {
    pub metadata: ObjectMeta,
    pub spec: ExtensionSpec,
    pub status: ExtensionStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AdmissionDeploymentSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_cluster: Option<DeploymentSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_cluster: Option<DeploymentSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<RawExtension>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Deployment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionDeploymentSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<AdmissionDeploymentSpec>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<ExtensionHelm>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionDeploymentSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<ExtensionHelm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_cluster_values: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_garden_kubeconfig: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionHelm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci_repository: Option<crate::core_v1::OCIRepository>,
}

/// What an Extension is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<crate::core::ControllerResource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
}

/// What is known of an Extension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionStatus {
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_status: Option<RawExtension>,
}

impl_resource!(Extension, "operator.gardener.cloud", "v1alpha1", "Extension", "extensions", false);
