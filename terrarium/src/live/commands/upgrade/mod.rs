// SPDX-License-Identifier: Apache-2.0
//! `terrarium upgrade apply | status`: executes a planned order on a running landscape.
//!
//! ```text
//! plan ──► moves: instances that are replaced together ──► request of the version ──► wait until only it runs ──► next move
//! ```
//!
//! Each call plans from the running versions, so an interrupted upgrade continues with another call. If gardener-operator or
//! a Gardenlet replaces a component, its move only waits. The command succeeds when every instance of every component is
//! ready at the version, none crash-loops, and the version rules allow them.
//!
//! **Tour.** [`moves`] the steps of a plan that are executed together, [`view`] observation of the landscape and of the
//! state of a move, [`report`] report for other programs and users.

mod moves;
mod report;
mod view;

use std::io::BufRead;
use std::path::PathBuf;

use chrono::TimeDelta;
use clap::Args;
use clock::{Clock, TimerClass};
use domain::profile::Profile;
use domain::skew::notes::{GateSetting, gates_gone};
use domain::skew::{Component, GardenerVersion};
use domain::upgrade::Plan;
use ops::upgrade::fleet::Fleet;
use serde_json::{Value, json};

use self::moves::Move;
use self::report::{ExecutedMove, Report};
pub(in crate::live) use self::view::View;
use crate::failure::Failure;
use crate::live::ask::query::Form;
use crate::live::ask::table::Table;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;
use crate::progress::Progress;
use component::signals::end_signal;
use ops::instant::duration;
use ops::spelling::counted;
use ops::upgrade::components::{Row, State};

/// Wall time between two checks of a component that is replaced.
const LOOK: TimeDelta = TimeDelta::milliseconds(200);

/// Options of the execution of `upgrade apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyOptions {
    /// Print the plan without executing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait for Enter before each component, so that the mixed landscape can be inspected; end of input stops the upgrade. Not
    /// available with gardener-operator, which does not wait between components
    #[arg(long)]
    pause_between: bool,
    /// File for a report of the executed steps: JUnit for `.xml`, JSON for `.json`, text for other names
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Maximum wall time without progress of a component
    #[arg(long, value_name = "D", default_value = "60s", value_parser = duration)]
    wait: TimeDelta,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
}

/// Plans an upgrade of the landscape with `plan`, executes it, and writes the report of each end; `to`: requested version.
///
/// # Errors
/// There is no plan, a component does not reach its version, or a signal or the end of the input stops the upgrade.
pub(crate) fn apply(
    which: &Which,
    options: &ApplyOptions,
    to: &GardenerVersion,
    plan: impl FnOnce(&mut Output) -> Result<Planning, Failure>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut report = Report::new(&which.name(), &to.clone().completed());
    let done = plan(output).and_then(|planning| execute(which, options, &planning, &mut report, output));
    if let Some(file) = &options.report {
        report.write(file, done.as_ref().err())?;
    }
    let to = done?;
    if report.moves.is_empty() {
        return output.line(&format!("nothing to do: every component is at v{to}"));
    }
    output.line(&format!("every component is at v{to}; it took {:.1} s", report.seconds()))
}

/// A plan of the running landscape.
pub(crate) struct Planning {
    pub(crate) fleet: Fleet,
    pub(crate) plan: Plan,
    /// Target version, with a patch.
    pub(crate) to: GardenerVersion,
    pub(crate) profile: Profile,
}

