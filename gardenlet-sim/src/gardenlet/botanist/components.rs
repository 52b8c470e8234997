// SPDX-License-Identifier: Apache-2.0
//! The Deployments, StatefulSets and DaemonSets that represent components.

use apimachinery::meta::TextMap;

use api::constants::{annotation, label, role, task};
use api::joined;
use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use api::kubernetes::core::Pod;
use apimachinery::meta::{DeleteOptions, Duration};
use chrono::{SecondsFormat, TimeDelta};
use controller::{ListOptions, Patch};
use domain::last_operation::OperationType;
use domain::rollout::Arguments;
use domain::shoot_components::{Component, Kind};
use domain::worker_pool::hash::digest;
use serde_json::{Value, json};

use super::super::readiness;
use super::workload::Workload;
use super::{Botanist, Failure, delete, typed};

impl Botanist {
    /// True if the Shoot has a component.
    fn is_wanted(&self, component: Component) -> bool {
        let (config, version) = (&self.gardenlet.options.config, &self.gardenlet.identity.version);
        component.is_deployed(&self.shoot.spec, version, |gate| config.gate(gate, version))
    }

    /// Returns the containers of a component. machine-controller-manager has an additional one for the provider's
    /// machines, which the provider's webhook adds upstream.
    fn containers(&self, component: Component, name: &str, image: &str) -> Value {
        if component != Component::MachineControllerManager {
            return json!([{ "name": name, "image": image }]);
        }
        let arguments = Arguments::of(self.gardenlet.options.profile);
        let provider = format!("{name}-provider-{}", self.shoot.spec.provider.r#type);
        json!([
            { "name": name, "image": image, "command": arguments.command(&self.technical_id) },
            {
                "name": provider,
                "image": format!("{provider}:stable"),
                "args": arguments.of_provider(&self.technical_id),
            },
        ])
    }

    /// Returns metadata, selector and pod template of a component's object.
    fn workload(&self, component: Component, name: &str, image: &str, pods: &TextMap) -> Value {
        let kind = component.kind();
        let namespace = kind.namespace(&self.technical_id);
        let mut labels = TextMap::from([("app".to_owned(), name.to_owned())]);
        if kind.is_in_shoot() {
            labels.insert(label::ROLE.to_owned(), role::SYSTEM_COMPONENT.to_owned());
            labels.insert(label::MANAGED_BY.to_owned(), "gardener".to_owned());
        } else {
            labels.insert(label::ROLE.to_owned(), role::CONTROL_PLANE.to_owned());
        }
        let mut pod_labels = labels.clone();
        if component.is_restarted() {
            pod_labels.insert(label::MAINTENANCE_RESTART.to_owned(), "true".to_owned());
        }
        let mut annotations = pods.clone();
        let configuration = component.configuration(&self.shoot.spec, &self.gardenlet.identity.version);
        if !configuration.is_null() {
            let checksum = digest(&[configuration.to_string()]);
            annotations.insert(format!("checksum/configmap-{}", component.name()), checksum[..8].to_owned());
        }
        // If pods are run, they start as slowly as the component: drawn by name, so that the value does not cause a
        // roll-out.
        let key = format!("{}/{name}", self.technical_id);
        let start = self.gardenlet.durations.of(readiness::parameter(name), &key, 0);
        let start = Duration { nanoseconds: start.num_milliseconds() * 1_000_000 };
        annotations.insert(annotation::POD_START.to_owned(), start.to_string());
        json!({
            "metadata": {
                "name": name, "namespace": namespace, "labels": labels,
                "annotations": { annotation::GARDENER_VERSION: self.gardenlet.context.identity.version },
            },
            "spec": {
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": pod_labels, "annotations": annotations },
                    "spec": { "containers": self.containers(component, name, image) },
                },
            },
        })
    }

