// SPDX-License-Identifier: Apache-2.0
//! Validation of the configuration of a Shoot's API server, part by part in upstream's order.
//!
//! | since | checked |
//! | --- | --- |
//! | 1.127 | audiences |
//! | 1.129 | names of resources whose changes are cached |
//! | 1.132 | the name of the audit policy; issuers are URLs; since 1.135 accepted ones only when they change |
//! | 1.133 | client ID and issuer of OpenID Connect are required; admission required them of new Shoots |
//! | 1.135 | higher limits of parallel requests |
//! | 1.136 | a time to live of Events of at most a day |
//!
//! Source: pkg/apis/core/validation/shoot.go, since v1.137 pkg/api/core/validation/shoot.go, of each release.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Duration;

use super::super::Errors;
use super::super::common::{self, invalid_duration, not_negative_duration, one_of};
use super::super::meta;
use super::encryption_config::encryption_config;
use super::refused::{Field, refusal, refuse};
use super::runtime_config::runtime_config;
use super::shared::{control_plane_autoscaling, feature_gates};
use crate::features::{CONFIGS_ARE_CHECKED, FORBIDDEN_ADMISSION_PLUGINS, admission_plugin};
use crate::release::{Release, Releases};
use crate::versions::{Version, meets_constraint};

const HOUR: i64 = 3600;

const AUDIENCES_ARE_JUDGED: Releases = Releases::since(127);

const WATCHED_NAMES_ARE_JUDGED: Releases = Releases::since(129);

const ISSUERS_ARE_URLS: Releases = Releases::since(132);

/// The API server has settings of OpenID Connect.
const HAS_OIDC: Releases = Releases::until(142);

/// Client ID and issuer of OpenID Connect are required.
const OIDC_IS_COMPLETE: Releases = Releases::since(133);

/// Shoots may have Kubernetes versions before 1.30, which lack structured authentication and authorization.
const KNOWS_1_29: Releases = Releases::until(133);

/// The limits of parallel requests are 5000 and 2500; in earlier releases, 800 and 400.
const MANY_REQUESTS: Releases = Releases::since(135);

/// Events have a time to live of at most one day; in earlier releases, of one week.
const EVENTS_LIVE_FOR_A_DAY: Releases = Releases::since(136);

const SIGNING_ALGORITHMS: [&str; 10] =
    ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512", "none"];

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

