// SPDX-License-Identifier: Apache-2.0
//! Nodes with pods: drains, their delays and the end of these; nodes and machines that fail, and their replacement.

use std::collections::BTreeSet;

use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{Event, Node, Pod};
use api::kubernetes::policy::PodDisruptionBudget;
use api::kubernetes::storage::{PersistentVolumeClaim, StorageClass};
use api::machine::{Machine, MachineDeployment, MachineSet};
use api::terrarium::{Fault, FaultSpec};
use apimachinery::Resource;
use apimachinery::meta::{DeleteOptions, Duration, ObjectMeta};
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, Patch};
use landscape::{Component, Options};
use serde_json::{Value, json};

use crate::node_rollout::{SEED, SHOOT, all, change, landscape_of, until_worker_succeeds, worker};
use crate::support::{Audited, evening};

/// A shoot's cluster with this number of nodes, `maxSurge` 1, and time-outs of 10 minutes.
pub(crate) fn cluster(seed: u64, nodes: i32) -> Audited {
    let mut audited = landscape_of(Options { workload: true, ..Options::new(seed, evening()) });
    let mut worker = worker(nodes, 1, 0);
    let settings = worker.spec.pools[0].machine_controller_manager.get_or_insert_default();
    settings.machine_drain_timeout = Some(Duration::from_minutes(10));
    settings.machine_creation_timeout = Some(Duration::from_minutes(10));
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SEED).create(&worker)).expect("the Worker is created");
    until_worker_succeeds(&mut audited, "2023-07-27T20:10:00Z");
    audited
}

pub(crate) fn typed<K: Resource>(value: Value) -> K {
    apimachinery::wire::from_tree(value).expect("an object that fits its type")
}

/// Creates a Deployment in the shoot's cluster, and optionally a budget for its pods.
pub(crate) fn deploy(audited: &mut Audited, replicas: i32, pod: &Value, budget: Option<Value>) {
    let mut template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"terminationGracePeriodSeconds": 30, "containers": [{"name": "c", "image": "web:1"}]},
    });
    for (key, value) in pod.as_object().into_iter().flatten() {
        template[key.as_str()] = value.clone();
    }
    let deployment: Deployment = typed(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }));
    let admin = audited.admin.clone();
    audited.run(Api::all(&admin, SHOOT).create(&deployment)).expect("the Deployment is created");
    if let Some(mut spec) = budget {
        spec["selector"] = json!({"matchLabels": {"app": "web"}});
        let budget: PodDisruptionBudget =
            typed(json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec}));
        audited.run(Api::all(&admin, SHOOT).create(&budget)).expect("the budget is created");
    }
    let soon = (audited.landscape.now() + TimeDelta::seconds(10)).to_rfc3339();
    audited.until(&soon);
}

fn budget(audited: &mut Audited) -> PodDisruptionBudget {
    all::<PodDisruptionBudget>(audited, SHOOT).remove(0)
}

/// Nodes of the pods; true for pods that are terminating.
fn pods(audited: &mut Audited) -> Vec<(String, bool)> {
    let pods = all::<Pod>(audited, SHOOT);
    pods.into_iter().map(|pod| (pod.spec.node_name.clone(), pod.metadata.is_being_deleted())).collect()
}

pub(crate) fn machines(audited: &mut Audited) -> Vec<(String, String)> {
    let machines = all::<Machine>(audited, SEED).into_iter();
    machines.map(|machine| (machine.metadata.name, machine.status.current_status.phase)).collect()
}

fn machine(audited: &mut Audited, name: &str) -> Option<Machine> {
    all::<Machine>(audited, SEED).into_iter().find(|machine| machine.metadata.name == name)
}

/// Returns the first machine that a roll-out removes, and the time of its removal.
fn roll(audited: &mut Audited) -> (String, DateTime<Utc>) {
    change(audited, |pool| pool.machine_image.version = "1096.1.0".into());
    let mut found = None;
    audited.until_it_holds(TimeDelta::seconds(300), "a machine goes", |audited| {
        let machines = all::<Machine>(audited, SEED);
        let first = machines.into_iter().find(|machine| machine.metadata.is_being_deleted());
        found = first.map(|machine| machine.metadata);
        found.is_some()
    });
    let metadata: ObjectMeta = found.expect("it was found");
    (metadata.name, metadata.deletion_timestamp.expect("it goes").0)
}

