// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Shoot` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
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
pub struct APIServerLogging {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_access_verbosity: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct APIServerRequests {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_non_mutating_inflight: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_mutating_inflight: Option<i32>,
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
pub struct AdmissionPlugin {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Alerting {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub email_receivers: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuditConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_policy: Option<AuditPolicy>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuditPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<crate::kubernetes::core::ObjectReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuthorizerKubeconfigReference {
    #[schema(required)]
    pub authorizer_name: String,
    #[schema(required)]
    pub secret_name: String,
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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAutoscaler {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_delay_after_add: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_delay_after_delete: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_delay_after_failure: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_unneeded_time: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_utilization_threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_interval: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expander: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_node_provision_time: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_graceful_termination_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(deprecated)]
    pub ignore_taints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_pod_scale_up_delay: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub max_empty_bulk_delete: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_daemonsets_utilization: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub startup_taints: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status_taints: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAutoscalerOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_utilization_threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_gpu_utilization_threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_unneeded_time: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_unready_time: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_node_provision_time: Option<Duration>,
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
pub struct ControlPlaneAutoscaling {
    #[schema(required)]
    pub min_allowed: BTreeMap<String, Quantity>,
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

/// A further volume of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DataVolume {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[schema(required)]
    pub size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCD {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<ETCDConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<ETCDConfig>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<ControlPlaneAutoscaling>,
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
pub struct EncryptionConfig {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
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
pub struct HorizontalPodAutoscalerConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_initialization_period: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downscale_stabilization: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_readiness_delay: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_period: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdatesStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_worker_updates: Option<PendingWorkerUpdates>,
}

/// Settings of the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeAPIServerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub admission_plugins: Vec<AdmissionPlugin>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_audiences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_config: Option<AuditConfig>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runtime_config: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_config: Option<ServiceAccountConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_cache_sizes: Option<WatchCacheSizes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<APIServerRequests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enable_anonymous_authentication: Option<bool>,
    #[serde(rename = "eventTTL", skip_serializing_if = "Option::is_none")]
    pub event_ttl: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<APIServerLogging>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_not_ready_toleration_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_unreachable_toleration_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_config: Option<EncryptionConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authentication: Option<StructuredAuthentication>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authorization: Option<StructuredAuthorization>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<ControlPlaneAutoscaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub oidc_config: Option<OIDCConfig>,
}

/// Settings of the controller manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeControllerManagerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizontal_pod_autoscaler: Option<HorizontalPodAutoscalerConfig>,
    #[serde(rename = "nodeCIDRMaskSize", skip_serializing_if = "Option::is_none")]
    pub node_cidr_mask_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub pod_eviction_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_monitor_grace_period: Option<Duration>,
}

/// Settings of the proxies on nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeProxyConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Settings of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeSchedulerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(rename = "kubeMaxPDVols", skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub kube_max_pd_vols: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// Settings of kubelets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeletConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(rename = "cpuCFSQuota", skip_serializing_if = "Option::is_none")]
    pub cpu_cfs_quota: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_manager_policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_hard: Option<KubeletConfigEviction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_max_pod_grace_period: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_minimum_reclaim: Option<KubeletConfigEvictionMinimumReclaim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_pressure_transition_period: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_soft: Option<KubeletConfigEviction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_soft_grace_period: Option<KubeletConfigEvictionSoftGracePeriod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pods: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_pids_limit: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_swap_on: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_reserved: Option<KubeletConfigReserved>,
    #[serde(rename = "imageGCHighThresholdPercent", skip_serializing_if = "Option::is_none")]
    pub image_gc_high_threshold_percent: Option<i32>,
    #[serde(rename = "imageGCLowThresholdPercent", skip_serializing_if = "Option::is_none")]
    pub image_gc_low_threshold_percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialize_image_pulls: Option<bool>,
    #[serde(rename = "registryPullQPS", skip_serializing_if = "Option::is_none")]
    pub registry_pull_qps: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_burst: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp_default: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_log_max_size: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_log_max_files: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protect_kernel_defaults: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming_connection_idle_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_swap: Option<MemorySwapConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallel_image_pulls: Option<i32>,
    #[serde(rename = "imageMinimumGCAge", skip_serializing_if = "Option::is_none")]
    pub image_minimum_gc_age: Option<Duration>,
    #[serde(rename = "imageMaximumGCAge", skip_serializing_if = "Option::is_none")]
    pub image_maximum_gc_age: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub system_reserved: Option<KubeletConfigReserved>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeletConfigEviction {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available: Option<String>,
    #[serde(rename = "imageFSAvailable", skip_serializing_if = "Option::is_none")]
    pub image_fs_available: Option<String>,
    #[serde(rename = "imageFSInodesFree", skip_serializing_if = "Option::is_none")]
    pub image_fs_inodes_free: Option<String>,
    #[serde(rename = "nodeFSAvailable", skip_serializing_if = "Option::is_none")]
    pub node_fs_available: Option<String>,
    #[serde(rename = "nodeFSInodesFree", skip_serializing_if = "Option::is_none")]
    pub node_fs_inodes_free: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeletConfigEvictionMinimumReclaim {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available: Option<Quantity>,
    #[serde(rename = "imageFSAvailable", skip_serializing_if = "Option::is_none")]
    pub image_fs_available: Option<Quantity>,
    #[serde(rename = "imageFSInodesFree", skip_serializing_if = "Option::is_none")]
    pub image_fs_inodes_free: Option<Quantity>,
    #[serde(rename = "nodeFSAvailable", skip_serializing_if = "Option::is_none")]
    pub node_fs_available: Option<Quantity>,
    #[serde(rename = "nodeFSInodesFree", skip_serializing_if = "Option::is_none")]
    pub node_fs_inodes_free: Option<Quantity>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeletConfigEvictionSoftGracePeriod {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available: Option<Duration>,
    #[serde(rename = "imageFSAvailable", skip_serializing_if = "Option::is_none")]
    pub image_fs_available: Option<Duration>,
    #[serde(rename = "imageFSInodesFree", skip_serializing_if = "Option::is_none")]
    pub image_fs_inodes_free: Option<Duration>,
    #[serde(rename = "nodeFSAvailable", skip_serializing_if = "Option::is_none")]
    pub node_fs_available: Option<Duration>,
    #[serde(rename = "nodeFSInodesFree", skip_serializing_if = "Option::is_none")]
    pub node_fs_inodes_free: Option<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeletConfigReserved {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral_storage: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<Quantity>,
}

/// Versions and settings of the Kubernetes components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<ClusterAutoscaler>,
    #[serde(rename = "kubeAPIServer", skip_serializing_if = "Option::is_none")]
    pub kube_api_server: Option<KubeAPIServerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_controller_manager: Option<KubeControllerManagerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_scheduler: Option<KubeSchedulerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_proxy: Option<KubeProxyConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletConfig>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertical_pod_autoscaler: Option<VerticalPodAutoscaler>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<ETCD>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enable_static_token_kubeconfig: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubernetesConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
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

/// Type, image and architecture of the machines of a worker pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Machine {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ShootMachineImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineControllerManagerSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_drain_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_health_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_creation_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_conditions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_health_timeout: Option<bool>,
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
pub struct MemorySwapConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_behavior: Option<String>,
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
pub struct OIDCConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub client_authentication: Option<OpenIDConnectClientAuthentication>,
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_prefix: Option<String>,
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub required_claims: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signing_algs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_claim: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_prefix: Option<String>,
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
pub struct OpenIDConnectClientAuthentication {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_config: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
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

/// The infrastructure of a Shoot and its worker pools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Provider {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub workers: Vec<Worker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_settings: Option<WorkersSettings>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceWatchCacheSize {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    #[schema(required)]
    pub resource: String,
    #[schema(required)]
    pub size: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SSHAccess {
    #[schema(required)]
    pub enabled: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceAccountConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_token_expiration: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_token_expiration: Option<Duration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_issuers: Vec<String>,
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

/// Name and version of a machine image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootMachineImage {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
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
pub struct StructuredAuthentication {
    #[schema(required)]
    pub config_map_name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StructuredAuthorization {
    #[schema(required)]
    pub config_map_name: String,
    #[schema(required)]
    pub kubeconfigs: Vec<AuthorizerKubeconfigReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SystemComponents {
    #[serde(rename = "coreDNS", skip_serializing_if = "Option::is_none")]
    pub core_dns: Option<CoreDNS>,
    #[serde(rename = "nodeLocalDNS", skip_serializing_if = "Option::is_none")]
    pub node_local_dns: Option<NodeLocalDNS>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VerticalPodAutoscaler {
    #[schema(required)]
    pub enabled: bool,
    #[serde(rename = "evictAfterOOMThreshold", skip_serializing_if = "Option::is_none")]
    pub evict_after_oom_threshold: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_rate_burst: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_rate_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_tolerance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation_margin_fraction: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updater_interval: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommender_interval: Option<Duration>,
    #[serde(rename = "targetCPUPercentile", skip_serializing_if = "Option::is_none")]
    pub target_cpu_percentile: Option<f64>,
    #[serde(rename = "recommendationLowerBoundCPUPercentile", skip_serializing_if = "Option::is_none")]
    pub recommendation_lower_bound_cpu_percentile: Option<f64>,
    #[serde(rename = "recommendationUpperBoundCPUPercentile", skip_serializing_if = "Option::is_none")]
    pub recommendation_upper_bound_cpu_percentile: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_memory_percentile: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation_lower_bound_memory_percentile: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation_upper_bound_memory_percentile: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_histogram_decay_half_life: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_histogram_decay_half_life: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_aggregation_interval: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_aggregation_interval_count: Option<i64>,
}

/// A volume of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[schema(required)]
    pub size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WatchCacheSizes {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub default: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceWatchCacheSize>,
}

/// A worker pool of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Worker {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cri: Option<CRI>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<WorkerKubernetes>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub machine: Machine,
    #[schema(required)]
    pub maximum: i32,
    #[schema(required)]
    pub minimum: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<crate::kubernetes::core::Taint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_volumes: Vec<DataVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_data_volume_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_components: Option<WorkerSystemComponents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_controller_manager: Option<MachineControllerManagerSettings>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<ClusterAutoscalerOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<WorkerControlPlane>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerControlPlane {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerKubernetes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerSystemComponents {
    #[schema(required)]
    pub allow: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkersSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_access: Option<SSHAccess>,
}

impl_resource!(Shoot, "core.gardener.cloud", "v1beta1", "Shoot", "shoots", true);
