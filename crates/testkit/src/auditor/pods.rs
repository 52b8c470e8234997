// SPDX-License-Identifier: Apache-2.0
//! Invariants of pods on drained nodes.
//!
//! A forced drain may ignore budgets: by a label of the Machine, by a Node that has been lost for more than 5 minutes,
//! or by time. The earliest time is that at which the evictions of a pod that was refused from the beginning have
//! reached the limit of retries.

use std::collections::BTreeMap;

use api::constants::{annotation, label, taint, user};
use api::kubernetes::core::{Node, Pod};
use api::kubernetes::policy::PodDisruptionBudget;
use api::machine::Machine;
use apimachinery::meta::Duration;
use apimachinery::selector::Labels;
use chrono::{DateTime, TimeDelta, Utc};

/// Number of evictions of a pod if the Machine does not set it: the minimum of the profiles.
const RETRIES: i32 = 10;
/// Time between two evictions of a refused pod.
const RETRY: TimeDelta = TimeDelta::seconds(20);
const DRAIN_TIMEOUT: Duration = Duration::from_minutes(120);
/// Time after which the pods of a lost Node are deleted without eviction.
const LOST: TimeDelta = TimeDelta::minutes(5);

/// Cluster, namespace (empty for Nodes) and name.
type Place = (String, String, String);

/// State of pods, their nodes and their budgets.
#[derive(Debug, Default)]
pub(super) struct Workload {
    at: DateTime<Utc>,
    by: String,
    pods: BTreeMap<Place, PodState>,
    nodes: BTreeMap<Place, NodeState>,
    /// Machines by the name of their Nodes, deleted ones included.
    machines: BTreeMap<Place, MachineState>,
    budgets: BTreeMap<Place, PodDisruptionBudget>,
}

#[derive(Debug)]
struct PodState {
    pod: Pod,
    is_healthy: bool,
}

#[derive(Debug, Default)]
struct NodeState {
    is_cordoned: bool,
    /// Instant since which the Node is not Ready.
    lost: Option<DateTime<Utc>>,
    /// Instant since which the Node is selected for an in-place update.
    selected: Option<DateTime<Utc>>,
}

#[derive(Debug, Default)]
struct MachineState {
    deleting: Option<DateTime<Utc>>,
    /// True if a label forces the drain.
    is_forced: bool,
    /// True if the Machine was unhealthy at its deletion, or its Node was deleted first.
    is_lost: bool,
    /// Duration for which budgets are respected.
    patience: TimeDelta,
}

impl Workload {
    /// Sets the instant and the user of the following changes.
    pub(super) fn made(&mut self, at: DateTime<Utc>, by: &str) {
        self.at = at;
        by.clone_into(&mut self.by);
    }

    pub(super) fn machine(&mut self, machine: &Machine) {
        let metadata = &machine.metadata;
        let Some(node) = metadata.labels.get(label::MACHINE_NODE) else { return };
        let state = self.machines.entry(place(&metadata.namespace, "", node)).or_default();
        let has = |key: &str| metadata.label(key) == Some("True");
        let timeout = machine.spec.drain_timeout.unwrap_or(DRAIN_TIMEOUT).to_chrono();
        let most = timeout.num_seconds() / RETRY.num_seconds();
        let asked = i64::from(machine.spec.max_evict_retries.unwrap_or(RETRIES)).min(most);
        state.deleting = metadata.deletion_timestamp.map(|since| since.0);
        state.is_forced = has(label::MACHINE_FORCE_DELETION) || has(label::MACHINE_FORCE_DRAIN);
        if state.deleting.is_none() {
            state.is_lost = matches!(&*machine.status.current_status.phase, "Failed" | "Unknown");
        }
        state.patience = RETRY * i32::try_from(asked).unwrap_or(0);
    }

