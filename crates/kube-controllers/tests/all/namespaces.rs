// SPDX-License-Identifier: Apache-2.0
//! Cases of k8s.io/kubernetes pkg/controller/namespace.

use api::kubernetes::core::{ConfigMap, Namespace};
use kube_controllers::Options;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{CLUSTER, start, world};

fn leaving() -> Namespace {
    object(json!({
        "metadata": {"name": "n", "deletionTimestamp": "2025-06-02T11:00:00Z"},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Terminating"},
    }))
}

fn map(namespace: &str, finalizers: &Value) -> ConfigMap {
    object(json!({"metadata": {"name": "m", "namespace": namespace, "finalizers": finalizers}}))
}

fn remaining(world: &World) -> Option<String> {
    let namespace: Namespace = world.get_in(CLUSTER, "", "n")?;
    let conditions = namespace.status.conditions;
    let found = conditions.into_iter().find(|condition| condition.r#type == "NamespaceContentRemaining");
    found.map(|condition| condition.status)
}

#[test]
fn a_namespace_is_deleted_with_its_own_content_only() {
    let mut world = world()
        .with_in(CLUSTER, leaving())
        .with_in(CLUSTER, map("n", &json!([])))
        .with_in(CLUSTER, map("other", &json!([])))
        .with(map("n", &json!([])));
    start(&mut world, Options::default());
    assert!(world.get_in::<Namespace>(CLUSTER, "", "n").is_none());
    assert!(world.get_in::<ConfigMap>(CLUSTER, "n", "m").is_none());
    assert!(world.get_in::<ConfigMap>(CLUSTER, "other", "m").is_some());
    assert!(world.get::<ConfigMap>("n", "m").is_some(), "the same name in another cluster is another namespace");
}

#[test]
fn content_with_finalizers_keeps_a_namespace_and_is_reported() {
    let mut world = world().with_in(CLUSTER, leaving()).with_in(CLUSTER, map("n", &json!(["example.org/mine"])));
    start(&mut world, Options::default());
    assert_eq!(remaining(&world).as_deref(), Some("True"));
    world.remove_in::<ConfigMap>(CLUSTER, "n", "m");
    world.pass();
    assert!(world.get_in::<Namespace>(CLUSTER, "", "n").is_none(), "the last object gave it free");
}

#[test]
fn a_living_namespace_is_left_alone() {
    let living: Namespace = object(json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}}));
    let mut world = world().with_in(CLUSTER, living).with_in(CLUSTER, map("n", &json!([])));
    assert_eq!(start(&mut world, Options::default()).writes, [""; 0]);
}
