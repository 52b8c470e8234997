// SPDX-License-Identifier: Apache-2.0
//! Migrations, one row each, with the releases at their boundaries.

use serde_json::{Value, json};

use super::*;

/// A migration: its first and last release, `0` and `149` if unbounded; a Kubernetes version before and after; the spec
/// before; the sentences; the spec after.
struct Row {
    first: u16,
    last: u16,
    from: &'static str,
    to: &'static str,
    before: Value,
    told: &'static [&'static str],
    after: Value,
}

/// Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go, v1.120.0 to v1.149.0.
fn rows() -> Vec<Row> {
    let kubernetes = |fields: Value| json!({ "kubernetes": fields });
    let pools = |kubelet: Value| {
        let pool = json!({ "name": "w", "kubernetes": { "version": "1.30.9", "kubelet": kubelet } });
        let mut own = pool.clone();
        own["kubernetes"]["version"] = json!("1.31.0");
        json!({ "provider": { "type": "", "workers": [pool, own] } })
    };
    vec![
        Row {
            first: 0,
            last: 140,
            from: "1.30.5",
            to: "1.31.2",
            before: kubernetes(json!({ "kubeAPIServer": { "oidcConfig": {
                "clientID": "c", "clientAuthentication": { "secret": "s" },
            } } })),
            told: &[
                ".spec.kubernetes.kubeAPIServer.oidcConfig.clientAuthentication is set to nil. Reason: The field was \
                 no-op since its introduction and can no longer be enabled for Shoot clusters using Kubernetes version \
                 1.31+",
            ],
            after: kubernetes(json!({ "kubeAPIServer": { "oidcConfig": { "clientID": "c" } } })),
        },
        Row {
            first: 0,
            last: 141,
            from: "1.31.2",
            to: "1.32.0",
            before: kubernetes(json!({ "kubeAPIServer": { "oidcConfig": { "clientID": "c" } } })),
            told: &[
                ".spec.kubernetes.kubeAPIServer.oidcConfig is set to nil. Reason: The field has been deprecated in \
                 favor of structured authentication and can no longer be enabled for Shoot clusters using Kubernetes \
                 version 1.32+",
            ],
            after: kubernetes(json!({ "kubeAPIServer": {} })),
        },
        Row {
            first: 122,
            last: 149,
            from: "1.32.9",
            to: "1.33.0",
            before: kubernetes(json!({ "kubeControllerManager": { "podEvictionTimeout": "2m0s" } })),
            told: &[".spec.kubernetes.kubeControllerManager.podEvictionTimeout is set to nil. Reason: The field was \
                 deprecated in favour of `spec.kubernetes.kubeAPIServer.defaultNotReadyTolerationSeconds` and \
                 `spec.kubernetes.kubeAPIServer.defaultUnreachableTolerationSeconds` and can no longer be enabled for \
                 Shoot clusters using Kubernetes version 1.33+"],
            after: kubernetes(json!({ "kubeControllerManager": {} })),
        },
        Row {
            first: 123,
            last: 149,
            from: "1.32.9",
            to: "1.33.0",
            before: kubernetes(json!({ "clusterAutoscaler": { "maxEmptyBulkDelete": 10 } })),
            told: &[
                ".spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete is set to nil. Reason: The field was deprecated \
                 in favour of `.spec.kubernetes.clusterAutoscaler.maxScaleDownParallelism` and can no longer be enabled \
                 for Shoot clusters using Kubernetes version 1.33+",
            ],
            after: kubernetes(json!({ "clusterAutoscaler": {} })),
        },
        Row {
            first: 136,
            last: 149,
            from: "1.34.3",
            to: "1.35.4",
            before: kubernetes(json!({ "kubeAPIServer": { "enableAnonymousAuthentication": false } })),
            told: &[
                ".spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication was removed. Reason: The field is no \
                 longer supported for Shoot clusters using Kubernetes version 1.35+",
            ],
            after: kubernetes(json!({ "kubeAPIServer": {} })),
        },
        Row {
            first: 127,
            last: 149,
            from: "1.33.1",
            to: "1.34.0",
            before: json!({ "secretBindingName": "mine" }),
            told: &[".spec.secretBindingName was migrated to .spec.credentialsBindingName. Reason: SecretBinding is \
                 deprecated and can no longer be used for Shoot clusters using Kubernetes version 1.34+"],
            after: json!({ "credentialsBindingName": "force-migrated-mine" }),
        },
        Row {
            first: 136,
            last: 149,
            from: "1.34.3",
            to: "1.35.4",
            before: kubernetes(json!({ "kubeScheduler": { "kubeMaxPDVols": "30" } })),
            told: &[
                ".spec.kubernetes.kubeScheduler.kubeMaxPDVols was removed. Reason: kubeMaxPDVols is deprecated and not \
                 respected by the kube-scheduler",
            ],
            after: kubernetes(json!({ "kubeScheduler": {} })),
        },
        Row {
            first: 136,
            last: 149,
            from: "1.34.3",
            to: "1.35.4",
            before: kubernetes(json!({ "kubeAPIServer": { "watchCacheSizes": {
                "default": 50, "resources": [{ "resource": "secrets", "size": 5 }],
            } } })),
            told: &[".spec.kubernetes.kubeAPIServer.watchCacheSizes.default was removed. Reason: the default size \
                 configuration is deprecated and not respected by the kube-apiserver"],
            after: kubernetes(json!({ "kubeAPIServer": { "watchCacheSizes": {
                "resources": [{ "resource": "secrets", "size": 5 }],
            } } })),
        },
        Row {
            first: 136,
            last: 149,
            from: "1.34.3",
            to: "1.35.4",
            before: json!({ "addons": { "nginxIngress": { "enabled": true } } }),
            told: &[".spec.addons was removed. Reason: addons are not supported anymore for Kubernetes versions 1.35+"],
            after: json!({}),
        },
        Row {
            first: 139,
            last: 149,
            from: "1.34.3",
            to: "1.35.4",
            before: json!({ "dns": { "providers": [
                { "type": "a", "secretName": "s" }, { "type": "b" }, { "type": "c", "secretName": "t" },
            ] } }),
            told: &[
                ".spec.dns.providers[0].secretName was removed. Reason: The field is no longer supported for Shoot \
                 clusters using Kubernetes version 1.35+",
                ".spec.dns.providers[2].secretName was removed. Reason: The field is no longer supported for Shoot \
                 clusters using Kubernetes version 1.35+",
            ],
            after: json!({ "dns": { "providers": [{ "type": "a" }, { "type": "b" }, { "type": "c" }] } }),
        },
        Row {
            first: 0,
            last: 132,
            from: "1.29.1",
            to: "1.30.9",
            before: kubernetes(json!({ "kubelet": { "memorySwap": { "swapBehavior": "UnlimitedSwap" } } })),
            told: &[
                "spec.kubernetes.kubelet.memorySwap.swapBehavior is set to 'LimitedSwap'. Reason: 'UnlimitedSwap' cannot \
                 be used for Kubernetes version 1.30 and higher.",
            ],
            after: kubernetes(json!({ "kubelet": { "memorySwap": { "swapBehavior": "LimitedSwap" } } })),
        },
        Row {
            first: 0,
            last: 140,
            from: "1.30.5",
            to: "1.31.2",
            before: kubernetes(json!({ "kubelet": {
                "systemReserved": { "memory": "512Mi" }, "kubeReserved": { "memory": "1Gi", "pid": "5" },
            } })),
            told: &[
                ".spec.kubernetes.kubelet.systemReserved is added to .spec.kubernetes.kubelet.kubeReserved. Reason: The \
                 systemReserved field is forbidden for Shoot clusters using Kubernetes version 1.31+, its value has to \
                 be added to kubeReserved",
            ],
            after: kubernetes(json!({ "kubelet": { "kubeReserved": { "memory": "1536Mi", "pid": "5" } } })),
        },
        // The first pool is still below the minor.
        Row {
            first: 0,
            last: 140,
            from: "1.30.9",
            to: "1.31.2",
            before: pools(json!({ "systemReserved": { "memory": "512Mi" } })),
            told: &[".spec.provider.workers[1].kubernetes.kubelet.systemReserved is added to \
                 .spec.provider.workers[1].kubernetes.kubelet.kubeReserved. Reason: The systemReserved field is \
                 forbidden for Shoot clusters using Kubernetes version 1.31+, its value has to be added to kubeReserved"],
            after: {
                let mut after = pools(json!({ "systemReserved": { "memory": "512Mi" } }));
                after["provider"]["workers"][1]["kubernetes"]["kubelet"] =
                    json!({ "kubeReserved": { "memory": "512Mi" } });
                after
            },
        },
    ]
}

