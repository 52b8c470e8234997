// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/operator/controller/garden @ v1.120.0.

use api::kubernetes::apps::Deployment;
use api::kubernetes::core::ConfigMap;
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use serde_json::json;
use testkit::object;

use super::{deployments, garden, roll_out, start, stored, world};

#[test]
fn a_new_garden_gets_the_finalizer_and_a_running_operation() {
    let mut world = world().with_in("runtime", garden());
    start(&mut world);
    let garden = stored(&world);
    assert_eq!(garden.metadata.finalizers, ["gardener.cloud/operator"]);
    let operation = garden.status.last_operation.expect("it is said");
    assert_eq!((&*operation.r#type, &*operation.state), ("Reconcile", "Processing"));
    assert_eq!(garden.status.observed_generation, 1);
    assert_eq!(garden.status.gardener.expect("the operator has written it").version, "v1.120.0");
}

#[test]
fn the_apiserver_is_deployed_first() {
    let mut world = world().with_in("runtime", garden());
    start(&mut world);
    assert_eq!(deployments(&world), ["gardener-apiserver"]);
    roll_out(&mut world);
    assert_eq!(
        deployments(&world),
        ["gardener-admission-controller", "gardener-apiserver", "gardener-controller-manager", "gardener-scheduler"]
    );
    let operation = stored(&world).status.last_operation.expect("it is said");
    assert_eq!((&*operation.state, operation.progress), ("Succeeded", 100));
    let info: ConfigMap = world.get("gardener-system-public", "gardener-info").expect("it is public");
    assert!(info.data["gardenerAPIServer"].starts_with("version: v1.120.0\n"), "{:?}", info.data);
}

#[test]
fn a_garden_that_is_done_is_not_written_again() {
    let mut world = world().with_in("runtime", garden());
    start(&mut world);
    roll_out(&mut world);
    assert_eq!(world.pass().writes, [""; 0]);
    assert_eq!(world.advance_to("2025-06-02T12:30:00Z").writes, [""; 0]);
}

#[test]
fn a_killed_operator_continues_where_it_stopped() {
    let mut world = world().with_in("runtime", garden());
    start(&mut world);
    world.kill();
    let pass = start(&mut world);
    assert!(!pass.writes.iter().any(|write| write.contains("create deployments")), "{:?}", pass.writes);
    roll_out(&mut world);
    assert_eq!(stored(&world).status.last_operation.expect("it is said").state, "Succeeded");
}

#[test]
fn changes_and_requests_begin_an_operation() {
    let mut world = world().with_in("runtime", garden());
    start(&mut world);
    roll_out(&mut world);
    world.change_in::<Garden>("runtime", "", "garden", |garden| {
        garden.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "reconcile".to_owned());
    });
    let pass = world.pass();
    assert!(pass.writes_of("gardens").iter().any(|write| write.contains("Processing")), "{:?}", pass.writes);
    assert_eq!(stored(&world).metadata.annotation("gardener.cloud/operation"), None);
}

#[test]
fn a_changed_deployment_is_repaired_after_the_sync_period() {
    let mut world = world().with_in("runtime", garden());
    start(&mut world);
    roll_out(&mut world);
    world.change_in::<Deployment>("runtime", "garden", "gardener-scheduler", |deployment| {
        deployment.spec.template.spec.containers[0].image = "example.org/other:v1".to_owned();
    });
    assert_eq!(world.pass().writes_of("deployments"), [""; 0], "not at once");
    world.advance_to("2025-06-02T13:30:00Z");
    let mended: Deployment = world.get_in("runtime", "garden", "gardener-scheduler").expect("it is there");
    assert_ne!(mended.spec.template.spec.containers[0].image, "example.org/other:v1");
}

#[test]
fn with_two_gardens_nothing_is_done() {
    let mut other = garden();
    "other".clone_into(&mut other.metadata.name);
    let mut world = world().with_in("runtime", garden()).with_in("runtime", other);
    let pass = start(&mut world);
    assert_eq!(pass.writes_of("gardens"), [""; 0]);
    assert_eq!(deployments(&world), [""; 0]);
}

#[test]
fn a_deleted_garden_removes_its_control_plane() {
    let mut world = world().with_in("runtime", garden());
    start(&mut world);
    roll_out(&mut world);
    world.change_in::<Garden>("runtime", "", "garden", |garden| {
        garden.metadata.deletion_timestamp = Some(testkit::instant("2025-06-02T12:10:00Z").into());
    });
    world.pass();
    world.pass();
    assert_eq!(deployments(&world), [""; 0]);
    assert_eq!(world.get_in::<Garden>("runtime", "", "garden"), None);
}

#[test]
fn gardenlets_that_follow_the_operator_get_its_version_last() {
    let gardenlet = |name: &str, follows: &str| -> Gardenlet {
        object(json!({
            "metadata": {"name": name, "namespace": "garden",
                "labels": {"operator.gardener.cloud/auto-update-gardenlet-helm-chart-ref": follows}},
            "spec": {"deployment": {"helm": {"ociRepository": {"ref": "example.org/charts/gardenlet:v1.119.0"}}}},
        }))
    };
    let mut world = world().with_in("runtime", garden()).with(gardenlet("a", "true")).with(gardenlet("b", "false"));
    start(&mut world);
    let version = |world: &testkit::World, name: &str| {
        let gardenlet: Gardenlet = world.get("garden", name).expect("there");
        let reference = gardenlet.spec.deployment.helm.oci_repository.r#ref.unwrap_or_default();
        reference.rsplit_once(':').map(|(_, version)| version.to_owned()).unwrap_or_default()
    };
    assert_eq!(version(&world, "a"), "v1.119.0", "the control plane is not ready");
    roll_out(&mut world);
    assert_eq!((version(&world, "a"), version(&world, "b")), ("v1.120.0".to_owned(), "v1.119.0".to_owned()));
}
