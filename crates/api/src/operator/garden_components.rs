// SPDX-License-Identifier: Apache-2.0
//! Settings of the components of a Garden's virtual cluster.
//!
//! Source: pkg/apis/operator/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

/// Receiver of the audit log.
#[api_type]
pub struct AuditWebhook {
    /// Maximum number of entries per request.
    pub batch_max_size: Option<i32>,
    /// Secret with the kubeconfig of the receiver.
    #[schema(required)]
    pub kubeconfig_secret_name: String,
    /// API version of the entries.
    pub version: Option<String>,
}

/// Additional methods of authentication.
#[api_type]
pub struct Authentication {
    /// Webhook that reviews tokens.
    pub webhook: Option<AuthenticationWebhook>,
}

/// Webhook that reviews tokens.
#[api_type]
pub struct AuthenticationWebhook {
    /// Duration for which the webhook's responses are cached.
    #[schema(rename = "cacheTTL")]
    pub cache_ttl: Option<Duration>,
    /// Secret with the kubeconfig of the webhook.
    #[schema(required)]
    pub kubeconfig_secret_name: String,
    /// API version of the reviews.
    pub version: Option<String>,
}

/// Tickets on GitHub.
#[api_type]
pub struct DashboardGitHub {
    /// Address of the API.
    #[schema(rename = "apiURL", required)]
    pub api_url: String,
    /// Organisation of the repository.
    #[schema(required)]
    pub organisation: String,
    /// Repository with the tickets.
    #[schema(required)]
    pub repository: String,
    /// Secret with the credentials.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
    /// Interval at which tickets are fetched.
    pub poll_interval: Option<Duration>,
}

/// Ingress of the dashboard.
#[api_type]
pub struct DashboardIngress {
    /// True if an Ingress is created. Default: true.
    #[schema(deprecated)]
    pub enabled: Option<bool>,
}

/// Login to the dashboard by OpenID Connect.
#[api_type]
pub struct DashboardOIDC {
    /// Client that command line tools use.
    #[schema(rename = "clientIDPublic")]
    pub client_id_public: Option<String>,
    /// Address of the provider.
    #[schema(rename = "issuerURL")]
    pub issuer_url: Option<String>,
    /// Duration of a user's session.
    pub session_lifetime: Option<Duration>,
    /// Additional scopes to request.
    pub additional_scopes: Vec<String>,
    /// Secret with the client's secret.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
    /// Secret with the CA certificates that the provider's certificate is verified with.
    pub certificate_authority_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

/// Terminals in the dashboard.
#[api_type]
pub struct DashboardTerminal {
    /// Container of a terminal.
    #[schema(required)]
    pub container: DashboardTerminalContainer,
    /// Hosts to which terminals may connect.
    pub allowed_hosts: Vec<String>,
}

/// Container of a terminal.
#[api_type]
pub struct DashboardTerminalContainer {
    /// Image of the container.
    #[schema(required)]
    pub image: String,
    /// Description of the image's purpose.
    pub description: Option<String>,
}

/// Settings of Gardener's components.
#[api_type]
pub struct Gardener {
    /// Identity of the landscape. Cannot be changed.
    #[schema(required)]
    pub cluster_identity: String,
    /// Settings of gardener-apiserver.
    #[schema(rename = "gardenerAPIServer")]
    pub gardener_api_server: Option<GardenerAPIServerConfig>,
    /// Settings of gardener-admission-controller.
    pub gardener_admission_controller: Option<GardenerAdmissionControllerConfig>,
    /// Settings of gardener-controller-manager.
    pub gardener_controller_manager: Option<GardenerControllerManagerConfig>,
    /// Settings of gardener-scheduler.
    pub gardener_scheduler: Option<GardenerSchedulerConfig>,
    /// Settings of the dashboard.
    pub gardener_dashboard: Option<GardenerDashboardConfig>,
    /// Settings of gardener-discovery-server.
    pub gardener_discovery_server: Option<GardenerDiscoveryServerConfig>,
    /// Settings of gardener-resource-manager.
    pub gardener_resource_manager: Option<GardenerResourceManagerConfig>,
}

/// Settings of gardener-apiserver.
#[api_type]
pub struct GardenerAPIServerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Admission plugins to configure or disable.
    pub admission_plugins: Vec<crate::core::AdmissionPlugin>,
    /// Settings of the audit log.
    pub audit_config: Option<crate::core::AuditConfig>,
    /// Receiver of the audit log.
    pub audit_webhook: Option<AuditWebhook>,
    /// Verbosity of logs.
    pub logging: Option<crate::core::APIServerLogging>,
    /// Limits of parallel requests.
    pub requests: Option<crate::core::APIServerRequests>,
    /// Sizes of the watch caches.
    pub watch_cache_sizes: Option<crate::core::WatchCacheSizes>,
    /// Resources that are encrypted in etcd.
    pub encryption_config: Option<crate::core::EncryptionConfig>,
    /// Share of requests after which the connection is closed, to spread load.
    pub go_away_chance: Option<f64>,
    /// Maximum lifetime of a kubeconfig from `shoots/adminkubeconfig`.
    pub shoot_admin_kubeconfig_max_expiration: Option<Duration>,
}

