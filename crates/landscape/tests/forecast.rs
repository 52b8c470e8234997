// SPDX-License-Identifier: Apache-2.0
//! A forecast tells what the landscape does: the same versions of the same pools at the same instants.

mod support;

use std::collections::BTreeMap;

use api::core::{CloudProfile, ExpirableVersion, MachineImageVersion, Shoot, WorkerKubernetes};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use clock::Random;
use controller::Api;
use domain::forecast::{self, Offer, Settings};
use domain::validation::shoot::Gates;
use domain::worker_pool::HashVersion;
use landscape::{Options, preset, wait};
use support::{Audited, instant, is};

const START: &str = "2023-06-15T12:00:00Z";
const CHANGED: &str = "2023-06-20T12:00:00Z";
const END: &str = "2023-06-29T12:00:00Z";
const SHOOTS: u64 = 3;

/// Shoot, pool, new version and when it got it; no pool is the control plane.
type Move = (String, Option<String>, String, DateTime<Utc>);

/// Worlds to compare; more with `TERRARIUM_TEST_WORLDS`.
fn worlds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how long a test runs is decided outside of it")]
    let count = std::env::var("TERRARIUM_TEST_WORLDS");
    count.ok().and_then(|count| count.parse().ok()).unwrap_or(3)
}

#[test]
fn forecasts_and_landscapes_agree() {
    let mut moved = 0;
    for seed in 1..=worlds() {
        moved += check(seed);
    }
    assert!(moved > 10, "the worlds are too quiet: {moved}");
}

#[track_caller]
fn check(seed: u64) -> usize {
    let mut audited = Audited::start(Options::new(seed, instant(START)));
    let admin = audited.admin.clone();
    audited.until_done("2023-06-15T12:01:00Z", preset::create(&admin));
    let profiles = Api::<CloudProfile>::all(&admin, "garden");
    let stored = audited.run(profiles.get("local")).expect("the preset has it");
    let world = World(Random::new(seed));
    let first = audited.run(profiles.replace(&world.profile(stored))).expect("a valid CloudProfile");
    let shoots = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
    let mut given = Vec::new();
    for index in 0..SHOOTS {
        let shoot = world.shoot(index, &first);
        let name = shoot.metadata.name.clone();
        audited.run(shoots.create(&shoot)).expect("a valid Shoot");
        let created = wait::for_object(&shoots, &name, |shoot| is(shoot, "Create", "Succeeded"));
        given.push(audited.until_done("2023-06-15T13:00:00Z", created));
    }
    audited.until(CHANGED);
    let mut second = audited.run(profiles.get("local")).expect("it is there");
    for version in &mut second.spec.kubernetes.versions {
        if version.version.starts_with("1.28.") {
            version.expiration_date = Some(Time(instant(CHANGED) + TimeDelta::days(2)));
        }
    }
    let second = audited.run(profiles.replace(&second)).expect("a valid change");
    audited.until(END);

    let changes = vec![(instant(CHANGED), second.spec)];
    let offer = Offer { name: "local".to_owned(), first: first.spec, changes };
    let random = audited.landscape.random().clone();
    let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
    let settings = Settings {
        from: instant("2023-06-15T13:00:00Z"),
        until: instant(END),
        draw: &draw,
        gates: Gates::default(),
        hash_version: HashVersion::V1,
    };
    let mut foretold: Vec<Move> = Vec::new();
    for shoot in &given {
        for change in forecast::course(shoot, &offer, &settings).changes {
            if let (Some(to), None) = (change.to, change.failure) {
                foretold.push((shoot.metadata.name.clone(), change.pool, to, cut(change.time)));
            }
        }
    }
    let mut happened = moves(&audited);
    foretold.sort();
    happened.sort();
    assert_eq!(foretold, happened, "seed {seed}");
    foretold.len()
}

fn cut(time: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp(time.timestamp(), 0).expect("in range")
}

/// The versions of a Shoot by pool.
fn versions(shoot: &Shoot) -> BTreeMap<Option<String>, Vec<String>> {
    let mut versions = BTreeMap::from([(None, vec![shoot.spec.kubernetes.version.clone()])]);
    for worker in &shoot.spec.provider.workers {
        let own = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.clone());
        let image = worker.machine.image.as_ref().and_then(|image| image.version.clone());
        versions.insert(Some(worker.name.clone()), vec![own.unwrap_or_default(), image.unwrap_or_default()]);
    }
    versions
}

