// SPDX-License-Identifier: Apache-2.0
//! CloudProfiles, NamespacedCloudProfiles and Shoots from manifests or a landscape.
//!
//! **Invariants.** All objects have the defaults of the API server. Shoots keep the order of the manifests.
//!
//! **Tour.** [`decoding`] of manifests, without [`ignored`] fields; [`completion`] and validation as by the API server.

mod completion;
mod decoding;
pub mod ignored;

use std::collections::BTreeMap;

use api::cluster;
use api::core::{CloudProfile, CloudProfileSpec, NamespacedCloudProfile, Shoot};
use api::kubernetes::core::Secret;
use controller::{Api, ListOptions};
use domain::cloud_profile;
use domain::release::Release;
use domain::worker_pool::{Forms, PoolForms, StoredKeys};
use process::Context;

pub use self::completion::{DecidingField, Reading, Refusals, deciding_lines};
use self::completion::{Remarks, and_more};
pub use self::decoding::{DecodedManifests, subject_of};
use crate::Error;
use crate::gates::{disables_nginx_ingress, hash_version, pool_forms};
use crate::names::{ProfileKey, name_of};
use crate::upgrade::fleet;

/// Profiles and Shoots.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// Release of Gardener whose rules apply.
    pub release: Release,
    /// CloudProfiles in the order of the input.
    pub cloud_profiles: Vec<CloudProfile>,
    /// NamespacedCloudProfiles of all namespaces.
    pub namespaced: Vec<NamespacedCloudProfile>,
    /// Shoots of all namespaces.
    pub shoots: Vec<Shoot>,
    /// State of feature gate `DisableNginxIngressInShoot` of gardener-controller-manager.
    pub disables_nginx_ingress: bool,
    /// Forms of the pools' hashes, for Shoots with known ones, by `NAMESPACE/NAME`.
    forms: BTreeMap<String, PoolForms>,
    /// Notes about ignored input and assumptions.
    pub notes: Vec<String>,
    /// Results of reading the manifests.
    remarks: Remarks,
}

impl Inventory {
    /// Returns an inventory without objects, with the rules of a release.
    pub fn new(release: Release) -> Self {
        Self {
            release,
            cloud_profiles: Vec::new(),
            namespaced: Vec::new(),
            shoots: Vec::new(),
            disables_nginx_ingress: false,
            forms: BTreeMap::new(),
            notes: Vec::new(),
            remarks: Remarks::default(),
        }
    }

    /// Reads the inventory of a running landscape, with the rules of a release.
    ///
    /// # Errors
    /// The server's error message.
    pub async fn of_landscape(context: &Context, release: Release) -> Result<Self, Error> {
        let all = ListOptions::default();
        let shoots: Vec<Shoot> = Api::all(context, cluster::GARDEN).list(&all).await?.0;
        let keys = ListOptions::with_field(&format!("metadata.name={}", StoredKeys::SECRET));
        let keys: Vec<Secret> = Api::all(context, "*").list(&keys).await?.0;
        let mut inventory = Self {
            cloud_profiles: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            namespaced: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            disables_nginx_ingress: disables_nginx_ingress(release, &fleet::manager_gates(context).await),
            shoots,
            ..Self::new(release)
        };
        inventory.read_forms(&keys);
        Ok(inventory)
    }

    /// Reads the forms of the Shoots' hashes from the Secrets in which their control planes store them.
    pub fn read_forms(&mut self, keys: &[Secret]) {
        let forms = self.shoots.iter().filter_map(|shoot| Some((name_of(shoot), forms_of(shoot, keys, self.release)?)));
        self.forms = forms.collect();
    }

    /// Reads the inventory of one Shoot, like [`Inventory::of_landscape`], without requests for other Shoots.
    ///
    /// # Errors
    /// The server's error message.
    pub async fn of_shoot(context: &Context, shoot: &Shoot, release: Release) -> Result<Self, Error> {
        let all = ListOptions::default();
        let seed = shoot.status.seed_name.as_ref().or(shoot.spec.seed_name.as_ref());
        let namespace = &shoot.status.technical_id;
        let keys: Vec<Secret> = match seed.filter(|_| !namespace.is_empty()) {
            Some(seed) => {
                let keys = ListOptions::with_field(&format!("metadata.name={}", StoredKeys::SECRET));
                Api::namespaced(context, &cluster::of_seed(seed), namespace).list(&keys).await?.0
            }
            None => Vec::new(),
        };
        let mut inventory = Self {
            cloud_profiles: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            namespaced: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            disables_nginx_ingress: disables_nginx_ingress(release, &fleet::manager_gates(context).await),
            shoots: vec![shoot.clone()],
            ..Self::new(release)
        };
        inventory.read_forms(&keys);
        Ok(inventory)
    }

