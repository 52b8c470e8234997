// SPDX-License-Identifier: Apache-2.0
//! The Shoot controller: decides when a Shoot is reconciled, and writes its status before and after its flow.
//!
//! Source: pkg/gardenlet/controller/shoot/shoot/{add,reconciler}.go @ v1.120.0.

mod operation;

use std::collections::BTreeSet;
use std::sync::Arc;

use api::constants::{finalizer, operation_state};
use api::core::{LastOperation, Shoot};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Controller, Error, ObjectKey, Patch, Requeue};
use domain::emergency_stop;
use domain::last_operation::OperationType;
use domain::reconcile::{self, Enqueue, GardenletSettings, NextSync, SKIPPED_SHOOT_IS_PENDING};
use parking_lot::Mutex;
use serde_json::json;

use super::shared::{Gardenlet, garden_key};

/// Delay of a Shoot whose Seed is not ready.
const SEED_NOT_READY: TimeDelta = TimeDelta::seconds(15);

/// Returns the name of the seed that is responsible for a Shoot.
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
            // Changes of status, labels and annotations trigger no pass: only a new Shoot, a new generation, a deletion
            // do.
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
    /// Returns the settings for schedules of Shoots, with the current state of the Seed.
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
        // Control plane migration between seeds is not emulated.
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

/// Marks operations that an earlier gardenlet process left unfinished as aborted.
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
            let api = gardenlet.shoots(&shoot.metadata.namespace);
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
    gardenlet.shoots(&shoot.metadata.namespace).update(shoot, &new).await.map(drop)
}

/// Returns the current instant in whole seconds, as the status has it.
fn now(gardenlet: &Gardenlet) -> Time {
    Time::from_instant(gardenlet.context.clock.now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_responsible_seed_has_the_control_plane() {
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
