// SPDX-License-Identifier: Apache-2.0
//! ManagedSeeds whose Shoots run on this gardenlet's Seed: each gets a gardenlet of its own, in this one's version.
//!
//! Unlike upstream: the Seed has a cluster of its own in addition to the Shoot's, and passes are triggered by changes,
//! not every hour or, while a Shoot is awaited, every 15 s.
//!
//! Source: pkg/gardenlet/controller/managedseed @ v1.120.0.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, condition, finalizer, namespace};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Namespace, Pod};
use api::seedmanagement::ManagedSeed;
use api::terrarium::Cluster;
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{
    Action, Api, Controller, Error, EventType, ListOptions, ObjectKey, ObjectRef, Patch, Recorder, Requeue, Store,
};
use domain::conditions;
use domain::garden::control_plane::{CONFIGURATION_KEY, deployment_lacks};
use domain::garden::gardenlet::{self as gardenlet_rules, wanted};
use domain::garden::managed_seed::{self as rules, Delay};
use domain::garden::seed_cluster::{self, SeedCluster};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::oldest::Oldest;
use super::shared::{GARDEN, Gardenlet, RUNTIME, garden_key};
use crate::provider_local;

const CONCURRENCY: usize = 20;
/// Interval of the checks that a Seed was deleted and its processes have ended.
const LOOK: TimeDelta = TimeDelta::seconds(1);

/// Runs the controller until the component stops.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>, oldest: Oldest) {
    let mut controller = Controller::new("managedseed", &gardenlet.context);
    let api = Api::<ManagedSeed>::namespaced(&gardenlet.context, GARDEN, namespace::GARDEN);
    let seeds = controller.watch(api, ListOptions::default(), |change| vec![change.key.clone()]);
    let known = seeds.clone();
    controller.watch_store(&gardenlet.stores.shoots, move |change| {
        let is_its_shoot = |seed: &ManagedSeed| seed.spec.shoot.as_ref().is_some_and(|it| *it.name == *change.key.name);
        let is_news = change.differs(|shoot| rules::waits_for("", "", Some(shoot)).is_none());
        let of_garden = is_news && *change.key.namespace == *namespace::GARDEN;
        let all = if of_garden { known.list() } else { Vec::new() };
        all.iter()
            .filter(|seed| is_its_shoot(seed))
            .map(|seed| garden_key(namespace::GARDEN, &seed.metadata.name))
            .collect()
    });
    let known = seeds.clone();
    oldest.watch(&mut controller, move || known.keys());
    let recorder = gardenlet.recorder("managedseed-controller");
    let deployer = Arc::new(Deployer { gardenlet, oldest, seeds, recorder, seen: Mutex::default() });
    controller
        .run(CONCURRENCY, move |key| {
            let deployer = deployer.clone();
            async move { deployer.pass(&key).await }
        })
        .await;
}

struct Deployer {
    gardenlet: Arc<Gardenlet>,
    oldest: Oldest,
    seeds: Store<ManagedSeed>,
    recorder: Recorder,
    /// ManagedSeeds that this process has seen, with the time until which one is postponed.
    seen: Mutex<BTreeMap<ObjectKey, Option<DateTime<Utc>>>>,
}

