// SPDX-License-Identifier: Apache-2.0
//! Tests of machine-controller-manager, one file for each kind. The permitted number of Machines, and the steps of a
//! Machine, are tables in `domain::rollout`.

mod class;
mod deployment;
mod drains;
mod in_place;
mod machine;
mod node_agent;
mod preservation;
mod set;

use api::kubernetes::core::Node;
use api::machine::{Machine, MachineDeployment, MachineSet};
use apimachinery::Resource;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{SEED, TECHNICAL_ID, start_provider};

/// Returns a Cluster object, as gardenlet writes it for extensions.
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

/// Returns the world at 12:00, with classes `old` and `new`.
fn started(deployment: MachineDeployment) -> World {
    started_by("v1.120.0", deployment)
}

/// Returns the same world with a provider of a version of Gardener.
fn started_by(version: &str, deployment: MachineDeployment) -> World {
    let mut world = World::at("2025-06-02T12:00:00Z")
        .component("provider-local", version)
        .with_in(SEED, cluster())
        .with_in(SEED, class("old"))
        .with_in(SEED, class("new"))
        .with_in(SEED, deployment);
    start_provider(&mut world);
    world
}

/// Returns the world at 12:20, when all Machines run.
fn running_pool(replicas: i32) -> World {
    let mut world = started(deployment(replicas, "old"));
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(running(&world), usize::try_from(replicas).expect("a number"));
    world
}

/// Changes the MachineDeployment, as a user does.
fn change_pool(world: &World, change: impl FnOnce(&mut MachineDeployment)) {
    world.change_in::<MachineDeployment>(SEED, TECHNICAL_ID, "pool-a", |pool| {
        change(pool);
        pool.metadata.generation += 1;
    });
}

fn pool(world: &World) -> MachineDeployment {
    world.get_in(SEED, TECHNICAL_ID, "pool-a").expect("the MachineDeployment is there")
}

fn sets(world: &World) -> Vec<MachineSet> {
    world.list_in(SEED)
}

fn machines(world: &World) -> Vec<Machine> {
    world.list_in(SEED)
}

fn names<K: Resource>(objects: &[K]) -> Vec<String> {
    objects.iter().map(|object| object.metadata().name.clone()).collect()
}

/// Returns the only Machine.
fn machine(world: &World) -> Machine {
    let [machine] = <[Machine; 1]>::try_from(machines(world)).expect("there is one Machine");
    machine
}

fn phase(machine: &Machine) -> &str {
    &machine.status.current_status.phase
}

fn running(world: &World) -> usize {
    machines(world).iter().filter(|machine| phase(machine) == "Running").count()
}

fn nodes(world: &World) -> Vec<Node> {
    world.list_in(TECHNICAL_ID)
}

/// Sets the status of condition Ready, as when the kubelet stops or starts again.
fn set_ready(world: &World, node: &str, status: &str) {
    let now = "2025-06-02T12:20:00Z";
    world.change_in::<Node>(TECHNICAL_ID, "", node, |node| {
        let ready = node.status.conditions.iter_mut().find(|condition| condition.r#type == "Ready").expect("it has it");
        status.clone_into(&mut ready.status);
        ready.last_transition_time = testkit::instant(now).into();
    });
}
