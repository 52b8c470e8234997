// SPDX-License-Identifier: Apache-2.0
//! Selection of a version of a CloudProfile by maintenance, and the reasons against the others.
//!
//! A strategy is a list of rounds. Each round has a scope and states whether it accepts deprecated and expired versions;
//! the first round with a result decides. The reason against a version follows from the same rounds, see
//! [`Choice::reason`].
//!
//! | strategy | automatic | then, if forced |
//! | --- | --- | --- |
//! | Kubernetes | patches of the minor | exactly the next minor |
//! | `patch` | patches of the minor | the next minor that has a version that is no preview |
//! | `minor` | patches of the minor, the major | the next major that has a version that is no preview |
//! | `major` | patches of the minor, all | nothing |
//!
//! Automatic rounds come in pairs, without deprecated versions and with them; forced ones without expired versions and
//! with them.

use super::{Expirable, Moment, ParseError, Version};

/// Result of a selection among versions: at most one. The error is a sentence of upstream's.
pub type Selection<'a, V> = Result<Option<&'a V>, String>;

/// Strategy for updates of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Strategy for Kubernetes versions.
    Kubernetes,
    /// Strategy `patch` of machine images.
    Patch,
    /// Strategy `minor` of machine images.
    Minor,
    /// Strategy `major` of machine images.
    Major,
}

impl Strategy {
    /// Returns the strategy of a machine image; unknown names are `major`.
    pub fn of_image(name: Option<&str>) -> Self {
        match name {
            Some("patch") => Self::Patch,
            Some("minor") => Self::Minor,
            _ => Self::Major,
        }
    }

    fn rounds(self, is_forced: bool) -> Vec<Round> {
        let automatic = match self {
            Self::Kubernetes | Self::Patch => &[Scope::Patches][..],
            Self::Minor => &[Scope::Patches, Scope::Major],
            Self::Major => &[Scope::Patches, Scope::All],
        };
        let forced = match self {
            Self::Kubernetes => &[Scope::NextMinor][..],
            Self::Patch => &[Scope::LaterMinors],
            Self::Minor => &[Scope::LaterMajors],
            Self::Major => &[],
        };
        let mut rounds: Vec<Round> = automatic.iter().copied().flat_map(Round::automatic).collect();
        if is_forced {
            rounds.extend(forced.iter().copied().flat_map(Round::forced));
        }
        rounds
    }
}

/// Versions that a round considers, relative to the one in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Higher ones of the same minor (of the same release numbers, also a later pre-release).
    Patches,
    /// Higher ones of the same major.
    Major,
    /// All higher ones.
    All,
    /// The minor that follows, of the same major.
    NextMinor,
    /// Higher minors of the same major; the nearest one with a result decides.
    LaterMinors,
    /// Higher majors; the nearest one with a result decides.
    LaterMajors,
}

impl Scope {
    fn contains(self, version: &Version, current: &Version) -> bool {
        let is_of_major = version.major == current.major;
        match self {
            Self::Patches => version > current && is_patch_of(version, current),
            Self::Major => version > current && is_of_major,
            Self::All => version > current,
            Self::NextMinor => is_of_major && current.minor.checked_add(1) == Some(version.minor),
            Self::LaterMinors => is_of_major && version.minor > current.minor,
            Self::LaterMajors => version.major > current.major,
        }
    }

    /// Returns the number of a version's step; `None` for scopes that consider all steps.
    const fn step(self, version: &Version) -> Option<u64> {
        match self {
            Self::LaterMinors => Some(version.minor),
            Self::LaterMajors => Some(version.major),
            _ => None,
        }
    }
}

/// True if a version is of the same minor as another and not lower, both without pre-release and metadata: the meaning of
/// operator `~` with three numbers. `~0.0.0` accepts every version.
fn is_patch_of(version: &Version, current: &Version) -> bool {
    let (version, current) = (version.release(), current.release());
    let is_of_minor = (version.major, version.minor) == (current.major, current.minor);
    current == Version::new(0, 0, 0) || (is_of_minor && version >= current)
}

