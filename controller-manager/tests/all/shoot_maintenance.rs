// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/shoot/maintenance @ v1.120.0.

use api::core::{LastOperation, NamespacedCloudProfile, SecretBinding, Shoot};
use api::security::CredentialsBinding;
use apimachinery::Status;
use controller_manager::{Config, Options};
use serde_json::json;
use testkit::objects::{CloudProfileBuilder, ShootBuilder, cloud_profile, shoot};
use testkit::{Pass, World, instant, object};

use super::{ALL, only, world};

/// Returns a Shoot that is maintained between 22:00 and 23:00.
fn maintained() -> ShootBuilder {
    shoot("s").kubernetes("1.31.1").window("220000+0000", "230000+0000").auto_update(true, true)
}

fn profile() -> CloudProfileBuilder {
    cloud_profile("local").kubernetes("1.31.1").kubernetes("1.31.2").kubernetes("1.32.0")
}

const BEFORE: &str = "2025-06-02T21:00:00Z";
const WITHIN: &str = "2025-06-02T22:30:00Z";

fn started(at: &str, shoot: ShootBuilder, profile: CloudProfileBuilder) -> (World, Pass) {
    let mut world = world(at).with(shoot.build()).with(profile.build());
    let pass = world.start(only("shoot-maintenance"));
    (world, pass)
}

fn stored(world: &World) -> Shoot {
    world.get("garden-dev", "s").expect("the Shoot is there")
}

#[test]
fn a_run_outside_of_the_window_is_planned_within_it() {
    let (world, pass) = started(BEFORE, maintained(), profile());
    assert_eq!(pass.writes, [""; 0]);
    let next = pass.next.expect("a run is planned");
    // The last 15 minutes of a window are not used.
    assert!(next >= instant("2025-06-02T22:00:00Z") && next <= instant("2025-06-02T22:45:00Z"), "{next}");
    assert_eq!(stored(&world).spec.kubernetes.version, "1.31.1");
}

#[test]
fn the_patch_update_in_the_window_is_reported() {
    let (mut world, _) = started(BEFORE, maintained(), profile());
    let pass = world.advance_to("2025-06-02T23:00:00Z");
    let shoot = stored(&world);
    assert_eq!(shoot.spec.kubernetes.version, "1.31.2");
    let last = shoot.status.last_maintenance.expect("it is told");
    assert_eq!((&*last.state, last.failure_reason), ("Succeeded", None));
    assert_eq!(
        last.description,
        "All maintenance operations successful. Control Plane: Updated Kubernetes version from \"1.31.1\" to \"1.31.2\". Reason: Automatic update of Kubernetes version configured"
    );
    assert!(pass.writes[0].starts_with("dry-run update shoots garden-dev/s "), "{:?}", pass.writes);
    let event = "Normal KubernetesVersionMaintenance Control Plane: Updated Kubernetes version from \"1.31.1\" to \"1.31.2\". Reason: Automatic update of Kubernetes version configured.";
    assert_eq!(pass.events, [event]);
    let next = pass.next.expect("the next day is planned");
    assert!(next >= instant("2025-06-03T22:00:00Z") && next <= instant("2025-06-03T22:45:00Z"), "{next}");
}

#[test]
fn once_in_a_window_is_enough() {
    let (mut world, _) = started(BEFORE, maintained(), profile());
    world.advance_to("2025-06-02T23:00:00Z");
    assert_eq!(world.advance_to("2025-06-03T21:59:00Z").writes, [""; 0]);
}

#[test]
fn a_run_without_findings_only_requests_a_reconciliation() {
    let (world, pass) = started(WITHIN, maintained(), cloud_profile("local").kubernetes("1.31.1"));
    assert!(pass.writes.iter().all(|write| !write.contains("lastMaintenance")), "{:?}", pass.writes);
    assert_eq!((stored(&world).spec.kubernetes.version, pass.events), ("1.31.1".to_owned(), vec![]));
}

