// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/operator/controller/extension @ v1.120.0.

use api::core::ControllerRegistration;
use api::core_v1::ControllerDeployment;
use api::operator::Extension;
use apimachinery::Status;
use serde_json::json;
use testkit::{World, object};

use super::{garden, roll_out, start, world};

fn extension() -> Extension {
    object(json!({
        "metadata": {"name": "provider-x", "generation": 1},
        "spec": {
            "resources": [{"kind": "Infrastructure", "type": "x"}],
            "deployment": {"extension": {"helm": {"ociRepository": {"ref": "example.org/charts/x:v1"}}}},
        },
    }))
}

fn condition(world: &World, type_: &str) -> Option<(String, String)> {
    let extension: Extension = world.get_in("runtime", "", "provider-x").expect("there");
    let found = extension.status.conditions.into_iter().find(|condition| condition.r#type == type_);
    found.map(|condition| (condition.status, condition.reason))
}

#[test]
fn an_extension_waits_for_the_garden_and_is_registered_then() {
    let mut world = world().with_in("runtime", garden()).with_in("runtime", extension());
    start(&mut world);
    assert_eq!(world.get::<ControllerRegistration>("", "provider-x"), None);
    roll_out(&mut world);
    let registration: ControllerRegistration = world.get("", "provider-x").expect("it is registered");
    assert_eq!(registration.spec.resources[0].r#type, "x");
    assert!(world.get::<ControllerDeployment>("", "provider-x").is_some());
    assert_eq!(condition(&world, "Installed").map(|(status, _)| status).as_deref(), Some("True"));
    assert_eq!(condition(&world, "RequiredVirtual").map(|(status, _)| status).as_deref(), Some("False"));
    let extension: Extension = world.get_in("runtime", "", "provider-x").expect("there");
    assert_eq!(
        (extension.metadata.finalizers, extension.status.observed_generation),
        (vec!["gardener.cloud/operator".to_owned()], 1)
    );
}

#[test]
fn a_deleted_extension_removes_its_registration() {
    let mut world = world().with_in("runtime", garden()).with_in("runtime", extension());
    start(&mut world);
    roll_out(&mut world);
    world.change_in::<Extension>("runtime", "", "provider-x", |extension| {
        extension.metadata.deletion_timestamp = Some(testkit::instant("2025-06-02T12:10:00Z").into());
    });
    world.pass();
    assert_eq!(world.get::<ControllerRegistration>("", "provider-x"), None);
    assert_eq!(world.get::<ControllerDeployment>("", "provider-x"), None);
    assert_eq!(world.get_in::<Extension>("runtime", "", "provider-x"), None);
}

#[test]
fn a_registration_follows_its_extension() {
    let mut world = world().with_in("runtime", garden()).with_in("runtime", extension());
    start(&mut world);
    roll_out(&mut world);
    world.change_in::<Extension>("runtime", "", "provider-x", |extension| {
        "y".clone_into(&mut extension.spec.resources[0].r#type);
        extension.metadata.generation = 2;
    });
    world.pass();
    let registration: ControllerRegistration = world.get("", "provider-x").expect("it is registered");
    assert_eq!(registration.spec.resources[0].r#type, "y");
}

#[test]
fn a_registration_that_failed_is_tried_again() {
    let mut world = world().with_in("runtime", garden()).with_in("runtime", extension());
    for _ in 0..20 {
        world.refuse("create controllerdeployments", Status::failure(503, "ServiceUnavailable", "no answer"));
    }
    start(&mut world);
    roll_out(&mut world);
    assert_eq!(condition(&world, "Installed").map(|(status, _)| status).as_deref(), Some("False"));
    world.advance_to("2025-06-02T18:00:00Z");
    assert!(world.get::<ControllerRegistration>("", "provider-x").is_some());
    assert_eq!(condition(&world, "Installed").map(|(status, _)| status).as_deref(), Some("True"));
}

/// The kind and type belong to an extension that the landscape has from its start.
#[test]
fn a_collision_with_a_built_in_extension_is_a_condition() {
    let text = "controllerregistrations.core.gardener.cloud \"provider-x\" is forbidden: another ControllerRegistration \
                resource already exists that controls resource Infrastructure/x primarily; the landscape has built-in-x from \
                its start: name yours built-in-x to take its place, or delete that one first (kubectl delete \
                controllerregistration built-in-x)";
    let mut world = world().with_in("runtime", garden()).with_in("runtime", extension());
    for _ in 0..20 {
        world.refuse("create controllerregistrations", Status::failure(403, "Forbidden", text));
    }
    start(&mut world);
    roll_out(&mut world);
    let installed = |world: &World| {
        let extension: Extension = world.get_in("runtime", "", "provider-x").expect("there");
        let found = extension.status.conditions.into_iter().find(|condition| condition.r#type == "Installed");
        found.map(|found| (found.status, found.reason, found.message)).expect("it is judged")
    };
    let owned = |status: &str, reason: &str, message: &str| (status.to_owned(), reason.to_owned(), message.to_owned());
    assert_eq!(installed(&world), owned("False", "ReconcileFailed", text));
    // The built-in one has been deleted.
    world.advance_to("2025-06-02T18:00:00Z");
    let done = owned("True", "ReconcileSuccessful", "Extension has been reconciled successfully");
    assert_eq!(installed(&world), done);
}
