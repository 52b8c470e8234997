// SPDX-License-Identifier: Apache-2.0
//! Scaling: a changed number of replicas, which a pass handles before and instead of a roll-out step.

use super::deployment::{Deployment, Set, Step, Strategy};

/// Returns the steps of a scaling event; `None` if there is none.
///
/// A scaling event exists if an active set (`replicas > 0`) records other replicas than the MachineDeployment has, or if
/// no set is active although machines are desired. A new template without its set takes precedence over scaling, unless
/// the MachineDeployment is paused: then the youngest set is scaled in its place.
/// Source: pkg/controller/deployment_sync.go of machine-controller-manager v0.58.0.
pub(super) fn pass(deployment: &Deployment, new: Option<&Set>, old: &[&Set]) -> Option<Vec<Step>> {
    let has_new = new.is_some();
    let youngest = || old.iter().copied().max_by_key(|set| (set.replicas > 0, set.created, &set.name));
    let new = new.or_else(|| youngest().filter(|_| deployment.paused))?;
    let old: Vec<&Set> = old.iter().copied().filter(|set| set.name != new.name).collect();
    let active: Vec<&Set> = old.iter().copied().chain([new]).filter(|set| set.replicas > 0).collect();
    let is_event = if active.is_empty() {
        // While machines of an old set are still being deleted, the roll-out decides when new ones are created.
        deployment.replicas > 0 && !old.iter().any(|set| set.machines > 0)
    } else {
        active.iter().any(|set| set.desired.is_some_and(|desired| desired != deployment.replicas))
    };
    if !is_event {
        return None;
    }
    let scale = |set: &Set, replicas: i32| Step::Scale { set: set.name.clone(), replicas };

    if active.len() <= 1 {
        let only = active.first().copied().unwrap_or(new);
        return Some(vec![scale(only, deployment.replicas)]);
    }
    let is_saturated = has_new
        && new.replicas == deployment.replicas
        && new.desired == Some(deployment.replicas)
        && new.available == deployment.replicas;
    if is_saturated {
        let rest = active.iter().filter(|set| set.name != new.name);
        return Some(rest.map(|set| scale(set, 0)).collect());
    }
    match deployment.strategy {
        Strategy::Rolling(_) => Some(proportional(deployment, new, active)),
        // Only the annotations are refreshed: the roll-out decides which machines stay.
        Strategy::InPlace { .. } => Some(active.iter().map(|set| scale(set, set.replicas)).collect()),
    }
}

fn proportional<'a>(deployment: &Deployment, new: &'a Set, mut active: Vec<&'a Set>) -> Vec<Step> {
    let surge = deployment.surge_for_scaling();
    let allowed = if deployment.replicas > 0 { deployment.replicas + surge } else { 0 };
    let to_add = allowed - active.iter().map(|set| set.replicas).sum::<i32>();
    if to_add >= 0 {
        let mut steps: Vec<Step> = Vec::new();
        if !active.iter().any(|set| set.name == new.name) {
            active.push(new);
        }
        for set in active {
            let more = if set.name == new.name { to_add } else { 0 };
            steps.push(Step::Scale { set: set.name.clone(), replicas: set.replicas + more });
        }
        return steps;
    }
    active.sort_by(|a, b| b.replicas.cmp(&a.replicas).then_with(|| (a.created, &a.name).cmp(&(b.created, &b.name))));
    let mut added = 0;
    let mut sizes: Vec<i32> = Vec::new();
    for set in &active {
        let share = share(deployment, set).max(to_add - added).min(0);
        added += share;
        sizes.push(set.replicas + share);
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + to_add - added).max(0);
    }
    let sized = active.iter().zip(sizes);
    sized.map(|(set, replicas)| Step::Scale { set: set.name.clone(), replicas }).collect()
}

/// Returns the change of a set's replicas: its share of the allowed total, in proportion to its share of the total at its
/// last scaling.
#[expect(clippy::cast_possible_truncation, reason = "a rounded part of two 32 bit numbers")]
fn share(deployment: &Deployment, set: &Set) -> i32 {
    if deployment.replicas == 0 {
        return -set.replicas;
    }
    let allowed = f64::from(deployment.replicas + deployment.surge_for_scaling());
    let before = f64::from(set.max.unwrap_or(set.machines).max(1));
    (f64::from(set.replicas) * allowed / before).round() as i32 - set.replicas
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::IntOrString;

    use super::super::limits::Limits;
    use super::*;

    fn deployment(replicas: i32) -> Deployment {
        let limits = Limits { max_surge: IntOrString::Int(1), max_unavailable: IntOrString::Int(0) };
        Deployment { replicas, strategy: Strategy::Rolling(limits), paused: false, deleting: false }
    }

    fn set(name: &str, replicas: i32, desired: i32) -> Set {
        let max = Some(desired + 1);
        Set { name: name.into(), replicas, machines: replicas, desired: Some(desired), max, ..Set::default() }
    }

    #[track_caller]
    fn check(deployment: &Deployment, new: &Set, old: &[Set], expected: &[(&str, i32)]) {
        let old: Vec<&Set> = old.iter().collect();
        let steps = pass(deployment, Some(new), &old).unwrap_or_default();
        let expected: Vec<Step> =
            expected.iter().map(|(set, replicas)| Step::Scale { set: (*set).into(), replicas: *replicas }).collect();
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_single_set_is_scaled_to_the_replicas() {
        check(&deployment(5), &set("a", 3, 3), &[], &[("a", 5)]);
        check(&deployment(0), &set("a", 3, 3), &[], &[("a", 0)]);
        check(&deployment(3), &set("a", 3, 3), &[], &[]);
    }

    /// Source: `sync` of `deployment_sync.go`, which also runs for a paused MachineDeployment.
    #[test]
    fn a_paused_deployment_scales_its_existing_sets() {
        let paused = |replicas| Deployment { paused: true, ..deployment(replicas) };
        let steps = |deployment: &Deployment, old: &[&Set]| pass(deployment, None, old);
        let scale = |set: &str, replicas| Step::Scale { set: set.into(), replicas };
        assert_eq!(steps(&paused(5), &[&set("a", 3, 3)]), Some(vec![scale("a", 5)]));
        assert_eq!(steps(&paused(3), &[&set("a", 3, 3)]), None);
        assert_eq!(steps(&deployment(5), &[&set("a", 3, 3)]), None, "the new set comes first");
        assert_eq!(steps(&paused(4), &[&set("a", 1, 2), &set("b", 2, 2)]), Some(vec![scale("a", 1), scale("b", 4)]));
        assert_eq!(steps(&paused(4), &[]), None);
    }

    #[test]
    fn waking_up_scales_the_new_set() {
        check(&deployment(2), &set("a", 0, 0), &[], &[("a", 2)]);
    }

    #[test]
    fn growth_during_a_roll_out_enlarges_the_new_set() {
        check(&deployment(4), &set("new", 1, 3), &[set("old", 2, 3)], &[("old", 2), ("new", 3)]);
    }

    #[test]
    fn shrinking_during_a_roll_out_is_proportional() {
        check(&deployment(2), &set("new", 2, 5), &[set("old", 4, 5)], &[("old", 2), ("new", 1)]);
        check(&deployment(0), &set("new", 1, 3), &[set("old", 3, 3)], &[("old", 0), ("new", 0)]);
    }
}
