// SPDX-License-Identifier: Apache-2.0
//! A Machine, its VM and its Node.

use std::sync::Arc;

use std::collections::BTreeSet;

use api::constants::{annotation, finalizer, label, taint};
use api::kubernetes::core::{Node, NodeCondition, Taint};
use api::kubernetes::parsed_annotation;
use api::machine::{ClassSpec, LastOperation, Machine, MachineClass, MachineSet, MachineSpec, MachineSummary};
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use controller::Error;
use domain::rollout::in_place::{self, Reason, Update};
use domain::rollout::machine::{self, Action, Operation, Phase, Step, Trouble};
use domain::rollout::machine_set::{DEFAULT_PRIORITY, Member};
use domain::rollout::node;
use domain::rollout::preservation::{self, Change, Preservation};

use super::super::provider::Provider;
use super::family::{Family, Position};
use super::roster::Entry;
use super::{nodes, tokens};
use crate::draft::Draft;

/// One Machine of a family, with its Node.
pub(super) struct Individual {
    /// Name of its MachineSet.
    pub(super) set: String,
    pub(super) machine: Draft<Machine>,
    pub(super) node: Option<Draft<Node>>,
}

impl Individual {
    pub(super) fn new(set: String, machine: Arc<Machine>, node: Option<Arc<Node>>) -> Self {
        Self { set, machine: Draft::new(machine), node: node.map(Draft::new) }
    }

    /// Returns the preservation of the Machine, if machine-controller-manager supports it.
    fn preservation(&self, provider: &Provider) -> Option<Preservation> {
        let node = self.node.as_ref().map(Draft::get);
        provider.preserves().then(|| Preservation::of(self.machine.get(), node))
    }

    /// Returns the Machine as input of the MachineSet's rules.
    fn member(&self, provider: &Provider, now: DateTime<Utc>) -> Member {
        let machine = self.machine.get();
        let phase = Phase::of(&machine.status.current_status.phase);
        let priority = parsed_annotation(&machine.metadata, annotation::MACHINE_PRIORITY);
        let phase = if machine.metadata.is_being_deleted() { Phase::Terminating } else { phase };
        let standing = self.preservation(provider).map(|preservation| preservation.standing(phase, now));
        Member {
            name: machine.metadata.name.clone(),
            phase,
            created: machine.metadata.creation_timestamp,
            priority: priority.unwrap_or(DEFAULT_PRIORITY),
            is_updated_in_place: machine.metadata.label(label::UPDATE_RESULT) == Some("successful"),
            standing: standing.unwrap_or_default(),
        }
    }

    /// Returns the position among the Machines of its MachineDeployment.
    pub(super) fn position(&self) -> Position {
        let metadata = &self.machine.get().metadata;
        (metadata.creation_timestamp, metadata.name.clone())
    }

    /// Returns the state that the roster stores.
    pub(super) fn entry(&self, provider: &Provider, now: DateTime<Utc>) -> Entry {
        let machine = self.machine.get();
        let member = self.member(provider, now);
        let is_preserved = member.phase == Phase::Failed && member.standing.expiry.is_some();
        let has_failed = machine.status.last_operation.state == "Failed" && !is_preserved;
        let failure = has_failed.then(|| MachineSummary {
            name: machine.metadata.name.clone(),
            provider_id: machine.spec.provider_id.clone(),
            last_operation: machine.status.last_operation.clone(),
            owner_ref: self.set.clone(),
        });
        Entry {
            set: self.set.clone(),
            member,
            ordinal: self.ordinal().unwrap_or_default(),
            update: self.node.as_ref().map(|node| Update::of(node.get())),
            failure,
        }
    }

    /// Returns the ordinal in the order of creation.
    pub(super) fn ordinal(&self) -> Option<i32> {
        parsed_annotation(&self.machine.get().metadata, annotation::MACHINE_ORDINAL)
    }

