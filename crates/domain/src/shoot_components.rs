// SPDX-License-Identifier: Apache-2.0
//! The table of a Shoot's components, each represented by one object (kube-proxy by one for each pool and version).
//!
//! Releases that have a component, tags of its image and changes of its configuration are rows of
//! [`crate::upgrade::changes`], found by the component's name; so notes about an upgrade and the components cannot differ.
//!
//! Source: pkg/gardenlet/controller/shoot/shoot/reconciler_reconcile.go, pkg/gardenlet/operation/botanist,
//! pkg/gardenlet/controller/shoot/care @ v1.120.0.

use api::core::ShootSpec;
use serde_json::{Value, json};

use crate::gardener_version::GardenerVersion;
use crate::upgrade::changes::{has_component, image_tag, is_reconfigured};

use self::Kind::{ControlPlane, Etcd, EveryNode, System};
use self::TagSource::{GardenletVersion, KubernetesVersion, ReleaseTable};

/// A component of a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table has the names")]
pub enum Component {
    EtcdMain,
    EtcdEvents,
    KubeApiserver,
    GardenerResourceManager,
    OpenTelemetryCollector,
    KubeScheduler,
    VpaAdmissionController,
    VpaRecommender,
    VpaUpdater,
    KubeControllerManager,
    NetworkPlugin,
    CoreDns,
    NodeLocalDns,
    MetricsServer,
    VpnShoot,
    NodeProblemDetector,
    KubeProxy,
    ApiserverProxy,
    NodeExporter,
    MachineControllerManager,
    ClusterAutoscaler,
    IstioBasicAuthServer,
}

/// Cluster and kind of a component's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment of the control plane namespace.
    ControlPlane,
    /// A StatefulSet of the control plane namespace.
    Etcd,
    /// A Deployment of `kube-system` in the shoot.
    System,
    /// A DaemonSet of `kube-system` in the shoot.
    EveryNode,
}

impl Kind {
    /// True if the object is in the shoot cluster, not in the control plane namespace.
    pub const fn is_in_shoot(self) -> bool {
        matches!(self, System | EveryNode)
    }

    /// Returns the namespace of the object of a Shoot with a technical ID.
    pub const fn namespace(self, technical_id: &str) -> &str {
        if self.is_in_shoot() { "kube-system" } else { technical_id }
    }
}

/// Source of the tag of a component's image.
#[derive(Clone, Copy)]
enum TagSource {
    /// The version of the cluster.
    KubernetesVersion,
    /// The version of gardenlet.
    GardenletVersion,
    /// The tag that the release has for it; `stable` if none is known.
    ReleaseTable,
}

/// A row of the table.
#[derive(Clone, Copy)]
struct Row {
    component: Component,
    name: &'static str,
    kind: Kind,
    /// Task of the flow that deploys it.
    task: &'static str,
    image: TagSource,
    /// Condition on the spec.
    condition: fn(&ShootSpec) -> bool,
    /// Feature gate that turns it on; a gate may be older than the release that has the component by default.
    gate: Option<&'static str>,
    /// Parts of the spec that change its pods.
    configuration: fn(&ShootSpec) -> Value,
    /// Replicas of an ordinary and of a highly available control plane.
    replicas: [i32; 2],
    /// True if its pods are labelled for the restart that maintenance may request.
    is_restarted: bool,
    /// True if its health counts for `ObservabilityComponentsHealthy`, not for `ControlPlaneHealthy`.
    is_observability: bool,
}

const fn row(
    component: Component,
    name: &'static str,
    kind: Kind,
    image: TagSource,
    condition: fn(&ShootSpec) -> bool,
    task: &'static str,
) -> Row {
    let configuration = |_: &ShootSpec| Value::Null;
    let (gate, replicas) = (None, [1, 1]);
    let (is_restarted, is_observability) = (false, false);
    Row { component, name, kind, task, image, condition, gate, configuration, replicas, is_restarted, is_observability }
}

impl Row {
    const fn gate(self, gate: &'static str) -> Self {
        Self { gate: Some(gate), ..self }
    }

