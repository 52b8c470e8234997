// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/seed/secrets @ v1.120.0.

use api::core::Seed;
use api::kubernetes::core::{Namespace, Secret};
use serde_json::{Value, json};
use testkit::{World, object};

use super::{only, world};

const UID: &str = "11111111-2222-4333-8444-555555555555";

fn seed() -> Seed {
    object(json!({"metadata": {"name": "a", "uid": UID}}))
}

fn secret(namespace: &str, name: &str, role: &Value, value: &str) -> Secret {
    let labels = if role.is_null() { json!({}) } else { json!({"gardener.cloud/role": role}) };
    object(json!({"metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": {"value": value}}))
}

fn namespace(uid: &str) -> Namespace {
    let owner = json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "name": "a", "uid": uid, "controller": true});
    object(json!({"metadata": {"name": "seed-a", "ownerReferences": [owner]}}))
}

/// Returns the names of the Secrets in the Seed's namespace.
fn copies(world: &World) -> Vec<String> {
    let all: Vec<Secret> = world.list_in("garden");
    all.into_iter().filter(|one| one.metadata.namespace == "seed-a").map(|one| one.metadata.name).collect()
}

fn at_noon() -> World {
    world("2025-06-02T12:00:00Z").with(seed())
}

#[test]
fn a_seed_gets_a_namespace_with_the_gardens_secrets() {
    let mut world = at_noon()
        .with(secret("garden", "domain", &json!("default-domain"), "YQ=="))
        .with(secret("garden", "internal", &json!("internal-domain"), "YQ=="))
        .with(secret("garden", "no-role", &Value::Null, "YQ=="))
        .with(secret("garden", "monitoring", &json!("monitoring"), "YQ=="))
        .with(secret("garden-dev", "elsewhere", &json!("default-domain"), "YQ=="));
    world.start(only("seed-secrets"));
    assert_eq!(copies(&world), ["domain", "internal"]);
    let namespace: Namespace = world.get("", "seed-a").expect("made");
    assert_eq!(namespace.metadata.owner_references[0].uid, UID);
    assert_eq!(namespace.metadata.label("gardener.cloud/role"), Some("seed"));
}

#[test]
fn copies_are_updated_and_deleted_with_their_secrets() {
    let mut world = at_noon().with(secret("garden", "domain", &json!("default-domain"), "YQ=="));
    world.start(only("seed-secrets"));
    world.put(&secret("garden", "domain", &json!("default-domain"), "Yg=="));
    world.pass();
    let copy: Secret = world.get("seed-a", "domain").expect("there");
    assert_eq!(copy, {
        let mut expected = secret("seed-a", "domain", &json!("default-domain"), "Yg==");
        expected.metadata = copy.metadata.clone();
        expected
    });
    world.remove::<Secret>("garden", "domain");
    world.pass();
    assert_eq!(copies(&world), [""; 0]);
}

#[test]
fn a_foreign_namespace_is_not_used() {
    let mut world =
        at_noon().with(namespace("other")).with(secret("garden", "domain", &json!("default-domain"), "YQ=="));
    assert_eq!(world.start(only("seed-secrets")).writes, [""; 0]);
}

#[test]
fn secrets_that_others_put_into_the_namespace_stay() {
    let mut world = at_noon().with(namespace(UID)).with(secret("seed-a", "mine", &Value::Null, "YQ=="));
    world.start(only("seed-secrets"));
    assert_eq!(copies(&world), ["mine"]);
}
