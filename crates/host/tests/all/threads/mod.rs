// SPDX-License-Identifier: Apache-2.0
//! A host with a clock, and components on threads of their own.

pub(crate) mod slow_head;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random};
use eventlog::{EventLog, MemoryLog};
use futures::future::BoxFuture;
use generic_apiserver::Foundation;
use host::pods::kubelet::Logs;
use host::time::clock_service::{Barriers, ClockService};
use host::time::timekeeper::{Decision, Mode};
use host::{Host, Parts};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::live::{Setup, participate};
use process::panics::Panicked;
use process::participant::{Answer, Grant, Idle, Join, ReportError, Reports};
use process::reports::ReportsOver;
use process::transport::full;
use process::{Context, Exit, Identity, Output, Tasks, Transport, User};
use tokio::sync::oneshot;

/// Wall time after which a test that waits for other threads fails.
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(5);

/// Repeats `look` until it has a result of what other threads do; fails after [`LONGEST_WAIT`].
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let wall = Clock::wall();
    let end = wall.now() + LONGEST_WAIT;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(wall.now() < end, "{what}: not after {} s", LONGEST_WAIT.num_seconds());
        tokio::task::yield_now().await;
    }
}

pub(crate) fn start() -> DateTime<Utc> {
    "2023-07-27T20:00:00Z".parse().expect("an instant")
}

/// Thread of a component, which returns its exit.
type Thread = JoinHandle<Result<Exit, String>>;

pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) clock: ClockService,
    pub(crate) logs: Logs,
    log: Arc<dyn EventLog>,
    threads: Vec<(oneshot::Sender<()>, Thread)>,
    reports: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

/// Number of reports by participant.
struct Counted {
    over: ReportsOver,
    name: &'static str,
    counts: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

impl Counted {
    fn count(&self) {
        *self.counts.lock().entry(self.name).or_default() += 1;
    }
}

impl Reports for Counted {
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>> {
        self.count();
        self.over.join(join)
    }

    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Answer>, ReportError>> {
        self.count();
        self.over.report(idle)
    }

    fn leave(&self) -> BoxFuture<'static, Result<(), String>> {
        self.count();
        self.over.leave()
    }
}

impl World {
    pub(crate) fn new(mode: Mode) -> Self {
        Self::on(mode, Clock::wall())
    }

    /// Creates a world with the test's own wall clock.
    pub(crate) fn on(mode: Mode, wall: Clock) -> Self {
        Self::over(mode, wall, Arc::new(MemoryLog::new()))
    }

    /// Creates a world with the test's own wall clock and log.
    pub(crate) fn over(mode: Mode, wall: Clock, log: Arc<dyn EventLog>) -> Self {
        let tasks = Tasks::new();
        let slot: Arc<OnceLock<Host>> = Arc::default();
        let door = slot.clone();
        let barriers: Barriers = Arc::new(move || {
            let host = door.get().cloned();
            Box::pin(async move { host?.line_counts().await })
        });
        let clock = ClockService::start(start(), mode, wall.clone(), log.clone(), barriers, &tasks);
        let foundation = Foundation {
            log: clock.counted_log(),
            clock: clock.clock(),
            wall,
            random: Random::new(1),
            writer: 1,
            recent_bytes: generic_apiserver::RECENT_BYTES,
        };
        let logs = Logs::new(clock.clock());
        let host = Host::with(foundation, &tasks, Parts { logs: Some(logs.clone()), ..Parts::default() });
        host.serve_clock(clock.clone());
        slot.set(host.clone()).expect("set once");
        Self { host, clock, logs, log, threads: Vec::new(), reports: Arc::default() }
    }

    pub(crate) fn transport(&self) -> Transport {
        let groups = vec!["system:masters".into()];
        self.host.transport(User { name: "toy".into(), groups, component: Some(("toy".into(), "v1".into())) })
    }

    /// Transport of a user without part in landscape time.
    pub(crate) fn users_transport(&self) -> Transport {
        self.host.transport(User { name: "ann".into(), groups: vec!["system:masters".into()], component: None })
    }

