// SPDX-License-Identifier: Apache-2.0
//! Landscape time as an object that any client can read and change.

use host::kinds::clock_object::PATH;
use host::time::timekeeper::Mode;
use http_body_util::BodyExt;
use process::transport::full;
use serde_json::{Value, json};

use crate::threads::{self, World};

async fn call(world: &World, method: &str, path: &str, accept: &str, body: &Value) -> (u16, Value) {
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("accept", accept)
        .body(full(if body.is_null() { String::new() } else { body.to_string() }))
        .expect("a request");
    let response = world.users_transport().send(request).await.expect("a response");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    (code, serde_json::from_slice(&body).expect("JSON"))
}

async fn get(world: &World, path: &str, accept: &str) -> Value {
    let (code, tree) = call(world, "GET", path, accept, &Value::Null).await;
    assert_eq!(code, 200, "{tree}");
    tree
}

async fn patch(world: &World, query: &str, spec: Value) -> (u16, Value) {
    call(world, "PATCH", &format!("{PATH}/landscape{query}"), "", &json!({ "spec": spec })).await
}

async fn world(mode: Mode) -> World {
    let world = World::new(mode);
    world.host.set_clock(&world.clock, mode).await.expect("the log is open");
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_follows_its_spec() {
    let world = world(Mode::Stepped).await;
    let object = get(&world, &format!("{PATH}/landscape"), "").await;
    assert_eq!(object["spec"], json!({ "mode": "Stepped" }));
    assert_eq!(object["status"], json!({ "now": "2023-07-27T20:00:00.000000Z" }));

    let (code, object) = patch(&world, "?dryRun=All", json!({ "mode": "Auto" })).await;
    assert_eq!((code, &object["spec"]["mode"]), (200, &json!("Auto")));
    assert_eq!(world.clock.state().mode, Mode::Stepped, "nothing has changed");

    let (code, object) = patch(&world, "", json!({ "mode": "Scaled", "rate": 60, "paused": true })).await;
    assert_eq!((code, &object["spec"]), (200, &json!({ "mode": "Scaled", "rate": 60, "paused": true })));
    let state = world.clock.state();
    assert_eq!((state.mode, state.paused), (Mode::Rate(60.0), true));

    let (code, object) = patch(&world, "", json!({ "mode": "Stepped", "rate": null, "paused": false })).await;
    assert_eq!((code, &object["spec"]), (200, &json!({ "mode": "Stepped" })));
    let state = world.clock.state();
    assert_eq!((state.mode, state.paused), (Mode::Stepped, false));

    let to = threads::start() + chrono::TimeDelta::hours(2);
    world.clock.advance(to, chrono::TimeDelta::zero()).await.expect("forwards");
    let list = get(&world, PATH, "").await;
    assert_eq!(list["items"][0]["status"]["now"], "2023-07-27T22:00:00.000000Z");
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let table = get(&world, PATH, table).await;
    let row = |name: &str| {
        let columns = table["columnDefinitions"].as_array().expect("columns");
        let place = columns.iter().position(|column| column["name"] == name).expect("the column");
        table["rows"][0]["cells"][place].clone()
    };
    assert_eq!(row("Mode"), "Stepped");
    assert_eq!(row("Now"), "2023-07-27T22:00:00.000000Z");
    world.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_is_refused_and_the_clock_stays() {
    let world = world(Mode::Stepped).await;
    for (spec, expected) in [
        (
            json!({ "mode": "Fast" }),
            "spec.mode: Unsupported value: \"Fast\": supported values: \"Auto\", \"Eager\", \"RealTime\", \"Scaled\", \
             \"Stepped\"",
        ),
        (json!({ "mode": "Scaled" }), "spec.rate: Required value: mode Scaled needs a rate"),
        (json!({ "mode": "Scaled", "rate": 0 }), "spec.rate: Invalid value: 0: must be above 0"),
    ] {
        let (code, status) = patch(&world, "", spec).await;
        let message = status["message"].as_str().unwrap_or_default();
        assert!(code == 422 && message.contains(expected), "{code} {message}");
    }
    let another = json!({ "metadata": { "name": "another" } });
    let (code, status) = call(&world, "POST", PATH, "", &another).await;
    assert_eq!(code, 422, "{status}");
    let (code, status) = call(&world, "DELETE", &format!("{PATH}/landscape"), "", &Value::Null).await;
    assert_eq!(code, 403, "{status}");
    assert_eq!(world.clock.state().mode, Mode::Stepped);
    world.end();
}

/// A restarted host finds the instant at which time was stopped on the dial.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_time_is_paused_is_shown_on_the_dial() {
    let world = world(Mode::Rate(60.0)).await;
    let (shown, turned) = std::sync::mpsc::channel();
    world.clock.show_on(move |now| _ = shown.send(now));
    threads::eventually("time runs", async || (world.clock.state().now != threads::start()).then_some(())).await;
    let (code, _) = patch(&world, "", json!({ "paused": true })).await;
    assert_eq!(code, 200);
    let now = world.clock.state().now;
    assert_eq!(world.clock.advance(now, chrono::TimeDelta::zero()).await, Ok(now));
    assert_eq!(turned.try_iter().last(), Some(now));
    world.end();
}

/// A component that watches the clock, as the garbage collector does, does not keep time from moving.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lines_of_a_watch_on_the_clock_are_counted() {
    let mut world = world(Mode::Stepped).await;
    let transport = world.transport();
    world
        .run("watcher", transport, |context, ready| async move {
            let api = controller::Api::<api::terrarium::Clock>::all(&context, "*");
            let mut controller = controller::Controller::new("watcher", &context);
            let _store = controller.watch(api, controller::ListOptions::default(), |change| vec![change.key.clone()]);
            let _ = ready.send(());
            controller.run(1, |_| async { Ok(controller::Requeue::OnChange) }).await;
            process::Exit::default()
        })
        .await;
    for hours in 1..=3 {
        let to = threads::start() + chrono::TimeDelta::hours(hours);
        let advanced = world.clock.advance(to, chrono::TimeDelta::zero());
        assert_eq!(advanced.await, Ok(to));
        let (code, _) = patch(&world, "", json!({ "paused": hours % 2 == 1 })).await;
        assert_eq!(code, 200);
    }
    assert_eq!(world.clock.state().dropped, [""; 0]);
    world.end();
}

