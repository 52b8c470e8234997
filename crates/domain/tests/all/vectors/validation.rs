// SPDX-License-Identifier: Apache-2.0
//! Vectors about static validation and defaulting.

use api::core::*;
use apimachinery::field::FieldError;
use chrono::{DateTime, Utc};
use domain::profile::Profile;
use domain::release::DOCUMENTED;
use domain::validation::shoot::Gates;
use domain::{defaulting, validation};
use serde_json::{Value, json};

use super::Verdict;
use super::objects::*;

pub(crate) fn maintenance(vector: &Value) -> Verdict {
    let (input, expected) = (&vector["in"], &vector["out"]["errors"]);
    let errors = match vector["op"].as_str().unwrap_or_default() {
        "window_validate" => time_window(input),
        "update_k8s" => kubernetes_update(input),
        "skew" => skew(input),
        "cloudprofile_k8s" => kubernetes_versions(input, instant(&vector["now"])),
        _ => return Verdict::Skipped,
    };
    Verdict::Compared(compare(&errors, expected))
}

pub(crate) fn rollout(vector: &Value) -> Verdict {
    let (input, expected) = (&vector["input"], &vector["expect"]);
    match vector["rule"].as_str().unwrap_or_default() {
        "shootUpdateValidation" => Verdict::Compared(shoot_update(input, expected)),
        "workerDefaults" => Verdict::Actual(worker_defaults(input, expected)),
        _ => Verdict::Skipped,
    }
}

/// Compares errors with {`type`, `field`, `detail`}, or with details only. If a detail contains a parse error, the vector
/// ends before it.
pub(crate) fn compare(errors: &[FieldError], expected: &Value) -> Result<(), String> {
    let expected = expected.as_array().expect("a list of errors");
    let agrees = |error: &FieldError, expected: &Value| {
        let (type_, field) = (expected["type"].as_str(), expected["field"].as_str());
        let detail = expected.as_str().or_else(|| expected["detail"].as_str()).unwrap_or_default();
        type_.is_none_or(|type_| error.error_type.reason() == format!("FieldValue{type_}"))
            && field.is_none_or(|field| error.field == field)
            && (error.body.ends_with(&format!(": {detail}"))
                || error.body.contains(&format!(": {detail}: "))
                || detail.is_empty())
    };
    if errors.len() == expected.len() && errors.iter().zip(expected).all(|(error, expected)| agrees(error, expected)) {
        return Ok(());
    }
    let actual: Vec<String> = errors.iter().map(|error| format!("{} {error}", error.error_type.reason())).collect();
    Err(format!("expected {}\n  actual   {}", json!(expected), actual.join("\n           ")))
}

const GATES: Gates = Gates {
    in_place_node_updates: true,
    credentials_rotation_without_workers_rollout: false,
    version_classification_lifecycle: false,
    disable_nginx_ingress_in_shoot: false,
    cloud_profile_capabilities: false,
    live_control_plane_migration: false,
    release: DOCUMENTED,
};

fn pool(name: &str) -> Worker {
    Worker {
        name: name.to_owned(),
        minimum: 1,
        maximum: 3,
        machine: Machine {
            r#type: "small".to_owned(),
            image: Some(ShootMachineImage {
                name: "gardenlinux".to_owned(),
                version: Some("1.0.0".to_owned()),
                ..ShootMachineImage::default()
            }),
            ..Machine::default()
        },
        volume: Some(Volume { size: "50Gi".to_owned(), ..Volume::default() }),
        ..Worker::default()
    }
}

/// Returns a Shoot that is valid once it is defaulted.
fn valid_shoot(version: &str, workers: Vec<Worker>) -> Shoot {
    let mut shoot = Shoot::default();
    "s".clone_into(&mut shoot.metadata.name);
    "garden-p".clone_into(&mut shoot.metadata.namespace);
    "1".clone_into(&mut shoot.metadata.resource_version);
    let spec = &mut shoot.spec;
    spec.cloud_profile = Some(CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() });
    spec.credentials_binding_name = Some("local".to_owned());
    "local".clone_into(&mut spec.provider.r#type);
    "r".clone_into(&mut spec.region);
    version.clone_into(&mut spec.kubernetes.version);
    spec.provider.workers = workers;
    spec.networking = Some(Networking {
        r#type: Some("calico".to_owned()),
        nodes: Some("10.250.0.0/16".to_owned()),
        ..Networking::default()
    });
    defaulting::shoot(&mut shoot, 0, domain::release::DOCUMENTED);
    let errors = validation::shoot::shoot(&shoot, GATES);
    // The version itself may cause errors, the Shoot's other fields must not.
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(texts.iter().all(|text| text.contains("kubernetes.")), "the Shoot is valid: {texts:?}");
    shoot
}

