// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Shoot` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// A Kubernetes cluster that Gardener manages.
#[api_type]
pub struct Shoot {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Shoot.
    pub spec: ShootSpec,
    /// Observed state of the Shoot.
    pub status: ShootStatus,
}

/// An access restriction that the Seed must offer, with its options.
#[api_type]
pub struct AccessRestrictionWithOptions {
    /// Name of the restriction, as the region in the CloudProfile offers it.
    #[schema(required)]
    pub name: String,
    /// Settings of the restriction; the provider interprets them.
    pub options: TextMap,
}

/// An add-on that can be switched on or off.
#[api_type]
pub struct Addon {
    /// True if the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
}

/// Components that Gardener deploys into the Shoot on request; allowed for purpose `evaluation` only.
#[api_type]
pub struct Addons {
    /// The dashboard of Kubernetes.
    pub kubernetes_dashboard: Option<KubernetesDashboard>,
    /// The nginx ingress controller.
    pub nginx_ingress: Option<NginxIngress>,
}

/// Receivers of alerts.
#[api_type]
pub struct Alerting {
    /// Mail addresses that receive alerts.
    pub email_receivers: Vec<String>,
}

/// Settings of a Shoot's control plane.
#[api_type]
pub struct ControlPlane {
    /// High availability of the control plane.
    pub high_availability: Option<HighAvailability>,
}

/// Settings of the cluster's DNS server.
#[api_type]
pub struct CoreDNS {
    /// Scaling of the DNS server with the load.
    pub autoscaling: Option<CoreDNSAutoscaling>,
    /// Queries that are rewritten before they are answered.
    pub rewriting: Option<CoreDNSRewriting>,
}

/// Scaling of CoreDNS.
#[api_type]
pub struct CoreDNSAutoscaling {
    /// `horizontal` scales by CPU, `cluster-proportional` by the number of nodes and cores.
    #[schema(required)]
    pub mode: String,
}

/// Rewriting of DNS queries.
#[api_type]
pub struct CoreDNSRewriting {
    /// Suffixes for which an unnecessarily appended search path is removed; at most five.
    pub common_suffixes: Vec<String>,
}

/// Names of a Shoot.
#[api_type]
pub struct DNS {
    /// Domain of the cluster's API server. Empty: the landscape's default domain. Cannot be changed once it is set.
    pub domain: Option<String>,
    /// Providers that manage DNS records; one may be the primary.
    #[schema(deprecated)]
    pub providers: Vec<DNSProvider>,
}

/// Included and excluded names.
#[api_type]
pub struct DNSIncludeExclude {
    /// Included names.
    pub include: Vec<String>,
    /// Excluded names.
    pub exclude: Vec<String>,
}

/// A provider of DNS records.
#[api_type]
pub struct DNSProvider {
    /// Domains that the provider is used for.
    #[schema(deprecated)]
    pub domains: Option<DNSIncludeExclude>,
    /// True if this provider holds the record of the cluster's own domain.
    #[schema(deprecated)]
    pub primary: Option<bool>,
    /// Secret with the credentials, in the Shoot's namespace.
    #[schema(deprecated)]
    pub secret_name: Option<String>,
    /// Type of the provider, for example `aws-route53`.
    pub r#type: Option<String>,
    /// Hosted zones that the provider is used for.
    #[schema(deprecated)]
    pub zones: Option<DNSIncludeExclude>,
    /// Credentials for the provider: a Secret or a WorkloadIdentity in the Shoot's namespace.
    pub credentials_ref: Option<crate::kubernetes::autoscaling::CrossVersionObjectReference>,
}

/// A type of failure that is tolerated.
#[api_type]
pub struct FailureTolerance {
    /// `node`: replicas on several nodes; `zone`: replicas in several zones.
    #[schema(required)]
    pub r#type: String,
}

/// Hibernation of a Shoot.
#[api_type]
pub struct Hibernation {
    /// True if the cluster is hibernated: its nodes are deleted and its control plane is scaled down. Set by schedules, too.
    pub enabled: Option<bool>,
    /// Schedules that hibernate the cluster and wake it up.
    pub schedules: Vec<HibernationSchedule>,
}

