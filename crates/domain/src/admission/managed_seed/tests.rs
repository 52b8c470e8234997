// SPDX-License-Identifier: Apache-2.0
//! ManagedSeeds against their Shoots, by release.

use std::sync::Arc;

use super::*;
use crate::release::{DOCUMENTED, NEWEST, Release};

fn uses(release: Release, shoots: &[Shoot]) -> Uses {
    let shoots = shoots.iter().cloned().map(Arc::new).collect();
    Uses { shoots, default_domains: Vec::new(), release }
}

fn shoot(change: impl FnOnce(&mut Value)) -> Shoot {
    let mut tree = json!({
        "metadata": { "name": "s", "namespace": "garden" },
        "spec": {
            "region": "local",
            "seedName": "host",
            "dns": { "domain": "s.example.org" },
            "networking": { "nodes": "10.0.0.0/16", "pods": "10.1.0.0/16" },
            "kubernetes": { "version": "1.31.1", "verticalPodAutoscaler": { "enabled": true } },
            "provider": { "type": "local", "workers": [{ "name": "w", "zones": ["b", "a"] }] },
        },
    });
    change(&mut tree["spec"]);
    serde_json::from_value(tree).expect("a Shoot")
}

fn seed(spec: Value) -> ManagedSeed {
    let tree = json!({
        "metadata": { "name": "child", "namespace": "garden" },
        "spec": { "shoot": { "name": "s" }, "gardenlet": { "config": { "seedConfig": { "spec": spec } } } },
    });
    serde_json::from_value(tree).expect("a ManagedSeed")
}

fn provider() -> Value {
    json!({ "type": "local", "secretRef": { "name": "d", "namespace": "garden" } })
}

