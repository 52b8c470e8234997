// SPDX-License-Identifier: Apache-2.0
//! Updates in place in the simulated world: labels of nodes, and their agents.

use domain::rollout::deployment::{InPlace, Set, Step};
use domain::rollout::in_place::{Outcome, Reason, Update};

use super::{Physics, SimulatedDeployment, SimulatedMachine, SimulatedPod, WorldFaultKind, instant};

/// Agent of a node.
#[derive(Clone, Copy, Default)]
pub(super) struct Agent {
    /// Template that the node runs.
    runs: u32,
    /// Start of the work on another template, and that template.
    since: Option<(i64, u32)>,
    /// Template that was rolled back.
    rolled_back: Option<u32>,
}

impl Agent {
    /// Returns the agent of a node that runs a template.
    pub(super) fn of(template: u32) -> Self {
        Self { runs: template, ..Self::default() }
    }
}

impl SimulatedDeployment {
    /// Returns the inputs of a pass for the machines of a set.
    pub(super) fn in_place(&self, set: &Set) -> InPlace {
        let of_set = || self.machines.iter().filter(|machine| machine.set == set.name);
        let update =
            |machine: &SimulatedMachine| machine.node.as_ref().map(|node| node.update.clone()).unwrap_or_default();
        let names = |is: &dyn Fn(&Update) -> bool| {
            let found = of_set().filter(|machine| is(&update(machine)));
            found.map(|machine| machine.machine.name.clone()).collect::<Vec<_>>()
        };
        let count = |is: &dyn Fn(&SimulatedMachine) -> bool| of_set().filter(|machine| is(machine)).count();
        let number = |count: usize| i32::try_from(count).expect("few machines");
        InPlace {
            scale_up_disabled: set.in_place.scale_up_disabled,
            unmarked: count(&|machine| machine.node.is_some() && !update(machine).candidate),
            undergoing: number(count(&|machine| update(machine).selected)),
            candidates: names(&|update| update.candidate && !update.selected),
            updated: names(&Update::is_done),
            without_node: number(count(&|machine| machine.node.is_none())),
            arrived: number(count(&|machine| machine.arrived)),
            uncleared: names(&Update::is_done),
        }
    }

    /// Executes a step of an update in place.
    pub(super) fn take_in_place(&mut self, step: Step) {
        let template = self.template;
        let new = self.sets.iter().find(|(of, _)| *of == template).map(|(_, set)| set.name.clone());
        let is_meant = |machine: &SimulatedMachine, names: &[String]| names.contains(&machine.machine.name);
        match step {
            Step::MarkCandidates { set } => {
                let machines = self.machines.iter_mut().filter(|machine| machine.set == set);
                machines.filter_map(|machine| machine.node.as_mut()).for_each(|node| node.update.candidate = true);
            }
            Step::Select { machine: name } => {
                let machines = self.machines.iter_mut().filter(|machine| machine.machine.name == name);
                machines.filter_map(|machine| machine.node.as_mut()).for_each(|node| node.update.selected = true);
            }
            Step::HandOver { set, machines: names } => {
                let new = new.expect("there is a new set");
                let count = i32::try_from(names.len()).expect("few machines");
                for machine in self.machines.iter_mut().filter(|machine| is_meant(machine, &names)) {
                    assert_eq!(machine.set, set);
                    machine.set.clone_from(&new);
                    machine.arrived = true;
                    machine.node.as_mut().expect("a node").unschedulable = false;
                }
                self.set(&set).replicas -= count;
                self.set(&new).replicas += count;
            }
            Step::Settle { set } => {
                self.machines
                    .iter_mut()
                    .filter(|machine| machine.set == set)
                    .for_each(|machine| machine.arrived = false);
            }
            Step::ClearNode { machine: name } => {
                for machine in self.machines.iter_mut().filter(|machine| machine.machine.name == name) {
                    let node = machine.node.as_mut().expect("a node");
                    let update = std::mem::take(&mut node.update);
                    node.update = Update { reason: update.reason, since: update.since, ..Update::default() };
                    // New pods are scheduled.
                    machine.pod = SimulatedPod::Runs;
                }
            }
            other => unreachable!("{other:?}"),
        }
    }
}

impl SimulatedMachine {
    /// Executes the agent's step. Returns whether it changed anything, and the instant of its next change.
    pub(super) fn update_step(&mut self, template: u32, physics: &Physics<'_>) -> (bool, Option<i64>) {
        let Some(node) = &mut self.node else { return (false, None) };
        let has_failed = node.update.outcome == Some(Outcome::Failed);
        let may = node.update.reason == Some(Reason::ReadyForUpdate) || has_failed;
        if !may || self.agent.runs == template || self.agent.rolled_back == Some(template) {
            self.agent.since = None;
            return (false, None);
        }
        if physics.hit(self.ordinal, |kind| *kind == WorldFaultKind::AgentSilent).is_some() {
            return (false, None);
        }
        let known = self.agent.since.filter(|(_, wanted)| *wanted == template);
        let (since, _) = *self.agent.since.insert(known.unwrap_or((physics.now, template)));
        let longer = physics.hit(self.ordinal, |kind| matches!(kind, WorldFaultKind::InPlaceDuration(_)));
        let duration = match longer.map(|found| &physics.faults[found].kind) {
            Some(WorldFaultKind::InPlaceDuration(seconds)) => *seconds,
            _ => physics.in_place,
        };
        if physics.now < since + duration {
            return (false, Some(since + duration));
        }
        self.agent.since = None;
        if physics.hit(self.ordinal, |kind| *kind == WorldFaultKind::OsUpdateFails).is_some() && !has_failed {
            self.agent.rolled_back = Some(template);
            node.update.outcome = Some(Outcome::Failed);
        } else {
            self.agent.runs = template;
            node.update.outcome = Some(Outcome::Successful);
            node.ready_since = Some(instant(physics.now));
        }
        (true, None)
    }
}
