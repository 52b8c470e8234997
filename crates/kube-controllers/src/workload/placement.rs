// SPDX-License-Identifier: Apache-2.0
//! Where pods run: which nodes fit, and which of them is taken.
//!
//! A pod goes to the fitting node with the fewest pods; nodes with taints come last. Nodes are kept sorted
//! by that, so that a choice looks at as many nodes as do not fit and no more.
//!
//! Source: kube-scheduler's plugins NodeUnschedulable, TaintToleration, NodeAffinity (`nodeSelector`), NodeResourcesFit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::kubernetes::core::{Container, Node, Pod, PodSpec, Taint, Toleration};
use apimachinery::meta::{Quantity, TextMap};
use controller::{Change, ObjectKey};

use super::nodes::tolerates;
use super::pods;

/// What is set aside on a node: thousandths of processors, bytes, pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    cpu: i64,
    memory: i64,
    pods: i64,
}

impl Resources {
    fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_add(other.cpu),
            memory: self.memory.saturating_add(other.memory),
            pods: self.pods.saturating_add(other.pods),
        }
    }

    fn minus(self, other: Self) -> Self {
        self.plus(Self { cpu: -other.cpu, memory: -other.memory, pods: -other.pods })
    }

    /// What a node has; what it does not say is without limit.
    fn of_node(allocatable: &BTreeMap<String, Quantity>) -> Self {
        let get = |name: &str, of: fn(&Quantity) -> i64| allocatable.get(name).map_or(i64::MAX, of);
        Self {
            cpu: get("cpu", Quantity::millis),
            memory: get("memory", Quantity::value),
            pods: get("pods", Quantity::value),
        }
    }

    /// What a pod asks for: all its containers together, or its greatest init container.
    fn of_pod(spec: &PodSpec) -> Self {
        let of = |container: &Container| {
            let resources = &container.resources;
            let get = |name: &str| resources.requests.get(name).or_else(|| resources.limits.get(name));
            let cpu = get("cpu").map_or(0, Quantity::millis).max(0);
            let memory = get("memory").map_or(0, Quantity::value).max(0);
            Self { cpu, memory, pods: 0 }
        };
        let sum = spec.containers.iter().map(of).fold(Self::default(), Self::plus);
        let first = spec.init_containers.iter().map(of);
        let most = first.fold(sum, |a, b| Self { cpu: a.cpu.max(b.cpu), memory: a.memory.max(b.memory), pods: 0 });
        Self { pods: 1, ..most }
    }
}

/// What a pod asks of its node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wants {
    selector: TextMap,
    tolerations: Vec<Toleration>,
    requests: Resources,
}

impl Wants {
    pub(crate) fn of(spec: &PodSpec) -> Self {
        Self {
            selector: spec.node_selector.clone(),
            tolerations: spec.tolerations.clone(),
            requests: Resources::of_pod(spec),
        }
    }

    /// Whether a taint keeps the pod away.
    fn is_hindered(&self, taint: &Taint) -> bool {
        matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
            && !self.tolerations.iter().any(|toleration| tolerates(toleration, taint))
    }
}

/// A node, and what is on it.
#[derive(Debug)]
struct Place {
    node: Arc<Node>,
    allocatable: Resources,
    used: Resources,
}

impl Place {
    /// Where it stands in the order of choice: first those without taints, last those that few pods tolerate.
    fn rank(&self) -> Rank {
        let class = |taint: &Taint| match taint.effect.as_str() {
            "NoSchedule" | "NoExecute" => 2,
            _ => 1,
        };
        (self.node.spec.taints.iter().map(class).max().unwrap_or(0), self.used.pods)
    }

    /// Whether any pod may be put there: those that may not are no part of the order.
    fn is_open(&self) -> bool {
        let is_ready = |it: &api::kubernetes::core::NodeCondition| it.r#type == "Ready" && it.status == "True";
        !self.node.spec.unschedulable
            && !self.node.metadata.is_being_deleted()
            && self.node.status.conditions.iter().any(is_ready)
    }

