// SPDX-License-Identifier: Apache-2.0
//! Controllers of in-place updates of nodes: labels of MachineSets, Machines and Nodes, the transfer of Machines to the
//! new MachineSet, and gardener-node-agent, which updates a node.

use std::sync::Arc;

use api::constants::{annotation, label, taint};
use api::kubernetes::core::{Node, Pod, Secret};
use api::machine::MachineSet;
use api::terrarium::Fault;
use apimachinery::meta::{DeleteOptions, ObjectMeta, Time};
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, Error, EventType, ObjectRef, Recorder};
use domain::fault;
use domain::rollout::Parameter;
use domain::rollout::deployment::{Deployment, InPlace};
use domain::rollout::in_place::{self, Configuration, Failure, SUCCESSFUL, TRUE, Turn, Update, Work};
use domain::rollout::node;
use domain::rollout::wanted::ClassFacts;
use domain::worker_pool::kubelet::installed_kubelet;

use super::super::provider::place;
use super::family::{Family, Position, owner};
use super::machines::Individual;
use super::nodes::set_kubelet_version;
use super::roster::Entry;
use crate::draft::Draft;

/// Result of a node agent's step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    /// True if the agent changed the Node.
    pub(super) changed: bool,
    /// Time of the agent's next step.
    pub(super) again: Option<DateTime<Utc>>,
}

/// Configuration that a node has to apply in place.
pub(super) struct Pending {
    /// Secret with the configuration.
    secret: Arc<Secret>,
    wanted: Configuration,
    work: Work,
}

impl Looked {
    pub(super) const NOTHING: Self = Self { changed: false, again: None };

    pub(super) const fn again_at(until: DateTime<Utc>) -> Self {
        Self { changed: false, again: Some(until) }
    }
}

impl Individual {
    fn edit_node(&mut self, is_to_do: impl FnOnce(&Node) -> bool, change: impl FnOnce(&mut Node)) {
        if let Some(draft) = self.node.as_mut().filter(|draft| is_to_do(draft.get())) {
            change(draft.edit());
        }
    }

    fn label_node(&mut self, key: &str) {
        self.edit_node(
            |node| node.metadata.label(key) != Some(TRUE),
            |node| drop(node.metadata.labels.insert(key.to_owned(), TRUE.to_owned())),
        );
    }

    /// Ends the update: pods are scheduled again once the critical components run, unless the Machine is being deleted.
    fn clear_update(&mut self) {
        let is_going = self.machine.get().metadata.is_being_deleted();
        self.edit_node(
            |_| true,
            |node| {
                in_place::clear(node);
                if !is_going {
                    uncordon(node);
                }
                node.spec.taints.retain(|taint| taint.key != taint::PREFER_NO_SCHEDULE);
                node::add_taint(
                    &mut node.spec.taints,
                    node::taint(taint::CRITICAL_COMPONENTS_NOT_READY, "", "NoSchedule"),
                );
            },
        );
    }
}

/// Returns the version of the operating system that a Node runs.
fn operating_system(node: &Node) -> &str {
    node.status.node_info.os_image.rsplit(' ').next().unwrap_or_default()
}

fn uncordon(node: &mut Node) {
    node.spec.unschedulable = false;
    node.spec.taints.retain(|taint| taint.key != taint::UNSCHEDULABLE);
}

