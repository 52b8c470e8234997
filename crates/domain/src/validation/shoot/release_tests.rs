// SPDX-License-Identifier: Apache-2.0
//! Rules of Shoots that differ between releases, as tables.

use serde_json::{Value, json};

use super::*;
use crate::release::{NEWEST, Release};

/// Returns a Shoot of a Kubernetes version; `change`: merge patch of its spec.
pub(super) fn shoot_with(version: &str, change: &str) -> Shoot {
    let mut spec = json!({
        "cloudProfile": { "kind": "CloudProfile", "name": "local" },
        "credentialsBindingName": "local",
        "region": "r",
        "kubernetes": { "version": version },
        "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
        "provider": { "type": "local", "workers": [{
            "name": "a", "minimum": 1, "maximum": 2, "maxSurge": 1, "maxUnavailable": 0,
            "machine": { "type": "small", "image": { "name": "os", "version": "1.0.0" } },
        }] },
    });
    merge(&mut spec, &serde_json::from_str(change).expect("a change"));
    serde_json::from_value(json!({ "metadata": { "name": "s", "namespace": "garden-p" }, "spec": spec }))
        .expect("a Shoot")
}

pub(super) fn merge(value: &mut Value, change: &Value) {
    let (Value::Object(fields), Value::Object(changes)) = (&mut *value, change) else {
        value.clone_from(change);
        return;
    };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert_with(|| json!({})), change);
        }
    }
}

pub(super) fn gates(release: u16) -> Gates {
    Gates { in_place_node_updates: true, release: Release(release), ..Gates::default() }
}

/// Errors that a release has because of a change.
pub(super) fn errors(release: u16, version: &str, change: &str) -> Vec<String> {
    let said = |change: &str| {
        let errors = super::shoot(&shoot_with(version, change), gates(release));
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let always = said("{}");
    said(change).into_iter().filter(|error| !always.contains(error)).collect()
}

/// Change, path of the field, minor of Kubernetes since which it is refused, messages and their first releases.
type Refused = (&'static str, &'static str, u64, &'static [(u16, &'static str)]);

const REFUSED: &[Refused] = &[
    (
        r#"{"kubernetes": {"clusterAutoscaler": {"maxEmptyBulkDelete": 5}}}"#,
        "spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete",
        33,
        &[
            (121, "Forbidden: is not supported for kubernetes v1.33 and above, use maxScaleDownParallelism instead"),
            (
                136,
                "Forbidden: for Kubernetes versions >= 1.33, maxEmptyBulkDelete field is no longer supported, use \
                 maxScaleDownParallelism instead",
            ),
        ],
    ),
    (
        r#"{"kubernetes": {"kubeControllerManager": {"podEvictionTimeout": "2m"}}}"#,
        "spec.kubernetes.kubeControllerManager.podEvictionTimeout",
        33,
        &[
            (
                122,
                "Invalid value: 2m0s: podEvictionTimeout is no longer supported by Gardener starting from Kubernetes 1.33",
            ),
            (136, "Forbidden: for Kubernetes versions >= 1.33, podEvictionTimeout field is no longer supported"),
        ],
    ),
    (
        r#"{"cloudProfileName": "local"}"#,
        "spec.cloudProfileName",
        34,
        &[
            (
                124,
                "Forbidden: starting with k8s v1.34, cloudProfileName must not be set. Instead, use spec.cloudProfile.name",
            ),
            (
                136,
                "Forbidden: for Kubernetes version >= 1.34, cloudProfileName field is no longer supported, use \
                 spec.cloudProfile.name instead",
            ),
        ],
    ),
    (
        r#"{"credentialsBindingName": null, "secretBindingName": "local"}"#,
        "spec.secretBindingName",
        34,
        &[
            (127, "Forbidden: is no longer supported for Kubernetes >= 1.34, use spec.credentialsBindingName instead"),
            (
                136,
                "Forbidden: for Kubernetes versions >= 1.34, secretBindingName field is no longer supported, use \
                 spec.credentialsBindingName instead",
            ),
        ],
    ),
    (
        r#"{"kubernetes": {"kubeAPIServer": {"enableAnonymousAuthentication": false}}}"#,
        "spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication",
        35,
        &[(
            136,
            "Forbidden: for Kubernetes versions >= 1.35, enableAnonymousAuthentication field is no longer supported",
        )],
    ),
    (
        r#"{"addons": {"kubernetesDashboard": {"enabled": false}}}"#,
        "spec.addons",
        35,
        &[(136, "Forbidden: for Kubernetes versions >= 1.35, addons field is no longer supported")],
    ),
    (
        r#"{"kubernetes": {"kubeScheduler": {"kubeMaxPDVols": "3"}}}"#,
        "spec.kubernetes.kubeScheduler.kubeMaxPDVols",
        35,
        &[(136, "Forbidden: for Kubernetes version >= 1.35, kubeMaxPDVols field is no longer supported")],
    ),
    (
        r#"{"kubernetes": {"kubeAPIServer": {"watchCacheSizes": {"default": 3}}}}"#,
        "spec.kubernetes.kubeAPIServer.watchCacheSizes.default",
        35,
        &[(
            136,
            "Forbidden: for Kubernetes versions >= 1.35, configuring the default watch cache size is no longer supported",
        )],
    ),
    (
        r#"{"dns": {"domain": "a.example", "providers": [{"type": "t", "secretName": "s", "primary": true,
            "credentialsRef": {"apiVersion": "v1", "kind": "Secret", "name": "s"}}]}}"#,
        "spec.dns.providers[0].secretName",
        35,
        &[(139, "Forbidden: for Kubernetes versions >= 1.35, secretName field is no longer supported")],
    ),
];

