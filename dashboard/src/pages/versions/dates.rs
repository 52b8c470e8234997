// SPDX-License-Identifier: Apache-2.0
//! Expiration dates and starts of stages that can be dragged, and the differences between two states of CloudProfiles.
//!
//! A date is an `input` of type range with steps of one day: it is dragged, or moved by arrow keys, and the script shows its day.
//! Its last position means no date within the shown time. Without a script the ranges are hidden, and dates are typed.

use std::collections::{BTreeMap, BTreeSet};

use api::constants::classification;
use api::core::{CloudProfile, CloudProfileSpec, LifecycleStage};
use chrono::{DateTime, NaiveTime, Utc};
use domain::versions::Expirable;
use maud::{Markup, html};
use ops::inventory::Inventory;
use ops::names::ProfileKey;

use crate::parts::time;

/// Maximum number of dates that are drawn.
const SHOWN: usize = 60;

/// A date of a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dated {
    /// Subject and version: `kubernetes/1.31.2`, `IMAGE/VERSION`.
    version: String,
    /// Profile, if profiles that Shoots use have different dates for the version.
    profile: Option<String>,
    /// Stage that begins at the date; `None`: the version has no stages and expires.
    stage: Option<String>,
    date: Option<DateTime<Utc>>,
}

impl Dated {
    /// Returns the expiration date of a version, or the starts of its stages; a version that does not expire can get a date.
    fn all(subject: &str, entry: &dyn Expirable) -> Vec<Self> {
        let version = format!("{subject}/{}", entry.version());
        let stages = entry.stages();
        if stages.is_empty() {
            return vec![Self { version, profile: None, stage: None, date: entry.expiration_date() }];
        }
        let of =
            |stage: &str, date| Self { version: version.clone(), profile: None, stage: Some(stage.to_owned()), date };
        let started = stages.iter().filter_map(|stage| Some(of(&stage.classification, Some(stage.start_time?.0))));
        let expires = stages.iter().any(|stage| stage.classification == classification::EXPIRED);
        started.chain((!expires).then(|| of(classification::EXPIRED, None))).collect()
    }

    /// Formats `kubernetes/1.31.2 expires`, `kubernetes/1.34.3 in local is deprecated from`.
    fn label(&self) -> String {
        let version = match &self.profile {
            None => self.version.clone(),
            Some(profile) => format!("{} in {profile}", self.version),
        };
        match self.stage.as_deref() {
            None | Some(classification::EXPIRED) => format!("{version} expires"),
            Some(stage) => format!("{version} is {stage} from"),
        }
    }
}

/// Returns all dates of the versions that a profile offers.
fn offered(spec: &CloudProfileSpec) -> Vec<Dated> {
    let kubernetes = spec.kubernetes.versions.iter().flat_map(|entry| Dated::all("kubernetes", entry));
    let images = spec.machine_images.iter();
    let images = images.flat_map(|image| image.versions.iter().flat_map(|entry| Dated::all(&image.name, entry)));
    kubernetes.chain(images).collect()
}

/// Returns the versions that Shoots use, by profile; the Shoots of a NamespacedCloudProfile count for its parent.
fn used(inventory: &Inventory) -> BTreeMap<String, BTreeSet<String>> {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for shoot in &inventory.shoots {
        let key = ProfileKey::of(shoot);
        let parent = inventory.namespaced.iter().find(|profile| {
            key.namespace.as_ref() == Some(&profile.metadata.namespace) && key.name == profile.metadata.name
        });
        let name = parent.map_or(key.name, |profile| profile.spec.parent.name.clone());
        let images = shoot.spec.provider.workers.iter().filter_map(|worker| worker.machine.image.as_ref());
        let images = images.map(|image| format!("{}/{}", image.name, image.version.as_deref().unwrap_or_default()));
        let kubernetes = format!("kubernetes/{}", shoot.spec.kubernetes.version);
        used.entry(name).or_default().extend(std::iter::once(kubernetes).chain(images));
    }
    used
}

