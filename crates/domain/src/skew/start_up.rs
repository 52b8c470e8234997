// SPDX-License-Identifier: Apache-2.0
//! Check of a component that starts against the running versions.
//!
//! [`decide`] is the check of this landscape, against every live instance; [`operator`] and [`gardenlet`] are the
//! checks of the real binaries, against one recorded version. [`refusal_line`] formats the last line of a component
//! that does not start.
//!
//! A component checks its own rules, also those that it violated before it stopped: a restart is not refused as a
//! step, but does not excuse a violation. A gardener-apiserver checks the effect of its start on all components.

use super::transition::{Step, against_previous, below_high_water_mark, check};
use super::{Component, GARDEN, GardenerVersion, Instance, Landscape, Rule, Violation, violations};
use crate::profile::Profile;
use crate::versions::ParseError;

pub use super::binaries::{GardenletError, OperatorError, gardenlet, gardenlet_checks, operator};

/// An instance that is about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The instance; it is not among the running ones.
    pub instance: Instance,
    /// The version that ran in its place, if known: for a gardenlet the Seed's `status.gardener.version`.
    pub previous: Option<String>,
    /// True if an operator also checks the components that its gardener-apiserver would leave behind.
    pub looks_ahead: bool,
}

/// Result of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The component starts.
    Starts,
    /// The component waits for a live gardener-apiserver.
    Waits,
    /// The component ends with exit code 3.
    Refused(Refused),
}

/// Refusal of a component's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The rule.
    pub rule: Rule,
    /// The rule's text, as in Events and Leases.
    pub text: String,
    /// Versions with which the component was compared.
    pub against: Vec<String>,
}

/// Decides whether a component may start alongside the running ones.
///
/// In profile `upstream` only gardener-operator is judged here, against the Garden; for gardenlets there see
/// [`gardenlet`].
pub fn decide(landscape: &Landscape, candidate: &Candidate, profile: Profile) -> Decision {
    let every = profile.checks_every_start();
    if !every && candidate.instance.component != Component::Operator {
        return Decision::Starts;
    }
    decide_by(landscape, candidate, profile, every)
}

/// Decides as [`decide`], for an instance that registers itself: every rule is checked, in either profile.
pub fn judge(landscape: &Landscape, candidate: &Candidate, profile: Profile) -> Decision {
    decide_by(landscape, candidate, profile, true)
}

/// `every`: applies the landscape's rules, not only those of the real binaries.
fn decide_by(landscape: &Landscape, candidate: &Candidate, profile: Profile, every: bool) -> Decision {
    let instance = &candidate.instance;
    let component = instance.component;
    let Some(version) = GardenerVersion::parse(&instance.version) else {
        return Decision::Refused(Refused {
            rule: Rule::V0,
            text: format!(
                "failed parsing version of {} {:?}: {}",
                component.name(),
                instance.version,
                ParseError::Invalid
            ),
            against: Vec::new(),
        });
    };
    let refuse =
        |rule, against: &[GardenerVersion]| Decision::Refused(refused(rule, instance, &version, against, profile));
    if component == Component::Operator {
        return decide_operator(landscape, candidate, &version, profile, every);
    }
    if component == Component::Extension {
        return match violated(landscape, instance, &[Rule::E1], profile) {
            Some(violation) => Decision::Refused(library_refused(landscape, instance, &violation)),
            None => Decision::Starts,
        };
    }
    if component != Component::Apiserver && landscape.versions(Component::Apiserver).next().is_none() {
        return Decision::Waits;
    }
    if let Some(previous) = candidate.previous.as_deref().and_then(GardenerVersion::parse) {
        let rule = against_previous(component, &version, &previous, profile);
        if let Some(rule) = rule.filter(|rule| landscape.heeds(*rule)) {
            return refuse(rule, &[previous]);
        }
    } else if let Some(mark) = below_high_water_mark(landscape, instance, &version) {
        return refuse(Rule::T1, &[mark]);
    } else if let Some(mark) = skips_since_mark(landscape, instance, &version, profile) {
        return refuse(Rule::T2, &[mark]);
    }
    let found = match component {
        // Violations that exist without this instance are not caused by it.
        Component::Apiserver => {
            let unmarked = Landscape { high_water_marks: Vec::new(), ..landscape.clone() };
            let new = check(&unmarked, &Step::Add(instance.clone()), profile).err();
            new.and_then(|refusal| refusal.violations.into_iter().next())
        }
        Component::Gardenlet => violated(landscape, instance, &[Rule::G1, Rule::G2], profile),
        _ => violated(landscape, instance, &[Rule::C1, Rule::C2], profile),
    };
    match found {
        None => Decision::Starts,
        Some(violation) => {
            let offender = violation.offender.as_ref().unwrap_or(instance);
            let offending = GardenerVersion::parse(&offender.version).unwrap_or(version);
            Decision::Refused(refused(violation.rule, offender, &offending, &violation.against, profile))
        }
    }
}

