// SPDX-License-Identifier: Apache-2.0
//! Expiry, logical state, and the selections of defaulting among the versions of a CloudProfile.

use std::fmt;

use api::constants::classification;
use api::core::{ExpirableVersion, MachineImageVersion};
use chrono::{DateTime, Utc};

use super::Version;

/// A version that ends some day: of Kubernetes or of a machine image.
pub trait Expirable {
    /// The version.
    fn version(&self) -> &str;
    /// When it ends, if it does.
    fn expiration_date(&self) -> Option<DateTime<Utc>>;
    /// `preview`, `supported`, `deprecated` or nothing.
    fn classification(&self) -> Option<&str>;

    /// Whether the classification is `preview`.
    fn is_preview(&self) -> bool {
        self.classification() == Some(classification::PREVIEW)
    }

    /// Whether the classification is `deprecated`.
    fn is_deprecated(&self) -> bool {
        self.classification() == Some(classification::DEPRECATED)
    }
}

macro_rules! impl_expirable {
    ($type:ty) => {
        impl Expirable for $type {
            fn version(&self) -> &str {
                &self.version
            }

            fn expiration_date(&self) -> Option<DateTime<Utc>> {
                self.expiration_date.map(|date| date.0)
            }

            fn classification(&self) -> Option<&str> {
                self.classification.as_deref()
            }
        }
    };
}

impl_expirable!(ExpirableVersion);
impl_expirable!(MachineImageVersion);

impl<V: Expirable> Expirable for &V {
    fn version(&self) -> &str {
        (**self).version()
    }

    fn expiration_date(&self) -> Option<DateTime<Utc>> {
        (**self).expiration_date()
    }

    fn classification(&self) -> Option<&str> {
        (**self).classification()
    }
}

/// Whether a version is expired for maintenance: the instant of the expiration date itself counts.
pub fn is_expired(version: &impl Expirable, now: DateTime<Utc>) -> bool {
    version.expiration_date().is_some_and(|date| now >= date)
}

/// Whether a version is expired for defaulting and admission: the instant of the expiration date is still usable.
///
/// Machine image admission calls a version active by the opposite strictness, see [`is_active_image`].
pub fn expired_before(version: &impl Expirable, now: DateTime<Utc>) -> bool {
    version.expiration_date().is_some_and(|date| date < now)
}

/// Whether machine image admission takes a version as not expired: the instant of the expiration date is not.
pub fn is_active_image(version: &impl Expirable, now: DateTime<Utc>) -> bool {
    version.expiration_date().is_none_or(|date| date > now)
}

/// Logical state of a version: nothing stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No classification; eligible everywhere.
    Unclassified,
    /// Never a target of maintenance or of a default.
    Preview,
    /// The version to use.
    Supported,
    /// Still usable; a target only where nothing else is left.
    Deprecated,
    /// Past its expiration date, whatever its classification.
    Expired,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unclassified => "unclassified",
            Self::Preview => classification::PREVIEW,
            Self::Supported => classification::SUPPORTED,
            Self::Deprecated => classification::DEPRECATED,
            Self::Expired => classification::EXPIRED,
        })
    }
}

/// The logical state of a version; the instant of the expiration date counts as expired.
pub fn state(version: &impl Expirable, now: DateTime<Utc>) -> State {
    if is_expired(version, now) {
        return State::Expired;
    }
    match version.classification() {
        Some(classification::PREVIEW) => State::Preview,
        Some(classification::SUPPORTED) => State::Supported,
        Some(classification::DEPRECATED) => State::Deprecated,
        _ => State::Unclassified,
    }
}

/// The highest version of a list, whatever its state; `None` for an empty list or if one does not parse.
pub fn highest<V: Expirable>(versions: &[V]) -> Option<&V> {
    let mut highest: Option<(Version, &V)> = None;
    for entry in versions {
        let version = Version::parse(entry.version()).ok()?;
        if highest.as_ref().is_none_or(|(known, _)| version > *known) {
            highest = Some((version, entry));
        }
    }
    highest.map(|(_, entry)| entry)
}

/// The highest version that passes; entries that do not parse are left out, of equal ones the first wins.
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

/// The Kubernetes version that defaulting takes for a wanted major and minor: the highest that is neither expired
/// (see [`expired_before`]) nor a preview; deprecated ones count like all others.
pub fn default_kubernetes(
    versions: &[ExpirableVersion],
    major: Option<u64>,
    minor: Option<u64>,
    now: DateTime<Utc>,
) -> Option<&ExpirableVersion> {
    highest_where(versions.iter(), |entry, version| {
        !expired_before(entry, now) && !entry.is_preview() && matches(version, major, minor)
    })
}

