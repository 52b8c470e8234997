// SPDX-License-Identifier: Apache-2.0
//! Types of kind `OperatingSystemConfig` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Files and units of the nodes of a pool.
#[api_type]
pub struct OperatingSystemConfig {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the OperatingSystemConfig.
    #[schema(required)]
    pub spec: OperatingSystemConfigSpec,
    /// Observed state of the OperatingSystemConfig.
    pub status: OperatingSystemConfigStatus,
}

/// Rotation of the certificate authorities that nodes must follow.
#[api_type]
pub struct CARotation {
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
}

/// Settings of the container runtime interface.
#[api_type]
pub struct CRIConfig {
    /// Name of the container runtime interface: containerd.
    #[schema(required)]
    pub name: String,
    /// Driver for resource limits: systemd or cgroupfs.
    pub cgroup_driver: Option<String>,
    /// Settings of containerd.
    pub containerd: Option<ContainerdConfig>,
}

/// Reference to the start-up script of a machine.
#[api_type]
pub struct CloudConfig {
    /// Secret with the script.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// Settings of containerd.
#[api_type]
pub struct ContainerdConfig {
    /// Registries and their mirrors.
    pub registries: Vec<RegistryConfig>,
    /// Image of the container that holds a pod's namespaces.
    #[schema(required)]
    pub sandbox_image: String,
    /// Settings of plugins.
    pub plugins: Vec<PluginConfig>,
}

/// Rotations of credentials that nodes must follow.
#[api_type]
pub struct CredentialsRotation {
    /// Certificate authorities.
    pub certificate_authorities: Option<CARotation>,
    /// Key that signs tokens of service accounts.
    pub service_account_key: Option<ServiceAccountKeyRotation>,
}

/// An addition to a unit of systemd.
#[api_type]
pub struct DropIn {
    /// Name of the file.
    #[schema(required)]
    pub name: String,
    /// Content of the file.
    #[schema(required)]
    pub content: String,
}

/// A file on the node.
#[api_type]
pub struct File {
    /// Path of the file.
    #[schema(required)]
    pub path: String,
    /// Permissions, as the number of its octal form.
    pub permissions: Option<u32>,
    /// Content of the file.
    #[schema(required)]
    pub content: FileContent,
    /// Name of the only host that gets the file.
    pub host_name: Option<String>,
}

/// Source of a file's content.
#[api_type]
pub struct FileContent {
    /// A Secret's key.
    pub secret_ref: Option<FileContentSecretRef>,
    /// The text itself.
    pub inline: Option<FileContentInline>,
    /// True if the content is written without encoding.
    pub transmit_unencoded: Option<bool>,
    /// A file of an image.
    pub image_ref: Option<FileContentImageRef>,
}

/// A file of an image.
#[api_type]
pub struct FileContentImageRef {
    /// The image.
    #[schema(required)]
    pub image: String,
    /// Path of the file in the image.
    #[schema(required)]
    pub file_path_in_image: String,
}

/// A text as a file's content.
#[api_type]
pub struct FileContentInline {
    /// Encoding of the text: b64 or none.
    #[schema(required)]
    pub encoding: String,
    /// The text.
    #[schema(required)]
    pub data: String,
}

/// A Secret's key as a file's content.
#[api_type]
pub struct FileContentSecretRef {
    /// Name of the Secret.
    #[schema(required)]
    pub name: String,
    /// Key in the Secret.
    #[schema(required)]
    pub data_key: String,
}

/// Target configuration of in-place updates.
#[api_type]
pub struct InPlaceUpdates {
    /// Version of the operating system.
    #[schema(required)]
    pub operating_system_version: String,
    /// Version of the kubelet.
    #[schema(required)]
    pub kubelet: String,
    /// Rotations of credentials that nodes must follow.
    pub credentials_rotation: Option<CredentialsRotation>,
}

/// State of in-place updates of nodes.
#[api_type]
pub struct InPlaceUpdatesStatus {
    /// Update of the operating system.
    pub os_update: Option<OSUpdate>,
}

/// Command that updates the operating system.
#[api_type]
pub struct OSUpdate {
    /// The command.
    #[schema(required)]
    pub command: String,
    /// Arguments of the command.
    pub args: Vec<String>,
}

/// Specification of an OperatingSystemConfig.
#[api_type]
pub struct OperatingSystemConfigSpec {
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Settings of the container runtime interface.
    pub cri_config: Option<CRIConfig>,
    /// provision: for the start of the machine; reconcile: for updates of the node.
    #[schema(required)]
    pub purpose: String,
    /// Units of systemd.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub units: Vec<Unit>,
    /// Files that the node gets; one for each path.
    #[schema(merge_key = "path", patch_strategy = "merge")]
    pub files: Vec<File>,
    /// Target configuration of in-place updates.
    pub in_place_updates: Option<InPlaceUpdates>,
}

/// Status of an OperatingSystemConfig.
#[api_type]
pub struct OperatingSystemConfigStatus {
    /// Status that the extension reports for the object, in its own format.
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type.
    pub conditions: Vec<crate::core::Condition>,
    /// The last error.
    pub last_error: Option<crate::core::LastError>,
    /// The current operation, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// State to persist, in the extension's format.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses.
    pub resources: Vec<crate::core::NamedResourceReference>,
    /// Units of systemd that the extension adds.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub extension_units: Vec<Unit>,
    /// Files that the extension adds.
    #[schema(merge_key = "path", patch_strategy = "merge")]
    pub extension_files: Vec<File>,
    /// Reference to the start-up script of a machine.
    pub cloud_config: Option<CloudConfig>,
    /// State of in-place updates of nodes.
    pub in_place_updates: Option<InPlaceUpdatesStatus>,
}

/// Settings of one plugin of containerd.
#[api_type]
pub struct PluginConfig {
    /// add or remove.
    pub op: Option<String>,
    /// Path of the settings, one name per element.
    #[schema(required)]
    pub path: Vec<String>,
    /// The settings.
    pub values: Option<RawExtension>,
}

/// A registry and its mirrors.
#[api_type]
pub struct RegistryConfig {
    /// Registry in names of images.
    #[schema(required)]
    pub upstream: String,
    /// The server of that registry.
    pub server: Option<String>,
    /// Mirrors, in the order in which they are tried.
    pub hosts: Vec<RegistryHost>,
    /// True if the first mirror must respond before it is used.
    pub readiness_probe: Option<bool>,
}

/// A mirror of a registry.
#[api_type]
pub struct RegistryHost {
    /// Address of the mirror.
    #[schema(required)]
    pub url: String,
    /// Operations that the mirror supports: pull, resolve.
    pub capabilities: Vec<String>,
    /// Files with CA certificates that the mirror's certificate is verified with.
    pub ca_certs: Vec<String>,
    /// Uses the path of the address instead of the registry's own.
    pub override_path: Option<bool>,
}

/// Rotation of the key for tokens that nodes must follow.
#[api_type]
pub struct ServiceAccountKeyRotation {
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
}

/// A unit of systemd.
#[api_type]
pub struct Unit {
    /// Name of the unit.
    #[schema(required)]
    pub name: String,
    /// Command for the unit: start, restart or stop.
    pub command: Option<String>,
    /// True if the unit starts with the node.
    pub enable: Option<bool>,
    /// Content of the unit's file.
    pub content: Option<String>,
    /// Additions to the unit.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub drop_ins: Vec<DropIn>,
    /// Files whose changes restart the unit.
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
