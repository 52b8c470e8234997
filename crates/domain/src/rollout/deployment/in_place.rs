// SPDX-License-Identifier: Apache-2.0
//! One pass of a MachineDeployment whose machines are updated in place: nodes of old MachineSets become candidates and are
//! selected, machines whose nodes were updated are handed over to the new MachineSet.
//!
//! | | surge 0 | surge s |
//! | --- | --- | --- |
//! | machines of the new set | all are handed over | s are created, the others are handed over |
//! | machines of old sets at the end | none | s are deleted |
//!
//! With `manual` only the user selects nodes, any number at a time.
//!
//! The surge applies once, with the new MachineSet. If as many machines of old sets are deleted by hand while it is
//! updated, the surge compensates for them: with an unavailability of 0 the roll-out then halts, as upstream's does,
//! until users label nodes as selected, or delete further machines, which the new set replaces.
//!
//! Source: pkg/controller/deployment_inplace.go of machine-controller-manager v0.62; where v0.62 and v0.58 differ, v0.62
//! applies.

use super::{Deployment, Pass, Set, Step, create_set, finish, mark_nodes, scale_down_old};
use crate::rollout::WaitingOn;

/// State of a MachineSet's machines and nodes that only in-place updates need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InPlace {
    /// True if the set is labelled so that it creates no machines.
    pub scale_up_disabled: bool,
    /// Number of machines whose node is not labelled as a candidate.
    pub unmarked: usize,
    /// Number of nodes labelled as selected, including those whose update failed.
    pub undergoing: i32,
    /// Names of machines whose node can be selected, by creation, then name.
    pub candidates: Vec<String>,
    /// Names of machines whose node was updated, by creation, then name.
    pub updated: Vec<String>,
    /// Number of machines without a Node.
    pub without_node: i32,
    /// Number of machines with the label of a hand-over that is not settled yet.
    pub arrived: i32,
    /// Names of machines whose node still carries the labels of a finished update.
    pub uncleared: Vec<String>,
}

pub(super) fn pass(deployment: &Deployment, is_manual: bool, new: Option<&Set>, old: &[&Set]) -> Pass {
    let Some(new) = new else { return create_set(deployment, old) };
    let mut steps = mark_nodes(old);
    if old.iter().any(|set| set.replicas > 0) {
        let open = old.iter().filter(|set| !set.in_place.scale_up_disabled);
        steps.extend(open.map(|set| Step::DisableScaleUp { set: set.name.clone() }));
    }
    let unmarked = old.iter().filter(|set| set.in_place.unmarked > 0);
    steps.extend(unmarked.map(|set| Step::MarkCandidates { set: set.name.clone() }));

    let surplus = (new.machines - new.replicas).min(new.in_place.arrived);
    if surplus > 0 {
        steps.push(Step::Scale { set: new.name.clone(), replicas: new.replicas + surplus });
        return Pass { steps, ..Pass::default() };
    }
    if new.in_place.arrived > 0 {
        steps.push(Step::Settle { set: new.name.clone() });
    }
    if new.in_place.without_node > 0 {
        let missing = u32::try_from(new.in_place.without_node).unwrap_or_default();
        return Pass { steps, waiting_on: Some(WaitingOn::MachineCreation { missing }), is_complete: false };
    }
    steps.extend(new.in_place.uncleared.iter().map(|machine| Step::ClearNode { machine: machine.clone() }));
    let short = old.iter().filter(|set| set.machines < set.replicas);
    let shrunk: Vec<Step> = short.map(|set| Step::Scale { set: set.name.clone(), replicas: set.machines }).collect();
    if !shrunk.is_empty() {
        steps.extend(shrunk);
        return Pass { steps, ..Pass::default() };
    }

    let moved = reconcile_new(deployment, new, old);
    if !moved.is_empty() {
        steps.extend(moved);
        return Pass { steps, ..Pass::default() };
    }
    let reconciled = reconcile_old(deployment, is_manual, new, old);
    if !reconciled.is_empty() {
        steps.extend(reconciled);
        return Pass { steps, ..Pass::default() };
    }
    finish(deployment, new, old, steps)
}

fn total(sets: &[&Set], count: impl Fn(&Set) -> i32) -> i32 {
    sets.iter().map(|set| count(set)).sum()
}

/// Returns the steps that bring the new set to its replicas: a change of replicas, or machines that are handed over.
fn reconcile_new(deployment: &Deployment, new: &Set, old: &[&Set]) -> Vec<Step> {
    let old_replicas = total(old, |set| set.replicas);
    let wanted = deployment.replicas;
    let replicas = if new.replicas > wanted || old_replicas == 0 {
        wanted
    } else if old_replicas + new.replicas < wanted {
        // Machines that were deleted by hand.
        wanted - old_replicas
    } else {
        new.replicas
    };
    if replicas != new.replicas {
        return vec![Step::Scale { set: new.name.clone(), replicas }];
    }
    if new.replicas == wanted {
        return Vec::new();
    }
    let sets = old.iter().filter(|set| !set.in_place.updated.is_empty());
    let hand_over = |set: &&&Set| Step::HandOver { set: set.name.clone(), machines: set.in_place.updated.clone() };
    sets.map(|set| hand_over(&set)).collect()
}

