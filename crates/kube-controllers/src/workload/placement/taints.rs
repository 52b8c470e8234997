// SPDX-License-Identifier: Apache-2.0
//! Which taints keep a pod away from a node, and which only make it less welcome.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/tainttoleration.

use api::kubernetes::core::{Node, PodSpec, Taint};

use super::super::nodes::tolerates;

/// Whether a taint keeps a pod away.
pub(super) fn is_hindered(spec: &PodSpec, taint: &Taint) -> bool {
    matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute") && !is_tolerated(spec, taint)
}

/// How many taints of a node would rather not have a pod.
pub(super) fn reluctance(spec: &PodSpec, node: &Node) -> i64 {
    let taints = node.spec.taints.iter();
    let unwelcome = taints.filter(|taint| taint.effect == "PreferNoSchedule" && !is_tolerated(spec, taint));
    i64::try_from(unwelcome.count()).unwrap_or(i64::MAX)
}

fn is_tolerated(spec: &PodSpec, taint: &Taint) -> bool {
    spec.tolerations.iter().any(|toleration| tolerates(toleration, taint))
}
