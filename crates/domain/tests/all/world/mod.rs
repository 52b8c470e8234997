// SPDX-License-Identifier: Apache-2.0
//! A simulated world of MachineDeployments, MachineSets and Machines as plain values.

mod agent;
mod rules;
mod simulated;
pub(crate) mod trace;

use std::collections::BTreeMap;

use apimachinery::meta::{IntOrString, Time};
use chrono::{DateTime, TimeDelta, Utc};
use domain::rollout::Limits;
use domain::rollout::deployment::{self, Deployment, Set, Step, Strategy};
use domain::rollout::in_place::Reason;
use domain::rollout::machine::{self, Machine, Phase, Settings};
use domain::rollout::machine_set::{self, DEFAULT_PRIORITY, Desired, Member};
use domain::rollout::replicas::Situation;

pub(crate) use self::rules::apply_rule;
use self::simulated::{Physics, SimulatedMachine, SimulatedPod, node};

/// Keys of the vectors' states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) old: i32,
    pub(crate) new: i32,
    pub(crate) total: i32,
    pub(crate) running: i32,
    pub(crate) pending: i32,
    pub(crate) terminating: i32,
    pub(crate) updated: i32,
    pub(crate) failed: i32,
    pub(crate) unknown: i32,
    pub(crate) selected: i32,
    pub(crate) updating: i32,
    pub(crate) update_failed: i32,
}

