// SPDX-License-Identifier: Apache-2.0
//! Landscape time across threads that communicate only through the API.

use std::sync::Arc;

use api::kubernetes::core::ConfigMap;
use apimachinery::meta::{DeleteOptions, ObjectMeta};
use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use clock::{Clock, SimulatedClock, TimeSource, TimerClass};
use controller::{Api, ListOptions};
use host::time::timekeeper::{CommandError, Decision, Mode};
use http_body_util::{BodyExt, StreamBody};
use parking_lot::Mutex;
use process::activity::PARTICIPANT_HEADER;
use process::participant::Idle;
use process::transport::full;
use process::{Context, Exit, Transport};
use tokio::sync::oneshot;

use crate::threads::slow_head::SlowHead;
use crate::threads::{World, eventually, start};

/// Name and text of every ConfigMap whose name begins with `tick`.
async fn seen(world: &World) -> Vec<(String, Option<String>)> {
    let (maps, _) = ticks(&world.context()).list(&ListOptions::default()).await.expect("a list");
    maps.into_iter().map(|map| (map.metadata.name, map.data.get("echo").cloned())).collect()
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

/// Writes the delay of its reaction into each ConfigMap, five seconds after it has seen it.
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
async fn time_waits_for_working_participants() {
    let mut world = World::new(Mode::Stepped);
    let transport = world.transport();
    world.run("ticker", transport.clone(), ticker).await;
    world.run("echo", transport, echo).await;
    let to = start() + TimeDelta::days(3) + TimeDelta::seconds(30);
    assert_eq!(world.clock.advance(to, TimeDelta::zero()).await, Ok(to));
    let ticks = seen(&world).await;
    assert_eq!(ticks.len(), 72, "one an hour, each once");
    for (name, echo) in &ticks {
        assert!(name.ends_with("-00-00"), "{name}");
        assert_eq!(echo.as_deref(), Some("5"), "{name}");
    }
    let back = world.clock.advance(start(), TimeDelta::zero()).await;
    assert_eq!(back, Err(CommandError::Backwards(to)));
    world.end();
}

/// Watches objects that never change.
async fn onlooker(context: Context, ready: oneshot::Sender<()>) -> Exit {
    let mut controller = controller::Controller::new("onlooker", &context);
    let api = Api::<api::kubernetes::core::Secret>::namespaced(&context, "runtime", "default");
    let _store = controller.watch(api, ListOptions::default(), |change| vec![change.key.clone()]);
    let _ = ready.send(());
    controller.run(1, |_| async { Ok(controller::Requeue::OnChange) }).await;
    Exit::default()
}

/// A step concerns only participants with a timer then, and those whose watches are sent a line: all other participants
/// neither receive nor send anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_sends_nothing_to_uninvolved_participants() {
    const ONLOOKERS: [&str; 4] = ["onlooker-1", "onlooker-2", "onlooker-3", "onlooker-4"];
    let mut world = World::new(Mode::Stepped);
    let transport = world.transport();
    world.run("ticker", transport.clone(), ticker).await;
    world.run("echo", transport.clone(), echo).await;
    for name in ONLOOKERS {
        world.run(name, transport.clone(), onlooker).await;
    }
    let first = start() + TimeDelta::minutes(1);
    world.clock.advance(first, TimeDelta::zero()).await.expect("forwards");
    let before = ONLOOKERS.map(|name| world.reports(name));
    let (ticker, echo) = (world.reports("ticker"), world.reports("echo"));
    // 48 ticks, each echoed five seconds later.
    let to = start() + TimeDelta::days(2) + TimeDelta::minutes(1);
    assert_eq!(world.clock.advance(to, TimeDelta::zero()).await, Ok(to));
    assert!(world.reports("ticker") - ticker >= 48, "it reports after each of its timers");
    assert!(world.reports("echo") - echo >= 96, "after each tick and after each of its timers");
    for (name, before) in ONLOOKERS.into_iter().zip(before) {
        // A participant that waits for long repeats its report, even if nothing changes.
        let reports = world.reports(name) - before;
        assert!(reports < 24, "{name} reported {reports} times");
    }
    world.end();
}

