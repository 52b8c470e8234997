// SPDX-License-Identifier: Apache-2.0
//! A process that takes part in landscape time: its reports and its grants.
//!
//! A participant's timers are in its own [`SimulatedClock`], which moves only by grants. When nothing is runnable, no
//! request of the process is pending and no timer is due, it is idle and reports this; the answer is the next grant.
//!
//! ```text
//! grant ──► due timers fire one by one, each when nothing is runnable ──► idle report ──► next grant
//! ```
//!
//! The part of the log that a process has *seen* cannot be derived from its requests: its watches may have events in
//! transit. So API servers report the number of lines that each watch was sent ([`LineCounts`]), and a report has the number
//! of lines that were read of each ([`Watching`]). A participant that has unread lines is asked for a report once it
//! has read them ([`Answer::Unread`]).
//!
//! A report is sent at once when a grant has been carried out, when a watch was opened or closed, and when the
//! requested lines have been read. Other changes of timers are reported within [`NEWS`] of wall time: most of them are
//! superseded by then.
//!
//! A grant is sent to participants that have a timer then. Participants that can read the landscape's [`Dial`] read
//! other instants from it; the others are granted every instant.
//!
//! **Invariants.** The process runs its component on one thread: "nothing is runnable" is known when the runtime parks.
//! A report is sent only for a state that was not reported yet, and describes an instant at which the process was idle:
//! its later actions were caused by lines that the report does not count, or by a later grant.
//!
//! A report is sent to the host as a line, which is answered when time has moved: [`crate::reports`].

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Instant, SimulatedClock, Sleep, TimeSource, TimerClass};
use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::activity::{Activity, Watching};
use crate::dial::Dial;

/// Number of watches per join.
const WATCHES: u64 = 1 << 32;
/// Path of the host's clock service.
pub const CLOCK_PATH: &str = "/terrarium/clock/";
/// Name of the object that shows landscape time, in cluster `runtime`.
pub const CLOCK_NAME: &str = "landscape";
/// Path at which the host requests the line counts of watches from a server; method `POST`, forbidden for other
/// clients.
pub const TOLD_PATH: &str = "/terrarium/told";
/// Wall time within which a timer is reported that was changed by something other than a grant.
pub const NEWS: TimeDelta = TimeDelta::milliseconds(2);

/// Header of an API server's line counts: present if a watch of a client without part in landscape time was sent a
/// change since the last request.
pub const TOLD_OTHERS_HEADER: &str = "terrarium-told-others";

/// Report of an idle participant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    /// Number of the report: the network may reorder two reports.
    pub sequence: u64,
    /// Number of the latest grant that was carried out.
    pub grant: u64,
    /// Open watches, and the number of lines read of each.
    #[serde(default)]
    pub watching: Watching,
    /// Instant of its earliest timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<DateTime<Utc>>,
    /// Instant of its earliest work timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<DateTime<Utc>>,
}

/// Line counts of API servers: number of lines that each watch was sent, by number of the watch. A watch that no server
/// counts has ended, whether or not its participant has noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineCounts(pub BTreeMap<u64, u64>);

impl LineCounts {
    /// Adds the counts of another server.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.0.append(&mut other.0);
        self
    }

    /// True if a participant has read everything: no line is in transit to any watch that it has open.
    pub fn is_read(&self, watching: &Watching) -> bool {
        watching.0.iter().all(|(watch, read)| self.0.get(watch).is_some_and(|told| told <= read))
    }

    /// Returns the counts of watches with lines in transit to a participant.
    #[must_use]
    pub fn unread(&self, watching: &Watching) -> Self {
        let told = watching.0.iter().filter_map(|(watch, read)| Some((*watch, *read, *self.0.get(watch)?)));
        Self(told.filter(|(_, read, told)| read < told).map(|(watch, _, told)| (watch, told)).collect())
    }

    /// True if a participant has read these numbers of lines, of the watches that are still open.
    fn has_come(&self, watching: &Watching) -> bool {
        self.0.iter().all(|(watch, told)| watching.0.get(watch).is_none_or(|read| read >= told))
    }
}

/// Returns the number before that of the first watch, for the `joins`th join of a participant.
pub fn watches_of(joins: u64) -> u64 {
    joins.saturating_mul(WATCHES)
}

/// Grant of landscape time to a participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Number of the grant; increases.
    pub number: u64,
    /// Landscape time.
    pub now: DateTime<Utc>,
    /// In the answer to a join: number before that of the participant's first watch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watches: Option<u64>,
}

/// Request of a participant to join the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Join {
    /// True if it reads the landscape's dial: it needs no grants of instants at which it has no timer.
    pub reads_dial: bool,
    /// True for a command, which ends with its connection, and does not join again.
    pub is_command: bool,
}

