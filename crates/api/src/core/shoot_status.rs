// SPDX-License-Identifier: Apache-2.0
//! Status of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;

/// State of the rotation of the certificate authorities.
#[api_type]
pub struct CARotation {
    /// Phase of the rotation: Preparing, PreparingWithoutWorkersRollout, WaitingForWorkersRollout, Prepared, Completing
    /// or Completed.
    #[schema(required)]
    pub phase: String,
    /// Completion time of the last rotation.
    pub last_completion_time: Option<Time>,
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
    /// End time of the last preparation of a rotation; completion is possible afterwards.
    pub last_initiation_finished_time: Option<Time>,
    /// Time of the last request to complete a rotation.
    pub last_completion_triggered_time: Option<Time>,
    /// Pools whose roll-out the rotation still waits for, and its start time.
    pub pending_workers_rollouts: Vec<PendingWorkersRollout>,
}

/// State of the rotation of the key with which etcd's content is encrypted.
#[api_type]
pub struct ETCDEncryptionKeyRotation {
    /// Phase of the rotation: Preparing, Prepared, Completing or Completed.
    #[schema(required)]
    pub phase: String,
    /// Completion time of the last rotation.
    pub last_completion_time: Option<Time>,
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
    /// End time of the last preparation of a rotation; completion is possible afterwards.
    pub last_initiation_finished_time: Option<Time>,
    /// Time of the last request to complete a rotation.
    pub last_completion_triggered_time: Option<Time>,
    /// True if the prepared rotation is completed automatically. Releases before 1.128 do not have this field.
    pub auto_complete_after_prepared: Option<bool>,
}

/// Encryption of resources in etcd.
#[api_type]
pub struct EncryptionAtRest {
    /// Resources that are encrypted at present, in addition to Secrets.
    pub resources: Vec<String>,
    /// Provider of the encryption.
    #[schema(required)]
    pub provider: EncryptionProviderStatus,
}

/// Status of the provider of the encryption.
#[api_type]
pub struct EncryptionProviderStatus {
    /// Type of the provider in use: aescbc, aesgcm or secretbox.
    #[schema(required)]
    pub r#type: String,
}

/// Pools for which in-place updates of nodes are pending.
#[api_type]
pub struct InPlaceUpdatesStatus {
    /// Pools that are not updated yet.
    pub pending_worker_updates: Option<PendingWorkerUpdates>,
}

/// The last maintenance and its result.
#[api_type]
pub struct LastMaintenance {
    /// Description of the changes.
    #[schema(required)]
    pub description: String,
    /// Start time of the maintenance.
    #[schema(required)]
    pub triggered_time: Time,
    /// Succeeded, Processing or Failed.
    #[schema(required)]
    pub state: String,
    /// Reason of the failure; set with state Failed only.
    pub failure_reason: Option<String>,
}

/// Progress of a live migration of the control plane. Served; not emulated.
#[api_type]
pub struct LiveMigration {
    /// Progress of each step. Served; not emulated.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
}

/// Progress of a roll-out of worker pools that a user started.
#[api_type]
pub struct ManualWorkerPoolRollout {
    /// Pools whose roll-out has not finished.
    pub pending_workers_rollouts: Vec<PendingWorkersRollout>,
}

/// Networks in use.
#[api_type]
pub struct NetworkingStatus {
    /// Networks of the pods, in CIDR form.
    pub pods: Vec<String>,
    /// Networks of the nodes, in CIDR form.
    pub nodes: Vec<String>,
    /// Networks of the services, in CIDR form.
    pub services: Vec<String>,
    /// Source addresses of traffic that leaves the cluster, in CIDR form.
    #[schema(rename = "egressCIDRs")]
    pub egress_cid_rs: Vec<String>,
}

/// State of the rotation of the passwords for monitoring.
#[api_type]
pub struct ObservabilityRotation {
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
    /// Completion time of the last rotation.
    pub last_completion_time: Option<Time>,
}

/// Pools that are not updated yet.
#[api_type]
pub struct PendingWorkerUpdates {
    /// Names of pools with strategy AutoInPlaceUpdate.
    pub auto_in_place_update: Vec<String>,
    /// Names of pools with strategy ManualInPlaceUpdate.
    pub manual_in_place_update: Vec<String>,
}

/// A pool whose nodes have not been replaced yet.
#[api_type]
pub struct PendingWorkersRollout {
    /// Name of the pool.
    #[schema(required)]
    pub name: String,
    /// Start time of the pool's last roll-out.
    pub last_initiation_time: Option<Time>,
}

/// State of the rotation of the key that signs tokens of service accounts.
#[api_type]
pub struct ServiceAccountKeyRotation {
    /// Phase of the rotation: Preparing, PreparingWithoutWorkersRollout, WaitingForWorkersRollout, Prepared, Completing
    /// or Completed.
    #[schema(required)]
    pub phase: String,
    /// Completion time of the last rotation.
    pub last_completion_time: Option<Time>,
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
    /// End time of the last preparation of a rotation; completion is possible afterwards.
    pub last_initiation_finished_time: Option<Time>,
    /// Time of the last request to complete a rotation.
    pub last_completion_triggered_time: Option<Time>,
    /// Pools whose roll-out the rotation still waits for, and its start time.
    pub pending_workers_rollouts: Vec<PendingWorkersRollout>,
}