/// One pass over all versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    scope: Scope,
    takes_deprecated: bool,
    takes_expired: bool,
}

impl Round {
    fn automatic(scope: Scope) -> [Self; 2] {
        [false, true].map(|takes_deprecated| Self { scope, takes_deprecated, takes_expired: false })
    }

    fn forced(scope: Scope) -> [Self; 2] {
        [false, true].map(|takes_expired| Self { scope, takes_deprecated: true, takes_expired })
    }

    const fn is_automatic(self) -> bool {
        matches!(self.scope, Scope::Patches | Scope::Major | Scope::All)
    }

    /// Returns the reason for which the round refuses a version in its scope; `None` if it accepts it.
    fn obstacle(self, entry: &impl Expirable, at: Moment) -> Option<Reason> {
        if at.is_preview(entry) {
            Some(Reason::Preview)
        } else if !self.takes_expired && at.is_expired(entry) {
            Some(Reason::Expired)
        } else if !self.takes_deprecated && at.is_deprecated(entry) {
            Some(Reason::Deprecated)
        } else {
            None
        }
    }

    fn takes(self, entry: &impl Expirable, version: &Version, current: &Version, at: Moment) -> bool {
        self.scope.contains(version, current) && self.obstacle(entry, at).is_none()
    }
}

/// Reason for which a version is not selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The version is not above the one in use.
    NotHigher,
    /// The version is a preview.
    Preview,
    /// The version has expired.
    Expired,
    /// The version is deprecated, and the selected one is not.
    Deprecated,
    /// The selected version is higher.
    Lower,
    /// The version is of a later minor than the selected one, and the nearest takes precedence.
    LaterMinor,
    /// The version is of a later major than the selected one, and the nearest takes precedence.
    LaterMajor,
    /// The version is of another minor, and the selected one is a patch of the minor in use.
    PatchFirst,
    /// The version is of another major, and the selected one is of the major in use.
    MajorFirst,
    /// The version is of a minor that the strategy cannot reach.
    OtherMinor,
    /// The version is of a major that the strategy cannot reach.
    OtherMajor,
    /// The version is not of the next minor.
    SkipsMinor,
}

/// Result of a selection, with the rounds that led to it.
#[derive(Clone, Debug)]
pub struct Choice<'a, V> {
    /// The selected version; `None` if there is none.
    pub entry: Option<&'a V>,
    strategy: Strategy,
    current: Version,
    /// Rounds that were executed, in their order; the last one decided.
    held: Vec<Round>,
    /// Rounds that would have followed.
    left: Vec<Round>,
    at: Moment,
}

impl<V: Expirable> Choice<'_, V> {
    /// Returns the reason for which a version of the list is not selected; `None` for the selected one, and for invalid
    /// versions.
    pub fn reason(&self, entry: &V) -> Option<Reason> {
        let version = Version::parse(entry.version()).ok()?;
        if self.entry.is_some_and(|chosen| chosen.version() == entry.version()) {
            return None;
        }
        if version <= self.current {
            return Some(Reason::NotHigher);
        }
        if self.at.is_preview(entry) {
            return Some(Reason::Preview);
        }
        // The last round that considered the version decides.
        let looked = self.held.iter().rev().find(|round| round.scope.contains(&version, &self.current));
        Some(match looked.map(|round| (round, round.obstacle(entry, self.at))) {
            Some((_, Some(obstacle))) => obstacle,
            Some((round, None)) => self.beaten(*round, &version),
            None => self.out_of_scope(&version),
        })
    }

    /// Returns the reason for which a version that the deciding round accepts was not selected.
    fn beaten(&self, round: Round, version: &Version) -> Reason {
        let chosen = self.entry.and_then(|chosen| Version::parse(chosen.version()).ok());
        let steps = chosen.map(|chosen| (round.scope.step(version), round.scope.step(&chosen)));
        match (steps, round.scope) {
            (Some((step, chosen)), Scope::LaterMinors) if step > chosen => Reason::LaterMinor,
            (Some((step, chosen)), Scope::LaterMajors) if step > chosen => Reason::LaterMajor,
            _ => Reason::Lower,
        }
    }

    fn out_of_scope(&self, version: &Version) -> Reason {
        let is_of_major = version.major == self.current.major;
        let decided = self.held.last().filter(|_| self.entry.is_some());
        let comes_later = self.left.iter().any(|round| round.scope.contains(version, &self.current));
        match decided.map(|round| round.scope) {
            Some(Scope::Patches) if comes_later => return Reason::PatchFirst,
            Some(Scope::Major) if comes_later => return Reason::MajorFirst,
            _ => {}
        }
        let is_forced = self.held.iter().chain(&self.left).any(|round| !round.is_automatic());
        match self.strategy {
            Strategy::Kubernetes if is_of_major && is_forced => Reason::SkipsMinor,
            Strategy::Kubernetes | Strategy::Patch if is_of_major => Reason::OtherMinor,
            _ => Reason::OtherMajor,
        }
    }
}

