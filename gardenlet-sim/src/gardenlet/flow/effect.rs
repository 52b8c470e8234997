// SPDX-License-Identifier: Apache-2.0
//! Effects of the tasks of a flow.

use api::constants::task;
use domain::shoot_components::Component;

/// Effect of a task: what it writes, deletes or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No observable effect; the reason.
    Unseen(&'static str),
    /// The control plane namespace.
    Namespace,
    /// Value of `status.clusterIdentity`.
    ClusterIdentity,
    /// Secret `cloudprovider`.
    CloudProviderSecret,
    /// CAs and keys, as far as they are visible in the project namespace.
    SecretsManagement,
    /// Copies of the objects that `spec.resources` names.
    ReferencedResources,
    /// Deletes the copies.
    DestroyReferencedResources,
    /// Value of `status.advertisedAddresses`.
    AdvertisedAddresses,
    /// DNSRecord `<shoot>-internal`, and waits for it.
    InternalDnsRecord,
    /// DNSRecord `<shoot>-external`, and waits for it.
    ExternalDnsRecord,
    /// DNSRecord `<shoot>-ingress`, and waits for it; deletes it when the addon is off.
    IngressDnsRecord,
    /// Deletes a DNSRecord, and waits until it is removed.
    DestroyDnsRecord(Dns),
    /// The BackupEntry of the project namespace.
    BackupEntry,
    /// Waits until the BackupEntry is reconciled.
    AwaitBackupEntry,
    /// Objects of the components that the task deploys.
    DeployComponents,
    /// Waits until the components are rolled out.
    AwaitComponents(&'static [Component]),
    /// Deletes the objects of components.
    DestroyComponents(&'static [Component]),
    /// Scales a component to no replicas.
    ScaleDown(Component),
    /// kube-apiserver, and the cluster that it serves.
    DeployKubeApiserver,
    /// kube-apiserver and its cluster, with the authorizer for node agents.
    DeployKubeApiserverWithAuthorizer,
    /// Waits until kube-apiserver is rolled out; then the cluster gets its version.
    AwaitKubeApiserver,
    /// coredns, restarted if the task is set.
    DeployCoreDns,
    /// kube-proxy, one DaemonSet for each pool and version.
    DeployKubeProxy,
    /// Deletes the DaemonSets of former pools and versions.
    StaleKubeProxy,
    /// Deletes all DaemonSets of kube-proxy.
    DestroyKubeProxy,
    /// Writes extension objects whose inputs changed.
    Deploy(Resource),
    /// Waits until the extension has acted.
    Await(Resource),
    /// Deletes extension objects.
    Destroy(Resource),
    /// Waits until extension objects are removed.
    AwaitDestroyed(Resource),
    /// Deletes extension objects that the spec no longer requires.
    DestroyStale(Resource),
    /// Waits until those are removed.
    AwaitDestroyedStale(Resource),
    /// Writes Extension objects of one lifecycle.
    DeployExtensions(Lifecycle),
    /// Waits for Extension objects of one lifecycle.
    AwaitExtensions(Lifecycle),
    /// Deletes Extension objects of one lifecycle.
    DestroyExtensions(Lifecycle),
    /// Waits until Extension objects of one lifecycle are removed.
    AwaitExtensionsDestroyed(Lifecycle),
    /// The first request to the cluster.
    ConnectToShoot,
    /// Value of `status.encryptedResources`.
    EncryptedResources,
    /// ConfigMap `kube-system/cluster-identity`.
    ShootClusterIdentity,
    /// ConfigMap `kube-system/shoot-info`.
    ShootInfo,
    /// Secrets of the node agents in `kube-system`.
    NodeAgentSecrets,
    /// Waits until the Worker lists its updated MachineDeployments.
    AwaitMachineDeployments,
    /// Waits until every Node runs the version of its pool.
    AwaitNodesUpdated,
    /// Scales everything in the control plane namespace to no replicas.
    HibernateControlPlane,
    /// Deletes the pods that are labelled for a restart in maintenance.
    RestartControlPlanePods,
    /// Deletes the logical cluster.
    DestroyCluster,
    /// Deletes the control plane namespace.
    DestroyNamespace,
    /// Waits until the control plane namespace is removed.
    AwaitNamespaceDestroyed,
    /// Deletes the ShootState.
    DestroyShootState,
}

/// Extension objects that a task handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    ContainerRuntimes,
    ControlPlane,
    ControlPlaneExposure,
    Extensions,
    Infrastructure,
    Network,
    OperatingSystemConfigs,
    Worker,
}

/// Time at which Extension objects are reconciled or deleted, by their registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    AfterKubeApiserver,
    AfterWorker,
    BeforeKubeApiserver,
}

/// DNSRecord of a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dns {
    External,
    Ingress,
    Internal,
}

impl Dns {
    /// Returns the suffix of the record's name.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::Ingress => "ingress",
            Self::Internal => "internal",
        }
    }

    /// Returns the task of `shoot.gardener.cloud/tasks` that requests the record.
    pub(crate) const fn task(self) -> &'static str {
        match self {
            Self::External => task::DEPLOY_DNS_RECORD_EXTERNAL,
            Self::Ingress => task::DEPLOY_DNS_RECORD_INGRESS,
            Self::Internal => task::DEPLOY_DNS_RECORD_INTERNAL,
        }
    }
}

/// Reasons why tasks have no observable effect.
pub(crate) mod unseen {
    use super::Effect::{self, Unseen};

    pub(crate) const ADDONS: Effect = Unseen("the addon leaves no object that is simulated");
    pub(crate) const BACKUP_COPIES: Effect = Unseen("only a control plane migration copies backups");
    pub(crate) const BASTIONS: Effect = Unseen("Bastions are not simulated yet");
    pub(crate) const DUAL_STACK: Effect = Unseen("Nodes get their CIDRs when they register");
    pub(crate) const ENCRYPTION: Effect = Unseen("stored objects are not encrypted");
    pub(crate) const ETCD_DELETION: Effect = Unseen("an etcd is gone as soon as it is deleted");
    pub(crate) const HIBERNATED_EXTENSIONS: Effect = Unseen("extensions keep their objects while hibernated");
    pub(crate) const INGRESSES: Effect = Unseen("Ingresses of the control plane are not simulated");
    pub(crate) const LOGGING: Effect = Unseen("the logging stack is not simulated");
    pub(crate) const NAMESPACES: Effect = Unseen("the cluster has its namespaces from the start");
    pub(crate) const OBSERVABILITY: Effect = Unseen("the observability stack is not simulated");
    pub(crate) const RESTORED_ETCD: Effect = Unseen("only a restored, highly available etcd is scaled here");
    pub(crate) const SCALING: Effect = Unseen("an existing control plane is not scaled");
    pub(crate) const SERVICES: Effect = Unseen("Services of the control plane are not simulated");
    pub(crate) const SIGNING_KEYS: Effect = Unseen("signing keys are not published in the garden cluster");
    pub(crate) const SNAPSHOTS: Effect = Unseen("etcd snapshots are not simulated");
    pub(crate) const SNI: Effect = Unseen("the SNI settings are not simulated");
    pub(crate) const TOKENS: Effect = Unseen("tokens of components are not simulated");
    pub(crate) const TUNNEL: Effect = Unseen("the tunnel is shown by its end in the cluster, vpn-shoot");
    pub(crate) const WHOLE_CLUSTER: Effect = Unseen("the cluster and all in it goes with its API server");
}
