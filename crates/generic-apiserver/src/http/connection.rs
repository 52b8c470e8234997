// SPDX-License-Identifier: Apache-2.0
//! One connection: handshake, requests, end.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::FutureExt;
use futures::future::{Either, select};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use process::Tasks;
use process::transport::BodyError;
use process::unread::Unread;
use rustls_pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::deadlines::Deadlines;
use super::heads::{Heads, Noted};
use super::{OnDrop, Options, Shared};
use super::{exchange, guard};

/// Interval of pings that check whether a silent HTTP/2 client on another machine is still connected.
const PING: Duration = Duration::from_secs(30);

/// Size in bytes up to which heads are always read from a connection; the default limit of Go's servers.
const HEAD: usize = 1 << 20;

/// Serves a connection on its own task.
pub(super) fn spawn(shared: &Arc<Shared>, acceptor: &TlsAcceptor, stream: TcpStream) {
    shared.open.send_modify(|open| open.connections += 1);
    let open = OnDrop(shared.clone(), |open| open.connections -= 1);
    let (shared, acceptor) = (shared.clone(), acceptor.clone());
    let tasks = shared.tasks.clone();
    tasks.spawn_apart(finishing(tasks.clone(), async move {
        let _open = open;
        run(shared, acceptor, stream).await;
    }));
}

async fn run(shared: Arc<Shared>, acceptor: TlsAcceptor, stream: TcpStream) {
    // Frames of a watch are small and must not wait for more.
    let _ = stream.set_nodelay(true);
    // The system reports the end of a process on this machine. One that a debugger stops answers no pings, and must
    // find its connection again.
    let is_near = stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback());
    let options = &shared.options;
    let patience = options.wall.sleep(options.limits.handshake, TimerClass::Calendar);
    let tls = match select(acceptor.accept(stream), patience).await {
        Either::Left((Ok(tls), _)) => tls,
        // The client speaks no TLS, does not trust the certificate, or sends nothing.
        Either::Left((Err(_), _)) | Either::Right(_) => return,
    };
    let session = tls.get_ref().1;
    let http2 = session.alpn_protocol() == Some(b"h2");
    let certificates: Arc<[CertificateDer<'static>]> =
        session.peer_certificates().unwrap_or_default().iter().cloned().collect();

    let heads = (!http2).then(Heads::new);
    let deadlines = Deadlines::new();
    let service = TowerToHyperService::new(router(shared.clone(), certificates, heads.clone(), deadlines.clone()));
    let timer = WallTimer(options.wall.clone());
    let mut builder = auto::Builder::new(OnTasks(shared.tasks.clone()));
    // The connection reads larger heads than it accepts, so that a client that sends too much is answered.
    let most = options.limits.head_bytes.max(HEAD);
    builder.http1().timer(timer.clone()).header_read_timeout(options.limits.idle.to_std().ok());
    builder.http1().max_buf_size(most).max_headers(options.limits.fields);
    builder.http2().timer(timer).keep_alive_interval((!is_near).then_some(PING));
    builder.http2().max_concurrent_streams(options.limits.streams);
    builder.http2().max_header_list_size(u32::try_from(most).unwrap_or(u32::MAX));
    // A server in front of this one resets the streams that its clients reset, all over one connection.
    builder.http2().max_pending_accept_reset_streams(usize::try_from(options.limits.streams).ok());
    let builder = if http2 { builder.http2_only() } else { builder.http1_only() };
    let noted = Noted::new(tls, heads.clone().unwrap_or_else(Heads::new), options.wall.clone());
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(noted), service));

    let mut stop = shared.stop.subscribe();
    let stopped = std::pin::pin!(stop.wait_for(|stop| *stop));
    let slow_head = async {
        match heads {
            Some(heads) => heads.overdue(options.wall.clone(), options.limits.head).await,
            None => std::future::pending().await,
        }
    };
    let unread = std::pin::pin!(deadlines.passed(options.wall.clone()));
    let slow_head = std::pin::pin!(slow_head);
    let overdue = select(slow_head, unread);
    match select(connection.as_mut(), select(stopped, overdue)).await {
        Either::Left(_) | Either::Right((Either::Right(_), _)) => {}
        Either::Right((Either::Left((_, overdue)), _)) => {
            connection.as_mut().graceful_shutdown();
            // Requests that are still running at the end of this period are dropped.
            let patience = select(overdue, options.wall.sleep(options.limits.grace, TimerClass::Calendar));
            select(connection, patience).await;
        }
    }
}

/// Returns the service for a connection's requests. All paths are the API's, which parses them itself.
fn router(
    shared: Arc<Shared>,
    certificates: Arc<[CertificateDer<'static>]>,
    heads: Option<Heads>,
    deadlines: Deadlines,
) -> axum::Router {
    axum::Router::new().fallback(|request: axum::extract::Request| async move {
        let answering = heads.map(|heads| heads.complete());
        let what = format!("{} {}", request.method(), request.uri().path());
        let (parts, body) = request.into_parts();
        let body = body.map_err(|error| BodyError(error.to_string())).boxed_unsync();
        let (body, unread) = Unread::of(parts.version, &parts.headers, body);
        let request = process::Request::from_parts(parts, body);
        let answer = AssertUnwindSafe(exchange::answer(shared.clone(), certificates, deadlines, request));
        let answer = answer.catch_unwind().await;
        let mut answer = answer.unwrap_or_else(|panic| guard::panicked(&what, &*panic).response());
        if let Some(unread) = unread {
            let Options { wall, limits, .. } = &shared.options;
            unread.settle(&mut answer, wall.sleep(limits.rest, TimerClass::Calendar)).await;
        }
        answer.map(|body| match answering {
            Some(answering) => axum::body::Body::new(answering.holding(body)),
            None => axum::body::Body::new(body),
        })
    })
}

/// Runs a task to its end when stopping is requested, instead of dropping it: pending responses are completed.
async fn finishing(tasks: Tasks, task: impl Future<Output = ()>) {
    let shutdown = tasks.shutdown();
    let mut requested = std::pin::pin!(shutdown.requested());
    let _ = futures::poll!(requested.as_mut());
    task.await;
}

/// Spawns the streams of HTTP/2.
#[derive(Clone)]
struct OnTasks(Tasks);

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for OnTasks {
    fn execute(&self, future: F) {
        self.0.spawn_apart(finishing(self.0.clone(), future));
    }
}

/// Wall time as hyper's timer.
#[derive(Clone)]
struct WallTimer(Clock);

impl hyper::rt::Timer for WallTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        let duration = TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX);
        Box::pin(WallSleep(Mutex::new(self.0.sleep(duration, TimerClass::Calendar))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.sleep(deadline.saturating_duration_since(self.now()))
    }
}

/// A sleep that may be shared between threads, as hyper requires but never does.
struct WallSleep(Mutex<clock::Sleep>);

impl Future for WallSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().as_mut().poll(cx)
    }
}

impl hyper::rt::Sleep for WallSleep {}
