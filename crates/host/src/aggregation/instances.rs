// SPDX-License-Identifier: Apache-2.0
//! Instances of gardener-apiserver: which of them run, and which one gets the next request.
//!
//! A request is forwarded with its user, with the log's head as of its arrival and with landscape time
//! ([`front_proxy`]); so any instance may answer it. It is retried with the next instance as long as no byte of it can
//! have reached an instance; a read is also retried when the response did not begin. A watch ends with its instance. An
//! instance that runs and does not answer gets no requests until it answers again ([`instance`](super::instance)):
//! requests that wait for it end with an error, its watches end, and time does not wait for it. If none is left that
//! answers, the clock is notified of the outage ([`Instances::on_outage`]). An instance that is not ready only gets barrier
//! requests, as a Service sends no traffic to a pod that is not ready.
//!
//! **Invariants.** Response bodies are streamed, and not parsed. While no instance answers, the response is 503.
//! Connections belong to the host's tasks, not to the request that opened them: they remain open when a thread of the
//! host ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use apimachinery::Status;
use apimachinery::release::Release;
use bytes::{Bytes, BytesMut};
use clock::{Clock, TimerClass};
use eventlog::EventLog;
use futures::future::{Either, select};
use generic_apiserver::authentication::UserDetails;
use generic_apiserver::authentication::front_proxy::{self, Stamp};
use generic_apiserver::http::size_of_head;
use generic_apiserver::is_watch;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use parking_lot::{Mutex, MutexGuard};
use process::participant::{LineCounts, TOLD_OTHERS_HEADER, TOLD_PATH};
use process::transport::{BodyError, full, until};
use process::watch;
use process::{Body, Request, Response, Tasks, Transport, TransportError, User};
use tokio::sync::oneshot;

use super::instance::{AnswerLimit, Instance, Moment};
use super::{Watches, lines, refused, unavailable};

/// Maximum size of a request body that is forwarded, in bytes; more than any server accepts, so that the server itself
/// returns the error.
const MOST: usize = 4 << 20;
/// Maximum size of a forwarded request head in bytes, with the headers that the host adds; every server behind the host
/// accepts as much.
const MOST_OF_HEAD: usize = 512 << 10;
/// Hop-by-hop headers.
const OF_CONNECTION: [HeaderName; 6] =
    [CONNECTION, CONTENT_LENGTH, TE, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")];

/// The registered instances. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Instances(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tasks: Tasks,
    log: Arc<dyn EventLog>,
    clock: Clock,
    limit: AnswerLimit,
    all: Mutex<BTreeMap<String, Arc<Instance>>>,
    /// Round-robin counter for requests of components and for writes.
    next: AtomicUsize,
    /// Round-robin counter for reads of other clients: they arrive at any moment, and must not change which instance
    /// writes an entry.
    next_read: AtomicUsize,
    count: watch::Sender<usize>,
    /// Oldest release of the instances that answer: discovery describes its kinds.
    release: Mutex<Option<Release>>,
    /// Number of watches that were opened so far.
    watches: AtomicU64,
    outages: Mutex<Outages>,
}

/// Function that is called with the name of an unresponsive instance, or with `None` when an outage ends.
type OutageObserver = Box<dyn Fn(Option<&str>) + Send + Sync>;

/// Present outage, and its observer.
#[derive(Default)]
struct Outages {
    /// Name of an unresponsive instance while none answers.
    name: Option<String>,
    observer: Option<OutageObserver>,
}

impl fmt::Debug for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outages").field(&self.name).finish()
    }
}

impl Instances {
    /// Creates an empty set. Requests are sent on `tasks`, and carry the head of `log` and the time of `clock`.
    pub fn new(tasks: Tasks, log: Arc<dyn EventLog>, clock: Clock, limit: AnswerLimit) -> Self {
        let (all, count) = (Mutex::default(), watch::Sender::new(0));
        let (next, next_read) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (release, watches, outages) = (Mutex::default(), AtomicU64::new(0), Mutex::default());
        Self(Arc::new(Inner { tasks, log, clock, limit, all, next, next_read, count, release, watches, outages }))
    }

