// SPDX-License-Identifier: Apache-2.0
//! Obstacles that keep time from moving.
//!
//! Decisions may be made on the thread of a participant, which has reported that it is idle and then spins or is stopped:
//! then it owes no report, and gets no request. So the time at which the next decision is due is known,
//! and that participant is an obstacle while the decision is overdue.

use chrono::TimeDelta;
use clock::Instant;
use eventlog::Revision;

use super::{Decision, Participant, Timekeeper, WaitsFor};

/// Wall time for which a decision is overdue, or a task occupies a thread, before this is shown as an obstacle.
pub const OVERDUE: TimeDelta = TimeDelta::seconds(3);
/// Maximum wall time in which API servers report their line counts; later a server that does not is no longer waited
/// for.
const SERVERS: TimeDelta = TimeDelta::seconds(10);

/// The next decision.
#[derive(Debug, Default)]
pub(super) struct NextDecision {
    /// Participant on whose thread decisions are made; `None`: they depend on no participant.
    made_by: Option<String>,
    /// Wall time at which it is due; `None`: there is nothing to decide.
    due: Option<Instant>,
}

impl NextDecision {
    /// Records the previous decision and its instant.
    pub(super) fn follows(&mut self, previous: &Decision, wall: Instant) {
        self.due = match previous {
            Decision::Wait { until } => *until,
            Decision::Barrier { .. } => Some(wall + SERVERS),
            Decision::Grant { .. } | Decision::Done => Some(wall),
        };
    }

    /// Participant that owes the decision at an instant.
    fn owed_by(&self, wall: Instant) -> Option<&str> {
        self.made_by.as_deref().filter(|_| self.due.is_some_and(|due| wall - due >= OVERDUE))
    }
}

impl Timekeeper {
    /// Sets the participant on whose thread decisions are made.
    pub fn decide_on(&mut self, name: &str) {
        self.next_decision.made_by = Some(name.to_owned());
    }

    /// Records that there is something to decide, since a report or a command has arrived.
    pub fn call(&mut self, wall: Instant) {
        let asks_servers = self.barrier.at.is_some() && self.barrier.line_counts.is_none();
        let due = &mut self.next_decision.due;
        // No decision can be made before the API servers have reported.
        if !asks_servers {
            *due = Some(due.map_or(wall, |due| due.min(wall)));
        }
    }

    /// True if all work of this instant is done, according to the reports: every participant is idle and has read the
    /// log up to `head`.
    pub fn is_settled(&self, head: Revision) -> bool {
        let lags =
            self.participants.values().any(|participant| self.lags(participant)) || self.awaited_outage().is_some();
        !lags && self.barrier.line_counts.is_some() && self.barrier.at == Some(head)
    }

    /// Obstacles that keep time from moving.
    pub fn waits_for(&self, wall: Instant) -> WaitsFor {
        let owes_decision = self.next_decision.owed_by(wall);
        let participants = self
            .participants
            .iter()
            .filter(|(name, participant)| self.lags(participant) || owes_decision == Some(name.as_str()))
            .map(|(name, _)| name.clone());
        let servers = self.awaited_outage().map(|outage| outage.name.clone());
        let absent = self.awaited().map(str::to_owned);
        let participants = participants.chain(servers).chain(absent).collect();
        WaitsFor { participants, holds: self.holds.keys().cloned().collect() }
    }

    /// True if a participant works, or has not yet seen the barrier.
    fn lags(&self, participant: &Participant) -> bool {
        !participant.has_carried_out() || (self.barrier.line_counts.is_some() && !self.barrier.is_seen_by(participant))
    }
}

#[cfg(test)]
mod tests {
    use process::participant::{Idle, Join, LineCounts};

    use super::*;
    use crate::time::timekeeper::Mode;

    const HEAD: Revision = Revision(10);

    fn at(seconds: i64) -> Instant {
        Instant::from_timestamp(1_690_488_000 + seconds, 0).expect("in range")
    }

    fn wall(milliseconds: i64) -> Instant {
        Instant::from_timestamp(1_800_000_000, 0).expect("in range") + TimeDelta::milliseconds(milliseconds)
    }

    /// A timekeeper with two idle participants; `own` has a timer in five seconds.
    fn keeper(mode: Mode) -> Timekeeper {
        let mut keeper = Timekeeper::new(at(0), mode, wall(0));
        for (name, next) in [("other", None), ("own", Some(at(5)))] {
            keeper.join(name, Join { reads_dial: true, is_command: false }, wall(0));
            keeper.report(name, Idle { next, ..Idle::default() });
        }
        keeper.keep("own");
        keeper
    }

    #[track_caller]
    fn check(keeper: &Timekeeper, milliseconds: i64, expected: &[&str]) {
        assert_eq!(keeper.waits_for(wall(milliseconds)).participants, expected);
    }

    #[test]
    fn an_undecided_thread_is_named_after_three_seconds() {
        let mut keeper = keeper(Mode::Stepped);
        keeper.decide_on("own");
        assert_eq!(keeper.decide(HEAD, wall(0)), Decision::Wait { until: None });
        check(&keeper, 600_000, &[]);
        // A command is not taken up.
        keeper.advance(at(5), TimeDelta::zero(), wall(600_000)).expect("no other command");
        keeper.call(wall(600_000));
        keeper.call(wall(601_000));
        check(&keeper, 602_999, &[]);
        check(&keeper, 603_000, &["own"]);
        // The API servers get a request, and have time to answer.
        let Decision::Barrier { number, .. } = keeper.decide(HEAD, wall(604_000)) else { panic!("a barrier") };
        keeper.call(wall(604_500));
        check(&keeper, 616_999, &[]);
        check(&keeper, 617_000, &["own"]);
        keeper.barrier_stands(number, LineCounts::default(), wall(618_000));
        assert!(matches!(keeper.decide(HEAD, wall(618_000)), Decision::Grant { .. }));
        check(&keeper, 618_000, &["own"]);
        // It has carried out the grant, and its report is not taken up.
        keeper.report("own", Idle { sequence: 1, grant: 1, ..Idle::default() });
        check(&keeper, 620_999, &[]);
        check(&keeper, 621_000, &["own"]);
    }

    #[test]
    fn self_running_time_is_overdue_after_its_next_tick() {
        let mut keeper = keeper(Mode::Rate(1.0));
        keeper.decide_on("own");
        assert_eq!(keeper.decide(HEAD, wall(0)), Decision::Wait { until: Some(wall(1000)) });
        check(&keeper, 3999, &[]);
        check(&keeper, 4000, &["own"]);
    }

    #[test]
    fn decisions_of_another_thread_are_no_obstacle() {
        let mut keeper = keeper(Mode::Stepped);
        keeper.call(wall(0));
        check(&keeper, 600_000, &[]);
    }
}