/// Every change of a version, as the log tells it.
fn moves(audited: &Audited) -> Vec<Move> {
    let mut known: BTreeMap<String, Shoot> = BTreeMap::new();
    let mut moves = Vec::new();
    for entry in audited.entries() {
        if &*entry.key.resource != "core.gardener.cloud/shoots" || entry.verb == eventlog::Verb::Delete {
            continue;
        }
        let shoot: Shoot = serde_json::from_slice(&entry.object.parts.concat()).expect("a Shoot");
        let name = shoot.metadata.name.clone();
        if let Some(before) = known.get(&name).map(versions) {
            for (pool, after) in versions(&shoot) {
                let before = before.get(&pool).cloned().unwrap_or_default();
                for (old, new) in before.iter().zip(&after).filter(|(old, new)| old != new) {
                    assert!(!old.is_empty(), "{name}: {pool:?} gets {new}");
                    moves.push((name.clone(), pool.clone(), new.clone(), cut(entry.time)));
                }
            }
        }
        known.insert(name, shoot);
    }
    moves
}

/// What a seed makes of CloudProfile and Shoots.
struct World(Random);

impl World {
    fn below(&self, bound: u64, what: &str, ordinal: u64) -> u64 {
        self.0.below(bound, "forecast-test", what, ordinal)
    }

    /// Some days after the start, or never.
    fn date(&self, what: &str, ordinal: u64) -> Option<Time> {
        let days = i64::try_from(self.below(16, what, ordinal)).expect("small");
        (days > 3).then(|| Time(instant(START) + TimeDelta::days(days) - TimeDelta::hours(1)))
    }

    fn classification(&self, what: &str, ordinal: u64) -> Option<String> {
        match self.below(4, what, ordinal) {
            0 => Some("preview".to_owned()),
            1 => Some("deprecated".to_owned()),
            _ => None,
        }
    }

    fn profile(&self, mut profile: CloudProfile) -> CloudProfile {
        profile.spec.kubernetes.versions = (0..12)
            .map(|index| {
                let is_last = index == 11;
                ExpirableVersion {
                    version: format!("1.{}.{}", 28 + index / 3, 1 + index % 3),
                    expiration_date: self.date("kubernetes", index).filter(|_| !is_last),
                    classification: self
                        .classification("kubernetes-class", index)
                        .filter(|_| !is_last && index % 3 > 0),
                }
            })
            .collect();
        let image = &mut profile.spec.machine_images[0];
        image.update_strategy =
            Some(["patch", "minor", "major"][usize::try_from(self.below(3, "strategy", 0)).expect("small")].to_owned());
        let like = image.versions[0].clone();
        image.versions = (0..6)
            .map(|index| MachineImageVersion {
                version: format!("{}.{}.0", 1 + index / 2, index % 2),
                expiration_date: self.date("image", index),
                classification: self.classification("image-class", index).filter(|_| index > 0),
                ..like.clone()
            })
            .collect();
        profile
    }

    fn shoot(&self, index: u64, profile: &CloudProfile) -> Shoot {
        let mut shoot = preset::shoot(&format!("s{index}"));
        let minor = 28 + self.below(3, "minor", index);
        shoot.spec.kubernetes.version = format!("1.{minor}.1");
        let hour = [15, 18, 21, 1, 4][usize::try_from(self.below(5, "hour", index)).expect("small")];
        let maintenance = shoot.spec.maintenance.get_or_insert_default();
        maintenance.time_window = Some(api::core::MaintenanceTimeWindow {
            begin: format!("{hour:02}0000+0000"),
            end: format!("{:02}0000+0000", hour + 1),
        });
        let auto_update = maintenance.auto_update.get_or_insert_default();
        auto_update.kubernetes_version = self.below(2, "auto-kubernetes", index) == 0;
        auto_update.machine_image_version = Some(self.below(2, "auto-image", index) == 0);
        let worker = &mut shoot.spec.provider.workers[0];
        (worker.minimum, worker.maximum) = (1, 1);
        let image = worker.machine.image.get_or_insert_default();
        image.version = Some(profile.spec.machine_images[0].versions[0].version.clone());
        let mut other = worker.clone();
        "other".clone_into(&mut other.name);
        other.kubernetes =
            Some(WorkerKubernetes { version: Some(shoot.spec.kubernetes.version.clone()), kubelet: None });
        shoot.spec.provider.workers.push(other);
        shoot
    }
}
