// SPDX-License-Identifier: Apache-2.0
//! Versions of a running landscape: Leases of its instances, and other facts from its objects.

use std::sync::Arc;

use api::catalogue;
use api::cluster;
use api::constants::{annotation, namespace};
use api::core::{Seed, Shoot};
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::{ConfigMap, Pod, Secret};
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use controller::{Api, ListOptions};
use domain::garden::control_plane::CONFIGURATION_KEY;
use domain::skew::notes::{GateSetting, ShootVersions};
use domain::skew::{Component, Instance, Landscape, lease};
use domain::worker_pool::StoredKeys;
use process::Context;
use serde_json::{Value, json};

use super::objects::{self, gates_of, gates_of_arguments};
use super::{Fleet, distinct, first_hash_forms};
use crate::Error;
use crate::read;
use crate::upgrade::components::gardenlets::{Pin, undeployed_changes};
use crate::upgrade::components::{Row, crashes, missing};

/// API groups.
const CORE: &str = "core.gardener.cloud";
const OPERATOR: &str = "operator.gardener.cloud";

/// Reads the instances of a running landscape from their Leases, and other facts from its objects.
///
/// # Errors
/// The error of the request for the Leases.
pub async fn of_landscape(context: &Context) -> Result<Fleet, Error> {
    let mut fleet = without_shoots(context).await?;
    // An API that is not served has no objects: without a gardener-apiserver no Shoots are served.
    let shoots = Api::<Shoot>::all(context, cluster::GARDEN).list(&ListOptions::default()).await;
    fleet.shoots = shoots.map(|(shoots, _)| shoots).unwrap_or_default().iter().map(versions_of).collect();
    let (deployments, pods) = deployed(context).await?;
    fleet.crashes = crashes(&deployments, &pods);
    let rows = deployments.iter().map(|deployment| Row::of(deployment, &pods));
    fleet.pending = rows.filter_map(|row| row.pending(&fleet.landscape)).collect();
    let gardenlets = gardenlets(context).await;
    fleet.pins = gardenlets.iter().filter_map(|gardenlet| Pin::of(gardenlet)).collect();
    fleet.notes.extend(undeployed_changes(&gardenlets, &deployments));
    fleet.absent = absent(context, &deployments, &gardenlets, &fleet.landscape).await?;
    fleet.first_hash_forms = first_hash_pools(context).await?;
    Ok(fleet)
}

/// Worker pools whose hash has the first form, `NAMESPACE OF THE CONTROL PLANE/POOL`, sorted.
///
/// # Errors
/// The error of the request for the Secrets of control planes.
pub async fn first_hash_pools(context: &Context) -> Result<Vec<String>, Error> {
    let keys = ListOptions::with_field(&format!("metadata.name={}", StoredKeys::SECRET));
    let keys: Vec<Secret> = Api::all(context, "*").list(&keys).await?.0;
    let mut pools: Vec<String> = keys.iter().flat_map(first_hash_forms).collect();
    pools.sort_unstable();
    Ok(pools)
}

