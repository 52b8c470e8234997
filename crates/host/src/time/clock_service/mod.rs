// SPDX-License-Identifier: Apache-2.0
//! Serves landscape time to the participants: the [`Timekeeper`] with a log, API servers and a wall clock around it.
//!
//! The mode of time is the spec of an object ([`crate::kinds::clock_object`]). A component whose connection breaks remains a
//! participant: it joins again, or is dropped because it reports nothing; the kubelet reports the end of a process. A
//! command ends when its connection breaks. [`serving`] is the interface over HTTP, [`driver`] moves time.
//!
//! **Invariants.** One driver decides; a grant reaches its participant, at the latest as the answer to the next report,
//! and the dial shows its instant before. Wall time is read only for time that runs by itself and for the limit of a
//! report.

mod driver;
mod messages;
mod reports;
mod serving;
mod thread;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use chrono::TimeDelta;
use clock::{Clock, END, Instant, Sleep, TimeSource, TimerClass};
use eventlog::livelock::{Creations, Writes};
use eventlog::observed::Observed;
use eventlog::{Actor, Append, AppendError, EventLog, Key, Verb};
use futures::future::BoxFuture;
use generic_apiserver::controller_of;
use parking_lot::{Mutex, MutexGuard};
use process::Tasks;
use process::dial::Dial;
use process::participant::{Answer, Grant, Idle, Join, LineCounts};
use process::polls::Work;
use tokio::sync::{Notify, oneshot};

use self::messages::By;
pub use self::messages::{Advanced, ClockState};
pub use self::reports::OwnReports;
use self::thread::OwnThread;
use crate::time::timekeeper::{CommandError, Mode, Report, Timekeeper, WaitsFor};

/// Name of the hold on landscape time during the start of a landscape.
pub const START: &str = "start";
/// Wall time after which a report is answered even if time stands, so that the connection is not closed.
const LONGEST_POLL: TimeDelta = TimeDelta::seconds(30);

/// Requests the line counts of watches, as of the log's head, from every API server; `None`: one of them did not
/// report.
pub type Barriers = Arc<dyn Fn() -> BoxFuture<'static, Option<LineCounts>> + Send + Sync>;

/// Shows an instant on the landscape's dial.
type Turn = Box<dyn Fn(Instant) + Send + Sync>;

/// The clock service. Cheap to clone; clones share the service.
#[derive(Clone)]
pub struct ClockService(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    /// Notified when something happened that may let time move.
    changed: Notify,
    /// Notified when time has moved or a command has ended.
    moved: Notify,
    wall: Clock,
    log: Arc<dyn EventLog>,
    barriers: Barriers,
    /// Writer of the dial that other processes read.
    turn: OnceLock<Turn>,
    /// Thread on which the driver runs; unset: one on which no participant runs.
    thread: OnceLock<OwnThread>,
}

struct State {
    keeper: Timekeeper,
    /// Pending reports by participant.
    waiting: BTreeMap<String, oneshot::Sender<Option<Answer>>>,
    /// True between the decision on a grant and its delivery: everything that happened before must be durable first.
    withholds_grant: bool,
    /// Number of commands that have ended.
    commands_ended: u64,
    /// Counter of the writes at the present instant.
    writes: Writes,
    /// Counter of the creations at the present instant.
    creations: Creations,
    /// Latest error of participants of this process, by name.
    troubles: BTreeMap<String, String>,
    /// The running command, or the last one.
    advance: Option<Advanced>,
    /// Number of the latest connection of each participant, and of all of them.
    connections: (BTreeMap<String, u64>, u64),
}

impl ClockService {
    /// Starts a service whose time stands at `now`; a task of `tasks` drives it.
    pub fn start(
        now: Instant,
        mode: Mode,
        wall: Clock,
        log: Arc<dyn EventLog>,
        barriers: Barriers,
        tasks: &Tasks,
    ) -> Self {
        let keeper = Timekeeper::new(now, mode, wall.now());
        let state = State {
            keeper,
            waiting: BTreeMap::new(),
            withholds_grant: false,
            commands_ended: 0,
            writes: Writes::default(),
            creations: Creations::default(),
            troubles: BTreeMap::new(),
            advance: None,
            connections: (BTreeMap::new(), 0),
        };
        let (changed, moved) = (Notify::new(), Notify::new());
        let (turn, thread) = (OnceLock::new(), OnceLock::new());
        let inner = Inner { state: Mutex::new(state), changed, moved, wall, log, barriers, turn, thread };
        let service = Self(Arc::new(inner));
        let driven = service.clone();
        tasks.restarting("clock", move || driven.clone().drive());
        service
    }