#[test]
fn fields_are_refused_from_a_kubernetes_version_on() {
    for (change, path, minor, bodies) in REFUSED {
        let (before, version) = (format!("1.{}.9", minor - 1), format!("1.{minor}.0"));
        let none: [&str; 0] = [];
        assert_eq!(errors(bodies[0].0 - 1, &version, change), none, "{path}");
        for (index, (since, body)) in bodies.iter().enumerate() {
            let last = bodies.get(index + 1).map_or(NEWEST.0, |(next, _)| next - 1);
            for release in [*since, last] {
                assert_eq!(errors(release, &version, change), [format!("{path}: {body}")], "1.{release}");
                assert_eq!(errors(release, &before, change), none, "1.{release} {path}");
            }
        }
    }
}

/// Release, Kubernetes version, change, errors.
pub(super) type Rule = (u16, &'static str, &'static str, &'static [&'static str]);

const WEEK: &str = r#"{"kubernetes": {"kubeAPIServer": {"eventTTL": "168h"}}}"#;
const DAY: &str = r#"{"kubernetes": {"kubeAPIServer": {"eventTTL": "24h"}}}"#;
const LONGER_THAN_A_DAY: &str =
    "spec.kubernetes.kubeAPIServer.eventTTL: Invalid value: 168h0m0s: can not be longer than 24h";
const NFTABLES: &str = r#"{"kubernetes": {"kubeProxy": {"mode": "NFTables"}}}"#;
const NFTABLES_ON: &str =
    r#"{"kubernetes": {"kubeProxy": {"mode": "NFTables", "featureGates": {"NFTablesProxyMode": true}}}}"#;
const NFTABLES_OFF: &str =
    r#"{"kubernetes": {"kubeProxy": {"mode": "NFTables", "featureGates": {"NFTablesProxyMode": false}}}}"#;
const NEEDS_GATE: &str = "spec.kubernetes.kubeProxy.mode: Invalid value: \"NFTables\": NFTables mode requires feature gate \
                          NFTablesProxyMode=true for Kubernetes < 1.31";
const PARALLELISM: &str =
    r#"{"kubernetes": {"clusterAutoscaler": {"maxEmptyBulkDelete": 5, "maxScaleDownParallelism": 6}}}"#;

const AESGCM: &str = r#"{"kubernetes": {"kubeAPIServer": {"encryptionConfig": {"provider": {"type": "aesgcm"}}}}}"#;
const AESGCM_ROTATED: &str = r#"{"kubernetes": {"kubeAPIServer": {"encryptionConfig": {"provider": {"type": "aesgcm"}}}},
    "maintenance": {"autoUpdate": {"kubernetesVersion": true, "machineImageVersion": true},
        "autoRotation": {"credentials": {"etcdEncryptionKey": {"rotationPeriod": "672h"}}}}}"#;
