// SPDX-License-Identifier: Apache-2.0
//! Versions that CloudProfiles offer at an instant, their users and their successors.
//!
//! **Tour.** [`users`] effects of a version's dates on each user.

pub mod users;

use std::collections::{BTreeMap, BTreeSet};

use api::core::{CloudProfileSpec, MachineImage, Shoot, Worker};
use chrono::{DateTime, TimeDelta, Utc};
use domain::admission::shoot::default_kubernetes_version;
use domain::cloud_profile;
use domain::maintenance::kubernetes_update;
use domain::profile::Profile;
use domain::release::Release;
use domain::versions::{Expirable, Gap, Moment, State, Strategy, Version, choose, gap, shown_default};
use serde_json::{Value, json};

use crate::inventory::Inventory;
use crate::names::ProfileKey;
use crate::past::rows::{PoolRow, ShootRow};
use crate::show;

/// A version that a profile offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `NAME` of a CloudProfile, `NAMESPACE/NAME` of a NamespacedCloudProfile.
    pub profile: String,
    /// `kubernetes`, or the name of a machine image.
    pub subject: String,
    /// Version as written in the profile.
    pub version: String,
    /// True if it is the default to show to users: the highest supported version, otherwise the highest unclassified one.
    pub is_default: bool,
    /// State at the instant.
    pub state: State,
    /// Expiration date; may be in the past.
    pub expires: Option<DateTime<Utc>>,
    /// Whole days until expiration; negative once it has passed, even on the same day.
    pub days_left: Option<i64>,
    /// Target of an automatic update.
    pub automatic_target: Option<String>,
    /// Target of the forced update once the version has expired.
    pub forced_target: Option<String>,
    /// Number of Shoots that use it: Kubernetes as the control plane's version, an image in some pool.
    pub shoots: usize,
    /// Number of worker pools that use it: Kubernetes as the pool's own version.
    pub pools: usize,
    /// True if the API allows its removal from the profile.
    pub is_removable: bool,
}

/// Keys of a row's object, in the order of the columns.
pub const KEYS: [&str; 12] = [
    "profile",
    "subject",
    "version",
    "default",
    "state",
    "expires",
    "daysLeft",
    "automaticTarget",
    "forcedTarget",
    "shoots",
    "pools",
    "removable",
];

impl Row {
    /// Formats the row as JSON for scripts, with keys [`KEYS`].
    pub fn object(&self) -> Value {
        json!({
            "profile": self.profile,
            "subject": self.subject,
            "version": self.version,
            "default": if self.is_default { "*" } else { "" },
            "state": self.state.to_string(),
            "expires": self.expires.map(show),
            "daysLeft": self.days_left,
            "automaticTarget": self.automatic_target,
            "forcedTarget": self.forced_target,
            "shoots": self.shoots,
            "pools": self.pools,
            "removable": self.is_removable,
        })
    }
}

/// Versions that profiles offer, with warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Kubernetes first, then images in the profile's order; each with the highest version first.
    pub rows: Vec<Row>,
    /// Sentences that begin with the profile's name.
    pub warnings: Vec<String>,
}

/// Numbers of users of a profile's versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Numbers of Shoots with a version of Kubernetes, and of pools with their own version.
    kubernetes: BTreeMap<String, (usize, usize)>,
    /// Numbers of Shoots with an image version in some pool, and of those pools; by image and version.
    images: BTreeMap<(String, String), (usize, usize)>,
}