/// Returns the steps for old sets: deletion of surplus machines, or selection of nodes.
///
/// Unlike upstream, surplus machines are deleted only as far as others are available: with a surge of all machines the
/// new ones exist long before they run.
fn reconcile_old(deployment: &Deployment, is_manual: bool, new: &Set, old: &[&Set]) -> Vec<Step> {
    let old_replicas = total(old, |set| set.replicas);
    if old_replicas == 0 {
        return Vec::new();
    }
    if new.replicas == deployment.replicas {
        return scale_down_old(deployment, new, old);
    }
    if is_manual {
        return Vec::new();
    }
    let count = usize::try_from(selectable(deployment, new, old)).unwrap_or_default();
    let candidates = old.iter().flat_map(|set| &set.in_place.candidates).take(count);
    candidates.map(|machine| Step::Select { machine: machine.clone() }).collect()
}

/// Returns the number of nodes that can be selected now. A node that is selected and unavailable counts twice, as
/// upstream counts it.
fn selectable(deployment: &Deployment, new: &Set, old: &[&Set]) -> i32 {
    let (_, unavailable) = deployment.limits();
    let least = deployment.replicas - unavailable;
    let undergoing = total(old, |set| set.in_place.undergoing);
    let replicas = total(old, |set| set.replicas) + new.replicas;
    let spare = replicas - least - (new.replicas - new.available).max(0) - undergoing;
    let available = total(old, |set| set.available) + new.available - undergoing;
    if undergoing + new.replicas >= deployment.replicas || spare <= 0 || available <= least {
        return 0;
    }
    (available - least).min((deployment.replicas - new.replicas).max(0))
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::IntOrString;

    use super::super::super::limits::Limits;
    use super::super::{Strategy, pass};
    use super::*;

    fn deployment(replicas: i32, surge: i32, unavailable: i32, manual: bool) -> Deployment {
        let limits = Limits { max_surge: IntOrString::Int(surge), max_unavailable: IntOrString::Int(unavailable) };
        Deployment { replicas, strategy: Strategy::InPlace { limits, manual }, paused: false, deleting: false }
    }

    /// Creates a set whose machines all run and whose nodes are marked.
    fn set(name: &str, replicas: i32) -> Set {
        let in_place = InPlace { scale_up_disabled: true, ..InPlace::default() };
        let desired = Some(3);
        Set {
            name: name.into(),
            replicas,
            machines: replicas,
            available: replicas,
            desired,
            tainted: true,
            in_place,
            ..Set::default()
        }
    }

    fn candidates(set: Set, names: &[&str]) -> Set {
        let candidates = names.iter().map(|name| (*name).to_owned()).collect();
        Set { in_place: InPlace { candidates, ..set.in_place.clone() }, ..set }
    }

    #[track_caller]
    fn check(deployment: &Deployment, new: &Set, old: &Set, expected: &[Step]) {
        let steps = pass(deployment, Some(new), std::slice::from_ref(old)).steps;
        let steps: Vec<Step> = steps.into_iter().filter(|step| *step != Step::DisableScaleDown).collect();
        assert_eq!(steps, expected);
    }

    fn select(name: &str) -> Step {
        Step::Select { machine: name.into() }
    }

    /// "maxSurge: 0, maxUnavailable: 2": two nodes at a time.
    #[test]
    fn as_many_nodes_are_selected_as_may_be_unavailable() {
        let old = candidates(set("old", 3), &["a", "b", "c"]);
        check(&deployment(3, 0, 1, false), &set("new", 0), &old, &[select("a")]);
        check(&deployment(3, 0, 2, false), &set("new", 0), &old, &[select("a"), select("b")]);
        check(&deployment(3, 0, 2, true), &set("new", 0), &old, &[]);
        // With a surge: only when the new machine is available.
        let joining = Set { available: 0, ..set("new", 1) };
        check(&deployment(3, 1, 0, false), &joining, &old, &[]);
        check(&deployment(3, 1, 0, false), &set("new", 1), &old, &[select("a")]);
        let unregistered = Set { in_place: InPlace { without_node: 1, ..InPlace::default() }, ..joining };
        check(&deployment(3, 2, 0, false), &unregistered, &old, &[]);
    }

    #[test]
    fn a_node_whose_update_failed_holds_the_roll_out() {
        let mut old = candidates(set("old", 3), &["b", "c"]);
        (old.in_place.undergoing, old.available) = (1, 2);
        check(&deployment(3, 0, 1, false), &set("new", 0), &old, &[]);
        check(&deployment(3, 0, 2, false), &set("new", 0), &old, &[]);
        check(&deployment(3, 0, 3, false), &set("new", 0), &old, &[select("b")]);
    }

    #[test]
    fn updated_machines_are_handed_over() {
        let mut old = set("old", 3);
        old.in_place.updated = vec!["a".into()];
        let expected = [Step::HandOver { set: "old".into(), machines: vec!["a".into()] }];
        check(&deployment(3, 0, 1, false), &set("new", 0), &old, &expected);
        check(&deployment(3, 0, 1, true), &set("new", 0), &old, &expected);
        // The hand-over was interrupted: the Machine was moved, the replicas were not.
        let arrived = Set {
            machines: 1,
            available: 1,
            in_place: InPlace { arrived: 1, uncleared: vec!["a".into()], ..InPlace::default() },
            ..set("new", 0)
        };
        let left = Set { machines: 2, available: 2, ..set("old", 3) };
        let scale = |set: &str, replicas| Step::Scale { set: set.into(), replicas };
        check(&deployment(3, 0, 1, true), &arrived, &left, &[scale("new", 1)]);
        let arrived = Set { replicas: 1, ..arrived };
        let settle = Step::Settle { set: "new".into() };
        let clear = Step::ClearNode { machine: "a".into() };
        check(&deployment(3, 0, 1, true), &arrived, &left, &[settle, clear, scale("old", 2)]);
    }

    #[test]
    fn the_surge_is_removed_at_the_end() {
        let scale = |set: &str, replicas| Step::Scale { set: set.into(), replicas };
        check(&deployment(3, 1, 0, false), &set("new", 3), &set("old", 1), &[scale("old", 0)]);
    }

    /// "the old MS does not recreate it, the new MS does".
    #[test]
    fn the_new_set_replaces_machines_that_are_deleted_by_hand() {
        let scale = |set: &str, replicas| Step::Scale { set: set.into(), replicas };
        let short = Set { machines: 2, available: 2, ..set("old", 3) };
        check(&deployment(3, 0, 1, true), &set("new", 0), &short, &[scale("old", 2)]);
        check(&deployment(3, 0, 1, true), &set("new", 0), &set("old", 2), &[scale("new", 1)]);
    }

    /// One of three machines of the old set is deleted by hand after the surge has joined: no further node can be
    /// spared.
    #[test]
    fn a_deleted_machine_takes_the_surge() {
        let scale = |set: &str, replicas| Step::Scale { set: set.into(), replicas };
        let (new, old) = (set("new", 1), candidates(set("old", 2), &["b", "c"]));
        let with_surge = deployment(3, 1, 0, false);
        check(&with_surge, &new, &candidates(set("old", 3), &["a", "b", "c"]), &[select("a")]);
        // The deleted machine drains: the old set counts it, and has fewer available machines.
        let going = Set { available: 2, terminating: 1, ..candidates(set("old", 3), &["b", "c"]) };
        check(&with_surge, &new, &going, &[]);
        let deleted = Set { machines: 2, available: 2, ..candidates(set("old", 3), &["b", "c"]) };
        check(&with_surge, &new, &deleted, &[scale("old", 2)]);
        check(&with_surge, &new, &old, &[]);
        let waiting_on = pass(&with_surge, Some(&new), std::slice::from_ref(&old)).waiting_on;
        assert_eq!(waiting_on, Some(WaitingOn::UserSelection { candidates: 2 }));
        check(&deployment(3, 1, 1, false), &new, &old, &[select("b")]);
        check(&deployment(3, 2, 0, false), &set("new", 2), &old, &[select("b")]);
        // A node that a user selected is handed over all the same.
        let mut updated = candidates(set("old", 2), &["c"]);
        updated.in_place.updated = vec!["b".into()];
        let hand_over = Step::HandOver { set: "old".into(), machines: vec!["b".into()] };
        check(&with_surge, &new, &updated, &[hand_over]);
        // A further machine that a user deletes is replaced.
        check(&with_surge, &new, &candidates(set("old", 1), &["c"]), &[scale("new", 2)]);
    }

    /// A selected node stays selected when a machine is deleted by hand while it is drained, and no other node is selected.
    #[test]
    fn a_deleted_machine_withdraws_no_selection() {
        let mut old = candidates(set("old", 2), &["c"]);
        old.in_place.undergoing = 1;
        check(&deployment(3, 1, 0, false), &set("new", 1), &old, &[]);
    }

    #[test]
    fn old_sets_and_their_nodes_are_marked_once() {
        let old = Set { tainted: false, in_place: InPlace { unmarked: 3, ..InPlace::default() }, ..set("old", 3) };
        let name = || "old".to_owned();
        let steps = pass(&deployment(3, 0, 1, true), Some(&set("new", 0)), &[old]).steps;
        let expected = [
            Step::TaintNodes { set: name() },
            Step::DisableScaleDown,
            Step::DisableScaleUp { set: name() },
            Step::MarkCandidates { set: name() },
        ];
        assert_eq!(steps, expected);
    }
}
