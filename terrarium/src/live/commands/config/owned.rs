// SPDX-License-Identifier: Apache-2.0
//! Settings in a landscape with gardener-operator: fields of the Garden, and a ConfigMap `NAME-overrides` for settings
//! without a field; settings of a gardenlet are in its Gardenlet. The owner of the Deployment rolls them out.

use api::cluster;
use api::constants::namespace;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Pod};
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use apimachinery::meta::DeleteOptions;
use clock::{Clock, TimerClass};
use controller::{Api, ListOptions};
use domain::garden::components::Program;
use domain::garden::control_plane::{self, Component, Settings, component_lacks, overrides_name};
use domain::garden::rollout::{self, Rollout};
use process::Context;
use process::child::Assignment;
use serde_json::{Map, Value, json};

use super::{LOOK, TIMEOUT, failed, flags_to_tree};
use crate::failure::Failure;
use crate::live::operator;

/// Object that owns the settings of a component.
#[derive(Clone, Debug)]
pub(super) enum Owner {
    /// No owner: users edit its ConfigMap or the arguments of its Deployment.
    Nobody,
    /// The Garden owns the settings.
    Garden(Box<Garden>, Component),
    /// A Gardenlet owns the settings.
    Gardenlet(Box<Gardenlet>),
}

impl Owner {
    /// Finds the owner for a component in a cluster.
    pub(super) async fn find(context: &Context, program: Program, cluster: &str) -> Result<Self, Failure> {
        if let Some(seed) = cluster::seed(cluster) {
            let api = Api::<Gardenlet>::namespaced(context, cluster::GARDEN, namespace::GARDEN);
            let found = api.get_opt(seed).await.map_err(|error| failed(&error))?;
            return Ok(found.map_or(Self::Nobody, |gardenlet| Self::Gardenlet(Box::new(gardenlet))));
        }
        let Some(component) = Component::named(program.name()) else { return Ok(Self::Nobody) };
        let listed = Api::<Garden>::all(context, cluster::RUNTIME).list(&ListOptions::default()).await;
        let (gardens, _) = listed.map_err(|error| failed(&error))?;
        let found = gardens.into_iter().next();
        Ok(found.map_or(Self::Nobody, |garden| Self::Garden(Box::new(garden), component)))
    }
}

/// Writes a component's configuration into the Garden and its overrides, and waits until the component runs with it.
/// Returns the names of the written objects.
pub(super) async fn set_garden(
    context: &Context,
    garden: &Garden,
    component: Component,
    tree: &Value,
) -> Result<String, Failure> {
    let settings = settings(context).await?;
    let new = with(garden, component, tree)?;
    let mut places = Vec::new();
    if new != *garden {
        let written = Api::<Garden>::all(context, cluster::RUNTIME).update(garden, &new).await;
        written.map_err(|error| failed(&error))?;
        places.push(format!("Garden {}", garden.metadata.name));
    }
    let overrides = rest(&new, component, &settings, tree);
    if write_overrides(context, component, &overrides).await? {
        places.push(format!("ConfigMap {}", overrides_name(component)));
    }
    let wanted = control_plane::wanted(component, &new, &settings, &overrides);
    let is_right = |held: &Deployment| component_lacks(component, held, &wanted.deployment).is_none();
    rolled_out(context, cluster::RUNTIME, component.name(), is_right).await?;
    Ok(places.join(", "))
}

/// Writes a gardenlet's configuration into its Gardenlet, and waits until it runs with it. Returns the name of the object.
pub(super) async fn set_gardenlet(context: &Context, gardenlet: &Gardenlet, tree: &Value) -> Result<String, Failure> {
    let mut new = gardenlet.clone();
    let unreadable = |error: serde_json::Error| Failure::Failed(error.to_string());
    new.spec.config = serde_json::from_value(tree.clone()).map_err(unreadable)?;
    let name = &gardenlet.metadata.name;
    let api = Api::<Gardenlet>::namespaced(context, cluster::GARDEN, namespace::GARDEN);
    // gardener-apiserver stores it in its own form.
    let written = api.update(gardenlet, &new).await.map_err(|error| failed(&error))?;
    let wanted = domain::garden::gardenlet::wanted(&written, "").map_err(Failure::Failed)?;
    let is_right = |held: &Deployment| {
        let volumes = &held.spec.template.spec.volumes;
        let names = volumes.iter().filter_map(|volume| volume.config_map.as_ref()).map(|map| map.name.as_str());
        names.into_iter().any(|name| name == wanted.config_map)
    };
    rolled_out(context, &cluster::of_seed(name), Program::Gardenlet.name(), is_right).await?;
    Ok(format!("Gardenlet {name}"))
}

/// Settings that gardener-operator passes to the components.
async fn settings(context: &Context) -> Result<Settings, Failure> {
    let api = Api::<Deployment>::namespaced(context, cluster::RUNTIME, namespace::GARDEN);
    let deployment = api.get(Program::Operator.name()).await.map_err(|error| failed(&error))?;
    let container = deployment.spec.template.spec.containers.first().cloned().unwrap_or_default();
    let version = container.image.rsplit_once(':').map(|(_, tag)| tag.to_owned()).unwrap_or_default();
    let assignment = Assignment { version, args: container.args, ..Assignment::default() };
    ::operator::binary::Flags::read(&assignment).map(|flags| flags.settings).map_err(Failure::Failed)
}

