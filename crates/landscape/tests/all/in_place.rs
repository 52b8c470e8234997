// SPDX-License-Identifier: Apache-2.0
//! Tests of in-place updates of nodes, with all controllers involved.

use std::collections::BTreeSet;

use api::core::{CloudProfile, InPlaceUpdates, Shoot};
use api::kubernetes::core::Node;
use api::machine::Machine;
use api::terrarium::Fault;
use apimachinery::meta::DeleteOptions;
use chrono::TimeDelta;
use controller::{Api, Patch};
use domain::rollout::in_place::{Outcome, Update};
use domain::validation::shoot::Gates;
use landscape::{Options, preset, wait};
use serde_json::json;

use crate::node_rollout::{SEED, SHOOT, all};
use crate::pages::{Browser, admin};
use crate::support::{Audited, evening, is};

const CREATED: &str = "2023-07-27T21:00:00Z";

fn shoots(audited: &Audited) -> Api<Shoot> {
    Api::namespaced(&audited.admin, "garden", preset::NAMESPACE)
}

/// A Shoot with one pool, whose nodes can be updated in place: `maxSurge` 0.
fn cluster(seed: u64, strategy: &str, nodes: i32, unavailable: i32) -> Audited {
    cluster_with_surge(seed, strategy, nodes, (0, unavailable))
}

fn cluster_with_surge(seed: u64, strategy: &str, nodes: i32, (surge, unavailable): (i32, i32)) -> Audited {
    let gates = Gates { in_place_node_updates: true, ..Gates::default() };
    let mut audited = Audited::start(Options { gates, ..Options::new(seed, evening()) });
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    let profiles = Api::<CloudProfile>::all(&admin, "garden");
    let mut profile = audited.run(profiles.get("local")).expect("the preset has it");
    for version in &mut profile.spec.machine_images[0].versions {
        let from = Some("934.8.0".to_owned());
        version.in_place_updates = Some(InPlaceUpdates { supported: true, min_version_for_update: from });
    }
    audited.run(profiles.replace(&profile)).expect("versions can be updated in place");
    let mut shoot = preset::shoot("local");
    let pool = &mut shoot.spec.provider.workers[0];
    pool.update_strategy = Some(strategy.to_owned());
    (pool.minimum, pool.maximum) = (nodes, nodes);
    (pool.max_surge, pool.max_unavailable) = (Some(surge.into()), Some(unavailable.into()));
    let api = shoots(&audited);
    audited.run(api.create(&shoot)).expect("the Shoot is valid");
    let created = wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Succeeded"));
    audited.until_done(CREATED, created);
    audited.until_it_holds(TimeDelta::minutes(5), "no pool is pending", |audited| {
        audited.shoot("local").status.in_place_updates.is_none()
    });
    audited
}

fn update_image(audited: &mut Audited) {
    let path = "/spec/provider/workers/0/machine/image/version";
    let patch = Patch::Json(json!([{"op": "replace", "path": path, "value": "1096.1.0"}]));
    let api = shoots(audited);
    audited.run(api.patch("local", &patch)).expect("the image can be updated");
}

fn machines(audited: &mut Audited) -> Vec<(String, String)> {
    let machines = all::<Machine>(audited, SEED).into_iter();
    machines.map(|machine| (machine.metadata.name, machine.status.current_status.phase)).collect()
}

fn nodes(audited: &mut Audited) -> BTreeSet<(String, String)> {
    let nodes = all::<Node>(audited, SHOOT).into_iter();
    nodes.map(|node| (node.metadata.name, node.metadata.uid)).collect()
}

fn outdated(audited: &mut Audited) -> usize {
    let nodes = all::<Node>(audited, SHOOT);
    nodes.iter().filter(|node| node.status.node_info.os_image != "gardenlinux 1096.1.0").count()
}

fn select(audited: &mut Audited, node: &str) {
    let label = "node.machine.sapcloud.io/selected-for-update";
    let patch = Patch::Merge(json!({"metadata": {"labels": {label: "true"}}}));
    let admin = audited.admin.clone();
    audited.run(Api::<Node>::all(&admin, SHOOT).patch(node, &patch)).expect("the node is there");
}

