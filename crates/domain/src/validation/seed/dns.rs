// SPDX-License-Identifier: Apache-2.0
//! DNS of Seeds: the provider of their records, the internal domain and the default domains.
//!
//! | release | provider | internal domain |
//! | --- | --- | --- |
//! | up to 1.126 | `secretRef` | Secret of the garden |
//! | 1.127 to 1.134 | `secretRef` | optional; cannot be removed once set |
//! | since 1.135 | `credentialsRef` | required |
//!
//! Source: pkg/apis/core/validation/seed.go and pkg/api/core/validation/seed.go, v1.120.0 to v1.149.0.

use std::collections::BTreeSet;

use api::core::{SeedDNS, SeedDNSProvider, SeedDNSProviderConfig, SeedSpec};
use apimachinery::field::{FieldError, Path};

use super::super::{Errors, common, meta};
use crate::release::{Release, Releases};

/// Credentials of the provider are a Secret or a WorkloadIdentity; before, `secretRef` names a Secret.
const PROVIDER_CREDENTIALS: Releases = Releases::since(135);

/// Credentials of a domain are checked as every reference to credentials.
const DOMAIN_CREDENTIALS: Releases = Releases::since(131);

/// Credentials of a domain must be a Secret.
const DOMAIN_SECRETS: Releases = Releases::until(135);

/// A Seed requires an internal domain.
const INTERNAL_IS_REQUIRED: Releases = Releases::since(135);

/// Checks the DNS settings of a Seed; `release`: `None` for a template, which is checked again as a Seed.
pub(super) fn dns(errors: &mut Errors, spec: &SeedSpec, path: &Path, release: Option<Release>) {
    let (dns, path) = (&spec.dns, path.child("dns"));
    if spec.ingress.is_some() && dns.provider.is_none() {
        let text = "ingress controller requires dns.provider to be set";
        errors.push(FieldError::required(&path.child("provider"), text));
    }
    let Some(release) = release else {
        let provider =
            dns.provider.iter().filter(|provider| spec.ingress.is_some() && provider.credentials_ref.is_none());
        provider.for_each(|provider| provider_with_secret(errors, provider, &path.child("provider")));
        return;
    };
    if let Some(provider) = &dns.provider {
        let path = path.child("provider");
        if PROVIDER_CREDENTIALS.contain(release) {
            provider_with_credentials(errors, provider, release, &path);
        } else if spec.ingress.is_some() {
            provider_with_secret(errors, provider, &path);
        }
    }
    let internal = path.child("internal");
    match &dns.internal {
        Some(config) => domain(errors, config, &internal, release),
        None if INTERNAL_IS_REQUIRED.contain(release) => {
            errors.push(FieldError::required(&internal, "internal DNS configuration is required"));
        }
        None => {}
    }
    let mut seen = BTreeSet::new();
    for (index, config) in dns.defaults.iter().enumerate() {
        let path = path.child("defaults").index(index);
        domain(errors, config, &path, release);
        if !seen.insert(&config.domain) {
            errors.push(FieldError::duplicate(&path.child("domain"), &config.domain));
        }
    }
}

/// Checks that an update keeps configured domains.
pub(super) fn update(errors: &mut Errors, new: &SeedDNS, old: &SeedDNS, path: &Path, release: Release) {
    let path = path.child("dns");
    if old.internal.is_some() && new.internal.is_none() && !INTERNAL_IS_REQUIRED.contain(release) {
        let text = "removing internal DNS configuration is not allowed";
        errors.push(FieldError::forbidden(&path.child("internal"), text));
    }
    if !old.defaults.is_empty() && new.defaults.is_empty() {
        let text = "removing defaults DNS configuration is not allowed";
        errors.push(FieldError::forbidden(&path.child("defaults"), text));
    }
}

