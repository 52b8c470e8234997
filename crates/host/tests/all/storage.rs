// SPDX-License-Identifier: Apache-2.0
//! Claims and volumes over a host, and the pods that wait for them.

use std::sync::Arc;

use kube_controllers::workload::Options;
use serde_json::{Value, json};

use crate::workloads::World;

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn class(name: &str, mode: &str, is_default: bool) -> Value {
    let annotations = json!({"storageclass.kubernetes.io/is-default-class": is_default.to_string()});
    json!({
        "metadata": {"name": name, "annotations": annotations},
        "provisioner": "disks.example.com", "volumeBindingMode": mode,
    })
}

fn claim_spec() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
}

fn claim(name: &str, class: Option<&str>) -> Value {
    let mut spec = claim_spec();
    if let Some(class) = class {
        spec["storageClassName"] = json!(class);
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

fn pod(name: &str, claim: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "c", "image": "db:1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    })
}

fn set(replicas: i32, policy: Value) -> Value {
    let container = json!({
        "name": "c", "image": "db:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    json!({
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec()}],
            "persistentVolumeClaimRetentionPolicy": policy,
        },
    })
}

/// Nodes of zones `a` and `b`.
fn world_with_nodes() -> World {
    let world = World::new(Options { node_of: Arc::new(|_| None), ..Options::default() });
    for zone in ["a", "b"] {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        let name = format!("node-{zone}");
        world.ask("POST", "/api/v1/nodes", json!({"metadata": {"name": name, "labels": labels}, "status": status}));
    }
    world.settle(0);
    world
}

impl World {
    /// Name and phase of each claim or volume.
    fn phases(&self, path: &str) -> Vec<(String, String)> {
        let all = self.list(path);
        all.iter().map(|it| (text(&it["metadata"]["name"]), text(&it["status"]["phase"]))).collect()
    }

    fn told_of(&self, name: &str) -> Vec<(String, String)> {
        let events = self.list("/api/v1/namespaces/default/events");
        let about = events.iter().filter(|event| event["involvedObject"]["name"] == name);
        about.map(|event| (text(&event["reason"]), text(&event["message"]))).collect()
    }
}

fn phase(name: &str, phase: &str) -> (String, String) {
    (name.to_owned(), phase.to_owned())
}

#[test]
fn claims_without_a_class_get_the_default() {
    let world = World::new(Options::default());
    let class_of = |claim: Value| world.ask("POST", CLAIMS, claim)["spec"]["storageClassName"].clone();
    assert_eq!(class_of(claim("early", None)), Value::Null);
    world.ask("POST", CLASSES, class("fast", "Immediate", true));
    assert_eq!(class_of(claim("late", None)), "fast");
    assert_eq!(class_of(claim("none", Some(""))), "");
    assert_eq!(class_of(claim("own", Some("slow"))), "slow");
}

