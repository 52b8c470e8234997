// SPDX-License-Identifier: Apache-2.0
use api::core::{CARotation, ShootCredentials, ShootCredentialsRotation};

use super::*;
use crate::release::DOCUMENTED;

fn time(text: &str) -> Time {
    Time(text.parse().unwrap())
}

#[test]
fn credentials_older_than_the_interval_are_named_on_updates() {
    let mut shoot = Shoot::default();
    shoot.metadata.creation_timestamp = time("2024-01-01T00:00:00Z");
    let interval = TimeDelta::days(90);
    let warnings = |shoot: &Shoot, old: Option<&Shoot>, now: &str| {
        super::shoot(shoot, old, interval, now.parse().unwrap(), DOCUMENTED)
    };
    let all = "you should consider rotating the shoot credentials, see \
               https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/\
               shoot_credentials_rotation.md#gardener-provided-credentials for details";
    assert_eq!(warnings(&shoot, Some(&shoot), "2024-03-31T00:00:00Z"), Vec::<String>::new());
    assert_eq!(warnings(&shoot, Some(&shoot), "2024-03-31T00:00:01Z"), [all]);
    assert_eq!(warnings(&shoot, None, "2024-03-31T00:00:01Z"), Vec::<String>::new());

    let rotation = ShootCredentialsRotation {
        certificate_authorities: Some(CARotation {
            last_initiation_time: Some(time("2024-03-01T00:00:00Z")),
            last_initiation_finished_time: Some(time("2024-03-01T00:00:00Z")),
            ..CARotation::default()
        }),
        ..ShootCredentialsRotation::default()
    };
    shoot.status.credentials = Some(ShootCredentials { rotation: Some(rotation), ..ShootCredentials::default() });
    let found = warnings(&shoot, Some(&shoot), "2024-04-02T00:00:00Z");
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(
        found[3],
        "the certificate authorities rotation initiation was finished more than 720h0m0s ago and should be \
         completed"
    );
}

