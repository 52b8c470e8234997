// SPDX-License-Identifier: Apache-2.0
//! Checks of all small landscapes around a minor.

use domain::profile::Profile;
use domain::skew::transition::{Step, check};
use domain::skew::{Component, Instance, Landscape, rules, violations};

use super::restated::Minors;
use super::{API, EXT, GCM, LET, OP, of_minors};

/// The minor N, and the maximum distance from it.
const MIDDLE: u64 = 37;
const REACH: u64 = 3;

fn minors() -> impl Iterator<Item = u64> + Clone {
    MIDDLE - REACH..=MIDDLE + REACH
}

/// Returns every multiset of up to `size` minors.
fn multisets(size: usize) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..size {
        let longer = |set: &Vec<u64>| {
            let least = set.last().copied().unwrap_or(0);
            let set = set.clone();
            minors().filter(move |minor| *minor >= least).map(move |minor| [set.clone(), vec![minor]].concat())
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Function that is called for each landscape.
type Each<'a> = dyn FnMut(&[(Component, u64)]) + 'a;

/// Calls `each` for every landscape with up to the given number of instances of each component.
fn every(sizes: &[(Component, usize)], chosen: &mut Vec<(Component, u64)>, each: &mut Each<'_>) {
    let Some(((component, size), rest)) = sizes.split_first() else { return each(chosen) };
    for set in multisets(*size) {
        let length = chosen.len();
        chosen.extend(set.iter().map(|minor| (*component, *minor)));
        every(rest, chosen, each);
        chosen.truncate(length);
    }
}

/// 93,312 landscapes in each profile.
#[test]
fn every_small_landscape_is_judged_by_the_documented_rules() {
    for profile in [Profile::Documents, Profile::Upstream] {
        for sizes in [&[(API, 2), (GCM, 1), (LET, 2), (EXT, 1)][..], &[(API, 2), (OP, 2), (GCM, 1)]] {
            every(sizes, &mut Vec::new(), &mut |all| {
                let found: Vec<String> =
                    rules(&violations(&of_minors(all), profile)).iter().map(ToString::to_string).collect();
                assert_eq!(found, Minors::of(all).broken(profile), "{all:?} {profile:?}");
            });
        }
    }
}

fn minors_of(landscape: &Landscape) -> Vec<(Component, u64)> {
    let minor = |instance: &Instance| {
        let minor = instance.version.split('.').nth(1).and_then(|minor| minor.parse().ok());
        (instance.component, minor.expect("of_minors wrote it"))
    };
    landscape.instances.iter().map(minor).collect()
}

/// Every step from every legal landscape that adds, removes or replaces one instance by any minor.
#[test]
fn allowed_steps_keep_a_landscape_legal() {
    for profile in [Profile::Documents, Profile::Upstream] {
        every(&[(API, 2), (GCM, 1), (LET, 1), (OP, 1), (EXT, 1)], &mut Vec::new(), &mut |all| {
            if !Minors::of(all).broken(profile).is_empty() {
                return;
            }
            let landscape = of_minors(all);
            let mut steps = Vec::new();
            for instance in &landscape.instances {
                steps.push(Step::Remove(instance.clone()));
                steps
                    .extend(minors().map(|minor| Step::Replace { from: instance.clone(), to: format!("1.{minor}.0") }));
            }
            let new = |component| minors().map(move |minor| Instance::owned(component, "y", &format!("1.{minor}.0")));
            steps.extend([API, LET].into_iter().flat_map(new).map(Step::Add));
            for step in steps {
                match check(&landscape, &step, profile) {
                    Ok(after) => {
                        let broken = Minors::of(&minors_of(&after)).broken(profile);
                        assert!(broken.is_empty(), "{all:?} {step:?}: {broken:?}");
                    }
                    Err(refusal) => {
                        assert!(!matches!(step, Step::Remove(_)), "{all:?}: nothing is refused to go: {refusal:?}");
                        assert!(!refusal.violations.is_empty(), "{all:?} {step:?}");
                    }
                }
            }
        });
    }
}