fn time_window(input: &Value) -> Vec<FieldError> {
    let mut shoot = valid_shoot("1.31.2", vec![pool("w1")]);
    let window = MaintenanceTimeWindow { begin: text(&input["begin"]), end: text(&input["end"]) };
    shoot.spec.maintenance.get_or_insert_default().time_window = Some(window);
    validation::shoot::shoot(&shoot, GATES)
}

/// Returns the errors that only an update has: of the control plane, or of a rolling pool, which may skip minors.
fn kubernetes_update(input: &Value) -> Vec<FieldError> {
    let shoot = |version: &Value| {
        let version = text(version);
        if input["skipMinorAllowed"] == true {
            let own = WorkerKubernetes { version: Some(version), kubelet: None };
            valid_shoot("1.34.0", vec![Worker { kubernetes: Some(own), ..pool("w1") }])
        } else {
            valid_shoot(&version, vec![pool("w1")])
        }
    };
    let (old, new) = (shoot(&input["old"]), shoot(&input["new"]));
    let path = if input["skipMinorAllowed"] == true {
        "spec.provider.workers[0].kubernetes.version"
    } else {
        "spec.kubernetes.version"
    };
    let known = validation::shoot::shoot(&new, GATES);
    let mut errors = validation::shoot::shoot_update(&new, &old, GATES);
    errors.retain(|error| error.field == path && !known.contains(error));
    errors
}

fn skew(input: &Value) -> Vec<FieldError> {
    let own = WorkerKubernetes { version: Some(text(&input["worker"])), kubelet: None };
    let shoot = valid_shoot(&text(&input["controlPlane"]), vec![Worker { kubernetes: Some(own), ..pool("w1") }]);
    let mut errors = validation::shoot::shoot(&shoot, GATES);
    errors.retain(|error| error.field == "spec.provider.workers[0].kubernetes.version");
    errors
}

fn kubernetes_versions(input: &Value, now: DateTime<Utc>) -> Vec<FieldError> {
    let mut profile = CloudProfile::default();
    profile.spec.kubernetes.versions = typed(&input["versions"]);
    defaulting::cloud_profile(&mut profile);
    let mut errors = validation::cloud_profile::cloud_profile(&profile, Profile::Upstream, GATES, now);
    errors.retain(|error| error.field.starts_with("spec.kubernetes"));
    errors
}

fn shoot_update(input: &Value, expected: &Value) -> Result<(), String> {
    let strategy = |key: &str| {
        input[key].as_str().or_else(|| input["strategy"].as_str()).unwrap_or("AutoInPlaceUpdate").to_owned()
    };
    let shoot = |strategy: String| {
        let (surge, unavailable) = if strategy == "ManualInPlaceUpdate" { (0, 1) } else { (1, 0) };
        let worker = |name| Worker {
            update_strategy: Some(strategy.clone()),
            max_surge: Some(apimachinery::meta::IntOrString::Int(surge)),
            max_unavailable: Some(apimachinery::meta::IntOrString::Int(unavailable)),
            ..pool(name)
        };
        valid_shoot("1.31.4", vec![worker("w1"), worker("w2")])
    };
    let (mut old, mut new) = (shoot(strategy("old")), shoot(strategy("new")));
    let pending: Vec<String> = typed(&input["pending"]);
    if !pending.is_empty() {
        let pending = if strategy("old") == "ManualInPlaceUpdate" {
            PendingWorkerUpdates { manual_in_place_update: pending, ..PendingWorkerUpdates::default() }
        } else {
            PendingWorkerUpdates { auto_in_place_update: pending, ..PendingWorkerUpdates::default() }
        };
        old.status.in_place_updates = Some(InPlaceUpdatesStatus { pending_worker_updates: Some(pending) });
        new.status.clone_from(&old.status);
    }
    if let Some((key, value)) = input["annotation"].as_str().and_then(|annotation| annotation.split_once('=')) {
        assert_eq!(key, "gardener.cloud/operation");
        new.metadata.annotations.insert(key.to_owned(), value.to_owned());
    }
    for (key, limit) in [("maxSurge", &mut new.spec.provider.workers[0].max_surge)] {
        if let Some(value) = input.get(key) {
            *limit = typed(value);
        }
    }
    if let Some(value) = input.get("maxUnavailable") {
        new.spec.provider.workers[0].max_unavailable = typed(value);
    }
    if let Some(change) = input["change"].as_str() {
        apply_change(&mut new, change);
    }
    let errors = validation::shoot::shoot_update(&new, &old, GATES);
    let first = errors.first().map_or_else(Vec::new, |error| vec![error.clone()]);
    let wanted = if expected["allowed"] == true {
        json!([])
    } else {
        json!([{ "field": expected["path"], "detail": expected["detail"] }])
    };
    compare(&first, &wanted)
}

