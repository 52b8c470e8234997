// SPDX-License-Identifier: Apache-2.0
//! Configuration files of components: read strictly, by the kinds of Gardener.
//!
//! A file is right if its kind is the component's, every field exists in the emulated version and is of its type, and that
//! version knows its feature gates. Fields on which nothing here depends are accepted; what acts is in the functions below.
//!
//! Unlike upstream: there a field that does not exist is ignored, and so a typing error is a setting that does nothing. Here
//! that holds for fields below `seedConfig` that other releases have.
//!
//! Source: pkg/*/apis/config/v1alpha1, cmd/*/app/options.go @ v1.120.0 to v1.149.0.

use std::collections::BTreeMap;

use api::constants::condition;
use api::operator::ProjectQuotaConfiguration;
use apimachinery::decode;
use apimachinery::meta::{Duration, Quantity};
use apimachinery::release::Release;
use chrono::TimeDelta;
use domain::care::Thresholds;
use domain::maintenance::operation::Restarters;
use domain::placement::Strategy;
use domain::skew::{GardenerVersion, releases};
use gardenlet_sim::gardenlet;
use serde_json::Value;

use crate::live::components::Program;

/// Reads a component's file.
///
/// # Errors
/// What upstream's component would say before it ends, or what it says of a field that it would ignore.
pub(in crate::live) fn read(program: Program, text: &str, version: &str) -> Result<Value, String> {
    let failed = |reason: String| format!("error decoding config: {reason}");
    let tree: Value = yaml::from_str(text).map_err(|error| failed(error.to_string()))?;
    let (Some((api_version, kind)), Some(node)) = (program.configuration(), program.schema(version)) else {
        return Ok(tree);
    };
    match (tree["apiVersion"].as_str(), tree["kind"].as_str()) {
        (_, None) => return Err(failed("Object 'Kind' is missing".to_owned())),
        (found, Some(other)) if other != kind || found != Some(api_version) => {
            let found = found.unwrap_or_default();
            return Err(failed(format!("no kind {other:?} is registered for version {found:?}")));
        }
        _ => {}
    }
    let decoded = decode::tree(tree.clone(), &node).map_err(|error| failed(error.message))?;
    if !decoded.strict.is_empty() {
        // Fields of Seeds that other releases have are dropped: they come from objects that outlive an upgrade.
        let union = api::configuration::node(program.short(), kind, Release::UNION).unwrap_or(node);
        let of_all = decode::tree(tree, &union).map_err(|error| failed(error.message))?.strict;
        let is_of_seeds = |error: &str| error.starts_with("unknown field \"seedConfig.");
        let wrong = |error: &&str| !is_of_seeds(error) || of_all.iter().any(|one| one == error);
        let strict: Vec<&str> = decoded.strict.iter().map(String::as_str).filter(wrong).collect();
        if !strict.is_empty() {
            return Err(failed(format!("strict decoding error: {}", strict.join(", "))));
        }
    }
    for (name, on) in decoded.tree["featureGates"].as_object().into_iter().flatten() {
        check_gate(program, version, name, on.as_bool().unwrap_or_default())?;
    }
    Ok(decoded.tree)
}

/// Whether a gate of a component may be set so in an emulated version. A version that does not parse is refused for that,
/// not for its gates.
///
/// # Errors
/// Upstream's words.
pub(in crate::live) fn check_gate(program: Program, version: &str, name: &str, on: bool) -> Result<(), String> {
    let Some(version) = GardenerVersion::parse(version) else { return Ok(()) };
    releases::check_gate(&version, program.short(), name, on)
}

/// A duration that the schema has let through.
fn duration(tree: &Value) -> Option<TimeDelta> {
    let read: Duration = tree.as_str()?.parse().ok()?;
    Some(TimeDelta::nanoseconds(read.nanoseconds))
}

/// A number of workers; none is none of ours.
fn workers(tree: &Value) -> Option<usize> {
    tree.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0)
}

fn put<T>(into: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *into = value;
    }
}

