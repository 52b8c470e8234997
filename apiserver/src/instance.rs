// SPDX-License-Identifier: Apache-2.0
//! gardener-apiserver of a landscape: one of several behind a host, all on the host's log.
//!
//! ```text
//! host ──HTTPS, front proxy: user, head of the log, landscape time──▶ this process
//!   ▲                                                                          │
//!   └── /log/v1/: cluster `garden` is folded, writes are appended ─────────────┘
//! ```
//!
//! In the process of the host ([`Local`]) it uses log and clock directly, and the host calls it without a connection.
//!
//! It is ready when it has folded everything up to the head as of its start. A request waits until the fold has reached
//! the head in the host's headers; a direct request, without the host, reads the head from the log. Time is the one
//! that the host sent last: this process never holds landscape time back, and has no timers on it.
//!
//! **Invariants.** No state of its own. If the log cannot be reached, outdated data is never returned: 503.

use std::sync::{Arc, OnceLock};

use api::kubernetes::coordination::Lease;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Instant, Random, SimulatedClock, TimerClass};
use domain::skew::registration;
use eventlog::{EventLog, Revision};
use eventlog_remote::Remote;
use futures::future::{Either, select};
use generic_apiserver::authentication::front_proxy::{self, Stamp};
use generic_apiserver::authentication::{ClientAuthority, FixedAuthenticator, Judged, authenticated};
use generic_apiserver::webhooks::{HttpsCaller, Name, Names, Resolved, WebhookCaller};
use generic_apiserver::{Foundation, Local, Server, discovery, http as server_http};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request as HttpRequest, StatusCode};
use http_body_util::{BodyExt, Full};
use process::attempts::Attempts;
use process::child::{Assignment, Serving};
use process::logging;
use process::participant::{CLOCK_PATH, TOLD_OTHERS_HEADER, TOLD_PATH};
use process::transport::{ResponseFuture, full};
use process::{Context, Exit, Request, Response, Tasks, Transport, TransportError};
use tokio::sync::oneshot;

use crate::{Options, service};

/// Name in the certificate of the host as front proxy.
pub const FRONT_PROXY: &str = "front-proxy-client";

/// Header with the version of the instance that answered.
const VERSION: HeaderName = HeaderName::from_static("x-gardener-version");
/// Paths that return the version of Gardener instead of that of the cluster.
const VERSION_PATHS: [&str; 3] = ["/version", "/gardener/version", "/clusters/garden/gardener/version"];
/// Wall time for which a request waits for a log that cannot be reached.
const TIMEOUT: TimeDelta = TimeDelta::seconds(5);
/// Wall time that pending responses have after a request to stop the process.
const GRACE: TimeDelta = TimeDelta::milliseconds(500);

/// Maximum size in bytes of a request's head: more than the host accepts and adds.
const HEAD_BYTES: usize = 1 << 20;
const FIELDS: usize = 1024;

/// Name of the check of `/readyz` that fails while the instance is paused ([`Tasks::pause`]).
const SKEW_CHECK: &str = "version-skew";

/// Address and time of an instance that is not ready yet.
#[derive(Clone, Debug)]
pub struct Announced {
    /// Address on which the instance listens.
    pub address: String,
    /// Landscape time, as received from the host.
    pub time: Clock,
}

