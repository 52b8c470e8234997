// SPDX-License-Identifier: Apache-2.0
//! State of a version at an instant, by the rules of a release.
//!
//! | releases | rule |
//! | --- | --- |
//! | until 1.120 | callers differ: for maintenance the instant of the expiration date is expired, for defaults and the admission of Kubernetes versions it is not, the admission of machine images accepts neither state at that instant; `preview` and `deprecated` are classifications, regardless of the date |
//! | 1.121 to 1.136 | expired from the instant of the expiration date on, else the classification, else supported |
//! | since 1.137 | the last stage that began strictly before the instant, `unavailable` before the first one; classification and expiration date represent two stages |
//!
//! Source: pkg/api/core/v1beta1/helper/cloudprofile.go (pkg/apis/core/v1beta1/helper until v1.136) and the places that call it,
//! v1.120.0 to v1.149.0.

use std::fmt;

use api::constants::classification;
use api::core::{ExpirableVersion, LifecycleStage, MachineImageVersion};
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};

use crate::release::{Release, Releases};

/// One function determines the state of a version for all callers.
const ONE_STATE: Releases = Releases::since(121);

/// Versions have stages, and each stage begins strictly after its start.
const STAGES: Releases = Releases::since(137);

/// A version with a life cycle: of Kubernetes or of a machine image.
pub trait Expirable {
    /// Returns the version.
    fn version(&self) -> &str;
    /// Returns the expiration date; `None` if the version does not expire or has stages.
    fn expiration_date(&self) -> Option<DateTime<Utc>>;
    /// Returns `preview`, `supported`, `deprecated` or nothing.
    fn classification(&self) -> Option<&str>;
    /// Returns the stages of the life cycle; empty for versions with classification and expiration date.
    fn stages(&self) -> &[LifecycleStage];
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

            fn stages(&self) -> &[LifecycleStage] {
                &self.lifecycle
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

    fn stages(&self) -> &[LifecycleStage] {
        (**self).stages()
    }
}

/// State of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The version has not reached its first stage and cannot be used. Since 1.137.
    Unavailable,
    /// A preview: never a target of maintenance or of a default.
    Preview,
    /// No classification: eligible everywhere. Until 1.120; later releases treat it as supported.
    Unclassified,
    /// Recommended version.
    Supported,
    /// The version can be used; it is a target only if there is no other.
    Deprecated,
    /// The version has expired, regardless of its classification.
    Expired,
}

impl State {
    /// True unless the version is expired or unavailable.
    pub const fn is_active(self) -> bool {
        !matches!(self, Self::Expired | Self::Unavailable)
    }

    /// Returns the state of a classification; [`State::Unclassified`] for an unknown one.
    fn of_classification(text: Option<&str>) -> Self {
        match text {
            Some(classification::UNAVAILABLE) => Self::Unavailable,
            Some(classification::PREVIEW) => Self::Preview,
            Some(classification::SUPPORTED) => Self::Supported,
            Some(classification::DEPRECATED) => Self::Deprecated,
            Some(classification::EXPIRED) => Self::Expired,
            _ => Self::Unclassified,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable => classification::UNAVAILABLE,
            Self::Preview => classification::PREVIEW,
            Self::Unclassified => "unclassified",
            Self::Supported => classification::SUPPORTED,
            Self::Deprecated => classification::DEPRECATED,
            Self::Expired => classification::EXPIRED,
        })
    }
}

/// An instant, and the release whose rules determine the state of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The instant.
    pub now: DateTime<Utc>,
    /// Release of the component that determines the state.
    pub release: Release,
}

impl Moment {
    /// Creates an instant with the rules of a release.
    pub const fn new(now: DateTime<Utc>, release: Release) -> Self {
        Self { now, release }
    }

    /// Returns another instant with the same rules.
    pub const fn at(self, now: DateTime<Utc>) -> Self {
        Self { now, ..self }
    }

