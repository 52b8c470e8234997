// SPDX-License-Identifier: Apache-2.0
//! The infrastructure and the worker pools of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;

/// Settings of the cluster autoscaler for one pool.
#[api_type]
pub struct ClusterAutoscalerOptions {
    /// Utilization of a node's resources below which it may be removed.
    pub scale_down_utilization_threshold: Option<f64>,
    /// Utilization of a node's GPUs below which it may be removed.
    pub scale_down_gpu_utilization_threshold: Option<f64>,
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
    /// Type of the volume, one of the CloudProfile's.
    pub r#type: Option<String>,
    /// Size of the volume, `20Gi`.
    #[schema(required)]
    pub size: String,
    /// True if the volume is encrypted.
    pub encrypted: Option<bool>,
}

/// Exposure by DNS. Served; not emulated.
#[api_type]
pub struct DNSExposure {}

/// Exposure of the API server of a self-hosted Shoot. Served; not emulated.
#[api_type]
pub struct Exposure {
    /// Exposure by an extension; excludes dns. Served; not emulated.
    pub extension: Option<ExtensionExposure>,
    /// Exposure by DNS; excludes extension. Served; not emulated.
    pub dns: Option<DNSExposure>,
}

/// Exposure by an extension. Served; not emulated.
#[api_type]
pub struct ExtensionExposure {
    /// Type of the extension. Default: the type of the Shoot's provider. Served; not emulated.
    pub r#type: Option<String>,
    /// Settings of the extension, in its own format. Served; not emulated.
    pub provider_config: Option<RawExtension>,
}

/// Type, image and architecture of the machines of a worker pool.
#[api_type]
pub struct Machine {
    /// Machine type, one of the CloudProfile's.
    #[schema(required)]
    pub r#type: String,
    /// Machine image. Default: the highest version of the CloudProfile's first image that fits.
    pub image: Option<ShootMachineImage>,
    /// CPU architecture: amd64 or arm64. Default: amd64.
    pub architecture: Option<String>,
}

/// Timeouts and health checks of the machines of a pool.
#[api_type]
pub struct MachineControllerManagerSettings {
    /// Maximum duration of draining a node before its machine is deleted by force. Default: 2h.
    pub machine_drain_timeout: Option<Duration>,
    /// Duration for which a machine may be unhealthy before it is replaced. Default: 10m.
    pub machine_health_timeout: Option<Duration>,
    /// Maximum duration of the creation of a machine. Default: 20m.
    pub machine_creation_timeout: Option<Duration>,
    /// Maximum number of evictions of a pod that are tried while draining. Default: 10.
    pub max_evict_retries: Option<i32>,
    /// Conditions of a node that make its machine unhealthy.
    pub node_conditions: Vec<String>,
    /// Maximum duration of the in-place update of a node.
    pub in_place_update_timeout: Option<Duration>,
    /// True if unhealthy machines are never replaced; the default for in-place updates.
    pub disable_health_timeout: Option<bool>,
    /// Duration for which a machine is preserved. Default: 96h.
    pub machine_preserve_timeout: Option<Duration>,
    /// Maximum number of failed machines that are preserved in the pool, spread over its zones.
    pub auto_preserve_failed_machine_max: Option<i32>,
}

/// The infrastructure of a Shoot and its worker pools.
#[api_type]
pub struct Provider {
    /// Provider of the infrastructure, the CloudProfile's. Cannot be changed.
    #[schema(required)]
    pub r#type: String,
    /// Settings for the provider's control plane components, in its own format.
    pub control_plane_config: Option<RawExtension>,
    /// Settings for the provider's infrastructure, in its own format.
    pub infrastructure_config: Option<RawExtension>,
    /// Worker pools. A Shoot without any has no nodes, and cannot get them later.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub workers: Vec<Worker>,
    /// Settings for all worker pools.
    pub workers_settings: Option<WorkersSettings>,
}

/// Access to nodes by SSH.
#[api_type]
pub struct SSHAccess {
    /// True if SSH to the nodes is possible. Default: true.
    #[schema(required)]
    pub enabled: bool,
}

/// Name and version of a machine image.
#[api_type]
pub struct ShootMachineImage {
    /// Name of the image, one of the CloudProfile's.
    #[schema(required)]
    pub name: String,
    /// Settings for the operating system, in the extension's format.
    pub provider_config: Option<RawExtension>,
    /// Version of the image; may omit the patch or minor version, which is then set to the highest.
    pub version: Option<String>,
}

