// SPDX-License-Identifier: Apache-2.0
//! The versions of a landscape, and what notes need to know of it: as a file, manifests or a landscape that runs say it.
//!
//! **Tour.** [`file`] LANDSCAPE.yaml, [`plan`] PLAN.yaml, over [`texts`], YAML whose numbers stay texts; [`objects`] what
//! kubectl prints; [`running`] the landscape.

mod file;
mod objects;
pub mod plan;
mod running;
mod texts;

use std::path::PathBuf;

use api::kubernetes::core::Secret;
use domain::skew::notes::{GateSetting, ShootVersions};
use domain::skew::{Component, GardenerVersion, Instance, Landscape};
use domain::worker_pool::{HashVersion, StoredKeys};

use crate::Error;
use crate::components::Crash;
use crate::manifests::{self, Origin};

pub use file::key;
pub use running::{
    first_hash_pools, gates, manager_gates, not_started, of_landscape, versions_of, versions_of_row, without_shoots,
};

/// What is known of a landscape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// Name of the running landscape; None: the versions were read from files.
    pub name: Option<String>,
    /// Who runs.
    pub landscape: Landscape,
    /// Where each of them is written, in the same order; empty for a landscape that runs.
    places: Vec<Place>,
    /// Where the Garden's version is written.
    garden_place: Option<Place>,
    /// Texts that were read, with their names.
    texts: Vec<(String, String)>,
    /// Shoots with what notes need to know of them.
    pub shoots: Vec<ShootVersions>,
    /// Garden and Seeds by name, with their Kubernetes versions.
    pub clusters: Vec<(String, String)>,
    /// Feature gates that components set.
    pub gates: Vec<GateSetting>,
    /// Worker pools whose hash has the first form, `NAMESPACE OF THE CONTROL PLANE/POOL`.
    pub first_hash_forms: Vec<String>,
    /// Gardenlets in the cluster of gardener-operator.
    pub gardenlets_of_runtime: Vec<Instance>,
    /// Processes of components that do not start, of a landscape that runs.
    pub crashes: Vec<Crash>,
    /// Components that are not started, with the reason, of a landscape that runs.
    pub absent: Vec<String>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Where something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    At(Origin),
    /// A path in one of the texts. Its line is looked for when it is shown: to look for each is to read the text as often.
    In {
        text: usize,
        path: String,
    },
}

impl Fleet {
    fn add(&mut self, instance: Instance, place: Place) {
        self.landscape.instances.push(instance);
        self.places.push(place);
    }

    /// Where an instance is written.
    pub fn origin(&self, index: usize) -> Option<Origin> {
        self.resolve(self.places.get(index)?)
    }

    fn resolve(&self, place: &Place) -> Option<Origin> {
        match place {
            Place::At(origin) => Some(origin.clone()),
            Place::In { text, path } => {
                let (file, text) = self.texts.get(*text)?;
                Some(texts::origin(file, text, path))
            }
        }
    }

    /// How an instance is told from the others of its component: the seed of a gardenlet, the name of an extension, else
    /// its position, if there are several.
    pub fn name_of(&self, index: usize) -> Option<String> {
        name_of(&self.landscape.instances, index)
    }

    /// All clusters with their Kubernetes versions, those of Shoots included.
    pub fn all_clusters(&self) -> Vec<(String, String)> {
        let shoots = self.shoots.iter().map(|shoot| (shoot.name.clone(), shoot.kubernetes.clone()));
        self.clusters.iter().cloned().chain(shoots).collect()
    }

    /// The highest version of a minor that somebody has.
    pub fn highest_of(&self, minor: (u64, u64)) -> Option<GardenerVersion> {
        let own = self.landscape.instances.iter().filter(|instance| instance.component != Component::Extension);
        let texts = own.map(|instance| &instance.version).chain(&self.landscape.garden);
        texts.filter_map(|text| GardenerVersion::parse(text)).filter(|version| version.minor() == minor).max()
    }

    /// An instance whose version does not parse.
    ///
    /// # Errors
    /// There is one: where.
    pub fn parsable(&self) -> Result<(), Error> {
        let refuse = |what: String, version: &str, origin: Option<Origin>| {
            let place = origin.map_or_else(String::new, |origin| format!("{origin}: "));
            Err(Error::input(format!("{place}{what} has version {version:?}, which is none"), "write it as 1.120.0"))
        };
        for (index, instance) in self.landscape.instances.iter().enumerate() {
            if GardenerVersion::parse(&instance.version).is_none() {
                return refuse(shown(instance), &instance.version, self.origin(index));
            }
        }
        match &self.landscape.garden {
            Some(version) if GardenerVersion::parse(version).is_none() => {
                let origin = self.garden_place.as_ref().and_then(|place| self.resolve(place));
                refuse("the Garden".to_owned(), version, origin)
            }
            _ => Ok(()),
        }
    }
}

/// An instance in words: `gardenlet of seed a`.
pub fn shown(instance: &Instance) -> String {
    domain::upgrade::shown(instance.component, &instance.owner)
}

fn name_of(instances: &[Instance], index: usize) -> Option<String> {
    let instance = instances.get(index)?;
    if !instance.owner.is_empty() {
        return Some(instance.owner.clone());
    }
    let of_component = |one: &&Instance| one.component == instance.component;
    let count = instances.iter().filter(of_component).count();
    (count > 1).then(|| instances[..index].iter().filter(of_component).count().to_string())
}

/// Files of either form: LANDSCAPE.yaml, or what kubectl prints.
///
/// # Errors
/// They cannot be read, or say nothing of Gardener's components.
pub fn of_files(paths: &[PathBuf]) -> Result<Fleet, Error> {
    let mut fleet = Fleet::default();
    let mut objects = objects::Objects::default();
    for path in paths {
        if path.is_dir() {
            objects.read_folder(path)?;
            continue;
        }
        let text = manifests::text_of(path)?;
        let name = path.display().to_string();
        if has_objects(&text) {
            objects.read(&name, &text)?;
        } else {
            file::read(&name, text, &mut fleet)?;
        }
    }
    objects.complete(&mut fleet);
    if fleet.landscape.instances.is_empty() && fleet.landscape.garden.is_none() {
        let names: Vec<String> = paths.iter().map(|path: &PathBuf| path.display().to_string()).collect();
        return Err(Error::input(
            format!("{}: there is not a component of Gardener", names.join(", ")),
            "give a LANDSCAPE.yaml, or Deployments, Seeds and the Garden as kubectl prints them",
        ));
    }
    Ok(fleet)
}

/// Worker pools whose hash has the first form, by the Secret of a control plane that holds the keys.
fn first_hash_forms(secret: &Secret) -> Vec<String> {
    let keys = secret.data.get(StoredKeys::DATA).and_then(|data| yaml::from_slice::<Vec<StoredKeys>>(&data.0).ok());
    let first = keys.into_iter().flatten().filter(|pool| pool.forms().current == HashVersion::V1);
    first.map(|pool| format!("{}/{}", secret.metadata.namespace, pool.name)).collect()
}

/// Whether a text holds objects of Kubernetes.
fn has_objects(text: &str) -> bool {
    let is_key = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-{,".contains(c));
        line.starts_with("apiVersion:") || line.starts_with("\"apiVersion\"")
    };
    text.lines().any(is_key)
}