    /// Returns the state of a version. Until 1.120, where callers differ, the instant of the expiration date counts as expired.
    pub fn state(self, version: &impl Expirable) -> State {
        if STAGES.contain(self.release) {
            return self.stage(version);
        }
        if version.expiration_date().is_some_and(|date| self.now >= date) {
            return State::Expired;
        }
        match State::of_classification(version.classification()) {
            State::Unclassified if ONE_STATE.contain(self.release) => State::Supported,
            // Not allowed by validation of these releases.
            State::Expired | State::Unavailable => State::Unclassified,
            state => state,
        }
    }

    /// Returns the last stage that began before the instant.
    fn stage(self, version: &impl Expirable) -> State {
        let mut state = State::Unavailable;
        for (since, stage) in stages(version) {
            if since.is_none_or(|since| since < self.now) {
                state = stage;
            }
        }
        state
    }

    /// True if maintenance must replace a version.
    pub fn is_expired(self, version: &impl Expirable) -> bool {
        self.state(version) == State::Expired
    }

    /// True if a version is expired for the admission of CloudProfiles and Kubernetes versions: until 1.120 only after
    /// the instant of its expiration date.
    pub fn is_expired_for_admission(self, version: &impl Expirable) -> bool {
        if ONE_STATE.contain(self.release) {
            return self.is_expired(version);
        }
        version.expiration_date().is_some_and(|date| date < self.now)
    }

    /// True if a new Shoot or pool may use a Kubernetes version.
    pub fn is_active(self, version: &impl Expirable) -> bool {
        if ONE_STATE.contain(self.release) {
            return self.state(version).is_active();
        }
        !self.is_expired_for_admission(version)
    }

    /// True if a new pool may use a machine image version: until 1.120 only before the instant of its expiration date.
    pub fn is_active_image(self, version: &impl Expirable) -> bool {
        self.state(version).is_active()
    }

    /// True if a version is a preview for maintenance and defaults. Until 1.120 an expired version may be one, too.
    pub fn is_preview(self, version: &impl Expirable) -> bool {
        self.has(version, State::Preview)
    }

    /// True if a version is deprecated for maintenance and defaults. Until 1.120 an expired version may be, too.
    pub fn is_deprecated(self, version: &impl Expirable) -> bool {
        self.has(version, State::Deprecated)
    }

    pub(super) fn has(self, version: &impl Expirable, state: State) -> bool {
        if ONE_STATE.contain(self.release) {
            return self.state(version) == state;
        }
        State::of_classification(version.classification()) == state
    }

    /// Returns the first instant after this one at which the state of a version changes. Stages begin a nanosecond after
    /// their start.
    pub fn next_change(self, version: &impl Expirable) -> Option<DateTime<Utc>> {
        self.next_change_to(version, |_| true)
    }

    /// Returns the next change as [`Moment::next_change`], to a state that matches.
    pub fn next_change_to(self, version: &impl Expirable, fits: impl Fn(State) -> bool) -> Option<DateTime<Utc>> {
        let delay = chrono::TimeDelta::nanoseconds(STAGES.contain(self.release).into());
        let changes = self.changes(version).into_iter().filter(|(_, state)| fits(*state));
        changes.map(|(at, _)| at + delay).find(|at| *at > self.now)
    }

    /// Returns the instants at which the state of a version changes, and the new states, by time. The state before the
    /// first instant is that at the beginning of time.
    pub fn changes(self, version: &impl Expirable) -> Vec<(DateTime<Utc>, State)> {
        if !STAGES.contain(self.release) {
            return version.expiration_date().map(|date| (date, State::Expired)).into_iter().collect();
        }
        let mut starts: Vec<_> = stages(version).into_iter().filter_map(|(since, _)| since).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
            .into_iter()
            .map(|start| (start, self.at(start + chrono::TimeDelta::nanoseconds(1)).stage(version)))
            .collect()
    }

    /// Returns the instant from which a version is expired; `None` if it does not expire.
    pub fn expiration(self, version: &impl Expirable) -> Option<DateTime<Utc>> {
        let changes = self.changes(version).into_iter();
        changes.filter(|(_, state)| *state == State::Expired).map(|(at, _)| at).next_back()
    }
}

