// SPDX-License-Identifier: Apache-2.0
//! Landscape time and an API server of the aggregated groups in the process of the host, which writes to the log itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apimachinery::release::Release;
use bytes::Bytes;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use eventlog::{Actor, Append, EventLog, Expect, Key, MemoryLog, Sections, Verb};
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use host::aggregation::{AnswerLimit, Instances};
use host::time::timekeeper::Mode;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use parking_lot::Mutex;
use process::activity::WATCH_HEADER;
use process::participant::{LineCounts, TOLD_PATH};
use process::transport::full;
use process::{Context, Exit, Response, Tasks, Transport};
use tokio::sync::oneshot;

use crate::threads::{World, eventually, start};

const WATCH: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/exposureclasses?watch=true";

/// An API server with one watch, whose lines are sent only when the test releases them.
#[derive(Clone)]
struct Stalled(Arc<Inner>);

struct Inner {
    /// Number of the watch.
    watch: AtomicU64,
    /// Number of lines that the watch was sent.
    given: AtomicU64,
    sender: UnboundedSender<Bytes>,
    lines: Mutex<Option<UnboundedReceiver<Bytes>>>,
}

impl Stalled {
    fn new() -> Self {
        let (sender, lines) = unbounded();
        let (watch, given) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Inner { watch, given, sender, lines: Mutex::new(Some(lines)) }))
    }

    fn transport(&self) -> Transport {
        let server = self.clone();
        Transport::new(move |request| {
            let inner = &server.0;
            let body = if request.uri().path() == TOLD_PATH {
                let told = (inner.watch.load(Ordering::SeqCst), inner.given.load(Ordering::SeqCst));
                full(serde_json::to_string(&LineCounts([told].into())).expect("JSON"))
            } else {
                let number = request.headers()[WATCH_HEADER].to_str().expect("text").parse().expect("a number");
                inner.watch.store(number, Ordering::SeqCst);
                let lines = inner.lines.lock().take().expect("one watch");
                StreamBody::new(lines.map(|line| Ok(Frame::data(line)))).boxed_unsync()
            };
            Box::pin(async move { Ok(Response::new(body)) })
        })
    }

    fn give_a_line(&self) {
        self.0.given.fetch_add(1, Ordering::SeqCst);
    }

    fn let_a_line_go(&self) {
        self.0.sender.unbounded_send(Bytes::from_static(b"{}\n")).expect("it is read");
    }
}

/// Reports the end of its reaction to a line of the watch, which takes five seconds.
async fn reader(context: Context, ready: oneshot::Sender<()>, done: UnboundedSender<clock::Instant>) -> Exit {
    let request = http::Request::get(WATCH).body(full("")).expect("a request");
    let mut body = context.transport.send(request).await.expect("a watch").into_body();
    let _ = ready.send(());
    while let Some(Ok(_)) = body.frame().await {
        context.clock.sleep(TimeDelta::seconds(5), TimerClass::Work).await;
        let _ = done.unbounded_send(context.clock.now());
    }
    Exit::default()
}

/// An entry that an API server in the host's process appends reaches the clock like one that arrives over HTTPS: time
/// waits for its watch lines, even if their reader is scheduled late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a task of the test itself")]
async fn time_waits_for_writes_of_a_server_inside() {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let mut world = World::over(Mode::Stepped, Clock::wall(), log.clone());
    let limit = AnswerLimit { wall: Clock::wall(), time: TimeDelta::days(1), report: Arc::new(|_, _| {}) };
    let instances = Instances::new(Tasks::new(), log.clone(), world.clock.clock(), limit);
    let server = Stalled::new();
    instances.insert_inside("gardener-apiserver", Release(120), server.transport());
    world.host.aggregate_instances(instances);
    let (done, mut read) = unbounded();
    world.run("reader", world.transport(), |context, ready| reader(context, ready, done)).await;
    let written = start() + TimeDelta::minutes(1);
    assert_eq!(world.clock.advance(written, TimeDelta::zero()).await, Ok(written));

    server.give_a_line();
    let append = Append {
        key: Key::new("garden", "core.gardener.cloud/exposureclasses", "", "a"),
        expect: Expect::Absent,
        guards: Vec::new(),
        verb: Verb::Create,
        object: Sections::default(),
        volatile: false,
        actor: Arc::new(Actor::default()),
        time: written,
        writer: (9, 1),
    };
    log.append(append).await.expect("appended");
    let (clock, to) = (world.clock.clone(), start() + TimeDelta::hours(2));
    let advanced = tokio::task::spawn(async move { clock.advance(to, TimeDelta::zero()).await });
    eventually("the clock waits for the reader", async || {
        assert!(!advanced.is_finished(), "time has passed the line");
        (world.clock.waits_for().participants == ["reader"]).then_some(())
    })
    .await;
    assert_eq!(world.clock.now(), written);
    server.let_a_line_go();
    assert_eq!(read.next().await, Some(written + TimeDelta::seconds(5)));
    assert_eq!(advanced.await.expect("no panic"), Ok(to));
    world.end();
}
