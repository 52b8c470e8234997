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
//! API servers say how many lines each watch has been given ([`Told`]), and a report says how many of each were read
//! ([`Watching`]). A participant that has not read all is asked to report once it has ([`Answer::Asked`]).
//!
//! A report is made at once when a grant has been carried out, when a watch was opened or closed, and when what was asked
//! for has been read. What else changes a timer is reported within [`NEWS`] of wall time: much of it is overtaken by then.
//!
//! A grant is sent to participants that have a timer then. Those that can read the landscape's [`Dial`] read from it what
//! time it is meanwhile; the others are granted every instant.
//!
//! **Invariants.** The process runs its component on one thread: "nothing is runnable" is what the runtime says when it
//! parks. A report is made only for a state that was not reported yet, and is true of an instant at which the process was
//! idle: what it has done since was brought by lines that the report does not count, or by a later grant.
//!
//! A report travels to the host as a line, which is answered when time has moved: [`crate::reports`].

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Instant, SimulatedClock, Sleep, TimeSource, TimerClass};
use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::activity::Activity;
use crate::dial::Dial;

/// Header of a participant's requests: its name.
pub const PARTICIPANT_HEADER: &str = "terrarium-participant";
/// Header of a participant's watch: its number, which no other watch of the landscape has. API servers count the lines of
/// the watches that carry it.
pub const WATCH_HEADER: &str = "terrarium-watch";
/// Watches of one join.
const WATCHES: u64 = 1 << 32;
/// Where the host serves the clock.
pub const CLOCK_PATH: &str = "/terrarium/clock/";
/// Name of the object that shows landscape time, in cluster `runtime`.
pub const CLOCK_NAME: &str = "landscape";
/// Path at which the host, and no other client, asks a server what its watches were told; method `POST`.
pub const TOLD_PATH: &str = "/terrarium/told";
/// Wall time after which a timer that no grant has changed is reported.
pub const NEWS: TimeDelta = TimeDelta::milliseconds(2);

/// Header of an API server's answer to the question what its watches were told, if since the last one a watch of a client
/// that takes no part in landscape time was given a change.
pub const TOLD_OTHERS_HEADER: &str = "terrarium-told-others";

/// What a participant says when it has nothing to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    /// Number of the report: the network may turn the order of two around.
    pub sequence: u64,
    /// Number of the grant that it has carried out.
    pub grant: u64,
    /// Its watches, and how much of them it has read.
    #[serde(default)]
    pub watching: Watching,
    /// Instant of its earliest timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<DateTime<Utc>>,
    /// Instant of its earliest work timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<DateTime<Utc>>,
}

/// The watches that a participant has open, by number: how many lines of each it has read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Watching(pub BTreeMap<u64, u64>);

impl Watching {
    fn are_the_same(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}

/// What API servers say of the watches that they serve: how many lines each has been given, by number of the watch. A watch
/// of which none of them says anything has ended, whether or not its participant has noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Told(pub BTreeMap<u64, u64>);

impl Told {
    /// Adds what another server says.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.0.append(&mut other.0);
        self
    }

    /// Whether a participant has read everything: nothing is on the way to any watch that it has open.
    pub fn is_read(&self, watching: &Watching) -> bool {
        watching.0.iter().all(|(watch, read)| self.0.get(watch).is_some_and(|told| told <= read))
    }

    /// The part of it that is on the way to a participant.
    #[must_use]
    pub fn unread(&self, watching: &Watching) -> Self {
        let told = watching.0.iter().filter_map(|(watch, read)| Some((*watch, *read, *self.0.get(watch)?)));
        Self(told.filter(|(_, read, told)| read < told).map(|(watch, _, told)| (watch, told)).collect())
    }

    /// Whether a participant has read what it was asked for, of the watches that are still open.
    fn has_come(&self, watching: &Watching) -> bool {
        self.0.iter().all(|(watch, told)| watching.0.get(watch).is_none_or(|read| read >= told))
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
    /// True for a command, which does not join again after its connection has ended.
    pub is_command: bool,
}

/// What a report is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// Time has moved.
    Grant(Grant),
    /// Time waits until the participant has read this much: it reports again when it has.
    Asked(Told),
}

