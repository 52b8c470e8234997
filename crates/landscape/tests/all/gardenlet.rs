// SPDX-License-Identifier: Apache-2.0
//! Behaviour of gardenlet for Shoots, observed through the API.

use std::collections::BTreeSet;

use api::core::{Hibernation, InternalSecret, Seed, Shoot};
use api::extensions::{Cluster as ClusterCopy, DNSRecord, Infrastructure, Worker};
use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use api::kubernetes::core::{ConfigMap, Namespace, Secret};
use api::terrarium::Cluster;
use apimachinery::Resource;
use apimachinery::meta::DeleteOptions;
use controller::{Api, ListOptions, Patch};
use eventlog::EventLog as _;
use landscape::{Component, Options, preset, wait};
use serde_json::json;

use crate::support::{Audited, evening, is};

const ID: &str = "shoot--demo--local";

fn shoots(audited: &Audited) -> Api<Shoot> {
    Api::namespaced(&audited.admin, "garden", preset::NAMESPACE)
}

/// Every last operation of the Shoot, in order, without repetitions.
fn operations(audited: &Audited) -> Vec<(String, String, i32, String)> {
    let log = audited.landscape.log();
    let entries = audited.landscape.run(log.read(eventlog::Revision(0), log.head(), None)).expect("no failure");
    let mut all = Vec::new();
    for entry in entries.expect("retained") {
        if &*entry.key.resource != "core.gardener.cloud/shoots" {
            continue;
        }
        let shoot: Shoot = serde_json::from_slice(&entry.object.parts.concat()).expect("a Shoot");
        if let Some(operation) = shoot.status.last_operation {
            let row = (operation.r#type, operation.state, operation.progress, operation.description);
            if all.last() != Some(&row) {
                all.push(row);
            }
        }
    }
    all
}

fn names<K: Resource>(audited: &mut Audited, cluster: &str, namespace: &str) -> Vec<String> {
    let api = Api::<K>::namespaced(&audited.admin, cluster, namespace);
    let (objects, _) = audited.run(api.list(&ListOptions::default())).expect("a list");
    objects.iter().map(|object| object.metadata().name.clone()).collect()
}

#[test]
fn a_creation_reports_its_progress() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let shoot = audited.create_shoot("local");
    let rows = operations(&audited);
    let rows: Vec<(&str, &str, i32, &str)> =
        rows.iter().map(|(t, s, p, d)| (t.as_str(), s.as_str(), *p, d.as_str())).collect();
    assert_eq!(rows[0], ("Create", "Processing", 0, "Reconciliation of Shoot cluster initialized."));
    assert!(
        rows.contains(&("Create", "Processing", 87, "Waiting until shoot worker nodes have been reconciled")),
        "{rows:#?}"
    );
    let last = rows.last().expect("operations");
    assert_eq!(*last, ("Create", "Succeeded", 100, "Shoot cluster has been successfully reconciled."));
    assert!(rows.is_sorted_by_key(|row| row.2), "progress only rises: {rows:#?}");

    let status = &shoot.status;
    assert_eq!(status.technical_id, ID);
    assert_eq!(status.uid, shoot.metadata.uid);
    assert_eq!(status.seed_name.as_deref(), Some("local"));
    assert_eq!(status.observed_generation, shoot.metadata.generation);
    assert_eq!((status.gardener.name.as_str(), status.gardener.version.as_str()), ("local", "v1.120.0"));
    assert_eq!(status.cluster_identity, Some(format!("{ID}-{}-garden", status.uid)));
    let addresses: Vec<_> =
        status.advertised_addresses.iter().map(|each| (each.name.as_str(), each.url.as_str())).collect();
    assert_eq!(
        addresses,
        [
            ("external", "https://api.local.demo.sandbox.example.org"),
            ("internal", "https://api.local.demo.internal.sandbox.example.org"),
            ("service-account-issuer", "https://api.local.demo.internal.sandbox.example.org"),
        ]
    );
    assert!(status.last_errors.is_empty() && status.retry_cycle_start_time.is_none());
    assert!(shoot.metadata.has_finalizer("gardener"));
    assert_eq!(shoot.metadata.annotation("shoot.gardener.cloud/tasks"), None);
    let events: BTreeSet<_> = audited.events("local").into_iter().collect();
    for event in [("Reconciling", "Reconciling Shoot cluster"), ("Reconciled", "Reconciled Shoot cluster")] {
        assert!(events.contains(&(event.0.to_owned(), event.1.to_owned())), "{events:?}");
    }
}

