// SPDX-License-Identifier: Apache-2.0
//! Components that share one thread: one participant in landscape time that runs the tasks of all of them.
//!
//! ```text
//! Starter::start ──► run (a component itself) ──► tasks of each component ──► Exit
//! ```
//!
//! [`run`] is the component of the thread. A component that is started on it has its own tasks, randomness and output,
//! and shares clock and connection with the others: its requests are those of the thread, with the component's user and
//! name. Its panic ends only that component.
//!
//! **Deliberately absent**: a way to interrupt a task that computes. It blocks the whole thread, and landscape time
//! with it; other threads see which component it is ([`Starter::polls`]).

use std::fmt;
use std::sync::Arc;

use clock::Random;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::BoxFuture;
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::child::{ChildMessage, named};
use crate::live::end;
use crate::polls::Polls;
use crate::printing::Printing;
use crate::{Context, Exit, Identity, Output, Tasks, Transport, User};

/// Work of a component: ends by itself, or soon after the receiver has resolved.
pub type Work = Box<dyn FnOnce(Context, oneshot::Receiver<()>) -> BoxFuture<'static, Exit> + Send>;

/// Parameters of a component.
pub struct Component {
    /// Name, instance and version.
    pub identity: Identity,
    /// User of its requests.
    pub user: User,
    /// Name of its pod in requests, `cluster/pod`. `None`: it is a part of the process itself, and uses the process's
    /// output.
    pub pod: Option<HeaderValue>,
    /// Keyed randomness of the landscape.
    pub random: Random,
    /// Output of its lines and states.
    pub output: Output,
    /// Work of the component.
    pub work: Work,
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// A started component. It is stopped when the value is dropped.
#[derive(Debug)]
pub struct Started {
    stop: Option<oneshot::Sender<()>>,
    kill: Option<oneshot::Sender<()>>,
    exit: oneshot::Receiver<End>,
}

/// End of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The component ended by itself, or because it was stopped.
    Exit(Exit),
    /// The component was killed.
    Killed,
}

impl Started {
    /// Requests the end of the component.
    pub fn stop(&mut self) {
        self.stop = None;
    }

    /// Kills the component: its tasks are dropped, each at its next suspension point.
    pub fn kill(&mut self) {
        self.kill = None;
    }

    /// Waits until the component has ended.
    pub async fn ended(&mut self) -> End {
        let ended = (&mut self.exit).await;
        ended.unwrap_or_else(|_| End::Exit(failed("the thread of the components has ended")))
    }
}

/// Starts components on the thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Starter {
    queue: UnboundedSender<Start>,
    polls: Polls,
}

/// Components to be started, in order. Cheap to clone; clones share the queue.
#[derive(Clone, Debug)]
pub struct Starts {
    queue: Arc<Mutex<UnboundedReceiver<Start>>>,
    polls: Polls,
}

#[derive(Debug)]
struct Start {
    component: Component,
    stopped: oneshot::Receiver<()>,
    killed: oneshot::Receiver<()>,
    exit: oneshot::Sender<End>,
}

/// Creates a starter and its queue.
pub fn starter() -> (Starter, Starts) {
    let (sender, receiver) = unbounded();
    let polls = Polls::default();
    (Starter { queue: sender, polls: polls.clone() }, Starts { queue: Arc::new(Mutex::new(receiver)), polls })
}

impl Starter {
    /// Polls of the thread: each component has the name of its pod there, or its own without a pod.
    pub fn polls(&self) -> &Polls {
        &self.polls
    }

    /// Starts a component; it waits while the thread does not run.
    pub fn start(&self, component: Component) -> Started {
        let (stop, stopped) = oneshot::channel();
        let (kill, killed) = oneshot::channel();
        let (sender, exit) = oneshot::channel();
        // Without a receiver the component counts as ended, which `Started::ended` returns.
        let _ = self.queue.unbounded_send(Start { component, stopped, killed, exit: sender });
        Started { stop: Some(stop), kill: Some(kill), exit }
    }
}

/// Runs the started components, until the thread ends. `context.transport` must take the user from the request.
pub async fn run(context: Context, starts: Starts) -> Exit {
    loop {
        let next = std::future::poll_fn(|task| starts.queue.lock().poll_next_unpin(task)).await;
        let Some(Start { component, stopped, killed, exit }) = next else { return Exit::default() };
        let (own, polls) = (context.clone(), starts.polls.clone());
        context.tasks.spawn_apart(async move {
            let ended = one(&own, &polls, component, stopped, killed).await;
            // The kubelet may have ended.
            let _ = exit.send(ended);
        });
    }
}

