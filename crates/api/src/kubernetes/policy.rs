// SPDX-License-Identifier: Apache-2.0
//! Kinds of `policy/v1`, as far as they are read.
//!
//! Source: k8s.io/api/policy/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::Resource;
use apimachinery::meta::{IntOrString, LabelSelector, ObjectMeta, Time};
use apimachinery::schema::{Node, Schema};

use super::tables;

/// Limits the number of pods that voluntary disruptions make unavailable at once.
#[api_type(no_schema)]
pub struct PodDisruptionBudget {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the PodDisruptionBudget.
    pub spec: PodDisruptionBudgetSpec,
    /// Observed state of the PodDisruptionBudget.
    pub status: PodDisruptionBudgetStatus,
}

/// Specification of a PodDisruptionBudget: one of the two bounds.
#[api_type(no_schema)]
pub struct PodDisruptionBudgetSpec {
    /// Number, or percentage, of the expected pods that must be healthy.
    pub min_available: Option<IntOrString>,
    /// Labels of the pods.
    pub selector: Option<LabelSelector>,
    /// Number, or percentage, of the expected pods that may be missing.
    pub max_unavailable: Option<IntOrString>,
    /// `AlwaysAllow`: pods that are not ready may be evicted whatever the bound. Default: `IfHealthyBudget`.
    pub unhealthy_pod_eviction_policy: Option<String>,
}

/// Status of a PodDisruptionBudget.
#[api_type(no_schema)]
pub struct PodDisruptionBudgetStatus {
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Pods whose eviction was accepted and that still exist.
    pub disrupted_pods: BTreeMap<String, Time>,
    /// Number of pods that may be evicted now.
    #[schema(always)]
    pub disruptions_allowed: i32,
    /// Number of healthy pods.
    #[schema(always)]
    pub current_healthy: i32,
    /// Number of pods that must be healthy.
    #[schema(always)]
    pub desired_healthy: i32,
    /// Expected number of pods.
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
    /// Generation of the specification that the condition refers to.
    pub observed_generation: i64,
    /// Time of the last status change.
    #[schema(always)]
    pub last_transition_time: Time,
    /// Reason in one word.
    #[schema(always)]
    pub reason: String,
    /// Human-readable message.
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
