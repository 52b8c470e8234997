// SPDX-License-Identifier: Apache-2.0
//! Types of kind `NamespacedCloudProfile` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A Project's own additions to a CloudProfile.
#[api_type]
pub struct NamespacedCloudProfile {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the NamespacedCloudProfile.
    pub spec: NamespacedCloudProfileSpec,
    /// Observed state of the NamespacedCloudProfile.
    pub status: NamespacedCloudProfileStatus,
}

/// Specification of a NamespacedCloudProfile.
#[api_type]
pub struct NamespacedCloudProfileSpec {
    /// Certificates that every node trusts, in place of the parent's, in PEM.
    pub ca_bundle: Option<String>,
    /// Later expiration dates for versions of the parent.
    pub kubernetes: Option<KubernetesSettings>,
    /// Additional machine images, or later expiration dates for those of the parent.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_images: Vec<MachineImage>,
    /// Additional machine types.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_types: Vec<MachineType>,
    /// Additional volume types.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub volume_types: Vec<VolumeType>,
    /// CloudProfile that this one extends. Cannot be changed.
    #[schema(required)]
    pub parent: CloudProfileReference,
    /// Settings of the provider, in its own format.
    pub provider_config: Option<RawExtension>,
    /// Limits for Shoots of this profile, in place of the parent's.
    pub limits: Option<Limits>,
}

/// Status of a NamespacedCloudProfile.
#[api_type]
pub struct NamespacedCloudProfileStatus {
    /// Parent and specification combined: the profile that applies to Shoots.
    pub cloud_profile_spec: CloudProfileSpec,
    /// Generation of the specification that the controller observed last.
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
