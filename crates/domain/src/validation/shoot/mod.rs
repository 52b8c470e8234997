// SPDX-License-Identifier: Apache-2.0
//! Validation of Shoots (pkg/apis/core/validation/shoot.go @ v1.120.0).
//!
//! This file combines the parts; each part of a Shoot has a file: [`spec`], [`kubernetes`], [`kube_api_server`],
//! [`encryption_config`], [`autoscalers`], [`kubelet`], [`workers`], [`hibernation`], [`operation`], [`status`], and [`update`]
//! for immutable fields. Helpers of several parts are in [`gates`], [`facts`], [`differences`], [`refused`] and [`shared`],
//! which import none of the parts.

mod autoscalers;
mod differences;
mod dns;
mod encryption_config;
mod facts;
#[cfg(test)]
mod field_tests;
mod gates;
mod hibernation;
mod kube_api_server;
mod kubelet;
mod kubernetes;
mod operation;
mod pulled_images;
mod refused;
#[cfg(test)]
mod release_tests;
mod runtime_config;
mod shared;
mod spec;
mod status;
#[cfg(test)]
mod tests;
mod update;
mod workers;

pub use self::differences::differences;
pub use self::gates::Gates;
pub use self::operation::{maintenance_operations, operation_context};
pub use self::status::shoot_status_update;

use api::constants::{annotation, finalizer};
use api::core::*;
use apimachinery::field::{FieldError, Path};

use self::gates::{in_place_gate, nginx_ingress_gate};
use super::Errors;
use super::common::{consecutive_hyphens, one_of};
use super::meta::{NameRule, object_meta, object_meta_update};
use crate::annotations::is_true;

/// Checks a new Shoot.
pub fn shoot(shoot: &Shoot, gates: Gates) -> Errors {
    let mut errors = every_shoot(shoot, gates);
    nginx_ingress_gate(&mut errors, &shoot.spec, None, gates);
    force_deletion(&mut errors, shoot, None);
    for (index, finalizer) in shoot.metadata.finalizers.iter().enumerate() {
        if finalizer == finalizer::GARDENER || finalizer == finalizer::REFERENCE_PROTECTION {
            let path = Path::new("metadata").child("finalizers").index(index);
            let text = format!("finalizer {finalizer:?} cannot be added on creation");
            errors.push(FieldError::forbidden(&path, &text));
        }
    }
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        let path = Path::new("spec").child("provider").child("workers").index(index);
        in_place_gate(&mut errors, worker, gates, &path);
    }
    errors
}

/// Checks a changed Shoot, through the main resource or `binding`.
pub fn shoot_update(new: &Shoot, old: &Shoot, gates: Gates) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    update::spec(&mut errors, new, old, gates);
    encryption_config::update(&mut errors, new, old, gates.release);
    errors.extend(every_shoot(new, gates));
    nginx_ingress_gate(&mut errors, &new.spec, Some(&old.spec), gates);
    update::high_availability(&mut errors, new, old);
    hibernation::update(&mut errors, new, old, gates.release);
    force_deletion(&mut errors, new, Some(old));
    update::node_local_dns(&mut errors, &new.spec, &old.spec, gates.release);
    update::pending_in_place_updates(&mut errors, new, old);
    if update::keeps_event_ttl(new, old, gates.release) {
        errors.retain(|error| error.field != update::EVENT_TTL);
    }
    if update::keeps_accepted_issuers(new, old, gates.release) {
        errors.retain(|error| !error.field.starts_with(update::ACCEPTED_ISSUERS));
    }
    errors
}

/// Checks the rules that new and changed Shoots share.
fn every_shoot(shoot: &Shoot, gates: Gates) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &shoot.metadata, true, NameRule::Label, &Path::new("metadata"));
    consecutive_hyphens(&mut errors, &shoot.metadata.name);
    operation::operations(&mut errors, shoot, gates);
    spec::spec(&mut errors, shoot, gates);
    if let Some(availability) = shoot.spec.control_plane.as_ref().and_then(|plane| plane.high_availability.as_ref()) {
        let path = Path::new("spec").child("controlPlane").child("highAvailability").child("failureTolerance");
        one_of(&mut errors, &availability.failure_tolerance.r#type, &["node", "zone"], &path.child("type"));
    }
    errors
}

fn force_deletion(errors: &mut Errors, new: &Shoot, old: Option<&Shoot>) {
    const CODES: [&str; 5] = [
        "ERR_CLEANUP_CLUSTER_RESOURCES",
        "ERR_CONFIGURATION_PROBLEM",
        "ERR_INFRA_DEPENDENCIES",
        "ERR_INFRA_UNAUTHENTICATED",
        "ERR_INFRA_UNAUTHORIZED",
    ];
    let path = Path::new("metadata").child("annotations").key(annotation::CONFIRMATION_FORCE_DELETION);
    let confirmed = |shoot: &Shoot| is_true(&shoot.metadata.annotations, annotation::CONFIRMATION_FORCE_DELETION);
    let before = old.is_some_and(confirmed);
    if before && !confirmed(new) {
        errors.push(FieldError::forbidden(&path, "force-deletion annotation cannot be removed once set"));
    }
    if !before && confirmed(new) {
        if !new.metadata.is_being_deleted() {
            let text = "force-deletion annotation cannot be set when Shoot deletionTimestamp is nil";
            errors.push(FieldError::forbidden(&path, text));
        }
        let mut codes = new.status.last_errors.iter().flat_map(|error| &error.codes);
        if !codes.any(|code| CODES.contains(&code.as_str())) {
            let text = format!(
                "force-deletion annotation cannot be set when Shoot status does not contain one of these error \
                 codes: [{}]",
                CODES.join(" ")
            );
            errors.push(FieldError::forbidden(&path, &text));
        }
    }
}
