// SPDX-License-Identifier: Apache-2.0
//! Settings of the Kubernetes components of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;

/// Logs of the API server.
#[api_type]
pub struct APIServerLogging {
    /// Verbosity of the API server's log.
    pub verbosity: Option<i32>,
    /// Verbosity of the log of HTTP requests.
    pub http_access_verbosity: Option<i32>,
}

/// Limits of parallel requests to the API server.
#[api_type]
pub struct APIServerRequests {
    /// Maximum number of parallel reading requests.
    pub max_non_mutating_inflight: Option<i32>,
    /// Maximum number of parallel writing requests.
    pub max_mutating_inflight: Option<i32>,
}

/// An admission plugin of the API server.
#[api_type]
pub struct AdmissionPlugin {
    /// Name of the plugin.
    #[schema(required)]
    pub name: String,
    /// Settings of the plugin, in its own format.
    pub config: Option<RawExtension>,
    /// Disables the plugin.
    pub disabled: Option<bool>,
    /// Secret with the kubeconfig that the plugin uses to call webhooks.
    pub kubeconfig_secret_name: Option<String>,
}

/// Settings of the audit log.
#[api_type]
pub struct AuditConfig {
    /// Policy that selects the requests of the audit log.
    pub audit_policy: Option<AuditPolicy>,
}

/// Reference to the audit policy.
#[api_type]
pub struct AuditPolicy {
    /// ConfigMap in the Shoot's namespace with the policy under the key `policy`.
    pub config_map_ref: Option<crate::kubernetes::core::ObjectReference>,
}

/// Kubeconfig of a webhook that authorizes requests.
#[api_type]
pub struct AuthorizerKubeconfigReference {
    /// Name of the authorizer in the configuration.
    #[schema(required)]
    pub authorizer_name: String,
    /// Secret with the kubeconfig, in the Shoot's namespace.
    #[schema(required)]
    pub secret_name: String,
}

/// Settings of the autoscaler that adds and removes nodes.
#[api_type]
pub struct ClusterAutoscaler {
    /// Duration after the addition of a node in which no node is removed. Default: 1h.
    pub scale_down_delay_after_add: Option<Duration>,
    /// Duration after the removal of a node in which no further node is removed. Default: 0s.
    pub scale_down_delay_after_delete: Option<Duration>,
    /// Duration after a failed removal in which no node is removed. Default: 3m.
    pub scale_down_delay_after_failure: Option<Duration>,
    /// Duration for which a node must be unneeded before it is removed. Default: 30m.
    pub scale_down_unneeded_time: Option<Duration>,
    /// Utilization of a node's resources below which it may be removed. Default: 0.5.
    pub scale_down_utilization_threshold: Option<f64>,
    /// Interval of checks for missing and unneeded nodes. Default: 10s.
    pub scan_interval: Option<Duration>,
    /// Strategy of choosing among several pools that could grow: least-waste, random, most-pods, least-nodes or priority.
    /// Default: least-waste.
    pub expander: Option<String>,
    /// Maximum duration of the creation of a node. Default: 20m.
    pub max_node_provision_time: Option<Duration>,
    /// Maximum grace period in seconds of pods whose node is removed. Default: 600.
    pub max_graceful_termination_seconds: Option<i32>,
    /// Taints that are ignored when a node's template is built.
    #[schema(deprecated)]
    pub ignore_taints: Vec<String>,
    /// Minimum age of a pod before a node is added for it. Default: 0s.
    pub new_pod_scale_up_delay: Option<Duration>,
    /// Maximum number of empty nodes that are removed at once. Default: 10.
    #[schema(deprecated)]
    pub max_empty_bulk_delete: Option<i32>,
    /// True if pods of DaemonSets do not count in a node's utilization. Default: false.
    pub ignore_daemonsets_utilization: Option<bool>,
    /// Verbosity of the autoscaler's log. Default: 2.
    pub verbosity: Option<i32>,
    /// Taints that a node has only during its start.
    pub startup_taints: Vec<String>,
    /// Taints that represent a node's state and are ignored when a node's template is built.
    pub status_taints: Vec<String>,
    /// Maximum number of nodes, empty or not, that are removed in parallel. Default: maxEmptyBulkDelete, else 10.
    pub max_scale_down_parallelism: Option<i32>,
    /// Maximum number of nodes that are drained and removed in parallel. Default: 1.
    pub max_drain_parallelism: Option<i32>,
    /// Duration of the first back-off after a new node failed to start. Default: 5m.
    pub initial_node_group_backoff_duration: Option<Duration>,
    /// Maximum duration of the back-off after new nodes failed to start. Default: 30m.
    pub max_node_group_backoff_duration: Option<Duration>,
    /// Time after the last failed scale-up until the duration of the back-off is reset. Default: 3h.
    pub node_group_backoff_reset_timeout: Option<Duration>,
    /// Enables metrics of each node group. Default: false.
    pub emit_per_node_group_metrics: Option<bool>,
    /// Maximum duration of bin packing for one scale-up. Default: 5m.
    pub max_binpacking_time: Option<Duration>,
    /// Vertical scaling of cluster-autoscaler itself. Served; not emulated.
    pub autoscaling: Option<ControlPlaneAutoscaling>,
}

