// SPDX-License-Identifier: Apache-2.0
//! Serves landscape time to the participants: the [`Timekeeper`] with a log, API servers and a wall clock around it.
//!
//! ```text
//! POST /terrarium/clock/join   Join     → Grant                        registers a participant
//! POST /terrarium/clock/reports Idle, … → Line, …                      lines, for as long as the connection lasts: a report is
//!                              answered when time has moved, or when the participant has lines to read first
//! GET  /terrarium/clock/               → ClockState
//! POST /terrarium/clock/advance {to, settleMilliseconds?, orNow?, by?, participant?, ignoreAbsence?} → ClockState; its
//!                              `target` is set until time has reached it; with `orNow` an instant that has passed is the
//!                              present one; `by`: name of the user; with `participant`, the user's name in landscape
//!                              time, the command ends with the participant's connection; with `ignoreAbsence` it
//!                              continues when a component does not answer
//! POST /terrarium/clock/halt           ends the command at the present instant, once all participants are idle there
//! POST /terrarium/clock/cancel         ends the command at once, from any user
//! POST /terrarium/clock/leave {participant} → ClockState
//! ```
//!
//! The first two are for components and administrators, and carry the participant's name in a header; the rest is for
//! administrators. The mode of time is the spec of an object ([`crate::clock_object`]). A component whose connection breaks
//! remains a participant: it joins again, or is dropped because it reports nothing; the kubelet reports the end of a
//! process. A command ends when its connection breaks.
//!
//! **Invariants.** One driver decides; a grant reaches its participant, at the latest as the answer to the next report,
//! and the dial shows its instant before. Wall time is read only for time that runs by itself and for the limit of a
//! report.

mod messages;
mod reports;
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
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};
use process::activity::PARTICIPANT_HEADER;
use process::dial::Dial;
use process::participant::{Answer, CLOCK_PATH, Grant, Idle, Join, LineCounts};
use process::transport::full;
use process::{Request, Response, Tasks, User};
use tokio::sync::{Notify, oneshot};

use self::messages::{Advance, By, Leave, json, named, plain};
pub use self::messages::{Advanced, ClockState};
pub use self::reports::OwnReports;
use self::thread::OwnThread;
use crate::timekeeper::{CommandError, Decision, Mode, REPORT_LIMIT, Report, Timekeeper, WaitsFor};

