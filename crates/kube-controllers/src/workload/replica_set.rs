// SPDX-License-Identifier: Apache-2.0
//! The ReplicaSet controller.
//!
//! Unlike upstream, a pass that creates or deletes pods does not write the status as well: their changes bring the next
//! pass, which counts them. A pod that is lost and replaced at once costs no write of the status.
//!
//! Source: k8s.io/kubernetes pkg/controller/replicaset/{replica_set,replica_set_utils}.go.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::kubernetes::apps::{ReplicaSetCondition, ReplicaSetStatus};
use api::kubernetes::core::{Pod, PodSpec};
use apimachinery::Resource;
use apimachinery::meta::{DeleteOptions, ObjectMeta, Preconditions, Time};
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Change, Controller, Error, EventType, ObjectKey, Requeue};
use serde_json::json;

use super::conditions::REPLICA_FAILURE;
use super::objects::{NewPod, ReplicaSet, controller_uid};
use super::pods::{self, Ranked};
use super::{Workload, claim, cluster_of, place, pod_status, template};

const CONCURRENCY: usize = 5;
const SOURCE: &str = "replicaset-controller";
/// How many pods one pass creates or deletes at most.
const BURST: usize = 500;

/// Runs the controller until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("replicaset", &workload.context);
    let known = workload.clone();
    controller.watch_store(&workload.sets, move |change| {
        if let (Some(old), None) = (&change.old, &change.new) {
            known.expectations.forget(&old.metadata.uid);
        }
        vec![change.key.clone()]
    });
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change| known.sets_of(change));
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_set(&key).await }
        })
        .await;
}

