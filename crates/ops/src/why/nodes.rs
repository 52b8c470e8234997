// SPDX-License-Identifier: Apache-2.0
//! Reasons for which the deletion or update of a Machine waits, as far as its Node and pods show them.

use std::collections::BTreeMap;

use api::constants::label;
use api::kubernetes::core::{Node, Pod};
use api::kubernetes::policy::PodDisruptionBudget;
use api::machine::Machine;
use apimachinery::selector::Labels;
use chrono::{DateTime, Utc};
use controller::{Api, ListOptions};
use domain::profile::Profile;
use domain::rollout::arguments::Arguments;
use domain::rollout::drain;
use domain::rollout::in_place::{Reason, Update};
use domain::rollout::machine::is_after_drain;
use process::Context;

use crate::Error;
use crate::explain::lines::Line;
use crate::show;
use crate::spelling::{first_of, plural};

/// Maximum number of pods that are listed.
const NAMES: usize = 5;

/// Nodes, pods and budgets of a shoot's cluster.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Name of the cluster in paths.
    name: String,
    /// Instant of the examination.
    now: DateTime<Utc>,
    nodes: BTreeMap<String, Node>,
    pods: Vec<Pod>,
    budgets: Vec<PodDisruptionBudget>,
}

impl Cluster {
    /// Reads the current state; empty for a cluster that does not exist.
    ///
    /// # Errors
    /// The server's error message.
    pub async fn read(context: &Context, name: &str, now: DateTime<Utc>) -> Result<Self, Error> {
        let all = ListOptions::default();
        let (nodes, _) = Api::<Node>::all(context, name).list(&all).await?;
        let (pods, _) = Api::<Pod>::all(context, name).list(&all).await?;
        let (budgets, _) = Api::<PodDisruptionBudget>::all(context, name).list(&all).await?;
        let nodes = nodes.into_iter().map(|node| (node.metadata.name.clone(), node)).collect();
        Ok(Self { name: name.to_owned(), now, nodes, pods, budgets })
    }

    /// Node of a Machine.
    pub(super) fn node(&self, machine: &Machine) -> Option<&Node> {
        self.nodes.get(&machine.metadata.name)
    }

    /// Reasons for which a Machine waits that its own status does not report.
    pub fn lines(&self, machine: &Machine) -> Vec<Line> {
        let Some(node) = self.node(machine) else { return Vec::new() };
        let mut lines = Vec::new();
        let update = Update::of(node);
        if let Some(reason) = update.reason.filter(|reason| *reason != Reason::UpdateSuccessful) {
            let since = update.since.map_or_else(String::new, |since| format!(" since {}", show(since)));
            let why = if update.failure.is_empty() { String::new() } else { format!(": {}", update.failure) };
            let text = format!(": condition InPlaceUpdate is {}{since}{why}", reason.as_str());
            lines.push(self.of_node(node).text(text));
        }
        if self.is_drained(machine) {
            lines.extend(self.pods(node, machine));
        }
        lines
    }

    /// True if the node of a Machine is drained, or will be: the Machine is being deleted, or updated in place.
    fn is_drained(&self, machine: &Machine) -> bool {
        let node = self.nodes.get(&machine.metadata.name);
        let is_updated = |node: &Node| Update::of(node).reason == Some(Reason::SelectedForUpdate);
        machine.metadata.is_being_deleted() || node.is_some_and(is_updated)
    }

    /// Number of pods that a drain still has to move from the node of a Machine; `None`: it is not drained.
    pub fn left(&self, machine: &Machine) -> Option<usize> {
        let name = &machine.metadata.name;
        let leaving = |pod: &&Pod| pod.spec.node_name == *name && drain::Pod::of(pod).is_some();
        self.is_drained(machine).then(|| self.pods.iter().filter(leaving).count())
    }

    /// Lines about the pods that a drain has to move, with the reason for which each stays.
    fn pods(&self, node: &Node, machine: &Machine) -> Vec<Line> {
        let leaving = |pod: &&Pod| pod.spec.node_name == node.metadata.name && drain::Pod::of(pod).is_some();
        let left: Vec<&Pod> = self.pods.iter().filter(leaving).collect();
        if left.is_empty() {
            return Vec::new();
        }
        let mut by_cause: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pod in left {
            let name = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
            by_cause.entry(self.cause(pod, machine)).or_default().push(name);
        }
        let line = |(cause, names): (String, Vec<String>)| {
            let named = first_of(names.iter().map(String::as_str), NAMES);
            self.of_node(node).text(format!(": {} left, {cause}: {named}", plural(names.len(), "pod")))
        };
        by_cause.into_iter().map(line).collect()
    }

    fn of_node(&self, node: &Node) -> Line {
        super::of_object("Node", "node", &self.name, &node.metadata)
    }

