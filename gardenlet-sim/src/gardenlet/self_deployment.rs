// SPDX-License-Identifier: Apache-2.0
//! Deployment of gardenlet by itself, in the version and with the configuration of the Gardenlet object named like its Seed.
//!
//! It acts at its start, whenever the object's generation changes, and after a failure until it has succeeded; it writes
//! only differences. A user's change of the Deployment is reverted at the next full hour after the last roll-out, as by
//! upstream's hourly sync; without such a change nothing is synced. A version that must not run does no harm: its process
//! refuses to start, and the current one continues.
//!
//! Unlike upstream: no chart is pulled. provider-local, which has no ControllerDeployment that updates it, follows the
//! oldest gardenlet of the landscape (rule E1).
//!
//! Source: pkg/gardenlet/controller/gardenlet @ v1.120.0.

use std::sync::Arc;

use api::constants::namespace;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::ConfigMap;
use api::seedmanagement::Gardenlet as GardenletObject;
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{
    Action, Controller, Error, EventType, ListOptions, ObjectKey, ObjectRef, Patch, Recorder, Requeue, Store,
};
use domain::conditions;
use domain::garden::control_plane::deployment_lacks;
use domain::garden::gardenlet::{self as rules, DesiredGardenlet};
use parking_lot::Mutex;

use super::oldest::Oldest;
use super::shared::{Gardenlet, garden_key};

/// Time between two syncs of the deployment: `syncPeriod` of upstream's controller.
const SYNC_PERIOD: TimeDelta = TimeDelta::hours(1);

/// Last deployment by this process.
#[derive(Clone, Copy, Debug)]
struct Deployed {
    /// Generation of the object.
    generation: i64,
    /// Instant of the deployment.
    at: DateTime<Utc>,
}

impl Deployed {
    /// Returns the first sync of the deployment that is not before an instant.
    fn next_look(self, now: DateTime<Utc>) -> DateTime<Utc> {
        let period = SYNC_PERIOD.num_milliseconds();
        let passed = (now - self.at).num_milliseconds().max(1);
        self.at
            + TimeDelta::milliseconds(passed.div_euclid(period) * period)
            + if passed % period == 0 { TimeDelta::zero() } else { SYNC_PERIOD }
    }
}

/// State that the passes share.
struct Deployer {
    gardenlet: Arc<Gardenlet>,
    objects: Store<GardenletObject>,
    deployments: Store<Deployment>,
    oldest: Oldest,
    recorder: Recorder,
    deployed: Mutex<Option<Deployed>>,
    /// Instant at which a change of the Deployment is reverted.
    due: Mutex<Option<DateTime<Utc>>>,
}

/// Runs the controller until the component stops.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>, oldest: Oldest) {
    let mut controller = Controller::new("gardenlet", &gardenlet.context);
    let named = |name: &str| ListOptions::with_field(&format!("metadata.name={name}"));
    let seed_name = gardenlet.options.seed_name.clone();
    let api = gardenlet.garden::<GardenletObject>(namespace::GARDEN);
    let objects = controller.watch(api, named(&seed_name), |change| vec![change.key.clone()]);
    let api = gardenlet.seed::<Deployment>(namespace::GARDEN);
    let deployments = controller.watch(api, named(rules::NAME), move |change| {
        let is_changed = change.differs(|deployment| (deployment.metadata.labels.clone(), deployment.spec.clone()));
        if is_changed { vec![garden_key(namespace::GARDEN, &seed_name)] } else { Vec::new() }
    });
    let own = garden_key(namespace::GARDEN, &gardenlet.options.seed_name);
    oldest.watch(&mut controller, move || vec![own.clone()]);
    let recorder = gardenlet.recorder("gardenlet-controller");
    let deployer = Deployer {
        gardenlet,
        objects,
        deployments,
        oldest,
        recorder,
        deployed: Mutex::default(),
        due: Mutex::default(),
    };
    let deployer = Arc::new(deployer);
    controller
        .run(1, move |key| {
            let deployer = deployer.clone();
            async move {
                let next = deployer.pass(&key).await?;
                if deployer.objects.get(&key).is_some() {
                    deployer.oldest.follow(&deployer.gardenlet, &deployer.gardenlet.seed_cluster).await?;
                }
                Ok(next)
            }
        })
        .await;
}

impl Deployer {
    async fn pass(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(object) = self.objects.get(key).filter(|object| !object.metadata.is_being_deleted()) else {
            return Ok(Requeue::OnChange);
        };
        let now = self.gardenlet.context.clock.now();
        let wanted = rules::wanted(&object, self.gardenlet.options.profile.name());
        if let Some(later) = self.later(&object, wanted.as_ref().ok(), now) {
            return Ok(later);
        }
        let generation = object.metadata.generation;
        let about = ObjectRef::of(&*object);
        let is_news = object.status.observed_generation != generation;
        if is_news {
            self.recorder
                .publish_action(&about, EventType::Normal, "Reconciling", Action::Reconcile, "Deploying gardenlet")
                .await?;
        }
        let outcome = match &wanted {
            Ok(wanted) => deploy(&self.gardenlet, wanted).await,
            Err(error) => Err(Error::Failed(error.clone())),
        };
        let text = outcome.as_ref().err().map(ToString::to_string);
        let condition = rules::reconciled(&object, text.as_deref(), Time::from_instant(now));
        let known = conditions::get(&object.status.conditions, &condition.r#type);
        let is_told = known.is_some_and(|known| known.message == condition.message);
        match &text {
            None if is_news || !is_told => {
                self.recorder
                    .publish_action(
                        &about,
                        EventType::Normal,
                        "Reconciled",
                        Action::Reconcile,
                        "Gardenlet has been deployed",
                    )
                    .await?;
            }
            Some(error) if is_news || !is_told => {
                self.recorder
                    .publish_action(&about, EventType::Warning, "ReconcileError", Action::Reconcile, error)
                    .await?;
            }
            _ => {}
        }
        let mut new = GardenletObject::clone(&object);
        conditions::merge(&mut new.status.conditions, [condition]);
        new.status.observed_generation = generation;
        self.gardenlet.garden::<GardenletObject>(namespace::GARDEN).update_status(&object, &new).await?;
        match outcome {
            Ok(()) => {}
            // Only a change of the object can resolve the error.
            Err(_) if wanted.is_err() => return Ok(Requeue::OnChange),
            Err(error) => return Err(error),
        }
        *self.deployed.lock() = Some(Deployed { generation, at: now });
        *self.due.lock() = None;
        Ok(Requeue::OnChange)
    }

    /// Returns the next pass for an object whose generation was deployed; `None` if it has to be deployed now.
    fn later(
        &self,
        object: &GardenletObject,
        wanted: Option<&DesiredGardenlet>,
        now: DateTime<Utc>,
    ) -> Option<Requeue> {
        let deployed = (*self.deployed.lock()).filter(|it| it.generation == object.metadata.generation)?;
        let held = self.deployments.list().into_iter().next();
        let is_as_wanted = match (held, wanted) {
            (Some(held), Some(wanted)) => deployment_lacks(&held, &wanted.deployment, false).is_none(),
            (_, wanted) => wanted.is_none(),
        };
        let mut due = self.due.lock();
        if is_as_wanted {
            *due = None;
            return Some(Requeue::OnChange);
        }
        let due = *due.get_or_insert_with(|| deployed.next_look(now));
        (now < due).then_some(Requeue::At(due))
    }
}

/// Writes its configuration and its Deployment, as far as they differ.
async fn deploy(gardenlet: &Gardenlet, wanted: &DesiredGardenlet) -> Result<(), Error> {
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