    /// Whether a pod can run there.
    fn fits(&self, wants: &Wants) -> bool {
        let node = &self.node;
        let Resources { cpu, memory, pods } = self.used.plus(wants.requests);
        self.is_open()
            && pods <= self.allocatable.pods
            && (wants.requests.cpu == 0 || cpu <= self.allocatable.cpu)
            && (wants.requests.memory == 0 || memory <= self.allocatable.memory)
            && !node.spec.taints.iter().any(|taint| wants.is_hindered(taint))
            && wants.selector.iter().all(|(key, value)| node.metadata.label(key) == Some(value))
    }

    /// Why a pod cannot run there, in the scheduler's words.
    fn obstacles(&self, wants: &Wants) -> Vec<String> {
        let node = &self.node;
        if node.spec.unschedulable {
            return vec!["node(s) were unschedulable".to_owned()];
        }
        if let Some(taint) = node.spec.taints.iter().find(|taint| wants.is_hindered(taint)) {
            return vec![format!("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value)];
        }
        if !self.is_open() {
            return vec!["node(s) were not ready".to_owned()];
        }
        if !wants.selector.iter().all(|(key, value)| node.metadata.label(key) == Some(value)) {
            return vec!["node(s) didn't match Pod's node affinity/selector".to_owned()];
        }
        let Resources { cpu, memory, pods } = self.used.plus(wants.requests);
        let short = [
            (pods > self.allocatable.pods, "Too many pods"),
            (wants.requests.cpu > 0 && cpu > self.allocatable.cpu, "Insufficient cpu"),
            (wants.requests.memory > 0 && memory > self.allocatable.memory, "Insufficient memory"),
        ];
        short.into_iter().filter(|(is_short, _)| *is_short).map(|(_, text)| text.to_owned()).collect()
    }
}

/// Class by taints, pods.
type Rank = (u8, i64);

#[derive(Debug, Default)]
struct Cluster {
    nodes: BTreeMap<String, Place>,
    /// Those that take pods, by rank, then name.
    order: BTreeSet<(Rank, String)>,
    /// What is on nodes that are not known.
    elsewhere: BTreeMap<String, Resources>,
}

impl Cluster {
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
}

#[derive(Debug, Default)]
struct Inner {
    clusters: BTreeMap<Arc<str>, Cluster>,
    /// Pods that were created and have not been seen, by uid.
    assumed: BTreeMap<String, (Arc<str>, String, Resources)>,
}

/// Where a pod may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// On this node.
    Node(String),
    /// Nowhere: the scheduler's message.
    Nowhere(String),
    /// The cluster has no nodes.
    NoNodes,
}

/// The nodes of all clusters and what is on them. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Arc<Mutex<Inner>>);

impl Places {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node changed.
    pub(crate) fn observe_node(&self, change: &Change<Node>) {
        let mut inner = self.lock();
        let cluster = inner.clusters.entry(change.key.cluster.clone()).or_default();
        cluster.set(&change.key.name, change.new.as_ref());
    }

    /// A pod changed.
    pub(crate) fn observe_pod(&self, change: &Change<Pod>) {
        let counted = |pod: &Option<Arc<Pod>>| {
            let pod = pod.as_ref().filter(|pod| pods::is_active(pod) && !pod.spec.node_name.is_empty())?;
            Some((pod.spec.node_name.clone(), Resources::of_pod(&pod.spec)))
        };
        let (old, new) = (counted(&change.old), counted(&change.new));
        let mut inner = self.lock();
        let uid = change.object().map(|pod| pod.metadata.uid.as_str()).unwrap_or_default();
        if let Some((cluster, node, resources)) = inner.assumed.remove(uid) {
            inner.clusters.entry(cluster).or_default().add(&node, Resources::default().minus(resources));
        }
        if old == new {
            return;
        }
        let cluster = inner.clusters.entry(change.key.cluster.clone()).or_default();
        if let Some((node, resources)) = old {
            cluster.add(&node, Resources::default().minus(resources));
        }
        if let Some((node, resources)) = new {
            cluster.add(&node, resources);
        }
    }

