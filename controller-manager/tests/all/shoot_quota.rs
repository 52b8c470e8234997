// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/shoot/quota @ v1.120.0.

use api::core::{Quota, SecretBinding, Shoot};
use api::security::CredentialsBinding;
use apimachinery::Status;
use serde_json::{Value, json};
use testkit::{World, instant, object};

use super::{only, world};

fn quota(name: &str, days: &Value) -> Quota {
    object(json!({"metadata": {"name": name, "namespace": "garden-dev"}, "spec": {"clusterLifetimeDays": days}}))
}

fn binding(quotas: &[&str]) -> SecretBinding {
    let reference = |name: &&str| json!({"name": name, "namespace": "garden-dev"});
    object(json!({
        "metadata": {"name": "binding", "namespace": "garden-dev"},
        "quotas": quotas.iter().map(reference).collect::<Vec<_>>(),
    }))
}

/// Returns a Shoot that was created at 2025-06-01T10:00:00Z.
fn shoot(annotations: &Value) -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev", "creationTimestamp": "2025-06-01T10:00:00Z",
            "annotations": annotations, "finalizers": ["gardener"]},
        "spec": {"secretBindingName": "binding"},
    }))
}

fn limited(at: &str, days: i32, annotations: &Value) -> World {
    world(at).with(quota("q", &json!(days))).with(binding(&["q"])).with(shoot(annotations))
}

