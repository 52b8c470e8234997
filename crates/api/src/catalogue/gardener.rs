// SPDX-License-Identifier: Apache-2.0
//! Kinds of gardener-apiserver.
//!
//! Source: pkg/apiserver/registry/*/rest, */storage/{storage,tableconvertor}.go, pkg/apis/*/v1*/conversions.go @ v1.120.0.

use apimachinery::catalogue::Cell::{Condition, Function, Path};
use apimachinery::catalogue::{Cell, Column, ResourceInfo};

use super::{AGE, PRINTED_AGE, cells, row};
use crate::{core, core_v1, operations, security, seedmanagement, settings};

const ALL: &[&str] = &["all"];
const STATUS: &[&str] = &["status"];

/// A text column; gardener-apiserver gives such columns format `name`.
const fn column(name: &'static str, cell: Cell) -> Column {
    Column { format: "name", ..super::column(name, cell) }
}

/// A column as [`column`], shown only with `-o wide`.
const fn wide(name: &'static str, cell: Cell) -> Column {
    Column { format: "name", ..super::wide(name, cell) }
}

/// A column with the value at a path.
const fn path(name: &'static str, path: &'static str) -> Column {
    column(name, Path(path))
}

/// A column with a description.
const fn about(description: &'static str, column: Column) -> Column {
    Column { description, ..column }
}

const SHOOT: &[Column] = &[
    column("CloudProfile", Function(cells::shoot_cloud_profile)),
    path("Provider", ".spec.provider.type"),
    path("Region", ".spec.region"),
    wide("Seed", Function(|object| cells::text(object, "/spec/seedName", "<none>"))),
    path("K8S Version", ".spec.kubernetes.version"),
    column("Hibernation", Function(cells::shoot_hibernation)),
    column("Last Operation", Function(cells::last_operation)),
    column(
        "Status",
        Function(|object| cells::text(object, "/metadata/labels/shoot.gardener.cloud~1status", "<pending>")),
    ),
    wide("Purpose", Function(|object| cells::text(object, "/spec/purpose", "<none>"))),
    wide("Gardener Version", Function(|object| cells::text(object, "/status/gardener/version", "<unknown>"))),
    wide("APIServer", Condition("APIServerAvailable", "<unknown>")),
    wide("Control", Condition("ControlPlaneHealthy", "<unknown>")),
    wide("Observability", Condition("ObservabilityComponentsHealthy", "<unknown>")),
    wide("Nodes", Condition("EveryNodeReady", "<unknown>")),
    wide("System", Condition("SystemComponentsHealthy", "<unknown>")),
    AGE,
];

const SEED: &[Column] = &[
    column("Status", Function(cells::seed_status)),
    column("Last Operation", Function(cells::last_operation)),
    path("Provider", ".spec.provider.type"),
    path("Region", ".spec.provider.region"),
    AGE,
    column("Version", Function(|object| cells::text(object, "/status/gardener/version", "<unknown>"))),
    column("K8S Version", Function(|object| cells::text(object, "/status/kubernetesVersion", "<unknown>"))),
];

/// Upstream's description of `metadata.namespace`.
const NAMESPACE: &str = "Namespace defines the space within which each name must be unique. An empty namespace is equivalent \
to the \"default\" namespace, but \"default\" is the canonical representation. Not all objects are required to be scoped to a \
namespace - the value of this field for those objects will be empty.\n\nMust be a DNS_LABEL. Cannot be updated. More info: \
https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces";

const PROJECT: &[Column] = &[
    about(NAMESPACE, column("Namespace", Function(|object| cells::text(object, "/spec/namespace", "<unknown>")))),
    column("Status", Function(|object| cells::text(object, "/status/phase", "<unknown>"))),
    column("Owner", Function(|object| cells::text(object, "/spec/owner/name", "<unknown>"))),
    column("Creator", Function(|object| cells::text(object, "/spec/createdBy/name", "<unknown>"))),
    AGE,
];

const CLOUD_PROFILE: &[Column] = &[path("Provider", ".spec.type"), AGE];

const NAMESPACED_CLOUD_PROFILE: &[Column] =
    &[path("Parent Name", ".spec.parent.name"), path("Parent Kind", ".spec.parent.kind"), AGE];

const SECRET_BINDING: &[Column] = &[
    column("Secret", Function(|object| cells::namespaced_name(&object["secretRef"]))),
    column("Provider", Function(|object| cells::text(object, "/provider/type", "<none>"))),
    AGE,
];

