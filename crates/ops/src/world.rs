// SPDX-License-Identifier: Apache-2.0
//! CloudProfiles, NamespacedCloudProfiles and Shoots, as manifests give them or a landscape has them.
//!
//! **Invariants.** Everything is defaulted as the API server would. A Shoot keeps its place among the manifests.

use std::collections::BTreeMap;

use api::cluster;
use api::core::{CloudProfile, CloudProfileSpec, NamespacedCloudProfile, Shoot};
use api::kubernetes::core::Secret;
use controller::{Api, ListOptions};
use domain::cloud_profile::{self, NAMESPACED_CLOUD_PROFILE};
use domain::release::Release;
use domain::worker_pool::{Forms, PoolForms, StoredKeys};
use process::Context;

use crate::forecast::{disables_nginx_ingress, hash_version, pool_forms};
use crate::given::{Remarks, and_more};
use crate::{Error, fleet};

/// Profiles and Shoots.
#[derive(Clone, Debug)]
pub struct World {
    /// Release of Gardener by whose rules they live.
    pub release: Release,
    /// CloudProfiles in the order in which they were given.
    pub cloud_profiles: Vec<CloudProfile>,
    /// NamespacedCloudProfiles, of any namespace.
    pub namespaced: Vec<NamespacedCloudProfile>,
    /// Shoots, of any namespace.
    pub shoots: Vec<Shoot>,
    /// Gate `DisableNginxIngressInShoot` of gardener-controller-manager.
    pub disables_nginx_ingress: bool,
    /// How pools are hashed, of Shoots of which that is known, by `NAMESPACE/NAME`.
    forms: BTreeMap<String, PoolForms>,
    /// What was left out, and what is taken for granted.
    pub notes: Vec<String>,
    /// What there is to say about manifests.
    pub(super) remarks: Remarks,
}

/// A profile as a Shoot refers to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileKey {
    /// Of a NamespacedCloudProfile.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl ProfileKey {
    /// The profile that a Shoot refers to.
    pub fn of(shoot: &Shoot) -> Self {
        let reference = cloud_profile::reference(&shoot.spec);
        let is_namespaced = reference.as_ref().is_some_and(|reference| reference.kind == NAMESPACED_CLOUD_PROFILE);
        Self {
            namespace: is_namespaced.then(|| shoot.metadata.namespace.clone()),
            name: reference.map(|reference| reference.name).unwrap_or_default(),
        }
    }

    /// `NAME`, or `NAMESPACE/NAME`.
    pub fn shown(&self) -> String {
        match &self.namespace {
            None => self.name.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name),
        }
    }
}

/// `CloudProfile "aws"`.
impl std::fmt::Display for ProfileKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            None => write!(f, "CloudProfile {:?}", self.name),
            Some(namespace) => write!(f, "NamespacedCloudProfile \"{namespace}/{}\"", self.name),
        }
    }
}

impl World {
    /// Nothing, by the rules of a release.
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

    /// From a landscape that runs, by the rules of a release.
    ///
    /// # Errors
    /// The server's words.
    pub async fn of_landscape(context: &Context, release: Release) -> Result<Self, Error> {
        let all = ListOptions::default();
        let shoots: Vec<Shoot> = Api::all(context, cluster::GARDEN).list(&all).await?.0;
        let keys = ListOptions::with_field(&format!("metadata.name={}", StoredKeys::SECRET));
        let keys: Vec<Secret> = Api::all(context, "*").list(&keys).await?.0;
        let mut world = Self {
            cloud_profiles: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            namespaced: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            disables_nginx_ingress: disables_nginx_ingress(release, &fleet::manager_gates(context).await),
            shoots,
            ..Self::new(release)
        };
        world.read_forms(&keys);
        Ok(world)
    }

    /// Reads the forms of the Shoots' hashes from the Secrets in which their control planes store them.
    pub fn read_forms(&mut self, keys: &[Secret]) {
        let forms = self.shoots.iter().filter_map(|shoot| Some((name_of(shoot), forms_of(shoot, keys, self.release)?)));
        self.forms = forms.collect();
    }

    /// As [`World::of_landscape`], of one Shoot: no other Shoot is asked for.
    ///
    /// # Errors
    /// The server's words.
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
        let mut world = Self {
            cloud_profiles: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            namespaced: Api::all(context, cluster::GARDEN).list(&all).await?.0,
            disables_nginx_ingress: disables_nginx_ingress(release, &fleet::manager_gates(context).await),
            shoots: vec![shoot.clone()],
            ..Self::new(release)
        };
        world.read_forms(&keys);
        Ok(world)
    }

    /// How the pools of a Shoot are hashed; where that is not known, as new ones are.
    pub fn forms(&self, shoot: &Shoot) -> PoolForms {
        self.forms.get(&name_of(shoot)).cloned().unwrap_or_else(|| pool_forms(self.release))
    }

    /// Notes versions and images that Shoots use and their profiles do not have.
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

    /// What each profile offers. A NamespacedCloudProfile whose parent is not given offers what its status says; if that
    /// says nothing, what it offers is not known.
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

/// The forms that the control plane of a Shoot remembers.
fn forms_of(shoot: &Shoot, keys: &[Secret], release: Release) -> Option<PoolForms> {
    let own = keys.iter().find(|secret| secret.metadata.namespace == shoot.status.technical_id)?;
    let stored: Vec<StoredKeys> = yaml::from_slice(&own.data.get(StoredKeys::DATA)?.0).ok()?;
    let pools: BTreeMap<String, Forms> = stored.iter().map(|entry| (entry.name.clone(), entry.forms())).collect();
    let latest = pools.values().map(|forms| forms.latest).max().unwrap_or_else(|| hash_version(release));
    Some(PoolForms { pools, others: latest.into(), release })
}

/// `NAMESPACE/NAME`.
pub fn name_of(shoot: &Shoot) -> String {
    format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name)
}
