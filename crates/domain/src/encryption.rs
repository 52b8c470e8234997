// SPDX-License-Identifier: Apache-2.0
//! Encryption of resources in the etcd of a Shoot: as the specification requests it, and as the status reports it.
//!
//! | status | releases |
//! | --- | --- |
//! | `encryptedResources` | 1.86 to 1.138 |
//! | `credentials.encryptionAtRest.resources` | since 1.133 |
//! | `credentials.encryptionAtRest.provider.type` | since 1.136 |
//!
//! Source: pkg/gardenlet/controller/shoot/shoot/reconciler_reconcile.go, pkg/gardenlet/operation/shoot/shoot.go, v1.120.0 to
//! v1.149.0.

use api::core::{Shoot, ShootSpec, ShootStatus};
use serde_json::{Value, json};

use crate::release::{Release, Releases};

/// Releases whose gardenlet writes `status.encryptedResources`.
const LIST: Releases = Releases::until(139);

/// Releases whose gardenlet writes `status.credentials.encryptionAtRest`.
pub const AT_REST: Releases = Releases::since(133);

/// Releases in which the status names the provider that encrypts, and gardenlet encrypts again when it changes.
const PROVIDER: Releases = Releases::since(136);

/// Resources to encrypt in addition to Secrets, sorted and without duplicates.
pub fn wanted_resources(spec: &ShootSpec) -> Vec<&str> {
    let config = spec.kubernetes.kube_api_server.as_ref().and_then(|server| server.encryption_config.as_ref());
    let mut resources: Vec<&str> =
        config.map(|config| config.resources.iter().map(String::as_str).collect()).unwrap_or_default();
    resources.sort_unstable();
    resources.dedup();
    resources
}

/// Encrypted resources, sorted and without duplicates; those of the newer field if a Shoot has both.
pub fn encrypted_resources(status: &ShootStatus) -> Vec<&str> {
    let at_rest = status.credentials.as_ref().and_then(|credentials| credentials.encryption_at_rest.as_ref());
    let listed = at_rest.map_or(&status.encrypted_resources, |at_rest| &at_rest.resources);
    let mut resources: Vec<&str> = listed.iter().map(String::as_str).collect();
    resources.sort_unstable();
    resources.dedup();
    resources
}

/// Provider that encrypts, by the specification.
pub fn wanted_provider(spec: &ShootSpec) -> &str {
    let server = spec.kubernetes.kube_api_server.as_ref();
    let provider = server.and_then(|server| server.encryption_config.as_ref()?.provider.r#type.as_deref());
    provider.unwrap_or("aescbc")
}

/// Provider that encrypts, by the status; empty if it names none.
pub fn provider_in_use(status: &ShootStatus) -> &str {
    let at_rest = status.credentials.as_ref().and_then(|credentials| credentials.encryption_at_rest.as_ref());
    at_rest.map_or("", |at_rest| &at_rest.provider.r#type)
}

/// True if a reconciliation by a gardenlet of a release changes the encryption of resources.
pub fn changes(shoot: &Shoot, release: Release) -> bool {
    let provider_changes = PROVIDER.contain(release) && wanted_provider(&shoot.spec) != provider_in_use(&shoot.status);
    provider_changes || wanted_resources(&shoot.spec) != encrypted_resources(&shoot.status)
}

/// Merge patch of the status after resources were encrypted by a gardenlet of a release; `None` if nothing changes.
pub fn status_patch(shoot: &Shoot, release: Release) -> Option<Value> {
    if !changes(shoot, release) {
        return None;
    }
    let resources = wanted_resources(&shoot.spec);
    let mut patch = json!({});
    if LIST.contain(release) {
        patch["encryptedResources"] = json!(resources);
    }
    let has_at_rest = shoot.status.credentials.as_ref().is_some_and(|one| one.encryption_at_rest.is_some());
    let has_provider = PROVIDER.contain(release);
    if AT_REST.contain(release) && (has_provider || has_at_rest || !resources.is_empty()) {
        let at_rest = &mut patch["credentials"]["encryptionAtRest"];
        *at_rest = json!({ "resources": if resources.is_empty() { Value::Null } else { json!(resources) } });
        if has_provider {
            at_rest["provider"] = json!({ "type": wanted_provider(&shoot.spec) });
        }
    }
    Some(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shoot(config: &Value, status: &Value) -> Shoot {
        let spec = json!({ "kubernetes": { "kubeAPIServer": { "encryptionConfig": config } } });
        serde_json::from_value(json!({ "spec": spec, "status": status })).expect("a Shoot")
    }

    /// Release, `encryptionConfig`, status, patch of the status (`-`: none).
    const STATUS: &[(u16, &str, &str, &str)] = &[
        (120, "{}", "{}", "-"),
        (120, r#"{"resources": ["b", "a"]}"#, "{}", r#"{"encryptedResources": ["a", "b"]}"#),
        (120, r#"{"resources": ["b", "a"]}"#, r#"{"encryptedResources": ["a", "b"]}"#, "-"),
        (
            133,
            r#"{"resources": ["a"]}"#,
            "{}",
            r#"{"encryptedResources": ["a"], "credentials": {"encryptionAtRest": {"resources": ["a"]}}}"#,
        ),
        (133, r#"{"resources": ["a"]}"#, r#"{"encryptedResources": ["a"]}"#, "-"),
        (133, "{}", r#"{"encryptedResources": ["a"]}"#, r#"{"encryptedResources": []}"#),
        (
            135,
            "{}",
            r#"{"encryptedResources": ["a"], "credentials": {"encryptionAtRest": {"resources": ["a"]}}}"#,
            r#"{"encryptedResources": [], "credentials": {"encryptionAtRest": {"resources": null}}}"#,
        ),
        (
            136,
            r#"{"provider": {"type": "aescbc"}}"#,
            "{}",
            r#"{"encryptedResources": [], "credentials": {"encryptionAtRest": {"resources": null, "provider": {"type": "aescbc"}}}}"#,
        ),
        (
            139,
            r#"{"resources": ["a"], "provider": {"type": "aescbc"}}"#,
            "{}",
            r#"{"credentials": {"encryptionAtRest": {"resources": ["a"], "provider": {"type": "aescbc"}}}}"#,
        ),
        (
            149,
            r#"{"resources": ["a"], "provider": {"type": "secretbox"}}"#,
            r#"{"credentials": {"encryptionAtRest": {"resources": ["a"], "provider": {"type": "secretbox"}}}}"#,
            "-",
        ),
        (
            149,
            r#"{"resources": ["a"], "provider": {"type": "secretbox"}}"#,
            r#"{"credentials": {"encryptionAtRest": {"resources": ["a"], "provider": {"type": "aescbc"}}}}"#,
            r#"{"credentials": {"encryptionAtRest": {"resources": ["a"], "provider": {"type": "secretbox"}}}}"#,
        ),
    ];

    #[test]
    fn the_status_of_encryption_is_that_of_the_release() {
        let tree = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        for (minor, config, status, expected) in STATUS {
            let patch = status_patch(&shoot(&tree(config), &tree(status)), Release(*minor));
            let expected = (*expected != "-").then(|| tree(expected));
            assert_eq!(patch, expected, "1.{minor} {config} {status}");
        }
    }
}
