// SPDX-License-Identifier: Apache-2.0
//! `terrarium clock`: reads and moves landscape time.
//!
//! **Tour.** This file is the command line; [`goal`] destinations of `until`; [`journey`] moves time there and reports the
//! events until then; [`expectation_goal`] expectations that end it, and [`wait`] the command for them; [`tally`] counts many
//! events; [`hourly`] advice about reconciliations; [`windows`] Shoots whose window was reached.

mod expectation_goal;
mod goal;
mod hourly;
mod journey;
mod tally;
pub(crate) mod wait;
mod windows;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::{Args, Subcommand};
use clock::{Clock, END, TimerClass};
use host::kinds::clock_object;
use host::time::clock_service::ClockState;
use host::time::timekeeper::{Absence, Mode, WaitsFor};
use serde_json::json;

use crate::failure::Failure;
use crate::live::client::{Advance, Client};
use crate::live::{Which, block_on};
use crate::output::{Form, Output};
use ops::instant::duration;
use ops::names::shoots::ShootName;
use ops::upgrade::silence::Silence;

use self::goal::{Goal, Until};
use self::hourly::Hourly;
use self::journey::{AdvanceSettings, Part};
use self::tally::Tally;

/// Maximum number of Shoots with line-by-line output; beyond it events are counted.
const PRINTED_SHOOTS: usize = 10;

/// Wall time for the client of a command to notice that it was ended, and between two checks of that.
const LEAVE_TIMEOUT: TimeDelta = TimeDelta::seconds(1);
const LOOK: TimeDelta = TimeDelta::milliseconds(20);

/// Show or move landscape time
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Form of the output; a record for each step, and the clock at the end
    #[arg(short = 'o', long = "output", global = true, value_enum, default_value_t)]
    output: Form,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the time, the mode, and what time waits for
    Show,
    /// Move on by a duration (`90s`, `30m`, `24h`, `3d`, `2w`), through every timer on the way
    Advance {
        /// Duration of the advance
        #[arg(value_name = "D", value_parser = duration)]
        by: TimeDelta,
        #[command(flatten)]
        options: MoveOptions,
    },
    /// Move on to an instant, a maintenance window or a Shoot's state, through every timer on the way
    Until {
        /// An instant (`2027-01-31T00:00:00Z`, `2027-01-31`); `window`: one second after the next one begins;
        /// `shoot/PROJECT/NAME=STATE`: until its last operation is Succeeded, Processing, …, or it is Deleted
        #[arg(value_name = "TIME|D|window|shoot/P/N=STATE", value_parser = goal::until)]
        until: Until,
        /// Shoot whose window is meant [default: the earliest window of all Shoots]
        #[arg(value_name = "shoot/P/N")]
        shoot: Option<ShootName>,
        #[command(flatten)]
        options: MoveOptions,
    },
    /// End the command that advances the clock, also one of another client
    Stop,
    /// Stop landscape time; `advance` and `until` still move it
    Pause,
    /// End a pause, or a stop for a live-lock
    Resume,
    /// Let time pass at this rate of wall time
    Rate {
        /// Landscape seconds in a second of wall time
        #[arg(value_name = "R", value_parser = rate)]
        rate: f64,
    },
    /// Set how time passes by itself
    Mode {
        /// `eager` jumps to work that is near; `realtime`; `scaled=R`; `stepped` does not move; `auto` jumps from timer to timer
        #[arg(value_name = "M", value_parser = mode)]
        mode: Mode,
    },
}

/// Options of an advance.
#[derive(Debug, Args)]
struct MoveOptions {
    /// Wall time to wait after a step that reached a client that is not ours: one that watches or writes
    #[arg(long, value_name = "D", value_parser = duration, default_value = "0s", hide_default_value = true)]
    settle: TimeDelta,
    /// Stop at an Event with this reason (exit code 1); may be repeated
    #[arg(long, value_name = "REASON")]
    stop_on: Vec<String>,
    /// Go no further than this (exit code 1 if that is too short) [default for a Shoot's state: 30d]
    #[arg(long, value_name = "D", value_parser = duration)]
    max: Option<TimeDelta>,
    /// Continue when a component has not responded for 30 s of wall time, for example since it hangs. Without this flag time
    /// stops (exit code 1), so that no work of the component is skipped
    #[arg(long)]
    ignore_absence: bool,
    /// Start the advance and return. The advance continues in the landscape until it is complete or `clock stop` ends it. Without
    /// this flag the advance ends together with the command
    #[arg(long, conflicts_with_all = ["stop_on", "verbose", "quiet"])]
    detach: bool,
    /// Print every line [default: up to ten Shoots; beyond that a summary at the end]
    #[arg(short, long)]
    verbose: bool,
    /// Print only the time at the end, and no progress
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("expected a number above 0 and at most 1000000000".to_owned()),
    }
}

