// SPDX-License-Identifier: Apache-2.0
//! Gardener's control plane as Deployments of cluster `runtime`: images, replicas, arguments and configuration files.
//!
//! The images have the operator's own version: a Garden names none.
//!
//! Unlike upstream: no Pod has to be ready for 30 s before it counts (`minReadySeconds`), the names of images have no
//! registry, and settings that a Garden has no field for are read from an optional ConfigMap (see
//! [`overrides_name`]).
//!
//! Source: pkg/component/gardener/{apiserver,admissioncontroller,controllermanager,scheduler} @ v1.120.0.

use std::fmt::Write as _;

use api::constants::{label, namespace};
use api::kubernetes::apps::Deployment;
use api::operator::{Garden, GardenerAPIServerConfig};
use apimachinery::meta::Duration;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::components::Program;

/// Key of a ConfigMap with a component's configuration, or with its overrides.
pub const CONFIGURATION_KEY: &str = "config.yaml";
/// Number of bytes of the checksum in the name of a ConfigMap.
const CHECKSUM_BYTES: usize = 4;

/// A component of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// gardener-apiserver
    Apiserver,
    /// gardener-admission-controller
    AdmissionController,
    /// gardener-controller-manager
    ControllerManager,
    /// gardener-scheduler
    Scheduler,
}

impl Component {
    /// All of them, gardener-apiserver first.
    pub const ALL: [Self; 4] = [Self::Apiserver, Self::AdmissionController, Self::ControllerManager, Self::Scheduler];

    /// Row in the table of components.
    pub const fn program(self) -> Program {
        match self {
            Self::Apiserver => Program::Apiserver,
            Self::AdmissionController => Program::AdmissionController,
            Self::ControllerManager => Program::ControllerManager,
            Self::Scheduler => Program::Scheduler,
        }
    }

    /// Name of the component and of its Deployment.
    pub const fn name(self) -> &'static str {
        self.program().name()
    }

    /// Returns the component of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|component| component.name() == name)
    }
}

/// Start-up parameters of the operator that it passes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The operator's version, `v1.120.0`.
    pub version: String,
    /// `documents` or `upstream`.
    pub profile: String,
    /// Domain of Shoots without a domain of their own.
    pub default_domain: String,
    /// Number of gardener-apiservers of a new Deployment. Upstream an autoscaler sets the number: a Deployment that
    /// exists keeps it.
    pub apiservers: i32,
}

/// Desired state of a component.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredComponent {
    /// Name of the ConfigMap, and the configuration in it; `None`: it has flags.
    pub configuration: Option<(String, Value)>,
    /// The Deployment.
    pub deployment: Deployment,
}

/// Name of the optional ConfigMap whose `config.yaml` is merged (JSON merge patch) over a component's configuration;
/// for gardener-apiserver it has flags by their names without dashes.
pub fn overrides_name(component: Component) -> String {
    format!("{}-overrides", component.name())
}

/// Returns the desired state of a component for a Garden. `overrides` is null if there are none.
pub fn wanted(component: Component, garden: &Garden, settings: &Settings, overrides: &Value) -> DesiredComponent {
    let name = component.name();
    let configuration = configuration(component, garden).map(|mut tree| {
        merge(&mut tree, overrides);
        (format!("{name}-config-{}", checksum(&tree)), tree)
    });
    let args = match component {
        Component::Apiserver => apiserver_flags(garden, settings, overrides),
        _ => vec![format!("--profile={}", settings.profile)],
    };
    let config_map = configuration.as_ref().map(|(name, _)| name.as_str());
    let image = format!("{}:{}", component.program().image(), settings.version);
    let replicas = if component == Component::Apiserver { settings.apiservers } else { 1 };
    let mut deployment = deployment(name, &image, replicas, &args, config_map);
    deployment.metadata.labels.insert(label::MANAGED_BY.to_owned(), "gardener".to_owned());
    if component == Component::Apiserver {
        let surge = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "100%", "maxUnavailable": 0 } });
        deployment.spec.strategy = serde_json::from_value(surge).expect("it is a strategy");
    }
    DesiredComponent { configuration, deployment }
}

