// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Shoot` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A Kubernetes cluster that Gardener manages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Shoot {
    pub metadata: ObjectMeta,
    pub spec: ShootSpec,
    pub status: ShootStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AccessRestrictionWithOptions {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Addon {
    #[schema(required)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Addons {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_dashboard: Option<KubernetesDashboard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nginx_ingress: Option<NginxIngress>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Alerting {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub email_receivers: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CARotation {
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_workers_rollouts: Vec<PendingWorkersRollout>,
}

/// Settings of a Shoot's control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlane {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CoreDNS {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<CoreDNSAutoscaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<CoreDNSRewriting>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CoreDNSAutoscaling {
    #[schema(required)]
    pub mode: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CoreDNSRewriting {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub common_suffixes: Vec<String>,
}

/// Names of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNS {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(deprecated)]
    pub providers: Vec<DNSProvider>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSIncludeExclude {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub domains: Option<DNSIncludeExclude>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub primary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub secret_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub zones: Option<DNSIncludeExclude>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDEncryptionKeyRotation {
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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FailureTolerance {
    #[schema(required)]
    pub r#type: String,
}

/// Whether and when a Shoot sleeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Hibernation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<HibernationSchedule>,
}

/// When a Shoot falls asleep and wakes up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HibernationSchedule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HighAvailability {
    #[schema(required)]
    pub failure_tolerance: FailureTolerance,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdatesStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_worker_updates: Option<PendingWorkerUpdates>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubernetesDashboard {
    #[schema(required)]
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication_mode: Option<String>,
}

/// What the last maintenance did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LastMaintenance {
    #[schema(required)]
    pub description: String,
    #[schema(required)]
    pub triggered_time: Time,
    #[schema(required)]
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// When and what Gardener may update by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Maintenance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<MaintenanceAutoUpdate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_window: Option<MaintenanceTimeWindow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confine_spec_update_rollout: Option<bool>,
}

/// What is updated by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MaintenanceAutoUpdate {
    #[schema(required)]
    pub kubernetes_version: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<bool>,
}

/// Begin and end of the daily window for maintenance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MaintenanceTimeWindow {
    #[schema(required)]
    pub begin: String,
    #[schema(required)]
    pub end: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Monitoring {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alerting: Option<Alerting>,
}

/// Networks of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Networking {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkingStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    #[serde(rename = "egressCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub egress_cid_rs: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NginxIngress {
    #[schema(required)]
    pub enabled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load_balancer_source_ranges: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeLocalDNS {
    #[schema(required)]
    pub enabled: bool,
    #[serde(rename = "forceTCPToClusterDNS", skip_serializing_if = "Option::is_none")]
    pub force_tcp_to_cluster_dns: Option<bool>,
    #[serde(rename = "forceTCPToUpstreamDNS", skip_serializing_if = "Option::is_none")]
    pub force_tcp_to_upstream_dns: Option<bool>,
    #[serde(rename = "disableForwardToUpstreamDNS", skip_serializing_if = "Option::is_none")]
    pub disable_forward_to_upstream_dns: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ObservabilityRotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PendingWorkerUpdates {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_in_place_update: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manual_in_place_update: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PendingWorkersRollout {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceAccountKeyRotation {
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_workers_rollouts: Vec<PendingWorkersRollout>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootAdvertisedAddress {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub url: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootCredentials {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<ShootCredentialsRotation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootCredentialsRotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authorities: Option<CARotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_keypair: Option<ShootSSHKeypairRotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observability: Option<ObservabilityRotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_key: Option<ServiceAccountKeyRotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_encryption_key: Option<ETCDEncryptionKeyRotation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub kubeconfig: Option<ShootKubeconfigRotation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootKubeconfigRotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootSSHKeypairRotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
}

/// What a Shoot is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub addons: Option<Addons>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub cloud_profile_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DNS>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hibernation: Option<Hibernation>,
    #[schema(required)]
    pub kubernetes: Kubernetes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<Networking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    #[schema(required)]
    pub provider: Provider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    #[schema(required)]
    pub region: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub secret_binding_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub tolerations: Vec<Toleration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure_class_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_components: Option<SystemComponents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_profile: Option<CloudProfileReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_binding_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestrictionWithOptions>,
}

/// What is known of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub constraints: Vec<Condition>,
    #[schema(required)]
    pub gardener: Gardener,
    #[schema(required)]
    pub hibernated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_cycle_start_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    #[serde(rename = "technicalID")]
    #[schema(required)]
    pub technical_id: String,
    #[schema(required)]
    pub uid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_identity: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub advertised_addresses: Vec<ShootAdvertisedAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration_start_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ShootCredentials>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hibernation_trigger_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_maintenance: Option<LastMaintenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<NetworkingStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_updates: Option<InPlaceUpdatesStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub encrypted_resources: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootTemplate {
    pub metadata: ObjectMeta,
    pub spec: ShootSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SystemComponents {
    #[serde(rename = "coreDNS", skip_serializing_if = "Option::is_none")]
    pub core_dns: Option<CoreDNS>,
    #[serde(rename = "nodeLocalDNS", skip_serializing_if = "Option::is_none")]
    pub node_local_dns: Option<NodeLocalDNS>,
}

impl_resource!(Shoot, "core.gardener.cloud", "v1beta1", "Shoot", "shoots", true);