    /// Returns the forms of the hashes of a Shoot's pools; if they are not known, those of new pools.
    pub fn forms(&self, shoot: &Shoot) -> PoolForms {
        self.forms.get(&name_of(shoot)).cloned().unwrap_or_else(|| pool_forms(self.release))
    }

    /// Adds notes about versions and images that Shoots use and their profiles do not offer.
    pub fn note_unoffered(&mut self) {
        let offers = self.offers();
        let mut found: BTreeMap<(ProfileKey, String), (String, usize)> = BTreeMap::new();
        let mut note = |key: &ProfileKey, what: String, user: String| {
            found.entry((key.clone(), what)).or_insert((user, 0)).1 += 1;
        };
        for shoot in self.shoots.iter().filter(|shoot| !shoot.metadata.is_being_deleted()) {
            let (key, name) = (ProfileKey::of(shoot), name_of(shoot));
            let Some(offered) = offers.get(&key) else { continue };
            let mut kubernetes = |version: &str, user: String| {
                if cloud_profile::kubernetes_version(offered, version).is_none() {
                    note(&key, format!("offer Kubernetes {version}"), user);
                }
            };
            kubernetes(&shoot.spec.kubernetes.version, format!("Shoot {name}"));
            for worker in &shoot.spec.provider.workers {
                if let Some(own) = worker.kubernetes.as_ref().and_then(|own| own.version.as_deref()) {
                    kubernetes(own, format!("worker pool {} of Shoot {name}", worker.name));
                }
            }
            for worker in &shoot.spec.provider.workers {
                let Some(image) = &worker.machine.image else { continue };
                let version = image.version.as_deref().unwrap_or_default();
                let user = format!("worker pool {} of Shoot {name}", worker.name);
                if cloud_profile::machine_image(offered, &image.name).is_none() {
                    note(&key, format!("have a machine image {}", image.name), user);
                } else if cloud_profile::machine_image_version(offered, &image.name, version).is_none() {
                    note(&key, format!("offer {} {version}", image.name), user);
                }
            }
        }
        for ((key, what), (user, count)) in found {
            self.notes.push(format!("{key} does not {what}, which {user}{} has", and_more(count)));
        }
    }

    /// Returns the offer of each profile. A NamespacedCloudProfile without its parent has the offer of its status; without
    /// that, its offer is not known.
    pub fn offers(&self) -> BTreeMap<ProfileKey, CloudProfileSpec> {
        let whole = |profile: &CloudProfile| ProfileKey { namespace: None, name: profile.metadata.name.clone() };
        let mut offers: BTreeMap<ProfileKey, CloudProfileSpec> =
            self.cloud_profiles.iter().map(|profile| (whole(profile), profile.spec.clone())).collect();
        for profile in &self.namespaced {
            let parent = self.cloud_profiles.iter().find(|parent| parent.metadata.name == profile.spec.parent.name);
            let spec = match parent {
                Some(parent) => cloud_profile::merge(&parent.spec, &profile.spec),
                None if profile.status.cloud_profile_spec == CloudProfileSpec::default() => continue,
                None => profile.status.cloud_profile_spec.clone(),
            };
            let meta = &profile.metadata;
            offers.insert(ProfileKey { namespace: Some(meta.namespace.clone()), name: meta.name.clone() }, spec);
        }
        offers
    }
}

/// Forms that the control plane of a Shoot has stored.
fn forms_of(shoot: &Shoot, keys: &[Secret], release: Release) -> Option<PoolForms> {
    let own = keys.iter().find(|secret| secret.metadata.namespace == shoot.status.technical_id)?;
    let stored: Vec<StoredKeys> = yaml::from_slice(&own.data.get(StoredKeys::DATA)?.0).ok()?;
    let pools: BTreeMap<String, Forms> = stored.iter().map(|entry| (entry.name.clone(), entry.forms())).collect();
    let latest = pools.values().map(|forms| forms.latest).max().unwrap_or_else(|| hash_version(release));
    Some(PoolForms { pools, others: latest.into(), release })
}
