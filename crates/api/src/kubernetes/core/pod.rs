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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Pod {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: PodSpec,
    #[schema(protobuf = 3)]
    pub status: PodStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodCondition {
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    #[schema(required, protobuf = 2)]
    pub status: String,
    #[schema(protobuf = 3)]
    pub last_probe_time: Time,
    #[schema(protobuf = 4)]
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 6)]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodIP {
    #[schema(required, protobuf = 1)]
    pub ip: String,
}

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
    pub volumes: Vec<Volume>,
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
    pub containers: Vec<Container>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub restart_policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 4)]
    pub termination_grace_period_seconds: Option<i64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(atomic, protobuf = 7)]
    pub node_selector: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 8)]
    pub service_account_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 10)]
    pub node_name: String,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 11)]
    pub host_network: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 15)]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 19)]
    pub scheduler_name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 22)]
    pub tolerations: Vec<Toleration>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 24)]
    pub priority_class_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 25)]
    pub priority: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub phase: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 2)]
    pub conditions: Vec<PodCondition>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 11)]
    pub nominated_node_name: String,
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub host_ip: String,
    #[serde(rename = "podIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 6)]
    pub pod_ip: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "ip", patch_strategy = "merge", list_type = "map", list_map_key = "ip", protobuf = 12)]
    pub pod_i_ps: Vec<PodIP>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 7)]
    pub start_time: Option<Time>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 10)]
    pub init_container_statuses: Vec<ContainerStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 8)]
    pub container_statuses: Vec<ContainerStatus>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 9)]
    pub qos_class: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodTemplateSpec {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: PodSpec,
}

impl_resource!(Pod, "", "v1", "Pod", "pods", true);
