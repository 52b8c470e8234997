// SPDX-License-Identifier: Apache-2.0
//! What validation asks of a gardener-apiserver: feature gates, and what its release knows.

use api::constants::update_strategy;
use api::core::Worker;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use crate::skew::GardenerVersion;
use crate::skew::releases::gate_is_on;

/// What validation asks of a gardener-apiserver: its feature gates, and which operations its release knows. By default as
/// in releases before 1.121.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `InPlaceNodeUpdates`
    pub in_place_node_updates: bool,
    /// `CredentialsRotationWithoutWorkersRollout`
    pub credentials_rotation_without_workers_rollout: bool,
    /// `rotate-etcd-encryption-key` is an operation; the two halves of it are none for Kubernetes 1.34 and later. Since
    /// 1.128.
    pub etcd_encryption_key_rotates_as_a_whole: bool,
    /// An annotation may ask for several operations. Since 1.133.
    pub several_operations: bool,
    /// The release whose operations there are.
    pub release: Release,
}

/// Minor of a release; by default that of 1.120.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release(pub u16);

impl Default for Release {
    fn default() -> Self {
        Self(120)
    }
}

impl Gates {
    /// As they are in a release where nothing is set.
    pub fn of_release(version: &GardenerVersion) -> Self {
        Self {
            in_place_node_updates: gate_is_on(version, "InPlaceNodeUpdates", None),
            credentials_rotation_without_workers_rollout: gate_is_on(
                version,
                "CredentialsRotationWithoutWorkersRollout",
                None,
            ),
            etcd_encryption_key_rotates_as_a_whole: version.minor() >= (1, 128),
            several_operations: version.minor() >= (1, 133),
            release: Release(version.served_release()),
        }
    }
}

pub(super) fn in_place_gate(errors: &mut Errors, worker: &Worker, gates: Gates, path: &Path) {
    if is_in_place(worker) && !gates.in_place_node_updates {
        let text = "can not configure `AutoInPlaceUpdate` or `ManualInPlaceUpdate` update strategies when the \
                    `InPlaceNodeUpdates` feature gate is disabled.";
        errors.push(FieldError::invalid(&path.child("updateStrategy"), &worker.update_strategy, text));
    }
}

/// Whether a worker pool is updated in place.
pub fn is_in_place(worker: &Worker) -> bool {
    matches!(worker.update_strategy.as_deref(), Some(update_strategy::AUTO_IN_PLACE | update_strategy::MANUAL_IN_PLACE))
}
