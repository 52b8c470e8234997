// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/util/provider/machinecontroller/{machine,machine_util,machine_bootstrap_token}_test.go of
//! machine-controller-manager.

use api::constants::{annotation, finalizer, label, taint};
use api::kubernetes::core::{Node, Secret};
use api::machine::Machine;
use apimachinery::Status;

use super::super::{SEED, TECHNICAL_ID};
use super::{deployment, machine, machines, nodes, phase, running, running_pool, set_ready, started};

fn tokens(world: &testkit::World) -> Vec<Secret> {
    let secrets: Vec<Secret> = world.list_in(TECHNICAL_ID);
    secrets.into_iter().filter(|secret| secret.r#type == "bootstrap.kubernetes.io/token").collect()
}

#[test]
fn a_pending_machine_has_a_token() {
    let mut world = started(deployment(1, "old"));
    assert_eq!((phase(&machine(&world)), tokens(&world).len()), ("", 0), "no VM yet");
    assert_eq!(machine(&world).metadata.finalizers, [finalizer::MACHINE_CONTROLLER_MANAGER]);
    let mut seen = Vec::new();
    for second in 0..600 {
        world.advance_to(&format!("2025-06-02T12:{:02}:{:02}Z", second / 60, second % 60));
        let machine = machine(&world);
        let has_node = !nodes(&world).is_empty();
        let now =
            (phase(&machine).to_owned(), machine.status.last_operation.state.clone(), tokens(&world).len(), has_node);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    let of = |phase: &str, state: &str, tokens, has_node| (phase.to_owned(), state.to_owned(), tokens, has_node);
    assert_eq!(
        seen,
        [
            of("", "", 0, false),
            of("Pending", "Processing", 1, false),
            of("Pending", "Processing", 1, true),
            of("Running", "Successful", 0, true),
        ]
    );
    let machine = machine(&world);
    assert_eq!(
        machine.status.last_operation.description,
        format!("Machine {} successfully joined the cluster", machine.metadata.name)
    );
    assert_eq!(machine.metadata.label(label::MACHINE_NODE), Some(machine.metadata.name.as_str()));
    assert_eq!(machine.metadata.annotation(annotation::MACHINE_PRIORITY), Some("3"));
    assert!(!machine.spec.provider_id.is_empty());
}

#[test]
fn a_new_node_has_taints_until_critical_components_run() {
    let mut world = started(deployment(1, "old"));
    let key = |node: &Node| node.spec.taints.iter().map(|taint| taint.key.clone()).collect::<Vec<_>>();
    let mut had = false;
    for minute in 1..20 {
        world.advance_to(&format!("2025-06-02T12:{minute:02}:00Z"));
        let is_pending = phase(&machine(&world)) == "Pending";
        for node in nodes(&world) {
            let has = key(&node).contains(&taint::CRITICAL_COMPONENTS_NOT_READY.to_owned());
            assert!(is_pending || !has, "a Machine that runs has its critical components");
            had |= has;
        }
    }
    assert!(had, "it was there");
    assert_eq!(key(&nodes(&world)[0]), [""; 0]);
}

#[test]
fn a_creation_that_the_server_refuses_once_is_tried_again() {
    for request in ["create nodes", "create secrets"] {
        let mut world = started(deployment(1, "old"));
        let status = Status::failure(500, "InternalError", "etcdserver: request timed out");
        world.refuse(&format!("{TECHNICAL_ID}: {request}"), status);
        let pass = world.advance_to("2025-06-02T12:20:00Z");
        assert!(pass.writes.iter().any(|line| line.contains(request) && line.ends_with("refused 500")), "{request}");
        assert_eq!((machines(&world).len(), running(&world)), (1, 1), "{request}");
    }
}

#[test]
fn an_unready_node_makes_its_machine_unknown_until_it_recovers() {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    set_ready(&world, &name, "False");
    world.pass();
    let unhealthy = format!("Machine {name} is unhealthy - changing MachinePhase to Unknown. Node conditions: ");
    assert_eq!(phase(&machine(&world)), "Unknown");
    assert!(machine(&world).status.last_operation.description.starts_with(&unhealthy));
    world.advance_to("2025-06-02T12:29:00Z");
    assert_eq!(
        (phase(&machine(&world)), machine(&world).metadata.name),
        ("Unknown", name.clone()),
        "it has 10 minutes"
    );
    set_ready(&world, &name, "True");
    world.advance_to("2025-06-02T13:00:00Z");
    let machine = machine(&world);
    assert_eq!((phase(&machine), &machine.metadata.name), ("Running", &name));
    let rejoined = format!("Machine {name} successfully re-joined the cluster");
    assert_eq!(machine.status.last_operation.description, rejoined);
}

#[test]
fn an_unknown_machine_is_replaced_after_ten_minutes() {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    set_ready(&world, &name, "Unknown");
    world.advance_to("2025-06-02T12:29:59Z");
    assert_eq!(phase(&machine(&world)), "Unknown");
    let pass = world.advance_to("2025-06-02T12:30:00Z");
    let failed = pass.writes_of("machines").into_iter().any(|line| line.contains("\"phase\":\"Failed\""));
    assert!(failed, "{:?}", pass.writes);
    world.advance_to("2025-06-02T14:00:00Z");
    assert_ne!(machine(&world).metadata.name, name);
    assert_eq!(running(&world), 1);
}

#[test]
fn without_health_timeout_it_stays_unknown() {
    let mut pool = deployment(1, "old");
    pool.spec.template.spec.disable_health_timeout = Some(true);
    let mut world = started(pool);
    world.advance_to("2025-06-02T12:20:00Z");
    let name = machine(&world).metadata.name;
    set_ready(&world, &name, "False");
    world.advance_to("2025-06-02T20:00:00Z");
    assert_eq!((phase(&machine(&world)), machine(&world).metadata.name), ("Unknown", name));
}

#[test]
fn several_unhealthy_machines_are_replaced_one_after_the_other() {
    let mut world = running_pool(3);
    for node in nodes(&world) {
        set_ready(&world, &node.metadata.name, "Unknown");
    }
    world.advance_to("2025-06-02T12:30:00Z");
    let unknown = machines(&world).iter().filter(|machine| phase(machine) == "Unknown").count();
    assert_eq!(unknown, 2, "one is being replaced, two wait");
    world.advance_to("2025-06-02T16:00:00Z");
    assert_eq!((machines(&world).len(), running(&world)), (3, 3));
}

#[test]
fn a_node_object_that_is_deleted_is_missed() {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    world.remove_in::<Node>(TECHNICAL_ID, "", &name);
    world.pass();
    let text = format!("Node object went missing. Machine {name} is unhealthy - changing MachinePhase to Unknown");
    assert_eq!(machine(&world).status.last_operation.description, text);
    world.advance_to("2025-06-02T14:00:00Z");
    assert_ne!(machine(&world).metadata.name, name);
}

#[test]
fn a_machine_is_deleted_after_its_vm_and_node() {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    world.delete_in::<Machine>(SEED, TECHNICAL_ID, &name);
    world.pass();
    let leaving: Machine = world.get_in(SEED, TECHNICAL_ID, &name).expect("its VM is there");
    assert_eq!((phase(&leaving), leaving.status.last_operation.r#type.as_str()), ("Terminating", "Delete"));
    let node: Node = world.get_in(TECHNICAL_ID, "", &name).expect("it is there until the VM is gone");
    assert!(node.spec.unschedulable);
    assert!(node.status.conditions.iter().any(|condition| condition.r#type == "Terminating"));
    let pass = world.advance_to("2025-06-02T13:00:00Z");
    let position = |what: &str| pass.writes.iter().position(|line| line.contains(what));
    let node = position(&format!("delete nodes {name}")).expect("the Node is deleted");
    let released = format!("update machines {TECHNICAL_ID}/{name} {{\"metadata\":{{\"finalizers\":null");
    assert!(position(&released).is_some_and(|machine| node < machine), "{:?}", pass.writes);
    assert!(world.get_in::<Machine>(SEED, TECHNICAL_ID, &name).is_none());
}

#[test]
fn a_machine_without_a_vm_is_deleted_at_once() {
    let mut world = started(deployment(1, "old"));
    let name = machine(&world).metadata.name;
    world.delete_in::<Machine>(SEED, TECHNICAL_ID, &name);
    world.advance_to("2025-06-02T12:00:01Z");
    let left: Option<Machine> = world.get_in(SEED, TECHNICAL_ID, &name);
    assert_eq!(left, None);
    assert_eq!(tokens(&world).len(), 0);
}

#[test]
fn nodes_keep_labels_and_taints_of_their_template() {
    let mut world = running_pool(1);
    let name = machine(&world).metadata.name;
    world.change_in::<Node>(TECHNICAL_ID, "", &name, |node| {
        node.metadata.labels.remove("worker.gardener.cloud/pool");
        node.metadata.labels.insert("mine".to_owned(), "1".to_owned());
    });
    world.pass();
    let node = &nodes(&world)[0];
    assert_eq!(node.metadata.label("worker.gardener.cloud/pool"), Some("a"), "of the template");
    assert_eq!(node.metadata.label("mine"), Some("1"), "the foreign label is kept");
}
