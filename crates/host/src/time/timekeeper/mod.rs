// SPDX-License-Identifier: Apache-2.0
//! Decides when landscape time moves, and to which instant: a state machine without input or output.
//!
//! A *participant* is a process with timers of its own. It reports when it is idle; the timekeeper grants it a new
//! instant, always the next one at which any participant has a timer, never past it.
//!
//! ```text
//! all are idle ───► barrier at the log's head ──► all have read up to it, head still there
//!       ▲                                                                │
//!       └── grant to those with a timer then ◄── the dial is set ◄───────┘
//! ```
//!
//! A *barrier* is a revision of the log together with the API servers' line counts: the number of lines that each watch
//! of a participant has been sent with every entry up to there ([`LineCounts`]). A participant that has not reported reading
//! as many lines gets a request for a report.
//!
//! When a participant acts, the participants that observe the change must know the time: they read it from the
//! landscape's dial ([`process::dial`]). Participants that cannot read the dial are granted every instant, before the
//! ones with a timer then.
//!
//! **Costs of a step.** With W writes that reach the watches of P participants, one of which had the timer: one grant
//! and its report, W requests, and one question and one report for each of the P; nothing for the other participants
//! and for watches, however many there are (docs/adr/0007, docs/adr/0012). A step without writes is one grant and one
//! report.
//!
//! A command may give *others*, clients that take no part, wall time to act after a step that reached them: that is an
//! option of the command, and the only wait for wall time except the limit of a report.
//!
//! **Invariants.** Time never goes back, and stops at [`END`] in every mode. No timer is passed before its owner has
//! carried out the grant of its instant. Before time moves, the API servers have reported the line count of every open
//! watch of a participant. Time does not move while a participant works, lags behind the log, or while a hold is set; a
//! participant of another process that has not answered for [`REPORT_LIMIT`] of wall time is dropped and reported; a
//! command ends then unless it ignores absences. While no server answers, time stands for [`REPORT_LIMIT`]; then the
//! servers are treated like a dropped participant. A participant of the host's process is never dropped. Limits count
//! only wall time in which the host ran ([`patience`]): a stall of the machine is not the silence of a participant.
//!
//! **Deliberately absent.** Sockets, the log and the wall clock: the caller passes the log's head and wall time.

mod absence;
mod command;
mod decision;
mod drift;
mod participant;
mod patience;
mod waits;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::TimeDelta;
use clock::{END, Instant};
use eventlog::Revision;
use eventlog::livelock::LiveLock;
use process::participant::{Grant, Idle, Join, LineCounts, watches_of};

use self::absence::Outage;
use self::command::Command;
pub use self::decision::{Absence, CommandError, Decision, Mode, Report, WaitsFor};
use self::drift::Anchor;
use self::participant::{Barrier, Participant};
use self::patience::{LOOK, Patience};
use self::waits::NextDecision;
pub use self::waits::OVERDUE;

/// Wall time after which a participant with an overdue answer is dropped.
pub const REPORT_LIMIT: TimeDelta = TimeDelta::seconds(30);
/// Maximum wall time of a hold, for example while a process starts.
pub const LONGEST_HOLD: TimeDelta = TimeDelta::seconds(10);
/// Maximum wall time for which a starting landscape awaits its mode.
const LONGEST_AWAIT: TimeDelta = TimeDelta::seconds(60);
/// Maximum landscape time between two grants to all participants in a mode in which time runs by itself.
const TICK: TimeDelta = TimeDelta::seconds(1);

