// SPDX-License-Identifier: Apache-2.0
//! A world of one fake server and two clocks, for tests of a controller that uses them.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::Arc;

use api::kubernetes::core::ConfigMap;
use apimachinery::meta::ObjectMeta;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random, SimulatedClock};
use controller::Api;
use futures::StreamExt;
use futures::channel::mpsc;
use http::{Method, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use parking_lot::{Mutex, MutexGuard};
use process::transport::{BodyError, full};
use process::{Body, Context, Identity, Output, Request, Response, Tasks, Transport, TransportError};
use serde_json::{Map, Value, json};

type Key = (String, String);

#[derive(Default)]
struct State {
    revision: u64,
    oldest: u64,
    objects: BTreeMap<Key, Value>,
    history: Vec<(u64, &'static str, Value)>,
    watchers: Vec<mpsc::UnboundedSender<Bytes>>,
    log: Vec<String>,
    refusals: VecDeque<Refusal>,
    chunk: usize,
}

/// Failure of the next request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    /// The request gets no response.
    Unreachable,
    /// A `Status` with this code and reason.
    Status(u16, &'static str),
}

/// A server of one resource in one cluster with the necessary verbs: list in pages, watch, get, create, patch, delete.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

impl Server {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Writes an object as another client.
    pub(crate) fn put(&self, name: &str, data: &str) {
        let tree = json!({"metadata": {"name": name, "namespace": "x"}, "data": {"value": data}});
        self.lock().write(("x".to_owned(), name.to_owned()), tree);
    }

    /// Removes an object of namespace `x` as another client.
    pub(crate) fn remove(&self, name: &str) {
        self.remove_from("x", name);
    }

    /// Removes an object as another client.
    pub(crate) fn remove_from(&self, namespace: &str, name: &str) {
        self.lock().remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// Ends every watch.
    pub(crate) fn cut(&self) {
        self.lock().watchers.clear();
    }

    /// Drops the history up to now: a watch from before gets 410.
    pub(crate) fn compact(&self) {
        let mut state = self.lock();
        state.oldest = state.revision;
        state.history.clear();
    }

    /// Sends the present state of an object to every watch again.
    pub(crate) fn redeliver(&self, name: &str) {
        let mut state = self.lock();
        let object = state.objects[&("x".to_owned(), name.to_owned())].clone();
        state.send("MODIFIED", &object);
    }

    /// Sends a bookmark at the present revision to every watch.
    pub(crate) fn bookmark(&self) {
        let mut state = self.lock();
        state.revision += 1;
        let object = json!({"metadata": {"resourceVersion": state.revision.to_string()}});
        state.send("BOOKMARK", &object);
    }

    /// Makes the next request fail.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.lock().refusals.push_back(refusal);
    }

    /// Cuts the streams of watches into chunks of this size.
    pub(crate) fn chunks(&self, size: usize) {
        self.lock().chunk = size;
    }

    /// Takes the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().log)
    }

    /// Returns a stored object.
    pub(crate) fn stored(&self, name: &str) -> Option<Value> {
        self.lock().objects.get(&("x".to_owned(), name.to_owned())).cloned()
    }

    /// All stored objects, in key order.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.lock().objects.values().cloned().collect()
    }

    async fn answer(self, request: Request) -> Result<Response, TransportError> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await.expect("a test's body is whole").to_bytes();
        let query: BTreeMap<String, String> = parts
            .uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let watching = query.contains_key("watch");
        let words: Vec<&str> = [query.get("resourceVersion"), query.get("limit"), query.get("continue")]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let what = if watching { "WATCH" } else { parts.method.as_str() };
        let text = String::from_utf8_lossy(&bytes);
        let line =
            format!("{what} {} {} {text}", parts.uri.path().trim_start_matches("/clusters/garden"), words.join(" "));
        let mut state = self.lock();
        state.log.push(line.trim_end().replace("  ", " "));
        match state.refusals.pop_front() {
            Some(Refusal::Unreachable) => return Err(TransportError::Unreachable("the test says so".to_owned())),
            Some(Refusal::Status(code, reason)) => return Ok(status(code, reason)),
            None => {}
        }
        let segments: Vec<&str> = parts.uri.path().split('/').skip_while(|it| *it != "namespaces").collect();
        let (namespace, name) =
            (segments.get(1).copied().unwrap_or_default(), segments.get(3).copied().unwrap_or_default());
        let key = (namespace.to_owned(), name.to_owned());
        if watching {
            return Ok(state.watch(query["resourceVersion"].parse().expect("a revision")));
        }
        Ok(match parts.method {
            Method::GET if name.is_empty() => state.list(&query),
            Method::GET => state.objects.get(&key).map_or_else(|| status(404, "NotFound"), |it| respond(200, it)),
            Method::POST | Method::PUT => {
                let tree: Value = serde_json::from_slice(&bytes).expect("a test's body is JSON");
                let name = tree["metadata"]["name"].as_str().expect("a name").to_owned();
                let key = (namespace.to_owned(), name);
                if parts.method == Method::POST && state.objects.contains_key(&key) {
                    return Ok(status(409, "AlreadyExists"));
                }
                let given = &tree["metadata"]["resourceVersion"];
                let present = state.objects.get(&key).map(|it| it["metadata"]["resourceVersion"].clone());
                if parts.method == Method::PUT && !given.is_null() && Some(given) != present.as_ref() {
                    return Ok(status(409, "Conflict"));
                }
                respond(201, &state.write(key, tree))
            }
            Method::PATCH => {
                let Some(mut object) = state.objects.get(&key).cloned() else { return Ok(status(404, "NotFound")) };
                let patch: Value = serde_json::from_slice(&bytes).expect("a test's patch is JSON");
                let given = &patch["metadata"]["resourceVersion"];
                if !given.is_null() && *given != object["metadata"]["resourceVersion"] {
                    return Ok(status(409, "Conflict"));
                }
                merge(&mut object, &patch);
                respond(200, &state.write(key, object))
            }
            Method::DELETE => {
                let Some(object) = state.objects.get(&key) else { return Ok(status(404, "NotFound")) };
                let uid = object["metadata"]["uid"].as_str().expect("a uid").to_owned();
                state.remove(&key);
                let text = format!(r#"{{"kind":"Status","status":"Success","details":{{"uid":"{uid}"}}}}"#);
                Response::new(full(text))
            }
            _ => status(405, "MethodNotAllowed"),
        })
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (name, value) in patch {
        let object = target.as_object_mut().expect("it was made one");
        if value.is_null() {
            object.remove(name);
        } else {
            merge(object.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

impl State {
    fn write(&mut self, key: Key, mut object: Value) -> Value {
        let kind = if self.objects.contains_key(&key) { "MODIFIED" } else { "ADDED" };
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.revision));
        }
        self.objects.insert(key, object.clone());
        self.publish(self.revision, kind, object.clone());
        object
    }

    fn remove(&mut self, key: &Key) {
        let mut object = self.objects.remove(key).expect("the object is there");
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.publish(self.revision, "DELETED", object);
    }

    fn publish(&mut self, revision: u64, kind: &'static str, object: Value) {
        self.send(kind, &object);
        self.history.push((revision, kind, object));
    }

    fn send(&mut self, kind: &str, object: &Value) {
        let line = frame(kind, object);
        let chunk = if self.chunk == 0 { line.len() } else { self.chunk };
        for watcher in &self.watchers {
            for part in line.chunks(chunk) {
                let _ = watcher.unbounded_send(Bytes::copy_from_slice(part));
            }
        }
    }

    fn watch(&mut self, from: u64) -> Response {
        let (sender, receiver) = mpsc::unbounded();
        if from < self.oldest {
            let gone = json!({"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old resource version"});
            let _ = sender.unbounded_send(Bytes::from(frame("ERROR", &gone)));
        } else {
            for (_, kind, object) in self.history.iter().filter(|(revision, ..)| *revision > from) {
                let _ = sender.unbounded_send(Bytes::from(frame(kind, object)));
            }
            self.watchers.push(sender);
        }
        let stream = receiver.map(|bytes| Ok::<_, BodyError>(Frame::data(bytes)));
        Response::new(Body::new(StreamBody::new(stream)))
    }

    fn list(&self, query: &BTreeMap<String, String>) -> Response {
        let limit: usize = query.get("limit").map_or(usize::MAX, |limit| limit.parse().expect("a number"));
        let skip: usize = query.get("continue").map_or(0, |token| token.parse().expect("a token of this server"));
        let items: Vec<&Value> = self.objects.values().skip(skip).take(limit).collect();
        let mut metadata = json!({"resourceVersion": self.revision.to_string()});
        if skip + items.len() < self.objects.len() {
            metadata["continue"] = json!((skip + items.len()).to_string());
        }
        respond(200, &json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items}))
    }
}

