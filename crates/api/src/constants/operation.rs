// SPDX-License-Identifier: Apache-2.0
//! Values of [`super::annotation::OPERATION`] and [`super::annotation::MAINTENANCE_OPERATION`]. Since v1.133 a Shoot's
//! annotation may hold several, separated by [`SEPARATOR`].
//!
//! Source: pkg/apis/core/v1beta1/constants/types_constants.go, pkg/apis/core/v1beta1/types_shoot.go @ v1.120.0.

/// Between operations of one annotation.
pub const SEPARATOR: char = ';';
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
/// Rotate etcd's encryption key, both steps one after the other (since v1.128).
pub const ROTATE_ETCD_ENCRYPTION_KEY: &str = "rotate-etcd-encryption-key";
/// Start the rotation of etcd's encryption key.
pub const ROTATE_ETCD_ENCRYPTION_KEY_START: &str = "rotate-etcd-encryption-key-start";
/// Complete the rotation of etcd's encryption key.
pub const ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE: &str = "rotate-etcd-encryption-key-complete";
/// Start the rotation of the key that signs tokens of workload identities.
pub const ROTATE_WORKLOAD_IDENTITY_KEY_START: &str = "rotate-workload-identity-key-start";
/// Complete the rotation of the key that signs tokens of workload identities.
pub const ROTATE_WORKLOAD_IDENTITY_KEY_COMPLETE: &str = "rotate-workload-identity-key-complete";
/// Followed by `=` and comma-separated worker pools or `*`: replaces their nodes (since v1.132).
pub const ROLLOUT_WORKERS: &str = "rollout-workers";
/// Deploys a gardenlet again.
pub const FORCE_REDEPLOY: &str = "force-redeploy";
/// Rotate the credentials of observability.
pub const ROTATE_OBSERVABILITY_CREDENTIALS: &str = "rotate-observability-credentials";
/// Rotate the SSH key pair.
pub const ROTATE_SSH_KEYPAIR: &str = "rotate-ssh-keypair";
/// Followed by `=` and comma-separated worker pools: roll them now.
pub const ROTATE_ROLLOUT_WORKERS: &str = "rotate-rollout-workers";
