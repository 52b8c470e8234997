// SPDX-License-Identifier: Apache-2.0
//! Validation of the encryption of resources in etcd, and of its changes.
//!
//! | since | checked |
//! | --- | --- |
//! | 1.123 | names of resources; they are compared by name and group, so that `configmaps.` equals `configmaps` |
//! | 1.141 | provider: immutable until 1.143, changed one step at a time since |
//!
//! Source: pkg/apis/core/validation/shoot.go, since v1.137 pkg/api/core/validation/shoot.go, of each release.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use super::super::common::one_of;
use super::super::meta::immutable;
use super::facts::{NAMES_ARE_GROUP_RESOURCES, group_resource, is_ready_for_rotation, rotation_phases, same_resources};
use crate::encryption;
use crate::release::{Release, Releases};
use crate::shoot_facts::is_hibernation_enabled;

/// etcd may be encrypted by aesgcm or secretbox; in earlier releases, by aescbc only.
const SEVERAL_PROVIDERS: Releases = Releases::since(141);

/// Changes of the encryption provider are checked.
const PROVIDERS_ARE_JUDGED: Releases = Releases::since(141);

/// The encryption provider may change; in earlier releases that check it, it is immutable.
const PROVIDERS_MAY_CHANGE: Releases = Releases::since(144);

/// Resources of kube-apiserver that exist only in etcd.
const INTERNAL: [&str; 3] = ["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"];

/// Checks the encrypted resources and the provider of the encryption.
pub(super) fn encryption_config(
    errors: &mut Errors,
    config: &EncryptionConfig,
    maintenance: Option<&Maintenance>,
    release: Release,
    path: &Path,
) {
    if NAMES_ARE_GROUP_RESOURCES.contain(release) {
        resources(errors, &config.resources, &path.child("resources"));
    } else {
        plain_resources(errors, &config.resources, &path.child("resources"));
    }
    provider(errors, config, maintenance, release, path);
}

/// Checks names of resources, each with its group.
fn resources(errors: &mut Errors, resources: &[String], path: &Path) {
    let mut seen = BTreeSet::new();
    for (index, resource) in resources.iter().enumerate() {
        let path = path.index(index);
        let (name, group) = group_resource(resource);
        let checks = [
            (resource.to_lowercase() != *resource, "resource must be lower case"),
            (INTERNAL.contains(&resource.as_str()), "resources which do not have REST API/s cannot be encrypted"),
            (resource.ends_with('.'), "resource should not end with '.'"),
            (resource.contains('*'), "wildcards are not supported"),
            (
                group == "events.k8s.io",
                "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead",
            ),
            (group == "extensions", "'extensions' group has been removed and cannot be used for encryption"),
        ];
        for (_, text) in checks.into_iter().filter(|(is_wrong, _)| *is_wrong) {
            errors.push(FieldError::invalid(&path, resource, text));
        }
        if !seen.insert((name, group)) {
            errors.push(FieldError::duplicate(&path, resource));
        }
        if (name, group) == ("secrets", "") {
            errors.push(FieldError::forbidden(&path, &format!("{resource:?} are always encrypted")));
        }
    }
}

