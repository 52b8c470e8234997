// SPDX-License-Identifier: Apache-2.0
//! Defaults of Seeds.

use std::collections::BTreeMap;

use api::core::*;
use api::kubernetes::core::{ObjectReference, SecretReference};

use super::quantity;
use crate::release::{Release, Releases};

/// Releases in which `loadBalancerServices.zonalIngress.enabled` is true by default.
const ZONAL_INGRESS: Releases = Releases::since(131);

/// Releases in which `persistentVolumeClaimAutoscaler.enabled` is false by default.
const VOLUME_AUTOSCALER: Releases = Releases::since(145);

/// Fills the defaults of a Seed, those of a release of gardener-apiserver.
///
/// Source: pkg/apis/core/v1beta1/defaults_seed.go, v1.120.0 to v1.149.0.
pub fn seed(seed: &mut Seed, release: Release) {
    let settings = seed.spec.settings.get_or_insert_default();
    let reservation = settings.excess_capacity_reservation.get_or_insert_default();
    if reservation.enabled.unwrap_or(true) && reservation.configs.is_empty() {
        reservation.configs.push(SeedSettingExcessCapacityReservationConfig {
            resources: BTreeMap::from([("cpu".to_owned(), quantity("2")), ("memory".to_owned(), quantity("6Gi"))]),
            ..SeedSettingExcessCapacityReservationConfig::default()
        });
    }
    settings.scheduling.get_or_insert(SeedSettingScheduling { visible: true });
    if ZONAL_INGRESS.contain(release) {
        let services = settings.load_balancer_services.get_or_insert_default();
        services.zonal_ingress.get_or_insert(SeedSettingLoadBalancerServicesZonalIngress { enabled: Some(true) });
    }
    if VOLUME_AUTOSCALER.contain(release) {
        settings.persistent_volume_claim_autoscaler.get_or_insert_default();
    }
    let autoscaler = SeedSettingVerticalPodAutoscaler { enabled: true, ..SeedSettingVerticalPodAutoscaler::default() };
    settings.vertical_pod_autoscaler.get_or_insert(autoscaler);
    let watchdog = settings.dependency_watchdog.get_or_insert_default();
    watchdog.weeder.get_or_insert(SeedSettingDependencyWatchdogWeeder { enabled: true });
    watchdog.prober.get_or_insert(SeedSettingDependencyWatchdogProber { enabled: true });
    settings.topology_aware_routing.get_or_insert(SeedSettingTopologyAwareRouting { enabled: false });
    if seed.spec.networks.ip_families.is_empty() {
        seed.spec.networks.ip_families.push("IPv4".to_owned());
    }
}

/// Fills the missing one of a backup's two references to its Secret. If both are set, nothing changes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::DOCUMENTED;

    #[test]
    fn a_seed_gets_its_settings() {
        let mut once = Seed::default();
        seed(&mut once, DOCUMENTED);
        let tree = serde_json::to_value(&once.spec).unwrap();
        let settings = serde_json::json!({
            "excessCapacityReservation": {"configs": [{"resources": {"cpu": "2", "memory": "6Gi"}}]},
            "scheduling": {"visible": true},
            "verticalPodAutoscaler": {"enabled": true},
            "dependencyWatchdog": {"weeder": {"enabled": true}, "prober": {"enabled": true}},
            "topologyAwareRouting": {"enabled": false},
        });
        assert_eq!(tree["settings"], settings);
        assert_eq!(tree["networks"]["ipFamilies"], serde_json::json!(["IPv4"]));
        let mut twice = once.clone();
        seed(&mut twice, DOCUMENTED);
        assert_eq!(once, twice);
    }

    #[test]
    fn later_releases_have_more_defaults() {
        for (minor, services, autoscaler) in [
            (130, serde_json::json!(null), serde_json::json!(null)),
            (131, serde_json::json!({"zonalIngress": {"enabled": true}}), serde_json::json!(null)),
            (144, serde_json::json!({"zonalIngress": {"enabled": true}}), serde_json::json!(null)),
            (145, serde_json::json!({"zonalIngress": {"enabled": true}}), serde_json::json!({"enabled": false})),
        ] {
            let mut once = Seed::default();
            seed(&mut once, Release(minor));
            let settings = serde_json::to_value(&once.spec.settings).unwrap();
            assert_eq!(settings["loadBalancerServices"], services, "{minor}");
            assert_eq!(settings["persistentVolumeClaimAutoscaler"], autoscaler, "{minor}");
        }
        let mut off = Seed::default();
        let services = off.spec.settings.get_or_insert_default().load_balancer_services.get_or_insert_default();
        services.zonal_ingress = Some(SeedSettingLoadBalancerServicesZonalIngress { enabled: Some(false) });
        let before = off.clone();
        seed(&mut off, Release(131));
        assert_eq!(
            off.spec.settings.unwrap().load_balancer_services,
            before.spec.settings.unwrap().load_balancer_services
        );
    }

    #[test]
    fn a_disabled_reservation_gets_no_resources() {
        let mut reserved = Seed::default();
        reserved.spec.settings.get_or_insert_default().excess_capacity_reservation =
            Some(SeedSettingExcessCapacityReservation { enabled: Some(false), configs: Vec::new() });
        seed(&mut reserved, DOCUMENTED);
        let reservation = reserved.spec.settings.unwrap().excess_capacity_reservation.unwrap();
        assert!(reservation.configs.is_empty());
    }

    #[test]
    fn either_reference_of_a_backup_fills_the_other() {
        let secret = SecretReference { name: "backup".to_owned(), namespace: "garden".to_owned() };
        let (mut old, mut new) = (secret.clone(), None);
        sync_backup_references(&mut old, &mut new);
        let reference = new.clone().unwrap();
        assert_eq!((reference.api_version.as_str(), reference.kind.as_str()), ("v1", "Secret"));
        let mut empty = SecretReference::default();
        sync_backup_references(&mut empty, &mut new);
        assert_eq!(empty, secret);
        let mut identity = Some(ObjectReference { kind: "WorkloadIdentity".to_owned(), ..reference });
        let mut empty = SecretReference::default();
        sync_backup_references(&mut empty, &mut identity);
        assert_eq!(empty, SecretReference::default());
    }
}
