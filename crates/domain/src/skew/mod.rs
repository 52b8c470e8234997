// SPDX-License-Identifier: Apache-2.0
//! Rules about the versions of Gardener's components that may run alongside each other.
//!
//! A [`Landscape`] is the versions that run; [`violations`] judges it as it is, [`transition::check`] judges one
//! step, [`start_up`] a component that starts, [`running`] one that runs, [`enforcement`] is the consequence,
//! [`allowed`] the versions that some gardener-apiservers allow, [`high_water`] records the highest versions,
//! [`lease`] reads the running instances from Leases, which [`registration`] creates, [`notes`] reports legal but
//! unwise states, [`releases`] the properties of a release of Gardener: Kubernetes versions, its own feature gates,
//! its date. Nothing here knows a process or an address, and no step is refused for an older violation: a landscape
//! that is out of skew can be repaired step by step.
//!
//! ```text
//! newest gardener-apiserver   ─ A1 ─  oldest gardener-apiserver       one minor
//!         │ C2, G2                          │ C1, G1
//!         ▼ not older than one minor        ▼ not newer
//!         controller-manager, scheduler, admission-controller; gardenlet (G2: profile)
//! gardenlets ─ E1 ─ extensions: no library newer than the oldest gardenlet
//! ```
//!
//! Pre-release and build metadata never count. Majors are never within any distance.
//!
//! Source: docs/deployment/version_skew_policy.md @ v1.80.0 and v1.120.0.

pub mod allowed;
mod binaries;
pub mod enforcement;
pub mod high_water;
pub mod lease;
pub mod library;
pub mod notes;
pub mod registration;
pub mod releases;
pub mod running;
#[cfg(test)]
mod short;
pub mod start_up;
pub mod transition;

use std::cmp::Ordering;
use std::fmt;

use crate::garden::components::Program;
use crate::profile::Profile;

pub use crate::gardener_version::GardenerVersion;

/// Difference in minors between two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// An older major: below everything.
    OlderMajor,
    /// Minors of the same major; negative below.
    Minors(i128),
    /// A newer major: above everything.
    NewerMajor,
}

impl Distance {
    /// Returns the distance from `lower` up to `upper`.
    pub fn between(upper: &GardenerVersion, lower: &GardenerVersion) -> Self {
        let ((upper_major, upper_minor), (lower_major, lower_minor)) = (upper.minor(), lower.minor());
        match upper_major.cmp(&lower_major) {
            Ordering::Greater => Self::NewerMajor,
            Ordering::Less => Self::OlderMajor,
            Ordering::Equal => Self::Minors(i128::from(upper_minor) - i128::from(lower_minor)),
        }
    }

    /// Returns the distance beyond a bound; `None` if the bound is kept.
    fn above(self, bound: i128) -> Option<Self> {
        match self {
            Self::Minors(minors) if minors > bound => Some(Self::Minors(minors - bound)),
            Self::NewerMajor => Some(self),
            Self::Minors(_) | Self::OlderMajor => None,
        }
    }
}

/// A component of Gardener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// gardener-apiserver
    Apiserver,
    /// gardener-controller-manager
    ControllerManager,
    /// gardener-scheduler
    Scheduler,
    /// gardener-admission-controller
    AdmissionController,
    /// gardenlet, one or more for a seed
    Gardenlet,
    /// gardener-operator
    Operator,
    /// an extension; its version is that of the library that it is built with
    Extension,
}

impl Component {
    /// All components.
    pub const ALL: [Self; 7] = [
        Self::Apiserver,
        Self::ControllerManager,
        Self::Scheduler,
        Self::AdmissionController,
        Self::Gardenlet,
        Self::Operator,
        Self::Extension,
    ];

    /// Row in the table of components; None: an extension.
    pub const fn program(self) -> Option<Program> {
        Some(match self {
            Self::Apiserver => Program::Apiserver,
            Self::ControllerManager => Program::ControllerManager,
            Self::Scheduler => Program::Scheduler,
            Self::AdmissionController => Program::AdmissionController,
            Self::Gardenlet => Program::Gardenlet,
            Self::Operator => Program::Operator,
            Self::Extension => return None,
        })
    }

