// SPDX-License-Identifier: Apache-2.0
//! Web pages of one landscape: clusters, versions and time, made on the server.
//!
//! ```text
//! browser ──HTTP, loopback──► listen ─┐
//! browser ──HTTPS, host's port────────┴► Dashboard::answer   name of the host, session, headers
//!                                          pages             objects → HTML, by requests of the session's user
//!                                          actions           forms → requests of the session's user
//!                                          stream            regions that changed, as they change
//! ```
//!
//! A page formats what the API answers and what the rules of `domain` make of it; the command at its foot prints the same. A
//! form becomes a request to the API as the session's user, and the answer is shown as it is.
//!
//! **Invariants.** Nothing is decided here that the API or `domain` decides: a page has no rules and checks no input that the API
//! checks. No request is sent but as the session's user, so authorization applies. Nothing is stored but sessions, in memory.
//! A page is no participant of landscape time: it is read without a step of the clock, and without an entry in the log. Nothing
//! is loaded from elsewhere, and no page needs a script.
//!
//! **Deliberately absent**: anything printed to a terminal, the host (it is given as [`Options`]), and parts whose command does
//! not exist.
//!
//! **Tour.** [`Dashboard`] answers requests; [`access`] who may: host names, login codes, sessions, tokens of forms;
//! [`listen`] the listener on the loopback device; [`view`] what a page may read, now or at a moment of the past, [`at`] which
//! moment, [`timebar`] the bar of time, [`may`] what of the log a user may see;
//! [`frame`] what every page has, [`parts`] what pages are made of; [`pages`] the pages; [`actions`] what forms do;
//! [`steps`] landscape time step by step; [`upgrades`] upgrades that are carried out; [`stream`] live regions; [`refusal`] pages
//! for what cannot be shown; [`input`] queries and forms as they come in.

pub mod access;
mod actions;
mod assets;
pub mod at;
pub mod clock_state;
pub mod frame;
pub mod input;
pub mod listen;
pub mod may;
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

/// Where pages begin.
pub const PREFIX: &str = "/dashboard/";
/// Maximum number of concurrent forecasts.
const FORECASTS: usize = 2;

/// What a dashboard shows, and how it asks for it.
pub struct Options {
    /// Name of the landscape.
    pub landscape: String,
    /// Emulated version of Gardener, with `v`, where no object says it.
    pub gardener_version: String,
    /// By whose rules the landscape goes.
    pub rules: Profile,
    /// Seed of its randomness: a forecast draws as the controllers do.
    pub seed: u64,
    /// The way to the API as a user.
    pub door: Arc<dyn Fn(User) -> Transport + Send + Sync>,
    /// The landscape's log, to be read.
    pub log: Arc<dyn EventLog>,
    /// How landscape time stands.
    pub clock: Arc<dyn Fn() -> ClockState + Send + Sync>,
    /// Wall time: of login codes, sessions and streams.
    pub wall: Clock,
    /// Where work goes on that no request waits for.
    pub tasks: Tasks,
    /// What carries upgrades out; `None`: nothing does, and no page offers it.
    pub upgrades: Option<Arc<dyn Upgrades>>,
    /// True if forecasts are made on threads of their own; false in a simulation, which has one thread.
    pub has_threads: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("landscape", &self.landscape).finish_non_exhaustive()
    }
}

/// The dashboard of a landscape. Cheap to clone; clones are one.
#[derive(Clone, Debug)]
pub struct Dashboard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Options,
    sessions: Sessions,
    /// `host:port` under which the loopback listener is known.
    names: Mutex<BTreeSet<String>>,
    /// Host names of the landscape's own port.
    landscape_names: Mutex<BTreeSet<String>>,
    history: pages::versions::history::History,
    timeline: Timeline,
    index: Index,
    walks: steps::Walks,
    /// The last forecast without a what-if that somebody has asked about, and of what it is.
    without: Mutex<Option<(String, Arc<Forecast>)>>,
    /// Offload of forecasts with a limit, so that they do not block other work of the landscape.
    forecasts: OnceLock<Offload>,
    /// API servers that do not answer, by where they are, and since when in landscape time.
    silent: Mutex<BTreeMap<String, DateTime<Utc>>>,
    router: axum::Router<()>,
}

impl Dashboard {
    /// A dashboard that nobody has logged in to.
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

    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Its sessions and login codes.
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// Offload of forecasts.
    pub(crate) fn forecasts(&self) -> &Offload {
        let threads = || if self.0.options.has_threads { Offload::threads(FORECASTS) } else { Offload::inline() };
        self.0.forecasts.get_or_init(threads)
    }

    /// What CloudProfiles have offered.
    pub(crate) fn history(&self) -> &pages::versions::history::History {
        &self.0.history
    }

    /// What happened when.
    pub fn timeline(&self) -> &Timeline {
        &self.0.timeline
    }

    /// What lists show at any moment of the past.
    pub fn past(&self) -> &Index {
        &self.0.index
    }

    /// Lets the index of the past read what has come since it last did, beside what is asked for.
    pub(crate) fn look_back(&self) {
        if !self.past().is_behind() {
            return;
        }
        let dashboard = self.clone();
        self.options().tasks.spawn_apart(async move {
            // A log that is closed has no past to show; pages say so.
            let _ = dashboard.past().catch_up().await;
        });
    }

    /// Lets the timeline read the rest of a long log, beside what is asked for.
    pub(crate) fn read_on(&self) {
        let dashboard = self.clone();
        self.options().tasks.spawn_apart(async move {
            let _ = dashboard.timeline().catch_up().await;
        });
    }

    /// A forecast of something without what-ifs, made unless it is the one that was made last.
    pub(crate) fn without(&self, of: String, make: impl FnOnce() -> Forecast) -> Arc<Forecast> {
        if let Some((_, known)) = self.0.without.lock().as_ref().filter(|(known, _)| *known == of) {
            return known.clone();
        }
        let made = Arc::new(make());
        *self.0.without.lock() = Some((of, made.clone()));
        made
    }

    /// Landscape time that goes step by step.
    pub fn walks(&self) -> &steps::Walks {
        &self.0.walks
    }

    /// Keeps in mind whether the API server of a path answers.
    pub(crate) fn heard(&self, path: &str, answers: bool) {
        let mut silent = self.0.silent.lock();
        let server = view::server_of(path);
        if answers {
            silent.remove(server);
        } else if !silent.contains_key(server) {
            silent.insert(server.to_owned(), self.now());
        }
    }

    /// Since when an API server does not answer, if one does not; of several the first.
    pub(crate) fn silent_since(&self) -> Option<DateTime<Utc>> {
        self.0.silent.lock().values().min().copied()
    }

    /// Landscape time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0.options.clock)().now
    }

    /// Answers requests to the loopback listener under this name and port from now on, too.
    pub fn add_name(&self, name: &str) {
        self.0.names.lock().insert(name.to_ascii_lowercase());
    }

    /// Answers requests to the landscape's own port under this host name, whatever the port, from now on, too.
    pub fn add_landscape_name(&self, name: &str) {
        self.0.landscape_names.lock().insert(name.to_ascii_lowercase());
    }
}