/// Returns the refusal that would apply if downgrades were not allowed here (T1, O3a); `None`: there is none.
pub fn allowed_downgrade(landscape: &Landscape, candidate: &Candidate, profile: Profile) -> Option<Refused> {
    if !landscape.allows_downgrades {
        return None;
    }
    let strict = Landscape { allows_downgrades: false, ..landscape.clone() };
    match decide(&strict, candidate, profile) {
        Decision::Refused(refused) if matches!(refused.rule, Rule::T1 | Rule::O3a) => Some(refused),
        _ => None,
    }
}

/// Recorded version from which a starting component skips a minor. An instance of gardener-apiserver that joins others is
/// compared with them by rule A1. The first instance after all have ended is compared with the recorded version.
fn skips_since_mark(
    landscape: &Landscape,
    instance: &Instance,
    version: &GardenerVersion,
    profile: Profile,
) -> Option<GardenerVersion> {
    if instance.component == Component::Apiserver && landscape.versions(Component::Apiserver).next().is_some() {
        return None;
    }
    let mark = landscape.marks_of(instance).filter_map(|mark| GardenerVersion::parse(&mark.version)).max()?;
    (against_previous(instance.component, version, &mark, profile) == Some(Rule::T2)).then_some(mark)
}

/// Returns the first of some rules that the instance itself violates once it runs.
pub(super) fn violated(
    landscape: &Landscape,
    instance: &Instance,
    rules: &[Rule],
    profile: Profile,
) -> Option<Violation> {
    // Versions of others that do not parse hide nothing here: they are reported to those instances.
    let mut with = landscape.clone();
    with.instances.retain(|known| GardenerVersion::parse(&known.version).is_some());
    with.garden = None;
    with.instances.push(instance.clone());
    violations(&with, profile).into_iter().find(|violation| {
        rules.contains(&violation.rule) && violation.offender.as_ref().is_none_or(|who| who == instance)
    })
}

fn decide_operator(
    landscape: &Landscape,
    candidate: &Candidate,
    version: &GardenerVersion,
    profile: Profile,
    every: bool,
) -> Decision {
    let instance = &candidate.instance;
    if let Err(error) = operator(landscape.garden.as_deref(), &instance.version)
        && landscape.heeds(error.rule())
    {
        let against = landscape.garden.iter().cloned().collect();
        return Decision::Refused(Refused { rule: error.rule(), text: error.to_string(), against });
    }
    if !every {
        return Decision::Starts;
    }
    if let Some(violation) = violated(landscape, instance, &[Rule::O1, Rule::O2], profile) {
        return Decision::Refused(refused(violation.rule, instance, version, &violation.against, profile));
    }
    if !candidate.looks_ahead {
        return Decision::Starts;
    }
    match left_behind(landscape, version, profile) {
        None => Decision::Starts,
        Some(left) => Decision::Refused(Refused {
            rule: Rule::P1,
            text: left_behind_text(&left, version),
            against: vec![left.version],
        }),
    }
}

