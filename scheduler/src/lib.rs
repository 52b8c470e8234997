// SPDX-License-Identifier: Apache-2.0
//! gardener-scheduler: selects a seed for each Shoot that has none, and binds the Shoot to it.
//!
//! The rules are in `domain::placement`; this is the controller around them. Unlike upstream: a Shoot that fits on no
//! seed is not retried periodically but when a seed, a profile or the use of a seed changes, and its failure is
//! reported again only if its text changed.
//!
//! **Invariants.** No timers but the back-off after a failed request. Reads Shoots, Seeds, CloudProfiles and the region
//! ConfigMaps; writes the subresource `binding`, `status.lastOperation` and Events.
//!
//! Source: pkg/scheduler/controller/shoot @ v1.120.0.

pub mod binary;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::constants::{annotation, label, namespace, operation_state, operation_type};
use api::core::{CloudProfile, LastOperation, NamespacedCloudProfile, Seed, Shoot};
use api::kubernetes::core::ConfigMap;
use apimachinery::meta::Time;
use controller::{
    Action, Api, Change, Controller, Error, EventType, Index, ListOptions, ObjectKey, ObjectRef, Patch, Recorder,
    Requeue, Store,
};
use domain::cloud_profile;
use domain::events;
use domain::placement::{self, Placement, Strategy};
use futures::future::BoxFuture;
use process::{Context, Exit};
use serde_json::json;

/// The fields of `scheduler.config.gardener.cloud/v1alpha1` that have an effect here.
#[derive(Clone, Debug)]
pub struct Config {
    /// Setting `schedulers.shoot.candidateDeterminationStrategy`.
    pub strategy: Strategy,
    /// `schedulers.shoot.concurrentSyncs`: maximum number of Shoots that are reconciled concurrently.
    pub concurrent_syncs: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { strategy: Strategy::default(), concurrent_syncs: 5 }
    }
}

/// Options of the scheduler.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Settings from the configuration file.
    pub config: Config,
}

/// Selects the ConfigMaps with distances of regions.
const REGION_CONFIG: &str = api::joined!(label::SCHEDULING_PURPOSE, "=region-config");
const DEFAULT_SCHEDULER: &str = "default-scheduler";
const PENDING: &str = "pending";

/// Runs the scheduler until the component is requested to stop. Only one of several processes may run it.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        let (controller, scheduler) = Scheduler::new(&context, options.config.strategy);
        let scheduler = Arc::new(scheduler);
        let work = controller.run(options.config.concurrent_syncs, move |key| {
            let scheduler = scheduler.clone();
            async move { scheduler.reconcile(&key).await }
        });
        work.await;
        Exit::default()
    })
}

struct Scheduler {
    context: Context,
    strategy: Strategy,
    shoots: Store<Shoot>,
    shoots_by_seed: Index<Shoot>,
    seeds: Store<Seed>,
    cloud_profiles: Store<CloudProfile>,
    namespaced_cloud_profiles: Store<NamespacedCloudProfile>,
    region_configs: Store<ConfigMap>,
    api: Api<Shoot>,
    recorder: Recorder,
}

/// True if a Shoot waits for this scheduler.
fn is_pending(shoot: &Shoot) -> bool {
    let scheduler = shoot.spec.scheduler_name.as_deref().unwrap_or(DEFAULT_SCHEDULER);
    shoot.spec.seed_name.is_none() && shoot.metadata.deletion_timestamp.is_none() && scheduler == DEFAULT_SCHEDULER
}

/// Returns the seeds that count a Shoot as theirs.
fn used_seeds(shoot: &Shoot) -> Vec<String> {
    let (wanted, actual) = (&shoot.spec.seed_name, &shoot.status.seed_name);
    wanted.iter().chain(actual.iter().filter(|actual| Some(*actual) != wanted.as_ref())).cloned().collect()
}

/// Returns all properties of a seed that a placement depends on.
fn placement_view(seed: &Seed) -> impl PartialEq + use<> {
    (
        placement::is_usable(seed),
        seed.metadata.labels.clone(),
        seed.spec.clone(),
        seed.status.allocatable.get("shoots").copied(),
    )
}

