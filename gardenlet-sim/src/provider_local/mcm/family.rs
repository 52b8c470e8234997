// SPDX-License-Identifier: Apache-2.0
//! A MachineDeployment with its MachineSets, Machines and Nodes, in one pass.

use std::collections::{BTreeMap, BTreeSet};

use api::constants::{annotation, finalizer, label, taint};
use api::kubernetes::{deployment_revision, parsed_annotation};
use api::machine::{MachineDeployment, MachineSet, MachineSummary};
use apimachinery::Resource;
use apimachinery::meta::{ObjectMeta, OwnerReference, Time};
use chrono::{DateTime, Utc};
use controller::{Error, EventType, ObjectKey, ObjectRef};
use domain::rollout::conditions::{FAILURES_ARE_TOLD_ON, Observed, Progress};
use domain::rollout::deployment::{self, Deployment, InPlace, Set, Step, Strategy};
use domain::rollout::machine_set::Counts;
use domain::rollout::names::{self, template_hash};
use domain::rollout::{Limits, node};

use super::super::provider::Provider;
use super::drains::Drains;
use super::machines::Individual;
use super::nodes::Agents;
use super::roster::{Marks, Roster};
use crate::draft::Draft;

/// Objects of one pass: the MachineDeployment, its MachineSets, and the Machines that the pass examines.
pub(super) struct Family<'a> {
    pub(super) provider: &'a Provider,
    pub(super) agents: &'a Agents,
    pub(super) drains: &'a Drains,
    pub(super) now: DateTime<Utc>,
    pub(super) namespace: String,
    pub(super) deployment: Draft<MachineDeployment>,
    pub(super) sets: Vec<Draft<MachineSet>>,
    /// State of all Machines.
    pub(super) roster: Roster,
    /// Loaded Machines, by creation, then name.
    pub(super) machines: BTreeMap<Position, Individual>,
    /// Machines that still have to be examined.
    pub(super) todo: BTreeSet<Position>,
    /// Positions of the loaded Machines, by name.
    positions: BTreeMap<String, Position>,
    /// Failed Machines of this pass, by name: they are reported even if the Machine was deleted at its end.
    failures: BTreeMap<String, (String, MachineSummary)>,
    progress: Progress,
    is_complete: bool,
}

/// Sort key of Machines: time of creation, then name.
pub(super) type Position = (Time, String);

impl<'a> Family<'a> {
    /// Reads the objects that a pass needs; `None` if the MachineDeployment was deleted.
    pub(super) fn read(
        provider: &'a Provider,
        (agents, drains): (&'a Agents, &'a Drains),
        (roster, marks): (Roster, Marks),
        key: &ObjectKey,
    ) -> Option<Self> {
        let deployment = provider.deployments.get(key)?;
        let seed = &provider.seed;
        let uid = &deployment.metadata.uid;
        let sets: Vec<_> = provider
            .sets
            .list_in(seed, &key.namespace)
            .into_iter()
            .filter(|set| is_owned_by(&set.metadata, uid))
            .map(Draft::new)
            .collect();
        let mut family = Self {
            provider,
            agents,
            drains,
            now: provider.context.clock.now(),
            namespace: key.namespace.to_string(),
            deployment: Draft::new(deployment),
            sets,
            roster,
            machines: BTreeMap::new(),
            todo: BTreeSet::new(),
            positions: BTreeMap::new(),
            failures: BTreeMap::new(),
            progress: Progress::default(),
            is_complete: false,
        };
        let names: BTreeSet<String> = if marks.all {
            let all = provider.machines.list_in(seed, &key.namespace);
            let known = family.roster.names(None);
            known.into_iter().chain(all.iter().map(|machine| machine.metadata.name.clone())).collect()
        } else {
            let due = family.roster.due(family.now);
            marks.machines.into_iter().chain(due).chain(family.roster.held.iter().cloned()).collect()
        };
        for name in names {
            family.load(&name);
        }
        family.todo = family.machines.keys().cloned().collect();
        let found = family.roster.failures();
        family.failures =
            found.map(|(set, failure)| (failure.name.clone(), (set.to_owned(), failure.clone()))).collect();
        Some(family)
    }

