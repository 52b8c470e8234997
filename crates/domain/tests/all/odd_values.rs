// SPDX-License-Identifier: Apache-2.0
//! Arbitrary texts in versions, constraints, windows and annotations: validation and admission return violations without
//! panicking, and the same ones when repeated.

use api::core::{CloudProfile, NamespacedCloudProfile, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use domain::admission::namespaced_cloud_profile::check_namespaced;
use domain::admission::shoot::check_changed_versions;
use domain::cloud_profile::{merge, without_lost_versions};
use domain::profile::Profile;
use domain::reconcile::{GardenletSettings, generation_on_update, schedule};
use domain::release::Release;
use domain::validation::cloud_profile as profiles;
use domain::validation::shoot::{self as shoots, Gates};
use domain::versions::Moment;
use domain::{defaulting, maintenance, versions, warnings, window};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Generates texts that are borderline versions, constraints, times of day or durations; sometimes arbitrary text.
fn odd() -> impl Strategy<Value = String> {
    const TEXTS: [&str; 44] = [
        "",
        ".",
        "..",
        "...",
        "v",
        "1",
        "1.",
        "1.31",
        ".31",
        "1.31.2",
        "v1.31.2",
        "1.31.3",
        "1.32.0",
        "1.33.0",
        "2.0.0",
        "0.0.0",
        "1.31.x",
        "1.31.2-rc.1",
        "1.31.2-",
        "1.31.2+b",
        "01.31.2",
        "1.31.2.4",
        "-1.2.3",
        "+1",
        "1e3",
        "18446744073709551615.18446744073709551615.18446744073709551615",
        "1.18446744073709551616",
        ">= 1.31",
        "~1.31 ||",
        "< 1.32, > 1",
        "1.2 - ",
        "* - *",
        "^|",
        "\u{e9}",
        "\u{0}",
        "\"",
        "supported",
        "preview",
        "major",
        "220000+0100",
        "230000+0000",
        "000000-2460",
        "9999999999h",
        "2562047h47m16.854775807s",
    ];
    prop_oneof![6 => prop::sample::select(&TEXTS[..]).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn date() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!("2025-06-15T12:00:00Z")),
        1 => Just(json!("0001-01-01T00:00:00Z")),
        1 => Just(json!("9999-12-31T23:59:59Z")),
    ]
}

fn entry() -> impl Strategy<Value = Value> {
    (odd(), prop::option::of(odd()), date())
        .prop_map(|(version, class, date)| json!({"version": version, "classification": class, "expirationDate": date}))
}

fn image_entry() -> impl Strategy<Value = Value> {
    let parts = (entry(), prop::option::of(odd()), prop::option::of(odd()), prop::collection::vec(odd(), 0..2));
    (parts, any::<bool>()).prop_map(|((mut entry, constraint, least, architectures), supported)| {
        entry["kubeletVersionConstraint"] = json!(constraint);
        entry["inPlaceUpdates"] = json!({"supported": supported, "minVersionForUpdate": least});
        entry["architectures"] = json!(architectures);
        entry
    })
}

fn offer() -> impl Strategy<Value = Value> {
    let images =
        prop::collection::vec((odd(), prop::option::of(odd()), prop::collection::vec(image_entry(), 0..4)), 0..3);
    let nodes = prop::option::of(any::<i32>());
    (prop::collection::vec(entry(), 0..5), images, nodes).prop_map(|(kubernetes, images, nodes)| {
        let images: Vec<Value> = images
            .into_iter()
            .map(|(name, strategy, versions)| json!({"name": name, "updateStrategy": strategy, "versions": versions}))
            .collect();
        json!({
            "type": "local",
            "kubernetes": {"versions": kubernetes},
            "machineImages": images,
            "machineTypes": [{"name": "small", "cpu": "1", "gpu": "0", "memory": "1Gi"}],
            "regions": [{"name": "here"}],
            "limits": {"maxNodesTotal": nodes},
        })
    })
}

fn pool() -> impl Strategy<Value = Value> {
    let image = prop::option::of((odd(), prop::option::of(odd())));
    let strategies = prop_oneof![
        Just(json!(null)),
        Just(json!("AutoRollingUpdate")),
        Just(json!("AutoInPlaceUpdate")),
        Just(json!("ManualInPlaceUpdate")),
        odd().prop_map(|text| json!(text)),
    ];
    let names = prop_oneof![Just("a".to_owned()), odd()];
    (names, image, prop::option::of(odd()), prop::option::of(odd()), strategies, any::<(i32, i32)>()).prop_map(
        |(name, image, version, architecture, strategy, (minimum, maximum))| {
            let image = image.map(|(name, version)| json!({"name": name, "version": version}));
            json!({
                "name": name,
                "minimum": minimum,
                "maximum": maximum,
                "machine": {"type": "small", "image": image, "architecture": architecture},
                "kubernetes": version.map(|version| json!({"version": version})),
                "updateStrategy": strategy,
            })
        },
    )
}