/// The Deployment of a component in namespace `garden`. `config_map` is the name of the ConfigMap with its configuration
/// file; the flag that names the file comes first.
pub fn deployment(name: &str, image: &str, replicas: i32, args: &[String], config_map: Option<&str>) -> Deployment {
    let labels = json!({ "app": "gardener", "role": name });
    let folder = format!("/etc/{name}/config");
    let mut container = json!({ "name": name, "image": image, "args": args });
    let mut volumes = json!([]);
    if let Some(config_map) = config_map {
        let config = std::iter::once(format!("--config={folder}/{CONFIGURATION_KEY}"));
        container["args"] = config.chain(args.iter().cloned()).collect();
        container["volumeMounts"] = json!([{ "name": "config", "mountPath": folder }]);
        volumes = json!([{ "name": "config", "configMap": { "name": config_map } }]);
    }
    let tree = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "namespace": namespace::GARDEN, "labels": labels },
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 2,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [container], "volumes": volumes },
            },
        },
    });
    serde_json::from_value(tree).expect("it is a Deployment")
}

/// Returns a component's configuration file as the Garden specifies it; overrides are merged over it.
pub fn configuration(component: Component, garden: &Garden) -> Option<Value> {
    let (api_version, kind) = component.program().configuration()?;
    let gardener = &garden.spec.virtual_cluster.gardener;
    let mut tree = json!({ "apiVersion": api_version, "kind": kind });
    let (level, gates) = match component {
        Component::Apiserver => (None, None),
        Component::AdmissionController => {
            let config = gardener.gardener_admission_controller.as_ref();
            if let Some(limits) = config.and_then(|config| config.resource_admission_configuration.as_ref()) {
                tree["server"] = json!({ "resourceAdmissionConfiguration": limits });
            }
            (config.and_then(|config| config.log_level.clone()), None)
        }
        Component::ControllerManager => {
            let config = gardener.gardener_controller_manager.as_ref();
            if let Some(quotas) = config.map(|config| &config.default_project_quotas).filter(|it| !it.is_empty()) {
                tree["controllers"] = json!({ "project": { "quotas": quotas } });
            }
            (config.and_then(|config| config.log_level.clone()), config.map(|config| &config.feature_gates))
        }
        Component::Scheduler => {
            let config = gardener.gardener_scheduler.as_ref();
            (config.and_then(|config| config.log_level.clone()), config.map(|config| &config.feature_gates))
        }
    };
    if let Some(level) = level {
        tree["logLevel"] = json!(level);
    }
    if let Some(gates) = gates.filter(|gates| !gates.is_empty()) {
        tree["featureGates"] = json!(gates);
    }
    Some(tree)
}

/// Returns the flags of gardener-apiserver: those of the landscape, the Garden's, then the overrides. Each flag
/// occurs once.
fn apiserver_flags(garden: &Garden, settings: &Settings, overrides: &Value) -> Vec<String> {
    let mut flags = vec![
        ("profile".to_owned(), settings.profile.clone()),
        ("default-domain".to_owned(), settings.default_domain.clone()),
        ("kubernetes-version".to_owned(), garden.spec.virtual_cluster.kubernetes.version.clone()),
    ];
    if let Some(config) = &garden.spec.virtual_cluster.gardener.gardener_api_server {
        flags.extend(garden_flags(config));
    }
    for (name, value) in overrides.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match flags.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => flags.push((name.clone(), value)),
        }
    }
    flags.into_iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

/// Returns the flags for a Garden's settings of gardener-apiserver.
fn garden_flags(config: &GardenerAPIServerConfig) -> Vec<(String, String)> {
    let mut flags = Vec::new();
    if !config.feature_gates.is_empty() {
        let gates: Vec<String> = config.feature_gates.iter().map(|(name, on)| format!("{name}={on}")).collect();
        flags.push(("feature-gates".to_owned(), gates.join(",")));
    }
    if let Some(expiration) = config.shoot_admin_kubeconfig_max_expiration {
        flags.push(("shoot-admin-kubeconfig-max-expiration".to_owned(), duration(expiration)));
    }
    flags
}

fn duration(duration: Duration) -> String {
    let tree = serde_json::to_value(duration).unwrap_or_default();
    tree.as_str().map(str::to_owned).unwrap_or_default()
}

