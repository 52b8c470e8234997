// SPDX-License-Identifier: Apache-2.0
//! Instants to which a command or the mode moves landscape time, and time that runs by itself.

use chrono::TimeDelta;
use clock::{END, Instant};

use super::{Mode, TICK, Timekeeper};

/// Distance up to which mode `eager` jumps to work timers.
const EAGER_HORIZON: TimeDelta = TimeDelta::hours(1);

/// Instants of landscape time and of wall time from which time that runs by itself is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    pub(super) landscape: Instant,
    pub(super) wall: Instant,
}

impl Timekeeper {
    /// Latest instant to which time may move now; `None`: it stands.
    pub(super) fn limit(&self, wall: Instant) -> Option<Instant> {
        self.goal(wall).map(|goal| goal.min(END))
    }

    /// Instant to which the command or the mode moves time, the end of time disregarded; `None`: time stands.
    fn goal(&self, wall: Instant) -> Option<Instant> {
        if self.command.is_some() {
            return self.target();
        }
        if self.paused || self.stands_still() {
            return None;
        }
        if self.awaits_mode_until.is_some() {
            return Some(self.near_work().unwrap_or(self.now));
        }
        let drift = self.drift(wall);
        match self.mode {
            Mode::Eager => self.near_work().max(drift),
            Mode::Rate(_) => drift,
            Mode::Stepped => None,
            Mode::Auto => self.next_timer(),
        }
    }

    /// Instant of the earliest work timer to which mode `eager` jumps; not after the end of time.
    pub(super) fn near_work(&self) -> Option<Instant> {
        let work = self.participants.values().filter_map(|p| p.idle.as_ref()?.work).min();
        work.filter(|work| *work <= (self.now + EAGER_HORIZON).min(END))
    }

    /// True if a live-lock or the absence of a component keeps time from moving by itself.
    fn stands_still(&self) -> bool {
        let is_stopped = self.live_lock.is_some() || !self.awaited.is_empty();
        is_stopped && matches!(self.mode, Mode::Eager | Mode::Auto)
    }

    /// Present instant of time that runs by itself; `None`: it does not run.
    pub(super) fn drift(&self, wall: Instant) -> Option<Instant> {
        let waits = self.awaits_mode_until.is_some() || self.awaited_outage().is_some();
        let stands = self.paused || waits || self.stands_still();
        if stands || self.command.is_some() || !self.holds.is_empty() {
            return None;
        }
        let rate = match self.mode {
            Mode::Eager => 1.0,
            Mode::Rate(rate) => rate,
            Mode::Stepped | Mode::Auto => return None,
        };
        let passed = (wall - self.anchor.wall).num_milliseconds().max(0);
        #[expect(clippy::cast_possible_truncation, reason = "saturates, far after the end of time")]
        let passed = (passed as f64 * rate) as i64;
        let passed = TimeDelta::try_milliseconds(passed);
        let drift = passed.and_then(|passed| self.anchor.landscape.checked_add_signed(passed));
        Some(drift.map_or(END, |drift| drift.min(END)))
    }

    /// Wall time at which time that runs by itself reaches the next timer or the next tick.
    pub(super) fn wall_of(&self, next: Option<Instant>, wall: Instant) -> Instant {
        let rate = if let Mode::Rate(rate) = self.mode { rate } else { 1.0 };
        let tick = self.now + TICK;
        let due = next.map_or(tick, |next| next.min(tick));
        let left = (due - self.anchor.landscape).num_milliseconds() as f64 / rate.max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and a tick is never far away")]
        let left = left.ceil().min(86_400_000.0) as i64;
        (self.anchor.wall + TimeDelta::milliseconds(left)).max(wall + TimeDelta::milliseconds(1))
    }
}
