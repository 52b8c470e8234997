// SPDX-License-Identifier: Apache-2.0
//! Writing and deletion of extension objects, and waiting for the extensions to act ([`handshake`]).
//!
//! The handshake: gardenlet writes the object with annotations `gardener.cloud/operation` and
//! `gardener.cloud/timestamp`; the extension removes the operation, acts, and reports in its status. An object whose
//! inputs did not change is not written.
//!
//! Source: pkg/extensions/customresources.go, docs/extensions/reconcile-trigger.md @ v1.120.0.

mod handshake;

use api::constants::{annotation, label, operation, task};
use api::extensions::{
    ContainerRuntime, ContainerRuntimeSpec, ContainerRuntimeWorkerPool, ControlPlane, ControlPlaneSpec, Extension,
    ExtensionSpec, Infrastructure, InfrastructureSpec, Network, NetworkSpec,
};
use api::kubernetes::core::SecretReference;
use apimachinery::meta::{LabelSelector, ObjectMeta};
use chrono::{SecondsFormat, TimeDelta};
use clock::TimerClass;
use controller::{CONFLICTS, Store};
use domain::last_operation::OperationType;
use domain::reconcile::CONTROL_PLANE_HAS_PURPOSE;
use domain::rollout::Parameter;

use self::handshake::{Readiness, needs_another_try, readiness};
use super::super::flow::effect::{Lifecycle, Resource};
use super::{Botanist, Failure, delete};

pub(crate) use self::handshake::ExtensionObject;

