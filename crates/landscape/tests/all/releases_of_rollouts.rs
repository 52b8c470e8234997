// SPDX-License-Identifier: Apache-2.0
//! Roll-outs of pools by release of Gardener: those that an owner requests by name (`rollout-workers`), and the end of
//! the first form of the hash.

use std::collections::BTreeSet;

use api::core::{CloudProfile, Shoot};
use api::kubernetes::core::Secret;
use api::machine::MachineDeployment;
use controller::{Api, ListOptions, Patch};
use domain::worker_pool::{StoredKeys, manual_rollout};
use landscape::{Component, preset, wait};
use serde_json::json;

use crate::support::{Audited, is};

const OPERATION: &str = "gardener.cloud/operation";

/// A landscape of a release with a Shoot `local` of pools `local`, of three machines in one zone, and `other`, of two machines
/// in two zones.
fn landscape(version: &str) -> Audited {
    let mut audited = Audited::of_release(version);
    let profiles = Api::<CloudProfile>::all(&audited.admin, "garden");
    let zones = Patch::Merge(json!({"spec": {"regions": [
        {"name": "local", "zones": [{"name": "local-a"}, {"name": "local-b"}]},
    ]}}));
    audited.run(profiles.patch("local", &zones)).expect("the CloudProfile is valid");
    let mut shoot = preset::shoot("local");
    let mut other = shoot.spec.provider.workers[0].clone();
    other.name = "other".into();
    (other.minimum, other.maximum) = (2, 2);
    other.zones.push("local-b".to_owned());
    shoot.spec.provider.workers.push(other);
    audited.create(&shoot);
    audited
}

fn shoots(audited: &Audited) -> Api<Shoot> {
    Api::namespaced(&audited.admin, "garden", preset::NAMESPACE)
}

fn annotate(audited: &mut Audited, operation: &str) -> Result<Shoot, controller::Error> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {OPERATION: operation}}}));
    let api = shoots(audited);
    audited.run(api.patch("local", &patch))
}

/// Waits until the Shoot has been reconciled.
#[track_caller]
fn reconciled(audited: &mut Audited, limit: &str) -> Shoot {
    let api = shoots(audited);
    let done = |shoot: &Shoot| {
        is(shoot, "Reconcile", "Succeeded") && shoot.status.observed_generation == shoot.metadata.generation
    };
    audited.until_done(limit, wait::for_object(&api, "local", done))
}

/// Names of the nodes of one pool.
fn nodes(audited: &mut Audited, pool: &str) -> BTreeSet<String> {
    let nodes = audited.nodes("local").into_iter();
    let of_pool = nodes.filter(|node| node.metadata.label("worker.gardener.cloud/pool") == Some(pool));
    of_pool.map(|node| node.metadata.name).collect()
}

fn pools(audited: &mut Audited) -> [BTreeSet<String>; 2] {
    ["local", "other"].map(|pool| nodes(audited, pool))
}

/// Number of Machines that were ever created.
fn machines_made(audited: &Audited) -> usize {
    let machines = audited.entries().into_iter().filter(|entry| &*entry.key.resource == "machine.sapcloud.io/machines");
    machines.map(|entry| entry.key.name.to_string()).collect::<BTreeSet<_>>().len()
}

/// Values of the annotation on the MachineDeployments of a pool.
fn annotations(audited: &mut Audited, pool: &str) -> Vec<Option<String>> {
    let api = Api::<MachineDeployment>::namespaced(&audited.admin, "seed--local", "shoot--demo--local");
    let selector = ListOptions::labelled(&format!("worker.gardener.cloud/pool={pool}"));
    let (found, _) = audited.run(api.list(&selector)).expect("MachineDeployments");
    found
        .into_iter()
        .map(|one| one.spec.template.metadata.annotations.get(manual_rollout::ANNOTATION).cloned())
        .collect()
}

#[test]
fn named_pools_roll_once_for_each_operation() {
    let mut audited = landscape("v1.149.0");
    let [local, other] = pools(&mut audited);
    assert_eq!((local.len(), other.len(), machines_made(&audited)), (3, 2, 5));

    let asked = annotate(&mut audited, "rollout-workers=other").expect("accepted");
    let api = shoots(&audited);
    let begun = wait::for_object(&api, "local", |shoot| {
        !manual_rollout::pending(&shoot.status).is_empty() && !shoot.metadata.annotations.contains_key(OPERATION)
    });
    let shoot = audited.until_done("2023-07-27T21:10:00Z", begun);
    assert_eq!(shoot.metadata.generation, asked.metadata.generation);
    let [rollout] = manual_rollout::pending(&shoot.status) else { panic!("{:?}", shoot.status) };
    assert_eq!(rollout.name, "other");
    let time = rollout.last_initiation_time.expect("it has begun");
    let value = Some(manual_rollout::annotation_value(time));
    assert_eq!(annotations(&mut audited, "other"), [value.clone(), value.clone()], "one of each zone");
    assert_eq!(annotations(&mut audited, "local"), [None]);

    let shoot = reconciled(&mut audited, "2023-07-27T22:00:00Z");
    let status = shoot.status.manual_worker_pool_rollout.expect("the object stays");
    assert_eq!(status.pending_workers_rollouts, []);
    let [same, first] = pools(&mut audited);
    assert_eq!(same, local, "the other pool was not named");
    assert!(first.is_disjoint(&other) && first.len() == 2, "{other:?} {first:?}");
    assert_eq!(machines_made(&audited), 7);

    // A later reconciliation keeps the annotation, so nothing rolls.
    annotate(&mut audited, "reconcile").expect("accepted");
    reconciled(&mut audited, "2023-07-27T22:30:00Z");
    assert_eq!(pools(&mut audited), [local.clone(), first.clone()]);
    assert_eq!(annotations(&mut audited, "other"), [value.clone(), value]);

    annotate(&mut audited, "rollout-workers=*;rotate-ssh-keypair").expect("accepted");
    let shoot = reconciled(&mut audited, "2023-07-27T23:30:00Z");
    assert!(manual_rollout::pending(&shoot.status).is_empty());
    assert!(shoot.status.credentials.and_then(|it| it.rotation).is_some_and(|it| it.ssh_keypair.is_some()), "both");
    let [all, second] = pools(&mut audited);
    assert!(all.is_disjoint(&local) && all.len() == 3, "{local:?} {all:?}");
    assert!(second.is_disjoint(&first) && second.len() == 2, "{first:?} {second:?}");
    assert_eq!(machines_made(&audited), 12);
}

