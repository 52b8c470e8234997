// SPDX-License-Identifier: Apache-2.0
//! Thread of a landscape whose components run as tasks of this process.
//!
//! ```text
//! LandscapeThread::start ──► tasks of the host ──► LandscapeThread::run: also components, one participant ──► end
//! requests from outside ──► WayIn ──► reads: in the thread of their connection; writes: tasks of this thread
//! ```
//!
//! **Invariant.** Everything that writes to the log in response to an event of the landscape runs on this thread: the
//! host's own tasks, components, and the handlers of writes. A write of a client that is no component starts when
//! nothing else is runnable, or after [`LONGEST_WAIT`]. So the order of entries depends on the order of requests from
//! outside and on landscape time, and not on the speed of threads, of clients or of the disk: while an append waits for
//! the disk, the thread does, too.

use std::io;
use std::thread::JoinHandle;

use ::http::Method;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use generic_apiserver::http;
use process::live::{Quiescence, Thread};
use process::transport::ResponseFuture;
use process::{Request, Tasks, Transport, TransportError, User};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::Host;
use crate::front::place::Place;
use crate::time::event_expiry;

/// Wall time after which a write starts although the landscape is not quiescent: the write may be the one that ends a
/// live-lock.
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(1);

/// Name of the thread, and of its components as one participant in landscape time.
pub(super) const COMPONENTS: &str = "components";

/// Function that occupies the thread until the host ends.
type Run = Box<dyn FnOnce(&Thread) + Send>;

/// Thread that runs tasks, and after [`LandscapeThread::run`] also components.
pub(super) struct LandscapeThread {
    runtime: Handle,
    quiescence: Quiescence,
    run: oneshot::Sender<Run>,
    thread: JoinHandle<()>,
}

impl LandscapeThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system cannot create another thread.
    pub(super) fn start() -> io::Result<Self> {
        let thread = Thread::new().map_err(io::Error::other)?;
        let (runtime, quiescence) = (thread.handle().clone(), thread.quiescence().clone());
        let (run, given) = oneshot::channel::<Run>();
        let thread = std::thread::Builder::new().name(COMPONENTS.to_owned()).spawn(move || {
            eventlog::block_this_thread();
            // An error means that the host ends before it was started.
            if let Ok(run) = thread.block_on(given) {
                run(&thread);
            }
        })?;
        Ok(Self { runtime, quiescence, run, thread })
    }

    /// Moments at which no task of the thread is runnable.
    pub(super) fn quiescence(&self) -> &Quiescence {
        &self.quiescence
    }

    /// Tasks on the thread.
    pub(super) fn tasks(&self) -> Tasks {
        Tasks::catching_on(self.runtime.clone(), Clock::wall(), |_| {})
    }

    /// Runs `run` on the thread, which ends with it and drops its tasks then.
    pub(super) fn run(self, run: impl FnOnce(&Thread) + Send + 'static) -> JoinHandle<()> {
        // The receiver exists as long as `self`.
        let _ = self.run.send(Box::new(run));
        self.thread
    }
}

/// Entry of requests from other threads into the host. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct WayIn {
    host: Host,
    /// Tasks on the landscape's thread, and its quiescence; `None`: there is no such thread.
    thread: Option<(Tasks, Quiescence)>,
}

impl WayIn {
    pub(super) fn new(host: Host, thread: Option<(Tasks, Quiescence)>) -> Self {
        Self { host, thread }
    }

    /// Moments at which no task of the landscape's thread is runnable; `None`: there is no such thread.
    pub(super) fn quiescence(&self) -> Option<Quiescence> {
        self.thread.as_ref().map(|(_, quiescence)| quiescence.clone())
    }

    /// Transport for requests of a user. A panic in a request does not end the sending thread.
    pub(super) fn transport(&self, user: User) -> Transport {
        let way_in = self.clone();
        Transport::new(http::guarded(move |mut request| {
            request.extensions_mut().insert(user.clone());
            way_in.call(request)
        }))
    }

    /// Answers a request. A write is cancelled when the future is dropped.
    pub(super) fn call(&self, request: Request) -> ResponseFuture {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let is_write = !is_read || event_expiry::may_write(&request);
        let thread = self.thread.as_ref().filter(|_| is_write);
        let thread = thread.filter(|_| matches!(Place::of(request.uri().path()), Place::InCluster(_)));
        let Some((tasks, quiescence)) = thread else { return self.host.call(request) };
        // A write of a component, including those in the host, is itself a reaction.
        let is_reaction = request.extensions().get::<User>().is_some_and(|user| user.component.is_some());
        let (host, quiescence) = (self.host.clone(), (!is_reaction).then(|| quiescence.clone()));
        let answer = http::guarded(move |request| host.call(request))(request);
        let (mut sender, answered) = oneshot::channel();
        tasks.spawn_apart(async move {
            let answer = async move {
                if let Some(quiescence) = quiescence {
                    tokio::select! {
                        biased;
                        () = quiescence.reached() => {}
                        () = Clock::wall().sleep(LONGEST_WAIT, TimerClass::Work) => {}
                    }
                }
                answer.await
            };
            tokio::select! {
                biased;
                () = sender.closed() => {}
                answer = answer => drop(sender.send(answer)),
            }
        });
        Box::pin(async move {
            answered.await.unwrap_or_else(|_| Err(TransportError::Unreachable("the host ends".to_owned())))
        })
    }
}
