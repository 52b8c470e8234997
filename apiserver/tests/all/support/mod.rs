// SPDX-License-Identifier: Apache-2.0
//! gardener-apiserver on a memory log together with a server of Kubernetes' kinds, and requests to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use api::catalogue;
use api::kubernetes::core::{ConfigMap, Namespace, Secret};
use api::kubernetes::rbac;
use apiserver::Options;
use clock::{Clock, Random, SimulatedClock};
use eventlog::{
    Append, AppendError, Appended, Entry, EventLog, MemoryLog, ReadError, Revision, Snapshot, Subscription,
};
use futures::future::BoxFuture;
use generic_apiserver::{Builder, FixedClusters, Foundation, Generic, Server};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::User;
use process::transport::full;
use serde_json::{Value, json};

/// Start time of every test: a summer evening, four hours before 1.26.4 expires.
pub(crate) const START: &str = "2023-07-27T20:00:00Z";

/// A log that can synchronize two writers: both have decided, and neither has written. It can also delay appends: other
/// tasks run between a decision and its entry, and between the entry and the response.
#[derive(Clone, Debug)]
pub(crate) struct MeetingLog {
    log: MemoryLog,
    barrier: Arc<tokio::sync::Barrier>,
    expected: Arc<AtomicUsize>,
    delays: Arc<Mutex<Option<Draws>>>,
}

/// A sequence of random numbers.
#[derive(Debug)]
pub(crate) struct Draws {
    random: Random,
    drawn: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), drawn: 0 }
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.drawn += 1;
        self.random.below(bound, "test", "", self.drawn)
    }
}

impl MeetingLog {
    fn new() -> Self {
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        Self { log: MemoryLog::new(), barrier, expected: Arc::default(), delays: Arc::default() }
    }

    async fn pass_time(&self) {
        let turns = self.delays.lock().as_mut().map_or(0, |draws| draws.below(12));
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    }
}

impl EventLog for MeetingLog {
    fn append(&self, append: Append) -> BoxFuture<'static, Result<Appended, AppendError>> {
        let this = self.clone();
        Box::pin(async move {
            let countdown = |count: usize| count.checked_sub(1);
            if this.expected.fetch_update(Ordering::SeqCst, Ordering::SeqCst, countdown).is_ok() {
                this.barrier.wait().await;
            }
            this.pass_time().await;
            let appended = this.log.append(append).await;
            this.pass_time().await;
            appended
        })
    }

    fn durable(&self, revision: Revision) -> BoxFuture<'static, Result<(), AppendError>> {
        self.log.durable(revision)
    }

    fn head(&self) -> Revision {
        self.log.head()
    }

    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, ReadError>> {
        self.log.read(from, to, cluster)
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        self.log.subscribe(from, cluster)
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<'static, Result<Snapshot, ReadError>> {
        self.log.state_at(revision)
    }

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<'static, Result<Snapshot, ReadError>> {
        self.log.state_of(revision, resource)
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'static, Result<(), ReadError>> {
        self.log.compact(revision)
    }
}

pub(crate) struct Garden {
    kubernetes: Server,
    gardener: Server,
    clock: SimulatedClock,
    log: MeetingLog,
    pub(crate) user: &'static str,
    pub(crate) groups: &'static [&'static str],
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

impl Answer {
    #[track_caller]
    pub(crate) fn accepted(self) -> Value {
        assert!(self.code < 300, "{}: {:#}", self.code, self.body);
        self.body
    }

    #[track_caller]
    pub(crate) fn refused(self, code: u16, message: &str) {
        assert_eq!((self.code, self.body["message"].as_str().unwrap_or_default()), (code, message));
    }
}

