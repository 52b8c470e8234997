// SPDX-License-Identifier: Apache-2.0
//! One pass of a MachineDeployment over its MachineSets.

mod in_place;

use apimachinery::meta::{IntOrString, Time};

pub use self::in_place::InPlace;

use super::limits::Limits;
use super::{WaitingOn, scaling};

/// Update strategy of a MachineDeployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Machines are replaced.
    Rolling(Limits),
    /// Machines are updated and handed over to the new MachineSet.
    InPlace {
        /// Limits of concurrently updated machines.
        limits: Limits,
        /// True if the user selects the nodes.
        manual: bool,
    },
}

impl Strategy {
    /// Returns surge and unavailability as configured.
    pub const fn limits(&self) -> &Limits {
        match self {
            Self::Rolling(limits) | Self::InPlace { limits, .. } => limits,
        }
    }
}

/// Inputs of a pass: the MachineDeployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Desired number of machines.
    pub replicas: i32,
    /// Update strategy.
    pub strategy: Strategy,
    /// True if the MachineDeployment is paused: only scaling is allowed.
    pub paused: bool,
    /// True if deletion was requested.
    pub deleting: bool,
}

/// Inputs of a pass: one MachineSet. The counts are those of its present machines, not of its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Name of the MachineSet.
    pub name: String,
    /// `creationTimestamp` of the MachineSet.
    pub created: Time,
    /// Value of `spec.replicas`.
    pub replicas: i32,
    /// Number of owned Machines, including failed and terminating ones.
    pub machines: i32,
    /// Number of Machines in phase `Running` or `Available`.
    pub available: i32,
    /// Number of Machines being deleted.
    pub terminating: i32,
    /// Replicas of the MachineDeployment at the set's last scaling.
    pub desired: Option<i32>,
    /// Replicas plus surge of the MachineDeployment at the set's last scaling.
    pub max: Option<i32>,
    /// True if its nodes carry the taint of old sets.
    pub tainted: bool,
    /// True if deletion was requested.
    pub deleting: bool,
    /// State for updates in place.
    pub in_place: InPlace,
}

/// A change made by a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create the MachineSet of the present template.
    CreateSet {
        /// Replicas of the MachineSet.
        replicas: i32,
    },
    /// Write a MachineSet's replicas and the annotations that record their inputs.
    Scale {
        /// Name of the MachineSet.
        set: String,
        /// New replicas.
        replicas: i32,
    },
    /// Taint the nodes of an old MachineSet, and record that on the set.
    TaintNodes {
        /// Name of the MachineSet.
        set: String,
    },
    /// Keep the cluster-autoscaler from removing nodes of the MachineDeployment.
    DisableScaleDown,
    /// Allow the cluster-autoscaler to remove nodes on which this controller had disabled it.
    EnableScaleDown,
    /// Label an old MachineSet so that it creates no machines.
    DisableScaleUp {
        /// Name of the MachineSet.
        set: String,
    },
    /// Label the nodes of an old MachineSet as candidates for an update in place.
    MarkCandidates {
        /// Name of the MachineSet.
        set: String,
    },
    /// Label a node as selected for its update.
    Select {
        /// Machine of the node.
        machine: String,
    },
    /// Hand machines whose nodes were updated over from an old MachineSet to the new one, replicas included.
    HandOver {
        /// The old set.
        set: String,
        /// The Machines.
        machines: Vec<String>,
    },
    /// Remove the hand-over label from Machines of the new MachineSet.
    Settle {
        /// Name of the MachineSet.
        set: String,
    },
    /// Remove the labels of its update from a node, and allow pods on it again.
    ClearNode {
        /// Machine of the node.
        machine: String,
    },
    /// Delete a MachineSet.
    DeleteSet {
        /// Name of the MachineSet.
        set: String,
    },
}

/// Result of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Changes to write, in order.
    pub steps: Vec<Step>,
    /// Reason for which an unfinished pass moved no machines.
    pub waiting_on: Option<WaitingOn>,
    /// True if all machines are new, available and as many as desired.
    pub is_complete: bool,
}

impl Deployment {
    /// Returns the numbers (surge, unavailable) for the present replicas. A manual in-place roll-out has no surge.
    pub fn limits(&self) -> (i32, i32) {
        match &self.strategy {
            Strategy::Rolling(limits) | Strategy::InPlace { limits, manual: false } => limits.resolve(self.replicas),
            Strategy::InPlace { limits, manual: true } => {
                Limits { max_surge: IntOrString::Int(0), max_unavailable: limits.max_unavailable.clone() }
                    .resolve(self.replicas)
            }
        }
    }

    /// Returns the surge that scaling and its annotations use: none for in-place roll-outs.
    pub fn surge_for_scaling(&self) -> i32 {
        match &self.strategy {
            Strategy::Rolling(limits) => limits.surge(self.replicas),
            Strategy::InPlace { .. } => 0,
        }
    }
}

