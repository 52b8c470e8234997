// SPDX-License-Identifier: Apache-2.0
//! HTTPS front end for a handler of requests.
//!
//! ```text
//! connection   TLS, client certificate requested without CA hints, HTTP/2 or HTTP/1.1 by ALPN
//!   exchange   audit id, authentication, impersonation, time-out, panics, indentation, gzip, metrics
//!     handler  a Server, or a host in front of several
//! ```
//!
//! **Invariants.** Time-outs of connections and requests run on wall time. Headers that only our own servers may set
//! are never accepted from other clients: [`front_proxy::strip`](crate::authentication::front_proxy::strip). When
//! serving is stopped, watches end as if their time were over, other requests are answered, and connections that are
//! left after the grace period are closed. A panic ends the response during which it happens, and is logged.
//!
//! **Tour.** [`serve`] and its [`Options`]; [`Serving`] the handle; [`guarded`] for handlers that are called without a
//! connection; [`Metrics`] counts requests; [`Health`] holds the checks behind `/livez` and `/readyz`.

mod connection;
mod deadlines;
mod exchange;
mod guard;
mod gzip;
mod heads;
mod health;
mod held;
mod impersonation;
mod indent;
mod metrics;
mod stream;
mod tls;
mod whole;
mod within;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use chrono::TimeDelta;
use clock::{Clock, Random, TimerClass};
use futures::future::{Either, select};
use process::pki::Pair;
use process::transport::ResponseFuture;
use process::{Exit, Offload, Request, Tasks, watch};
use tokio::net::TcpListener;

use crate::authentication::Authenticator;
use crate::authorization::{Authenticated, Authorizer};

pub use guard::guarded;
pub use heads::size as size_of_head;
pub use health::Health;
pub use metrics::{Count, Metrics};
pub use within::within;

/// Predicate for paths.
pub type Paths = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Handler of requests: `Server::call` or similar.
pub type Handler = Arc<dyn Fn(Request) -> ResponseFuture + Send + Sync>;

/// Maximum number of concurrent requests with long bodies, which would otherwise use all processor time and memory.
const LONG_REQUESTS: usize = 2;

/// Time-outs and size limits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum duration of the handshake of a connection.
    pub handshake: TimeDelta,
    /// Maximum time without data of a next request on an HTTP/1.1 connection. Longer than clients keep idle
    /// connections; otherwise they would sometimes send into one that is just being closed.
    pub idle: TimeDelta,
    /// Maximum time to receive the head of a request on an HTTP/1.1 connection, from its first byte.
    pub head: TimeDelta,
    /// Maximum size in bytes of the path and the fields of a request's head; above it the response is 431.
    pub head_bytes: usize,
    /// Maximum number of fields of a request's head; above it the response is 431.
    pub fields: usize,
    /// Maximum duration of a request that is not a watch, which a client may shorten with `timeout`; and also the maximum
    /// time to read its response, if that is large, after which the connection ends.
    pub request: TimeDelta,
    /// Maximum duration of a writing request, like `request`.
    pub write: TimeDelta,
    /// Time for the rest of a request's body that its handler has not read; after it the response ends the connection.
    pub rest: TimeDelta,
    /// Period between the request to stop and the end of all connections.
    pub grace: TimeDelta,
    /// Maximum number of concurrent requests on one HTTP/2 connection.
    pub streams: u32,
    /// Maximum number of concurrent watches and other long-running requests; further ones are answered with 429.
    pub long_running: usize,
    /// Maximum number of other concurrent requests; further ones are answered with 429.
    pub requests: u64,
    /// Maximum size in bytes of large responses that clients have not read yet, one user's at most half of the bytes
    /// that other users leave; further requests are answered with 429.
    pub held: u64,
}

impl Default for Limits {
    /// kube-apiserver's times, except for idle connections, which Go's clients keep for 90 s; 2,000 streams, since
    /// clients with many informers stall silently above the limit; 8,000 watches, since each may be a file descriptor;
    /// 3,000 other requests: more than a landscape's own components ever send at once, and few enough to be held in
    /// memory; 128 MiB of responses, some lists of a large landscape.
    ///
    /// Unlike upstream: 128 KiB of a head instead of 1 MiB, since a server behind this one has to accept what this one accepts.
    fn default() -> Self {
        Self {
            handshake: TimeDelta::seconds(10),
            idle: TimeDelta::seconds(120),
            head: TimeDelta::seconds(30),
            head_bytes: 128 << 10,
            fields: 256,
            request: TimeDelta::seconds(60),
            write: TimeDelta::seconds(34),
            rest: TimeDelta::seconds(1),
            grace: TimeDelta::seconds(10),
            streams: 2_000,
            long_running: 8_000,
            requests: 3_000,
            held: 128 << 20,
        }
    }
}

