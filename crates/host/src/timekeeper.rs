// SPDX-License-Identifier: Apache-2.0
//! When landscape time may move, and where to: a state machine without input or output.
//!
//! A *participant* is a process with timers of its own. It reports when it has nothing to do; the timekeeper grants it
//! a new instant, always the next one at which somebody has a timer, never past it.
//!
//! ```text
//! everybody idle ──► barrier at the log's head ──► everybody has seen it, head still there
//!       ▲                                                                │
//!       └── grant to those who have a timer then ◄── grant to the others ┘
//! ```
//!
//! Those who have no timer at the new instant are granted it first: once somebody acts, whoever hears of it knows what
//! time it is.
//!
//! **Invariants.** Time never goes back. No timer is passed before its owner has carried out the grant of its instant.
//! Time does not move while a participant works, lags behind the log, or while a hold is set; a participant that has
//! not answered for [`SILENCE`] of wall time is dropped, and named.
//!
//! **Deliberately absent.** Sockets, the log and the wall clock: whoever drives it passes the head and the wall's time.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use clock::Instant;
use eventlog::Revision;
use process::participant::{Grant, Idle};
use serde::{Deserialize, Serialize};

/// Wall time after which a participant that owes an answer is dropped.
pub const SILENCE: TimeDelta = TimeDelta::seconds(30);
/// Wall time for which time is held, at most, while a process starts.
pub const LONGEST_HOLD: TimeDelta = TimeDelta::seconds(10);
/// How far ahead mode `eager` looks for work.
const EAGER_HORIZON: TimeDelta = TimeDelta::hours(1);
/// In a mode in which time runs by itself, participants are told the time at least this often.
const TICK: TimeDelta = TimeDelta::seconds(1);

/// How landscape time goes when nobody commands it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", content = "rate", rename_all = "camelCase")]
pub enum Mode {
    /// Jumps to work timers that are less than an hour away, calendar timers on the way included; else runs at rate 1.
    Eager,
    /// At this rate of wall time.
    Rate(f64),
    /// Not at all.
    Stepped,
    /// Always to the next timer.
    Auto,
}

/// What is to be done now.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Ask the API servers for a barrier: every watch of a participant gets a bookmark with this number at the revision
    /// or behind it; then [`Timekeeper::barrier_stands`].
    Barrier {
        /// Rises.
        number: u64,
        /// Head of the log.
        at: Revision,
    },
    /// Time has moved: send the grant to these.
    Grant {
        /// The grant.
        grant: Grant,
        /// Names of participants; may be nobody.
        to: Vec<String>,
    },
    /// The command is done: time stands where it asked for, and all has settled there.
    Done,
    /// Nothing, until something is reported or the wall clock reaches an instant.
    Wait {
        /// In wall time.
        until: Option<Instant>,
    },
}

/// What becomes of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is what is known of the participant now.
    Taken,
    /// A later one has come before it.
    Overtaken,
    /// Nobody of this name has joined.
    NotJoined,
}

/// Why time stands although it should move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsFor {
    /// Participants that work, or have not yet seen the barrier.
    pub participants: Vec<String>,
    /// Holds.
    pub holds: Vec<String>,
}

#[derive(Debug, Default)]
struct Participant {
    /// Grant that it was sent last, and when.
    granted: u64,
    /// Its last report.
    idle: Option<Idle>,
    /// Since when it owes an answer, in wall time.
    owes_since: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    number: u64,
    at: Option<Revision>,
    stands: bool,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    landscape: Instant,
    wall: Instant,
}

/// The state machine.
#[derive(Debug)]
pub struct Timekeeper {
    now: Instant,
    mode: Mode,
    paused: bool,
    anchor: Anchor,
    participants: BTreeMap<String, Participant>,
    grants: u64,
    /// Participants that have a timer at the present instant, and are granted it when all others know of it.
    due: Vec<String>,
    barrier: Barrier,
    target: Option<Instant>,
    holds: BTreeMap<String, Instant>,
    dropped: BTreeSet<String>,
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Another one is at work.
    #[error("the clock is already being advanced to {0}")]
    Busy(Instant),
    /// The instant has passed.
    #[error("the clock does not go back: it stands at {0}")]
    Backwards(Instant),
}

impl Timekeeper {
    /// Time stands at `now`.
    pub fn new(now: Instant, mode: Mode, wall: Instant) -> Self {
        Self {
            now,
            mode,
            paused: false,
            anchor: Anchor { landscape: now, wall },
            participants: BTreeMap::new(),
            grants: 0,
            due: Vec::new(),
            barrier: Barrier::default(),
            target: None,
            holds: BTreeMap::new(),
            dropped: BTreeSet::new(),
        }
    }

