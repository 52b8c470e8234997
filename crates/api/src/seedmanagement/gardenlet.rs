// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Gardenlet` (`seedmanagement.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A gardenlet that is deployed to a cluster outside of Gardener's hands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Gardenlet {
    pub metadata: ObjectMeta,
    pub spec: GardenletSpec,
    pub status: GardenletStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletHelm {
    #[schema(required)]
    pub oci_repository: crate::core_v1::OCIRepository,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletSelfDeployment {
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
    #[schema(required)]
    pub helm: GardenletHelm,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_vector_overwrite: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component_image_vector_overwrite: Option<String>,
}

/// What a Gardenlet is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletSpec {
    #[schema(required)]
    pub deployment: GardenletSelfDeployment,
    pub config: RawExtension,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

/// What is known of a Gardenlet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenletStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
}

impl_resource!(Gardenlet, "seedmanagement.gardener.cloud", "v1alpha1", "Gardenlet", "gardenlets", true);
