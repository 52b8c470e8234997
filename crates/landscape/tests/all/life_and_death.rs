// SPDX-License-Identifier: Apache-2.0
//! Namespaces are deleted with their content, objects with their owners, in every cluster.

use api::kubernetes::core::{ConfigMap, Namespace};
use apimachinery::meta::{DeleteOptions, ObjectMeta, OwnerReference};
use controller::{Api, Error, ListOptions};
use landscape::{Landscape, Options};
use process::Context;

const CLUSTER: &str = "seed--local";

struct World {
    landscape: Landscape,
    admin: Context,
}

impl World {
    fn start() -> Self {
        let start = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let landscape = Landscape::start(Options::new(1, start)).expect("a landscape that starts");
        let admin = landscape.client("admin");
        Self { landscape, admin }
    }

    #[track_caller]
    fn run<T>(&self, future: impl Future<Output = Result<T, Error>>) -> T {
        let result = self.landscape.run(future).unwrap_or_else(|failure| panic!("{failure}"));
        let result = result.unwrap_or_else(|error| panic!("{error}"));
        self.landscape.settle().unwrap_or_else(|failure| panic!("{failure}"));
        result
    }

    fn namespaces(&self) -> Api<Namespace> {
        Api::all(&self.admin, CLUSTER)
    }

    fn config_maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(&self.admin, CLUSTER, namespace)
    }

    fn create_namespace(&self, name: &str) {
        let namespace = Namespace { metadata: ObjectMeta::named("", name), ..Namespace::default() };
        self.run(self.namespaces().create(&namespace));
    }

    fn create(&self, name: &str, change: impl FnOnce(&mut ObjectMeta)) -> ConfigMap {
        let mut metadata = ObjectMeta::named("x", name);
        change(&mut metadata);
        self.run(self.config_maps("x").create(&ConfigMap { metadata, ..ConfigMap::default() }))
    }

    fn owned(&self, name: &str, owners: &[(&ConfigMap, bool)]) -> ConfigMap {
        self.create(name, |metadata| {
            metadata.owner_references = owners.iter().map(|(it, block)| owner(it, *block)).collect();
        })
    }

    fn delete(&self, name: &str, policy: &str) {
        let options = DeleteOptions { propagation_policy: Some(policy.to_owned()), ..DeleteOptions::default() };
        self.run(self.config_maps("x").delete(name, &options));
    }

    /// Names of the ConfigMaps, with a cross after those that are being deleted.
    fn names(&self) -> Vec<String> {
        let (objects, _) = self.run(self.config_maps("x").list(&ListOptions::default()));
        let text = |metadata: &ObjectMeta| {
            let mark = if metadata.is_being_deleted() { "†" } else { "" };
            format!("{}{mark}", metadata.name)
        };
        objects.iter().map(|object| text(&object.metadata)).filter(|name| name != "kube-root-ca.crt").collect()
    }

    fn release(&self, name: &str) {
        let api = self.config_maps("x");
        let stored = self.run(api.get(name));
        let mut new = stored.clone();
        new.metadata.finalizers.clear();
        self.run(api.update(&stored, &new));
    }
}

fn owner(object: &ConfigMap, blocks: bool) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: object.metadata.name.clone(),
        uid: object.metadata.uid.clone(),
        controller: None,
        block_owner_deletion: Some(blocks),
    }
}

#[test]
fn a_deleted_namespace_takes_its_content_along() {
    let world = World::start();
    world.create_namespace("x");
    world.create("a", |_| {});
    world.create("b", |_| {});
    let timers = world.landscape.counts().timers;
    world.run(world.namespaces().delete("x", &DeleteOptions::default()));
    assert_eq!(world.run(world.namespaces().get_opt("x")).map(|it| it.status.phase), None);
    assert_eq!(world.names(), Vec::<String>::new());
    assert_eq!(world.landscape.counts().timers, timers, "nothing waits for time");
}