/// Executes a plan, and returns its target.
///
/// # Errors
/// A component does not reach its version, or a signal or the end of the input stops the upgrade.
fn execute(
    which: &Which,
    options: &ApplyOptions,
    planning: &Planning,
    report: &mut Report,
    output: &mut Output,
) -> Result<GardenerVersion, Failure> {
    let Planning { fleet, plan, to, profile } = planning;
    report.set_target(to);
    let client = Client::of(&which.directory()?)?;
    startable(fleet, to)?;
    block_on(async {
        let view = View::open(client.context(), &client.facts.name, *profile).await?;
        tokio::select! {
            biased;
            _ = end_signal() => return Err(Failure::Interrupted(again("interrupted", to))),
            read = view.garden_is_read(to, options.wait) => read?,
        }
        let (moves, kept) = view.moves(plan)?;
        report.moves.clone_from(&moves);
        let rows = view.rows();
        let unknown = rows.iter().filter_map(Row::unknown_version).map(str::to_owned);
        for text in unknown.chain(view.undeployed_changes()).chain(kept) {
            output.note(&format!("note: {text}"));
        }
        can_pause(options, &view, &moves)?;
        tokio::select! {
            biased;
            _ = end_signal() => Err(Failure::Interrupted(again("interrupted", to))),
            done = all(&client, &view, options, &moves, to, report, output) => done,
        }
    })?;
    Ok(to.clone())
}

/// Checks that every component starts at a version with its feature gates.
///
/// # Errors
/// A component would not start.
pub(in crate::live) fn startable(fleet: &Fleet, to: &GardenerVersion) -> Result<(), Failure> {
    let mut gone =
        fleet.gates.iter().filter_map(|setting| Some((setting, gates_gone(to, std::slice::from_ref(setting)).pop()?)));
    let Some((first, note)) = gone.next() else { return Ok(()) };
    let rest = gone.count();
    let more = if rest == 0 { String::new() } else { format!(" (and {rest} more)") };
    Err(Failure::input(
        format!("{}{more}", note.text),
        format!("take the gate out first: `{}`; `terrarium upgrade plan` shows all", taken_out(first)),
    ))
}

/// Command that removes a feature gate from the configuration of a component.
fn taken_out(setting: &GateSetting) -> String {
    let GateSetting { component, owner, name, .. } = setting;
    let cluster = if owner.is_empty() { String::new() } else { format!(" --cluster seed/{owner}") };
    format!("terrarium config set {} featureGates.{name}={cluster}", component.name())
}

/// Refuses a pause if gardener-operator replaces components, since it does not wait between them.
fn can_pause(options: &ApplyOptions, view: &View, moves: &[Move]) -> Result<(), Failure> {
    match view.made_by_operator(moves).first() {
        Some(made) if options.pause_between => Err(Failure::input(
            format!(
                "--pause-between: gardener-operator replaces {} by itself and does not wait between components",
                made.name()
            ),
            "leave it out, or play the order in a landscape without an operator: `terrarium up --operator=false`",
        )),
        _ => Ok(()),
    }
}

/// Message with the command that continues after the user stopped the upgrade.
fn again(why: &str, to: &GardenerVersion) -> String {
    format!("{why}; what was begun goes on, and `terrarium upgrade apply --to v{to}` takes the steps that are left")
}

async fn all(
    client: &Client,
    view: &View,
    options: &ApplyOptions,
    moves: &[Move],
    to: &GardenerVersion,
    report: &mut Report,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut progress = Progress::of_steps(moves.len(), client.clock().await?.now, Clock::wall().now());
    for (number, next) in moves.iter().enumerate() {
        if options.pause_between && !pause(next, output) {
            return Err(Failure::Interrupted(again(&format!("stopped before {next}"), &next.to)));
        }
        let begun = Clock::wall().now();
        output.line(&format!("{:>3}/{}  {next}", number + 1, moves.len()))?;
        let mut taken = std::pin::pin!(take(view, next, options.wait));
        let done = loop {
            let look = async {
                pass(LOOK).await;
                client.clock().await
            };
            let clock = tokio::select! {
                biased;
                done = &mut taken => break done,
                clock = look => clock,
            };
            // The view detects the end of the host.
            if let (false, Ok(clock)) = (options.quiet, clock) {
                progress.at_step(number, clock.now, Clock::wall().now(), view.obstacle(next).into_iter().collect());
                output.progress(&progress);
            }
        };
        let seconds = (Clock::wall().now() - begun).as_seconds_f64();
        report.taken.push(ExecutedMove {
            step: next.clone(),
            seconds,
            problem: done.as_ref().err().map(ToString::to_string),
        });
        done?;
        output.line(&format!("         done in {seconds:.1} s"))?;
    }
    if let Some(last) = moves.last() {
        ended(view.garden_is_reconciled(options.wait).await, last, options.wait)?;
    }
    view.is_at(to, options.wait).await
}

