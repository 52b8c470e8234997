// SPDX-License-Identifier: Apache-2.0
//! Settings of the Kubernetes components of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

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
pub struct ControlPlaneAutoscaling {
    #[schema(required)]
    pub min_allowed: BTreeMap<String, Quantity>,
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
pub struct EncryptionConfig {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
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
pub struct MemorySwapConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_behavior: Option<String>,
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
pub struct OpenIDConnectClientAuthentication {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_config: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WatchCacheSizes {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub default: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceWatchCacheSize>,
}
