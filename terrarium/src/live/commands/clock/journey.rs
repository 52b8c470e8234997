// SPDX-License-Identifier: Apache-2.0
//! Moves landscape time and prints the events of each step.
//!
//! The printer takes part in landscape time, so every step is printed completely before the next one begins, and time stops
//! at the instant of an Event or a state that ends the advance.
//!
//! ```text
//! join, watch ──► everything seen ──► advance ──► grant, grant, … (each closes the step before it) ──► arrived
//!                                        halt ◄── the stop condition was seen
//! ```
//!
//! **Invariants.** A step is printed once, when its instant is over. Time does not wait for the printer after the end of
//! the advance, whatever ended it.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use api::cluster;
use api::core::Shoot;
use api::kubernetes::core::Event;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Random, TimerClass};
use controller::{Api, Change, ListOptions, Reflector};
use futures::future::BoxFuture;
use host::time::timekeeper::{Absence, REPORT_LIMIT};
use parking_lot::{Mutex, MutexGuard};
use process::live::{Setup, participate};
use process::participant::{Answer, Grant, Idle, Join, ReportError, Reports};
use process::reports::ReportsOver;
use process::{Context, Exit, Identity, Output};
use serde::Serialize;
use tokio::sync::Notify;

use super::expectation_goal::ExpectationGoal;
use super::goal::{Condition, DELETED, Destination, Goal};
use super::{time, wall};
use crate::failure::Failure;
use crate::live::Which;
use crate::live::client::{Advance, Client, participant};
use crate::progress::Progress;
use crate::simulate::{Line, Story};
use component::signals::end_signal;
use ops::upgrade::silence::Silence;

/// Wall time between two reads of a moving clock.
const LOOK: TimeDelta = TimeDelta::milliseconds(20);
/// Wall time of the reads before an advance after which the obstacles of landscape time are shown: reads may wait for the
/// same ones.
const PATIENCE: TimeDelta = TimeDelta::seconds(10);

/// Options of an advance.
#[derive(Clone, Debug)]
pub(super) struct AdvanceSettings {
    /// Wall time that other clients get after a step that reached them.
    pub(super) settle: TimeDelta,
    /// Reasons of Events that end the advance.
    pub(super) stop_on: Vec<String>,
    /// Maximum duration; `None`: no limit.
    pub(super) max: Option<TimeDelta>,
    /// True if the advance continues when a component does not respond.
    pub(super) ignore_absence: bool,
    /// The landscape, for commands in messages.
    pub(super) which: Which,
}

/// Events of one instant.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Step {
    /// Instant of the step.
    pub(super) time: DateTime<Utc>,
    /// Lines about the events of the instant.
    pub(super) happened: Vec<Line>,
}

/// Parts of the output.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Begin of the advance, and number of Shoots; None: they cannot be read.
    Begins { at: DateTime<Utc>, shoots: Option<usize> },
    /// Instant from which on previously unreadable Shoots are followed, and their number.
    Follows { at: DateTime<Utc>, shoots: usize },
    /// Reason for which Shoots are not followed.
    Unread(Silence),
    /// Obstacles of landscape time before the begin.
    Waits(Vec<String>),
    /// Events of an instant.
    Step(Step),
    /// A component does not respond.
    Absence(Absence),
    /// Progress of the advance.
    Progress(Progress),
}

/// Advances to the goal; `print` gets the begin, then every step.
pub(super) fn go(
    client: &Client,
    goal: Goal,
    settings: AdvanceSettings,
    mut print: impl FnMut(&Part) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (sender, steps) = std::sync::mpsc::channel();
    let client = client.clone();
    let traveller = std::thread::Builder::new()
        .name("clock".to_owned())
        .spawn(move || travel(client, goal, settings, sender))
        .map_err(|error| Failure::Failed(format!("cannot start a thread: {error}")))?;
    let mut printed = Ok(());
    for step in steps {
        printed = print(&step);
        if printed.is_err() {
            // The thread stops when the receiver is dropped.
            break;
        }
    }
    let arrived = traveller.join().unwrap_or_else(|_| Err(Failure::Failed("the command panicked".to_owned())));
    printed.and(arrived)
}

