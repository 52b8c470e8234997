// SPDX-License-Identifier: Apache-2.0
//! The StatefulSet controller: pods with ordinals, one after the other.
//!
//! A pod's claims are created before it. A lost pod below the update's partition is created again with the template of
//! the current revision.
//!
//! Source: k8s.io/kubernetes pkg/controller/statefulset/{stateful_set_control,stateful_set_utils}.go.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::label;
use api::kubernetes::apps::StatefulSetStatus;
use api::kubernetes::core::Pod;
use api::kubernetes::storage::PersistentVolumeClaim;
use apimachinery::selector::Labels;
use chrono::TimeDelta;
use controller::{Change, Controller, Error, EventType, ObjectKey, Requeue};
use serde_json::Value;

use super::objects::{NewClaim, StatefulSet};
use super::pod_control::{Draft, Owner, count, mismatch, next_available};
use super::revisions::{self, Recorded};
use super::{Workload, claim, is_terminating, pods, retention, template};

const CONCURRENCY: usize = 5;

impl Owner for StatefulSet {
    const SOURCE: &'static str = "statefulset-controller";
    const REVISION_LABEL: &'static str = label::CONTROLLER_REVISION;

    fn selector(&self) -> Option<Labels> {
        claim::selector(self.spec.selector.as_ref())
    }

    fn template(&self) -> &Value {
        &self.spec.template
    }

    fn observed_generation(&self) -> i64 {
        self.status.observed_generation
    }

    fn message(&self, created: bool, pod: &str) -> String {
        let verb = if created { "create" } else { "delete" };
        format!("{verb} Pod {pod} in StatefulSet {} successful", self.metadata.name)
    }
}

/// Runs the controller until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("statefulset", &workload.context);
    controller.watch_store(&workload.stateful_sets, |change| vec![change.key.clone()]);
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change| Workload::owners_of(&known.stateful_sets, change));
    let known = workload.clone();
    controller.watch_store(&workload.storage.claims, move |change: &Change<PersistentVolumeClaim>| {
        // A set waits for its claims to exist, and for claims being deleted to disappear.
        if change.old.is_some() && change.new.is_some() {
            return Vec::new();
        }
        let near = known.stateful_sets.list_in(&change.key.cluster, &change.key.namespace);
        let own = near.iter().filter(|set| retention::is_of(set, &change.key.name));
        own.map(|set| change.key.sibling(&set.metadata.name)).collect()
    });
    controller.watch_store(&workload.revisions, Workload::revised::<StatefulSet>);
    // Nodes are only read, to choose one.
    controller.watch_store(&workload.nodes, |_| Vec::new());
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_stateful_set(&key).await }
        })
        .await;
}

/// State of one pod of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    is_updated: bool,
    /// True if available, and not being deleted.
    is_healthy: bool,
    is_terminating: bool,
    /// True if it has ended and can be replaced.
    is_terminal: bool,
}

/// Desired state of a set.
#[derive(Clone, Copy, Debug)]
struct Wish {
    replicas: i32,
    /// True for policy Parallel: pods are created and deleted without waiting for each other.
    is_parallel: bool,
    /// Lowest ordinal that an update replaces; `None` for strategy OnDelete.
    partition: Option<i32>,
}

/// Ordinals to create and delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    create: Vec<i32>,
    delete: Vec<i32>,
}

/// Creates pods in the order of their ordinals, deletes and updates them in the reverse order, one at a time.
fn plan(wish: Wish, pods: &BTreeMap<i32, Fact>) -> Plan {
    let mut plan = Plan::default();
    let ended = pods.iter().filter(|(_, pod)| pod.is_terminal && !pod.is_terminating).map(|(ordinal, _)| *ordinal);
    plan.delete.extend(ended);
    if !plan.delete.is_empty() {
        return plan;
    }
    for ordinal in 0..wish.replicas {
        match pods.get(&ordinal) {
            None => {
                plan.create.push(ordinal);
                if !wish.is_parallel {
                    return plan;
                }
            }
            Some(pod) if !pod.is_healthy && !wish.is_parallel => return plan,
            Some(_) => {}
        }
    }
    if !plan.create.is_empty() {
        return plan;
    }
    for (ordinal, pod) in pods.range(wish.replicas..).rev() {
        if !pod.is_terminating {
            plan.delete.push(*ordinal);
        }
        if !wish.is_parallel {
            return plan;
        }
    }
    let Some(partition) = wish.partition.filter(|_| plan == Plan::default()) else { return plan };
    for ordinal in (partition.max(0)..wish.replicas).rev() {
        let Some(pod) = pods.get(&ordinal) else { return plan };
        if !pod.is_updated && !pod.is_terminating {
            plan.delete.push(ordinal);
            return plan;
        }
        if !pod.is_healthy {
            return plan;
        }
    }
    plan
}