    /// Writes a component's object. `replicas`: number to use instead of the default.
    async fn write_component(
        &self,
        component: Component,
        replicas: Option<i32>,
        pods: &TextMap,
    ) -> Result<(), Failure> {
        let name = component.object_name(&self.shoot.spec);
        let tag = component.image_tag(&self.shoot.spec, &self.gardenlet.identity.version);
        let mut fields = self.workload(component, &name, &format!("{name}:{tag}"), pods);
        let kind = component.kind();
        if kind != Kind::EveryNode {
            fields["spec"]["replicas"] = json!(replicas.unwrap_or_else(|| component.replicas(&self.shoot.spec)));
        }
        let stores = &self.gardenlet.stores;
        match kind {
            Kind::ControlPlane => {
                let api = self.gardenlet.seed(&self.technical_id);
                self.write(&api, &stores.deployments, &typed::<Deployment>(fields)).await
            }
            Kind::Etcd => {
                fields["spec"]["serviceName"] = json!(format!("{name}-peer"));
                let api = self.gardenlet.seed(&self.technical_id);
                self.write(&api, &stores.stateful_sets, &typed::<StatefulSet>(fields)).await
            }
            Kind::System => {
                let api = self.gardenlet.shoot(&self.technical_id, "kube-system");
                self.write(&api, &stores.deployments, &typed::<Deployment>(fields)).await
            }
            Kind::EveryNode => {
                let api = self.gardenlet.shoot(&self.technical_id, "kube-system");
                self.write(&api, &stores.daemon_sets, &typed::<DaemonSet>(fields)).await
            }
        }
    }

    /// Writes an object, unless the local copy equals it.
    async fn write<K: Workload>(
        &self,
        api: &controller::Api<K>,
        store: &controller::Store<K>,
        wanted: &K,
    ) -> Result<(), Failure> {
        let metadata = wanted.metadata();
        let key = controller::ObjectKey::new(api.cluster(), &metadata.namespace, &metadata.name);
        if let Some(present) = store.get(&key)
            && !present.metadata().is_being_deleted()
            && present.says(wanted)
        {
            return Ok(());
        }
        self.apply(api, wanted).await?;
        Ok(())
    }

    /// Returns the replicas of a control plane component while the Shoot is hibernated; `None`: not hibernated.
    fn hibernated_replicas(&self, component: Component) -> Option<i32> {
        let is_hibernated = self.facts.hibernated && component.kind() != Kind::EveryNode;
        if !is_hibernated {
            return None;
        }
        let key = self.gardenlet.seed_key(&self.technical_id, component.name());
        let stores = &self.gardenlet.stores;
        // Running components keep running until task `Hibernating control plane`; others are not started.
        let present = match component.kind() {
            Kind::Etcd => stores.stateful_sets.get(&key).and_then(|set| set.spec.replicas),
            _ => stores.deployments.get(&key).and_then(|deployment| deployment.spec.replicas),
        };
        let never_ran = self.shoot.status.hibernated || self.operation == OperationType::Create;
        Some(present.unwrap_or_else(|| if never_ran { 0 } else { component.replicas(&self.shoot.spec) }))
    }