/// Parses a mode of the clock: `eager`, `realtime`, `scaled=R`, `stepped`, `auto`.
pub(crate) fn mode(text: &str) -> Result<Mode, String> {
    match (text, text.split_once('=')) {
        ("eager", _) => Ok(Mode::Eager),
        ("realtime", _) => Ok(Mode::Rate(1.0)),
        ("stepped", _) => Ok(Mode::Stepped),
        ("auto", _) => Ok(Mode::Auto),
        (_, Some(("scaled", text))) => rate(text).map(Mode::Rate),
        _ => Err("expected eager, realtime, scaled=R, stepped or auto".to_owned()),
    }
}

/// Formats a mode in the form that [`mode`] parses.
pub(crate) fn mode_name(mode: Mode) -> String {
    match mode {
        Mode::Eager => "eager".to_owned(),
        Mode::Rate(1.0) => "realtime".to_owned(),
        Mode::Rate(rate) => format!("scaled={rate}"),
        Mode::Stepped => "stepped".to_owned(),
        Mode::Auto => "auto".to_owned(),
    }
}

/// Formats an instant.
fn time(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    let form = arguments.output;
    let (goal, options) = match arguments.command.as_ref().unwrap_or(&Command::Show) {
        Command::Advance { by, options } => (Goal::of_distance(*by), options),
        Command::Until { until, shoot, options } => (Goal::of(until, shoot.as_ref())?, options),
        Command::Stop => {
            let (ended, state) = block_on(stop(&client))?;
            let line = ended.unwrap_or_else(|| "no command advances the clock".to_owned());
            if form == Form::Text {
                output.line(&line)?;
            }
            return print(&state, form, output);
        }
        other => {
            let state = block_on(command(&client, other))?;
            return print(&state, form, output);
        }
    };
    let named = match &goal {
        Goal::Window(Some(shoot)) => Some(shoot.clone()),
        _ => None,
    };
    let which = &arguments.which;
    if let Some(shoot) = &named
        && block_on(async { read(&client, which, windows::is_there(&directory, &client, shoot).await).await })?
    {
        block_on(windows::note(&directory, &client, shoot))?;
        output.note(&format!("note: the window of shoot/{}/{} has just begun", shoot.project, shoot.name));
        return print_last(&block_on(client.clock())?, form, output);
    }
    let settle = options.settle;
    if settle.num_milliseconds() > i64::from(u32::MAX) {
        return Err(Failure::input("--settle is longer than 49 days of wall time", ""));
    }
    if options.detach {
        let state = block_on(async { read(&client, which, detach(&client, &goal, options).await).await })?;
        print_last(&state, form, output)?;
        let (show, stop) = (which.hint("terrarium clock"), which.hint("terrarium clock stop"));
        output.note(&format!("`{show}` says how far it is, `{stop}` ends it"));
        return Ok(());
    }
    let settings = AdvanceSettings {
        settle,
        stop_on: options.stop_on.clone(),
        max: options.max,
        ignore_absence: options.ignore_absence,
        which: which.clone(),
    };
    let printing = Printing { form, is_verbose: options.verbose, is_quiet: options.quiet };
    let ending = go(&client, goal, settings, printing, output);
    if let (Ok(()), Some(shoot)) = (&ending, &named) {
        block_on(windows::note(&directory, &client, shoot))?;
    }
    ending
}

/// Output of a command that moves time.
#[derive(Clone, Copy, Debug)]
struct Printing {
    form: Form,
    /// True if every line is printed.
    is_verbose: bool,
    /// True if only the clock at the end is printed.
    is_quiet: bool,
}