    /// Calls `observer` with the name of an unresponsive instance when none is left that answers, and with `None` when
    /// one answers again, was added, or no unresponsive one is left. An instance that a fault cuts off is not
    /// unresponsive.
    pub fn on_outage(&self, observer: impl Fn(Option<&str>) + Send + Sync + 'static) {
        self.0.outages.lock().observer = Some(Box::new(observer));
    }

    /// Adds a ready instance of a release; `transport` uses the host's certificate.
    pub fn insert(&self, name: &str, release: Release, transport: Transport) {
        self.insert_instance(Instance::new(name, release, transport, false));
    }

    /// Adds an instance in the process of the host.
    pub fn insert_inside(&self, name: &str, release: Release, transport: Transport) {
        self.insert_instance(Instance::new(name, release, transport, true));
    }

    fn insert_instance(&self, instance: Arc<Instance>) {
        self.all().insert(instance.name.clone(), instance);
        self.counted();
    }

    /// Removes an instance whose process has ended.
    pub fn remove(&self, name: &str) {
        if let Some(instance) = self.all().remove(name) {
            instance.set_ended();
        }
        self.counted();
    }

    /// Sets whether an instance is ready. An instance that is not ready gets no new requests and keeps its watches.
    pub fn set_ready(&self, name: &str, is_ready: bool) {
        if let Some(instance) = self.all().get(name) {
            instance.set_ready(is_ready);
        }
        self.counted();
    }

    /// Blocks all requests to the instances for which `is_cut_off` returns true, as if they were unresponsive, and
    /// unblocks the others.
    pub fn cut_off(&self, is_cut_off: impl Fn(&str) -> bool) {
        let all: Vec<Arc<Instance>> = self.all().values().cloned().collect();
        let changed = all.iter().filter(|instance| instance.set_cut_off(is_cut_off(&instance.name))).count();
        if changed > 0 {
            self.counted();
        }
    }

    /// Number of instances that answer, as a watch channel.
    pub fn count(&self) -> watch::Receiver<usize> {
        self.0.count.subscribe()
    }

    fn counted(&self) {
        let asked: Vec<_> = self.answering().into_iter().filter(|instance| instance.is_ready()).collect();
        if let Some(oldest) = asked.iter().map(|instance| instance.release).min() {
            *self.0.release.lock() = Some(oldest);
        }
        self.0.count.send_replace(asked.len());
        let mut outages = self.0.outages.lock();
        let name = self.outage();
        if outages.name != name {
            outages.name = name;
            if let Some(observer) = &outages.observer {
                observer(outages.name.as_deref());
            }
        }
    }

    /// Name of an unresponsive instance, if none answers.
    fn outage(&self) -> Option<String> {
        let all = self.all();
        if all.values().any(|instance| instance.answers()) {
            return None;
        }
        all.values().find(|instance| instance.is_unresponsive()).map(|instance| instance.name.clone())
    }

