// SPDX-License-Identifier: Apache-2.0
//! Runs a component outside of a simulation: on a thread of its own, as a participant in landscape time.
//!
//! [`participate`] runs a component on the calling thread until it ends, is stopped, or loses the clock. A process
//! calls it on its main thread, and the host on one thread for each of its own components.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use chrono::TimeDelta;
use clock::{Clock, Random, TimerClass};
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use crate::activity::{Activity, counted};
use crate::attempts::Attempts;
use crate::dial::Dial;
use crate::panics::Panicked;
use crate::participant::{Join, Participant, ReportError, Reports};
use crate::{Context, Exit, Identity, Output, Tasks, Transport};

/// Wall time within which a component must end after it was stopped.
const GRACE: TimeDelta = TimeDelta::seconds(10);

/// Parameters of a component.
pub struct Setup {
    /// Identity of the component.
    pub identity: Identity,
    /// Name among the participants; unique in the landscape.
    pub participant: String,
    /// Keyed randomness of the landscape.
    pub random: Random,
    /// Requests, with the component's identity on them.
    pub transport: Transport,
    /// Dial from which it reads landscape time; `None`: it is granted every instant.
    pub dial: Option<Dial>,
    /// Output of the component.
    pub output: Output,
    /// Called with panics that the component survives; `None`: it is a command, which ends with the first panic, and
    /// does not wait for a clock that cannot be joined.
    pub panicked: Option<Arc<dyn Fn(Panicked) + Send + Sync>>,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Runtime of one thread. While a component runs on it, the clock is notified when no task of the runtime is runnable.
#[derive(Debug)]
pub struct Thread {
    runtime: Runtime,
    participant: Arc<Mutex<Option<Arc<Participant>>>>,
    quiescence: Quiescence,
}

/// Moments at which no task of a [`Thread`] is runnable. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Quiescence(Arc<Mutex<Vec<oneshot::Sender<()>>>>);

impl Quiescence {
    /// Resolves as soon as no other task of the thread is runnable, before the clock is notified. To be awaited by a
    /// task of the thread.
    pub async fn reached(&self) {
        let (sender, reached) = oneshot::channel();
        {
            let mut waiting = self.0.lock();
            // While the thread is never idle, cancelled waits must not accumulate.
            waiting.retain(|task| !task.is_closed());
            waiting.push(sender);
        }
        // An error means that the thread ends.
        let _ = reached.await;
    }

    /// Wakes the tasks that wait; true if there are any.
    fn wake(&self) -> bool {
        let waiting = std::mem::take(&mut *self.0.lock());
        waiting.into_iter().filter_map(|task| task.send(()).ok()).count() > 0
    }
}

impl Thread {
    /// Creates the runtime.
    ///
    /// # Errors
    /// The system cannot create it.
    pub fn new() -> Result<Self, String> {
        let participant: Arc<Mutex<Option<Arc<Participant>>>> = Arc::default();
        let quiescence = Quiescence::default();
        let (hook, waiting) = (participant.clone(), quiescence.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || {
                if waiting.wake() {
                    return;
                }
                let participant = hook.lock().clone();
                if let Some(participant) = participant {
                    participant.nothing_is_runnable();
                }
            })
            .build()
            .map_err(|error| format!("cannot make a runtime: {error}"))?;
        Ok(Self { runtime, participant, quiescence })
    }

    /// Handle that spawns tasks on the thread.
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Moments at which no task of the thread is runnable.
    pub fn quiescence(&self) -> &Quiescence {
        &self.quiescence
    }

    /// Runs the tasks of the thread until a future is ready.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Like [`participate`], on this thread. Remaining tasks of the component are dropped at its end.
    ///
    /// # Errors
    /// The clock cannot be joined, or the component rejects its parameters.
    pub fn participate<F>(
        &self,
        setup: Setup,
        reports: impl Reports,
        stop: impl Future<Output = ()>,
        component: impl FnOnce(Context) -> Result<F, String>,
    ) -> Result<Exit, String>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let name = HeaderValue::from_str(&setup.participant).map_err(|error| error.to_string())?;
        self.block_on(run(setup, name, reports, stop, component, &self.participant))
    }
}

/// Runs a component until it ends by itself, `stop` resolves, one of its tasks panics that cannot be restarted, or the
/// clock cannot be reached.
///
/// # Errors
/// The runtime cannot be created, the clock cannot be joined, or the component rejects its parameters.
pub fn participate<F>(
    setup: Setup,
    reports: impl Reports,
    stop: impl Future<Output = ()>,
    component: impl FnOnce(Context) -> Result<F, String>,
) -> Result<Exit, String>
where
    F: Future<Output = Exit> + Send + 'static,
{
    Thread::new()?.participate(setup, reports, stop, component)
}

