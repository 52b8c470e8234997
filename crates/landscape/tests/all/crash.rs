// SPDX-License-Identifier: Apache-2.0
//! Components end at any time; their successors continue where they ended.

use api::core::Shoot;
use chrono::TimeDelta;
use controller::{Api, ListOptions};
use landscape::{Component, Options, preset, wait};

use crate::support::{Audited, evening, is};

/// The roll-out of the first window, during which a component crashes every 20 seconds.
#[track_caller]
fn check(component: Component) {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let admin = audited.admin.clone();
    let api = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
    let maintained = wait::for_object(&api, "local", |shoot| {
        shoot.status.last_maintenance.as_ref().is_some_and(|m| m.state == "Succeeded")
    });
    audited.until_done("2023-07-28T10:00:00Z", maintained);
    let from = audited.landscape.now();
    for crash in 1..=8 {
        audited.until(&(from + TimeDelta::seconds(20 * crash)).to_rfc3339());
        audited.landscape.crash_component(&component).expect("it ends");
        audited.until(&(from + TimeDelta::seconds(20 * crash + 5)).to_rfc3339());
        audited.landscape.start_component(component.clone());
    }
    let updated = wait::for_object(&api, "local", |shoot| {
        is(shoot, "Reconcile", "Succeeded") && shoot.status.observed_generation == shoot.metadata.generation
    });
    audited.until_done("2023-07-28T11:00:00Z", updated);
    let nodes = audited.nodes("local");
    assert_eq!(nodes.len(), 3);
    assert!(nodes.iter().all(|node| node.status.node_info.kubelet_version == "v1.27.1"), "{component}");
    audited.landscape.replay_equals_live().expect("the log leads to the live state");
}

#[test]
fn gardenlet_continues_after_a_crash() {
    check(Component::Gardenlet("local".to_owned()));
}

#[test]
fn provider_local_continues_after_a_crash() {
    check(Component::ProviderLocal("local".to_owned()));
}

#[test]
fn the_controller_manager_continues_after_a_crash() {
    check(Component::ControllerManager);
}

#[test]
fn all_components_continue_after_an_outage_of_the_apiserver() {
    check(Component::Apiserver);
}

#[test]
fn without_an_apiserver_its_groups_are_answered_with_503() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.landscape.crash_component(&Component::Apiserver).expect("it ends");
    let api = Api::<Shoot>::namespaced(&audited.admin, "garden", preset::NAMESPACE);
    let error = audited.run(api.list(&ListOptions::default())).expect_err("no server has Shoots");
    assert_eq!(error.status().expect("a Status").code, 503);
    audited.landscape.start_component(Component::Apiserver);
    assert_eq!(audited.run(api.list(&ListOptions::default())).expect("served again").0.len(), 0);
}