    /// Landscape time, as it reads at an instant of wall time.
    pub fn now(&self, wall: Instant) -> Instant {
        // Time that runs by itself does not pass a timer: it reads as the timer's instant until its owner has acted.
        let drift = self.drift(wall).unwrap_or(self.now);
        let next = self.next_timer().unwrap_or(drift);
        self.now.max(drift.min(next))
    }

    /// Landscape time as it was granted last: what it reads as may have run ahead of it.
    pub fn granted(&self) -> Instant {
        self.now
    }

    /// Mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether time is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Sets the mode; time goes on from where it stands.
    pub fn set_mode(&mut self, mode: Mode, wall: Instant) {
        self.now = self.now(wall);
        self.anchor = Anchor { landscape: self.now, wall };
        self.mode = mode;
    }

    /// Stops time, whatever the mode, until [`Timekeeper::resume`]; a command still moves it.
    pub fn pause(&mut self, wall: Instant) {
        self.now = self.now(wall);
        self.paused = true;
    }

    /// Ends a pause.
    pub fn resume(&mut self, wall: Instant) {
        self.anchor = Anchor { landscape: self.now, wall };
        self.paused = false;
    }

    /// Begins to advance to an instant, through every timer on the way.
    pub fn advance(&mut self, to: Instant, wall: Instant) -> Result<(), CommandError> {
        if let Some(target) = self.target {
            return Err(CommandError::Busy(target));
        }
        let now = self.now(wall);
        if to < now {
            return Err(CommandError::Backwards(now));
        }
        self.now = now;
        self.target = Some(to);
        Ok(())
    }

    /// Ends a command where it stands.
    pub fn cancel(&mut self) {
        self.target = None;
    }

    /// Where the command at work goes to.
    pub fn target(&self) -> Option<Instant> {
        self.target
    }

    /// Holds time until [`Timekeeper::release`], at most for [`LONGEST_HOLD`].
    pub fn hold(&mut self, name: &str, wall: Instant) {
        self.holds.insert(name.to_owned(), wall + LONGEST_HOLD);
    }

    /// Ends a hold.
    pub fn release(&mut self, name: &str) {
        self.holds.remove(name);
    }

    /// A participant has come; it is told the time by its first grant, which this answers.
    pub fn join(&mut self, name: &str, wall: Instant) -> Grant {
        self.dropped.remove(name);
        self.now = self.now(wall);
        self.barrier.stands = false;
        let participant = self.participants.entry(name.to_owned()).or_default();
        *participant = Participant { granted: self.grants, idle: None, owes_since: Some(wall) };
        Grant { number: self.grants, now: self.now }
    }

    /// A participant has gone: its connection ended.
    pub fn leave(&mut self, name: &str) {
        self.participants.remove(name);
    }

    /// A participant has nothing to do.
    pub fn report(&mut self, name: &str, idle: Idle) -> Report {
        let Some(participant) = self.participants.get_mut(name) else { return Report::NotJoined };
        if participant.idle.as_ref().is_some_and(|known| known.sequence > idle.sequence) {
            return Report::Overtaken;
        }
        let is_current =
            idle.grant >= participant.granted && (idle.barrier.is_none_or(|seen| seen >= self.barrier.number));
        participant.idle = Some(idle);
        if is_current {
            participant.owes_since = None;
        }
        Report::Taken
    }

    /// The grant that a participant was given and has not carried out, as far as it has reported.
    pub fn owed(&self, name: &str) -> Option<Grant> {
        let participant = self.participants.get(name)?;
        (!participant.has_carried_out()).then_some(Grant { number: participant.granted, now: self.now })
    }

    /// A participant opened a watch: what it has seen says nothing any more about what it will see.
    pub fn disturb(&mut self) {
        self.barrier.stands = false;
        self.barrier.at = None;
    }

    /// Every API server has sent the bookmarks of the barrier with this number.
    pub fn barrier_stands(&mut self, number: u64, wall: Instant) {
        if number == self.barrier.number && self.barrier.at.is_some() {
            self.barrier.stands = true;
            for participant in self.participants.values_mut() {
                if !participant.has_seen(number) {
                    participant.owes_since.get_or_insert(wall);
                }
            }
        }
    }

