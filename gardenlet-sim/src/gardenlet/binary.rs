// SPDX-License-Identifier: Apache-2.0
//! gardenlet as a binary: its configuration file and start-up.

use component::configuration::{duration, duration_text, put, quantities, thresholds, workers};
use component::{Binary, Flags, controllers};
use domain::care::Thresholds;
use domain::garden::components::{Program, seed_of};
use serde_json::{Map, Value, json};

use super::{Configuration, Options, run};

/// The definition of the binary.
pub const BINARY: Binary = Binary {
    program: Program::Gardenlet,
    build: env!("TERRARIUM_BUILD"),
    flags: Flags::KNOWN,
    in_landscape_time: true,
    run: |context, assignment, end| {
        Box::pin(controllers::run(context, assignment, end, |context, assignment, flags| {
            let seed_template = serde_json::from_value(flags.config["seedConfig"].clone())
                .map_err(|error| format!("seedConfig: {error}"))?;
            let options = Options {
                seed_name: seed_of(&assignment.cluster).to_owned(),
                seed_template,
                profile: flags.profile,
                config: configuration(&flags.config),
                has_pods: true,
            };
            Ok(run(context, options))
        }))
    },
};

/// Reads the fields of a GardenletConfiguration that have an effect.
pub fn configuration(tree: &Value) -> Configuration {
    let mut config = Configuration::default();
    let (shoot, care) = (&tree["controllers"]["shoot"], &tree["controllers"]["shootCare"]);
    put(&mut config.concurrent_syncs, workers(&shoot["concurrentSyncs"]));
    put(&mut config.sync_period, duration(&shoot["syncPeriod"]));
    put(&mut config.respect_sync_period_overwrite, shoot["respectSyncPeriodOverwrite"].as_bool());
    put(&mut config.reconcile_in_maintenance_only, shoot["reconcileInMaintenanceOnly"].as_bool());
    put(&mut config.retry_duration, duration(&shoot["retryDuration"]));
    put(&mut config.care_period, duration(&care["syncPeriod"]));
    put(&mut config.thresholds, thresholds(&care["conditionThresholds"]).map(Thresholds));
    let managed_seed = &tree["controllers"]["managedSeed"];
    put(&mut config.managed_seed_jitter, duration(&managed_seed["syncJitterPeriod"]));
    put(&mut config.jitter_managed_seed_updates, managed_seed["jitterUpdates"].as_bool());
    if let Some(gates) = tree["featureGates"].as_object() {
        config.feature_gates = gates.iter().filter_map(|(name, on)| Some((name.clone(), on.as_bool()?))).collect();
    }
    put(&mut config.capacity, quantities(&tree["resources"]["capacity"]));
    put(&mut config.reserved, quantities(&tree["resources"]["reserved"]));
    config
}

/// Returns the defaults of these fields.
pub fn defaults() -> Value {
    let config = Configuration::default();
    let thresholds = config.thresholds.0.iter();
    let thresholds: Vec<Value> =
        thresholds.map(|(type_, length)| json!({ "type": type_, "duration": duration_text(*length) })).collect();
    let quantities: Map<String, Value> =
        config.capacity.iter().map(|(name, number)| (name.clone(), json!(number.to_string()))).collect();
    json!({
        "controllers": {
            "shoot": {
                "concurrentSyncs": config.concurrent_syncs,
                "syncPeriod": duration_text(config.sync_period),
                "respectSyncPeriodOverwrite": config.respect_sync_period_overwrite,
                "reconcileInMaintenanceOnly": config.reconcile_in_maintenance_only,
                "retryDuration": duration_text(config.retry_duration),
            },
            "shootCare": { "syncPeriod": duration_text(config.care_period), "conditionThresholds": thresholds },
        },
        "resources": { "capacity": quantities },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chrono::TimeDelta;
    use component::configuration::read;

    use super::*;

    const KIND: &str = "apiVersion: gardenlet.config.gardener.cloud/v1alpha1\nkind: GardenletConfiguration\n";

    #[test]
    fn fields_have_their_effect() {
        let rest = "controllers:\n  shoot: {syncPeriod: 2h, reconcileInMaintenanceOnly: true, retryDuration: 1h}\n  \
                    shootCare: {syncPeriod: 1m, conditionThresholds: [{type: EveryNodeReady, duration: 3m}]}\nresources: \
                    {capacity: {shoots: 9}}\nfeatureGates: {NewWorkerPoolHash: true}\n";
        let tree = read(Program::Gardenlet, &format!("{KIND}{rest}"), "v1.120.0").expect("a configuration");
        let config = configuration(&tree);
        assert_eq!((config.sync_period, config.retry_duration), (TimeDelta::hours(2), TimeDelta::hours(1)));
        assert!(config.reconcile_in_maintenance_only && !config.respect_sync_period_overwrite);
        assert_eq!((config.concurrent_syncs, config.care_period), (20, TimeDelta::minutes(1)));
        assert_eq!(config.capacity, BTreeMap::from([("shoots".to_owned(), 9)]));
        assert_eq!(config.feature_gates, BTreeMap::from([("NewWorkerPoolHash".to_owned(), true)]));
        assert_eq!(config.thresholds.0, BTreeMap::from([("EveryNodeReady".to_owned(), TimeDelta::minutes(3))]));
        assert_eq!(configuration(&defaults()), Configuration::default());
    }
}
