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
    /// How much the API server logs.
    pub verbosity: Option<i32>,
    /// How much the API server logs of requests.
    pub http_access_verbosity: Option<i32>,
}

/// How many requests the API server takes at once.
#[api_type]
pub struct APIServerRequests {
    /// Most requests at once that only read.
    pub max_non_mutating_inflight: Option<i32>,
    /// Most requests at once that change something.
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
    /// Whether the plugin is switched off.
    pub disabled: Option<bool>,
    /// Secret with the kubeconfig that the plugin uses to call webhooks.
    pub kubeconfig_secret_name: Option<String>,
}

/// What is audited.
#[api_type]
pub struct AuditConfig {
    /// Which requests are written to the audit log.
    pub audit_policy: Option<AuditPolicy>,
}

/// Where the audit policy is.
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
    /// How long no node is removed after one was added. Default: 1h.
    pub scale_down_delay_after_add: Option<Duration>,
    /// How long no node is removed after one was removed. Default: 0s.
    pub scale_down_delay_after_delete: Option<Duration>,
    /// How long no node is removed after a removal failed. Default: 3m.
    pub scale_down_delay_after_failure: Option<Duration>,
    /// How long a node must be unneeded before it is removed. Default: 30m.
    pub scale_down_unneeded_time: Option<Duration>,
    /// Share of a node's resources in use below which it may be removed. Default: 0.5.
    pub scale_down_utilization_threshold: Option<f64>,
    /// How often it is looked whether nodes are missing or unneeded. Default: 10s.
    pub scan_interval: Option<Duration>,
    /// Which pool grows when several could: least-waste, random, most-pods, least-nodes or priority. Default: least-
    /// waste.
    pub expander: Option<String>,
    /// How long a new node may take. Default: 20m.
    pub max_node_provision_time: Option<Duration>,
    /// Seconds that pods may take to go away when their node is removed. Default: 600.
    pub max_graceful_termination_seconds: Option<i32>,
    /// Taints that do not count when a node's template is made.
    #[schema(deprecated)]
    pub ignore_taints: Vec<String>,
    /// How old a pod must be before a node is added for it. Default: 0s.
    pub new_pod_scale_up_delay: Option<Duration>,
    /// How many empty nodes may be removed at once. Default: 10.
    #[schema(deprecated)]
    pub max_empty_bulk_delete: Option<i32>,
    /// Whether pods of DaemonSets do not count as use of a node. Default: false.
    pub ignore_daemonsets_utilization: Option<bool>,
    /// How much the autoscaler logs. Default: 2.
    pub verbosity: Option<i32>,
    /// Taints that a node only has while it starts.
    pub startup_taints: Vec<String>,
    /// Taints that tell of a node's state and do not count when a node's template is made.
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
    /// Least requests for `cpu` and `memory`. Served; not emulated.
    #[schema(required)]
    pub min_allowed: BTreeMap<String, Quantity>,
}

/// Settings of etcd.
#[api_type]
pub struct ETCD {
    /// The etcd with everything but Events.
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
    /// How long after its start the CPU use of a pod may be left out.
    pub cpu_initialization_period: Option<Duration>,
    /// How long the controller looks back before it scales down.
    pub downscale_stabilization: Option<Duration>,
    /// How long after its start a pod's changes of readiness count as its first start.
    pub initial_readiness_delay: Option<Duration>,
    /// How often the number of pods is looked at.
    pub sync_period: Option<Duration>,
    /// Least relative deviation that leads to scaling.
    pub tolerance: Option<f64>,
}

/// Settings of the API server.
#[api_type]
pub struct KubeAPIServerConfig {
    /// Feature gates to switch on or off.
    pub feature_gates: BTreeMap<String, bool>,
    /// Admission plugins to be set up or switched off.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub admission_plugins: Vec<AdmissionPlugin>,
    /// Audiences that tokens may be for.
    pub api_audiences: Vec<String>,
    /// What is audited.
    pub audit_config: Option<AuditConfig>,
    /// API versions and resources to switch on or off, `apps/v1: true`.
    pub runtime_config: BTreeMap<String, bool>,
    /// How tokens of service accounts are issued.
    pub service_account_config: Option<ServiceAccountConfig>,
    /// Sizes of the watch caches.
    pub watch_cache_sizes: Option<WatchCacheSizes>,
    /// How many requests are taken at once.
    pub requests: Option<APIServerRequests>,
    /// Whether requests without credentials are let through to authorization.
    #[schema(deprecated)]
    pub enable_anonymous_authentication: Option<bool>,
    /// How long Events are kept. Default: 1h; at most 7 days.
    #[schema(rename = "eventTTL")]
    pub event_ttl: Option<Duration>,
    /// How much is logged.
    pub logging: Option<APIServerLogging>,
    /// Seconds for which pods without a toleration of their own stay on nodes that are not ready. Default: 300.
    pub default_not_ready_toleration_seconds: Option<i64>,
    /// Seconds for which pods without a toleration of their own stay on nodes that cannot be reached. Default: 300.
    pub default_unreachable_toleration_seconds: Option<i64>,
    /// What is encrypted in etcd beside Secrets.
    pub encryption_config: Option<EncryptionConfig>,
    /// Where the configuration of authentication is.
    pub structured_authentication: Option<StructuredAuthentication>,
    /// Where the configuration of authorization is.
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
    /// Feature gates to switch on or off.
    pub feature_gates: BTreeMap<String, bool>,
    /// Settings of the controller of HorizontalPodAutoscalers.
    pub horizontal_pod_autoscaler: Option<HorizontalPodAutoscalerConfig>,
    /// Length of the prefix of each node's network for pods. Default: by the number of pods per node. Cannot be
    /// changed.
    #[schema(rename = "nodeCIDRMaskSize")]
    pub node_cidr_mask_size: Option<i32>,
    /// How long pods stay on a failed node.
    #[schema(deprecated)]
    pub pod_eviction_timeout: Option<Duration>,
    /// How long a node may be silent before it counts as not ready. Default: 40s.
    pub node_monitor_grace_period: Option<Duration>,
    /// Length of the prefix of each node's IPv6 network for pods. Default: 64 for dual stack. Cannot be changed.
    #[schema(rename = "nodeCIDRMaskSizeIPv6")]
    pub node_cidr_mask_size_ipv6: Option<i32>,
}