    /// Name of its binary; `extension` for an extension.
    pub const fn name(self) -> &'static str {
        match self.program() {
            Some(program) => program.name(),
            None => "extension",
        }
    }

    /// The component with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|component| component.name() == name)
    }

    /// Returns true for the components of rules C1 and C2.
    pub(crate) const fn is_control_plane(self) -> bool {
        matches!(self, Self::ControllerManager | Self::Scheduler | Self::AdmissionController)
    }
}

/// One running instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The component.
    pub component: Component,
    /// The seed of a gardenlet, the name of an extension; empty for the others.
    pub owner: String,
    /// Reported version.
    pub version: String,
}

impl Instance {
    /// Creates an instance of a component that exists once in a landscape.
    pub fn new(component: Component, version: &str) -> Self {
        Self { component, owner: String::new(), version: version.to_owned() }
    }

    /// Creates a gardenlet of a seed, or an extension with a name.
    pub fn owned(component: Component, owner: &str, version: &str) -> Self {
        Self { component, owner: owner.to_owned(), version: version.to_owned() }
    }
}

/// Highest version that ever ran, of a component or of one seed's or extension's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HighWaterMark {
    /// The component.
    pub component: Component,
    /// Owner whose instances are restricted; `None`: all instances of the component.
    pub owner: Option<String>,
    /// The version.
    pub version: String,
}

/// The running versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Landscape {
    /// Every instance.
    pub instances: Vec<Instance>,
    /// `status.gardener.version` of the Garden, once an operator reconciled it.
    pub garden: Option<String>,
    /// Highest versions that ran before.
    pub high_water_marks: Vec<HighWaterMark>,
    /// True if an administrator allows downgrades, for an exercise: T1 and O3a refuse nothing.
    pub allows_downgrades: bool,
}

impl Landscape {
    /// The versions of a component that parse.
    fn versions(&self, component: Component) -> impl Iterator<Item = GardenerVersion> {
        let own = self.instances.iter().filter(move |instance| instance.component == component);
        own.filter_map(|instance| GardenerVersion::parse(&instance.version))
    }

    /// Gardener version that is reported for a landscape: the version that last operated the Garden, else that of the newest
    /// gardener-apiserver.
    pub fn gardener(&self) -> Option<&str> {
        let apiservers = self.instances.iter().filter(|instance| instance.component == Component::Apiserver);
        let read = apiservers.filter_map(|one| Some((GardenerVersion::parse(&one.version)?, &*one.version)));
        let newest = read.max_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, text)| text);
        self.garden.as_deref().or(newest)
    }

    /// Returns true if a rule applies in this landscape.
    const fn heeds(&self, rule: Rule) -> bool {
        !(self.allows_downgrades && matches!(rule, Rule::T1 | Rule::O3a))
    }

    /// Returns the recorded versions of an instance's predecessors.
    fn marks_of(&self, instance: &Instance) -> impl Iterator<Item = &HighWaterMark> {
        self.high_water_marks.iter().filter(|mark| {
            mark.component == instance.component && mark.owner.as_ref().is_none_or(|owner| *owner == instance.owner)
        })
    }
}

/// Rule A1: maximum distance in minors of the newest gardener-apiserver from the oldest one.
pub(crate) const APISERVERS_APART: u64 = 1;

/// Rules O1 and O2: maximum distance in minors of gardener-operators from one another and from gardener-apiservers.
pub(crate) const OPERATORS_APART: u64 = 1;

/// A rule about versions, in the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A version does not parse.
    V0,
    /// gardener-apiserver instances are more than [`APISERVERS_APART`] minors apart.
    A1,
    /// A control plane component is newer than the oldest gardener-apiserver.
    C1,
    /// A control plane component is more than one minor older than the newest gardener-apiserver.
    C2,
    /// A gardenlet is newer than the oldest gardener-apiserver.
    G1,
    /// A gardenlet is too much older than the newest gardener-apiserver.
    G2,
    /// gardener-operator instances are more than one minor apart.
    O1,
    /// gardener-operator and gardener-apiserver instances are more than one minor apart.
    O2,
    /// An extension's library is newer than the oldest gardenlet.
    E1,
    /// A downgrade.
    T1,
    /// A skipped minor.
    T2,
    /// A gardener-operator older than the one that last operated the Garden.
    O3a,
    /// A gardener-operator that skips a minor since the one that last operated the Garden.
    O3b,
    /// A gardener-operator whose gardener-apiserver would leave others behind.
    P1,
}

