// SPDX-License-Identifier: Apache-2.0
//! Versions of a landscape, and the facts that release notes depend on, from a file, manifests or a running landscape.
//!
//! **Tour.** [`file`] LANDSCAPE.yaml, [`plan`] PLAN.yaml, over [`texts`], YAML whose numbers stay texts; [`objects`] the
//! output of kubectl; [`running`] the running landscape.

mod file;
mod objects;
pub mod plan;
mod running;
mod texts;

use std::collections::BTreeSet;
use std::path::PathBuf;

use api::kubernetes::core::Secret;
use domain::skew::notes::{GateSetting, ShootVersions};
use domain::skew::{Component, GardenerVersion, Instance, Landscape};
use domain::worker_pool::{HashVersion, StoredKeys};

use crate::Error;
use crate::manifests::{self, Origin};
use crate::upgrade::components::Crash;
use crate::upgrade::components::gardenlets::Pin;

pub use file::key;
pub use running::{first_hash_pools, gates, manager_gates, not_started, of_landscape, versions_of, without_shoots};

/// Versions of a landscape's components and objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// Name of the running landscape; None: the versions were read from files.
    pub name: Option<String>,
    /// Instances of the components.
    pub landscape: Landscape,
    /// Places of the instances in the files, in the same order; empty for a running landscape.
    places: Vec<Place>,
    /// Place of the Garden's version in the files.
    garden_place: Option<Place>,
    /// Input texts with their names.
    texts: Vec<(String, String)>,
    /// Shoots with the facts that release notes depend on.
    pub shoots: Vec<ShootVersions>,
    /// Garden and Seeds by name, with their Kubernetes versions.
    pub clusters: Vec<(String, String)>,
    /// Feature gates that components set.
    pub gates: Vec<GateSetting>,
    /// Gardenlets that pin a version.
    pub pins: Vec<Pin>,
    /// Worker pools whose hash has the first form, `NAMESPACE OF THE CONTROL PLANE/POOL`.
    pub first_hash_forms: Vec<String>,
    /// Gardenlets in the cluster of gardener-operator.
    pub gardenlets_of_runtime: Vec<Instance>,
    /// Processes of components that do not start; empty for files.
    pub crashes: Vec<Crash>,
    /// Components that are not started, with the reason; empty for files.
    pub absent: Vec<String>,
    /// Components whose processes have started and do not run yet, with the reason; empty for files.
    pub pending: Vec<String>,
    /// Notes about ignored input, with the reason.
    pub notes: Vec<String>,
}

/// Place of a value in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    At(Origin),
    /// A path in one of the texts. Its line is resolved only for display, since each resolution reads the text again.
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

    /// Place of an instance in the input; `None` in a running landscape.
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

    /// Name of an instance among those of its component: the seed of a gardenlet, the name of an extension, otherwise its
    /// position if there are several.
    pub fn name_of(&self, index: usize) -> Option<String> {
        name_of(&self.landscape.instances, index)
    }

    /// All clusters, including Shoots, with their Kubernetes versions.
    pub fn all_clusters(&self) -> Vec<(String, String)> {
        let shoots = self.shoots.iter().map(|shoot| (shoot.name.clone(), shoot.kubernetes.clone()));
        self.clusters.iter().cloned().chain(shoots).collect()
    }

    /// Highest version of a minor among the instances, except extensions, and the Garden.
    pub fn highest_of(&self, minor: (u64, u64)) -> Option<GardenerVersion> {
        let own = self.landscape.instances.iter().filter(|instance| instance.component != Component::Extension);
        let texts = own.map(|instance| &instance.version).chain(&self.landscape.garden);
        texts.filter_map(|text| GardenerVersion::parse(text)).filter(|version| version.minor() == minor).max()
    }

    /// Checks that all versions parse.
    ///
    /// # Errors
    /// A version of an instance or of the Garden does not parse; the error has its place.
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

/// Formats an instance, for example `gardenlet of seed a`.
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

/// Reads files of either form: LANDSCAPE.yaml or the output of kubectl.
///
/// # Errors
/// They cannot be read, or contain no component of Gardener.
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

/// Removes repeated entries: several objects may have the same content, for example a Garden and the Deployments that are
/// created from it.
pub(super) fn distinct<T: Clone + Ord>(all: &mut Vec<T>) {
    let mut known = BTreeSet::new();
    all.retain(|one| known.insert(one.clone()));
}

/// Worker pools whose hash has the first form, read from the Secret of a control plane that stores the hashes.
fn first_hash_forms(secret: &Secret) -> Vec<String> {
    let keys = secret.data.get(StoredKeys::DATA).and_then(|data| yaml::from_slice::<Vec<StoredKeys>>(&data.0).ok());
    let first = keys.into_iter().flatten().filter(|pool| pool.forms().current == HashVersion::V1);
    first.map(|pool| format!("{}/{}", secret.metadata.namespace, pool.name)).collect()
}

/// True if a text contains objects of Kubernetes.
fn has_objects(text: &str) -> bool {
    let is_key = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-{,".contains(c));
        line.starts_with("apiVersion:") || line.starts_with("\"apiVersion\"")
    };
    text.lines().any(is_key)
}
