// SPDX-License-Identifier: Apache-2.0
//! A Machine, its VM and its Node.

use std::sync::Arc;

use api::constants::{annotation, finalizer, label, taint};
use api::kubernetes::core::{Node, Taint};
use api::kubernetes::parsed_annotation;
use api::machine::{ClassSpec, LastOperation, Machine, MachineClass, MachineSet, MachineSpec};
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use controller::{Api, Error};
use domain::rollout::machine::{self, Action, Operation, Phase, Step};
use domain::rollout::machine_set::{DEFAULT_PRIORITY, Member};
use domain::rollout::node;

use super::super::provider::Provider;
use super::family::Family;
use super::{nodes, tokens};
use crate::ledger::Draft;

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

    /// As the MachineSet's rules look at it.
    pub(super) fn member(&self) -> Member {
        let machine = self.machine.get();
        let phase = Phase::of(&machine.status.current_status.phase);
        let priority = parsed_annotation(&machine.metadata, annotation::MACHINE_PRIORITY);
        Member {
            name: machine.metadata.name.clone(),
            phase: if machine.metadata.is_being_deleted() { Phase::Terminating } else { phase },
            created: machine.metadata.creation_timestamp,
            priority: priority.unwrap_or(DEFAULT_PRIORITY),
            is_updated_in_place: machine.metadata.label(label::UPDATE_RESULT) == Some("successful"),
        }
    }

    /// Takes over from the set's template what reaches existing machines.
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

    /// Its Node was there once.
    fn has_joined(&self) -> bool {
        !self.machine.get().status.conditions.is_empty()
    }

    pub(super) fn set_status(&mut self, phase: Phase, operation: Operation, timeout_active: bool, now: Time) {
        let status = &mut self.machine.edit().status;
        if status.current_status.phase != phase.as_str() {
            phase.as_str().clone_into(&mut status.current_status.phase);
            status.current_status.last_update_time = now;
        }
        status.current_status.timeout_active = timeout_active;
        self.set_operation(operation, now);
    }

    fn set_operation(&mut self, operation: Operation, now: Time) {
        self.machine.edit().status.last_operation = LastOperation {
            description: operation.description,
            error_code: String::new(),
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
        let Some(draft) = &mut self.node else { return };
        if draft.get().metadata.annotations.contains_key(annotation::SCALE_DOWN_DISABLED_BY_MCM) {
            let annotations = &mut draft.edit().metadata.annotations;
            annotations.remove(annotation::SCALE_DOWN_DISABLED);
            annotations.remove(annotation::SCALE_DOWN_DISABLED_BY_MCM);
        }
    }

    /// As the rules of its life look at it.
    fn observe(&self) -> (machine::Machine, Option<machine::Node>) {
        let machine = self.machine.get();
        let status = &machine.status;
        let observed = machine::Machine {
            name: machine.metadata.name.clone(),
            phase: Phase::of(&status.current_status.phase),
            created: machine.metadata.creation_timestamp.0,
            phase_since: status.current_status.last_update_time.0,
            deleting: machine.metadata.is_being_deleted(),
            has_vm: !machine.spec.provider_id.is_empty(),
            operation: Operation {
                type_: status.last_operation.r#type.clone(),
                state: status.last_operation.state.clone(),
                description: status.last_operation.description.clone(),
            },
            operation_since: status.last_operation.last_update_time.0,
        };
        let node = self.node.as_ref().map(|draft| {
            let node = draft.get();
            let ready = node.status.conditions.iter().find(|condition| condition.r#type == node::READY);
            machine::Node {
                created: node.metadata.creation_timestamp.0,
                ready_since: ready.filter(|ready| ready.status == "True").map(|ready| ready.last_transition_time.0),
                critical_components_missing: node
                    .spec
                    .taints
                    .iter()
                    .any(|taint| taint.key == taint::CRITICAL_COMPONENTS_NOT_READY),
                unschedulable: node.spec.unschedulable,
                pods_left: 0,
            }
        });
        (observed, node)
    }

    /// Writes Node and Machine.
    pub(super) async fn save(&mut self, provider: &Provider, cluster: &str) -> Result<(), Error> {
        if let Some(node) = &mut self.node {
            node.save(&provider.nodes, &Api::all(&provider.context, cluster), cluster).await?;
        }
        self.machine.save(&provider.machines, &provider.seed_api(cluster), &provider.seed).await
    }
}

impl Family<'_> {
    /// The steps of all Machines and their Nodes that are due. Says whether anything changed that a further pass has to
    /// look at, and the next instant at which something does by itself.
    pub(super) async fn machine_steps(&mut self) -> Result<(bool, Option<DateTime<Utc>>), Error> {
        let (mut changed, mut next) = (false, None);
        let mut index = 0;
        while index < self.machines.len() {
            let (machine, node) = self.machines[index].observe();
            let provider = self.provider;
            let uid = self.machines[index].machine.get().metadata.uid.clone();
            let duration = |parameter| provider.duration(parameter, &uid, 0);
            let until = match machine::step(&machine, node.as_ref(), duration, self.now) {
                Step::Rest => None,
                Step::Wait { until, .. } => Some(until),
                Step::Act(actions) => {
                    changed = true;
                    for action in actions {
                        self.act(index, action).await?;
                    }
                    None
                }
            };
            let agent = self.node_agent_step(index).await?;
            next = [next, until, agent].into_iter().flatten().min();
            if self.machines[index].set.is_empty() {
                self.machines.remove(index);
            } else {
                self.machines[index].mirror_node();
                index += 1;
            }
        }
        Ok((changed, next))
    }

    async fn act(&mut self, index: usize, action: Action) -> Result<(), Error> {
        let provider = self.provider;
        let now = Time::from(self.now);
        let class = self.class_of(index);
        let individual = &mut self.machines[index];
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
            }
            Action::SetOperation(operation) => individual.set_operation(operation, now),
            Action::RegisterNode => self.register_node(index, class.as_deref()).await?,
            Action::MarkNodeReady => {
                if let Some(node) = &mut individual.node {
                    let node = node.edit();
                    node::become_ready(&mut node.status.conditions, now);
                    node.spec.taints.retain(|taint| taint.key != taint::NOT_READY && taint.key != taint::UNINITIALIZED);
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
                    if !node.status.conditions.iter().any(|condition| condition.r#type == "Terminating") {
                        node.status.conditions.push(node::terminating_condition(false, now));
                    }
                }
            }
            Action::DeleteNode => {
                if let Some(node) = individual.node.take() {
                    let api = Api::<Node>::all(&provider.context, &self.namespace);
                    provider.nodes.delete(&api, &self.namespace, node.get()).await?;
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
                individual
                    .machine
                    .save(&provider.machines, &provider.seed_api(&self.namespace), &provider.seed)
                    .await?;
                // The family drops those without a set.
                individual.set.clear();
            }
        }
        Ok(())
    }

    pub(super) fn class_of(&self, index: usize) -> Option<Arc<MachineClass>> {
        let machine = self.machines[index].machine.get();
        self.provider.classes.get(&self.provider.seed_key(&self.namespace, &machine.spec.class.name))
    }
}

impl Individual {
    /// Copies the Node's conditions into the Machine, and brings the Node to the Machine's template.
    fn mirror_node(&mut self) {
        let machine = self.machine.get();
        let Some(draft) = &mut self.node else { return };
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
