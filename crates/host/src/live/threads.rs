// SPDX-License-Identifier: Apache-2.0
//! The host's own components: on the landscape's thread, if there is one; otherwise each on a thread of its own, as a
//! participant in landscape time.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use chrono::TimeDelta;
use clock::{Clock, Instant, TimerClass};
use futures::future::{BoxFuture, Either, select};
use process::child::{self, ChildMessage};
use process::inside::{Component, End, Starter, Work};
use process::live::{Setup, Thread, participate};
use process::panics::{self, Panicked};
use process::{Context, Exit, Output, Transport};
use tokio::sync::oneshot;

use super::landscape_thread::LandscapeThread;
use super::{LOOK, Live};
use crate::time::clock_service::{ClockService, OwnReports};

/// Wall time after which the failures of a component of the host are no longer counted.
const CLEAN_RECORD: TimeDelta = TimeDelta::minutes(10);

/// Runs a component of the host; the argument is the reason why its last run ended.
type Run = Arc<dyn Fn(Context, Option<&str>) -> BoxFuture<'static, Exit> + Send + Sync>;

/// A running component of the host, or the landscape's thread.
#[derive(Debug)]
pub(super) struct Part {
    /// Dropped to stop the part.
    stop: oneshot::Sender<()>,
    end: PartEnd,
}

#[derive(Debug)]
enum PartEnd {
    Thread(JoinHandle<()>),
    /// The receiver resolves at the end.
    Inside(oneshot::Receiver<()>),
}

impl Part {
    /// Stops the part and waits for its end.
    pub(super) async fn stop(self) {
        drop(self.stop);
        match self.end {
            PartEnd::Thread(thread) => {
                while !thread.is_finished() {
                    Clock::wall().sleep(LOOK, TimerClass::Work).await;
                }
            }
            // An error means that it has ended, too.
            PartEnd::Inside(ended) => drop(ended.await),
        }
    }
}

/// Failures of a component of the host.
struct Record {
    name: &'static str,
    clock: ClockService,
    times: u32,
    in_a_row: u32,
}

impl Record {
    fn new(name: &'static str, clock: ClockService) -> Self {
        Self { name, clock, times: 0, in_a_row: 0 }
    }

    /// Records a failure; returns the wall time until the restart.
    fn ended(&mut self, began: Instant, why: &str) -> TimeDelta {
        let Self { name, clock, times, in_a_row } = self;
        *times = times.saturating_add(1);
        *in_a_row = if Clock::wall().now() - began >= CLEAN_RECORD { 1 } else { in_a_row.saturating_add(1) };
        let pause = panics::pause(*in_a_row);
        child::say(&format!("{name} ended, and is started again in {} s: {why}", pause.num_seconds()));
        clock.note_trouble(name, &format!("ended {times} times, and was started again: {why}"));
        pause
    }

    /// Waits for the restart; returns true if the component is stopped meanwhile.
    async fn ends_within(pause: TimeDelta, stopped: &mut oneshot::Receiver<()>) -> bool {
        tokio::select! {
            biased;
            _ = stopped => true,
            () = Clock::wall().sleep(pause, TimerClass::Work) => false,
        }
    }
}

/// Records a panic that a component of the host survived.
fn note_panic(clock: &ClockService, name: &str, panicked: &Panicked) {
    let Panicked { name: task, times, message, .. } = panicked;
    clock.note_trouble(name, &format!("{task} panicked {times} times, and was restarted: {message}"));
}

impl Live {
    /// Runs a component of the host. One that fails or panics is restarted, as a process would be, with the reason why
    /// its last run ended.
    ///
    /// # Errors
    /// The system cannot create another thread.
    pub(super) fn spawn<F>(
        &mut self,
        name: &'static str,
        component: impl Fn(Context, Option<&str>) -> F + Send + Sync + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let run: Run = Arc::new(move |context, why| Box::pin(component(context, why)));
        match self.starter.clone() {
            Some(starter) => self.spawn_inside(starter, name, run),
            None => self.spawn_thread(name, self.client.transport(name), run)?,
        }
        Ok(())
    }