impl Uses {
    /// Counts the users among Shoots.
    pub fn of<'a>(shoots: impl IntoIterator<Item = &'a Shoot>) -> Self {
        let mut uses = Self::default();
        for shoot in shoots {
            let own = |worker: &'a Worker| worker.kubernetes.as_ref().and_then(|own| own.version.as_deref());
            let image = |worker: &'a Worker| {
                let image = worker.machine.image.as_ref()?;
                Some((image.name.as_str(), image.version.as_deref().unwrap_or_default()))
            };
            let pools = shoot.spec.provider.workers.iter().map(|worker| (own(worker), image(worker)));
            uses.add(&shoot.spec.kubernetes.version, pools);
        }
        uses
    }

    /// Counts the users among rows of Shoots.
    pub fn of_rows<'a>(rows: impl IntoIterator<Item = &'a ShootRow>) -> Self {
        let mut uses = Self::default();
        for row in rows {
            let image =
                |pool: &'a PoolRow| Some((&*pool.image, &*pool.image_version)).filter(|(image, _)| !image.is_empty());
            uses.add(&row.spec.kubernetes, row.spec.pools.iter().map(|pool| (pool.kubernetes.as_deref(), image(pool))));
        }
        uses
    }

    /// Counts a Shoot; `pools`: each pool's own Kubernetes version, and its image with the version.
    fn add<'a>(&mut self, version: &str, pools: impl Iterator<Item = (Option<&'a str>, Option<(&'a str, &'a str)>)>) {
        let kubernetes = |uses: &mut Self, version: &str, (shoots, pools): (usize, usize)| {
            let (all_shoots, all_pools) = entry(&mut uses.kubernetes, version);
            (*all_shoots, *all_pools) = (*all_shoots + shoots, *all_pools + pools);
        };
        kubernetes(self, version, (1, 0));
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for (own, image) in pools {
            if let Some(own) = own {
                kubernetes(self, own, (0, 1));
            }
            let Some(image) = image else { continue };
            let uses = self.images.entry((image.0.to_owned(), image.1.to_owned())).or_default();
            uses.1 += 1;
            if !seen.contains(&image) {
                uses.0 += 1;
                seen.push(image);
            }
        }
    }

    /// Numbers of Shoots with a version of Kubernetes, and of pools with their own version.
    pub fn of_kubernetes(&self, version: &str) -> (usize, usize) {
        self.kubernetes.get(version).copied().unwrap_or_default()
    }

    fn of_image(&self, image: &str, version: &str) -> (usize, usize) {
        self.images.get(&(image.to_owned(), version.to_owned())).copied().unwrap_or_default()
    }
}

/// Returns the counts of a key, which is copied only if it is new.
fn entry<'a>(map: &'a mut BTreeMap<String, (usize, usize)>, key: &str) -> &'a mut (usize, usize) {
    if !map.contains_key(key) {
        map.insert(key.to_owned(), (0, 0));
    }
    map.get_mut(key).expect("it was put there")
}

/// Instant and rules for evaluating versions.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Instant of the evaluation.
    pub now: DateTime<Utc>,
    /// Profile of the rules: documents or upstream.
    pub profile: Profile,
    /// Release of Gardener.
    pub release: Release,
}

/// Returns the versions that an inventory's profiles offer at an instant, for all profiles or one. `None`: there is no such
/// profile.
pub fn offered(inventory: &Inventory, wanted: Option<&str>, now: DateTime<Utc>, profile: Profile) -> Option<Offered> {
    let uses = |key: &ProfileKey| Uses::of(inventory.shoots.iter().filter(|shoot| ProfileKey::of(shoot) == *key));
    offered_to(&inventory.offers(), &uses, wanted, Rules { now, profile, release: inventory.release })
}

/// Returns the versions that profiles offer, like [`offered`], with the users of each.
pub fn offered_to(
    offers: &BTreeMap<ProfileKey, CloudProfileSpec>,
    uses: &dyn Fn(&ProfileKey) -> Uses,
    wanted: Option<&str>,
    rules: Rules,
) -> Option<Offered> {
    let mut found = None;
    for (key, offered) in offers {
        let name = key.shown();
        if wanted.is_some_and(|wanted| name != wanted) {
            continue;
        }
        let found = found.get_or_insert_with(Offered::default);
        let view = View { name, offered, users: uses(key), rules };
        view.list(&mut found.rows);
        view.warn(&mut found.warnings);
    }
    found
}

/// A profile at an instant.
struct View<'a> {
    name: String,
    offered: &'a CloudProfileSpec,
    users: Uses,
    rules: Rules,
}