/// Times at which a Shoot is hibernated and woken up.
#[api_type]
pub struct HibernationSchedule {
    /// Start of the hibernation, as a cron expression of five fields.
    pub start: Option<String>,
    /// End of the hibernation, as a cron expression of five fields.
    pub end: Option<String>,
    /// Time zone of start and end, `Europe/Berlin`; UTC without it.
    pub location: Option<String>,
}

/// Availability of a control plane.
#[api_type]
pub struct HighAvailability {
    /// Failures that the control plane tolerates. Can be added, but neither changed nor removed.
    #[schema(required)]
    pub failure_tolerance: FailureTolerance,
}

/// Settings of the dashboard add-on.
#[api_type]
pub struct KubernetesDashboard {
    /// True if the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
    /// Authentication of users: `basic` or `token`.
    pub authentication_mode: Option<String>,
}

/// Daily time window of maintenance, and the updates that Gardener performs automatically.
#[api_type]
pub struct Maintenance {
    /// Versions that are updated during maintenance.
    pub auto_update: Option<MaintenanceAutoUpdate>,
    /// Daily window in which maintenance may begin. Default: a window of one hour, chosen at random when the Shoot is created.
    pub time_window: Option<MaintenanceTimeWindow>,
    /// True if changes of the specification are rolled out within the time window only. Default: false.
    pub confine_spec_update_rollout: Option<bool>,
    /// Credentials that are rotated automatically. Releases before 1.135 do not have this field.
    pub auto_rotation: Option<MaintenanceAutoRotation>,
}

/// Automatic rotation during maintenance.
#[api_type]
pub struct MaintenanceAutoRotation {
    /// The credentials that are rotated during maintenance.
    pub credentials: Option<MaintenanceCredentialsAutoRotation>,
}

/// Credentials that are rotated automatically.
#[api_type]
pub struct MaintenanceCredentialsAutoRotation {
    /// The passwords of observability.
    pub observability: Option<MaintenanceRotationConfig>,
    /// The SSH key pair of the workers. Not for workerless Shoots.
    pub ssh_keypair: Option<MaintenanceRotationConfig>,
    /// The key that encrypts what is stored in etcd.
    pub etcd_encryption_key: Option<MaintenanceRotationConfig>,
}

/// Interval of an automatic rotation.
#[api_type]
pub struct MaintenanceRotationConfig {
    /// Time after the last rotation, or the creation of the Shoot, from which the rotation is due: between 30 minutes and 90
    /// days. 0: no automatic rotation. Default: 7 days.
    pub rotation_period: Option<Duration>,
}

/// Versions that are updated automatically.
#[api_type]
pub struct MaintenanceAutoUpdate {
    /// True if the Kubernetes version is updated to the latest patch version. Default: true.
    #[schema(required)]
    pub kubernetes_version: bool,
    /// True if the versions of machine images are updated according to their update strategy. Default: true.
    pub machine_image_version: Option<bool>,
}

/// Begin and end of the daily window for maintenance.
#[api_type]
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
#[api_type]
pub struct Monitoring {
    /// Receivers of alerts.
    pub alerting: Option<Alerting>,
}

/// Networks of a Shoot.
#[api_type]
pub struct Networking {
    /// Type of the network plugin, `calico` or `cilium`. Cannot be changed.
    pub r#type: Option<String>,
    /// Settings for the network extension, in its own format.
    pub provider_config: Option<RawExtension>,
    /// Network of the pods, in CIDR form. Cannot be changed.
    pub pods: Option<String>,
    /// Network of the nodes, in CIDR form. Cannot be changed once it is set.
    pub nodes: Option<String>,
    /// Network of the services, in CIDR form. Cannot be changed.
    pub services: Option<String>,
    /// IP families of the cluster, the first one preferred: IPv4, IPv6. Default: IPv4.
    pub ip_families: Vec<String>,
}

/// Settings of the ingress controller add-on.
#[api_type]
pub struct NginxIngress {
    /// True if the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
    /// Networks from which the load balancer may be reached, in CIDR form.
    pub load_balancer_source_ranges: Vec<String>,
    /// Entries of the controller's ConfigMap.
    pub config: TextMap,
    /// Distribution of the load balancer's traffic: `Cluster` or `Local`.
    pub external_traffic_policy: Option<String>,
}

