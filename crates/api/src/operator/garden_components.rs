// SPDX-License-Identifier: Apache-2.0
//! Settings of the components of a Garden's virtual cluster.
//!
//! Source: pkg/apis/operator/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

/// Where the audit log is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuditWebhook {
    /// Most entries sent at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_max_size: Option<i32>,
    /// Secret with the kubeconfig of the receiver.
    #[schema(required)]
    pub kubeconfig_secret_name: String,
    /// API version of what is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Further ways to log in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Authentication {
    /// A webhook that knows tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<AuthenticationWebhook>,
}

/// A webhook that knows tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuthenticationWebhook {
    /// How long its answers are kept.
    #[serde(rename = "cacheTTL", skip_serializing_if = "Option::is_none")]
    pub cache_ttl: Option<Duration>,
    /// Secret with the kubeconfig of the webhook.
    #[schema(required)]
    pub kubeconfig_secret_name: String,
    /// API version of what is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Tickets on GitHub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardGitHub {
    /// Address of the API.
    #[serde(rename = "apiURL")]
    #[schema(required)]
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
    /// How often tickets are fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<Duration>,
}

/// Ingress of the dashboard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardIngress {
    /// Whether there is one. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enabled: Option<bool>,
}

/// Login to the dashboard by OpenID Connect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardOIDC {
    /// Client that command line tools use.
    #[serde(rename = "clientIDPublic", skip_serializing_if = "Option::is_none")]
    pub client_id_public: Option<String>,
    /// Address of the provider.
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    /// How long a user stays logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_lifetime: Option<Duration>,
    /// Further scopes to ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_scopes: Vec<String>,
    /// Secret with the client's secret.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
    /// Secret with the certificates by which the provider is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

/// Terminals in the dashboard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardTerminal {
    /// Container of a terminal.
    #[schema(required)]
    pub container: DashboardTerminalContainer,
    /// Hosts to which terminals may connect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
}

/// Container of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardTerminalContainer {
    /// Image of the container.
    #[schema(required)]
    pub image: String,
    /// What the image is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The instance of Gardener that worked on an object last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Gardener {
    /// Identity of the landscape. Cannot be changed.
    #[schema(required)]
    pub cluster_identity: String,
    /// Settings of gardener-apiserver.
    #[serde(rename = "gardenerAPIServer", skip_serializing_if = "Option::is_none")]
    pub gardener_api_server: Option<GardenerAPIServerConfig>,
    /// Settings of gardener-admission-controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_admission_controller: Option<GardenerAdmissionControllerConfig>,
    /// Settings of gardener-controller-manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_controller_manager: Option<GardenerControllerManagerConfig>,
    /// Settings of gardener-scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_scheduler: Option<GardenerSchedulerConfig>,
    /// Settings of the dashboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_dashboard: Option<GardenerDashboardConfig>,
    /// Settings of gardener-discovery-server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_discovery_server: Option<GardenerDiscoveryServerConfig>,
}

/// Settings of gardener-apiserver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerAPIServerConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Admission plugins to be set up or switched off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub admission_plugins: Vec<crate::core::AdmissionPlugin>,
    /// What is audited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_config: Option<crate::core::AuditConfig>,
    /// Where the audit log is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_webhook: Option<AuditWebhook>,
    /// How much is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<crate::core::APIServerLogging>,
    /// How many requests are taken at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<crate::core::APIServerRequests>,
    /// Sizes of the watch caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_cache_sizes: Option<crate::core::WatchCacheSizes>,
    /// What is encrypted in etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_config: Option<crate::core::EncryptionConfig>,
    /// Share of requests after which the connection is closed, to spread load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub go_away_chance: Option<f64>,
    /// How long a kubeconfig of `shoots/adminkubeconfig` may be valid at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_admin_kubeconfig_max_expiration: Option<Duration>,
}

/// Settings of gardener-admission-controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerAdmissionControllerConfig {
    /// debug, info or error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
    /// How large objects may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_admission_configuration: Option<ResourceAdmissionConfiguration>,
}

/// Settings of gardener-controller-manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerControllerManagerConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// ResourceQuotas that namespaces of projects get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_project_quotas: Vec<ProjectQuotaConfiguration>,
    /// debug, info or error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
}