impl Family<'_> {
    pub(super) fn is_updated_in_place(&self) -> bool {
        self.deployment.get().spec.strategy.in_place_update.is_some()
    }

    /// Returns facts about a MachineSet's machines for in-place updates.
    pub(super) fn in_place(&self, set: &MachineSet) -> InPlace {
        let mut entries: Vec<&Entry> = self.roster.entries(&set.metadata.name).collect();
        entries.sort_by(|a, b| (a.member.created, &a.member.name).cmp(&(b.member.created, &b.member.name)));
        let has = |is: fn(&Update) -> bool| {
            entries.iter().filter(move |entry| entry.update.as_ref().is_some_and(is)).copied()
        };
        let names = |entries: &mut dyn Iterator<Item = &Entry>| {
            entries.map(|entry| entry.member.name.clone()).collect::<Vec<_>>()
        };
        let count = |entries: &mut dyn Iterator<Item = &Entry>| i32::try_from(entries.count()).unwrap_or(i32::MAX);
        let updating = domain::rollout::machine::Phase::InPlaceUpdating;
        InPlace {
            scale_up_disabled: set.metadata.labels.contains_key(label::SCALE_UP_DISABLED),
            unmarked: has(|update| !update.candidate).count(),
            undergoing: count(&mut has(|update| update.selected)),
            candidates: names(&mut has(|update| update.candidate && !update.selected)),
            updated: names(&mut has(Update::is_done).filter(|entry| entry.member.phase != updating)),
            without_node: count(&mut entries.iter().copied().filter(|entry| entry.update.is_none())),
            arrived: count(&mut entries.iter().copied().filter(|entry| entry.member.is_updated_in_place)),
            uncleared: names(&mut has(Update::is_done)),
        }
    }

    pub(super) fn disable_scale_up(&mut self, set: &str) {
        let labels = &mut self.set(set).edit().metadata.labels;
        labels.insert(label::SCALE_UP_DISABLED.to_owned(), TRUE.to_owned());
    }

    pub(super) fn mark_candidates(&mut self, set: &str) {
        self.load_all(Some(set));
        self.of_set(set).for_each(|individual| individual.label_node(label::CANDIDATE_FOR_UPDATE));
        self.look_again(&self.roster.names(Some(set)));
    }

    pub(super) fn select(&mut self, machine: &str) {
        if let Some(individual) = self.load(machine) {
            individual.label_node(label::SELECTED_FOR_UPDATE);
        }
        self.look_again(&[machine.to_owned()]);
    }

    /// Transfers Machines to the new MachineSet, and allows pods on their Nodes again.
    ///
    /// A label marks them as transferred until the MachineSets' replicas have been written, too. Each Machine is saved
    /// in one write: without an owner it would be deleted.
    pub(super) async fn hand_over(
        &mut self,
        from: &str,
        machines: &[String],
        desired: &Deployment,
    ) -> Result<(), Error> {
        let Some(new) = self.new_set() else { return Ok(()) };
        let (provider, namespace) = (self.provider, self.namespace.clone());
        let new = self.sets[new].get().clone();
        let selector = |set: &MachineSet| set.spec.selector.clone().unwrap_or_default().match_labels;
        let before = selector(self.set(from).get());
        for name in machines {
            let Some(individual) = self.load(name) else { continue };
            new.metadata.name.clone_into(&mut individual.set);
            let ObjectMeta { labels, owner_references, .. } = &mut individual.machine.edit().metadata;
            *owner_references = vec![owner(&new)];
            labels.retain(|key, _| !before.contains_key(key));
            labels.extend(selector(&new));
            labels.insert(label::UPDATE_RESULT.to_owned(), SUCCESSFUL.to_owned());
            if !individual.machine.get().metadata.is_being_deleted() {
                individual.edit_node(|node| node.spec.unschedulable, uncordon);
            }
            individual.save(provider, &namespace).await?;
        }
        self.look_again(machines);
        let count = i32::try_from(machines.len()).unwrap_or(i32::MAX);
        let left = self.set(from).get().spec.replicas - count;
        // The old set is scaled first: together the sets never request more machines than there are.
        self.scale(from, left, desired).await?;
        self.scale(&new.metadata.name, new.spec.replicas + count, desired).await?;
        Ok(())
    }

    /// Removes the label of transferred Machines: from now on they count like all others.
    pub(super) fn settle(&mut self, set: &str) {
        let arrived: Vec<String> = self
            .roster
            .entries(set)
            .filter(|entry| entry.member.is_updated_in_place)
            .map(|entry| entry.member.name.clone())
            .collect();
        for name in &arrived {
            if let Some(individual) = self.load(name) {
                individual.machine.edit().metadata.labels.remove(label::UPDATE_RESULT);
            }
        }
        self.look_again(&arrived);
    }

    pub(super) fn clear_node(&mut self, machine: &str) {
        if let Some(individual) = self.load(machine) {
            individual.clear_update();
        }
        self.look_again(&[machine.to_owned()]);
    }

    /// Stores the new state of changed Machines, and schedules their steps.
    fn look_again(&mut self, machines: &[String]) {
        for name in machines {
            let Some(position) = self.position_of(name).cloned() else { continue };
            self.note(&position);
            self.todo.insert(position);
        }
    }

    /// Returns the configuration that a node of an in-place pool has to apply; `None` if nothing changed, unless the
    /// node is ready for an update: then the update completes at once.
    ///
    /// gardenlet writes the configuration before the MachineClass, but the local copy may lag behind: if it shows no
    /// change for a node that is ready, the Secret is read from the server.
    pub(super) async fn pending_update(&self, node: &Node) -> Result<Option<Pending>, Error> {
        let known = if self.is_updated_in_place() { self.node_agent_secret(&node.metadata) } else { None };
        let Some(known) = known else { return Ok(None) };
        let applied = node.metadata.annotation(annotation::IN_PLACE_CONFIGURATION).unwrap_or_default();
        let pending = |secret: Arc<Secret>| {
            let wanted = Configuration::parse(secret.metadata.annotation(annotation::IN_PLACE_CONFIGURATION)?);
            let work = wanted.work(&Configuration::parse(applied));
            Some(Pending { secret, wanted, work })
        };
        let name = known.metadata.name.clone();
        match pending(known) {
            Some(found) if found.work.is_any() => Ok(Some(found)),
            Some(_) if Update::of(node).is_awaited() => {
                let api = Api::<Secret>::namespaced(&self.provider.context, &self.namespace, "kube-system");
                Ok(api.get_shared(&name).await?.and_then(pending))
            }
            _ => Ok(None),
        }
    }

    /// Updates a node that is ready for it, as gardener-node-agent does, or retries. Until then the node is not
    /// changed.
    ///
    /// The progress is derived from the Node's condition; only the start of repeated attempts is held in memory.
    pub(super) async fn update_node(&mut self, position: &Position, pending: &Pending) -> Result<Looked, Error> {
        let (wanted, work) = (&pending.wanted, pending.work);
        let Some(individual) = self.machines.get(position) else { return Ok(Looked::NOTHING) };
        let is_going = individual.machine.get().metadata.is_being_deleted();
        let Some(node) = individual.node.as_ref().map(Draft::get) else { return Ok(Looked::NOTHING) };
        let (name, uid) = (node.metadata.name.clone(), node.metadata.uid.clone());
        let (desired, current) = (wanted.operating_system(), operating_system(node));
        let tried = node.metadata.annotation(annotation::UPDATING_OPERATING_SYSTEM);
        let is_tried = tried == Some(desired);
        let turn = in_place::turn(&Update::of(node), work, tried, (desired, current));
        if is_going || turn == Turn::Waits {
            self.agents.forget(&self.namespace, &name);
            return Ok(Looked::NOTHING);
        }
        let hit = [(work.operating_system, fault::OS_UPDATE_FAILS), (true, fault::KUBELET_UNHEALTHY_AFTER_UPDATE)];
        let kinds: Vec<&str> = hit.iter().filter(|(applies, _)| *applies).map(|(_, kind)| *kind).collect();
        let failing = self.faults_of(&name, &kinds).into_iter().next();
        let failing = failing.map(|known| (fault::update_failure(&known, desired, current), known));
        if self.acts(&name, fault::NODE_AGENT_SILENT).await? {
            return Ok(Looked::NOTHING);
        }
        let since = match turn {
            Turn::Since(since) => since,
            _ => self.agents.since(&self.namespace, &name, self.now) + self.agent_delay(&name),
        };
        if self.now < since {
            return Ok(Looked::again_at(since));
        }
        let delay = failing.as_ref().map_or(TimeDelta::zero(), |(failure, _)| failure.delay());
        let until = since + self.update_duration(&name, &uid, work, since) + delay;
        let Some(individual) = self.machines.get_mut(position) else { return Ok(Looked::NOTHING) };
        if work.operating_system && !is_tried {
            individual.edit_node(
                |_| true,
                |node| {
                    let annotations = &mut node.metadata.annotations;
                    annotations.insert(annotation::UPDATING_OPERATING_SYSTEM.to_owned(), desired.to_owned());
                },
            );
        }
        let outage = until - work.outage();
        if self.now < outage {
            return Ok(Looked::again_at(outage));
        }
        if self.now < until {
            let now = Time::from(self.now);
            individual.edit_node(
                |node| node::is_ready(&node.status.conditions),
                |node| node::fail(&mut node.status.conditions, node::READY, "False", now),
            );
            return Ok(Looked::again_at(until));
        }
        self.agents.forget(&self.namespace, &name);
        self.acts(&name, fault::IN_PLACE_DURATION).await?;
        match failing {
            Some((failure, known)) => self.fail_update(position, &failure, &known).await?,
            None => self.complete_update(position, pending).await?,
        }
        Ok(Looked { changed: true, again: None })
    }

    fn update_duration(&self, name: &str, uid: &str, work: Work, since: DateTime<Utc>) -> TimeDelta {
        let faults = self.faults_of(name, &[fault::IN_PLACE_DURATION]);
        let given = faults.iter().find_map(|fault| fault::in_place_duration(fault));
        let attempt = since.timestamp().cast_unsigned();
        given.unwrap_or_else(|| work.duration(|part: Parameter| self.provider.duration(part, uid, attempt)))
    }

    async fn fail_update(&mut self, position: &Position, failure: &Failure, known: &Arc<Fault>) -> Result<(), Error> {
        if !self.count(known, &position.1).await? {
            return Ok(());
        }
        let now = Time::from(self.now);
        let Some(individual) = self.machines.get_mut(position) else { return Ok(()) };
        individual.edit_node(
            |_| true,
            |node| {
                node.metadata.labels.insert(label::UPDATE_RESULT.to_owned(), in_place::FAILED.to_owned());
                let annotations = &mut node.metadata.annotations;
                annotations.insert(annotation::UPDATE_FAILED_REASON.to_owned(), failure.to_string());
                if !failure.is_final() {
                    annotations.remove(annotation::UPDATING_OPERATING_SYSTEM);
                }
                // An unhealthy kubelet does not update its Node.
                if *failure != Failure::Kubelet {
                    node::recover(&mut node.status.conditions, node::READY, now);
                }
            },
        );
        Ok(())
    }

    async fn complete_update(&mut self, position: &Position, pending: &Pending) -> Result<(), Error> {
        let name = &position.1;
        self.delete_pods(name).await?;
        let facts = self.configured_class(position).map(|class| ClassFacts::of(&class)).unwrap_or_default();
        let random = &self.provider.context.random;
        // Each boot of a machine has its own id.
        let start = self.now.timestamp_millis().cast_unsigned();
        let boot_id = random.uid(&format!("{}/node/{name}/boot", self.namespace), start);
        let now = Time::from(self.now);
        let os_image = format!("{} {}", facts.image_name, pending.wanted.operating_system());
        let configuration = pending.wanted.to_string();
        let version = installed_kubelet(&pending.secret).unwrap_or(facts.kubernetes_version);
        let checksum = pending.secret.metadata.annotation(annotation::NODE_AGENT_SECRET_CHECKSUM).map(str::to_owned);
        let Some(draft) = self.machines.get_mut(position).and_then(|individual| individual.node.as_mut()) else {
            return Ok(());
        };
        let node = draft.edit();
        let annotations = &mut node.metadata.annotations;
        annotations.remove(annotation::UPDATE_FAILED_REASON);
        annotations.remove(annotation::UPDATING_OPERATING_SYSTEM);
        annotations.insert(annotation::IN_PLACE_CONFIGURATION.to_owned(), configuration);
        annotations.extend(checksum.map(|checksum| (annotation::NODE_CHECKSUM.to_owned(), checksum)));
        node.metadata.labels.insert(label::UPDATE_RESULT.to_owned(), SUCCESSFUL.to_owned());
        set_kubelet_version(node, &version);
        if pending.work.operating_system {
            node.status.node_info.os_image = os_image;
            node.status.node_info.boot_id = boot_id;
        }
        node::recover(&mut node.status.conditions, node::READY, now);
        let about = ObjectRef::of(&*node);
        self.publish_applied(&about).await
    }

    pub(super) async fn publish_applied(&self, node: &ObjectRef) -> Result<(), Error> {
        let recorder = Recorder::named(&self.provider.context, &self.namespace, "gardener-node-agent");
        let message = "Operating system config has been applied successfully";
        recorder.publish(node, EventType::Normal, "OSCApplied", message).await
    }

    /// Deletes the pods that the drain left: those of DaemonSets, which are created again.
    async fn delete_pods(&self, node: &str) -> Result<(), Error> {
        for pod in self.provider.pods_by_node.get(&place(&self.namespace, node)) {
            let api = Api::<Pod>::namespaced(&self.provider.context, &self.namespace, &pod.metadata.namespace);
            match api.delete(&pod.metadata.name, &DeleteOptions::default()).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
