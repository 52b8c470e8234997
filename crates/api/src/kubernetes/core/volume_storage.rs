// SPDX-License-Identifier: Apache-2.0
//! Volumes on storage of providers.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use apimachinery::meta::TextMap;

use api_derive::api_type;

use super::*;

#[api_type]
pub struct AWSElasticBlockStoreVolumeSource {
    #[schema(rename = "volumeID", required)]
    pub volume_id: String,
    /// Type of the file system.
    pub fs_type: String,
    pub partition: i32,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct AzureDiskVolumeSource {
    #[schema(required)]
    pub disk_name: String,
    #[schema(rename = "diskURI", required)]
    pub disk_uri: String,
    pub caching_mode: Option<String>,
    /// Type of the file system.
    pub fs_type: Option<String>,
    /// True if the volume is mounted read-only.
    pub read_only: Option<bool>,
    pub kind: Option<String>,
}

#[api_type]
pub struct AzureFileVolumeSource {
    #[schema(required)]
    pub secret_name: String,
    #[schema(required)]
    pub share_name: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct CephFSVolumeSource {
    #[schema(required, list_type = "atomic")]
    pub monitors: Vec<String>,
    pub path: String,
    pub user: String,
    pub secret_file: String,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalObjectReference>,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct CinderVolumeSource {
    #[schema(rename = "volumeID", required)]
    pub volume_id: String,
    /// Type of the file system.
    pub fs_type: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalObjectReference>,
}

#[api_type]
pub struct FCVolumeSource {
    #[schema(rename = "targetWWNs", list_type = "atomic")]
    pub target_ww_ns: Vec<String>,
    pub lun: Option<i32>,
    /// Type of the file system.
    pub fs_type: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
    #[schema(list_type = "atomic")]
    pub wwids: Vec<String>,
}

#[api_type]
pub struct FlexVolumeSource {
    #[schema(required)]
    pub driver: String,
    /// Type of the file system.
    pub fs_type: String,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalObjectReference>,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
    pub options: TextMap,
}

#[api_type]
pub struct FlockerVolumeSource {
    pub dataset_name: String,
    #[schema(rename = "datasetUUID")]
    pub dataset_uuid: String,
}

#[api_type]
pub struct GCEPersistentDiskVolumeSource {
    #[schema(required)]
    pub pd_name: String,
    /// Type of the file system.
    pub fs_type: String,
    pub partition: i32,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct GitRepoVolumeSource {
    #[schema(required)]
    pub repository: String,
    pub revision: String,
    pub directory: String,
}

#[api_type]
pub struct GlusterfsVolumeSource {
    #[schema(required)]
    pub endpoints: String,
    #[schema(required)]
    pub path: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct ISCSIVolumeSource {
    #[schema(required)]
    pub target_portal: String,
    #[schema(required)]
    pub iqn: String,
    #[schema(required)]
    pub lun: i32,
    pub iscsi_interface: String,
    /// Type of the file system.
    pub fs_type: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
    #[schema(list_type = "atomic")]
    pub portals: Vec<String>,
    pub chap_auth_discovery: bool,
    pub chap_auth_session: bool,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalObjectReference>,
    pub initiator_name: Option<String>,
}

#[api_type]
pub struct PhotonPersistentDiskVolumeSource {
    #[schema(rename = "pdID", required)]
    pub pd_id: String,
    /// Type of the file system.
    pub fs_type: String,
}

#[api_type]
pub struct PortworxVolumeSource {
    #[schema(rename = "volumeID", required)]
    pub volume_id: String,
    /// Type of the file system.
    pub fs_type: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct QuobyteVolumeSource {
    #[schema(required)]
    pub registry: String,
    #[schema(required)]
    pub volume: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
    pub user: String,
    pub group: String,
    pub tenant: String,
}

#[api_type]
pub struct RBDVolumeSource {
    #[schema(required, list_type = "atomic")]
    pub monitors: Vec<String>,
    #[schema(required)]
    pub image: String,
    /// Type of the file system.
    pub fs_type: String,
    pub pool: String,
    pub user: String,
    pub keyring: String,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalObjectReference>,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct ScaleIOVolumeSource {
    #[schema(required)]
    pub gateway: String,
    #[schema(required)]
    pub system: String,
    /// Secret with the credentials.
    #[schema(always)]
    pub secret_ref: Option<LocalObjectReference>,
    pub ssl_enabled: bool,
    pub protection_domain: String,
    pub storage_pool: String,
    pub storage_mode: String,
    /// Name of the volume.
    pub volume_name: String,
    /// Type of the file system.
    pub fs_type: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

#[api_type]
pub struct StorageOSVolumeSource {
    /// Name of the volume.
    pub volume_name: String,
    pub volume_namespace: String,
    /// Type of the file system.
    pub fs_type: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalObjectReference>,
}

#[api_type]
pub struct VsphereVirtualDiskVolumeSource {
    #[schema(required)]
    pub volume_path: String,
    /// Type of the file system.
    pub fs_type: String,
    pub storage_policy_name: String,
    #[schema(rename = "storagePolicyID")]
    pub storage_policy_id: String,
}
