// SPDX-License-Identifier: Apache-2.0
//! Worker pools become nodes: the simulated provider alone, with requests like gardenlet's.

use api::core::Shoot;
use api::extensions::{
    Cluster, ClusterSpec, Infrastructure, MachineImage, OperatingSystemConfig, OperatingSystemConfigSpec, Worker,
    WorkerPool, WorkerSpec,
};
use api::kubernetes::core::{Event, Namespace, Node, Secret};
use api::machine::{Machine, MachineClass, MachineDeployment, MachineSet};
use api::terrarium;
use apimachinery::Resource;
use apimachinery::meta::{ByteString, DeleteOptions, IntOrString, ObjectMeta, RawExtension};
use controller::{Api, ListOptions};
use domain::worker_pool::kubelet::kubelet_file;
use landscape::{Component, Options};

use crate::support::{self, Audited, evening};

pub(crate) const SEED: &str = "seed--local";
pub(crate) const SHOOT: &str = "shoot--demo--local";
const CONFIGURATION: &str = "gardener-node-agent-local";
const SECRET_NAME: &str = "worker.gardener.cloud/gardener-node-agent-secret-name";

/// A landscape without gardenlet, with the cluster and the control plane namespace of a shoot.
pub(crate) fn landscape(seed: u64) -> Audited {
    landscape_of(Options::new(seed, evening()))
}

pub(crate) fn landscape_of(options: Options) -> Audited {
    let mut audited = Audited::start(options);
    audited.landscape.stop_component(&Component::Gardenlet("local".into())).expect("gardenlet stops");
    let admin = audited.admin.clone();
    audited.run(async {
        let cluster = terrarium::Cluster {
            metadata: named("", SHOOT),
            spec: terrarium::ClusterSpec { kubernetes_version: "1.26.4".into(), ..terrarium::ClusterSpec::default() },
        };
        Api::all(&admin, "runtime").create(&cluster).await.expect("the cluster is created");
        let namespace = Namespace { metadata: named("", SHOOT), ..Namespace::default() };
        Api::all(&admin, SEED).create(&namespace).await.expect("the namespace is created");
        let shoot = shoot();
        let raw = |value: serde_json::Value| RawExtension::from(value);
        let cluster = Cluster {
            metadata: named("", SHOOT),
            spec: ClusterSpec {
                cloud_profile: raw(serde_json::json!({})),
                seed: None,
                shoot: raw(serde_json::to_value(&shoot).expect("a Shoot is JSON")),
            },
        };
        Api::all(&admin, SEED).create(&cluster).await.expect("the Cluster is created");
    });
    audited
}

pub(crate) fn shoot() -> Shoot {
    let mut shoot = Shoot { metadata: named("garden-demo", "local"), ..Shoot::default() };
    shoot.spec.kubernetes.version = "1.26.4".into();
    shoot
}

/// Writes the Shoot into its Cluster, as gardenlet does at the start of an operation.
pub(crate) fn publish(audited: &mut Audited, shoot: &Shoot) {
    let clusters = Api::<Cluster>::all(&audited.admin, SEED);
    let old = audited.run(clusters.get(SHOOT)).expect("the Cluster is there");
    let mut new = old.clone();
    new.spec.shoot = RawExtension::from(serde_json::to_value(shoot).expect("a Shoot is JSON"));
    audited.run(clusters.update(&old, &new)).expect("the Cluster is changed");
}

pub(crate) fn named(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta::named(namespace, name)
}

