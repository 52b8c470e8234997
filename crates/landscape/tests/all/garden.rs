// SPDX-License-Identifier: Apache-2.0
//! Behaviour of gardener-controller-manager in the garden, without any seed.

use api::core::{
    CloudProfile, ControllerInstallation, ExpirableVersion, ExposureClass, NamespacedCloudProfile, Project, Quota,
    SecretBinding, Seed, Shoot,
};
use api::kubernetes::core::{Event, Namespace, ObjectReference, Secret};
use apimachinery::meta::{DeleteOptions, ObjectMeta, Quantity, Time};
use controller::{Api, ListOptions, Patch};
use domain::profile::Profile;
use landscape::{Options, options, preset, wait};
use serde_json::{Value, json};

use crate::support::{Audited, evening, instant};

/// A landscape without seeds, with CloudProfile, Project and credentials.
fn start(profile: Profile) -> Audited {
    let mut audited = Audited::start(Options { profile, seeds: Vec::new(), ..Options::new(1, evening()) });
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:00:00Z", preset::create(&admin));
    audited
}

/// Starts a landscape as [`start`], with a Shoot that is never scheduled.
fn start_with(shoot: &Shoot, profile: Profile) -> Audited {
    let mut audited = start(profile);
    let shoots = Api::<Shoot>::namespaced(&audited.admin, "garden", preset::NAMESPACE);
    audited.run(shoots.create(shoot)).expect("the Shoot is valid");
    audited
}

fn merge(audited: &mut Audited, patch: Value) {
    let shoots = Api::<Shoot>::namespaced(&audited.admin, "garden", preset::NAMESPACE);
    audited.run(shoots.patch("s", &Patch::Merge(patch))).expect("the change is valid");
}

#[test]
fn projects_get_their_namespace_and_take_it_with_them() {
    let mut audited = start(Profile::Documents);
    let admin = audited.admin.clone();
    let projects = Api::<Project>::all(&admin, "garden");
    let project = audited.run(projects.get("demo")).expect("created");
    assert_eq!((project.status.phase.as_str(), project.status.observed_generation), ("Ready", 1));
    assert_eq!(project.metadata.finalizers, ["gardener"]);
    let namespaces = Api::<Namespace>::all(&admin, "garden");
    let namespace = audited.run(namespaces.get("garden-demo")).expect("made for the Project");
    assert_eq!(namespace.metadata.label("gardener.cloud/role"), Some("project"));
    assert_eq!(namespace.metadata.label("project.gardener.cloud/name"), Some("demo"));
    assert_eq!(namespace.metadata.annotation("namespace.gardener.cloud/project"), Some(&*project.metadata.uid));

    audited.run(projects.create(&Project { metadata: named("made"), ..Project::default() })).expect("valid");
    audited.until("2023-07-27T20:01:00Z");
    let made = audited.run(projects.get("made")).expect("created").spec.namespace.expect("written by the controller");
    assert!(made.starts_with("garden-made-") && made.len() == "garden-made-".len() + 5, "{made}");

    let confirmed = json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
    audited.run(projects.patch("made", &Patch::Merge(confirmed))).expect("confirmed");
    audited.run(projects.delete("made", &DeleteOptions::default())).expect("deleted");
    audited.until("2023-07-27T20:02:00Z");
    assert!(audited.run(projects.get_opt("made")).expect("answered").is_none());
    assert!(audited.run(namespaces.get_opt(&made)).expect("answered").is_none());
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta::named("", name)
}

