// SPDX-License-Identifier: Apache-2.0
//! gardener-apiserver as a process: one of several behind a host, all on the host's log.
//!
//! ```text
//! host ──HTTPS, front proxy: who asks, head of the log, landscape time──▶ this process
//!   ▲                                                                          │
//!   └── /log/v1/: cluster `garden` is folded, writes are appended ─────────────┘
//! ```
//!
//! It is ready when it has folded everything up to the head as of its start. A request waits until the fold has reached
//! the head that the host says; one that comes directly, without the host, asks the log for its head. Time is what the
//! host said last: this process holds landscape time up for nobody, and has no timers on it.
//!
//! **Invariants.** No state of its own. If the log cannot be reached, nothing old is answered: 503.

use std::sync::{Arc, OnceLock};

use api::kubernetes::coordination::Lease;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random, SimulatedClock, TimerClass};
use domain::skew::registration;
use eventlog::Revision;
use eventlog_remote::Remote;
use futures::future::{Either, select};
use generic_apiserver::authentication::front_proxy::Stamp;
use generic_apiserver::authentication::{ClientAuthority, FixedAuthenticator, Judged};
use generic_apiserver::webhooks::{HttpsCaller, Name, Names, WebhookCaller};
use generic_apiserver::{Foundation, Server, discovery, http as server_http};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request as HttpRequest, StatusCode};
use http_body_util::{BodyExt, Full};
use process::attempts::Attempts;
use process::child::{Assignment, Ready, Serving, ready};
use process::logging;
use process::participant::{CLOCK_PATH, TOLD_OTHERS_HEADER, TOLD_PATH};
use process::transport::full;
use process::{Exit, Request, Response, Tasks, Transport, TransportError};
use tokio::sync::oneshot;

use crate::{Options, service};

/// Name in the certificate of the host as front proxy.
pub const FRONT_PROXY: &str = "front-proxy-client";

/// Header that says which version answered.
const VERSION: HeaderName = HeaderName::from_static("x-gardener-version");
/// Where it is asked for its own version, not that of the cluster.
const VERSION_PATHS: [&str; 3] = ["/version", "/gardener/version", "/clusters/garden/gardener/version"];
/// Wall time for which a request waits for a log that cannot be reached.
const TIMEOUT: TimeDelta = TimeDelta::seconds(5);
/// Wall time that answers in flight have when the process is asked to stop.
const GRACE: TimeDelta = TimeDelta::milliseconds(500);

/// Bytes and fields of a request's head: more than the host takes and adds.
const HEAD_BYTES: usize = 1 << 20;
const FIELDS: usize = 1024;

/// Name of the check of `/readyz` that fails while the instance is paused ([`Tasks::pause`]).
const SKEW_CHECK: &str = "version-skew";

/// What an instance that is about to be ready is announced with.
#[derive(Clone, Debug)]
pub struct Announced {
    /// Where it serves.
    pub address: String,
    /// Landscape time, as the host says it.
    pub time: Clock,
    /// The instance's tasks: while they are paused it is not ready.
    pub tasks: Tasks,
}

