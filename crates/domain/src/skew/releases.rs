// SPDX-License-Identifier: Apache-2.0
//! Facts of a release of Gardener: supported Kubernetes versions, its own feature gates, the date.
//!
//! Source: pkg/utils/validation/kubernetesversion/version.go and pkg/features at v1.106.0 to v1.149.0; dates of the tags.

use chrono::{DateTime, NaiveDate, Utc};

use super::GardenerVersion;
use crate::profile::Profile;
use crate::release::{NEWEST, OLDEST, Release};
use crate::versions::{Version, normalize};

/// Version of Gardener that is emulated by default.
pub const EMULATED: &str = "v1.120.0";

/// Minor of Gardener, and the minors of Kubernetes 1.x that are supported from it on, both bounds included. Releases
/// before the first row have its values, releases after the last one those of the last.
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

/// Default Kubernetes version of gardens and seeds of a release: 1.31.1 where that is supported, else
/// the first of the oldest supported minor.
pub fn usual_kubernetes(gardener: &GardenerVersion) -> String {
    const USUAL: &str = "1.31.1";
    if supports_kubernetes(gardener, USUAL) {
        return USUAL.to_owned();
    }
    format!("1.{}.0", kubernetes_minors(gardener).0)
}

/// True if a release supports a Kubernetes version; suffixes of the version do not count.
pub fn supports_kubernetes(gardener: &GardenerVersion, kubernetes: &str) -> bool {
    let (oldest, newest) = kubernetes_minors(gardener);
    Version::parse(&normalize(kubernetes))
        .is_ok_and(|version| version.major == 1 && (oldest..=newest).contains(&version.minor))
}

/// Judges the Kubernetes version of a cluster that a component connects to, `v1.26.4`. Returns a warning if the
/// release does not support it but the profile tolerates it (row 11).
///
/// # Errors
/// The text of upstream's client for a version outside of the release's list.
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

/// Minors of 1.x: date of the first release, and newest known patch.
const RELEASED: [(u64, &str, u64); 44] = [
    (106, "2024-10-21", 2),
    (107, "2024-11-04", 3),
    (108, "2024-11-14", 2),
    (109, "2024-11-28", 2),
    (110, "2024-12-11", 5),
    (111, "2025-01-23", 4),
    (112, "2025-02-07", 4),
    (113, "2025-02-24", 3),
    (114, "2025-03-07", 3),
    (115, "2025-03-21", 4),
    (116, "2025-04-04", 4),
    (117, "2025-04-16", 6),
    (118, "2025-05-02", 3),
    (119, "2025-05-19", 2),
    (120, "2025-05-30", 4),
    (121, "2025-06-13", 5),
    (122, "2025-06-27", 3),
    (123, "2025-07-11", 5),
    (124, "2025-07-24", 3),
    (125, "2025-08-08", 4),
    (126, "2025-08-25", 3),
    (127, "2025-09-05", 7),
    (128, "2025-09-19", 7),
    (129, "2025-10-03", 5),
    (130, "2025-10-20", 5),
    (131, "2025-10-31", 5),
    (132, "2025-11-13", 5),
    (133, "2025-11-28", 5),
    (134, "2025-12-11", 5),
    (135, "2026-01-27", 4),
    (136, "2026-02-14", 7),
    (137, "2026-02-26", 7),
    (138, "2026-03-12", 3),
    (139, "2026-03-27", 4),
    (140, "2026-04-10", 5),
    (141, "2026-04-24", 6),
    (142, "2026-05-08", 6),
    (143, "2026-05-24", 4),
    (144, "2026-06-04", 6),
    (145, "2026-06-19", 4),
    (146, "2026-07-03", 6),
    (147, "2026-07-17", 4),
    (148, "2026-07-31", 4),
    (149, "2026-08-13", 3),
];

/// Date of the first release of minor 1.x, and the minor's newest known patch; `None` for a minor without a known release.
pub fn first_release(minor: u64) -> Option<(NaiveDate, GardenerVersion)> {
    let (_, date, patch) = RELEASED.iter().find(|(known, ..)| *known == minor)?;
    Some((date.parse().ok()?, GardenerVersion::release(1, minor, *patch)))
}

/// The newest known release, with its newest known patch.
pub fn newest() -> GardenerVersion {
    let (minor, _, patch) = RELEASED[RELEASED.len() - 1];
    GardenerVersion::release(1, minor, patch)
}

/// Returns the release whose rules apply to a version: the nearest one with known rules.
pub fn rules_of(gardener: &GardenerVersion) -> Release {
    gardener.served_release().clamp(OLDEST, NEWEST)
}

