// SPDX-License-Identifier: Apache-2.0
//! Invariants of a landscape.
//!
//! | invariant | checked |
//! | --- | --- |
//! | revisions strictly rise | with each change |
//! | machines of a MachineDeployment <= replicas + maxSurge, terminating ones included | after each step |
//! | running machines >= replicas - maxUnavailable, once all ran and while nothing but a roll-out disturbs | after each step |
//! | every Node has a Machine | after each step |
//! | `lastTransitionTime` of a condition does not move without its `status` | with each change |
//! | `lastOperation.progress` does not fall within one operation | with each change |
//! | no pod is put on a cordoned node | with each change |
//! | no pod ends with its node and without a deletion timestamp, unless its VM was lost or its drain is forced | with each change |
//! | a drain breaks no budget before it may be forced | with each change |
//!
//! Source: pkg/controller/deployment_util.go @ machine-controller-manager v0.58.0 for the resolution of surge and
//! unavailability.

mod pods;

use std::collections::{BTreeMap, BTreeSet};

use api::core::{Condition, LastOperation, Seed, Shoot};
use api::kubernetes::core::{Node, Pod};
use api::kubernetes::policy::PodDisruptionBudget;
use api::machine::{Machine, MachineDeployment};
use apimachinery::meta::{IntOrString, Time};
use chrono::{DateTime, Utc};

use self::pods::Workload;

