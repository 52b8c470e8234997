// SPDX-License-Identifier: Apache-2.0
//! Types of kind `NamespacedCloudProfile` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A Project's own additions to a CloudProfile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespacedCloudProfile {
    pub metadata: ObjectMeta,
    pub spec: NamespacedCloudProfileSpec,
    pub status: NamespacedCloudProfileStatus,
}

/// What a NamespacedCloudProfile is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespacedCloudProfileSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<KubernetesSettings>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_images: Vec<MachineImage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_types: Vec<MachineType>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub volume_types: Vec<VolumeType>,
    #[schema(required)]
    pub parent: CloudProfileReference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// What is known of a NamespacedCloudProfile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespacedCloudProfileStatus {
    pub cloud_profile_spec: CloudProfileSpec,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
}

impl_resource!(
    NamespacedCloudProfile,
    "core.gardener.cloud",
    "v1beta1",
    "NamespacedCloudProfile",
    "namespacedcloudprofiles",
    true
);
