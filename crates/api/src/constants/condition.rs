// SPDX-License-Identifier: Apache-2.0
//! Types of conditions and constraints, and their statuses.
//!
//! Source: pkg/apis/core/v1beta1/types_{shoot,seed,controllerinstallation}.go, pkg/apis/core/v1beta1/constants @
//! v1.120.0.

/// Shoot: the API server responds.
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
/// Shoot, constraint; since v1.127.
pub const DNS_SERVICE_MIGRATION_READY: &str = "DNSServiceMigrationReady";
/// Shoot, constraint; since v1.130.
pub const USES_UNIFIED_HTTP_PROXY_PORT: &str = "UsesUnifiedHTTPProxyPort";
/// Shoot, constraint; since v1.146.
pub const HAS_IGNORED_MANAGED_RESOURCES: &str = "HasIgnoredManagedResources";
/// Shoot, constraint; since v1.147.
pub const PRESERVED_FAILED_MACHINES_ABSENT: &str = "PreservedFailedMachinesAbsent";
/// Shoot, constraint; since v1.149.
pub const AUTOMATIC_CREDENTIALS_ROTATION_POSSIBLE: &str = "AutomaticCredentialsRotationPossible";
/// Seed: gardenlet sends heartbeats.
pub const SEED_GARDENLET_READY: &str = "GardenletReady";
/// Seed: the system components run.
pub const SEED_SYSTEM_COMPONENTS_HEALTHY: &str = "SeedSystemComponentsHealthy";
/// Seed: reconciliation of its Shoots is stopped; since v1.126.
pub const SEED_EMERGENCY_STOP_SHOOT_RECONCILIATIONS: &str = "EmergencyStopShootReconciliations";
/// Seed: the BackupBuckets are reconciled.
pub const SEED_BACKUP_BUCKETS_READY: &str = "BackupBucketsReady";
/// Seed: the extensions are installed.
pub const SEED_EXTENSIONS_READY: &str = "ExtensionsReady";
/// ControllerInstallation: the registration is valid.
pub const INSTALLATION_VALID: &str = "Valid";
/// ControllerInstallation: everything is deployed.
pub const INSTALLATION_INSTALLED: &str = "Installed";
/// ControllerInstallation: all deployed objects are healthy.
pub const INSTALLATION_HEALTHY: &str = "Healthy";
/// ControllerInstallation: a roll-out is in progress.
pub const INSTALLATION_PROGRESSING: &str = "Progressing";
/// ControllerInstallation: an object in the seed needs it.
pub const INSTALLATION_REQUIRED: &str = "Required";
/// Garden: kube-apiserver of the virtual garden responds.
pub const VIRTUAL_GARDEN_API_SERVER_AVAILABLE: &str = "VirtualGardenAPIServerAvailable";
/// Garden: the components of the runtime cluster run.
pub const RUNTIME_COMPONENTS_HEALTHY: &str = "RuntimeComponentsHealthy";
/// Garden: Gardener's control plane runs.
pub const VIRTUAL_COMPONENTS_HEALTHY: &str = "VirtualComponentsHealthy";
/// Gardenlet: the chart is deployed.
pub const GARDENLET_RECONCILED: &str = "GardenletReconciled";
/// Gardenlet and ManagedSeed: the Seed exists.
pub const SEED_REGISTERED: &str = "SeedRegistered";
/// ManagedSeed: its Shoot is reconciled.
pub const SHOOT_RECONCILED: &str = "ShootReconciled";
/// Status of a condition.
pub const TRUE: &str = "True";
/// Status of a condition.
pub const FALSE: &str = "False";
/// Status of a condition: not healthy, but within the threshold of the condition.
pub const PROGRESSING: &str = "Progressing";
