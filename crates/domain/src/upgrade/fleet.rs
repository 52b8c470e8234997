// SPDX-License-Identifier: Apache-2.0
//! Instances of a landscape by component and version; instances of one version move together.

use std::collections::BTreeMap;

use super::check::stamped;
use super::{MINORS, NoPlan, shown};
use crate::profile::Profile;
use crate::skew::start_up::violation_text;
use crate::skew::transition::{self, Step};
use crate::skew::{Component, GardenerVersion, Instance, Landscape, Rule, rules, violations};

/// Move of all instances of a component at a version to another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) component: Component,
    pub(super) from: GardenerVersion,
    pub(super) to: GardenerVersion,
}

/// Instances by version, and their target.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    /// Indices in the landscape, by component and version; without extensions whose library is of a later minor than the
    /// target, which are not moved.
    groups: BTreeMap<Component, BTreeMap<GardenerVersion, Vec<usize>>>,
    /// Seeds and names of instances, for rules that report them.
    owners: Vec<String>,
    /// Version that last reconciled the Garden.
    pub(super) garden: Option<GardenerVersion>,
    pub(super) target: GardenerVersion,
    pub(super) profile: Profile,
    allows_downgrades: bool,
    /// Highest version of each minor that some instance has.
    seen: BTreeMap<u64, GardenerVersion>,
}

impl Fleet {
    pub(super) fn of(landscape: &Landscape, target: &GardenerVersion, profile: Profile) -> Result<Self, NoPlan> {
        let garden = landscape.garden.as_deref().and_then(GardenerVersion::parse);
        let mut fleet = Self {
            groups: BTreeMap::new(),
            owners: landscape.instances.iter().map(|instance| instance.owner.clone()).collect(),
            garden: garden.clone(),
            target: target.clone(),
            profile,
            allows_downgrades: landscape.allows_downgrades,
            seen: BTreeMap::new(),
        };
        for (index, instance) in landscape.instances.iter().enumerate() {
            let Some(version) = GardenerVersion::parse(&instance.version) else { continue };
            if instance.component != Component::Extension {
                fleet.accept(&version, || shown(instance.component, &instance.owner))?;
            } else if version.minor() > target.minor() {
                // No step of a plan moves this extension, or raises the gardenlets to its library.
                continue;
            }
            let versions = fleet.groups.entry(instance.component).or_default();
            versions.entry(version).or_default().push(index);
        }
        if let Some(garden) = garden.filter(|_| fleet.lowest(Component::Operator).is_some()) {
            fleet.accept(&garden, || "the Garden".to_owned())?;
            fleet.stamp();
        }
        Ok(fleet)
    }

    /// Records a version on the way to the target.
    fn accept(&mut self, version: &GardenerVersion, who: impl Fn() -> String) -> Result<(), NoPlan> {
        let (target, at) = (self.target.to_string(), version.to_string());
        let ((major, minor), (target_major, target_minor)) = (version.minor(), self.target.minor());
        if major != target_major {
            return Err(NoPlan::OtherMajor { who: who(), version: at, target });
        }
        if *version > self.target {
            return Err(NoPlan::AboveTarget { who: who(), version: at, target });
        }
        let minors = target_minor - minor;
        if minors > MINORS {
            return Err(NoPlan::TooFar { target, minors });
        }
        let highest = self.seen.entry(minor).or_insert_with(|| version.clone());
        if *highest < *version {
            *highest = version.clone();
        }
        Ok(())
    }

    /// Returns the oldest version of a component.
    pub(super) fn lowest(&self, component: Component) -> Option<&GardenerVersion> {
        self.groups.get(&component)?.keys().next()
    }

    /// Returns the newest version of a component.
    pub(super) fn newest(&self, component: Component) -> Option<&GardenerVersion> {
        self.groups.get(&component)?.keys().next_back()
    }

    /// Returns the number of instances of a component.
    pub(super) fn count(&self, component: Component) -> usize {
        self.groups.get(&component).into_iter().flatten().map(|(_, places)| places.len()).sum()
    }

    /// Returns the oldest library of an extension that is below the target and of its major.
    pub(super) fn extension_below_target(&self) -> Option<&GardenerVersion> {
        let versions = self.groups.get(&Component::Extension)?.keys();
        versions.into_iter().find(|version| version.minor().0 == self.target.minor().0 && **version < self.target)
    }

    /// Returns the version that represents a minor on the way.
    pub(super) fn version_of(&self, minor: u64) -> GardenerVersion {
        let (major, last) = self.target.minor();
        if minor >= last {
            return self.target.clone();
        }
        self.seen.get(&minor).cloned().unwrap_or_else(|| GardenerVersion::release(major, minor, 0))
    }

    /// Returns a landscape with every version of a component once, and `moving` twice if several instances have it:
    /// further instances affect no rule.
    fn reduced(&self, moving: Option<(Component, &GardenerVersion)>) -> Landscape {
        let mut instances = Vec::new();
        for (component, versions) in &self.groups {
            for (version, places) in versions {
                let Some(first) = places.first() else { continue };
                let times = if places.len() > 1 && moving == Some((*component, version)) { 2 } else { 1 };
                let one = Instance::owned(*component, &self.owners[*first], &version.to_string());
                instances.extend(std::iter::repeat_n(one, times));
            }
        }
        let garden = self.garden.as_ref().map(ToString::to_string);
        Landscape { instances, garden, high_water_marks: Vec::new(), allows_downgrades: self.allows_downgrades }
    }

    /// Returns the rules that are violated now.
    pub(super) fn violated(&self) -> Vec<Rule> {
        rules(&violations(&self.reduced(None), self.profile))
    }

    /// Checks that the first of some instances may move; then the others may as well, since the landscape has lost one
    /// instance of their old version.
    pub(super) fn permit(&self, next: &Move) -> Result<(), NoPlan> {
        let landscape = self.reduced(Some((next.component, &next.from)));
        let from = next.from.to_string();
        let is_it = |one: &&Instance| one.component == next.component && one.version == from;
        let Some(instance) = landscape.instances.iter().find(is_it) else { return Ok(()) };
        let step = Step::Replace { from: instance.clone(), to: next.to.to_string() };
        let Err(refusal) = transition::check_on_the_way_back(&landscape, &step, self.profile) else { return Ok(()) };
        let Some(first) = refusal.violations.first() else { return Ok(()) };
        Err(NoPlan::Stuck {
            who: shown(instance.component, &instance.owner),
            from,
            to: next.to.to_string(),
            rule: first.rule,
            text: violation_text(&landscape, first, self.profile),
        })
    }

    /// Makes a move; returns the indices of the moved instances.
    pub(super) fn take(&mut self, next: &Move) -> Vec<usize> {
        let versions = self.groups.entry(next.component).or_default();
        let moved = versions.remove(&next.from).unwrap_or_default();
        let there = versions.entry(next.to.clone()).or_default();
        there.extend(moved.iter().copied());
        there.sort_unstable();
        if next.component == Component::Operator {
            self.stamp();
        }
        moved
    }

    /// Reconciles the Garden by the running operators, if it has been reconciled before.
    fn stamp(&mut self) {
        let operators = self.groups.get(&Component::Operator).into_iter().flat_map(BTreeMap::keys);
        self.garden = self.garden.take().map(|garden| stamped(garden, operators));
    }
}