/// A participant that is not granted an instant reads it from the dial when it observes an event of that instant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ungranted_instants_are_read_from_the_dial() {
    let mut world = World::new(Mode::Stepped);
    let transport = world.transport();
    world.run("ticker", transport.clone(), ticker).await;
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    world
        .run("listener", transport, move |context, ready| async move {
            let mut controller = controller::Controller::new("listener", &context);
            let _store = controller.watch(ticks(&context), ListOptions::default(), move |change| {
                let created = change.new.as_ref().map(|map| map.metadata.creation_timestamp.0);
                let now = context.clock.now().duration_trunc(TimeDelta::seconds(1)).expect("in range");
                let _ = sender.send((created, now));
                Vec::new()
            });
            let _ = ready.send(());
            controller.run(1, |_| async { Ok(controller::Requeue::OnChange) }).await;
            Exit::default()
        })
        .await;
    let to = start() + TimeDelta::hours(12) + TimeDelta::minutes(1);
    assert_eq!(world.clock.advance(to, TimeDelta::zero()).await, Ok(to));
    for hour in 1..=12 {
        let (created, now) = told.recv().await.expect("it heard of the tick");
        assert_eq!((created, now), (Some(now), start() + TimeDelta::hours(hour)));
    }
    world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eager_time_does_the_work_and_leaves_the_calendar_alone() {
    let mut world = World::new(Mode::Eager);
    let transport = world.transport();
    world.run("ticker", transport.clone(), ticker).await;
    world.run("echo", transport, echo).await;
    let to = start() + TimeDelta::hours(1);
    world.clock.advance(to, TimeDelta::zero()).await.expect("forwards");
    // The echo is work that is due in five seconds, to which mode eager jumps by itself.
    eventually("the echo", async || seen(&world).await.iter().all(|(_, echo)| echo.is_some()).then_some(())).await;
    assert_eq!(seen(&world).await, [("tick-27t21-00-00".to_owned(), Some("5".to_owned()))]);
    assert!(world.clock.now() < to + TimeDelta::minutes(30), "the next tick has not come");
    world.end();
}

/// A participant that the clock does not know any more, for example since a debugger stopped its process for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_process_joins_the_clock_again() {
    let mut world = World::new(Mode::Stepped);
    let transport = world.transport();
    world.run("ticker", transport.clone(), ticker).await;
    world.run_process("echo", transport, echo).await;
    let mut to = start();
    for day in 1..=3 {
        to += TimeDelta::days(1);
        assert_eq!(world.clock.advance(to + TimeDelta::minutes(1), TimeDelta::zero()).await.map(drop), Ok(()));
        let ticks = seen(&world).await;
        assert_eq!(ticks.len(), 24 * day);
        assert!(ticks.iter().all(|(_, echo)| echo.as_deref() == Some("5")), "day {day}: {ticks:?}");
        // Its pending report gets no answer other than to report again.
        world.clock.leave("echo");
        let is_back = async || world.clock.state().participants.contains_key("echo").then_some(());
        eventually("the join", is_back).await;
    }
    world.end();
}

/// A goal computed from a read instant is accepted although time has run on since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instant_that_passed_meanwhile_is_the_present_one() {
    let mut world = World::new(Mode::Stepped);
    let transport = world.transport();
    world.run("ticker", transport, ticker).await;
    let now = start() + TimeDelta::minutes(1);
    world.clock.advance(now, TimeDelta::zero()).await.expect("forwards");
    let order = async |or_now: bool| {
        let body = serde_json::json!({ "to": start(), "orNow": or_now }).to_string();
        let request = http::Request::post("/terrarium/clock/advance").body(full(body)).expect("a request");
        world.transport().send(request).await.expect("a response").status().as_u16()
    };
    assert_eq!(order(false).await, 409);
    assert_eq!(order(true).await, 200);
    eventually("the end of the command", async || world.clock.state().target.is_none().then_some(())).await;
    assert_eq!(world.clock.now(), now, "time did not move");
    world.end();
}

/// Reports are lines of one request. An invalid line, or one of a participant that has not joined, ends it with a
/// reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_are_lines_and_nonsense_ends_them() {
    let world = World::new(Mode::Stepped);
    let send = async |place: &str, body: String| {
        let request = http::Request::post(format!("/terrarium/clock/{place}"))
            .header(PARTICIPANT_HEADER, "toy")
            .body(full(body))
            .expect("a request");
        let response = world.transport().send(request).await.expect("a response");
        let status = response.status().as_u16();
        let text = response.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(text.to_vec()).expect("text"))
    };
    let idle = |sequence: u64| serde_json::to_string(&Idle { sequence, ..Idle::default() }).expect("JSON") + "\n";
    let not_joined = "{\"notJoined\":\"it had not joined the clock, or had not answered for 30 s of wall time\"}\n";
    assert_eq!(send("reports", idle(1)).await, (200, not_joined.to_owned()));
    assert_eq!(send("join", "nonsense".to_owned()).await, (400, "this joins nothing".to_owned()));
    assert_eq!(send("join", "{}".to_owned()).await.0, 200);
    let no_report = "{\"refused\":\"this is not a report\"}\n";
    for nonsense in ["nonsense\n".to_owned(), "[]\n{}\n".to_owned(), "x".repeat((1 << 20) + 1)] {
        assert_eq!(send("reports", nonsense).await, (200, no_report.to_owned()));
    }
    // No command moves time, so these reports are not answered. Further reports are read all the same.
    assert_eq!(send("reports", idle(1) + &idle(2)).await, (200, String::new()));
    assert_eq!(send("reports", idle(3) + "nonsense\n").await, (200, no_report.to_owned()));
    world.end();
}

