// SPDX-License-Identifier: Apache-2.0
//! One run of a flow for one Shoot: implementation of the tasks' effects.
//!
//! **Tour.** [`Botanist`] the run and the dispatch of effects; [`extensions`] writing, awaiting and deleting extension
//! objects; [`components`] the objects that represent components, [`workload`] their progress; [`dns`],
//! [`operating_system`], [`worker`], [`secrets`], [`credentials`] the objects of these tasks.

pub(crate) mod components;
pub(crate) mod credentials;
pub(crate) mod dns;
pub(crate) mod extensions;
pub(crate) mod operating_system;
pub(crate) mod secrets;
pub(crate) mod shoot_cluster;
pub(crate) mod status;
pub(crate) mod worker;
pub(crate) mod workload;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::{annotation, label, role};
use api::core::{CloudProfileSpec, ControllerRegistration, Project, Seed, Shoot};
use api::kubernetes::core::Namespace;
use api::terrarium::Fault;
use apimachinery::meta::{DeleteOptions, ObjectMeta, Time};
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, Error};
use domain::fault;
use domain::last_operation::{OperationType, TaskFailure};
use domain::shoot_components::Component;
use domain::worker_pool::OscKeys;
use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};

use super::flow::effect::Effect;
use super::flow::{Facts, Task};
use super::shared::{Gardenlet, Local, RUNTIME};
use dns::Domains;

/// One run for one Shoot.
#[derive(Debug)]
pub(crate) struct Botanist {
    pub(crate) gardenlet: Arc<Gardenlet>,
    pub(crate) operation: OperationType,
    /// The Shoot at the start of the run, after the start write.
    pub(crate) shoot: Arc<Shoot>,
    pub(crate) project: Arc<Project>,
    pub(crate) cloud_profile: Arc<CloudProfileSpec>,
    pub(crate) seed: Arc<Seed>,
    pub(crate) registrations: Vec<Arc<ControllerRegistration>>,
    pub(crate) domains: Domains,
    pub(crate) garden_identity: String,
    pub(crate) technical_id: String,
    pub(crate) facts: Facts,
    /// True if the Shoot, and perhaps an object that it refers to, was changed a moment ago: local copies may lag
    /// behind.
    pub(crate) follows_change: bool,
    /// Start of the run.
    pub(crate) started: Time,
    run: Mutex<Run>,
}

/// State that the tasks of a run share.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Keys of the pools' operating system configurations.
    pub(crate) osc_keys: BTreeMap<String, OscKeys>,
    /// `machineDeploymentsLastUpdateTime` before the Worker was written, Go's zero time if it was not set; absent if
    /// the Worker was not written.
    pub(crate) machine_deployments_before: Option<Time>,
    /// Earliest time at which a written ControlPlane is ready.
    pub(crate) control_plane_ready: Option<DateTime<Utc>>,
    /// Tasks of the annotation that are already done.
    pub(crate) finished_tasks: Vec<&'static str>,
    /// Number of finished tasks that [`Botanist::write_finished_tasks`] has already handled.
    pub(crate) finished_tasks_written: usize,
}

/// Inputs of a run.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) operation: OperationType,
    pub(crate) shoot: Arc<Shoot>,
    pub(crate) project: Arc<Project>,
    pub(crate) cloud_profile: Arc<CloudProfileSpec>,
    pub(crate) seed: Arc<Seed>,
    pub(crate) domains: Domains,
    pub(crate) garden_identity: String,
    pub(crate) facts: Facts,
    pub(crate) follows_change: bool,
}

impl Botanist {
    /// Creates a run.
    pub(crate) fn new(gardenlet: Arc<Gardenlet>, inputs: Inputs) -> Self {
        let Inputs { operation, shoot, project, cloud_profile, seed, domains, garden_identity, facts, follows_change } =
            inputs;
        let started = Time::from_instant(gardenlet.context.clock.now());
        Self {
            operation,
            registrations: gardenlet.stores.controller_registrations.list(),
            technical_id: shoot.status.technical_id.clone(),
            gardenlet,
            shoot,
            project,
            cloud_profile,
            seed,
            domains,
            garden_identity,
            facts,
            follows_change,
            started,
            run: Mutex::default(),
        }
    }

