// SPDX-License-Identifier: Apache-2.0
//! Spawning and stopping of tasks.
//!
//! A task that panics fails its component: [`Tasks::panicked`] resolves, and the component ends. Where panics are
//! caught ([`Tasks::catching`]), restartable tasks are restarted, after a growing pause ([`Tasks::restarting`]).

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use clock::{Clock, Random, TimerClass};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::panics::{self, Panicked};
use crate::polls::{Polled, Polls};
use crate::printing::Printing;
use crate::watch;

/// Spawns the tasks of one component; stopping the component ends them all.
#[derive(Clone)]
pub struct Tasks(Arc<Inner>);

struct Inner {
    runtime: Handle,
    running: Mutex<Running>,
    stop: watch::Sender<bool>,
    paused: watch::Sender<()>,
    is_paused: AtomicBool,
    ended: Notify,
    panicked: AtomicBool,
    /// Message of the first panic that ended a task.
    panic: Mutex<Option<String>>,
    catching: Option<Catching>,
    printing: Option<Printing>,
    schedule: Option<Schedule>,
    /// Place where other threads see that a task is polled.
    polled: OnceLock<Polled>,
}

/// State for the restart of tasks that panicked.
struct Catching {
    wall: Clock,
    report: Box<dyn Fn(Panicked) + Send + Sync>,
    /// Number of panics by name of their origin.
    times: Mutex<BTreeMap<String, u32>>,
}

#[derive(Default)]
struct Running {
    spawned: u64,
    tasks: BTreeMap<u64, Task>,
}

struct Task {
    /// `None` until the task was spawned.
    abort: Option<AbortHandle>,
    watches: Arc<AtomicBool>,
}

struct Schedule {
    random: Random,
    drawn: AtomicU64,
}

