// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Gardenlet` (`seedmanagement.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A gardenlet in a cluster that Gardener does not manage.
#[api_type]
pub struct Gardenlet {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Gardenlet.
    pub spec: GardenletSpec,
    /// Observed state of the Gardenlet.
    pub status: GardenletStatus,
}

/// Chart of gardenlet.
#[api_type]
pub struct GardenletHelm {
    /// Registry that holds the chart.
    #[schema(required)]
    pub oci_repository: crate::core_v1::OCIRepository,
}

/// Deployment of a gardenlet by itself.
#[api_type]
pub struct GardenletSelfDeployment {
    /// Number of replicas. Default: 2.
    pub replica_count: Option<i32>,
    /// Number of old ReplicaSets to keep. Default: 2.
    pub revision_history_limit: Option<i32>,
    /// ServiceAccount of gardenlet's pods.
    pub service_account_name: Option<String>,
    /// Image of gardenlet.
    pub image: Option<Image>,
    /// Requests and limits.
    pub resources: Option<crate::kubernetes::core::ResourceRequirements>,
    /// Labels of the pods.
    pub pod_labels: TextMap,
    /// Annotations of the pods.
    pub pod_annotations: TextMap,
    /// Additional volumes of the pods.
    pub additional_volumes: Vec<crate::kubernetes::core::Volume>,
    /// Additional mounts of the container.
    pub additional_volume_mounts: Vec<crate::kubernetes::core::VolumeMount>,
    /// Additional environment variables of the container.
    pub env: Vec<crate::kubernetes::core::EnvVar>,
    /// Tolerations of the pods.
    pub tolerations: Vec<crate::kubernetes::core::Toleration>,
    /// Enables liveness and readiness probes. Default: true.
    pub enable_health_probes: Option<bool>,
    /// Chart of gardenlet; determines its version.
    #[schema(required)]
    pub helm: GardenletHelm,
    /// Images that differ from the built-in ones, as YAML.
    pub image_vector_overwrite: Option<String>,
    /// Images of components that differ from the built-in ones, as YAML.
    pub component_image_vector_overwrite: Option<String>,
}

/// Specification of a Gardenlet.
#[api_type]
pub struct GardenletSpec {
    /// Deployment of gardenlet by itself.
    #[schema(required)]
    pub deployment: GardenletSelfDeployment,
    /// Configuration of gardenlet, a GardenletConfiguration with a Seed in it.
    pub config: RawExtension,
    /// Secret with a kubeconfig for the cluster into which gardenlet is deployed for the first time.
    pub kubeconfig_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

/// Status of a Gardenlet.
#[api_type]
pub struct GardenletStatus {
    /// Conditions, among them `GardenletReconciled`; written by gardenlet.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
}

impl_resource!(Gardenlet, "seedmanagement.gardener.cloud", "v1alpha1", "Gardenlet", "gardenlets", true);
