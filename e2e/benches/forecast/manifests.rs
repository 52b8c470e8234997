// SPDX-License-Identifier: Apache-2.0
//! A large landscape in kubectl's output formats: one CloudProfile of 60 Kubernetes versions, and Shoots with status and
//! `managedFields`. Equal in every run.

use std::io::{BufWriter, Write};
use std::path::Path;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clock::Random;
use serde_json::{Value, json};

use super::Failure;

/// Start of the forecast.
pub(crate) const FROM: &str = "2026-01-01T00:00:00Z";
/// End of the forecast, a year later.
pub(crate) const UNTIL: &str = "2027-01-01T00:00:00Z";
/// Assumed earlier expiration of a minor version.
pub(crate) const EXPIRE: &str = "kubernetes/1.28=2026-03-01";

/// First of fifteen minor versions with four patches each.
const FIRST_MINOR: u64 = 20;
const MINORS: u64 = 15;
const PATCHES: u64 = 4;
const IMAGES: [(&str, &str); 3] = [("gardenlinux", "major"), ("suse-chost", "minor"), ("flatcar", "patch")];
const IMAGE_MINORS: u64 = 5;
const IMAGE_PATCHES: u64 = 3;
const SHOOTS_OF_A_PROJECT: u64 = 20;

/// Format of the manifests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// Output of `kubectl get -o yaml`.
    YamlList,
    /// Output of `kubectl get -o json`.
    JsonList,
    /// Separate documents, as users keep them in files.
    YamlDocuments,
}

impl Form {
    /// Returns the name of the file.
    pub(crate) const fn file_name(self) -> &'static str {
        match self {
            Self::YamlList => "list.yaml",
            Self::JsonList => "list.json",
            Self::YamlDocuments => "documents.yaml",
        }
    }

    /// Returns the key in the report.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::YamlList => "yamlList",
            Self::JsonList => "jsonList",
            Self::YamlDocuments => "yamlDocuments",
        }
    }
}

/// Returns `NAMESPACE/NAME` of a Shoot.
pub(crate) fn name_of(index: u64) -> String {
    format!("garden-p{:04}/s{index:05}", index / SHOOTS_OF_A_PROJECT)
}

/// Writes the manifests.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(file: &Path, form: Form, shoots: u64) -> Result<(), Failure> {
    let random = Random::new(1);
    let objects = std::iter::once(cloud_profile()).chain((0..shoots).map(|index| shoot(&random, index)));
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    match form {
        Form::YamlDocuments => {
            for object in objects {
                write!(out, "---\n{}", serde_yaml_ng::to_string(&object)?)?;
            }
        }
        Form::YamlList => {
            writeln!(out, "apiVersion: v1\nitems:")?;
            for object in objects {
                let text = serde_yaml_ng::to_string(&[object])?;
                write!(out, "{text}")?;
            }
            writeln!(out, "kind: List\nmetadata:\n  resourceVersion: \"\"")?;
        }
        Form::JsonList => {
            writeln!(out, "{{\n    \"apiVersion\": \"v1\",\n    \"items\": [")?;
            for (index, object) in objects.enumerate() {
                let comma = if index == 0 { "" } else { ",\n" };
                write!(out, "{comma}{}", serde_json::to_string_pretty(&object)?)?;
            }
            writeln!(out, "\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {{\"resourceVersion\": \"\"}}\n}}")?;
        }
    }
    Ok(out.flush()?)
}

