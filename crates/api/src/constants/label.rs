// SPDX-License-Identifier: Apache-2.0
//! Keys of labels, and prefixes that names are appended to.
//!
//! Source: pkg/apis/core/v1beta1/constants/types_constants.go, pkg/apis/resources/v1alpha1/types.go @ v1.120.0;
//! machine-controller-manager pkg/apis/machine/v1alpha1, pkg/util/{provider,nodeops} @ v0.58; kubernetes
//! staging/src/k8s.io/api/{core,apps}/v1 @ v1.32. Those of Terrarium are its own.

// Gardener.

/// Role of an object; see [`super::role`].
pub const ROLE: &str = "gardener.cloud/role";
/// Purpose of a Secret: `cloudprovider`, `machineclass`.
pub const PURPOSE: &str = "gardener.cloud/purpose";
/// `true` on objects of a project's namespace that only gardenlet may change.
pub const UPDATE_RESTRICTION: &str = "gardener.cloud/update-restriction";
/// Kind of public data about a Shoot: `shoot-ca`.
pub const DISCOVERY_PUBLIC: &str = "discovery.gardener.cloud/public";
/// `healthy`, `progressing`, `unhealthy` or `unknown`.
pub const SHOOT_STATUS: &str = "shoot.gardener.cloud/status";
/// Uid of the Shoot that an object belongs to.
pub const SHOOT_UID: &str = "shoot.gardener.cloud/uid";
/// `true` on objects of a self-hosted Shoot (since v1.132).
pub const SELF_HOSTED: &str = "shoot.gardener.cloud/self-hosted";
/// `force-migrated` on a CredentialsBinding that maintenance has created from a SecretBinding (since v1.127).
pub const CREDENTIALS_BINDING_STATUS: &str = "credentialsbinding.gardener.cloud/status";
/// Name of the Shoot.
pub const SHOOT_NAME: &str = "shoot.gardener.cloud/name";
/// Provider type of the Shoot that a namespace belongs to.
pub const SHOOT_PROVIDER: &str = "shoot.gardener.cloud/provider";
/// Prefix, followed by a provider type: Shoots of that type use the credentials.
pub const SHOOT_PROVIDER_PREFIX: &str = "provider.shoot.gardener.cloud/";
/// Network type of the Shoot that a namespace belongs to.
pub const SHOOT_NETWORKING_PROVIDER: &str = "networking.shoot.gardener.cloud/provider";
/// Provider type of the Seed that a namespace is in.
pub const SEED_PROVIDER: &str = "seed.gardener.cloud/provider";
/// Provider type of the backups of the Shoot that a namespace belongs to.
pub const BACKUP_PROVIDER: &str = "backup.gardener.cloud/provider";
/// Prefix, followed by an extension type, on the namespace of a Shoot that has it.
pub const EXTENSION_PREFIX: &str = "extensions.gardener.cloud/";
/// Prefix, followed by a Seed's name: the Seed that an object is or was assigned to.
pub const SEED_NAME_PREFIX: &str = "name.seed.gardener.cloud/";
/// Infix of labels that name a needed extension: it stands between the extension's class and its type. The classes are
/// `provider`, `dnsrecord`, `networking`, `extensions`, `containerruntime` and `operatingsystemconfig`.
pub const EXTENSION_CLASS_INFIX: &str = ".extensions.gardener.cloud/";
/// `true`: gardener-resource-manager configures high availability for the workload of a namespace.
pub const HIGH_AVAILABILITY_CONSIDER: &str = "high-availability-config.resources.gardener.cloud/consider";
/// `true` on a Gardenlet whose chart follows the version of gardener-operator.
pub const AUTO_UPDATE_GARDENLET: &str = "operator.gardener.cloud/auto-update-gardenlet-helm-chart-ref";
/// Manager of an object in a Shoot or in `runtime`: `gardener`.
pub const MANAGED_BY: &str = "resources.gardener.cloud/managed-by";
/// `true` on Pods that maintenance restarts.
pub const MAINTENANCE_RESTART: &str = "maintenance.gardener.cloud/restart";
/// `true`: a SecretBinding refers to the object.
pub const REFERENCE_SECRET_BINDING: &str = "reference.gardener.cloud/secretbinding";
/// `true`: a CredentialsBinding refers to the object.
pub const REFERENCE_CREDENTIALS_BINDING: &str = "reference.gardener.cloud/credentialsbinding";
/// Purpose of a ConfigMap for the scheduler: `region-config`.
pub const SCHEDULING_PURPOSE: &str = "scheduling.gardener.cloud/purpose";
/// Project that a namespace belongs to.
pub const PROJECT_NAME: &str = "project.gardener.cloud/name";
/// Role of extensions in Projects into which a ClusterRole is aggregated.
pub const AGGREGATE_TO_EXTENSION_ROLE: &str = "rbac.gardener.cloud/aggregate-to-extension-role";
/// Worker pool of a Node, MachineDeployment or OperatingSystemConfig.
pub const WORKER_POOL: &str = "worker.gardener.cloud/pool";
/// Older form of [`WORKER_POOL`].
pub const WORKER_POOL_DEPRECATED: &str = "worker.garden.sapcloud.io/group";
/// Worker object that a MachineDeployment belongs to.
pub const WORKER_NAME: &str = "worker.gardener.cloud/name";
/// Kubernetes version of a Node's kubelet, without `v`.
pub const WORKER_KUBERNETES_VERSION: &str = "worker.gardener.cloud/kubernetes-version";
/// Key of the OperatingSystemConfig of a Node.
pub const NODE_AGENT_SECRET_NAME: &str = "worker.gardener.cloud/gardener-node-agent-secret-name";
/// Name of the container runtime interface of a Node.
pub const WORKER_CRI_NAME: &str = "worker.gardener.cloud/cri-name";
/// `true` if a Node's pool may run system components.
pub const WORKER_SYSTEM_COMPONENTS: &str = "worker.gardener.cloud/system-components";
/// Prefix, followed by a container runtime type.
pub const CONTAINER_RUNTIME_PREFIX: &str = "containerruntime.worker.gardener.cloud/";
/// Machine of a Node.
pub const NODE_MACHINE_NAME: &str = "node.gardener.cloud/machine-name";
/// `true` if node-local DNS runs on a Node.
pub const NODE_LOCAL_DNS: &str = "networking.gardener.cloud/node-local-dns-enabled";

