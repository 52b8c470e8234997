// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Garden` (`operator.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/operator/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// A garden: settings of the runtime cluster, and the virtual cluster with Gardener's control plane.
#[api_type]
pub struct Garden {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Garden.
    pub spec: GardenSpec,
    /// Observed state of the Garden.
    pub status: GardenStatus,
}

/// An address of the garden.
#[api_type]
pub struct AdvertisedAddress {
    /// Name of the address: `virtual-garden` and so on.
    #[schema(required)]
    pub name: String,
    /// The address.
    #[schema(required)]
    pub url: String,
}

/// Object store for backups of etcd.
#[api_type]
pub struct Backup {
    /// Provider of the object store. Cannot be changed.
    #[schema(required)]
    pub provider: String,
    /// Name of the bucket; by default one is created.
    pub bucket_name: Option<String>,
    /// Settings in the format of the provider's extension.
    pub provider_config: Option<RawExtension>,
    /// Region of the object store.
    pub region: Option<String>,
    /// Secret with the credentials for the object store.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
}

/// Settings of the virtual cluster's control plane.
#[api_type]
pub struct ControlPlane {
    /// Runs several replicas of components. Cannot be removed.
    pub high_availability: Option<HighAvailability>,
}

/// State of the garden's credentials.
#[api_type]
pub struct Credentials {
    /// Progress of the rotation of each kind of credentials.
    pub rotation: Option<CredentialsRotation>,
    /// Encryption of the virtual cluster's data in etcd.
    pub encryption_at_rest: Option<EncryptionAtRest>,
}

/// State of the rotation of each kind of credentials.
#[api_type]
pub struct CredentialsRotation {
    /// Certificate authorities.
    pub certificate_authorities: Option<crate::core::CARotation>,
    /// Key that signs tokens of service accounts.
    pub service_account_key: Option<crate::core::ServiceAccountKeyRotation>,
    /// Key with which etcd's content is encrypted.
    pub etcd_encryption_key: Option<crate::core::ETCDEncryptionKeyRotation>,
    /// Passwords for monitoring.
    pub observability: Option<crate::core::ObservabilityRotation>,
    /// Key that signs tokens of workload identities.
    pub workload_identity_key: Option<WorkloadIdentityKeyRotation>,
}

/// Domains of the virtual cluster's API server.
#[api_type]
pub struct DNS {
    /// Domains of the API server; the first one is the primary domain.
    pub domains: Vec<DNSDomain>,
}

/// A domain.
#[api_type]
pub struct DNSDomain {
    /// Name of the domain.
    #[schema(required)]
    pub name: String,
    /// Name of the provider that holds its records.
    pub provider: Option<String>,
}

/// Providers of DNS records.
#[api_type]
pub struct DNSManagement {
    /// The providers.
    #[schema(required)]
    pub providers: Vec<DNSProvider>,
}

/// A provider of DNS records.
#[api_type]
pub struct DNSProvider {
    /// Name by which domains refer to it.
    #[schema(required)]
    pub name: String,
    /// Type of the provider.
    #[schema(required)]
    pub r#type: String,
    /// Settings in the format of the provider's extension.
    pub provider_config: Option<RawExtension>,
    /// Secret with the credentials.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
}

/// Settings of etcd.
#[api_type]
pub struct ETCD {
    /// The etcd with all objects except Events.
    pub main: Option<ETCDMain>,
    /// The etcd with Events.
    pub events: Option<ETCDEvents>,
}

/// Settings of the etcd with Events.
#[api_type]
pub struct ETCDEvents {
    /// Vertical scaling of the component. Served; not emulated.
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    /// Volume of the etcd.
    pub storage: Option<Storage>,
}

/// Settings of the etcd with all objects except Events.
#[api_type]
pub struct ETCDMain {
    /// Vertical scaling of the component. Served; not emulated.
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    /// Object store for backups.
    pub backup: Option<Backup>,
    /// Volume of the etcd.
    pub storage: Option<Storage>,
}

