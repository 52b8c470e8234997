// SPDX-License-Identifier: Apache-2.0
//! Properties of all landscapes and all legal steps.

use std::collections::{BTreeMap, BTreeSet};

use domain::profile::Profile;
use domain::skew::transition::{Step, check};
use domain::skew::{Component, GardenerVersion, Instance, Landscape, Rule, rules, violations};
use proptest::prelude::*;

use super::restated::Minors;
use super::{API, EXT, GCM, LET, OP, of_minors};

const PROFILES: [Profile; 2] = [Profile::Documents, Profile::Upstream];

fn full(instance: &Instance) -> (u64, u64, u64) {
    GardenerVersion::parse(&instance.version).expect("a version").full()
}

/// Returns the minors of a landscape, sorted: the identity of a landscape in a search.
fn key(landscape: &Landscape) -> Vec<(Component, (u64, u64, u64))> {
    let mut key: Vec<_> = landscape.instances.iter().map(|one| (one.component, full(one))).collect();
    key.sort_unstable();
    key
}

/// Walks every order of legal steps from a minor to the next one as a graph: the components that a legal order has raised
/// already, at each landscape that it may pass.
#[test]
fn every_legal_order_raises_apiservers_first_and_extensions_last() {
    for profile in PROFILES {
        let start = of_minors(&[(OP, 37), (API, 37), (API, 37), (GCM, 37), (LET, 37), (LET, 37), (EXT, 37)]);
        let (mut seen, mut open) = (BTreeSet::from([key(&start)]), vec![start]);
        let mut reaches_end = false;
        while let Some(landscape) = open.pop() {
            let at = |component, minor| {
                landscape.instances.iter().filter(|one| one.component == component && full(one).1 == minor).count()
            };
            if at(GCM, 38) + at(LET, 38) > 0 {
                assert_eq!(at(API, 37), 0, "{landscape:?}: all gardener-apiservers come first");
            }
            if at(EXT, 38) > 0 {
                assert_eq!(at(LET, 37), 0, "{landscape:?}: all gardenlets come before extensions");
            }
            reaches_end |= landscape.instances.iter().all(|one| full(one).1 == 38);
            for from in landscape.instances.clone() {
                let step = Step::Replace { from, to: "1.38.0".to_owned() };
                if let Ok(after) = check(&landscape, &step, profile)
                    && seen.insert(key(&after))
                {
                    open.push(after);
                }
            }
        }
        assert!(reaches_end);
    }
}

/// Generates an instance around minor 37, with any suffix.
fn instance(components: &'static [Component]) -> impl Strategy<Value = (Component, u64, u64, &'static str)> {
    let suffix = prop::sample::select(&["", "-dev", "-rc.1", "+abc", "~x", "-dev-afe3775a02"][..]);
    (prop::sample::select(components), 35_u64..40, 0_u64..4, suffix)
}

const ALL: &[Component] = &Component::ALL;

