// SPDX-License-Identifier: Apache-2.0
//! A landscape: components, the log and their common clock.

mod start;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::cluster;
use api::constants::condition;
use api::core::Seed;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Instant, Random};
use controller::Api;
use eventlog::memory::Account;
use eventlog::{EventLog, MemoryLog, Replay, Revision};
use generic_apiserver::Foundation;
use host::{Host, Parts};
use parking_lot::Mutex;
use process::{Context, Exit, Identity, Output, Shared, Tasks, Transport, User};

use crate::component::{Component, Running};
use crate::failure::Failure;
use crate::livelock;
use crate::options::Options;
use crate::runtime::{Advance, Runtime};
use crate::wait;

/// A landscape in this process, on this thread. Time moves only while one of its methods runs.
pub struct Landscape {
    // Dropped in this order: components before the runtime that they run on.
    components: BTreeMap<Component, Running>,
    clients: Tasks,
    host_tasks: Tasks,
    host: Host,
    log: MemoryLog,
    guarded: Arc<dyn EventLog>,
    found: livelock::Finding,
    random: Random,
    shared: Shared,
    lines: Arc<Mutex<Vec<Line>>>,
    options: Options,
    writers: u64,
    requests: Arc<AtomicU64>,
    runtime: Runtime,
}

/// A line that a component printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Landscape time.
    pub at: Instant,
    /// Component and instance.
    pub component: String,
    /// Text without line end.
    pub text: String,
}

/// Counters of a landscape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Number of entries of the canonical log.
    pub entries: u64,
    /// Last revision.
    pub revision: u64,
    /// Number of timers that fired.
    pub timers: u64,
    /// Number of existing objects.
    pub objects: u64,
    /// Number of requests from components and clients.
    pub requests: u64,
}

/// Memory of a landscape, by owner: bytes of contents, unless documented otherwise. Overhead of the allocator and of
/// maps, and copies that components share with the API servers, are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Memory {
    /// The log: existing objects.
    pub objects: usize,
    /// The log: headers of entries, contents of the newest.
    pub entries: usize,
    /// The log: contents of older entries, packed.
    pub packed: usize,
    /// API servers: number of decoded objects.
    pub decoded: usize,
    /// API servers: objects of recent changes; shared bytes are counted each time.
    pub recent: usize,
}

/// Bytes of recent changes that each resource retains: no client continues a list, and no watch begins in the past.
const RECENT_BYTES: usize = 1 << 20;
/// Number of entries that a replay holds at once.
const REPLAYED_AT_ONCE: u64 = 8192;

/// Duration of the setup before the start of a landscape, so that everything is ready when it begins.
const LEAD: TimeDelta = TimeDelta::minutes(5);

impl Landscape {
    /// Starts all components and waits until the initial objects of an operator exist: the clusters `garden` and
    /// `seed--NAME`, the namespace `garden` with the domain secrets, the registrations of all usual extensions, and
    /// ready Seeds. This happens in the five minutes before `options.start`.
    pub fn start(options: Options) -> Result<Self, Failure> {
        let mut landscape = Self::empty(options);
        landscape.start_component(Component::Apiserver);
        let admin = landscape.client("admin");
        let options = landscape.options.clone();
        landscape.run(async move { crate::bootstrap::prepare(&admin, &options).await })??;
        for component in landscape.other_components() {
            landscape.start_component(component);
        }
        landscape.wait_for_seeds()?;
        landscape.run_until(landscape.options.start)?;
        Ok(landscape)
    }

