// SPDX-License-Identifier: Apache-2.0
//! Converts the fields of the form to the manifest: chosen values only.

use api::constants::api_version;
use api::core::CloudProfileReference;
use domain::cloud_profile::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, reference_field};
use serde_json::{Map, Value, json};

use super::{Form, Pool};

/// Returns the manifest, in YAML.
pub(super) fn of(form: &Form<'_>) -> String {
    yaml::to_string(&tree(form)).unwrap_or_default()
}

/// Returns a number if the text is one, else the text, which the API refuses with its own message.
fn number(text: &str) -> Value {
    text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number))
}

fn set(object: &mut Map<String, Value>, key: &str, value: &str) {
    if !value.is_empty() {
        object.insert(key.to_owned(), json!(value));
    }
}

pub(super) fn tree(form: &Form<'_>) -> Value {
    let get = |name: &str| form.fields.text(name);
    let mut spec = Map::new();
    if let Some((key, profile)) = &form.profile {
        let kind = if key.namespace.is_some() { NAMESPACED_CLOUD_PROFILE } else { CLOUD_PROFILE };
        let reference = CloudProfileReference { kind: kind.to_owned(), name: key.name.clone() };
        let (field, reference) = reference_field(&reference, form.at.release);
        spec.insert(field.to_owned(), reference);
        let region = Some(get("region")).filter(|region| !region.is_empty());
        let region = region.or_else(|| profile.regions.first().map(|region| region.name.as_str()));
        set(&mut spec, "region", region.unwrap_or_default());
        let workers: Vec<Value> = form.pools.iter().map(worker).collect();
        spec.insert("provider".to_owned(), json!({ "type": profile.r#type, "workers": workers }));
    }
    let binding = Some(get("credentials")).filter(|binding| !binding.is_empty());
    let binding = binding.or_else(|| form.bindings.first().map(String::as_str)).unwrap_or_default();
    match binding.split_once('/') {
        Some(("CredentialsBinding", name)) => set(&mut spec, "credentialsBindingName", name),
        Some((_, name)) => set(&mut spec, "secretBindingName", name),
        None => {}
    }
    if !form.version.is_empty() {
        spec.insert("kubernetes".to_owned(), json!({ "version": form.version }));
    }
    let mut networking = Map::new();
    set(&mut networking, "type", form.fields.get("networking").unwrap_or("calico").trim());
    set(&mut networking, "nodes", form.fields.get("nodes").unwrap_or("10.10.0.0/16").trim());
    if !networking.is_empty() {
        spec.insert("networking".to_owned(), Value::Object(networking));
    }
    set(&mut spec, "purpose", get("purpose"));
    let mut maintenance = Map::new();
    if !get("begin").is_empty() || !get("end").is_empty() {
        maintenance.insert("timeWindow".to_owned(), json!({ "begin": get("begin"), "end": get("end") }));
    }
    let updates = json!({ "kubernetesVersion": form.ticked("auto-kubernetes"), "machineImageVersion": form.ticked("auto-image") });
    maintenance.insert("autoUpdate".to_owned(), updates);
    if get("confine") == "true" {
        maintenance.insert("confineSpecUpdateRollout".to_owned(), json!(true));
    }
    spec.insert("maintenance".to_owned(), Value::Object(maintenance));
    let mut schedule = Map::new();
    set(&mut schedule, "start", get("sleep"));
    set(&mut schedule, "end", get("wake"));
    if !schedule.is_empty() {
        spec.insert("hibernation".to_owned(), json!({ "schedules": [schedule] }));
    }
    json!({
        "apiVersion": api_version::CORE,
        "kind": "Shoot",
        "metadata": { "name": get("name"), "namespace": form.namespace },
        "spec": spec,
    })
}

fn worker(pool: &Pool) -> Value {
    let mut machine = Map::new();
    set(&mut machine, "type", &pool.machine);
    if let Some((name, version)) = pool.image.split_once('/') {
        machine.insert("image".to_owned(), json!({ "name": name, "version": version }));
    }
    let mut worker = Map::new();
    set(&mut worker, "name", &pool.name);
    worker.insert("machine".to_owned(), Value::Object(machine));
    for (key, value) in [
        ("minimum", &pool.minimum),
        ("maximum", &pool.maximum),
        ("maxSurge", &pool.surge),
        ("maxUnavailable", &pool.unavailable),
    ] {
        if !value.is_empty() {
            worker.insert(key.to_owned(), number(value));
        }
    }
    let zones: Vec<&str> = pool.zones.split(',').map(str::trim).filter(|zone| !zone.is_empty()).collect();
    if !zones.is_empty() {
        worker.insert("zones".to_owned(), json!(zones));
    }
    set(&mut worker, "updateStrategy", &pool.strategy);
    Value::Object(worker)
}
