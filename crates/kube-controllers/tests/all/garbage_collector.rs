// SPDX-License-Identifier: Apache-2.0
//! Cases of k8s.io/kubernetes pkg/controller/garbagecollector.

use api::kubernetes::core::{ConfigMap, Secret};
use apimachinery::Resource;
use kube_controllers::Options;
use serde_json::{Value, json};
use testkit::object;

use super::{CLUSTER, start, world};

const OWNER: &str = "11111111-2222-4333-8444-555555555555";

fn owner(metadata: &Value) -> ConfigMap {
    let mut owner: ConfigMap = object(json!({"metadata": metadata}));
    "owner".clone_into(&mut owner.metadata.name);
    "n".clone_into(&mut owner.metadata.namespace);
    OWNER.clone_into(&mut owner.metadata.uid);
    owner
}

/// Returns an object that names an owner.
fn dependent<K: Resource>(name: &str, uid: &str) -> K {
    object(json!({"metadata": {"name": name, "namespace": "n", "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": true}]}}))
}

#[test]
fn dependents_are_deleted_in_the_background_after_their_owner() {
    let mut world = world().with_in(CLUSTER, owner(&json!({}))).with_in(CLUSTER, dependent::<Secret>("s", OWNER));
    start(&mut world, Options::default());
    assert!(world.get_in::<Secret>(CLUSTER, "n", "s").is_some(), "the owner lives");
    world.remove_in::<ConfigMap>(CLUSTER, "n", "owner");
    world.pass();
    assert!(world.get_in::<Secret>(CLUSTER, "n", "s").is_none());
}

#[test]
fn an_owner_of_another_uid_is_no_owner() {
    let mut world = world().with_in(CLUSTER, owner(&json!({}))).with_in(CLUSTER, dependent::<Secret>("s", "other"));
    start(&mut world, Options::default());
    assert!(world.get_in::<Secret>(CLUSTER, "n", "s").is_none());
}

#[test]
fn one_of_two_owners_is_enough_to_stay() {
    let mut both: Secret = dependent("s", OWNER);
    let second: Secret = dependent("s", "gone");
    both.metadata.owner_references.extend(second.metadata.owner_references);
    let mut world = world().with_in(CLUSTER, owner(&json!({}))).with_in(CLUSTER, both);
    start(&mut world, Options::default());
    let stays: Secret = world.get_in(CLUSTER, "n", "s").expect("it stays");
    assert_eq!(stays.metadata.owner_references.len(), 1, "the owner that is gone is named no more");
}

#[test]
fn in_the_foreground_the_owner_is_deleted_last() {
    let leaving = json!({"finalizers": ["foregroundDeletion"], "deletionTimestamp": "2025-06-02T11:00:00Z"});
    let mut kept: Secret = dependent("s", OWNER);
    kept.metadata.finalizers.push("example.org/mine".to_owned());
    let mut world = world().with_in(CLUSTER, owner(&leaving)).with_in(CLUSTER, kept);
    start(&mut world, Options::default());
    let secret: Secret = world.get_in(CLUSTER, "n", "s").expect("its finalizer keeps it");
    assert!(secret.metadata.is_being_deleted());
    assert!(world.get_in::<ConfigMap>(CLUSTER, "n", "owner").is_some(), "the owner waits for it");
    world.remove_in::<Secret>(CLUSTER, "n", "s");
    world.pass();
    assert!(world.get_in::<ConfigMap>(CLUSTER, "n", "owner").is_none());
}

#[test]
fn orphans_stay_without_their_owner() {
    let leaving = json!({"finalizers": ["orphan"], "deletionTimestamp": "2025-06-02T11:00:00Z"});
    let mut world = world().with_in(CLUSTER, owner(&leaving)).with_in(CLUSTER, dependent::<Secret>("s", OWNER));
    start(&mut world, Options::default());
    assert!(world.get_in::<ConfigMap>(CLUSTER, "n", "owner").is_none());
    let orphan: Secret = world.get_in(CLUSTER, "n", "s").expect("it stays");
    assert!(orphan.metadata.owner_references.is_empty());
}

#[test]
fn an_owner_in_another_cluster_does_not_count() {
    let mut world = world().with(owner(&json!({}))).with_in(CLUSTER, dependent::<Secret>("s", OWNER));
    start(&mut world, Options::default());
    assert!(world.get_in::<Secret>(CLUSTER, "n", "s").is_none());
}
