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
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: SeedSpec,
    /// What is there.
    pub status: SeedStatus,
}

/// Ingress of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Ingress {
    /// Domain below which ingresses of the Seed and its Shoots are. Cannot be changed.
    #[schema(required)]
    pub domain: String,
    /// Controller that implements ingresses.
    #[schema(required)]
    pub controller: IngressController,
}

/// Controller that implements ingresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressController {
    /// Kind of the controller: nginx.
    #[schema(required)]
    pub kind: String,
    /// Settings of the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
}

/// PROXY protocol of load balancers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBalancerServicesProxyProtocol {
    /// Whether connections with the PROXY protocol are accepted.
    #[schema(required)]
    pub allowed: bool,
}

/// DNS of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedDNS {
    /// Who manages the DNS records of the Seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<SeedDNSProvider>,
}

/// Who manages the DNS records of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedDNSProvider {
    /// Type of the provider, `aws-route53` and the like.
    #[schema(required)]
    pub r#type: String,
    /// Secret with the credentials.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// Networks of a Seed; Shoots must not overlap with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedNetworks {
    /// Network of the nodes, in CIDR form. Cannot be changed once it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// Network of the pods, in CIDR form. Cannot be changed.
    #[schema(required)]
    pub pods: String,
    /// Network of the services, in CIDR form. Cannot be changed.
    #[schema(required)]
    pub services: String,
    /// Networks for Shoots that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_defaults: Option<ShootNetworks>,
    /// Networks that pods in the Seed cannot reach.
    #[serde(rename = "blockCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub block_cid_rs: Vec<String>,
    /// IP families of the Seed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

/// Infrastructure of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedProvider {
    /// Provider of the infrastructure.
    #[schema(required)]
    pub r#type: String,
    /// Settings of the provider, in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    /// Region of the infrastructure.
    #[schema(required)]
    pub region: String,
    /// Zones over which control planes can be spread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// Settings of dependency-watchdog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingDependencyWatchdog {
    /// Restarts pods that crash for want of something that is back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weeder: Option<SeedSettingDependencyWatchdogWeeder>,
    /// Scales components down whose API server cannot be reached by its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prober: Option<SeedSettingDependencyWatchdogProber>,
}

/// Settings of dependency-watchdog's prober.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingDependencyWatchdogProber {
    /// Whether the prober runs.
    #[schema(required)]
    pub enabled: bool,
}

/// Settings of dependency-watchdog's weeder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingDependencyWatchdogWeeder {
    /// Whether the weeder runs.
    #[schema(required)]
    pub enabled: bool,
}

/// Room kept free for new control planes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingExcessCapacityReservation {
    /// Whether room is kept free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How much room, and where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<SeedSettingExcessCapacityReservationConfig>,
}

/// One reservation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingExcessCapacityReservationConfig {
    /// Requests of the pods that hold the room.
    #[schema(required)]
    pub resources: BTreeMap<String, Quantity>,
    /// Labels of the nodes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of the nodes that are tolerated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<crate::kubernetes::core::Toleration>,
}

/// Services of type LoadBalancer in the Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingLoadBalancerServices {
    /// Annotations of the Services.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Where the load balancers send traffic: Cluster or Local.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<String>,
    /// Settings for single zones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<SeedSettingLoadBalancerServicesZones>,
    /// Whether the PROXY protocol is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<LoadBalancerServicesProxyProtocol>,
}

/// Services of type LoadBalancer in one zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingLoadBalancerServicesZones {
    /// Name of the zone.
    #[schema(required)]
    pub name: String,
    /// Annotations of the Services.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Where the load balancers send traffic: Cluster or Local.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<String>,
    /// Whether the PROXY protocol is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<LoadBalancerServicesProxyProtocol>,
}

/// Scheduling of Shoots onto a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingScheduling {
    /// Whether the scheduler may choose the Seed.
    #[schema(required)]
    pub visible: bool,
}

/// Routing that stays within a zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingTopologyAwareRouting {
    /// Whether traffic stays within its zone where it can.
    #[schema(required)]
    pub enabled: bool,
}

/// The vertical pod autoscaler of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettingVerticalPodAutoscaler {
    /// Whether Gardener deploys it. Default: true.
    #[schema(required)]
    pub enabled: bool,
}

/// Settings of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSettings {
    /// Room kept free for new control planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess_capacity_reservation: Option<SeedSettingExcessCapacityReservation>,
    /// Whether the scheduler may choose the Seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SeedSettingScheduling>,
    /// Services of type LoadBalancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_services: Option<SeedSettingLoadBalancerServices>,
    /// The vertical pod autoscaler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertical_pod_autoscaler: Option<SeedSettingVerticalPodAutoscaler>,
    /// Settings of dependency-watchdog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency_watchdog: Option<SeedSettingDependencyWatchdog>,
    /// Routing that stays within a zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_aware_routing: Option<SeedSettingTopologyAwareRouting>,
}

/// What a Seed is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedSpec {
    /// Where backups of etcd go. Without it there are none, and Shoots cannot be migrated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    /// Who manages the DNS records of the Seed.
    #[schema(required)]
    pub dns: SeedDNS,
    /// Networks of the Seed.
    #[schema(required)]
    pub networks: SeedNetworks,
    /// Infrastructure of the Seed.
    #[schema(required)]
    pub provider: SeedProvider,
    /// Taints; only Shoots that tolerate all of them may be there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<SeedTaint>,
    /// Settings for volumes in the Seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<SeedVolume>,
    /// Settings of the Seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<SeedSettings>,
    /// Ingress of the Seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// Access restrictions that the Seed offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestriction>,
    /// Extensions that the Seed uses, with their settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// Objects of namespace garden that extensions refer to, by names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
}

/// What is known of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedStatus {
    /// Which gardenlet worked on the Seed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<Gardener>,
    /// Version of Kubernetes that the Seed runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// How the Seed is: GardenletReady, ExtensionsReady, SeedSystemComponentsHealthy and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Identity of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_identity: Option<String>,
    /// How much there is: `shoots`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Quantity>,
    /// How much of it may be used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Quantity>,
    /// When gardenlet's client certificate expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_expiration_timestamp: Option<Time>,
    /// The operation that runs, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
}

/// Keeps Shoots away that do not tolerate it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedTaint {
    /// Key of the taint.
    #[schema(required)]
    pub key: String,
    /// Value of the taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Settings for volumes in a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedVolume {
    /// Least size of a volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_size: Option<Quantity>,
    /// Who provides volumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub providers: Vec<SeedVolumeProvider>,
}

/// Who provides volumes of a Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SeedVolumeProvider {
    /// What the volumes are for.
    #[schema(required)]
    pub purpose: String,
    /// Name of the provider.
    #[schema(required)]
    pub name: String,
}

/// Networks for Shoots that name none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootNetworks {
    /// Network of the pods, in CIDR form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    /// Network of the services, in CIDR form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
}

impl_resource!(Seed, "core.gardener.cloud", "v1beta1", "Seed", "seeds", false);
