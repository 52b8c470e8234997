// SPDX-License-Identifier: Apache-2.0
//! Properties of a Shoot that several parts of the validation use.

use api::core::*;

/// True if a Shoot is hibernated, is to be hibernated, or is waking up.
pub(super) fn is_in_hibernation(shoot: &Shoot) -> bool {
    crate::shoot_facts::is_hibernation_enabled(&shoot.spec) || shoot.status.hibernated
}

/// Phases of the rotations in two steps; empty: never rotated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RotationPhases<'a> {
    pub(super) certificate_authorities: &'a str,
    pub(super) service_account_key: &'a str,
    pub(super) etcd_encryption_key: &'a str,
}

pub(super) fn rotation_phases(status: &ShootStatus) -> RotationPhases<'_> {
    let Some(rotation) = status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref()) else {
        return RotationPhases::default();
    };
    RotationPhases {
        certificate_authorities: rotation.certificate_authorities.as_ref().map_or("", |one| &one.phase),
        service_account_key: rotation.service_account_key.as_ref().map_or("", |one| &one.phase),
        etcd_encryption_key: rotation.etcd_encryption_key.as_ref().map_or("", |one| &one.phase),
    }
}

/// Returns the provider that is marked primary.
pub(super) fn primary_provider(dns: &DNS) -> Option<&DNSProvider> {
    dns.providers.iter().find(|provider| provider.primary == Some(true))
}
