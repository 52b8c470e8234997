// SPDX-License-Identifier: Apache-2.0
//! Validation of the configuration of a Shoot's Kubernetes components.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{Duration, Quantity};

use super::super::Errors;
use super::super::common::{self, invalid_duration, not_negative_duration, one_of};
use super::super::meta;
use super::super::vertical_pod_autoscaler;
use super::autoscalers::cluster_autoscaler;
use super::kubelet;
use super::refused::{Field, refusal, refuse};
use super::runtime_config::runtime_config;
use super::shared::{feature_gates, forbidden_for_workerless};
use crate::features::{CONFIGS_ARE_CHECKED, FORBIDDEN_ADMISSION_PLUGINS, admission_plugin};
use crate::release::{Release, Releases};
use crate::versions::{Version, meets_constraint};

const HOUR: i64 = 3600;

/// Events have a time to live of at most one day; in earlier releases, of one week.
const EVENTS_LIVE_FOR_A_DAY: Releases = Releases::since(136);

/// kube-proxy has the mode `NFTables`.
const NFTABLES: Releases = Releases::since(135);

/// The mode `NFTables` requires its feature gate for Kubernetes versions in which the gate is off by default.
const NFTABLES_KNOWS_ALPHA: Releases = Releases::until(141);

/// etcd may be encrypted by aesgcm or secretbox; in earlier releases, by aescbc only.
const SEVERAL_ENCRYPTION_PROVIDERS: Releases = Releases::since(141);

/// The size of a node's IPv6 pod network has its own field, `nodeCIDRMaskSizeIPv6`.
const NODE_CIDR_MASK_SIZE_IPV6: Releases = Releases::since(138);

const SIGNING_ALGORITHMS: [&str; 10] =
    ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512", "none"];

pub(super) fn kubernetes(errors: &mut Errors, spec: &ShootSpec, workerless: bool, release: Release, path: &Path) {
    let kubernetes = &spec.kubernetes;
    let version = kubernetes.version.as_str();
    if version.is_empty() {
        errors.push(FieldError::required(&path.child("version"), "kubernetes version must not be empty"));
        return;
    }
    if kubernetes.enable_static_token_kubeconfig == Some(true) {
        let text = "setting this field to true is not supported";
        errors.push(FieldError::invalid(&path.child("enableStaticTokenKubeconfig"), true, text));
    }
    if let Some(etcd) = &kubernetes.etcd {
        let path = path.child("etcd");
        for (field, config, memory) in [("main", &etcd.main, "300M"), ("events", &etcd.events, "60M")] {
            if let Some(autoscaling) = config.as_ref().and_then(|config| config.autoscaling.as_ref()) {
                let path = path.child(field).child("autoscaling");
                control_plane_autoscaling(errors, autoscaling, &[("memory", memory)], &path);
            }
        }
    }
    if let Some(server) = &kubernetes.kube_api_server {
        let path = path.child("kubeAPIServer");
        kube_api_server(errors, server, version, release, &path);
        if let Some(config) = &server.encryption_config {
            encryption_provider(errors, config, spec.maintenance.as_ref(), release, &path.child("encryptionConfig"));
        }
        runtime_config(errors, &server.runtime_config, version, release, workerless, &path.child("runtimeConfig"));
    }
    if let Some(manager) = &kubernetes.kube_controller_manager {
        let path = path.child("kubeControllerManager");
        kube_controller_manager(errors, manager, spec.networking.as_ref(), (version, release), workerless, &path);
    }
    if workerless {
        let fields = [
            ("kubeScheduler", kubernetes.kube_scheduler.is_some()),
            ("kubeProxy", kubernetes.kube_proxy.is_some()),
            ("kubelet", kubernetes.kubelet.is_some()),
            ("clusterAutoScaler", kubernetes.cluster_autoscaler.is_some()),
            ("verticalPodAutoScaler", kubernetes.vertical_pod_autoscaler.is_some()),
        ];
        forbidden_for_workerless(errors, &fields, path);
        return;
    }
    if let Some(scheduler) = &kubernetes.kube_scheduler {
        let path = path.child("kubeScheduler");
        if let Some(profile) = &scheduler.profile {
            one_of(errors, profile, &["balanced", "bin-packing"], &path.child("profile"));
        }
        if scheduler.kube_max_pd_vols.is_some() {
            refuse(errors, Field::KubeMaxPdVols, version, release, &path.child("kubeMaxPDVols"));
        }
        feature_gates(errors, &scheduler.feature_gates, version, release, &path.child("featureGates"));
    }
    if let Some(proxy) = &kubernetes.kube_proxy {
        let path = path.child("kubeProxy");
        proxy_mode(errors, proxy, version, release, &path.child("mode"));
        feature_gates(errors, &proxy.feature_gates, version, release, &path.child("featureGates"));
    }
    if let Some(config) = &kubernetes.kubelet {
        kubelet::kubelet(errors, config, version, release, &path.child("kubelet"));
    }
    if let Some(autoscaler) = &kubernetes.cluster_autoscaler {
        cluster_autoscaler(errors, autoscaler, version, release, &path.child("clusterAutoscaler"));
    }
    if let Some(autoscaler) = &kubernetes.vertical_pod_autoscaler {
        let path = path.child("verticalPodAutoscaler");
        vertical_pod_autoscaler::of_shoot(errors, autoscaler, version, release, &path);
    }
}