#[test]
fn a_created_shoot_gets_healthy() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    audited.until("2023-07-27T21:30:00Z");
    let status = audited.shoot("local").status;
    let conditions: Vec<_> =
        status.conditions.iter().map(|c| (c.r#type.as_str(), c.status.as_str(), c.reason.as_str())).collect();
    assert_eq!(
        conditions,
        [
            ("APIServerAvailable", "True", "HealthzRequestSucceeded"),
            ("ControlPlaneHealthy", "True", "ControlPlaneRunning"),
            ("ObservabilityComponentsHealthy", "True", "ObservabilityComponentsRunning"),
            ("EveryNodeReady", "True", "EveryNodeReady"),
            ("SystemComponentsHealthy", "True", "SystemComponentsRunning"),
        ]
    );
    let constraints: Vec<_> = status.constraints.iter().map(|c| (c.r#type.as_str(), c.status.as_str())).collect();
    assert_eq!(constraints, [("HibernationPossible", "True"), ("MaintenancePreconditionsSatisfied", "True")]);
}

#[test]
fn credentials_of_a_shoot_are_deleted_with_it() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let shoot = audited.create_shoot("local");
    let own = |names: Vec<String>| -> Vec<String> {
        names.into_iter().filter_map(|name| name.strip_prefix("local.").map(ToOwned::to_owned)).collect()
    };
    let namespace = preset::NAMESPACE;
    assert_eq!(own(names::<ConfigMap>(&mut audited, "garden", namespace)), ["ca-cluster", "ca-kubelet"]);
    assert_eq!(own(names::<Secret>(&mut audited, "garden", namespace)), ["ca-cluster", "monitoring", "ssh-keypair"]);
    assert_eq!(own(names::<InternalSecret>(&mut audited, "garden", namespace)), ["ca-client"]);
    let secrets = Api::<InternalSecret>::namespaced(&audited.admin, "garden", namespace);
    let secret = audited.run(secrets.get("local.ca-client")).expect("it is there");
    let owner = &secret.metadata.owner_references[0];
    assert_eq!((owner.kind.as_str(), &owner.uid), ("Shoot", &shoot.metadata.uid));
    let clusters = Api::<Cluster>::all(&audited.admin, "runtime");
    let cluster = audited.run(clusters.get(ID)).expect("it is there");
    assert_eq!(cluster.spec.client_ca.as_bytes(), secret.data["ca.crt"].0);

    let api = shoots(&audited);
    let confirm = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
    audited.run(api.patch("local", &Patch::Merge(confirm))).expect("an annotation");
    audited.run(api.delete("local", &DeleteOptions::default())).expect("it is confirmed");
    audited.until("2023-07-27T21:00:00Z");
    assert_eq!(own(names::<ConfigMap>(&mut audited, "garden", namespace)), [""; 0]);
    assert_eq!(own(names::<Secret>(&mut audited, "garden", namespace)), [""; 0]);
    assert_eq!(own(names::<InternalSecret>(&mut audited, "garden", namespace)), [""; 0]);
}

#[test]
fn a_created_shoot_leaves_the_objects_of_its_components() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    audited.until("2023-07-27T21:30:00Z");
    assert_eq!(
        names::<Deployment>(&mut audited, "seed--local", ID),
        [
            "gardener-resource-manager",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "machine-controller-manager",
        ]
    );
    assert_eq!(names::<StatefulSet>(&mut audited, "seed--local", ID), ["etcd-events", "etcd-main"]);
    assert_eq!(names::<Deployment>(&mut audited, ID, "kube-system"), ["coredns", "metrics-server", "vpn-shoot"]);
    assert_eq!(
        names::<DaemonSet>(&mut audited, ID, "kube-system"),
        ["apiserver-proxy", "calico-node", "kube-proxy-local-v1.26.4", "node-exporter", "node-problem-detector"]
    );
    assert_eq!(names::<Worker>(&mut audited, "seed--local", ID), ["local"]);
    assert_eq!(names::<DNSRecord>(&mut audited, "seed--local", ID), ["local-external", "local-internal"]);
    let sets = Api::<DaemonSet>::namespaced(&audited.admin, ID, "kube-system");
    let proxy = audited.run(sets.get("kube-proxy-local-v1.26.4")).expect("it exists");
    assert_eq!((proxy.status.desired_number_scheduled, proxy.status.number_available), (3, 3));
    let namespace = audited.run(Api::<Namespace>::all(&audited.admin, "seed--local").get(ID)).expect("it exists");
    assert_eq!(namespace.metadata.label("gardener.cloud/role"), Some("shoot"));
    assert_eq!(namespace.metadata.label("shoot.gardener.cloud/provider"), Some("local"));
    assert_eq!(namespace.metadata.label("networking.shoot.gardener.cloud/provider"), Some("calico"));
    let copy = audited.run(Api::<ClusterCopy>::all(&audited.admin, "seed--local").get(ID)).expect("it exists");
    assert_eq!(copy.spec.shoot.value()["status"]["lastOperation"]["state"], "Succeeded");
    assert_eq!(copy.spec.cloud_profile.value()["kind"], "CloudProfile");
}

#[test]
fn a_seed_is_registered_and_ready() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let seed = audited.run(Api::<Seed>::all(&audited.admin, "garden").get("local")).expect("it is registered");
    assert_eq!(seed.metadata.label("gardener.cloud/role"), Some("seed"));
    let operation = seed.status.last_operation.expect("reconciled");
    assert_eq!(
        (operation.r#type.as_str(), operation.state.as_str(), operation.progress, operation.description.as_str()),
        ("Reconcile", "Succeeded", 100, "Seed cluster has been successfully reconciled.")
    );
    assert_eq!(seed.status.kubernetes_version.as_deref(), Some("v1.31.1"));
    let mut conditions: Vec<_> =
        seed.status.conditions.iter().map(|c| (c.r#type.as_str(), c.status.as_str(), c.reason.as_str())).collect();
    conditions.sort_unstable();
    assert_eq!(
        conditions,
        [
            ("ExtensionsReady", "True", "AllExtensionsReady"),
            ("GardenletReady", "True", "GardenletReady"),
            ("SeedSystemComponentsHealthy", "True", "SystemComponentsRunning"),
        ]
    );
}

#[test]
fn a_deleted_shoot_leaves_nothing_behind() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let api = shoots(&audited);
    let confirm = json!({"metadata": {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}});
    audited.run(api.patch("local", &Patch::Merge(confirm))).expect("an annotation");
    audited.run(api.delete("local", &DeleteOptions::default())).expect("it is confirmed");
    audited.until("2023-07-27T21:00:00Z");
    assert!(audited.run(api.get_opt("local")).expect("an answer").is_none(), "{:#?}", operations(&audited));
    let rows = operations(&audited);
    let deletion: Vec<_> = rows.iter().filter(|row| row.0 == "Delete").collect();
    assert_eq!(deletion[0].3, "Deletion of Shoot cluster in progress.");
    let last = deletion.last().expect("a deletion");
    assert_eq!(
        (last.1.as_str(), last.2, last.3.as_str()),
        ("Succeeded", 100, "Shoot cluster has been successfully deleted.")
    );
    assert!(deletion.iter().any(|row| row.3.contains("Waiting until shoot worker nodes have been terminated")));
    assert!(deletion.is_sorted_by_key(|row| row.2), "{deletion:#?}");
    let clusters = audited.run(Api::<Cluster>::all(&audited.admin, "runtime").get_opt(ID)).expect("an answer");
    assert!(clusters.is_none());
    let namespace = audited.run(Api::<Namespace>::all(&audited.admin, "seed--local").get_opt(ID)).expect("an answer");
    assert!(namespace.is_none());
    let copy = audited.run(Api::<ClusterCopy>::all(&audited.admin, "seed--local").get_opt(ID)).expect("an answer");
    assert!(copy.is_none());
    assert!(!names::<Secret>(&mut audited, "garden", preset::NAMESPACE).contains(&"local.monitoring".to_owned()));
    assert!(names::<Infrastructure>(&mut audited, "seed--local", ID).is_empty());
}

#[test]
fn a_hibernated_shoot_wakes_up_with_new_nodes() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let before: BTreeSet<String> = audited.nodes("local").into_iter().map(|node| node.metadata.name).collect();
    // After an operation the constraint is evaluated again, and until then hibernation is rejected.
    audited.until("2023-07-27T21:30:00Z");
    let api = shoots(&audited);
    let hibernate = |enabled: bool| Patch::Merge(json!({"spec": {"hibernation": {"enabled": enabled}}}));
    audited.run(api.patch("local", &hibernate(true))).expect("hibernation is possible");
    audited.until_done(
        "2023-07-27T22:00:00Z",
        wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded") && shoot.status.hibernated),
    );
    assert!(audited.nodes("local").is_empty());
    let deployments = Api::<Deployment>::namespaced(&audited.admin, "seed--local", ID);
    let (deployments, _) = audited.run(deployments.list(&ListOptions::default())).expect("a list");
    assert!(deployments.iter().all(|deployment| deployment.spec.replicas == Some(0)));
    audited.until("2023-07-27T22:10:00Z");
    let status = audited.shoot("local").status;
    for condition in &status.conditions {
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "ConditionNotChecked"));
        assert_eq!(condition.message, "Shoot cluster has been hibernated.");
    }
    assert_eq!(status.constraints.len(), 4);

    audited.run(api.patch("local", &hibernate(false))).expect("it may wake up");
    audited.until_done(
        "2023-07-27T23:00:00Z",
        wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded") && !shoot.status.hibernated),
    );
    assert_eq!(audited.nodes("local").len(), 3, "they are waited for");
    audited.until("2023-07-27T23:30:00Z");
    let after: BTreeSet<String> = audited.nodes("local").into_iter().map(|node| node.metadata.name).collect();
    assert_eq!(after.len(), 3);
    assert!(before.is_disjoint(&after));
}

