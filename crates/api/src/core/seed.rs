// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Seed` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A cluster that hosts control planes of Shoots.
#[api_type]
pub struct Seed {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Seed.
    pub spec: SeedSpec,
    /// Observed state of the Seed.
    pub status: SeedStatus,
}

/// Ingress of a Seed.
#[api_type]
pub struct Ingress {
    /// Domain below which ingresses of the Seed and its Shoots are. Cannot be changed.
    #[schema(required)]
    pub domain: String,
    /// Controller that implements ingresses.
    #[schema(required)]
    pub controller: IngressController,
}

/// Controller that implements ingresses.
#[api_type]
pub struct IngressController {
    /// Kind of the controller: nginx.
    #[schema(required)]
    pub kind: String,
    /// Settings of the controller.
    pub provider_config: Option<RawExtension>,
}

/// PROXY protocol of load balancers.
#[api_type]
pub struct LoadBalancerServicesProxyProtocol {
    /// True if connections with the PROXY protocol are accepted.
    #[schema(required)]
    pub allowed: bool,
}

/// DNS of a Seed.
#[api_type]
pub struct SeedDNS {
    /// Provider that manages the DNS records of the Seed.
    pub provider: Option<SeedDNSProvider>,
    /// Internal domain of the Seed.
    pub internal: Option<SeedDNSProviderConfig>,
    /// Default domains of the Seed; the first one that matches is used.
    pub defaults: Vec<SeedDNSProviderConfig>,
}

