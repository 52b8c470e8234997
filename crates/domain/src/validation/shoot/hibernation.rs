// SPDX-License-Identifier: Apache-2.0
//! Validation of a Shoot's hibernation and its schedules.

use std::collections::BTreeSet;

use api::constants::annotation;
use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use super::facts::{rotation_phases, same_resources};
use super::gates::Gates;
use super::operation::FORBIDDEN_WHEN_HIBERNATED;
use crate::annotations;
use crate::encryption;
use crate::hibernation::cron::Schedule;
use crate::release::Release;
use crate::shoot_facts::is_hibernation_enabled;

pub(super) fn hibernation(errors: &mut Errors, shoot: &Shoot, gates: Gates, path: &Path) {
    let Some(hibernation) = &shoot.spec.hibernation else { return };
    let operation = shoot.metadata.annotation(annotation::MAINTENANCE_OPERATION).unwrap_or_default();
    let key = annotation::MAINTENANCE_OPERATION;
    let asked = if gates.several_operations() { annotations::operations(operation) } else { vec![operation] };
    for one in asked.into_iter().filter(|one| FORBIDDEN_WHEN_HIBERNATED.contains(one)) {
        if hibernation.enabled == Some(true) {
            let text = if gates.several_operations() {
                format!("shoot cannot be hibernated when {key} annotation contains {one} operation")
            } else {
                format!("shoot cannot be hibernated when {key}={one} annotation is set")
            };
            errors.push(FieldError::forbidden(&path.child("enabled"), &text));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, schedule) in hibernation.schedules.iter().enumerate() {
        let path = path.child("schedules").index(index);
        if schedule.start.is_none() && schedule.end.is_none() {
            let text = "either start or end has to be provided";
            errors.push(FieldError::required(&path.child("start/end"), text));
        }
        for (field, schedule) in [("start", &schedule.start), ("end", &schedule.end)] {
            let Some(schedule) = schedule else { continue };
            let path = path.child(field);
            if let Err(error) = Schedule::parse(schedule) {
                errors.push(FieldError::invalid(&path, schedule, &format!("not a valid cron spec: {error}")));
            } else if !seen.insert(schedule) {
                errors.push(FieldError::duplicate(&path, schedule));
            }
        }
        if let Some(location) = &schedule.location
            && crate::hibernation::location(location).is_none()
        {
            let text = format!("not a valid location: unknown time zone {location}");
            errors.push(FieldError::invalid(&path.child("location"), location, &text));
        }
    }
}

/// Checks that hibernation may begin.
pub(super) fn update(errors: &mut Errors, new: &Shoot, old: &Shoot, release: Release) {
    if is_hibernation_enabled(&old.spec) || !is_hibernation_enabled(&new.spec) {
        return;
    }
    let path = Path::new("spec").child("hibernation").child("enabled");
    let phases = rotation_phases(&new.status);
    let mut forbidden = |name: &str, phase: &str, phases: &[&str]| {
        if phases.contains(&phase) {
            let text =
                format!("shoot cannot be hibernated when .status.credentials.rotation.{name}.phase is {phase:?}");
            errors.push(FieldError::forbidden(&path, &text));
        }
    };
    forbidden("etcdEncryptionKey", phases.etcd_encryption_key, &["Preparing", "Completing"]);
    let keys = ["Preparing", "PreparingWithoutWorkersRollout", "Completing"];
    forbidden("serviceAccountKey", phases.service_account_key, &keys);
    let wanted = encryption::wanted_resources(&old.spec);
    if !same_resources(&wanted, &encryption::encrypted_resources(&old.status), release) {
        let is_at_rest = encryption::AT_REST.contain(release);
        let field =
            if is_at_rest { "status.credentials.encryptionAtRest.resources" } else { "status.encryptedResources" };
        let text = format!(
            "shoot cannot be hibernated when spec.kubernetes.kubeAPIServer.encryptionConfig.resources and {field} are not \
             equal"
        );
        errors.push(FieldError::forbidden(&path, &text));
    }
}

#[cfg(test)]
mod tests {
    use crate::hibernation::location;

    #[test]
    fn locations_are_names_of_time_zones() {
        for known in ["Europe/Berlin", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+1"] {
            assert!(location(known).is_some(), "{known}");
        }
        for unknown in ["Europe", "Mars/Base", "europe/berlin", "CEST"] {
            assert!(location(unknown).is_none(), "{unknown}");
        }
    }
}
