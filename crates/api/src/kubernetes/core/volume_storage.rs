// SPDX-License-Identifier: Apache-2.0
//! Volumes on storage of providers.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AWSElasticBlockStoreVolumeSource {
    #[serde(rename = "volumeID")]
    #[schema(required)]
    pub volume_id: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub partition: i32,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AzureDiskVolumeSource {
    #[schema(required)]
    pub disk_name: String,
    #[serde(rename = "diskURI")]
    #[schema(required)]
    pub disk_uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caching_mode: Option<String>,
    /// Type of the file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fs_type: Option<String>,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AzureFileVolumeSource {
    #[schema(required)]
    pub secret_name: String,
    #[schema(required)]
    pub share_name: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CephFSVolumeSource {
    #[schema(required, list_type = "atomic")]
    pub monitors: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_file: String,
    /// Secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CinderVolumeSource {
    #[serde(rename = "volumeID")]
    #[schema(required)]
    pub volume_id: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    /// Secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FCVolumeSource {
    #[serde(rename = "targetWWNs", skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub target_ww_ns: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lun: Option<i32>,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub wwids: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FlexVolumeSource {
    #[schema(required)]
    pub driver: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// Secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FlockerVolumeSource {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dataset_name: String,
    #[serde(rename = "datasetUUID", skip_serializing_if = "String::is_empty")]
    pub dataset_uuid: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GCEPersistentDiskVolumeSource {
    #[schema(required)]
    pub pd_name: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub partition: i32,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GitRepoVolumeSource {
    #[schema(required)]
    pub repository: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub revision: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub directory: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GlusterfsVolumeSource {
    #[schema(required)]
    pub endpoints: String,
    #[schema(required)]
    pub path: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ISCSIVolumeSource {
    #[schema(required)]
    pub target_portal: String,
    #[schema(required)]
    pub iqn: String,
    #[schema(required)]
    pub lun: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub iscsi_interface: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub portals: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub chap_auth_discovery: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub chap_auth_session: bool,
    /// Secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PhotonPersistentDiskVolumeSource {
    #[serde(rename = "pdID")]
    #[schema(required)]
    pub pd_id: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PortworxVolumeSource {
    #[serde(rename = "volumeID")]
    #[schema(required)]
    pub volume_id: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct QuobyteVolumeSource {
    #[schema(required)]
    pub registry: String,
    #[schema(required)]
    pub volume: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tenant: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RBDVolumeSource {
    #[schema(required, list_type = "atomic")]
    pub monitors: Vec<String>,
    #[schema(required)]
    pub image: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pool: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub keyring: String,
    /// Secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScaleIOVolumeSource {
    #[schema(required)]
    pub gateway: String,
    #[schema(required)]
    pub system: String,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalObjectReference>,
    #[serde(skip_serializing_if = "is_zero")]
    pub ssl_enabled: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protection_domain: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub storage_pool: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub storage_mode: String,
    /// Name of the volume.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub volume_name: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StorageOSVolumeSource {
    /// Name of the volume.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub volume_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub volume_namespace: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    /// Secret with the credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VsphereVirtualDiskVolumeSource {
    #[schema(required)]
    pub volume_path: String,
    /// Type of the file system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub storage_policy_name: String,
    #[serde(rename = "storagePolicyID", skip_serializing_if = "String::is_empty")]
    pub storage_policy_id: String,
}
