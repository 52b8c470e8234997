// SPDX-License-Identifier: Apache-2.0
//! Placement of pods: filters decide which nodes fit, scores which of them is chosen.
//!
//! ```text
//! filters, in this order       cordoned, taints, ready, node affinity, resources, volumes, spread, other pods
//! of the nodes that fit        the highest score, if the pod or others near have preferences; then those without taints,
//!                              then the fewest pods that are alike, as by the scheduler's default constraints, then the
//!                              fewest pods
//! ```
//!
//! Nodes are sorted by taints and number of pods, so that a choice without preferences examines only nodes that do not
//! fit or have pods like the incoming one, and one more. Other pods are examined only if the incoming pod, or one on a
//! node, has affinity terms.
//!
//! **Tour.** One module of stateless rules for each plug-in: [`node_affinity`], `resources`, `taints`, [`volumes`],
//! `spread`, `pod_affinity`; `pod_index` pods by node; `verdict` the scheduler's message. [`Places`] holds the state.
//!
//! Source: kube-scheduler's plugins NodeUnschedulable, TaintToleration, NodeAffinity, NodeResourcesFit, VolumeBinding,
//! PodTopologySpread, InterPodAffinity, their order and weights (pkg/scheduler/apis/config/v1/default_plugins.go).

pub(crate) mod node_affinity;
mod pod_affinity;
mod pod_index;
mod resources;
mod spread;
mod taints;
mod verdict;
pub(crate) mod volumes;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::kubernetes::core::{Node, NodeCondition, Pod, PodSpec, Taint};
use apimachinery::meta::TextMap;
use controller::{Change, ObjectKey};
use parking_lot::{Mutex, MutexGuard};

use self::pod_affinity::{Affinities, Namespaces, Survey};
use self::pod_index::{Count, PodIndex, PodTraits};
use self::resources::Resources;
use self::spread::Demands;
use self::verdict::Obstacle;
use self::volumes::Volumes;
use super::pods;

/// A pod that is to be placed on a node.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    spec: &'a PodSpec,
    traits: PodTraits,
    requests: Resources,
    volumes: Volumes,
}

impl<'a> Incoming<'a> {
    /// Returns a pod with these labels, in this namespace.
    pub(crate) fn new(namespace: &str, labels: &TextMap, spec: &'a PodSpec, volumes: Volumes) -> Self {
        Self { spec, traits: PodTraits::of(namespace, labels, spec), requests: Resources::of_pod(spec), volumes }
    }

    fn affinities(&self) -> Affinities {
        let (namespace, labels) = (&self.traits.namespace, &self.traits.labels);
        let affinity = self.spec.affinity.as_ref();
        affinity.map(|affinity| Affinities::of(affinity, namespace, labels)).unwrap_or_default()
    }

    fn prefers_nodes(&self) -> bool {
        let affinity = self.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        affinity.is_some_and(|it| !it.preferred_during_scheduling_ignored_during_execution.is_empty())
            || self.spec.topology_spread_constraints.iter().any(|it| it.when_unsatisfiable == "ScheduleAnyway")
    }
}

/// True if the placement of a pod depends on the nodes of other pods.
pub(crate) fn depends_on_pods(spec: &PodSpec) -> bool {
    !spec.topology_spread_constraints.is_empty() || wants_others(spec)
}

/// True if a pod has affinity or anti-affinity to other pods.
pub(crate) fn wants_others(spec: &PodSpec) -> bool {
    spec.affinity.as_ref().is_some_and(|it| it.pod_affinity.is_some() || it.pod_anti_affinity.is_some())
}

/// Effects of the pods on nodes on an incoming pod.
#[derive(Debug)]
struct Others<'a> {
    /// Effects of affinity terms; `None`: neither the incoming pod nor one on a node has any.
    survey: Option<Survey>,
    demands: Demands<'a>,
}