#[test]
fn without_auto_update_a_version_stays_until_it_expires() {
    let kept = || maintained().auto_update(false, false);
    let (world, _) = started(WITHIN, kept(), profile());
    assert_eq!(stored(&world).spec.kubernetes.version, "1.31.1");

    // `!` expires 2023-07-28.
    let expired = cloud_profile("local").kubernetes("1.31.1!").kubernetes("1.31.2").kubernetes("1.32.0");
    let (world, pass) = started(WITHIN, kept(), expired);
    assert_eq!(stored(&world).spec.kubernetes.version, "1.31.2");
    assert!(
        pass.events[0].ends_with("Reason: Kubernetes version expired - force update required."),
        "{:?}",
        pass.events
    );
}

#[test]
fn an_expired_version_without_newer_patch_gets_the_next_minor() {
    let profile = cloud_profile("local").kubernetes("1.31.1!").kubernetes("1.32.0").kubernetes("1.33.0");
    let (world, _) = started(WITHIN, maintained(), profile);
    assert_eq!(stored(&world).spec.kubernetes.version, "1.32.0");
}

#[test]
fn pools_follow_the_control_plane_and_images_are_raised() {
    let pools = maintained()
        .pool("a", |pool| pool.image("os", "1.0.0"))
        .pool("b", |pool| pool.image("os", "1.0.0").kubernetes("1.31.1"));
    let profile = profile().image("os", "1.0.0").image("os", "1.1.0");
    let (world, pass) = started(WITHIN, pools, profile);
    let workers = stored(&world).spec.provider.workers;
    let image = |pool: usize| workers[pool].machine.image.as_ref().and_then(|image| image.version.clone());
    assert_eq!((image(0), image(1)), (Some("1.1.0".to_owned()), Some("1.1.0".to_owned())));
    let images = pass.events.iter().filter(|event| event.contains("MachineImageVersionMaintenance")).count();
    assert_eq!(images, 2, "{:?}", pass.events);
}

#[test]
fn a_maintenance_request_is_served_outside_the_window() {
    for (state, operation) in [("Succeeded", Some("reconcile")), ("Failed", None), ("Processing", Some("reconcile"))] {
        let (mut world, _) = started(BEFORE, maintained(), profile());
        world.change::<Shoot>("garden-dev", "s", |shoot| {
            shoot.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "maintain".to_owned());
            let state = state.to_owned();
            shoot.status.last_operation = Some(LastOperation { state, ..LastOperation::default() });
        });
        world.pass();
        let shoot = stored(&world);
        assert_eq!(shoot.spec.kubernetes.version, "1.31.2");
        assert_eq!(shoot.metadata.annotation("gardener.cloud/operation"), operation, "{state}");
    }
}

#[test]
fn refused_updates_are_reported_and_retried_in_the_next_window() {
    let mut world = world(WITHIN).with(maintained().build()).with(profile().build());
    world.refuse("dry-run update shoots", Status::failure(422, "Invalid", "Shoot is invalid: because"));
    let pass = world.start(only("shoot-maintenance"));
    let shoot = stored(&world);
    assert_eq!(shoot.spec.kubernetes.version, "1.31.1");
    let last = shoot.status.last_maintenance.expect("it is told");
    assert_eq!((&*last.state, &*last.description), ("Failed", "Maintenance failed"));
    assert!(last.failure_reason.expect("why").contains("Shoot is invalid: because"));
    assert!(pass.next.is_some_and(|next| next >= instant("2025-06-03T22:00:00Z")), "{:?}", pass.next);
}

#[test]
fn a_refused_request_takes_the_annotation_away() {
    let requested = maintained().annotation("gardener.cloud/operation", "maintain");
    let mut world = world(BEFORE).with(requested.build()).with(profile().build());
    world.refuse("dry-run update shoots", Status::failure(422, "Invalid", "no"));
    world.start(only("shoot-maintenance"));
    assert_eq!(stored(&world).metadata.annotation("gardener.cloud/operation"), None);
}