/// Returns the ordinal in the name of a pod.
fn ordinal(set: &str, pod: &str) -> Option<i32> {
    let digits = pod.strip_prefix(set)?.strip_prefix('-')?;
    digits.parse().ok().filter(|ordinal: &i32| *ordinal >= 0 && ordinal.to_string() == digits)
}

impl Workload {
    async fn reconcile_stateful_set(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(set) = self.stateful_sets.get(key) else { return Ok(Requeue::OnChange) };
        let now = self.context.clock.now();
        let Some(selector) = set.selector() else { return Ok(Requeue::OnChange) };
        let name = &set.metadata.name;
        let mut near = self.pods.list_in(&key.cluster, &key.namespace);
        near.retain(|pod| ordinal(name, &pod.metadata.name).is_some());
        let pods = claim::claim(&self.api(), &*set, &selector, &self.api(), near).await?;
        if set.metadata.is_being_deleted() {
            return Ok(Requeue::OnChange);
        }
        let replicas = set.spec.replicas.unwrap_or(1);
        // A missing count and 0 are the same: otherwise the first status would begin an update.
        let collisions = set.status.collision_count.unwrap_or(0);
        let hash = template::hash(&set.spec.template, Some(collisions));
        let revision = revisions::name(name, &hash);
        let known = match self.record_revision(key, &*set, &selector, &hash).await? {
            Recorded::Done(known) => known,
            Recorded::Unseen => return Ok(Requeue::OnChange),
            Recorded::Collision => {
                let mut changed = StatefulSet::clone(&set);
                changed.status.collision_count = Some(collisions.saturating_add(1));
                self.api::<StatefulSet>().update_status(&set, &changed).await?;
                return Ok(Requeue::OnChange);
            }
        };
        let min_ready = TimeDelta::seconds(i64::from(set.spec.min_ready_seconds));
        let has = |pod: &Pod, revision: &str| pod.metadata.label(label::CONTROLLER_REVISION_HASH) == Some(revision);
        let is_available = |pod: &Pod| pods::available_at(pod, min_ready).is_some_and(|at| at <= now);
        let facts = pods.iter().filter_map(|pod| {
            let is_terminating = pod.metadata.is_being_deleted();
            let fact = Fact {
                is_updated: has(pod, &revision),
                is_healthy: is_available(pod) && !is_terminating,
                is_terminating,
                is_terminal: pods::is_terminal(pod),
            };
            Some((ordinal(name, &pod.metadata.name)?, fact))
        });
        let wish = wish(&set, replicas);
        let mut plan = plan(wish, &facts.collect());
        if let Some(text) = mismatch(&*set, &selector).filter(|_| !plan.create.is_empty()) {
            self.tell_mismatch(&*set, text).await;
            plan.create.clear();
        }
        let is_idle = plan == Plan::default();
        if !self.prepare_claims(key, &set, &pods, replicas, &plan).await? {
            return Ok(Requeue::OnChange);
        }
        if !plan.delete.is_empty() {
            let goes = |pod: &&Arc<Pod>| ordinal(name, &pod.metadata.name).is_some_and(|it| plan.delete.contains(&it));
            let gone: Vec<&Pod> = pods.iter().filter(goes).map(|pod| &**pod).collect();
            self.delete_pods(&*set, &gone).await?;
        } else if !plan.create.is_empty() {
            let was = &set.status;
            let at_once = was.observed_generation == set.metadata.generation
                && was.updated_replicas >= replicas
                && was.available_replicas >= replicas;
            let current = known.iter().find(|it| it.metadata.name == set.status.current_revision);
            let draft = |ordinal: i32| {
                let pod = format!("{name}-{ordinal}");
                // Pods below the partition are not updated.
                let older = current.filter(|_| wish.partition.is_some_and(|partition| ordinal < partition));
                let revision = older.map_or(&revision, |older| &older.metadata.name);
                let labels = vec![
                    (label::CONTROLLER_REVISION_HASH, revision.clone()),
                    (label::POD_INDEX, ordinal.to_string()),
                    (label::STATEFUL_SET_POD_NAME, pod.clone()),
                ];
                let volumes = retention::volumes(&set.spec.volume_claim_templates, &pod);
                let template = older.map(|older| revisions::template_of(older));
                Draft { name: Some(pod), template, labels, volumes, at_once, ..Draft::default() }
            };
            self.create_pods(&*set, plan.create.iter().copied().map(draft).collect(), now).await?;
        }
        if !is_idle {
            return Ok(Requeue::OnChange);
        }
        let active: Vec<Arc<Pod>> = pods.into_iter().filter(|pod| pods::is_active(pod)).collect();
        let mut status = StatefulSetStatus {
            observed_generation: set.metadata.generation,
            replicas: count(&active, |_| true),
            ready_replicas: count(&active, |pod| pods::ready_since(pod).is_some()),
            available_replicas: count(&active, is_available),
            updated_replicas: count(&active, |pod| has(pod, &revision)),
            update_revision: revision.clone(),
            collision_count: Some(collisions),
            ..set.status.clone()
        };
        let is_updated = status.updated_replicas == replicas && status.ready_replicas == replicas;
        if status.current_revision.is_empty() || is_updated {
            status.current_revision = revision;
        }
        status.current_replicas = count(&active, |pod| has(pod, &status.current_revision));
        let of_pods = active.iter().filter_map(|pod| pod.metadata.label(label::CONTROLLER_REVISION_HASH));
        let of_set = [status.current_revision.as_str(), status.update_revision.as_str()];
        let in_use = of_pods.chain(of_set).map(str::to_owned).collect();
        self.forget_revisions(&known, &in_use, set.spec.revision_history_limit).await?;
        let mut changed = StatefulSet::clone(&set);
        changed.status = status;
        self.api::<StatefulSet>().update_status(&set, &changed).await?;
        Ok(next_available(&active, min_ready, now))
    }

