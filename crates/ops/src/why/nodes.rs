// SPDX-License-Identifier: Apache-2.0
//! What a Machine on its way waits for, as far as its Node and the pods on it tell.

use std::collections::BTreeMap;

use api::kubernetes::core::{Node, Pod};
use api::kubernetes::policy::PodDisruptionBudget;
use api::machine::Machine;
use apimachinery::selector::Labels;
use controller::{Api, ListOptions};
use domain::rollout::drain;
use domain::rollout::in_place::{Reason, Update};
use process::Context;

use crate::Error;
use crate::lines::Line;
use crate::show;
use crate::spelling::{first_of, plural};

/// How many pods are named.
const NAMES: usize = 5;

/// Nodes, pods and budgets of a shoot's cluster.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Its name in paths.
    name: String,
    nodes: BTreeMap<String, Node>,
    pods: Vec<Pod>,
    budgets: Vec<PodDisruptionBudget>,
}

impl Cluster {
    /// As they are now; nothing of a cluster that is not there.
    ///
    /// # Errors
    /// The server's words.
    pub async fn read(context: &Context, name: &str) -> Result<Self, Error> {
        let all = ListOptions::default();
        let (nodes, _) = Api::<Node>::all(context, name).list(&all).await?;
        let (pods, _) = Api::<Pod>::all(context, name).list(&all).await?;
        let (budgets, _) = Api::<PodDisruptionBudget>::all(context, name).list(&all).await?;
        let nodes = nodes.into_iter().map(|node| (node.metadata.name.clone(), node)).collect();
        Ok(Self { name: name.to_owned(), nodes, pods, budgets })
    }

    /// What a Machine waits for beyond what it says itself.
    pub fn lines(&self, machine: &Machine) -> Vec<Line> {
        let Some(node) = self.nodes.get(&machine.metadata.name) else { return Vec::new() };
        let mut lines = Vec::new();
        let update = Update::of(node);
        if let Some(reason) = update.reason.filter(|reason| *reason != Reason::UpdateSuccessful) {
            let since = update.since.map_or_else(String::new, |since| format!(" since {}", show(since)));
            let why = if update.failure.is_empty() { String::new() } else { format!(": {}", update.failure) };
            let text = format!(": condition InPlaceUpdate is {}{since}{why}", reason.as_str());
            lines.push(self.of_node(node).text(text));
        }
        if self.is_drained(machine) {
            lines.extend(self.pods(node));
        }
        lines
    }

    /// Whether pods leave the node of a Machine, or have left it: it is deleted, or updated in place.
    fn is_drained(&self, machine: &Machine) -> bool {
        let node = self.nodes.get(&machine.metadata.name);
        let is_updated = |node: &Node| Update::of(node).reason == Some(Reason::SelectedForUpdate);
        machine.metadata.is_being_deleted() || node.is_some_and(is_updated)
    }

    /// How many pods a drain has to move from the node of a Machine; `None`: it is not drained.
    pub fn left(&self, machine: &Machine) -> Option<usize> {
        let name = &machine.metadata.name;
        let leaving = |pod: &&Pod| pod.spec.node_name == *name && drain::Pod::of(pod).is_some();
        self.is_drained(machine).then(|| self.pods.iter().filter(leaving).count())
    }

    /// The pods that a drain has to move, with what holds each up.
    fn pods(&self, node: &Node) -> Vec<Line> {
        let leaving = |pod: &&Pod| pod.spec.node_name == node.metadata.name && drain::Pod::of(pod).is_some();
        let left: Vec<&Pod> = self.pods.iter().filter(leaving).collect();
        if left.is_empty() {
            return Vec::new();
        }
        let mut by_cause: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pod in left {
            let name = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
            by_cause.entry(self.cause(pod)).or_default().push(name);
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

    fn cause(&self, pod: &Pod) -> String {
        if let Some(end) = pod.metadata.deletion_timestamp {
            return format!("which end until {}", show(end.0));
        }
        let is_of = |budget: &&PodDisruptionBudget| {
            let selector = budget.spec.selector.as_ref().and_then(|selector| Labels::from_selector(selector).ok());
            budget.metadata.namespace == pod.metadata.namespace
                && selector.is_some_and(|selector| selector.matches(&pod.metadata.labels))
        };
        match self.budgets.iter().find(is_of) {
            Some(budget) if budget.status.disruptions_allowed <= 0 => format!(
                "PodDisruptionBudget {} allows no disruption (currentHealthy {}, desiredHealthy {})",
                budget.metadata.name, budget.status.current_healthy, budget.status.desired_healthy
            ),
            _ => "to be evicted".to_owned(),
        }
    }
}