/// Scaling of a component of the control plane. Served; not emulated.
#[api_type]
pub struct ControlPlaneAutoscaling {
    /// Minimum requests for `cpu` and `memory`. Served; not emulated.
    #[schema(required)]
    pub min_allowed: BTreeMap<String, Quantity>,
}

/// Settings of etcd.
#[api_type]
pub struct ETCD {
    /// The etcd with all objects except Events.
    pub main: Option<ETCDConfig>,
    /// The etcd with Events.
    pub events: Option<ETCDConfig>,
}

/// Settings of one etcd.
#[api_type]
pub struct ETCDConfig {
    /// Vertical scaling of the component. Served; not emulated.
    pub autoscaling: Option<ControlPlaneAutoscaling>,
}

/// Encryption of resources in etcd.
#[api_type]
pub struct EncryptionConfig {
    /// Resources to encrypt, `configmaps` or `deployments.apps`.
    pub resources: Vec<String>,
    /// Provider of the encryption.
    #[schema(required)]
    pub provider: EncryptionProvider,
}

/// Provider of the encryption in etcd.
#[api_type]
pub struct EncryptionProvider {
    /// Type of the provider: aescbc, aesgcm or secretbox. Default: aescbc.
    pub r#type: Option<String>,
}

/// Settings of the controller of HorizontalPodAutoscalers.
#[api_type]
pub struct HorizontalPodAutoscalerConfig {
    /// Duration after a pod's start in which its CPU usage may be ignored.
    pub cpu_initialization_period: Option<Duration>,
    /// Duration of past recommendations that are considered before scaling down.
    pub downscale_stabilization: Option<Duration>,
    /// Duration after a pod's start in which changes of its readiness count as initial readiness.
    pub initial_readiness_delay: Option<Duration>,
    /// Interval of checks of the number of pods.
    pub sync_period: Option<Duration>,
    /// Minimum relative deviation that leads to scaling.
    pub tolerance: Option<f64>,
}

