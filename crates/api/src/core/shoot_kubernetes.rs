// SPDX-License-Identifier: Apache-2.0
//! Settings of the Kubernetes components of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;

/// Logs of the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct APIServerLogging {
    /// How much the API server logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<i32>,
    /// How much the API server logs of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_access_verbosity: Option<i32>,
}

/// How many requests the API server takes at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct APIServerRequests {
    /// Most requests at once that only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_non_mutating_inflight: Option<i32>,
    /// Most requests at once that change something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_mutating_inflight: Option<i32>,
}

/// An admission plugin of the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AdmissionPlugin {
    /// Name of the plugin.
    #[schema(required)]
    pub name: String,
    /// Settings of the plugin, in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<RawExtension>,
    /// Whether the plugin is switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// Secret with the kubeconfig that the plugin uses to call webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_name: Option<String>,
}

/// What is audited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuditConfig {
    /// Which requests are written to the audit log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_policy: Option<AuditPolicy>,
}

/// Where the audit policy is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuditPolicy {
    /// ConfigMap in the Shoot's namespace with the policy under the key `policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<crate::kubernetes::core::ObjectReference>,
}

/// Kubeconfig of a webhook that authorizes requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuthorizerKubeconfigReference {
    /// Name of the authorizer in the configuration.
    #[schema(required)]
    pub authorizer_name: String,
    /// Secret with the kubeconfig, in the Shoot's namespace.
    #[schema(required)]
    pub secret_name: String,
}

/// Settings of the autoscaler that adds and removes nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAutoscaler {
    /// How long no node is removed after one was added. Default: 1h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_delay_after_add: Option<Duration>,
    /// How long no node is removed after one was removed. Default: 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_delay_after_delete: Option<Duration>,
    /// How long no node is removed after a removal failed. Default: 3m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_delay_after_failure: Option<Duration>,
    /// How long a node must be unneeded before it is removed. Default: 30m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_unneeded_time: Option<Duration>,
    /// Share of a node's resources in use below which it may be removed. Default: 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_utilization_threshold: Option<f64>,
    /// How often it is looked whether nodes are missing or unneeded. Default: 10s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_interval: Option<Duration>,
    /// Which pool grows when several could: least-waste, random, most-pods, least-nodes or priority. Default: least-
    /// waste.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expander: Option<String>,
    /// How long a new node may take. Default: 20m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_node_provision_time: Option<Duration>,
    /// Seconds that pods may take to go away when their node is removed. Default: 600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_graceful_termination_seconds: Option<i32>,
    /// Taints that do not count when a node's template is made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(deprecated)]
    pub ignore_taints: Vec<String>,
    /// How old a pod must be before a node is added for it. Default: 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_pod_scale_up_delay: Option<Duration>,
    /// How many empty nodes may be removed at once. Default: 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub max_empty_bulk_delete: Option<i32>,
    /// Whether pods of DaemonSets do not count as use of a node. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_daemonsets_utilization: Option<bool>,
    /// How much the autoscaler logs. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<i32>,
    /// Taints that a node only has while it starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub startup_taints: Vec<String>,
    /// Taints that tell of a node's state and do not count when a node's template is made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status_taints: Vec<String>,
}

/// Scaling of a component of the control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlaneAutoscaling {
    /// Least requests for `cpu` and `memory`.
    #[schema(required)]
    pub min_allowed: BTreeMap<String, Quantity>,
}

/// Settings of etcd.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCD {
    /// The etcd with everything but Events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<ETCDConfig>,
    /// The etcd with Events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<ETCDConfig>,
}

/// Settings of one etcd.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDConfig {
    /// How its requests are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<ControlPlaneAutoscaling>,
}

/// What is encrypted in etcd beside Secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct EncryptionConfig {
    /// Resources to encrypt, `configmaps` or `deployments.apps`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

/// Settings of the controller of HorizontalPodAutoscalers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HorizontalPodAutoscalerConfig {
    /// How long after its start the CPU use of a pod may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_initialization_period: Option<Duration>,
    /// How long the controller looks back before it scales down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downscale_stabilization: Option<Duration>,
    /// How long after its start a pod's changes of readiness count as its first start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_readiness_delay: Option<Duration>,
    /// How often the number of pods is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_period: Option<Duration>,
    /// Least relative deviation that leads to scaling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
}

