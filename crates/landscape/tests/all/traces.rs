// SPDX-License-Identifier: Apache-2.0
//! Recorded roll-outs (`rollout-hand.jsonl`), replayed with the real controllers: provider-local,
//! machine-controller-manager and the controllers of the shoot cluster, with the durations of the recording and without
//! jitter.
//!
//! Nodes have no pods here, so the whole duration of a recorded drain and deletion is the VM's.

use std::collections::{BTreeMap, BTreeSet};

use api::extensions::{Worker, WorkerPool};
use api::machine::{Machine, MachineDeployment, MachineSet};
use api::terrarium::{Timing, TimingSpec};
use apimachinery::Resource;
use chrono::{DateTime, TimeDelta, Utc};
use controller::Api;
use serde_json::{Value, json};

use crate::node_rollout::{SEED, all, change, landscape, named, until_worker_succeeds, worker};
use crate::support::Audited;

const VECTORS: &str = include_str!("../../../domain/tests/all/vectors/rollout-hand.jsonl");

/// Prefix of names of MachineDeployments in the recordings.
const RECORDED: &str = "shoot--p--s-w1-";

fn vector(id: &str) -> Value {
    let mut parsed = VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).expect("vectors are JSON"));
    parsed.find(|vector| vector["id"] == id).unwrap_or_else(|| panic!("{id} is recorded"))
}

/// Sets the recorded durations of joining and removal.
fn set_timing(audited: &mut Audited, timing: &Value) {
    let seconds = |key: &str| timing[key].as_i64().expect("seconds");
    let durations = [
        ("machine.vmCreate", 0),
        ("machine.boot", seconds("join")),
        ("machine.join", 0),
        ("machine.criticalComponents", 0),
        ("machine.vmDelete", seconds("drain") + seconds("delete")),
        ("machine.nodeDelete", 0),
        ("extension.reconcile", 0),
    ];
    let durations = durations.into_iter().map(|(name, seconds)| (name.to_owned(), format!("{seconds}s"))).collect();
    let spec = TimingSpec { jitter_percent: Some(0), durations };
    let timing = Timing { metadata: named("", "landscape"), spec };
    let timings = Api::<Timing>::all(&audited.admin, "runtime");
    audited.run(timings.create(&timing)).expect("the timing is valid");
}

/// The recorded pool: as many zones as it has MachineDeployments.
fn recorded_pool(vector: &Value) -> Worker {
    let deployments = vector["initial"]["mds"].as_object().expect("MachineDeployments");
    let first = deployments.values().next().expect("one at least");
    let number = |value: &Value| i32::try_from(value.as_i64().expect("a number")).expect("a small number");
    let total = deployments.values().map(|deployment| number(&deployment["replicas"])).sum();
    let mut worker = worker(total, 0, 0);
    let pool: &mut WorkerPool = &mut worker.spec.pools[0];
    pool.max_surge = serde_json::from_value(first["maxSurge"].clone()).expect("a number or a percentage");
    pool.max_unavailable = serde_json::from_value(first["maxUnavailable"].clone()).expect("a number or a percentage");
    pool.zones = deployments.keys().map(|name| zone_of(name).to_owned()).collect();
    worker
}

/// `z1` of a MachineDeployment's name.
fn zone_of(name: &str) -> &str {
    name.rsplit('-').next().unwrap_or_default()
}

