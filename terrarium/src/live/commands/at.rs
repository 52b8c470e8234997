// SPDX-License-Identifier: Apache-2.0
//! `terrarium at`: reads past states from the API.

use clap::{Args, Subcommand};
use eventlog::Revision;

use crate::failure::Failure;
use crate::live::ask::query::{Moment, Question};
use crate::live::history::Past;
use crate::live::{Which, block_on};
use crate::output::Output;
use ops::instant::Place;

/// Read the past, also of a landscape that is stopped
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Revision of the log, or instant of landscape time, or how long ago (2d)
    #[arg(value_name = "REV|TIME|D")]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print objects, as `terrarium get` does; ages are counted up to then
    Get {
        #[command(flatten)]
        question: Question,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let Command::Get { question } = &arguments.command;
    block_on(async {
        let past = Past::open(&directory).await?;
        let answered = answer(&past, arguments.place, question, output).await;
        past.close().await?;
        answered
    })
}

async fn answer(past: &Past, place: Place, question: &Question, output: &mut Output) -> Result<(), Failure> {
    let revision = past.find(place).await?;
    if revision == Revision(0) {
        return Err(Failure::input("there was nothing yet", "the first revision is 1"));
    }
    let moment = Moment { revision: revision.0, instant: past.time_of(place, revision).await? };
    let mut question = question.clone();
    question.cluster = past.cluster(&question.cluster).await?;
    question.answer(&past.transport, Some(moment), output).await
}
