// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `seedmanagement.gardener.cloud/v1alpha1` share.
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

/// gardenlet of a managed seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletConfig {
    /// How gardenlet is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<GardenletDeployment>,
    /// Configuration of gardenlet, a GardenletConfiguration with a Seed in it.
    pub config: RawExtension,
    /// How gardenlet gets its first credentials: BootstrapToken, ServiceAccount or None. Default: BootstrapToken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<String>,
    /// Whether the configuration of the gardenlet that deploys it is taken over where none is given. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_with_parent: Option<bool>,
}

/// How a gardenlet is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletDeployment {
    /// Number of replicas. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_count: Option<i32>,
    /// How many old ReplicaSets are kept. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    /// ServiceAccount of gardenlet's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Image of gardenlet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// Requests and limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<crate::kubernetes::core::ResourceRequirements>,
    /// Labels of the pods.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_labels: BTreeMap<String, String>,
    /// Annotations of the pods.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_annotations: BTreeMap<String, String>,
    /// Further volumes of the pods.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_volumes: Vec<crate::kubernetes::core::Volume>,
    /// Further mounts of the container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_volume_mounts: Vec<crate::kubernetes::core::VolumeMount>,
    /// Further environment variables of the container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<crate::kubernetes::core::EnvVar>,
}

/// An image of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Image {
    /// Repository of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Tag of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// When the image is pulled: Always, IfNotPresent or Never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<String>,
}

/// What a ManagedSeed is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedSeedSpec {
    /// Shoot that becomes the Seed. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot: Option<Shoot>,
    /// gardenlet that is deployed into it.
    #[schema(required)]
    pub gardenlet: GardenletConfig,
}

/// A Kubernetes cluster that Gardener manages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Shoot {
    /// Name of the Shoot, in the same namespace.
    #[schema(required)]
    pub name: String,
}