    /// Sets the owners of existing pods' claims by the retention policy, and creates the claims of pods to be created.
    /// Returns true if the plan may proceed: the claims exist, and none of them is being deleted.
    async fn prepare_claims(
        &self,
        key: &ObjectKey,
        set: &StatefulSet,
        pods: &[Arc<Pod>],
        replicas: i32,
        plan: &Plan,
    ) -> Result<bool, Error> {
        let templates = &set.spec.volume_claim_templates;
        if templates.is_empty() {
            return Ok(true);
        }
        let (name, policy) = (&set.metadata.name, set.spec.persistent_volume_claim_retention_policy.as_ref());
        for pod in pods {
            let is_surplus = ordinal(name, &pod.metadata.name).is_some_and(|ordinal| ordinal >= replicas);
            let fate = retention::fate(policy, is_surplus);
            for (_, claim) in retention::names(templates, &pod.metadata.name) {
                let Some(claim) = self.storage.claims.get(&key.sibling(&claim)) else { continue };
                let present = &claim.metadata.owner_references;
                let owners = retention::owners::<Pod>(present, fate, &set.metadata, &pod.metadata);
                if owners != *present {
                    let mut new = PersistentVolumeClaim::clone(&claim);
                    new.metadata.owner_references = owners;
                    self.api::<PersistentVolumeClaim>().update(&claim, &new).await?;
                }
            }
        }
        if !plan.delete.is_empty() {
            return Ok(true);
        }
        let mut is_ready = true;
        for pod in plan.create.iter().map(|ordinal| format!("{name}-{ordinal}")) {
            for claim in retention::new_claims(set, &pod) {
                match self.storage.claims.get(&key.sibling(&claim.metadata.name)) {
                    Some(known) => is_ready &= !known.metadata.is_being_deleted(),
                    None => {
                        is_ready = false;
                        self.create_claim(key, set, &pod, &claim).await?;
                    }
                }
            }
        }
        Ok(is_ready)
    }