/// Error that ended a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// True if it occurred in a round of automatic updates.
    pub is_automatic: bool,
    /// Upstream's sentence.
    pub text: String,
}

/// Selects the version from a list by a strategy.
///
/// # Errors
/// One of the compared versions is invalid.
pub fn choose<'a, V: Expirable>(
    versions: &'a [V],
    current: &str,
    strategy: Strategy,
    is_forced: bool,
    at: Moment,
) -> Result<Choice<'a, V>, Broken> {
    let automatic = |text: String| Broken { is_automatic: true, text };
    let current = parse(current).map_err(automatic)?;
    let rounds = strategy.rounds(is_forced);
    let mut entry = None;
    let mut held = 0;
    while entry.is_none() && held < rounds.len() {
        let round = rounds[held];
        let broken = |text: String| Broken { is_automatic: round.is_automatic(), text };
        if round.scope.step(&current).is_some() {
            let (found, is_first) = nearest(versions, round.scope, &current, at).map_err(broken)?;
            entry = found;
            held = if is_first { held + 1 } else { rounds.len() };
        } else {
            entry = latest(versions, at, |entry, version| round.takes(entry, version, &current, at)).map_err(broken)?;
            held += 1;
        }
    }
    let (held, left) = rounds.split_at(held);
    Ok(Choice { entry, strategy, current, held: held.to_vec(), left: left.to_vec(), at })
}

fn parse(text: &str) -> Result<Version, String> {
    text.parse().map_err(|error: ParseError| error.to_string())
}

/// Returns the highest version that passes; never a preview. The first of equal ones is returned; 0.0.0 never.
fn latest<V: Expirable>(versions: &[V], at: Moment, passes: impl Fn(&V, &Version) -> bool) -> Selection<'_, V> {
    let mut highest = Version::default();
    let mut found = None;
    for entry in versions.iter().filter(|entry| !at.is_preview(*entry)) {
        let version = parse(entry.version())
            .map_err(|error| format!("error while parsing version '{}': {error}", entry.version()))?;
        if passes(entry, &version) && version > highest {
            highest = version;
            found = Some(entry);
        }
    }
    Ok(found)
}

