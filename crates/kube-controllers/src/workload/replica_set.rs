// SPDX-License-Identifier: Apache-2.0
//! The controller for ReplicaSets and ReplicationControllers, whose pods are interchangeable and have generated names.
//!
//! Unlike upstream, a pass that creates or deletes pods does not write the status as well: their changes trigger the
//! next pass, which counts them. A pod that is lost and replaced at once costs no write of the status.
//!
//! Source: k8s.io/kubernetes pkg/controller/{replicaset/{replica_set,replica_set_utils},replication/conversion}.go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::kubernetes::apps::{ReplicaSetCondition, ReplicaSetStatus};
use api::kubernetes::core::Pod;
use apimachinery::meta::Time;
use apimachinery::selector::Labels;
use chrono::{DateTime, TimeDelta, Utc};
use clock::TimerClass;
use controller::{Controller, Error, ObjectKey, QueueHandle, Requeue, Store};
use serde_json::Value;

use super::conditions::REPLICA_FAILURE;
use super::objects::{ReplicaSet, ReplicationController, controller_uid};
use super::pod_control::{Draft, Owner, count, mismatch, next_available};
use super::pods::{self, Ranked};
use super::tallies::Tally;
use super::{Workload, claim, template};

const CONCURRENCY: usize = 5;
/// Maximum number of pods that one pass creates or deletes.
const BURST: usize = 500;

/// A kind with a number of pods of one template.
pub(crate) trait Replicated: Owner {
    /// Name of the controller.
    const CONTROLLER: &'static str;
    /// Returns the local copy of its objects.
    fn store(workload: &Workload) -> &Store<Self>;
    /// Returns the desired number of pods.
    fn replicas(&self) -> i32;
    /// Returns the time for which a pod must be ready until it is available, in seconds.
    fn min_ready_seconds(&self) -> i32;
    /// Returns the stored status.
    fn status(&self) -> &ReplicaSetStatus;
    /// Returns the status for changes.
    fn status_mut(&mut self) -> &mut ReplicaSetStatus;
}

macro_rules! replicated {
    ($type:ty, $controller:literal, $source:literal, $store:ident, |$spec:ident| $selector:expr) => {
        impl Owner for $type {
            const SOURCE: &'static str = $source;

            fn selector(&self) -> Option<Labels> {
                let $spec = &self.spec;
                $selector
            }

            fn template(&self) -> &Value {
                &self.spec.template
            }

            fn observed_generation(&self) -> i64 {
                self.status.observed_generation
            }
        }

        impl Replicated for $type {
            const CONTROLLER: &'static str = $controller;

            fn store(workload: &Workload) -> &Store<Self> {
                &workload.$store
            }

            fn replicas(&self) -> i32 {
                <$type>::replicas(self)
            }

            fn min_ready_seconds(&self) -> i32 {
                self.spec.min_ready_seconds
            }

            fn status(&self) -> &ReplicaSetStatus {
                &self.status
            }

            fn status_mut(&mut self) -> &mut ReplicaSetStatus {
                &mut self.status
            }
        }
    };
}

replicated!(ReplicaSet, "replicaset", "replicaset-controller", sets, |spec| {
    claim::selector(spec.selector.as_ref())
});
replicated!(
    ReplicationController,
    "replicationcontroller",
    "replication-controller",
    replication_controllers,
    |spec| {
        Some(Labels::exact(spec.selector.iter().map(|(key, value)| (key.as_str(), value.as_str()))))
            .filter(|labels| !labels.is_empty())
    }
);

/// Runs the controller of a kind until the component stops.
pub(crate) async fn run<S: Replicated>(workload: Arc<Workload>) {
    let mut controller = Controller::new(S::CONTROLLER, &workload.context);
    controller.watch_store(S::store(&workload), |change| vec![change.key.clone()]);
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change| {
        let keys = Workload::owners_of(S::store(&known), change);
        // A full pass determines which set an orphan belongs to.
        if change.new.as_ref().is_some_and(|pod| controller_uid(&pod.metadata).is_none()) {
            let sets = keys.iter().filter_map(|key| S::store(&known).get(key));
            sets.for_each(|set| known.tallies.doubt(&set.metadata().uid));
        }
        keys
    });
    // Nodes are only read, to choose one.
    controller.watch_store(&workload.nodes, |_| Vec::new());
    let queue = controller.queue();
    controller
        .run(CONCURRENCY, move |key| {
            let (workload, queue) = (workload.clone(), queue.clone());
            async move { workload.reconcile_set::<S>(&key, &queue).await }
        })
        .await;
}