    /// Landscape time.
    pub fn now(&self) -> Instant {
        let wall = self.0.wall.now();
        self.0.state().keeper.now(wall)
    }

    /// Clock for servers of this process: it reads landscape time.
    pub fn clock(&self) -> Clock {
        Clock::new(self.clone())
    }

    /// Dial for participants of this process.
    pub fn dial(&self) -> Dial {
        let service = self.clone();
        Dial::new(move || Some(service.0.state().keeper.granted()))
    }

    /// Calls `turn` with every instant from now on, before it is granted to a participant. Has an effect only once.
    pub fn show_on(&self, turn: impl Fn(Instant) + Send + Sync + 'static) {
        let _ = self.0.turn.set(Box::new(turn));
    }

    /// Reads or commands the timekeeper, and wakes the driver.
    pub fn with<T>(&self, act: impl FnOnce(&mut Timekeeper, Instant) -> T) -> T {
        let wall = self.0.wall.now();
        let mut state = self.0.state();
        let result = act(&mut state.keeper, wall);
        self.0.call(state, wall);
        result
    }

    /// The log for all writers: writes are counted per instant, and time stops for writers that react to one another in
    /// an endless cycle (see [`eventlog::livelock`]). The writers continue, so a user can observe them; only an endless
    /// series of creations is refused, also while no command advances time: it would fill the machine's memory.
    pub fn counted_log(&self) -> Arc<dyn EventLog> {
        let service = self.clone();
        Arc::new(Observed::new(self.0.log.clone(), move |append: &Append| {
            service.wrote(&append.key, &append.actor);
            service.created(append)
        }))
    }

    /// Counts a write.
    fn wrote(&self, key: &Key, actor: &Actor) {
        let wall = self.0.wall.now();
        let mut state = self.0.state();
        if !state.keeper.is_pressed() {
            return;
        }
        let at = state.keeper.granted();
        let Some(live_lock) = state.writes.count(at, key, actor) else { return };
        state.writes.forget();
        if state.keeper.target().is_some() {
            state.commands_ended += 1;
        }
        state.keeper.stop_for(live_lock, wall);
        self.0.call(state, wall);
        self.0.moved.notify_waiters();
    }

    /// Counts a creation or deletion; returns the reason if it is refused.
    fn created(&self, append: &Append) -> Option<AppendError> {
        let Append { key, verb, object, actor, .. } = append;
        let owner = matches!(verb, Verb::Create | Verb::Delete).then(|| controller_of(object)).flatten();
        let wall = self.0.wall.now();
        let mut state = self.0.state();
        // A user has seen the live-lock and resumed time.
        if state.creations.is_exceeded() && state.keeper.live_lock().is_none() {
            state.creations.forget();
        }
        let at = state.keeper.granted();
        let live_lock = state.creations.count(at, key, *verb, owner, actor)?;
        let refusal = AppendError::LiveLock(live_lock.to_string());
        if state.keeper.live_lock().is_none() {
            if state.keeper.target().is_some() {
                state.commands_ended += 1;
            }
            state.keeper.stop_for(live_lock, wall);
            self.0.call(state, wall);
            self.0.moved.notify_waiters();
        }
        Some(refusal)
    }

    /// Begins to advance; see [`Timekeeper::advance`]. With `or_now` an instant that has passed is the present one: a
    /// client computes its goal from an instant that it has read, and time may have run by itself since.
    fn begin(&self, to: Instant, settle: TimeDelta, or_now: bool, by: By) -> Result<(), CommandError> {
        let wall = self.0.wall.now();
        let mut state = self.0.state();
        let now = state.keeper.now(wall);
        let to = if or_now { to.max(now) } else { to };
        if let Some(name) = state.keeper.absent_server().filter(|_| !by.ignore_absence) {
            return Err(CommandError::Absent(name.to_owned()));
        }
        state.keeper.advance(to, settle, wall)?;
        if by.ignore_absence {
            state.keeper.ignore_absence();
        }
        state.writes.forget();
        state.creations.forget();
        state.advance = Some(Advanced { by: by.who, participant: by.participant, since: wall, from: now });
        self.0.call(state, wall);
        Ok(())
    }

