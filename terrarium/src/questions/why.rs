// SPDX-License-Identifier: Apache-2.0
//! `terrarium why`: what a Shoot of a landscape waits for, and what will happen to it.
//!
//! Each line names the object and the field that it was read from. Nothing is stored anywhere but in these objects: the
//! lines about the next maintenance come from the same functions as the controller's.

use clap::Args;

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;
use ops::names::shoots::ShootName;

/// Tell what a Shoot waits for, and what its next maintenance will do
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// shoot/PROJECT/NAME
    #[arg(value_name = "SHOOT")]
    shoot: ShootName,
    /// This worker pool only
    #[arg(long, value_name = "P")]
    pool: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    let lines = block_on(async {
        let context = client.context();
        let now = client.clock().await?.now;
        let shoot = arguments.shoot.find(&context).await?;
        let name = arguments.shoot.to_string();
        let why = ops::why::of(&context, &name, &shoot, now, client.facts.seed, arguments.pool.as_deref()).await?;
        Ok(why.lines(&name, now))
    })?;
    lines.iter().try_for_each(|line| output.line(&line.to_string()))
}
