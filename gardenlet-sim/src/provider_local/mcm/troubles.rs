// SPDX-License-Identifier: Apache-2.0
//! Faults of Machines and their Nodes: lookup, counting, and recording of lasting ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, label};
use api::core::Shoot;
use api::kubernetes::core::Node;
use api::terrarium::Fault as FaultObject;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use controller::{Api, Error};
use domain::fault::{self, MachineFacts};
use domain::rollout::machine::{Fault, Trouble};
use domain::rollout::node;

use super::family::{Family, Position};
use super::machines::Individual;

/// Returns the kinds of faults that a step is subject to.
fn kinds(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::CreateError => &[fault::CREATE_ERROR, fault::QUOTA_EXCEEDED, fault::PROVIDER_OUTAGE],
        Fault::NeverJoins => &[fault::NEVER_JOINS],
        Fault::JoinsNotReady => &[fault::JOINS_NOT_READY],
        Fault::CriticalComponentsStuck => &[fault::CRITICAL_COMPONENTS_STUCK],
        Fault::VmDeleteError => &[fault::VM_DELETE_ERROR, fault::PROVIDER_OUTAGE],
    }
}

/// Faults that are permanent for a Machine once they have hit it.
const FOR_GOOD: [Fault; 3] = [Fault::NeverJoins, Fault::JoinsNotReady, Fault::CriticalComponentsStuck];

