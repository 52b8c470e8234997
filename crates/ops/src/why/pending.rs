// SPDX-License-Identifier: Apache-2.0
//! Changes of a Shoot's spec that are not rolled out to its control plane and nodes, field by field.
//!
//! The Cluster object holds the Shoot as last observed by gardenlet; the Worker holds its pools as last rolled out. A
//! restarted gardenlet refreshes the first but not the second.

use std::collections::{BTreeMap, BTreeSet};

use api::core::{Shoot, Worker};
use api::extensions::Cluster;
use controller::Api;
use domain::shoot_facts::{is_confined, is_hibernation_enabled};
use domain::worker_pool::{self, Effect, HashInputs, PoolForms, kubernetes_version};
use process::Context;
use serde_json::Value;

use super::seed_cluster;
use crate::Error;
use crate::explain::lines::Line;

/// Changes of the spec that were not rolled out.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Lines of the fields, then of the pools with affected nodes.
    pub(super) lines: Vec<Line>,
    /// Number of fields that wait for the maintenance time window.
    pub(super) confined: usize,
    /// Effects on nodes: `worker pool w: rolling (spec.provider.workers[0].machine.type)`.
    pub(super) effects: Vec<String>,
}

/// Returns the changes; `pool`: the only pool to report.
pub(super) async fn of(
    context: &Context,
    shoot: &Shoot,
    pool: Option<&str>,
    forms: &PoolForms,
) -> Result<Pending, Error> {
    let Some((cluster, namespace)) = seed_cluster(shoot) else { return Ok(Pending::default()) };
    let confined = "spec.maintenance.confineSpecUpdateRollout";
    let waits = |line: Line| {
        if is_confined(&shoot.spec) {
            line.text("confined: waits for the next reconciliation (").field(confined, confined).text(")")
        } else {
            line.text("waits for the present reconciliation")
        }
    };
    // The path of a removed field is followed by its name.
    let at = |path: &str| match path.split_once(' ') {
        Some((path, name)) => Line::of_field(path).text(format!(" {name}")),
        None => Line::of_field(path),
    };
    let mut found = BTreeMap::new();
    let mut effects = BTreeMap::new();
    let seen = Api::<Cluster>::all(context, &cluster).get_opt(&namespace).await?;
    if let Some(seen) = seen {
        let spec = serde_json::to_value(&shoot.spec).map_err(|error| Error::Failed(error.to_string()))?;
        compare("spec", &seen.spec.shoot.value()["spec"], &spec, &mut found);
        // Settings of maintenance are read directly by its controller and are never rolled out.
        found.retain(|path, _| !path.starts_with("spec.maintenance"));
        let unreadable = |error: serde_json::Error| Error::Failed(format!("Cluster {namespace}: {error}"));
        let mut known: Shoot = serde_json::from_str(seen.spec.shoot.0.text()).map_err(unreadable)?;
        // Only the spec is compared.
        known.status.clone_from(&shoot.status);
        if !is_hibernation_enabled(&shoot.spec) {
            effects = worker_pool::effects(&known, shoot, forms);
        }
    }
    let workers = Api::<api::extensions::Worker>::namespaced(context, &cluster, &namespace);
    if let Some(rolled) = workers.get_opt(&shoot.metadata.name).await? {
        compare_pools(shoot, &rolled, &mut found);
    }
    let others: Vec<String> = shoot
        .spec
        .provider
        .workers
        .iter()
        .enumerate()
        .filter(|(_, worker)| pool.is_some_and(|pool| worker.name != pool))
        .map(|(index, _)| format!("spec.provider.workers[{index}]"))
        .collect();
    found.retain(|path, _| !others.iter().any(|other| path.starts_with(other.as_str())));
    let confined = if is_confined(&shoot.spec) { found.len() } else { 0 };
    let mut lines: Vec<Line> =
        found.into_iter().map(|(path, change)| waits(at(&path).text(format!(": {change}; ")))).collect();
    let changed =
        effects.into_iter().filter(|(name, one)| one.effect != Effect::None && pool.is_none_or(|pool| name == pool));
    let mut told = Vec::new();
    for (name, one) in changed {
        let (effect, triggers) = (one.effect.as_str(), one.triggers.join(", "));
        lines.push(Line::of(format!("worker pool {name}: with it, nodes: {effect} ({triggers})")));
        told.push(format!("worker pool {name}: {effect} ({triggers})"));
    }
    Ok(Pending { lines, confined, effects: told })
}