fn day(days: i64) -> String {
    let from: DateTime<Utc> = FROM.parse().unwrap_or_default();
    (from + TimeDelta::days(days)).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Returns a version with the life cycle of the versioning policy: supported, then deprecated with a date.
fn entry(version: &str, is_newest: bool, expires: Option<i64>) -> Value {
    let mut entry = json!({
        "version": version,
        "classification": if is_newest { "supported" } else { "deprecated" },
    });
    if let Some(days) = expires {
        entry["expirationDate"] = json!(day(days));
    }
    entry
}

fn cloud_profile() -> Value {
    let kubernetes: Vec<Value> = (0..MINORS)
        .rev()
        .flat_map(|minor| (0..PATCHES).rev().map(move |patch| (minor, patch)))
        .map(|(minor, patch)| {
            let version = format!("1.{}.{}", FIRST_MINOR + minor, patch + 1);
            let is_newest = patch + 1 == PATCHES;
            // A patch expires two months after the release of the next one, a minor version after a year.
            let days = 30 * minor.cast_signed() + 14 * patch.cast_signed() - 40;
            entry(&version, is_newest, (minor + 1 < MINORS || !is_newest).then_some(days))
        })
        .collect();
    let images: Vec<Value> = IMAGES
        .iter()
        .map(|(name, strategy)| {
            let versions: Vec<Value> = (0..IMAGE_MINORS)
                .flat_map(|minor| (0..IMAGE_PATCHES).map(move |patch| (minor, patch)))
                .map(|(minor, patch)| {
                    let is_last = minor + 1 == IMAGE_MINORS && patch + 1 == IMAGE_PATCHES;
                    let days = 80 * minor.cast_signed() + 25 * patch.cast_signed() - 20;
                    let version = format!("{}.{minor}.{patch}", 1312 + minor / 3);
                    let mut entry = entry(&version, patch + 1 == IMAGE_PATCHES, (!is_last).then_some(days));
                    entry["architectures"] = json!(["amd64", "arm64"]);
                    entry["cri"] = json!([{"name": "containerd", "containerRuntimes": [{"type": "gvisor"}]}]);
                    entry
                })
                .collect();
            json!({"name": name, "updateStrategy": strategy, "versions": versions})
        })
        .collect();
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "CloudProfile",
        "metadata": {"name": "cloud", "uid": "0c1d", "resourceVersion": "812"},
        "spec": {
            "type": "local",
            "kubernetes": {"versions": kubernetes},
            "machineImages": images,
            "machineTypes": [{"name": "large", "architecture": "amd64", "cpu": "4", "gpu": "0", "memory": "16Gi", "usable": true}],
            "regions": [{"name": "eu", "zones": [{"name": "eu-a"}, {"name": "eu-b"}, {"name": "eu-c"}]}],
        },
    })
}

fn shoot(random: &Random, index: u64) -> Value {
    let below = |bound: u64, what: &str, ordinal: u64| random.below(bound, what, "bench", index * 16 + ordinal);
    let (namespace, name) = (format!("garden-p{:04}", index / SHOOTS_OF_A_PROJECT), format!("s{index:05}"));
    let minor = FIRST_MINOR + 3 + below(MINORS - 4, "minor", 0);
    let version = format!("1.{minor}.{}", 1 + below(PATCHES, "patch", 0));
    let pools = 1 + below(3, "pools", 0);
    let workers: Vec<Value> = (0..pools)
        .map(|pool| {
            let (image, _) = IMAGES[usize::try_from(below(3, "image", pool)).unwrap_or_default()];
            let image_minor = below(IMAGE_MINORS, "image-minor", pool);
            let image_version =
                format!("{}.{image_minor}.{}", 1312 + image_minor / 3, below(IMAGE_PATCHES, "image-patch", pool));
            let mut worker = json!({
                "name": format!("pool-{pool}"),
                "minimum": 2, "maximum": 10, "maxSurge": 1, "maxUnavailable": 0,
                "cri": {"name": "containerd"},
                "machine": {"type": "large", "architecture": "amd64", "image": {"name": image, "version": image_version}},
                "volume": {"type": "ssd", "size": "50Gi"},
                "zones": ["eu-a", "eu-b", "eu-c"],
                "systemComponents": {"allow": true},
                "updateStrategy": "AutoRollingUpdate",
            });
            if pool > 0 && below(2, "own-version", pool) == 0 {
                worker["kubernetes"] = json!({"version": version, "kubelet": {"podPidsLimit": 4096}});
            }
            worker
        })
        .collect();
    let hour = below(23, "hour", 0);
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": name, "namespace": namespace,
            "annotations": {"gardener.cloud/created-by": "somebody@example.com"},
            "labels": {"shoot.gardener.cloud/status": "healthy"},
            "creationTimestamp": "2024-02-01T09:00:00Z",
            "finalizers": ["gardener", "gardener.cloud/reference-protection"],
            "generation": 12, "resourceVersion": (1_000_000 + index).to_string(),
            "uid": random.uid("bench", index),
            "managedFields": managed_fields(),
        },
        "spec": {
            "addons": {"kubernetesDashboard": {"enabled": false}, "nginxIngress": {"enabled": false}},
            "cloudProfile": {"kind": "CloudProfile", "name": "cloud"},
            "credentialsBindingName": "cloud",
            "region": "eu",
            "seedName": "eu-1",
            "purpose": "production",
            "dns": {"domain": format!("{name}.example.com")},
            "hibernation": {"enabled": below(10, "hibernated", 0) == 0},
            "kubernetes": {
                "version": version,
                "kubeAPIServer": {"requests": {"maxNonMutatingInflight": 400, "maxMutatingInflight": 200}},
                "kubeControllerManager": {"nodeCIDRMaskSize": 24, "nodeMonitorGracePeriod": "40s"},
                "kubeScheduler": {"profile": "balanced"},
                "kubeProxy": {"enabled": true, "mode": "IPTables"},
                "kubelet": {"failSwapOn": true, "imageGCHighThresholdPercent": 50, "imageGCLowThresholdPercent": 40},
                "verticalPodAutoscaler": {"enabled": true},
            },
            "maintenance": {
                "autoUpdate": {
                    "kubernetesVersion": below(2, "auto-kubernetes", 0) == 0,
                    "machineImageVersion": below(3, "auto-images", 0) > 0,
                },
                "timeWindow": {"begin": format!("{hour:02}0000+0000"), "end": format!("{:02}0000+0000", hour + 1)},
            },
            "networking": {"type": "calico", "nodes": "10.250.0.0/16", "pods": "100.96.0.0/11", "services": "100.64.0.0/13", "ipFamilies": ["IPv4"]},
            "provider": {"type": "local", "workers": workers, "workersSettings": {"sshAccess": {"enabled": true}}},
            "systemComponents": {"coreDNS": {"autoscaling": {"mode": "horizontal"}}},
        },
        "status": status(&name, index),
    })
}

