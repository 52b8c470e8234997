// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/managedseed @ v1.120.0: deployment of a gardenlet for a Shoot that becomes a Seed.

use api::core::{Seed, Shoot};
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Pod;
use api::seedmanagement::ManagedSeed;
use api::terrarium::Cluster;
use apimachinery::Status;
use serde_json::json;
use testkit::{World, object};

use super::{start_gardenlet_with_pods, world};

const SOON: &str = "2025-06-02T12:00:10Z";

/// Returns Shoot `garden/m` on a Seed, whose last operation is in a state.
fn shoot_on(seed: &str, state: &str) -> Shoot {
    object(json!({
        "metadata": {"name": "m", "namespace": "garden", "generation": 1, "finalizers": ["gardener"], "uid": "1",
            "labels": {format!("name.seed.gardener.cloud/{seed}"): "true"}},
        "spec": {
            "seedName": seed, "region": "local",
            "cloudProfile": {"kind": "CloudProfile", "name": "local"},
            "kubernetes": {"version": "1.27.1"},
            "provider": {"type": "local", "workers": []},
        },
        "status": {
            "technicalID": "shoot--garden--m", "seedName": seed, "uid": "1", "observedGeneration": 1,
            "gardener": {"version": "v1.120.0"},
            "lastOperation": {"type": "Create", "state": state, "progress": 100,
                "lastUpdateTime": "2025-06-02T11:59:00Z"},
        },
    }))
}

fn managed_seed() -> ManagedSeed {
    let config = json!({
        "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1", "kind": "GardenletConfiguration",
        "seedConfig": {"spec": {"provider": {"type": "local", "region": "local"}}},
    });
    object(json!({
        "metadata": {"name": "m", "namespace": "garden", "generation": 1, "uid": "2"},
        "spec": {"shoot": {"name": "m"}, "gardenlet": {"config": config}},
    }))
}