/// Settings of the API server.
#[api_type]
pub struct KubeAPIServerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Admission plugins to configure or disable.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub admission_plugins: Vec<AdmissionPlugin>,
    /// Audiences that tokens may be for.
    pub api_audiences: Vec<String>,
    /// Settings of the audit log.
    pub audit_config: Option<AuditConfig>,
    /// API versions and resources to enable or disable, `apps/v1: true`.
    pub runtime_config: BTreeMap<String, bool>,
    /// Issuing of tokens of service accounts.
    pub service_account_config: Option<ServiceAccountConfig>,
    /// Sizes of the watch caches.
    pub watch_cache_sizes: Option<WatchCacheSizes>,
    /// Limits of parallel requests.
    pub requests: Option<APIServerRequests>,
    /// True if requests without credentials are passed on to authorization.
    #[schema(deprecated)]
    pub enable_anonymous_authentication: Option<bool>,
    /// Retention time of Events. Default: 1h; at most 7 days.
    #[schema(rename = "eventTTL")]
    pub event_ttl: Option<Duration>,
    /// Verbosity of logs.
    pub logging: Option<APIServerLogging>,
    /// Seconds for which pods without a toleration of their own stay on nodes that are not ready. Default: 300.
    pub default_not_ready_toleration_seconds: Option<i64>,
    /// Seconds for which pods without a toleration of their own stay on unreachable nodes. Default: 300.
    pub default_unreachable_toleration_seconds: Option<i64>,
    /// Resources that are encrypted in etcd, in addition to Secrets.
    pub encryption_config: Option<EncryptionConfig>,
    /// Reference to the configuration of authentication.
    pub structured_authentication: Option<StructuredAuthentication>,
    /// Reference to the configuration of authorization.
    pub structured_authorization: Option<StructuredAuthorization>,
    /// Vertical scaling of the component. Served; not emulated.
    pub autoscaling: Option<ControlPlaneAutoscaling>,
    /// Minimum version of TLS that the API server accepts: VersionTLS12 or VersionTLS13.
    pub tls_min_version: Option<String>,
    /// An OpenID Connect provider whose tokens are accepted.
    #[schema(deprecated)]
    pub oidc_config: Option<OIDCConfig>,
}

/// Settings of the controller manager.
#[api_type]
pub struct KubeControllerManagerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Settings of the controller of HorizontalPodAutoscalers.
    pub horizontal_pod_autoscaler: Option<HorizontalPodAutoscalerConfig>,
    /// Length of the prefix of each node's network for pods. Default: by the number of pods per node. Cannot be
    /// changed.
    #[schema(rename = "nodeCIDRMaskSize")]
    pub node_cidr_mask_size: Option<i32>,
    /// Duration for which pods stay on a failed node.
    #[schema(deprecated)]
    pub pod_eviction_timeout: Option<Duration>,
    /// Duration without heartbeats after which a node counts as not ready. Default: 40s.
    pub node_monitor_grace_period: Option<Duration>,
    /// Length of the prefix of each node's IPv6 network for pods. Default: 64 for dual stack. Cannot be changed.
    #[schema(rename = "nodeCIDRMaskSizeIPv6")]
    pub node_cidr_mask_size_ipv6: Option<i32>,
}

/// Settings of the proxies on nodes.
#[api_type]
pub struct KubeProxyConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Implementation of services: IPTables, IPVS or NFTables. Default: IPTables.
    pub mode: Option<String>,
    /// Enables kube-proxy; network plugins can replace it. Default: true.
    pub enabled: Option<bool>,
}

/// Settings of the scheduler.
#[api_type]
pub struct KubeSchedulerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Maximum number of volumes per node.
    #[schema(rename = "kubeMaxPDVols", deprecated)]
    pub kube_max_pd_vols: Option<String>,
    /// Distribution of pods: `balanced`, or `bin-packing` onto few nodes. Default: balanced.
    pub profile: Option<String>,
}