    /// Reason for which a pod is still on the node of a Machine.
    fn cause(&self, pod: &Pod, machine: &Machine) -> String {
        let finalizers = pod.metadata.finalizers.join(", ");
        if let Some(end) = pod.metadata.deletion_timestamp {
            let end = end.0;
            return match (end > self.now, finalizers.is_empty()) {
                (true, true) => format!("which end until {}", show(end)),
                (true, false) => format!("which end until {}, then held by finalizer {finalizers}", show(end)),
                (false, true) => format!("which were to end until {}: their processes do not", show(end)),
                (false, false) => format!("held by finalizer {finalizers}, ended at {}", show(end)),
            };
        }
        match Removal::of(machine, self.now) {
            Removal::Eviction => {}
            Removal::Deletion => return "deleted without eviction: the drain is forced".to_owned(),
            Removal::WithNode => return "not evicted: the drain is over, they end with the node".to_owned(),
        }
        // A pod that is not running is ignored by budgets.
        if matches!(pod.status.phase.as_str(), "Pending" | "Succeeded" | "Failed") {
            return "to be evicted".to_owned();
        }
        let is_of = |budget: &&PodDisruptionBudget| {
            let selector = budget.spec.selector.as_ref().and_then(|selector| Labels::from_selector(selector).ok());
            budget.metadata.namespace == pod.metadata.namespace
                && selector.is_some_and(|selector| selector.matches(&pod.metadata.labels))
        };
        let budgets: Vec<&PodDisruptionBudget> = self.budgets.iter().filter(is_of).collect();
        match budgets[..] {
            [budget] if budget.status.disruptions_allowed <= 0 => format!(
                "PodDisruptionBudget {} allows no disruption (currentHealthy {}, desiredHealthy {})",
                budget.metadata.name, budget.status.current_healthy, budget.status.desired_healthy
            ),
            [] | [_] => "to be evicted".to_owned(),
            _ => {
                let names: Vec<&str> = budgets.iter().map(|budget| budget.metadata.name.as_str()).collect();
                let names = names.join(", ");
                format!(
                    "never evicted: {} PodDisruptionBudgets ({names}) select them, and eviction takes one",
                    budgets.len()
                )
            }
        }
    }
}

/// Way in which pods are removed from a Machine's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Eviction,
    /// Deleted with grace period 0.
    Deletion,
    /// Removal with the VM, after the drain.
    WithNode,
}

impl Removal {
    /// Removal at the current step of a Machine's deletion; a Machine that is updated in place stays.
    fn of(machine: &Machine, now: DateTime<Utc>) -> Self {
        let Some(since) = machine.metadata.deletion_timestamp else { return Self::Eviction };
        let timeout = Arguments::of(Profile::default()).settings(&machine.spec).drain_timeout;
        let description = machine.status.last_operation.description.as_str();
        if is_after_drain(description) {
            Self::WithNode
        } else if machine.metadata.label(label::MACHINE_FORCE_DELETION) == Some("True") || now >= since.0 + timeout {
            Self::Deletion
        } else {
            Self::Eviction
        }
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::Resource;
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2025-06-01T12:00:00Z";

    fn cluster(pod: Value, budgets: Vec<Value>) -> Cluster {
        let mut pod = pod;
        pod["metadata"]["namespace"] = json!("default");
        pod["metadata"]["labels"] = json!({ "app": "a" });
        pod["spec"]["nodeName"] = json!("m");
        let budget = |status: Value| {
            let name = format!("b{}", status["disruptionsAllowed"]);
            let object = json!({
                "metadata": { "name": name, "namespace": "default" },
                "spec": { "selector": { "matchLabels": { "app": "a" } } },
                "status": status,
            });
            PodDisruptionBudget::read(object.to_string().as_bytes()).expect("a budget")
        };
        let node = Node::read(json!({ "metadata": { "name": "m" } }).to_string().as_bytes()).expect("a Node");
        Cluster {
            name: "shoot".to_owned(),
            now: NOW.parse().expect("an instant"),
            nodes: BTreeMap::from([("m".to_owned(), node)]),
            pods: vec![Pod::read(pod.to_string().as_bytes()).expect("a pod")],
            budgets: budgets.into_iter().map(budget).collect(),
        }
    }

    fn machine(description: &str, labels: Value) -> Machine {
        let object = json!({
            "metadata": { "name": "m", "deletionTimestamp": NOW, "labels": labels },
            "status": { "lastOperation": { "description": description } },
        });
        Machine::read(object.to_string().as_bytes()).expect("a Machine")
    }

    #[test]
    fn the_cause_names_the_blocker_of_a_pod() {
        let drain = "Initiate node drain";
        let running = || json!({ "metadata": { "name": "p" }, "status": { "phase": "Running" } });
        let ending = |at: &str, finalizers: Value| json!({ "metadata": { "name": "p", "deletionTimestamp": at, "finalizers": finalizers } });
        let budget = |allowed: i32| json!({ "disruptionsAllowed": allowed });
        let none = json!({});
        let over = "Drain successful. Initiate VM deletion";
        for (pod, budgets, operation, labels, cause) in [
            (running(), vec![], drain, &none, "to be evicted"),
            (running(), vec![budget(0)], drain, &none, "PodDisruptionBudget b0 allows no disruption"),
            (running(), vec![budget(0), budget(1)], drain, &none, "never evicted: 2 PodDisruptionBudgets (b0, b1)"),
            (
                json!({ "metadata": { "name": "p" }, "status": { "phase": "Pending" } }),
                vec![budget(0)],
                drain,
                &none,
                "to be evicted",
            ),
            (running(), vec![], over, &none, "not evicted: the drain is over"),
            (running(), vec![], drain, &json!({ "force-deletion": "True" }), "deleted without eviction"),
            (ending("2025-06-01T12:00:30Z", json!([])), vec![], drain, &none, "which end until 2025-06-01T12:00:30Z: "),
            (
                ending("2025-06-01T11:59:30Z", json!(["a/b"])),
                vec![],
                over,
                &none,
                "held by finalizer a/b, ended at 2025-06-01T11:59:30Z",
            ),
            (ending("2025-06-01T11:59:30Z", json!([])), vec![], drain, &none, "which were to end until"),
        ] {
            let lines = cluster(pod, budgets).lines(&machine(operation, labels.clone()));
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            assert_eq!(lines.len(), 1, "{lines:?}");
            let expected = format!("Node m: 1 pod left, {cause}");
            assert!(lines[0].starts_with(&expected), "{expected}: {}", lines[0]);
        }
    }
}
