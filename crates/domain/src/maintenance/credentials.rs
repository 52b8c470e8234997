// SPDX-License-Identifier: Apache-2.0
//! Credentials that maintenance rotates automatically: `spec.maintenance.autoRotation`, a field since v1.135.
//!
//! | credentials | operation | not |
//! | --- | --- | --- |
//! | SSH key pair | `rotate-ssh-keypair` | without SSH access |
//! | passwords of observability | `rotate-observability-credentials` | |
//! | key that encrypts etcd | `rotate-etcd-encryption-key` | since 1.149 while hibernation is enabled |
//!
//! They are due if the last rotation ended, or else the Shoot was created, longer ago than the period. Before 1.149 the
//! key of a hibernated Shoot is due as well, and the run is refused.
//! Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go, v1.135.0 to v1.149.0.

use api::constants::operation;
use api::core::{MaintenanceRotationConfig, Shoot, ShootCredentialsRotation};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use crate::release::Releases;
use crate::rotation;
use crate::shoot_facts::{has_ssh_access, is_hibernation_enabled};
use crate::versions::Moment;

/// The key that encrypts etcd is not rotated before the Shoot is awake.
const ETCD_ENCRYPTION_KEY_WAITS: Releases = Releases::since(149);

/// Credentials that are rotated automatically, in the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Credentials {
    SshKeyPair,
    Observability,
    EtcdEncryptionKey,
}

impl Credentials {
    const ALL: [Self; 3] = [Self::SshKeyPair, Self::Observability, Self::EtcdEncryptionKey];

    const fn operation(self) -> &'static str {
        match self {
            Self::SshKeyPair => operation::ROTATE_SSH_KEYPAIR,
            Self::Observability => operation::ROTATE_OBSERVABILITY_CREDENTIALS,
            Self::EtcdEncryptionKey => operation::ROTATE_ETCD_ENCRYPTION_KEY,
        }
    }

    const fn started(self) -> &'static str {
        match self {
            Self::SshKeyPair => "SSH keypair rotation started",
            Self::Observability => "Observability passwords rotation started",
            Self::EtcdEncryptionKey => "ETCD Encryption key rotation started",
        }
    }

    const fn configured(self) -> &'static str {
        match self {
            Self::SshKeyPair => "Automatic rotation of SSH keypair configured",
            Self::Observability => "Automatic rotation of observability passwords configured",
            Self::EtcdEncryptionKey => "Automatic rotation of etcd encryption key configured",
        }
    }

    /// Returns the period of rotation; `None` if they are not rotated.
    fn period(self, shoot: &Shoot) -> Option<TimeDelta> {
        let configured = shoot.spec.maintenance.as_ref()?.auto_rotation.as_ref()?.credentials.as_ref()?;
        let config: Option<&MaintenanceRotationConfig> = match self {
            Self::SshKeyPair => configured.ssh_keypair.as_ref(),
            Self::Observability => configured.observability.as_ref(),
            Self::EtcdEncryptionKey => configured.etcd_encryption_key.as_ref(),
        };
        let period = TimeDelta::nanoseconds(config?.rotation_period?.nanoseconds);
        let is_there = self != Self::SshKeyPair || has_ssh_access(&shoot.spec);
        (is_there && !period.is_zero()).then_some(period)
    }

    /// True if they cannot be rotated while the Shoot is hibernated.
    fn needs_awake(self, shoot: &Shoot) -> bool {
        self == Self::EtcdEncryptionKey && is_hibernation_enabled(&shoot.spec)
    }

    fn last_completion(self, rotation: &ShootCredentialsRotation) -> Option<Time> {
        match self {
            Self::SshKeyPair => rotation.ssh_keypair.as_ref()?.last_completion_time,
            Self::Observability => rotation.observability.as_ref()?.last_completion_time,
            Self::EtcdEncryptionKey => rotation.etcd_encryption_key.as_ref()?.last_completion_time,
        }
    }

    /// Returns the instant after which they are due; `None`: never.
    fn due_after(self, shoot: &Shoot) -> Option<DateTime<Utc>> {
        let period = self.period(shoot)?;
        let rotation = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
        let last = rotation.and_then(|rotation| self.last_completion(rotation));
        last.unwrap_or(shoot.metadata.creation_timestamp).0.checked_add_signed(period)
    }
}

/// Returns the instant after which the key that encrypts etcd is to be rotated; `None` if it is not rotated automatically.
pub fn etcd_encryption_key_is_due_after(shoot: &Shoot) -> Option<DateTime<Utc>> {
    Credentials::EtcdEncryptionKey.due_after(shoot)
}

/// A rotation that was due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationOutcome {
    /// Operation that rotates the credentials.
    pub operation: &'static str,
    /// True if the rotation is started.
    pub is_started: bool,
    /// Description for users of the rotation or the failure.
    pub description: &'static str,
    /// Reason for which the rotation was due, or was not started.
    pub reason: &'static str,
}

/// Returns the rotations that are due at an instant.
pub fn due(shoot: &Shoot, at: Moment) -> Vec<RotationOutcome> {
    let waits = |one: &Credentials| ETCD_ENCRYPTION_KEY_WAITS.contain(at.release) && one.needs_awake(shoot);
    let is_due = |one: &Credentials| !waits(one) && one.due_after(shoot).is_some_and(|instant| instant < at.now);
    Credentials::ALL.into_iter().filter(is_due).map(|one| outcome(one, shoot)).collect()
}

fn outcome(credentials: Credentials, shoot: &Shoot) -> RotationOutcome {
    let operation = credentials.operation();
    let is_under_way = rotation::etcd_encryption_key(&shoot.status)
        .is_some_and(|one| !one.phase.is_empty() && one.phase != rotation::COMPLETED);
    if credentials == Credentials::EtcdEncryptionKey && is_under_way {
        let description = "Could not start ETCD encryption key rotation";
        let reason = "ETCD encryption key rotation is already in progress";
        return RotationOutcome { operation, is_started: false, description, reason };
    }
    let (description, reason) = (credentials.started(), credentials.configured());
    RotationOutcome { operation, is_started: true, description, reason }
}

/// Returns the first instant after another at which a run may find a rotation that it did not find before: one becomes
/// due, or one that is due is no longer delayed or refused.
pub fn next_due(shoot: &Shoot, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let soonest = after + TimeDelta::nanoseconds(1);
    let first = |one: Credentials| {
        let instant = one.due_after(shoot)? + TimeDelta::nanoseconds(1);
        if one.needs_awake(shoot) { Some(instant.max(soonest)) } else { Some(instant).filter(|at| *at >= soonest) }
    };
    Credentials::ALL.into_iter().filter_map(first).min()
}
