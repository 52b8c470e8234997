// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/shoot/shoot @ v1.120.0: how an operation begins, and begins again.

use api::core::Shoot;
use api::extensions::Infrastructure;
use testkit::World;
use testkit::objects::{cloud_profile, shoot as new_shoot};

use super::{SEED, TECHNICAL_ID, project, shoot, start_gardenlet, world};

fn started(shoot: Shoot) -> World {
    let mut world = world().with(cloud_profile("local").kubernetes("1.27.1").build()).with(project()).with(shoot);
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
fn the_infrastructure_is_asked_for_in_the_seed() {
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
fn a_shoot_whose_operation_was_cut_off_is_aborted_and_begun_again_after_a_restart() {
    let mut world = started(own());
    world.kill();
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:40Z");
    let operation = shoot(&world).status.last_operation.expect("it began");
    assert_eq!((&*operation.r#type, &*operation.state), ("Create", "Processing"));
    assert_eq!(shoot(&world).status.technical_id, TECHNICAL_ID, "it stays the same");
}