    fn wait_for_seeds(&self) -> Result<(), Failure> {
        let seeds = Api::<Seed>::all(&self.client("admin"), cluster::GARDEN);
        for seed in &self.options.seeds {
            let name = &seed.metadata.name;
            let ready = wait::for_object(&seeds, name, |seed| {
                let is_ready = seed
                    .status
                    .conditions
                    .iter()
                    .any(|c| c.r#type == condition::SEED_GARDENLET_READY && c.status == "True");
                let operation = seed.status.last_operation.as_ref();
                is_ready && operation.is_some_and(|operation| operation.state == "Succeeded")
            });
            match self.run_until_done(self.options.start, ready)? {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(Failure::Refused(format!("wait for Seed {name}"), error)),
                None => return Err(self.stuck()),
            }
        }
        Ok(())
    }

    fn empty(options: Options) -> Self {
        let schedule = options.schedule.map(Random::new);
        let runtime = Runtime::new(options.start - LEAD, schedule);
        let log = options.history.map_or_else(MemoryLog::new, MemoryLog::with_history);
        let clock = Clock::new(runtime.clock().clone());
        let (guarded, found) = livelock::guarded(log.clone(), clock, runtime.stop());
        let random = Random::new(options.seed);
        let host_tasks = runtime.tasks();
        let foundation = Foundation {
            log: guarded.clone(),
            clock: Clock::new(runtime.clock().clone()),
            wall: Clock::new(runtime.wall().clone()),
            random: random.clone(),
            writer: 1,
            recent_bytes: RECENT_BYTES,
        };
        let parts = Parts { version: options.gardener_version.clone(), ..Parts::default() };
        let host = Host::with(foundation, &host_tasks, parts);
        Self {
            components: BTreeMap::new(),
            clients: runtime.tasks(),
            host_tasks,
            host,
            log,
            guarded,
            found,
            random,
            shared: Shared::default(),
            lines: Arc::default(),
            options,
            writers: 1,
            requests: Arc::default(),
            runtime,
        }
    }

    fn other_components(&self) -> Vec<Component> {
        let mut components = vec![Component::KubeControllers, Component::ControllerManager, Component::Scheduler];
        for seed in &self.options.seeds {
            components.push(Component::ProviderLocal(seed.metadata.name.clone()));
            components.push(Component::Gardenlet(seed.metadata.name.clone()));
        }
        components
    }

    /// Foundation of a server; each server is a writer of its own.
    pub(crate) fn foundation(&mut self) -> Foundation {
        self.writers += 1;
        Foundation {
            log: self.guarded.clone(),
            clock: self.clock(),
            wall: Clock::new(self.runtime.wall().clone()),
            random: self.random.clone(),
            writer: self.writers,
            recent_bytes: RECENT_BYTES,
        }
    }

    /// Tasks of a new component.
    pub(crate) fn tasks(&self) -> Tasks {
        self.runtime.tasks()
    }

    /// Context of a component or client.
    pub(crate) fn context(&self, identity: Identity, user: User, tasks: Tasks) -> Context {
        let name = format!("{}/{}", identity.component, identity.instance);
        let (lines, clock) = (self.lines.clone(), self.clock());
        let output = Output::new(move |text| {
            let line = Line { at: clock.now(), component: name.clone(), text: text.to_owned() };
            lines.lock().push(line);
        });
        Context {
            identity,
            clock: self.clock(),
            random: self.random.clone(),
            wall: Clock::new(self.runtime.wall().clone()),
            transport: self.transport(user),
            tasks,
            output,
        }
    }

    fn transport(&self, user: User) -> Transport {
        let (host, requests) = (self.host.transport(user), self.requests.clone());
        let counted = Transport::new(move |request| {
            requests.fetch_add(1, Ordering::Relaxed);
            host.send(request)
        });
        counted.sharing(&self.shared)
    }

    /// Context for requests as `user`, a member of `system:masters`.
    pub fn client(&self, user: &str) -> Context {
        let identity = Identity { component: "client".into(), instance: user.into(), version: "".into() };
        let groups = vec!["system:masters".into(), "system:authenticated".into()];
        let user = User { name: user.into(), groups, component: None };
        self.context(identity, user, self.clients.clone())
    }

    /// Sets the version of Gardener of components that start from now on.
    pub fn set_gardener_version(&mut self, version: &str) {
        version.clone_into(&mut self.options.gardener_version);
    }

    /// Starts a component that does not run.
    pub fn start_component(&mut self, component: Component) {
        if !self.components.contains_key(&component) {
            let running = start::start(self, &component);
            if let Component::Gardenlet(seed) = &component {
                let (host, seed, owner) = (self.host.clone(), seed.clone(), component.to_string());
                // The log of a simulation is always reachable.
                self.clients.spawn(async move { drop(host.start_renewing(&seed, &owner).await) });
            }
            self.components.insert(component, running);
        }
    }

    /// Stops a component, and waits for its end; returns its exit. No time passes.
    pub fn stop_component(&mut self, component: &Component) -> Result<Option<Exit>, Failure> {
        let Some(running) = self.components.remove(component) else { return Ok(None) };
        self.detach(component);
        running.tasks.stop();
        let tasks = running.tasks.clone();
        self.run(async move { tasks.ended().await })?;
        self.stop_heart(component)?;
        Ok(running.exit())
    }

    /// Ends a component between two of its steps, without a chance to react. No time passes.
    pub fn crash_component(&mut self, component: &Component) -> Result<(), Failure> {
        let Some(running) = self.components.remove(component) else { return Ok(()) };
        self.detach(component);
        running.tasks.kill();
        let tasks = running.tasks.clone();
        self.run(async move { tasks.ended().await })?;
        self.stop_heart(component)
    }

    /// Stops the renewals of a gardenlet that has ended.
    fn stop_heart(&self, component: &Component) -> Result<(), Failure> {
        let Component::Gardenlet(seed) = component else { return Ok(()) };
        let (host, seed, owner) = (self.host.clone(), seed.clone(), component.to_string());
        // The log of a simulation is always reachable.
        self.run(async move { drop(host.stop_renewing(&seed, &owner).await) })
    }

    fn detach(&self, component: &Component) {
        if *component == Component::Apiserver {
            self.host.aggregate(None);
        }
    }

    /// Running components.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        self.components.keys()
    }

