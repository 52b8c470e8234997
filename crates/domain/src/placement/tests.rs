// SPDX-License-Identifier: Apache-2.0

use serde_json::{Value, json};

use super::*;

fn seed(name: &str, provider: &str, region: &str, change: impl FnOnce(&mut Value)) -> Seed {
    let mut tree = json!({
        "metadata": {"name": name, "labels": {"name": name}},
        "spec": {
            "networks": {"pods": "100.80.0.0/13", "services": "100.104.0.0/13", "nodes": "10.10.0.0/16"},
            "provider": {"type": provider, "region": region, "zones": ["a"]},
            "settings": {"scheduling": {"visible": true}},
        },
        "status": {
            "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "", "lastUpdateTime": null},
            "conditions": [{"type": "GardenletReady", "status": "True", "reason": "", "message": "", "lastTransitionTime": null, "lastUpdateTime": null}],
        },
    });
    change(&mut tree);
    serde_json::from_value(tree).expect("a Seed")
}

fn shoot(change: impl FnOnce(&mut Value)) -> Shoot {
    let mut tree = json!({
        "metadata": {"name": "local", "namespace": "garden-demo"},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"},
            "region": "eu-west-1",
            "networking": {"nodes": "10.250.0.0/16", "pods": "100.128.0.0/11", "services": "100.72.0.0/13", "ipFamilies": ["IPv4"]},
            "provider": {"type": "aws", "workers": [{"name": "a"}]},
        },
    });
    change(&mut tree);
    serde_json::from_value(tree).expect("a Shoot")
}

struct Case {
    seeds: Vec<Seed>,
    shoot: Shoot,
    profile: Value,
    strategy: Strategy,
    distances: BTreeMap<String, i64>,
    usage: fn(&str) -> usize,
}

fn given(seeds: Vec<Seed>) -> Case {
    Case {
        seeds,
        shoot: shoot(|_| {}),
        profile: json!({}),
        strategy: Strategy::SameRegion,
        distances: BTreeMap::new(),
        usage: |_| 0,
    }
}

impl Case {
    fn shoot(self, change: impl FnOnce(&mut Value)) -> Self {
        Self { shoot: shoot(change), ..self }
    }
}

