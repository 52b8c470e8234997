// SPDX-License-Identifier: Apache-2.0
//! Checks of the assignment of a Shoot to a Seed.

use api::constants::{annotation, operation_type};
use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::go::quote;
use apimachinery::meta::LabelSelector;
use apimachinery::selector::Labels;

use super::super::{Operation, Refusal};
use super::{Context, Errors, forbidden, moving};
use crate::release::{Release, Releases};

/// Seeds have internal domains, which a Shoot keeps.
const INTERNAL_DOMAIN_STAYS: Releases = Releases::since(127);

/// Seeds have default domains, of which a Shoot keeps its own.
const DEFAULT_DOMAIN_STAYS: Releases = Releases::since(131);

/// Admission checks changes of the seed selector; in older releases static validation does.
const SEED_SELECTOR_MATCHES: Releases = Releases::since(136);

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
        if let (Some(old_seed), Some(seed)) = (context.old_seed, context.seed) {
            domains(shoot, old_seed, seed, context.at.release)?;
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

/// Checks that a Shoot keeps its domains on another Seed.
fn domains(shoot: &Shoot, old_seed: &Seed, seed: &Seed, release: Release) -> Result<(), Refusal> {
    fn internal(seed: &Seed) -> &str {
        seed.spec.dns.internal.as_ref().map_or("", |internal| &internal.domain)
    }
    let (before, now) = (internal(old_seed), internal(seed));
    if before != now && INTERNAL_DOMAIN_STAYS.contain(release) {
        return Err(forbidden(format!(
            "cannot change seed name because internal domain would change from {} to {}",
            quote(before),
            quote(now)
        )));
    }
    let Some(domain) = shoot.spec.dns.as_ref().and_then(|dns| dns.domain.as_ref()) else { return Ok(()) };
    let is_below = |default: &&str| domain.strip_suffix(*default).is_some_and(|rest| rest.ends_with('.'));
    let mut defaults = old_seed.spec.dns.defaults.iter().map(|default| default.domain.as_str());
    let supported: Vec<&str> = seed.spec.dns.defaults.iter().map(|default| default.domain.as_str()).collect();
    match defaults.find(is_below) {
        Some(default) if DEFAULT_DOMAIN_STAYS.contain(release) && !supported.contains(&default) => {
            Err(forbidden(format!(
                "cannot reschedule shoot {} to seed {} because the shoot uses the default domain {} which is not supported \
                 by the new seed (supported domains: [{}])",
                quote(&shoot.metadata.name),
                quote(&seed.metadata.name),
                quote(default),
                supported.join(" ")
            )))
        }
        _ => Ok(()),
    }
}

/// Checks that a changed seed selector matches the Seed of the Shoot.
pub(super) fn seed_selector(errors: &mut Errors, shoot: &Shoot, context: &Context<'_>) -> Result<(), Refusal> {
    let before = context.old.and_then(|old| old.spec.seed_selector.as_ref());
    let now = shoot.spec.seed_selector.as_ref();
    let (Some(name), Some(seed)) = (&shoot.spec.seed_name, context.seed) else { return Ok(()) };
    if before == now || !SEED_SELECTOR_MATCHES.contain(context.at.release) {
        return Ok(());
    }
    let path = Path::new("spec").child("seedSelector");
    let Some(selector) = now else {
        errors.push(FieldError::invalid(&path, now, "cannot unset seedSelector once it has been set"));
        return Ok(());
    };
    let refused = |what: &str| {
        format!("cannot change seedSelector to not match the {what} of the already selected seed {name:?}")
    };
    if !labels(selector)?.matches(&seed.metadata.labels) {
        errors.push(FieldError::invalid(&path, selector, &refused("labels")));
    }
    let types = &selector.provider_types;
    if !types.is_empty() && !types.contains(&seed.spec.provider.r#type) {
        errors.push(FieldError::invalid(&path.child("providerTypes"), types, &refused("provider type")));
    }
    Ok(())
}

fn labels(selector: &SeedSelector) -> Result<Labels, Refusal> {
    let labels = LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: selector.match_expressions.clone(),
    };
    Labels::from_selector(&labels).map_err(Refusal::Internal)
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
    if !labels(selector)?.matches(&seed.metadata.labels) {
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