fn travel(client: Client, goal: Goal, settings: AdvanceSettings, steps: Sender<Part>) -> Result<(), Failure> {
    let participant = participant(std::process::id());
    let name = http::HeaderValue::from_str(&participant).map_err(|error| Failure::Failed(error.to_string()))?;
    let setup = Setup {
        identity: Identity { component: "terrarium".into(), instance: "terrarium".into(), version: "".into() },
        participant,
        random: Random::new(client.facts.seed),
        transport: client.transport(),
        // Every grant closes a step.
        dial: None,
        output: Output::new(process::child::say),
        panicked: None,
    };
    let printer = StepPrinter::new(steps);
    let reports = TellingReports {
        over: ReportsOver::new(client.transport(), name),
        client: client.clone(),
        printer: printer.clone(),
    };
    let outcome: Arc<Mutex<Result<(), Failure>>> = Arc::new(Mutex::new(Ok(())));
    let (result, own) = (outcome.clone(), client.clone());
    let exit = participate(setup, reports, std::future::pending(), |context| {
        Ok(async move {
            let journey = Journey { client, context, printer, settings };
            let ended = journey.run(&goal).await;
            journey.printer.end();
            *result.lock() = ended;
            Exit::default()
        })
    });
    match exit {
        Ok(Exit { code: 0, .. }) => outcome.lock().clone(),
        Ok(exit) => Err(own.lost(exit.last_line)),
        Err(error) => Err(own.lost(error)),
    }
}

/// State shared by the watches, the reports and the advance.
#[derive(Clone)]
struct StepPrinter(Arc<StepPrinterInner>);

struct StepPrinterInner {
    state: Mutex<PrinterState>,
    /// Notified when the watches have seen the state before the advance.
    has_seen_all: Notify,
}

struct PrinterState {
    steps: Sender<Part>,
    story: Option<Story>,
    /// Instant whose step is not over yet.
    at: Option<DateTime<Utc>>,
    /// True if the Shoots could not be read yet.
    awaits_shoots: bool,
    /// Expectations that end the advance.
    awaited: Option<Arc<ExpectationGoal>>,
    /// Stop condition that was reached.
    reached: Option<Reached>,
    halted: bool,
}

#[derive(Clone, Debug)]
enum Reached {
    /// An Event that ends the advance: reason, object and message.
    Event(String),
    /// The awaited state of the Shoot, or of the objects of the expectations.
    State,
    /// The receiver of the output is closed.
    Closed,
}

