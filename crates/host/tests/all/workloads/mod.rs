// SPDX-License-Identifier: Apache-2.0
//! A host with its controllers on one thread, whose clock moves when nothing is runnable.

use std::sync::Arc;
use std::task::{Poll, Waker};

use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random, SimulatedClock};
use eventlog::{Append, EventLog, Expect, Key, MemoryLog, Revision, Verb};
use futures::future::poll_fn;
use generic_apiserver::Foundation;
use host::Host;
use http_body_util::BodyExt;
use kube_controllers::{namespace_objects, workload};
use parking_lot::Mutex;
use process::transport::full;
use process::{Context, Identity, Output, Tasks, User};
use serde_json::Value;

/// State shared by the hook of the runtime and the main task.
#[derive(Default)]
struct Driver {
    limit: Option<DateTime<Utc>>,
    idle: bool,
    main: Option<Waker>,
}

pub(crate) struct World {
    runtime: tokio::runtime::Runtime,
    driver: Arc<Mutex<Driver>>,
    clock: SimulatedClock,
    wall: SimulatedClock,
    log: Arc<MemoryLog>,
    host: Host,
}

impl World {
    /// A host with cluster `runtime`, and kube-controllers with workload.
    pub(crate) fn new(options: workload::Options) -> Self {
        Self::scheduled(options, None)
    }

    /// Creates a world as [`World::new`]; a seed draws the order of concurrent events.
    pub(crate) fn scheduled(options: workload::Options, seed: Option<u64>) -> Self {
        let schedule = seed.map(Random::new);
        let start = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let clock = SimulatedClock::with_schedule(start, schedule.clone());
        let driver = Arc::<Mutex<Driver>>::default();
        let hook = (driver.clone(), clock.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(move || {
                let mut driver = hook.0.lock();
                driver.idle = driver.limit.is_none_or(|limit| hook.1.fire_next(Some(limit)).is_none());
                if let Some(main) = driver.main.take() {
                    main.wake();
                }
            })
            .build()
            .expect("a runtime");
        let log = Arc::new(MemoryLog::new());
        let wall_time = SimulatedClock::new(clock_now(&clock));
        let wall = Clock::new(wall_time.clone());
        let foundation = Foundation {
            log: log.clone(),
            clock: Clock::new(clock.clone()),
            wall: wall.clone(),
            random: Random::new(1),
            writer: 1,
            recent_bytes: generic_apiserver::RECENT_BYTES,
        };
        let tasks = Tasks::on(runtime.handle().clone(), None);
        let host = Host::new(foundation, &tasks);
        let name: Arc<str> = "kube-controller-manager".into();
        let groups = vec!["system:masters".into()];
        let user = User { name: name.clone(), groups, component: Some((name.clone(), "v1".into())) };
        let context = Context {
            identity: Identity { component: name.clone(), instance: name, version: "v1".into() },
            clock: Clock::new(clock.clone()),
            random: Random::new(1),
            wall,
            transport: host.transport(user),
            tasks: Tasks::on(runtime.handle().clone(), schedule),
            output: Output::new(|_| {}),
        };
        let root_ca = "PEM".to_owned();
        let options = kube_controllers::Options {
            workload: Some(options),
            namespace_objects: Some(namespace_objects::Options { root_ca }),
            certificates: None,
        };
        let controllers = context.tasks.clone();
        controllers.spawn(async move {
            kube_controllers::run(context, options).await;
        });
        let world = Self { runtime, driver, clock, wall: wall_time, log, host };
        world.settle(0);
        world
    }

    /// Runs everything that is runnable, and every timer of the next seconds; the clock ends at the last of them.
    pub(crate) fn settle(&self, seconds: i64) {
        let until = self.now() + TimeDelta::seconds(seconds);
        {
            let mut driver = self.driver.lock();
            driver.limit = Some(until);
            driver.idle = false;
        }
        self.runtime.block_on(poll_fn(|context| {
            let mut driver = self.driver.lock();
            if driver.idle {
                return Poll::Ready(());
            }
            driver.main = Some(context.waker().clone());
            Poll::Pending
        }));
        self.driver.lock().limit = None;
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        clock_now(&self.clock)
    }

    /// Advances wall time only.
    pub(crate) fn pass_wall_time(&self, seconds: i64) {
        let until = clock_now(&self.wall) + TimeDelta::seconds(seconds);
        while self.wall.fire_next(Some(until)).is_some() {
            self.settle(0);
        }
        self.wall.advance_to(until);
    }

    /// Number of pending timers.
    pub(crate) fn timers(&self) -> usize {
        self.clock.pending()
    }

    /// Number of log entries.
    pub(crate) fn entries(&self) -> u64 {
        self.log.head().0
    }

    /// Writes an object of namespace `default` into the log without validation, as if an earlier release had stored it.
    pub(crate) fn overwrite(&self, resource: &str, name: &str, change: impl Fn(&str) -> String) {
        let all = self.runtime.block_on(self.log.state_at(self.log.head())).expect("retained");
        let is_it = |key: &Key| &*key.resource == resource && &*key.name == name;
        let (key, revision, mut object) = all.into_iter().find(|(key, ..)| is_it(key)).expect("it is there");
        let rest = std::str::from_utf8(&object.parts[3]).expect("text");
        object.parts[3] = change(rest).into();
        let append = Append {
            key,
            expect: Expect::Revision(revision),
            guards: Vec::new(),
            verb: Verb::Update,
            object,
            volatile: false,
            actor: Arc::default(),
            time: self.now(),
            writer: (9, revision.0),
        };
        self.runtime.block_on(self.log.append(append)).expect("appended");
    }

    /// Verb and name of each entry about a pod since a number of entries.
    pub(crate) fn pod_entries(&self, since: u64) -> Vec<(Verb, String)> {
        let read = self.log.read(Revision(since), self.log.head(), None);
        let entries = self.runtime.block_on(read).expect("retained");
        let pods = entries.iter().filter(|entry| &*entry.key.resource == "/pods");
        pods.map(|entry| (entry.verb, entry.key.name.to_string())).collect()
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.send_in("runtime", method, path, body)
    }

    /// Sends a request like [`World::send`] to another cluster.
    pub(crate) fn send_in(&self, cluster: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
        let patch = if method == "PATCH" { "application/strategic-merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = http::Request::builder().method(method).uri(format!("/clusters/{cluster}{path}"));
        let request = request.header("Content-Type", patch).body(full(body)).expect("a request");
        let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
        self.runtime.block_on(async {
            let response = self.host.transport(user).send(request).await.expect("a response");
            let code = response.status().as_u16();
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            let text = String::from_utf8(body.to_vec()).expect("text");
            (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
        })
    }

    /// Sends a request like [`World::send`]; panics unless it succeeds.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let (code, answer) = self.send(method, path, body);
        assert!((200..300).contains(&code), "{method} {path}: {code} {answer}");
        answer
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, Value::Null)
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        self.get(path)["items"].as_array().cloned().unwrap_or_default()
    }
}

fn clock_now(clock: &SimulatedClock) -> DateTime<Utc> {
    Clock::new(clock.clone()).now()
}
