// SPDX-License-Identifier: Apache-2.0
//! Rules of the DNS settings of a Shoot.
//!
//! Until 1.134 `secretName` of a provider selects its credentials, since 1.135 `credentialsRef` does. gardener-apiserver fills
//! in the missing field of the two ([`crate::defaulting::sync_dns_references`]), and both must name the same Secret; since
//! 1.139 below Kubernetes 1.35 only.
//!
//! Source: pkg/apis/core/validation/shoot.go @ v1.134.0, v1.135.0, v1.136.0; pkg/api/core/validation/shoot.go @ v1.138.0, v1.139.0,
//! v1.149.0.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use serde::Serialize;

use super::super::Errors;
use super::super::{common, meta};
use super::facts::primary_provider;
use super::refused::{Field, refuse};
use crate::release::{Release, Releases};
use crate::shoot_facts::has_dns_secret_names;

/// Releases in which the references of providers to credentials count.
const REFERENCES_COUNT: Releases = Releases::since(135);
/// Releases that require credentials of each provider that is not the primary one; before, admission does.
const OTHERS_NEED_CREDENTIALS: Releases = Releases::since(136);

/// Type of a provider whose records Gardener does not manage.
const UNMANAGED: &str = "unmanaged";

/// Type and credentials of a provider, in the order in which upstream prints them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Credentials<'a> {
    provider_type: &'a str,
    gvk: String,
    name: &'a str,
}

/// Providers that were checked.
#[derive(Default)]
struct Checked {
    /// One text for each provider, from its type and its credentials.
    credentials: BTreeSet<String>,
    has_primary: bool,
}