/// Runs an instance until `end` resolves; `local`: in the process of the host. `announce` is called before the instance
/// is ready, and may refuse.
///
/// # Errors
/// The assignment is invalid, or the log cannot be reached.
pub async fn run<F>(
    context: Context,
    assignment: Assignment,
    options: &Options,
    local: Option<Local>,
    end: oneshot::Receiver<()>,
    announce: impl FnOnce(Announced) -> F,
) -> Result<Exit, String>
where
    F: Future<Output = Result<(), Exit>>,
{
    let (wall, tasks) = (context.wall.clone(), context.tasks.clone());
    let is_local = local.is_some();
    let (ground, known_names, offer) = match local {
        Some(Local { log, time, names, offer }) => (Ground::Local { log, time }, Some(names), Some(offer)),
        None => (Ground::reach(&context).await?, None, None),
    };
    let head = ground.head().await.map_err(|error| format!("cannot reach the event log: {error}"))?;
    let time = ground.time();
    logging::start(&context, time.clone(), logging::Format::default(), tracing::Level::INFO);
    tracing::info!(version = assignment.version, "Starting {}", assignment.component);
    let foundation = Foundation {
        log: ground.log(),
        clock: time.clone(),
        wall: wall.clone(),
        random: Random::new(assignment.seed),
        writer: assignment.writer,
        recent_bytes: generic_apiserver::RECENT_BYTES,
    };
    let folded: Arc<OnceLock<Server>> = Arc::default();
    let leases = folded.clone();
    let registered: Names = Arc::new(move |cluster, name| match name {
        Name::Host(host) => {
            let server = registration::address(&leases.get()?.folded::<Lease>(cluster), host)?;
            Some(Resolved { server, inside: None })
        }
        // Pods are in other clusters.
        Name::Pod { .. } => None,
    });
    let names = known_names.unwrap_or(registered);
    let webhooks: Arc<dyn WebhookCaller> = Arc::new(HttpsCaller::new("gardener-apiserver-admission", names));
    let server = service(foundation, &Options { webhooks: Some(webhooks), ..options.clone() });
    let _ = folded.set(server.clone());
    server.start(&tasks);

    let Some(serving) = &assignment.serving else {
        return Err("the assignment has no certificate to serve with".to_owned());
    };
    let authenticator = authenticator(serving, &assignment.authorities)?;
    let mut serve = server_http::Options::new(serving.certificate.clone(), authenticator, time.clone(), wall.clone());
    serve.listen = serving.listen.unwrap_or(serve.listen);
    serve.limits.grace = GRACE;
    serve.limits.head_bytes = HEAD_BYTES;
    serve.limits.fields = FIELDS;
    serve.random = Random::new(assignment.seed);
    let paused = tasks.clone();
    serve.health = serve.health.ready(SKEW_CHECK, move || !paused.is_paused());
    let door = Arc::new(ServerFront { server: server.clone(), ground, wall, version: assignment.version.clone() });
    if let Some(offer) = offer {
        offer(within(door.clone(), &tasks));
    }
    let handler = move |request| -> ResponseFuture {
        let door = door.clone();
        Box::pin(async move { door.answer(request).await })
    };
    let known = serving;
    let serving = server_http::serve(&tasks, handler, serve).await.map_err(|error| format!("cannot serve: {error}"))?;
    let address = known.address(serving.address());
    if !server.reach(head).await {
        return Err("the event log is closed".to_owned());
    }
    if let Err(refused) = announce(Announced { address: address.clone(), time }).await {
        return Ok(refused);
    }
    // The port differs from run to run, and lines of components inside become part of the event log with a pod's status.
    if is_local {
        tracing::info!("Serving securely");
    } else {
        tracing::info!(address, "Serving securely");
    }
    context.output.state(component::ready(&address));
    Ok(serving.until(end, &tasks).await)
}

/// Returns the transport to an instance in the process of the host.
fn within(door: Arc<ServerFront>, tasks: &Tasks) -> Transport {
    let wall = door.wall.clone();
    server_http::within(tasks, &wall, GRACE, move |mut request| {
        if let Some((user, details, stamp)) = front_proxy::read(request.headers_mut()) {
            request.extensions_mut().insert(authenticated(user));
            request.extensions_mut().insert(details);
            request.extensions_mut().insert(stamp);
        }
        let door = door.clone();
        Box::pin(async move { door.answer(request).await })
    })
}

/// The log and the clock of an instance.
enum Ground {
    /// Log and clock of the host, in the host's process.
    Local { log: Arc<dyn EventLog>, time: Clock },
    /// The log over the host, and the time that the host sent last.
    Remote { log: Remote, time: SimulatedClock, transport: Transport },
}