const AESGCM_OFF: &str = r#"{"kubernetes": {"kubeAPIServer": {"encryptionConfig": {"provider": {"type": "aesgcm"}}}},
    "maintenance": {"autoUpdate": {"kubernetesVersion": true, "machineImageVersion": true},
        "autoRotation": {"credentials": {"etcdEncryptionKey": {"rotationPeriod": "0s"}}}}}"#;
const SECRETBOX: &str =
    r#"{"kubernetes": {"kubeAPIServer": {"encryptionConfig": {"provider": {"type": "secretbox"}}}}}"#;
const NOT_ROTATED: &str = "spec.kubernetes.kubeAPIServer.encryptionConfig.provider.type: Forbidden: etcdEncryptionKey auto \
                           rotation must be enabled when encryption at rest provider is AES-GCM";
const LEAST_NODES: &str = r#"{"kubernetes": {"clusterAutoscaler": {"expander": "least-nodes,random"}}}"#;
const IPV6_SIZE: &str = r#"{"networking": {"ipFamilies": ["IPv4"]},
    "kubernetes": {"kubeControllerManager": {"nodeCIDRMaskSize": 24, "nodeCIDRMaskSizeIPv6": 64}}}"#;
const DUAL_SIZES: &str = r#"{"networking": {"ipFamilies": ["IPv4", "IPv6"]},
    "kubernetes": {"kubeControllerManager": {"nodeCIDRMaskSize": 24, "nodeCIDRMaskSizeIPv6": 64}}}"#;
const DUAL_SIZES_WRONG: &str = r#"{"networking": {"ipFamilies": ["IPv4", "IPv6"]},
    "kubernetes": {"kubeControllerManager": {"nodeCIDRMaskSize": 24, "nodeCIDRMaskSizeIPv6": 63}}}"#;

const RULES: &[Rule] = &[
    (
        140,
        "1.32.0",
        SECRETBOX,
        &[
            "spec.kubernetes.kubeAPIServer.encryptionConfig.provider.type: Unsupported value: \"secretbox\": supported values: \
           \"aescbc\"",
        ],
    ),
    (141, "1.32.0", SECRETBOX, &[]),
    (141, "1.32.0", AESGCM, &[NOT_ROTATED]),
    (141, "1.32.0", AESGCM_OFF, &[NOT_ROTATED]),
    (141, "1.32.0", AESGCM_ROTATED, &[]),
    (
        140,
        "1.32.0",
        LEAST_NODES,
        &["spec.kubernetes.clusterAutoscaler.expander: Unsupported value: \"least-nodes,random\": supported values: \
           \"least-waste\", \"most-pods\", \"priority\", \"random\""],
    ),
    (141, "1.32.0", LEAST_NODES, &[]),
    (
        138,
        "1.32.0",
        IPV6_SIZE,
        &[
            "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSizeIPv6: Forbidden: nodeCIDRMaskSizeIPv6 cannot be set for IPv4 \
           single-stack clusters",
        ],
    ),
    (138, "1.32.0", DUAL_SIZES, &[]),
    (
        138,
        "1.32.0",
        DUAL_SIZES_WRONG,
        &[
            "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSizeIPv6: Invalid value: 63: nodeCIDRMaskSizeIPv6 must be between 64 \
           and 124",
        ],
    ),
    (135, "1.32.0", WEEK, &[]),
    (136, "1.32.0", DAY, &[]),
    (136, "1.32.0", WEEK, &[LONGER_THAN_A_DAY]),
    (149, "1.32.0", WEEK, &[LONGER_THAN_A_DAY]),
    (
        134,
        "1.32.0",
        NFTABLES,
        &["spec.kubernetes.kubeProxy.mode: Unsupported value: \"NFTables\": supported values: \"IPTables\", \"IPVS\""],
    ),
    (135, "1.32.0", NFTABLES, &[]),
    (135, "1.30.0", NFTABLES, &[NEEDS_GATE]),
    (135, "1.30.0", NFTABLES_ON, &[]),
    (140, "1.30.0", NFTABLES, &[NEEDS_GATE]),
    (141, "1.30.0", NFTABLES, &[]),
    (
        135,
        "1.32.0",
        NFTABLES_OFF,
        &[
            "spec.kubernetes.kubeProxy.mode: Invalid value: \"NFTables\": NFTables mode cannot be used when feature gate \
           NFTablesProxyMode is explicitly set to false",
        ],
    ),
    (
        121,
        "1.32.0",
        PARALLELISM,
        &[
            "spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete: Invalid value: 5: must equal maxScaleDownParallelism 6",
        ],
    ),
];

