// SPDX-License-Identifier: Apache-2.0
//! Selections of defaults among the versions of a CloudProfile.

use api::core::{ExpirableVersion, MachineImageVersion};

use super::{Expirable, Moment, State, Version};
use crate::release::{Release, Releases};

/// Only supported versions are defaults of Kubernetes versions.
const ONLY_SUPPORTED_DEFAULTS: Releases = Releases::since(121);

/// The state determines whether a version is deprecated; earlier releases also treat a version without a classification
/// as deprecated.
const UNCLASSIFIED_IS_NOT_DEPRECATED: Releases = Releases::since(121);

/// Returns the highest version of a list, in any state; `None` for an empty list or if one is invalid in a release.
pub fn highest<V: Expirable>(versions: &[V], release: Release) -> Option<&V> {
    let mut highest: Option<(Version, &V)> = None;
    for entry in versions {
        let version = Version::parse_in(entry.version(), release).ok()?;
        if highest.as_ref().is_none_or(|(known, _)| version > *known) {
            highest = Some((version, entry));
        }
    }
    highest.map(|(_, entry)| entry)
}

/// Returns the highest version that passes; invalid entries are skipped, the first of equal ones is returned.
fn highest_where<'a, V: Expirable>(
    versions: impl Iterator<Item = &'a V>,
    passes: impl Fn(&V, &Version) -> bool,
) -> Option<&'a V> {
    let mut highest: Option<(Version, &V)> = None;
    for entry in versions {
        if let Ok(version) = Version::parse(entry.version())
            && passes(entry, &version)
            && highest.as_ref().is_none_or(|(known, _)| version > *known)
        {
            highest = Some((version, entry));
        }
    }
    highest.map(|(_, entry)| entry)
}

fn matches(version: &Version, major: Option<u64>, minor: Option<u64>) -> bool {
    major.is_none_or(|major| version.major == major) && minor.is_none_or(|minor| version.minor == minor)
}

/// Returns the default of a Kubernetes version whose major and minor may be given: the highest supported one. Until 1.120
/// the highest that is neither expired ([`Moment::is_expired_for_admission`]) nor a preview, deprecated or not.
pub fn default_kubernetes(
    versions: &[ExpirableVersion],
    major: Option<u64>,
    minor: Option<u64>,
    at: Moment,
) -> Option<&ExpirableVersion> {
    let is_candidate = |entry: &ExpirableVersion| {
        if ONLY_SUPPORTED_DEFAULTS.contain(at.release) {
            return at.state(entry) == State::Supported;
        }
        !at.is_expired_for_admission(entry) && !at.is_preview(entry)
    };
    highest_where(versions.iter(), |entry, version| is_candidate(entry) && matches(version, major, minor))
}

/// Returns the default among candidate machine image versions, whose major and minor may be given: the highest that is
/// not deprecated, else the highest. Previews are excluded, expired versions are not. Until 1.120 a version without a
/// classification counts as deprecated.
pub fn default_machine_image<'a>(
    candidates: &[&'a MachineImageVersion],
    major: Option<u64>,
    minor: Option<u64>,
    at: Moment,
) -> Option<&'a MachineImageVersion> {
    let fits = |entry: &MachineImageVersion, version: &Version| !at.is_preview(entry) && matches(version, major, minor);
    let is_known = |entry: &MachineImageVersion| {
        UNCLASSIFIED_IS_NOT_DEPRECATED.contain(at.release) || entry.classification().is_some()
    };
    highest_where(candidates.iter().copied(), |entry, version| {
        fits(entry, version) && is_known(entry) && !at.is_deprecated(entry)
    })
    .or_else(|| highest_where(candidates.iter().copied(), fits))
}

/// Returns the Kubernetes version that is shown to users as the default: the highest supported one that is not expired,
/// else the highest unclassified one.
///
/// Never a preview or a deprecated version, unlike the default of an empty `spec.kubernetes.version`.
pub fn shown_default(versions: &[ExpirableVersion], at: Moment) -> Option<&ExpirableVersion> {
    let is_of = |entry: &ExpirableVersion, wanted| at.is_active(entry) && at.has(entry, wanted);
    [State::Supported, State::Unclassified]
        .into_iter()
        .find_map(|wanted| highest_where(versions.iter(), |entry, _| is_of(entry, wanted)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::release::DOCUMENTED;

    const NOW: &str = "2025-06-15T12:00:00Z";

    pub(in crate::versions) fn at() -> Moment {
        Moment::new(NOW.parse().expect("RFC 3339"), DOCUMENTED)
    }

    /// Parses `1.31.2`, followed by marks: `s` supported, `~` deprecated, `?` preview, `!` expires now, `-` expired a
    /// second ago.
    pub(in crate::versions) fn entries(list: &str) -> Vec<ExpirableVersion> {
        list.split_whitespace()
            .map(|text| {
                let version = text.trim_end_matches(['s', '~', '?', '!', '-']);
                let marks = &text[version.len()..];
                let classification = [('s', "supported"), ('~', "deprecated"), ('?', "preview")]
                    .into_iter()
                    .find_map(|(mark, name)| marks.contains(mark).then(|| name.to_owned()));
                let expires = if marks.contains('!') {
                    Some(at().now)
                } else {
                    marks.contains('-').then(|| at().now - chrono::TimeDelta::seconds(1))
                };
                ExpirableVersion {
                    version: version.to_owned(),
                    expiration_date: expires.map(Into::into),
                    classification,
                    lifecycle: Vec::new(),
                }
            })
            .collect()
    }

    /// Offered versions, default of an empty version, version shown as the default.
    /// Source: docs/usage/shoot-operations/shoot_versions.md; versioning policy, "default version".
    const DEFAULTS: &str = "
1.33.0? 1.32.3s 1.31.9       => 1.32.3 1.32.3
1.33.0~ 1.32.3s 1.31.9       => 1.33.0 1.32.3
1.33.0  1.32.3s              => 1.33.0 1.32.3
1.33.0- 1.32.3~ 1.31.9       => 1.32.3 1.31.9
1.33.0! 1.32.3               => 1.33.0 1.33.0
1.33.0s- 1.32.3~             => 1.32.3 none
1.33.0? 1.32.3-              => none   none
";

    #[test]
    fn the_default_is_the_highest_version() {
        for row in DEFAULTS.lines().filter(|row| !row.is_empty()) {
            let (offered, expected) = row.split_once("=>").expect("row has an arrow");
            let offered = entries(offered);
            let text = |found: Option<&ExpirableVersion>| found.map_or("none", |found| &found.version).to_owned();
            let taken = text(default_kubernetes(&offered, None, None, at()));
            let shown = text(shown_default(&offered, at()));
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!([taken.as_str(), shown.as_str()], expected[..], "row: {row}");
        }
    }

    #[test]
    fn wanted_major_and_minor_narrow_the_default() {
        let offered = entries("2.0.1 1.32.3 1.31.9 1.31.10");
        let default =
            |major, minor| default_kubernetes(&offered, major, minor, at()).map(|found| found.version.as_str());
        assert_eq!(default(Some(1), None), Some("1.32.3"));
        assert_eq!(default(Some(1), Some(31)), Some("1.31.10"));
        assert_eq!(default(None, Some(31)), Some("1.31.10"));
        assert_eq!(default(Some(1), Some(30)), None);
    }
}
