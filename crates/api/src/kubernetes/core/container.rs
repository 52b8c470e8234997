// SPDX-License-Identifier: Apache-2.0
//! Containers of a Pod and their states, as far as they are read.
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
    /// True if the ConfigMap or its key may be missing.
    pub optional: Option<bool>,
}

/// A container of a pod.
#[api_type]
pub struct Container {
    /// Name of the container, unique in the pod.
    #[schema(required)]
    pub name: String,
    /// Image that the container runs.
    pub image: String,
    /// Program to run, instead of the image's entry point.
    #[schema(list_type = "atomic")]
    pub command: Vec<String>,
    /// Arguments of the program, instead of the image's.
    #[schema(list_type = "atomic")]
    pub args: Vec<String>,
    /// Working directory of the program.
    pub working_dir: String,
    /// Ports that the container opens.
    #[schema(
        merge_key = "containerPort",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "containerPort",
        list_map_key = "protocol"
    )]
    pub ports: Vec<ContainerPort>,
    /// Environment variables.
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name")]
    pub env: Vec<EnvVar>,
    /// Requests and limits of the container.
    pub resources: ResourceRequirements,
    /// Volumes to mount, and their paths.
    #[schema(merge_key = "mountPath", patch_strategy = "merge", list_type = "map", list_map_key = "mountPath")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Policy of pulling the image: Always, IfNotPresent or Never.
    pub image_pull_policy: String,
}

/// A port that a container opens.
#[api_type]
pub struct ContainerPort {
    /// Name of the port, for Services to refer to.
    pub name: String,
    /// Port of the node that is forwarded to it.
    pub host_port: i32,
    /// Number of the port.
    #[schema(required)]
    pub container_port: i32,
    /// TCP, UDP or SCTP. Default: TCP.
    pub protocol: String,
    /// Address of the node that the port is opened on.
    #[schema(rename = "hostIP")]
    pub host_ip: String,
}

/// State of a container; one of three.
#[api_type]
pub struct ContainerState {
    /// Set while the container waits to start.
    pub waiting: Option<ContainerStateWaiting>,
    /// Set while the container runs.
    pub running: Option<ContainerStateRunning>,
    /// Set when the container has terminated.
    pub terminated: Option<ContainerStateTerminated>,
}

/// A running container.
#[api_type]
pub struct ContainerStateRunning {
    /// Start time of the container.
    pub started_at: Time,
}

/// A terminated container.
#[api_type]
pub struct ContainerStateTerminated {
    /// Exit code.
    #[schema(required)]
    pub exit_code: i32,
    /// Signal that terminated the container.
    pub signal: i32,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
    /// Start time of the container.
    pub started_at: Time,
    /// Time of the termination.
    pub finished_at: Time,
    /// Identifier of the container.
    #[schema(rename = "containerID")]
    pub container_id: String,
}

/// A container that waits to start.
#[api_type]
pub struct ContainerStateWaiting {
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// State of a container.
#[api_type]
pub struct ContainerStatus {
    /// Name of the container.
    #[schema(required)]
    pub name: String,
    /// Current state of the container.
    pub state: ContainerState,
    /// Last termination of the container.
    pub last_state: ContainerState,
    /// True if the container is ready.
    #[schema(required)]
    pub ready: bool,
    /// Number of restarts of the container.
    #[schema(required)]
    pub restart_count: i32,
    /// Image that the container runs.
    #[schema(required)]
    pub image: String,
    /// Identifier of the image.
    #[schema(rename = "imageID", required)]
    pub image_id: String,
    /// Identifier of the container.
    #[schema(rename = "containerID")]
    pub container_id: String,
    /// True if the container has started.
    pub started: Option<bool>,
}

/// An environment variable.
#[api_type]
pub struct EnvVar {
    /// Name of the variable.
    #[schema(required)]
    pub name: String,
    /// Value; $(NAME) stands for a variable defined earlier.
    pub value: String,
    /// Source of the value.
    pub value_from: Option<EnvVarSource>,
}

/// Source of an environment variable's value.
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
    /// limits.cpu, requests.memory and so on.
    #[schema(required)]
    pub resource: String,
    /// Unit of the number. Default: 1.
    pub divisor: Quantity,
}

/// Requests and limits.
#[api_type]
pub struct ResourceRequirements {
    /// Maximum of each resource.
    pub limits: BTreeMap<String, Quantity>,
    /// Amount of each resource to reserve. Default: the limits.
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
    /// True if the Secret or its key may be missing.
    pub optional: Option<bool>,
}

/// Mount of a volume in a container.
#[api_type]
pub struct VolumeMount {
    /// Name of the volume.
    #[schema(required)]
    pub name: String,
    /// True if the volume is mounted read-only.
    pub read_only: bool,
    /// Recursive read-only mounting: Disabled, IfPossible or Enabled.
    pub recursive_read_only: Option<String>,
    /// Path in the container.
    #[schema(required)]
    pub mount_path: String,
    /// Path in the volume. Default: its root.
    pub sub_path: String,
    /// Propagation of mounts between node and container.
    pub mount_propagation: Option<String>,
    /// Path in the volume, with environment variables.
    pub sub_path_expr: String,
}