/// Name of the hold on landscape time during the start of a landscape.
pub const START: &str = "start";
/// Wall time after which a report is answered even if time stands, so that the connection is not closed.
const LONGEST_POLL: TimeDelta = TimeDelta::seconds(30);
/// Wall time after which the line counts are requested again from API servers that did not report.
const BARRIER_AGAIN: TimeDelta = TimeDelta::milliseconds(50);

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
    /// client that computes a goal from an instant that it has read does not know how far time has run by itself since.
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

    /// Registers a participant.
    pub fn join(&self, name: &str, join: Join) -> Grant {
        let grant = self.with(|keeper, wall| keeper.join(name, join, wall));
        self.0.state().waiting.remove(name);
        grant
    }

    /// Unregisters a participant.
    pub fn leave(&self, name: &str) {
        self.with(|keeper, _| keeper.leave(name));
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
                if let Some(grant) = state.keeper.owed(name) {
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

    /// Answers a request below [`CLOCK_PATH`].
    pub fn answer(&self, request: Request) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            let place = request.uri().path().strip_prefix(CLOCK_PATH).unwrap_or_default().to_owned();
            let user = request.extensions().get::<User>().cloned().unwrap_or_default();
            let is_administrator = user.groups.iter().any(|group| **group == *"system:masters");
            if !matches!(place.as_str(), "join" | "reports") {
                if !is_administrator {
                    return plain(StatusCode::FORBIDDEN, "landscape time is for administrators");
                }
                return self.command(&place, request).await;
            }
            let name = request.headers().get(PARTICIPANT_HEADER).and_then(|name| name.to_str().ok());
            let Some(name) = name.map(str::to_owned).filter(|_| is_administrator || user.component.is_some()) else {
                return plain(StatusCode::FORBIDDEN, "only components and administrators take part in landscape time");
            };
            match (request.method(), place.as_str()) {
                (&Method::POST, "join") => {
                    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
                    let join = body.ok().and_then(|body| serde_json::from_slice::<Join>(&body).ok());
                    let Some(join) = join else { return plain(StatusCode::BAD_REQUEST, "this joins nothing") };
                    json(&self.join(&name, join))
                }
                (&Method::POST, "reports") => reports::answer(self, name, request.into_body()),
                _ => plain(StatusCode::NOT_FOUND, "404 page not found"),
            }
        })
    }

    /// Returns the reason for which a command is refused, with the conflicting command and a hint.
    fn refusal(&self, error: &CommandError) -> String {
        let CommandError::Busy(_) = error else { return error.to_string() };
        match &self.0.state().advance {
            Some(advance) => format!("{error} by {advance}\nhint: `terrarium clock stop` ends it"),
            None => error.to_string(),
        }
    }

    /// Answers a request of an administrator.
    async fn command(&self, place: &str, request: Request) -> Response {
        let method = request.method().clone();
        let named = named(&request);
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        match (method, place) {
            (Method::GET, "") => {}
            (Method::POST, "advance") => {
                let Ok(Advance { to, settle_milliseconds, or_now, by, participant, ignore_absence }) =
                    serde_json::from_slice(&body)
                else {
                    let expected = "expected {\"to\": INSTANT, \"settleMilliseconds\": N, \"orNow\": BOOL}";
                    return plain(StatusCode::BAD_REQUEST, expected);
                };
                let settle = TimeDelta::milliseconds(i64::from(settle_milliseconds));
                let who = if by.is_empty() { named } else { by };
                if let Err(error) = self.begin(to, settle, or_now, By { who, participant, ignore_absence }) {
                    let mut response = Response::new(full(self.refusal(&error)));
                    *response.status_mut() = StatusCode::CONFLICT;
                    return response;
                }
            }
            (Method::POST, "leave") => {
                let Ok(Leave { participant }) = serde_json::from_slice(&body) else {
                    return plain(StatusCode::BAD_REQUEST, "expected {\"participant\": NAME}");
                };
                self.leave(&participant);
            }
            (Method::POST, "halt") => self.with(|keeper, _| keeper.halt()),
            (Method::POST, "cancel") => self.cancel(),
            _ => return plain(StatusCode::NOT_FOUND, "404 page not found"),
        }
        Response::new(full(serde_json::json!(self.state()).to_string()))
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

    async fn drive(self) {
        let mut shown = None;
        loop {
            let (decision, gone, granted, head) = {
                let mut state = self.0.state();
                // Must be read after the reports: a report that arrived meanwhile may depend on a write that an earlier
                // head does not have.
                let (head, wall) = (self.0.log.head(), self.0.wall.now());
                let before: BTreeSet<String> = state.keeper.dropped().map(str::to_owned).collect();
                let was_commanded = state.keeper.target().is_some();
                let decision = state.keeper.decide(head, wall);
                let gone = state.keeper.dropped().filter(|name| !before.contains(*name));
                let gone: Vec<String> = gone.map(str::to_owned).collect();
                if gone.iter().any(|name| state.commands(name)) {
                    state.keeper.cancel(wall);
                }
                // Ended before its goal because a component or the client is missing.
                if was_commanded && state.keeper.target().is_none() && decision != Decision::Done {
                    state.commands_ended += 1;
                    self.0.moved.notify_waiters();
                }
                if state.keeper.dropped().count() != before.len() {
                    self.0.moved.notify_waiters();
                }
                (decision, gone, state.keeper.granted(), head)
            };
            // Also when time was paused or changed its mode: a restarted host begins at the stored instant, so
            // everything that happened before it must be durable, too.
            if shown.is_none_or(|shown| granted > shown) && self.0.log.durable(head).await.is_ok() {
                shown = Some(granted);
                if let Some(turn) = self.0.turn.get() {
                    turn(granted);
                }
            }
            // Log lines carry the clock's time: nothing is logged while the clock's state is locked.
            for participant in gone {
                let seconds = REPORT_LIMIT.num_seconds();
                tracing::warn!(participant, "landscape time goes on without it: no answer for {seconds} s");
            }
            match decision {
                Decision::Barrier { number, .. } => {
                    if let Some(told) = (self.0.barriers)().await {
                        let wall = self.0.wall.now();
                        let mut state = self.0.state();
                        state.keeper.barrier_stands(number, told, wall);
                        state.ask();
                    } else {
                        self.0.wall.sleep(BARRIER_AGAIN, TimerClass::Work).await;
                        self.0.state().keeper.barrier_failed(number);
                    }
                }
                Decision::Grant { grant, to } => {
                    let mut state = self.0.state();
                    for name in to {
                        if let Some(waiting) = state.waiting.remove(&name) {
                            let _ = waiting.send(Some(Answer::Grant(grant.clone())));
                        }
                    }
                    drop(state);
                    self.0.moved.notify_waiters();
                }
                Decision::Done => {
                    self.0.state().commands_ended += 1;
                    self.0.moved.notify_waiters();
                }
                Decision::Wait { until } => {
                    let changed = self.0.changed.notified();
                    match until {
                        None => changed.await,
                        Some(until) => {
                            tokio::select! {
                                biased;
                                () = changed => {}
                                () = self.0.wall.sleep_until(until, TimerClass::Work) => {}
                            }
                        }
                    }
                }
            }
        }
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

    /// Asks the participants with unread lines for a report once they have read these. Participants that are not in
    /// `waiting` send a report anyway, and get this as its answer.
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
mod tests {
    use chrono::DateTime;
    use clock::SimulatedClock;
    use eventlog::MemoryLog;
    use futures::FutureExt;

    use super::*;
    use crate::gated_log::{Gate, GatedLog};

    #[tokio::test]
    async fn time_is_not_shown_to_move_before_what_happened_is_durable() {
        let (durable, log) = GatedLog::shut();
        durable.send_replace(Gate::Open);
        let at = |seconds: i64| DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("in range");
        let (tasks, barriers): (_, Barriers) =
            (Tasks::new(), Arc::new(|| std::future::ready(Some(LineCounts::default())).boxed()));
        let clock = ClockService::start(at(0), Mode::Stepped, Clock::wall(), log, barriers, &tasks);
        let dial: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let shown = dial.clone();
        clock.show_on(move |now| shown.lock().push(now));
        clock.advance(at(10), TimeDelta::zero()).await.expect("time moves");
        assert_eq!(dial.lock().last(), Some(&at(10)));

        durable.send_replace(Gate::Shut);
        let mut advance = clock.advance(at(20), TimeDelta::zero());
        for _ in 0..100 {
            assert!(advance.as_mut().now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        assert_eq!(dial.lock().last(), Some(&at(10)), "a landscape that starts again would begin behind what is lost");
        durable.send_replace(Gate::Open);
        advance.await.expect("time moves");
        assert_eq!(dial.lock().last(), Some(&at(20)));
    }

    #[tokio::test]
    async fn an_advance_fails_while_no_server_answers() {
        let at = |seconds: i64| DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("in range");
        let (tasks, barriers): (_, Barriers) =
            (Tasks::new(), Arc::new(|| std::future::ready(Some(LineCounts::default())).boxed()));
        let (wall, log) = (SimulatedClock::new(at(0)), Arc::new(MemoryLog::new()));
        let clock = ClockService::start(at(0), Mode::Stepped, Clock::new(wall.clone()), log, barriers, &tasks);
        let set_outage = |name| clock.with(|keeper, wall| keeper.set_outage(name, wall));
        set_outage(Some("server"));
        let mut advance = clock.advance(at(60), TimeDelta::zero());
        let mut ended = None;
        for _ in 0..1000 {
            ended = advance.as_mut().now_or_never();
            if ended.is_some() {
                break;
            }
            tokio::task::yield_now().await;
            wall.fire_next(None);
        }
        assert_eq!(ended, Some(Ok(at(0))), "time stands");
        assert_eq!(wall.now() - at(0), REPORT_LIMIT);
        assert_eq!(clock.state().absences.len(), 1);
        let again = clock.advance(at(60), TimeDelta::zero()).await;
        assert_eq!(again, Err(CommandError::Absent("server".to_owned())));
        set_outage(None);
        assert_eq!(clock.advance(at(60), TimeDelta::zero()).await, Ok(at(60)));
    }
}