    /// An API server could not be asked for the barrier: it is asked for again.
    pub fn barrier_failed(&mut self, number: u64) {
        if number == self.barrier.number {
            self.barrier.at = None;
        }
    }

    /// Participants that were dropped for their silence.
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

    /// Whether everything that can be done at this instant has been done, as far as was reported: everybody is idle and
    /// has seen the log up to `head`.
    pub fn is_settled(&self, head: Revision) -> bool {
        self.waits_for().participants.is_empty() && self.barrier.stands && self.barrier.at == Some(head)
    }

    /// What time waits for.
    pub fn waits_for(&self) -> WaitsFor {
        let lags = |participant: &Participant| {
            !participant.has_carried_out() || (self.barrier.stands && !participant.has_seen(self.barrier.number))
        };
        WaitsFor {
            participants: self.participants.iter().filter(|(_, p)| lags(p)).map(|(name, _)| name.clone()).collect(),
            holds: self.holds.keys().cloned().collect(),
        }
    }

    /// What is to be done at this head of the log and this instant of wall time. Called whenever something was reported
    /// and when a wait has ended; a grant and a barrier are given out once.
    pub fn decide(&mut self, head: Revision, wall: Instant) -> Decision {
        self.holds.retain(|_, until| *until > wall);
        self.drop_silent(wall);
        if !self.due.is_empty() && self.participants.values().all(Participant::has_carried_out) {
            let due = std::mem::take(&mut self.due);
            return self.hand_out(due, wall);
        }
        if !self.due.is_empty() {
            return self.patience();
        }
        let Some(limit) = self.limit(wall) else { return Decision::Wait { until: None } };
        let next = self.next_timer();
        // Time that runs by itself needs nobody's consent up to the next timer, if the tick has not come.
        if self.target.is_none() && next.is_none_or(|next| next > limit) {
            if limit - self.now >= TICK && self.participants.values().all(Participant::has_carried_out) {
                return self.grant(limit, wall);
            }
            return Decision::Wait { until: Some(self.wall_of(next, wall)) };
        }
        if !self.holds.is_empty() {
            return Decision::Wait { until: self.holds.values().min().copied() };
        }
        if !self.participants.values().all(Participant::has_carried_out) {
            return self.patience();
        }
        if self.barrier.at != Some(head) {
            self.barrier = Barrier { number: self.barrier.number + 1, at: Some(head), stands: false };
            return Decision::Barrier { number: self.barrier.number, at: head };
        }
        if !self.barrier.stands || !self.participants.values().all(|p| p.has_seen(self.barrier.number)) {
            return self.patience();
        }
        match next {
            Some(next) if next <= limit => self.grant(next.max(self.now), wall),
            _ if limit > self.now => self.grant(limit, wall),
            _ => {
                self.target = None;
                self.anchor = Anchor { landscape: self.now, wall };
                Decision::Done
            }
        }
    }

