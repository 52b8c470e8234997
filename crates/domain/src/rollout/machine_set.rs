// SPDX-License-Identifier: Apache-2.0
//! One pass of a MachineSet over its Machines.

use apimachinery::meta::Time;

use super::machine::Phase;

/// What a pass knows of one Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Phase; a Machine whose deletion was requested counts as `Terminating`.
    pub phase: Phase,
    /// Creation.
    pub created: Time,
    /// Rank, lower goes first; 3 unless the Machine says otherwise.
    pub priority: i32,
    /// Its node was just updated in place and waits for its new MachineSet.
    pub is_updated_in_place: bool,
}

/// What a pass knows of the MachineSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// `spec.replicas`
    pub replicas: i32,
    /// Too many machines exist already; none is created.
    pub frozen: bool,
    /// An old set of an in-place roll-out; none is created.
    pub scale_up_disabled: bool,
    /// Deletion was requested.
    pub deleting: bool,
}

/// What a pass decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// How many Machines to create.
    pub create: i32,
    /// Which Machines to delete, in order.
    pub delete: Vec<String>,
}

/// Counts of the MachineSet's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All Machines, failed and terminating ones included.
    pub machines: i32,
    /// Those in phase `Running` or `Available`.
    pub available: i32,
    /// Those in phase `Running`.
    pub ready: i32,
    /// Those in phase `Terminating`.
    pub terminating: i32,
}

/// The most Machines that one pass creates or deletes.
const BURST: i32 = 100;
/// Rank of a Machine that says nothing.
pub const DEFAULT_PRIORITY: i32 = 3;

/// Counts Machines.
pub fn counts(members: &[Member]) -> Counts {
    let count = |is: fn(Phase) -> bool| {
        i32::try_from(members.iter().filter(|member| is(member.phase)).count()).unwrap_or(i32::MAX)
    };
    Counts {
        machines: count(|_| true),
        available: count(|phase| matches!(phase, Phase::Running | Phase::Available)),
        ready: count(|phase| phase == Phase::Running),
        terminating: count(|phase| phase == Phase::Terminating),
    }
}

/// One pass: failed Machines and those of rank 1 go; then as many are created or deleted as are missing or too many.
///
/// Source: pkg/controller/machineset.go of machine-controller-manager v0.58.0.
pub fn pass(wish: Wish, members: &[Member]) -> Pass {
    let names = |members: &[&Member]| members.iter().map(|member| member.name.clone()).collect::<Vec<_>>();
    if wish.deleting {
        let left: Vec<&Member> = members.iter().filter(|member| member.phase != Phase::Terminating).collect();
        return Pass { create: 0, delete: names(&left) };
    }
    let counted: Vec<&Member> = members.iter().filter(|member| !member.is_updated_in_place).collect();
    let ignored = i32::try_from(members.len() - counted.len()).unwrap_or(i32::MAX);
    let is_stale = |member: &&Member| {
        member.phase == Phase::Failed || (member.priority == 1 && member.phase != Phase::Terminating)
    };
    let (stale, fresh): (Vec<&Member>, Vec<&Member>) = counted.into_iter().partition(is_stale);
    let mut delete = names(&stale);
    let mut active: Vec<&Member> = fresh.into_iter().filter(|member| member.phase != Phase::Terminating).collect();
    let difference = i32::try_from(active.len()).unwrap_or(i32::MAX) - wish.replicas;
    let create = match difference {
        missing if missing < 0 => {
            let is_blocked = wish.frozen || wish.scale_up_disabled || missing + ignored >= 0;
            if is_blocked { 0 } else { (-missing).min(BURST) }
        }
        excess => {
            sort_for_deletion(&mut active);
            active.truncate(usize::try_from(excess.min(BURST)).unwrap_or_default());
            delete.extend(names(&active));
            0
        }
    };
    Pass { create, delete }
}

/// Sorts Machines: the first is deleted first. Lower rank, then the phase that serves least, then age, then name.
pub fn sort_for_deletion(members: &mut [&Member]) {
    members.sort_by(|a, b| {
        (a.priority, rank(a.phase), a.created, &a.name).cmp(&(b.priority, rank(b.phase), b.created, &b.name))
    });
}

/// Any phase that is not listed ranks like `Terminating`, those of in-place updates too.
const fn rank(phase: Phase) -> u8 {
    match phase {
        Phase::Failed => 1,
        Phase::CrashLoopBackOff => 2,
        Phase::Unknown => 3,
        Phase::Pending => 4,
        Phase::Available => 5,
        Phase::Running => 6,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(phases: &[Phase]) -> Vec<Member> {
        let member = |(index, phase): (usize, &Phase)| Member {
            name: format!("m{index}"),
            phase: *phase,
            priority: DEFAULT_PRIORITY,
            ..Member::default()
        };
        phases.iter().enumerate().map(member).collect()
    }

    #[track_caller]
    fn check(replicas: i32, phases: &[Phase], create: i32, delete: &[&str]) {
        let pass = pass(Wish { replicas, ..Wish::default() }, &members(phases));
        assert_eq!((pass.create, pass.delete), (create, delete.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn terminating_machines_are_replaced_and_failed_ones_deleted() {
        use Phase::{Failed, Pending, Running, Terminating};
        check(2, &[], 2, &[]);
        check(2, &[Running, Running], 0, &[]);
        check(2, &[Running, Terminating], 1, &[]);
        check(2, &[Running, Failed], 1, &["m1"]);
        check(1, &[Running, Pending], 0, &["m1"]);
        check(0, &[Running, Terminating], 0, &["m0"]);
    }

    #[test]
    fn a_frozen_set_creates_nothing() {
        let wish = Wish { replicas: 2, frozen: true, ..Wish::default() };
        assert_eq!(pass(wish, &[]), Pass::default());
    }

    #[test]
    fn a_deleted_set_deletes_its_machines() {
        let wish = Wish { replicas: 2, deleting: true, ..Wish::default() };
        let pass = pass(wish, &members(&[Phase::Running, Phase::Terminating]));
        assert_eq!(pass.delete, ["m0"]);
    }
}