    /// Landscape time.
    pub fn now(&self) -> Instant {
        self.clock().now()
    }

    /// The clock of the landscape.
    pub fn clock(&self) -> Clock {
        Clock::new(self.runtime.clock().clone())
    }

    /// Keyed randomness of the landscape.
    pub fn random(&self) -> &Random {
        &self.random
    }

    /// Options with which the landscape was started.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Host of the landscape.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The log.
    pub fn log(&self) -> &MemoryLog {
        &self.log
    }

    /// Lines that components have printed so far.
    pub fn lines(&self) -> Vec<Line> {
        self.lines.lock().clone()
    }

    /// Runs a future, usually a request, to its end. No time passes.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> Result<T, Failure> {
        self.drive(Advance::Not, future)?.ok_or_else(|| self.stuck())
    }

    /// Runs until the future has a result, while time passes; `None` if it has none at `limit`.
    pub fn run_until_done<T>(&self, limit: Instant, future: impl Future<Output = T>) -> Result<Option<T>, Failure> {
        let done = self.drive(Advance::Until(limit), future)?;
        if done.is_none() {
            self.runtime.clock().advance_to(limit);
        }
        Ok(done)
    }

    /// Advances time to an instant, through every timer on the way, and settles there.
    pub fn run_until(&self, instant: Instant) -> Result<(), Failure> {
        self.run_until_done(instant, std::future::pending::<()>()).map(|_| ())
    }

    /// Advances time while work is in progress, at most to `limit`: calendar timers after the last work timer do not
    /// fire.
    pub fn run_until_idle(&self, limit: Instant) -> Result<(), Failure> {
        self.drive(Advance::WhileWork(limit), std::future::pending::<()>()).map(|_| ())
    }

    /// Runs until all components are idle at this instant.
    pub fn settle(&self) -> Result<(), Failure> {
        self.drive(Advance::Not, std::future::pending::<()>()).map(|_| ())
    }

    fn drive<T>(&self, advance: Advance, future: impl Future<Output = T>) -> Result<Option<T>, Failure> {
        let result = self.runtime.drive(advance, future);
        if let Some(live_lock) = self.found.live_lock() {
            return Err(Failure::LiveLock(live_lock));
        }
        for (component, running) in &self.components {
            if running.tasks.has_panicked() {
                return Err(Failure::Panicked(component.clone()));
            }
            if let Some(Exit { code, last_line }) = running.exit() {
                return Err(Failure::Ended { component: component.clone(), code, last_line });
            }
        }
        if self.host_tasks.has_panicked() {
            return Err(Failure::Panicked(Component::Apiserver));
        }
        Ok(result)
    }

    pub(crate) fn stuck(&self) -> Failure {
        let mut waiting: Vec<String> = self.components.keys().map(ToString::to_string).collect();
        waiting.push(match self.runtime.clock().next_timer() {
            Some((due, class)) => format!("next timer {} ({class:?})", due.to_rfc3339()),
            None => "no timer".to_owned(),
        });
        Failure::Stuck { at: self.now(), waiting }
    }

    /// Counters so far.
    pub fn counts(&self) -> Counts {
        Counts {
            entries: self.log.entries(),
            revision: self.log.head().0,
            timers: self.runtime.clock().fired(),
            objects: self.log.objects() as u64,
            requests: self.requests.load(Ordering::Relaxed),
        }
    }

    /// Memory by owner.
    pub fn memory(&self) -> Memory {
        let Account { objects, entries, packed } = self.log.account();
        let (decoded, recent) = self.host.account();
        Memory { objects, entries, packed, decoded, recent }
    }

    /// Due time of the next timer.
    pub fn next_timer(&self) -> Option<DateTime<Utc>> {
        self.runtime.clock().next_timer().map(|(due, _)| due)
    }

    /// Hash of the canonical log so far: the same for the same seed and input.
    pub fn canonical_hash(&self) -> String {
        self.log.canonical_hash()
    }

    /// The canonical log, as far as it is retained, byte for byte.
    pub fn canonical_log(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.replay(|entry| bytes.extend(entry))?;
        Ok(bytes)
    }

    /// Folds the log from its beginning (or from its oldest retained entry), and compares the result with the log's
    /// state and with the servers' responses, object by object.
    pub fn replay_equals_live(&self) -> Result<(), Failure> {
        let replay = self.replay(drop)?;
        let live = self.run(self.log.state_at(self.log.head()))?.map_err(|e| Failure::Replay(e.to_string()))?;
        if let Some(difference) = replay.difference(&live) {
            return Err(Failure::Replay(format!("{difference:?}")));
        }
        if self.log.compacted() == Revision(0) && replay.hash() != self.log.canonical_hash() {
            return Err(Failure::Replay("the hash of the canonical log differs".to_owned()));
        }
        let admin = self.client("admin");
        let served = self.run(async {
            for (key, (revision, sections)) in replay.state() {
                crate::served::is_served(&admin, key, *revision, sections).await?;
            }
            Ok(())
        })?;
        served.map_err(Failure::Replay)
    }

    /// Folds the retained log, and passes each entry's canonical form to `each`.
    fn replay(&self, mut each: impl FnMut(Vec<u8>)) -> Result<Replay, Failure> {
        let (from, head) = (self.log.compacted(), self.log.head());
        let failed = |error: eventlog::ReadError| Failure::Replay(error.to_string());
        let base = self.run(self.log.state_at(from))?.map_err(failed)?;
        let mut replay = Replay::starting_at(base);
        let mut at = from;
        while at < head {
            let to = Revision((at.0 + REPLAYED_AT_ONCE).min(head.0));
            for entry in self.run(self.log.read(at, to, None))?.map_err(failed)? {
                each(replay.push(&entry));
            }
            at = to;
        }
        Ok(replay)
    }
}

impl fmt::Debug for Landscape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let components: Vec<_> = self.components.keys().map(ToString::to_string).collect();
        f.debug_struct("Landscape")
            .field("now", &self.now())
            .field("components", &components)
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}