    /// Loads a Machine with its Node, or removes it from the roster if it was deleted.
    pub(super) fn load(&mut self, name: &str) -> Option<&mut Individual> {
        if let Some(position) = self.positions.get(name) {
            return self.machines.get_mut(position);
        }
        let machine = self.provider.machines.get(&self.provider.seed_key(&self.namespace, name));
        let owned = machine.and_then(|machine| {
            let owner = self.sets.iter().find(|set| is_owned_by(&machine.metadata, &set.get().metadata.uid))?;
            Some((machine, owner.get().metadata.name.clone()))
        });
        let Some((machine, set)) = owned else {
            self.roster.remove(name);
            return None;
        };
        let node = self.provider.nodes.get(&ObjectKey::new(&self.namespace, "", name));
        let position = self.keep(Individual::new(set, machine, node));
        self.machines.get_mut(&position)
    }

    /// Returns the position of a loaded Machine.
    pub(super) fn position_of(&self, name: &str) -> Option<&Position> {
        self.positions.get(name)
    }

    /// Loads all Machines of a MachineSet; `None`: of all MachineSets.
    pub(super) fn load_all(&mut self, set: Option<&str>) {
        for name in self.roster.names(set) {
            self.load(&name);
        }
    }

    /// Adds a loaded Machine; returns its position.
    pub(super) fn keep(&mut self, individual: Individual) -> Position {
        let metadata = &individual.machine.get().metadata;
        let position = (metadata.creation_timestamp, metadata.name.clone());
        self.positions.insert(position.1.clone(), position.clone());
        self.machines.insert(position.clone(), individual);
        self.note(&position);
        position
    }

    /// Stores the current state of a Machine in the roster.
    pub(super) fn note(&mut self, position: &Position) {
        let Some(individual) = self.machines.get(position) else { return };
        let entry = individual.entry(self.provider, self.now);
        if let Some(failure) = &entry.failure {
            self.failures.insert(position.1.clone(), (entry.set.clone(), failure.clone()));
        } else if entry.member.standing.expiry.is_some() {
            self.failures.remove(&position.1);
        }
        self.roster.set(&position.1, entry);
    }

    /// Removes a deleted Machine.
    pub(super) fn drop_machine(&mut self, position: &Position) {
        self.machines.remove(position);
        self.positions.remove(&position.1);
        self.todo.remove(position);
        self.roster.remove(&position.1);
    }

    /// Returns the loaded Machines of a MachineSet.
    pub(super) fn of_set<'s>(&'s mut self, set: &'s str) -> impl Iterator<Item = &'s mut Individual> {
        self.machines.values_mut().filter(move |individual| individual.set == set)
    }

    /// Runs one pass of the MachineDeployment. Returns true if anything changed that requires another round.
    pub(super) async fn deployment_pass(&mut self) -> Result<bool, Error> {
        let metadata = &self.deployment.get().metadata;
        let (is_deleting, is_held) =
            (metadata.is_being_deleted(), metadata.has_finalizer(finalizer::MACHINE_CONTROLLER_MANAGER));
        if !is_deleting && !is_held {
            self.deployment.edit().metadata.finalizers.push(finalizer::MACHINE_CONTROLLER_MANAGER.to_owned());
        }
        if is_deleting && self.sets.is_empty() {
            if is_held {
                self.deployment
                    .edit()
                    .metadata
                    .finalizers
                    .retain(|finalizer| finalizer != finalizer::MACHINE_CONTROLLER_MANAGER);
            }
            return Ok(false);
        }
        let mut changed = self.refresh_new_set();
        let (desired, new, old) = self.observed();
        let pass = deployment::pass(&desired, new.as_ref(), &old);
        self.is_complete = pass.is_complete;
        if let Some(waiting_on) = &pass.waiting_on {
            tracing::debug!(kind = "MachineDeployment", name = %self.deployment.get().metadata.name, ?waiting_on, "waits");
        }
        for step in pass.steps {
            changed |= self.take(step, &desired).await?;
        }
        Ok(changed)
    }

