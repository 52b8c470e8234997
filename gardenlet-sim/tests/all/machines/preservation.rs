// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/util/provider/machinecontroller/{machine,machine_util}_test.go and pkg/controller/machineset_test.go of
//! machine-controller-manager v0.62.1: Machines that are preserved.

use api::constants::annotation;
use api::kubernetes::core::{Node, NodeCondition, Pod};
use api::machine::{Machine, MachineDeployment};
use serde_json::json;
use testkit::{World, instant, object};

use super::super::{SEED, TECHNICAL_ID};
use super::{
    change_pool, deployment, machine, machines, names, nodes, phase, pool, running, set_ready, sets, started_by,
};

const PRESERVE: &str = "node.machine.sapcloud.io/preserve";

/// Returns the world at 12:20, when all Machines of a pool run.
fn running_by(version: &str, deployment: MachineDeployment) -> World {
    let replicas = usize::try_from(deployment.spec.replicas).expect("a number");
    let mut world = started_by(version, deployment);
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(running(&world), replicas);
    world
}

fn preserving(replicas: i32, max: i32) -> MachineDeployment {
    let mut pool = deployment(replicas, "old");
    pool.spec.auto_preserve_failed_machine_max = max;
    pool
}

fn annotate_node(world: &World, name: &str, value: Option<&str>) {
    world.change_in::<Node>(TECHNICAL_ID, "", name, |node| match value {
        Some(value) => drop(node.metadata.annotations.insert(PRESERVE.to_owned(), value.to_owned())),
        None => drop(node.metadata.annotations.remove(PRESERVE)),
    });
}

fn annotate_machine(world: &World, name: &str, value: &str) {
    world.change_in::<Machine>(SEED, TECHNICAL_ID, name, |machine| {
        machine.metadata.annotations.insert(PRESERVE.to_owned(), value.to_owned());
    });
}

fn node(world: &World, name: &str) -> Node {
    world.get_in(TECHNICAL_ID, "", name).expect("the Node is there")
}

fn condition(world: &World, name: &str) -> Option<NodeCondition> {
    node(world, name).status.conditions.into_iter().find(|condition| condition.r#type == "Preserved")
}

/// Returns status, reason and message of a Node's condition.
fn told(world: &World, name: &str) -> String {
    condition(world, name).map_or_else(|| "-".to_owned(), |it| format!("{} {} {}", it.status, it.reason, it.message))
}

fn expiry(machine: &Machine) -> Option<String> {
    machine.status.current_status.preserve_expiry_time.map(|time| time.0.format("%m-%dT%H:%M:%S").to_string())
}

fn scale_down_is_disabled(world: &World, name: &str) -> bool {
    node(world, name).metadata.annotations.contains_key(annotation::SCALE_DOWN_DISABLED)
}

fn named_pod(name: &str, node: &str, metadata: serde_json::Value) -> Pod {
    let mut pod: Pod =
        object(json!({"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": "Running"}}));
    (pod.metadata.namespace, pod.metadata.name) = ("n".to_owned(), name.to_owned());
    pod
}

