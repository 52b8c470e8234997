// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/controllerregistration/seed @ v1.120.0.

use api::core::{ControllerInstallation, ControllerRegistration, Seed, Shoot};
use api::core_v1::ControllerDeployment;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{only, world};

fn seed(name: &str) -> Seed {
    object(json!({
        "metadata": {"name": name, "uid": "11111111-2222-4333-8444-555555555555", "labels": {"zone": name}},
        "spec": {"provider": {"type": "of-seeds", "region": "local"}},
    }))
}

fn registration(name: &str, resources: &Value, deployment: &Value) -> ControllerRegistration {
    object(json!({"metadata": {"name": name}, "spec": {"resources": resources, "deployment": deployment}}))
}

fn infrastructure(name: &str, type_: &str) -> ControllerRegistration {
    registration(name, &json!([{"kind": "Infrastructure", "type": type_}]), &Value::Null)
}

/// Returns a Shoot of provider `local` on a seed.
fn shoot(seed: &str) -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev", "generation": 1},
        "spec": {"seedName": seed, "region": "local", "provider": {"type": "local",
            "workers": [{"name": "a", "minimum": 1, "maximum": 1, "machine": {"type": "m"}}]}},
    }))
}

fn at_noon() -> World {
    world("2025-06-02T12:00:00Z")
}

/// Returns the installed registrations, with their seeds.
fn installed(world: &World) -> Vec<(String, String)> {
    let all: Vec<ControllerInstallation> = world.list_in("garden");
    let name =
        |one: ControllerInstallation| (one.spec.registration_ref.name, one.spec.seed_ref.unwrap_or_default().name);
    all.into_iter().map(name).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

#[test]
fn required_extensions_are_installed_only_on_the_shoots_seed() {
    let mut world = at_noon()
        .with(seed("a"))
        .with(seed("b"))
        .with(infrastructure("infra-local", "local"))
        .with(infrastructure("infra-other", "other"))
        .with(shoot("a"));
    world.start(only("controllerregistration-seed"));
    assert_eq!(installed(&world), pairs(&[("infra-local", "a")]));
}

#[test]
fn unneeded_installations_are_deleted() {
    let mut world = at_noon().with(seed("a")).with(infrastructure("infra-local", "local")).with(shoot("a"));
    world.start(only("controllerregistration-seed"));
    world.remove::<Shoot>("garden-dev", "s");
    world.pass();
    assert_eq!(installed(&world), []);
}

#[test]
fn an_installation_that_is_required_stays() {
    let mut world = at_noon().with(seed("a")).with(infrastructure("infra-local", "local")).with(shoot("a"));
    world.start(only("controllerregistration-seed"));
    let name = world.list_in::<ControllerInstallation>("garden")[0].metadata.name.clone();
    world.change::<ControllerInstallation>("", &name, |installation| {
        *installation = object(json!({
            "metadata": {"name": name, "uid": installation.metadata.uid},
            "spec": {"registrationRef": {"name": "infra-local"}, "seedRef": {"name": "a"}},
            "status": {"conditions": [{"type": "Required", "status": "True"}]},
        }));
    });
    world.remove::<Shoot>("garden-dev", "s");
    world.pass();
    assert_eq!(installed(&world), pairs(&[("infra-local", "a")]));
}

#[test]
fn a_registrations_policy_determines_where_it_is_installed() {
    let deployment = |policy: &str| json!({"policy": policy, "deploymentRefs": []});
    let other =
        |policy: &str| registration(policy, &json!([{"kind": "Extension", "type": policy}]), &deployment(policy));
    let mut world =
        at_noon().with(seed("a")).with(other("OnDemand")).with(other("Always")).with(other("AlwaysExceptNoShoots"));
    world.start(only("controllerregistration-seed"));
    assert_eq!(installed(&world), pairs(&[("Always", "a")]));
    world.put(&shoot("a"));
    world.pass();
    let mut now = installed(&world);
    now.sort();
    assert_eq!(now, pairs(&[("Always", "a"), ("AlwaysExceptNoShoots", "a")]));
}

#[test]
fn the_seed_selector_of_a_registration_counts() {
    let deployment = json!({"policy": "Always", "seedSelector": {"matchLabels": {"zone": "b"}}});
    let mut world = at_noon().with(seed("a")).with(seed("b")).with(registration("r", &json!([]), &deployment));
    world.start(only("controllerregistration-seed"));
    assert_eq!(installed(&world), pairs(&[("r", "b")]));
}

#[test]
fn an_installation_waits_for_the_deployment_that_its_registration_names() {
    let deployment = json!({"policy": "Always", "deploymentRefs": [{"name": "d"}]});
    let mut world = at_noon().with(seed("a")).with(registration("r", &json!([]), &deployment));
    world.start(only("controllerregistration-seed"));
    assert_eq!(installed(&world), []);
    let deployment: ControllerDeployment =
        object(json!({"metadata": {"name": "d"}, "helm": {"ociRepository": {"ref": "example.org/chart:v1"}}}));
    world.put(&deployment);
    world.pass();
    assert_eq!(installed(&world), pairs(&[("r", "a")]));
    let installation = &world.list_in::<ControllerInstallation>("garden")[0];
    assert_eq!(installation.spec.deployment_ref.as_ref().map(|named| &*named.name), Some("d"));
}

#[test]
fn a_pass_without_differences_writes_nothing() {
    let mut world = at_noon().with(seed("a")).with(infrastructure("infra-local", "local")).with(shoot("a"));
    world.start(only("controllerregistration-seed"));
    world.kill();
    assert_eq!(world.start(only("controllerregistration-seed")).writes, [""; 0]);
}
