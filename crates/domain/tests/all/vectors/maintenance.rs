// SPDX-License-Identifier: Apache-2.0
//! Vectors about versions, maintenance and confined roll-outs.

use api::core::*;
use apimachinery::meta::Time;
use chrono::{DateTime, SecondsFormat, Utc};
use domain::last_operation::OperationType;
use domain::maintenance::{self, Outcome, Plan, Restarters, Severity};
use domain::reconcile::{Enqueue, GardenletSettings, NextSync};
use domain::release::DOCUMENTED;
use domain::versions::Version;
use domain::{reconcile, window};
use serde_json::{Map, Value, json};

use super::Verdict;
use super::objects::*;

pub(crate) fn run(vector: &Value) -> Verdict {
    let (input, now) = (&vector["in"], instant(&vector["now"]));
    Verdict::Actual(match vector["op"].as_str().unwrap_or_default() {
        "classify" => {
            json!({ "state": documented(now).state(&typed::<MachineImageVersion>(&input["version"])).to_string() })
        }
        "maintain_k8s" => maintain_kubernetes(input, now),
        "maintain_image" => maintain_image(input, now),
        "maintain_shoot" => maintain_shoot(input, now),
        "window" => effective_window(input, now),
        "window_next" => next_window(input, now),
        "generation" => generation(input),
        "gardenlet_infos" => gardenlet_infos(input, now),
        "maintenance_annotations" => maintenance_annotations(input, now),
        "migrate" => migrate(input),
        _ => return Verdict::Skipped,
    })
}

fn update(outcome: Option<&Outcome>) -> Value {
    let update = outcome.map(|outcome| match outcome.version() {
        Some(version) => json!({ "ok": true, "to": version, "reason": outcome.reason }),
        None => json!({ "ok": false, "reason": outcome.reason, "error": outcome.description }),
    });
    json!({ "update": update })
}

fn maintain_kubernetes(input: &Value, now: DateTime<Utc>) -> Value {
    let offered: Vec<ExpirableVersion> = typed(&input["versions"]);
    let auto_update = input["autoUpdate"] == true;
    update(
        maintenance::kubernetes_update(&text(&input["current"]), auto_update, &offered, None, documented(now)).as_ref(),
    )
}

fn maintain_image(input: &Value, now: DateTime<Utc>) -> Value {
    let profile = cloud_profile(&Value::Null, &json!([input["image"]]));
    let (worker, kubelet) = (worker(&input["worker"]), text(&input["kubelet"]));
    let auto_update = input["autoUpdate"] == true;
    // An update that cannot be determined is omitted and not reported.
    let outcome = maintenance::machine_image_update(&worker, &kubelet, "local", &profile, auto_update, documented(now));
    update(outcome.ok().flatten().as_ref())
}

fn maintain_shoot(input: &Value, now: DateTime<Utc>) -> Value {
    let profile = cloud_profile(&input["versions"], &input["images"]);
    let mut stored = shoot(&input["shoot"]);
    stored.status.last_operation = last_operation(&input["lastOperationState"]);
    let Ok(plan) = maintenance::plan(&stored, "local", &profile, documented(now)) else {
        return json!({ "version": stored.spec.kubernetes.version, "pools": {}, "lastMaintenance": null, "events": [] });
    };
    if plan.has_findings() {
        stored.status.last_maintenance = Some(plan.processing(now));
    }
    let mut written = maintenance::apply(&stored, &plan, Restarters::default());
    if let Some(finished) = maintenance::report::finished(&written, plan.has_findings()) {
        written.status.last_maintenance = Some(finished);
    }

    let mut pools = Map::new();
    for (old, new) in stored.spec.provider.workers.iter().zip(&written.spec.provider.workers) {
        let mut changed = Map::new();
        let version = |worker: &Worker| worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.clone());
        let image = |worker: &Worker| worker.machine.image.as_ref().and_then(|image| image.version.clone());
        if version(old) != version(new) {
            changed.insert("kubernetesVersion".to_owned(), json!(version(new)));
        }
        if image(old) != image(new) {
            changed.insert("imageVersion".to_owned(), json!(image(new)));
        }
        if !changed.is_empty() {
            pools.insert(new.name.clone(), Value::Object(changed));
        }
    }
    let last_maintenance = written.status.last_maintenance.map(|last| {
        let mut value = json!({ "description": last.description, "state": last.state });
        if let Some(reason) = last.failure_reason {
            value["failureReason"] = json!(reason);
        }
        value
    });
    json!({
        "version": written.spec.kubernetes.version,
        "pools": pools,
        "lastMaintenance": last_maintenance,
        "events": events(&plan),
    })
}