impl StepPrinter {
    fn new(steps: Sender<Part>) -> Self {
        let state = PrinterState {
            steps,
            story: None,
            at: None,
            awaits_shoots: false,
            awaited: None,
            reached: None,
            halted: false,
        };
        Self(Arc::new(StepPrinterInner { state: Mutex::new(state), has_seen_all: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, PrinterState> {
        self.0.state.lock()
    }

    /// Begins the output: earlier events are dropped.
    fn begin(&self, now: DateTime<Utc>, shoots: Option<usize>) {
        let mut state = self.state();
        if let Some(story) = &state.story {
            story.restart();
        }
        let watched = state.story.as_ref().and_then(Story::watched_shoots);
        state.awaits_shoots = state.story.is_some() && watched.is_none();
        let shoots = shoots.or(watched);
        state.at = Some(now);
        // If the receiver is closed, the first step ends the advance.
        let _ = state.steps.send(Part::Begins { at: now, shoots });
    }

    fn reach(&self, reached: Reached) {
        let mut state = self.state();
        if state.at.is_some() {
            state.reached.get_or_insert(reached);
        }
    }

    /// Discards a state reached before the landscape settled: it may belong to an earlier operation.
    fn forget_state(&self) {
        let mut state = self.state();
        if matches!(state.reached, Some(Reached::State)) {
            state.reached = None;
            state.halted = false;
        }
    }

    fn has_reached(&self) -> bool {
        self.state().reached.is_some()
    }

    fn has_reached_state(&self) -> bool {
        matches!(self.state().reached, Some(Reached::State))
    }

    /// Completes the previous step after time has moved.
    fn moved(&self, now: DateTime<Utc>) {
        let mut state = self.state();
        let Some(at) = state.at.filter(|at| *at != now) else { return };
        state.at = Some(now);
        state.close(at);
    }

    /// Sends a part other than a step.
    fn tell(&self, part: Part) {
        // If the receiver is closed, the next step ends the advance.
        let _ = self.state().steps.send(part);
    }

    /// Completes the last step.
    fn end(&self) {
        let mut state = self.state();
        if let Some(at) = state.at {
            state.close(at);
        }
    }

    /// Expectations that have to be judged before time moves on, and the present instant.
    fn unjudged(&self) -> Option<(Arc<ExpectationGoal>, DateTime<Utc>)> {
        let state = self.state();
        let awaited = state.awaited.clone().filter(|awaited| state.reached.is_none() && awaited.is_due())?;
        Some((awaited, state.at?))
    }

    /// True if time has to stop here and has not been stopped yet.
    fn halts(&self) -> bool {
        let state = self.state();
        state.reached.is_some() && !state.halted
    }
}

impl PrinterState {
    fn close(&mut self, at: DateTime<Utc>) {
        if self.awaits_shoots
            && let Some(shoots) = self.story.as_ref().and_then(Story::watched_shoots)
        {
            self.awaits_shoots = false;
            // If the receiver is closed, the step below ends the advance.
            let _ = self.steps.send(Part::Follows { at, shoots });
        }
        let happened = self.story.as_ref().map(Story::drain).unwrap_or_default();
        if self.steps.send(Part::Step(Step { time: at, happened })).is_err() {
            self.reached.get_or_insert(Reached::Closed);
        }
    }
}

/// Reports to the clock whose answers are recorded for the printer.
struct TellingReports {
    over: ReportsOver,
    client: Client,
    printer: StepPrinter,
}

impl Reports for TellingReports {
    fn join(&self, join: Join) -> BoxFuture<'static, Result<Grant, String>> {
        self.over.join(join)
    }

    fn report(&self, idle: Idle) -> BoxFuture<'static, Result<Option<Answer>, ReportError>> {
        let (answer, printer, client) = (self.over.report(idle), self.printer.clone(), self.client.clone());
        Box::pin(async move {
            if printer.state().story.is_some() {
                printer.0.has_seen_all.notify_one();
            }
            // Time stands until the report is sent.
            if let Some((awaited, now)) = printer.unjudged()
                && awaited.judge(&client, now).await
            {
                printer.reach(Reached::State);
            }
            if printer.halts() {
                client.command("halt").await.map_err(|failure| ReportError::Broken(failure.to_string()))?;
                printer.state().halted = true;
            }
            let answer = answer.await?;
            if let Some(Answer::Grant(grant)) = &answer {
                printer.moved(grant.now);
            }
            Ok(answer)
        })
    }

    fn leave(&self) -> BoxFuture<'static, Result<(), String>> {
        self.over.leave()
    }
}

struct Journey {
    /// Client whose requests take no part in landscape time.
    client: Client,
    /// Context whose requests take part in landscape time.
    context: Context,
    printer: StepPrinter,
    settings: AdvanceSettings,
}

impl Journey {
    async fn run(&self, goal: &Goal) -> Result<(), Failure> {
        let own = self.client.context();
        let now = self.client.clock().await?.now;
        let prepared = async {
            let resolved = goal.resolve(&self.client, now, self.settings.max).await;
            let destination = self.read(resolved).await?;
            // Time moves without gardener-apiserver as well: the end of a fault and a restart depend on it.
            let shoots = Api::<Shoot>::all(&own, cluster::GARDEN).list(&ListOptions::default()).await;
            let shoots = shoots.ok().map(|(shoots, _)| shoots.len());
            self.watch(shoots.is_none_or(|shoots| shoots > 1), &destination).await;
            self.printer.0.has_seen_all.notified().await;
            Ok::<_, Failure>((destination, shoots))
        };
        let (destination, shoots) = self.impatient(prepared).await?;
        if shoots.is_none() {
            self.printer.tell(Part::Unread(Silence::read(&own, now).await));
        }
        self.printer.begin(self.context.clock.now(), shoots);
        let to = destination.to;
        let mut progress = Progress::of_time(destination.goal(), now, wall().now());
        if destination.condition.is_some() {
            // An operation that was just requested may not have begun.
            self.advance(now, &mut progress).await?;
            self.printer.forget_state();
            if self.printer.has_reached() || self.holds(&destination).await? {
                return self.arrive(&destination, to).await;
            }
        }
        loop {
            self.advance(to, &mut progress).await?;
            // Expectations that hold in the midst of an instant may not hold at its end.
            let is_expected = matches!(destination.condition, Some(Condition::Expectations(_)));
            if !is_expected || !self.printer.has_reached_state() || self.holds(&destination).await? {
                return self.arrive(&destination, to).await;
            }
            self.printer.forget_state();
        }
    }

