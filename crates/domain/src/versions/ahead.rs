// SPDX-License-Identifier: Apache-2.0
//! Gaps after a Kubernetes version: the reasons for which maintenance cannot update it.

use super::{Expirable, Moment, Version};

/// Reason for which no version follows another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap<'a> {
    /// The version is invalid.
    Unreadable,
    /// No higher version is offered: its minor is at the end of its life.
    EndOfLife,
    /// The CloudProfile offers higher versions, but none of the same minor or of the next: a minor cannot be skipped.
    NextMinorMissing,
    /// The higher versions of its minor and of the next one are all previews: these.
    Previews(Vec<&'a str>),
}

/// Returns the reason for which no version of a list follows a Kubernetes version at an instant; `None`: one does.
/// Versions that have expired by then are ignored, as in maintenance.
pub fn gap<'a, V: Expirable>(versions: &'a [V], version: &str, at: Moment) -> Option<Gap<'a>> {
    let Ok(own) = Version::parse(version) else { return Some(Gap::Unreadable) };
    let all = versions.iter().filter(|entry| !at.is_expired(*entry));
    let higher: Vec<(Version, &V)> = all
        .filter_map(|entry| Some((Version::parse(entry.version()).ok()?, entry)))
        .filter(|(version, _)| *version > own)
        .collect();
    let is_near = |version: &Version| version.major == own.major && version.minor <= own.minor.saturating_add(1);
    let near: Vec<&V> = higher.iter().filter(|(version, _)| is_near(version)).map(|(_, entry)| *entry).collect();
    if higher.is_empty() {
        Some(Gap::EndOfLife)
    } else if near.is_empty() {
        Some(Gap::NextMinorMissing)
    } else if near.iter().all(|entry| at.is_preview(*entry)) {
        Some(Gap::Previews(near.into_iter().map(Expirable::version).collect()))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use api::core::ExpirableVersion;
    use apimachinery::meta::Time;

    use super::*;

    const AT: &str = "2023-07-28T00:00:00Z";

    /// Parses versions: `!` expires at the instant of the test, `+` a second later, `?` is a preview.
    fn offered(text: &str) -> Vec<ExpirableVersion> {
        let at: chrono::DateTime<chrono::Utc> = AT.parse().expect("an instant");
        let one = |word: &str| {
            let version = word.trim_end_matches(['!', '+', '?']).to_owned();
            let later = i64::from(word.contains('+'));
            let date = word.contains(['!', '+']).then(|| Time(at + chrono::TimeDelta::seconds(later)));
            let classification = word.contains('?').then(|| "preview".to_owned());
            ExpirableVersion { version, expiration_date: date, classification, ..ExpirableVersion::default() }
        };
        text.split_whitespace().map(one).collect()
    }

    #[test]
    fn gaps_after_a_version_have_a_reason() {
        for (version, versions, expected) in [
            ("1.26.4", "1.26.5 1.26.4", None),
            ("1.26.4", "1.27.0 1.26.4", None),
            ("1.26.4", "1.26.4", Some(Gap::EndOfLife)),
            ("1.26.4", "1.26.4 1.26.3 1.25.9", Some(Gap::EndOfLife)),
            ("1.26.4", "1.27.0! 1.26.4", Some(Gap::EndOfLife)),
            ("1.26.4", "1.27.0+ 1.26.4", None),
            ("1.26.4", "1.28.0 1.26.4", Some(Gap::NextMinorMissing)),
            ("1.26.4", "1.28.0 1.27.0! 1.26.4", Some(Gap::NextMinorMissing)),
            ("1.26.4", "2.0.0 1.26.4", Some(Gap::NextMinorMissing)),
            ("1.26.4", "1.27.0? 1.26.4", Some(Gap::Previews(vec!["1.27.0"]))),
            ("1.26.4", "1.28.0 1.27.0? 1.26.5? 1.26.4", Some(Gap::Previews(vec!["1.27.0", "1.26.5"]))),
            ("1.26.4", "1.27.1 1.27.0? 1.26.4", None),
            ("1.26.4", "1.27.1? 1.27.0! 1.26.4", Some(Gap::Previews(vec!["1.27.1"]))),
            ("1.26.4", "x 1.26.4", Some(Gap::EndOfLife)),
            ("1.26", "1.26.0 1.25.0", Some(Gap::EndOfLife)),
            ("one", "1.27.0", Some(Gap::Unreadable)),
        ] {
            let versions_read = offered(versions);
            let found = gap(
                &versions_read,
                version,
                crate::versions::Moment::new(AT.parse().expect("an instant"), crate::release::DOCUMENTED),
            );
            assert_eq!(found, expected, "{version} among {versions}");
        }
    }
}
