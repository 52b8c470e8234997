// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/project/activity @ v1.120.0.

use api::core::{BackupEntry, Project, Quota, Shoot};
use api::kubernetes::core::Secret;
use apimachinery::meta::Time;
use serde_json::{Value, json};
use testkit::{World, instant, object};

use super::{only, world};

const STARTED: &str = "2025-06-02T12:00:00Z";
const LATER: &str = "2025-06-02T13:00:00Z";

/// Returns the metadata of an object that was created in the Project's namespace at an instant.
fn metadata(name: &str, created: &str, labels: &Value) -> Value {
    json!({"name": name, "namespace": "garden-dev", "creationTimestamp": created, "generation": 1, "labels": labels})
}

fn shoot(created: &str) -> Shoot {
    object(json!({"metadata": metadata("local", created, &json!({}))}))
}

fn secret(labels: &Value) -> Secret {
    object(json!({"metadata": metadata("account", LATER, labels)}))
}

fn started(world: World) -> World {
    let project: Project = object(json!({"metadata": {"name": "dev"}, "spec": {"namespace": "garden-dev"}}));
    let mut world = world.with(project);
    world.start(only("project-activity"));
    world
}

fn last_activity(world: &World) -> Option<Time> {
    world.get::<Project>("", "dev").expect("the Project stays").status.last_activity_timestamp
}

/// True if a change at [`LATER`] is recorded as activity.
fn noted(mut world: World, change: impl FnOnce(&World)) -> bool {
    world.advance_to(LATER);
    let before = last_activity(&world);
    change(&world);
    world.pass();
    let after = last_activity(&world);
    assert!(after == before || after == Some(Time::from(instant(LATER))), "{after:?}");
    after != before
}

#[test]
fn new_objects_up_to_an_hour_old_are_activity() {
    let at = |text: &str| Some(Time::from(instant(text)));
    assert_eq!(last_activity(&started(world(STARTED).with(shoot("2025-06-02T11:00:00Z")))), at(STARTED));
    assert_eq!(last_activity(&started(world(STARTED).with(shoot("2025-06-02T10:59:59Z")))), None);
    assert!(noted(started(world(STARTED)), |world| drop(world.put(&shoot(LATER)))));
}

#[test]
fn shoots_and_backup_entries_count_with_their_generation() {
    let old = || started(world(STARTED).with(shoot("2025-05-01T00:00:00Z")));
    let raise = |shoot: &mut Shoot| shoot.metadata.generation = 2;
    let label = |shoot: &mut Shoot| drop(shoot.metadata.labels.insert("a".to_owned(), "b".to_owned()));
    assert!(noted(old(), |world| drop(world.change("garden-dev", "local", raise))));
    assert!(!noted(old(), |world| drop(world.change("garden-dev", "local", label))));
    assert!(noted(old(), |world| world.remove::<Shoot>("garden-dev", "local")));
    let entry: BackupEntry = object(json!({"metadata": metadata("backup", LATER, &json!({}))}));
    assert!(noted(started(world(STARTED)), |world| drop(world.put(&entry))));
}

#[test]
fn secrets_and_quotas_count_while_a_binding_refers_to_them() {
    let referenced = json!({"reference.gardener.cloud/credentialsbinding": "true"});
    let put = |labels: &Value| noted(started(world(STARTED)), |world| drop(world.put(&secret(labels))));
    assert!(put(&referenced));
    assert!(put(&json!({"reference.gardener.cloud/secretbinding": "true"})));
    assert!(!put(&json!({})));
    let quota: Quota = object(json!({"metadata": metadata("small", LATER, &referenced)}));
    assert!(noted(started(world(STARTED)), |world| drop(world.put(&quota))));
    let with_secret = started(world(STARTED).with(secret(&referenced)));
    assert!(noted(with_secret, |world| drop(world.put(&secret(&json!({}))))));
}

#[test]
fn other_namespaces_are_no_activity() {
    let mut other = shoot(LATER);
    "garden-other".clone_into(&mut other.metadata.namespace);
    assert!(!noted(started(world(STARTED)), |world| drop(world.put(&other))));
}
