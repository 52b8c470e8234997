// SPDX-License-Identifier: Apache-2.0
//! Local copies that all controllers share.

use std::sync::Arc;

use api::constants::namespace;
use api::core::{
    BackupBucket, BackupEntry, CloudProfile, ControllerInstallation, ControllerRegistration, ExposureClass,
    NamespacedCloudProfile, Project, Quota, SecretBinding, Seed, Shoot,
};
use api::core_v1::ControllerDeployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::{Namespace, Secret};
use api::security::CredentialsBinding;
use apimachinery::Resource;
use apimachinery::meta::ObjectMeta;
use controller::{Api, ListOptions, Reflector, Store};
use domain::cloud_profile::Profiles;
use process::Context;

use crate::GARDEN;

/// One local copy of each kind that a controller reads.
#[derive(Clone, Debug)]
pub struct Stores {
    pub(crate) backup_buckets: Store<BackupBucket>,
    pub(crate) backup_entries: Store<BackupEntry>,
    pub(crate) cloud_profiles: Store<CloudProfile>,
    pub(crate) controller_deployments: Store<ControllerDeployment>,
    pub(crate) controller_installations: Store<ControllerInstallation>,
    pub(crate) controller_registrations: Store<ControllerRegistration>,
    pub(crate) credentials_bindings: Store<CredentialsBinding>,
    pub(crate) exposure_classes: Store<ExposureClass>,
    pub(crate) namespaced_cloud_profiles: Store<NamespacedCloudProfile>,
    pub(crate) namespaces: Store<Namespace>,
    pub(crate) projects: Store<Project>,
    pub(crate) quotas: Store<Quota>,
    pub(crate) secret_bindings: Store<SecretBinding>,
    pub(crate) secrets: Store<Secret>,
    /// Leases that gardenlets renew.
    pub(crate) seed_leases: Store<Lease>,
    pub(crate) seeds: Store<Seed>,
    pub(crate) shoots: Store<Shoot>,
}

impl Stores {
    /// Starts the reflectors; they end with the component.
    pub(crate) fn start(context: &Context) -> Self {
        Self {
            backup_buckets: reflect(context),
            backup_entries: reflect(context),
            cloud_profiles: reflect(context),
            controller_deployments: reflect(context),
            controller_installations: reflect(context),
            controller_registrations: reflect(context),
            credentials_bindings: reflect(context),
            exposure_classes: reflect(context),
            namespaced_cloud_profiles: reflect(context),
            namespaces: reflect(context),
            projects: reflect(context),
            quotas: reflect(context),
            secret_bindings: reflect(context),
            secrets: reflect(context),
            seed_leases: {
                let leases = Api::namespaced(context, GARDEN, namespace::SEED_LEASE);
                Reflector::new(leases, ListOptions::default()).start()
            },
            seeds: reflect(context),
            shoots: reflect(context),
        }
    }
}

fn reflect<K: Resource>(context: &Context) -> Store<K> {
    Reflector::new(Api::all(context, GARDEN), ListOptions::default()).start()
}

/// Returns `[namespace/name other/name]`, as Go prints a list of strings.
pub(crate) fn list_names<'a>(objects: impl IntoIterator<Item = &'a ObjectMeta>) -> String {
    let names: Vec<String> =
        objects.into_iter().map(|metadata| format!("{}/{}", metadata.namespace, metadata.name)).collect();
    format!("[{}]", names.join(" "))
}

impl Profiles for &Stores {
    fn cloud_profile(&mut self, name: &str) -> Option<Arc<CloudProfile>> {
        self.cloud_profiles.find("", name)
    }

    fn namespaced_cloud_profile(&mut self, namespace: &str, name: &str) -> Option<Arc<NamespacedCloudProfile>> {
        self.namespaced_cloud_profiles.find(namespace, name)
    }
}
