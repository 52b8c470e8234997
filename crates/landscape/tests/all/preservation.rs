// SPDX-License-Identifier: Apache-2.0
//! Preservation of a failed machine, as shown in its Shoot (docs/usage/shoot/shoot_machine_preservation.md @ v1.149.0).

use api::core::{Condition, Shoot};
use api::machine::{Machine, MachineDeployment};
use controller::{Api, ListOptions, Patch};
use landscape::{preset, wait};
use serde_json::json;

use crate::support::{Audited, is};

const SEED: &str = "seed--local";
const NAMESPACE: &str = "shoot--demo--local";

/// A landscape of a release with a Shoot of three machines, one of which may be preserved without a user's request.
fn landscape(version: &str, settings: &serde_json::Value) -> Audited {
    let mut audited = Audited::of_release(version);
    let mut shoot = preset::shoot("local");
    shoot.spec.provider.workers[0].machine_controller_manager =
        serde_json::from_value(settings.clone()).expect("settings of a pool");
    audited.create(&shoot);
    audited
}

fn shoots(audited: &Audited) -> Api<Shoot> {
    Api::namespaced(&audited.admin, "garden", preset::NAMESPACE)
}

fn machines(audited: &mut Audited) -> Vec<Machine> {
    let api = Api::<Machine>::namespaced(&audited.admin, SEED, NAMESPACE);
    audited.run(api.list(&ListOptions::default())).expect("machines").0
}

fn phases(audited: &mut Audited) -> Vec<String> {
    let mut phases: Vec<String> =
        machines(audited).into_iter().map(|machine| machine.status.current_status.phase).collect();
    phases.sort();
    phases
}

fn text(conditions: &[Condition], type_: &str) -> Option<String> {
    let found = conditions.iter().find(|condition| condition.r#type == type_)?;
    Some(format!("{} {} {}", found.status, found.reason, found.message))
}

#[test]
fn a_preserved_machine_is_reported_until_it_expires() {
    let mut audited =
        landscape("v1.149.0", &json!({"autoPreserveFailedMachineMax": 1, "machinePreserveTimeout": "24h"}));
    let deployments = Api::<MachineDeployment>::namespaced(&audited.admin, SEED, NAMESPACE);
    let (found, _) = audited.run(deployments.list(&ListOptions::default())).expect("MachineDeployments");
    assert_eq!(found[0].spec.auto_preserve_failed_machine_max, 1);
    audited.disturb();
    audited.inject("node-unhealthy", |fault| {
        fault.machine = Some(1);
        fault.settings.insert("status".to_owned(), "Unknown".to_owned());
    });
    audited.until("2023-07-27T21:30:00Z");
    assert_eq!(phases(&mut audited), ["Failed", "Running", "Running"]);
    let failed = machines(&mut audited).into_iter().find(|it| it.status.current_status.phase == "Failed");
    let failed = failed.expect("one has failed");
    let name = failed.metadata.name.clone();
    assert_eq!(failed.metadata.annotation("node.machine.sapcloud.io/preserve"), Some("auto-preserved"));
    let shoot = audited.shoot("local");
    assert_eq!(
        text(&shoot.status.constraints, "PreservedFailedMachinesAbsent").as_deref(),
        Some("False FailedMachinesPreserved Cluster has 1 preserved failed machine(s).")
    );
    let nodes = text(&shoot.status.conditions, "EveryNodeReady").expect("a condition");
    assert!(nodes.contains(&name) && nodes.ends_with("(node and backing machine preserved by MCM)"), "{nodes}");
    let components = text(&shoot.status.conditions, "SystemComponentsHealthy").expect("a condition");
    assert!(components.starts_with("True"), "{components}");
    let node = audited.nodes("local").into_iter().find(|node| node.metadata.name == name).expect("its Node");
    let told = node.status.conditions.iter().find(|it| it.r#type == "Preserved").expect("a condition");
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("True", "Preserved by MCM."));

    // The Shoot can be reconciled meanwhile.
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"gardener.cloud/operation": "reconcile"}}}));
    let api = shoots(&audited);
    audited.run(api.patch("local", &patch)).expect("accepted");
    let reconciled = wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded"));
    audited.until_done("2023-07-27T22:30:00Z", reconciled);

    audited.until("2023-07-28T23:00:00Z");
    assert_eq!(phases(&mut audited), ["Running", "Running", "Running"]);
    assert!(machines(&mut audited).iter().all(|machine| machine.metadata.name != name), "it was replaced");
    let shoot = audited.shoot("local");
    assert_eq!(text(&shoot.status.constraints, "PreservedFailedMachinesAbsent"), None);
    let nodes = text(&shoot.status.conditions, "EveryNodeReady");
    assert_eq!(nodes.as_deref(), Some("True EveryNodeReady All nodes are ready."));
}

#[test]
fn failed_machines_are_replaced_despite_annotations_before_147() {
    let mut audited = landscape("v1.146.0", &json!({}));
    let names: Vec<String> = machines(&mut audited).into_iter().map(|machine| machine.metadata.name).collect();
    let api = Api::<Machine>::namespaced(&audited.admin, SEED, NAMESPACE);
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"node.machine.sapcloud.io/preserve": "now"}}}));
    for name in &names {
        audited.run(api.patch(name, &patch)).expect("accepted");
    }
    audited.disturb();
    audited.inject("node-unhealthy", |fault| fault.machine = Some(1));
    audited.until("2023-07-27T23:00:00Z");
    assert_eq!(phases(&mut audited), ["Running", "Running", "Running"]);
    let now = machines(&mut audited);
    assert_eq!(now.iter().filter(|machine| !names.contains(&machine.metadata.name)).count(), 1);
    assert!(now.iter().all(|machine| machine.status.current_status.preserve_expiry_time.is_none()));
    assert_eq!(text(&audited.shoot("local").status.constraints, "PreservedFailedMachinesAbsent"), None);
}