/// A DNS cache on every node.
#[api_type]
pub struct NodeLocalDNS {
    /// Enables the cache.
    #[schema(required)]
    pub enabled: bool,
    /// True if the cache queries the cluster's DNS server by TCP. Default: true.
    #[schema(rename = "forceTCPToClusterDNS")]
    pub force_tcp_to_cluster_dns: Option<bool>,
    /// True if the cache queries servers outside the cluster by TCP. Default: true.
    #[schema(rename = "forceTCPToUpstreamDNS")]
    pub force_tcp_to_upstream_dns: Option<bool>,
    /// True if the cache queries the cluster's DNS server for names outside the cluster, too.
    #[schema(rename = "disableForwardToUpstreamDNS")]
    pub disable_forward_to_upstream_dns: Option<bool>,
}

/// Specification of a Shoot.
#[api_type]
pub struct ShootSpec {
    /// Components that Gardener deploys into the Shoot on request.
    #[schema(deprecated)]
    pub addons: Option<Addons>,
    /// Name of the CloudProfile. Older form of cloudProfile, which takes precedence since 1.101.
    #[schema(deprecated)]
    pub cloud_profile_name: Option<String>,
    /// Domain of the cluster and providers of its records.
    pub dns: Option<DNS>,
    /// Extensions that the Shoot uses, with their settings.
    pub extensions: Vec<Extension>,
    /// Hibernation of the cluster.
    pub hibernation: Option<Hibernation>,
    /// Version of Kubernetes and settings of its components.
    #[schema(required)]
    pub kubernetes: Kubernetes,
    /// Networks and network plugin. Required for Shoots with workers.
    pub networking: Option<Networking>,
    /// Maintenance of the cluster: the daily time window and its automatic updates.
    pub maintenance: Option<Maintenance>,
    /// Monitoring of the cluster.
    pub monitoring: Option<Monitoring>,
    /// Infrastructure and worker pools.
    #[schema(required)]
    pub provider: Provider,
    /// Purpose of the cluster: evaluation, testing, development, production, infrastructure. Default: evaluation.
    pub purpose: Option<String>,
    /// Region of the infrastructure, one of the CloudProfile's. Cannot be changed.
    #[schema(required)]
    pub region: String,
    /// SecretBinding with the credentials of the infrastructure. Can only be replaced by a credentialsBindingName.
    #[schema(deprecated)]
    pub secret_binding_name: Option<String>,
    /// Seed that runs the control plane; the scheduler sets it. Changed through the subresource `binding` only.
    pub seed_name: Option<String>,
    /// Labels that the Seed must have.
    pub seed_selector: Option<SeedSelector>,
    /// Named references to objects of the Shoot's namespace that extensions use.
    pub resources: Vec<NamedResourceReference>,
    /// Taints of Seeds that the Shoot tolerates.
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub tolerations: Vec<Toleration>,
    /// ExposureClass through which the API server is exposed. Cannot be changed.
    pub exposure_class_name: Option<String>,
    /// Settings of the components in the namespace kube-system.
    pub system_components: Option<SystemComponents>,
    /// Availability of the control plane.
    pub control_plane: Option<ControlPlane>,
    /// Name of the scheduler that chooses the Seed. Default: default-scheduler. Cannot be changed.
    pub scheduler_name: Option<String>,
    /// CloudProfile or NamespacedCloudProfile with the versions, images and machine types that may be used.
    pub cloud_profile: Option<CloudProfileReference>,
    /// CredentialsBinding with the credentials of the infrastructure.
    pub credentials_binding_name: Option<String>,
    /// Access restrictions that the Seed must offer.
    pub access_restrictions: Vec<AccessRestrictionWithOptions>,
}

/// Template of a Shoot.
#[api_type]
pub struct ShootTemplate {
    /// Labels and annotations of the Shoot.
    pub metadata: ObjectMeta,
    /// Desired state of the Shoot.
    pub spec: ShootSpec,
}

/// Settings of components in the namespace kube-system.
#[api_type]
pub struct SystemComponents {
    /// The cluster's DNS server.
    #[schema(rename = "coreDNS")]
    pub core_dns: Option<CoreDNS>,
    /// Cache of DNS answers close to the pods.
    #[schema(rename = "nodeLocalDNS")]
    pub node_local_dns: Option<NodeLocalDNS>,
}

impl_resource!(Shoot, "core.gardener.cloud", "v1beta1", "Shoot", "shoots", true);
