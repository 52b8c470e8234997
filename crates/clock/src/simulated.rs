// SPDX-License-Identifier: Apache-2.0
//! The clock of a simulation: it jumps from timer to timer on request.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};

use crate::{END, Instant, Random, Sleep, TimeSource, TimerClass};

/// A clock that moves only by [`SimulatedClock::fire_next`] and [`SimulatedClock::advance_to`].
///
/// Timers are ordered by (due time, creation); with a schedule seed the order of timers of one instant is drawn.
/// Cheap to clone; clones share the time.
#[derive(Clone, Debug)]
pub struct SimulatedClock(Arc<Mutex<State>>);

/// Sort key of a timer: due time, place among those of one instant, number of its creation.
type Place = (Instant, u64, u64);

#[derive(Debug)]
struct State {
    now: Instant,
    timers: BTreeMap<Place, Timer>,
    created: u64,
    fired: u64,
    fired_calendar: u64,
    pending_work: usize,
    schedule: Option<Random>,
}

#[derive(Debug)]
struct Timer {
    class: TimerClass,
    waker: Option<Waker>,
}

impl SimulatedClock {
    /// Creates a clock that shows `start`.
    pub fn new(start: Instant) -> Self {
        Self::with_schedule(start, None)
    }

    /// Creates a clock that draws the order of timers of one instant from `schedule`, if given.
    pub fn with_schedule(start: Instant, schedule: Option<Random>) -> Self {
        Self(Arc::new(Mutex::new(State {
            now: start,
            timers: BTreeMap::new(),
            created: 0,
            fired: 0,
            fired_calendar: 0,
            pending_work: 0,
            schedule,
        })))
    }

    /// Returns due time and class of the earliest timer.
    pub fn next_timer(&self) -> Option<(Instant, TimerClass)> {
        self.state().timers.first_key_value().map(|(place, timer)| (place.0, timer.class))
    }

    /// Returns the due time of the earliest work timer.
    pub fn next_work_timer(&self) -> Option<Instant> {
        let state = self.state();
        if state.pending_work == 0 {
            return None;
        }
        state.timers.iter().find(|(_, timer)| timer.class == TimerClass::Work).map(|(place, _)| place.0)
    }

    /// Moves to the earliest timer, if it is due no later than `limit` and [`END`], and wakes only that one.
    pub fn fire_next(&self, limit: Option<Instant>) -> Option<Instant> {
        let mut state = self.state();
        let place = *state.timers.first_key_value()?.0;
        if place.0 > limit.map_or(END, |limit| limit.min(END)) {
            return None;
        }
        let timer = state.remove(&place)?;
        state.now = state.now.max(place.0);
        state.fired += 1;
        state.fired_calendar += u64::from(timer.class == TimerClass::Calendar);
        let now = state.now;
        drop(state);
        if let Some(waker) = timer.waker {
            waker.wake();
        }
        Some(now)
    }

    /// Moves to `to` without passing a timer, at most to [`END`]; an earlier `to` is ignored.
    pub fn advance_to(&self, to: Instant) {
        let mut state = self.state();
        let next = state.timers.first_key_value().map(|(place, _)| place.0);
        let to = next.map_or(to, |next| next.min(to)).min(END);
        state.now = state.now.max(to);
    }

    /// Number of timers that have fired so far.
    pub fn fired(&self) -> u64 {
        self.state().fired
    }

    /// Number of calendar timers that have fired so far.
    pub fn fired_calendar(&self) -> u64 {
        self.state().fired_calendar
    }

    /// Number of pending timers.
    pub fn pending(&self) -> usize {
        self.state().timers.len()
    }

    /// Number of pending work timers.
    pub fn pending_work(&self) -> usize {
        self.state().pending_work
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn remove(&mut self, place: &Place) -> Option<Timer> {
        let timer = self.timers.remove(place)?;
        self.pending_work -= usize::from(timer.class == TimerClass::Work);
        Some(timer)
    }
}

impl TimeSource for SimulatedClock {
    fn now(&self) -> Instant {
        self.state().now
    }

    fn sleep_until(&self, until: Instant, class: TimerClass) -> Sleep {
        let mut state = self.state();
        if state.now >= until {
            return Box::pin(futures::future::maybe_done(std::future::ready(())));
        }
        let number = state.created;
        state.created += 1;
        let order = state.schedule.as_ref().map_or(0, |random| random.draw("timer", "", number));
        let place = (until, order, number);
        state.pending_work += usize::from(class == TimerClass::Work);
        state.timers.insert(place, Timer { class, waker: None });
        Box::pin(SleepingTask { clock: self.clone(), place })
    }
}

struct SleepingTask {
    clock: SimulatedClock,
    place: Place,
}

impl Future for SleepingTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.state();
        let due = self.place.0 <= state.now;
        match state.timers.get_mut(&self.place) {
            Some(timer) if !due => {
                if !timer.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                    timer.waker = Some(context.waker().clone());
                }
                Poll::Pending
            }
            // Fired, or due and met before its turn: either way `now() >= until`.
            _ => Poll::Ready(()),
        }
    }
}

