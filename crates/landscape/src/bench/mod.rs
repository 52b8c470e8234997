// SPDX-License-Identifier: Apache-2.0
//! Benchmarks of whole landscapes. Wall time and memory are provided by the caller.

mod rollout;

use std::fmt;

use api::cluster;
use api::constants::{operation_state, operation_type};
use api::core::Shoot;
use api::joined;
use apimachinery::Resource;
use bytes::Bytes;
use chrono::TimeDelta;
use clock::{Instant, TimerClass};
use controller::{Api, ListOptions, Patch, Reflector};
use eventlog::{Append, EventLog, Expect, Key, MemoryLog, Revision, Sections, Verb};
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;
use crate::landscape::{Landscape, Memory};
use crate::options::Options;
use crate::{preset, wait};

pub use self::rollout::{Rollout, rollout};

/// Number of patches per instant: fewer than the live-lock guard allows for one object.
const PATCHES_PER_INSTANT: u32 = 50;

/// Measurements of the process.
pub struct Probe<'a> {
    /// Seconds of wall time since an arbitrary instant.
    pub wall: &'a dyn Fn() -> f64,
    /// Resident memory in bytes.
    pub resident: &'a dyn Fn() -> u64,
}

impl fmt::Debug for Probe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

/// Figures of a landscape of Shoots over some days, after all of them were created.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Number of Shoots.
    pub shoots: usize,
    /// Number of simulated days.
    pub days: u32,
    /// Seconds from the first creation to the last `Create Succeeded`.
    pub create_seconds: f64,
    /// Entries per second during the creation.
    pub create_entries_per_second: f64,
    /// Seconds of wall time for the days.
    pub seconds: f64,
    /// Landscape days per second.
    pub days_per_second: f64,
    /// Number of entries of the days.
    pub entries: u64,
    /// Entries per second.
    pub entries_per_second: f64,
    /// Entries per Shoot and day.
    pub entries_per_shoot_day: f64,
    /// Timers per Shoot and day.
    pub timers_per_shoot_day: f64,
    /// Bytes of memory per Shoot once all were created.
    pub bytes_per_shoot: u64,
    /// Memory at the end, by owner.
    pub memory: Memory,
    /// Resident memory at the end in bytes, as reported by the kernel.
    pub resident: u64,
    /// Hash of the canonical log.
    pub hash: String,
}

/// Figures of status patches of one Shoot while reflectors watch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusPatches {
    /// Number of reflectors of Shoots.
    pub reflectors: usize,
    /// Number of patches.
    pub patches: u32,
    /// Microseconds per patch, delivery to all reflectors included.
    pub microseconds: f64,
}

/// Figures of appends to a memory log.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Appends {
    /// Number of appends.
    pub appends: u32,
    /// Microseconds per append of a status change to an object of 5 KB.
    pub microseconds: f64,
    /// Retained bytes per append.
    pub bytes: f64,
}

/// Start of every benchmark.
fn start() -> Instant {
    Instant::from_timestamp(1_690_488_000, 0).expect("2023-07-27T20:00:00Z is in range")
}

/// Creates `shoots` Shoots and lets `days` days pass. Retains history for a few hours.
pub fn run(shoots: usize, days: u32, seed: u64, probe: &Probe<'_>) -> Result<Run, Failure> {
    let mut options = Options::new(seed, start());
    options.history = Some(100_000);
    let landscape = Landscape::start(options)?;
    let admin = landscape.client("admin");
    let limit = start() + TimeDelta::hours(3);
    let refused = |error| Failure::Refused("create the objects of the benchmark".to_owned(), error);
    let prepared = landscape.run_until_done(limit, preset::create(&admin))?;
    prepared.ok_or_else(|| landscape.stuck())?.map_err(refused)?;

    let (resident, began, before) = ((probe.resident)(), (probe.wall)(), landscape.counts().entries);
    let api = Api::<Shoot>::namespaced(&admin, cluster::GARDEN, preset::NAMESPACE);
    let created = landscape.run_until_done(limit, async {
        for number in 0..shoots {
            api.create(&preset::shoot(&format!("s{number}"))).await?;
        }
        wait::for_count(&api, shoots, |shoot| {
            let operation = shoot.status.last_operation.as_ref();
            operation.is_some_and(|operation| {
                operation.r#type == operation_type::CREATE && operation.state == operation_state::SUCCEEDED
            })
        })
        .await
    })?;
    created.ok_or_else(|| landscape.stuck())?.map_err(refused)?;
    let create_seconds = (probe.wall)() - began;
    let bytes_per_shoot = (probe.resident)().saturating_sub(resident) / shoots.max(1) as u64;
    let create_entries = landscape.counts().entries - before;

    let (began, before, from) = ((probe.wall)(), landscape.counts(), landscape.now());
    landscape.run_until(from + TimeDelta::days(i64::from(days)))?;
    let seconds = (probe.wall)() - began;
    let after = landscape.counts();
    let entries = after.entries - before.entries;
    let shoot_days = (shoots as f64 * f64::from(days)).max(1.0);
    Ok(Run {
        shoots,
        days,
        create_seconds,
        create_entries_per_second: create_entries as f64 / create_seconds,
        seconds,
        days_per_second: f64::from(days) / seconds,
        entries,
        entries_per_second: entries as f64 / seconds,
        entries_per_shoot_day: entries as f64 / shoot_days,
        timers_per_shoot_day: (after.timers - before.timers) as f64 / shoot_days,
        bytes_per_shoot,
        memory: landscape.memory(),
        resident: (probe.resident)(),
        hash: landscape.canonical_hash(),
    })
}

