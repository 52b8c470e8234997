// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Garden` (`operator.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/operator/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A whole garden: the runtime cluster's settings and the virtual cluster with Gardener's control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Garden {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: GardenSpec,
    /// What is there.
    pub status: GardenStatus,
}

/// Where backups of etcd go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Backup {
    /// Provider of the object store. Cannot be changed.
    #[schema(required)]
    pub provider: String,
    /// Name of the bucket; without one it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket_name: Option<String>,
    /// Settings in the format of the provider's extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    /// Region of the object store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Secret with the credentials for the object store.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
}

/// Settings of the virtual cluster's control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlane {
    /// Whether several replicas run. Cannot be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
}

/// State of the garden's credentials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Credentials {
    /// How far the rotation of each kind of credentials is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<CredentialsRotation>,
}

/// State of the rotations, one kind of credentials each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CredentialsRotation {
    /// Certificate authorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authorities: Option<crate::core::CARotation>,
    /// Key that signs tokens of service accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_key: Option<crate::core::ServiceAccountKeyRotation>,
    /// Key with which etcd's content is encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_encryption_key: Option<crate::core::ETCDEncryptionKeyRotation>,
    /// Passwords for monitoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observability: Option<crate::core::ObservabilityRotation>,
    /// Key that signs tokens of workload identities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_identity_key: Option<WorkloadIdentityKeyRotation>,
}

/// Names of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNS {
    /// Domains under which the API server is reached; the first one counts most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DNSDomain>,
}

/// A domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSDomain {
    /// Name of the domain.
    #[schema(required)]
    pub name: String,
    /// Name of the provider that holds its records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// Who holds DNS records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSManagement {
    /// The providers.
    #[schema(required)]
    pub providers: Vec<DNSProvider>,
}

/// A provider of DNS records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSProvider {
    /// Name by which domains refer to it.
    #[schema(required)]
    pub name: String,
    /// Type of the provider.
    #[schema(required)]
    pub r#type: String,
    /// Settings in the format of the provider's extension.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    /// Secret with the credentials.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
}

/// Settings of etcd.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCD {
    /// The etcd with everything but Events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<ETCDMain>,
    /// The etcd with Events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<ETCDEvents>,
}

/// Settings of the etcd with Events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDEvents {
    /// How its requests are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    /// Its volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

/// Settings of the etcd with everything but Events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDMain {
    /// How its requests are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    /// Where backups go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    /// Its volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

/// An extension that the garden uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenExtension {
    /// Type of the extension.
    #[schema(required)]
    pub r#type: String,
    /// Settings of the extension, in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
}

/// What a Garden is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenSpec {
    /// Who holds DNS records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DNSManagement>,
    /// Extensions that the garden uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<GardenExtension>,
    /// The cluster in which the garden's components run.
    #[schema(required)]
    pub runtime_cluster: RuntimeCluster,
    /// The virtual garden cluster and Gardener itself.
    #[schema(required)]
    pub virtual_cluster: VirtualCluster,
}

/// What is known of a Garden.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenStatus {
    /// Which gardener-operator worked on the garden last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<crate::core::Gardener>,
    /// RuntimeComponentsHealthy, VirtualComponentsHealthy, VirtualGardenAPIServerAvailable,
    /// ObservabilityComponentsHealthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    /// The operation that runs, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// State of the garden's credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Resources whose content in etcd is encrypted by now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub encrypted_resources: Vec<String>,
}

/// Several replicas of each component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HighAvailability {}

/// Ingress of the runtime cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Ingress {
    /// Domains below which ingresses are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DNSDomain>,
    /// Controller that implements ingresses.
    #[schema(required)]
    pub controller: crate::core::IngressController,
}

/// When and what Gardener may update by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Maintenance {
    /// When maintenance may begin each day.
    #[schema(required)]
    pub time_window: crate::core::MaintenanceTimeWindow,
}

/// Networks of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Networking {
    /// Networks of the services of the virtual cluster, in CIDR form.
    #[schema(required)]
    pub services: Vec<String>,
}

/// The infrastructure of a Shoot and its worker pools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Provider {
    /// Region of the runtime cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Zones over which components are spread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

/// The cluster in which the garden's components run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// Settings for volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
}

/// Networks of the runtime cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeNetworking {
    /// Networks of the nodes, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Networks of the pods, in CIDR form.
    #[schema(required)]
    pub pods: Vec<String>,
    /// Networks of the services, in CIDR form.
    #[schema(required)]
    pub services: Vec<String>,
    /// Networks that pods cannot reach.
    #[serde(rename = "blockCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub block_cid_rs: Vec<String>,
}

/// Services of type LoadBalancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SettingLoadBalancerServices {
    /// Annotations of the Services.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Routing that stays within a zone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SettingTopologyAwareRouting {
    /// Whether traffic stays within its zone where it can.
    #[schema(required)]
    pub enabled: bool,
}

/// The vertical pod autoscaler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SettingVerticalPodAutoscaler {
    /// Whether Gardener deploys it. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Settings of the runtime cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    /// Services of type LoadBalancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_services: Option<SettingLoadBalancerServices>,
    /// The vertical pod autoscaler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertical_pod_autoscaler: Option<SettingVerticalPodAutoscaler>,
    /// Routing that stays within a zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_aware_routing: Option<SettingTopologyAwareRouting>,
}

/// A volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Storage {
    /// Size of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Quantity>,
    /// Storage class of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_name: Option<String>,
}

/// The virtual garden cluster and Gardener itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VirtualCluster {
    /// Availability of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// Domains of the API server.
    #[schema(required)]
    pub dns: DNS,
    /// Settings of etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<ETCD>,
    /// Settings of Gardener's components.
    #[schema(required)]
    pub gardener: Gardener,
    /// Version of Kubernetes and settings of its components.
    #[schema(required)]
    pub kubernetes: Kubernetes,
    /// When maintenance may begin.
    #[schema(required)]
    pub maintenance: Maintenance,
    /// Networks of the virtual cluster.
    #[schema(required)]
    pub networking: Networking,
}

/// A volume of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// Least size of a volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_size: Option<Quantity>,
}

/// State of the rotation of the key that signs tokens of workload identities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkloadIdentityKeyRotation {
    /// Phase of the rotation: Preparing, Prepared, Completing or Completed.
    #[schema(required)]
    pub phase: String,
    /// When a rotation was completed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
    /// When a rotation was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When the first half of the rotation ended last, so that it can be completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_finished_time: Option<Time>,
    /// When completion was asked for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_triggered_time: Option<Time>,
}

impl_resource!(Garden, "operator.gardener.cloud", "v1alpha1", "Garden", "gardens", false);
