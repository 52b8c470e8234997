// SPDX-License-Identifier: Apache-2.0
//! Containers of a Pod and their states, the parts that are read.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

/// A key of a ConfigMap.
#[api_type]
pub struct ConfigMapKeySelector {
    pub name: String,
    /// The key.
    #[schema(required)]
    pub key: String,
    /// Whether it may be missing.
    pub optional: Option<bool>,
}

/// A container of a pod.
#[api_type]
pub struct Container {
    /// Name of the container, unique in the pod.
    #[schema(required, protobuf = 1)]
    pub name: String,
    /// Image that the container runs.
    #[schema(protobuf = 2)]
    pub image: String,
    /// Program to run, in place of the image's.
    #[schema(list_type = "atomic", protobuf = 3)]
    pub command: Vec<String>,
    /// Arguments of the program, in place of the image's.
    #[schema(list_type = "atomic", protobuf = 4)]
    pub args: Vec<String>,
    /// Working directory of the program.
    #[schema(protobuf = 5)]
    pub working_dir: String,
    /// Ports that the container opens.
    #[schema(
        merge_key = "containerPort",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "containerPort",
        list_map_key = "protocol",
        protobuf = 6
    )]
    pub ports: Vec<ContainerPort>,
    /// Environment variables.
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 7)]
    pub env: Vec<EnvVar>,
    /// Requests and limits of the container.
    #[schema(protobuf = 8)]
    pub resources: ResourceRequirements,
    /// Volumes that are mounted, and where.
    #[schema(
        merge_key = "mountPath",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "mountPath",
        protobuf = 9
    )]
    pub volume_mounts: Vec<VolumeMount>,
    /// When the image is pulled: Always, IfNotPresent or Never.
    #[schema(protobuf = 14)]
    pub image_pull_policy: String,
}

/// A port that a container opens.
#[api_type]
pub struct ContainerPort {
    /// Name of the port, for Services to refer to.
    #[schema(protobuf = 1)]
    pub name: String,
    /// Port of the node that leads to it.
    #[schema(protobuf = 2)]
    pub host_port: i32,
    /// Number of the port.
    #[schema(required, protobuf = 3)]
    pub container_port: i32,
    /// TCP, UDP or SCTP. Default: TCP.
    #[schema(protobuf = 4)]
    pub protocol: String,
    /// Address of the node that the port is opened on.
    #[schema(rename = "hostIP", protobuf = 5)]
    pub host_ip: String,
}

/// What a container does: one of three.
#[api_type]
pub struct ContainerState {
    /// It waits to start.
    #[schema(protobuf = 1)]
    pub waiting: Option<ContainerStateWaiting>,
    /// It runs.
    #[schema(protobuf = 2)]
    pub running: Option<ContainerStateRunning>,
    /// It ended.
    #[schema(protobuf = 3)]
    pub terminated: Option<ContainerStateTerminated>,
}

/// A container that runs.
#[api_type]
pub struct ContainerStateRunning {
    /// When it was started.
    #[schema(protobuf = 1)]
    pub started_at: Time,
}

/// A container that ended.
#[api_type]
pub struct ContainerStateTerminated {
    /// Code with which it ended.
    #[schema(required, protobuf = 1)]
    pub exit_code: i32,
    /// Signal by which it ended.
    #[schema(protobuf = 2)]
    pub signal: i32,
    /// Reason in one word.
    #[schema(protobuf = 3)]
    pub reason: String,
    /// Reason in sentences.
    #[schema(protobuf = 4)]
    pub message: String,
    /// When it was started.
    #[schema(protobuf = 5)]
    pub started_at: Time,
    /// When it ended.
    #[schema(protobuf = 6)]
    pub finished_at: Time,
    /// Identifier of the container.
    #[schema(rename = "containerID", protobuf = 7)]
    pub container_id: String,
}

/// A container that waits to start.
#[api_type]
pub struct ContainerStateWaiting {
    /// Reason in one word.
    #[schema(protobuf = 1)]
    pub reason: String,
    /// Reason in sentences.
    #[schema(protobuf = 2)]
    pub message: String,
}

/// State of a container.
#[api_type]
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
    #[schema(rename = "imageID", required, protobuf = 7)]
    pub image_id: String,
    /// Identifier of the container.
    #[schema(rename = "containerID", protobuf = 8)]
    pub container_id: String,
    /// Whether the container has started.
    #[schema(protobuf = 9)]
    pub started: Option<bool>,
}

/// An environment variable.
#[api_type]
pub struct EnvVar {
    /// Name of the variable.
    #[schema(required)]
    pub name: String,
    /// Value; $(NAME) stands for a variable that came before.
    pub value: String,
    /// Where the value comes from.
    pub value_from: Option<EnvVarSource>,
}

/// Where the value of an environment variable comes from.
#[api_type]
pub struct EnvVarSource {
    /// A field of the pod.
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// A key of a ConfigMap.
    pub config_map_key_ref: Option<ConfigMapKeySelector>,
    /// A key of a Secret.
    pub secret_key_ref: Option<SecretKeySelector>,
}

/// A field of the pod.
#[api_type]
pub struct ObjectFieldSelector {
    /// Version of the schema.
    pub api_version: String,
    /// Path of the field.
    #[schema(required)]
    pub field_path: String,
}

/// A claim of the pod that a container uses.
#[api_type]
pub struct ResourceClaim {
    /// Name of the claim in the pod.
    #[schema(required)]
    pub name: String,
    /// Request of the claim. Default: all.
    pub request: String,
}

/// A request or limit of a container.
#[api_type]
pub struct ResourceFieldSelector {
    /// Name of the container.
    pub container_name: String,
    /// limits.cpu, requests.memory and the like.
    #[schema(required)]
    pub resource: String,
    /// Unit of the number. Default: 1.
    pub divisor: Quantity,
}

/// Requests and limits.
#[api_type]
pub struct ResourceRequirements {
    /// Most that may be used.
    pub limits: BTreeMap<String, Quantity>,
    /// What is set aside. Default: the limits.
    pub requests: BTreeMap<String, Quantity>,
    /// Claims of the pod that the container uses.
    #[schema(list_type = "map", list_map_key = "name")]
    pub claims: Vec<ResourceClaim>,
}

/// A key of a Secret.
#[api_type]
pub struct SecretKeySelector {
    pub name: String,
    /// The key.
    #[schema(required)]
    pub key: String,
    /// Whether it may be missing.
    pub optional: Option<bool>,
}

/// A mounted volume.
#[api_type]
pub struct VolumeMount {
    /// Name of the volume.
    #[schema(required)]
    pub name: String,
    /// Whether it is mounted for reading only.
    pub read_only: bool,
    /// Whether mounts below it are read-only, too.
    pub recursive_read_only: Option<String>,
    /// Path in the container.
    #[schema(required)]
    pub mount_path: String,
    /// Path in the volume. Default: its root.
    pub sub_path: String,
    /// How mounts spread between node and container.
    pub mount_propagation: Option<String>,
    /// Path in the volume, with environment variables.
    pub sub_path_expr: String,
}
