// SPDX-License-Identifier: Apache-2.0
//! The MachineDeployments and MachineClasses desired by a Worker.

use apimachinery::meta::TextMap;

use api::constants::{annotation, api_version, finalizer, label};
use api::core::{MachineControllerManagerSettings, Shoot};
use api::extensions::{Worker, WorkerPool};
use api::kubernetes::core::SecretReference;
use api::machine::{
    ClassSpec, InPlaceUpdateMachineDeployment, MachineClass, MachineDeployment, MachineDeploymentSpec,
    MachineDeploymentStrategy, MachineSpec, MachineTemplateSpec, NodeTemplate, NodeTemplateSpec,
    RollingUpdateMachineDeployment,
};
use apimachinery::meta::{LabelSelector, ObjectMeta, RawExtension};
use serde_json::{Value, json};

use crate::release::Release;

use super::preservation::PRESERVED;
use crate::worker_pool::zones::{Share, distribute, part, suffixes};
use crate::worker_pool::{HashInputs, UpdateStrategy};

/// A MachineDeployment desired by a Worker: a pool, or one zone of a pool.
#[derive(Clone, Debug)]
pub struct DesiredDeployment<'a> {
    /// Name of the MachineDeployment: `<namespace>-<pool>`, with `-z<i>` counting from 1 if the pool has zones.
    pub name: String,
    /// Name of its MachineClass and of the class's Secret: the MachineDeployment's name and the pool's hash.
    pub class_name: String,
    /// The Worker.
    pub worker: &'a Worker,
    /// The pool.
    pub pool: &'a WorkerPool,
    /// The zone; empty for a pool without zones.
    pub zone: &'a str,
    /// The zone's share of the pool.
    pub share: Share,
    /// Maximum number of its failed machines that are preserved without a user's request.
    auto_preserve_max: i32,
    /// Release of the extension library.
    release: Release,
}

/// Contents of a MachineClass's `providerSpec` as the simulated providers write it and read it when a VM boots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassFacts {
    /// Name of the machine image.
    pub image_name: String,
    /// Version of the machine image.
    pub image_version: String,
    /// Kubernetes version of the pool, without `v`.
    pub kubernetes_version: String,
}

/// Returns all MachineDeployments that `worker` desires, in order of pools and zones, by the rules of the extension
/// library's release. `shoot` is the Shoot in its Cluster.
///
/// Unlike upstream's provider-local, every simulated provider divides a pool that names zones.
/// Source: extensions/pkg/controller/worker/machines.go, pkg/provider-local/controller/worker/machines.go @ v1.120.0.
pub fn machine_deployments<'a>(worker: &'a Worker, shoot: &Shoot, release: Release) -> Vec<DesiredDeployment<'a>> {
    let mut wanted = Vec::new();
    for pool in &worker.spec.pools {
        let inputs = HashInputs::of_extension_pool(shoot, pool);
        let hash = inputs.machine_class_hash(pool.node_agent_secret_name.as_deref(), release);
        let shares = distribute(pool.minimum, pool.maximum, &pool.max_surge, &pool.max_unavailable, pool.zones.len());
        let settings = pool.machine_controller_manager.as_ref().filter(|_| PRESERVED.contain(release));
        let preserved = settings.and_then(|it| it.auto_preserve_failed_machine_max).unwrap_or_default();
        let zones = i32::try_from(shares.len()).unwrap_or(i32::MAX);
        for (index, (share, suffix)) in shares.into_iter().zip(suffixes(pool.zones.len())).enumerate() {
            let zone = pool.zones.get(index).map_or("", String::as_str);
            let name = format!("{}-{}{suffix}", worker.metadata.namespace, pool.name);
            let auto_preserve_max = part(preserved, zones, i32::try_from(index).unwrap_or(i32::MAX));
            let class_name = format!("{name}-{hash}");
            wanted.push(DesiredDeployment { name, class_name, worker, pool, zone, share, auto_preserve_max, release });
        }
    }
    wanted
}

