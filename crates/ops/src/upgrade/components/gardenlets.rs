// SPDX-License-Identifier: Apache-2.0
//! Seeds whose gardenlets are not at a version, which holds up the extensions that follow the gardenlets, and Gardenlets
//! whose version cannot be told or is pinned.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, condition, namespace};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Pod;
use api::seedmanagement::Gardenlet;
use domain::conditions;
use domain::garden::gardenlet::version;
use domain::skew::{Component, GardenerVersion, Landscape};

use super::{Absence, has_deployment, obstacle};

/// Objects that show the gardenlets of a landscape; Deployments and pods are those of all components.
#[derive(Clone, Copy, Debug)]
pub struct Gardenlets<'a> {
    /// Registered instances.
    pub running: &'a Landscape,
    /// All Seeds.
    pub seeds: &'a [Arc<Seed>],
    /// All Gardenlets.
    pub gardenlets: &'a [Arc<Gardenlet>],
    /// All Deployments.
    pub deployments: &'a [Arc<Deployment>],
    /// All pods.
    pub pods: &'a [Arc<Pod>],
}

/// Returns the Gardenlets whose version cannot be told, and the reason with its remedy, in their order.
pub(super) fn without_version(gardenlets: &[Arc<Gardenlet>]) -> impl Iterator<Item = (&str, String)> {
    gardenlets.iter().filter_map(|gardenlet| {
        let (name, why) = (&gardenlet.metadata.name, version(gardenlet).err()?);
        let remedy = "set `ref` or `tag` of spec.deployment.helm.ociRepository, without a digest";
        Some((name.as_str(), format!("Gardenlet {}/{name}: {why}; {remedy}", gardenlet.metadata.namespace)))
    })
}

/// Returns notes on the Gardenlets whose version cannot be told and whose gardenlets have a Deployment of an earlier version;
/// those without a Deployment are rows of [`super::missing`].
pub fn undeployed_changes(gardenlets: &[Arc<Gardenlet>], deployments: &[Arc<Deployment>]) -> Vec<String> {
    let is_deployed = |name: &str| has_deployment(deployments, Component::Gardenlet.name(), &cluster::of_seed(name));
    without_version(gardenlets).filter(|(name, _)| is_deployed(name)).map(|(_, why)| why).collect()
}

/// Image tag in a Gardenlet. gardenlet runs this version, not that of its chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    /// Name of the Gardenlet and its Seed.
    pub name: String,
    /// `spec.deployment.image.tag`, not empty.
    pub tag: String,
}

impl Pin {
    /// Returns the pin of a Gardenlet; `None`: it has none.
    pub fn of(gardenlet: &Gardenlet) -> Option<Self> {
        let tag = gardenlet.spec.deployment.image.as_ref()?.tag.clone().filter(|tag| !tag.is_empty())?;
        Some(Self { name: gardenlet.metadata.name.clone(), tag })
    }

    /// Reason for which the gardenlet does not get to a version; `None`: it is the pinned one.
    pub fn obstacle(&self, to: &GardenerVersion) -> Option<String> {
        let Self { name, tag } = self;
        (GardenerVersion::parse(tag).as_ref() != Some(to)).then(|| {
            let namespace = namespace::GARDEN;
            format!("Gardenlet {namespace}/{name} pins spec.deployment.image.tag to {tag}, whatever its chart is")
        })
    }
}

impl Gardenlets<'_> {
    /// Reason for which an extension does not follow the gardenlets to a version, with each Seed that holds it up, by name:
    /// `why; Seed a: no gardenlet is registered, …`.
    pub fn explained(&self, why: String, to: &GardenerVersion) -> String {
        let clusters = self.deployments.iter().filter_map(|one| one.metadata.annotation(annotation::CLUSTER));
        let seeds = self.seeds.iter().map(|seed| seed.metadata.name.as_str());
        let gardenlets = self.gardenlets.iter().map(|gardenlet| gardenlet.metadata.name.as_str());
        let names: BTreeSet<&str> = seeds.chain(gardenlets).chain(clusters.filter_map(cluster::seed)).collect();
        let held = names.into_iter().filter_map(|name| {
            let found = self.obstacles(name, to);
            (!found.is_empty()).then(|| format!("Seed {name}: {}", found.join(", ")))
        });
        std::iter::once(why).chain(held).collect::<Vec<String>>().join("; ")
    }

    /// Reasons for which the gardenlet of a Seed is not at a version, or not ready.
    fn obstacles(&self, seed: &str, to: &GardenerVersion) -> Vec<String> {
        let is_old = |text: &str| GardenerVersion::parse(text).is_none_or(|version| version != *to);
        let mut found = Vec::new();

        let cluster = cluster::of_seed(seed);
        let deployment = self.deployments.iter().find(|deployment| {
            let at = deployment.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
            deployment.metadata.name == Component::Gardenlet.name() && at == cluster
        });
        match deployment {
            None => found.push("there is no Deployment of gardenlet".to_owned()),
            Some(deployment) => match Absence::of(deployment) {
                Some(absence) => found.push(format!("gardenlet does not run: {absence}")),
                None => found.extend(obstacle(deployment, self.pods, to)),
            },
        }

        let instances = self.running.instances.iter();
        let own = instances.filter(|one| one.component == Component::Gardenlet && one.owner == seed);
        let mut versions: Vec<&str> = own.map(|one| one.version.as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        if versions.is_empty() {
            found.push("no gardenlet is registered".to_owned());
        }
        found.extend(versions.iter().filter(|text| is_old(text)).map(|text| format!("gardenlet {text} is registered")));

        let Some(seed) = self.seeds.iter().find(|one| one.metadata.name == seed) else {
            let gardenlet = self.gardenlets.iter().find(|one| one.metadata.name == seed);
            let conditions = gardenlet.map(|gardenlet| gardenlet.status.conditions.as_slice()).unwrap_or_default();
            let registered = conditions::get(conditions, condition::SEED_REGISTERED);
            let why = registered.filter(|it| it.status != condition::TRUE).map(|it| format!(" ({})", it.message));
            found.push(format!("gardenlet has not created the Seed{}", why.unwrap_or_default()));
            return found;
        };
        match &seed.status.gardener {
            None => found.push("gardenlet has not reconciled the Seed".to_owned()),
            Some(last) if is_old(&last.version) => {
                found.push(format!("gardenlet {} has reconciled the Seed last", last.version));
            }
            Some(_) => {}
        }
        match conditions::get(&seed.status.conditions, condition::SEED_GARDENLET_READY) {
            None => found.push("the Seed has no condition GardenletReady".to_owned()),
            Some(ready) if ready.status != condition::TRUE => {
                found.push(format!("GardenletReady is {}: {}", ready.status, ready.message.trim_end_matches('.')));
            }
            Some(_) => {}
        }
        found
    }
}
