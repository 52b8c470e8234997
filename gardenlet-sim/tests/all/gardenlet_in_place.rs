// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/shoot/status @ v1.120.0: pools with manual in-place updates are removed from the
//! Shoot's status once their Worker has reached their hash.

use api::core::Shoot;
use api::extensions::Worker;
use domain::worker_pool::HashInputs;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{SEED, TECHNICAL_ID, project, shoot, start_gardenlet, world};

/// Returns a reconciled Shoot with pools that wait for a manual update.
fn waiting(pools: &[&str]) -> Shoot {
    let workers: Vec<Value> = pools
        .iter()
        .map(|name| {
            json!({"name": name, "minimum": 1, "maximum": 1, "updateStrategy": "ManualInPlaceUpdate",
                "machine": {"type": "local", "architecture": "amd64", "image": {"name": "local", "version": "1.0.0"}}})
        })
        .collect();
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev", "generation": 1, "finalizers": ["gardener"], "uid": "1",
            "labels": {"name.seed.gardener.cloud/local": "true"}},
        "spec": {
            "seedName": "local", "region": "local",
            "cloudProfile": {"kind": "CloudProfile", "name": "local"},
            "kubernetes": {"version": "1.27.1"},
            "networking": {"type": "calico"},
            "provider": {"type": "local", "workers": workers},
        },
        "status": {
            "technicalID": TECHNICAL_ID, "seedName": "local", "uid": "1", "observedGeneration": 1,
            "gardener": {"version": "v1.120.0"},
            "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100,
                "lastUpdateTime": "2025-06-02T11:59:00Z"},
            "inPlaceUpdates": {"pendingWorkerUpdates": {"manualInPlaceUpdate": pools}},
        },
    }))
}

/// Returns a Worker that has reached the hashes of some pools of a Shoot.
fn worker(shoot: &Shoot, reached: &[&str]) -> Worker {
    let mut hashes = json!({});
    for pool in &shoot.spec.provider.workers {
        let hash = HashInputs::of_shoot(shoot, pool).in_place_pool_hash();
        hashes[&pool.name] = if reached.contains(&pool.name.as_str()) { hash.into() } else { "other".into() };
    }
    object(json!({
        "metadata": {"name": "s", "namespace": TECHNICAL_ID, "uid": "2", "generation": 1},
        "status": {"observedGeneration": 1, "inPlaceUpdates": {"workerPoolToHashMap": hashes}},
    }))
}

fn pending(world: &World) -> Vec<String> {
    let updates = shoot(world).status.in_place_updates.and_then(|updates| updates.pending_worker_updates);
    updates.map(|pending| pending.manual_in_place_update).unwrap_or_default()
}

/// Pools of the Shoot, pools whose hash the Worker has reached, pools that then still wait.
const CASES: &[(&[&str], &[&str], &[&str])] =
    &[(&["a"], &["a"], &[]), (&["a"], &[], &["a"]), (&["a", "b"], &["a"], &["b"]), (&["a", "b"], &["a", "b"], &[])];

#[test]
fn a_pool_is_removed_from_the_status_at_its_hash() {
    for (pools, reached, expected) in CASES {
        let own = waiting(pools);
        let worker = worker(&own, reached);
        let mut world = world().with(project()).with(own).with_in(SEED, worker);
        start_gardenlet(&mut world);
        world.advance_to("2025-06-02T12:00:10Z");
        assert_eq!(pending(&world), *expected, "pools {pools:?}, reached {reached:?}");
    }
}

#[test]
fn a_worker_that_reaches_the_hash_ends_the_wait() {
    let own = waiting(&["a"]);
    let (before, after) = (worker(&own, &[]), worker(&own, &["a"]));
    let mut world = world().with(project()).with(own).with_in(SEED, before);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:10Z");
    assert_eq!(pending(&world), ["a"]);
    world.change_in::<Worker>(SEED, TECHNICAL_ID, "s", |worker| worker.status = after.status);
    let pass = world.advance_to("2025-06-02T12:00:20Z");
    assert_eq!(pending(&world), [""; 0]);
    assert!(!pass.writes_of("shoots").is_empty(), "{:?}", pass.writes);
}

#[test]
fn the_force_operation_is_removed_with_the_last_pool() {
    let mut own = waiting(&["a"]);
    own.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "force-in-place-update".to_owned());
    let worker = worker(&own, &["a"]);
    let mut world = world().with(project()).with(own).with_in(SEED, worker);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:10Z");
    assert_eq!(shoot(&world).metadata.annotation("gardener.cloud/operation"), None);
}

#[test]
fn shoots_of_other_seeds_are_left_alone() {
    let mut own = waiting(&["a"]);
    let worker = worker(&own, &["a"]);
    (own.spec.seed_name, own.status.seed_name) = (Some("other".to_owned()), Some("other".to_owned()));
    let mut world = world().with(project()).with(own).with_in(SEED, worker);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:10Z");
    assert_eq!(pending(&world), ["a"]);
}
