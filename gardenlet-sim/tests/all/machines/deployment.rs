// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controller/{deployment,deployment_rolling,deployment_sync,deployment_util}_test.go of
//! machine-controller-manager.

use api::constants::{annotation, finalizer};
use api::machine::MachineDeployment;

use super::super::{SEED, TECHNICAL_ID, start_provider};
use super::{change_pool, deployment, machines, names, nodes, phase, pool, running, running_pool, sets, started};

#[test]
fn a_machine_deployment_gets_a_machine_set_machines_and_nodes() {
    let mut world = started(deployment(2, "old"));
    assert_eq!((sets(&world).len(), machines(&world).len(), running(&world)), (1, 2, 0));
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(running(&world), 2);
    let nodes = nodes(&world);
    assert_eq!(nodes.len(), 2);
    for machine in machines(&world) {
        let node = machine.metadata.label("node").expect("it has a node").to_owned();
        assert!(nodes.iter().any(|one| one.metadata.name == node), "{node}");
    }
}

#[test]
fn a_new_class_replaces_machines_within_surge() {
    let mut world = running_pool(2);
    change_pool(&world, |pool| "new".clone_into(&mut pool.spec.template.spec.class.name));
    for minute in 20..59 {
        world.advance_to(&format!("2025-06-02T12:{minute}:30Z"));
        assert!(machines(&world).len() <= 3, "minute {minute}");
    }
    world.advance_to("2025-06-02T14:00:00Z");
    let classes: Vec<String> = machines(&world).into_iter().map(|machine| machine.spec.class.name).collect();
    assert_eq!(classes, ["new", "new"]);
    assert_eq!(nodes(&world).len(), 2, "nodes go with their machines");
}

#[test]
fn a_deployment_that_shrinks_loses_machines_and_their_nodes() {
    let mut world = running_pool(2);
    change_pool(&world, |pool| pool.spec.replicas = 1);
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!((machines(&world).len(), nodes(&world).len()), (1, 1));
}

#[test]
fn a_paused_deployment_is_scaled_and_rolls_nothing_out() {
    let mut world = running_pool(1);
    change_pool(&world, |pool| {
        pool.spec.paused = true;
        pool.spec.replicas = 2;
        "new".clone_into(&mut pool.spec.template.spec.class.name);
    });
    world.advance_to("2025-06-02T13:00:00Z");
    let classes: Vec<String> = machines(&world).into_iter().map(|machine| machine.spec.class.name).collect();
    assert_eq!(classes, ["old", "old"]);
    change_pool(&world, |pool| pool.spec.paused = false);
    world.advance_to("2025-06-02T14:00:00Z");
    assert!(machines(&world).iter().all(|machine| machine.spec.class.name == "new"));
}

#[test]
fn node_template_changes_reach_existing_machines_without_a_new_set() {
    let mut world = running_pool(1);
    let (before, sets_before) = (names(&machines(&world)), names(&sets(&world)));
    change_pool(&world, |pool| {
        let template = &mut pool.spec.template.spec.node_template;
        template.metadata.labels.insert("tier".to_owned(), "gold".to_owned());
    });
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!((names(&machines(&world)), names(&sets(&world))), (before, sets_before));
    assert_eq!(nodes(&world)[0].metadata.label("tier"), Some("gold"));
}

#[test]
fn a_rollback_makes_the_old_machine_set_the_newest_revision() {
    let mut world = running_pool(1);
    let first = sets(&world)[0].clone();
    assert_eq!(first.metadata.annotation(annotation::DEPLOYMENT_REVISION), Some("1"));
    change_pool(&world, |pool| "new".clone_into(&mut pool.spec.template.spec.class.name));
    world.pass();
    assert_eq!(pool(&world).metadata.annotation(annotation::DEPLOYMENT_REVISION), Some("2"));
    change_pool(&world, |pool| "old".clone_into(&mut pool.spec.template.spec.class.name));
    world.advance_to("2025-06-02T13:00:00Z");
    let is_first = |set: &&api::machine::MachineSet| set.metadata.name == first.metadata.name;
    let sets = sets(&world);
    let first = sets.iter().find(is_first).expect("it stays");
    assert_eq!(first.metadata.annotation(annotation::DEPLOYMENT_REVISION), Some("3"));
    assert_eq!(first.metadata.annotation(annotation::DEPLOYMENT_REVISION_HISTORY), Some("1"));
    assert_eq!(pool(&world).metadata.annotation(annotation::DEPLOYMENT_REVISION), Some("3"));
    assert_eq!(first.spec.replicas, 1);
}

