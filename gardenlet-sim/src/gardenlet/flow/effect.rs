// SPDX-License-Identifier: Apache-2.0
//! What the tasks of a flow do.

/// What a task does, or waits for.
use api::constants::task;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing that anybody could observe; why.
    Unseen(&'static str),
    /// The control plane namespace.
    Namespace,
    /// `status.clusterIdentity`.
    ClusterIdentity,
    /// Secret `cloudprovider`.
    CloudProviderSecret,
    /// CAs and keys, as far as users see them in the project namespace.
    SecretsManagement,
    /// Copies of what `spec.resources` names.
    ReferencedResources,
    /// The copies go.
    DestroyReferencedResources,
    /// `status.advertisedAddresses`.
    AdvertisedAddresses,
    /// DNSRecord `<shoot>-internal`, and waits for it.
    InternalDnsRecord,
    /// DNSRecord `<shoot>-external`, and waits for it.
    ExternalDnsRecord,
    /// DNSRecord `<shoot>-ingress`, and waits for it; goes when the addon is off.
    IngressDnsRecord,
    /// A DNSRecord goes, and waits until it is gone.
    DestroyDnsRecord(Dns),
    /// The BackupEntry of the project namespace.
    BackupEntry,
    /// Waits until the BackupEntry is reconciled.
    AwaitBackupEntry,
    /// Deployments and their like.
    DeployComponents(&'static [Component]),
    /// Waits until they are rolled out.
    AwaitComponents(&'static [Component]),
    /// They go.
    DestroyComponents(&'static [Component]),
    /// To no replicas.
    ScaleDown(Component),
    /// kube-apiserver, and the cluster that it serves.
    DeployKubeApiserver,
    /// The same with the authorizer for node agents.
    DeployKubeApiserverWithAuthorizer,
    /// Waits until kube-apiserver is rolled out; from then on the cluster has its version.
    AwaitKubeApiserver,
    /// coredns, restarted if the task is set.
    DeployCoreDns,
    /// kube-proxy, a DaemonSet a pool and version.
    DeployKubeProxy,
    /// DaemonSets of pools and versions that are gone.
    StaleKubeProxy,
    /// All of kube-proxy goes.
    DestroyKubeProxy,
    /// Writes extension objects whose inputs changed.
    Deploy(Resource),
    /// Waits until the extension has acted.
    Await(Resource),
    /// Deletes extension objects.
    Destroy(Resource),
    /// Waits until they are gone.
    AwaitDestroyed(Resource),
    /// Deletes extension objects that the spec no longer asks for.
    DestroyStale(Resource),
    /// Waits until they are gone.
    AwaitDestroyedStale(Resource),
    /// Extension objects of one lifecycle.
    DeployExtensions(Lifecycle),
    /// Waits for them.
    AwaitExtensions(Lifecycle),
    /// Deletes those of one lifecycle.
    DestroyExtensions(Lifecycle),
    /// Waits until they are gone.
    AwaitExtensionsDestroyed(Lifecycle),
    /// The first request to the cluster.
    ConnectToShoot,
    /// `status.encryptedResources`.
    EncryptedResources,
    /// ConfigMap `kube-system/cluster-identity`.
    ShootClusterIdentity,
    /// ConfigMap `kube-system/shoot-info`.
    ShootInfo,
    /// Secrets of the node agents in `kube-system`.
    NodeAgentSecrets,
    /// Waits until the Worker lists its MachineDeployments anew.
    AwaitMachineDeployments,
    /// Waits until every Node runs what its pool asks for.
    AwaitNodesUpdated,
    /// Everything in the control plane namespace to no replicas.
    HibernateControlPlane,
    /// Deletes the pods that say that they want a restart.
    RestartControlPlanePods,
    /// The logical cluster goes.
    DestroyCluster,
    /// The control plane namespace goes.
    DestroyNamespace,
    /// Waits until it is gone.
    AwaitNamespaceDestroyed,
    /// The ShootState goes.
    DestroyShootState,
}

/// An object that stands for a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Component {
    ApiserverProxy,
    ClusterAutoscaler,
    CoreDns,
    EtcdEvents,
    EtcdMain,
    GardenerResourceManager,
    IstioBasicAuthServer,
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    MachineControllerManager,
    MetricsServer,
    NetworkPlugin,
    NodeExporter,
    NodeLocalDns,
    NodeProblemDetector,
    OpenTelemetryCollector,
    VpaAdmissionController,
    VpaRecommender,
    VpaUpdater,
    VpnShoot,
}

/// Extension objects that a task is about.
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

/// When Extension objects are acted upon, by their registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    AfterKubeApiserver,
    AfterWorker,
    BeforeKubeApiserver,
}

/// Which DNSRecord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dns {
    External,
    Ingress,
    Internal,
}

impl Dns {
    /// Suffix of the record's name.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::Ingress => "ingress",
            Self::Internal => "internal",
        }
    }

    /// The task of `shoot.gardener.cloud/tasks` that asks for it.
    pub(crate) const fn task(self) -> &'static str {
        match self {
            Self::External => task::DEPLOY_DNS_RECORD_EXTERNAL,
            Self::Ingress => task::DEPLOY_DNS_RECORD_INGRESS,
            Self::Internal => task::DEPLOY_DNS_RECORD_INTERNAL,
        }
    }
}

/// Why tasks leave nothing that anybody could observe.
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
