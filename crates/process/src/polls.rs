// SPDX-License-Identifier: Apache-2.0
//! Polls of the tasks of several components by one thread, as other threads see them.
//!
//! A poll that does not end occupies the thread: no other task of it is polled. [`Polls::look`] returns the component
//! whose task is polled, and for how long; [`Polls::work`] what each component has done.
//!
//! **Costs.** Two reads of the thread's processor time and four stores per poll; no lock. Polls are numbered: one that is
//! found by two looks has lasted at least from the first of them to the second, so another thread must look from time to
//! time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use clock::Instant;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

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
    /// Components by their number minus 1; `None`: the number is free.
    components: Mutex<Vec<Option<Shown>>>,
    /// State at the last look, and wall time of the first look at it.
    seen: Mutex<Option<(u64, Instant)>>,
}

#[derive(Debug)]
struct Shown {
    name: Arc<str>,
    counts: Arc<Counts>,
}

/// Counters of one component. Only the polling thread writes them.
#[derive(Debug, Default)]
struct Counts {
    passes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Counts {
    fn add(counter: &AtomicU64, more: u64) {
        counter.store(counter.load(Ordering::Relaxed).saturating_add(more), Ordering::Relaxed);
    }
}

/// Work of a component since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Number of passes that its controllers have begun.
    pub passes: u64,
    /// Processor time of its polls, in seconds. Includes its requests that servers on the same thread answer.
    pub processor_seconds: f64,
}

impl Polls {
    /// Adds a component; `None`: there are too many.
    pub(crate) fn of(&self, name: &str) -> Option<Polled> {
        let mut components = self.0.components.lock();
        let place = components.iter().position(Option::is_none).unwrap_or_else(|| components.len());
        let number = u64::try_from(place).ok()? + 1;
        if number > COMPONENT {
            return None;
        }
        if place == components.len() {
            components.push(None);
        }
        let counts = Arc::new(Counts::default());
        components[place] = Some(Shown { name: name.into(), counts: counts.clone() });
        Some(Polled { polls: self.clone(), number, counts, begun: AtomicU64::new(0) })
    }

    /// Returns the work of each component, by its name.
    pub fn work(&self) -> BTreeMap<String, Work> {
        let mut all: BTreeMap<_, Work> = BTreeMap::new();
        for Shown { name, counts } in self.0.components.lock().iter().flatten() {
            let work = all.entry(name.to_string()).or_default();
            work.passes += counts.passes.load(Ordering::Relaxed);
            work.processor_seconds += Duration::from_nanos(counts.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        }
        all
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
        let name = self.0.components.lock().get(place)?.as_ref()?.name.clone();
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
    counts: Arc<Counts>,
    /// Processor time of the thread at the begin of the present poll, in nanoseconds.
    begun: AtomicU64,
}

/// Processor time of the current thread, in nanoseconds.
fn processor_time() -> u64 {
    u64::try_from(clock::processor_time().as_nanos()).unwrap_or(u64::MAX)
}

impl Polled {
    /// Increments the number of passes.
    pub(crate) fn count_pass(&self) {
        Counts::add(&self.counts.passes, 1);
    }

    /// Records the begin of a poll. To be called by the thread only.
    pub(crate) fn begin(&self) {
        self.begun.store(processor_time(), Ordering::Relaxed);
        let latest = &self.polls.0.latest;
        let number = (latest.load(Ordering::Relaxed) >> BITS) + 1;
        latest.store(number << BITS | self.number, Ordering::Relaxed);
    }

    /// Records the end of a poll. To be called by the thread only.
    pub(crate) fn end(&self) {
        let latest = &self.polls.0.latest;
        latest.store(latest.load(Ordering::Relaxed) & !COMPONENT, Ordering::Relaxed);
        let taken = processor_time().saturating_sub(self.begun.load(Ordering::Relaxed));
        Counts::add(&self.counts.nanoseconds, taken);
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        let mut components = self.polls.0.components.lock();
        if let Some(shown) = usize::try_from(self.number - 1).ok().and_then(|place| components.get_mut(place)) {
            *shown = None;
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

    #[test]
    fn work_of_a_component_counts_polls_and_passes() {
        let polls = Polls::default();
        let (a, b) = (polls.of("a").expect("a number"), polls.of("b").expect("a number"));
        a.count_pass();
        a.count_pass();
        b.begin();
        let before = clock::processor_time();
        while clock::processor_time() == before {
            std::hint::spin_loop();
        }
        b.end();
        let work = polls.work();
        assert_eq!(work["a"], Work { passes: 2, processor_seconds: 0.0 });
        assert!(work["b"].passes == 0 && work["b"].processor_seconds > 0.0, "{work:?}");
        drop(b);
        assert_eq!(polls.work().into_keys().collect::<Vec<_>>(), ["a"]);
    }
}