/// Settings of the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeAPIServerConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Admission plugins to be set up or switched off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub admission_plugins: Vec<AdmissionPlugin>,
    /// Audiences that tokens may be for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_audiences: Vec<String>,
    /// What is audited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_config: Option<AuditConfig>,
    /// API versions and resources to switch on or off, `apps/v1: true`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runtime_config: BTreeMap<String, bool>,
    /// How tokens of service accounts are issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_config: Option<ServiceAccountConfig>,
    /// Sizes of the watch caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_cache_sizes: Option<WatchCacheSizes>,
    /// How many requests are taken at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<APIServerRequests>,
    /// Whether requests without credentials are let through to authorization.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enable_anonymous_authentication: Option<bool>,
    /// How long Events are kept. Default: 1h; at most 7 days.
    #[serde(rename = "eventTTL", skip_serializing_if = "Option::is_none")]
    pub event_ttl: Option<Duration>,
    /// How much is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<APIServerLogging>,
    /// Seconds for which pods without a toleration of their own stay on nodes that are not ready. Default: 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_not_ready_toleration_seconds: Option<i64>,
    /// Seconds for which pods without a toleration of their own stay on nodes that cannot be reached. Default: 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_unreachable_toleration_seconds: Option<i64>,
    /// What is encrypted in etcd beside Secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_config: Option<EncryptionConfig>,
    /// Where the configuration of authentication is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authentication: Option<StructuredAuthentication>,
    /// Where the configuration of authorization is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authorization: Option<StructuredAuthorization>,
    /// How its requests are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<ControlPlaneAutoscaling>,
    /// An OpenID Connect provider whose tokens are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub oidc_config: Option<OIDCConfig>,
}

/// Settings of the controller manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeControllerManagerConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Settings of the controller of HorizontalPodAutoscalers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizontal_pod_autoscaler: Option<HorizontalPodAutoscalerConfig>,
    /// Length of the prefix of each node's network for pods. Default: by the number of pods per node. Cannot be
    /// changed.
    #[serde(rename = "nodeCIDRMaskSize", skip_serializing_if = "Option::is_none")]
    pub node_cidr_mask_size: Option<i32>,
    /// How long pods stay on a failed node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub pod_eviction_timeout: Option<Duration>,
    /// How long a node may be silent before it counts as not ready. Default: 40s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_monitor_grace_period: Option<Duration>,
}

/// Settings of the proxies on nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeProxyConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// How services are implemented: IPTables, IPVS or NFTables. Default: IPTables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Whether kube-proxy runs; network plugins can replace it. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Settings of the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeSchedulerConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Most volumes per node.
    #[serde(rename = "kubeMaxPDVols", skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub kube_max_pd_vols: Option<String>,
    /// How pods are spread: `balanced`, or `bin-packing` onto few nodes. Default: balanced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// Versions and settings of the Kubernetes components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    /// Settings of the autoscaler that adds and removes nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<ClusterAutoscaler>,
    /// Settings of the API server.
    #[serde(rename = "kubeAPIServer", skip_serializing_if = "Option::is_none")]
    pub kube_api_server: Option<KubeAPIServerConfig>,
    /// Settings of the controller manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_controller_manager: Option<KubeControllerManagerConfig>,
    /// Settings of the scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_scheduler: Option<KubeSchedulerConfig>,
    /// Settings of kube-proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_proxy: Option<KubeProxyConfig>,
    /// Settings of the kubelet; pools may have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletConfig>,
    /// Version of Kubernetes, one of the CloudProfile's. May leave out the patch or minor version, which then becomes
    /// the highest. Can be raised by one minor version at a time.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Settings of the vertical pod autoscaler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vertical_pod_autoscaler: Option<VerticalPodAutoscaler>,
    /// Settings of etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<ETCD>,
    /// Whether there is a kubeconfig with a static token. No longer possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enable_static_token_kubeconfig: Option<bool>,
}

/// What every component of Kubernetes can be told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubernetesConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
}

/// An OpenID Connect provider whose tokens the API server accepts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OIDCConfig {
    /// Certificates by which the provider's server is trusted, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// How a client identifies itself to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub client_authentication: Option<OpenIDConnectClientAuthentication>,
    /// Client that the tokens must be for.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Claim with the groups of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    /// Put before each group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_prefix: Option<String>,
    /// Address of the provider; must be HTTPS.
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    /// Claims that a token must have, with their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub required_claims: BTreeMap<String, String>,
    /// Algorithms with which tokens may be signed. Default: RS256.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signing_algs: Vec<String>,
    /// Claim with the name of the user. Default: sub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_claim: Option<String>,
    /// Put before the name of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username_prefix: Option<String>,
}