/// What a GardenletConfiguration changes.
pub(in crate::live) fn gardenlet(tree: &Value) -> gardenlet::Configuration {
    let mut config = gardenlet::Configuration::default();
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

/// How long conditions are `Progressing` before they fail, by their type.
fn thresholds(tree: &Value) -> Option<BTreeMap<String, TimeDelta>> {
    let one = |entry: &Value| Some((entry["type"].as_str()?.to_owned(), duration(&entry["duration"])?));
    Some(tree.as_array()?.iter().filter_map(one).collect())
}

/// Whole units by name.
fn quantities(tree: &Value) -> Option<BTreeMap<String, u32>> {
    let one = |(name, value): (&String, &Value)| {
        let quantity: Quantity = value.as_str()?.parse().ok()?;
        Some((name.clone(), u32::try_from(quantity.value()).ok()?))
    };
    Some(tree.as_object()?.iter().filter_map(one).collect())
}

/// What a ControllerManagerConfiguration changes.
pub(in crate::live) fn controller_manager(tree: &Value) -> controller_manager::Config {
    let mut config = controller_manager::Config::default();
    let (maintenance, check) = (&tree["controllers"]["shootMaintenance"], &tree["controllers"]["seedExtensionsCheck"]);
    // One number for all controllers: it is that of the controller that works most.
    put(&mut config.concurrent_syncs, workers(&maintenance["concurrentSyncs"]));
    if let Some(thresholds) = thresholds(&check["conditionThresholds"]) {
        config.seed_threshold = thresholds.get(condition::SEED_EXTENSIONS_READY).copied().unwrap_or_default();
    }
    let seed = &tree["controllers"]["seed"];
    put(&mut config.seed_periods.monitor, duration(&seed["monitorPeriod"]));
    put(&mut config.seed_periods.shoot_monitor, duration(&seed["shootMonitorPeriod"]));
    let Restarters { control_plane, core_addons } = &mut config.shoot_maintenance;
    put(control_plane, maintenance["enableShootControlPlaneRestarter"].as_bool());
    put(core_addons, maintenance["enableShootCoreAddonRestarter"].as_bool());
    put(&mut config.disable_nginx_ingress_in_shoot, tree["featureGates"]["DisableNginxIngressInShoot"].as_bool());
    let (hibernation, retry) = (&tree["controllers"]["shootHibernation"], &tree["controllers"]["shootRetry"]);
    put(&mut config.shoot_hibernation_deadline, duration(&hibernation["triggerDeadlineDuration"]));
    put(&mut config.shoot_retry.period, duration(&retry["retryPeriod"]));
    put(&mut config.shoot_retry.jitter, duration(&retry["retryJitterPeriod"]));
    config
}

/// ResourceQuotas of the namespaces of Projects, by a ControllerManagerConfiguration.
///
/// # Errors
/// One of them is no ResourceQuota.
pub(in crate::live) fn project_quotas(tree: &Value) -> Result<Vec<ProjectQuotaConfiguration>, String> {
    let quotas = &tree["controllers"]["project"]["quotas"];
    if quotas.is_null() {
        return Ok(Vec::new());
    }
    serde_json::from_value(quotas.clone()).map_err(|error| format!("controllers.project.quotas: {error}"))
}

/// What a SchedulerConfiguration changes.
///
/// # Errors
/// A strategy that does not exist.
pub(in crate::live) fn scheduler(tree: &Value) -> Result<scheduler::Config, String> {
    let mut config = scheduler::Config::default();
    let shoot = &tree["schedulers"]["shoot"];
    put(&mut config.concurrent_syncs, workers(&shoot["concurrentSyncs"]));
    match shoot["candidateDeterminationStrategy"].as_str() {
        None | Some("") => {}
        Some("SameRegion") => config.strategy = Strategy::SameRegion,
        Some("MinimalDistance") => config.strategy = Strategy::MinimalDistance,
        Some(other) => {
            return Err(format!(
                "schedulers.shoot.candidateDeterminationStrategy: Unsupported value: {other:?}: supported values: \
                 \"SameRegion\", \"MinimalDistance\""
            ));
        }
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use domain::lifetime::RetryPeriods;

    use super::*;

    const GARDENLET: &str = "apiVersion: gardenlet.config.gardener.cloud/v1alpha1\nkind: GardenletConfiguration\n";

    #[track_caller]
    fn check(rest: &str, version: &str, expected: Result<(), &str>) {
        let read = read(Program::Gardenlet, &format!("{GARDENLET}{rest}"), version);
        assert_eq!(read.map(|_| ()), expected.map_err(str::to_owned), "{rest}");
    }

    /// What stands in the file beside its kind, the version, and what is said of it.
    #[test]
    fn files_are_read_strictly() {
        let v120 = "v1.120.0";
        check("", v120, Ok(()));
        check("controllers: {shoot: {syncPeriod: 30m, concurrentSyncs: 5}}", v120, Ok(()));
        check("controllers: {managedSeed: {syncJitterPeriod: 1m}}\nsni: {ingress: {namespace: a}}", v120, Ok(()));
        check(
            "controllers: {shoot: {syncperiod: 30m}}\nfoo: 1",
            v120,
            Err(
                "error decoding config: strict decoding error: unknown field \"controllers.shoot.syncperiod\", unknown \
                 field \"foo\"",
            ),
        );
        check("featureGates: {NewWorkerPoolHash: true}", v120, Ok(()));
        check("featureGates: {Nonsense: true}", v120, Err("unrecognized feature gate: Nonsense"));
        check("featureGates: {InPlaceNodeUpdates: true}", v120, Err("unrecognized feature gate: InPlaceNodeUpdates"));
        check(
            "featureGates: {NewWorkerPoolHash: false}",
            "v1.141.0",
            Err("cannot set feature gate NewWorkerPoolHash to false, feature is locked to true"),
        );
        let unknown = |field: &str| format!("error decoding config: strict decoding error: unknown field {field:?}");
        for (rest, field, first) in [
            ("controllers: {cacheSyncTimeout: 2m}", "controllers.cacheSyncTimeout", "v1.147.0"),
            ("logging: {victoriaLogs: {enabled: true}}", "logging.victoriaLogs", "v1.137.0"),
            (
                "controllers: {tokenRequestorWorkloadIdentity: {tokenExpirationDuration: 6h}}",
                "controllers.tokenRequestorWorkloadIdentity.tokenExpirationDuration",
                "v1.137.0",
            ),
        ] {
            check(rest, v120, Err(&unknown(field)));
            check(rest, first, Ok(()));
            check(rest, "v1.149.0", Ok(()));
        }
        for version in [v120, "v1.138.0", "v1.139.0", "v1.149.0"] {
            // Each is a field of some releases only.
            check("seedConfig: {spec: {settings: {zoneSelection: {mode: Prefer}}}}", version, Ok(()));
            check("seedConfig: {spec: {dns: {provider: {type: a, secretRef: {name: b}}}}}", version, Ok(()));
            let text = unknown("seedConfig.spec.settings.zoneselection");
            check("seedConfig: {spec: {settings: {zoneselection: {}}}}", version, Err(&text));
        }
        check("gardenClientConnection: {gardenClusterCACert: YQ==}", "v1.142.0", Ok(()));
        check(
            "gardenClientConnection: {gardenClusterCACert: YQ==}",
            "v1.143.0",
            Err(&unknown("gardenClientConnection.gardenClusterCACert")),
        );
        assert_eq!(
            read(Program::Scheduler, GARDENLET, v120),
            Err("error decoding config: no kind \"GardenletConfiguration\" is registered for version \
                 \"gardenlet.config.gardener.cloud/v1alpha1\""
                .to_owned())
        );
        assert_eq!(
            read(Program::Gardenlet, "{}", v120),
            Err("error decoding config: Object 'Kind' is missing".to_owned())
        );
        let wrong = read(Program::Gardenlet, &format!("{GARDENLET}controllers: {{shoot: {{syncPeriod: {{}}}}}}"), v120);
        assert!(wrong.is_err());
    }

    #[test]
    fn what_has_an_effect_acts() {
        let rest = "controllers:\n  shoot: {syncPeriod: 2h, reconcileInMaintenanceOnly: true, retryDuration: 1h}\n  \
                    shootCare: {syncPeriod: 1m, conditionThresholds: [{type: EveryNodeReady, duration: 3m}]}\nresources: \
                    {capacity: {shoots: 9}}\nfeatureGates: {NewWorkerPoolHash: true}\n";
        let tree = read(Program::Gardenlet, &format!("{GARDENLET}{rest}"), "v1.120.0").expect("a configuration");
        let config = gardenlet(&tree);
        assert_eq!((config.sync_period, config.retry_duration), (TimeDelta::hours(2), TimeDelta::hours(1)));
        assert!(config.reconcile_in_maintenance_only && !config.respect_sync_period_overwrite);
        assert_eq!((config.concurrent_syncs, config.care_period), (20, TimeDelta::minutes(1)));
        assert_eq!(config.capacity, BTreeMap::from([("shoots".to_owned(), 9)]));
        assert_eq!(config.feature_gates, BTreeMap::from([("NewWorkerPoolHash".to_owned(), true)]));
        assert_eq!(config.thresholds.0, BTreeMap::from([("EveryNodeReady".to_owned(), TimeDelta::minutes(3))]));

        let text = "apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: \
                    ControllerManagerConfiguration\ncontrollers:\n  shootMaintenance: {enableShootCoreAddonRestarter: true}\n  \
                    shootHibernation: {triggerDeadlineDuration: 30m}\n  shootRetry: {retryPeriod: 1m, retryJitterPeriod: \
                    10s}\n  seed: {shootMonitorPeriod: 200s}\n";
        let tree = read(Program::ControllerManager, text, "v1.120.0").expect("a configuration");
        let config = controller_manager(&tree);
        assert_eq!(config.shoot_maintenance, Restarters { control_plane: true, core_addons: true });
        assert_eq!(config.shoot_hibernation_deadline, TimeDelta::minutes(30));
        let retry = RetryPeriods { period: TimeDelta::minutes(1), jitter: TimeDelta::seconds(10) };
        assert_eq!(config.shoot_retry, retry);
        assert_eq!(config.seed_periods.shoot_monitor, TimeDelta::seconds(200));

        assert!(!config.disable_nginx_ingress_in_shoot);
        let text = "apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: \
                    ControllerManagerConfiguration\nfeatureGates: {DisableNginxIngressInShoot: true}\n";
        let tree = read(Program::ControllerManager, text, "v1.142.0").expect("a configuration");
        assert!(controller_manager(&tree).disable_nginx_ingress_in_shoot);

        let text = "apiVersion: scheduler.config.gardener.cloud/v1alpha1\nkind: SchedulerConfiguration\nschedulers: {shoot: \
                    {candidateDeterminationStrategy: SameRegion}}";
        let tree = read(Program::Scheduler, text, "v1.120.0").expect("a configuration");
        assert_eq!(scheduler(&tree).expect("a strategy").strategy, Strategy::SameRegion);
        let tree = serde_json::json!({ "schedulers": { "shoot": { "candidateDeterminationStrategy": "Near" } } });
        assert!(scheduler(&tree).is_err());
    }
}