/// Returns a component that an operator of a version would leave behind (rule P1), since it rolls out
/// gardener-apiserver in its own version.
pub(crate) fn left_behind(landscape: &Landscape, version: &GardenerVersion, profile: Profile) -> Option<Instance> {
    let mut rolled = landscape.clone();
    rolled.instances.retain(|known| GardenerVersion::parse(&known.version).is_some());
    rolled.garden = None;
    rolled.instances.push(Instance::new(Component::Apiserver, &version.to_string()));
    let behind = violations(&rolled, profile).into_iter().find(|one| matches!(one.rule, Rule::C2 | Rule::G2))?;
    behind.offender
}

fn left_behind_text(left: &Instance, version: &GardenerVersion) -> String {
    let (name, old) = (left.component.name(), left.version.trim_start_matches('v'));
    format!("cannot roll out gardener-apiserver {version}: {name} {old} would be too old")
}

/// Refusal of an extension by rule E1.
pub(super) fn library_refused(landscape: &Landscape, instance: &Instance, violation: &Violation) -> Refused {
    let oldest = violation.against.first();
    let text = extension_text(landscape, instance, oldest);
    let against: Vec<String> = oldest.iter().map(ToString::to_string).collect();
    Refused { rule: Rule::E1, text, against }
}

/// Text of rule E1; `oldest` is the version of the gardenlet that decides.
fn extension_text(landscape: &Landscape, instance: &Instance, oldest: Option<&GardenerVersion>) -> String {
    let are_oldest = landscape.instances.iter().filter(|known| {
        known.component == Component::Gardenlet && GardenerVersion::parse(&known.version).as_ref() == oldest
    });
    // The first by name: the order of instances is that of their Leases.
    let seed = are_oldest.map(|known| known.owner.as_str()).min();
    format!(
        "extension {:?} depends on extensions library {}, which is newer than gardenlet {} on seed {:?}",
        instance.owner,
        instance.version.trim_start_matches('v'),
        oldest.map(ToString::to_string).unwrap_or_default(),
        seed.unwrap_or_default()
    )
}

/// Refusal by a rule, with its text.
pub(super) fn refused(
    rule: Rule,
    offender: &Instance,
    version: &GardenerVersion,
    against: &[GardenerVersion],
    profile: Profile,
) -> Refused {
    let name = offender.component.name();
    let shown: Vec<String> = against.iter().map(ToString::to_string).collect();
    let first = shown.first().map(String::as_str).unwrap_or_default();
    let last = shown.last().map(String::as_str).unwrap_or_default();
    let raw = &offender.version;
    let text = match rule {
        Rule::V0 => format!("failed parsing version of {name} {raw:?}: {}", ParseError::Invalid),
        Rule::T1 => format!("downgrading {name} is not supported (old version was {first}, my version is {raw})"),
        Rule::T2 => format!("skipping {name} versions is unsupported (old version was {first}, my version is {raw})"),
        Rule::A1 => format!(
            "newest and oldest gardener-apiserver instances must be within one minor version (oldest: {first}, newest: \
             {last})"
        ),
        Rule::C1 => format!(
            "{name} version must not be newer than gardener-apiserver version (gardener-apiserver version: {first}, \
             {name} version: {version})"
        ),
        Rule::C2 => format!(
            "{name} version must not be older than one minor gardener-apiserver version (gardener-apiserver version: \
             {first}, {name} version: {version})"
        ),
        Rule::G1 => GardenletError::TooNew { apiserver: first.to_owned(), gardenlet: version.to_string() }.to_string(),
        Rule::G2 if profile.gardenlet_minors_behind() == 1 => format!(
            "gardenlet version must not be older than one minor gardener-apiserver version (gardener-apiserver version: \
             {first}, gardenlet version: {version})"
        ),
        Rule::G2 => GardenletError::TooOld { apiserver: first.to_owned(), gardenlet: version.to_string() }.to_string(),
        Rule::O1 | Rule::O2 => format!(
            "gardener-operator and gardener-apiserver instances must be within one minor version (oldest: {first}, \
             newest: {last})"
        ),
        Rule::O3a => OperatorError::Downgrade { old: first.to_owned(), own: raw.clone() }.to_string(),
        Rule::O3b => OperatorError::Skip { old: first.to_owned(), own: raw.clone() }.to_string(),
        // These texts are formatted where the violations are found, with the offender.
        Rule::E1 | Rule::P1 => format!("{name} {version} is out of skew with {}", shown.join(", ")),
    };
    Refused { rule, text, against: shown }
}

