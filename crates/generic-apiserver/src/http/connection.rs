// SPDX-License-Identifier: Apache-2.0
//! One connection: handshake, requests, end.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::future::{Either, select};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use process::Tasks;
use rustls_pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::exchange;
use super::{OnDrop, Shared};

/// Between two questions whether a silent client of HTTP/2 is still there.
const PING: Duration = Duration::from_secs(30);

/// Serves a connection on a task of its own.
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
    let options = &shared.options;
    let patience = options.wall.sleep(options.limits.handshake, TimerClass::Calendar);
    let tls = match select(acceptor.accept(stream), patience).await {
        Either::Left((Ok(tls), _)) => tls,
        // Somebody who speaks no TLS, does not trust us, or does not speak at all.
        Either::Left((Err(_), _)) | Either::Right(_) => return,
    };
    let session = tls.get_ref().1;
    let http2 = session.alpn_protocol() == Some(b"h2");
    let certificates: Arc<[CertificateDer<'static>]> =
        session.peer_certificates().unwrap_or_default().iter().cloned().collect();

    let service = TowerToHyperService::new(router(shared.clone(), certificates));
    let timer = WallTimer(options.wall.clone());
    let mut builder = auto::Builder::new(OnTasks(shared.tasks.clone()));
    builder.http1().timer(timer.clone()).header_read_timeout(options.limits.idle.to_std().ok());
    builder.http2().timer(timer).keep_alive_interval(PING).max_concurrent_streams(options.limits.streams);
    let builder = if http2 { builder.http2_only() } else { builder.http1_only() };
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(tls), service));

    let mut stop = shared.stop.subscribe();
    let stopped = std::pin::pin!(stop.wait_for(|stop| *stop));
    if let Either::Right(_) = select(connection.as_mut(), stopped).await {
        connection.as_mut().graceful_shutdown();
        // Whatever is not over by then is cut by dropping it.
        select(connection, options.wall.sleep(options.limits.grace, TimerClass::Calendar)).await;
    }
}

/// What a connection's requests are handed to. All paths are the API's: it reads them itself.
fn router(shared: Arc<Shared>, certificates: Arc<[CertificateDer<'static>]>) -> axum::Router {
    axum::Router::new().fallback(|request: axum::extract::Request| async move {
        exchange::answer(shared, certificates, request).await.map(axum::body::Body::new)
    })
}

/// A task that is asked to stop and not dropped: answers in flight are to be finished.
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

/// Wall time as hyper wants it.
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

/// A sleep that may be shared between threads, as hyper demands and never does.
struct WallSleep(Mutex<clock::Sleep>);

impl Future for WallSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll(cx)
    }
}

impl hyper::rt::Sleep for WallSleep {}