    /// Runs a component of the host on the landscape's thread.
    fn spawn_inside(&mut self, starter: Starter, name: &'static str, run: Run) {
        let (identity, random, user) = (self.client.identity(name), self.client.random.clone(), self.client.user(name));
        let noting = self.client.clock.clone();
        let output = Output::with_state(child::say, move |state| {
            if let ChildMessage::Panicked(panicked) = state {
                note_panic(&noting, name, &panicked);
            }
        });
        let mut record = Record::new(name, self.client.clock.clone());
        let (stop, mut stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        self.following.spawn(async move {
            let mut last: Option<String> = None;
            loop {
                let began = Clock::wall().now();
                let mut started = starter.start(Component {
                    identity: identity.clone(),
                    user: user.clone(),
                    pod: None,
                    random: random.clone(),
                    output: output.clone(),
                    work: work(run.clone(), last.take()),
                });
                let exit = tokio::select! {
                    biased;
                    _ = &mut stopped => {
                        started.stop();
                        started.ended().await;
                        break;
                    }
                    exit = started.ended() => exit,
                };
                let why = match exit {
                    End::Exit(Exit { code: 0, .. }) => break,
                    End::Exit(exit) => exit.last_line,
                    End::Killed => "it was killed".to_owned(),
                };
                let pause = record.ended(began, &why);
                last = Some(why);
                if Record::ends_within(pause, &mut stopped).await {
                    break;
                }
            }
            let _ = end.send(());
        });
        self.parts.push(Part { stop, end: PartEnd::Inside(ended) });
    }

    /// Runs a component on a thread of its own, over a transport.
    ///
    /// # Errors
    /// The system cannot create another thread.
    fn spawn_thread(&mut self, name: &'static str, transport: Transport, run: Run) -> io::Result<()> {
        let (stop, runs) = self.runs(name, transport, run);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || runs(None))?;
        self.parts.push(Part { stop, end: PartEnd::Thread(thread) });
        Ok(())
    }

    /// Runs a component on the landscape's thread, over a transport.
    pub(super) fn spawn_on(&mut self, name: &'static str, thread: LandscapeThread, transport: Transport, run: Run) {
        let (stop, runs) = self.runs(name, transport, run);
        let thread = thread.run(move |thread| runs(Some(thread)));
        self.parts.push(Part { stop, end: PartEnd::Thread(thread) });
    }

    /// Runs a component as a participant, repeatedly until it ends without a failure or is stopped: on a thread, or
    /// each time on a new runtime.
    fn runs(
        &self,
        name: &'static str,
        transport: Transport,
        run: Run,
    ) -> (oneshot::Sender<()>, impl FnOnce(Option<&Thread>) + Send + 'static) {
        let (identity, random) = (self.client.identity(name), self.client.random.clone());
        let dial = self.client.clock.dial();
        let (noting, clock) = (self.client.clock.clone(), self.client.clock.clone());
        let told = Arc::new(move |panicked: Panicked| note_panic(&noting, name, &panicked));
        let setup = move || Setup {
            identity: identity.clone(),
            participant: name.to_owned(),
            random: random.clone(),
            transport: transport.clone(),
            dial: Some(dial.clone()),
            output: Output::new(child::say),
            panicked: Some(told.clone()),
        };
        let reports = OwnReports::new(self.client.clock.clone(), name);
        let (stop, mut stopped) = oneshot::channel();
        let runtime = tokio::runtime::Handle::current();
        let mut record = Record::new(name, self.client.clock.clone());
        let runs = move |thread: Option<&Thread>| {
            let mut last: Option<String> = None;
            loop {
                let stop = async {
                    let _ = (&mut stopped).await;
                };
                let began = Clock::wall().now();
                let once = AssertUnwindSafe(|| {
                    let component = |context| Ok(run(context, last.as_deref()));
                    match thread {
                        Some(thread) => thread.participate(setup(), reports.clone(), stop, component),
                        None => participate(setup(), reports.clone(), stop, component),
                    }
                });
                let why = match catch_unwind(once) {
                    Ok(Ok(Exit { code: 0, .. })) => break,
                    Ok(Ok(exit)) => exit.last_line,
                    Ok(Err(error)) => error,
                    Err(payload) => format!("it panicked: {}", panics::text(&*payload)),
                };
                // Time does not wait for it while it does not run.
                clock.leave(name);
                let pause = record.ended(began, &why);
                last = Some(why);
                let ends = Record::ends_within(pause, &mut stopped);
                let ends = match thread {
                    Some(thread) => thread.block_on(ends),
                    None => runtime.block_on(ends),
                };
                if ends {
                    break;
                }
            }
        };
        (stop, runs)
    }
}

/// Work of a component of the host, which ends with its tasks once it is stopped.
fn work(run: Run, last: Option<String>) -> Work {
    Box::new(move |context, stop| {
        let (sender, exit) = oneshot::channel();
        let run = run(context.clone(), last.as_deref());
        context.tasks.spawn(async move {
            let _ = sender.send(run.await);
        });
        Box::pin(async move {
            match select(stop, exit).await {
                Either::Left(_) => Exit::default(),
                Either::Right((exit, _)) => exit.unwrap_or_else(|_| child::failure("it ended without a last line")),
            }
        })
    })
}