/// Changes the field at a path to another valid value: below pool `w1`, below `w2` with `workers[1].`, else below the Shoot.
fn apply_change(shoot: &mut Shoot, change: &str) {
    let (index, path) = match change.strip_prefix("workers[1].") {
        Some(path) => (1, path),
        None => (0, change),
    };
    if path == "remove workers[0]" {
        drop(shoot.spec.provider.workers.remove(0));
        return;
    }
    if let Some(path) = path.strip_prefix("spec.").or_else(|| path.strip_prefix("metadata.").map(|_| path)) {
        let mut tree = serde_json::to_value(&*shoot).expect("a Shoot");
        let tree = if path.starts_with("metadata.") { &mut tree } else { &mut tree["spec"] };
        set(tree, path);
        let tree = tree.take();
        if path.starts_with("metadata.") {
            shoot.metadata = serde_json::from_value(tree["metadata"].clone()).expect("metadata");
        } else {
            shoot.spec = serde_json::from_value(tree).expect("a spec");
        }
        return;
    }
    let worker = &mut shoot.spec.provider.workers[index];
    let mut tree = serde_json::to_value(&*worker).expect("a worker");
    set(&mut tree, path);
    *worker = serde_json::from_value(tree).expect("a worker");
}

/// Returns other valid values of fields, by their paths below a pool or below `spec`.
fn other_value(path: &str) -> Value {
    match path {
        "machine.type" => json!("large"),
        "machine.image.name" => json!("ubuntu"),
        "machine.image.version" => json!("1.0.1"),
        "machine.image" => json!({"name": "gardenlinux", "version": "1.0.1"}),
        "machine.architecture" => json!("arm64"),
        "machine.image.providerConfig" | "providerConfig" => json!({"a": 1}),
        "volume.size" => json!("60Gi"),
        "volume.type" => json!("fast"),
        "volume.encrypted" => json!(true),
        "volume" => json!({"size": "60Gi", "type": "fast"}),
        "dataVolumes" => json!([{"name": "data", "size": "10Gi"}]),
        "cri.name" => json!("docker"),
        "cri" => json!({"name": "containerd", "containerRuntimes": [{"type": "gvisor"}]}),
        "minimum" => json!(2),
        "maximum" => json!(4),
        "maxSurge" => json!(2),
        "maxUnavailable" => json!(1),
        "priority" => json!(7),
        "zones" => json!(["z1"]),
        "labels" | "annotations" | "metadata.labels" | "metadata.annotations" => json!({"a": "b"}),
        "sysctls" => json!({"vm.swappiness": "10"}),
        "taints" => json!([{"key": "a", "value": "b", "effect": "NoSchedule"}]),
        "kubernetes.version" => json!("1.31.5"),
        "kubernetes.kubelet" => json!({"maxPods": 200}),
        "kubernetes.kubelet.maxPods" => json!(200),
        "kubernetes.kubelet.cpuManagerPolicy" => json!("static"),
        "kubernetes.kubelet.evictionHard" => json!({"memoryAvailable": "200Mi"}),
        "kubernetes.kubelet.kubeReserved" => json!({"memory": "2Gi"}),
        "machineControllerManager" => json!({"machineDrainTimeout": "1h0m0s"}),
        "machineControllerManager.machineDrainTimeout" => json!("1h0m0s"),
        "clusterAutoscaler" => json!({"scaleDownUnneededTime": "1h0m0s"}),
        "systemComponents.allow" => json!(false),
        "systemComponents.nodeLocalDNS.enabled" | "hibernation.enabled" => json!(true),
        "maintenance.confineSpecUpdateRollout" => json!(true),
        "maintenance.autoUpdate.kubernetesVersion" => json!(false),
        "purpose" => json!("development"),
        other => panic!("no such change: {other}"),
    }
}

/// Sets the field at a path to another valid value.
fn set(tree: &mut Value, path: &str) {
    let mut field = tree;
    for key in path.split('.') {
        if field.is_null() {
            *field = json!({});
        }
        field = &mut field[key];
    }
    *field = other_value(path);
}

/// Returns the fields that the vector expects.
fn worker_defaults(input: &Value, expected: &Value) -> Value {
    let worker = Worker {
        update_strategy: typed(&input["updateStrategy"]),
        max_surge: typed(&input["maxSurge"]),
        max_unavailable: typed(&input["maxUnavailable"]),
        ..pool("w1")
    };
    let shoot = valid_shoot("1.31.4", vec![worker]);
    let defaulted = serde_json::to_value(&shoot.spec.provider.workers[0]).expect("a worker");
    let keys = expected.as_object().expect("an object").keys();
    keys.map(|key| (key.clone(), defaulted[key].clone())).collect::<serde_json::Map<_, _>>().into()
}
