// SPDX-License-Identifier: Apache-2.0
//! Retries of steps that must succeed before a process is ready.
//!
//! Other processes start, stop and write at the same time. If a server is not ready yet, or an object has changed
//! meanwhile, the process retries, with growing pauses. The caller does not retry permanent failures: a rejected
//! request, or a wrong configuration.

use chrono::TimeDelta;
use clock::{Clock, TimerClass};

use crate::Context;

/// Wall time between the first two attempts; doubled each time.
const FIRST_PAUSE: TimeDelta = TimeDelta::milliseconds(50);
/// Maximum wall time between two attempts.
const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(2);
/// Maximum number of attempts; they take some 30 s.
const ATTEMPTS: u32 = 20;
/// Maximum number of attempts in a simulation, where wall time stands: enough for conflicts with concurrent writes.
const AT_ONCE: u32 = 5;

/// Counter of attempts.
#[derive(Debug)]
pub struct Attempts {
    /// Clock for the pauses; `None`: wall time stands.
    wall: Option<Clock>,
    count: u32,
}

impl Attempts {
    /// Creates the counter of a component that starts.
    pub fn of(context: &Context) -> Self {
        Self { wall: context.tasks.catches().then(|| context.wall.clone()), count: 0 }
    }

    /// Creates a counter with pauses in wall time.
    pub fn on(wall: Clock) -> Self {
        Self { wall: Some(wall), count: 0 }
    }

    /// Waits after a failed attempt until the next one; returns false if there is to be none.
    pub async fn again(&mut self) -> bool {
        let count = self.count;
        self.count += 1;
        match &self.wall {
            None => count < AT_ONCE,
            Some(_) if count >= ATTEMPTS => false,
            Some(wall) => {
                let pause = FIRST_PAUSE.checked_mul(1 << count.min(10)).unwrap_or(LONGEST_PAUSE);
                wall.sleep(pause.min(LONGEST_PAUSE), TimerClass::Work).await;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clock::{Instant, SimulatedClock, TimeSource};
    use futures::FutureExt;

    use super::*;

    #[test]
    fn it_lasts_some_thirty_seconds() {
        let time = SimulatedClock::new(Instant::UNIX_EPOCH);
        let mut attempts = Attempts::on(Clock::new(time.clone()));
        let mut pauses = Vec::new();
        loop {
            let before = time.now();
            let mut again = std::pin::pin!(attempts.again());
            if let Some(goes_on) = again.as_mut().now_or_never() {
                assert!(!goes_on);
                break;
            }
            time.fire_next(None).expect("a pause");
            assert_eq!(again.now_or_never(), Some(true));
            pauses.push((time.now() - before).num_milliseconds());
        }
        assert_eq!(&pauses[..8], [50, 100, 200, 400, 800, 1600, 2000, 2000]);
        let total: i64 = pauses.iter().sum();
        assert!((25_000..35_000).contains(&total), "{total}");
    }
}