fn landscape(all: &[(Component, u64, u64, &str)]) -> Landscape {
    let one = |(index, (component, minor, patch, suffix)): (usize, &(Component, u64, u64, &str))| {
        Instance::owned(*component, &format!("o{index}"), &format!("v1.{minor}.{patch}{suffix}"))
    };
    Landscape { instances: all.iter().enumerate().map(one).collect(), ..Landscape::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every rule is a window, or bounded by a minimum.
    #[test]
    fn a_removed_instance_causes_no_violation(all in prop::collection::vec(instance(ALL), 1..9), gone in any::<prop::sample::Index>()) {
        let mut landscape = landscape(&all);
        for profile in PROFILES {
            let before = rules(&violations(&landscape, profile));
            let step = Step::Remove(landscape.instances[gone.index(all.len())].clone());
            let after = check(&landscape, &step, profile).expect("removals are legal");
            prop_assert!(rules(&violations(&after, profile)).iter().all(|rule| before.contains(rule)));
        }
        landscape.instances.clear();
        prop_assert_eq!(violations(&landscape, Profile::Documents), Vec::new());
    }

    #[test]
    fn suffixes_and_patches_do_not_affect_the_skew(all in prop::collection::vec(instance(ALL), 1..9)) {
        let plain: Vec<_> = all.iter().map(|(component, minor, _, _)| (*component, *minor, 0, "")).collect();
        let patched: Vec<_> = all.iter().map(|(component, minor, patch, _)| (*component, *minor, *patch, "")).collect();
        for profile in PROFILES {
            let found = |all| rules(&violations(&landscape(all), profile));
            prop_assert_eq!(found(&all), found(&patched));
            let but_g1 = |mut rules: Vec<Rule>| {
                rules.retain(|rule| profile == Profile::Documents || *rule != Rule::G1);
                rules
            };
            prop_assert_eq!(but_g1(found(&all)), but_g1(found(&plain)));
        }
    }

    #[test]
    fn profile_upstream_allows_all_of_profile_documents(all in prop::collection::vec(instance(ALL), 1..7)) {
        // Patches count only for upstream's gardenlet.
        let all: Vec<_> = all.into_iter().map(|(component, minor, _, suffix)| (component, minor, 0, suffix)).collect();
        let is_legal = |profile| violations(&landscape(&all), profile).is_empty();
        prop_assert!(!is_legal(Profile::Documents) || is_legal(Profile::Upstream));
    }

    #[test]
    fn no_legal_step_lowers_a_version(
        all in prop::collection::vec(instance(ALL), 1..7),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 35_u64..40, 0_u64..4), 1..12),
    ) {
        for profile in PROFILES {
            let mut now = landscape(&all);
            let mut highest: BTreeMap<String, (u64, u64, u64)> =
                now.instances.iter().map(|one| (one.owner.clone(), full(one))).collect();
            for (who, minor, patch) in &steps {
                let from = now.instances[who.index(now.instances.len())].clone();
                if let Ok(after) = check(&now, &Step::Replace { from, to: format!("1.{minor}.{patch}") }, profile) {
                    now = after;
                }
                for one in &now.instances {
                    let highest = highest.get_mut(&one.owner).expect("an instance of before");
                    prop_assert!(full(one) >= *highest, "{:?}", one);
                    *highest = full(one);
                }
            }
        }
    }

    /// Prerequisites and actions of section Supported Component Upgrade Order, from every legal landscape at 1.37.
    #[test]
    fn steps_are_legal_where_the_documents_prerequisites_hold(
        apiservers in prop::collection::vec(37_u64..39, 1..4),
        control_plane in prop::collection::vec(36_u64..39, 0..3),
        gardenlets in prop::collection::vec(35_u64..39, 0..4),
        extension in prop::option::of(35_u64..38),
    ) {
        let mut all: Vec<(Component, u64)> = apiservers.iter().map(|minor| (API, *minor)).collect();
        all.extend(control_plane.iter().map(|minor| (GCM, *minor)));
        all.extend(gardenlets.iter().map(|minor| (LET, *minor)));
        all.extend(extension.map(|minor| (EXT, minor)));
        for profile in PROFILES {
            if !Minors::of(&all).broken(profile).is_empty() {
                continue;
            }
            let landscape = of_minors(&all);
            let raises = |component, from: u64| {
                let from = Instance::owned(component, "x", &format!("1.{from}.0"));
                landscape.instances.contains(&from).then(|| {
                    check(&landscape, &Step::Replace { from, to: "1.38.0".to_owned() }, profile).is_ok()
                })
            };
            let oldest = if profile == Profile::Documents { 37 } else { 36 };
            let are = |all: &[u64], allowed: &[u64]| all.iter().all(|minor| allowed.contains(minor));
            // gardener-apiserver: the others are at 1.37 or 1.38, its clients at 1.37 (gardenlet upstream: or 1.36).
            // Clients at 1.38 cannot have existed when the first gardener-apiserver was raised.
            if let Some(is_legal) = raises(API, 37) {
                let prerequisites = are(&control_plane, &[37]) && gardenlets.iter().all(|minor| (oldest..=37).contains(minor));
                prop_assert_eq!(is_legal, prerequisites || apiservers.contains(&38), "{:?} {:?}", all, profile);
            }
            // Its clients: all gardener-apiservers are at 1.38.
            for component in [GCM, LET] {
                if let Some(is_legal) = raises(component, 37) {
                    prop_assert_eq!(is_legal, are(&apiservers, &[38]), "{:?} {:?}", all, profile);
                }
            }
            // An extension: all gardenlets are at 1.38.
            if let Some(is_legal) = extension.and_then(|minor| raises(EXT, minor)) {
                prop_assert_eq!(is_legal, are(&gardenlets, &[38]), "{:?} {:?}", all, profile);
            }
        }
    }

    /// gardener-operator: all of them are at 1.37, or some at 1.38 if there are several.
    #[test]
    fn operators_are_raised_where_the_documents_prerequisites_hold(
        operators in prop::collection::vec(36_u64..39, 1..4),
        garden in prop::option::of(Just("1.37.0")),
    ) {
        let all: Vec<(Component, u64)> = operators.iter().map(|minor| (OP, *minor)).collect();
        let landscape = Landscape { garden: garden.map(str::to_owned), ..of_minors(&all) };
        let from = Instance::owned(OP, "x", "1.37.0");
        if Minors::of(&all).broken(Profile::Documents).is_empty() && landscape.instances.contains(&from) {
            for profile in PROFILES {
                let step = Step::Replace { from: from.clone(), to: "1.38.0".to_owned() };
                let others_fit = operators.iter().all(|minor| (37..=38).contains(minor));
                prop_assert_eq!(check(&landscape, &step, profile).is_ok(), others_fit, "{:?}", all);
            }
        }
    }
}
