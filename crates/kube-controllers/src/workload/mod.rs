// SPDX-License-Identifier: Apache-2.0
//! Controllers for Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, pods, disruption budgets
//! and nodes, in every cluster at once.
//!
//! ```text
//! Deployment ──sizes──► ReplicaSets ──create, delete──► pods ──run by──► a kubelet that starts processes,
//!     ▲                     ▲                            ▲ │             or the simulated one of this module
//!     └──── status ─────────┴──── status ────────────────┼─┘
//!   ReplicationControllers, StatefulSets, DaemonSets ────┘
//! ```
//!
//! Claims get volumes, and pods wait for both (`storage`).
//!
//! **Invariants.** Controllers are thin: numbers, choices and messages are computed by functions without I/O (`sizes`,
//! `pods`, `conditions`, `template`, `pod_status`, `binding`, `retention`, the modules of `placement`). All state that
//! matters is in objects, so that a new process continues where the last one ended. A workload that has reached its
//! goal has no timer and gets no write.

mod binding;
mod claim;
mod conditions;
mod daemon_memory;
mod daemon_set;
mod deployment;
mod disruption;
mod history;
mod kubelet;
mod nodes;
mod objects;
mod placement;
mod pod_control;
mod pod_status;
mod pods;
mod replica_set;
mod retention;
mod revisions;
mod sizes;
mod stateful_set;
mod storage;
mod tallies;
mod template;
mod wall_waits;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::constants::annotation;
use api::kubernetes::core::{Node, Pod, PodSpec};
use api::kubernetes::policy::PodDisruptionBudget;
use apimachinery::Resource;
use apimachinery::meta::TextMap;
use chrono::TimeDelta;
use controller::{Api, Error, EventType, Index, ListOptions, ObjectKey, ObjectRef, Recorder, Reflector, Store};
use futures::future;
use parking_lot::Mutex;
use process::Context;

use self::daemon_memory::DaemonMemory;
use self::objects::{
    ControllerRevision, DaemonSet, Deployment, ReplicaSet, ReplicationController, StatefulSet, controller_uid,
};
use self::placement::volumes::Volumes;
use self::placement::{Choice, Incoming, Places};
use self::storage::{Storage, StoredShelf, claim_text};
use self::tallies::Tallies;
use self::wall_waits::WallWaits;

type IsProcess = Arc<dyn Fn(&str, &TextMap, &str) -> bool + Send + Sync>;
type EndOf = Arc<dyn Fn(&str) -> TimeDelta + Send + Sync>;
/// The network of the pods of a cluster, by the cluster's name.
pub type NetworkOf = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
type NodeOf = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Options of the workload controllers.
#[derive(Clone)]
pub struct Options {
    /// True if a process kubelet runs pods of a cluster with these labels and this image. All others are simulated.
    pub is_process: IsProcess,
    /// Duration from a simulated pod's creation until it is ready, in landscape time (work). A pod that replaces one
    /// that was available is ready at once.
    pub pod_start: TimeDelta,
    /// Duration from the deletion request until a simulated pod of a cluster has ended, in landscape time (work); at
    /// most the pod's grace period. With a duration above zero, no replacement is ready at once either.
    pub pod_end_of: EndOf,
    /// Name of the node that pods run on in a cluster without Node objects; `None`: they wait for a Node.
    pub node_of: NodeOf,
    /// Network of a cluster's pods, in CIDR form; `None`: the default network of Shoots.
    pub pod_network_of: NetworkOf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            is_process: Arc::new(|_, _, _| false),
            pod_start: TimeDelta::seconds(2),
            pod_end_of: Arc::new(|_| TimeDelta::zero()),
            node_of: Arc::new(|_| Some("terrarium".to_owned())),
            pod_network_of: Arc::new(|_| None),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("pod_start", &self.pod_start).finish_non_exhaustive()
    }
}

/// Runs the controllers until the component stops.
pub(crate) async fn run(context: &Context, options: Options) {
    let workload = Arc::new(Workload::start(context, options));
    let sets = replica_set::run::<ReplicaSet>(workload.clone());
    let controllers = replica_set::run::<ReplicationController>(workload.clone());
    let deployments = future::join3(deployment::run(workload.clone()), sets, controllers);
    let others = future::join(stateful_set::run(workload.clone()), daemon_set::run(workload.clone()));
    let around = future::join(disruption::run(workload.clone()), nodes::run(workload.clone()));
    let around = future::join(around, storage::run(workload.clone()));
    future::join4(deployments, others, around, kubelet::run(workload)).await;
}