#[test]
fn releases_before_135_roll_no_pool_of_several_zones() {
    let mut audited = landscape("v1.132.0");
    let [local, other] = pools(&mut audited);
    annotate(&mut audited, "rollout-workers=local").expect("accepted");
    reconciled(&mut audited, "2023-07-27T22:00:00Z");
    let [rolled, same] = pools(&mut audited);
    assert!(rolled.is_disjoint(&local) && same == other, "{local:?} {rolled:?}");

    annotate(&mut audited, "rollout-workers=other").expect("accepted");
    audited.until("2023-07-27T22:30:00Z");
    let shoot = audited.shoot("local");
    assert_eq!(shoot.metadata.annotation(OPERATION), Some("rollout-workers=other"), "it does not begin");
    assert!(manual_rollout::pending(&shoot.status).is_empty());
    assert_eq!(pools(&mut audited), [rolled, other]);
}

/// Time limit for the creation of a machine, by a pool's MachineDeployments.
fn creation_timeouts(audited: &mut Audited, pool: &str) -> Vec<Option<String>> {
    let api = Api::<MachineDeployment>::namespaced(&audited.admin, "seed--local", "shoot--demo--local");
    let selector = ListOptions::labelled(&format!("worker.gardener.cloud/pool={pool}"));
    let (found, _) = audited.run(api.list(&selector)).expect("MachineDeployments");
    found.into_iter().map(|one| one.spec.template.spec.creation_timeout.map(|timeout| timeout.to_string())).collect()
}

#[test]
fn machine_types_set_the_creation_timeout_and_roll_nothing() {
    let mut audited = landscape("v1.137.0");
    let before = pools(&mut audited);
    assert_eq!(creation_timeouts(&mut audited, "local"), [None]);
    let profiles = Api::<CloudProfile>::all(&audited.admin, "garden");
    let mut profile = audited.run(profiles.get("local")).expect("the preset has it");
    profile.spec.machine_types[0].machine_controller_manager =
        Some(serde_json::from_value(json!({"machineCreationTimeout": "45m"})).expect("settings"));
    audited.run(profiles.replace(&profile)).expect("the CloudProfile is valid");
    annotate(&mut audited, "reconcile").expect("accepted");
    reconciled(&mut audited, "2023-07-27T22:00:00Z");
    assert_eq!(creation_timeouts(&mut audited, "local"), [Some("45m0s".to_owned())]);
    assert_eq!(pools(&mut audited), before);
}

/// Stops the landscape's components and starts them in another version.
fn upgrade(audited: &mut Audited, version: &str) {
    let landscape = &mut audited.landscape;
    landscape.set_gardener_version(version);
    let components: Vec<Component> = landscape.components().cloned().collect();
    for component in [Component::Gardenlet("local".into()), Component::ProviderLocal("local".into())] {
        assert!(components.contains(&component), "{components:?}");
        landscape.stop_component(&component).expect("it stops");
        landscape.start_component(component);
    }
}

/// A Shoot of 1.120, whose pools have the first form of the hash.
#[test]
fn gardenlet_146_replaces_nodes_of_the_first_form() {
    let mut audited = landscape("v1.120.0");
    let first = pools(&mut audited);
    for version in ["v1.126.0", "v1.145.0"] {
        upgrade(&mut audited, version);
        annotate(&mut audited, "reconcile").expect("accepted");
        let api = shoots(&audited);
        let done = |shoot: &Shoot| is(shoot, "Reconcile", "Succeeded") && shoot.status.gardener.version == version;
        audited.until_done("2023-07-27T22:30:00Z", wait::for_object(&api, "local", done));
        assert_eq!(pools(&mut audited), first, "{version} rolls nothing");
        assert!(has_forms(&mut audited), "{version}");
    }
    upgrade(&mut audited, "v1.146.0");
    annotate(&mut audited, "reconcile").expect("accepted");
    let api = shoots(&audited);
    let done = |shoot: &Shoot| is(shoot, "Reconcile", "Succeeded") && shoot.status.gardener.version == "v1.146.0";
    audited.until_done("2023-07-28T00:30:00Z", wait::for_object(&api, "local", done));
    let second = pools(&mut audited);
    for (old, new) in first.iter().zip(&second) {
        assert!(new.is_disjoint(old) && new.len() == old.len(), "{old:?} {new:?}");
    }
    assert_eq!(machines_made(&audited), 10);
    assert!(!has_forms(&mut audited), "the Secret is deleted");
    annotate(&mut audited, "reconcile").expect("accepted");
    reconciled(&mut audited, "2023-07-28T01:00:00Z");
    assert_eq!(pools(&mut audited), second, "once");
}

/// True if the control plane has the Secret with the hash forms of the pools.
fn has_forms(audited: &mut Audited) -> bool {
    let api = Api::<Secret>::namespaced(&audited.admin, "seed--local", "shoot--demo--local");
    audited.run(api.get_opt(StoredKeys::SECRET)).expect("an answer").is_some()
}
