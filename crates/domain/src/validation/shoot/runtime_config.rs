// SPDX-License-Identifier: Apache-2.0
//! `spec.kubernetes.kubeAPIServer.runtimeConfig`: versions of API groups and resources that are enabled or disabled.
//!
//! Source: pkg/utils/validation/apigroups/apigroups.go @ v1.120.0 to v1.149.0.

use std::collections::BTreeMap;

use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use crate::features::{ApiVersion, api_resources, api_version};
use crate::release::Release;
use crate::versions::Version;

/// Checks that the release knows each API, that the Kubernetes version has it, and that no required one is disabled.
pub(super) fn runtime_config(
    errors: &mut Errors,
    apis: &BTreeMap<String, bool>,
    version: &str,
    release: Release,
    workerless: bool,
    path: &Path,
) {
    for (api, enabled) in apis {
        let path = path.key(api);
        let (known, parsed) = match known(api, release).map(|known| (known, Version::parse(version))) {
            Err(text) => {
                errors.push(FieldError::invalid(&path, api, &text));
                continue;
            }
            Ok((_, Err(error))) => {
                errors.push(FieldError::invalid(&path, api, &error.to_string()));
                continue;
            }
            Ok((known, Ok(parsed))) => (known, parsed),
        };
        if !known.is_supported(&parsed) {
            let text = format!(
                "api {api:?} is not supported in Kubernetes version {version}, only supported in {}",
                known.supported_versions()
            );
            errors.push(FieldError::forbidden(&path, &text));
        } else if !enabled {
            required(errors, api, known, release, workerless, &path);
        }
    }
}

/// Returns the row of an API.
///
/// # Errors
/// Upstream's message: the release does not know the API, or it is neither a version nor a resource of one.
fn known(api: &str, release: Release) -> Result<ApiVersion, String> {
    let parts: Vec<&str> = api.split('/').collect();
    match parts.len() {
        1..=3 => api_version(api, release).ok_or_else(|| {
            let resource = if is_resource(api) { " resource" } else { "" };
            format!("unknown API group version{resource} {api:?}")
        }),
        _ => Err(format!("invalid API Group format {api:?}")),
    }
}

/// True for `batch/v1/jobs` and `v1/pods`.
fn is_resource(api: &str) -> bool {
    api.starts_with("v1/") || api.split('/').count() == 3
}

/// Refuses to disable a required API: a resource, its version, or a version that has a required resource.
fn required(errors: &mut Errors, api: &str, known: ApiVersion, release: Release, workerless: bool, path: &Path) {
    let mut refuse = |name: &str| {
        let of = if workerless { " for workerless clusters" } else { "" };
        errors.push(FieldError::forbidden(path, &format!("api {name:?} cannot be disabled{of}")));
    };
    if known.is_required(workerless) {
        refuse(api);
    } else if is_resource(api) {
        let version = api.rsplit_once('/').map(|(version, _)| version).unwrap_or_default();
        if api_version(version, release).is_some_and(|version| version.is_required(workerless)) {
            refuse(version);
        }
    } else {
        api_resources(api, release)
            .filter(|(_, resource)| resource.is_required(workerless))
            .for_each(|(name, _)| refuse(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minor of Gardener, Kubernetes version, `-` for a Shoot without workers, API and value, errors.
    const TABLE: &str = r#"
120 1.31.1   batch/v1=true =>
120 1.31.1   batch/v1=false =>
120 1.31.1   apps/v1=false => api "apps/v1" cannot be disabled
120 1.31.1 - apps/v1=false =>
120 1.31.1 - v1=false => api "v1" cannot be disabled for workerless clusters
120 1.31.1   v1/pods=false => api "v1" cannot be disabled
120 1.31.1   autoscaling/v2=false => api "autoscaling/v2/horizontalpodautoscalers" cannot be disabled
120 1.31.1   apps/v1/deployments=false => api "apps/v1" cannot be disabled
120 1.31.1   coordination.k8s.io/v1alpha2=true => api "coordination.k8s.io/v1alpha2" is not supported in Kubernetes version 1.31.1, only supported in versions >= 1.32
120 1.31.1   coordination.k8s.io/v1alpha1=true =>
120 1.32.0   coordination.k8s.io/v1alpha1=true => api "coordination.k8s.io/v1alpha1" is not supported in Kubernetes version 1.32.0, only supported in versions >= 1.31, < 1.32
120 1.31.1   resource.k8s.io/v1alpha2=true => api "resource.k8s.io/v1alpha2" is not supported in Kubernetes version 1.31.1, only supported in versions < 1.31
120 1.31.1   foo/v1=true => unknown API group version "foo/v1"
120 1.31.1   foo/v1/bars=true => unknown API group version resource "foo/v1/bars"
120 1.31.1   v1/bars=true => unknown API group version resource "v1/bars"
120 1.31.1   a/b/c/d=true => invalid API Group format "a/b/c/d"
120 1.32.0   resource.k8s.io/v1beta2=true => unknown API group version "resource.k8s.io/v1beta2"
149 1.32.0   resource.k8s.io/v1beta2=true => api "resource.k8s.io/v1beta2" is not supported in Kubernetes version 1.32.0, only supported in versions >= 1.33
149 1.36.0   resource.k8s.io/v1=true =>
149 1.36.0   scheduling.k8s.io/v1alpha2=true =>
149 1.36.0   autoscaling/v2beta2=true => api "autoscaling/v2beta2" is not supported in Kubernetes version 1.36.0, only supported in versions < 1.36
"#;

    #[test]
    fn apis_are_known_supported_and_kept() {
        for row in TABLE.lines().filter(|row| !row.is_empty()) {
            let (input, expected) = row.split_once(" =>").expect("an arrow");
            let mut words = input.split_whitespace();
            let release = Release(words.next().expect("a release").parse().expect("a minor"));
            let version = words.next().expect("a version");
            let workerless = input.contains(" - ");
            let (api, enabled) = words.next_back().and_then(|word| word.split_once('=')).expect("API=BOOL");
            let (mut errors, path) = (Errors::default(), Path::new("runtimeConfig"));
            let apis = BTreeMap::from([(api.to_owned(), enabled == "true")]);
            runtime_config(&mut errors, &apis, version, release, workerless, &path);
            let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let fits = match expected.trim() {
                "" => found.is_empty(),
                text => found.len() == 1 && found[0].ends_with(text),
            };
            assert!(fits, "{row}: {found:?}");
        }
    }
}
