// SPDX-License-Identifier: Apache-2.0
//! What holds where a configuration says nothing: the settings that act here, and the feature gates of a version.
//!
//! **Invariants.** The values are those of the components' own defaults: [`super::configuration`] reads them back as such.

use api::constants::condition;
use apimachinery::meta::Duration;
use chrono::TimeDelta;
use domain::placement::Strategy;
use domain::skew::GardenerVersion;
use domain::skew::releases::{feature_gate, gate_names};
use gardenlet_sim::gardenlet;
use serde_json::{Map, Value, json};

use crate::live::components::Program;
use crate::live::configuration::check_gate;

/// What a component has by default in an emulated version, as its file or its flags would say it.
pub(in crate::live) fn of(program: Program, version: &str) -> Value {
    let mut tree = match program {
        Program::Apiserver => apiserver(),
        Program::ControllerManager => controller_manager(),
        Program::Scheduler => scheduler(),
        Program::Gardenlet => gardenlet(),
        Program::Operator | Program::AdmissionController | Program::ProviderLocal => json!({}),
    };
    let gates = gates(program, version);
    if !gates.is_empty() {
        tree["featureGates"] = Value::Object(gates);
    }
    tree
}

/// A configuration with what holds where it says nothing.
pub(in crate::live) fn complete(set: &Value, default: &Value) -> Value {
    match (set, default) {
        (Value::Object(set), Value::Object(default)) => {
            let mut whole = set.clone();
            for (key, value) in default {
                let value = set.get(key).map_or_else(|| value.clone(), |own| complete(own, value));
                whole.insert(key.clone(), value);
            }
            Value::Object(whole)
        }
        (Value::Null, default) => default.clone(),
        (set, _) => set.clone(),
    }
}

/// A tree as YAML; what `set` does not say is marked.
pub(in crate::live) fn marked(tree: &Value, set: &Value) -> Result<String, yaml::WriteError> {
    let Some(fields) = tree.as_object().filter(|fields| !fields.is_empty()) else {
        let mark = if set.is_null() && !tree.is_null() { MARK } else { "" };
        return Ok(mark_first(&yaml::to_string(tree)?, mark));
    };
    let mut text = String::new();
    for (key, value) in fields {
        let own = &set[key];
        if value.as_object().is_some_and(|below| !below.is_empty()) {
            let key = yaml::to_string(key)?;
            text.extend([key.trim_end(), ":\n"]);
            text.extend(marked(value, own)?.lines().map(|line| format!("  {line}\n")));
        } else {
            let line = yaml::to_string(&Map::from_iter([(key.clone(), value.clone())]))?;
            text += &mark_first(&line, if own.is_null() && !value.is_null() { MARK } else { "" });
        }
    }
    Ok(text)
}

const MARK: &str = "  # default";

fn mark_first(text: &str, mark: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("{first}{mark}\n{rest}")
}

fn gates(program: Program, version: &str) -> Map<String, Value> {
    let Some(parsed) = GardenerVersion::parse(version) else { return Map::new() };
    let is_known = |name: &&str| [true, false].iter().any(|on| check_gate(program, version, name, *on).is_ok());
    let on = |name: &'static str| Some((name.to_owned(), json!(feature_gate(&parsed, name)?.default)));
    gate_names(program.short()).filter(is_known).filter_map(on).collect()
}

fn duration(length: TimeDelta) -> Value {
    json!(Duration { nanoseconds: length.num_nanoseconds().unwrap_or(i64::MAX) }.to_string())
}

fn apiserver() -> Value {
    let options = ::apiserver::Options::default();
    json!({
        "shoot-admin-kubeconfig-max-expiration": duration(options.admin_kubeconfig_max_expiration),
        "shoot-credentials-rotation-interval": duration(options.credentials_rotation_interval),
        "shoot-viewer-kubeconfig-max-expiration": duration(options.viewer_kubeconfig_max_expiration),
    })
}

