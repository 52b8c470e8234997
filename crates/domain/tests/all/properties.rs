// SPDX-License-Identifier: Apache-2.0
//! Properties of every CloudProfile and every Shoot: updates only raise versions, never to previews, never across a
//! minor; and a forecast that skips windows equals one that checks each.

use api::core::{CloudProfile, CloudProfileSpec, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use domain::defaulting;
use domain::forecast::{self, Change, Offer, Settings};
use domain::maintenance::{self, Restarters, kubernetes_update, machine_image_update};
use domain::release::DOCUMENTED;
use domain::validation::shoot::Gates;
use domain::versions::{Moment, Version};
use domain::worker_pool::{HashVersion, PoolForms};
use proptest::prelude::*;
use serde_json::{Value, json};

fn now() -> DateTime<Utc> {
    "2025-06-15T12:00:00Z".parse().expect("RFC 3339")
}

/// Generates an entry with any classification that expires some days before or after now, or never.
fn entry(version: impl Strategy<Value = String>) -> impl Strategy<Value = Value> {
    let classes = prop_oneof![Just(None), Just(Some("preview")), Just(Some("supported")), Just(Some("deprecated"))];
    (version, classes, prop::option::of(-20_i64..60)).prop_map(|(version, class, days)| {
        let mut entry = json!({ "version": version });
        if let Some(class) = class {
            entry["classification"] = json!(class);
        }
        if let Some(days) = days {
            entry["expirationDate"] = json!((now() + TimeDelta::days(days)).to_rfc3339());
        }
        entry
    })
}

fn profiles() -> impl Strategy<Value = CloudProfileSpec> {
    let kubernetes = entry((28_u64..33, 0_u64..4).prop_map(|(minor, patch)| format!("1.{minor}.{patch}")));
    let images =
        entry((1_u64..4, 0_u64..3, 0_u64..3).prop_map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")));
    let strategies = prop_oneof![Just("patch"), Just("minor"), Just("major")];
    (prop::collection::vec(kubernetes, 1..14), prop::collection::vec(images, 1..12), strategies).prop_map(
        |(kubernetes, images, strategy)| {
            let mut profile: CloudProfile = serde_json::from_value(json!({ "spec": {
                "type": "local",
                "kubernetes": { "versions": kubernetes },
                "machineImages": [{ "name": "gl", "updateStrategy": strategy, "versions": images }],
                "machineTypes": [{ "name": "small", "architecture": "amd64", "cpu": "2", "gpu": "0", "memory": "4Gi" }],
                "regions": [{ "name": "r" }],
            }}))
            .expect("a CloudProfile");
            defaulting::cloud_profile(&mut profile);
            profile.spec
        },
    )
}

fn shoots() -> impl Strategy<Value = Shoot> {
    let pool = (1_u64..4, 0_u64..3, 0_u64..3, prop::option::of((28_u64..33, 0_u64..4)));
    let pools = prop::collection::vec(pool, 1..3);
    ((28_u64..33, 0_u64..4), pools, any::<bool>(), any::<bool>(), 0_u32..24).prop_map(
        |((minor, patch), pools, auto_kubernetes, auto_images, hour)| {
            let pools: Vec<Value> = pools
                .into_iter()
                .enumerate()
                .map(|(index, (image_major, image_minor, image_patch, own))| {
                    let mut pool = json!({
                        "name": format!("w{index}"), "minimum": 1, "maximum": 2,
                        "machine": { "type": "small", "image": {
                            "name": "gl", "version": format!("{image_major}.{image_minor}.{image_patch}"),
                        }},
                    });
                    // A pool is never above its control plane.
                    if let Some((own, own_patch)) = own.filter(|own| *own <= (minor, patch)) {
                        pool["kubernetes"] = json!({ "version": format!("1.{own}.{own_patch}") });
                    }
                    pool
                })
                .collect();
            let mut shoot: Shoot = serde_json::from_value(json!({
                "metadata": { "name": "s", "namespace": "garden-p" },
                "spec": {
                    "cloudProfile": { "name": "local" }, "credentialsBindingName": "b", "region": "r",
                    "kubernetes": { "version": format!("1.{minor}.{patch}") },
                    "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
                    "maintenance": {
                        "timeWindow": { "begin": format!("{hour:02}0000+0000"), "end": format!("{:02}0000+0000", (hour + 1) % 24) },
                        "autoUpdate": { "kubernetesVersion": auto_kubernetes, "machineImageVersion": auto_images },
                    },
                    "provider": { "type": "local", "workers": pools },
                },
            }))
            .expect("a Shoot");
            defaulting::shoot(&mut shoot, 0, domain::release::DOCUMENTED);
            shoot
        },
    )
}

fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

fn draw(_: &str, key: &str, ordinal: u64) -> u64 {
    let length = u64::try_from(key.len()).expect("short");
    (ordinal + length).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns instant, pool and versions of the changes that did not fail.
fn moves(changes: &[Change]) -> Vec<(DateTime<Utc>, [Option<String>; 3])> {
    let moved = changes.iter().filter(|change| change.failure.is_none());
    moved.map(|change| (change.time, [change.pool.clone(), change.from.clone(), change.to.clone()])).collect()
}

fn at() -> Moment {
    Moment::new(now(), domain::release::DOCUMENTED)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn kubernetes_rises_by_a_minor_automatically_by_a_patch(
        offered in profiles(), minor in 28_u64..33, patch in 0_u64..4, auto_update in any::<bool>(),
    ) {
        let current = format!("1.{minor}.{patch}");
        let versions = &offered.kubernetes.versions;
        let Some(outcome) = kubernetes_update(&current, auto_update, versions, None, at()) else { return Ok(()) };
        let Some(target) = outcome.version() else { return Ok(()) };
        let (old, new) = (version(&current), version(target));
        prop_assert!(new > old, "{current} to {target}");
        prop_assert!(new.major == old.major && new.minor <= old.minor + 1, "{current} to {target}");
        let entries: Vec<_> = versions.iter().filter(|entry| entry.version == target).collect();
        prop_assert!(entries.iter().any(|entry| !at().is_preview(*entry)), "{target} is a preview");
        if !outcome.is_forced {
            prop_assert_eq!(new.minor, old.minor);
            prop_assert!(entries.iter().any(|entry| !at().is_expired(*entry) && !at().is_preview(*entry)));
        }
    }

    #[test]
    fn images_rise_and_automatically_never_to_expired_versions(offered in profiles(), shoot in shoots()) {
        for worker in &shoot.spec.provider.workers {
            let control_plane = &shoot.spec.kubernetes.version;
            let outcome = machine_image_update(worker, control_plane, "local", &offered, true, at());
            let Ok(Some(outcome)) = outcome else { continue };
            let Some(target) = outcome.version() else { continue };
            let current = worker.machine.image.as_ref().and_then(|image| image.version.clone()).unwrap_or_default();
            prop_assert!(version(target) > version(&current), "{current} to {target}");
            let mut entries = offered.machine_images[0].versions.iter().filter(|entry| entry.version == target);
            let is_fit = |entry: &api::core::MachineImageVersion| {
                !at().is_preview(entry) && (outcome.is_forced || !at().is_expired(entry))
            };
            prop_assert!(entries.any(is_fit), "{target}");
        }
    }

    #[test]
    fn a_plan_applied_twice_changes_nothing_the_second_time(offered in profiles(), shoot in shoots()) {
        let plan = maintenance::plan(&shoot, "local", &offered, at()).expect("versions parse");
        let once = maintenance::apply(&shoot, &plan, Restarters::default());
        prop_assert_eq!(&maintenance::apply(&once, &plan, Restarters::default()), &once);
    }

    #[test]
    fn skipped_windows_are_windows_in_which_nothing_changes(
        offered in profiles(), later in profiles(), change in 0_i64..60, shoot in shoots(),
    ) {
        let changes = vec![(now() + TimeDelta::days(change), later)];
        let offer = Offer { name: "local".to_owned(), first: offered, changes };
        let settings = |from, until| Settings {
            from, until, draw: &draw, gates: Gates::default(), disables_nginx_ingress: false,
            forms: &|_| PoolForms::all(HashVersion::V1, DOCUMENTED),
        };
        let until = now() + TimeDelta::days(60);
        let whole = forecast::course(&shoot, &offer, &settings(now(), until));

        let (mut last, mut told) = (shoot.clone(), Vec::new());
        let (mut run, _) = forecast::next_run(&shoot, now(), &draw);
        while run <= until {
            let step = forecast::course(&last, &offer, &settings(run, run));
            told.extend(step.changes);
            last = step.last;
            (run, _) = forecast::next_run(&shoot, run, &draw);
        }
        prop_assert_eq!(moves(&whole.changes), moves(&told));
        prop_assert_eq!(whole.last.spec, last.spec);
    }
}
