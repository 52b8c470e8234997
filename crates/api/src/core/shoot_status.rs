// SPDX-License-Identifier: Apache-2.0
//! What is known of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;

/// State of the rotation of the certificate authorities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CARotation {
    /// Phase of the rotation: Preparing, PreparingWithoutWorkersRollout, WaitingForWorkersRollout, Prepared, Completing
    /// or Completed.
    #[schema(required)]
    pub phase: String,
    /// When a rotation was completed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
    /// When a rotation was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When the first half of the rotation ended last, so that it can be completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_finished_time: Option<Time>,
    /// When completion was asked for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_triggered_time: Option<Time>,
    /// Pools whose roll-out the rotation still waits for, and since when it was started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_workers_rollouts: Vec<PendingWorkersRollout>,
}

/// State of the rotation of the key with which etcd's content is encrypted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ETCDEncryptionKeyRotation {
    /// Phase of the rotation: Preparing, Prepared, Completing or Completed.
    #[schema(required)]
    pub phase: String,
    /// When a rotation was completed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
    /// When a rotation was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When the first half of the rotation ended last, so that it can be completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_finished_time: Option<Time>,
    /// When completion was asked for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_triggered_time: Option<Time>,
}

/// What in-place updates of nodes still wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdatesStatus {
    /// Pools that are not updated yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_worker_updates: Option<PendingWorkerUpdates>,
}

/// What the last maintenance did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LastMaintenance {
    /// What was done, in a sentence.
    #[schema(required)]
    pub description: String,
    /// When the maintenance began.
    #[schema(required)]
    pub triggered_time: Time,
    /// Succeeded, Processing or Failed.
    #[schema(required)]
    pub state: String,
    /// Why it failed; set with state Failed only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// Networks as they are in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NetworkingStatus {
    /// Networks of the pods, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
    /// Networks of the nodes, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Networks of the services, in CIDR form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// Addresses with which traffic leaves the cluster, in CIDR form.
    #[serde(rename = "egressCIDRs", skip_serializing_if = "Vec::is_empty")]
    pub egress_cid_rs: Vec<String>,
}

/// State of the rotation of the passwords for monitoring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ObservabilityRotation {
    /// When a rotation was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When a rotation was completed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
}

/// Pools that are not updated yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PendingWorkerUpdates {
    /// Names of pools with strategy AutoInPlaceUpdate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_in_place_update: Vec<String>,
    /// Names of pools with strategy ManualInPlaceUpdate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manual_in_place_update: Vec<String>,
}

/// A pool whose nodes have not been replaced yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PendingWorkersRollout {
    /// Name of the pool.
    #[schema(required)]
    pub name: String,
    /// When the roll-out of the pool was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
}

/// State of the rotation of the key that signs tokens of service accounts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceAccountKeyRotation {
    /// Phase of the rotation: Preparing, PreparingWithoutWorkersRollout, WaitingForWorkersRollout, Prepared, Completing
    /// or Completed.
    #[schema(required)]
    pub phase: String,
    /// When a rotation was completed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
    /// When a rotation was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When the first half of the rotation ended last, so that it can be completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_finished_time: Option<Time>,
    /// When completion was asked for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_triggered_time: Option<Time>,
    /// Pools whose roll-out the rotation still waits for, and since when it was started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_workers_rollouts: Vec<PendingWorkersRollout>,
}

/// An address under which the cluster's API server is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootAdvertisedAddress {
    /// What the address is: `external`, `internal`, `service-account-issuer`.
    #[schema(required)]
    pub name: String,
    /// The address.
    #[schema(required)]
    pub url: String,
}

/// What is known of a Shoot's credentials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootCredentials {
    /// How far the rotation of each kind of credentials is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<ShootCredentialsRotation>,
}

/// State of the rotations, one kind of credentials each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootCredentialsRotation {
    /// Certificate authorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authorities: Option<CARotation>,
    /// SSH key pair of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_keypair: Option<ShootSSHKeypairRotation>,
    /// Passwords for monitoring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observability: Option<ObservabilityRotation>,
    /// Key that signs tokens of service accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_key: Option<ServiceAccountKeyRotation>,
    /// Key with which etcd's content is encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_encryption_key: Option<ETCDEncryptionKeyRotation>,
    /// Static token of the kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub kubeconfig: Option<ShootKubeconfigRotation>,
}

/// State of the rotation of the static kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootKubeconfigRotation {
    /// When a rotation was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When a rotation was completed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
}

/// State of the rotation of the SSH key pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootSSHKeypairRotation {
    /// When a rotation was started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When a rotation was completed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
}

/// What is known of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootStatus {
    /// How the cluster is: APIServerAvailable, ControlPlaneHealthy, EveryNodeReady, SystemComponentsHealthy and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
    /// What cannot be done at present, and why: HibernationPossible, MaintenancePreconditionsSatisfied and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub constraints: Vec<Condition>,
    /// Which gardenlet worked on the Shoot last.
    #[schema(required)]
    pub gardener: Gardener,
    /// Whether the cluster sleeps by now.
    #[schema(required)]
    pub hibernated: bool,
    /// The operation that runs, or the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// Errors of the last operation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// Generation of the specification that the last operation began with.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When the present series of attempts began; an operation that fails for long is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_cycle_start_time: Option<Time>,
    /// Seed on which the control plane is; differs from the specification during a migration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    /// Name of the control plane's namespace in the Seed: `shoot--PROJECT--NAME`.
    #[serde(rename = "technicalID")]
    #[schema(required)]
    pub technical_id: String,
    /// Unique identifier of the cluster; outlives a migration.
    #[schema(required)]
    pub uid: String,
    /// Identity of the cluster: technical ID, uid and the identity of the landscape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_identity: Option<String>,
    /// Addresses under which the cluster's API server is reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub advertised_addresses: Vec<ShootAdvertisedAddress>,
    /// When the migration to another Seed began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration_start_time: Option<Time>,
    /// State of the cluster's credentials and their rotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ShootCredentials>,
    /// When a schedule put the cluster to sleep or woke it up last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hibernation_trigger_time: Option<Time>,
    /// The last maintenance and how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_maintenance: Option<LastMaintenance>,
    /// Networks of the cluster, as the infrastructure and network extensions made them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking: Option<NetworkingStatus>,
    /// What in-place updates of nodes still wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_updates: Option<InPlaceUpdatesStatus>,
    /// Resources whose content in etcd is encrypted by now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub encrypted_resources: Vec<String>,
}