/// State that the controllers share: local copies, indexes and the event recorder.
struct Workload {
    context: Context,
    options: Options,
    deployments: Store<Deployment>,
    sets: Store<ReplicaSet>,
    replication_controllers: Store<ReplicationController>,
    stateful_sets: Store<StatefulSet>,
    daemon_sets: Store<DaemonSet>,
    revisions: Store<ControllerRevision>,
    pods: Store<Pod>,
    nodes: Store<Node>,
    /// Pods and resources of each node.
    places: Places,
    /// Number of pods of each owner.
    tallies: Tallies,
    daemons: DaemonMemory,
    storage: Storage,
    budgets: Store<PodDisruptionBudget>,
    /// ReplicaSets by uid of their controller.
    sets_by_owner: Index<ReplicaSet>,
    /// Pods by uid of their controller.
    pods_by_owner: Index<Pod>,
    /// Active pods by [`place`].
    pods_by_place: Index<Pod>,
    /// All pods of nodes by [`place`].
    pods_by_node: Index<Pod>,
    /// All pods by [`claim_text`] of their claims.
    pods_by_claim: Index<Pod>,
    /// Pods that wait for a node and whose placement depends on other pods, by cluster.
    waiting_for_pods: Index<Pod>,
    /// Pods that wait for a node and have claims, by cluster.
    waiting_with_claims: Index<Pod>,
    wall_waits: WallWaits,
    recorders: Mutex<BTreeMap<(Arc<str>, &'static str), Recorder>>,
}

/// Returns cluster and node of a pod as one text; the node is empty while the pod has none.
fn place(cluster: &str, node: &str) -> String {
    format!("{cluster}/{node}")
}

/// Returns the cluster of an object that was read through the wildcard path.
fn cluster_of<K: Resource>(object: &K) -> &str {
    object.metadata().annotation(annotation::CLUSTER).unwrap_or_default()
}

/// True if a request was refused because its namespace is being deleted: then a retry is useless.
fn is_terminating(error: &Error) -> bool {
    let details = error.status().and_then(|status| status.details.as_ref());
    details.is_some_and(|details| details.causes.iter().any(|cause| cause.reason == "NamespaceTerminating"))
}

/// Returns an object that was read through a cluster's own path as the wildcard path would return it.
fn placed<K: Resource>(mut object: K, cluster: &str) -> K {
    object.metadata_mut().annotations.insert(annotation::CLUSTER.to_owned(), cluster.to_owned());
    object
}

/// True if a pod waits for a node.
fn is_waiting(pod: &Pod) -> bool {
    pod.spec.node_name.is_empty() && pods::is_active(pod)
}

fn owner_of<K: Resource>(object: &K) -> Vec<String> {
    controller_uid(object.metadata()).map(str::to_owned).into_iter().collect()
}

impl Workload {
    fn start(context: &Context, options: Options) -> Self {
        let wall_waits = WallWaits::default();
        let waits = wall_waits.clone();
        let (places, tallies) = (Places::default(), Tallies::default());
        let counted = tallies.clone();
        let (with_pods, with_nodes) = (places.clone(), places.clone());
        let nodes = Reflector::new(Api::<Node>::all(context, "*"), ListOptions::default())
            .on_change(move |change| with_nodes.observe_node(change));
        let pods = Reflector::new(Api::<Pod>::all(context, "*"), ListOptions::default()).on_change(move |change| {
            if let Some(old) = &change.old
                && change.new.as_ref().is_none_or(|new| pods::ready_since(new).is_none())
            {
                waits.forget(&old.metadata.uid);
            }
        });
        // Created and deleted pods count at once.
        pods.store().observe(move |change| {
            with_pods.observe_pod(change);
            counted.observe(change);
        });
        let sets = Reflector::new(Api::<ReplicaSet>::all(context, "*"), ListOptions::default());
        let pods_by_owner = pods.store().index(owner_of);
        let pods_by_place = pods.store().index(|pod: &Pod| {
            let is_active = pods::is_active(pod);
            is_active.then(|| place(cluster_of(pod), &pod.spec.node_name)).into_iter().collect()
        });
        let pods_by_node = pods.store().index(|pod: &Pod| {
            let is_placed = !pod.spec.node_name.is_empty();
            is_placed.then(|| place(cluster_of(pod), &pod.spec.node_name)).into_iter().collect()
        });
        let pods_by_claim = pods.store().index(|pod: &Pod| {
            let claims = placement::volumes::claims(&pod.spec);
            claims.map(|claim| claim_text(cluster_of(pod), &pod.metadata.namespace, claim)).collect()
        });
        let waiting_for_pods = pods.store().index(|pod: &Pod| {
            let waits = is_waiting(pod) && placement::depends_on_pods(&pod.spec);
            waits.then(|| cluster_of(pod).to_owned()).into_iter().collect()
        });
        let waiting_with_claims = pods.store().index(|pod: &Pod| {
            let waits = is_waiting(pod) && placement::volumes::claims(&pod.spec).next().is_some();
            waits.then(|| cluster_of(pod).to_owned()).into_iter().collect()
        });
        let sets_by_owner = sets.store().index(owner_of);
        Self {
            context: context.clone(),
            options,
            deployments: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            sets: sets.start(),
            replication_controllers: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            stateful_sets: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            daemon_sets: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            revisions: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            pods: pods.start(),
            nodes: nodes.start(),
            places,
            tallies,
            daemons: DaemonMemory::default(),
            storage: Storage::start(context),
            budgets: Reflector::new(Api::all(context, "*"), ListOptions::default()).start(),
            sets_by_owner,
            pods_by_owner,
            pods_by_place,
            pods_by_node,
            pods_by_claim,
            waiting_for_pods,
            waiting_with_claims,
            wall_waits,
            recorders: Mutex::default(),
        }
    }

