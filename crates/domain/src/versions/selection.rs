// SPDX-License-Identifier: Apache-2.0
//! Expiry, logical state, and the selections of maintenance and defaulting among the versions of a CloudProfile.

use std::fmt;

use api::core::{ExpirableVersion, MachineImageVersion};
use chrono::{DateTime, Utc};

use super::{ParseError, Version};

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
        self.classification() == Some("preview")
    }

    /// Whether the classification is `deprecated`.
    fn is_deprecated(&self) -> bool {
        self.classification() == Some("deprecated")
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
            Self::Preview => "preview",
            Self::Supported => "supported",
            Self::Deprecated => "deprecated",
            Self::Expired => "expired",
        })
    }
}

/// The logical state of a version; the instant of the expiration date counts as expired.
pub fn state(version: &impl Expirable, now: DateTime<Utc>) -> State {
    if is_expired(version, now) {
        return State::Expired;
    }
    match version.classification() {
        Some("preview") => State::Preview,
        Some("supported") => State::Supported,
        Some("deprecated") => State::Deprecated,
        _ => State::Unclassified,
    }
}

/// What a selection among versions found: nothing, or one of them. The error is a sentence of upstream's.
pub type Selection<'a, V> = Result<Option<&'a V>, String>;

fn parse(text: &str) -> Result<Version, String> {
    text.parse().map_err(|error: ParseError| error.to_string())
}

/// The highest version that passes; previews never do. Of equal ones the first wins; 0.0.0 never wins.
fn latest<V: Expirable>(versions: &[V], passes: impl Fn(&V, &Version) -> Result<bool, String>) -> Selection<'_, V> {
    let mut highest = Version::default();
    let mut found = None;
    for entry in versions.iter().filter(|entry| !entry.is_preview()) {
        let version = parse(entry.version())
            .map_err(|error| format!("error while parsing version '{}': {error}", entry.version()))?;
        if passes(entry, &version)? && version > highest {
            highest = version;
            found = Some(entry);
        }
    }
    Ok(found)
}

/// The highest version above `current` that is not expired and fits; deprecated ones only if there is no other.
fn automatic<'a, V: Expirable>(
    versions: &'a [V],
    current: &str,
    now: DateTime<Utc>,
    fits: impl Fn(&Version, &Version) -> Result<bool, String>,
) -> Selection<'a, V> {
    let current = parse(current)?;
    let passes =
        |entry: &V, version: &Version| Ok(!is_expired(entry, now) && *version > current && fits(version, &current)?);
    let preferred = latest(versions, |entry, version| Ok(!entry.is_deprecated() && passes(entry, version)?))?;
    if preferred.is_some() { Ok(preferred) } else { latest(versions, passes) }
}

/// The highest patch of the current minor (of the same release numbers, also a later pre-release).
pub fn patch_update<'a, V: Expirable>(versions: &'a [V], current: &str, now: DateTime<Utc>) -> Selection<'a, V> {
    automatic(versions, current, now, |version, current| Ok(is_patch_of(version, current)))
}

/// Whether a version is of the same minor as another and not lower, both without pre-release and metadata: what the
/// operator `~` says of three numbers. `~0.0.0` takes everything.
fn is_patch_of(version: &Version, current: &Version) -> bool {
    let (version, current) = (version.release(), current.release());
    let is_of_minor = (version.major, version.minor) == (current.major, current.minor);
    current == Version::new(0, 0, 0) || (is_of_minor && version >= current)
}

/// A higher patch of the current minor if there is one, else the highest minor of the current major.
pub fn minor_update<'a, V: Expirable>(versions: &'a [V], current: &str, now: DateTime<Utc>) -> Selection<'a, V> {
    match patch_update(versions, current, now)? {
        Some(version) => Ok(Some(version)),
        None => automatic(versions, current, now, |version, current| Ok(version.major == current.major)),
    }
}

/// A higher patch of the current minor if there is one, else the highest version of all.
pub fn major_update<'a, V: Expirable>(versions: &'a [V], current: &str, now: DateTime<Utc>) -> Selection<'a, V> {
    match patch_update(versions, current, now)? {
        Some(version) => Ok(Some(version)),
        None => automatic(versions, current, now, |_, _| Ok(true)),
    }
}

/// The highest version of exactly the next minor, rather one that is not expired; deprecation does not matter.
pub fn force_to_consecutive_minor<'a, V: Expirable>(
    versions: &'a [V],
    current: &str,
    now: DateTime<Utc>,
) -> Selection<'a, V> {
    let current = parse(current)?;
    let next =
        |version: &Version| version.major == current.major && current.minor.checked_add(1) == Some(version.minor);
    match latest(versions, |entry, version| Ok(!is_expired(entry, now) && next(version)))? {
        Some(version) => Ok(Some(version)),
        None => latest(versions, |_, version| Ok(next(version))),
    }
}