    async fn take(&mut self, step: Step, desired: &Deployment) -> Result<bool, Error> {
        match step {
            Step::CreateSet { replicas } => self.create_set(replicas, desired).await,
            Step::Scale { set, replicas } => self.scale(&set, replicas, desired).await,
            Step::TaintNodes { set } => {
                let taint = node::taint(taint::PREFER_NO_SCHEDULE, "True", "PreferNoSchedule");
                self.load_all(Some(&set));
                self.of_set(&set).for_each(|individual| individual.add_taint(&taint));
                let annotations = &mut self.set(&set).edit().metadata.annotations;
                annotations.insert(annotation::PREFER_NO_SCHEDULE.to_owned(), "True".to_owned());
                Ok(true)
            }
            Step::DisableScaleDown => {
                self.forbid_scale_down(true);
                Ok(false)
            }
            Step::EnableScaleDown => {
                self.forbid_scale_down(false);
                Ok(false)
            }
            Step::DeleteSet { set } => self.delete_set(&set).await,
            Step::DisableScaleUp { set } => {
                self.disable_scale_up(&set);
                Ok(false)
            }
            Step::MarkCandidates { set } => {
                self.mark_candidates(&set);
                Ok(true)
            }
            Step::Select { machine } => {
                self.select(&machine);
                Ok(true)
            }
            Step::HandOver { set, machines } => {
                self.hand_over(&set, &machines, desired).await?;
                Ok(true)
            }
            Step::Settle { set } => {
                self.settle(&set);
                Ok(true)
            }
            Step::ClearNode { machine } => {
                self.clear_node(&machine);
                Ok(true)
            }
        }
    }

    /// Disables or enables scale-down by the cluster-autoscaler: on all Nodes, or only on the loaded ones if the rest
    /// is already in that state.
    fn forbid_scale_down(&mut self, is_forbidden: bool) {
        if self.roster.scale_down_disabled != Some(is_forbidden) {
            self.load_all(None);
            self.roster.scale_down_disabled = Some(is_forbidden);
        }
        let change = if is_forbidden { Individual::disable_scale_down } else { Individual::enable_scale_down };
        self.machines.values_mut().for_each(change);
    }

    /// Copies fields of the MachineDeployment's template that apply to existing machines to its set, and marks the set
    /// as the newest.
    fn refresh_new_set(&mut self) -> bool {
        let Some(index) = self.new_set() else { return false };
        let template = self.deployment.get().spec.template.clone();
        let auto_preserve_max = self.deployment.get().spec.auto_preserve_failed_machine_max;
        let newest = self.sets.iter().map(|set| deployment_revision(&set.get().metadata)).max().unwrap_or_default();
        let set = &mut self.sets[index];
        let mut wanted = set.get().spec.template.spec.clone();
        wanted.node_template = template.spec.node_template;
        wanted.class.kind = template.spec.class.kind;
        wanted.drain_timeout = template.spec.drain_timeout;
        wanted.health_timeout = template.spec.health_timeout;
        wanted.creation_timeout = template.spec.creation_timeout;
        wanted.in_place_update_timeout = template.spec.in_place_update_timeout;
        wanted.machine_preserve_timeout = template.spec.machine_preserve_timeout;
        wanted.disable_health_timeout = template.spec.disable_health_timeout;
        wanted.max_evict_retries = template.spec.max_evict_retries;
        wanted.node_conditions = template.spec.node_conditions;
        if set.get().spec.template.spec != wanted {
            set.edit().spec.template.spec = wanted;
        }
        if set.get().spec.auto_preserve_failed_machine_max != auto_preserve_max {
            set.edit().spec.auto_preserve_failed_machine_max = auto_preserve_max;
        }
        let own = deployment_revision(&set.get().metadata);
        let is_newest = own == newest;
        if !is_newest {
            let annotations = &mut set.edit().metadata.annotations;
            let history = annotations.get_or_insert(annotation::DEPLOYMENT_REVISION_HISTORY, String::new);
            *history = if history.is_empty() { own.to_string() } else { format!("{history},{own}") };
            annotations.insert(annotation::DEPLOYMENT_REVISION.to_owned(), (newest + 1).to_string());
            self.progress = Progress::Found(self.sets[index].get().metadata.name.clone());
        }
        let revision = self.sets[index]
            .get()
            .metadata
            .annotations
            .get(annotation::DEPLOYMENT_REVISION)
            .cloned()
            .unwrap_or_default();
        if self.deployment.get().metadata.annotation(annotation::DEPLOYMENT_REVISION) != Some(&revision) {
            self.deployment.edit().metadata.annotations.insert(annotation::DEPLOYMENT_REVISION.to_owned(), revision);
        }
        !is_newest
    }