/// Settings of the dashboard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerDashboardConfig {
    /// Whether users can log in with a token. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_token_login: Option<bool>,
    /// ConfigMap with settings of the user interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontend_config_map_ref: Option<crate::kubernetes::core::LocalObjectReference>,
    /// ConfigMap with logos and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assets_config_map_ref: Option<crate::kubernetes::core::LocalObjectReference>,
    /// Tickets on GitHub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_hub: Option<DashboardGitHub>,
    /// debug, info or error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
    /// Login by OpenID Connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc_config: Option<DashboardOIDC>,
    /// Terminals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<DashboardTerminal>,
    /// Ingress of the dashboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub ingress: Option<DashboardIngress>,
}

/// Settings of gardener-discovery-server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerDiscoveryServerConfig {}

/// Settings of gardener-scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerSchedulerConfig {
    /// Feature gates to switch on or off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// debug, info or error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
}

/// A resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupResource {
    /// Group of the resource.
    #[schema(required)]
    pub group: String,
    /// Name of the resource, in the plural.
    #[schema(required)]
    pub resource: String,
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
    pub admission_plugins: Vec<crate::core::AdmissionPlugin>,
    /// Audiences that tokens may be for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_audiences: Vec<String>,
    /// What is audited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_config: Option<crate::core::AuditConfig>,
    /// API versions and resources to switch on or off, `apps/v1: true`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runtime_config: BTreeMap<String, bool>,
    /// How tokens of service accounts are issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_config: Option<crate::core::ServiceAccountConfig>,
    /// Sizes of the watch caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_cache_sizes: Option<crate::core::WatchCacheSizes>,
    /// How many requests are taken at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<crate::core::APIServerRequests>,
    /// Whether requests without credentials are let through to authorization.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enable_anonymous_authentication: Option<bool>,
    /// How long Events are kept. Default: 1h; at most 7 days.
    #[serde(rename = "eventTTL", skip_serializing_if = "Option::is_none")]
    pub event_ttl: Option<Duration>,
    /// How much is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<crate::core::APIServerLogging>,
    /// Seconds for which pods without a toleration of their own stay on nodes that are not ready. Default: 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_not_ready_toleration_seconds: Option<i64>,
    /// Seconds for which pods without a toleration of their own stay on nodes that cannot be reached. Default: 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_unreachable_toleration_seconds: Option<i64>,
    /// What is encrypted in etcd beside Secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_config: Option<crate::core::EncryptionConfig>,
    /// Where the configuration of authentication is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authentication: Option<crate::core::StructuredAuthentication>,
    /// Where the configuration of authorization is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authorization: Option<crate::core::StructuredAuthorization>,
    /// How its requests are scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    /// An OpenID Connect provider whose tokens are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub oidc_config: Option<crate::core::OIDCConfig>,
    /// Where the audit log is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_webhook: Option<AuditWebhook>,
    /// Further ways to log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    /// Resources that are stored where Events are.
    #[serde(rename = "resourcesToStoreInETCDEvents", skip_serializing_if = "Vec::is_empty")]
    pub resources_to_store_in_etcd_events: Vec<GroupResource>,
    /// Certificates for further names of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni: Option<SNI>,
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
    pub horizontal_pod_autoscaler: Option<crate::core::HorizontalPodAutoscalerConfig>,
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
    /// How long signed certificates are valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_signing_duration: Option<Duration>,
}

/// Versions and settings of the Kubernetes components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    /// Settings of the API server.
    #[serde(rename = "kubeAPIServer", skip_serializing_if = "Option::is_none")]
    pub kube_api_server: Option<KubeAPIServerConfig>,
    /// Settings of the controller manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_controller_manager: Option<KubeControllerManagerConfig>,
    /// Version of Kubernetes.
    #[schema(required)]
    pub version: String,
}

/// A ResourceQuota for projects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectQuotaConfiguration {
    /// The ResourceQuota.
    #[schema(required)]
    pub config: crate::kubernetes::core::ResourceQuota,
    /// Labels of the projects that get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_selector: Option<LabelSelector>,
}

/// How large objects may be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceAdmissionConfiguration {
    /// The limits.
    #[schema(required)]
    pub limits: Vec<ResourceLimit>,
    /// Who is not limited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrestricted_subjects: Vec<crate::kubernetes::rbac::Subject>,
    /// block, or log only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_mode: Option<String>,
}

/// How large some objects may be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceLimit {
    /// Groups of the objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Versions of the objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_versions: Vec<String>,
    /// Resources of the objects.
    #[schema(required)]
    pub resources: Vec<String>,
    /// Most bytes of an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,
}

/// Certificates for further names of an API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SNI {
    /// Secret with the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// Names that the certificate is used for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domain_patterns: Vec<String>,
}
