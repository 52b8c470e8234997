// SPDX-License-Identifier: Apache-2.0
//! Expiration dates that can be dragged, and what two states of CloudProfiles differ in.
//!
//! A date is an `input` of type range, a step of which is a day: it is dragged, or moved by arrows, and the script shows the
//! day that it stands at. Its last place is no date within the time that is shown. Without a script the ranges are hidden, and
//! dates are typed.

use std::collections::BTreeSet;

use api::core::{CloudProfile, CloudProfileSpec};
use chrono::{DateTime, NaiveTime, Utc};
use domain::versions::Expirable;
use maud::{Markup, html};
use ops::world::{ProfileKey, World};

use crate::parts::time;

/// Dates that are drawn at most.
const SHOWN: usize = 60;

/// A version and when it expires.
type Dated = (String, Option<DateTime<Utc>>);

/// All versions that a profile offers, `kubernetes/1.31.2` or `IMAGE/VERSION`.
fn offered(spec: &CloudProfileSpec) -> Vec<Dated> {
    let kubernetes = spec.kubernetes.versions.iter();
    let kubernetes = kubernetes.map(|entry| (format!("kubernetes/{}", entry.version), entry.expiration_date()));
    let images = spec.machine_images.iter().flat_map(|image| {
        image.versions.iter().map(move |entry| (format!("{}/{}", image.name, entry.version), entry.expiration_date()))
    });
    kubernetes.chain(images).collect()
}

/// What Shoots use of a profile.
fn used(world: &World, key: Option<&ProfileKey>) -> BTreeSet<String> {
    let shoots = world.shoots.iter().filter(|shoot| key.is_none_or(|key| ProfileKey::of(shoot) == *key));
    shoots
        .flat_map(|shoot| {
            let images = shoot.spec.provider.workers.iter().filter_map(|worker| worker.machine.image.as_ref());
            let images = images.map(|image| format!("{}/{}", image.name, image.version.as_deref().unwrap_or_default()));
            std::iter::once(format!("kubernetes/{}", shoot.spec.kubernetes.version)).chain(images).collect::<Vec<_>>()
        })
        .collect()
}

/// Ranges for the versions of all CloudProfiles that somebody uses or that expire; a moved one becomes a field `field` of the
/// page's address.
pub(in crate::pages) fn ranges(world: &World, (from, until): (DateTime<Utc>, DateTime<Utc>), field: &str) -> Markup {
    let used = used(world, None);
    let mut all: Vec<Dated> = world.cloud_profiles.iter().flat_map(|profile| offered(&profile.spec)).collect();
    all.retain(|(version, date)| used.contains(version) || date.is_some_and(|date| date >= from && date <= until));
    // Several profiles may offer the same: one what-if is about all of them.
    all.sort();
    all.dedup_by(|one, other| one.0 == other.0);
    markup(&all, from, until, Some(field), None)
}

/// Ranges for the versions of one profile; a moved one fills in the form with this id and sends it with the step `look`.
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
    html! {
        @if !all.is_empty() {
            details.dates hidden data-dates=(first.and_time(NaiveTime::MIN).and_utc().timestamp()) data-field=[field] data-form=[form] {
                summary { "Drag expiration dates" }
                @for (index, (version, date)) in all.iter().take(SHOWN).enumerate() {
                    @let id = format!("date-{index}");
                    div.date {
                        label for=(id) { (version) " expires" }
                        input type="range" id=(id) min="0" max=(last) step="1" value=(place(*date))
                            data-version=(version) aria-valuetext=(shown(*date)) autocomplete="off";
                        output for=(id) id={(id) "-text"} { (shown(*date)) }
                    }
                }
                p.hint { "At the right end: no date, or one behind " (time::text(until)) "." }
            }
        }
    }
}

/// A version that is otherwise, as the form of the page Versions takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pages) struct Changed {
    /// The CloudProfile.
    pub(in crate::pages) profile: String,
    /// `kubernetes/1.31.2`, `IMAGE/VERSION`.
    pub(in crate::pages) version: String,
    /// `same`, `none` or the new one.
    pub(in crate::pages) classification: String,
    /// Empty: as it is; `none`, or the new date.
    pub(in crate::pages) expires: String,
}

impl Changed {
    /// `kubernetes/1.31.2 expires 2027-01-31T00:00:00Z, in local`.
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
        format!("{}{class}{date}, in {}", self.version, self.profile)
    }
}

/// What differs between two states of the same CloudProfiles, version by version.
pub(in crate::pages) fn changed(before: &[CloudProfile], after: &[CloudProfile]) -> Vec<Changed> {
    fn entries(spec: &CloudProfileSpec) -> Vec<(String, Option<String>, Option<DateTime<Utc>>)> {
        let of = |subject: &str, entry: &dyn Expirable| {
            let class = entry.classification().map(str::to_owned);
            (format!("{subject}/{}", entry.version()), class, entry.expiration_date())
        };
        let mut all: Vec<_> = spec.kubernetes.versions.iter().map(|entry| of("kubernetes", entry)).collect();
        for image in &spec.machine_images {
            all.extend(image.versions.iter().map(|entry| of(&image.name, entry)));
        }
        all
    }
    let mut changed = Vec::new();
    for (old, new) in before.iter().zip(after) {
        for (was, is) in entries(&old.spec).into_iter().zip(entries(&new.spec)).filter(|(was, is)| was != is) {
            let classification =
                if was.1 == is.1 { "same".to_owned() } else { is.1.unwrap_or_else(|| "none".to_owned()) };
            let expires = match (was.2 == is.2, is.2) {
                (true, _) => String::new(),
                (false, Some(date)) => time::machine(date),
                (false, None) => "none".to_owned(),
            };
            changed.push(Changed { profile: old.metadata.name.clone(), version: is.0, classification, expires });
        }
    }
    changed
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
    fn only_what_differs_is_applied() {
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
}
