// SPDX-License-Identifier: Apache-2.0
//! A process that takes part in landscape time: what it reports, and what it is granted.
//!
//! A participant's timers are in its own [`SimulatedClock`], which moves only by grants. When nothing is runnable, no
//! request of the process is under way and no timer is due, it is idle and says so; the answer is the next grant.
//!
//! ```text
//! grant ──► due timers fire one by one, each when nothing is runnable ──► idle report ──► next grant
//! ```
//!
//! What a process has *seen* of the log cannot be known from its requests: its watches may have events on the way. So
//! API servers send a bookmark with the number of a barrier down every watch that was sent something, and vouch for the
//! others ([`Vouched`]); a report says which watches are open and which of them have reached the barrier ([`Watching`]).
//!
//! A grant is sent to participants that have a timer then. Those that can read the landscape's [`Dial`] read from it what
//! time it is meanwhile; the others are granted every instant.
//!
//! **Invariants.** The process runs its component on one thread: "nothing is runnable" is what the runtime says when it
//! parks. A report is made only for a state that was not reported yet.
//!
//! A report travels as a request to the host, which is answered when time has moved: [`ReportsOver`].

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use clock::{Clock, Instant, SimulatedClock, Sleep, TimeSource, TimerClass};
use futures::future::BoxFuture;
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::activity::Activity;
use crate::dial::Dial;
use crate::transport::{Transport, full};

/// Header of a participant's requests: its name.
pub const PARTICIPANT_HEADER: &str = "terrarium-participant";
/// Header of a participant's watch: its number, which no other watch of the landscape has. API servers send barriers to
/// the watches that carry it.
pub const WATCH_HEADER: &str = "terrarium-watch";
/// Watches of one join.
const WATCHES: u64 = 1 << 32;
/// Where the host serves the clock.
pub const CLOCK_PATH: &str = "/terrarium/clock/";
/// Annotation of a barrier's bookmark: the number of the barrier.
pub const BARRIER_ANNOTATION: &str = "terrarium.dev/barrier";

/// Header of an API server's answer to a barrier, if since the last one a watch of a client that takes no part in landscape
/// time was given a change.
pub const TOLD_OTHERS_HEADER: &str = "terrarium-told-others";

/// What a participant says when it has nothing to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    /// Number of the report: the network may turn the order of two around.
    pub sequence: u64,
    /// Number of the grant that it has carried out.
    pub grant: u64,
    /// Its watches, and how far they have come.
    #[serde(default)]
    pub watching: Watching,
    /// Instant of its earliest timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<DateTime<Utc>>,
    /// Instant of its earliest work timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<DateTime<Utc>>,
}

/// The watches of a participant, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Watching {
    /// Those that are open.
    pub open: BTreeSet<u64>,
    /// The last barrier that any of them has reached; 0: none.
    pub barrier: u64,
    /// Open ones that have reached it.
    pub seen: BTreeSet<u64>,
}

/// What API servers say of the watches that they serve, when they are asked for a barrier. A watch of which none of them
/// says anything has ended, whether or not its participant has noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vouched {
    /// Nothing was sent since a barrier that all have seen.
    pub quiet: BTreeSet<u64>,
    /// They were sent the bookmark.
    pub marked: BTreeSet<u64>,
}

impl Vouched {
    /// Adds what another server says.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.quiet.append(&mut other.quiet);
        self.marked.append(&mut other.marked);
        self
    }

    /// Whether a participant has seen everything before the barrier with this number: nothing is on the way to any watch
    /// that it has open.
    pub fn covers(&self, watching: &Watching, number: u64) -> bool {
        let has_seen = |watch| watching.barrier == number && watching.seen.contains(watch);
        watching.open.iter().all(|watch| self.quiet.contains(watch) || (self.marked.contains(watch) && has_seen(watch)))
    }
}

/// The number before that of the first watch of a participant that joins as the `joins`th one.
pub fn watches_of(joins: u64) -> u64 {
    joins.saturating_mul(WATCHES)
}

/// Landscape time, as it is given to a participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Number; rises.
    pub number: u64,
    /// Landscape time.
    pub now: DateTime<Utc>,
    /// In the answer to a join: the number before that of the participant's first watch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches: Option<u64>,
}

/// What a participant says when it joins the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Join {
    /// It reads the landscape's dial: it needs no grants of instants at which it has no timer.
    pub reads_dial: bool,
}

/// Carries reports to the clock. A report's future resolves with the first grant after the one that it names; `None`
/// means that there was none for a while: report again. Dropping the future takes the report back.
pub trait Reports: Send + Sync + 'static {
    /// Joins the clock; its first grant.
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>>;
    /// Makes a report.
    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Grant>, String>>;
    /// Takes part no more: time does not wait for the participant any longer, and its reports are refused.
    fn leave(&self) -> BoxFuture<'static, Result<(), String>>;
}

/// The part of a participant that the runtime's park hook and the reporting task share.
#[derive(Debug)]
pub struct Participant {
    clock: SimulatedClock,
    activity: Activity,
    dial: Option<Dial>,
    state: Mutex<State>,
    is_idle: Notify,
}

#[derive(Debug)]
struct State {
    grant: Grant,
    /// What was found when the runtime last parked, and not reported yet.
    found: Option<Idle>,
    /// What was found before that.
    known: Option<Idle>,
    /// Reports that were found so far.
    sequence: u64,
}

