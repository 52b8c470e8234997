// SPDX-License-Identifier: Apache-2.0
//! Upgrades of a landscape to another version of Gardener: order of the steps, their conditions, and the resulting changes.
//!
//! [`plan`] returns the shortest legal order to a target version, [`check`] finds the first illegal step of a given
//! order, [`changes`] lists the changes of each minor. A step replaces one instance, and is checked by
//! [`crate::skew::transition::check`], or on the way back from a landscape that is out of skew by
//! [`crate::skew::transition::check_on_the_way_back`]; a plan contains no step that these refuse.
//!
//! ```text
//! for each minor z on the way:
//!   components too old for gardener-apiserver z        C2, G2
//!     ▼
//!   gardener-operator → z                              if there is one
//!     ▼
//!   gardener-apiserver → z, one by one                 A1
//!     ▼
//!   admission-controller, controller-manager, scheduler → z
//! at the end: gardenlets, then extensions              G1, E1
//! ```
//!
//! A gardenlet is raised as late as allowed and then as far as allowed: where it may be two minors behind, that is half
//! of the steps. From a landscape that is out of skew, the steps back to a legal one come first.
//!
//! Source: docs/deployment/version_skew_policy.md, section Supported Component Upgrade Order.

pub mod changes;
mod check;
mod fleet;
mod order;
mod wait;

pub use check::{Illegal, Replacement, check};
pub use wait::Wait;

use crate::profile::Profile;
use crate::skew::start_up::violation_text;
use crate::skew::{Component, GardenerVersion, Landscape, Rule, violations};
use fleet::Fleet;

/// Maximum number of minors of a plan.
const MINORS: u64 = 1000;

/// The replacement of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Component of the instance.
    pub component: Component,
    /// Index of the instance in the landscape before the plan.
    pub index: usize,
    /// Seed of a gardenlet, name of an extension; empty for the others.
    pub owner: String,
    /// Version before the step.
    pub from: GardenerVersion,
    /// Version after the step.
    pub to: GardenerVersion,
    /// Conditions that must hold before the step.
    pub waits_for: Vec<Wait>,
}

/// A legal order of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Steps in their order.
    pub steps: Vec<Step>,
    /// Number of the first steps that lead back to a legal landscape; 0 from a legal one.
    pub steps_back: usize,
}

/// Reason for which there is no legal order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// A version is invalid.
    #[error("{0}")]
    Unparsable(String),
    /// An instance or the Garden is already above the target.
    #[error("{who} is at {version} already, above {target}, and downgrades are not supported (T1)")]
    AboveTarget {
        /// The instance, or the Garden.
        who: String,
        /// Version of that instance or Garden.
        version: String,
        /// The target.
        target: String,
    },
    /// The target is of another major.
    #[error("{who} is at {version}: no rule allows a step from there to another major version, such as {target}")]
    OtherMajor {
        /// The instance.
        who: String,
        /// Version of the instance.
        version: String,
        /// The target.
        target: String,
    },
    /// The target is too many minors ahead.
    #[error("{target} is {minors} minors ahead: plans end at {MINORS}")]
    TooFar {
        /// The target.
        target: String,
        /// Number of minors.
        minors: u64,
    },
    /// The only possible next step is refused, for example because another version reconciled the Garden.
    #[error("no legal order leads on: {who} cannot go from {from} to {to}: {rule}: {text}")]
    Stuck {
        /// The instance.
        who: String,
        /// Version of the instance.
        from: String,
        /// Version of the next step.
        to: String,
        /// Rule that refuses the step.
        rule: Rule,
        /// Text of the rule's violation.
        text: String,
    },
}

/// Returns the name of an instance: `gardenlet of seed a`.
pub fn shown(component: Component, owner: &str) -> String {
    match component {
        Component::Gardenlet if !owner.is_empty() => format!("gardenlet of seed {owner}"),
        Component::Extension if !owner.is_empty() => format!("extension {owner}"),
        _ => component.name().to_owned(),
    }
}

/// Returns the shortest legal order in which every instance of a landscape reaches a version.
///
/// Order: shortest by the number of steps; from an illegal landscape first by the number of steps back to a legal one. In
/// a landscape with an operator, components that it rolls out are raised after it. Intermediate versions are those
/// present in the landscape, else the first patch of their minor. Extensions of other majors, or above the target, are
/// not moved; one whose library is of a later minor than the target violates rule E1 as long as there are gardenlets,
/// which no plan resolves.
///
/// # Errors
/// No legal order exists.
pub fn plan(landscape: &Landscape, target: &GardenerVersion, profile: Profile) -> Result<Plan, NoPlan> {
    if let Some(first) = violations(landscape, profile).iter().find(|violation| violation.rule == Rule::V0) {
        return Err(NoPlan::Unparsable(violation_text(landscape, first, profile)));
    }
    let mut fleet = Fleet::of(landscape, target, profile)?;
    let mut plan = Plan::default();
    let mut is_legal = fleet.violated().is_empty();
    while let Some(next) = if is_legal { order::onward(&fleet) } else { order::back(&fleet) } {
        fleet.permit(&next)?;
        let waits = wait::before(&next, &fleet);
        let advice = wait::advice(&next, &fleet);
        for (nth, index) in fleet.take(&next).into_iter().enumerate() {
            let instance = &landscape.instances[index];
            let mut waits_for = waits.clone();
            // Gardenlets of one move wait for the same conditions, so that their steps are shown in one row.
            if nth == 0 || next.component == Component::Gardenlet {
                waits_for.extend(advice.clone());
            } else if next.component == Component::Apiserver {
                waits_for.push(wait::instance_before());
            }
            plan.steps.push(Step {
                component: next.component,
                index,
                owner: instance.owner.clone(),
                from: next.from.clone(),
                to: next.to.clone(),
                waits_for,
            });
        }
        if !is_legal {
            plan.steps_back = plan.steps.len();
            is_legal = fleet.violated().is_empty();
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests;