#[test]
fn namespaced_cloud_profiles_show_their_merged_specification() {
    let mut audited = start(Profile::Documents);
    let admin = audited.admin.clone();
    let metadata = ObjectMeta::named(preset::NAMESPACE, "own");
    let mut own = NamespacedCloudProfile { metadata, ..NamespacedCloudProfile::default() };
    own.spec.parent.kind = "CloudProfile".to_owned();
    own.spec.parent.name = "local".to_owned();
    let longer = Time(instant("2024-07-28T00:00:00Z"));
    own.spec.kubernetes.get_or_insert_default().versions = vec![ExpirableVersion {
        version: "1.26.4".to_owned(),
        expiration_date: Some(longer),
        ..ExpirableVersion::default()
    }];
    let profiles = Api::<NamespacedCloudProfile>::namespaced(&admin, "garden", preset::NAMESPACE);
    audited.run(profiles.create(&own)).expect("valid");
    let shown = |audited: &mut Audited| -> Vec<(String, Option<Time>)> {
        audited.until_done(
            "2023-07-27T20:01:00Z",
            wait::for_object(&profiles, "own", |own| own.status.observed_generation == own.metadata.generation),
        );
        let own = audited.run(profiles.get("own")).expect("there");
        let versions = own.status.cloud_profile_spec.kubernetes.versions.into_iter();
        versions.map(|entry| (entry.version, entry.expiration_date)).collect()
    };
    assert_eq!(shown(&mut audited), [("1.27.1".to_owned(), None), ("1.26.4".to_owned(), Some(longer))]);

    let parents = Api::<CloudProfile>::all(&admin, "garden");
    let parent = audited.run(parents.get("local")).expect("there");
    assert_eq!(parent.metadata.finalizers, ["gardener"]);
    let mut changed = parent.clone();
    let newest = ExpirableVersion { version: "1.28.0".to_owned(), ..ExpirableVersion::default() };
    changed.spec.kubernetes.versions.insert(0, newest);
    audited.run(parents.update(&parent, &changed)).expect("valid");
    audited.until("2023-07-27T20:02:00Z");
    let own = audited.run(profiles.get("own")).expect("there");
    assert_eq!(own.status.cloud_profile_spec.kubernetes.versions.len(), 3);

    audited.run(parents.delete("local", &DeleteOptions::default())).expect("marked");
    audited.until("2023-07-27T20:03:00Z");
    assert!(audited.run(parents.get("local")).expect("still there").metadata.is_being_deleted());
    audited.run(profiles.delete("own", &DeleteOptions::default())).expect("deleted");
    audited.until("2023-07-27T20:04:00Z");
    assert!(audited.run(parents.get_opt("local")).expect("answered").is_none(), "nothing refers to it any more");
}

#[test]
fn secret_bindings_keep_their_secret() {
    let mut audited = start(Profile::Documents);
    let admin = audited.admin.clone();
    audited.until("2023-07-27T20:01:00Z");
    let secrets = Api::<Secret>::namespaced(&admin, "garden", preset::NAMESPACE);
    let secret = audited.run(secrets.get("local")).expect("there");
    assert_eq!(secret.metadata.finalizers, ["gardener.cloud/gardener"]);
    assert_eq!(secret.metadata.label("reference.gardener.cloud/secretbinding"), Some("true"));
    assert_eq!(secret.metadata.label("provider.shoot.gardener.cloud/local"), Some("true"));
    let bindings = Api::<SecretBinding>::namespaced(&admin, "garden", preset::NAMESPACE);
    audited.run(bindings.delete("local", &DeleteOptions::default())).expect("deleted");
    audited.until("2023-07-27T20:02:00Z");
    assert!(audited.run(bindings.get_opt("local")).expect("answered").is_none());
    let secret = audited.run(secrets.get("local")).expect("there");
    assert!(secret.metadata.finalizers.is_empty() && secret.metadata.labels.is_empty(), "{secret:?}");
}