impl Drop for SleepingTask {
    fn drop(&mut self) {
        self.clock.state().remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use futures::FutureExt;

    use super::*;
    use crate::Clock;

    fn start() -> Instant {
        Instant::from_timestamp(1_690_488_000, 0).expect("in range")
    }

    /// Checks the seconds of the timers in the order in which they fire, each with the second at which the clock
    /// stood then.
    #[track_caller]
    fn check(due: &[i64], limit: Option<i64>, expected: &[i64]) {
        let clock = SimulatedClock::new(start());
        let mut sleeps: Vec<_> =
            due.iter().map(|s| clock.sleep_until(start() + TimeDelta::seconds(*s), TimerClass::Work)).collect();
        let limit = limit.map(|s| start() + TimeDelta::seconds(s));
        let mut fired = Vec::new();
        while let Some(at) = clock.fire_next(limit) {
            assert_eq!(at, clock.now());
            fired.push((at - start()).num_seconds());
        }
        assert_eq!(fired, expected, "timers {due:?} until {limit:?}");
        assert_eq!(clock.fired(), expected.len() as u64);
        let ready = sleeps.iter_mut().filter_map(FutureExt::now_or_never).count();
        let last = expected.last().copied().unwrap_or(0);
        assert_eq!(ready, due.iter().filter(|s| **s <= last).count());
    }

    #[test]
    fn timers_fire_in_order_of_their_due_time() {
        check(&[], None, &[]);
        check(&[5], None, &[5]);
        check(&[5, 3, 4], None, &[3, 4, 5]);
        check(&[5, 5], None, &[5, 5]);
        check(&[5, 3, 9], Some(5), &[3, 5]);
        check(&[5, 3, 9], Some(2), &[]);
    }

    #[test]
    fn a_due_time_that_has_passed_needs_no_timer() {
        check(&[0], None, &[]);
        check(&[-1], None, &[]);
    }

    #[test]
    fn a_sleep_that_is_over_stays_over() {
        let clock = Clock::new(SimulatedClock::new(start()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            for clock in [clock, Clock::wall()] {
                let mut sleep = clock.sleep(TimeDelta::zero(), TimerClass::Work);
                futures::future::poll_fn(|cx| sleep.as_mut().poll(cx)).await;
                assert_eq!(sleep.as_mut().now_or_never(), Some(()));
                assert_eq!(sleep.as_mut().now_or_never(), Some(()));
            }
        });
    }

    #[test]
    fn timers_of_one_instant_fire_in_order_of_creation() {
        let clock = SimulatedClock::new(start());
        let due = start() + TimeDelta::seconds(1);
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut sleeps: Vec<_> = (0..3).map(|_| clock.sleep_until(due, TimerClass::Work)).collect();
        for (number, sleep) in sleeps.iter_mut().enumerate() {
            let waker = futures::task::waker(Arc::new(Note { number, woken: woken.clone() }));
            assert_eq!(sleep.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        }
        for count in 1..=3 {
            clock.fire_next(None);
            assert_eq!(*woken.lock(), (0..count).collect::<Vec<_>>());
        }
    }

    struct Note {
        number: usize,
        woken: Arc<Mutex<Vec<usize>>>,
    }

    impl futures::task::ArcWake for Note {
        fn wake_by_ref(this: &Arc<Self>) {
            this.woken.lock().push(this.number);
        }
    }

    #[test]
    fn a_schedule_changes_the_order_within_an_instant_only() {
        let order = |seed: Option<u64>| {
            let clock = SimulatedClock::with_schedule(start(), seed.map(Random::new));
            let woken = Arc::new(Mutex::new(Vec::new()));
            let mut sleeps: Vec<_> = (0..8)
                .map(|n| clock.sleep_until(start() + TimeDelta::seconds(1 + n / 4), TimerClass::Calendar))
                .collect();
            for (number, sleep) in sleeps.iter_mut().enumerate() {
                let waker = futures::task::waker(Arc::new(Note { number, woken: woken.clone() }));
                assert_eq!(sleep.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
            }
            while clock.fire_next(None).is_some() {}
            woken.lock().clone()
        };
        assert_eq!(order(None), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(Some(1)), order(Some(1)));
        let orders: std::collections::BTreeSet<_> = (0..20).map(|seed| order(Some(seed))).collect();
        assert!(orders.len() > 5, "schedules differ: {orders:?}");
        assert!(orders.iter().all(|order| order[..4].iter().all(|number| *number < 4)));
    }

    #[test]
    fn a_dropped_sleep_takes_its_timer_along() {
        let clock = SimulatedClock::new(start());
        drop(clock.sleep_until(start() + TimeDelta::seconds(1), TimerClass::Work));
        assert_eq!((clock.next_timer(), clock.pending()), (None, 0));
        assert_eq!(clock.fire_next(None), None);
    }

    #[test]
    fn advancing_stops_at_timers_and_never_lowers_time() {
        let clock = SimulatedClock::new(start());
        let _sleep = clock.sleep_until(start() + TimeDelta::seconds(10), TimerClass::Calendar);
        for (to, stands) in [(5, 5), (3, 5), (10, 10), (20, 10)] {
            clock.advance_to(start() + TimeDelta::seconds(to));
            assert_eq!((Clock::new(clock.clone()).now() - start()).num_seconds(), stands, "advance to {to}");
        }
        assert_eq!(clock.next_timer(), Some((start() + TimeDelta::seconds(10), TimerClass::Calendar)));
    }

    #[test]
    fn time_stops_at_its_end() {
        let clock = SimulatedClock::new(END - TimeDelta::seconds(10));
        let handle = Clock::new(clock.clone());
        let timers: Vec<_> =
            [10, 11, i64::MAX / 1000].map(|s| handle.sleep(TimeDelta::seconds(s), TimerClass::Work)).into();
        assert_eq!((clock.fire_next(None), clock.fire_next(None)), (Some(END), None));
        assert_eq!(clock.fire_next(Some(END + TimeDelta::days(1))), None);
        clock.advance_to(END + TimeDelta::days(1));
        assert_eq!((clock.now(), clock.pending()), (END, 2));
        drop(timers);
        let clock = SimulatedClock::new(END - TimeDelta::seconds(10));
        clock.advance_to(Instant::MAX_UTC);
        assert_eq!(clock.now(), END);
    }
}
