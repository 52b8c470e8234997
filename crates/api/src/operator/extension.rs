// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Extension` (`operator.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/operator/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// An extension that gardener-operator installs.
#[api_type]
pub struct Extension {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Extension.
    pub spec: ExtensionSpec,
    /// Observed state of the Extension.
    pub status: ExtensionStatus,
}

/// Deployment of an extension's admission controller.
#[api_type]
pub struct AdmissionDeploymentSpec {
    /// Chart for the runtime cluster.
    pub runtime_cluster: Option<DeploymentSpec>,
    /// Chart for the virtual garden cluster.
    pub virtual_cluster: Option<DeploymentSpec>,
    /// Values for both charts.
    pub values: Option<RawExtension>,
}

/// Deployment of an extension.
#[api_type]
pub struct Deployment {
    /// Deployment of the extension itself.
    pub extension: Option<ExtensionDeploymentSpec>,
    /// Deployment of the admission controller.
    pub admission: Option<AdmissionDeploymentSpec>,
    /// Named references to Secrets and ConfigMaps of namespace garden that values of the charts use.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub resources: Vec<crate::core_v1::NamedResourceReference>,
}

/// A chart.
#[api_type]
pub struct DeploymentSpec {
    /// The chart.
    pub helm: Option<ExtensionHelm>,
}

/// Deployment of an extension without its admission controller.
#[api_type]
pub struct ExtensionDeploymentSpec {
    /// The chart.
    pub helm: Option<ExtensionHelm>,
    /// Values for the chart in Seeds.
    pub values: Option<RawExtension>,
    /// Values for the chart in the runtime cluster.
    pub runtime_cluster_values: Option<RawExtension>,
    /// Policy of the deployment: OnDemand, Always or AlwaysExceptNoShoots.
    pub policy: Option<String>,
    /// Labels that Seeds must have to get the extension.
    pub seed_selector: Option<LabelSelector>,
    /// Injects a kubeconfig for the garden cluster into the extension.
    pub inject_garden_kubeconfig: Option<bool>,
}

/// A chart.
#[api_type]
pub struct ExtensionHelm {
    /// Registry that holds the chart.
    pub oci_repository: Option<crate::core_v1::OCIRepository>,
}

/// Specification of an Extension.
#[api_type]
pub struct ExtensionSpec {
    /// Kinds and types that the extension is responsible for.
    pub resources: Vec<crate::core::ControllerResource>,
    /// Deployment of the extension.
    pub deployment: Option<Deployment>,
}

/// Status of an Extension.
#[api_type]
pub struct ExtensionStatus {
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Installed, RequiredRuntime, RequiredVirtual.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    /// Status that the extension reports for the object, in its own format.
    pub provider_status: Option<RawExtension>,
}

impl_resource!(Extension, "operator.gardener.cloud", "v1alpha1", "Extension", "extensions", false);
