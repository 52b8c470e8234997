// SPDX-License-Identifier: Apache-2.0
//! Kind `Pod` (`v1`) and its template, the parts that are read.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// A group of containers that run together on a node.
#[api_type]
pub struct Pod {
    /// Metadata of the object.
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(protobuf = 2)]
    pub spec: PodSpec,
    /// What is there.
    #[schema(protobuf = 3)]
    pub status: PodStatus,
}

/// One aspect of a pod's state.
#[api_type]
pub struct PodCondition {
    /// PodScheduled, Initialized, ContainersReady, Ready and more.
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required, protobuf = 2)]
    pub status: String,
    /// When it was looked at last.
    #[schema(protobuf = 3)]
    pub last_probe_time: Time,
    /// When the status changed last.
    #[schema(protobuf = 4)]
    pub last_transition_time: Time,
    /// Reason in one word.
    #[schema(protobuf = 5)]
    pub reason: String,
    /// Reason in sentences.
    #[schema(protobuf = 6)]
    pub message: String,
}

/// An address of a pod.
#[api_type]
pub struct PodIP {
    /// The address.
    #[schema(required, protobuf = 1)]
    pub ip: String,
}

/// What a pod is to be.
#[api_type]
pub struct PodSpec {
    /// Volumes that containers may mount.
    #[schema(
        merge_key = "name",
        patch_strategy = "merge,retainKeys",
        list_type = "map",
        list_map_key = "name",
        protobuf = 1
    )]
    pub volumes: Vec<Volume>,
    /// Containers that run to their end, one after the other, before the others start.
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 20)]
    pub init_containers: Vec<Container>,
    /// Containers of the pod; at least one.
    #[schema(
        required,
        merge_key = "name",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "name",
        protobuf = 2
    )]
    pub containers: Vec<Container>,
    /// When containers that ended are started again: Always, OnFailure or Never. Default: Always.
    #[schema(protobuf = 3)]
    pub restart_policy: String,
    /// Seconds between the signal to end and the kill. Default: 30.
    #[schema(protobuf = 4)]
    pub termination_grace_period_seconds: Option<i64>,
    /// Labels that the node must have.
    #[schema(atomic, protobuf = 7)]
    pub node_selector: TextMap,
    /// ServiceAccount that the pod runs as.
    #[schema(protobuf = 8)]
    pub service_account_name: String,
    /// Node on which the pod runs; the scheduler sets it.
    #[schema(protobuf = 10)]
    pub node_name: String,
    /// Whether the pod uses the network of the node.
    #[schema(protobuf = 11)]
    pub host_network: bool,
    /// Secrets with credentials for registries.
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 15)]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Nodes and pods that the pod wants to be near to, or far from.
    #[schema(protobuf = 18)]
    pub affinity: Option<Box<Affinity>>,
    /// Scheduler that chooses the node.
    #[schema(protobuf = 19)]
    pub scheduler_name: String,
    /// Taints of nodes that the pod tolerates.
    #[schema(list_type = "atomic", protobuf = 22)]
    pub tolerations: Vec<Toleration>,
    /// PriorityClass of the pod.
    #[schema(protobuf = 24)]
    pub priority_class_name: String,
    /// Priority of the pod, from its class; the higher, the more important.
    #[schema(protobuf = 25)]
    pub priority: Option<i32>,
    /// How evenly pods like this one are spread.
    #[schema(
        merge_key = "topologyKey",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "topologyKey",
        list_map_key = "whenUnsatisfiable",
        protobuf = 33
    )]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

/// What is known of a pod.
#[api_type]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    #[schema(protobuf = 1)]
    pub phase: String,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 2)]
    pub conditions: Vec<PodCondition>,
    /// Reason in sentences.
    #[schema(protobuf = 3)]
    pub message: String,
    /// Reason in one word.
    #[schema(protobuf = 4)]
    pub reason: String,
    /// Node on which room is being made for the pod.
    #[schema(protobuf = 11)]
    pub nominated_node_name: String,
    /// Address of the node.
    #[schema(rename = "hostIP", protobuf = 5)]
    pub host_ip: String,
    /// Address of the pod.
    #[schema(rename = "podIP", protobuf = 6)]
    pub pod_ip: String,
    /// Addresses of the pod, at most one of each family.
    #[schema(merge_key = "ip", patch_strategy = "merge", list_type = "map", list_map_key = "ip", protobuf = 12)]
    pub pod_i_ps: Vec<PodIP>,
    /// When the kubelet took the pod on.
    #[schema(protobuf = 7)]
    pub start_time: Option<Time>,
    /// State of each init container.
    #[schema(list_type = "atomic", protobuf = 10)]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// State of each container.
    #[schema(list_type = "atomic", protobuf = 8)]
    pub container_statuses: Vec<ContainerStatus>,
    /// Class of service: Guaranteed, Burstable or BestEffort.
    #[schema(protobuf = 9)]
    pub qos_class: String,
}

/// Pods to be made.
#[api_type]
pub struct PodTemplateSpec {
    /// Labels and annotations of the pods.
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// What the pods are to be.
    #[schema(protobuf = 2)]
    pub spec: PodSpec,
}

impl_resource!(Pod, "", "v1", "Pod", "pods", true);