/// Moves time to a goal, and prints what happens, and the clock at the end.
fn go(
    client: &Client,
    goal: Goal,
    settings: AdvanceSettings,
    printing: Printing,
    output: &mut Output,
) -> Result<(), Failure> {
    let (Printing { form, is_verbose, is_quiet }, which) = (printing, settings.which.clone());
    let (mut tally, mut hourly) = (Tally::default(), Hourly::default());
    let mut prints_all = is_verbose;
    let ending = journey::go(client, goal, settings, |part| match part {
        Part::Absence(absence) => {
            output.note(&format!("warning: {}", journey::absent(absence)));
            Ok(())
        }
        Part::Begins { at, shoots } => {
            prints_all |= shoots.is_none_or(|shoots| shoots <= PRINTED_SHOOTS);
            tally.begin(*at, *shoots);
            Ok(())
        }
        Part::Unread(silence) => {
            output.note(&format!("note: {silence}; Shoots are not followed until it answers"));
            Ok(())
        }
        Part::Waits(obstacles) => {
            output.note(&format!("note: landscape time waits for {}", obstacles.join(", ")));
            Ok(())
        }
        Part::Follows { at, shoots } => {
            output.note(&format!("note: gardener-apiserver answers: Shoots are followed from {} on", time(*at)));
            prints_all = is_verbose || *shoots <= PRINTED_SHOOTS;
            tally.follow(*shoots);
            Ok(())
        }
        Part::Progress(_) if is_quiet => Ok(()),
        Part::Progress(progress) => {
            if progress.is_long()
                && let Some(advice) = hourly.advice(&windows_only(&which, client.facts.seeds))
            {
                output.note(&advice);
            }
            output.progress(progress);
            Ok(())
        }
        Part::Step(step) => {
            hourly.add(&step.happened);
            if form != Form::Text {
                return output.item(form, &json!(step));
            }
            if prints_all && !is_quiet {
                return step.happened.iter().try_for_each(|line| output.line(&line.render()));
            }
            tally.add(&step.happened);
            Ok(())
        }
    });
    if matches!(ending, Err(Failure::Interrupted(_))) {
        output.clear_line();
    }
    // The final time and the events are printed even if the destination was not reached.
    if !matches!(ending, Err(Failure::Input { .. } | Failure::OutputClosed)) {
        let state = block_on(client.clock())?;
        if form == Form::Text && !prints_all && !is_quiet {
            tally.lines(state.now).iter().try_for_each(|line| output.line(line))?;
        }
        print_last(&state, form, output)?;
    }
    ending
}

/// Command that confines reconciliations of unchanged Shoots to their maintenance time windows.
fn windows_only(which: &Which, seeds: u32) -> String {
    let cluster = if seeds == 1 { "" } else { " --cluster seed/NAME" };
    which.hint(&format!("terrarium config set gardenlet controllers.shoot.reconcileInMaintenanceOnly=true{cluster}"))
}

/// Explains the failure to read an object while gardener-apiserver does not answer: the reason, and the command to type.
async fn read<T>(client: &Client, which: &Which, result: Result<T, Failure>) -> Result<T, Failure> {
    let Err(Failure::Failed(_)) = &result else { return result };
    let now = client.clock().await?.now;
    let Some(silence) = Silence::of_apiserver(&client.context(), now).await else { return result };
    let (command, effect) = silence.remedy();
    Err(Failure::Failed(format!("{silence}, and without it no Shoot can be read; `{}` {effect}", which.hint(&command))))
}

/// Starts an advance that continues after the end of this process.
async fn detach(client: &Client, goal: &Goal, options: &MoveOptions) -> Result<ClockState, Failure> {
    let now = client.clock().await?.now;
    let destination = goal.resolve(client, now, options.max).await?;
    if destination.condition.is_some() {
        let hint = "leave --detach out, or name an instant";
        return Err(Failure::input("a Shoot's state is seen by the command itself, which --detach ends", hint));
    }
    let MoveOptions { settle, ignore_absence, .. } = options;
    client
        .advance(&Advance { to: destination.to, settle: *settle, participant: None, ignore_absence: *ignore_absence })
        .await
}

async fn command(client: &Client, command: &Command) -> Result<ClockState, Failure> {
    match command {
        Command::Pause => client.set_clock(json!({ "paused": true })).await,
        Command::Resume => client.set_clock(json!({ "paused": false })).await,
        Command::Rate { rate } => set_mode(client, Mode::Rate(*rate)).await,
        Command::Mode { mode } => set_mode(client, *mode).await,
        Command::Show | Command::Stop | Command::Advance { .. } | Command::Until { .. } => client.clock().await,
    }
}