/// A line of the host's answers to reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// The answer to the report with this number; `None`: time stood for a while, report again.
    Answer {
        /// Number of the report.
        sequence: u64,
        /// What it is answered with.
        answer: Option<Answer>,
    },
    /// Why nothing is answered any more.
    Refused(String),
}

/// Carries reports to the clock. A report's future resolves with the first grant after the one that it names, or with what
/// the participant still has to read; `None` means that there was neither for a while: report again. Dropping the future
/// takes the report back.
pub trait Reports: Send + Sync + 'static {
    /// Joins the clock; its first grant.
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>>;
    /// Makes a report.
    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Answer>, String>>;
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
    /// A report is to be made at once.
    is_due: Notify,
    /// A report is to be made soon.
    has_news: Notify,
}

#[derive(Debug)]
struct State {
    grant: Grant,
    /// What the host waits for.
    asked: Option<Told>,
    /// What was found when the runtime last parked, if that is not what was reported.
    found: Option<Idle>,
    /// The last report; `None`: there was none yet.
    reported: Option<Idle>,
}

/// When something is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    /// With what comes next.
    None,
    /// Within [`NEWS`].
    Soon,
    Now,
}

impl State {
    /// When `idle` is to be reported.
    fn haste(&self, idle: &Idle) -> Haste {
        let Some(reported) = &self.reported else { return Haste::Now };
        let is_answer = self.asked.as_ref().is_some_and(|asked| asked.has_come(&idle.watching));
        if is_answer || idle.grant != reported.grant || !idle.watching.are_the_same(&reported.watching) {
            Haste::Now
        } else if (idle.next, idle.work) != (reported.next, reported.work) {
            Haste::Soon
        } else {
            Haste::None
        }
    }

    /// What is to be reported.
    fn report(&mut self) -> Option<Idle> {
        let idle = self.found.take()?;
        if self.asked.as_ref().is_some_and(|asked| asked.has_come(&idle.watching)) {
            self.asked = None;
        }
        let sequence = self.reported.as_ref().map_or(0, |reported| reported.sequence) + 1;
        let idle = Idle { sequence, ..idle };
        self.reported = Some(idle.clone());
        Some(idle)
    }
}

impl Participant {
    /// A participant that was granted its first instant.
    pub fn new(grant: Grant, activity: Activity, dial: Option<Dial>) -> Arc<Self> {
        let clock = SimulatedClock::new(grant.now);
        activity.number_from(grant.watches.unwrap_or_default());
        let state = Mutex::new(State { grant, asked: None, found: None, reported: None });
        Arc::new(Self { clock, activity, dial, state, is_due: Notify::new(), has_news: Notify::new() })
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
        let idle = Idle {
            // It is numbered when it is reported.
            sequence: 0,
            grant: state.grant.number,
            watching: self.activity.watching(),
            next: self.clock.next_timer().map(|(due, _)| due),
            work: self.clock.next_work_timer(),
        };
        if state.found.as_ref() == Some(&idle) {
            return;
        }
        let haste = state.haste(&idle);
        state.found = Some(idle);
        drop(state);
        match haste {
            Haste::Now => self.is_due.notify_one(),
            Haste::Soon => self.has_news.notify_one(),
            Haste::None => {}
        }
    }

