// SPDX-License-Identifier: Apache-2.0
//! Pools with manual in-place updates: once updated, they are removed from the Shoot's status.
//!
//! Source: pkg/gardenlet/controller/shoot/status @ v1.120.0.

use std::sync::Arc;

use api::constants::{annotation, operation};
use api::core::Shoot;
use api::extensions::Worker;
use controller::{Change, Controller, Error, Index, ObjectKey, Requeue};
use domain::in_place::{self, Operation};

use super::shared::{Gardenlet, care_key};
use super::shoot::responsible_seed;

/// Runs the controller until the component stops.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>, by_technical_id: Index<Shoot>) {
    let mut controller = Controller::new("shoot-status", &gardenlet.context);
    controller.watch_store(&gardenlet.stores.workers, |change: &Change<Worker>| {
        let Some(new) = change.new.as_ref().filter(|new| new.status.in_place_updates.is_some()) else {
            return Vec::new();
        };
        let is_same = |old: &Arc<Worker>| old.status.in_place_updates == new.status.in_place_updates;
        if change.old.as_ref().is_some_and(is_same) { Vec::new() } else { vec![care_key(&change.key.namespace)] }
    });
    controller.watch_store(&gardenlet.stores.shoots, |change: &Change<Shoot>| {
        let Some(new) = change.new.as_ref().filter(|new| new.status.in_place_updates.is_some()) else {
            return Vec::new();
        };
        let is_same = |old: &Arc<Shoot>| old.status.in_place_updates == new.status.in_place_updates;
        let id: Arc<str> = new.status.technical_id.as_str().into();
        if change.old.as_ref().is_some_and(is_same) { Vec::new() } else { vec![care_key(&id)] }
    });
    controller
        .run(5, move |key| {
            let (gardenlet, shoots) = (gardenlet.clone(), by_technical_id.clone());
            async move { pass(&gardenlet, &shoots, &key).await }
        })
        .await;
}

async fn pass(gardenlet: &Gardenlet, shoots: &Index<Shoot>, key: &ObjectKey) -> Result<Requeue, Error> {
    let Some(shoot) = shoots.get(&key.name).into_iter().next() else { return Ok(Requeue::OnChange) };
    if responsible_seed(&shoot) != Some(gardenlet.options.seed_name.as_str()) {
        return Ok(Requeue::OnChange);
    }
    let worker = gardenlet.stores.workers.get(&gardenlet.seed_key(&key.name, &shoot.metadata.name));
    let Some(worker) = worker else { return Ok(Requeue::OnChange) };
    let mut new = (*shoot).clone();
    if !in_place::leave(&mut new, &worker) {
        return Ok(Requeue::OnChange);
    }
    let api = gardenlet.shoots(&shoot.metadata.namespace);
    match api.update_status(&shoot, &new).await {
        // The controller retries after a conflict.
        Err(error) if error.is_not_found() => {}
        result => settle_operation(gardenlet, result?).await?,
    }
    Ok(Requeue::OnChange)
}

/// Updates the operation annotation after pools were removed from the status.
pub(crate) async fn settle_operation(gardenlet: &Gardenlet, shoot: Shoot) -> Result<(), Error> {
    let api = gardenlet.shoots(&shoot.metadata.namespace);
    let mut present = shoot;
    loop {
        let mut new = present.clone();
        match in_place::operation_after(&present) {
            Operation::Keep => return Ok(()),
            Operation::Remove => new.metadata.annotations.remove(annotation::OPERATION),
            Operation::Reconcile => {
                new.metadata.annotations.insert(annotation::OPERATION.to_owned(), operation::RECONCILE.to_owned())
            }
        };
        match api.update(&present, &new).await {
            Err(error) if error.is_conflict() => present = api.get(&present.metadata.name).await?,
            Err(error) if error.is_not_found() => return Ok(()),
            result => return result.map(drop),
        }
    }
}