/// How a client identifies itself to an OpenID Connect provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenIDConnectClientAuthentication {
    /// More settings for the client.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_config: BTreeMap<String, String>,
    /// The client's secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// Size of the watch cache of one resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceWatchCacheSize {
    /// Group of the resource; empty for the core group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Name of the resource, in the plural.
    #[schema(required)]
    pub resource: String,
    /// How many changes are kept.
    #[schema(required)]
    pub size: i32,
}

/// How tokens of service accounts are issued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceAccountConfig {
    /// Who issues the tokens, as an address. Default: the cluster's API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Whether tokens in pods live longer than asked for, for clients that do not read them again. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extend_token_expiration: Option<bool>,
    /// How long a token may live at most; between 30 and 90 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_token_expiration: Option<Duration>,
    /// Further issuers whose tokens are accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_issuers: Vec<String>,
}

/// Where the configuration of authentication is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StructuredAuthentication {
    /// ConfigMap in the Shoot's namespace with the configuration under the key `config.yaml`.
    #[schema(required)]
    pub config_map_name: String,
}

/// Where the configuration of authorization is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct StructuredAuthorization {
    /// ConfigMap in the Shoot's namespace with the configuration under the key `config.yaml`.
    #[schema(required)]
    pub config_map_name: String,
    /// Kubeconfigs of the webhooks in the configuration.
    #[schema(required)]
    pub kubeconfigs: Vec<AuthorizerKubeconfigReference>,
}

/// Settings of the vertical pod autoscaler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct VerticalPodAutoscaler {
    /// Whether it runs. Default: false.
    #[schema(required)]
    pub enabled: bool,
    /// A pod that runs out of memory within this time after its start is evicted for new requests. Default: 10m.
    #[serde(rename = "evictAfterOOMThreshold", skip_serializing_if = "Option::is_none")]
    pub evict_after_oom_threshold: Option<Duration>,
    /// Most pods that are evicted at once, beyond the rate. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_rate_burst: Option<i32>,
    /// Most pods that are evicted per second; 0 or less: no limit. Default: -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_rate_limit: Option<f64>,
    /// Share of a pod's replicas that may be evicted. Default: 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_tolerance: Option<f64>,
    /// Share that is added to the recommended requests. Default: 0.15.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation_margin_fraction: Option<f64>,
    /// How often pods with outdated requests are looked for. Default: 1m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updater_interval: Option<Duration>,
    /// How often recommendations are made. Default: 1m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommender_interval: Option<Duration>,
    /// Percentile of the CPU use that becomes the target. Default: 0.9.
    #[serde(rename = "targetCPUPercentile", skip_serializing_if = "Option::is_none")]
    pub target_cpu_percentile: Option<f64>,
    /// Percentile of the CPU use that becomes the lower bound. Default: 0.5.
    #[serde(rename = "recommendationLowerBoundCPUPercentile", skip_serializing_if = "Option::is_none")]
    pub recommendation_lower_bound_cpu_percentile: Option<f64>,
    /// Percentile of the CPU use that becomes the upper bound. Default: 0.95.
    #[serde(rename = "recommendationUpperBoundCPUPercentile", skip_serializing_if = "Option::is_none")]
    pub recommendation_upper_bound_cpu_percentile: Option<f64>,
    /// Percentile of the memory use that becomes the target. Default: 0.9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_memory_percentile: Option<f64>,
    /// Percentile of the memory use that becomes the lower bound. Default: 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation_lower_bound_memory_percentile: Option<f64>,
    /// Percentile of the memory use that becomes the upper bound. Default: 0.95.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation_upper_bound_memory_percentile: Option<f64>,
    /// Time after which a sample of CPU use counts half. Default: 24h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_histogram_decay_half_life: Option<Duration>,
    /// Time after which a sample of memory use counts half. Default: 24h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_histogram_decay_half_life: Option<Duration>,
    /// Length of the intervals of which the highest memory use is taken. Default: 24h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_aggregation_interval: Option<Duration>,
    /// How many of these intervals are looked at. Default: 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_aggregation_interval_count: Option<i64>,
}

/// Sizes of the API server's watch caches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WatchCacheSizes {
    /// Size for every resource that is not listed. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub default: Option<i32>,
    /// Sizes for single resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceWatchCacheSize>,
}
