// SPDX-License-Identifier: Apache-2.0
//! Objects that several pages read: Shoots, their projects, and the offers of their CloudProfiles.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::cluster::GARDEN;
use api::core::{CloudProfileSpec, Project};
use controller::Error;
use ops::inventory::Inventory;
use ops::names::ProfileKey;

use crate::view::View;

/// Project names by namespace; a Shoot outside of all projects counts to a project with its namespace's name.
#[derive(Clone, Debug, Default)]
pub struct Projects(BTreeMap<String, String>);

impl Projects {
    /// Reads the projects that the session's user may see.
    pub async fn read(view: &View) -> Self {
        let projects = view.list::<Project>(GARDEN, None, "").await.unwrap_or_default();
        let pairs = projects.into_iter().filter_map(|project| Some((project.spec.namespace?, project.metadata.name)));
        Self(pairs.collect())
    }

    /// Returns the project of a namespace, as [`Projects::of`], for a namespace with a shorter lifetime.
    pub fn project_of(&self, namespace: &str) -> Cow<'_, str> {
        match self.0.get(namespace) {
            Some(project) => Cow::Borrowed(project),
            None => Cow::Owned(namespace.strip_prefix("garden-").unwrap_or(namespace).to_owned()),
        }
    }

    /// Returns the project of a namespace.
    pub fn of<'a>(&'a self, namespace: &'a str) -> &'a str {
        self.0.get(namespace).map_or_else(|| namespace.strip_prefix("garden-").unwrap_or(namespace), String::as_str)
    }

    /// Returns the namespace of a project.
    pub fn namespace(&self, project: &str) -> String {
        let known = self.0.iter().find(|(_, name)| *name == project).map(|(namespace, _)| namespace.clone());
        known.unwrap_or_else(|| if project == "garden" { project.to_owned() } else { format!("garden-{project}") })
    }

    /// Iterates over namespaces and project names, by namespace.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(namespace, name)| (namespace.as_str(), name.as_str()))
    }
}

/// Offers by profile.
pub type Offers = BTreeMap<ProfileKey, CloudProfileSpec>;

/// Reads the profiles and Shoots that the session's user may see.
///
/// # Errors
/// The API's error.
pub async fn inventory(view: &View) -> Result<Inventory, Error> {
    let mut inventory = profiles(view).await?;
    inventory.shoots = view.list(GARDEN, None, "").await?;
    inventory.read_forms(&view.hash_secrets().await);
    Ok(inventory)
}

/// Reads [`inventory`] without Shoots.
///
/// # Errors
/// The API's error.
pub async fn profiles(view: &View) -> Result<Inventory, Error> {
    let mut inventory = Inventory::new(view.release());
    inventory.disables_nginx_ingress = view.disables_nginx_ingress;
    inventory.cloud_profiles = view.list(GARDEN, None, "").await?;
    // A user who may not list those of all namespaces sees none.
    inventory.namespaced = view.list(GARDEN, None, "").await.unwrap_or_default();
    Ok(inventory)
}

/// Reads the offers of the profiles that the session's user may see.
///
/// # Errors
/// The API's error.
pub async fn offers(view: &View) -> Result<Offers, Error> {
    Ok(profiles(view).await?.offers())
}
