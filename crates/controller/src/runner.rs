// SPDX-License-Identifier: Apache-2.0
//! Controller: reflectors, a queue and workers for a reconciler.
//!
//! [`Controller`] has an example.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};

use chrono::{DateTime, Utc};
use clock::{Clock, Sleep, TimerClass};
use futures::Stream;
use futures::stream::FuturesUnordered;
use process::Context;

use crate::api::{Api, ListOptions};
use crate::decode::Readable;
use crate::error::Error;
use crate::queue::{Failure, ObjectKey, QueueHandle, Requeue, Wait};
use crate::reflector::{Change, Reflector, Store};
use crate::store::AnyStore;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
type Outcome = Result<Requeue, Error>;
type PassFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;
type Reconcile = Box<dyn Fn(ObjectKey) -> PassFuture + Send + Sync>;

/// A controller under construction.
///
/// ```
/// use api::core::Shoot;
/// use controller::{Api, Controller, ListOptions, Requeue};
///
/// async fn run(context: process::Context) {
///     let mut controller = Controller::new("shoot-names", &context);
///     let all = Api::<Shoot>::all(&context, "garden");
///     let shoots = controller.watch(all, ListOptions::default(), |change| vec![change.key.clone()]);
///     // At most 5 passes at a time, and never two for one key.
///     controller
///         .run(5, move |key| {
///             let shoot = shoots.get(&key);
///             async move {
///                 // Read, call a rule of `domain`, write; `None`: it was deleted.
///                 drop(shoot);
///                 Ok(Requeue::OnChange)
///             }
///         })
///         .await;
/// }
/// ```
pub struct Controller {
    context: Context,
    name: &'static str,
    queue: QueueHandle,
    tasks: Vec<Task>,
    stores: Vec<AnyStore>,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("name", &self.name).field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Controller {
    /// Creates a controller without watches.
    pub fn new(name: &'static str, context: &Context) -> Self {
        Self { context: context.clone(), name, queue: QueueHandle::default(), tasks: Vec::new(), stores: Vec::new() }
    }

    /// Watches a kind; `map` returns the keys that a change makes dirty.
    pub fn watch<K: Readable>(
        &mut self,
        api: Api<K>,
        options: ListOptions,
        map: impl Fn(&Change<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Store<K> {
        let reflector = Reflector::new(api, options);
        let store = reflector.store();
        self.watch_store(&store, map);
        self.tasks.push(reflector.run());
        store
    }

    /// Adds a store as [`Controller::watch`], which only passes read: its changes make no key dirty.
    pub fn store<K: Readable>(&mut self, api: Api<K>, options: ListOptions) -> Store<K> {
        self.watch(api, options, |_| Vec::new())
    }

    /// Watches the store of a reflector that several controllers share and that is run elsewhere. Existing objects
    /// count as changes.
    pub fn watch_store<K: Readable>(
        &mut self,
        store: &Store<K>,
        map: impl Fn(&Change<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) {
        let queue = self.queue();
        store.subscribe(move |change| queue.add_all(map(change)));
        self.wait_for(store.any().clone());
    }

    /// Delays passes until the store is synced.
    fn wait_for(&mut self, store: AnyStore) {
        self.stores.push(store.clone());
        // Only wakes the controller when the store is synced.
        self.tasks.push(Box::pin(async move { store.synced().await }));
    }

    /// Queue of the controller, to make keys dirty for other reasons than changes.
    pub fn queue(&self) -> QueueHandle {
        self.queue.clone()
    }

    /// Waits until every store is synced, then runs passes, at most `concurrency` at once and never two for one key,
    /// until the component stops. An error backs off exponentially by key (5 ms to 1000 s, as in client-go) on
    /// landscape time; `Ok` resets the back-off. Where the component survives panics, a pass that panics fails, and its
    /// key pauses on wall time; upstream's controllers recover from panics, too. While the component is paused no pass
    /// begins; keys whose instant has passed wait with the others.
    pub fn run<F, Fut>(self, concurrency: usize, reconcile: F) -> impl Future<Output = ()> + Send
    where
        F: Fn(ObjectKey) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Requeue, Error>> + Send + 'static,
    {
        self.run_boxed(concurrency, Box::new(move |key| Box::pin(reconcile(key))))
    }

    async fn run_boxed(mut self, concurrency: usize, reconcile: Reconcile) {
        // Only wakes the controller.
        let mut paused = self.context.tasks.paused();
        self.tasks.push(Box::pin(async move { while paused.changed().await.is_ok() {} }));
        let shutdown = self.context.tasks.shutdown();
        let mut stopped = pin!(shutdown.requested());
        let mut running = Running::new(self, concurrency.max(1), reconcile);
        poll_fn(|cx| {
            if stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            running.poll(cx);
            Poll::Pending
        })
        .await;
    }
}

/// Maximum number of rounds per poll, so that other tasks of the thread get their turn.
const ROUNDS: usize = 64;

struct Running {
    context: Context,
    name: &'static str,
    queue: QueueHandle,
    reflectors: FuturesUnordered<Task>,
    stores: Vec<AnyStore>,
    passes: FuturesUnordered<Pass>,
    concurrency: usize,
    reconcile: Reconcile,
    timers: [Timer; 3],
}

impl Running {
    fn new(controller: Controller, concurrency: usize, reconcile: Reconcile) -> Self {
        let Controller { context, name, queue, tasks, stores } = controller;
        Self {
            context,
            name,
            queue,
            reflectors: tasks.into_iter().collect(),
            stores,
            passes: FuturesUnordered::new(),
            concurrency,
            reconcile,
            timers: Default::default(),
        }
    }

    fn poll(&mut self, cx: &mut TaskContext<'_>) {
        self.queue.register(cx.waker());
        for _ in 0..ROUNDS {
            while let Poll::Ready(Some(())) = Pin::new(&mut self.reflectors).poll_next(cx) {}
            if !self.stores.is_empty() {
                if !self.stores.iter().all(AnyStore::is_synced) {
                    return;
                }
                self.stores.clear();
                let (controller, count) = (self.name, self.concurrency);
                tracing::info!(controller, "worker count" = count, "Starting workers");
            }
            let mut busy = self.finish(cx);
            busy |= self.begin();
            // Timers are checked only when no pass can start, so that a pass that ends its own wait needs none.
            if !busy && !self.fire(cx) {
                return;
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Takes the results of finished passes.
    fn finish(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut any = false;
        while let Poll::Ready(Some((key, ended))) = Pin::new(&mut self.passes).poll_next(cx) {
            any = true;
            match ended {
                Ok(result) => self.done(key, result.map_err(|error| (error.to_string(), error.failure()))),
                Err(panic) => self.panicked(key, panic),
            }
        }
        any
    }

    fn done(&self, key: ObjectKey, result: Result<Requeue, (String, Failure)>) {
        let now = self.context.clock.now();
        if let Err((error, _)) = &result {
            let (namespace, name) = (&*key.namespace, &*key.name);
            tracing::error!(controller = self.name, namespace, name, %error, "Reconciler error");
        }
        let result = result.map_err(|(_, failure)| failure);
        self.queue.lock().done(key, result, now, || self.context.wall.now());
    }

    /// Handles a pass that panicked. Source of the text: sigs.k8s.io/controller-runtime
    /// pkg/internal/controller/controller.go.
    fn panicked(&self, key: ObjectKey, panic: Panic) {
        let (message, pause) = self.context.tasks.caught(self.name, &*panic);
        let error = format!("panic: {message} [recovered]");
        self.done(key, Err((error, Failure::Panicked(pause))));
    }

    /// Starts passes for ready keys.
    fn begin(&mut self) -> bool {
        let mut any = false;
        while self.passes.len() < self.concurrency && !self.context.tasks.is_paused() {
            let key = self.queue.lock().take(|ready| self.context.tasks.choose(ready));
            let Some(key) = key else { break };
            any = true;
            self.context.tasks.count_pass();
            let catches = self.context.tasks.catches();
            match caught(catches, || (self.reconcile)(key.clone())) {
                Ok(future) => self.passes.push(Pass { key: Some(key), future, catches }),
                Err(panic) => self.panicked(key, panic),
            }
        }
        any
    }

    /// Makes keys ready whose instant has passed, and waits for the next instants.
    fn fire(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let mut any = false;
        for wait in Wait::ALL {
            let next = self.queue.lock().next_wait(wait);
            let clock = if wait == Wait::Wall { &self.context.wall } else { &self.context.clock };
            let class = if wait == Wait::Calendar { TimerClass::Calendar } else { TimerClass::Work };
            if self.timers[wait as usize].poll(next, clock, class, cx) {
                any |= self.queue.lock().fire(wait, clock.now());
            }
        }
        any
    }
}

/// The one timer of a class, for the earliest instant on which any key waits.
#[derive(Default)]
struct Timer {
    sleep: Option<(DateTime<Utc>, Sleep)>,
}

impl Timer {
    fn poll(
        &mut self,
        next: Option<DateTime<Utc>>,
        clock: &Clock,
        class: TimerClass,
        cx: &mut TaskContext<'_>,
    ) -> bool {
        let Some(next) = next else {
            self.sleep = None;
            return false;
        };
        if self.sleep.as_ref().is_none_or(|(at, _)| *at != next) {
            // The old timer is dropped first: it must not count in addition to the new one.
            self.sleep = None;
            self.sleep = Some((next, clock.sleep_until(next, class)));
        }
        let ready = self.sleep.as_mut().is_some_and(|(_, sleep)| sleep.as_mut().poll(cx).is_ready());
        if ready {
            self.sleep = None;
        }
        ready
    }
}

/// Payload of a caught panic.
type Panic = Box<dyn Any + Send>;

/// Runs a function; a panic becomes an error if `catches`.
fn caught<T>(catches: bool, act: impl FnOnce() -> T) -> Result<T, Panic> {
    if catches { catch_unwind(AssertUnwindSafe(act)) } else { Ok(act()) }
}

struct Pass {
    key: Option<ObjectKey>,
    future: PassFuture,
    catches: bool,
}

impl Future for Pass {
    type Output = (ObjectKey, Result<Outcome, Panic>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let ended = match caught(this.catches, || this.future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => Ok(result),
            Err(panic) => Err(panic),
        };
        let key = this.key.take().expect("a pass is not polled after its end");
        Poll::Ready((key, ended))
    }
}
