// SPDX-License-Identifier: Apache-2.0
//! Types that several kinds of `core.gardener.cloud/v1beta1` share.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

/// An access restriction that a region or Seed offers.
#[api_type]
pub struct AccessRestriction {
    /// Name of the restriction.
    #[schema(required)]
    pub name: String,
}

/// A zone of a region.
#[api_type]
pub struct AvailabilityZone {
    /// Name of the zone.
    #[schema(required)]
    pub name: String,
    /// Machine types that the zone does not offer.
    pub unavailable_machine_types: Vec<String>,
    /// Volume types that the zone does not offer.
    pub unavailable_volume_types: Vec<String>,
}

/// Object store for backups of etcd.
#[api_type]
pub struct Backup {
    /// Provider of the object store. Cannot be changed.
    #[schema(required)]
    pub provider: String,
    /// Settings in the format of the provider's extension.
    pub provider_config: Option<RawExtension>,
    /// Region of the object store. Cannot be changed.
    pub region: Option<String>,
    /// Credentials for the object store: a Secret or a WorkloadIdentity.
    pub credentials_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// Secret with the credentials for the object store.
    #[schema(required, deprecated)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// Settings of a CloudProfile for Bastions.
#[api_type]
pub struct Bastion {
    /// Image of bastions.
    pub machine_image: Option<BastionMachineImage>,
    /// Machine type of bastions.
    pub machine_type: Option<BastionMachineType>,
}

/// Image of bastions.
#[api_type]
pub struct BastionMachineImage {
    /// Name of the image.
    #[schema(required)]
    pub name: String,
    /// Version of the image.
    pub version: Option<String>,
}

/// Machine type of bastions.
#[api_type]
pub struct BastionMachineType {
    /// Name of the machine type.
    #[schema(required)]
    pub name: String,
}

/// A container runtime interface.
#[api_type]
pub struct CRI {
    /// Name of the container runtime interface: containerd.
    #[schema(required)]
    pub name: String,
    /// Additional container runtimes on the nodes, such as gVisor.
    pub container_runtimes: Vec<ContainerRuntime>,
}

/// A capability that machines and images can have.
#[api_type]
pub struct CapabilityDefinition {
    /// Name of the capability.
    #[schema(required)]
    pub name: String,
    /// Values of the capability.
    #[schema(required)]
    pub values: Vec<String>,
}

/// Settings of machine-controller-manager for a machine type.
#[api_type]
pub struct CloudProfileMachineControllerManagerSettings {
    /// Maximum duration of the creation of a machine of this type. Default of pools of the type.
    pub machine_creation_timeout: Option<Duration>,
}

/// Reference to a CloudProfile or NamespacedCloudProfile.
#[api_type]
pub struct CloudProfileReference {
    /// Kind of the profile: CloudProfile or NamespacedCloudProfile.
    #[schema(required)]
    pub kind: String,
    /// Name of the profile; a NamespacedCloudProfile is in the Shoot's own namespace.
    #[schema(required)]
    pub name: String,
}

/// Specification of a CloudProfile.
#[api_type]
pub struct CloudProfileSpec {
    /// Certificates that every node trusts, in PEM.
    pub ca_bundle: Option<String>,
    /// Versions of Kubernetes that may be used.
    #[schema(required)]
    pub kubernetes: KubernetesSettings,
    /// Machine images and their versions.
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub machine_images: Vec<MachineImage>,
    /// Machine types.
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub machine_types: Vec<MachineType>,
    /// Settings of the provider, in its own format.
    pub provider_config: Option<RawExtension>,
    /// Regions with their zones.
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub regions: Vec<Region>,
    /// Labels that Seeds must have to host Shoots of this profile.
    pub seed_selector: Option<SeedSelector>,
    /// Provider that the profile is for.
    #[schema(required)]
    pub r#type: String,
    /// Volume types.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub volume_types: Vec<VolumeType>,
    /// Image and machine type of bastions.
    pub bastion: Option<Bastion>,
    /// Limits for Shoots of this profile.
    pub limits: Option<Limits>,
    /// Capabilities that machine types and machine images can have, with their values; the order of the values is the order of
    /// preference.
    pub machine_capabilities: Vec<CapabilityDefinition>,
    /// Capabilities that machine types and images can have.
    pub capabilities: Vec<CapabilityDefinition>,
}

/// Status of a CloudProfile.
#[api_type]
pub struct CloudProfileStatus {
    /// Status of the Kubernetes versions.
    pub kubernetes: Option<KubernetesStatus>,
    /// Status of the versions of machine images.
    pub machine_images: Vec<MachineImageStatus>,
}

/// One aspect of an object's state.
#[api_type]
pub struct Condition {
    /// Type of the condition.
    #[schema(required)]
    pub r#type: String,
    /// True, False, Progressing or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last status change.
    #[schema(required)]
    pub last_transition_time: Time,
    /// Time of the last update of the condition.
    #[schema(required)]
    pub last_update_time: Time,
    /// Reason in one word.
    #[schema(required)]
    pub reason: String,
    /// Human-readable message.
    #[schema(required)]
    pub message: String,
    /// Codes of the known errors that cause the status.
    pub codes: Vec<String>,
}

/// A container runtime of a worker pool.
#[api_type]
pub struct ContainerRuntime {
    /// Type of the runtime, the name of its extension.
    #[schema(required)]
    pub r#type: String,
    /// Settings of the runtime, in its extension's format.
    pub provider_config: Option<RawExtension>,
}

/// A version with its classification and expiration date, or its life cycle.
#[api_type]
pub struct ExpirableVersion {
    /// The version.
    #[schema(required)]
    pub version: String,
    /// Time at which the version expires; an expired version cannot be chosen, and maintenance updates clusters that use it.
    #[schema(deprecated)]
    pub expiration_date: Option<Time>,
    /// preview, supported or deprecated.
    #[schema(deprecated)]
    pub classification: Option<String>,
    /// Stages in the life cycle of this version. Excludes classification and expirationDate; needs feature gate
    /// VersionClassificationLifecycle.
    pub lifecycle: Vec<LifecycleStage>,
}

/// Status of a version.
#[api_type]
pub struct ExpirableVersionStatus {
    /// The version.
    #[schema(required)]
    pub version: String,
    /// Current stage of the version's life cycle: unavailable, preview, supported, deprecated or expired.
    #[schema(required)]
    pub classification: String,
}

/// An extension that a Shoot or Seed uses.
#[api_type]
pub struct Extension {
    /// Type of the extension.
    #[schema(required)]
    pub r#type: String,
    /// Settings of the extension, in its own format.
    pub provider_config: Option<RawExtension>,
    /// Disables an extension that is enabled for every Shoot.
    pub disabled: Option<bool>,
}

/// The instance of Gardener that processed an object last.
#[api_type]
pub struct Gardener {
    /// Identifier of the instance, the name of its container.
    #[schema(required)]
    pub id: String,
    /// Name of the instance, the name of its pod.
    #[schema(required)]
    pub name: String,
    /// Version of Gardener.
    #[schema(required)]
    pub version: String,
}

/// Settings of in-place updates to a version of a machine image.
#[api_type]
pub struct InPlaceUpdates {
    /// True if nodes can be updated to this version in place.
    #[schema(required)]
    pub supported: bool,
    /// Lowest version from which nodes can be updated in place.
    pub min_version_for_update: Option<String>,
}

/// Kubernetes versions in a CloudProfile.
#[api_type]
pub struct KubernetesSettings {
    /// Versions that may be used.
    #[schema(merge_key = "version", patch_strategy = "merge")]
    pub versions: Vec<ExpirableVersion>,
}

/// Status of the Kubernetes versions of a CloudProfile.
#[api_type]
pub struct KubernetesStatus {
    /// Status of each version.
    pub versions: Vec<ExpirableVersionStatus>,
}

/// An error of the last operation.
#[api_type]
pub struct LastError {
    /// Error message.
    #[schema(required)]
    pub description: String,
    /// Task of the operation that failed.
    #[schema(rename = "taskID")]
    pub task_id: Option<String>,
    /// Codes of the error, such as ERR_INFRA_UNAUTHORIZED.
    pub codes: Vec<String>,
    /// Time at which the error was reported.
    pub last_update_time: Option<Time>,
}

/// The current or last operation and its progress.
#[api_type]
pub struct LastOperation {
    /// Description of the current step, or of the result.
    #[schema(required)]
    pub description: String,
    /// Time of the last change in the operation's progress.
    #[schema(required)]
    pub last_update_time: Time,
    /// Progress in percent.
    #[schema(required)]
    pub progress: i32,
    /// Pending, Processing, Succeeded, Error, Failed or Aborted.
    #[schema(required)]
    pub state: String,
    /// Create, Reconcile, Delete, Migrate or Restore.
    #[schema(required)]
    pub r#type: String,
}

/// A stage in the life cycle of a version.
#[api_type]
pub struct LifecycleStage {
    /// Classification during the stage: unavailable, preview, supported, deprecated or expired.
    #[schema(required)]
    pub classification: String,
    /// Instant at which the stage begins; may be absent from leading stages, which have begun already.
    pub start_time: Option<Time>,
}

/// Limits for Shoots of a CloudProfile.
#[api_type]
pub struct Limits {
    /// Maximum number of nodes of a Shoot, by the maxima of its pools.
    pub max_nodes_total: Option<i32>,
}

/// A machine image and its versions.
#[api_type]
pub struct MachineImage {
    /// Name of the image.
    #[schema(required)]
    pub name: String,
    /// Versions of the image.
    #[schema(required, merge_key = "version", patch_strategy = "merge")]
    pub versions: Vec<MachineImageVersion>,
    /// Scope of updates during maintenance: patch (latest version of the same minor version), minor (of the same major version)
    /// or major (latest version). Default: major.
    pub update_strategy: Option<String>,
}

/// Status of a machine image.
#[api_type]
pub struct MachineImageStatus {
    /// Name of the image.
    #[schema(required)]
    pub name: String,
    /// Status of each version of the image.
    pub versions: Vec<ExpirableVersionStatus>,
}

/// A version of a machine image.
#[api_type]
pub struct MachineImageVersion {
    /// The version.
    #[schema(required)]
    pub version: String,
    /// Time at which the version expires; an expired version cannot be chosen, and maintenance updates pools that use it.
    #[schema(deprecated)]
    pub expiration_date: Option<Time>,
    /// preview, supported or deprecated.
    #[schema(deprecated)]
    pub classification: Option<String>,
    /// Stages in the life cycle of this version. Excludes classification and expirationDate; needs feature gate
    /// VersionClassificationLifecycle.
    pub lifecycle: Vec<LifecycleStage>,
    /// Container runtime interfaces that the image supports.
    pub cri: Vec<CRI>,
    /// CPU architectures that the image supports.
    pub architectures: Vec<String>,
    /// Versions of the kubelet that run on the image, as a range: `>= 1.30, < 1.33`.
    pub kubelet_version_constraint: Option<String>,
    /// Settings of in-place updates of nodes to this version.
    pub in_place_updates: Option<InPlaceUpdates>,
    /// Combinations of capabilities that the version provides, one for each artifact of the image.
    pub capability_flavors: Vec<BTreeMap<String, Vec<String>>>,
    /// Sets of capabilities that the image supports.
    pub capability_sets: Vec<BTreeMap<String, Vec<String>>>,
}

/// A machine type: CPUs, memory and storage.
#[api_type]
pub struct MachineType {
    /// Number of CPUs.
    #[schema(required)]
    pub cpu: Quantity,
    /// Number of GPUs.
    #[schema(required)]
    pub gpu: Quantity,
    /// Size of the memory.
    #[schema(required)]
    pub memory: Quantity,
    /// Name of the machine type.
    #[schema(required)]
    pub name: String,
    /// Storage that every machine of the type has.
    pub storage: Option<MachineTypeStorage>,
    /// True if new pools may use the type. Default: true.
    pub usable: Option<bool>,
    /// CPU architecture: amd64 or arm64. Default: amd64.
    pub architecture: Option<String>,
    /// Capabilities of the machine, with their values.
    pub capabilities: BTreeMap<String, Vec<String>>,
    /// Defaults for pools of the machine type.
    pub machine_controller_manager: Option<CloudProfileMachineControllerManagerSettings>,
}

/// Storage that every machine of a type has.
#[api_type]
pub struct MachineTypeStorage {
    /// Class of the storage: standard or premium.
    #[schema(required)]
    pub class: String,
    /// Size of the storage, if it is fixed.
    pub size: Option<Quantity>,
    /// Type of the storage.
    #[schema(required)]
    pub r#type: String,
    /// Minimum size, if the size can be chosen.
    pub min_size: Option<Quantity>,
}

/// A reference to an object that extensions use by a name.
#[api_type]
pub struct NamedResourceReference {
    /// Name by which extensions refer to the object; unique in the list.
    #[schema(required)]
    pub name: String,
    /// The object, in the same namespace: a Secret or ConfigMap.
    #[schema(required)]
    pub resource_ref: crate::kubernetes::autoscaling::CrossVersionObjectReference,
}

/// A region of an infrastructure.
#[api_type]
pub struct Region {
    /// Name of the region.
    #[schema(required)]
    pub name: String,
    /// Availability zones of the region.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub zones: Vec<AvailabilityZone>,
    /// Labels of the region, for the choice of a Seed by distance.
    pub labels: TextMap,
    /// Access restrictions that are offered in the region.
    pub access_restrictions: Vec<AccessRestriction>,
}

/// Seeds by labels and provider types.
#[api_type]
pub struct SeedSelector {
    /// Exact values of labels.
    pub match_labels: TextMap,
    /// Requirements on labels; all must hold.
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// Providers whose Seeds are eligible; `*` for all.
    pub provider_types: Vec<String>,
}

/// A taint of a Seed that a Shoot tolerates.
#[api_type]
pub struct Toleration {
    /// Key of the taint.
    #[schema(required)]
    pub key: String,
    /// Value of the taint; without it, any.
    pub value: Option<String>,
}

/// A class of volumes.
#[api_type]
pub struct VolumeType {
    /// Class of the volumes: standard or premium.
    #[schema(required)]
    pub class: String,
    /// Name of the volume type.
    #[schema(required)]
    pub name: String,
    /// True if new pools may use the type. Default: true.
    pub usable: Option<bool>,
    /// Minimum size of a volume.
    pub min_size: Option<Quantity>,
}
