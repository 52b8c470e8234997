// SPDX-License-Identifier: Apache-2.0
//! Keys and values of finalizers, annotations, labels, conditions and operations, as clients see them.
//!
//! Source: pkg/apis/core/v1beta1/constants/types_constants.go, pkg/apis/core/v1beta1/types_*.go @ v1.120.0.

/// Finalizers.
pub mod finalizer {
    /// On Gardener's own kinds.
    pub const GARDENER: &str = "gardener";
    /// On objects of others that Gardener uses: referenced Secrets, Secrets of a Seed.
    pub const EXTERNAL_GARDENER: &str = "gardener.cloud/gardener";
    /// On a Shoot and on the Secrets and ConfigMaps it refers to.
    pub const REFERENCE_PROTECTION: &str = "gardener.cloud/reference-protection";
    /// On ControllerRegistrations, and on Seeds while anything is installed there.
    pub const CONTROLLER_REGISTRATION: &str = "core.gardener.cloud/controllerregistration";
    /// On ControllerDeployments.
    pub const CONTROLLER_DEPLOYMENT: &str = "core.gardener.cloud/controllerdeployment";
    /// On ControllerInstallations.
    pub const CONTROLLER_INSTALLATION: &str = "core.gardener.cloud/controllerinstallation";
    /// On ShootStates.
    pub const SHOOT_STATE: &str = "core.gardener.cloud/shootstate";
}

/// Keys of annotations.
pub mod annotation {
    /// What is to be done now; see [`super::operation`].
    pub const OPERATION: &str = "gardener.cloud/operation";
    /// What is to be done in the next maintenance time window.
    pub const MAINTENANCE_OPERATION: &str = "maintenance.gardener.cloud/operation";
    /// When an extension object was last asked to be reconciled.
    pub const TIMESTAMP: &str = "gardener.cloud/timestamp";
    /// Who created the object.
    pub const CREATED_BY: &str = "gardener.cloud/created-by";
    /// `true` allows the deletion of a Shoot, Project or ShootState.
    pub const CONFIRMATION_DELETION: &str = "confirmation.gardener.cloud/deletion";
    /// `true` asks for a deletion that leaves resources behind.
    pub const CONFIRMATION_FORCE_DELETION: &str = "confirmation.gardener.cloud/force-deletion";
    /// Who confirmed the deletion.
    pub const DELETION_CONFIRMED_BY: &str = "deletion.gardener.cloud/confirmed-by";
    /// Comma-separated tasks of the next reconciliation; see [`super::task`].
    pub const SHOOT_TASKS: &str = "shoot.gardener.cloud/tasks";
    /// Whether gardenlet leaves the Shoot alone.
    pub const SHOOT_IGNORE: &str = "shoot.gardener.cloud/ignore";
    /// How often gardenlet reconciles the Shoot.
    pub const SHOOT_SYNC_PERIOD: &str = "shoot.gardener.cloud/sync-period";
    /// When the Shoot expires by a Quota.
    pub const SHOOT_EXPIRATION_TIMESTAMP: &str = "shoot.gardener.cloud/expiration-timestamp";
    /// Whether objects in the Shoot are left when it is deleted.
    pub const SHOOT_SKIP_CLEANUP: &str = "shoot.gardener.cloud/skip-cleanup";
    /// Whether readiness of the Shoot's components is not waited for.
    pub const SHOOT_SKIP_READINESS: &str = "shoot.gardener.cloud/skip-readiness";
    /// Upper bound in seconds of the delay with which nodes apply a new OperatingSystemConfig.
    pub const SHOOT_CLOUD_CONFIG_MAX_DELAY: &str = "shoot.gardener.cloud/cloud-config-execution-max-delay-seconds";
    /// Set while a Shoot failed with its roll-out confined to the maintenance time window.
    pub const NEEDS_RETRY_OPERATION: &str = "maintenance.shoot.gardener.cloud/needs-retry-operation";
    /// `managed` for a service account issuer that Gardener serves.
    pub const AUTHENTICATION_ISSUER: &str = "authentication.gardener.cloud/issuer";
    /// Whether the namespace outlives its Project.
    pub const NAMESPACE_KEEP: &str = "namespace.gardener.cloud/keep-after-project-deletion";
    /// Set on namespaces that the Project controller made.
    pub const NAMESPACE_CREATED_BY_PROJECT_CONTROLLER: &str = "namespace.gardener.cloud/created-by-project-controller";
    /// Project that a namespace is meant for.
    pub const NAMESPACE_PROJECT: &str = "namespace.gardener.cloud/project";
    /// Name of the Secret with the generic token kubeconfig.
    pub const GENERIC_TOKEN_KUBECONFIG: &str = "generic-token-kubeconfig.secret.gardener.cloud/name";
}