    /// Reports whenever there is something to report, and takes the grants. `wall` is wall time. Ends with what broke the
    /// connection.
    pub fn run<'a>(&'a self, reports: &'a dyn Reports, wall: &'a Clock) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let mut pending: Option<BoxFuture<'static, Result<Option<Answer>, String>>> = None;
            let mut soon: Option<Sleep> = None;
            loop {
                tokio::select! {
                    biased;
                    answer = of(&mut pending) => {
                        pending = None;
                        match answer {
                            Ok(Some(answer)) => self.take(answer),
                            Ok(None) => {
                                let reported = self.state().reported.clone();
                                pending = reported.map(|idle| reports.report(idle));
                            }
                            Err(broken) => return broken,
                        }
                        continue;
                    }
                    () = self.is_due.notified() => {}
                    () = of(&mut soon) => soon = None,
                    () = self.has_news.notified(), if soon.is_none() => {
                        soon = Some(wall.sleep(NEWS, TimerClass::Work));
                        continue;
                    }
                }
                if let Some(idle) = self.state().report() {
                    pending = Some(reports.report(idle));
                }
            }
        })
    }

    fn take(&self, answer: Answer) {
        let mut state = self.state();
        match answer {
            Answer::Grant(grant) if grant.number > state.grant.number => state.grant = grant,
            Answer::Grant(_) => {}
            Answer::Asked(told) => {
                state.asked = Some(told);
                // What was found before is looked at once more.
                state.found = None;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// What a future resolves with, if there is one.
async fn of<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(u64, u64)]) -> BTreeMap<u64, u64> {
        pairs.iter().copied().collect()
    }

    #[test]
    fn what_was_told_is_read_when_no_open_watch_has_fewer_lines() {
        let told = Told(pairs(&[(1, 0), (2, 4)])).and(Told(pairs(&[(3, 7)])));
        for (read, is_read, unread) in [
            (&[][..], true, &[][..]),
            (&[(1, 0), (2, 4), (3, 8)], true, &[]),
            (&[(2, 3), (3, 7)], false, &[(2, 4)]),
            // The server of this one says nothing of it: it has ended.
            (&[(4, 1)], false, &[]),
        ] {
            let watching = Watching(pairs(read));
            assert_eq!(told.is_read(&watching), is_read, "{read:?}");
            assert_eq!(told.unread(&watching), Told(pairs(unread)), "{read:?}");
        }
    }

    #[test]
    fn what_is_reported_at_once_is_what_time_waits_for() {
        let at = |seconds: i64| Instant::from_timestamp(seconds, 0);
        let idle = |grant: u64, lines: &[(u64, u64)], next: i64| Idle {
            sequence: 0,
            grant,
            watching: Watching(pairs(lines)),
            next: at(next),
            work: None,
        };
        let reported = idle(3, &[(1, 5), (2, 5)], 60);
        for (asked, idle, expected, what) in [
            (None, idle(3, &[(1, 5), (2, 5)], 60), Haste::None, "nothing"),
            (None, idle(3, &[(1, 6), (2, 5)], 60), Haste::None, "lines that nobody has asked for"),
            (None, idle(3, &[(1, 6), (2, 5)], 30), Haste::Soon, "another timer"),
            (None, idle(4, &[(1, 5), (2, 5)], 60), Haste::Now, "a grant was carried out"),
            (None, idle(3, &[(1, 5)], 60), Haste::Now, "a watch has ended"),
            (None, idle(3, &[(1, 5), (2, 5), (3, 0)], 60), Haste::Now, "a watch was opened"),
            (Some(&[(1, 7)][..]), idle(3, &[(1, 6), (2, 9)], 60), Haste::None, "what was asked for is on the way"),
            (Some(&[(1, 7)][..]), idle(3, &[(1, 7), (2, 5)], 60), Haste::Now, "it has come"),
            (Some(&[(1, 5), (9, 2)][..]), idle(3, &[(1, 5), (2, 5)], 60), Haste::Now, "the rest has been closed"),
        ] {
            let grant = Grant { number: idle.grant, now: at(0).expect("in range"), watches: None };
            let asked = asked.map(|asked: &[(u64, u64)]| Told(pairs(asked)));
            let mut state = State { grant, asked: asked.clone(), found: None, reported: Some(reported.clone()) };
            assert_eq!(state.haste(&idle), expected, "{what}");
            state.found = Some(idle.clone());
            assert_eq!(state.report(), Some(Idle { sequence: 1, ..idle }), "{what}");
            let is_answered = expected == Haste::Now;
            assert_eq!(state.asked, asked.filter(|_| !is_answered), "{what}");
            assert_eq!(state.report(), None, "{what}: once");
        }
        let grant = Grant { number: 0, now: at(0).expect("in range"), watches: None };
        let new = State { grant, asked: None, found: None, reported: None };
        assert_eq!(new.haste(&idle(0, &[], 60)), Haste::Now, "the first");
    }
}
