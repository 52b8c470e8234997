// SPDX-License-Identifier: Apache-2.0
//! Volumes and their sources.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;

/// A volume of a CSI driver.
#[api_type]
pub struct CSIVolumeSource {
    /// Name of the driver.
    #[schema(required)]
    pub driver: String,
    /// True if the volume is mounted read-only.
    pub read_only: Option<bool>,
    /// Type of the file system.
    pub fs_type: Option<String>,
    /// Settings for the driver.
    pub volume_attributes: TextMap,
    /// Secret for the driver.
    pub node_publish_secret_ref: Option<LocalObjectReference>,
}

/// Certificates as a file.
#[api_type]
pub struct ClusterTrustBundleProjection {
    /// Name of the bundle.
    pub name: Option<String>,
    /// Signer of the bundles.
    pub signer_name: Option<String>,
    /// Labels of the bundles.
    pub label_selector: Option<LabelSelector>,
    /// True if the bundle may be missing.
    pub optional: Option<bool>,
    /// Path of the file.
    #[schema(required)]
    pub path: String,
}

/// A ConfigMap as files.
#[api_type]
pub struct ConfigMapProjection {
    pub name: String,
    /// Keys to project, and their paths. Default: all.
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// True if the ConfigMap or its keys may be missing.
    pub optional: Option<bool>,
}

/// A ConfigMap as files.
#[api_type]
pub struct ConfigMapVolumeSource {
    pub name: String,
    /// Keys to project, and their paths. Default: all.
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// Permissions of the files. Default: 0644.
    pub default_mode: Option<i32>,
    /// True if the ConfigMap or its keys may be missing.
    pub optional: Option<bool>,
}

/// Fields of the pod as files.
#[api_type]
pub struct DownwardAPIProjection {
    /// The files.
    #[schema(list_type = "atomic")]
    pub items: Vec<DownwardAPIVolumeFile>,
}

/// A field of the pod as a file.
#[api_type]
pub struct DownwardAPIVolumeFile {
    /// Path of the file.
    #[schema(required)]
    pub path: String,
    /// A field of the pod.
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// Permissions of the file.
    pub mode: Option<i32>,
}

/// Fields of the pod as files.
#[api_type]
pub struct DownwardAPIVolumeSource {
    /// The files.
    #[schema(list_type = "atomic")]
    pub items: Vec<DownwardAPIVolumeFile>,
    /// Permissions of the files. Default: 0644.
    pub default_mode: Option<i32>,
}

/// An empty directory.
#[api_type]
pub struct EmptyDirVolumeSource {
    /// Storage medium: Memory, or the node's disk.
    pub medium: String,
    /// Maximum size.
    pub size_limit: Option<Quantity>,
}

/// A volume whose claim is created for the pod.
#[api_type]
pub struct EphemeralVolumeSource {
    /// Template of the claim.
    pub volume_claim_template: Option<PersistentVolumeClaimTemplate>,
}

/// A path on the node.
#[api_type]
pub struct HostPathVolumeSource {
    /// The path.
    #[schema(required)]
    pub path: String,
    /// Expected type: Directory, File, Socket and so on.
    pub r#type: Option<String>,
}

#[api_type]
pub struct ImageVolumeSource {
    pub reference: String,
    pub pull_policy: String,
}

/// A key as a file.
#[api_type]
pub struct KeyToPath {
    /// The key.
    #[schema(required)]
    pub key: String,
    /// Path of the file.
    #[schema(required)]
    pub path: String,
    /// Permissions of the file.
    pub mode: Option<i32>,
}