    /// Oldest release of the instances that answer, or of the last ones that did; `None` before the first instance.
    pub(crate) fn release(&self) -> Option<Release> {
        *self.0.release.lock()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Instance>>> {
        self.0.all.lock()
    }

    /// Instances that run and answer, by name.
    fn answering(&self) -> Vec<Arc<Instance>> {
        self.all().values().filter(|instance| instance.answers()).cloned().collect()
    }

    /// Stamp with the log's present head and time.
    fn stamp(&self) -> Stamp {
        Stamp { head: Some(self.0.log.head()), now: Some(self.0.clock.now()) }
    }

    /// Returns the instances that answer, the next one in turn first. `reads`: the request is a read of a client that
    /// is not a component.
    fn in_turn(&self, reads: bool) -> Vec<Arc<Instance>> {
        let mut all = self.answering();
        all.retain(|instance| instance.is_ready());
        if !all.is_empty() {
            let next = if reads { &self.0.next_read } else { &self.0.next };
            let first = next.fetch_add(1, Ordering::Relaxed) % all.len();
            all.rotate_left(first);
        }
        all
    }

    /// Forwards a request to an instance.
    pub(crate) async fn call(&self, request: Request) -> Result<Response, TransportError> {
        let stamp = self.stamp();
        let (mut parts, body) = request.into_parts();
        let watches = is_watch(&parts.method, &parts.uri);
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        let body = match if reads { Ok(Bytes::new()) } else { read(body).await } {
            Ok(body) => body,
            Err(broken) => return Ok(refused(&Status::bad_request(broken.to_string()))),
        };
        let user = parts.extensions.get::<User>().cloned().unwrap_or_default();
        let details = parts.extensions.get::<UserDetails>().cloned().unwrap_or_default();
        front_proxy::write(&mut parts.headers, &user, &details, stamp);
        strip(&mut parts.headers);
        parts.headers.remove(HOST);
        // Compression is not worth it between processes of one machine; the host compresses for its clients.
        parts.headers.remove(ACCEPT_ENCODING);
        // The head of one client's request must not break the connection that all clients share.
        if size_of_head(&parts.headers) > MOST_OF_HEAD {
            return Ok(refused(&Status::failure(431, "", "431 Request Header Fields Too Large")));
        }
        let mut failed = None;
        for instance in self.in_turn(reads && user.component.is_none()) {
            let cut = instance.until_unresponsive();
            match self.send(&instance, again(&parts, &body)).await {
                Ok(mut response) => {
                    strip(response.headers_mut());
                    if watches {
                        self.0.watches.fetch_add(1, Ordering::SeqCst);
                    }
                    let response = response.map(|body| until(body, cut));
                    return Ok(if watches { response.map(lines::whole) } else { response });
                }
                Err(error @ TransportError::Broken(_)) if !reads => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(unavailable()),
        }
    }

    /// Requests the line counts of the watches of participants from all instances, as of the log's present head.
    /// Instances that reported since the last entry or watch are not queried again. `entries`: number of entries of the
    /// aggregated groups, up to a head of the log that was read before.
    pub(crate) async fn line_counts(&self, entries: u64) -> Watches {
        // Must be read before the log's head.
        let since = Moment { entries, watches: self.0.watches.load(Ordering::SeqCst) };
        let stamp = self.stamp();
        let asked = self.answering().into_iter().map(|instance| async move {
            if let Some(line_counts) = instance.recorded_line_counts(since) {
                return Some((line_counts, false));
            }
            let mut request = http::Request::new(full(""));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = http::Uri::from_static(TOLD_PATH);
            let user = User { name: "system:terrarium".into(), ..User::default() };
            front_proxy::write(request.headers_mut(), &user, &UserDetails::default(), stamp);
            let answer = self.send(&instance, request).await.ok();
            let answer = answer.filter(|response| response.status() == StatusCode::OK)?;
            let reached_others = answer.headers().contains_key(TOLD_OTHERS_HEADER);
            let body = answer.into_body().collect().await.ok()?.to_bytes();
            let line_counts: LineCounts = serde_json::from_slice(&body).ok()?;
            instance.record_line_counts(since, &line_counts);
            Some((line_counts, reached_others))
        });
        let answers = futures::future::join_all(asked).await;
        let reached_others = answers.iter().flatten().any(|(_, reached_others)| *reached_others);
        let line_counts =
            answers.into_iter().map(|answer| answer.map(|(line_counts, _)| line_counts)).collect::<Option<Vec<_>>>();
        Watches {
            line_counts: line_counts.map(|all| all.into_iter().fold(LineCounts::default(), LineCounts::and)),
            reached_others,
        }
    }

    /// Sends a request on the host's own tasks, or on the caller's if the instance is in this process; dropping the
    /// future cancels the request. It fails when the instance becomes unresponsive.
    async fn send(&self, instance: &Arc<Instance>, request: Request) -> Result<Response, TransportError> {
        if instance.is_inside() {
            return match select(instance.transport.send(request), instance.until_unresponsive()).await {
                Either::Left((answered, _)) => answered,
                Either::Right(_) => Err(TransportError::Broken(format!("{} does not answer", instance.name))),
            };
        }
        let (mut sender, answer) = oneshot::channel();
        let (asked, instances, lost) = (instance.clone(), self.clone(), instance.until_unresponsive());
        self.0.tasks.spawn(async move {
            let mut answered = std::pin::pin!(asked.transport.send(request));
            let mut lost = lost;
            let mut late = instances.0.limit.wall.sleep(instances.0.limit.time, TimerClass::Work);
            let mut is_probed = false;
            let answered = loop {
                tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    answered = &mut answered => break answered,
                    () = &mut lost => {
                        break Err(TransportError::Broken(format!("{} does not answer", asked.name)));
                    }
                    () = &mut late, if !is_probed => {
                        is_probed = true;
                        instances.probe(&asked);
                    }
                }
            };
            let _ = sender.send(answered);
        });
        answer.await.unwrap_or_else(|_| Err(TransportError::Unreachable("the host ends".to_owned())))
    }

    /// Starts a probe of an instance.
    fn probe(&self, instance: &Arc<Instance>) {
        let (instance, instances) = (instance.clone(), self.clone());
        self.0.tasks.spawn(async move {
            instance.probe(&instances.0.limit, || instances.counted()).await;
        });
    }
}

/// Copies a request for a retry.
fn again(parts: &Parts, body: &Bytes) -> Request {
    let mut request = http::Request::new(full(body.clone()));
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    request.headers_mut().clone_from(&parts.headers);
    request
}

/// Reads a body; fails once it is longer than [`MOST`].
pub(super) async fn read(mut body: Body) -> Result<Bytes, BodyError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(data);
        }
        if bytes.len() > MOST {
            break;
        }
    }
    Ok(bytes.freeze())
}

