// SPDX-License-Identifier: Apache-2.0
//! Where a pod wants to be: near which nodes and pods, and how pods are spread.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

/// Nodes and pods that a pod wants to be near to, or far from.
#[api_type]
pub struct Affinity {
    /// Nodes that it may be on, or prefers.
    pub node_affinity: Option<NodeAffinity>,
    /// Pods that it wants to be near to.
    pub pod_affinity: Option<PodAffinity>,
    /// Pods that it wants to be far from.
    pub pod_anti_affinity: Option<PodAntiAffinity>,
}

/// Nodes that a pod may be on, or prefers.
#[api_type]
pub struct NodeAffinity {
    /// Nodes that the pod may be put on.
    pub required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
    /// Nodes that it prefers.
    #[schema(list_type = "atomic")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<PreferredSchedulingTerm>,
}

/// Nodes: those that any of the terms selects.
#[api_type]
pub struct NodeSelector {
    /// The terms; one that is empty selects nothing.
    #[schema(required, list_type = "atomic")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Nodes that fulfil all requirements.
#[api_type]
pub struct NodeSelectorTerm {
    /// Requirements of labels.
    #[schema(list_type = "atomic")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// Requirements of fields: `metadata.name`.
    #[schema(list_type = "atomic")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// A requirement of a label or field.
#[api_type]
pub struct NodeSelectorRequirement {
    /// The label, or the field.
    #[schema(required)]
    pub key: String,
    /// In, NotIn, Exists, DoesNotExist, Gt or Lt.
    #[schema(required)]
    pub operator: String,
    /// Values; for Gt and Lt one number.
    #[schema(list_type = "atomic")]
    pub values: Vec<String>,
}

/// Nodes that are preferred.
#[api_type]
pub struct PreferredSchedulingTerm {
    /// How much: 1 to 100.
    #[schema(required)]
    pub weight: i32,
    /// The nodes; an empty term prefers none.
    #[schema(required)]
    pub preference: NodeSelectorTerm,
}

/// Pods that a pod wants to be near to.
#[api_type]
pub struct PodAffinity {
    /// The pod is put near pods of each term.
    #[schema(list_type = "atomic")]
    pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
    /// It prefers to be near these.
    #[schema(list_type = "atomic")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm>,
}

/// Pods that a pod wants to be far from.
#[api_type]
pub struct PodAntiAffinity {
    /// The pod is put near pods of none of the terms.
    #[schema(list_type = "atomic")]
    pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
    /// It prefers not to be near these.
    #[schema(list_type = "atomic")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm>,
}

/// Pods, and what is near to them.
#[api_type]
pub struct PodAffinityTerm {
    /// Labels of the pods; none: no pods.
    pub label_selector: Option<LabelSelector>,
    /// Namespaces of the pods. Default, if no selector is there either: that of the pod.
    #[schema(list_type = "atomic")]
    pub namespaces: Vec<String>,
    /// Label of nodes: those with the same value are near to each other.
    #[schema(required)]
    pub topology_key: String,
    /// Labels of the namespaces of the pods; the empty selector selects all of them.
    pub namespace_selector: Option<LabelSelector>,
    /// Labels that the pods have in common with the one that asks.
    #[schema(list_type = "atomic")]
    pub match_label_keys: Vec<String>,
    /// Labels that the pods have with another value than the one that asks.
    #[schema(list_type = "atomic")]
    pub mismatch_label_keys: Vec<String>,
}

/// Pods that are preferred.
#[api_type]
pub struct WeightedPodAffinityTerm {
    /// How much: 1 to 100.
    #[schema(required)]
    pub weight: i32,
    /// The pods.
    #[schema(required)]
    pub pod_affinity_term: PodAffinityTerm,
}

/// How evenly pods are spread over parts of the cluster.
#[api_type]
pub struct TopologySpreadConstraint {
    /// How many pods more than in the part with the fewest one may have.
    #[schema(required)]
    pub max_skew: i32,
    /// Label of nodes; each value is a part.
    #[schema(required)]
    pub topology_key: String,
    /// DoNotSchedule or ScheduleAnyway.
    #[schema(required)]
    pub when_unsatisfiable: String,
    /// The pods that are counted.
    pub label_selector: Option<LabelSelector>,
    /// With fewer parts than this, the fewest pods count as none.
    pub min_domains: Option<i32>,
    /// Whether nodes that the pod may not be on count: Honor (default: they do not) or Ignore.
    pub node_affinity_policy: Option<String>,
    /// Whether nodes whose taints the pod does not tolerate count: Honor or Ignore (default: they do).
    pub node_taints_policy: Option<String>,
    /// Labels that counted pods have in common with the one that asks.
    #[schema(list_type = "atomic")]
    pub match_label_keys: Vec<String>,
}
