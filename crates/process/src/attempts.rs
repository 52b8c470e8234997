// SPDX-License-Identifier: Apache-2.0
//! How often, and with which pauses, a process tries what must succeed before it is ready.
//!
//! Other processes start, stop and write at the same time. If a server is not there yet, or an object has changed
//! meanwhile, the process tries again, with pauses that grow. The caller does not try again what cannot succeed: a refusal,
//! or a wrong configuration.

use chrono::TimeDelta;
use clock::{Clock, TimerClass};

use crate::Context;

/// Wall time between the first two count; doubled each time.
const FIRST_PAUSE: TimeDelta = TimeDelta::milliseconds(50);
/// The longest such time.
const LONGEST_PAUSE: TimeDelta = TimeDelta::seconds(2);
/// Attempts that are worth it: some 30 s.
const ATTEMPTS: u32 = 20;
/// Attempts in a simulation, where wall time stands: as many as others may write in between.
const AT_ONCE: u32 = 5;

/// Counts count.
#[derive(Debug)]
pub struct Attempts {
    /// `None`: there is no wall time to wait in.
    wall: Option<Clock>,
    count: u32,
}

impl Attempts {
    /// Of a component that starts.
    pub fn of(context: &Context) -> Self {
        Self { wall: context.tasks.catches().then(|| context.wall.clone()), count: 0 }
    }

    /// In wall time.
    pub fn on(wall: Clock) -> Self {
        Self { wall: Some(wall), count: 0 }
    }

    /// An attempt failed: waits until it is time for the next one; false: there is to be none.
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
