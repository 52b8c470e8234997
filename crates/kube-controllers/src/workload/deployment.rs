// SPDX-License-Identifier: Apache-2.0
//! The Deployment controller.
//!
//! One pass scales ReplicaSets one step further and writes the status once. Unlike upstream, the condition and the
//! revision that a pass sets are part of that write instead of separate writes.
//!
//! Source: k8s.io/kubernetes pkg/controller/deployment/{deployment_controller,sync,rolling,recreate,progress}.go.

use std::sync::Arc;

use api::constants::{annotation, label};
use api::kubernetes::parsed_annotation;
use apimachinery::meta::Time;
use controller::{Change, Controller, Error, EventType, ObjectKey, Requeue};

use super::objects::{Deployment, ReplicaSet, controller_uid};
use super::sizes::{Set, Wish};
use super::{Workload, claim, cluster_of, conditions, history, is_terminating, placed, pods, template};

const CONCURRENCY: usize = 5;
const SOURCE: &str = "deployment-controller";

/// Runs the controller until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("deployment", &workload.context);
    controller.watch_store(&workload.deployments, |change| vec![change.key.clone()]);
    let known = workload.clone();
    controller.watch_store(&workload.sets, move |change| known.deployments_of(change));
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change| {
        // Strategy Recreate waits for the last old pod.
        let Some(pod) = change.old.as_ref().filter(|_| change.new.is_none()) else { return Vec::new() };
        let set = Workload::owner_key::<ReplicaSet, _>(&change.key, &**pod).and_then(|key| known.sets.get(&key));
        let key = set.and_then(|set| Workload::owner_key::<Deployment, _>(&change.key, &*set));
        let waits = |key: &ObjectKey| known.deployments.get(key).is_some_and(|deployment| !deployment.is_rolling());
        key.filter(waits).into_iter().collect()
    });
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_deployment(&key).await }
        })
        .await;
}

impl Workload {
    /// Returns the Deployments that a change of a ReplicaSet concerns: its owners, or those that may adopt an orphan.
    fn deployments_of(&self, change: &Change<ReplicaSet>) -> Vec<ObjectKey> {
        let states = [&change.old, &change.new].into_iter().flatten();
        let mut keys: Vec<ObjectKey> =
            states.filter_map(|set| Self::owner_key::<Deployment, _>(&change.key, &**set)).collect();
        keys.dedup();
        if let Some(set) = change.new.as_ref().filter(|set| controller_uid(&set.metadata).is_none()) {
            let near = self.deployments.list_in(&change.key.cluster, &change.key.namespace);
            let selects = |deployment: &&Arc<Deployment>| {
                let selector = claim::selector(deployment.spec.selector.as_ref());
                selector.is_some_and(|selector| selector.matches(&set.metadata.labels))
            };
            keys.extend(near.iter().filter(selects).map(|found| change.key.sibling(&found.metadata.name)));
        }
        keys
    }

    async fn reconcile_deployment(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(deployment) = self.deployments.get(key) else { return Ok(Requeue::OnChange) };
        let Some(selector) = claim::selector(deployment.spec.selector.as_ref()) else { return Ok(Requeue::OnChange) };
        let candidates = self.sets.list_in(&key.cluster, &key.namespace);
        let owned = claim::claim(&self.api(), &*deployment, &selector, &self.api(), candidates).await?;
        let mut sets: Vec<ReplicaSet> = owned.into_iter().map(Arc::unwrap_or_clone).collect();
        sets.sort_by(history::by_creation);
        let is_new = |set: &ReplicaSet| template::is_equal(&set.spec.template, &deployment.spec.template);
        let new = sets.iter().position(is_new).map(|position| sets.remove(position));
        let mut pass = Pass {
            workload: self,
            wish: wish(&deployment),
            now: Time::from_instant(self.context.clock.now()),
            changed: Deployment::clone(&deployment),
            deployment: &deployment,
            new,
            old: sets,
        };
        pass.run().await
    }
}

fn wish(deployment: &Deployment) -> Wish {
    if !deployment.is_rolling() {
        return Wish::recreate(deployment.replicas());
    }
    let parameters = deployment.spec.strategy.rolling_update.as_ref();
    let surge = parameters.and_then(|it| it.max_surge.as_ref());
    Wish::rolling(deployment.replicas(), surge, parameters.and_then(|it| it.max_unavailable.as_ref()))
}

fn numbers(set: &ReplicaSet) -> Set {
    Set {
        replicas: set.replicas(),
        available: set.status.available_replicas,
        max_replicas: parsed_annotation(&set.metadata, annotation::DEPLOYMENT_MAX_REPLICAS),
    }
}

