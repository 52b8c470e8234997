// SPDX-License-Identifier: Apache-2.0
//! Web pages of one landscape: clusters, versions and time, rendered on the server.
//!
//! ```text
//! browser ──HTTP, loopback──► listen ─┐
//! browser ──HTTPS, host's port────────┴► Dashboard::answer   name of the host, session, headers
//!                                          pages             objects → HTML, by requests of the session's user
//!                                          actions           forms → requests of the session's user
//!                                          stream            regions that changed, as they change
//! ```
//!
//! A page formats the answers of the API and the results of the rules of `domain`; the command at its foot prints the same. A
//! form becomes a request to the API as the session's user, and the answer is shown unchanged.
//!
//! **Invariants.** Nothing is decided here that the API or `domain` decides: a page has no rules and checks no input that the API
//! checks. Every request is sent as the session's user, so authorization applies. Only sessions are stored, in memory. A page is
//! not a participant of landscape time: it is read without a step of the clock, and without an entry in the log. Nothing is
//! loaded from other servers, and no page requires a script.
//!
//! **Deliberately absent**: output to a terminal, the host (it is passed as [`Options`]), and parts whose command does not exist.
//!
//! **Tour.** [`Dashboard`] answers requests; [`access`] access control: host names, login codes, sessions, tokens of forms;
//! [`listen`] the listener on the loopback device; [`view`] data that a page may read, now or at a moment of the past, [`at`] the
//! moment, [`timebar`] the bar of time, [`may`] the part of the log that a user may see; [`page`] a page as a value, [`frame`] the
//! frame of every page, [`parts`] building blocks of pages, [`message`] answers to requests; [`pages`] the pages; [`actions`]
//! handlers of forms; [`steps`] landscape time step by step; [`upgrades`] upgrades that are carried out; [`stream`] live regions;
//! [`refusal`] pages for content that cannot be shown; [`input`] decoded queries and forms.

pub mod access;
mod actions;
mod assets;
pub mod at;
pub mod clock_state;
pub mod frame;
pub mod input;
pub mod listen;
pub mod may;
pub mod message;
pub mod page;
pub mod pages;
pub mod parts;
pub mod refusal;
mod router;
pub mod steps;
mod stream;
pub mod timebar;
pub mod upgrades;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use clock::Clock;
use domain::profile::Profile;
use eventlog::EventLog;
use ops::forecast::Forecast;
use ops::past::{Index, Timeline};
use parking_lot::Mutex;
use process::{Offload, Tasks, Transport, User};

use crate::access::sessions::Sessions;
use crate::clock_state::ClockState;
use crate::upgrades::Upgrades;

/// Path prefix of the pages.
pub const PREFIX: &str = "/dashboard/";
/// Maximum number of concurrent forecasts.
const FORECASTS: usize = 2;

/// Parameters of a dashboard: the landscape that it shows, and its access to it.
pub struct Options {
    /// Name of the landscape.
    pub landscape: String,
    /// Emulated version of Gardener, with `v`; used if no object states it.
    pub gardener_version: String,
    /// Profile with the rules of the landscape's version.
    pub rules: Profile,
    /// Seed of its randomness: a forecast draws the same numbers as the controllers.
    pub seed: u64,
    /// Opens the transport to the API as a user.
    pub door: Arc<dyn Fn(User) -> Transport + Send + Sync>,
    /// The landscape's log, read only.
    pub log: Arc<dyn EventLog>,
    /// Returns the state of landscape time.
    pub clock: Arc<dyn Fn() -> ClockState + Send + Sync>,
    /// Wall clock: for login codes, sessions and streams.
    pub wall: Clock,
    /// Spawns background work that no request waits for.
    pub tasks: Tasks,
    /// Executor of upgrades; `None`: upgrades cannot be carried out, and no page offers it.
    pub upgrades: Option<Arc<dyn Upgrades>>,
    /// True if forecasts are calculated on threads of their own; false in a simulation, which has one thread.
    pub has_threads: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("landscape", &self.landscape).finish_non_exhaustive()
    }
}

