// SPDX-License-Identifier: Apache-2.0
//! A landscape whose host, or whose gardener-apiservers, are killed while clients write and watch: acknowledged writes survive,
//! no revision is used twice, watches miss nothing and see nothing twice, and each start succeeds at the first attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clock::Random;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::Transport;
use process::transport::full;
use serde_json::{Value, json};
use terrarium_e2e::sandbox::Sandbox;

use crate::support::{administrator, campaign, sandbox, send, signal};

/// Default of the number of kills; an environment variable overrides it.
const KILLS: u64 = 4;
/// Number of rounds after which the log is folded again and compared.
const VERIFIED: u64 = 20;
/// Number of clients of each resource.
const CLIENTS: u64 = 2;
/// Maximum number of writes of a round.
const WRITES: u64 = 60;

/// Collections of the written objects: a kind of the host's own server, and one of Gardener's behind the aggregation layer.
const RESOURCES: [&str; 2] = [
    "/clusters/garden/api/v1/namespaces/kube-system/configmaps",
    "/clusters/garden/apis/core.gardener.cloud/v1beta1/exposureclasses",
];
/// Label of the objects of this test.
const LABEL: &str = "number";

/// State of an object from the view of its only writer: the last acknowledged change, and the last requested one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WriterView {
    acknowledged: State,
    asked: State,
}

/// State of an object: after a number of changes, or absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Absent,
    After(u64),
    Deleted,
}

/// Common knowledge of all clients.
#[derive(Debug, Default)]
struct Ledger {
    objects: BTreeMap<(usize, String), WriterView>,
    /// Revisions of acknowledged creations and changes, each with the object and the number of the change.
    revisions: BTreeMap<u64, (usize, String, u64)>,
}

/// Shared state of a round's clients.
struct Round {
    transport: Transport,
    known: Arc<Mutex<Ledger>>,
    acknowledged: AtomicU64,
    over: AtomicBool,
}

impl Round {
    /// Requests a change of one object; returns true if it was acknowledged.
    async fn ask(&self, resource: usize, name: &str, state: State) -> bool {
        let key = (resource, name.to_owned());
        {
            let mut known = self.known.lock();
            let object =
                known.objects.entry(key.clone()).or_insert(WriterView { acknowledged: State::Absent, asked: state });
            object.asked = state;
        }
        let (collection, path) = (RESOURCES[resource], format!("{}/{name}", RESOURCES[resource]));
        let (method, path, body) = match state {
            State::After(0) => (Method::POST, collection, new(resource, name)),
            State::After(number) => {
                (Method::PATCH, path.as_str(), json!({ "metadata": { "labels": { LABEL: number.to_string() } } }))
            }
            State::Deleted | State::Absent => (Method::DELETE, path.as_str(), Value::Null),
        };
        let Some((StatusCode::OK | StatusCode::CREATED, answer)) = send(&self.transport, method, path, body).await
        else {
            return false;
        };
        let mut known = self.known.lock();
        known.objects.insert(key, WriterView { acknowledged: state, asked: state });
        if let State::After(number) = state {
            let revision = answer["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
            let before = known.revisions.insert(revision.expect("a revision"), (resource, name.to_owned(), number));
            assert_eq!(before, None, "a revision was given out twice: {answer}");
        }
        self.acknowledged.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Writes one object after the other until the round is over, or requests fail.
    async fn write(&self, round: u64, client: u64) {
        let resource = usize::try_from(client).expect("few") % RESOURCES.len();
        for number in 0_u64.. {
            let name = format!("kill-{round}-{client}-{number}");
            for state in [State::After(0), State::After(1), State::After(2), State::Deleted] {
                // One of three is not deleted.
                if state == State::Deleted && number % 3 == 0 {
                    continue;
                }
                if self.over.load(Ordering::SeqCst) || !self.ask(resource, &name, state).await {
                    break;
                }
            }
            if self.over.load(Ordering::SeqCst) {
                return;
            }
        }
    }
}

fn new(resource: usize, name: &str) -> Value {
    let metadata = json!({ "name": name, "labels": { LABEL: "0" } });
    match resource {
        0 => json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": "b" } }),
        _ => json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "ExposureClass",
            "metadata": metadata,
            "handler": "test",
        }),
    }
}

/// An event of a watch: revision, type, name, number.
type Event = (u64, String, String, u64);

/// Events that a watch has seen, over as many connections as necessary.
#[derive(Debug, Default)]
struct WatchedEvents {
    version: u64,
    events: Vec<Event>,
}

