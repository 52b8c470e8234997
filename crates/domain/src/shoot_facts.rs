// SPDX-License-Identifier: Apache-2.0
//! Properties that follow from the spec of a Shoot alone, for rules of several areas.

use api::constants::update_strategy;
use api::core::{ShootSpec, Worker};

use crate::release::{Release, Releases};
use crate::versions::Version;

/// True if changes of the spec wait for the maintenance time window.
pub fn is_confined(spec: &ShootSpec) -> bool {
    spec.maintenance.as_ref().and_then(|maintenance| maintenance.confine_spec_update_rollout) == Some(true)
}

/// True if the spec enables hibernation.
pub fn is_hibernation_enabled(spec: &ShootSpec) -> bool {
    spec.hibernation.as_ref().and_then(|hibernation| hibernation.enabled) == Some(true)
}

/// True if the Shoot's nodes have SSH access: it has workers, and access is not disabled.
pub fn has_ssh_access(spec: &ShootSpec) -> bool {
    let switch = spec.provider.workers_settings.as_ref().and_then(|settings| settings.ssh_access.as_ref());
    !spec.provider.workers.is_empty() && switch.is_none_or(|ssh_access| ssh_access.enabled)
}

/// Releases in which DNS providers of Shoots with Kubernetes 1.35 and later no longer name their Secret.
///
/// Source: pkg/apiserver/registry/core/shoot/strategy.go, v1.138.0 and v1.139.0.
const DNS_SECRET_NAMES_END: Releases = Releases::since(139);

/// True if DNS providers of a Kubernetes version name their Secret in addition to the reference.
pub fn has_dns_secret_names(version: &str, release: Release) -> bool {
    if !DNS_SECRET_NAMES_END.contain(release) {
        return true;
    }
    let version = Version::parse(version).map(|version| version.release());
    version.is_ok_and(|version| version < Version::new(1, 35, 0))
}

/// True if a worker pool is updated in place.
pub fn is_in_place(worker: &Worker) -> bool {
    matches!(worker.update_strategy.as_deref(), Some(update_strategy::AUTO_IN_PLACE | update_strategy::MANUAL_IN_PLACE))
}