/// Removes hop-by-hop headers.
pub(super) fn strip(headers: &mut HeaderMap) {
    for name in &OF_CONNECTION {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use chrono::{DateTime, TimeDelta, Utc};
    use clock::{SimulatedClock, TimeSource};
    use eventlog::MemoryLog;

    use super::*;

    /// Returns instances that each answer from a list, and the names of the instances that were called.
    fn instances(behaviour: &[(&str, &[Result<u16, TransportError>])]) -> (Instances, Arc<Mutex<Vec<String>>>) {
        let limit = AnswerLimit { wall: Clock::wall(), time: TimeDelta::days(1), report: Arc::new(|_, _| {}) };
        let instances = Instances::new(Tasks::new(), Arc::new(MemoryLog::new()), Clock::wall(), limit);
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        for (name, answers) in behaviour {
            let answers: Mutex<VecDeque<_>> = Mutex::new(answers.iter().cloned().collect());
            let (asked, own_name) = (asked.clone(), (*name).to_owned());
            let watch = name.as_bytes()[0];
            let transport = Transport::new(move |request| {
                asked.lock().push(format!("{own_name} {}", request.method()));
                let answer = answers.lock().pop_front().expect("asked too often");
                Box::pin(async move {
                    let mut response = Response::new(full(format!(r#"{{"{watch}":3}}"#)));
                    *response.status_mut() = StatusCode::from_u16(answer?).expect("a code");
                    Ok(response)
                })
            });
            instances.insert(name, Release(120), transport);
        }
        (instances, asked)
    }

    async fn call(instances: &Instances, method: Method) -> Result<u16, TransportError> {
        let mut request = http::Request::new(full("{}"));
        *request.method_mut() = method;
        instances.call(request).await.map(|response| response.status().as_u16())
    }

    fn unreachable() -> Result<u16, TransportError> {
        Err(TransportError::Unreachable("nobody".to_owned()))
    }

    fn broken() -> Result<u16, TransportError> {
        Err(TransportError::Broken("half".to_owned()))
    }

    #[tokio::test]
    async fn requests_are_distributed_round_robin() {
        let (instances, asked) = instances(&[("a", &[Ok(200), Ok(200), Ok(202)]), ("b", &[Ok(201), Ok(203)])]);
        for expected in [200, 201, 200] {
            assert_eq!(call(&instances, Method::GET).await, Ok(expected));
        }
        // Reads of other clients do not advance the counter for writes.
        assert_eq!(call(&instances, Method::POST).await, Ok(202));
        assert_eq!(call(&instances, Method::POST).await, Ok(203));
        assert_eq!(*asked.lock(), ["a GET", "b GET", "a GET", "a POST", "b POST"]);
    }

    #[tokio::test]
    async fn the_oldest_release_that_answers_is_described() {
        let limit = AnswerLimit { wall: Clock::wall(), time: TimeDelta::days(1), report: Arc::new(|_, _| {}) };
        let instances = Instances::new(Tasks::new(), Arc::new(MemoryLog::new()), Clock::wall(), limit);
        let insert = |name: &str, release: Release| {
            let nothing = Transport::new(|_| Box::pin(async { Ok(Response::new(full(""))) }));
            instances.insert(name, release, nothing);
        };
        assert_eq!(instances.release(), None);
        insert("a", Release(120));
        insert("b", Release(121));
        assert_eq!(instances.release(), Some(Release(120)));
        instances.set_ready("a", false);
        assert_eq!(instances.release(), Some(Release(121)), "the older one gets no requests any more");
        instances.remove("a");
        instances.remove("b");
        assert_eq!(instances.release(), Some(Release(121)), "as it was when the last one ended");
        insert("c", Release(119));
        assert_eq!(instances.release(), Some(Release(119)));
    }

    #[tokio::test]
    async fn unsent_request_is_retried_with_the_next_instance() {
        let (instances, asked) =
            instances(&[("a", &[unreachable(), broken(), unreachable()]), ("b", &[Ok(201), Ok(200), unreachable()])]);
        assert_eq!(call(&instances, Method::POST).await, Ok(201));
        instances.0.next_read.store(0, Ordering::Relaxed);
        assert_eq!(call(&instances, Method::GET).await, Ok(200), "a read may be repeated");
        instances.0.next.store(0, Ordering::Relaxed);
        assert_eq!(call(&instances, Method::POST).await, unreachable());
        assert_eq!(*asked.lock(), ["a POST", "b POST", "a GET", "b GET", "a POST", "b POST"]);
    }

    #[tokio::test]
    async fn a_write_that_may_have_happened_is_not_repeated() {
        let (instances, asked) = instances(&[("a", &[broken()]), ("b", &[])]);
        assert_eq!(call(&instances, Method::POST).await, broken());
        assert_eq!(*asked.lock(), ["a POST"]);
    }

    #[tokio::test]
    async fn while_no_server_runs_the_service_is_unavailable() {
        let (instances, _) = instances(&[("a", &[])]);
        let count = instances.count();
        assert_eq!(*count.borrow(), 1);
        instances.remove("a");
        assert_eq!(*count.borrow(), 0);
        assert_eq!(call(&instances, Method::GET).await, Ok(503));
        assert_eq!(instances.line_counts(0).await.line_counts, Some(LineCounts::default()), "no watch is open");
    }

    #[tokio::test]
    async fn unready_instance_gets_barrier_requests_only() {
        let (instances, asked) = instances(&[("a", &[Ok(200)]), ("b", &[Ok(201), Ok(201), Ok(200), Ok(201)])]);
        let count = instances.count();
        instances.set_ready("a", false);
        for expected in [201, 201] {
            assert_eq!(call(&instances, Method::GET).await, Ok(expected));
        }
        assert_eq!(*count.borrow(), 1);
        assert!(instances.line_counts(0).await.line_counts.is_some());
        assert_eq!(asked.lock().last().map(String::as_str), Some("b POST"));
        assert_eq!(asked.lock().len(), 4);
        instances.set_ready("b", false);
        assert_eq!(call(&instances, Method::GET).await, Ok(503));
        instances.set_ready("b", true);
        assert_eq!(call(&instances, Method::GET).await, Ok(201));
    }

    #[tokio::test]
    async fn oversized_head_or_endless_body_is_not_forwarded() {
        let (instances, asked) = instances(&[("a", &[])]);
        let mut request = http::Request::new(full(""));
        let value = http::HeaderValue::from_bytes(&vec![b'x'; MOST_OF_HEAD]).expect("a value");
        request.headers_mut().insert("x-note", value);
        assert_eq!(instances.call(request).await.expect("an answer").status(), 431);
        let frames = [Ok(http_body::Frame::data(Bytes::from_static(b"{"))), Err(BodyError("no size".to_owned()))];
        let body = http_body_util::StreamBody::new(futures::stream::iter(frames)).boxed_unsync();
        let mut request = http::Request::new(body);
        *request.method_mut() = Method::POST;
        let answer = instances.call(request).await.expect("an answer");
        assert_eq!(answer.status(), 400);
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        let status: serde_json::Value = serde_json::from_slice(&body).expect("a Status");
        assert_eq!(status["message"], "the body broke off: no size");
        assert!(asked.lock().is_empty());
    }

    #[tokio::test]
    async fn line_counts_are_known_when_all_instances_answered() {
        let (instances, asked) = instances(&[("a", &[Ok(200)]), ("b", &[Ok(503), Ok(200)])]);
        assert_eq!(instances.line_counts(0).await.line_counts, None);
        let both = LineCounts([(u64::from(b'a'), 3), (u64::from(b'b'), 3)].into());
        assert_eq!(instances.line_counts(0).await.line_counts, Some(both));
        assert_eq!(*asked.lock(), ["a POST", "b POST", "b POST"], "an instance that has answered is not queried again");
    }

    #[tokio::test]
    async fn entry_or_new_watch_causes_another_barrier_request() {
        let (instances, asked) = instances(&[("a", &[Ok(200), Ok(200), Ok(200), Ok(200)])]);
        let ask = async |entries: u64, times: usize| {
            assert!(instances.line_counts(entries).await.line_counts.is_some());
            assert_eq!(asked.lock().len(), times);
        };
        ask(7, 1).await;
        ask(7, 1).await;
        ask(8, 2).await;
        ask(8, 2).await;
        let mut request = http::Request::new(full(""));
        *request.uri_mut() = http::Uri::from_static("/clusters/garden/apis/g/v1/x?watch=true");
        assert!(instances.call(request).await.is_ok());
        ask(8, 4).await;
    }

    /// Returns an instance that answers unless it is stopped; a watch gets a body without an end.
    fn stoppable(stopped: &watch::Sender<bool>) -> Transport {
        let is_stopped = stopped.subscribe();
        Transport::new(move |request| {
            let mut is_stopped = is_stopped.clone();
            Box::pin(async move {
                let _ = is_stopped.wait_for(|stopped| !stopped).await;
                if !is_watch(request.method(), request.uri()) {
                    let line_counts = serde_json::to_string(&LineCounts::default()).expect("JSON");
                    return Ok(Response::new(full(line_counts)));
                }
                let endless =
                    futures::stream::pending::<Result<http_body::Frame<Bytes>, process::transport::BodyError>>();
                Ok(Response::new(http_body_util::StreamBody::new(endless).boxed_unsync()))
            })
        })
    }

    /// Advances wall time until a condition is true.
    async fn pass_until(wall: &SimulatedClock, is_true: impl Fn() -> bool) {
        for _ in 0..1000 {
            tokio::task::yield_now().await;
            if is_true() {
                return;
            }
            wall.fire_next(None);
        }
        panic!("it does not become true");
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "tasks of the test itself")]
    async fn an_unresponsive_server_gets_no_requests() {
        let wall = SimulatedClock::new(DateTime::<Utc>::UNIX_EPOCH);
        let reported: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
        let report = reported.clone();
        let limit = AnswerLimit {
            wall: Clock::new(wall.clone()),
            time: TimeDelta::seconds(5),
            report: Arc::new(move |name, answers| report.lock().push((name.to_owned(), answers))),
        };
        let instances = Instances::new(Tasks::new(), Arc::new(MemoryLog::new()), Clock::wall(), limit);
        let stopped = watch::Sender::new(false);
        instances.insert("a", Release(120), stoppable(&stopped));
        let count = instances.count();
        let mut request = http::Request::new(full(""));
        *request.uri_mut() = "/clusters/garden/apis/g/v1/x?watch=true".parse().expect("a path");
        let mut watched = instances.call(request).await.expect("it answers").into_body();

        stopped.send_replace(true);
        instances.insert("b", Release(121), stoppable(&watch::Sender::new(false)));
        let task = |method: Method| {
            let instances = instances.clone();
            tokio::spawn(async move { call(&instances, method).await })
        };
        instances.0.next_read.store(0, Ordering::Relaxed);
        let read = task(Method::GET);
        tokio::task::yield_now().await;
        instances.0.next.store(0, Ordering::Relaxed);
        let write = task(Method::POST);
        let line_counts = tokio::spawn({
            let instances = instances.clone();
            async move { instances.line_counts(0).await.line_counts.is_some() }
        });
        pass_until(&wall, || read.is_finished() && write.is_finished() && line_counts.is_finished()).await;
        assert_eq!(wall.now(), DateTime::<Utc>::UNIX_EPOCH + TimeDelta::seconds(10));
        assert_eq!(read.await.expect("no panic"), Ok(200), "the other one answers");
        let broken = TransportError::Broken("a does not answer".to_owned());
        assert_eq!(write.await.expect("no panic"), Err(broken), "it may have happened");
        assert!(!line_counts.await.expect("no panic"));
        assert!(instances.line_counts(0).await.line_counts.is_some(), "the barrier no longer waits for the instance");
        assert!(watched.frame().await.is_none(), "its watches end");
        assert_eq!(*count.borrow(), 1);
        assert_eq!(*reported.lock(), [("a".to_owned(), false)]);
        assert_eq!(call(&instances, Method::POST).await, Ok(200));
        assert_eq!(call(&instances, Method::POST).await, Ok(200));

        stopped.send_replace(false);
        pass_until(&wall, || *count.borrow() == 2).await;
        assert_eq!(reported.lock().last(), Some(&("a".to_owned(), true)));
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "tasks of the test itself")]
    async fn an_outage_is_observed_without_answering_instances() {
        let wall = SimulatedClock::new(DateTime::<Utc>::UNIX_EPOCH);
        let limit =
            AnswerLimit { wall: Clock::new(wall.clone()), time: TimeDelta::seconds(5), report: Arc::new(|_, _| {}) };
        let instances = Instances::new(Tasks::new(), Arc::new(MemoryLog::new()), Clock::wall(), limit);
        let outages: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
        let observed = outages.clone();
        instances.on_outage(move |name| observed.lock().push(name.map(str::to_owned)));
        let stopped = [watch::Sender::new(true), watch::Sender::new(true)];
        for (name, stopped) in ["a", "b"].into_iter().zip(&stopped) {
            instances.insert(name, Release(120), stoppable(stopped));
        }
        let hang = async || {
            let instances = instances.clone();
            let write = tokio::spawn(async move { call(&instances, Method::POST).await });
            pass_until(&wall, || write.is_finished()).await;
            assert!(write.await.expect("no panic").is_err());
        };
        let some = |name: &str| Some(name.to_owned());
        hang().await;
        assert_eq!(*outages.lock(), [], "the other one may answer");
        hang().await;
        assert_eq!(*outages.lock(), [some("a")]);
        stopped[1].send_replace(false);
        pass_until(&wall, || outages.lock().len() == 2).await;
        assert_eq!(*outages.lock(), [some("a"), None]);
        outages.lock().clear();

        instances.cut_off(|_| true);
        assert_eq!(*outages.lock(), [], "a fault is no outage");
        instances.cut_off(|name| name == "b");
        assert_eq!(*outages.lock(), [some("a")]);
        instances.insert("c", Release(120), stoppable(&watch::Sender::new(false)));
        instances.remove("c");
        instances.remove("a");
        assert_eq!(*outages.lock(), [some("a"), None, some("a"), None]);
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "tasks of the test itself")]
    async fn one_slow_answer_makes_no_server_unresponsive() {
        let wall = SimulatedClock::new(DateTime::<Utc>::UNIX_EPOCH);
        let limit = AnswerLimit {
            wall: Clock::new(wall.clone()),
            time: TimeDelta::seconds(5),
            report: Arc::new(|name, _| panic!("{name} answers")),
        };
        let instances = Instances::new(Tasks::new(), Arc::new(MemoryLog::new()), Clock::wall(), limit);
        let slow = Clock::new(wall.clone());
        instances.insert(
            "a",
            Release(120),
            Transport::new(move |request| {
                let slow = slow.clone();
                Box::pin(async move {
                    if request.uri().path() != "/livez" {
                        slow.sleep(TimeDelta::seconds(50), TimerClass::Work).await;
                    }
                    Ok(Response::new(full("")))
                })
            }),
        );
        let answer = tokio::spawn({
            let instances = instances.clone();
            async move { call(&instances, Method::POST).await }
        });
        pass_until(&wall, || answer.is_finished()).await;
        assert_eq!(answer.await.expect("no panic"), Ok(200));
        assert_eq!(wall.now(), DateTime::<Utc>::UNIX_EPOCH + TimeDelta::seconds(50));
    }
}
