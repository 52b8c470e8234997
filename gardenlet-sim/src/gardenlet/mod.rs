// SPDX-License-Identifier: Apache-2.0
//! gardenlet: registers its Seed, runs the flows of the seed's Shoots, and watches their health.
//!
//! A Shoot's operation is one long pass: start write, a flow of tasks that write objects and wait for others to act on
//! them, result write. The flows are tables ([`flow`]); each effect of a task is one function ([`botanist`]); the rules
//! are in `domain::last_operation`, `domain::reconcile` and `domain::care`.
//!
//! **Invariants.** Progress is computed from the table. Tasks wait by watches; time limits are work timers. An object
//! that already has the desired state is not written.

pub mod binary;
mod botanist;
mod care;
pub mod configuration;
mod copies;
mod flow;
mod in_place;
mod installations;
mod managed_seed;
mod oldest;
mod readiness;
mod seed;
mod self_deployment;
mod shared;
mod shoot;

use std::sync::Arc;

use api::cluster;
use api::core::{Gardener, Seed};
use api::kubernetes::apps::{DaemonSet, Deployment, StatefulSet};
use controller::Controller;
use domain::profile::Profile;
use futures::future::BoxFuture;
use process::attempts::Attempts;
use process::{Context, Exit};

pub use self::configuration::Configuration;
use self::copies::Copies;
pub use self::flow::{TaskInfo, tasks};
use self::oldest::Oldest;
use self::shared::{Gardenlet, MadeCredentials, Signals, Stores};
use crate::durations::Durations;

/// Start-up parameters of a gardenlet.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the Seed.
    pub seed_name: String,
    /// Metadata and specification of the Seed, as in `seedConfig` of the configuration.
    pub seed_template: Seed,
    /// Profile of the emulation: documented or upstream behaviour.
    pub profile: Profile,
    /// Configuration of the gardenlet, without its tasks and gates.
    pub config: Configuration,
    /// True if pods of Deployments, StatefulSets and DaemonSets are run, and reported as ready, by a
    /// kube-controller-manager and kubelets; otherwise gardenlet sets readiness itself.
    pub has_pods: bool,
}

/// Runs gardenlet until it is requested to stop.
pub fn run(context: Context, options: Options) -> BoxFuture<'static, Exit> {
    Box::pin(async move {
        let mut attempts = Attempts::of(&context);
        while let Err(error) = seed::register(&context, &options).await {
            if !error.is_passing() || !attempts.again().await {
                return Exit {
                    code: 1,
                    last_line: format!("could not register seed \"{}\": {error}", options.seed_name),
                };
            }
            tracing::info!(%error, "registering the seed is tried again");
        }
        let signals = Signals::default();
        let mut care = Controller::new("shoot-care", &context);
        let stores = Stores::new(&context, &options, &mut care, &signals);
        let by_technical_id = stores.shoots.index(|shoot| {
            let id = &shoot.status.technical_id;
            if id.is_empty() { Vec::new() } else { vec![id.clone()] }
        });
        let gardenlet = Arc::new(Gardenlet {
            identity: identity(&context, &options),
            seed_cluster: cluster::of_seed(&options.seed_name),
            recorder: shared::recorder(&context, "shoot-controller"),
            context: context.clone(),
            options,
            durations: Durations::new(context.random.clone(), &stores.timing),
            stores,
            signals,
            credentials: MadeCredentials::default(),
            copies: Copies::default(),
        });
        context.tasks.spawn(in_place::run(gardenlet.clone(), by_technical_id.clone()));
        context.tasks.spawn(care::run(gardenlet.clone(), care, by_technical_id));
        gardenlet.stores.shoots.synced().await;
        gardenlet.stores.faults.synced().await;
        gardenlet.stores.timing.synced().await;
        gardenlet.stores.user_objects_are_synced().await;
        let mut attempts = Attempts::of(&gardenlet.context);
        while let Err(error) = shoot::abort_stuck_operations(&gardenlet).await {
            if !error.is_passing() || !attempts.again().await {
                return Exit { code: 1, last_line: format!("could not abort stuck operations: {error}") };
            }
        }
        context.tasks.spawn(seed::run(gardenlet.clone()));
        context.tasks.spawn(installations::run(gardenlet.clone()));
        context.tasks.spawn(shoot::run(gardenlet.clone()));
        if gardenlet.options.has_pods {
            let oldest = Oldest::new(&gardenlet);
            context.tasks.spawn(self_deployment::run(gardenlet.clone(), oldest.clone()));
            context.tasks.spawn(managed_seed::run(gardenlet.clone(), oldest));
        } else {
            play_readiness(&gardenlet);
        }
        context.tasks.shutdown().requested().await;
        Exit::default()
    })
}

/// Makes workload ready without pods.
fn play_readiness(gardenlet: &Arc<Gardenlet>) {
    let tasks = &gardenlet.context.tasks;
    let none = |_: &Gardenlet, _: &Deployment, _: &controller::ObjectKey| 0;
    tasks.spawn(readiness::run::<Deployment>(gardenlet.clone(), "deployment-readiness", none, false));
    let none = |_: &Gardenlet, _: &StatefulSet, _: &controller::ObjectKey| 0;
    tasks.spawn(readiness::run::<StatefulSet>(gardenlet.clone(), "statefulset-readiness", none, false));
    let nodes = |gardenlet: &Gardenlet, set: &DaemonSet, key: &controller::ObjectKey| {
        readiness::nodes_of(gardenlet, set, &key.cluster)
    };
    tasks.spawn(readiness::run::<DaemonSet>(gardenlet.clone(), "daemonset-readiness", nodes, true));
}

/// Returns `status.gardener`: the id is that of the process, so it changes with every start.
fn identity(context: &Context, options: &Options) -> Gardener {
    let started = u64::try_from(context.clock.now().timestamp()).unwrap_or_default();
    let part = |part| format!("{:016x}", context.random.draw("gardenlet-id", &options.seed_name, started * 4 + part));
    let id = [0, 1, 2, 3].map(part).concat();
    Gardener { id, name: context.identity.instance.to_string(), version: context.identity.version.to_string() }
}