/// Runs an instance until standard input ends. `announce` is told of it before it is ready, and may refuse.
///
/// # Errors
/// What is wrong with the assignment, or that the log cannot be reached.
pub async fn run<F>(
    assignment: Assignment,
    options: &Options,
    end: oneshot::Receiver<()>,
    announce: impl FnOnce(Announced) -> F,
) -> Result<Exit, String>
where
    F: Future<Output = Result<(), Exit>>,
{
    let transport = assignment.transport()?;
    let (wall, tasks) = (Clock::wall(), Tasks::new());
    let log = remote(&transport, &wall);
    let mut attempts = Attempts::on(wall.clone());
    let head = loop {
        match log.fetch_head().await {
            Ok(head) => break head,
            Err(_) if attempts.again().await => {}
            Err(error) => return Err(format!("cannot reach the event log: {error}")),
        }
    };
    let began = loop {
        match now(&transport).await {
            Err(_) if attempts.again().await => {}
            began => break began?,
        }
    };
    let time = SimulatedClock::new(began);
    logging::start(Clock::new(time.clone()), logging::Format::default(), tracing::Level::INFO);
    tracing::info!(version = assignment.version, "Starting {}", assignment.component);
    let foundation = Foundation {
        log: Arc::new(log.clone()),
        clock: Clock::new(time.clone()),
        wall: wall.clone(),
        random: Random::new(assignment.seed),
        writer: assignment.writer,
        recent_bytes: generic_apiserver::RECENT_BYTES,
    };
    let folded: Arc<OnceLock<Server>> = Arc::default();
    let leases = folded.clone();
    let names: Names = Arc::new(move |cluster, name| match name {
        Name::Host(host) => registration::address(&leases.get()?.folded::<Lease>(cluster), host),
        // They are in other clusters.
        Name::Pod { .. } => None,
    });
    let webhooks: Arc<dyn WebhookCaller> = Arc::new(HttpsCaller::new("gardener-apiserver-admission", names));
    let server = service(foundation, &Options { webhooks: Some(webhooks), ..options.clone() });
    let _ = folded.set(server.clone());
    server.start(&tasks);

    let Some(serving) = &assignment.serving else {
        return Err("the assignment has no certificate to serve with".to_owned());
    };
    let authenticator = authenticator(serving, &assignment.authorities)?;
    let clock = Clock::new(time.clone());
    let mut serve = server_http::Options::new(serving.certificate.clone(), authenticator, clock, wall.clone());
    serve.listen = serving.listen.unwrap_or(serve.listen);
    serve.limits.grace = GRACE;
    serve.limits.head_bytes = HEAD_BYTES;
    serve.limits.fields = FIELDS;
    serve.random = Random::new(assignment.seed);
    let paused = tasks.clone();
    serve.health = serve.health.ready(SKEW_CHECK, move || !paused.is_paused());
    let door = Arc::new(Door {
        server: server.clone(),
        log,
        time: time.clone(),
        wall,
        transport,
        version: assignment.version.clone(),
    });
    let handler = move |request| -> process::transport::ResponseFuture {
        let door = door.clone();
        Box::pin(async move { door.answer(request).await })
    };
    let known = serving;
    let serving = server_http::serve(&tasks, handler, serve).await.map_err(|error| format!("cannot serve: {error}"))?;
    let address = known.address(serving.address());
    if !server.reach(head).await {
        return Err("the event log is closed".to_owned());
    }
    let announced = Announced { address: address.clone(), time: Clock::new(time), tasks: tasks.clone() };
    if let Err(refused) = announce(announced).await {
        return Ok(refused);
    }
    tracing::info!(address, "Serving securely");
    ready(&Ready { program: env!("CARGO_PKG_VERSION").to_owned(), address });
    Ok(serving.until(end, &tasks).await)
}

/// The log of the host.
fn remote(transport: &Transport, wall: &Clock) -> Remote {
    let transport = transport.clone();
    let send = move |request: HttpRequest<Full<Bytes>>| {
        let (parts, body) = request.into_parts();
        let transport = transport.clone();
        async move {
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            transport.send(HttpRequest::from_parts(parts, full(body))).await
        }
    };
    Remote::new(send, wall.clone(), eventlog_remote::Options::default())
}

/// Landscape time, as the host says.
async fn now(transport: &Transport) -> Result<DateTime<Utc>, String> {
    let failed = |error: String| format!("cannot ask for landscape time: {error}");
    let request = HttpRequest::get(CLOCK_PATH).body(full("")).map_err(|error| failed(error.to_string()))?;
    let response = transport.send(request).await.map_err(|error| failed(error.to_string()))?;
    let body = response.into_body().collect().await.map_err(|error| failed(error.to_string()))?.to_bytes();
    let tree: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let now = tree["now"].as_str().and_then(|now| now.parse().ok());
    now.ok_or_else(|| failed(String::from_utf8_lossy(&body).into_owned()))
}