impl Tasks {
    /// Creates the tasks of a component on the current runtime.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new() -> Self {
        Self::on(Handle::current(), None)
    }

    /// Creates the tasks of a component on a runtime. With a schedule, [`Tasks::choose`] draws from it and tasks are
    /// delayed by it, within an instant.
    pub fn on(runtime: Handle, schedule: Option<Random>) -> Self {
        let schedule = schedule.map(|random| Schedule { random, drawn: AtomicU64::new(0) });
        Self::made(runtime, schedule, None, None)
    }

    /// Creates the tasks of a component on the current runtime that survives panics where possible; `report` is called
    /// with each, and pauses are in time of `wall`.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn catching(wall: Clock, report: impl Fn(Panicked) + Send + Sync + 'static) -> Self {
        Self::catching_on(Handle::current(), wall, report)
    }

    /// Creates tasks as [`Tasks::catching`], on a runtime.
    pub fn catching_on(runtime: Handle, wall: Clock, report: impl Fn(Panicked) + Send + Sync + 'static) -> Self {
        let catching = Catching { wall, report: Box::new(report), times: Mutex::default() };
        Self::made(runtime, None, Some(catching), None)
    }

    /// Creates tasks as [`Tasks::catching`], for one of several components of a process: its tasks print with
    /// `printing`.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn printing_to(printing: Printing, wall: Clock, report: impl Fn(Panicked) + Send + Sync + 'static) -> Self {
        let catching = Catching { wall, report: Box::new(report), times: Mutex::default() };
        Self::made(Handle::current(), None, Some(catching), Some(printing))
    }

    /// Printing of these tasks; `None`: they use the process's output.
    pub fn printing(&self) -> Option<&Printing> {
        self.0.printing.as_ref()
    }

    fn made(
        runtime: Handle,
        schedule: Option<Schedule>,
        catching: Option<Catching>,
        printing: Option<Printing>,
    ) -> Self {
        Self(Arc::new(Inner {
            runtime,
            running: Mutex::default(),
            stop: watch::Sender::new(false),
            paused: watch::Sender::new(()),
            is_paused: AtomicBool::new(false),
            ended: Notify::new(),
            panicked: AtomicBool::new(false),
            panic: Mutex::default(),
            catching,
            printing,
            schedule,
            polled: OnceLock::new(),
        }))
    }

    /// Shows under a name that a task is polled, from now on. All tasks with these `polls` must run on one thread. Only
    /// the first call has an effect.
    pub fn show_on(&self, polls: &Polls, name: &str) {
        if let Some(polled) = polls.of(name) {
            let _ = self.0.polled.set(polled);
        }
    }

    /// Increments the number of passes of the component, if its work is shown.
    pub fn count_pass(&self) {
        if let Some(polled) = self.0.polled.get() {
            polled.count_pass();
        }
    }

    /// True if panics are caught: the code that catches one must call [`Tasks::caught`].
    pub fn catches(&self) -> bool {
        self.0.catching.is_some()
    }

    /// Records a caught panic of `name`; returns its message, and the wall time until the restart.
    pub fn caught(&self, name: &str, payload: &(dyn Any + Send)) -> (String, chrono::TimeDelta) {
        let message = panics::text(payload);
        let Some(catching) = &self.0.catching else { return (message, panics::pause(1)) };
        let mut times = catching.times.lock();
        let times_of = times.entry(name.to_owned()).or_default();
        *times_of = times_of.saturating_add(1);
        let (times, pause) = (*times_of, panics::pause(*times_of));
        let panicked =
            Panicked { name: name.to_owned(), times, message: message.clone(), pause_seconds: pause.num_seconds() };
        (catching.report)(panicked);
        (message, pause)
    }

    /// Spawns a task that is restarted whenever it panics, after a pause; where panics are not caught, the same as
    /// [`Tasks::spawn`].
    #[track_caller]
    pub fn restarting<F>(&self, name: &'static str, make: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some(catching) = &self.0.catching else { return self.spawn(make()) };
        let (wall, tasks) = (catching.wall.clone(), self.clone());
        self.spawn(async move {
            while let Err(payload) = AssertUnwindSafe(async { make().await }).catch_unwind().await {
                let (_, pause) = tasks.caught(name, &*payload);
                wall.sleep(pause, TimerClass::Calendar).await;
            }
        });
    }

    /// Spawns a task whose panic ends only that task.
    #[track_caller]
    pub fn spawn_apart(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_at(Location::caller(), true, Box::pin(task));
    }

    /// Spawns a task. After [`Tasks::stop`] it is dropped instead.
    #[track_caller]
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_at(Location::caller(), false, Box::pin(task));
    }

    fn spawn_at(&self, place: &'static Location<'static>, apart: bool, task: BoxFuture<'static, ()>) {
        if self.shutdown().is_requested() {
            return;
        }
        let watches = Arc::new(AtomicBool::new(false));
        let mut running = self.0.running();
        running.spawned += 1;
        let number = running.spawned;
        running.tasks.insert(number, Task { abort: None, watches: watches.clone() });
        drop(running);
        let ends = Ends { tasks: self.clone(), number, apart };
        let spawned = self.0.runtime.spawn(Watched { task, place, watches, ends });
        if let Some(task) = self.0.running().tasks.get_mut(&number) {
            task.abort = Some(spawned.abort_handle());
        }
    }

    /// Selects one of `count` equally good choices: the first, unless a test explores schedules.
    pub fn choose(&self, count: usize) -> usize {
        match &self.0.schedule {
            Some(schedule) if count > 1 => usize::try_from(schedule.draw(count as u64)).expect("below a usize"),
            _ => 0,
        }
    }

    /// Pauses or resumes the start of new work. Running work continues: a queue checks [`Tasks::is_paused`] before it
    /// starts work.
    pub fn pause(&self, is_paused: bool) {
        self.0.is_paused.store(is_paused, Ordering::Relaxed);
        self.0.paused.send_replace(());
    }

    /// True if the component must not start new work.
    pub fn is_paused(&self) -> bool {
        self.0.is_paused.load(Ordering::Relaxed)
    }

    /// Notified when the component is paused or resumed.
    pub fn paused(&self) -> watch::Receiver<()> {
        self.0.paused.subscribe()
    }

    /// Returns the stop signal.
    pub fn shutdown(&self) -> Shutdown {
        Shutdown { stop: self.0.stop.subscribe() }
    }

    /// Requests the stop of every task; a task that does not watch [`Shutdown`] is dropped at its next suspension
    /// point.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
        self.end(|task| !task.watches.load(Ordering::Relaxed));
    }

    /// Drops every task at its next suspension point, including those that watch [`Shutdown`]: a crash.
    pub fn kill(&self) {
        self.0.stop.send_replace(true);
        self.end(|_| true);
    }

    /// Waits until every task has ended.
    pub async fn ended(&self) {
        loop {
            let ended = self.0.ended.notified();
            if self.is_ended() {
                return;
            }
            ended.await;
        }
    }

    /// Resolves when a task has panicked.
    pub async fn panicked(&self) {
        loop {
            let ended = self.0.ended.notified();
            if self.has_panicked() {
                return;
            }
            ended.await;
        }
    }

    /// Resolves like [`Tasks::panicked`], with the message of the panic.
    pub async fn panic(&self) -> String {
        self.panicked().await;
        let said = self.0.panic.lock().clone();
        said.map_or_else(|| "a task panicked".to_owned(), |said| format!("a task panicked: {said}"))
    }

    /// True if no task runs.
    pub fn is_ended(&self) -> bool {
        self.0.running().tasks.is_empty()
    }

    /// True if a task ended in a panic.
    pub fn has_panicked(&self) -> bool {
        self.0.panicked.load(Ordering::Relaxed)
    }

    fn end(&self, which: impl Fn(&Task) -> bool) {
        // An abort may drop its task at once, which takes the lock.
        let aborts: Vec<_> =
            self.0.running().tasks.values().filter(|task| which(task)).filter_map(|task| task.abort.clone()).collect();
        for abort in aborts {
            abort.abort();
        }
    }
}

