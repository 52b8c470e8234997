// SPDX-License-Identifier: Apache-2.0
//! ResourceQuotas. Source: kubernetes test/e2e/apimachinery/resource_quota.go.

use kube_controllers::workload::Options;
use serde_json::{Value, json};

use super::super::workloads::World;
use super::{SPACE, deployment, pod};

fn quotas() -> String {
    format!("{SPACE}/resourcequotas")
}

/// A world with a quota whose status was computed.
fn limited(hard: Value, rest: Value) -> World {
    let world = World::new(Options::default());
    let mut spec = rest;
    spec["hard"] = hard;
    world.ask("POST", &quotas(), json!({ "metadata": { "name": "test-quota" }, "spec": spec }));
    world.settle(1);
    world
}

#[track_caller]
fn used(world: &World, name: &str) -> String {
    let quota = world.get(&format!("{}/test-quota", quotas()));
    quota["status"]["used"][name].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn exceeds(world: &World, path: &str, tree: Value) {
    let (code, status) = world.send("POST", path, tree);
    let message = status["message"].as_str().unwrap_or_default();
    assert!(code == 403 && message.contains("exceeded quota: test-quota"), "{code} {message}");
}

/// The first object counts, the next exceeds the quota, and a deleted object no longer counts.
fn life(resource: &str, collection: &str, before: usize, tree: impl Fn(&str) -> Value) {
    let world = limited(json!({ resource: (before + 1).to_string() }), json!({}));
    assert_eq!(used(&world, resource), before.to_string(), "{resource}");
    world.ask("POST", collection, tree("one"));
    world.settle(60);
    assert_eq!(used(&world, resource), (before + 1).to_string(), "{resource}");
    exceeds(&world, collection, tree("two"));
    world.ask("DELETE", &format!("{collection}/one?gracePeriodSeconds=0"), Value::Null);
    world.settle(60);
    assert_eq!(used(&world, resource), before.to_string(), "{resource}");
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_ensure_its_status_is_promptly_calculated() {
    let world = limited(json!({ "pods": "5", "secrets": "10" }), json!({}));
    let status = world.get(&format!("{}/test-quota", quotas()))["status"].clone();
    assert_eq!(status["hard"], json!({ "pods": "5", "secrets": "10" }));
    assert_eq!(status["used"]["pods"], "0");
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_capture_the_life_of_a_service() {
    let service = |name: &str| json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": 80 }] } });
    let world = World::new(Options::default());
    let before = world.list(&format!("{SPACE}/services")).len();
    life("services", &format!("{SPACE}/services"), before, service);
    let nodes =
        |name: &str| json!({ "metadata": { "name": name }, "spec": { "type": "NodePort", "ports": [{ "port": 80 }] } });
    life("services.nodeports", &format!("{SPACE}/services"), 0, nodes);
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_capture_the_life_of_a_secret() {
    life("secrets", &format!("{SPACE}/secrets"), 0, |name| json!({ "metadata": { "name": name } }));
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_capture_the_life_of_a_config_map() {
    life("configmaps", &format!("{SPACE}/configmaps"), 1, |name| json!({ "metadata": { "name": name } }));
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_capture_the_life_of_a_pod() {
    life("pods", &format!("{SPACE}/pods"), 0, |name| pod(name, &[]));
    let world = limited(json!({ "requests.cpu": "500m", "requests.memory": "1Gi" }), json!({}));
    let requests = |name: &str, cpu: &str| {
        let resources = json!({ "requests": { "cpu": cpu, "memory": "252Mi" } });
        json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i", "resources": resources }] } })
    };
    world.ask("POST", &format!("{SPACE}/pods"), requests("a", "300m"));
    exceeds(&world, &format!("{SPACE}/pods"), requests("b", "300m"));
    // A pod without a request for a limited resource is rejected, too.
    let (code, status) = world.send("POST", &format!("{SPACE}/pods"), pod("c", &[]));
    let message = status["message"].as_str().unwrap_or_default();
    assert!(
        code == 403 && message.contains("must specify requests.cpu for: c; requests.memory for: c"),
        "{code} {message}"
    );
    // An update cannot raise a pod's requests beyond the quota either: they are immutable.
    let more = json!({ "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1" } } }] } });
    assert_ne!(world.send("PATCH", &format!("{SPACE}/pods/a"), more).0, 200);
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_capture_the_life_of_a_replica_set() {
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    life("count/replicasets.apps", sets, 0, deployment);
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_capture_the_life_of_a_replication_controller() {
    let controller = |name: &str| {
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": spec });
        json!({ "metadata": { "name": name }, "spec": { "replicas": 0, "selector": { "a": "b" }, "template": template } })
    };
    life("replicationcontrollers", &format!("{SPACE}/replicationcontrollers"), 0, controller);
}

#[test]
fn resource_quota_should_create_a_resource_quota_and_capture_the_life_of_a_persistent_volume_claim() {
    let claim = |name: &str| {
        let resources = json!({ "requests": { "storage": "1Gi" } });
        json!({ "metadata": { "name": name }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": resources } })
    };
    life("persistentvolumeclaims", &format!("{SPACE}/persistentvolumeclaims"), 0, claim);
}

#[test]
fn resource_quota_should_verify_resource_quota_with_terminating_scopes() {
    let world = limited(json!({ "pods": "1" }), json!({ "scopes": ["Terminating"] }));
    world.ask("POST", &format!("{SPACE}/pods"), pod("lasting", &[]));
    world.settle(60);
    assert_eq!(used(&world, "pods"), "0");
    let mut ends = pod("ending", &[]);
    ends["spec"]["activeDeadlineSeconds"] = json!(3600);
    world.ask("POST", &format!("{SPACE}/pods"), ends.clone());
    world.settle(60);
    assert_eq!(used(&world, "pods"), "1");
    ends["metadata"]["name"] = json!("ending-too");
    exceeds(&world, &format!("{SPACE}/pods"), ends);
}

#[test]
fn resource_quota_should_verify_resource_quota_with_best_effort_scope() {
    let world = limited(json!({ "pods": "1" }), json!({ "scopes": ["BestEffort"] }));
    let mut burst = pod("burst", &[]);
    burst["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "1m" } });
    world.ask("POST", &format!("{SPACE}/pods"), burst);
    world.settle(60);
    assert_eq!(used(&world, "pods"), "0");
    world.ask("POST", &format!("{SPACE}/pods"), pod("best", &[]));
    world.settle(60);
    assert_eq!(used(&world, "pods"), "1");
    exceeds(&world, &format!("{SPACE}/pods"), pod("best-too", &[]));
}

#[test]
fn resource_quota_should_be_able_to_update_and_delete_resource_quota() {
    let world = limited(json!({ "secrets": "1" }), json!({}));
    let path = format!("{}/test-quota", quotas());
    let mut quota = world.get(&path);
    quota["spec"]["hard"] = json!({ "secrets": "2", "pods": "3" });
    let updated = world.ask("PUT", &path, quota);
    assert_eq!(updated["spec"]["hard"], json!({ "secrets": "2", "pods": "3" }));
    assert_eq!(world.get(&path)["spec"]["hard"], updated["spec"]["hard"]);
    world.ask("DELETE", &path, Value::Null);
    assert_eq!(world.send("GET", &path, Value::Null).0, 404);
    for number in 0..3 {
        world.ask("POST", &format!("{SPACE}/secrets"), json!({ "metadata": { "name": format!("s{number}") } }));
    }
}

#[test]
fn resource_quota_should_manage_the_lifecycle_of_a_resource_quota() {
    let world = World::new(Options::default());
    let tree = json!({ "metadata": { "name": "e2e", "labels": { "e2e": "x" } }, "spec": { "hard": { "cpu": "1" } } });
    world.ask("POST", &quotas(), tree);
    let path = format!("{}/e2e", quotas());
    assert_eq!(world.get(&path)["spec"]["hard"]["cpu"], "1");
    let patch = json!({ "metadata": { "labels": { "e2e": "patched" } }, "spec": { "hard": { "memory": "750Mi" } } });
    let patched = world.ask("PATCH", &path, patch);
    assert_eq!(patched["spec"]["hard"], json!({ "cpu": "1", "memory": "750Mi" }));
    let found = world.list("/api/v1/resourcequotas?labelSelector=e2e%3Dpatched");
    assert_eq!(found.len(), 1);
    world.ask("DELETE", &format!("{}?labelSelector=e2e%3Dpatched", quotas()), Value::Null);
    assert_eq!(world.list(&quotas()), Vec::<Value>::new());
}

#[test]
fn resource_quota_should_apply_changes_to_a_resourcequota_status() {
    let world = limited(json!({ "cpu": "500m", "memory": "500Mi" }), json!({}));
    let path = format!("{}/test-quota/status", quotas());
    let mut quota = world.get(&path);
    quota["status"]["hard"]["memory"] = json!("1Gi");
    assert_eq!(world.ask("PUT", &path, quota)["status"]["hard"]["memory"], "1Gi");
    // The status controller corrects the status.
    world.settle(600);
    let shown = world.get(&path);
    assert_eq!(
        (&shown["spec"]["hard"]["memory"], &shown["status"]["hard"]["memory"]),
        (&json!("500Mi"), &json!("500Mi"))
    );
    let patched = world.ask("PATCH", &path, json!({ "status": { "hard": { "cpu": "2" } } }));
    assert_eq!((&patched["status"]["hard"]["cpu"], &patched["spec"]["hard"]["cpu"]), (&json!("2"), &json!("500m")));
}
