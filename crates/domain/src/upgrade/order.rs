// SPDX-License-Identifier: Apache-2.0
//! Selection of the instances that move next.
//!
//! There is no search: each rule is a bound between two sets of versions, so the lowest instance below such a bound is
//! the one to raise. The moves that a rule requires before another one are in [`towards`], in the order of the policy.

use super::fleet::{Fleet, Move};
use crate::skew::{Component, GardenerVersion, Rule};

/// Components of rules C1 and C2, in the order in which they are raised.
pub(super) const CONTROL_PLANE: [Component; 3] =
    [Component::AdmissionController, Component::ControllerManager, Component::Scheduler];

/// Returns the next move from a legal landscape; `None`: all instances are at their target.
pub(super) fn onward(fleet: &Fleet) -> Option<Move> {
    if let Some((oldest, newest)) = apiservers(fleet) {
        if oldest < newest {
            return towards(fleet, newest);
        }
        if oldest < fleet.target.minor().1 {
            // A minor is complete once the control plane has followed.
            return control_plane_below(fleet, oldest).or_else(|| towards(fleet, oldest + 1));
        }
    }
    to_target(fleet)
}

/// Returns the next move from a landscape that is out of skew: the one that its first violated rule requires.
pub(super) fn back(fleet: &Fleet) -> Option<Move> {
    let violated = fleet.violated();
    let is_violated = |rule| violated.contains(&rule);
    let Some((oldest, newest)) = apiservers(fleet) else {
        return match violated.first() {
            Some(Rule::E1) => raise(fleet, Component::Gardenlet),
            _ => raise(fleet, Component::Operator),
        };
    };
    let behind = u64::try_from(fleet.profile.gardenlet_minors_behind()).unwrap_or(1);
    if is_violated(Rule::A1) {
        let operator = lowest(fleet, Component::Operator).filter(|_| {
            let leading = fleet.newest(Component::Operator).map(|version| version.minor().1);
            leading.is_some_and(|leading| leading <= oldest)
        });
        return match operator {
            Some(_) => raise(fleet, Component::Operator),
            None => raise(fleet, Component::Apiserver),
        };
    }
    if is_violated(Rule::C2) {
        return control_plane_below(fleet, newest.saturating_sub(1));
    }
    if is_violated(Rule::G2) && lowest(fleet, Component::Gardenlet)? < newest.saturating_sub(behind) {
        return raise(fleet, Component::Gardenlet);
    }
    if is_violated(Rule::O1) || is_violated(Rule::O2) {
        let operator = lowest(fleet, Component::Operator)?;
        return if operator <= oldest { raise(fleet, Component::Operator) } else { towards(fleet, oldest + 1) };
    }
    if is_violated(Rule::E1) && !is_violated(Rule::C1) && !is_violated(Rule::G1) {
        let gardenlet = lowest(fleet, Component::Gardenlet)?;
        let library = fleet.newest(Component::Extension)?.minor().1;
        // A gardenlet is raised if its step leads as far as possible, or as far as necessary.
        if oldest >= library.min(gardenlet.saturating_add(behind)) {
            return raise(fleet, Component::Gardenlet);
        }
    }
    // Some component is above the oldest gardener-apiserver.
    if oldest < fleet.target.minor().1 { towards(fleet, oldest + 1) } else { to_target(fleet) }
}

/// Returns the next move towards a minor for all gardener-apiservers: first components that would be too old for it, then
/// the operators that roll it out, then gardener-apiserver itself.
fn towards(fleet: &Fleet, minor: u64) -> Option<Move> {
    let behind = u64::try_from(fleet.profile.gardenlet_minors_behind()).unwrap_or(1);
    let is_below = |component, bound: u64| lowest(fleet, component).is_some_and(|lowest| lowest < bound);
    if let Some(next) = control_plane_below(fleet, minor.saturating_sub(1)) {
        return Some(next);
    }
    if is_below(Component::Gardenlet, minor.saturating_sub(behind)) {
        return raise(fleet, Component::Gardenlet);
    }
    if is_below(Component::Operator, minor) {
        return raise(fleet, Component::Operator);
    }
    raise(fleet, Component::Apiserver)
}

/// Returns the last moves: all components to the exact target version, each before the components that it bounds.
fn to_target(fleet: &Fleet) -> Option<Move> {
    let first = [Component::Operator, Component::Apiserver];
    for component in first.into_iter().chain(CONTROL_PLANE).chain([Component::Gardenlet]) {
        if fleet.lowest(component).is_some_and(|version| *version < fleet.target) {
            return raise(fleet, component);
        }
    }
    let from = fleet.extension_below_target()?.clone();
    Some(Move { component: Component::Extension, from, to: fleet.target.clone() })
}

fn control_plane_below(fleet: &Fleet, bound: u64) -> Option<Move> {
    let is_below = |component: &Component| lowest(fleet, *component).is_some_and(|lowest| lowest < bound);
    raise(fleet, CONTROL_PLANE.into_iter().find(is_below)?)
}

/// Raises the oldest instances of a component as far as one step allows.
fn raise(fleet: &Fleet, component: Component) -> Option<Move> {
    let from = fleet.lowest(component)?.clone();
    let last = fleet.target.minor().1;
    let at = from.minor().1;
    let bound = fleet.lowest(Component::Apiserver);
    let to = match component {
        _ if at >= last => fleet.target.clone(),
        // A component that is older than the Garden's operator is raised to its version at once.
        Component::Operator => {
            let garden = fleet.garden.as_ref().filter(|garden| **garden > from).map_or(0, |garden| garden.minor().1);
            fleet.version_of(garden.max(at + 1))
        }
        Component::Apiserver => fleet.version_of(at + 1),
        Component::Gardenlet => {
            let behind = u64::try_from(fleet.profile.gardenlet_minors_behind()).unwrap_or(1);
            let highest = bound.map_or(last, |bound| bound.minor().1.max(at + 1));
            not_above(fleet.version_of((at + behind).min(highest)), bound)
        }
        _ => not_above(fleet.version_of(at + 1), bound),
    };
    Some(Move { component, from, to })
}

/// Returns a version, or the gardener-apiserver's of the same minor if that is older.
fn not_above(version: GardenerVersion, apiserver: Option<&GardenerVersion>) -> GardenerVersion {
    match apiserver {
        Some(apiserver) if apiserver.minor() == version.minor() && *apiserver < version => apiserver.clone(),
        _ => version,
    }
}

/// Returns the oldest and the newest minor of gardener-apiserver.
fn apiservers(fleet: &Fleet) -> Option<(u64, u64)> {
    let oldest = fleet.lowest(Component::Apiserver)?;
    Some((oldest.minor().1, fleet.newest(Component::Apiserver)?.minor().1))
}

fn lowest(fleet: &Fleet, component: Component) -> Option<u64> {
    Some(fleet.lowest(component)?.minor().1)
}
