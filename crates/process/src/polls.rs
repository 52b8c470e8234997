// SPDX-License-Identifier: Apache-2.0
//! Polls of the tasks of several components by one thread, as other threads see them.
//!
//! A poll that does not end occupies the thread: no other task of it is polled. [`Polls::look`] returns the component
//! whose task is polled, and for how long.
//!
//! **Costs.** Two stores per poll; no lock, and no read of a clock. Polls are numbered: one that is found by two looks has
//! lasted at least from the first of them to the second, so another thread must look from time to time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::TimeDelta;
use clock::Instant;
use parking_lot::Mutex;

/// Number of bits for the number of a component.
const BITS: u32 = 16;
const COMPONENT: u64 = (1 << BITS) - 1;

/// Present poll of a thread. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Polls(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Number of the latest poll, and in the lower [`BITS`] that of its component: 0 after the poll.
    latest: AtomicU64,
    /// Names of components by their number minus 1; `None`: the number is free.
    names: Mutex<Vec<Option<Arc<str>>>>,
    /// State at the last look, and wall time of the first look at it.
    seen: Mutex<Option<(u64, Instant)>>,
}

impl Polls {
    /// Adds a component; `None`: there are too many.
    pub(crate) fn of(&self, name: &str) -> Option<Polled> {
        let mut names = self.0.names.lock();
        let place = names.iter().position(Option::is_none).unwrap_or_else(|| names.len());
        let number = u64::try_from(place).ok()? + 1;
        if number > COMPONENT {
            return None;
        }
        if place == names.len() {
            names.push(None);
        }
        names[place] = Some(name.into());
        Some(Polled { polls: self.clone(), number })
    }

    /// Returns the name of the component whose task is polled, and the time since the first look at this poll; `None`:
    /// no component is polled.
    pub fn look(&self, wall: Instant) -> Option<(Arc<str>, TimeDelta)> {
        let latest = self.0.latest.load(Ordering::Relaxed);
        let since = {
            let mut seen = self.0.seen.lock();
            match *seen {
                Some((state, since)) if state == latest => since,
                _ => {
                    *seen = Some((latest, wall));
                    wall
                }
            }
        };
        let place = usize::try_from((latest & COMPONENT).checked_sub(1)?).ok()?;
        let name = self.0.names.lock().get(place)?.clone()?;
        // The component may have ended meanwhile, and another one may have its number.
        let is_present = self.0.latest.load(Ordering::Relaxed) == latest;
        is_present.then(|| (name, (wall - since).max(TimeDelta::zero())))
    }
}

/// A component whose tasks are polled by the thread.
#[derive(Debug)]
pub(crate) struct Polled {
    polls: Polls,
    number: u64,
}

impl Polled {
    /// Records the begin of a poll. To be called by the thread only.
    pub(crate) fn begin(&self) {
        let latest = &self.polls.0.latest;
        let number = (latest.load(Ordering::Relaxed) >> BITS) + 1;
        latest.store(number << BITS | self.number, Ordering::Relaxed);
    }

    /// Records the end of a poll. To be called by the thread only.
    pub(crate) fn end(&self) {
        let latest = &self.polls.0.latest;
        latest.store(latest.load(Ordering::Relaxed) & !COMPONENT, Ordering::Relaxed);
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        let mut names = self.polls.0.names.lock();
        if let Some(name) = usize::try_from(self.number - 1).ok().and_then(|place| names.get_mut(place)) {
            *name = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_lasts_from_the_first_look_at_it() {
        let wall = |seconds: i64| Instant::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let polls = Polls::default();
        let (a, b) = (polls.of("a").expect("a number"), polls.of("b").expect("a number"));
        let check = |at: i64, expected: Option<(&str, i64)>| {
            let found = polls.look(wall(at)).map(|(name, time)| (name.to_string(), time.num_seconds()));
            assert_eq!(found, expected.map(|(name, time)| (name.to_owned(), time)), "at {at}");
        };
        check(0, None);
        a.begin();
        check(1, Some(("a", 0)));
        check(13, Some(("a", 12)));
        // Wall time was set back.
        check(0, Some(("a", 0)));
        a.end();
        check(14, None);
        a.begin();
        check(15, Some(("a", 0)));
        a.end();
        a.begin();
        check(20, Some(("a", 0)));
        a.end();
        b.begin();
        check(21, Some(("b", 0)));
        b.end();
        drop(a);
        let c = polls.of("c").expect("a number");
        assert_eq!(c.number, 1, "numbers are used again");
        c.begin();
        check(22, Some(("c", 0)));
    }
}
