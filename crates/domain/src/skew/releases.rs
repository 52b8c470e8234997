// SPDX-License-Identifier: Apache-2.0
//! What a release of Gardener knows: Kubernetes versions and its own feature gates; and when it was released.
//!
//! Source: pkg/utils/validation/kubernetesversion/version.go and pkg/features at v1.106.0 to v1.149.0; dates of the tags.

use chrono::{DateTime, NaiveDate, Utc};

use super::GardenerVersion;
use crate::profile::Profile;
use crate::versions::{Version, normalize};

/// Version of Gardener that is emulated unless somebody says otherwise.
pub const EMULATED: &str = "v1.120.0";

/// From which minor of Gardener on which minors of Kubernetes 1.x are supported, both bounds included. Releases before
/// the first row are taken like it, releases after the last like that one.
const KUBERNETES: [(u64, u64, u64); 11] = [
    (106, 25, 31),
    (113, 25, 32),
    (114, 27, 32),
    (122, 27, 33),
    (127, 29, 33),
    (132, 29, 34),
    (133, 30, 34),
    (136, 30, 35),
    (141, 31, 35),
    (142, 32, 35),
    (145, 32, 36),
];

/// The oldest and the newest minor of Kubernetes 1.x that a release supports for gardens, seeds and shoots.
pub fn kubernetes_minors(gardener: &GardenerVersion) -> (u64, u64) {
    let known = KUBERNETES.iter().rev().find(|(since, _, _)| gardener.minor() >= (1, *since));
    let (_, oldest, newest) = known.unwrap_or(&KUBERNETES[0]);
    (*oldest, *newest)
}

/// Kubernetes version of gardens and seeds of a release unless somebody says otherwise: 1.31.1 where that is supported, else
/// the first of the oldest supported minor.
pub fn usual_kubernetes(gardener: &GardenerVersion) -> String {
    const USUAL: &str = "1.31.1";
    if supports_kubernetes(gardener, USUAL) {
        return USUAL.to_owned();
    }
    format!("1.{}.0", kubernetes_minors(gardener).0)
}

/// Whether a release supports a Kubernetes version; suffixes of the version do not count.
pub fn supports_kubernetes(gardener: &GardenerVersion, kubernetes: &str) -> bool {
    let (oldest, newest) = kubernetes_minors(gardener);
    Version::parse(&normalize(kubernetes))
        .is_ok_and(|version| version.major == 1 && (oldest..=newest).contains(&version.minor))
}

/// What a component makes of the Kubernetes version of a cluster that it connects to, `v1.26.4`: a warning, if a release
/// does not support it and the profile has it work all the same (row 11).
///
/// # Errors
/// The sentence of upstream's client for a version outside of the release's list.
pub fn judge_cluster(rules: Profile, gardener: &GardenerVersion, kubernetes: &str) -> Result<Option<String>, String> {
    if supports_kubernetes(gardener, kubernetes) {
        return Ok(None);
    }
    if !rules.tolerates_unknown_kubernetes_versions() {
        return Err(format!("error discovering kubernetes version: unsupported kubernetes version {kubernetes:?}"));
    }
    let (oldest, newest) = kubernetes_minors(gardener);
    Ok(Some(format!(
        "Kubernetes {kubernetes} is outside of 1.{oldest} to 1.{newest}, which Gardener v{gardener} supports"
    )))
}

/// Minors of 1.x whose first release has a known date, and that date.
const RELEASED: [(u64, &str); 12] = [
    (110, "2024-12-11"),
    (113, "2025-02-24"),
    (114, "2025-03-07"),
    (120, "2025-05-30"),
    (122, "2025-06-27"),
    (127, "2025-09-05"),
    (132, "2025-11-13"),
    (133, "2025-11-28"),
    (136, "2026-02-14"),
    (141, "2026-04-24"),
    (142, "2026-05-08"),
    (145, "2026-06-19"),
];

/// How many minors get fixes, the newest one included.
///
/// Source: docs/deployment/version_skew_policy.md.
pub const MAINTAINED_MINORS: u64 = 3;

/// The newest minor of 1.x that is known to be released at an instant, and on which day it was; `None` before the first
/// one whose date is known.
pub fn newest_release(now: DateTime<Utc>) -> Option<(u64, NaiveDate)> {
    let today = now.date_naive();
    let dated = RELEASED.iter().rev().filter_map(|(minor, date)| Some((*minor, date.parse::<NaiveDate>().ok()?)));
    dated.into_iter().find(|(_, date)| *date <= today)
}

/// What a release makes of a feature gate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Whether it is on if nothing is said.
    pub default: bool,
    /// Whether it cannot be changed.
    pub is_locked: bool,
    /// The components that know it, as in the table: `apiserver`, `gardenlet`, `operator`, joined by commas.
    pub components: &'static str,
}