/// Checks the mode of kube-proxy.
fn proxy_mode(errors: &mut Errors, proxy: &KubeProxyConfig, version: &str, release: Release, path: &Path) {
    let Some(mode) = &proxy.mode else {
        errors.push(FieldError::required(path, "must be set when .spec.kubernetes.kubeProxy is set"));
        return;
    };
    let has_nftables = NFTABLES.contain(release);
    let modes: &[&str] = if has_nftables { &["IPTables", "IPVS", "NFTables"] } else { &["IPTables", "IPVS"] };
    one_of(errors, mode, modes, path);
    if mode != "NFTables" || !has_nftables {
        return;
    }
    let gate = proxy.feature_gates.get("NFTablesProxyMode").copied();
    let is_alpha = meets_constraint(version, "< 1.31").unwrap_or(false);
    let text = if NFTABLES_KNOWS_ALPHA.contain(release) && is_alpha {
        (gate != Some(true))
            .then_some("NFTables mode requires feature gate NFTablesProxyMode=true for Kubernetes < 1.31")
    } else {
        (gate == Some(false))
            .then_some("NFTables mode cannot be used when feature gate NFTablesProxyMode is explicitly set to false")
    };
    if let Some(text) = text {
        errors.push(FieldError::invalid(path, mode, text));
    }
}

