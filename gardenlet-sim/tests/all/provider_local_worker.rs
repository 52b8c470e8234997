// SPDX-License-Identifier: Apache-2.0
//! Cases of extensions/pkg/controller/worker/genericactuator @ v1.120.0: creation of MachineClasses and
//! MachineDeployments for a Worker, and the wait for their Machines.

use api::extensions::{Cluster, Worker};
use api::kubernetes::core::Secret;
use api::machine::{Machine, MachineClass, MachineDeployment};
use serde_json::{Value, json};
use testkit::{World, object};

use super::{SEED, TECHNICAL_ID, start_provider};

fn cluster(is_hibernated: bool) -> Cluster {
    let shoot: Value = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": "s", "namespace": "garden-dev"},
        "spec": {"kubernetes": {"version": "1.27.1"}, "region": "local", "hibernation": {"enabled": is_hibernated},
            "provider": {"type": "local", "workers": [{"name": "a", "minimum": 2, "maximum": 2, "machine": {"type": "local"}}]}},
        "status": {"technicalID": TECHNICAL_ID},
    });
    object(json!({"metadata": {"name": TECHNICAL_ID}, "spec": {"shoot": shoot, "seed": {}, "cloudProfile": {}}}))
}

fn pool(name: &str, machine_type: &str) -> Value {
    json!({"name": name, "minimum": 2, "maximum": 2, "maxSurge": 1, "maxUnavailable": 0, "machineType": machine_type,
        "machineImage": {"name": "gardenlinux", "version": "934.8.0"}, "userDataSecretRef": {"name": "u", "key": "k"},
        "architecture": "amd64", "kubernetesVersion": "1.27.1"})
}

fn worker(pools: &Value) -> Worker {
    object(json!({
        "metadata": {"name": "s", "namespace": TECHNICAL_ID, "generation": 1,
            "annotations": {"gardener.cloud/operation": "reconcile"}},
        "spec": {"type": "local", "region": "local", "secretRef": {"name": "cloudprovider"}, "pools": pools},
    }))
}

fn started(pools: &Value) -> World {
    let mut world = World::at("2025-06-02T12:00:00Z")
        .component("provider-local", "v1.120.0")
        .with_in(SEED, cluster(false))
        .with_in(SEED, worker(pools));
    start_provider(&mut world);
    world
}

/// Changes the Worker's pools, as gardenlet does.
fn ask(world: &World, pools: &Value) {
    world.change_in::<Worker>(SEED, TECHNICAL_ID, "s", |stored| {
        let new = worker(pools);
        stored.spec = new.spec;
        stored.metadata.annotations = new.metadata.annotations;
        stored.metadata.generation += 1;
    });
}

fn stored(world: &World) -> Worker {
    world.get_in(SEED, TECHNICAL_ID, "s").expect("it is there")
}