/// Returns the highest version of the nearest step in the list, and whether the round without expired versions found it.
///
/// If that step, or one that was skipped on the way, offers only expired versions, an expired one is returned.
fn nearest<'a, V: Expirable>(
    versions: &'a [V],
    scope: Scope,
    current: &Version,
    at: Moment,
) -> Result<(Option<&'a V>, bool), String> {
    let mut sorted: Vec<(Version, &V)> =
        versions.iter().map(|entry| Ok((parse(entry.version())?, entry))).collect::<Result<_, String>>()?;
    sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
    let present = scope.step(current);

    // The smallest step above the current one is determined from all entries that are visited, including those that do
    // not qualify: it shows whether a step was skipped.
    let scan = |round: Round| {
        let mut next_seen: Option<u64> = None;
        let mut found: Option<(u64, &'a V)> = None;
        for (version, entry) in &sorted {
            let step = scope.step(version).unwrap_or_default();
            if Some(step) > present && next_seen.is_none_or(|seen| step < seen) {
                next_seen = Some(step);
            }
            if !round.takes(*entry, version, current, at) {
                continue;
            }
            if found.is_some_and(|(highest, _)| step > highest) {
                break;
            }
            found = Some((step, entry));
        }
        (found, next_seen)
    };
    let [without_expired, with_expired] = Round::forced(scope);
    let (found, next_seen) = scan(without_expired);
    match found {
        Some((step, entry)) if next_seen.is_none_or(|seen| step <= seen) => Ok((Some(entry), true)),
        _ => Ok((scan(with_expired).0.map(|(_, entry)| entry), false)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::selection::tests::{at, entries};
    use super::*;

    fn chosen(offered: &str, current: &str, strategy: Strategy, is_forced: bool) -> Option<String> {
        let offered = entries(offered);
        let choice = choose(&offered, current, strategy, is_forced, at()).expect("versions parse");
        choice.entry.map(|entry| entry.version.clone())
    }

    #[test]
    fn skipped_steps_are_noticed_up_to_the_walks_end() {
        // Minor 5 of major 2 is after the end of the loop at 1.7.1 here, and therefore does not allow expired versions again.
        let found = chosen("2.5.0 1.7.1 1.6.3- 1.6.2 1.4.9-", "1.4.9", Strategy::Patch, true);
        assert_eq!(found.as_deref(), Some("1.6.2"));
    }

    #[test]
    fn patches_are_recognized_as_by_the_operator_tilde() {
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
        let broken = choose(&offered, "1.31.1", Strategy::Kubernetes, false, at()).expect_err("is no version");
        assert_eq!(broken.text, "error while parsing version '1.31.x': Invalid Semantic Version");
        assert!(broken.is_automatic);
        let offered = entries("1.0.0- 1.1.x?");
        let broken = choose(&offered, "1.0.0", Strategy::Patch, true, at()).expect_err("is no version");
        assert_eq!((broken.is_automatic, broken.text.as_str()), (false, "Invalid Semantic Version"));
    }

    /// Strategy, `!` if forced, the version in use, offered versions; the selected one, and the reason against each higher one.
    /// Marks: `s` supported, `~` deprecated, `?` preview, `-` expired.
    /// Source: docs/usage/shoot-operations/shoot_versions.md, "Automatic Version Upgrades".
    const REASONS: &str = "
# Supported and unclassified versions come before deprecated ones; of those the highest.
kubernetes  1.31.1 | 1.31.2~ 1.31.3 1.31.4? 1.31.5- 1.32.0 => 1.31.3 | 1.31.2 Deprecated 1.31.4 Preview 1.31.5 Expired 1.32.0 OtherMinor
kubernetes  1.31.1 | 1.31.2~ 1.31.3~ 1.31.4-~ 2.0.0 => 1.31.3 | 1.31.2 Lower 1.31.4 Expired 2.0.0 OtherMajor
kubernetes  1.31.1 | 1.31.2 1.31.3s => 1.31.3 | 1.31.2 Lower
kubernetes  1.31.1 | 1.31.2? 1.31.3- 1.32.0 => none | 1.31.2 Preview 1.31.3 Expired 1.32.0 OtherMinor
kubernetes! 1.31.1 | 1.31.2 1.32.1 1.33.0 => 1.31.2 | 1.32.1 PatchFirst 1.33.0 SkipsMinor
kubernetes! 1.31.1 | 1.31.2- 1.32.0~ 1.32.1? 1.32.2- 1.33.0 => 1.32.0 | 1.31.2 Expired 1.32.1 Preview 1.32.2 Expired 1.33.0 SkipsMinor
kubernetes! 1.31.1 | 1.32.0- 1.32.1- 1.32.2? 2.0.0 => 1.32.1 | 1.32.0 Lower 1.32.2 Preview 2.0.0 OtherMajor
kubernetes! 1.31.1 | 1.31.2- 1.32.0? 1.33.0 => none | 1.31.2 Expired 1.32.0 Preview 1.33.0 SkipsMinor
# Patches only; by force the next minor that has a version that is no preview.
patch       1.0.0 | 1.0.1~ 1.0.2 1.1.0 2.0.0 => 1.0.2 | 1.0.1 Deprecated 1.1.0 OtherMinor 2.0.0 OtherMajor
patch!      1.0.0 | 1.0.1~ 1.1.0 2.0.0 => 1.0.1 | 1.1.0 PatchFirst 2.0.0 OtherMajor
patch!      1.0.0 | 1.0.1- 1.1.0? 1.2.0~ 1.2.1 1.3.0 2.0.0 => 1.2.1 | 1.0.1 Expired 1.1.0 Preview 1.2.0 Lower 1.3.0 LaterMinor 2.0.0 OtherMajor
patch!      1.0.0 | 1.1.0- 1.1.1- 1.2.0 => 1.1.1 | 1.1.0 Lower 1.2.0 LaterMinor
patch!      1.0.0 | 1.1.0 1.1.1- 1.2.0 => 1.1.0 | 1.1.1 Expired 1.2.0 LaterMinor
# Patches, then the major; by force the next major that has a version that is no preview.
minor       1.0.0 | 1.0.1~ 1.1.0 2.0.0 => 1.0.1 | 1.1.0 PatchFirst 2.0.0 OtherMajor
minor       1.0.0 | 1.1.0 1.2.0~ 1.3.0? 2.0.0 => 1.1.0 | 1.2.0 Deprecated 1.3.0 Preview 2.0.0 OtherMajor
minor       1.0.0 | 1.0.1- 1.1.0~ 1.2.0~ => 1.2.0 | 1.0.1 Expired 1.1.0 Lower
minor!      1.0.0 | 1.0.1 1.1.0 2.0.0 => 1.0.1 | 1.1.0 PatchFirst 2.0.0 PatchFirst
minor!      1.0.0 | 1.1.0 2.0.0 => 1.1.0 | 2.0.0 MajorFirst
minor!      1.0.0 | 1.1.0- 2.0.0? 3.0.0 3.1.0~ 4.0.0 => 3.1.0 | 1.1.0 Expired 2.0.0 Preview 3.0.0 Lower 4.0.0 LaterMajor
minor!      1.0.0 | 2.0.0- 3.0.0 => 2.0.0 | 3.0.0 LaterMajor
# Patches, then all; by force nothing more.
major       1.0.0 | 1.0.1~ 2.0.0 => 1.0.1 | 2.0.0 PatchFirst
major       1.0.0 | 1.1.0~ 2.0.0 3.0.0~ 4.0.0? => 2.0.0 | 1.1.0 Deprecated 3.0.0 Deprecated 4.0.0 Preview
major       1.0.0 | 1.1.0 2.0.0 => 2.0.0 | 1.1.0 Lower
major!      1.0.0 | 1.0.1- 2.0.0- 3.0.0? => none | 1.0.1 Expired 2.0.0 Expired 3.0.0 Preview
major!      1.0.0 | 1.1.0~ 2.0.0~ => 2.0.0 | 1.1.0 Lower
";

    #[test]
    fn the_deciding_round_has_reasons_against_other_versions() {
        for row in REASONS.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let (head, offered) = given.split_once('|').expect("row has versions");
            let mut head = head.split_whitespace();
            let (name, current) = (head.next().expect("a strategy"), head.next().expect("a version"));
            let strategy = match name.trim_end_matches('!') {
                "kubernetes" => Strategy::Kubernetes,
                name => Strategy::of_image(Some(name)),
            };
            // The version in use is on the list as well, as expired if the update is forced.
            let offered = entries(&format!("{offered} {current}{}", if name.ends_with('!') { "-" } else { "" }));
            let choice = choose(&offered, current, strategy, name.ends_with('!'), at()).expect("versions parse");
            let mut told = vec![choice.entry.map_or("none", |entry| &entry.version).to_owned(), "|".to_owned()];
            for entry in &offered {
                if let Some(reason) = choice.reason(entry).filter(|reason| *reason != Reason::NotHigher) {
                    told.push(format!("{} {reason:?}", entry.version));
                }
            }
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!(told.join(" "), expected.join(" "), "row: {row}");
        }
    }
}