/// A pass over one Deployment.
struct Pass<'a> {
    workload: &'a Workload,
    deployment: &'a Deployment,
    wish: Wish,
    now: Time,
    /// The Deployment with its new annotations and status.
    changed: Deployment,
    /// The ReplicaSet of the current template.
    new: Option<ReplicaSet>,
    /// All other ReplicaSets, in the order of their creation.
    old: Vec<ReplicaSet>,
}

impl Pass<'_> {
    async fn run(&mut self) -> Result<Requeue, Error> {
        if self.deployment.metadata.is_being_deleted() {
            return self.finish(false).await;
        }
        conditions::pause(self.deployment, &mut self.changed.status, self.now);
        if self.deployment.spec.paused || self.is_scaled() {
            self.update_new().await?;
            self.scale().await?;
            if self.deployment.spec.paused {
                self.clean_up().await?;
            }
            return self.finish(false).await;
        }
        let step = if self.wish.is_rolling { self.roll().await? } else { self.recreate().await? };
        if step == Step::Done && conditions::is_complete(self.deployment, &self.deployment.status) {
            self.clean_up().await?;
        }
        if step == Step::Collision {
            let count = self.changed.status.collision_count.unwrap_or(0).saturating_add(1);
            self.changed.status.collision_count = Some(count);
        }
        self.finish(true).await
    }

    /// True if the Deployment was scaled since its sets were: then the sets are resized before the roll-out continues.
    fn is_scaled(&self) -> bool {
        self.all().filter(|set| set.replicas() > 0).any(|set| {
            let desired = parsed_annotation(&set.metadata, annotation::DEPLOYMENT_DESIRED_REPLICAS);
            desired.is_some_and(|desired: i32| desired != self.wish.replicas)
        })
    }

    fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new)
    }

    fn total(&self) -> i32 {
        self.all().map(ReplicaSet::replicas).sum()
    }

    async fn roll(&mut self) -> Result<Step, Error> {
        let step = self.need_new().await?;
        let Some(new) = &self.new else { return Ok(step) };
        if step != Step::Done {
            return Ok(step);
        }
        let size = self.wish.new_set(new.replicas(), self.total());
        if self.resize_new(size).await? {
            return Ok(Step::Scaled);
        }
        let Some(new) = &self.new else { return Ok(Step::Done) };
        let old: Vec<Set> = self.old.iter().map(numbers).collect();
        let sizes = self.wish.old_sets(numbers(new), &old);
        Ok(if self.resize_old(&sizes).await? { Step::Scaled } else { Step::Done })
    }

    async fn recreate(&mut self) -> Result<Step, Error> {
        self.update_new().await?;
        if self.resize_old(&vec![0; self.old.len()]).await? {
            return Ok(Step::Scaled);
        }
        let runs = |set: &ReplicaSet| {
            let pods = self.workload.pods_by_owner.get(&set.metadata.uid);
            set.status.replicas > 0 || pods.iter().any(|pod| !pods::is_terminal(pod))
        };
        if self.old.iter().any(runs) {
            return Ok(Step::Scaled);
        }
        let step = self.need_new().await?;
        if step != Step::Done {
            return Ok(step);
        }
        Ok(if self.resize_new(self.wish.replicas).await? { Step::Scaled } else { Step::Done })
    }

    /// Updates annotations and `minReadySeconds` of the new set, if it exists, and adopts its revision.
    async fn update_new(&mut self) -> Result<(), Error> {
        let Some(new) = &self.new else { return Ok(()) };
        let mut changed = new.clone();
        history::annotate_new(&self.deployment.metadata, &mut changed.metadata, history::next_revision(&self.old));
        changed.spec.min_ready_seconds = self.deployment.spec.min_ready_seconds;
        let name = new.metadata.name.clone();
        if changed != *new {
            let written = self.workload.api().update(new, &changed).await?;
            self.new = Some(placed(written, cluster_of(self.deployment)));
        }
        self.take_revision();
        if conditions::find(&self.changed.status, conditions::PROGRESSING).is_none() {
            self.report("True", "FoundNewReplicaSet", &format!("Found new replica set \"{name}\""));
        }
        Ok(())
    }

    fn take_revision(&mut self) {
        if let Some(revision) =
            self.new.as_ref().and_then(|set| set.metadata.annotation(annotation::DEPLOYMENT_REVISION))
        {
            self.changed.metadata.annotations.insert(annotation::DEPLOYMENT_REVISION.to_owned(), revision.to_owned());
        }
    }

    fn report(&mut self, status: &str, reason: &str, message: &str) {
        if self.deployment.progress_deadline().is_some() {
            conditions::set(&mut self.changed.status, conditions::PROGRESSING, status, reason, message, self.now);
        }
    }

    /// Does the same as [`Pass::update_new`], and creates the set if it does not exist.
    async fn need_new(&mut self) -> Result<Step, Error> {
        if self.new.is_some() {
            self.update_new().await?;
            return Ok(Step::Done);
        }
        let set = self.make_new();
        let metadata = &self.deployment.metadata;
        let cluster = cluster_of(self.deployment);
        if !self.is_there().await? {
            return Ok(Step::Scaled);
        }
        let api = self.workload.api::<ReplicaSet>().within(cluster, &metadata.namespace);
        let created = match api.create(&set).await {
            Ok(created) => created,
            Err(error) if error.is_already_exists() => {
                let known = api.get(&set.metadata.name).await?;
                let is_ours = controller_uid(&known.metadata) == Some(metadata.uid.as_str());
                if !is_ours || !template::is_equal(&known.spec.template, &self.deployment.spec.template) {
                    // Another template has the same hash: the next attempt gets a different one.
                    return Ok(Step::Collision);
                }
                // The local copy was out of date: the next pass handles the set.
                self.new = Some(placed(known, cluster));
                self.take_revision();
                return Ok(Step::Scaled);
            }
            Err(error) if is_terminating(&error) => return Ok(Step::Scaled),
            Err(error) => {
                let message = format!("Failed to create new replica set \"{}\": {error}", set.metadata.name);
                self.report("False", "ReplicaSetCreateError", &error.to_string());
                self.workload
                    .event(SOURCE, self.deployment, EventType::Warning, "ReplicaSetCreateError", &message)
                    .await;
                self.finish(false).await?;
                return Err(error);
            }
        };
        let name = created.metadata.name.clone();
        let size = created.replicas();
        self.new = Some(placed(created, cluster));
        if size > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {size}");
            self.workload.event(SOURCE, self.deployment, EventType::Normal, "ScalingReplicaSet", &message).await;
        }
        self.take_revision();
        self.report("True", "NewReplicaSetCreated", &format!("Created new replica set \"{name}\""));
        Ok(Step::Scaled)
    }

    /// True if the Deployment exists on the server. The watch of ReplicaSets may be ahead of that of Deployments: the
    /// garbage collector may have deleted the sets of a Deployment that is still in the local copy, and a new set would
    /// start pods.
    async fn is_there(&self) -> Result<bool, Error> {
        let metadata = &self.deployment.metadata;
        let api = self.workload.api::<Deployment>().within(cluster_of(self.deployment), &metadata.namespace);
        match api.get(&metadata.name).await {
            Ok(known) => Ok(known.metadata.uid == metadata.uid && known.metadata.deletion_timestamp.is_none()),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn make_new(&self) -> ReplicaSet {
        let Deployment { metadata, spec, status } = self.deployment;
        let hash = template::hash(&spec.template, status.collision_count);
        let mut set = ReplicaSet::default();
        set.metadata.name = format!("{}-{hash}", metadata.name);
        set.metadata.namespace.clone_from(&metadata.namespace);
        set.metadata.owner_references.push(claim::reference(self.deployment));
        set.spec.template = template::with_hash(&spec.template, &hash);
        set.metadata.labels = template::texts(&set.spec.template, "labels");
        let mut selector = spec.selector.clone().unwrap_or_default();
        selector.match_labels.insert(label::POD_TEMPLATE_HASH.to_owned(), hash);
        set.spec.selector = Some(selector);
        set.spec.min_ready_seconds = spec.min_ready_seconds;
        set.spec.replicas = Some(self.wish.new_set(0, self.total()));
        history::annotate_new(metadata, &mut set.metadata, history::next_revision(&self.old));
        history::annotate_size(&mut set.metadata, self.wish.replicas, self.wish.replicas + self.wish.surge);
        set
    }

    /// Applies a change of `spec.replicas`, or corrects the sizes of a paused Deployment.
    async fn scale(&mut self) -> Result<(), Error> {
        let active = self.all().filter(|set| set.replicas() > 0).count();
        let new_is_only = active == 0 || self.old.iter().all(|set| set.replicas() == 0);
        if active <= 1 {
            if self.new.is_some() && new_is_only {
                self.resize_new(self.wish.replicas).await?;
            } else {
                let wanted = if active == 1 {
                    self.old.iter().position(|set| set.replicas() > 0)
                } else {
                    self.old.len().checked_sub(1)
                };
                let mut sizes: Vec<i32> = self.old.iter().map(ReplicaSet::replicas).collect();
                if let Some(wanted) = wanted {
                    sizes[wanted] = self.wish.replicas;
                }
                self.resize_old(&sizes).await?;
            }
            return Ok(());
        }
        let is_saturated = |set: &ReplicaSet| {
            let desired = parsed_annotation(&set.metadata, annotation::DEPLOYMENT_DESIRED_REPLICAS);
            [desired, Some(set.replicas()), Some(set.status.available_replicas)] == [Some(self.wish.replicas); 3]
        };
        if self.new.as_ref().is_some_and(is_saturated) {
            self.resize_old(&vec![0; self.old.len()]).await?;
        } else if self.wish.is_rolling {
            self.scale_in_proportion().await?;
        }
        Ok(())
    }

    async fn scale_in_proportion(&mut self) -> Result<(), Error> {
        // Indices into `old`; the new set has the last index.
        let new = self.old.len();
        let mut order: Vec<(usize, &ReplicaSet)> =
            self.all().enumerate().filter(|(_, set)| set.replicas() > 0).collect();
        let grows = self.wish.to_add(self.total()) > 0;
        order.sort_by(|(_, a), (_, b)| {
            let age = history::by_creation(a, b);
            b.replicas().cmp(&a.replicas()).then(if grows { age.reverse() } else { age })
        });
        let sets: Vec<Set> = order.iter().map(|(_, set)| numbers(set)).collect();
        let positions: Vec<usize> = order.iter().map(|(position, _)| *position).collect();
        let sizes = self.wish.proportional(&sets, self.deployment.status.replicas);
        let mut old: Vec<i32> = self.old.iter().map(ReplicaSet::replicas).collect();
        for (position, size) in positions.into_iter().zip(sizes) {
            if position == new {
                self.resize_new(size).await?;
            } else {
                old[position] = size;
            }
        }
        self.resize_old(&old).await?;
        Ok(())
    }

    async fn resize_new(&mut self, size: i32) -> Result<bool, Error> {
        let Some(set) = &self.new else { return Ok(false) };
        let (resized, written) = self.resize(set, size).await?;
        if let Some(written) = written {
            self.new = Some(written);
        }
        Ok(resized)
    }

    /// Resizes every old set. A set whose old and new size are 0 is left unchanged.
    async fn resize_old(&mut self, sizes: &[i32]) -> Result<bool, Error> {
        let mut any = false;
        for (position, size) in sizes.iter().enumerate() {
            let set = &self.old[position];
            if set.replicas() == 0 && *size == 0 {
                continue;
            }
            let (resized, written) = self.resize(set, *size).await?;
            any |= resized;
            if let Some(written) = written {
                self.old[position] = written;
            }
        }
        Ok(any)
    }

    /// Writes size and annotations of a set if they differ; returns true if the size did, and the written set.
    async fn resize(&self, set: &ReplicaSet, size: i32) -> Result<(bool, Option<ReplicaSet>), Error> {
        let mut changed = set.clone();
        changed.spec.replicas = Some(size);
        history::annotate_size(&mut changed.metadata, self.wish.replicas, self.wish.replicas + self.wish.surge);
        if changed == *set {
            return Ok((false, None));
        }
        let written = self.workload.api().update(set, &changed).await?;
        let before = set.replicas();
        if before != size {
            let direction = if size > before { "up" } else { "down" };
            let name = &set.metadata.name;
            let message = format!("Scaled {direction} replica set {name} from {before} to {size}");
            self.workload.event(SOURCE, self.deployment, EventType::Normal, "ScalingReplicaSet", &message).await;
        }
        Ok((before != size, Some(placed(written, cluster_of(self.deployment)))))
    }

    /// Deletes old sets beyond `revisionHistoryLimit`.
    async fn clean_up(&self) -> Result<(), Error> {
        let limit = self.deployment.spec.revision_history_limit.unwrap_or(10);
        for set in history::surplus(&self.old, limit) {
            self.workload.api().delete_object(set, false, None).await?;
        }
        Ok(())
    }

    /// Writes the pass's results, if they differ from the stored ones. `rollout`: true if this was a step of a
    /// roll-out, whose progress is reported.
    async fn finish(&mut self, rollout: bool) -> Result<Requeue, Error> {
        let status = &mut self.changed.status;
        conditions::count(self.deployment, self.wish, self.new.as_ref(), &self.old, status, self.now);
        if rollout {
            conditions::progress(self.deployment, &self.deployment.status, self.new.as_ref(), status, self.now);
            conditions::failure(self.new.as_ref(), &self.old, status, self.now);
        }
        if self.changed.metadata.annotations != self.deployment.metadata.annotations {
            self.workload.api().replace_subresource("status", &self.changed).await?;
        } else if self.changed.status != self.deployment.status {
            self.workload.api().update_status(self.deployment, &self.changed).await?;
        }
        let deadline = conditions::deadline(self.deployment, &self.changed.status).filter(|_| rollout);
        Ok(deadline.map_or(Requeue::OnChange, Requeue::At))
    }
}

/// Outcome of a part of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The pass makes no further change.
    Done,
    /// A set was created or resized: the next step depends on its pods.
    Scaled,
    /// The name of the new set belongs to another template.
    Collision,
}
