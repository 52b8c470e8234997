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
//! **Deliberately absent.** How a report travels: [`Reports`] is given by who starts the process.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use clock::SimulatedClock;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::activity::Activity;

/// Header of a participant's requests: its name. API servers send barriers to the watches that carry it.
pub const PARTICIPANT_HEADER: &str = "terrarium-participant";
/// Annotation of a barrier's bookmark: the number of the barrier.
pub const BARRIER_ANNOTATION: &str = "terrarium.dev/barrier";

/// What a participant says when it has nothing to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
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
/// means that a later report has taken its place. Dropping the future takes the report back.
pub trait Reports: Send + Sync + 'static {
    /// Joins the clock; its first grant.
    fn join(&self) -> Pin<Box<dyn Future<Output = Result<Grant, String>> + Send>>;
    /// Makes a report.
    fn report(&self, idle: Idle) -> Pin<Box<dyn Future<Output = Result<Option<Grant>, String>> + Send>>;
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
    /// What was reported last.
    reported: Option<Idle>,
}

impl Participant {
    /// A participant that was granted its first instant.
    pub fn new(grant: Grant, activity: Activity) -> Arc<Self> {
        let clock = SimulatedClock::new(grant.now);
        let state = Mutex::new(State { grant, reported: None });
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
        if !self.activity.is_busy() && self.news().is_some() {
            self.is_idle.notify_one();
        }
    }

    /// What is to be reported, if it differs from what was.
    fn news(&self) -> Option<Idle> {
        let state = self.state();
        let idle = Idle {
            grant: state.grant.number,
            barrier: self.activity.barrier(),
            next: self.clock.next_timer().map(|(due, _)| due),
            work: self.clock.next_work_timer(),
        };
        (state.reported.as_ref() != Some(&idle)).then_some(idle)
    }

    /// Reports whenever the process has become idle, and takes the grants. Ends with what broke the connection.
    pub async fn run(&self, reports: &dyn Reports) -> String {
        let mut pending: Option<Pin<Box<dyn Future<Output = Result<Option<Grant>, String>> + Send>>> = None;
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
                        Ok(None) => {}
                        Err(broken) => return broken,
                    }
                }
                () = self.is_idle.notified() => {
                    if let Some(idle) = self.news() {
                        self.state().reported = Some(idle.clone());
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