/// Encryption of resources in etcd.
#[api_type]
pub struct EncryptionAtRest {
    /// Resources that are encrypted at present, in addition to those that always are.
    pub resources: Vec<String>,
    /// Provider of the encryption.
    #[schema(required)]
    pub provider: EncryptionProviderStatus,
}

/// Status of the provider of the encryption.
#[api_type]
pub struct EncryptionProviderStatus {
    /// Type of the provider in use: aescbc, aesgcm or secretbox.
    #[schema(required)]
    pub r#type: String,
}

/// An extension that the garden uses.
#[api_type]
pub struct GardenExtension {
    /// Type of the extension.
    #[schema(required)]
    pub r#type: String,
    /// Settings of the extension, in its own format.
    pub provider_config: Option<RawExtension>,
}

/// Specification of a Garden.
#[api_type]
pub struct GardenSpec {
    /// Providers of DNS records.
    pub dns: Option<DNSManagement>,
    /// Extensions that the garden uses.
    pub extensions: Vec<GardenExtension>,
    /// The cluster in which the garden's components run.
    #[schema(required)]
    pub runtime_cluster: RuntimeCluster,
    /// The virtual garden cluster and Gardener itself.
    #[schema(required)]
    pub virtual_cluster: VirtualCluster,
    /// Named references to objects that settings of extensions use.
    pub resources: Vec<crate::core::NamedResourceReference>,
}

/// Status of a Garden.
#[api_type]
pub struct GardenStatus {
    /// The gardener-operator that processed the Garden last.
    pub gardener: Option<crate::core::Gardener>,
    /// RuntimeComponentsHealthy, VirtualComponentsHealthy, VirtualGardenAPIServerAvailable,
    /// ObservabilityComponentsHealthy.
    pub conditions: Vec<crate::core::Condition>,
    /// The current operation, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// State of the garden's credentials.
    pub credentials: Option<Credentials>,
    /// Addresses of the garden.
    pub advertised_addresses: Vec<AdvertisedAddress>,
    /// Resources whose content in etcd is already encrypted.
    pub encrypted_resources: Vec<String>,
}

/// Settings of high availability: each component has several replicas.
#[api_type]
pub struct HighAvailability {}

/// Ingress of the runtime cluster.
#[api_type]
pub struct Ingress {
    /// Domains below which ingresses are.
    pub domains: Vec<DNSDomain>,
    /// Controller that implements ingresses.
    #[schema(required)]
    pub controller: crate::core::IngressController,
}

/// PROXY protocol of load balancers.
#[api_type]
pub struct LoadBalancerServicesProxyProtocol {
    /// Accepts connections with the PROXY protocol. Default: false.
    #[schema(required)]
    pub allowed: bool,
}

/// Time window of maintenance.
#[api_type]
pub struct Maintenance {
    /// Daily window in which maintenance may begin.
    #[schema(required)]
    pub time_window: crate::core::MaintenanceTimeWindow,
}

/// Networks of the virtual cluster.
#[api_type]
pub struct Networking {
    /// Networks of the services of the virtual cluster, in CIDR form.
    #[schema(required)]
    pub services: Vec<String>,
}

/// Region and zones of the runtime cluster.
#[api_type]
pub struct Provider {
    /// Region of the runtime cluster.
    pub region: Option<String>,
    /// Zones over which components are spread.
    pub zones: Vec<String>,
}

/// The cluster in which the garden's components run.
#[api_type]
pub struct RuntimeCluster {
    /// Ingress of the cluster.
    #[schema(required)]
    pub ingress: Ingress,
    /// Networks of the cluster.
    #[schema(required)]
    pub networking: RuntimeNetworking,
    /// Region and zones.
    #[schema(required)]
    pub provider: Provider,
    /// Settings of the cluster.
    pub settings: Option<Settings>,
    /// Settings for volumes.
    pub volume: Option<Volume>,
}

