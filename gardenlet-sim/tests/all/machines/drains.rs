// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/util/provider/drain/drain_test.go of machine-controller-manager.

use api::kubernetes::core::Pod;
use api::machine::Machine;
use apimachinery::Status;
use serde_json::{Value, json};
use testkit::{Pass, World, object};

use super::super::{SEED, TECHNICAL_ID};
use super::{change_pool, machine, running_pool};

fn pod(node: &str, metadata: &Value) -> Pod {
    named_pod("p", node, metadata)
}

fn named_pod(name: &str, node: &str, metadata: &Value) -> Pod {
    let mut pod: Pod = object(json!({
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "c"}]},
        "status": {"phase": "Running"},
    }));
    "n".clone_into(&mut pod.metadata.namespace);
    name.clone_into(&mut pod.metadata.name);
    pod
}

/// Returns a pool of one Machine whose Node has a pod, and the Machine's name.
fn with_pod(metadata: &Value) -> (World, String) {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    world.put_in(TECHNICAL_ID, &pod(&name, metadata));
    world.pass();
    (world, name)
}

fn description(world: &World, name: &str) -> String {
    let machine: Machine = world.get_in(SEED, TECHNICAL_ID, name).expect("it is there");
    machine.status.last_operation.description
}

fn pods(pass: &Pass) -> Vec<&str> {
    pass.writes_of("pods")
}

fn delete(world: &mut World, name: &str) -> Pass {
    world.delete_in::<Machine>(SEED, TECHNICAL_ID, name);
    world.pass()
}

#[test]
fn pods_are_evicted_before_the_vm_is_deleted() {
    let (mut world, name) = with_pod(&json!({}));
    let pass = delete(&mut world, &name);
    assert_eq!(pods(&pass), [format!("{TECHNICAL_ID}: post pods/eviction n/p")]);
    world.advance_to("2025-06-02T13:00:00Z");
    assert!(world.get_in::<Machine>(SEED, TECHNICAL_ID, &name).is_none());
}

/// Each watcher of pods can observe the cordon of a node before the removal of its pods.
#[test]
fn nodes_are_terminating_and_cordoned_before_evictions() {
    for is_forced in [false, true] {
        let (mut world, name) = with_pod(&json!({}));
        if is_forced {
            world.change_in::<Machine>(SEED, TECHNICAL_ID, &name, |machine| {
                machine.metadata.labels.insert("force-deletion".to_owned(), "True".to_owned());
            });
        }
        let pass = delete(&mut world, &name);
        let position = |text: &str, more: &str| {
            let found = pass.writes.iter().position(|line| line.contains(text) && line.contains(more));
            found.unwrap_or_else(|| panic!("{text} {more} is not in\n{}", pass.writes.join("\n")))
        };
        let asked = position(if is_forced { "delete pods" } else { "post pods/eviction" }, "n/p");
        let machine = position("update machines/status", "Initiate node drain");
        let terminating = position("update nodes/status", "Terminating");
        let cordoned = position("update nodes", "unschedulable");
        assert!(machine < terminating && terminating < cordoned && cordoned < asked, "{}", pass.writes.join("\n"));
    }
}

#[test]
fn pods_added_during_a_drain_are_evicted_before_vm_deletion() {
    let (mut world, name) = with_pod(&json!({}));
    let budget = "Cannot evict pod as it would violate the pod's disruption budget.";
    world.refuse(&format!("{TECHNICAL_ID}: post pods/eviction"), Status::failure(429, "TooManyRequests", budget));
    delete(&mut world, &name);
    world.put_in(TECHNICAL_ID, &named_pod("q", &name, &json!({"uid": "q"})));
    let pass = world.advance_to("2025-06-02T12:20:30Z");
    let asked = ["n/p", "n/q"].map(|pod| format!("{TECHNICAL_ID}: post pods/eviction {pod}"));
    assert_eq!(pods(&pass), asked);
    assert!(description(&world, &name).contains("Drain successful"));
}

