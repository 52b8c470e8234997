// SPDX-License-Identifier: Apache-2.0
//! Containers of a Pod and their states, the parts that are read.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapKeySelector {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[schema(required)]
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    #[schema(required, protobuf = 1)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub image: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 3)]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 4)]
    pub args: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub working_dir: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(
        merge_key = "containerPort",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "containerPort",
        list_map_key = "protocol",
        protobuf = 6
    )]
    pub ports: Vec<ContainerPort>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 7)]
    pub env: Vec<EnvVar>,
    #[schema(protobuf = 8)]
    pub resources: ResourceRequirements,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(
        merge_key = "mountPath",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "mountPath",
        protobuf = 9
    )]
    pub volume_mounts: Vec<VolumeMount>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 14)]
    pub image_pull_policy: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub name: String,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 2)]
    pub host_port: i32,
    #[schema(required, protobuf = 3)]
    pub container_port: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub protocol: String,
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub host_ip: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerState {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub waiting: Option<ContainerStateWaiting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub running: Option<ContainerStateRunning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 3)]
    pub terminated: Option<ContainerStateTerminated>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateRunning {
    #[schema(protobuf = 1)]
    pub started_at: Time,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateTerminated {
    #[schema(required, protobuf = 1)]
    pub exit_code: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 2)]
    pub signal: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub message: String,
    #[schema(protobuf = 5)]
    pub started_at: Time,
    #[schema(protobuf = 6)]
    pub finished_at: Time,
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 7)]
    pub container_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateWaiting {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    #[schema(required, protobuf = 1)]
    pub name: String,
    #[schema(protobuf = 2)]
    pub state: ContainerState,
    #[schema(protobuf = 3)]
    pub last_state: ContainerState,
    #[schema(required, protobuf = 4)]
    pub ready: bool,
    #[schema(required, protobuf = 5)]
    pub restart_count: i32,
    #[schema(required, protobuf = 6)]
    pub image: String,
    #[serde(rename = "imageID")]
    #[schema(required, protobuf = 7)]
    pub image_id: String,
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 8)]
    pub container_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 9)]
    pub started: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EnvVar {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EnvVarSource {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeySelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeySelector>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectFieldSelector {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[schema(required)]
    pub field_path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceClaim {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceFieldSelector {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container_name: String,
    #[schema(required)]
    pub resource: String,
    pub divisor: Quantity,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceRequirements {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "map", list_map_key = "name")]
    pub claims: Vec<ResourceClaim>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretKeySelector {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[schema(required)]
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeMount {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursive_read_only: Option<String>,
    #[schema(required)]
    pub mount_path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_propagation: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path_expr: String,
}