/// True if a version has a later minor than every known release.
pub fn is_unknown_minor(gardener: &GardenerVersion) -> bool {
    gardener.minor() > newest().minor()
}

/// True if a version is a later patch than the newest known one of its minor. The rules of the minor apply to it, as far as
/// they are known.
fn is_unknown_patch(gardener: &GardenerVersion) -> bool {
    let (major, minor) = gardener.minor();
    let newest = first_release(minor).filter(|_| major == 1);
    newest.is_some_and(|(_, newest)| gardener.full() > newest.full())
}

/// Returns a text about a version that is not known, with the release whose rules apply; `None` for a known one.
pub fn unknown_release(gardener: &GardenerVersion) -> Option<String> {
    let release = rules_of(gardener);
    let is_known = gardener.minor() == (1, u64::from(release.0)) && !is_unknown_patch(gardener);
    (!is_known).then(|| format!("Gardener v{gardener} is not known here: rules of {release} apply"))
}

/// Returns the text of [`unknown_release`] about a version that is newer than the known ones of its minor, or than all;
/// `None` also for a version that is too old: version skew and the upgrade order have the same rules there.
pub fn unknown_newer_release(gardener: &GardenerVersion) -> Option<String> {
    unknown_release(gardener).filter(|_| is_unknown_minor(gardener) || is_unknown_patch(gardener))
}

/// Number of minors that get fixes, the newest one included.
///
/// Source: docs/deployment/version_skew_policy.md.
pub const MAINTAINED_MINORS: u64 = 3;

/// Returns the newest minor of 1.x that is known to be released at an instant, and the date of its release; `None`
/// before the first one with a known date.
pub fn newest_release(now: DateTime<Utc>) -> Option<(u64, NaiveDate)> {
    let today = now.date_naive();
    let dated = RELEASED.iter().rev().filter_map(|(minor, date, _)| Some((*minor, date.parse::<NaiveDate>().ok()?)));
    dated.into_iter().find(|(_, date)| *date <= today)
}

/// State of a feature gate of Gardener in a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// True if the gate is on by default.
    pub default: bool,
    /// True if the gate cannot be changed.
    pub is_locked: bool,
}

/// Row of the table of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateRow {
    /// Name of the gate.
    pub name: &'static str,
    /// Components that register the gate, by the names of their folders, joined by commas; `-`: none.
    pub components: &'static str,
    /// Minors of 1.x: alpha, beta, locked, removed.
    pub minors: [Option<u64>; 4],
}

impl GateRow {
    fn read(line: &'static str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let name = words.next().filter(|name| *name != "#")?;
        let components = words.next()?;
        let minors = [(); 4].map(|()| words.next().and_then(|word| word.parse().ok()));
        Some(Self { name, components, minors })
    }

    fn is_of(&self, component: &str) -> bool {
        self.components.split(',').any(|known| known == component)
    }

    fn in_release(&self, gardener: &GardenerVersion) -> Option<Gate> {
        let [alpha, beta, locked, removed] =
            self.minors.map(|minor| minor.is_some_and(|minor| gardener.minor() >= (1, minor)));
        ((alpha || beta || locked) && !removed).then_some(Gate { default: beta || locked, is_locked: locked })
    }
}

/// Rows by name. Several rows of a name are of components that register the gate in different minors; the first one
/// is the gate's own.
fn gate_rows() -> impl Iterator<Item = GateRow> {
    include_str!("gates.txt").lines().filter_map(GateRow::read)
}

/// Returns the feature gate of a release, from any component that registers it; `None` if the release does not know
/// it.
pub fn feature_gate(gardener: &GardenerVersion, name: &str) -> Option<Gate> {
    gate_rows().filter(|row| row.name == name).find_map(|row| row.in_release(gardener))
}

/// Gates that set all gates of a stage; nothing here depends on them.
const WHOLE_STAGES: [&str; 2] = ["AllAlpha", "AllBeta"];

/// Checks a setting of a gate of a component of a release; the component by the name of its folder, `controllermanager`.
///
/// # Errors
/// Upstream's text.
///
/// Source: k8s.io/component-base featuregate.
pub fn check_gate(gardener: &GardenerVersion, component: &str, name: &str, on: bool) -> Result<(), String> {
    if WHOLE_STAGES.contains(&name) {
        return Ok(());
    }
    let mut rows = gate_rows().filter(|row| row.name == name && row.is_of(component));
    let known = rows.find_map(|row| row.in_release(gardener));
    let known = known.ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
    if known.is_locked && on != known.default {
        return Err(format!("cannot set feature gate {name} to {on}, feature is locked to {}", known.default));
    }
    Ok(())
}