/// Source: kubernetes.io, StatefulSets: `volumeClaimTemplates`, limitations.
#[test]
fn claims_of_a_stateful_set_outlive_its_pods() {
    let world = World::new(Options::default());
    world.ask("POST", CLASSES, class("fast", "Immediate", true));
    world.ask("POST", SETS, set(2, Value::Null));
    world.settle(60);
    let volume = |claim: &str| json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    let pods = world.list(PODS);
    let volumes: Vec<&Value> = pods.iter().map(|pod| &pod["spec"]["volumes"]).collect();
    assert_eq!(volumes, [&volume("data-db-0"), &volume("data-db-1")]);
    assert!(pods.iter().all(|pod| pod["status"]["phase"] == "Running"));
    let bound = [phase("data-db-0", "Bound"), phase("data-db-1", "Bound")];
    assert_eq!(world.phases(CLAIMS), bound);
    let claim = world.get(&format!("{CLAIMS}/data-db-0"));
    assert_eq!(claim["metadata"]["labels"], json!({"app": "db"}));
    assert_eq!(claim["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    assert_eq!(claim["spec"]["storageClassName"], "fast");
    assert_eq!(claim["status"]["capacity"], json!({"storage": "1Gi"}));
    let volume = world.get(&format!("{VOLUMES}/{}", text(&claim["spec"]["volumeName"])));
    assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(
        (&volume["status"]["phase"], &volume["metadata"]["finalizers"]),
        (&json!("Bound"), &json!(["kubernetes.io/pv-protection"]))
    );
    let told = world.told_of("db");
    let expected = phase("SuccessfulCreate", "create Claim data-db-0 Pod db-0 in StatefulSet db success");
    assert!(told.contains(&expected), "{told:?}");
    assert_eq!(world.timers(), 0);

    world.ask("PATCH", &format!("{SETS}/db/scale"), json!({"spec": {"replicas": 1}}));
    world.settle(60);
    assert_eq!((world.list(PODS).len(), world.phases(CLAIMS)), (1, bound.to_vec()));
    world.ask("PATCH", &format!("{SETS}/db/scale"), json!({"spec": {"replicas": 2}}));
    world.settle(60);
    assert_eq!(world.list(VOLUMES).len(), 2, "the claim that was there is used again");
    world.ask("DELETE", &format!("{SETS}/db"), Value::Null);
    world.settle(60);
    assert_eq!((world.list(PODS).len(), world.phases(CLAIMS)), (0, bound.to_vec()));
    for claim in ["data-db-0", "data-db-1"] {
        world.ask("DELETE", &format!("{CLAIMS}/{claim}"), Value::Null);
    }
    world.settle(60);
    assert_eq!((world.list(CLAIMS).len(), world.list(VOLUMES).len()), (0, 0), "policy Delete");
    assert_eq!(world.timers(), 0);
}

#[test]
fn claims_are_deleted_by_the_retention_policy() {
    for (policy, after_scaling, after_deletion) in [
        (json!({"whenDeleted": "Retain", "whenScaled": "Delete"}), 1, 1),
        (json!({"whenDeleted": "Delete", "whenScaled": "Retain"}), 2, 0),
        (json!({"whenDeleted": "Delete", "whenScaled": "Delete"}), 1, 0),
    ] {
        let world = World::new(Options::default());
        world.ask("POST", CLASSES, class("fast", "Immediate", true));
        world.ask("POST", SETS, set(2, policy.clone()));
        world.settle(60);
        assert_eq!(world.list(CLAIMS).len(), 2);
        world.ask("PATCH", &format!("{SETS}/db/scale"), json!({"spec": {"replicas": 1}}));
        world.settle(60);
        assert_eq!((world.list(PODS).len(), world.list(CLAIMS).len()), (1, after_scaling), "{policy}");
        world.ask("DELETE", &format!("{SETS}/db"), Value::Null);
        world.settle(60);
        assert_eq!((world.list(PODS).len(), world.list(CLAIMS).len()), (0, after_deletion), "{policy}");
        assert_eq!(world.list(VOLUMES).len(), after_deletion, "{policy}");
        assert_eq!(world.timers(), 0);
    }
}

#[test]
fn a_claim_names_the_missing_object() {
    let world = World::new(Options::default());
    world.ask("POST", CLAIMS, claim("plain", None));
    world.ask("POST", CLAIMS, claim("named", Some("slow")));
    world.settle(60);
    assert_eq!(world.phases(CLAIMS), [phase("named", "Pending"), phase("plain", "Pending")]);
    let text = "no persistent volumes available for this claim and no storage class is set";
    assert_eq!(world.told_of("plain"), [phase("FailedBinding", text)]);
    let text = "storageclass.storage.k8s.io \"slow\" not found";
    assert_eq!(world.told_of("named"), [phase("ProvisioningFailed", text)]);
    world.ask("POST", PODS, pod("p", "named"));
    world.settle(60);
    let told = world.get(&format!("{PODS}/p"))["status"]["conditions"][0]["message"].clone();
    assert_eq!(
        told,
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available: 1 \
         Preemption is not helpful for scheduling."
    );
    world.ask("POST", CLASSES, class("slow", "Immediate", true));
    world.settle(60);
    assert_eq!(world.phases(CLAIMS), [phase("named", "Bound"), phase("plain", "Bound")]);
    assert_eq!(world.get(&format!("{PODS}/p"))["status"]["phase"], "Running");
    assert_eq!(world.timers(), 0);
}

#[test]
fn a_pod_waits_for_a_claim_that_is_not_there() {
    let world = world_with_nodes();
    world.ask("POST", CLASSES, class("late", "WaitForFirstConsumer", true));
    world.ask("POST", PODS, pod("p", "data"));
    world.settle(60);
    let message = "0/2 nodes are available: persistentvolumeclaim \"data\" not found. preemption: 0/2 nodes are available: 2 \
                   Preemption is not helpful for scheduling.";
    assert_eq!(world.told_of("p"), [phase("FailedScheduling", message)]);
    assert_eq!(world.get(&format!("{PODS}/p"))["status"]["phase"], "Pending");
    world.ask("POST", CLAIMS, claim("data", None));
    world.settle(60);
    assert_eq!(world.get(&format!("{PODS}/p"))["status"]["phase"], "Running");
}

/// "WaitForFirstConsumer … will delay the binding and provisioning of a PersistentVolume until a Pod using the
/// PersistentVolumeClaim is created. PersistentVolumes will be selected or provisioned conforming to the topology that is
/// specified by the Pod's scheduling constraints."
#[test]
fn a_volume_is_provisioned_for_its_first_pods_node() {
    let world = world_with_nodes();
    world.ask("POST", CLASSES, class("late", "WaitForFirstConsumer", true));
    world.ask("POST", CLAIMS, claim("data", None));
    world.settle(60);
    assert_eq!(world.phases(CLAIMS), [phase("data", "Pending")]);
    let waits = "waiting for first consumer to be created before binding";
    assert_eq!(world.told_of("data"), [phase("WaitForFirstConsumer", waits)]);
    let mut first = pod("first", "data");
    first["spec"]["nodeSelector"] = json!({"topology.kubernetes.io/zone": "b"});
    world.ask("POST", PODS, first);
    world.settle(60);
    let claim = world.get(&format!("{CLAIMS}/data"));
    assert_eq!(claim["status"]["phase"], "Bound");
    assert_eq!(claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"], "node-b");
    let volume = world.get(&format!("{VOLUMES}/{}", text(&claim["spec"]["volumeName"])));
    let terms = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
    assert_eq!(
        terms,
        &json!([{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b"]}]}])
    );
    assert_eq!(world.get(&format!("{PODS}/first"))["status"]["phase"], "Running");

    world.ask("POST", PODS, pod("second", "data"));
    world.settle(60);
    assert_eq!(world.get(&format!("{PODS}/second"))["spec"]["nodeName"], "node-b");
    world.ask("PATCH", "/api/v1/nodes/node-b", json!({"spec": {"unschedulable": true}}));
    world.ask("POST", PODS, pod("third", "data"));
    world.settle(60);
    let told = world.get(&format!("{PODS}/third"))["status"]["conditions"][0]["message"].clone();
    let expected =
        "0/2 nodes are available: 1 node(s) had volume node affinity conflict, 1 node(s) were unschedulable.";
    assert!(text(&told).starts_with(expected), "{told}");
    world.ask("PATCH", "/api/v1/nodes/node-b", json!({"spec": {"unschedulable": false}}));
    world.settle(60);
    assert_eq!(world.get(&format!("{PODS}/third"))["spec"]["nodeName"], "node-b");
    assert_eq!(world.timers(), 0);
}

/// Source: kubernetes.io, Persistent Volumes: storage object in use protection.
#[test]
fn a_claim_stays_while_a_pod_uses_it() {
    let world = World::new(Options::default());
    let mut keeps = class("keeps", "Immediate", true);
    keeps["reclaimPolicy"] = json!("Retain");
    world.ask("POST", CLASSES, keeps);
    world.ask("POST", CLAIMS, claim("data", None));
    world.ask("POST", PODS, pod("p", "data"));
    world.settle(60);
    world.ask("DELETE", &format!("{CLAIMS}/data"), Value::Null);
    world.settle(60);
    assert!(world.get(&format!("{CLAIMS}/data"))["metadata"]["deletionTimestamp"].is_string());
    world.ask("POST", PODS, pod("late", "data"));
    world.settle(60);
    let told = world.get(&format!("{PODS}/late"))["status"]["conditions"][0]["message"].clone();
    assert!(
        text(&told).starts_with("0/1 nodes are available: persistentvolumeclaim \"data\" is being deleted."),
        "{told}"
    );
    world.ask("DELETE", &format!("{PODS}/p"), Value::Null);
    world.settle(60);
    assert_eq!(world.list(CLAIMS).len(), 0);
    let volumes = world.phases(VOLUMES);
    assert_eq!((volumes.len(), volumes[0].1.as_str()), (1, "Released"), "policy Retain");
    world.ask("DELETE", &format!("{VOLUMES}/{}", volumes[0].0), Value::Null);
    world.settle(60);
    assert_eq!(world.list(VOLUMES).len(), 0);
}

#[test]
fn existing_volumes_are_bound_and_lost_ones_reported() {
    let world = World::new(Options::default());
    let spec = json!({
        "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"},
    });
    world.ask("POST", VOLUMES, json!({"metadata": {"name": "disk"}, "spec": spec}));
    world.settle(60);
    assert_eq!(world.phases(VOLUMES), [phase("disk", "Available")]);
    world.ask("DELETE", &format!("{VOLUMES}/disk"), Value::Null);
    world.settle(60);
    assert_eq!(world.list(VOLUMES).len(), 0);
    world.ask("POST", VOLUMES, json!({"metadata": {"name": "disk"}, "spec": spec}));
    world.ask("POST", CLAIMS, claim("data", Some("")));
    world.settle(60);
    assert_eq!(world.phases(CLAIMS), [phase("data", "Bound")]);
    let claim = world.get(&format!("{CLAIMS}/data"));
    assert_eq!(
        (&claim["spec"]["volumeName"], &claim["status"]["capacity"]["storage"]),
        (&json!("disk"), &json!("2Gi"))
    );
    let volume = world.get(&format!("{VOLUMES}/disk"));
    assert_eq!((&volume["status"]["phase"], &volume["spec"]["hostPath"]["path"]), (&json!("Bound"), &json!("/data")));
    world.ask("DELETE", &format!("{VOLUMES}/disk"), Value::Null);
    world.settle(60);
    assert_eq!(world.list(VOLUMES).len(), 1, "protected while it is bound");
    world.ask("PATCH", &format!("{VOLUMES}/disk"), json!({"metadata": {"finalizers": null}}));
    world.settle(60);
    assert_eq!(world.phases(CLAIMS), [phase("data", "Lost")]);
    let text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    assert!(world.told_of("data").contains(&phase("ClaimLost", text)));
    assert_eq!(world.timers(), 0);
}
