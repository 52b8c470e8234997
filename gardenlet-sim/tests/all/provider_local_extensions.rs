// SPDX-License-Identifier: Apache-2.0
//! Cases of extensions/pkg/controller/infrastructure and its neighbours @ v1.120.0: start, duration and result of an
//! operation.

use api::extensions::Infrastructure;
use serde_json::json;
use testkit::{World, object};

use super::{SEED, TECHNICAL_ID, start_provider};

/// Returns an Infrastructure with gardenlet's request.
fn asked_for() -> Infrastructure {
    object(json!({
        "metadata": {"name": "s", "namespace": TECHNICAL_ID, "generation": 1,
            "annotations": {"gardener.cloud/operation": "reconcile"}},
        "spec": {"type": "local", "region": "local"},
    }))
}

fn started(infrastructure: Infrastructure) -> World {
    let mut world =
        World::at("2025-06-02T12:00:00Z").component("provider-local", "v1.120.0").with_in(SEED, infrastructure);
    start_provider(&mut world);
    world
}

fn stored(world: &World) -> Infrastructure {
    world.get_in(SEED, TECHNICAL_ID, "s").expect("it is there")
}

fn state(world: &World) -> Option<(String, String)> {
    stored(world).status.last_operation.map(|operation| (operation.r#type, operation.state))
}

fn is(type_: &str, state: &str) -> (String, String) {
    (type_.to_owned(), state.to_owned())
}

#[test]
fn a_requested_operation_takes_time_and_succeeds() {
    let mut world = started(asked_for());
    assert_eq!(state(&world), Some(is("Create", "Processing")));
    assert_eq!(stored(&world).metadata.finalizers.len(), 1);
    world.advance_to("2025-06-02T12:10:00Z");
    assert_eq!(state(&world), Some(is("Create", "Succeeded")));
    let stored = stored(&world);
    assert_eq!(stored.metadata.annotation("gardener.cloud/operation"), None);
    assert_eq!(stored.status.observed_generation, 1);
}

#[test]
fn without_a_request_nothing_is_done() {
    let mut idle = asked_for();
    idle.metadata.annotations.remove("gardener.cloud/operation");
    idle.status.observed_generation = 1;
    idle.status.last_operation =
        serde_json::from_value(json!({"type": "Create", "state": "Succeeded", "progress": 100,
        "description": "", "lastUpdateTime": "2025-06-02T11:00:00Z"}))
        .expect("an operation");
    let mut world = started(idle);
    assert_eq!(world.advance_to("2025-06-02T12:10:00Z").writes, [""; 0]);
}

#[test]
fn another_request_is_a_reconciliation() {
    let mut world = started(asked_for());
    world.advance_to("2025-06-02T12:10:00Z");
    world.change_in::<Infrastructure>(SEED, TECHNICAL_ID, "s", |infrastructure| {
        infrastructure.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "reconcile".to_owned());
    });
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(state(&world), Some(is("Reconcile", "Succeeded")));
    assert_eq!(stored(&world).metadata.annotation("gardener.cloud/operation"), None);
}

#[test]
fn a_deleted_object_is_removed_after_a_while() {
    let mut world = started(asked_for());
    world.advance_to("2025-06-02T12:10:00Z");
    world.change_in::<Infrastructure>(SEED, TECHNICAL_ID, "s", |infrastructure| {
        infrastructure.metadata.deletion_timestamp = Some(testkit::instant("2025-06-02T12:10:00Z").into());
    });
    world.pass();
    assert_eq!(state(&world), Some(is("Delete", "Processing")));
    world.advance_to("2025-06-02T12:20:00Z");
    assert!(world.get_in::<Infrastructure>(SEED, TECHNICAL_ID, "s").is_none());
}

#[test]
fn the_next_process_completes_an_interrupted_operation() {
    let mut world = started(asked_for());
    world.kill();
    start_provider(&mut world);
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(state(&world), Some(is("Create", "Succeeded")));
}
