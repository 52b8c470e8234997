// SPDX-License-Identifier: Apache-2.0
//! The predicted effect of a change of a Shoot (`terrarium rollout`) is the observed effect on its nodes.

use std::collections::BTreeSet;

use api::constants::{annotation, operation_state};
use api::core::{CloudProfile, Shoot};
use apimachinery::meta::Time;
use controller::{Api, Patch};
use domain::release::DOCUMENTED;
use domain::rotation;
use domain::worker_pool::{self, Effect, HashVersion, PoolForms};
use landscape::{Options, preset, wait};
use serde_json::{Value, json};

use crate::support::{Audited, evening, is};

/// Change of the pool, change of the Shoot around it, and predicted effect.
const CHANGES: [(&str, &str, &str, Effect); 14] = [
    ("minor", "{}", r#"{"kubernetes":{"version":"1.27.1"}}"#, Effect::Rolling),
    ("patch", "{}", r#"{"kubernetes":{"version":"1.26.5"}}"#, Effect::KubeletRestart),
    ("image", r#"{"machine":{"image":{"name":"gardenlinux","version":"1096.1.0"}}}"#, "{}", Effect::Rolling),
    ("type", r#"{"machine":{"type":"large"}}"#, "{}", Effect::Rolling),
    ("config", r#"{"providerConfig":{"a":1}}"#, "{}", Effect::Rolling),
    ("dns", "{}", r#"{"systemComponents":{"nodeLocalDNS":{"enabled":true}}}"#, Effect::Rolling),
    ("zone", r#"{"zones":["local-b"]}"#, "{}", Effect::None),
    ("reserved", "{}", r#"{"kubernetes":{"kubelet":{"kubeReserved":{"cpu":"200m"}}}}"#, Effect::None),
    ("kubelet", "{}", r#"{"kubernetes":{"kubelet":{"maxPods":100}}}"#, Effect::None),
    ("labels", r#"{"labels":{"a":"b"},"taints":[{"key":"a","effect":"NoSchedule"}]}"#, "{}", Effect::None),
    ("surge", r#"{"maxSurge":0,"maxUnavailable":1}"#, "{}", Effect::None),
    ("ca", "rotate-ca-start", "", Effect::Rolling),
    ("key", "rotate-serviceaccount-key-start", "", Effect::Rolling),
    ("etcd", "rotate-etcd-encryption-key-start", "", Effect::None),
];

/// The Shoot after a change, as the API returns it, and as gardenlet reads it.
fn changed(audited: &mut Audited, api: &Api<Shoot>, old: &Shoot, pool: &str, spec: &str) -> Shoot {
    let name = &old.metadata.name;
    if spec.is_empty() {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { annotation::OPERATION: pool } } }));
        audited.run(api.patch(name, &patch)).expect("the operation is taken");
        let mut new = old.clone();
        rotation::begin(&mut new.status, &new.spec, pool, Time::from_instant(evening()));
        return new;
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let mut worker = serde_json::to_value(&old.spec.provider.workers[0]).expect("JSON");
    for (field, value) in parse(pool).as_object().expect("fields") {
        worker[field] = match (worker[field].as_object(), value.as_object()) {
            (Some(known), Some(given)) => known.clone().into_iter().chain(given.clone()).collect(),
            _ => value.clone(),
        };
    }
    let mut spec = parse(spec);
    spec["provider"] = json!({ "workers": [worker] });
    audited.run(api.patch(name, &Patch::Merge(json!({ "spec": spec })))).expect("the change is taken")
}

#[test]
fn nodes_are_replaced_as_forecast() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    let profiles = Api::<CloudProfile>::all(&admin, "garden");
    let types = ["local", "large"]
        .map(|name| json!({ "name": name, "cpu": "4", "gpu": "0", "memory": "8Gi", "architecture": "amd64" }));
    let patch = json!({ "spec": {
        "kubernetes": { "versions": [{"version": "1.27.1"}, {"version": "1.26.5"}, {"version": "1.26.4"}] },
        "machineTypes": types,
        "regions": [{ "name": "local", "zones": [{"name": "local-a"}, {"name": "local-b"}] }],
    }});
    audited.run(profiles.patch("local", &Patch::Merge(patch))).expect("the profile offers more");
    let api = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
    for (name, ..) in CHANGES {
        audited.run(api.create(&preset::shoot(name))).expect("the Shoot is valid");
    }
    for (name, ..) in CHANGES {
        let created = wait::for_object(&api, name, |shoot| is(shoot, "Create", operation_state::SUCCEEDED));
        audited.until_done("2023-07-27T21:00:00Z", created);
    }
    let names = |audited: &mut Audited, shoot: &str| -> BTreeSet<String> {
        audited.nodes(shoot).into_iter().map(|node| node.metadata.name).collect()
    };
    let mut foretold = Vec::new();
    for (name, pool, spec, expected) in CHANGES {
        let (before, old) = (names(&mut audited, name), audited.shoot(name));
        let new = changed(&mut audited, &api, &old, pool, spec);
        let effect = worker_pool::effects(&old, &new, &PoolForms::all(HashVersion::V1, DOCUMENTED))
            .remove("local")
            .expect("the pool");
        assert_eq!(effect.effect, expected, "{name}: {:?}", effect.triggers);
        foretold.push((name, before, effect.effect));
    }
    audited.until("2023-07-27T23:00:00Z");
    for (name, before, effect) in foretold {
        let shoot = audited.shoot(name);
        assert!(is(&shoot, "Reconcile", operation_state::SUCCEEDED), "{name}: {:?}", shoot.status.last_operation);
        let after = names(&mut audited, name);
        let kept = before.intersection(&after).count();
        let expected = if effect == Effect::Rolling { 0 } else { before.len() };
        assert_eq!((kept, after.len()), (expected, before.len()), "{name}: {effect:?}\n{before:?}\n{after:?}");
    }
}
