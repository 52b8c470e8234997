// SPDX-License-Identifier: Apache-2.0
//! What several pages read: Shoots, the projects that they are in, and what their CloudProfiles offer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::cluster::GARDEN;
use api::core::{CloudProfileSpec, Project};
use controller::Error;
use ops::world::{ProfileKey, World};

use crate::view::View;

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

    /// As [`Projects::of`], of a namespace that need not live as long.
    pub fn project_of(&self, namespace: &str) -> Cow<'_, str> {
        match self.0.get(namespace) {
            Some(project) => Cow::Borrowed(project),
            None => Cow::Owned(namespace.strip_prefix("garden-").unwrap_or(namespace).to_owned()),
        }
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

/// Profiles and Shoots, as far as the session's user may see them.
///
/// # Errors
/// What the API answers.
pub async fn world(view: &View) -> Result<World, Error> {
    let mut world = profiles(view).await?;
    world.shoots = view.list(GARDEN, None, "").await?;
    world.read_forms(&view.hash_secrets().await);
    Ok(world)
}

/// As [`world`], without Shoots.
///
/// # Errors
/// What the API answers.
pub async fn profiles(view: &View) -> Result<World, Error> {
    let mut world = World::new(view.release());
    world.disables_nginx_ingress = view.disables_nginx_ingress;
    world.cloud_profiles = view.list(GARDEN, None, "").await?;
    // Who may not see those of any namespace sees none.
    world.namespaced = view.list(GARDEN, None, "").await.unwrap_or_default();
    Ok(world)
}

/// What each profile offers that the session's user may see.
///
/// # Errors
/// What the API answers.
pub async fn offers(view: &View) -> Result<Offers, Error> {
    Ok(profiles(view).await?.offers())
}
