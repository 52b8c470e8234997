// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/shoot/care @ v1.120.0: times of the health checks, and the health of a Shoot
//! without a cluster. The checks themselves are tables in `domain::care`.

use api::core::Shoot;
use serde_json::json;
use testkit::{World, object};

use super::{TECHNICAL_ID, project, shoot, start_gardenlet, world};

/// Returns a Shoot whose creation succeeded, with one pool, and none of its objects.
fn empty() -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev", "generation": 1, "finalizers": ["gardener"], "uid": "1",
            "labels": {"name.seed.gardener.cloud/local": "true"}},
        "spec": {
            "seedName": "local",
            "region": "local",
            "cloudProfile": {"kind": "CloudProfile", "name": "local"},
            "kubernetes": {"version": "1.27.1"},
            "networking": {"type": "calico"},
            "provider": {"type": "local", "workers": [{"name": "a", "minimum": 1, "maximum": 1, "machine": {"type": "local"}}]},
        },
        "status": {
            "technicalID": TECHNICAL_ID,
            "seedName": "local",
            "uid": "1",
            "observedGeneration": 1,
            "gardener": {"version": "v1.120.0"},
            "lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100,
                "lastUpdateTime": "2025-06-02T11:59:00Z"},
        },
    }))
}

fn conditions(world: &World) -> Vec<(String, String)> {
    let conditions = shoot(world).status.conditions;
    conditions.into_iter().map(|condition| (condition.r#type, condition.status)).collect()
}

#[test]
fn every_condition_of_a_shoot_with_pools_is_judged() {
    let mut world = world().with(project()).with(empty());
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:10Z");
    let types: Vec<String> = conditions(&world).into_iter().map(|(type_, _)| type_).collect();
    assert_eq!(
        types,
        [
            "APIServerAvailable",
            "ControlPlaneHealthy",
            "ObservabilityComponentsHealthy",
            "EveryNodeReady",
            "SystemComponentsHealthy"
        ]
    );
}

#[test]
fn a_shoot_of_another_seed_is_not_judged() {
    let mut elsewhere = empty();
    elsewhere.spec.seed_name = Some("other".to_owned());
    elsewhere.status.seed_name = Some("other".to_owned());
    let mut world = world().with(project()).with(elsewhere);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:01:00Z");
    assert_eq!(conditions(&world), []);
}

#[test]
fn missing_components_fail_a_condition_after_its_threshold() {
    let mut healthy = empty();
    healthy.status.conditions = serde_json::from_value(json!([{"type": "ControlPlaneHealthy", "status": "True",
        "reason": "ControlPlaneRunning", "message": "ok", "lastTransitionTime": "2025-06-02T11:59:00Z",
        "lastUpdateTime": "2025-06-02T11:59:00Z"}]))
    .expect("conditions");
    let mut world = world().with(project()).with(healthy);
    start_gardenlet(&mut world);
    world.advance_to("2025-06-02T12:00:10Z");
    let status = |world: &World| {
        conditions(world).into_iter().find(|(type_, _)| type_ == "ControlPlaneHealthy").map(|(_, status)| status)
    };
    assert_eq!(status(&world).as_deref(), Some("Progressing"));
    world.advance_to("2025-06-02T12:10:00Z");
    assert_eq!(status(&world).as_deref(), Some("False"));
}

/// The period ends within a second, but conditions have whole seconds.
#[test]
fn rotation_constraint_changes_right_after_its_period_without_a_loop() {
    let mut overdue = empty();
    overdue.metadata.creation_timestamp = object::<Shoot>(json!({
        "metadata": {"creationTimestamp": "2025-05-05T12:30:00Z"}
    }))
    .metadata
    .creation_timestamp;
    overdue.spec.maintenance = serde_json::from_value(json!({
        "timeWindow": {"begin": "220000+0000", "end": "230000+0000"},
        "autoRotation": {"credentials": {"etcdEncryptionKey": {"rotationPeriod": "672h"}}},
    }))
    .expect("a maintenance");
    // A constraint that holds is not in the status: this one is violated, since the window is within hibernation.
    overdue.spec.hibernation =
        serde_json::from_value(json!({ "schedules": [{"start": "0 20 * * *", "end": "0 6 * * *"}] }))
            .expect("a hibernation");
    let mut world = World::at("2025-06-02T12:00:00Z").component("gardenlet", "v1.149.0");
    world = world.with(project()).with(overdue);
    start_gardenlet(&mut world);
    let reason = |world: &World| {
        let constraints = shoot(world).status.constraints;
        constraints.into_iter().find(|it| it.r#type == "AutomaticCredentialsRotationPossible").map(|it| it.reason)
    };
    world.advance_to("2025-06-02T12:30:00Z");
    assert_eq!(reason(&world), None);
    world.advance_to("2025-06-02T12:30:00.1Z");
    assert_eq!(reason(&world).as_deref(), Some("MaintenanceWindowDuringHibernation"));
    world.advance_to("2025-06-02T19:00:00Z");
    assert_eq!(reason(&world).as_deref(), Some("MaintenanceWindowDuringHibernation"));
}