/// Formats a frame in the form of our servers: the object's identity first.
fn frame(kind: &str, object: &Value) -> Vec<u8> {
    format!("{{\"type\":\"{kind}\",\"object\":{}}}\n", ordered(object)).into_bytes()
}

/// Formats an object with kind, name, uid and resource version in front, as Go does.
fn ordered(object: &Value) -> String {
    let metadata = &object["metadata"];
    if !metadata["uid"].is_string() {
        return object.to_string();
    }
    let mut rest = object.as_object().expect("an object").clone();
    let mut inner = metadata.as_object().expect("metadata").clone();
    let mut take = |name: &str| inner.remove(name).unwrap_or_default();
    let front = format!(
        "{{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":{},\"namespace\":{},\"uid\":{},\"resourceVersion\":{}",
        take("name"),
        take("namespace"),
        take("uid"),
        take("resourceVersion"),
    );
    for name in ["metadata", "kind", "apiVersion"] {
        rest.remove(name);
    }
    let tail = |fields: &Map<String, Value>| {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!(",{}:{value}", json!(name))).collect();
        fields.concat()
    };
    format!("{front}{}}}{}}}", tail(&inner), tail(&rest))
}

fn respond(code: u16, tree: &Value) -> Response {
    let mut response = Response::new(full(ordered(tree)));
    *response.status_mut() = StatusCode::from_u16(code).expect("a code");
    response
}

