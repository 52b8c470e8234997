// SPDX-License-Identifier: Apache-2.0
//! Kinds of `apps/v1`: Deployment, ReplicaSet, StatefulSet, DaemonSet.
//!
//! Source: k8s.io/api/apps/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonSet {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: DaemonSetSpec,
    #[schema(protobuf = 3)]
    pub status: DaemonSetStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonSetCondition {
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    #[schema(required, protobuf = 2)]
    pub status: String,
    #[schema(protobuf = 3)]
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonSetSpec {
    #[schema(protobuf = 1)]
    pub selector: Option<LabelSelector>,
    #[schema(required, protobuf = 2)]
    pub template: super::core::PodTemplateSpec,
    #[schema(protobuf = 3)]
    pub update_strategy: DaemonSetUpdateStrategy,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 4)]
    pub min_ready_seconds: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 6)]
    pub revision_history_limit: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonSetStatus {
    #[schema(required, protobuf = 1)]
    pub current_number_scheduled: i32,
    #[schema(required, protobuf = 2)]
    pub number_misscheduled: i32,
    #[schema(required, protobuf = 3)]
    pub desired_number_scheduled: i32,
    #[schema(required, protobuf = 4)]
    pub number_ready: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 5)]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 6)]
    pub updated_number_scheduled: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 7)]
    pub number_available: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 8)]
    pub number_unavailable: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 9)]
    pub collision_count: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 10)]
    pub conditions: Vec<DaemonSetCondition>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonSetUpdateStrategy {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub rolling_update: Option<RollingUpdateDaemonSet>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Deployment {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: DeploymentSpec,
    #[schema(protobuf = 3)]
    pub status: DeploymentStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentCondition {
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    #[schema(required, protobuf = 2)]
    pub status: String,
    #[schema(protobuf = 6)]
    pub last_update_time: Time,
    #[schema(protobuf = 7)]
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub replicas: Option<i32>,
    #[schema(protobuf = 2)]
    pub selector: Option<LabelSelector>,
    #[schema(required, protobuf = 3)]
    pub template: super::core::PodTemplateSpec,
    #[schema(patch_strategy = "retainKeys", protobuf = 4)]
    pub strategy: DeploymentStrategy,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 5)]
    pub min_ready_seconds: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 6)]
    pub revision_history_limit: Option<i32>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 7)]
    pub paused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 9)]
    pub progress_deadline_seconds: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentStatus {
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 1)]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 2)]
    pub replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 3)]
    pub updated_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 7)]
    pub ready_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 4)]
    pub available_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 5)]
    pub unavailable_replicas: i32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 6)]
    pub conditions: Vec<DeploymentCondition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 8)]
    pub collision_count: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentStrategy {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub rolling_update: Option<RollingUpdateDeployment>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaSet {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: ReplicaSetSpec,
    #[schema(protobuf = 3)]
    pub status: ReplicaSetStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaSetCondition {
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    #[schema(required, protobuf = 2)]
    pub status: String,
    #[schema(protobuf = 3)]
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaSetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub replicas: Option<i32>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 4)]
    pub min_ready_seconds: i32,
    #[schema(protobuf = 2)]
    pub selector: Option<LabelSelector>,
    #[schema(protobuf = 3)]
    pub template: super::core::PodTemplateSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaSetStatus {
    #[schema(required, protobuf = 1)]
    pub replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 2)]
    pub fully_labeled_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 4)]
    pub ready_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 5)]
    pub available_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 3)]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 6)]
    pub conditions: Vec<ReplicaSetCondition>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdateDaemonSet {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub max_unavailable: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub max_surge: Option<IntOrString>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdateDeployment {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub max_unavailable: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub max_surge: Option<IntOrString>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdateStatefulSetStrategy {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub partition: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub max_unavailable: Option<IntOrString>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StatefulSet {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: StatefulSetSpec,
    #[schema(protobuf = 3)]
    pub status: StatefulSetStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StatefulSetCondition {
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    #[schema(required, protobuf = 2)]
    pub status: String,
    #[schema(protobuf = 3)]
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StatefulSetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub replicas: Option<i32>,
    #[schema(protobuf = 2)]
    pub selector: Option<LabelSelector>,
    #[schema(required, protobuf = 3)]
    pub template: super::core::PodTemplateSpec,
    #[schema(required, protobuf = 5)]
    pub service_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 6)]
    pub pod_management_policy: String,
    #[schema(protobuf = 7)]
    pub update_strategy: StatefulSetUpdateStrategy,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 8)]
    pub revision_history_limit: Option<i32>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 9)]
    pub min_ready_seconds: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StatefulSetStatus {
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 1)]
    pub observed_generation: i64,
    #[schema(required, protobuf = 2)]
    pub replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 3)]
    pub ready_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 4)]
    pub current_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 5)]
    pub updated_replicas: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 6)]
    pub current_revision: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 7)]
    pub update_revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 9)]
    pub collision_count: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 10)]
    pub conditions: Vec<StatefulSetCondition>,
    #[schema(protobuf = 11)]
    pub available_replicas: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StatefulSetUpdateStrategy {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub rolling_update: Option<RollingUpdateStatefulSetStrategy>,
}

impl_resource!(DaemonSet, "apps", "v1", "DaemonSet", "daemonsets", true);
impl_resource!(Deployment, "apps", "v1", "Deployment", "deployments", true);
impl_resource!(ReplicaSet, "apps", "v1", "ReplicaSet", "replicasets", true);
impl_resource!(StatefulSet, "apps", "v1", "StatefulSet", "statefulsets", true);