/// Gate that delays the lines of watches while it is closed.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<Option<tokio::sync::watch::Receiver<bool>>>>);

impl Gate {
    /// Transport whose watch lines wait until the gate is open.
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
            let waits = gate.0.lock().clone();
            if let Some(mut open) = waits {
                let _ = open.wait_for(|open| *open).await;
            }
            Some((frame, (body, gate)))
        });
        StreamBody::new(stream).boxed_unsync()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a task of the test itself")]
async fn a_delayed_watch_line_delays_time() {
    let mut world = World::new(Mode::Stepped);
    let gate = Gate::default();
    let transport = gate.transport(world.transport());
    world.run("ticker", world.transport(), ticker).await;
    world.run("echo", transport, echo).await;
    let first = start() + TimeDelta::minutes(1);
    world.clock.advance(first, TimeDelta::zero()).await.expect("forwards");

    let (open, is_open) = tokio::sync::watch::channel(false);
    *gate.0.lock() = Some(is_open);
    // Another client writes: the next step needs a new barrier.
    let clock = world.clock.clone();
    let (to, tick) = (start() + TimeDelta::hours(2), start() + TimeDelta::hours(1));
    let advanced = tokio::task::spawn(async move { clock.advance(to, TimeDelta::zero()).await });
    let decision = eventually("the clock waits for the line", async || {
        assert!(!advanced.is_finished());
        (world.clock.now() >= tick).then(|| world.decision_waiting_for(&["echo"])).flatten()
    });
    assert!(matches!(decision.await, Decision::Wait { .. }));
    assert_eq!(world.clock.now(), tick);
    open.send_replace(true);
    assert_eq!(advanced.await.expect("no panic"), Ok(to));
    // If time had passed the delayed line, the first echo would be late. The second one is due after the goal.
    let (first, second) = ("tick-27t21-00-00".to_owned(), "tick-27t22-00-00".to_owned());
    assert_eq!(seen(&world).await, [(first, Some("5".to_owned())), (second, None)]);
    world.end();
}

/// Creates a ball that two controllers pass to each other endlessly.
async fn thrower(context: Context, ready: oneshot::Sender<()>, me: &'static str, other: &'static str) -> Exit {
    let mut controller = controller::Controller::new("thrower", &context);
    let api = ticks(&context);
    let store = controller.watch(api.clone(), ListOptions::default(), |change| vec![change.key.clone()]);
    let _ = ready.send(());
    controller
        .run(1, move |key| {
            let (api, store) = (api.clone(), store.clone());
            async move {
                let Some(map) = store.get(&key) else { return Ok(controller::Requeue::OnChange) };
                if map.data.get("at").is_some_and(|at| at == me) {
                    let mut new = (*map).clone();
                    new.data.insert("at".to_owned(), other.to_owned());
                    api.update(&map, &new).await?;
                }
                Ok(controller::Requeue::OnChange)
            }
        })
        .await;
    Exit::default()
}

fn ball(at: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: "ball".to_owned(), namespace: "default".to_owned(), ..ObjectMeta::default() };
    ConfigMap { metadata, data: [("at".to_owned(), at.to_owned())].into(), ..ConfigMap::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_lock_stops_an_advance_and_is_named() {
    stop_a_live_lock(World::new(Mode::Stepped)).await;
}

/// A log head that was read before the last reports arrived does not cover the writes that they depend on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_look_at_the_log_moves_no_time() {
    stop_a_live_lock(World::over(Mode::Stepped, Clock::wall(), Arc::new(SlowHead::default()))).await;
}