    pub(crate) async fn deploy_components(&self, components: &[Component]) -> Result<(), Failure> {
        for component in components {
            if self.facts.hibernated && component.kind().is_in_shoot() {
                // gardener-resource-manager, which creates it in the cluster, has no pods; a Shoot that was created in
                // hibernation has no cluster yet.
                continue;
            }
            if self.is_wanted(*component) {
                self.write_component(*component, self.hibernated_replicas(*component), &TextMap::new()).await?;
            } else {
                self.destroy_components(&[*component]).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn deploy_network_plugin(&self) -> Result<(), Failure> {
        self.deploy_components(&[Component::NetworkPlugin]).await
    }

    pub(crate) async fn deploy_kube_apiserver(&self, with_authorizer: bool) -> Result<(), Failure> {
        let mut pods = TextMap::new();
        if with_authorizer && self.facts.node_agent_authorizer {
            pods.insert(annotation::NODE_AGENT_AUTHORIZER.to_owned(), "true".to_owned());
        }
        let component = Component::KubeApiserver;
        self.write_component(component, self.hibernated_replicas(component), &pods).await?;
        if self.facts.skip_readiness {
            // No task waits for the API server: the cluster gets its version now.
            self.ensure_cluster().await?;
        }
        Ok(())
    }

    pub(crate) async fn await_kube_apiserver(&self) -> Result<(), Failure> {
        self.await_components(&[Component::KubeApiserver]).await?;
        self.ensure_cluster().await
    }

    pub(crate) async fn deploy_core_dns(&self) -> Result<(), Failure> {
        let key = controller::ObjectKey::new(&self.technical_id, "kube-system", "coredns");
        let present = self.gardenlet.stores.deployments.get(&key);
        let restarted = if self.has_task(task::RESTART_CORE_ADDONS) {
            Some(self.gardenlet.context.clock.now().to_rfc3339_opts(SecondsFormat::Secs, true))
        } else {
            present
                .and_then(|present| present.spec.template.metadata.annotations.get(annotation::RESTARTED_AT).cloned())
        };
        let pods = restarted.map(|restarted| (annotation::RESTARTED_AT.to_owned(), restarted)).into_iter().collect();
        self.write_component(Component::CoreDns, None, &pods).await?;
        self.finish_task(task::RESTART_CORE_ADDONS);
        Ok(())
    }

    /// Waits until components are rolled out.
    pub(crate) async fn await_components(&self, components: &[Component]) -> Result<(), Failure> {
        for component in components.iter().copied().filter(|component| self.is_wanted(*component)) {
            let name = component.object_name(&self.shoot.spec);
            let ready = || self.is_rolled_out(component, &name).then_some(());
            if self.gardenlet.wait(&self.technical_id, Self::timeout(), ready).await.is_none() {
                return Err(Failure::text(format!("timed out waiting for rollout of {name}")));
            }
        }
        Ok(())
    }

    fn is_rolled_out(&self, component: Component, name: &str) -> bool {
        let stores = &self.gardenlet.stores;
        let in_shoot = || controller::ObjectKey::new(&self.technical_id, "kube-system", name);
        let in_seed = || self.gardenlet.seed_key(&self.technical_id, name);
        let state = match component.kind() {
            Kind::ControlPlane => stores.deployments.get(&in_seed()).map(|object| object.state()),
            Kind::Etcd => stores.stateful_sets.get(&in_seed()).map(|object| object.state()),
            Kind::System => stores.deployments.get(&in_shoot()).map(|object| object.state()),
            Kind::EveryNode => stores.daemon_sets.get(&in_shoot()).map(|object| object.state()),
        };
        state.is_some_and(|state| state.is_rolled_out())
    }

    pub(crate) async fn destroy_components(&self, components: &[Component]) -> Result<(), Failure> {
        for component in components {
            let name = component.object_name(&self.shoot.spec);
            let stores = &self.gardenlet.stores;
            let seed = self.gardenlet.seed_key(&self.technical_id, &name);
            let shoot = controller::ObjectKey::new(&self.technical_id, "kube-system", &name);
            match component.kind() {
                Kind::ControlPlane if stores.deployments.get(&seed).is_some() => {
                    delete(&self.gardenlet.seed::<Deployment>(&self.technical_id), &name).await?;
                }
                Kind::Etcd if stores.stateful_sets.get(&seed).is_some() => {
                    delete(&self.gardenlet.seed::<StatefulSet>(&self.technical_id), &name).await?;
                }
                Kind::System if stores.deployments.get(&shoot).is_some() => {
                    delete(&self.gardenlet.shoot::<Deployment>(&self.technical_id, "kube-system"), &name).await?;
                }
                Kind::EveryNode if stores.daemon_sets.get(&shoot).is_some() => {
                    delete(&self.gardenlet.shoot::<DaemonSet>(&self.technical_id, "kube-system"), &name).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) async fn scale_down(&self, component: Component) -> Result<(), Failure> {
        let key = self.gardenlet.seed_key(&self.technical_id, component.name());
        let present = self.gardenlet.stores.deployments.get(&key);
        if present.is_none_or(|present| present.spec.replicas == Some(0)) {
            return Ok(());
        }
        let api = self.gardenlet.seed::<Deployment>(&self.technical_id);
        api.patch(component.name(), &Patch::Merge(json!({ "spec": { "replicas": 0 } }))).await?;
        Ok(())
    }

    /// Scales everything in the control plane namespace to 0 replicas, kube-apiserver last of the Deployments.
    pub(crate) async fn hibernate_control_plane(&self) -> Result<(), Failure> {
        let stores = &self.gardenlet.stores;
        let down = Patch::Merge(json!({ "spec": { "replicas": 0 } }));
        let mut deployments = stores.deployments.list_in(&self.gardenlet.seed_cluster, &self.technical_id);
        deployments.sort_by_key(|deployment| deployment.metadata.name == "kube-apiserver");
        let api = self.gardenlet.seed::<Deployment>(&self.technical_id);
        for deployment in deployments.iter().filter(|deployment| deployment.spec.replicas != Some(0)) {
            api.patch(&deployment.metadata.name, &down).await?;
        }
        let api = self.gardenlet.seed::<StatefulSet>(&self.technical_id);
        for set in stores.stateful_sets.list_in(&self.gardenlet.seed_cluster, &self.technical_id) {
            if set.spec.replicas != Some(0) {
                api.patch(&set.metadata.name, &down).await?;
            }
        }
        Ok(())
    }

    /// Deletes the control plane pods that are labelled for a restart.
    pub(crate) async fn restart_control_plane_pods(&self) -> Result<(), Failure> {
        let options = ListOptions {
            label_selector: joined!(label::MAINTENANCE_RESTART, "=true").to_owned(),
            ..ListOptions::default()
        };
        let api = self.gardenlet.seed::<Pod>(&self.technical_id);
        for pod in api.list(&options).await?.0 {
            match api.delete(&pod.metadata.name, &DeleteOptions::default()).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        self.finish_task(task::RESTART_CONTROL_PLANE_PODS);
        Ok(())
    }

    fn kube_proxy_names(&self) -> Vec<(String, String)> {
        let pools = &self.shoot.spec.provider.workers;
        pools
            .iter()
            .map(|pool| {
                let version = domain::worker_pool::kubernetes_version(&self.shoot, pool);
                (format!("kube-proxy-{}-v{version}", pool.name), version.to_owned())
            })
            .collect()
    }

    pub(crate) async fn deploy_kube_proxy(&self) -> Result<(), Failure> {
        let api = self.gardenlet.shoot(&self.technical_id, "kube-system");
        for (name, version) in self.kube_proxy_names() {
            let image = format!("kube-proxy:v{version}");
            let mut fields = self.workload(Component::KubeProxy, &name, &image, &TextMap::new());
            // The object names pool and version, the container does not: its name has no dots.
            fields["spec"]["template"]["spec"]["containers"][0]["name"] = json!("kube-proxy");
            let pool = name.strip_prefix("kube-proxy-").and_then(|rest| rest.strip_suffix(&format!("-v{version}")));
            fields["spec"]["template"]["spec"]["nodeSelector"] = json!({
                label::WORKER_POOL: pool.unwrap_or_default(),
                label::WORKER_KUBERNETES_VERSION: version,
            });
            self.write(&api, &self.gardenlet.stores.daemon_sets, &typed::<DaemonSet>(fields)).await?;
        }
        Ok(())
    }

    /// Deletes DaemonSets of kube-proxy: those that neither the spec nor a Node requires, or all.
    pub(crate) async fn destroy_kube_proxy(&self, only_stale: bool) -> Result<(), Failure> {
        let wanted = self.kube_proxy_names();
        let api = self.gardenlet.shoot::<DaemonSet>(&self.technical_id, "kube-system");
        for set in self.gardenlet.stores.daemon_sets.list_in(&self.technical_id, "kube-system") {
            let name = &set.metadata.name;
            let has_nodes = || readiness::nodes_of(&self.gardenlet, &set, &self.technical_id) > 0;
            let is_kept = only_stale && (wanted.iter().any(|(wanted, _)| wanted == name) || has_nodes());
            if name.starts_with("kube-proxy-") && !is_kept {
                delete(&api, name).await?;
            }
        }
        Ok(())
    }

    /// Returns the maximum time that a run waits for the cluster's API server.
    pub(crate) const fn connection_timeout() -> TimeDelta {
        TimeDelta::minutes(1)
    }
}