/// DNS provider of a Seed.
#[api_type]
pub struct SeedDNSProvider {
    /// Type of the provider, for example `aws-route53`.
    #[schema(required)]
    pub r#type: String,
    /// Credentials for the provider: a Secret or a WorkloadIdentity.
    pub credentials_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// Secret with the credentials.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// A domain of a Seed and its DNS provider.
#[api_type]
pub struct SeedDNSProviderConfig {
    /// Type of the provider, for example `aws-route53`.
    #[schema(required)]
    pub r#type: String,
    /// The domain.
    #[schema(required)]
    pub domain: String,
    /// Zone of the domain's records.
    pub zone: Option<String>,
    /// Credentials for the provider: a Secret or a WorkloadIdentity.
    #[schema(required)]
    pub credentials_ref: crate::kubernetes::core::ObjectReference,
}

/// Networks of a Seed; Shoots must not overlap with them.
#[api_type]
pub struct SeedNetworks {
    /// Network of the nodes, in CIDR form. Cannot be changed once it is set.
    pub nodes: Option<String>,
    /// Network of the pods, in CIDR form. Cannot be changed.
    #[schema(required)]
    pub pods: String,
    /// Network of the services, in CIDR form. Cannot be changed.
    #[schema(required)]
    pub services: String,
    /// Networks for Shoots that specify none.
    pub shoot_defaults: Option<ShootNetworks>,
    /// Networks that pods in the Seed cannot reach.
    #[schema(rename = "blockCIDRs")]
    pub block_cid_rs: Vec<String>,
    /// IP families of the Seed.
    pub ip_families: Vec<String>,
}

/// Infrastructure of a Seed.
#[api_type]
pub struct SeedProvider {
    /// Provider of the infrastructure.
    #[schema(required)]
    pub r#type: String,
    /// Settings of the provider, in its own format.
    pub provider_config: Option<RawExtension>,
    /// Region of the infrastructure.
    #[schema(required)]
    pub region: String,
    /// Zones over which control planes can be spread.
    pub zones: Vec<String>,
}

/// Settings of dependency-watchdog.
#[api_type]
pub struct SeedSettingDependencyWatchdog {
    /// Restarts pods that crash although the components they depend on are available again.
    pub weeder: Option<SeedSettingDependencyWatchdogWeeder>,
    /// Scales down components whose API server is unreachable from its nodes.
    pub prober: Option<SeedSettingDependencyWatchdogProber>,
}

/// Settings of dependency-watchdog's prober.
#[api_type]
pub struct SeedSettingDependencyWatchdogProber {
    /// Enables the prober.
    #[schema(required)]
    pub enabled: bool,
}

/// Settings of dependency-watchdog's weeder.
#[api_type]
pub struct SeedSettingDependencyWatchdogWeeder {
    /// Enables the weeder.
    #[schema(required)]
    pub enabled: bool,
}

/// Capacity reserved for new control planes.
#[api_type]
pub struct SeedSettingExcessCapacityReservation {
    /// Enables the reservation.
    pub enabled: Option<bool>,
    /// Sizes and nodes of the reservations.
    pub configs: Vec<SeedSettingExcessCapacityReservationConfig>,
}

/// One reservation of capacity.
#[api_type]
pub struct SeedSettingExcessCapacityReservationConfig {
    /// Requests of the pods that hold the capacity.
    #[schema(required)]
    pub resources: BTreeMap<String, Quantity>,
    /// Labels of the nodes.
    pub node_selector: TextMap,
    /// Taints of the nodes that are tolerated.
    pub tolerations: Vec<crate::kubernetes::core::Toleration>,
}

/// Services of type LoadBalancer in the Seed.
#[api_type]
pub struct SeedSettingLoadBalancerServices {
    /// Annotations of the Services.
    pub annotations: TextMap,
    /// Distribution of the load balancers' traffic: Cluster or Local.
    pub external_traffic_policy: Option<String>,
    /// Settings for single zones.
    pub zones: Vec<SeedSettingLoadBalancerServicesZones>,
    /// PROXY protocol of the load balancers.
    pub proxy_protocol: Option<LoadBalancerServicesProxyProtocol>,
    /// Load balancers of each zone.
    pub zonal_ingress: Option<SeedSettingLoadBalancerServicesZonalIngress>,
    /// Class of the load balancers.
    pub class: Option<String>,
}

/// Load balancers of each zone.
#[api_type]
pub struct SeedSettingLoadBalancerServicesZonalIngress {
    /// Enables a load balancer for the ingress of each zone. Default: true.
    pub enabled: Option<bool>,
}

/// Services of type LoadBalancer in one zone.
#[api_type]
pub struct SeedSettingLoadBalancerServicesZones {
    /// Name of the zone.
    #[schema(required)]
    pub name: String,
    /// Annotations of the Services.
    pub annotations: TextMap,
    /// Distribution of the load balancers' traffic: Cluster or Local.
    pub external_traffic_policy: Option<String>,
    /// PROXY protocol of the load balancers.
    pub proxy_protocol: Option<LoadBalancerServicesProxyProtocol>,
}

/// The autoscaler of PersistentVolumeClaims of a Seed.
#[api_type]
pub struct SeedSettingPersistentVolumeClaimAutoscaler {
    /// Enables the autoscaler of PersistentVolumeClaims. Default: false.
    #[schema(required)]
    pub enabled: bool,
}

/// Scheduling of Shoots onto a Seed.
#[api_type]
pub struct SeedSettingScheduling {
    /// True if the scheduler may choose the Seed.
    #[schema(required)]
    pub visible: bool,
}

/// Topology-aware routing.
#[api_type]
pub struct SeedSettingTopologyAwareRouting {
    /// Enables topology-aware routing: traffic stays within its zone if possible.
    #[schema(required)]
    pub enabled: bool,
}

/// The vertical pod autoscaler of a Seed. Served; not emulated.
#[api_type]
pub struct SeedSettingVerticalPodAutoscaler {
    /// Enables the deployment by Gardener. Default: true. Served; not emulated.
    #[schema(required)]
    pub enabled: bool,
    /// Feature gates to enable or disable. Served; not emulated.
    pub feature_gates: BTreeMap<String, bool>,
    /// Maximum of the requests that are recommended for a container. Default: none. Served; not emulated.
    pub max_allowed: BTreeMap<String, Quantity>,
}

/// Selection of the zones of control planes. Served; not emulated.
#[api_type]
pub struct SeedSettingZoneSelection {
    /// Prefer: zones of the worker pools where the Seed has them; Enforce: a Shoot with other zones is not scheduled. Served;
    /// not emulated.
    #[schema(required)]
    pub mode: String,
}

/// Settings of a Seed.
#[api_type]
pub struct SeedSettings {
    /// Capacity reserved for new control planes.
    pub excess_capacity_reservation: Option<SeedSettingExcessCapacityReservation>,
    /// Scheduling of Shoots onto the Seed.
    pub scheduling: Option<SeedSettingScheduling>,
    /// Services of type LoadBalancer.
    pub load_balancer_services: Option<SeedSettingLoadBalancerServices>,
    /// The vertical pod autoscaler. Served; not emulated.
    pub vertical_pod_autoscaler: Option<SeedSettingVerticalPodAutoscaler>,
    /// Settings of dependency-watchdog.
    pub dependency_watchdog: Option<SeedSettingDependencyWatchdog>,
    /// Topology-aware routing.
    pub topology_aware_routing: Option<SeedSettingTopologyAwareRouting>,
    /// Selection of the zones of control planes by those of the worker pools. Served; not emulated.
    pub zone_selection: Option<SeedSettingZoneSelection>,
    /// The autoscaler of PersistentVolumeClaims.
    pub persistent_volume_claim_autoscaler: Option<SeedSettingPersistentVolumeClaimAutoscaler>,
}

/// Specification of a Seed.
#[api_type]
pub struct SeedSpec {
    /// Object store for backups of etcd. Without it there are no backups, and Shoots cannot be migrated.
    pub backup: Option<Backup>,
    /// DNS settings of the Seed.
    #[schema(required)]
    pub dns: SeedDNS,
    /// Networks of the Seed.
    #[schema(required)]
    pub networks: SeedNetworks,
    /// Infrastructure of the Seed.
    #[schema(required)]
    pub provider: SeedProvider,
    /// Taints; the Seed hosts only Shoots that tolerate all of them.
    pub taints: Vec<SeedTaint>,
    /// Settings for volumes in the Seed.
    pub volume: Option<SeedVolume>,
    /// Settings of the Seed.
    pub settings: Option<SeedSettings>,
    /// Ingress of the Seed.
    pub ingress: Option<Ingress>,
    /// Access restrictions that the Seed offers.
    pub access_restrictions: Vec<AccessRestriction>,
    /// Extensions that the Seed uses, with their settings.
    pub extensions: Vec<Extension>,
    /// Named references to objects of namespace garden that extensions use.
    pub resources: Vec<NamedResourceReference>,
}

/// Status of a Seed.
#[api_type]
pub struct SeedStatus {
    /// The gardenlet that processed the Seed last.
    pub gardener: Option<Gardener>,
    /// Version of Kubernetes that the Seed runs.
    pub kubernetes_version: Option<String>,
    /// Conditions of the Seed: GardenletReady, ExtensionsReady, SeedSystemComponentsHealthy and more.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Identity of the cluster.
    pub cluster_identity: Option<String>,
    /// Capacity of the Seed by resource: `shoots`.
    pub capacity: BTreeMap<String, Quantity>,
    /// Part of the capacity that may be used.
    pub allocatable: BTreeMap<String, Quantity>,
    /// Expiration time of gardenlet's client certificate.
    pub client_certificate_expiration_timestamp: Option<Time>,
    /// The current operation, or the last one.
    pub last_operation: Option<LastOperation>,
}

/// Keeps Shoots away that do not tolerate it.
#[api_type]
pub struct SeedTaint {
    /// Key of the taint.
    #[schema(required)]
    pub key: String,
    /// Value of the taint.
    pub value: Option<String>,
}

/// Settings for volumes in a Seed.
#[api_type]
pub struct SeedVolume {
    /// Minimum size of a volume.
    pub minimum_size: Option<Quantity>,
    /// Provisioners of volumes.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub providers: Vec<SeedVolumeProvider>,
}

/// A provisioner of volumes of a Seed.
#[api_type]
pub struct SeedVolumeProvider {
    /// Purpose of the volumes.
    #[schema(required)]
    pub purpose: String,
    /// Name of the provider.
    #[schema(required)]
    pub name: String,
}

/// Networks for Shoots that specify none.
#[api_type]
pub struct ShootNetworks {
    /// Network of the pods, in CIDR form.
    pub pods: Option<String>,
    /// Network of the services, in CIDR form.
    pub services: Option<String>,
}

impl_resource!(Seed, "core.gardener.cloud", "v1beta1", "Seed", "seeds", false);
