// SPDX-License-Identifier: Apache-2.0
//! `terrarium wait`: moves landscape time until expectations hold.

use std::sync::Arc;

use chrono::TimeDelta;
use clap::Args;

use super::expectation_goal::ExpectationGoal;
use super::goal::Goal;
use super::journey::AdvanceSettings;
use super::{Printing, go};
use crate::failure::Failure;
use crate::live::Which;
use crate::live::assert::{ExpectationArguments, lines};
use crate::live::client::Client;
use crate::output::{Form, Output};
use ops::instant::duration;

/// Move landscape time until expectations hold
///
/// Time moves through every timer on the way, as with `terrarium clock until`, and stands at the first instant at which all
/// expectations hold. If they do not within a duration of landscape time, each last difference is a line, and the exit
/// code is 1. `terrarium assert --help` describes expectations; those about the log cannot be awaited.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    given: ExpectationArguments,
    /// Duration of landscape time after which waiting ends
    #[arg(long, value_name = "D", value_parser = duration, default_value = "24h")]
    within: TimeDelta,
    /// Continue when a component has not responded for 30 s of wall time, for example since it hangs. Without this flag time
    /// stops (exit code 1), so that no work of the component is skipped
    #[arg(long)]
    ignore_absence: bool,
    /// Print every line [default: up to ten Shoots; beyond that a summary at the end]
    #[arg(short, long)]
    verbose: bool,
    /// Print only the time at the end and differences, and no progress
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Form of the output; a record for each step, and the clock at the end, then the differences
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let expectations = arguments.given.read()?;
    if let Some(of_log) = expectations.iter().find(|expectation| expectation.log().is_some()) {
        let what = format!("{}: an expectation about the log cannot be awaited", of_log.label());
        return Err(Failure::input(what, "`terrarium assert` judges it"));
    }
    let client = Client::of(&arguments.which.directory()?)?;
    let awaited = Arc::new(ExpectationGoal::new(expectations, client.facts.start_time));
    let settings = AdvanceSettings {
        settle: TimeDelta::zero(),
        stop_on: Vec::new(),
        max: None,
        ignore_absence: arguments.ignore_absence,
        which: arguments.which.clone(),
    };
    let form = arguments.output;
    let printing = Printing { form, is_verbose: arguments.verbose, is_quiet: arguments.quiet };
    let ending = go(&client, Goal::Expectations(awaited.clone(), arguments.within), settings, printing, output);
    if !matches!(ending, Err(Failure::Failed(_))) {
        return ending;
    }
    let last = awaited.last();
    for (expectation, differences) in &last {
        if form == Form::Text {
            lines(expectation, differences, last.len()).iter().try_for_each(|line| output.line(line))?;
        } else {
            output.item(form, &expectation.record(differences))?;
        }
    }
    ending
}