/// Reads the landscape like [`of_landscape`], without its Shoots, for callers that have them already.
///
/// # Errors
/// The error of the request for the Leases.
pub async fn without_shoots(context: &Context) -> Result<Fleet, Error> {
    let all = ListOptions::default();
    let leases = Api::<Lease>::namespaced(context, cluster::GARDEN, namespace::INSTANCES).list(&all).await?.0;
    let landscape = lease::landscape(leases.iter().map(|lease| &lease.metadata), "");
    let mut fleet = Fleet { landscape, ..Fleet::default() };
    // An API that is not served has no objects: without a gardener-apiserver no Seeds are served.
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
            if let Some(library) = objects::declared(extension)
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

/// Returns the components that are not started, with the reason.
///
/// # Errors
/// The error of the requests for Deployments, Gardens and Leases.
pub async fn not_started(context: &Context) -> Result<Vec<String>, Error> {
    let (deployments, _) = deployed(context).await?;
    let leases = Api::<Lease>::namespaced(context, cluster::GARDEN, namespace::INSTANCES);
    let leases = leases.list(&ListOptions::default()).await?.0;
    let running = lease::landscape(leases.iter().map(|lease| &lease.metadata), "");
    absent(context, &deployments, &gardenlets(context).await, &running).await
}

/// Returns all Gardenlets; none without a gardener-apiserver, which serves them.
async fn gardenlets(context: &Context) -> Vec<Arc<Gardenlet>> {
    let all = ListOptions::default();
    let gardenlets = Api::<Gardenlet>::namespaced(context, cluster::GARDEN, namespace::GARDEN).list(&all).await;
    gardenlets.map(|(gardenlets, _)| gardenlets).unwrap_or_default().into_iter().map(Arc::new).collect()
}

async fn absent(
    context: &Context,
    deployments: &[Arc<Deployment>],
    gardenlets: &[Arc<Gardenlet>],
    running: &Landscape,
) -> Result<Vec<String>, Error> {
    let all = ListOptions::default();
    let (gardens, _) = Api::<Garden>::all(context, cluster::RUNTIME).list(&all).await?;
    // Without a gardener-apiserver no Seeds are served.
    let seeds = Api::<Seed>::all(context, cluster::GARDEN).list(&all).await.map(|(seeds, _)| seeds);
    let seeds: Vec<Arc<Seed>> = seeds.unwrap_or_default().into_iter().map(Arc::new).collect();
    let rows = deployments.iter().map(|deployment| Row::of(deployment, &[]));
    let rows = rows.chain(missing(deployments, !gardens.is_empty(), &seeds, gardenlets));
    Ok(rows.filter_map(|row| row.absence(running)).collect())
}

/// Returns the Deployments of Gardener's components, and their pods.
async fn deployed(context: &Context) -> Result<(Vec<Arc<Deployment>>, Vec<Arc<Pod>>), Error> {
    let ours = ListOptions::labelled("app=gardener");
    let (deployments, _) = Api::<Deployment>::all(context, "*").list(&ours).await?;
    let (pods, _) = Api::<Pod>::all(context, "*").list(&ours).await?;
    let deployments: Vec<Arc<Deployment>> = deployments.into_iter().map(Arc::new).collect();
    let pods: Vec<Arc<Pod>> = pods.into_iter().map(Arc::new).collect();
    Ok((deployments, pods))
}

fn kubernetes_of(seed: &Value) -> Option<&str> {
    seed["status"]["kubernetesVersion"].as_str().filter(|version| !version.is_empty())
}

/// Returns the feature gates in the components' configuration: arguments of their Deployments, and mounted files.
pub async fn gates(context: &Context) -> Vec<GateSetting> {
    let ours = ListOptions::labelled("app=gardener");
    let deployments = Api::<Deployment>::all(context, "*").list(&ours).await.map(|(list, _)| list);
    let maps = Api::<ConfigMap>::all(context, "*").list(&ListOptions::default()).await.map(|(list, _)| list);
    gates_in(&deployments.unwrap_or_default(), &maps.unwrap_or_default())
}

/// Returns the feature gates that gardener-controller-manager sets. Unreadable configuration sets none.
pub async fn manager_gates(context: &Context) -> Vec<GateSetting> {
    let own = ListOptions::with_field(&format!("metadata.name={}", Component::ControllerManager.name()));
    let deployments = Api::<Deployment>::all(context, cluster::RUNTIME).list(&own).await.map(|(list, _)| list);
    let deployments = deployments.unwrap_or_default();
    let mut maps = Vec::new();
    for deployment in &deployments {
        let api = Api::<ConfigMap>::namespaced(context, cluster::RUNTIME, &deployment.metadata.namespace);
        maps.extend(api.list(&ListOptions::default()).await.map(|(list, _)| list).unwrap_or_default());
    }
    gates_in(&deployments, &maps)
}

/// Returns the feature gates of Deployments; a ConfigMap that no Deployment mounts is obsolete.
fn gates_in(deployments: &[Deployment], maps: &[ConfigMap]) -> Vec<GateSetting> {
    let mut gates = Vec::new();
    for deployment in deployments {
        let Some(component) = Component::named(&deployment.metadata.name) else { continue };
        let cluster = deployment.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
        let seed = cluster::seed(cluster).unwrap_or_default();
        let pod = &deployment.spec.template.spec;
        for container in &pod.containers {
            let tree = json!({ "args": container.args, "command": container.command });
            gates.extend(gates_of_arguments(&tree, component));
        }
        let mounted = pod.volumes.iter().filter_map(|volume| volume.config_map.as_ref());
        for mounted in mounted {
            let is_it = |map: &&ConfigMap| {
                map.metadata.name == mounted.name
                    && map.metadata.namespace == deployment.metadata.namespace
                    && map.metadata.annotation(annotation::CLUSTER).unwrap_or_default() == cluster
            };
            let file = maps.iter().find(is_it).and_then(|map| map.data.get(CONFIGURATION_KEY));
            let read = file.and_then(|text| yaml::value(text).ok()).unwrap_or_default();
            gates.extend(gates_of(&read["featureGates"], component, seed));
        }
    }
    distinct(&mut gates);
    gates
}

/// Returns the facts about a Shoot that release notes depend on.
pub fn versions_of(shoot: &Shoot) -> ShootVersions {
    let seed = shoot.status.seed_name.as_ref().or(shoot.spec.seed_name.as_ref());
    ShootVersions {
        name: format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name),
        seed: seed.cloned(),
        gardener: shoot.status.gardener.version.clone(),
        kubernetes: shoot.spec.kubernetes.version.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: serde::de::DeserializeOwned>(tree: Value) -> T {
        serde_json::from_value(tree).expect("an object")
    }

    fn deployment(name: &str, cluster: &str, args: &[&str], map: &str) -> Deployment {
        read(json!({
            "metadata": { "name": name, "namespace": "garden", "annotations": { annotation::CLUSTER: cluster } },
            "spec": { "template": { "spec": {
                "containers": [{ "name": name, "args": args }],
                "volumes": [{ "name": "config", "configMap": { "name": map } }],
            } } },
        }))
    }

    fn map(name: &str, cluster: &str, gates: &str) -> ConfigMap {
        read(json!({
            "metadata": { "name": name, "namespace": "garden", "annotations": { annotation::CLUSTER: cluster } },
            "data": { "config.yaml": format!("kind: X\nfeatureGates: {gates}\n") },
        }))
    }

    /// gardener-operator and gardenlet name a ConfigMap by a hash of its content, and keep older ones.
    #[test]
    fn gates_are_those_of_mounted_config_maps() {
        let deployments = [
            deployment("gardener-apiserver", "runtime", &["--profile=documents", "--feature-gates=A=true,B=false"], ""),
            deployment("gardener-scheduler", "runtime", &[], "gardener-scheduler-config"),
            deployment("gardenlet", "seed--a", &[], "gardenlet-config-11111111"),
            deployment("gardenlet", "seed--b", &[], "gardenlet-config-22222222"),
            deployment("other", "runtime", &["--feature-gates=Z=true"], "gardenlet-config-11111111"),
        ];
        let maps = [
            map("gardener-scheduler-config", "runtime", "{S: true}"),
            map("gardenlet-config-00000000", "seed--a", "{Old: true}"),
            map("gardenlet-config-11111111", "seed--a", "{C: true}"),
            map("gardenlet-config-22222222", "seed--b", "{D: false}"),
            map("gardenlet-config-22222222", "seed--c", "{E: true}"),
        ];
        let found = gates_in(&deployments, &maps);
        let shown: Vec<String> = found
            .iter()
            .map(|gate| format!("{} {:?} {}={}", gate.component.name(), gate.owner, gate.name, gate.on))
            .collect();
        assert_eq!(
            shown,
            [
                "gardener-apiserver \"\" A=true",
                "gardener-apiserver \"\" B=false",
                "gardener-scheduler \"\" S=true",
                "gardenlet \"a\" C=true",
                "gardenlet \"b\" D=false",
            ]
        );
    }

    /// Context of requests to a server with some objects, by the plurals of their kinds. Other kinds but Leases are not
    /// served.
    fn context(objects: Vec<(&'static str, Value)>) -> Context {
        let transport = process::Transport::new(move |request| {
            let plural = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            let items: Vec<&Value> =
                objects.iter().filter(|(known, _)| *known == plural).map(|(_, object)| object).collect();
            let code = if items.is_empty() && plural != "leases" { 404 } else { 200 };
            let body = json!({ "metadata": { "resourceVersion": "9" }, "items": items }).to_string();
            Box::pin(async move {
                let answer = http::Response::builder().status(code).header("content-type", "application/json");
                Ok(answer.body(process::transport::full(body)).expect("an answer"))
            })
        });
        Context {
            identity: process::Identity {
                component: "terrarium".into(),
                instance: "terrarium".into(),
                version: "v1.120.0".into(),
            },
            clock: clock::Clock::wall(),
            random: clock::Random::new(1),
            wall: clock::Clock::wall(),
            transport,
            tasks: process::Tasks::new(),
            output: process::Output::new(|_| {}),
        }
    }

    /// gardener-operator registers an Extension some time after it was applied.
    #[tokio::test]
    async fn an_extension_counts_once_before_and_after_its_registration() {
        let declares = |plural: &'static str, version: &str| {
            let annotations = json!({ annotation::EXTENSIONS_LIBRARY_VERSION: version });
            (plural, json!({ "metadata": { "name": "mine", "annotations": annotations } }))
        };
        let (applied, registered) = ("extensions", "controllerdeployments");
        for (objects, expected) in [
            (vec![], None),
            (vec![declares(applied, "v1.119.0")], Some("v1.119.0")),
            (vec![declares(registered, "v1.119.0"), declares(applied, "v1.119.0")], Some("v1.119.0")),
            // The operator has not taken over a later change.
            (vec![declares(registered, "v1.119.0"), declares(applied, "v1.120.0")], Some("v1.119.0")),
            (vec![declares(registered, "v1.119.0"), declares(applied, "")], Some("v1.119.0")),
            (vec![declares(applied, "")], None),
        ] {
            let case = format!("{objects:?}");
            let fleet = without_shoots(&context(objects)).await.expect("Leases are served");
            let expected: Vec<Instance> =
                expected.map(|version| Instance::owned(Component::Extension, "mine", version)).into_iter().collect();
            assert_eq!(fleet.landscape.instances, expected, "{case}");
        }
    }
}
