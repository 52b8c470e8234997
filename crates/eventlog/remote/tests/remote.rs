// SPDX-License-Identifier: Apache-2.0
//! The conformance suite over an in-process transport, and failures of that transport.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use clock::{Clock, Instant, Random, Sleep, TimeSource, TimerClass};
use eventlog::conformance::{block_on, delete, put, update, update_status};
use eventlog::observed::Observed;
use eventlog::sled::SledLog;
use eventlog::{Append, AppendError, EventLog, MemoryLog, ReadError, Revision, WatchValidator};
use eventlog_remote::{Body, MEDIA_TYPE, Options, Refusal, Remote, Server};
use futures::{FutureExt, StreamExt};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;

/// A clock whose sleeps end at once, after a yield to the runtime.
#[derive(Debug, Default)]
struct Impatient(AtomicU64);

impl TimeSource for Impatient {
    fn now(&self) -> Instant {
        Instant::from_timestamp(1_690_488_000, 0).expect("in range")
    }

    fn sleep_until(&self, _: Instant, _: TimerClass) -> Sleep {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(tokio::task::yield_now())
    }
}

fn remote(log: impl EventLog) -> Remote {
    let server = Server::new(Arc::new(log), |_| Ok(()));
    let send = move |request: Request<Full<Bytes>>| {
        let server = server.clone();
        async move { Ok::<_, String>(server.serve(request).await) }
    };
    Remote::new(send, Clock::new(Impatient::default()), Options::default())
}

mod of_a_memory_log {
    eventlog::conformance!(super::remote(eventlog::MemoryLog::new()));
}

/// A log on disk behind a remote one; its directory is removed with it.
fn on_disk() -> impl EventLog {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("eventlog-remote-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let log = SledLog::open(&path, eventlog::sled::Options::default()).expect("a new log");
    let last = OnDisk(log.clone(), path);
    Observed::new(Arc::new(remote(log)), move |_: &Append| {
        let _ = &last;
    })
}

struct OnDisk(SledLog, std::path::PathBuf);

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = block_on(self.0.close());
        let _ = std::fs::remove_dir_all(&self.1);
    }
}

mod of_a_log_on_disk {
    eventlog::conformance!(super::on_disk());
}

/// A transport that loses requests, answers, and the ends of bodies, by a seed.
struct Faults {
    random: Random,
    draws: AtomicU64,
    /// Number of faults in 100 requests.
    share: AtomicU64,
}

impl Faults {
    fn draw(&self, bound: u64) -> u64 {
        self.random.below(bound, "fault", "", self.draws.fetch_add(1, Ordering::Relaxed))
    }

    fn happens(&self) -> bool {
        self.draw(100) < self.share.load(Ordering::Relaxed)
    }
}

/// A body that breaks off after some pieces.
struct Breaking(Body, Option<u64>);

impl http_body::Body for Breaking {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, String>>> {
        let this = &mut *self;
        if this.1 == Some(0) {
            return Poll::Ready(Some(Err("reset by peer".to_owned())));
        }
        let polled = Pin::new(&mut this.0).poll_frame(context);
        if polled.is_ready()
            && let Some(left) = &mut this.1
        {
            *left -= 1;
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(|error| error.to_string())))
    }
}

fn faulty(log: impl EventLog, seed: u64) -> (Remote, Arc<Faults>) {
    let faults = Arc::new(Faults { random: Random::new(seed), draws: AtomicU64::new(0), share: AtomicU64::new(30) });
    let server = Server::new(Arc::new(log), |_| Ok(()));
    let send = {
        let faults = faults.clone();
        move |request: Request<Full<Bytes>>| {
            let (server, faults) = (server.clone(), faults.clone());
            async move {
                if faults.happens() {
                    return Err("refused".to_owned());
                }
                let answer = server.serve(request).await;
                if faults.happens() {
                    return Err("reset by peer".to_owned());
                }
                let breaks = faults.happens().then(|| faults.draw(6));
                Ok(answer.map(|body| Breaking(body, breaks)))
            }
        }
    };
    let options = Options { attempts: 60, ..Options::default() };
    (Remote::new(send, Clock::new(Impatient::default()), options), faults)
}