    pub(super) fn new_set(&self) -> Option<usize> {
        let deployment = self.deployment.get();
        let same = self
            .sets
            .iter()
            .enumerate()
            .filter(|(_, set)| names::same_machines(&set.get().spec.template, &deployment.spec.template));
        let oldest = same.min_by_key(|(_, set)| {
            let metadata = &set.get().metadata;
            (metadata.creation_timestamp, metadata.name.clone())
        });
        oldest.map(|(index, _)| index)
    }

    /// Returns the MachineDeployment, its new set and the old ones, as inputs of the rules.
    fn observed(&self) -> (Deployment, Option<Set>, Vec<Set>) {
        let new = self.new_set();
        let mut old = Vec::new();
        let mut newest = None;
        for (index, set) in self.sets.iter().enumerate() {
            let set = self.observe_set(set.get());
            if Some(index) == new { newest = Some(set) } else { old.push(set) }
        }
        (desired(self.deployment.get()), newest, old)
    }

    fn observe_set(&self, set: &MachineSet) -> Set {
        let counts = self.counts(&set.metadata.name);
        let number = |key: &str| parsed_annotation(&set.metadata, key);
        Set {
            name: set.metadata.name.clone(),
            created: set.metadata.creation_timestamp,
            replicas: set.spec.replicas,
            machines: counts.machines,
            available: counts.available,
            terminating: counts.terminating,
            desired: number(annotation::DEPLOYMENT_DESIRED_REPLICAS),
            max: number(annotation::DEPLOYMENT_MAX_REPLICAS),
            tainted: set.metadata.annotation(annotation::PREFER_NO_SCHEDULE) == Some("True"),
            deleting: set.metadata.is_being_deleted(),
            in_place: if self.is_updated_in_place() { self.in_place(set) } else { InPlace::default() },
        }
    }

    pub(super) fn counts(&self, set: &str) -> Counts {
        self.roster.counts(set)
    }

    pub(super) fn set(&mut self, name: &str) -> &mut Draft<MachineSet> {
        let found = self.sets.iter_mut().find(|set| set.get().metadata.name == name);
        found.expect("steps name sets that they were given")
    }

    async fn create_set(&mut self, replicas: i32, desired: &Deployment) -> Result<bool, Error> {
        let deployment = self.deployment.get();
        let mut collisions = deployment.status.collision_count.unwrap_or_default();
        let hash = template_hash(&deployment.spec.template, collisions);
        let name = names::machine_set_name(&deployment.metadata.name, &hash);
        let newest = self.sets.iter().map(|set| deployment_revision(&set.get().metadata)).max().unwrap_or_default();
        let set = new_set(deployment, &name, &hash, replicas, newest + 1, desired);
        match self.provider.api_of(&self.provider.sets).create(&set).await {
            Ok(created) => {
                self.sets.push(Draft::new(created.into()));
                self.progress = Progress::Created(name.clone());
            }
            // Another template with the same short hash: increments the collision count, and retries with another name.
            Err(error) if error.is_already_exists() => {
                collisions += 1;
                self.deployment.edit().status.collision_count = Some(collisions);
                return Ok(true);
            }
            Err(error) => return Err(error),
        }
        if replicas > 0 {
            self.publish_scaling("up", &name, replicas).await?;
        }
        Ok(true)
    }

