// SPDX-License-Identifier: Apache-2.0
//! gardenlet's configuration: the fields that have an effect here.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use domain::care::Thresholds;
use domain::skew::GardenerVersion;
use domain::skew::releases::gate_is_on;

/// Configuration of a gardenlet; the defaults are those of its chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// `controllers.shoot.concurrentSyncs`: maximum number of Shoots that are reconciled concurrently.
    pub concurrent_syncs: usize,
    /// `controllers.shoot.syncPeriod`: period of reconciliation for a Shoot that is not confined to its maintenance
    /// window.
    pub sync_period: TimeDelta,
    /// `controllers.shoot.respectSyncPeriodOverwrite`: allows a Shoot to set its own period, or to be ignored.
    pub respect_sync_period_overwrite: bool,
    /// `controllers.shoot.reconcileInMaintenanceOnly`: confines reconciliation to the Shoots' maintenance windows.
    pub reconcile_in_maintenance_only: bool,
    /// `controllers.shoot.retryDuration`: maximum duration of a retry cycle; then the Shoot is `Failed`.
    pub retry_duration: TimeDelta,
    /// `controllers.shootCare.syncPeriod`: minimum time between two health checks of a Shoot.
    pub care_period: TimeDelta,
    /// Setting `controllers.shootCare.conditionThresholds`.
    pub thresholds: Thresholds,
    /// `controllers.managedSeed.syncJitterPeriod`: maximum random delay before a ManagedSeed is reconciled.
    pub managed_seed_jitter: TimeDelta,
    /// `controllers.managedSeed.jitterUpdates`: delays the reconciliation of changed ManagedSeeds, too.
    pub jitter_managed_seed_updates: bool,
    /// `featureGates`, where they differ from the version's defaults.
    pub feature_gates: BTreeMap<String, bool>,
    /// `resources.capacity`, in whole units.
    pub capacity: BTreeMap<String, u32>,
    /// `resources.reserved`, in whole units.
    pub reserved: BTreeMap<String, u32>,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            concurrent_syncs: 20,
            sync_period: TimeDelta::hours(1),
            respect_sync_period_overwrite: false,
            reconcile_in_maintenance_only: false,
            retry_duration: TimeDelta::hours(12),
            care_period: TimeDelta::seconds(30),
            thresholds: Thresholds::default(),
            managed_seed_jitter: TimeDelta::minutes(5),
            jitter_managed_seed_updates: false,
            feature_gates: BTreeMap::new(),
            capacity: BTreeMap::from([("shoots".to_owned(), 250)]),
            reserved: BTreeMap::new(),
        }
    }
}

impl Configuration {
    /// True if a feature gate is on for an emulated version, such as `v1.120.0`.
    pub(crate) fn gate(&self, name: &str, version: &str) -> bool {
        let set = self.feature_gates.get(name).copied();
        match GardenerVersion::parse(version) {
            Some(version) => gate_is_on(&version, name, set),
            None => set.unwrap_or_default(),
        }
    }

    /// Returns the names of resources with a capacity or a reservation.
    pub(crate) fn resource_names(&self) -> BTreeSet<&str> {
        self.capacity.keys().chain(self.reserved.keys()).map(String::as_str).collect()
    }
}

/// Feature gate: keys of operating system configurations include every input that replaces a node.
pub(crate) const NEW_WORKER_POOL_HASH: &str = "NewWorkerPoolHash";
/// Feature gate: a webhook of gardener-resource-manager authorizes node agents.
pub(crate) const NODE_AGENT_AUTHORIZER: &str = "NodeAgentAuthorizer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_follow_the_version_unless_they_are_set() {
        let default = Configuration::default();
        assert!(!default.gate(NEW_WORKER_POOL_HASH, "v1.120.0"));
        assert!(default.gate(NEW_WORKER_POOL_HASH, "v1.126.0"));
        assert!(default.gate(NODE_AGENT_AUTHORIZER, "v1.120.0"));
        let set = Configuration {
            feature_gates: BTreeMap::from([("NewWorkerPoolHash".to_owned(), true)]),
            ..Configuration::default()
        };
        assert!(set.gate(NEW_WORKER_POOL_HASH, "v1.120.0"));
    }
}
