// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Shoot` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::impl_resource;

/// A Kubernetes cluster that Gardener manages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Shoot {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ShootSpec,
    /// What is there.
    pub status: ShootStatus,
}

/// An access restriction that the Seed must offer, with its options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AccessRestrictionWithOptions {
    /// Name of the restriction, as the region in the CloudProfile offers it.
    #[schema(required)]
    pub name: String,
    /// Settings of the restriction; their meaning is the provider's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// An add-on that can be switched on or off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Addon {
    /// Whether the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
}

/// Components that Gardener deploys into the Shoot on request; allowed for purpose `evaluation` only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Addons {
    /// The dashboard of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_dashboard: Option<KubernetesDashboard>,
    /// The nginx ingress controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nginx_ingress: Option<NginxIngress>,
}

/// Where alerts go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Alerting {
    /// Mail addresses of those who are told of alerts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub email_receivers: Vec<String>,
}

/// Settings of a Shoot's control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlane {
    /// How many failures the control plane survives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_availability: Option<HighAvailability>,
}

/// Settings of the cluster's DNS server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CoreDNS {
    /// How the number of its replicas follows the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<CoreDNSAutoscaling>,
    /// Queries that are rewritten before they are answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<CoreDNSRewriting>,
}

/// Scaling of CoreDNS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CoreDNSAutoscaling {
    /// `horizontal` scales by CPU, `cluster-proportional` by the number of nodes and cores.
    #[schema(required)]
    pub mode: String,
}

/// Rewriting of DNS queries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CoreDNSRewriting {
    /// Suffixes for which a search path that was appended needlessly is cut off; at most five.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub common_suffixes: Vec<String>,
}

/// Names of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNS {
    /// Domain under which the cluster's API server is reached. Empty: the landscape's default domain. Cannot be changed
    /// once it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Providers that manage DNS records; one may be the primary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(deprecated)]
    pub providers: Vec<DNSProvider>,
}

/// Names that are taken in and left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSIncludeExclude {
    /// Names that are taken in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Names that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// A provider of DNS records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DNSProvider {
    /// Domains that the provider is used for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub domains: Option<DNSIncludeExclude>,
    /// Whether this provider holds the record of the cluster's own domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub primary: Option<bool>,
    /// Secret with the credentials, in the Shoot's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub secret_name: Option<String>,
    /// Type of the provider, `aws-route53` and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Hosted zones that the provider is used for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub zones: Option<DNSIncludeExclude>,
}

/// A kind of failure that is survived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct FailureTolerance {
    /// `node`: replicas on several nodes; `zone`: replicas in several zones.
    #[schema(required)]
    pub r#type: String,
}

/// Whether and when a Shoot sleeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Hibernation {
    /// Whether the cluster sleeps: its nodes are gone and its control plane is scaled down. Schedules set it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// When the cluster falls asleep and wakes up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<HibernationSchedule>,
}

/// When a Shoot falls asleep and wakes up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HibernationSchedule {
    /// When to fall asleep, as a cron expression of five fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// When to wake up, as a cron expression of five fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Time zone of start and end, `Europe/Berlin`; UTC without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// Availability of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HighAvailability {
    /// What the control plane survives. Can be added, but neither changed nor removed.
    #[schema(required)]
    pub failure_tolerance: FailureTolerance,
}

/// Settings of the dashboard add-on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct KubernetesDashboard {
    /// Whether the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
    /// How users log in: `basic` or `token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication_mode: Option<String>,
}

/// When and what Gardener may update by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Maintenance {
    /// Which versions may be raised during maintenance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_update: Option<MaintenanceAutoUpdate>,
    /// When maintenance may begin each day. Without it a window of one hour is drawn when the Shoot is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_window: Option<MaintenanceTimeWindow>,
    /// Whether changes of the specification are rolled out within the time window only. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confine_spec_update_rollout: Option<bool>,
}

/// What is updated by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MaintenanceAutoUpdate {
    /// Whether the Kubernetes version is raised to the latest patch version. Default: true.
    #[schema(required)]
    pub kubernetes_version: bool,
    /// Whether the versions of machine images are raised as their update strategy says. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_image_version: Option<bool>,
}

/// Begin and end of the daily window for maintenance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MaintenanceTimeWindow {
    /// Begin of the window each day, as HHMMSS with the offset of the time zone: `220000+0100`.
    #[schema(required)]
    pub begin: String,
    /// End of the window each day, as HHMMSS with the offset of the time zone: `230000+0100`. Between 30 minutes and 6
    /// hours after the begin.
    #[schema(required)]
    pub end: String,
}

