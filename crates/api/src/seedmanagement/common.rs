// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `seedmanagement.gardener.cloud/v1alpha1` share.
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<GardenletDeployment>,
    pub config: RawExtension,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_with_parent: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletDeployment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_count: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<crate::kubernetes::core::ResourceRequirements>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_volumes: Vec<crate::kubernetes::core::Volume>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_volume_mounts: Vec<crate::kubernetes::core::VolumeMount>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<crate::kubernetes::core::EnvVar>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Image {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<String>,
}

/// What a ManagedSeed is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedSeedSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot: Option<Shoot>,
    #[schema(required)]
    pub gardenlet: GardenletConfig,
}

/// A Kubernetes cluster that Gardener manages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Shoot {
    #[schema(required)]
    pub name: String,
}
