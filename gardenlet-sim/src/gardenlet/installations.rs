// SPDX-License-Identifier: Apache-2.0
//! ControllerInstallations of the seed: every extension is installed at once and healthy.
//!
//! Source: pkg/gardenlet/controller/controllerinstallation @ v1.120.0.

use std::sync::Arc;

use api::constants::{condition, finalizer};
use api::core::ControllerInstallation;
use apimachinery::meta::Time;
use controller::{Controller, Error, ObjectKey, Requeue, Store};
use domain::care::conditions::{initial, updated};
use domain::required_extensions::too_new;

use super::shared::Gardenlet;

/// Type, status, reason and message of the conditions of an extension that works.
const CONDITIONS: [(&str, &str, &str, &str); 4] = [
    (condition::INSTALLATION_VALID, "True", "RegistrationValid", "chart could be rendered successfully."),
    (
        condition::INSTALLATION_INSTALLED,
        "True",
        "InstallationSuccessful",
        "The controller was successfully installed in the seed cluster.",
    ),
    (
        condition::INSTALLATION_HEALTHY,
        "True",
        "ControllerHealthy",
        "The controller running in the seed cluster is healthy.",
    ),
    (
        condition::INSTALLATION_PROGRESSING,
        "False",
        "ControllerRolledOut",
        "The controller has been rolled out successfully.",
    ),
];

/// Runs the controller until the component stops.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>) {
    let mut controller = Controller::new("controllerinstallation", &gardenlet.context);
    let seed = gardenlet.options.seed_name.clone();
    let store = gardenlet.stores.controller_installations.clone();
    controller.watch_store(&store, move |change| match &change.new {
        Some(new) if new.spec.seed_ref.as_ref().is_some_and(|reference| reference.name == seed) => {
            vec![change.key.clone()]
        }
        _ => Vec::new(),
    });
    controller
        .run(5, move |key| {
            let (gardenlet, store) = (gardenlet.clone(), store.clone());
            async move { pass(&gardenlet, &store, &key).await }
        })
        .await;
}

async fn pass(gardenlet: &Gardenlet, store: &Store<ControllerInstallation>, key: &ObjectKey) -> Result<Requeue, Error> {
    let Some(installation) = store.get(key) else { return Ok(Requeue::OnChange) };
    let api = gardenlet.garden::<ControllerInstallation>("");
    let has_finalizer = installation.metadata.has_finalizer(finalizer::CONTROLLER_INSTALLATION);
    let is_going = installation.metadata.is_being_deleted();
    if is_going || !has_finalizer {
        if is_going != has_finalizer {
            return Ok(Requeue::OnChange);
        }
        let mut new = (*installation).clone();
        new.metadata.finalizers.retain(|finalizer| finalizer != finalizer::CONTROLLER_INSTALLATION);
        if !is_going {
            new.metadata.finalizers.push(finalizer::CONTROLLER_INSTALLATION.to_owned());
        }
        api.update(&installation, &new).await?;
        return Ok(Requeue::OnChange);
    }
    // gardener-controller-manager checks the library, since it reads all gardenlets; its condition is left unchanged.
    let is_too_new = too_new(&installation).is_some();
    if is_too_new && gardenlet.options.profile.enforces_extensions() {
        return Ok(Requeue::OnChange);
    }
    let now = Time::from_instant(gardenlet.context.clock.now());
    let mut new = (*installation).clone();
    let own = CONDITIONS.into_iter().filter(|(type_, ..)| !is_too_new || *type_ != condition::INSTALLATION_VALID);
    for (type_, status, reason, message) in own {
        match new.status.conditions.iter_mut().find(|condition| condition.r#type == type_) {
            Some(condition) => *condition = updated(condition, status, reason, message, &[], now),
            None => {
                let condition = updated(&initial(type_, now), status, reason, message, &[], now);
                new.status.conditions.push(condition);
            }
        }
    }
    api.update_status(&installation, &new).await?;
    Ok(Requeue::OnChange)
}
