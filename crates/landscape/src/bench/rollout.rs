// SPDX-License-Identifier: Apache-2.0
//! Benchmark of one roll-out: all nodes of a pool are replaced, and their pods move.

use api::cluster;
use api::constants::{operation_state, operation_type};
use api::core::Shoot;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Node;
use apimachinery::meta::IntOrString;
use chrono::TimeDelta;
use controller::{Api, ListOptions, Patch};
use serde::Serialize;
use serde_json::json;

use super::{Probe, start};
use crate::failure::Failure;
use crate::landscape::Landscape;
use crate::options::Options;
use crate::{preset, wait};

/// Name of the Shoot.
const NAME: &str = "s";
/// Project of the Shoot.
const PROJECT: &str = "demo";
/// Number of pods of a Deployment: no owner may create more than 10,000 objects at one instant.
const PODS_OF_DEPLOYMENT: usize = 1_000;
/// Image version to which the nodes are rolled.
const IMAGE: &str = "1096.1.0";

/// Figures of a roll-out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// Number of replaced nodes.
    pub nodes: usize,
    /// Number of pods on them.
    pub pods: usize,
    /// Seconds from the change of the Shoot to its `Reconcile Succeeded`.
    pub seconds: f64,
    /// Milliseconds for each machine.
    pub milliseconds_per_machine: f64,
    /// Duration in seconds of landscape time.
    pub landscape_seconds: i64,
    /// Entries for each machine, including those of its pods.
    pub entries_per_machine: f64,
    /// Resident memory at the end in bytes, as reported by the kernel.
    pub resident: u64,
}

/// Rolls a pool of `nodes` nodes, ten percent of them at a time, with `pods_per_node` pods on each.
pub fn rollout(nodes: usize, pods_per_node: usize, seed: u64, probe: &Probe<'_>) -> Result<Rollout, Failure> {
    let mut options = Options::new(seed, start());
    options.history = Some(100_000);
    options.workload = true;
    let landscape = Landscape::start(options)?;
    let admin = landscape.client("admin");
    let refused = |error| Failure::Refused("create the objects of the benchmark".to_owned(), error);
    let limit = start() + TimeDelta::days(30);
    let prepared = landscape.run_until_done(limit, preset::create(&admin))?;
    prepared.ok_or_else(|| landscape.stuck())?.map_err(refused)?;

    let shoot_cluster = cluster::technical_id(PROJECT, NAME);
    let count = i32::try_from(nodes).unwrap_or(i32::MAX);
    let api = Api::<Shoot>::namespaced(&admin, cluster::GARDEN, preset::NAMESPACE);
    let mut shoot = preset::shoot(NAME);
    let worker = &mut shoot.spec.provider.workers[0];
    (worker.minimum, worker.maximum) = (count, count);
    worker.max_surge = Some(IntOrString::String("10%".to_owned()));
    let succeeded = |type_: &'static str| {
        move |shoot: &Shoot| {
            let operation = shoot.status.last_operation.as_ref();
            shoot.status.observed_generation == shoot.metadata.generation
                && operation
                    .is_some_and(|operation| operation.r#type == type_ && operation.state == operation_state::SUCCEEDED)
        }
    };
    let pods = nodes * pods_per_node;
    let deployment = |number: usize, replicas: usize| -> Deployment {
        let name = format!("web-{number}");
        preset::typed(json!({
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"terminationGracePeriodSeconds": 30, "containers": [{"name": "web", "image": "web:1"}]},
                },
            },
        }))
    };
    let created = landscape.run_until_done(limit, async {
        api.create(&shoot).await?;
        wait::for_object(&api, NAME, succeeded(operation_type::CREATE)).await?;
        let deployments = Api::<Deployment>::namespaced(&admin, &shoot_cluster, "default");
        for number in 0..pods.div_ceil(PODS_OF_DEPLOYMENT) {
            let replicas = PODS_OF_DEPLOYMENT.min(pods - number * PODS_OF_DEPLOYMENT);
            let created = deployments.create(&deployment(number, replicas)).await?;
            let wanted = i32::try_from(replicas).unwrap_or(i32::MAX);
            wait::for_object(&deployments, &created.metadata.name, |it| it.status.ready_replicas >= wanted).await?;
        }
        Ok(())
    })?;
    created.ok_or_else(|| landscape.stuck())?.map_err(refused)?;

    let (began, before, from) = ((probe.wall)(), landscape.counts().entries, landscape.now());
    let rolled = landscape.run_until_done(limit, async {
        let patch = json!([{
            "op": "replace", "path": "/spec/provider/workers/0/machine/image/version", "value": IMAGE,
        }]);
        let changed = api.patch(NAME, &Patch::Json(patch)).await?;
        let generation = changed.metadata.generation;
        let is_done = succeeded("Reconcile");
        wait::for_object(&api, NAME, |shoot| shoot.metadata.generation >= generation && is_done(shoot)).await
    })?;
    rolled.ok_or_else(|| landscape.stuck())?.map_err(refused)?;
    let seconds = (probe.wall)() - began;
    let entries = landscape.counts().entries - before;
    let landscape_seconds = (landscape.now() - from).num_seconds();
    let (left, _) =
        landscape.run(Api::<Node>::all(&admin, &shoot_cluster).list(&ListOptions::default()))?.map_err(refused)?;
    let is_new = |node: &&Node| node.status.node_info.os_image.ends_with(IMAGE);
    let replaced = left.iter().filter(is_new).count();
    if replaced < nodes {
        return Err(landscape.stuck());
    }
    let machines = nodes.max(1) as f64;
    Ok(Rollout {
        nodes: replaced,
        pods,
        seconds,
        milliseconds_per_machine: seconds * 1e3 / machines,
        landscape_seconds,
        entries_per_machine: entries as f64 / machines,
        resident: (probe.resident)(),
    })
}