fn events(plan: &Plan) -> Vec<Value> {
    let name = |severity| if severity == Severity::Normal { "Normal" } else { "Warning" };
    plan.events().into_iter().map(|event| json!([name(event.severity), event.reason, event.message])).collect()
}

fn effective_window(input: &Value, now: DateTime<Utc>) -> Value {
    let window = window::effective_window(&with_window(input));
    json!({
        "effectiveBegin": window.begin.to_string(),
        "effectiveEnd": window.end.to_string(),
        "contains": window.contains(now),
    })
}

fn next_window(input: &Value, now: DateTime<Utc>) -> Value {
    let window = window::effective_window(&with_window(input));
    let span = if input["shift"] == true { window.rest_or_next(now) } else { window.next(now) };
    let text = |instant: DateTime<Utc>| instant.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    json!({ "earliest": text(span.earliest), "latestExclusive": text(span.end) })
}

fn generation(input: &Value) -> Value {
    let shoot = |spec: &Value, operation: &Value| {
        let mut shoot = Shoot::default();
        shoot.spec.region = spec["payload"].to_string();
        shoot.spec.provider.workers.push(Worker::default());
        let enabled = input["sshAccess"] != false;
        shoot.spec.provider.workers_settings = Some(WorkersSettings { ssh_access: Some(SSHAccess { enabled }) });
        shoot.spec.maintenance =
            Some(Maintenance { confine_spec_update_rollout: typed(&spec["confine"]), ..Maintenance::default() });
        shoot.spec.hibernation = spec
            .get("hibernated")
            .map(|hibernated| Hibernation { enabled: hibernated.as_bool(), ..Hibernation::default() });
        if let Some(operation) = operation.as_str() {
            shoot.metadata.annotations.insert("gardener.cloud/operation".to_owned(), operation.to_owned());
        }
        shoot.status.last_operation = last_operation(&input["lastOperationState"]);
        shoot
    };
    let new = shoot(&input["new"], &input["operation"]);
    let change = reconcile::generation_on_update(&shoot(&input["old"], &Value::Null), &new);
    json!({ "increase": change.increase, "operation": change.operation })
}

fn gardenlet_infos(input: &Value, now: DateTime<Utc>) -> Value {
    let number = |key: &str| input[key].as_i64().unwrap_or(1);
    let mut shoot = with_window(input);
    shoot.spec.maintenance.get_or_insert_default().confine_spec_update_rollout = typed(&input["confined"]);
    shoot.metadata.generation = number("generation");
    shoot.status.observed_generation = number("observedGeneration");
    let version = if input["sameGardenletVersion"] == false { "v1.119.0" } else { "v1.120.0" };
    version.clone_into(&mut shoot.status.gardener.version);
    if input["ignored"] == true {
        shoot.metadata.annotations.insert("shoot.gardener.cloud/ignore".to_owned(), "true".to_owned());
    }
    let last = &input["lastOperation"];
    let type_ = input["operationType"].as_str().unwrap_or("Reconcile");
    shoot.status.last_operation = last_operation(&last["state"]).map(|operation| LastOperation {
        r#type: type_.to_owned(),
        last_update_time: if last["lastUpdateTime"].is_null() {
            Time::default()
        } else {
            Time(instant(&last["lastUpdateTime"]))
        },
        ..operation
    });
    let type_ = OperationType::parse(type_).expect("a type of operation");
    let settings = GardenletSettings {
        reconcile_in_maintenance_only: input["reconcileInMaintenanceOnly"] == true,
        respect_sync_period_overwrite: true,
        gardener_version: "v1.120.0".to_owned(),
        ..GardenletSettings::default()
    };
    let window = window::effective_window(&shoot);
    let next = window.next(now);
    let schedule = reconcile::schedule_of(&shoot, type_, &settings, now);
    // Exactly at its begin the rest of a window equals the next one: only an immediate reconciliation distinguishes them.
    let enqueue = match schedule.enqueue {
        Enqueue::Now => "now",
        Enqueue::Within(span) if schedule.reconcile_now && span == window.rest_or_next(now) => "restOfThisWindow",
        Enqueue::Within(span) if !schedule.reconcile_now && span == next => "nextWindow",
        Enqueue::Within(_) => "something else",
    };
    let requeue = match schedule.requeue {
        NextSync::Never => "none",
        NextSync::After(period) if period == settings.sync_period => "syncPeriod",
        NextSync::Within(span) if span == next => "nextWindow",
        NextSync::After(_) | NextSync::Within(_) => "something else",
    };
    json!({ "reconcileNow": schedule.reconcile_now, "enqueue": enqueue, "requeue": requeue })
}