impl Participant {
    /// A participant that was granted its first instant.
    pub fn new(grant: Grant, activity: Activity, dial: Option<Dial>) -> Arc<Self> {
        let clock = SimulatedClock::new(grant.now);
        activity.number_from(grant.watches.unwrap_or_default());
        let state = Mutex::new(State { grant, found: None, known: None, sequence: 0 });
        Arc::new(Self { clock, activity, dial, state, is_idle: Notify::new() })
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        match &self.dial {
            None => Clock::new(self.clock.clone()),
            Some(dial) => Clock::new(Dialled { clock: self.clock.clone(), dial: dial.clone() }),
        }
    }

    /// To be called when nothing is runnable on the runtime's thread: fires the next due timer, or notes that the
    /// process is idle.
    pub fn nothing_is_runnable(&self) {
        let now = self.state().grant.now;
        if self.clock.fire_next(Some(now)).is_some() {
            return;
        }
        self.clock.advance_to(now);
        if self.activity.is_busy() {
            return;
        }
        // What is reported must be what is true now: by the time the reporting task runs, a grant may have come.
        let mut state = self.state();
        let idle = Some(Idle {
            // Not counted until it is known that there is something new.
            sequence: state.sequence,
            grant: state.grant.number,
            watching: self.activity.watching(),
            next: self.clock.next_timer().map(|(due, _)| due),
            work: self.clock.next_work_timer(),
        });
        if state.known != idle {
            state.sequence += 1;
            let found = idle.map(|idle| Idle { sequence: state.sequence, ..idle });
            state.known.clone_from(&found);
            state.found = found;
            drop(state);
            self.is_idle.notify_one();
        }
    }

    /// Reports whenever the process has become idle, and takes the grants. Ends with what broke the connection.
    pub fn run<'a>(&'a self, reports: &'a dyn Reports) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let mut pending: Option<BoxFuture<'static, Result<Option<Grant>, String>>> = None;
            let mut reported = Idle::default();
            loop {
                let answer = async {
                    match &mut pending {
                        Some(report) => report.as_mut().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    answer = answer => {
                        pending = None;
                        match answer {
                            Ok(Some(grant)) => self.take(grant),
                            Ok(None) => pending = Some(reports.report(reported.clone())),
                            Err(broken) => return broken,
                        }
                    }
                    () = self.is_idle.notified() => {
                        let found = self.state().found.take();
                        if let Some(idle) = found {
                            reported = idle.clone();
                            pending = Some(reports.report(idle));
                        }
                    }
                }
            }
        })
    }

    fn take(&self, grant: Grant) {
        let mut state = self.state();
        if grant.number > state.grant.number {
            state.grant = grant;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The clock of a participant with a dial. Time that others were granted has come for it, too, up to its own next timer.
#[derive(Debug)]
struct Dialled {
    clock: SimulatedClock,
    dial: Dial,
}

impl Dialled {
    fn look(&self) {
        if let Some(now) = self.dial.read() {
            self.clock.advance_to(now);
        }
    }
}

impl TimeSource for Dialled {
    fn now(&self) -> Instant {
        self.look();
        self.clock.now()
    }

    fn sleep_until(&self, until: Instant, class: TimerClass) -> Sleep {
        self.look();
        self.clock.sleep_until(until, class)
    }
}

/// Reports over a transport to the host, in which the participant's identity is.
#[derive(Clone, Debug)]
pub struct ReportsOver {
    /// Way to the host.
    pub transport: Transport,
    /// Name of the participant.
    pub participant: HeaderValue,
}

impl ReportsOver {
    fn post(&self, place: &str, body: String) -> BoxFuture<'static, Result<Option<Bytes>, String>> {
        let request = http::Request::post(format!("{CLOCK_PATH}{place}"))
            .header(PARTICIPANT_HEADER, self.participant.clone())
            .body(full(body));
        let transport = self.transport.clone();
        Box::pin(async move {
            let request = request.map_err(|error| error.to_string())?;
            let response = transport.send(request).await.map_err(|error| error.to_string())?;
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
            match status {
                StatusCode::OK => Ok(Some(body)),
                StatusCode::NO_CONTENT => Ok(None),
                StatusCode::CONFLICT => Err(String::from_utf8_lossy(&body).into_owned()),
                other => Err(format!("{other}: {}", String::from_utf8_lossy(&body))),
            }
        })
    }
}

impl Reports for ReportsOver {
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>> {
        let joined = self.post("join", serde_json::to_string(&join).unwrap_or_default());
        Box::pin(async move { grant(joined.await?)?.ok_or_else(|| "no grant".to_owned()) })
    }

    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Grant>, String>> {
        let answer = self.post("idle", serde_json::to_string(&idle).unwrap_or_default());
        Box::pin(async move { grant(answer.await?) })
    }

    fn leave(&self) -> BoxFuture<'static, Result<(), String>> {
        let participant = String::from_utf8_lossy(self.participant.as_bytes());
        let left = self.post("leave", serde_json::json!({ "participant": participant }).to_string());
        Box::pin(async move { left.await.map(drop) })
    }
}

fn grant(answer: Option<Bytes>) -> Result<Option<Grant>, String> {
    answer.map(|body| serde_json::from_slice(&body).map_err(|error| error.to_string())).transpose()
}
