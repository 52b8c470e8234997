// SPDX-License-Identifier: Apache-2.0
//! Makes the Deployments, StatefulSets and DaemonSets of components ready after some time, where pods are not run: in a
//! simulation, which would otherwise have to run every pod of every Shoot.
//!
//! A changed generation, or another number of nodes of a DaemonSet, becomes ready after a work timer.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, label};
use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use api::kubernetes::core::Node;
use apimachinery::Resource;
use chrono::{DateTime, Utc};
use controller::{Api, Change, Controller, Error, ObjectKey, Patch, Requeue, Store};
use domain::rollout::Parameter;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::shared::Gardenlet;

/// A kind of workload.
pub(crate) trait Component: Resource {
    /// Returns the status of a ready object, and true if the stored status equals it already.
    fn ready(&self, nodes: usize, now: DateTime<Utc>) -> (Value, bool);
}

fn condition(type_: &str, reason: &str, message: &str, now: DateTime<Utc>) -> Value {
    let now = apimachinery::meta::Time::from_instant(now);
    json!({
        "type": type_, "status": "True", "lastUpdateTime": now, "lastTransitionTime": now,
        "reason": reason, "message": message,
    })
}

impl Component for Deployment {
    fn ready(&self, _: usize, now: DateTime<Utc>) -> (Value, bool) {
        let generation = self.metadata.generation;
        let replicas = self.spec.replicas.unwrap_or(1);
        let is_ready = self.status.observed_generation >= generation
            && self.status.available_replicas == replicas
            && self.status.updated_replicas == replicas;
        let status = json!({
            "observedGeneration": generation,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": replicas,
            "availableReplicas": replicas,
            "conditions": [
                condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability.", now),
                condition(
                    "Progressing",
                    "NewReplicaSetAvailable",
                    &format!("ReplicaSet of Deployment \"{}\" has successfully progressed.", self.metadata.name),
                    now,
                ),
            ],
        });
        (status, is_ready)
    }
}

impl Component for StatefulSet {
    fn ready(&self, _: usize, _: DateTime<Utc>) -> (Value, bool) {
        let generation = self.metadata.generation;
        let replicas = self.spec.replicas.unwrap_or(1);
        let is_ready = self.status.observed_generation >= generation && self.status.available_replicas == replicas;
        let status = json!({
            "observedGeneration": generation,
            "replicas": replicas,
            "readyReplicas": replicas,
            "currentReplicas": replicas,
            "updatedReplicas": replicas,
            "availableReplicas": replicas,
        });
        (status, is_ready)
    }
}

impl Component for DaemonSet {
    fn ready(&self, nodes: usize, _: DateTime<Utc>) -> (Value, bool) {
        let generation = self.metadata.generation;
        let nodes = i32::try_from(nodes).unwrap_or(i32::MAX);
        let is_ready = self.status.observed_generation >= generation
            && self.status.desired_number_scheduled == nodes
            && self.status.number_available == nodes;
        let status = json!({
            "observedGeneration": generation,
            "desiredNumberScheduled": nodes,
            "currentNumberScheduled": nodes,
            "updatedNumberScheduled": nodes,
            "numberReady": nodes,
            "numberAvailable": nodes,
            "numberMisscheduled": 0,
        });
        (status, is_ready)
    }
}

/// Returns the parameter for the time until a component is ready.
pub(crate) fn parameter(name: &str) -> Parameter {
    match name {
        "etcd-main" | "etcd-events" => Parameter::Etcd,
        "kube-apiserver" => Parameter::KubeApiserver,
        _ => Parameter::Component,
    }
}

/// Time at which each pending object becomes ready, with the generation that it is for.
type ReadyTimes = Mutex<BTreeMap<ObjectKey, (i64, DateTime<Utc>)>>;

/// True if a key belongs to this seed's cluster or to a shoot.
fn is_ours(key: &ObjectKey, seed_cluster: &str) -> bool {
    &*key.cluster == seed_cluster || cluster::is_technical_id(&key.cluster)
}

/// True if an object represents a component.
fn is_component<K: Resource>(object: &K) -> bool {
    object.metadata().annotations.contains_key(annotation::GARDENER_VERSION)
}