#[test]
fn each_step_of_a_rollout_is_an_event() {
    let mut world = running_pool(1);
    change_pool(&world, |pool| "new".clone_into(&mut pool.spec.template.spec.class.name));
    let events = world.advance_to("2025-06-02T14:00:00Z").events;
    let scalings: Vec<&String> = events.iter().filter(|event| event.starts_with("Normal ScalingMachineSet")).collect();
    assert_eq!(scalings.len(), 2, "{scalings:?}");
    assert!(scalings[0].starts_with("Normal ScalingMachineSet Scaled up machine set pool-a-"), "{scalings:?}");
    assert!(scalings[0].ends_with(" to 1") && scalings[1].ends_with(" to 0"), "{scalings:?}");
    assert!(scalings[1].starts_with("Normal ScalingMachineSet Scaled down machine set pool-a-"), "{scalings:?}");
}

#[test]
fn the_status_counts_machines() {
    let mut world = started(deployment(2, "old"));
    let status = pool(&world).status;
    assert_eq!((status.replicas, status.ready_replicas, status.available_replicas), (2, 0, 0));
    assert_eq!(status.unavailable_replicas, 2);
    world.advance_to("2025-06-02T12:20:00Z");
    let status = pool(&world).status;
    assert_eq!((status.replicas, status.updated_replicas, status.ready_replicas), (2, 2, 2));
    assert_eq!((status.available_replicas, status.unavailable_replicas, status.observed_generation), (2, 0, 1));
    let is_available = |it: &&api::machine::MachineDeploymentCondition| it.r#type == "Available";
    assert_eq!(status.conditions.iter().find(is_available).map(|it| it.status.as_str()), Some("True"));
}

#[test]
fn a_deployment_is_deleted_after_its_sets_and_machines() {
    let mut world = running_pool(2);
    assert_eq!(pool(&world).metadata.finalizers, [finalizer::MACHINE_CONTROLLER_MANAGER]);
    world.delete_in::<MachineDeployment>(SEED, TECHNICAL_ID, "pool-a");
    world.pass();
    assert!(pool(&world).metadata.is_being_deleted());
    assert!(machines(&world).iter().all(|machine| phase(machine) == "Terminating"));
    world.advance_to("2025-06-02T13:00:00Z");
    assert!(world.get_in::<MachineDeployment>(SEED, TECHNICAL_ID, "pool-a").is_none());
    assert_eq!((machines(&world).len(), sets(&world).len(), nodes(&world).len()), (0, 0, 0));
}

#[test]
fn a_restart_in_the_middle_changes_nothing_of_a_rollout() {
    let mut world = running_pool(2);
    change_pool(&world, |pool| "new".clone_into(&mut pool.spec.template.spec.class.name));
    world.advance_to("2025-06-02T12:21:00Z");
    let before = names(&machines(&world));
    world.kill();
    start_provider(&mut world);
    assert_eq!(names(&machines(&world)), before);
    world.advance_to("2025-06-02T14:00:00Z");
    assert_eq!((machines(&world).len(), running(&world)), (2, 2));
    assert!(machines(&world).iter().all(|machine| machine.spec.class.name == "new"));
}

#[test]
fn at_rest_nothing_is_written() {
    let mut world = running_pool(2);
    let pass = world.advance_to("2025-06-02T18:00:00Z");
    assert_eq!((pass.writes, pass.next), (Vec::new(), None));
}