/// A command outlives its client; its state names its issuer, and any user may end it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_advance_shows_its_issuer_and_can_be_stopped() {
    let mut world = world(Mode::Stepped).await;
    let transport = world.transport();
    // Works until the test ends it, so that time cannot reach its goal.
    world
        .run("worker", transport, |context, ready| async move {
            let under_way = context.clock.sleep(chrono::TimeDelta::seconds(1), clock::TimerClass::Work);
            let _ = ready.send(());
            under_way.await;
            let shutdown = context.tasks.shutdown();
            let mut stopped = std::pin::pin!(shutdown.requested());
            std::future::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                stopped.as_mut().poll(cx)
            })
            .await;
            process::Exit::default()
        })
        .await;
    let clock = "/terrarium/clock/";
    let to = "2023-07-28T20:00:00Z";
    let body = json!({ "to": to, "by": "a test, process 7", "participant": "clock-7" });
    let (code, state) = call(&world, "POST", &format!("{clock}advance"), "", &body).await;
    assert_eq!((code, &state["target"], &state["advance"]["by"]), (200, &json!(to), &json!("a test, process 7")));
    assert_eq!(state["advance"]["from"], "2023-07-27T20:00:00Z");
    let object = get(&world, &format!("{PATH}/landscape"), "").await;
    let by = object["status"]["advancedBy"].as_str().expect("somebody");
    assert!(by.starts_with("a test, process 7, since 20"), "{by}");

    let request = http::Request::post(format!("{clock}advance")).body(full(json!({ "to": to }).to_string()));
    let response = world.users_transport().send(request.expect("a request")).await.expect("a response");
    assert_eq!(response.status(), 409);
    let text = response.into_body().collect().await.expect("a whole body").to_bytes();
    let expected = format!("the clock is already being advanced to {to} by {by}\nhint: `terrarium clock stop` ends it");
    assert_eq!(String::from_utf8_lossy(&text), expected);

    let (code, state) = call(&world, "POST", &format!("{clock}cancel"), "", &Value::Null).await;
    assert_eq!((code, &state["target"], &state["advance"]), (200, &Value::Null, &Value::Null));
    let (code, state) = call(&world, "POST", &format!("{clock}advance"), "", &json!({ "to": to })).await;
    assert_eq!((code, &state["advance"]["by"]), (200, &json!("ann")), "the default is the user's name");
    world.clock.cancel();
    world.end();
}
