// SPDX-License-Identifier: Apache-2.0
//! Affinity of pods to nodes and other pods, and spreading of pods.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

/// Attraction of a pod to nodes and pods, or repulsion from them.
#[api_type]
pub struct Affinity {
    /// Nodes that the pod requires or prefers.
    pub node_affinity: Option<NodeAffinity>,
    /// Pods that the pod is placed near to.
    pub pod_affinity: Option<PodAffinity>,
    /// Pods that the pod is placed away from.
    pub pod_anti_affinity: Option<PodAntiAffinity>,
}

/// Nodes that a pod requires or prefers.
#[api_type]
pub struct NodeAffinity {
    /// Nodes on which the pod may be scheduled.
    pub required_during_scheduling_ignored_during_execution: Option<NodeSelector>,
    /// Nodes that the scheduler prefers.
    #[schema(list_type = "atomic")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<PreferredSchedulingTerm>,
}

/// Selects the nodes that match any of the terms.
#[api_type]
pub struct NodeSelector {
    /// The terms; an empty one selects nothing.
    #[schema(required, list_type = "atomic")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Nodes that meet all requirements.
#[api_type]
pub struct NodeSelectorTerm {
    /// Requirements on labels.
    #[schema(list_type = "atomic")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// Requirements on fields: `metadata.name`.
    #[schema(list_type = "atomic")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// A requirement on a label or field.
#[api_type]
pub struct NodeSelectorRequirement {
    /// Name of the label or field.
    #[schema(required)]
    pub key: String,
    /// Operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.
    #[schema(required)]
    pub operator: String,
    /// Values; one number for Gt and Lt.
    #[schema(list_type = "atomic")]
    pub values: Vec<String>,
}

/// Nodes that are preferred, with a weight.
#[api_type]
pub struct PreferredSchedulingTerm {
    /// Weight: 1 to 100.
    #[schema(required)]
    pub weight: i32,
    /// The nodes; an empty term prefers none.
    #[schema(required)]
    pub preference: NodeSelectorTerm,
}

/// Pods that a pod is placed near to.
#[api_type]
pub struct PodAffinity {
    /// Terms of which each must match a pod nearby.
    #[schema(list_type = "atomic")]
    pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
    /// Terms whose pods are preferred nearby.
    #[schema(list_type = "atomic")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm>,
}

/// Pods that a pod is placed away from.
#[api_type]
pub struct PodAntiAffinity {
    /// Terms of which none may match a pod nearby.
    #[schema(list_type = "atomic")]
    pub required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm>,
    /// Terms whose pods are avoided nearby.
    #[schema(list_type = "atomic")]
    pub preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm>,
}

/// Selects pods, and defines which nodes are near them.
#[api_type]
pub struct PodAffinityTerm {
    /// Labels of the pods; without it, no pods are selected.
    pub label_selector: Option<LabelSelector>,
    /// Namespaces of the pods. Default, without a namespaceSelector: that of the pod.
    #[schema(list_type = "atomic")]
    pub namespaces: Vec<String>,
    /// Label of nodes; nodes with the same value are near each other.
    #[schema(required)]
    pub topology_key: String,
    /// Labels of the namespaces of the pods; the empty selector selects all of them.
    pub namespace_selector: Option<LabelSelector>,
    /// Labels whose values must be those of the pod that has this term.
    #[schema(list_type = "atomic")]
    pub match_label_keys: Vec<String>,
    /// Labels whose values must differ from those of the pod that has this term.
    #[schema(list_type = "atomic")]
    pub mismatch_label_keys: Vec<String>,
}

/// Pods that are preferred nearby, with a weight.
#[api_type]
pub struct WeightedPodAffinityTerm {
    /// Weight: 1 to 100.
    #[schema(required)]
    pub weight: i32,
    /// The pods.
    #[schema(required)]
    pub pod_affinity_term: PodAffinityTerm,
}

/// Constraint on the distribution of pods over topology domains.
#[api_type]
pub struct TopologySpreadConstraint {
    /// Maximum difference to the domain with the fewest pods.
    #[schema(required)]
    pub max_skew: i32,
    /// Label of nodes; each value is a domain.
    #[schema(required)]
    pub topology_key: String,
    /// DoNotSchedule or ScheduleAnyway.
    #[schema(required)]
    pub when_unsatisfiable: String,
    /// Labels of the pods that are counted.
    pub label_selector: Option<LabelSelector>,
    /// Minimum number of domains; with fewer ones, the fewest pods count as 0.
    pub min_domains: Option<i32>,
    /// Treatment of nodes that the pod's affinity excludes: Honor (not counted) or Ignore (counted). Default: Honor.
    pub node_affinity_policy: Option<String>,
    /// Treatment of nodes whose taints the pod does not tolerate: Honor (not counted) or Ignore (counted). Default: Ignore.
    pub node_taints_policy: Option<String>,
    /// Labels of which counted pods have the same values as the pod that has this constraint.
    #[schema(list_type = "atomic")]
    pub match_label_keys: Vec<String>,
}
