// SPDX-License-Identifier: Apache-2.0
//! gardener-controller-manager as a binary: its configuration file and start-up.

use api::constants::condition;
use api::operator::ProjectQuotaConfiguration;
use component::configuration::{duration, duration_text, put, thresholds, workers};
use component::{Binary, Flags, authorization, controllers};
use domain::garden::components::Program;
use domain::maintenance::operation::Restarters;
use domain::rbac::Mode;
use serde_json::{Value, json};

use crate::{Config, Options, run};

/// The definition of the binary.
pub const BINARY: Binary = Binary {
    program: Program::ControllerManager,
    build: env!("TERRARIUM_BUILD"),
    flags: Flags::KNOWN,
    in_landscape_time: true,
    run: |context, assignment, end| {
        Box::pin(controllers::run(context, assignment, end, |context, assignment, flags| {
            let options = Options {
                profile: flags.profile,
                config: configuration(&flags.config),
                project_roles: authorization(assignment)? == Mode::Rbac,
                project_quotas: project_quotas(&flags.config)?,
                ..Options::default()
            };
            Ok(run(context, options))
        }))
    },
};

/// Reads the fields of a ControllerManagerConfiguration that have an effect.
pub fn configuration(tree: &Value) -> Config {
    let mut config = Config::default();
    let (maintenance, check) = (&tree["controllers"]["shootMaintenance"], &tree["controllers"]["seedExtensionsCheck"]);
    // One number for all controllers: that of the controller with the most work.
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

/// Reads the ResourceQuotas of the namespaces of Projects.
///
/// # Errors
/// Returns an error if an entry is not a ResourceQuota.
fn project_quotas(tree: &Value) -> Result<Vec<ProjectQuotaConfiguration>, String> {
    let quotas = &tree["controllers"]["project"]["quotas"];
    if quotas.is_null() {
        return Ok(Vec::new());
    }
    serde_json::from_value(quotas.clone()).map_err(|error| format!("controllers.project.quotas: {error}"))
}

/// Returns the defaults of these fields.
pub fn defaults() -> Value {
    let config = Config::default();
    json!({
        "controllers": {
            "seed": {
                "monitorPeriod": duration_text(config.seed_periods.monitor),
                "shootMonitorPeriod": duration_text(config.seed_periods.shoot_monitor),
            },
            "seedExtensionsCheck": {
                "conditionThresholds": [{ "type": condition::SEED_EXTENSIONS_READY, "duration": duration_text(config.seed_threshold) }],
            },
            "shootHibernation": { "triggerDeadlineDuration": duration_text(config.shoot_hibernation_deadline) },
            "shootMaintenance": {
                "concurrentSyncs": config.concurrent_syncs,
                "enableShootControlPlaneRestarter": config.shoot_maintenance.control_plane,
                "enableShootCoreAddonRestarter": config.shoot_maintenance.core_addons,
            },
            "shootRetry": {
                "retryPeriod": duration_text(config.shoot_retry.period),
                "retryJitterPeriod": duration_text(config.shoot_retry.jitter),
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use component::configuration::read;
    use domain::lifetime::RetryPeriods;

    use super::*;

    #[test]
    fn fields_have_their_effect() {
        let text = "apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: \
                    ControllerManagerConfiguration\ncontrollers:\n  shootMaintenance: {enableShootCoreAddonRestarter: true}\n  \
                    shootHibernation: {triggerDeadlineDuration: 30m}\n  shootRetry: {retryPeriod: 1m, retryJitterPeriod: \
                    10s}\n  seed: {shootMonitorPeriod: 200s}\n";
        let tree = read(Program::ControllerManager, text, "v1.120.0").expect("a configuration");
        let config = configuration(&tree);
        assert_eq!(config.shoot_maintenance, Restarters { control_plane: true, core_addons: true });
        assert_eq!(config.shoot_hibernation_deadline, TimeDelta::minutes(30));
        let retry = RetryPeriods { period: TimeDelta::minutes(1), jitter: TimeDelta::seconds(10) };
        assert_eq!(config.shoot_retry, retry);
        assert_eq!(config.seed_periods.shoot_monitor, TimeDelta::seconds(200));

        assert!(!config.disable_nginx_ingress_in_shoot);
        let text = "apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: \
                    ControllerManagerConfiguration\nfeatureGates: {DisableNginxIngressInShoot: true}\n";
        let tree = read(Program::ControllerManager, text, "v1.142.0").expect("a configuration");
        assert!(configuration(&tree).disable_nginx_ingress_in_shoot);
        assert_eq!(configuration(&defaults()), Config::default());
    }
}
