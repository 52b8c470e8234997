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
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ExtensionSpec,
    /// What is there.
    pub status: ExtensionStatus,
}

/// How an extension's admission controller is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AdmissionDeploymentSpec {
    /// What goes into the runtime cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_cluster: Option<DeploymentSpec>,
    /// What goes into the virtual garden cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_cluster: Option<DeploymentSpec>,
    /// Values for both charts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<RawExtension>,
}

/// How an extension is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Deployment {
    /// The extension itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionDeploymentSpec>,
    /// Its admission controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<AdmissionDeploymentSpec>,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentSpec {
    /// The chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<ExtensionHelm>,
}

/// How an extension itself is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionDeploymentSpec {
    /// The chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<ExtensionHelm>,
    /// Values for the chart in Seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<RawExtension>,
    /// Values for the chart in the runtime cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_cluster_values: Option<RawExtension>,
    /// Where it is deployed: OnDemand, Always or AlwaysExceptNoShoots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Labels that Seeds must have to get the extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<LabelSelector>,
    /// Whether the extension gets a kubeconfig for the garden cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_garden_kubeconfig: Option<bool>,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionHelm {
    /// Registry that holds the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci_repository: Option<crate::core_v1::OCIRepository>,
}

/// What an Extension is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionSpec {
    /// Kinds and types that the extension is responsible for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<crate::core::ControllerResource>,
    /// How the extension is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
}

/// What is known of an Extension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionStatus {
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Installed, RequiredRuntime, RequiredVirtual.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    /// What the extension tells of the object, in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_status: Option<RawExtension>,
}

impl_resource!(Extension, "operator.gardener.cloud", "v1alpha1", "Extension", "extensions", false);