    /// Waits for a result; tells the obstacles of landscape time once if that takes long.
    async fn impatient<T>(&self, result: impl Future<Output = T>) -> T {
        let mut result = std::pin::pin!(result);
        tokio::select! {
            biased;
            result = &mut result => return result,
            () = wall().sleep(PATIENCE, TimerClass::Work) => {}
        }
        // An error shows with the result.
        if let Ok(state) = self.client.clock().await {
            let obstacles = super::obstacles(&state, &participant(std::process::id()));
            if !obstacles.is_empty() {
                self.printer.tell(Part::Waits(obstacles));
            }
        }
        result.await
    }

    /// Explains the failure to read an object of the goal while gardener-apiserver does not answer.
    async fn read<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        super::read(&self.client, &self.settings.which, result).await
    }

    async fn watch(&self, names_shoots: bool, destination: &Destination) {
        let story = Story::begin(&self.context, None, names_shoots);
        self.printer.state().story = Some(story);
        if !self.settings.stop_on.is_empty() {
            let (printer, reasons) = (self.printer.clone(), self.settings.stop_on.clone());
            Reflector::<Event>::new(Api::all(&self.context, "*"), ListOptions::default())
                .on_change(move |change: &Change<Event>| {
                    let Some(event) = change.new.as_deref().filter(|event| reasons.contains(&event.reason)) else {
                        return;
                    };
                    let about = &event.involved_object;
                    let name = [about.namespace.as_str(), about.name.as_str()];
                    let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
                    printer.reach(Reached::Event(format!("{} of {} {name}", event.reason, about.kind)));
                })
                .start();
        }
        match destination.condition.clone() {
            None => {}
            Some(Condition::State(namespace, name, state)) => {
                let printer = self.printer.clone();
                Reflector::<Shoot>::new(
                    Api::namespaced(&self.context, cluster::GARDEN, &namespace),
                    ListOptions::default(),
                )
                .on_change(move |change: &Change<Shoot>| {
                    if *change.key.name == *name && is_in(change.new.as_deref(), state) {
                        printer.reach(Reached::State);
                    }
                })
                .start();
            }
            Some(Condition::Expectations(awaited)) => {
                awaited.watch(&self.client, &self.context).await;
                self.printer.state().awaited = Some(awaited);
            }
        }
    }

    /// True if the condition of the destination holds now.
    async fn holds(&self, destination: &Destination) -> Result<bool, Failure> {
        let (namespace, name, state) = match &destination.condition {
            None => return Ok(false),
            Some(Condition::State(namespace, name, state)) => (namespace, name, state),
            Some(Condition::Expectations(awaited)) => {
                let now = self.client.clock().await?.now;
                return Ok(awaited.judge(&self.client, now).await);
            }
        };
        let shoots = Api::<Shoot>::namespaced(&self.client.context(), cluster::GARDEN, namespace);
        let shoot = shoots.get_opt(name).await.map_err(|error| Failure::Failed(error.to_string()));
        let shoot = self.read(shoot).await?;
        Ok(is_in(shoot.as_ref(), state))
    }