    pub(super) async fn scale(&mut self, name: &str, replicas: i32, desired: &Deployment) -> Result<bool, Error> {
        let before = self.set(name).get().clone();
        let mut after = before.clone();
        after.spec.replicas = replicas;
        set_replica_annotations(&mut after.metadata, desired);
        if after == before {
            return Ok(false);
        }
        *self.set(name).edit() = after;
        let api = self.provider.api_of(&self.provider.sets);
        self.set(name).save(&api).await?;
        match replicas.cmp(&before.spec.replicas) {
            std::cmp::Ordering::Greater => self.publish_scaling("up", name, replicas).await?,
            std::cmp::Ordering::Less => self.publish_scaling("down", name, replicas).await?,
            std::cmp::Ordering::Equal => {}
        }
        Ok(true)
    }

    async fn publish_scaling(&self, direction: &str, set: &str, replicas: i32) -> Result<(), Error> {
        let message = format!("Scaled {direction} machine set {set} to {replicas}");
        let about = ObjectRef::of(self.deployment.get());
        self.provider.recorder.publish(&about, EventType::Normal, "ScalingMachineSet", &message).await
    }

    async fn delete_set(&mut self, name: &str) -> Result<bool, Error> {
        let provider = self.provider;
        let api = provider.api_of(&provider.sets);
        let Some(index) = self.sets.iter().position(|set| set.get().metadata.name == name) else { return Ok(false) };
        self.sets[index].save(&api).await?;
        api.delete_object(self.sets[index].get(), false, None).await?;
        match provider.sets.get(&provider.seed_key(&self.namespace, name)) {
            Some(left) => self.sets[index].reset(left),
            None => drop(self.sets.remove(index)),
        }
        Ok(true)
    }

    /// Updates the status of MachineSets and MachineDeployment.
    pub(super) fn observe(&mut self) {
        for index in 0..self.sets.len() {
            let status = self.set_status(self.sets[index].get());
            if self.sets[index].get().status != status {
                self.sets[index].edit().status = status;
            }
        }
        let (desired, new, old) = self.observed();
        let (_, max_unavailable) = desired.limits();
        let all: Vec<&Set> = old.iter().chain(new.as_ref()).collect();
        let deployment = self.deployment.get();
        let observed = Observed {
            generation: deployment.metadata.generation,
            replicas: desired.replicas,
            max_unavailable,
            new: new.as_ref(),
            sets: &all,
            ready: self.sets.iter().map(|set| set.get().status.ready_replicas).sum(),
            preserved_failed: self.sets.iter().map(|set| set.get().status.preserved_failed_replicas).sum(),
            is_complete: self.is_complete,
            progress: std::mem::take(&mut self.progress),
        };
        let mut status = observed.status(&deployment.status, Time::from(self.now));
        status.failed_machines =
            self.sets.iter().flat_map(|set| set.get().status.failed_machines.clone().unwrap_or_default()).collect();
        if deployment.status != status {
            self.deployment.edit().status = status;
        }
    }

    /// Returns the status of a MachineSet. Failed Machines are reported in the pass in which they fail; with older
    /// machine-controller-managers until all are ready.
    ///
    /// Source: pkg/controller/machineset_status.go of machine-controller-manager v0.58.0, v0.60.0, v0.62.1.
    fn set_status(&self, set: &MachineSet) -> api::machine::MachineSetStatus {
        let counts = self.counts(&set.metadata.name);
        let failures = self.failures.values().filter(|(of, _)| *of == set.metadata.name);
        let failed: Vec<MachineSummary> = failures.map(|(_, failure)| failure.clone()).collect();
        let is_told_on = counts.ready != set.status.replicas && FAILURES_ARE_TOLD_ON.contain(self.provider.release);
        let told = set.status.failed_machines.clone().filter(|_| is_told_on);
        api::machine::MachineSetStatus {
            replicas: counts.machines,
            fully_labeled_replicas: counts.machines,
            ready_replicas: counts.ready,
            available_replicas: counts.available,
            preserved_failed_replicas: counts.preserved_failed,
            auto_preserve_failed_machine_count: counts.auto_preserved,
            observed_generation: set.metadata.generation,
            failed_machines: if failed.is_empty() { told } else { Some(failed) },
            ..set.status.clone()
        }
    }