pub(crate) fn worker(minimum: i32, surge: i32, unavailable: i32) -> Worker {
    let mut worker = Worker { metadata: named(SHOOT, "local"), ..Worker::default() };
    order(&mut worker.metadata);
    let mut pool = WorkerPool {
        name: "local".into(),
        machine_type: "local".into(),
        machine_image: MachineImage { name: "gardenlinux".into(), version: "934.8.0".into() },
        minimum,
        maximum: minimum,
        max_surge: IntOrString::Int(surge),
        max_unavailable: IntOrString::Int(unavailable),
        kubernetes_version: Some("1.26.4".into()),
        ..WorkerPool::default()
    };
    pool.user_data_secret_ref.key = "cloud_config".into();
    pool.labels.insert("worker.gardener.cloud/pool".into(), "local".into());
    worker.spec =
        WorkerSpec { r#type: "local".into(), region: "local".into(), pools: vec![pool], ..WorkerSpec::default() };
    worker
}

fn order(metadata: &mut ObjectMeta) {
    metadata.annotations.insert("gardener.cloud/operation".into(), "reconcile".into());
}

/// Writes the configuration that installs a kubelet on the nodes of the pool, as gardenlet does.
fn configure(audited: &mut Audited, version: &str) {
    let configuration =
        OperatingSystemConfigSpec { files: vec![kubelet_file(version)], ..OperatingSystemConfigSpec::default() };
    let text = yaml::to_string(&configuration).expect("it is YAML");
    let mut metadata = named("kube-system", CONFIGURATION);
    metadata.labels.insert("gardener.cloud/role".into(), "operating-system-config".into());
    metadata.annotations.insert("checksum/data-script".into(), version.into());
    let data = [("osc.yaml".to_owned(), ByteString(text.into_bytes()))].into();
    let new = Secret { metadata, data, r#type: "Opaque".into(), ..Secret::default() };
    let secrets = Api::<Secret>::namespaced(&audited.admin, SHOOT, "kube-system");
    audited.run(async {
        match secrets.get(CONFIGURATION).await {
            Ok(old) => secrets.update(&old, &new).await,
            Err(_) => secrets.create(&new).await,
        }
        .expect("the Secret is written")
    });
}

pub(crate) fn change(audited: &mut Audited, change: impl FnOnce(&mut WorkerPool)) {
    let workers = Api::<Worker>::namespaced(&audited.admin, SEED, SHOOT);
    let old = audited.run(workers.get("local")).expect("the Worker is there");
    let mut new = old.clone();
    change(&mut new.spec.pools[0]);
    order(&mut new.metadata);
    audited.run(workers.update(&old, &new)).expect("the Worker is changed");
}

pub(crate) fn all<K: Resource>(audited: &mut Audited, cluster: &str) -> Vec<K> {
    let api = Api::<K>::all(&audited.admin, cluster);
    audited.run(api.list(&ListOptions::default())).expect("the kind is served").0
}

pub(crate) fn nodes(audited: &mut Audited) -> Vec<(String, String)> {
    let info = |node: Node| (node.status.node_info.kubelet_version, node.status.node_info.os_image);
    all::<Node>(audited, SHOOT).into_iter().map(info).collect()
}

pub(crate) fn until_worker_succeeds(audited: &mut Audited, limit: &str) {
    let limit = support::instant(limit);
    loop {
        audited.landscape.settle().expect("it settles");
        let workers = Api::<Worker>::namespaced(&audited.admin, SEED, SHOOT);
        let worker = audited.run(workers.get("local")).expect("the Worker is there");
        let succeeded = worker.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded");
        if succeeded && worker.status.observed_generation == worker.metadata.generation {
            return;
        }
        let next = audited.landscape.next_timer().filter(|next| *next <= limit);
        let next = next.unwrap_or_else(|| panic!("the Worker is not done: {:#?}\n{}", worker.status, audited.tail(60)));
        audited.until(&next.to_rfc3339());
    }
}

#[test]
fn a_worker_becomes_running_nodes() {
    let mut audited = landscape(1);
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SEED).create(&worker(3, 1, 0))).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    assert_eq!(nodes(&mut audited), vec![("v1.26.4".to_owned(), "gardenlinux 934.8.0".to_owned()); 3]);
    for node in all::<Node>(&mut audited, SHOOT) {
        assert_eq!(node.spec.taints, [], "a running node is not tainted");
        assert_eq!(node.metadata.labels["worker.gardener.cloud/pool"], "local");
        assert_eq!(node.metadata.labels["worker.gardener.cloud/kubernetes-version"], "1.26.4");
        assert_eq!(node.spec.provider_id, format!("local:///local//{}", node.metadata.name));
        assert!(node.status.addresses.iter().any(|address| address.r#type == "InternalIP"));
    }
    let deployments = all::<MachineDeployment>(&mut audited, SEED);
    assert_eq!(deployments[0].metadata.name, "shoot--demo--local-local");
    assert_eq!((deployments[0].status.ready_replicas, deployments[0].status.updated_replicas), (3, 3));
    let phases: Vec<_> =
        all::<Machine>(&mut audited, SEED).into_iter().map(|m| m.status.current_status.phase).collect();
    assert_eq!(phases, ["Running", "Running", "Running"]);
    let sets = all::<MachineSet>(&mut audited, SEED);
    assert_eq!(sets.len(), 1);
    let created: Vec<_> =
        all::<Event>(&mut audited, SEED).into_iter().filter(|event| event.reason == "SuccessfulCreate").collect();
    assert_eq!(created.len(), 3);
    let tokens = all::<Secret>(&mut audited, SHOOT);
    let left: Vec<_> = tokens.iter().filter(|secret| secret.r#type == "bootstrap.kubernetes.io/token").collect();
    assert!(left.is_empty(), "tokens go when their machines have joined: {left:?}");
}

/// A new machine joins with its own token.
#[test]
fn a_new_machine_has_a_bootstrap_token_until_joined() {
    let mut audited = landscape(9);
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SEED).create(&worker(1, 1, 0))).expect("the Worker is created");
    audited.until("2023-07-27T20:00:50Z");
    let machine = all::<Machine>(&mut audited, SEED).remove(0);
    assert_eq!(machine.status.current_status.phase, "Pending");
    assert!(machine.status.current_status.timeout_active);
    let tokens = all::<Secret>(&mut audited, SHOOT);
    let token = tokens.iter().find(|secret| secret.metadata.name.starts_with("bootstrap-token-")).expect("a token");
    assert_eq!(token.metadata.namespace, "kube-system");
    let text = |key: &str| String::from_utf8(token.data[key].0.clone()).expect("text");
    let name = &machine.metadata.name;
    assert_eq!(
        text("description"),
        format!("A bootstrap token for machine \"{name}\" generated by MachineControllerManager.")
    );
    assert_eq!(text("token-secret").len(), 16);
}

#[test]
fn new_images_replace_all_nodes_and_patches_none() {
    let mut audited = landscape(2);
    let admin = audited.admin.clone();
    configure(&mut audited, "1.26.4");
    let mut worker = worker(3, 1, 0);
    let labels = &mut worker.spec.pools[0].labels;
    labels.insert(SECRET_NAME.into(), CONFIGURATION.into());
    audited.run(Api::all(&admin, SEED).create(&worker)).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    let names = |nodes: Vec<Node>| nodes.into_iter().map(|node| node.metadata.name).collect::<Vec<_>>();
    let first = names(all(&mut audited, SHOOT));

    configure(&mut audited, "1.26.5");
    change(&mut audited, |pool| pool.kubernetes_version = Some("1.26.5".into()));
    until_worker_succeeds(&mut audited, "2023-07-27T20:20:00Z");
    audited.until("2023-07-27T20:30:00Z");
    assert_eq!(names(all(&mut audited, SHOOT)), first, "a patch version replaces no node");
    assert_eq!(nodes(&mut audited)[2], ("v1.26.5".to_owned(), "gardenlinux 934.8.0".to_owned()));
    let applied: Vec<_> =
        all::<Event>(&mut audited, SHOOT).into_iter().filter(|event| event.reason == "OSCApplied").collect();
    assert_eq!(applied.len(), 3);

    change(&mut audited, |pool| {
        pool.labels.retain(|label, _| label != SECRET_NAME);
        pool.kubernetes_version = Some("1.27.1".into());
        pool.machine_image.version = "1096.1.0".into();
    });
    until_worker_succeeds(&mut audited, "2023-07-27T21:30:00Z");
    assert_eq!(nodes(&mut audited), vec![("v1.27.1".to_owned(), "gardenlinux 1096.1.0".to_owned()); 3]);
    let second = names(all(&mut audited, SHOOT));
    assert!(second.iter().all(|name| !first.contains(name)), "{first:?} {second:?}");
    audited.until("2023-07-27T22:00:00Z");
    assert_eq!(all::<MachineClass>(&mut audited, SEED).len(), 1, "the class of the old machines is gone");
    assert_eq!(all::<MachineSet>(&mut audited, SEED).len(), 1, "the old set is gone");
    for node in all::<Node>(&mut audited, SHOOT) {
        assert!(!node.metadata.annotations.keys().any(|key| key.contains("scale-down-disabled")), "{node:#?}");
    }
    assert_eq!(audited.landscape.next_timer(), None, "machines that run need no timer");
}

#[test]
fn a_deleted_worker_takes_its_machines_along() {
    let mut audited = landscape(3);
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SEED).create(&worker(2, 1, 0))).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    let workers = Api::<Worker>::namespaced(&admin, SEED, SHOOT);
    audited.run(workers.delete("local", &DeleteOptions::default())).expect("the Worker is deleted");
    audited.until("2023-07-27T20:30:00Z");
    assert_eq!(all::<Worker>(&mut audited, SEED), []);
    assert_eq!(all::<MachineDeployment>(&mut audited, SEED), []);
    assert_eq!(all::<MachineSet>(&mut audited, SEED), []);
    assert_eq!(all::<Machine>(&mut audited, SEED), []);
    assert_eq!(all::<MachineClass>(&mut audited, SEED), []);
    assert_eq!(all::<Node>(&mut audited, SHOOT), []);
}