fn provider_with_secret(errors: &mut Errors, provider: &SeedDNSProvider, path: &Path) {
    let secret = path.child("secretRef");
    for (value, path, text) in [
        (&provider.r#type, path.child("type"), "DNS provider type must be set"),
        (&provider.secret_ref.name, secret.child("name"), "secret reference name must be set"),
        (&provider.secret_ref.namespace, secret.child("namespace"), "secret reference namespace must be set"),
    ] {
        if value.is_empty() {
            errors.push(FieldError::required(&path, text));
        }
    }
}

fn provider_with_credentials(errors: &mut Errors, provider: &SeedDNSProvider, release: Release, path: &Path) {
    if provider.r#type.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "DNS provider type must be set"));
    }
    let credentials = path.child("credentialsRef");
    let Some(reference) = &provider.credentials_ref else {
        let text = "must be set to refer a Secret or WorkloadIdentity";
        errors.push(FieldError::required(&credentials, text));
        return;
    };
    common::credentials_reference(errors, reference, release, &credentials);
    // Empty in the releases that do not have the field.
    let (secret, path) = (&provider.secret_ref, path.child("secretRef"));
    let is_empty = secret.name.is_empty() && secret.namespace.is_empty();
    if (reference.api_version.as_str(), reference.kind.as_str()) == ("v1", "Secret") {
        if !is_empty && (secret.name != reference.name || secret.namespace != reference.namespace) {
            errors.push(FieldError::invalid(&path, secret, "must refer to the same Secret as credentialsRef"));
        }
        return;
    }
    for (field, value) in [("name", &secret.name), ("namespace", &secret.namespace)] {
        if !value.is_empty() {
            let text = "must not be set when credentialsRef refers to a WorkloadIdentity";
            errors.push(FieldError::forbidden(&path.child(field), text));
        }
    }
}

fn domain(errors: &mut Errors, config: &SeedDNSProviderConfig, path: &Path, release: Release) {
    let domain = path.child("domain");
    if config.domain.is_empty() {
        errors.push(FieldError::required(&domain, "cannot be empty"));
    } else {
        meta::invalid_each(errors, &domain, &config.domain, meta::dns_subdomain(&config.domain));
    }
    if config.r#type.is_empty() {
        errors.push(FieldError::required(&path.child("type"), "cannot be empty"));
    }
    let (reference, path) = (&config.credentials_ref, path.child("credentialsRef"));
    let is_checked = DOMAIN_CREDENTIALS.contain(release);
    if is_checked {
        common::credentials_reference(errors, reference, release, &path);
    }
    let is_secret = reference.api_version == "v1" && reference.kind == "Secret";
    if DOMAIN_SECRETS.contain(release) && !is_secret {
        errors.push(FieldError::invalid(&path, reference, "credentialsRef must reference a Secret"));
    }
    for (field, value) in [("name", &reference.name), ("namespace", &reference.namespace)] {
        if !is_checked && value.is_empty() {
            errors.push(FieldError::required(&path.child(field), "cannot be empty"));
        }
    }
}

#[cfg(test)]
mod tests {
    use api::core::Seed;
    use serde_json::{Value, json};

    use super::*;

    fn spec(dns: &Value) -> SeedSpec {
        let spec = json!({"dns": dns, "ingress": {"domain": "i.example.com", "controller": {"kind": "nginx"}}});
        serde_json::from_value::<Seed>(json!({"spec": spec})).expect("a Seed").spec
    }

    const SECRET: &str = r#"{"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"}"#;

