// SPDX-License-Identifier: Apache-2.0
//! Cases of machine-controller-manager's deployment and machine controllers: machines of a MachineDeployment come, are
//! replaced and go. How many of which there may be is a table in `domain::rollout`.

use api::kubernetes::core::Node;
use api::machine::{Machine, MachineDeployment, MachineSet};
use serde_json::{Value, json};
use testkit::{World, object};

use super::{SEED, TECHNICAL_ID};

/// A Cluster object, as gardenlet writes it for extensions.
fn cluster() -> api::extensions::Cluster {
    let shoot: Value = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": "s", "namespace": "garden-dev"},
        "spec": {"kubernetes": {"version": "1.27.1"}, "region": "local",
            "provider": {"type": "local", "workers": [{"name": "a", "minimum": 2, "maximum": 2, "machine": {"type": "local"}}]}},
        "status": {"technicalID": TECHNICAL_ID},
    });
    object(json!({"metadata": {"name": TECHNICAL_ID}, "spec": {"shoot": shoot, "seed": {}, "cloudProfile": {}}}))
}

fn class(name: &str) -> api::machine::MachineClass {
    object(json!({"metadata": {"name": name, "namespace": TECHNICAL_ID}}))
}

fn deployment(replicas: i32, class: &str) -> MachineDeployment {
    let labels = json!({"name": "pool-a"});
    object(json!({
        "metadata": {"name": "pool-a", "namespace": TECHNICAL_ID, "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels}, "spec": {"class": {"kind": "MachineClass", "name": class},
                "nodeTemplate": {"metadata": {"labels": {"worker.gardener.cloud/pool": "a"}}}}},
        },
    }))
}

fn started(deployment: MachineDeployment) -> World {
    let mut world = World::at("2025-06-02T12:00:00Z")
        .component("provider-local", "v1.120.0")
        .with_in(SEED, cluster())
        .with_in(SEED, class("old"))
        .with_in(SEED, class("new"))
        .with_in(SEED, deployment);
    world.start(|context| {
        let mut options = gardenlet_sim::provider_local::Options::default();
        "local".clone_into(&mut options.seed_name);
        gardenlet_sim::provider_local::run(context, options)
    });
    world
}

fn machines(world: &World) -> Vec<Machine> {
    world.list_in(SEED)
}

fn running(world: &World) -> usize {
    machines(world).iter().filter(|machine| machine.status.current_status.phase == "Running").count()
}

#[test]
fn a_machine_deployment_gets_a_machine_set_machines_and_nodes() {
    let mut world = started(deployment(2, "old"));
    assert_eq!((world.list_in::<MachineSet>(SEED).len(), machines(&world).len(), running(&world)), (1, 2, 0));
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(running(&world), 2);
    let nodes: Vec<Node> = world.list_in(TECHNICAL_ID);
    assert_eq!(nodes.len(), 2);
    for machine in machines(&world) {
        let node = machine.metadata.label("node").expect("it has a node").to_owned();
        assert!(nodes.iter().any(|one| one.metadata.name == node), "{node}");
    }
}

#[test]
fn a_new_class_replaces_machines_within_surge() {
    let mut world = started(deployment(2, "old"));
    world.advance_to("2025-06-02T12:20:00Z");
    world.change_in::<MachineDeployment>(SEED, TECHNICAL_ID, "pool-a", |pool| {
        let mut new = deployment(2, "new");
        new.metadata = pool.metadata.clone();
        new.metadata.generation = 2;
        new.status = pool.status.clone();
        *pool = new;
    });
    for minute in 20..59 {
        world.advance_to(&format!("2025-06-02T12:{minute}:30Z"));
        assert!(machines(&world).len() <= 3, "minute {minute}");
    }
    world.advance_to("2025-06-02T14:00:00Z");
    let classes: Vec<String> = machines(&world).into_iter().map(|machine| machine.spec.class.name).collect();
    assert_eq!(classes, ["new", "new"]);
    assert_eq!(world.list_in::<Node>(TECHNICAL_ID).len(), 2, "nodes go with their machines");
}

#[test]
fn a_deployment_that_shrinks_loses_machines_and_their_nodes() {
    let mut world = started(deployment(2, "old"));
    world.advance_to("2025-06-02T12:20:00Z");
    world.change_in::<MachineDeployment>(SEED, TECHNICAL_ID, "pool-a", |pool| {
        pool.spec.replicas = 1;
        pool.metadata.generation = 2;
    });
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!((machines(&world).len(), world.list_in::<Node>(TECHNICAL_ID).len()), (1, 1));
}

#[test]
fn a_machine_that_is_deleted_by_hand_is_replaced() {
    let mut world = started(deployment(1, "old"));
    world.advance_to("2025-06-02T12:20:00Z");
    let name = machines(&world)[0].metadata.name.clone();
    world.delete_in::<Machine>(SEED, TECHNICAL_ID, &name);
    world.advance_to("2025-06-02T13:00:00Z");
    let now = machines(&world);
    assert_eq!(now.len(), 1);
    assert_ne!(now[0].metadata.name, name);
}