/// Reason why a node does not fit.
#[derive(Debug)]
enum Reason<'a> {
    Cordoned,
    Taint(&'a Taint),
    NotReady,
    Selector,
    Resources,
    Volumes(volumes::Obstacle),
    Spread(spread::Obstacle),
    Pods(pod_affinity::Obstacle),
}

/// A node with the resources that its pods request.
#[derive(Debug)]
struct Place {
    node: Arc<Node>,
    allocatable: Resources,
    used: Resources,
}

impl Place {
    /// Returns the node's position in the order of choice: first nodes without taints, last those whose taints repel
    /// most pods.
    fn rank(&self) -> Rank {
        let class = |taint: &Taint| match taint.effect.as_str() {
            "NoSchedule" | "NoExecute" => 2,
            _ => 1,
        };
        (self.node.spec.taints.iter().map(class).max().unwrap_or(0), self.used.pods)
    }

    /// True if any pod may be placed on the node: others are not part of the order.
    fn is_open(&self) -> bool {
        let is_ready = |it: &NodeCondition| it.r#type == "Ready" && it.status == "True";
        !self.node.spec.unschedulable
            && !self.node.metadata.is_being_deleted()
            && self.node.status.conditions.iter().any(is_ready)
    }

    /// Returns the first reason why a pod cannot run on the node that does not depend on other nodes.
    fn own_reason(&self, spec: &PodSpec, requests: Resources) -> Option<Reason<'_>> {
        let node = &*self.node;
        if node.spec.unschedulable {
            return Some(Reason::Cordoned);
        }
        if let Some(taint) = node.spec.taints.iter().find(|taint| taints::is_hindered(spec, taint)) {
            return Some(Reason::Taint(taint));
        }
        if !self.is_open() {
            return Some(Reason::NotReady);
        }
        if !node_affinity::is_selected(spec, node) {
            return Some(Reason::Selector);
        }
        (!requests.fits(self.used, self.allocatable)).then_some(Reason::Resources)
    }

    /// Returns the first reason why a pod cannot run on the node.
    fn reason(&self, pod: &Incoming<'_>, others: &Others<'_>) -> Option<Reason<'_>> {
        let (node, labels) = (&*self.node, &self.node.metadata.labels);
        let of_volumes = || pod.volumes.obstacle(node).map(Reason::Volumes);
        let of_spread = || others.demands.obstacle(labels).map(Reason::Spread);
        let of_pods = || others.survey.as_ref()?.obstacle(labels).map(Reason::Pods);
        self.own_reason(pod.spec, pod.requests).or_else(of_volumes).or_else(of_spread).or_else(of_pods)
    }

    fn fits(&self, pod: &Incoming<'_>, others: &Others<'_>) -> bool {
        self.reason(pod, others).is_none()
    }

    /// Returns why a pod cannot run on the node, in the scheduler's words.
    fn obstacle(&self, pod: &Incoming<'_>, others: &Others<'_>) -> Option<Obstacle> {
        Some(match self.reason(pod, others)? {
            Reason::Cordoned => Obstacle::lasting("node(s) were unschedulable"),
            Reason::Taint(taint) => {
                Obstacle::lasting(format!("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value))
            }
            Reason::NotReady => Obstacle::lasting("node(s) were not ready"),
            Reason::Selector => Obstacle::lasting("node(s) didn't match Pod's node affinity/selector"),
            Reason::Resources => Obstacle::crowded(pod.requests.shortages(self.used, self.allocatable)),
            Reason::Volumes(it) => Obstacle::lasting(it.text()),
            Reason::Spread(it @ spread::Obstacle::NoLabel) => Obstacle::lasting(it.text()),
            Reason::Spread(it @ spread::Obstacle::Skew) => Obstacle::crowded([it.text()]),
            Reason::Pods(it @ pod_affinity::Obstacle::NotNear) => Obstacle::lasting(it.text()),
            Reason::Pods(it) => Obstacle::crowded([it.text()]),
        })
    }
}

/// Class by taints, and number of pods.
type Rank = (u8, i64);

/// Scales scores to 0 to 100: the highest number becomes 100.
fn normal(mut scores: Vec<i64>) -> Vec<i64> {
    let most = scores.iter().copied().max().unwrap_or(0);
    if most > 0 {
        for score in &mut scores {
            *score = 100 * *score / most;
        }
    }
    scores
}

/// Scales scores to 0 to 100: the lowest number becomes 0, the highest 100.
fn stretched(mut scores: Vec<i64>) -> Vec<i64> {
    let (least, most) = (scores.iter().copied().min().unwrap_or(0), scores.iter().copied().max().unwrap_or(0));
    let of = |score: i64| if most > least { 100 * (score - least) / (most - least) } else { 0 };
    for score in &mut scores {
        *score = of(*score);
    }
    scores
}

#[derive(Debug, Default)]
struct Cluster {
    nodes: BTreeMap<String, Place>,
    /// Nodes that accept pods, by rank, then name.
    order: BTreeSet<(Rank, String)>,
    /// Requested resources on nodes that are not known.
    elsewhere: BTreeMap<String, Resources>,
    /// Pods on nodes.
    pod_index: PodIndex,
}

impl Cluster {
    /// Counts a pod on a node (`sign` 1), or removes it (-1).
    fn change(&mut self, placed: &PlacedPod, sign: i64) {
        let count = Count { present: sign, staying: if placed.resources.is_some() { sign } else { 0 } };
        self.pod_index.change(&placed.traits, &placed.node, count);
        if let Some(resources) = placed.resources {
            let change = if sign < 0 { Resources::default().minus(resources) } else { resources };
            self.add(&placed.node, change);
        }
    }

    fn add(&mut self, node: &str, resources: Resources) {
        let Some(place) = self.nodes.get_mut(node) else {
            let used = self.elsewhere.entry(node.to_owned()).or_default();
            *used = used.plus(resources);
            if *used == Resources::default() {
                self.elsewhere.remove(node);
            }
            return;
        };
        self.order.remove(&(place.rank(), node.to_owned()));
        place.used = place.used.plus(resources);
        if place.is_open() {
            self.order.insert((place.rank(), node.to_owned()));
        }
    }

    fn set(&mut self, name: &str, node: Option<&Arc<Node>>) {
        let used = match self.nodes.remove(name) {
            Some(place) => {
                self.order.remove(&(place.rank(), name.to_owned()));
                place.used
            }
            None => self.elsewhere.remove(name).unwrap_or_default(),
        };
        match node {
            Some(node) => {
                let allocatable = Resources::of_node(&node.status.allocatable);
                let place = Place { node: node.clone(), allocatable, used };
                if place.is_open() {
                    self.order.insert((place.rank(), name.to_owned()));
                }
                self.nodes.insert(name.to_owned(), place);
            }
            None if used == Resources::default() => {}
            None => drop(self.elsewhere.insert(name.to_owned(), used)),
        }
    }

    fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name).map(|place| &*place.node)
    }

    fn others<'a>(&self, pod: &Incoming<'a>, namespaces: Namespaces<'_>) -> Others<'a> {
        let all = self.nodes.values().map(|place| &*place.node);
        let demands = Demands::of(pod.spec, &pod.traits, |name| self.node(name), all, &self.pod_index);
        let matters = wants_others(pod.spec) || self.pod_index.has_wanting();
        let label = |node: &str, key: &str| self.node(node)?.metadata.label(key);
        let survey = || Survey::of(&pod.traits, &pod.affinities(), &self.pod_index, label, namespaces);
        Others { survey: matters.then(survey), demands }
    }

    /// Returns the node that a pod runs on.
    ///
    /// # Errors
    /// The scheduler's message if no node fits.
    fn choose(&self, pod: &Incoming<'_>, namespaces: Namespaces<'_>) -> Result<String, String> {
        let others = self.others(pod, namespaces);
        let fit = self.order.iter().filter(|(_, name)| self.nodes[name].fits(pod, &others));
        let has_wishes = others.survey.as_ref().is_some_and(Survey::has_wishes);
        let found =
            if pod.prefers_nodes() || has_wishes { self.best(pod, &others, fit) } else { self.most_even(pod, fit) };
        if let Some((_, name)) = found {
            return Ok(name.clone());
        }
        let obstacles = self.nodes.values().filter_map(|place| place.obstacle(pod, &others));
        Err(verdict::message(self.nodes.len(), &obstacles.collect::<Vec<_>>()))
    }

    /// Returns, of the nodes with the least taints, the first one without a pod like the incoming one, or else one with
    /// the fewest such pods. It examines no more nodes than have such pods, or do not fit.
    fn most_even<'c>(
        &self,
        pod: &Incoming<'_>,
        mut fit: impl Iterator<Item = &'c (Rank, String)>,
    ) -> Option<&'c (Rank, String)> {
        let Some(count) = self.pod_index.alike(&pod.traits) else { return fit.next() };
        let mut found: Option<(i64, &(Rank, String))> = None;
        for place in fit {
            let ((class, _), name) = place;
            let count = count(name);
            match found {
                Some((_, ((best, _), _))) if best != class => break,
                Some((least, _)) if least <= count => {}
                _ if count == 0 => return Some(place),
                _ => found = Some((count, place)),
            }
        }
        found.map(|(_, place)| place)
    }

    /// Returns the node with the highest score; of several, the first in order.
    fn best<'c>(
        &'c self,
        pod: &Incoming<'_>,
        others: &Others<'_>,
        fit: impl Iterator<Item = &'c (Rank, String)>,
    ) -> Option<&'c (Rank, String)> {
        let fit: Vec<&(Rank, String)> = fit.collect();
        let nodes: Vec<&Node> = fit.iter().map(|(_, name)| &*self.nodes[name].node).collect();
        let each = |of: &dyn Fn(&Node) -> i64| nodes.iter().map(|node| of(node)).collect::<Vec<i64>>();
        let by_taints = normal(each(&|node| taints::reluctance(pod.spec, node)));
        let by_node = normal(each(&|node| node_affinity::preference(pod.spec, node)));
        let by_spread = spread::preferences(pod.spec, &pod.traits, |name| self.node(name), &nodes, &self.pod_index);
        let wish = |node: &Node| others.survey.as_ref().map_or(0, |it| it.preference(&node.metadata.labels));
        let by_pods = stretched(each(&wish));
        let score = |at: usize| 3 * (100 - by_taints[at]) + 2 * (by_node[at] + by_spread[at] + by_pods[at]);
        let best = (0..fit.len()).max_by_key(|at| (score(*at), Reverse(*at)))?;
        Some(fit[best])
    }
}