/// True if a release has the feature of a gate: by `set`, else by the default of the gate there. The feature is off
/// in releases before the gate, and on in releases that have removed the gate.
pub fn gate_is_on(gardener: &GardenerVersion, name: &str, set: Option<bool>) -> bool {
    match feature_gate(gardener, name) {
        Some(gate) if gate.is_locked => gate.default,
        Some(gate) => set.unwrap_or(gate.default),
        None => is_removed(gardener, name),
    }
}

/// True if a release has removed a gate.
fn is_removed(gardener: &GardenerVersion, name: &str) -> bool {
    let row = gate_rows().find(|row| row.name == name);
    row.and_then(|row| row.minors[3]).is_some_and(|minor| gardener.minor() >= (1, minor))
}

/// Change of a feature gate in a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateEvent {
    /// A new gate that is off.
    Added,
    /// A new gate that is on by default.
    AddedOn,
    /// The gate is on by default.
    TurnsOn,
    /// The gate is on and cannot be turned off.
    IsLocked,
    /// The gate is removed; its feature is on.
    Removed,
}

/// Changes of feature gates in minor `1.minor`: name, components as in the table, event; by name.
pub fn gate_events(minor: u64) -> Vec<(&'static str, &'static str, GateEvent)> {
    let registered = gate_rows().filter(|row| row.components != "-");
    let events = registered.filter_map(|row| {
        let stage = row.minors.iter().position(|known| *known == Some(minor))?;
        let is_new = row.minors[..stage].iter().all(Option::is_none);
        let event = match (stage, is_new) {
            (0, _) => GateEvent::Added,
            (1, true) => GateEvent::AddedOn,
            (1, false) => GateEvent::TurnsOn,
            (2, _) => GateEvent::IsLocked,
            _ => GateEvent::Removed,
        };
        Some((row.name, row.components, event))
    });
    events.collect()
}

/// Names of the feature gates that a component knows in some release; the component as in [`check_gate`].
pub fn gate_names(component: &str) -> impl Iterator<Item = &'static str> {
    gate_rows().filter(move |row| row.is_of(component)).map(|row| row.name)
}

/// Returns the rows of a gate by its name, ignoring case; empty: no release has it.
pub fn rows_of_gate(name: &str) -> Vec<GateRow> {
    gate_rows().filter(|row| row.name.eq_ignore_ascii_case(name)).collect()
}