#[test]
fn quotas_and_exposure_classes_stay_while_they_are_referenced() {
    let mut audited = start(Profile::Documents);
    let admin = audited.admin.clone();
    let classes = Api::<ExposureClass>::all(&admin, "garden");
    let class =
        ExposureClass { metadata: named("internet"), handler: "internet".to_owned(), ..ExposureClass::default() };
    audited.run(classes.create(&class)).expect("valid");
    let quotas = Api::<Quota>::namespaced(&admin, "garden", preset::NAMESPACE);
    let mut quota = Quota { metadata: ObjectMeta::named(preset::NAMESPACE, "trial"), ..Quota::default() };
    "v1".clone_into(&mut quota.spec.scope.api_version);
    "Secret".clone_into(&mut quota.spec.scope.kind);
    quota.spec.metrics = [("cpu".to_owned(), Quantity::from_integer(200))].into();
    audited.run(quotas.create(&quota)).expect("valid");
    let bindings = Api::<SecretBinding>::namespaced(&admin, "garden", preset::NAMESPACE);
    let mut binding = preset::secret_binding();
    "limited".clone_into(&mut binding.metadata.name);
    let namespace = preset::NAMESPACE.to_owned();
    binding.quotas = vec![ObjectReference { name: "trial".to_owned(), namespace, ..ObjectReference::default() }];
    audited.run(bindings.create(&binding)).expect("valid");
    let shoots = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
    let mut shoot = preset::shoot("s");
    shoot.spec.exposure_class_name = Some("internet".to_owned());
    audited.run(shoots.create(&shoot)).expect("valid");
    audited.until("2023-07-27T20:01:00Z");
    let kept = audited.run(quotas.get("trial")).expect("there");
    assert_eq!(kept.metadata.label("reference.gardener.cloud/secretbinding"), Some("true"));

    audited.run(quotas.delete("trial", &DeleteOptions::default())).expect("marked");
    audited.run(classes.delete("internet", &DeleteOptions::default())).expect("marked");
    audited.until("2023-07-27T20:02:00Z");
    let messages: Vec<String> = ["Quota", "ExposureClass"]
        .into_iter()
        .flat_map(|kind| {
            let events = Api::<Event>::all(&admin, "garden");
            let selector = format!("involvedObject.kind={kind},reason=ResourceReferenced");
            audited.run(events.list(&ListOptions::with_field(&selector))).expect("Events").0
        })
        .map(|event| event.message)
        .collect();
    assert_eq!(
        messages,
        [
            "Cannot delete Quota, because the following resources are still referencing it: SecretBindings - \
             [garden-demo/limited], CredentialsBindings - []",
            "Cannot delete ExposureClass, because it is still associated by the following Shoots: [garden-demo/s]",
        ]
    );
    audited.run(bindings.delete("limited", &DeleteOptions::default())).expect("deleted");
    audited.until("2023-07-27T20:03:00Z");
    assert!(audited.run(quotas.get_opt("trial")).expect("answered").is_none());
    assert!(audited.run(classes.get("internet")).expect("the Shoot is there").metadata.is_being_deleted());
}

#[test]
fn maintenance_runs_once_a_day_in_the_window() {
    let mut audited = start_with(&preset::shoot("s"), Profile::Documents);
    audited.until("2023-07-28T08:59:59Z");
    assert_eq!(audited.shoot("s").status.last_maintenance, None);
    audited.until("2023-07-28T09:45:00Z");
    let shoot = audited.shoot("s");
    let last = shoot.status.last_maintenance.clone().expect("maintained");
    assert_eq!((last.state.as_str(), shoot.spec.kubernetes.version.as_str()), ("Succeeded", "1.27.1"));
    assert!(last.triggered_time.0 >= instant("2023-07-28T09:00:00Z"), "{}", last.triggered_time);
    let tasks = "deployInfrastructure,deployDNSRecordInternal,deployDNSRecordExternal,deployDNSRecordIngress,\
                 restartControlPlanePods";
    assert_eq!(shoot.metadata.annotation("shoot.gardener.cloud/tasks"), Some(tasks));
    let reasons: Vec<String> = audited.events("s").into_iter().map(|(reason, _)| reason).collect();
    let count = |wanted: &str| reasons.iter().filter(|reason| *reason == wanted).count();
    assert_eq!(count("KubernetesVersionMaintenance"), 1, "{reasons:?}");
    assert_eq!(count("MachineImageVersionMaintenance"), 1, "{reasons:?}");

    audited.until("2023-07-29T08:59:59Z");
    assert_eq!(audited.shoot("s").metadata.resource_version, shoot.metadata.resource_version);
    audited.until("2023-07-29T09:45:00Z");
    assert_eq!(audited.shoot("s").status.last_maintenance, Some(last), "nothing to do leaves it untouched");
}