/// Two controllers write a Node: provider-local sets Ready, kube-controller-manager taints a Node that was Ready and no
/// longer is. A version of it that looks lost would make them write in turn.
#[test]
fn a_joining_node_never_looks_lost() {
    let mut audited = cluster(1, 2);
    roll(&mut audited);
    until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
    let mut ready = BTreeSet::new();
    for entry in audited.entries() {
        if &*entry.key.resource != "/nodes" || entry.verb == eventlog::Verb::Delete {
            continue;
        }
        let node: Node = serde_json::from_slice(&entry.object.parts.concat()).expect("a Node");
        let is_new = node.spec.taints.iter().any(|taint| taint.key == "node.cloudprovider.kubernetes.io/uninitialized");
        if domain::rollout::node::is_ready(&node.status.conditions) {
            ready.insert(node.metadata.uid);
        } else {
            assert!(is_new || ready.contains(&node.metadata.uid), "revision {}", entry.revision.0);
        }
    }
    assert_eq!(ready.len(), 4);
}

#[test]
fn a_drain_evicts_pods_that_move_to_other_nodes() {
    let mut audited = cluster(1, 2);
    deploy(&mut audited, 6, &json!({}), None);
    assert_eq!(pods(&mut audited).len(), 6);
    let (first, since) = roll(&mut audited);
    let node =
        all::<Node>(&mut audited, SHOOT).into_iter().find(|node| node.metadata.name == first).expect("it is there");
    assert!(node.spec.unschedulable);
    assert!(node.spec.taints.iter().any(|taint| taint.key == "node.kubernetes.io/unschedulable"));
    assert!(node.spec.taints.iter().any(|taint| taint.key == "deployment.machine.sapcloud.io/prefer-no-schedule"));
    let evicted: Vec<_> = pods(&mut audited).into_iter().filter(|(node, ends)| *node == first && *ends).collect();
    assert!(!evicted.is_empty(), "they are asked to go at once");
    let drained = audited.until_it_holds(TimeDelta::seconds(60), "the drain is over", |audited| {
        machine(audited, &first)
            .is_some_and(|machine| machine.status.last_operation.description.starts_with("Drain successful"))
    });
    assert_eq!((drained - since).num_seconds(), 5, "as long as a pod takes to end");
    until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
    let names: Vec<String> = all::<Node>(&mut audited, SHOOT).into_iter().map(|node| node.metadata.name).collect();
    let pods = pods(&mut audited);
    assert_eq!(pods.len(), 6);
    assert!(pods.iter().all(|(node, ends)| names.contains(node) && !ends), "{pods:?}");
}