fn spec(fields: &Value, version: &str) -> ShootSpec {
    let mut spec: ShootSpec = serde_json::from_value(fields.clone()).expect("a spec");
    version.clone_into(&mut spec.kubernetes.version);
    spec
}

fn migrated(fields: &Value, from: &str, to: &str, release: u16) -> (Vec<String>, ShootSpec) {
    let mut after = spec(fields, to);
    let version = |text: &str| text.parse().expect("semver");
    let told = migrate(&mut after, &version(from), &version(to), Release(release)).expect("versions parse");
    (told, after)
}

#[test]
fn each_release_makes_its_migrations() {
    for Row { first, last, from, to, before, told, after } in rows() {
        for release in [first.saturating_sub(1), first, last, last + 1, 120, 149] {
            let is_made = first <= release && (release <= last || last == 149);
            let (actual, result) = migrated(&before, from, to, release);
            let row = format!("1.{release}: {from} to {to} with {before}");
            assert_eq!(actual, if is_made { told } else { &[] }, "{row}");
            assert_eq!(result, spec(if is_made { &after } else { &before }, to), "{row}");
        }
    }
}

#[test]
fn minors_that_are_not_crossed_change_no_field() {
    for Row { first, to, before, .. } in rows().into_iter().filter(|row| row.before.get("provider").is_none()) {
        let (told, result) = migrated(&before, to, to, first);
        assert_eq!((told.is_empty(), result), (true, spec(&before, to)), "1.{first}: {to} with {before}");
    }
}