    fn grant(&mut self, now: Instant, wall: Instant) -> Decision {
        self.now = now;
        // A jump carries time that runs by itself along; a step that only follows it does not.
        if self.drift(wall).is_some_and(|drift| now > drift) {
            self.anchor = Anchor { landscape: now, wall };
        }
        self.grants += 1;
        let is_due = |participant: &Participant| participant.next().is_some_and(|next| next <= now);
        let names = |due: bool| {
            let some = self.participants.iter().filter(move |(_, participant)| is_due(participant) == due);
            some.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let (others, due) = (names(false), names(true));
        self.due = due;
        self.hand_out(others, wall)
    }

    fn hand_out(&mut self, to: Vec<String>, wall: Instant) -> Decision {
        for name in &to {
            if let Some(participant) = self.participants.get_mut(name) {
                participant.granted = self.grants;
                participant.owes_since.get_or_insert(wall);
            }
        }
        Decision::Grant { grant: Grant { number: self.grants, now: self.now }, to }
    }

    /// How far time may go now; `None`: it stands.
    fn limit(&self, wall: Instant) -> Option<Instant> {
        if self.target.is_some() {
            return self.target;
        }
        if self.paused {
            return None;
        }
        let drift = self.drift(wall);
        match self.mode {
            Mode::Eager => {
                let work = self.participants.values().filter_map(|p| p.idle.as_ref()?.work).min();
                let near = work.filter(|work| *work <= self.now + EAGER_HORIZON);
                near.max(drift)
            }
            Mode::Rate(_) => drift,
            Mode::Stepped => None,
            Mode::Auto => self.next_timer(),
        }
    }

    /// Where time that runs by itself has come to.
    fn drift(&self, wall: Instant) -> Option<Instant> {
        if self.paused || self.target.is_some() {
            return None;
        }
        let rate = match self.mode {
            Mode::Eager => 1.0,
            Mode::Rate(rate) => rate,
            Mode::Stepped | Mode::Auto => return None,
        };
        let passed = (wall - self.anchor.wall).num_milliseconds().max(0);
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a landscape's life fit")]
        let passed = (passed as f64 * rate) as i64;
        Some(self.anchor.landscape + TimeDelta::milliseconds(passed))
    }

    /// When, in wall time, time that runs by itself reaches the next timer or the next tick.
    fn wall_of(&self, next: Option<Instant>, wall: Instant) -> Instant {
        let rate = if let Mode::Rate(rate) = self.mode { rate } else { 1.0 };
        let tick = self.now + TICK;
        let due = next.map_or(tick, |next| next.min(tick));
        let left = (due - self.anchor.landscape).num_milliseconds() as f64 / rate.max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and a tick is never far away")]
        let left = left.ceil().min(86_400_000.0) as i64;
        (self.anchor.wall + TimeDelta::milliseconds(left)).max(wall + TimeDelta::milliseconds(1))
    }

    fn patience(&self) -> Decision {
        let silence = self.participants.values().filter_map(|participant| participant.owes_since).min();
        Decision::Wait { until: silence.map(|since| since + SILENCE) }
    }

    fn drop_silent(&mut self, wall: Instant) {
        let silent = |p: &Participant| p.owes_since.is_some_and(|since| wall - since >= SILENCE);
        let names: Vec<String> =
            self.participants.iter().filter(|(_, p)| silent(p)).map(|(name, _)| name.clone()).collect();
        for name in names {
            self.participants.remove(&name);
            self.dropped.insert(name);
        }
    }
}

impl Participant {
    /// It has done everything that its last grant brought.
    fn has_carried_out(&self) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.grant >= self.granted)
    }

    /// All its watches have reached the barrier, or it has none.
    fn has_seen(&self, number: u64) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.barrier.is_none_or(|seen| seen >= number))
    }

    fn next(&self) -> Option<Instant> {
        self.idle.as_ref()?.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Instant {
        Instant::from_timestamp(1_690_488_000 + seconds, 0).expect("in range")
    }

    /// Wall time at the start: another day than landscape time, so that nobody mixes them up.
    fn wall(milliseconds: i64) -> Instant {
        Instant::from_timestamp(1_800_000_000, 0).expect("in range") + TimeDelta::milliseconds(milliseconds)
    }

    const HEAD: Revision = Revision(10);

    /// A participant that has timers at these seconds, and answers every grant at once.
    struct Toy {
        name: &'static str,
        timers: Vec<(i64, bool)>,
        fired: Vec<i64>,
    }

    impl Toy {
        fn new(name: &'static str, work: &[i64], calendar: &[i64]) -> Self {
            let mut timers: Vec<_> =
                work.iter().map(|s| (*s, true)).chain(calendar.iter().map(|s| (*s, false))).collect();
            timers.sort_unstable();
            Self { name, timers, fired: Vec::new() }
        }

        fn take(&mut self, keeper: &mut Timekeeper, grant: &Grant, barrier: u64) {
            while self.timers.first().is_some_and(|(due, _)| at(*due) <= grant.now) {
                self.fired.push(self.timers.remove(0).0);
            }
            keeper.report(self.name, self.idle(grant.number, barrier));
        }

        fn idle(&self, grant: u64, barrier: u64) -> Idle {
            Idle {
                sequence: 0,
                grant,
                barrier: Some(barrier),
                next: self.timers.first().map(|(due, _)| at(*due)),
                work: self.timers.iter().find(|(_, work)| *work).map(|(due, _)| at(*due)),
            }
        }
    }

    /// Drives a timekeeper while the wall clock stands; answers what ended it and the grants on the way, in seconds.
    fn drive(keeper: &mut Timekeeper, toys: &mut [Toy], now: Instant) -> (Decision, Vec<i64>) {
        let (mut grants, mut barrier) = (Vec::new(), 0);
        for _ in 0..1000 {
            match keeper.decide(HEAD, now) {
                Decision::Barrier { number, .. } => {
                    barrier = number;
                    keeper.barrier_stands(number, now);
                    for toy in &mut *toys {
                        keeper.report(toy.name, toy.idle(keeper.grants, barrier));
                    }
                }
                Decision::Grant { grant, to } => {
                    if grants.last() != Some(&(grant.now - at(0)).num_seconds()) {
                        grants.push((grant.now - at(0)).num_seconds());
                    }
                    for toy in toys.iter_mut().filter(|toy| to.iter().any(|name| name == toy.name)) {
                        toy.take(keeper, &grant, barrier);
                    }
                }
                end => return (end, grants),
            }
        }
        panic!("it does not come to an end: {grants:?}");
    }

    fn joined(mode: Mode, toys: &mut [Toy]) -> Timekeeper {
        let mut keeper = Timekeeper::new(at(0), mode, wall(0));
        for toy in toys {
            let grant = keeper.join(toy.name, wall(0));
            toy.take(&mut keeper, &grant, 0);
        }
        keeper
    }

    #[test]
    fn an_advance_goes_through_every_timer_of_everybody_and_ends_where_it_was_told() {
        let mut toys = [Toy::new("a", &[5, 30], &[60]), Toy::new("b", &[7], &[30, 900])];
        let mut keeper = joined(Mode::Stepped, &mut toys);
        keeper.advance(at(100), wall(0)).expect("nothing is at work");
        assert_eq!(keeper.advance(at(200), wall(0)), Err(CommandError::Busy(at(100))));
        let (end, grants) = drive(&mut keeper, &mut toys, wall(0));
        assert_eq!((end, grants), (Decision::Done, vec![5, 7, 30, 60, 100]));
        assert_eq!(toys[0].fired, [5, 30, 60]);
        assert_eq!(toys[1].fired, [7, 30]);
        assert_eq!(keeper.now(wall(99_000)), at(100), "stepped time stands");
        assert_eq!(keeper.advance(at(99), wall(0)), Err(CommandError::Backwards(at(100))));
    }

    #[test]
    fn eager_jumps_to_work_that_is_near_and_waits_for_the_calendar() {
        let mut toys = [Toy::new("a", &[90, 120], &[100, 7200]), Toy::new("b", &[], &[95])];
        let mut keeper = joined(Mode::Eager, &mut toys);
        let (end, grants) = drive(&mut keeper, &mut toys, wall(0));
        assert_eq!(grants, [90, 95, 100, 120]);
        assert_eq!(end, Decision::Wait { until: Some(wall(1000)) }, "then time runs at rate 1");
        assert_eq!(keeper.now(wall(400)), at(120) + TimeDelta::milliseconds(400));
        assert_eq!(drive(&mut keeper, &mut toys, wall(2000)).1, [122], "everybody is told the time");
    }

    #[test]
    fn work_that_is_an_hour_away_is_not_jumped_to() {
        let mut toys = [Toy::new("a", &[3601], &[])];
        let mut keeper = joined(Mode::Eager, &mut toys);
        assert_eq!(drive(&mut keeper, &mut toys, wall(0)).1, [0; 0]);
    }

    #[test]
    fn auto_goes_on_as_long_as_there_is_a_timer() {
        let mut toys = [Toy::new("a", &[1], &[86_400])];
        let mut keeper = joined(Mode::Auto, &mut toys);
        assert_eq!(drive(&mut keeper, &mut toys, wall(0)), (Decision::Wait { until: None }, vec![1, 86_400]));
    }

    #[test]
    fn scaled_time_never_passes_a_timer_before_its_owner_acted() {
        let mut toys = [Toy::new("a", &[], &[600])];
        let mut keeper = joined(Mode::Rate(3600.0), &mut toys);
        assert_eq!(keeper.now(wall(1000)), at(600), "an hour has passed, but not the timer");
        assert_eq!(drive(&mut keeper, &mut toys, wall(1000)).1, [600, 3600]);
        assert_eq!(toys[0].fired, [600]);
    }

    #[test]
    fn time_stands_while_somebody_works_or_lags_behind_the_log() {
        let mut toys = [Toy::new("a", &[5], &[])];
        let mut keeper = joined(Mode::Auto, &mut toys);
        let Decision::Barrier { number, at: head } = keeper.decide(HEAD, wall(0)) else { panic!("a barrier first") };
        assert_eq!((number, head), (1, HEAD));
        let patience = Decision::Wait { until: None };
        assert_eq!(keeper.decide(HEAD, wall(0)), patience, "the API servers have not answered");
        keeper.barrier_stands(1, wall(0));
        assert_eq!(keeper.decide(HEAD, wall(0)), Decision::Wait { until: Some(wall(30_000)) }, "it has not seen it");
        assert_eq!(keeper.waits_for().participants, ["a"]);
        keeper.report("a", toys[0].idle(0, 1));
        // Its last act was a write: the log has moved on.
        let Decision::Barrier { number, .. } = keeper.decide(Revision(11), wall(0)) else { panic!("again") };
        keeper.barrier_stands(number, wall(0));
        keeper.report("a", toys[0].idle(0, 2));
        let Decision::Grant { to, .. } = keeper.decide(Revision(11), wall(0)) else { panic!("time moves") };
        assert_eq!(to, [""; 0], "nobody is without a timer");
        let Decision::Grant { grant, to } = keeper.decide(Revision(11), wall(0)) else { panic!("time moves") };
        assert_eq!((grant.number, to), (1, vec!["a".to_owned()]));
        assert_eq!(keeper.decide(Revision(11), wall(10)), Decision::Wait { until: Some(wall(30_000)) });
    }

    #[test]
    fn a_watch_that_was_opened_needs_a_barrier_of_its_own() {
        let mut toys = [Toy::new("a", &[], &[])];
        let mut keeper = joined(Mode::Stepped, &mut toys);
        keeper.advance(at(0), wall(0)).expect("nothing is at work");
        assert_eq!(drive(&mut keeper, &mut toys, wall(0)).0, Decision::Done);
        assert!(keeper.is_settled(HEAD));
        keeper.disturb();
        assert!(!keeper.is_settled(HEAD));
        keeper.advance(at(0), wall(0)).expect("nothing is at work");
        assert!(matches!(keeper.decide(HEAD, wall(0)), Decision::Barrier { number: 2, .. }));
    }

    #[test]
    fn whoever_is_silent_for_thirty_seconds_is_dropped_and_named() {
        let mut toys = [Toy::new("a", &[5], &[]), Toy::new("mute", &[5], &[])];
        let mut keeper = joined(Mode::Auto, &mut toys);
        let mut answering = [toys.into_iter().next().expect("two toys")];
        let (end, _) = drive(&mut keeper, &mut answering, wall(0));
        assert_eq!(end, Decision::Wait { until: Some(wall(30_000)) });
        let (_, grants) = drive(&mut keeper, &mut answering, wall(30_000));
        assert_eq!(grants, [5]);
        assert_eq!(keeper.dropped().collect::<Vec<_>>(), ["mute"]);
        assert_eq!(keeper.report("mute", Idle::default()), Report::NotJoined, "it has to join again");
    }

    #[test]
    fn a_report_that_was_overtaken_counts_for_nothing() {
        let mut keeper = Timekeeper::new(at(0), Mode::Stepped, wall(0));
        let grant = keeper.join("a", wall(0)).number;
        let report = |sequence| Idle { sequence, grant, next: Some(at(60)), ..Idle::default() };
        assert_eq!(keeper.report("a", Idle { next: None, ..report(2) }), Report::Taken);
        assert_eq!(keeper.report("a", report(1)), Report::Overtaken);
        assert_eq!(keeper.next_timer(), None);
        assert_eq!(keeper.report("a", Idle { next: None, ..report(2) }), Report::Taken, "it may be repeated");
    }

    #[test]
    fn a_hold_ends_after_ten_seconds_at_the_latest() {
        let mut toys = [Toy::new("a", &[5], &[])];
        let mut keeper = joined(Mode::Auto, &mut toys);
        keeper.hold("pod gardenlet", wall(0));
        assert_eq!(drive(&mut keeper, &mut toys, wall(0)), (Decision::Wait { until: Some(wall(10_000)) }, vec![]));
        assert_eq!(keeper.waits_for().holds, ["pod gardenlet"]);
        assert_eq!(drive(&mut keeper, &mut toys, wall(10_001)).1, [5]);
    }

    #[test]
    fn a_pause_stops_time_and_a_command_still_moves_it() {
        let mut toys = [Toy::new("a", &[5], &[])];
        let mut keeper = joined(Mode::Eager, &mut toys);
        keeper.pause(wall(500));
        assert_eq!(drive(&mut keeper, &mut toys, wall(5000)).1, [0; 0]);
        keeper.advance(at(6), wall(5000)).expect("nothing is at work");
        assert_eq!(drive(&mut keeper, &mut toys, wall(5000)).1, [5, 6]);
        assert_eq!(keeper.now(wall(9000)), at(6));
        keeper.resume(wall(10_000));
        assert_eq!(keeper.now(wall(10_500)), at(6) + TimeDelta::milliseconds(500), "the pause itself did not pass");
    }
}