/// Returns the Garden with the settings for which it has fields.
fn with(garden: &Garden, component: Component, tree: &Value) -> Result<Garden, Failure> {
    let unreadable = |error: serde_json::Error| Failure::Failed(error.to_string());
    let mut gardener = serde_json::to_value(&garden.spec.virtual_cluster.gardener).map_err(unreadable)?;
    let field = operator::field(component);
    let patch = json!({ field: operator::owned(component, tree) });
    control_plane::merge(&mut gardener, &patch);
    if gardener[field].as_object().is_some_and(Map::is_empty)
        && let Value::Object(fields) = &mut gardener
    {
        fields.remove(field);
    }
    let mut new = garden.clone();
    new.spec.virtual_cluster.gardener = serde_json::from_value(gardener).map_err(unreadable)?;
    Ok(new)
}

/// Returns the part of a configuration that differs from what the Garden results in, as a JSON merge patch.
fn rest(garden: &Garden, component: Component, settings: &Settings, tree: &Value) -> Value {
    let base = control_plane::wanted(component, garden, settings, &Value::Null);
    let base = match base.configuration {
        Some((_, tree)) => tree,
        None => {
            let containers = &base.deployment.spec.template.spec.containers;
            flags_to_tree(&containers.first().map(|container| container.args.clone()).unwrap_or_default())
        }
    };
    let empty = Map::new();
    let fields = |tree: &Value| tree.as_object().unwrap_or(&empty).clone();
    let mut patch = controller::merge_patch(&fields(&base), &fields(tree));
    if component == Component::Apiserver {
        // A flag can be overridden, but not removed.
        patch.retain(|_, value| !value.is_null());
    }
    Value::Object(patch)
}

/// Writes the overrides; returns false if they are unchanged.
async fn write_overrides(context: &Context, component: Component, overrides: &Value) -> Result<bool, Failure> {
    let maps = Api::<ConfigMap>::namespaced(context, cluster::RUNTIME, namespace::GARDEN);
    let name = overrides_name(component);
    let held = maps.get_opt(&name).await.map_err(|error| failed(&error))?;
    let is_empty = overrides.as_object().is_none_or(Map::is_empty);
    let wanted = operator::overrides(component, overrides).filter(|_| !is_empty);
    let written = match (held, wanted) {
        (None, None) => return Ok(false),
        (Some(held), Some(wanted)) if held.data == wanted.data => return Ok(false),
        (Some(held), Some(wanted)) => {
            let new = ConfigMap { data: wanted.data, ..held.clone() };
            maps.update(&held, &new).await.map(drop)
        }
        (None, Some(wanted)) => maps.create(&wanted).await.map(drop),
        (Some(_), None) => maps.delete(&name, &DeleteOptions::default()).await,
    };
    written.map(|()| true).map_err(|error| failed(&error))
}

/// Waits until a Deployment matches `is_right` and is rolled out.
async fn rolled_out(
    context: &Context,
    cluster: &str,
    name: &str,
    is_right: impl Fn(&Deployment) -> bool,
) -> Result<(), Failure> {
    let wall = Clock::wall();
    let end = wall.now() + TIMEOUT;
    let deployments = Api::<Deployment>::namespaced(context, cluster, namespace::GARDEN);
    let pods = Api::<Pod>::namespaced(context, cluster, namespace::GARDEN);
    let selection = ListOptions::labelled(&format!("role={name}"));
    loop {
        let deployment = deployments.get(name).await.map_err(|error| failed(&error))?;
        let is_old = !is_right(&deployment);
        let (found, _) = pods.list(&selection).await.map_err(|error| failed(&error))?;
        let reason = match rollout::of(&deployment, &found.iter().collect::<Vec<_>>()) {
            Rollout::Done if !is_old => return Ok(()),
            Rollout::Failed(reason) if !is_old => Some(reason),
            _ if wall.now() >= end => Some("it takes too long".to_owned()),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(Failure::Failed(format!(
                "{name} does not become ready with the new configuration; the old instances go on\n{reason}"
            )));
        }
        wall.sleep(LOOK, TimerClass::Work).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            version: "v1.120.0".to_owned(),
            profile: "documents".to_owned(),
            default_domain: "a.example".to_owned(),
            apiservers: 2,
        }
    }

    #[test]
    fn the_garden_has_fields_and_overrides_for_the_rest() {
        let garden = operator::garden("1.31.1");
        let flags = json!({
            "profile": "documents", "default-domain": "a.example", "kubernetes-version": "1.31.1",
            "featureGates": { "InPlaceNodeUpdates": true }, "shoot-credentials-rotation-interval": "24h",
        });
        let new = with(&garden, Component::Apiserver, &flags).expect("a Garden");
        let gates = new.spec.virtual_cluster.gardener.gardener_api_server.clone().expect("settings").feature_gates;
        assert_eq!(gates.into_iter().collect::<Vec<_>>(), [("InPlaceNodeUpdates".to_owned(), true)]);
        let expected = json!({ "shoot-credentials-rotation-interval": "24h" });
        assert_eq!(rest(&new, Component::Apiserver, &settings(), &flags), expected);
        let gone = with(&new, Component::Apiserver, &json!({})).expect("a Garden");
        assert_eq!(gone, garden);

        let file = json!({
            "apiVersion": "scheduler.config.gardener.cloud/v1alpha1", "kind": "SchedulerConfiguration",
            "logLevel": "debug", "schedulers": { "shoot": { "concurrentSyncs": 7 } },
        });
        let new = with(&garden, Component::Scheduler, &file).expect("a Garden");
        let scheduler = new.spec.virtual_cluster.gardener.gardener_scheduler.clone().expect("settings");
        assert_eq!(scheduler.log_level.as_deref(), Some("debug"));
        let expected = json!({ "schedulers": { "shoot": { "concurrentSyncs": 7 } } });
        assert_eq!(rest(&new, Component::Scheduler, &settings(), &file), expected);
    }
}
