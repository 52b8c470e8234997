// SPDX-License-Identifier: Apache-2.0
//! Keys of annotations, and prefixes that names are appended to.
//!
//! Source: pkg/apis/core/v1beta1/constants/types_constants.go, pkg/apis/core/v1beta1/types_*.go,
//! pkg/apis/resources/v1alpha1/types.go, pkg/utils/gardener/dns.go, pkg/gardenlet/operation/botanist/coredns.go @ v1.120.0;
//! machine-controller-manager pkg/apis/machine/v1alpha1, pkg/util/{provider,nodeops} @ v0.58; Gardener's cluster-autoscaler,
//! cloudprovider/mcm; kubernetes pkg/controller/deployment/util/deployment_util.go and staging/src/k8s.io/{api,kubectl} @
//! v1.32. Those of Terrarium are its own.
//!
//! `Users set it.` ends the descriptions of annotations that users set: the reference lists these first.

// Gardener.

/// Operation to perform now, one of the [operations](super::operation). Users set it.
pub const OPERATION: &str = "gardener.cloud/operation";
/// Operation to perform in the next maintenance time window, one of the [operations](super::operation). Users set it.
pub const MAINTENANCE_OPERATION: &str = "maintenance.gardener.cloud/operation";
/// Time of the last request to reconcile an extension object.
pub const TIMESTAMP: &str = "gardener.cloud/timestamp";
/// Time of the last restart of the core addons, on the template of their Pods.
pub const RESTARTED_AT: &str = "gardener.cloud/restarted-at";
/// User that created the object.
pub const CREATED_BY: &str = "gardener.cloud/created-by";
/// `true` allows the deletion of a Shoot, Project or ShootState. Users set it.
pub const CONFIRMATION_DELETION: &str = "confirmation.gardener.cloud/deletion";
/// `true` requests a deletion that leaves resources behind. Users set it.
pub const CONFIRMATION_FORCE_DELETION: &str = "confirmation.gardener.cloud/force-deletion";
/// `true` requests a deletion of a BackupEntry that keeps the backups. Users set it.
pub const BACKUP_ENTRY_FORCE_DELETION: &str = "backupentry.core.gardener.cloud/force-deletion";
/// User that confirmed the deletion.
pub const DELETION_CONFIRMED_BY: &str = "deletion.gardener.cloud/confirmed-by";
/// Comma-separated [tasks](super::task) of the next reconciliation. Users set it.
pub const SHOOT_TASKS: &str = "shoot.gardener.cloud/tasks";
/// `true`: gardenlet does not reconcile the Shoot, if it is configured to respect the annotation. Users set it.
pub const SHOOT_IGNORE: &str = "shoot.gardener.cloud/ignore";
/// Seed: `true` keeps gardenlet from reconciling the Shoots of the Seed; since v1.126. Operators set it.
pub const SHOOT_EMERGENCY_STOP_RECONCILIATIONS: &str = "shoot.gardener.cloud/emergency-stop-reconciliations";
/// Interval, as a Go duration, at which gardenlet reconciles the Shoot, if it is configured to respect the annotation. Users
/// set it.
pub const SHOOT_SYNC_PERIOD: &str = "shoot.gardener.cloud/sync-period";
/// Time at which the Shoot expires according to a Quota.
pub const SHOOT_EXPIRATION_TIMESTAMP: &str = "shoot.gardener.cloud/expiration-timestamp";
/// `true`: objects in the Shoot are not cleaned up when it is deleted. Users set it.
pub const SHOOT_SKIP_CLEANUP: &str = "shoot.gardener.cloud/skip-cleanup";
/// `true`: reconciliation does not wait until the Shoot's components are ready. Users set it.
pub const SHOOT_SKIP_READINESS: &str = "shoot.gardener.cloud/skip-readiness";
/// Upper bound in seconds of the delay with which nodes apply a new OperatingSystemConfig. Users set it.
pub const SHOOT_CLOUD_CONFIG_MAX_DELAY: &str = "shoot.gardener.cloud/cloud-config-execution-max-delay-seconds";
/// Uid of the Shoot that a control plane's namespace belongs to.
pub const SHOOT_UID: &str = "shoot.gardener.cloud/uid";
/// Intent of a live migration of a Shoot's control plane (since v1.148).
pub const LIVE_MIGRATE: &str = "migration.gardener.cloud/live-migrate";
/// `true` on a failed Shoot whose specification changed while roll-outs are confined to the maintenance time window: the
/// next maintenance retries its operation.
pub const NEEDS_RETRY_OPERATION: &str = "maintenance.shoot.gardener.cloud/needs-retry-operation";
/// Overrides whether the VPN of a Shoot is highly available; otherwise it is if the control plane is. Users set it.
pub const HIGH_AVAILABILITY_VPN: &str = "alpha.control-plane.shoot.gardener.cloud/high-availability-vpn";
/// `true`: gardener-resource-manager deletes the object and creates it again if an update is invalid.
pub const DELETE_ON_INVALID_UPDATE: &str = "resources.gardener.cloud/delete-on-invalid-update";
/// Failure tolerance of the control plane in a namespace: `node`, `zone` or empty.
pub const FAILURE_TOLERANCE_TYPE: &str = "high-availability-config.resources.gardener.cloud/failure-tolerance-type";
/// `managed` for a service account issuer that Gardener serves. Users set it.
pub const AUTHENTICATION_ISSUER: &str = "authentication.gardener.cloud/issuer";
/// `true`: the namespace is kept when its Project is deleted. Users set it.
pub const NAMESPACE_KEEP: &str = "namespace.gardener.cloud/keep-after-project-deletion";
/// `true` on a namespace that the Project controller created.
pub const NAMESPACE_CREATED_BY_PROJECT_CONTROLLER: &str = "namespace.gardener.cloud/created-by-project-controller";
/// Uid of the Project on its namespace. Users set it.
pub const NAMESPACE_PROJECT: &str = "namespace.gardener.cloud/project";
/// Provider type of a Secret with a domain. Users set it.
pub const DNS_PROVIDER: &str = "dns.gardener.cloud/provider";
/// Domain of a Secret with a domain. Users set it.
pub const DNS_DOMAIN: &str = "dns.gardener.cloud/domain";
/// Zone of a Secret with a domain. Users set it.
pub const DNS_ZONE: &str = "dns.gardener.cloud/zone";
/// Priority of a Secret with a default domain; the highest takes precedence. Users set it.
pub const DNS_DEFAULT_DOMAIN_PRIORITY: &str = "dns.gardener.cloud/domain-default-priority";
/// Comma-separated CloudProfiles that a ConfigMap with distances of regions is for. Users set it.
pub const SCHEDULING_CLOUD_PROFILES: &str = "scheduling.gardener.cloud/cloudprofiles";
/// Prefix, followed by an option of the cluster-autoscaler, on a MachineDeployment: the pool's own value.
pub const AUTOSCALER_PREFIX: &str = "autoscaler.gardener.cloud/";