impl Garden {
    pub(crate) fn new(options: &Options) -> Self {
        let log = MeetingLog::new();
        let clock = SimulatedClock::new(START.parse().expect("an instant"));
        let foundation = |writer| Foundation {
            log: Arc::new(log.clone()),
            clock: Clock::new(clock.clone()),
            wall: Clock::new(clock.clone()),
            random: Random::new(1),
            writer,
            recent_bytes: generic_apiserver::RECENT_BYTES,
        };
        let kubernetes = Builder::new(foundation(1))
            .clusters(FixedClusters::new([api::cluster::GARDEN], "1.32.4"))
            .resource::<Namespace>(catalogue::of::<Namespace>(), Generic)
            .resource::<Secret>(catalogue::of::<Secret>(), Generic)
            .resource::<ConfigMap>(catalogue::of::<ConfigMap>(), Generic)
            .resource::<rbac::ClusterRole>(catalogue::of::<rbac::ClusterRole>(), Generic)
            .resource::<rbac::ClusterRoleBinding>(catalogue::of::<rbac::ClusterRoleBinding>(), Generic)
            .resource::<rbac::Role>(catalogue::of::<rbac::Role>(), Generic)
            .resource::<rbac::RoleBinding>(catalogue::of::<rbac::RoleBinding>(), Generic)
            .build();
        let gardener = apiserver::service(foundation(2), options);
        Self { kubernetes, gardener, clock, log, user: "alice", groups: &["system:masters"] }
    }

    /// Makes the next two writes, of any instances, wait for one another before they are appended.
    pub(crate) fn let_two_writers_meet(&self) {
        self.log.expected.store(2, Ordering::SeqCst);
    }

    /// Delays all appends from now on.
    pub(crate) fn delay_appends(&self, seed: u64) {
        *self.log.delays.lock() = Some(Draws::new(seed));
    }

    /// Returns the revision of the last entry.
    pub(crate) fn head(&self) -> Revision {
        self.log.head()
    }

    /// Returns all entries.
    pub(crate) async fn entries(&self) -> Vec<Arc<Entry>> {
        self.log.read(Revision(0), self.log.head(), None).await.expect("all is there")
    }

    /// Starts another instance of gardener-apiserver on the same log.
    pub(crate) fn another_instance(&self, options: &Options) -> Self {
        let foundation = Foundation {
            log: Arc::new(self.log.clone()),
            clock: Clock::new(self.clock.clone()),
            wall: Clock::new(self.clock.clone()),
            random: Random::new(1),
            writer: 3,
            recent_bytes: generic_apiserver::RECENT_BYTES,
        };
        let gardener = apiserver::service(foundation, options);
        let (kubernetes, clock, log) = (self.kubernetes.clone(), self.clock.clone(), self.log.clone());
        Self { kubernetes, gardener, clock, log, user: self.user, groups: self.groups }
    }

    /// Starts another instance on the log of [`Garden::with_demo_objects`], with the same options.
    pub(crate) fn another_demo_instance(&self) -> Self {
        self.another_instance(&Options { default_domains: vec!["example.org".to_owned()], ..Options::default() })
    }

    /// Creates a garden with an operator's objects: registrations of extensions, CloudProfile and Seed `local`, Project
    /// `demo` with a binding.
    pub(crate) async fn with_demo_objects() -> Self {
        let garden = Self::new(&Options { default_domains: vec!["example.org".to_owned()], ..Options::default() });
        garden.apply(include_str!("../manifests/garden.yaml")).await;
        garden
    }

    pub(crate) fn advance(&self, to: &str) {
        self.clock.advance_to(to.parse().expect("an instant"));
    }