async fn stop_a_live_lock(mut world: World) {
    let transport = world.transport();
    world.run("ping", transport.clone(), |context, ready| thrower(context, ready, "ping", "pong")).await;
    world.run("pong", transport, |context, ready| thrower(context, ready, "pong", "ping")).await;
    let to = start() + TimeDelta::hours(1);
    // All participants are idle.
    assert_eq!(world.clock.advance(to, TimeDelta::zero()).await, Ok(to));
    let balls = ticks(&world.context());
    balls.create(&ball("ping")).await.expect("created");
    let further = to + TimeDelta::hours(1);
    assert_eq!(world.clock.advance(further, TimeDelta::zero()).await, Ok(to), "time did not move");
    let state = world.clock.state();
    let live_lock = state.live_lock.expect("it is told");
    let (object, actor) = (":/configmaps/default/ball was written 65 times", "last by toy");
    assert!(live_lock.contains(object) && live_lock.ends_with(actor), "{live_lock}");
    assert_eq!(state.target, None);
    // Time may be resumed once the cause is removed.
    balls.delete("ball", &DeleteOptions::default()).await.expect("deleted");
    assert_eq!(world.clock.advance(further, TimeDelta::zero()).await, Ok(further));
    assert_eq!(world.clock.state().live_lock, None);
    world.end();
}

/// Writes into each ConfigMap as a client without part in landscape time.
async fn others(context: Context) {
    let mut controller = controller::Controller::new("others", &context);
    let api = ticks(&context);
    let store = controller.watch(api.clone(), ListOptions::default(), |change| vec![change.key.clone()]);
    controller
        .run(1, move |key| {
            let (api, store) = (api.clone(), store.clone());
            async move {
                let Some(map) = store.get(&key) else { return Ok(controller::Requeue::OnChange) };
                if map.metadata.name.starts_with("tick") && !map.data.contains_key("echo") {
                    let mut new = (*map).clone();
                    new.data.insert("echo".to_owned(), "seen".to_owned());
                    api.update(&map, &new).await?;
                }
                Ok(controller::Requeue::OnChange)
            }
        })
        .await;
}

/// Advances wall time, timer by timer.
fn pass(wall: &SimulatedClock, time: TimeDelta) {
    let to = wall.now() + time;
    while wall.fire_next(Some(to)).is_some() {}
    wall.advance_to(to);
}

/// Lets wall time pass until landscape time goes on from `now`, or the command has ended. The response to the last
/// write of a client may be pending, and as much time passes again after it.
async fn pass_while_time_waits<T>(
    world: &World,
    wall: &SimulatedClock,
    settle: TimeDelta,
    now: DateTime<Utc>,
    advanced: &tokio::task::JoinHandle<T>,
) {
    eventually("time goes on", async || {
        if world.clock.now() != now || advanced.is_finished() {
            return Some(());
        }
        // A participant that owes an answer while wall time passes is dropped for its silence. So only the time for
        // which the clock waits passes, once.
        let due = wall.next_work_timer().filter(|due| *due <= wall.now() + settle);
        let state = world.clock.state();
        if let Some(due) = due.filter(|_| state.settled && state.now == now) {
            pass(wall, due - wall.now());
        }
        None
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a task of the test itself")]
async fn a_client_outside_of_time_may_act_between_steps() {
    let wall = SimulatedClock::new(start());
    let mut world = World::on(Mode::Stepped, Clock::new(wall.clone()));
    let transport = world.transport();
    world.run("ticker", transport, ticker).await;
    let client = world.context_over(world.users_transport());
    tokio::task::spawn(others(client));
    // Only lines of an open watch give the client time to act. The second object is not in the list that precedes it.
    let before = ["tick-listed", "tick-watched"];
    for name in before {
        let metadata = ObjectMeta { name: name.to_owned(), namespace: "default".to_owned(), ..ObjectMeta::default() };
        let created = ticks(&world.context()).create(&ConfigMap { metadata, ..ConfigMap::default() }).await;
        created.expect("created");
        eventually("the client acts", async || seen(&world).await.iter().all(|(_, echo)| echo.is_some()).then_some(()))
            .await;
    }
    let settle = TimeDelta::seconds(5);
    let clock = world.clock.clone();
    let to = start() + TimeDelta::hours(3);
    let advanced = tokio::task::spawn(async move { clock.advance(to, settle).await });
    // The lines before the command may count, too.
    pass_while_time_waits(&world, &wall, settle, start(), &advanced).await;
    for (hour, count) in (1..=3).zip(before.len() + 1..) {
        let tick = start() + TimeDelta::hours(hour);
        let acted =
            |seen: &[(String, Option<String>)]| seen.len() == count && seen.iter().all(|(_, echo)| echo.is_some());
        eventually("the client acts", async || acted(&seen(&world).await).then_some(())).await;
        let decision = eventually("the clock waits", async || world.decision_waiting_for(&[])).await;
        assert!(matches!(decision, Decision::Wait { .. }), "time stands while the client may act");
        assert_eq!(world.clock.now(), tick);
        pass_while_time_waits(&world, &wall, settle, tick, &advanced).await;
    }
    assert_eq!(advanced.await.expect("no panic"), Ok(to));
    assert_eq!(seen(&world).await.len(), before.len() + 3);
    world.end();
}