/// Settings of gardener-admission-controller.
#[api_type]
pub struct GardenerAdmissionControllerConfig {
    /// debug, info or error.
    pub log_level: Option<String>,
    /// Limits on the size and number of objects.
    pub resource_admission_configuration: Option<ResourceAdmissionConfiguration>,
}

/// Settings of gardener-controller-manager.
#[api_type]
pub struct GardenerControllerManagerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// ResourceQuotas that namespaces of projects get.
    pub default_project_quotas: Vec<ProjectQuotaConfiguration>,
    /// debug, info or error.
    pub log_level: Option<String>,
}

/// Settings of the dashboard.
#[api_type]
pub struct GardenerDashboardConfig {
    /// True if users can log in with a token. Default: true.
    pub enable_token_login: Option<bool>,
    /// ConfigMap with settings of the user interface.
    pub frontend_config_map_ref: Option<crate::kubernetes::core::LocalObjectReference>,
    /// ConfigMap with logos and other assets.
    pub assets_config_map_ref: Option<crate::kubernetes::core::LocalObjectReference>,
    /// Tickets on GitHub.
    pub git_hub: Option<DashboardGitHub>,
    /// debug, info or error.
    pub log_level: Option<String>,
    /// Login by OpenID Connect.
    pub oidc_config: Option<DashboardOIDC>,
    /// Terminals in the dashboard; none if absent.
    pub terminal: Option<DashboardTerminal>,
    /// Domain of the dashboard and its DNS provider. Default: `dashboard.` and each domain of the runtime cluster's ingress.
    pub domain: Option<super::DNSDomain>,
    /// Secret with the certificate of the domain.
    pub tls_secret_name: Option<String>,
    /// Ingress of the dashboard.
    #[schema(deprecated)]
    pub ingress: Option<DashboardIngress>,
    /// Adds the CA of the API server's SNI certificate to kubeconfigs of the dashboard. Default: false.
    #[schema(rename = "propagateCAFromSNI")]
    pub propagate_ca_from_sni: Option<bool>,
}

/// Settings of gardener-discovery-server.
#[api_type]
pub struct GardenerDiscoveryServerConfig {
    /// Domain of gardener-discovery-server and its DNS provider; cannot be changed. Default: `discovery.` and the first domain
    /// of the runtime cluster's ingress.
    pub domain: Option<super::DNSDomain>,
    /// Secret with the certificate of the domain.
    pub tls_secret_name: Option<String>,
}

/// Settings of gardener-resource-manager.
#[api_type]
pub struct GardenerResourceManagerConfig {
    /// Additional namespaces that gardener-resource-manager manages.
    pub additional_target_namespaces: Vec<String>,
}

/// Settings of gardener-scheduler.
#[api_type]
pub struct GardenerSchedulerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Strategy of choosing a Seed for a Shoot that specifies none: SameRegion or MinimalDistance. Default: SameRegion.
    pub strategy: Option<String>,
    /// debug, info or error.
    pub log_level: Option<String>,
}

/// Group and name of a resource.
#[api_type]
pub struct GroupResource {
    /// Group of the resource.
    #[schema(required)]
    pub group: String,
    /// Name of the resource, in the plural.
    #[schema(required)]
    pub resource: String,
}

