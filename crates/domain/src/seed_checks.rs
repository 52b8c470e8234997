// SPDX-License-Identifier: Apache-2.0
//! Conditions of a Seed that follow from other objects of the garden: its extensions and its backup buckets.
//!
//! Source: pkg/controllermanager/controller/seed/{extensionscheck,backupbucketscheck,utils} @ v1.120.0.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api::constants::condition;
use api::core::{BackupBucket, Condition, ControllerInstallation};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use crate::conditions::{get, get_or_initial, updated};

/// A condition, and the instant at which it changes with time alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The condition.
    pub condition: Condition,
    /// Instant at which its threshold has passed.
    pub changes_at: Option<DateTime<Utc>>,
}

/// Checks that the extensions that are installed on a Seed work.
///
/// Checked in this order; the first that applies counts: not valid, not installed, not healthy, not rolled out yet. A
/// condition that was `True` is `Progressing` for the time of the threshold, inclusive, before it is `False`.
pub fn extensions_ready(
    conditions: &[Condition],
    installations: &[&ControllerInstallation],
    threshold: TimeDelta,
    now: Time,
) -> Checked {
    const CHECKED: [(&str, &str); 4] = [
        (condition::INSTALLATION_VALID, "True"),
        (condition::INSTALLATION_INSTALLED, "True"),
        (condition::INSTALLATION_HEALTHY, "True"),
        (condition::INSTALLATION_PROGRESSING, "False"),
    ];
    let mut findings: [BTreeMap<&str, &str>; 4] = Default::default();
    for installation in installations {
        let (name, present) = (installation.metadata.name.as_str(), &installation.status.conditions);
        if present.is_empty() {
            findings[1].insert(name, "extension was not yet installed");
            continue;
        }
        let mut found = 0;
        for (finding, (type_, wanted)) in findings.iter_mut().zip(CHECKED) {
            if let Some(condition) = get(present, type_) {
                found += 1;
                if condition.status != wanted {
                    finding.insert(name, &condition.message);
                }
            }
        }
        if found != CHECKED.len() {
            findings[2].entry(name).or_insert("not all required conditions found in ControllerInstallation");
        }
    }
    let old = get_or_initial(conditions, condition::SEED_EXTENSIONS_READY, now);
    let words = [
        ("NotAllExtensionsValid", "not valid"),
        ("NotAllExtensionsInstalled", "not installed"),
        ("NotAllExtensionsHealthy", "not healthy"),
        ("SomeExtensionsProgressing", "progressing"),
    ];
    match findings.iter().zip(words).find(|(finding, _)| !finding.is_empty()) {
        Some((finding, (reason, what))) => {
            let message = format!("Some extensions are {what}: {}", go_map(finding));
            failed(&old, "False", reason, &message, threshold, now)
        }
        None => {
            let message = "All extensions installed into the seed cluster are ready and healthy.";
            Checked { condition: updated(&old, "True", "AllExtensionsReady", message, &[], now), changes_at: None }
        }
    }
}

/// Checks that the backup buckets of a Seed can be used; `None` for a Seed that never had one.
pub fn backup_buckets_ready(
    conditions: &[Condition],
    buckets: &[&BackupBucket],
    threshold: TimeDelta,
    now: Time,
) -> Option<Checked> {
    if buckets.is_empty() && get(conditions, condition::SEED_BACKUP_BUCKETS_READY).is_none() {
        return None;
    }
    let old = get_or_initial(conditions, condition::SEED_BACKUP_BUCKETS_READY, now);
    let mut message = "The following BackupBuckets have issues:".to_owned();
    let mut has_errors = false;
    for bucket in buckets {
        if let Some(error) = &bucket.status.last_error {
            has_errors = true;
            let _ = write!(message, "\n* Name: {}, Error: {}", bucket.metadata.name, error.description);
        }
    }
    Some(if has_errors {
        failed(&old, "False", "BackupBucketsError", &message, threshold, now)
    } else if buckets.is_empty() {
        failed(&old, "Unknown", "BackupBucketsGone", "Backup Buckets are gone.", threshold, now)
    } else {
        let message = "Backup Buckets are available.";
        Checked { condition: updated(&old, "True", "BackupBucketsAvailable", message, &[], now), changes_at: None }
    })
}

fn failed(old: &Condition, status: &str, reason: &str, message: &str, threshold: TimeDelta, now: Time) -> Checked {
    let begin = match old.status.as_str() {
        "True" => Some(now.0),
        "Progressing" => Some(old.last_transition_time.0),
        _ => None,
    };
    // The threshold has passed only after its instant, and times have whole seconds.
    let end = begin.filter(|begin| !threshold.is_zero() && now.0 <= *begin + threshold);
    let changes_at = end.map(|begin| begin + threshold + TimeDelta::seconds(1));
    let status = if changes_at.is_some() { "Progressing" } else { status };
    Checked { condition: updated(old, status, reason, message, &[], now), changes_at }
}

