// SPDX-License-Identifier: Apache-2.0
//! The versions of a landscape that runs: Leases of its instances, and what its objects say beside them.

use api::catalogue;
use api::cluster;
use api::constants::namespace;
use api::core::Shoot;
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::ConfigMap;
use controller::{Api, ListOptions};
use domain::skew::notes::{GateSetting, ShootVersions};
use domain::skew::{Component, Instance, lease};
use process::Context;
use serde_json::{Value, json};

use super::Fleet;
use super::objects::{self, gates_of, gates_of_arguments};
use crate::past::rows::ShootRow;
use crate::{Error, read};

/// Groups of the API.
const CORE: &str = "core.gardener.cloud";
const OPERATOR: &str = "operator.gardener.cloud";

/// The instances of a landscape that runs, which their Leases tell, and what its objects say beside them.
///
/// # Errors
/// The server's words about the Leases.
pub async fn of_landscape(context: &Context) -> Result<Fleet, Error> {
    let mut fleet = without_shoots(context).await?;
    // What cannot be asked for is not there: without a gardener-apiserver nobody serves Shoots.
    let shoots = Api::<Shoot>::all(context, cluster::GARDEN).list(&ListOptions::default()).await;
    fleet.shoots = shoots.map(|(shoots, _)| shoots).unwrap_or_default().iter().map(versions_of).collect();
    Ok(fleet)
}

/// As [`of_landscape`], for somebody who knows the Shoots already.
///
/// # Errors
/// The server's words about the Leases.
pub async fn without_shoots(context: &Context) -> Result<Fleet, Error> {
    let all = ListOptions::default();
    let leases = Api::<Lease>::namespaced(context, cluster::GARDEN, namespace::INSTANCES).list(&all).await?.0;
    let landscape = lease::landscape(leases.iter().map(|lease| &lease.metadata), "");
    let mut fleet = Fleet { landscape, ..Fleet::default() };
    // What cannot be asked for is not there: without a gardener-apiserver nobody serves Seeds.
    let tree = async |cluster: &str, group: &str, plural: &str| {
        let row = catalogue::all().iter().find(|row| (row.group, row.plural) == (group, plural));
        let path = row.map(|row| read::path(cluster, row, None, None)).unwrap_or_default();
        read::tree(&context.transport, &path, "application/json").await.unwrap_or_default()
    };
    let seeds = tree(cluster::GARDEN, CORE, "seeds").await;
    for seed in seeds["items"].as_array().into_iter().flatten() {
        if let (Some(name), Some(version)) = (seed["metadata"]["name"].as_str(), kubernetes_of(seed)) {
            fleet.clusters.push((format!("Seed {name}"), version.to_owned()));
        }
    }
    for (cluster, group, plural) in
        [(cluster::GARDEN, CORE, "controllerdeployments"), (cluster::RUNTIME, OPERATOR, "extensions")]
    {
        for extension in tree(cluster, group, plural).await["items"].as_array().into_iter().flatten() {
            let name = extension["metadata"]["name"].as_str().unwrap_or_default();
            let is_known = |one: &Instance| one.component == Component::Extension && one.owner == name;
            if let Some(library) = objects::library(extension)
                && !fleet.landscape.instances.iter().any(is_known)
            {
                fleet.landscape.instances.push(Instance::owned(Component::Extension, name, &library));
            }
        }
    }
    let gardens = tree(cluster::RUNTIME, OPERATOR, "gardens").await;
    let garden = gardens["items"].get(0).cloned().unwrap_or_default();
    fleet.landscape.garden = garden["status"]["gardener"]["version"].as_str().map(str::to_owned);
    if let Some(version) = garden["spec"]["virtualCluster"]["kubernetes"]["version"].as_str() {
        fleet.clusters.push(("the Garden".to_owned(), version.to_owned()));
    }
    fleet.gates = gates(context).await;
    Ok(fleet)
}

fn kubernetes_of(seed: &Value) -> Option<&str> {
    seed["status"]["kubernetesVersion"].as_str().filter(|version| !version.is_empty())
}

/// Feature gates in the configuration of the components: files in ConfigMaps `NAME-config`, arguments of
/// gardener-apiserver.
pub async fn gates(context: &Context) -> Vec<GateSetting> {
    let all = ListOptions::default();
    let mut gates = Vec::new();
    let deployments = Api::<Deployment>::all(context, cluster::RUNTIME).list(&all).await.map(|(list, _)| list);
    for deployment in deployments.unwrap_or_default() {
        if deployment.metadata.name == Component::Apiserver.name()
            && let Some(container) = deployment.spec.template.spec.containers.first()
        {
            let tree = json!({ "args": container.args, "command": container.command });
            gates.extend(gates_of_arguments(&tree, Component::Apiserver));
        }
    }
    let maps = Api::<ConfigMap>::all(context, "*").list(&all).await.map(|(list, _)| list).unwrap_or_default();
    for map in maps {
        let name = map.metadata.name.strip_suffix("-config").unwrap_or_default();
        let Some(component) = Component::named(name) else { continue };
        let file = map.data.iter().find(|(key, _)| key.as_str() == "config.yaml").map(|(_, text)| text.as_str());
        let read = file.and_then(|text| yaml::value(text).ok());
        let cluster = map.metadata.annotations.get(api::constants::annotation::CLUSTER);
        let seed = cluster.and_then(|name| cluster::seed(name)).unwrap_or_default();
        gates.extend(gates_of(&read.unwrap_or_default()["featureGates"], component, seed));
    }
    gates
}

/// What notes need to know of a Shoot.
pub fn versions_of(shoot: &Shoot) -> ShootVersions {
    let seed = shoot.status.seed_name.as_ref().or(shoot.spec.seed_name.as_ref());
    ShootVersions {
        name: format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name),
        seed: seed.cloned(),
        gardener: shoot.status.gardener.version.clone(),
        kubernetes: shoot.spec.kubernetes.version.clone(),
    }
}

/// As [`versions_of`], of a row.
pub fn versions_of_row(row: &ShootRow) -> ShootVersions {
    ShootVersions {
        name: row.key(),
        seed: row.placed().map(ToString::to_string),
        gardener: row.gardener.to_string(),
        kubernetes: row.spec.kubernetes.to_string(),
    }
}