/// The handshake: annotation removed, generation observed, last operation `Succeeded`; no further writes afterwards.
#[test]
fn extension_objects_are_answered_once() {
    let mut audited = landscape(4);
    let admin = audited.admin.clone();
    let mut infrastructure = Infrastructure { metadata: named(SHOOT, "local"), ..Infrastructure::default() };
    infrastructure.spec.r#type = "aws".into();
    infrastructure.spec.region = "eu".into();
    order(&mut infrastructure.metadata);
    let mut config = OperatingSystemConfig { metadata: named(SHOOT, "key-init"), ..OperatingSystemConfig::default() };
    config.spec.r#type = "gardenlinux".into();
    config.spec.purpose = "provision".into();
    order(&mut config.metadata);
    audited.run(async {
        Api::all(&admin, SEED).create(&infrastructure).await.expect("the Infrastructure is created");
        Api::all(&admin, SEED).create(&config).await.expect("the OperatingSystemConfig is created");
    });
    audited.until("2023-07-27T20:05:00Z");
    let answered = all::<Infrastructure>(&mut audited, SEED).remove(0);
    assert_eq!(answered.metadata.annotations.get("gardener.cloud/operation"), None);
    assert_eq!(answered.metadata.finalizers, ["extensions.gardener.cloud/infrastructure"]);
    assert_eq!(answered.status.observed_generation, answered.metadata.generation);
    let operation = answered.status.last_operation.clone().expect("an operation");
    assert_eq!(
        (operation.r#type.as_str(), operation.state.as_str(), operation.progress, operation.description.as_str()),
        ("Create", "Succeeded", 100, "Successfully reconciled Infrastructure"),
    );
    assert_eq!(answered.status.nodes_cidr.as_deref(), Some("10.250.0.0/16"));
    let config = all::<OperatingSystemConfig>(&mut audited, SEED).remove(0);
    let secret = config.status.cloud_config.expect("user data").secret_ref;
    assert_eq!(secret.name, "osc-result-key-init");
    let secrets = Api::<Secret>::namespaced(&admin, SEED, SHOOT);
    assert!(audited.run(secrets.get(&secret.name)).expect("the Secret").data.contains_key("cloud_config"));

    let entries = audited.landscape.counts().entries;
    audited.until("2023-07-28T20:00:00Z");
    assert_eq!(audited.landscape.counts().entries, entries, "nothing is written without a reason");

    let infrastructures = Api::<Infrastructure>::namespaced(&admin, SEED, SHOOT);
    audited.run(infrastructures.delete("local", &DeleteOptions::default())).expect("deleted");
    audited.until("2023-07-28T20:05:00Z");
    assert_eq!(all::<Infrastructure>(&mut audited, SEED), []);
}

#[test]
fn each_zone_has_a_machine_deployment() {
    let mut audited = landscape(5);
    let admin = audited.admin.clone();
    let mut three = worker(3, 1, 0);
    three.spec.pools[0].zones = vec!["a".into(), "b".into()];
    audited.run(Api::all(&admin, SEED).create(&three)).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    let zones = |nodes: Vec<Node>| {
        let zone = |node: Node| node.metadata.labels["topology.kubernetes.io/zone"].clone();
        nodes.into_iter().map(zone).collect::<Vec<_>>()
    };
    assert_eq!(zones(all(&mut audited, SHOOT)), ["a", "a", "b"], "the first zone gets the remainder");
    change(&mut audited, |pool| drop(pool.zones.pop()));
    until_worker_succeeds(&mut audited, "2023-07-27T20:20:00Z");
    assert_eq!(zones(all(&mut audited, SHOOT)), ["a", "a", "a"]);
    let deployments = all::<MachineDeployment>(&mut audited, SEED);
    assert_eq!(deployments.len(), 1);
    assert_eq!(deployments[0].metadata.name, "shoot--demo--local-local-z1");
}

#[test]
fn labels_and_taints_reach_running_nodes() {
    let mut audited = landscape(6);
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SEED).create(&worker(2, 1, 0))).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    let sets: Vec<String> = all::<MachineSet>(&mut audited, SEED).into_iter().map(|set| set.metadata.name).collect();
    change(&mut audited, |pool| {
        pool.labels.insert("team".into(), "blue".into());
        pool.taints.push(api::kubernetes::core::Taint {
            key: "dedicated".into(),
            effect: "NoSchedule".into(),
            ..Default::default()
        });
    });
    until_worker_succeeds(&mut audited, "2023-07-27T20:20:00Z");
    for node in all::<Node>(&mut audited, SHOOT) {
        assert_eq!(node.metadata.labels["team"], "blue");
        assert!(node.spec.taints.iter().any(|taint| taint.key == "dedicated"));
    }
    let same: Vec<String> = all::<MachineSet>(&mut audited, SEED).into_iter().map(|set| set.metadata.name).collect();
    assert_eq!(same, sets, "no set is made for a label");
}

