// SPDX-License-Identifier: Apache-2.0
//! Containers of a Pod and their states, the parts that are read.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;

/// A key of a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapKeySelector {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The key.
    #[schema(required)]
    pub key: String,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A container of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    /// Name of the container, unique in the pod.
    #[schema(required, protobuf = 1)]
    pub name: String,
    /// Image that the container runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub image: String,
    /// Program to run, in place of the image's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 3)]
    pub command: Vec<String>,
    /// Arguments of the program, in place of the image's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 4)]
    pub args: Vec<String>,
    /// Working directory of the program.
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
    /// Ports that the container opens.
    pub ports: Vec<ContainerPort>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 7)]
    pub env: Vec<EnvVar>,
    /// Requests and limits of the container.
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
    /// Volumes that are mounted, and where.
    pub volume_mounts: Vec<VolumeMount>,
    /// When the image is pulled: Always, IfNotPresent or Never.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 14)]
    pub image_pull_policy: String,
}

/// A port that a container opens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerPort {
    /// Name of the port, for Services to refer to.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub name: String,
    /// Port of the node that leads to it.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 2)]
    pub host_port: i32,
    /// Number of the port.
    #[schema(required, protobuf = 3)]
    pub container_port: i32,
    /// TCP, UDP or SCTP. Default: TCP.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub protocol: String,
    /// Address of the node that the port is opened on.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub host_ip: String,
}

/// What a container does: one of three.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerState {
    /// It waits to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub waiting: Option<ContainerStateWaiting>,
    /// It runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub running: Option<ContainerStateRunning>,
    /// It ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 3)]
    pub terminated: Option<ContainerStateTerminated>,
}

/// A container that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateRunning {
    /// When it was started.
    #[schema(protobuf = 1)]
    pub started_at: Time,
}

/// A container that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateTerminated {
    /// Code with which it ended.
    #[schema(required, protobuf = 1)]
    pub exit_code: i32,
    /// Signal by which it ended.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 2)]
    pub signal: i32,
    /// Reason in one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub reason: String,
    /// Reason in sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub message: String,
    /// When it was started.
    #[schema(protobuf = 5)]
    pub started_at: Time,
    /// When it ended.
    #[schema(protobuf = 6)]
    pub finished_at: Time,
    /// Identifier of the container.
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 7)]
    pub container_id: String,
}

/// A container that waits to start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateWaiting {
    /// Reason in one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub reason: String,
    /// Reason in sentences.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub message: String,
}

/// State of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    /// Name of the container.
    #[schema(required, protobuf = 1)]
    pub name: String,
    /// What the container does.
    #[schema(protobuf = 2)]
    pub state: ContainerState,
    /// How it ended last time.
    #[schema(protobuf = 3)]
    pub last_state: ContainerState,
    /// Whether the container is ready.
    #[schema(required, protobuf = 4)]
    pub ready: bool,
    /// How often the container was started again.
    #[schema(required, protobuf = 5)]
    pub restart_count: i32,
    /// Image that the container runs.
    #[schema(required, protobuf = 6)]
    pub image: String,
    /// Identifier of the image.
    #[serde(rename = "imageID")]
    #[schema(required, protobuf = 7)]
    pub image_id: String,
    /// Identifier of the container.
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 8)]
    pub container_id: String,
    /// Whether the container has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 9)]
    pub started: Option<bool>,
}

/// An environment variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EnvVar {
    /// Name of the variable.
    #[schema(required)]
    pub name: String,
    /// Value; $(NAME) stands for a variable that came before.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Where the value comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

/// Where the value of an environment variable comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EnvVarSource {
    /// A field of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// A key of a ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeySelector>,
    /// A key of a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeySelector>,
}

/// A field of the pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectFieldSelector {
    /// Version of the schema.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Path of the field.
    #[schema(required)]
    pub field_path: String,
}

/// A claim of the pod that a container uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceClaim {
    /// Name of the claim in the pod.
    #[schema(required)]
    pub name: String,
    /// Request of the claim. Default: all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
}

/// A request or limit of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceFieldSelector {
    /// Name of the container.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container_name: String,
    /// limits.cpu, requests.memory and the like.
    #[schema(required)]
    pub resource: String,
    /// Unit of the number. Default: 1.
    pub divisor: Quantity,
}

/// Requests and limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceRequirements {
    /// Most that may be used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Quantity>,
    /// What is set aside. Default: the limits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Quantity>,
    /// Claims of the pod that the container uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "map", list_map_key = "name")]
    pub claims: Vec<ResourceClaim>,
}

/// A key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretKeySelector {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The key.
    #[schema(required)]
    pub key: String,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A mounted volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeMount {
    /// Name of the volume.
    #[schema(required)]
    pub name: String,
    /// Whether it is mounted for reading only.
    #[serde(skip_serializing_if = "is_zero")]
    pub read_only: bool,
    /// Whether mounts below it are read-only, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursive_read_only: Option<String>,
    /// Path in the container.
    #[schema(required)]
    pub mount_path: String,
    /// Path in the volume. Default: its root.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path: String,
    /// How mounts spread between node and container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_propagation: Option<String>,
    /// Path in the volume, with environment variables.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path_expr: String,
}