/// Runs one pass: `new` is the set of the present template, `old` are all others.
///
/// A pass takes one step towards the desired state and ends; it is repeated until it has no steps. Its steps keep
/// `machines <= replicas + surge` and `available >= replicas - unavailable` exactly: unlike upstream the new set counts
/// with the greater of its desired and its existing machines, so that a set that has not created its machines yet is
/// counted.
/// Source: pkg/controller/deployment_rolling.go of machine-controller-manager v0.58.0.
pub fn pass(deployment: &Deployment, new: Option<&Set>, old: &[Set]) -> Pass {
    let old: Vec<&Set> = by_age(old);
    if deployment.deleting {
        let sets = old.into_iter().chain(new).filter(|set| !set.deleting);
        return Pass { steps: sets.map(|set| Step::DeleteSet { set: set.name.clone() }).collect(), ..Pass::default() };
    }
    if let Some(steps) = scaling::pass(deployment, new, &old) {
        return Pass { steps, ..Pass::default() };
    }
    if deployment.paused {
        return Pass::default();
    }
    match &deployment.strategy {
        Strategy::Rolling(_) => rolling(deployment, new, &old),
        Strategy::InPlace { manual, .. } => in_place::pass(deployment, *manual, new, &old),
    }
}

fn rolling(deployment: &Deployment, new: Option<&Set>, old: &[&Set]) -> Pass {
    let Some(new) = new else { return create_set(deployment, old) };
    let mut steps = mark_nodes(old);
    let wanted = new_replicas(deployment, new, old);
    if wanted != new.replicas {
        steps.push(Step::Scale { set: new.name.clone(), replicas: wanted });
        return Pass { steps, ..Pass::default() };
    }
    let scaled = scale_down_old(deployment, new, old);
    if !scaled.is_empty() {
        steps.extend(scaled);
        return Pass { steps, ..Pass::default() };
    }
    finish(deployment, new, old, steps)
}

fn finish(deployment: &Deployment, new: &Set, old: &[&Set], mut steps: Vec<Step>) -> Pass {
    let is_complete = is_complete(deployment, new, old);
    if is_complete {
        steps.push(Step::EnableScaleDown);
        let empty = old.iter().filter(|set| set.machines == 0 && set.replicas == 0 && !set.deleting);
        steps.extend(empty.map(|set| Step::DeleteSet { set: set.name.clone() }));
    }
    let waiting_on = (!is_complete).then(|| waiting_on(deployment, new, old));
    Pass { steps, waiting_on, is_complete }
}

fn create_set(deployment: &Deployment, old: &[&Set]) -> Pass {
    let replicas = match &deployment.strategy {
        Strategy::Rolling(_) => new_replicas(deployment, &Set::default(), old),
        Strategy::InPlace { manual: true, .. } if old.iter().any(|set| set.machines > 0) => 0,
        Strategy::InPlace { limits, .. } => {
            let machines: i32 = old.iter().map(|set| set.machines).sum();
            (deployment.replicas + limits.surge(deployment.replicas) - machines).clamp(0, deployment.replicas.max(0))
        }
    };
    Pass { steps: vec![Step::CreateSet { replicas }], ..Pass::default() }
}

/// Returns the steps that set the taint and the autoscaler annotations of a roll-out in progress.
fn mark_nodes(old: &[&Set]) -> Vec<Step> {
    let untainted = old.iter().filter(|set| !set.tainted && (set.replicas > 0 || set.machines > 0));
    let mut steps: Vec<Step> = untainted.map(|set| Step::TaintNodes { set: set.name.clone() }).collect();
    if old.iter().any(|set| set.replicas > 0) {
        steps.push(Step::DisableScaleDown);
    }
    steps
}

/// Returns the replicas of the new set: as many as the surge allows.
fn new_replicas(deployment: &Deployment, new: &Set, old: &[&Set]) -> i32 {
    if new.replicas >= deployment.replicas {
        return deployment.replicas;
    }
    let (surge, _) = deployment.limits();
    let current = old.iter().map(|set| set.machines).sum::<i32>() + new.machines.max(new.replicas);
    let room = deployment.replicas + surge - current;
    new.replicas + room.clamp(0, deployment.replicas - new.replicas)
}

fn scale_down_old(deployment: &Deployment, new: &Set, old: &[&Set]) -> Vec<Step> {
    let old_replicas: i32 = old.iter().map(|set| set.replicas).sum();
    if old_replicas == 0 {
        return Vec::new();
    }
    let (_, unavailable) = deployment.limits();
    let least = deployment.replicas - unavailable;
    let new_unavailable = new.replicas - new.available;
    let most = old_replicas + new.replicas - least - new_unavailable;
    if most <= 0 {
        return Vec::new();
    }
    let mut replicas: Vec<i32> = old.iter().map(|set| set.replicas).collect();

    // Unavailable machines are deleted first.
    let mut done = 0;
    for (left, set) in replicas.iter_mut().zip(old) {
        // More machines available than desired: some are being deleted, so there is nothing to remove.
        let count = (set.replicas - set.available).clamp(0, most - done);
        *left -= count;
        done += count;
    }

    let available: i32 = old.iter().map(|set| set.available).sum::<i32>() + new.available;
    let mut spare = (available - least).max(0);
    for left in &mut replicas {
        let count = (*left).min(spare);
        *left -= count;
        spare -= count;
    }

    let changed = replicas.into_iter().zip(old).filter(|(left, set)| *left != set.replicas);
    changed.map(|(replicas, set)| Step::Scale { set: set.name.clone(), replicas }).collect()
}