// machine-controller-manager and gardener-node-agent.

/// Priority of a Machine for deletion; `1` is deleted first. Users set it.
pub const MACHINE_PRIORITY: &str = "machinepriority.machine.sapcloud.io";
/// Allows a frozen MachineSet, or the frozen sets of a MachineDeployment, to create Machines again. Users set it.
pub const UNFREEZE: &str = "safety.machine.sapcloud.io/unfreeze";
/// `True` on a MachineSet whose nodes carry [`super::taint::PREFER_NO_SCHEDULE`].
pub const PREFER_NO_SCHEDULE: &str = "deployment.machine.sapcloud.io/prefer-no-schedule";
/// Annotations, labels and taints of a Node's machine template that were applied last, as JSON.
pub const NODE_LAST_APPLIED: &str = "node.machine.sapcloud.io/last-applied-anno-labels-taints";
/// Reason for which the in-place update of a Node failed.
pub const UPDATE_FAILED_REASON: &str = "node.machine.sapcloud.io/update-failed-reason";
/// Preservation of a Machine or of a Node's Machine: now, when-failed, false, auto-preserved.
pub const NODE_PRESERVE: &str = "node.machine.sapcloud.io/preserve";
/// Value of a Node's `node.machine.sapcloud.io/preserve` that was applied last, on its Machine.
pub const LAST_APPLIED_NODE_PRESERVE: &str = "node.machine.sapcloud.io/last-applied-node-preserve-value";
/// Version of the operating system to which gardener-node-agent is updating a Node.
pub const UPDATING_OPERATING_SYSTEM: &str = "node-agent.gardener.cloud/updating-operating-system-version";
/// Checksum of the OperatingSystemConfig that a Node applied last.
pub const NODE_CHECKSUM: &str = "checksum/cloud-config-data";
/// Checksum of the OperatingSystemConfig in a Secret for nodes.
pub const NODE_AGENT_SECRET_CHECKSUM: &str = "checksum/data-script";

// Kubernetes and the cluster-autoscaler.

