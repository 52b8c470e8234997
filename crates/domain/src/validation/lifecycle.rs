// SPDX-License-Identifier: Apache-2.0
//! Life cycles of the versions of a CloudProfile: classification and expiration date, or stages.
//!
//! Source: pkg/api/core/validation/{utils,cloudprofile}.go (pkg/apis/core/validation until v1.136), v1.120.0 to v1.149.0.

use std::collections::BTreeSet;

use api::constants::classification;
use api::core::LifecycleStage;
use apimachinery::field::{FieldError, Path};
use chrono::{DateTime, Utc};

use super::Errors;
use super::common::one_of;
use super::meta::invalid_unquoted;
use super::shoot::Gates;
use crate::release::Releases;
use crate::versions::{Expirable, Moment, State, Version, place};

/// Classifications of a version, sorted.
const CLASSIFICATIONS: [&str; 3] = [classification::DEPRECATED, classification::PREVIEW, classification::SUPPORTED];

/// Classifications of a version or of a stage, sorted.
const STAGES: [&str; 4] =
    [classification::DEPRECATED, classification::EXPIRED, classification::PREVIEW, classification::SUPPORTED];

/// Versions may have stages, behind a gate.
const LIFECYCLES: Releases = Releases::since(137);

/// A supported version conflicts only until it expires.
const EXPIRED_VERSIONS_DO_NOT_CLASH: Releases = Releases::since(121);

/// Versions without a classification count as supported when compared with other versions.
const UNCLASSIFIED_VERSIONS_CLASH: Releases = Releases::between(121, 122);

/// Stages are compared as well.
const STAGES_CLASH: Releases = Releases::between(137, 149);

/// Checks the life cycle of one version.
pub(super) fn version(errors: &mut Errors, version: &impl Expirable, gates: Gates, path: &Path) {
    let stages = version.stages();
    let in_stages = path.child("lifecycle");
    if !stages.is_empty() && !gates.version_classification_lifecycle {
        let text = "lifecycles are not allowed with disabled VersionClassificationLifecycle feature gate";
        errors.push(FieldError::forbidden(&in_stages, text));
        return;
    }
    if let Some(classification) = version.classification() {
        let known = if LIFECYCLES.contain(gates.release) { &STAGES[..] } else { &CLASSIFICATIONS };
        one_of(errors, classification, known, &path.child("classification"));
        if stages.is_empty() && classification == classification::EXPIRED && LIFECYCLES.contain(gates.release) {
            let text = "cannot specify `classification` expired";
            errors.push(FieldError::forbidden(&path.child("classification"), text));
        }
    }
    if !stages.is_empty() && (version.classification().is_some() || version.expiration_date().is_some()) {
        let text = "cannot specify `classification` or `expirationDate` in combination with `lifecycle`";
        errors.push(FieldError::forbidden(path, text));
    }
    for (index, stage) in stages.iter().enumerate() {
        one_of(errors, &stage.classification, &STAGES, &in_stages.index(index).child("classification"));
    }
    let mut seen = BTreeSet::new();
    for (index, stage) in stages.iter().enumerate() {
        if !seen.insert(&stage.classification) {
            let path = in_stages.index(index).child("classification");
            errors.push(FieldError::duplicate(&path, &stage.classification));
        }
    }
    order(errors, stages, &in_stages);
    starts(errors, stages, &in_stages);
}

fn order(errors: &mut Errors, stages: &[LifecycleStage], path: &Path) {
    for (index, pair) in stages.windows(2).enumerate() {
        let [before, after] = [&pair[0].classification, &pair[1].classification];
        if place(before) > place(after) {
            let text = format!(
                "lifecycle classifications not in expected order (preview, supported, deprecated, expired): {after} must be \
                 before {before}"
            );
            errors.push(FieldError::invalid(&path.index(index + 1).child("classification"), after, &text));
        }
    }
}

/// Checks that only the first stage may lack a start, and that starts do not decrease.
fn starts(errors: &mut Errors, stages: &[LifecycleStage], path: &Path) {
    // A first stage without a start has begun before every other one.
    let mut previous = stages.first().map(|stage| stage.start_time);
    for (index, stage) in stages.iter().enumerate().skip(1) {
        let path = path.index(index);
        let Some(start) = stage.start_time else {
            let text = "only the leading lifecycle elements can have the start time optional";
            errors.push(FieldError::required(&path, text));
            continue;
        };
        if previous.flatten().is_some_and(|previous| start.0 < previous.0) {
            let shown = start.0.format("%Y-%m-%d %H:%M:%S +0000 UTC").to_string();
            errors.push(FieldError::invalid(&path, &shown, "lifecycle start times must be monotonically increasing"));
        }
        previous = Some(Some(start));
    }
}