fn admission_plugins(errors: &mut Errors, plugins: &[AdmissionPlugin], version: &str, release: Release, path: &Path) {
    let is_newer = CONFIGS_ARE_CHECKED.contain(release);
    let mut forbidden = Vec::new();
    for (index, plugin) in plugins.iter().enumerate() {
        let path = path.index(index);
        let name = path.child("name");
        if plugin.name.is_empty() {
            errors.push(FieldError::required(&name, "must provide a name"));
            return;
        }
        let Some(known) = admission_plugin(&plugin.name, release) else {
            errors.push(FieldError::invalid(
                &name,
                &plugin.name,
                &format!("unknown admission plugin {:?}", plugin.name),
            ));
            continue;
        };
        match Version::parse(version) {
            Err(error) => errors.push(FieldError::invalid(&name, &plugin.name, &error.to_string())),
            Ok(parsed) if !known.is_supported(&parsed) => {
                let text =
                    format!("admission plugin {:?} is not supported in Kubernetes version {version}", plugin.name);
                errors.push(FieldError::forbidden(&name, &text));
            }
            Ok(_) => {
                if is_newer && plugin.config.is_some() && !known.allows_config {
                    let text = format!("admission plugin {:?} does not allow configuration", plugin.name);
                    errors.push(FieldError::forbidden(&path.child("config"), &text));
                }
                if known.forbidden && is_newer {
                    forbidden.push(plugin.name.as_str());
                } else if known.forbidden {
                    let text = format!(
                        "forbidden admission plugin was specified - do not use plugins from the following list: [{}]",
                        FORBIDDEN_ADMISSION_PLUGINS.join(" ")
                    );
                    errors.push(FieldError::forbidden(&name, &text));
                }
                if plugin.disabled == Some(true) && known.required {
                    let text = format!("admission plugin {:?} cannot be disabled", plugin.name);
                    errors.push(FieldError::forbidden(&path, &text));
                }
                let external = ["ImagePolicyWebhook", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"];
                if plugin.kubeconfig_secret_name.is_some() && !external.contains(&plugin.name.as_str()) {
                    let text =
                        format!("admission plugin {:?} does not allow specifying external kubeconfig", plugin.name);
                    errors.push(FieldError::forbidden(&path.child("kubeconfigSecretName"), &text));
                }
            }
        }
    }
    if !forbidden.is_empty() {
        let text = format!(
            "forbidden admission plugin(s) [{}] - do not use plugins from the following list for Kubernetes version \
             {version}: [{}]",
            forbidden.join(" "),
            FORBIDDEN_ADMISSION_PLUGINS.join(" ")
        );
        errors.push(FieldError::forbidden(path, &text));
    }
}

fn kube_api_server(errors: &mut Errors, server: &KubeAPIServerConfig, version: &str, release: Release, path: &Path) {
    if server.enable_anonymous_authentication.is_some() {
        let path = path.child("enableAnonymousAuthentication");
        refuse(errors, Field::EnableAnonymousAuthentication, version, release, &path);
    }
    let is_at_least = |minor: &str| meets_constraint(version, &format!(">= {minor}")).unwrap_or(false);
    if let Some(config) = &server.oidc_config {
        oidc(errors, config, is_at_least("1.32"), is_at_least("1.31"), &path.child("oidcConfig"));
    }
    admission_plugins(errors, &server.admission_plugins, version, release, &path.child("admissionPlugins"));
    let policy = server.audit_config.as_ref().and_then(|config| config.audit_policy.as_ref());
    if let Some(reference) = policy.and_then(|policy| policy.config_map_ref.as_ref()) {
        let path = path.child("auditConfig").child("auditPolicy").child("configMapRef");
        common::named_reference(errors, reference, &path);
    }
    let is_old = meets_constraint(version, "< 1.30").unwrap_or(false);
    let disabled = |gate: &str| server.feature_gates.get(gate) == Some(&false);
    let structured_rules = |errors: &mut Errors, gate: &str, path: &Path| {
        if is_old {
            errors.push(FieldError::forbidden(path, "is available for Kubernetes versions >= v1.30"));
        }
        if disabled(gate) {
            errors.push(FieldError::forbidden(path, &format!("requires feature gate {gate} to be enabled")));
        }
    };
    if let Some(structured) = &server.structured_authentication {
        let own = path.child("structuredAuthentication");
        structured_rules(errors, "StructuredAuthenticationConfiguration", &own);
        if server.oidc_config.is_some() {
            let text = "is incompatible with structuredAuthentication";
            errors.push(FieldError::forbidden(&path.child("oidcConfig"), text));
        }
        if structured.config_map_name.is_empty() {
            errors.push(FieldError::forbidden(&own.child("configMapName"), "must provide a name"));
        }
    }
    if let Some(structured) = &server.structured_authorization {
        let own = path.child("structuredAuthorization");
        structured_rules(errors, "StructuredAuthorizationConfiguration", &own);
        if structured.config_map_name.is_empty() {
            errors.push(FieldError::forbidden(&own.child("configMapName"), "must provide a name"));
        } else if structured.kubeconfigs.is_empty() {
            let text = "must provide kubeconfig secret references if an authorization config is configured";
            errors.push(FieldError::required(&own.child("kubeconfigs"), text));
        }
    }
    limits(errors, server, version, release, path);
    if let Some(config) = &server.encryption_config {
        encryption(errors, config, &path.child("encryptionConfig").child("resources"));
    }
    requests(errors, server.requests.as_ref(), &path.child("requests"));
    if let Some(config) = &server.service_account_config {
        service_account(errors, config, &path.child("serviceAccountConfig"));
    }
    if let Some(ttl) = server.event_ttl {
        let path = path.child("eventTTL");
        not_negative_duration(errors, Some(ttl), &path, "can not be negative");
        let is_short = EVENTS_LIVE_FOR_A_DAY.contain(release);
        let (days, text) = if is_short { (1, "can not be longer than 24h") } else { (7, "can not be longer than 7d") };
        if ttl > Duration::from_seconds(days * 24 * HOUR) {
            errors.push(invalid_duration(&path, ttl, text));
        }
    }
    if let Some(autoscaling) = &server.autoscaling {
        let minima = [("cpu", "20m"), ("memory", "200M")];
        control_plane_autoscaling(errors, autoscaling, &minima, &path.child("autoscaling"));
    }
    feature_gates(errors, &server.feature_gates, version, release, &path.child("featureGates"));
}

fn limits(errors: &mut Errors, server: &KubeAPIServerConfig, version: &str, release: Release, path: &Path) {
    if let Some(sizes) = &server.watch_cache_sizes {
        let path = path.child("watchCacheSizes");
        if let Some(size) = sizes.default {
            let path = path.child("default");
            if !refuse(errors, Field::DefaultWatchCacheSize, version, release, &path) {
                meta::non_negative(errors, i64::from(size), &path);
            }
        }
        for (index, resource) in sizes.resources.iter().enumerate() {
            let path = path.child("resources").index(index);
            if resource.resource.is_empty() {
                errors.push(FieldError::required(&path.child("resource"), "must not be empty"));
            }
            meta::non_negative(errors, i64::from(resource.size), &path.child("size"));
        }
    }
    if let Some(logging) = &server.logging {
        let path = path.child("logging");
        let levels = [("verbosity", logging.verbosity), ("httpAccessVerbosity", logging.http_access_verbosity)];
        for (field, level) in levels {
            if let Some(level) = level {
                meta::non_negative(errors, i64::from(level), &path.child(field));
            }
        }
    }
    let tolerations = [
        ("defaultNotReadyTolerationSeconds", server.default_not_ready_toleration_seconds),
        ("defaultUnreachableTolerationSeconds", server.default_unreachable_toleration_seconds),
    ];
    for (field, seconds) in tolerations {
        if let Some(seconds) = seconds {
            meta::non_negative(errors, seconds, &path.child(field));
        }
    }
}

fn encryption(errors: &mut Errors, config: &EncryptionConfig, path: &Path) {
    let mut seen = BTreeSet::new();
    for (index, resource) in config.resources.iter().enumerate() {
        let path = path.index(index);
        let bare = resource.strip_suffix('.').unwrap_or(resource);
        if seen.contains(resource.as_str()) || seen.contains(bare) {
            errors.push(FieldError::duplicate(&path, resource));
        }
        if bare == "secrets" {
            errors.push(FieldError::forbidden(&path, &format!("{resource:?} are always encrypted")));
        }
        if resource.starts_with('*') {
            errors.push(FieldError::invalid(&path, resource, "wildcards are not supported"));
        }
        seen.insert(resource.as_str());
    }
}

/// Checks the provider that encrypts etcd: aesgcm needs the automatic rotation of its key.
fn encryption_provider(
    errors: &mut Errors,
    config: &EncryptionConfig,
    maintenance: Option<&Maintenance>,
    release: Release,
    path: &Path,
) {
    let Some(provider) = &config.provider.r#type else { return };
    let path = path.child("provider").child("type");
    let all = ["aescbc", "aesgcm", "secretbox"];
    let known = if SEVERAL_ENCRYPTION_PROVIDERS.contain(release) { &all[..] } else { &all[..1] };
    one_of(errors, provider, known, &path);
    let rotation = maintenance.and_then(|maintenance| maintenance.auto_rotation.as_ref());
    let credentials = rotation.and_then(|rotation| rotation.credentials.as_ref());
    let period = credentials.and_then(|credentials| credentials.etcd_encryption_key.as_ref()?.rotation_period);
    let is_rotated = period.is_some_and(|period| period.nanoseconds != 0);
    if provider == "aesgcm" && SEVERAL_ENCRYPTION_PROVIDERS.contain(release) && !is_rotated {
        let text = "etcdEncryptionKey auto rotation must be enabled when encryption at rest provider is AES-GCM";
        errors.push(FieldError::forbidden(&path, text));
    }
}

fn requests(errors: &mut Errors, requests: Option<&APIServerRequests>, path: &Path) {
    let Some(requests) = requests else { return };
    let limits = [
        ("maxNonMutatingInflight", requests.max_non_mutating_inflight, 800),
        ("maxMutatingInflight", requests.max_mutating_inflight, 400),
    ];
    for (field, value, most) in limits {
        let Some(value) = value else { continue };
        let path = path.child(field);
        meta::non_negative(errors, i64::from(value), &path);
        if value > most {
            errors.push(FieldError::invalid(&path, value, &format!("cannot set higher than {most}")));
        }
    }
}

fn service_account(errors: &mut Errors, config: &ServiceAccountConfig, path: &Path) {
    if let Some(expiration) = config.max_token_expiration {
        let path = path.child("maxTokenExpiration");
        let hours = |hours: i64| Duration::from_seconds(hours * HOUR);
        if expiration < hours(0) {
            errors.push(invalid_duration(&path, expiration, "can not be negative"));
        } else if expiration > hours(0) && expiration < hours(720) {
            errors.push(FieldError::forbidden(&path, "must be at least 720h (30d)"));
        } else if expiration > hours(2160) {
            errors.push(FieldError::forbidden(&path, "must be at most 2160h (90d)"));
        }
    }
    let mut issuers: BTreeSet<&str> = config.issuer.as_deref().into_iter().collect();
    for (index, issuer) in config.accepted_issuers.iter().enumerate() {
        if issuers.insert(issuer) {
            continue;
        }
        let path = path.child("acceptedIssuers").index(index);
        if config.issuer.as_ref() == Some(issuer) {
            let text = format!("acceptedIssuers cannot contains the issuer field value: {issuer}");
            errors.push(FieldError::invalid(&path, issuer, &text));
        } else {
            errors.push(FieldError::duplicate(&path, issuer));
        }
    }
}

fn oidc(errors: &mut Errors, config: &OIDCConfig, is_gone: bool, client_is_gone: bool, path: &Path) {
    if is_gone {
        let text = "for Kubernetes versions >= 1.32, oidcConfig field is no longer supported";
        errors.push(FieldError::invalid(path, config, text));
        return;
    }
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|value| !value.is_empty());
    let pair = [("clientID", &config.client_id, "issuerURL"), ("issuerURL", &config.issuer_url, "clientID")];
    let other_is_set = [is_set(&config.issuer_url), is_set(&config.client_id)];
    for ((field, value, other), other_is_set) in pair.into_iter().zip(other_is_set) {
        let path = path.child(field);
        if is_set(value) {
            if field == "issuerURL" {
                issuer_url(errors, value.as_deref().unwrap_or_default(), &path);
            }
            continue;
        }
        if value.is_some() {
            let text = format!("{field} cannot be empty when key is provided");
            errors.push(FieldError::invalid(&path, value, &text));
        }
        if other_is_set {
            let text = format!("{field} must be set when {other} is provided");
            errors.push(FieldError::invalid(&path, value, &text));
        }
    }
    common::ca_bundle(errors, config.ca_bundle.as_deref(), &path.child("caBundle"));
    if let Some(client) = &config.client_authentication
        && client_is_gone
    {
        let text = "for Kubernetes versions >= 1.31, clientAuthentication field is no longer supported";
        errors.push(FieldError::invalid(&path.child("clientAuthentication"), client, text));
    }
    let empty = |errors: &mut Errors, field: &str, value: &Option<String>| {
        if value.as_deref() == Some("") {
            let text = format!("{field} cannot be empty when key is provided");
            errors.push(FieldError::invalid(&path.child(field), "", &text));
        }
    };
    empty(errors, "groupsClaim", &config.groups_claim);
    empty(errors, "groupsPrefix", &config.groups_prefix);
    for (index, algorithm) in config.signing_algs.iter().enumerate() {
        one_of(errors, algorithm, &SIGNING_ALGORITHMS, &path.child("signingAlgs").index(index));
    }
    empty(errors, "usernameClaim", &config.username_claim);
    empty(errors, "usernamePrefix", &config.username_prefix);
}