impl Inner {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock()
    }
}

impl Schedule {
    fn draw(&self, bound: u64) -> u64 {
        let ordinal = self.drawn.fetch_add(1, Ordering::Relaxed);
        self.random.below(bound, "schedule", "", ordinal)
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tasks({})", self.0.running().tasks.len())
    }
}

thread_local! {
    /// Flag that the polled task sets if it watches [`Shutdown`].
    static POLLED: std::cell::RefCell<Option<Arc<AtomicBool>>> = const { std::cell::RefCell::new(None) };
}

struct Watched {
    task: BoxFuture<'static, ()>,
    /// Place of its spawn: its name in the report of a panic.
    place: &'static Location<'static>,
    watches: Arc<AtomicBool>,
    ends: Ends,
}

impl Future for Watched {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if let Some(schedule) = &this.ends.tasks.0.schedule
            && schedule.draw(4) == 0
        {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let _printing = this.ends.tasks.0.printing.as_ref().map(Printing::enter);
        let outer = POLLED.replace(Some(this.watches.clone()));
        let outer_task = panics::enter(Some(this.place));
        let polled = this.ends.tasks.0.polled.get();
        if let Some(polled) = polled {
            polled.begin();
        }
        let poll = catch_unwind(AssertUnwindSafe(|| this.task.as_mut().poll(context)));
        if let Some(polled) = polled {
            polled.end();
        }
        POLLED.set(outer);
        panics::enter(outer_task);
        poll.unwrap_or_else(|payload| {
            let said = panics::text(&*payload);
            let place = this.place;
            if !this.ends.apart {
                let said = format!("{said}, in the task of {}:{}", place.file(), place.line());
                this.ends.tasks.0.panic.lock().get_or_insert(said);
            }
            resume_unwind(payload)
        })
    }
}

/// Removes a task from the list when it is dropped, finished or not.
struct Ends {
    tasks: Tasks,
    number: u64,
    /// True if its panic ends only the task.
    apart: bool,
}

impl Drop for Ends {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.apart {
            self.tasks.0.panicked.store(true, Ordering::Relaxed);
            self.tasks.0.ended.notify_waiters();
        }
        let mut running = self.tasks.0.running();
        running.tasks.remove(&self.number);
        if running.tasks.is_empty() {
            self.tasks.0.ended.notify_waiters();
        }
    }
}

/// Stop signal. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shutdown {
    stop: watch::Receiver<bool>,
}

impl Shutdown {
    /// True if a stop was requested.
    pub fn is_requested(&self) -> bool {
        *self.stop.borrow()
    }

    /// Resolves when a stop is requested. A task that waits for it is not dropped by [`Tasks::stop`]: it must end by
    /// itself.
    pub async fn requested(&self) {
        POLLED.with_borrow(|watches| {
            if let Some(watches) = watches {
                watches.store(true, Ordering::Relaxed);
            }
        });
        self.observed().await;
    }

    /// Resolves like [`Shutdown::requested`], for a task of another component.
    pub async fn observed(&self) {
        let mut stop = self.stop.clone();
        // An error means that the component was dropped.
        let _ = stop.wait_for(|requested| *requested).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(test);
    }

    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn stopping_drops_a_task_that_does_not_watch() {
        run(async {
            let tasks = Tasks::new();
            let dropped = Arc::new(AtomicBool::new(false));
            let guard = Dropped(dropped.clone());
            tasks.spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
            assert!(!tasks.is_ended());
            tasks.stop();
            tasks.ended().await;
            assert!(dropped.load(Ordering::Relaxed));
        });
    }

