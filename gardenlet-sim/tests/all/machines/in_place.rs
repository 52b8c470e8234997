// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controller/deployment_inplace_test.go of machine-controller-manager: Machines remain, and their Nodes
//! report the progress. `landscape` tests a whole update.

use api::constants::annotation;
use api::kubernetes::core::{Node, Secret};
use api::machine::{InPlaceUpdateMachineDeployment, MachineClass, MachineDeployment};
use serde_json::json;
use testkit::{World, object};

use super::super::{SEED, TECHNICAL_ID};
use super::{change_pool, deployment, machines, names, nodes, running, sets, started};

fn in_place(orchestration: &str) -> MachineDeployment {
    let mut pool = deployment(2, "old");
    "InPlaceUpdate".clone_into(&mut pool.spec.strategy.r#type);
    pool.spec.strategy.rolling_update = None;
    pool.spec.strategy.in_place_update = Some(InPlaceUpdateMachineDeployment {
        max_surge: Some(0.into()),
        max_unavailable: Some(1.into()),
        orchestration_type: orchestration.to_owned(),
    });
    pool
}

fn updated(orchestration: &str) -> World {
    let mut world = started(in_place(orchestration));
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(running(&world), 2);
    change_pool(&world, |pool| "new".clone_into(&mut pool.spec.template.spec.class.name));
    world.pass();
    world
}

fn count(world: &World, label: &str) -> usize {
    nodes(world).iter().filter(|node| node.metadata.labels.contains_key(label)).count()
}

const CANDIDATE: &str = "node.machine.sapcloud.io/candidate-for-update";
const SELECTED: &str = "node.machine.sapcloud.io/selected-for-update";

#[test]
fn candidates_are_selected_one_at_a_time() {
    let world = updated("Auto");
    assert_eq!((count(&world, CANDIDATE), count(&world, SELECTED)), (2, 1));
    assert_eq!((machines(&world).len(), sets(&world).len()), (2, 2));
}

#[test]
fn by_hand_nothing_is_selected_until_the_user_does() {
    let mut world = updated("Manual");
    let before = names(&machines(&world));
    world.advance_to("2025-06-02T15:00:00Z");
    assert_eq!((count(&world, CANDIDATE), count(&world, SELECTED)), (2, 0));
    let name = before[0].clone();
    world.change_in::<Node>(TECHNICAL_ID, "", &name, |node| {
        node.metadata.labels.insert(SELECTED.to_owned(), "true".to_owned());
    });
    world.pass();
    let node: Node = world.get_in(TECHNICAL_ID, "", &name).expect("it is there");
    assert!(node.spec.unschedulable, "it is drained");
    let condition = node.status.conditions.iter().find(|condition| condition.r#type == "InPlaceUpdate");
    assert_eq!(condition.map(|condition| condition.reason.as_str()), Some("ReadyForUpdate"));
    assert_eq!(names(&machines(&world)), before, "Machines stay");
}

/// Returns a Secret of gardener-node-agent and a MachineClass of an operating system.
fn configured(class: &str, version: &str) -> (Secret, MachineClass) {
    let configuration = json!({"operatingSystem": version}).to_string();
    let secret = object(json!({"metadata": {"name": "gardener-node-agent-a", "namespace": "kube-system",
        "labels": {"gardener.cloud/role": "operating-system-config"},
        "annotations": {"checksum/data-script": version, annotation::IN_PLACE_CONFIGURATION: configuration}}}));
    let class = object(json!({"metadata": {"name": class, "namespace": TECHNICAL_ID},
        "providerSpec": {"image": {"name": "gardenlinux", "version": version}, "kubernetesVersion": "1.27.1"}}));
    (secret, class)
}

/// gardenlet writes the Secret before the class, but the watch delivers the class first.
#[test]
fn a_node_is_updated_to_a_configuration_not_yet_watched() {
    let mut pool = in_place("Auto");
    let labels = &mut pool.spec.template.spec.node_template.metadata.labels;
    labels
        .insert("worker.gardener.cloud/gardener-node-agent-secret-name".to_owned(), "gardener-node-agent-a".to_owned());
    let mut world = started(pool);
    let (secret, class) = configured("old", "1.0.0");
    world.put_in(TECHNICAL_ID, &secret);
    world.put_in(SEED, &class);
    world.advance_to("2025-06-02T12:20:00Z");
    let images =
        |world: &World| nodes(world).into_iter().map(|node| node.status.node_info.os_image).collect::<Vec<_>>();
    assert_eq!(images(&world), ["gardenlinux 1.0.0"; 2]);
    world.hold_watches(Some("secrets"));
    let (secret, class) = configured("new", "2.0.0");
    world.put_in(TECHNICAL_ID, &secret);
    world.put_in(SEED, &class);
    change_pool(&world, |pool| "new".clone_into(&mut pool.spec.template.spec.class.name));
    world.advance_to("2025-06-02T13:20:00Z");
    assert_eq!(images(&world), ["gardenlinux 2.0.0"; 2]);
}