/// Returns the number of eligible nodes of a shoot's DaemonSet: kube-proxy's is for one pool and version.
pub(crate) fn nodes_of(gardenlet: &Gardenlet, set: &DaemonSet, cluster: &str) -> usize {
    let nodes = gardenlet.stores.nodes.list_in_cluster(cluster);
    let name = set.metadata.name.as_str();
    nodes
        .iter()
        .filter(|node| {
            let label = |key: &str| node.metadata.label(key).unwrap_or_default();
            let pool = label(label::WORKER_POOL);
            let version = label(label::WORKER_KUBERNETES_VERSION);
            !name.starts_with("kube-proxy-") || name == format!("kube-proxy-{pool}-v{version}")
        })
        .count()
}

/// A kind of workload of which the gardenlet has a local copy.
pub(crate) trait Kept: Component {
    /// Returns the local copy.
    fn store(gardenlet: &Gardenlet) -> &Store<Self>;
}

impl Kept for Deployment {
    fn store(gardenlet: &Gardenlet) -> &Store<Self> {
        &gardenlet.stores.deployments
    }
}

impl Kept for StatefulSet {
    fn store(gardenlet: &Gardenlet) -> &Store<Self> {
        &gardenlet.stores.stateful_sets
    }
}

impl Kept for DaemonSet {
    fn store(gardenlet: &Gardenlet) -> &Store<Self> {
        &gardenlet.stores.daemon_sets
    }
}

/// Runs the controller of one kind until the component stops.
///
/// `nodes_of`: returns the number of eligible nodes of a DaemonSet.
pub(crate) async fn run<K: Kept>(
    gardenlet: Arc<Gardenlet>,
    name: &'static str,
    nodes_of: fn(&Gardenlet, &K, &ObjectKey) -> usize,
    follows_nodes: bool,
) {
    let mut controller = Controller::new(name, &gardenlet.context);
    let store = K::store(&gardenlet).clone();
    let seed_cluster = gardenlet.seed_cluster.clone();
    controller.watch_store(&store, move |change: &Change<K>| match &change.new {
        Some(new) if is_component(&**new) && is_ours(&change.key, &seed_cluster) => vec![change.key.clone()],
        _ => Vec::new(),
    });
    if follows_nodes {
        let sets = store.clone();
        controller.watch_store(&gardenlet.stores.nodes, move |change| {
            let version = |node: &Node| node.metadata.label(label::WORKER_KUBERNETES_VERSION).map(str::to_owned);
            if !change.differs(version) && change.old.is_some() && change.new.is_some() {
                return Vec::new();
            }
            let cluster = &change.key.cluster;
            let sets = sets.list_in(cluster, "kube-system");
            let sets = sets.iter().filter(|set| is_component(&***set));
            sets.map(|set| ObjectKey::new(cluster, "kube-system", &set.metadata().name)).collect()
        });
    }
    // Kept across passes, so that other changes do not postpone readiness.
    let due = Arc::<ReadyTimes>::default();
    controller
        .run(5, move |key| {
            let (gardenlet, store, due) = (gardenlet.clone(), store.clone(), due.clone());
            async move { reconcile(&gardenlet, &store, &due, &key, nodes_of).await }
        })
        .await;
}

async fn reconcile<K: Component>(
    gardenlet: &Gardenlet,
    store: &Store<K>,
    due: &ReadyTimes,
    key: &ObjectKey,
    nodes_of: fn(&Gardenlet, &K, &ObjectKey) -> usize,
) -> Result<Requeue, Error> {
    let forget = || due.lock().remove(key);
    let Some(object) = store.get(key) else {
        forget();
        return Ok(Requeue::OnChange);
    };
    let now = gardenlet.context.clock.now();
    let (status, is_ready) = object.ready(nodes_of(gardenlet, &object, key), now);
    if is_ready || object.metadata().is_being_deleted() {
        forget();
        return Ok(Requeue::OnChange);
    }
    let metadata = object.metadata();
    let at = {
        let mut due = due.lock();
        let entry = due.entry(key.clone()).or_insert((metadata.generation, DateTime::<Utc>::MAX_UTC));
        if entry.1 == DateTime::<Utc>::MAX_UTC || entry.0 != metadata.generation {
            let attempt = u64::try_from(metadata.generation).unwrap_or_default();
            let duration = gardenlet.durations.of(parameter(&metadata.name), &metadata.uid, attempt);
            *entry = (metadata.generation, now + duration);
        }
        entry.1
    };
    if now < at {
        return Ok(Requeue::WorkAt(at));
    }
    let api: Api<K> = Api::namespaced(&gardenlet.context, &key.cluster, &key.namespace);
    match api.patch_subresource(&key.name, "status", &Patch::Merge(json!({ "status": status }))).await {
        Ok(_) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    forget();
    Ok(Requeue::OnChange)
}
