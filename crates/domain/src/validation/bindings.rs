// SPDX-License-Identifier: Apache-2.0
//! Validation of SecretBinding, CredentialsBinding, Quota and ExposureClass.

use api::constants::api_version;
use api::core::{ExposureClass, Quota, SecretBinding};
use api::kubernetes::core::ObjectReference;
use api::security::CredentialsBinding;
use apimachinery::field::{FieldError, Path};

use super::meta::{NameRule, immutable, object_meta, object_meta_update};
use super::{Errors, common, meta};
use crate::release::{Release, Releases};

/// Metadata of new ExposureClasses is checked.
const EXPOSURE_CLASS_METADATA: Releases = Releases::since(125);

/// Lifetimes in Quotas are checked, and an unknown scope is refused with types in place of names.
const QUOTA_VALUES: Releases = Releases::since(124);

/// Checks a new SecretBinding: unlike an updated one it must name its provider.
pub fn secret_binding(binding: &SecretBinding) -> Errors {
    let mut errors = secret_binding_rules(binding);
    let path = Path::new("provider");
    match &binding.provider {
        None => errors.push(FieldError::required(&path, "must specify a provider")),
        Some(provider) if provider.r#type.is_empty() => {
            errors.push(FieldError::required(&path.child("type"), "must specify a provider type"));
        }
        Some(_) => {}
    }
    errors
}

/// Checks a changed SecretBinding.
pub fn secret_binding_update(binding: &SecretBinding, old: &SecretBinding) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &binding.metadata, &old.metadata, &Path::new("metadata"));
    immutable(&mut errors, &binding.secret_ref, &old.secret_ref, &Path::new("secretRef"));
    immutable(&mut errors, &binding.quotas, &old.quotas, &Path::new("quotas"));
    if old.provider.is_some() {
        immutable(&mut errors, &binding.provider, &old.provider, &Path::new("provider"));
    }
    errors.extend(secret_binding_rules(binding));
    errors
}

fn secret_binding_rules(binding: &SecretBinding) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &binding.metadata, true, NameRule::Subdomain, &Path::new("metadata"));
    if binding.secret_ref.name.is_empty() {
        let path = Path::new("secretRef").child("name");
        errors.push(FieldError::required(&path, "must provide a name"));
    }
    quotas(&mut errors, &binding.quotas);
    errors
}

fn quotas(errors: &mut Errors, quotas: &[ObjectReference]) {
    for (index, quota) in quotas.iter().enumerate() {
        common::named_reference(errors, quota, &Path::new("quotas").index(index));
    }
}

/// Checks a new CredentialsBinding by the rules of a release.
pub fn credentials_binding(binding: &CredentialsBinding, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &binding.metadata, true, NameRule::Subdomain, &Path::new("metadata"));
    common::credentials_reference(&mut errors, &binding.credentials_ref, release, &Path::new("credentialsRef"));
    let path = Path::new("provider").child("type");
    let provider = &binding.provider.r#type;
    if provider.is_empty() {
        errors.push(FieldError::required(&path, "must specify a provider type"));
    }
    if provider.contains(',') {
        errors.push(FieldError::invalid(&path, provider, "multiple providers specified"));
    }
    quotas(&mut errors, &binding.quotas);
    errors
}

/// Checks a changed CredentialsBinding by the rules of a release.
pub fn credentials_binding_update(binding: &CredentialsBinding, old: &CredentialsBinding, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &binding.metadata, &old.metadata, &Path::new("metadata"));
    immutable(&mut errors, &binding.credentials_ref, &old.credentials_ref, &Path::new("credentialsRef"));
    immutable(&mut errors, &binding.quotas, &old.quotas, &Path::new("quotas"));
    immutable(&mut errors, &binding.provider, &old.provider, &Path::new("provider"));
    errors.extend(credentials_binding(binding, release));
    errors
}

/// Checks a new Quota by the rules of a release.
pub fn quota(quota: &Quota, release: Release) -> Errors {
    let (mut errors, spec) = (Errors::new(), Path::new("spec"));
    object_meta(&mut errors, &quota.metadata, true, NameRule::Subdomain, &Path::new("metadata"));
    if let Some(days) = quota.spec.cluster_lifetime_days.filter(|days| *days < 1 && QUOTA_VALUES.contain(release)) {
        errors.push(FieldError::invalid(&spec.child("clusterLifetimeDays"), days, "must be greater than 0"));
    }
    let (scope, path) = (&quota.spec.scope, spec.child("scope"));
    let known = [(api_version::CORE, "Project"), ("v1", "Secret"), (api_version::SECURITY, "WorkloadIdentity")];
    if !known.contains(&(scope.api_version.as_str(), scope.kind.as_str())) {
        errors.push(if QUOTA_VALUES.contain(release) {
            let supported = known.map(|(version, kind)| common::type_text(version, kind));
            FieldError::not_supported(&path, common::type_text(&scope.api_version, &scope.kind), &supported)
        } else {
            FieldError::not_supported(&path, scope, &["project", "secret", "workloadidentity"])
        });
    }
    for (metric, value) in &quota.spec.metrics {
        let path = spec.child("metrics").key(metric);
        let supported = ["cpu", "gpu", "memory", "storage.standard", "storage.premium", "loadbalancer"];
        if !supported.contains(&metric.as_str()) {
            errors.push(FieldError::invalid(&path, value, &format!("{metric} is no supported quota metric")));
        }
        meta::quantity(&mut errors, value, &path);
    }
    errors
}