    pub(super) fn node(&mut self, cluster: &str, node: &Node, deleted: bool) {
        let key = place(cluster, "", &node.metadata.name);
        if deleted {
            self.nodes.remove(&key);
            if let Some(machine) = self.machines.get_mut(&key) {
                machine.is_lost |= machine.deleting.is_none();
            }
            return;
        }
        let conditions = &node.status.conditions;
        let since = |type_: &str, holds: fn(&str, &str) -> bool| {
            let found = conditions.iter().find(|it| it.r#type == type_ && holds(&it.status, &it.reason));
            found.map(|it| it.last_transition_time.0)
        };
        let state = NodeState {
            is_cordoned: node.spec.unschedulable,
            lost: since("Ready", |status, _| status != "True")
                .or_else(|| since("ReadonlyFilesystem", |status, _| status != "False")),
            selected: since("InPlaceUpdate", |_, reason| reason == "SelectedForUpdate"),
        };
        self.nodes.insert(key, state);
    }

    pub(super) fn budget(&mut self, cluster: &str, budget: &PodDisruptionBudget, deleted: bool) {
        let key = place(cluster, &budget.metadata.namespace, &budget.metadata.name);
        if deleted {
            self.budgets.remove(&key);
        } else {
            self.budgets.insert(key, budget.clone());
        }
    }

    /// Invariants that a change of a pod violates.
    pub(super) fn pod(&mut self, cluster: &str, pod: &Pod, deleted: bool) -> Vec<String> {
        let key = place(cluster, &pod.metadata.namespace, &pod.metadata.name);
        let old = self.pods.remove(&key);
        let was_healthy = old.as_ref().is_some_and(|old| old.is_healthy);
        let mut found = Vec::new();
        let (about, node) = (format!("pod {}/{}", key.1, key.2), place(cluster, "", &pod.spec.node_name));
        if !deleted {
            let state = PodState { pod: pod.clone(), is_healthy: is_healthy(pod) };
            self.pods.insert(key, state);
            if self.is_put_on_cordoned(old.as_ref().map(|old| &old.pod), pod, &node) {
                found.push(format!("{about} of {cluster} was put on {}, which is cordoned", node.2));
            }
        }
        if stays(pod) || pod.spec.node_name.is_empty() || self.may_go_without_asking(&node) {
            return found;
        }
        let is_drain = self.by.starts_with(user::PROVIDER_LOCAL_PREFIX);
        let is_sudden = deleted && !pod.metadata.is_being_deleted();
        // A pod without a grace period is deleted at its eviction.
        let is_asked = pod.spec.termination_grace_period_seconds == Some(0) && self.nodes.contains_key(&node);
        let is_swept = is_sudden && !is_asked && self.is_leaving(&node) && !self.is_by_people();
        if is_swept && !matches!(&*pod.status.phase, "Succeeded" | "Failed") {
            found.push(format!("{about} of {cluster} ended with {} and without a deletion timestamp", node.2));
        }
        let leaves = was_healthy && (deleted || pod.metadata.is_being_deleted());
        if leaves && (is_drain || is_swept) {
            found.extend(self.broken_budgets(cluster, pod, &node.2));
        }
        found
    }

    /// True if a scheduler chose a cordoned node; false for pods that are created with a node.
    fn is_put_on_cordoned(&self, old: Option<&Pod>, pod: &Pod, node: &Place) -> bool {
        let is_bound = old.is_some_and(|old| old.metadata.uid == pod.metadata.uid);
        let had_node = is_bound && old.is_some_and(|old| !old.spec.node_name.is_empty());
        let is_chosen = is_bound || pod.metadata.owner_references.iter().any(|owner| owner.controller == Some(true));
        let is_tolerated = pod.spec.tolerations.iter().any(|it| it.key.is_empty() || it.key == taint::UNSCHEDULABLE);
        let is_cordoned = self.nodes.get(node).is_some_and(|node| node.is_cordoned);
        is_cordoned && is_chosen && !had_node && !is_tolerated && !stays(pod)
    }

    /// True if the Node was deleted or is drained, and its Machine is known.
    fn is_leaving(&self, node: &Place) -> bool {
        self.machines.contains_key(node) && self.nodes.get(node).is_none_or(|node| node.is_cordoned)
    }

    fn is_by_people(&self) -> bool {
        !self.by.starts_with("system:") && !self.by.starts_with(user::PROVIDER_LOCAL_PREFIX)
    }

    /// True if the drain of a node is forced by now, or if no Machine is known for it.
    fn may_go_without_asking(&self, node: &Place) -> bool {
        let Some(machine) = self.machines.get(node) else { return true };
        let known = self.nodes.get(node);
        let begin = machine.deleting.or_else(|| known.and_then(|node| node.selected));
        machine.is_forced
            || machine.is_lost
            || known.and_then(|node| node.lost).is_some_and(|since| self.at - since > LOST)
            || begin.is_some_and(|begin| self.at >= begin + machine.patience)
    }

    /// Budgets of a removed pod that have too few healthy pods now.
    fn broken_budgets(&self, cluster: &str, pod: &Pod, node: &str) -> Vec<String> {
        let (namespace, mut broken) = (&pod.metadata.namespace, Vec::new());
        let near = |key: &Place| key.0 == cluster && key.1 == *namespace;
        let first = place(cluster, namespace, "");
        for (_, budget) in self.budgets.range(first.clone()..).take_while(|(key, _)| near(key)) {
            let selector = budget.spec.selector.as_ref().and_then(|selector| Labels::from_selector(selector).ok());
            let Some(selector) = selector.filter(|selector| selector.matches(&pod.metadata.labels)) else { continue };
            if budget.status.observed_generation != budget.metadata.generation {
                continue;
            }
            let pods = self.pods.range(first.clone()..).take_while(|(key, _)| near(key)).map(|(_, state)| state);
            let healthy = pods.filter(|it| it.is_healthy && selector.matches(&it.pod.metadata.labels)).count();
            let (desired, name) = (budget.status.desired_healthy, &budget.metadata.name);
            if i64::try_from(healthy).is_ok_and(|healthy| healthy < i64::from(desired)) {
                let text = format!("budget {namespace}/{name} of {cluster}: {healthy} healthy pods of {desired}");
                broken.push(format!("{text} since pod {} left {node}", pod.metadata.name));
            }
        }
        broken
    }
}

fn place(cluster: &str, namespace: &str, name: &str) -> Place {
    (cluster.to_owned(), namespace.to_owned(), name.to_owned())
}

/// True for pods that drains ignore: mirror pods and those of DaemonSets.
fn stays(pod: &Pod) -> bool {
    let owners = &pod.metadata.owner_references;
    pod.metadata.annotations.contains_key(annotation::MIRROR_POD)
        || owners.iter().any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet")
}

fn is_healthy(pod: &Pod) -> bool {
    let mut conditions = pod.status.conditions.iter();
    !pod.metadata.is_being_deleted() && conditions.any(|it| it.r#type == "Ready" && it.status == "True")
}

#[cfg(test)]
mod tests {
    use api::kubernetes::core::{NodeCondition, PodCondition};
    use apimachinery::meta::{LabelSelector, OwnerReference, Time};

    use super::*;

    const SHOOT: &str = "shoot--demo--local";
    const DRAIN: &str = "gardener.cloud:system:extension:provider-local:local";
    const CLUSTER: &str = "system:kube-controller-manager";

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    /// Node `n` of a Machine that is deleted at 0, and pods `a` and `b` on it, of which one must be healthy.
    fn draining() -> Workload {
        let mut pods = Workload::default();
        pods.made(at(0), CLUSTER);
        pods.machine(&machine("Terminating"));
        pods.node(SHOOT, &node(false), false);
        for name in ["a", "b"] {
            assert_eq!(pods.pod(SHOOT, &pod(name), false), [""; 0]);
        }
        pods.node(SHOOT, &node(true), false);
        let mut budget = PodDisruptionBudget::default();
        budget.metadata.namespace = "default".to_owned();
        budget.metadata.name = "web".to_owned();
        let mut selector = LabelSelector::default();
        selector.match_labels.insert("app".to_owned(), "web".to_owned());
        budget.spec.selector = Some(selector);
        budget.status.desired_healthy = 1;
        pods.budget(SHOOT, &budget, false);
        pods
    }

    fn machine(phase: &str) -> Machine {
        let mut machine = Machine::default();
        machine.metadata.namespace = SHOOT.to_owned();
        machine.metadata.labels.insert(label::MACHINE_NODE.to_owned(), "n".to_owned());
        machine.metadata.deletion_timestamp = (phase == "Terminating").then(|| Time::from_instant(at(0)));
        phase.clone_into(&mut machine.status.current_status.phase);
        machine.spec.max_evict_retries = Some(3);
        machine
    }

    fn node(is_cordoned: bool) -> Node {
        let mut node = Node::default();
        node.metadata.name = "n".to_owned();
        node.spec.unschedulable = is_cordoned;
        let ready = NodeCondition { r#type: "Ready".into(), status: "True".into(), ..NodeCondition::default() };
        node.status.conditions = vec![ready];
        node
    }

    fn pod(name: &str) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.namespace = "default".to_owned();
        name.clone_into(&mut pod.metadata.name);
        name.clone_into(&mut pod.metadata.uid);
        pod.metadata.labels.insert("app".to_owned(), "web".to_owned());
        let owner = OwnerReference { kind: "ReplicaSet".into(), controller: Some(true), ..OwnerReference::default() };
        pod.metadata.owner_references = vec![owner];
        "n".clone_into(&mut pod.spec.node_name);
        let ready = PodCondition { r#type: "Ready".into(), status: "True".into(), ..PodCondition::default() };
        pod.status.conditions = vec![ready];
        pod
    }

    fn ending(name: &str) -> Pod {
        let mut pod = pod(name);
        pod.metadata.deletion_timestamp = Some(Time::from_instant(at(30)));
        pod
    }

    #[test]
    fn a_cordoned_node_gets_no_pods() {
        let mut pods = draining();
        let text = "pod default/c of shoot--demo--local was put on n, which is cordoned";
        assert_eq!(pods.pod(SHOOT, &pod("c"), false), [text]);
        assert_eq!(pods.pod(SHOOT, &pod("c"), false), [""; 0], "it is there");
        let mut waiting = pod("d");
        waiting.spec.node_name.clear();
        assert_eq!(pods.pod(SHOOT, &waiting, false), [""; 0]);
        assert_eq!(pods.pod(SHOOT, &pod("d"), false).len(), 1, "it is bound");
        let mut named = pod("e");
        named.metadata.owner_references.clear();
        assert_eq!(pods.pod(SHOOT, &named, false), [""; 0], "people named the node");
        let mut daemon = pod("f");
        daemon.metadata.owner_references[0].kind = "DaemonSet".to_owned();
        assert_eq!(pods.pod(SHOOT, &daemon, false), [""; 0]);
        pods.node(SHOOT, &node(false), false);
        assert_eq!(pods.pod(SHOOT, &pod("g"), false), [""; 0]);
    }

    #[test]
    fn pods_do_not_end_with_their_node() {
        let mut pods = draining();
        pods.node(SHOOT, &node(true), true);
        let text = "pod default/a of shoot--demo--local ended with n and without a deletion timestamp";
        assert_eq!(pods.pod(SHOOT, &pod("a"), true), [text]);
        assert_eq!(pods.pod(SHOOT, &ending("b"), false), [""; 0], "it is asked to end");
        assert_eq!(pods.pod(SHOOT, &ending("b"), true), [""; 0]);
        // Without a grace period it is deleted at its eviction, but not with its node.
        let mut sudden = pod("a");
        sudden.spec.termination_grace_period_seconds = Some(0);
        assert_eq!(draining().pod(SHOOT, &sudden, true), [""; 0]);
        let mut pods = draining();
        pods.node(SHOOT, &node(true), true);
        assert_eq!(pods.pod(SHOOT, &sudden, true), [text]);
        // Its Machine was lost before.
        let mut pods = draining();
        for phase in ["Failed", "Terminating"] {
            pods.machine(&machine(phase));
        }
        assert_eq!(pods.pod(SHOOT, &pod("a"), true), [""; 0]);
        // Users may delete pods.
        let mut pods = draining();
        pods.made(at(0), "admin");
        assert_eq!(pods.pod(SHOOT, &pod("a"), true), [""; 0]);
    }

    #[test]
    fn budgets_hold_until_a_drain_is_forced() {
        let text = "budget default/web of shoot--demo--local: 0 healthy pods of 1 since pod b left n";
        for (seconds, by, expected) in [(59, DRAIN, &[text][..]), (60, DRAIN, &[]), (59, "admin", &[])] {
            let mut pods = draining();
            pods.made(at(seconds), by);
            assert_eq!(pods.pod(SHOOT, &ending("a"), false), [""; 0], "one is left");
            assert_eq!(pods.pod(SHOOT, &ending("b"), false), expected, "{seconds} {by}");
        }
    }
}