/// Error of creating or deleting pods: reason and message.
type Failure = Option<(&'static str, String)>;

impl Workload {
    async fn reconcile_set<S: Replicated>(&self, key: &ObjectKey, queue: &QueueHandle) -> Result<Requeue, Error> {
        let Some(set) = S::store(self).get(key) else { return Ok(Requeue::OnChange) };
        let now = self.context.clock.now();
        let Some(selector) = set.selector() else { return Ok(Requeue::OnChange) };
        if let Some(tally) = self.tally_of(&*set).filter(|tally| tally.active <= set.replicas()) {
            return self.reconcile_counts(&*set, &selector, tally, now).await;
        }
        let near = self.pods.list_in(&key.cluster, &key.namespace);
        let active = near.into_iter().filter(|pod| pods::is_active(pod)).collect();
        // Changes from here on trigger another pass.
        self.tallies.trust(&set.metadata().uid);
        let claimed = claim::claim(&self.api(), &*set, &selector, &self.api(), active).await;
        let mut pods = claimed.inspect_err(|_| self.tallies.doubt(&set.metadata().uid))?;
        let mut failure = None;
        let mut error = None;
        if !set.metadata().is_being_deleted() {
            let wanted = usize::try_from(set.replicas()).unwrap_or(0);
            let mismatch = mismatch(&*set, &selector).filter(|_| pods.len() < wanted);
            let result = if let Some(text) = mismatch {
                self.tell_mismatch(&*set, text).await;
                failure = Some(("FailedCreate", text.to_owned()));
                Ok(0)
            } else if pods.len() < wanted {
                let result = self.create_missing(&*set, wanted - pods.len(), now).await;
                result.map_err(|error| ("FailedCreate", error))
            } else {
                let result = self.delete_surplus(&*set, &pods, pods.len() - wanted, now).await;
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
        let min_ready = TimeDelta::seconds(i64::from(set.min_ready_seconds()));
        let mut changed = S::clone(&set);
        let passed = self.wait_on_wall_time(key, &pods, min_ready, queue);
        let is_available = |pod: &Pod| {
            passed.contains(&pod.metadata.uid) || pods::available_at(pod, min_ready).is_some_and(|at| at <= now)
        };
        *changed.status_mut() = status(&*set, &pods, is_available, failure, now);
        self.api::<S>().update_status(&set, &changed).await?;
        if let Some(error) = error {
            return Err(error);
        }
        pods.retain(|pod| !passed.contains(&pod.metadata.uid));
        Ok(next_available(&pods, min_ready, now))
    }

    /// Returns the pod counts of a Deployment's set, if the pass can be decided by them; `None`: the pods themselves
    /// have to be examined.
    fn tally_of<S: Replicated>(&self, set: &S) -> Option<Tally> {
        let known = set.status();
        let is_usual = controller_uid(set.metadata()).is_some()
            && !set.metadata().is_being_deleted()
            && set.min_ready_seconds() == 0
            && known.observed_generation == set.metadata().generation
            && known.fully_labeled_replicas == known.replicas
            && known.conditions.is_empty();
        self.tallies.get(&set.metadata().uid).filter(|_| is_usual)
    }

    /// Runs a pass that needs counts only: creates missing pods, otherwise writes the counts.
    async fn reconcile_counts<S: Replicated>(
        &self,
        set: &S,
        selector: &Labels,
        tally: Tally,
        now: DateTime<Utc>,
    ) -> Result<Requeue, Error> {
        let missing = usize::try_from(set.replicas() - tally.active).unwrap_or(0);
        if missing > 0 && mismatch(set, selector).is_none() {
            // After an error, a full pass reports it.
            let created = self.create_missing(set, missing, now).await;
            created.inspect_err(|_| self.tallies.doubt(&set.metadata().uid))?;
            return Ok(Requeue::OnChange);
        }
        let mut changed = S::clone(set);
        *changed.status_mut() = ReplicaSetStatus {
            replicas: tally.active,
            fully_labeled_replicas: tally.active,
            ready_replicas: tally.ready,
            available_replicas: tally.ready,
            ..set.status().clone()
        };
        self.api::<S>().update_status(set, &changed).await?;
        Ok(Requeue::OnChange)
    }

    /// Returns the pods that are available by wall time, and schedules another pass for the time when the next one will
    /// be.
    fn wait_on_wall_time(
        &self,
        key: &ObjectKey,
        pods: &[Arc<Pod>],
        min_ready: TimeDelta,
        queue: &QueueHandle,
    ) -> BTreeSet<String> {
        if min_ready <= TimeDelta::zero() {
            return BTreeSet::new();
        }
        let wall = self.context.wall.clone();
        let (passed, next) = self.wall_waits.passed(pods, min_ready, wall.now());
        if let Some(next) = next.filter(|_| self.wall_waits.begin(key)) {
            let (waits, queue, key) = (self.wall_waits.clone(), queue.clone(), key.clone());
            self.context.tasks.spawn(async move {
                wall.sleep_until(next, TimerClass::Work).await;
                waits.end(&key);
                queue.add(key);
            });
        }
        passed
    }

    /// Creates pods; returns how many. Those that replace pods that were available run at once.
    async fn create_missing<S: Replicated>(&self, set: &S, count: usize, now: DateTime<Utc>) -> Result<usize, Error> {
        let at_once = set.status().available_replicas >= set.replicas();
        let draft = Draft { at_once, ..Draft::default() };
        self.create_pods(set, vec![draft; count.min(BURST)], now).await
    }

    /// Deletes surplus pods in the order of [`pods::compare`]; returns how many.
    async fn delete_surplus<S: Replicated>(
        &self,
        set: &S,
        pods: &[Arc<Pod>],
        count: usize,
        now: DateTime<Utc>,
    ) -> Result<usize, Error> {
        if count == 0 {
            return Ok(0);
        }
        let crowds = self.crowds(set);
        let rank = |pod: &Pod| crowds.get(pod.spec.node_name.as_str()).copied().unwrap_or_default();
        let mut ranked: Vec<Ranked<'_>> = pods.iter().map(|pod| Ranked { pod, rank: rank(pod) }).collect();
        ranked.sort_by(|a, b| pods::compare(a, b, now));
        let first: Vec<&Pod> = ranked.iter().take(count.min(BURST)).map(|it| it.pod).collect();
        self.delete_pods(set, &first).await
    }

    /// Returns the number of active pods on each node, of all sets of the same owner.
    fn crowds<S: Replicated>(&self, set: &S) -> BTreeMap<String, usize> {
        let sets = match controller_uid(set.metadata()) {
            Some(owner) => self.sets_by_owner.get(owner).iter().map(|set| set.metadata.uid.clone()).collect(),
            None => vec![set.metadata().uid.clone()],
        };
        let mut crowds = BTreeMap::new();
        for pod in sets.iter().flat_map(|uid| self.pods_by_owner.get(uid)) {
            if pods::is_active(&pod) {
                *crowds.entry(pod.spec.node_name.clone()).or_default() += 1;
            }
        }
        crowds
    }
}

/// Returns the status: counts and the condition ReplicaFailure.
fn status<S: Replicated>(
    set: &S,
    pods: &[Arc<Pod>],
    is_available: impl Fn(&Pod) -> bool,
    failure: Failure,
    now: DateTime<Utc>,
) -> ReplicaSetStatus {
    let labels = template::texts(set.template(), "labels");
    let has_all = |pod: &Pod| labels.iter().all(|(key, value)| pod.metadata.label(key) == Some(value));
    let mut conditions = set.status().conditions.clone();
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
        replicas: count(pods, |_| true),
        fully_labeled_replicas: count(pods, has_all),
        ready_replicas: count(pods, |pod| pods::ready_since(pod).is_some()),
        available_replicas: count(pods, is_available),
        observed_generation: set.metadata().generation,
        conditions,
    }
}