/// Checks the configuration of the API server of a Shoot.
pub(super) fn kube_api_server(
    errors: &mut Errors,
    server: &KubeAPIServerConfig,
    spec: &ShootSpec,
    (workerless, release): (bool, Release),
    path: &Path,
) {
    let version = spec.kubernetes.version.as_str();
    let oidc_config = server.oidc_config.as_ref().filter(|_| HAS_OIDC.contain(release));
    if let Some(config) = oidc_config {
        oidc(errors, config, version, release, &path.child("oidcConfig"));
    }
    if server.enable_anonymous_authentication.is_some() {
        let path = path.child("enableAnonymousAuthentication");
        refuse(errors, Field::EnableAnonymousAuthentication, version, release, &path);
    }
    admission_plugins(errors, &server.admission_plugins, version, release, &path.child("admissionPlugins"));
    runtime_config(errors, &server.runtime_config, version, release, workerless, &path.child("runtimeConfig"));
    let policy = server.audit_config.as_ref().and_then(|config| config.audit_policy.as_ref());
    if let Some(reference) = policy.and_then(|policy| policy.config_map_ref.as_ref()) {
        let path = path.child("auditConfig").child("auditPolicy").child("configMapRef");
        common::named_reference_in(errors, reference, release, &path);
    }
    let is_old = KNOWS_1_29.contain(release) && meets_constraint(version, "< 1.30").unwrap_or(false);
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
        if oidc_config.is_some() {
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
        encryption_config(errors, config, spec.maintenance.as_ref(), release, &path.child("encryptionConfig"));
    }
    requests(errors, server.requests.as_ref(), release, &path.child("requests"));
    if let Some(config) = &server.service_account_config {
        service_account(errors, config, release, &path.child("serviceAccountConfig"));
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
    if let Some(version) = &server.tls_min_version {
        one_of(errors, version, &["VersionTLS12", "VersionTLS13"], &path.child("tlsMinVersion"));
    }
    if let Some(autoscaling) = &server.autoscaling {
        let minima = [("cpu", "20m"), ("memory", "200M")];
        control_plane_autoscaling(errors, autoscaling, &minima, &path.child("autoscaling"));
    }
    feature_gates(errors, &server.feature_gates, version, release, &path.child("featureGates"));
    if AUDIENCES_ARE_JUDGED.contain(release) {
        audiences(errors, &server.api_audiences, &path.child("apiAudiences"));
    }
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
            if WATCHED_NAMES_ARE_JUDGED.contain(release) {
                let group = resource.api_group.as_deref().unwrap_or_default();
                watched_name(errors, &resource.resource, ",. #", &path.child("resource"));
                watched_name(errors, group, ", #", &path.child("apiGroup"));
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

/// Checks a part of the name of a resource whose changes are cached: lower case, without some characters.
fn watched_name(errors: &mut Errors, name: &str, refused: &str, path: &Path) {
    if name.to_lowercase() != name {
        errors.push(FieldError::invalid(path, name, "must be lower case"));
    }
    if name.contains(|character: char| refused.contains(character)) {
        let text = format!("must not contain any of the following characters: {refused:?}");
        errors.push(FieldError::invalid(path, name, &text));
    }
}

/// Checks that audiences are unique and without commas, which separate them in the flag of kube-apiserver.
fn audiences(errors: &mut Errors, audiences: &[String], path: &Path) {
    let mut seen = BTreeSet::new();
    for (index, audience) in audiences.iter().enumerate() {
        let path = path.index(index);
        if !seen.insert(audience) {
            errors.push(FieldError::duplicate(&path, audience));
        }
        if audience.contains(',') {
            errors.push(FieldError::invalid(&path, audience, "audience must not contain commas"));
        }
    }
}

fn requests(errors: &mut Errors, requests: Option<&APIServerRequests>, release: Release, path: &Path) {
    let Some(requests) = requests else { return };
    let (reads, writes) = if MANY_REQUESTS.contain(release) { (5000, 2500) } else { (800, 400) };
    let limits = [
        ("maxNonMutatingInflight", requests.max_non_mutating_inflight, reads),
        ("maxMutatingInflight", requests.max_mutating_inflight, writes),
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

fn service_account(errors: &mut Errors, config: &ServiceAccountConfig, release: Release, path: &Path) {
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
    let are_urls = ISSUERS_ARE_URLS.contain(release);
    if let Some(issuer) = config.issuer.as_deref().filter(|_| are_urls) {
        issuer_url(errors, issuer, &path.child("issuer"));
    }
    let mut issuers: BTreeSet<&str> = config.issuer.as_deref().into_iter().collect();
    for (index, issuer) in config.accepted_issuers.iter().enumerate() {
        let path = path.child("acceptedIssuers").index(index);
        if are_urls {
            issuer_url(errors, issuer, &path);
        }
        if issuers.insert(issuer) {
            continue;
        }
        if config.issuer.as_ref() == Some(issuer) {
            let text = format!("acceptedIssuers cannot contains the issuer field value: {issuer}");
            errors.push(FieldError::invalid(&path, issuer, &text));
        } else {
            errors.push(FieldError::duplicate(&path, issuer));
        }
    }
}

fn oidc(errors: &mut Errors, config: &OIDCConfig, version: &str, release: Release, path: &Path) {
    if let Some(refusal) = refusal(Field::OidcConfig, version, release) {
        errors.push(FieldError::invalid(path, config, refusal.text));
        return;
    }
    if OIDC_IS_COMPLETE.contain(release) {
        required_oidc_fields(errors, config, path);
    } else {
        optional_oidc_fields(errors, config, path);
    }
    common::ca_bundle(errors, config.ca_bundle.as_deref(), &path.child("caBundle"));
    if let Some(client) = &config.client_authentication {
        let path = path.child("clientAuthentication");
        errors.extend(refusal(Field::OidcClientAuthentication, version, release).map(|refusal| {
            if refusal.is_invalid {
                FieldError::invalid(&path, client, refusal.text)
            } else {
                FieldError::forbidden(&path, refusal.text)
            }
        }));
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

fn required_oidc_fields(errors: &mut Errors, config: &OIDCConfig, path: &Path) {
    for (field, value) in [("clientID", &config.client_id), ("issuerURL", &config.issuer_url)] {
        let path = path.child(field);
        match value.as_deref() {
            None => {
                let text = format!("{field} must be set when oidcConfig is provided");
                errors.push(FieldError::required(&path, &text));
            }
            Some("") => errors.push(FieldError::required(&path, &format!("{field} cannot be empty"))),
            Some(url) if field == "issuerURL" => issuer_url(errors, url, &path),
            Some(_) => {}
        }
    }
}

/// Checks that client ID and issuer are set together. Admission requires both of a new Shoot.
fn optional_oidc_fields(errors: &mut Errors, config: &OIDCConfig, path: &Path) {
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