fn issuer_url(errors: &mut Errors, url: &str, path: &Path) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = if scheme.is_empty() { "" } else { rest.split(['/', '?', '#']).next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
    let (without_fragment, fragment) = url.split_once('#').unwrap_or((url, ""));
    let query = without_fragment.split_once('?').map_or("", |(_, query)| query);
    let checks = [
        (host.is_empty(), "must be a valid URL and have https scheme"),
        (!fragment.is_empty(), "must not contain a fragment"),
        (!user.is_empty(), "must not contain a username or password"),
        (!query.is_empty(), "must not contain a query"),
        (scheme != "https", "must have https scheme"),
    ];
    for (_, text) in checks.into_iter().filter(|(is_wrong, _)| *is_wrong) {
        errors.push(FieldError::invalid(path, url, text));
    }
}

/// Checks the sizes of the nodes' pod networks.
///
/// Source: pkg/api/core/validation/shoot.go, v1.137.0 to v1.149.0.
fn node_cidr_mask_sizes(
    errors: &mut Errors,
    manager: &KubeControllerManagerConfig,
    families: &[String],
    release: Release,
    path: &Path,
) {
    let (is_ipv4, is_ipv6) = (families == ["IPv4"], families == ["IPv6"]);
    let has_ipv6_size = NODE_CIDR_MASK_SIZE_IPV6.contain(release);
    let (size, size_ipv6) = (manager.node_cidr_mask_size, manager.node_cidr_mask_size_ipv6);
    let path_of = |field: &str| path.child(field);
    if size.is_some() && size_ipv6.is_some() && is_ipv6 {
        let text = "only one of nodeCIDRMaskSize or nodeCIDRMaskSizeIPv6 can be set for single-stack clusters";
        errors.push(FieldError::forbidden(&path_of("nodeCIDRMaskSize"), text));
    }
    let range_text = match size {
        Some(size) if is_ipv4 && !(16..=28).contains(&size) => Some("nodeCIDRMaskSize must be between 16 and 28"),
        Some(size) if is_ipv6 && has_ipv6_size && !(64..=124).contains(&size) => {
            Some("nodeCIDRMaskSize must be between 64 and 124 for IPv6 single-stack clusters")
        }
        _ => None,
    };
    if let Some(text) = range_text {
        errors.push(FieldError::invalid(&path_of("nodeCIDRMaskSize"), size, text));
    }
    let Some(size) = size_ipv6 else { return };
    let path = path_of("nodeCIDRMaskSizeIPv6");
    if is_ipv4 {
        let text = "nodeCIDRMaskSizeIPv6 cannot be set for IPv4 single-stack clusters";
        errors.push(FieldError::forbidden(&path, text));
    } else if !(64..=124).contains(&size) {
        errors.push(FieldError::invalid(&path, size, "nodeCIDRMaskSizeIPv6 must be between 64 and 124"));
    }
}