    /// Advances through every timer up to an instant, and leaves clients that are no participants `settle` of wall time
    /// after a step that affected them. Returns once all participants are idle, with the instant at which time stands:
    /// an earlier one if the command was ended or a live-lock stopped it.
    ///
    /// # Errors
    /// Another command is running, the instant has passed or is after the end of time, or no API server answers.
    pub fn advance(&self, to: Instant, settle: TimeDelta) -> BoxFuture<'_, Result<Instant, CommandError>> {
        Box::pin(async move {
            let ended = self.0.state().commands_ended;
            self.begin(to, settle, false, By::default())?;
            loop {
                let mut moved = std::pin::pin!(self.0.moved.notified());
                moved.as_mut().enable();
                if self.0.state().commands_ended > ended {
                    return Ok(self.now());
                }
                moved.await;
            }
        })
    }

    /// Ends the running command; time stays where it is.
    pub fn cancel(&self) {
        let wall = self.0.wall.now();
        let mut state = self.0.state();
        if state.keeper.target().is_some() {
            state.keeper.cancel(wall);
            state.commands_ended += 1;
        }
        self.0.call(state, wall);
        self.0.moved.notify_waiters();
    }

    /// Resolves with the names of participants that were dropped because they reported nothing, once they differ from
    /// `known`.
    pub fn dropped_after<'a>(&'a self, known: &'a BTreeSet<String>) -> BoxFuture<'a, BTreeSet<String>> {
        Box::pin(async move {
            loop {
                let mut moved = std::pin::pin!(self.0.moved.notified());
                moved.as_mut().enable();
                let dropped: BTreeSet<String> = self.0.state().keeper.dropped().map(str::to_owned).collect();
                if dropped != *known {
                    return dropped;
                }
                moved.await;
            }
        })
    }

    /// Records an error of a participant of this process that continues; shown in [`ClockState::troubles`].
    pub fn note_trouble(&self, name: &str, what: &str) {
        self.0.state().troubles.insert(name.to_owned(), what.to_owned());
    }

    /// Returns what landscape time waits for.
    pub fn waits_for(&self) -> WaitsFor {
        let wall = self.0.wall.now();
        self.0.waits_for(&self.0.state().keeper, wall)
    }

    /// Registers a participant, also one that was dropped.
    pub fn join(&self, name: &str, join: Join) -> Grant {
        let (grant, was_dropped) = self.with(|keeper, wall| {
            let was_dropped = keeper.dropped().any(|dropped| dropped == name);
            (keeper.join(name, join, wall), was_dropped)
        });
        self.0.state().waiting.remove(name);
        if was_dropped {
            self.0.moved.notify_waiters();
            tracing::info!(participant = name, "it takes part in landscape time again");
        }
        grant
    }

    /// Unregisters a participant.
    pub fn leave(&self, name: &str) {
        self.with(|keeper, wall| keeper.leave(name, wall));
        self.0.state().waiting.remove(name);
    }

    /// Registers a connection of a participant; returns its number.
    fn connect(&self, name: &str) -> u64 {
        let (latest, count) = &mut self.0.state().connections;
        *count += 1;
        latest.insert(name.to_owned(), *count);
        *count
    }

    /// Unregisters a connection of a participant. If it was the latest one of a command, the command and its advance end.
    fn disconnect(&self, name: &str, connection: u64) {
        let leaves = {
            let mut state = self.0.state();
            let is_latest = state.connections.0.get(name) == Some(&connection);
            if is_latest {
                state.connections.0.remove(name);
            }
            is_latest && state.keeper.is_command(name)
        };
        if leaves {
            if self.0.state().commands(name) {
                self.cancel();
            }
            self.leave(name);
        }
    }

    /// Takes a report; the answer is ready when time has moved, or when the participant has lines to read. `Ok(None)`:
    /// a later report has replaced this one, or time stands for long. `Err`: the participant has not joined, or was
    /// dropped.
    pub fn idle<'a>(&'a self, name: &'a str, idle: Idle) -> BoxFuture<'a, Result<Option<Answer>, NotJoined>> {
        Box::pin(async move {
            let answer = {
                let wall = self.0.wall.now();
                let mut state = self.0.state();
                match state.keeper.report(name, idle) {
                    Report::Taken => {}
                    Report::Overtaken => return Ok(None),
                    Report::NotJoined => return Err(NotJoined),
                }
                if let Some(grant) = state.keeper.owed(name).filter(|_| !state.withholds_grant) {
                    return Ok(Some(Answer::Grant(grant)));
                }
                if let Some(unread) = state.keeper.unread(name) {
                    self.0.call(state, wall);
                    return Ok(Some(Answer::Unread(unread)));
                }
                let (sender, answer) = oneshot::channel();
                if let Some(earlier) = state.waiting.insert(name.to_owned(), sender) {
                    let _ = earlier.send(None);
                }
                self.0.call(state, wall);
                answer
            };
            tokio::select! {
                biased;
                answer = answer => Ok(answer.unwrap_or(None)),
                () = self.0.wall.sleep(LONGEST_POLL, TimerClass::Calendar) => Ok(None),
            }
        })
    }

    /// The clock as an administrator sees it.
    pub fn state(&self) -> ClockState {
        let wall = self.0.wall.now();
        let mut state = self.0.state();
        // As in `drive`: never before the last report was read.
        let head = self.0.log.head();
        let State { keeper, troubles, advance, .. } = &mut *state;
        keeper.end_holds(wall);
        let mut waits_for = self.0.waits_for(keeper, wall);
        if keeper.is_starting(head) {
            waits_for.holds.push(START.to_owned());
        }
        // A timer after the end of time never fires, and clients cannot read its instant.
        let participants =
            keeper.participants().map(|(name, next)| (name.to_owned(), next.filter(|next| *next <= END)));
        ClockState {
            troubles: troubles.clone(),
            now: keeper.now(wall),
            mode: keeper.mode(),
            paused: keeper.is_paused(),
            target: keeper.target(),
            advance: advance.clone().filter(|_| keeper.target().is_some()),
            next: keeper.next_timer().filter(|next| *next <= END),
            settled: keeper.is_settled(head),
            waits_for,
            participants: participants.collect(),
            dropped: keeper.dropped().map(str::to_owned).collect(),
            absences: keeper.absences().cloned().collect(),
            live_lock: keeper.live_lock().map(ToString::to_string),
        }
    }

    /// Work of the components inside the host's process, by `CLUSTER/POD`, or by the name of a part of the host.
    pub fn work(&self) -> BTreeMap<String, Work> {
        self.0.thread.get().map(|thread| thread.polls.work()).unwrap_or_default()
    }
}

