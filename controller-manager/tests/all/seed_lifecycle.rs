// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/seed/lifecycle @ v1.120.0.

use api::core::{Seed, Shoot};
use api::kubernetes::coordination::Lease;
use serde_json::{Value, json};
use testkit::{World, instant, object};

use super::{only, world};

fn seed(status: &str, since: &str) -> Seed {
    object(json!({
        "metadata": {"name": "a"},
        "status": {"conditions": [{"type": "GardenletReady", "status": status, "reason": "r", "message": "m",
            "lastTransitionTime": since, "lastUpdateTime": since}]},
    }))
}

fn lease(renewed: &Value) -> Lease {
    object(json!({
        "metadata": {"name": "a", "namespace": "gardener-system-seed-lease"},
        "spec": {"renewTime": renewed},
    }))
}

fn shoot() -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev"},
        "spec": {"provider": {"workers": [{"name": "w"}]}},
        "status": {"seedName": "a", "conditions": [{"type": "APIServerAvailable", "status": "True"}]},
    }))
}

fn gardenlet_ready(world: &World) -> String {
    let seed: Seed = world.get("", "a").expect("there");
    let found = seed.status.conditions.into_iter().find(|condition| condition.r#type == "GardenletReady");
    found.map(|condition| condition.status).unwrap_or_default()
}

fn statuses_of_shoot(world: &World) -> Vec<String> {
    let shoot: Shoot = world.get("garden-dev", "s").expect("there");
    let status = shoot.status;
    status.conditions.into_iter().chain(status.constraints).map(|condition| condition.status).collect()
}

const RENEWED: &str = "2025-06-02T12:00:00.000000Z";

#[test]
fn seeds_are_unknown_after_40_seconds_and_shoots_300_later() {
    let mut world = world("2025-06-02T12:00:10Z")
        .with(seed("True", "2025-06-02T10:00:00Z"))
        .with(lease(&json!(RENEWED)))
        .with(shoot());
    let pass = world.start(only("seed-lifecycle"));
    assert_eq!((pass.writes, pass.next), (vec![], Some(instant("2025-06-02T12:00:40Z"))));

    let pass = world.advance_to("2025-06-02T12:00:40Z");
    assert_eq!(gardenlet_ready(&world), "Unknown");
    assert_eq!(pass.next, Some(instant("2025-06-02T12:05:40Z")));
    assert_eq!(statuses_of_shoot(&world), ["True"]);

    world.advance_to("2025-06-02T12:05:39Z");
    assert_eq!(statuses_of_shoot(&world), ["True"]);
    world.advance_to("2025-06-02T12:05:40Z");
    let statuses = statuses_of_shoot(&world);
    assert!(statuses.len() > 2 && statuses.iter().all(|status| status == "Unknown"), "{statuses:?}");
}

#[test]
fn a_seed_with_a_running_gardenlet_is_not_changed() {
    let mut world = world("2025-06-02T12:30:00Z")
        .with(seed("True", "2025-06-02T10:00:00Z"))
        .with(lease(&Value::Null))
        .with(shoot());
    assert_eq!(world.start(only("seed-lifecycle")), testkit::Pass::default());
}

#[test]
fn only_seeds_with_conditions_become_unknown_without_a_lease() {
    let bare: Seed = object(json!({"metadata": {"name": "a"}}));
    let mut bare = world("2025-06-02T12:30:00Z").with(bare);
    assert_eq!(bare.start(only("seed-lifecycle")), testkit::Pass::default());
    let mut world = world("2025-06-02T12:30:00Z").with(seed("True", "2025-06-02T10:00:00Z"));
    world.start(only("seed-lifecycle"));
    assert_eq!(gardenlet_ready(&world), "Unknown");
}

#[test]
fn a_gardenlet_that_returns_in_time_keeps_shoots_healthy() {
    let mut world = world("2025-06-02T12:00:50Z")
        .with(seed("True", "2025-06-02T10:00:00Z"))
        .with(lease(&json!(RENEWED)))
        .with(shoot());
    world.start(only("seed-lifecycle"));
    assert_eq!(gardenlet_ready(&world), "Unknown");
    world.put(&lease(&Value::Null));
    world.put(&seed("True", "2025-06-02T12:01:00Z"));
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!((gardenlet_ready(&world), statuses_of_shoot(&world)), ("True".to_owned(), vec!["True".to_owned()]));
}

#[test]
fn a_shoot_on_an_unresponsive_seed_becomes_unknown() {
    let mut world =
        world("2025-06-02T13:00:00Z").with(seed("Unknown", "2025-06-02T12:00:40Z")).with(lease(&json!(RENEWED)));
    world.start(only("seed-lifecycle"));
    world.put(&shoot());
    world.pass();
    assert!(statuses_of_shoot(&world).iter().all(|status| status == "Unknown"));
}
