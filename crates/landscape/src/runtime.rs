// SPDX-License-Identifier: Apache-2.0
//! Runtime of a simulation: one thread, and a clock that moves when nothing is runnable.
//!
//! ```text
//! tasks run ──► none runnable ──► park hook ──► one timer fires ──► its task runs ──► …
//!                                     └─ none left, or past the limit: the main task ends the run
//! ```
//!
//! The tokio runtime has neither a time nor an I/O driver: a stray sleep or socket panics at once.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use clock::{Instant, Random, SimulatedClock};
use futures::task::ArcWake;
use parking_lot::{Mutex, MutexGuard};
use process::Tasks;

/// Limit up to which the clock may move while a future is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The clock stands.
    Not,
    /// The clock moves through every timer up to an instant, inclusive.
    Until(Instant),
    /// The clock moves through every timer up to an instant, as long as a work timer waits.
    WhileWork(Instant),
}

/// A runtime, its clock and its wall clock.
#[derive(Debug)]
pub struct Runtime {
    tokio: tokio::runtime::Runtime,
    clock: SimulatedClock,
    wall: SimulatedClock,
    driver: Arc<Driver>,
    schedule: Option<Random>,
}

/// State shared by the main task, the hook and the alarms.
#[derive(Debug)]
struct Driver {
    state: Mutex<State>,
    /// True if the main task was woken and has not run since: it is runnable, which tokio's queue does not show.
    main_is_woken: AtomicBool,
}

#[derive(Debug)]
struct State {
    advance: Advance,
    /// True if nothing is runnable and no timer may fire.
    idle: bool,
    stopped: bool,
    main: Option<Waker>,
}

/// Stops a runtime permanently from within. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Driver>);

impl Stop {
    /// Stops the runtime: no timer fires any more, and the driven future ends without a result.
    pub fn stop(&self) {
        let mut state = self.0.state();
        state.stopped = true;
        if let Some(main) = state.main.take() {
            main.wake();
        }
    }
}

impl Runtime {
    /// Creates a runtime whose clock stands at `start`. With a schedule, the order of timers of one instant and delays
    /// of tasks are drawn from it.
    pub fn new(start: Instant, schedule: Option<Random>) -> Self {
        let clock = SimulatedClock::with_schedule(start, schedule.clone());
        let state = State { advance: Advance::Not, idle: false, stopped: false, main: None };
        let driver = Arc::new(Driver { state: Mutex::new(state), main_is_woken: AtomicBool::new(false) });
        let hook = (driver.clone(), clock.clone());
        let tokio = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(move || hook.0.nothing_is_runnable(&hook.1))
            .build()
            .expect("a runtime without drivers needs nothing of the system");
        Self { tokio, clock, wall: SimulatedClock::new(start), driver, schedule }
    }

    /// Landscape time.
    pub fn clock(&self) -> &SimulatedClock {
        &self.clock
    }

    /// Wall time: it moves only when a test advances it.
    pub fn wall(&self) -> &SimulatedClock {
        &self.wall
    }

    /// Tasks of a new component.
    pub fn tasks(&self) -> Tasks {
        Tasks::on(self.tokio.handle().clone(), self.schedule.clone())
    }

    /// Returns a handle that stops the runtime from within.
    pub fn stop(&self) -> Stop {
        Stop(self.driver.clone())
    }

    /// Runs until `future` has its result. `None`: nothing is runnable and no timer may fire any more, or the runtime
    /// was stopped.
    pub fn drive<T>(&self, advance: Advance, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        self.driver.main_is_woken.store(true, Ordering::Relaxed);
        {
            let mut state = self.driver.state();
            state.advance = advance;
            state.idle = false;
        }
        self.tokio.block_on(poll_fn(|context| {
            // The hook wakes this task after each timer, so that the thread does not sleep when a timer had no task to
            // wake; that is no reason to poll the future.
            if self.driver.main_is_woken.swap(false, Ordering::Relaxed) {
                let main = Main { driver: self.driver.clone(), waker: context.waker().clone() };
                let waker = futures::task::waker(Arc::new(main));
                if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return Poll::Ready(Some(result));
                }
            }
            let mut state = self.driver.state();
            if state.idle || state.stopped {
                return Poll::Ready(None);
            }
            state.main = Some(context.waker().clone());
            Poll::Pending
        }))
    }
}

