// SPDX-License-Identifier: Apache-2.0
//! What several pages read: Shoots, the projects that they are in, and what their CloudProfiles offer.

use std::collections::BTreeMap;

use api::cluster::GARDEN;
use api::core::{CloudProfile, CloudProfileSpec, NamespacedCloudProfile, Project, Shoot};
use controller::Error;
use domain::cloud_profile::{self, NAMESPACED_CLOUD_PROFILE};

use crate::view::View;

/// A CloudProfile, or a NamespacedCloudProfile where there is a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileKey {
    /// Namespace of a NamespacedCloudProfile.
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

    /// `NAME`, or `NAMESPACE/NAME`: as `terrarium versions` names it.
    pub fn shown(&self) -> String {
        match &self.namespace {
            None => self.name.clone(),
            Some(namespace) => format!("{namespace}/{}", self.name),
        }
    }
}

/// Project names by namespace; a Shoot outside of all projects counts to one with its namespace's name.
#[derive(Clone, Debug, Default)]
pub struct Projects(BTreeMap<String, String>);

impl Projects {
    /// Those that the session's user may see.
    pub async fn read(view: &View) -> Self {
        let projects = view.list::<Project>(GARDEN, None, "").await.unwrap_or_default();
        let pairs = projects.into_iter().filter_map(|project| Some((project.spec.namespace?, project.metadata.name)));
        Self(pairs.collect())
    }

    /// The project of a namespace.
    pub fn of<'a>(&'a self, namespace: &'a str) -> &'a str {
        self.0.get(namespace).map_or_else(|| namespace.strip_prefix("garden-").unwrap_or(namespace), String::as_str)
    }

    /// The namespace of a project.
    pub fn namespace(&self, project: &str) -> String {
        let known = self.0.iter().find(|(_, name)| *name == project).map(|(namespace, _)| namespace.clone());
        known.unwrap_or_else(|| if project == "garden" { project.to_owned() } else { format!("garden-{project}") })
    }

    /// Namespaces and names, by namespace.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(namespace, name)| (namespace.as_str(), name.as_str()))
    }
}

/// What each profile offers.
pub type Offers = BTreeMap<ProfileKey, CloudProfileSpec>;

/// What each profile offers that the session's user may see.
///
/// # Errors
/// What the API answers.
pub async fn offers(view: &View) -> Result<Offers, Error> {
    let profiles = view.list::<CloudProfile>(GARDEN, None, "").await?;
    // Who may not see those of any namespace sees none.
    let namespaced = view.list::<NamespacedCloudProfile>(GARDEN, None, "").await.unwrap_or_default();
    let key = |name: &str| ProfileKey { namespace: None, name: name.to_owned() };
    let mut offers: Offers =
        profiles.iter().map(|profile| (key(&profile.metadata.name), profile.spec.clone())).collect();
    for profile in namespaced {
        let parent = offers.get(&key(&profile.spec.parent.name));
        let spec = match parent {
            Some(parent) => cloud_profile::merge(parent, &profile.spec),
            None => profile.status.cloud_profile_spec.clone(),
        };
        let meta = profile.metadata;
        offers.insert(ProfileKey { namespace: Some(meta.namespace), name: meta.name }, spec);
    }
    Ok(offers)
}