    async fn create_claim(&self, key: &ObjectKey, set: &StatefulSet, pod: &str, claim: &NewClaim) -> Result<(), Error> {
        let (set_name, name) = (&set.metadata.name, &claim.metadata.name);
        let what = format!("Claim {name} Pod {pod} in StatefulSet {set_name}");
        match self.api::<NewClaim>().within(&key.cluster, &key.namespace).create(claim).await {
            Ok(_) => {
                let text = format!("create {what} success");
                self.event(StatefulSet::SOURCE, set, EventType::Normal, "SuccessfulCreate", &text).await;
                Ok(())
            }
            Err(error) if error.is_already_exists() || is_terminating(&error) => Ok(()),
            Err(error) => {
                let text = format!("create {what} failed error: {error}");
                self.event(StatefulSet::SOURCE, set, EventType::Warning, "FailedCreate", &text).await;
                Err(error)
            }
        }
    }
}

fn wish(set: &StatefulSet, replicas: i32) -> Wish {
    let strategy = &set.spec.update_strategy;
    let partition = strategy.rolling_update.as_ref().and_then(|it| it.partition).unwrap_or(0);
    Wish {
        replicas,
        is_parallel: set.spec.pod_management_policy == "Parallel",
        partition: (strategy.r#type != "OnDelete").then_some(partition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Fact = Fact { is_updated: false, is_healthy: true, is_terminating: false, is_terminal: false };
    const NEW: Fact = Fact { is_updated: true, ..OLD };
    const STARTING: Fact = Fact { is_healthy: false, ..NEW };
    const ENDING: Fact = Fact { is_healthy: false, is_terminating: true, ..OLD };
    const ENDED: Fact = Fact { is_healthy: false, is_terminal: true, ..OLD };

    #[track_caller]
    fn check(wish: Wish, pods: &[Fact], create: &[i32], delete: &[i32]) {
        let pods = (0..).zip(pods.iter().copied()).collect();
        assert_eq!(plan(wish, &pods), Plan { create: create.to_vec(), delete: delete.to_vec() });
    }

    fn ordered(replicas: i32) -> Wish {
        Wish { replicas, is_parallel: false, partition: Some(0) }
    }

    /// "when Pods are being deployed, they are created sequentially, in order from {0..N-1}. … Before a scaling operation
    /// is applied to a Pod, all of its predecessors must be Running and Ready. … When Pods are being deleted, they are
    /// terminated in reverse order, from {N-1..0}."
    #[test]
    fn pods_are_created_in_order_and_deleted_in_reverse() {
        check(ordered(3), &[], &[0], &[]);
        check(ordered(3), &[STARTING], &[], &[]);
        check(ordered(3), &[NEW], &[1], &[]);
        check(ordered(1), &[NEW, NEW, NEW], &[], &[2]);
        check(ordered(1), &[NEW, NEW, ENDING], &[], &[]);
        check(ordered(2), &[ENDED, NEW], &[], &[0]);
        check(ordered(1), &[ENDING], &[], &[]);
    }

    /// Source: kubernetes.io, StatefulSets, parallel pod management.
    #[test]
    fn parallel_pods_do_not_wait_for_each_other() {
        let parallel = |replicas| Wish { is_parallel: true, ..ordered(replicas) };
        check(parallel(3), &[], &[0, 1, 2], &[]);
        check(parallel(3), &[STARTING], &[1, 2], &[]);
        check(parallel(0), &[NEW, STARTING, NEW], &[], &[2, 1, 0]);
    }

    /// Source: kubernetes.io, StatefulSets, rolling updates and partitions.
    #[test]
    fn an_update_replaces_pods_from_the_last_to_the_partition() {
        check(ordered(3), &[OLD, OLD, OLD], &[], &[2]);
        check(ordered(3), &[OLD, OLD, STARTING], &[], &[]);
        check(ordered(3), &[OLD, OLD, NEW], &[], &[1]);
        check(ordered(3), &[NEW, NEW, NEW], &[], &[]);
        check(Wish { partition: Some(2), ..ordered(3) }, &[OLD, OLD, NEW], &[], &[]);
        check(Wish { partition: None, ..ordered(3) }, &[OLD, OLD, OLD], &[], &[]);
    }

    #[test]
    fn ordinals_are_read_from_names() {
        assert_eq!(ordinal("web", "web-12"), Some(12));
        for other in ["web-", "web-x", "web-01", "web--1", "webs-1", "1"] {
            assert_eq!(ordinal("web", other), None, "{other}");
        }
    }
}
