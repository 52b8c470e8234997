// SPDX-License-Identifier: Apache-2.0
//! Landscape time across threads that know of one another only through the API.

use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use api::kubernetes::core::ConfigMap;
use apimachinery::meta::ObjectMeta;
use bytes::Bytes;
use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use clock::{Clock, Random, TimerClass};
use controller::{Api, ListOptions};
use eventlog::{EventLog, MemoryLog};
use generic_apiserver::Foundation;
use host::Host;
use host::clock_service::ClockService;
use host::timekeeper::{CommandError, Mode};
use http_body_util::{BodyExt, StreamBody};
use process::live::{Setup, participate};
use process::participant::ReportsOver;
use process::{Context, Exit, Identity, Output, Tasks, Transport, User};
use tokio::sync::oneshot;

fn start() -> DateTime<Utc> {
    "2023-07-27T20:00:00Z".parse().expect("an instant")
}

struct World {
    host: Host,
    clock: ClockService,
    threads: Vec<(oneshot::Sender<()>, JoinHandle<Result<Exit, String>>)>,
}

impl World {
    fn new(mode: Mode) -> Self {
        let tasks = Tasks::new();
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let wall = Clock::wall();
        let slot: Arc<OnceLock<Host>> = Arc::default();
        let door = slot.clone();
        let barriers: host::clock_service::Barriers = Arc::new(move |number| {
            let host = door.get().cloned();
            Box::pin(async move {
                match host {
                    Some(host) => host.barrier(number).await,
                    None => false,
                }
            })
        });
        let clock = ClockService::start(start(), mode, wall.clone(), log.clone(), barriers, &tasks);
        let foundation = Foundation { log, clock: clock.clock(), wall, random: Random::new(1), writer: 1 };
        let host = Host::new(foundation, &tasks);
        host.serve_clock(clock.clone());
        slot.set(host.clone()).expect("set once");
        Self { host, clock, threads: Vec::new() }
    }

    fn transport(&self) -> Transport {
        let groups = vec!["system:masters".into()];
        self.host.transport(User { name: "toy".into(), groups, component: Some(("toy".into(), "v1".into())) })
    }

    /// Runs a component on a thread of its own, and waits until it says that it is ready.
    async fn run<F>(
        &mut self,
        name: &'static str,
        transport: Transport,
        component: impl FnOnce(Context, oneshot::Sender<()>) -> F + Send + 'static,
    ) where
        F: Future<Output = Exit> + Send + 'static,
    {
        let participant = http::HeaderValue::from_static(name);
        let reports = ReportsOver { transport: self.transport(), participant };
        let setup = Setup {
            identity: Identity { component: name.into(), instance: name.into(), version: "v1".into() },
            participant: name.to_owned(),
            random: Random::new(1),
            transport,
            output: Output::new(|_| {}),
        };
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        #[expect(clippy::disallowed_methods, reason = "threads that see one another only through the API are the test")]
        let thread = std::thread::spawn(move || {
            let stop = async {
                let _ = stopped.await;
            };
            participate(setup, reports, stop, |context| component(context, ready))
        });
        self.threads.push((stop, thread));
        is_ready.await.expect("it becomes ready");
    }

    /// Stops the components in the order in which they came; each must have lived well until then.
    fn end(self) {
        for (stop, thread) in self.threads {
            let _ = stop.send(());
            assert_eq!(thread.join().expect("no panic"), Ok(Exit::default()));
        }
    }

    /// Name and text of every ConfigMap whose name begins with `tick`.
    async fn ticks(&self) -> Vec<(String, Option<String>)> {
        let context = Context {
            identity: Identity { component: "test".into(), instance: "test".into(), version: "v1".into() },
            clock: self.clock.clock(),
            random: Random::new(1),
            wall: Clock::wall(),
            transport: self.transport(),
            tasks: Tasks::new(),
            output: Output::new(|_| {}),
        };
        let (maps, _) = ticks(&context).list(&ListOptions::default()).await.expect("a list");
        maps.into_iter().map(|map| (map.metadata.name, map.data.get("echo").cloned())).collect()
    }
}

fn ticks(context: &Context) -> Api<ConfigMap> {
    Api::namespaced(context, "runtime", "default")
}

/// Writes a ConfigMap every hour, on the hour.
async fn ticker(context: Context, ready: oneshot::Sender<()>) -> Exit {
    let api = ticks(&context);
    let _ = ready.send(());
    loop {
        let next = context.clock.now().duration_trunc(TimeDelta::hours(1)).expect("in range") + TimeDelta::hours(1);
        context.clock.sleep_until(next, TimerClass::Calendar).await;
        let name = format!("tick-{}", context.clock.now().format("%dt%H-%M-%S"));
        let metadata = ObjectMeta { name, namespace: "default".to_owned(), ..ObjectMeta::default() };
        api.create(&ConfigMap { metadata, ..ConfigMap::default() }).await.expect("created");
    }
}