/// Returns starts and states of the stages of a version, in their order. Classification and expiration date represent two
/// of them; a version without both is supported.
fn stages(version: &impl Expirable) -> Vec<(Option<DateTime<Utc>>, State)> {
    let supported = |text| match State::of_classification(text) {
        State::Unclassified => State::Supported,
        state => state,
    };
    if version.stages().is_empty() {
        let expiration = version.expiration_date().map(|date| (Some(date), State::Expired));
        return [(None, supported(version.classification()))].into_iter().chain(expiration).collect();
    }
    let own = version.stages().iter();
    own.map(|stage| (stage.start_time.map(|start| start.0), supported(Some(stage.classification.as_str())))).collect()
}

/// Order of stages.
const ORDER: [&str; 4] =
    [classification::PREVIEW, classification::SUPPORTED, classification::DEPRECATED, classification::EXPIRED];

/// Returns the index of a classification in the order of stages; `None`, which sorts first, for an unknown one.
pub fn place(classification: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == classification)
}

/// Adds a stage at its position in the order, or changes its start.
pub fn set_stage(stages: &mut Vec<LifecycleStage>, classification: &str, start: DateTime<Utc>) {
    let start_time = Some(Time(start));
    if let Some(stage) = stages.iter_mut().find(|stage| stage.classification == classification) {
        stage.start_time = start_time;
        return;
    }
    let later = stages.iter().position(|stage| place(&stage.classification) > place(classification));
    let stage = LifecycleStage { classification: classification.to_owned(), start_time };
    stages.insert(later.unwrap_or(stages.len()), stage);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-06-15T12:00:00Z";

    /// Parses a version: classification, then an offset of its expiration date in seconds; or stages `CLASS@OFFSET`, a
    /// first one without an offset.
    fn version(text: &str) -> ExpirableVersion {
        let now: DateTime<Utc> = NOW.parse().expect("RFC 3339");
        let time = |offset: &str| Time(now + chrono::TimeDelta::seconds(offset.parse().expect("seconds")));
        let mut version = ExpirableVersion { version: "1.34.1".to_owned(), ..ExpirableVersion::default() };
        if let Some(stages) = text.strip_prefix("stages ") {
            version.lifecycle = stages
                .split(' ')
                .map(|stage| {
                    let (class, start) = stage.split_once('@').unwrap_or((stage, ""));
                    LifecycleStage {
                        classification: class.to_owned(),
                        start_time: (!start.is_empty()).then(|| time(start)),
                    }
                })
                .collect();
            return version;
        }
        let (class, offset) = text.split_once(' ').expect("two words");
        version.classification = (class != "-").then(|| class.to_owned());
        version.expiration_date = (offset != "-").then(|| time(offset));
        version
    }

    /// A version and its state at 1.120, 1.121, 1.136, 1.137 and 1.149.
    ///
    /// Source: pkg/api/core/v1beta1/helper/cloudprofile_test.go and behaviour by minor.
    const STATES: &str = "
- -               => unclassified supported supported supported supported
preview -         => preview preview preview preview preview
supported -       => supported supported supported supported supported
deprecated 1      => deprecated deprecated deprecated deprecated deprecated
deprecated 0      => expired expired expired deprecated deprecated
deprecated -1     => expired expired expired expired expired
preview -1        => expired expired expired expired expired
- 0               => expired expired expired supported supported
stages supported                                        => - - - supported supported
stages preview@1 supported@2                            => - - - unavailable unavailable
stages preview@0 supported@2                            => - - - unavailable unavailable
stages preview@-1 supported@2                           => - - - preview preview
stages preview supported@2                              => - - - preview preview
stages preview@-9 supported@-1 deprecated@0 expired@5   => - - - supported supported
stages preview@-9 supported@-5 deprecated@-1 expired@5  => - - - deprecated deprecated
stages preview@-9 supported@-5 deprecated@-2 expired@-1 => - - - expired expired
stages supported@-1 deprecated@-1                       => - - - deprecated deprecated
";

    #[test]
    fn states_of_versions_follow_the_release() {
        let now: DateTime<Utc> = NOW.parse().expect("RFC 3339");
        for row in STATES.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let given = version(given.trim());
            for (release, expected) in [120, 121, 136, 137, 149].into_iter().zip(expected.split_whitespace()) {
                if expected == "-" {
                    continue;
                }
                let state = Moment::new(now, Release(release)).state(&given);
                assert_eq!(state.to_string(), expected, "1.{release}: {row}");
            }
        }
    }

    /// A version, and at 1.120, 1.121 and 1.137: expired for maintenance, expired for admission, active, active image.
    const PLACES: &str = "
