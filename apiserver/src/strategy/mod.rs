// SPDX-License-Identifier: Apache-2.0
//! One strategy per kind, composed of functions of `domain`.

mod cloud_profile;
mod rules;
mod shoot;

pub use self::cloud_profile::{CloudProfileStrategy, NamespacedCloudProfileStrategy};
pub use self::rules::Rules;
pub use self::shoot::ShootStrategy;

use api::core::*;
use api::core_v1;
use api::security::CredentialsBinding;
use api::seedmanagement::{Gardenlet, ManagedSeed, ManagedSeedSet};
use apimachinery::release::{Release, Releases};
use domain::validation::{
    bindings, extensibility, gardenlet as gardenlets, gardenlet_configuration as configuration, objects,
    project as projects, seed as seeds,
};
use domain::{defaulting, generation, warnings};
use generic_apiserver::registry::Generation;

/// Releases in which a Seed's backup has both references to its credentials.
const SEED_BACKUP_SYNC: Releases = Releases::between(118, 123);
/// Releases in which a Seed's DNS provider has both references to its credentials.
const SEED_DNS_SYNC: Releases = Releases::between(135, 139);
/// Releases in which a BackupBucket has both references to its credentials.
const BUCKET_SYNC: Releases = Releases::until(124);

/// Returns the strategy of Seeds.
pub fn seed(release: Release) -> Rules<Seed> {
    fn sync_backup(seed: &mut Seed) {
        if let Some(backup) = &mut seed.spec.backup {
            defaulting::sync_backup_references(&mut backup.secret_ref, &mut backup.credentials_ref);
        }
    }
    fn sync_dns(seed: &mut Seed) {
        if let Some(provider) = &mut seed.spec.dns.provider {
            defaulting::sync_backup_references(&mut provider.secret_ref, &mut provider.credentials_ref);
        }
    }
    let sync = if SEED_BACKUP_SYNC.contain(release) {
        sync_backup
    } else if SEED_DNS_SYNC.contain(release) {
        sync_dns
    } else {
        |_: &mut Seed| {}
    };
    let create = move |seed: &Seed| seeds::seed(seed, release);
    Rules::new(create, move |new, old| seeds::seed_update(new, old, release))
        .default(move |seed| defaulting::seed(seed, release))
        .prepare(sync)
        .raises(generation::seed_update)
        .status(seeds::seed_status_update)
        .unconditional()
}

/// Returns the strategy of Projects.
pub fn project(release: Release) -> Rules<Project> {
    let create = move |project: &Project| projects::project(project, release);
    Rules::new(create, move |new, old| projects::project_update(new, old, release))
        .default(defaulting::project)
        .canonicalize(defaulting::project_owner_role)
        .status(projects::project_status_update)
        .unconditional()
}

/// Returns the strategy of SecretBindings.
pub fn secret_binding(release: Release) -> Rules<SecretBinding> {
    Rules::new(bindings::secret_binding, bindings::secret_binding_update)
        .default(defaulting::secret_binding)
        .warnings(move |_, _| warnings::secret_binding(release))
        .generation(Generation::None)
        .unconditional()
}

/// Returns the strategy of CredentialsBindings.
pub fn credentials_binding(release: Release) -> Rules<CredentialsBinding> {
    let create = move |binding: &CredentialsBinding| bindings::credentials_binding(binding, release);
    Rules::new(create, move |new, old| bindings::credentials_binding_update(new, old, release))
        .default(defaulting::credentials_binding)
        .generation(Generation::None)
}

/// Returns the strategy of Quotas.
pub fn quota(release: Release) -> Rules<Quota> {
    let create = move |quota: &Quota| bindings::quota(quota, release);
    Rules::new(create, move |new, old| bindings::quota_update(new, old, release))
        .generation(Generation::None)
        .unconditional()
}

/// Returns the strategy of ExposureClasses.
pub fn exposure_class(release: Release) -> Rules<ExposureClass> {
    let create = move |class: &ExposureClass| bindings::exposure_class(class, release);
    Rules::new(create, bindings::exposure_class_update).generation(Generation::None)
}

