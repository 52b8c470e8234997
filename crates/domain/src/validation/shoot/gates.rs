// SPDX-License-Identifier: Apache-2.0
//! Properties of a gardener-apiserver on which validation depends: feature gates and release.

use api::core::{ShootSpec, Worker};
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use crate::annotations;
use crate::release::{DOCUMENTED, Release};
use crate::rotation;
use crate::shoot_facts::is_in_place;
use crate::skew::GardenerVersion;
use crate::skew::releases::gate_is_on;

/// Release and feature gates of a gardener-apiserver, on which validation depends. Default: release 1.120 with every gate off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// State of feature gate `InPlaceNodeUpdates`.
    pub in_place_node_updates: bool,
    /// State of feature gate `CredentialsRotationWithoutWorkersRollout`.
    pub credentials_rotation_without_workers_rollout: bool,
    /// State of feature gate `VersionClassificationLifecycle`.
    pub version_classification_lifecycle: bool,
    /// State of feature gate `DisableNginxIngressInShoot`.
    pub disable_nginx_ingress_in_shoot: bool,
    /// State of feature gate `CloudProfileCapabilities`.
    pub cloud_profile_capabilities: bool,
    /// State of feature gate `LiveControlPlaneMigration`.
    pub live_control_plane_migration: bool,
    /// Release of the gardener-apiserver.
    pub release: Release,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            in_place_node_updates: false,
            credentials_rotation_without_workers_rollout: false,
            version_classification_lifecycle: false,
            disable_nginx_ingress_in_shoot: false,
            cloud_profile_capabilities: false,
            live_control_plane_migration: false,
            release: DOCUMENTED,
        }
    }
}

impl Gates {
    /// Returns the default gates of a release.
    pub fn of_release(version: &GardenerVersion) -> Self {
        Self {
            in_place_node_updates: gate_is_on(version, "InPlaceNodeUpdates", None),
            credentials_rotation_without_workers_rollout: gate_is_on(
                version,
                "CredentialsRotationWithoutWorkersRollout",
                None,
            ),
            version_classification_lifecycle: gate_is_on(version, "VersionClassificationLifecycle", None),
            disable_nginx_ingress_in_shoot: gate_is_on(version, "DisableNginxIngressInShoot", None),
            cloud_profile_capabilities: gate_is_on(version, "CloudProfileCapabilities", None),
            live_control_plane_migration: gate_is_on(version, "LiveControlPlaneMigration", None),
            release: version.served_release(),
        }
    }

    /// True if `rotate-etcd-encryption-key` is an operation.
    pub const fn etcd_encryption_key_rotates_as_a_whole(self) -> bool {
        rotation::KEY_ROTATES_AS_A_WHOLE.contain(self.release)
    }

    /// True if an annotation may name several operations.
    pub const fn several_operations(self) -> bool {
        annotations::SEVERAL_OPERATIONS.contain(self.release)
    }
}

pub(super) fn in_place_gate(errors: &mut Errors, worker: &Worker, gates: Gates, path: &Path) {
    if is_in_place(worker) && !gates.in_place_node_updates {
        let text = "can not configure `AutoInPlaceUpdate` or `ManualInPlaceUpdate` update strategies when the \
                    `InPlaceNodeUpdates` feature gate is disabled.";
        errors.push(FieldError::invalid(&path.child("updateStrategy"), &worker.update_strategy, text));
    }
}

/// Refuses the nginx ingress addon, unless the stored Shoot has it.
pub(super) fn nginx_ingress_gate(errors: &mut Errors, new: &ShootSpec, old: Option<&ShootSpec>, gates: Gates) {
    let is_enabled = |spec: &ShootSpec| {
        let addon = spec.addons.as_ref().and_then(|addons| addons.nginx_ingress.as_ref());
        addon.is_some_and(|addon| addon.enabled)
    };
    if gates.disable_nginx_ingress_in_shoot && is_enabled(new) && !old.is_some_and(is_enabled) {
        let path = Path::new("spec").child("addons").child("nginxIngress").child("enabled");
        errors.push(FieldError::forbidden(&path, "nginx ingress addon disallowed by landscape operator"));
    }
}