    /// Runs a component on a thread of its own, and waits until it is ready. It ends with its first panic, and when the
    /// clock drops it.
    pub(crate) async fn run<F>(
        &mut self,
        name: &'static str,
        transport: Transport,
        component: impl FnOnce(Context, oneshot::Sender<()>) -> F + Send + 'static,
    ) where
        F: Future<Output = Exit> + Send + 'static,
    {
        self.run_with(name, transport, None, component).await;
    }

    /// Runs a component like a process of a landscape does.
    pub(crate) async fn run_process<F>(
        &mut self,
        name: &'static str,
        transport: Transport,
        component: impl FnOnce(Context, oneshot::Sender<()>) -> F + Send + 'static,
    ) where
        F: Future<Output = Exit> + Send + 'static,
    {
        self.run_with(name, transport, Some(Arc::new(|_| {})), component).await;
    }

    async fn run_with<F>(
        &mut self,
        name: &'static str,
        transport: Transport,
        panicked: Option<Arc<dyn Fn(Panicked) + Send + Sync>>,
        component: impl FnOnce(Context, oneshot::Sender<()>) -> F + Send + 'static,
    ) where
        F: Future<Output = Exit> + Send + 'static,
    {
        let participant = http::HeaderValue::from_static(name);
        let over = ReportsOver::new(self.transport(), participant);
        let reports = Counted { over, name, counts: self.reports.clone() };
        let setup = Setup {
            identity: Identity { component: name.into(), instance: name.into(), version: "v1".into() },
            participant: name.to_owned(),
            random: Random::new(1),
            transport,
            dial: Some(self.clock.dial()),
            output: Output::new(|_| {}),
            panicked,
        };
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        #[expect(clippy::disallowed_methods, reason = "threads that see one another only through the API are the test")]
        let thread = std::thread::spawn(move || {
            let stop = async {
                let _ = stopped.await;
            };
            participate(setup, reports, stop, |context| Ok(component(context, ready)))
        });
        self.threads.push((stop, thread));
        is_ready.await.expect("it becomes ready");
    }

    /// Decision of the clock while it waits for exactly these participants. `None`: it waits for others, or for the line
    /// counts of servers.
    pub(crate) fn decision_waiting_for(&self, names: &[&str]) -> Option<Decision> {
        self.clock.with(|keeper, wall| {
            if keeper.waits_for(wall).participants != names {
                return None;
            }
            match keeper.decide(self.log.head(), wall) {
                // Only the clock's driver can request the counts.
                Decision::Barrier { number, .. } => {
                    keeper.barrier_failed(number);
                    None
                }
                Decision::Wait { until: None } => None,
                decision => Some(decision),
            }
        })
    }

    /// Number of reports that a component has sent to the clock.
    pub(crate) fn reports(&self, name: &str) -> usize {
        self.reports.lock().get(name).copied().unwrap_or_default()
    }

    /// Stops the components in the order of their start; none must have failed before.
    pub(crate) fn end(self) {
        for (stop, thread) in self.threads {
            let _ = stop.send(());
            assert_eq!(thread.join().expect("no panic"), Ok(Exit::default()));
        }
    }

    /// Response body of a path as text.
    pub(crate) async fn text(&self, path: &str) -> String {
        self.streamed(path).await.await
    }

    /// Waits until the response of a path begins; the returned future resolves with its body.
    pub(crate) async fn streamed(&self, path: &str) -> impl Future<Output = String> + use<> {
        let request = http::Request::get(path).body(full("")).expect("a request");
        let response = self.transport().send(request).await.expect("a response");
        assert_eq!(response.status(), 200);
        async move {
            let body = response.into_body().collect().await.expect("a whole body").to_bytes();
            String::from_utf8(body.to_vec()).expect("text")
        }
    }

    /// Context for requests of the test itself.
    pub(crate) fn context(&self) -> Context {
        self.context_over(self.transport())
    }

    /// Context for requests over a transport.
    pub(crate) fn context_over(&self, transport: Transport) -> Context {
        Context {
            identity: Identity { component: "test".into(), instance: "test".into(), version: "v1".into() },
            clock: self.clock.clock(),
            random: Random::new(1),
            wall: Clock::wall(),
            transport,
            tasks: Tasks::new(),
            output: Output::new(|_| {}),
        }
    }
}
