// SPDX-License-Identifier: Apache-2.0
//! The kinds of gardener-apiserver.
//!
//! Source: pkg/apiserver/registry/*/rest, */storage/{storage,tableconvertor}.go, pkg/apis/*/v1*/conversions.go @
//! v1.120.0.

use apimachinery::catalogue::Cell::{Condition, Function, Path};
use apimachinery::catalogue::{Column, ResourceInfo};

use super::{AGE, cells, column, path, row, wide};
use crate::{core, core_v1, operations, security, seedmanagement, settings};

const ALL: &[&str] = &["all"];
const STATUS: &[&str] = &["status"];

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

const PROJECT: &[Column] = &[
    column("Namespace", Function(|object| cells::text(object, "/spec/namespace", "<unknown>"))),
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
    column("Provider", Function(|object| cells::text(object, "/provider/type", "<none>"))),
    path("APIVersion", ".credentialsRef.apiVersion"),
    path("Kind", ".credentialsRef.kind"),
    column("Name", Function(|object| cells::namespaced_name(&object["credentialsRef"]))),
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
    column("Gardener Data", Function(|object| cells::count(&object["spec"]["gardener"]))),
    column("Extension States", Function(|object| cells::count(&object["spec"]["extensions"]))),
    AGE,
];

const INTERNAL_SECRET: &[Column] =
    &[path("Type", ".type"), column("Data", Function(|object| cells::count(&object["data"]))), AGE];

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
    path("Shoot", ".spec.shootRef.name"),
    column("Seed", Function(|object| cells::text(object, "/spec/seedName", "<pending>"))),
    column("IP", Function(cells::bastion_address)),
    Column { name: "Heartbeat", type_: "date", cell: Path(".status.lastHeartbeatTimestamp"), priority: 0 },
    Column { name: "Expires", type_: "date", cell: Path(".status.expirationTimestamp"), priority: 0 },
    AGE,
];

const WORKLOAD_IDENTITY: &[Column] = &[
    path("Sub", ".status.sub"),
    path("Type", ".spec.targetSystem.type"),
    wide("Audiences", Function(|object| cells::joined(&object["spec"]["audiences"]))),
    AGE,
];

const OPENIDCONNECT_PRESET: &[Column] = &[
    path("Issuer", ".spec.server.issuerURL"),
    column("Shoot-Selector", Function(|object| cells::selector(&object["spec"]["shootSelector"]))),
    AGE,
];

const CLUSTER_OPENIDCONNECT_PRESET: &[Column] = &[
    path("Issuer", ".spec.server.issuerURL"),
    column("Project-Selector", Function(|object| cells::selector(&object["spec"]["projectSelector"]))),
    column("Shoot-Selector", Function(|object| cells::selector(&object["spec"]["shootSelector"]))),
    AGE,
];

/// ControllerDeployments in the older version.
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
        row::<core::CloudProfile>(&["cprofile", "cpfl"], CLOUD_PROFILE),
        ResourceInfo {
            subresources: STATUS,
            ..row::<core::NamespacedCloudProfile>(&["nsprofile", "nscpfl"], NAMESPACED_CLOUD_PROFILE)
        },
        // Stored as v1; v1beta1 is another view of the same objects.
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
            // gardenlet's heartbeat sets nothing else while all is well.
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