/// Release, spec of the Shoot before (`null`: it is new) and after; a part of each warning.
const BY_RELEASE: &[(u16, &str, &str, &[&str])] = &[
    (
        120,
        "null",
        r#"{"kubernetes": {"version": "1.32.0", "kubeAPIServer": {"enableAnonymousAuthentication": false}}}"#,
        &[],
    ),
    (
        121,
        "null",
        r#"{"kubernetes": {"version": "1.32.0", "kubeAPIServer": {"enableAnonymousAuthentication": false}}}"#,
        &["enableAnonymousAuthentication field. The field is deprecated."],
    ),
    (
        120,
        "null",
        r#"{"kubernetes": {"version": "1.31.0", "kubeControllerManager": {"podEvictionTimeout": "1m"},
            "clusterAutoscaler": {"maxEmptyBulkDelete": 1}, "enableStaticTokenKubeconfig": false}}"#,
        &["does not have effect since Kubernetes 1.13. Instead", "enableStaticTokenKubeconfig"],
    ),
    (
        122,
        "null",
        r#"{"kubernetes": {"version": "1.31.0", "kubeControllerManager": {"podEvictionTimeout": "1m"},
            "clusterAutoscaler": {"maxEmptyBulkDelete": 1}, "enableStaticTokenKubeconfig": false}}"#,
        &[
            "forbidden to be set starting from Kubernetes 1.33. Instead",
            "will not be supported by gardener from Kubernetes 1.33",
        ],
    ),
    (
        131,
        "null",
        r#"{"kubernetes": {"version": "1.32.9", "clusterAutoscaler": {"maxEmptyBulkDelete": 1}}}"#,
        &["forbidden to be set starting from Kubernetes 1.33. Instead"],
    ),
    (
        132,
        "null",
        r#"{"kubernetes": {"version": "1.32.9", "clusterAutoscaler": {"maxEmptyBulkDelete": 1}}}"#,
        &["The value is not used and will be set to nil."],
    ),
    (132, "null", r#"{"kubernetes": {"version": "1.33.0", "clusterAutoscaler": {"maxEmptyBulkDelete": 1}}}"#, &[]),
    // IPVS: always from Kubernetes 1.35 on, with the change to it before; not while kube-proxy is off.
    (135, "null", r#"{"kubernetes": {"version": "1.35.0", "kubeProxy": {"enabled": true, "mode": "IPVS"}}}"#, &[]),
    (
        136,
        "null",
        r#"{"kubernetes": {"version": "1.35.0", "kubeProxy": {"enabled": true, "mode": "IPVS"}}}"#,
        &[
            "you are using IPVS mode for kube-proxy. The IPVS mode is deprecated starting with Kubernetes 1.35. Please switch",
        ],
    ),
    (149, "null", r#"{"kubernetes": {"version": "1.34.9", "kubeProxy": {"enabled": true, "mode": "IPVS"}}}"#, &[]),
    (
        149,
        r#"{"kubernetes": {"version": "1.34.9", "kubeProxy": {"enabled": true, "mode": "IPTables"}}}"#,
        r#"{"kubernetes": {"version": "1.34.9", "kubeProxy": {"enabled": true, "mode": "IPVS"}}}"#,
        &["you have switched to IPVS mode for kube-proxy. The IPVS mode is deprecated starting with Kubernetes 1.35."],
    ),
    (
        149,
        r#"{"kubernetes": {"version": "1.34.9", "kubeProxy": {"enabled": true, "mode": "IPVS"}}}"#,
        r#"{"kubernetes": {"version": "1.34.9", "kubeProxy": {"enabled": true, "mode": "IPVS"}}}"#,
        &[],
    ),
    (149, "null", r#"{"kubernetes": {"version": "1.35.0", "kubeProxy": {"enabled": false, "mode": "IPVS"}}}"#, &[]),
    // In the order of the fields of a long-lived Shoot.
    (
        149,
        "null",
        r#"{"cloudProfileName": "a", "secretBindingName": "b", "addons": {}, "dns": {"providers": [{"secretName": "s"}]},
            "kubernetes": {"version": "1.33.0", "kubeScheduler": {"kubeMaxPDVols": "3"},
            "kubeAPIServer": {"enableAnonymousAuthentication": true, "watchCacheSizes": {"default": 1}, "eventTTL": "48h"}}}"#,
        &[
            "spec.cloudProfileName field",
            "spec.addons field",
            "kubeMaxPDVols field",
            "spec.secretBindingName is deprecated",
            "enableAnonymousAuthentication field",
            "watchCacheSizes.default field",
            "spec.dns.providers[0].secretName field",
        ],
    ),
    (
        127,
        "null",
        r#"{"cloudProfileName": "a", "secretBindingName": "b", "addons": {}, "kubernetes": {"version": "1.33.0",
            "kubeAPIServer": {"enableAnonymousAuthentication": true, "watchCacheSizes": {"default": 1}, "eventTTL": "48h"}}}"#,
        &["enableAnonymousAuthentication field", "spec.cloudProfileName field", "spec.secretBindingName is deprecated"],
    ),
    (
        142,
        "null",
        r#"{"kubernetes": {"version": "1.33.0", "kubeAPIServer": {"eventTTL": "48h"}}}"#,
        &["eventTTL field to an invalid value. Invalid value: '48h0m0s', valid values: [0, 24h]."],
    ),
    (143, "null", r#"{"kubernetes": {"version": "1.33.0", "kubeAPIServer": {"eventTTL": "48h"}}}"#, &[]),
    (123, "null", r#"{"cloudProfileName": "a", "kubernetes": {"version": "1.33.0"}}"#, &[]),
];

#[test]
fn fields_are_warned_of_by_release() {
    let now = "2024-01-01T00:00:00Z".parse().expect("an instant");
    for (release, old, new, expected) in BY_RELEASE {
        let read = |text: &str| -> Option<Shoot> {
            let spec: serde_json::Value = serde_json::from_str(text).expect("JSON");
            let object = serde_json::json!({"metadata": {"creationTimestamp": "2024-01-01T00:00:00Z"}, "spec": spec});
            (!spec.is_null()).then(|| serde_json::from_value(object).expect("a Shoot"))
        };
        let (old, new) = (read(old), read(new).expect("a Shoot"));
        let found = super::shoot(&new, old.as_ref(), TimeDelta::days(90), now, Release(*release));
        assert_eq!(found.len(), expected.len(), "{release} {found:#?}");
        for (found, expected) in found.iter().zip(*expected) {
            assert!(found.contains(expected), "{release} {found}");
        }
    }
}

/// Releases and the fields that they have warnings about, in their order, of the settings of a kube-apiserver and of
/// DNS providers; below a Shoot, the template of a ManagedSeedSet, a Garden.
const OF_SERVERS: &[(u16, &[&str], &[&str])] = &[
    (135, &[], &[]),
    (136, &["enableAnonymousAuthentication", "watchCacheSizes.default", "eventTTL"], &[]),
    (138, &["enableAnonymousAuthentication", "watchCacheSizes.default", "eventTTL"], &[]),
    (139, &["enableAnonymousAuthentication", "watchCacheSizes.default", "eventTTL"], &["providers[1].secretName"]),
    (142, &["enableAnonymousAuthentication", "watchCacheSizes.default", "eventTTL"], &["providers[1].secretName"]),
    (143, &["enableAnonymousAuthentication", "watchCacheSizes.default"], &["providers[1].secretName"]),
    (149, &["enableAnonymousAuthentication", "watchCacheSizes.default"], &["providers[1].secretName"]),
];

#[test]
fn gardens_and_managed_seed_sets_are_warned_of_since_136() {
    let server = serde_json::json!({
        "enableAnonymousAuthentication": false, "watchCacheSizes": { "default": 1 }, "eventTTL": "25h",
    });
    let garden: Garden = serde_json::from_value(serde_json::json!({
        "spec": { "virtualCluster": { "kubernetes": { "kubeAPIServer": server } } },
    }))
    .expect("a Garden");
    let spec = serde_json::json!({
        "kubernetes": { "version": "1.33.0", "kubeAPIServer": server, "kubeProxy": { "enabled": true, "mode": "IPVS" } },
        "dns": { "providers": [{ "type": "a" }, { "type": "b", "secretName": "s" }] },
        "addons": {},
    });
    let set: ManagedSeedSet =
        serde_json::from_value(serde_json::json!({ "spec": { "shootTemplate": { "spec": spec } } }))
            .expect("a ManagedSeedSet");
    for (release, of_server, of_dns) in OF_SERVERS {
        let expected = |server: &str, dns: &str| -> Vec<String> {
            let of_server = of_server.iter().map(|field| format!("you are setting the {server}.{field} field"));
            let of_dns = of_dns.iter().map(|field| format!("you are setting the {dns}.{field} field"));
            of_server.chain(of_dns).collect()
        };
        let found = |warnings: Vec<String>| -> Vec<String> {
            warnings.iter().map(|text| text[..text.find(" field").map_or(0, |at| at + 6)].to_owned()).collect()
        };
        let server = "spec.virtualCluster.kubernetes.kubeAPIServer";
        let of_garden = expected(server, "").into_iter().filter(|text| !text.contains("secretName"));
        assert_eq!(found(super::garden(&garden, Release(*release))), of_garden.collect::<Vec<_>>(), "{release}");
        let server = "spec.shootTemplate.spec.kubernetes.kubeAPIServer";
        let of_set = expected(server, "spec.shootTemplate.spec.dns");
        assert_eq!(found(super::managed_seed_set(&set, Release(*release))), of_set, "{release}");
    }
    let empty = (Garden::default(), ManagedSeedSet::default());
    assert_eq!(super::garden(&empty.0, Release(149)), [""; 0]);
    assert_eq!(super::managed_seed_set(&empty.1, Release(149)), [""; 0]);
    assert_eq!(
        super::garden(&garden, Release(140))[2],
        "you are setting the spec.virtualCluster.kubernetes.kubeAPIServer.eventTTL field to an invalid value. Invalid value: \
         '25h0m0s', valid values: [0, 24h]. Invalid values for existing resources will be no longer allowed in Gardener \
         v1.142.0. See: https://github.com/gardener/gardener/issues/13825"
    );
}

#[test]
fn secret_bindings_are_warned_of_since_127() {
    for (release, count) in [(120, 0), (126, 0), (127, 1), (149, 1)] {
        let found = super::secret_binding(Release(release));
        assert_eq!(found.len(), count, "{release}");
        assert!(found.iter().all(|text| text.starts_with("SecretBinding is deprecated in favour of ")), "{found:?}");
    }
}

#[test]
fn halves_of_a_rotation_are_warned_of_since_128() {
    let mut shoot = Shoot::default();
    for (release, value, count) in [
        (127, "rotate-etcd-encryption-key-start", 0),
        (128, "rotate-etcd-encryption-key-start", 1),
        (149, "rotate-etcd-encryption-key-complete", 1),
        (149, "rotate-etcd-encryption-key", 0),
    ] {
        shoot.metadata.annotations.insert("gardener.cloud/operation".to_owned(), value.to_owned());
        let found = super::shoot(&shoot, None, TimeDelta::days(90), DateTime::UNIX_EPOCH, Release(release));
        assert_eq!(found.len(), count, "{release} {value}");
        let is_named = found
            .iter()
            .all(|text| text.starts_with(&format!("you are setting the operation annotation to {value}. ")));
        assert!(is_named, "{found:?}");
    }
}
