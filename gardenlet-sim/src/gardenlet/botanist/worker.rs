// SPDX-License-Identifier: Apache-2.0
//! The Worker object, and the tasks that wait for nodes.

use api::constants::{annotation, label, operation};
use api::core::{MachineType, Worker as Pool};
use api::extensions::{
    ClusterAutoscalerOptions, DataVolume, MachineImage, NodeTemplate, Volume, Worker, WorkerPool, WorkerSpec,
};
use api::kubernetes::core::{SecretKeySelector, SecretReference};
use apimachinery::meta::ObjectMeta;
use apimachinery::meta::TextMap;
use chrono::TimeDelta;
use domain::in_place::{self, Operation};
use domain::rollout::node::update_timeout;
use domain::rotation;
use domain::worker_pool::{self, HashVersion, UpdateStrategy, outdated_node};

use super::super::in_place::settle_operation;
use super::{Botanist, Failure};

impl Botanist {
    pub(crate) async fn deploy_worker(&self) -> Result<(), Failure> {
        let store = &self.gardenlet.stores.workers;
        let name = &self.shoot.metadata.name;
        let present = store.get(&self.gardenlet.seed_key(&self.technical_id, name));
        let spec = &self.shoot.spec;
        let pools = spec.provider.workers.iter().map(|pool| self.worker_pool(pool, present.as_deref())).collect();
        let wanted = Worker {
            metadata: ObjectMeta::named(&self.technical_id, name),
            spec: WorkerSpec {
                r#type: spec.provider.r#type.clone(),
                region: spec.region.clone(),
                secret_ref: SecretReference { name: "cloudprovider".to_owned(), namespace: self.technical_id.clone() },
                infrastructure_provider_status: self.infrastructure_status(),
                pools,
                ..WorkerSpec::default()
            },
            ..Worker::default()
        };
        // Neither hibernation nor the times of rotations are part of the Worker: the extension reads them from the
        // Cluster, so a change forces it to act.
        let status = &self.shoot.status;
        let is_forced = self.facts.hibernated != status.hibernated || rotation::may_roll_nodes(status);
        let before = present.as_ref().and_then(|worker| worker.status.machine_deployments_last_update_time);
        let before = before.unwrap_or_default();
        if self.write_extension(&wanted, store, is_forced, false).await? {
            self.run().machine_deployments_before = Some(before);
        }
        Ok(())
    }

    fn worker_pool(&self, pool: &Pool, present: Option<&Worker>) -> WorkerPool {
        let shoot = &self.shoot;
        let machine_type = self.cloud_profile.machine_types.iter().find(|each| each.name == pool.machine.r#type);
        let image = pool.machine.image.clone().unwrap_or_default();
        let strategy = UpdateStrategy::of(pool.update_strategy.as_deref());
        let inputs = worker_pool::HashInputs::of_shoot(shoot, pool);
        let version = self.hash_version(&pool.name);
        let key = inputs.osc_key(version, self.gardenlet.release());
        let present = present.and_then(|worker| worker.spec.pools.iter().find(|each| each.name == pool.name));
        let node_template = match present {
            Some(present) if present.machine_type == pool.machine.r#type && present.node_template.is_some() => {
                present.node_template.clone()
            }
            _ => machine_type.map(node_template),
        };
        // The API server has set this default, like all defaults of a pool.
        let architecture = pool.machine.architecture.clone().unwrap_or_default();
        WorkerPool {
            name: pool.name.clone(),
            minimum: pool.minimum,
            maximum: pool.maximum,
            max_surge: pool.max_surge.clone().unwrap_or_default(),
            max_unavailable: pool.max_unavailable.clone().unwrap_or_default(),
            annotations: pool.annotations.clone(),
            labels: self.node_labels(pool, &key, &architecture),
            taints: pool.taints.clone(),
            machine_type: pool.machine.r#type.clone(),
            machine_image: MachineImage { name: image.name, version: image.version.unwrap_or_default() },
            node_agent_secret_name: (version == HashVersion::V2 || strategy.is_in_place()).then(|| key.clone()),
            provider_config: pool.provider_config.clone(),
            user_data_secret_ref: SecretKeySelector {
                name: self.user_data_secret(&inputs, version),
                key: "cloud_config".to_owned(),
                ..SecretKeySelector::default()
            },
            volume: pool.volume.as_ref().map(|volume| Volume {
                name: volume.name.clone(),
                r#type: volume.r#type.clone(),
                size: volume.size.clone(),
                encrypted: volume.encrypted,
            }),
            data_volumes: pool
                .data_volumes
                .iter()
                .map(|volume| DataVolume {
                    name: volume.name.clone(),
                    r#type: volume.r#type.clone(),
                    size: volume.size.clone(),
                    encrypted: volume.encrypted,
                })
                .collect(),
            kubelet_data_volume_name: pool.kubelet_data_volume_name.clone(),
            zones: pool.zones.clone(),
            machine_controller_manager: worker_pool::machine_settings(pool, machine_type, self.gardenlet.release()),
            kubernetes_version: Some(worker_pool::kubernetes_version(shoot, pool).to_owned()),
            kubelet_config: worker_pool::kubelet_config(shoot, pool).cloned(),
            node_template,
            architecture: Some(architecture),
            cluster_autoscaler: pool.cluster_autoscaler.as_ref().map(|options| ClusterAutoscalerOptions {
                scale_down_utilization_threshold: options.scale_down_utilization_threshold.map(|t| t.to_string()),
                scale_down_gpu_utilization_threshold: options
                    .scale_down_gpu_utilization_threshold
                    .map(|t| t.to_string()),
                scale_down_unneeded_time: options.scale_down_unneeded_time,
                scale_down_unready_time: options.scale_down_unready_time,
                max_node_provision_time: options.max_node_provision_time,
            }),
            priority: pool.priority,
            update_strategy: pool.update_strategy.clone(),
        }
    }

