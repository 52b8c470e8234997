// SPDX-License-Identifier: Apache-2.0
//! Warnings that gardener-apiserver, and gardener-operator's webhook for Gardens, add to their answers.
//!
//! | object | since | fields |
//! | --- | --- | --- |
//! | Shoot | - | those of the table below |
//! | SecretBinding | 1.127 | the object itself |
//! | Garden | 1.136 | those of kube-apiserver |
//! | ManagedSeedSet | 1.136 | those of kube-apiserver in the template of its Shoots |
//! | ManagedSeedSet | 1.139 | and those of its DNS providers |
//!
//! Upstream has no warnings about ManagedSeeds and Gardenlets.

use api::constants::{annotation, operation};
use api::core::{DNS, KubeAPIServerConfig, Shoot, WatchCacheSizes};
use api::operator::Garden;
use api::seedmanagement::ManagedSeedSet;
use apimachinery::meta::{Duration, Time};
use chrono::{DateTime, TimeDelta, Utc};

use crate::release::{Release, Releases};
use crate::shoot_facts::has_ssh_access;
use crate::versions::Version;
use crate::worker_pool::is_ipvs;

const ROTATION_PAGE: &str =
    "https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/shoot_credentials_rotation.md";

/// A changed or new Shoot, and facts for the rules.
struct Case<'a> {
    shoot: &'a Shoot,
    old: Option<&'a Shoot>,
    kubernetes: Option<Version>,
    release: Release,
}

/// Warnings of some releases.
struct Row(Releases, fn(&Case<'_>) -> Vec<String>);

/// All rows, in the order in which the warnings are reported.
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
    Row(Releases::until(121), |case| tell(case.anonymous() == Some(true), &anonymous(SERVER))),
    Row(Releases::between(121, 136), |case| tell(case.anonymous().is_some(), &anonymous(SERVER))),
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
    Row(SERVERS, |case| {
        case.server().map_or_else(Vec::new, |server| Server::of(server).warnings(SERVER, case.release))
    }),
    Row(DNS_SECRETS, |case| dns_secrets(case.shoot.spec.dns.as_ref(), "spec.dns")),
];

/// Releases with warnings about SecretBindings.
const SECRET_BINDINGS: Releases = Releases::since(127);
/// Releases with warnings about the settings of any kube-apiserver.
const SERVERS: Releases = Releases::since(136);
/// Releases with warnings about the time to live of Events.
const EVENT_TTL: Releases = Releases::between(136, 143);
/// Releases with warnings about Secrets of DNS providers.
const DNS_SECRETS: Releases = Releases::since(139);

/// Path of the settings of kube-apiserver in a Shoot.
const SERVER: &str = "spec.kubernetes.kubeAPIServer";

fn anonymous(path: &str) -> String {
    format!(
        "you are setting the {path}.enableAnonymousAuthentication field. The field is deprecated. Using Kubernetes v1.32 and \
         above, please use anonymous authentication configuration. See: \
         https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-authenticator-configuration"
    )
}

/// Settings of a kube-apiserver that have warnings.
struct Server<'a> {
    anonymous: Option<bool>,
    sizes: Option<&'a WatchCacheSizes>,
    event_ttl: Option<Duration>,
}

impl<'a> Server<'a> {
    fn of(server: &'a KubeAPIServerConfig) -> Self {
        Self {
            anonymous: server.enable_anonymous_authentication,
            sizes: server.watch_cache_sizes.as_ref(),
            event_ttl: server.event_ttl,
        }
    }

    /// Warnings of a release about the settings below a path.
    ///
    /// Source: pkg/api/core/shoot/warnings.go (`GetKubeAPIServerWarnings`) @ v1.136.0 to v1.149.0.
    fn warnings(&self, path: &str, release: Release) -> Vec<String> {
        if !SERVERS.contain(release) {
            return Vec::new();
        }
        let mut warnings = tell(self.anonymous.is_some(), &anonymous(path));
        if self.sizes.is_some_and(|sizes| sizes.default.is_some()) {
            warnings.push(format!(
                "you are setting the {path}.watchCacheSizes.default field. The field has been deprecated and is forbidden to be \
                 set starting from Kubernetes 1.35. The cache size is automatically sized by the kube-apiserver."
            ));
        }
        let ttl = self.event_ttl.filter(|ttl| ttl.to_chrono() > TimeDelta::hours(24));
        if let Some(ttl) = ttl.filter(|_| EVENT_TTL.contain(release)) {
            warnings.push(format!(
                "you are setting the {path}.eventTTL field to an invalid value. Invalid value: '{ttl}', valid values: [0, 24h]. \
                 Invalid values for existing resources will be no longer allowed in Gardener v1.142.0. See: \
                 https://github.com/gardener/gardener/issues/13825"
            ));
        }
        warnings
    }
}

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

/// Warns about IPVS: from Kubernetes 1.35 on whenever kube-proxy runs in the mode, before that on the change to it.
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

fn dns_secrets(dns: Option<&DNS>, path: &str) -> Vec<String> {
    let providers = dns.into_iter().flat_map(|dns| &dns.providers).enumerate();
    let named = providers.filter(|(_, provider)| provider.secret_name.is_some());
    let text = |(index, _)| {
        format!(
            "you are setting the {path}.providers[{index}].secretName field. The field is deprecated and is forbidden to be set \
             starting from Kubernetes 1.35. Use {path}.providers[{index}].credentialsRef instead."
        )
    };
    named.map(text).collect()
}

/// Returns the warnings of a release for a new or changed SecretBinding, whatever its content.
///
/// Source: pkg/apiserver/registry/core/secretbinding/strategy.go @ v1.127.0 to v1.149.0.
pub fn secret_binding(release: Release) -> Vec<String> {
    tell(
        SECRET_BINDINGS.contain(release),
        "SecretBinding is deprecated in favour of CredentialsBinding. For migration instructions, see: \
         https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/secretbinding-to-credentialsbinding-migration.md",
    )
}

/// Warnings of a release of gardener-operator for a new or changed Garden.
///
/// Source: pkg/operator/webhook/validation/garden/warnings.go @ v1.136.0 to v1.149.0.
pub fn garden(garden: &Garden, release: Release) -> Vec<String> {
    let Some(server) = &garden.spec.virtual_cluster.kubernetes.kube_api_server else { return Vec::new() };
    let server = Server {
        anonymous: server.enable_anonymous_authentication,
        sizes: server.watch_cache_sizes.as_ref(),
        event_ttl: server.event_ttl,
    };
    server.warnings("spec.virtualCluster.kubernetes.kubeAPIServer", release)
}

/// Warnings of a release of gardener-apiserver for a new or changed ManagedSeedSet.
///
/// Source: pkg/api/seedmanagement/managedseedset/warnings.go @ v1.136.0 to v1.149.0.
pub fn managed_seed_set(set: &ManagedSeedSet, release: Release) -> Vec<String> {
    let spec = &set.spec.shoot_template.spec;
    let server = spec.kubernetes.kube_api_server.as_ref().map(Server::of);
    let path = "spec.shootTemplate.spec.kubernetes.kubeAPIServer";
    let mut warnings = server.map_or_else(Vec::new, |server| server.warnings(path, release));
    if DNS_SECRETS.contain(release) {
        warnings.extend(dns_secrets(spec.dns.as_ref(), "spec.shootTemplate.spec.dns"));
    }
    warnings
}

/// Returns the warnings of a release for a new (`old` is absent) or changed Shoot; credentials are checked on changes
/// only.
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
    let case = Case { shoot, old, kubernetes, release };
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

/// Adds warnings about rotations whose second half the user must request.
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
mod tests;
