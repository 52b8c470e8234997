// SPDX-License-Identifier: Apache-2.0
//! The listener on the loopback device, over HTTP.
//!
//! Why a listener in addition to the landscape's port: that port's certificate is self-signed, and its handshake requests a
//! client certificate, for which a browser opens a window. Plain HTTP on the loopback device is a secure context for browsers.
//!
//! **Invariants.** It listens on loopback addresses only. It ends with its [`Tasks`].

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::future::{Either, select};
use http_body_util::BodyExt;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use process::Tasks;
use process::transport::BodyError;
use process::unread::Unread;
use tokio::net::{TcpListener, TcpStream};

use crate::Dashboard;
use crate::access::Entrance;

/// Maximum wall time for receiving the head of a request, and between two requests.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum wall time for receiving the rest of an unread body.
const REST: TimeDelta = TimeDelta::seconds(1);
/// Wall time between two attempts to accept a connection, after a failure.
const PAUSE: TimeDelta = TimeDelta::milliseconds(100);
/// Maximum number of concurrent connections.
const MOST: usize = 512;

/// Listens on 127.0.0.1, and on ::1 if that exists, at a port; 0: any free port. Returns the port.
///
/// # Errors
/// The port is in use.
pub async fn listen(dashboard: &Dashboard, tasks: &Tasks, port: u16) -> io::Result<u16> {
    let first = TcpListener::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)).await?;
    let port = first.local_addr()?.port();
    // A machine without IPv6, or another process on that port, is no reason to fail.
    let second = TcpListener::bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port)).await.ok();
    let open = Arc::new(AtomicUsize::new(0));
    for listener in [Some(first), second].into_iter().flatten() {
        let (dashboard, spawning, open) = (dashboard.clone(), tasks.clone(), open.clone());
        tasks.spawn_apart(async move { accept(listener, dashboard, spawning, open).await });
    }
    Ok(port)
}

async fn accept(listener: TcpListener, dashboard: Dashboard, tasks: Tasks, open: Arc<AtomicUsize>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) if open.load(Ordering::Relaxed) < MOST => {
                open.fetch_add(1, Ordering::Relaxed);
                let (dashboard, counted) = (dashboard.clone(), OnDrop(open.clone()));
                let shutdown = tasks.shutdown();
                tasks.spawn_apart(async move {
                    let _counted = counted;
                    let stopped = std::pin::pin!(shutdown.requested());
                    let served = std::pin::pin!(serve(stream, dashboard));
                    match select(stopped, served).await {
                        Either::Left(_) | Either::Right(_) => {}
                    }
                });
            }
            // Dropped: a client with so many connections is not a browser.
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "the dashboard cannot take a connection");
                Clock::wall().sleep(PAUSE, TimerClass::Work).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, dashboard: Dashboard) {
    let _ = stream.set_nodelay(true);
    let service = tower::service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let dashboard = dashboard.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(&dashboard, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    // A browser that closes its connection early is not an error.
    let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await;
}

async fn answer(dashboard: &Dashboard, request: http::Request<hyper::body::Incoming>) -> axum::response::Response {
    let (parts, body) = request.into_parts();
    let body = body.map_err(|error| BodyError(error.to_string())).boxed_unsync();
    let (body, unread) = Unread::of(parts.version, &parts.headers, body);
    let request = http::Request::from_parts(parts, Body::new(body));
    let mut response = dashboard.answer(Entrance::Loopback, request).await;
    if let Some(unread) = unread {
        unread.settle(&mut response, Clock::wall().sleep(REST, TimerClass::Work)).await;
    }
    response
}

/// Counts a connection until it is dropped.
struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
