// SPDX-License-Identifier: Apache-2.0
//! Release of Gardener whose rules answer a question, and the way it is chosen.
//!
//! | source | release |
//! | --- | --- |
//! | a release is requested | the requested one |
//! | a landscape | that of the landscape |
//! | manifests | the newest in `status.gardener.version` of a Shoot |
//! | manifests without a version | the newest one with known rules |
//!
//! If the rules of the release are not known, those of the nearest known release apply; if only the patch is not known,
//! those of its minor.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use api::cluster;
use api::constants::namespace;
use api::core::Shoot;
use api::kubernetes::coordination::Lease;
use api::operator::Garden;
use controller::{Api, ListOptions};
use domain::release::Release;
use domain::skew::releases::{self, rules_of, unknown_release};
use domain::skew::{GardenerVersion, lease};
use process::Context;
use serde_json::{Value, json};

use crate::names::name_of;
use crate::spelling::{first_of, plural};

/// Keyword for the newest release with known rules.
pub const NEWEST_WORD: &str = "newest";

/// Maximum number of versions of Shoots that are listed; the others are counted.
const TOLD: usize = 4;

/// Reads `newest`, `v1.149` or `1.149.0`; a version without a patch gets `.0`.
///
/// # Errors
/// The text is neither.
pub fn parse(text: &str) -> Result<GardenerVersion, String> {
    if text == NEWEST_WORD {
        return Ok(releases::newest());
    }
    GardenerVersion::parse(text)
        .map(GardenerVersion::completed)
        .ok_or_else(|| format!("`{text}` is neither `{NEWEST_WORD}` nor a version of Gardener as v1.149 or 1.120.0"))
}

/// Version of Gardener that a landscape runs, with `v`: that of its Garden, else of its newest gardener-apiserver.
///
/// # Errors
/// The error of the request for the Leases.
pub async fn running(context: &Context) -> Result<Option<String>, controller::Error> {
    let all = ListOptions::default();
    let leases = Api::<Lease>::namespaced(context, cluster::GARDEN, namespace::INSTANCES).list(&all).await?.0;
    // A landscape without gardener-operator does not serve this kind.
    let gardens = Api::<Garden>::all(context, cluster::RUNTIME).list(&all).await.map(|(gardens, _)| gardens);
    let mut landscape = lease::landscape(leases.iter().map(|lease| &lease.metadata), "");
    let mut gardens = gardens.unwrap_or_default().into_iter();
    landscape.garden = gardens.find_map(|garden| Some(garden.status.gardener?.version));
    Ok(landscape.gardener().map(str::to_owned))
}

/// A version whose rules answer a question, and the way it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Version as requested or found.
    pub version: GardenerVersion,
    /// Release whose rules apply.
    pub release: Release,
    reason: Reason,
    /// Versions in the status of Shoots, each with the number of Shoots and the first one; the newest version first.
    said: Vec<(GardenerVersion, usize, String)>,
    /// Number of Shoots with an invalid version, and the first of them with its text.
    unreadable: Option<(usize, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Asked,
    Landscape(String),
    Shoots,
    Unsaid,
}