fn status(name: &str, index: u64) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message, "codes": [],
            "lastTransitionTime": "2025-11-01T10:00:00Z", "lastUpdateTime": "2025-12-31T10:00:00Z",
        })
    };
    json!({
        "clusterIdentity": format!("shoot--p{:04}--{name}-landscape", index / SHOOTS_OF_A_PROJECT),
        "technicalID": format!("shoot--p{:04}--{name}", index / SHOOTS_OF_A_PROJECT),
        "uid": "6e4f",
        "observedGeneration": 12,
        "hibernated": false,
        "seedName": "eu-1",
        "gardener": {"id": "4c9832b3823ee6784064877d3eb10c189fc26e98", "name": "gardenlet-0", "version": "v1.120.0"},
        "lastOperation": {
            "type": "Reconcile", "state": "Succeeded", "progress": 100,
            "description": "Shoot cluster has been successfully reconciled.", "lastUpdateTime": "2025-12-31T09:00:00Z",
        },
        "lastMaintenance": {
            "description": "All maintenance operations successful. ", "state": "Succeeded", "triggeredTime": "2025-12-31T09:00:00Z",
        },
        "conditions": [
            condition("APIServerAvailable", "HealthzRequestSucceeded", "API server /healthz endpoint responded with success status code."),
            condition("ControlPlaneHealthy", "ControlPlaneRunning", "All control plane components are healthy."),
            condition("ObservabilityComponentsHealthy", "ObservabilityComponentsRunning", "All observability components are healthy."),
            condition("EveryNodeReady", "EveryNodeReady", "All nodes are ready."),
            condition("SystemComponentsHealthy", "SystemComponentsRunning", "All system components are healthy."),
        ],
        "constraints": [
            condition("HibernationPossible", "NoProblematicWebhooks", "All webhooks are properly configured."),
            condition("MaintenancePreconditionsSatisfied", "NoProblematicWebhooks", "All webhooks are properly configured."),
        ],
        "credentials": {"rotation": {
            "sshKeypair": {"lastInitiationTime": "2025-10-01T09:00:00Z", "lastCompletionTime": "2025-10-01T09:10:00Z"},
            "observability": {"lastInitiationTime": "2025-10-01T09:00:00Z", "lastCompletionTime": "2025-10-01T09:10:00Z"},
        }},
        "advertisedAddresses": [{"name": "external", "url": format!("https://api.{name}.example.com")}],
    })
}

/// Returns as many entries as three writers create.
fn managed_fields() -> Value {
    let fields = |keys: &[&str]| -> Value {
        keys.iter().map(|key| (format!("f:{key}"), json!({"f:enabled": {}, "f:name": {}, ".": {}}))).collect()
    };
    let entry = |manager: &str, operation: &str, keys: &[&str]| {
        json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "fieldsType": "FieldsV1", "manager": manager,
            "operation": operation, "time": "2025-12-31T09:00:00Z", "fieldsV1": {"f:spec": fields(keys)},
        })
    };
    let spec =
        ["addons", "cloudProfile", "dns", "kubernetes", "maintenance", "networking", "provider", "purpose", "region"];
    json!([
        entry("dashboard", "Update", &spec),
        entry("gardener-controller-manager", "Update", &["kubernetes", "provider"]),
        entry("gardenlet", "Update", &["conditions", "constraints", "credentials", "lastOperation", "gardener"]),
    ])
}