/// Keys of labels, and prefixes that names are appended to.
pub mod label {
    /// `healthy`, `progressing`, `unhealthy` or `unknown`.
    pub const SHOOT_STATUS: &str = "shoot.gardener.cloud/status";
    /// Uid of the Shoot that a namespace belongs to.
    pub const SHOOT_UID: &str = "shoot.gardener.cloud/uid";
    /// Name of the Shoot.
    pub const SHOOT_NAME: &str = "shoot.gardener.cloud/name";
    /// Prefix, followed by a Seed's name: the Seed that an object is or was assigned to.
    pub const SEED_NAME_PREFIX: &str = "name.seed.gardener.cloud/";
    /// Prefix, followed by an extension type: the object needs it.
    pub const EXTENSION_TYPE_PREFIX: &str = "extensions.extensions.gardener.cloud/";
    /// Prefix, followed by a provider type.
    pub const PROVIDER_TYPE_PREFIX: &str = "provider.extensions.gardener.cloud/";
    /// Project that a namespace belongs to.
    pub const PROJECT_NAME: &str = "project.gardener.cloud/name";
    /// What an object is for: `project`, `shoot`, ….
    pub const ROLE: &str = "gardener.cloud/role";
    /// Worker pool of a Node or MachineDeployment.
    pub const WORKER_POOL: &str = "worker.gardener.cloud/pool";
    /// Older form of [`WORKER_POOL`].
    pub const WORKER_POOL_DEPRECATED: &str = "worker.garden.sapcloud.io/group";
    /// Worker object that a MachineDeployment belongs to.
    pub const WORKER_NAME: &str = "worker.gardener.cloud/name";
    /// Kubernetes version of a Node.
    pub const WORKER_KUBERNETES_VERSION: &str = "worker.gardener.cloud/kubernetes-version";
    /// Key of the OperatingSystemConfig of a Node.
    pub const NODE_AGENT_SECRET_NAME: &str = "worker.gardener.cloud/gardener-node-agent-secret-name";
    /// Name of the container runtime interface of a Node.
    pub const WORKER_CRI_NAME: &str = "worker.gardener.cloud/cri-name";
    /// Whether a Node's pool may run system components.
    pub const WORKER_SYSTEM_COMPONENTS: &str = "worker.gardener.cloud/system-components";
    /// Prefix, followed by a container runtime type.
    pub const CONTAINER_RUNTIME_PREFIX: &str = "containerruntime.worker.gardener.cloud/";
    /// Machine of a Node.
    pub const NODE_MACHINE_NAME: &str = "node.gardener.cloud/machine-name";
    /// Whether node-local DNS runs on a Node.
    pub const NODE_LOCAL_DNS: &str = "networking.gardener.cloud/node-local-dns-enabled";
}

/// Keys of taints.
pub mod taint {
    /// On a fresh Node until its critical components run.
    pub const CRITICAL_COMPONENTS_NOT_READY: &str = "node.gardener.cloud/critical-components-not-ready";
    /// On a Seed that takes only Shoots that tolerate it.
    pub const SEED_PROTECTED: &str = "seed.gardener.cloud/protected";
}

