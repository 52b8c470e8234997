// SPDX-License-Identifier: Apache-2.0
//! One step of an upgrade: one instance starts, ends or is replaced.

use super::{Component, Distance, GardenerVersion, Instance, Landscape, Rule, Violation, violations};
use crate::profile::Profile;

/// A change of one instance. A rolling update with surge adds first and then removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A new instance starts.
    Add(Instance),
    /// An instance ends.
    Remove(Instance),
    /// An instance is replaced by one of another version.
    Replace {
        /// The instance that ends.
        from: Instance,
        /// The version of the new instance.
        to: String,
    },
}

/// Refusal of a step: violations that it causes or makes worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Violations, in the order of the rules; a downgrade or a skipped minor stands alone.
    pub violations: Vec<Violation>,
}

/// Returns the landscape after a step.
///
/// Order: a version that does not parse, then downgrade and skipped minor (for an operator of a Garden: against the
/// Garden's version), then the rules about the landscape after the step. A rule that was violated as badly before
/// refuses nothing, and neither does a removal or a plain restart. Where downgrades are allowed, T1 and O3a refuse
/// nothing.
///
/// # Errors
/// When the step is refused.
pub fn check(landscape: &Landscape, step: &Step, profile: Profile) -> Result<Landscape, Refusal> {
    let (after, new) = judge(landscape, step, profile)?;
    if new.is_empty() { Ok(after) } else { Err(Refusal { violations: new }) }
}

/// Checks a step as [`check`], for the repair of a landscape: the new instance may still violate a rule that the
/// replaced one violates as badly.
///
/// [`check`] treats an offender of another version as another offender, so it refuses to bring a gardenlet that is
/// three minors too old one minor nearer; two at once would be a skipped minor. For a legal landscape both return the
/// same.
///
/// # Errors
/// When the step is refused.
pub fn check_on_the_way_back(landscape: &Landscape, step: &Step, profile: Profile) -> Result<Landscape, Refusal> {
    let (after, mut new) = judge(landscape, step, profile)?;
    if let (Step::Replace { from, to }, false) = (step, new.is_empty()) {
        let replaced = Instance { version: to.clone(), ..from.clone() };
        let before = violations(landscape, profile);
        let was_as_bad = |violation: &Violation| {
            let same = |known: &&Violation| known.rule == violation.rule && known.offender.as_ref() == Some(from);
            before.iter().find(same).is_some_and(|known| known.severity >= violation.severity)
        };
        new.retain(|violation| violation.offender.as_ref() != Some(&replaced) || !was_as_bad(violation));
    }
    if new.is_empty() { Ok(after) } else { Err(Refusal { violations: new }) }
}

/// Returns the landscape after a step, and the violations that are new in it.
fn judge(landscape: &Landscape, step: &Step, profile: Profile) -> Result<(Landscape, Vec<Violation>), Refusal> {
    let mut after = landscape.clone();
    let alone = |rule, offender: &Instance, against: Option<&GardenerVersion>| {
        let offender = Some(offender.clone());
        let against = against.into_iter().cloned().collect();
        Err(Refusal { violations: vec![Violation { rule, offender, severity: Distance::Minors(0), against }] })
    };
    match step {
        Step::Remove(instance) => {
            remove(&mut after, instance);
            return Ok((after, Vec::new()));
        }
        Step::Add(instance) => {
            let Some(version) = GardenerVersion::parse(&instance.version) else {
                return alone(Rule::V0, instance, None);
            };
            if let Some(garden) = operated(landscape, instance.component) {
                if let Some(rule) = against_garden(&version, &garden).filter(|rule| landscape.heeds(*rule)) {
                    return alone(rule, instance, Some(&garden));
                }
            } else if let Some(mark) = below_high_water_mark(landscape, instance, &version) {
                return alone(Rule::T1, instance, Some(&mark));
            }
            after.instances.push(instance.clone());
        }
        Step::Replace { from, to } => {
            let instance = Instance { version: to.clone(), ..from.clone() };
            let Some(version) = GardenerVersion::parse(to) else { return alone(Rule::V0, &instance, None) };
            if let Some(old) = GardenerVersion::parse(&from.version) {
                if version == old {
                    return Ok((after, Vec::new()));
                }
                let (rule, against) = match operated(landscape, from.component) {
                    Some(garden) => (against_garden(&version, &garden), garden),
                    None => (against_previous(from.component, &version, &old, profile), old),
                };
                if let Some(rule) = rule.filter(|rule| landscape.heeds(*rule)) {
                    return alone(rule, &instance, Some(&against));
                }
            }
            remove(&mut after, from);
            after.instances.push(instance);
        }
    }
    let before = violations(landscape, profile);
    let was_as_bad = |violation: &Violation| {
        before.iter().any(|known| known.is_about_the_same(violation) && known.severity >= violation.severity)
    };
    let new = violations(&after, profile).into_iter().filter(|violation| !was_as_bad(violation)).collect();
    Ok((after, new))
}

fn remove(landscape: &mut Landscape, instance: &Instance) {
    if let Some(at) = landscape.instances.iter().position(|known| known == instance) {
        landscape.instances.remove(at);
    }
}

/// Returns the version that last operated the Garden, if the component is the operator.
fn operated(landscape: &Landscape, component: Component) -> Option<GardenerVersion> {
    if component == Component::Operator { GardenerVersion::parse(landscape.garden.as_deref()?) } else { None }
}

/// Returns the rule that an operator violates towards the version that last operated the Garden.
pub(crate) fn against_garden(version: &GardenerVersion, garden: &GardenerVersion) -> Option<Rule> {
    if version < garden {
        return Some(Rule::O3a);
    }
    let (major, minor) = garden.minor();
    let limit = (major, minor.saturating_add(2), 0);
    (version.full() >= limit).then_some(Rule::O3b)
}

/// Returns the rule that an instance violates towards the version that ran in its place.
pub(super) fn against_previous(
    component: Component,
    version: &GardenerVersion,
    previous: &GardenerVersion,
    profile: Profile,
) -> Option<Rule> {
    if version < previous {
        return Some(Rule::T1);
    }
    let skips = match (component, Distance::between(version, previous)) {
        (_, Distance::NewerMajor) => true,
        (Component::Extension, _) => false,
        (Component::Gardenlet, step) => step > Distance::Minors(profile.gardenlet_minors_behind()),
        (_, step) => step > Distance::Minors(1),
    };
    skips.then_some(Rule::T2)
}

/// Returns the recorded version that a new instance is below, unless an instance as old or older still runs.
pub(super) fn below_high_water_mark(
    landscape: &Landscape,
    instance: &Instance,
    version: &GardenerVersion,
) -> Option<GardenerVersion> {
    if !landscape.heeds(Rule::T1) {
        return None;
    }
    landscape
        .marks_of(instance)
        .filter_map(|mark| {
            let highest = GardenerVersion::parse(&mark.version)?;
            let runs_as_old = landscape.instances.iter().any(|known| {
                known.component == mark.component
                    && mark.owner.as_ref().is_none_or(|owner| *owner == known.owner)
                    && GardenerVersion::parse(&known.version).is_some_and(|known| known <= *version)
            });
            (*version < highest && !runs_as_old).then_some(highest)
        })
        .max()
}