fn shoot() -> impl Strategy<Value = Shoot> {
    let annotations = (prop::option::of(odd()), prop::option::of(odd()), prop::option::of(odd()));
    let window = prop::option::of((odd(), odd()));
    let parts = (odd(), prop::collection::vec(pool(), 0..3), window, annotations, any::<(bool, bool)>(), odd());
    parts.prop_map(|(version, pools, window, (operation, period, ignore), (confined, is_pending), region)| {
        let annotations = [
            ("gardener.cloud/operation", operation),
            ("shoot.gardener.cloud/sync-period", period),
            ("shoot.gardener.cloud/ignore", ignore),
        ];
        let annotations: serde_json::Map<String, Value> =
            annotations.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))).collect();
        let window = window.map(|(begin, end)| json!({"begin": begin, "end": end}));
        let maintenance = json!({"timeWindow": window, "confineSpecUpdateRollout": confined});
        let operation = json!({
            "type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "",
            "lastUpdateTime": "2025-06-15T11:00:00Z",
        });
        let pending = json!({"pendingWorkerUpdates": {"manualInPlaceUpdate": ["a"]}});
        let mut shoot: Shoot = serde_json::from_value(json!({
            "metadata": {"name": "s", "namespace": "garden", "annotations": annotations},
            "spec": {
                "region": region,
                "cloudProfileName": "local",
                "kubernetes": {"version": version},
                "provider": {"type": "local", "workers": pools},
                "maintenance": if confined || window.is_some() { maintenance } else { Value::Null },
            },
            "status": {"lastOperation": operation},
        }))
        .expect("a Shoot");
        if is_pending {
            shoot.status.in_place_updates = serde_json::from_value(pending).ok();
        }
        shoot
    })
}

fn now() -> DateTime<Utc> {
    "2025-06-15T12:00:00Z".parse().expect("RFC 3339")
}

fn cloud_profile(spec: &Value) -> CloudProfile {
    let mut profile: CloudProfile =
        serde_json::from_value(json!({"metadata": {"name": "local"}, "spec": spec})).expect("its kind");
    defaulting::cloud_profile(&mut profile);
    profile
}

const GATES: Gates = Gates {
    in_place_node_updates: true,
    credentials_rotation_without_workers_rollout: true,
    version_classification_lifecycle: true,
    disable_nginx_ingress_in_shoot: false,
    cloud_profile_capabilities: true,
    live_control_plane_migration: true,
    release: Release(149),
};

fn at() -> Moment {
    Moment::new(now(), GATES.release)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn odd_cloud_profiles_are_judged(new in offer(), old in offer()) {
        let (new, old) = (cloud_profile(&new), cloud_profile(&old));
        for rules in [Profile::Documents, Profile::Upstream] {
            let errors = profiles::cloud_profile(&new, rules, GATES, now());
            prop_assert_eq!(&errors, &profiles::cloud_profile(&new, rules, GATES, now()));
            profiles::cloud_profile_update(&new, &old, rules, GATES, now());
            let mut dropped = new.clone();
            profiles::drop_expired_versions(&mut dropped, rules, at());
        }
        let mut own = NamespacedCloudProfile::default();
        own.spec.kubernetes = Some(new.spec.kubernetes.clone());
        own.spec.machine_images.clone_from(&new.spec.machine_images);
        own.spec.limits.clone_from(&new.spec.limits);
        profiles::namespaced_cloud_profile(&own, GATES);
        let merged = merge(&old.spec, &own.spec);
        prop_assert!(without_lost_versions(&merged, &old.spec, &own.spec).is_none());
        own.status.cloud_profile_spec = merged;
        let mut before = own.clone();
        profiles::drop_expired_overrides(&mut before, None, at());
        let _ = check_namespaced(&own, Some(&before), &old.spec, GATES, now());
        let _ = check_namespaced(&before, None, &old.spec, GATES, now());
        profiles::namespaced_cloud_profile_update(&own, &before, GATES);
        versions::shown_default(&new.spec.kubernetes.versions, at());
    }

    #[test]
    fn odd_shoots_are_judged(spec in offer(), new in shoot(), old in shoot()) {
        let profile = cloud_profile(&spec).spec;
        let (mut new, mut old) = (new, old);
        let raw = new.clone();
        defaulting::shoot(&mut new, 7, domain::release::DOCUMENTED);
        defaulting::shoot(&mut old, 7, domain::release::DOCUMENTED);
        for shoot in [&raw, &new] {
            let errors = shoots::shoot(shoot, GATES);
            prop_assert_eq!(&errors, &shoots::shoot(shoot, GATES));
            shoots::shoot_update(shoot, &old, GATES);
            check_changed_versions(shoot, &old, &profile, at());
            check_changed_versions(shoot, shoot, &profile, at());
            generation_on_update(&old, shoot);
            let settings = GardenletSettings { reconcile_in_maintenance_only: true, ..GardenletSettings::default() };
            let planned = schedule(shoot, &settings, now());
            prop_assert_eq!(planned, schedule(shoot, &settings, now()));
            schedule(shoot, &GardenletSettings::default(), now());
            let span = window::effective_window(shoot).next(now());
            prop_assert!(span.earliest >= now() - TimeDelta::days(1) && span.earliest <= span.end, "{:?}", span);
            maintenance::next_run(shoot, now());
            for release in [domain::release::DOCUMENTED, domain::release::NEWEST] {
                warnings::shoot(shoot, Some(&old), TimeDelta::days(90), now(), release);
            }
        }
    }
}