/// Checks that the newest Kubernetes version does not expire.
pub(super) fn newest(errors: &mut Errors, newest: &impl Expirable, path: &Path) {
    if let Some(date) = newest.expiration_date() {
        let text = format!("expiration date of latest kubernetes version ('{}') must not be set", newest.version());
        let date = date.format("%Y-%m-%d %H:%M:%S +0000 UTC").to_string();
        errors.push(invalid_unquoted(&path.child("expirationDate"), &date, &text));
    }
    if newest.stages().last().is_some_and(|stage| stage.classification == classification::EXPIRED) {
        let text =
            format!("classification expired of latest kubernetes version ('{}') must not be set", newest.version());
        errors.push(invalid_unquoted(&path.child("lifecycle"), "null", &text));
    }
}

/// Checks that no version becomes unavailable again.
pub(super) fn update<V: Expirable>(errors: &mut Errors, new: &[V], old: &[V], at: Moment, path: &Path) {
    for (index, version) in new.iter().enumerate() {
        // The last of equal versions applies.
        let Some(old) = old.iter().rev().find(|old| old.version() == version.version()) else { continue };
        if at.state(version) == State::Unavailable && at.state(old) != State::Unavailable {
            let text = "a version cannot be turned unavailable if it was already moved into a later lifecycle stage";
            errors.push(FieldError::forbidden(&path.index(index), text));
        }
    }
}

/// Checks, for the version at an index, that only one version of a minor is supported at a time.
pub(super) fn clash<V: Expirable>(errors: &mut Errors, versions: &[V], index: usize, at: Moment, path: &Path) {
    let version = &versions[index];
    let is_compared =
        version.classification().is_some() || (STAGES_CLASH.contain(at.release) && !version.stages().is_empty());
    if !is_compared || !is_supported(version, at) {
        return;
    }
    let parse = |version: &V| Version::parse_in(version.version(), at.release).ok();
    let Some(own) = parse(version) else { return };
    let compared: Vec<&V> = versions.iter().filter(|other| is_compared_with(*other, at)).collect();
    // The rule does not apply if any version is invalid.
    let Some(parsed) = compared.iter().map(|other| parse(other)).collect::<Option<Vec<_>>>() else { return };
    let is_of_minor = |other: &Version| *other != own && (other.major, other.minor) == (own.major, own.minor);
    let mut others = compared.iter().zip(&parsed).filter(|(_, parsed)| is_of_minor(parsed)).map(|(other, _)| *other);
    let supported = classification::SUPPORTED;
    let start = format!("unable to add version {:?} with classification \"supported\". ", version.version());
    if LIFECYCLES.contain(at.release) {
        for _ in others.filter(|other| overlap(version, *other)) {
            let text = format!("{start}{supported:?} lifecycle stages must not overlap per minor version");
            errors.push(FieldError::forbidden(path, &text));
        }
    } else if others.next().is_some() {
        let text = format!("{start}Only one {supported:?} version is allowed per minor version");
        errors.push(FieldError::forbidden(path, &text));
    }
}

/// True if a version is supported for the check of clashes; until 1.120 its expiration date does not count.
fn is_supported(version: &impl Expirable, at: Moment) -> bool {
    if EXPIRED_VERSIONS_DO_NOT_CLASH.contain(at.release) {
        return at.state(version) == State::Supported;
    }
    version.classification() == Some(classification::SUPPORTED)
}

/// True if supported versions of the same minor clash with a version.
fn is_compared_with(version: &impl Expirable, at: Moment) -> bool {
    if LIFECYCLES.contain(at.release) {
        return version.classification() == Some(classification::SUPPORTED)
            || version.stages().iter().any(|stage| stage.classification == classification::SUPPORTED);
    }
    let is_classified = version.classification().is_some() || UNCLASSIFIED_VERSIONS_CLASH.contain(at.release);
    is_classified && is_supported(version, at)
}