fn shown(result: Result<(), Refusal>) -> Vec<String> {
    match result {
        Ok(()) => Vec::new(),
        Err(Refusal::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
        Err(other) => panic!("{other:?}"),
    }
}

/// Returns the errors of a ManagedSeed as path and text.
fn judged(spec: Value, old: Option<&ManagedSeed>, shoot: Option<&Shoot>, other: Option<&str>) -> Vec<String> {
    shown(admit(&mut seed(spec), old, shoot, other, &provider(), &uses(DOCUMENTED, &[])))
}

/// Returns the errors of the mutating and of the validating phase in a release.
fn phases(seed: &ManagedSeed, shoot: &Shoot, other: Option<&str>, minor: u16) -> [Vec<String>; 2] {
    let (mut seed, uses) = (seed.clone(), uses(Release(minor), &[]));
    [
        shown(admit(&mut seed, None, Some(shoot), other, &provider(), &uses)),
        shown(validate(&seed, None, Some(shoot), other, &uses)),
    ]
}

/// Rows: minor, errors of both phases.
#[test]
fn all_defects_of_a_shoot_are_reported_since_1_135() {
    let unfit = shoot(|spec| {
        spec["addons"] = json!({ "nginxIngress": { "enabled": true } });
        spec["kubernetes"] = json!({ "version": "1.31.1" });
        spec["provider"]["workers"] = json!([]);
    });
    let all = [
        "shoot ingress addon is not supported for managed seeds - use the managed seed ingress controller",
        "shoot VPA has to be enabled for managed seeds",
        "workerless shoot cannot be used to create managed seed",
        "shoot garden/s already registered as seed by managed seed garden/x",
    ]
    .map(|text| format!("spec.shoot.name: Invalid value: \"s\": {text}"));
    let region = "spec.gardenlet.config.seedConfig.spec.provider.region: Invalid value: \"eu\": seed provider region must \
                  be equal to shoot region local";
    let with = |errors: &[String]| [errors, &[region.to_owned()]].concat();
    let child = seed(json!({ "provider": { "region": "eu" } }));
    for (minor, expected) in [
        (120, [all[..1].to_vec(), Vec::new()]),
        (134, [all[..1].to_vec(), Vec::new()]),
        (135, [with(&[]), all.to_vec()]),
        (136, [Vec::new(), with(&all)]),
        (149, [Vec::new(), with(&all)]),
    ] {
        assert_eq!(phases(&child, &unfit, Some("garden/x"), minor), expected, "{minor}");
    }
}

/// Rows: minor, errors of both phases for a ManagedSeed elsewhere, and for one without Shoot.
#[test]
fn a_managed_seed_in_namespace_garden_references_a_shoot() {
    let (mut elsewhere, mut nameless) = (seed(json!({})), seed(json!({})));
    elsewhere.metadata.namespace = "other".to_owned();
    nameless.spec.shoot = None;
    let outside = vec!["metadata.namespace: Invalid value: \"other\": namespace must be garden".to_owned()];
    let required = vec!["spec.shoot: Required value: shoot is required".to_owned()];
    for (minor, of_elsewhere, of_nameless) in [
        (120, [outside.clone(), Vec::new()], [required.clone(), Vec::new()]),
        (134, [outside.clone(), Vec::new()], [required, Vec::new()]),
        (135, [Vec::new(), outside.clone()], [Vec::new(), Vec::new()]),
        (149, [Vec::new(), outside], [Vec::new(), Vec::new()]),
    ] {
        assert_eq!(phases(&elsewhere, &shoot(|_| {}), None, minor), of_elsewhere, "{minor}");
        assert_eq!(phases(&nameless, &shoot(|_| {}), None, minor), of_nameless, "{minor}");
    }
}

#[test]
fn topology_aware_routing_needs_the_feature_gate_of_the_shoot() {
    let host = shoot(|spec| {
        let off = json!({ "featureGates": { "TopologyAwareHints": false } });
        spec["kubernetes"]["kubeAPIServer"] = off.clone();
        spec["kubernetes"]["kubeProxy"] = off;
        spec["kubernetes"]["kubeControllerManager"] = json!({ "featureGates": { "TopologyAwareHints": true } });
    });
    let expected = ["kube-apiserver", "kube-proxy"].map(|component| {
        format!(
            "spec.gardenlet.config.seedConfig.spec.settings.topologyAwareRouting.enabled: Invalid value: true: the \
             topology-aware routing seed setting cannot be enabled when the TopologyAwareHints feature gate is disabled \
             for {component}"
        )
    });
    let spec = |enabled: bool| json!({ "settings": { "topologyAwareRouting": { "enabled": enabled } } });
    assert_eq!(judged(spec(true), None, Some(&host), None), expected);
    assert_eq!(judged(spec(false), None, Some(&host), None), [""; 0]);
    assert_eq!(phases(&seed(spec(true)), &host, None, 149), [Vec::new(), expected.to_vec()]);
}

#[test]
fn a_shoot_must_be_fit_to_be_a_seed() {
    let at = |text: &str| vec![format!("spec.shoot.name: Invalid value: \"s\": {text}")];
    assert_eq!(judged(json!({}), None, None, None), at("shoot garden/s not found"));
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 4] = [
        (|spec| spec["dns"] = json!({}), "shoot garden/s does not specify a domain"),
        (|spec| spec["addons"] = json!({ "nginxIngress": { "enabled": true } }), NO_INGRESS_ADDON),
        (|spec| spec["kubernetes"] = json!({ "version": "1.31.1" }), NEEDS_AUTOSCALER),
        (|spec| spec["provider"]["workers"] = json!([]), "workerless shoot cannot be used to create managed seed"),
    ];
    for (change, expected) in cases {
        assert_eq!(judged(json!({}), None, Some(&shoot(change)), None), at(expected));
    }
    let taken = "shoot garden/s already registered as seed by managed seed garden/x";
    assert_eq!(judged(json!({}), None, Some(&shoot(|_| {})), Some("garden/x")), at(taken));
}

#[test]
fn a_seed_inherits_settings_of_its_shoot() {
    let mut made = seed(json!({}));
    admit(&mut made, None, Some(&shoot(|_| {})), None, &provider(), &uses(DOCUMENTED, &[])).expect("it is fit");
    let config = serde_json::to_value(&made.spec.gardenlet.config).expect("JSON");
    let expected = json!({
        "dns": { "provider": provider() },
        "ingress": { "controller": { "kind": "nginx" }, "domain": "ingress.s.example.org" },
        "networks": { "nodes": "10.0.0.0/16", "pods": "10.1.0.0/16" },
        "provider": { "type": "local", "region": "local", "zones": ["a", "b"] },
        "settings": { "verticalPodAutoscaler": { "enabled": false } },
    });
    assert_eq!(config["seedConfig"]["spec"], expected);
    assert_eq!(made.metadata.label("name.seed.gardener.cloud/host"), Some("true"));
}