fn kube_controller_manager(
    errors: &mut Errors,
    manager: &KubeControllerManagerConfig,
    networking: Option<&Networking>,
    (version, release): (&str, Release),
    workerless: bool,
    path: &Path,
) {
    if workerless {
        let fields = [
            ("nodeCIDRMaskSize", manager.node_cidr_mask_size.is_some()),
            ("nodeCIDRMaskSizeIPv6", manager.node_cidr_mask_size_ipv6.is_some()),
            ("horizontalPodAutoscaler", manager.horizontal_pod_autoscaler.is_some()),
            ("podEvictionTimeout", manager.pod_eviction_timeout.is_some()),
            ("nodeMonitorGracePeriod", manager.node_monitor_grace_period.is_some()),
        ];
        forbidden_for_workerless(errors, &fields, path);
    } else {
        if let Some(networking) = networking {
            node_cidr_mask_sizes(errors, manager, &networking.ip_families, release, path);
        }
        let periods = [
            ("podEvictionTimeout", manager.pod_eviction_timeout),
            ("nodeMonitorGracePeriod", manager.node_monitor_grace_period),
        ];
        for (field, period) in periods {
            let (Some(period), path) = (period, path.child(field)) else { continue };
            let is_eviction = field == "podEvictionTimeout";
            match refusal(Field::PodEvictionTimeout, version, release).filter(|_| is_eviction) {
                Some(refusal) if refusal.is_invalid => errors.push(invalid_duration(&path, period, refusal.text)),
                Some(refusal) => errors.push(FieldError::forbidden(&path, refusal.text)),
                None if period.nanoseconds <= 0 => {
                    let text = format!("{field} must be larger than 0");
                    errors.push(invalid_duration(&path, period, &text));
                }
                None => {}
            }
        }
        if let Some(autoscaler) = &manager.horizontal_pod_autoscaler {
            horizontal_pod_autoscaler(errors, autoscaler, &path.child("horizontalPodAutoscaler"));
        }
    }
    feature_gates(errors, &manager.feature_gates, version, release, &path.child("featureGates"));
}

