// SPDX-License-Identifier: Apache-2.0
//! gardenlet's configuration, as far as anything here depends on it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use domain::care::Thresholds;
use domain::skew::GardenerVersion;
use domain::skew::releases::gate_is_on;

/// What an operator sets; defaults are those of gardenlet's chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// `controllers.shoot.concurrentSyncs`: Shoots that are worked on at once.
    pub concurrent_syncs: usize,
    /// `controllers.shoot.syncPeriod`: how often a Shoot is reconciled that is not confined to its window.
    pub sync_period: TimeDelta,
    /// `controllers.shoot.respectSyncPeriodOverwrite`: whether a Shoot may set its own period, or be ignored.
    pub respect_sync_period_overwrite: bool,
    /// `controllers.shoot.reconcileInMaintenanceOnly`: whether Shoots are reconciled in their windows only.
    pub reconcile_in_maintenance_only: bool,
    /// `controllers.shoot.retryDuration`: how old a retry cycle gets before a Shoot is given up.
    pub retry_duration: TimeDelta,
    /// `controllers.shootCare.syncPeriod`: health is judged at most this often.
    pub care_period: TimeDelta,
    /// `controllers.shootCare.conditionThresholds`
    pub thresholds: Thresholds,
    /// `controllers.managedSeed.syncJitterPeriod`: how long at most a ManagedSeed waits that is acted upon later.
    pub managed_seed_jitter: TimeDelta,
    /// `controllers.managedSeed.jitterUpdates`: whether changes of ManagedSeeds are acted upon later, too.
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
    /// Whether a feature gate is on for an emulated version, `v1.120.0`.
    pub(crate) fn gate(&self, name: &str, version: &str) -> bool {
        let set = self.feature_gates.get(name).copied();
        match GardenerVersion::parse(version) {
            Some(version) => gate_is_on(&version, name, set),
            None => set.unwrap_or_default(),
        }
    }

    /// Names that capacity and reservations speak of.
    pub(crate) fn resource_names(&self) -> BTreeSet<&str> {
        self.capacity.keys().chain(self.reserved.keys()).map(String::as_str).collect()
    }
}

/// Keys of operating system configurations hash everything that replaces a node.
pub(crate) const NEW_WORKER_POOL_HASH: &str = "NewWorkerPoolHash";
/// Node agents are authorized by a webhook of gardener-resource-manager.
pub(crate) const NODE_AGENT_AUTHORIZER: &str = "NodeAgentAuthorizer";
/// Logs and metrics of a control plane go through a collector of its own.
pub(crate) const OPEN_TELEMETRY_COLLECTOR: &str = "OpenTelemetryCollector";

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
