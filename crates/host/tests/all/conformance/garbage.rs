// SPDX-License-Identifier: Apache-2.0
//! Garbage collection. Source: kubernetes test/e2e/apimachinery/garbage_collector.go.

use kube_controllers::workload::Options;
use serde_json::{Value, json};

use super::super::workloads::World;
use super::{SPACE, deployment, pod};

#[test]
fn garbage_collector_should_not_be_blocked_by_dependency_circle() {
    let world = World::new(Options::default());
    let pods = format!("{SPACE}/pods");
    let metadata = |name: &str| world.ask("POST", &pods, pod(name, &[]))["metadata"].clone();
    let [one, two, three] = ["pod1", "pod2", "pod3"].map(metadata);
    for (name, owner) in [("pod1", &three), ("pod2", &one), ("pod3", &two)] {
        let references = pod(name, &[("Pod", owner, true)])["metadata"]["ownerReferences"].clone();
        world.ask("PATCH", &format!("{pods}/{name}"), json!({ "metadata": { "ownerReferences": references } }));
    }
    world.settle(30);
    world.ask("DELETE", &format!("{pods}/pod1"), json!({ "propagationPolicy": "Foreground" }));
    world.settle(120);
    assert_eq!(world.get(&pods)["items"], json!([]));
}

#[test]
fn garbage_collector_should_not_delete_dependents_that_have_both_valid_owner_and_owner_thats_waiting_for_dependents_to_be_deleted()
 {
    let world = World::new(Options::default());
    let maps = format!("{SPACE}/configmaps");
    let owner = |name: &str| world.ask("POST", &maps, json!({ "metadata": { "name": name } }))["metadata"].clone();
    let (going, staying) = (owner("going"), owner("staying"));
    let owners = [("ConfigMap", &going, true), ("ConfigMap", &staying, false)];
    world.ask("POST", &maps, json!({ "metadata": pod("both", &owners)["metadata"] }));
    world.ask("POST", &maps, json!({ "metadata": pod("one", &owners[..1])["metadata"] }));
    world.settle(10);
    world.ask("DELETE", &format!("{maps}/going"), json!({ "propagationPolicy": "Foreground" }));
    world.settle(60);
    assert_eq!(world.send("GET", &format!("{maps}/going"), Value::Null).0, 404);
    assert_eq!(world.send("GET", &format!("{maps}/one"), Value::Null).0, 404);
    let owners = world.get(&format!("{maps}/both"))["metadata"]["ownerReferences"].clone();
    assert_eq!((owners.as_array().map(Vec::len), &owners[0]["name"]), (Some(1), &json!("staying")));
}

#[test]
fn garbage_collector_should_delete_rs_created_by_deployment_when_not_orphaning() {
    let world = World::new(Options::default());
    let group = "/apis/apps/v1/namespaces/default";
    world.ask("POST", &format!("{group}/deployments"), deployment("d"));
    world.settle(30);
    assert_eq!(world.get(&format!("{group}/replicasets"))["items"].as_array().map(Vec::len), Some(1));
    world.ask("DELETE", &format!("{group}/deployments/d"), json!({ "propagationPolicy": "Background" }));
    world.settle(60);
    assert_eq!(world.get(&format!("{group}/replicasets"))["items"], json!([]));
    assert_eq!(world.get(&format!("{SPACE}/pods"))["items"], json!([]));
}

#[test]
fn garbage_collector_should_orphan_rs_created_by_deployment_when_deleteoptions_propagationpolicy_is_orphan() {
    let world = World::new(Options::default());
    let group = "/apis/apps/v1/namespaces/default";
    world.ask("POST", &format!("{group}/deployments"), deployment("d"));
    world.settle(30);
    world.ask("DELETE", &format!("{group}/deployments/d"), json!({ "propagationPolicy": "Orphan" }));
    world.settle(60);
    assert_eq!(world.send("GET", &format!("{group}/deployments/d"), Value::Null).0, 404);
    let sets = world.get(&format!("{group}/replicasets"))["items"].clone();
    assert_eq!((sets.as_array().map(Vec::len), sets[0]["metadata"].get("ownerReferences")), (Some(1), None));
    assert_eq!(world.get(&format!("{SPACE}/pods"))["items"].as_array().map(Vec::len), Some(2));
}

