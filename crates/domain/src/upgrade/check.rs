// SPDX-License-Identifier: Apache-2.0
//! Check of a given order of steps.

use std::collections::BTreeMap;

use crate::profile::Profile;
use crate::skew::start_up::left_behind;
use crate::skew::transition::{self, Refusal, Step, against_garden};
use crate::skew::{Component, Distance, GardenerVersion, Instance, Landscape, Rule, Violation, violations};

/// Replacement of one instance by one of another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The instance before the step.
    pub from: Instance,
    /// Version of the instance after the step.
    pub to: String,
}

/// The first step of an order that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    /// Index of the step in the order, from 0.
    pub index: usize,
    /// The violated rule and its remedy.
    pub refusal: Refusal,
    /// The landscape before the step, with each version of a component once.
    pub before: Landscape,
}

/// Returns the version of the Garden once operators of some versions run: the newest that may start against it. The
/// version is written at the beginning of a reconciliation, so a step may rely on it.
pub(super) fn stamped<'a>(
    garden: GardenerVersion,
    operators: impl DoubleEndedIterator<Item = &'a GardenerVersion>,
) -> GardenerVersion {
    let newest = operators.rev().find(|version| against_garden(version, &garden).is_none()).cloned();
    newest.unwrap_or(garden)
}

/// Numbers of instances by the properties that rules compare.
struct Tally {
    /// Number of equal instances, and one of them.
    counts: BTreeMap<(Component, String, String), (usize, Instance)>,
    garden: Option<GardenerVersion>,
    allows_downgrades: bool,
}

impl Tally {
    fn of(landscape: &Landscape) -> Self {
        let mut tally = Self {
            counts: BTreeMap::new(),
            garden: landscape.garden.as_deref().and_then(GardenerVersion::parse),
            allows_downgrades: landscape.allows_downgrades,
        };
        landscape.instances.iter().for_each(|instance| tally.add(instance.clone()));
        tally
    }

    /// Returns the key of an instance: rules distinguish extensions by name, but not gardenlets of different seeds.
    fn key(instance: &Instance) -> (Component, String, String) {
        let is_extension = instance.component == Component::Extension;
        let owner = if is_extension { instance.owner.clone() } else { String::new() };
        (instance.component, owner, instance.version.clone())
    }

    fn add(&mut self, instance: Instance) {
        self.counts.entry(Self::key(&instance)).or_insert_with(|| (0, instance)).0 += 1;
    }

    fn remove(&mut self, instance: &Instance) {
        let key = Self::key(instance);
        if let Some((count, _)) = self.counts.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key);
            }
        }
    }

    /// Reconciles the Garden by the running operators.
    fn stamp(&mut self) {
        let operators = self.counts.keys().filter(|(component, ..)| *component == Component::Operator);
        let mut versions: Vec<GardenerVersion> =
            operators.filter_map(|(_, _, version)| GardenerVersion::parse(version)).collect();
        versions.sort();
        self.garden = self.garden.take().map(|garden| stamped(garden, versions.iter()));
    }

    /// Returns the landscape with every version of a component once, and `moving` in addition to others of its version.
    fn landscape(&self, moving: &Instance) -> Landscape {
        let key_of_moving = Self::key(moving);
        let mut instances = Vec::with_capacity(self.counts.len() + 1);
        for (key, (count, instance)) in &self.counts {
            if *key == key_of_moving {
                instances.push(moving.clone());
            }
            if *key != key_of_moving || *count > 1 {
                instances.push(instance.clone());
            }
        }
        Landscape {
            instances,
            garden: self.garden.as_ref().map(ToString::to_string),
            high_water_marks: Vec::new(),
            allows_downgrades: self.allows_downgrades,
        }
    }
}

/// Rule P1: refuses a gardener-operator whose gardener-apiserver would leave a component behind. A component that is
/// already left behind is on the way back, and does not concern this step.
fn looked_ahead(before: &Landscape, from: &Instance, to: &str, profile: Profile) -> Option<Refusal> {
    if from.component != Component::Operator || !profile.checks_every_start() {
        return None;
    }
    let version = GardenerVersion::parse(to)?;
    let left = left_behind(before, &version, profile)?;
    let is_so_already =
        |known: &Violation| matches!(known.rule, Rule::C2 | Rule::G2) && known.offender.as_ref() == Some(&left);
    if violations(before, profile).iter().any(is_so_already) {
        return None;
    }
    let severity = Distance::Minors(0);
    let violation = Violation { rule: Rule::P1, offender: Some(left), severity, against: vec![version] };
    Some(Refusal { violations: vec![violation] })
}

/// Replaces instances of a landscape one after the other, and checks each step against the landscape at that time
/// ([`transition::check_on_the_way_back`]). Between two steps the running operators reconcile the Garden, if it has been
/// reconciled before.
///
/// # Errors
/// The first step that is refused.
pub fn check(landscape: &Landscape, steps: &[Replacement], profile: Profile) -> Result<(), Illegal> {
    let mut tally = Tally::of(landscape);
    for (index, Replacement { from, to }) in steps.iter().enumerate() {
        tally.stamp();
        let before = tally.landscape(from);
        let step = Step::Replace { from: from.clone(), to: to.clone() };
        if let Err(refusal) = transition::check_on_the_way_back(&before, &step, profile) {
            return Err(Illegal { index, refusal, before });
        }
        if let Some(refusal) = looked_ahead(&before, from, to, profile) {
            return Err(Illegal { index, refusal, before });
        }
        tally.remove(from);
        tally.add(Instance { version: to.clone(), ..from.clone() });
    }
    Ok(())
}