/// Text about a rule that a landscape violates, or that a step in it would, as a component that would not start
/// reports it.
pub fn violation_text(landscape: &Landscape, violation: &Violation, profile: Profile) -> String {
    let nobody = Instance::new(Component::Apiserver, "");
    let offender = violation.offender.as_ref().unwrap_or(&nobody);
    if violation.rule == Rule::E1 {
        return extension_text(landscape, offender, violation.against.first());
    }
    if let (Rule::P1, Some(version)) = (violation.rule, violation.against.first()) {
        return left_behind_text(offender, version);
    }
    let version = GardenerVersion::parse(&offender.version).or_else(|| violation.against.last().cloned());
    let Some(version) = version else {
        let (name, raw, error) = (offender.component.name(), &offender.version, ParseError::Invalid);
        return match offender.owner.as_str() {
            GARDEN => OperatorError::ParseOld { raw: raw.clone(), error }.to_string(),
            _ => format!("failed parsing version of {name} {raw:?}: {error}"),
        };
    };
    refused(violation.rule, offender, &version, &violation.against, profile).text
}

/// Returns the last line of a component that does not start.
pub fn refusal_line(instance: &Instance, refused: &Refused) -> String {
    format!(
        "Error: failed verifying Gardener version: {} [rule={}, component={}, version={}, against={}]",
        refused.text,
        refused.rule,
        instance.component.name(),
        instance.version,
        refused.against.join(",")
    )
}

/// Returns the rule in the last line of a component.
pub fn rule_of_line(line: &str) -> Option<Rule> {
    let (_, tail) = line.rsplit_once("[rule=")?;
    Rule::named(tail.split(',').next()?)
}

/// Returns the first version in the last line of a component with which it was compared.
pub fn compared_with(line: &str) -> Option<GardenerVersion> {
    let (_, tail) = line.rsplit_once(", against=")?;
    GardenerVersion::parse(tail.split([',', ']']).next()?)
}

/// True if a rule compares a component with a recorded version, and not with the running instances.
pub const fn is_about_records(rule: Rule) -> bool {
    matches!(rule, Rule::T1 | Rule::T2 | Rule::O3a | Rule::O3b)
}

/// True if a component that was refused by a rule is still refused by the running instances. Recorded versions do not
/// change, so a downgrade stays refused; an instance that ran at the same time may have ended since.
pub fn stays_refused(running: &Landscape, instance: &Instance, rule: Rule, profile: Profile) -> bool {
    if rule == Rule::V0 || is_about_records(rule) {
        return true;
    }
    let running = Landscape { high_water_marks: Vec::new(), garden: None, ..running.clone() };
    let candidate = Candidate { instance: instance.clone(), previous: None, looks_ahead: true };
    matches!(judge(&running, &candidate, profile), Decision::Refused(_))
}

#[cfg(test)]
mod tests {
    use super::super::HighWaterMark;
    use super::*;
    use crate::skew::short::instance;

