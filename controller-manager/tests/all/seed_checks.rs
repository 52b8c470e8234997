// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/seed/{extensionscheck,backupbucketscheck} @ v1.120.0.

use api::core::{BackupBucket, ControllerInstallation, Seed};
use serde_json::{Value, json};
use testkit::{World, instant, object};

use super::{only, world};

fn seed(conditions: &Value) -> Seed {
    object(json!({"metadata": {"name": "a"}, "status": {"conditions": conditions}}))
}

fn installation(name: &str, conditions: &[(&str, &str)]) -> ControllerInstallation {
    let condition = |(type_, status): &(&str, &str)| json!({"type": type_, "status": status, "message": "text"});
    object(json!({
        "metadata": {"name": name},
        "spec": {"seedRef": {"name": "a"}},
        "status": {"conditions": conditions.iter().map(condition).collect::<Vec<_>>()},
    }))
}

const GOOD: [(&str, &str); 4] =
    [("Valid", "True"), ("Installed", "True"), ("Healthy", "True"), ("Progressing", "False")];

/// Returns status and reason of a condition of the Seed.
fn condition(world: &World, type_: &str) -> Option<(String, String)> {
    let seed: Seed = world.get("", "a").expect("there");
    let found = seed.status.conditions.into_iter().find(|condition| condition.r#type == type_);
    found.map(|condition| (condition.status, condition.reason))
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

fn at_noon() -> World {
    world("2025-06-02T12:00:00Z")
}

#[test]
fn extensions_that_work_make_the_seeds_condition_true() {
    let mut world = at_noon().with(seed(&json!([]))).with(installation("i", &GOOD));
    world.start(only("seed-extensions-check"));
    assert_eq!(condition(&world, "ExtensionsReady"), Some(is("True", "AllExtensionsReady")));
}

#[test]
fn a_broken_extension_is_progressing_for_a_minute_then_false() {
    for (bad, reason) in [
        (("Valid", "False"), "NotAllExtensionsValid"),
        (("Installed", "False"), "NotAllExtensionsInstalled"),
        (("Healthy", "False"), "NotAllExtensionsHealthy"),
        (("Progressing", "True"), "SomeExtensionsProgressing"),
    ] {
        let ready = json!([{"type": "ExtensionsReady", "status": "True", "reason": "AllExtensionsReady",
            "message": "", "lastTransitionTime": "2025-06-01T12:00:00Z", "lastUpdateTime": "2025-06-01T12:00:00Z"}]);
        let conditions: Vec<(&str, &str)> =
            GOOD.into_iter().map(|good| if good.0 == bad.0 { bad } else { good }).collect();
        let mut world = at_noon().with(seed(&ready)).with(installation("i", &conditions));
        let pass = world.start(only("seed-extensions-check"));
        assert_eq!(condition(&world, "ExtensionsReady"), Some(is("Progressing", reason)), "{bad:?}");
        assert!(pass.next.is_some_and(|next| next <= instant("2025-06-02T12:01:01Z")), "{:?}", pass.next);
        world.advance_to("2025-06-02T12:02:00Z");
        assert_eq!(condition(&world, "ExtensionsReady"), Some(is("False", reason)), "{bad:?}");

        world.put(&installation("i", &GOOD));
        world.pass();
        assert_eq!(condition(&world, "ExtensionsReady"), Some(is("True", "AllExtensionsReady")), "it heals at once");
    }
}

#[test]
fn installations_of_other_seeds_do_not_count() {
    let mut of_other = installation("i", &[("Valid", "False")]);
    of_other.spec.seed_ref.as_mut().expect("set above").name = "b".to_owned();
    let mut world = at_noon().with(seed(&json!([]))).with(of_other);
    world.start(only("seed-extensions-check"));
    assert_eq!(condition(&world, "ExtensionsReady"), Some(is("True", "AllExtensionsReady")));
}

fn bucket(name: &str, error: &Value) -> BackupBucket {
    object(json!({"metadata": {"name": name}, "spec": {"seedName": "a"}, "status": {"lastError": error}}))
}

#[test]
fn only_existing_buckets_without_errors_make_the_condition_true() {
    let mut world = at_noon().with(seed(&json!([])));
    world.start(only("seed-backupbuckets-check"));
    assert_eq!(condition(&world, "BackupBucketsReady"), None);
    world.put(&bucket("b", &Value::Null));
    world.pass();
    let mut world = at_noon().with(seed(&json!([]))).with(bucket("b", &Value::Null));
    world.start(only("seed-backupbuckets-check"));
    assert_eq!(condition(&world, "BackupBucketsReady"), Some(is("True", "BackupBucketsAvailable")));
}

#[test]
fn a_failed_bucket_fails_the_condition_after_the_threshold() {
    let mut world = at_noon().with(seed(&json!([]))).with(bucket("b", &Value::Null));
    world.start(only("seed-backupbuckets-check"));
    world.put(&bucket("b", &json!({"description": "no such bucket"})));
    world.pass();
    assert_eq!(condition(&world, "BackupBucketsReady"), Some(is("Progressing", "BackupBucketsError")));
    world.advance_to("2025-06-02T12:02:00Z");
    assert_eq!(condition(&world, "BackupBucketsReady"), Some(is("False", "BackupBucketsError")));
}
