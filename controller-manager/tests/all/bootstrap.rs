// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/bootstrappers @ v1.120.0.

use api::kubernetes::core::Secret;
use controller_manager::Options;
use serde_json::json;
use testkit::object;

use super::{ALL, only, world};

const MADE: &str = "observability-ingress-0da36eb1";

#[test]
fn every_seed_gets_the_gardens_credentials_of_observability() {
    let seed: api::core::Seed =
        object(json!({"metadata": {"name": "a", "uid": "11111111-2222-4333-8444-555555555555"}}));
    let mut world = world("2025-06-02T12:00:00Z").with(seed);
    let disabled = ALL.into_iter().filter(|name| !["bootstrap", "seed-secrets"].contains(name)).collect();
    world.start(|context| controller_manager::run(context, Options { disabled, ..Options::default() }));
    let made: Secret = world.get("garden", MADE).expect("made");
    assert_eq!(made.metadata.label("gardener.cloud/role"), Some("global-monitoring"));
    assert_eq!(made.metadata.label("issued-at-time"), Some("1748865600"));
    assert_eq!((made.data["username"].0.as_slice(), made.data["password"].0.len()), (&b"admin"[..], 32));
    let copy: Secret = world.get("seed-a", MADE).expect("copied");
    assert_eq!(copy.data, made.data);
}

#[test]
fn credentials_stay_over_a_restart() {
    let mut world = world("2025-06-02T12:00:00Z");
    world.start(only("bootstrap"));
    let made: Secret = world.get("garden", MADE).expect("made");
    world.kill();
    assert_eq!(world.start(only("bootstrap")).writes, [""; 0]);
    assert_eq!(world.get::<Secret>("garden", MADE), Some(made));
}

#[test]
fn credentials_of_an_operator_are_left_alone() {
    let labels = json!({"gardener.cloud/role": "global-monitoring"});
    let own: Secret = object(json!({"metadata": {"name": "own", "namespace": "garden", "labels": labels}}));
    let mut world = world("2025-06-02T12:00:00Z").with(own);
    assert_eq!(world.start(only("bootstrap")).writes, [""; 0]);
}
