// SPDX-License-Identifier: Apache-2.0
//! Conditions that must hold before a step, and the commands that show them.

use super::fleet::{Fleet, Move};
use super::order::CONTROL_PLANE;
use crate::skew::{APISERVERS_APART, Component, OPERATORS_APART};

/// Condition that must hold before a step, with the command that shows whether it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    condition: String,
    look: ShowCommand,
}

/// Command that shows a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShowCommand {
    /// Images of the components that run in the runtime cluster, with their tags.
    Deployments,
    /// State of the roll-out of gardener-apiserver.
    Apiserver,
    /// Version that has reconciled the Garden.
    Garden,
    /// Annotations, generation and status of the Garden.
    GardenStatus,
    /// Conditions of Extensions.
    Extensions,
    /// Versions of gardenlets.
    Seeds,
    /// Annotations, generation and status of Seeds.
    SeedStatus,
    /// Versions of gardenlets that have reconciled Shoots.
    Shoots,
}

impl Wait {
    fn new(look: ShowCommand, condition: impl Into<String>) -> Self {
        Self { condition: condition.into(), look }
    }

    /// Formats the condition and its command, `CONDITION: COMMAND`. The command names the context of the running landscape
    /// `landscape`; without a landscape it names none, since contexts of others are not known.
    pub fn shown(&self, landscape: Option<&str>) -> String {
        let (cluster, words, columns) = match self.look {
            ShowCommand::Deployments => ("-runtime", "-n garden get deployments -o wide", ""),
            ShowCommand::Apiserver => ("-runtime", "-n garden rollout status deployment gardener-apiserver", ""),
            ShowCommand::Garden => ("-runtime", "get garden", ", columns GARDENER VERSION and LAST OPERATION"),
            ShowCommand::GardenStatus => ("-runtime", "get garden -o yaml", ""),
            ShowCommand::Extensions => ("-runtime", "get extensions.operator.gardener.cloud -o wide", ""),
            ShowCommand::Seeds => ("", "get seeds", ", column VERSION"),
            ShowCommand::SeedStatus => ("", "get seeds -o yaml", ""),
            ShowCommand::Shoots => ("", "get shoots -A -o wide", ", column GARDENER VERSION"),
        };
        let context = landscape.map(|name| format!(" --context terrarium-{name}{cluster}")).unwrap_or_default();
        format!("{}: `kubectl{context} {words}`{columns}", self.condition)
    }
}

