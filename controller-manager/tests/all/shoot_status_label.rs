// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/shoot/statuslabel @ v1.120.0.

use api::core::Shoot;
use serde_json::{Value, json};
use testkit::object;

use super::{only, world};

fn shoot(operation: &str, state: &str, conditions: &[&str], errors: usize) -> Shoot {
    let condition = |status: &&str| json!({"type": "EveryNodeReady", "status": status});
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev"},
        "status": {
            "lastOperation": {"type": operation, "state": state},
            "lastErrors": vec![json!({"description": "error"}); errors],
            "conditions": conditions.iter().map(condition).collect::<Vec<Value>>(),
        },
    }))
}

#[test]
fn the_label_is_the_worst_of_conditions_and_last_operation() {
    for (operation, state, conditions, errors, label) in [
        ("Reconcile", "Succeeded", &["True", "True"][..], 0, "healthy"),
        ("Reconcile", "Succeeded", &["True", "Progressing"], 0, "progressing"),
        ("Reconcile", "Succeeded", &["Progressing", "Unknown"], 0, "unknown"),
        ("Reconcile", "Succeeded", &["Unknown", "False"], 0, "unhealthy"),
        ("Reconcile", "Error", &["True"], 1, "unhealthy"),
        ("Create", "Processing", &["False"], 0, "healthy"),
        ("Create", "Processing", &["True"], 1, "unhealthy"),
        ("Delete", "Processing", &["False"], 0, "healthy"),
    ] {
        let mut world = world("2025-06-02T12:00:00Z").with(shoot(operation, state, conditions, errors));
        let pass = world.start(only("shoot-statuslabel"));
        let expected = format!(
            r#"update shoots garden-dev/s {{"metadata":{{"labels":{{"shoot.gardener.cloud/status":"{label}"}}}}}}"#
        );
        assert_eq!(pass.writes, [expected], "{operation} {state} {conditions:?} {errors}");
        assert_eq!(pass.next, None);
    }
}

#[test]
fn a_label_follows_the_status_and_is_written_once() {
    let mut labelled = shoot("Reconcile", "Succeeded", &["True"], 0);
    labelled.metadata.labels.insert("shoot.gardener.cloud/status".to_owned(), "healthy".to_owned());
    let mut world = world("2025-06-02T12:00:00Z").with(labelled);
    assert_eq!(world.start(only("shoot-statuslabel")).writes, [""; 0]);
    world.change::<Shoot>("garden-dev", "s", |shoot| shoot.status.conditions[0].status = "False".to_owned());
    let written = r#"update shoots garden-dev/s {"metadata":{"labels":{"shoot.gardener.cloud/status":"unhealthy"}}}"#;
    assert_eq!(world.pass().writes, [written]);
}

#[test]
fn a_shoot_deleted_before_the_write_causes_no_error() {
    let mut world = world("2025-06-02T12:00:00Z").with(shoot("Reconcile", "Succeeded", &["True"], 0));
    world.refuse("update shoots", apimachinery::Status::failure(404, "NotFound", "gone"));
    let pass = world.start(only("shoot-statuslabel"));
    assert_eq!((pass.writes.len(), pass.next), (1, None));
}