fn conditions(world: &World) -> Vec<(String, String)> {
    let seed: ManagedSeed = world.get("garden", "m").expect("it is there");
    seed.status.conditions.into_iter().map(|condition| (condition.r#type, condition.status)).collect()
}

fn condition(type_: &str, status: &str) -> (String, String) {
    (type_.to_owned(), status.to_owned())
}

#[test]
fn a_reconciled_shoot_gets_a_gardenlet_of_the_same_version() {
    let mut world = world().with(shoot_on("local", "Succeeded")).with(managed_seed());
    start_gardenlet_with_pods(&mut world);
    world.advance_to(SOON);
    assert_eq!(conditions(&world), [condition("ShootReconciled", "True"), condition("SeedRegistered", "True")]);
    let seed: ManagedSeed = world.get("garden", "m").expect("it is there");
    assert_eq!(seed.metadata.finalizers, ["gardener"]);
    assert_eq!(seed.status.observed_generation, 1);
    world.get_in::<Cluster>("runtime", "", "seed--m").expect("the Seed has a cluster");
    let deployment: Deployment = world.get_in("seed--m", "garden", "gardenlet").expect("gardenlet is deployed");
    let image = &deployment.spec.template.spec.containers[0].image;
    assert!(image.ends_with(":v1.120.0"), "{image}");
}

#[test]
fn a_shoot_that_is_not_reconciled_is_waited_for() {
    for state in ["Processing", "Error", "Failed"] {
        let mut world = world().with(shoot_on("local", state)).with(managed_seed());
        start_gardenlet_with_pods(&mut world);
        let pass = world.advance_to(SOON);
        assert_eq!(conditions(&world), [condition("ShootReconciled", "False")], "{state}");
        let event = "Normal Reconciling Waiting for shoot \"garden/m\" to be reconciled";
        assert!(pass.events.iter().any(|line| line == event), "{state}: {:?}", pass.events);
        assert_eq!(world.get_in::<Cluster>("runtime", "", "seed--m"), None, "{state}");
    }
}

#[test]
fn the_wait_ends_with_the_shoots_operation() {
    let mut world = world().with(shoot_on("local", "Failed")).with(managed_seed());
    start_gardenlet_with_pods(&mut world);
    world.advance_to(SOON);
    world.change::<Shoot>("garden", "m", |shoot| {
        let operation = shoot.status.last_operation.as_mut().expect("there is one");
        "Succeeded".clone_into(&mut operation.state);
    });
    world.advance_to("2025-06-02T14:00:00Z");
    assert_eq!(conditions(&world), [condition("ShootReconciled", "True"), condition("SeedRegistered", "True")]);
}

#[test]
fn a_shoot_on_another_seed_is_its_gardenlets_concern() {
    let mut world = world().with(shoot_on("other", "Succeeded")).with(managed_seed());
    start_gardenlet_with_pods(&mut world);
    let pass = world.advance_to(SOON);
    assert_eq!(pass.writes_of("managedseeds"), [""; 0]);
    assert_eq!(world.get_in::<Cluster>("runtime", "", "seed--m"), None);
}

#[test]
fn deletion_removes_seed_then_gardenlet_then_cluster() {
    let mut world = world().with(shoot_on("local", "Succeeded")).with(managed_seed());
    start_gardenlet_with_pods(&mut world);
    world.advance_to(SOON);
    // The new gardenlet registers its Seed, which has a finalizer, and runs as a pod.
    let registered: Seed = object(json!({
        "metadata": {"name": "m", "finalizers": ["gardener"], "uid": "3"},
        "spec": {"provider": {"type": "local", "region": "local"}},
    }));
    world.put(&registered);
    let pod: Pod = object(json!({"metadata": {"name": "gardenlet-0", "namespace": "garden"}}));
    world.put_in("seed--m", &pod);
    let deployment = |world: &World| world.get_in::<Deployment>("seed--m", "garden", "gardenlet");

    world.delete_in::<ManagedSeed>("garden", "garden", "m");
    let pass = world.advance_to("2025-06-02T12:00:20Z");
    let event = "Normal Deleting Deleting seed m";
    assert_eq!(pass.events.iter().filter(|line| *line == event).count(), 1, "{:?}", pass.events);
    assert!(world.get::<Seed>("", "m").expect("it has a finalizer").metadata.is_being_deleted());
    assert!(deployment(&world).is_some(), "its gardenlet is there as long as the Seed, which it deletes");

    world.remove::<Seed>("", "m");
    world.advance_to("2025-06-02T12:00:30Z");
    assert_eq!(deployment(&world), None);
    assert!(world.get_in::<Cluster>("runtime", "", "seed--m").is_some(), "a process of it runs yet");
    let seed: ManagedSeed = world.get("garden", "m").expect("its finalizer goes last");
    assert_eq!(seed.metadata.finalizers, ["gardener"]);

    world.remove_in::<Pod>("seed--m", "garden", "gardenlet-0");
    world.advance_to("2025-06-02T12:00:40Z");
    assert_eq!(world.get_in::<Cluster>("runtime", "", "seed--m"), None);
    assert_eq!(world.get::<ManagedSeed>("garden", "m"), None);
}

#[test]
fn an_unregistered_managed_seed_is_deleted_at_once() {
    let mut world = world().with(shoot_on("local", "Processing")).with(managed_seed());
    start_gardenlet_with_pods(&mut world);
    world.advance_to(SOON);
    world.delete_in::<ManagedSeed>("garden", "garden", "m");
    let pass = world.advance_to("2025-06-02T12:00:20Z");
    assert!(!pass.events.iter().any(|line| line.starts_with("Normal Deleting")), "{:?}", pass.events);
    assert_eq!(world.get::<ManagedSeed>("garden", "m"), None);
}

#[test]
fn a_gardenlet_that_could_not_be_deployed_is_tried_again() {
    let mut world = world().with(shoot_on("local", "Succeeded")).with(managed_seed());
    for _ in 0..20 {
        world.refuse("runtime: create clusters", Status::failure(503, "ServiceUnavailable", "no answer"));
    }
    start_gardenlet_with_pods(&mut world);
    world.advance_to(SOON);
    assert!(conditions(&world).contains(&condition("SeedRegistered", "False")), "{:?}", conditions(&world));
    let pass = world.advance_to("2025-06-02T15:00:00Z");
    assert!(conditions(&world).contains(&condition("SeedRegistered", "True")), "{:?}", conditions(&world));
    let repeated = pass.events.iter().filter(|line| line.starts_with("Warning ReconcileError"));
    assert_eq!(repeated.count(), 0, "it is told once");
}