/// State machine of landscape time.
#[derive(Debug)]
pub struct Timekeeper {
    now: Instant,
    mode: Mode,
    paused: bool,
    /// End, by [`Timekeeper::patience`], of the time in which the mode is awaited.
    awaits_mode_until: Option<Instant>,
    anchor: Anchor,
    participants: BTreeMap<String, Participant>,
    joins: u64,
    grants: u64,
    /// Participants with a timer at the present instant; they are granted it once all others know it.
    due: Vec<String>,
    barrier: Barrier,
    next_decision: NextDecision,
    command: Option<Command>,
    /// Wall time in which the host ran; measures all limits.
    patience: Patience,
    /// End, by [`Timekeeper::patience`], of the time in which other clients may act.
    others_until: Option<Instant>,
    /// Live-lock that keeps `advance`, `Eager` and `Auto` from moving time.
    live_lock: Option<LiveLock>,
    /// Ends of the holds, by [`Timekeeper::patience`].
    holds: BTreeMap<String, Instant>,
    dropped: BTreeSet<String>,
    /// Latest absences, oldest first.
    absences: VecDeque<Absence>,
    /// Absent components for which `Eager` and `Auto` do not move time.
    awaited: BTreeSet<String>,
    outage: Option<Outage>,
}

impl Timekeeper {
    /// Creates a timekeeper whose time stands at `now`.
    pub fn new(now: Instant, mode: Mode, wall: Instant) -> Self {
        Self {
            now,
            mode,
            paused: false,
            awaits_mode_until: None,
            anchor: Anchor { landscape: now, wall },
            participants: BTreeMap::new(),
            joins: 0,
            grants: 0,
            due: Vec::new(),
            barrier: Barrier::default(),
            next_decision: NextDecision::default(),
            command: None,
            patience: Patience::new(wall),
            others_until: None,
            live_lock: None,
            holds: BTreeMap::new(),
            dropped: BTreeSet::new(),
            absences: VecDeque::new(),
            awaited: BTreeSet::new(),
            outage: None,
        }
    }

    /// Returns landscape time at an instant of wall time.
    pub fn now(&self, wall: Instant) -> Instant {
        // Time that runs by itself does not pass a timer: it reads as the timer's instant until its owner has acted.
        let drift = self.drift(wall).unwrap_or(self.now);
        let next = self.next_timer().unwrap_or(drift);
        self.now.max(drift.min(next))
    }

    /// Landscape time of the last grant; [`Timekeeper::now`] may be later.
    pub fn granted(&self) -> Instant {
        self.now
    }

    /// Mode of landscape time while no command moves it.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// True if time is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Sets the mode; time continues from the present instant.
    pub fn set_mode(&mut self, mode: Mode, wall: Instant) {
        self.now = self.now(wall);
        self.anchor = Anchor { landscape: self.now, wall };
        self.mode = mode;
        self.awaits_mode_until = None;
        self.go_on();
    }

    /// Lets time advance to near work timers and stand there until [`Timekeeper::set_mode`], at most for
    /// [`LONGEST_AWAIT`]: so the instant at which time stands then does not depend on the duration of a start.
    pub fn await_mode(&mut self, wall: Instant) {
        self.awaits_mode_until = Some(self.patience.at(wall) + LONGEST_AWAIT);
    }

    /// True if the mode is awaited and work remains before it.
    pub fn is_starting(&self, head: Revision) -> bool {
        self.awaits_mode_until.is_some() && (self.near_work().is_some() || !self.is_settled(head))
    }

    /// Stops time in every mode, until [`Timekeeper::resume`]; a command still moves it.
    pub fn pause(&mut self, wall: Instant) {
        self.now = self.now(wall);
        self.paused = true;
    }

    /// Ends a pause; time also goes on after a live-lock, and without absent components.
    pub fn resume(&mut self, wall: Instant) {
        self.now = self.now(wall);
        self.anchor = Anchor { landscape: self.now, wall };
        self.paused = false;
        self.go_on();
    }

    fn go_on(&mut self) {
        self.live_lock = None;
        self.awaited.clear();
    }

    /// Records that a client without part in landscape time wrote, or that one of its watches was sent a change.
    pub fn reached_others(&mut self, wall: Instant) {
        let settle = self.command.map_or(TimeDelta::zero(), |command| command.settle);
        if settle > TimeDelta::zero() {
            self.others_until = Some(self.patience.at(wall) + settle);
        }
    }

    /// True if the writes of an instant are counted: a command moves time, or the mode jumps.
    pub fn is_pressed(&self) -> bool {
        let jumps = match self.mode {
            Mode::Eager => self.near_work().is_some(),
            Mode::Auto => true,
            Mode::Rate(_) | Mode::Stepped => false,
        };
        self.live_lock.is_none() && (self.command.is_some() || (jumps && !self.paused))
    }