#[test]
fn garbage_collector_should_keep_the_rs_around_until_all_its_pods_are_deleted_if_the_deleteoptions_says_so() {
    let world = World::new(Options::default());
    let group = "/apis/apps/v1/namespaces/default";
    world.ask("POST", &format!("{group}/replicasets"), deployment("r"));
    world.settle(30);
    hold_pods(&world, &json!({ "finalizers": ["example.com/hold"] }));
    world.ask("DELETE", &format!("{group}/replicasets/r"), json!({ "propagationPolicy": "Foreground" }));
    world.settle(60);
    let shown = world.get(&format!("{group}/replicasets/r"));
    assert_eq!(shown["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(pods(&world).len(), 2);
    hold_pods(&world, &json!({ "$deleteFromPrimitiveList/finalizers": ["example.com/hold"] }));
    world.settle(60);
    assert_eq!(world.send("GET", &format!("{group}/replicasets/r"), Value::Null).0, 404);
}

const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";

/// A landscape with ReplicationController `c` and its two pods.
fn with_controller() -> World {
    let world = World::new(Options::default());
    let mut controller = deployment("c");
    controller["spec"]["selector"] = controller["spec"]["template"]["metadata"]["labels"].clone();
    world.ask("POST", CONTROLLERS, controller);
    world.settle(30);
    assert_eq!(pods(&world).len(), 2);
    world
}

fn pods(world: &World) -> Vec<Value> {
    world.list(&format!("{SPACE}/pods"))
}

#[test]
fn garbage_collector_should_delete_pods_created_by_rc_when_not_orphaning() {
    let world = with_controller();
    world.ask("DELETE", &format!("{CONTROLLERS}/c"), json!({ "propagationPolicy": "Background" }));
    world.settle(60);
    assert_eq!(pods(&world), [] as [Value; 0]);
}

#[test]
fn garbage_collector_should_orphan_pods_created_by_rc_if_delete_options_say_so() {
    let world = with_controller();
    world.ask("DELETE", &format!("{CONTROLLERS}/c"), json!({ "propagationPolicy": "Orphan" }));
    world.settle(60);
    assert_eq!(world.send("GET", &format!("{CONTROLLERS}/c"), Value::Null).0, 404);
    assert!(pods(&world).iter().all(|pod| pod["metadata"].get("ownerReferences").is_none()));
    assert_eq!(pods(&world).len(), 2);
}

#[test]
fn garbage_collector_should_keep_the_rc_around_until_all_its_pods_are_deleted_if_the_deleteoptions_says_so() {
    let world = with_controller();
    hold_pods(&world, &json!({ "finalizers": ["example.com/hold"] }));
    world.ask("DELETE", &format!("{CONTROLLERS}/c"), json!({ "propagationPolicy": "Foreground" }));
    world.settle(60);
    let shown = world.get(&format!("{CONTROLLERS}/c"));
    assert_eq!(shown["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(pods(&world).len(), 2);
    hold_pods(&world, &json!({ "$deleteFromPrimitiveList/finalizers": ["example.com/hold"] }));
    world.settle(60);
    assert_eq!(world.send("GET", &format!("{CONTROLLERS}/c"), Value::Null).0, 404);
}

/// Patches the metadata of all pods.
fn hold_pods(world: &World, metadata: &Value) {
    for pod in pods(world) {
        let path = format!("{SPACE}/pods/{}", pod["metadata"]["name"].as_str().expect("a name"));
        world.ask("PATCH", &path, json!({ "metadata": metadata }));
    }
}
