// SPDX-License-Identifier: Apache-2.0
//! gardenlet makes the workload of components ready after some time where pods are not run, and no other workload.

use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use api::kubernetes::core::Node;
use apimachinery::Resource;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{SEED, TECHNICAL_ID, start_gardenlet, world};

const SOON: &str = "2025-06-02T12:00:01Z";
const LATER: &str = "2025-06-02T12:30:00Z";

/// Returns an object, which represents a component if `is_component`.
fn workload<K: Resource>(namespace: &str, name: &str, is_component: bool, spec: &Value) -> K {
    let annotations = if is_component { json!({ "terrarium.dev/gardener-version": "v1.120.0" }) } else { json!({}) };
    let metadata =
        json!({"name": name, "namespace": namespace, "generation": 1, "uid": name, "annotations": annotations});
    object(json!({ "metadata": metadata, "spec": spec }))
}

fn scheduler() -> Deployment {
    workload(TECHNICAL_ID, "kube-scheduler", true, &json!({ "replicas": 2 }))
}

fn deployment(world: &World, cluster: &str, name: &str) -> Deployment {
    world.get_in(cluster, TECHNICAL_ID, name).expect("it is there")
}

#[test]
fn components_become_ready_after_a_time() {
    let mut world = world().with_in(SEED, scheduler());
    start_gardenlet(&mut world);
    world.advance_to(SOON);
    assert_eq!(deployment(&world, SEED, "kube-scheduler").status.available_replicas, 0);
    world.advance_to(LATER);
    let status = deployment(&world, SEED, "kube-scheduler").status;
    assert_eq!((status.available_replicas, status.updated_replicas, status.observed_generation), (2, 2, 1));
    let conditions: Vec<(&str, &str)> =
        status.conditions.iter().map(|condition| (&*condition.r#type, &*condition.status)).collect();
    assert_eq!(conditions, [("Available", "True"), ("Progressing", "True")]);
}

#[test]
fn a_changed_generation_becomes_ready_again() {
    let mut world = world().with_in(SEED, scheduler());
    start_gardenlet(&mut world);
    world.advance_to(LATER);
    world.change_in::<Deployment>(SEED, TECHNICAL_ID, "kube-scheduler", |deployment| {
        deployment.metadata.generation = 2;
        deployment.spec.replicas = Some(3);
    });
    world.advance_to("2025-06-02T13:00:00Z");
    let status = deployment(&world, SEED, "kube-scheduler").status;
    assert_eq!((status.available_replicas, status.observed_generation), (3, 2));
}

#[test]
fn foreign_workload_is_not_changed() {
    let mut world = world()
        .with_in(SEED, workload::<Deployment>(TECHNICAL_ID, "users", false, &json!({ "replicas": 1 })))
        .with_in("seed--other", scheduler());
    start_gardenlet(&mut world);
    world.advance_to(LATER);
    assert_eq!(deployment(&world, SEED, "users").status.available_replicas, 0);
    assert_eq!(deployment(&world, "seed--other", "kube-scheduler").status.available_replicas, 0);
}

#[test]
fn etcd_becomes_ready_as_a_stateful_set() {
    let etcd = workload::<StatefulSet>(TECHNICAL_ID, "etcd-main", true, &json!({ "replicas": 1 }));
    let mut world = world().with_in(SEED, etcd);
    start_gardenlet(&mut world);
    world.advance_to(LATER);
    let status = world.get_in::<StatefulSet>(SEED, TECHNICAL_ID, "etcd-main").expect("it is there").status;
    assert_eq!((status.available_replicas, status.ready_replicas, status.updated_replicas), (1, 1, 1));
}

#[test]
fn daemon_sets_cover_nodes_of_their_pool_and_version() {
    let node = |name: &str, pool: &str| -> Node {
        let labels = json!({"worker.gardener.cloud/pool": pool, "worker.gardener.cloud/kubernetes-version": "1.27.1"});
        object(json!({"metadata": {"name": name, "uid": name, "labels": labels}}))
    };
    let set = |name: &str| workload::<DaemonSet>("kube-system", name, true, &json!({}));
    let mut world = world()
        .with_in(TECHNICAL_ID, node("n1", "a"))
        .with_in(TECHNICAL_ID, node("n2", "b"))
        .with_in(TECHNICAL_ID, set("node-exporter"))
        .with_in(TECHNICAL_ID, set("kube-proxy-a-v1.27.1"));
    start_gardenlet(&mut world);
    world.advance_to(LATER);
    let available = |world: &World, name: &str| {
        world.get_in::<DaemonSet>(TECHNICAL_ID, "kube-system", name).expect("it is there").status.number_available
    };
    assert_eq!((available(&world, "node-exporter"), available(&world, "kube-proxy-a-v1.27.1")), (2, 1));
    world.put_in(TECHNICAL_ID, &node("n3", "a"));
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!((available(&world, "node-exporter"), available(&world, "kube-proxy-a-v1.27.1")), (3, 2));
}