    /// Copies the fields of the set's template that apply to existing machines.
    pub(super) fn follow_template(&mut self, set: &MachineSet) {
        let machine = self.machine.get();
        if machine.metadata.is_being_deleted() {
            return;
        }
        let template = &set.spec.template.spec;
        let wanted = MachineSpec {
            class: ClassSpec { kind: template.class.kind.clone(), ..machine.spec.class.clone() },
            provider_id: machine.spec.provider_id.clone(),
            ..template.clone()
        };
        if machine.spec != wanted {
            self.machine.edit().spec = wanted;
        }
    }

    /// True if the Machine has had a Node.
    fn has_joined(&self) -> bool {
        !self.machine.get().status.conditions.is_empty()
    }

    pub(super) fn set_status(&mut self, phase: Phase, operation: Operation, timeout_active: bool, now: Time) {
        let status = &mut self.machine.edit().status;
        if status.current_status.phase != phase.as_str() {
            phase.as_str().clone_into(&mut status.current_status.phase);
            status.current_status.last_update_time = now;
            if !matches!(phase, Phase::Running | Phase::Unknown | Phase::Failed) {
                status.current_status.preserve_expiry_time = None;
            }
        }
        status.current_status.timeout_active = timeout_active;
        self.set_operation(operation, now);
    }

    fn set_operation(&mut self, operation: Operation, now: Time) {
        self.machine.edit().status.last_operation = LastOperation {
            description: operation.description,
            error_code: operation.code,
            last_update_time: now,
            state: operation.state,
            r#type: operation.type_,
        };
    }

    pub(super) fn add_taint(&mut self, taint: &Taint) {
        let Some(draft) = &mut self.node else { return };
        let mut taints = draft.get().spec.taints.clone();
        if node::add_taint(&mut taints, taint.clone()) {
            draft.edit().spec.taints = taints;
        }
    }

    pub(super) fn disable_scale_down(&mut self) {
        let Some(draft) = &mut self.node else { return };
        if draft.get().metadata.annotations.contains_key(annotation::SCALE_DOWN_DISABLED) {
            return;
        }
        let annotations = &mut draft.edit().metadata.annotations;
        annotations.insert(annotation::SCALE_DOWN_DISABLED.to_owned(), "true".to_owned());
        annotations.insert(annotation::SCALE_DOWN_DISABLED_BY_MCM.to_owned(), "true".to_owned());
    }

    pub(super) fn enable_scale_down(&mut self) {
        let is_preserved = self.machine.get().status.current_status.preserve_expiry_time.is_some();
        let Some(draft) = self.node.as_mut().filter(|_| !is_preserved) else { return };
        if draft.get().metadata.annotations.contains_key(annotation::SCALE_DOWN_DISABLED_BY_MCM) {
            let annotations = &mut draft.edit().metadata.annotations;
            annotations.remove(annotation::SCALE_DOWN_DISABLED);
            annotations.remove(annotation::SCALE_DOWN_DISABLED_BY_MCM);
        }
    }

    /// Returns Machine and Node as inputs of the rules of its life cycle.
    fn observe(&self, provider: &Provider, others_are_replaced: bool, trouble: Trouble) -> Observed {
        let arguments = &provider.arguments;
        let machine = self.machine.get();
        let status = &machine.status;
        let spec = &machine.spec;
        let operation = &status.last_operation;
        let update = self.node.as_ref().map(|node| Update::of(node.get()));
        let observed = machine::Machine {
            name: machine.metadata.name.clone(),
            phase: Phase::of(&status.current_status.phase),
            created: machine.metadata.creation_timestamp.0,
            phase_since: status.current_status.last_update_time.0,
            deleting: machine.metadata.deletion_timestamp.map(|since| since.0),
            force_deletion: machine.metadata.label(label::MACHINE_FORCE_DELETION) == Some("True"),
            force_drain: machine.metadata.label(label::MACHINE_FORCE_DRAIN) == Some("True"),
            selected: update.filter(|update| update.reason == Some(Reason::SelectedForUpdate)).and_then(|it| it.since),
            has_vm: !spec.provider_id.is_empty(),
            has_joined: self.has_joined(),
            conditions: status.conditions.clone(),
            operation: Operation {
                type_: operation.r#type.clone(),
                state: operation.state.clone(),
                description: operation.description.clone(),
                code: operation.error_code.clone(),
            },
            error_code: operation.error_code.clone(),
            operation_since: operation.last_update_time.0,
            settings: arguments.settings(spec),
            others_are_replaced,
            trouble,
            preservation: self.preservation(provider),
        };
        let unhealthy_if = arguments.unhealthy_if(spec);
        Observed { machine: observed, node: self.node.as_ref().map(|draft| observe_node(draft.get(), &unhealthy_if)) }
    }

