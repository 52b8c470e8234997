// SPDX-License-Identifier: Apache-2.0
//! One instance: its transport, and whether it answers.
//!
//! A process may run and not answer, for example because it was stopped or swapped out. After a request that got no
//! answer in time the instance is *probed* with a small request. If that is not answered in time either, the instance
//! is *unresponsive*: all requests and watches that wait for it end with an error, and it gets no new ones. The small
//! request is repeated until the instance answers or its process has ended. An instance in the process of the host is
//! not probed: a thread that is not scheduled for a while has lost nothing, and the host's own components run in the
//! same process.

use std::fmt;
use std::sync::Arc;

use apimachinery::release::Release;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::FutureExt;
use futures::future::{BoxFuture, Either, select};
use parking_lot::Mutex;
use process::participant::LineCounts;
use process::transport::full;
use process::{Transport, watch};

/// Path of the probe: its response needs neither the log nor a permission.
const PROBE: &str = "/livez";
/// Wall time between two attempts to reach an unresponsive instance.
const AGAIN: TimeDelta = TimeDelta::seconds(1);

/// Called with the name of an instance that has become unresponsive (`false`), or answers again (`true`).
pub type Report = Arc<dyn Fn(&str, bool) + Send + Sync>;

/// Time limit for an instance to answer, and the clock that measures it.
#[derive(Clone)]
pub struct AnswerLimit {
    /// Wall time.
    pub wall: Clock,
    /// Duration after which a waiting request starts a probe, and time limit of the probe.
    pub time: TimeDelta,
    /// Called when it becomes unresponsive and when it answers again.
    pub report: Report,
}

impl fmt::Debug for AnswerLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnswerLimit").field(&self.time).finish()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Number of times it became unresponsive or was cut off.
    failures: u64,
    is_unresponsive: bool,
    has_ended: bool,
    is_probed: bool,
    /// True while the process runs but is not ready.
    is_unready: bool,
    /// True while a simulated fault blocks all requests to it.
    is_cut_off: bool,
}

/// State of the aggregated groups: as long as it is equal, their watches have sent no further lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Number of entries of these groups in the log.
    pub(super) entries: u64,
    /// Number of watches of these groups that were opened so far.
    pub(super) watches: u64,
}

/// A registered instance.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) name: String,
    /// Release whose kinds the instance serves.
    pub(super) release: Release,
    pub(super) transport: Transport,
    /// True in the process of the host: it answers as soon as its thread is scheduled.
    is_inside: bool,
    state: watch::Sender<State>,
    /// Latest line counts of its watches, and the state of the groups for which they were reported.
    line_counts: Mutex<Option<(Moment, LineCounts)>>,
}

impl Instance {
    pub(super) fn new(name: &str, release: Release, transport: Transport, is_inside: bool) -> Arc<Self> {
        let (state, line_counts) = (watch::Sender::new(State::default()), Mutex::default());
        Arc::new(Self { name: name.to_owned(), release, transport, is_inside, state, line_counts })
    }

    /// True in the process of the host.
    pub(super) fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// Returns the line counts of the instance's watches, if they were reported for the present state of the groups.
    pub(super) fn recorded_line_counts(&self, now: Moment) -> Option<LineCounts> {
        let line_counts = self.line_counts.lock();
        line_counts.as_ref().filter(|(at, _)| *at == now).map(|(_, line_counts)| line_counts.clone())
    }

    /// Stores the line counts that the instance reported for a state of the groups.
    pub(super) fn record_line_counts(&self, at: Moment, line_counts: &LineCounts) {
        *self.line_counts.lock() = Some((at, line_counts.clone()));
    }

    /// True if requests to the instance are answered.
    pub(super) fn answers(&self) -> bool {
        let state = self.state.borrow();
        !state.is_unresponsive && !state.is_cut_off
    }

    /// True if the instance is unresponsive, and no fault blocks the requests to it.
    pub(super) fn is_unresponsive(&self) -> bool {
        let state = self.state.borrow();
        state.is_unresponsive && !state.is_cut_off
    }

    /// True if the instance is ready for requests.
    pub(super) fn is_ready(&self) -> bool {
        !self.state.borrow().is_unready
    }

    /// Records whether the instance is ready for requests.
    pub(super) fn set_ready(&self, is_ready: bool) {
        self.state.send_modify(|state| state.is_unready = !is_ready);
    }

    /// Records whether a fault blocks all requests to the instance; returns true if that has changed.
    pub(super) fn set_cut_off(&self, is_cut_off: bool) -> bool {
        self.state.send_if_modified(|state| {
            let has_changed = state.is_cut_off != is_cut_off;
            state.is_cut_off = is_cut_off;
            state.failures += u64::from(has_changed && is_cut_off);
            has_changed
        })
    }

    /// Resolves when the instance becomes unresponsive the next time after this call.
    pub(super) fn until_unresponsive(&self) -> BoxFuture<'static, ()> {
        let mut state = self.state.subscribe();
        let known = self.state.borrow().failures;
        async move {
            if state.wait_for(|state| state.failures > known).await.is_err() {
                // The process has ended; bytes that it sent before are still to be read.
                std::future::pending::<()>().await;
            }
        }
        .boxed()
    }

    /// Records that the process has ended.
    pub(super) fn set_ended(&self) {
        self.state.send_modify(|state| state.has_ended = true);
    }

    /// Probes the instance after a request that got no answer in time; ends when the instance answers or its process
    /// has ended. Returns at once if a probe is already running.
    pub(super) async fn probe(self: Arc<Self>, limit: &AnswerLimit, counted: impl Fn()) {
        if !self.state.send_if_modified(|state| !std::mem::replace(&mut state.is_probed, true)) {
            return;
        }
        let mut state = self.state.subscribe();
        let gone = async move { state.wait_for(|state| state.has_ended).await };
        let judged = async {
            let answered = std::pin::pin!(self.answered(&limit.wall));
            let Either::Right(((), answered)) = select(answered, limit.wall.sleep(limit.time, TimerClass::Work)).await
            else {
                return;
            };
            self.state.send_modify(|state| {
                state.is_unresponsive = true;
                state.failures += 1;
            });
            counted();
            (limit.report)(&self.name, false);
            answered.await;
        };
        select(std::pin::pin!(gone), std::pin::pin!(judged)).await;
        let mut was_unresponsive = false;
        self.state.send_modify(|state| {
            was_unresponsive = std::mem::take(&mut state.is_unresponsive);
            state.is_probed = false;
        });
        if was_unresponsive {
            counted();
            (limit.report)(&self.name, true);
        }
    }

    /// Resolves when the instance has answered the probe, whatever the status.
    async fn answered(&self, wall: &Clock) {
        loop {
            let mut request = http::Request::new(full(""));
            *request.uri_mut() = http::Uri::from_static(PROBE);
            if self.transport.send(request).await.is_ok() {
                return;
            }
            wall.sleep(AGAIN, TimerClass::Work).await;
        }
    }
}
