// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/scheduler/controller/shoot @ v1.120.0: they put objects, run a pass, and compare writes, Events and
//! requeue times. The choice of the best seed is a table in `domain::placement`.

use api::core::{NamespacedCloudProfile, Seed, Shoot};
use api::kubernetes::core::ConfigMap;
use apimachinery::Status;
use domain::placement::Strategy;
use scheduler::{Config, Options, run};
use serde_json::json;
use testkit::objects::{self, ShootBuilder, cloud_profile};
use testkit::{Pass, World, instant, object};

/// Returns a seed of provider and region `local` that accepts Shoots.
fn seed(name: &str) -> Seed {
    object(json!({
        "metadata": {"name": name},
        "spec": {
            "provider": {"type": "local", "region": "local"},
            "networks": {"pods": "10.243.128.0/17", "services": "10.243.0.0/17", "nodes": "10.10.0.0/16",
                "shootDefaults": {"pods": "10.1.0.0/16", "services": "10.2.0.0/16"}},
            "settings": {"scheduling": {"visible": true}},
            "dns": {"provider": {"type": "local"}},
        },
        "status": {
            "allocatable": {"shoots": "100"},
            "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100},
            "conditions": [{"type": "GardenletReady", "status": "True"}],
        },
    }))
}

/// Returns a Shoot with networks of its own.
fn shoot(name: &str) -> ShootBuilder {
    objects::shoot(name).with(|shoot| {
        let networking = shoot.spec.networking.as_mut().expect("the builder sets it");
        networking.pods = Some("10.1.0.0/16".to_owned());
        networking.services = Some("10.2.0.0/16".to_owned());
    })
}

fn at_noon() -> World {
    World::at("2025-06-02T12:00:00Z").component("gardener-scheduler", "v1.120.0").with(cloud_profile("local").build())
}

fn start(world: &mut World) -> Pass {
    world.start(|context| run(context, Options::default()))
}

fn seed_of(world: &World, name: &str) -> Option<String> {
    world.get::<Shoot>("garden-dev", name).expect("the Shoot is there").spec.seed_name
}

