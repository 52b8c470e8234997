// SPDX-License-Identifier: Apache-2.0
//! Checks of the assignment of a Shoot to a Seed.

use api::constants::{annotation, operation_type};
use api::core::*;
use apimachinery::selector::Labels;

use super::super::{Operation, Refusal};
use super::{Context, forbidden, moving};

pub(super) fn scheduling(shoot: &Shoot, context: &Context<'_>) -> Result<(), Refusal> {
    let empty = Shoot::default();
    let old = context.old.unwrap_or(&empty);
    let (now, before) = (shoot.spec.seed_name.as_deref(), old.spec.seed_name.as_deref());
    let rescheduled = matches!((now, before), (Some(now), Some(before)) if now != before);
    let scheduled = now.is_some() && before.is_none();
    if context.operation == Operation::Update {
        match (now, before) {
            (None, Some(before)) => {
                return Err(forbidden(format!(
                    "spec.seedName is already set to '{before}' and cannot be changed to 'nil'"
                )));
            }
            (Some(_), _) if context.binding && rescheduled => {
                let mut same = shoot.spec.clone();
                same.seed_name.clone_from(&old.spec.seed_name);
                if same != old.spec {
                    let text = "only spec.seedName can be changed using the binding subresource when the shoot is being \
                                rescheduled to a new seed";
                    return Err(forbidden(text));
                }
            }
            (Some(now), before) if !context.binding && Some(now) != before => {
                let before = before.unwrap_or("nil");
                return Err(forbidden(format!(
                    "spec.seedName '{before}' cannot be changed to '{now}' by patching the shoot, please use the \
                     shoots/binding subresource"
                )));
            }
            _ => {}
        }
    }
    if (scheduled || rescheduled)
        && let Some(seed) = context.seed
    {
        constraints(shoot, seed, context)?;
    }
    if rescheduled {
        for (seed, word) in [(context.old_seed, "old seed"), (context.seed, "seed")] {
            let Some(seed) = seed.filter(|seed| seed.spec.backup.is_none()) else { continue };
            return Err(forbidden(format!(
                "cannot change seed name because backup is not configured for {word} {:?}",
                seed.metadata.name
            )));
        }
    } else if old.spec != shoot.spec {
        if was_rescheduled(shoot) {
            return Err(forbidden("shoot spec cannot be changed because shoot has been rescheduled to a new seed"));
        }
        if let Some(operation) = moving(shoot) {
            return Err(forbidden(format!(
                "cannot change shoot spec during {} operation that is in state {}",
                operation.r#type, operation.state
            )));
        }
    }
    match context.seed {
        Some(seed) => present_seed(shoot, old, seed),
        None => Ok(()),
    }
}

/// Checks the conditions for an assignment to a Seed.
fn constraints(shoot: &Shoot, seed: &Seed, context: &Context<'_>) -> Result<(), Refusal> {
    let refuse = |why: String| {
        let (shoot, seed) = (&shoot.metadata.name, &seed.metadata.name);
        Err(forbidden(format!("cannot schedule shoot '{shoot}' on seed '{seed}' {why}")))
    };
    if seed.metadata.is_being_deleted() {
        return refuse("that is already marked for deletion".to_owned());
    }
    if !taints_are_tolerated(&seed.spec.taints, &shoot.spec.tolerations) {
        return Err(forbidden("forbidden to use a seed whose taints are not tolerated by the shoot"));
    }
    let offers = |name: &str| seed.spec.access_restrictions.iter().any(|one| one.name == name);
    if !shoot.spec.access_restrictions.iter().all(|restriction| offers(&restriction.name)) {
        let text = "forbidden to use a seed which doesn't support the access restrictions of the shoot";
        return Err(forbidden(text));
    }
    if let Some(most) = seed.status.allocatable.get("shoots").map(apimachinery::meta::Quantity::value)
        && context.shoots_on_seed >= most
    {
        return refuse(format!("that already has the maximum number of shoots scheduled on it ({most})"));
    }
    let Some(selector) = &context.cloud_profile.seed_selector else { return Ok(()) };
    let labels = apimachinery::meta::LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: selector.match_expressions.clone(),
    };
    let labels = Labels::from_selector(&labels).map_err(Refusal::Internal)?;
    if !labels.matches(&seed.metadata.labels) {
        let text = "because the cloud profile seed selector is not matching the labels of the seed";
        return refuse(text.to_owned());
    }
    let types = &selector.provider_types;
    if !types.is_empty() && !types.iter().any(|kind| kind == "*" || *kind == seed.spec.provider.r#type) {
        let text = "because none of the provider types in the cloud profile seed selector is matching the provider \
                    type of the seed";
        return refuse(text.to_owned());
    }
    Ok(())
}

/// True if each taint has a toleration of its key; a taint with a value requires the same value.
pub fn taints_are_tolerated(taints: &[SeedTaint], tolerations: &[Toleration]) -> bool {
    let tolerated = |taint: &SeedTaint| {
        let toleration = tolerations.iter().rfind(|toleration| toleration.key == taint.key);
        toleration.is_some_and(|toleration| {
            let value = toleration.value.as_deref().unwrap_or_default();
            taint.value.as_deref().is_none_or(|wanted| wanted == value)
        })
    };
    taints.len() <= tolerations.len() && taints.iter().all(tolerated)
}

/// True if the Shoot waits for its migration to another Seed.
fn was_rescheduled(shoot: &Shoot) -> bool {
    let migrates =
        shoot.status.last_operation.as_ref().is_some_and(|operation| operation.r#type == operation_type::MIGRATE);
    shoot.status.seed_name.is_some()
        && shoot.spec.seed_name.is_some()
        && shoot.spec.seed_name != shoot.status.seed_name
        && shoot.status.last_operation.is_some()
        && !migrates
}

/// Checks the conditions for a Shoot that is assigned to a Seed.
fn present_seed(shoot: &Shoot, old: &Shoot, seed: &Seed) -> Result<(), Refusal> {
    let (shoot_name, seed_name) = (&shoot.metadata.name, &seed.metadata.name);
    let availability = shoot.spec.control_plane.as_ref().and_then(|plane| plane.high_availability.as_ref());
    let zones = seed.spec.provider.zones.len();
    if availability.is_some_and(|availability| availability.failure_tolerance.r#type == "zone") && zones < 3 {
        return Err(forbidden(format!(
            "cannot schedule shoot '{shoot_name}' with failure tolerance of zone on seed '{seed_name}' with only \
             {zones} zones, at least 3 zones are required"
        )));
    }
    if !seed.metadata.is_being_deleted() {
        return Ok(());
    }
    let mut allowed = old.metadata.annotations.clone();
    if let Some(confirmation) = shoot.metadata.annotation(annotation::CONFIRMATION_DELETION) {
        allowed.insert(annotation::CONFIRMATION_DELETION.to_owned(), confirmation.to_owned());
    }
    if shoot.metadata.annotations != old.metadata.annotations && shoot.metadata.annotations != allowed {
        return Err(forbidden(format!(
            "cannot update annotations of shoot '{shoot_name}' on seed '{seed_name}' already marked for deletion: only \
             the '{}' annotation can be changed",
            annotation::CONFIRMATION_DELETION
        )));
    }
    if shoot.spec != old.spec {
        return Err(forbidden(format!(
            "cannot update spec of shoot '{shoot_name}' on seed '{seed_name}' already marked for deletion"
        )));
    }
    Ok(())
}
