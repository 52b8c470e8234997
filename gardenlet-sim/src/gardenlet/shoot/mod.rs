// SPDX-License-Identifier: Apache-2.0
//! The Shoot controller: when a Shoot is worked on, and what is written before and after its flow.
//!
//! Source: pkg/gardenlet/controller/shoot/shoot/{add,reconciler}.go @ v1.120.0.

mod operation;

use std::collections::BTreeSet;
use std::sync::Arc;

use api::constants::{condition, finalizer, operation_state};
use api::core::{LastOperation, Seed, Shoot};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Controller, Error, ObjectKey, Patch, Requeue};
use domain::emergency_stop;
use domain::last_operation::OperationType;
use domain::reconcile::{self, Enqueue, GardenletSettings, NextSync, SKIPPED_SHOOT_IS_PENDING};
use domain::release::{Release, Releases};
use parking_lot::Mutex;
use serde_json::json;

use super::shared::{Gardenlet, garden_key};

/// How long a Shoot is put back while its Seed is not ready for this gardenlet.
const SEED_NOT_READY: TimeDelta = TimeDelta::seconds(15);

/// The seed that is responsible for a Shoot.
pub(crate) fn responsible_seed(shoot: &Shoot) -> Option<&str> {
    let wanted = shoot.spec.seed_name.as_deref()?;
    Some(shoot.status.seed_name.as_deref().unwrap_or(wanted))
}

/// Runs the controller until the component stops.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>) {
    let mut controller = Controller::new("shoot", &gardenlet.context);
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let queue = controller.queue();
    controller.watch_store(&gardenlet.stores.shoots, {
        let seen = seen.clone();
        move |change| {
            let Some(new) = &change.new else {
                seen.lock().remove(&change.key);
                return Vec::new();
            };
            let is_deleted_now = |old: &Arc<Shoot>| !old.metadata.is_being_deleted() && new.metadata.is_being_deleted();
            if change.old.as_ref().is_some_and(is_deleted_now) {
                queue.forget(&change.key);
            }
            // Status, labels and annotations wake nobody: only a new Shoot, a new generation, a deletion do.
            let is_news = change.old.as_ref().is_none_or(|old| {
                old.metadata.generation != new.metadata.generation
                    || old.metadata.is_being_deleted() != new.metadata.is_being_deleted()
                    || old.spec.seed_name != new.spec.seed_name
                    || old.metadata.uid != new.metadata.uid
            });
            if is_news { vec![change.key.clone()] } else { Vec::new() }
        }
    });
    let concurrency = gardenlet.options.config.concurrent_syncs;
    controller
        .run(concurrency, move |key| {
            let (gardenlet, seen) = (gardenlet.clone(), seen.clone());
            async move {
                let is_first = seen.lock().insert(key.clone());
                pass(gardenlet, key, is_first).await
            }
        })
        .await;
}

impl Gardenlet {
    /// Returns the settings for schedules of Shoots, with what the Seed says at this instant.
    pub(crate) fn settings(&self) -> GardenletSettings {
        let config = &self.options.config;
        let seed = self.stores.seeds.get(&garden_key("", &self.options.seed_name));
        GardenletSettings {
            sync_period: config.sync_period,
            respect_sync_period_overwrite: config.respect_sync_period_overwrite,
            reconcile_in_maintenance_only: config.reconcile_in_maintenance_only,
            gardener_version: self.identity.version.clone(),
            is_stopped: seed.is_some_and(|seed| emergency_stop::is_active(&seed, self.release())),
        }
    }

    fn instant_within(&self, span: domain::window::Span, key: &ObjectKey) -> DateTime<Utc> {
        span.instant(self.context.random.draw("shoot-reconcile", &key.to_string(), span.ordinal()))
    }

    fn requeue(&self, next: NextSync, key: &ObjectKey) -> Requeue {
        match next {
            NextSync::Never => Requeue::OnChange,
            NextSync::After(period) => Requeue::At(self.context.clock.now() + period),
            NextSync::Within(span) => Requeue::At(self.instant_within(span, key)),
        }
    }
}

async fn pass(gardenlet: Arc<Gardenlet>, key: ObjectKey, is_first: bool) -> Result<Requeue, Error> {
    let Some(shoot) = gardenlet.stores.shoots.get(&key) else { return Ok(Requeue::OnChange) };
    if responsible_seed(&shoot) != Some(gardenlet.options.seed_name.as_str()) {
        return Ok(Requeue::OnChange);
    }
    let now = gardenlet.context.clock.now();
    let settings = gardenlet.settings();
    let schedule = reconcile::schedule(&shoot, &settings, now);
    if is_first && let Enqueue::Within(span) = schedule.enqueue {
        let at = gardenlet.instant_within(span, &key);
        if at > now {
            return Ok(Requeue::At(at));
        }
    }
    match reconcile::operation_type(&shoot) {
        OperationType::Delete => operation::delete(gardenlet, shoot, &key).await,
        // The control plane migration between seeds has flows of its own, which are not here yet.
        OperationType::Migrate | OperationType::Restore => Ok(Requeue::OnChange),
        operation => {
            ensure_finalizer(&gardenlet, &shoot).await?;
            if !schedule.reconcile_now {
                return skip(&gardenlet, &shoot, &key, schedule.requeue).await;
            }
            operation::reconcile(gardenlet, shoot, &key, operation).await
        }
    }
}