    #[test]
    fn stopping_lets_a_task_that_watches_finish() {
        run(async {
            let tasks = Tasks::new();
            let finished = Arc::new(AtomicBool::new(false));
            let (shutdown, note) = (tasks.shutdown(), finished.clone());
            tasks.spawn(async move {
                shutdown.requested().await;
                tokio::task::yield_now().await;
                note.store(true, Ordering::Relaxed);
            });
            tokio::task::yield_now().await;
            tasks.stop();
            tasks.ended().await;
            assert!(finished.load(Ordering::Relaxed));
        });
    }

    #[test]
    fn killing_drops_every_task() {
        run(async {
            let tasks = Tasks::new();
            let finished = Arc::new(AtomicBool::new(false));
            let (shutdown, note) = (tasks.shutdown(), finished.clone());
            tasks.spawn(async move {
                shutdown.requested().await;
                tokio::task::yield_now().await;
                note.store(true, Ordering::Relaxed);
            });
            tokio::task::yield_now().await;
            tasks.kill();
            tasks.ended().await;
            assert!(!finished.load(Ordering::Relaxed));
        });
    }

    #[test]
    fn a_panic_of_a_task_is_noted() {
        run(async {
            let tasks = Tasks::new();
            tasks.spawn(async {});
            tasks.ended().await;
            assert!(!tasks.has_panicked());
            tasks.spawn(async { panic!("on purpose") });
            tasks.ended().await;
            assert!(tasks.has_panicked());
        });
    }

    #[test]
    fn message_of_a_panic_is_returned() {
        run(async {
            let tasks = Tasks::new();
            tasks.restarting("toy", || async { panic!("on purpose") });
            let said = tasks.panic().await;
            assert!(said.starts_with("a task panicked: on purpose") && said.contains("tasks.rs"), "{said}");
        });
    }

    #[test]
    fn a_restarting_task_is_restarted_after_growing_pauses() {
        run(async {
            let time = clock::SimulatedClock::new(clock::Instant::UNIX_EPOCH);
            let told: Arc<Mutex<Vec<Panicked>>> = Arc::default();
            let (heard, made) = (told.clone(), Arc::new(AtomicU64::new(0)));
            let tasks = Tasks::catching(Clock::new(time.clone()), move |panicked| {
                heard.lock().push(panicked);
            });
            let count = made.clone();
            tasks.restarting("toy", move || {
                let number = count.fetch_add(1, Ordering::Relaxed);
                async move { assert!(number > 1, "on purpose") }
            });
            for (pause, number) in [(1, 2), (2, 3)] {
                while told.lock().len() < number - 1 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(made.load(Ordering::Relaxed), number as u64 - 1);
                // The task waits now.
                tokio::task::yield_now().await;
                let to = time.next_timer().expect("a pause").0;
                assert_eq!((to - clock::TimeSource::now(&time)).num_seconds(), pause);
                assert!(time.fire_next(Some(to)).is_some());
            }
            tasks.ended().await;
            assert!(!tasks.has_panicked());
            let told = told.lock().clone();
            let said: Vec<_> = told.iter().map(|it| (it.name.as_str(), it.times, it.pause_seconds)).collect();
            assert_eq!(said, [("toy", 1, 1), ("toy", 2, 2)]);
            assert!(told[0].message.starts_with("on purpose"), "{told:?}");
        });
    }

    #[test]
    fn nothing_is_spawned_after_the_stop() {
        run(async {
            let tasks = Tasks::new();
            tasks.ended().await;
            tasks.stop();
            assert!(tasks.shutdown().is_requested());
            tasks.spawn(std::future::pending());
            assert!(tasks.is_ended());
        });
    }

    #[test]
    fn a_schedule_changes_the_order_of_tasks_and_choices() {
        let order = |seed: Option<u64>| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let noted = order.clone();
            run(async move {
                let tasks = Tasks::on(Handle::current(), seed.map(Random::new));
                for number in 0..6 {
                    let order = order.clone();
                    tasks.spawn(async move { order.lock().push(number) });
                }
                tasks.ended().await;
                order.lock().push(tasks.choose(100));
            });
            noted.lock().clone()
        };
        assert_eq!(order(None), [0, 1, 2, 3, 4, 5, 0]);
        assert_eq!(order(Some(3)), order(Some(3)));
        let orders: std::collections::BTreeSet<_> = (0..20).map(|seed| order(Some(seed))).collect();
        assert!(orders.len() > 10, "{orders:?}");
    }
}
