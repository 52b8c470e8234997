// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/shoot/retry @ v1.120.0.

use api::core::Shoot;
use serde_json::json;
use testkit::{World, instant, object};

use super::{only, world};

/// Returns a Shoot whose last operation ended at 12:00 in a state, with a code of its error.
fn shoot(state: &str, code: &str, generation: i64) -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev", "generation": generation},
        "status": {
            "observedGeneration": 1,
            "lastOperation": {"type": "Reconcile", "state": state, "lastUpdateTime": "2025-06-02T12:00:00Z"},
            "lastErrors": [{"description": "error", "codes": [code]}],
        },
    }))
}

const RATE_LIMITS: &str = "ERR_INFRA_RATE_LIMITS_EXCEEDED";
const RETRY: &str = r#"update shoots garden-dev/s {"metadata":{"annotations":{"gardener.cloud/operation":"retry"}}}"#;

fn started(at: &str, shoot: Shoot) -> (World, testkit::Pass) {
    let mut world = world(at).with(shoot);
    let pass = world.start(only("shoot-retry"));
    (world, pass)
}

#[test]
fn rate_limited_shoots_are_retried_after_the_period() {
    let (_, pass) = started("2025-06-02T12:10:01Z", shoot("Failed", RATE_LIMITS, 1));
    assert_eq!((pass.writes, pass.next), (vec![RETRY.to_owned()], None));
}

#[test]
fn the_retry_follows_the_period_by_up_to_five_minutes() {
    for at in ["2025-06-02T12:00:00Z", "2025-06-02T12:10:00Z"] {
        let (mut world, pass) = started(at, shoot("Failed", RATE_LIMITS, 1));
        assert_eq!(pass.writes, [""; 0], "at {at}");
        let next = pass.next.expect("a timer");
        assert!(next > instant("2025-06-02T12:10:00Z") && next <= instant("2025-06-02T12:15:00Z"), "{next}");
        assert_eq!(world.advance_to("2025-06-02T12:15:00Z").writes, [RETRY]);
    }
}

#[test]
fn other_shoots_are_left_alone() {
    for (state, code, generation) in [
        ("Failed", "ERR_INFRA_UNAUTHORIZED", 1),
        ("Failed", RATE_LIMITS, 2),
        ("Error", RATE_LIMITS, 1),
        ("Succeeded", RATE_LIMITS, 1),
    ] {
        let (_, pass) = started("2025-06-02T13:00:00Z", shoot(state, code, generation));
        assert_eq!(pass, testkit::Pass::default(), "{state} {code} {generation}");
    }
}

#[test]
fn only_a_new_failure_of_a_known_shoot_counts() {
    let (mut world, _) = started("2025-06-02T12:11:00Z", shoot("Processing", RATE_LIMITS, 1));
    world.put(&shoot("Failed", RATE_LIMITS, 1));
    assert_eq!(world.pass().writes, [RETRY]);
    world.put(&shoot("Failed", RATE_LIMITS, 1));
    assert_eq!(world.pass().writes, [""; 0], "it had failed before");
}

#[test]
fn a_refused_request_is_retried() {
    let mut world = world("2025-06-02T12:11:00Z").with(shoot("Failed", RATE_LIMITS, 1));
    world.refuse("update shoots", apimachinery::Status::failure(500, "InternalError", "etcdserver: no leader"));
    let pass = world.start(only("shoot-retry"));
    assert_eq!(pass.writes, ["update shoots garden-dev/s refused 500"]);
    assert_eq!(pass.next, Some(instant("2025-06-02T12:11:00.005Z")), "the first back-off");
    assert_eq!(world.advance_to("2025-06-02T12:11:01Z").writes, [RETRY]);
}

#[test]
fn a_shoot_deleted_meanwhile_is_not_retried() {
    let mut world = world("2025-06-02T12:11:00Z").with(shoot("Failed", RATE_LIMITS, 1));
    world.refuse("update shoots", apimachinery::Status::failure(404, "NotFound", "gone"));
    let pass = world.start(only("shoot-retry"));
    assert_eq!((pass.writes, pass.next), (vec!["update shoots garden-dev/s refused 404".to_owned()], None));
}