#[test]
fn refused_maintenance_is_reported_and_changes_nothing() {
    let mut shoot = preset::shoot("s");
    shoot.spec.maintenance.get_or_insert_default().auto_update.get_or_insert_default().machine_image_version =
        Some(false);
    let mut audited = start(Profile::Documents);
    let admin = audited.admin.clone();
    let profiles = Api::<CloudProfile>::all(&admin, "garden");
    let profile = audited.run(profiles.get("local")).expect("there");
    let mut changed = profile.clone();
    changed.spec.machine_images[0].versions[1].kubelet_version_constraint = Some("< 1.27".to_owned());
    audited.run(profiles.update(&profile, &changed)).expect("valid");
    let shoots = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
    audited.run(shoots.create(&shoot)).expect("the Shoot is valid");
    audited.until("2023-07-28T01:00:00Z");
    merge(&mut audited, json!({ "metadata": { "annotations": { "gardener.cloud/operation": "maintain" } } }));
    audited.until("2023-07-28T01:01:00Z");
    let shoot = audited.shoot("s");
    let last = shoot.status.last_maintenance.expect("maintained");
    assert_eq!((last.description.as_str(), last.state.as_str()), ("Maintenance failed", "Failed"));
    let reason = last.failure_reason.expect("there is one");
    let expected = "Updates to the Shoot failed to be applied: shoots.core.gardener.cloud \"s\" is forbidden: \
                    spec.provider.workers[0].machine.image: Invalid value: ";
    assert!(reason.starts_with(expected), "{reason}");
    assert_eq!(shoot.spec.kubernetes.version, "1.26.4");
    assert_eq!(shoot.metadata.annotation("gardener.cloud/operation"), None, "the request is dropped");
    let events = audited.events("s");
    assert!(!events.iter().any(|(reason, _)| reason.ends_with("Maintenance")), "{events:?}");
}

/// docs/usage/shoot/shoot_updates.md: a window that changes while the roll-out is confined applies after the upcoming
/// maintenance; upstream's code reschedules at once.
#[test]
fn changed_window_of_a_confined_shoot_counts_by_profile() {
    for (profile, maintained) in
        [(Profile::Documents, "2023-07-28T09:45:00Z"), (Profile::Upstream, "2023-07-28T15:45:00Z")]
    {
        let mut shoot = preset::shoot("s");
        shoot.spec.maintenance.get_or_insert_default().confine_spec_update_rollout = Some(true);
        let mut audited = start_with(&shoot, profile);
        audited.until("2023-07-28T01:00:00Z");
        let window = json!({ "begin": "150000+0000", "end": "160000+0000" });
        merge(&mut audited, json!({ "spec": { "maintenance": { "timeWindow": window } } }));
        let hour_before = (instant(maintained) - chrono::TimeDelta::minutes(46)).to_rfc3339();
        audited.until(&hour_before);
        assert_eq!(audited.shoot("s").status.last_maintenance, None, "{profile:?}");
        audited.until(maintained);
        assert!(audited.shoot("s").status.last_maintenance.is_some(), "{profile:?}");
    }
}

#[test]
fn seeds_get_the_extensions_that_they_need() {
    let mut audited = start(Profile::Documents);
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, "garden").create(&options::local_seed())).expect("valid");
    audited.until("2023-07-27T20:01:00Z");
    let installations = Api::<ControllerInstallation>::all(&admin, "garden");
    let found = audited.run(installations.list(&ListOptions::default())).expect("served").0;
    let mut names: Vec<_> = found.iter().map(|found| found.spec.registration_ref.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["provider-local"]);
    assert!(found[0].metadata.name.starts_with("provider-local-"), "{}", found[0].metadata.name);
}

#[test]
fn seeds_and_shoots_have_conditions() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("s");
    audited.until("2023-07-27T22:00:00Z");
    assert_eq!(audited.shoot("s").metadata.label("shoot.gardener.cloud/status"), Some("healthy"));
    let admin = audited.admin.clone();
    let seed = audited.run(Api::<Seed>::all(&admin, "garden").get("local")).expect("registered");
    let condition = seed.status.conditions.iter().find(|condition| condition.r#type == "ExtensionsReady");
    let condition = condition.expect("checked");
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "AllExtensionsReady"));
    let copies = Api::<Secret>::namespaced(&admin, "garden", "seed-local");
    let copies = audited.run(copies.list(&ListOptions::default())).expect("the Seed has a namespace").0;
    let names: Vec<_> = copies.iter().map(|copy| copy.metadata.name.as_str()).collect();
    assert_eq!(names, ["default-domain", "internal-domain", "observability-ingress-0da36eb1"]);
}