fn status(code: u16, reason: &str) -> Response {
    respond(code, &json!({"kind": "Status", "status": "Failure", "reason": reason, "message": reason, "code": code}))
}

/// Clocks, a server, and a component that uses them.
pub(crate) struct World {
    /// Landscape time.
    pub(crate) clock: SimulatedClock,
    /// Wall time.
    pub(crate) wall: SimulatedClock,
    /// The server.
    pub(crate) server: Server,
    /// The component's context.
    pub(crate) context: Context,
}

/// Start of every test.
pub(crate) fn start() -> DateTime<Utc> {
    "2023-07-27T20:00:00Z".parse().expect("an instant")
}

impl World {
    /// Runs a test in a new world.
    pub(crate) fn run<F: Future<Output = ()>>(test: impl FnOnce(World) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (clock, wall, server) = (SimulatedClock::new(start()), SimulatedClock::new(start()), Server::default());
            let answering = server.clone();
            let context = Context {
                identity: Identity { component: "test".into(), instance: "test-0".into(), version: "v1".into() },
                clock: Clock::new(clock.clone()),
                random: Random::new(1),
                wall: Clock::new(wall.clone()),
                transport: Transport::new(move |request| Box::pin(answering.clone().answer(request))),
                tasks: Tasks::new(),
                output: Output::new(|_| {}),
            };
            test(World { clock, wall, server, context }).await;
        });
    }

    /// Client for the kind of the server.
    pub(crate) fn api(&self) -> Api<ConfigMap> {
        Api::namespaced(&self.context, "garden", "x")
    }

    /// Runs all tasks that are runnable at this instant.
    pub(crate) async fn settle(&self) {
        for _ in 0..300 {
            tokio::task::yield_now().await;
        }
    }

    /// Settles, then advances landscape time from timer to timer.
    pub(crate) async fn pass(&self, duration: TimeDelta) {
        let until = Clock::new(self.clock.clone()).now() + duration;
        self.settle().await;
        while self.clock.fire_next(Some(until)).is_some() {
            self.settle().await;
        }
        self.clock.advance_to(until);
        self.settle().await;
    }

    /// Advances wall time.
    pub(crate) async fn pass_wall(&self, duration: TimeDelta) {
        let until = Clock::new(self.wall.clone()).now() + duration;
        self.settle().await;
        while self.wall.fire_next(Some(until)).is_some() {
            self.settle().await;
        }
        self.wall.advance_to(until);
        self.settle().await;
    }

    /// Milliseconds of landscape time since the start.
    pub(crate) fn milliseconds(&self) -> i64 {
        (Clock::new(self.clock.clone()).now() - start()).num_milliseconds()
    }
}

/// A ConfigMap `x/NAME`.
pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta::named("x", name),
        data: [("value".to_owned(), value.to_owned())].into(),
        ..ConfigMap::default()
    }
}