    /// True if time was paused, or stopped for a live-lock or the absence of a component.
    pub fn is_stopped(&self) -> bool {
        self.paused || self.live_lock.is_some() || !self.awaited.is_empty()
    }

    /// Stops time for writers that react to one another in an endless cycle: a command ends, and `Eager` and `Auto` do
    /// not move time until [`Timekeeper::resume`], another mode or another command.
    pub fn stop_for(&mut self, live_lock: LiveLock, wall: Instant) {
        self.now = self.now(wall);
        self.command = None;
        self.live_lock = Some(live_lock);
    }

    /// Live-lock for which time was stopped.
    pub fn live_lock(&self) -> Option<&LiveLock> {
        self.live_lock.as_ref()
    }

    /// Holds time until [`Timekeeper::release`], at most for [`LONGEST_HOLD`]; time that runs by itself stands, too,
    /// and continues from there.
    pub fn hold(&mut self, name: &str, wall: Instant) {
        self.now = self.now(wall);
        self.holds.insert(name.to_owned(), self.patience.at(wall) + LONGEST_HOLD);
    }

    /// Ends a hold.
    pub fn release(&mut self, name: &str, wall: Instant) {
        self.keep_holds(wall, |other, _| other != name);
    }

    /// Ends the holds that have lasted for [`LONGEST_HOLD`]. Needed while time stands, since nothing else calls for it
    /// then.
    pub fn end_holds(&mut self, wall: Instant) {
        let now = self.patience.at(wall);
        self.keep_holds(wall, |_, until| until > now);
    }

    fn keep_holds(&mut self, wall: Instant, keeps: impl Fn(&str, Instant) -> bool) {
        let were_there = !self.holds.is_empty();
        self.holds.retain(|name, until| keeps(name, *until));
        if were_there && self.holds.is_empty() {
            self.anchor = Anchor { landscape: self.now, wall };
        }
    }

    /// Registers a participant; returns its first grant, which has the present time.
    pub fn join(&mut self, name: &str, join: Join, wall: Instant) -> Grant {
        self.dropped.remove(name);
        self.now = self.now(wall);
        self.end_absence(name, wall);
        self.disturb();
        let participant = self.participants.entry(name.to_owned()).or_default();
        let (granted, Join { reads_dial, is_command }) = (self.grants, join);
        let owes_since = Some(self.patience.at(wall));
        *participant = Participant { granted, reads_dial, idle: None, is_command, is_own: false, owes_since };
        let watches = Some(watches_of(self.joins));
        self.joins += 1;
        Grant { number: self.grants, now: self.now, watches }
    }

    /// Marks a joined participant as a thread of the host's process: its silence means that it computes or is not
    /// scheduled, and time waits for it without a limit.
    pub fn keep(&mut self, name: &str) {
        if let Some(participant) = self.participants.get_mut(name) {
            participant.is_own = true;
        }
    }

    /// Unregisters a participant whose connection ended.
    pub fn leave(&mut self, name: &str, wall: Instant) {
        self.participants.remove(name);
        self.dropped.remove(name);
        self.end_absence(name, wall);
    }

    /// True if a participant is a command, which ends with its connection.
    pub fn is_command(&self, name: &str) -> bool {
        self.participants.get(name).is_some_and(|participant| participant.is_command)
    }

    /// Drops a server that does not answer and for which participants may have waited: their report limits start again.
    pub fn server_is_unresponsive(&mut self, name: &str, wall: Instant) {
        self.dropped.insert(name.to_owned());
        let now = self.patience.at(wall);
        for participant in self.participants.values_mut().filter(|participant| participant.owes_since.is_some()) {
            participant.owes_since = Some(now);
        }
    }

    /// Removes a server from the dropped ones: it answers again, or has ended.
    pub fn server_answers(&mut self, name: &str) {
        self.dropped.remove(name);
    }

