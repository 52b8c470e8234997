// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Worker` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// The worker pools of a Shoot that an extension controller creates.
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
    /// Utilization of a node's resources below which it may be removed.
    pub scale_down_utilization_threshold: Option<String>,
    /// Utilization of a node's GPUs below which it may be removed.
    pub scale_down_gpu_utilization_threshold: Option<String>,
    /// Duration for which a node must be unneeded before it is removed.
    pub scale_down_unneeded_time: Option<Duration>,
    /// Duration for which an unready node must be unneeded before it is removed.
    pub scale_down_unready_time: Option<Duration>,
    /// Maximum duration of the creation of a node.
    pub max_node_provision_time: Option<Duration>,
}

/// An additional volume of machines.
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

/// Progress of in-place updates.
#[api_type]
pub struct InPlaceUpdatesWorkerStatus {
    /// Hash of the configuration of each pool's nodes.
    pub worker_pool_to_hash_map: TextMap,
}

/// A MachineDeployment of a Worker, with its bounds for the autoscaler.
#[api_type]
pub struct MachineDeployment {
    /// Name of the MachineDeployment.
    #[schema(required)]
    pub name: String,
    /// Minimum number of machines.
    #[schema(required)]
    pub minimum: i32,
    /// Maximum number of machines.
    #[schema(required)]
    pub maximum: i32,
    /// Priority for expander `priority`; the highest value grows first.
    pub priority: Option<i32>,
    /// Maximum number of failed machines that are preserved.
    pub auto_preserve_failed_machine_max: Option<i32>,
}

/// Name and version of a machine image.
#[api_type]
pub struct MachineImage {
    /// Name of the image.
    #[schema(required)]
    pub name: String,
    /// Version of the image.
    #[schema(required)]
    pub version: String,
}

/// Resources of a pool's nodes, for pools that have none yet.
#[api_type]
pub struct NodeTemplate {
    /// Resources of the node.
    #[schema(required)]
    pub capacity: BTreeMap<String, Quantity>,
    /// Resources of the node that the machine does not have.
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
    /// Maximum number of nodes.
    #[schema(required)]
    pub maximum: i32,
    /// Number, or percentage, of nodes that may be added beyond the desired number during a roll-out.
    #[schema(required)]
    pub max_surge: IntOrString,
    /// Number, or percentage, of nodes that may be missing during a roll-out.
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
    /// Minimum number of nodes.
    #[schema(required)]
    pub minimum: i32,
    /// Name of the pool.
    #[schema(required)]
    pub name: String,
    /// Secret with the configuration of gardener-node-agent; its name is derived from the settings whose change replaces nodes.
    pub node_agent_secret_name: Option<String>,
    /// Settings for the pool's machines, in the provider's format.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Secret with the start-up script of a machine.
    #[schema(required)]
    pub user_data_secret_ref: crate::kubernetes::core::SecretKeySelector,
    /// Root volume.
    pub volume: Option<Volume>,
    /// Additional volumes.
    pub data_volumes: Vec<DataVolume>,
    /// Data volume on which the kubelet keeps its data.
    pub kubelet_data_volume_name: Option<String>,
    /// Availability zones over which the nodes are spread.
    pub zones: Vec<String>,
    /// Timeouts and health checks of the pool's machines.
    pub machine_controller_manager: Option<crate::core::MachineControllerManagerSettings>,
    /// Version of the kubelet.
    pub kubernetes_version: Option<String>,
    /// Settings of the kubelet.
    pub kubelet_config: Option<crate::core::KubeletConfig>,
    /// Resources of the pool's nodes, if it has none yet.
    pub node_template: Option<NodeTemplate>,
    /// CPU architecture.
    pub architecture: Option<String>,
    /// Settings of the cluster autoscaler for this pool.
    pub cluster_autoscaler: Option<ClusterAutoscalerOptions>,
    /// Priority of the pool for expander `priority`; the pool with the highest value grows first.
    pub priority: Option<i32>,
    /// Strategy for updating nodes: AutoRollingUpdate, AutoInPlaceUpdate or ManualInPlaceUpdate.
    pub update_strategy: Option<String>,
}

/// Specification of a Worker.
#[api_type]
pub struct WorkerSpec {
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Status that the Infrastructure's extension reports, in its own format.
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
    /// The current operation, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// State to persist, in the extension's format.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses.
    pub resources: Vec<crate::core::NamedResourceReference>,
    /// MachineDeployments that belong to the Worker.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_deployments: Vec<MachineDeployment>,
    /// Time of the last change to the list of MachineDeployments.
    pub machine_deployments_last_update_time: Option<Time>,
    /// Progress of in-place updates.
    pub in_place_updates: Option<InPlaceUpdatesWorkerStatus>,
}

impl_resource!(Worker, "extensions.gardener.cloud", "v1alpha1", "Worker", "workers", true);
