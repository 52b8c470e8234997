// SPDX-License-Identifier: Apache-2.0
//! Initial Garden and Gardenlets of a landscape, and adoption of a landscape that was created without an operator.

use std::collections::BTreeMap;

use api::constants::{label, namespace};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::ConfigMap;
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use apimachinery::meta::ObjectMeta;
use domain::garden::components::Program;
use domain::garden::control_plane::{CONFIGURATION_KEY, Component, overrides_name};
use domain::garden::gardenlet::chart_reference;
use serde_json::{Map, Value, json};

use crate::live::config;
use crate::live::directory::Facts;

/// Name of the initial Garden of a landscape.
const GARDEN: &str = "local";
/// Flags of gardener-apiserver that are no settings of the Garden, but of the operator itself.
const HANDED_ON: [&str; 3] = ["profile", "default-domain", "kubernetes-version"];

/// Flags of gardener-apiserver for which a Garden has fields.
const APISERVER_FIELDS: [(&str, &str); 2] =
    [("featureGates", "featureGates"), ("shoot-admin-kubeconfig-max-expiration", "shootAdminKubeconfigMaxExpiration")];

/// Returns the Deployment of gardener-operator.
pub(in crate::live) fn operator(facts: &Facts, version: &str) -> Deployment {
    let args = [
        format!("--profile={}", facts.profile),
        format!("--default-domain={}", landscape::DEFAULT_DOMAIN),
        format!("--apiservers={}", facts.apiservers),
    ];
    Program::Operator.deployment(version, 1, &args)
}

/// Returns the Garden of a new landscape.
pub(in crate::live) fn garden(kubernetes_version: &str) -> Garden {
    let domain = landscape::DEFAULT_DOMAIN;
    let tree = json!({
        "metadata": { "name": GARDEN },
        "spec": {
            "runtimeCluster": {
                "ingress": { "domains": [{ "name": format!("ingress.{domain}") }], "controller": { "kind": "nginx" } },
                "networking": { "nodes": ["172.18.0.0/16"], "pods": ["10.1.0.0/16"], "services": ["10.2.0.0/16"] },
                "provider": { "region": "local", "zones": ["0", "1", "2"] },
                "settings": { "topologyAwareRouting": { "enabled": false }, "verticalPodAutoscaler": { "enabled": true } },
            },
            "virtualCluster": {
                "dns": { "domains": [{ "name": format!("virtual-garden.{domain}") }] },
                "etcd": { "main": { "storage": { "capacity": "25Gi" } }, "events": { "storage": { "capacity": "10Gi" } } },
                "gardener": { "clusterIdentity": "garden" },
                "kubernetes": { "version": kubernetes_version },
                "maintenance": { "timeWindow": { "begin": "220000+0100", "end": "230000+0100" } },
                "networking": { "services": ["100.64.0.0/13"] },
            },
        },
    });
    serde_json::from_value(tree).expect("it is a Garden")
}

/// Returns the Gardenlet of a seed, which follows the operator's version. The name of the Seed is that of the Gardenlet.
pub(in crate::live) fn gardenlet(seed: &Seed, version: &str, mut configuration: Value) -> Gardenlet {
    if let Some(metadata) = configuration.pointer_mut("/seedConfig/metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
    }
    let tree = json!({
        "metadata": {
            "name": seed.metadata.name,
            "namespace": namespace::GARDEN,
            "labels": { label::AUTO_UPDATE_GARDENLET: "true" },
        },
        "spec": {
            "deployment": {
                "replicaCount": 1,
                "revisionHistoryLimit": 2,
                "helm": { "ociRepository": { "ref": chart_reference(version) } },
            },
            "config": configuration,
        },
    });
    serde_json::from_value(tree).expect("it is a Gardenlet")
}

/// Settings of a landscape without an operator.
#[derive(Debug, Default)]
pub(in crate::live) struct Adopted {
    /// Version of gardener-apiserver, and so of the operator; `None`: there is no gardener-apiserver.
    pub(in crate::live) version: Option<String>,
    /// ConfigMaps with settings for which the Garden has no field.
    pub(in crate::live) overrides: Vec<ConfigMap>,
}

/// Copies settings from the Deployments and ConfigMaps of a landscape without an operator to its Garden; returns the
/// settings for which the Garden has no field.
pub(in crate::live) fn adopt(garden: &mut Garden, deployments: &[Deployment], maps: &[ConfigMap]) -> Adopted {
    let mut adopted = Adopted::default();
    let gardener = &mut garden.spec.virtual_cluster.gardener;
    let mut left: BTreeMap<Component, Value> = BTreeMap::new();
    if let Some(apiserver) = deployments.iter().find(|it| it.metadata.name == Program::Apiserver.name()) {
        let container = apiserver.spec.template.spec.containers.first().cloned().unwrap_or_default();
        adopted.version = container.image.rsplit_once(':').map(|(_, tag)| tag.to_owned());
        let mut flags = config::flags_to_tree(&container.args);
        if let Value::Object(flags) = &mut flags {
            flags.retain(|name, _| !HANDED_ON.contains(&name.as_str()));
        }
        let mut config = json!({});
        for (flag, field) in APISERVER_FIELDS {
            if let Some(value) = flags.as_object_mut().and_then(|flags| flags.remove(flag)) {
                config[field] = value;
            }
        }
        if config != json!({}) {
            gardener.gardener_api_server = serde_json::from_value(config).ok();
        }
        left.insert(Component::Apiserver, flags);
    }
    for component in [Component::AdmissionController, Component::ControllerManager, Component::Scheduler] {
        let name = format!("{}-config", component.name());
        let Some(map) = maps.iter().find(|map| map.metadata.name == name) else { continue };
        let text = map.data.get(CONFIGURATION_KEY).map(String::as_str).unwrap_or_default();
        let mut tree: Value = yaml::from_str(text).unwrap_or_default();
        if let Value::Object(fields) = &mut tree {
            fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
        }
        left.insert(component, tree);
    }
    for (component, tree) in left {
        if tree.as_object().is_some_and(|fields| !fields.is_empty()) {
            adopted.overrides.extend(overrides(component, &tree));
        }
    }
    adopted
}