    /// Short names of the running instances, the starting one, the version before it; the decision in profile
    /// `documents`.
    const STARTS: &str = "
api 1.37.0                         | gcm 1.37.0 | -      => starts
api 1.37.0 api 1.38.0              | gcm 1.38.0 | -      => C1 gardener-controller-manager version must not be newer than gardener-apiserver version (gardener-apiserver version: 1.37.0, gardener-controller-manager version: 1.38.0)
api 1.38.0                         | sch 1.36.4 | -      => C2 gardener-scheduler version must not be older than one minor gardener-apiserver version (gardener-apiserver version: 1.38.0, gardener-scheduler version: 1.36.4)
                                   | adm 1.37.0 | -      => waits
api 1.37.0                         | let v1.38.0-dev | - => G1 gardenlet version must not be newer than gardener-apiserver version (gardener-apiserver version: 1.37.0, gardenlet version: 1.38.0-dev), please consult https://gardener.cloud/docs/gardener/deployment/version_skew_policy/#version-skew-policy
api 1.38.0                         | let 1.36.0 | -      => G2 gardenlet version must not be older than one minor gardener-apiserver version (gardener-apiserver version: 1.38.0, gardenlet version: 1.36.0)
api 1.37.0                         | let v1.36.0 | 1.37.0 => T1 downgrading gardenlet is not supported (old version was 1.37.0, my version is v1.36.0)
api 1.39.0                         | let 1.39.0 | 1.37.0 => T2 skipping gardenlet versions is unsupported (old version was 1.37.0, my version is 1.39.0)
api 1.37.0 gcm 1.36.0              | api 1.38.0 | -      => C2 gardener-controller-manager version must not be older than one minor gardener-apiserver version (gardener-apiserver version: 1.38.0, gardener-controller-manager version: 1.36.0)
api 1.36.0                         | api 1.38.0 | -      => A1 newest and oldest gardener-apiserver instances must be within one minor version (oldest: 1.36.0, newest: 1.38.0)
                                   | api 1.37.0 | -      => starts
api 1.37.0                         | gcm latest | -      => V0 failed parsing version of gardener-controller-manager \"latest\": Invalid Semantic Version
api 1.37.0                         | op 1.39.0  | -      => O2 gardener-operator and gardener-apiserver instances must be within one minor version (oldest: 1.37.0, newest: 1.39.0)
api 1.37.0 let 1.36.0              | op 1.38.0  | -      => P1 cannot roll out gardener-apiserver 1.38.0: gardenlet 1.36.0 would be too old
let 1.37.0 let 1.36.0              | ext v1.37.1 | -     => E1 extension \"ext\" depends on extensions library 1.37.1, which is newer than gardenlet 1.36.0 on seed \"let\"
api 1.37.0 gcm odd                 | sch 1.37.0 | -      => starts
";

    #[test]
    fn violations_of_a_landscape_have_the_texts_of_starts() {
        let texts = |all: &[(&str, &str)]| -> Vec<String> {
            let instances = all.iter().map(|(name, version)| instance(name, version)).collect();
            let landscape = Landscape { instances, ..Landscape::default() };
            let found = violations(&landscape, Profile::Documents);
            let text = |it| violation_text(&landscape, it, Profile::Documents);
            found.iter().map(|it| format!("{} {}", it.rule, text(it))).collect()
        };
        assert_eq!(texts(&[("api", "v1.120.0"), ("let", "v1.119.3")]), Vec::<String>::new());
        assert_eq!(
            texts(&[("api", "v1.118.0"), ("api", "v1.120.0"), ("gcm", "v1.119.0")]),
            [
                "A1 newest and oldest gardener-apiserver instances must be within one minor version (oldest: 1.118.0, \
                 newest: 1.120.0)",
                "C1 gardener-controller-manager version must not be newer than gardener-apiserver version \
                 (gardener-apiserver version: 1.118.0, gardener-controller-manager version: 1.119.0)",
            ]
        );
        assert_eq!(
            texts(&[("gcm", "latest"), ("api", "v1.120.0")]),
            ["V0 failed parsing version of gardener-controller-manager \"latest\": Invalid Semantic Version"]
        );
        assert_eq!(
            texts(&[("let", "1.37.0"), ("let", "1.36.2"), ("ext", "v1.37.0")]),
            [
                "E1 extension \"ext\" depends on extensions library 1.37.0, which is newer than gardenlet 1.36.2 on seed \
              \"let\""
            ]
        );
    }