/// A volume of machines.
#[api_type]
pub struct Volume {
    /// Name of the volume; needed if other settings refer to it.
    pub name: Option<String>,
    /// Type of the volume, one of the CloudProfile's.
    pub r#type: Option<String>,
    /// Size of the volume, `50Gi`.
    #[schema(required)]
    pub size: String,
    /// True if the volume is encrypted.
    pub encrypted: Option<bool>,
}

/// A worker pool of a Shoot.
#[api_type]
pub struct Worker {
    /// Annotations of the pool's nodes.
    pub annotations: TextMap,
    /// Certificates that the nodes trust, in PEM.
    pub ca_bundle: Option<String>,
    /// Container runtime. Default: containerd.
    pub cri: Option<CRI>,
    /// Version of Kubernetes and settings of the kubelet, if they differ from the cluster's.
    pub kubernetes: Option<WorkerKubernetes>,
    /// Labels of the pool's nodes.
    pub labels: TextMap,
    /// Name of the pool, unique in the Shoot; at most 15 characters.
    #[schema(required)]
    pub name: String,
    /// Machine type and image.
    #[schema(required)]
    pub machine: Machine,
    /// Maximum number of nodes for the autoscaler.
    #[schema(required)]
    pub maximum: i32,
    /// Minimum number of nodes for the autoscaler.
    #[schema(required)]
    pub minimum: i32,
    /// Number, or percentage, of nodes that may be added beyond the desired number during a roll-out. Default: 1.
    pub max_surge: Option<IntOrString>,
    /// Number, or percentage, of nodes that may be missing during a roll-out. Default: 0.
    pub max_unavailable: Option<IntOrString>,
    /// Settings for the pool's machines, in the provider's format.
    pub provider_config: Option<RawExtension>,
    /// Taints of the pool's nodes.
    pub taints: Vec<crate::kubernetes::core::Taint>,
    /// Root volume of the nodes.
    pub volume: Option<Volume>,
    /// Additional volumes of the nodes.
    pub data_volumes: Vec<DataVolume>,
    /// Data volume on which the kubelet keeps its data.
    pub kubelet_data_volume_name: Option<String>,
    /// Availability zones over which the nodes are spread. Zones can be added, but not removed.
    pub zones: Vec<String>,
    /// System components on the pool.
    pub system_components: Option<WorkerSystemComponents>,
    /// Timeouts and health checks of the pool's machines.
    pub machine_controller_manager: Option<MachineControllerManagerSettings>,
    /// Kernel parameters of the nodes.
    pub sysctls: TextMap,
    /// Settings of the cluster autoscaler for this pool.
    pub cluster_autoscaler: Option<ClusterAutoscalerOptions>,
    /// Priority of the pool for expander `priority`; the pool with the highest value grows first.
    pub priority: Option<i32>,
    /// Strategy for updating nodes: AutoRollingUpdate replaces them, AutoInPlaceUpdate and ManualInPlaceUpdate do not. Default:
    /// AutoRollingUpdate.
    pub update_strategy: Option<String>,
    /// The pool runs the cluster's own control plane. Served; not emulated.
    pub control_plane: Option<WorkerControlPlane>,
}

/// A pool that runs the cluster's own control plane. Served; not emulated.
#[api_type]
pub struct WorkerControlPlane {
    /// Destination of backups of etcd. Served; not emulated.
    pub backup: Option<Backup>,
    /// Exposure of the API server of a self-hosted Shoot: extension or dns. Served; not emulated.
    pub exposure: Option<Exposure>,
}

/// Kubernetes version and kubelet settings of one pool.
#[api_type]
pub struct WorkerKubernetes {
    /// Settings of the kubelet; they replace those for the whole cluster.
    pub kubelet: Option<KubeletConfig>,
    /// Version of Kubernetes; not above the control plane's, and not too far below. Default: the control plane's.
    pub version: Option<String>,
}

/// Placement of system components.
#[api_type]
pub struct WorkerSystemComponents {
    /// True if system components may run on the pool's nodes. Default: true.
    #[schema(required)]
    pub allow: bool,
}

/// Settings for all worker pools.
#[api_type]
pub struct WorkersSettings {
    /// Access to nodes by SSH.
    pub ssh_access: Option<SSHAccess>,
}