#[test]
fn a_shoot_with_a_credentials_binding_keeps_its_bindings() {
    let both = json!({ "secretBindingName": "mine", "credentialsBindingName": "own" });
    for before in [&both, &json!({ "credentialsBindingName": "own" }), &json!({})] {
        let (told, result) = migrated(before, "1.33.1", "1.34.0", 149);
        assert_eq!((told, result), (vec![], spec(before, "1.34.0")), "{before}");
    }
}

#[test]
fn migrations_are_reported_in_their_order() {
    let before = json!({
        "addons": { "nginxIngress": { "enabled": true } },
        "secretBindingName": "mine",
        "dns": { "providers": [{ "type": "a", "secretName": "s" }] },
        "kubernetes": {
            "kubeAPIServer": {
                "enableAnonymousAuthentication": false,
                "watchCacheSizes": { "default": 50 },
                "oidcConfig": { "clientID": "c", "clientAuthentication": { "secret": "s" } },
                "admissionPlugins": [{ "name": "Unheard" }],
            },
            "kubeControllerManager": { "podEvictionTimeout": "2m0s" },
            "kubeScheduler": { "kubeMaxPDVols": "30", "featureGates": { "Unheard": true } },
            "clusterAutoscaler": { "maxEmptyBulkDelete": 10 },
            "kubelet": {
                "memorySwap": { "swapBehavior": "UnlimitedSwap" }, "systemReserved": { "memory": "512Mi" },
            },
        },
    });
    let words = |release: u16| {
        let (told, _) = migrated(&before, "1.29.0", "1.35.0", release);
        let short = |text: &String| text.split(' ').take(3).collect::<Vec<_>>().join(" ");
        told.iter().map(short).collect::<Vec<_>>()
    };
    assert_eq!(
        words(120),
        [
            ".spec.kubernetes.kubeAPIServer.oidcConfig.clientAuthentication is set",
            ".spec.kubernetes.kubeAPIServer.oidcConfig is set",
            "Removed feature gates",
            "Removed admission plugins",
            "spec.kubernetes.kubelet.memorySwap.swapBehavior is set",
            ".spec.kubernetes.kubelet.systemReserved is added",
        ]
    );
    assert_eq!(
        words(149),
        [
            ".spec.kubernetes.kubeControllerManager.podEvictionTimeout is set",
            ".spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete is set",
            ".spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication was removed.",
            ".spec.secretBindingName was migrated",
            ".spec.kubernetes.kubeScheduler.kubeMaxPDVols was removed.",
            ".spec.kubernetes.kubeAPIServer.watchCacheSizes.default was removed.",
            ".spec.addons was removed.",
            ".spec.dns.providers[0].secretName was removed.",
            "Removed feature gates",
            "Removed admission plugins",
        ]
    );
}