    /// Recorded version and owner, starting instance, its decision; then the decision if downgrades are allowed.
    #[test]
    fn a_restarted_instance_is_compared_with_recorded_versions() {
        for (mark, owner, starts, expected, where_allowed) in [
            ("1.38.0", None, ("gcm", "1.37.9"), "T1", "-"),
            ("1.36.2", None, ("gcm", "1.38.0"), "T2", "T2"),
            ("1.37.2", None, ("gcm", "1.38.0"), "-", "-"),
            ("1.37.2", Some("let"), ("let", "1.37.1"), "T1", "-"),
            ("1.37.2", Some("other"), ("let", "1.37.1"), "-", "-"),
            ("1.36.2", None, ("api", "1.38.0"), "-", "-"),
        ] {
            let (name, version) = starts;
            let candidate = instance(name, version);
            let mark = HighWaterMark {
                component: candidate.component,
                owner: owner.map(str::to_owned),
                version: mark.to_owned(),
            };
            let expected_strict = expected;
            for (allows_downgrades, expected) in [(false, expected), (true, where_allowed)] {
                let landscape = Landscape {
                    instances: vec![instance("api", "1.38.0")],
                    high_water_marks: vec![mark.clone()],
                    allows_downgrades,
                    garden: None,
                };
                let candidate = Candidate { instance: candidate.clone(), previous: None, looks_ahead: false };
                let rule = match decide(&landscape, &candidate, Profile::Documents) {
                    Decision::Refused(refused) => refused.rule.to_string(),
                    _ => "-".to_owned(),
                };
                assert_eq!(rule, expected, "{version} after {mark:?}, downgrades allowed: {allows_downgrades}");
                let allowed = allowed_downgrade(&landscape, &candidate, Profile::Documents).map(|it| it.rule);
                let makes_a_difference = allows_downgrades && expected_strict == "T1";
                assert_eq!(allowed, makes_a_difference.then_some(Rule::T1), "{version} after {mark:?}");
            }
        }
    }

    /// Running instances, refused instance, its rule, expected result.
    #[test]
    fn a_refusal_ends_with_the_instance_that_caused_it() {
        for (running, (name, version), rule, expected) in [
            (&[("api", "1.121.0")][..], ("gcm", "1.121.0"), Rule::C1, false),
            (&[("api", "1.121.0"), ("api", "1.120.0")], ("gcm", "1.121.0"), Rule::C1, true),
            (&[("let", "1.121.0"), ("let", "1.120.0")], ("ext", "1.121.0"), Rule::E1, true),
            (&[("let", "1.121.0")], ("ext", "1.121.0"), Rule::E1, false),
            (&[("api", "1.120.0"), ("let", "1.119.0")], ("op", "1.121.0"), Rule::P1, true),
            (&[("api", "1.120.0"), ("let", "1.120.0")], ("op", "1.121.0"), Rule::P1, false),
            (&[("api", "1.121.0")], ("sch", "1.121.0"), Rule::T1, true),
            (&[], ("gcm", "1.121.0"), Rule::C1, false),
        ] {
            let instances = running.iter().map(|(name, version)| instance(name, version)).collect();
            let running = Landscape { instances, ..Landscape::default() };
            let found = stays_refused(&running, &instance(name, version), rule, Profile::Documents);
            assert_eq!(found, expected, "{name} {version} {rule} with {running:?}");
        }
    }