#[test]
fn conflicts_and_server_errors_are_no_refusals() {
    for (code, reason) in [(409, "Conflict"), (429, "TooManyRequests"), (503, "ServiceUnavailable")] {
        let mut world = world(WITHIN).with(maintained().build()).with(profile().build());
        world.refuse("dry-run update shoots", Status::failure(code, reason, "later"));
        world.start(only("shoot-maintenance"));
        assert_eq!(stored(&world).status.last_maintenance, None, "{code}");
        world.advance_to("2025-06-02T22:30:01Z");
        assert_eq!(stored(&world).spec.kubernetes.version, "1.31.2", "{code}: it is tried again at once");
    }
}

#[test]
fn an_update_that_fails_after_the_dry_run_is_reported() {
    let mut world = world(WITHIN).with(maintained().build()).with(profile().build());
    world.refuse("update shoots garden-dev/s", Status::failure(403, "Forbidden", "a plug-in rejects it"));
    let pass = world.start(only("shoot-maintenance"));
    let told = pass.events.iter().filter(|event| event.starts_with("Warning MaintenanceFailed")).count();
    assert_eq!(told, 1, "{:?}", pass.events);
}

#[test]
fn a_shoot_in_deletion_is_left_alone() {
    let leaving = maintained().with(|shoot| {
        shoot.metadata.deletion_timestamp = Some(instant("2025-06-02T12:00:00Z").into());
        shoot.metadata.finalizers.push("gardener".to_owned());
    });
    assert_eq!(started(WITHIN, leaving, profile()).1, Pass::default());
}

#[test]
fn a_namespaced_profile_offers_the_versions_of_its_status() {
    let own = maintained().with(|shoot| {
        let reference = shoot.spec.cloud_profile.as_mut().expect("the builder sets it");
        (reference.kind, reference.name) = ("NamespacedCloudProfile".to_owned(), "mine".to_owned());
    });
    let namespaced: NamespacedCloudProfile = object(json!({
        "metadata": {"name": "mine", "namespace": "garden-dev"},
        "status": {"cloudProfileSpec": {"kubernetes": {"versions": [{"version": "1.31.1"}, {"version": "1.31.7"}]}}},
    }));
    let mut world = world(WITHIN).with(own.build()).with(profile().build()).with(namespaced);
    world.start(only("shoot-maintenance"));
    assert_eq!(stored(&world).spec.kubernetes.version, "1.31.7");
}

#[test]
fn without_its_profile_a_shoot_is_tried_again() {
    let mut world = world(WITHIN).with(maintained().build());
    let pass = world.start(only("shoot-maintenance"));
    assert_eq!((pass.writes, pass.next), (vec![], Some(instant("2025-06-02T22:30:00.005Z"))));
}

#[test]
fn another_window_is_planned_for() {
    let (mut world, _) = started(BEFORE, maintained(), profile());
    world.put(&maintained().window("020000+0000", "030000+0000").build());
    let next = world.pass().next.expect("a run is planned");
    assert!(next <= instant("2025-06-03T02:45:00Z"), "{next}");
}

/// Returns a Shoot with SecretBinding `mine` that is forced to Kubernetes 1.34, for gardener-controller-manager
/// v1.127.0.
fn before_1_34() -> World {
    let shoot = shoot("s").kubernetes("1.33.1").window("220000+0000", "230000+0000").auto_update(true, true);
    let shoot = shoot.with(|shoot| shoot.spec.secret_binding_name = Some("mine".to_owned()));
    let world = World::at(WITHIN).component("gardener-controller-manager", "v1.127.0");
    world.with(shoot.build()).with(cloud_profile("local").kubernetes("1.34.0").build())
}

fn secret_binding() -> SecretBinding {
    object(json!({
        "metadata": {"name": "mine", "namespace": "garden-dev"},
        "secretRef": {"name": "credentials", "namespace": "garden-dev"},
        "provider": {"type": "local"},
    }))
}