/// Writes into each ConfigMap, five seconds after it has seen it, how late that is.
async fn echo(context: Context, ready: oneshot::Sender<()>) -> Exit {
    let mut controller = controller::Controller::new("echo", &context);
    let api = ticks(&context);
    let store = controller.watch(api.clone(), ListOptions::default(), |change| vec![change.key.clone()]);
    let _ = ready.send(());
    let clock = context.clock.clone();
    controller
        .run(4, move |key| {
            let (api, clock, store) = (api.clone(), clock.clone(), store.clone());
            async move {
                let Some(map) = store.get(&key) else { return Ok(controller::Requeue::OnChange) };
                if map.metadata.name.starts_with("tick") && !map.data.contains_key("echo") {
                    clock.sleep(TimeDelta::seconds(5), TimerClass::Work).await;
                    let created = map.metadata.creation_timestamp.0;
                    let late = (clock.now() - created).num_seconds().to_string();
                    let mut new = (*map).clone();
                    new.data.insert("echo".to_owned(), late);
                    api.update(&map, &new).await?;
                }
                Ok(controller::Requeue::OnChange)
            }
        })
        .await;
    Exit::default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_never_overtakes_who_has_something_to_do() {
    let mut world = World::new(Mode::Stepped);
    let transport = world.transport();
    world.run("ticker", transport.clone(), ticker).await;
    world.run("echo", transport, echo).await;
    let to = start() + TimeDelta::days(3) + TimeDelta::seconds(30);
    assert_eq!(world.clock.advance(to).await, Ok(to));
    let ticks = world.ticks().await;
    assert_eq!(ticks.len(), 72, "one an hour, each once");
    for (name, echo) in &ticks {
        assert!(name.ends_with("-00-00"), "{name}");
        assert_eq!(echo.as_deref(), Some("5"), "{name}");
    }
    let back = world.clock.advance(start()).await;
    assert_eq!(back, Err(CommandError::Backwards(to)));
    world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eager_time_does_the_work_and_leaves_the_calendar_alone() {
    let mut world = World::new(Mode::Eager);
    let transport = world.transport();
    world.run("ticker", transport.clone(), ticker).await;
    world.run("echo", transport, echo).await;
    let to = start() + TimeDelta::hours(1);
    world.clock.advance(to).await.expect("forwards");
    // The echo is work of five seconds, which mode eager jumps to by itself.
    while world.ticks().await.iter().any(|(_, echo)| echo.is_none()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.ticks().await, [("tick-27t21-00-00".to_owned(), Some("5".to_owned()))]);
    assert!(world.clock.now() < to + TimeDelta::minutes(30), "the next tick has not come");
    world.end();
}

/// What holds bookmarks back, while it is told to.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<Option<tokio::sync::watch::Receiver<bool>>>>);

impl Gate {
    /// A transport on which a bookmark of a watch waits until the gate is open.
    fn transport(&self, transport: Transport) -> Transport {
        let gate = self.clone();
        Transport::new(move |request| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch"));
            let (response, gate) = (transport.send(request), gate.clone());
            Box::pin(async move {
                let response = response.await?;
                Ok(if is_watch { response.map(|body| gate.body(body)) } else { response })
            })
        })
    }

    fn body(self, body: process::Body) -> process::Body {
        let stream = futures::stream::unfold((body, self), |(mut body, gate)| async move {
            let frame = body.frame().await?;
            let is_bookmark = frame.as_ref().is_ok_and(|frame| {
                frame.data_ref().is_some_and(|data: &Bytes| data.starts_with(b"{\"type\":\"BOOKMARK\""))
            });
            let waits = gate.0.lock().expect("no panic").clone();
            if let Some(mut open) = waits.filter(|_| is_bookmark) {
                let _ = open.wait_for(|open| *open).await;
            }
            Some((frame, (body, gate)))
        });
        StreamBody::new(stream).boxed_unsync()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_types, reason = "one waiter, whose order cannot show")]
async fn who_holds_a_bookmark_back_holds_time_back() {
    let mut world = World::new(Mode::Stepped);
    let gate = Gate::default();
    let transport = gate.transport(world.transport());
    world.run("ticker", world.transport(), ticker).await;
    world.run("echo", transport, echo).await;
    let first = start() + TimeDelta::minutes(1);
    world.clock.advance(first).await.expect("forwards");

    let (open, is_open) = tokio::sync::watch::channel(false);
    *gate.0.lock().expect("no panic") = Some(is_open);
    // Somebody writes: what follows needs a new barrier.
    let clock = world.clock.clone();
    let (to, tick) = (start() + TimeDelta::hours(2), start() + TimeDelta::hours(1));
    let advanced = tokio::task::spawn(async move { clock.advance(to).await });
    while world.clock.now() < tick || world.clock.waits_for().participants != ["echo"] {
        assert!(!advanced.is_finished());
        tokio::task::yield_now().await;
    }
    for _ in 0..1000 {
        assert_eq!(world.clock.now(), tick, "time stands");
        tokio::task::yield_now().await;
    }
    assert_eq!(world.clock.waits_for().participants, ["echo"]);
    open.send_replace(true);
    assert_eq!(advanced.await.expect("no panic"), Ok(to));
    assert_eq!(world.ticks().await.len(), 2);
    world.end();
}
