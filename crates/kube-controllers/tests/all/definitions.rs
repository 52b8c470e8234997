// SPDX-License-Identifier: Apache-2.0
//! Garbage collection of kinds that a cluster defines for itself, while they are served. Cases of k8s.io/kubernetes
//! test/e2e/apimachinery/garbage_collector.go (custom resources) and
//! pkg/controller/garbagecollector/garbagecollector_test.go (resources that are added and removed).

use api::kubernetes::core::ConfigMap;
use api::kubernetes::tables;
use apimachinery::Resource;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::ObjectMeta;
use apimachinery::schema::{Node, Schema};
use apimachinery::wire::api_type;
use kube_controllers::Options;
use serde_json::{Value, json};
use testkit::{World, object};

use super::{CLUSTER, start, world};

#[api_type(no_schema)]
struct Widget {
    metadata: ObjectMeta,
    spec: Value,
}

impl Resource for Widget {
    const GROUP: &'static str = "example.org";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Widget";
    const PLURAL: &'static str = "widgets";
    const NAMESPACED: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Schema for Widget {
    fn node() -> Node {
        Node::Raw
    }
}

static WIDGETS: ResourceInfo = ResourceInfo {
    group: Widget::GROUP,
    version: Widget::VERSION,
    kind: Widget::KIND,
    plural: Widget::PLURAL,
    singular: "widget",
    namespaced: true,
    custom: true,
    schema: Widget::node,
    ..ResourceInfo::BASE
};

#[api_type(no_schema)]
struct CustomResourceDefinition {
    metadata: ObjectMeta,
    spec: Value,
    status: Value,
}

impl Resource for CustomResourceDefinition {
    const GROUP: &'static str = "apiextensions.k8s.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "CustomResourceDefinition";
    const PLURAL: &'static str = "customresourcedefinitions";
    const NAMESPACED: bool = false;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Schema for CustomResourceDefinition {
    fn node() -> Node {
        tables::node("apiextensions", Self::KIND).expect("it is there")
    }
}

const OWNER: &str = "11111111-2222-4333-8444-555555555555";
const DEFINITION: &str = "widgets.example.org";

fn definition(name: &str) -> CustomResourceDefinition {
    CustomResourceDefinition { metadata: ObjectMeta::named("", name), ..CustomResourceDefinition::default() }
}

fn owner() -> ConfigMap {
    object(json!({"metadata": {"name": "owner", "namespace": "n", "uid": OWNER}}))
}

fn widget() -> Widget {
    object(json!({"metadata": {"name": "w", "namespace": "n", "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": OWNER}]}}))
}

/// Returns a cluster with a definition, an owner and its Widget.
fn started() -> World {
    let mut world =
        world().with_in(CLUSTER, definition(DEFINITION)).with_in(CLUSTER, owner()).with_in(CLUSTER, widget());
    world.serve_in(CLUSTER, &WIDGETS);
    start(&mut world, Options::default());
    world
}

fn is_there(world: &World) -> bool {
    world.get_in::<Widget>(CLUSTER, "n", "w").is_some()
}

#[test]
fn objects_of_a_defined_kind_are_deleted_with_their_owner() {
    let mut world = started();
    assert!(is_there(&world), "the owner lives");
    world.remove_in::<ConfigMap>(CLUSTER, "n", "owner");
    world.pass();
    assert!(!is_there(&world));
}

#[test]
fn a_kind_defined_later_is_watched_once_served() {
    let mut world = world().with_in(CLUSTER, owner()).with_in(CLUSTER, widget());
    start(&mut world, Options::default());
    world.put_in(CLUSTER, &definition(DEFINITION));
    world.pass();
    world.remove_in::<ConfigMap>(CLUSTER, "n", "owner");
    world.pass();
    assert!(is_there(&world), "it is not served yet");
    world.serve_in(CLUSTER, &WIDGETS);
    world.change_in::<CustomResourceDefinition>(CLUSTER, "", DEFINITION, |definition| {
        definition.status = json!({"conditions": [{"type": "Established", "status": "True"}]});
    });
    world.pass();
    assert!(!is_there(&world));
}

#[test]
fn a_kind_without_its_definition_is_no_longer_watched() {
    let mut world = started();
    world.remove_in::<CustomResourceDefinition>(CLUSTER, "", DEFINITION);
    world.stop_serving_in(CLUSTER, &WIDGETS);
    world.pass();
    world.remove_in::<ConfigMap>(CLUSTER, "n", "owner");
    let pass = world.pass();
    assert!(pass.writes_of("widgets").is_empty(), "{:?}", pass.writes);
    // Once defined again, the kind is watched again.
    world.serve_in(CLUSTER, &WIDGETS);
    world.put_in(CLUSTER, &definition(DEFINITION));
    world.pass();
    assert!(!is_there(&world));
}

#[test]
fn a_definition_applies_to_its_own_cluster_only() {
    let mut world =
        world().with_in(CLUSTER, definition(DEFINITION)).with_in("seed--b", owner()).with_in("seed--b", widget());
    world.serve_in(CLUSTER, &WIDGETS);
    start(&mut world, Options::default());
    world.remove_in::<ConfigMap>("seed--b", "n", "owner");
    let pass = world.pass();
    assert!(pass.writes_of("widgets").is_empty(), "{:?}", pass.writes);
}

#[test]
fn a_definition_of_a_common_kind_changes_nothing() {
    let mut world = world().with_in(CLUSTER, definition("machines.machine.sapcloud.io"));
    let pass = start(&mut world, Options::default());
    assert_eq!((pass.writes, pass.next), (Vec::new(), None));
}