/// Returns the names of both bindings, and the description of the maintenance.
fn bindings(world: &World) -> (Option<String>, Option<String>, String) {
    let shoot = stored(world);
    assert_eq!(shoot.spec.kubernetes.version, "1.34.0");
    let told = shoot.status.last_maintenance.expect("it is told").description;
    (shoot.spec.secret_binding_name, shoot.spec.credentials_binding_name, told)
}

#[test]
fn a_credentials_binding_is_made_of_the_secret_binding() {
    let mut world = before_1_34().with(secret_binding());
    world.start(only("shoot-maintenance"));
    let (secret, credentials, told) = bindings(&world);
    assert_eq!((secret, credentials.as_deref()), (None, Some("force-migrated-mine")));
    assert!(told.contains(".spec.secretBindingName was migrated to .spec.credentialsBindingName. Reason: "), "{told}");
    let made: CredentialsBinding = world.get("garden-dev", "force-migrated-mine").expect("it is created");
    assert_eq!(made.metadata.label("credentialsbinding.gardener.cloud/status"), Some("force-migrated"));
    assert_eq!((&*made.credentials_ref.kind, &*made.credentials_ref.name), ("Secret", "credentials"));
    assert_eq!(made.provider.r#type, "local");
}

#[test]
fn a_credentials_binding_with_the_same_credentials_is_taken() {
    let own: CredentialsBinding = object(json!({
        "metadata": {"name": "own", "namespace": "garden-dev"},
        "credentialsRef": {"apiVersion": "v1", "kind": "Secret", "name": "credentials", "namespace": "garden-dev"},
        "provider": {"type": "local"},
    }));
    let mut world = before_1_34().with(secret_binding()).with(own);
    world.start(only("shoot-maintenance"));
    let (secret, credentials, _) = bindings(&world);
    assert_eq!((secret, credentials.as_deref()), (None, Some("own")));
    assert_eq!(world.get::<CredentialsBinding>("garden-dev", "force-migrated-mine"), None);
}

#[test]
fn a_secret_binding_without_migration_stays_and_is_reported() {
    let missing = "failed to get SecretBinding garden-dev/mine: ";
    let refused = "failed to create CredentialsBinding garden-dev/force-migrated-mine: ";
    for (mut world, expected) in [(before_1_34(), missing), (before_1_34().with(secret_binding()), refused)] {
        world.refuse("create credentialsbindings", Status::failure(403, "Forbidden", "no"));
        world.start(only("shoot-maintenance"));
        let (secret, credentials, told) = bindings(&world);
        assert_eq!((secret.as_deref(), credentials), (Some("mine"), None));
        let expected = format!("Failed to migrate from secretBindingName to credentialsBindingName: {expected}");
        assert!(told.contains(&expected), "{told}");
    }
}

#[test]
fn the_gate_turns_the_addon_nginx_ingress_off() {
    for (is_on, expected) in [(true, false), (false, true)] {
        let shoot = maintained().auto_update(false, false).with(|shoot| {
            let addons = object::<Shoot>(json!({"spec": {"addons": {"nginxIngress": {"enabled": true}}}})).spec.addons;
            shoot.spec.addons = addons;
        });
        let mut world = World::at(WITHIN).component("gardener-controller-manager", "v1.142.0");
        world = world.with(shoot.build()).with(profile().build());
        let config = Config { disable_nginx_ingress_in_shoot: is_on, ..Config::default() };
        let disabled = ALL.into_iter().filter(|name| *name != "shoot-maintenance").collect();
        let options = Options { config, disabled, ..Options::default() };
        world.start(|context| controller_manager::run(context, options));
        let shoot = stored(&world);
        let addon = shoot.spec.addons.and_then(|addons| addons.nginx_ingress).expect("there is one");
        assert_eq!(addon.enabled, expected);
        let told = shoot.status.last_maintenance.map(|last| last.description);
        let text = "All maintenance operations successful. , .spec.addons.nginxIngress was disabled. Reason: nginx ingress \
                    addon disallowed by landscape operator";
        assert_eq!(told.as_deref(), is_on.then_some(text));
    }
}
