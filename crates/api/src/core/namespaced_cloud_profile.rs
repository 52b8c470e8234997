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
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: NamespacedCloudProfileSpec,
    /// What is there.
    pub status: NamespacedCloudProfileStatus,
}

/// What a NamespacedCloudProfile is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespacedCloudProfileSpec {
    /// Certificates that every node trusts, in place of the parent's, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// Later expiration dates for versions of the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<KubernetesSettings>,
    /// Further machine images, or later expiration dates for those of the parent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_images: Vec<MachineImage>,
    /// Further machine types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_types: Vec<MachineType>,
    /// Further volume types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub volume_types: Vec<VolumeType>,
    /// CloudProfile that this one extends. Cannot be changed.
    #[schema(required)]
    pub parent: CloudProfileReference,
    /// Settings of the provider, in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    /// Limits for Shoots of this profile, in place of the parent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// What is known of a NamespacedCloudProfile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespacedCloudProfileStatus {
    /// Parent and specification taken together: what Shoots see.
    pub cloud_profile_spec: CloudProfileSpec,
    /// Generation of the specification that was acted on last.
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
