// SPDX-License-Identifier: Apache-2.0
//! Comparison of plans with a search through all orders of legal steps.

use std::collections::{BTreeSet, VecDeque};

use domain::profile::Profile;
use domain::skew::transition::{Step, check, check_on_the_way_back};
use domain::skew::{Component, GardenerVersion, Instance, Landscape, violations};
use domain::upgrade::{self, Replacement, plan};
use proptest::prelude::*;

use super::{API, EXT, GCM, LET, OP, of_minors};

fn version(instance: &Instance) -> GardenerVersion {
    GardenerVersion::parse(&instance.version).expect("a version")
}

/// Returns the minors to which the search moves an instance in one step. It knows the components but no rules: operators
/// are raised one minor at a time, and components that they roll out not above them.
fn tries(landscape: &Landscape, instance: &Instance, target: u64) -> Vec<u64> {
    let at = version(instance).minor().1;
    let leading = landscape.instances.iter().filter(|one| one.component == OP).map(|one| version(one).minor().1).max();
    let highest = match instance.component {
        Component::Gardenlet | Component::Extension => target,
        Component::Operator => target.min(at + 1),
        _ => target.min(at + 1).min(leading.unwrap_or(target)),
    };
    (at + 1..=highest).collect()
}

/// Returns the minimum number of steps to a landscape for which `is_wanted` is true; `None`: it cannot be reached.
fn search(start: &Landscape, target: u64, profile: Profile, is_wanted: &dyn Fn(&Landscape) -> bool) -> Option<usize> {
    let key = |landscape: &Landscape| {
        let mut key: Vec<(Component, u64)> =
            landscape.instances.iter().map(|one| (one.component, version(one).minor().1)).collect();
        key.sort_unstable();
        key
    };
    let mut seen = BTreeSet::from([key(start)]);
    let mut open = VecDeque::from([(start.clone(), 0)]);
    while let Some((landscape, steps)) = open.pop_front() {
        if is_wanted(&landscape) {
            return Some(steps);
        }
        let mut tried = BTreeSet::new();
        for instance in &landscape.instances {
            for minor in tries(&landscape, instance, target) {
                if !tried.insert((instance.component, instance.version.clone(), minor)) {
                    continue;
                }
                let step = Step::Replace { from: instance.clone(), to: format!("1.{minor}.0") };
                if let Ok(after) = check_on_the_way_back(&landscape, &step, profile)
                    && seen.insert(key(&after))
                {
                    open.push_back((after, steps + 1));
                }
            }
        }
    }
    None
}

/// Executes a plan and asserts that each step is legal; returns the number of steps back, the number of all steps, and
/// the landscape after the steps back.
fn played(start: &Landscape, target: u64, profile: Profile) -> (usize, usize, Landscape) {
    let target = GardenerVersion::release(1, target, 0);
    let plan = plan(start, &target, profile).unwrap_or_else(|error| panic!("{start:?}: {error}"));
    let mut now = start.clone();
    let mut legal = start.clone();
    let mut replacements = Vec::new();
    for (nth, step) in plan.steps.iter().enumerate() {
        let from = now.instances[step.index].clone();
        assert_eq!((from.component, version(&from)), (step.component, step.from.clone()));
        let to = step.to.to_string();
        let replace = Step::Replace { from: from.clone(), to: to.clone() };
        let judge = if nth < plan.steps_back { check_on_the_way_back } else { check };
        judge(&now, &replace, profile)
            .unwrap_or_else(|refusal| panic!("{start:?}: step {nth} of {plan:?}: {refusal:?}"));
        replacements.push(Replacement { from, to: to.clone() });
        now.instances[step.index].version = to;
        if nth + 1 == plan.steps_back {
            legal = now.clone();
        }
    }
    assert_eq!(upgrade::check(start, &replacements, profile), Ok(()), "{start:?}");
    assert!(now.instances.iter().all(|one| version(one) == target), "{start:?}: {now:?}");
    (plan.steps_back, plan.steps.len(), legal)
}

fn minors(of: Component, number: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(Component, u64)>> {
    prop::collection::vec((Just(of), 34_u64..38), number)
}

fn small() -> impl Strategy<Value = Vec<(Component, u64)>> {
    (minors(API, 1..3), minors(GCM, 0..2), minors(LET, 0..2), minors(OP, 0..2), minors(EXT, 0..2))
        .prop_map(|(api, gcm, gardenlets, op, ext)| [api, gcm, gardenlets, op, ext].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn plans_are_as_short_as_the_shortest_order(all in small(), ahead in 0_u64..2) {
        let start = of_minors(&all);
        let target = all.iter().map(|(_, minor)| *minor).max().unwrap_or(37) + ahead;
        for profile in [Profile::Documents, Profile::Upstream] {
            let is_legal = |landscape: &Landscape| violations(landscape, profile).is_empty();
            let is_there = |landscape: &Landscape| landscape.instances.iter().all(|one| version(one).minor().1 == target);
            let (back, steps, legal) = played(&start, target, profile);
            prop_assert_eq!(Some(back), search(&start, target, profile, &is_legal), "{:?} {:?}", all, profile);
            prop_assert_eq!(
                Some(steps - back), search(&legal, target, profile, &is_there), "{:?} {:?} {:?}", all, legal, profile
            );
        }
    }

    /// Plans from a legal landscape take no unnecessary step, for any number of instances.
    #[test]
    fn plans_from_legal_landscapes_take_no_unnecessary_step(
        apiservers in prop::collection::vec(37_u64..39, 1..4),
        others in prop::collection::vec((prop::sample::select(&[GCM, Component::Scheduler, LET, OP, EXT][..]), 35_u64..39), 0..12),
        ahead in 0_u64..6,
    ) {
        let mut all: Vec<(Component, u64)> = apiservers.iter().map(|minor| (API, *minor)).collect();
        all.extend(others);
        let target = 38 + ahead;
        let start = of_minors(&all);
        for profile in [Profile::Documents, Profile::Upstream] {
            if !violations(&start, profile).is_empty() {
                continue;
            }
            let (back, steps, _) = played(&start, target, profile);
            let needed = |(component, minor): &(Component, u64)| {
                let far = target - minor;
                match component {
                    Component::Extension => far.min(1),
                    Component::Gardenlet if profile == Profile::Upstream => far.div_ceil(2),
                    _ => far,
                }
            };
            let needed: u64 = all.iter().map(needed).sum();
            prop_assert_eq!((back, steps as u64), (0, needed), "{:?} {:?}", all, profile);
        }
    }
}
