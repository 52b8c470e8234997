// SPDX-License-Identifier: Apache-2.0
//! Daily maintenance of a Shoot: updates of its versions, other changes of its spec, and reports to users.
//!
//! [`plan`] decides, [`apply`] returns the object to write; [`Plan`] formats the outcome. The caller writes in this
//! order: a dry run of [`Plan::shoot`], `status.lastMaintenance`, the object, `status.lastMaintenance` again, Events. A
//! version that cannot be updated is an outcome, not an error.
//!
//! **Overview.** [`agenda`]: instants at which a Shoot is checked; [`upcoming`]: time window in effect; [`decision`]:
//! updates of versions; [`migration`]: changes of the spec that a new Kubernetes version requires, among them
//! [`binding`]: the CredentialsBinding; [`credentials`]: rotations; [`operation`]: annotations and tasks; [`report`]:
//! texts.
//!
//! Source: pkg/controllermanager/controller/shoot/maintenance, v1.120.0 to v1.149.0;
//! docs/usage/shoot/shoot_maintenance.md.

pub mod agenda;
pub mod binding;
pub mod credentials;
pub mod decision;
pub mod migration;
pub mod operation;
pub mod reading;
pub mod report;
#[cfg(test)]
mod tests;
pub mod upcoming;

use api::constants::annotation;
use api::core::{CloudProfileSpec, Shoot, ShootSpec};

pub use self::agenda::{NEXT_RUN_DRAW, next_run, update_is_looked_at};
pub use self::credentials::{RotationOutcome, etcd_encryption_key_is_due_after};
pub use self::decision::{Outcome, kubernetes_update, machine_image_update, says_forced};
pub use self::operation::Restarters;
pub use self::report::{Event, Severity};
use crate::annotations;
use crate::release::Release;
use crate::versions::{Moment, ParseError, Version};

/// Result of one run of maintenance for a Shoot.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The Shoot with the new spec and its operation annotation handled, as sent in the dry run.
    pub shoot: Shoot,
    /// Update of the control plane's Kubernetes version.
    pub control_plane: Option<Outcome>,
    /// Updates of Kubernetes versions of worker pools that have their own, in the order of the pools.
    pub pool_versions: Vec<PoolOutcome>,
    /// Updates of machine images of worker pools, in the order of the pools.
    pub pool_images: Vec<PoolOutcome>,
    /// Credentials that were due to be rotated.
    pub rotations: Vec<RotationOutcome>,
    /// Further changes, one sentence each.
    pub operations: Vec<String>,
    /// Release of gardener-controller-manager, which determines the texts.
    pub release: Release,
}

/// Outcome for one version of a worker pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolOutcome {
    /// Name of the pool.
    pub pool: String,
    /// Outcome of the update.
    pub outcome: Outcome,
}

/// Decides on the maintenance of a Shoot at an instant.
///
/// `profile_name` is the name in the Shoot's reference, `profile` the spec of that profile; the release of `at` is that
/// of gardener-controller-manager. Objects of the Shoot's namespace and gates are deliberately absent: [`Plan::bind`] and
/// [`Plan::disable_nginx_ingress`] add their effects to the plan.
///
/// # Errors
/// A Kubernetes version in the Shoot's spec is invalid, so that nothing can be decided.
pub fn plan(shoot: &Shoot, profile_name: &str, profile: &CloudProfileSpec, at: Moment) -> Result<Plan, ParseError> {
    let mut maintained = shoot.clone();
    let auto_update = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.auto_update.as_ref());
    let update_kubernetes = auto_update.is_some_and(|auto_update| auto_update.kubernetes_version);
    let update_images = auto_update.and_then(|auto_update| auto_update.machine_image_version) == Some(true);

    // Images first: their constraints depend on the Kubernetes version before this run.
    let pool_images = maintain_images(&mut maintained.spec, profile_name, profile, update_images, at);

    let versions = &profile.kubernetes.versions;
    let control_plane = kubernetes_update(&shoot.spec.kubernetes.version, update_kubernetes, versions, None, at);
    if let Some(version) = control_plane.as_ref().and_then(Outcome::version) {
        version.clone_into(&mut maintained.spec.kubernetes.version);
    }
    let old: Version = shoot.spec.kubernetes.version.parse()?;
    let new: Version = maintained.spec.kubernetes.version.parse()?;

    let mut pool_versions = Vec::new();
    for worker in &mut maintained.spec.provider.workers {
        let Some(version) = worker.kubernetes.as_mut().and_then(|kubernetes| kubernetes.version.as_mut()) else {
            continue;
        };
        if let Some(outcome) = kubernetes_update(version, update_kubernetes, versions, Some(&new), at) {
            if let Some(raised) = outcome.version() {
                raised.clone_into(version);
            }
            pool_versions.push(PoolOutcome { pool: worker.name.clone(), outcome });
        }
    }

    let rotations = credentials::due(&maintained, at);
    let mut operations = migration::migrate(&mut maintained.spec, &old, &new, at.release)?;
    if let Some(operation) = operation::take_over(&mut maintained, &rotations) {
        operations.push(format!("Added {operation:?} operation annotation"));
    }
    let release = at.release;
    Ok(Plan { shoot: maintained, control_plane, pool_versions, pool_images, rotations, operations, release })
}

impl Plan {
    /// Disables the nginx ingress addon and reports it, as gate `DisableNginxIngressInShoot` of
    /// gardener-controller-manager requires.
    pub fn disable_nginx_ingress(&mut self) {
        let addon = self.shoot.spec.addons.as_mut().and_then(|addons| addons.nginx_ingress.as_mut());
        if let Some(addon) = addon.filter(|addon| addon.enabled) {
            addon.enabled = false;
            let text =
                ".spec.addons.nginxIngress was disabled. Reason: nginx ingress addon disallowed by landscape operator";
            self.operations.push(text.to_owned());
        }
    }
}

/// Updates the machine images of all pools.
///
/// An image that is missing in the CloudProfile ends the loop: later pools are not updated, and the new versions of
/// earlier ones are kept but not reported.
fn maintain_images(
    spec: &mut ShootSpec,
    profile_name: &str,
    profile: &CloudProfileSpec,
    auto_update: bool,
    at: Moment,
) -> Vec<PoolOutcome> {
    let control_plane = spec.kubernetes.version.clone();
    let mut outcomes = Vec::new();
    for worker in &mut spec.provider.workers {
        let outcome = match machine_image_update(worker, &control_plane, profile_name, profile, auto_update, at) {
            Ok(Some(outcome)) => outcome,
            Ok(None) => continue,
            Err(_) => return Vec::new(),
        };
        if let (Some(version), Some(image)) = (outcome.version(), worker.machine.image.as_mut()) {
            image.version = Some(version.to_owned());
        }
        outcomes.push(PoolOutcome { pool: worker.name.clone(), outcome });
    }
    outcomes
}

/// Returns the object that maintenance writes: the stored one with the plan's spec, its operation annotation handled, and
/// the tasks of the next reconciliation.
pub fn apply(stored: &Shoot, plan: &Plan, restarters: Restarters) -> Shoot {
    let mut shoot = stored.clone();
    shoot.spec.clone_from(&plan.shoot.spec);
    operation::take_over(&mut shoot, &plan.rotations);
    annotations::add_tasks(&mut shoot.metadata.annotations, &operation::tasks(restarters));
    shoot
}

/// True if the Shoot has the annotation that requests maintenance now.
pub fn is_requested(shoot: &Shoot) -> bool {
    shoot.metadata.annotation(annotation::OPERATION) == Some(api::constants::operation::MAINTAIN)
}
