// SPDX-License-Identifier: Apache-2.0
//! Values of [`super::annotation::OPERATION`] and [`super::annotation::MAINTENANCE_OPERATION`]. Since v1.133 a Shoot's
//! annotation may hold several, separated by [`SEPARATOR`].
//!
//! Source: pkg/apis/core/v1beta1/constants/types_constants.go, pkg/apis/core/v1beta1/types_shoot.go @ v1.120.0.

/// Separator of several operations in one annotation.
pub const SEPARATOR: char = ';';
/// Reconcile now.
pub const RECONCILE: &str = "reconcile";
/// Retry after a failure.
pub const RETRY: &str = "retry";
/// Run maintenance now.
pub const MAINTAIN: &str = "maintain";
/// Start an in-place update of nodes although another one is pending.
pub const FORCE_IN_PLACE_UPDATE: &str = "force-in-place-update";
/// Persist the state of an extension object, for its migration to another seed.
pub const MIGRATE: &str = "migrate";
/// Restore an extension object from its persisted state.
pub const RESTORE: &str = "restore";
/// Issue a new kubeconfig for a gardenlet.
pub const RENEW_KUBECONFIG: &str = "renew-kubeconfig";
/// Start the rotation of all credentials.
pub const ROTATE_CREDENTIALS_START: &str = "rotate-credentials-start";
/// Start the rotation of all credentials as `rotate-credentials-start`, without a roll-out of nodes.
pub const ROTATE_CREDENTIALS_START_WITHOUT_WORKERS: &str = "rotate-credentials-start-without-workers-rollout";
/// Complete the rotation of all credentials.
pub const ROTATE_CREDENTIALS_COMPLETE: &str = "rotate-credentials-complete";
/// Start the rotation of certificate authorities.
pub const ROTATE_CA_START: &str = "rotate-ca-start";
/// Start the rotation of certificate authorities as `rotate-ca-start`, without a roll-out of nodes.
pub const ROTATE_CA_START_WITHOUT_WORKERS: &str = "rotate-ca-start-without-workers-rollout";
/// Complete the rotation of certificate authorities.
pub const ROTATE_CA_COMPLETE: &str = "rotate-ca-complete";
/// Start the rotation of the service account key.
pub const ROTATE_SERVICE_ACCOUNT_KEY_START: &str = "rotate-serviceaccount-key-start";
/// Start the rotation of the service account key as `rotate-serviceaccount-key-start`, without a roll-out of nodes.
pub const ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS: &str =
    "rotate-serviceaccount-key-start-without-workers-rollout";
/// Complete the rotation of the service account key.
pub const ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE: &str = "rotate-serviceaccount-key-complete";
/// Rotate etcd's encryption key, with both steps in one operation (since v1.128).
pub const ROTATE_ETCD_ENCRYPTION_KEY: &str = "rotate-etcd-encryption-key";
/// Start the rotation of etcd's encryption key.
pub const ROTATE_ETCD_ENCRYPTION_KEY_START: &str = "rotate-etcd-encryption-key-start";
/// Complete the rotation of etcd's encryption key.
pub const ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE: &str = "rotate-etcd-encryption-key-complete";
/// Start the rotation of the key that signs tokens of workload identities.
pub const ROTATE_WORKLOAD_IDENTITY_KEY_START: &str = "rotate-workload-identity-key-start";
/// Complete the rotation of the key that signs tokens of workload identities.
pub const ROTATE_WORKLOAD_IDENTITY_KEY_COMPLETE: &str = "rotate-workload-identity-key-complete";
/// Followed by `=` and comma-separated worker pools or `*`: roll out their nodes (since v1.132).
pub const ROLLOUT_WORKERS: &str = "rollout-workers";
/// Deploy a gardenlet again.
pub const FORCE_REDEPLOY: &str = "force-redeploy";
/// Rotate the credentials of observability.
pub const ROTATE_OBSERVABILITY_CREDENTIALS: &str = "rotate-observability-credentials";
/// Rotate the SSH key pair.
pub const ROTATE_SSH_KEYPAIR: &str = "rotate-ssh-keypair";
/// Followed by `=` and comma-separated worker pools: roll them out now.
pub const ROTATE_ROLLOUT_WORKERS: &str = "rotate-rollout-workers";