    /// Returns the labels of a pool's Nodes: the user's, overridden by Gardener's own.
    fn node_labels(&self, pool: &Pool, key: &str, architecture: &str) -> TextMap {
        let mut labels = pool.labels.clone();
        let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
        label(label::NODE_ROLE, "node");
        label(label::ARCHITECTURE, architecture);
        let node_local_dns = self
            .shoot
            .spec
            .system_components
            .as_ref()
            .and_then(|components| components.node_local_dns.as_ref())
            .is_some_and(|dns| dns.enabled);
        label(label::NODE_LOCAL_DNS, if node_local_dns { "true" } else { "false" });
        if pool.system_components.as_ref().is_none_or(|components| components.allow) {
            label(label::WORKER_SYSTEM_COMPONENTS, "true");
        }
        label(label::WORKER_POOL, &pool.name);
        label(label::WORKER_POOL_DEPRECATED, &pool.name);
        label(label::NODE_AGENT_SECRET_NAME, key);
        if let Some(cri) = &pool.cri {
            label(label::WORKER_CRI_NAME, &cri.name);
            for runtime in &cri.container_runtimes {
                label(&format!("{}{}", label::CONTAINER_RUNTIME_PREFIX, runtime.r#type), "true");
            }
        }
        labels
    }

    /// Waits until the Worker lists its updated MachineDeployments, if it was written.
    pub(crate) async fn await_machine_deployments(&self) -> Result<(), Failure> {
        let Some(before) = self.run().machine_deployments_before else { return Ok(()) };
        let name = &self.shoot.metadata.name;
        let key = self.gardenlet.seed_key(&self.technical_id, name);
        let store = &self.gardenlet.stores.workers;
        let listed = || {
            let worker = store.get(&key)?;
            let updated = worker.status.machine_deployments_last_update_time?;
            // Times have whole seconds: two deployments within one second are distinguished by readiness.
            let is_ready = worker.status.observed_generation == worker.metadata.generation
                && !worker.metadata.annotations.contains_key(annotation::OPERATION);
            (updated > before || is_ready).then_some(())
        };
        match self.gardenlet.wait(&self.technical_id, TimeDelta::minutes(10), listed).await {
            Some(()) => Ok(()),
            None => Err(Failure::text(format!(
                "Error while waiting for {} to become ready: worker status has not been updated with latest machine \
                 deployments yet",
                self.object_name::<Worker>(name)
            ))),
        }
    }

    /// Records that the Worker is ready: pools with automatic in-place updates are done; if nothing is pending, the
    /// force operation is removed.
    pub(crate) async fn finish_in_place_updates(&self) -> Result<(), Failure> {
        let is_forced = self.shoot.metadata.annotation(annotation::OPERATION) == Some(operation::FORCE_IN_PLACE_UPDATE);
        if self.shoot.status.in_place_updates.is_none() && !is_forced {
            return Ok(());
        }
        let api = self.gardenlet.shoots(&self.shoot.metadata.namespace);
        loop {
            let present = api.get(&self.shoot.metadata.name).await?;
            let mut new = present.clone();
            in_place::worker_is_ready(&mut new.status);
            match api.update_status(&present, &new).await {
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
                Ok(stored) if in_place::operation_after(&stored) == Operation::Remove => {
                    settle_operation(&self.gardenlet, stored).await?;
                    return Ok(());
                }
                Ok(_) => return Ok(()),
            }
        }
    }

    /// Waits until every remaining Node runs the Kubernetes version of its pool.
    pub(crate) async fn await_nodes_updated(&self) -> Result<(), Failure> {
        let nodes = &self.gardenlet.stores.nodes;
        let outdated = || {
            let nodes = nodes.list_in_cluster(&self.technical_id);
            let release = self.gardenlet.release();
            outdated_node(&self.shoot, |pool| self.hash_version(pool), release, nodes.iter().map(|node| &**node))
        };
        let timeout = update_timeout(&self.shoot.metadata.annotations);
        let done = || outdated().is_none().then_some(());
        match self.gardenlet.wait(&self.technical_id, timeout, done).await {
            Some(()) => Ok(()),
            None => outdated().map_or(Ok(()), |outdated| Err(Failure::text(outdated.to_string()))),
        }
    }
}

fn node_template(machine_type: &MachineType) -> NodeTemplate {
    let capacity = [("cpu", &machine_type.cpu), ("gpu", &machine_type.gpu), ("memory", &machine_type.memory)];
    NodeTemplate {
        capacity: capacity.into_iter().map(|(name, quantity)| (name.to_owned(), *quantity)).collect(),
        ..NodeTemplate::default()
    }
}