/// "maxSurge: 0, maxUnavailable: 2": no more than two nodes at a time, and at the end the same nodes with another
/// system.
#[test]
fn an_update_in_place_keeps_its_bounds_and_its_nodes() {
    for seed in 1..=3 {
        let mut audited = cluster(seed, "AutoInPlaceUpdate", 5, 2);
        let before = nodes(&mut audited);
        update_image(&mut audited);
        let mut most = 0;
        audited.until_it_holds(TimeDelta::minutes(60), "all nodes are updated", |audited| {
            let machines = machines(audited);
            let busy = machines.iter().filter(|(_, phase)| phase != "Running").count();
            most = most.max(busy);
            assert!(busy <= 2, "seed {seed}: {machines:?}");
            outdated(audited) == 0 && audited.shoot("local").status.in_place_updates.is_none()
        });
        assert_eq!((most, nodes(&mut audited)), (2, before), "seed {seed}");
        let updates: Vec<Update> = all::<Node>(&mut audited, SHOOT).iter().map(Update::of).collect();
        assert!(updates.iter().all(|update| !update.candidate && !update.selected && update.outcome.is_none()));
    }
}

/// "ManualInPlaceUpdate": the user selects the next node on the page of the cluster.
#[test]
fn a_page_selects_a_node_for_its_update() {
    let mut audited = cluster(1, "ManualInPlaceUpdate", 2, 1);
    update_image(&mut audited);
    audited.until_it_holds(TimeDelta::minutes(30), "the nodes are candidates", |audited| {
        all::<Node>(audited, SHOOT).iter().all(|node| Update::of(node).candidate)
    });
    let page = "clusters/demo/local";
    let browser = Browser::of(&audited, admin());
    let text = browser.get(&audited, page).text;
    assert_eq!(text.matches("value=\"select-node\"").count(), 2, "{text}");
    assert!(text.contains("Force the update in place"), "{text}");
    let node = all::<Node>(&mut audited, SHOOT).remove(0).metadata.name;
    let fields = format!("namespace={}&name=local&step=select-node&node={node}", preset::NAMESPACE);
    let answer = browser.post(&audited, page, "cluster", &fields);
    assert_eq!(answer.code, http::StatusCode::SEE_OTHER, "{}", answer.text);
    audited.until_it_holds(TimeDelta::minutes(30), "the node is updated", |audited| outdated(audited) == 1);
    let text = browser.get(&audited, page).text;
    assert_eq!(text.matches("value=\"select-node\"").count(), 1, "{text}");
}

/// "a late success label still leads to success".
#[test]
fn an_agent_without_a_report_is_not_awaited() {
    let mut audited = cluster(1, "AutoInPlaceUpdate", 2, 1);
    audited.inject("node-agent-silent", |spec| spec.pool = "local".into());
    update_image(&mut audited);
    audited.until_it_holds(TimeDelta::minutes(60), "the update is given up", |audited| {
        machines(audited).iter().any(|(_, phase)| phase == "InPlaceUpdateFailed")
    });
    let failed =
        all::<Machine>(&mut audited, SEED).into_iter().map(|machine| machine.status.last_operation.description);
    let failed: Vec<String> =
        failed.filter(|text| text.ends_with("failed to in-place update in 20m0s minutes.")).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(outdated(&mut audited), 2, "no other node is selected");
    let admin = audited.admin.clone();
    let faults = Api::<Fault>::all(&admin, "runtime");
    audited.run(faults.delete("node-agent-silent", &DeleteOptions::default())).expect("it is cleared");
    audited.until_it_holds(TimeDelta::minutes(60), "all nodes are updated", |audited| outdated(audited) == 0);
}

/// The agent retries after an unhealthy kubelet; one failed node blocks the others.
#[test]
fn an_agent_retries_failed_updates() {
    for (kind, text) in [
        ("kubelet-unhealthy-after-update", "kubelet is not healthy after in-place update: context deadline exceeded"),
        ("os-update-fails", "failed to execute OS update command: exit status 1"),
    ] {
        let mut audited = cluster(2, "AutoInPlaceUpdate", 2, 1);
        audited.inject(kind, |spec| {
            if kind == "os-update-fails" {
                spec.settings.insert("kind".into(), "command".into());
            }
        });
        update_image(&mut audited);
        let mut told = String::new();
        audited.until_it_holds(TimeDelta::minutes(60), "the update fails", |audited| {
            let updates = all::<Node>(audited, SHOOT).iter().map(Update::of).collect::<Vec<_>>();
            let failed = updates.into_iter().find(|update| update.outcome == Some(Outcome::Failed));
            told = failed.map(|update| update.failure).unwrap_or_default();
            !told.is_empty()
        });
        assert_eq!(told, text);
        audited.until_it_holds(TimeDelta::minutes(60), "all nodes are updated", |audited| outdated(audited) == 0);
    }
}

