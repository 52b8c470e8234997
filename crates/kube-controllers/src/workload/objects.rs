// SPDX-License-Identifier: Apache-2.0
//! Kinds with the fields that these controllers need. The pod template is kept as raw JSON, so that a pod gets all of
//! its fields, including those that this version does not know.

use api::kubernetes::apps::{
    DaemonSetStatus, DaemonSetUpdateStrategy, DeploymentStatus, DeploymentStrategy, ReplicaSetStatus,
    StatefulSetStatus, StatefulSetUpdateStrategy,
};
use api::kubernetes::core::PodStatus;
use api::kubernetes::tables;
use apimachinery::Resource;
use apimachinery::meta::{LabelSelector, ObjectMeta, TextMap};
use apimachinery::schema::{Node, Schema};
use apimachinery::wire::api_type;
use serde_json::Value;

/// A Deployment.
#[api_type(no_schema)]
pub(crate) struct Deployment {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: DeploymentSpec,
    pub(crate) status: DeploymentStatus,
}

#[api_type(no_schema)]
pub(crate) struct DeploymentSpec {
    pub(crate) replicas: Option<i32>,
    #[schema(always)]
    pub(crate) selector: Option<LabelSelector>,
    pub(crate) template: Value,
    pub(crate) strategy: DeploymentStrategy,
    #[schema(always)]
    pub(crate) min_ready_seconds: i32,
    pub(crate) revision_history_limit: Option<i32>,
    #[schema(always)]
    pub(crate) paused: bool,
    pub(crate) progress_deadline_seconds: Option<i32>,
}

/// A ReplicaSet.
#[api_type(no_schema)]
pub(crate) struct ReplicaSet {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ReplicaSetSpec,
    pub(crate) status: ReplicaSetStatus,
}

#[api_type(no_schema)]
pub(crate) struct ReplicaSetSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) min_ready_seconds: i32,
    #[schema(always)]
    pub(crate) selector: Option<LabelSelector>,
    pub(crate) template: Value,
}

/// A ReplicationController; its status has the fields of a ReplicaSet's.
#[api_type(no_schema)]
pub(crate) struct ReplicationController {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ReplicationControllerSpec,
    pub(crate) status: ReplicaSetStatus,
}

#[api_type(no_schema)]
pub(crate) struct ReplicationControllerSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) min_ready_seconds: i32,
    pub(crate) selector: TextMap,
    pub(crate) template: Value,
}

/// A DaemonSet.
#[api_type(no_schema)]
pub(crate) struct DaemonSet {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: DaemonSetSpec,
    pub(crate) status: DaemonSetStatus,
}

#[api_type(no_schema)]
pub(crate) struct DaemonSetSpec {
    #[schema(always)]
    pub(crate) selector: Option<LabelSelector>,
    pub(crate) template: Value,
    pub(crate) update_strategy: DaemonSetUpdateStrategy,
    pub(crate) min_ready_seconds: i32,
    pub(crate) revision_history_limit: Option<i32>,
}

/// A StatefulSet.
#[api_type(no_schema)]
pub(crate) struct StatefulSet {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: StatefulSetSpec,
    pub(crate) status: StatefulSetStatus,
}

#[api_type(no_schema)]
pub(crate) struct StatefulSetSpec {
    pub(crate) replicas: Option<i32>,
    #[schema(always)]
    pub(crate) selector: Option<LabelSelector>,
    pub(crate) template: Value,
    pub(crate) pod_management_policy: String,
    pub(crate) volume_claim_templates: Vec<Value>,
    pub(crate) update_strategy: StatefulSetUpdateStrategy,
    pub(crate) min_ready_seconds: i32,
    pub(crate) revision_history_limit: Option<i32>,
    pub(crate) persistent_volume_claim_retention_policy: Option<RetentionPolicy>,
}

/// Retention of a StatefulSet's claims: `Retain` or `Delete`.
#[api_type(no_schema)]
pub(crate) struct RetentionPolicy {
    pub(crate) when_deleted: String,
    pub(crate) when_scaled: String,
}

/// A former or current template of a StatefulSet or a DaemonSet.
#[api_type(no_schema)]
pub(crate) struct ControllerRevision {
    pub(crate) metadata: ObjectMeta,
    pub(crate) data: Value,
    #[schema(always)]
    pub(crate) revision: i64,
}

/// A claim as it is created.
#[api_type(no_schema)]
pub(crate) struct NewClaim {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Value,
}

/// A Pod as it is created.
#[api_type(no_schema)]
pub(crate) struct NewPod {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Value,
    pub(crate) status: Option<PodStatus>,
}

macro_rules! view {
    ($type:ty, $group:literal, $package:literal, $kind:literal, $plural:literal) => {
        impl Resource for $type {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = "v1";
            const KIND: &'static str = $kind;
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = true;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl Schema for $type {
            fn node() -> Node {
                tables::node($package, $kind).expect("the tables hold every kind of Kubernetes that is served")
            }
        }
    };
}

view!(Deployment, "apps", "apps", "Deployment", "deployments");
view!(ReplicaSet, "apps", "apps", "ReplicaSet", "replicasets");
view!(ReplicationController, "", "core", "ReplicationController", "replicationcontrollers");
view!(DaemonSet, "apps", "apps", "DaemonSet", "daemonsets");
view!(StatefulSet, "apps", "apps", "StatefulSet", "statefulsets");
view!(ControllerRevision, "apps", "apps", "ControllerRevision", "controllerrevisions");
view!(NewPod, "", "core", "Pod", "pods");
view!(NewClaim, "", "core", "PersistentVolumeClaim", "persistentvolumeclaims");

impl Deployment {
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    pub(crate) fn is_rolling(&self) -> bool {
        self.spec.strategy.r#type != "Recreate"
    }

    /// `spec.progressDeadlineSeconds`; `None`: no deadline, which is written as the largest number.
    pub(crate) fn progress_deadline(&self) -> Option<chrono::TimeDelta> {
        let seconds = self.spec.progress_deadline_seconds.unwrap_or(600);
        (seconds != i32::MAX).then(|| chrono::TimeDelta::seconds(i64::from(seconds)))
    }
}

impl ReplicaSet {
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }
}

impl ReplicationController {
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }
}

/// Returns the uid of the object's managing controller.
pub(crate) fn controller_uid(metadata: &ObjectMeta) -> Option<&str> {
    metadata.owner_references.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}