/// Settings of the API server.
#[api_type]
pub struct KubeAPIServerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Admission plugins to configure or disable.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub admission_plugins: Vec<crate::core::AdmissionPlugin>,
    /// Audiences that tokens may be for.
    pub api_audiences: Vec<String>,
    /// Settings of the audit log.
    pub audit_config: Option<crate::core::AuditConfig>,
    /// API versions and resources to enable or disable, `apps/v1: true`.
    pub runtime_config: BTreeMap<String, bool>,
    /// Issuing of tokens of service accounts.
    pub service_account_config: Option<crate::core::ServiceAccountConfig>,
    /// Sizes of the watch caches.
    pub watch_cache_sizes: Option<crate::core::WatchCacheSizes>,
    /// Limits of parallel requests.
    pub requests: Option<crate::core::APIServerRequests>,
    /// True if requests without credentials are passed on to authorization.
    #[schema(deprecated)]
    pub enable_anonymous_authentication: Option<bool>,
    /// Retention time of Events. Default: 1h; at most 7 days.
    #[schema(rename = "eventTTL")]
    pub event_ttl: Option<Duration>,
    /// Verbosity of logs.
    pub logging: Option<crate::core::APIServerLogging>,
    /// Seconds for which pods without a toleration of their own stay on nodes that are not ready. Default: 300.
    pub default_not_ready_toleration_seconds: Option<i64>,
    /// Seconds for which pods without a toleration of their own stay on unreachable nodes. Default: 300.
    pub default_unreachable_toleration_seconds: Option<i64>,
    /// Resources that are encrypted in etcd, in addition to Secrets.
    pub encryption_config: Option<crate::core::EncryptionConfig>,
    /// Reference to the configuration of authentication.
    pub structured_authentication: Option<crate::core::StructuredAuthentication>,
    /// Reference to the configuration of authorization.
    pub structured_authorization: Option<crate::core::StructuredAuthorization>,
    /// Vertical scaling of the component. Served; not emulated.
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    /// Minimum version of TLS that the API server accepts: VersionTLS12 or VersionTLS13.
    pub tls_min_version: Option<String>,
    /// An OpenID Connect provider whose tokens are accepted.
    #[schema(deprecated)]
    pub oidc_config: Option<crate::core::OIDCConfig>,
    /// Receiver of the audit log.
    pub audit_webhook: Option<AuditWebhook>,
    /// Additional methods of authentication.
    pub authentication: Option<Authentication>,
    /// Resources that are stored in the etcd with Events.
    #[schema(rename = "resourcesToStoreInETCDEvents")]
    pub resources_to_store_in_etcd_events: Vec<GroupResource>,
    /// Certificates for additional names of the API server.
    pub sni: Option<SNI>,
}

/// Settings of the controller manager.
#[api_type]
pub struct KubeControllerManagerConfig {
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// Settings of the controller of HorizontalPodAutoscalers.
    pub horizontal_pod_autoscaler: Option<crate::core::HorizontalPodAutoscalerConfig>,
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
    /// Validity of signed certificates.
    pub certificate_signing_duration: Option<Duration>,
}

/// Versions and settings of the Kubernetes components.
#[api_type]
pub struct Kubernetes {
    /// Settings of the API server.
    #[schema(rename = "kubeAPIServer")]
    pub kube_api_server: Option<KubeAPIServerConfig>,
    /// Settings of the controller manager.
    pub kube_controller_manager: Option<KubeControllerManagerConfig>,
    /// Version of Kubernetes.
    #[schema(required)]
    pub version: String,
}

/// A ResourceQuota for projects.
#[api_type]
pub struct ProjectQuotaConfiguration {
    /// The ResourceQuota.
    #[schema(required)]
    pub config: crate::kubernetes::core::ResourceQuota,
    /// Labels of the projects that get the ResourceQuota.
    pub project_selector: Option<LabelSelector>,
}

/// Limits on the size and number of objects.
#[api_type]
pub struct ResourceAdmissionConfiguration {
    /// The limits.
    #[schema(required)]
    pub limits: Vec<ResourceLimit>,
    /// Subjects to which no limits apply.
    pub unrestricted_subjects: Vec<crate::kubernetes::rbac::Subject>,
    /// Reaction to a violation: block, or log.
    pub operation_mode: Option<String>,
}

/// Limit on the size or number of some objects.
#[api_type]
pub struct ResourceLimit {
    /// Groups of the objects.
    pub api_groups: Vec<String>,
    /// Versions of the objects.
    pub api_versions: Vec<String>,
    /// Resources of the objects.
    #[schema(required)]
    pub resources: Vec<String>,
    /// Maximum size of an object in bytes.
    pub size: Option<Quantity>,
    /// Maximum number of objects; for cluster-scoped resources only.
    pub count: Option<i64>,
}

/// Certificates for additional names of an API server.
#[api_type]
pub struct SNI {
    /// Secret with the certificate.
    pub secret_name: Option<String>,
    /// Names for which the certificate is used.
    pub domain_patterns: Vec<String>,
}