/// What is wrong with creating or deleting pods: reason and message.
type Failure = Option<(&'static str, String)>;

impl Workload {
    /// Which ReplicaSets a change of a pod concerns: its owners, or those that may adopt an orphan.
    fn sets_of(&self, change: &Change<Pod>) -> Vec<ObjectKey> {
        let states = [&change.old, &change.new].into_iter().flatten();
        let mut keys: Vec<ObjectKey> =
            states.filter_map(|pod| Self::owner_key::<ReplicaSet, _>(&change.key, &**pod)).collect();
        keys.dedup();
        let orphan = change.new.as_ref().filter(|pod| controller_uid(&pod.metadata).is_none());
        if let Some(pod) = orphan.filter(|pod| !pod.metadata.is_being_deleted() && !pod.metadata.labels.is_empty()) {
            let near = self.sets.list_in(&change.key.cluster, &change.key.namespace);
            let selects = |set: &&Arc<ReplicaSet>| {
                let selector = claim::selector(set.spec.selector.as_ref());
                selector.is_some_and(|selector| selector.matches(&pod.metadata.labels))
            };
            keys.extend(near.iter().filter(selects).map(|found| change.key.sibling(&found.metadata.name)));
        }
        keys
    }

    async fn reconcile_set(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(set) = self.sets.get(key) else { return Ok(Requeue::OnChange) };
        let now = self.context.clock.now();
        if let Some(until) = self.expectations.pending(&set.metadata.uid, now) {
            return Ok(Requeue::At(until));
        }
        let Some(selector) = claim::selector(set.spec.selector.as_ref()) else { return Ok(Requeue::OnChange) };
        let near = self.pods.list_in(&key.cluster, &key.namespace);
        let active = near.into_iter().filter(|pod| pods::is_active(pod)).collect();
        let pods = claim::claim(&self.api(), &*set, &selector, &self.api(), active).await?;
        let mut failure = None;
        let mut error = None;
        if !set.metadata.is_being_deleted() {
            let wanted = usize::try_from(set.replicas()).unwrap_or(0);
            let result = if pods.len() < wanted {
                let result = self.create_pods(&set, wanted - pods.len(), now).await;
                result.map_err(|error| ("FailedCreate", error))
            } else {
                let result = self.delete_pods(&set, &pods, pods.len() - wanted, now).await;
                result.map_err(|error| ("FailedDelete", error))
            };
            match result {
                Ok(0) => {}
                Ok(_) => return Ok(Requeue::OnChange),
                Err((reason, cause)) => {
                    failure = Some((reason, cause.to_string()));
                    error = Some(cause);
                }
            }
        }
        let min_ready = TimeDelta::seconds(i64::from(set.spec.min_ready_seconds));
        let mut changed = ReplicaSet::clone(&set);
        changed.status = status(&set, &pods, min_ready, failure, now);
        self.api::<ReplicaSet>().update_status(&set, &changed).await?;
        if let Some(error) = error {
            return Err(error);
        }
        let available = pods.iter().filter_map(|pod| pods::available_at(pod, min_ready));
        let next = available.filter(|at| *at > now).min();
        Ok(next.map_or(Requeue::OnChange, Requeue::WorkAt))
    }

    /// Creates pods, until one fails; how many were created.
    async fn create_pods(&self, set: &ReplicaSet, count: usize, now: DateTime<Utc>) -> Result<usize, Error> {
        let count = count.min(BURST);
        let uid = &set.metadata.uid;
        let cluster = cluster_of(set);
        let api = self.api::<NewPod>().within(cluster, &set.metadata.namespace);
        self.expectations.expect(uid, count, &[], now);
        for done in 0..count {
            match api.create(&self.make_pod(set, now)).await {
                Ok(pod) => {
                    let message = format!("Created pod: {}", pod.metadata.name);
                    self.event(SOURCE, set, EventType::Normal, "SuccessfulCreate", &message).await;
                }
                Err(error) => {
                    self.expectations.forget_creations(uid, count - done);
                    let message = format!("Error creating: {error}");
                    self.event(SOURCE, set, EventType::Warning, "FailedCreate", &message).await;
                    return Err(error);
                }
            }
        }
        Ok(count)
    }

    /// A pod of the template. One that takes the place of a pod that was available runs at once.
    fn make_pod(&self, set: &ReplicaSet, now: DateTime<Utc>) -> NewPod {
        let cluster = cluster_of(set);
        let template = &set.spec.template;
        let mut spec = template["spec"].clone();
        let known: PodSpec = serde_json::from_value(spec.clone()).unwrap_or_default();
        let mut metadata = ObjectMeta {
            generate_name: format!("{}-", set.metadata.name),
            namespace: set.metadata.namespace.clone(),
            labels: template::texts(template, "labels"),
            annotations: template::texts(template, "annotations"),
            ..ObjectMeta::default()
        };
        metadata.owner_references.push(claim::reference(set));
        let node = match known.node_name.as_str() {
            "" => self.choose_node(cluster, &known.node_selector),
            name => Some(name.to_owned()),
        };
        if let (Some(node), true) = (&node, spec.is_object()) {
            spec["nodeName"] = json!(node);
        }
        let is_replacement = set.status.available_replicas >= set.replicas();
        let is_at_once = is_replacement || self.options.pod_start <= TimeDelta::zero();
        let mut status = None;
        if let Some(node) = node.filter(|_| is_at_once && !self.is_process(pod_status::images(&known))) {
            let own = pod_status::annotations(&metadata);
            if own.start.is_none() && own.fault.is_none() {
                let seed = format!("{cluster}/{}/{}", set.metadata.uid, now.timestamp_micros());
                status = Some(pod_status::running(&known, &self.host_address(cluster, &node), &seed, None, now));
            }
        }
        NewPod { metadata, spec, status }
    }

    /// Deletes the pods that go first; how many.
    async fn delete_pods(
        &self,
        set: &ReplicaSet,
        pods: &[Arc<Pod>],
        count: usize,
        now: DateTime<Utc>,
    ) -> Result<usize, Error> {
        let count = count.min(BURST);
        if count == 0 {
            return Ok(0);
        }
        let crowds = self.crowds(set);
        let rank = |pod: &Pod| crowds.get(pod.spec.node_name.as_str()).copied().unwrap_or_default();
        let mut ranked: Vec<Ranked<'_>> = pods.iter().map(|pod| Ranked { pod, rank: rank(pod) }).collect();
        ranked.sort_by(|a, b| pods::compare(a, b, now));
        ranked.truncate(count);
        let uids: Vec<&str> = ranked.iter().map(|it| it.pod.metadata.uid.as_str()).collect();
        let owner = &set.metadata.uid;
        self.expectations.expect(owner, 0, &uids, now);
        let api = self.api::<Pod>().within(cluster_of(set), &set.metadata.namespace);
        let mut result = Ok(count);
        for Ranked { pod, .. } in ranked {
            let ObjectMeta { name, uid, .. } = &pod.metadata;
            // Nothing has to stop for a simulated pod, so that it goes at once.
            let simulated = !self.is_process(pod_status::images(&pod.spec));
            let options = DeleteOptions {
                grace_period_seconds: simulated.then_some(0),
                preconditions: Some(Preconditions { uid: Some(uid.clone()), resource_version: None }),
                ..DeleteOptions::default()
            };
            match api.delete(name, &options).await {
                Ok(()) => {
                    let message = format!("Deleted pod: {name}");
                    self.event(SOURCE, set, EventType::Normal, "SuccessfulDelete", &message).await;
                }
                Err(error) if error.is_not_found() => self.expectations.forget_deletion(owner, uid),
                Err(error) => {
                    self.expectations.forget_deletion(owner, uid);
                    let message = format!("Error deleting: {error}");
                    self.event(SOURCE, set, EventType::Warning, "FailedDelete", &message).await;
                    result = Err(error);
                }
            }
        }
        result
    }

    /// How many active pods of the sets of the same owner are on each node.
    fn crowds(&self, set: &ReplicaSet) -> BTreeMap<String, usize> {
        let sets = match controller_uid(&set.metadata) {
            Some(owner) => self.sets_by_owner.get(owner),
            None => vec![Arc::new(set.clone())],
        };
        let mut crowds = BTreeMap::new();
        for pod in sets.iter().flat_map(|set| self.pods_by_owner.get(&set.metadata().uid)) {
            if pods::is_active(&pod) {
                *crowds.entry(pod.spec.node_name.clone()).or_default() += 1;
            }
        }
        crowds
    }

    /// The address of a node: its own, or one made of its name.
    pub(crate) fn host_address(&self, cluster: &str, node: &str) -> String {
        let known = self.nodes.get(&ObjectKey::new(cluster, "", node));
        let internal = known.and_then(|node| {
            let address = node.status.addresses.iter().find(|address| address.r#type == "InternalIP")?;
            Some(address.address.clone())
        });
        internal.unwrap_or_else(|| pod_status::address("10.250", &place(cluster, node)))
    }
}

/// Counts and the condition ReplicaFailure.
fn status(
    set: &ReplicaSet,
    pods: &[Arc<Pod>],
    min_ready: TimeDelta,
    failure: Failure,
    now: DateTime<Utc>,
) -> ReplicaSetStatus {
    let labels = template::texts(&set.spec.template, "labels");
    let count = |counts: &dyn Fn(&Pod) -> bool| {
        i32::try_from(pods.iter().filter(|pod| counts(pod)).count()).unwrap_or(i32::MAX)
    };
    let has_all = |pod: &Pod| labels.iter().all(|(key, value)| pod.metadata.label(key) == Some(value));
    let mut conditions = set.status.conditions.clone();
    let known = conditions.iter().any(|condition| condition.r#type == REPLICA_FAILURE);
    match failure {
        Some((reason, message)) if !known => conditions.push(ReplicaSetCondition {
            r#type: REPLICA_FAILURE.to_owned(),
            status: "True".to_owned(),
            last_transition_time: Time::from_instant(now),
            reason: reason.to_owned(),
            message,
        }),
        Some(_) => {}
        None => conditions.retain(|condition| condition.r#type != REPLICA_FAILURE),
    }
    ReplicaSetStatus {
        replicas: count(&|_| true),
        fully_labeled_replicas: count(&has_all),
        ready_replicas: count(&|pod| pods::ready_since(pod).is_some()),
        available_replicas: count(&|pod| pods::available_at(pod, min_ready).is_some_and(|at| at <= now)),
        observed_generation: set.metadata.generation,
        conditions,
    }
}
