// SPDX-License-Identifier: Apache-2.0
//! Watches keep their guarantees, also during concurrent writes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use apimachinery::DynamicObject;
use clock::{Clock, Instant, Random, SimulatedClock, Sleep, TimeSource, TimerClass};
use eventlog::{EventLog, MemoryLog, Revision, Verb};
use generic_apiserver::validator::{Expected, WatchValidator};
use generic_apiserver::{Builder, FixedClusters, Foundation, Generic, Server};
use http_body::Body as _;
use process::Body;
use process::participant::LineCounts;
use process::transport::full;
use serde_json::{Value, json};

use crate::support::{World, gadgets, widgets};

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";
const WATCHED: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets?watch=1";
const GADGETS: &str = "/clusters/a/apis/custom.example.com/v1alpha1/namespaces/n/gadgets";

/// Returns the available frames, and true if the stream has ended.
fn drain(body: &mut Body) -> (Vec<Value>, bool) {
    let mut frames = Vec::new();
    loop {
        match Pin::new(&mut *body).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(frame)) => {
                let data = frame.expect("a frame").into_data().expect("data");
                assert_eq!(data.last(), Some(&b'\n'));
                let lines = data.split_inclusive(|byte| *byte == b'\n');
                frames.extend(lines.map(|line| serde_json::from_slice::<Value>(line).expect("JSON")));
            }
            Poll::Ready(None) => return (frames, true),
            Poll::Pending => return (frames, false),
        }
    }
}

fn told(frames: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    frames.iter().map(|frame| (text(&frame["type"]), text(&frame["object"]["metadata"]["name"]))).collect()
}

#[track_caller]
fn check(frames: &[Value], expected: &[(&str, &str)]) {
    let told = told(frames);
    let told: Vec<(&str, &str)> = told.iter().map(|(type_, name)| (type_.as_str(), name.as_str())).collect();
    assert_eq!(told, expected, "{frames:#?}");
}

impl World {
    async fn watch(&self, path: &str) -> Body {
        let (parts, body) = self.open("GET", path, &[], "").await;
        assert_eq!(parts.status, 200);
        body
    }

    /// Opens the watch of a process that participates in landscape time.
    async fn participant_watch(&self, path: &str) -> Body {
        let (parts, body) =
            self.open("GET", path, &[("terrarium-participant", "p"), ("terrarium-watch", "5")], "").await;
        assert_eq!(parts.status, 200);
        body
    }

    async fn create(&self, path: &str, name: &str, labels: Value) -> Value {
        let object = json!({"metadata": {"name": name, "labels": labels}, "spec": {"size": 1}});
        self.send("POST", path, &object).await.expect_code(201)
    }
}