const CREDENTIALS_BINDING: &[Column] = &[
    about(
        "Provide is the provider type of the CredentialsBinding.",
        super::column("Provider", Function(|object| cells::text(object, "/provider/type", "<none>"))),
    ),
    about(
        "APIVersion is the apiVersion of the referenced credentials provider.",
        path("APIVersion", ".credentialsRef.apiVersion"),
    ),
    about("Kind is the kind of the referenced credentials provider.", path("Kind", ".credentialsRef.kind")),
    about(
        "Name is the namespace and name of the referenced credentials provider.",
        column("Name", Function(|object| cells::namespaced_name(&object["credentialsRef"]))),
    ),
    AGE,
];

const QUOTA: &[Column] =
    &[column("Scope", Function(cells::quota_scope)), column("Cluster Lifetime", Function(cells::quota_lifetime)), AGE];

const CONTROLLER_REGISTRATION: &[Column] = &[column("Resources", Function(cells::registration_resources)), AGE];

const CONTROLLER_INSTALLATION: &[Column] = &[
    path("Registration", ".spec.registrationRef.name"),
    path("Seed", ".spec.seedRef.name"),
    column("Valid", Condition("Valid", "<unknown>")),
    column("Installed", Condition("Installed", "<unknown>")),
    column("Healthy", Condition("Healthy", "<unknown>")),
    column("Progressing", Condition("Progressing", "<unknown>")),
    AGE,
];

const BACKUP_BUCKET: &[Column] = &[
    path("Provider", ".spec.provider.type"),
    column("Seed", Function(|object| cells::text(object, "/spec/seedName", "<none>"))),
    column("Operation", Function(|object| cells::text(object, "/status/lastOperation/state", "<pending>"))),
    column("Progress", Function(cells::progress)),
    AGE,
];

const BACKUP_ENTRY: &[Column] = &[
    path("Bucket", ".spec.bucketName"),
    column("Seed", Function(|object| cells::text(object, "/spec/seedName", "<none>"))),
    column("Operation", Function(|object| cells::text(object, "/status/lastOperation/state", "<pending>"))),
    column("Progress", Function(cells::progress)),
    AGE,
];

const SHOOT_STATE: &[Column] = &[
    super::column("Gardener Data", Function(|object| cells::count(&object["spec"]["gardener"]))),
    super::column("Extension States", Function(|object| cells::count(&object["spec"]["extensions"]))),
    AGE,
];

const INTERNAL_SECRET: &[Column] = &[
    super::path("Type", ".type"),
    super::column("Data", Function(|object| cells::count(&object["data"]))),
    PRINTED_AGE,
];

const MANAGED_SEED: &[Column] =
    &[column("Status", Function(cells::managed_seed_status)), path("Shoot", ".spec.shoot.name"), AGE];

const MANAGED_SEED_SET: &[Column] = &[
    column("Ready", Function(cells::managed_seed_set_ready)),
    column("Pending", Function(cells::managed_seed_set_pending)),
    AGE,
];

const GARDENLET: &[Column] = &[
    column("OCI Repository", Function(cells::gardenlet_repository)),
    column("Reconciled", Condition("GardenletReconciled", "<unknown>")),
    AGE,
];

const BASTION: &[Column] = &[
    about("The Shoot this bastion belongs to.", path("Shoot", ".spec.shootRef.name")),
    about(
        "The Seed cluster on which the Shoot is scheduled.",
        column("Seed", Function(|object| cells::text(object, "/spec/seedName", "<pending>"))),
    ),
    about("The bastion host's IP and/or hostname.", column("IP", Function(cells::bastion_address))),
    Column {
        format: "name",
        description: "The time and date when the last heartbeat occurred.",
        ..Column::new("Heartbeat", "age", Path(".status.lastHeartbeatTimestamp"), 0)
    },
    Column {
        format: "name",
        description: "The time and date after which the bastion will be deleted.",
        ..Column::new("Expires", "age", Path(".status.expirationTimestamp"), 0)
    },
    AGE,
];

const WORKLOAD_IDENTITY: &[Column] = &[
    about("Sub is the value of the sub claim of the issued JWT token.", path("Sub", ".status.sub")),
    about("Type is the provider type of the WorkloadIdentity.", super::path("Type", ".spec.targetSystem.type")),
    about(
        "Audiences is list with the audiences of the issued JWT token.",
        wide("Audiences", Function(|object| cells::joined(&object["spec"]["audiences"]))),
    ),
    AGE,
];

const OPENIDCONNECT_PRESET: &[Column] = &[
    super::path("Issuer", ".spec.server.issuerURL"),
    super::column("Shoot-Selector", Function(|object| cells::selector(&object["spec"]["shootSelector"]))),
    AGE,
];

const CLUSTER_OPENIDCONNECT_PRESET: &[Column] = &[
    super::path("Issuer", ".spec.server.issuerURL"),
    super::column("Project-Selector", Function(|object| cells::selector(&object["spec"]["projectSelector"]))),
    super::column("Shoot-Selector", Function(|object| cells::selector(&object["spec"]["shootSelector"]))),
    AGE,
];