#[test]
fn a_hibernated_shoot_wakes_up_with_the_minimum() {
    for schedule in [None, Some(1), Some(2), Some(3)] {
        check_hibernation(Options { schedule, ..Options::new(7, evening()) });
    }
}

fn check_hibernation(options: Options) {
    let mut audited = landscape_of(options);
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SEED).create(&worker(2, 1, 0))).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    let names = |nodes: Vec<Node>| nodes.into_iter().map(|node| node.metadata.name).collect::<Vec<_>>();
    let before = names(all(&mut audited, SHOOT));
    let mut asleep = shoot();
    asleep.spec.hibernation = Some(api::core::Hibernation { enabled: Some(true), ..api::core::Hibernation::default() });
    publish(&mut audited, &asleep);
    change(&mut audited, |_| ());
    audited.until("2023-07-27T20:20:00Z");
    assert_eq!(all::<Node>(&mut audited, SHOOT), []);
    assert_eq!(all::<MachineSet>(&mut audited, SEED).len(), 1, "the set stays");
    publish(&mut audited, &shoot());
    change(&mut audited, |_| ());
    audited.until("2023-07-27T20:30:00Z");
    let after = names(all(&mut audited, SHOOT));
    assert_eq!(after.len(), 2);
    assert!(after.iter().all(|name| !before.contains(name)), "{before:?} {after:?}");
    assert_eq!(all::<MachineSet>(&mut audited, SEED).len(), 1, "the same set is scaled");
}

/// The order of timers, of deliveries and of work affects neither the bounds of a roll-out, which the auditor checks
/// after each instant, nor its final state.
#[test]
fn roll_outs_keep_their_bounds_under_explored_schedules() {
    for schedule in 0..12 {
        let mut audited = landscape_of(Options { schedule: Some(schedule), ..Options::new(8, evening()) });
        let admin = audited.admin.clone();
        audited.run(Api::all(&admin, SEED).create(&worker(3, 1, 1))).expect("the Worker is created");
        until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
        change(&mut audited, |pool| pool.machine_image.version = "1096.1.0".into());
        until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
        let expected = vec![("v1.26.4".to_owned(), "gardenlinux 1096.1.0".to_owned()); 3];
        assert_eq!(nodes(&mut audited), expected, "schedule {schedule}");
    }
}