fn horizontal_pod_autoscaler(errors: &mut Errors, autoscaler: &HorizontalPodAutoscalerConfig, path: &Path) {
    let second = Duration::from_seconds(1);
    let least = |errors: &mut Errors,
                 field: &str,
                 value: Option<Duration>,
                 is_wrong: fn(Duration, Duration) -> bool,
                 text: &str| {
        if let Some(value) = value
            && is_wrong(value, second)
        {
            errors.push(invalid_duration(&path.child(field), value, text));
        }
    };
    let below_second = |value: Duration, second: Duration| value < second;
    let text = "syncPeriod must not be less than a second";
    least(errors, "syncPeriod", autoscaler.sync_period, below_second, text);
    if let Some(tolerance) = autoscaler.tolerance
        && tolerance <= 0.0
    {
        let text = "tolerance of must be greater than 0";
        errors.push(FieldError::invalid(&path.child("tolerance"), tolerance, text));
    }
    let text = "downScale stabilization must not be less than a second";
    least(errors, "downscaleStabilization", autoscaler.downscale_stabilization, below_second, text);
    let text = "initial readiness delay must be greater than 0";
    let not_positive = |value: Duration, _: Duration| value.nanoseconds <= 0;
    least(errors, "initialReadinessDelay", autoscaler.initial_readiness_delay, not_positive, text);
    let text = "cpu initialization period must not be less than a second";
    least(errors, "cpuInitializationPeriod", autoscaler.cpu_initialization_period, below_second, text);
}