    const fn configuration(self, configuration: fn(&ShootSpec) -> Value) -> Self {
        Self { configuration, ..self }
    }

    const fn replicas(self, ordinary: i32, highly_available: i32) -> Self {
        Self { replicas: [ordinary, highly_available], ..self }
    }

    const fn restarted(self) -> Self {
        Self { is_restarted: true, ..self }
    }

    const fn observability(self) -> Self {
        Self { is_observability: true, ..self }
    }
}

/// The table, in the order of [`Component`] and of the tasks: component, name, kind, image, condition, task.
#[rustfmt::skip]
#[allow(clippy::enum_glob_use, reason = "a table reads by its words alone")]
static ROWS: [Row; 22] = {
    use Component::*;
    [
        row(EtcdMain, "etcd-main", Etcd, ReleaseTable, always, "Deploying main and events etcd").replicas(1, 3),
        row(EtcdEvents, "etcd-events", Etcd, ReleaseTable, always, "Deploying main and events etcd").replicas(1, 3),
        row(KubeApiserver, "kube-apiserver", ControlPlane, KubernetesVersion, always, "Deploying Kubernetes API server")
            .configuration(|spec| json!(spec.kubernetes.kube_api_server)).replicas(2, 3),
        row(GardenerResourceManager, "gardener-resource-manager", ControlPlane, GardenletVersion, always, "Deploying gardener-resource-manager")
            .replicas(2, 2),
        row(OpenTelemetryCollector, "opentelemetry-collector", ControlPlane, ReleaseTable, always, "Deploying shoot logging stack in Seed")
            .gate("OpenTelemetryCollector").observability(),
        row(KubeScheduler, "kube-scheduler", ControlPlane, KubernetesVersion, has_workers, "Deploying Kubernetes scheduler")
            .configuration(|spec| json!(spec.kubernetes.kube_scheduler)).restarted(),
        row(VpaAdmissionController, "vpa-admission-controller", ControlPlane, ReleaseTable, has_vpa, "Deploying Kubernetes vertical pod autoscaler")
            .configuration(vpa),
        row(VpaRecommender, "vpa-recommender", ControlPlane, ReleaseTable, has_vpa, "Deploying Kubernetes vertical pod autoscaler")
            .configuration(vpa),
        row(VpaUpdater, "vpa-updater", ControlPlane, ReleaseTable, has_vpa, "Deploying Kubernetes vertical pod autoscaler")
            .configuration(vpa),
        row(KubeControllerManager, "kube-controller-manager", ControlPlane, KubernetesVersion, always, "Deploying Kubernetes controller manager")
            .configuration(|spec| json!(spec.kubernetes.kube_controller_manager)).restarted(),
        row(NetworkPlugin, "network-plugin", EveryNode, ReleaseTable, has_workers, "Deploying shoot network plugin")
            .configuration(|spec| json!(spec.networking.as_ref().map(|networking| &networking.provider_config))),
        row(CoreDns, "coredns", System, ReleaseTable, has_workers, "Deploying CoreDNS system component")
            .configuration(|spec| json!(spec.system_components)).replicas(2, 2),
        row(NodeLocalDns, "node-local-dns", EveryNode, ReleaseTable, has_node_local_dns, "Reconcile node-local-dns system component"),
        row(MetricsServer, "metrics-server", System, ReleaseTable, has_workers, "Deploying metrics-server system component"),
        row(VpnShoot, "vpn-shoot", System, ReleaseTable, has_workers, "Deploying vpn-shoot system component"),
        row(NodeProblemDetector, "node-problem-detector", EveryNode, ReleaseTable, has_workers, "Deploying node-problem-detector system component"),
        row(KubeProxy, "kube-proxy", EveryNode, KubernetesVersion, has_kube_proxy, "Deploying kube-proxy system component"),
        row(ApiserverProxy, "apiserver-proxy", EveryNode, ReleaseTable, has_workers, "Deploying apiserver-proxy"),
        row(NodeExporter, "node-exporter", EveryNode, ReleaseTable, has_workers, "Deploying node-exporter"),
        row(MachineControllerManager, "machine-controller-manager", ControlPlane, ReleaseTable, has_workers, "Deploying machine-controller-manager")
            .restarted(),
        row(ClusterAutoscaler, "cluster-autoscaler", ControlPlane, ReleaseTable, is_autoscaled, "Deploying cluster autoscaler")
            .configuration(|spec| json!(spec.kubernetes.cluster_autoscaler)).restarted(),
        row(IstioBasicAuthServer, "istio-basic-auth-server", ControlPlane, ReleaseTable, always, "Reconciling Plutono for Shoot in Seed for the monitoring stack")
            .observability(),
    ]
};