/// Runs one component to its end.
async fn one(
    shared: &Context,
    polls: &Polls,
    component: Component,
    stopped: oneshot::Receiver<()>,
    killed: oneshot::Receiver<()>,
) -> End {
    let Component { identity, user, pod, random, output, work } = component;
    let states = output.clone();
    let told = move |panicked| states.state(ChildMessage::Panicked(panicked));
    let tasks = match &pod {
        Some(_) => Tasks::printing_to(Printing::to(output.clone()), shared.wall.clone(), told),
        None => Tasks::catching(shared.wall.clone(), told),
    };
    tasks.show_on(polls, pod.as_ref().and_then(|pod| pod.to_str().ok()).unwrap_or(&identity.component));
    let context = Context {
        identity,
        clock: shared.clock.clone(),
        random,
        wall: shared.wall.clone(),
        transport: transport(&shared.transport, user, pod),
        tasks: tasks.clone(),
        output,
    };
    let (sender, ended) = oneshot::channel();
    let work = work(context, stopped);
    tasks.spawn(async move {
        let _ = sender.send(work.await);
    });
    let shutdown = shared.tasks.shutdown();
    let ended = tokio::select! {
        biased;
        _ = killed => {
            tasks.kill();
            return End::Killed;
        }
        panic = tasks.panic() => failed(&panic),
        exit = ended => exit.unwrap_or_else(|_| failed("it ended without a last line")),
        () = shutdown.requested() => failed("the thread of the components ends"),
    };
    end(&tasks, &shared.wall).await;
    End::Exit(ended)
}

fn failed(last_line: &str) -> Exit {
    Exit { code: 1, last_line: last_line.to_owned() }
}