/// Settings of the proxies on nodes.
#[api_type]
pub struct KubeProxyConfig {
    /// Feature gates to switch on or off.
    pub feature_gates: BTreeMap<String, bool>,
    /// How services are implemented: IPTables, IPVS or NFTables. Default: IPTables.
    pub mode: Option<String>,
    /// Whether kube-proxy runs; network plugins can replace it. Default: true.
    pub enabled: Option<bool>,
}

/// Settings of the scheduler.
#[api_type]
pub struct KubeSchedulerConfig {
    /// Feature gates to switch on or off.
    pub feature_gates: BTreeMap<String, bool>,
    /// Most volumes per node.
    #[schema(rename = "kubeMaxPDVols", deprecated)]
    pub kube_max_pd_vols: Option<String>,
    /// How pods are spread: `balanced`, or `bin-packing` onto few nodes. Default: balanced.
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
    /// Version of Kubernetes, one of the CloudProfile's. May leave out the patch or minor version, which then becomes
    /// the highest. Can be raised by one minor version at a time.
    pub version: String,
    /// Settings of the vertical pod autoscaler. Served; not emulated.
    pub vertical_pod_autoscaler: Option<VerticalPodAutoscaler>,
    /// Settings of etcd.
    pub etcd: Option<ETCD>,
    /// Whether there is a kubeconfig with a static token. No longer possible.
    #[schema(deprecated)]
    pub enable_static_token_kubeconfig: Option<bool>,
}

/// What every component of Kubernetes can be told.
#[api_type]
pub struct KubernetesConfig {
    /// Feature gates to switch on or off.
    pub feature_gates: BTreeMap<String, bool>,
}

/// An OpenID Connect provider whose tokens the API server accepts.
#[api_type]
pub struct OIDCConfig {
    /// Certificates by which the provider's server is trusted, in PEM.
    pub ca_bundle: Option<String>,
    /// How a client identifies itself to the provider.
    #[schema(deprecated)]
    pub client_authentication: Option<OpenIDConnectClientAuthentication>,
    /// Client that the tokens must be for.
    #[schema(rename = "clientID")]
    pub client_id: Option<String>,
    /// Claim with the groups of the user.
    pub groups_claim: Option<String>,
    /// Put before each group.
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
    /// Put before the name of the user.
    pub username_prefix: Option<String>,
}

/// How a client identifies itself to an OpenID Connect provider.
#[api_type]
pub struct OpenIDConnectClientAuthentication {
    /// More settings for the client.
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
    /// How many changes are kept.
    #[schema(required)]
    pub size: i32,
}

/// How tokens of service accounts are issued.
#[api_type]
pub struct ServiceAccountConfig {
    /// Who issues the tokens, as an address. Default: the cluster's API server.
    pub issuer: Option<String>,
    /// Whether tokens in pods live longer than asked for, for clients that do not read them again. Default: true.
    pub extend_token_expiration: Option<bool>,
    /// How long a token may live at most; between 30 and 90 days.
    pub max_token_expiration: Option<Duration>,
    /// Further issuers whose tokens are accepted.
    pub accepted_issuers: Vec<String>,
}

/// Where the configuration of authentication is.
#[api_type]
pub struct StructuredAuthentication {
    /// ConfigMap in the Shoot's namespace with the configuration under the key `config.yaml`.
    #[schema(required)]
    pub config_map_name: String,
}

/// Where the configuration of authorization is.
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
    /// A pod that runs out of memory within this time after its start is evicted for new requests. Default: 10m. Served; not
    /// emulated.
    #[schema(rename = "evictAfterOOMThreshold")]
    pub evict_after_oom_threshold: Option<Duration>,
    /// Most pods that are evicted at once, beyond the rate. Default: 1. Served; not emulated.
    pub eviction_rate_burst: Option<i32>,
    /// Most pods that are evicted per second; 0 or less: no limit. Default: -1. Served; not emulated.
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
    /// Time after which a sample of CPU use counts half. Default: 24h. Served; not emulated.
    pub cpu_histogram_decay_half_life: Option<Duration>,
    /// Time after which a sample of memory use counts half. Default: 24h. Served; not emulated.
    pub memory_histogram_decay_half_life: Option<Duration>,
    /// Length of the intervals of which the highest memory use is taken. Default: 24h. Served; not emulated.
    pub memory_aggregation_interval: Option<Duration>,
    /// Number of these intervals that count. Default: 8. Served; not emulated.
    pub memory_aggregation_interval_count: Option<i64>,
    /// Feature gates to switch on or off. Served; not emulated.
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