- 1   => nnyy nnyy nnyy
- 0   => ynyn yynn nnyy
- -1  => yynn yynn yynn
- -   => nnyy nnyy nnyy
stages supported@1   => ---- ---- nnnn
stages supported@-1  => ---- ---- nnyy
";

    #[test]
    fn the_expiration_instant_counts_by_place_and_release() {
        let now: DateTime<Utc> = NOW.parse().expect("RFC 3339");
        for row in PLACES.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let given = version(given.trim());
            for (release, expected) in [120, 121, 137].into_iter().zip(expected.split_whitespace()) {
                if expected == "----" {
                    continue;
                }
                let at = Moment::new(now, Release(release));
                let answers = [
                    at.is_expired(&given),
                    at.is_expired_for_admission(&given),
                    at.is_active(&given),
                    at.is_active_image(&given),
                ];
                let answers: String = answers.into_iter().map(|is| if is { 'y' } else { 'n' }).collect();
                assert_eq!(answers, expected, "1.{release}: {row}");
            }
        }
    }

    #[test]
    fn a_stage_is_moved_or_inserted_in_order() {
        let now: DateTime<Utc> = NOW.parse().expect("RFC 3339");
        for (stages, stage, expected) in [
            ("stages supported", "expired", "supported expired@7"),
            ("stages supported expired@9", "deprecated", "supported deprecated@7 expired@9"),
            ("stages supported@2", "preview", "preview@7 supported@2"),
            ("stages preview supported@2", "supported", "preview supported@7"),
            ("stages supported expired@9", "expired", "supported expired@7"),
        ] {
            let mut stages = version(stages).lifecycle;
            set_stage(&mut stages, stage, now + chrono::TimeDelta::seconds(7));
            let shown = |stage: &LifecycleStage| match &stage.start_time {
                Some(start) => format!("{}@{}", stage.classification, (start.0 - now).num_seconds()),
                None => stage.classification.clone(),
            };
            assert_eq!(stages.iter().map(shown).collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn changes_of_state_are_listed_in_order() {
        let now: DateTime<Utc> = NOW.parse().expect("RFC 3339");
        let list = |release, text: &str| {
            let at = Moment::new(now, Release(release));
            let version = version(text);
            let offset = |instant: DateTime<Utc>| (instant - now).num_seconds();
            let changes: Vec<String> =
                at.changes(&version).iter().map(|(at, state)| format!("{state}@{}", offset(*at))).collect();
            let next = at.next_change(&version);
            assert!(next.is_none_or(|next| at.at(next).state(&version) != at.state(&version)), "{release} {text}");
            (changes.join(" "), next.map(offset), at.expiration(&version).map(offset))
        };
        assert_eq!(list(120, "deprecated 5"), ("expired@5".to_owned(), Some(5), Some(5)));
        assert_eq!(list(149, "deprecated 5"), ("expired@5".to_owned(), Some(5), Some(5)));
        assert_eq!(
            list(149, "stages preview supported@-1 deprecated@3 expired@9"),
            ("supported@-1 deprecated@3 expired@9".to_owned(), Some(3), Some(9))
        );
        assert_eq!(list(149, "stages supported@3 deprecated@3"), ("deprecated@3".to_owned(), Some(3), None));
        assert_eq!(list(149, "supported -"), (String::new(), None, None));
    }
}