/// A successful operation sets the constraint to Progressing; care evaluates it right then, however recent its last
/// evaluation is (ShootPredicate of gardenlet's care controller).
#[test]
fn a_shoot_can_be_hibernated_a_second_after_an_operation() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let api = shoots(&audited);
    for round in 0..3 {
        let mut operation =
            Patch::Merge(json!({"metadata": {"annotations": {"gardener.cloud/operation": "reconcile"}}}));
        if round == 1 {
            operation = Patch::Merge(json!({"spec": {"kubernetes": {"version": "1.27.1"}}}));
        }
        audited.run(api.patch("local", &operation)).expect("it is accepted");
        let begun = wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Processing"));
        audited.until_done("2023-07-27T23:00:00Z", begun);
        let done = wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded"));
        let shoot = audited.until_done("2023-07-27T23:00:00Z", done);
        let succeeded = shoot.status.last_operation.expect("an operation").last_update_time.0;
        audited.until(&(succeeded + chrono::TimeDelta::seconds(2)).to_rfc3339());
        let constraints = audited.shoot("local").status.constraints;
        let possible = constraints.iter().find(|constraint| constraint.r#type == "HibernationPossible");
        assert_eq!(possible.map(|constraint| constraint.status.as_str()), Some("True"), "round {round}");
    }
    let hibernate = Patch::Merge(json!({"spec": {"hibernation": {"enabled": true}}}));
    audited.run(api.patch("local", &hibernate)).expect("hibernation is possible");
}

