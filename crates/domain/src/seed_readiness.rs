// SPDX-License-Identifier: Apache-2.0
//! Readiness of a Seed for the operations of its gardenlet.
//!
//! Source: pkg/gardenlet/controller/shoot/shoot/reconciler.go, pkg/utils/kubernetes/health @ v1.120.0 and v1.139.0.

use api::constants::condition;
use api::core::{Gardener, Seed};

use crate::release::{Release, Releases};

/// Releases that check the Seed before an operation begins.
const CHECKED_FIRST: Releases = Releases::since(139);

/// Returns the description of an operation that does not begin, since the Seed is not ready for this gardenlet;
/// `None` if it is, or if the release checks it later.
///
/// Source: `checkSeed` in pkg/gardenlet/controller/shoot/shoot/reconciler.go @ v1.139.0.
pub fn refusal(seed: &Seed, identity: &Gardener, release: Release) -> Option<String> {
    if !CHECKED_FIRST.contain(release) {
        return None;
    }
    let of = |type_: &&str| seed.status.conditions.iter().find(|condition| condition.r#type == **type_);
    let problem = match outdated(seed, identity) {
        Some(problem) => format!("seed is not up to date: {problem}"),
        None => match CONDITIONS.iter().find(|type_| of(type_).is_none()) {
            Some(missing) => format!("error in seed conditions: condition \"{missing}\" is missing"),
            None => {
                let is_failing = |type_: &&&str| of(type_).is_some_and(|condition| condition.status != "True");
                let failing: Vec<&str> = CONDITIONS.iter().filter(is_failing).copied().collect();
                if failing.is_empty() {
                    return None;
                }
                format!("seed has failing conditions: [{}]", failing.join(" "))
            }
        },
    };
    Some(format!("Shoot cannot be reconciled on seed: {problem} Operation will be retried."))
}

/// Conditions that a Seed needs.
const CONDITIONS: [&str; 2] = [condition::SEED_GARDENLET_READY, condition::SEED_SYSTEM_COMPONENTS_HEALTHY];

/// Reason for which the Seed is not ready for a gardenlet; `None` if it is ready.
pub fn problem(seed: &Seed, identity: &Gardener) -> Option<String> {
    if let Some(problem) = outdated(seed, identity) {
        return Some(problem);
    }
    for type_ in CONDITIONS {
        match seed.status.conditions.iter().find(|condition| condition.r#type == type_) {
            None => return Some(format!("condition \"{type_}\" is missing")),
            Some(condition) if condition.status != "True" => {
                return Some(format!(
                    "condition \"{type_}\" has invalid status {} (expected True) due to {}: {}",
                    condition.status, condition.reason, condition.message
                ));
            }
            Some(_) => {}
        }
    }
    None
}

/// Reason for which the Seed does not count as reconciled by a gardenlet; `None` if it does.
fn outdated(seed: &Seed, identity: &Gardener) -> Option<String> {
    let show = |gardener: Option<&Gardener>| match gardener {
        Some(gardener) => format!("&{{{} {} {}}}", gardener.id, gardener.name, gardener.version),
        None => "<nil>".to_owned(),
    };
    if seed.status.gardener.as_ref() != Some(identity) {
        return Some(format!(
            "observing Gardener version not up to date ({}/{})",
            show(seed.status.gardener.as_ref()),
            show(Some(identity))
        ));
    }
    if seed.status.observed_generation < seed.metadata.generation {
        return Some(format!(
            "observed generation outdated ({}/{})",
            seed.status.observed_generation, seed.metadata.generation
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use api::core::Condition;

    use super::*;

    fn identity() -> Gardener {
        Gardener { id: "id".to_owned(), name: "gardenlet-0".to_owned(), version: "v1.120.0".to_owned() }
    }

    fn condition(type_: &str, status: &str) -> Condition {
        Condition {
            r#type: type_.to_owned(),
            status: status.to_owned(),
            reason: "R".to_owned(),
            message: "m".to_owned(),
            ..Condition::default()
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Seed), expected: Option<&str>) {
        let mut seed = Seed::default();
        seed.metadata.generation = 2;
        seed.status.observed_generation = 2;
        seed.status.gardener = Some(identity());
        seed.status.conditions =
            vec![condition("GardenletReady", "True"), condition("SeedSystemComponentsHealthy", "True")];
        change(&mut seed);
        assert_eq!(problem(&seed, &identity()).as_deref(), expected);
    }

    /// Cases before and since 1.139.
    #[test]
    fn no_operation_begins_on_an_unready_seed() {
        let refused = |release: u16, change: &dyn Fn(&mut Seed)| {
            let mut seed = Seed::default();
            (seed.metadata.generation, seed.status.observed_generation) = (2, 2);
            seed.status.gardener = Some(identity());
            seed.status.conditions =
                vec![condition("GardenletReady", "True"), condition("SeedSystemComponentsHealthy", "True")];
            change(&mut seed);
            refusal(&seed, &identity(), Release(release))
        };
        let said =
            |problem: &str| Some(format!("Shoot cannot be reconciled on seed: {problem} Operation will be retried."));
        let old = |seed: &mut Seed| seed.metadata.generation = 3;
        assert_eq!(refused(138, &old), None);
        assert_eq!(refused(139, &|_| {}), None);
        assert_eq!(refused(139, &old), said("seed is not up to date: observed generation outdated (2/3)"));
        assert_eq!(
            refused(149, &|seed| seed.status.conditions.truncate(1)),
            said("error in seed conditions: condition \"SeedSystemComponentsHealthy\" is missing")
        );
        let fail = |seed: &mut Seed| seed.status.conditions.iter_mut().for_each(|one| one.status = "False".to_owned());
        assert_eq!(
            refused(149, &fail),
            said("seed has failing conditions: [GardenletReady SeedSystemComponentsHealthy]")
        );
    }

    #[test]
    fn a_seed_is_ready_for_the_gardenlet_that_reconciled_it() {
        check(|_| {}, None);
        check(
            |seed| seed.status.gardener = None,
            Some("observing Gardener version not up to date (<nil>/&{id gardenlet-0 v1.120.0})"),
        );
        check(|seed| seed.metadata.generation = 3, Some("observed generation outdated (2/3)"));
        check(|seed| seed.status.conditions.truncate(1), Some("condition \"SeedSystemComponentsHealthy\" is missing"));
        check(
            |seed| seed.status.conditions[0].status = "Progressing".to_owned(),
            Some("condition \"GardenletReady\" has invalid status Progressing (expected True) due to R: m"),
        );
    }
}
