// SPDX-License-Identifier: Apache-2.0
//! gardenlet deploys itself: the Gardenlet object named like its Seed says in which version and with which configuration.
//!
//! It acts at its start and whenever the object's generation changes, and writes only what is not there. A version that
//! must not run does no harm: its process refuses to start, and this one goes on.
//!
//! Unlike upstream: there is no chart to be pulled, and nothing is looked at again every hour. provider-local, which has no
//! ControllerDeployment of its own to be updated by, follows the oldest gardenlet of the landscape (rule E1).
//!
//! Source: pkg/gardenlet/controller/gardenlet @ v1.120.0.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use api::constants::namespace;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::ConfigMap;
use api::seedmanagement::Gardenlet as GardenletObject;
use apimachinery::meta::Time;
use controller::{
    Api, Controller, Error, EventType, ListOptions, ObjectKey, ObjectRef, Patch, Recorder, Requeue, Store,
};
use domain::conditions;
use domain::garden::control_plane::deployment_lacks;
use domain::garden::gardenlet::{self as rules, Wanted};

use super::oldest::Oldest;
use super::shared::{GARDEN, Gardenlet, garden_key};

/// Runs the controller until the component stops.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>, oldest: Oldest) {
    let mut controller = Controller::new("gardenlet", &gardenlet.context);
    let named = ListOptions::with_field(&format!("metadata.name={}", gardenlet.options.seed_name));
    let api = Api::<GardenletObject>::namespaced(&gardenlet.context, GARDEN, namespace::GARDEN);
    let store = controller.watch(api, named, |change| vec![change.key.clone()]);
    let own = garden_key(namespace::GARDEN, &gardenlet.options.seed_name);
    oldest.watch(&mut controller, move || vec![own.clone()]);
    let recorder = Recorder::named(&gardenlet.context, GARDEN, "gardenlet-controller");
    // The generation that this process has acted on.
    let done = Arc::new(AtomicI64::new(0));
    controller
        .run(1, move |key| {
            let (gardenlet, store, recorder, done) = (gardenlet.clone(), store.clone(), recorder.clone(), done.clone());
            let oldest = oldest.clone();
            async move {
                pass(&gardenlet, &store, &recorder, &done, &key).await?;
                if store.get(&key).is_some() {
                    oldest.follow(&gardenlet, &gardenlet.seed_cluster).await?;
                }
                Ok(Requeue::OnChange)
            }
        })
        .await;
}

async fn pass(
    gardenlet: &Gardenlet,
    store: &Store<GardenletObject>,
    recorder: &Recorder,
    done: &AtomicI64,
    key: &ObjectKey,
) -> Result<(), Error> {
    let Some(object) = store.get(key).filter(|object| !object.metadata.is_being_deleted()) else { return Ok(()) };
    let generation = object.metadata.generation;
    if done.load(Ordering::Relaxed) == generation {
        return Ok(());
    }
    let about = ObjectRef::of(&*object);
    let is_news = object.status.observed_generation != generation;
    if is_news {
        recorder.publish(&about, EventType::Normal, "Reconciling", "Deploying gardenlet").await?;
    }
    let outcome = match rules::wanted(&object, gardenlet.options.profile.name()) {
        Ok(wanted) => deploy(gardenlet, &wanted).await.map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    match &outcome {
        Ok(()) if is_news => {
            recorder.publish(&about, EventType::Normal, "Reconciled", "Gardenlet has been deployed").await?;
        }
        Ok(()) => {}
        Err(error) => recorder.publish(&about, EventType::Warning, "ReconcileError", error).await?,
    }
    let now = Time::from_instant(gardenlet.context.clock.now());
    let mut new = GardenletObject::clone(&object);
    let condition = rules::reconciled(&object, outcome.as_ref().err().map(String::as_str), now);
    conditions::merge(&mut new.status.conditions, [condition]);
    new.status.observed_generation = generation;
    gardenlet.garden::<GardenletObject>(namespace::GARDEN).update_status(&object, &new).await?;
    done.store(generation, Ordering::Relaxed);
    Ok(())
}

/// Writes its configuration and its Deployment, as far as they differ.
async fn deploy(gardenlet: &Gardenlet, wanted: &Wanted) -> Result<(), Error> {
    let maps = gardenlet.seed::<ConfigMap>(namespace::GARDEN);
    if maps.get_opt(&wanted.config_map).await?.is_none() {
        maps.create(&wanted.config_map()).await?;
    }
    let deployments = gardenlet.seed::<Deployment>(namespace::GARDEN);
    let Some(held) = deployments.get_opt(rules::NAME).await? else {
        return deployments.create(&wanted.deployment).await.map(drop);
    };
    match deployment_lacks(&held, &wanted.deployment, false) {
        Some(patch) => {
            tracing::info!(image = image(&wanted.deployment), "Deploying gardenlet");
            deployments.patch(rules::NAME, &Patch::Merge(patch)).await.map(drop)
        }
        None => Ok(()),
    }
}

fn image(deployment: &Deployment) -> &str {
    deployment.spec.template.spec.containers.first().map_or("", |container| &container.image)
}