/// Follows a collection from the last seen revision, until the connection ends or `until` holds.
async fn follow(
    transport: &Transport,
    resource: usize,
    seen: &mut WatchedEvents,
    until: impl Fn(&WatchedEvents) -> bool,
) {
    let path = format!("{}?watch=true&resourceVersion={}", RESOURCES[resource], seen.version);
    let Ok(response) = transport.send(http::Request::get(path).body(full("")).expect("a request")).await else {
        return;
    };
    assert_ne!(response.status(), StatusCode::GONE, "all of history is kept");
    if response.status() != StatusCode::OK {
        return;
    }
    let (mut body, mut rest) = (response.into_body(), Vec::new());
    while let Some(Ok(frame)) = body.frame().await {
        rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).expect("a watch's line is JSON");
            let (kind, meta) = (event["type"].as_str().expect("a type"), &event["object"]["metadata"]);
            assert!(["ADDED", "MODIFIED", "DELETED"].contains(&kind), "{event}");
            let revision: u64 =
                meta["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a revision");
            assert!(revision > seen.version, "{revision} comes after {}: {event}", seen.version);
            seen.version = revision;
            let number = meta["labels"][LABEL].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
            let name = meta["name"].as_str().expect("a name").to_owned();
            seen.events.push((revision, kind.to_owned(), name, number));
        }
        if until(seen) {
            return;
        }
    }
}

/// Lists this test's objects.
async fn list(transport: &Transport, resource: usize) -> (u64, BTreeMap<String, u64>) {
    let (status, list) = send(transport, Method::GET, RESOURCES[resource], Value::Null).await.expect("an answer");
    assert_eq!(status, StatusCode::OK, "{list}");
    let head = list["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a revision");
    let items = list["items"].as_array().expect("items").iter().filter_map(|item| {
        let meta = &item["metadata"];
        Some((meta["name"].as_str()?.to_owned(), meta["labels"][LABEL].as_str()?.parse().ok()?))
    });
    (head, items.collect())
}

/// Asserts that each object has its acknowledged or its last requested state, which is then the known one.
fn check(known: &mut Ledger, resource: usize, found: &BTreeMap<String, u64>, round: u64) {
    for ((of, name), object) in &mut known.objects {
        if *of != resource {
            continue;
        }
        let is = match found.get(name) {
            Some(number) => State::After(*number),
            None if object.acknowledged >= State::After(0) => State::Deleted,
            None => State::Absent,
        };
        let WriterView { acknowledged, asked } = *object;
        assert!(is == acknowledged || is == asked, "round {round}: {name} is {is:?}: {object:?}");
        *object = WriterView { acknowledged: is, asked: is };
    }
    let names: BTreeSet<&String> =
        known.objects.keys().filter(|(of, _)| *of == resource).map(|(_, name)| name).collect();
    assert!(found.keys().all(|name| names.contains(name)), "round {round}: objects that no client created");
}

/// Kills the processes of a round.
fn kill(sandbox: &Sandbox, random: &Random, round: u64) {
    match random.below(4, "who is killed", "", round) {
        0 => sandbox.kill_all(),
        // The host alone: its components end by themselves, while the next host starts.
        _ => {
            let host: Value = serde_json::from_str(
                &std::fs::read_to_string(sandbox.directory().join("host.json")).expect("a host that runs"),
            )
            .expect("JSON");
            signal("-9", host["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a process"));
        }
    }
}

/// Ends a gardener-apiserver at once: its process, or the tasks of an instance in the process of the host.
fn kill_apiserver(sandbox: &Sandbox) {
    match sandbox.processes_of("gardener-apiserver").first() {
        Some(pid) => signal("-9", *pid),
        None => {
            sandbox.terrarium(&["fault", "inject", "component-crash", "--component", "gardener-apiserver"]);
        }
    }
}

#[test]
fn killed_landscapes_lose_nothing_and_start_again_at_once() {
    killed_landscapes_lose_nothing(&sandbox("kills").with_components("processes"));
}

#[test]
fn killed_landscapes_inside_lose_nothing() {
    killed_landscapes_lose_nothing(&sandbox("kills-inside").with_components("inside"));
}