#[test]
fn a_limited_shoot_has_an_expiration_and_is_deleted_then() {
    let mut world = limited("2025-06-01T10:00:00Z", 2, &json!({}));
    let pass = world.start(only("shoot-quota"));
    let annotated = r#"update shoots garden-dev/s {"metadata":{"annotations":{"shoot.gardener.cloud/expiration-timestamp":"2025-06-03T10:00:00Z"}}}"#;
    assert_eq!(pass.writes, [annotated]);
    assert_eq!(pass.next, Some(instant("2025-06-03T10:00:00.000000001Z")), "strictly after the end");

    assert_eq!(world.advance_to("2025-06-03T10:00:00Z").writes, [""; 0]);
    let pass = world.advance_to("2025-06-03T10:00:01Z");
    assert_eq!(pass.writes.len(), 2, "{:?}", pass.writes);
    assert!(pass.writes[0].contains(r#""confirmation.gardener.cloud/deletion":"true""#), "{}", pass.writes[0]);
    assert_eq!(pass.writes[1], "delete shoots garden-dev/s");
    assert_eq!(world.advance_to("2025-06-09T10:00:00Z").writes, [""; 0], "it is asked to go once");
}

#[test]
fn the_shortest_life_of_several_quotas_counts() {
    let mut world = world("2025-06-01T10:00:00Z")
        .with(quota("long", &json!(7)))
        .with(quota("short", &json!(1)))
        .with(quota("none", &Value::Null))
        .with(binding(&["long", "short", "none", "missing"]))
        .with(shoot(&json!({})));
    assert_eq!(world.start(only("shoot-quota")).next, Some(instant("2025-06-02T10:00:00.000000001Z")));
}

#[test]
fn an_expiration_that_is_there_counts_and_stays() {
    let annotation = json!({"shoot.gardener.cloud/expiration-timestamp": "2025-06-20T10:00:00Z"});
    let mut world = limited("2025-06-10T10:00:00Z", 1, &annotation);
    let pass = world.start(only("shoot-quota"));
    assert_eq!((pass.writes, pass.next), (vec![], Some(instant("2025-06-20T10:00:00.000000001Z"))));
}

#[test]
fn without_a_lifetime_the_expiration_is_removed() {
    let annotation = json!({"shoot.gardener.cloud/expiration-timestamp": "2025-06-20T10:00:00Z"});
    let mut world =
        world("2025-06-10T10:00:00Z").with(quota("q", &Value::Null)).with(binding(&["q"])).with(shoot(&annotation));
    let pass = world.start(only("shoot-quota"));
    let removed = r#"update shoots garden-dev/s {"metadata":{"annotations":null}}"#;
    let kept =
        r#"update shoots garden-dev/s {"metadata":{"annotations":{"shoot.gardener.cloud/expiration-timestamp":null}}}"#;
    assert!(pass.writes == [removed] || pass.writes == [kept], "{:?}", pass.writes);
}

#[test]
fn an_expiration_that_is_no_time_is_left_alone() {
    let annotation = json!({"shoot.gardener.cloud/expiration-timestamp": "tomorrow"});
    let mut world = limited("2025-06-10T10:00:00Z", 1, &annotation);
    assert_eq!(world.start(only("shoot-quota")), testkit::Pass::default());
}

#[test]
fn quotas_of_credentials_bindings_count_like_those_of_secret_bindings() {
    let mut of_credentials = shoot(&json!({}));
    of_credentials.spec.secret_binding_name = None;
    of_credentials.spec.credentials_binding_name = Some("binding".to_owned());
    let binding: CredentialsBinding = object(json!({
        "metadata": {"name": "binding", "namespace": "garden-dev"},
        "quotas": [{"name": "q", "namespace": "garden-dev"}],
    }));
    let mut world = world("2025-06-01T10:00:00Z").with(quota("q", &json!(2))).with(binding).with(of_credentials);
    assert_eq!(world.start(only("shoot-quota")).next, Some(instant("2025-06-03T10:00:00.000000001Z")));
}

#[test]
fn a_quota_or_binding_that_changes_is_noticed() {
    let mut world =
        world("2025-06-01T10:00:00Z").with(quota("q", &Value::Null)).with(binding(&[])).with(shoot(&json!({})));
    assert_eq!(world.start(only("shoot-quota")).next, None);
    world.put(&binding(&["q"]));
    assert_eq!(world.pass().next, None);
    world.put(&quota("q", &json!(5)));
    assert_eq!(world.pass().next, Some(instant("2025-06-06T10:00:00.000000001Z")));
}

#[test]
fn a_quota_added_to_a_binding_limits_its_shoots() {
    let ends = Some(instant("2025-06-06T10:00:00.000000001Z"));
    let limited = || world("2025-06-01T10:00:00Z").with(quota("q", &json!(5)));

    let mut world = limited().with(binding(&[])).with(shoot(&json!({})));
    assert_eq!(world.start(only("shoot-quota")).next, None);
    world.put(&binding(&["q"]));
    assert_eq!(world.pass().next, ends);

    let of_credentials = |quotas: &Value| -> CredentialsBinding {
        object(json!({"metadata": {"name": "binding", "namespace": "garden-dev"}, "quotas": quotas}))
    };
    let mut shoot = shoot(&json!({}));
    shoot.spec.secret_binding_name = None;
    shoot.spec.credentials_binding_name = Some("binding".to_owned());
    let mut world = limited().with(of_credentials(&json!([]))).with(shoot);
    assert_eq!(world.start(only("shoot-quota")).next, None);
    world.put(&of_credentials(&json!([{"name": "q", "namespace": "garden-dev"}])));
    assert_eq!(world.pass().next, ends);
}

#[test]
fn only_a_failed_deletion_is_retried() {
    for (code, reason, tries) in [(500, "InternalError", 2), (404, "NotFound", 1)] {
        let mut world = limited("2025-06-01T10:00:00Z", 2, &json!({}));
        world.start(only("shoot-quota"));
        world.refuse("delete shoots garden-dev/s", Status::failure(code, reason, "not now"));
        let writes = [world.advance_to("2025-06-03T10:00:01Z").writes, world.advance_to("2025-06-03T10:10:00Z").writes];
        let writes = writes.concat();
        assert_eq!(writes.iter().filter(|write| write.starts_with("delete")).count(), tries, "{code}: {writes:?}");
    }
}