/// A fault of machines of a MachineDeployment.
#[derive(Clone, Debug)]
pub(crate) struct WorldFault {
    pub(crate) md: String,
    /// Ordinal of the machine; `None`: all machines.
    pub(crate) machine: Option<i64>,
    pub(crate) kind: WorldFaultKind,
    /// Maximum number of hits; `None`: no limit.
    pub(crate) times: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorldFaultKind {
    CreateError(String),
    NeverJoins,
    JoinsNotReady,
    CriticalComponentsStuck,
    Unhealthy,
    NodeDeleted,
    Budget { misconfigured: bool, until: Option<i64> },
    Hangs,
    VmDeleteError(String),
    OsUpdateFails,
    AgentSilent,
    InPlaceDuration(i64),
}

struct SimulatedDeployment {
    deployment: Deployment,
    template: u32,
    sets: Vec<(u32, Set)>,
    machines: Vec<SimulatedMachine>,
    scale_down_disabled: bool,
    created: i64,
    /// Minimum and maximum number of machines of the pool in its zone.
    bounds: (i32, i32),
}

pub(crate) struct World {
    pub(crate) now: i64,
    /// Additional duration for machines of even ordinal, in halves of the usual time.
    pub(crate) uneven: i64,
    join: i64,
    drain: i64,
    delete: i64,
    /// Duration of a node's update in place.
    pub(crate) in_place: i64,
    pub(crate) settings: Settings,
    pub(crate) faults: Vec<WorldFault>,
    /// Names of machines whose pods were deleted without eviction, and the seconds since the deletion.
    forced: Vec<(String, i64)>,
    /// True if machines in deletion are not drained first: they carry the label that forces it.
    is_drain_forced: bool,
    deployments: BTreeMap<String, SimulatedDeployment>,
}

fn instant(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

impl World {
    pub(crate) fn new(join: i64, drain: i64, delete: i64) -> Self {
        Self {
            now: 0,
            uneven: 0,
            join,
            drain,
            delete,
            in_place: 180,
            settings: Settings::default(),
            faults: Vec::new(),
            forced: Vec::new(),
            is_drain_forced: false,
            deployments: BTreeMap::new(),
        }
    }

    /// Adds a MachineDeployment whose machines all run, and are replaced.
    pub(crate) fn add(&mut self, name: &str, replicas: i32, max_surge: IntOrString, max_unavailable: IntOrString) {
        self.add_with(name, replicas, Strategy::Rolling(Limits { max_surge, max_unavailable }));
    }

    /// Adds a MachineDeployment whose machines all run.
    pub(crate) fn add_with(&mut self, name: &str, replicas: i32, strategy: Strategy) {
        let deployment = Deployment { replicas, strategy, paused: false, deleting: false };
        let set = Set {
            name: format!("{name}-0"),
            replicas,
            desired: Some(replicas),
            max: Some(replicas + deployment.surge_for_scaling()),
            ..Set::default()
        };
        let mut simulated = SimulatedDeployment {
            deployment,
            template: 0,
            sets: vec![(0, set.clone())],
            machines: Vec::new(),
            scale_down_disabled: false,
            created: 0,
            bounds: (replicas, replicas),
        };
        for _ in 0..replicas {
            let machine = simulated.create(&set.name, 0);
            machine.machine.phase = Phase::Running;
            machine.machine.has_vm = true;
            machine.machine.has_joined = true;
            machine.node = Some(node(0, true));
            machine.pod = SimulatedPod::Runs;
        }
        self.deployments.insert(name.to_owned(), simulated);
    }

    /// Changes the template of every MachineDeployment.
    pub(crate) fn change_template(&mut self) {
        for simulated in self.deployments.values_mut() {
            simulated.template += 1;
        }
    }

    pub(crate) fn scale(&mut self, replicas: i32) {
        for simulated in self.deployments.values_mut() {
            simulated.deployment.replicas = replicas;
        }
    }

    pub(crate) fn set_bounds(&mut self, name: &str, minimum: i32, maximum: i32) {
        self.deployments.get_mut(name).expect("the name is of this world").bounds = (minimum, maximum);
    }

    /// Hibernates the Shoot, or wakes it up.
    pub(crate) fn hibernate(&mut self, hibernated: bool) {
        self.is_drain_forced = hibernated;
        let all_existing_are_zero = self.deployments.values().all(|simulated| simulated.deployment.replicas == 0);
        let autoscaled = self.deployments.values().any(|simulated| simulated.bounds.1 > simulated.bounds.0);
        for simulated in self.deployments.values_mut() {
            let situation = Situation {
                hibernated,
                autoscaled,
                existing: Some(simulated.deployment.replicas),
                restored: None,
                all_existing_are_zero,
                minimum: simulated.bounds.0,
                maximum: simulated.bounds.1,
            };
            simulated.deployment.replicas = situation.replicas();
        }
    }

    /// Labels nodes as selected, by the ordinals of their machines.
    pub(crate) fn select(&mut self, ordinals: &[i64]) {
        for simulated in self.deployments.values_mut() {
            let machines = simulated.machines.iter_mut().filter(|machine| ordinals.contains(&machine.ordinal));
            machines.filter_map(|machine| machine.node.as_mut()).for_each(|node| node.update.selected = true);
        }
    }

    /// Returns the machine of an ordinal.
    pub(crate) fn machine(&self, ordinal: i64) -> &Machine {
        let mut machines = self.deployments.values().flat_map(|simulated| &simulated.machines);
        &machines.find(|machine| machine.ordinal == ordinal).expect("there is such a machine").machine
    }

    /// Returns the names of all machines, in order.
    pub(crate) fn machine_names(&self) -> Vec<String> {
        let machines = self.deployments.values().flat_map(|simulated| &simulated.machines);
        machines.map(|simulated| simulated.machine.name.clone()).collect()
    }

    pub(crate) fn limits(&self, name: &str) -> (i32, i32) {
        self.deployments[name].deployment.limits()
    }

    pub(crate) fn counts(&self) -> Vec<(String, Counts)> {
        self.deployments.iter().map(|(name, simulated)| (name.clone(), simulated.counts())).collect()
    }

    /// Returns the number of machines that were ever created.
    pub(crate) fn created(&self) -> i64 {
        self.deployments.values().map(|simulated| simulated.created).sum()
    }

    /// Returns machines whose pod was deleted without eviction.
    pub(crate) fn forced(&self) -> &[(String, i64)] {
        &self.forced
    }

    /// True if no old set is left, and the cluster-autoscaler may remove nodes.
    pub(crate) fn is_clean(&self) -> bool {
        self.deployments.values().all(|simulated| simulated.sets.len() == 1 && !simulated.scale_down_disabled)
    }

    pub(crate) fn settle(&mut self) -> Option<i64> {
        self.settle_checked(|_| ())
    }

    /// Runs passes until none changes anything, with a check after each; returns the next instant of a change.
    pub(crate) fn settle_checked(&mut self, mut check: impl FnMut(&Counts)) -> Option<i64> {
        let mut next: Option<i64> = None;
        let names: Vec<String> = self.deployments.keys().cloned().collect();
        for name in names {
            for round in 0.. {
                assert!(round < 100, "{name} does not settle");
                let (changed, wake) = self.round(&name);
                check(&self.deployments[&name].counts());
                if !changed {
                    next = next.into_iter().chain(wake).min();
                    break;
                }
            }
        }
        next
    }

    fn round(&mut self, name: &str) -> (bool, Option<i64>) {
        let mut physics = Physics {
            now: self.now,
            join: self.join,
            drain: self.drain,
            delete: self.delete,
            in_place: self.in_place,
            uneven: self.uneven,
            is_drain_forced: self.is_drain_forced,
            settings: &self.settings,
            faults: &mut self.faults,
            forced: &mut self.forced,
            md: name,
        };
        let simulated = self.deployments.get_mut(name).expect("the name is of this world");
        let mut changed = simulated.deployment_pass(name, self.now);
        changed |= simulated.set_passes(self.now);
        let (machines_changed, wake) = simulated.machine_steps(&mut physics);
        (changed || machines_changed, wake)
    }
}

impl SimulatedDeployment {
    fn create(&mut self, set: &str, now: i64) -> &mut SimulatedMachine {
        self.created += 1;
        let machine = Machine::new(&format!("{set}-{:02}", self.created), instant(now));
        self.machines.push(SimulatedMachine {
            set: set.to_owned(),
            ordinal: self.created,
            machine,
            node: None,
            pod: SimulatedPod::Gone,
            drain: None,
            drain_failed: None,
            arrived: false,
            agent: agent::Agent::of(self.template),
        });
        self.machines.last_mut().expect("one was just added")
    }

    fn members(&self, set: &str) -> Vec<Member> {
        let of_set = self.machines.iter().filter(|machine| machine.set == set);
        let member = |simulated: &SimulatedMachine| Member {
            name: simulated.machine.name.clone(),
            phase: if simulated.machine.deleting.is_some() { Phase::Terminating } else { simulated.machine.phase },
            created: Time::from_instant(simulated.machine.created),
            priority: DEFAULT_PRIORITY,
            is_updated_in_place: simulated.arrived,
            ..Member::default()
        };
        of_set.map(member).collect()
    }

    fn observed(&self) -> (Option<Set>, Vec<Set>) {
        let observe = |set: &Set| {
            let counts = machine_set::counts(&self.members(&set.name));
            Set {
                machines: counts.machines,
                available: counts.available,
                terminating: counts.terminating,
                in_place: self.in_place(set),
                ..set.clone()
            }
        };
        let new = self.sets.iter().find(|(template, _)| *template == self.template).map(|(_, set)| observe(set));
        let old = self.sets.iter().filter(|(template, _)| *template != self.template);
        (new, old.map(|(_, set)| observe(set)).collect())
    }

    fn deployment_pass(&mut self, name: &str, now: i64) -> bool {
        let (new, old) = self.observed();
        let pass = deployment::pass(&self.deployment, new.as_ref(), &old);
        let mut changed = false;
        let desired = Some(self.deployment.replicas);
        let max = Some(self.deployment.replicas + self.deployment.surge_for_scaling());
        for step in pass.steps {
            match step {
                Step::CreateSet { replicas } => {
                    let name = format!("{name}-{}", self.template);
                    let created = Time::from_instant(instant(now));
                    self.sets.push((self.template, Set { name, created, replicas, desired, max, ..Set::default() }));
                    changed = true;
                }
                Step::Scale { set, replicas } => {
                    let set = self.set(&set);
                    let scaled = Set { replicas, desired, max, ..set.clone() };
                    changed |= *set != scaled;
                    *set = scaled;
                }
                Step::TaintNodes { set } => {
                    let set = self.set(&set);
                    assert!(!set.tainted, "a set is tainted once");
                    set.tainted = true;
                    changed = true;
                }
                Step::DisableScaleDown => self.scale_down_disabled = true,
                Step::EnableScaleDown => self.scale_down_disabled = false,
                Step::DisableScaleUp { set } => self.set(&set).in_place.scale_up_disabled = true,
                Step::MarkCandidates { .. }
                | Step::Select { .. }
                | Step::HandOver { .. }
                | Step::Settle { .. }
                | Step::ClearNode { .. } => {
                    self.take_in_place(step);
                    changed = true;
                }
                Step::DeleteSet { set } => {
                    assert!(self.members(&set).is_empty(), "only empty sets are deleted here");
                    self.sets.retain(|(_, present)| present.name != set);
                    changed = true;
                }
            }
        }
        changed
    }

    fn set(&mut self, name: &str) -> &mut Set {
        &mut self.sets.iter_mut().find(|(_, set)| set.name == name).expect("steps name existing sets").1
    }

    fn set_passes(&mut self, now: i64) -> bool {
        let mut changed = false;
        for (_, set) in self.sets.clone() {
            let scale_up_disabled = set.in_place.scale_up_disabled;
            let desired = Desired { replicas: set.replicas, scale_up_disabled, ..Desired::default() };
            let members = self.members(&set.name);
            let pass = machine_set::pass(desired, &machine_set::counts(&members), || &members);
            changed |= pass.create > 0 || !pass.delete.is_empty();
            for _ in 0..pass.create {
                self.create(&set.name, now);
            }
            for name in pass.delete {
                let found = self.machines.iter_mut().find(|simulated| simulated.machine.name == name);
                let machine = &mut found.expect("passes name existing machines").machine;
                machine.deleting = Some(instant(now));
                machine.phase = Phase::Terminating;
                machine.operation = machine::deletion_requested();
                machine.operation_since = instant(now);
            }
        }
        changed
    }

    fn machine_steps(&mut self, physics: &mut Physics<'_>) -> (bool, Option<i64>) {
        let (mut changed, mut next) = (false, None);
        for index in 0..self.machines.len() {
            let others_are_replaced = machine_set::counts(&self.all_members()).in_replacement() > 0;
            let simulated = &mut self.machines[index];
            changed |= simulated.let_hit_now(physics);
            simulated.machine.settings = physics.settings.clone();
            simulated.machine.others_are_replaced = others_are_replaced;
            simulated.machine.force_deletion = physics.is_drain_forced;
            let selected = simulated.node.as_ref().map(|node| &node.update);
            let selected = selected.filter(|update| update.reason == Some(Reason::SelectedForUpdate));
            simulated.machine.selected = selected.and_then(|update| update.since);
            let lasting = simulated.machine.trouble.lasting.clone();
            simulated.machine.trouble = physics.trouble(simulated.ordinal, &lasting);
            match simulated.step(physics) {
                machine::Step::Rest | machine::Step::Held | machine::Step::Drain { .. } => {}
                machine::Step::Wait { until, .. } => {
                    let until = until.timestamp();
                    next = Some(next.map_or(until, |next: i64| next.min(until)));
                }
                machine::Step::Act(actions) => {
                    changed = true;
                    for action in actions {
                        simulated.apply(action, physics);
                    }
                }
            }
            let (acted, at) = simulated.update_step(self.template, physics);
            changed |= acted;
            next = next.into_iter().chain(at).min();
            if let SimulatedPod::EndsAt(end) = simulated.pod {
                next = Some(next.map_or(end, |next: i64| next.min(end)));
            }
        }
        self.machines.retain(|simulated| !simulated.set.is_empty());
        (changed, next)
    }

    fn all_members(&self) -> Vec<Member> {
        self.sets.iter().flat_map(|(_, set)| self.members(&set.name)).collect()
    }

    fn counts(&self) -> Counts {
        let (new, old) = self.observed();
        let count = |is: &dyn Fn(&SimulatedMachine) -> bool| {
            i32::try_from(self.machines.iter().filter(|machine| is(machine)).count()).expect("few machines")
        };
        let phase = |machine: &SimulatedMachine| {
            if machine.machine.deleting.is_some() { Phase::Terminating } else { machine.machine.phase }
        };
        let in_phase = |wanted: Phase| count(&|machine| phase(machine) == wanted);
        Counts {
            old: old.iter().map(|set| set.replicas).sum(),
            new: new.as_ref().map_or(0, |set| set.replicas),
            total: count(&|_| true),
            running: count(&|machine| phase(machine) == Phase::Running),
            pending: count(&|machine| matches!(phase(machine), Phase::New | Phase::Pending | Phase::CrashLoopBackOff)),
            terminating: count(&|machine| phase(machine) == Phase::Terminating),
            updated: new.map_or(0, |set| set.machines),
            failed: in_phase(Phase::Failed),
            unknown: in_phase(Phase::Unknown),
            selected: count(&|machine| machine.node.as_ref().is_some_and(|node| node.update.selected)),
            updating: in_phase(Phase::InPlaceUpdating),
            update_failed: in_phase(Phase::InPlaceUpdateFailed),
        }
    }
}
