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
    pub metadata: ObjectMeta,
    pub spec: GardenSpec,
    pub status: GardenStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Backup {
    #[schema(required)]
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
}

/// Settings of the virtual cluster's control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlane {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Credentials {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<CredentialsRotation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CredentialsRotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authorities: Option<crate::core::CARotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_key: Option<crate::core::ServiceAccountKeyRotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_encryption_key: Option<crate::core::ETCDEncryptionKeyRotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observability: Option<crate::core::ObservabilityRotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_identity_key: Option<WorkloadIdentityKeyRotation>,
}

/// Names of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNS {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DNSDomain>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSDomain {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSManagement {
    #[schema(required)]
    pub providers: Vec<DNSProvider>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSProvider {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCD {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<ETCDMain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<ETCDEvents>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDEvents {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDMain {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenExtension {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
}

/// What a Garden is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DNSManagement>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<GardenExtension>,
    #[schema(required)]
    pub runtime_cluster: RuntimeCluster,
    #[schema(required)]
    pub virtual_cluster: VirtualCluster,
}

/// What is known of a Garden.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener: Option<crate::core::Gardener>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<crate::core::LastOperation>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub encrypted_resources: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HighAvailability {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Ingress {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DNSDomain>,
    #[schema(required)]
    pub controller: crate::core::IngressController,
}

/// When and what Gardener may update by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Maintenance {
    #[schema(required)]
    pub time_window: crate::core::MaintenanceTimeWindow,
}

/// Networks of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Networking {
    #[schema(required)]
    pub services: Vec<String>,
}

/// The infrastructure of a Shoot and its worker pools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Provider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeCluster {
    #[schema(required)]
    pub ingress: Ingress,
    #[schema(required)]
    pub networking: RuntimeNetworking,
    #[schema(required)]
    pub provider: Provider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeNetworking {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    #[schema(required)]
    pub pods: Vec<String>,
    #[schema(required)]
    pub services: Vec<String>,
    #[serde(rename = "blockCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub block_cid_rs: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SettingLoadBalancerServices {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SettingTopologyAwareRouting {
    #[schema(required)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SettingVerticalPodAutoscaler {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_services: Option<SettingLoadBalancerServices>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertical_pod_autoscaler: Option<SettingVerticalPodAutoscaler>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_aware_routing: Option<SettingTopologyAwareRouting>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Storage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VirtualCluster {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    #[schema(required)]
    pub dns: DNS,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<ETCD>,
    #[schema(required)]
    pub gardener: Gardener,
    #[schema(required)]
    pub kubernetes: Kubernetes,
    #[schema(required)]
    pub maintenance: Maintenance,
    #[schema(required)]
    pub networking: Networking,
}

/// A volume of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_size: Option<Quantity>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkloadIdentityKeyRotation {
    #[schema(required)]
    pub phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_finished_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_triggered_time: Option<Time>,
}

impl_resource!(Garden, "operator.gardener.cloud", "v1alpha1", "Garden", "gardens", false);
