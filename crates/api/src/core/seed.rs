// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Seed` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A cluster that hosts control planes of Shoots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Seed {
    pub metadata: ObjectMeta,
    pub spec: SeedSpec,
    pub status: SeedStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Ingress {
    #[schema(required)]
    pub domain: String,
    #[schema(required)]
    pub controller: IngressController,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressController {
    #[schema(required)]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBalancerServicesProxyProtocol {
    #[schema(required)]
    pub allowed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedDNS {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<SeedDNSProvider>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedDNSProvider {
    #[schema(required)]
    pub r#type: String,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedNetworks {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    #[schema(required)]
    pub pods: String,
    #[schema(required)]
    pub services: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_defaults: Option<ShootNetworks>,
    #[serde(rename = "blockCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub block_cid_rs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedProvider {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[schema(required)]
    pub region: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingDependencyWatchdog {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weeder: Option<SeedSettingDependencyWatchdogWeeder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prober: Option<SeedSettingDependencyWatchdogProber>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingDependencyWatchdogProber {
    #[schema(required)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingDependencyWatchdogWeeder {
    #[schema(required)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingExcessCapacityReservation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<SeedSettingExcessCapacityReservationConfig>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingExcessCapacityReservationConfig {
    #[schema(required)]
    pub resources: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<crate::kubernetes::core::Toleration>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingLoadBalancerServices {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<SeedSettingLoadBalancerServicesZones>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<LoadBalancerServicesProxyProtocol>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingLoadBalancerServicesZones {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<LoadBalancerServicesProxyProtocol>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingScheduling {
    #[schema(required)]
    pub visible: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingTopologyAwareRouting {
    #[schema(required)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingVerticalPodAutoscaler {
    #[schema(required)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess_capacity_reservation: Option<SeedSettingExcessCapacityReservation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SeedSettingScheduling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_services: Option<SeedSettingLoadBalancerServices>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertical_pod_autoscaler: Option<SeedSettingVerticalPodAutoscaler>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency_watchdog: Option<SeedSettingDependencyWatchdog>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_aware_routing: Option<SeedSettingTopologyAwareRouting>,
}

/// What a Seed is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    #[schema(required)]
    pub dns: SeedDNS,
    #[schema(required)]
    pub networks: SeedNetworks,
    #[schema(required)]
    pub provider: SeedProvider,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<SeedTaint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<SeedVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<SeedSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestriction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
}

/// What is known of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<Gardener>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_identity: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_expiration_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedTaint {
    #[schema(required)]
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedVolume {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_size: Option<Quantity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub providers: Vec<SeedVolumeProvider>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedVolumeProvider {
    #[schema(required)]
    pub purpose: String,
    #[schema(required)]
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootNetworks {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
}

impl_resource!(Seed, "core.gardener.cloud", "v1beta1", "Seed", "seeds", false);
