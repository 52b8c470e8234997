// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/gardenlet/controller/gardenlet @ v1.120.0: gardenlet replaces its own Deployment.

use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::seedmanagement::Gardenlet;
use apimachinery::Status;
use serde_json::json;
use testkit::{Pass, World, object};

use super::{SEED, start_gardenlet_with_pods, world};

const SOON: &str = "2025-06-02T12:00:10Z";

fn wanted(name: &str, chart: &str) -> Gardenlet {
    object(json!({
        "metadata": {"name": name, "namespace": "garden", "generation": 1, "uid": "1"},
        "spec": {
            "deployment": {"helm": {"ociRepository": {"ref": chart}}},
            "config": {"apiVersion": "gardenlet.config.gardener.cloud/v1alpha1", "kind": "GardenletConfiguration"},
        },
    }))
}

fn image(world: &World) -> Option<String> {
    let deployment: Deployment = world.get_in(SEED, "garden", "gardenlet")?;
    Some(deployment.spec.template.spec.containers[0].image.clone())
}

fn of_gardenlet(pass: &Pass) -> Vec<&str> {
    let lines = pass.events.iter().map(String::as_str);
    lines.filter(|line| line.contains("gardenlet") || line.contains("Gardenlet") || line.contains("chart")).collect()
}

#[test]
fn gardenlet_deploys_the_version_that_its_object_names() {
    let mut world = world().with(wanted("local", "charts/gardenlet:v1.121.0"));
    start_gardenlet_with_pods(&mut world);
    let pass = world.advance_to(SOON);
    assert!(image(&world).is_some_and(|image| image.ends_with(":v1.121.0")), "{:?}", image(&world));
    let object: Gardenlet = world.get("garden", "local").expect("it is there");
    assert_eq!(object.status.observed_generation, 1);
    let events = of_gardenlet(&pass);
    assert!(events.contains(&"Normal Reconciling Deploying gardenlet"), "{events:?}");
    assert!(events.contains(&"Normal Reconciled Gardenlet has been deployed"), "{events:?}");

    world.change::<Gardenlet>("garden", "local", |object| {
        object.metadata.generation = 2;
        object.spec.deployment.helm.oci_repository.r#ref = Some("charts/gardenlet:v1.121.1".to_owned());
    });
    world.advance_to("2025-06-02T12:00:20Z");
    assert!(image(&world).is_some_and(|image| image.ends_with(":v1.121.1")), "{:?}", image(&world));
}

#[test]
fn a_chart_without_a_version_is_reported() {
    let mut world = world().with(wanted("local", "charts/gardenlet"));
    start_gardenlet_with_pods(&mut world);
    let pass = world.advance_to(SOON);
    let events = of_gardenlet(&pass);
    let error = "Warning ReconcileError cannot tell the version of the chart \"charts/gardenlet\"";
    assert!(events.iter().any(|line| line.starts_with(error)), "{events:?}");
    assert_eq!(image(&world), None);
}

fn condition(world: &World) -> Option<(String, String)> {
    let object: Gardenlet = world.get("garden", "local").expect("it is there");
    let found = object.status.conditions.into_iter().find(|condition| condition.r#type == "GardenletReconciled");
    found.map(|condition| (condition.status, condition.message))
}

#[test]
fn a_deployment_that_failed_is_tried_until_it_succeeds() {
    let mut world = world().with(wanted("local", "charts/gardenlet:v1.121.0"));
    for _ in 0..20 {
        world.refuse(&format!("{SEED}: create deployments"), Status::failure(503, "ServiceUnavailable", "no seed"));
    }
    start_gardenlet_with_pods(&mut world);
    let pass = world.advance_to(SOON);
    assert_eq!(image(&world), None);
    assert_eq!(condition(&world), Some(("False".to_owned(), "no seed".to_owned())));
    let told = |pass: &Pass, text: &str| of_gardenlet(pass).iter().filter(|line| line.starts_with(text)).count();
    assert!(told(&pass, "Warning ReconcileError") <= 1, "{:?}", pass.events);
    // 5 ms, doubled up to 1000 s: the twenty-first attempt is made within three hours.
    let pass = world.advance_to("2025-06-02T15:00:00Z");
    assert!(image(&world).is_some_and(|image| image.ends_with(":v1.121.0")), "{:?}", image(&world));
    assert_eq!(condition(&world).map(|(status, _)| status).as_deref(), Some("True"));
    assert_eq!((told(&pass, "Normal Reconciled"), told(&pass, "Warning ReconcileError")), (1, 0), "{:?}", pass.events);
}

#[test]
fn user_changes_of_the_deployment_are_reverted_hourly() {
    let mut world = world().with(wanted("local", "charts/gardenlet:v1.121.0"));
    start_gardenlet_with_pods(&mut world);
    let pass = world.advance_to(SOON);
    assert_eq!(pass.next, None, "without a change there is no look");
    world.change_in::<Deployment>(SEED, "garden", "gardenlet", |deployment| {
        deployment.spec.template.spec.containers[0].image = "gardener/gardenlet:v1.119.0".to_owned();
    });
    world.advance_to("2025-06-02T12:59:00Z");
    assert!(image(&world).is_some_and(|image| image.ends_with(":v1.119.0")), "{:?}", image(&world));
    let pass = world.advance_to("2025-06-02T13:00:10Z");
    assert!(image(&world).is_some_and(|image| image.ends_with(":v1.121.0")), "{:?}", image(&world));
    assert_eq!(pass.next, None);
}

#[test]
fn the_object_of_another_seed_is_its_gardenlets_concern() {
    let mut world = world().with(wanted("other", "charts/gardenlet:v1.121.0"));
    start_gardenlet_with_pods(&mut world);
    let pass = world.advance_to(SOON);
    assert_eq!(pass.writes_of("gardenlets"), [""; 0]);
    assert_eq!(image(&world), None);
}

fn registered(seed: &str, version: &str) -> Lease {
    object(json!({
        "metadata": {
            "name": format!("gardenlet-{seed}"),
            "namespace": "gardener-system-instances",
            "labels": {"terrarium.dev/component": "gardenlet", "terrarium.dev/seed": seed},
            "annotations": {"terrarium.dev/version": version},
        },
        "spec": {},
    }))
}

/// Rule E1: no library is newer than any gardenlet of the landscape.
#[test]
fn provider_local_follows_the_oldest_gardenlet_of_the_landscape() {
    let name = "gardener-extension-provider-local";
    let provider: Deployment = object(json!({
        "metadata": {"name": name, "namespace": "garden"},
        "spec": {"template": {"spec": {"containers": [{"name": name, "image": "provider-local:v1.118.0"}]}}},
    }));
    let mut world = world()
        .with(wanted("local", "charts/gardenlet:v1.120.0"))
        .with(registered("local", "v1.120.0"))
        .with(registered("other", "v1.119.2"))
        .with_in(SEED, provider);
    start_gardenlet_with_pods(&mut world);
    let image = |world: &World| {
        let deployment: Deployment = world.get_in(SEED, "garden", name).expect("it is there");
        deployment.spec.template.spec.containers[0].image.clone()
    };
    world.advance_to(SOON);
    assert_eq!(image(&world), "provider-local:v1.119.2");
    world.change::<Lease>("gardener-system-instances", "gardenlet-other", |lease| {
        lease.metadata.annotations.insert("terrarium.dev/version".to_owned(), "v1.120.0".to_owned());
    });
    world.advance_to("2025-06-02T12:00:20Z");
    assert_eq!(image(&world), "provider-local:v1.120.0");
}