    /// Rows: release, `spec.dns` with `SECRET` for a reference to a Secret, errors joined by ` | `.
    #[test]
    fn credentials_and_internal_domains_depend_on_the_release() {
        let identity = r#"{"apiVersion": "security.gardener.cloud/v1alpha1", "kind": "WorkloadIdentity", "name": "dns", "namespace": "garden"}"#;
        for (minor, dns, expected) in [
            (120, r#"{"provider": {"type": "local", "secretRef": {"name": "dns", "namespace": "garden"}}}"#, ""),
            (
                134,
                r#"{"provider": {"type": "local", "credentialsRef": SECRET}}"#,
                "spec.dns.provider.secretRef.name: Required value: secret reference name must be set | \
                 spec.dns.provider.secretRef.namespace: Required value: secret reference namespace must be set",
            ),
            (
                135,
                r#"{"provider": {"type": "local"}, "internal": {"type": "local", "domain": "internal.example.com", "credentialsRef": SECRET}}"#,
                "spec.dns.provider.credentialsRef: Required value: must be set to refer a Secret or WorkloadIdentity",
            ),
            (134, r#"{"provider": {"type": "local", "secretRef": {"name": "dns", "namespace": "garden"}}}"#, ""),
            (
                135,
                r#"{"provider": {"type": "local", "credentialsRef": SECRET}}"#,
                "spec.dns.internal: Required value: internal DNS configuration is required",
            ),
            (
                149,
                r#"{"provider": {"type": "local", "credentialsRef": IDENTITY}, "internal": {"type": "local", "domain": "internal.example.com", "credentialsRef": IDENTITY}}"#,
                "",
            ),
            (
                138,
                r#"{"provider": {"type": "local", "credentialsRef": SECRET, "secretRef": {"name": "other", "namespace": "garden"}}, "internal": {"type": "local", "domain": "internal.example.com", "credentialsRef": SECRET}}"#,
                "spec.dns.provider.secretRef: Invalid value: {\"name\":\"other\",\"namespace\":\"garden\"}: must refer to the same Secret as \
                 credentialsRef",
            ),
            (
                127,
                r#"{"provider": {"type": "local", "secretRef": {"name": "dns", "namespace": "garden"}}, "internal": {"type": "", "domain": "", "credentialsRef": {"apiVersion": "v1", "kind": "Secret"}}}"#,
                "spec.dns.internal.domain: Required value: cannot be empty | spec.dns.internal.type: Required value: cannot be empty | \
                 spec.dns.internal.credentialsRef.name: Required value: cannot be empty | \
                 spec.dns.internal.credentialsRef.namespace: Required value: cannot be empty",
            ),
            (
                149,
                r#"{"provider": {"type": "local", "credentialsRef": SECRET}, "internal": {"type": "local", "domain": "a.example.com", "credentialsRef": SECRET}, "defaults": [{"type": "local", "domain": "b.example.com", "credentialsRef": SECRET}, {"type": "local", "domain": "b.example.com", "credentialsRef": SECRET}]}"#,
                "spec.dns.defaults[1].domain: Duplicate value: \"b.example.com\"",
            ),
            (
                149,
                "{}",
                "spec.dns.provider: Required value: ingress controller requires dns.provider to be set | spec.dns.internal: Required value: internal DNS configuration is required",
            ),
        ] {
            let dns = serde_json::from_str(&dns.replace("SECRET", SECRET).replace("IDENTITY", identity)).expect("JSON");
            let mut errors = Errors::new();
            super::dns(&mut errors, &spec(&dns), &Path::new("spec"), Some(Release(minor)));
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors.join(" | "), expected, "{minor} {dns}");
        }
    }

    #[test]
    fn configured_domains_stay() {
        let config = json!({"type": "local", "domain": "a.example.com"});
        let old = spec(&json!({"internal": config, "defaults": [config]})).dns;
        let refused = |minor| {
            let mut errors = Errors::new();
            update(&mut errors, &SeedDNS::default(), &old, &Path::new("spec"), Release(minor));
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let internal = "spec.dns.internal: Forbidden: removing internal DNS configuration is not allowed";
        let defaults = "spec.dns.defaults: Forbidden: removing defaults DNS configuration is not allowed";
        assert_eq!(refused(131), [internal, defaults]);
        assert_eq!(refused(135), [defaults]);
    }
}
