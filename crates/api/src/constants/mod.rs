// SPDX-License-Identifier: Apache-2.0
//! Vocabulary of the API: keys and values of finalizers, annotations, labels, taints, conditions and operations, names of
//! namespaces and versions of groups.
//!
//! **Invariant.** Product code of other crates does not repeat such a key as a literal; `cargo xtask tidy` rejects it. Tests
//! do, so that they detect a wrong constant.
//!
//! Source: pkg/apis/core/v1beta1/constants/types_constants.go, pkg/apis/core/v1beta1/types_*.go, pkg/apis/security,
//! pkg/apis/authentication @ v1.120.0; machine-controller-manager pkg/apis/machine/v1alpha1, pkg/util/provider @ v0.58;
//! kubernetes staging/src/k8s.io/api/core/v1/well_known_taints.go @ v1.32.

pub mod annotation;
pub mod condition;
pub mod label;
pub mod operation;

/// Versions of groups, as `apiVersion` names them.
pub mod api_version {
    /// API version of most of Gardener's kinds.
    pub const CORE: &str = "core.gardener.cloud/v1beta1";
    /// Kinds of credentials.
    pub const SECURITY: &str = "security.gardener.cloud/v1alpha1";
    /// Requests for credentials.
    pub const AUTHENTICATION: &str = "authentication.gardener.cloud/v1alpha1";
    /// Configuration of gardener-controller-manager.
    pub const CONTROLLER_MANAGER_CONFIG: &str = "controllermanager.config.gardener.cloud/v1alpha1";
    /// Configuration of gardener-scheduler.
    pub const SCHEDULER_CONFIG: &str = "scheduler.config.gardener.cloud/v1alpha1";
    /// Configuration of gardener-admission-controller.
    pub const ADMISSION_CONTROLLER_CONFIG: &str = "admissioncontroller.config.gardener.cloud/v1alpha1";
    /// Configuration of gardenlet.
    pub const GARDENLET_CONFIG: &str = "gardenlet.config.gardener.cloud/v1alpha1";
    /// Configuration of provider-local, and of the objects it processes.
    pub const PROVIDER_LOCAL: &str = "local.provider.extensions.gardener.cloud/v1alpha1";
    /// Suffix after a provider type: configuration of that provider.
    pub const PROVIDER_SUFFIX: &str = ".provider.extensions.gardener.cloud/v1alpha1";
}

/// Finalizers of Gardener's controllers.
pub mod finalizer {
    /// Finalizer of Gardener's own kinds.
    pub const GARDENER: &str = "gardener";
    /// Finalizer of foreign objects that Gardener uses: referenced Secrets, Secrets of a Seed.
    pub const EXTERNAL_GARDENER: &str = "gardener.cloud/gardener";
    /// Finalizer of a Shoot with references, and of the Secrets and ConfigMaps that it references.
    pub const REFERENCE_PROTECTION: &str = "gardener.cloud/reference-protection";
    /// Finalizer of a Garden.
    pub const OPERATOR: &str = "gardener.cloud/operator";
    /// Finalizer of ControllerRegistrations, and of Seeds with installed extensions.
    pub const CONTROLLER_REGISTRATION: &str = "core.gardener.cloud/controllerregistration";
    /// Finalizer of ControllerDeployments.
    pub const CONTROLLER_DEPLOYMENT: &str = "core.gardener.cloud/controllerdeployment";
    /// Finalizer of ControllerInstallations.
    pub const CONTROLLER_INSTALLATION: &str = "core.gardener.cloud/controllerinstallation";
    /// Prefix, followed by a controller's name, on objects that an extension manages.
    pub const EXTENSION_PREFIX: &str = "extensions.gardener.cloud/";
    /// Finalizer of MachineDeployments, MachineSets, Machines, and MachineClasses in use.
    pub const MACHINE_CONTROLLER_MANAGER: &str = "machine.sapcloud.io/machine-controller-manager";
    /// Finalizer of a claim that a pod uses.
    pub const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
    /// Finalizer of a bound volume.
    pub const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
}