const NOT_JOINED: &str = "it had not joined the clock, or had not answered for 30 s of wall time";

/// The participant has not joined, or was dropped because it reported nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{NOT_JOINED}")]
pub struct NotJoined;

impl State {
    /// True if a participant issued the running command.
    fn commands(&self, name: &str) -> bool {
        let participant = self.advance.as_ref().and_then(|advance| advance.participant.as_deref());
        self.keeper.target().is_some() && participant == Some(name)
    }

    /// Sends a decided grant to the participants that wait for it. A participant that has joined since the decision has
    /// been sent the instant, and would take the grant as the answer to a report that still has to be answered.
    fn deliver(&mut self, to: &[String]) {
        self.withholds_grant = false;
        for name in to {
            let Some(grant) = self.keeper.owed(name) else { continue };
            if let Some(waiting) = self.waiting.remove(name) {
                let _ = waiting.send(Some(Answer::Grant(grant)));
            }
        }
    }

    /// Requests a report from the participants with unread lines, once they have read these. Participants that are not
    /// in `waiting` send a report anyway, and get this as its answer.
    fn ask(&mut self) {
        let Self { keeper, waiting, .. } = self;
        let asked: Vec<(String, LineCounts)> =
            waiting.keys().filter_map(|name| Some((name.clone(), keeper.unread(name)?))).collect();
        for (name, unread) in asked {
            if let Some(report) = waiting.remove(&name) {
                let _ = report.send(Some(Answer::Unread(unread)));
            }
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Wakes the driver after a change of the state.
    fn call(&self, mut state: MutexGuard<'_, State>, wall: Instant) {
        state.keeper.call(wall);
        drop(state);
        self.changed.notify_one();
    }

    fn waits_for(&self, keeper: &Timekeeper, wall: Instant) -> WaitsFor {
        let mut waits_for = keeper.waits_for(wall);
        if let Some(thread) = self.thread.get() {
            thread.describe(&mut waits_for, wall);
        }
        waits_for
    }
}

impl fmt::Debug for ClockService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClockService").field(&self.now()).finish()
    }
}

impl TimeSource for ClockService {
    fn now(&self) -> Instant {
        ClockService::now(self)
    }

    /// A sleep for servers: time does not wait for a timer of this clock.
    fn sleep_until(&self, until: Instant, _class: TimerClass) -> Sleep {
        let service = self.clone();
        Box::pin(futures::future::maybe_done(async move {
            loop {
                let mut moved = std::pin::pin!(service.0.moved.notified());
                moved.as_mut().enable();
                if service.now() >= until {
                    return;
                }
                moved.await;
            }
        }))
    }
}

#[cfg(test)]
mod tests;
