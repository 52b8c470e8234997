// SPDX-License-Identifier: Apache-2.0
//! What must hold before a step, and how to see it.

use super::fleet::{Fleet, Move};
use super::order::CONTROL_PLANE;
use crate::skew::Component;

/// Images of the components that run in the runtime cluster, with their tags.
const SEE_DEPLOYMENTS: &str = "`kubectl -n garden get deployments -o wide`";
/// Versions of gardenlets.
const SEE_SEEDS: &str = "`kubectl get seeds`, column VERSION";

/// What must hold before a move, of each that makes it.
pub(super) fn before(next: &Move, fleet: &Fleet) -> Vec<String> {
    let (major, minor) = next.to.minor();
    let is_patch = next.from.minor() == next.to.minor();
    let below = |minors: u64| format!("{major}.{}", minor.saturating_sub(minors));
    let has = |component| fleet.count(component) > 0;
    let mut waits = Vec::new();
    let rolls_out = matches!(next.component, Component::Operator | Component::Apiserver);
    if rolls_out && !is_patch && has(Component::Apiserver) {
        if next.component == Component::Operator {
            let oldest = below(1);
            waits.push(format!("every gardener-apiserver is at {oldest} or newer (O2): {SEE_DEPLOYMENTS}"));
        } else if fleet.count(Component::Apiserver) > 1 {
            let oldest = below(1);
            waits.push(format!("every gardener-apiserver is at {oldest} or {major}.{minor} (A1): {SEE_DEPLOYMENTS}"));
        }
        let names: Vec<&str> = CONTROL_PLANE.into_iter().filter(|it| has(*it)).map(Component::name).collect();
        if !names.is_empty() {
            let verb = if names.len() == 1 { "is" } else { "are" };
            let (names, oldest) = (names.join(", "), below(1));
            waits.push(format!("{names} {verb} at {oldest} or newer (C2): {SEE_DEPLOYMENTS}"));
        }
        if has(Component::Gardenlet) {
            let oldest = below(u64::try_from(fleet.profile.gardenlet_minors_behind()).unwrap_or(1));
            waits.push(format!("every gardenlet is at {oldest} or newer (G2): {SEE_SEEDS}"));
        }
    }
    if next.component == Component::Operator && !is_patch {
        if fleet.count(Component::Operator) > 1 {
            let oldest = below(1);
            waits.push(format!("every gardener-operator is at {oldest} or {major}.{minor} (O1): {SEE_DEPLOYMENTS}"));
        }
        if let Some(garden) = &fleet.garden {
            waits.push(format!(
                "gardener-operator {garden} has reconciled the Garden (O3b): `kubectl get garden`, columns GARDENER \
                 VERSION and LAST OPERATION"
            ));
        }
    }
    if next.component == Component::Apiserver && has(Component::Operator) {
        waits.push(format!("gardener-operator, which rolls it out, is at {}: {SEE_DEPLOYMENTS}", at(next, is_patch)));
    }
    if CONTROL_PLANE.contains(&next.component) && has(Component::Apiserver) {
        waits.push(format!("every gardener-apiserver is at {} or newer (C1): {SEE_DEPLOYMENTS}", at(next, is_patch)));
    }
    if next.component == Component::Gardenlet && has(Component::Apiserver) {
        let at = at(next, fleet.profile.gardenlet_newness_counts_patches());
        waits.push(format!("every gardener-apiserver is at {at} or newer (G1): {SEE_DEPLOYMENTS}"));
    }
    if next.component == Component::Extension && has(Component::Gardenlet) {
        waits.push(format!("every gardenlet is at {major}.{minor} or newer (E1): {SEE_SEEDS}"));
    }
    waits
}

/// What is wise before the first step to another minor, and no rule.
pub(super) fn advice(next: &Move, fleet: &Fleet) -> Option<String> {
    let begins_minor = match next.component {
        Component::Operator => true,
        Component::Apiserver => fleet.count(Component::Operator) == 0,
        _ => false,
    };
    let is_patch = next.from.minor() == next.to.minor();
    (begins_minor && !is_patch && fleet.count(Component::Gardenlet) > 0).then(|| {
        "recommended: gardenlets have reconciled every Shoot since the last minor (W1): `kubectl get shoots -A -o wide`, \
         column GARDENER VERSION"
            .to_owned()
    })
}

/// What one gardener-apiserver after the other waits for.
pub(super) fn instance_before() -> String {
    "the instance before it is ready: `kubectl -n garden rollout status deployment gardener-apiserver`".to_owned()
}

/// The minor that a move leads to, or the whole version where patches count.
fn at(next: &Move, counts_patches: bool) -> String {
    let (major, minor) = next.to.minor();
    if counts_patches { next.to.to_string() } else { format!("{major}.{minor}") }
}