/// True if the cluster-autoscaler owns the number of machines: some pool has a maximum above its minimum.
pub fn is_autoscaled(worker: &Worker) -> bool {
    worker.spec.pools.iter().any(|pool| pool.maximum > pool.minimum)
}

impl DesiredDeployment<'_> {
    /// Returns the entry of the Worker's `status.machineDeployments`.
    pub fn summary(&self) -> api::extensions::MachineDeployment {
        api::extensions::MachineDeployment {
            name: self.name.clone(),
            minimum: self.share.minimum,
            maximum: self.share.maximum,
            priority: self.pool.priority,
            ..api::extensions::MachineDeployment::default()
        }
    }

    /// Returns the MachineDeployment. Fields of an `existing` one that other controllers own are kept.
    pub fn machine_deployment(&self, existing: Option<&MachineDeployment>, replicas: i32) -> MachineDeployment {
        let selector = TextMap::from([("name".to_owned(), self.name.clone())]);
        let strategy = UpdateStrategy::of(self.pool.update_strategy.as_deref());
        let mut labels = selector.clone();
        if strategy.is_in_place() {
            labels.insert(label::WORKER_NAME.to_owned(), self.worker.metadata.name.clone());
        }
        let mut deployment = existing.cloned().unwrap_or_else(|| MachineDeployment {
            metadata: ObjectMeta::named(&self.worker.metadata.namespace, &self.name),
            ..MachineDeployment::default()
        });
        // Annotations of named roll-outs: without them machine-controller-manager would revert to the old machines.
        let annotations = deployment.spec.template.metadata.annotations.clone();
        deployment.metadata.labels.insert(label::WORKER_POOL.to_owned(), self.pool.name.clone());
        set_autoscaler_annotations(&mut deployment.metadata.annotations, self.pool);
        deployment.spec = MachineDeploymentSpec {
            replicas,
            selector: Some(LabelSelector { match_labels: selector, ..LabelSelector::default() }),
            template: MachineTemplateSpec {
                metadata: ObjectMeta { labels, annotations, ..ObjectMeta::default() },
                spec: self.machine_spec(),
            },
            strategy: self.strategy(strategy),
            min_ready_seconds: 500,
            revision_history_limit: Some(0),
            auto_preserve_failed_machine_max: self.auto_preserve_max,
            ..deployment.spec
        };
        deployment
    }

    fn strategy(&self, strategy: UpdateStrategy) -> MachineDeploymentStrategy {
        let max_surge = Some(self.share.max_surge.clone());
        let max_unavailable = Some(self.share.max_unavailable.clone());
        if strategy == UpdateStrategy::AutoRollingUpdate {
            return MachineDeploymentStrategy {
                r#type: "RollingUpdate".to_owned(),
                rolling_update: Some(RollingUpdateMachineDeployment { max_unavailable, max_surge }),
                in_place_update: None,
            };
        }
        let is_manual = strategy == UpdateStrategy::ManualInPlaceUpdate;
        let orchestration_type = if is_manual { "Manual" } else { "Auto" }.to_owned();
        MachineDeploymentStrategy {
            r#type: "InPlaceUpdate".to_owned(),
            rolling_update: None,
            in_place_update: Some(InPlaceUpdateMachineDeployment { max_unavailable, max_surge, orchestration_type }),
        }
    }

    fn machine_spec(&self) -> MachineSpec {
        let settings = self.pool.machine_controller_manager.clone().unwrap_or_default();
        let MachineControllerManagerSettings {
            machine_drain_timeout,
            machine_health_timeout,
            machine_creation_timeout,
            max_evict_retries,
            node_conditions,
            in_place_update_timeout,
            disable_health_timeout,
            machine_preserve_timeout,
            ..
        } = settings;
        let mut node_template = NodeTemplateSpec::default();
        node_template.metadata.labels.clone_from(&self.pool.labels);
        node_template.metadata.annotations.clone_from(&self.pool.annotations);
        node_template.spec.taints.clone_from(&self.pool.taints);
        MachineSpec {
            class: ClassSpec { kind: "MachineClass".to_owned(), name: self.class_name.clone(), ..ClassSpec::default() },
            node_template,
            drain_timeout: machine_drain_timeout,
            health_timeout: machine_health_timeout,
            creation_timeout: machine_creation_timeout,
            in_place_update_timeout,
            machine_preserve_timeout: machine_preserve_timeout.filter(|_| PRESERVED.contain(self.release)),
            disable_health_timeout,
            max_evict_retries,
            node_conditions: (!node_conditions.is_empty()).then(|| node_conditions.join(",")),
            ..MachineSpec::default()
        }
    }

    /// Returns the MachineClass.
    pub fn machine_class(&self) -> MachineClass {
        let pool = self.pool;
        let namespace = &self.worker.metadata.namespace;
        let mut metadata = ObjectMeta::named(namespace, &self.class_name);
        metadata.finalizers = vec![finalizer::MACHINE_CONTROLLER_MANAGER.to_owned()];
        let capacity = pool.node_template.as_ref().map(|template| template.capacity.clone()).unwrap_or_default();
        MachineClass {
            metadata,
            node_template: Some(NodeTemplate {
                capacity,
                instance_type: pool.machine_type.clone(),
                region: self.worker.spec.region.clone(),
                zone: self.zone.to_owned(),
                architecture: Some(pool.architecture.clone().unwrap_or_else(|| "amd64".to_owned())),
                ..NodeTemplate::default()
            }),
            credentials_secret_ref: Some(self.worker.spec.secret_ref.clone()),
            provider_spec: self.facts().to_provider_spec(&self.worker.spec.r#type),
            provider: self.worker.spec.r#type.clone(),
            secret_ref: Some(SecretReference { name: self.class_name.clone(), namespace: namespace.clone() }),
        }
    }

    fn facts(&self) -> ClassFacts {
        let version = self.pool.kubernetes_version.clone().unwrap_or_default();
        ClassFacts {
            image_name: self.pool.machine_image.name.clone(),
            image_version: self.pool.machine_image.version.clone(),
            kubernetes_version: version.trim_start_matches('v').to_owned(),
        }
    }
}