/// Returns the ConfigMap with settings for which the Garden has no field.
pub(in crate::live) fn overrides(component: Component, tree: &Value) -> Option<ConfigMap> {
    let text = yaml::to_string(tree).ok()?;
    let metadata = ObjectMeta {
        name: overrides_name(component),
        namespace: namespace::GARDEN.to_owned(),
        ..ObjectMeta::default()
    };
    Some(ConfigMap { metadata, data: [(CONFIGURATION_KEY.to_owned(), text)].into(), ..ConfigMap::default() })
}

/// Settings in a component's configuration or flags for which a Garden has fields; null if unset.
pub(in crate::live) fn owned(component: Component, tree: &Value) -> Map<String, Value> {
    let fields: &[(&str, &str)] = match component {
        Component::Apiserver => &APISERVER_FIELDS,
        Component::AdmissionController => &[("logLevel", "logLevel")],
        Component::ControllerManager | Component::Scheduler => {
            &[("featureGates", "featureGates"), ("logLevel", "logLevel")]
        }
    };
    fields.iter().map(|(name, field)| ((*field).to_owned(), tree[name].clone())).collect()
}

/// Name of the Garden's field with the settings of a component, below `spec.virtualCluster.gardener`.
pub(in crate::live) const fn field(component: Component) -> &'static str {
    match component {
        Component::Apiserver => "gardenerAPIServer",
        Component::AdmissionController => "gardenerAdmissionController",
        Component::ControllerManager => "gardenerControllerManager",
        Component::Scheduler => "gardenerScheduler",
    }
}

/// Returns the Deployment of a seed's gardenlet, in the form that gardenlet itself uses.
pub(in crate::live) fn gardenlet_deployment(
    gardenlet: &Gardenlet,
    profile: &str,
) -> Result<(ConfigMap, Deployment), String> {
    let wanted = domain::garden::gardenlet::wanted(gardenlet, profile)?;
    Ok((wanted.config_map(), wanted.deployment))
}

#[cfg(test)]
mod tests {
    use domain::garden::control_plane::deployment;
    use domain::profile::Profile;
    use domain::validation::garden::{Rules, garden as validate};

    use super::*;

    #[test]
    fn the_garden_of_a_new_landscape_is_right() {
        for profile in [Profile::Documents, Profile::Upstream] {
            let rules = Rules { profile, version: "v1.120.0".to_owned() };
            assert_eq!(validate(&garden("1.31.1"), &rules), []);
        }
    }

    #[test]
    fn a_landscape_without_an_operator_keeps_its_settings() {
        let mut made = garden("1.31.1");
        let args = [
            "--profile=documents",
            "--default-domain=a.example",
            "--kubernetes-version=1.31.1",
            "--feature-gates=InPlaceNodeUpdates=true",
            "--shoot-credentials-rotation-interval=24h",
        ];
        let apiserver =
            deployment("gardener-apiserver", "gardener/apiserver:v1.121.0", 2, &args.map(str::to_owned), None);
        let text = "apiVersion: a\nkind: b\nschedulers: {shoot: {concurrentSyncs: 7}}\n";
        let map = ConfigMap {
            metadata: ObjectMeta { name: "gardener-scheduler-config".to_owned(), ..ObjectMeta::default() },
            data: [("config.yaml".to_owned(), text.to_owned())].into(),
            ..ConfigMap::default()
        };
        let adopted = adopt(&mut made, &[apiserver], &[map]);
        assert_eq!(adopted.version.as_deref(), Some("v1.121.0"));
        let config = made.spec.virtual_cluster.gardener.gardener_api_server.expect("settings");
        assert_eq!(config.feature_gates, BTreeMap::from([("InPlaceNodeUpdates".to_owned(), true)]));
        let shown: Vec<(&str, &str)> = adopted
            .overrides
            .iter()
            .map(|map| {
                (map.metadata.name.as_str(), map.data.get("config.yaml").map(String::as_str).unwrap_or_default())
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("gardener-apiserver-overrides", "shoot-credentials-rotation-interval: 24h\n"),
                ("gardener-scheduler-overrides", "schedulers:\n  shoot:\n    concurrentSyncs: 7\n"),
            ]
        );
    }
}
