// SPDX-License-Identifier: Apache-2.0
//! Wall time of a process: what `Context::wall` is outside of a simulation.

use std::time::Duration;

use clock::{Clock, Instant, Sleep, TimeSource, TimerClass};

/// The machine's clock; its timers run on the time driver of the runtime that polls them.
pub fn wall_clock() -> Clock {
    Clock::new(Wall)
}

#[derive(Debug)]
struct Wall;

impl TimeSource for Wall {
    #[expect(clippy::disallowed_methods, reason = "this is the wall clock of the Context")]
    fn now(&self) -> Instant {
        std::time::SystemTime::now().into()
    }

    fn sleep_until(&self, until: Instant, _: TimerClass) -> Sleep {
        let wait = (until - self.now()).to_std().unwrap_or(Duration::ZERO);
        Box::pin(tokio::time::sleep(wait))
    }
}