fn killed_landscapes_lose_nothing(sandbox: &Sandbox) {
    let _campaign = campaign();
    let kills = std::env::var_os("TERRARIUM_TEST_KILLS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(KILLS);
    let random = Random::new(11);
    sandbox.terrarium(&["up", "--seed", "7"]);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let known = Arc::new(Mutex::new(Ledger::default()));
    let mut seen: [WatchedEvents; 2] = std::array::from_fn(|resource| {
        let (head, _) = runtime.block_on(list(&administrator(sandbox), resource));
        WatchedEvents { version: head, events: Vec::new() }
    });
    for round in 0..kills {
        let transport = administrator(sandbox);
        let writes = 1 + random.below(WRITES, "writes", "", round);
        let also = (random.below(3, "an apiserver, too", "", round) == 0).then_some(writes / 2);
        let shared = Arc::new(Round {
            transport: transport.clone(),
            known: known.clone(),
            acknowledged: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        runtime.block_on(async {
            let writers = (0..CLIENTS * RESOURCES.len() as u64).map(|client| {
                let shared = shared.clone();
                async move { shared.write(round, client).await }
            });
            let [first, second] = &mut seen;
            let killer = async {
                let mut also = also;
                loop {
                    let done = shared.acknowledged.load(Ordering::SeqCst);
                    if also.is_some_and(|at| done >= at) {
                        also = None;
                        kill_apiserver(sandbox);
                    }
                    if done >= writes {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                kill(sandbox, &random, round);
                shared.over.store(true, Ordering::SeqCst);
            };
            futures::join!(
                futures::future::join_all(writers),
                killer,
                watched(&shared, 0, first),
                watched(&shared, 1, second),
            );
        });
        // At once: the system still releases the files and sockets of the killed host.
        let started = sandbox.try_terrarium(&["up"]);
        assert!(started.is_ok(), "start {round} right after a kill: {started:?}");
        let transport = administrator(sandbox);
        for resource in 0..RESOURCES.len() {
            let (head, found) = runtime.block_on(list(&transport, resource));
            let mut known = known.lock();
            check(&mut known, resource, &found, round);
            let last = known.revisions.keys().next_back().copied().unwrap_or_default();
            assert!(head >= last, "round {round}: the list is as of {head}, and {last} was acknowledged");
        }
        if round % VERIFIED == VERIFIED - 1 || round + 1 == kills {
            let verified = sandbox.terrarium(&["replay", "--verify"]);
            assert!(verified.contains("the same as the API lists"), "round {round}: {verified}");
        }
    }
    complete(&runtime, &administrator(sandbox), &mut seen, &known.lock());
}

/// Follows a collection until the round is over; an apiserver that is killed ends a connection, not the watch.
async fn watched(round: &Round, resource: usize, seen: &mut WatchedEvents) {
    while !round.over.load(Ordering::SeqCst) {
        follow(&round.transport, resource, seen, |_| round.over.load(Ordering::SeqCst)).await;
    }
}

/// Completes the watches, and compares their events with the acknowledged changes.
fn complete(runtime: &tokio::runtime::Runtime, transport: &Transport, seen: &mut [WatchedEvents; 2], known: &Ledger) {
    let mut revisions = BTreeMap::new();
    for (resource, seen) in seen.iter_mut().enumerate() {
        let last = format!("last-{resource}");
        runtime.block_on(async {
            let (status, answer) =
                send(transport, Method::POST, RESOURCES[resource], new(resource, &last)).await.expect("up");
            assert_eq!(status, StatusCode::CREATED, "{answer}");
            let is_last = |seen: &WatchedEvents| seen.events.last().is_some_and(|(_, _, name, _)| *name == last);
            while !is_last(seen) {
                follow(transport, resource, seen, is_last).await;
            }
        });
        for (revision, kind, name, number) in &seen.events {
            let before = revisions.insert(*revision, name);
            assert_eq!(before, None, "revision {revision} is {name}'s, too");
            if let Some((of, named, changes)) = known.revisions.get(revision) {
                assert_eq!((*of, named, *changes), (resource, name, *number), "revision {revision}, {kind}");
            }
        }
        let seen_at: BTreeSet<u64> = seen.events.iter().map(|(revision, ..)| *revision).collect();
        for (revision, (_, name, number)) in known.revisions.iter().filter(|(_, (of, ..))| *of == resource) {
            assert!(seen_at.contains(revision), "no watch saw {name} after {number} changes, at revision {revision}");
        }
        for ((_, name), object) in known.objects.iter().filter(|((of, _), _)| *of == resource) {
            let of = |kind: &str| seen.events.iter().filter(|(_, k, n, _)| k == kind && n == name).count();
            let expected = match object.acknowledged {
                State::Absent => (0, 0),
                State::After(_) => (1, 0),
                State::Deleted => (1, 1),
            };
            assert_eq!((of("ADDED"), of("DELETED")), expected, "{name}: {object:?}");
        }
    }
}