/// The dashboard of a landscape. Cheap to clone; clones share their state.
#[derive(Clone, Debug)]
pub struct Dashboard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Options,
    sessions: Sessions,
    /// `host:port` of the loopback listener, as browsers address it.
    names: Mutex<BTreeSet<String>>,
    /// Host names of the landscape's own port.
    landscape_names: Mutex<BTreeSet<String>>,
    history: pages::versions::history::History,
    timeline: Timeline,
    index: Index,
    walks: steps::Walks,
    /// The last requested forecast without a what-if, and the question that it answers.
    without: Mutex<Option<(String, Arc<Forecast>)>>,
    /// Offload of forecasts with a limit, so that they do not block other work of the landscape.
    forecasts: OnceLock<Offload>,
    /// API servers that do not answer, by the path of the server, and the start of their silence in landscape time.
    silent: Mutex<BTreeMap<String, DateTime<Utc>>>,
    router: axum::Router<()>,
}

impl Dashboard {
    /// Creates a dashboard without sessions.
    pub fn new(options: Options) -> Self {
        let sessions = Sessions::new(options.wall.clone());
        let log = options.log.clone();
        Self(Arc::new_cyclic(|this| Inner {
            options,
            sessions,
            names: Mutex::default(),
            landscape_names: Mutex::default(),
            history: pages::versions::history::History::default(),
            timeline: Timeline::new(log.clone()),
            index: Index::new(log),
            walks: steps::Walks::default(),
            without: Mutex::default(),
            forecasts: OnceLock::new(),
            silent: Mutex::default(),
            router: router::routes(router::State::new(this.clone())),
        }))
    }

    /// Returns the options that it was created with.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Returns its sessions and login codes.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// Returns the offload of forecasts.
    pub(crate) fn forecasts(&self) -> &Offload {
        let threads = || if self.0.options.has_threads { Offload::threads(FORECASTS) } else { Offload::inline() };
        self.0.forecasts.get_or_init(threads)
    }

    /// Returns the history of the versions in CloudProfiles.
    pub(crate) fn history(&self) -> &pages::versions::history::History {
        &self.0.history
    }

    /// Returns the timeline of changes.
    pub fn timeline(&self) -> &Timeline {
        &self.0.timeline
    }

    /// Returns the index of the past: the content of lists at any moment.
    pub fn past(&self) -> &Index {
        &self.0.index
    }

    /// Starts reading new entries of the log into the index of the past, in the background.
    pub(crate) fn look_back(&self) {
        if !self.past().is_behind() {
            return;
        }
        let dashboard = self.clone();
        self.options().tasks.spawn_apart(async move {
            // A closed log has no past to show; pages report that.
            let _ = dashboard.past().catch_up().await;
        });
    }

    /// Starts reading the rest of a long log into the timeline, in the background.
    pub(crate) fn read_on(&self) {
        let dashboard = self.clone();
        self.options().tasks.spawn_apart(async move {
            let _ = dashboard.timeline().catch_up().await;
        });
    }

    /// Returns a forecast without what-ifs; calculates it unless it answers the same question as the last one.
    pub(crate) fn without(&self, of: String, make: impl FnOnce() -> Forecast) -> Arc<Forecast> {
        if let Some((_, known)) = self.0.without.lock().as_ref().filter(|(known, _)| *known == of) {
            return known.clone();
        }
        let made = Arc::new(make());
        *self.0.without.lock() = Some((of, made.clone()));
        made
    }

    /// Returns the step-by-step walks of landscape time.
    pub fn walks(&self) -> &steps::Walks {
        &self.0.walks
    }

    /// Stores whether the API server of a path answers.
    pub(crate) fn heard(&self, path: &str, answers: bool) {
        let mut silent = self.0.silent.lock();
        let server = view::server_of(path);
        if answers {
            silent.remove(server);
        } else if !silent.contains_key(server) {
            silent.insert(server.to_owned(), self.now());
        }
    }

    /// Returns the first instant since which an API server does not answer; `None`: all answer.
    pub(crate) fn silent_since(&self) -> Option<DateTime<Utc>> {
        self.0.silent.lock().values().min().copied()
    }

    /// Returns landscape time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0.options.clock)().now
    }

    /// Accepts requests to the loopback listener under this name and port from now on, too.
    pub fn add_name(&self, name: &str) {
        self.0.names.lock().insert(name.to_ascii_lowercase());
    }

    /// Accepts requests to the landscape's own port under this host name, with any port, from now on, too.
    pub fn add_landscape_name(&self, name: &str) {
        self.0.landscape_names.lock().insert(name.to_ascii_lowercase());
    }
}