fn delete(audited: &mut Audited, machine: &str) {
    audited.disturb();
    let admin = audited.admin.clone();
    let api = Api::<Machine>::namespaced(&admin, SEED, SHOOT);
    audited.run(api.delete(machine, &DeleteOptions::default())).expect("it is deleted");
}

fn are_running(audited: &mut Audited, count: usize) -> bool {
    let machines = machines(audited);
    machines.len() == count && machines.iter().all(|(_, phase)| phase == "Running")
}

/// A manual pool whose nodes were all replaced ends pending without a selected node.
#[test]
fn deleted_machines_finish_a_manual_update() {
    let mut audited = cluster(4, "ManualInPlaceUpdate", 2, 1);
    update_image(&mut audited);
    audited.until_it_holds(TimeDelta::minutes(30), "the nodes are candidates", |audited| {
        all::<Node>(audited, SHOOT).iter().all(|node| Update::of(node).candidate)
    });
    for (left, (name, _)) in [1, 0].into_iter().zip(machines(&mut audited)) {
        delete(&mut audited, &name);
        audited.until_it_holds(TimeDelta::minutes(30), "the machine is replaced", |audited| {
            outdated(audited) == left && are_running(audited, 2)
        });
        let is_pending = |audited: &mut Audited| audited.shoot("local").status.in_place_updates.is_some();
        if left > 0 {
            assert!(is_pending(&mut audited), "a node waits for its update");
            continue;
        }
        audited.until_it_holds(TimeDelta::minutes(1), "no pool is pending", |audited| !is_pending(audited));
    }
}

/// "maxSurge: 1, maxUnavailable: 0": a machine that is deleted by hand uses up the surge, and users select nodes.
#[test]
fn an_update_without_its_surge_is_completed_by_hand() {
    let mut audited = cluster_with_surge(5, "AutoInPlaceUpdate", 3, (1, 0));
    update_image(&mut audited);
    audited.until_it_holds(TimeDelta::minutes(30), "the surge is made", |audited| machines(audited).len() == 4);
    let waits = |node: &Node| Update::of(node).candidate && !Update::of(node).selected;
    let waiting = |audited: &mut Audited| {
        let nodes = all::<Node>(audited, SHOOT).into_iter().filter(waits);
        nodes.map(|node| node.metadata.name).collect::<Vec<_>>()
    };
    let gone = waiting(&mut audited).remove(0);
    delete(&mut audited, &gone);
    audited.until_it_holds(TimeDelta::minutes(30), "the machine is deleted", |audited| are_running(audited, 3));
    for left in [1, 0] {
        let end = audited.landscape.now() + TimeDelta::minutes(30);
        audited.until(&end.to_rfc3339());
        let mut halted = waiting(&mut audited);
        assert_eq!((halted.len(), outdated(&mut audited)), (left + 1, left + 1), "no node is selected");
        audited.disturb();
        select(&mut audited, &halted.remove(0));
        audited.until_it_holds(TimeDelta::minutes(30), "the node is updated", |audited| {
            outdated(audited) == left && are_running(audited, 3)
        });
    }
    audited.until_it_holds(TimeDelta::minutes(60), "the Shoot is reconciled", |audited| {
        let shoot = audited.shoot("local");
        shoot.status.in_place_updates.is_none() && is(&shoot, "Reconcile", "Succeeded")
    });
    assert_eq!((outdated(&mut audited), machines(&mut audited).len()), (0, 3));
}

/// A machine that is deleted by hand during an update is replaced by the new MachineSet.
#[test]
fn a_machine_deleted_during_an_update_is_replaced() {
    let mut audited = cluster(3, "ManualInPlaceUpdate", 3, 1);
    update_image(&mut audited);
    audited.until_it_holds(TimeDelta::minutes(30), "the nodes are candidates", |audited| {
        all::<Node>(audited, SHOOT).iter().map(Update::of).all(|update| update.candidate)
    });
    let gone = machines(&mut audited).remove(0).0;
    delete(&mut audited, &gone);
    audited.until_it_holds(TimeDelta::minutes(30), "a new machine runs", |audited| {
        let machines = machines(audited);
        machines.len() == 3 && machines.iter().all(|(name, phase)| *name != gone && phase == "Running")
    });
    assert_eq!(outdated(&mut audited), 2);
    for (name, _) in machines(&mut audited) {
        select(&mut audited, &name);
    }
    audited.until_it_holds(TimeDelta::minutes(60), "no pool is pending", |audited| {
        audited.shoot("local").status.in_place_updates.is_none() && outdated(audited) == 0
    });
}