/// A feature gate of a release; `None` if the release does not know it.
pub fn feature_gate(gardener: &GardenerVersion, name: &str) -> Option<Gate> {
    include_str!("gates.txt").lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let components = words.next().filter(|word| *word == name).and_then(|_| words.next())?;
        let mut reached = || {
            let minor: Option<u64> = words.next().and_then(|word| word.parse().ok());
            minor.is_some_and(|minor| gardener.minor() >= (1, minor))
        };
        let (is_alpha, is_beta, is_ga, is_removed) = (reached(), reached(), reached(), reached());
        (is_alpha && !is_removed).then_some(Gate { default: is_beta || is_ga, is_locked: is_ga, components })
    })
}

/// Gates that stand for all of a stage; nothing here depends on them.
const WHOLE_STAGES: [&str; 2] = ["AllAlpha", "AllBeta"];

/// Whether a gate may be set so for a component ([`Gate::components`]) of a release.
///
/// # Errors
/// Upstream's words.
///
/// Source: k8s.io/component-base featuregate.
pub fn check_gate(gardener: &GardenerVersion, component: &str, name: &str, on: bool) -> Result<(), String> {
    if WHOLE_STAGES.contains(&name) {
        return Ok(());
    }
    let known = feature_gate(gardener, name).filter(|gate| gate.components.split(',').any(|it| it == component));
    let known = known.ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
    if known.is_locked && on != known.default {
        return Err(format!("cannot set feature gate {name} to {on}, feature is locked to {}", known.default));
    }
    Ok(())
}

/// Whether what a gate guards happens in a release: as it is `set`, else as is the default there. What a release has
/// before its gate came is off, what stayed when its gate went is on.
pub fn gate_is_on(gardener: &GardenerVersion, name: &str, set: Option<bool>) -> bool {
    let known = feature_gate(gardener, name);
    match known {
        Some(gate) if gate.is_locked => gate.default,
        Some(gate) => set.unwrap_or(gate.default),
        None => has_gone(gardener, name),
    }
}

/// Whether a release has no gate of this name any more.
fn has_gone(gardener: &GardenerVersion, name: &str) -> bool {
    let line = include_str!("gates.txt").lines().find(|line| line.split(' ').next() == Some(name));
    let removed = line.and_then(|line| line.split_whitespace().nth(5)?.parse::<u64>().ok());
    removed.is_some_and(|minor| gardener.minor() >= (1, minor))
}

/// What becomes of a feature gate in a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateEvent {
    /// It comes, and is off.
    Comes,
    /// It is on where nothing is said.
    TurnsOn,
    /// It is on and cannot be turned off.
    IsLocked,
    /// It is no gate any more: what it guarded happens.
    Goes,
}

/// What becomes of feature gates in minor `1.minor`: name, components ([`Gate::components`]), event; by name.
pub fn gate_events(minor: u64) -> Vec<(&'static str, &'static str, GateEvent)> {
    let lines = include_str!("gates.txt").lines().filter(|line| !line.starts_with('#'));
    let events = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, components) = (words.next()?, words.next()?);
        let all = [GateEvent::Comes, GateEvent::TurnsOn, GateEvent::IsLocked, GateEvent::Goes];
        let event = words.zip(all).find(|(word, _)| word.parse() == Ok(minor)).map(|(_, event)| event)?;
        Some((name, components, event))
    });
    events.collect()
}

