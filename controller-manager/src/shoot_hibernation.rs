// SPDX-License-Identifier: Apache-2.0
//! Hibernates Shoots and wakes them by their schedules.
//!
//! Source: pkg/controllermanager/controller/shoot/hibernation @ v1.120.0.

use std::sync::Arc;

use api::core::{HibernationSchedule, Shoot};
use apimachinery::meta::Time;
use chrono::TimeDelta;
use controller::{Action, Api, Change, Controller, Error, EventType, ObjectKey, ObjectRef, Patch, Recorder, Requeue};
use domain::hibernation;
use process::Context;
use serde_json::json;

use crate::recorder;
use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "shoot-hibernation";

struct Reconciler {
    context: Context,
    stores: Stores,
    shoots: Api<Shoot>,
    recorder: Recorder,
    trigger_deadline: TimeDelta,
}

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let reconciler = Arc::new(Reconciler {
        shoots: Api::all(&context, GARDEN),
        recorder: recorder(&context, "shoot-hibernation-controller"),
        trigger_deadline: config.shoot_hibernation_deadline,
        stores: stores.clone(),
        context: context.clone(),
    });
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.shoots, keys);
    controller
        .run(config.concurrent_syncs, move |key| {
            let reconciler = reconciler.clone();
            async move { reconciler.reconcile(&key).await }
        })
        .await;
}

fn schedules(shoot: &Shoot) -> &[HibernationSchedule] {
    shoot.spec.hibernation.as_ref().map_or(&[], |hibernation| &hibernation.schedules)
}

/// Returns the key of a Shoot with schedules that is new, or whose schedules changed.
fn keys(change: &Change<Shoot>) -> Vec<ObjectKey> {
    let is_relevant = match (&change.old, &change.new) {
        (_, None) => false,
        (None, Some(new)) => !schedules(new).is_empty(),
        (Some(old), Some(new)) => schedules(old) != schedules(new) && !schedules(new).is_empty(),
    };
    if is_relevant { vec![change.key.clone()] } else { Vec::new() }
}

impl Reconciler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(shoot) = self.stores.shoots.get(key) else { return Ok(Requeue::OnChange) };
        let (now, version) = (self.context.clock.now(), &self.context.identity.version);
        let Some(decision) = hibernation::decide(&shoot, version, self.trigger_deadline, now) else {
            return Ok(Requeue::OnChange);
        };
        if let Some(switch) = decision.switch {
            // The Event is published first, even if the switch is rejected.
            let (reason, message) = switch.event();
            let about = ObjectRef::of(&*shoot);
            self.recorder.publish_action(&about, EventType::Normal, reason, Action::Reconcile, message).await?;
            let shoots = self.shoots.in_namespace_of(&*shoot);
            let name = &shoot.metadata.name;
            let patch = json!({ "spec": { "hibernation": { "enabled": switch.enabled() } } });
            shoots.patch(name, &Patch::Merge(patch)).await?;
            let patch = json!({ "status": { "lastHibernationTriggerTime": Time::from_instant(now) } });
            shoots.patch_subresource(name, "status", &Patch::Merge(patch)).await?;
        }
        Ok(decision.next.map_or(Requeue::OnChange, Requeue::At))
    }
}