/// A pod that is on a node.
#[derive(Clone, Debug, PartialEq)]
struct PlacedPod {
    node: String,
    traits: PodTraits,
    /// Requested resources; `None`: the pod is ending, and only counts for other pods.
    resources: Option<Resources>,
}

impl PlacedPod {
    fn of(pod: &Pod) -> Option<Self> {
        let metadata = &pod.metadata;
        let is_present = !pods::is_terminal(pod) && !pod.spec.node_name.is_empty();
        is_present.then(|| {
            let resources = (!metadata.is_being_deleted()).then(|| Resources::of_pod(&pod.spec));
            Self::new(&metadata.namespace, &metadata.labels, &pod.spec, resources)
        })
    }

    fn new(namespace: &str, labels: &TextMap, spec: &PodSpec, resources: Option<Resources>) -> Self {
        Self { node: spec.node_name.clone(), traits: PodTraits::of(namespace, labels, spec), resources }
    }
}

#[derive(Debug, Default)]
struct Inner {
    clusters: BTreeMap<Arc<str>, Cluster>,
    /// Pods that were assigned to a node since the last change of the local copy, by uid.
    assumed: BTreeMap<String, (Arc<str>, PlacedPod)>,
}

impl Inner {
    fn forget(&mut self, uid: &str) {
        if let Some((cluster, placed)) = self.assumed.remove(uid) {
            self.clusters.entry(cluster).or_default().change(&placed, -1);
        }
    }
}