/// Versions and settings of the Kubernetes components.
#[api_type]
pub struct Kubernetes {
    /// Settings of the autoscaler that adds and removes nodes.
    pub cluster_autoscaler: Option<ClusterAutoscaler>,
    /// Settings of the API server.
    #[schema(rename = "kubeAPIServer")]
    pub kube_api_server: Option<KubeAPIServerConfig>,
    /// Settings of the controller manager.
    pub kube_controller_manager: Option<KubeControllerManagerConfig>,
    /// Settings of the scheduler.
    pub kube_scheduler: Option<KubeSchedulerConfig>,
    /// Settings of kube-proxy.
    pub kube_proxy: Option<KubeProxyConfig>,
    /// Settings of the kubelet; pools may have their own.
    pub kubelet: Option<KubeletConfig>,
    /// Version of Kubernetes, one of the CloudProfile's. May omit the patch or minor version, which is then set to the highest.
    /// Can be raised by one minor version at a time.
    pub version: String,
    /// Settings of the vertical pod autoscaler. Served; not emulated.
    pub vertical_pod_autoscaler: Option<VerticalPodAutoscaler>,
    /// Settings of etcd.
    pub etcd: Option<ETCD>,
    /// Enables a kubeconfig with a static token. No longer possible.
    #[schema(deprecated)]
    pub enable_static_token_kubeconfig: Option<bool>,
}

/// Settings that all components of Kubernetes have.
#[api_type]
pub struct KubernetesConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
}

/// An OpenID Connect provider whose tokens the API server accepts.
#[api_type]
pub struct OIDCConfig {
    /// CA certificates that the provider's server certificate is verified with, in PEM.
    pub ca_bundle: Option<String>,
    /// Credentials of clients at the provider.
    #[schema(deprecated)]
    pub client_authentication: Option<OpenIDConnectClientAuthentication>,
    /// Client ID that the tokens must be issued for.
    #[schema(rename = "clientID")]
    pub client_id: Option<String>,
    /// Claim with the groups of the user.
    pub groups_claim: Option<String>,
    /// Prefix of each group.
    pub groups_prefix: Option<String>,
    /// Address of the provider; must be HTTPS.
    #[schema(rename = "issuerURL")]
    pub issuer_url: Option<String>,
    /// Claims that a token must have, with their values.
    pub required_claims: TextMap,
    /// Algorithms with which tokens may be signed. Default: RS256.
    pub signing_algs: Vec<String>,
    /// Claim with the name of the user. Default: sub.
    pub username_claim: Option<String>,
    /// Prefix of the user name.
    pub username_prefix: Option<String>,
}

/// Credentials of clients at an OpenID Connect provider.
#[api_type]
pub struct OpenIDConnectClientAuthentication {
    /// Additional settings of the client.
    pub extra_config: TextMap,
    /// The client's secret.
    pub secret: Option<String>,
}

/// Size of the watch cache of one resource.
#[api_type]
pub struct ResourceWatchCacheSize {
    /// Group of the resource; empty for the core group.
    pub api_group: Option<String>,
    /// Name of the resource, in the plural.
    #[schema(required)]
    pub resource: String,
    /// Number of changes that are cached.
    #[schema(required)]
    pub size: i32,
}

/// Issuing of tokens of service accounts.
#[api_type]
pub struct ServiceAccountConfig {
    /// Issuer of the tokens, as an address. Default: the cluster's API server.
    pub issuer: Option<String>,
    /// True if tokens in pods live longer than requested, for clients that do not reload them. Default: true.
    pub extend_token_expiration: Option<bool>,
    /// Maximum lifetime of a token; between 30 and 90 days.
    pub max_token_expiration: Option<Duration>,
    /// Additional issuers whose tokens are accepted.
    pub accepted_issuers: Vec<String>,
}

/// Reference to the configuration of authentication.
#[api_type]
pub struct StructuredAuthentication {
    /// ConfigMap in the Shoot's namespace with the configuration under the key `config.yaml`.
    #[schema(required)]
    pub config_map_name: String,
}

/// Reference to the configuration of authorization.
#[api_type]
pub struct StructuredAuthorization {
    /// ConfigMap in the Shoot's namespace with the configuration under the key `config.yaml`.
    #[schema(required)]
    pub config_map_name: String,
    /// Kubeconfigs of the webhooks in the configuration.
    #[schema(required)]
    pub kubeconfigs: Vec<AuthorizerKubeconfigReference>,
}