/// The machine image version that defaulting takes among the candidates for a wanted major and minor.
///
/// Previews are left out, expired ones are not. If one of the rest is classified and not `deprecated`, the highest of
/// those wins; otherwise the highest of all.
pub fn default_machine_image<'a>(
    candidates: &[&'a MachineImageVersion],
    major: Option<u64>,
    minor: Option<u64>,
) -> Option<&'a MachineImageVersion> {
    let fits = |entry: &MachineImageVersion, version: &Version| !entry.is_preview() && matches(version, major, minor);
    highest_where(candidates.iter().copied(), |entry, version| {
        fits(entry, version) && entry.classification().is_some() && !entry.is_deprecated()
    })
    .or_else(|| highest_where(candidates.iter().copied(), fits))
}

/// The Kubernetes version that is shown to users as the default: the highest supported one that is not expired, else
/// the highest unclassified one.
///
/// Never a preview and never a deprecated version, unlike what an empty `spec.kubernetes.version` may give.
pub fn shown_default(versions: &[ExpirableVersion], now: DateTime<Utc>) -> Option<&ExpirableVersion> {
    [State::Supported, State::Unclassified].into_iter().find_map(|wanted| {
        highest_where(versions.iter(), |entry, _| {
            !expired_before(entry, now) && entry.classification() == classification_of(wanted)
        })
    })
}

fn classification_of(state: State) -> Option<&'static str> {
    match state {
        State::Preview => Some(classification::PREVIEW),
        State::Supported => Some(classification::SUPPORTED),
        State::Deprecated => Some(classification::DEPRECATED),
        State::Unclassified | State::Expired => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const NOW: &str = "2025-06-15T12:00:00Z";

    pub(in crate::versions) fn now() -> DateTime<Utc> {
        NOW.parse().expect("RFC 3339")
    }

    /// `1.31.2`, followed by marks: `s` supported, `~` deprecated, `?` preview, `!` expires now, `-` expired a second
    /// ago.
    pub(in crate::versions) fn entries(list: &str) -> Vec<ExpirableVersion> {
        list.split_whitespace()
            .map(|text| {
                let version = text.trim_end_matches(['s', '~', '?', '!', '-']);
                let marks = &text[version.len()..];
                let classification = [('s', "supported"), ('~', "deprecated"), ('?', "preview")]
                    .into_iter()
                    .find_map(|(mark, name)| marks.contains(mark).then(|| name.to_owned()));
                let expires = if marks.contains('!') {
                    Some(now())
                } else {
                    marks.contains('-').then(|| now() - chrono::TimeDelta::seconds(1))
                };
                ExpirableVersion {
                    version: version.to_owned(),
                    expiration_date: expires.map(Into::into),
                    classification,
                }
            })
            .collect()
    }

    /// What is offered, what the empty version gives, what is shown as the default.
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
    fn default_is_the_highest_and_what_is_shown_is_rather_supported() {
        for row in DEFAULTS.lines().filter(|row| !row.is_empty()) {
            let (offered, expected) = row.split_once("=>").expect("row has an arrow");
            let offered = entries(offered);
            let text = |found: Option<&ExpirableVersion>| found.map_or("none", |found| &found.version).to_owned();
            let taken = text(default_kubernetes(&offered, None, None, now()));
            let shown = text(shown_default(&offered, now()));
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!([taken.as_str(), shown.as_str()], expected[..], "row: {row}");
        }
    }

    #[test]
    fn wanted_major_and_minor_narrow_the_default() {
        let offered = entries("2.0.1 1.32.3 1.31.9 1.31.10");
        let default =
            |major, minor| default_kubernetes(&offered, major, minor, now()).map(|found| found.version.as_str());
        assert_eq!(default(Some(1), None), Some("1.32.3"));
        assert_eq!(default(Some(1), Some(31)), Some("1.31.10"));
        assert_eq!(default(None, Some(31)), Some("1.31.10"));
        assert_eq!(default(Some(1), Some(30)), None);
    }

    #[test]
    fn the_instant_of_the_expiration_date_counts_differently_from_place_to_place() {
        let at = &entries("1.0.0!")[0];
        let after = &entries("1.0.0-")[0];
        let never = &entries("1.0.0")[0];
        let judge =
            |version| (is_expired(version, now()), expired_before(version, now()), is_active_image(version, now()));
        assert_eq!(judge(at), (true, false, false));
        assert_eq!(judge(after), (true, true, false));
        assert_eq!(judge(never), (false, false, true));
        assert_eq!(state(&entries("1.0.0?!")[0], now()), State::Expired);
    }
}
