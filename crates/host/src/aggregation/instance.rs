// SPDX-License-Identifier: Apache-2.0
//! One instance: the way to it, and whether it answers.
//!
//! A process may run and not answer: it was stopped, or swapped out. After a request that got no answer in time the instance
//! is *probed*: it gets a small request of its own. If that gets no answer for a while either, the instance is
//! *unresponsive*: all requests and watches that wait for it end with an error, and it gets no more of them. The small
//! request is repeated until the instance answers or its process has ended. An instance in the process of the host is not
//! probed: a thread that gets no processor for a while has lost nothing, and its components run there, too.

use std::fmt;
use std::sync::Arc;

use apimachinery::release::Release;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::FutureExt;
use futures::future::{BoxFuture, Either, select};
use parking_lot::Mutex;
use process::participant::Told;
use process::transport::full;
use process::{Transport, watch};

/// The small request: its answer needs neither the log nor a permission.
const PROBE: &str = "/livez";
/// Wall time between two attempts to reach an unresponsive instance.
const AGAIN: TimeDelta = TimeDelta::seconds(1);

/// Called when an instance becomes unresponsive, and when it answers again: its name, and whether it answers.
pub type Report = Arc<dyn Fn(&str, bool) + Send + Sync>;

/// How long an instance may take to answer, by which clock.
#[derive(Clone)]
pub struct AnswerLimit {
    /// Wall time.
    pub wall: Clock,
    /// How long a request waits before the instance is probed, and how long the small request waits after that.
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
    /// How often it became unresponsive, or was cut off.
    failures: u64,
    is_unresponsive: bool,
    has_gone: bool,
    is_probed: bool,
    /// It runs, and is not ready.
    is_unready: bool,
    /// A fault keeps all requests from it.
    is_cut_off: bool,
}

/// State of the aggregated groups: while it is the same, their watches have been told nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Number of their entries.
    pub(super) entries: u64,
    /// Number of their watches that were opened.
    pub(super) watches: u64,
}

/// An instance.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) name: String,
    /// Release whose kinds the instance serves.
    pub(super) release: Release,
    pub(super) transport: Transport,
    /// True in the process of the host: it answers as soon as its thread has a processor.
    is_inside: bool,
    state: watch::Sender<State>,
    /// What its watches had been told, and when it was asked.
    told: Mutex<Option<(Moment, Told)>>,
}

impl Instance {
    pub(super) fn new(name: &str, release: Release, transport: Transport, is_inside: bool) -> Arc<Self> {
        let (state, told) = (watch::Sender::new(State::default()), Mutex::default());
        Arc::new(Self { name: name.to_owned(), release, transport, is_inside, state, told })
    }

    /// True in the process of the host.
    pub(super) fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// What its watches have been told, if it was asked at this moment.
    pub(super) fn known(&self, now: Moment) -> Option<Told> {
        let told = self.told.lock();
        told.as_ref().filter(|(at, _)| *at == now).map(|(_, told)| told.clone())
    }

    /// It was asked at a moment.
    pub(super) fn know(&self, at: Moment, told: &Told) {
        *self.told.lock() = Some((at, told.clone()));
    }

    /// Whether requests to it are answered.
    pub(super) fn answers(&self) -> bool {
        let state = self.state.borrow();
        !state.is_unresponsive && !state.is_cut_off
    }

    /// Whether it is ready for requests.
    pub(super) fn is_asked(&self) -> bool {
        !self.state.borrow().is_unready
    }

    /// Notes whether it is ready for requests.
    pub(super) fn set_asked(&self, is_asked: bool) {
        self.state.send_modify(|state| state.is_unready = !is_asked);
    }

    /// Notes whether a fault keeps all requests from it; whether that has changed.
    pub(super) fn set_cut_off(&self, is_cut_off: bool) -> bool {
        self.state.send_if_modified(|state| {
            let has_changed = state.is_cut_off != is_cut_off;
            state.is_cut_off = is_cut_off;
            state.failures += u64::from(has_changed && is_cut_off);
            has_changed
        })
    }

    /// Resolves when it becomes unresponsive the next time, counted from the call on.
    pub(super) fn stops_answering(&self) -> BoxFuture<'static, ()> {
        let mut state = self.state.subscribe();
        let known = self.state.borrow().failures;
        async move {
            if state.wait_for(|state| state.failures > known).await.is_err() {
                // It has gone, and what it sent is still to be read.
                std::future::pending::<()>().await;
            }
        }
        .boxed()
    }

    /// It has ended.
    pub(super) fn gone(&self) {
        self.state.send_modify(|state| state.has_gone = true);
    }

    /// A request got no answer in time: finds out whether the instance answers; ends when it does, or has gone. Ends at once
    /// if it is being probed already.
    pub(super) async fn probe(self: Arc<Self>, limit: &AnswerLimit, counted: impl Fn()) {
        if !self.state.send_if_modified(|state| !std::mem::replace(&mut state.is_probed, true)) {
            return;
        }
        let mut state = self.state.subscribe();
        let gone = async move { state.wait_for(|state| state.has_gone).await };
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

    /// Resolves when it has answered anything.
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