/// Requests a component's version, and waits until no other version of it runs.
///
/// # Errors
/// It does not reach the version, or nothing has changed for `wait`.
pub(in crate::live) async fn take(view: &View, next: &Move, wait: TimeDelta) -> Result<(), Failure> {
    if next.component == Component::Operator {
        ended(view.garden_is_reconciled(wait).await, next, wait)?;
    }
    view.ask_for(next, wait).await?;
    ended(view.wait(next, wait).await, next, wait)
}

/// Converts the result of a wait.
fn ended(state: State, next: &Move, wait: TimeDelta) -> Result<(), Failure> {
    Err(match state {
        State::Done => return Ok(()),
        State::Refused(why) => Failure::Refused(format!("{next}: {why}")),
        State::Failed(why) => Failure::Failed(format!("{next}: {why}")),
        State::Waits(why) => {
            let unchanged_for = counted(wait.num_seconds(), "second", "seconds");
            Failure::Failed(format!("{next}: nothing has changed for {unchanged_for}: {why}"))
        }
    })
}

/// Waits for Enter; `false`: the input has ended.
fn pause(next: &Move, output: &mut Output) -> bool {
    output.note(&format!("next: {next}; press Enter to go on"));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).is_ok_and(|bytes| bytes > 0)
}

/// Waits for a wall time.
async fn pass(time: TimeDelta) {
    Clock::wall().sleep(time, TimerClass::Work).await;
}

/// Prints the running and the desired version of each component.
///
/// # Errors
/// The landscape does not run.
pub(crate) fn status(which: &Which, form: Form, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&which.directory()?)?;
    let profile = Profile::named(&client.facts.profile).unwrap_or_default();
    let (rows, notes) = block_on(async {
        let view = View::open(client.context(), &client.facts.name, profile).await?;
        view.seeds_are_read().await;
        Ok((view.rows(), view.undeployed_changes()))
    })?;
    let object = json!({ "components": rows.iter().map(Row::object).collect::<Vec<Value>>() });
    form.print(&object, output, |output| {
        let mut table = Table::new(&["COMPONENT", "CLUSTER", "RUNS", "WANTED", "READY", "STATE"]);
        for row in &rows {
            table.push(row.cells());
        }
        table.print(output)
    })?;
    for note in &notes {
        output.note(&format!("note: {note}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hint names the component and the gate of the message, and the Seed of a gardenlet.
    #[test]
    fn a_removed_gate_is_refused_with_the_remedy() {
        let version = GardenerVersion::parse("v1.127.0").expect("a version");
        let setting = |component: Component, owner: &str, name: &str| GateSetting {
            component,
            owner: owner.to_owned(),
            name: name.to_owned(),
            on: true,
        };
        let mut fleet = Fleet::default();
        assert_eq!(startable(&fleet, &version), Ok(()));
        fleet.gates.push(setting(Component::Gardenlet, "local", "NewVPN"));
        let refused = startable(&fleet, &version).expect_err("gone");
        let text = "gardenlet of Seed local sets NewVPN=true, with which 1.127.0 does not start";
        assert!(refused.to_string().starts_with(text), "{refused}");
        let hint = "take the gate out first: `terrarium config set gardenlet featureGates.NewVPN= --cluster seed/local`; \
                    `terrarium upgrade plan` shows all";
        assert_eq!(refused.hint(), hint);
        fleet.gates.insert(0, setting(Component::Scheduler, "", "NoSuchGate"));
        let refused = startable(&fleet, &version).expect_err("gone");
        assert!(refused.to_string().ends_with(" (and 1 more)"), "{refused}");
        let command = "`terrarium config set gardener-scheduler featureGates.NoSuchGate=`";
        assert!(refused.hint().contains(command), "{}", refused.hint());
    }
}