pub(super) fn dns(errors: &mut Errors, spec: &ShootSpec, release: Release, path: &Path) {
    let Some(dns) = &spec.dns else { return };
    if let Some(domain) = &dns.domain {
        meta::invalid_each(errors, &path.child("domain"), domain, meta::dns_subdomain(domain));
    }
    let primary_type = primary_provider(dns).and_then(|provider| provider.r#type.as_deref());
    if dns.domain.is_none() && primary_type.is_some_and(|kind| kind != UNMANAGED) {
        let text = "domain must be set when primary provider type is not set to \"unmanaged\"";
        errors.push(FieldError::required(&path.child("domain"), text));
    }
    let mut checked = Checked::default();
    for (index, provider) in dns.providers.iter().enumerate() {
        let path = path.child("providers").index(index);
        if provider.secret_name.is_some() {
            refuse(errors, Field::DnsSecretName, &spec.kubernetes.version, release, &path.child("secretName"));
        }
        if REFERENCES_COUNT.contain(release) {
            credentials(errors, provider, &spec.kubernetes.version, release, &path);
            by_reference(errors, provider, release, &mut checked, &path);
        } else {
            by_name(errors, provider, &mut checked, &path);
        }
    }
}

/// Checks a provider whose credentials are the Secret of a name.
fn by_name(errors: &mut Errors, provider: &DNSProvider, checked: &mut Checked, path: &Path) {
    if let (Some(secret), Some(kind)) = (&provider.secret_name, &provider.r#type) {
        let dash = if secret.is_empty() || kind.is_empty() { "" } else { "-" };
        let name = format!("{kind}{dash}{secret}");
        if checked.credentials.contains(&name) {
            let text = "combination of .secretName and .type must be unique across dns providers";
            errors.push(FieldError::invalid(path, &name, text));
            return;
        }
        for text in meta::dns_subdomain(&name) {
            let text = format!("combination of .secretName and .type is invalid: {text:?}");
            errors.push(FieldError::invalid(path, &name, &text));
        }
        checked.credentials.insert(name);
    }
    if is_second_primary(errors, provider, checked, path) {
        return;
    }
    match (&provider.r#type, &provider.secret_name) {
        (Some(kind), Some(secret)) if kind == UNMANAGED => {
            let text = "secretName must not be set when type is \"unmanaged\"";
            errors.push(FieldError::invalid(&path.child("secretName"), secret, text));
        }
        (None, Some(_)) => {
            errors.push(FieldError::required(&path.child("type"), "type must be set when secretName is set"));
        }
        _ => {}
    }
}

/// Checks that the name of a provider's Secret and the reference to its credentials agree.
fn credentials(errors: &mut Errors, provider: &DNSProvider, version: &str, release: Release, path: &Path) {
    let has_names = has_dns_secret_names(version, release);
    let name = provider.secret_name.as_deref();
    let secret_name = path.child("secretName");
    let Some(reference) = &provider.credentials_ref else {
        if has_names && name.is_some() {
            errors.push(FieldError::forbidden(&secret_name, "must not be set when `credentialsRef` is not set"));
        }
        return;
    };
    let is_secret = (reference.api_version.as_str(), reference.kind.as_str()) == ("v1", "Secret");
    let refused = match (is_secret, name) {
        (true, name) if has_names && name != Some(&reference.name) => {
            Some("must refer to the same secret as `credentialsRef`")
        }
        (false, Some(name)) if !name.is_empty() => {
            Some("must not be set when `credentialsRef` does not refer to secret resource")
        }
        _ => None,
    };
    common::local_credentials_reference(errors, reference, release, &path.child("credentialsRef"));
    if let Some(text) = refused {
        errors.push(FieldError::forbidden(&secret_name, text));
    }
}

/// Checks a provider whose credentials are those of a reference.
fn by_reference(errors: &mut Errors, provider: &DNSProvider, release: Release, checked: &mut Checked, path: &Path) {
    if let (Some(reference), Some(kind)) = (&provider.credentials_ref, &provider.r#type) {
        let gvk = format!("{}/{}", reference.api_version, reference.kind);
        let used = Credentials { provider_type: kind, gvk, name: &reference.name };
        if !checked.credentials.insert(format!("{kind} {} {}", used.gvk, used.name)) {
            let text = "combination of .credentialsRef and .type must be unique across dns providers";
            errors.push(FieldError::invalid(path, used, text));
            return;
        }
    }
    if is_second_primary(errors, provider, checked, path) {
        return;
    }
    match (&provider.r#type, &provider.credentials_ref) {
        (Some(kind), Some(reference)) if kind == UNMANAGED => {
            let text = "credentialsRef must not be set when type is \"unmanaged\"";
            errors.push(FieldError::invalid(&path.child("credentialsRef"), reference, text));
            return;
        }
        (None, Some(_)) => {
            errors.push(FieldError::required(&path.child("type"), "type must be set when credentialsRef is set"));
        }
        _ => {}
    }
    let needs_credentials = OTHERS_NEED_CREDENTIALS.contain(release) && provider.primary != Some(true);
    if needs_credentials && provider.credentials_ref.is_none() {
        let text = "non-primary DNS providers must specify `credentialsRef`";
        errors.push(FieldError::required(&path.child("credentialsRef"), text));
    }
}

/// True if another provider is the primary one, which is refused.
fn is_second_primary(errors: &mut Errors, provider: &DNSProvider, checked: &mut Checked, path: &Path) -> bool {
    let is_primary = provider.primary == Some(true);
    let is_second = is_primary && checked.has_primary;
    if is_second {
        let text = "multiple primary DNS providers are not supported";
        errors.push(FieldError::forbidden(&path.child("primary"), text));
    }
    checked.has_primary |= is_primary;
    is_second
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Violations of providers, in one text.
    fn of(providers: &Value, version: &str, release: u16) -> String {
        let spec =
            json!({ "kubernetes": { "version": version }, "dns": { "domain": "a.org", "providers": providers } });
        let spec: ShootSpec = serde_json::from_value(spec).expect("a specification");
        let mut errors = Errors::new();
        dns(&mut errors, &spec, Release(release), &Path::new("dns"));
        errors.iter().map(|error| error.to_string().replace("dns.providers", "")).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn credentials_of_providers_are_checked_by_release() {
        let secret = |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "name": name });
        let identity =
            json!({ "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "WorkloadIdentity", "name": "w" });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "m" });
        let both =
            |name: &str, reference: &Value| json!([{ "type": "t", "secretName": name, "credentialsRef": reference }]);
        let only = |reference: &Value| json!([{ "type": "t", "credentialsRef": reference }]);
        let same = "[0].secretName: Forbidden: must refer to the same secret as `credentialsRef`";
        let unset =
            "[0].secretName: Forbidden: must not be set when `credentialsRef` does not refer to secret resource";
        let unsupported = "[0].credentialsRef: Unsupported value: \"&ObjectReference{Kind:ConfigMap,Namespace:,Name:m,UID:,\
                           APIVersion:v1,ResourceVersion:,FieldPath:,}\": supported values: \"/v1, Kind=Secret\", \
                           \"core.gardener.cloud/v1beta1, Kind=InternalSecret\", \"security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity\"";
        let twice = json!([
            { "type": "t", "primary": true, "secretName": "a", "credentialsRef": secret("a") },
            { "type": "t", "secretName": "a", "credentialsRef": secret("a") },
        ]);
        let unique = "[1]: Invalid value: {\"providerType\":\"t\",\"gvk\":\"v1/Secret\",\"name\":\"a\"}: combination of .credentialsRef \
                      and .type must be unique across dns providers";
        let by_name =
            "[1]: Invalid value: \"t-a\": combination of .secretName and .type must be unique across dns providers";
        let late =
            "[0].secretName: Forbidden: for Kubernetes versions >= 1.35, secretName field is no longer supported";
        for (providers, version, release, expected) in [
            (both("a", &secret("b")), "1.34.0", 134, String::new()),
            (both("a", &secret("b")), "1.34.0", 135, same.to_owned()),
            (both("a", &secret("a")), "1.34.0", 149, String::new()),
            (only(&secret("a")), "1.34.0", 149, same.to_owned()),
            (only(&secret("a")), "1.35.0", 138, same.to_owned()),
            (both("a", &secret("a")), "1.35.0", 138, String::new()),
            (only(&secret("a")), "1.35.0", 139, String::new()),
            (only(&secret("a")), "1.35.0", 149, String::new()),
            (both("a", &secret("a")), "1.35.0", 149, late.to_owned()),
            (only(&identity), "1.34.0", 135, String::new()),
            (both("a", &identity), "1.34.0", 135, unset.to_owned()),
            (only(&map), "1.35.0", 149, unsupported.to_owned()),
            (twice.clone(), "1.34.0", 134, by_name.to_owned()),
            (twice.clone(), "1.34.0", 135, unique.to_owned()),
            (
                json!([{ "type": "unmanaged", "primary": true, "credentialsRef": identity }]),
                "1.35.0",
                149,
                "[0].credentialsRef: Invalid value: {\"kind\":\"WorkloadIdentity\",\"name\":\"w\",\"apiVersion\":\
                 \"security.gardener.cloud/v1alpha1\"}: credentialsRef must not be set when type is \"unmanaged\""
                    .to_owned(),
            ),
            (
                json!([{ "credentialsRef": identity }]),
                "1.34.0",
                135,
                "[0].type: Required value: type must be set when credentialsRef is set".to_owned(),
            ),
            (json!([{ "type": "t" }]), "1.34.0", 135, String::new()),
            (
                json!([{ "type": "t" }]),
                "1.34.0",
                136,
                "[0].credentialsRef: Required value: non-primary DNS providers must specify `credentialsRef`"
                    .to_owned(),
            ),
        ] {
            assert_eq!(of(&providers, version, release), expected, "{providers} {version} {release}");
        }
    }
}
