// SPDX-License-Identifier: Apache-2.0
//! Cases of k8s.io/kubernetes pkg/controller/resourcequota/resource_quota_controller_test.go: status of quotas. The
//! usage of an object is covered by a table in `domain::resource_quota`.

use api::kubernetes::core::{ConfigMap, Pod, ResourceQuota};
use apimachinery::Status;
use kube_controllers::Options;
use serde_json::{Value, json};
use testkit::{Pass, World, object};

use super::{CLUSTER, start, world};

fn quota(namespace: &str, hard: &Value) -> ResourceQuota {
    object(json!({"metadata": {"name": "q", "namespace": namespace}, "spec": {"hard": hard}}))
}

fn pod(namespace: &str, name: &str, cpu: &str, phase: &str) -> Pod {
    let resources = json!({"requests": {"cpu": cpu, "memory": "1Gi"}, "limits": {"cpu": "2"}});
    object(json!({
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "c", "resources": resources}]},
        "status": {"phase": phase},
    }))
}

fn map(name: &str) -> ConfigMap {
    object(json!({"metadata": {"name": name, "namespace": "n"}}))
}

fn started(world: World) -> (World, Pass) {
    let mut world = world;
    let pass = start(&mut world, Options::default());
    (world, pass)
}

fn status(world: &World, namespace: &str) -> Value {
    let quota: ResourceQuota = world.get_in(CLUSTER, namespace, "q").expect("the quota is there");
    apimachinery::encode::to_tree(&quota)["status"].clone()
}

#[test]
fn a_quota_without_objects_uses_nothing() {
    let hard = json!({"cpu": "3", "memory": "100Gi", "pods": "5", "configmaps": "2"});
    let (world, pass) = started(world().with_in(CLUSTER, quota("n", &hard)));
    let used = json!({"cpu": "0", "memory": "0", "pods": "0", "configmaps": "0"});
    assert_eq!(status(&world, "n"), json!({"hard": hard, "used": used}));
    assert_eq!(pass.next, None, "nothing is asked again by time");
}

#[test]
fn ended_and_foreign_pods_do_not_count() {
    let hard = json!({"requests.cpu": "3", "requests.memory": "100Gi", "limits.cpu": "10", "pods": "5"});
    let (world, _) = started(
        world()
            .with_in(CLUSTER, quota("n", &hard))
            .with_in(CLUSTER, pod("n", "runs", "500m", "Running"))
            .with_in(CLUSTER, pod("n", "waits", "1", "Pending"))
            .with_in(CLUSTER, pod("n", "failed", "1", "Failed"))
            .with_in(CLUSTER, pod("n", "succeeded", "1", "Succeeded"))
            .with_in(CLUSTER, pod("other", "elsewhere", "1", "Running"))
            .with_in("seed--b", pod("n", "elsewhere", "1", "Running")),
    );
    let used = json!({"requests.cpu": "1500m", "requests.memory": "2Gi", "limits.cpu": "4", "pods": "2"});
    assert_eq!(status(&world, "n")["used"], used);
}

#[test]
fn created_deleted_and_changed_objects_are_recounted() {
    let (mut world, _) = started(world().with_in(CLUSTER, quota("n", &json!({"count/configmaps": "5", "pods": "5"}))));
    let used = |world: &World| status(world, "n")["used"].clone();
    world.put_in(CLUSTER, &map("a"));
    world.put_in(CLUSTER, &map("b"));
    world.put_in(CLUSTER, &pod("n", "p", "1", "Running"));
    world.pass();
    assert_eq!(used(&world), json!({"count/configmaps": "2", "pods": "1"}));
    world.remove_in::<ConfigMap>(CLUSTER, "n", "a");
    world.change_in::<Pod>(CLUSTER, "n", "p", |pod| "Succeeded".clone_into(&mut pod.status.phase));
    world.pass();
    assert_eq!(used(&world), json!({"count/configmaps": "1", "pods": "0"}));
}

#[test]
fn only_a_changed_quota_is_written() {
    let (mut world, _) = started(world().with_in(CLUSTER, quota("n", &json!({"configmaps": "5"}))));
    world.change_in::<ResourceQuota>(CLUSTER, "n", "q", |quota| {
        quota.spec = object::<ResourceQuota>(json!({"spec": {"hard": {"configmaps": "1", "services": "1"}}})).spec;
    });
    let pass = world.pass();
    assert_eq!(status(&world, "n")["hard"], json!({"configmaps": "1", "services": "1"}));
    assert_eq!(pass.writes.len(), 1, "{:?}", pass.writes);
    world.change_in::<ResourceQuota>(CLUSTER, "n", "q", |quota| {
        quota.metadata.labels.insert("a".to_owned(), "b".to_owned());
    });
    assert_eq!(world.pass().writes, [""; 0]);
}

#[test]
fn an_unserved_resource_has_no_usage() {
    let (world, _) = started(world().with_in(CLUSTER, quota("n", &json!({"count/widgets.example.org": "3"}))));
    assert_eq!(status(&world, "n")["used"], json!({"count/widgets.example.org": "0"}));
}

#[test]
fn a_write_that_fails_is_tried_again() {
    let mut world = world().with_in(CLUSTER, quota("n", &json!({"configmaps": "5"}))).with_in(CLUSTER, map("a"));
    let line = format!("{CLUSTER}: update resourcequotas");
    world.refuse(&line, Status::failure(409, "Conflict", "the object has been modified"));
    start(&mut world, Options::default());
    world.advance_to("2025-06-02T12:01:00Z");
    assert_eq!(status(&world, "n")["used"], json!({"configmaps": "1"}));
}
