// SPDX-License-Identifier: Apache-2.0
//! `terrarium get`: prints objects as kubectl does, where no kubectl is installed.

use clap::Args;

use crate::failure::Failure;
use crate::live::ask::query::Question;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;

/// Print objects of a landscape, as kubectl does
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    question: Question,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    block_on(async {
        let cluster = client.cluster(&arguments.question.cluster).await?;
        let mut question = arguments.question.clone();
        question.cluster = cluster;
        question.answer(&client.transport(), None, output).await
    })
}