/// Networks of the runtime cluster.
#[api_type]
pub struct RuntimeNetworking {
    /// IP families of the runtime cluster. Default: IPv4. Cannot be changed.
    pub ip_families: Vec<String>,
    /// Networks of the nodes, in CIDR form.
    pub nodes: Vec<String>,
    /// Networks of the pods, in CIDR form.
    #[schema(required)]
    pub pods: Vec<String>,
    /// Networks of the services, in CIDR form.
    #[schema(required)]
    pub services: Vec<String>,
    /// Networks that pods cannot reach.
    #[schema(rename = "blockCIDRs")]
    pub block_cid_rs: Vec<String>,
}

/// Services of type LoadBalancer.
#[api_type]
pub struct SettingLoadBalancerServices {
    /// Annotations of the Services.
    pub annotations: TextMap,
    /// Distribution of the load balancers' traffic: Cluster or Local. Default: Cluster.
    pub external_traffic_policy: Option<String>,
    /// PROXY protocol of the load balancers.
    pub proxy_protocol: Option<LoadBalancerServicesProxyProtocol>,
}

/// Topology-aware routing.
#[api_type]
pub struct SettingTopologyAwareRouting {
    /// Enables topology-aware routing: traffic stays within its zone if possible.
    #[schema(required)]
    pub enabled: bool,
}

/// The vertical pod autoscaler. Served; not emulated.
#[api_type]
pub struct SettingVerticalPodAutoscaler {
    /// Enables the deployment by Gardener. Default: true. Served; not emulated.
    pub enabled: Option<bool>,
    /// Feature gates to enable or disable. Served; not emulated.
    pub feature_gates: BTreeMap<String, bool>,
    /// Maximum of the requests that are recommended for a container. Default: none. Served; not emulated.
    pub max_allowed: BTreeMap<String, Quantity>,
}

/// Settings of the runtime cluster.
#[api_type]
pub struct Settings {
    /// Services of type LoadBalancer.
    pub load_balancer_services: Option<SettingLoadBalancerServices>,
    /// The vertical pod autoscaler. Served; not emulated.
    pub vertical_pod_autoscaler: Option<SettingVerticalPodAutoscaler>,
    /// Topology-aware routing.
    pub topology_aware_routing: Option<SettingTopologyAwareRouting>,
}

/// A volume.
#[api_type]
pub struct Storage {
    /// Size of the volume.
    pub capacity: Option<Quantity>,
    /// Storage class of the volume.
    pub class_name: Option<String>,
}

/// The virtual garden cluster and Gardener itself.
#[api_type]
pub struct VirtualCluster {
    /// Availability of the control plane.
    pub control_plane: Option<ControlPlane>,
    /// Domains of the API server.
    #[schema(required)]
    pub dns: DNS,
    /// Settings of etcd.
    pub etcd: Option<ETCD>,
    /// Settings of Gardener's components.
    #[schema(required)]
    pub gardener: Gardener,
    /// Version of Kubernetes and settings of its components.
    #[schema(required)]
    pub kubernetes: Kubernetes,
    /// Time window of maintenance.
    #[schema(required)]
    pub maintenance: Maintenance,
    /// Networks of the virtual cluster.
    #[schema(required)]
    pub networking: Networking,
}

/// Settings for volumes in the runtime cluster.
#[api_type]
pub struct Volume {
    /// Minimum size of a volume.
    pub minimum_size: Option<Quantity>,
}

/// State of the rotation of the key that signs tokens of workload identities.
#[api_type]
pub struct WorkloadIdentityKeyRotation {
    /// Phase of the rotation: Preparing, Prepared, Completing or Completed.
    #[schema(required)]
    pub phase: String,
    /// Completion time of the last rotation.
    pub last_completion_time: Option<Time>,
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
    /// End time of the last preparation of a rotation; completion is possible afterwards.
    pub last_initiation_finished_time: Option<Time>,
    /// Time of the last request to complete a rotation.
    pub last_completion_triggered_time: Option<Time>,
}

impl_resource!(Garden, "operator.gardener.cloud", "v1alpha1", "Garden", "gardens", false);