    pub(crate) async fn send(&self, method: &str, path: &str, type_: &str, body: &Value) -> Answer {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (parts, bytes) = self.exchange(method, path, type_, text).await;
        Answer {
            code: parts.status.as_u16(),
            body: serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes))),
        }
    }

    /// Sends a request like [`Garden::send`], with a literal text as its body; returns code and text of the response.
    pub(crate) async fn send_text(&self, method: &str, path: &str, type_: &str, text: &str) -> (u16, String) {
        let (parts, bytes) = self.exchange(method, path, type_, text.to_owned()).await;
        (parts.status.as_u16(), String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the warnings in the response to a request.
    pub(crate) async fn warnings(&self, method: &str, path: &str, type_: &str, body: &Value) -> Vec<String> {
        let (parts, _) = self.exchange(method, path, type_, body.to_string()).await;
        let texts = parts.headers.get_all("warning").into_iter().filter_map(|value| value.to_str().ok());
        texts.map(|text| text.trim_start_matches("299 - ").to_owned()).collect()
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        type_: &str,
        text: String,
    ) -> (http::response::Parts, bytes::Bytes) {
        let own = path.starts_with("/api/") || path.starts_with("/apis/rbac.authorization.k8s.io/");
        let server = if own { &self.kubernetes } else { &self.gardener };
        let groups = self.groups.iter().map(|group| (*group).into()).collect();
        let user = User { name: self.user.into(), groups, component: None };
        let request = http::Request::builder()
            .method(method)
            .uri(format!("/clusters/{}{path}", api::cluster::GARDEN))
            .header("content-type", type_)
            .extension(user)
            .body(full(text))
            .expect("a request");
        let (parts, body) = server.call(request).await.expect("a response").into_parts();
        (parts, body.collect().await.expect("a whole body").to_bytes())
    }

    /// Returns code and body of the response to a drawn request; `None` for a request that no HTTP client can send.
    ///
    /// # Panics
    /// There is no response.
    pub(crate) async fn answered(&self, sent: &testkit::malformed::DrawnRequest) -> Option<(u16, Vec<u8>)> {
        let mut request = http::Request::builder().method(sent.method).uri(&sent.path);
        for (name, value) in &sent.headers {
            request = request.header(*name, *value);
        }
        let groups = self.groups.iter().map(|group| (*group).into()).collect();
        let user = User { name: self.user.into(), groups, component: None };
        let request = request.extension(user).body(full(sent.body.clone())).ok()?;
        let answer = async {
            let response = self.gardener.call(request).await.expect("a response");
            let code = response.status().as_u16();
            let body = if code == 200 && sent.lasts() {
                Vec::new()
            } else {
                response.into_body().collect().await.expect("a whole body").to_bytes().into()
            };
            (code, body)
        };
        let mut answer = std::pin::pin!(answer);
        for _ in 0..1_000 {
            if let std::task::Poll::Ready(answer) = futures::poll!(answer.as_mut()) {
                return Some(answer);
            }
            tokio::task::yield_now().await;
            // Some requests wait for a version that does not exist.
            self.clock.fire_next(None);
        }
        panic!("no answer:\n{}", sent.description());
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send("GET", path, "application/json", &Value::Null).await.accepted()
    }

    pub(crate) async fn post(&self, object: &Value) -> Answer {
        self.send("POST", &collection(object), "application/json", object).await
    }

    pub(crate) async fn put(&self, object: &Value) -> Answer {
        self.send("PUT", &path(object), "application/json", object).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Answer {
        self.send("PATCH", path, "application/merge-patch+json", patch).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, "application/json", &Value::Null).await
    }

    /// Creates every object of a YAML stream.
    pub(crate) async fn apply(&self, manifests: &str) -> Vec<Value> {
        let mut created = Vec::new();
        for object in objects(manifests) {
            let answer = self.post(&object).await;
            assert!(answer.code < 300, "{} {:#}\n{object:#}", answer.code, answer.body);
            created.push(answer.body);
        }
        created
    }
}

/// Returns the objects of a YAML stream.
pub(crate) fn objects(manifests: &str) -> Vec<Value> {
    let documents = manifests.split("\n---").map(|document| yaml::value(document).expect("YAML"));
    documents.filter(|object| !object.is_null()).collect()
}

pub(crate) fn collection(object: &Value) -> String {
    let api_version = object["apiVersion"].as_str().expect("apiVersion");
    let kind = object["kind"].as_str().expect("kind");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let row = catalogue::find_kind(group, version, kind).expect("a row");
    let prefix = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{prefix}/namespaces/{namespace}/{}", row.plural),
        None => format!("{prefix}/{}", row.plural),
    }
}

pub(crate) fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), object["metadata"]["name"].as_str().expect("a name"))
}

/// Returns the Shoot of the demo, with a name.
pub(crate) fn shoot(name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-demo"},
        "spec": {
            "cloudProfile": {"name": "local"},
            "secretBindingName": "local",
            "region": "local",
            "networking": {"type": "calico", "nodes": "10.10.0.0/16"},
            "kubernetes": {"version": version},
            "maintenance": {
                "timeWindow": {"begin": "010000+0000", "end": "020000+0000"},
                "autoUpdate": {"kubernetesVersion": false, "machineImageVersion": true},
            },
            "provider": {
                "type": "local",
                "workers": [{"name": "pool", "machine": {"type": "local"}, "minimum": 3, "maximum": 3}],
            },
        },
    })
}

pub(crate) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(test);
}