fn authenticator(serving: &Serving, authorities: &str) -> Result<FixedAuthenticator, String> {
    let front_proxies = ClientAuthority::from_pem(&serving.front_proxies).map_err(|error| error.to_string())?;
    let users = ClientAuthority::from_pem(authorities).map_err(|error| error.to_string())?;
    Ok(FixedAuthenticator {
        users: vec![(users, Judged::ByWallTime)],
        front_proxies: Some((front_proxies, vec![FRONT_PROXY.to_owned()])),
        ..FixedAuthenticator::default()
    })
}

/// What stands before the server: it makes sure that the fold is new enough.
struct Door {
    server: Server,
    log: Remote,
    /// What the host said last.
    time: SimulatedClock,
    wall: Clock,
    transport: Transport,
    version: String,
}

impl Door {
    async fn answer(&self, mut request: Request) -> Result<Response, TransportError> {
        let path = request.uri().path();
        if VERSION_PATHS.contains(&path) {
            return Ok(self.version());
        }
        let said = request.extensions().get::<Stamp>().copied();
        let stamp = match said {
            Some(stamp @ Stamp { head: Some(_), now: Some(_) }) => stamp,
            _ => self.stamp().await?,
        };
        if let Some(now) = stamp.now {
            self.time.advance_to(now);
        }
        self.reach(stamp.head.unwrap_or_default()).await?;
        if path == TOLD_PATH {
            return Ok(self.told(said.is_some() && request.method() == Method::POST).await);
        }
        request.extensions_mut().insert(stamp);
        self.server.call(request).await
    }

    /// Asks the host for log and clock, for a request that did not come through it. A connection that is cut may never
    /// answer, so the wait is bounded.
    async fn stamp(&self) -> Result<Stamp, TransportError> {
        let asked = std::pin::pin!(self.ask_for_stamp());
        match select(asked, self.wall.sleep(TIMEOUT, TimerClass::Calendar)).await {
            Either::Left((stamp, _)) => stamp,
            Either::Right(_) => Err(unreachable("it does not answer")),
        }
    }

    async fn ask_for_stamp(&self) -> Result<Stamp, TransportError> {
        let head = self.log.fetch_head().await.map_err(|error| unreachable(&error.to_string()))?;
        let now = now(&self.transport).await.map_err(|error| unreachable(&error))?;
        Ok(Stamp { head: Some(head), now: Some(now) })
    }

    /// Waits until the fold has reached a revision, unless the log cannot be reached.
    async fn reach(&self, head: Revision) -> Result<(), TransportError> {
        if self.server.position() >= head {
            return Ok(());
        }
        let mut reached = std::pin::pin!(self.server.reach(head));
        loop {
            match select(reached.as_mut(), self.wall.sleep(TIMEOUT, TimerClass::Calendar)).await {
                Either::Left((true, _)) => return Ok(()),
                Either::Left((false, _)) => return Err(unreachable("it is closed")),
                Either::Right(_) if !self.log.reachable() => return Err(unreachable("it does not answer")),
                Either::Right(_) => {}
            }
        }
    }

    /// Only the host may ask.
    async fn told(&self, may: bool) -> Response {
        let (status, text) = match self.server.told().await {
            _ if !may => (StatusCode::FORBIDDEN, String::new()),
            Some((_, told)) => (StatusCode::OK, serde_json::json!(told).to_string()),
            None => (StatusCode::SERVICE_UNAVAILABLE, String::new()),
        };
        let mut response = Response::new(full(text));
        *response.status_mut() = status;
        if status == StatusCode::OK && self.server.take_told_others() {
            response.headers_mut().insert(TOLD_OTHERS_HEADER, HeaderValue::from_static("true"));
        }
        response
    }

    /// Asked directly, the version is that of Gardener.
    fn version(&self) -> Response {
        let mut response = Response::new(full(discovery::version(&self.version)));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(version) = HeaderValue::try_from(&self.version) {
            response.headers_mut().insert(VERSION, version);
        }
        response
    }
}

fn unreachable(reason: &str) -> TransportError {
    TransportError::Unreachable(format!("the event log: {reason}"))
}
