// SPDX-License-Identifier: Apache-2.0
//! Landscape time and keyed randomness: the only source of either.
//!
//! **Invariants.** Nothing else in the workspace reads a wall clock or an unseeded random source. No kind of
//! Kubernetes is used. The simulated clock moves only on request, and never past [`END`].
//!
//! **Tour.** [`Clock`] the handle that components hold; [`SimulatedClock`] the clock of a simulation; [`WallClock`]
//! the clock of a process; [`Random`] draws that depend only on seed, purpose, key and ordinal.

mod random;
mod simulated;
mod wall;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use chrono::{DateTime, Utc};

pub use random::Random;
pub use simulated::SimulatedClock;
pub use wall::{WallClock, processor_time};

/// An instant of landscape time.
pub type Instant = DateTime<Utc>;

/// Last instant of landscape time, 9999-12-31T23:59:59Z: RFC 3339 and X.509 have no years of five digits. A timer that is
/// due later never fires.
pub const END: Instant = Instant::from_timestamp(253_402_300_799, 0).expect("in range");

/// Purpose of a timer: the mode `eager` jumps to work timers and waits for calendar timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerClass {
    /// Boot of a machine, run of a task, wait of a drain, back-off of a retry.
    Work,
    /// Windows, schedules, expirations, resyncs.
    Calendar,
}

/// A timer's future. After it has resolved it stays ready, however often it is polled: a caller that watches several
/// futures at once need not track which of them have resolved.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Operations of a clock.
pub trait TimeSource: Send + Sync + fmt::Debug {
    /// Returns the present instant.
    fn now(&self) -> Instant;
    /// Resolves once `now() >= until`; at once if that already holds. Dropping the future removes the timer. The
    /// resolved state is permanent: see [`Sleep`].
    fn sleep_until(&self, until: Instant, class: TimerClass) -> Sleep;
}

/// The clock that components hold: cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Arc<dyn TimeSource>);

impl Clock {
    /// Creates a clock on a source.
    pub fn new(source: impl TimeSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Creates a clock that shows wall time.
    pub fn wall() -> Self {
        Self::new(WallClock::new())
    }

    /// Returns the present instant.
    pub fn now(&self) -> Instant {
        self.0.now()
    }

    /// Resolves once `now() >= until`; at once if that already holds. Dropping the future removes the timer.
    pub fn sleep_until(&self, until: Instant, class: TimerClass) -> Sleep {
        self.0.sleep_until(until, class)
    }

    /// Resolves after `duration`.
    pub fn sleep(&self, duration: chrono::TimeDelta, class: TimerClass) -> Sleep {
        let due = self.now().checked_add_signed(duration);
        self.sleep_until(due.unwrap_or(Instant::MAX_UTC), class)
    }
}