/// Settings of the vertical pod autoscaler. Served; not emulated.
#[api_type]
pub struct VerticalPodAutoscaler {
    /// Enables the vertical pod autoscaler. Default: false. Served; not emulated.
    #[schema(required)]
    pub enabled: bool,
    /// A pod that runs out of memory within this duration after its start is evicted to apply new requests. Default: 10m.
    /// Served; not emulated.
    #[schema(rename = "evictAfterOOMThreshold")]
    pub evict_after_oom_threshold: Option<Duration>,
    /// Maximum burst of evictions, beyond the rate. Default: 1. Served; not emulated.
    pub eviction_rate_burst: Option<i32>,
    /// Maximum number of evicted pods per second; 0 or less: no limit. Default: -1. Served; not emulated.
    pub eviction_rate_limit: Option<f64>,
    /// Share of a pod's replicas that may be evicted. Default: 0.5. Served; not emulated.
    pub eviction_tolerance: Option<f64>,
    /// Share that is added to the recommended requests. Default: 0.15. Served; not emulated.
    pub recommendation_margin_fraction: Option<f64>,
    /// Interval at which pods with outdated requests are searched. Default: 1m. Served; not emulated.
    pub updater_interval: Option<Duration>,
    /// Interval of the recommendations. Default: 1m. Served; not emulated.
    pub recommender_interval: Option<Duration>,
    /// Percentile of the CPU use that becomes the target. Default: 0.9. Served; not emulated.
    #[schema(rename = "targetCPUPercentile")]
    pub target_cpu_percentile: Option<f64>,
    /// Percentile of the CPU use that becomes the lower bound. Default: 0.5. Served; not emulated.
    #[schema(rename = "recommendationLowerBoundCPUPercentile")]
    pub recommendation_lower_bound_cpu_percentile: Option<f64>,
    /// Percentile of the CPU use that becomes the upper bound. Default: 0.95. Served; not emulated.
    #[schema(rename = "recommendationUpperBoundCPUPercentile")]
    pub recommendation_upper_bound_cpu_percentile: Option<f64>,
    /// Percentile of the memory use that becomes the target. Default: 0.9. Served; not emulated.
    pub target_memory_percentile: Option<f64>,
    /// Percentile of the memory use that becomes the lower bound. Default: 0.5. Served; not emulated.
    pub recommendation_lower_bound_memory_percentile: Option<f64>,
    /// Percentile of the memory use that becomes the upper bound. Default: 0.95. Served; not emulated.
    pub recommendation_upper_bound_memory_percentile: Option<f64>,
    /// Half-life of samples of CPU usage. Default: 24h. Served; not emulated.
    pub cpu_histogram_decay_half_life: Option<Duration>,
    /// Half-life of samples of memory usage. Default: 24h. Served; not emulated.
    pub memory_histogram_decay_half_life: Option<Duration>,
    /// Length of the intervals whose peak memory usage is recorded. Default: 24h. Served; not emulated.
    pub memory_aggregation_interval: Option<Duration>,
    /// Number of recorded intervals. Default: 8. Served; not emulated.
    pub memory_aggregation_interval_count: Option<i64>,
    /// Feature gates to enable or disable. Served; not emulated.
    pub feature_gates: BTreeMap<String, bool>,
    /// Maximum of the requests that are recommended for a container. Default: none. Served; not emulated.
    pub max_allowed: BTreeMap<String, Quantity>,
    /// Number of workers of the recommender that update objects in parallel. Default: 10. Served; not emulated.
    pub recommender_update_worker_count: Option<i64>,
}

/// Sizes of the API server's watch caches.
#[api_type]
pub struct WatchCacheSizes {
    /// Size for every resource that is not listed. Default: 100.
    #[schema(deprecated)]
    pub default: Option<i32>,
    /// Sizes for single resources.
    pub resources: Vec<ResourceWatchCacheSize>,
}