/// Patches the status of one Shoot, which no component touches, while `reflectors` clients watch.
pub fn status_patches(reflectors: usize, patches: u32, probe: &Probe<'_>) -> Result<StatusPatches, Failure> {
    let mut options = Options::new(1, start());
    options.seeds.clear();
    let landscape = Landscape::start(options)?;
    let admin = landscape.client("admin");
    let refused = |error| Failure::Refused("patch the status of the benchmark's Shoot".to_owned(), error);
    let limit = start() + TimeDelta::hours(1);
    let prepared = landscape.run_until_done(limit, preset::create(&admin))?;
    prepared.ok_or_else(|| landscape.stuck())?.map_err(refused)?;
    let api = Api::<Shoot>::namespaced(&admin, cluster::GARDEN, preset::NAMESPACE);
    landscape.run(api.create(&preset::shoot("s")))?.map_err(refused)?;
    let stores: Vec<_> = (0..reflectors)
        .map(|number| {
            let client = landscape.client(&format!("reflector-{number}"));
            Reflector::new(Api::<Shoot>::all(&client, cluster::GARDEN), ListOptions::default()).start()
        })
        .collect();
    landscape.settle()?;
    let began = (probe.wall)();
    let (first, clock) = (landscape.now(), landscape.clock());
    let patching = async {
        for number in 0..patches {
            // The guard limits the changes of an object per instant.
            if number % PATCHES_PER_INSTANT == 0 {
                clock.sleep(TimeDelta::seconds(1), TimerClass::Work).await;
            }
            let patch = json!({"status": {"lastOperation": {
                "description": format!("step {number}"),
                "lastUpdateTime": "2023-07-27T20:00:00Z",
                "progress": number % 100,
                "state": "Processing",
                "type": "Reconcile",
            }}});
            api.patch_subresource("s", "status", &Patch::Merge(patch)).await?;
        }
        Ok(())
    };
    let patched = landscape.run_until_done(first + TimeDelta::days(1), patching)?;
    patched.ok_or_else(|| landscape.stuck())?.map_err(refused)?;
    landscape.settle()?;
    let microseconds = ((probe.wall)() - began) * 1e6 / f64::from(patches.max(1));
    drop(stores);
    Ok(StatusPatches { reflectors, patches, microseconds })
}

/// Appends status changes of an object of 5 KB to a memory log.
pub fn appends(appends: u32, probe: &Probe<'_>) -> Appends {
    let log = MemoryLog::new();
    let actor = std::sync::Arc::new(eventlog::Actor::default());
    let key = Key::new("garden", joined!(Shoot::GROUP, "/", Shoot::PLURAL), "garden-demo", "local");
    let rest = Bytes::from("x".repeat(3000));
    let (before, began) = ((probe.resident)(), (probe.wall)());
    let mut at = Revision(0);
    for number in 0..appends {
        let status = format!("{}{number:010}{}", "y".repeat(1000), "z".repeat(1000));
        let parts = [Bytes::new(), Bytes::new(), Bytes::new(), rest.clone(), Bytes::from(status)];
        let append = Append {
            key: key.clone(),
            expect: if number == 0 { Expect::Absent } else { Expect::Revision(at) },
            guards: Vec::new(),
            verb: if number == 0 { Verb::Create } else { Verb::UpdateStatus },
            object: Sections { parts },
            volatile: false,
            actor: actor.clone(),
            time: start(),
            writer: (1, u64::from(number)),
        };
        at = futures::FutureExt::now_or_never(log.append(append))
            .expect("a memory log appends at once")
            .expect("the object is at the revision of the last append")
            .revision;
    }
    let count = f64::from(appends.max(1));
    Appends {
        appends,
        microseconds: ((probe.wall)() - began) * 1e6 / count,
        bytes: (probe.resident)().saturating_sub(before) as f64 / count,
    }
}
