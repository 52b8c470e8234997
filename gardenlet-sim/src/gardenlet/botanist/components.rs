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
use domain::skew::GardenerVersion;
use domain::upgrade::changes::{image_tag, is_reconfigured};
use domain::worker_pool::hash::digest;
use serde_json::{Value, json};

use super::super::configuration::OPEN_TELEMETRY_COLLECTOR;
use super::super::flow::effect::Component;
use super::super::readiness;
use super::workload::Workload;
use super::{Botanist, Failure, delete, typed};

/// Cluster and kind of a component's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A Deployment of the control plane namespace.
    ControlPlane,
    /// A StatefulSet of the control plane namespace.
    Etcd,
    /// A Deployment of `kube-system` in the shoot.
    System,
    /// A DaemonSet of `kube-system` in the shoot.
    EveryNode,
}

impl Component {
    /// Returns the name of the object.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ApiserverProxy => "apiserver-proxy",
            Self::ClusterAutoscaler => "cluster-autoscaler",
            Self::CoreDns => "coredns",
            Self::EtcdEvents => "etcd-events",
            Self::EtcdMain => "etcd-main",
            Self::GardenerResourceManager => "gardener-resource-manager",
            Self::IstioBasicAuthServer => "istio-basic-auth-server",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::MachineControllerManager => "machine-controller-manager",
            Self::MetricsServer => "metrics-server",
            Self::NetworkPlugin => "network-plugin",
            Self::NodeExporter => "node-exporter",
            Self::NodeLocalDns => "node-local-dns",
            Self::NodeProblemDetector => "node-problem-detector",
            Self::OpenTelemetryCollector => "opentelemetry-collector",
            Self::VpaAdmissionController => "vpa-admission-controller",
            Self::VpaRecommender => "vpa-recommender",
            Self::VpaUpdater => "vpa-updater",
            Self::VpnShoot => "vpn-shoot",
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::EtcdEvents | Self::EtcdMain => Kind::Etcd,
            Self::CoreDns | Self::MetricsServer | Self::VpnShoot => Kind::System,
            Self::ApiserverProxy
            | Self::NetworkPlugin
            | Self::NodeExporter
            | Self::NodeLocalDns
            | Self::NodeProblemDetector => Kind::EveryNode,
            _ => Kind::ControlPlane,
        }
    }

    /// True if the component's object is in the shoot cluster, not in the control plane namespace.
    const fn is_in_shoot(self) -> bool {
        matches!(self.kind(), Kind::System | Kind::EveryNode)
    }

    /// True if the image has the version of the cluster.
    const fn is_of_kubernetes(self) -> bool {
        matches!(self, Self::KubeApiserver | Self::KubeControllerManager | Self::KubeScheduler)
    }

    /// True if the pods are labelled for the restart that maintenance may request.
    const fn wants_restarts(self) -> bool {
        matches!(
            self,
            Self::ClusterAutoscaler
                | Self::KubeControllerManager
                | Self::KubeScheduler
                | Self::MachineControllerManager
        )
    }
}

/// Returns the Deployments that `ControlPlaneHealthy` requires.
pub(crate) fn required_deployments(shoot: &api::core::Shoot) -> Vec<&'static str> {
    let mut required = vec!["gardener-resource-manager", "kube-apiserver", "kube-controller-manager"];
    let pools = &shoot.spec.provider.workers;
    if !pools.is_empty() {
        required.extend(["kube-scheduler", "machine-controller-manager"]);
        if pools.iter().any(|pool| pool.maximum > pool.minimum) {
            required.push("cluster-autoscaler");
        }
        if has_vertical_pod_autoscaler(shoot) {
            required.extend(["vpa-admission-controller", "vpa-recommender", "vpa-updater"]);
        }
    }
    required
}

fn has_vertical_pod_autoscaler(shoot: &api::core::Shoot) -> bool {
    shoot.spec.kubernetes.vertical_pod_autoscaler.as_ref().is_some_and(|autoscaler| autoscaler.enabled)
}

impl Botanist {
    /// True if the spec requires a component.
    fn is_wanted(&self, component: Component) -> bool {
        let spec = &self.shoot.spec;
        match component {
            Component::ClusterAutoscaler => spec.provider.workers.iter().any(|pool| pool.maximum > pool.minimum),
            Component::VpaAdmissionController | Component::VpaRecommender | Component::VpaUpdater => {
                has_vertical_pod_autoscaler(&self.shoot)
            }
            Component::IstioBasicAuthServer => self.gardenlet.has_component(component.name()),
            Component::OpenTelemetryCollector => {
                self.gardenlet.options.config.gate(OPEN_TELEMETRY_COLLECTOR, &self.gardenlet.identity.version)
            }
            Component::NodeLocalDns => spec
                .system_components
                .as_ref()
                .and_then(|components| components.node_local_dns.as_ref())
                .is_some_and(|dns| dns.enabled),
            _ => true,
        }
    }

