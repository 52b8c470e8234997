// SPDX-License-Identifier: Apache-2.0
//! Check of a running instance against the others.
//!
//! | component | its own rules |
//! | --- | --- |
//! | gardener-apiserver | A1, as far as it is itself too far from another instance |
//! | gardener-controller-manager, gardener-scheduler, gardener-admission-controller | C1, C2 |
//! | gardenlet | G1, G2 |
//! | gardener-operator | O1, O2, as far as it is itself too far from the others |
//! | an extension that is released with Gardener | E1 |
//!
//! Violations of other components are reported to them. Steps (T1, T2) and recorded versions (O3a, O3b, P1) are
//! checked at starts only. Without a gardener-apiserver there is no version to compare with.

use super::start_up::{Refused, library_refused, refused, violated};
use super::{APISERVERS_APART, Component, Distance, GardenerVersion, Instance, Landscape, OPERATORS_APART, Rule};
use crate::profile::Profile;
use crate::versions::ParseError;

/// Returns the first of its own rules that an instance violates; `others` are the instances that run without it. In
/// profile `upstream` nothing is checked.
pub fn violation(others: &Landscape, instance: &Instance, profile: Profile) -> Option<Refused> {
    if !profile.checks_while_running() {
        return None;
    }
    let Some(version) = GardenerVersion::parse(&instance.version) else {
        let (name, raw) = (instance.component.name(), &instance.version);
        let text = format!("failed parsing version of {name} {raw:?}: {}", ParseError::Invalid);
        return Some(Refused { rule: Rule::V0, text, against: Vec::new() });
    };
    let rules: &[Rule] = match instance.component {
        Component::Apiserver => &[Rule::A1],
        Component::ControllerManager | Component::Scheduler | Component::AdmissionController => &[Rule::C1, Rule::C2],
        Component::Gardenlet => &[Rule::G1, Rule::G2],
        Component::Operator => &[Rule::O1, Rule::O2],
        Component::Extension => &[Rule::E1],
    };
    let found = violated(others, instance, rules, profile)?;
    if found.rule == Rule::E1 {
        return Some(library_refused(others, instance, &found));
    }
    let is_own = found.offender.is_some() || found.against.iter().any(|other| is_too_far(found.rule, &version, other));
    is_own.then(|| refused(found.rule, instance, &version, &found.against, profile))
}

/// True if two versions are further apart than a rule without an offender allows: A1, O1 or O2.
fn is_too_far(rule: Rule, one: &GardenerVersion, other: &GardenerVersion) -> bool {
    let (newer, older) = if one > other { (one, other) } else { (other, one) };
    let apart = if rule == Rule::A1 { APISERVERS_APART } else { OPERATORS_APART };
    Distance::between(newer, older).above(i128::from(apart)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skew::short::instance;

    /// Cases: other running instances, the checked instance, the expected violation.
    const RUNNING: &str = "
api 1.120.0                         | gcm 1.120.0 => -
api 1.121.0                         | gcm 1.120.0 => -
api 1.122.0                         | gcm 1.120.0 => C2 gardener-controller-manager version must not be older than one minor gardener-apiserver version (gardener-apiserver version: 1.122.0, gardener-controller-manager version: 1.120.0)
api 1.119.9 api 1.120.0             | sch 1.120.0 => C1 gardener-scheduler version must not be newer than gardener-apiserver version (gardener-apiserver version: 1.119.9, gardener-scheduler version: 1.120.0)
api 1.120.0                         | adm 1.119.0 => -
                                    | gcm 1.120.0 => -
api 1.122.0                         | let 1.120.0 => G2 gardenlet version must not be older than one minor gardener-apiserver version (gardener-apiserver version: 1.122.0, gardenlet version: 1.120.0)
api 1.119.0                         | let 1.120.0 => G1 gardenlet version must not be newer than gardener-apiserver version (gardener-apiserver version: 1.119.0, gardenlet version: 1.120.0), please consult https://gardener.cloud/docs/gardener/deployment/version_skew_policy/#version-skew-policy
api 1.120.0 let 1.118.0 gcm 1.118.0 | api 1.120.0 => -
api 1.120.0                         | api 1.121.0 => -
api 1.120.0                         | api 1.122.0 => A1 newest and oldest gardener-apiserver instances must be within one minor version (oldest: 1.120.0, newest: 1.122.0)
api 1.119.0 api 1.121.0             | api 1.120.0 => -
api 1.120.0                         | op 1.121.3  => -
api 1.120.0                         | op 1.122.0  => O2 gardener-operator and gardener-apiserver instances must be within one minor version (oldest: 1.120.0, newest: 1.122.0)
op 1.119.0 op 1.121.0               | op 1.120.0  => -
op 1.118.0                          | op 1.120.0  => O1 gardener-operator and gardener-apiserver instances must be within one minor version (oldest: 1.118.0, newest: 1.120.0)
let 1.120.0 let 1.119.0             | ext 1.120.0 => E1 extension \"ext\" depends on extensions library 1.120.0, which is newer than gardenlet 1.119.0 on seed \"let\"
let 1.120.0                         | ext 1.120.0 => -
                                    | ext 1.120.0 => -
api odd                             | gcm 1.120.0 => -
api 1.120.0                         | gcm odd     => V0 failed parsing version of gardener-controller-manager \"odd\": Invalid Semantic Version
";

    /// Source: spec of the emulator; upstream checks nothing while a component runs.
    #[test]
    fn a_running_instance_is_judged_by_its_own_rules() {
        for row in RUNNING.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let cells: Vec<Vec<&str>> = given.split('|').map(|cell| cell.split_whitespace().collect()).collect();
            let instances = cells[0].chunks(2).map(|words| instance(words[0], words[1])).collect();
            let others = Landscape { instances, ..Landscape::default() };
            let me = instance(cells[1][0], cells[1][1]);
            let found = violation(&others, &me, Profile::Documents);
            let told = found.map_or_else(|| "-".to_owned(), |found| format!("{} {}", found.rule, found.text));
            assert_eq!(told, expected.trim(), "row: {row}");
            assert_eq!(violation(&others, &me, Profile::Upstream), None, "row: {row}");
        }
    }
}