    /// A pod was created on a node; it counts until it is seen. `is_known` says whether it was seen already.
    pub(crate) fn assume(&self, key: &ObjectKey, uid: &str, spec: &PodSpec, is_known: impl Fn() -> bool) {
        let mut inner = self.lock();
        if is_known() || spec.node_name.is_empty() {
            return;
        }
        let resources = Resources::of_pod(spec);
        inner.clusters.entry(key.cluster.clone()).or_default().add(&spec.node_name, resources);
        inner.assumed.insert(uid.to_owned(), (key.cluster.clone(), spec.node_name.clone(), resources));
    }

    /// A pod that counts did not get there after all.
    pub(crate) fn forget(&self, uid: &str) {
        let mut inner = self.lock();
        if let Some((cluster, node, resources)) = inner.assumed.remove(uid) {
            inner.clusters.entry(cluster).or_default().add(&node, Resources::default().minus(resources));
        }
    }

    /// Where a pod runs.
    pub(crate) fn choose(&self, cluster: &str, wants: &Wants) -> Choice {
        let inner = self.lock();
        let Some(cluster) = inner.clusters.get(cluster).filter(|cluster| !cluster.nodes.is_empty()) else {
            return Choice::NoNodes;
        };
        if let Some((_, name)) = cluster.order.iter().find(|(_, name)| cluster.nodes[name].fits(wants)) {
            return Choice::Node(name.clone());
        }
        let mut obstacles: BTreeMap<String, usize> = BTreeMap::new();
        for obstacle in cluster.nodes.values().flat_map(|place| place.obstacles(wants)) {
            *obstacles.entry(obstacle).or_default() += 1;
        }
        let count = cluster.nodes.len();
        let mut texts: Vec<String> = obstacles.into_iter().map(|(text, count)| format!("{count} {text}")).collect();
        texts.sort();
        Choice::Nowhere(format!("0/{count} nodes are available: {}.", texts.join(", ")))
    }

    /// Whether a cluster has a node of this name; `None`: it has none at all.
    pub(crate) fn has_node(&self, cluster: &str, name: &str) -> Option<bool> {
        let inner = self.lock();
        let cluster = inner.clusters.get(cluster).filter(|cluster| !cluster.nodes.is_empty())?;
        Some(cluster.nodes.contains_key(name))
    }
}

#[cfg(test)]
mod tests {
    use api::kubernetes::core::NodeCondition;
    use apimachinery::meta::ObjectMeta;

    use super::*;

