// SPDX-License-Identifier: Apache-2.0
//! Cases of k8s.io/kubernetes pkg/controller/{serviceaccount,certificates/rootcacertpublisher}.

use api::kubernetes::core::{ConfigMap, Namespace, Service, ServiceAccount};
use kube_controllers::{Options, namespace_objects};
use serde_json::json;
use testkit::{World, object};

use super::{CLUSTER, start, world};

fn started(namespace: &str) -> World {
    let namespace: Namespace = object(json!({"metadata": {"name": namespace}}));
    let mut world = world().with_in(CLUSTER, namespace);
    let root_ca = "-----BEGIN CERTIFICATE-----".to_owned();
    let options = Options { namespace_objects: Some(namespace_objects::Options { root_ca }), ..Options::default() };
    start(&mut world, options);
    world
}

#[test]
fn every_namespace_has_an_account_and_the_authority() {
    let world = started("n");
    assert!(world.get_in::<ServiceAccount>(CLUSTER, "n", "default").is_some());
    let map: ConfigMap = world.get_in(CLUSTER, "n", "kube-root-ca.crt").expect("it is made");
    assert_eq!(map.data["ca.crt"], "-----BEGIN CERTIFICATE-----");
    assert!(world.list_in::<Service>(CLUSTER).is_empty());
}

#[test]
fn namespace_default_has_the_service_of_the_api_server() {
    assert!(started("default").get_in::<Service>(CLUSTER, "default", "kubernetes").is_some());
}

#[test]
fn deleted_and_changed_objects_are_restored() {
    let mut world = started("n");
    world.remove_in::<ServiceAccount>(CLUSTER, "n", "default");
    world.change_in::<ConfigMap>(CLUSTER, "n", "kube-root-ca.crt", |map| {
        map.data.insert("ca.crt".to_owned(), "mine".to_owned());
    });
    world.pass();
    assert!(world.get_in::<ServiceAccount>(CLUSTER, "n", "default").is_some());
    let map: ConfigMap = world.get_in(CLUSTER, "n", "kube-root-ca.crt").expect("it is there");
    assert_eq!(map.data["ca.crt"], "-----BEGIN CERTIFICATE-----");
}

#[test]
fn a_terminating_namespace_gets_no_new_objects() {
    let mut world = started("n");
    world.change_in::<Namespace>(CLUSTER, "", "n", |namespace| {
        namespace.metadata.deletion_timestamp = Some(testkit::instant("2025-06-02T12:00:00Z").into());
        namespace.metadata.finalizers.push("example.org/mine".to_owned());
    });
    world.pass();
    world.remove_in::<ServiceAccount>(CLUSTER, "n", "default");
    world.pass();
    assert!(world.get_in::<ServiceAccount>(CLUSTER, "n", "default").is_none());
}