/// Names of the feature gates that a component knows in some release; see [`Gate::components`].
pub fn gate_names(component: &str) -> impl Iterator<Item = &'static str> {
    let lines = include_str!("gates.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(move |line| {
        let (name, rest) = line.split_once(' ')?;
        let mut components = rest.split(' ').next()?.split(',');
        components.any(|known| known == component).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> GardenerVersion {
        GardenerVersion::parse(text).expect("a version of Gardener")
    }

    #[test]
    fn releases_support_a_range_of_kubernetes_minors() {
        for (gardener, expected) in [
            ("v1.80.0", (25, 31)),
            ("v1.112.9", (25, 31)),
            ("v1.113.0", (25, 32)),
            ("v1.120.0", (27, 32)),
            ("v1.121.0-dev", (27, 32)),
            ("v1.126.0", (27, 33)),
            ("v1.150.0-dev", (32, 36)),
        ] {
            assert_eq!(kubernetes_minors(&version(gardener)), expected, "{gardener}");
        }
        assert!(supports_kubernetes(&version("v1.120.0"), "v1.32.3-gke.100"));
        assert!(!supports_kubernetes(&version("v1.120.0"), "2.32.0"));
        assert!(!supports_kubernetes(&version("v1.120.0"), "newest"));
    }

    /// Row 11 of the profiles: the documents' examples run clusters on 1.13 to 1.27.
    #[test]
    fn clusters_outside_of_the_list_work_with_a_warning_or_fail() {
        let judge = |rules, kubernetes: &str| judge_cluster(rules, &version("v1.120.0"), kubernetes);
        for known in ["v1.27.0", "v1.32.4", "v1.32.3-gke.100"] {
            assert_eq!(judge(Profile::Documents, known), Ok(None));
            assert_eq!(judge(Profile::Upstream, known), Ok(None));
        }
        for unknown in ["v1.26.4", "v1.13.12", "v1.33.0", "v2.32.0", "newest"] {
            let warning = format!("Kubernetes {unknown} is outside of 1.27 to 1.32, which Gardener v1.120.0 supports");
            assert_eq!(judge(Profile::Documents, unknown), Ok(Some(warning)));
            let text = format!("error discovering kubernetes version: unsupported kubernetes version \"{unknown}\"");
            assert_eq!(judge(Profile::Upstream, unknown), Err(text));
        }
    }

    /// A release, a component, what is set, and what is said of it.
    #[test]
    fn gates_are_those_of_a_component_in_a_release() {
        for (gardener, component, name, on, expected) in [
            ("v1.120.0", "gardenlet", "NewWorkerPoolHash", true, Ok(())),
            ("v1.120.0", "gardenlet", "NewWorkerPoolHash", false, Ok(())),
            ("v1.120.0", "apiserver", "NewWorkerPoolHash", true, Err("unrecognized feature gate: NewWorkerPoolHash")),
            ("v1.97.0", "gardenlet", "NewWorkerPoolHash", true, Err("unrecognized feature gate: NewWorkerPoolHash")),
            ("v1.143.0", "gardenlet", "NewWorkerPoolHash", true, Err("unrecognized feature gate: NewWorkerPoolHash")),
            ("v1.141.0", "gardenlet", "NewWorkerPoolHash", true, Ok(())),
            (
                "v1.141.0",
                "gardenlet",
                "NewWorkerPoolHash",
                false,
                Err("cannot set feature gate NewWorkerPoolHash to false, feature is locked to true"),
            ),
            ("v1.120.0", "gardenlet", "AllBeta", false, Ok(())),
            ("v1.120.0", "gardenlet", "Nonsense", false, Err("unrecognized feature gate: Nonsense")),
        ] {
            let said = check_gate(&version(gardener), component, name, on);
            assert_eq!(said, expected.map_err(str::to_owned), "{gardener} {component} {name}={on}");
        }
    }

    #[test]
    fn what_a_gate_guards_is_off_before_it_comes_and_on_when_it_has_gone() {
        for (gardener, set, expected) in [
            ("v1.97.0", None, false),
            ("v1.97.0", Some(true), false),
            ("v1.120.0", None, false),
            ("v1.120.0", Some(true), true),
            ("v1.126.0", None, true),
            ("v1.126.0", Some(false), false),
            ("v1.141.0", Some(false), true),
            ("v1.143.0", None, true),
            ("v1.143.0", Some(false), true),
        ] {
            assert_eq!(gate_is_on(&version(gardener), "NewWorkerPoolHash", set), expected, "{gardener} {set:?}");
        }
        assert!(!gate_is_on(&version("v1.120.0"), "Nonsense", Some(true)));
    }

    #[test]
    fn the_newest_release_is_that_of_the_day() {
        let at = |day: &str| {
            let instant = format!("{day}T12:00:00Z").parse().expect("an instant");
            newest_release(instant).map(|(minor, date)| format!("{minor} {date}"))
        };
        assert_eq!(at("2023-07-27"), None);
        assert_eq!(at("2025-05-29").as_deref(), Some("114 2025-03-07"));
        assert_eq!(at("2025-05-30").as_deref(), Some("120 2025-05-30"));
        assert_eq!(at("2030-01-01").as_deref(), Some("145 2026-06-19"));
    }

    #[test]
    fn releases_tell_what_becomes_of_gates() {
        use GateEvent::{Comes, Goes, IsLocked, TurnsOn};
        assert_eq!(gate_events(126), [("NewWorkerPoolHash", "gardenlet", TurnsOn)]);
        assert_eq!(gate_events(141), [("NewWorkerPoolHash", "gardenlet", IsLocked)]);
        assert_eq!(gate_events(143), [("NewWorkerPoolHash", "gardenlet", Goes)]);
        assert_eq!(gate_events(118), [("CloudProfileCapabilities", "apiserver", Comes)]);
        assert_eq!(gate_events(150), []);
    }

    #[test]
    fn gates_come_are_locked_and_go() {
        let gate = |gardener: &str| {
            feature_gate(&version(gardener), "NewWorkerPoolHash").map(|gate| (gate.default, gate.is_locked))
        };
        assert_eq!(gate("v1.97.9"), None);
        assert_eq!(gate("v1.120.0"), Some((false, false)));
        assert_eq!(gate("v1.126.0"), Some((true, false)));
        assert_eq!(gate("v1.142.0"), Some((true, true)));
        assert_eq!(gate("v1.143.0"), None);
        assert_eq!(feature_gate(&version("v1.120.0"), "#"), None);
        assert_eq!(feature_gate(&version("v1.120.0"), "Nonsense"), None);
    }
}
