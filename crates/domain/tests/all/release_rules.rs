// SPDX-License-Identifier: Apache-2.0
//! Rules of Gardener's releases v1.120 to v1.149 on both sides of each boundary: release, question, input, answer.

use api::catalogue;
use api::constants::annotation;
use api::core::{CloudProfile, CloudProfileSpec, ExpirableVersion, LifecycleStage, Seed, Shoot};
use apimachinery::field::Path;
use apimachinery::meta::Time;
use apimachinery::schema::{EACH, Node};
use chrono::{DateTime, TimeDelta, Utc};
use domain::admission::shoot::default_kubernetes_version;
use domain::maintenance::migration::migrate;
use domain::profile::Profile;
use domain::release::Release;
use domain::skew::GardenerVersion;
use domain::validation::shoot::{Gates, shoot_update};
use domain::versions::{Moment, Version};
use domain::worker_pool::effect::effects;
use domain::worker_pool::hash::{HashVersion, PoolForms};
use domain::{care, cloud_profile, defaulting, emergency_stop, validation};
use serde_json::{Value, json};

/// Questions:
/// `served KIND PATH`, a field of a kind: `yes` or `no`;
/// `refused KUBERNETES SHAPE`, validation of a Shoot with fields of [`SHAPES`]: `ok`, or the kinds of errors;
/// `default SHAPE POINTER`, value of a field of a new Shoot;
/// `migrated FROM TO SHAPE`, changes of a Shoot that maintenance updates;
/// `operation KUBERNETES NAME`, annotation with an operation: `ok` or `refused`;
/// `state CYCLE`, state of a version; cycles are `CLASS`, `CLASS@OFFSET` with the offset of the expiration date in seconds,
/// or stages joined by `+`;
/// `pick PARTIAL VERSION=CYCLE`, default version of a new Shoot;
/// `valid GATE CYCLE`, validation of a version with gate VersionClassificationLifecycle `on` or `off`;
/// `status`, states in the status of a CloudProfile;
/// `constraint`, constraint AutomaticCredentialsRotationPossible.
const TABLE: &str = "
120 | served Shoot spec.kubernetes.clusterAutoscaler.maxDrainParallelism                                  | no
121 | served Shoot spec.kubernetes.clusterAutoscaler.maxDrainParallelism                                  | yes
121 | served Shoot spec.kubernetes.enableStaticTokenKubeconfig                                            | yes
122 | served Shoot spec.kubernetes.enableStaticTokenKubeconfig                                            | no
126 | served Seed spec.dns.internal                                                                       | no
127 | served Seed spec.dns.internal                                                                       | yes
127 | served CloudProfile spec.machineCapabilities                                                        | no
128 | served CloudProfile spec.machineCapabilities                                                        | yes
127 | served CloudProfile spec.capabilities                                                               | yes
128 | served CloudProfile spec.capabilities                                                               | no
130 | served Seed spec.settings.loadBalancerServices.zonalIngress                                         | no
131 | served Seed spec.settings.loadBalancerServices.zonalIngress                                         | yes
131 | served Shoot status.manualWorkerPoolRollout                                                         | no
132 | served Shoot status.manualWorkerPoolRollout                                                         | yes
132 | served Shoot status.credentials.encryptionAtRest                                                    | no
133 | served Shoot status.credentials.encryptionAtRest                                                    | yes
134 | served Shoot spec.maintenance.autoRotation                                                          | no
135 | served Shoot spec.maintenance.autoRotation                                                          | yes
134 | served Seed spec.dns.provider.credentialsRef                                                        | no
135 | served Seed spec.dns.provider.credentialsRef                                                        | yes
135 | served Shoot spec.kubernetes.kubeAPIServer.encryptionConfig.provider                                | no
136 | served Shoot spec.kubernetes.kubeAPIServer.encryptionConfig.provider                                | yes
136 | served CloudProfile spec.kubernetes.versions.[].lifecycle                                           | no
137 | served CloudProfile spec.kubernetes.versions.[].lifecycle                                           | yes
136 | served CloudProfile status                                                                          | no
137 | served CloudProfile status                                                                          | yes
138 | served Seed spec.dns.provider.secretRef                                                             | yes
139 | served Seed spec.dns.provider.secretRef                                                             | no
138 | served Shoot status.encryptedResources                                                              | yes
139 | served Shoot status.encryptedResources                                                              | no
140 | served Shoot spec.kubernetes.kubelet.systemReserved                                                 | yes
141 | served Shoot spec.kubernetes.kubelet.systemReserved                                                 | no
141 | served Shoot spec.kubernetes.kubeAPIServer.oidcConfig                                               | yes
142 | served Shoot spec.kubernetes.kubeAPIServer.oidcConfig                                               | no
144 | served Seed spec.settings.persistentVolumeClaimAutoscaler                                           | no
145 | served Seed spec.settings.persistentVolumeClaimAutoscaler                                           | yes
146 | served Shoot spec.provider.workers.[].machineControllerManager.autoPreserveFailedMachineMax         | no
147 | served Shoot spec.provider.workers.[].machineControllerManager.autoPreserveFailedMachineMax         | yes
148 | served Shoot spec.kubernetes.kubeAPIServer.tlsMinVersion                                            | no
149 | served Shoot spec.kubernetes.kubeAPIServer.tlsMinVersion                                            | yes
120 | refused 1.33.0 bulk                 | ok
121 | refused 1.33.0 bulk                 | Forbidden
121 | refused 1.32.0 bulk                 | ok
121 | refused 1.33.0 eviction             | ok
122 | refused 1.33.0 eviction             | Invalid value
136 | refused 1.33.0 eviction             | Forbidden
149 | refused 1.32.0 eviction             | ok
123 | refused 1.34.0 profile-name         | ok
124 | refused 1.34.0 profile-name         | Forbidden
149 | refused 1.33.0 profile-name         | ok
126 | refused 1.34.0 secret-binding       | ok
127 | refused 1.34.0 secret-binding       | Forbidden
149 | refused 1.33.0 secret-binding       | ok
125 | refused 1.33.0 in-place-timeout     | ok
126 | refused 1.33.0 in-place-timeout     | Forbidden
134 | refused 1.33.0 nftables             | Unsupported value
135 | refused 1.33.0 nftables             | ok
135 | refused 1.35.0 anonymous            | ok
136 | refused 1.35.0 anonymous            | Forbidden
149 | refused 1.34.0 anonymous            | ok
135 | refused 1.35.0 addons               | ok
136 | refused 1.35.0 addons               | Forbidden
149 | refused 1.34.0 addons               | ok
135 | refused 1.35.0 volumes              | ok
136 | refused 1.35.0 volumes              | Forbidden
135 | refused 1.35.0 watch                | ok
136 | refused 1.35.0 watch                | Forbidden
135 | refused 1.33.0 events               | ok
136 | refused 1.33.0 events               | Invalid value
138 | refused 1.35.0 dns-secret           | ok
139 | refused 1.35.0 dns-secret           | Forbidden
149 | refused 1.34.0 dns-secret           | ok
120 | default plain /kubernetes/kubeAPIServer/enableAnonymousAuthentication      | false
121 | default plain /kubernetes/kubeAPIServer/enableAnonymousAuthentication      | -
120 | default autoscaler /kubernetes/clusterAutoscaler/maxEmptyBulkDelete        | 10
121 | default autoscaler /kubernetes/clusterAutoscaler/maxEmptyBulkDelete        | -
120 | default autoscaler /kubernetes/clusterAutoscaler/maxScaleDownParallelism   | -
121 | default autoscaler /kubernetes/clusterAutoscaler/maxScaleDownParallelism   | 10
121 | default bulk /kubernetes/clusterAutoscaler/maxScaleDownParallelism         | 5
124 | default auto /provider/workers/0/maxSurge                                  | 1
125 | default auto /provider/workers/0/maxSurge                                  | 0
124 | default auto /provider/workers/0/maxUnavailable                            | 0
125 | default auto /provider/workers/0/maxUnavailable                            | 1
124 | default manual /provider/workers/0/maxUnavailable                          | 1
125 | default manual /provider/workers/0/maxUnavailable                          | -
131 | default autoscaler /kubernetes/clusterAutoscaler/maxNodeGroupBackoffDuration | -
132 | default autoscaler /kubernetes/clusterAutoscaler/maxNodeGroupBackoffDuration | \"30m0s\"
134 | default vertical /kubernetes/verticalPodAutoscaler/recommenderUpdateWorkerCount | -
135 | default vertical /kubernetes/verticalPodAutoscaler/recommenderUpdateWorkerCount | 10
135 | default plain /kubernetes/kubeAPIServer/encryptionConfig/provider/type     | -
136 | default plain /kubernetes/kubeAPIServer/encryptionConfig/provider/type     | \"aescbc\"
135 | default plain /addons/kubernetesDashboard/authenticationMode               | \"token\"
136 | default plain /addons/kubernetesDashboard/authenticationMode               | -
137 | default dual /kubernetes/kubeControllerManager/nodeCIDRMaskSizeIPv6        | -
138 | default dual /kubernetes/kubeControllerManager/nodeCIDRMaskSizeIPv6        | 64
140 | default autoscaler /kubernetes/clusterAutoscaler/emitPerNodeGroupMetrics   | -
141 | default autoscaler /kubernetes/clusterAutoscaler/emitPerNodeGroupMetrics   | false
141 | default autoscaler /kubernetes/clusterAutoscaler/maxBinpackingTime         | -
142 | default autoscaler /kubernetes/clusterAutoscaler/maxBinpackingTime         | \"5m0s\"
140 | default plain /maintenance/autoRotation/credentials/etcdEncryptionKey/rotationPeriod | -
141 | default plain /maintenance/autoRotation/credentials/etcdEncryptionKey/rotationPeriod | \"672h0m0s\"
121 | migrated 1.32.0 1.33.0 eviction        | -
122 | migrated 1.32.0 1.33.0 eviction        | 1
149 | migrated 1.33.0 1.34.0 eviction        | -
122 | migrated 1.32.0 1.33.0 bulk            | -
123 | migrated 1.32.0 1.33.0 bulk            | 1
126 | migrated 1.33.0 1.34.0 secret-binding  | -
127 | migrated 1.33.0 1.34.0 secret-binding  | 1
132 | migrated 1.29.0 1.30.0 swap            | 1
133 | migrated 1.29.0 1.30.0 swap            | -
135 | migrated 1.34.0 1.35.0 anonymous       | -
136 | migrated 1.34.0 1.35.0 anonymous       | 1
136 | migrated 1.35.0 1.35.1 anonymous       | -
135 | migrated 1.34.0 1.35.0 addons          | -
136 | migrated 1.34.0 1.35.0 addons          | 1
135 | migrated 1.34.0 1.35.0 volumes         | -
136 | migrated 1.34.0 1.35.0 volumes         | 1
135 | migrated 1.34.0 1.35.0 watch           | -
136 | migrated 1.34.0 1.35.0 watch           | 1
138 | migrated 1.34.0 1.35.0 dns-secret      | -
139 | migrated 1.34.0 1.35.0 dns-secret      | 1
140 | migrated 1.30.0 1.31.0 reserved        | 1
141 | migrated 1.30.0 1.31.0 reserved        | -
140 | migrated 1.30.0 1.31.0 oidc-client     | 1
141 | migrated 1.30.0 1.31.0 oidc-client     | -
141 | migrated 1.31.0 1.32.0 oidc            | 1
142 | migrated 1.31.0 1.32.0 oidc            | -
127 | operation 1.33.0 rotate-etcd-encryption-key        | refused
128 | operation 1.33.0 rotate-etcd-encryption-key        | ok
127 | operation 1.34.0 rotate-etcd-encryption-key-start  | ok
128 | operation 1.34.0 rotate-etcd-encryption-key-start  | refused
128 | operation 1.33.0 rotate-etcd-encryption-key-start  | ok
131 | operation 1.33.0 rollout-workers=*                 | refused
132 | operation 1.33.0 rollout-workers=*                 | ok
132 | operation 1.33.0 rotate-ssh-keypair;rotate-observability-credentials | refused
133 | operation 1.33.0 rotate-ssh-keypair;rotate-observability-credentials | ok
120 | state -                              | unclassified
121 | state -                              | supported
136 | state deprecated@0                   | expired
137 | state deprecated@0                   | deprecated
137 | state deprecated@-1                  | expired
137 | state preview@0+supported@5          | unavailable
137 | state preview@-1+supported@0         | preview
149 | state preview+supported@-1           | supported
120 | pick 1.26 1.26.4=deprecated          | 1.26.4
121 | pick 1.26 1.26.4=deprecated          | refused
120 | pick 1.26 1.26.4=supported@0         | 1.26.4
121 | pick 1.26 1.26.4=supported@0         | refused
136 | pick 1.26 1.26.4=supported@0         | refused
137 | pick 1.26 1.26.4=supported@0         | 1.26.4
137 | pick 1.26 1.26.4=preview+supported@0 | refused
137 | pick 1.26 1.26.4=preview+supported@-1 | 1.26.4
136 | valid off expired                    | Unsupported value
137 | valid off expired                    | Forbidden
137 | valid off supported+deprecated@5     | Forbidden
137 | valid on supported+deprecated@5      | ok
137 | valid on supported@5+deprecated@4    | Invalid value
137 | valid on deprecated+supported@5      | Invalid value
137 | valid on supported+deprecated        | Required value
137 | valid on supported+supported@5       | Duplicate value
148 | status                               | -
149 | status                               | supported
148 | constraint                           | -
149 | constraint                           | True
";