/// True if some release has a gate of this name.
pub fn is_gate(name: &str) -> bool {
    gate_rows().any(|row| row.name == name)
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
    fn unlisted_cluster_versions_warn_or_fail_by_profile() {
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

    /// A release, a component, the setting, and the expected text.
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
            ("v1.121.0", "operator", "DoNotCopyBackupCredentials", false, Ok(())),
            ("v1.130.0", "operator", "UseUnifiedHTTPProxyPort", true, Ok(())),
            ("v1.145.0", "gardenlet", "OpenTelemetryCollector", false, Ok(())),
            (
                "v1.145.0",
                "operator",
                "OpenTelemetryCollector",
                false,
                Err("unrecognized feature gate: OpenTelemetryCollector"),
            ),
            ("v1.146.0", "operator", "OpenTelemetryCollector", false, Ok(())),
            (
                "v1.147.0",
                "apiserver",
                "LiveControlPlaneMigration",
                true,
                Err("unrecognized feature gate: LiveControlPlaneMigration"),
            ),
            ("v1.148.0", "apiserver", "LiveControlPlaneMigration", true, Ok(())),
            (
                "v1.136.7",
                "apiserver",
                "VersionClassificationLifecycle",
                true,
                Err("unrecognized feature gate: VersionClassificationLifecycle"),
            ),
            ("v1.137.0", "apiserver", "VersionClassificationLifecycle", true, Ok(())),
            ("v1.142.0", "controllermanager", "DisableNginxIngressInShoot", true, Ok(())),
            (
                "v1.141.0",
                "controllermanager",
                "DisableNginxIngressInShoot",
                true,
                Err("unrecognized feature gate: DisableNginxIngressInShoot"),
            ),
            (
                "v1.132.0",
                "gardenlet",
                "CustomDNSServerInNodeLocalDNS",
                false,
                Err("unrecognized feature gate: CustomDNSServerInNodeLocalDNS"),
            ),
            ("v1.133.0", "gardenlet", "CustomDNSServerInNodeLocalDNS", false, Ok(())),
            ("v1.120.0", "gardenlet", "Nonsense", false, Err("unrecognized feature gate: Nonsense")),
        ] {
            let said = check_gate(&version(gardener), component, name, on);
            assert_eq!(said, expected.map_err(str::to_owned), "{gardener} {component} {name}={on}");
        }
    }

    #[test]
    fn features_are_off_before_and_on_after_their_gate() {
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
        assert_eq!(at("2025-05-29").as_deref(), Some("119 2025-05-19"));
        assert_eq!(at("2025-05-30").as_deref(), Some("120 2025-05-30"));
        assert_eq!(at("2026-08-12").as_deref(), Some("148 2026-07-31"));
        assert_eq!(at("2030-01-01").as_deref(), Some("149 2026-08-13"));
    }

    /// A version, the release whose rules apply, and whether the version is newer than the known ones.
    #[test]
    fn unknown_versions_have_the_rules_of_the_nearest_release() {
        for known in ["v1.80.0", "v1.90.7", "v1.120.4", "v1.149.3", "v1.149.0-dev"] {
            assert_eq!(unknown_release(&version(known)), None, "{known}");
            assert_eq!(unknown_newer_release(&version(known)), None, "{known}");
        }
        for (unknown, rules, is_newer) in [
            ("v1.150.0", "v1.149", true),
            ("v1.999", "v1.149", true),
            ("v2.0.0", "v1.149", true),
            ("v1.149.4", "v1.149", true),
            ("v1.120.5", "v1.120", true),
            ("v1.79.9", "v1.80", false),
            ("v0.149.0", "v1.80", false),
        ] {
            let text = Some(format!("Gardener {unknown} is not known here: rules of {rules} apply"));
            assert_eq!(unknown_release(&version(unknown)), text);
            assert_eq!(unknown_newer_release(&version(unknown)), text.filter(|_| is_newer), "{unknown}");
        }
        let minors = ["v1.149.9", "v1.150.0", "v2.0.0"].map(|text| is_unknown_minor(&version(text)));
        assert_eq!(minors, [false, true, true]);
    }

    #[test]
    fn versions_get_the_patch_that_they_lack() {
        for (text, expected) in [
            ("v1.150", "1.150.0"),
            ("1.999", "1.999.0"),
            ("v1.150-dev", "1.150.0-dev"),
            ("v1.149.3", "1.149.3"),
            ("1.149.0-dev.1", "1.149.0-dev.1"),
            ("v1.150-dev.1.2", "1.150.0-dev.1.2"),
        ] {
            let version = version(text);
            assert_eq!(version.clone().completed().to_string(), expected, "{text}");
            assert_eq!(version.clone().completed(), version, "{text}");
        }
    }

    /// Minors have no gaps, and dates rise with them.
    #[test]
    fn every_known_minor_has_a_date() {
        let minors = RELEASED.iter().map(|(minor, ..)| *minor);
        assert!(minors.eq(106..=u64::from(crate::release::NEWEST.0)));
        assert!(RELEASED.iter().filter_map(|(minor, ..)| first_release(*minor)).is_sorted_by_key(|(date, _)| date));
        let shown = |minor| first_release(minor).map(|(date, newest)| format!("{date} {newest}"));
        assert_eq!(shown(143).as_deref(), Some("2026-05-24 1.143.4"));
        assert_eq!(shown(147).as_deref(), Some("2026-07-17 1.147.4"));
        assert_eq!(shown(105), None);
    }

    #[test]
    fn releases_report_changes_of_gates() {
        use GateEvent::{Added, AddedOn, IsLocked, Removed, TurnsOn};
        assert_eq!(gate_events(126), [("NewWorkerPoolHash", "gardenlet", TurnsOn)]);
        assert_eq!(gate_events(141), [("NewWorkerPoolHash", "gardenlet", IsLocked)]);
        assert_eq!(gate_events(143), [("NewWorkerPoolHash", "gardenlet", Removed)]);
        assert_eq!(gate_events(118), [("CloudProfileCapabilities", "apiserver", Added)]);
        assert_eq!(gate_events(133)[0], ("CustomDNSServerInNodeLocalDNS", "gardenlet", AddedOn));
        assert_eq!(
            gate_events(146),
            [
                ("CloudProfileCapabilities", "apiserver", TurnsOn),
                ("OpenTelemetryCollector", "operator", AddedOn),
                ("VPAInPlaceUpdates", "gardenlet,operator", IsLocked),
            ]
        );
        assert_eq!(
            gate_events(148),
            [
                ("LiveControlPlaneMigration", "apiserver", Added),
                ("RemoveHTTPProxyLegacyPort", "gardenlet", Added),
                ("VPAInPlaceUpdates", "gardenlet,operator", Removed),
            ]
        );
        assert_eq!(gate_events(150), []);
    }

    #[test]
    fn gates_are_added_locked_and_removed() {
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
