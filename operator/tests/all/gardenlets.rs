// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/operator/controller/gardenlet @ v1.120.0: first deployment of a gardenlet, and updates to the
//! operator's version.

use api::constants::{annotation, label, operation};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::seedmanagement::Gardenlet;
use api::terrarium::Cluster;
use serde_json::json;
use testkit::{World, object};

use super::{garden, roll_out, start, world};

fn gardenlet(reference: &str) -> Gardenlet {
    object(json!({
        "metadata": {"name": "b", "namespace": "garden", "generation": 1},
        "spec": {
            "deployment": {"helm": {"ociRepository": {"ref": reference}}},
            "config": {"apiVersion": "gardenlet.config.gardener.cloud/v1alpha1", "kind": "GardenletConfiguration"},
        },
    }))
}

fn seed() -> Seed {
    object(json!({
        "metadata": {"name": "b"},
        "spec": {"provider": {"type": "local", "region": "local"}},
    }))
}

/// Returns status, reason and message of condition `SeedRegistered`.
fn registered(world: &World) -> Option<(String, String, String)> {
    let gardenlet: Gardenlet = world.get("garden", "b").expect("it is there");
    let found = gardenlet.status.conditions.into_iter().find(|condition| condition.r#type == "SeedRegistered");
    found.map(|condition| (condition.status, condition.reason, condition.message))
}

fn texts(of: [&str; 3]) -> (String, String, String) {
    let [status, reason, message] = of.map(str::to_owned);
    (status, reason, message)
}

fn image(world: &World) -> Option<String> {
    let deployment: Deployment = world.get_in("seed--b", "garden", "gardenlet")?;
    Some(deployment.spec.template.spec.containers[0].image.clone())
}

#[test]
fn gardenlets_without_a_seed_are_deployed_after_the_garden() {
    let mut world = world().with_in("runtime", garden()).with(gardenlet("charts/gardenlet:v1.119.2"));
    start(&mut world);
    assert_eq!((image(&world), registered(&world)), (None, None), "nothing is deployed before");
    roll_out(&mut world);
    assert!(world.get_in::<Cluster>("runtime", "", "seed--b").is_some());
    assert!(image(&world).is_some_and(|image| image.ends_with(":v1.119.2")), "{:?}", image(&world));
    assert_eq!(registered(&world), Some(texts(["Progressing", "ReconcileError", "Waiting for seed registration"])));

    world.put(&seed());
    world.pass();
    assert_eq!(registered(&world), Some(texts(["True", "Reconciled", "Gardenlet deployed and Seed \"b\" registered"])));
}

#[test]
fn a_registered_gardenlet_is_redeployed_only_on_request() {
    let mut world = world().with_in("runtime", garden()).with(seed()).with(gardenlet("charts/gardenlet:v1.119.2"));
    start(&mut world);
    roll_out(&mut world);
    assert_eq!((image(&world), registered(&world)), (None, None), "it deploys itself");

    world.change::<Gardenlet>("garden", "b", |gardenlet| {
        let asked = operation::FORCE_REDEPLOY.to_owned();
        gardenlet.metadata.annotations.insert(annotation::OPERATION.to_owned(), asked);
    });
    world.pass();
    assert!(image(&world).is_some());
    let gardenlet: Gardenlet = world.get("garden", "b").expect("it is there");
    assert_eq!(gardenlet.metadata.annotation(annotation::OPERATION), None, "what was asked for is done");
    assert_eq!(registered(&world).map(|(status, ..)| status).as_deref(), Some("True"));
}

#[test]
fn a_chart_without_a_version_is_an_error() {
    let mut world = world().with_in("runtime", garden()).with(gardenlet("charts/gardenlet"));
    start(&mut world);
    roll_out(&mut world);
    let (status, reason, message) = registered(&world).expect("a condition");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ReconcileError"));
    assert!(message.starts_with("cannot tell the version of the chart \"charts/gardenlet\""), "{message}");
    assert_eq!(image(&world), None);
}

#[test]
fn following_gardenlets_get_the_operators_version_last() {
    let mut follows = gardenlet("charts/gardenlet:v1.119.2");
    follows.metadata.labels.insert(label::AUTO_UPDATE_GARDENLET.to_owned(), "true".to_owned());
    let mut stays = gardenlet("charts/gardenlet:v1.119.2");
    "c".clone_into(&mut stays.metadata.name);
    let mut world = world().with_in("runtime", garden()).with(seed()).with(follows).with(stays);
    start(&mut world);
    let reference = |world: &World, name: &str| {
        let gardenlet: Gardenlet = world.get("garden", name).expect("it is there");
        gardenlet.spec.deployment.helm.oci_repository.r#ref.unwrap_or_default()
    };
    assert!(reference(&world, "b").ends_with(":v1.119.2"), "not before the Garden");
    roll_out(&mut world);
    assert!(reference(&world, "b").ends_with(":v1.120.0"), "{}", reference(&world, "b"));
    assert!(reference(&world, "c").ends_with(":v1.119.2"));
}