/// "If the PDB of a 429 is misconfigured … the drain attempt fails at once … and is repeated after 5 s until the drain
/// timeout forces it."
#[test]
fn a_budget_of_zero_blocks_a_drain_until_deleted() {
    let mut audited = cluster(2, 2);
    deploy(&mut audited, 2, &json!({}), Some(json!({"minAvailable": 2})));
    let status = budget(&mut audited).status;
    assert_eq!((status.expected_pods, status.desired_healthy, status.current_healthy), (2, 2, 2));
    assert_eq!((status.disruptions_allowed, status.conditions[0].reason.as_str()), (0, "InsufficientPods"));
    let (first, since) = roll(&mut audited);
    audited.until(&(since + TimeDelta::minutes(3)).to_rfc3339());
    let stuck = machine(&mut audited, &first).expect("it is still there");
    let operation = &stuck.status.last_operation;
    assert_eq!((operation.r#type.as_str(), operation.state.as_str()), ("Delete", "Failed"));
    assert!(
        operation.description.starts_with("Drain failed due to - error while evicting pod \"web-")
            && operation.description.ends_with(
                "\": pod disruption budget default/web is misconfigured and requires zero voluntary evictions. \
                 Will retry in next sync. Initiate node drain"
            ),
        "{}",
        operation.description
    );
    let failed = all::<MachineDeployment>(&mut audited, SEED).remove(0).status.failed_machines;
    assert_eq!(failed.iter().map(|failed| failed.name.as_str()).collect::<Vec<_>>(), [first.as_str()]);
    assert_eq!(pods(&mut audited).iter().filter(|(_, ends)| *ends).count(), 0, "no pod was evicted");

    let admin = audited.admin.clone();
    let budgets = Api::<PodDisruptionBudget>::namespaced(&admin, SHOOT, "default");
    audited.run(budgets.delete("web", &DeleteOptions::default())).expect("deleted");
    let at = audited.landscape.now();
    let drained = audited.until_it_holds(TimeDelta::seconds(60), "the drain is over", |audited| {
        machine(audited, &first)
            .is_some_and(|machine| machine.status.last_operation.description.starts_with("Drain successful"))
    });
    assert!((drained - at).num_seconds() <= 10, "asked again within 5 s, and 5 s to end: {}", drained - at);
    until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
    let failed = all::<MachineDeployment>(&mut audited, SEED).remove(0).status.failed_machines;
    assert_eq!(failed, []);
}

/// "Forced drain iff now − deletionTimestamp > drainTimeout; then pods are deleted with grace period 0 without waiting".
#[test]
fn a_drain_is_forced_when_its_time_is_over() {
    let mut audited = cluster(3, 2);
    deploy(&mut audited, 2, &json!({}), Some(json!({"maxUnavailable": 0})));
    let (first, since) = roll(&mut audited);
    let forced = audited.until_it_holds(TimeDelta::seconds(900), "the drain is forced", |audited| {
        machine(audited, &first)
            .is_some_and(|machine| !machine.status.last_operation.description.contains("node drain"))
    });
    assert_eq!((forced - since).num_seconds(), 600);
    // Every later drain takes as long.
    until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
    assert_eq!(all::<Node>(&mut audited, SHOOT).len(), 2);
}

/// A permanent fault is not counted, and records its latest action and object.
#[test]
fn a_fault_that_blocks_drains_records_its_effect() {
    let mut audited = cluster(3, 2);
    deploy(&mut audited, 2, &json!({}), None);
    audited.inject("drain-blocked-by-pdb", |spec| spec.pool = "local".into());
    assert_eq!(fault(&mut audited).status.last_time, None);
    let (first, since) = roll(&mut audited);
    audited.until_it_holds(TimeDelta::seconds(900), "the drain is forced", |audited| {
        machine(audited, &first)
            .is_some_and(|machine| !machine.status.last_operation.description.contains("node drain"))
    });
    let status = fault(&mut audited).status;
    let last = status.last_time.expect("it acted").0;
    assert!(last > since && audited.landscape.now() - last < TimeDelta::minutes(3), "{last}");
    assert_eq!((status.last_target, status.times), (format!("Machine {first}"), 0));
}

/// "HTTP 429 → wait 20 s and retry; after maxEvictRetries attempts switch to DELETE with grace period 0."
#[test]
fn a_protected_pod_is_deleted_after_ten_attempts() {
    let mut audited = cluster(4, 2);
    // One of three is never ready, two must be: none of these may be evicted, but the situation may improve.
    deploy(&mut audited, 2, &json!({}), Some(json!({"minAvailable": 3})));
    let lame: Pod = typed(json!({
        "metadata": {
            "name": "lame", "namespace": "default", "labels": {"app": "web"},
            "annotations": {"terrarium.dev/pod-fault": "NotReady"},
            "ownerReferences": [],
        },
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }));
    let admin = audited.admin.clone();
    // With another owner; otherwise the Deployment would adopt it.
    let mut lame = lame;
    lame.metadata.labels.insert("pod-template-hash".to_owned(), "none".to_owned());
    audited.run(Api::all(&admin, SHOOT).create(&lame)).expect("the pod is created");
    let (first, since) = roll(&mut audited);
    let drained = audited.until_it_holds(TimeDelta::seconds(900), "the drain is over", |audited| {
        machine(audited, &first)
            .is_some_and(|machine| !machine.status.last_operation.description.contains("node drain"))
    });
    assert_eq!((drained - since).num_seconds(), 200);
    assert!(
        machine(&mut audited, &first).is_some_and(|machine| machine
            .status
            .last_operation
            .description
            .starts_with("Drain successful"))
    );
}

#[test]
fn a_drain_continues_after_its_controller_was_killed() {
    let mut audited = cluster(5, 2);
    deploy(&mut audited, 2, &json!({}), Some(json!({"maxUnavailable": 0})));
    let (first, since) = roll(&mut audited);
    audited.until(&(since + TimeDelta::minutes(4)).to_rfc3339());
    let provider = Component::ProviderLocal("local".into());
    audited.landscape.stop_component(&provider).expect("it stops");
    audited.until(&(since + TimeDelta::minutes(6)).to_rfc3339());
    audited.landscape.start_component(provider);
    let forced = audited.until_it_holds(TimeDelta::seconds(900), "the drain is forced", |audited| {
        machine(audited, &first)
            .is_some_and(|machine| !machine.status.last_operation.description.contains("node drain"))
    });
    assert_eq!((forced - since).num_seconds(), 600, "the time-out counts from the deletion");
    until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
}

/// A pod with a claim of its name.
fn with_claim(name: &str, node: &str) -> Pod {
    typed(json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": node, "containers": [{"name": "c", "image": "web:1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        },
    }))
}

