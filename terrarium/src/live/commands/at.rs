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
        let answered = match past.find(arguments.place).await {
            Ok(Revision(0)) => Err(Failure::input("there was nothing yet", "the first revision is 1")),
            Ok(revision) => match past.time_of(arguments.place, revision).await {
                Ok(instant) => {
                    let moment = Moment { revision: revision.0, instant };
                    question.answer(&past.transport, Some(moment), output).await
                }
                Err(failure) => Err(failure),
            },
            Err(failure) => Err(failure),
        };
        past.close().await?;
        answered
    })
}