impl Ground {
    /// Connects to the host in another process.
    async fn reach(context: &Context) -> Result<Self, String> {
        let transport = context.transport.clone();
        let log = remote(&transport, &context.wall);
        let mut attempts = Attempts::on(context.wall.clone());
        loop {
            match log.fetch_head().await {
                Ok(_) => break,
                Err(_) if attempts.again().await => {}
                Err(error) => return Err(format!("cannot reach the event log: {error}")),
            }
        }
        let began = loop {
            match now(&transport).await {
                Err(_) if attempts.again().await => {}
                began => break began?,
            }
        };
        Ok(Self::Remote { log, time: SimulatedClock::new(began), transport })
    }

    fn log(&self) -> Arc<dyn EventLog> {
        match self {
            Self::Local { log, .. } => log.clone(),
            Self::Remote { log, .. } => Arc::new(log.clone()),
        }
    }

    fn time(&self) -> Clock {
        match self {
            Self::Local { time, .. } => time.clone(),
            Self::Remote { time, .. } => Clock::new(time.clone()),
        }
    }

    async fn head(&self) -> Result<Revision, TransportError> {
        match self {
            Self::Local { log, .. } => Ok(log.head()),
            Self::Remote { log, .. } => log.fetch_head().await.map_err(|error| unreachable(&error.to_string())),
        }
    }

    /// Returns head of the log and time, for a request that did not pass through the host.
    async fn stamp(&self) -> Result<Stamp, TransportError> {
        let head = self.head().await?;
        let now = match self {
            Self::Local { time, .. } => time.now(),
            Self::Remote { transport, .. } => now(transport).await.map_err(|error| unreachable(&error))?,
        };
        Ok(Stamp { head: Some(head), now: Some(now) })
    }

    /// Stores landscape time as received from the host.
    fn note(&self, now: Instant) {
        if let Self::Remote { time, .. } = self {
            time.advance_to(now);
        }
    }

    fn is_reachable(&self) -> bool {
        match self {
            Self::Local { .. } => true,
            Self::Remote { log, .. } => log.reachable(),
        }
    }
}

/// Returns the log of the host.
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

/// Requests landscape time from the host.
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

/// Front of the server, which makes sure that the fold is new enough.
struct ServerFront {
    server: Server,
    ground: Ground,
    wall: Clock,
    version: String,
}

impl ServerFront {
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
            self.ground.note(now);
        }
        self.reach(stamp.head.unwrap_or_default()).await?;
        if path == TOLD_PATH {
            return Ok(self.line_counts(said.is_some() && request.method() == Method::POST).await);
        }
        request.extensions_mut().insert(stamp);
        self.server.call(request).await
    }

    /// Requests head and time from the host, for a request that did not pass through it. A broken connection may never
    /// answer, so the wait is bounded.
    async fn stamp(&self) -> Result<Stamp, TransportError> {
        let asked = std::pin::pin!(self.ground.stamp());
        match select(asked, self.wall.sleep(TIMEOUT, TimerClass::Calendar)).await {
            Either::Left((stamp, _)) => stamp,
            Either::Right(_) => Err(unreachable("it does not answer")),
        }
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
                Either::Right(_) if !self.ground.is_reachable() => return Err(unreachable("it does not answer")),
                Either::Right(_) => {}
            }
        }
    }

    /// Answers the host's request for delivered lines; other clients are refused.
    async fn line_counts(&self, may: bool) -> Response {
        let (status, text) = match self.server.line_counts().await {
            _ if !may => (StatusCode::FORBIDDEN, String::new()),
            Some((_, counts)) => (StatusCode::OK, serde_json::json!(counts).to_string()),
            None => (StatusCode::SERVICE_UNAVAILABLE, String::new()),
        };
        let mut response = Response::new(full(text));
        *response.status_mut() = status;
        if status == StatusCode::OK && self.server.take_reached_others() {
            response.headers_mut().insert(TOLD_OTHERS_HEADER, HeaderValue::from_static("true"));
        }
        response
    }

    /// Answers a direct request for the version, which is that of Gardener.
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
