// SPDX-License-Identifier: Apache-2.0
//! Check whether the API server would accept the Shoot after maintenance.
//!
//! Admission checks versions and machine images, static validation checks everything. A stored Shoot, one with a resource
//! version, may violate rules of a later release than the one that stored it: the API server refuses each of its changes.
//! Without a resource version the Shoot comes from a manifest that no server has accepted: validation errors of the unchanged
//! Shoot do not result from maintenance, and are left out.

use api::core::{CloudProfileSpec, Shoot};
use apimachinery::{GroupKind, GroupResource, Status};

use crate::admission::{aggregate, shoot as admission};
use crate::annotations;
use crate::defaulting;
use crate::reconcile::generation_on_update;
use crate::validation::shoot::{Gates, shoot_update};
use crate::versions::Moment;

const GROUP: &str = "core.gardener.cloud";

/// The message of the refusal; `None` if the object is accepted.
pub fn of(maintained: &Shoot, stored: &Shoot, offered: &CloudProfileSpec, gates: Gates, at: Moment) -> Option<String> {
    let name = &stored.metadata.name;
    let forbidden = admission::check_changed_versions(maintained, stored, offered, at);
    if !forbidden.is_empty() {
        let resource = GroupResource { group: GROUP.into(), resource: "shoots".into() };
        return Some(Status::forbidden(&resource, name, &aggregate(&forbidden)).message);
    }
    of_validation(maintained, stored, gates)
}

/// Checks a Shoot as [`of`], for an unknown offer: without admission of versions.
pub fn of_validation(maintained: &Shoot, stored: &Shoot, gates: Gates) -> Option<String> {
    let is_stored = !stored.metadata.resource_version.is_empty();
    // Validation compares with what a server has stored.
    let mut stored = with_resource_version(stored);
    let mut maintained = with_resource_version(maintained);
    if is_stored {
        // Another release may have stored the Shoot: the server sets its own defaults when it reads one.
        for shoot in [&mut stored, &mut maintained] {
            defaulting::shoot(shoot, 0, gates.release);
        }
    }
    defaulting::sync_dns_references(&mut maintained, gates.release);
    let operation = generation_on_update(&stored, &maintained).operation;
    annotations::set_operation(&mut maintained.metadata.annotations, operation);
    defaulting::sync_cloud_profile_reference(&mut maintained, Some(&stored), gates.release);
    let mut errors = shoot_update(&maintained, &stored, gates);
    if !is_stored && !errors.is_empty() {
        let known = shoot_update(&stored, &stored, gates);
        errors.retain(|error| !known.contains(error));
    }
    let kind = GroupKind { group: GROUP.into(), kind: "Shoot".into() };
    (!errors.is_empty()).then(|| Status::invalid(&kind, &stored.metadata.name, &errors).message)
}

fn with_resource_version(shoot: &Shoot) -> Shoot {
    let mut shoot = shoot.clone();
    if shoot.metadata.resource_version.is_empty() {
        "1".clone_into(&mut shoot.metadata.resource_version);
    }
    shoot
}