#[test]
fn a_shoot_is_bound_by_the_binding_subresource() {
    let mut world = at_noon().with(seed("a")).with(shoot("s").build());
    let pass = start(&mut world);
    assert_eq!(pass.writes, [r#"update shoots/binding garden-dev/s {"spec":{"seedName":"a"}}"#]);
    assert_eq!(pass.events, ["Normal SchedulingSuccessful Scheduled to seed 'a'"]);
    assert_eq!(pass.next, None);
}

#[test]
fn the_seed_with_the_fewest_shoots_is_chosen() {
    let mut world =
        at_noon().with(seed("a")).with(seed("b")).with(shoot("old").seed("a").build()).with(shoot("s").build());
    start(&mut world);
    assert_eq!(seed_of(&world, "s").as_deref(), Some("b"));
}

#[test]
fn shoots_that_are_not_its_own_are_left_alone() {
    let of_other = shoot("other").with(|shoot| shoot.spec.scheduler_name = Some("my-scheduler".to_owned()));
    let leaving = shoot("leaving").with(|shoot| {
        shoot.metadata.deletion_timestamp = Some(instant("2025-06-02T11:00:00Z").into());
        shoot.metadata.finalizers.push("gardener".to_owned());
    });
    let mut world =
        at_noon().with(seed("a")).with(of_other.build()).with(leaving.build()).with(shoot("bound").seed("b").build());
    assert_eq!(start(&mut world), Pass::default());
}

#[test]
fn an_unschedulable_shoot_is_reported_once() {
    let mut world = at_noon().with(shoot("s").build());
    let pass = start(&mut world);
    assert_eq!(pass.events.len(), 1);
    assert!(pass.events[0].starts_with("Warning SchedulingFailed Failed to schedule Shoot: "), "{:?}", pass.events);
    let operation = world.get::<Shoot>("garden-dev", "s").expect("there").status.last_operation.expect("it is said");
    assert_eq!((&*operation.r#type, &*operation.state), ("Create", "Pending"));
    assert_eq!(format!("Warning SchedulingFailed {}", operation.description), pass.events[0]);

    // A pass with the same result reports nothing.
    let config: ConfigMap = object(json!({"metadata": {"name": "distances", "namespace": "garden",
        "labels": {"scheduling.gardener.cloud/purpose": "region-config"}}}));
    world.put(&config);
    assert_eq!(world.pass(), Pass::default());
    world.put(&seed("b"));
    world.pass();
    assert_eq!(seed_of(&world, "s").as_deref(), Some("b"), "a seed that comes is noticed");
}

#[test]
fn a_missing_cloud_profile_is_reported() {
    let mut world = World::at("2025-06-02T12:00:00Z").with(seed("a")).with(shoot("s").build());
    let text =
        "Warning SchedulingFailed Failed to schedule Shoot: CloudProfile.core.gardener.cloud \"local\" not found";
    assert_eq!(start(&mut world).events, [text]);
}

#[test]
fn the_profile_selects_seeds_also_a_namespaced_one() {
    let mut labelled = seed("b");
    labelled.metadata.labels.insert("environment".to_owned(), "test".to_owned());
    let selector = json!({"matchLabels": {"environment": "test"}});
    let mut profile = cloud_profile("local").build();
    profile.spec.seed_selector = Some(serde_json::from_value(selector.clone()).expect("a selector"));
    let mut world = at_noon().with(seed("a")).with(labelled.clone()).with(profile).with(shoot("s").build());
    start(&mut world);
    assert_eq!(seed_of(&world, "s").as_deref(), Some("b"));

    let namespaced: NamespacedCloudProfile = object(json!({
        "metadata": {"name": "mine", "namespace": "garden-dev"},
        "spec": {"parent": {"kind": "CloudProfile", "name": "local"}},
        "status": {"cloudProfileSpec": {"type": "local", "regions": [{"name": "local"}], "seedSelector": selector}},
    }));
    let own = shoot("s").with(|shoot| {
        let reference = shoot.spec.cloud_profile.as_mut().expect("the builder sets it");
        (reference.kind, reference.name) = ("NamespacedCloudProfile".to_owned(), "mine".to_owned());
    });
    let mut world = at_noon().with(seed("a")).with(labelled).with(namespaced).with(own.build());
    start(&mut world);
    assert_eq!(seed_of(&world, "s").as_deref(), Some("b"));
}

#[test]
fn a_seed_that_gets_room_takes_a_shoot_that_waits() {
    let mut full = seed("a");
    full.status.allocatable.insert("shoots".to_owned(), "1".parse().expect("a quantity"));
    let mut world = at_noon().with(full).with(shoot("old").seed("a").build()).with(shoot("s").build());
    start(&mut world);
    assert_eq!(seed_of(&world, "s"), None);
    world.remove::<Shoot>("garden-dev", "old");
    world.pass();
    assert_eq!(seed_of(&world, "s").as_deref(), Some("a"));
}

#[test]
fn distances_of_regions_are_read_from_a_config_map() {
    let far = |name: &str, region: &str| {
        let mut seed = seed(name);
        region.clone_into(&mut seed.spec.provider.region);
        seed
    };
    let config: ConfigMap = object(json!({
        "metadata": {"name": "distances", "namespace": "garden",
            "labels": {"scheduling.gardener.cloud/purpose": "region-config"},
            "annotations": {"scheduling.gardener.cloud/cloudprofiles": "other,local"}},
        "data": {"local": "east: 50\nwest: 10\n"},
    }));
    let minimal = Options { config: Config { strategy: Strategy::MinimalDistance, ..Config::default() } };
    let world = || at_noon().with(far("a", "east")).with(far("b", "west")).with(shoot("s").build());
    let mut near = world().with(config.clone());
    near.start(|context| run(context, minimal.clone()));
    assert_eq!(seed_of(&near, "s").as_deref(), Some("b"));

    let mut broken = config;
    broken.data.insert("local".to_owned(), "east: near".to_owned());
    let mut world = world().with(broken);
    let pass = world.start(|context| run(context, minimal));
    let text = "Wrong format in region ConfigMap garden/distances, Region \"local\"";
    assert!(pass.events[0].contains(text), "{:?}", pass.events);
}

#[test]
fn a_refused_binding_is_reported_and_retried() {
    let mut world = at_noon().with(seed("a")).with(shoot("s").build());
    world.refuse("update shoots/binding", Status::failure(403, "Forbidden", "the seed is tainted"));
    let pass = start(&mut world);
    assert_eq!(pass.events, ["Warning SchedulingFailed Failed to schedule Shoot: the seed is tainted"]);
    assert_eq!(world.advance_to("2025-06-02T12:00:01Z").events, ["Normal SchedulingSuccessful Scheduled to seed 'a'"]);
}

#[test]
fn a_conflicting_binding_reports_nothing() {
    let mut world = at_noon().with(seed("a")).with(shoot("s").build());
    world.refuse("update shoots/binding", Status::failure(409, "Conflict", "changed meanwhile"));
    assert_eq!(start(&mut world).events, [""; 0]);
    world.advance_to("2025-06-02T12:00:01Z");
    assert_eq!(seed_of(&world, "s").as_deref(), Some("a"));
}
