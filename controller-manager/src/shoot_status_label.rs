// SPDX-License-Identifier: Apache-2.0
//! Summarizes the health of each Shoot in its label `shoot.gardener.cloud/status`.
//!
//! Source: pkg/controllermanager/controller/shoot/statuslabel @ v1.120.0.

use api::constants::label;
use api::core::Shoot;
use controller::{Api, Change, Controller, ObjectKey, Patch, Requeue};
use domain::care::label::of_status;
use process::Context;
use serde_json::json;

use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "shoot-statuslabel";

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.shoots, keys);
    let shoots = Api::<Shoot>::all(&context, GARDEN);
    controller
        .run(config.concurrent_syncs, move |key| {
            let (shoots, stores) = (shoots.clone(), stores.clone());
            async move {
                let Some(shoot) = stores.shoots.get(&key) else { return Ok(Requeue::OnChange) };
                let health = of_status(&shoot.status).as_str();
                if shoot.metadata.label(label::SHOOT_STATUS) != Some(health) {
                    let patch = json!({ "metadata": { "labels": { label::SHOOT_STATUS: health } } });
                    let shoots = shoots.in_namespace_of(&shoot);
                    match shoots.patch(&shoot.metadata.name, &Patch::Merge(patch)).await {
                        Err(error) if !error.is_not_found() => return Err(error),
                        _ => {}
                    }
                }
                Ok(Requeue::OnChange)
            }
        })
        .await;
}

/// Returns the key of a Shoot whose health may have changed.
fn keys(change: &Change<Shoot>) -> Vec<ObjectKey> {
    let is_relevant = match (&change.old, &change.new) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(old), Some(new)) => of_status(&old.status) != of_status(&new.status),
    };
    if is_relevant { vec![change.key.clone()] } else { Vec::new() }
}