/// Checks names of resources in releases that accept any name.
fn plain_resources(errors: &mut Errors, resources: &[String], path: &Path) {
    let mut seen = BTreeSet::new();
    for (index, resource) in resources.iter().enumerate() {
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
fn provider(
    errors: &mut Errors,
    config: &EncryptionConfig,
    maintenance: Option<&Maintenance>,
    release: Release,
    path: &Path,
) {
    let Some(provider) = &config.provider.r#type else { return };
    let path = path.child("provider").child("type");
    let all = ["aescbc", "aesgcm", "secretbox"];
    let known = if SEVERAL_PROVIDERS.contain(release) { &all[..] } else { &all[..1] };
    one_of(errors, provider, known, &path);
    let rotation = maintenance.and_then(|maintenance| maintenance.auto_rotation.as_ref());
    let credentials = rotation.and_then(|rotation| rotation.credentials.as_ref());
    let period = credentials.and_then(|credentials| credentials.etcd_encryption_key.as_ref()?.rotation_period);
    let is_rotated = period.is_some_and(|period| period.nanoseconds != 0);
    if provider == "aesgcm" && SEVERAL_PROVIDERS.contain(release) && !is_rotated {
        let text = "etcdEncryptionKey auto rotation must be enabled when encryption at rest provider is AES-GCM";
        errors.push(FieldError::forbidden(&path, text));
    }
}

/// Checks that the encryption changes one step at a time, and not in hibernation.
pub(super) fn update(errors: &mut Errors, new: &Shoot, old: &Shoot, release: Release) {
    let before = encryption::wanted_resources(&old.spec);
    let resources_change = !same_resources(&encryption::wanted_resources(&new.spec), &before, release);
    let (provider, provider_before) = (encryption::wanted_provider(&new.spec), encryption::wanted_provider(&old.spec));
    let judges_provider = PROVIDERS_ARE_JUDGED.contain(release);
    let phase = rotation_phases(&new.status).etcd_encryption_key;
    let is_rotated = !phase.is_empty() && phase != "Completed";
    let is_rolled_out = same_resources(&before, &encryption::encrypted_resources(&new.status), release)
        && (!judges_provider || provider_before == encryption::provider_in_use(&new.status));
    let sleeps = is_hibernation_enabled(&new.spec);
    let one_step = |errors: &mut Errors, what: &str, path: &Path| {
        let mut forbid =
            |text: &str| errors.push(FieldError::forbidden(path, &format!("{what} cannot be changed {text}")));
        if is_rotated {
            forbid("when .status.credentials.rotation.etcdEncryptionKey.phase is not \"Completed\"");
        }
        if !is_rolled_out {
            forbid("because a previous encryption configuration change is currently being rolled out");
        }
        if sleeps {
            forbid("when shoot is in hibernation");
        }
    };
    let path = Path::new("spec").child("kubernetes").child("kubeAPIServer").child("encryptionConfig");
    if resources_change {
        one_step(errors, "resources", &path.child("resources"));
    }
    let path = path.child("provider").child("type");
    if !judges_provider || provider == provider_before {
        return;
    }
    if !PROVIDERS_MAY_CHANGE.contain(release) {
        immutable(errors, &provider, &provider_before, &path);
        return;
    }
    if !is_ready_for_rotation(new.status.last_operation.as_ref()) {
        let text = "provider type cannot be changed if resource was not yet created successfully or is not ready for \
                    reconciliation";
        errors.push(FieldError::forbidden(&path, text));
    }
    one_step(errors, "provider type", &path);
    if resources_change {
        let text = "provider type and resources cannot be changed simultaneously";
        errors.push(FieldError::forbidden(&path, text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(errors: &Errors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    /// Release, resources, errors without the path, each behind the index of its resource.
    const NAMES: &[(u16, &[&str], &[&str])] = &[
        (122, &["ConfigMaps", "a.extensions", "events.events.k8s.io", "apiserveripinfo", "a*"], &[]),
        (
            122,
            &["*.apps", "secrets.", "a", "a."],
            &[
                "[0]: Invalid value: \"*.apps\": wildcards are not supported",
                "[1]: Forbidden: \"secrets.\" are always encrypted",
                "[3]: Duplicate value: \"a.\"",
            ],
        ),
        (123, &["configmaps", "deployments.apps", "a.b.c", "b"], &[]),
        (
            123,
            &["ConfigMaps", "serviceipallocations", "configmaps.", "a*"],
            &[
                "[0]: Invalid value: \"ConfigMaps\": resource must be lower case",
                "[1]: Invalid value: \"serviceipallocations\": resources which do not have REST API/s cannot be encrypted",
                "[2]: Invalid value: \"configmaps.\": resource should not end with '.'",
                "[3]: Invalid value: \"a*\": wildcards are not supported",
            ],
        ),
        (
            123,
            &["events.events.k8s.io", "ingresses.extensions"],
            &[
                "[0]: Invalid value: \"events.events.k8s.io\": '*.events.k8s.io' objects are stored using the 'events' API group \
                 in etcd. Use 'events' instead",
                "[1]: Invalid value: \"ingresses.extensions\": 'extensions' group has been removed and cannot be used for \
                 encryption",
            ],
        ),
        (
            149,
            &["*.", "secrets.", "secrets", "a.b", "a.b"],
            &[
                "[0]: Invalid value: \"*.\": resource should not end with '.'",
                "[0]: Invalid value: \"*.\": wildcards are not supported",
                "[1]: Invalid value: \"secrets.\": resource should not end with '.'",
                "[1]: Forbidden: \"secrets.\" are always encrypted",
                "[2]: Duplicate value: \"secrets\"",
                "[2]: Forbidden: \"secrets\" are always encrypted",
                "[4]: Duplicate value: \"a.b\"",
            ],
        ),
    ];

    #[test]
    fn names_of_encrypted_resources_are_judged_since_123() {
        for (release, resources, expected) in NAMES {
            let config = serde_json::from_value(json!({ "resources": resources })).expect("a configuration");
            let mut errors = Errors::new();
            encryption_config(&mut errors, &config, None, Release(*release), &Path::new("e"));
            let expected: Vec<String> = expected.iter().map(|error| format!("e.resources{error}")).collect();
            assert_eq!(shown(&errors), expected, "1.{release} {resources:?}");
        }
    }

    /// Release, resources before, in the status, and after; true if the change is refused.
    #[test]
    fn a_dot_at_the_end_is_no_change_since_123() {
        for (release, old, status, new, is_refused) in [
            (122, "configmaps", "configmaps", "configmaps.", false),
            (122, "configmaps", "configmaps.", "pods", true),
            (123, "configmaps.", "configmaps", "pods", false),
            (123, "configmaps", "pods", "configmaps.", false),
            (123, "configmaps", "pods", "a.configmaps", true),
        ] {
            let shoot = |resource: &str| -> Shoot {
                let config = json!({ "resources": [resource], "provider": { "type": "aescbc" } });
                serde_json::from_value(json!({
                    "spec": { "kubernetes": { "kubeAPIServer": { "encryptionConfig": config } } },
                    "status": { "encryptedResources": [status] },
                }))
                .expect("a Shoot")
            };
            let mut errors = Errors::new();
            update(&mut errors, &shoot(new), &shoot(old), Release(release));
            let text = "spec.kubernetes.kubeAPIServer.encryptionConfig.resources: Forbidden: resources cannot be changed because \
                        a previous encryption configuration change is currently being rolled out";
            let expected = if is_refused { vec![text] } else { vec![] };
            assert_eq!(shown(&errors), expected, "1.{release} {old} {status} {new}");
        }
    }

    /// Release, last operation, phase of the rotation, hibernation, resources, and errors of a change to secretbox.
    #[test]
    fn the_provider_changes_in_steps_since_143() {
        let change = |text: &str| format!("Forbidden: provider type cannot be changed {text}");
        let not_ready = change("if resource was not yet created successfully or is not ready for reconciliation");
        let rotated = change("when .status.credentials.rotation.etcdEncryptionKey.phase is not \"Completed\"");
        let sleeps = change("when shoot is in hibernation");
        let immutable = "Invalid value: \"secretbox\": field is immutable".to_owned();
        let both = "Forbidden: provider type and resources cannot be changed simultaneously".to_owned();
        for (release, state, phase, sleep, resources, expected) in [
            (140, "Failed", "Preparing", true, json!([]), vec![]),
            (141, "Succeeded", "", false, json!([]), vec![immutable.clone()]),
            (143, "Succeeded", "", false, json!([]), vec![immutable]),
            (144, "Succeeded", "Completed", false, json!([]), vec![]),
            (144, "Failed", "Preparing", true, json!([]), vec![not_ready, rotated, sleeps]),
            (149, "Succeeded", "", false, json!(["a"]), vec![both]),
        ] {
            let shoot = |provider: &str, resources: &serde_json::Value| -> Shoot {
                let config = json!({ "provider": { "type": provider }, "resources": resources });
                serde_json::from_value(json!({
                    "spec": {
                        "hibernation": { "enabled": sleep },
                        "kubernetes": { "kubeAPIServer": { "encryptionConfig": config } },
                    },
                    "status": {
                        "lastOperation": { "type": "Create", "state": state },
                        "credentials": {
                            "rotation": { "etcdEncryptionKey": { "phase": phase } },
                            "encryptionAtRest": { "provider": { "type": "aescbc" } },
                        },
                    },
                }))
                .expect("a Shoot")
            };
            let mut errors = Errors::new();
            update(&mut errors, &shoot("secretbox", &resources), &shoot("aescbc", &json!([])), Release(release));
            let path = "spec.kubernetes.kubeAPIServer.encryptionConfig.provider.type";
            let expected: Vec<String> = expected.iter().map(|error| format!("{path}: {error}")).collect();
            assert_eq!(shown(&errors), expected, "1.{release} {state} {phase}");
        }
    }
}
