// SPDX-License-Identifier: Apache-2.0
//! A world for one component and one pass of its reconcilers: objects in; writes, Events and next timer out.
//!
//! The component under test gets a real [`Context`]: its client, reflectors, queue and recorder are those of a
//! landscape. Only the server behind the transport is a fake ([`server`]). The thread parks when nothing is runnable at
//! the present instant; that is the end of a pass, so no test sleeps.
//!
//! **Deliberately absent.** Defaults, admission and validation: a test defines the server's rejections with
//! [`World::refuse`]. Permissions: every user may do everything.
//!
//! **Invariants.** Time moves only by [`World::advance_to`]. Two runs of one test have the same uids, names and
//! revisions.

mod route;
mod server;
mod verbs;

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use apimachinery::catalogue::ResourceInfo;
use apimachinery::{Resource, Status};
use chrono::{DateTime, Utc};
use clock::{Clock, Random, SimulatedClock};
use parking_lot::Mutex;
use process::{Context, Exit, Identity, Output, Tasks, Transport};

use self::server::Server;

/// Default cluster.
const GARDEN: &str = "garden";

/// Clocks, a server with objects, and the component under test.
///
/// ```
/// use testkit::World;
/// # use process::Exit;
/// # let run = |context: process::Context| async move { context.tasks.shutdown().requested().await; Exit::default() };
/// let mut world = World::at("2023-07-27T20:00:00Z").with(testkit::objects::shoot("s").build());
/// let pass = world.start(run);
/// assert_eq!(pass.writes, [""; 0]);
/// assert_eq!(pass.next, None);
/// ```
pub struct World {
    runtime: tokio::runtime::Runtime,
    idle: Arc<Idle>,
    clock: SimulatedClock,
    wall: SimulatedClock,
    server: Server,
    identity: Identity,
    lines: Arc<Mutex<Vec<String>>>,
    running: Option<Tasks>,
    exit: Arc<Mutex<Option<Exit>>>,
}

/// Result of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Write requests, in their order, without Events: `update shoots garden-dev/s {"spec":…}`.
    ///
    /// `create RESOURCE NAMESPACE/NAME`, `update …` with the change of the object as a merge patch (`{}`: nothing),
    /// `update RESOURCE/SUBRESOURCE …`, `delete …`; prefix `dry-run ` for dry runs; suffix ` refused CODE` for rejected
    /// requests; prefix `CLUSTER: ` for another cluster than `garden`.
    pub writes: Vec<String>,
    /// Events, `Normal REASON MESSAGE`.
    pub events: Vec<String>,
    /// Due time of the component's earliest timer.
    pub next: Option<DateTime<Utc>>,
}

impl Pass {
    /// Returns the writes of one resource, for example `shoots`, including its subresources.
    pub fn writes_of(&self, resource: &str) -> Vec<&str> {
        let is_of = |line: &&str| {
            let mut words = line.split(' ').filter(|word| *word != "dry-run" && !word.ends_with(':'));
            let named = words.nth(1).unwrap_or_default();
            named.split('/').next() == Some(resource)
        };
        self.writes.iter().map(String::as_str).filter(is_of).collect()
    }
}

/// Notified when nothing is runnable.
#[derive(Default)]
struct Idle {
    is_idle: AtomicBool,
    main: Mutex<Option<Waker>>,
}

impl Idle {
    fn reached(&self) {
        self.is_idle.store(true, Ordering::Relaxed);
        if let Some(main) = self.main.lock().take() {
            main.wake();
        }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Parses an instant in RFC 3339.
///
/// # Panics
/// The text is no such instant.
#[track_caller]
pub fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|error| panic!("`{text}` is no instant: {error}"))
}

/// Creates an object from the fields of a manifest; `apiVersion` and `kind` are those of the type.
///
/// # Panics
/// A field has a wrong type.
#[track_caller]
pub fn object<K: Resource>(tree: serde_json::Value) -> K {
    read(&tree)
}

