// SPDX-License-Identifier: Apache-2.0
//! Settings of the components of a Garden's virtual cluster.
//!
//! Source: pkg/apis/operator/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuditWebhook {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_max_size: Option<i32>,
    #[schema(required)]
    pub kubeconfig_secret_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Authentication {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<AuthenticationWebhook>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AuthenticationWebhook {
    #[serde(rename = "cacheTTL", skip_serializing_if = "Option::is_none")]
    pub cache_ttl: Option<Duration>,
    #[schema(required)]
    pub kubeconfig_secret_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardGitHub {
    #[serde(rename = "apiURL")]
    #[schema(required)]
    pub api_url: String,
    #[schema(required)]
    pub organisation: String,
    #[schema(required)]
    pub repository: String,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardIngress {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enabled: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardOIDC {
    #[serde(rename = "clientIDPublic", skip_serializing_if = "Option::is_none")]
    pub client_id_public: Option<String>,
    #[serde(rename = "issuerURL", skip_serializing_if = "Option::is_none")]
    pub issuer_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_lifetime: Option<Duration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_scopes: Vec<String>,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::LocalObjectReference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardTerminal {
    #[schema(required)]
    pub container: DashboardTerminalContainer,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DashboardTerminalContainer {
    #[schema(required)]
    pub image: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The instance of Gardener that worked on an object last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Gardener {
    #[schema(required)]
    pub cluster_identity: String,
    #[serde(rename = "gardenerAPIServer", skip_serializing_if = "Option::is_none")]
    pub gardener_api_server: Option<GardenerAPIServerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_admission_controller: Option<GardenerAdmissionControllerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_controller_manager: Option<GardenerControllerManagerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_scheduler: Option<GardenerSchedulerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_dashboard: Option<GardenerDashboardConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gardener_discovery_server: Option<GardenerDiscoveryServerConfig>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerAPIServerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub admission_plugins: Vec<crate::core::AdmissionPlugin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_config: Option<crate::core::AuditConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_webhook: Option<AuditWebhook>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<crate::core::APIServerLogging>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<crate::core::APIServerRequests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_cache_sizes: Option<crate::core::WatchCacheSizes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_config: Option<crate::core::EncryptionConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub go_away_chance: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shoot_admin_kubeconfig_max_expiration: Option<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerAdmissionControllerConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_admission_configuration: Option<ResourceAdmissionConfiguration>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerControllerManagerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_project_quotas: Vec<ProjectQuotaConfiguration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerDashboardConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_token_login: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontend_config_map_ref: Option<crate::kubernetes::core::LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assets_config_map_ref: Option<crate::kubernetes::core::LocalObjectReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_hub: Option<DashboardGitHub>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc_config: Option<DashboardOIDC>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<DashboardTerminal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub ingress: Option<DashboardIngress>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerDiscoveryServerConfig {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerSchedulerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupResource {
    #[schema(required)]
    pub group: String,
    #[schema(required)]
    pub resource: String,
}

/// Settings of the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeAPIServerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub admission_plugins: Vec<crate::core::AdmissionPlugin>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_audiences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_config: Option<crate::core::AuditConfig>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runtime_config: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_config: Option<crate::core::ServiceAccountConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_cache_sizes: Option<crate::core::WatchCacheSizes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<crate::core::APIServerRequests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub enable_anonymous_authentication: Option<bool>,
    #[serde(rename = "eventTTL", skip_serializing_if = "Option::is_none")]
    pub event_ttl: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<crate::core::APIServerLogging>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_not_ready_toleration_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_unreachable_toleration_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encryption_config: Option<crate::core::EncryptionConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authentication: Option<crate::core::StructuredAuthentication>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_authorization: Option<crate::core::StructuredAuthorization>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<crate::core::ControlPlaneAutoscaling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub oidc_config: Option<crate::core::OIDCConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_webhook: Option<AuditWebhook>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    #[serde(rename = "resourcesToStoreInETCDEvents", skip_serializing_if = "Vec::is_empty")]
    pub resources_to_store_in_etcd_events: Vec<GroupResource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni: Option<SNI>,
}

/// Settings of the controller manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubeControllerManagerConfig {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizontal_pod_autoscaler: Option<crate::core::HorizontalPodAutoscalerConfig>,
    #[serde(rename = "nodeCIDRMaskSize", skip_serializing_if = "Option::is_none")]
    pub node_cidr_mask_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub pod_eviction_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_monitor_grace_period: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_signing_duration: Option<Duration>,
}

/// Versions and settings of the Kubernetes components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    #[serde(rename = "kubeAPIServer", skip_serializing_if = "Option::is_none")]
    pub kube_api_server: Option<KubeAPIServerConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_controller_manager: Option<KubeControllerManagerConfig>,
    #[schema(required)]
    pub version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectQuotaConfiguration {
    #[schema(required)]
    pub config: crate::kubernetes::core::ResourceQuota,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_selector: Option<LabelSelector>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceAdmissionConfiguration {
    #[schema(required)]
    pub limits: Vec<ResourceLimit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrestricted_subjects: Vec<crate::kubernetes::rbac::Subject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_mode: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceLimit {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_versions: Vec<String>,
    #[schema(required)]
    pub resources: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SNI {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domain_patterns: Vec<String>,
}
