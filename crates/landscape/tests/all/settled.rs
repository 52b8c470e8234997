// SPDX-License-Identifier: Apache-2.0
//! Unchanged objects of a Shoot: gardenlet writes no field that the definitions of its release drop.

use std::collections::BTreeMap;

use api::extensions::{ControlPlane, Infrastructure, Network, OperatingSystemConfig, Worker};
use api::machine::{Machine, MachineDeployment, MachineSet};
use apimachinery::Resource;
use controller::{Api, ListOptions};
use landscape::preset;

use crate::support::Audited;

/// Generations of all objects of a kind in the Shoot's namespace.
fn add<K: Resource>(audited: &mut Audited, generations: &mut BTreeMap<String, i64>) {
    let api = Api::<K>::namespaced(&audited.admin, "seed--local", "shoot--demo--local");
    let (all, _) = audited.run(api.list(&ListOptions::default())).expect("a list");
    for object in all {
        let metadata = object.metadata();
        generations.insert(format!("{} {}", std::any::type_name::<K>(), metadata.name), metadata.generation);
    }
}

fn generations(audited: &mut Audited) -> BTreeMap<String, i64> {
    let mut all = BTreeMap::new();
    add::<ControlPlane>(audited, &mut all);
    add::<Infrastructure>(audited, &mut all);
    add::<Network>(audited, &mut all);
    add::<OperatingSystemConfig>(audited, &mut all);
    add::<Worker>(audited, &mut all);
    add::<MachineDeployment>(audited, &mut all);
    add::<MachineSet>(audited, &mut all);
    add::<Machine>(audited, &mut all);
    all
}

#[test]
fn reconciliations_change_no_object_of_a_settled_shoot() {
    for version in ["v1.120.0", "v1.123.0", "v1.131.0", "v1.138.0", "v1.146.0", "v1.149.0"] {
        let mut audited = Audited::of_release(version);
        audited.create(&preset::shoot("local"));
        let before = generations(&mut audited);
        assert!(before.len() > 10, "{before:?}");
        // Some reconciliations of the sync period, before the maintenance window.
        audited.until("2023-07-27T23:59:00Z");
        assert_eq!(generations(&mut audited), before, "{version}");
    }
}
