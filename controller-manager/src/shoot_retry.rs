// SPDX-License-Identifier: Apache-2.0
//! Retries Shoots that failed because of a provider's rate limits.
//!
//! Source: pkg/controllermanager/controller/shoot/retry @ v1.120.0.

use api::constants::{annotation, operation};
use api::core::Shoot;
use controller::{Api, Change, Controller, ObjectKey, Patch, Requeue};
use domain::lifetime::{failed_by_rate_limits, has_failed};
use process::Context;
use serde_json::json;

use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "shoot-retry";

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.shoots, keys);
    let shoots = Api::<Shoot>::all(&context, GARDEN);
    let context = context.clone();
    controller
        .run(config.concurrent_syncs, move |key| {
            let (shoots, stores, context) = (shoots.clone(), stores.clone(), context.clone());
            async move {
                let Some(shoot) = stores.shoots.get(&key) else { return Ok(Requeue::OnChange) };
                let Some(ends) = config.shoot_retry.ends(&shoot) else { return Ok(Requeue::OnChange) };
                if context.clock.now() > ends {
                    let patch = json!({ "metadata": { "annotations": { annotation::OPERATION: operation::RETRY } } });
                    let shoots = shoots.in_namespace_of(&*shoot);
                    match shoots.patch(&shoot.metadata.name, &Patch::Merge(patch)).await {
                        Err(error) if !error.is_not_found() => return Err(error),
                        _ => return Ok(Requeue::OnChange),
                    }
                }
                // The second of the failure distinguishes the draws of one Shoot.
                let draw = context.random.draw("shoot-retry", &key.to_string(), ends.timestamp().unsigned_abs());
                Ok(Requeue::At(config.shoot_retry.next_try(ends, draw)))
            }
        })
        .await;
}

/// Returns the key of a Shoot that is new, or that has just failed.
fn keys(change: &Change<Shoot>) -> Vec<ObjectKey> {
    let is_relevant = match (&change.old, &change.new) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(old), Some(new)) => failed_by_rate_limits(new) && !has_failed(old),
    };
    if is_relevant { vec![change.key.clone()] } else { Vec::new() }
}