fn gardenlet() -> Value {
    let config = gardenlet::Configuration::default();
    let thresholds = config.thresholds.0.iter();
    let thresholds: Vec<Value> =
        thresholds.map(|(type_, length)| json!({ "type": type_, "duration": duration(*length) })).collect();
    let quantities: Map<String, Value> =
        config.capacity.iter().map(|(name, number)| (name.clone(), json!(number.to_string()))).collect();
    json!({
        "controllers": {
            "shoot": {
                "concurrentSyncs": config.concurrent_syncs,
                "syncPeriod": duration(config.sync_period),
                "respectSyncPeriodOverwrite": config.respect_sync_period_overwrite,
                "reconcileInMaintenanceOnly": config.reconcile_in_maintenance_only,
                "retryDuration": duration(config.retry_duration),
            },
            "shootCare": { "syncPeriod": duration(config.care_period), "conditionThresholds": thresholds },
        },
        "resources": { "capacity": quantities },
    })
}

fn controller_manager() -> Value {
    let config = ::controller_manager::Config::default();
    json!({
        "controllers": {
            "seed": {
                "monitorPeriod": duration(config.seed_periods.monitor),
                "shootMonitorPeriod": duration(config.seed_periods.shoot_monitor),
            },
            "seedExtensionsCheck": {
                "conditionThresholds": [{ "type": condition::SEED_EXTENSIONS_READY, "duration": duration(config.seed_threshold) }],
            },
            "shootHibernation": { "triggerDeadlineDuration": duration(config.shoot_hibernation_deadline) },
            "shootMaintenance": {
                "concurrentSyncs": config.concurrent_syncs,
                "enableShootControlPlaneRestarter": config.shoot_maintenance.control_plane,
                "enableShootCoreAddonRestarter": config.shoot_maintenance.core_addons,
            },
            "shootRetry": {
                "retryPeriod": duration(config.shoot_retry.period),
                "retryJitterPeriod": duration(config.shoot_retry.jitter),
            },
        },
    })
}

fn scheduler() -> Value {
    let config = ::scheduler::Config::default();
    let strategy = match config.strategy {
        Strategy::SameRegion => "SameRegion",
        Strategy::MinimalDistance => "MinimalDistance",
    };
    json!({ "schedulers": { "shoot": {
        "concurrentSyncs": config.concurrent_syncs,
        "candidateDeterminationStrategy": strategy,
    } } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::configuration;

    const VERSION: &str = "v1.120.0";

    #[test]
    fn defaults_are_read_as_what_holds_without_them() {
        for program in Program::ALL {
            let mut tree = of(program, VERSION);
            if let Some((api_version, kind)) = program.configuration() {
                tree["apiVersion"] = json!(api_version);
                tree["kind"] = json!(kind);
            }
            let text = yaml::to_string(&tree).expect("YAML");
            configuration::read(program, &text, VERSION).unwrap_or_else(|error| panic!("{}: {error}", program.name()));
        }
        let gates = |tree: &Value| tree["featureGates"].as_object().map_or(0, Map::len);
        let mut own = of(Program::Gardenlet, VERSION);
        assert!(gates(&own) > 3, "{own}");
        own["featureGates"] = json!({});
        assert_eq!(configuration::gardenlet(&own), gardenlet::Configuration::default());
        let (own, default) =
            (configuration::controller_manager(&of(Program::ControllerManager, VERSION)), Default::default());
        assert_eq!(
            format!("{own:?}"),
            format!("{:?}", {
                let default: ::controller_manager::Config = default;
                default
            })
        );
        let own = configuration::scheduler(&of(Program::Scheduler, VERSION)).expect("a strategy");
        assert_eq!(own.strategy, ::scheduler::Config::default().strategy);
    }

    #[test]
    fn what_is_not_set_is_marked() {
        let set = json!({ "kind": "X", "a": { "b": "1h" }, "list": [1, 2] });
        let default = json!({ "a": { "b": "2h", "c": true }, "list": [3], "other": [4, 5] });
        let whole = complete(&set, &default);
        let text = marked(&whole, &set).expect("YAML");
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let expected = [
            "  b: 1h",
            "  c: true  # default",
            "- 1",
            "- 2",
            "- 4",
            "- 5",
            "a:",
            "kind: X",
            "list:",
            "other:  # default",
        ];
        assert_eq!(lines, expected);
        assert_eq!(yaml::from_str::<Value>(&text).expect("YAML"), whole);
        assert_eq!(marked(&json!("2h"), &Value::Null).expect("YAML"), "2h  # default\n");
        assert_eq!(marked(&json!("2h"), &json!("2h")).expect("YAML"), "2h\n");
    }
}