impl ClassFacts {
    /// Formats the facts as `providerSpec`.
    pub fn to_provider_spec(&self, provider: &str) -> RawExtension {
        RawExtension::from(json!({
            "apiVersion": format!("{provider}{}", api_version::PROVIDER_SUFFIX),
            "kind": "MachineSpec",
            "image": {"name": self.image_name, "version": self.image_version},
            "kubernetesVersion": self.kubernetes_version,
        }))
    }

    /// Parses `providerSpec`; missing fields are empty.
    pub fn of(class: &MachineClass) -> Self {
        let spec = class.provider_spec.value();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            image_name: text(&spec["image"]["name"]),
            image_version: text(&spec["image"]["version"]),
            kubernetes_version: text(&spec["kubernetesVersion"]),
        }
    }
}

fn set_autoscaler_annotations(annotations: &mut TextMap, pool: &WorkerPool) {
    let options = pool.cluster_autoscaler.clone().unwrap_or_default();
    let values = [
        ("scale-down-utilization-threshold", options.scale_down_utilization_threshold),
        ("scale-down-gpu-utilization-threshold", options.scale_down_gpu_utilization_threshold),
        ("scale-down-unneeded-time", options.scale_down_unneeded_time.map(|duration| duration.to_string())),
        ("scale-down-unready-time", options.scale_down_unready_time.map(|duration| duration.to_string())),
        ("max-node-provision-time", options.max_node_provision_time.map(|duration| duration.to_string())),
    ];
    for (name, value) in values {
        let key = format!("{}{name}", annotation::AUTOSCALER_PREFIX);
        match value {
            Some(value) => drop(annotations.insert(key, value)),
            None => drop(annotations.remove(&key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use api::extensions::MachineImage;
    use apimachinery::meta::IntOrString;

    use super::*;
    use crate::release::DOCUMENTED;

    fn worker(zones: &[&str]) -> Worker {
        let mut worker = Worker { metadata: ObjectMeta::named("shoot--demo--local", "local"), ..Worker::default() };
        worker.spec.r#type = "aws".into();
        worker.spec.region = "eu".into();
        worker.spec.pools = vec![WorkerPool {
            name: "w".into(),
            minimum: 3,
            maximum: 5,
            max_surge: IntOrString::Int(1),
            kubernetes_version: Some("1.26.4".into()),
            machine_image: MachineImage { name: "gardenlinux".into(), version: "934.8.0".into() },
            zones: zones.iter().map(ToString::to_string).collect(),
            ..WorkerPool::default()
        }];
        worker
    }

    #[test]
    fn a_pool_with_zones_has_a_deployment_for_each() {
        let worker = worker(&["a", "b"]);
        let wanted = machine_deployments(&worker, &Shoot::default(), DOCUMENTED);
        let names: Vec<_> = wanted.iter().map(|wanted| (wanted.name.as_str(), wanted.zone)).collect();
        assert_eq!(names, [("shoot--demo--local-w-z1", "a"), ("shoot--demo--local-w-z2", "b")]);
        assert_eq!((wanted[0].share.minimum, wanted[1].share.maximum), (2, 2));
    }

    #[test]
    fn preservation_reaches_machine_deployments_since_147() {
        let mut worker = worker(&["a", "b"]);
        let settings = MachineControllerManagerSettings {
            auto_preserve_failed_machine_max: Some(3),
            machine_preserve_timeout: Some(apimachinery::meta::Duration::from_minutes(5)),
            ..MachineControllerManagerSettings::default()
        };
        worker.spec.pools[0].machine_controller_manager = Some(settings);
        for (release, expected) in [(146, [(0, false), (0, false)]), (147, [(2, true), (1, true)])] {
            let wanted = machine_deployments(&worker, &Shoot::default(), Release(release));
            let found: Vec<(i32, bool)> = wanted
                .iter()
                .map(|wanted| wanted.machine_deployment(None, 1).spec)
                .map(|spec| {
                    (spec.auto_preserve_failed_machine_max, spec.template.spec.machine_preserve_timeout.is_some())
                })
                .collect();
            assert_eq!(found, expected, "{release}");
        }
    }

    #[test]
    fn the_autoscaler_owns_replicas_between_minimum_and_maximum() {
        for (maximum, expected) in [(3, false), (4, true)] {
            let mut worker = worker(&[]);
            worker.spec.pools[0].maximum = maximum;
            assert_eq!(is_autoscaled(&worker), expected, "3 to {maximum}");
        }
    }

    #[test]
    fn a_pool_without_zones_has_one() {
        let worker = worker(&[]);
        let wanted = machine_deployments(&worker, &Shoot::default(), DOCUMENTED);
        assert_eq!(wanted[0].name, "shoot--demo--local-w");
        let deployment = wanted[0].machine_deployment(None, 3);
        assert_eq!(deployment.spec.template.spec.class.name, wanted[0].class_name);
        assert_eq!(deployment.spec.strategy.r#type, "RollingUpdate");
        assert_eq!(deployment.metadata.labels["worker.gardener.cloud/pool"], "w");
        let class = wanted[0].machine_class();
        assert_eq!(ClassFacts::of(&class).kubernetes_version, "1.26.4");
        assert_eq!(class.node_template.expect("the class has a template").region, "eu");
    }

    #[test]
    fn an_existing_deployment_keeps_foreign_fields() {
        let worker = worker(&[]);
        let wanted = machine_deployments(&worker, &Shoot::default(), DOCUMENTED);
        let mut existing = wanted[0].machine_deployment(None, 4);
        existing.metadata.annotations.insert("theirs".into(), "1".into());
        existing.spec.template.metadata.annotations.insert("rollout-workers".into(), "2025-11-14".into());
        existing.metadata.finalizers.push("machine.sapcloud.io/machine-controller-manager".into());
        assert_eq!(wanted[0].machine_deployment(Some(&existing), 4), existing);
    }
}
