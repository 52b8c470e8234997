// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/controllerinstallation @ v1.120.0: extensions of the seed are installed and healthy.

use api::core::ControllerInstallation;
use serde_json::json;
use testkit::{World, object};

use super::{start_gardenlet, world};

const STARTED: &str = "2025-06-02T12:00:10Z";
const FINALIZER: &str = "core.gardener.cloud/controllerinstallation";

/// Returns an installation of extension `x` on a seed.
fn installation(seed: &str) -> ControllerInstallation {
    object(json!({
        "metadata": {"name": "x-1", "uid": "1"},
        "spec": {"registrationRef": {"name": "x"}, "seedRef": {"name": seed}},
    }))
}

fn stored(world: &World) -> Option<ControllerInstallation> {
    world.get("", "x-1")
}

#[test]
fn an_extension_of_the_seed_is_valid_installed_and_healthy() {
    let mut world = world().with(installation("local"));
    start_gardenlet(&mut world);
    world.advance_to(STARTED);
    let stored = stored(&world).expect("it is there");
    assert_eq!(stored.metadata.finalizers, [FINALIZER]);
    let conditions: Vec<String> = stored
        .status
        .conditions
        .iter()
        .map(|condition| format!("{} {} {}", condition.r#type, condition.status, condition.reason))
        .collect();
    assert_eq!(
        conditions,
        [
            "Valid True RegistrationValid",
            "Installed True InstallationSuccessful",
            "Healthy True ControllerHealthy",
            "Progressing False ControllerRolledOut",
        ]
    );
    let pass = world.advance_to("2025-06-02T12:30:00Z");
    assert_eq!(pass.writes_of("controllerinstallations"), [""; 0], "what is said already is not written again");
}

#[test]
fn an_extension_of_another_seed_is_its_gardenlets_concern() {
    let mut world = world().with(installation("other"));
    start_gardenlet(&mut world);
    let pass = world.advance_to(STARTED);
    assert_eq!(pass.writes_of("controllerinstallations"), [""; 0]);
    assert_eq!(stored(&world).expect("it is there").metadata.finalizers, [""; 0]);
}

#[test]
fn a_deleted_installation_is_released_by_gardenlet() {
    let mut world = world().with(installation("local"));
    start_gardenlet(&mut world);
    world.advance_to(STARTED);
    world.delete_in::<ControllerInstallation>("garden", "", "x-1");
    assert!(stored(&world).expect("it has a finalizer").metadata.is_being_deleted());
    world.advance_to("2025-06-02T12:00:20Z");
    assert_eq!(stored(&world), None);
}