/// Applies a JSON merge patch (RFC 7386).
pub fn merge(tree: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return };
    if !tree.is_object() {
        *tree = Value::Object(Map::new());
    }
    let Value::Object(fields) = tree else { return };
    for (name, value) in patch {
        match value {
            Value::Null => {
                fields.remove(name);
            }
            Value::Object(_) => merge(fields.entry(name.clone()).or_insert(Value::Null), value),
            value => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Returns the fields of `wanted` that a stored object lacks, as a JSON merge patch; `None`: none. Other fields of
/// the object stay: defaults of the server, annotations of other writers. Lists are replaced as a whole; an empty
/// value equals an absent one.
pub fn lacks(stored: &Value, wanted: &Value) -> Option<Value> {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => {
            let none = Value::Null;
            let lacking = wanted.iter().filter_map(|(name, wanted)| {
                let patch = lacks(stored.get(name).unwrap_or(&none), wanted)?;
                Some((name.clone(), patch))
            });
            let lacking: Map<String, Value> = lacking.collect();
            (!lacking.is_empty()).then_some(Value::Object(lacking))
        }
        (Value::Array(held), Value::Array(items)) if held.len() == items.len() => {
            let differs = held.iter().zip(items).any(|(held, item)| lacks(held, item).is_some());
            differs.then(|| wanted.clone())
        }
        (stored, wanted) if stored == wanted || (is_empty(stored) && is_empty(wanted)) => None,
        _ => Some(wanted.clone()),
    }
}

/// Returns the fields of the desired Deployment that a component's stored one lacks. The operator does not change the
/// number of gardener-apiservers of a Deployment that exists.
pub fn component_lacks(component: Component, stored: &Deployment, wanted: &Deployment) -> Option<Value> {
    deployment_lacks(stored, wanted, component == Component::Apiserver)
}

/// Computes the patch of a Deployment as [`lacks`]; `keeps_replicas`: the stored number of replicas stays.
pub fn deployment_lacks(stored: &Deployment, wanted: &Deployment, keeps_replicas: bool) -> Option<Value> {
    let tree = |deployment: &Deployment| {
        let mut tree = serde_json::to_value(deployment).unwrap_or_default();
        if let Value::Object(fields) = &mut tree {
            fields.remove("status");
        }
        tree
    };
    let mut wanted = wanted.clone();
    let args = |deployment: &Deployment| {
        let mut args = deployment.spec.template.spec.containers.first().map(|it| it.args.clone()).unwrap_or_default();
        args.sort_unstable();
        args
    };
    // The order of flags has no meaning, so it is no reason to replace Pods.
    if args(stored) == args(&wanted)
        && let Some((held, own)) =
            Option::zip(stored.spec.template.spec.containers.first(), wanted.spec.template.spec.containers.first_mut())
    {
        own.args.clone_from(&held.args);
    }
    let mut wanted = tree(&wanted);
    if let Some(spec) = wanted.get_mut("spec").and_then(Value::as_object_mut).filter(|_| keeps_replicas) {
        spec.remove("replicas");
    }
    if let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
    }
    lacks(&tree(stored), &wanted)
}

