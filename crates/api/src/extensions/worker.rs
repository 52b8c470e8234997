// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Worker` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// The worker pools of a Shoot, as an extension controller is to make them.
#[api_type]
pub struct Worker {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Worker.
    #[schema(required)]
    pub spec: WorkerSpec,
    /// Observed state of the Worker.
    pub status: WorkerStatus,
}

/// Settings of the cluster autoscaler for one pool.
#[api_type]
pub struct ClusterAutoscalerOptions {
    /// Share of a node's resources in use below which it may be removed.
    pub scale_down_utilization_threshold: Option<String>,
    /// Share of a node's GPUs in use below which it may be removed.
    pub scale_down_gpu_utilization_threshold: Option<String>,
    /// How long a node must be unneeded before it is removed.
    pub scale_down_unneeded_time: Option<Duration>,
    /// How long an unready node must be unneeded before it is removed.
    pub scale_down_unready_time: Option<Duration>,
    /// How long a new node may take.
    pub max_node_provision_time: Option<Duration>,
}

/// A further volume of machines.
#[api_type]
pub struct DataVolume {
    /// Name of the volume.
    #[schema(required)]
    pub name: String,
    /// Type of the volume.
    pub r#type: Option<String>,
    /// Size of the volume.
    #[schema(required)]
    pub size: String,
    /// True if the volume is encrypted.
    pub encrypted: Option<bool>,
}

/// How far in-place updates are.
#[api_type]
pub struct InPlaceUpdatesWorkerStatus {
    /// Hash of the configuration that each pool's nodes have.
    pub worker_pool_to_hash_map: TextMap,
}

/// A number of like Machines, and how changes are rolled out.
#[api_type]
pub struct MachineDeployment {
    /// Name of the MachineDeployment.
    #[schema(required)]
    pub name: String,
    /// Least machines.
    #[schema(required)]
    pub minimum: i32,
    /// Most machines.
    #[schema(required)]
    pub maximum: i32,
    /// Which grows first under expander `priority`: the highest.
    pub priority: Option<i32>,
    /// Maximum number of failed machines that are preserved.
    pub auto_preserve_failed_machine_max: Option<i32>,
}

/// A machine image and its versions.
#[api_type]
pub struct MachineImage {
    /// Name of the image.
    #[schema(required)]
    pub name: String,
    /// Version of the image.
    #[schema(required)]
    pub version: String,
}

/// What a node of a pool would have, for pools without nodes.
#[api_type]
pub struct NodeTemplate {
    /// Resources of the node.
    #[schema(required)]
    pub capacity: BTreeMap<String, Quantity>,
    /// Resources that are no part of the machine.
    pub virtual_capacity: BTreeMap<String, Quantity>,
}

/// A volume of machines.
#[api_type]
pub struct Volume {
    /// Name of the volume.
    pub name: Option<String>,
    /// Type of the volume.
    pub r#type: Option<String>,
    /// Size of the volume.
    #[schema(required)]
    pub size: String,
    /// True if the volume is encrypted.
    pub encrypted: Option<bool>,
}

/// A pool of nodes.
#[api_type]
pub struct WorkerPool {
    /// Machine type.
    #[schema(required)]
    pub machine_type: String,
    /// Most nodes.
    #[schema(required)]
    pub maximum: i32,
    /// How many nodes may be added beyond the wanted number during a roll-out.
    #[schema(required)]
    pub max_surge: IntOrString,
    /// How many nodes may be missing during a roll-out.
    #[schema(required)]
    pub max_unavailable: IntOrString,
    /// Annotations of the nodes.
    pub annotations: TextMap,
    /// Labels of the nodes.
    pub labels: TextMap,
    /// Taints of the nodes.
    pub taints: Vec<crate::kubernetes::core::Taint>,
    /// Image of the machines.
    pub machine_image: MachineImage,
    /// Least nodes.
    #[schema(required)]
    pub minimum: i32,
    /// Name of the pool.
    #[schema(required)]
    pub name: String,
    /// Secret with the configuration of gardener-node-agent; its name follows from what must replace nodes.
    pub node_agent_secret_name: Option<String>,
    /// Settings for the pool's machines, in the provider's format.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Secret with the script with which a machine starts.
    #[schema(required)]
    pub user_data_secret_ref: crate::kubernetes::core::SecretKeySelector,
    /// Root volume.
    pub volume: Option<Volume>,
    /// Further volumes.
    pub data_volumes: Vec<DataVolume>,
    /// Data volume on which the kubelet keeps its data.
    pub kubelet_data_volume_name: Option<String>,
    /// Availability zones over which the nodes are spread.
    pub zones: Vec<String>,
    /// How the pool's machines are looked after.
    pub machine_controller_manager: Option<crate::core::MachineControllerManagerSettings>,
    /// Version of the kubelet.
    pub kubernetes_version: Option<String>,
    /// Settings of the kubelet.
    pub kubelet_config: Option<crate::core::KubeletConfig>,
    /// What a node would have, for pools without nodes.
    pub node_template: Option<NodeTemplate>,
    /// CPU architecture.
    pub architecture: Option<String>,
    /// Settings of the cluster autoscaler for this pool.
    pub cluster_autoscaler: Option<ClusterAutoscalerOptions>,
    /// Which pool grows first under expander `priority`: the highest.
    pub priority: Option<i32>,
    /// How nodes are updated: AutoRollingUpdate, AutoInPlaceUpdate or ManualInPlaceUpdate.
    pub update_strategy: Option<String>,
}

/// Specification of a Worker.
#[api_type]
pub struct WorkerSpec {
    /// Type: which extension is responsible.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// What the Infrastructure's extension tells of it, in its own format.
    #[schema(preserve_unknown)]
    pub infrastructure_provider_status: Option<RawExtension>,
    /// Region of the infrastructure.
    #[schema(required)]
    pub region: String,
    /// Secret with the credentials of the infrastructure.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    /// Public key for access to the machines.
    pub ssh_public_key: ByteString,
    /// Pools of nodes.
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub pools: Vec<WorkerPool>,
}

/// Status of a Worker.
#[api_type]
pub struct WorkerStatus {
    /// Status that the extension reports for the object, in its own format.
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type.
    pub conditions: Vec<crate::core::Condition>,
    /// The last error.
    pub last_error: Option<crate::core::LastError>,
    /// The operation that runs, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that was acted on last.
    pub observed_generation: i64,
    /// State that must not be lost, in the extension's format.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Objects that the state refers to, by names.
    pub resources: Vec<crate::core::NamedResourceReference>,
    /// MachineDeployments that belong to the Worker.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_deployments: Vec<MachineDeployment>,
    /// When the list of MachineDeployments changed last.
    pub machine_deployments_last_update_time: Option<Time>,
    /// How far in-place updates are.
    pub in_place_updates: Option<InPlaceUpdatesWorkerStatus>,
}

impl_resource!(Worker, "extensions.gardener.cloud", "v1alpha1", "Worker", "workers", true);