    /// Takes the report of an idle participant.
    pub fn report(&mut self, name: &str, idle: Idle) -> Report {
        let Some(participant) = self.participants.get_mut(name) else { return Report::NotJoined };
        if participant.idle.as_ref().is_some_and(|known| known.sequence > idle.sequence) {
            return Report::Overtaken;
        }
        participant.idle = Some(idle);
        let owes_barrier = self.barrier.line_counts.is_some() && !self.barrier.is_seen_by(participant);
        if participant.has_carried_out() && !owes_barrier {
            participant.owes_since = None;
        }
        Report::Taken
    }

    /// Grant that a participant was sent and has not carried out according to its reports.
    pub fn owed(&self, name: &str) -> Option<Grant> {
        let participant = self.participants.get(name)?;
        (!participant.has_carried_out()).then_some(Grant { number: participant.granted, now: self.now, watches: None })
    }

    /// Line counts that a participant has yet to read up to the barrier; `None`: it has read all lines.
    pub fn unread(&self, name: &str) -> Option<LineCounts> {
        let watching = &self.participants.get(name)?.idle.as_ref()?.watching;
        let unread = self.barrier.line_counts.as_ref()?.unread(watching);
        (!unread.0.is_empty()).then_some(unread)
    }

    /// Invalidates the barrier: a participant opened a watch, which its earlier reports do not cover.
    pub fn disturb(&mut self) {
        self.barrier.line_counts = None;
        self.barrier.at = None;
    }

    /// Completes the barrier with this number: every API server has reported its line counts.
    pub fn barrier_stands(&mut self, number: u64, line_counts: LineCounts, wall: Instant) {
        if number == self.barrier.number && self.barrier.at.is_some() {
            self.barrier.line_counts = Some(line_counts);
            let now = self.patience.at(wall);
            for participant in self.participants.values_mut() {
                if !self.barrier.is_seen_by(participant) {
                    participant.owes_since.get_or_insert(now);
                }
            }
        }
    }

    /// Discards the barrier with this number, because an API server did not report; it is requested again.
    pub fn barrier_failed(&mut self, number: u64) {
        if number == self.barrier.number {
            self.barrier.at = None;
        }
    }

    /// Participants that were dropped because they did not report, and unresponsive servers.
    pub fn dropped(&self) -> impl Iterator<Item = &str> {
        self.dropped.iter().map(String::as_str)
    }

    /// Participants and the instant of each one's next timer.
    pub fn participants(&self) -> impl Iterator<Item = (&str, Option<Instant>)> {
        self.participants.iter().map(|(name, participant)| (name.as_str(), participant.next()))
    }

    /// The instant of the earliest timer.
    pub fn next_timer(&self) -> Option<Instant> {
        self.participants.values().filter_map(Participant::next).min()
    }

    /// Returns the next action at this head of the log and this instant of wall time. Called after every report and at
    /// the end of a wait; a grant and a barrier are returned once.
    pub fn decide(&mut self, head: Revision, wall: Instant) -> Decision {
        self.end_holds(wall);
        if self.awaits_mode_until.is_some_and(|until| self.patience.at(wall) >= until) {
            self.awaits_mode_until = None;
            self.anchor = Anchor { landscape: self.now, wall };
        }
        self.drop_unresponsive(wall);
        self.expire_outage(wall);
        let decision = match self.next_step(head, wall) {
            // Only frequent calls show for how long the host ran while an answer was due.
            Decision::Wait { until } if self.may_be_dropped().next().is_some() => {
                let look = wall + LOOK;
                Decision::Wait { until: Some(until.map_or(look, |until| until.min(look))) }
            }
            decision => decision,
        };
        self.next_decision.follows(&decision, wall);
        decision
    }