impl World {
    /// Creates a world without objects, at an instant in RFC 3339. The component is a gardener-component v1.120.0
    /// unless [`World::component`] sets another one.
    #[track_caller]
    pub fn at(start: &str) -> Self {
        let start = instant(start);
        let (clock, wall) = (SimulatedClock::new(start), SimulatedClock::new(start));
        let idle = Arc::new(Idle::default());
        let hook = idle.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(move || hook.reached())
            .build()
            .expect("a runtime without drivers needs nothing of the system");
        let server = Server::new(Clock::new(clock.clone()));
        Self {
            runtime,
            idle,
            clock,
            wall,
            server,
            identity: Identity {
                component: "gardener-component".into(),
                instance: "gardener-component-0".into(),
                version: "v1.120.0".into(),
            },
            lines: Arc::default(),
            running: None,
            exit: Arc::default(),
        }
    }

    /// Sets name and version of the component.
    #[must_use]
    pub fn component(mut self, name: &str, version: &str) -> Self {
        self.identity = Identity { component: name.into(), instance: name.into(), version: version.into() };
        self
    }

    /// Adds an object to cluster `garden`.
    #[must_use]
    pub fn with<K: Resource>(self, object: K) -> Self {
        self.put(&object);
        self
    }

    /// Adds an object to a cluster.
    #[must_use]
    pub fn with_in<K: Resource>(self, cluster: &str, object: K) -> Self {
        self.put_in(cluster, &object);
        self
    }

    /// Writes an object of cluster `garden` as another client, including its status, without preconditions.
    pub fn put<K: Resource>(&self, object: &K) -> K {
        self.put_in(GARDEN, object)
    }

    /// Stores an object as [`World::put`], in another cluster.
    ///
    /// # Panics
    /// The kind has no row in the table of resources.
    pub fn put_in<K: Resource>(&self, cluster: &str, object: &K) -> K {
        read(&self.server.put(cluster, object))
    }

    /// Changes an object of cluster `garden` as another client.
    ///
    /// # Panics
    /// The object does not exist.
    #[track_caller]
    pub fn change<K: Resource>(&self, namespace: &str, name: &str, change: impl FnOnce(&mut K)) -> K {
        self.change_in(GARDEN, namespace, name, change)
    }

    /// Changes an object as [`World::change`], in another cluster.
    ///
    /// # Panics
    /// The object does not exist.
    #[track_caller]
    pub fn change_in<K: Resource>(&self, cluster: &str, namespace: &str, name: &str, change: impl FnOnce(&mut K)) -> K {
        let mut object = self
            .get_in::<K>(cluster, namespace, name)
            .unwrap_or_else(|| panic!("there is no {} {namespace}/{name} in cluster {cluster}", K::KIND));
        change(&mut object);
        self.put_in(cluster, &object)
    }

    /// Removes an object of cluster `garden` at once as another client, ignoring its finalizers.
    pub fn remove<K: Resource>(&self, namespace: &str, name: &str) {
        self.remove_in::<K>(GARDEN, namespace, name);
    }