/// Returns the strategy of InternalSecrets.
pub fn internal_secret() -> Rules<InternalSecret> {
    Rules::new(objects::internal_secret, objects::internal_secret_update)
        .default(defaulting::internal_secret)
        .generation(Generation::None)
        .unconditional()
}

/// Returns the strategy of ShootStates.
pub fn shoot_state() -> Rules<ShootState> {
    Rules::new(objects::shoot_state, objects::shoot_state_update)
}

/// Returns the strategy of BackupBuckets.
pub fn backup_bucket(release: Release) -> Rules<BackupBucket> {
    fn sync_both(bucket: &mut BackupBucket) {
        defaulting::sync_backup_references(&mut bucket.spec.secret_ref, &mut bucket.spec.credentials_ref);
    }
    let sync = if BUCKET_SYNC.contain(release) { sync_both } else { |_: &mut BackupBucket| {} };
    let create = move |new: &BackupBucket| objects::backup_bucket(new, release);
    Rules::new(create, move |new, old| objects::backup_bucket_update(new, old, release))
        .prepare(sync)
        .raises(generation::backup_bucket_update)
}

/// Returns the strategy of BackupEntries.
pub fn backup_entry(release: Release) -> Rules<BackupEntry> {
    let create = move |new: &BackupEntry| objects::backup_entry(new, release);
    Rules::new(create, move |new, old| objects::backup_entry_update(new, old, release))
        .raises(generation::backup_entry_update)
}

/// Returns the strategy of ControllerRegistrations.
pub fn controller_registration(release: Release) -> Rules<ControllerRegistration> {
    let create = move |new: &ControllerRegistration| extensibility::controller_registration(new, release);
    Rules::new(create, move |new, old| extensibility::controller_registration_update(new, old, release))
        .default(defaulting::controller_registration)
}

/// Returns the strategy of ControllerDeployments, in the version in which they are stored.
pub fn controller_deployment(release: Release) -> Rules<core_v1::ControllerDeployment> {
    let create = move |new: &core_v1::ControllerDeployment| extensibility::controller_deployment_v1(new, release);
    Rules::new(create, move |new, _| extensibility::controller_deployment_v1(new, release))
}

/// Returns the strategy of Gardenlets.
pub fn gardenlet(release: Release) -> Rules<Gardenlet> {
    let create = move |new: &Gardenlet| gardenlets::gardenlet(new, release);
    Rules::new(create, move |new, old| gardenlets::gardenlet_update(new, old, release))
        .default(move |gardenlet| gardenlets::default_gardenlet(gardenlet, release))
        .warnings(move |new, old| {
            let old = old.map(|old| &old.spec.config);
            configuration::warnings(&new.spec.config, old, "spec.config", release)
        })
        .canonicalize(move |gardenlet| gardenlets::canonicalize_gardenlet(gardenlet, release))
        .raises(generation::gardenlet_update)
}

/// Returns the strategy of ManagedSeeds.
pub fn managed_seed(release: Release) -> Rules<ManagedSeed> {
    let create = move |new: &ManagedSeed| gardenlets::managed_seed(new, release);
    Rules::new(create, move |new, old| gardenlets::managed_seed_update(new, old, release))
        .default(move |seed| gardenlets::default_managed_seed(seed, release))
        .warnings(move |new, old| {
            let old = old.map(|old| &old.spec.gardenlet.config);
            configuration::warnings(&new.spec.gardenlet.config, old, "spec.gardenlet.config", release)
        })
        .canonicalize(move |seed| gardenlets::canonicalize_managed_seed(seed, release))
        .raises(generation::managed_seed_update)
}

/// Returns the strategy of ManagedSeedSets, which are not validated yet.
pub fn managed_seed_set(release: Release) -> Rules<ManagedSeedSet> {
    Rules::new(|_| Vec::new(), |_, _| Vec::new()).warnings(move |set, _| warnings::managed_seed_set(set, release))
}

/// Returns the strategy of ControllerInstallations.
pub fn controller_installation(release: Release) -> Rules<ControllerInstallation> {
    let create = move |new: &ControllerInstallation| extensibility::controller_installation(new, release);
    Rules::new(create, move |new, old| extensibility::controller_installation_update(new, old, release))
}
