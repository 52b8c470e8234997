// SPDX-License-Identifier: Apache-2.0
//! The wall clock: for processes and their connections.

use std::time::Duration;

use crate::{Instant, Sleep, TimeSource, TimerClass};

/// Wall time. The system's clock is read once; from then on the time advances with the monotonic clock, so that it
/// never goes back, and stands while the machine sleeps.
///
/// Its sleeps need a tokio runtime with a time driver.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    read: Instant,
    at: std::time::Instant,
}

impl WallClock {
    /// Reads the system's clock.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the system's clocks")]
    pub fn new() -> Self {
        Self { read: std::time::SystemTime::now().into(), at: std::time::Instant::now() }
    }
}

/// Processor time of the current thread, since its start. A system call: some 0.2 µs.
#[must_use]
pub fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeSource for WallClock {
    fn now(&self) -> Instant {
        self.read + self.at.elapsed()
    }

    fn sleep_until(&self, until: Instant, _class: TimerClass) -> Sleep {
        let left = (until - self.now()).to_std().unwrap_or(Duration::ZERO);
        Box::pin(futures::future::maybe_done(async move { tokio::time::sleep(left).await }))
    }
}