fn maintenance_annotations(input: &Value, now: DateTime<Utc>) -> Value {
    let versions = json!([{ "version": "1.31.2" }]);
    let mut stored = shoot(&json!({ "version": "1.31.2", "annotations": input["annotations"] }));
    stored.status.last_operation = last_operation(&input["lastOperationState"]);
    let plan = maintenance::plan(&stored, "local", &cloud_profile(&versions, &Value::Null), documented(now))
        .expect("versions parse");
    let restarters = Restarters {
        control_plane: input["controlPlaneRestarter"].as_bool().unwrap_or(true),
        core_addons: input["coreAddonRestarter"].as_bool().unwrap_or(false),
    };
    let written = maintenance::apply(&stored, &plan, restarters);
    json!({ "annotations": written.metadata.annotations, "operationText": plan.operations.first() })
}

fn migrate(input: &Value) -> Value {
    let (old, new): (Version, Version) =
        (text(&input["old"]).parse().expect("semver"), text(&input["new"]).parse().expect("semver"));
    let fields = &input["fields"];
    let reserved = |memory: &Value| {
        memory.is_string().then(|| KubeletConfigReserved { memory: typed(memory), ..KubeletConfigReserved::default() })
    };
    let mut spec = ShootSpec::default();
    spec.kubernetes.version = new.to_string();
    spec.kubernetes.kube_api_server = Some(KubeAPIServerConfig {
        oidc_config: (fields["oidc"] == true).then(|| OIDCConfig {
            client_authentication: (fields["oidcClientAuthentication"] == true).then(Default::default),
            ..OIDCConfig::default()
        }),
        ..KubeAPIServerConfig::default()
    });
    spec.kubernetes.kubelet = Some(KubeletConfig {
        memory_swap: fields["kubeletSwap"]
            .is_string()
            .then(|| MemorySwapConfiguration { swap_behavior: typed(&fields["kubeletSwap"]) }),
        system_reserved: reserved(&fields["systemReservedMemory"]),
        kube_reserved: reserved(&fields["kubeReservedMemory"]),
        ..KubeletConfig::default()
    });
    let operations = maintenance::migration::migrate(&mut spec, &old, &new, DOCUMENTED).expect("versions parse");

    let mut after = Map::new();
    let oidc = spec.kubernetes.kube_api_server.and_then(|server| server.oidc_config);
    if let Some(oidc) = oidc {
        after.insert("oidc".to_owned(), json!(true));
        if oidc.client_authentication.is_some() {
            after.insert("oidcClientAuthentication".to_owned(), json!(true));
        }
    }
    let kubelet = spec.kubernetes.kubelet.expect("set above");
    if let Some(behavior) = kubelet.memory_swap.and_then(|swap| swap.swap_behavior) {
        after.insert("kubeletSwap".to_owned(), json!(behavior));
    }
    for (key, reserved) in
        [("systemReservedMemory", kubelet.system_reserved), ("kubeReservedMemory", kubelet.kube_reserved)]
    {
        if let Some(memory) = reserved.and_then(|reserved| reserved.memory) {
            after.insert(key.to_owned(), json!(memory));
        }
    }
    json!({ "operations": operations, "fields": after })
}
