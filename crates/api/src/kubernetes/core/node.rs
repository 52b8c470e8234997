// SPDX-License-Identifier: Apache-2.0
//! Kind `Node` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// A machine of the cluster.
#[api_type]
pub struct Node {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Node.
    pub spec: NodeSpec,
    /// Observed state of the Node.
    pub status: NodeStatus,
}

/// A volume that is attached to a node.
#[api_type]
pub struct AttachedVolume {
    /// Name of the volume.
    #[schema(required)]
    pub name: String,
    /// Device of the volume.
    #[schema(required)]
    pub device_path: String,
}

#[api_type]
pub struct ConfigMapNodeConfigSource {
    #[schema(required)]
    pub namespace: String,
    #[schema(required)]
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    #[schema(required)]
    pub kubelet_config_key: String,
}

/// An image on a node.
#[api_type]
pub struct ContainerImage {
    /// Names of the image.
    #[schema(always, list_type = "atomic")]
    pub names: Vec<String>,
    /// Size of the image in bytes.
    pub size_bytes: i64,
}

/// Port of a service of the node.
#[api_type]
pub struct DaemonEndpoint {
    /// Number of the port.
    #[schema(rename = "Port", required)]
    pub port: i32,
}

/// An address of a node.
#[api_type]
pub struct NodeAddress {
    /// InternalIP, ExternalIP, Hostname, InternalDNS or ExternalDNS.
    #[schema(required)]
    pub r#type: String,
    /// The address.
    #[schema(required)]
    pub address: String,
}

/// One aspect of a node's state.
#[api_type]
pub struct NodeCondition {
    /// Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable and more.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last report.
    pub last_heartbeat_time: Time,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

#[api_type]
pub struct NodeConfigSource {
    pub config_map: Option<ConfigMapNodeConfigSource>,
}

/// Ports of the node's services.
#[api_type]
pub struct NodeDaemonEndpoints {
    /// Port of the kubelet.
    pub kubelet_endpoint: DaemonEndpoint,
}

/// Specification of a node.
#[api_type]
pub struct NodeSpec {
    /// Network of the node's pods, in CIDR form.
    #[schema(rename = "podCIDR")]
    pub pod_cidr: String,
    /// Networks of the node's pods, at most one of each family.
    #[schema(rename = "podCIDRs", patch_strategy = "merge", list_type = "set")]
    pub pod_cid_rs: Vec<String>,
    /// Identifier of the machine at its provider.
    #[schema(rename = "providerID")]
    pub provider_id: String,
    /// True if no new pods are scheduled onto the node.
    pub unschedulable: bool,
    /// Taints; pods that do not tolerate them are not scheduled onto the node.
    #[schema(list_type = "atomic")]
    pub taints: Vec<Taint>,
    /// No longer used.
    pub config_source: Option<NodeConfigSource>,
    /// No longer used.
    #[schema(rename = "externalID")]
    pub external_id: String,
}

/// Status of a node.
#[api_type]
pub struct NodeStatus {
    /// Resources of the node.
    pub capacity: BTreeMap<String, Quantity>,
    /// Resources that pods may use.
    pub allocatable: BTreeMap<String, Quantity>,
    /// No longer used.
    pub phase: String,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<NodeCondition>,
    /// Addresses of the node.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub addresses: Vec<NodeAddress>,
    /// Ports of the node's services.
    pub daemon_endpoints: NodeDaemonEndpoints,
    /// Versions and identifiers of the node.
    pub node_info: NodeSystemInfo,
    /// Images that are on the node.
    #[schema(list_type = "atomic")]
    pub images: Vec<ContainerImage>,
    /// Volumes that are in use.
    #[schema(list_type = "atomic")]
    pub volumes_in_use: Vec<String>,
    /// Volumes that are attached.
    #[schema(list_type = "atomic")]
    pub volumes_attached: Vec<AttachedVolume>,
}

/// Versions and identifiers of a node.
#[api_type]
pub struct NodeSystemInfo {
    /// Identifier of the machine.
    #[schema(rename = "machineID", required)]
    pub machine_id: String,
    /// Identifier of the hardware.
    #[schema(rename = "systemUUID", required)]
    pub system_uuid: String,
    /// Identifier of the current boot.
    #[schema(rename = "bootID", required)]
    pub boot_id: String,
    /// Version of the kernel.
    #[schema(required)]
    pub kernel_version: String,
    /// Name of the operating system.
    #[schema(required)]
    pub os_image: String,
    /// Version of the container runtime.
    #[schema(required)]
    pub container_runtime_version: String,
    /// Version of the kubelet.
    #[schema(required)]
    pub kubelet_version: String,
    /// No longer used.
    #[schema(required)]
    pub kube_proxy_version: String,
    /// Kind of operating system.
    #[schema(required)]
    pub operating_system: String,
    /// CPU architecture.
    #[schema(required)]
    pub architecture: String,
}

impl_resource!(Node, "", "v1", "Node", "nodes", false);