/// The Seed is checked before an operation begins.
const SEED_IS_CHECKED_FIRST: Releases = Releases::since(139);

/// Description of the operation that does not begin since the Seed is not ready for this gardenlet; `None` if it is, or if
/// the release checks it later.
///
/// Source: `checkSeed` in pkg/gardenlet/controller/shoot/shoot/reconciler.go @ v1.139.0.
pub(crate) fn seed_refusal(seed: &Seed, identity: &api::core::Gardener, release: Release) -> Option<String> {
    if !SEED_IS_CHECKED_FIRST.contain(release) {
        return None;
    }
    let of = |type_: &&str| seed.status.conditions.iter().find(|condition| condition.r#type == **type_);
    let problem = match seed_outdated(seed, identity) {
        Some(problem) => format!("seed is not up to date: {problem}"),
        None => match SEED_CONDITIONS.iter().find(|type_| of(type_).is_none()) {
            Some(missing) => format!("error in seed conditions: condition \"{missing}\" is missing"),
            None => {
                let is_failing = |type_: &&&str| of(type_).is_some_and(|condition| condition.status != "True");
                let failing: Vec<&str> = SEED_CONDITIONS.iter().filter(is_failing).copied().collect();
                if failing.is_empty() {
                    return None;
                }
                format!("seed has failing conditions: [{}]", failing.join(" "))
            }
        },
    };
    Some(format!("Shoot cannot be reconciled on seed: {problem} Operation will be retried."))
}

/// Conditions that a Seed needs.
const SEED_CONDITIONS: [&str; 2] = [condition::SEED_GARDENLET_READY, condition::SEED_SYSTEM_COMPONENTS_HEALTHY];

/// Ends a pass that does not reconcile the Shoot. The Cluster copy of a Shoot that failed or is ignored is refreshed.
async fn skip(gardenlet: &Gardenlet, shoot: &Shoot, key: &ObjectKey, requeue: NextSync) -> Result<Requeue, Error> {
    if shoot.status.last_operation.is_none() && SKIPPED_SHOOT_IS_PENDING.contain(gardenlet.release()) {
        let pending = LastOperation { state: operation_state::PENDING.to_owned(), ..LastOperation::default() };
        operation::write_status(gardenlet, shoot, json!({ "lastOperation": pending })).await?;
    }
    if requeue == NextSync::Never {
        operation::sync_cluster(gardenlet, shoot).await?;
    }
    Ok(gardenlet.requeue(requeue, key))
}

/// Why the Seed is not ready for work of this gardenlet; `None` if it is.
pub(crate) fn seed_problem(seed: &Seed, identity: &api::core::Gardener) -> Option<String> {
    if let Some(problem) = seed_outdated(seed, identity) {
        return Some(problem);
    }
    for type_ in SEED_CONDITIONS {
        match seed.status.conditions.iter().find(|condition| condition.r#type == type_) {
            None => return Some(format!("condition \"{type_}\" is missing")),
            Some(condition) if condition.status != "True" => {
                return Some(format!(
                    "condition \"{type_}\" has invalid status {} (expected True) due to {}: {}",
                    condition.status, condition.reason, condition.message
                ));
            }
            Some(_) => {}
        }
    }
    None
}

/// Why the Seed has not been reconciled by this gardenlet as it is.
fn seed_outdated(seed: &Seed, identity: &api::core::Gardener) -> Option<String> {
    let show = |gardener: Option<&api::core::Gardener>| match gardener {
        Some(gardener) => format!("&{{{} {} {}}}", gardener.id, gardener.name, gardener.version),
        None => "<nil>".to_owned(),
    };
    if seed.status.gardener.as_ref() != Some(identity) {
        return Some(format!(
            "observing Gardener version not up to date ({}/{})",
            show(seed.status.gardener.as_ref()),
            show(Some(identity))
        ));
    }
    if seed.status.observed_generation < seed.metadata.generation {
        return Some(format!(
            "observed generation outdated ({}/{})",
            seed.status.observed_generation, seed.metadata.generation
        ));
    }
    None
}

/// Operations that a gardenlet left unfinished when it ended are marked as such by the one that comes after.
pub(crate) async fn abort_stuck_operations(gardenlet: &Gardenlet) -> Result<(), Error> {
    for shoot in gardenlet.stores.shoots.list() {
        let is_ours = responsible_seed(&shoot) == Some(gardenlet.options.seed_name.as_str());
        let is_stuck = shoot
            .status
            .last_operation
            .as_ref()
            .is_some_and(|operation| operation.state == operation_state::PROCESSING);
        if is_ours && is_stuck {
            let patch = Patch::Merge(json!({ "status": { "lastOperation": { "state": "Aborted" } } }));
            let api = gardenlet.garden::<Shoot>(&shoot.metadata.namespace);
            match api.patch_subresource(&shoot.metadata.name, "status", &patch).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Adds the finalizer, if it is missing.
async fn ensure_finalizer(gardenlet: &Gardenlet, shoot: &Shoot) -> Result<(), Error> {
    if shoot.metadata.has_finalizer(finalizer::GARDENER) {
        return Ok(());
    }
    let mut new = shoot.clone();
    new.metadata.finalizers.push(finalizer::GARDENER.to_owned());
    gardenlet.garden::<Shoot>(&shoot.metadata.namespace).update(shoot, &new).await?;
    Ok(())
}

/// An instant in the status's whole seconds.
fn now(gardenlet: &Gardenlet) -> Time {
    Time::from_instant(gardenlet.context.clock.now())
}

#[cfg(test)]
mod tests {
    use api::core::{Condition, Gardener};

    use super::*;

    fn identity() -> Gardener {
        Gardener { id: "id".to_owned(), name: "gardenlet-0".to_owned(), version: "v1.120.0".to_owned() }
    }

    fn condition(type_: &str, status: &str) -> Condition {
        Condition {
            r#type: type_.to_owned(),
            status: status.to_owned(),
            reason: "R".to_owned(),
            message: "m".to_owned(),
            ..Condition::default()
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Seed), expected: Option<&str>) {
        let mut seed = Seed::default();
        seed.metadata.generation = 2;
        seed.status.observed_generation = 2;
        seed.status.gardener = Some(identity());
        seed.status.conditions =
            vec![condition("GardenletReady", "True"), condition("SeedSystemComponentsHealthy", "True")];
        change(&mut seed);
        assert_eq!(seed_problem(&seed, &identity()).as_deref(), expected);
    }

    /// Before and since 1.139.
    #[test]
    fn an_operation_does_not_begin_on_a_seed_that_is_not_ready() {
        let refusal = |release: u16, change: &dyn Fn(&mut Seed)| {
            let mut seed = Seed::default();
            (seed.metadata.generation, seed.status.observed_generation) = (2, 2);
            seed.status.gardener = Some(identity());
            seed.status.conditions =
                vec![condition("GardenletReady", "True"), condition("SeedSystemComponentsHealthy", "True")];
            change(&mut seed);
            seed_refusal(&seed, &identity(), Release(release))
        };
        let said =
            |problem: &str| Some(format!("Shoot cannot be reconciled on seed: {problem} Operation will be retried."));
        let old = |seed: &mut Seed| seed.metadata.generation = 3;
        assert_eq!(refusal(138, &old), None);
        assert_eq!(refusal(139, &|_| {}), None);
        assert_eq!(refusal(139, &old), said("seed is not up to date: observed generation outdated (2/3)"));
        assert_eq!(
            refusal(149, &|seed| seed.status.conditions.truncate(1)),
            said("error in seed conditions: condition \"SeedSystemComponentsHealthy\" is missing")
        );
        let fail = |seed: &mut Seed| seed.status.conditions.iter_mut().for_each(|one| one.status = "False".to_owned());
        assert_eq!(
            refusal(149, &fail),
            said("seed has failing conditions: [GardenletReady SeedSystemComponentsHealthy]")
        );
    }

    #[test]
    fn a_seed_is_ready_for_the_gardenlet_that_reconciled_it() {
        check(|_| {}, None);
        check(
            |seed| seed.status.gardener = None,
            Some("observing Gardener version not up to date (<nil>/&{id gardenlet-0 v1.120.0})"),
        );
        check(|seed| seed.metadata.generation = 3, Some("observed generation outdated (2/3)"));
        check(|seed| seed.status.conditions.truncate(1), Some("condition \"SeedSystemComponentsHealthy\" is missing"));
        check(
            |seed| seed.status.conditions[0].status = "Progressing".to_owned(),
            Some("condition \"GardenletReady\" has invalid status Progressing (expected True) due to R: m"),
        );
    }

    #[test]
    fn the_responsible_seed_is_the_one_that_holds_the_control_plane() {
        #[track_caller]
        fn check(spec: Option<&str>, status: Option<&str>, expected: Option<&str>) {
            let mut shoot = Shoot::default();
            shoot.spec.seed_name = spec.map(str::to_owned);
            shoot.status.seed_name = status.map(str::to_owned);
            assert_eq!(responsible_seed(&shoot), expected);
        }
        check(None, None, None);
        check(Some("a"), None, Some("a"));
        check(Some("a"), Some("a"), Some("a"));
        check(Some("b"), Some("a"), Some("a"));
    }
}
