// SPDX-License-Identifier: Apache-2.0
//! HTTPS in front of a handler, and clients of it.

use std::sync::Arc;

use bytes::Bytes;
use chrono::TimeDelta;
use clock::{Clock, Instant, SimulatedClock, Sleep, TimeSource, TimerClass};
use futures::channel::oneshot;
use generic_apiserver::authentication::{ClientAuthority, FixedAuthenticator, Judged};
use generic_apiserver::http::{Options, Serving, serve};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::https::{self, Credentials, Watches};
use process::pki::{Authority, Key, Leaf, Pair, Validity};
use process::transport::{ResponseFuture, full};
use process::{Request, Response, Tasks, Transport, User};
use serde_json::Value;

/// An authority whose certificates are valid now.
pub(crate) fn authority(name: &str) -> Authority {
    let validity = Validity::starting(Clock::wall().now() - TimeDelta::hours(1), TimeDelta::hours(2));
    Authority::new(name, Key::transport().expect("a key"), validity).expect("an authority")
}

pub(crate) fn pair(authority: &Authority, leaf: Leaf<'_>) -> Pair {
    let validity = Validity::starting(Clock::wall().now() - TimeDelta::hours(1), TimeDelta::hours(2));
    authority.issue(leaf, &Key::transport().expect("a key"), validity).expect("a certificate")
}

/// Length of a sleep, and its end.
type Wait = (TimeDelta, oneshot::Sender<()>);

/// Wall time that stands still; its sleeps end when a test ends them by their length.
#[derive(Clone, Debug)]
pub(crate) struct Wall {
    now: Instant,
    sleeps: Arc<Mutex<Vec<Wait>>>,
}

impl TimeSource for Wall {
    fn now(&self) -> Instant {
        self.now
    }

    fn sleep_until(&self, until: Instant, _: TimerClass) -> Sleep {
        let (end, ended) = oneshot::channel();
        self.sleeps.lock().push((until - self.now, end));
        Box::pin(async move {
            if ended.await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

impl Wall {
    /// True if a sleep of this length is pending.
    pub(crate) fn sleeps(&self, length: TimeDelta) -> bool {
        self.sleeps.lock().iter().any(|(known, end)| *known == length && !end.is_canceled())
    }

    /// Waits for a sleep of this length and ends it.
    pub(crate) async fn pass(&self, length: TimeDelta) {
        loop {
            {
                let mut sleeps = self.sleeps.lock();
                sleeps.retain(|(_, end)| !end.is_canceled());
                if let Some(index) = sleeps.iter().position(|(known, _)| *known == length) {
                    let (_, end) = sleeps.remove(index);
                    if end.send(()).is_ok() {
                        return;
                    }
                }
            }
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) struct Wire {
    pub(crate) tasks: Tasks,
    pub(crate) serving: Serving,
    pub(crate) host: Authority,
    pub(crate) users: Authority,
    pub(crate) proxies: Authority,
    pub(crate) wall: Wall,
}

impl Wire {
    /// Serves a handler to users with a certificate or the token `secret`.
    pub(crate) async fn new(handler: impl Fn(Request) -> ResponseFuture + Send + Sync + 'static) -> Self {
        Self::with(handler, |_| ()).await
    }

    pub(crate) async fn with(
        handler: impl Fn(Request) -> ResponseFuture + Send + Sync + 'static,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let (host, users, proxies) = (authority("host"), authority("users"), authority("proxies"));
        let bundle =
            |authority: &Authority| ClientAuthority::from_pem(&authority.pair().certificate).expect("a bundle");
        let robot = User { name: "robot".into(), ..User::default() };
        let authenticator = FixedAuthenticator {
            users: vec![(bundle(&users), Judged::ByWallTime)],
            front_proxies: Some((bundle(&proxies), vec!["front".to_owned()])),
            tokens: [("secret".to_owned(), robot)].into(),
        };
        let wall = Wall { now: Clock::wall().now(), sleeps: Arc::default() };
        let clock = Clock::new(SimulatedClock::new(Clock::wall().now()));
        let certificate = pair(&host, Leaf::Server(&["localhost", "127.0.0.1"]));
        let mut options = Options::new(certificate, authenticator, clock, Clock::new(wall.clone()));
        change(&mut options);
        let tasks = Tasks::new();
        let serving = serve(&tasks, handler, options).await.expect("a port");
        Self { tasks, serving, host, users, proxies, wall }
    }

    pub(crate) fn client(&self, credentials: Credentials, watches: Watches) -> Transport {
        let options = https::Options {
            addresses: Vec::new(),
            server: self.serving.address().to_string(),
            insecure: false,
            authorities: self.host.pair().certificate.clone(),
            credentials,
            watches,
            reach: https::Reach::default(),
            user_agent: "test/v1".to_owned(),
        };
        https::transport(&options).expect("a transport")
    }

    pub(crate) fn user(&self, name: &str, groups: &[&str]) -> Transport {
        let credentials = Credentials::Certificate(pair(&self.users, Leaf::Client(name, groups)));
        self.client(credentials, Watches::Shared)
    }
}

pub(crate) async fn send(
    client: &Transport,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Response {
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request.body(full(body)).expect("a request")).await.expect("a response")
}

pub(crate) async fn get(client: &Transport, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    read(send(client, "GET", path, headers, Bytes::new()).await).await
}

pub(crate) async fn read(response: Response) -> (u16, Value) {
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}
