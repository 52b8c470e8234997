// SPDX-License-Identifier: Apache-2.0
//! Types of kind `OperatingSystemConfig` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// Files and units of the nodes of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OperatingSystemConfig {
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub spec: OperatingSystemConfigSpec,
    pub status: OperatingSystemConfigStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CARotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CRIConfig {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containerd: Option<ContainerdConfig>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CloudConfig {
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerdConfig {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registries: Vec<RegistryConfig>,
    #[schema(required)]
    pub sandbox_image: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginConfig>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CredentialsRotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authorities: Option<CARotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_key: Option<ServiceAccountKeyRotation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DropIn {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub content: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct File {
    #[schema(required)]
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<u32>,
    #[schema(required)]
    pub content: FileContent,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FileContent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<FileContentSecretRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<FileContentInline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_unencoded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_ref: Option<FileContentImageRef>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FileContentImageRef {
    #[schema(required)]
    pub image: String,
    #[schema(required)]
    pub file_path_in_image: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FileContentInline {
    #[schema(required)]
    pub encoding: String,
    #[schema(required)]
    pub data: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FileContentSecretRef {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub data_key: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdates {
    #[schema(required)]
    pub operating_system_version: String,
    #[schema(required)]
    pub kubelet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_rotation: Option<CredentialsRotation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdatesStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_update: Option<OSUpdate>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OSUpdate {
    #[schema(required)]
    pub command: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
}

/// What an OperatingSystemConfig is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OperatingSystemConfigSpec {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cri_config: Option<CRIConfig>,
    #[schema(required)]
    pub purpose: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub units: Vec<Unit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "path", patch_strategy = "merge")]
    pub files: Vec<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_updates: Option<InPlaceUpdates>,
}

/// What is known of an OperatingSystemConfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OperatingSystemConfigStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<crate::core::LastError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<crate::core::LastOperation>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<crate::core::NamedResourceReference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub extension_units: Vec<Unit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "path", patch_strategy = "merge")]
    pub extension_files: Vec<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_config: Option<CloudConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_updates: Option<InPlaceUpdatesStatus>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PluginConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    #[schema(required)]
    pub path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<RawExtension>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RegistryConfig {
    #[schema(required)]
    pub upstream: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RegistryHost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RegistryHost {
    #[schema(required)]
    pub url: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ca_certs: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceAccountKeyRotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Unit {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub drop_ins: Vec<DropIn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_paths: Vec<String>,
}

impl_resource!(
    OperatingSystemConfig,
    "extensions.gardener.cloud",
    "v1alpha1",
    "OperatingSystemConfig",
    "operatingsystemconfigs",
    true
);