/// True if two versions are supported at the same time. A stage that ends when the other begins does not overlap it.
fn overlap(one: &impl Expirable, other: &impl Expirable) -> bool {
    let (Some(one), Some(other)) = (supported_span(one), supported_span(other)) else {
        return one.stages().is_empty() || other.stages().is_empty();
    };
    match (one.end, other.end) {
        (None, None) => true,
        (None, Some(end)) => one.start.is_none_or(|start| start < end),
        (Some(end), None) => other.start.is_none_or(|start| start < end),
        (Some(_), Some(_)) => false,
    }
}

/// Start and end of the supported stage of a version.
struct Span {
    start: Option<DateTime<Utc>>,
    /// Start of the stage that follows; `None` if no stage follows.
    end: Option<DateTime<Utc>>,
}

/// Returns the span of the supported stage; `None` if the version has no such stage.
fn supported_span(version: &impl Expirable) -> Option<Span> {
    let stages = version.stages();
    let supported = stages.iter().find(|stage| stage.classification == classification::SUPPORTED)?;
    let next = stages.iter().find(|stage| place(&stage.classification) > place(classification::SUPPORTED));
    let time = |stage: &LifecycleStage| stage.start_time.map(|start| start.0);
    Some(Span { start: time(supported), end: next.map(|next| time(next).unwrap_or(DateTime::<Utc>::MIN_UTC)) })
}

/// True if a machine image version can be used for bastions.
pub(super) fn serves_bastions(version: &impl Expirable, at: Moment) -> bool {
    version.classification().is_some() && is_supported(version, at)
}

#[cfg(test)]
mod tests {
    use api::core::ExpirableVersion;
    use apimachinery::meta::Time;

    use super::*;
    use crate::release::Release;

    const NOW: &str = "2026-06-15T12:00:00Z";

    fn at(release: u16) -> Moment {
        Moment::new(NOW.parse().expect("RFC 3339"), Release(release))
    }

    fn gates(release: u16) -> Gates {
        Gates { version_classification_lifecycle: release >= 137, release: Release(release), ..Gates::default() }
    }

    /// Parses a version `1.34.1`, then words: `=CLASS` its classification, `!OFFSET` its expiration date, `CLASS@OFFSET`
    /// a stage, or `CLASS` one without a start; offsets are days from now.
    fn version(text: &str) -> ExpirableVersion {
        let mut words = text.split_whitespace();
        let name = words.next().expect("a version").to_owned();
        let time = |days: &str| Time(at(149).now + chrono::TimeDelta::days(days.parse().expect("days")));
        let mut version = ExpirableVersion { version: name, ..ExpirableVersion::default() };
        for word in words {
            if let Some(class) = word.strip_prefix('=') {
                version.classification = Some(class.to_owned());
            } else if let Some(days) = word.strip_prefix('!') {
                version.expiration_date = Some(time(days));
            } else {
                let (class, start) = word.split_once('@').unwrap_or((word, ""));
                let start_time = (!start.is_empty()).then(|| time(start));
                version.lifecycle.push(LifecycleStage { classification: class.to_owned(), start_time });
            }
        }
        version
    }