/// Participant and tasks of a running component; dropped at its end, including a panic.
struct Current<'a> {
    participant: &'a Mutex<Option<Arc<Participant>>>,
    tasks: Tasks,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        *self.participant.lock() = None;
        self.tasks.kill();
    }
}

async fn run<F>(
    setup: Setup,
    name: HeaderValue,
    reports: impl Reports,
    stop: impl Future<Output = ()>,
    component: impl FnOnce(Context) -> Result<F, String>,
    current: &Mutex<Option<Arc<Participant>>>,
) -> Result<Exit, String>
where
    F: Future<Output = Exit> + Send + 'static,
{
    let activity = Activity::default();
    let join = Join { reads_dial: setup.dial.is_some(), is_command: setup.panicked.is_none() };
    let mut stop = std::pin::pin!(stop);
    let mut attempts = Attempts::on(Clock::wall());
    let joined = async {
        loop {
            match reports.join(join).await {
                Err(_) if setup.panicked.is_some() && attempts.again().await => {}
                joined => return joined,
            }
        }
    };
    let joined = tokio::select! {
        biased;
        joined = joined => joined,
        () = &mut stop => return Ok(Exit::default()),
    };
    let grant = joined.map_err(|error| format!("cannot join the landscape's clock: {error}"))?;
    let participant = Participant::new(grant, activity.clone(), setup.dial);
    let wall = Clock::wall();
    let tasks = match setup.panicked {
        Some(told) => Tasks::catching(wall.clone(), move |panicked| told(panicked)),
        None => Tasks::new(),
    };
    *current.lock() = Some(participant.clone());
    let _current = Current { participant: current, tasks: tasks.clone() };
    let context = Context {
        identity: setup.identity,
        clock: participant.clock(),
        random: setup.random,
        wall: wall.clone(),
        transport: counted(setup.transport, &activity, &name),
        tasks: tasks.clone(),
        output: setup.output,
    };
    let (sender, ended) = tokio::sync::oneshot::channel();
    let run = component(context)?;
    tasks.spawn(async move {
        let _ = sender.send(run.await);
    });
    let failed = |line: String| Exit { code: 1, last_line: line };
    let exit = tokio::select! {
        biased;
        panic = tasks.panic() => failed(panic),
        exit = ended => {
            // No report is pending any more, so none is rejected. A host that does not get this request drops the
            // participant for its silence.
            let _ = reports.leave().await;
            exit.unwrap_or_else(|_| failed("it ended without a word".to_owned()))
        }
        lost = take_part(&participant, &reports, join, &wall) => failed(format!("lost the landscape's clock: {lost}")),
        () = stop => Exit::default(),
    };
    end(&tasks, &wall).await;
    Ok(exit)
}

/// Reports to the clock until it cannot be reached; returns the reason. A component that the clock has dropped, since a
/// debugger stopped its process, for example, joins again; a command does not.
async fn take_part(participant: &Participant, reports: &impl Reports, join: Join, wall: &Clock) -> String {
    loop {
        let dropped = match participant.run(reports, wall).await {
            ReportError::NotJoined(reason) if !join.is_command => reason,
            lost => return lost.to_string(),
        };
        match reports.join(join).await {
            Ok(grant) => participant.joined_again(grant),
            Err(error) => return format!("{dropped}, and cannot join it again: {error}"),
        }
        tracing::warn!("{dropped}: it has joined again");
    }
}

