// SPDX-License-Identifier: Apache-2.0
//! A dashboard over objects of a test, and requests to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use clock::{Clock, SimulatedClock};
use dashboard::access::Entrance;
use dashboard::clock_state::ClockState;
use dashboard::upgrades::Upgrades;
use dashboard::view::administrator;
use dashboard::{Dashboard, Options};
use domain::profile::Profile;
use eventlog::{Actor, Append, EventLog, Expect, Key, MemoryLog, Sections, Verb};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::transport::full;
use process::{Transport, User};
use serde_json::{Value, json};

/// Host and port of the pages.
pub(crate) const HOST: &str = "test-abcdefghijkl.localhost:8080";
pub(crate) const NOW: &str = "2023-07-27T20:00:00Z";

/// Requests that reached the API: method, path and user.
pub(crate) type SentRequests = Arc<Mutex<Vec<(String, String, String)>>>;

/// Answers of the API: lists by their path without query, or codes with a Status.
#[derive(Clone, Default)]
pub(crate) struct Api {
    pub(crate) lists: BTreeMap<String, Vec<Value>>,
    /// Exact lists of the past, for every revision, by the same paths; collections that are not in them are as now.
    pub(crate) past: BTreeMap<String, Vec<Value>>,
    /// Answer to requests other than GET.
    pub(crate) refusal: Option<Value>,
    /// Answers to requests other than GET, by path.
    pub(crate) answers: BTreeMap<String, Value>,
    /// Prefixes of paths whose API server is unavailable.
    pub(crate) away: Vec<String>,
}

impl Api {
    pub(crate) fn with(mut self, path: &str, objects: &[Value]) -> Self {
        self.lists.insert(path.to_owned(), objects.to_vec());
        self
    }

    fn answer(&self, method: &str, path: &str) -> (u16, Value) {
        if self.away.iter().any(|begin| path.starts_with(begin)) {
            return (503, failure(503, "ServiceUnavailable", "the server is unavailable"));
        }
        if method != "GET" {
            if let Some(answer) = self.answers.get(path) {
                return (201, answer.clone());
            }
            return match &self.refusal {
                Some(status) => {
                    (u16::try_from(status["code"].as_u64().expect("a code")).expect("a code"), status.clone())
                }
                None => (200, json!({ "metadata": {} })),
            };
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let past = self.past.get(path).filter(|_| query.contains("resourceVersionMatch=Exact"));
        if let Some(items) = past {
            return (200, json!({ "kind": "List", "items": items }));
        }
        if let Some(items) = self.lists.get(path) {
            return (200, json!({ "kind": "List", "items": items }));
        }
        let (collection, name) = path.rsplit_once('/').unwrap_or_default();
        let collection = collection.replace("/namespaces/garden-demo", "");
        let found = self.lists.get(&collection).into_iter().flatten().find(|item| item["metadata"]["name"] == *name);
        match found {
            Some(object) => (200, object.clone()),
            None if path.contains("garden-demo") && !path.contains("shoots/") => (200, json!({ "items": [] })),
            None if self.lists.is_empty() => (503, failure(503, "ServiceUnavailable", "the server is unavailable")),
            None if collection.ends_with("shoots") => (404, failure(404, "NotFound", "shoots \"x\" not found")),
            None => (200, json!({ "items": [] })),
        }
    }
}

pub(crate) fn failure(code: u16, reason: &str, message: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message })
}

pub(crate) const SHOOTS: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/shoots";
pub(crate) const PROFILES: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/cloudprofiles";
pub(crate) const PROJECTS: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/projects";

pub(crate) fn profile(versions: Value) -> Value {
    json!({
        "metadata": { "name": "local", "resourceVersion": "1" },
        "spec": {
            "type": "local", "kubernetes": { "versions": versions },
            "machineImages": [{ "name": "gardenlinux", "versions": [
                { "version": "2.0.0", "classification": "preview", "architectures": ["amd64"], "cri": [{ "name": "containerd" }] },
                { "version": "1.0.0", "classification": "supported", "architectures": ["amd64"], "cri": [{ "name": "containerd" }] },
            ] }],
            "machineTypes": [{ "name": "local", "cpu": "4", "gpu": "0", "memory": "8Gi", "architecture": "amd64" }],
            "regions": [{ "name": "local", "zones": [{ "name": "local-a" }] }],
        },
    })
}

pub(crate) fn shoot(name: &str, version: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "garden-demo", "uid": name, "resourceVersion": "1", "creationTimestamp": NOW,
        },
        "spec": {
            "cloudProfile": { "kind": "CloudProfile", "name": "local" }, "region": "local",
            "credentialsBindingName": "local",
            "kubernetes": { "version": version }, "networking": { "type": "local" },
            "maintenance": { "timeWindow": { "begin": "090000+0000", "end": "100000+0000" } },
            "provider": { "type": "local", "workers": [{ "name": "a", "minimum": 1, "maximum": 3,
                "machine": { "type": "local", "image": { "name": "gardenlinux", "version": "1.0.0" } } }] },
        },
        "status": {},
    })
}

