// SPDX-License-Identifier: Apache-2.0
//! Upgrades that are started on a page, in the host, with the steps of `terrarium upgrade apply`.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random};
use dashboard::upgrades::{Progress, Upgrades};
use domain::profile::Profile;
use domain::skew::GardenerVersion;
use ops::upgrade::Planned;
use ops::upgrade::fleet;
use parking_lot::Mutex;
use process::{Context, Identity, Output, Tasks, Transport, User};

use crate::failure::Failure;
use crate::live::upgrade::{View, startable, take};

/// Wall time after which a component without progress counts as failed, equal to that of the command.
const WAIT: TimeDelta = TimeDelta::seconds(60);

/// Upgrade of a landscape. Clones share its state.
#[derive(Clone)]
pub(super) struct Upgrade {
    pub(super) door: Arc<dyn Fn(User) -> Transport + Send + Sync>,
    pub(super) now: Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>,
    pub(super) tasks: Tasks,
    pub(super) landscape: String,
    pub(super) gardener_version: String,
    pub(super) seed: u64,
    pub(super) profile: Profile,
    pub(super) state: Arc<Mutex<State>>,
}

/// Progress of the upgrade, and number of its changes.
#[derive(Debug, Default)]
pub(super) struct State {
    progress: Option<Progress>,
    changes: u64,
}

impl Upgrade {
    fn set(&self, change: impl FnOnce(&mut Progress)) {
        let mut state = self.state.lock();
        change(state.progress.get_or_insert_default());
        state.changes += 1;
    }

    /// Context for the upgrade's requests; `tasks` end with the upgrade.
    fn context(&self, user: User, tasks: Tasks) -> Context {
        Context {
            identity: Identity {
                component: "terrarium".into(),
                instance: "terrarium".into(),
                version: self.gardener_version.as_str().into(),
            },
            clock: Clock::wall(),
            random: Random::new(self.seed),
            wall: Clock::wall(),
            transport: (self.door)(user),
            tasks,
            output: Output::new(process::child::say),
        }
    }

    async fn plan(&self, context: &Context, to: &str) -> Result<Planned, Failure> {
        let version =
            GardenerVersion::parse(to).ok_or_else(|| Failure::Failed(format!("`{to}` is no version of Gardener")))?;
        let fleet = fleet::of_landscape(context).await?;
        startable(&fleet, &version)?;
        Ok(Planned::of(&fleet, &version, false, self.profile, (self.now)())?)
    }

    async fn run(&self, context: &Context, to: &str) -> Result<(), Failure> {
        let planned = self.plan(context, to).await?;
        let view = View::open(context.clone(), &self.landscape, self.profile).await?;
        view.garden_is_read(&planned.target, WAIT).await?;
        let (moves, _) = view.moves(&planned.plan)?;
        self.set(|progress| progress.steps = moves.iter().map(ToString::to_string).collect());
        for next in &moves {
            if self.state.lock().progress.as_ref().is_some_and(|progress| progress.is_pausing) {
                return Err(Failure::Interrupted(format!("paused before {next}; what was begun goes on")));
            }
            take(&view, next, WAIT).await?;
            self.set(|progress| progress.done += 1);
        }
        view.is_at(&planned.target, WAIT).await
    }
}

impl Upgrades for Upgrade {
    fn begin(&self, user: User, to: &str) {
        {
            let mut state = self.state.lock();
            if state.progress.as_ref().is_some_and(|progress| progress.is_running) {
                return;
            }
            state.progress = Some(Progress { to: to.to_owned(), is_running: true, ..Progress::default() });
            state.changes += 1;
        }
        let (own, to) = (self.clone(), to.to_owned());
        self.tasks.spawn_apart(async move {
            let tasks = Tasks::new();
            let context = own.context(user, tasks.clone());
            let outcome = own.run(&context, &to).await;
            tasks.stop();
            own.set(|progress| {
                (progress.is_running, progress.is_pausing) = (false, false);
                progress.problem = outcome.err().map(|failure| failure.to_string());
            });
        });
    }

    fn pause(&self) {
        self.set(|progress| progress.is_pausing = progress.is_running);
    }

    fn progress(&self) -> Option<Progress> {
        self.state.lock().progress.clone()
    }

    fn changes(&self) -> u64 {
        self.state.lock().changes
    }
}
