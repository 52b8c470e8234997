// SPDX-License-Identifier: Apache-2.0
//! Feature gates that answers assume, and the forms of pool hashes that follow from them.

use domain::release::Release;
use domain::skew::notes::GateSetting;
use domain::skew::releases::{check_gate, gate_is_on};
use domain::skew::{Component, GardenerVersion};
use domain::validation::shoot::Gates;
use domain::worker_pool::{HashVersion, PoolForms};

use crate::Error;

/// Gates of a release's gardener-apiserver, with every gate on that allows more: stored objects of a landscape may depend
/// on any of them.
pub fn gates_for(release: Release) -> Gates {
    Gates {
        in_place_node_updates: true,
        credentials_rotation_without_workers_rollout: true,
        version_classification_lifecycle: true,
        disable_nginx_ingress_in_shoot: false,
        cloud_profile_capabilities: true,
        live_control_plane_migration: true,
        release,
    }
}

/// Forms of pools that a release's gardenlet has created, with its default gates.
pub fn pool_forms(release: Release) -> PoolForms {
    PoolForms::all(hash_version(release), release)
}

/// Gate of gardener-controller-manager that disables the addon nginx ingress.
const DISABLE_NGINX_INGRESS: &str = "DisableNginxIngressInShoot";

/// True if gardener-controller-manager of a release with these gates disables the addon nginx ingress.
pub fn disables_nginx_ingress(release: Release, gates: &[GateSetting]) -> bool {
    let version = GardenerVersion::release(1, u64::from(release.0), 0);
    let is_own =
        |gate: &&GateSetting| gate.component == Component::ControllerManager && gate.name == DISABLE_NGINX_INGRESS;
    let set = gates.iter().rev().find(is_own).map(|gate| gate.on);
    check_gate(&version, "controllermanager", DISABLE_NGINX_INGRESS, true).is_ok()
        && gate_is_on(&version, DISABLE_NGINX_INGRESS, set)
}

/// Converts named gates of gardener-controller-manager of a version.
///
/// # Errors
/// The version has no such gate, or the gate is locked.
pub fn manager_gates(version: &GardenerVersion, set: &[(String, bool)]) -> Result<Vec<GateSetting>, Error> {
    let setting = |(name, on): &(String, bool)| {
        check_gate(version, "controllermanager", name, *on).map_err(|error| {
            let what = format!("--feature-gate {name}={on}: {error}");
            Error::input(what, "the gates of gardener-controller-manager count: `terrarium explain F1` says more")
        })?;
        let component = Component::ControllerManager;
        Ok(GateSetting { component, owner: String::new(), name: name.clone(), on: *on })
    };
    set.iter().map(setting).collect()
}

/// Form of hash that a release's gardenlet uses by default.
pub fn hash_version(release: Release) -> HashVersion {
    let version = GardenerVersion::release(1, u64::from(release.0), 0);
    if gate_is_on(&version, "NewWorkerPoolHash", None) { HashVersion::V2 } else { HashVersion::V1 }
}