/// Returns the dates of the versions that Shoots use, and future dates of other versions. A version has the dates of the profiles
/// that Shoots use, in the order of the profiles; profiles without Shoots count only for versions that the others lack.
fn of_all(inventory: &Inventory, (from, until): (DateTime<Utc>, DateTime<Utc>)) -> Vec<Dated> {
    let used = used(inventory);
    let is_ahead = |date: DateTime<Utc>| date >= from && date <= until;
    let mut found: BTreeMap<String, Vec<(&str, Vec<Dated>)>> = BTreeMap::new();
    let (with, without): (Vec<_>, Vec<_>) =
        inventory.cloud_profiles.iter().partition(|profile| used.contains_key(&profile.metadata.name));
    for (profile, has_shoots) in
        with.into_iter().map(|with| (with, true)).chain(without.into_iter().map(|w| (w, false)))
    {
        let name = profile.metadata.name.as_str();
        let mut own: BTreeMap<String, Vec<Dated>> = BTreeMap::new();
        for dated in offered(&profile.spec) {
            let is_used = used.get(name).is_some_and(|used| used.contains(&dated.version));
            if is_used || dated.date.is_some_and(is_ahead) {
                own.entry(dated.version.clone()).or_default().push(dated);
            }
        }
        for (version, dates) in own {
            let known = found.entry(version).or_default();
            if known.is_empty() || has_shoots && known.iter().all(|(_, other)| *other != dates) {
                known.push((name, dates));
            }
        }
    }
    let mut all = Vec::new();
    for profiles in found.into_values() {
        let differ = profiles.len() > 1;
        for (name, dates) in profiles {
            let profile = differ.then(|| name.to_owned());
            all.extend(dates.into_iter().map(|dated| Dated { profile: profile.clone(), ..dated }));
        }
    }
    all
}

/// Returns ranges for the versions of all CloudProfiles; a moved one becomes a field `field` of the page's address, and is valid
/// for every profile.
pub(in crate::pages) fn ranges(inventory: &Inventory, span: (DateTime<Utc>, DateTime<Utc>), field: &str) -> Markup {
    markup(&of_all(inventory, span), span.0, span.1, Some(field), None)
}

/// Returns ranges for the versions of one profile; a moved one fills in the form with this id and sends it with the step `look`.
pub(super) fn of_profile(spec: &CloudProfileSpec, from: DateTime<Utc>, until: DateTime<Utc>, form: &str) -> Markup {
    markup(&offered(spec), from, until, None, Some(form))
}

fn markup(all: &[Dated], from: DateTime<Utc>, until: DateTime<Utc>, field: Option<&str>, form: Option<&str>) -> Markup {
    let first = from.date_naive();
    let last = (until.date_naive() - first).num_days().max(1) + 1;
    let place = |date: Option<DateTime<Utc>>| {
        let days = date.map(|date| (date.date_naive() - first).num_days());
        days.filter(|days| *days < last).map_or(last, |days| days.max(0))
    };
    let shown = |date: Option<DateTime<Utc>>| date.map_or_else(|| "no date".to_owned(), time::text);
    let has_stages = all.iter().any(|dated| dated.stage.is_some());
    html! {
        @if !all.is_empty() {
            details.dates hidden data-dates=(first.and_time(NaiveTime::MIN).and_utc().timestamp()) data-field=[field] data-form=[form] {
                summary { @if has_stages { "Drag starts of stages and expiration dates" } @else { "Drag expiration dates" } }
                @for (index, dated) in all.iter().take(SHOWN).enumerate() {
                    @let id = format!("date-{index}");
                    div.date {
                        label for=(id) { (dated.label()) }
                        input type="range" id=(id) min="0" max=(last) step="1" value=(place(dated.date))
                            data-version=(dated.version) data-stage=[dated.stage.as_deref()] aria-valuetext=(shown(dated.date)) autocomplete="off";
                        output for=(id) id={(id) "-text"} { (shown(dated.date)) }
                    }
                }
                p.hint { "At the right end: no date, or one behind " (time::text(until)) "." }
            }
        }
    }
}

/// A changed version, in the format of the form of the page Versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pages) struct Changed {
    /// Name of the CloudProfile.
    pub(in crate::pages) profile: String,
    /// Subject and version: `kubernetes/1.31.2`, `IMAGE/VERSION`.
    pub(in crate::pages) version: String,
    /// `same`, `none` or the new classification.
    pub(in crate::pages) classification: String,
    /// Empty: unchanged; `none`, or the new date.
    pub(in crate::pages) expires: String,
    /// Empty, or the stages that begin at another time: `deprecated@2027-01-31T00:00:00Z, expired@none`.
    pub(in crate::pages) stages: String,
}