/// Checks a changed Quota by the rules of a release.
pub fn quota_update(quota_: &Quota, old: &Quota, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &quota_.metadata, &old.metadata, &Path::new("metadata"));
    immutable(&mut errors, &quota_.spec.scope, &old.spec.scope, &Path::new("spec").child("scope"));
    errors.extend(quota(quota_, release));
    errors
}

/// Checks a new ExposureClass by the rules of a release. Upstream prints the class's name as the value of an invalid handler.
pub fn exposure_class(class: &ExposureClass, release: Release) -> Errors {
    let mut errors = Errors::new();
    if EXPOSURE_CLASS_METADATA.contain(release) {
        object_meta(&mut errors, &class.metadata, false, NameRule::Label, &Path::new("metadata"));
    }
    let handler = Path::new("handler");
    meta::invalid_each(&mut errors, &handler, &class.metadata.name, meta::dns_label(&class.handler));
    if class.handler.len() > 34 {
        let text = "exposure class handler is restricted to 34 characters";
        errors.push(FieldError::invalid(&handler, &class.metadata.name, text));
    }
    if let Some(scheduling) = &class.scheduling {
        let path = Path::new("scheduling");
        if let Some(selector) = &scheduling.seed_selector {
            let path = path.child("seedSelector");
            let (labels, expressions) = (&selector.match_labels, &selector.match_expressions);
            common::seed_selector(&mut errors, labels, expressions, release, &path);
        }
        common::tolerations_in(&mut errors, &scheduling.tolerations, release, &path.child("tolerations"));
    }
    errors
}

/// Checks a changed ExposureClass; upstream prints the old value and checks no metadata.
pub fn exposure_class_update(class: &ExposureClass, old: &ExposureClass) -> Errors {
    let mut errors = Errors::new();
    immutable(&mut errors, &old.handler, &class.handler, &Path::new("handler"));
    immutable(&mut errors, &old.scheduling, &class.scheduling, &Path::new("scheduling"));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_has_34_characters_at_most() {
        let said = |length: usize| {
            let mut class = ExposureClass { handler: "h".repeat(length), ..ExposureClass::default() };
            "internet".clone_into(&mut class.metadata.name);
            exposure_class(&class, Release(125)).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(said(34), Vec::<String>::new());
        let text = "handler: Invalid value: \"internet\": exposure class handler is restricted to 34 characters";
        assert_eq!(said(35), [text]);
    }

    /// Release, name and labels of an ExposureClass; errors.
    #[test]
    fn metadata_of_exposure_classes_is_judged_since_125() {
        let dotted = "metadata.name: Invalid value: \"a.b\": must not contain dots";
        let key = "metadata.labels: Invalid value: \"/\": prefix part must be non-empty";
        for (release, name, key_of_label, expected) in [
            (124, "a.b", "/", vec![]),
            (125, "internet", "a/b", vec![]),
            (125, "a.b", "a/b", vec![dotted]),
            (149, "internet", "/", vec![key]),
        ] {
            let mut class = ExposureClass { handler: "h".to_owned(), ..ExposureClass::default() };
            name.clone_into(&mut class.metadata.name);
            class.metadata.labels.insert(key_of_label.to_owned(), String::new());
            let found: Vec<String> = exposure_class(&class, Release(release)).iter().map(ToString::to_string).collect();
            let found: Vec<&str> = found.iter().map(String::as_str).take(1).collect();
            assert_eq!(found, expected, "{release} {name} {key_of_label}");
        }
    }

    /// Release, lifetime in days and kind of the scope of a Quota; errors.
    #[test]
    fn lifetimes_of_quotas_are_checked_since_124() {
        let errors = |release: u16, lifetime: i32, kind: &str| -> Vec<String> {
            let mut given = Quota::default();
            "q".clone_into(&mut given.metadata.name);
            "garden".clone_into(&mut given.metadata.namespace);
            given.spec.cluster_lifetime_days = Some(lifetime);
            given.spec.scope =
                ObjectReference { api_version: "v1".to_owned(), kind: kind.to_owned(), ..ObjectReference::default() };
            quota(&given, Release(release)).iter().map(ToString::to_string).collect()
        };
        let days = "spec.clusterLifetimeDays: Invalid value: 0: must be greater than 0";
        let types = "spec.scope: Unsupported value: \"/v1, Kind=Pod\": supported values: \"core.gardener.cloud/v1beta1, \
                     Kind=Project\", \"/v1, Kind=Secret\", \"security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity\"";
        for (release, lifetime, kind, expected) in [
            (123, 0, "Secret", vec![]),
            (124, 1, "Secret", vec![]),
            (124, 0, "Secret", vec![days]),
            (149, 0, "Pod", vec![days, types]),
        ] {
            assert_eq!(errors(release, lifetime, kind), expected, "{release} {lifetime} {kind}");
        }
        let names = "supported values: \"project\", \"secret\", \"workloadidentity\"";
        let found = errors(123, 1, "Pod");
        assert!(found.len() == 1 && found[0].ends_with(names), "{found:?}");
    }
}