    /// Writes the Machine that will be drained, then its Node.
    async fn save_for_drain(&mut self, provider: &Provider, cluster: &str) -> Result<(), Error> {
        self.save_machine(provider).await?;
        match &mut self.node {
            Some(node) => node.save(&provider.node_api(cluster)).await,
            None => Ok(()),
        }
    }

    /// Writes Node and Machine.
    pub(super) async fn save(&mut self, provider: &Provider, cluster: &str) -> Result<(), Error> {
        if let Some(node) = &mut self.node {
            node.save(&provider.node_api(cluster)).await?;
        }
        self.save_machine(provider).await
    }

    async fn save_machine(&mut self, provider: &Provider) -> Result<(), Error> {
        self.machine.save(&provider.api_of(&provider.machines)).await
    }
}

/// A Machine and its Node, as inputs of the rules.
struct Observed {
    machine: machine::Machine,
    node: Option<machine::Node>,
}

fn observe_node(node: &Node, unhealthy_if: &[&str]) -> machine::Node {
    let conditions = &node.status.conditions;
    let find = |type_: &str| conditions.iter().find(|condition| condition.r#type == type_);
    let since = |condition: &NodeCondition| condition.last_transition_time.0;
    let ready = find(node::READY);
    let unready = ready.filter(|ready| ready.status != "True").map(since);
    let read_only = find("ReadonlyFilesystem").filter(|condition| condition.status != "False").map(since);
    let pairs: Vec<(&str, &str)> =
        conditions.iter().map(|condition| (condition.r#type.as_str(), condition.status.as_str())).collect();
    machine::Node {
        created: node.metadata.creation_timestamp.0,
        ready_since: ready.filter(|ready| ready.status == "True").map(since),
        is_healthy: machine::is_healthy(&pairs, unhealthy_if),
        lost_since: [unready, read_only].into_iter().flatten().min(),
        critical_components_missing: node
            .spec
            .taints
            .iter()
            .any(|taint| taint.key == taint::CRITICAL_COMPONENTS_NOT_READY),
        unschedulable: node.spec.unschedulable,
        is_terminating: find(node::TERMINATING).is_some(),
        update: Update::of(node),
    }
}

impl Family<'_> {
    /// Executes the due steps of the changed Machines, and of their Nodes. Returns true if anything changed that
    /// requires another round.
    pub(super) async fn machine_steps(&mut self) -> Result<bool, Error> {
        let mut changed = false;
        let mut again = BTreeSet::new();
        for position in std::mem::take(&mut self.todo) {
            changed |= self.let_hit_now(&position).await?;
            let (acted, until) = self.machine_step(&position).await?;
            changed |= acted;
            let Some(individual) = self.machines.get(&position) else { continue };
            if individual.set.is_empty() {
                self.drop_machine(&position);
                continue;
            }
            let agent = self.node_agent_step(&position).await?;
            changed |= agent.changed;
            if let Some(individual) = self.machines.get_mut(&position) {
                individual.mirror_node();
            }
            self.note(&position);
            let next = [until, agent.again, self.next_trouble()].into_iter().flatten().min();
            self.roster.set_timer(&position.1, next);
            if acted || agent.changed {
                again.insert(position);
            }
        }
        if changed {
            for name in self.roster.held.clone() {
                if let Some(individual) = self.load(&name) {
                    again.insert(individual.position());
                }
            }
        }
        self.todo = again;
        Ok(changed)
    }

    /// Executes one step of a Machine. Returns true if it did anything, and the instant at which the Machine changes by
    /// itself.
    async fn machine_step(&mut self, position: &Position) -> Result<(bool, Option<DateTime<Utc>>), Error> {
        let Some(individual) = self.machines.get(position) else { return Ok((false, None)) };
        let provider = self.provider;
        let trouble = self.trouble(individual);
        let others = self.roster.in_replacement() > 0;
        let Observed { machine, node } = individual.observe(provider, others, trouble);
        let uid = individual.machine.get().metadata.uid.clone();
        let duration = |parameter| provider.duration(parameter, &uid, 0);
        let mut step = machine::step(&machine, node.as_ref(), duration, self.now);
        if let Step::Drain { forced } = step {
            step = self.drain(&machine, forced, &uid).await?;
        }
        if step == Step::Held {
            self.roster.held.insert(position.1.clone());
        } else {
            self.roster.held.remove(&position.1);
        }
        let preserved_until = machine.preserved_until(self.now);
        match step {
            Step::Rest | Step::Held | Step::Drain { .. } => Ok((false, preserved_until)),
            Step::Wait { until, .. } => Ok((false, preserved_until.into_iter().chain([until]).min())),
            Step::Act(actions) => {
                for action in actions {
                    if let Action::Hit(fault) = action {
                        if !self.let_hit(position, fault).await? {
                            break;
                        }
                    } else {
                        self.act(position, action).await?;
                    }
                }
                self.note(position);
                Ok((true, None))
            }
        }
    }

    async fn act(&mut self, position: &Position, action: Action) -> Result<(), Error> {
        let provider = self.provider;
        let now = Time::from(self.now);
        let class = self.class_of(position);
        let Some(individual) = self.machines.get_mut(position) else { return Ok(()) };
        match action {
            Action::CreateBootstrapToken => {
                tokens::create(provider, &self.namespace, individual.machine.get(), self.now).await?;
            }
            Action::DeleteBootstrapToken => {
                tokens::delete(provider, &self.namespace, individual.machine.get()).await?;
            }
            Action::RecordVm => {
                let provider_id = nodes::provider_id(individual.machine.get(), class.as_deref());
                let machine = individual.machine.edit();
                let name = machine.metadata.name.clone();
                machine.metadata.labels.insert(label::MACHINE_NODE.to_owned(), name);
                let priority = DEFAULT_PRIORITY.to_string();
                machine.metadata.annotations.insert(annotation::MACHINE_PRIORITY.to_owned(), priority);
                machine.spec.provider_id = provider_id;
            }
            Action::SetStatus { phase, operation, timeout_active } => {
                individual.set_status(phase, operation, timeout_active, now);
                // The Machine is replaced in the same pass; its failure is reported first.
                if phase == Phase::Failed {
                    individual.save(provider, &self.namespace).await?;
                }
            }
            Action::SetOperation(operation) => individual.set_operation(operation, now),
            Action::Hit(_) => {}
            Action::RegisterNode => {
                // The VM is recorded before its Node is created.
                individual.save_machine(provider).await?;
                self.register_node(position, class.as_deref()).await?;
            }
            Action::MarkNodeReady => {
                if let Some(node) = &mut individual.node {
                    node::become_ready(&mut node.edit().status.conditions, now);
                    // The taints of registration are removed afterwards, in a second write: a Node that is neither
                    // Ready nor new is lost, and kube-controller-manager taints it.
                    node.save(&provider.node_api(&self.namespace)).await?;
                }
            }
            Action::RemoveCriticalTaint => {
                if let Some(node) = &mut individual.node {
                    node.edit().spec.taints.retain(|taint| taint.key != taint::CRITICAL_COMPONENTS_NOT_READY);
                }
            }
            Action::Cordon => {
                if let Some(node) = &mut individual.node {
                    let node = node.edit();
                    node.spec.unschedulable = true;
                    node::add_taint(&mut node.spec.taints, node::taint(taint::UNSCHEDULABLE, "", "NoSchedule"));
                }
                // The cordon is written before pods are evicted.
                individual.save_for_drain(provider, &self.namespace).await?;
            }
            Action::SetUpdate(reason) => {
                if let Some(node) = &mut individual.node {
                    let node = node.edit();
                    let failure = Update::of(node).failure;
                    in_place::set_condition(&mut node.status.conditions, reason, &failure, now);
                }
                if reason == Reason::DrainSuccessful {
                    self.drains.forget(&self.namespace, &position.1);
                }
            }
            Action::Preserve(change) => {
                let phase = Phase::of(&individual.machine.get().status.current_status.phase);
                let timeout = provider.arguments.settings(&individual.machine.get().spec).preserve_timeout;
                if let Some(node) = &mut individual.node {
                    preservation::change_node(&change, node.edit(), phase, self.now);
                }
                preservation::change_machine(&change, individual.machine.edit(), self.now + timeout, self.now);
                if matches!(change, Change::Stop { .. }) {
                    self.drains.forget(&self.namespace, &position.1);
                }
            }
            Action::MarkTerminating => {
                if let Some(node) = &mut individual.node {
                    let node = node.edit();
                    if !node.status.conditions.iter().any(|condition| condition.r#type == node::TERMINATING) {
                        node.status.conditions.push(node::terminating_condition(false, now));
                    }
                }
                individual.save_for_drain(provider, &self.namespace).await?;
            }
            Action::DeleteNode => {
                // The deletion of the VM is recorded before its Node is deleted.
                individual.save_machine(provider).await?;
                if let Some(node) = individual.node.take() {
                    provider.node_api(&self.namespace).delete_object(node.get(), false, None).await?;
                }
            }
            Action::RemoveFinalizer => {
                if individual.node.is_none() && !individual.has_joined() {
                    tokens::delete(provider, &self.namespace, individual.machine.get()).await?;
                }
                individual
                    .machine
                    .edit()
                    .metadata
                    .finalizers
                    .retain(|finalizer| finalizer != finalizer::MACHINE_CONTROLLER_MANAGER);
                individual.save_machine(provider).await?;
                // Machines without a set are dropped from the family.
                individual.set.clear();
                self.drains.forget(&self.namespace, &position.1);
            }
        }
        Ok(())
    }

    /// Returns the class that determines the software of a machine: the newest one for machines that are updated in
    /// place.
    pub(super) fn configured_class(&self, position: &Position) -> Option<Arc<MachineClass>> {
        if !self.is_updated_in_place() {
            return self.class_of(position);
        }
        let class = &self.deployment.get().spec.template.spec.class.name;
        self.provider.classes.get(&self.provider.seed_key(&self.namespace, class))
    }

    pub(super) fn class_of(&self, position: &Position) -> Option<Arc<MachineClass>> {
        let machine = self.machines.get(position)?.machine.get();
        self.provider.classes.get(&self.provider.seed_key(&self.namespace, &machine.spec.class.name))
    }
}

impl Individual {
    /// Copies the Node's conditions into the Machine, and applies the Machine's template to the Node. A Node that is
    /// Ready counts as initialized.
    fn mirror_node(&mut self) {
        let machine = self.machine.get();
        let Some(draft) = &mut self.node else { return };
        let node = draft.get();
        if node::is_ready(&node.status.conditions)
            && node.spec.taints.iter().any(|taint| taint.key == taint::UNINITIALIZED)
        {
            let taints = &mut draft.edit().spec.taints;
            taints.retain(|taint| taint.key != taint::NOT_READY && taint.key != taint::UNINITIALIZED);
        }
        if !machine.metadata.is_being_deleted() {
            let node = draft.get();
            let mut metadata = node.metadata.clone();
            let mut taints = node.spec.taints.clone();
            if node::synchronize(&mut metadata, &mut taints, &machine.spec.node_template) {
                let node = draft.edit();
                node.metadata = metadata;
                node.spec.taints = taints;
            }
        }
        if machine.status.conditions != draft.get().status.conditions {
            let conditions = draft.get().status.conditions.clone();
            self.machine.edit().status.conditions = conditions;
        }
    }
}
