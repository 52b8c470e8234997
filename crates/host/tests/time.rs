// SPDX-License-Identifier: Apache-2.0
//! Landscape time across threads that know of one another only through the API.

mod threads;

use std::sync::{Arc, Mutex};

use api::kubernetes::core::ConfigMap;
use apimachinery::meta::ObjectMeta;
use bytes::Bytes;
use chrono::{DurationRound, TimeDelta};
use clock::TimerClass;
use controller::{Api, ListOptions};
use host::timekeeper::{CommandError, Mode};
use http_body_util::{BodyExt, StreamBody};
use process::{Context, Exit, Transport};
use threads::{World, start};
use tokio::sync::oneshot;

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
    let ticks = seen(&world).await;
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
    while seen(&world).await.iter().any(|(_, echo)| echo.is_none()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(seen(&world).await, [("tick-27t21-00-00".to_owned(), Some("5".to_owned()))]);
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
#[expect(clippy::disallowed_methods, reason = "a task of the test itself")]
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
    assert_eq!(seen(&world).await.len(), 2);
    world.end();
}
