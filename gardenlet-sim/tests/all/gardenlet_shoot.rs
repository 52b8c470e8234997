// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/shoot/shoot @ v1.120.0: start and restart of an operation.

use api::core::{Condition, Seed, Shoot};
use api::extensions::Infrastructure;
use api::kubernetes::core::Namespace;
use apimachinery::meta::ObjectMeta;
use testkit::World;
use testkit::objects::{cloud_profile, shoot as new_shoot};

use super::{SEED, TECHNICAL_ID, project, shoot, start_gardenlet, world};

/// Returns a gardenlet of a version with a Shoot whose creation has begun.
fn started_as(version: &str) -> World {
    started_in(World::at("2025-06-02T12:00:00Z").component("gardenlet", version), own())
}

fn started(shoot: Shoot) -> World {
    started_in(world(), shoot)
}

fn started_in(world: World, shoot: Shoot) -> World {
    let mut world = world.with(cloud_profile("local").kubernetes("1.27.1").build()).with(project()).with(shoot);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:20Z");
    world
}

fn own() -> Shoot {
    new_shoot("s")
        .seed("local")
        .label("name.seed.gardener.cloud/local", "true")
        .pool("a", |pool| pool.machines(1, 1).image("local", "1.0.0"))
        .build()
}

#[test]
fn a_new_shoot_is_claimed_and_its_creation_begins() {
    let world = started(own());
    let shoot = shoot(&world);
    assert_eq!(shoot.metadata.finalizers, ["gardener"]);
    let status = shoot.status;
    assert_eq!((status.technical_id.as_str(), status.seed_name.as_deref()), (TECHNICAL_ID, Some("local")));
    assert_eq!(status.observed_generation, 1);
    let operation = status.last_operation.expect("it began");
    assert_eq!((&*operation.r#type, &*operation.state), ("Create", "Processing"));
    assert!(operation.progress < 100);
}

#[test]
fn the_infrastructure_is_requested_in_the_seed() {
    let world = started(own());
    let infrastructure: Infrastructure = world.get_in(SEED, TECHNICAL_ID, "s").expect("it is asked for");
    assert_eq!((infrastructure.spec.r#type.as_str(), infrastructure.spec.region.as_str()), ("local", "local"));
    assert_eq!(infrastructure.metadata.annotation("gardener.cloud/operation"), Some("reconcile"));
}

#[test]
fn shoots_of_other_seeds_are_left_alone() {
    let world = started(new_shoot("s").seed("other").label("name.seed.gardener.cloud/other", "true").build());
    assert_eq!(shoot(&world).status, Shoot::default().status);
}

#[test]
fn an_interrupted_operation_is_aborted_and_restarted() {
    let mut world = started(own());
    world.kill();
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:40Z");
    let operation = shoot(&world).status.last_operation.expect("it began");
    assert_eq!((&*operation.r#type, &*operation.state), ("Create", "Processing"));
    assert_eq!(shoot(&world).status.technical_id, TECHNICAL_ID, "it stays the same");
}

/// Sets the emergency stop of the Seed, or removes it.
fn set_stop(world: &World, is_set: bool) {
    world.change::<Seed>("", "local", |seed| {
        let key = "shoot.gardener.cloud/emergency-stop-reconciliations".to_owned();
        if is_set {
            seed.metadata.annotations.insert(key, "true".to_owned());
        } else {
            seed.metadata.annotations.remove(&key);
        }
    });
}

/// Returns the status of the condition about the stop.
fn told(world: &World) -> Option<String> {
    let seed: Seed = world.get("", "local").expect("it is registered");
    let told = |condition: &&Condition| condition.r#type == "EmergencyStopShootReconciliations";
    seed.status.conditions.iter().find(told).map(|condition| condition.status.clone())
}

fn last_operation(world: &World) -> Option<(String, String)> {
    shoot(world).status.last_operation.map(|operation| (operation.r#type, operation.state))
}

/// Returns a gardenlet of a version with a stopped Seed and a Shoot that was created after the stop.
fn stopped(version: &str) -> World {
    let mut world = World::at("2025-06-02T12:00:00Z")
        .component("gardenlet", version)
        .with(cloud_profile("local").kubernetes("1.27.1").build())
        .with(project());
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:20Z");
    set_stop(&world, true);
    world.pass();
    world.put(&own());
    world.advance_to("2025-06-02T12:01:00Z");
    world
}

#[test]
fn an_emergency_stop_suspends_reconciliations() {
    for (version, status) in [("v1.126.0", "False"), ("v1.127.0", "True"), ("v1.149.0", "True")] {
        let mut world = stopped(version);
        assert_eq!(told(&world).as_deref(), Some(status), "{version}");
        let new = shoot(&world);
        assert_eq!(new.metadata.finalizers, ["gardener"]);
        assert_eq!(last_operation(&world), Some((String::new(), "Pending".to_owned())), "{version}");
        assert_eq!((new.status.observed_generation, new.status.technical_id.as_str()), (0, ""));
        let idle = world.advance_to("2025-06-02T12:30:00Z");
        assert_eq!(idle.writes_of("shoots"), [""; 0]);

        set_stop(&world, false);
        world.pass();
        assert_eq!(told(&world), None, "{version}");
        world.advance_to("2025-06-02T12:59:00Z");
        assert_eq!(last_operation(&world), Some((String::new(), "Pending".to_owned())), "it waits for its turn");
        world.advance_to("2025-06-02T13:02:00Z");
        assert_eq!(last_operation(&world), Some(("Reconcile".to_owned(), "Processing".to_owned())), "{version}");
    }
}

#[test]
fn emergency_stop_keeps_a_shoot_from_being_deleted() {
    let mut world = started_as("v1.149.0");
    set_stop(&world, true);
    world.kill();
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:01:00Z");
    assert_eq!(last_operation(&world), Some(("Create".to_owned(), "Aborted".to_owned())));
    world.delete_in::<Shoot>("garden", "garden-dev", "s");
    world.advance_to("2025-06-02T12:02:00Z");
    assert_eq!(last_operation(&world), Some(("Create".to_owned(), "Aborted".to_owned())));
    set_stop(&world, false);
    world.advance_to("2025-06-02T13:03:00Z");
    assert_eq!(last_operation(&world), Some(("Delete".to_owned(), "Processing".to_owned())));
}

#[test]
fn releases_before_126_have_no_emergency_stop() {
    let world = stopped("v1.125.0");
    assert_eq!(told(&world), None);
    assert_eq!(last_operation(&world), Some(("Create".to_owned(), "Processing".to_owned())));
}

/// A run ends in the second of the previous one, and the watch has delivered neither: the local copy of the Shoot
/// already equals what the run is about to write.
#[test]
fn a_run_writes_its_success_though_the_watch_lags() {
    let workerless = new_shoot("s").seed("local").label("name.seed.gardener.cloud/local", "true").build();
    let system = Namespace { metadata: ObjectMeta::named("", "kube-system"), ..Namespace::default() };
    let mut world = started_in(world().with_in(TECHNICAL_ID, system), workerless);
    world.advance_to("2025-06-02T12:30:00Z");
    assert_eq!(
        last_operation(&world),
        Some(("Create".to_owned(), "Succeeded".to_owned())),
        "{:#?}",
        shoot(&world).status
    );
    let again = |world: &World| {
        world.change::<Shoot>("garden-dev", "s", |shoot| {
            shoot.metadata.generation += 1;
            shoot.status.conditions.clear();
            shoot.status.constraints.clear();
        });
    };
    again(&world);
    world.pass();
    assert_eq!(last_operation(&world), Some(("Reconcile".to_owned(), "Succeeded".to_owned())));
    again(&world);
    world.hold_watches(Some("shoots"));
    world.pass();
    assert_eq!(last_operation(&world), Some(("Reconcile".to_owned(), "Succeeded".to_owned())));
    world.hold_watches(None);
    world.pass();
    assert_eq!(last_operation(&world), Some(("Reconcile".to_owned(), "Succeeded".to_owned())));
}