#[track_caller]
fn check(given: Case, expected: &str) {
    let profile: CloudProfileSpec = serde_json::from_value(given.profile).expect("a CloudProfile");
    let placement = Placement {
        cloud_profile: &profile,
        strategy: given.strategy,
        distances: given.distances,
        usage: &given.usage,
    };
    let found = match determine_seed(&given.shoot, &given.seeds, &placement) {
        Ok(seed) => seed.metadata.name.clone(),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

fn aws(name: &str, change: impl FnOnce(&mut Value)) -> Seed {
    seed(name, "aws", "eu-west-1", change)
}

#[test]
fn only_ready_visible_seeds_that_stay_are_usable() {
    let unusable: [fn(&mut Value); 7] = [
        |it| it["metadata"]["deletionTimestamp"] = json!("2023-07-28T00:00:00Z"),
        |it| it["spec"]["settings"]["scheduling"]["visible"] = json!(false),
        |it| it["status"]["lastOperation"] = Value::Null,
        |it| it["status"]["conditions"] = json!([]),
        |it| it["status"]["conditions"][0]["status"] = json!("Unknown"),
        |it| it["spec"]["backup"] = json!({"provider": "aws", "secretRef": {}}),
        |it| {
            it["spec"]["backup"] = json!({"provider": "aws", "secretRef": {}});
            let mut bucket = it["status"]["conditions"][0].clone();
            bucket["type"] = json!("BackupBucketsReady");
            bucket["status"] = json!("False");
            it["status"]["conditions"].as_array_mut().expect("a list").push(bucket);
        },
    ];
    let seeds: Vec<Seed> = unusable.iter().map(|change| aws("unusable", change)).collect();
    check(given(seeds), "none of the 7 seeds is valid for scheduling (not deleting, visible and ready)");
    check(given(vec![]), "none of the 0 seeds is valid for scheduling (not deleting, visible and ready)");

    let with_bucket = aws("with-bucket", |it| {
        it["spec"]["backup"] = json!({"provider": "aws", "secretRef": {}});
        let mut bucket = it["status"]["conditions"][0].clone();
        bucket["type"] = json!("BackupBucketsReady");
        it["status"]["conditions"].as_array_mut().expect("a list").push(bucket);
    });
    check(given(vec![with_bucket]), "with-bucket");
    check(given(vec![aws("without-settings", |it| it["spec"]["settings"] = Value::Null)]), "without-settings");
}

#[test]
fn both_seed_selectors_must_match() {
    let seeds = || vec![aws("a", |_| {}), aws("b", |_| {})];
    check(given(seeds()).shoot(|it| it["spec"]["seedSelector"] = json!({"matchLabels": {"name": "b"}})), "b");
    check(
        given(seeds()).shoot(|it| it["spec"]["seedSelector"] = json!({"matchLabels": {"name": "c"}})),
        "none out of the 2 seeds has the matching labels required by seed selector of 'Shoot' (selector: 'name=c')",
    );
    let selector = json!({
        "matchLabels": {"name": "a", "env": "x"},
        "matchExpressions": [
            {"key": "purpose", "operator": "NotIn", "values": ["z", "y"]},
            {"key": "a", "operator": "Exists"},
            {"key": "f", "operator": "DoesNotExist"},
        ],
    });
    check(
        Case { profile: json!({"seedSelector": selector}), ..given(seeds()) },
        "none out of the 2 seeds has the matching labels required by seed selector of 'CloudProfile' (selector: 'a,env=x,!f,name=a,purpose notin (y,z)')",
    );
}

#[test]
fn the_provider_must_match_unless_the_cloud_profile_names_others() {
    let seeds = || vec![seed("g", "gcp", "eu-west-1", |_| {}), seed("z", "azure", "eu-west-1", |_| {})];
    check(given(seeds()), "none out of the 2 seeds has a matching provider for \"aws\"");
    let by_distance = |types: Value| Case {
        profile: json!({"seedSelector": {"providerTypes": types}}),
        strategy: Strategy::MinimalDistance,
        ..given(seeds())
    };
    check(by_distance(json!(["azure"])), "z");
    check(by_distance(json!(["*"])), "g");
    check(by_distance(json!(["openstack"])), "none out of the 2 seeds has a matching provider for \"aws\"");
    check(
        Case { strategy: Strategy::SameRegion, ..by_distance(json!(["*"])) },
        "no matching seed candidate found for Configuration (Cloud Profile 'aws', Region 'eu-west-1', SeedDeterminationStrategy 'SameRegion')",
    );
}

#[test]
fn failure_tolerance_of_zones_needs_three_of_them() {
    let zonal = |it: &mut Value| {
        it["spec"]["controlPlane"] = json!({"highAvailability": {"failureTolerance": {"type": "zone"}}});
    };
    let three = aws("three", |it| it["spec"]["provider"]["zones"] = json!(["a", "b", "c"]));
    check(given(vec![aws("one", |_| {}), three]).shoot(zonal), "three");
    check(
        given(vec![aws("one", |_| {})]).shoot(zonal),
        "none of the 1 seeds has at least 3 zones for hosting a shoot control plane with failure tolerance type 'zone'",
    );
    check(
        given(vec![aws("one", |_| {})]).shoot(|it| {
            it["spec"]["controlPlane"] = json!({"highAvailability": {"failureTolerance": {"type": "node"}}});
        }),
        "one",
    );
}

#[test]
fn access_restrictions_must_be_supported() {
    let restricted = |it: &mut Value| it["spec"]["accessRestrictions"] = json!([{"name": "eu-access-only"}]);
    let supporting = aws("b", |it| it["spec"]["accessRestrictions"] = json!([{"name": "eu-access-only"}]));
    check(given(vec![aws("a", |_| {}), supporting]).shoot(restricted), "b");
    check(
        given(vec![aws("a", |_| {})]).shoot(restricted),
        "none of the 1 seeds supports the access restrictions configured in the shoot specification",
    );
}

#[test]
fn each_rejected_seed_is_named_with_its_reason() {
    let overlapping = aws("overlapping", |it| it["spec"]["networks"]["pods"] = json!("fd00:1::/64"));
    let tainted = aws("tainted", |it| it["spec"]["taints"] = json!([{"key": "protected"}]));
    let full = aws("full", |it| it["status"]["allocatable"] = json!({"shoots": "3"}));
    check(
        Case { usage: |_| 3, ..given(vec![tainted, overlapping, full]) }.shoot(|it| {
            it["spec"]["networking"]["pods"] = json!("fd00:1::/56");
        }),
        "0/3 seed cluster candidate(s) are eligible for scheduling: {full => seed does not have available capacity for shoots, overlapping => invalid networks: [Invalid value: \"fd00:1::/56\": shoot pod network intersects with seed pod network], tainted => shoot does not tolerate the seed's taints}",
    );
}

#[test]
fn a_seed_takes_shoots_up_to_its_allocatable_number() {
    let limited = || vec![aws("a", |it| it["status"]["allocatable"] = json!({"shoots": "3"}))];
    check(Case { usage: |_| 2, ..given(limited()) }, "a");
    check(
        Case { usage: |_| 3, ..given(limited()) },
        "0/1 seed cluster candidate(s) are eligible for scheduling: {a => seed does not have available capacity for shoots}",
    );
}

#[test]
fn taints_are_tolerated_by_key_or_by_key_and_value() {
    let tainted = |value: Value| vec![aws("a", move |it| it["spec"]["taints"] = json!([{"key": "k", "value": value}]))];
    let tolerating = |toleration: Value| move |it: &mut Value| it["spec"]["tolerations"] = json!([toleration]);
    let refused =
        "0/1 seed cluster candidate(s) are eligible for scheduling: {a => shoot does not tolerate the seed's taints}";
    for (taint, toleration, expected) in [
        (json!("v"), json!({"key": "k"}), "a"),
        (json!("v"), json!({"key": "k", "value": "v"}), "a"),
        (json!("v"), json!({"key": "k", "value": "w"}), refused),
        (json!("v"), json!({"key": "other"}), refused),
        (Value::Null, json!({"key": "k", "value": "v"}), refused),
        (Value::Null, json!({"key": "k"}), "a"),
    ] {
        check(given(tainted(taint)).shoot(tolerating(toleration)), expected);
    }
}

#[test]
fn a_highly_available_vpn_forbids_overlapping_networks() {
    let overlapping = |it: &mut Value| it["spec"]["networking"]["nodes"] = json!("10.10.128.0/17");
    check(given(vec![aws("a", |_| {})]).shoot(overlapping), "a");
    check(
        given(vec![aws("a", |_| {})]).shoot(|it| {
            overlapping(it);
            it["spec"]["controlPlane"] = json!({"highAvailability": {"failureTolerance": {"type": "node"}}});
        }),
        "0/1 seed cluster candidate(s) are eligible for scheduling: {a => invalid networks: [Invalid value: \"10.10.128.0/17\": shoot node network intersects with seed node network]}",
    );
}

#[test]
fn missing_networks_are_the_seeds_defaults_of_the_family() {
    let without = |it: &mut Value| {
        it["spec"]["networking"] = json!({"ipFamilies": ["IPv4"]});
    };
    let defaults = |pods: &'static str| {
        vec![aws("a", move |it| {
            it["spec"]["networks"]["shootDefaults"] = json!({"pods": pods, "services": "100.64.0.0/13"});
        })]
    };
    check(given(defaults("100.96.0.0/11")).shoot(without), "a");
    check(
        given(defaults("fd00:2::/64")).shoot(without),
        "0/1 seed cluster candidate(s) are eligible for scheduling: {a => invalid networks: [Required value: pods is required]}",
    );
    check(
        given(vec![aws("a", |_| {})]).shoot(without),
        "0/1 seed cluster candidate(s) are eligible for scheduling: {a => invalid networks: [Required value: services is required Required value: pods is required]}",
    );
    check(
        given(vec![aws("a", |_| {})]).shoot(|it| {
            it["spec"]["networking"] = json!({"pods": "240.1.0.0/16", "services": "100.64.0.0/13"});
        }),
        "0/1 seed cluster candidate(s) are eligible for scheduling: {a => invalid networks: [Invalid value: \"240.1.0.0/16\": shoot pod network intersects with reserved kube-apiserver mapping range (240.0.0.0/8)]}",
    );
}

#[test]
fn strategies_choose_by_region() {
    let seeds = || {
        vec![
            seed("a-far", "aws", "us-east-1", |_| {}),
            seed("b-near", "aws", "eu-west-2", |_| {}),
            seed("c-near", "aws", "eu-west-3", |_| {}),
        ]
    };
    check(
        given(seeds()),
        "no matching seed candidate found for Configuration (Cloud Profile 'aws', Region 'eu-west-1', SeedDeterminationStrategy 'SameRegion')",
    );
    let nearest = || Case { strategy: Strategy::MinimalDistance, ..given(seeds()) };
    check(nearest(), "b-near");
    check(Case { usage: |seed| if seed == "b-near" { 5 } else { 4 }, ..nearest() }, "c-near");
    check(nearest().shoot(|it| it["spec"]["purpose"] = json!("testing")), "a-far");
    check(given(seeds()).shoot(|it| it["spec"]["purpose"] = json!("testing")), "a-far");

    let configured = |pairs: &[(&str, i64)]| Case {
        distances: pairs.iter().map(|(region, distance)| ((*region).to_owned(), *distance)).collect(),
        ..nearest()
    };
    check(configured(&[("us-east-1", 10), ("eu-west-2", 20)]), "a-far");
    check(configured(&[("us-east-1", 20), ("eu-west-3", 10)]), "c-near");
    check(configured(&[("elsewhere", 1)]), "b-near");
    let own_region = seed("d-own", "aws", "eu-west-1", |_| {});
    let mut given = configured(&[("us-east-1", 1)]);
    given.seeds.push(own_region);
    check(given, "d-own");
}

#[test]
fn the_seed_with_the_fewest_shoots_is_selected() {
    let seeds = || vec![aws("a", |_| {}), aws("b", |_| {}), aws("c", |_| {})];
    check(given(seeds()), "a");
    check(Case { usage: |seed| usize::from(seed == "a"), ..given(seeds()) }, "b");
    check(Case { usage: |seed| usize::from(seed != "c"), ..given(seeds()) }, "c");
}