/// Returns a profile whose default is 1.27.1, one cluster, and its project.
pub(crate) fn landscape() -> Api {
    let versions = json!([
        { "version": "1.28.0", "classification": "preview" },
        { "version": "1.27.1", "classification": "supported" },
        { "version": "1.27.0", "classification": "deprecated" },
        { "version": "1.26.4", "classification": "deprecated", "expirationDate": "2023-07-28T00:00:00Z" },
        { "version": "1.26.3", "classification": "supported", "expirationDate": "2023-07-01T00:00:00Z" },
    ]);
    let project = json!({ "metadata": { "name": "demo" }, "spec": { "namespace": "garden-demo" } });
    Api::default()
        .with(PROFILES, &[profile(versions)])
        .with(SHOOTS, &[shoot("local", "1.26.4")])
        .with(PROJECTS, &[project])
}

/// Returns [`landscape`] with a cluster that exists at every moment.
pub(crate) fn old() -> Api {
    let mut api = landscape();
    let namespaced = SHOOTS.replace("/shoots", "/namespaces/garden-demo/shoots");
    api.past.insert(namespaced, vec![shoot("local", "1.26.4")]);
    api
}

/// A dashboard, and the requests that it sent.
pub(crate) struct Stage {
    pub(crate) dashboard: Dashboard,
    pub(crate) asked: SentRequests,
    cookie: String,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Stage {
    pub(crate) fn new(api: Api) -> Self {
        Self::with_log(api, MemoryLog::default())
    }

    /// Creates a stage with a past.
    pub(crate) fn with_log(api: Api, log: MemoryLog) -> Self {
        Self::with(api, log, None)
    }

    /// Creates a stage with a past, and an executor of upgrades.
    pub(crate) fn with(api: Api, log: MemoryLog, upgrades: Option<Arc<dyn Upgrades>>) -> Self {
        let now: DateTime<Utc> = NOW.parse().expect("an instant");
        let asked = SentRequests::default();
        let noted = asked.clone();
        let door = move |user: User| {
            let (api, noted) = (api.clone(), noted.clone());
            Transport::new(move |request| {
                let (method, path) = (request.method().to_string(), request.uri().to_string());
                noted.lock().push((method.clone(), path.clone(), user.name.to_string()));
                let (code, body) = api.answer(&method, &path);
                let mut response = Response::new(full(body.to_string()));
                *response.status_mut() = StatusCode::from_u16(code).expect("a code");
                Box::pin(async move { Ok(response) })
            })
        };
        let dashboard = Dashboard::new(Options {
            landscape: "test".to_owned(),
            gardener_version: "v1.120.0".to_owned(),
            rules: Profile::Documents,
            seed: 1,
            door: Arc::new(door),
            log: Arc::new(log),
            clock: Arc::new(move || ClockState {
                now,
                settled: true,
                mode: "stepped".to_owned(),
                ..ClockState::default()
            }),
            wall: Clock::new(SimulatedClock::new(now)),
            tasks: process::Tasks::new(),
            upgrades,
            has_threads: false,
        });
        dashboard.add_name(HOST);
        let cookie = format!("terrarium={}", dashboard.sessions().begin(administrator()));
        Self { dashboard, asked, cookie }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(path).header("host", HOST).header("cookie", &self.cookie)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.dashboard.answer(Entrance::Loopback, request).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let text = String::from_utf8(body.to_vec()).expect("text");
        Answer { code: parts.status, headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path).body(Body::empty()).expect("a request")).await
    }

    /// Returns the token of an action's forms.
    pub(crate) fn token(&self, action: &str) -> String {
        let secret = self.cookie.strip_prefix("terrarium=").expect("a cookie");
        self.dashboard.sessions().find(secret).expect("a session").token(action)
    }

    /// Sends a form as a page of the dashboard does, and follows to the page in answer to it.
    pub(crate) async fn post(&self, action: &str, form: &str) -> Answer {
        let answer = self.post_only(action, form).await;
        let location = answer.headers.get("location").and_then(|location| location.to_str().ok());
        match location.filter(|location| location.starts_with("/dashboard/do/")) {
            Some(location) => self.get(location).await,
            None => answer,
        }
    }

    /// Sends a form as a page of the dashboard does.
    pub(crate) async fn post_only(&self, action: &str, form: &str) -> Answer {
        let body = format!("token={}&{form}", self.token(action));
        let request = self.request("POST", &format!("/dashboard/do/{action}"));
        let request = request.header("origin", format!("http://{HOST}")).header("sec-fetch-site", "same-origin");
        self.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// Returns the requests so far that changed something.
    pub(crate) fn writes(&self) -> Vec<String> {
        let asked = self.asked.lock();
        asked
            .iter()
            .filter(|(method, ..)| method != "GET")
            .map(|(method, path, _)| format!("{method} {path}"))
            .collect()
    }
}

/// Returns a log with an entry a minute from 19:00 on.
pub(crate) async fn log(entries: u32) -> MemoryLog {
    let log = MemoryLog::new();
    for number in 0..entries {
        let time: DateTime<Utc> = format!("2023-07-27T19:{number:02}:00Z").parse().expect("an instant");
        let append = Append {
            key: Key::new("garden", "/configmaps", "default", &format!("c{number}")),
            expect: Expect::Absent,
            guards: Vec::new(),
            verb: Verb::Create,
            object: Sections { parts: ["{", "", "}", "", "}"].map(|part| Bytes::from_static(part.as_bytes())) },
            volatile: false,
            actor: Arc::new(Actor::default()),
            time,
            writer: (1, u64::from(number)),
        };
        log.append(append).await.expect("nothing is in its way");
    }
    log
}