#[test]
fn rules_hold_from_their_release_on() {
    for (release, version, change, expected) in RULES {
        assert_eq!(errors(*release, version, change), *expected, "1.{release} {version} {change}");
    }
}

/// Release, fields of a pool, errors below the pool.
const POOLS: &[(u16, &str, &[&str])] = &[
    (125, r#"{"machineControllerManager": {"inPlaceUpdateTimeout": "1h"}}"#, &[]),
    (
        126,
        r#"{"machineControllerManager": {"inPlaceUpdateTimeout": "1h"}}"#,
        &[
            "machineControllerManagerSettings.inPlaceUpdateTimeout: Forbidden: can only be set when the update strategy is \
           `AutoInPlaceUpdate` or `ManualInPlaceUpdate`",
        ],
    ),
    (
        126,
        r#"{"updateStrategy": "AutoInPlaceUpdate", "machineControllerManager": {"inPlaceUpdateTimeout": "1h"}}"#,
        &[],
    ),
    (
        126,
        r#"{"updateStrategy": "AutoInPlaceUpdate", "machineControllerManager": {"inPlaceUpdateTimeout": "-1h"}}"#,
        &["machineControllerManagerSettings.inPlaceUpdateTimeout: Invalid value: \"-1h0m0s\": must be non-negative"],
    ),
    (
        120,
        r#"{"machineControllerManager": {"disableHealthTimeout": true}}"#,
        &["machineControllerManagerSettings.disableHealthTimeout: Forbidden: can only be set to true when the update \
           strategy is `AutoInPlaceUpdate` or `ManualInPlaceUpdate`"],
    ),
    (
        126,
        r#"{"machineControllerManager": {"disableHealthTimeout": true}}"#,
        &["machineControllerManagerSettings.disableHealthTimeout: Forbidden: can only be set to true when the update \
           strategy is `AutoInPlaceUpdate` or `ManualInPlaceUpdate`"],
    ),
    (125, r#"{"machineControllerManager": {"machineDrainTimeout": "-1h", "maxEvictRetries": -1}}"#, &[]),
    (
        126,
        r#"{"machineControllerManager": {"machineDrainTimeout": "-1h", "maxEvictRetries": -1}}"#,
        &[
            "machineControllerManagerSettings.machineDrainTimeout: Invalid value: \"-1h0m0s\": must be non-negative",
            "machineControllerManagerSettings.maxEvictRetries: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    (147, r#"{"maximum": 3, "machineControllerManager": {"autoPreserveFailedMachineMax": 2}}"#, &[]),
    (
        147,
        r#"{"maximum": 3, "machineControllerManager": {"autoPreserveFailedMachineMax": 3}}"#,
        &["machineControllerManagerSettings.autoPreserveFailedMachineMax: Invalid value: 3: must not be greater than \
           maximum-1 value when system components are allowed, need at least one machine to run system components"],
    ),
    (
        147,
        r#"{"maximum": 3, "machineControllerManager": {"autoPreserveFailedMachineMax": -1, "machinePreserveTimeout": "-1m"}}"#,
        &[
            "machineControllerManagerSettings.machinePreserveTimeout: Invalid value: \"-1m0s\": must be non-negative",
            "machineControllerManagerSettings.autoPreserveFailedMachineMax: Invalid value: -1: must not be negative",
        ],
    ),
    (
        124,
        r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": 1, "maxUnavailable": 1}"#,
        &[
            "maxSurge: Invalid value: intstr.IntOrString{Type:0, IntVal:1, StrVal:\"\"}: must be 0 when `updateStrategy` is `ManualInPlaceUpdate`",
        ],
    ),
    (124, r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": 0, "maxUnavailable": 1}"#, &[]),
    (
        124,
        r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": 0, "maxUnavailable": 0}"#,
        &[
            "maxUnavailable: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:\"\"}: may not be 0 when `maxSurge` is 0",
        ],
    ),
    (125, r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": 1, "maxUnavailable": 1}"#, &[]),
    (125, r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": 0, "maxUnavailable": 0}"#, &[]),
    (128, r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": 0, "maxUnavailable": 1}"#, &[]),
    (
        129,
        r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": 0, "maxUnavailable": 1}"#,
        &[
            "maxSurge: Invalid value: intstr.IntOrString{Type:0, IntVal:0, StrVal:\"\"}: should not be set when `updateStrategy` is `ManualInPlaceUpdate`",
            "maxUnavailable: Invalid value: intstr.IntOrString{Type:0, IntVal:1, StrVal:\"\"}: should not be set when `updateStrategy` is `ManualInPlaceUpdate`",
        ],
    ),
    (129, r#"{"updateStrategy": "ManualInPlaceUpdate", "maxSurge": null, "maxUnavailable": null}"#, &[]),
];

#[test]
fn rules_of_pools_hold_from_their_release_on() {
    let base = shoot_with("1.32.0", "{}").spec.provider.workers[0].clone();
    for (release, fields, expected) in POOLS {
        let mut pool = serde_json::to_value(&base).expect("a pool");
        merge(&mut pool, &serde_json::from_str(fields).expect("fields"));
        let change = json!({ "provider": { "workers": [pool] } }).to_string();
        let expected: Vec<String> = expected.iter().map(|error| format!("spec.provider.workers[0].{error}")).collect();
        assert_eq!(errors(*release, "1.32.0", &change), expected, "1.{release} {fields}");
    }
}

/// Release, Kubernetes version, mode of kube-proxy, strategy, and the error if node-local DNS is enabled.
#[test]
fn node_local_dns_of_in_place_pools_is_immutable() {
    const BEFORE_126: &str = "spec.systemComponents.nodeLocalDNS: Forbidden: node-local-dns setting can not be changed if shoot \
                              has at least one worker pool with update strategy AutoInPlaceUpdate/ManualInPlaceUpdate";
    const SINCE_126: &str = "spec.systemComponents.nodeLocalDNS: Forbidden: the node-local-dns setting cannot be changed if the \
                             shoot has at least one worker pool with an update strategy of either AutoInPlaceUpdate or \
                             ManualInPlaceUpdate, and is running a Kubernetes version below 1.34.0 or if kube-proxy runs in \
                             IPVS mode.";
    for (release, version, mode, strategy, expected) in [
        (125, "1.33.0", "IPTables", "AutoInPlaceUpdate", Some(BEFORE_126)),
        (126, "1.33.0", "IPTables", "AutoInPlaceUpdate", Some(SINCE_126)),
        (132, "1.34.0", "IPTables", "ManualInPlaceUpdate", None),
        (132, "1.34.0", "IPVS", "ManualInPlaceUpdate", Some(SINCE_126)),
        (132, "1.33.0", "IPTables", "AutoRollingUpdate", None),
    ] {
        let state = |is_on: bool| {
            let mut shoot = shoot_with(version, "{}");
            shoot.spec.provider.workers[0].update_strategy = Some(strategy.to_owned());
            shoot.spec.kubernetes.kube_proxy.get_or_insert_default().mode = Some(mode.to_owned());
            let components = shoot.spec.system_components.get_or_insert_default();
            components.node_local_dns.get_or_insert_default().enabled = is_on;
            shoot
        };
        let errors = shoot_update(&state(true), &state(false), gates(release));
        let found = errors.iter().map(ToString::to_string).find(|error| error.contains("nodeLocalDNS"));
        assert_eq!(found.as_deref(), expected, "1.{release} {version} {mode} {strategy}");
    }
}

/// Release, strategy, image version before and after, and the error.
#[test]
fn images_of_in_place_pools_are_not_lowered_since_136() {
    const REFUSED: &str = "spec.provider.workers[0].machine.image.version: Forbidden: machine image version downgrade is not \
                           supported when the update strategy is AutoInPlaceUpdate or ManualInPlaceUpdate";
    for (release, strategy, old, new, expected) in [
        (135, "AutoInPlaceUpdate", "2.0.0", "1.0.0", None),
        (136, "AutoInPlaceUpdate", "2.0.0", "1.0.0", Some(REFUSED)),
        (136, "ManualInPlaceUpdate", "2.0.0", "1.9.9", Some(REFUSED)),
        (136, "AutoInPlaceUpdate", "2.0.0", "2.0.0", None),
        (149, "AutoInPlaceUpdate", "2.0.0", "2.0.1", None),
        (149, "AutoRollingUpdate", "2.0.0", "1.0.0", None),
    ] {
        let state = |version: &str| {
            let mut shoot = shoot_with("1.32.0", "{}");
            let pool = &mut shoot.spec.provider.workers[0];
            pool.update_strategy = Some(strategy.to_owned());
            pool.machine.image.get_or_insert_default().version = Some(version.to_owned());
            shoot
        };
        let errors = shoot_update(&state(new), &state(old), gates(release));
        let found = errors.iter().map(ToString::to_string).find(|error| error.contains("machine.image.version"));
        assert_eq!(found.as_deref(), expected, "1.{release} {strategy} {old} {new}");
    }
}

/// An unchanged time to live of Events may exceed the maximum in the releases 1.136 to 1.142.
#[test]
fn a_long_time_to_live_of_events_may_stay() {
    for (release, old, new, is_refused) in [
        (135, WEEK, WEEK, false),
        (136, WEEK, WEEK, false),
        (136, DAY, WEEK, true),
        (136, "{}", WEEK, true),
        (142, WEEK, WEEK, false),
        (143, WEEK, WEEK, true),
    ] {
        let (new, old) = (shoot_with("1.32.0", new), shoot_with("1.32.0", old));
        let errors = shoot_update(&new, &old, gates(release));
        let found: Vec<String> =
            errors.iter().map(ToString::to_string).filter(|error| error.contains("eventTTL")).collect();
        let expected = if is_refused { vec![LONGER_THAN_A_DAY] } else { vec![] };
        assert_eq!(found, expected, "1.{release}");
    }
}

/// Names and ranges that are checked since 1.125.
#[test]
fn names_are_judged_since_125() {
    for (change, expected) in [
        (
            r#"{"exposureClassName": "A"}"#,
            "spec.exposureClassName: Invalid value: \"A\": exposureClassName is not a valid DNS subdomain: \"a lowercase RFC 1123 \
             subdomain",
        ),
        (
            r#"{"networking": {"type": "a/b"}}"#,
            "spec.networking.type: Invalid value: \"a/b\": type must be a valid label name",
        ),
        (
            r#"{"systemComponents": {"coreDNS": {"rewriting": {"commonSuffixes": [".a.B."]}}}}"#,
            "spec.systemComponents.coreDNS.rewriting.commonSuffixes[0]: Invalid value: \"a.B.\": must be a valid DNS subdomain",
        ),
        (
            r#"{"purpose": "evaluation", "addons": {"nginxIngress": {"enabled": true, "loadBalancerSourceRanges": ["10.0.0.0"]}}}"#,
            "spec.addons.nginxIngress.loadBalancerSourceRanges[0]: Invalid value: \"10.0.0.0\": ",
        ),
        (
            r#"{"purpose": "evaluation", "addons": {"nginxIngress": {"enabled": true, "config": {"a b": ""}}}}"#,
            "spec.addons.nginxIngress.config[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric \
             characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
             '[-._a-zA-Z0-9]+')",
        ),
    ] {
        assert_eq!(errors(124, "1.31.0", change), [""; 0], "{change}");
        let found = errors(125, "1.31.0", change);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
    }
}

/// Change of a new Shoot of a release, and its errors about the profile.
/// Source: pkg/apis/core/validation/shoot.go @ v1.80.0, v1.91.0, v1.92.0, v1.100.0 and v1.101.0.
#[test]
fn a_new_shoot_needs_the_current_profile_field() {
    let by_name = r#"{"cloudProfile": null, "cloudProfileName": "local"}"#;
    let empty = r#"{"cloudProfile": null, "cloudProfileName": ""}"#;
    let none = r#"{"cloudProfile": null}"#;
    let required = "spec.cloudProfileName: Required value: must specify a cloud profile";
    let required_reference = "spec.cloudProfile.name: Required value: must specify a cloud profile";
    for (releases, change, expected) in [
        ([80, 91, 92, 100].as_slice(), by_name, None),
        (&[80, 91, 92, 100], empty, Some(required)),
        (&[80, 91, 92, 100], none, Some(required)),
        (&[80, 100], "{}", Some(required)),
        (&[101, 120, 149], by_name, None),
        (&[101, 120, 149], "{}", None),
        (&[101, 120, 149], none, Some(required_reference)),
    ] {
        for release in releases {
            let found = super::shoot(&shoot_with("1.26.4", change), gates(*release));
            let found = found.iter().map(ToString::to_string).filter(|error| error.starts_with("spec.cloudProfile"));
            assert_eq!(found.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>(), "{release} {change}");
        }
    }
    // Order of the errors: after the region, before the binding.
    let change = r#"{"cloudProfile": null, "region": "", "secretBindingName": "", "credentialsBindingName": null}"#;
    let found = super::shoot(&shoot_with("1.26.4", change), gates(91));
    let fields: Vec<&str> = found.iter().map(|error| error.field.as_str()).collect();
    assert_eq!(fields, ["spec.region", "spec.cloudProfileName", "spec.secretBindingName"]);
}

/// The field is immutable in releases in which it applies; admission checks changes in later ones.
#[test]
fn a_profile_name_is_immutable_until_1_100() {
    let named =
        |name: &str| shoot_with("1.26.4", &format!(r#"{{"cloudProfile": null, "cloudProfileName": "{name}"}}"#));
    for (release, is_refused) in [(80, true), (91, true), (100, true), (101, false)] {
        let found = |new: &Shoot| {
            let errors = shoot_update(new, &named("a"), gates(release));
            let errors = errors.iter().map(ToString::to_string);
            errors.filter(|error| error.starts_with("spec.cloudProfile")).collect::<Vec<_>>()
        };
        let expected = "spec.cloudProfileName: Invalid value: \"b\": field is immutable";
        assert_eq!(found(&named("b")), if is_refused { vec![expected] } else { vec![] }, "{release}");
        assert_eq!(found(&named("a")), [""; 0], "{release}");
    }
}

/// The values of nginx-ingress's configuration have at most 1 MiB in total, regardless of the keys.
#[test]
fn the_configuration_of_nginx_ingress_has_a_size_since_125() {
    for (release, enabled, size, is_refused) in [
        (124, true, (1 << 20) + 1, false),
        (125, true, 1 << 20, false),
        (125, true, (1 << 20) + 1, true),
        (149, false, (1 << 20) + 1, false),
    ] {
        let (first, second) = ("x".repeat(size - 1), "y");
        let addon = json!({ "enabled": enabled, "config": { "first": first, "second": second } });
        let change = json!({ "purpose": "evaluation", "addons": { "nginxIngress": addon } }).to_string();
        let found = errors(release, "1.31.0", &change);
        let expected = "spec.addons.nginxIngress.config: Too long: may not be more than 1048576 bytes";
        assert_eq!(found, if is_refused { vec![expected] } else { vec![] }, "{release} {size}");
    }
}

/// Release, IP families before and after, and true if the change is accepted.
#[test]
fn changes_of_ip_families_are_judged_since_125() {
    for (release, old, new, is_accepted) in [
        (124, "[]", r#"["IPv6"]"#, true),
        (125, r#"["IPv4"]"#, r#"["IPv4", "IPv6"]"#, true),
        (131, r#"["IPv4", "IPv6"]"#, r#"["IPv4"]"#, false),
        (132, r#"["IPv4", "IPv6"]"#, r#"["IPv4"]"#, true),
        (149, r#"["IPv4"]"#, r#"["IPv6"]"#, false),
        (149, r#"["IPv4"]"#, r#"["IPv6", "IPv4"]"#, false),
        (149, r#"["IPv6"]"#, r#"["IPv6"]"#, true),
    ] {
        let with = |families: &str| {
            let families = format!(r#"{{"networking": {{"nodes": null, "ipFamilies": {families}}}}}"#);
            shoot_with("1.33.0", &families)
        };
        let (old, new) = (with(old), with(new));
        let errors = shoot_update(&new, &old, gates(release));
        let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let text = "spec.networking.ipFamilies: Forbidden: unsupported IP family update: oldIPFamilies=[";
        assert_eq!(found.iter().all(|error| !error.starts_with(text)), is_accepted, "{release} {found:?}");
    }
}