/// Keys of taints.
pub mod taint {
    /// Taint of a new Node until its critical components run.
    pub const CRITICAL_COMPONENTS_NOT_READY: &str = "node.gardener.cloud/critical-components-not-ready";
    /// Taint of a Seed that accepts only Shoots with a toleration.
    pub const SEED_PROTECTED: &str = "seed.gardener.cloud/protected";
    /// Taint of the nodes of MachineSets that a roll-out replaces.
    pub const PREFER_NO_SCHEDULE: &str = "deployment.machine.sapcloud.io/prefer-no-schedule";
    /// Taint of a Node that is not ready.
    pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
    /// Taint of a Node whose kubelet no longer reports.
    pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
    /// Taint of a Node that the cloud provider has not initialized.
    pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
    /// Taint of a cordoned Node.
    pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
}

/// Values of [`label::ROLE`].
pub mod role {
    /// Namespace of a Project.
    pub const PROJECT: &str = "project";
    /// Namespace of a Shoot's control plane.
    pub const SHOOT: &str = "shoot";
    /// Namespace of a Seed, and objects copied into it.
    pub const SEED: &str = "seed";
    /// Secret with a domain for Shoots that specify none.
    pub const DEFAULT_DOMAIN: &str = "default-domain";
    /// Secret with the domain of internal DNS names.
    pub const INTERNAL_DOMAIN: &str = "internal-domain";
    /// Component of a control plane.
    pub const CONTROL_PLANE: &str = "controlplane";
    /// Component in a Shoot.
    pub const SYSTEM_COMPONENT: &str = "system-component";
    /// Credentials of observability.
    pub const MONITORING: &str = "monitoring";
    /// Credentials of observability of all Seeds.
    pub const GLOBAL_MONITORING: &str = "global-monitoring";
    /// Role of an extension in a Project.
    pub const EXTENSION_PROJECT_ROLE: &str = "extension-project-role";
    /// Secret with an OperatingSystemConfig for nodes.
    pub const OPERATING_SYSTEM_CONFIG: &str = "operating-system-config";
}

/// Names of users and groups, and prefixes that names are appended to.
pub mod user {
    /// gardener-apiserver.
    pub const APISERVER: &str = "gardener.cloud:system:apiserver";
    /// Names before the slash in the `User-Agent` of the landscape's own clients: commands, demos, and the administrator of a
    /// simulation.
    pub const OWN_AGENTS: &[&str] = &["terrarium", "demo", "client"];
    /// gardener-controller-manager.
    pub const CONTROLLER_MANAGER: &str = "gardener.cloud:system:controller-manager";
    /// gardener-scheduler.
    pub const SCHEDULER: &str = "gardener.cloud:system:scheduler";
    /// gardener-admission-controller.
    pub const ADMISSION_CONTROLLER: &str = "gardener.cloud:system:admission-controller";
    /// gardener-operator.
    pub const OPERATOR: &str = "system:serviceaccount:garden:gardener-operator";
    /// Prefix, followed by a Seed's name: its gardenlet.
    pub const SEED_PREFIX: &str = "gardener.cloud:system:seed:";
    /// Group of all gardenlets.
    pub const SEEDS: &str = "gardener.cloud:system:seeds";
    /// Prefix, followed by a Seed's name: provider-local there; of Terrarium.
    pub const PROVIDER_LOCAL_PREFIX: &str = "gardener.cloud:system:extension:provider-local:";
    /// Group of users of Gardener's system that may only read a Shoot; until 1.128 of all that may only read it.
    pub const VIEWERS: &str = "gardener.cloud:system:viewers";
    /// Group of users of a project that may only read a Shoot; since 1.129.
    pub const PROJECT_VIEWERS: &str = "gardener.cloud:project:viewers";
    /// Group of users of Gardener's system that administrate a Shoot; since 1.129.
    pub const SYSTEM_ADMINS: &str = "gardener.cloud:system:admins";
    /// Group of users of a project that administrate a Shoot; since 1.129.
    pub const PROJECT_ADMINS: &str = "gardener.cloud:project:admins";
}

