// SPDX-License-Identifier: Apache-2.0
//! The scheduler's message about a pod that fits on no node.
//!
//! Source: k8s.io/kubernetes pkg/scheduler/framework/types.go (FitError), pkg/scheduler/framework/preemption.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Text about nodes on which other pods could make room.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
/// Text about all other nodes.
const NO_HELP: &str = "Preemption is not helpful for scheduling";

/// Obstacles of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// Reasons in the scheduler's words.
    pub(super) texts: Vec<Cow<'static, str>>,
    /// True if the pod would fit without the other pods. Pods are never preempted.
    pub(super) is_crowded: bool,
}

impl Obstacle {
    /// Returns an obstacle that only a change of the node could remove.
    pub(super) fn lasting(text: impl Into<Cow<'static, str>>) -> Self {
        Self { texts: vec![text.into()], is_crowded: false }
    }

    /// Returns an obstacle that other pods cause.
    pub(super) fn crowded(texts: impl IntoIterator<Item = &'static str>) -> Self {
        Self { texts: texts.into_iter().map(Cow::Borrowed).collect(), is_crowded: true }
    }
}

/// Returns the message about a pod that fits on none of `nodes`.
pub(super) fn message(nodes: usize, obstacles: &[Obstacle]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in obstacles.iter().flat_map(|obstacle| &obstacle.texts) {
        *counts.entry(text).or_default() += 1;
    }
    let crowded = obstacles.iter().filter(|obstacle| obstacle.is_crowded).count();
    with_preemption(nodes, &joined(&counts), crowded)
}

/// Returns the message about a pod for which all nodes have the same obstacle.
pub(super) fn message_for_all(nodes: usize, text: &str) -> String {
    with_preemption(nodes, text, 0)
}

fn with_preemption(nodes: usize, reasons: &str, crowded: usize) -> String {
    let counts = [(NO_VICTIMS, crowded), (NO_HELP, nodes - crowded)].into_iter().filter(|(_, count)| *count > 0);
    let preemption = joined(&counts.collect());
    format!("0/{nodes} nodes are available: {reasons}. preemption: 0/{nodes} nodes are available: {preemption}.")
}

/// Joins counts and texts, sorted as texts.
fn joined(counts: &BTreeMap<&str, usize>) -> String {
    let mut texts: Vec<String> = counts.iter().map(|(text, count)| format!("{count} {text}")).collect();
    texts.sort();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_sorted_as_texts() {
        let cpu = Obstacle::crowded(["Insufficient cpu"]);
        let both = Obstacle::crowded(["Insufficient cpu", "Insufficient memory"]);
        let taint = Obstacle::lasting("node(s) had untolerated taint {gpu: }");
        assert_eq!(
            message(3, &[cpu, both, taint.clone()]),
            "0/3 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint {gpu: }, 2 Insufficient cpu. \
             preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found \
             for incoming pod."
        );
        assert_eq!(
            message(1, &[taint]),
            "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: }. preemption: 0/1 nodes are available: 1 \
             Preemption is not helpful for scheduling."
        );
        assert_eq!(
            message_for_all(2, "persistentvolumeclaim \"x\" not found"),
            "0/2 nodes are available: persistentvolumeclaim \"x\" not found. preemption: 0/2 nodes are available: 2 \
             Preemption is not helpful for scheduling."
        );
    }
}