/// An address of the cluster's API server.
#[api_type]
pub struct ShootAdvertisedAddress {
    /// Name of the address: `external`, `internal`, `service-account-issuer`.
    #[schema(required)]
    pub name: String,
    /// The address.
    #[schema(required)]
    pub url: String,
    /// Name of the application to which the address belongs.
    pub application: Option<String>,
}

/// Status of a Shoot's credentials.
#[api_type]
pub struct ShootCredentials {
    /// Progress of the rotation of each kind of credentials.
    pub rotation: Option<ShootCredentialsRotation>,
    /// Encryption of the cluster's data in etcd.
    pub encryption_at_rest: Option<EncryptionAtRest>,
}

/// State of the rotation of each kind of credentials.
#[api_type]
pub struct ShootCredentialsRotation {
    /// Certificate authorities.
    pub certificate_authorities: Option<CARotation>,
    /// SSH key pair of the nodes.
    pub ssh_keypair: Option<ShootSSHKeypairRotation>,
    /// Passwords for monitoring.
    pub observability: Option<ObservabilityRotation>,
    /// Key that signs tokens of service accounts.
    pub service_account_key: Option<ServiceAccountKeyRotation>,
    /// Key with which etcd's content is encrypted.
    pub etcd_encryption_key: Option<ETCDEncryptionKeyRotation>,
    /// Static token of the kubeconfig.
    #[schema(deprecated)]
    pub kubeconfig: Option<ShootKubeconfigRotation>,
}

/// State of the rotation of the static kubeconfig.
#[api_type]
pub struct ShootKubeconfigRotation {
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
    /// Completion time of the last rotation.
    pub last_completion_time: Option<Time>,
}

/// State of the rotation of the SSH key pair.
#[api_type]
pub struct ShootSSHKeypairRotation {
    /// Start time of the last rotation.
    pub last_initiation_time: Option<Time>,
    /// Completion time of the last rotation.
    pub last_completion_time: Option<Time>,
}

/// Status of a Shoot.
#[api_type]
pub struct ShootStatus {
    /// Conditions of the cluster: APIServerAvailable, ControlPlaneHealthy, EveryNodeReady, SystemComponentsHealthy and more.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
    /// Constraints on operations of the cluster: HibernationPossible, MaintenancePreconditionsSatisfied and more.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub constraints: Vec<Condition>,
    /// The gardenlet that processed the Shoot last.
    #[schema(required)]
    pub gardener: Gardener,
    /// True if the cluster is hibernated.
    #[schema(required)]
    pub hibernated: bool,
    /// The current operation, or the last one.
    pub last_operation: Option<LastOperation>,
    /// Errors of the last operation.
    pub last_errors: Vec<LastError>,
    /// Generation of the specification at the start of the last operation.
    pub observed_generation: i64,
    /// Start time of the current series of attempts; an operation that fails for too long is aborted.
    pub retry_cycle_start_time: Option<Time>,
    /// Seed on which the control plane is; differs from the specification during a migration.
    pub seed_name: Option<String>,
    /// Name of the control plane's namespace in the Seed: `shoot--PROJECT--NAME`.
    #[schema(rename = "technicalID", required)]
    pub technical_id: String,
    /// Unique identifier of the cluster; preserved by migrations.
    #[schema(required)]
    pub uid: String,
    /// Identity of the cluster: technical ID, uid and the identity of the landscape.
    pub cluster_identity: Option<String>,
    /// Addresses of the cluster's API server.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub advertised_addresses: Vec<ShootAdvertisedAddress>,
    /// Start time of the migration to another Seed.
    pub migration_start_time: Option<Time>,
    /// State of the cluster's credentials and their rotation.
    pub credentials: Option<ShootCredentials>,
    /// Time of the last hibernation or wake-up by a schedule.
    pub last_hibernation_trigger_time: Option<Time>,
    /// The last maintenance and its result.
    pub last_maintenance: Option<LastMaintenance>,
    /// Networks of the cluster, as reported by the infrastructure and network extensions.
    pub networking: Option<NetworkingStatus>,
    /// Pools for which in-place updates of nodes are pending.
    pub in_place_updates: Option<InPlaceUpdatesStatus>,
    /// Progress of a roll-out of worker pools that a user started.
    pub manual_worker_pool_rollout: Option<ManualWorkerPoolRollout>,
    /// Progress of a live migration of the control plane. Served; not emulated.
    pub live_migration: Option<LiveMigration>,
    /// Resources whose content in etcd is already encrypted.
    pub encrypted_resources: Vec<String>,
}
