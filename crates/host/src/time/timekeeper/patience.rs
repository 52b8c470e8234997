// SPDX-License-Identifier: Apache-2.0
//! Wall time that measures limits: only that in which the host itself ran.
//!
//! A machine that stalls for a while (it swaps, sleeps, or has no free processor) stalls the host and all processes
//! that the host waits for: wall time passes, and no answer can arrive. So limits are measured with *looks*: of the
//! wall time between two looks at most [`LOOK`] counts, and while a limit is pending there is a look at least that
//! often.

use chrono::TimeDelta;
use clock::Instant;

/// Maximum wall time that counts between two looks.
pub(super) const LOOK: TimeDelta = TimeDelta::seconds(1);

/// Wall time without stalls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Wall time of the last look.
    looked: Instant,
    /// Time that counts; it begins with wall time and falls behind with each stall.
    now: Instant,
}

impl Patience {
    pub(super) fn new(wall: Instant) -> Self {
        Self { looked: wall, now: wall }
    }

    /// Takes a look; returns the counted time.
    pub(super) fn at(&mut self, wall: Instant) -> Instant {
        self.now += (wall - self.looked).clamp(TimeDelta::zero(), LOOK);
        self.looked = self.looked.max(wall);
        self.now
    }

    /// Returns the wall time of the next look for a limit that the counted time reaches at `until`.
    pub(super) fn look(&self, until: Instant, wall: Instant) -> Instant {
        wall + (until - self.now).clamp(TimeDelta::zero(), LOOK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_counts_as_one_look() {
        let at = |milliseconds: i64| Instant::UNIX_EPOCH + TimeDelta::milliseconds(milliseconds);
        let mut patience = Patience::new(at(0));
        for (wall, counts, limit, look) in [
            (400, 400, 600, 600),
            (1400, 1400, 5000, 2400),
            // A minute in which the host was not scheduled.
            (61_400, 2400, 5000, 62_400),
            (62_400, 3400, 5000, 63_400),
            // Wall time was set back.
            (60_000, 3400, 5000, 61_000),
            (62_900, 3900, 4000, 63_000),
            (63_000, 4000, 4000, 63_000),
        ] {
            assert_eq!(patience.at(at(wall)), at(counts), "at {wall}");
            assert_eq!(patience.look(at(limit), at(wall)), at(look), "at {wall}");
        }
    }
}