/// Result of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The pod runs on this node.
    Node(String),
    /// The pod runs on this node once these claims have their volumes.
    Bind(String, Vec<String>),
    /// No node fits: the scheduler's message.
    Nowhere(String),
    /// The cluster has no nodes.
    NoNodes,
}

/// The nodes of all clusters with their pods. Clones share one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Arc<Mutex<Inner>>);

impl Places {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// Applies a change of a node.
    pub(crate) fn observe_node(&self, change: &Change<Node>) {
        let mut inner = self.lock();
        let cluster = inner.clusters.entry(change.key.cluster.clone()).or_default();
        cluster.set(&change.key.name, change.new.as_ref());
    }

    /// Applies a change of a pod.
    pub(crate) fn observe_pod(&self, change: &Change<Pod>) {
        let placed = |pod: &Option<Arc<Pod>>| PlacedPod::of(pod.as_ref()?);
        let (old, new) = (placed(&change.old), placed(&change.new));
        let mut inner = self.lock();
        let uid = change.object().map(|pod| pod.metadata.uid.as_str()).unwrap_or_default();
        inner.forget(uid);
        if old == new {
            return;
        }
        let cluster = inner.clusters.entry(change.key.cluster.clone()).or_default();
        if let Some(old) = old {
            cluster.change(&old, -1);
        }
        if let Some(new) = new {
            cluster.change(&new, 1);
        }
    }

