// SPDX-License-Identifier: Apache-2.0
//! Warnings that the API server adds to its answer.

use api::constants::{annotation, operation};
use api::core::{KubeAPIServerConfig, Shoot};
use apimachinery::meta::{Duration, Time};
use chrono::{DateTime, TimeDelta, Utc};

use crate::reconcile::has_ssh_access;
use crate::release::{Release, Releases};
use crate::versions::Version;
use crate::worker_pool::is_ipvs;

const ROTATION_PAGE: &str =
    "https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/shoot_credentials_rotation.md";

/// A changed or new Shoot, and facts that the rules ask for.
struct Case<'a> {
    shoot: &'a Shoot,
    old: Option<&'a Shoot>,
    kubernetes: Option<Version>,
}

/// Warnings of some releases.
struct Row(Releases, fn(&Case<'_>) -> Vec<String>);

/// All of them, in the order in which they are told.
///
/// Source: pkg/api/core/shoot/warnings.go of each release from v1.120.0 to v1.149.0.
const ROWS: &[Row] = &[
    Row(Releases::until(122), |case| {
        tell(
            case.evicts(),
            "you are setting the spec.kubernetes.kubeControllerManager.podEvictionTimeout field. The field does not have \
             effect since Kubernetes 1.13. Instead, use the \
             spec.kubernetes.kubeAPIServer.(defaultNotReadyTolerationSeconds/defaultUnreachableTolerationSeconds) fields.",
        )
    }),
    Row(Releases::since(122), |case| {
        tell(
            case.evicts(),
            "you are setting the spec.kubernetes.kubeControllerManager.podEvictionTimeout field. The field does not have \
             effect since Kubernetes 1.13 and is forbidden to be set starting from Kubernetes 1.33. Instead, use the \
             spec.kubernetes.kubeAPIServer.(defaultNotReadyTolerationSeconds/defaultUnreachableTolerationSeconds) fields.",
        )
    }),
    Row(Releases::until(122), |case| {
        tell(
            case.shoot.spec.kubernetes.enable_static_token_kubeconfig.is_some(),
            "you are setting the spec.kubernetes.enableStaticTokenKubeconfig field. The field is deprecated and will be \
             removed in Gardener v1.120. Please adapt your machinery to no longer set this field",
        )
    }),
    Row(Releases::since(128), half_rotation),
    Row(Releases::between(121, 123), |case| {
        tell(
            case.deletes_in_bulk(),
            "you are setting the spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete field. The field has been deprecated \
             and will not be supported by gardener from Kubernetes 1.33. Instead, use the \
             spec.kubernetes.clusterAutoscaler.maxScaleDownParallelism field.",
        )
    }),
    Row(Releases::between(123, 132), |case| {
        tell(
            case.deletes_in_bulk(),
            "you are setting the spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete field. The field has been deprecated \
             and is forbidden to be set starting from Kubernetes 1.33. Instead, use the \
             spec.kubernetes.clusterAutoscaler.maxScaleDownParallelism field.",
        )
    }),
    Row(Releases::since(132), |case| {
        tell(
            case.deletes_in_bulk(),
            "you are setting the spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete field. The field has been deprecated \
             and is forbidden to be set starting from Kubernetes 1.33. The value is not used and will be set to nil. Instead, \
             use the spec.kubernetes.clusterAutoscaler.maxScaleDownParallelism field.",
        )
    }),
    Row(Releases::until(121), |case| tell(case.anonymous() == Some(true), ANONYMOUS)),
    Row(Releases::between(121, 136), |case| tell(case.anonymous().is_some(), ANONYMOUS)),
    Row(Releases::since(124), |case| {
        let is_named = case.shoot.spec.cloud_profile_name.as_deref().is_some_and(|name| !name.is_empty());
        tell(
            is_named && case.kubernetes_is_since(33),
            "you are setting the spec.cloudProfileName field. The field is deprecated and will be forcefully set empty \
             starting with Kubernetes 1.34. Use the new spec.cloudProfile.name field instead.",
        )
    }),
    Row(Releases::since(136), |case| {
        tell(
            case.shoot.spec.addons.is_some(),
            "you are setting the spec.addons field. The field is deprecated and will be forbidden starting with Kubernetes \
             1.35.",
        )
    }),
    Row(Releases::since(136), ipvs),
    Row(Releases::since(136), |case| {
        let scheduler = case.shoot.spec.kubernetes.kube_scheduler.as_ref();
        tell(
            scheduler.is_some_and(|scheduler| scheduler.kube_max_pd_vols.is_some()),
            "you are setting the spec.kubernetes.kubeScheduler.kubeMaxPDVols field. The field has been deprecated and is \
             forbidden to be set starting from Kubernetes 1.35. The kubeMaxPDVols configuration is no longer necessary as \
             values are set by the respective CSI driver.",
        )
    }),
    Row(Releases::since(127), |case| {
        tell(
            case.shoot.spec.secret_binding_name.is_some(),
            "spec.secretBindingName is deprecated and will be disallowed starting with Kubernetes 1.34. For migration \
             instructions, see: \
             https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/secretbinding-to-credentialsbinding-migration.md",
        )
    }),
    Row(Releases::since(136), |case| tell(case.anonymous().is_some(), ANONYMOUS)),
    Row(Releases::since(136), |case| {
        let sizes = case.server().and_then(|server| server.watch_cache_sizes.as_ref());
        tell(
            sizes.is_some_and(|sizes| sizes.default.is_some()),
            "you are setting the spec.kubernetes.kubeAPIServer.watchCacheSizes.default field. The field has been deprecated \
             and is forbidden to be set starting from Kubernetes 1.35. The cache size is automatically sized by the \
             kube-apiserver.",
        )
    }),
    Row(Releases::between(136, 143), event_ttl),
    Row(Releases::since(139), dns_secrets),
];

const ANONYMOUS: &str = "you are setting the spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication field. The field is \
    deprecated. Using Kubernetes v1.32 and above, please use anonymous authentication configuration. See: \
    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-authenticator-configuration";

impl Case<'_> {
    fn server(&self) -> Option<&KubeAPIServerConfig> {
        self.shoot.spec.kubernetes.kube_api_server.as_ref()
    }

    fn anonymous(&self) -> Option<bool> {
        self.server()?.enable_anonymous_authentication
    }

    fn evicts(&self) -> bool {
        let manager = self.shoot.spec.kubernetes.kube_controller_manager.as_ref();
        manager.is_some_and(|manager| manager.pod_eviction_timeout.is_some())
    }

    /// Kubernetes 1.33 forbids the field.
    fn deletes_in_bulk(&self) -> bool {
        let autoscaler = self.shoot.spec.kubernetes.cluster_autoscaler.as_ref();
        let is_set = autoscaler.is_some_and(|autoscaler| autoscaler.max_empty_bulk_delete.is_some());
        is_set && self.kubernetes.is_some() && !self.kubernetes_is_since(33)
    }

    fn kubernetes_is_since(&self, minor: u64) -> bool {
        self.kubernetes.as_ref().is_some_and(|version| (version.major, version.minor) >= (1, minor))
    }
}

fn tell(applies: bool, text: &str) -> Vec<String> {
    if applies { vec![text.to_owned()] } else { Vec::new() }
}

fn half_rotation(case: &Case<'_>) -> Vec<String> {
    let halves = [operation::ROTATE_ETCD_ENCRYPTION_KEY_START, operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE];
    let value = case.shoot.metadata.annotation(annotation::OPERATION).unwrap_or_default();
    let text = format!(
        "you are setting the operation annotation to {value}. This annotation has been deprecated and is forbidden to be set \
         starting from Kubernetes 1.34. Instead, use the {} annotation, which performs a full rotation of the ETCD encryption \
         key.",
        operation::ROTATE_ETCD_ENCRYPTION_KEY
    );
    tell(halves.contains(&value), &text)
}

/// From Kubernetes 1.35 on whenever kube-proxy runs in the mode, before that with the change to it.
fn ipvs(case: &Case<'_>) -> Vec<String> {
    const ADVICE: &str =
        "The IPVS mode is deprecated starting with Kubernetes 1.35. Please switch to iptables or nftables mode.";
    let is_used = is_ipvs(&case.shoot.spec);
    if case.kubernetes_is_since(35) {
        return tell(is_used, &format!("you are using IPVS mode for kube-proxy. {ADVICE}"));
    }
    let is_new = is_used && case.old.is_some_and(|old| !is_ipvs(&old.spec));
    tell(is_new, &format!("you have switched to IPVS mode for kube-proxy. {ADVICE}"))
}

fn event_ttl(case: &Case<'_>) -> Vec<String> {
    let ttl = case.server().and_then(|server| server.event_ttl);
    let Some(ttl) = ttl.filter(|ttl| ttl.to_chrono() > TimeDelta::hours(24)) else { return Vec::new() };
    vec![format!(
        "you are setting the spec.kubernetes.kubeAPIServer.eventTTL field to an invalid value. Invalid value: '{ttl}', valid \
         values: [0, 24h]. Invalid values for existing resources will be no longer allowed in Gardener v1.142.0. See: \
         https://github.com/gardener/gardener/issues/13825"
    )]
}

fn dns_secrets(case: &Case<'_>) -> Vec<String> {
    let providers = case.shoot.spec.dns.iter().flat_map(|dns| &dns.providers).enumerate();
    let named = providers.filter(|(_, provider)| provider.secret_name.is_some());
    let text = |(index, _)| {
        format!(
            "you are setting the spec.dns.providers[{index}].secretName field. The field is deprecated and is forbidden to be \
             set starting from Kubernetes 1.35. Use spec.dns.providers[{index}].credentialsRef instead."
        )
    };
    named.map(text).collect()
}

/// Warnings of a release for a new (`old` is absent) or changed Shoot; credentials are looked at on changes only.
pub fn shoot(
    shoot: &Shoot,
    old: Option<&Shoot>,
    rotation_interval: TimeDelta,
    now: DateTime<Utc>,
    release: Release,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if old.is_some() {
        due_rotations(&mut warnings, shoot, rotation_interval, now);
        incomplete_rotations(&mut warnings, shoot, rotation_interval / 3, now);
    }
    let kubernetes = Version::parse(&shoot.spec.kubernetes.version).ok();
    let case = Case { shoot, old, kubernetes };
    warnings
        .extend(ROWS.iter().filter(|Row(releases, _)| releases.contain(release)).flat_map(|Row(_, tell)| tell(&case)));
    warnings
}

fn is_older(time: Time, age: TimeDelta, now: DateTime<Utc>) -> bool {
    time.0 + age < now
}

fn due_rotations(warnings: &mut Vec<String>, shoot: &Shoot, interval: TimeDelta, now: DateTime<Utc>) {
    if !is_older(shoot.metadata.creation_timestamp, interval, now) {
        return;
    }
    let mut advise = |what: &str, anchor: &str| {
        warnings.push(format!("you should consider rotating the {what}, see {ROTATION_PAGE}#{anchor} for details"));
    };
    let Some(rotation) = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref()) else {
        return advise("shoot credentials", "gardener-provided-credentials");
    };
    let is_due = |initiated: Option<Time>| initiated.is_none_or(|time| is_older(time, interval, now));
    let ca = rotation.certificate_authorities.as_ref().and_then(|one| one.last_initiation_time);
    let etcd = rotation.etcd_encryption_key.as_ref().and_then(|one| one.last_initiation_time);
    let observability = rotation.observability.as_ref().and_then(|one| one.last_initiation_time);
    let key = rotation.service_account_key.as_ref().and_then(|one| one.last_initiation_time);
    let ssh = rotation.ssh_keypair.as_ref().and_then(|one| one.last_initiation_time);
    let is_test = shoot.spec.purpose.as_deref() == Some("testing");
    let credentials = [
        (is_due(ca), "certificate authorities", "certificate-authorities"),
        (is_due(etcd), "ETCD encryption key", "etcd-encryption-key"),
        (!is_test && is_due(observability), "observability passwords", "observability-passwords-for-plutono"),
        (is_due(key), "ServiceAccount token signing key", "serviceaccount-token-signing-key"),
        (has_ssh_access(&shoot.spec) && is_due(ssh), "SSH keypair", "ssh-key-pair-for-worker-nodes"),
    ];
    for (_, what, anchor) in credentials.into_iter().filter(|(is_due, ..)| *is_due) {
        advise(what, anchor);
    }
}