    /// Returns the parts of the spec that change a component's pods.
    fn configuration_of(&self, component: Component) -> Value {
        let kubernetes = &self.shoot.spec.kubernetes;
        match component {
            Component::KubeApiserver => {
                let is_reconfigured =
                    |version: GardenerVersion| is_reconfigured(component.name(), &version, &kubernetes.version);
                if self.gardenlet.version().is_some_and(is_reconfigured) {
                    json!([kubernetes.kube_api_server, "anonymous access by the authentication configuration"])
                } else {
                    json!(kubernetes.kube_api_server)
                }
            }
            Component::KubeControllerManager => json!(kubernetes.kube_controller_manager),
            Component::KubeScheduler => json!(kubernetes.kube_scheduler),
            Component::ClusterAutoscaler => json!(kubernetes.cluster_autoscaler),
            Component::VpaAdmissionController | Component::VpaRecommender | Component::VpaUpdater => {
                json!(kubernetes.vertical_pod_autoscaler)
            }
            Component::CoreDns => json!(self.shoot.spec.system_components),
            Component::NetworkPlugin => {
                json!(self.shoot.spec.networking.as_ref().map(|networking| &networking.provider_config))
            }
            _ => Value::Null,
        }
    }

    fn replicas_of(&self, component: Component) -> i32 {
        let is_highly_available = self
            .shoot
            .spec
            .control_plane
            .as_ref()
            .is_some_and(|control_plane| control_plane.high_availability.is_some());
        match component {
            Component::EtcdMain | Component::EtcdEvents if is_highly_available => 3,
            Component::KubeApiserver if is_highly_available => 3,
            Component::GardenerResourceManager | Component::CoreDns => 2,
            Component::KubeApiserver => 2,
            _ => 1,
        }
    }

    fn image_of(&self, component: Component, name: &str) -> String {
        let version = if component.is_of_kubernetes() {
            format!("v{}", self.shoot.spec.kubernetes.version)
        } else {
            match component {
                Component::GardenerResourceManager => self.gardenlet.context.identity.version.to_string(),
                _ => {
                    let tag = self
                        .gardenlet
                        .version()
                        .and_then(|version| image_tag(component.name(), &version, &self.shoot.spec.kubernetes.version));
                    tag.unwrap_or("stable").to_owned()
                }
            }
        };
        format!("{name}:{version}")
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
        let namespace = match kind {
            Kind::ControlPlane | Kind::Etcd => self.technical_id.as_str(),
            Kind::System | Kind::EveryNode => "kube-system",
        };
        let mut labels = TextMap::from([("app".to_owned(), name.to_owned())]);
        if matches!(kind, Kind::ControlPlane | Kind::Etcd) {
            labels.insert(label::ROLE.to_owned(), role::CONTROL_PLANE.to_owned());
        } else {
            labels.insert(label::ROLE.to_owned(), role::SYSTEM_COMPONENT.to_owned());
            labels.insert(label::MANAGED_BY.to_owned(), "gardener".to_owned());
        }
        let mut pod_labels = labels.clone();
        if component.wants_restarts() {
            pod_labels.insert(label::MAINTENANCE_RESTART.to_owned(), "true".to_owned());
        }
        let mut annotations = pods.clone();
        let configuration = self.configuration_of(component);
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
        let name = self.name_of(component);
        let mut fields = self.workload(component, &name, &self.image_of(component, &name), pods);
        let kind = component.kind();
        if kind != Kind::EveryNode {
            fields["spec"]["replicas"] = json!(replicas.unwrap_or_else(|| self.replicas_of(component)));
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

    /// Writes an object, unless the local copy equals it, and stores its generation.
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
        let stored = self.apply(api, wanted).await?;
        let place = (metadata.namespace.clone(), metadata.name.clone());
        self.run().generations.insert(place, stored.metadata().generation);
        Ok(())
    }

    fn name_of(&self, component: Component) -> String {
        match component {
            Component::NetworkPlugin => {
                let type_ = self.shoot.spec.networking.as_ref().and_then(|networking| networking.r#type.clone());
                match type_.as_deref() {
                    Some("cilium") => "cilium".to_owned(),
                    Some(type_) => format!("{type_}-node"),
                    None => "network-node".to_owned(),
                }
            }
            _ => component.name().to_owned(),
        }
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
        Some(present.unwrap_or_else(|| if never_ran { 0 } else { self.replicas_of(component) }))
    }

    pub(crate) async fn deploy_components(&self, components: &[Component]) -> Result<(), Failure> {
        for component in components {
            if self.facts.hibernated && component.is_in_shoot() {
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
            let name = self.name_of(component);
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
        let (namespace, state) = match component.kind() {
            Kind::ControlPlane => (self.technical_id.as_str(), stores.deployments.get(&in_seed()).map(|o| o.state())),
            Kind::Etcd => (self.technical_id.as_str(), stores.stateful_sets.get(&in_seed()).map(|o| o.state())),
            Kind::System => ("kube-system", stores.deployments.get(&in_shoot()).map(|o| o.state())),
            Kind::EveryNode => ("kube-system", stores.daemon_sets.get(&in_shoot()).map(|o| o.state())),
        };
        let written = self.run().generations.get(&(namespace.to_owned(), name.to_owned())).copied();
        state.is_some_and(|state| state.generation >= written.unwrap_or_default() && state.is_rolled_out())
    }

    pub(crate) async fn destroy_components(&self, components: &[Component]) -> Result<(), Failure> {
        for component in components {
            let name = self.name_of(*component);
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
            let mut fields = self.workload(Component::NodeExporter, &name, &image, &TextMap::new());
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
