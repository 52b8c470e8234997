// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `seedmanagement.gardener.cloud/v1alpha1` share.
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

/// Settings of a managed seed's gardenlet.
#[api_type]
pub struct GardenletConfig {
    /// Deployment of gardenlet.
    pub deployment: Option<GardenletDeployment>,
    /// Configuration of gardenlet, a GardenletConfiguration with a Seed in it.
    pub config: RawExtension,
    /// Source of gardenlet's first credentials: BootstrapToken, ServiceAccount or None. Default: BootstrapToken.
    pub bootstrap: Option<String>,
    /// True if missing settings are taken from the configuration of the gardenlet that deploys this one. Default: true.
    pub merge_with_parent: Option<bool>,
}

/// Deployment of a gardenlet.
#[api_type]
pub struct GardenletDeployment {
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
}

/// An image of a container.
#[api_type]
pub struct Image {
    /// Repository of the image.
    pub repository: Option<String>,
    /// Tag of the image.
    pub tag: Option<String>,
    /// Policy of pulling the image: Always, IfNotPresent or Never.
    pub pull_policy: Option<String>,
    /// Full reference of the image.
    pub r#ref: Option<String>,
}

/// Specification of a ManagedSeed.
#[api_type]
pub struct ManagedSeedSpec {
    /// Shoot that becomes the Seed. Cannot be changed.
    pub shoot: Option<Shoot>,
    /// Settings of the gardenlet that is deployed into the Shoot.
    #[schema(required)]
    pub gardenlet: GardenletConfig,
}

/// Reference to a Shoot.
#[api_type]
pub struct Shoot {
    /// Name of the Shoot, in the same namespace.
    #[schema(required)]
    pub name: String,
}