    /// Removes an object as [`World::remove`], in another cluster.
    pub fn remove_in<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) {
        self.server.remove::<K>(cluster, namespace, name);
    }

    /// Deletes an object of a cluster as another client: one with finalizers gets a deletion timestamp and the next
    /// generation.
    pub fn delete_in<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) {
        self.server.delete::<K>(cluster, namespace, name);
    }

    /// Returns an object of cluster `garden`.
    pub fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<K> {
        self.get_in(GARDEN, namespace, name)
    }

    /// Returns an object of a cluster.
    pub fn get_in<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) -> Option<K> {
        self.server.get::<K>(cluster, namespace, name).map(|tree| read(&tree))
    }

    /// Returns all objects of a kind in a cluster, ordered by namespace and name.
    pub fn list_in<K: Resource>(&self, cluster: &str) -> Vec<K> {
        self.server.list::<K>(cluster).iter().map(read).collect()
    }

    /// Rejects the next request whose line has this prefix, with this response. Lines are as in [`Pass::writes`]; a
    /// read is `get RESOURCE NAMESPACE/NAME` or `list RESOURCE`.
    pub fn refuse(&self, request: &str, status: Status) {
        self.server.refuse(request, status);
    }

    /// Withholds changes of a resource from watches from now on, until another call names another resource or none.
    pub fn hold_watches(&self, resource: Option<&str>) {
        self.server.lock().hold(resource);
    }

    /// Makes a cluster serve a resource of its own, as with a CustomResourceDefinition.
    pub fn serve_in(&self, cluster: &str, row: &'static ResourceInfo) {
        self.server.serve(cluster, row);
    }

    /// Deletes the definition: the cluster no longer serves the resource, and its objects remain.
    pub fn stop_serving_in(&self, cluster: &str, row: &ResourceInfo) {
        self.server.stop_serving(cluster, row);
    }

    /// Starts the component and runs its first pass.
    ///
    /// # Panics
    /// A task of the component panics.
    #[track_caller]
    pub fn start<F>(&mut self, run: impl FnOnce(Context) -> F) -> Pass
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let context = self.context();
        let tasks = context.tasks.clone();
        let (running, exit) = (run(context), self.exit.clone());
        *exit.lock() = None;
        tasks.spawn(async move {
            let ended = running.await;
            *exit.lock() = Some(ended);
        });
        self.running = Some(tasks);
        self.pass()
    }

    /// Kills the component, as a crash does, and discards the result of its last pass.
    pub fn kill(&mut self) {
        if let Some(tasks) = self.running.take() {
            tasks.kill();
            self.settle();
            self.server.take();
        }
    }

    /// Creates the context that [`World::start`] passes to the component.
    pub fn context(&self) -> Context {
        let (server, lines) = (self.server.clone(), self.lines.clone());
        Context {
            identity: self.identity.clone(),
            clock: Clock::new(self.clock.clone()),
            random: Random::new(1),
            wall: Clock::new(self.wall.clone()),
            transport: Transport::new(move |request| Box::pin(server.clone().answer(request))),
            tasks: Tasks::on(self.runtime.handle().clone(), None),
            output: Output::new(move |line| {
                lines.lock().push(line.to_owned());
            }),
        }
    }

    /// Runs a future of the test, such as one request to the component, to its end.
    ///
    /// # Panics
    /// The future waits for something that does not happen at this instant.
    #[track_caller]
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.drive(future).expect("it ends at this instant")
    }

    /// Runs all tasks that are runnable at this instant.
    ///
    /// # Panics
    /// A task of the component panics.
    #[track_caller]
    pub fn pass(&mut self) -> Pass {
        self.settle();
        if let Some(tasks) = &self.running {
            assert!(!tasks.has_panicked(), "a task of the component panicked");
        }
        let (writes, events) = self.server.take();
        Pass { writes, events, next: self.clock.next_timer().map(|(due, _)| due) }
    }

    /// Advances time to an instant in RFC 3339, timer by timer; returns everything done meanwhile as one pass.
    #[track_caller]
    pub fn advance_to(&mut self, until: &str) -> Pass {
        let until = instant(until);
        self.settle();
        while self.clock.fire_next(Some(until)).is_some() {
            self.settle();
        }
        self.clock.advance_to(until);
        self.pass()
    }

    /// Exit of the component; `None` while it runs.
    pub fn exit(&self) -> Option<Exit> {
        self.exit.lock().clone()
    }

    /// Lines that the component has printed.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }

    fn settle(&self) {
        self.drive(std::future::pending::<()>());
    }

    /// Polls `future` until it has its result; `None`: nothing is runnable before.
    fn drive<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        self.idle.is_idle.store(false, Ordering::Relaxed);
        self.runtime.block_on(poll_fn(|context| {
            if let Poll::Ready(result) = future.as_mut().poll(context) {
                return Poll::Ready(Some(result));
            }
            if self.idle.is_idle.load(Ordering::Relaxed) {
                return Poll::Ready(None);
            }
            *self.idle.main.lock() = Some(context.waker().clone());
            Poll::Pending
        }))
    }
}

#[track_caller]
fn read<K: Resource>(tree: &serde_json::Value) -> K {
    K::read(tree.to_string().as_bytes()).unwrap_or_else(|error| panic!("no {}: {error}: {tree}", K::KIND))
}
