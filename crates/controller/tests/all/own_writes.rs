// SPDX-License-Identifier: Apache-2.0
//! Clients with a store: it shows their writes when they are answered, and its subscribers are told by the watch.

use std::sync::Arc;

use api::constants::annotation;
use api::kubernetes::core::ConfigMap;
use controller::{Api, ListOptions, ObjectKey, PartialObject, Reflector, Store};
use parking_lot::Mutex;

use crate::support::{World, config_map};

fn value(store: &Store<ConfigMap>, name: &str) -> Option<String> {
    store.find("x", name).map(|object| object.data["value"].clone())
}

#[test]
fn a_store_shows_writes_of_its_clients_at_once() {
    World::run(|world| async move {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = told.clone();
        let reflector = Reflector::new(world.api(), ListOptions::default());
        let store = reflector.on_change(move |change| sink.lock().push(change.key.name.to_string())).start();
        world.settle().await;
        let api = world.api().with_store(&store);
        let created = api.create(&config_map("a", "1")).await.expect("created");
        assert_eq!(value(&store, "a").as_deref(), Some("1"));
        let updated = api.update(&created, &config_map("a", "2")).await.expect("updated");
        assert_eq!(value(&store, "a").as_deref(), Some("2"));
        world.api().create(&config_map("b", "1")).await.expect("created");
        assert_eq!(value(&store, "b"), None, "another client's writes come by the watch");
        api.delete_object(&updated, false, None).await.expect("deleted");
        assert_eq!(value(&store, "a"), None);
        assert!(told.lock().is_empty());
        world.settle().await;
        assert_eq!(*told.lock(), ["a", "a", "b", "a"]);
        assert_eq!(store.keys(), [ObjectKey::new("garden", "x", "b")]);

        let listed = store.find("x", "b").expect("there");
        world.server.remove("b");
        api.delete_object(&listed, false, None).await.expect("it is gone");
        assert!(store.is_empty(), "so the server has said");
    });
}

#[test]
fn a_store_shows_selected_objects_in_its_form() {
    World::run(|world| async move {
        let everywhere = Reflector::new(Api::<ConfigMap>::all(&world.context, "*"), ListOptions::default()).start();
        let one = Reflector::new(world.api(), ListOptions::with_field("metadata.name=b")).start();
        let elsewhere =
            Reflector::new(Api::<ConfigMap>::namespaced(&world.context, "garden", "y"), ListOptions::default());
        let elsewhere = elsewhere.start();
        world.settle().await;
        let api = Api::<ConfigMap>::all(&world.context, "*").within("garden", "x");
        api.with_store(&everywhere).create(&config_map("a", "1")).await.expect("created");
        let shown = everywhere.get(&ObjectKey::new("garden", "x", "a")).expect("shown");
        assert_eq!(shown.metadata.annotation(annotation::CLUSTER), Some("garden"));
        assert_eq!(shown.data["value"], "1");
        for name in ["b", "c"] {
            world.api().with_store(&one).create(&config_map(name, "1")).await.expect("created");
            assert_eq!(one.find("x", name).is_some(), name == "b");
        }
        world.api().with_store(&elsewhere).create(&config_map("d", "1")).await.expect("created");
        assert!(elsewhere.is_empty());

        let of_metadata = Reflector::new(
            Api::<PartialObject>::of(&world.context, "garden", controller::ApiResource::of::<ConfigMap>()),
            ListOptions::default(),
        );
        let of_metadata = of_metadata.start();
        world.settle().await;
        world.api().with_store(&of_metadata).create(&config_map("e", "1")).await.expect("created");
        assert!(of_metadata.find("x", "e").is_some(), "a store decodes its own type");
    });
}

#[test]
fn create_or_update_reads_only_after_foreign_writes() {
    World::run(|world| async move {
        let store = Reflector::new(world.api(), ListOptions::default()).start();
        world.settle().await;
        let api = world.api().with_store(&store);
        world.server.requests();
        for value in ["1", "2", "2"] {
            api.create_or_update(&config_map("a", value)).await.expect("written");
        }
        let verbs = || -> Vec<String> {
            let requests = world.server.requests();
            requests.iter().map(|line| line.split_once(' ').map_or("", |(verb, _)| verb).to_owned()).collect()
        };
        assert_eq!(verbs(), ["POST", "PATCH"]);
        world.api().create_or_update(&config_map("a", "3")).await.expect("written by another client");
        verbs();
        api.create_or_update(&config_map("a", "4")).await.expect("written");
        assert_eq!(verbs(), ["PATCH", "GET", "PATCH"]);
        assert_eq!(value(&store, "a").as_deref(), Some("4"));
    });
}