    fn node(name: &str, change: impl FnOnce(&mut Node)) -> Change<Node> {
        let mut node = Node { metadata: ObjectMeta::named("", name), ..Node::default() };
        node.status.conditions =
            vec![NodeCondition { r#type: "Ready".into(), status: "True".into(), ..NodeCondition::default() }];
        let quantity = |text: &str| text.parse::<Quantity>().expect("a quantity");
        node.status.allocatable =
            [("cpu", "2"), ("memory", "4Gi"), ("pods", "3")].map(|(name, text)| (name.into(), quantity(text))).into();
        change(&mut node);
        Change { key: ObjectKey::new("c", "", name), old: None, new: Some(Arc::new(node)) }
    }

    fn taint(key: &str, effect: &str) -> Taint {
        Taint { key: key.into(), effect: effect.into(), ..Taint::default() }
    }

    fn pod(name: &str, node: &str, cpu: &str) -> Pod {
        let mut pod = Pod { metadata: ObjectMeta::named("n", name), ..Pod::default() };
        name.clone_into(&mut pod.metadata.uid);
        node.clone_into(&mut pod.spec.node_name);
        let mut container = Container::default();
        container.resources.requests.insert("cpu".into(), cpu.parse().expect("a quantity"));
        pod.spec.containers = vec![container];
        pod
    }

    fn appears(pod: &Pod) -> Change<Pod> {
        let key = ObjectKey::new("c", "n", &pod.metadata.name);
        Change { key, old: None, new: Some(Arc::new(pod.clone())) }
    }

    fn places(nodes: Vec<Change<Node>>) -> Places {
        let places = Places::default();
        for change in &nodes {
            places.observe_node(change);
        }
        places
    }

    #[track_caller]
    fn check(places: &Places, wants: &Wants, expected: &str) {
        let text = match places.choose("c", wants) {
            Choice::Node(name) | Choice::Nowhere(name) => name,
            Choice::NoNodes => "no nodes".to_owned(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn a_pod_goes_to_the_fitting_node_with_the_fewest_pods() {
        check(&Places::default(), &Wants::default(), "no nodes");
        let places = places(vec![node("a", |_| ()), node("b", |_| ())]);
        check(&places, &Wants::default(), "a");
        places.observe_pod(&appears(&pod("1", "a", "0")));
        check(&places, &Wants::default(), "b");
        places.observe_pod(&appears(&pod("2", "b", "0")));
        check(&places, &Wants::default(), "a");
        let gone = Change { new: None, old: Some(Arc::new(pod("2", "b", "0"))), key: ObjectKey::new("c", "n", "2") };
        places.observe_pod(&gone);
        check(&places, &Wants::default(), "b");
    }

    #[test]
    fn a_pod_counts_from_its_creation_on_and_only_once() {
        let places = places(vec![node("a", |_| ()), node("b", |_| ())]);
        let first = pod("1", "a", "0");
        places.assume(&ObjectKey::new("c", "n", "1"), "1", &first.spec, || false);
        check(&places, &Wants::default(), "b");
        places.observe_pod(&appears(&first));
        places.observe_pod(&appears(&pod("2", "b", "0")));
        check(&places, &Wants::default(), "a");
        places.assume(&ObjectKey::new("c", "n", "1"), "1", &first.spec, || true);
        check(&places, &Wants::default(), "a");
    }

    #[test]
    fn taints_selectors_and_resources_keep_pods_away() {
        let cordoned = |node: &mut Node| node.spec.unschedulable = true;
        let tainted = |node: &mut Node| node.spec.taints = vec![taint("gpu", "NoSchedule")];
        let labelled = |node: &mut Node| drop(node.metadata.labels.insert("disk".into(), "ssd".into()));
        let rather_not = |node: &mut Node| node.spec.taints = vec![taint("old", "PreferNoSchedule")];
        let lost = |node: &mut Node| "Unknown".clone_into(&mut node.status.conditions[0].status);
        let all = || {
            vec![node("a", cordoned), node("b", tainted), node("c", labelled), node("d", rather_not), node("e", lost)]
        };
        let mut ssd = Wants::default();
        ssd.selector.insert("disk".into(), "ssd".into());
        check(&places(all()), &Wants::default(), "c");
        check(&places(all()), &ssd, "c");
        let without_c = places(all().into_iter().filter(|change| &*change.key.name != "c").collect());
        check(&without_c, &Wants::default(), "d");
        check(
            &without_c,
            &ssd,
            "0/4 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, \
             1 node(s) had untolerated taint {gpu: }, 1 node(s) were not ready, 1 node(s) were unschedulable.",
        );
        let tolerant = Wants {
            tolerations: vec![Toleration { operator: "Exists".into(), ..Toleration::default() }],
            ..Wants::default()
        };
        check(&places(vec![node("b", tainted)]), &tolerant, "b");

        let one = places(vec![node("a", |_| ())]);
        one.observe_pod(&appears(&pod("1", "a", "1500m")));
        check(&one, &Wants::of(&pod("x", "", "500m").spec), "a");
        check(&one, &Wants::of(&pod("x", "", "501m").spec), "0/1 nodes are available: 1 Insufficient cpu.");
        one.observe_pod(&appears(&pod("2", "a", "0")));
        one.observe_pod(&appears(&pod("3", "a", "0")));
        check(&one, &Wants::of(&pod("x", "", "0").spec), "0/1 nodes are available: 1 Too many pods.");
    }
}