fn state(world: &World) -> String {
    let operation = stored(world).status.last_operation.expect("it has an operation");
    format!("{} {}", operation.r#type, operation.state)
}

fn deployments(world: &World) -> Vec<(String, i32)> {
    let deployments: Vec<MachineDeployment> = world.list_in(SEED);
    deployments.into_iter().map(|deployment| (deployment.metadata.name, deployment.spec.replicas)).collect()
}

fn classes(world: &World) -> Vec<String> {
    let classes: Vec<MachineClass> = world.list_in(SEED);
    classes.into_iter().map(|class| class.metadata.name).collect()
}

fn machines(world: &World) -> Vec<Machine> {
    world.list_in(SEED)
}

const POOL: &str = "shoot--dev--s-a";

#[test]
fn a_worker_succeeds_when_its_machines_have_joined() {
    let mut world = started(&json!([pool("a", "local")]));
    assert_eq!((state(&world), deployments(&world)), ("Create Processing".to_owned(), vec![(POOL.to_owned(), 2)]));
    let class = classes(&world).pop().expect("it has a class");
    assert!(class.starts_with("shoot--dev--s-a-"), "{class}");
    assert!(world.get_in::<Secret>(SEED, TECHNICAL_ID, &class).is_some(), "a class has a Secret with the user data");
    let mut was_waiting = false;
    for minute in 1..20 {
        world.advance_to(&format!("2025-06-02T12:{minute:02}:00Z"));
        let running = machines(&world).iter().filter(|it| it.status.current_status.phase == "Running").count();
        was_waiting |= running < 2;
        assert!(running == 2 || state(&world) == "Create Processing", "{running} run: {}", state(&world));
    }
    assert!(was_waiting);
    assert_eq!(state(&world), "Create Succeeded");
    let status = stored(&world).status;
    assert_eq!((status.machine_deployments.len(), status.observed_generation), (1, 1));
    assert_eq!((status.machine_deployments[0].minimum, status.machine_deployments[0].maximum), (2, 2));
}

#[test]
fn zones_divide_a_pool() {
    let mut pool = pool("a", "local");
    pool["zones"] = json!(["0", "1", "2"]);
    pool["minimum"] = json!(4);
    pool["maximum"] = json!(4);
    let world = started(&json!([pool]));
    let of = |zone: u32, replicas| (format!("{POOL}-z{zone}"), replicas);
    assert_eq!(deployments(&world), [of(1, 2), of(2, 1), of(3, 1)]);
}

#[test]
fn a_new_machine_type_replaces_the_class_in_the_end() {
    let mut world = started(&json!([pool("a", "local")]));
    world.advance_to("2025-06-02T12:20:00Z");
    let (before, old) = (classes(&world), machines(&world));
    ask(&world, &json!([pool("a", "large")]));
    world.pass();
    assert_eq!((classes(&world).len(), state(&world).as_str()), (2, "Reconcile Processing"));
    world.advance_to("2025-06-02T14:00:00Z");
    assert_eq!(state(&world), "Reconcile Succeeded");
    assert!(classes(&world).len() == 1 && classes(&world) != before);
    assert!(machines(&world).iter().all(|machine| old.iter().all(|old| old.metadata.name != machine.metadata.name)));
}

#[test]
fn a_removed_pool_is_deleted_with_its_machines() {
    let mut world = started(&json!([pool("a", "local"), pool("b", "local")]));
    world.advance_to("2025-06-02T12:20:00Z");
    assert_eq!(deployments(&world).len(), 2);
    ask(&world, &json!([pool("a", "local")]));
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!(deployments(&world), [(POOL.to_owned(), 2)]);
    assert_eq!((classes(&world).len(), machines(&world).len(), state(&world).as_str()), (1, 2, "Reconcile Succeeded"));
}

#[test]
fn the_number_that_the_autoscaler_chose_is_kept() {
    let mut pool = pool("a", "local");
    pool["maximum"] = json!(5);
    let mut world = started(&json!([pool]));
    world.advance_to("2025-06-02T12:20:00Z");
    world.change_in::<MachineDeployment>(SEED, TECHNICAL_ID, POOL, |deployment| deployment.spec.replicas = 4);
    ask(&world, &json!([pool]));
    world.advance_to("2025-06-02T13:00:00Z");
    assert_eq!(deployments(&world), [(POOL.to_owned(), 4)]);
}

#[test]
fn hibernation_takes_all_machines_and_waking_up_brings_them_back() {
    let pools = json!([pool("a", "local")]);
    let mut world = started(&pools);
    world.advance_to("2025-06-02T12:20:00Z");
    for (is_hibernated, machines_then, until) in [(true, 0, "2025-06-02T13:00:00Z"), (false, 2, "2025-06-02T14:00:00Z")]
    {
        world.put_in(SEED, &cluster(is_hibernated));
        ask(&world, &pools);
        world.advance_to(until);
        let replicas = i32::try_from(machines_then).expect("a number");
        assert_eq!((deployments(&world), machines(&world).len()), (vec![(POOL.to_owned(), replicas)], machines_then));
        assert_eq!(state(&world), "Reconcile Succeeded");
    }
}

#[test]
fn a_worker_is_deleted_after_its_forcibly_drained_machines() {
    let mut world = started(&json!([pool("a", "local")]));
    world.advance_to("2025-06-02T12:20:00Z");
    world.change_in::<Worker>(SEED, TECHNICAL_ID, "s", |worker| {
        worker.metadata.deletion_timestamp = Some(testkit::instant("2025-06-02T12:20:00Z").into());
    });
    world.pass();
    assert_eq!(state(&world), "Delete Processing");
    assert!(machines(&world).iter().all(|machine| machine.metadata.label("force-deletion") == Some("True")));
    world.advance_to("2025-06-02T13:00:00Z");
    assert!(world.get_in::<Worker>(SEED, TECHNICAL_ID, "s").is_none());
    assert_eq!((deployments(&world).len(), classes(&world).len(), machines(&world).len()), (0, 0, 0));
}