/// Names of namespaces, and prefixes that names are appended to.
pub mod namespace {
    /// Namespace of the garden cluster and of seeds with the landscape's own objects.
    pub const GARDEN: &str = "garden";
    /// Prefix, followed by a Project's name: its namespace, unless the Project specifies one.
    pub const PROJECT_PREFIX: &str = "garden-";
    /// Prefix, followed by a Seed's name: its namespace of the garden cluster.
    pub const SEED_PREFIX: &str = "seed-";
    /// Leases that gardenlets renew.
    pub const SEED_LEASE: &str = "gardener-system-seed-lease";
    /// Secrets of service account issuers that Gardener serves.
    pub const SHOOT_ISSUER: &str = "gardener-system-shoot-issuer";
    /// Objects that every user may read.
    pub const PUBLIC: &str = "gardener-system-public";
    /// Leases of running components; of Terrarium.
    pub const INSTANCES: &str = "gardener-system-instances";
}

/// Tasks of [`annotation::SHOOT_TASKS`], in the order in which they are appended.
pub mod task {
    /// Deploy the Infrastructure object again.
    pub const DEPLOY_INFRASTRUCTURE: &str = "deployInfrastructure";
    /// Deploy the internal DNSRecord again.
    pub const DEPLOY_DNS_RECORD_INTERNAL: &str = "deployDNSRecordInternal";
    /// Deploy the external DNSRecord again.
    pub const DEPLOY_DNS_RECORD_EXTERNAL: &str = "deployDNSRecordExternal";
    /// Deploy the DNSRecord of the ingress again.
    pub const DEPLOY_DNS_RECORD_INGRESS: &str = "deployDNSRecordIngress";
    /// Restart the Pods of the control plane.
    pub const RESTART_CONTROL_PLANE_PODS: &str = "restartControlPlanePods";
    /// Restart the core addons.
    pub const RESTART_CORE_ADDONS: &str = "restartCoreAddons";
}

/// Types of last operations.
pub mod operation_type {
    /// The object is created.
    pub const CREATE: &str = "Create";
    /// The object is reconciled.
    pub const RECONCILE: &str = "Reconcile";
    /// The object is deleted.
    pub const DELETE: &str = "Delete";
    /// The object is removed from a seed for its migration to another one.
    pub const MIGRATE: &str = "Migrate";
    /// The object is restored on another seed after a migration.
    pub const RESTORE: &str = "Restore";
}

/// States of last operations.
pub mod operation_state {
    /// The operation has not begun.
    pub const PENDING: &str = "Pending";
    /// The operation is in progress.
    pub const PROCESSING: &str = "Processing";
    /// The operation succeeded.
    pub const SUCCEEDED: &str = "Succeeded";
    /// The operation failed and will be retried.
    pub const ERROR: &str = "Error";
    /// The operation failed and will not be retried automatically.
    pub const FAILED: &str = "Failed";
    /// The operation was aborted.
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
    /// The version has not reached the first stage of its life cycle; computed.
    pub const UNAVAILABLE: &str = "unavailable";
    /// The version is not meant for production yet.
    pub const PREVIEW: &str = "preview";
    /// The version is recommended for production.
    pub const SUPPORTED: &str = "supported";
    /// Use of the version is discouraged.
    pub const DEPRECATED: &str = "deprecated";
    /// The version must not be used: its expiration date has passed, or its current stage is `expired`.
    pub const EXPIRED: &str = "expired";
}

#[cfg(test)]
mod tests {
    use apimachinery::Resource;

    use super::*;

    #[test]
    fn versions_are_those_of_the_kinds() {
        assert_eq!(api_version::CORE, crate::core::Shoot::api_version());
        assert_eq!(api_version::SECURITY, crate::security::WorkloadIdentity::api_version());
        assert_eq!(api_version::AUTHENTICATION, crate::authentication::AdminKubeconfigRequest::api_version());
    }

    #[test]
    fn strings_are_joined_at_compile_time() {
        const PATH: &str = crate::joined!(".metadata.labels[", label::ROLE, "]=", "…");
        assert_eq!(PATH, ".metadata.labels[gardener.cloud/role]=…");
        assert_eq!(crate::joined!("a"), "a");
    }
}
