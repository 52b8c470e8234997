// SPDX-License-Identifier: Apache-2.0
//! Shoots (pkg/apis/core/validation/shoot.go @ v1.120.0).

mod hibernation;
mod kubelet;
mod kubernetes;
mod operation;
mod spec;
mod status;
#[cfg(test)]
mod tests;
mod update;
mod workers;

pub use self::operation::operation_context;
pub use self::status::shoot_status_update;

use api::constants::{annotation, finalizer, update_strategy};
use api::core::*;
use apimachinery::field::{FieldError, Path};
use serde::Serialize;
use serde_json::Value;

use super::Errors;
use super::common::{consecutive_hyphens, one_of};
use super::meta::{NameRule, immutable, object_meta, object_meta_update};
use crate::annotations::is_true;
use crate::skew::GardenerVersion;
use crate::skew::releases::gate_is_on;

const WORKERLESS: &str = "this field should not be set for workerless Shoot clusters";

/// What validation asks of a gardener-apiserver: its feature gates, and which operations its release knows. By default as
/// in releases before 1.121.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `InPlaceNodeUpdates`
    pub in_place_node_updates: bool,
    /// `CredentialsRotationWithoutWorkersRollout`
    pub credentials_rotation_without_workers_rollout: bool,
    /// `rotate-etcd-encryption-key` is an operation; the two halves of it are none for Kubernetes 1.34 and later. Since
    /// 1.128.
    pub etcd_encryption_key_rotates_as_a_whole: bool,
    /// An annotation may ask for several operations. Since 1.133.
    pub several_operations: bool,
}

impl Gates {
    /// As they are in a release where nothing is set.
    pub fn of_release(version: &GardenerVersion) -> Self {
        Self {
            in_place_node_updates: gate_is_on(version, "InPlaceNodeUpdates", None),
            credentials_rotation_without_workers_rollout: gate_is_on(
                version,
                "CredentialsRotationWithoutWorkersRollout",
                None,
            ),
            etcd_encryption_key_rotates_as_a_whole: version.minor() >= (1, 128),
            several_operations: version.minor() >= (1, 133),
        }
    }
}

/// A new Shoot.
pub fn shoot(shoot: &Shoot, gates: Gates) -> Errors {
    let mut errors = every_shoot(shoot, gates);
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

/// A changed Shoot, through the main resource or `binding`.
pub fn shoot_update(new: &Shoot, old: &Shoot, gates: Gates) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &new.metadata, &old.metadata, &Path::new("metadata"));
    update::spec(&mut errors, new, old, gates);
    update::encryption(&mut errors, new, old);
    errors.extend(every_shoot(new, gates));
    update::high_availability(&mut errors, new, old);
    hibernation::update(&mut errors, new, old);
    force_deletion(&mut errors, new, Some(old));
    update::node_local_dns(&mut errors, &new.spec, &old.spec);
    update::pending_in_place_updates(&mut errors, new, old);
    errors
}

/// The rules for new and changed Shoots alike.
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

fn in_place_gate(errors: &mut Errors, worker: &Worker, gates: Gates, path: &Path) {
    if is_in_place(worker) && !gates.in_place_node_updates {
        let text = "can not configure `AutoInPlaceUpdate` or `ManualInPlaceUpdate` update strategies when the \
                    `InPlaceNodeUpdates` feature gate is disabled.";
        errors.push(FieldError::invalid(&path.child("updateStrategy"), &worker.update_strategy, text));
    }
}

/// Whether a worker pool is updated in place.
pub fn is_in_place(worker: &Worker) -> bool {
    matches!(worker.update_strategy.as_deref(), Some(update_strategy::AUTO_IN_PLACE | update_strategy::MANUAL_IN_PLACE))
}

/// Whether a Shoot is hibernated, is about to be, or is waking up.
fn is_in_hibernation(shoot: &Shoot) -> bool {
    crate::reconcile::is_hibernation_enabled(&shoot.spec) || shoot.status.hibernated
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

/// The fields in which two values differ, `Provider.Workers.slice[0].Maximum: 3 != 5`; at most ten.
pub fn differences<T: Serialize>(new: &T, old: &T) -> Vec<String> {
    let tree = |value: &T| serde_json::to_value(value).unwrap_or_default();
    let mut found = Vec::new();
    difference(&mut found, "", &tree(new), &tree(old));
    found.truncate(10);
    found
}

fn difference(found: &mut Vec<String>, path: &str, new: &Value, old: &Value) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            let keys: std::collections::BTreeSet<&String> = new.keys().chain(old.keys()).collect();
            for key in keys {
                let mut name = key.clone();
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_uppercase();
                }
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                difference(found, &path, new.get(key).unwrap_or(&Value::Null), old.get(key).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            for index in 0..new.len().max(old.len()) {
                let item = |list: &[Value]| list.get(index).cloned().unwrap_or_default();
                difference(found, &format!("{path}.slice[{index}]"), &item(new), &item(old));
            }
        }
        _ if new == old => {}
        _ => found.push(format!("{path}: {} != {}", go_text(new), go_text(old))),
    }
}

fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil pointer>".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A field that must stay as it is, below `spec`.
fn keep<T: PartialEq + Serialize>(errors: &mut Errors, new: &T, old: &T, path: &Path, field: &str) {
    immutable(errors, new, old, &path.child(field));
}
