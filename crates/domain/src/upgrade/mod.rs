// SPDX-License-Identifier: Apache-2.0
//! How a landscape gets to another version of Gardener: in which order, after what, and what that changes.
//!
//! [`plan`] is the shortest legal order to a target version, [`check`] finds the first step of a given order that is
//! illegal, [`changes`] is what each minor brings. A step replaces one instance, and is judged by
//! [`crate::skew::transition::check`], or on the way back from a landscape that is out of skew by
//! [`crate::skew::transition::check_on_the_way_back`]; a plan takes none that these refuse.
//!
//! ```text
//! for each minor z on the way:
//!   who would be too old beside gardener-apiserver z   C2, G2
//!     ▼
//!   gardener-operator → z                              if there is one
//!     ▼
//!   gardener-apiserver → z, one by one                 A1
//!     ▼
//!   admission-controller, controller-manager, scheduler → z
//! at the end: gardenlets, then extensions              G1, E1
//! ```
//!
//! A gardenlet is raised as late as it may be and then as far as it may go: where it may be two minors behind, that is
//! half of the steps. From a landscape that is out of skew, the steps back to a legal one come first.
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

/// Beyond so many minors nobody plans, and a plan would not end.
const MINORS: u64 = 1000;

/// The replacement of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is replaced.
    pub component: Component,
    /// Which one: its place among the instances of the landscape that the plan begins with.
    pub index: usize,
    /// The seed of a gardenlet, the name of an extension; empty for the others.
    pub owner: String,
    /// The version that ends.
    pub from: GardenerVersion,
    /// The version that takes its place.
    pub to: GardenerVersion,
    /// Conditions that must hold before.
    pub waits_for: Vec<Wait>,
}

/// An order of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
    /// How many of the first steps lead back to a legal landscape; 0 from a legal one.
    pub steps_back: usize,
}

/// Why there is no legal order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// A version does not parse.
    #[error("{0}")]
    Unparsable(String),
    /// Somebody is above the target already.
    #[error("{who} is at {version} already, above {target}, and downgrades are not supported (T1)")]
    AboveTarget {
        /// The instance, or the Garden.
        who: String,
        /// Its version.
        version: String,
        /// The target.
        target: String,
    },
    /// The target is of another major.
    #[error("{who} is at {version}: no rule allows a step from there to another major version, such as {target}")]
    OtherMajor {
        /// The instance.
        who: String,
        /// Its version.
        version: String,
        /// The target.
        target: String,
    },
    /// The target is too far away.
    #[error("{target} is {minors} minors ahead: plans end at {MINORS}")]
    TooFar {
        /// The target.
        target: String,
        /// How far.
        minors: u64,
    },
    /// The only step that could come next is refused, as by a Garden that another version operated.
    #[error("no legal order leads on: {who} cannot go from {from} to {to}: {rule}: {text}")]
    Stuck {
        /// The instance.
        who: String,
        /// Its version.
        from: String,
        /// The version that would have to come next.
        to: String,
        /// Why it cannot.
        rule: Rule,
        /// The rule's words.
        text: String,
    },
}

/// An instance in words: `gardenlet of seed a`.
pub fn shown(component: Component, owner: &str) -> String {
    match component {
        Component::Gardenlet if !owner.is_empty() => format!("gardenlet of seed {owner}"),
        Component::Extension if !owner.is_empty() => format!("extension {owner}"),
        _ => component.name().to_owned(),
    }
}

/// The shortest legal order in which every instance of a landscape gets to a version.
///
/// Order: shortest by the number of steps; from an illegal landscape first by the number of steps back to a legal one. In
/// a landscape with an operator nothing that it rolls out is raised before it. Versions in between are those that are seen
/// in the landscape already, else the first patch of their minor. Extensions of other majors, or above the target, stay; one
/// whose library is of a later minor than the target violates rule E1 as long as there are gardenlets, which no plan resolves.
///
/// # Errors
/// There is no such order.
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
            if nth == 0 {
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
