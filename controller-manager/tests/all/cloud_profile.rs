// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/{cloudprofile,namespacedcloudprofile} @ v1.120.0.

use api::core::{CloudProfile, NamespacedCloudProfile, Shoot};
use serde_json::{Value, json};
use testkit::{World, object};

use super::{only, world};

fn profile(metadata: &Value) -> CloudProfile {
    let mut profile: CloudProfile = object(json!({
        "metadata": metadata,
        "spec": {"type": "local", "kubernetes": {"versions": [{"version": "1.31.1"}, {"version": "1.30.4"}]},
            "machineTypes": [{"name": "small", "cpu": "1", "gpu": "0", "memory": "2Gi"}]},
    }));
    "local".clone_into(&mut profile.metadata.name);
    profile
}

fn leaving() -> Value {
    json!({"finalizers": ["gardener"], "deletionTimestamp": "2025-06-02T12:00:00Z"})
}

fn child(metadata: &Value, spec: &Value) -> NamespacedCloudProfile {
    let mut child: NamespacedCloudProfile = object(json!({"metadata": metadata, "spec": spec}));
    "mine".clone_into(&mut child.metadata.name);
    "garden-dev".clone_into(&mut child.metadata.namespace);
    "local".clone_into(&mut child.spec.parent.name);
    "CloudProfile".clone_into(&mut child.spec.parent.kind);
    child
}

fn shoot(kind: &str, name: &str) -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev"},
        "spec": {"cloudProfile": {"kind": kind, "name": name}},
    }))
}

fn at_noon() -> World {
    world("2025-06-02T12:00:00Z")
}

#[test]
fn a_cloud_profile_gets_the_finalizer() {
    let mut world = at_noon().with(profile(&json!({})));
    let pass = world.start(only("cloudprofile"));
    assert_eq!(pass.writes, [r#"update cloudprofiles local {"metadata":{"finalizers":["gardener"]}}"#]);
}

#[test]
fn a_cloud_profile_is_deleted_when_unreferenced() {
    let mut world = at_noon().with(profile(&leaving())).with(shoot("CloudProfile", "other"));
    world.start(only("cloudprofile"));
    assert_eq!(world.get::<CloudProfile>("", "local"), None);
}

#[test]
fn a_cloud_profile_stays_while_shoots_refer_to_it() {
    let mut world = at_noon().with(profile(&leaving())).with(shoot("CloudProfile", "local"));
    let pass = world.start(only("cloudprofile"));
    let text = "Normal ResourceReferenced Cannot delete CloudProfile, because the following Shoots are still referencing it: [garden-dev/s]";
    assert_eq!((pass.events, pass.writes), (vec![text.to_owned()], vec![]));
    world.remove::<Shoot>("garden-dev", "s");
    world.pass();
    assert_eq!(world.get::<CloudProfile>("", "local"), None, "the last Shoot gave it free");
}

#[test]
fn a_cloud_profile_stays_while_namespaced_profiles_extend_it() {
    let mut world = at_noon().with(profile(&leaving())).with(child(&json!({}), &json!({})));
    let text = "Normal ResourceReferenced Cannot delete CloudProfile, because the following NamespacedCloudProfiles are still referencing it: [garden-dev/mine]";
    assert_eq!(world.start(only("cloudprofile")).events, [text]);
    world.remove::<NamespacedCloudProfile>("garden-dev", "mine");
    world.pass();
    assert_eq!(world.get::<CloudProfile>("", "local"), None);
}

#[test]
fn shoots_of_namespaced_profiles_of_equal_name_do_not_count() {
    let mut world = at_noon().with(profile(&leaving())).with(shoot("NamespacedCloudProfile", "local"));
    world.start(only("cloudprofile"));
    assert_eq!(world.get::<CloudProfile>("", "local"), None);
}

#[test]
fn a_namespaced_profile_shows_its_parent_with_its_own_entries() {
    let own = json!({
        "kubernetes": {"versions": [{"version": "1.30.4", "expirationDate": "2026-01-01T00:00:00Z"}]},
        "machineTypes": [{"name": "large", "cpu": "8", "gpu": "0", "memory": "16Gi"}],
    });
    let mut world = at_noon().with(profile(&json!({}))).with(child(&json!({}), &own));
    world.start(only("namespacedcloudprofile"));
    let shown: NamespacedCloudProfile = world.get("garden-dev", "mine").expect("there");
    let spec = &shown.status.cloud_profile_spec;
    let names: Vec<&str> = spec.machine_types.iter().map(|machine| &*machine.name).collect();
    assert_eq!(names, ["small", "large"]);
    let versions: Vec<(&str, bool)> =
        spec.kubernetes.versions.iter().map(|version| (&*version.version, version.expiration_date.is_some())).collect();
    assert_eq!(versions, [("1.31.1", false), ("1.30.4", true)]);

    // A change of the parent is shown, too.
    world.change::<CloudProfile>("", "local", |profile| {
        profile.spec.machine_types.clear();
    });
    world.pass();
    let shown: NamespacedCloudProfile = world.get("garden-dev", "mine").expect("there");
    assert_eq!(shown.status.cloud_profile_spec.machine_types.len(), 1);
}

#[test]
fn a_namespaced_profile_stays_while_shoots_refer_to_it() {
    let mut world = at_noon()
        .with(profile(&json!({})))
        .with(child(&leaving(), &json!({})))
        .with(shoot("NamespacedCloudProfile", "mine"));
    let text = "Normal ResourceReferenced Cannot delete NamespacedCloudProfile, because the following Shoots are still referencing it: [garden-dev/s]";
    assert_eq!(world.start(only("namespacedcloudprofile")).events, [text]);
    world.put(&shoot("CloudProfile", "local"));
    world.pass();
    assert_eq!(world.get::<NamespacedCloudProfile>("garden-dev", "mine"), None, "the Shoot went over to another");
}

#[test]
fn a_cloud_profile_shows_the_stages_of_its_versions() {
    let mut profile = profile(&json!({"finalizers": ["gardener"]}));
    profile.spec.kubernetes.versions[0].lifecycle = serde_json::from_value(json!([
        {"classification": "preview"},
        {"classification": "supported", "startTime": "2026-09-02T12:00:00Z"},
    ]))
    .expect("stages");
    let state = |world: &World| {
        let profile = world.get::<CloudProfile>("", "local").expect("it is there");
        profile.status.kubernetes.map(|status| status.versions[0].classification.clone())
    };
    let at = |version| {
        let world = World::at("2026-09-01T12:00:00Z").component("gardener-controller-manager", version);
        world.with(profile.clone())
    };
    let mut older = at("v1.148.0");
    assert_eq!(older.start(only("cloudprofile")).writes, [] as [&str; 0]);
    assert_eq!(state(&older), None);

    let mut world = at("v1.149.0");
    world.start(only("cloudprofile"));
    assert_eq!(state(&world).as_deref(), Some("preview"));
    world.advance_to("2026-09-02T12:00:00Z");
    assert_eq!(state(&world).as_deref(), Some("preview"), "a stage begins after its start");
    world.advance_to("2026-09-02T12:00:01Z");
    assert_eq!(state(&world).as_deref(), Some("supported"));
}