impl View<'_> {
    const fn at(&self) -> Moment {
        Moment::new(self.rules.now, self.rules.release)
    }

    /// Instant, not before now, at which a version with an expiration date has expired.
    fn expired(&self, date: DateTime<Utc>) -> Moment {
        self.at().at((date + TimeDelta::nanoseconds(1)).max(self.rules.now))
    }

    fn list(&self, rows: &mut Vec<Row>) {
        let versions = &self.offered.kubernetes.versions;
        let default = shown_default(versions, self.at()).map(|entry| entry.version.as_str());
        for entry in sorted(versions.iter()) {
            let (shoots, pools) = self.users.of_kubernetes(&entry.version);
            let blocking = if self.rules.profile.worker_pool_versions_are_in_use() { shoots + pools } else { shoots };
            let (automatic, forced) = targets(versions, &entry.version, Strategy::Kubernetes, self.at());
            rows.push(self.row("kubernetes", entry, (automatic, forced), (shoots, pools), blocking == 0, default));
        }
        for image in &self.offered.machine_images {
            for entry in sorted(image.versions.iter()) {
                let (shoots, pools) = self.users.of_image(&image.name, &entry.version);
                let targets = image_targets(image, &entry.version, self.at());
                rows.push(self.row(&image.name, entry, targets, (shoots, pools), pools == 0, None));
            }
        }
    }

    fn row(
        &self,
        subject: &str,
        entry: &impl Expirable,
        (automatic, forced): (Option<String>, Option<String>),
        (shoots, pools): (usize, usize),
        is_removable: bool,
        default: Option<&str>,
    ) -> Row {
        let expires = self.at().expiration(entry);
        Row {
            profile: self.name.clone(),
            subject: subject.to_owned(),
            version: entry.version().to_owned(),
            is_default: default == Some(entry.version()),
            state: self.at().state(entry),
            expires,
            days_left: expires.map(|date| days_left(date, self.rules.now)),
            automatic_target: automatic,
            forced_target: forced,
            shoots,
            pools,
            is_removable,
        }
    }

    fn warn(&self, warnings: &mut Vec<String>) {
        let versions = &self.offered.kubernetes.versions;
        let name = &self.name;
        let path = apimachinery::field::Path::new("spec");
        let shown = shown_default(versions, self.at()).map(|entry| entry.version.clone());
        let filled = default_kubernetes_version(versions, "", self.at(), &path).ok().flatten();
        match (&shown, &filled) {
            (None, Some(filled)) => warnings.push(format!(
                "{name}: no version is supported or unclassified, so none is marked; an empty spec.kubernetes.version gives {filled}"
            )),
            (Some(shown), Some(filled)) if shown != filled => warnings.push(format!(
                "{name}: {shown} is shown as the default, but an empty spec.kubernetes.version gives {filled}"
            )),
            _ => {}
        }
        self.warn_of_users(warnings);
        let mut ends = BTreeSet::new();
        for entry in versions {
            if Version::parse(&entry.version).is_err() {
                warnings.push(format!(
                    "{name}: kubernetes {} is no version; maintenance may not read the versions behind it in the list",
                    entry.version
                ));
                continue;
            }
            let judged = self.at().state(entry);
            let expiration = self.at().expiration(entry);
            if judged == State::Deprecated && expiration.is_none() {
                warnings
                    .push(format!("{name}: kubernetes {} is deprecated, but has no expiration date", entry.version));
            }
            let Some(expiration) = expiration else { continue };
            let expired_by_then = self.expired(expiration);
            let outcome = kubernetes_update(&entry.version, false, versions, None, expired_by_then);
            if outcome.is_some_and(|outcome| outcome.result.is_err()) {
                warnings.push(format!(
                    "{name}: kubernetes {}: {}",
                    entry.version,
                    self.dead_end(&entry.version, expired_by_then, judged == State::Expired)
                ));
                ends.extend(Version::parse(&entry.version).map(|version| (version.major, version.minor)));
            }
        }
        warnings.extend(self.gaps(&ends));
        for image in &self.offered.machine_images {
            for entry in &image.versions {
                let expiration = self.at().expiration(entry);
                if self.at().state(entry) == State::Deprecated && expiration.is_none() {
                    warnings.push(format!(
                        "{name}: {} {} is deprecated, but has no expiration date",
                        image.name, entry.version
                    ));
                }
                let date = expiration.map(|date| self.expired(date));
                if let Some(then) = date
                    && image_targets(image, &entry.version, then).1.is_none()
                {
                    warnings.push(format!(
                        "{name}: {} {} {}, and no version follows it (update strategy: {})",
                        image.name,
                        entry.version,
                        if self.at().state(entry) == State::Expired { "has expired" } else { "expires" },
                        image.update_strategy.as_deref().unwrap_or("major")
                    ));
                }
            }
        }
    }

    /// Adds warnings about versions that are used but not offered.
    fn warn_of_users(&self, warnings: &mut Vec<String>) {
        let mut unknown: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut use_of = |subject: &str, version: &str, is_known: bool, count: usize| {
            if !is_known {
                *unknown.entry((subject.to_owned(), version.to_owned())).or_default() += count;
            }
        };
        let is_known = |version: &str| self.offered.kubernetes.versions.iter().any(|entry| entry.version == version);
        for (version, (shoots, pools)) in &self.users.kubernetes {
            use_of("kubernetes", version, is_known(version), shoots + pools);
        }
        for ((image, version), (_, pools)) in &self.users.images {
            let known = cloud_profile::machine_image_version(self.offered, image, version);
            use_of(image, version, known.is_some(), *pools);
        }
        for ((subject, version), count) in unknown {
            let uses = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            warnings.push(format!("{}: {subject} {version} is in use ({uses}), but it is not offered", self.name));
        }
    }

    /// Warnings about minors whose successor is missing while a higher one is offered, except those in `told`.
    fn gaps(&self, told: &BTreeSet<(u64, u64)>) -> Vec<String> {
        let versions = &self.offered.kubernetes.versions;
        let minors: BTreeSet<(u64, u64)> = versions
            .iter()
            .filter_map(|entry| Version::parse(&entry.version).ok())
            .map(|version| (version.major, version.minor))
            .collect();
        let pairs = minors.iter().zip(minors.iter().skip(1));
        let gaps = pairs.filter(|((major, minor), (next_major, next))| major == next_major && *next > minor + 1);
        gaps.filter(|(minor, _)| !told.contains(*minor))
            .map(|((major, minor), (_, next))| {
                format!(
                    "{}: the next minor after kubernetes {major}.{minor}, {major}.{}, is missing, while {major}.{next} is \
                     offered: nobody gets there, since a minor cannot be skipped",
                    self.name,
                    minor + 1
                )
            })
            .collect()
    }

    /// Reason for which no version of Kubernetes follows at expiration.
    fn dead_end(&self, version: &str, then: Moment, has_expired: bool) -> String {
        let missing = match gap(&self.offered.kubernetes.versions, version, then) {
            Some(Gap::Unreadable) => return "is no version".to_owned(),
            Some(Gap::EndOfLife) => "nothing higher is offered".to_owned(),
            Some(Gap::NextMinorMissing) => match Version::parse(version) {
                Ok(own) => format!("the next minor {}.{} is missing", own.major, own.minor.saturating_add(1)),
                Err(_) => "the next minor is missing".to_owned(),
            },
            Some(Gap::Previews(versions)) => format!("only previews are ahead: {}", versions.join(", ")),
            None => "maintenance finds no version to go to".to_owned(),
        };
        if has_expired { format!("it has expired, and {missing}") } else { format!("when it expires, {missing}") }
    }
}

/// Whole days until a date; negative once it has passed, even on the same day.
fn days_left(date: DateTime<Utc>, now: DateTime<Utc>) -> i64 {
    (date - now).num_seconds().div_euclid(24 * 60 * 60)
}

/// Returns the automatic and the forced target of a version.
fn targets<V: Expirable>(
    versions: &[V],
    version: &str,
    strategy: Strategy,
    at: Moment,
) -> (Option<String>, Option<String>) {
    let target = |is_forced: bool| {
        let choice = choose(versions, version, strategy, is_forced, at).ok()?;
        choice.entry.map(|entry| entry.version().to_owned())
    };
    (target(false), target(true))
}

/// Returns the automatic and the forced target of an image version, for a pool that can run every version.
fn image_targets(image: &MachineImage, version: &str, at: Moment) -> (Option<String>, Option<String>) {
    targets(&image.versions, version, Strategy::of_image(image.update_strategy.as_deref()), at)
}

/// Sorts with the highest version first; invalid versions are last.
fn sorted<'a, V: Expirable + 'a>(entries: impl Iterator<Item = &'a V>) -> Vec<&'a V> {
    let mut entries: Vec<&V> = entries.collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(Version::parse(entry.version()).ok()));
    entries
}
