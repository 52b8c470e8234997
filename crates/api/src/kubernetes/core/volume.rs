// SPDX-License-Identifier: Apache-2.0
//! Volumes and their sources.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;

/// A volume of a driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CSIVolumeSource {
    /// Name of the driver.
    #[schema(required)]
    pub driver: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Type of the file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fs_type: Option<String>,
    /// Settings for the driver.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub volume_attributes: BTreeMap<String, String>,
    /// Secret for the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_publish_secret_ref: Option<LocalObjectReference>,
}

/// Certificates as a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterTrustBundleProjection {
    /// Name of the bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Bundles of this signer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer_name: Option<String>,
    /// Labels of the bundles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Path of the file.
    #[schema(required)]
    pub path: String,
}

/// A ConfigMap as files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapProjection {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Keys to show, and where. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A ConfigMap as files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapVolumeSource {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Keys to show, and where. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// Permissions of the files. Default: 0644.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Fields of the pod as files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DownwardAPIProjection {
    /// The files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub items: Vec<DownwardAPIVolumeFile>,
}

/// A field of the pod as a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DownwardAPIVolumeFile {
    /// Path of the file.
    #[schema(required)]
    pub path: String,
    /// A field of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// Permissions of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
}

/// Fields of the pod as files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DownwardAPIVolumeSource {
    /// The files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub items: Vec<DownwardAPIVolumeFile>,
    /// Permissions of the files. Default: 0644.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
}

/// An empty directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EmptyDirVolumeSource {
    /// Memory, or the node's disk.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub medium: String,
    /// Most that it may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<Quantity>,
}

/// A claim for storage made for the pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EphemeralVolumeSource {
    /// The claim to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_claim_template: Option<PersistentVolumeClaimTemplate>,
}

/// A path on the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HostPathVolumeSource {
    /// The path.
    #[schema(required)]
    pub path: String,
    /// What must be there: Directory, File, Socket and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ImageVolumeSource {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reference: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pull_policy: String,
}

/// A key as a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KeyToPath {
    /// The key.
    #[schema(required)]
    pub key: String,
    /// Path of the file.
    #[schema(required)]
    pub path: String,
    /// Permissions of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
}

/// A directory of an NFS server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NFSVolumeSource {
    /// The server.
    #[schema(required)]
    pub server: String,
    /// The directory.
    #[schema(required)]
    pub path: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

/// What storage is claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PersistentVolumeClaimSpec {
    /// How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub access_modes: Vec<String>,
    /// Labels of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// How much is claimed.
    pub resources: VolumeResourceRequirements,
    /// Name of the volume.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub volume_name: String,
    /// StorageClass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// Filesystem or Block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_mode: Option<String>,
    /// What the volume is filled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_source: Option<TypedLocalObjectReference>,
    /// What the volume is filled with, of any kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_source_ref: Option<TypedObjectReference>,
    /// VolumeAttributesClass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_attributes_class_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PersistentVolumeClaimTemplate {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(required)]
    pub spec: PersistentVolumeClaimSpec,
}

/// A claim for storage as a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PersistentVolumeClaimVolumeSource {
    /// Name of the claim.
    #[schema(required)]
    pub claim_name: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
}

/// Several sources in one directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectedVolumeSource {
    /// The sources.
    #[schema(list_type = "atomic")]
    pub sources: Vec<VolumeProjection>,
    /// Permissions of the files. Default: 0644.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
}

/// A Secret as files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretProjection {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Keys to show, and where. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A Secret as files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretVolumeSource {
    /// Name of the Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_name: String,
    /// Keys to show, and where. Default: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// Permissions of the files. Default: 0644.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A token as a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceAccountTokenProjection {
    /// Who the token is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub audience: String,
    /// Seconds for which the token is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<i64>,
    /// Path of the file.
    #[schema(required)]
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct TypedLocalObjectReference {
    pub api_group: Option<String>,
    #[schema(required)]
    pub kind: String,
    #[schema(required)]
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct TypedObjectReference {
    pub api_group: Option<String>,
    #[schema(required)]
    pub kind: String,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// Name of the volume.
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<HostPathVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDirVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gce_persistent_disk: Option<GCEPersistentDiskVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws_elastic_block_store: Option<AWSElasticBlockStoreVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_repo: Option<GitRepoVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nfs: Option<NFSVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iscsi: Option<ISCSIVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glusterfs: Option<GlusterfsVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rbd: Option<RBDVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flex_volume: Option<FlexVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cinder: Option<CinderVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cephfs: Option<CephFSVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flocker: Option<FlockerVolumeSource>,
    #[serde(rename = "downwardAPI", skip_serializing_if = "Option::is_none")]
    pub downward_api: Option<DownwardAPIVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fc: Option<FCVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure_file: Option<AzureFileVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vsphere_volume: Option<VsphereVirtualDiskVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quobyte: Option<QuobyteVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure_disk: Option<AzureDiskVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub photon_persistent_disk: Option<PhotonPersistentDiskVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projected: Option<ProjectedVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub portworx_volume: Option<PortworxVolumeSource>,
    #[serde(rename = "scaleIO", skip_serializing_if = "Option::is_none")]
    pub scale_io: Option<ScaleIOVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storageos: Option<StorageOSVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csi: Option<CSIVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<EphemeralVolumeSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageVolumeSource>,
}

/// One of several sources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeProjection {
    /// A Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretProjection>,
    /// Fields of the pod.
    #[serde(rename = "downwardAPI", skip_serializing_if = "Option::is_none")]
    pub downward_api: Option<DownwardAPIProjection>,
    /// A ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapProjection>,
    /// A token of the pod's ServiceAccount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_token: Option<ServiceAccountTokenProjection>,
    /// Certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_trust_bundle: Option<ClusterTrustBundleProjection>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeResourceRequirements {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Quantity>,
}