impl Family<'_> {
    /// True if there are any faults.
    fn has_faults(&self) -> bool {
        !self.provider.faults.is_empty()
    }

    /// Returns the active faults of some kinds that hit a Machine, by name.
    pub(super) fn faults_of(&self, machine: &str, kinds: &[&str]) -> Vec<Arc<FaultObject>> {
        if !self.has_faults() {
            return Vec::new();
        }
        let shoot = self.provider.shoot(&self.namespace);
        let mut faults = self.provider.faults.list_in(cluster::RUNTIME, "");
        faults.retain(|fault| kinds.iter().any(|kind| self.hits(fault, kind, machine, shoot.as_deref())));
        faults
    }

    pub(super) fn is_hit(&self, machine: &str, kind: &str) -> bool {
        !self.faults_of(machine, &[kind]).is_empty()
    }

    fn hits(&self, fault: &FaultObject, kind: &str, machine: &str, shoot: Option<&Shoot>) -> bool {
        let deployment = &self.deployment.get().metadata;
        let zone = deployment.name.rsplit_once("-z").and_then(|(_, zone)| zone.parse().ok());
        let ordinal = self.individual(machine).and_then(Individual::ordinal);
        let shoot = shoot.map(|shoot| (shoot.metadata.namespace.as_str(), shoot.metadata.name.as_str()));
        let pool = deployment.label(label::WORKER_POOL).unwrap_or_default();
        fault::hits_machine(fault, kind, MachineFacts { shoot, pool, zone, ordinal, name: machine }, self.now)
    }

    /// Returns the faults that currently apply to a Machine.
    pub(super) fn trouble(&self, individual: &Individual) -> Trouble {
        let metadata = &individual.machine.get().metadata;
        let lasting: Vec<Fault> = match metadata.annotation(annotation::FAULTS) {
            Some(text) => {
                FOR_GOOD.into_iter().filter(|fault| text.split(',').any(|name| name == kinds(*fault)[0])).collect()
            }
            None => Vec::new(),
        };
        if lasting.is_empty() && !self.has_faults() {
            return Trouble::default();
        }
        let name = &metadata.name;
        let is_met = |fault: Fault| lasting.contains(&fault) || self.is_hit(name, kinds(fault)[0]);
        let has_vm = !individual.machine.get().spec.provider_id.is_empty();
        let error = |fault: Fault| {
            let faults = self.faults_of(name, kinds(fault));
            faults.iter().find(|fault| self.is_reached(fault)).map(|fault| fault::provider_error(fault))
        };
        let unhealthy = self.faults_of(name, &[fault::NODE_UNHEALTHY]);
        Trouble {
            create_error: if has_vm { None } else { error(Fault::CreateError) },
            never_joins: is_met(Fault::NeverJoins),
            joins_not_ready: is_met(Fault::JoinsNotReady),
            critical_components_stuck: is_met(Fault::CriticalComponentsStuck),
            vm_delete_error: if has_vm { error(Fault::VmDeleteError) } else { None },
            unhealthy: unhealthy.iter().any(|fault| fault::unhealthy_condition(fault).0 == node::READY),
            lasting,
        }
    }

    /// True unless the fault is a quota that is not reached: it applies from a number of VMs, of the Shoot that the
    /// fault names, or of all.
    fn is_reached(&self, fault: &FaultObject) -> bool {
        if fault.spec.kind != fault::QUOTA_EXCEEDED {
            return true;
        }
        let max = fault.spec.settings.get(fault::MAX).and_then(|max| max.parse().ok()).unwrap_or(usize::MAX);
        let machines = match fault.spec.shoot {
            Some(_) => self.provider.machines.list_in(&self.provider.seed, &self.namespace),
            None => self.provider.machines.list(),
        };
        let others = machines.iter().filter(|machine| !machine.spec.provider_id.is_empty()).count();
        let own = self.machines.values().map(|individual| individual.machine.get());
        let fresh = own.filter(|machine| {
            let is_known = machines
                .iter()
                .any(|known| known.metadata.uid == machine.metadata.uid && !known.spec.provider_id.is_empty());
            !machine.spec.provider_id.is_empty() && !is_known
        });
        others + fresh.count() >= max
    }

    /// Applies a fault: counts a hit, and records it if it is permanent. `false`: no fault applies any more.
    pub(super) async fn let_hit(&mut self, position: &Position, fault: Fault) -> Result<bool, Error> {
        for known in self.faults_of(&position.1, kinds(fault)) {
            if !self.is_reached(&known) || !self.count(&known, &position.1).await? {
                continue;
            }
            if let Some(individual) = self.machines.get_mut(position).filter(|_| FOR_GOOD.contains(&fault)) {
                let annotations = &mut individual.machine.edit().metadata.annotations;
                let text = annotations.get_or_insert(annotation::FAULTS, String::new);
                *text = if text.is_empty() { known.spec.kind.clone() } else { format!("{text},{}", known.spec.kind) };
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Records that a lasting fault affects a Machine.
    pub(super) async fn note_fault(&self, known: &FaultObject, machine: &str) -> Result<(), Error> {
        let Some(status) = fault::note_machine(known, machine, self.now) else { return Ok(()) };
        match self.fault_api().update_status(known, &FaultObject { status, ..known.clone() }).await {
            // The fault was recorded for another Machine in the meantime, or deleted.
            Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
            result => result.map(drop),
        }
    }

    fn fault_api(&self) -> Api<FaultObject> {
        Api::all(&self.provider.context, cluster::RUNTIME).with_store(&self.provider.faults)
    }

    /// True if a lasting fault of a kind affects a Machine; this is recorded.
    pub(super) async fn acts(&self, machine: &str, kind: &str) -> Result<bool, Error> {
        let faults = self.faults_of(machine, &[kind]);
        for known in &faults {
            self.note_fault(known, machine).await?;
        }
        Ok(!faults.is_empty())
    }

    /// Counts a hit; false if the fault no longer hits. A fault that lasts until it is cleared is recorded instead.
    pub(super) async fn count(&self, known: &Arc<FaultObject>, machine: &str) -> Result<bool, Error> {
        let lasts = fault::kind(&known.spec.kind).is_some_and(|kind| kind.lasts);
        if lasts {
            self.note_fault(known, machine).await?;
            return Ok(true);
        }
        let shoot = self.provider.shoot(&self.namespace);
        let api = self.fault_api();
        loop {
            let Some(present) = api.get_shared(&known.metadata.name).await? else { return Ok(false) };
            if !self.hits(&present, &known.spec.kind, machine, shoot.as_deref()) {
                return Ok(false);
            }
            let status = fault::hit_machine(&present, machine, Time::from_instant(self.now));
            let new = FaultObject { status, ..FaultObject::clone(&present) };
            match api.update_status(&present, &new).await {
                // Another object was hit in the meantime.
                Err(error) if error.is_conflict() => {}
                Err(error) if error.is_not_found() => return Ok(false),
                result => return result.map(|_| true),
            }
        }
    }

    /// Applies faults that do not depend on a step: deletion of Nodes, and conditions of Nodes. Returns true if
    /// anything changed.
    pub(super) async fn let_hit_now(&mut self, position: &Position) -> Result<bool, Error> {
        let name = position.1.clone();
        let is_marked = |node: &Node| node.metadata.annotations.contains_key(annotation::FAULTS);
        let is_concerned = self.has_faults()
            || self.individual(&name).and_then(|it| it.node.as_ref()).is_some_and(|node| is_marked(node.get()));
        if !is_concerned {
            return Ok(false);
        }
        for known in self.faults_of(&name, &[fault::NODE_OBJECT_DELETED]) {
            let has_node = self.individual(&name).is_some_and(|individual| individual.node.is_some());
            if has_node && self.count(&known, &name).await? {
                let node = self.machines.get_mut(position).and_then(|individual| individual.node.take());
                if let Some(node) = node {
                    self.provider.node_api(&self.namespace).delete_object(node.get(), false, None).await?;
                }
                return Ok(true);
            }
        }
        let faults = self.faults_of(&name, &[fault::NODE_UNHEALTHY]);
        let wanted: Vec<(&str, &str)> = faults.iter().map(|fault| fault::unhealthy_condition(fault)).collect();
        let now = Time::from_instant(self.now);
        let draft = self.machines.get_mut(position).and_then(|individual| individual.node.as_mut());
        let Some(draft) = draft else { return Ok(false) };
        let mut node = draft.get().clone();
        let marked = node.metadata.annotations.get(annotation::FAULTS).cloned().unwrap_or_default();
        for type_ in marked.split(',').filter(|type_| !type_.is_empty()) {
            if !wanted.iter().any(|(wanted, _)| *wanted == type_) {
                node::recover(&mut node.status.conditions, type_, now);
            }
        }
        // A Node that was never Ready cannot become unready.
        let was_ready = !node.spec.taints.iter().any(|taint| taint.key == api::constants::taint::UNINITIALIZED);
        let mut types = BTreeSet::new();
        for (type_, status) in wanted {
            if type_ == node::READY && !was_ready {
                continue;
            }
            node::fail(&mut node.status.conditions, type_, status, now);
            types.insert(type_);
        }
        let marks = types.into_iter().collect::<Vec<_>>().join(",");
        if marks.is_empty() {
            node.metadata.annotations.remove(annotation::FAULTS);
        } else {
            node.metadata.annotations.insert(annotation::FAULTS.to_owned(), marks);
        }
        if node == *draft.get() {
            return Ok(false);
        }
        *draft.edit() = node;
        for known in &faults {
            self.note_fault(known, &name).await?;
        }
        Ok(true)
    }

    /// Returns the next instant at which a fault ends: then its Machines are examined again.
    pub(super) fn next_trouble(&self) -> Option<DateTime<Utc>> {
        if !self.has_faults() {
            return None;
        }
        let faults = self.provider.faults.list_in(cluster::RUNTIME, "");
        let ends = faults.iter().filter_map(|fault| fault.spec.until).map(|until| until.0);
        ends.filter(|until| *until > self.now).min()
    }

    /// Returns a loaded Machine.
    pub(super) fn individual(&self, name: &str) -> Option<&Individual> {
        self.machines.get(self.position_of(name)?)
    }
}
