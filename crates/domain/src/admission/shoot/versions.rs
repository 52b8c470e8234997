// SPDX-License-Identifier: Apache-2.0
//! Checks of a Shoot's Kubernetes versions against its CloudProfile.

use api::constants::classification;
use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::Operation;
use super::{Context, Errors};
use crate::release::Releases;
use crate::versions::{Moment, Version, default_kubernetes};

/// Admission checks OpenID Connect of new Shoots; in later releases static validation does, of all Shoots.
const JUDGES_OIDC: Releases = Releases::until(133);

/// Completes the version of the control plane, or checks a complete one.
pub(super) fn control_plane(errors: &mut Errors, shoot: &mut Shoot, context: &Context<'_>) {
    let versions = &context.cloud_profile.kubernetes.versions;
    let path = Path::new("spec").child("kubernetes").child("version");
    let written = shoot.spec.kubernetes.version.clone();
    match default_kubernetes_version(versions, &written, context.at, &path) {
        Ok(Some(version)) => shoot.spec.kubernetes.version = version,
        checked => {
            errors.extend(checked.err());
            let old = context.old.map_or("", |old| &old.spec.kubernetes.version);
            let only_new = context.operation == Operation::Create;
            errors.extend(check_kubernetes_version(versions, &written, old, only_new, context.at, &path));
        }
    }
    oidc(errors, shoot, context);
}

/// Completes the versions of the control plane and of pools.
pub(super) fn default_versions(errors: &mut Errors, shoot: &mut Shoot, context: &Context<'_>) {
    let versions = &context.cloud_profile.kubernetes.versions;
    let mut complete =
        |version: &mut String, path: Path| match default_kubernetes_version(versions, version, context.at, &path) {
            Ok(Some(found)) => *version = found,
            Ok(None) => {}
            Err(error) => errors.push(error),
        };
    let spec = Path::new("spec");
    complete(&mut shoot.spec.kubernetes.version, spec.child("kubernetes").child("version"));
    for (index, worker) in shoot.spec.provider.workers.iter_mut().enumerate() {
        let path = spec.child("provider").child("workers").index(index).child("kubernetes").child("version");
        if let Some(version) = worker.kubernetes.as_mut().and_then(|kubernetes| kubernetes.version.as_mut()) {
            complete(version, path);
        }
    }
}

/// Completes the version of a pool, or checks a complete one.
pub(super) fn pool(errors: &mut Errors, worker: &mut Worker, old: Option<&Worker>, context: &Context<'_>, path: &Path) {
    let versions = &context.cloud_profile.kubernetes.versions;
    let path = path.child("kubernetes").child("version");
    let Some(written) = worker.kubernetes.as_mut().and_then(|kubernetes| kubernetes.version.as_mut()) else { return };
    match default_kubernetes_version(versions, written, context.at, &path) {
        Err(error) => errors.push(error),
        Ok(Some(version)) => *written = version,
        Ok(None) => {
            let own = old.and_then(|old| old.kubernetes.as_ref()?.version.as_deref());
            let before =
                own.or_else(|| context.old.map(|old| old.spec.kubernetes.version.as_str())).unwrap_or_default();
            let only_new = context.operation == Operation::Create || old.is_none();
            errors.extend(check_kubernetes_version(versions, written, before, only_new, context.at, &path));
        }
    }
}

/// Returns the completion of an incomplete version; `None` for one of three parts, which is used as it is.
///
/// # Errors
/// A part is not a number, or no version matches.
pub fn default_kubernetes_version(
    versions: &[ExpirableVersion],
    written: &str,
    at: Moment,
    path: &Path,
) -> Result<Option<String>, FieldError> {
    let parts: Vec<&str> = written.split('.').collect();
    if parts.len() == 3 {
        return Ok(None);
    }
    let number = |part: &str| -> Result<Option<u64>, FieldError> {
        if part.is_empty() {
            return Ok(None);
        }
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        let parsed = if is_number { part.parse().ok() } else { None };
        parsed.map(Some).ok_or_else(|| FieldError::invalid(path, part, "must be a semantic version"))
    };
    let minor = if parts.len() == 2 { number(parts[1])? } else { None };
    let major = number(parts[0])?;
    let found = default_kubernetes(versions, major, minor, at);
    let version = found.and_then(|found| Version::parse(&found.version).ok()).map(|version| version.to_string());
    version.map(Some).ok_or_else(|| {
        let text = format!(
            "couldn't find a suitable version for {written}. Suitable versions have a non-expired expiration date and \
             are no 'preview' versions. 'Preview'-classified versions have to be selected explicitly"
        );
        FieldError::invalid(path, written, &text)
    })
}

/// Checks that a changed version is listed, and for a new Shoot or pool that it is not expired.
pub fn check_kubernetes_version(
    versions: &[ExpirableVersion],
    version: &str,
    old: &str,
    only_unexpired: bool,
    at: Moment,
    path: &Path,
) -> Option<FieldError> {
    if version == old {
        return None;
    }
    let usable = || versions.iter().filter(|one| !only_unexpired || at.is_active(*one));
    if usable().any(|one| one.version == version) {
        return None;
    }
    let shown: Vec<String> = usable()
        .map(|one| {
            let preview = one.classification.as_deref() == Some(classification::PREVIEW);
            format!("{}{}", one.version, if preview { " (preview)" } else { "" })
        })
        .collect();
    Some(FieldError::not_supported(path, version, &shown))
}

/// Checks that a new Shoot with OIDC sets all required fields.
fn oidc(errors: &mut Errors, shoot: &Shoot, context: &Context<'_>) {
    let server = shoot.spec.kubernetes.kube_api_server.as_ref();
    let Some(config) = server.and_then(|server| server.oidc_config.as_ref()) else { return };
    if context.operation != Operation::Create || !JUDGES_OIDC.contain(context.at.release) {
        return;
    }
    let path = Path::new("spec").child("kubernetes").child("kubeAPIServer").child("oidcConfig");
    for (field, value) in [("clientID", &config.client_id), ("issuerURL", &config.issuer_url)] {
        let text = match value.as_deref() {
            None => format!("{field} must be set when oidcConfig is provided"),
            Some("") => format!("{field} cannot be empty"),
            Some(_) => continue,
        };
        errors.push(FieldError::required(&path.child(field), &text));
    }
}