    /// Counts a pod on its assigned node until the local copy shows it there.
    pub(crate) fn assume(&self, key: &ObjectKey, uid: &str, labels: &TextMap, spec: &PodSpec) {
        let mut inner = self.lock();
        let placed = PlacedPod::new(&key.namespace, labels, spec, Some(Resources::of_pod(spec)));
        inner.clusters.entry(key.cluster.clone()).or_default().change(&placed, 1);
        inner.assumed.insert(uid.to_owned(), (key.cluster.clone(), placed));
    }

    /// Removes an assumed pod that was not placed.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().forget(uid);
    }

    /// Chooses a node for a pod.
    pub(crate) fn choose(&self, cluster: &str, pod: &Incoming<'_>, namespaces: Namespaces<'_>) -> Choice {
        let inner = self.lock();
        let Some(cluster) = inner.clusters.get(cluster).filter(|cluster| !cluster.nodes.is_empty()) else {
            return Choice::NoNodes;
        };
        match cluster.choose(pod, namespaces) {
            Ok(node) => Choice::Node(node),
            Err(message) => Choice::Nowhere(message),
        }
    }

    /// True if a node's own properties allow a pod: a waiting pod is reconsidered when such a node is created or
    /// changed, and not for other nodes.
    ///
    /// Source: k8s.io/kubernetes pkg/scheduler/eventhandlers.go (`preCheckForNode`).
    pub(crate) fn may_take(&self, cluster: &str, node: &str, spec: &PodSpec) -> bool {
        let inner = self.lock();
        let place = inner.clusters.get(cluster).and_then(|cluster| cluster.nodes.get(node));
        place.is_some_and(|place| place.own_reason(spec, Resources::of_pod(spec)).is_none())
    }

    /// Returns the message about a pod that fits no node. A cluster without nodes counts as having one.
    pub(crate) fn refusal(&self, cluster: &str, text: &str) -> String {
        let inner = self.lock();
        verdict::message_for_all(inner.clusters.get(cluster).map_or(1, |cluster| cluster.nodes.len().max(1)), text)
    }

    /// True if a cluster has a node of this name; `None`: it has no nodes.
    pub(crate) fn has_node(&self, cluster: &str, name: &str) -> Option<bool> {
        let inner = self.lock();
        let cluster = inner.clusters.get(cluster).filter(|cluster| !cluster.nodes.is_empty())?;
        Some(cluster.nodes.contains_key(name))
    }
}

#[cfg(test)]
mod tests;