/// Questions in which the documents' release and v1.149.0 differ, with v1.149.0's answers; in addition to those of [`TABLE`]:
/// `synced KUBERNETES`, `spec.cloudProfileName` of a Shoot that has it and is updated;
/// `stopped`, reconciliation of Shoots whose Seed has the annotation of an emergency stop, and the Seed's condition;
/// `replaces KUBERNETES SHAPE`, effect on the nodes of a pool when a Shoot gets the fields.
const MEASURED: &str = "
120 | valid off supported+deprecated@5       | Forbidden
149 | valid off supported+deprecated@5       | Forbidden
149 | valid on supported+deprecated@5        | ok
149 | served CloudProfile spec.machineCapabilities | yes
149 | served CloudProfile spec.capabilities  | no
149 | served CloudProfile spec.machineImages.[].versions.[].capabilityFlavors | yes
149 | served CloudProfile spec.kubernetes.versions.[].lifecycle | yes
149 | served CloudProfile status             | yes
149 | served Shoot status.manualWorkerPoolRollout | yes
149 | served Shoot status.credentials.encryptionAtRest | yes
149 | served Shoot spec.kubernetes.kubeAPIServer.encryptionConfig.provider | yes
149 | served Shoot spec.kubernetes.kubeAPIServer.oidcConfig | no
149 | served Shoot spec.maintenance.autoRotation | yes
149 | served Seed spec.dns.internal          | yes
149 | served Seed spec.dns.provider.credentialsRef | yes
149 | served Seed spec.settings.persistentVolumeClaimAutoscaler | yes
149 | served Garden spec.runtimeCluster.networking.ipFamilies | yes
149 | served Garden spec.virtualCluster.gardener.gardenerDashboard.domain | yes
149 | served Garden spec.virtualCluster.gardener.gardenerDiscoveryServer.domain | yes
128 | served Garden spec.runtimeCluster.networking.ipFamilies | no
149 | refused 1.36.0 secret-binding          | Forbidden
149 | refused 1.36.0 profile-name            | Forbidden
120 | synced 1.36.0                          | local
149 | synced 1.36.0                          | -
149 | refused 1.33.0 eviction                | Forbidden
149 | refused 1.33.0 bulk                    | Forbidden
149 | refused 1.35.0 addons                  | Forbidden
149 | refused 1.35.0 anonymous               | Forbidden
149 | refused 1.35.0 volumes                 | Forbidden
149 | refused 1.35.0 watch                   | Forbidden
149 | refused 1.35.0 events                  | Invalid value
149 | pick 1.26 1.26.4=deprecated            | refused
149 | default auto /provider/workers/0/maxSurge         | 0
149 | default auto /provider/workers/0/maxUnavailable   | 1
149 | default manual /provider/workers/0/maxSurge       | -
149 | default manual /provider/workers/0/maxUnavailable | -
149 | refused 1.36.0 nftables                | ok
149 | operation 1.36.0 rollout-workers=*     | ok
120 | stopped                                | reconciled, no condition
149 | stopped                                | stopped, True
149 | migrated 1.32.0 1.33.0 before-33       | 2
149 | migrated 1.34.0 1.35.0 before-35       | 4
120 | migrated 1.34.0 1.35.0 before-35       | -
120 | replaces 1.34.0 node-local             | rolling
149 | replaces 1.34.0 node-local             | none
149 | replaces 1.33.0 node-local             | rolling
120 | state deprecated                       | deprecated
149 | state supported+expired@-1             | expired
149 | default autoscaler /kubernetes/clusterAutoscaler/maxScaleDownParallelism  | 10
149 | default autoscaler /kubernetes/clusterAutoscaler/maxDrainParallelism      | 1
149 | default plain /kubernetes/kubeAPIServer/encryptionConfig/provider/type    | \"aescbc\"
149 | status                                 | supported
";