fn control_plane_autoscaling(
    errors: &mut Errors,
    autoscaling: &ControlPlaneAutoscaling,
    minima: &[(&str, &str)],
    path: &Path,
) {
    let path = path.child("minAllowed");
    if autoscaling.min_allowed.is_empty() {
        errors.push(FieldError::required(&path, "must provide minAllowed"));
    }
    for (resource, value) in &autoscaling.min_allowed {
        let path = path.child(resource);
        one_of(errors, resource, &["cpu", "memory"], &path);
        let least = minima.iter().find(|(name, _)| name == resource).map(|(_, least)| *least);
        if let Some(least) = least
            && least.parse::<Quantity>().is_ok_and(|least| *value < least)
        {
            errors.push(FieldError::invalid(&path, value, &format!("value must be bigger than >= {least}")));
        }
        meta::quantity(errors, value, &path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setting of the controller of HorizontalPodAutoscalers in nanoseconds; expected error.
    #[test]
    fn waits_of_the_autoscaler_have_their_least_length() {
        let second = 1_000_000_000;
        for (field, least, text) in [
            ("syncPeriod", second, "syncPeriod must not be less than a second"),
            ("downscaleStabilization", second, "downScale stabilization must not be less than a second"),
            ("initialReadinessDelay", 1, "initial readiness delay must be greater than 0"),
            ("cpuInitializationPeriod", second, "cpu initialization period must not be less than a second"),
        ] {
            let said = |nanoseconds: i64| {
                let mut autoscaler = HorizontalPodAutoscalerConfig::default();
                let duration = Some(Duration { nanoseconds });
                match field {
                    "syncPeriod" => autoscaler.sync_period = duration,
                    "downscaleStabilization" => autoscaler.downscale_stabilization = duration,
                    "initialReadinessDelay" => autoscaler.initial_readiness_delay = duration,
                    _ => autoscaler.cpu_initialization_period = duration,
                }
                let mut errors = Errors::new();
                horizontal_pod_autoscaler(&mut errors, &autoscaler, &Path::new("hpa"));
                errors.iter().map(|error| format!("{} {error}", error.field)).collect::<Vec<_>>()
            };
            assert_eq!(said(least), Vec::<String>::new(), "{field}");
            let [error] = &said(least - 1)[..] else { panic!("one error of {field}") };
            assert!(error.starts_with(&format!("hpa.{field} ")) && error.ends_with(text), "{error}");
        }
    }
}
