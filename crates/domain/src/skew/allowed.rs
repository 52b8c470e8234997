// SPDX-License-Identifier: Apache-2.0
//! Versions that may run alongside some instances of gardener-apiserver.

use super::{APISERVERS_APART, Component, GardenerVersion, OPERATORS_APART, Rule};
use crate::profile::Profile;

/// The versions of a component that are allowed; both bounds are included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The component; for gardener-apiserver, one more instance.
    pub component: Component,
    /// The oldest minor, `1.36`; `None`: any.
    pub oldest: Option<String>,
    /// The newest minor, or the newest version where patches count; `None`: that of the oldest gardenlet.
    pub newest: Option<String>,
    /// The rules that set the bounds.
    pub rules: &'static [Rule],
}

/// Returns the versions that may run alongside gardener-apiservers of these versions; empty: there is no
/// gardener-apiserver, or they violate A1 themselves.
pub fn beside(apiservers: &[GardenerVersion], profile: Profile) -> Vec<Allowed> {
    let (Some(oldest), Some(newest)) = (apiservers.iter().min(), apiservers.iter().max()) else { return Vec::new() };
    let ((major, low), (newest_major, high)) = (oldest.minor(), newest.minor());
    if major != newest_major || high - low > APISERVERS_APART {
        return Vec::new();
    }
    let minor = |minor: u64| Some(format!("{major}.{minor}"));
    let behind = |minors: i128| high.saturating_sub(u64::try_from(minors).unwrap_or(u64::MAX));
    let row = |component, oldest, newest, rules| Allowed { component, oldest, newest, rules };
    let of_window = |component, apart: u64, rules| {
        row(component, minor(high.saturating_sub(apart)), minor(low.saturating_add(apart)), rules)
    };
    let of_control_plane = |component| row(component, minor(behind(1)), minor(low), &[Rule::C1, Rule::C2]);
    let gardenlet = if profile.gardenlet_newness_counts_patches() {
        let (major, minor, patch) = oldest.full();
        Some(format!("{major}.{minor}.{patch}"))
    } else {
        minor(low)
    };
    vec![
        of_window(Component::Apiserver, APISERVERS_APART, &[Rule::A1]),
        of_control_plane(Component::ControllerManager),
        of_control_plane(Component::Scheduler),
        of_control_plane(Component::AdmissionController),
        row(Component::Gardenlet, minor(behind(profile.gardenlet_minors_behind())), gardenlet, &[Rule::G1, Rule::G2]),
        of_window(Component::Operator, OPERATORS_APART, &[Rule::O2]),
        row(Component::Extension, None, None, &[Rule::E1]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{Instance, Landscape, rules, violations};
    use super::*;

    fn versions(texts: &[&str]) -> Vec<GardenerVersion> {
        texts.iter().map(|text| GardenerVersion::parse(text).expect("a version of Gardener")).collect()
    }

    #[test]
    fn bounds_are_those_of_the_documents_examples() {
        let row = |apiservers: &[&str], component: Component, profile| {
            let all = beside(&versions(apiservers), profile);
            let row = all.into_iter().find(|row| row.component == component).expect("there is a row");
            format!("{} {}", row.oldest.unwrap_or_default(), row.newest.unwrap_or_default())
        };
        assert_eq!(row(&["1.37.2"], Component::Apiserver, Profile::Documents), "1.36 1.38");
        assert_eq!(row(&["1.37.2"], Component::Scheduler, Profile::Documents), "1.36 1.37");
        assert_eq!(row(&["1.37.2"], Component::Gardenlet, Profile::Documents), "1.36 1.37");
        assert_eq!(row(&["1.37.2"], Component::Gardenlet, Profile::Upstream), "1.35 1.37.2");
        assert_eq!(row(&["1.37.2", "v1.38.0"], Component::ControllerManager, Profile::Documents), "1.37 1.37");
        assert_eq!(row(&["1.37.2", "v1.38.0"], Component::Apiserver, Profile::Documents), "1.37 1.38");
        assert_eq!(row(&["1.0.0"], Component::Gardenlet, Profile::Upstream), "1.0 1.0.0");
        assert_eq!(beside(&[], Profile::Documents), Vec::new());
        assert_eq!(beside(&versions(&["1.36.0", "1.38.0"]), Profile::Documents), Vec::new());
        assert_eq!(beside(&versions(&["1.36.0", "2.36.0"]), Profile::Documents), Vec::new());
    }

    #[test]
    fn allowed_versions_violate_no_rule_and_all_others_do() {
        for (apiservers, profile) in [
            (vec!["1.37.2"], Profile::Documents),
            (vec!["1.37.2"], Profile::Upstream),
            (vec!["1.37.2", "1.38.0"], Profile::Documents),
            (vec!["1.37.2", "1.38.0"], Profile::Upstream),
        ] {
            for row in beside(&versions(&apiservers), profile).iter().filter(|row| row.newest.is_some()) {
                for version in (33..41).flat_map(|minor| [0, 2, 3].map(|patch| format!("1.{minor}.{patch}"))) {
                    let mut instances: Vec<Instance> =
                        apiservers.iter().map(|version| Instance::new(Component::Apiserver, version)).collect();
                    instances.push(Instance::owned(row.component, "x", &version));
                    let landscape = Landscape { instances, ..Landscape::default() };
                    let found = rules(&violations(&landscape, profile));
                    let is_allowed = is_between(&version, row);
                    assert_eq!(found.is_empty(), is_allowed, "{version} {row:?} {apiservers:?}");
                    assert!(found.iter().all(|rule| row.rules.contains(rule)), "{version} {row:?}: {found:?}");
                }
            }
        }
    }

    fn is_between(version: &str, row: &Allowed) -> bool {
        let version = GardenerVersion::parse(version).expect("a version");
        let bound =
            |text: &Option<String>| GardenerVersion::parse(text.as_deref().expect("a bound")).expect("a version");
        let counts_patches = row.newest.as_ref().is_some_and(|newest| newest.split('.').count() == 3);
        let newest = bound(&row.newest);
        let is_not_newer = if counts_patches { version <= newest } else { version.minor() <= newest.minor() };
        bound(&row.oldest).minor() <= version.minor() && is_not_newer
    }
}