/// Creates pods with a claim each, whose volumes are accessible from all nodes.
fn with_volumes(audited: &mut Audited, names: &[&str]) {
    let admin = audited.admin.clone();
    let class: StorageClass = typed(json!({"metadata": {"name": "disk"}, "provisioner": "disks.example.com"}));
    audited.run(Api::all(&admin, SHOOT).create(&class)).expect("the class is created");
    for name in names {
        let claim: PersistentVolumeClaim = typed(json!({
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "disk",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }));
        audited.run(Api::all(&admin, SHOOT).create(&claim)).expect("the claim is created");
        audited.run(Api::all(&admin, SHOOT).create(&with_claim(name, ""))).expect("the pod is created");
    }
    let soon = (audited.landscape.now() + TimeDelta::seconds(10)).to_rfc3339();
    audited.until(&soon);
}

/// "Pods with PVC: serially, by pod priority descending", and their volumes move with them.
#[test]
fn pods_with_claims_are_evicted_one_by_one() {
    let mut audited = cluster(6, 1);
    with_volumes(&mut audited, &["a", "b", "c"]);
    let volumes = |audited: &mut Audited| {
        let claims = all::<PersistentVolumeClaim>(audited, SHOOT);
        let of = |claim: PersistentVolumeClaim| (claim.metadata.name, claim.spec.volume_name, claim.status.phase);
        claims.into_iter().map(of).collect::<Vec<_>>()
    };
    let before = volumes(&mut audited);
    assert!(before.len() == 3 && before.iter().all(|(_, _, phase)| phase == "Bound"), "{before:?}");
    let (first, since) = roll(&mut audited);
    assert_eq!(pods(&mut audited).iter().filter(|(_, ends)| *ends).count(), 1);
    let drained = audited.until_it_holds(TimeDelta::seconds(300), "the drain is over", |audited| {
        machine(audited, &first)
            .is_some_and(|machine| machine.status.last_operation.description.starts_with("Drain successful"))
    });
    // 3 x (5 s to end, about 10 s to detach and 10 s to attach).
    let seconds = (drained - since).num_seconds();
    assert!((60..=90).contains(&seconds), "{seconds}");
    assert_eq!(volumes(&mut audited), before, "claims stay, with what is in them");
}

/// A missing claim has no volume: its pods are evicted in their turn, and the drain does not wait for volumes.
#[test]
fn pods_with_unbound_claims_are_not_awaited() {
    let mut audited = cluster(13, 1);
    let admin = audited.admin.clone();
    let node = all::<Node>(&mut audited, SHOOT).remove(0).metadata.name;
    for name in ["a", "b"] {
        audited.run(Api::all(&admin, SHOOT).create(&with_claim(name, &node))).expect("the pod is created");
    }
    let soon = (audited.landscape.now() + TimeDelta::seconds(10)).to_rfc3339();
    audited.until(&soon);
    let (first, since) = roll(&mut audited);
    let drained = audited.until_it_holds(TimeDelta::seconds(300), "the drain is over", |audited| {
        machine(audited, &first).is_none_or(|machine| !machine.status.last_operation.description.contains("node drain"))
    });
    assert!((drained - since).num_seconds() < 5, "{}", drained - since);
}