#[test]
fn a_namespace_waits_for_finalizers_of_its_content() {
    let world = World::start();
    world.create_namespace("x");
    world.create("a", |metadata| metadata.finalizers.push("example.org/held".to_owned()));
    world.create("b", |_| {});
    world.run(world.namespaces().delete("x", &DeleteOptions::default()));
    let namespace = world.run(world.namespaces().get("x"));
    assert_eq!(namespace.status.phase, "Terminating");
    let conditions: Vec<String> =
        namespace.status.conditions.iter().map(|it| format!("{} {} {}", it.r#type, it.status, it.message)).collect();
    assert_eq!(
        conditions,
        [
            "NamespaceDeletionDiscoveryFailure False All resources successfully discovered",
            "NamespaceDeletionGroupVersionParsingFailure False All legacy kube types successfully parsed",
            "NamespaceDeletionContentFailure False All content successfully deleted, may be waiting on finalization",
            "NamespaceContentRemaining True Some resources are remaining: configmaps has 1 resource instances",
            "NamespaceFinalizersRemaining True Some content in the namespace has finalizers remaining: example.org/held in 1 resource instances",
        ]
    );
    assert_eq!(world.names(), ["a†"]);
    world.release("a");
    assert!(world.run(world.namespaces().get_opt("x")).is_none());
}

#[test]
fn background_deletion_removes_dependents_after_their_last_owner() {
    let world = World::start();
    world.create_namespace("x");
    let (a, b) = (world.create("a", |_| {}), world.create("b", |_| {}));
    let child = world.owned("child", &[(&a, true)]);
    world.owned("grandchild", &[(&child, true)]);
    world.owned("shared", &[(&a, true), (&b, true)]);
    world.delete("a", "Background");
    assert_eq!(world.names(), ["b", "shared"]);
    let shared = world.run(world.config_maps("x").get("shared"));
    assert_eq!(shared.metadata.owner_references, [owner(&b, true)]);
    world.delete("b", "Background");
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn a_dependent_of_a_missing_owner_is_deleted() {
    let world = World::start();
    world.create_namespace("x");
    let a = world.create("a", |_| {});
    let mut other = a.clone();
    other.metadata.uid = "00000000-0000-4000-8000-000000000000".to_owned();
    world.owned("of-another-uid", &[(&other, true)]);
    other.metadata.name = "missing".to_owned();
    world.owned("of-nobody", &[(&other, true)]);
    assert_eq!(world.names(), ["a"]);
}

#[test]
fn foreground_deletion_waits_for_blocking_dependents() {
    let world = World::start();
    world.create_namespace("x");
    let a = world.create("a", |_| {});
    let held = world.create("held", |metadata| {
        metadata.owner_references = vec![owner(&a, true)];
        metadata.finalizers.push("example.org/held".to_owned());
    });
    world.owned("below", &[(&held, true)]);
    world.owned("free", &[(&a, false)]);
    world.delete("a", "Foreground");
    assert_eq!(world.names(), ["a†", "held†"]);
    world.release("held");
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn orphans_stay_without_the_reference() {
    let world = World::start();
    world.create_namespace("x");
    let a = world.create("a", |_| {});
    world.owned("child", &[(&a, true)]);
    world.delete("a", "Orphan");
    assert_eq!(world.names(), ["child"]);
    assert_eq!(world.run(world.config_maps("x").get("child")).metadata.owner_references, []);
}

#[test]
fn clusters_do_not_mix() {
    let world = World::start();
    world.create_namespace("x");
    let a = world.create("a", |_| {});
    let elsewhere = Api::<ConfigMap>::namespaced(&world.admin, "garden", "garden");
    let mut metadata = ObjectMeta::named("garden", "child");
    metadata.owner_references = vec![owner(&a, true)];
    world.run(elsewhere.create(&ConfigMap { metadata, ..ConfigMap::default() }));
    assert!(world.run(elsewhere.get_opt("child")).is_none(), "its owner is in another cluster");
    assert_eq!(world.names(), ["a"]);
}