#[test]
fn a_force_deleted_pod_is_not_waited_for() {
    let (mut world, name) = with_pod(&json!({}));
    set_retries(&mut world, 1);
    refuse_evictions(&world);
    delete(&mut world, &name);
    let pass = world.advance_to("2025-06-02T12:20:21Z");
    assert_eq!(pods(&pass), [format!("{TECHNICAL_ID}: delete pods n/p")]);
    assert!(description(&world, &name).contains("Drain successful"), "{}", description(&world, &name));
}

#[test]
fn a_forced_deletion_ignores_budgets() {
    let (mut world, name) = with_pod(&json!({}));
    world.change_in::<Machine>(SEED, TECHNICAL_ID, &name, |machine| {
        machine.metadata.labels.insert("force-deletion".to_owned(), "True".to_owned());
    });
    let pass = delete(&mut world, &name);
    assert_eq!(pods(&pass), [format!("{TECHNICAL_ID}: delete pods n/p")]);
    assert!(world.get_in::<Pod>(TECHNICAL_ID, "n", "p").is_none());
}

#[test]
fn pods_of_daemon_sets_and_mirror_pods_stay() {
    let daemon = json!({"ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "1", "controller": true}]});
    let mirror = json!({"annotations": {"kubernetes.io/config.mirror": "1"}});
    for metadata in [daemon, mirror] {
        let (mut world, name) = with_pod(&metadata);
        let pass = delete(&mut world, &name);
        assert_eq!(pods(&pass), [""; 0], "{metadata}");
        assert!(description(&world, &name).contains("Drain successful"), "{metadata}");
    }
}

#[test]
fn a_refused_eviction_is_retried_while_the_vm_remains() {
    let (mut world, name) = with_pod(&json!({}));
    let budget = "Cannot evict pod as it would violate the pod's disruption budget.";
    world.refuse(&format!("{TECHNICAL_ID}: post pods/eviction"), Status::failure(429, "TooManyRequests", budget));
    let pass = delete(&mut world, &name);
    assert_eq!(pods(&pass), [format!("{TECHNICAL_ID}: post pods/eviction n/p refused 429")]);
    assert!(description(&world, &name).contains("Initiate node drain"));
    let again = pass.next.expect("it is tried again");
    assert!(again <= testkit::instant("2025-06-02T12:20:20Z"), "{again}");
    let pass = world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!(pods(&pass), [format!("{TECHNICAL_ID}: post pods/eviction n/p")]);
    assert!(world.get_in::<Machine>(SEED, TECHNICAL_ID, &name).is_none());
}

/// Refuses all evictions.
fn refuse_evictions(world: &World) {
    let budget = "Cannot evict pod as it would violate the pod's disruption budget.";
    for _ in 0..5000 {
        world.refuse(&format!("{TECHNICAL_ID}: post pods/eviction"), Status::failure(429, "TooManyRequests", budget));
    }
}

fn set_retries(world: &mut World, retries: i32) {
    change_pool(world, |pool| pool.spec.template.spec.max_evict_retries = Some(retries));
    world.pass();
}

#[test]
fn a_pod_is_deleted_when_all_retries_are_used_up() {
    for retries in [1, 3] {
        let (mut world, name) = with_pod(&json!({}));
        set_retries(&mut world, retries);
        refuse_evictions(&world);
        world.delete_in::<Machine>(SEED, TECHNICAL_ID, &name);
        let pass = world.advance_to("2025-06-02T13:00:00Z");
        let mut expected: Vec<String> = Vec::new();
        for _ in 0..retries {
            expected.push(format!("{TECHNICAL_ID}: post pods/eviction n/p refused 429"));
        }
        expected.push(format!("{TECHNICAL_ID}: delete pods n/p"));
        assert_eq!(pods(&pass), expected);
    }
}

#[test]
fn pods_are_deleted_when_the_drain_timeout_has_passed() {
    let (mut world, name) = with_pod(&json!({}));
    set_retries(&mut world, 5000);
    refuse_evictions(&world);
    delete(&mut world, &name);
    world.advance_to("2025-06-02T14:19:00Z");
    assert!(world.get_in::<Pod>(TECHNICAL_ID, "n", "p").is_some(), "two hours are not over");
    let pass = world.advance_to("2025-06-02T14:21:00Z");
    assert!(pods(&pass).contains(&&*format!("{TECHNICAL_ID}: delete pods n/p")), "{:?}", pods(&pass));
}