impl Changed {
    /// Formats `kubernetes/1.31.2 expires 2027-01-31T00:00:00Z, in local`.
    pub(in crate::pages) fn sentence(&self) -> String {
        let class = match self.classification.as_str() {
            "same" => String::new(),
            class => format!(" is {class}"),
        };
        let date = match self.expires.as_str() {
            "" => String::new(),
            "none" => " expires never".to_owned(),
            date => format!(" expires {date}"),
        };
        let stages = if self.stages.is_empty() { String::new() } else { format!(" {}", self.stages) };
        format!("{}{class}{date}{stages}, in {}", self.version, self.profile)
    }
}

/// Returns the differences between two states of the same CloudProfiles, version by version.
pub(in crate::pages) fn changed(before: &[CloudProfile], after: &[CloudProfile]) -> Vec<Changed> {
    let mut changed = Vec::new();
    for (old, new) in before.iter().zip(after) {
        let entries = cycles(&old.spec).into_iter().zip(cycles(&new.spec));
        for ((version, was), (_, is)) in entries.filter(|((_, was), (_, is))| was != is) {
            let classification = match is.classification {
                same if same == was.classification => "same".to_owned(),
                class => class.unwrap_or_else(|| "none".to_owned()),
            };
            let expires = match (was.expires == is.expires, is.expires) {
                (true, _) => String::new(),
                (false, Some(date)) => time::machine(date),
                (false, None) => "none".to_owned(),
            };
            let stages = changed_stages(&was.stages, &is.stages);
            changed.push(Changed { profile: old.metadata.name.clone(), version, classification, expires, stages });
        }
    }
    changed
}

/// Life cycle of a version.
#[derive(PartialEq)]
struct Cycle {
    classification: Option<String>,
    expires: Option<DateTime<Utc>>,
    stages: Vec<LifecycleStage>,
}

/// Returns the life cycles of all versions that a profile offers.
fn cycles(spec: &CloudProfileSpec) -> Vec<(String, Cycle)> {
    let of = |subject: &str, entry: &dyn Expirable| {
        let cycle = Cycle {
            classification: entry.classification().map(str::to_owned),
            expires: entry.expiration_date(),
            stages: entry.stages().to_vec(),
        };
        (format!("{subject}/{}", entry.version()), cycle)
    };
    let mut all: Vec<_> = spec.kubernetes.versions.iter().map(|entry| of("kubernetes", entry)).collect();
    for image in &spec.machine_images {
        all.extend(image.versions.iter().map(|entry| of(&image.name, entry)));
    }
    all
}

