// SPDX-License-Identifier: Apache-2.0
//! Kinds of `policy/v1`, the parts that are read.
//!
//! Source: k8s.io/api/policy/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::Resource;
use apimachinery::meta::{IntOrString, LabelSelector, ObjectMeta, Time};
use apimachinery::schema::{Node, Schema};

use super::tables;

/// How many pods of a selection may be missing at once because of what people do.
#[api_type(no_schema)]
pub struct PodDisruptionBudget {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the PodDisruptionBudget.
    pub spec: PodDisruptionBudgetSpec,
    /// Observed state of the PodDisruptionBudget.
    pub status: PodDisruptionBudgetStatus,
}

/// What a PodDisruptionBudget asks for: one of both bounds.
#[api_type(no_schema)]
pub struct PodDisruptionBudgetSpec {
    /// How many pods have to be healthy, or which part of those that there should be.
    pub min_available: Option<IntOrString>,
    /// Which pods.
    pub selector: Option<LabelSelector>,
    /// How many pods may be missing, or which part of those that there should be.
    pub max_unavailable: Option<IntOrString>,
    /// `AlwaysAllow`: pods that are not ready may go, whatever is needed. Default: `IfHealthyBudget`.
    pub unhealthy_pod_eviction_policy: Option<String>,
}

/// Status of a PodDisruptionBudget.
#[api_type(no_schema)]
pub struct PodDisruptionBudgetStatus {
    /// Generation of the specification that was acted on last.
    pub observed_generation: i64,
    /// Pods whose eviction was accepted and that are still there.
    pub disrupted_pods: BTreeMap<String, Time>,
    /// How many pods may go now.
    #[schema(always)]
    pub disruptions_allowed: i32,
    /// How many pods are healthy.
    #[schema(always)]
    pub current_healthy: i32,
    /// How many have to be.
    #[schema(always)]
    pub desired_healthy: i32,
    /// How many there should be.
    #[schema(always)]
    pub expected_pods: i32,
    /// Conditions of the object, one of each type.
    pub conditions: Vec<PodDisruptionBudgetCondition>,
}

/// One aspect of a PodDisruptionBudget's state.
#[api_type(no_schema)]
pub struct PodDisruptionBudgetCondition {
    /// Type of the condition: `DisruptionAllowed`; written by the disruption controller.
    #[schema(always)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(always)]
    pub status: String,
    /// Generation that it tells of.
    pub observed_generation: i64,
    /// Time of the last status change.
    #[schema(always)]
    pub last_transition_time: Time,
    /// Reason in one word.
    #[schema(always)]
    pub reason: String,
    /// Reason in sentences.
    #[schema(always)]
    pub message: String,
}

impl Resource for PodDisruptionBudget {
    const GROUP: &'static str = "policy";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "PodDisruptionBudget";
    const PLURAL: &'static str = "poddisruptionbudgets";
    const NAMESPACED: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Schema for PodDisruptionBudget {
    fn node() -> Node {
        tables::node("policy", "PodDisruptionBudget").expect("the tables hold every kind of Kubernetes that is served")
    }
}