#[test]
fn a_repeated_request_is_executed_once() {
    for seed in 0..20 {
        let log = MemoryLog::new();
        let (remote, _) = faulty(log.clone(), seed);
        block_on(async {
            let mut revisions = Vec::new();
            for number in 0..30 {
                revisions.push(remote.append(put(&format!("{number}"), 1)).await.expect("appended").revision.0);
            }
            assert_eq!(revisions, (1..=30).collect::<Vec<_>>(), "seed {seed}");
            assert_eq!(log.head(), Revision(30), "seed {seed}");
            assert_eq!(remote.fetch_head().await, Ok(Revision(30)));
            let read = remote.read(Revision(3), Revision(30), None).await;
            assert_eq!(read, log.read(Revision(3), Revision(30), None).await, "seed {seed}");
            assert_eq!(remote.state_at(Revision(20)).await, log.state_at(Revision(20)).await, "seed {seed}");
        });
    }
}

#[test]
fn a_subscription_resumes_after_a_broken_connection() {
    for seed in 0..20 {
        let log = MemoryLog::new();
        let (remote, faults) = faulty(log.clone(), seed);
        block_on(async {
            let mut validator = WatchValidator::new(Revision(0), Some("garden"));
            let mut subscription = remote.subscribe(Revision(0), Some("garden")).expect("nothing is known against it");
            let mut at = log.append(put("a", 0)).await.expect("created").revision;
            for number in 0..200 {
                let append = match number % 50 {
                    49 => delete("a", at, 1),
                    0 if number > 0 => put("a", 1),
                    odd if odd % 3 == 1 => update("a", at, number),
                    odd => Append { volatile: odd % 5 == 0, ..update_status("a", at, number) },
                };
                at = log.append(append).await.expect("an append that holds").revision;
                while let Some(message) = subscription.messages.next().now_or_never() {
                    validator.push(&message.expect("not cut")).expect("a subscription without fault");
                }
                tokio::task::yield_now().await;
            }
            faults.share.store(0, Ordering::Relaxed);
            while validator.position() < log.head() {
                let message = subscription.messages.next().await.expect("not cut");
                validator.push(&message).expect("a subscription without fault");
            }
            validator.finish(&log).await.expect("retained").expect("a subscription without gap");
            assert_eq!(remote.head(), log.head());
        });
    }
}

#[test]
fn a_subscription_ends_when_the_log_has_forgotten_what_follows() {
    let log = MemoryLog::new();
    let remote = remote(log.clone());
    block_on(async {
        let mut at = log.append(put("a", 0)).await.expect("created").revision;
        for number in 0..10 {
            at = log.append(update("a", at, number)).await.expect("updated").revision;
        }
        log.compact(Revision(5)).await.expect("retained");
        let mut subscription = remote.subscribe(Revision(0), None).expect("nothing is known against it");
        assert!(subscription.messages.next().await.is_none());
        assert_eq!(remote.subscribe(Revision(0), None).err(), Some(ReadError::Compacted(Revision(5))));
    });
}

#[test]
fn without_any_answer_the_outcome_is_unknown() {
    let clock = Arc::new(Mutex::new(0));
    let counted = clock.clone();
    let send = move |_: Request<Full<Bytes>>| {
        *counted.lock() += 1;
        async { Err::<Response<Body>, _>("connection refused") }
    };
    let remote = Remote::new(send, Clock::new(Impatient::default()), Options { attempts: 5, ..Options::default() });
    let unknown = AppendError::Unknown("connection refused".to_owned());
    assert_eq!(block_on(remote.append(put("a", 1))), Err(unknown));
    assert_eq!(*clock.lock(), 5);
    assert!(!remote.reachable());
    assert_eq!(block_on(remote.fetch_head()), Err(ReadError::Closed));
}