    fn next_step(&mut self, head: Revision, wall: Instant) -> Decision {
        if !self.due.is_empty() && self.participants.values().all(Participant::has_carried_out) {
            let due = std::mem::take(&mut self.due);
            return self.hand_out(due, wall);
        }
        if !self.due.is_empty() {
            return Decision::Wait { until: None };
        }
        if let Some(until) = self.holds.values().min() {
            return Decision::Wait { until: Some(self.patience.look(*until, wall)) };
        }
        if let Some(outage) = self.awaited_outage() {
            return Decision::Wait { until: Some(self.patience.look(outage.until, wall)) };
        }
        let Some(limit) = self.limit(wall) else { return Decision::Wait { until: None } };
        let next = self.next_timer();
        // Time that runs by itself needs no consent up to the next timer, unless a tick is due.
        let runs = self.command.is_none() && self.awaits_mode_until.is_none() && self.mode != Mode::Auto;
        if runs && next.is_none_or(|next| next > limit) {
            if self.now >= END {
                return Decision::Wait { until: None };
            }
            // The last tick may be shorter.
            let is_due = limit - self.now >= TICK || limit == END;
            if is_due && self.participants.values().all(Participant::has_carried_out) {
                return self.grant(limit, wall);
            }
            return Decision::Wait { until: Some(self.wall_of(next, wall)) };
        }
        if !self.participants.values().all(Participant::has_carried_out) {
            return Decision::Wait { until: None };
        }
        if self.barrier.at != Some(head) {
            let number = self.barrier.number + 1;
            self.barrier = Barrier { number, at: Some(head), line_counts: None };
            return Decision::Barrier { number, at: head };
        }
        if self.barrier.line_counts.is_none() || !self.participants.values().all(|p| self.barrier.is_seen_by(p)) {
            return Decision::Wait { until: None };
        }
        let lived = self.patience.at(wall);
        if let Some(until) = self.others_until.filter(|until| *until > lived) {
            return Decision::Wait { until: Some(self.patience.look(until, wall)) };
        }
        match next {
            Some(next) if next <= limit => self.grant(next.max(self.now), wall),
            _ if limit > self.now => self.grant(limit, wall),
            _ if self.command.is_none() => {
                let until = self.awaits_mode_until;
                Decision::Wait { until: until.map(|until| self.patience.look(until, wall)) }
            }
            _ => {
                self.command = None;
                self.anchor = Anchor { landscape: self.now, wall };
                Decision::Done
            }
        }
    }

    fn grant(&mut self, now: Instant, wall: Instant) -> Decision {
        self.now = now;
        // A jump shifts the anchor of time that runs by itself; a step that only follows the drift does not.
        if self.drift(wall).is_some_and(|drift| now > drift) {
            self.anchor = Anchor { landscape: now, wall };
        }
        self.grants += 1;
        let is_due = |participant: &Participant| participant.next().is_some_and(|next| next <= now);
        let names = |due: bool| {
            let some = self.participants.iter().filter(move |(_, participant)| is_due(participant) == due);
            some.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let (mut others, due) = (names(false), names(true));
        others.retain(|name| !self.participants[name].reads_dial);
        if others.is_empty() {
            return self.hand_out(due, wall);
        }
        self.due = due;
        self.hand_out(others, wall)
    }

    fn hand_out(&mut self, to: Vec<String>, wall: Instant) -> Decision {
        let now = self.patience.at(wall);
        for name in &to {
            if let Some(participant) = self.participants.get_mut(name) {
                participant.granted = self.grants;
                participant.owes_since.get_or_insert(now);
            }
        }
        Decision::Grant { grant: Grant { number: self.grants, now: self.now, watches: None }, to }
    }

    /// Participants of other processes with an overdue answer, and the instant since which it is due.
    fn may_be_dropped(&self) -> impl Iterator<Item = (&str, Instant)> {
        let of_others = self.participants.iter().filter(|(_, participant)| !participant.is_own);
        of_others.filter_map(|(name, participant)| Some((name.as_str(), participant.owes_since?)))
    }

    fn drop_unresponsive(&mut self, wall: Instant) {
        let now = self.patience.at(wall);
        let late = self.may_be_dropped().filter(|(_, since)| now - *since >= REPORT_LIMIT);
        let names: Vec<String> = late.map(|(name, _)| name.to_owned()).collect();
        for name in names {
            let participant = self.participants.remove(&name).unwrap_or_default();
            if !participant.is_command {
                self.begin_absence(name.clone(), wall);
            }
            self.dropped.insert(name);
        }
    }
}

#[cfg(test)]
mod tests;