/// Row of ControllerDeployments of the older version, `v1beta1`.
pub(super) fn controller_deployments() -> ResourceInfo {
    ResourceInfo { categories: ALL, ..row::<core::ControllerDeployment>(&["ctrldeploy"], &[AGE]) }
}

pub(super) fn rows() -> Vec<ResourceInfo> {
    vec![
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            field_selectors: &[("spec.seedName", ".spec.seedName")],
            ..row::<core::BackupBucket>(&["bbc"], BACKUP_BUCKET)
        },
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            field_selectors: &[("spec.bucketName", ".spec.bucketName"), ("spec.seedName", ".spec.seedName")],
            ..row::<core::BackupEntry>(&["bec"], BACKUP_ENTRY)
        },
        ResourceInfo { subresources: STATUS, ..row::<core::CloudProfile>(&["cprofile", "cpfl"], CLOUD_PROFILE) },
        ResourceInfo {
            subresources: STATUS,
            ..row::<core::NamespacedCloudProfile>(&["nsprofile", "nscpfl"], NAMESPACED_CLOUD_PROFILE)
        },
        // Stored as v1; v1beta1 is another representation of the same objects.
        ResourceInfo { categories: ALL, ..row::<core_v1::ControllerDeployment>(&["ctrldeploy"], &[AGE]) },
        ResourceInfo { categories: ALL, ..row::<core::ControllerRegistration>(&["ctrlreg"], CONTROLLER_REGISTRATION) },
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            field_selectors: &[
                ("spec.registrationRef.name", ".spec.registrationRef.name"),
                ("spec.seedRef.name", ".spec.seedRef.name"),
            ],
            ..row::<core::ControllerInstallation>(&["ctrlinst"], CONTROLLER_INSTALLATION)
        },
        row::<core::ExposureClass>(&["expclass", "expcls"], const { &[path("Handler", ".handler"), AGE] }),
        ResourceInfo {
            field_selectors: &[("type", ".type")],
            ..row::<core::InternalSecret>(&["ins"], INTERNAL_SECRET)
        },
        ResourceInfo {
            subresources: STATUS,
            field_selectors: &[("spec.namespace", ".spec.namespace")],
            ..row::<core::Project>(&[], PROJECT)
        },
        row::<core::Quota>(&["squota"], QUOTA),
        row::<core::SecretBinding>(&["sb"], SECRET_BINDING),
        ResourceInfo {
            subresources: STATUS,
            // A heartbeat of a healthy gardenlet changes nothing else.
            heartbeat_fields: &[".status.conditions[].lastUpdateTime"],
            ..row::<core::Seed>(&[], SEED)
        },
        ResourceInfo {
            categories: ALL,
            subresources: &["status", "binding", "adminkubeconfig", "viewerkubeconfig"],
            field_selectors: &[
                ("spec.cloudProfileName", ".spec.cloudProfileName"),
                ("spec.cloudProfile.Name", ".spec.cloudProfile.name"),
                ("spec.cloudProfile.Kind", ".spec.cloudProfile.kind"),
                ("spec.seedName", ".spec.seedName"),
                ("status.seedName", ".status.seedName"),
            ],
            ..row::<core::Shoot>(&[], SHOOT)
        },
        ResourceInfo { categories: ALL, ..row::<core::ShootState>(&[], SHOOT_STATE) },
        ResourceInfo {
            subresources: STATUS,
            field_selectors: &[("spec.shoot.name", ".spec.shoot.name")],
            ..row::<seedmanagement::ManagedSeed>(&["ms"], MANAGED_SEED)
        },
        ResourceInfo {
            subresources: &["status", "scale"],
            ..row::<seedmanagement::ManagedSeedSet>(&["mss"], MANAGED_SEED_SET)
        },
        ResourceInfo { subresources: STATUS, ..row::<seedmanagement::Gardenlet>(&["gl", "glet"], GARDENLET) },
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            field_selectors: &[("spec.seedName", ".spec.seedName"), ("spec.shootRef.name", ".spec.shootRef.name")],
            ..row::<operations::Bastion>(&[], BASTION)
        },
        row::<security::CredentialsBinding>(&["cb"], CREDENTIALS_BINDING),
        ResourceInfo { subresources: &["token"], ..row::<security::WorkloadIdentity>(&["wi"], WORKLOAD_IDENTITY) },
        ResourceInfo { categories: ALL, ..row::<settings::OpenIDConnectPreset>(&["oidcps"], OPENIDCONNECT_PRESET) },
        ResourceInfo {
            categories: ALL,
            ..row::<settings::ClusterOpenIDConnectPreset>(&["coidcps"], CLUSTER_OPENIDCONNECT_PRESET)
        },
    ]
}
