// SPDX-License-Identifier: Apache-2.0
//! Kind `Pod` (`v1`) and its template, the parts that are read.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A group of containers that run together on a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
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
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub reason: String,
    /// Reason in sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 6)]
    pub message: String,
}

/// An address of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodIP {
    /// The address.
    #[schema(required, protobuf = 1)]
    pub ip: String,
}

/// What a pod is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(
        merge_key = "name",
        patch_strategy = "merge,retainKeys",
        list_type = "map",
        list_map_key = "name",
        protobuf = 1
    )]
    /// Volumes that containers may mount.
    pub volumes: Vec<Volume>,
    /// Containers that run to their end, one after the other, before the others start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 20)]
    pub init_containers: Vec<Container>,
    #[schema(
        required,
        merge_key = "name",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "name",
        protobuf = 2
    )]
    /// Containers of the pod; at least one.
    pub containers: Vec<Container>,
    /// When containers that ended are started again: Always, OnFailure or Never. Default: Always.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub restart_policy: String,
    /// Seconds between the signal to end and the kill. Default: 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 4)]
    pub termination_grace_period_seconds: Option<i64>,
    /// Labels that the node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(atomic, protobuf = 7)]
    pub node_selector: BTreeMap<String, String>,
    /// ServiceAccount that the pod runs as.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 8)]
    pub service_account_name: String,
    /// Node on which the pod runs; the scheduler sets it.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 10)]
    pub node_name: String,
    /// Whether the pod uses the network of the node.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 11)]
    pub host_network: bool,
    /// Secrets with credentials for registries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 15)]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Scheduler that chooses the node.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 19)]
    pub scheduler_name: String,
    /// Taints of nodes that the pod tolerates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 22)]
    pub tolerations: Vec<Toleration>,
    /// PriorityClass of the pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 24)]
    pub priority_class_name: String,
    /// Priority of the pod, from its class; the higher, the more important.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 25)]
    pub priority: Option<i32>,
}

/// What is known of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub phase: String,
    /// Conditions of the object, one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 2)]
    pub conditions: Vec<PodCondition>,
    /// Reason in sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub message: String,
    /// Reason in one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub reason: String,
    /// Node on which room is being made for the pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 11)]
    pub nominated_node_name: String,
    /// Address of the node.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub host_ip: String,
    /// Address of the pod.
    #[serde(rename = "podIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 6)]
    pub pod_ip: String,
    /// Addresses of the pod, at most one of each family.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "ip", patch_strategy = "merge", list_type = "map", list_map_key = "ip", protobuf = 12)]
    pub pod_i_ps: Vec<PodIP>,
    /// When the kubelet took the pod on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 7)]
    pub start_time: Option<Time>,
    /// State of each init container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 10)]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// State of each container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 8)]
    pub container_statuses: Vec<ContainerStatus>,
    /// Class of service: Guaranteed, Burstable or BestEffort.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 9)]
    pub qos_class: String,
}

/// Pods to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodTemplateSpec {
    /// Labels and annotations of the pods.
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// What the pods are to be.
    #[schema(protobuf = 2)]
    pub spec: PodSpec,
}

impl_resource!(Pod, "", "v1", "Pod", "pods", true);
