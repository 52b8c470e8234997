// SPDX-License-Identifier: Apache-2.0
//! Properties of a Shoot that several parts of the validation use.

use std::collections::BTreeSet;

use api::constants::{operation_state, operation_type};
use api::core::*;

use crate::release::{Release, Releases};

/// Encrypted resources are compared by name and group; in earlier releases, by their text.
pub(super) const NAMES_ARE_GROUP_RESOURCES: Releases = Releases::since(123);

/// Name and group of a resource; `configmaps` and `configmaps.` are of the core group.
pub(super) fn group_resource(text: &str) -> (&str, &str) {
    text.split_once('.').unwrap_or((text, ""))
}

/// True if two sorted lists without duplicates name the same resources.
pub(super) fn same_resources(one: &[&str], other: &[&str], release: Release) -> bool {
    one == other || NAMES_ARE_GROUP_RESOURCES.contain(release) && group_resources(one) == group_resources(other)
}

fn group_resources<'a>(list: &[&'a str]) -> BTreeSet<(&'a str, &'a str)> {
    list.iter().map(|text| group_resource(text)).collect()
}

/// True if the last operation of a Shoot allows the start of a rotation.
pub(super) fn is_ready_for_rotation(last_operation: Option<&LastOperation>) -> bool {
    last_operation.is_some_and(|operation| match operation.r#type.as_str() {
        operation_type::RECONCILE => true,
        operation_type::CREATE | operation_type::RESTORE => operation.state == operation_state::SUCCEEDED,
        _ => false,
    })
}

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