fn fault(audited: &mut Audited) -> Fault {
    all::<Fault>(audited, "runtime").remove(0)
}

#[test]
fn a_machine_that_never_joins_is_replaced() {
    let mut audited = cluster(7, 2);
    audited.inject("never-joins", |spec| spec.pool = "local".into());
    change(&mut audited, |pool| pool.machine_image.version = "1096.1.0".into());
    let start = audited.landscape.now();
    let mut stuck = String::new();
    let failed = audited.until_it_holds(TimeDelta::seconds(900), "a machine is given up", |audited| {
        let failed = all::<MachineDeployment>(audited, SEED).remove(0).status.failed_machines;
        stuck = failed.first().map(|failed| failed.name.clone()).unwrap_or_default();
        !failed.is_empty()
    });
    assert!(
        (622..=636).contains(&(failed - start).num_seconds()),
        "about 30 s and the creation time-out: {}",
        failed - start
    );
    let summary = all::<MachineDeployment>(&mut audited, SEED).remove(0).status.failed_machines.remove(0);
    assert_eq!(
        summary.last_operation.description,
        format!("Machine {stuck} failed to join the cluster in 10m0s minutes.")
    );
    assert_eq!(summary.last_operation.r#type, "Create");
    let done = fault(&mut audited).status;
    assert_eq!((done.times, done.last_target), (1, format!("Machine {stuck}")));
    until_worker_succeeds(&mut audited, "2023-07-27T21:00:00Z");
    let names: Vec<String> = machines(&mut audited).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 2);
    assert!(!names.contains(&stuck));
    assert_eq!(fault(&mut audited).status.times, 1, "it hit once");
}

#[test]
fn a_refused_request_to_the_provider_is_repeated() {
    let mut audited = cluster(8, 1);
    audited.inject("create-error", |spec| {
        spec.settings.insert("code".into(), "ResourceExhausted".into());
        spec.settings.insert("message".into(), "no machines left".into());
    });
    change(&mut audited, |pool| pool.machine_image.version = "1096.1.0".into());
    audited.until_it_holds(TimeDelta::seconds(60), "it is refused", |audited| {
        machines(audited).iter().any(|(_, phase)| phase == "CrashLoopBackOff")
    });
    let refused = all::<Machine>(&mut audited, SEED).into_iter().find(|it| it.status.current_status.phase != "Running");
    let operation = refused.expect("it was found").status.last_operation;
    assert_eq!(
        operation.description,
        "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no machines left]"
    );
    assert_eq!(operation.error_code, "ResourceExhausted");
    until_worker_succeeds(&mut audited, "2023-07-27T20:20:00Z");
}

/// "A Node deleted by hand (its Machine becomes Unknown, then Failed, and is replaced)".
#[test]
fn a_deleted_node_is_replaced() {
    let mut audited = cluster(9, 2);
    deploy(&mut audited, 2, &json!({}), None);
    let node = all::<Node>(&mut audited, SHOOT).remove(0).metadata.name;
    let admin = audited.admin.clone();
    audited.run(Api::<Node>::all(&admin, SHOOT).delete(&node, &DeleteOptions::default())).expect("deleted");
    let start = audited.landscape.now();
    audited.until(&(start + TimeDelta::seconds(10)).to_rfc3339());
    let unknown = machine(&mut audited, &node).expect("it is there");
    assert_eq!(unknown.status.current_status.phase, "Unknown");
    assert_eq!(
        unknown.status.last_operation.description,
        format!("Node object went missing. Machine {node} is unhealthy - changing MachinePhase to Unknown")
    );
    let left = pods(&mut audited);
    assert!(left.len() == 2 && left.iter().all(|(on, _)| *on != node), "its pods are gone, too: {left:?}");
    let failed =
        audited.until_it_holds(TimeDelta::seconds(700), "it is given up", |audited| machines(audited).len() == 3);
    // Instants in objects have whole seconds.
    assert!((599..=600).contains(&(failed - start).num_seconds()), "{}", failed - start);
    audited.until_it_holds(TimeDelta::seconds(300), "it is replaced", |audited| {
        let all = machines(audited);
        all.len() == 2 && all.iter().all(|(name, phase)| phase == "Running" && *name != node)
    });
    assert_eq!(all::<Node>(&mut audited, SHOOT).len(), 2);
}

