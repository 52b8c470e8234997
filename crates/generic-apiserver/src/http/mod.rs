// SPDX-License-Identifier: Apache-2.0
//! HTTPS in front of anything that answers requests.
//!
//! ```text
//! connection   TLS, client certificate asked for without CA hints, HTTP/2 or HTTP/1.1 by ALPN
//!   exchange   audit id, who asks, impersonation, time-out, panics, indentation, gzip, metrics
//!     handler  a Server, or a host in front of several
//! ```
//!
//! **Invariants.** Time-outs of connections and requests run on wall time. What only our own servers may say of a request
//! never comes from outside: [`front_proxy::strip`](crate::authentication::front_proxy::strip). When serving is asked to
//! stop, watches end as if their time were over, other requests get their answer, and what is left after the grace
//! period is cut. A panic ends the answer during which it happens, and is logged.
//!
//! **Tour.** [`serve`] and its [`Options`]; [`Serving`] the handle; [`guarded`] for handlers that are asked without a
//! connection; [`Metrics`] what is counted; [`Health`] the checks
//! behind `/livez` and `/readyz`.

mod connection;
mod deadlines;
mod exchange;
mod guard;
mod gzip;
mod heads;
mod health;
mod held;
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

/// Says of a path whether it is one of a set.
pub type Paths = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What answers requests: `Server::call` or the like.
pub type Handler = Arc<dyn Fn(Request) -> ResponseFuture + Send + Sync>;

/// Requests with long bodies that are answered at a time: what they take of processors and memory, others lack.
const LONG_REQUESTS: usize = 2;

/// How long and how much.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the handshake of a connection is done.
    pub handshake: TimeDelta,
    /// Until something of the next request comes on a connection of HTTP/1.1. Longer than clients keep idle
    /// connections, or they would now and then send into one that is just being closed.
    pub idle: TimeDelta,
    /// Until a head that has begun to come on a connection of HTTP/1.1 is there as a whole.
    pub head: TimeDelta,
    /// Bytes of the path and the fields of a request's head; above it the answer is 431.
    pub head_bytes: usize,
    /// Fields of a request's head; above it the answer is 431.
    pub fields: usize,
    /// Until a request that is no watch is answered, for which a client may ask for less with `timeout`; and from then until
    /// its answer, if it is large, is read: without it the connection ends.
    pub request: TimeDelta,
    /// As `request`, for requests that write.
    pub write: TimeDelta,
    /// Time for the rest of a request's body that its handler has not read; after it the answer ends the connection.
    pub rest: TimeDelta,
    /// Between the wish to stop and the end of all connections.
    pub grace: TimeDelta,
    /// Requests at once on one connection of HTTP/2.
    pub streams: u32,
    /// Watches and the like at once; above it they are answered with 429.
    pub long_running: usize,
    /// Other requests at once; above it they are answered with 429.
    pub requests: u64,
    /// Maximum bytes of large answers that clients have not read yet, one user's at most half of the bytes that other users
    /// leave; further requests are answered with 429.
    pub held: u64,
}

impl Default for Limits {
    /// kube-apiserver's times, but for idle connections, which Go's clients keep for 90 s; 2,000 streams, since clients
    /// with many informers stall silently above the limit; 8,000 watches, since each may be a file descriptor; 3,000 other
    /// requests: more than a landscape's own components ever ask at once, and few enough to be held in memory; 128 MiB of
    /// answers, some lists of a large landscape.
    ///
    /// Unlike upstream: 128 KiB of a head instead of 1 MiB, since a server behind this one has to take what this one takes.
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

/// How to serve.
#[derive(Clone)]
pub struct Options {
    /// Where to listen; port 0: any that is free.
    pub listen: SocketAddr,
    /// The server's certificate chain and key.
    pub certificate: Pair,
    /// Who asks.
    pub authenticator: Arc<dyn Authenticator>,
    /// Who may impersonate. Everything else is the handler's to authorize.
    pub authorizer: Arc<dyn Authorizer>,
    /// Landscape time.
    pub clock: Clock,
    /// Wall time.
    pub wall: Clock,
    /// For audit ids.
    pub random: Random,
    /// Paths whose answers may last beside watches, long polls or streams: they have no time-out, and are ended with
    /// serving.
    pub lasting: Paths,
    /// Paths outside of all clusters that the handler knows, beside those of health; any other path belongs to the user's own
    /// cluster, if there is one.
    pub outside: Paths,
    /// What is counted; served at `/metrics` outside of all clusters, and wherever else somebody is given it.
    pub metrics: Metrics,
    /// Checks behind `/livez` and `/readyz` outside of all clusters.
    pub health: Health,
    /// Times and numbers.
    pub limits: Limits,
}

impl Options {
    /// Loopback, any port, users may impersonate, the usual limits.
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

/// What all connections share.
struct Shared {
    handler: Handler,
    options: Options,
    tasks: Tasks,
    /// Whether serving is to stop.
    stop: watch::Sender<bool>,
    /// Connections that are open; `None` once no more are taken.
    open: watch::Sender<Open>,
    /// Answers that clients have not read yet.
    held: held::Held,
    /// Where long requests are answered.
    offload: Offload,
    /// Before every number of a request in its audit id.
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
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops taking connections, and lets those that are open come to their end. Stopping the tasks that it was given
    /// does the same.
    pub fn stop(&self) {
        self.shared.stop.send_replace(true);
    }

    /// Resolves when no connection is open any more, after [`Serving::stop`].
    pub async fn ended(&self) {
        let mut open = self.shared.open.subscribe();
        // An error would mean that `shared` is gone.
        let _ = open.wait_for(|open| *open == Open::default()).await;
    }
}

impl Serving {
    /// Serves as the process that it is, until `end` resolves or a task of `tasks`, which it was given, panics; then stops
    /// both. How it ended.
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
/// The address is in use or not ours, or the certificate cannot be used ([`io::ErrorKind::InvalidInput`]).
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
                // Out of file descriptors, or the client is gone already: neither is cured by trying again at once.
                tracing::warn!(%error, "cannot take a connection");
                shared.options.wall.sleep(TimeDelta::milliseconds(100), TimerClass::Calendar).await;
            }
        }
    }
}

/// Changes what is open when it is dropped.
struct OnDrop(Arc<Shared>, fn(&mut Open));

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.open.send_modify(self.1);
    }
}