impl Driver {
    fn nothing_is_runnable(&self, clock: &SimulatedClock) {
        if self.main_is_woken.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        let limit = match state.advance {
            _ if state.stopped => None,
            Advance::Until(limit) => Some(limit),
            Advance::WhileWork(limit) if clock.pending_work() > 0 => Some(limit),
            Advance::WhileWork(_) | Advance::Not => None,
        };
        state.idle = limit.is_none_or(|limit| clock.fire_next(Some(limit)).is_none());
        if let Some(main) = state.main.take() {
            main.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Waker of the main task, which also notifies the hook.
struct Main {
    driver: Arc<Driver>,
    waker: Waker,
}

impl ArcWake for Main {
    fn wake_by_ref(this: &Arc<Self>) {
        this.driver.main_is_woken.store(true, Ordering::Relaxed);
        this.waker.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use clock::{Clock, TimerClass};

    use super::*;

    fn start() -> Instant {
        Instant::from_timestamp(1_690_488_000, 0).expect("in range")
    }

    fn at(seconds: i64) -> Instant {
        start() + TimeDelta::seconds(seconds)
    }

    /// A component that wakes every ten seconds and records the second.
    fn toy(runtime: &Runtime, class: TimerClass) -> Arc<Mutex<Vec<i64>>> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (clock, notes) = (Clock::new(runtime.clock().clone()), seen.clone());
        runtime.tasks().spawn(async move {
            loop {
                clock.sleep(TimeDelta::seconds(10), class).await;
                notes.lock().push((clock.now() - start()).num_seconds());
            }
        });
        seen
    }

    #[test]
    fn the_clock_moves_by_timers_up_to_the_limit() {
        let runtime = Runtime::new(start(), None);
        let seen = toy(&runtime, TimerClass::Calendar);
        assert_eq!(runtime.drive(Advance::Until(at(35)), std::future::pending::<()>()), None);
        assert_eq!(*seen.lock(), [10, 20, 30]);
        assert_eq!(Clock::new(runtime.clock().clone()).now(), at(30));
        assert_eq!(runtime.drive(Advance::Until(at(40)), std::future::pending::<()>()), None);
        assert_eq!(*seen.lock(), [10, 20, 30, 40]);
    }

    #[test]
    fn time_stands_while_the_main_task_has_something_to_do() {
        let runtime = Runtime::new(start(), None);
        let clock = Clock::new(runtime.clock().clone());
        toy(&runtime, TimerClass::Calendar);
        let (send, receive) = tokio::sync::oneshot::channel();
        runtime.tasks().spawn(async move {
            tokio::task::yield_now().await;
            send.send(()).expect("the receiver waits");
        });
        let answered = runtime.drive(Advance::Until(at(100)), async {
            receive.await.expect("answered");
            tokio::task::yield_now().await;
            clock.now()
        });
        assert_eq!(answered, Some(start()));
    }

    #[test]
    fn time_does_not_move_unless_it_may() {
        let runtime = Runtime::new(start(), None);
        let seen = toy(&runtime, TimerClass::Work);
        assert_eq!(runtime.drive(Advance::Not, std::future::pending::<()>()), None);
        assert_eq!(runtime.drive(Advance::Not, async { 7 }), Some(7));
        assert!(seen.lock().is_empty());
    }

    #[test]
    fn a_run_while_there_is_work_ends_before_the_calendar() {
        let runtime = Runtime::new(start(), None);
        let clock = Clock::new(runtime.clock().clone());
        toy(&runtime, TimerClass::Calendar);
        let worker = clock.clone();
        runtime.tasks().spawn(async move { worker.sleep(TimeDelta::seconds(25), TimerClass::Work).await });
        assert_eq!(runtime.drive(Advance::WhileWork(at(100)), std::future::pending::<()>()), None);
        assert_eq!(clock.now(), at(25));
    }

    #[test]
    fn an_unpolled_timer_delays_nothing() {
        let runtime = Runtime::new(start(), None);
        let clock = Clock::new(runtime.clock().clone());
        let _never_polled = clock.sleep(TimeDelta::seconds(5), TimerClass::Work);
        let seen = toy(&runtime, TimerClass::Calendar);
        assert_eq!(runtime.drive(Advance::Until(at(20)), std::future::pending::<()>()), None);
        assert_eq!(*seen.lock(), [10, 20]);
    }

    #[test]
    fn nothing_runs_after_a_stop_from_within() {
        let runtime = Runtime::new(start(), None);
        let (stop, clock) = (runtime.stop(), Clock::new(runtime.clock().clone()));
        runtime.tasks().spawn(async move {
            clock.sleep(TimeDelta::seconds(5), TimerClass::Work).await;
            stop.stop();
            // Never idle: only the stop can end this.
            loop {
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(runtime.drive(Advance::Until(at(100)), std::future::pending::<()>()), None);
        assert_eq!(Clock::new(runtime.clock().clone()).now(), at(5));
    }
}