#[test]
fn a_failed_machine_is_kept_and_drained_until_its_expiry() {
    let mut pool = preserving(1, 0);
    pool.spec.template.spec.machine_preserve_timeout = Some(apimachinery::meta::Duration::from_minutes(60));
    let mut world = running_by("v1.149.0", pool);
    let name = machine(&world).metadata.name;
    let daemon = json!({"uid": "d", "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "1", "controller": true}]});
    world.put_in(TECHNICAL_ID, &named_pod("p", &name, json!({"uid": "p"})));
    world.put_in(TECHNICAL_ID, &named_pod("d", &name, daemon));
    annotate_node(&world, &name, Some("when-failed"));
    world.pass();
    assert_eq!((expiry(&machine(&world)), told(&world, &name)), (None, "-".to_owned()), "it runs");
    assert_eq!(
        machine(&world).metadata.annotation("node.machine.sapcloud.io/last-applied-node-preserve-value"),
        Some("when-failed")
    );

    set_ready(&world, &name, "Unknown");
    let pass = world.advance_to("2025-06-02T12:30:00Z");
    let failed = machine(&world);
    assert_eq!((phase(&failed), &failed.metadata.name), ("Failed", &name));
    assert_eq!(expiry(&failed).as_deref(), Some("06-02T13:30:00"));
    let drained = "True Preserved by user. Preserved node drained successfully. Machine preserved until 2025-06-02 13:30:00 +0000 UTC.";
    assert_eq!(told(&world, &name), drained, "{:?}", pass.writes);
    assert!(node(&world, &name).spec.unschedulable && scale_down_is_disabled(&world, &name));
    let pod = |name: &str| world.get_in::<Pod>(TECHNICAL_ID, "n", name);
    assert!(pod("p").is_none() && pod("d").is_some(), "only the pod of the DaemonSet stays");
    let status = sets(&world)[0].status.clone();
    assert_eq!((status.preserved_failed_replicas, status.replicas, status.failed_machines), (1, 1, None));
    let status = super::pool(&world).status;
    assert_eq!(
        (status.preserved_failed_replicas, status.unavailable_replicas, status.failed_machines.len()),
        (1, 1, 0)
    );
    let available = status.conditions.iter().find(|it| it.r#type == "Available").expect("a condition");
    assert_eq!(available.status, "True");

    world.advance_to("2025-06-02T13:29:59Z");
    assert_eq!(names(&machines(&world)), std::slice::from_ref(&name));
    let pass = world.advance_to("2025-06-02T13:30:00Z");
    let stopped = pass.writes.iter().any(|line| line.contains("Preservation stopped."));
    assert!(stopped, "{:?}", pass.writes);
    assert!(!node(&world, &name).metadata.annotations.contains_key(PRESERVE), "not again");
    world.advance_to("2025-06-02T15:00:00Z");
    assert_ne!(machine(&world).metadata.name, name);
    assert_eq!((running(&world), super::pool(&world).status.preserved_failed_replicas), (1, 0));
}

#[test]
fn releases_before_147_replace_failed_machines() {
    for version in ["v1.120.0", "v1.146.0"] {
        let mut world = running_by(version, preserving(1, 1));
        let name = machine(&world).metadata.name;
        annotate_node(&world, &name, Some("now"));
        annotate_machine(&world, &name, "now");
        set_ready(&world, &name, "Unknown");
        world.advance_to("2025-06-02T14:00:00Z");
        let machine = machine(&world);
        assert_ne!(machine.metadata.name, name, "{version}");
        assert_eq!(
            (running(&world), expiry(&machine), told(&world, &machine.metadata.name)),
            (1, None, "-".to_owned())
        );
    }
}

#[test]
fn a_recovered_machine_is_preserved_only_on_request() {
    for (value, is_preserved, left) in
        [("when-failed", false, Some("when-failed")), ("now", true, Some("now")), ("auto-preserved", false, None)]
    {
        let mut world = running_by("v1.149.0", preserving(1, 0));
        let name = machine(&world).metadata.name;
        annotate_node(&world, &name, Some(value));
        set_ready(&world, &name, "False");
        // Machines with `now` and `auto-preserved` are checked before they fail.
        if value == "auto-preserved" {
            world.advance_to("2025-06-02T12:29:00Z");
        }
        world.advance_to("2025-06-02T12:31:00Z");
        assert_eq!((phase(&machine(&world)), running(&world)), ("Failed", 0), "{value}");
        set_ready(&world, &name, "True");
        world.pass();
        let machine = machine(&world);
        assert_eq!((phase(&machine), &machine.metadata.name), ("Running", &name), "{value}");
        assert_eq!(expiry(&machine).is_some(), is_preserved, "{value}");
        let node = node(&world, &name);
        assert_eq!((node.spec.unschedulable, node.metadata.annotation(PRESERVE)), (false, left), "{value}");
        assert_eq!(scale_down_is_disabled(&world, &name), is_preserved, "{value}");
        let told = told(&world, &name);
        assert_eq!(told == "False Preservation stopped. ", !is_preserved, "{told}");
    }
}

#[test]
fn failed_machines_are_preserved_up_to_the_maximum() {
    let mut world = running_by("v1.147.0", preserving(3, 1));
    let before = names(&machines(&world));
    for name in &before[..2] {
        set_ready(&world, name, "Unknown");
    }
    world.advance_to("2025-06-02T13:30:00Z");
    let all = machines(&world);
    let failed: Vec<&Machine> = all.iter().filter(|machine| phase(machine) == "Failed").collect();
    let [kept] = failed.as_slice() else { panic!("{:?}", names(&all)) };
    assert!(before[..2].contains(&kept.metadata.name));
    assert_eq!(kept.metadata.annotation(PRESERVE), Some("auto-preserved"));
    assert!(
        told(&world, &kept.metadata.name).starts_with("True Preserved by MCM. Preserved node drained successfully.")
    );
    assert_eq!((all.len(), running(&world)), (3, 2), "it counts as one of three");
    let status = sets(&world)[0].status.clone();
    assert_eq!((status.auto_preserve_failed_machine_count, status.preserved_failed_replicas), (1, 1));

    // The changed maximum is copied to the MachineSet, and the Machine is replaced.
    let name = kept.metadata.name.clone();
    change_pool(&world, |pool| pool.spec.auto_preserve_failed_machine_max = 0);
    world.advance_to("2025-06-02T14:30:00Z");
    let all = names(&machines(&world));
    assert!(all.len() == 3 && !all.contains(&name), "{all:?}");
    assert_eq!((running(&world), sets(&world)[0].spec.auto_preserve_failed_machine_max), (3, 0));
}

#[test]
fn a_machine_that_is_not_to_be_preserved_is_replaced() {
    for is_of_node in [true, false] {
        let mut world = running_by("v1.149.0", preserving(1, 1));
        let name = machine(&world).metadata.name;
        if is_of_node {
            annotate_node(&world, &name, Some("false"));
        } else {
            annotate_machine(&world, &name, "false");
        }
        set_ready(&world, &name, "Unknown");
        world.advance_to("2025-06-02T14:00:00Z");
        assert_ne!(machine(&world).metadata.name, name, "{is_of_node}");
        assert_eq!(running(&world), 1);
    }
}

#[test]
fn a_running_machine_is_preserved_until_its_annotation_is_removed() {
    let mut world = running_by("v1.149.0", preserving(1, 0));
    let name = machine(&world).metadata.name;
    annotate_node(&world, &name, Some("now"));
    world.pass();
    assert_eq!((phase(&machine(&world)), expiry(&machine(&world)).as_deref()), ("Running", Some("06-06T12:20:00")));
    assert_eq!(told(&world, &name), "True Preserved by user. Machine preserved until 2025-06-06 12:20:00 +0000 UTC.");
    assert!(scale_down_is_disabled(&world, &name) && !node(&world, &name).spec.unschedulable);
    annotate_node(&world, &name, None);
    world.advance_to("2025-06-02T12:21:00Z");
    assert_eq!((phase(&machine(&world)), expiry(&machine(&world))), ("Running", None));
    assert_eq!(told(&world, &name), "False Preservation stopped. ");
    assert!(!scale_down_is_disabled(&world, &name));
    let since = condition(&world, &name).expect("it stays").last_transition_time.0;
    assert!(since >= instant("2025-06-02T12:20:00Z"), "{since}");
}

#[test]
fn scale_down_spares_preserved_machines_but_deletion_does_not() {
    let mut world = running_by("v1.149.0", preserving(3, 0));
    let all = names(&machines(&world));
    annotate_machine(&world, &all[0], "now");
    world.pass();
    assert_eq!(machines(&world).iter().filter(|machine| expiry(machine).is_some()).count(), 1);
    change_pool(&world, |pool| pool.spec.replicas = 1);
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!(names(&machines(&world)), [all[0].clone()]);
    world.delete_in::<Machine>(SEED, TECHNICAL_ID, &all[0]);
    world.advance_to("2025-06-02T13:30:00Z");
    assert_ne!(machine(&world).metadata.name, all[0]);
    assert_eq!((pool(&world).status.replicas, nodes(&world).len()), (1, 1));
}