/// Settings of monitoring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Monitoring {
    /// Where alerts go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alerting: Option<Alerting>,
}

/// Networks of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Networking {
    /// Network plugin, `calico` or `cilium`. Cannot be changed to any other pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Settings for the network extension, in its own format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    /// Network of the pods, in CIDR form. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    /// Network of the nodes, in CIDR form. Cannot be changed once it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
    /// Network of the services, in CIDR form. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<String>,
    /// IP families of the cluster, the first one preferred: IPv4, IPv6. Default: IPv4.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ip_families: Vec<String>,
}

/// Settings of the ingress controller add-on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NginxIngress {
    /// Whether the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
    /// Networks from which the load balancer may be reached, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load_balancer_source_ranges: Vec<String>,
    /// Entries of the controller's ConfigMap.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// Where the load balancer sends traffic: `Cluster` or `Local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_traffic_policy: Option<String>,
}

/// A DNS cache on every node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeLocalDNS {
    /// Whether the cache runs.
    #[schema(required)]
    pub enabled: bool,
    /// Whether the cache asks the cluster's DNS server by TCP. Default: true.
    #[serde(rename = "forceTCPToClusterDNS", skip_serializing_if = "Option::is_none")]
    pub force_tcp_to_cluster_dns: Option<bool>,
    /// Whether the cache asks servers outside the cluster by TCP. Default: true.
    #[serde(rename = "forceTCPToUpstreamDNS", skip_serializing_if = "Option::is_none")]
    pub force_tcp_to_upstream_dns: Option<bool>,
    /// Whether the cache asks the cluster's DNS server for names outside the cluster, too.
    #[serde(rename = "disableForwardToUpstreamDNS", skip_serializing_if = "Option::is_none")]
    pub disable_forward_to_upstream_dns: Option<bool>,
}

/// What a Shoot is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootSpec {
    /// Components that Gardener deploys into the Shoot on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub addons: Option<Addons>,
    /// Name of the CloudProfile. Older form of cloudProfile.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub cloud_profile_name: Option<String>,
    /// Domain of the cluster and who manages its records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DNS>,
    /// Extensions that the Shoot uses, with their settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// Whether and when the cluster sleeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hibernation: Option<Hibernation>,
    /// Version of Kubernetes and settings of its components.
    #[schema(required)]
    pub kubernetes: Kubernetes,
    /// Networks and network plugin. Needed for Shoots with workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<Networking>,
    /// Maintenance of the cluster: the daily time window and what is updated in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    /// Monitoring of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    /// Infrastructure and worker pools.
    #[schema(required)]
    pub provider: Provider,
    /// What the cluster is for: evaluation, testing, development, production, infrastructure. Default: evaluation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Region of the infrastructure, one of the CloudProfile's. Cannot be changed.
    #[schema(required)]
    pub region: String,
    /// SecretBinding with the credentials of the infrastructure. Cannot be changed but for a credentialsBindingName.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub secret_binding_name: Option<String>,
    /// Seed that runs the control plane; the scheduler sets it. Changed through the subresource `binding` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// Labels that the Seed must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    /// Objects of the Shoot's namespace that extensions refer to, by names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
    /// Taints of Seeds that the Shoot tolerates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub tolerations: Vec<Toleration>,
    /// ExposureClass through which the API server is exposed. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exposure_class_name: Option<String>,
    /// Settings of the components in the namespace kube-system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_components: Option<SystemComponents>,
    /// Availability of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlane>,
    /// Which scheduler chooses the Seed. Default: default-scheduler. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
    /// CloudProfile or NamespacedCloudProfile with the versions, images and machine types that may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_profile: Option<CloudProfileReference>,
    /// CredentialsBinding with the credentials of the infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_binding_name: Option<String>,
    /// Access restrictions that the Seed must offer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access_restrictions: Vec<AccessRestrictionWithOptions>,
}

/// A Shoot to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootTemplate {
    /// Labels and annotations of the Shoot.
    pub metadata: ObjectMeta,
    /// What the Shoot is to be.
    pub spec: ShootSpec,
}

/// Settings of components in the namespace kube-system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SystemComponents {
    /// The cluster's DNS server.
    #[serde(rename = "coreDNS", skip_serializing_if = "Option::is_none")]
    pub core_dns: Option<CoreDNS>,
    /// Cache of DNS answers close to the pods.
    #[serde(rename = "nodeLocalDNS", skip_serializing_if = "Option::is_none")]
    pub node_local_dns: Option<NodeLocalDNS>,
}

impl_resource!(Shoot, "core.gardener.cloud", "v1beta1", "Shoot", "shoots", true);