/// Transport of a component. Code of the process that its requests run uses the process's output.
fn transport(shared: &Transport, user: User, pod: Option<HeaderValue>) -> Transport {
    let (transport, printing) = (shared.clone(), pod.is_some().then(Printing::of_process));
    let own = Transport::new(move |mut request| {
        request.extensions_mut().insert(user.clone());
        let answer = transport.send(request);
        match &printing {
            Some(printing) => Box::pin(printing.around(answer)),
            None => answer,
        }
    });
    let own = own.sharing(shared.shared());
    match pod {
        Some(pod) => named(own, pod),
        None => own,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use clock::{Clock, SimulatedClock};

    use super::*;
    use crate::logging::{self, Format};
    use crate::transport::full;

    type Lines = Arc<Mutex<Vec<String>>>;

    fn context(transport: Transport) -> Context {
        let clock = Clock::new(SimulatedClock::new(DateTime::UNIX_EPOCH));
        Context {
            identity: identity("thread"),
            clock: clock.clone(),
            random: Random::new(1),
            wall: clock,
            transport,
            tasks: Tasks::new(),
            output: Output::new(|_| {}),
        }
    }

    fn identity(name: &str) -> Identity {
        Identity { component: name.into(), instance: name.into(), version: "v1".into() }
    }

    fn component<F>(
        name: &str,
        lines: &Lines,
        work: impl FnOnce(Context, oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> Component
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let (printed, own) = (lines.clone(), name.to_owned());
        Component {
            identity: identity(name),
            user: User { name: name.into(), ..User::default() },
            pod: Some(HeaderValue::from_str(name).expect("a value")),
            random: Random::new(1),
            output: Output::new(move |line| printed.lock().push(format!("{own}: {line}"))),
            work: Box::new(move |context, stop| Box::pin(work(context, stop))),
        }
    }

    /// Runs a test with a thread of components.
    fn with_thread<F: Future<Output = ()>>(test: impl FnOnce(Starter, Context) -> F) {
        let nobody = Transport::new(|request: crate::Request| {
            let user = request.extensions().get::<User>().map(|user| user.name.to_string());
            let instance = request.headers().get(crate::child::INSTANCE_HEADER).cloned();
            Box::pin(async move {
                tracing::info!("a line of the server");
                Ok(http::Response::new(full(format!("{user:?} {instance:?}"))))
            })
        });
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(async {
            let (starter, starts) = starter();
            let thread = context(nobody);
            let own = thread.clone();
            thread.tasks.spawn(async move { drop(run(own, starts).await) });
            test(starter, thread).await;
        });
    }

    #[test]
    fn a_component_ends_by_itself_or_on_request() {
        with_thread(|starter, _| async move {
            let lines = Lines::default();
            let mut first =
                starter.start(component("a", &lines, |_, _| async { Exit { code: 3, last_line: "no".into() } }));
            assert_eq!(first.ended().await, End::Exit(Exit { code: 3, last_line: "no".to_owned() }));
            let mut second = starter.start(component("b", &lines, |_, stop| async move {
                let _ = stop.await;
                Exit::default()
            }));
            tokio::task::yield_now().await;
            second.stop();
            assert_eq!(second.ended().await, End::Exit(Exit::default()));
        });
    }

    #[test]
    fn a_killed_component_does_nothing_more() {
        with_thread(|starter, _| async move {
            let lines = Lines::default();
            let mut killed = starter.start(component("a", &lines, |context, _| async move {
                loop {
                    context.output.line("turn");
                    tokio::task::yield_now().await;
                }
            }));
            while lines.lock().is_empty() {
                tokio::task::yield_now().await;
            }
            killed.kill();
            assert_eq!(killed.ended().await, End::Killed);
            tokio::task::yield_now().await;
            let turns = lines.lock().len();
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert_eq!(lines.lock().len(), turns);
        });
    }

    #[test]
    fn a_panic_ends_only_its_component() {
        with_thread(|starter, _| async move {
            let lines = Lines::default();
            let mut other = starter.start(component("other", &lines, |_, stop| async move {
                let _ = stop.await;
                Exit::default()
            }));
            let mut broken = starter.start(component("broken", &lines, |context, _| async move {
                context.tasks.spawn(async { panic!("on purpose") });
                std::future::pending().await
            }));
            let End::Exit(exit) = broken.ended().await else { panic!("it was not killed") };
            assert!(exit.code == 1 && exit.last_line.starts_with("a task panicked: on purpose"), "{exit:?}");
            other.stop();
            assert_eq!(other.ended().await, End::Exit(Exit::default()));
        });
    }

    #[test]
    fn output_of_components_and_server_is_separate() {
        with_thread(|starter, _| async move {
            let lines = Lines::default();
            let start = |name: &str| {
                let work = |context: Context, _| async move {
                    logging::start(&context, context.clock.clone(), Format::Text, tracing::Level::INFO);
                    tracing::info!("it starts");
                    let answer = context.transport.send(http::Request::new(full(""))).await.expect("an answer");
                    let body = http_body_util::BodyExt::collect(answer.into_body()).await.expect("a body").to_bytes();
                    context.output.line(&String::from_utf8_lossy(&body));
                    Exit::default()
                };
                starter.start(component(name, &lines, work))
            };
            let (mut a, mut b) = (start("a"), start("b"));
            a.ended().await;
            b.ended().await;
            let mut lines = std::mem::take(&mut *lines.lock());
            lines.sort();
            let expected = |name: &str| {
                [
                    format!("{name}: 1970-01-01T00:00:00.000Z\tINFO\tit starts"),
                    format!("{name}: Some(\"{name}\") Some(\"{name}\")"),
                ]
            };
            assert_eq!(lines, [expected("a"), expected("b")].concat());
        });
    }

    #[test]
    fn the_component_that_occupies_the_thread_is_named() {
        with_thread(|starter, _| async move {
            let lines = Lines::default();
            let polls = starter.polls().clone();
            let (begun, begins) = std::sync::mpsc::channel();
            let (release, released) = std::sync::mpsc::channel::<()>();
            let looking = polls.clone();
            let look = move || {
                let wall = |seconds: i64| DateTime::UNIX_EPOCH + chrono::TimeDelta::seconds(seconds);
                begins.recv().expect("it begins");
                let looks = [0, 12].map(|seconds| looking.look(wall(seconds)));
                release.send(()).expect("it still waits");
                looks.map(|found| found.map(|(name, time)| (name.to_string(), time.num_seconds())))
            };
            let other = std::thread::Builder::new().spawn(look).expect("a thread");
            let mut idle = starter.start(component("idle", &lines, |_, stop| async move {
                let _ = stop.await;
                Exit::default()
            }));
            let mut busy = starter.start(component("busy", &lines, |_, _| async move {
                begun.send(()).expect("another thread looks");
                released.recv().expect("it is released");
                Exit::default()
            }));
            assert_eq!(busy.ended().await, End::Exit(Exit::default()));
            let looks = other.join().expect("no panic");
            assert_eq!(looks, [Some(("busy".to_owned(), 0)), Some(("busy".to_owned(), 12))]);
            assert_eq!(polls.look(DateTime::UNIX_EPOCH), None, "the thread goes on");
            idle.stop();
            assert_eq!(idle.ended().await, End::Exit(Exit::default()));
        });
    }

    #[test]
    fn components_end_with_their_thread() {
        with_thread(|starter, thread| async move {
            let lines = Lines::default();
            let mut one = starter.start(component("a", &lines, |_, _| std::future::pending()));
            tokio::task::yield_now().await;
            thread.tasks.stop();
            let ended = one.ended().await;
            assert_eq!(ended, End::Exit(failed("the thread of the components ends")));
        });
    }
}