/// Rotations whose second half the user must ask for.
fn incomplete_rotations(warnings: &mut Vec<String>, shoot: &Shoot, interval: TimeDelta, now: DateTime<Utc>) {
    let Some(rotation) = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref()) else {
        return;
    };
    let ca = rotation.certificate_authorities.as_ref();
    let etcd = rotation.etcd_encryption_key.as_ref();
    let key = rotation.service_account_key.as_ref();
    let steps = [
        (
            "certificate authorities",
            ca.map(|one| (one.last_initiation_finished_time, one.last_completion_triggered_time)),
        ),
        (
            "ETCD encryption key",
            etcd.map(|one| (one.last_initiation_finished_time, one.last_completion_triggered_time)),
        ),
        (
            "ServiceAccount token signing key",
            key.map(|one| (one.last_initiation_finished_time, one.last_completion_triggered_time)),
        ),
    ];
    let age = Duration { nanoseconds: interval.num_nanoseconds().unwrap_or(i64::MAX) };
    for (what, times) in steps {
        let Some((Some(finished), triggered)) = times else { continue };
        if triggered.is_none_or(|triggered| triggered <= finished) && is_older(finished, interval, now) {
            warnings.push(format!(
                "the {what} rotation initiation was finished more than {age} ago and should be completed"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
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
            &[
                "you have switched to IPVS mode for kube-proxy. The IPVS mode is deprecated starting with Kubernetes 1.35.",
            ],
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
            &[
                "enableAnonymousAuthentication field",
                "spec.cloudProfileName field",
                "spec.secretBindingName is deprecated",
            ],
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
                let object =
                    serde_json::json!({"metadata": {"creationTimestamp": "2024-01-01T00:00:00Z"}, "spec": spec});
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
}