    /// All instances were scaled down: highest recorded version, version of the starting instance, expected rule.
    #[test]
    fn the_first_apiserver_after_a_stop_skips_no_minor() {
        for (mark, version, expected) in [
            (Some("1.120.0"), "1.122.0", "T2"),
            (Some("1.120.3"), "2.0.0", "T2"),
            (Some("1.120.0"), "1.121.5", "-"),
            (Some("1.120.0"), "1.120.0", "-"),
            (Some("1.120.0"), "1.119.0", "T1"),
            (None, "1.122.0", "-"),
        ] {
            let mark = mark.map(|version| HighWaterMark {
                component: Component::Apiserver,
                owner: None,
                version: version.to_owned(),
            });
            let instances = vec![instance("let", "1.120.0"), instance("gcm", "1.121.0")];
            let without = Landscape { high_water_marks: mark.into_iter().collect(), ..Landscape::default() };
            let with_others = Landscape { instances, ..without.clone() };
            for landscape in [without, with_others] {
                let candidate = Candidate { instance: instance("api", version), previous: None, looks_ahead: false };
                let rule = match decide(&landscape, &candidate, Profile::Documents) {
                    Decision::Refused(refused) if matches!(refused.rule, Rule::T1 | Rule::T2) => {
                        refused.rule.to_string()
                    }
                    _ => "-".to_owned(),
                };
                assert_eq!(rule, expected, "{version} after {landscape:?}");
            }
        }
    }

    #[test]
    fn components_start_alongside_allowed_versions() {
        for row in STARTS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let cells: Vec<Vec<&str>> = given.split('|').map(|cell| cell.split_whitespace().collect()).collect();
            let instances = cells[0].chunks(2).map(|words| instance(words[0], words[1])).collect();
            let landscape = Landscape { instances, ..Landscape::default() };
            let candidate = Candidate {
                instance: instance(cells[1][0], cells[1][1]),
                previous: Some(cells[2][0]).filter(|text| *text != "-").map(str::to_owned),
                looks_ahead: true,
            };
            let actual = match decide(&landscape, &candidate, Profile::Documents) {
                Decision::Starts => "starts".to_owned(),
                Decision::Waits => "waits".to_owned(),
                Decision::Refused(refused) => format!("{} {}", refused.rule, refused.text),
            };
            assert_eq!(actual, expected.trim(), "row: {row}");
            if candidate.instance.component != Component::Operator {
                assert_eq!(decide(&landscape, &candidate, Profile::Upstream), Decision::Starts, "row: {row}");
            }
            assert_eq!(
                judge(&landscape, &candidate, Profile::Documents),
                decide(&landscape, &candidate, Profile::Documents)
            );
        }
    }

    #[test]
    fn refusals_fit_on_one_line_that_names_rule_and_versions() {
        let landscape = Landscape {
            instances: vec![instance("api", "v1.37.0"), instance("api", "v1.38.0")],
            garden: Some("v1.37.3".to_owned()),
            ..Landscape::default()
        };
        assert_eq!(rule_of_line("error: no gardener-apiserver runs"), None);
        let own = instance("op", "v1.37.2");
        let candidate = Candidate { instance: own.clone(), previous: None, looks_ahead: true };
        for profile in [Profile::Documents, Profile::Upstream] {
            let Decision::Refused(refused) = decide(&landscape, &candidate, profile) else { panic!("refused") };
            assert_eq!(
                refusal_line(&own, &refused),
                "Error: failed verifying Gardener version: downgrading Gardener is not supported (old version was \
                 1.37.3, my version is v1.37.2), please consult \
                 https://github.com/gardener/gardener/blob/master/docs/deployment/version_skew_policy.md [rule=O3a, \
                 component=gardener-operator, version=v1.37.2, against=v1.37.3]"
            );
            assert_eq!(rule_of_line(&refusal_line(&own, &refused)), Some(Rule::O3a));
            assert_eq!(compared_with(&refusal_line(&own, &refused)), GardenerVersion::parse("1.37.3"));
        }
    }
}
