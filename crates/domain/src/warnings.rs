// SPDX-License-Identifier: Apache-2.0
//! What the API server says beside its answer (pkg/api/core/shoot/warnings.go @ v1.120.0).

use api::core::Shoot;
use apimachinery::meta::{Duration, Time};
use chrono::{DateTime, TimeDelta, Utc};

use crate::reconcile::has_ssh_access;

const ROTATION_PAGE: &str =
    "https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/shoot_credentials_rotation.md";

/// Warnings for a new (`old` is absent) or changed Shoot; credentials are looked at on changes only.
pub fn shoot(shoot: &Shoot, old: Option<&Shoot>, rotation_interval: TimeDelta, now: DateTime<Utc>) -> Vec<String> {
    let mut warnings = Vec::new();
    if old.is_some() {
        due_rotations(&mut warnings, shoot, rotation_interval, now);
        incomplete_rotations(&mut warnings, shoot, rotation_interval / 3, now);
    }
    let kubernetes = &shoot.spec.kubernetes;
    let manager = kubernetes.kube_controller_manager.as_ref();
    if manager.is_some_and(|manager| manager.pod_eviction_timeout.is_some()) {
        warnings.push(
            "you are setting the spec.kubernetes.kubeControllerManager.podEvictionTimeout field. The field does not \
             have effect since Kubernetes 1.13. Instead, use the \
             spec.kubernetes.kubeAPIServer.(defaultNotReadyTolerationSeconds/defaultUnreachableTolerationSeconds) \
             fields."
                .to_owned(),
        );
    }
    if kubernetes.enable_static_token_kubeconfig.is_some() {
        warnings.push(
            "you are setting the spec.kubernetes.enableStaticTokenKubeconfig field. The field is deprecated and will \
             be removed in Gardener v1.120. Please adapt your machinery to no longer set this field"
                .to_owned(),
        );
    }
    let server = kubernetes.kube_api_server.as_ref();
    if server.is_some_and(|server| server.enable_anonymous_authentication == Some(true)) {
        warnings.push(
            "you are setting the spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication field. The field is \
             deprecated. Using Kubernetes v1.32 and above, please use anonymous authentication configuration. See: \
             https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-authenticator-configuration"
                .to_owned(),
        );
    }
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

    fn time(text: &str) -> Time {
        Time(text.parse().unwrap())
    }

    #[test]
    fn credentials_older_than_the_interval_are_named_on_updates() {
        let mut shoot = Shoot::default();
        shoot.metadata.creation_timestamp = time("2024-01-01T00:00:00Z");
        let interval = TimeDelta::days(90);
        let warnings =
            |shoot: &Shoot, old: Option<&Shoot>, now: &str| super::shoot(shoot, old, interval, now.parse().unwrap());
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
}