    /// Returns a client for a kind in all clusters.
    fn api<K: Resource>(&self) -> Api<K> {
        Api::all(&self.context, "*")
    }

    /// Writes an Event. Failure to write is ignored.
    async fn event<K: Resource>(&self, source: &'static str, about: &K, type_: EventType, reason: &str, message: &str) {
        let cluster: Arc<str> = cluster_of(about).into();
        let recorder = {
            let mut recorders = self.recorders.lock();
            let make = || Recorder::named(&self.context, &cluster, source);
            recorders.entry((cluster.clone(), source)).or_insert_with(make).clone()
        };
        if let Err(error) = recorder.publish(&ObjectRef::of(about), type_, reason, message).await {
            tracing::debug!(%cluster, reason, %error, "an Event is lost");
        }
    }

    /// Returns the key of the managing controller, if it is of kind `K`.
    fn owner_key<O: Resource, K: Resource>(key: &ObjectKey, object: &K) -> Option<ObjectKey> {
        let owner = object.metadata().owner_references.iter().find(|owner| owner.controller == Some(true))?;
        (owner.kind == O::KIND && owner.api_version == O::api_version()).then(|| key.sibling(&owner.name))
    }

    /// Chooses a node for a pod: one that fits, or the substitute in a cluster without Node objects.
    fn choose_node(&self, cluster: &str, namespace: &str, labels: &TextMap, spec: &PodSpec) -> Choice {
        let has_nodes = self.places.has_node(cluster, "").is_some();
        let only_node = if has_nodes { None } else { (self.options.node_of)(cluster) };
        if !has_nodes && only_node.is_none() {
            return Choice::Nowhere("no nodes available to schedule pods".to_owned());
        }
        let shelf = StoredShelf { storage: &self.storage, cluster, namespace };
        let volumes = match Volumes::of(spec, &shelf) {
            Ok(volumes) => volumes,
            Err(text) => return Choice::Nowhere(self.places.refusal(cluster, &text)),
        };
        let waiting: Vec<String> = volumes.waiting().map(|claim| claim.metadata.name.clone()).collect();
        let choice = match only_node {
            Some(node) => Choice::Node(node),
            None => {
                let pod = Incoming::new(namespace, labels, spec, volumes);
                let labels_of = |namespace: &str| {
                    let namespace = self.storage.namespaces.get(&ObjectKey::new(cluster, "", namespace));
                    namespace.map(|namespace| namespace.metadata.labels.clone()).unwrap_or_default()
                };
                self.places.choose(cluster, &pod, &labels_of)
            }
        };
        match choice {
            Choice::Node(node) if !waiting.is_empty() => Choice::Bind(node, waiting),
            choice => choice,
        }
    }

    /// True if pods can run on a node of this name.
    fn has_node(&self, cluster: &str, name: &str) -> bool {
        let known = self.places.has_node(cluster, name);
        known.unwrap_or_else(|| (self.options.node_of)(cluster).is_some_and(|node| node == name))
    }

    /// True if a process kubelet runs pods of a cluster with these labels and this specification.
    fn is_process(&self, cluster: &str, labels: &TextMap, spec: &PodSpec) -> bool {
        pod_status::images(spec).any(|image| (self.options.is_process)(cluster, labels, image))
    }
}