#[test]
fn a_deleted_machine_is_drained_and_replaced() {
    let mut audited = cluster(10, 2);
    deploy(&mut audited, 4, &json!({}), None);
    let (name, _) = machines(&mut audited).remove(0);
    let admin = audited.admin.clone();
    let api = Api::<Machine>::namespaced(&admin, SEED, SHOOT);
    audited.disturb();
    audited.run(api.delete(&name, &DeleteOptions::default())).expect("deleted");
    audited.until_it_holds(TimeDelta::seconds(300), "it is replaced", |audited| {
        let all = machines(audited);
        all.len() == 2 && all.iter().all(|(other, phase)| phase == "Running" && *other != name)
    });
    let left = pods(&mut audited);
    assert!(left.len() == 4 && left.iter().all(|(on, ends)| *on != name && !ends), "{left:?}");
}

/// A node without a kubelet: its pods are not ready, are evicted after five minutes, and are deleted with the Node; the
/// machine is replaced when its health timeout has passed. A second machine has to wait.
#[test]
fn a_node_without_a_kubelet_is_replaced() {
    let mut audited = cluster(11, 3);
    deploy(&mut audited, 6, &json!({}), None);
    let nodes: Vec<String> = all::<Node>(&mut audited, SHOOT).into_iter().map(|node| node.metadata.name).collect();
    let start = audited.landscape.now();
    for node in &nodes[..2] {
        let mut fault = Fault { metadata: ObjectMeta::named("", node), ..Fault::default() };
        fault.spec = FaultSpec { kind: "node-unhealthy".into(), node: node.clone(), ..FaultSpec::default() };
        fault.spec.settings.insert("status".into(), "Unknown".into());
        let admin = audited.admin.clone();
        audited.run(Api::all(&admin, "runtime").create(&fault)).expect("the fault is created");
    }
    audited.until(&(start + TimeDelta::seconds(1)).to_rfc3339());
    let lost = all::<Node>(&mut audited, SHOOT).into_iter().find(|node| node.metadata.name == nodes[0]).expect("there");
    let taints: Vec<String> = lost.spec.taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
    assert_eq!(taints, ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]);
    let unready = all::<Pod>(&mut audited, SHOOT).into_iter().filter(|pod| {
        pod.status.conditions.iter().any(|condition| condition.r#type == "Ready" && condition.status == "False")
    });
    assert!(unready.count() >= 2);
    audited.until(&(start + TimeDelta::seconds(310)).to_rfc3339());
    let found = pods(&mut audited);
    assert_eq!(found.iter().filter(|(_, ends)| !ends).count(), 6, "their successors run: {found:?}");
    assert!(found.iter().all(|(node, ends)| *ends == nodes[..2].contains(node)), "they cannot end: {found:?}");
    audited.until(&(start + TimeDelta::seconds(601)).to_rfc3339());
    let phases = machines(&mut audited);
    let of = |name: &str| phases.iter().find(|(known, _)| known == name).map(|(_, phase)| phase.as_str());
    assert_eq!((of(&nodes[0]), of(&nodes[1])), (Some("Terminating"), Some("Unknown")), "one at a time: {phases:?}");
    audited.until_it_holds(TimeDelta::seconds(900), "both are replaced", |audited| {
        let all = machines(audited);
        all.len() == 3 && all.iter().all(|(name, phase)| phase == "Running" && !nodes[..2].contains(name))
    });
    let left = pods(&mut audited);
    assert!(left.len() == 6 && left.iter().all(|(_, ends)| !ends), "{left:?}");
}