    /// Moves time and waits until it has arrived, it is stopped, or a signal is received.
    async fn advance(&self, to: DateTime<Utc>, progress: &mut Progress) -> Result<(), Failure> {
        let own = participant(std::process::id());
        let advance = Advance {
            to,
            settle: self.settings.settle,
            participant: Some(own.clone()),
            ignore_absence: self.settings.ignore_absence,
        };
        let arrived = async {
            let mut known = self.client.clock().await?.absences;
            let is_known = |known: &[Absence], it: &Absence| {
                known.iter().any(|known| (&known.name, known.since) == (&it.name, it.since))
            };
            let mut absent = None;
            let mut state = self.client.advance(&advance).await?;
            loop {
                for absence in state.absences.iter().filter(|absence| !is_known(&known, absence)) {
                    self.printer.tell(Part::Absence(absence.clone()));
                    absent.get_or_insert_with(|| absence.clone());
                }
                known.clone_from(&state.absences);
                if state.target.is_none() {
                    return Ok::<_, Failure>((state, absent));
                }
                progress.at(state.now, wall().now(), super::obstacles(&state, &own));
                self.printer.tell(Part::Progress(progress.clone()));
                wall().sleep(LOOK, TimerClass::Work).await;
                state = self.client.clock().await?;
            }
        };
        let (state, absent) = tokio::select! {
            biased;
            _ = end_signal() => {
                let state = self.client.command("cancel").await?;
                return Err(Failure::Interrupted(format!(
                    "interrupted at {}, on the way to {to}: `terrarium clock until {to}` resumes it",
                    time(state.now),
                    to = time(to),
                )));
            }
            state = arrived => state?,
        };
        if let Some(Absence { name, .. }) = absent.filter(|_| !self.settings.ignore_absence) {
            return Err(Failure::Failed(format!(
                "stopped at {}, on the way to {}: {name} does not answer, and what it is to do would be missing; \
                 `terrarium status` shows it, and with --ignore-absence time goes on without it",
                time(state.now),
                time(to),
            )));
        }
        match state.live_lock {
            Some(live_lock) => Err(Failure::Failed(live_lock)),
            None => Ok(()),
        }
    }

    /// Checks that the advance ended at its destination.
    async fn arrive(&self, destination: &Destination, to: DateTime<Utc>) -> Result<(), Failure> {
        let reached = self.printer.state().reached.clone();
        let state = self.client.clock().await?;
        let now = state.now;
        let holds = reached.is_none() && self.holds(destination).await?;
        match (reached, &destination.condition) {
            (Some(Reached::Event(event)), _) => Err(Failure::Failed(format!("stopped at {}: {event}", time(now)))),
            (Some(Reached::Closed), _) => Err(Failure::OutputClosed),
            (Some(Reached::State), _) => Ok(()),
            (None, _) if holds => Ok(()),
            (None, Some(Condition::State(namespace, name, state))) => {
                Err(Failure::Failed(format!("Shoot {namespace}/{name} is not {state} by {}", time(to))))
            }
            (None, _) if now < to && state.dropped.contains(&participant(std::process::id())) => {
                let seconds = REPORT_LIMIT.num_seconds();
                Err(Failure::Failed(format!(
                    "stopped at {}: this command had not answered the host for {seconds} s of wall time; \
                     `terrarium clock until {to}` resumes it",
                    time(now),
                    to = time(to)
                )))
            }
            (None, _) if now < to => Err(Failure::Failed(format!(
                "another client ended the command at {}, on the way to {}",
                time(now),
                time(to)
            ))),
            (None, Some(Condition::Expectations(awaited))) => Err(awaited.failure(to)),
            (None, None) if destination.is_limit => {
                Err(Failure::Failed(format!("stopped at {}: --max is too short", time(now))))
            }
            (None, None) => Ok(()),
        }
    }
}

/// Returns a sentence about a component that does not respond.
pub(super) fn absent(absence: &Absence) -> String {
    let seconds = REPORT_LIMIT.num_seconds();
    format!(
        "{} has not answered for {seconds} s of wall time: from {} on, what it is to do is missing",
        absence.name,
        time(absence.since)
    )
}

/// True if a Shoot is in a state; a deleted one is in state Deleted.
fn is_in(shoot: Option<&Shoot>, state: &str) -> bool {
    match shoot {
        None => state == DELETED,
        Some(shoot) => shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_from_before_all_had_settled_ends_no_journey() {
        let (steps, _receiver) = std::sync::mpsc::channel();
        let printer = StepPrinter::new(steps);
        printer.reach(Reached::State);
        assert!(!printer.has_reached(), "the journey has not begun");
        printer.begin(DateTime::UNIX_EPOCH, Some(1));
        printer.reach(Reached::State);
        assert!(printer.halts());
        printer.state().halted = true;
        printer.forget_state();
        assert!(!printer.has_reached() && !printer.halts());
        printer.reach(Reached::State);
        assert!(printer.halts(), "the next time it does");

        printer.forget_state();
        printer.reach(Reached::Event("ShootMaintenance".to_owned()));
        printer.forget_state();
        assert!(printer.has_reached(), "what is to stop time is kept");
    }
}