/// Fields of a Shoot by name, each as a merge patch of its spec.
const SHAPES: [(&str, &str); 27] = [
    ("plain", "{}"),
    ("bulk", r#"{"kubernetes": {"clusterAutoscaler": {"maxEmptyBulkDelete": 5}}}"#),
    ("autoscaler", r#"{"kubernetes": {"clusterAutoscaler": {}}}"#),
    ("vertical", r#"{"kubernetes": {"verticalPodAutoscaler": {"enabled": true}}}"#),
    ("eviction", r#"{"kubernetes": {"kubeControllerManager": {"podEvictionTimeout": "2m"}}}"#),
    ("profile-name", r#"{"cloudProfileName": "local"}"#),
    ("secret-binding", r#"{"credentialsBindingName": null, "secretBindingName": "local"}"#),
    (
        "in-place-timeout",
        r#"{"provider": {"workers": [{"machineControllerManager": {"inPlaceUpdateTimeout": "1h"}}]}}"#,
    ),
    ("nftables", r#"{"kubernetes": {"kubeProxy": {"mode": "NFTables", "enabled": true}}}"#),
    ("anonymous", r#"{"kubernetes": {"kubeAPIServer": {"enableAnonymousAuthentication": false}}}"#),
    ("addons", r#"{"addons": {"kubernetesDashboard": {"enabled": false}}}"#),
    ("volumes", r#"{"kubernetes": {"kubeScheduler": {"kubeMaxPDVols": "3"}}}"#),
    ("watch", r#"{"kubernetes": {"kubeAPIServer": {"watchCacheSizes": {"default": 3}}}}"#),
    ("events", r#"{"kubernetes": {"kubeAPIServer": {"eventTTL": "48h"}}}"#),
    (
        "dns-secret",
        r#"{"dns": {"domain": "s.example.org", "providers": [{"type": "local", "secretName": "s", "primary": true,
            "credentialsRef": {"apiVersion": "v1", "kind": "Secret", "name": "s"}}]}}"#,
    ),
    ("auto", r#"{"provider": {"workers": [{"updateStrategy": "AutoInPlaceUpdate"}]}}"#),
    ("manual", r#"{"provider": {"workers": [{"updateStrategy": "ManualInPlaceUpdate"}]}}"#),
    ("dual", r#"{"networking": {"ipFamilies": ["IPv4", "IPv6"]}}"#),
    ("swap", r#"{"kubernetes": {"kubelet": {"memorySwap": {"swapBehavior": "UnlimitedSwap"}}}}"#),
    ("reserved", r#"{"kubernetes": {"kubelet": {"systemReserved": {"cpu": "100m"}}}}"#),
    ("oidc", r#"{"kubernetes": {"kubeAPIServer": {"oidcConfig": {"clientID": "id"}}}}"#),
    ("oidc-client", r#"{"kubernetes": {"kubeAPIServer": {"oidcConfig": {"clientAuthentication": {"secret": "s"}}}}}"#),
    (
        "before-33",
        r#"{"kubernetes": {"kubeControllerManager": {"podEvictionTimeout": "2m"}, "clusterAutoscaler": {"maxEmptyBulkDelete": 5}}}"#,
    ),
    (
        "before-35",
        r#"{"addons": {"kubernetesDashboard": {"enabled": false}}, "kubernetes": {"kubeScheduler": {"kubeMaxPDVols": "3"},
            "kubeAPIServer": {"enableAnonymousAuthentication": false, "watchCacheSizes": {"default": 3}}}}"#,
    ),
    ("node-local", r#"{"systemComponents": {"nodeLocalDNS": {"enabled": true}}}"#),
    ("surge", r#""{"provider": {"workers": [{"maxSurge": 2}]}}"#),
    (
        "rotation",
        r#"{"maintenance": {"autoRotation": {"credentials": {"etcdEncryptionKey": {"rotationPeriod": "168h"}}}}}"#,
    ),
];

/// Returns a Shoot of a Kubernetes version with a pool, defaulted or not.
fn shoot(version: &str, shape: &str) -> Shoot {
    let mut spec = json!({
        "cloudProfile": { "kind": "CloudProfile", "name": "local" },
        "credentialsBindingName": "local",
        "region": "r",
        "kubernetes": { "version": version },
        "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
        "provider": { "type": "local", "workers": [{
            "name": "a", "minimum": 1, "maximum": 2,
            "machine": { "type": "small", "image": { "name": "os", "version": "1.0.0" } },
        }] },
    });
    let (_, change) = SHAPES.iter().find(|(name, _)| *name == shape).unwrap_or_else(|| panic!("no shape {shape}"));
    merge(&mut spec, &serde_json::from_str(change).expect("a change"));
    let object = json!({
        "metadata": { "name": "s", "namespace": "garden-p", "resourceVersion": "1" },
        "spec": spec,
        "status": { "lastOperation": { "type": "Create", "state": "Succeeded", "progress": 100 } },
    });
    serde_json::from_value(object).expect("a Shoot")
}

/// Applies a merge patch to a tree; items of lists are patched one by one.
fn merge(value: &mut Value, change: &Value) {
    match (&mut *value, change) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (name, change) in changes {
                if change.is_null() {
                    fields.remove(name);
                } else {
                    merge(fields.entry(name.clone()).or_insert_with(|| Value::Null), change);
                }
            }
        }
        (Value::Array(items), Value::Array(changes)) if !items.is_empty() => {
            items.iter_mut().zip(changes).for_each(|(item, change)| merge(item, change));
        }
        _ => value.clone_from(change),
    }
}

fn now() -> DateTime<Utc> {
    "2026-06-15T12:00:00Z".parse().expect("RFC 3339")
}

/// Returns a version with a life cycle.
fn version(version: &str, cycle: &str) -> ExpirableVersion {
    let mut entry = ExpirableVersion { version: version.to_owned(), ..ExpirableVersion::default() };
    let time = |offset: &str| Time(now() + TimeDelta::seconds(offset.parse().expect("seconds")));
    let part = |text: &str| match text.split_once('@') {
        Some((class, offset)) => (class.to_owned(), Some(time(offset))),
        None => (text.to_owned(), None),
    };
    if cycle.contains('+') {
        let stage = |text| {
            let (classification, start_time) = part(text);
            LifecycleStage { classification, start_time }
        };
        entry.lifecycle = cycle.split('+').map(stage).collect();
        return entry;
    }
    let (class, date) = part(cycle);
    entry.classification = Some(class).filter(|class| class != "-");
    entry.expiration_date = date;
    entry
}

/// Returns the kinds of errors that a shape adds, without repetition.
fn refusals(version: &str, shape: &str, release: Release) -> String {
    let gates = Gates { in_place_node_updates: true, release, ..Gates::default() };
    let said = |shape| {
        let mut shoot = shoot(version, shape);
        shoot.spec.provider.workers[0].max_surge.get_or_insert(apimachinery::meta::IntOrString::Int(1));
        shoot.spec.provider.workers[0].max_unavailable.get_or_insert(apimachinery::meta::IntOrString::Int(0));
        validation::shoot::shoot(&shoot, gates)
    };
    let always = said("plain");
    let mut kinds: Vec<String> = said(shape)
        .iter()
        .filter(|error| !always.contains(error))
        .map(|error| error.body.split(':').next().unwrap_or_default().to_owned())
        .collect();
    kinds.dedup();
    if kinds.is_empty() { "ok".to_owned() } else { kinds.join(", ") }
}

fn served(kind: &str, path: &str, release: Release) -> bool {
    let mut rows = catalogue::all().iter().filter(|row| row.kind == kind);
    let row = rows.find(|row| row.group != "extensions.gardener.cloud").expect("a kind");
    let has = |root: Node| {
        path.split('.').try_fold(root, |node, name| match node {
            Node::List(inner) | Node::Map(inner) if name == EACH => Some((*inner).clone()),
            node => Some(node.as_object()?.field(name)?.node.clone()),
        })
    };
    assert!(has(row.at(Release::UNION).node()).is_some(), "no release has {kind} {path}");
    has(row.at(release).node()).is_some()
}

fn answer(minor: u16, question: &str) -> String {
    let release = Release(minor);
    let at = Moment::new(now(), release);
    let words: Vec<&str> = question.split_whitespace().collect();
    match words.as_slice() {
        ["served", kind, path] => (if served(kind, path, release) { "yes" } else { "no" }).to_owned(),
        ["refused", kubernetes, shape] => refusals(kubernetes, shape, release),
        ["default", shape, pointer] => {
            let mut shoot = shoot("1.33.0", shape);
            defaulting::new_shoot(&mut shoot, &GardenerVersion::release(1, u64::from(minor), 0));
            defaulting::shoot(&mut shoot, 0, release);
            let tree = serde_json::to_value(&shoot.spec).expect("a tree");
            tree.pointer(pointer).map_or_else(|| "-".to_owned(), ToString::to_string)
        }
        ["migrated", from, to, shape] => {
            let mut spec = shoot(from, shape).spec;
            let parsed = |text: &str| text.parse::<Version>().expect("a version");
            let told = migrate(&mut spec, &parsed(from), &parsed(to), release).expect("versions that parse");
            if told.is_empty() { "-".to_owned() } else { told.len().to_string() }
        }
        ["operation", kubernetes, name] => {
            let old = shoot(kubernetes, "plain");
            let mut new = old.clone();
            new.metadata.annotations.insert("gardener.cloud/operation".to_owned(), (*name).to_owned());
            let errors = shoot_update(&new, &old, Gates { release, ..Gates::default() });
            let is_refused = errors.iter().any(|error| error.field.starts_with("metadata.annotations"));
            (if is_refused { "refused" } else { "ok" }).to_owned()
        }
        ["state", cycle] => at.state(&version("1.34.1", cycle)).to_string(),
        ["pick", partial, entry] => {
            let (name, cycle) = entry.split_once('=').expect("VERSION=CYCLE");
            let found = default_kubernetes_version(&[version(name, cycle)], partial, at, &Path::new("v"));
            found.map_or_else(|_| "refused".to_owned(), Option::unwrap_or_default)
        }
        ["valid", gate, cycle] => {
            let mut profile = CloudProfile::default();
            profile.spec.kubernetes.versions = vec![version("1.34.1", cycle), version("1.35.0", "-")];
            let gates = Gates { version_classification_lifecycle: *gate == "on", release, ..Gates::default() };
            let errors = validation::cloud_profile::cloud_profile(&profile, Profile::Upstream, gates, now());
            let own = errors.iter().find(|error| error.field.starts_with("spec.kubernetes.versions[0]"));
            own.and_then(|error| error.body.split(':').next()).unwrap_or("ok").to_owned()
        }
        ["synced", kubernetes] => {
            let mut shoot = shoot(kubernetes, "profile-name");
            let old = shoot.clone();
            defaulting::sync_cloud_profile_reference(&mut shoot, Some(&old), release);
            shoot.spec.cloud_profile_name.unwrap_or_else(|| "-".to_owned())
        }
        ["stopped"] => {
            let mut seed = Seed::default();
            let key = annotation::SHOOT_EMERGENCY_STOP_RECONCILIATIONS.to_owned();
            seed.metadata.annotations.insert(key, "true".to_owned());
            let is_active = emergency_stop::is_active(&seed, release);
            let mut conditions = Vec::new();
            emergency_stop::set_condition(&mut conditions, is_active, release, Time(now()));
            let condition = conditions.first().map_or("no condition", |condition| condition.status.as_str());
            format!("{}, {condition}", if is_active { "stopped" } else { "reconciled" })
        }
        ["replaces", kubernetes, shape] => {
            let forms = PoolForms::all(HashVersion::V2, release);
            let (old, new) = (shoot(kubernetes, "plain"), shoot(kubernetes, shape));
            effects(&old, &new, &forms)["a"].effect.as_str().to_owned()
        }
        ["status"] => {
            let mut spec = CloudProfileSpec::default();
            spec.kubernetes.versions = vec![version("1.34.1", "-")];
            let status = cloud_profile::status(&spec, at).and_then(|status| status.kubernetes);
            status.map_or_else(|| "-".to_owned(), |status| status.versions[0].classification.clone())
        }
        ["constraint"] => {
            let found = care::automatic_rotation(&shoot("1.34.0", "rotation"), at);
            found.map_or("-", |(finding, _)| finding.status).to_owned()
        }
        _ => panic!("no question: {question}"),
    }
}

fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().filter(|line| !line.is_empty()).map(|line| line.split('|').map(str::trim).collect()).collect()
}

/// Asserts the answers of a table.
#[track_caller]
fn check(table: &str) {
    let rows = rows(table);
    let wrong = rows.iter().filter_map(|row| {
        let [minor, question, expected] = row.as_slice() else { panic!("three columns: {row:?}") };
        let said = answer(minor.parse().expect("a minor"), question);
        (said != *expected).then(|| format!("1.{minor} {question}: {said}, expected {expected}"))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn rules_change_with_their_releases() {
    check(TABLE);
    assert!(rows(TABLE).len() >= 150);
}

#[test]
fn the_newest_release_differs_from_the_documents_release() {
    check(MEASURED);
}