/// A directory of an NFS server.
#[api_type]
pub struct NFSVolumeSource {
    /// The server.
    #[schema(required)]
    pub server: String,
    /// The directory.
    #[schema(required)]
    pub path: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

/// Specification of a PersistentVolumeClaim.
#[api_type]
pub struct PersistentVolumeClaimSpec {
    /// Access modes: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.
    #[schema(list_type = "atomic")]
    pub access_modes: Vec<String>,
    /// Labels of the volume.
    pub selector: Option<LabelSelector>,
    /// Requested storage.
    pub resources: VolumeResourceRequirements,
    /// Name of the volume.
    pub volume_name: String,
    /// Name of the StorageClass; empty: none; absent: the default one.
    pub storage_class_name: Option<String>,
    /// Filesystem or Block.
    pub volume_mode: Option<String>,
    /// Source of the volume's initial content.
    pub data_source: Option<TypedLocalObjectReference>,
    /// Source of the volume's initial content, of any kind.
    pub data_source_ref: Option<TypedObjectReference>,
    /// Name of the VolumeAttributesClass; none if absent.
    pub volume_attributes_class_name: Option<String>,
}

#[api_type]
pub struct PersistentVolumeClaimTemplate {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Specification of the claims.
    #[schema(required)]
    pub spec: PersistentVolumeClaimSpec,
}

/// A claim for storage as a volume.
#[api_type]
pub struct PersistentVolumeClaimVolumeSource {
    /// Name of the claim.
    #[schema(required)]
    pub claim_name: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
}

/// Volume with the files of several sources in one directory.
#[api_type]
pub struct ProjectedVolumeSource {
    /// The sources.
    #[schema(always, list_type = "atomic")]
    pub sources: Vec<VolumeProjection>,
    /// Permissions of the files. Default: 0644.
    pub default_mode: Option<i32>,
}

/// A Secret as files.
#[api_type]
pub struct SecretProjection {
    pub name: String,
    /// Keys to project, and their paths. Default: all.
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// True if the Secret or its keys may be missing.
    pub optional: Option<bool>,
}

/// A Secret as files.
#[api_type]
pub struct SecretVolumeSource {
    /// Name of the Secret.
    pub secret_name: String,
    /// Keys to project, and their paths. Default: all.
    #[schema(list_type = "atomic")]
    pub items: Vec<KeyToPath>,
    /// Permissions of the files. Default: 0644.
    pub default_mode: Option<i32>,
    /// True if the Secret or its keys may be missing.
    pub optional: Option<bool>,
}

/// A token as a file.
#[api_type]
pub struct ServiceAccountTokenProjection {
    /// Audience of the token.
    pub audience: String,
    /// Seconds for which the token is valid.
    pub expiration_seconds: Option<i64>,
    /// Path of the file.
    #[schema(required)]
    pub path: String,
}

#[api_type]
pub struct TypedLocalObjectReference {
    #[schema(always)]
    pub api_group: Option<String>,
    #[schema(required)]
    pub kind: String,
    #[schema(required)]
    pub name: String,
}

#[api_type]
pub struct TypedObjectReference {
    #[schema(always)]
    pub api_group: Option<String>,
    #[schema(required)]
    pub kind: String,
    #[schema(required)]
    pub name: String,
    pub namespace: Option<String>,
}

/// A volume of a pod. Sources that are rare are boxed: a pod holds a list of these, which would take 3 KB each.
#[api_type]
pub struct Volume {
    /// Name of the volume.
    #[schema(required)]
    pub name: String,
    pub host_path: Option<HostPathVolumeSource>,
    pub empty_dir: Option<EmptyDirVolumeSource>,
    pub gce_persistent_disk: Option<Box<GCEPersistentDiskVolumeSource>>,
    pub aws_elastic_block_store: Option<Box<AWSElasticBlockStoreVolumeSource>>,
    pub git_repo: Option<Box<GitRepoVolumeSource>>,
    pub secret: Option<SecretVolumeSource>,
    pub nfs: Option<Box<NFSVolumeSource>>,
    pub iscsi: Option<Box<ISCSIVolumeSource>>,
    pub glusterfs: Option<Box<GlusterfsVolumeSource>>,
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    pub rbd: Option<Box<RBDVolumeSource>>,
    pub flex_volume: Option<Box<FlexVolumeSource>>,
    pub cinder: Option<Box<CinderVolumeSource>>,
    pub cephfs: Option<Box<CephFSVolumeSource>>,
    pub flocker: Option<Box<FlockerVolumeSource>>,
    #[schema(rename = "downwardAPI")]
    pub downward_api: Option<Box<DownwardAPIVolumeSource>>,
    pub fc: Option<Box<FCVolumeSource>>,
    pub azure_file: Option<Box<AzureFileVolumeSource>>,
    pub config_map: Option<ConfigMapVolumeSource>,
    pub vsphere_volume: Option<Box<VsphereVirtualDiskVolumeSource>>,
    pub quobyte: Option<Box<QuobyteVolumeSource>>,
    pub azure_disk: Option<Box<AzureDiskVolumeSource>>,
    pub photon_persistent_disk: Option<Box<PhotonPersistentDiskVolumeSource>>,
    pub projected: Option<ProjectedVolumeSource>,
    pub portworx_volume: Option<Box<PortworxVolumeSource>>,
    #[schema(rename = "scaleIO")]
    pub scale_io: Option<Box<ScaleIOVolumeSource>>,
    pub storageos: Option<Box<StorageOSVolumeSource>>,
    pub csi: Option<Box<CSIVolumeSource>>,
    pub ephemeral: Option<Box<EphemeralVolumeSource>>,
    pub image: Option<Box<ImageVolumeSource>>,
}

/// Source of a projected volume; exactly one field is set.
#[api_type]
pub struct VolumeProjection {
    /// A Secret.
    pub secret: Option<SecretProjection>,
    /// Fields of the pod.
    #[schema(rename = "downwardAPI")]
    pub downward_api: Option<DownwardAPIProjection>,
    /// A ConfigMap.
    pub config_map: Option<ConfigMapProjection>,
    /// A token of the pod's ServiceAccount.
    pub service_account_token: Option<ServiceAccountTokenProjection>,
    /// Certificates of a ClusterTrustBundle.
    pub cluster_trust_bundle: Option<ClusterTrustBundleProjection>,
}

#[api_type]
pub struct VolumeResourceRequirements {
    pub limits: BTreeMap<String, Quantity>,
    pub requests: BTreeMap<String, Quantity>,
}

#[cfg(test)]
mod tests {
    use super::Volume;

    /// Every Pod and every template of Pods has a list of these in memory.
    #[test]
    fn a_volume_holds_rare_sources_behind_pointers() {
        assert!(size_of::<Volume>() <= 640, "{} bytes", size_of::<Volume>());
    }
}
