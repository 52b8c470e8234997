// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/shoot/hibernation @ v1.120.0.

use api::core::Shoot;
use serde_json::{Value, json};
use testkit::{Pass, World, instant, object};

use super::{only, world};

/// Returns a Shoot of the day before with schedules and the time of the last switch.
fn shoot(schedules: &Value, last: &Value) -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev", "creationTimestamp": "2025-06-01T00:00:00Z"},
        "spec": {"hibernation": {"schedules": schedules}},
        "status": {"lastHibernationTriggerTime": last},
    }))
}

fn started(at: &str, shoot: Shoot) -> (World, Pass) {
    let mut world = world(at).with(shoot);
    let pass = world.start(only("shoot-hibernation"));
    (world, pass)
}

fn evening_and_morning() -> Value {
    json!([{"start": "0 20 * * *", "end": "0 6 * * *"}])
}

#[test]
fn a_schedule_hibernates_and_wakes_up_with_events_and_status() {
    let (mut world, pass) = started("2025-06-02T19:00:00Z", shoot(&evening_and_morning(), &Value::Null));
    assert_eq!(pass.writes, [""; 0]);
    assert_eq!(pass.next, Some(instant("2025-06-02T20:00:00.1Z")), "a tenth of a second after the activation");

    let pass = world.advance_to("2025-06-02T20:30:00Z");
    assert_eq!(
        pass.writes,
        [
            r#"update shoots garden-dev/s {"spec":{"hibernation":{"enabled":true}}}"#,
            r#"update shoots/status garden-dev/s {"status":{"lastHibernationTriggerTime":"2025-06-02T20:00:00Z"}}"#,
        ]
    );
    assert_eq!(pass.events, ["Normal Hibernated Hibernating cluster due to schedule"]);
    assert_eq!(pass.next, Some(instant("2025-06-03T06:00:00.1Z")));

    let pass = world.advance_to("2025-06-03T06:30:00Z");
    assert_eq!(pass.writes[0], r#"update shoots garden-dev/s {"spec":{"hibernation":{"enabled":false}}}"#);
    assert_eq!(pass.events, ["Normal WokenUp Waking up cluster due to schedule"]);
}

#[test]
fn a_missed_activation_counts_for_two_hours() {
    for (at, is_followed) in [("2025-06-02T21:59:59Z", true), ("2025-06-02T22:00:01Z", false)] {
        let (_, pass) = started(at, shoot(&evening_and_morning(), &Value::Null));
        assert_eq!(pass.events.len(), usize::from(is_followed), "at {at}");
    }
}

#[test]
fn a_restart_repeats_no_activation() {
    let last = json!("2025-06-02T20:00:00Z");
    let (_, pass) = started("2025-06-02T20:30:00Z", shoot(&evening_and_morning(), &last));
    assert_eq!((pass.writes, pass.next), (vec![], Some(instant("2025-06-03T06:00:00.1Z"))));
}

#[test]
fn of_several_missed_activations_the_latest_counts() {
    let schedules = json!([{"start": "0 20 * * *"}, {"end": "0 21 * * *"}]);
    let (_, pass) = started("2025-06-02T21:30:00Z", shoot(&schedules, &Value::Null));
    assert_eq!(pass.events, ["Normal WokenUp Waking up cluster due to schedule"]);
}

#[test]
fn the_time_zone_of_a_schedule_counts() {
    let schedules = json!([{"start": "0 20 * * *", "location": "Europe/Berlin"}]);
    let (_, pass) = started("2025-06-02T17:00:00Z", shoot(&schedules, &Value::Null));
    assert_eq!(pass.next, Some(instant("2025-06-02T18:00:00.1Z")));
}

#[test]
fn nothing_is_planned_without_a_valid_schedule_or_in_deletion() {
    let (_, pass) = started("2025-06-02T20:30:00Z", shoot(&json!([]), &Value::Null));
    assert_eq!(pass, Pass::default());
    let (_, pass) = started("2025-06-02T20:30:00Z", shoot(&json!([{"start": "every evening"}]), &Value::Null));
    assert_eq!(pass, Pass::default());
    let mut leaving = shoot(&evening_and_morning(), &Value::Null);
    leaving.metadata.deletion_timestamp = Some(instant("2025-06-02T20:00:00Z").into());
    let (_, pass) = started("2025-06-02T20:30:00Z", leaving);
    assert_eq!(pass, Pass::default());
}

#[test]
fn a_shoot_that_failed_for_good_is_left_alone() {
    let mut failed = shoot(&evening_and_morning(), &Value::Null);
    failed.metadata.generation = 3;
    failed.status.observed_generation = 3;
    failed.status.gardener.version = "v1.120.0".to_owned();
    failed.status.last_operation = Some(
        serde_json::from_value(json!({"type": "Reconcile", "state": "Failed", "progress": 1, "description": "",
            "lastUpdateTime": "2025-06-02T12:00:00Z"}))
        .expect("a last operation"),
    );
    let (_, pass) = started("2025-06-02T20:30:00Z", failed);
    assert_eq!((pass.writes, pass.events), (vec![], vec![]));
    assert_eq!(pass.next, Some(instant("2025-06-03T06:00:00.1Z")));
}

#[test]
fn only_changed_schedules_cause_a_pass() {
    let (mut world, _) = started("2025-06-02T20:30:00Z", shoot(&json!([{"start": "0 23 * * *"}]), &Value::Null));
    world.change::<Shoot>("garden-dev", "s", |shoot| shoot.spec.region = "other".to_owned());
    assert_eq!(world.pass().next, Some(instant("2025-06-02T23:00:00.1Z")));
    world.put(&shoot(&evening_and_morning(), &Value::Null));
    assert_eq!(world.pass().events, ["Normal Hibernated Hibernating cluster due to schedule"]);
}

#[test]
fn a_refused_switch_is_retried_and_its_event_counted() {
    let mut world = world("2025-06-02T20:30:00Z").with(shoot(&evening_and_morning(), &Value::Null));
    world.refuse("update shoots", apimachinery::Status::failure(403, "Forbidden", "no"));
    let pass = world.start(only("shoot-hibernation"));
    assert_eq!(pass.writes, ["update shoots garden-dev/s refused 403"]);
    assert_eq!(pass.events.len(), 1, "the Event comes first");
    assert_eq!(world.advance_to("2025-06-02T20:30:01Z").writes.len(), 2);
}
