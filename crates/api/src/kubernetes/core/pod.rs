// SPDX-License-Identifier: Apache-2.0
//! Kind `Pod` (`v1`) and its template, as far as they are read.
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
    pub metadata: ObjectMeta,
    /// Desired state of the Pod.
    pub spec: PodSpec,
    /// Observed state of the Pod.
    pub status: PodStatus,
}

/// One aspect of a pod's state.
#[api_type]
pub struct PodCondition {
    /// PodScheduled, Initialized, ContainersReady, Ready and more.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last probe.
    pub last_probe_time: Time,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// An address of a pod.
#[api_type]
pub struct PodIP {
    /// The address.
    #[schema(required)]
    pub ip: String,
}

/// Specification of a pod.
#[api_type]
pub struct PodSpec {
    /// Volumes that containers may mount.
    #[schema(merge_key = "name", patch_strategy = "merge,retainKeys", list_type = "map", list_map_key = "name")]
    pub volumes: Vec<Volume>,
    /// Containers that run to completion, one after the other, before the others start.
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name")]
    pub init_containers: Vec<Container>,
    /// Containers of the pod; at least one.
    #[schema(required, merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name")]
    pub containers: Vec<Container>,
    /// Policy for restarting terminated containers: Always, OnFailure or Never. Default: Always.
    pub restart_policy: String,
    /// Seconds between the termination signal and the kill. Default: 30.
    pub termination_grace_period_seconds: Option<i64>,
    /// Labels that the node must have.
    #[schema(atomic)]
    pub node_selector: TextMap,
    /// ServiceAccount that the pod runs as.
    pub service_account_name: String,
    /// Node on which the pod runs; the scheduler sets it.
    pub node_name: String,
    /// True if the pod uses the network of the node.
    pub host_network: bool,
    /// Secrets with credentials for registries.
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Attraction of the pod to nodes and pods, or repulsion from them.
    pub affinity: Option<Box<Affinity>>,
    /// Scheduler that chooses the node.
    pub scheduler_name: String,
    /// Taints of nodes that the pod tolerates.
    #[schema(list_type = "atomic")]
    pub tolerations: Vec<Toleration>,
    /// PriorityClass of the pod.
    pub priority_class_name: String,
    /// Priority of the pod, from its class; pods with a higher value are more important.
    pub priority: Option<i32>,
    /// Constraints on the distribution of the pods over topology domains.
    #[schema(
        merge_key = "topologyKey",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "topologyKey",
        list_map_key = "whenUnsatisfiable"
    )]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

/// Status of a pod.
#[api_type]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<PodCondition>,
    /// Human-readable message.
    pub message: String,
    /// Reason in one word.
    pub reason: String,
    /// Node on which lower-priority pods are preempted for the pod.
    pub nominated_node_name: String,
    /// Address of the node.
    #[schema(rename = "hostIP")]
    pub host_ip: String,
    /// Address of the pod.
    #[schema(rename = "podIP")]
    pub pod_ip: String,
    /// Addresses of the pod, at most one of each family.
    #[schema(merge_key = "ip", patch_strategy = "merge", list_type = "map", list_map_key = "ip")]
    pub pod_i_ps: Vec<PodIP>,
    /// Time at which the kubelet accepted the pod.
    pub start_time: Option<Time>,
    /// State of each init container.
    #[schema(list_type = "atomic")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// State of each container.
    #[schema(list_type = "atomic")]
    pub container_statuses: Vec<ContainerStatus>,
    /// Quality of service class: Guaranteed, Burstable or BestEffort.
    pub qos_class: String,
}

/// Template of pods.
#[api_type]
pub struct PodTemplateSpec {
    /// Labels and annotations of the pods.
    pub metadata: ObjectMeta,
    /// Specification of the pods.
    pub spec: PodSpec,
}

impl_resource!(Pod, "", "v1", "Pod", "pods", true);
