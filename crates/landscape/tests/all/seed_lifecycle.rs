// SPDX-License-Identifier: Apache-2.0
//! A gardenlet that stops its heartbeat, and is restarted.

use std::collections::BTreeSet;

use api::core::{Condition, Seed, Shoot};
use api::kubernetes::coordination::Lease;
use apimachinery::meta::{DeleteOptions, MicroTime};
use controller::Api;
use landscape::{Component, Options};

use crate::support::{Audited, evening, instant};

/// Status, reason and message of a Seed's `GardenletReady`.
fn gardenlet_ready(audited: &mut Audited) -> (String, String, String) {
    let seeds = Api::<Seed>::all(&audited.admin, "garden");
    let seed = audited.run(seeds.get("local")).expect("the Seed exists");
    let condition = seed.status.conditions.into_iter().find(|it| it.r#type == "GardenletReady");
    let condition = condition.expect("gardenlet has come");
    (condition.status, condition.reason, condition.message)
}

fn renewed(audited: &mut Audited) -> String {
    let leases = Api::<Lease>::namespaced(&audited.admin, "garden", "gardener-system-seed-lease");
    let lease = audited.run(leases.get("local")).expect("the Lease exists");
    let renewed = lease.spec.renew_time.expect("it was renewed").0;
    renewed.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// All distinct `Status Reason` pairs of a Shoot's conditions and constraints.
fn health(audited: &mut Audited) -> BTreeSet<String> {
    let Shoot { status, .. } = audited.shoot("local");
    let text = |condition: &Condition| match condition.status.as_str() {
        "Unknown" => format!("Unknown {}: {}", condition.reason, condition.message),
        other => other.to_owned(),
    };
    status.conditions.iter().chain(&status.constraints).map(text).collect()
}

fn health_label(audited: &mut Audited) -> String {
    let shoot = audited.shoot("local");
    shoot.metadata.labels.get("shoot.gardener.cloud/status").cloned().unwrap_or_default()
}

#[test]
fn a_seed_is_unknown_while_its_gardenlet_is_stopped() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    audited.until("2023-07-27T20:10:00Z");
    let lives = ("True", "GardenletReady", "Gardenlet is posting ready status.");
    let lives = (lives.0.to_owned(), lives.1.to_owned(), lives.2.to_owned());
    let silent = ("Unknown", "SeedStatusUnknown", "Gardenlet stopped posting seed status.");
    let silent = (silent.0.to_owned(), silent.1.to_owned(), silent.2.to_owned());
    let unknown = BTreeSet::from(["Unknown StatusUnknown: Gardenlet stopped sending heartbeats.".to_owned()]);
    let healthy = BTreeSet::from(["True".to_owned()]);
    assert_eq!((gardenlet_ready(&mut audited), health(&mut audited)), (lives.clone(), healthy.clone()));
    // The gardenlet lives, which costs no entries.
    let entries = audited.landscape.counts().entries;
    audited.until("2023-07-27T20:30:00Z");
    assert_eq!(audited.landscape.counts().entries, entries);
    assert_eq!(renewed(&mut audited), "2023-07-27T20:30:00Z");

    audited.until("2023-07-27T20:30:00.251Z");
    let gardenlet = Component::Gardenlet("local".to_owned());
    audited.landscape.crash_component(&gardenlet).expect("it ends");
    assert_eq!(audited.landscape.counts().entries, entries + 1, "its last renewal is fixed");
    // After monitorPeriod, 40 s, the Seed's condition becomes Unknown; after shootMonitorPeriod, 300 s more, those of
    // its Shoots.
    audited.until("2023-07-27T20:30:40Z");
    assert_eq!(renewed(&mut audited), "2023-07-27T20:30:00Z");
    assert_eq!(gardenlet_ready(&mut audited), lives);
    audited.until("2023-07-27T20:30:41Z");
    assert_eq!((gardenlet_ready(&mut audited), health(&mut audited)), (silent.clone(), healthy.clone()));
    audited.until("2023-07-27T20:35:39Z");
    assert_eq!(health(&mut audited), healthy);
    audited.until("2023-07-27T20:35:40Z");
    assert_eq!((gardenlet_ready(&mut audited), health(&mut audited)), (silent, unknown));
    assert_eq!(health_label(&mut audited), "unknown");
    let nodes = audited.nodes("local");
    let is_ready = |node: &api::kubernetes::core::Node| {
        node.status.conditions.iter().any(|it| it.r#type == "Ready" && it.status == "True")
    };
    assert!(nodes.len() == 3 && nodes.iter().all(is_ready), "nodes need no gardenlet");
    let entries = audited.landscape.counts().entries;
    audited.until("2023-07-27T22:00:00Z");
    assert_eq!(audited.landscape.counts().entries, entries, "nothing is said again");

    audited.landscape.start_component(gardenlet);
    audited.until("2023-07-27T22:01:00Z");
    assert_eq!((gardenlet_ready(&mut audited), health(&mut audited)), (lives, healthy));
    assert_eq!(health_label(&mut audited), "healthy");
    assert_eq!(renewed(&mut audited), "2023-07-27T22:01:00Z");
    assert_eq!(audited.landscape.now(), instant("2023-07-27T22:01:00Z"));
    audited.landscape.replay_equals_live().expect("what is computed is left out");
}

/// A gardenlet that is restarted within the period is not reported.
#[test]
fn a_gardenlet_restarted_in_time_changes_no_condition() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.until("2023-07-27T20:10:00Z");
    let gardenlet = Component::Gardenlet("local".to_owned());
    audited.landscape.stop_component(&gardenlet).expect("it ends");
    audited.until("2023-07-27T20:10:30Z");
    audited.landscape.start_component(gardenlet);
    audited.until("2023-07-27T20:30:00Z");
    assert_eq!(gardenlet_ready(&mut audited).0, "True");
    assert_eq!(renewed(&mut audited), "2023-07-27T20:30:00Z");
}

/// "Renewals of a running gardenlet make its Lease current again": time does not stop for a Lease that another client
/// has taken, made old, or deleted.
#[test]
fn a_changed_or_deleted_lease_is_renewed_again() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.until("2023-07-27T20:10:00Z");
    let leases = Api::<Lease>::namespaced(&audited.admin, "garden", "gardener-system-seed-lease");
    let mut lease = audited.run(leases.get("local")).expect("the Lease exists");
    lease.spec.holder_identity = Some("me".to_owned());
    lease.spec.renew_time = Some(MicroTime(instant("2023-07-27T19:00:00Z")));
    audited.run(leases.replace(&lease)).expect("replaced");
    audited.until("2023-07-27T20:20:00Z");
    assert_eq!((gardenlet_ready(&mut audited).0, renewed(&mut audited)), ready_at("2023-07-27T20:20:00Z"));

    audited.run(leases.delete("local", &DeleteOptions::default())).expect("deleted");
    audited.until("2023-07-27T20:30:00Z");
    assert_eq!((gardenlet_ready(&mut audited).0, renewed(&mut audited)), ready_at("2023-07-27T20:30:00Z"));
    let lease = audited.run(leases.get("local")).expect("the Lease exists");
    assert_eq!(lease.spec.holder_identity.as_deref(), Some("local"));
    audited.landscape.replay_equals_live().expect("what is computed is left out");
}

fn ready_at(time: &str) -> (String, String) {
    ("True".to_owned(), time.to_owned())
}