/// Values of [`annotation::OPERATION`] and [`annotation::MAINTENANCE_OPERATION`].
pub mod operation {
    /// Reconcile now.
    pub const RECONCILE: &str = "reconcile";
    /// Try again after a failure.
    pub const RETRY: &str = "retry";
    /// Maintain now.
    pub const MAINTAIN: &str = "maintain";
    /// Update nodes in place although an update is pending.
    pub const FORCE_IN_PLACE_UPDATE: &str = "force-in-place-update";
    /// Take the state out of an extension object.
    pub const MIGRATE: &str = "migrate";
    /// Put the state into an extension object.
    pub const RESTORE: &str = "restore";
    /// The object waits for its state.
    pub const WAIT_FOR_STATE: &str = "wait-for-state";
    /// Keep a Bastion for longer.
    pub const KEEPALIVE: &str = "keepalive";
    /// Give a gardenlet a new kubeconfig.
    pub const RENEW_KUBECONFIG: &str = "renew-kubeconfig";
    /// Start the rotation of all credentials.
    pub const ROTATE_CREDENTIALS_START: &str = "rotate-credentials-start";
    /// The same, without a roll-out of nodes.
    pub const ROTATE_CREDENTIALS_START_WITHOUT_WORKERS: &str = "rotate-credentials-start-without-workers-rollout";
    /// Complete the rotation of all credentials.
    pub const ROTATE_CREDENTIALS_COMPLETE: &str = "rotate-credentials-complete";
    /// Start the rotation of certificate authorities.
    pub const ROTATE_CA_START: &str = "rotate-ca-start";
    /// The same, without a roll-out of nodes.
    pub const ROTATE_CA_START_WITHOUT_WORKERS: &str = "rotate-ca-start-without-workers-rollout";
    /// Complete the rotation of certificate authorities.
    pub const ROTATE_CA_COMPLETE: &str = "rotate-ca-complete";
    /// Start the rotation of the service account key.
    pub const ROTATE_SERVICE_ACCOUNT_KEY_START: &str = "rotate-serviceaccount-key-start";
    /// The same, without a roll-out of nodes.
    pub const ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS: &str =
        "rotate-serviceaccount-key-start-without-workers-rollout";
    /// Complete the rotation of the service account key.
    pub const ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE: &str = "rotate-serviceaccount-key-complete";
    /// Start the rotation of etcd's encryption key.
    pub const ROTATE_ETCD_ENCRYPTION_KEY_START: &str = "rotate-etcd-encryption-key-start";
    /// Complete the rotation of etcd's encryption key.
    pub const ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE: &str = "rotate-etcd-encryption-key-complete";
    /// Rotate the credentials of observability.
    pub const ROTATE_OBSERVABILITY_CREDENTIALS: &str = "rotate-observability-credentials";
    /// Rotate the SSH key pair.
    pub const ROTATE_SSH_KEYPAIR: &str = "rotate-ssh-keypair";
    /// Prefix, followed by comma-separated worker pools: roll them now.
    pub const ROTATE_ROLLOUT_WORKERS_PREFIX: &str = "rotate-rollout-workers=";
}

/// Tasks of [`annotation::SHOOT_TASKS`], in the order in which they are appended.
pub mod task {
    /// Deploy the Infrastructure object anew.
    pub const DEPLOY_INFRASTRUCTURE: &str = "deployInfrastructure";
    /// Deploy the internal DNSRecord anew.
    pub const DEPLOY_DNS_RECORD_INTERNAL: &str = "deployDNSRecordInternal";
    /// Deploy the external DNSRecord anew.
    pub const DEPLOY_DNS_RECORD_EXTERNAL: &str = "deployDNSRecordExternal";
    /// Deploy the DNSRecord of the ingress anew.
    pub const DEPLOY_DNS_RECORD_INGRESS: &str = "deployDNSRecordIngress";
    /// Restart the Pods of the control plane.
    pub const RESTART_CONTROL_PLANE_PODS: &str = "restartControlPlanePods";
    /// Restart the core addons.
    pub const RESTART_CORE_ADDONS: &str = "restartCoreAddons";
}