    fn shown(errors: &Errors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn life_cycles_are_validated_by_release() {
        let values = "supported values: \"deprecated\", \"expired\", \"preview\", \"supported\"";
        let order = "lifecycle classifications not in expected order (preview, supported, deprecated, expired)";
        for (release, text, expected) in [
            (120, "1.34.1 =supported !9", vec![]),
            (120, "1.34.1 =expired", vec![
                "v.classification: Unsupported value: \"expired\": supported values: \"deprecated\", \"preview\", \
                 \"supported\""
                    .to_owned(),
            ]),
            (136, "1.34.1 supported", vec![
                "v.lifecycle: Forbidden: lifecycles are not allowed with disabled VersionClassificationLifecycle feature gate"
                    .to_owned(),
            ]),
            (137, "1.34.1 =expired", vec![
                "v.classification: Forbidden: cannot specify `classification` expired".to_owned(),
            ]),
            (149, "1.34.1 preview supported@1 deprecated@1 expired@9", vec![]),
            (149, "1.34.1 supported@-3", vec![]),
            (149, "1.34.1 =preview supported", vec![
                "v: Forbidden: cannot specify `classification` or `expirationDate` in combination with `lifecycle`".to_owned(),
            ]),
            (149, "1.34.1 !4 supported", vec![
                "v: Forbidden: cannot specify `classification` or `expirationDate` in combination with `lifecycle`".to_owned(),
            ]),
            (149, "1.34.1 unavailable", vec![format!(
                "v.lifecycle[0].classification: Unsupported value: \"unavailable\": {values}"
            )]),
            (149, "1.34.1 supported supported@1", vec![
                "v.lifecycle[1].classification: Duplicate value: \"supported\"".to_owned(),
            ]),
            (149, "1.34.1 deprecated supported@1", vec![format!(
                "v.lifecycle[1].classification: Invalid value: \"supported\": {order}: supported must be before deprecated"
            )]),
            (149, "1.34.1 supported deprecated", vec![
                "v.lifecycle[1]: Required value: only the leading lifecycle elements can have the start time optional"
                    .to_owned(),
            ]),
            (149, "1.34.1 supported@2 deprecated@1", vec![
                "v.lifecycle[1]: Invalid value: \"2026-06-16 12:00:00 +0000 UTC\": lifecycle start times must be monotonically \
                 increasing"
                    .to_owned(),
            ]),
        ] {
            let mut errors = Errors::new();
            super::version(&mut errors, &version(text), gates(release), &Path::new("v"));
            assert_eq!(shown(&errors), expected, "1.{release} {text}");
        }
    }

    #[test]
    fn the_newest_version_does_not_expire() {
        for (text, expected) in [
            ("1.34.1", ""),
            ("1.34.1 supported deprecated@1", ""),
            ("1.34.1 !1", "v.expirationDate"),
            ("1.34.1 supported expired@1", "v.lifecycle"),
        ] {
            let mut errors = Errors::new();
            newest(&mut errors, &version(text), &Path::new("v"));
            let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
            assert_eq!(fields.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn no_version_becomes_unavailable_again() {
        for (old, new, is_refused) in [
            ("1.34.1 supported@-1", "1.34.1 supported@1", true),
            ("1.34.1 =supported", "1.34.1 preview@1", true),
            ("1.34.1 supported@1", "1.34.1 supported@2", false),
            ("1.34.1 supported@-1", "1.34.1 supported@-2", false),
            ("1.34.0 supported@-1", "1.34.1 supported@1", false),
        ] {
            let mut errors = Errors::new();
            update(&mut errors, &[version(new)], &[version(old)], at(149), &Path::new("v"));
            let text = "v[0]: Forbidden: a version cannot be turned unavailable if it was already moved into a later lifecycle \
                        stage";
            assert_eq!(shown(&errors), if is_refused { vec![text] } else { vec![] }, "{old} to {new}");
        }
    }

    /// Two versions of a minor, and for releases 120, 121, 122, 137 and 149 the number of errors about the first one.
    const CLASHES: &str = "
1.34.1 =supported           | 1.34.2 =supported              => 1 1 1 1 1
1.34.1 =supported           | 1.33.2 =supported              => 0 0 0 0 0
1.34.1 =supported !-1       | 1.34.2 =supported              => 1 0 0 0 0
1.34.1 =supported           | 1.34.2 =supported !-1          => 1 0 0 1 1
1.34.1 =supported           | 1.34.2                         => 0 1 0 0 0
1.34.1                      | 1.34.2 =supported              => 0 0 0 0 0
1.34.1 supported            | 1.34.2 supported               => - - - 1 0
1.34.1 supported deprecated@1 | 1.34.2 supported@1           => - - - 0 0
1.34.1 =supported           | 1.34.2 supported@5             => - - - 1 1
";

    #[test]
    fn supported_versions_of_a_minor_clash_by_release() {
        for row in CLASHES.lines().filter(|row| !row.is_empty()) {
            let (pair, expected) = row.split_once("=>").expect("row has an arrow");
            let versions: Vec<ExpirableVersion> = pair.split('|').map(version).collect();
            for (release, expected) in [120, 121, 122, 137, 149].into_iter().zip(expected.split_whitespace()) {
                if expected == "-" {
                    continue;
                }
                let mut errors = Errors::new();
                clash(&mut errors, &versions, 0, at(release), &Path::new("v"));
                assert_eq!(errors.len().to_string(), expected, "1.{release}: {row}");
            }
        }
    }
}