/// Answer to a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// Time has moved.
    Grant(Grant),
    /// Time waits until the participant has read these numbers of lines and reports again.
    Unread(LineCounts),
}

/// Line of the host's answers to reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// Answer to the report with this number; `None`: time stood for a while, report again.
    Answer {
        /// Number of the report.
        sequence: u64,
        /// The answer.
        answer: Option<Answer>,
    },
    /// The participant has not joined, or was dropped: reason for which no report is answered until it joins again.
    NotJoined(String),
    /// Reason for which no further reports are answered.
    Refused(String),
}

/// Reason for which a report gets no answer, nor do later ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The participant has not joined, or was dropped because it did not answer in time. It may join again.
    #[error("{0}")]
    NotJoined(String),
    /// The connection broke, or the report was refused.
    #[error("{0}")]
    Broken(String),
}

/// Sends reports to the clock. A report's future resolves with the first grant after the one that it names, or with the
/// lines that the participant has yet to read; `None` means that there was neither for a while: report again. Dropping
/// the future withdraws the report.
pub trait Reports: Send + Sync + 'static {
    /// Joins the clock; returns the first grant.
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>>;
    /// Sends a report.
    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Answer>, ReportError>>;
    /// Leaves the clock: time no longer waits for the participant, and its reports are rejected.
    fn leave(&self) -> BoxFuture<'static, Result<(), String>>;
}

/// State of a participant, shared by the runtime's park hook and the reporting task.
#[derive(Debug)]
pub struct Participant {
    clock: SimulatedClock,
    activity: Activity,
    dial: Option<Dial>,
    state: Mutex<State>,
    /// Notified when a report is due at once.
    is_due: Notify,
    /// Notified when a report is due soon.
    has_news: Notify,
}

#[derive(Debug)]
struct State {
    grant: Grant,
    /// Line counts for which the host waits.
    asked: Option<LineCounts>,
    /// State when the runtime last parked, if it differs from the reported one.
    found: Option<Idle>,
    /// Latest report; `None` before the first.
    reported: Option<Idle>,
}

/// Urgency of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    /// Together with the next due report.
    None,
    /// Within [`NEWS`].
    Soon,
    Now,
}

impl State {
    /// Returns the state after a join.
    fn new(grant: Grant) -> Self {
        Self { grant, asked: None, found: None, reported: None }
    }

    /// Returns the urgency of reporting `idle`.
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

    /// Takes the state to be reported.
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
    /// Creates a participant with its first grant.
    pub fn new(grant: Grant, activity: Activity, dial: Option<Dial>) -> Arc<Self> {
        let clock = SimulatedClock::new(grant.now);
        activity.number_from(grant.watches.unwrap_or_default());
        let state = Mutex::new(State::new(grant));
        Arc::new(Self { clock, activity, dial, state, is_due: Notify::new(), has_news: Notify::new() })
    }

    /// Takes the first grant after another join. Timers that it makes due fire, and the present state is reported as if
    /// there was no report before. Open watches keep their numbers, later ones are numbered from the grant's on.
    pub fn joined_again(&self, grant: Grant) {
        if let Some(watches) = grant.watches {
            self.activity.number_from(watches);
        }
        *self.state() = State::new(grant);
    }

    /// Clock of the participant.
    pub fn clock(&self) -> Clock {
        match &self.dial {
            None => Clock::new(self.clock.clone()),
            Some(dial) => Clock::new(Dialled { clock: self.clock.clone(), dial: dial.clone() }),
        }
    }