#[tokio::test]
async fn a_watch_starts_with_the_state_and_its_end() {
    let world = World::new().await;
    world.create(WIDGETS, "b", json!({})).await;
    world.create(WIDGETS, "a", json!({})).await;
    let mut watch = world.watch(&format!("{WIDGETS}?watch=1&allowWatchBookmarks=true")).await;
    let (frames, ended) = drain(&mut watch);
    check(&frames, &[("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]);
    assert!(!ended);
    let mark = &frames[2]["object"];
    assert_eq!(mark["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
    assert_eq!(mark["kind"], "Widget");
    world.create(WIDGETS, "c", json!({})).await;
    let path = format!("{WIDGETS}/c");
    world.patch("merge-patch+json", &path, &json!({"spec": {"size": 2}})).await.expect_code(200);
    world.patch("merge-patch+json", &path, &json!({"spec": {"size": 2}})).await.expect_code(200);
    let deleted = world.send("DELETE", &path, &Value::Null).await;
    assert_eq!(deleted.code, 200);
    let (frames, _) = drain(&mut watch);
    check(&frames, &[("ADDED", "c"), ("MODIFIED", "c"), ("DELETED", "c")]);
    let version = |frame: &Value| -> u64 {
        frame["object"]["metadata"]["resourceVersion"].as_str().expect("a version").parse().expect("a number")
    };
    assert_eq!(version(&frames[2]), version(&frames[1]) + 1);
    assert_eq!(frames[2]["object"]["spec"], json!({"size": 2, "color": "grey"}));
}

/// Two watches: one is read at once, the other when many frames are queued, which form one chunk of the body. The
/// frames of changes that the first has read are built again for the second, and are equal.
#[tokio::test]
async fn queued_frames_are_sent_together() {
    let world = World::new().await;
    let (mut prompt, mut late) = (world.watch(WATCHED).await, world.watch(WATCHED).await);
    let mut read = Vec::new();
    for number in 0..100 {
        world.create(WIDGETS, &format!("w{number:03}"), json!({})).await;
        read.extend(drain(&mut prompt).0);
    }
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Some(Ok(piece))) = Pin::new(&mut late).poll_frame(&mut cx) else { panic!("nothing waits") };
    let piece = piece.into_data().expect("data");
    let lines: Vec<Value> = piece
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).expect("a line is a frame"))
        .collect();
    assert_eq!(lines, read);
    assert!(Pin::new(&mut late).poll_frame(&mut cx).is_pending());
}

#[tokio::test]
async fn selectors_make_objects_appear_and_vanish() {
    let world = World::new().await;
    world.create(WIDGETS, "w", json!({"x": "1"})).await;
    let mut watch = world.watch(&format!("{WIDGETS}?watch=true&labelSelector=x%3D1")).await;
    let mut by_color = world.watch(&format!("{WIDGETS}?watch=true&fieldSelector=spec.color%3Dred")).await;
    check(&drain(&mut watch).0, &[("ADDED", "w")]);
    let path = format!("{WIDGETS}/w");
    let left = world.patch("merge-patch+json", &path, &json!({"metadata": {"labels": {"x": "2"}}})).await;
    let left = left.expect_code(200);
    let (frames, _) = drain(&mut watch);
    check(&frames, &[("DELETED", "w")]);
    // The state before it left, at the version of the change that took it out.
    assert_eq!(frames[0]["object"]["metadata"]["labels"], json!({"x": "1"}));
    assert_eq!(frames[0]["object"]["metadata"]["resourceVersion"], left["metadata"]["resourceVersion"]);
    world.patch("merge-patch+json", &path, &json!({"metadata": {"labels": {"x": "1"}}})).await.expect_code(200);
    check(&drain(&mut watch).0, &[("ADDED", "w")]);
    check(&drain(&mut by_color).0, &[]);
    world.patch("merge-patch+json", &path, &json!({"spec": {"color": "red"}})).await.expect_code(200);
    check(&drain(&mut by_color).0, &[("ADDED", "w")]);
}

#[tokio::test]
async fn lines_for_participants_are_counted() {
    let world = World::new().await;
    world.create(WIDGETS, "v", json!({})).await;
    let revision = world.server.position();
    let path = format!("{WIDGETS}?watch=true&resourceVersion={revision}");
    let mut watch = world.participant_watch(&path).await;
    let mut others = world.watch(&path).await;
    let told = async || world.server.line_counts().await.expect("the log is open");
    assert_eq!(told().await, (revision, LineCounts([(5, 0)].into())));
    world.create(WIDGETS, "w", json!({})).await;
    world.create(GADGETS, "g", json!({})).await;
    let (position, lines) = told().await;
    assert_eq!((position > revision, lines), (true, LineCounts([(5, 1)].into())), "read or not");
    check(&drain(&mut watch).0, &[("ADDED", "w")]);
    check(&drain(&mut others).0, &[("ADDED", "w")]);
    drop(watch);
    assert_eq!(told().await.1, LineCounts::default());
    // The initial state is counted, and the bookmark after it.
    let path = format!(
        "{WIDGETS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut watch = world.participant_watch(&path).await;
    assert_eq!(told().await.1, LineCounts([(5, 3)].into()));
    check(&drain(&mut watch).0, &[("ADDED", "v"), ("ADDED", "w"), ("BOOKMARK", "")]);
}

#[tokio::test]
async fn a_watch_on_a_compacted_revision_expires() {
    let world = World::new().await;
    for index in 0..1100 {
        world.create(GADGETS, &format!("g{index}"), json!({})).await;
    }
    let path = format!("{GADGETS}?watch=true&resourceVersion=1");
    let mut watch = world.watch(&path).await;
    // The ring is too short, but the log still has the changes.
    assert_eq!(drain(&mut watch).0.len(), 1100);
    world.log.compact(Revision(500)).await.expect("compaction");
    let mut watch = world.watch(&path).await;
    let (frames, ended) = drain(&mut watch);
    assert!(ended);
    assert_eq!(frames[0]["type"], "ERROR");
    assert_eq!(frames[0]["object"]["code"], 410);
    assert_eq!(frames[0]["object"]["reason"], "Expired");
    let message = frames[0]["object"]["message"].as_str().expect("a text");
    assert!(message.starts_with("too old resource version: 1 ("), "{message}");
}

#[tokio::test]
async fn options_that_contradict_each_other_are_refused() {
    let world = World::new().await;
    let invalid = "ListOptions.meta.k8s.io \"\" is invalid: ";
    for (query, message) in [
        (
            "sendInitialEvents=true",
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "resourceVersionMatch=NotOlderThan&resourceVersion=1",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is \
             provided",
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=Exact",
            "resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"",
        ),
    ] {
        let answer = world.get(&format!("{WIDGETS}?watch=true&{query}")).await;
        answer.expect_failure(422, "Invalid", &format!("{invalid}{message}"));
    }
    let other = "/clusters/a/apis/example.com/v1/watch/namespaces/n/widgets/w?fieldSelector=metadata.name%3Dv";
    let message = "fieldSelector metadata.name doesn't match requested name";
    world.get(other).await.expect_failure(400, "BadRequest", message);
}

#[tokio::test]
async fn a_watch_ends_at_its_time_out() {
    let world = World::new().await;
    let mut watch = world.watch(&format!("{WIDGETS}?watch=true&timeoutSeconds=10&allowWatchBookmarks=true")).await;
    check(&drain(&mut watch).0, &[("BOOKMARK", "")]);
    world.wall.advance_to(world.wall_now() + chrono::TimeDelta::seconds(8));
    while world.wall.fire_next(Some(world.wall_now())).is_some() {}
    let (frames, ended) = drain(&mut watch);
    check(&frames, &[("BOOKMARK", "")]);
    assert!(!ended);
    world.wall.advance_to(world.wall_now() + chrono::TimeDelta::seconds(2));
    while world.wall.fire_next(Some(world.wall_now())).is_some() {}
    assert!(drain(&mut watch).1);
}

#[tokio::test]
async fn a_watch_across_clusters_names_the_cluster() {
    let world = World::new().await;
    let mut watch = world.watch("/clusters/*/apis/example.com/v1/widgets?watch=true").await;
    world.create(WIDGETS, "w", json!({})).await;
    world.create("/clusters/b/apis/example.com/v1/namespaces/n/widgets", "w", json!({})).await;
    let (frames, _) = drain(&mut watch);
    check(&frames, &[("ADDED", "w"), ("ADDED", "w")]);
    assert_eq!(frames[0]["object"]["metadata"]["annotations"], json!({"example.com/cluster": "a"}));
    assert_eq!(frames[1]["object"]["metadata"]["annotations"], json!({"example.com/cluster": "b"}));
}

/// A second server on the same log, as another process would be.
fn second(world: &World, log: &MemoryLog) -> Server {
    on_log(world, log, Clock::new(world.wall.clone()))
}

fn on_log(world: &World, log: &MemoryLog, wall: Clock) -> Server {
    let foundation = Foundation {
        log: Arc::new(log.clone()),
        clock: Clock::new(world.clock.clone()),
        wall,
        random: Random::new(1),
        writer: 2,
        recent_bytes: generic_apiserver::RECENT_BYTES,
    };
    Builder::new(foundation)
        .clusters(FixedClusters::new(["a", "b"], "1.27.1"))
        .resource::<DynamicObject>(&gadgets(), Generic)
        .resource::<DynamicObject>(&widgets(), Generic)
        .build()
}

async fn write(server: &Server, method: &str, path: &str, body: &Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", if method == "PATCH" { "application/merge-patch+json" } else { "application/json" })
        .body(full(if body.is_null() { String::new() } else { body.to_string() }))
        .expect("a request");
    let response = server.call(request).await.expect("a response");
    assert!(response.status().is_success(), "{method} {path}: {}", response.status());
}

/// Returns the changes that a watch of the gadgets of cluster `a` must show.
async fn expected(log: &MemoryLog) -> Vec<Expected> {
    let entries = log.read(Revision(0), log.head(), Some("a")).await.expect("the whole log");
    let gadgets = entries.iter().filter(|entry| &*entry.key.resource == "custom.example.com/gadgets");
    gadgets
        .map(|entry| {
            let [identity, rest @ ..] = &entry.object.parts;
            let mut text = identity.to_vec();
            text.extend_from_slice(format!(",\"resourceVersion\":\"{}\"", entry.revision).as_bytes());
            for part in rest {
                text.extend_from_slice(part);
            }
            let type_ = match entry.verb {
                Verb::Create => "ADDED",
                Verb::Update | Verb::UpdateStatus => "MODIFIED",
                Verb::Delete => "DELETED",
            };
            Expected { revision: entry.revision.0, type_, object: serde_json::from_slice(&text).expect("JSON") }
        })
        .collect()
}

#[tokio::test]
async fn watches_keep_their_promises_with_concurrent_writers() {
    let log = MemoryLog::new();
    let world = World::on(log.clone(), |builder| builder).await;
    let other = second(&world, &log);
    let start = world.server.position().0;
    let path = |revision: u64| format!("{GADGETS}?watch=true&allowWatchBookmarks=true&resourceVersion={revision}");
    let mut watch = world.participant_watch(&path(start)).await;
    let mut validator = WatchValidator::after(start, &[]);
    let mut from_state = world.participant_watch(&format!("{GADGETS}?watch=true&allowWatchBookmarks=true")).await;
    let mut state_validator = WatchValidator::with_state();
    let push = |validator: &mut WatchValidator, frames: Vec<Value>| {
        for frame in frames {
            validator.push(frame.to_string().as_bytes()).unwrap_or_else(|violation| panic!("{violation}: {frame}"));
        }
    };
    for round in 0..60_u64 {
        let (one, two) = if round % 2 == 0 { (&world.server, &other) } else { (&other, &world.server) };
        let name = format!("g{}", round % 7);
        let object = json!({"metadata": {"name": name}, "spec": {"round": round}});
        let own = format!("{GADGETS}/{name}");
        let create = write(one, "POST", GADGETS, &object);
        let elsewhere = json!({"metadata": {"name": format!("w{round}")}, "spec": {"size": 1}});
        let unrelated = write(&world.server, "POST", WIDGETS, &elsewhere);
        futures::future::join(create, unrelated).await;
        let (first, second) = (json!({"spec": {"a": round}}), json!({"spec": {"b": round}}));
        let first = write(one, "PATCH", &own, &first);
        let second = write(two, "PATCH", &own, &second);
        futures::future::join(first, second).await;
        if round % 3 == 0 {
            world.server.line_counts().await.expect("the log is open");
        }
        write(two, "DELETE", &own, &Value::Null).await;
        if round % 5 == 4 {
            // The connection breaks, and the watch continues from its position.
            push(&mut validator, drain(&mut watch).0);
            validator.resume();
            watch = world.participant_watch(&path(validator.position())).await;
        }
        if round % 4 == 0 {
            push(&mut state_validator, drain(&mut from_state).0);
        }
    }
    world.get(GADGETS).await.expect_code(200);
    let head = world.server.line_counts().await.expect("the log is open").0.0;
    push(&mut validator, drain(&mut watch).0);
    push(&mut state_validator, drain(&mut from_state).0);
    let expected = expected(&log).await;
    assert_eq!(expected.len(), 240);
    assert_eq!(validator.position(), head);
    validator.finish(start, &expected).unwrap_or_else(|violation| panic!("{violation}"));
    state_validator.finish(start, &expected).unwrap_or_else(|violation| panic!("{violation}"));
}

/// Wall time whose sleeps must not be polled once they are over, as those of a foreign clock.
#[derive(Clone, Debug)]
struct Strict(SimulatedClock);

impl TimeSource for Strict {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep_until(&self, until: Instant, class: TimerClass) -> Sleep {
        let sleep = self.0.sleep_until(until, class);
        Box::pin(async move {
            sleep.await;
        })
    }
}

/// The client reads nothing until the watch's time is over: the queued frames are sent first, then a clean end, and the
/// expired timer is not polled again.
#[tokio::test]
async fn a_watch_sends_queued_frames_after_its_end() {
    for options in ["", "&allowWatchBookmarks=true"] {
        let log = MemoryLog::new();
        let world = World::on(log.clone(), |builder| builder).await;
        let server = on_log(&world, &log, Clock::new(Strict(world.wall.clone())));
        let revision = world.server.position();
        let path = format!("{WIDGETS}?watch=true&timeoutSeconds=4&resourceVersion={revision}{options}");
        let request = http::Request::get(path).body(full("")).expect("a request");
        let mut watch = server.call(request).await.expect("a response").into_body();
        check(&drain(&mut watch).0, &[]);
        for name in ["a", "b", "c"] {
            let object = json!({"metadata": {"name": name}, "spec": {"size": 1}});
            write(&server, "POST", WIDGETS, &object).await;
        }
        for _ in 0..5 {
            world.wall.advance_to(world.wall_now() + chrono::TimeDelta::seconds(1));
            while world.wall.fire_next(Some(world.wall_now())).is_some() {}
        }
        let (mut frames, ended) = drain(&mut watch);
        assert!(ended);
        frames.retain(|frame| frame["type"] != "BOOKMARK");
        check(&frames, &[("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]);
        assert_eq!(drain(&mut watch), (Vec::new(), true), "an end is an end");
    }
}

/// A watcher's queue holds fewer changes than lie between the start of the watch and the present.
#[tokio::test]
async fn a_watch_from_the_past_receives_everything_at_its_pace() {
    const CHANGES: u64 = 16_600;
    let log = MemoryLog::new();
    let world = World::on(log.clone(), |builder| builder).await;
    let start = world.server.position().0;
    let path = |revision: u64| format!("{GADGETS}?watch=true&allowWatchBookmarks=true&resourceVersion={revision}");
    let mut lagging = world.watch(&path(start)).await;
    world.create(GADGETS, "g", json!({})).await;
    for round in 1..CHANGES {
        let patch = json!({"spec": {"round": round}});
        write(&world.server, "PATCH", &format!("{GADGETS}/g"), &patch).await;
    }
    let (frames, ended) = drain(&mut lagging);
    assert!(ended && frames.is_empty(), "a watcher that does not read is cut: {} frames", frames.len());

    let mut validator = WatchValidator::after(start, &[]);
    let mut watch = world.participant_watch(&path(start)).await;
    let (mut count, mut others) = (0, 500);
    while count < CHANGES + 10 {
        let piece = match Pin::new(&mut watch).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(piece)) => piece.expect("a piece").into_data().expect("data"),
            Poll::Ready(None) => panic!("it ended after {count}"),
            Poll::Pending => continue,
        };
        for frame in piece.split_inclusive(|byte| *byte == b'\n') {
            validator.push(frame).unwrap_or_else(|violation| panic!("{violation}"));
            count += 1;
        }
        if count >= others {
            // Others write meanwhile, and no counts are reported while a watch still has so much to read.
            others += 1_700;
            write(&world.server, "PATCH", &format!("{GADGETS}/g"), &json!({"spec": {"count": count}})).await;
            assert_eq!(world.server.line_counts().await.is_none(), count < CHANGES - 1_500, "at {count}");
        }
    }
    let head = world.server.line_counts().await.expect("the log is open").0.0;
    let (frames, ended) = drain(&mut watch);
    assert!(!ended);
    for frame in &frames {
        validator.push(frame.to_string().as_bytes()).unwrap_or_else(|violation| panic!("{violation}"));
    }
    assert_eq!(validator.position(), head);
    validator.finish(start, &expected(&log).await).unwrap_or_else(|violation| panic!("{violation}"));

    // History is compacted while a watch is reading it.
    let mut watch = world.watch(&path(start)).await;
    let first = Pin::new(&mut watch).poll_frame(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(first, Poll::Ready(Some(Ok(_)))));
    log.compact(Revision(head - 500)).await.expect("compaction");
    let (mut frames, ended) = drain(&mut watch);
    assert!(ended);
    let last = frames.pop().expect("frames");
    assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(410)), "{last}");
    assert!(frames.len() < 3_000, "{}", frames.len());
}

#[tokio::test]
async fn a_watch_may_have_the_longest_time_out() {
    let world = World::new().await;
    let mut watch = world.watch(&format!("{WIDGETS}?watch=true&timeoutSeconds={}", i64::MAX)).await;
    world.create(WIDGETS, "w", json!({})).await;
    let (frames, ended) = drain(&mut watch);
    check(&frames, &[("ADDED", "w")]);
    assert!(!ended);
}