impl Deployer {
    async fn pass(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(seed) = self.seeds.get(key) else { return Ok(Requeue::OnChange) };
        let name = seed.spec.shoot.as_ref().map_or("", |shoot| &shoot.name);
        let shoot = self.gardenlet.stores.shoots.find(&seed.metadata.namespace, name);
        let hosts = shoot
            .as_ref()
            .is_some_and(|shoot| shoot.spec.seed_name.as_deref() == Some(self.gardenlet.options.seed_name.as_str()));
        if !hosts {
            return Ok(Requeue::OnChange);
        }
        if let Some(later) = self.later(key, &seed) {
            if is_true(&seed, condition::SEED_REGISTERED) && !seed.metadata.is_being_deleted() {
                self.oldest.follow(&self.gardenlet, &cluster::of_seed(&seed.metadata.name)).await?;
            }
            return Ok(later);
        }
        if seed.metadata.is_being_deleted() {
            return self.delete(&seed).await;
        }
        let seed = self.with_finalizer(&seed).await?;
        let about = ObjectRef::of(&seed);
        let waits = rules::waits_for(&seed.metadata.namespace, name, shoot.as_deref());
        let now = Time::from_instant(self.gardenlet.context.clock.now());
        let mut new = seed.clone();
        new.status.observed_generation = seed.metadata.generation;
        conditions::merge(&mut new.status.conditions, [rules::shoot_reconciled(&seed, name, waits.as_deref(), now)]);
        let mut deployed = Ok(());
        if let Some(waits) = &waits {
            self.recorder.publish_action(&about, EventType::Normal, "Reconciling", Action::Reconcile, waits).await?;
        } else {
            let version = shoot.as_ref().map_or("", |shoot| &shoot.spec.kubernetes.version);
            deployed = self.deploy(&seed, &about, version).await;
            let error = deployed.as_ref().err().map(ToString::to_string);
            let registered = rules::seed_registered(&seed, error.as_deref(), now);
            let known = conditions::get(&seed.status.conditions, &registered.r#type);
            // A repeated error is not reported again.
            if let Some(error) = error.filter(|_| known.is_none_or(|known| known.message != registered.message)) {
                self.recorder
                    .publish_action(&about, EventType::Warning, "ReconcileError", Action::Reconcile, &error)
                    .await?;
            }
            conditions::merge(&mut new.status.conditions, [registered]);
        }
        self.api().update_status(&seed, &new).await?;
        // The controller retries after an error even if nothing changes.
        deployed.map(|()| Requeue::OnChange)
    }

    fn api(&self) -> Api<ManagedSeed> {
        self.gardenlet.garden(namespace::GARDEN)
    }

    /// Returns when a ManagedSeed is reconciled if not now; `None`: now.
    fn later(&self, key: &ObjectKey, seed: &ManagedSeed) -> Option<Requeue> {
        let mut seen = self.seen.lock();
        let now = self.gardenlet.context.clock.now();
        let config = &self.gardenlet.options.config;
        let waits = match seen.get(key) {
            Some(Some(until)) if *until > now => return Some(Requeue::At(*until)),
            Some(Some(_)) => false,
            known => match rules::delay(seed, known.is_none(), config.jitter_managed_seed_updates) {
                // It may still wait for its Shoot or its gardenlet.
                Delay::Never => {
                    if is_true(seed, condition::SHOOT_RECONCILED) && is_true(seed, condition::SEED_REGISTERED) {
                        return Some(Requeue::OnChange);
                    }
                    false
                }
                Delay::None => false,
                Delay::Jitter => true,
            },
        };
        if !waits {
            seen.insert(key.clone(), None);
            return None;
        }
        let period = config.managed_seed_jitter.num_milliseconds().max(1).unsigned_abs();
        let draw = self.gardenlet.context.random.draw(
            "managed-seed-jitter",
            &key.name,
            seed.metadata.generation.unsigned_abs(),
        );
        let until = now + TimeDelta::milliseconds(i64::try_from(draw % period).unwrap_or_default());
        seen.insert(key.clone(), Some(until));
        Some(Requeue::At(until))
    }

    async fn with_finalizer(&self, seed: &ManagedSeed) -> Result<ManagedSeed, Error> {
        if seed.metadata.has_finalizer(finalizer::GARDENER) {
            return Ok(seed.clone());
        }
        let mut new = seed.clone();
        new.metadata.finalizers.push(finalizer::GARDENER.to_owned());
        self.api().update(seed, &new).await
    }

    /// Deploys gardenlet into the Seed's cluster.
    async fn deploy(&self, seed: &ManagedSeed, about: &ObjectRef, kubernetes_version: &str) -> Result<(), Error> {
        let Gardenlet { identity, options, .. } = &*self.gardenlet;
        let version = &identity.version;
        let gardenlet = rules::gardenlet(seed, &self.configuration().await?, version);
        let wanted = wanted(&gardenlet, options.profile.name()).map_err(Error::Failed)?;
        let name = &seed.metadata.name;
        let provider = self.oldest.version(&self.gardenlet).await?;
        let made = seed_cluster::seed_cluster(name, kubernetes_version, wanted, &provider, options.profile.name());
        if !is_true(seed, condition::SEED_REGISTERED) {
            for step in [
                "Ensuring garden namespace in target cluster",
                "Reconciling seed secrets",
                "Deploying gardenlet into target cluster",
            ] {
                self.recorder.publish_action(about, EventType::Normal, "Reconciling", Action::Reconcile, step).await?;
            }
        }
        self.apply(&made).await
    }

    async fn apply(&self, made: &SeedCluster) -> Result<(), Error> {
        let (context, name) = (&self.gardenlet.context, &made.cluster.metadata.name);
        Api::<Cluster>::all(context, RUNTIME).create_unless_there(&made.cluster).await?;
        Api::<Namespace>::all(context, name).create_unless_there(&made.namespace).await?;
        for map in &made.config_maps {
            Api::<ConfigMap>::namespaced(context, name, namespace::GARDEN).create_unless_there(map).await?;
        }
        let deployments = Api::<Deployment>::namespaced(context, name, namespace::GARDEN);
        for wanted in &made.deployments {
            let name = &wanted.metadata.name;
            let Some(stored) = deployments.get_opt(name).await? else {
                deployments.create_unless_there(wanted).await?;
                continue;
            };
            let has_own_version = stored.metadata.annotation(annotation::COMPONENT_VERSION).is_some();
            let patch = deployment_lacks(&stored, wanted, false);
            if let Some(patch) = patch.filter(|_| *name != provider_local::DEPLOYMENT || !has_own_version) {
                deployments.patch(name, &Patch::Merge(patch)).await?;
            }
        }
        Ok(())
    }

    /// Returns this gardenlet's own configuration, as stored in its cluster.
    async fn configuration(&self) -> Result<Value, Error> {
        let own = self.gardenlet.seed::<Deployment>(namespace::GARDEN).get_opt(gardenlet_rules::NAME).await?;
        let volumes = own.iter().flat_map(|own| &own.spec.template.spec.volumes);
        let Some(map) = volumes.filter_map(|volume| volume.config_map.as_ref()).map(|map| map.name.clone()).next()
        else {
            return Ok(json!({}));
        };
        let map = self.gardenlet.seed::<ConfigMap>(namespace::GARDEN).get(&map).await?;
        let text = map.data.get(CONFIGURATION_KEY).map(String::as_str).unwrap_or_default();
        yaml::from_str(text).map_err(|error| Error::Failed(format!("the configuration of gardenlet: {error}")))
    }

    /// Deletes the Seed, then its gardenlet.
    async fn delete(&self, seed: &ManagedSeed) -> Result<Requeue, Error> {
        if !seed.metadata.has_finalizer(finalizer::GARDENER) {
            return Ok(Requeue::OnChange);
        }
        let name = &seed.metadata.name;
        let (context, seeds) = (&self.gardenlet.context, self.gardenlet.garden::<Seed>(""));
        // This gardenlet watches only its own Seed.
        if let Some(registered) = seeds.get_opt(name).await? {
            if !registered.metadata.is_being_deleted() {
                let about = ObjectRef::of(seed);
                let text = format!("Deleting seed {name}");
                self.recorder.publish_action(&about, EventType::Normal, "Deleting", Action::Delete, &text).await?;
                seeds.delete_if_there(name).await?;
            }
            return Ok(Requeue::WorkAt(context.clock.now() + LOOK));
        }
        let target = cluster::of_seed(name);
        let clusters = Api::<Cluster>::all(context, RUNTIME);
        if clusters.get_opt(&target).await?.is_some() {
            let deployments = Api::<Deployment>::namespaced(context, &target, namespace::GARDEN);
            for deployment in [gardenlet_rules::NAME, provider_local::DEPLOYMENT] {
                deployments.delete_if_there(deployment).await?;
            }
            let pods = Api::<Pod>::namespaced(context, &target, namespace::GARDEN);
            if !pods.is_empty(&ListOptions::default()).await? {
                return Ok(Requeue::WorkAt(context.clock.now() + LOOK));
            }
            clusters.delete_if_there(&target).await?;
        }
        let mut new = seed.clone();
        new.metadata.finalizers.retain(|name| name != finalizer::GARDENER);
        self.api().update(seed, &new).await?;
        Ok(Requeue::OnChange)
    }
}

fn is_true(seed: &ManagedSeed, type_: &str) -> bool {
    conditions::get(&seed.status.conditions, type_).is_some_and(|condition| condition.status == condition::TRUE)
}