#[test]
fn a_shoot_created_hibernated_gets_its_cluster_on_wake_up() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    let mut shoot = preset::shoot("local");
    shoot.spec.hibernation = Some(Hibernation { enabled: Some(true), ..Hibernation::default() });
    let api = shoots(&audited);
    audited.run(api.create(&shoot)).expect("a Shoot may be born asleep");
    audited.until_done(
        "2023-07-27T21:00:00Z",
        wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Succeeded") && shoot.status.hibernated),
    );
    let wake_up = Patch::Merge(json!({"spec": {"hibernation": {"enabled": false}}}));
    audited.run(api.patch("local", &wake_up)).expect("it may wake up");
    audited.until_done(
        "2023-07-27T22:00:00Z",
        wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded") && !shoot.status.hibernated),
    );
    assert_eq!(audited.nodes("local").len(), 3);
}

#[test]
fn a_workerless_shoot_needs_no_provider() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    let mut shoot = preset::shoot("local");
    shoot.spec.provider.workers.clear();
    shoot.spec.networking = None;
    shoot.spec.secret_binding_name = None;
    if let Some(maintenance) = &mut shoot.spec.maintenance
        && let Some(update) = &mut maintenance.auto_update
    {
        update.machine_image_version = None;
    }
    let api = shoots(&audited);
    audited.run(api.create(&shoot)).expect("a workerless Shoot");
    let shoot = audited
        .until_done("2023-07-27T21:00:00Z", wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Succeeded")));
    assert!(shoot.status.technical_id == ID);
    audited.until("2023-07-27T21:30:00Z");
    let conditions: Vec<_> =
        audited.shoot("local").status.conditions.into_iter().map(|each| (each.r#type, each.status)).collect();
    assert_eq!(conditions.len(), 4, "{conditions:?}");
    assert!(conditions.iter().all(|(_, status)| status == "True"), "{conditions:?}");
    assert!(names::<Infrastructure>(&mut audited, "seed--local", ID).is_empty());
    assert_eq!(
        names::<Deployment>(&mut audited, "seed--local", ID),
        ["gardener-resource-manager", "kube-apiserver", "kube-controller-manager"]
    );
}

#[test]
fn a_patch_version_reaches_nodes_without_replacing_them() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let names = |audited: &mut Audited| -> BTreeSet<String> {
        audited.nodes("local").into_iter().map(|node| node.metadata.name).collect()
    };
    let before = names(&mut audited);
    let profiles = Api::<api::core::CloudProfile>::all(&audited.admin, "garden");
    let mut profile = audited.run(profiles.get("local")).expect("it exists");
    profile
        .spec
        .kubernetes
        .versions
        .push(api::core::ExpirableVersion { version: "1.26.5".to_owned(), ..Default::default() });
    audited.run(profiles.replace(&profile)).expect("a new version");
    let api = shoots(&audited);
    let patch = Patch::Merge(json!({"spec": {"kubernetes": {"version": "1.26.5"}}}));
    audited.run(api.patch("local", &patch)).expect("a higher patch version");
    audited.until_done(
        "2023-07-27T22:00:00Z",
        wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded")),
    );
    assert_eq!(names(&mut audited), before);
    for node in audited.nodes("local") {
        assert_eq!(node.status.node_info.kubelet_version, "v1.26.5");
    }
    let rows = operations(&audited);
    let text = "Waiting until all shoot worker nodes have updated the operating system config";
    assert!(rows.iter().any(|row| row.3 == text), "{rows:#?}");
}

/// No controller processes the extension objects: the flow waits five minutes, reports an error, and retries.
#[test]
fn a_missing_extension_is_an_error_until_reinstalled() {
    let mut audited = Audited::start(Options::new(1, evening()));
    let provider = Component::ProviderLocal("local".to_owned());
    audited.landscape.crash_component(&provider).expect("it ends");
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    let api = shoots(&audited);
    audited.run(api.create(&preset::shoot("local"))).expect("the Shoot is valid");
    let failed = audited
        .until_done("2023-07-27T20:30:00Z", wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Error")));
    let operation = failed.status.last_operation.expect("it failed");
    let start = "Flow \"Shoot cluster reconciliation\" encountered task errors: [task \"";
    assert!(operation.description.starts_with(start), "{}", operation.description);
    assert!(operation.description.ends_with("] Operation will be retried."), "{}", operation.description);
    let task = "Waiting until shoot infrastructure has been reconciled";
    let error = failed.status.last_errors.iter().find(|error| error.task_id.as_deref() == Some(task));
    let text = &error.expect("the wait for the infrastructure failed").description;
    let prefix = format!("task \"{task}\" failed: Error while waiting for Infrastructure {ID}/local to become ready: ");
    assert!(text.starts_with(&prefix), "{text}");
    assert!(audited.events("local").iter().any(|(reason, message)| {
        reason == "ReconcileError" && message.starts_with(start) && message.ends_with(']')
    }));
    audited.landscape.start_component(provider);
    let shoot = audited
        .until_done("2023-07-27T21:30:00Z", wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Succeeded")));
    assert!(shoot.status.last_errors.is_empty());
}

/// A task that is requested during a run is performed by the next one.
#[test]
fn tasks_that_are_added_meanwhile_are_not_lost() {
    const TASKS: &str = "shoot.gardener.cloud/tasks";
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let api = shoots(&audited);
    let until = |audited: &mut Audited, generation| {
        let is_done =
            |shoot: &Shoot| shoot.status.observed_generation == generation && is(shoot, "Reconcile", "Succeeded");
        audited.until_done("2023-07-27T23:00:00Z", wait::for_object(&api, "local", is_done))
    };
    // One more node: the run takes a while after the infrastructure is done.
    audited.until("2023-07-27T21:00:00Z");
    let present = audited.shoot("local");
    let mut larger = present.clone();
    larger.spec.provider.workers[0].minimum = 4;
    larger.spec.provider.workers[0].maximum = 4;
    larger.metadata.annotations.insert(TASKS.to_owned(), "deployInfrastructure".to_owned());
    let asked = audited.run(api.update(&present, &larger)).expect("valid");
    audited.until("2023-07-27T21:00:05Z");
    let tasks = Patch::Merge(json!({ "metadata": { "annotations": { TASKS: "restartCoreAddons,foo" } } }));
    let running = audited.run(api.patch("local", &tasks)).expect("valid");
    assert!(is(&running, "Reconcile", "Processing"), "{:?}", running.status.last_operation);
    let done = until(&mut audited, asked.metadata.generation);
    assert_eq!(done.metadata.annotation(TASKS), Some("restartCoreAddons,foo"));

    let again = Patch::Merge(json!({ "metadata": { "annotations": { "gardener.cloud/operation": "reconcile" } } }));
    let asked = audited.run(api.patch("local", &again)).expect("valid");
    let done = until(&mut audited, asked.metadata.generation);
    assert_eq!(done.metadata.annotation(TASKS), Some("foo"), "an unknown task is never done");
}

/// Infrastructure and DNSRecords act when maintenance requires it; a record acts at once when its published values
/// changed.
#[test]
fn infrastructure_and_dns_records_rest_outside_of_the_window() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let admin = audited.admin.clone();
    let acted = |audited: &mut Audited| {
        let infrastructure = Api::<Infrastructure>::namespaced(&admin, "seed--local", ID);
        let infrastructure = audited.run(infrastructure.get("local")).expect("it exists").status.last_operation;
        let records = Api::<DNSRecord>::namespaced(&admin, "seed--local", ID);
        let [internal, external] = ["local-internal", "local-external"]
            .map(|name| audited.run(records.get(name)).expect("it exists").status.last_operation);
        [infrastructure, internal, external].map(|operation| operation.expect("it acted").last_update_time)
    };
    let api = shoots(&audited);
    let reconcile = |audited: &mut Audited, limit: &str| {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"gardener.cloud/operation": "reconcile"}}}));
        let generation = audited.run(api.patch("local", &patch)).expect("asked for").metadata.generation;
        audited.until_done(
            limit,
            wait::for_object(&api, "local", |shoot| {
                shoot.status.observed_generation == generation && is(shoot, "Reconcile", "Succeeded")
            }),
        );
    };
    let created = acted(&mut audited);
    audited.until("2023-07-27T21:00:00Z");
    reconcile(&mut audited, "2023-07-27T21:10:00Z");
    assert_eq!(acted(&mut audited), created);

    let secrets = Api::<Secret>::namespaced(&admin, "garden", "garden");
    let zone = Patch::Merge(json!({"metadata": {"annotations": {"dns.gardener.cloud/zone": "other"}}}));
    audited.run(secrets.patch("internal-domain", &zone)).expect("another zone");
    reconcile(&mut audited, "2023-07-27T21:20:00Z");
    let moved = acted(&mut audited);
    assert!(moved[1] > created[1], "the internal record follows its zone");
    assert_eq!((moved[0], moved[2]), (created[0], created[2]));

    audited.until("2023-07-28T10:00:00Z");
    let maintained = acted(&mut audited);
    assert!(maintained.iter().zip(&moved).all(|(now, before)| now > before), "{maintained:?}");
}