/// Formats entries as `map[name:text other:text]`, like Go.
fn go_map(entries: &BTreeMap<&str, &str>) -> String {
    let entries: Vec<String> = entries.iter().map(|(name, text)| format!("{name}:{text}")).collect();
    format!("map[{}]", entries.join(" "))
}

#[cfg(test)]
mod tests {
    use api::core::LastError;

    use super::*;

    fn time(seconds: i64) -> Time {
        let start: DateTime<Utc> = "2025-06-15T12:00:00Z".parse().expect("RFC 3339");
        Time(start + TimeDelta::seconds(seconds))
    }

    /// Creates an installation whose conditions `Valid`, `Installed`, `Healthy`, `Progressing` are the words, `-` for
    /// missing.
    fn installation(name: &str, statuses: &str) -> ControllerInstallation {
        let mut installation = ControllerInstallation::default();
        name.clone_into(&mut installation.metadata.name);
        for (type_, status) in ["Valid", "Installed", "Healthy", "Progressing"].iter().zip(statuses.split_whitespace())
        {
            if status != "-" {
                let condition = Condition {
                    r#type: (*type_).to_owned(),
                    status: status.to_owned(),
                    message: format!("{type_} is {status}"),
                    ..Condition::default()
                };
                installation.status.conditions.push(condition);
            }
        }
        installation
    }

    /// Conditions of two installations, and the condition of the Seed.
    const EXTENSIONS: &str = "
True True True False  | True True True False   => True AllExtensionsReady All extensions installed into the seed cluster are ready and healthy.
False True True False | True False True False  => False NotAllExtensionsValid Some extensions are not valid: map[a:Valid is False]
- - - -               | True False True False  => False NotAllExtensionsInstalled Some extensions are not installed: map[a:extension was not yet installed b:Installed is False]
True True Unknown False | True True True False => False NotAllExtensionsHealthy Some extensions are not healthy: map[a:Healthy is Unknown]
True True True -      | True True True True    => False NotAllExtensionsHealthy Some extensions are not healthy: map[a:not all required conditions found in ControllerInstallation]
True True True True   | True True True False   => False SomeExtensionsProgressing Some extensions are progressing: map[a:Progressing is True]
";

    #[test]
    fn seeds_report_failures_of_their_extensions() {
        for row in EXTENSIONS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let (a, b) = given.split_once('|').expect("two installations");
            let (a, b) = (installation("a", a), installation("b", b));
            let Checked { condition, changes_at } = extensions_ready(&[], &[&a, &b], TimeDelta::minutes(1), time(0));
            let actual = format!("{} {} {}", condition.status, condition.reason, condition.message);
            assert_eq!(actual, expected.trim(), "row: {row}");
            assert_eq!(changes_at, None, "from the start nothing is tolerated");
        }
        assert_eq!(extensions_ready(&[], &[], TimeDelta::zero(), time(0)).condition.status, "True");
    }

    #[test]
    fn failures_are_tolerated_for_the_time_of_the_threshold() {
        let broken = installation("a", "True True False False");
        let check = |conditions: &[Condition], threshold, seconds| {
            let checked = extensions_ready(conditions, &[&broken], TimeDelta::seconds(threshold), time(seconds));
            (checked.condition.status.clone(), checked.changes_at, checked.condition)
        };
        let good = extensions_ready(&[], &[], TimeDelta::zero(), time(0)).condition;
        assert_eq!(check(std::slice::from_ref(&good), 0, 10).0, "False");
        let (status, changes_at, progressing) = check(&[good], 60, 10);
        assert_eq!((status.as_str(), changes_at), ("Progressing", Some(time(71).0)));
        let (status, changes_at, _) = check(std::slice::from_ref(&progressing), 60, 70);
        assert_eq!((status.as_str(), changes_at), ("Progressing", Some(time(71).0)));
        assert_eq!(check(&[progressing], 60, 71).0, "False");
    }

    #[test]
    fn buckets_are_reported_since_the_first_one() {
        let ready = |conditions: &[Condition], buckets: &[&BackupBucket]| {
            let checked = backup_buckets_ready(conditions, buckets, TimeDelta::zero(), time(0))?;
            Some((checked.condition.status.clone(), checked.condition.message.clone(), checked.condition))
        };
        assert_eq!(ready(&[], &[]), None);
        let mut bucket = BackupBucket::default();
        "b".clone_into(&mut bucket.metadata.name);
        let (status, message, condition) = ready(&[], &[&bucket]).expect("there is one");
        assert_eq!((status.as_str(), message.as_str()), ("True", "Backup Buckets are available."));
        let (status, message, _) = ready(std::slice::from_ref(&condition), &[]).expect("there was one");
        assert_eq!((status.as_str(), message.as_str()), ("Unknown", "Backup Buckets are gone."));
        bucket.status.last_error = Some(LastError { description: "boom".to_owned(), ..LastError::default() });
        let (status, message, _) = ready(&[condition], &[&bucket]).expect("there is one");
        let expected = "The following BackupBuckets have issues:\n* Name: b, Error: boom";
        assert_eq!((status.as_str(), message.as_str()), ("False", expected));
    }
}