/// The highest version of the next minor that the list has.
///
/// If that minor, or one that was left out on the way, offers only expired versions, an expired one is taken.
pub fn force_to_next_minor<'a, V: Expirable>(versions: &'a [V], current: &str, now: DateTime<Utc>) -> Selection<'a, V> {
    let current = parse(current)?;
    force_to_next(
        versions,
        current.minor,
        now,
        |version| version.minor,
        |version| version.major == current.major && version.minor > current.minor,
    )
}

/// The highest version of the next major that the list has; see [`force_to_next_minor`] for expired ones.
pub fn force_to_next_major<'a, V: Expirable>(versions: &'a [V], current: &str, now: DateTime<Utc>) -> Selection<'a, V> {
    let current = parse(current)?;
    force_to_next(versions, current.major, now, |version| version.major, |version| version.major > current.major)
}

fn force_to_next<'a, V: Expirable>(
    versions: &'a [V],
    current: u64,
    now: DateTime<Utc>,
    component: impl Fn(&Version) -> u64,
    fits: impl Fn(&Version) -> bool,
) -> Selection<'a, V> {
    let mut sorted: Vec<(Version, &V)> =
        versions.iter().map(|entry| Ok((parse(entry.version())?, entry))).collect::<Result<_, String>>()?;
    sorted.sort_by(|(left, _), (right, _)| left.cmp(right));

    // The smallest component above the current one is looked for among all entries that are walked over, also those
    // that do not qualify: it tells whether a step was left out.
    let scan = |expired_allowed: bool| {
        let mut next_seen: Option<u64> = None;
        let mut found: Option<(u64, &'a V)> = None;
        for (version, entry) in &sorted {
            let step = component(version);
            if step > current && next_seen.is_none_or(|seen| step < seen) {
                next_seen = Some(step);
            }
            if entry.is_preview() || !fits(version) || (!expired_allowed && is_expired(*entry, now)) {
                continue;
            }
            if found.is_some_and(|(highest, _)| step > highest) {
                break;
            }
            found = Some((step, entry));
        }
        (found, next_seen)
    };
    let (found, next_seen) = scan(false);
    let skipped = found.is_none_or(|(step, _)| next_seen.is_some_and(|seen| step > seen));
    let found = if skipped { scan(true).0 } else { found };
    Ok(found.map(|(_, entry)| entry))
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
        State::Preview => Some("preview"),
        State::Supported => Some("supported"),
        State::Deprecated => Some("deprecated"),
        State::Unclassified | State::Expired => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2025-06-15T12:00:00Z";

    fn now() -> DateTime<Utc> {
        NOW.parse().expect("RFC 3339")
    }

    /// `1.31.2`, followed by marks: `s` supported, `~` deprecated, `?` preview, `!` expires now, `-` expired a second
    /// ago.
    fn entries(list: &str) -> Vec<ExpirableVersion> {
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

    #[test]
    fn skipped_steps_are_noticed_only_up_to_where_the_walk_ends() {
        // Minor 5 of major 2 lies behind the end of the walk at 1.7.1 here, and so does not reopen expired versions.
        let offered = entries("2.5.0 1.7.1 1.6.3- 1.6.2 1.4.9-");
        let found = force_to_next_minor(&offered, "1.4.9", now()).expect("versions parse").map(|found| &*found.version);
        assert_eq!(found, Some("1.6.2"));
    }

    #[test]
    fn patches_are_told_as_the_operator_tilde_tells_them() {
        use crate::versions::{Operator, compare_versions};
        let texts =
            ["0.0.0", "0.0.1", "0.1.0", "1.31.1", "1.31.2-rc.1", "1.31.2", "1.31.2+b", "1.31.10", "1.32.0", "2.31.2"];
        for version in texts {
            for current in texts {
                let parsed = |text: &str| text.parse::<Version>().expect("version");
                let told = compare_versions(version, Operator::Tilde, current).expect("both parse");
                assert_eq!(is_patch_of(&parsed(version), &parsed(current)), told, "{version} of {current}");
            }
        }
    }

    #[test]
    fn unparsable_entries_stop_a_selection() {
        let offered = entries("1.31.2 1.31.x");
        let error = patch_update(&offered, "1.31.1", now()).unwrap_err();
        assert_eq!(error, "error while parsing version '1.31.x': Invalid Semantic Version");
    }
}