/// Counter of the templates of a Deployment or MachineDeployment; on a set, that of its template.
pub const DEPLOYMENT_REVISION: &str = "deployment.kubernetes.io/revision";
/// Comma-separated revisions that a set had before it became the newest again.
pub const DEPLOYMENT_REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// Replicas of the Deployment or MachineDeployment when it scaled the set last.
pub const DEPLOYMENT_DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// Replicas plus surge of the Deployment or MachineDeployment when it scaled the set last.
pub const DEPLOYMENT_MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// Revision to which a Deployment of `extensions/v1beta1` was to be rolled back.
pub const DEPLOYMENT_ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
/// Deletion cost of a Pod when a set is scaled down; the lowest is deleted first. Users set it.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// Manifest of the last `kubectl apply`.
pub const KUBECTL_LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// `true` on the StorageClass that claims without a class use. Users set it.
pub const DEFAULT_STORAGE_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// Older form of [`DEFAULT_STORAGE_CLASS`].
pub const BETA_DEFAULT_STORAGE_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";
/// StorageClass of a claim, in the form of older clients. Users set it.
pub const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// `yes` on a claim whose binding to a volume is complete.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// `yes` on a claim whose volume was chosen by the controller.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// Name of the provisioner that created a volume.
pub const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Name of the node that was chosen for the pod of a claim.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Name of the provisioner that creates the volume of a claim.
pub const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// Older form of [`STORAGE_PROVISIONER`].
pub const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// Set by a kubelet on a Pod that it read from a file of its node.
pub const MIRROR_POD: &str = "kubernetes.io/config.mirror";
/// Time of the last `kubectl rollout restart`, on the template of the Pods. Users set it.
pub const KUBECTL_RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// `true` keeps the cluster-autoscaler from removing a Node. Users set it.
pub const SCALE_DOWN_DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/// `true`: machine-controller-manager set [`SCALE_DOWN_DISABLED`].
pub const SCALE_DOWN_DISABLED_BY_MCM: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm";

// Terrarium.

/// Cluster of an object that was read from all clusters at once.
pub const CLUSTER: &str = "terrarium.dev/cluster";
/// Emulated version of a component, on its Lease.
pub const COMPONENT_VERSION: &str = "terrarium.dev/version";
/// Highest versions that ever ran, on the namespace of the Leases.
pub const HIGH_WATER_MARKS: &str = "terrarium.dev/high-water-marks";
/// Reaction to components whose versions violate the version skew rules: `enforce`, `warn` or `off`; on the namespace of the
/// Leases. Users set it.
pub const SKEW_ENFORCEMENT: &str = "terrarium.dev/skew-enforcement";
/// `true`: components may be downgraded, on the namespace of the Leases. Users set it.
pub const ALLOW_DOWNGRADE: &str = "terrarium.dev/allow-downgrade";
/// Address of an API server, on its Lease.
pub const COMPONENT_ENDPOINT: &str = "terrarium.dev/endpoint";
/// Id, name and version of a component as JSON, on its Lease.
pub const COMPONENT_IDENTITY: &str = "terrarium.dev/identity";
/// Set on a Lease whose owner has stopped.
pub const OWNER_HAS_GONE: &str = "terrarium.dev/owner-has-gone";
/// Gardener version that wrote an object which represents a component.
pub const GARDENER_VERSION: &str = "terrarium.dev/gardener-version";
/// Version of the gardener-apiserver that created a Shoot, `v1.120.0`: some defaults are for new Shoots only.
pub const CREATED_WITH_GARDENER_VERSION: &str = "terrarium.dev/created-with-gardener-version";
/// Version of the extensions library that an extension is built with, on its ControllerDeployment or operator Extension.
/// Users set it.
pub const EXTENSIONS_LIBRARY_VERSION: &str = "terrarium.dev/extensions-library-version";
/// Form of a component, on its Pods: `process` runs it as a process in a landscape whose components run in one process.
/// Users set it.
pub const COMPONENT_FORM: &str = "terrarium.dev/form";
/// `true` on kube-apiserver's Pods that have the authorizer for node agents.
pub const NODE_AGENT_AUTHORIZER: &str = "terrarium.dev/node-agent-authorizer";
/// Duration until a simulated Pod is ready. Users set it.
pub const POD_START: &str = "terrarium.dev/pod-start";
/// Duration until a simulated Pod terminates, at most its grace period; `never`: it does not terminate by itself. Users set it.
pub const POD_END: &str = "terrarium.dev/pod-end";
/// Ordinal of a Machine in its MachineDeployment, by creation, from 1 on.
pub const MACHINE_ORDINAL: &str = "terrarium.dev/machine-ordinal";
/// Configuration that in-place updates apply, `{"kubelet":"1.31","operatingSystem":"1096.1.0"}`: the desired one on the Secret
/// for the nodes of a pool, the applied one on a Node.
pub const IN_PLACE_CONFIGURATION: &str = "terrarium.dev/in-place-configuration";
/// Comma-separated injected faults: on a Machine the kinds of faults that stay with it, on a Node the types of its conditions
/// that faults have set.
pub const FAULTS: &str = "terrarium.dev/faults";
/// Fault to inject into a simulated Pod.
pub const POD_FAULT: &str = "terrarium.dev/pod-fault";
/// Previous maintenance time window of a Shoot whose window was changed while roll-outs are confined, and the time
/// until which it applies: `{"begin":"220000+0000","end":"230000+0000","until":"2025-06-15T22:45:00Z"}`.
pub const UPCOMING_TIME_WINDOW: &str = "maintenance.terrarium.dev/upcoming-time-window";