/// Returns stages that begin at another time or are new, and removed ones.
fn changed_stages(was: &[LifecycleStage], is: &[LifecycleStage]) -> String {
    let start = |stages: &[LifecycleStage], class: &str| {
        stages.iter().find(|stage| stage.classification == class).and_then(|stage| stage.start_time.map(|time| time.0))
    };
    let moved = is.iter().filter_map(|stage| {
        let begins = stage.start_time?.0;
        let is_same = start(was, &stage.classification) == Some(begins);
        (!is_same).then(|| format!("{}@{}", stage.classification, time::machine(begins)))
    });
    let removed = was.iter().filter(|stage| is.iter().all(|other| other.classification != stage.classification));
    let removed = removed.map(|stage| format!("{}@none", stage.classification));
    moved.chain(removed).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use api::core::ExpirableVersion;
    use apimachinery::meta::Time;

    use super::*;

    fn profile(versions: &[(&str, &str, Option<&str>)]) -> CloudProfile {
        let mut profile = CloudProfile::default();
        profile.metadata.name = "local".to_owned();
        profile.spec.kubernetes.versions = versions
            .iter()
            .map(|(version, class, date)| ExpirableVersion {
                version: (*version).to_owned(),
                classification: (!class.is_empty()).then(|| (*class).to_owned()),
                lifecycle: Vec::new(),
                expiration_date: date.map(|date| Time(date.parse().expect("an instant"))),
            })
            .collect();
        profile
    }

    #[test]
    fn only_differences_are_applied() {
        let before = [profile(&[
            ("1.26.4", "supported", Some("2023-07-28T00:00:00Z")),
            ("1.27.1", "preview", None),
            ("1.28.0", "", None),
        ])];
        assert_eq!(changed(&before, &before), []);
        let after = [profile(&[
            ("1.26.4", "supported", None),
            ("1.27.1", "supported", None),
            ("1.28.0", "", Some("2024-01-31T00:00:00Z")),
        ])];
        let texts: Vec<String> = changed(&before, &after).iter().map(Changed::sentence).collect();
        assert_eq!(
            texts,
            [
                "kubernetes/1.26.4 expires never, in local",
                "kubernetes/1.27.1 is supported, in local",
                "kubernetes/1.28.0 expires 2024-01-31T00:00:00Z, in local"
            ]
        );
    }

    /// Returns a profile with Kubernetes 1.34.3 and stages `CLASS@DAY`.
    fn staged(stages: &str) -> CloudProfile {
        let mut profile = profile(&[("1.34.3", "", None)]);
        let stage = |word: &str| {
            let (class, start) = word.split_once('@').unwrap_or((word, ""));
            let start_time = (!start.is_empty()).then(|| Time(format!("{start}T00:00:00Z").parse().expect("a day")));
            LifecycleStage { classification: class.to_owned(), start_time }
        };
        profile.spec.kubernetes.versions[0].lifecycle = stages.split(' ').map(stage).collect();
        profile
    }

    #[test]
    fn each_stage_with_a_start_can_be_dragged() {
        let labels = |stages: &str| {
            let all = offered(&staged(stages).spec);
            let shown = |dated: &Dated| {
                let date = dated.date.map_or_else(|| "-".to_owned(), |date| date.format("%m-%d").to_string());
                format!("{} {date}", dated.label().trim_start_matches("kubernetes/1.34.3 "))
            };
            all.iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(labels("preview supported@2026-07-01"), ["is supported from 07-01", "expires -"]);
        assert_eq!(
            labels("supported deprecated@2026-09-01 expired@2026-12-01"),
            ["is deprecated from 09-01", "expires 12-01"]
        );
    }

    /// The shown dates are those of the profile that Shoots use, not those of another profile with the same version.
    #[test]
    fn dates_of_profiles_without_shoots_hide_no_others() {
        let shoot = |profile: &str| -> api::core::Shoot {
            serde_json::from_value(serde_json::json!({
                "metadata": { "name": "s", "namespace": "garden-p" },
                "spec": { "cloudProfile": { "name": profile }, "kubernetes": { "version": "1.34.3" } },
            }))
            .expect("a Shoot")
        };
        let named = |name: &str, stages: &str| {
            let mut profile = staged(stages);
            name.clone_into(&mut profile.metadata.name);
            profile
        };
        let labels = |users: &[&str]| {
            let mut inventory = Inventory::new(domain::release::NEWEST);
            inventory.cloud_profiles =
                vec![named("first", "preview supported@2026-08-01"), named("four", "supported expired@2026-12-01")];
            inventory.shoots = users.iter().map(|name| shoot(name)).collect();
            let day = |text: &str| text.parse().expect("an instant");
            let all = of_all(&inventory, (day("2026-07-01T00:00:00Z"), day("2027-07-01T00:00:00Z")));
            let shown = |dated: &Dated| {
                let date = dated.date.map_or_else(|| "-".to_owned(), |date| date.format("%m-%d").to_string());
                format!("{} {date}", dated.label().trim_start_matches("kubernetes/1.34.3 "))
            };
            all.iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(labels(&["four"]), ["expires 12-01"]);
        assert_eq!(labels(&["first"]), ["is supported from 08-01", "expires -"]);
        assert_eq!(
            labels(&["four", "first"]),
            ["in first is supported from 08-01", "in first expires -", "in four expires 12-01"]
        );
        assert_eq!(labels(&[]), ["is supported from 08-01"]);
    }

    #[test]
    fn stages_that_differ_are_applied_together() {
        let sentence = |before: &str, after: &str| {
            let all = changed(&[staged(before)], &[staged(after)]);
            all.iter().map(Changed::sentence).collect::<Vec<_>>()
        };
        let before = "supported deprecated@2026-09-01 expired@2026-12-01";
        assert_eq!(
            sentence(before, "supported deprecated@2026-10-01 expired@2027-01-01"),
            ["kubernetes/1.34.3 deprecated@2026-10-01T00:00:00Z, expired@2027-01-01T00:00:00Z, in local"]
        );
        assert_eq!(sentence(before, "supported deprecated@2026-09-01"), ["kubernetes/1.34.3 expired@none, in local"]);
        assert_eq!(sentence(before, before), Vec::<String>::new());
    }
}