impl Rule {
    /// All rules in their order.
    pub const ALL: [Self; 14] = [
        Self::V0,
        Self::A1,
        Self::C1,
        Self::C2,
        Self::G1,
        Self::G2,
        Self::O1,
        Self::O2,
        Self::E1,
        Self::T1,
        Self::T2,
        Self::O3a,
        Self::O3b,
        Self::P1,
    ];

    /// Returns the rule with an id.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.to_string() == id)
    }
}

/// Formats the rule's id: `C1`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A rule that a landscape violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The instance that violates it; `None` for a rule about distances within a set.
    pub offender: Option<Instance>,
    /// Distance beyond the bound.
    pub severity: Distance,
    /// Versions with which the offender was compared, or the oldest and the newest of the set.
    pub against: Vec<GardenerVersion>,
}

impl Violation {
    /// Returns true if two violations have the same rule and offender; gardenlets of one version on different seeds
    /// are equal.
    fn is_about_the_same(&self, other: &Self) -> bool {
        let key = |violation: &Self| {
            violation.offender.as_ref().map(|offender| {
                let version = GardenerVersion::parse(&offender.version);
                let name = (offender.component == Component::Extension).then(|| offender.owner.clone());
                let text = version.is_none().then(|| offender.version.clone());
                (offender.component, name, version.map(|version| version.full()), text)
            })
        };
        self.rule == other.rule && key(self) == key(other)
    }
}

/// Returns every rule that a landscape violates, in the order of the rules; a version that does not parse hides all
/// others.
pub fn violations(landscape: &Landscape, profile: Profile) -> Vec<Violation> {
    let unparsable = unparsable(landscape);
    if !unparsable.is_empty() {
        return unparsable;
    }
    // Each version is read once: a landscape may have thousands of instances.
    let read: Vec<(&Instance, GardenerVersion)> = landscape
        .instances
        .iter()
        .filter_map(|instance| Some((instance, GardenerVersion::parse(&instance.version)?)))
        .collect();
    let extremes = |component| {
        let own = || read.iter().filter(|(instance, _)| instance.component == component).map(|(_, version)| version);
        Some((own().min()?.clone(), own().max()?.clone()))
    };
    let apiservers = extremes(Component::Apiserver);
    let mut found = Vec::new();
    let mut add = |rule, offender: Option<&Instance>, severity: Option<Distance>, against: &[&GardenerVersion]| {
        if let Some(severity) = severity {
            let against = against.iter().map(|version| (*version).clone()).collect();
            found.push(Violation { rule, offender: offender.cloned(), severity, against });
        }
    };

    if let Some((oldest, newest)) = &apiservers {
        let apart = Distance::between(newest, oldest).above(i128::from(APISERVERS_APART));
        add(Rule::A1, None, apart, &[oldest, newest]);
        for (instance, version) in &read {
            let (newer, older) = (Distance::between(version, oldest), Distance::between(newest, version));
            if instance.component.is_control_plane() {
                add(Rule::C1, Some(instance), newer.above(0), &[oldest]);
                add(Rule::C2, Some(instance), older.above(1), &[newest]);
            } else if instance.component == Component::Gardenlet {
                let by_patch = (profile.gardenlet_newness_counts_patches() && version > oldest).then_some(newer);
                add(Rule::G1, Some(instance), newer.above(0).or(by_patch), &[oldest]);
                add(Rule::G2, Some(instance), older.above(profile.gardenlet_minors_behind()), &[newest]);
            }
        }
    }
    if let Some((oldest, newest)) = extremes(Component::Operator) {
        let apart = |newest: &GardenerVersion, oldest: &GardenerVersion| {
            Distance::between(newest, oldest).above(i128::from(OPERATORS_APART))
        };
        add(Rule::O1, None, apart(&newest, &oldest), &[&oldest, &newest]);
        let (first, last) = apiservers.unwrap_or_else(|| (oldest.clone(), newest.clone()));
        let (oldest, newest) = (oldest.min(first), newest.max(last));
        add(Rule::O2, None, apart(&newest, &oldest), &[&oldest, &newest]);
    }
    if let Some((oldest, _)) = extremes(Component::Gardenlet) {
        for (instance, version) in read.iter().filter(|(instance, _)| instance.component == Component::Extension) {
            add(Rule::E1, Some(instance), Distance::between(version, &oldest).above(0), &[&oldest]);
        }
    }
    found.sort_by_key(|violation| violation.rule);
    found
}

