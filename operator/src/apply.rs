// SPDX-License-Identifier: Apache-2.0
//! Objects that the operator writes in addition to the Garden's status.

use api::constants::namespace;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Namespace};
use api::operator::Garden;
use api::terrarium::Cluster;
use apimachinery::meta::ObjectMeta;
use controller::{Api, Error, Patch};
use domain::garden::control_plane::{self, CONFIGURATION_KEY, Component, DesiredComponent};
use domain::garden::seed_cluster::config_map;
use process::Context;
use serde_json::{Value, json};

use crate::{GARDEN, RUNTIME};

/// Name of the ConfigMap with public information about Gardener.
pub(crate) const GARDENER_INFO: &str = "gardener-info";
/// Key of the information about gardener-apiserver.
const GARDENER_INFO_KEY: &str = "gardenerAPIServer";

/// Creates or updates a component's configuration and Deployment.
pub(crate) async fn component(
    context: &Context,
    component: Component,
    wanted: &DesiredComponent,
    stored: Option<&Deployment>,
) -> Result<(), Error> {
    if let Some((name, tree)) = &wanted.configuration {
        let map = ConfigMap { immutable: Some(true), ..config_map(name, tree) };
        Api::namespaced(context, RUNTIME, namespace::GARDEN).create_unless_there(&map).await?;
    }
    let api = Api::<Deployment>::namespaced(context, RUNTIME, namespace::GARDEN);
    match stored {
        None => api.create_unless_there(&wanted.deployment).await,
        Some(stored) => match control_plane::component_lacks(component, stored, &wanted.deployment) {
            Some(patch) => api.patch(component.name(), &Patch::Merge(patch)).await.map(drop),
            None => Ok(()),
        },
    }
}

/// Removes a component's Deployment and configurations.
pub(crate) async fn destroy(context: &Context, component: Component, configurations: &[String]) -> Result<(), Error> {
    let api = Api::<Deployment>::namespaced(context, RUNTIME, namespace::GARDEN);
    api.delete_if_there(component.name()).await?;
    let maps = Api::<ConfigMap>::namespaced(context, RUNTIME, namespace::GARDEN);
    for name in configurations {
        maps.delete_if_there(name).await?;
    }
    Ok(())
}

/// Sets the virtual garden's Kubernetes version to the Garden's.
pub(crate) async fn kubernetes_version(context: &Context, garden: &Garden) -> Result<(), Error> {
    let version = &garden.spec.virtual_cluster.kubernetes.version;
    let patch = Patch::Merge(json!({ "spec": { "kubernetesVersion": version } }));
    Api::<Cluster>::all(context, RUNTIME).patch(GARDEN, &patch).await.map(drop)
}

/// Creates the namespace for public information.
pub(crate) async fn system_resources(context: &Context) -> Result<(), Error> {
    let namespace = Namespace { metadata: ObjectMeta::named("", namespace::PUBLIC), ..Namespace::default() };
    Api::<Namespace>::all(context, GARDEN).create_unless_there(&namespace).await
}

/// Returns the content of ConfigMap `gardener-info` about gardener-apiserver.
pub(crate) fn gardener_info(garden: &Garden, version: &str) -> String {
    let domain = garden.spec.runtime_cluster.ingress.domains.first().map_or("", |domain| domain.name.as_str());
    format!(
        "version: {version}\nworkloadIdentityIssuerURL: https://discovery.{domain}/garden/workload-identity/issuer\n"
    )
}

/// True if the ConfigMap has this content.
pub(crate) fn says(map: Option<&ConfigMap>, info: &str) -> bool {
    map.is_some_and(|map| map.data.get(GARDENER_INFO_KEY).is_some_and(|held| held == info))
}

/// Writes ConfigMap `gardener-info`; its other keys are kept.
pub(crate) async fn write_gardener_info(context: &Context, is_there: bool, info: &str) -> Result<(), Error> {
    let api = Api::<ConfigMap>::namespaced(context, GARDEN, namespace::PUBLIC);
    if is_there {
        let patch = Patch::Merge(json!({ "data": { GARDENER_INFO_KEY: info } }));
        return api.patch(GARDENER_INFO, &patch).await.map(drop);
    }
    let metadata = ObjectMeta::named(namespace::PUBLIC, GARDENER_INFO);
    let data = [(GARDENER_INFO_KEY.to_owned(), info.to_owned())].into();
    api.create(&ConfigMap { metadata, data, ..ConfigMap::default() }).await.map(drop)
}

/// Returns the configuration overrides of a component; null if there are none.
///
/// # Errors
/// Returns an error if the overrides are not a YAML mapping.
pub(crate) fn overrides(map: Option<&ConfigMap>) -> Result<Value, String> {
    let Some(map) = map else { return Ok(Value::Null) };
    let text = map.data.get(CONFIGURATION_KEY).cloned().unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let name = &map.metadata.name;
    let tree: Value =
        yaml::from_str(&text).map_err(|error| format!("ConfigMap {name}, key {CONFIGURATION_KEY}: {error}"))?;
    if tree.is_object() || tree.is_null() {
        Ok(tree)
    } else {
        Err(format!("ConfigMap {name}, key {CONFIGURATION_KEY}: it is not a mapping"))
    }
}