#[test]
fn a_response_of_a_proxy_is_no_answer() {
    let send = |_: Request<Full<Bytes>>| async {
        let body = Full::new(Bytes::from_static(b"\x01"));
        Response::builder().status(StatusCode::BAD_GATEWAY).body(body)
    };
    let remote = Remote::new(send, Clock::new(Impatient::default()), Options { attempts: 2, ..Options::default() });
    let said = "the answer is 502 Bad Gateway and not the log's".to_owned();
    assert_eq!(block_on(remote.append(put("a", 1))), Err(AppendError::Unknown(said)));
}

async fn answer(server: &Server, method: &str, uri: &str, body: &[u8]) -> (u16, Option<String>, Bytes) {
    let request = Request::builder().method(method).uri(uri).body(Full::new(Bytes::copy_from_slice(body)));
    let response = server.serve(request.expect("a request")).await;
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().expect("text").to_owned());
    let status = response.status().as_u16();
    (status, kind, response.into_body().collect().await.expect("a body").to_bytes())
}

#[test]
fn unauthorized_requests_are_refused() {
    let refuse = |parts: &http::request::Parts| {
        if parts.extensions.get::<&str>() == Some(&"component") {
            return Ok(());
        }
        Err(Refusal { status: StatusCode::FORBIDDEN, message: "only components may use the log".to_owned() })
    };
    let log = MemoryLog::new();
    let server = Server::new(Arc::new(log), refuse);
    block_on(async {
        let (status, kind, body) = answer(&server, "GET", "/log/v1/head", b"").await;
        assert_eq!((status, kind.as_deref()), (403, Some("text/plain; charset=utf-8")));
        assert_eq!(&body[..], b"only components may use the log\n");
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = "/log/v1/head".parse().expect("a path");
        request.extensions_mut().insert("component");
        assert_eq!(server.serve(request).await.status(), 200);
    });
}

#[test]
fn bad_requests_get_a_clear_answer() {
    let server = Server::new(Arc::new(MemoryLog::new()), |_| Ok(()));
    block_on(async {
        let cases = [
            ("GET", "/log/v1/nothing", 404, "no such path\n"),
            ("GET", "/somewhere/else", 404, "no such path\n"),
            ("PUT", "/log/v1/append", 405, "no such method\n"),
            ("GET", "/log/v1/watch?from=x", 400, "`from` is not a revision: `x`\n"),
            ("GET", "/log/v1/entries?from=0", 400, "`to` is not a revision: ``\n"),
            ("GET", "/log/v1/state?at=-1", 400, "`at` is not a revision: `-1`\n"),
            ("POST", "/log/v1/append", 400, "the stored change does not fit the object it is for\n"),
        ];
        for (method, uri, status, text) in cases {
            let (code, _, body) = answer(&server, method, uri, b"\xff\xff").await;
            assert_eq!((code, &body[..]), (status, text.as_bytes()), "{method} {uri}");
        }
        let large = vec![0; 3 << 20];
        let (code, kind, _) = answer(&server, "POST", "/log/v1/append", &large).await;
        assert_eq!((code, kind.as_deref()), (413, Some(MEDIA_TYPE)));
        let (code, kind, _) = answer(&server, "GET", "/log/v1/state?at=9", b"").await;
        assert_eq!((code, kind.as_deref()), (416, Some(MEDIA_TYPE)));
    });
}

#[test]
fn a_change_of_a_large_object_costs_its_differences() {
    let log = MemoryLog::new();
    let server = Server::new(Arc::new(log.clone()), |_| Ok(()));
    block_on(async {
        let mut at = log.append(put("a", 0)).await.expect("created").revision;
        let mut size = Vec::new();
        for number in 1..=100 {
            at = log.append(update_status("a", at, number)).await.expect("updated").revision;
            if number % 50 == 0 {
                let uri = format!("/log/v1/entries?from=0&to={at}");
                size.push(answer(&server, "GET", &uri, b"").await.2.len());
            }
        }
        let each = (size[1] - size[0]) / 50;
        assert!(each < 160, "{each} bytes for each change of an object of 600");
    });
}