/// Collects the differences below a path as `path -> from to`.
fn compare(path: &str, old: &Value, new: &Value, found: &mut BTreeMap<String, String>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                compare(&format!("{path}.{key}"), &old[key], &new[key], found);
            }
        }
        (Value::Array(before), Value::Array(after)) if are_named(before) && are_named(after) => {
            for (index, item) in after.iter().enumerate() {
                let known = before.iter().find(|known| known["name"] == item["name"]);
                compare(&format!("{path}[{index}]"), known.unwrap_or(&Value::Null), item, found);
            }
            for gone in before.iter().filter(|known| !after.iter().any(|item| item["name"] == known["name"])) {
                let name = gone["name"].as_str().unwrap_or_default();
                found.insert(format!("{path} {name}"), "removed".to_owned());
            }
        }
        (Value::Null, Value::Object(item)) if item.contains_key("name") => {
            found.insert(path.to_owned(), format!("{} is new", item["name"].as_str().unwrap_or_default()));
        }
        _ if old == new => {}
        _ => {
            found.insert(path.to_owned(), format!("{} to {}", text(old), text(new)));
        }
    }
}

fn are_named(items: &[Value]) -> bool {
    items.iter().all(|item| item["name"].is_string())
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Adds differences from the pools as last rolled out; fields found already are not repeated.
fn compare_pools(shoot: &Shoot, rolled: &api::extensions::Worker, found: &mut BTreeMap<String, String>) {
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        let path = format!("spec.provider.workers[{index}]");
        let Some(known) = rolled.spec.pools.iter().find(|known| known.name == worker.name) else {
            found.entry(path).or_insert_with(|| format!("{} is new", worker.name));
            continue;
        };
        let before = HashInputs::of_extension_pool(shoot, known);
        for (field, from, to) in differences(shoot, worker, &before) {
            let path = match field {
                // A pool without its own version follows the control plane.
                "kubernetes.version" if worker.kubernetes.as_ref().is_none_or(|own| own.version.is_none()) => {
                    "spec.kubernetes.version".to_owned()
                }
                field => format!("{path}.{field}"),
            };
            found.entry(path).or_insert_with(|| format!("{from} to {to}"));
        }
        if known.zones != worker.zones {
            let shown = |zones: &[String]| text(&if zones.is_empty() { Value::Null } else { zones.into() });
            let change = || format!("{} to {}", shown(&known.zones), shown(&worker.zones));
            found.entry(format!("{path}.zones")).or_insert_with(change);
        }
    }
    for known in &rolled.spec.pools {
        if !shoot.spec.provider.workers.iter().any(|worker| worker.name == known.name) {
            found.entry(format!("spec.provider.workers {}", known.name)).or_insert_with(|| "removed".to_owned());
        }
    }
}

fn differences(shoot: &Shoot, worker: &Worker, before: &HashInputs) -> Vec<(&'static str, String, String)> {
    let after = HashInputs::of_shoot(shoot, worker);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let version = kubernetes_version(shoot, worker).to_owned();
    let pairs = [
        ("kubernetes.version", before.kubernetes_version.clone(), version),
        ("machine.type", before.machine_type.clone(), after.machine_type.clone()),
        ("machine.image.name", before.image_name.clone(), after.image_name.clone()),
        ("machine.image.version", before.image_version.clone(), after.image_version.clone()),
        ("volume.size", text(&before.volume_size), text(&after.volume_size)),
        ("volume.type", text(&before.volume_type), text(&after.volume_type)),
    ];
    pairs.into_iter().filter(|(_, from, to)| from != to).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_differs_is_named_with_both_values() {
        let old = json!({
            "region": "r", "kubernetes": {"version": "1.31.1"},
            "provider": {"workers": [{"name": "a", "maximum": 3}, {"name": "b", "zones": ["x"]}]},
        });
        let new = json!({
            "region": "r", "kubernetes": {"version": "1.31.2", "kubeAPIServer": {"eventTTL": "1h"}},
            "provider": {"workers": [{"name": "c"}, {"name": "a", "maximum": 5, "zones": ["x", "y"]}]},
        });
        let mut found = BTreeMap::new();
        compare("spec", &old, &new, &mut found);
        let told: Vec<String> = found.iter().map(|(path, change)| format!("{path}: {change}")).collect();
        assert_eq!(
            told,
            [
                "spec.kubernetes.kubeAPIServer: none to {\"eventTTL\":\"1h\"}",
                "spec.kubernetes.version: 1.31.1 to 1.31.2",
                "spec.provider.workers b: removed",
                "spec.provider.workers[0]: c is new",
                "spec.provider.workers[1].maximum: 3 to 5",
                "spec.provider.workers[1].zones: none to [\"x\",\"y\"]",
            ]
        );
    }
}