const fn always(_: &ShootSpec) -> bool {
    true
}

fn has_workers(spec: &ShootSpec) -> bool {
    !spec.provider.workers.is_empty()
}

fn is_autoscaled(spec: &ShootSpec) -> bool {
    spec.provider.workers.iter().any(|pool| pool.maximum > pool.minimum)
}

fn has_vpa(spec: &ShootSpec) -> bool {
    has_workers(spec) && spec.kubernetes.vertical_pod_autoscaler.as_ref().is_some_and(|autoscaler| autoscaler.enabled)
}

fn has_node_local_dns(spec: &ShootSpec) -> bool {
    let dns = spec.system_components.as_ref().and_then(|components| components.node_local_dns.as_ref());
    has_workers(spec) && dns.is_some_and(|dns| dns.enabled)
}

/// True unless kube-proxy is disabled.
fn has_kube_proxy(spec: &ShootSpec) -> bool {
    has_workers(spec) && spec.kubernetes.kube_proxy.as_ref().is_none_or(|proxy| proxy.enabled != Some(false))
}

fn vpa(spec: &ShootSpec) -> Value {
    json!(spec.kubernetes.vertical_pod_autoscaler)
}

impl Component {
    /// All components, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.component)
    }

    /// Returns the components that a task of the flow deploys, in the order of their writes.
    pub fn of_task(task: &str) -> Vec<Self> {
        Self::all().filter(|component| component.task() == task).collect()
    }

    /// Returns the names of the objects of a kind that `ControlPlaneHealthy` requires of a Shoot.
    pub fn required(kind: Kind, spec: &ShootSpec) -> Vec<&'static str> {
        let is_required = |row: &&Row| row.kind == kind && !row.is_observability && (row.condition)(spec);
        ROWS.iter().filter(is_required).map(|row| row.name).collect()
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Name of the component.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Cluster and kind of the object.
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// Task of the flow that deploys it.
    pub fn task(self) -> &'static str {
        self.row().task
    }

    /// True if its pods are labelled for the restart that maintenance may request.
    pub fn is_restarted(self) -> bool {
        self.row().is_restarted
    }

    /// True if the spec requires it, in releases that have it.
    pub fn is_required_by(self, spec: &ShootSpec) -> bool {
        (self.row().condition)(spec)
    }

    /// True if a gardenlet of this version deploys it for a Shoot. `is_on` returns the state of a feature gate.
    pub fn is_deployed(self, spec: &ShootSpec, gardenlet: &str, is_on: impl FnOnce(&str) -> bool) -> bool {
        let exists = match self.row().gate {
            Some(gate) => is_on(gate),
            None => GardenerVersion::parse(gardenlet).is_none_or(|version| has_component(self.name(), &version)),
        };
        exists && self.is_required_by(spec)
    }

    /// Returns the name of its object; kube-proxy has one for each pool and version instead.
    pub fn object_name(self, spec: &ShootSpec) -> String {
        let network = spec.networking.as_ref().and_then(|networking| networking.r#type.as_deref());
        match (self, network) {
            (Self::NetworkPlugin, Some("cilium")) => "cilium".to_owned(),
            (Self::NetworkPlugin, type_) => format!("{}-node", type_.unwrap_or("network")),
            _ => self.name().to_owned(),
        }
    }

    /// Returns the tag of its image as a gardenlet of this version deploys it.
    pub fn image_tag(self, spec: &ShootSpec, gardenlet: &str) -> String {
        match self.row().image {
            KubernetesVersion => format!("v{}", spec.kubernetes.version),
            GardenletVersion => gardenlet.to_owned(),
            ReleaseTable => GardenerVersion::parse(gardenlet)
                .and_then(|version| image_tag(self.name(), &version, &spec.kubernetes.version))
                .unwrap_or("stable")
                .to_owned(),
        }
    }

    /// Returns the configuration of its pods; a change replaces them. Null: there is none.
    pub fn configuration(self, spec: &ShootSpec, gardenlet: &str) -> Value {
        let configuration = (self.row().configuration)(spec);
        let is_reconfigured =
            |version: GardenerVersion| is_reconfigured(self.name(), &version, &spec.kubernetes.version);
        if GardenerVersion::parse(gardenlet).is_some_and(is_reconfigured) {
            // Only kube-apiserver is reconfigured by a release; the text is an input of the checksum.
            json!([configuration, "anonymous access by the authentication configuration"])
        } else {
            configuration
        }
    }

    /// Returns the number of replicas while the Shoot is awake.
    pub fn replicas(self, spec: &ShootSpec) -> i32 {
        let [ordinary, highly_available] = self.row().replicas;
        let is_highly_available = spec.control_plane.as_ref().is_some_and(|plane| plane.high_availability.is_some());
        if is_highly_available { highly_available } else { ordinary }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a spec with a worker pool `a`, changed by a JSON merge patch.
    #[track_caller]
    fn spec(patch: Value) -> ShootSpec {
        let mut spec = json!({
            "kubernetes": { "version": "1.33.1" },
            "networking": { "type": "calico" },
            "provider": { "type": "local", "workers": [{ "name": "a", "minimum": 1, "maximum": 1 }] },
        });
        for (part, fields) in patch.as_object().expect("an object") {
            for (field, value) in fields.as_object().expect("an object") {
                spec[part][field] = value.clone();
            }
        }
        serde_json::from_value(spec).expect("the spec of a Shoot")
    }

    /// Returns the names of the components that a gardenlet deploys, with all gates off.
    fn names(spec: &ShootSpec, gardenlet: &str) -> Vec<&'static str> {
        let is_deployed = |component: &Component| component.is_deployed(spec, gardenlet, |_| false);
        Component::all().filter(is_deployed).map(Component::name).collect()
    }

    #[test]
    fn each_component_has_its_own_row() {
        for (place, component) in Component::all().enumerate() {
            assert_eq!(component as usize, place, "{}", component.name());
            assert_eq!(Component::all().filter(|other| other.name() == component.name()).count(), 1);
        }
    }

    #[test]
    fn a_task_deploys_its_components_in_this_order() {
        for (task, expected) in [
            ("Deploying main and events etcd", ["etcd-main", "etcd-events"].as_slice()),
            ("Deploying gardener-resource-manager", &["gardener-resource-manager"]),
            (
                "Deploying Kubernetes vertical pod autoscaler",
                &["vpa-admission-controller", "vpa-recommender", "vpa-updater"],
            ),
            ("Deploying shoot logging stack in Seed", &["opentelemetry-collector"]),
            ("Reconciling Plutono for Shoot in Seed for the monitoring stack", &["istio-basic-auth-server"]),
            ("Deploying Shoot infrastructure", &[]),
        ] {
            let names: Vec<_> = Component::of_task(task).into_iter().map(Component::name).collect();
            assert_eq!(names, expected, "{task}");
        }
    }

    #[test]
    fn a_workerless_shoot_has_a_control_plane_without_scheduler() {
        let workerless =
            spec(json!({ "provider": { "workers": [] }, "systemComponents": { "nodeLocalDNS": { "enabled": true } } }));
        let expected =
            ["etcd-main", "etcd-events", "kube-apiserver", "gardener-resource-manager", "kube-controller-manager"];
        assert_eq!(names(&workerless, "v1.120.0"), expected);
    }

    #[test]
    fn a_shoot_with_workers_has_all_unconditional_components() {
        let expected = [
            "etcd-main",
            "etcd-events",
            "kube-apiserver",
            "gardener-resource-manager",
            "kube-scheduler",
            "kube-controller-manager",
            "network-plugin",
            "coredns",
            "metrics-server",
            "vpn-shoot",
            "node-problem-detector",
            "kube-proxy",
            "apiserver-proxy",
            "node-exporter",
            "machine-controller-manager",
        ];
        assert_eq!(names(&spec(json!({})), "v1.120.0"), expected);
    }

    /// A part of the spec, and the components that it adds (`+`) or removes (`-`).
    #[test]
    fn settings_add_and_remove_components() {
        let plain = names(&spec(json!({})), "v1.120.0");
        for (patch, changes) in [
            (json!({ "kubernetes": { "kubeProxy": { "enabled": true, "mode": "IPVS" } } }), [].as_slice()),
            (json!({ "kubernetes": { "kubeProxy": { "mode": "IPVS" } } }), &[]),
            (json!({ "kubernetes": { "kubeProxy": { "enabled": false } } }), &["-kube-proxy"]),
            (json!({ "systemComponents": { "nodeLocalDNS": { "enabled": false } } }), &[]),
            (json!({ "systemComponents": { "nodeLocalDNS": { "enabled": true } } }), &["+node-local-dns"]),
            (json!({ "kubernetes": { "verticalPodAutoscaler": { "enabled": false } } }), &[]),
            (
                json!({ "kubernetes": { "verticalPodAutoscaler": { "enabled": true } } }),
                &["+vpa-admission-controller", "+vpa-recommender", "+vpa-updater"],
            ),
            (
                json!({ "provider": { "workers": [{ "name": "a", "minimum": 1, "maximum": 2 }] } }),
                &["+cluster-autoscaler"],
            ),
        ] {
            let changed = names(&spec(patch.clone()), "v1.120.0");
            let removed = plain.iter().filter(|name| !changed.contains(name)).map(|name| format!("-{name}"));
            let added = changed.iter().filter(|name| !plain.contains(name)).map(|name| format!("+{name}"));
            assert_eq!(removed.chain(added).collect::<Vec<_>>(), changes, "{patch}");
        }
    }

    /// Component, version of gardenlet, gate, and the presence of the component.
    #[test]
    fn releases_and_gates_add_components() {
        for (component, gardenlet, gate, expected) in [
            (Component::IstioBasicAuthServer, "v1.140.9", true, false),
            (Component::IstioBasicAuthServer, "v1.141.0", false, true),
            (Component::IstioBasicAuthServer, "of my own", false, true),
            (Component::OpenTelemetryCollector, "v1.135.0", false, false),
            (Component::OpenTelemetryCollector, "v1.135.0", true, true),
            (Component::OpenTelemetryCollector, "v1.136.0", false, false),
        ] {
            let is_on = |name: &str| name == "OpenTelemetryCollector" && gate;
            assert_eq!(
                component.is_deployed(&spec(json!({})), gardenlet, is_on),
                expected,
                "{component:?} {gardenlet}"
            );
        }
    }

    #[test]
    fn images_have_the_version_of_the_cluster_or_of_gardener() {
        for (component, gardenlet, expected) in [
            (Component::KubeApiserver, "v1.120.0", "v1.33.1"),
            (Component::KubeControllerManager, "v1.120.0", "v1.33.1"),
            (Component::KubeScheduler, "v1.120.0", "v1.33.1"),
            (Component::GardenerResourceManager, "v1.120.3", "v1.120.3"),
            (Component::CoreDns, "v1.120.0", "v1.12.1"),
            (Component::CoreDns, "v1.122.0", "v1.12.2"),
            (Component::EtcdMain, "v1.149.0", "stable"),
            (Component::CoreDns, "of my own", "stable"),
        ] {
            assert_eq!(component.image_tag(&spec(json!({})), gardenlet), expected, "{component:?} {gardenlet}");
        }
    }

    #[test]
    fn the_network_plugin_has_the_name_of_its_type() {
        for (type_, expected) in
            [(json!("calico"), "calico-node"), (json!("cilium"), "cilium"), (Value::Null, "network-node")]
        {
            let spec = spec(json!({ "networking": { "type": type_ } }));
            assert_eq!(Component::NetworkPlugin.object_name(&spec), expected);
            assert_eq!(Component::CoreDns.object_name(&spec), "coredns");
        }
    }

    /// Kind, and the names that the control plane must have while it is autoscaled or has no workers.
    #[test]
    fn a_healthy_control_plane_needs_no_observability() {
        let autoscaled = spec(json!({ "provider": { "workers": [{ "name": "a", "minimum": 1, "maximum": 2 }] } }));
        let workerless = spec(json!({ "provider": { "workers": [] } }));
        for (kind, of_autoscaled, of_workerless) in [
            (Kind::Etcd, ["etcd-main", "etcd-events"].as_slice(), ["etcd-main", "etcd-events"].as_slice()),
            (
                Kind::ControlPlane,
                &[
                    "kube-apiserver",
                    "gardener-resource-manager",
                    "kube-scheduler",
                    "kube-controller-manager",
                    "machine-controller-manager",
                    "cluster-autoscaler",
                ],
                &["kube-apiserver", "gardener-resource-manager", "kube-controller-manager"],
            ),
        ] {
            assert_eq!(Component::required(kind, &autoscaled), of_autoscaled);
            assert_eq!(Component::required(kind, &workerless), of_workerless);
        }
    }

    /// Component, replicas of an ordinary and of a highly available control plane, and the restart in maintenance.
    #[test]
    fn replicas_and_restarts_of_a_control_plane() {
        let ordinary = spec(json!({}));
        let highly_available =
            spec(json!({ "controlPlane": { "highAvailability": { "failureTolerance": { "type": "node" } } } }));
        for (component, replicas, is_restarted) in [
            (Component::EtcdMain, [1, 3], false),
            (Component::EtcdEvents, [1, 3], false),
            (Component::KubeApiserver, [2, 3], false),
            (Component::GardenerResourceManager, [2, 2], false),
            (Component::CoreDns, [2, 2], false),
            (Component::KubeControllerManager, [1, 1], true),
            (Component::KubeScheduler, [1, 1], true),
            (Component::MachineControllerManager, [1, 1], true),
            (Component::ClusterAutoscaler, [1, 1], true),
        ] {
            let found = [component.replicas(&ordinary), component.replicas(&highly_available)];
            assert_eq!((found, component.is_restarted()), (replicas, is_restarted), "{component:?}");
        }
    }

    /// A part of the spec, and the components whose pods it changes.
    #[test]
    fn pods_follow_their_part_of_the_spec() {
        let plain = spec(json!({}));
        for (patch, expected) in [
            (json!({ "kubernetes": { "kubeAPIServer": { "eventTTL": "1h" } } }), ["kube-apiserver"].as_slice()),
            (json!({ "kubernetes": { "kubeScheduler": { "profile": "bin-packing" } } }), &["kube-scheduler"]),
            (json!({ "networking": { "providerConfig": { "backend": "none" } } }), &["network-plugin"]),
            (json!({ "systemComponents": { "nodeLocalDNS": { "enabled": true } } }), &["coredns"]),
            (
                json!({ "kubernetes": { "verticalPodAutoscaler": { "enabled": true } } }),
                &["vpa-admission-controller", "vpa-recommender", "vpa-updater"],
            ),
            (json!({ "kubernetes": { "version": "1.33.2" } }), &[]),
        ] {
            let changed = spec(patch.clone());
            let differs = |component: &Component| {
                component.configuration(&plain, "v1.120.0") != component.configuration(&changed, "v1.120.0")
            };
            let names: Vec<_> = Component::all().filter(differs).map(Component::name).collect();
            assert_eq!(names, expected, "{patch}");
        }
    }

    #[test]
    fn a_release_changes_the_configuration_of_kube_apiserver() {
        let spec = spec(json!({}));
        for component in Component::all() {
            let is_changed = component.configuration(&spec, "v1.120.0") != component.configuration(&spec, "v1.121.0");
            assert_eq!(is_changed, component == Component::KubeApiserver, "{component:?}");
        }
    }
}