    /// Writes all changed objects: Nodes, Machines, MachineSets, MachineDeployment.
    pub(super) async fn save(&mut self) -> Result<(), Error> {
        let provider = self.provider;
        for individual in self.machines.values_mut() {
            individual.save(provider, &self.namespace).await?;
        }
        self.save_sets().await?;
        self.deployment.save(&provider.api_of(&provider.deployments)).await
    }

    /// Writes changed MachineSets.
    pub(super) async fn save_sets(&mut self) -> Result<(), Error> {
        let api = self.provider.api_of(&self.provider.sets);
        for set in &mut self.sets {
            set.save(&api).await?;
        }
        Ok(())
    }
}

/// Returns the MachineDeployment as input of the rules.
pub(super) fn desired(deployment: &MachineDeployment) -> Deployment {
    let strategy = &deployment.spec.strategy;
    let strategy = match (&strategy.in_place_update, &strategy.rolling_update) {
        (Some(update), _) if strategy.r#type == "InPlaceUpdate" => Strategy::InPlace {
            limits: Limits {
                max_surge: update.max_surge.clone().unwrap_or_default(),
                max_unavailable: update.max_unavailable.clone().unwrap_or_default(),
            },
            manual: update.orchestration_type == "Manual",
        },
        (_, Some(update)) => Strategy::Rolling(Limits {
            max_surge: update.max_surge.clone().unwrap_or_default(),
            max_unavailable: update.max_unavailable.clone().unwrap_or_default(),
        }),
        _ => Strategy::Rolling(Limits::default()),
    };
    Deployment {
        replicas: deployment.spec.replicas,
        strategy,
        paused: deployment.spec.paused,
        deleting: deployment.metadata.is_being_deleted(),
    }
}

fn is_owned_by(metadata: &ObjectMeta, uid: &str) -> bool {
    metadata.owner_references.iter().any(|owner| owner.uid == uid)
}

fn set_replica_annotations(metadata: &mut ObjectMeta, desired: &Deployment) {
    let max = desired.replicas + desired.surge_for_scaling();
    metadata.annotations.insert(annotation::DEPLOYMENT_DESIRED_REPLICAS.to_owned(), desired.replicas.to_string());
    metadata.annotations.insert(annotation::DEPLOYMENT_MAX_REPLICAS.to_owned(), max.to_string());
}

/// Returns a reference from an owned object to its controller.
pub(super) fn owner<K: Resource>(owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(),
        kind: K::KIND.to_owned(),
        name: owner.metadata().name.clone(),
        uid: owner.metadata().uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn new_set(
    deployment: &MachineDeployment,
    name: &str,
    hash: &str,
    replicas: i32,
    revision: i64,
    desired: &Deployment,
) -> MachineSet {
    let metadata = ObjectMeta::named(&deployment.metadata.namespace, name);
    let mut set = MachineSet { metadata, ..MachineSet::default() };
    set.metadata.labels.clone_from(&deployment.spec.template.metadata.labels);
    set.metadata.labels.insert(label::MACHINE_TEMPLATE_HASH.to_owned(), hash.to_owned());
    set.metadata.annotations.insert(annotation::DEPLOYMENT_REVISION.to_owned(), revision.to_string());
    set_replica_annotations(&mut set.metadata, desired);
    set.metadata.owner_references = vec![owner(deployment)];
    set.metadata.finalizers = vec![finalizer::MACHINE_CONTROLLER_MANAGER.to_owned()];
    set.spec.replicas = replicas;
    set.spec.auto_preserve_failed_machine_max = deployment.spec.auto_preserve_failed_machine_max;
    set.spec.min_ready_seconds = deployment.spec.min_ready_seconds;
    set.spec.template = deployment.spec.template.clone();
    set.spec.template.metadata.labels.insert(label::MACHINE_TEMPLATE_HASH.to_owned(), hash.to_owned());
    let mut selector = deployment.spec.selector.clone().unwrap_or_default();
    selector.match_labels.insert(label::MACHINE_TEMPLATE_HASH.to_owned(), hash.to_owned());
    set.spec.selector = Some(selector);
    set
}