/// Present machines and replicas in the terms of the recordings, by zone. `old_sets`: MachineSets from before the
/// change.
fn state(audited: &mut Audited, old_sets: &BTreeSet<String>) -> BTreeMap<String, BTreeMap<&'static str, i64>> {
    let deployments = all::<MachineDeployment>(audited, SEED);
    let sets = all::<MachineSet>(audited, SEED);
    let machines = all::<Machine>(audited, SEED);
    let is_owned = |object: &dyn Fn() -> Vec<String>, owner: &str| object().iter().any(|name| name == owner);
    let owners = |metadata: &apimachinery::meta::ObjectMeta| -> Vec<String> {
        metadata.owner_references.iter().map(|owner| owner.name.clone()).collect()
    };
    deployments
        .iter()
        .map(|deployment| {
            let name = deployment.metadata().name.as_str();
            let own_sets: Vec<&MachineSet> =
                sets.iter().filter(|set| is_owned(&|| owners(&set.metadata), name)).collect();
            let own: Vec<(&Machine, bool)> = machines
                .iter()
                .filter_map(|machine| {
                    let set =
                        own_sets.iter().find(|set| is_owned(&|| owners(&machine.metadata), &set.metadata.name))?;
                    Some((machine, old_sets.contains(&set.metadata.name)))
                })
                .collect();
            let replicas = |is_old: bool| -> i64 {
                let counted = own_sets.iter().filter(|set| old_sets.contains(&set.metadata.name) == is_old);
                counted.map(|set| i64::from(set.spec.replicas)).sum()
            };
            let count = |is: &dyn Fn(&Machine, bool) -> bool| -> i64 {
                i64::try_from(own.iter().filter(|(machine, is_old)| is(machine, *is_old)).count()).expect("few")
            };
            let phase = |machine: &Machine| -> &'static str {
                match machine.status.current_status.phase.as_str() {
                    _ if machine.metadata.is_being_deleted() => "terminating",
                    "Running" => "running",
                    "" | "Pending" | "CrashLoopBackOff" => "pending",
                    _ => "other",
                }
            };
            let counts = BTreeMap::from([
                ("old", replicas(true)),
                ("new", replicas(false)),
                ("total", count(&|_, _| true)),
                ("running", count(&|machine, _| phase(machine) == "running")),
                ("pending", count(&|machine, _| phase(machine) == "pending")),
                ("terminating", count(&|machine, _| phase(machine) == "terminating")),
                ("updated", count(&|_, is_old| !is_old)),
            ]);
            (zone_of(name).to_owned(), counts)
        })
        .collect()
}

fn until(audited: &mut Audited, instant: DateTime<Utc>) {
    audited.until(&instant.to_rfc3339());
    audited.landscape.settle().expect("it settles");
}

/// Replays a recording: compares the state at each of its instants, and until the next one.
fn replay(id: &str) {
    let vector = vector(id);
    let mut audited = landscape(1);
    set_timing(&mut audited, &vector["timing"]);
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SEED).create(&recorded_pool(&vector))).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    let old_sets = all::<MachineSet>(&mut audited, SEED).into_iter().map(|set| set.metadata.name).collect();

    let began = audited.landscape.now();
    change(&mut audited, |pool| pool.machine_image.version = "1096.1.0".into());
    audited.landscape.settle().expect("it settles");
    let recorded = vector["trace"].as_array().expect("a trace");
    for (index, entry) in recorded.iter().enumerate() {
        let at = |entry: &Value| began + TimeDelta::seconds(entry["t"].as_i64().expect("seconds"));
        let zones = entry.as_object().expect("an object").iter().filter(|(key, _)| key.starts_with(RECORDED));
        let expected: BTreeMap<String, Value> =
            zones.map(|(name, counts)| (zone_of(name).to_owned(), counts.clone())).collect();
        let check = |audited: &mut Audited, when: &str| {
            let state = state(audited, &old_sets);
            assert_eq!(json!(state), json!(expected), "{id}: {when} {entry}\n{}", audited.tail(40));
        };
        until(&mut audited, at(entry));
        check(&mut audited, "at");
        if let Some(next) = recorded.get(index + 1) {
            until(&mut audited, at(next) - TimeDelta::milliseconds(1));
            check(&mut audited, "just before what follows");
        }
    }
    until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
}

#[test]
fn one_more_at_a_time() {
    replay("roll-3-s1-u0");
}

/// The example of the documentation.
#[test]
fn two_may_be_missing() {
    replay("roll-3-s0-u2");
}

#[test]
fn surge_and_unavailability_at_once() {
    replay("roll-5-s2-u1");
}

#[test]
fn percentages_are_of_the_pool() {
    replay("roll-4-pct");
}

#[test]
fn two_zones_roll_side_by_side() {
    replay("roll-2zones-min3-s1");
}
