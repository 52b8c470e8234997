// SPDX-License-Identifier: Apache-2.0
//! Cases of
//! pkg/controllermanager/controller/{quota,exposureclass,controllerdeployment,controllerregistration/…finalizer} @
//! v1.120.0: an object remains while others refer to it.

use api::core::{ControllerInstallation, ControllerRegistration, ExposureClass, Quota, SecretBinding, Seed, Shoot};
use api::core_v1::ControllerDeployment;
use apimachinery::Resource;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{only, world};

fn at_noon() -> World {
    world("2025-06-02T12:00:00Z")
}

/// Returns an object with a finalizer that is being deleted.
fn leaving<K: Resource>(namespace: &str, name: &str, finalizer: &str) -> K {
    object(json!({"metadata": {"name": name, "namespace": namespace, "finalizers": [finalizer],
        "deletionTimestamp": "2025-06-02T11:00:00Z"}}))
}

fn plain<K: Resource>(namespace: &str, name: &str, spec: &Value) -> K {
    object(json!({"metadata": {"name": name, "namespace": namespace}, "spec": spec}))
}

/// Checks that an object gets the finalizer, remains after a deletion while `reference` exists, with the expected
/// Event, and is removed after `reference`.
#[track_caller]
fn check<K: Resource, R: Resource>(
    controller: &'static str,
    namespace: &str,
    finalizer: &str,
    reference: &R,
    event: Option<&str>,
) {
    let mut world = at_noon().with(plain::<K>(namespace, "o", &json!({})));
    world.start(only(controller));
    let living: K = world.get(namespace, "o").expect("it stays");
    assert_eq!(living.metadata().finalizers, [finalizer], "{controller}");

    let mut world = at_noon().with(leaving::<K>(namespace, "o", finalizer)).with(reference.clone());
    let pass = world.start(only(controller));
    assert_eq!(pass.events, event.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), "{controller}");
    assert!(world.get::<K>(namespace, "o").is_some(), "{controller}: it stays while it is referred to");
    let metadata = reference.metadata();
    world.remove::<R>(&metadata.namespace, &metadata.name);
    world.pass();
    assert!(world.get::<K>(namespace, "o").is_none(), "{controller}: it goes with the last reference");

    let mut world = at_noon().with(leaving::<K>(namespace, "o", "of-somebody-else")).with(reference.clone());
    assert_eq!(world.start(only(controller)), testkit::Pass::default(), "{controller}: not ours to decide");
}

#[test]
fn a_quota_stays_while_bindings_refer_to_it() {
    let binding: SecretBinding = object(json!({
        "metadata": {"name": "b", "namespace": "garden-dev"},
        "quotas": [{"name": "o", "namespace": "garden-dev"}],
    }));
    let event = "Normal ResourceReferenced Cannot delete Quota, because the following resources are still referencing it: SecretBindings - [garden-dev/b], CredentialsBindings - []";
    check::<Quota, _>("quota", "garden-dev", "gardener", &binding, Some(event));
}

#[test]
fn an_exposure_class_stays_while_shoots_use_it() {
    let shoot: Shoot = plain("garden-dev", "s", &json!({"exposureClassName": "o"}));
    let event = "Normal ResourceReferenced Cannot delete ExposureClass, because it is still associated by the following Shoots: [garden-dev/s]";
    check::<ExposureClass, _>("exposureclass", "", "gardener", &shoot, Some(event));
}

#[test]
fn a_registration_stays_while_it_is_installed() {
    let installation: ControllerInstallation = plain("", "i", &json!({"registrationRef": {"name": "o"}}));
    let (name, finalizer) =
        ("controllerregistration-controllerregistration-finalizer", "core.gardener.cloud/controllerregistration");
    check::<ControllerRegistration, _>(name, "", finalizer, &installation, None);
}

#[test]
fn a_seed_stays_while_extensions_are_installed_there() {
    let installation: ControllerInstallation = plain("", "i", &json!({"seedRef": {"name": "o"}}));
    let finalizer = "core.gardener.cloud/controllerregistration";
    check::<Seed, _>("controllerregistration-seed-finalizer", "", finalizer, &installation, None);
}

#[test]
fn a_deployment_stays_while_a_registration_names_it() {
    let registration: ControllerRegistration =
        plain("", "r", &json!({"deployment": {"deploymentRefs": [{"name": "o"}]}}));
    let finalizer = "core.gardener.cloud/controllerdeployment";
    check::<ControllerDeployment, _>("controllerdeployment", "", finalizer, &registration, None);
}
