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
    /// Settings of the restriction; their meaning is the provider's.
    pub options: TextMap,
}

/// An add-on that can be switched on or off.
#[api_type]
pub struct Addon {
    /// Whether the add-on is deployed.
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

/// Where alerts go.
#[api_type]
pub struct Alerting {
    /// Mail addresses of those who are told of alerts.
    pub email_receivers: Vec<String>,
}

/// Settings of a Shoot's control plane.
#[api_type]
pub struct ControlPlane {
    /// How many failures the control plane survives.
    pub high_availability: Option<HighAvailability>,
}

/// Settings of the cluster's DNS server.
#[api_type]
pub struct CoreDNS {
    /// How the number of its replicas follows the load.
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
    /// Suffixes for which a search path that was appended needlessly is cut off; at most five.
    pub common_suffixes: Vec<String>,
}

/// Names of a Shoot.
#[api_type]
pub struct DNS {
    /// Domain under which the cluster's API server is reached. Empty: the landscape's default domain. Cannot be changed
    /// once it is set.
    pub domain: Option<String>,
    /// Providers that manage DNS records; one may be the primary.
    #[schema(deprecated)]
    pub providers: Vec<DNSProvider>,
}

/// Names that are taken in and left out.
#[api_type]
pub struct DNSIncludeExclude {
    /// Names that are taken in.
    pub include: Vec<String>,
    /// Names that are left out.
    pub exclude: Vec<String>,
}

/// A provider of DNS records.
#[api_type]
pub struct DNSProvider {
    /// Domains that the provider is used for.
    #[schema(deprecated)]
    pub domains: Option<DNSIncludeExclude>,
    /// Whether this provider holds the record of the cluster's own domain.
    #[schema(deprecated)]
    pub primary: Option<bool>,
    /// Secret with the credentials, in the Shoot's namespace.
    #[schema(deprecated)]
    pub secret_name: Option<String>,
    /// Type of the provider, `aws-route53` and the like.
    pub r#type: Option<String>,
    /// Hosted zones that the provider is used for.
    #[schema(deprecated)]
    pub zones: Option<DNSIncludeExclude>,
    /// Credentials for the provider: a Secret or a WorkloadIdentity in the Shoot's namespace.
    pub credentials_ref: Option<crate::kubernetes::autoscaling::CrossVersionObjectReference>,
}

/// A kind of failure that is survived.
#[api_type]
pub struct FailureTolerance {
    /// `node`: replicas on several nodes; `zone`: replicas in several zones.
    #[schema(required)]
    pub r#type: String,
}

/// Whether and when a Shoot sleeps.
#[api_type]
pub struct Hibernation {
    /// Whether the cluster sleeps: its nodes are gone and its control plane is scaled down. Schedules set it, too.
    pub enabled: Option<bool>,
    /// When the cluster is hibernated and woken up.
    pub schedules: Vec<HibernationSchedule>,
}

/// When a Shoot is hibernated and woken up.
#[api_type]
pub struct HibernationSchedule {
    /// When to fall asleep, as a cron expression of five fields.
    pub start: Option<String>,
    /// When to wake up, as a cron expression of five fields.
    pub end: Option<String>,
    /// Time zone of start and end, `Europe/Berlin`; UTC without it.
    pub location: Option<String>,
}

/// Availability of a control plane.
#[api_type]
pub struct HighAvailability {
    /// What the control plane survives. Can be added, but neither changed nor removed.
    #[schema(required)]
    pub failure_tolerance: FailureTolerance,
}

/// Settings of the dashboard add-on.
#[api_type]
pub struct KubernetesDashboard {
    /// Whether the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
    /// How users log in: `basic` or `token`.
    pub authentication_mode: Option<String>,
}

/// When and what Gardener may update by itself.
#[api_type]
pub struct Maintenance {
    /// Which versions may be raised during maintenance.
    pub auto_update: Option<MaintenanceAutoUpdate>,
    /// When maintenance may begin each day. Without it a window of one hour is drawn when the Shoot is created.
    pub time_window: Option<MaintenanceTimeWindow>,
    /// Whether changes of the specification are rolled out within the time window only. Default: false.
    pub confine_spec_update_rollout: Option<bool>,
    /// Which credentials are rotated by themselves. Releases before 1.135 do not have this field.
    pub auto_rotation: Option<MaintenanceAutoRotation>,
}

/// What is rotated by itself.
#[api_type]
pub struct MaintenanceAutoRotation {
    /// The credentials that are rotated during maintenance.
    pub credentials: Option<MaintenanceCredentialsAutoRotation>,
}

/// Credentials that are rotated by themselves.
#[api_type]
pub struct MaintenanceCredentialsAutoRotation {
    /// The passwords of observability.
    pub observability: Option<MaintenanceRotationConfig>,
    /// The SSH key pair of the workers. Not for workerless Shoots.
    pub ssh_keypair: Option<MaintenanceRotationConfig>,
    /// The key that encrypts what is stored in etcd.
    pub etcd_encryption_key: Option<MaintenanceRotationConfig>,
}

/// How often something is rotated.
#[api_type]
pub struct MaintenanceRotationConfig {
    /// Time after the last rotation, or the creation of the Shoot, from which it is due: between 30 minutes and 90 days. 0:
    /// it is not rotated by itself. Default: 7 days.
    pub rotation_period: Option<Duration>,
}

/// What is updated by itself.
#[api_type]
pub struct MaintenanceAutoUpdate {
    /// Whether the Kubernetes version is raised to the latest patch version. Default: true.
    #[schema(required)]
    pub kubernetes_version: bool,
    /// Whether the versions of machine images are raised as their update strategy says. Default: true.
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
    /// Where alerts go.
    pub alerting: Option<Alerting>,
}

/// Networks of a Shoot.
#[api_type]
pub struct Networking {
    /// Network plugin, `calico` or `cilium`. Cannot be changed to any other pair.
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
    /// Whether the add-on is deployed.
    #[schema(required)]
    pub enabled: bool,
    /// Networks from which the load balancer may be reached, in CIDR form.
    pub load_balancer_source_ranges: Vec<String>,
    /// Entries of the controller's ConfigMap.
    pub config: TextMap,
    /// Where the load balancer sends traffic: `Cluster` or `Local`.
    pub external_traffic_policy: Option<String>,
}

/// A DNS cache on every node.
#[api_type]
pub struct NodeLocalDNS {
    /// Whether the cache runs.
    #[schema(required)]
    pub enabled: bool,
    /// Whether the cache asks the cluster's DNS server by TCP. Default: true.
    #[schema(rename = "forceTCPToClusterDNS")]
    pub force_tcp_to_cluster_dns: Option<bool>,
    /// Whether the cache asks servers outside the cluster by TCP. Default: true.
    #[schema(rename = "forceTCPToUpstreamDNS")]
    pub force_tcp_to_upstream_dns: Option<bool>,
    /// Whether the cache asks the cluster's DNS server for names outside the cluster, too.
    #[schema(rename = "disableForwardToUpstreamDNS")]
    pub disable_forward_to_upstream_dns: Option<bool>,
}

/// Specification of a Shoot.
#[api_type]
pub struct ShootSpec {
    /// Components that Gardener deploys into the Shoot on request.
    #[schema(deprecated)]
    pub addons: Option<Addons>,
    /// Name of the CloudProfile. Older form of cloudProfile, which counts since 1.101.
    #[schema(deprecated)]
    pub cloud_profile_name: Option<String>,
    /// Domain of the cluster and who manages its records.
    pub dns: Option<DNS>,
    /// Extensions that the Shoot uses, with their settings.
    pub extensions: Vec<Extension>,
    /// Whether and when the cluster sleeps.
    pub hibernation: Option<Hibernation>,
    /// Version of Kubernetes and settings of its components.
    #[schema(required)]
    pub kubernetes: Kubernetes,
    /// Networks and network plugin. Needed for Shoots with workers.
    pub networking: Option<Networking>,
    /// Maintenance of the cluster: the daily time window and what is updated in it.
    pub maintenance: Option<Maintenance>,
    /// Monitoring of the cluster.
    pub monitoring: Option<Monitoring>,
    /// Infrastructure and worker pools.
    #[schema(required)]
    pub provider: Provider,
    /// What the cluster is for: evaluation, testing, development, production, infrastructure. Default: evaluation.
    pub purpose: Option<String>,
    /// Region of the infrastructure, one of the CloudProfile's. Cannot be changed.
    #[schema(required)]
    pub region: String,
    /// SecretBinding with the credentials of the infrastructure. Cannot be changed but for a credentialsBindingName.
    #[schema(deprecated)]
    pub secret_binding_name: Option<String>,
    /// Seed that runs the control plane; the scheduler sets it. Changed through the subresource `binding` only.
    pub seed_name: Option<String>,
    /// Labels that the Seed must have.
    pub seed_selector: Option<SeedSelector>,
    /// Objects of the Shoot's namespace that extensions refer to, by names.
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
    /// Which scheduler chooses the Seed. Default: default-scheduler. Cannot be changed.
    pub scheduler_name: Option<String>,
    /// CloudProfile or NamespacedCloudProfile with the versions, images and machine types that may be used.
    pub cloud_profile: Option<CloudProfileReference>,
    /// CredentialsBinding with the credentials of the infrastructure.
    pub credentials_binding_name: Option<String>,
    /// Access restrictions that the Seed must offer.
    pub access_restrictions: Vec<AccessRestrictionWithOptions>,
}

/// A Shoot to be made.
#[api_type]
pub struct ShootTemplate {
    /// Labels and annotations of the Shoot.
    pub metadata: ObjectMeta,
    /// What the Shoot is to be.
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
