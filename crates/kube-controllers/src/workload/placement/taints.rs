// SPDX-License-Identifier: Apache-2.0
//! Taints that keep a pod away from a node, and those that lower the node's score.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/tainttoleration.

use api::kubernetes::core::{Node, PodSpec, Taint};

use super::super::nodes::tolerates;

/// True if a taint keeps a pod away.
pub(super) fn is_hindered(spec: &PodSpec, taint: &Taint) -> bool {
    matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute") && !is_tolerated(spec, taint)
}

/// Returns the number of a node's `PreferNoSchedule` taints that a pod does not tolerate.
pub(super) fn reluctance(spec: &PodSpec, node: &Node) -> i64 {
    let taints = node.spec.taints.iter();
    let unwelcome = taints.filter(|taint| taint.effect == "PreferNoSchedule" && !is_tolerated(spec, taint));
    i64::try_from(unwelcome.count()).unwrap_or(i64::MAX)
}

fn is_tolerated(spec: &PodSpec, taint: &Taint) -> bool {
    spec.tolerations.iter().any(|toleration| tolerates(toleration, taint))
}