    /// To be called when nothing is runnable on the runtime's thread: fires the next due timer, or records that the
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
        // A report must describe the present state: by the time the reporting task runs, a grant may have arrived.
        let mut state = self.state();
        let idle = Idle {
            // Numbered when it is sent.
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

    /// Sends reports and takes grants. `wall` is wall time. Returns the reason for which a report got no answer.
    pub fn run<'a>(&'a self, reports: &'a dyn Reports, wall: &'a Clock) -> BoxFuture<'a, ReportError> {
        Box::pin(async move {
            let mut pending: Option<BoxFuture<'static, Result<Option<Answer>, ReportError>>> = None;
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
                            Err(error) => return error,
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
            Answer::Unread(told) => {
                state.asked = Some(told);
                // The earlier state is determined again.
                state.found = None;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Result of a future; pending without a future.
async fn of<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Clock of a participant with a dial. It shows instants granted to others, too, up to the participant's own next
/// timer.
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
    use futures::FutureExt;

    use super::*;

    fn pairs(pairs: &[(u64, u64)]) -> BTreeMap<u64, u64> {
        pairs.iter().copied().collect()
    }

    #[test]
    fn line_counts_are_read_when_no_open_watch_lags() {
        let told = LineCounts(pairs(&[(1, 0), (2, 4)])).and(LineCounts(pairs(&[(3, 7)])));
        for (read, is_read, unread) in [
            (&[][..], true, &[][..]),
            (&[(1, 0), (2, 4), (3, 8)], true, &[]),
            (&[(2, 3), (3, 7)], false, &[(2, 4)]),
            // The server of this watch does not count it: the watch has ended.
            (&[(4, 1)], false, &[]),
        ] {
            let watching = Watching(pairs(read));
            assert_eq!(told.is_read(&watching), is_read, "{read:?}");
            assert_eq!(told.unread(&watching), LineCounts(pairs(unread)), "{read:?}");
        }
    }

    #[test]
    fn another_join_reports_again_and_keeps_open_watches() {
        let at = |seconds: i64| Instant::from_timestamp(seconds, 0).expect("in range");
        let grant = |number: u64, seconds: i64, watches: Option<u64>| Grant { number, now: at(seconds), watches };
        let activity = Activity::default();
        let participant = Participant::new(grant(3, 0, Some(70)), activity.clone(), None);
        let _watch = activity.watch(activity.next_watch());
        let clock = participant.clock();
        let (first, second) =
            (clock.sleep_until(at(60), TimerClass::Work), clock.sleep_until(at(120), TimerClass::Work));
        let report = || {
            participant.nothing_is_runnable();
            let idle = participant.state().report().expect("a report");
            (idle.sequence, idle.grant, idle.watching.0, idle.next)
        };
        assert_eq!(report(), (1, 3, pairs(&[(71, 0)]), Some(at(60))));
        participant.take(Answer::Unread(LineCounts(pairs(&[(71, 2)]))));
        assert_eq!(report(), (2, 3, pairs(&[(71, 0)]), Some(at(60))));
        participant.joined_again(grant(9, 90, Some(200)));
        participant.nothing_is_runnable();
        assert_eq!((first.now_or_never(), clock.now()), (Some(()), at(60)), "due timers fire one by one");
        assert_eq!(report(), (1, 9, pairs(&[(71, 0)]), Some(at(120))));
        assert_eq!((participant.state().asked.clone(), clock.now()), (None, at(90)));
        assert_eq!(activity.next_watch(), 201);
        participant.joined_again(grant(9, 90, None));
        assert_eq!(activity.next_watch(), 202, "numbers are not used again");
        assert_eq!((second.now_or_never(), report().0), (None, 1));
    }

    #[test]
    fn reports_that_time_waits_for_are_sent_at_once() {
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
            (None, idle(3, &[(1, 6), (2, 5)], 60), Haste::None, "lines that were not requested"),
            (None, idle(3, &[(1, 6), (2, 5)], 30), Haste::Soon, "another timer"),
            (None, idle(4, &[(1, 5), (2, 5)], 60), Haste::Now, "a grant was carried out"),
            (None, idle(3, &[(1, 5)], 60), Haste::Now, "a watch has ended"),
            (None, idle(3, &[(1, 5), (2, 5), (3, 0)], 60), Haste::Now, "a watch was opened"),
            (Some(&[(1, 7)][..]), idle(3, &[(1, 6), (2, 9)], 60), Haste::None, "what was asked for is on the way"),
            (Some(&[(1, 7)][..]), idle(3, &[(1, 7), (2, 5)], 60), Haste::Now, "it has come"),
            (Some(&[(1, 5), (9, 2)][..]), idle(3, &[(1, 5), (2, 5)], 60), Haste::Now, "the rest has been closed"),
        ] {
            let grant = Grant { number: idle.grant, now: at(0).expect("in range"), watches: None };
            let asked = asked.map(|asked: &[(u64, u64)]| LineCounts(pairs(asked)));
            let mut state = State { grant, asked: asked.clone(), found: None, reported: Some(reported.clone()) };
            assert_eq!(state.haste(&idle), expected, "{what}");
            state.found = Some(idle.clone());
            assert_eq!(state.report(), Some(Idle { sequence: 1, ..idle }), "{what}");
            let is_answered = expected == Haste::Now;
            assert_eq!(state.asked, asked.filter(|_| !is_answered), "{what}");
            assert_eq!(state.report(), None, "{what}: once");
        }
        let grant = Grant { number: 0, now: at(0).expect("in range"), watches: None };
        let new = State::new(grant);
        assert_eq!(new.haste(&idle(0, &[], 60)), Haste::Now, "the first");
    }
}
