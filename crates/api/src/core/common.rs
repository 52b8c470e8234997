// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `core.gardener.cloud/v1beta1` share.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AccessRestriction {
    #[schema(required)]
    pub name: String,
}

/// A zone of a region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AvailabilityZone {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable_machine_types: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable_volume_types: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Backup {
    #[schema(required)]
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<crate::kubernetes::core::ObjectReference>,
    #[schema(required, deprecated)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// Settings of a CloudProfile for Bastions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Bastion {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_image: Option<BastionMachineImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<BastionMachineType>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionMachineImage {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BastionMachineType {
    #[schema(required)]
    pub name: String,
}

/// A container runtime interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CRI {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_runtimes: Vec<ContainerRuntime>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CapabilityDefinition {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub values: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CloudProfileReference {
    #[schema(required)]
    pub kind: String,
    #[schema(required)]
    pub name: String,
}

/// What a CloudProfile is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CloudProfileSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    #[schema(required)]
    pub kubernetes: KubernetesSettings,
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub machine_images: Vec<MachineImage>,
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub machine_types: Vec<MachineType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub regions: Vec<Region>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub volume_types: Vec<VolumeType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bastion: Option<Bastion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityDefinition>,
}

/// One aspect of an object's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    #[schema(required)]
    pub r#type: String,
    #[schema(required)]
    pub status: String,
    #[schema(required)]
    pub last_transition_time: Time,
    #[schema(required)]
    pub last_update_time: Time,
    #[schema(required)]
    pub reason: String,
    #[schema(required)]
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
}

/// A container runtime of a worker pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerRuntime {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
}

/// A version with its classification and the instant at which it expires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExpirableVersion {
    #[schema(required)]
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub expiration_date: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub classification: Option<String>,
}

/// An extension that a Shoot asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Extension {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// The instance of Gardener that worked on an object last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Gardener {
    #[schema(required)]
    pub id: String,
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdates {
    #[schema(required)]
    pub supported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_version_for_update: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubernetesSettings {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "version", patch_strategy = "merge")]
    pub versions: Vec<ExpirableVersion>,
}

/// An error of the last operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LastError {
    #[schema(required)]
    pub description: String,
    #[serde(rename = "taskID", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
}

/// The operation that ran last, and how far it got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LastOperation {
    #[schema(required)]
    pub description: String,
    #[schema(required)]
    pub last_update_time: Time,
    #[schema(required)]
    pub progress: i32,
    #[schema(required)]
    pub state: String,
    #[schema(required)]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_nodes_total: Option<i32>,
}

/// A machine image and its versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineImage {
    #[schema(required)]
    pub name: String,
    #[schema(required, merge_key = "version", patch_strategy = "merge")]
    pub versions: Vec<MachineImageVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<String>,
}

/// A version of a machine image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineImageVersion {
    #[schema(required)]
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub expiration_date: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub classification: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cri: Vec<CRI>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub architectures: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_version_constraint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_updates: Option<InPlaceUpdates>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capability_sets: Vec<BTreeMap<String, Vec<String>>>,
}

/// A size of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineType {
    #[schema(required)]
    pub cpu: Quantity,
    #[schema(required)]
    pub gpu: Quantity,
    #[schema(required)]
    pub memory: Quantity,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<MachineTypeStorage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineTypeStorage {
    #[schema(required)]
    pub class: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_size: Option<Quantity>,
}

/// A reference to an object that extensions use by a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamedResourceReference {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub resource_ref: crate::kubernetes::autoscaling::CrossVersionObjectReference,
}

/// A region of an infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Region {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub zones: Vec<AvailabilityZone>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestriction>,
}

/// Seeds by labels and provider types.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSelector {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provider_types: Vec<String>,
}

/// A taint of a Seed that a Shoot tolerates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Toleration {
    #[schema(required)]
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A class of volumes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeType {
    #[schema(required)]
    pub class: String,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_size: Option<Quantity>,
}