impl Botanist {
    /// Writes an extension object if its specification changed, if the extension must act again, or if it is forced.
    /// Returns true if the object was written.
    ///
    /// `is_lazy`: a changed specification alone does not make the extension act (Infrastructure, DNSRecord), unless
    /// the object is new.
    pub(crate) async fn write_extension<K: ExtensionObject>(
        &self,
        wanted: &K,
        store: &Store<K>,
        is_forced: bool,
        is_lazy: bool,
    ) -> Result<bool, Failure> {
        let name = wanted.metadata().name.clone();
        let api = self.gardenlet.seed::<K>(&self.technical_id).with_store(store);
        let mut present = store.get(&self.gardenlet.seed_key(&self.technical_id, &name)).map(|held| (*held).clone());
        for _ in 0..=CONFLICTS {
            let is_changed = present.as_ref().is_none_or(|present| !present.asks_the_same(wanted));
            let acts = is_forced
                || self.operation == OperationType::Restore
                || present.as_ref().is_none_or(|present| {
                    (is_changed && !is_lazy) || needs_another_try(present) || present.last_operation().is_none()
                });
            if !acts && !is_changed {
                return Ok(false);
            }
            let mut object = wanted.clone();
            if acts {
                let operation =
                    if self.operation == OperationType::Restore { operation::RESTORE } else { operation::RECONCILE };
                let now = self.gardenlet.context.clock.now().to_rfc3339_opts(SecondsFormat::AutoSi, true);
                let annotations = &mut object.metadata_mut().annotations;
                annotations.insert(annotation::OPERATION.to_owned(), operation.to_owned());
                annotations.insert(annotation::TIMESTAMP.to_owned(), now);
            }
            let result = match &present {
                None => api.create(&object).await,
                Some(present) => api.apply_to(present, &object).await,
            };
            match result {
                Ok(_) => return Ok(true),
                Err(error) if error.is_conflict() || error.is_already_exists() || error.is_not_found() => {
                    present = api.get_opt(&name).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::text(format!("{} is changed too often", self.object_name::<K>(&name))))
    }

    /// Waits until the extension has acted on the last write.
    pub(crate) async fn await_extension<K: ExtensionObject>(
        &self,
        store: &Store<K>,
        name: &str,
        timeout: TimeDelta,
    ) -> Result<(), Failure> {
        const SEVERE: TimeDelta = TimeDelta::seconds(30);
        let key = self.gardenlet.seed_key(&self.technical_id, name);
        let look = || {
            let Some(object) = store.get(&key) else { return Readiness::Waiting };
            match self.gardenlet.extension_is_too_new(K::KIND, object.type_()) {
                Some(error) => Readiness::Error(error),
                None => readiness(&*object),
            }
        };
        let answer = self
            .gardenlet
            .wait(&self.technical_id, timeout, || match look() {
                Readiness::Waiting => None,
                Readiness::Ready => Some(None),
                Readiness::Error(error) => Some(Some(error)),
            })
            .await;
        let failure = |why: &str| {
            let object = self.object_name::<K>(name);
            Err(Failure::text(format!("Error while waiting for {object} to become ready: {why}")))
        };
        match answer {
            Some(None) => Ok(()),
            Some(Some(_)) => {
                // An error is reported only if it persists: an extension that retries by itself may recover.
                let recovered = self
                    .gardenlet
                    .wait(&self.technical_id, SEVERE, || matches!(look(), Readiness::Ready).then_some(()))
                    .await;
                match (recovered, look()) {
                    (Some(()), _) | (None, Readiness::Ready) => Ok(()),
                    (None, Readiness::Error(error)) => failure(&error),
                    (None, Readiness::Waiting) => failure("extension has not recovered from its error"),
                }
            }
            None => failure(
                "retry failed with context deadline exceeded, last error: extension did not record a last \
                             operation yet or is still working",
            ),
        }
    }

    /// Waits until an object is removed.
    pub(crate) async fn await_extension_gone<K: ExtensionObject>(
        &self,
        store: &Store<K>,
        name: &str,
        timeout: TimeDelta,
    ) -> Result<(), Failure> {
        let key = self.gardenlet.seed_key(&self.technical_id, name);
        let gone = || store.get(&key).is_none().then_some(());
        match self.gardenlet.wait(&self.technical_id, timeout, gone).await {
            Some(()) => Ok(()),
            None => {
                let object = self.object_name::<K>(name);
                let why = store.get(&key).and_then(|object| object.last_error().map(|error| error.description.clone()));
                let why = why.unwrap_or_else(|| format!("{object} is still present"));
                Err(Failure::text(format!("Failed to delete {object}: {why}")))
            }
        }
    }

    /// Deletes an object. Extensions act on a deletion only if it is confirmed by an annotation.
    async fn delete_extension<K: ExtensionObject>(&self, store: &Store<K>, name: &str) -> Result<(), Failure> {
        let key = self.gardenlet.seed_key(&self.technical_id, name);
        let Some(object) = store.get(&key) else { return Ok(()) };
        if object.metadata().is_being_deleted() {
            return Ok(());
        }
        let now = self.gardenlet.context.clock.now().to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let patch = controller::Patch::Merge(serde_json::json!({ "metadata": { "annotations": {
            annotation::CONFIRMATION_DELETION: "true",
            annotation::TIMESTAMP: now,
        } } }));
        let api = self.gardenlet.seed::<K>(&self.technical_id);
        match api.patch(name, &patch).await {
            Err(error) if error.is_not_found() => return Ok(()),
            result => result?,
        };
        delete(&api, name).await
    }

    /// Returns the names of the stored objects of a kind: all, or those that are not in `wanted`.
    fn stored_names<K: ExtensionObject>(&self, store: &Store<K>, wanted: Option<&[String]>) -> Vec<String> {
        store
            .list_in(&self.gardenlet.seed_cluster, &self.technical_id)
            .iter()
            .map(|object| object.metadata().name.clone())
            .filter(|name| wanted.is_none_or(|wanted| !wanted.contains(name)))
            .collect()
    }

    async fn destroy_all<K: ExtensionObject>(
        &self,
        store: &Store<K>,
        wanted: Option<&[String]>,
    ) -> Result<(), Failure> {
        for name in self.stored_names(store, wanted) {
            self.delete_extension(store, &name).await?;
        }
        Ok(())
    }

    async fn await_all_gone<K: ExtensionObject>(
        &self,
        store: &Store<K>,
        wanted: Option<&[String]>,
        timeout: TimeDelta,
    ) -> Result<(), Failure> {
        for name in self.stored_names(store, wanted) {
            self.await_extension_gone(store, &name, timeout).await?;
        }
        Ok(())
    }

    fn cloud_provider_ref(&self) -> SecretReference {
        SecretReference { name: "cloudprovider".to_owned(), namespace: self.technical_id.clone() }
    }

    fn metadata(&self, name: &str) -> ObjectMeta {
        ObjectMeta::named(&self.technical_id, name)
    }

    /// `status.providerStatus` of the Infrastructure, which is passed to other extensions.
    pub(crate) fn infrastructure_status(&self) -> Option<apimachinery::meta::RawExtension> {
        let key = self.gardenlet.seed_key(&self.technical_id, &self.shoot.metadata.name);
        self.gardenlet.stores.infrastructures.get(&key)?.status.provider_status.clone()
    }

    fn exposure_name(&self) -> String {
        format!("{}-exposure", self.shoot.metadata.name)
    }

    fn control_plane(&self, name: &str, purpose: &str) -> ControlPlane {
        let spec = &self.shoot.spec;
        let has_purpose = CONTROL_PLANE_HAS_PURPOSE.contain(self.gardenlet.release());
        ControlPlane {
            metadata: self.metadata(name),
            spec: ControlPlaneSpec {
                r#type: if purpose == "exposure" {
                    self.seed.spec.provider.r#type.clone()
                } else {
                    spec.provider.r#type.clone()
                },
                provider_config: spec.provider.control_plane_config.clone(),
                infrastructure_provider_status: self.infrastructure_status(),
                region: spec.region.clone(),
                secret_ref: self.cloud_provider_ref(),
                purpose: has_purpose.then(|| purpose.to_owned()),
                ..ControlPlaneSpec::default()
            },
            ..ControlPlane::default()
        }
    }

    /// Returns the ContainerRuntimes that the pools require.
    fn wanted_container_runtimes(&self) -> Vec<ContainerRuntime> {
        let pools = &self.shoot.spec.provider.workers;
        let mut runtimes = Vec::new();
        for pool in pools {
            for runtime in pool.cri.iter().flat_map(|cri| &cri.container_runtimes) {
                let mut selector = LabelSelector::default();
                selector.match_labels.insert(label::WORKER_POOL.to_owned(), pool.name.clone());
                runtimes.push(ContainerRuntime {
                    metadata: self.metadata(&format!("{}-{}", runtime.r#type, pool.name)),
                    spec: ContainerRuntimeSpec {
                        r#type: runtime.r#type.clone(),
                        provider_config: runtime.provider_config.clone(),
                        binary_path: "/var/bin/containerruntimes".to_owned(),
                        worker_pool: ContainerRuntimeWorkerPool { name: pool.name.clone(), selector },
                        ..ContainerRuntimeSpec::default()
                    },
                    ..ContainerRuntime::default()
                });
            }
        }
        runtimes
    }

    /// Returns the Extension objects that the spec requires and those that registrations enable for every Shoot.
    pub(crate) fn wanted_extensions(&self) -> Vec<Extension> {
        let spec = &self.shoot.spec;
        let mut types = std::collections::BTreeMap::new();
        for resource in self.registrations.iter().flat_map(|registration| &registration.spec.resources) {
            let is_enabled =
                resource.globally_enabled == Some(true) || resource.auto_enable.iter().any(|c| c == "shoot");
            let fits = !self.facts.workerless || resource.workerless_supported == Some(true);
            if resource.kind == "Extension" && is_enabled && fits {
                types.insert(resource.r#type.clone(), None);
            }
        }
        for extension in &spec.extensions {
            if extension.disabled == Some(true) {
                types.remove(&extension.r#type);
            } else {
                types.insert(extension.r#type.clone(), extension.provider_config.clone());
            }
        }
        types
            .into_iter()
            .map(|(type_, provider_config)| Extension {
                metadata: self.metadata(&type_),
                spec: ExtensionSpec { r#type: type_, provider_config, ..ExtensionSpec::default() },
                ..Extension::default()
            })
            .collect()
    }

    /// Returns when an Extension is reconciled or deleted, by its registration.
    fn lifecycle(&self, type_: &str, is_deletion: bool) -> Lifecycle {
        let lifecycle = self
            .registrations
            .iter()
            .flat_map(|registration| &registration.spec.resources)
            .find(|resource| resource.kind == "Extension" && resource.r#type == type_)
            .and_then(|resource| resource.lifecycle.as_ref());
        let text = if is_deletion {
            lifecycle.and_then(|lifecycle| lifecycle.delete.as_deref()).unwrap_or("BeforeKubeAPIServer")
        } else {
            lifecycle.and_then(|lifecycle| lifecycle.reconcile.as_deref()).unwrap_or("AfterKubeAPIServer")
        };
        match text {
            "BeforeKubeAPIServer" => Lifecycle::BeforeKubeApiserver,
            "AfterWorker" => Lifecycle::AfterWorker,
            _ => Lifecycle::AfterKubeApiserver,
        }
    }

    fn extensions_of(&self, lifecycle: Lifecycle) -> Vec<Extension> {
        let mut extensions = self.wanted_extensions();
        extensions.retain(|extension| self.lifecycle(&extension.spec.r#type, false) == lifecycle);
        extensions
    }

    pub(crate) async fn deploy_extensions(&self, lifecycle: Lifecycle) -> Result<(), Failure> {
        for extension in self.extensions_of(lifecycle) {
            self.write_extension(&extension, &self.gardenlet.stores.extensions, false, false).await?;
        }
        Ok(())
    }

    pub(crate) async fn await_extensions(&self, lifecycle: Lifecycle) -> Result<(), Failure> {
        for extension in self.extensions_of(lifecycle) {
            let name = &extension.metadata.name;
            self.await_extension(&self.gardenlet.stores.extensions, name, TimeDelta::minutes(3)).await?;
        }
        Ok(())
    }

    fn stored_extensions(&self, lifecycle: Lifecycle) -> Vec<String> {
        let mut names = self.stored_names(&self.gardenlet.stores.extensions, None);
        names.retain(|name| self.lifecycle(name, true) == lifecycle);
        names
    }

    pub(crate) async fn destroy_extensions(&self, lifecycle: Lifecycle) -> Result<(), Failure> {
        for name in self.stored_extensions(lifecycle) {
            self.delete_extension(&self.gardenlet.stores.extensions, &name).await?;
        }
        Ok(())
    }

    pub(crate) async fn await_extensions_destroyed(&self, lifecycle: Lifecycle) -> Result<(), Failure> {
        for name in self.stored_extensions(lifecycle) {
            let store = &self.gardenlet.stores.extensions;
            self.await_extension_gone(store, &name, Self::timeout()).await?;
        }
        Ok(())
    }

    /// Writes the extension objects of a task.
    pub(crate) async fn deploy(&self, resource: Resource) -> Result<(), Failure> {
        let stores = &self.gardenlet.stores;
        let spec = &self.shoot.spec;
        let name = &self.shoot.metadata.name;
        match resource {
            Resource::Infrastructure => {
                let wanted = Infrastructure {
                    metadata: self.metadata(name),
                    spec: InfrastructureSpec {
                        r#type: spec.provider.r#type.clone(),
                        provider_config: spec.provider.infrastructure_config.clone(),
                        region: spec.region.clone(),
                        secret_ref: self.cloud_provider_ref(),
                        ..InfrastructureSpec::default()
                    },
                    ..Infrastructure::default()
                };
                let is_forced = self.has_task(task::DEPLOY_INFRASTRUCTURE);
                self.write_extension(&wanted, &stores.infrastructures, is_forced, true).await?;
            }
            Resource::ControlPlane => {
                let wanted = self.control_plane(name, "normal");
                if self.write_extension(&wanted, &stores.control_planes, false, false).await? {
                    let attempt = u64::try_from(self.started.0.timestamp()).unwrap_or_default();
                    let context = &self.gardenlet.context;
                    let takes = self.gardenlet.durations.of(Parameter::ControlPlane, &self.shoot.metadata.uid, attempt);
                    self.run().control_plane_ready = Some(context.clock.now() + takes);
                }
            }
            Resource::ControlPlaneExposure => {
                let wanted = self.control_plane(&self.exposure_name(), "exposure");
                self.write_extension(&wanted, &stores.control_planes, false, false).await?;
            }
            Resource::Network => {
                let networking = spec.networking.clone().unwrap_or_default();
                let wanted = Network {
                    metadata: self.metadata(name),
                    spec: NetworkSpec {
                        r#type: networking.r#type.unwrap_or_default(),
                        provider_config: networking.provider_config,
                        pod_cidr: networking.pods.unwrap_or_default(),
                        service_cidr: networking.services.unwrap_or_default(),
                        ip_families: networking.ip_families,
                        ..NetworkSpec::default()
                    },
                    ..Network::default()
                };
                self.write_extension(&wanted, &stores.networks, false, false).await?;
                self.deploy_network_plugin().await?;
            }
            Resource::OperatingSystemConfigs => self.deploy_operating_system_configs().await?,
            Resource::Worker => self.deploy_worker().await?,
            Resource::ContainerRuntimes => {
                for wanted in self.wanted_container_runtimes() {
                    self.write_extension(&wanted, &stores.container_runtimes, false, false).await?;
                }
            }
            Resource::Extensions => {}
        }
        Ok(())
    }

    /// Waits for the extension objects of a task.
    pub(crate) async fn await_ready(&self, resource: Resource) -> Result<(), Failure> {
        let stores = &self.gardenlet.stores;
        let name = &self.shoot.metadata.name;
        let minutes = TimeDelta::minutes;
        match resource {
            Resource::Infrastructure => {
                self.await_extension(&stores.infrastructures, name, minutes(5)).await?;
                let key = self.gardenlet.seed_key(&self.technical_id, name);
                if let Some(infrastructure) = stores.infrastructures.get(&key) {
                    self.update_networking(&infrastructure.status).await?;
                }
                self.finish_task(task::DEPLOY_INFRASTRUCTURE);
                Ok(())
            }
            Resource::ControlPlane => {
                let ready = self.run().control_plane_ready;
                if let Some(ready) = ready {
                    self.gardenlet.context.clock.sleep_until(ready, TimerClass::Work).await;
                }
                self.await_extension(&stores.control_planes, name, minutes(3)).await
            }
            Resource::ControlPlaneExposure => {
                self.await_extension(&stores.control_planes, &self.exposure_name(), minutes(3)).await
            }
            Resource::Network => self.await_extension(&stores.networks, name, minutes(3)).await,
            Resource::Worker => {
                self.await_extension(&stores.workers, name, minutes(10)).await?;
                self.finish_in_place_updates().await
            }
            Resource::OperatingSystemConfigs => {
                for name in self.wanted_operating_system_configs() {
                    self.await_extension(&stores.operating_system_configs, &name, minutes(3)).await?;
                }
                Ok(())
            }
            Resource::ContainerRuntimes => {
                for runtime in self.wanted_container_runtimes() {
                    self.await_extension(&stores.container_runtimes, &runtime.metadata.name, minutes(3)).await?;
                }
                Ok(())
            }
            Resource::Extensions => Ok(()),
        }
    }

    /// Returns the names of the objects to keep, if only stale ones are deleted.
    fn kept(&self, resource: Resource, only_stale: bool) -> Option<Vec<String>> {
        let names = |names: Vec<String>| only_stale.then_some(names);
        match resource {
            Resource::OperatingSystemConfigs => names(self.wanted_operating_system_configs()),
            Resource::ContainerRuntimes => {
                names(self.wanted_container_runtimes().into_iter().map(|each| each.metadata.name).collect())
            }
            Resource::Extensions => {
                names(self.wanted_extensions().into_iter().map(|each| each.metadata.name).collect())
            }
            _ => None,
        }
    }

    /// Deletes the extension objects of a task.
    pub(crate) async fn destroy(&self, resource: Resource, only_stale: bool) -> Result<(), Failure> {
        let stores = &self.gardenlet.stores;
        let name = &self.shoot.metadata.name;
        let kept = self.kept(resource, only_stale);
        let kept = kept.as_deref();
        match resource {
            Resource::Infrastructure => self.delete_extension(&stores.infrastructures, name).await,
            Resource::ControlPlane => self.delete_extension(&stores.control_planes, name).await,
            Resource::ControlPlaneExposure => {
                self.delete_extension(&stores.control_planes, &self.exposure_name()).await
            }
            Resource::Network => self.delete_extension(&stores.networks, name).await,
            Resource::Worker => self.delete_extension(&stores.workers, name).await,
            Resource::OperatingSystemConfigs => self.destroy_all(&stores.operating_system_configs, kept).await,
            Resource::ContainerRuntimes => self.destroy_all(&stores.container_runtimes, kept).await,
            Resource::Extensions => self.destroy_all(&stores.extensions, kept).await,
        }
    }

    /// Waits until the extension objects of a task are removed.
    pub(crate) async fn await_destroyed(&self, resource: Resource, only_stale: bool) -> Result<(), Failure> {
        let stores = &self.gardenlet.stores;
        let name = &self.shoot.metadata.name;
        let kept = self.kept(resource, only_stale);
        let kept = kept.as_deref();
        let timeout = Self::timeout();
        match resource {
            Resource::Infrastructure => self.await_extension_gone(&stores.infrastructures, name, timeout).await,
            Resource::ControlPlane => self.await_extension_gone(&stores.control_planes, name, timeout).await,
            Resource::ControlPlaneExposure => {
                self.await_extension_gone(&stores.control_planes, &self.exposure_name(), timeout).await
            }
            Resource::Network => self.await_extension_gone(&stores.networks, name, timeout).await,
            Resource::Worker => self.await_extension_gone(&stores.workers, name, TimeDelta::minutes(10)).await,
            Resource::OperatingSystemConfigs => {
                self.await_all_gone(&stores.operating_system_configs, kept, timeout).await
            }
            Resource::ContainerRuntimes => self.await_all_gone(&stores.container_runtimes, kept, timeout).await,
            Resource::Extensions => self.await_all_gone(&stores.extensions, kept, timeout).await,
        }
    }
}