impl Scheduler {
    fn new(context: &Context, strategy: Strategy) -> (Controller, Self) {
        let mut controller = Controller::new("shoot-scheduler", context);
        let api = Api::<Shoot>::all(context, GARDEN);
        let all = ListOptions::default;
        let shoots = controller.watch(api.clone(), all(), |change: &Change<Shoot>| {
            let is_new = change.new.as_deref().is_some_and(is_pending) && change.differs(|shoot| shoot.spec.clone());
            if is_new { vec![change.key.clone()] } else { Vec::new() }
        });
        let shoots_by_seed = shoots.index(used_seeds);
        let pending = shoots.index(|shoot| if is_pending(shoot) { vec![PENDING.to_owned()] } else { Vec::new() });

        // A Shoot that leaves a seed makes room for waiting ones.
        let waiting = pending.clone();
        controller.watch_store(&shoots, move |change| {
            let before = change.old.as_deref().map(used_seeds).unwrap_or_default();
            let after = change.new.as_deref().map(used_seeds).unwrap_or_default();
            if before.iter().any(|seed| !after.contains(seed)) { waiting.keys(PENDING) } else { Vec::new() }
        });
        let waiting = pending.clone();
        let seeds = controller.watch(Api::<Seed>::all(context, GARDEN), all(), move |change| {
            if change.differs(placement_view) { waiting.keys(PENDING) } else { Vec::new() }
        });
        let waiting = pending.clone();
        let cloud_profiles = controller.watch(Api::<CloudProfile>::all(context, GARDEN), all(), move |change| {
            if change.differs(|profile| profile.spec.seed_selector.clone()) {
                waiting.keys(PENDING)
            } else {
                Vec::new()
            }
        });
        let waiting = pending.clone();
        let namespaced = Api::<NamespacedCloudProfile>::all(context, GARDEN);
        let namespaced_cloud_profiles = controller.watch(namespaced, all(), move |change| {
            let selector = |profile: &NamespacedCloudProfile| profile.status.cloud_profile_spec.seed_selector.clone();
            if change.differs(selector) { waiting.keys(PENDING) } else { Vec::new() }
        });
        let region_configs = controller.watch(
            Api::<ConfigMap>::namespaced(context, GARDEN, namespace::GARDEN),
            ListOptions::labelled(REGION_CONFIG),
            move |_| pending.keys(PENDING),
        );
        let scheduler = Self {
            context: context.clone(),
            strategy,
            shoots,
            shoots_by_seed,
            seeds,
            cloud_profiles,
            namespaced_cloud_profiles,
            region_configs,
            api,
            recorder: Recorder::named(context, GARDEN, "shoot-scheduler")
                .with_actions(events::have_actions(&context.identity.version)),
        };
        (controller, scheduler)
    }

    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(shoot) = self.shoots.get(key).filter(|shoot| is_pending(shoot)) else { return Ok(Requeue::OnChange) };
        let seed = match self.determine_seed(&shoot) {
            Ok(seed) => seed,
            Err(error) => {
                self.report_failure(&shoot, &error).await?;
                return Ok(Requeue::OnChange);
            }
        };
        let mut bound = Shoot::clone(&shoot);
        bound.spec.seed_name = Some(seed.clone());
        if let Err(error) = self.api.replace_subresource("binding", &bound).await {
            // A Shoot that was written in the meantime is reconciled again; this is not reported.
            if !matches!(error, Error::Transport(_)) && !error.is_conflict() {
                self.report_failure(&shoot, &error.to_string()).await?;
            }
            return Err(error);
        }
        let about = ObjectRef::of(&*shoot);
        let message = format!("Scheduled to seed '{seed}'");
        self.recorder
            .publish_action(&about, EventType::Normal, "SchedulingSuccessful", Action::Reconcile, &message)
            .await?;
        Ok(Requeue::OnChange)
    }

    /// Returns the seed for a Shoot, or the reason why there is none.
    fn determine_seed(&self, shoot: &Shoot) -> Result<String, String> {
        let profile = cloud_profile::resolve(shoot, &mut &*self).map_err(|error| error.to_string())?;
        let distances = self.distances(profile.name(), &shoot.spec.region)?;
        let seeds = self.seeds.list();
        let usage = |seed: &str| self.shoots_by_seed.count(seed);
        let placement = Placement { cloud_profile: profile.spec(), strategy: self.strategy, distances, usage: &usage };
        placement::determine_seed(shoot, seeds.iter().map(|seed| &**seed), &placement)
            .map(|seed| seed.metadata.name.clone())
            .map_err(|error| error.to_string())
    }

    /// Returns the distances from a region, as the first region ConfigMap of a CloudProfile states them; empty if none
    /// does.
    fn distances(&self, cloud_profile: &str, region: &str) -> Result<BTreeMap<String, i64>, String> {
        let configs = self.region_configs.list();
        let config = configs.iter().find(|config| {
            let profiles = config.metadata.annotation(annotation::SCHEDULING_CLOUD_PROFILES).unwrap_or_default();
            profiles.split(',').any(|profile| profile == cloud_profile)
        });
        let Some(text) = config.and_then(|config| config.data.get(region)).filter(|text| !text.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        yaml::from_str(text).map_err(|error| {
            let name = config.map(|config| config.metadata.name.as_str()).unwrap_or_default();
            format!(
                "failed to determine seed candidates. Wrong format in region ConfigMap {}/{name}, Region {region:?}: {error}",
                namespace::GARDEN
            )
        })
    }

    /// Reports in an Event and in the status why a Shoot is not scheduled, unless the status already does.
    async fn report_failure(&self, shoot: &Shoot, error: &str) -> Result<(), Error> {
        let description = format!("Failed to schedule Shoot: {error}");
        let last = shoot.status.last_operation.as_ref();
        let is_said = |last: &LastOperation| {
            last.r#type == operation_type::CREATE
                && last.state == operation_state::PENDING
                && last.description == description
        };
        if last.is_some_and(is_said) {
            return Ok(());
        }
        let about = ObjectRef::of(shoot);
        self.recorder
            .publish_action(&about, EventType::Warning, "SchedulingFailed", Action::Reconcile, &description)
            .await?;
        let operation = LastOperation {
            description,
            last_update_time: Time::from(self.context.clock.now()),
            progress: last.map_or(0, |last| last.progress),
            state: "Pending".to_owned(),
            r#type: operation_type::CREATE.to_owned(),
        };
        // Without a precondition, as upstream: the report must not fail because the Shoot was written in the meantime.
        let patch = Patch::Merge(json!({"status": {"lastOperation": operation}}));
        self.api.in_namespace_of(shoot).patch_subresource(&shoot.metadata.name, "status", &patch).await.map(drop)
    }
}

impl cloud_profile::Profiles for &Scheduler {
    fn cloud_profile(&mut self, name: &str) -> Option<Arc<CloudProfile>> {
        self.cloud_profiles.find("", name)
    }

    fn namespaced_cloud_profile(&mut self, namespace: &str, name: &str) -> Option<Arc<NamespacedCloudProfile>> {
        self.namespaced_cloud_profiles.find(namespace, name)
    }
}