/// An object with rules of the auditor.
#[derive(Clone, Copy, Debug)]
pub enum Observed<'a> {
    /// A Shoot in the garden.
    Shoot(&'a Shoot),
    /// A Seed in the garden.
    Seed(&'a Seed),
    /// A MachineDeployment in a seed cluster.
    MachineDeployment(&'a MachineDeployment),
    /// A Machine in a seed cluster.
    Machine(&'a Machine),
    /// A Node in a shoot's cluster.
    Node(&'a Node),
    /// A pod in a shoot's cluster.
    Pod(&'a Pod),
    /// A budget in a shoot's cluster.
    Budget(&'a PodDisruptionBudget),
    /// Object of another kind: only its revision counts.
    Other,
}

/// Checks a landscape change by change and step by step.
#[derive(Debug, Default)]
pub struct Auditor {
    revision: u64,
    last_operations: BTreeMap<String, LastOperation>,
    conditions: BTreeMap<String, BTreeMap<String, (String, Time)>>,
    /// Pools by the namespace in the seed (which is also the shoot's cluster) and name.
    deployments: BTreeMap<(String, String), Pool>,
    machines: BTreeMap<(String, String), MachineState>,
    nodes: BTreeSet<(String, String)>,
    workload: Workload,
    violations: Vec<String>,
}

#[derive(Debug, Default)]
struct Pool {
    replicas: i32,
    surge: i32,
    unavailable: i32,
    /// True if all machines ran at some time since the number of replicas changed.
    established: bool,
    /// True if the number of replicas was lowered, and surplus machines are left.
    shrinks: bool,
    /// True if the number of replicas changed, or a machine failed, and since then there was no instant at which all
    /// machines ran and no in-place update was pending.
    disturbed: bool,
    /// True if machines are about to be deleted, or their nodes selected, by hand.
    expects_trouble: bool,
}

#[derive(Debug)]
struct MachineState {
    deployment: String,
    phase: String,
    node: String,
    terminating: bool,
    /// True if its node is selected for an in-place update, which is not complete.
    updates: bool,
}

impl Auditor {
    /// Creates an auditor of a new landscape.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the instant and the user of the following changes.
    pub fn made(&mut self, at: DateTime<Utc>, by: &str) {
        self.workload.made(at, by);
    }

    /// Takes one change; `cluster`: cluster of the object; `deleted`: true if the object was deleted.
    pub fn observe(&mut self, revision: u64, cluster: &str, object: Observed<'_>, deleted: bool) {
        if revision <= self.revision {
            self.violate(format!("revision {revision} after {}", self.revision));
        }
        self.revision = revision;
        match object {
            Observed::Shoot(shoot) => self.shoot(shoot, deleted),
            Observed::Seed(seed) => {
                let about = format!("Seed {}", seed.metadata.name);
                self.conditions(&about, seed.status.conditions.iter().map(core_condition), deleted);
                self.last_operation(&about, seed.status.last_operation.as_ref(), deleted);
            }
            Observed::MachineDeployment(deployment) => self.deployment(deployment, deleted),
            Observed::Machine(machine) => self.machine(machine, deleted),
            Observed::Node(node) => self.node(cluster, node, deleted),
            Observed::Pod(pod) => {
                let found = self.workload.pod(cluster, pod, deleted);
                for violation in found {
                    self.violate(violation);
                }
            }
            Observed::Budget(budget) => self.workload.budget(cluster, budget, deleted),
            Observed::Other => {}
        }
    }

    /// Announces an interference by hand: the numbers of machines are not checked until all of them run again.
    ///
    /// A node that is selected for an in-place update is drained and updated, however many machines are deleted in the
    /// meantime: machine-controller-manager counts before it selects a node, and never reverts a selection. Its machine
    /// is in phase `Running` during the drain, so the interference lasts until such updates are complete, too.
    /// Source: `reconcileOldMachineSetsInPlace` in pkg/controller/deployment_inplace.go, `drainNodeForInPlace` in
    /// pkg/util/provider/machinecontroller/machine_util.go @ machine-controller-manager v0.62.1.
    pub fn disturb(&mut self) {
        self.deployments.values_mut().for_each(|pool| pool.expects_trouble = true);
    }

    /// Checks the invariants of an instant at which nothing more happens.
    pub fn end_of_step(&mut self) {
        let mut found = Vec::new();
        for ((namespace, name), pool) in &mut self.deployments {
            let machines: Vec<_> = self
                .machines
                .range((namespace.clone(), String::new())..)
                .take_while(|((of, _), _)| of == namespace)
                .map(|(_, machine)| machine)
                .filter(|machine| machine.deployment == *name)
                .collect();
            let total = count(machines.len());
            let running = count(machines.iter().filter(|machine| machine.runs()).count());
            if machines.iter().any(|machine| machine.failed()) {
                pool.disturbed = true;
            }
            pool.shrinks &= total > pool.replicas + pool.surge;
            let updates = machines.iter().any(|machine| machine.updates);
            let all_run = running >= pool.replicas && total == running && !pool.shrinks;
            pool.established |= all_run;
            if all_run && !updates {
                pool.disturbed = false;
            } else if std::mem::take(&mut pool.expects_trouble) {
                pool.disturbed = true;
            }
            if pool.disturbed {
                continue;
            }
            if total > pool.replicas + pool.surge && pool.established {
                let Pool { replicas, surge, .. } = pool;
                found.push(format!("{namespace}/{name}: {total} machines for {replicas} replicas and surge {surge}"));
            }
            if pool.established && running < pool.replicas - pool.unavailable {
                let Pool { replicas, unavailable, .. } = pool;
                found.push(format!(
                    "{namespace}/{name}: {running} of {replicas} machines run, {unavailable} may be unavailable"
                ));
            }
        }
        for (cluster, node) in &self.nodes {
            let of_cluster =
                self.machines.range((cluster.clone(), String::new())..).take_while(|((of, _), _)| of == cluster);
            if !of_cluster.into_iter().any(|(_, machine)| machine.node == *node) {
                found.push(format!("Node {node} of {cluster} has no Machine"));
            }
        }
        for violation in found {
            self.violate(violation);
        }
    }

    /// Violations in the order of their detection; each one once.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Panics if there is a violation.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.violations.is_empty(), "invariants do not hold:\n{}", self.violations.join("\n"));
    }

    fn violate(&mut self, violation: String) {
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    fn shoot(&mut self, shoot: &Shoot, deleted: bool) {
        let about = format!("Shoot {}/{}", shoot.metadata.namespace, shoot.metadata.name);
        let status = &shoot.status;
        self.conditions(&about, status.conditions.iter().chain(&status.constraints).map(core_condition), deleted);
        self.last_operation(&about, status.last_operation.as_ref(), deleted);
    }

    fn last_operation(&mut self, about: &str, operation: Option<&LastOperation>, deleted: bool) {
        let Some(new) = operation.filter(|_| !deleted) else {
            self.last_operations.remove(about);
            return;
        };
        let old = self.last_operations.insert(about.to_owned(), new.clone());
        if let Some(old) = old
            && old.r#type == new.r#type
            && old.state == "Processing"
            && new.state == "Processing"
            && new.progress < old.progress
        {
            let LastOperation { r#type, progress, .. } = new;
            self.violate(format!("{about}: progress of {type} fell from {} to {progress}", old.progress));
        }
    }

    fn conditions<'a>(
        &mut self,
        about: &str,
        conditions: impl Iterator<Item = (&'a str, &'a str, Time)>,
        deleted: bool,
    ) {
        let new: BTreeMap<String, (String, Time)> =
            conditions.map(|(type_, status, since)| (type_.to_owned(), (status.to_owned(), since))).collect();
        let old =
            if deleted { self.conditions.remove(about) } else { self.conditions.insert(about.to_owned(), new.clone()) };
        for (type_, (status, since)) in old.unwrap_or_default() {
            if let Some((now, moved)) = new.get(&type_)
                && *now == status
                && *moved != since
                && type_ != STEPS
            {
                self.violate(format!("{about}: lastTransitionTime of {type_} moved while it stayed {status}"));
            }
        }
    }

    fn deployment(&mut self, deployment: &MachineDeployment, deleted: bool) {
        let key = (deployment.metadata.namespace.clone(), deployment.metadata.name.clone());
        if deleted || deployment.metadata.deletion_timestamp.is_some() {
            self.deployments.remove(&key);
            return;
        }
        let replicas = deployment.spec.replicas;
        let (surge, unavailable) = resolve(deployment);
        let pool = self.deployments.entry(key).or_default();
        if pool.replicas != replicas {
            pool.disturbed = true;
            pool.established = false;
            pool.shrinks = replicas < pool.replicas;
        }
        *pool = Pool { replicas, surge, unavailable, ..*pool };
    }

    fn machine(&mut self, machine: &Machine, deleted: bool) {
        self.workload.machine(machine);
        let key = (machine.metadata.namespace.clone(), machine.metadata.name.clone());
        if deleted {
            self.machines.remove(&key);
            return;
        }
        let label = |name: &str| machine.metadata.labels.get(name).cloned().unwrap_or_default();
        let state = MachineState {
            deployment: label("name"),
            phase: machine.status.current_status.phase.clone(),
            node: label("node"),
            terminating: machine.metadata.deletion_timestamp.is_some(),
            updates: machine.status.conditions.iter().any(|condition| {
                let is_over = matches!(&*condition.reason, "CandidateForUpdate" | "UpdateSuccessful");
                condition.r#type == STEPS && !is_over
            }),
        };
        // A machine that failed may be replaced at the same instant.
        let of = (key.0.clone(), state.deployment.clone());
        if let Some(pool) = self.deployments.get_mut(&of).filter(|_| state.failed()) {
            pool.disturbed = true;
        }
        self.machines.insert(key, state);
    }

    fn node(&mut self, cluster: &str, node: &Node, deleted: bool) {
        let key = (cluster.to_owned(), node.metadata.name.clone());
        self.workload.node(cluster, node, deleted);
        let about = format!("Node {} of {cluster}", node.metadata.name);
        let conditions = node.status.conditions.iter();
        self.conditions(&about, conditions.map(|c| (&*c.r#type, &*c.status, c.last_transition_time)), deleted);
        if deleted {
            self.nodes.remove(&key);
        } else {
            self.nodes.insert(key);
        }
    }
}

impl MachineState {
    fn runs(&self) -> bool {
        !self.terminating && matches!(&*self.phase, "Running" | "Available")
    }

    fn failed(&self) -> bool {
        matches!(&*self.phase, "Failed" | "Unknown" | "CrashLoopBackOff")
    }
}

/// Condition that is always `True`: its reason is the step of a Node's in-place update, its transition time the start
/// of the step.
const STEPS: &str = "InPlaceUpdate";

fn core_condition(condition: &Condition) -> (&str, &str, Time) {
    (&condition.r#type, &condition.status, condition.last_transition_time)
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Returns maxSurge rounded up and maxUnavailable rounded down; if both are 0, one may be unavailable.
fn resolve(deployment: &MachineDeployment) -> (i32, i32) {
    let replicas = deployment.spec.replicas;
    let strategy = &deployment.spec.strategy;
    let (surge, unavailable) = match (&strategy.rolling_update, &strategy.in_place_update) {
        (Some(rolling), _) => (rolling.max_surge.as_ref(), rolling.max_unavailable.as_ref()),
        (None, Some(in_place)) => (in_place.max_surge.as_ref(), in_place.max_unavailable.as_ref()),
        (None, None) => (None, None),
    };
    let surge = surge.map_or(0, |value| part(value, replicas, 99));
    let unavailable = unavailable.map_or(0, |value| part(value, replicas, 0)).min(replicas);
    let is_by_hand = strategy.in_place_update.as_ref().is_some_and(|update| update.orchestration_type == "Manual");
    if is_by_hand {
        // A user who selects nodes by hand may select all of them.
        return (0, replicas);
    }
    if surge == 0 && unavailable == 0 { (0, 1.min(replicas)) } else { (surge, unavailable) }
}

fn part(value: &IntOrString, of: i32, round: i32) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent: i32 = text.strip_suffix('%').and_then(|number| number.parse().ok()).unwrap_or(0);
            (percent * of + round) / 100
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machines of a pool as `phase[!]` (`!`: being deleted); returns the violations after three machines ran.
    #[track_caller]
    fn check(surge: &str, unavailable: &str, machines: &str, expected: &[&str]) {
        let mut auditor = Auditor::new();
        let value = |text: &str| text.parse().map_or_else(|_| IntOrString::String(text.to_owned()), IntOrString::Int);
        let mut deployment = MachineDeployment::default();
        deployment.metadata.namespace = "shoot--demo--local".to_owned();
        deployment.metadata.name = "pool".to_owned();
        deployment.spec.replicas = 3;
        deployment.spec.strategy.rolling_update = Some(api::machine::RollingUpdateMachineDeployment {
            max_surge: Some(value(surge)),
            max_unavailable: Some(value(unavailable)),
        });
        auditor.observe(1, "seed--local", Observed::MachineDeployment(&deployment), false);
        for (step, machines) in ["Running Running Running", machines].into_iter().enumerate() {
            for number in 0..10 {
                let word = machines.split_whitespace().nth(number);
                let mut machine = Machine::default();
                machine.metadata.namespace = "shoot--demo--local".to_owned();
                machine.metadata.name = format!("m{number}");
                machine.metadata.labels.insert("name".to_owned(), "pool".to_owned());
                let phase = word.unwrap_or_default();
                machine.metadata.deletion_timestamp = phase.ends_with('!').then(Time::default);
                machine.status.current_status.phase = phase.trim_end_matches('!').to_owned();
                let revision = 2 + (step * 10 + number) as u64;
                auditor.observe(revision, "seed--local", Observed::Machine(&machine), word.is_none());
            }
            auditor.end_of_step();
        }
        assert_eq!(auditor.violations(), expected, "{machines}");
    }

    #[test]
    fn a_roll_out_keeps_surge_and_availability() {
        check("1", "0", "Running Running Running", &[]);
        check("1", "0", "Running Running Running Pending", &[]);
        check("1", "0", "Running Running Running Running!", &[]);
        let too_many = ["shoot--demo--local/pool: 5 machines for 3 replicas and surge 1"];
        check("1", "0", "Running Running Running Terminating! Pending", &too_many);
        let too_few = ["shoot--demo--local/pool: 2 of 3 machines run, 0 may be unavailable"];
        check("1", "0", "Running Running Running! Pending", &too_few);
        check("0", "1", "Running Running Running!", &[]);
        check("0", "0", "Running Running Running!", &[]);
        check("34%", "0", "Running Running Running Pending Pending", &[]);
        check("33%", "0", "Running Running Running Pending", &[]);
        check("0", "34%", "Running Running Terminating!", &[]);
        // A machine that failed by itself is not caused by the roll-out.
        check("1", "0", "Running Running Failed", &[]);
    }

    /// A machine is deleted by hand while the node of another one is drained for its in-place update, which follows.
    #[test]
    fn an_interference_lasts_until_updates_in_place_are_over() {
        let counts = "shoot--demo--local/pool: 2 of 3 machines run, 0 may be unavailable";
        for (reason, is_disturbed, expected) in [
            ("SelectedForUpdate", true, &[][..]),
            ("SelectedForUpdate", false, &[counts]),
            ("CandidateForUpdate", true, &[counts]),
            ("UpdateSuccessful", true, &[counts]),
        ] {
            let mut auditor = Auditor::new();
            let mut deployment = MachineDeployment::default();
            deployment.metadata.namespace = "shoot--demo--local".to_owned();
            deployment.metadata.name = "pool".to_owned();
            deployment.spec.replicas = 3;
            let mut revision = 0;
            let mut next = || {
                revision += 1;
                revision
            };
            let limits = api::machine::InPlaceUpdateMachineDeployment {
                max_surge: Some(IntOrString::Int(1)),
                ..Default::default()
            };
            deployment.spec.strategy.in_place_update = Some(limits);
            auditor.observe(next(), "seed--local", Observed::MachineDeployment(&deployment), false);
            let machine = |name: &str, phase: &str, reason: &str| {
                let mut machine = Machine::default();
                machine.metadata.namespace = "shoot--demo--local".to_owned();
                machine.metadata.name = name.to_owned();
                machine.metadata.labels.insert("name".to_owned(), "pool".to_owned());
                machine.status.current_status.phase = phase.to_owned();
                let condition = api::kubernetes::core::NodeCondition {
                    r#type: STEPS.to_owned(),
                    reason: reason.to_owned(),
                    ..Default::default()
                };
                machine.status.conditions = vec![condition];
                machine
            };
            for name in ["a", "b", "c", "surge"] {
                let machine = machine(name, "Running", "CandidateForUpdate");
                auditor.observe(next(), "seed--local", Observed::Machine(&machine), false);
            }
            auditor.end_of_step();
            auditor.observe(next(), "seed--local", Observed::Machine(&machine("a", "Running", reason)), false);
            auditor.end_of_step();
            let mut deleted = machine("b", "Terminating", "CandidateForUpdate");
            if is_disturbed {
                auditor.disturb();
            }
            deleted.metadata.deletion_timestamp = Some(Time::default());
            auditor.observe(next(), "seed--local", Observed::Machine(&deleted), false);
            auditor.end_of_step();
            auditor.observe(next(), "seed--local", Observed::Machine(&deleted), true);
            auditor.end_of_step();
            let updating = machine("a", "InPlaceUpdating", "ReadyForUpdate");
            auditor.observe(next(), "seed--local", Observed::Machine(&updating), false);
            auditor.end_of_step();
            assert_eq!(auditor.violations(), expected, "{reason} {is_disturbed}");
        }
    }

    #[test]
    fn progress_of_one_operation_does_not_fall() {
        let mut auditor = Auditor::new();
        let operations = [
            ("Create", "Processing", 0),
            ("Create", "Processing", 50),
            ("Create", "Succeeded", 100),
            ("Reconcile", "Processing", 0),
            ("Reconcile", "Error", 10),
            ("Reconcile", "Processing", 0),
            ("Reconcile", "Processing", 30),
            ("Reconcile", "Processing", 20),
        ];
        for (revision, (type_, state, progress)) in operations.into_iter().enumerate() {
            let mut shoot = Shoot::default();
            shoot.metadata.name = "a".to_owned();
            shoot.status.last_operation = Some(LastOperation {
                r#type: type_.to_owned(),
                state: state.to_owned(),
                progress,
                ..Default::default()
            });
            auditor.observe(revision as u64 + 1, "garden", Observed::Shoot(&shoot), false);
        }
        assert_eq!(auditor.violations(), ["Shoot /a: progress of Reconcile fell from 30 to 20"]);
    }

    #[test]
    fn a_transition_time_moves_with_the_status_only() {
        let mut auditor = Auditor::new();
        let at = |second: i64| Time(chrono::DateTime::from_timestamp(1_690_488_000 + second, 0).expect("in range"));
        for (revision, (status, since)) in
            [("True", 1), ("True", 1), ("False", 5), ("False", 6)].into_iter().enumerate()
        {
            let mut shoot = Shoot::default();
            shoot.metadata.name = "a".to_owned();
            shoot.status.conditions = vec![Condition {
                r#type: "EveryNodeReady".to_owned(),
                status: status.to_owned(),
                last_transition_time: at(since),
                ..Default::default()
            }];
            auditor.observe(revision as u64 + 1, "garden", Observed::Shoot(&shoot), false);
        }
        let expected = ["Shoot /a: lastTransitionTime of EveryNodeReady moved while it stayed False"];
        assert_eq!(auditor.violations(), expected);
    }

    #[test]
    fn nodes_have_machines_and_revisions_rise() {
        let mut auditor = Auditor::new();
        let mut node = Node::default();
        node.metadata.name = "n1".to_owned();
        let mut machine = Machine::default();
        machine.metadata.namespace = "shoot--demo--local".to_owned();
        machine.metadata.name = "m1".to_owned();
        machine.metadata.labels.insert("node".to_owned(), "n1".to_owned());
        auditor.observe(1, "seed--local", Observed::Machine(&machine), false);
        auditor.observe(2, "shoot--demo--local", Observed::Node(&node), false);
        auditor.end_of_step();
        auditor.assert_clean();
        auditor.observe(3, "seed--local", Observed::Machine(&machine), true);
        auditor.end_of_step();
        auditor.observe(3, "garden", Observed::Other, false);
        let expected = ["Node n1 of shoot--demo--local has no Machine", "revision 3 after 3"];
        assert_eq!(auditor.violations(), expected);
    }
}