/// Configuration of a server.
#[derive(Clone)]
pub struct Options {
    /// Address to listen on; port 0: any free port.
    pub listen: SocketAddr,
    /// The server's certificate chain and key.
    pub certificate: Pair,
    /// Authenticator of clients.
    pub authenticator: Arc<dyn Authenticator>,
    /// Authorizer of impersonation. All other authorization is the handler's.
    pub authorizer: Arc<dyn Authorizer>,
    /// Landscape time.
    pub clock: Clock,
    /// Wall time.
    pub wall: Clock,
    /// Randomness for audit ids.
    pub random: Random,
    /// Paths, other than watches, whose responses are long polls or streams: they have no time-out, and end when serving stops.
    pub lasting: Paths,
    /// Paths outside of all clusters that the handler serves, in addition to those of health; any other path belongs to
    /// the user's own cluster, if there is one.
    pub outside: Paths,
    /// Metrics of requests; served at `/metrics` outside of all clusters, and wherever else they are passed.
    pub metrics: Metrics,
    /// Checks behind `/livez` and `/readyz` outside of all clusters.
    pub health: Health,
    /// Time-outs and size limits.
    pub limits: Limits,
}

impl Options {
    /// Options for loopback, any port, users may impersonate, the default limits.
    pub fn new(certificate: Pair, authenticator: impl Authenticator, clock: Clock, wall: Clock) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            certificate,
            authenticator: Arc::new(authenticator),
            authorizer: Arc::new(Authenticated),
            clock,
            wall,
            random: Random::new(0),
            lasting: Arc::new(|_| false),
            outside: Arc::new(|_| false),
            metrics: Metrics::default(),
            health: Health::default(),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("listen", &self.listen).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// State that all connections share.
struct Shared {
    handler: Handler,
    options: Options,
    tasks: Tasks,
    /// True if serving must stop.
    stop: watch::Sender<bool>,
    /// State of the listener and number of open connections.
    open: watch::Sender<Open>,
    /// Responses that clients have not read yet.
    held: held::Held,
    /// Threads that answer long requests.
    offload: Offload,
    /// Prefix of every request's number in its audit id.
    started: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    listening: bool,
    connections: usize,
}

/// A server that listens. Dropping the handle changes nothing.
#[derive(Clone)]
pub struct Serving {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Serving {
    /// Address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting connections, and lets open ones complete their requests. Stopping the tasks that were passed to
    /// [`serve`] has the same effect.
    pub fn stop(&self) {
        self.shared.stop.send_replace(true);
    }

    /// Resolves when no connection is open any more, after [`Serving::stop`].
    pub async fn ended(&self) {
        let mut open = self.shared.open.subscribe();
        // An error would mean that `shared` was dropped.
        let _ = open.wait_for(|open| *open == Open::default()).await;
    }
}

impl Serving {
    /// Serves as the current process until `end` resolves or a task of `tasks`, which were passed to [`serve`], panics;
    /// then stops both. Returns the exit of the process.
    pub async fn until<T>(self, end: impl Future<Output = T>, tasks: &Tasks) -> Exit {
        let (end, panicked) = (std::pin::pin!(end), std::pin::pin!(tasks.panic()));
        let exit = match select(end, panicked).await {
            Either::Left(_) => Exit::default(),
            Either::Right((last_line, _)) => Exit { code: 1, last_line },
        };
        self.stop();
        self.ended().await;
        tasks.stop();
        exit
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Serves a handler over HTTPS, on tasks of `tasks`.
///
/// # Errors
/// The address is in use or not local, or the certificate cannot be used ([`io::ErrorKind::InvalidInput`]).
pub async fn serve(
    tasks: &Tasks,
    handler: impl Fn(Request) -> ResponseFuture + Send + Sync + 'static,
    options: Options,
) -> io::Result<Serving> {
    let acceptor =
        tls::acceptor(&options.certificate).map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
    let listener = TcpListener::bind(options.listen).await?;
    let address = listener.local_addr()?;
    let started = format!("{} {address}", options.wall.now().to_rfc3339());
    let shared = Arc::new(Shared {
        handler: Arc::new(handler),
        options,
        tasks: tasks.clone(),
        held: held::Held::default(),
        offload: Offload::threads(LONG_REQUESTS),
        stop: watch::Sender::new(false),
        open: watch::Sender::new(Open { listening: true, connections: 0 }),
        started,
    });
    tasks.spawn(listen(listener, acceptor, shared.clone()));
    Ok(Serving { address, shared })
}

async fn listen(listener: TcpListener, acceptor: tokio_rustls::TlsAcceptor, shared: Arc<Shared>) {
    let _listening = OnDrop(shared.clone(), |open| open.listening = false);
    let shutdown = shared.tasks.shutdown();
    let mut stop = shared.stop.subscribe();
    let asked = std::pin::pin!(async {
        let requested = std::pin::pin!(shutdown.requested());
        let stopped = std::pin::pin!(stop.wait_for(|stop| *stop));
        select(requested, stopped).await;
    });
    let mut asked = asked;
    loop {
        let accepted = std::pin::pin!(listener.accept());
        match select(asked.as_mut(), accepted).await {
            Either::Left(_) => {
                shared.stop.send_replace(true);
                return;
            }
            Either::Right((Ok((stream, _)), _)) => connection::spawn(&shared, &acceptor, stream),
            Either::Right((Err(error), _)) => {
                // Out of file descriptors, or the client has disconnected already: an immediate attempt would not help.
                tracing::warn!(%error, "cannot take a connection");
                shared.options.wall.sleep(TimeDelta::milliseconds(100), TimerClass::Calendar).await;
            }
        }
    }
}

/// Changes the count of open connections when it is dropped.
struct OnDrop(Arc<Shared>, fn(&mut Open));

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.open.send_modify(self.1);
    }
}