#[test]
fn a_node_that_gets_well_again_stays() {
    let mut audited = cluster(12, 1);
    let until = audited.landscape.now() + TimeDelta::minutes(3);
    audited.inject("node-unhealthy", |spec| {
        spec.until = Some(apimachinery::meta::Time::from_instant(until));
        spec.settings.insert("condition".into(), "KernelDeadlock".into());
    });
    audited.until(&(until - TimeDelta::seconds(1)).to_rfc3339());
    assert_eq!(machines(&mut audited)[0].1, "Unknown");
    audited.until(&(until + TimeDelta::seconds(1)).to_rfc3339());
    assert_eq!(machines(&mut audited)[0].1, "Running");
    let machine = all::<Machine>(&mut audited, SEED).remove(0);
    assert_eq!(
        machine.status.last_operation.description,
        format!("Machine {} successfully re-joined the cluster", machine.metadata.name)
    );
    assert!(!machine.status.conditions.iter().any(|it| it.r#type == "KernelDeadlock" && it.status == "True"));
    let events = all::<Event>(&mut audited, SEED);
    assert!(!events.iter().any(|event| event.reason == "SuccessfulDelete"));
    audited.until("2023-07-27T22:00:00Z");
    assert_eq!(audited.landscape.next_timer(), None, "nothing is left to wait for");
}

/// "Owned machines >= replicas + maxSurge + 2: frozen; one fewer: no longer", counted at full minutes.
#[test]
fn a_pool_is_frozen_while_too_many_machines_exist() {
    let mut audited = cluster(31, 6);
    deploy(&mut audited, 6, &json!({}), Some(json!({"maxUnavailable": 0})));
    let admin = audited.admin.clone();
    let deployment = all::<MachineDeployment>(&mut audited, SEED).remove(0);
    let api = Api::<MachineDeployment>::namespaced(&admin, SEED, &deployment.metadata.namespace);
    let scale = |audited: &mut Audited, replicas: i32| {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        audited.run(api.patch(&deployment.metadata.name, &patch)).expect("the MachineDeployment is scaled");
    };
    scale(&mut audited, 1);
    let frozen = |audited: &mut Audited| {
        let set = all::<MachineSet>(audited, SEED).remove(0);
        let condition = set.status.machine_set_condition.iter().find(|condition| condition.r#type == "Frozen");
        let is_marked = set.metadata.label("freeze") == Some("True");
        assert_eq!(is_marked, condition.is_some());
        condition.map(|condition| condition.message.clone())
    };
    audited.until_it_holds(TimeDelta::minutes(2), "the MachineSet is frozen", |audited| frozen(audited).is_some());
    assert_eq!(audited.landscape.now().timestamp() % 60, 0, "Machines are counted at full minutes");
    let message = frozen(&mut audited).unwrap_or_default();
    assert!(message.ends_with("is 6 >= 4 which is the Max-ScaleUp-Limit"), "{message}");
    let shown = all::<MachineDeployment>(&mut audited, SEED).remove(0);
    let condition = shown.status.conditions.iter().find(|condition| condition.r#type == "Frozen");
    assert_eq!(condition.map(|condition| condition.reason.as_str()), Some("OverShootingReplicaCount"));
    // More replicas are requested while the old machines terminate: the budget delays five of them.
    scale(&mut audited, 2);
    let later = (audited.landscape.now() + TimeDelta::minutes(3)).to_rfc3339();
    audited.until(&later);
    assert_eq!(machines(&mut audited).len(), 6, "a frozen MachineSet creates no Machines");
    let budgets = Api::<PodDisruptionBudget>::namespaced(&admin, SHOOT, "default");
    audited.run(budgets.delete("web", &DeleteOptions::default())).expect("the budget is deleted");
    audited.until_it_holds(TimeDelta::minutes(10), "the MachineSet goes on", |audited| frozen(audited).is_none());
    audited.until_it_holds(TimeDelta::minutes(10), "two Machines run", |audited| {
        machines(audited).iter().map(|(_, phase)| phase.as_str()).eq(["Running", "Running"])
    });
    let marked = all::<MachineDeployment>(&mut audited, SEED).remove(0);
    assert_eq!((marked.metadata.label("freeze"), marked.status.conditions.len()), (None, 2));
}
