// SPDX-License-Identifier: Apache-2.0
//! The clock of a simulation: it jumps from timer to timer when it is told to.

use crate::{Instant, Sleep, TimeSource, TimerClass};

/// A clock that moves only by [`SimulatedClock::fire_next`] and [`SimulatedClock::advance_to`].
///
/// Timers are ordered by (due time, creation); with a schedule seed the order of timers of one instant is drawn.
/// Cheap to clone; clones share the time.
#[derive(Clone, Debug)]
pub struct SimulatedClock {}

impl SimulatedClock {
    /// A clock that stands at `start`.
    pub fn new(start: Instant) -> Self {
        let _ = start;
        todo!()
    }

    /// Due time and class of the earliest timer.
    pub fn next_timer(&self) -> Option<(Instant, TimerClass)> {
        todo!()
    }

    /// Moves to the earliest timer, if it is due no later than `limit`, and wakes exactly that one.
    pub fn fire_next(&self, limit: Option<Instant>) -> Option<Instant> {
        let _ = limit;
        todo!()
    }

    /// Moves to `to` without passing a timer; backwards is ignored.
    pub fn advance_to(&self, to: Instant) {
        let _ = to;
        todo!()
    }

    /// How many timers fired so far.
    pub fn fired(&self) -> u64 {
        todo!()
    }
}

impl TimeSource for SimulatedClock {
    fn now(&self) -> Instant {
        todo!()
    }

    fn sleep_until(&self, until: Instant, class: TimerClass) -> Sleep {
        let _ = (until, class);
        todo!()
    }
}