/// Types of conditions and constraints.
pub mod condition {
    /// Shoot: the API server answers.
    pub const API_SERVER_AVAILABLE: &str = "APIServerAvailable";
    /// Shoot: the control plane's components run.
    pub const CONTROL_PLANE_HEALTHY: &str = "ControlPlaneHealthy";
    /// Shoot: monitoring and logging run.
    pub const OBSERVABILITY_COMPONENTS_HEALTHY: &str = "ObservabilityComponentsHealthy";
    /// Shoot: all nodes are ready.
    pub const EVERY_NODE_READY: &str = "EveryNodeReady";
    /// Shoot: the components in the cluster run.
    pub const SYSTEM_COMPONENTS_HEALTHY: &str = "SystemComponentsHealthy";
    /// Shoot, constraint.
    pub const HIBERNATION_POSSIBLE: &str = "HibernationPossible";
    /// Shoot, constraint.
    pub const MAINTENANCE_PRECONDITIONS_SATISFIED: &str = "MaintenancePreconditionsSatisfied";
    /// Shoot, constraint.
    pub const CA_CERTIFICATE_VALIDITIES_ACCEPTABLE: &str = "CACertificateValiditiesAcceptable";
    /// Shoot, constraint.
    pub const CRDS_WITH_PROBLEMATIC_CONVERSION_WEBHOOKS: &str = "CRDsWithProblematicConversionWebhooks";
    /// Shoot, constraint.
    pub const MANUAL_IN_PLACE_WORKERS_UPDATED: &str = "ManualInPlaceWorkersUpdated";
    /// Shoot, constraint.
    pub const READY_FOR_MIGRATION: &str = "ReadyForMigration";
    /// Seed: gardenlet sends heartbeats.
    pub const SEED_GARDENLET_READY: &str = "GardenletReady";
    /// Seed: the system components run.
    pub const SEED_SYSTEM_COMPONENTS_HEALTHY: &str = "SeedSystemComponentsHealthy";
    /// Seed: the BackupBuckets are reconciled.
    pub const SEED_BACKUP_BUCKETS_READY: &str = "BackupBucketsReady";
    /// Seed: the extensions are installed.
    pub const SEED_EXTENSIONS_READY: &str = "ExtensionsReady";
    /// ControllerInstallation: the registration is valid.
    pub const INSTALLATION_VALID: &str = "Valid";
    /// ControllerInstallation: everything is deployed.
    pub const INSTALLATION_INSTALLED: &str = "Installed";
    /// ControllerInstallation: everything runs.
    pub const INSTALLATION_HEALTHY: &str = "Healthy";
    /// ControllerInstallation: something is rolled out.
    pub const INSTALLATION_PROGRESSING: &str = "Progressing";
    /// ControllerInstallation: something on the seed needs it.
    pub const INSTALLATION_REQUIRED: &str = "Required";
    /// ManagedSeed: the Seed is registered.
    pub const SEED_REGISTERED: &str = "SeedRegistered";
    /// Gardenlet: it is deployed.
    pub const GARDENLET_RECONCILED: &str = "GardenletReconciled";
    /// Status of a condition.
    pub const TRUE: &str = "True";
    /// Status of a condition.
    pub const FALSE: &str = "False";
    /// Status of a condition.
    pub const UNKNOWN: &str = "Unknown";
    /// Status of a condition: not well, and within its threshold.
    pub const PROGRESSING: &str = "Progressing";
}

/// Types and states of last operations.
pub mod last_operation {
    /// Type.
    pub const CREATE: &str = "Create";
    /// Type.
    pub const RECONCILE: &str = "Reconcile";
    /// Type.
    pub const DELETE: &str = "Delete";
    /// Type.
    pub const MIGRATE: &str = "Migrate";
    /// Type.
    pub const RESTORE: &str = "Restore";
    /// State.
    pub const PENDING: &str = "Pending";
    /// State.
    pub const PROCESSING: &str = "Processing";
    /// State.
    pub const SUCCEEDED: &str = "Succeeded";
    /// State: will be tried again.
    pub const ERROR: &str = "Error";
    /// State: will not be tried again by itself.
    pub const FAILED: &str = "Failed";
    /// State.
    pub const ABORTED: &str = "Aborted";
}

/// Values of `spec.provider.workers[].updateStrategy`.
pub mod update_strategy {
    /// New nodes replace old ones.
    pub const ROLLING: &str = "AutoRollingUpdate";
    /// Nodes are updated in place, one after the other.
    pub const AUTO_IN_PLACE: &str = "AutoInPlaceUpdate";
    /// Nodes are updated in place once they are selected.
    pub const MANUAL_IN_PLACE: &str = "ManualInPlaceUpdate";
}

/// Classifications of versions.
pub mod classification {
    /// Not yet for production.
    pub const PREVIEW: &str = "preview";
    /// For production.
    pub const SUPPORTED: &str = "supported";
    /// To be left behind.
    pub const DEPRECATED: &str = "deprecated";
    /// No longer to be used; computed from the expiration date.
    pub const EXPIRED: &str = "expired";
}

/// Namespace of the garden cluster with the landscape's own objects.
pub const GARDEN_NAMESPACE: &str = "garden";
/// Prefix of the namespaces of Projects.
pub const PROJECT_NAMESPACE_PREFIX: &str = "garden-";
/// Namespace of the Leases that gardenlets renew.
pub const SEED_LEASE_NAMESPACE: &str = "gardener-system-seed-lease";
/// Prefix of the garden namespaces of Seeds.
pub const SEED_NAMESPACE_PREFIX: &str = "seed-";