/// Ends the active command, if any; returns its description and the clock. An active client ends by itself; time does not
/// wait for a killed one.
async fn stop(client: &Client) -> Result<(Option<String>, ClockState), Failure> {
    let before = client.clock().await?;
    let (Some(target), Some(advance)) = (before.target, before.advance) else {
        return Ok((None, client.clock().await?));
    };
    let mut state = client.command("cancel").await?;
    let limit = wall().now() + LEAVE_TIMEOUT;
    while let Some(name) = advance.participant.as_ref().filter(|name| state.participants.contains_key(*name)) {
        if wall().now() >= limit {
            state = client.leave(name).await?;
            break;
        }
        wall().sleep(LOOK, TimerClass::Work).await;
        state = client.clock().await?;
    }
    Ok((Some(format!("ended the advance to {} by {advance}", time(target))), state))
}

/// Sets the mode of the clock; a pause stays.
pub(crate) async fn set_mode(client: &Client, mode: Mode) -> Result<ClockState, Failure> {
    let spec = clock_object::spec(mode, false);
    client.set_clock(json!({ "mode": spec.mode, "rate": spec.rate })).await
}

/// Prints the clock after the steps of an advance.
fn print_last(state: &ClockState, form: Form, output: &mut Output) -> Result<(), Failure> {
    if form == Form::Text { print(state, form, output) } else { output.item(form, &json!(state)) }
}

fn print(state: &ClockState, form: Form, output: &mut Output) -> Result<(), Failure> {
    if form != Form::Text {
        return output.record(form, &json!(state));
    }
    output.line(&summary(state))?;
    waits(state).iter().try_for_each(|line| output.line(line))
}

/// Formats the clock on one line.
pub(crate) fn summary(state: &ClockState) -> String {
    let paused = if state.paused { ", paused" } else { "" };
    let next = state.next.map_or_else(String::new, |next| format!(" · next timer {}", time(next)));
    let by = state.advance.as_ref().map_or_else(String::new, |advance| format!(", by {advance}"));
    let target = state.target.map_or_else(String::new, |target| format!(" · on its way to {}{by}", time(target)));
    format!("{} · {}{paused}{target}{next}", time(state.now), mode_name(state.mode))
}

/// Obstacles of landscape time, and the reason for which it stands.
pub(crate) fn waits(state: &ClockState) -> Vec<String> {
    let ended = (state.now >= END).then(|| "  stopped: landscape time has ended".to_owned());
    let stopped = state.live_lock.iter().map(|lock| format!("  stopped: {lock}; `terrarium clock resume` goes on"));
    let is_absent = |name: &String| state.dropped.contains(name);
    let participants = state.waits_for.participants.iter().map(|name| {
        let hint = if is_absent(name) { "; `terrarium clock resume` goes on without it" } else { "" };
        format!("  waits for {name}{hint}")
    });
    let holds = state.waits_for.holds.iter().map(|hold| format!("  held for {hold}"));
    let dropped = state.dropped.iter().map(|name| format!("  dropped {name}: it does not answer"));
    let is_empty = |absence: &&Absence| absence.until.map(time) == Some(time(absence.since));
    let absences = state.absences.iter().filter(|absence| !is_empty(absence)).map(|Absence { name, since, until }| {
        let until = until.map_or_else(|| "now".to_owned(), time);
        format!("  without {name} from {} to {until}: what it was to do then is missing", time(*since))
    });
    ended.into_iter().chain(stopped).chain(participants).chain(holds).chain(dropped).chain(absences).collect()
}

/// Names of the obstacles of landscape time, without the participant `own`.
pub(crate) fn obstacles(state: &ClockState, own: &str) -> Vec<String> {
    let WaitsFor { participants, holds } = &state.waits_for;
    participants.iter().chain(holds).filter(|name| *name != own).cloned().collect()
}

/// Clock of wall time.
fn wall() -> Clock {
    Clock::wall()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_as_they_are_written() {
        for text in ["eager", "realtime", "stepped", "auto", "scaled=60", "scaled=0.5"] {
            assert_eq!(mode(text).map(mode_name), Ok(text.to_owned()));
        }
        for text in ["", "Eager", "scaled", "scaled=", "scaled=0", "scaled=-1", "scaled=inf", "scaled=nan", "fast"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }
}