impl Chosen {
    /// Chooses the version for manifests with these Shoots; `asked`: requested version.
    pub fn for_shoots<'a>(asked: Option<&GardenerVersion>, shoots: impl IntoIterator<Item = &'a Shoot>) -> Self {
        let said = shoots.into_iter().map(|shoot| (name_of(shoot), shoot.status.gardener.version.as_str()));
        Self::for_said(asked, said)
    }

    /// Chooses like [`Chosen::for_shoots`], by names of Shoots and their `status.gardener.version`, which may be empty.
    pub fn for_said<'a>(asked: Option<&GardenerVersion>, shoots: impl IntoIterator<Item = (String, &'a str)>) -> Self {
        let mut said: BTreeMap<String, (GardenerVersion, usize, String)> = BTreeMap::new();
        let mut unreadable: Option<(usize, String)> = None;
        for (name, text) in shoots {
            if let Some(version) = GardenerVersion::parse(text) {
                said.entry(version.to_string()).or_insert((version, 0, name)).1 += 1;
            } else if !text.is_empty() {
                unreadable.get_or_insert_with(|| (0, format!("{text:?} of Shoot {name}"))).0 += 1;
            }
        }
        let mut said: Vec<_> = said.into_values().collect();
        said.sort_by_key(|(version, ..)| Reverse(version.full()));
        let (version, reason) = match (asked, said.first()) {
            (Some(asked), _) => (asked.clone(), Reason::Asked),
            (None, Some((version, ..))) => (version.clone(), Reason::Shoots),
            (None, None) => (releases::newest(), Reason::Unsaid),
        };
        Self { release: rules_of(&version), version, reason, said, unreadable }
    }

    /// Chooses the version for a landscape; `version`: the version that it runs. `asked`: requested version.
    pub fn for_landscape(asked: Option<&GardenerVersion>, name: &str, version: GardenerVersion) -> Self {
        let (version, reason) = match asked {
            Some(asked) => (asked.clone(), Reason::Asked),
            None => (version, Reason::Landscape(name.to_owned())),
        };
        Self { release: rules_of(&version), version, reason, said: Vec::new(), unreadable: None }
    }

    /// Notes about the release, the way it was chosen, and inconsistencies; none for a landscape's own known release.
    pub fn notes(&self) -> Vec<String> {
        if matches!(self.reason, Reason::Landscape(_)) && unknown_release(&self.version).is_none() {
            return Vec::new();
        }
        let mut lines = vec![self.to_string()];
        if let Some((count, first)) = &self.unreadable {
            let more = if *count > 1 { format!(" and of {} more", count - 1) } else { String::new() };
            lines
                .push(format!("status.gardener.version {first}{more} is no version of Gardener, and is not looked at"));
        }
        lines
    }

    /// Adds keys `release` and `releaseReason` to an answer for scripts.
    pub fn add_to(&self, object: &mut Value) {
        object["release"] = json!(self.release.to_string());
        object["releaseReason"] = json!(match self.reason {
            Reason::Asked => "asked",
            Reason::Landscape(_) => "landscape",
            Reason::Shoots => "shoots",
            Reason::Unsaid => NEWEST_WORD,
        });
    }

    /// Versions of the Shoots with their counts; `None` if each Shoot has the chosen version, or a version of the requested
    /// release.
    fn other(&self) -> Option<String> {
        let is_chosen = |version: &GardenerVersion| {
            *version == self.version || self.reason == Reason::Asked && version.minor() == self.version.minor()
        };
        if self.said.iter().all(|(version, ..)| is_chosen(version)) {
            return None;
        }
        let said: Vec<String> =
            self.said.iter().map(|(version, count, _)| format!("v{version} ({})", plural(*count, "Shoot"))).collect();
        Some(first_of(said.iter().map(String::as_str), TOLD))
    }
}

