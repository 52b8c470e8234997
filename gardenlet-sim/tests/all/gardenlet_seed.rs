// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/seed/{seed,care,lease} @ v1.120.0.

use api::core::Seed;
use api::kubernetes::coordination::Lease;
use apimachinery::Status;
use apimachinery::meta::MicroTime;
use testkit::instant;

use super::{start_gardenlet, world};

/// Instant after the time in which gardenlet waits for the namespace of its Seed.
const STARTED: &str = "2025-06-02T12:00:10Z";

#[test]
fn gardenlet_registers_its_seed_with_a_lease() {
    let mut world = world();
    start_gardenlet(&mut world);
    world.advance_to(STARTED);
    let seed: Seed = world.get("", "local").expect("it is registered");
    assert_eq!(seed.metadata.label("environment"), Some("test"));
    assert_eq!(seed.metadata.label("gardener.cloud/role"), Some("seed"));
    assert_eq!(seed.metadata.finalizers, ["gardener"]);
    let lease: Lease = world.get("gardener-system-seed-lease", "local").expect("it says that it lives");
    assert_eq!(lease.spec.holder_identity.as_deref(), Some("local"));
    assert_eq!(lease.metadata.owner_references[0].uid, seed.metadata.uid);
}

#[test]
fn the_seed_reports_its_capacity_and_a_ready_gardenlet() {
    let mut world = world();
    start_gardenlet(&mut world);
    world.advance_to(STARTED);
    let status = world.get::<Seed>("", "local").expect("it is registered").status;
    assert_eq!(status.allocatable["shoots"].to_string(), "250");
    assert_eq!(status.gardener.expect("who").version, "v1.120.0");
    let operation = status.last_operation.expect("it is reconciled");
    assert_eq!((&*operation.r#type, &*operation.state, operation.progress), ("Reconcile", "Succeeded", 100));
    let ready = status.conditions.iter().find(|condition| condition.r#type == "GardenletReady");
    assert_eq!(ready.map(|condition| &*condition.status), Some("True"));
}

#[test]
fn a_registered_seed_keeps_its_labels_and_is_not_rewritten() {
    let mut world = world();
    start_gardenlet(&mut world);
    world.advance_to(STARTED);
    world.change::<Seed>("", "local", |seed| {
        seed.metadata.labels.insert("mine".to_owned(), "yes".to_owned());
    });
    let pass = world.advance_to("2025-06-02T12:01:00Z");
    assert_eq!(pass.writes_of("seeds"), [""; 0]);
    assert_eq!(world.get::<Seed>("", "local").expect("there").metadata.label("mine"), Some("yes"));
}

#[test]
fn a_registration_that_is_refused_ends_gardenlet_with_the_reason() {
    let mut world = world();
    world.refuse("create seeds", Status::failure(403, "Forbidden", "seeds are not welcome"));
    let pass = start_gardenlet(&mut world);
    assert_eq!(pass.writes, ["create seeds local refused 403"]);
    assert_eq!(
        world.exit().map(|exit| (exit.code, exit.last_line)),
        Some((1, "could not register seed \"local\": seeds are not welcome".to_owned()))
    );
}

/// GardenletReady follows a renewal: `Unknown`, since the Lease is missing or old, is taken back only with a current one.
#[test]
fn an_unknown_gardenlet_renews_its_lease_first() {
    for lost in [true, false] {
        let mut world = world();
        start_gardenlet(&mut world);
        world.advance_to(STARTED);
        if lost {
            world.remove::<Lease>("gardener-system-seed-lease", "local");
        } else {
            world.change::<Lease>("gardener-system-seed-lease", "local", |lease| {
                lease.spec.renew_time = Some(MicroTime(instant("2025-06-02T11:00:00Z")));
            });
        }
        world.change::<Seed>("", "local", |seed| {
            for condition in &mut seed.status.conditions {
                if condition.r#type == "GardenletReady" {
                    "Unknown".clone_into(&mut condition.status);
                }
            }
        });
        world.pass();
        let lease: Lease = world.get("gardener-system-seed-lease", "local").expect("it is there again");
        assert_eq!((lease.spec.renew_time, lease.spec.holder_identity.as_deref()), (None, Some("local")), "{lost}");
        let status = world.get::<Seed>("", "local").expect("it is registered").status;
        let ready = status.conditions.iter().find(|condition| condition.r#type == "GardenletReady");
        assert_eq!(ready.map(|condition| &*condition.status), Some("True"), "{lost}");
    }
}