pub(super) fn checksum(tree: &Value) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(tree.to_string().as_bytes()).iter().take(CHECKSUM_BYTES) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            version: "v1.121.0".to_owned(),
            profile: "documents".to_owned(),
            default_domain: "a.example".to_owned(),
            apiservers: 2,
        }
    }

    fn garden(gardener: Value) -> Garden {
        let mut garden = Garden::default();
        garden.spec.virtual_cluster.kubernetes.version = "1.31.1".to_owned();
        garden.spec.virtual_cluster.gardener = serde_json::from_value(gardener).expect("settings");
        garden
    }

    fn container(wanted: &DesiredComponent) -> (&str, Vec<&str>) {
        let container = &wanted.deployment.spec.template.spec.containers[0];
        (&container.image, container.args.iter().map(String::as_str).collect())
    }

    #[test]
    fn images_have_the_version_of_the_operator() {
        let garden = garden(json!({}));
        for (component, image, replicas) in [
            (Component::Apiserver, "gardener/apiserver:v1.121.0", 2),
            (Component::AdmissionController, "gardener/admission-controller:v1.121.0", 1),
            (Component::ControllerManager, "gardener/controller-manager:v1.121.0", 1),
            (Component::Scheduler, "gardener/scheduler:v1.121.0", 1),
        ] {
            let wanted = wanted(component, &garden, &settings(), &Value::Null);
            assert_eq!((container(&wanted).0, wanted.deployment.spec.replicas), (image, Some(replicas)));
        }
    }

    #[test]
    fn gardener_apiserver_rolls_with_surge_and_has_flags() {
        let garden = garden(json!({ "gardenerAPIServer": {
            "featureGates": { "InPlaceNodeUpdates": true, "ShootCredentialsBinding": false },
            "shootAdminKubeconfigMaxExpiration": "12h",
        } }));
        let overrides = json!({ "shoot-credentials-rotation-interval": "24h", "default-domain": "b.example" });
        let wanted = wanted(Component::Apiserver, &garden, &settings(), &overrides);
        assert_eq!(
            container(&wanted).1,
            [
                "--profile=documents",
                "--default-domain=b.example",
                "--kubernetes-version=1.31.1",
                "--feature-gates=InPlaceNodeUpdates=true,ShootCredentialsBinding=false",
                "--shoot-admin-kubeconfig-max-expiration=12h0m0s",
                "--shoot-credentials-rotation-interval=24h",
            ]
        );
        let strategy = serde_json::to_value(&wanted.deployment.spec.strategy).expect("JSON");
        assert_eq!(strategy["rollingUpdate"], json!({ "maxSurge": "100%", "maxUnavailable": 0 }));
        assert_eq!(wanted.configuration, None);
    }

    #[test]
    fn a_configuration_file_is_named_for_its_content() {
        let level = json!({ "gardenerControllerManager": { "logLevel": "debug" } });
        let of = |gardener: Value, overrides: &Value| {
            let wanted = wanted(Component::ControllerManager, &garden(gardener), &settings(), overrides);
            let volume = wanted.deployment.spec.template.spec.volumes[0].clone();
            let (name, tree) = wanted.configuration.clone().expect("it has a file");
            assert_eq!(volume.config_map.expect("a ConfigMap").name, name);
            (name, tree)
        };
        let (plain, tree) = of(json!({}), &Value::Null);
        assert_eq!(
            tree,
            json!({
                "apiVersion": "controllermanager.config.gardener.cloud/v1alpha1",
                "kind": "ControllerManagerConfiguration",
            })
        );
        let (set, tree) = of(level.clone(), &Value::Null);
        assert_eq!(tree["logLevel"], "debug");
        assert_ne!(plain, set);
        let overrides = json!({ "controllers": { "shootRetry": { "retryPeriod": "1m" } }, "logLevel": null });
        let (_, tree) = of(level, &overrides);
        assert_eq!(
            (&tree["logLevel"], &tree["controllers"]["shootRetry"]["retryPeriod"]),
            (&Value::Null, &json!("1m"))
        );
    }

    /// Stored object, desired object, and patch.
    #[test]
    fn only_missing_fields_are_sent() {
        for (stored, wanted, expected) in [
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), None),
            (json!({ "a": 1 }), json!({ "a": 2, "c": { "d": 3 } }), Some(json!({ "a": 2, "c": { "d": 3 } }))),
            (json!({ "a": { "b": 1, "c": 2 } }), json!({ "a": { "b": 3 } }), Some(json!({ "a": { "b": 3 } }))),
            (json!({}), json!({ "a": [], "b": {}, "c": null }), None),
            (json!({ "a": [{ "n": 1, "d": 2 }] }), json!({ "a": [{ "n": 1 }] }), None),
            (json!({ "a": [{ "n": 1 }] }), json!({ "a": [{ "n": 2 }] }), Some(json!({ "a": [{ "n": 2 }] }))),
            (json!({ "a": [1, 2] }), json!({ "a": [1] }), Some(json!({ "a": [1] }))),
        ] {
            assert_eq!(lacks(&stored, &wanted), expected, "{stored} {wanted}");
        }
    }

    #[test]
    fn replicas_and_manual_restarts_of_gardener_apiserver_are_kept() {
        let garden = garden(json!({}));
        for component in Component::ALL {
            let wanted = wanted(component, &garden, &settings(), &Value::Null).deployment;
            let mut stored = wanted.clone();
            assert_eq!(component_lacks(component, &stored, &wanted), None);
            stored.spec.replicas = Some(5);
            let patch = component_lacks(component, &stored, &wanted);
            let expected = (component != Component::Apiserver).then(|| json!({ "spec": { "replicas": 1 } }));
            assert_eq!(patch, expected, "{component:?}");
        }
        let wanted = wanted(Component::Scheduler, &garden, &settings(), &Value::Null).deployment;
        let mut tree = serde_json::to_value(&wanted).expect("JSON");
        tree["spec"]["template"]["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/restartedAt": "x" });
        let stored: Deployment = serde_json::from_value(tree).expect("a Deployment");
        assert_eq!(component_lacks(Component::Scheduler, &stored, &wanted), None);
    }
}