/// Ends the tasks of a component, within [`GRACE`].
pub(crate) async fn end(tasks: &Tasks, wall: &Clock) {
    tasks.stop();
    tokio::select! {
        biased;
        () = tasks.ended() => {}
        () = wall.sleep(GRACE, TimerClass::Work) => tasks.kill(),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::FutureExt;

    use super::*;
    use crate::participant::{Answer, Grant, Idle};

    type Answered = Pin<Box<dyn Future<Output = Result<Option<Answer>, ReportError>> + Send>>;

    /// A clock with one participant, which is granted the time of its next timer at once, and ends without one.
    #[derive(Clone, Debug, Default)]
    struct Alone(Arc<Mutex<Vec<Idle>>>);

    fn start() -> clock::Instant {
        clock::Instant::from_timestamp(1_690_488_000, 0).expect("in range")
    }

    impl Reports for Alone {
        fn join(&self, _: Join) -> Pin<Box<dyn Future<Output = Result<Grant, String>> + Send>> {
            Box::pin(async { Ok(Grant { number: 0, now: start(), watches: None }) })
        }

        fn leave(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> {
            Box::pin(async { Ok(()) })
        }

        fn report(&self, idle: Idle) -> Answered {
            self.0.lock().push(idle.clone());
            Box::pin(async move {
                match idle.next {
                    Some(now) => Ok(Some(Answer::Grant(Grant { number: idle.grant + 1, now, watches: None }))),
                    None => Err(ReportError::Broken("no timer is left".to_owned())),
                }
            })
        }
    }

    fn setup() -> Setup {
        let unreachable = |_| -> crate::transport::ResponseFuture {
            Box::pin(async { Err(crate::TransportError::Unreachable("no server listens".to_owned())) })
        };
        Setup {
            identity: Identity { component: "toy".into(), instance: "toy-1".into(), version: "v1".into() },
            participant: "toy-1".to_owned(),
            random: Random::new(1),
            transport: Transport::new(unreachable),
            dial: None,
            output: Output::new(|_| {}),
            panicked: None,
        }
    }

    #[test]
    fn time_goes_from_timer_to_timer_when_nothing_is_left_to_do() {
        let alone = Alone::default();
        let exit = participate(setup(), alone.clone(), std::future::pending(), |context| {
            Ok(async move {
                let begin = context.clock.now();
                let other = context.clone();
                context.tasks.spawn(async move { other.clock.sleep(TimeDelta::days(1), TimerClass::Calendar).await });
                context.clock.sleep(TimeDelta::hours(6), TimerClass::Work).await;
                tokio::task::yield_now().await;
                context.clock.sleep(TimeDelta::days(30), TimerClass::Work).await;
                Exit { code: 0, last_line: (context.clock.now() - begin).num_hours().to_string() }
            })
        });
        assert_eq!(exit, Ok(Exit { code: 0, last_line: "726".to_owned() }));
        let hours = |at: chrono::DateTime<chrono::Utc>| (at - start()).num_hours();
        let reports = alone.0.lock().clone();
        let told: Vec<_> =
            reports.iter().map(|idle| (idle.grant, idle.next.map(hours), idle.work.map(hours))).collect();
        assert_eq!(told, [(0, Some(6), Some(6)), (1, Some(24), Some(726)), (2, Some(726), Some(726))]);
    }

    #[test]
    fn a_task_that_waits_for_quiescence_is_last_and_the_clock_is_not_told_before() {
        let (thread, alone) = (Thread::new().expect("a thread"), Alone::default());
        let quiescence = thread.quiescence().clone();
        let (steps, reports) = (Arc::new(Mutex::new(Vec::new())), alone.0.clone());
        let exit = thread.participate(setup(), alone, std::future::pending(), |context| {
            Ok(async move {
                let (waiting, is_quiet) = (steps.clone(), quiescence.clone());
                // A cancelled wait does not prevent the notification.
                assert!(quiescence.reached().now_or_never().is_none());
                context.tasks.spawn(async move {
                    is_quiet.reached().await;
                    waiting.lock().push(("quiet", reports.lock().len()));
                });
                for step in ["a", "b", "c"] {
                    tokio::task::yield_now().await;
                    steps.lock().push((step, 0));
                }
                context.clock.sleep(TimeDelta::hours(1), TimerClass::Work).await;
                let line = format!("{:?}", steps.lock());
                Exit { code: 0, last_line: line }
            })
        });
        let line = r#"[("a", 0), ("b", 0), ("c", 0), ("quiet", 0)]"#.to_owned();
        assert_eq!(exit, Ok(Exit { code: 0, last_line: line }));
    }

    /// A clock that rejects reports of a participant that has left, as the host's does.
    #[derive(Clone, Debug, Default)]
    struct Strict {
        is_asked: Arc<tokio::sync::Notify>,
        has_left: Arc<tokio::sync::Notify>,
        calls: Arc<Mutex<Vec<&'static str>>>,
    }

    impl Strict {
        fn note(&self, call: &'static str) {
            self.calls.lock().push(call);
        }
    }

    impl Reports for Strict {
        fn join(&self, join: Join) -> Pin<Box<dyn Future<Output = Result<Grant, String>> + Send>> {
            Alone::default().join(join)
        }

        fn report(&self, _: Idle) -> Answered {
            let strict = self.clone();
            strict.note("report");
            strict.is_asked.notify_one();
            Box::pin(async move {
                strict.has_left.notified().await;
                strict.note("refused");
                Err(ReportError::NotJoined("it had not joined".to_owned()))
            })
        }

        fn leave(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> {
            let strict = self.clone();
            Box::pin(async move {
                strict.note("leave");
                strict.has_left.notify_one();
                tokio::task::yield_now().await;
                Ok(())
            })
        }
    }

    #[test]
    fn a_participant_that_has_left_gets_no_refusal() {
        let strict = Strict::default();
        let is_asked = strict.is_asked.clone();
        let exit = participate(setup(), strict.clone(), std::future::pending(), |_| {
            Ok(async move {
                is_asked.notified().await;
                Exit::default()
            })
        });
        assert_eq!(exit, Ok(Exit::default()));
        assert_eq!(*strict.calls.lock(), ["report", "leave"]);
    }

    #[test]
    fn a_component_that_panics_has_failed() {
        let exit = participate(setup(), Alone::default(), std::future::pending(), |context| {
            Ok(async move {
                context.tasks.spawn(async { panic!("on purpose") });
                std::future::pending::<Exit>().await
            })
        });
        let exit = exit.expect("it ran");
        assert!(exit.code == 1 && exit.last_line.starts_with("a task panicked: on purpose"), "{exit:?}");
    }

    #[test]
    fn without_its_clock_a_component_ends() {
        let exit =
            participate(setup(), Alone::default(), std::future::pending(), |_| Ok(std::future::pending::<Exit>()));
        let line = "lost the landscape's clock: no timer is left".to_owned();
        assert_eq!(exit, Ok(Exit { code: 1, last_line: line }));
    }

    /// A clock that drops its participant instead of answering the second report, and has moved on by two days when the
    /// participant joins again; a third join fails.
    #[derive(Clone, Debug, Default)]
    struct Dropping {
        alone: Alone,
        joins: Arc<Mutex<u64>>,
        reports: Arc<Mutex<u64>>,
    }

    impl Reports for Dropping {
        fn join(&self, join: Join) -> Pin<Box<dyn Future<Output = Result<Grant, String>> + Send>> {
            let mut joins = self.joins.lock();
            *joins += 1;
            match *joins {
                1 => self.alone.join(join),
                2 => Box::pin(async { Ok(Grant { number: 9, now: start() + TimeDelta::days(2), watches: None }) }),
                _ => Box::pin(async { Err("the host has ended".to_owned()) }),
            }
        }

        fn report(&self, idle: Idle) -> Answered {
            let mut reports = self.reports.lock();
            *reports += 1;
            if reports.is_multiple_of(2) {
                return Box::pin(async { Err(ReportError::NotJoined("it was dropped".to_owned())) });
            }
            self.alone.report(idle)
        }

        fn leave(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> {
            self.alone.leave()
        }
    }

    #[test]
    fn a_dropped_component_joins_again_and_a_command_ends() {
        let run = |is_command: bool, sleeps: &'static [i64]| {
            let clock = Dropping::default();
            let panicked: Option<Arc<dyn Fn(Panicked) + Send + Sync>> =
                if is_command { None } else { Some(Arc::new(|_| {})) };
            let setup = Setup { panicked, ..setup() };
            let exit = participate(setup, clock.clone(), std::future::pending(), move |context| {
                Ok(async move {
                    for hours in sleeps {
                        context.clock.sleep(TimeDelta::hours(*hours), TimerClass::Work).await;
                    }
                    Exit { code: 0, last_line: (context.clock.now() - start()).num_hours().to_string() }
                })
            });
            let hours = |at: chrono::DateTime<chrono::Utc>| (at - start()).num_hours();
            let reports = clock.alone.0.lock().clone();
            let reports: Vec<_> =
                reports.iter().map(|idle| (idle.sequence, idle.grant, idle.next.map(hours))).collect();
            (exit.expect("it ran"), reports)
        };
        // The second timer became due while the component was not part of landscape time.
        let ended = |code: u8, last_line: &str| Exit { code, last_line: last_line.to_owned() };
        let answered = vec![(1, 0, Some(6)), (1, 9, Some(130))];
        assert_eq!(run(false, &[6, 24, 100]), (ended(0, "130"), answered.clone()));
        let lost = "lost the landscape's clock: it was dropped, and cannot join it again: the host has ended";
        assert_eq!(run(false, &[6, 24, 100, 1]), (ended(1, lost), answered));
        let lost = "lost the landscape's clock: it was dropped";
        assert_eq!(run(true, &[6, 24, 100]), (ended(1, lost), vec![(1, 0, Some(6))]));
    }

    #[test]
    fn a_component_that_is_stopped_ends_well() {
        let exit =
            participate(setup(), Alone::default(), std::future::ready(()), |_| Ok(std::future::pending::<Exit>()));
        assert_eq!(exit, Ok(Exit::default()));
    }
}