/// Returns the conditions of a move, for each instance.
pub(super) fn before(next: &Move, fleet: &Fleet) -> Vec<Wait> {
    let (major, minor) = next.to.minor();
    let is_patch = next.from.minor() == next.to.minor();
    let below = |minors: u64| format!("{major}.{}", minor.saturating_sub(minors));
    let has = |component| fleet.count(component) > 0;
    let mut waits = Vec::new();
    let rolls_out = matches!(next.component, Component::Operator | Component::Apiserver);
    if rolls_out && !is_patch && has(Component::Apiserver) {
        if next.component == Component::Operator {
            let oldest = below(OPERATORS_APART);
            waits.push(Wait::new(
                ShowCommand::Deployments,
                format!("every gardener-apiserver is at {oldest} or newer (O2)"),
            ));
        } else if fleet.count(Component::Apiserver) > 1 {
            let oldest = below(APISERVERS_APART);
            waits.push(Wait::new(
                ShowCommand::Deployments,
                format!("every gardener-apiserver is at {oldest} or {major}.{minor} (A1)"),
            ));
        }
        let names: Vec<&str> = CONTROL_PLANE.into_iter().filter(|it| has(*it)).map(Component::name).collect();
        if !names.is_empty() {
            let verb = if names.len() == 1 { "is" } else { "are" };
            let (names, oldest) = (names.join(", "), below(1));
            waits.push(Wait::new(ShowCommand::Deployments, format!("{names} {verb} at {oldest} or newer (C2)")));
        }
        if has(Component::Gardenlet) {
            let oldest = below(u64::try_from(fleet.profile.gardenlet_minors_behind()).unwrap_or(1));
            waits.push(Wait::new(ShowCommand::Seeds, format!("every gardenlet is at {oldest} or newer (G2)")));
        }
    }
    if next.component == Component::Operator && !is_patch {
        if fleet.count(Component::Operator) > 1 {
            let oldest = below(OPERATORS_APART);
            waits.push(Wait::new(
                ShowCommand::Deployments,
                format!("every gardener-operator is at {oldest} or {major}.{minor} (O1)"),
            ));
        }
        if let Some(garden) = &fleet.garden {
            let condition = format!("gardener-operator {garden} has reconciled the Garden (O3b)");
            waits.push(Wait::new(ShowCommand::Garden, condition));
        }
    }
    if next.component == Component::Apiserver && has(Component::Operator) {
        waits.push(Wait::new(
            ShowCommand::Deployments,
            format!("gardener-operator, which rolls it out, is at {}", at(next, is_patch)),
        ));
    }
    if CONTROL_PLANE.contains(&next.component) && has(Component::Apiserver) {
        waits.push(Wait::new(
            ShowCommand::Deployments,
            format!("every gardener-apiserver is at {} or newer (C1)", at(next, is_patch)),
        ));
    }
    if next.component == Component::Gardenlet && has(Component::Apiserver) {
        let at = at(next, fleet.profile.gardenlet_newness_counts_patches());
        waits.push(Wait::new(ShowCommand::Deployments, format!("every gardener-apiserver is at {at} or newer (G1)")));
    }
    if next.component == Component::Extension && has(Component::Gardenlet) {
        waits.push(Wait::new(ShowCommand::Seeds, format!("every gardenlet is at {major}.{minor} or newer (E1)")));
    }
    waits
}

/// Returns recommendations for the first step to another minor, and for gardenlets; they are not rules.
///
/// Source: docs/operations/upgrade-gardener.md @ v1.133.0.
pub(super) fn advice(next: &Move, fleet: &Fleet) -> Vec<Wait> {
    let has = |component| fleet.count(component) > 0;
    let begins_minor = match next.component {
        Component::Operator => true,
        Component::Apiserver => !has(Component::Operator),
        _ => false,
    };
    let mut waits = Vec::new();
    if next.from.minor() == next.to.minor() {
        return waits;
    }
    let garden = fleet.garden.as_ref().filter(|_| has(Component::Operator));
    if let Some(garden) = garden.filter(|_| begins_minor || next.component == Component::Gardenlet) {
        let condition = format!("recommended: the Garden is ready (status.gardener.version is {garden}, {READY})");
        waits.push(Wait::new(ShowCommand::GardenStatus, condition));
        if has(Component::Extension) {
            waits.push(Wait::new(ShowCommand::Extensions, "recommended: all conditions of Extensions are True"));
        }
    }
    if begins_minor && has(Component::Gardenlet) {
        waits.push(Wait::new(ShowCommand::SeedStatus, format!("recommended: every Seed is ready ({READY})")));
        let condition = "recommended: gardenlets have reconciled every Shoot since the last minor (W1)";
        waits.push(Wait::new(ShowCommand::Shoots, condition));
    }
    waits
}

/// State of a Garden or Seed whose upgrade has ended.
const READY: &str = "no annotation gardener.cloud/operation, observedGeneration is generation, last operation Succeeded, \
                     all conditions True";

/// Returns the condition of each further gardener-apiserver.
pub(super) fn instance_before() -> Wait {
    Wait::new(ShowCommand::Apiserver, "the instance before it is ready")
}

/// Returns the minor of a move's target, or the whole version if patches count.
fn at(next: &Move, counts_patches: bool) -> String {
    let (major, minor) = next.to.minor();
    if counts_patches { next.to.to_string() } else { format!("{major}.{minor}") }
}