/// Formats the choice: `rules of Gardener v1.148.0, which Shoots say (status.gardener.version, first garden-a/b)`.
impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.version;
        f.write_str(&unknown_release(version).unwrap_or_else(|| format!("rules of Gardener v{version}")))?;
        match &self.reason {
            Reason::Asked => f.write_str(", as --gardener-version says")?,
            Reason::Landscape(name) => write!(f, ", that of landscape {name}")?,
            Reason::Shoots => {
                let first = self.said.first().map(|(.., name)| name.as_str()).unwrap_or_default();
                write!(f, ", by status.gardener.version of Shoot {first}")?;
            }
            Reason::Unsaid => f.write_str(", the newest known: no Shoot has a status.gardener.version")?,
        }
        match (self.other(), &self.reason) {
            (Some(other), Reason::Shoots) => {
                write!(f, "; the manifests have several, of which the newest counts: {other}")
            }
            (Some(other), _) => write!(f, "; the manifests say {other}"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(asked: Option<&str>, said: &[&str]) -> Chosen {
        let shoots = said.iter().enumerate().map(|(index, version)| {
            let mut shoot = Shoot::default();
            shoot.metadata.namespace = "p".to_owned();
            shoot.metadata.name = format!("s{index}");
            shoot.status.gardener.version = (*version).to_owned();
            shoot
        });
        let shoots: Vec<Shoot> = shoots.collect();
        let asked = asked.map(|text| parse(text).expect("a version"));
        Chosen::for_shoots(asked.as_ref(), &shoots)
    }

    #[track_caller]
    fn check(asked: Option<&str>, said: &[&str], release: u16, notes: &[&str]) {
        let chosen = chosen(asked, said);
        assert_eq!(
            (chosen.release, chosen.notes()),
            (Release(release), notes.iter().map(ToString::to_string).collect())
        );
    }

    #[test]
    fn the_newest_version_of_shoots_is_the_default() {
        check(
            None,
            &[],
            149,
            &["rules of Gardener v1.149.3, the newest known: no Shoot has a status.gardener.version"],
        );
        check(None, &["v1.136.2", ""], 136, &["rules of Gardener v1.136.2, by status.gardener.version of Shoot p/s0"]);
        check(
            None,
            &["v1.136.2", "v1.137.0", "1.136.2"],
            137,
            &[
                "rules of Gardener v1.137.0, by status.gardener.version of Shoot p/s1; the manifests have several, of which \
               the newest counts: v1.137.0 (1 Shoot), v1.136.2 (2 Shoots)",
            ],
        );
        check(
            Some("v1.120"),
            &["v1.136.2"],
            120,
            &["rules of Gardener v1.120.0, as --gardener-version says; the manifests say v1.136.2 (1 Shoot)"],
        );
        check(Some("newest"), &["v1.149.0"], 149, &["rules of Gardener v1.149.3, as --gardener-version says"]);
    }

    #[test]
    fn an_unknown_release_has_the_rules_of_the_nearest() {
        check(
            Some("1.999"),
            &[],
            149,
            &["Gardener v1.999.0 is not known here: rules of v1.149 apply, as --gardener-version says"],
        );
        check(
            None,
            &["v1.150.0-dev"],
            149,
            &[
                "Gardener v1.150.0-dev is not known here: rules of v1.149 apply, by status.gardener.version of Shoot p/s0",
            ],
        );
        check(
            Some("v1.149.9"),
            &[],
            149,
            &["Gardener v1.149.9 is not known here: rules of v1.149 apply, as --gardener-version says"],
        );
        check(
            None,
            &["v1.120.5"],
            120,
            &["Gardener v1.120.5 is not known here: rules of v1.120 apply, by status.gardener.version of Shoot p/s0"],
        );
        check(Some("v1.120.4"), &[], 120, &["rules of Gardener v1.120.4, as --gardener-version says"]);
        check(Some("v1.90.7"), &[], 90, &["rules of Gardener v1.90.7, as --gardener-version says"]);
        check(
            Some("v1.50.1"),
            &[],
            80,
            &["Gardener v1.50.1 is not known here: rules of v1.80 apply, as --gardener-version says"],
        );
        check(
            Some("v0.149"),
            &[],
            80,
            &["Gardener v0.149.0 is not known here: rules of v1.80 apply, as --gardener-version says"],
        );
        check(
            Some("2.149.0"),
            &[],
            149,
            &["Gardener v2.149.0 is not known here: rules of v1.149 apply, as --gardener-version says"],
        );
        check(
            None,
            &["banana", "banana"],
            149,
            &[
                "rules of Gardener v1.149.3, the newest known: no Shoot has a status.gardener.version",
                "status.gardener.version \"banana\" of Shoot p/s0 and of 1 more is no version of Gardener, and is not looked at",
            ],
        );
    }

    #[test]
    fn a_landscape_has_its_own_release_without_a_word() {
        let of = |asked: Option<&str>, own: &str| {
            let asked = asked.map(|text| parse(text).expect("a version"));
            let chosen = Chosen::for_landscape(asked.as_ref(), "lab", parse(own).expect("a version"));
            (chosen.release.0, chosen.notes())
        };
        assert_eq!(of(None, "v1.120.3"), (120, Vec::new()));
        let unknown = "Gardener v1.150.0 is not known here: rules of v1.149 apply, that of landscape lab";
        assert_eq!(of(None, "v1.150.0"), (149, vec![unknown.to_owned()]));
        let asked = "rules of Gardener v1.149.3, as --gardener-version says";
        assert_eq!(of(Some("newest"), "v1.120.3"), (149, vec![asked.to_owned()]));
    }

    #[test]
    fn invalid_versions_are_refused() {
        let refused = "`banana` is neither `newest` nor a version of Gardener as v1.149 or 1.120.0";
        assert_eq!(parse("banana"), Err(refused.to_owned()));
        for text in ["", "149", "v1", "1.x", "v1.149.0.1", "Newest"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("newest").map(|version| version.to_string()).as_deref(), Ok("1.149.3"));
    }

    #[test]
    fn scripts_read_the_release_and_the_reason() {
        let mut object = json!({ "a": 1 });
        chosen(None, &["v1.136.2"]).add_to(&mut object);
        assert_eq!(object, json!({ "a": 1, "release": "v1.136", "releaseReason": "shoots" }));
    }
}