// machine-controller-manager.

/// Name of a Machine's Node.
pub const MACHINE_NODE: &str = "node";
/// Hash of the template of a MachineSet or Machine.
pub const MACHINE_TEMPLATE_HASH: &str = "machine-template-hash";
/// `True` on a Machine whose drain is forced.
pub const MACHINE_FORCE_DELETION: &str = "force-deletion";
/// `True` on a Machine whose drain before an in-place update is forced.
pub const MACHINE_FORCE_DRAIN: &str = "force-drain";
/// `True` on a MachineSet that has too many Machines and creates none, and on its MachineDeployment.
pub const FREEZE: &str = "freeze";
/// A Node whose machine is to be updated in place.
pub const CANDIDATE_FOR_UPDATE: &str = "node.machine.sapcloud.io/candidate-for-update";
/// A Node that was selected for an in-place update; only the presence of the label counts.
pub const SELECTED_FOR_UPDATE: &str = "node.machine.sapcloud.io/selected-for-update";
/// Result of a Node's in-place update: `successful` or `failed`.
pub const UPDATE_RESULT: &str = "node.machine.sapcloud.io/update-result";
/// A MachineSet that an in-place update must not scale up.
pub const SCALE_UP_DISABLED: &str = "node.machine.sapcloud.io/scale-up-disabled";

// Kubernetes.

/// Name of a namespace.
pub const METADATA_NAME: &str = "kubernetes.io/metadata.name";
/// Name of a Node.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// Architecture of a Node.
pub const ARCHITECTURE: &str = "kubernetes.io/arch";
/// Older form of [`ARCHITECTURE`].
pub const ARCHITECTURE_BETA: &str = "beta.kubernetes.io/arch";
/// Operating system of a Node.
pub const OPERATING_SYSTEM: &str = "kubernetes.io/os";
/// Older form of [`OPERATING_SYSTEM`].
pub const OPERATING_SYSTEM_BETA: &str = "beta.kubernetes.io/os";
/// Machine type of a Node.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// Older form of [`INSTANCE_TYPE`].
pub const INSTANCE_TYPE_BETA: &str = "beta.kubernetes.io/instance-type";
/// Region of a Node.
pub const TOPOLOGY_REGION: &str = "topology.kubernetes.io/region";
/// Older form of [`TOPOLOGY_REGION`].
pub const TOPOLOGY_REGION_BETA: &str = "failure-domain.beta.kubernetes.io/region";
/// Zone of a Node.
pub const TOPOLOGY_ZONE: &str = "topology.kubernetes.io/zone";
/// Older form of [`TOPOLOGY_ZONE`].
pub const TOPOLOGY_ZONE_BETA: &str = "failure-domain.beta.kubernetes.io/zone";
/// Role of a Node, as Gardener sets it: `node`.
pub const NODE_ROLE: &str = "node.kubernetes.io/role";
/// Pod Security Standard that the Pods of a namespace must meet.
pub const POD_SECURITY_ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// Hash of the template of a ReplicaSet or of its Pods.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// Hash of the template of a DaemonSet's or StatefulSet's Pods.
pub const CONTROLLER_REVISION_HASH: &str = "controller-revision-hash";
/// Hash of the template that a StatefulSet's ControllerRevision keeps.
pub const CONTROLLER_REVISION: &str = "controller.kubernetes.io/hash";
/// Ordinal of a StatefulSet's Pod.
pub const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
/// Name of a StatefulSet's Pod.
pub const STATEFUL_SET_POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

// Terrarium.

/// Component of a Lease.
pub const COMPONENT: &str = "terrarium.dev/component";
/// Seed of a gardenlet and of other components in that Seed, on the component's Lease.
pub const COMPONENT_SEED: &str = "terrarium.dev/seed";
