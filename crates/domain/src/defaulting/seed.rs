// SPDX-License-Identifier: Apache-2.0
//! Defaults of Seeds.

use std::collections::BTreeMap;

use api::core::*;
use api::kubernetes::core::{ObjectReference, SecretReference};

use super::quantity;

/// Fills the defaults of a Seed.
pub fn seed(seed: &mut Seed) {
    let settings = seed.spec.settings.get_or_insert_default();
    let reservation = settings.excess_capacity_reservation.get_or_insert_default();
    if reservation.enabled.unwrap_or(true) && reservation.configs.is_empty() {
        reservation.configs.push(SeedSettingExcessCapacityReservationConfig {
            resources: BTreeMap::from([("cpu".to_owned(), quantity("2")), ("memory".to_owned(), quantity("6Gi"))]),
            ..SeedSettingExcessCapacityReservationConfig::default()
        });
    }
    settings.scheduling.get_or_insert(SeedSettingScheduling { visible: true });
    settings.vertical_pod_autoscaler.get_or_insert(SeedSettingVerticalPodAutoscaler { enabled: true });
    let watchdog = settings.dependency_watchdog.get_or_insert_default();
    watchdog.weeder.get_or_insert(SeedSettingDependencyWatchdogWeeder { enabled: true });
    watchdog.prober.get_or_insert(SeedSettingDependencyWatchdogProber { enabled: true });
    settings.topology_aware_routing.get_or_insert(SeedSettingTopologyAwareRouting { enabled: false });
    if seed.spec.networks.ip_families.is_empty() {
        seed.spec.networks.ip_families.push("IPv4".to_owned());
    }
}

/// Fills the missing one of a backup's two references to its Secret; both set stay as they are.
pub fn sync_backup_references(secret_ref: &mut SecretReference, credentials_ref: &mut Option<ObjectReference>) {
    let unset = secret_ref.name.is_empty() && secret_ref.namespace.is_empty();
    match credentials_ref {
        None if !unset => {
            *credentials_ref = Some(ObjectReference {
                api_version: "v1".to_owned(),
                kind: "Secret".to_owned(),
                namespace: secret_ref.namespace.clone(),
                name: secret_ref.name.clone(),
                ..ObjectReference::default()
            });
        }
        Some(reference) if unset && reference.api_version == "v1" && reference.kind == "Secret" => {
            *secret_ref = SecretReference { namespace: reference.namespace.clone(), name: reference.name.clone() };
        }
        _ => {}
    }
}
