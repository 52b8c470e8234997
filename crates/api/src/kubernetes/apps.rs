// SPDX-License-Identifier: Apache-2.0
//! Kinds of `apps/v1`: Deployment, ReplicaSet, StatefulSet, DaemonSet.
//!
//! Source: k8s.io/api/apps/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Runs a pod on every node.
#[api_type]
pub struct DaemonSet {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the DaemonSet.
    pub spec: DaemonSetSpec,
    /// Observed state of the DaemonSet.
    pub status: DaemonSetStatus,
}

/// One aspect of a DaemonSet's state.
#[api_type]
pub struct DaemonSetCondition {
    /// Type of the condition: `Available`, `Progressing`; written by the controller.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// Specification of a DaemonSet.
#[api_type]
pub struct DaemonSetSpec {
    /// Labels of the pods. Cannot be changed.
    #[schema(always)]
    pub selector: Option<LabelSelector>,
    /// Template of the pods.
    #[schema(required)]
    pub template: super::core::PodTemplateSpec,
    /// Strategy for replacing pods.
    pub update_strategy: DaemonSetUpdateStrategy,
    /// Seconds for which a pod must be ready to count as available.
    pub min_ready_seconds: i32,
    /// Number of old revisions to keep. Default: 10.
    pub revision_history_limit: Option<i32>,
}

/// Status of a DaemonSet.
#[api_type]
pub struct DaemonSetStatus {
    /// Number of nodes that run the pod and should.
    #[schema(required)]
    pub current_number_scheduled: i32,
    /// Number of nodes that run the pod and should not.
    #[schema(required)]
    pub number_misscheduled: i32,
    /// Number of nodes that should run the pod.
    #[schema(required)]
    pub desired_number_scheduled: i32,
    /// Number of nodes whose pod is ready.
    #[schema(required)]
    pub number_ready: i32,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Number of nodes whose pod has the current template.
    pub updated_number_scheduled: i32,
    /// Number of nodes whose pod has been ready for minReadySeconds.
    pub number_available: i32,
    /// Number of nodes whose pod is missing or not available.
    pub number_unavailable: i32,
    /// Number of collisions of generated names.
    pub collision_count: Option<i32>,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<DaemonSetCondition>,
}

/// Strategy for replacing pods.
#[api_type]
pub struct DaemonSetUpdateStrategy {
    /// RollingUpdate or OnDelete. Default: RollingUpdate.
    pub r#type: String,
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateDaemonSet>,
}

/// Pods that are replaced step by step when their template changes.
#[api_type]
pub struct Deployment {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Deployment.
    pub spec: DeploymentSpec,
    /// Observed state of the Deployment.
    pub status: DeploymentStatus,
}

/// One aspect of a Deployment's state.
#[api_type]
pub struct DeploymentCondition {
    /// Available, Progressing or ReplicaFailure.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last update of the condition.
    pub last_update_time: Time,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// Specification of a Deployment.
#[api_type]
pub struct DeploymentSpec {
    /// Desired number of pods. Default: 1.
    pub replicas: Option<i32>,
    /// Labels of the pods. Cannot be changed.
    #[schema(always)]
    pub selector: Option<LabelSelector>,
    /// Template of the pods.
    #[schema(required)]
    pub template: super::core::PodTemplateSpec,
    /// Strategy for replacing pods.
    #[schema(patch_strategy = "retainKeys")]
    pub strategy: DeploymentStrategy,
    /// Seconds for which a pod must be ready to count as available.
    pub min_ready_seconds: i32,
    /// Number of old ReplicaSets to keep. Default: 10.
    pub revision_history_limit: Option<i32>,
    /// Suspends the roll-out of changes.
    pub paused: bool,
    /// Seconds after which a roll-out without progress counts as failed. Default: 600.
    pub progress_deadline_seconds: Option<i32>,
}

/// Status of a Deployment.
#[api_type]
pub struct DeploymentStatus {
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Number of pods.
    pub replicas: i32,
    /// Number of pods that have the current template.
    pub updated_replicas: i32,
    /// Number of pods that are ready.
    pub ready_replicas: i32,
    /// Number of pods that have been ready for minReadySeconds.
    pub available_replicas: i32,
    /// Number of pods that are missing or not available.
    pub unavailable_replicas: i32,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<DeploymentCondition>,
    /// Number of collisions of generated names.
    pub collision_count: Option<i32>,
}

/// Strategy for replacing pods.
#[api_type]
pub struct DeploymentStrategy {
    /// RollingUpdate or Recreate. Default: RollingUpdate.
    pub r#type: String,
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateDeployment>,
}

/// Maintains a number of pods.
#[api_type]
pub struct ReplicaSet {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ReplicaSet.
    pub spec: ReplicaSetSpec,
    /// Observed state of the ReplicaSet.
    pub status: ReplicaSetStatus,
}

/// One aspect of a ReplicaSet's state.
#[api_type]
pub struct ReplicaSetCondition {
    /// Type of the condition; written by the controller.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// Specification of a ReplicaSet.
#[api_type]
pub struct ReplicaSetSpec {
    /// Desired number of pods. Default: 1.
    pub replicas: Option<i32>,
    /// Seconds for which a pod must be ready to count as available.
    pub min_ready_seconds: i32,
    /// Labels of the pods. Cannot be changed.
    #[schema(always)]
    pub selector: Option<LabelSelector>,
    /// Template of the pods.
    pub template: super::core::PodTemplateSpec,
}

/// Status of a ReplicaSet.
#[api_type]
pub struct ReplicaSetStatus {
    /// Number of pods.
    #[schema(required)]
    pub replicas: i32,
    /// Number of pods with all labels of the template.
    pub fully_labeled_replicas: i32,
    /// Number of pods that are ready.
    pub ready_replicas: i32,
    /// Number of pods that have been ready for minReadySeconds.
    pub available_replicas: i32,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<ReplicaSetCondition>,
}

/// Bounds of a rolling update.
#[api_type]
pub struct RollingUpdateDaemonSet {
    /// Number, or percentage, of pods that may be missing. Default: 1.
    pub max_unavailable: Option<IntOrString>,
    /// Number, or percentage, of nodes that may run an old and a new pod. Default: 0.
    pub max_surge: Option<IntOrString>,
}

/// Bounds of a rolling update.
#[api_type]
pub struct RollingUpdateDeployment {
    /// Number, or percentage, of pods that may be missing. Default: 25%.
    pub max_unavailable: Option<IntOrString>,
    /// Number, or percentage, of pods that may be added beyond the desired number. Default: 25%.
    pub max_surge: Option<IntOrString>,
}

/// Bounds of a rolling update.
#[api_type]
pub struct RollingUpdateStatefulSetStrategy {
    /// Ordinal from which on pods are replaced. Default: 0.
    pub partition: Option<i32>,
    /// Number, or percentage, of pods that may be missing. Default: 1.
    pub max_unavailable: Option<IntOrString>,
}

/// Pods with stable names and storage.
#[api_type]
pub struct StatefulSet {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the StatefulSet.
    pub spec: StatefulSetSpec,
    /// Observed state of the StatefulSet.
    pub status: StatefulSetStatus,
}

/// One aspect of a StatefulSet's state.
#[api_type]
pub struct StatefulSetCondition {
    /// Type of the condition; written by the controller.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// Specification of a StatefulSet.
#[api_type]
pub struct StatefulSetSpec {
    /// Desired number of pods. Default: 1.
    pub replicas: Option<i32>,
    /// Labels of the pods. Cannot be changed.
    #[schema(always)]
    pub selector: Option<LabelSelector>,
    /// Template of the pods.
    #[schema(required)]
    pub template: super::core::PodTemplateSpec,
    /// Service that governs the DNS names of the pods.
    #[schema(required)]
    pub service_name: String,
    /// Order of creation and deletion: OrderedReady or Parallel.
    pub pod_management_policy: String,
    /// Strategy for replacing pods.
    pub update_strategy: StatefulSetUpdateStrategy,
    /// Number of old revisions to keep. Default: 10.
    pub revision_history_limit: Option<i32>,
    /// Seconds for which a pod must be ready to count as available.
    pub min_ready_seconds: i32,
}

/// Status of a StatefulSet.
#[api_type]
pub struct StatefulSetStatus {
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Number of pods.
    #[schema(required)]
    pub replicas: i32,
    /// Number of pods that are ready.
    pub ready_replicas: i32,
    /// Number of pods of the current revision.
    pub current_replicas: i32,
    /// Number of pods of the update revision.
    pub updated_replicas: i32,
    /// Revision before the roll-out.
    pub current_revision: String,
    /// Revision that is being rolled out.
    pub update_revision: String,
    /// Number of collisions of generated names.
    pub collision_count: Option<i32>,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<StatefulSetCondition>,
    /// Number of pods that have been ready for minReadySeconds.
    #[schema(always)]
    pub available_replicas: i32,
}

/// Strategy for replacing pods.
#[api_type]
pub struct StatefulSetUpdateStrategy {
    /// RollingUpdate or OnDelete. Default: RollingUpdate.
    pub r#type: String,
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateStatefulSetStrategy>,
}

impl_resource!(DaemonSet, "apps", "v1", "DaemonSet", "daemonsets", true);
impl_resource!(Deployment, "apps", "v1", "Deployment", "deployments", true);
impl_resource!(ReplicaSet, "apps", "v1", "ReplicaSet", "replicasets", true);
impl_resource!(StatefulSet, "apps", "v1", "StatefulSet", "statefulsets", true);
