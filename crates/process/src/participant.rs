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
//! What a process has *seen* of the log cannot be told from its requests: its watches may have events on the way. So
//! API servers send a bookmark with the number of a barrier down every watch of a participant, and a report says which
//! barrier all its watches have reached.
//!
//! **Invariants.** The process runs its component on one thread: "nothing is runnable" is what the runtime says when it
//! parks. A report is made only for a state that was not reported yet.
//!
//! A report travels as a request to the host, which is answered when time has moved: [`ReportsOver`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use clock::SimulatedClock;
use futures::future::BoxFuture;
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::activity::Activity;
use crate::transport::{Transport, full};

/// Header of a participant's requests: its name. API servers send barriers to the watches that carry it.
pub const PARTICIPANT_HEADER: &str = "terrarium-participant";
/// Where the host serves the clock.
pub const CLOCK_PATH: &str = "/terrarium/clock/";
/// Annotation of a barrier's bookmark: the number of the barrier.
pub const BARRIER_ANNOTATION: &str = "terrarium.dev/barrier";

/// Header of an API server's answer to a barrier, if since the last one a watch of somebody who takes no part in landscape
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
    /// The barrier that all its watches have reached, 0 if one has seen none; absent if it has no watch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<u64>,
    /// Instant of its earliest timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<DateTime<Utc>>,
    /// Instant of its earliest work timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<DateTime<Utc>>,
}

/// Landscape time, as it is given to a participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Number; rises.
    pub number: u64,
    /// Landscape time.
    pub now: DateTime<Utc>,
}

/// Carries reports to the clock. A report's future resolves with the first grant after the one that it names; `None`
/// means that there was none for a while: report again. Dropping the future takes the report back.
pub trait Reports: Send + Sync + 'static {
    /// Joins the clock; its first grant.
    fn join(&self) -> BoxFuture<'static, Result<Grant, String>>;
    /// Makes a report.
    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Grant>, String>>;
}

/// The part of a participant that the runtime's park hook and the reporting task share.
#[derive(Debug)]
pub struct Participant {
    clock: SimulatedClock,
    activity: Activity,
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
    pub fn new(grant: Grant, activity: Activity) -> Arc<Self> {
        let clock = SimulatedClock::new(grant.now);
        let state = Mutex::new(State { grant, found: None, known: None, sequence: 0 });
        Arc::new(Self { clock, activity, state, is_idle: Notify::new() })
    }

    /// Its clock.
    pub fn clock(&self) -> &SimulatedClock {
        &self.clock
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
            barrier: self.activity.barrier(),
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
    pub async fn run(&self, reports: &dyn Reports) -> String {
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
    }

    fn take(&self, grant: Grant) {
        let mut state = self.state();
        if grant.number > state.grant.number {
            state.grant = grant;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn post(&self, place: &str, body: String) -> BoxFuture<'static, Result<Option<Grant>, String>> {
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
                StatusCode::OK => serde_json::from_slice(&body).map(Some).map_err(|error| error.to_string()),
                StatusCode::NO_CONTENT => Ok(None),
                other => Err(format!("{other}: {}", String::from_utf8_lossy(&body))),
            }
        })
    }
}

impl Reports for ReportsOver {
    fn join(&self) -> BoxFuture<'static, Result<Grant, String>> {
        let joined = self.post("join", "{}".to_owned());
        Box::pin(async move { joined.await?.ok_or_else(|| "no grant".to_owned()) })
    }

    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Grant>, String>> {
        self.post("idle", serde_json::to_string(&idle).unwrap_or_default())
    }
}