/// Owner of the offender if the Garden's version does not parse: its operator wrote it.
const GARDEN: &str = "Garden";

/// Versions that do not parse, the Garden's included.
fn unparsable(landscape: &Landscape) -> Vec<Violation> {
    let garden = landscape.garden.as_ref().map(|version| Instance::owned(Component::Operator, GARDEN, version));
    let instances = landscape.instances.iter().cloned().chain(garden);
    instances
        .filter(|instance| GardenerVersion::parse(&instance.version).is_none())
        .map(|offender| Violation {
            rule: Rule::V0,
            offender: Some(offender),
            severity: Distance::Minors(0),
            against: Vec::new(),
        })
        .collect()
}

/// The rules of violations, each once.
pub fn rules(violations: &[Violation]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = violations.iter().map(|violation| violation.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, and its three numbers.
    const TEXTS: &str = "
v1.120.0               => 1 120 0
1.37                   => 1 37 0
v1.38.0-dev            => 1 38 0
v1.121.0-dev-afe3775a02 => 1 121 0
1.38.2+abc             => 1 38 2
1.38.2~rc1             => 1 38 2
latest                 => -
1                      => -
vv1.38.0               => -
1.38.0.1               => -
1.x                    => -
1.38.0-                => -
";

    #[test]
    fn versions_are_read_strictly_and_suffixes_do_not_count() {
        for row in TEXTS.lines().filter(|row| !row.is_empty()) {
            let (text, expected) = row.split_once("=>").expect("row has an arrow");
            let read = GardenerVersion::parse(text.trim()).map(|version| version.full());
            let actual =
                read.map_or_else(|| "-".to_owned(), |(major, minor, patch)| format!("{major} {minor} {patch}"));
            assert_eq!(actual, expected.trim(), "row: {row}");
        }
    }

    /// The truth tables of the policy: apiservers, profile, and the rule for minors 34 to 38 of a gardenlet.
    const GARDENLETS: &str = "
37    | documents | G2 G2 -  -  G1
37    | upstream  | G2 -  -  -  G1
37,38 | documents | G2 G2 G2 -  G1
37,38 | upstream  | G2 G2 -  -  G1
38    | documents | G2 G2 G2 -  -
38    | upstream  | G2 G2 -  -  -
";

    #[test]
    fn gardenlets_are_judged_by_the_oldest_and_the_newest_apiserver() {
        for row in GARDENLETS.lines().filter(|row| !row.is_empty()) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let profile = if cells[1] == "upstream" { Profile::Upstream } else { Profile::Documents };
            for (minor, expected) in (34..).zip(cells[2].split_whitespace()) {
                let apiservers = cells[0].split(',').map(|minor| format!("1.{minor}.0"));
                let mut instances: Vec<Instance> =
                    apiservers.map(|version| Instance::new(Component::Apiserver, &version)).collect();
                instances.push(Instance::owned(Component::Gardenlet, "s", &format!("1.{minor}.0")));
                let landscape = Landscape { instances, ..Landscape::default() };
                let found: Vec<String> =
                    rules(&violations(&landscape, profile)).iter().map(ToString::to_string).collect();
                let expected: Vec<&str> = Some(expected).into_iter().filter(|rule| *rule != "-").collect();
                assert_eq!(found, expected, "gardenlet 1.{minor}, row: {row}");
            }
        }
    }
}