#[test]
fn a_seed_that_contradicts_its_shoot_is_refused() {
    let spec = json!({
        "ingress": { "domain": "other" },
        "networks": { "nodes": "10.9.0.0/16", "pods": "10.1.0.0/16", "services": "10.8.0.0/16" },
        "provider": { "type": "aws", "region": "eu", "zones": ["c"] },
        "settings": { "verticalPodAutoscaler": { "enabled": true } },
    });
    let path = "spec.gardenlet.config.seedConfig.spec";
    let expected = [
        "ingress.domain: Invalid value: \"other\": seed ingress domain must be equal to shoot DNS domain \
         ingress.s.example.org",
        "networks.nodes: Invalid value: \"10.9.0.0/16\": seed nodes CIDR must be equal to shoot nodes CIDR 10.0.0.0/16",
        "networks.services: Invalid value: \"10.1.0.0/16\": seed services CIDR must be equal to shoot services CIDR \
         10.2.0.0/16",
        "provider.type: Invalid value: \"aws\": seed provider type must be equal to shoot provider type local",
        "provider.region: Invalid value: \"eu\": seed provider region must be equal to shoot region local",
        "settings.verticalPodAutoscaler.enabled: Invalid value: true: seed VPA is not supported for managed seeds - use \
         the shoot VPA",
        "provider.zones: Invalid value: [\"c\"]: cannot use zone in seed provider that is not available in referenced \
         shoot",
    ];
    let host = shoot(|spec| spec["networking"]["services"] = json!("10.2.0.0/16"));
    assert_eq!(judged(spec, None, Some(&host), None), expected.map(|text| format!("{path}.{text}")));
    let old = seed(json!({ "provider": { "zones": ["c"] } }));
    let spec = json!({ "provider": { "zones": ["c", "a"] } });
    assert_eq!(judged(spec, Some(&old), Some(&shoot(|_| {})), None), Vec::<String>::new());
}

#[test]
fn domains_stay_while_shoots_use_the_seed() {
    let with = |internal: &str, default: &str| {
        let dns = json!({ "internal": { "domain": internal }, "defaults": [{ "domain": default }] });
        seed(json!({ "dns": dns }))
    };
    let user = shoot(|spec| {
        spec["seedName"] = json!("child");
        spec["dns"] = json!({ "domain": "u.a.example" });
    });
    let refused = |release: Release, shoots: &[Shoot]| {
        let (mut new, old) = (with("j", "b.example"), with("i", "a.example"));
        let (shoots, host) = (uses(release, shoots), shoot(|_| {}));
        let mut found = shown(admit(&mut new, Some(&old), Some(&host), None, &provider(), &shoots));
        found.extend(shown(validate(&new, Some(&old), Some(&host), None, &shoots)));
        found
    };
    let path = "spec.gardenlet.config.seedConfig.spec.dns";
    let expected = [
        format!(
            "{path}.internal.domain: Forbidden: internal domain must not be changed while shoots are still scheduled onto \
             seed"
        ),
        format!("{path}.defaults: Forbidden: default domains must not be removed while shoots are still using them"),
    ];
    assert_eq!(refused(NEWEST, std::slice::from_ref(&user)), expected);
    assert_eq!(refused(Release(127), std::slice::from_ref(&user)), expected[..1]);
    assert_eq!(refused(Release(126), &[user]), Vec::<String>::new());
    assert_eq!(refused(NEWEST, &[]), Vec::<String>::new());
}

#[test]
fn a_shoot_that_is_a_seed_stays_fit_and_stays() {
    let (old, seed) = (shoot(|_| {}), seed(json!({ "provider": { "zones": ["a"] } })));
    assert_eq!(check_shoot_update(&old, &old, &seed), Ok(()));
    let new = shoot(|spec| {
        spec["kubernetes"] = json!({ "version": "1.31.1" });
        spec["networking"]["nodes"] = json!("10.7.0.0/16");
        spec["provider"]["workers"][0]["zones"] = json!(["b"]);
    });
    let Err(Refusal::Invalid(errors)) = check_shoot_update(&new, &old, &seed) else { panic!("it is not fit") };
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "spec.kubernetes.verticalPodAutoscaler.enabled: Invalid value: false: shoot VPA has to be enabled for \
             managed seeds",
            "spec.networking.nodes: Invalid value: \"10.7.0.0/16\": field is immutable for managed seeds",
            "spec.providers.workers: Forbidden: shoot worker zone(s) must not be removed as long as registered in \
             managedseed",
        ]
    );
    let refused = |text: &str| Err::<(), _>(Refusal::Forbidden(text.to_owned()));
    let text = "cannot delete shoot garden/s since it is still referenced by a managed seed";
    assert_eq!(Err(is_referenced(&old)), refused(text));
    let text = "cannot delete managed seed garden/child since its seed child is still used by shoot(s)";
    assert_eq!(check_deletion(&seed, true), refused(text));
    assert_eq!(check_deletion(&seed, false), Ok(()));
}