/// True if all machines are new, available and as many as desired.
fn is_complete(deployment: &Deployment, new: &Set, old: &[&Set]) -> bool {
    let machines = new.machines + old.iter().map(|set| set.machines).sum::<i32>();
    let available = new.available + old.iter().map(|set| set.available).sum::<i32>();
    new.machines == machines && machines == available && machines == deployment.replicas
}

fn waiting_on(deployment: &Deployment, new: &Set, old: &[&Set]) -> WaitingOn {
    let count = |number: i32| u32::try_from(number).unwrap_or_default();
    if let Strategy::InPlace { manual: true, .. } = deployment.strategy {
        let candidates = old.iter().map(|set| set.replicas).sum();
        if candidates > 0 {
            return WaitingOn::UserSelection { candidates: count(candidates) };
        }
    }
    if new.replicas > new.available {
        return WaitingOn::MachineCreation { missing: count(new.replicas - new.available) };
    }
    let terminating: i32 = new.terminating + old.iter().map(|set| set.terminating).sum::<i32>();
    if terminating > 0 {
        return WaitingOn::MachineDeletion { terminating: count(terminating) };
    }
    let (_, unavailable) = deployment.limits();
    let have = new.available + old.iter().map(|set| set.available).sum::<i32>();
    let need = deployment.replicas - unavailable;
    if let Strategy::InPlace { .. } = deployment.strategy
        && have == need
        && old.iter().all(|set| set.in_place.undergoing == 0)
    {
        // No node can be spared, and none is being updated.
        let candidates = old.iter().map(|set| count(set.replicas)).sum();
        return WaitingOn::UserSelection { candidates };
    }
    WaitingOn::Availability { have: count(have), need: count(need) }
}

fn by_age(sets: &[Set]) -> Vec<&Set> {
    let mut sets: Vec<&Set> = sets.iter().collect();
    sets.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(replicas: i32, surge: i32, unavailable: i32) -> Deployment {
        let limits = Limits { max_surge: IntOrString::Int(surge), max_unavailable: IntOrString::Int(unavailable) };
        Deployment { replicas, strategy: Strategy::Rolling(limits), paused: false, deleting: false }
    }

    fn set(name: &str, replicas: i32, available: i32) -> Set {
        Set {
            name: name.into(),
            replicas,
            machines: replicas,
            available,
            desired: Some(3),
            max: Some(4),
            ..Set::default()
        }
    }

    #[test]
    fn a_new_template_makes_a_set_with_the_surge() {
        let pass = pass(&deployment(3, 1, 0), None, &[set("old", 3, 3)]);
        assert_eq!(pass.steps, [Step::CreateSet { replicas: 1 }]);
    }

    #[test]
    fn nodes_of_old_sets_are_tainted_and_protected_once() {
        let mut old = set("old", 3, 3);
        let first = pass(&deployment(3, 1, 0), Some(&set("new", 1, 0)), std::slice::from_ref(&old));
        assert_eq!(first.steps, [Step::TaintNodes { set: "old".into() }, Step::DisableScaleDown]);
        assert_eq!(first.waiting_on, Some(WaitingOn::MachineCreation { missing: 1 }));
        old.tainted = true;
        let second = pass(&deployment(3, 1, 0), Some(&set("new", 1, 0)), &[old]);
        assert_eq!(second.steps, [Step::DisableScaleDown]);
    }

    #[test]
    fn terminating_machines_hold_the_surge() {
        let old = Set { machines: 3, terminating: 1, tainted: true, ..set("old", 2, 2) };
        let pass = pass(&deployment(3, 1, 0), Some(&set("new", 1, 1)), &[old]);
        assert_eq!(pass.steps, [Step::DisableScaleDown]);
        assert_eq!(pass.waiting_on, Some(WaitingOn::MachineDeletion { terminating: 1 }));
    }

    #[test]
    fn empty_old_sets_are_deleted_after_the_roll_out() {
        let old = Set { tainted: true, ..set("old", 0, 0) };
        let pass = pass(&deployment(3, 1, 0), Some(&set("new", 3, 3)), &[old]);
        assert!(pass.is_complete);
        assert_eq!(pass.steps, [Step::EnableScaleDown, Step::DeleteSet { set: "old".into() }]);
    }

    #[test]
    fn unhealthy_old_machines_are_deleted_first() {
        let sick = Set {
            created: Time::from_instant(chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::days(1)),
            ..set("b", 1, 0)
        };
        let healthy = Set { created: Time::from_instant(chrono::DateTime::UNIX_EPOCH), ..set("a", 2, 2) };
        let steps = scale_down_old(&deployment(3, 1, 0), &set("new", 1, 1), &[&healthy, &sick]);
        assert_eq!(steps, [Step::Scale { set: "b".into(), replicas: 0 }]);
    }
}