    pub(crate) fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock()
    }

    /// Executes a task, unless a fault prevents it.
    pub(crate) fn perform<'a>(&'a self, task: &'static Task) -> BoxFuture<'a, Result<(), TaskFailure>> {
        let name = task.name(&self.facts);
        let faults = self.faults_of(task);
        match task.effect {
            // Without an effect or a fault, the future is ready at once.
            Effect::Unseen(_) if faults.is_empty() => Box::pin(async { Ok(()) }),
            _ => Box::pin(async move {
                for fault in faults {
                    self.apply_fault(&fault, task).await?;
                }
                self.effect(task).await.map_err(|failure| failure.of_task(name, self.provider()))
            }),
        }
    }

    /// Returns the type of the provider.
    fn provider(&self) -> &str {
        &self.shoot.spec.provider.r#type
    }

    /// Returns the names of the faults that currently hit a task.
    fn faults_of(&self, task: &Task) -> Vec<String> {
        let faults = self.gardenlet.stores.faults.list();
        let hits = |fault: &&Arc<Fault>| self.is_hit(fault, task);
        faults.iter().filter(hits).map(|fault| fault.metadata.name.clone()).collect()
    }

    fn is_hit(&self, fault: &Fault, task: &Task) -> bool {
        let names = [task.name, task.name(&self.facts)];
        fault::fails_task(fault, &self.shoot, &names, self.gardenlet.context.clock.now())
    }

    /// Counts a hit of a fault, and fails as the fault prescribes; does nothing if it no longer hits.
    async fn apply_fault(&self, name: &str, task: &Task) -> Result<(), TaskFailure> {
        let task_name = task.name(&self.facts);
        let failed = |error: Error| TaskFailure::new(task_name, format!("fault {name}: {error}"));
        let api = Api::<Fault>::all(&self.gardenlet.context, RUNTIME);
        loop {
            let Some(present) = api.get_opt(name).await.map_err(failed)? else { return Ok(()) };
            if !self.is_hit(&present, task) {
                return Ok(());
            }
            let now = Time::from_instant(self.gardenlet.context.clock.now());
            let new = Fault { status: fault::hit(&present, &self.shoot, now), ..present.clone() };
            match api.update_status(&present, &new).await {
                // Another Shoot was hit in the meantime.
                Err(error) if error.is_conflict() => {}
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(failed(error)),
                Ok(_) => return Err(fault::task_failure(&present, task_name, self.provider())),
            }
        }
    }

    /// Returns the future of a task's effect, each in a box of its own: a future for all of them would be as large as the
    /// largest, and is moved after its creation.
    fn effect(&self, task: &'static Task) -> BoxFuture<'_, Result<(), Failure>> {
        match task.effect {
            Effect::Unseen(_) => Box::pin(async { Ok(()) }),
            Effect::Namespace => Box::pin(self.deploy_namespace()),
            Effect::ClusterIdentity => Box::pin(self.ensure_cluster_identity()),
            Effect::CloudProviderSecret => Box::pin(self.deploy_cloud_provider_secret()),
            Effect::SecretsManagement => Box::pin(self.deploy_project_secrets()),
            Effect::ReferencedResources => Box::pin(self.deploy_referenced_resources()),
            Effect::DestroyReferencedResources => Box::pin(self.destroy_referenced_resources()),
            Effect::AdvertisedAddresses => Box::pin(self.ensure_advertised_addresses()),
            Effect::InternalDnsRecord => Box::pin(self.deploy_internal_dns_record()),
            Effect::ExternalDnsRecord => Box::pin(self.deploy_external_dns_record()),
            Effect::IngressDnsRecord => Box::pin(self.deploy_ingress_dns_record()),
            Effect::DestroyDnsRecord(record) => Box::pin(self.destroy_dns_record(record)),
            Effect::BackupEntry => Box::pin(self.deploy_backup_entry()),
            Effect::AwaitBackupEntry => Box::pin(async { self.await_backup_entry() }),
            Effect::DeployComponents => {
                Box::pin(async move { self.deploy_components(&Component::of_task(task.name)).await })
            }
            Effect::AwaitComponents(components) => Box::pin(self.await_components(components)),
            Effect::DestroyComponents(components) => Box::pin(self.destroy_components(components)),
            Effect::ScaleDown(component) => Box::pin(self.scale_down(component)),
            Effect::DeployKubeApiserver => Box::pin(self.deploy_kube_apiserver(self.facts.authorizer_ready)),
            Effect::DeployKubeApiserverWithAuthorizer => Box::pin(self.deploy_kube_apiserver(true)),
            Effect::AwaitKubeApiserver => Box::pin(self.await_kube_apiserver()),
            Effect::DeployCoreDns => Box::pin(self.deploy_core_dns()),
            Effect::DeployKubeProxy => Box::pin(self.deploy_kube_proxy()),
            Effect::StaleKubeProxy => Box::pin(self.destroy_kube_proxy(true)),
            Effect::DestroyKubeProxy => Box::pin(self.destroy_kube_proxy(false)),
            Effect::Deploy(resource) => Box::pin(self.deploy(resource)),
            Effect::Await(resource) => Box::pin(self.await_ready(resource)),
            Effect::Destroy(resource) => Box::pin(self.destroy(resource, false)),
            Effect::AwaitDestroyed(resource) => Box::pin(self.await_destroyed(resource, false)),
            Effect::DestroyStale(resource) => Box::pin(self.destroy(resource, true)),
            Effect::AwaitDestroyedStale(resource) => Box::pin(self.await_destroyed(resource, true)),
            Effect::DeployExtensions(lifecycle) => Box::pin(self.deploy_extensions(lifecycle)),
            Effect::AwaitExtensions(lifecycle) => Box::pin(self.await_extensions(lifecycle)),
            Effect::DestroyExtensions(lifecycle) => Box::pin(self.destroy_extensions(lifecycle)),
            Effect::AwaitExtensionsDestroyed(lifecycle) => Box::pin(self.await_extensions_destroyed(lifecycle)),
            Effect::ConnectToShoot => Box::pin(self.connect_to_shoot()),
            Effect::EncryptedResources => Box::pin(self.update_encrypted_resources()),
            Effect::ShootClusterIdentity => Box::pin(self.deploy_shoot_cluster_identity()),
            Effect::ShootInfo => Box::pin(self.deploy_shoot_info()),
            Effect::NodeAgentSecrets => Box::pin(self.deploy_node_agent_secrets()),
            Effect::AwaitMachineDeployments => Box::pin(self.await_machine_deployments()),
            Effect::AwaitNodesUpdated => Box::pin(self.await_nodes_updated()),
            Effect::HibernateControlPlane => Box::pin(self.hibernate_control_plane()),
            Effect::RestartControlPlanePods => Box::pin(self.restart_control_plane_pods()),
            Effect::DestroyCluster => Box::pin(self.destroy_cluster()),
            Effect::DestroyNamespace => Box::pin(self.destroy_namespace()),
            Effect::AwaitNamespaceDestroyed => Box::pin(self.await_namespace_destroyed()),
            Effect::DestroyShootState => Box::pin(self.destroy_shoot_state()),
        }
    }

    /// Deploys the control plane namespace, with upstream's labels.
    async fn deploy_namespace(&self) -> Result<(), Failure> {
        let spec = &self.shoot.spec;
        let seed_provider = &self.seed.spec.provider.r#type;
        let backup_provider = self.seed.spec.backup.as_ref().map_or(seed_provider, |backup| &backup.provider);
        let mut metadata = ObjectMeta::named("", &self.technical_id);
        let mut label = |key: &str, value: &str| metadata.labels.insert(key.to_owned(), value.to_owned());
        label(label::ROLE, role::SHOOT);
        label(label::SEED_PROVIDER, seed_provider);
        label(label::SHOOT_PROVIDER, &spec.provider.r#type);
        label(label::BACKUP_PROVIDER, backup_provider);
        if let Some(network) = spec.networking.as_ref().and_then(|networking| networking.r#type.as_deref()) {
            label(label::SHOOT_NETWORKING_PROVIDER, network);
        }
        for extension in self.wanted_extensions() {
            label(&format!("{}{}", label::EXTENSION_PREFIX, extension.spec.r#type), "true");
        }
        label(label::POD_SECURITY_ENFORCE, "privileged");
        label(label::HIGH_AVAILABILITY_CONSIDER, "true");
        let failure_tolerance = spec
            .control_plane
            .as_ref()
            .and_then(|control_plane| control_plane.high_availability.as_ref())
            .map(|high_availability| high_availability.failure_tolerance.r#type.clone());
        metadata.annotations.insert(annotation::SHOOT_UID.to_owned(), self.shoot.status.uid.clone());
        metadata
            .annotations
            .insert(annotation::FAILURE_TOLERANCE_TYPE.to_owned(), failure_tolerance.unwrap_or_default());
        let known = self.gardenlet.known::<Namespace>(&self.gardenlet.seed_cluster, "", &self.technical_id);
        // The server maintains `spec.finalizers`.
        let spec = known.map(|known| known.spec.clone()).unwrap_or_default();
        let namespace = Namespace { metadata, spec, ..Namespace::default() };
        self.apply(&self.gardenlet.seed(""), &namespace).await?;
        Ok(())
    }

    async fn destroy_namespace(&self) -> Result<(), Failure> {
        delete(&self.gardenlet.seed::<Namespace>(""), &self.technical_id).await
    }

    async fn await_namespace_destroyed(&self) -> Result<(), Failure> {
        let key = self.gardenlet.seed_key("", &self.technical_id);
        let gone = || self.gardenlet.stores.namespaces.get(&key).is_none().then_some(());
        match self.gardenlet.wait(&self.technical_id, TimeDelta::seconds(900), gone).await {
            Some(()) => Ok(()),
            None => Err(Failure::text(format!("namespace \"{}\" is not yet cleaned up", self.technical_id))),
        }
    }

    /// Creates or updates an object, unless it already has the desired state.
    pub(crate) async fn apply<K: Local>(&self, api: &Api<K>, object: &K) -> Result<K, Failure> {
        Ok(self.gardenlet.apply(api, object).await?)
    }

    /// Returns an object of the garden that users write.
    pub(crate) async fn read<K: Local>(&self, namespace: &str, name: &str) -> Result<Option<Arc<K>>, Failure> {
        Ok(self.gardenlet.read(namespace, name, self.follows_change).await?)
    }

    /// True if the Shoot has a task in `shoot.gardener.cloud/tasks`.
    pub(crate) fn has_task(&self, task: &str) -> bool {
        domain::annotations::has_task(&self.shoot.metadata.annotations, task)
    }

    /// Returns kind, namespace and name of an object for error messages.
    pub(crate) fn object_name<K: apimachinery::Resource>(&self, name: &str) -> String {
        format!("{} {}/{name}", K::KIND, self.technical_id)
    }

    /// Returns the default of the maximum time that a task waits for an object.
    pub(crate) const fn timeout() -> TimeDelta {
        TimeDelta::minutes(5)
    }
}

/// Deletes an object that may not exist.
pub(crate) async fn delete<K: apimachinery::Resource>(api: &Api<K>, name: &str) -> Result<(), Failure> {
    match api.delete(name, &DeleteOptions::default()).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Reason why a task failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A request of gardenlet failed.
    Request(Error),
    /// Error that has a text only.
    Text(String),
}

impl Failure {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Converts the error into the failure of a task: errors of an extension get the codes of its provider, requests
    /// none.
    fn of_task(&self, task: &str, provider: &str) -> TaskFailure {
        match self {
            Self::Request(error) => TaskFailure::new(task, error.to_string()),
            Self::Text(text) => TaskFailure::of_provider(provider, task, text),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Request(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Returns a typed object of Kubernetes from its fields.
pub(crate) fn typed<K: apimachinery::Resource>(fields: serde_json::Value) -> K {
    // The fields are literals of this crate.
    <K as apimachinery::Object>::from_tree(fields)
        .unwrap_or_else(|error| panic!("a {} of ours is malformed: {error}", K::KIND))
}
