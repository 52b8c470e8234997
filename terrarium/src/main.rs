// SPDX-License-Identifier: Apache-2.0
//! `terrarium`: the command line of the landscape in a jar.
//!
//! **Tour.** [`simulate`] a whole landscape in one process; [`manifests`] what people give it; [`output`] the one door to
//! the terminal.

mod failure;
mod manifests;
mod output;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::Output;

/// Decoding and encoding JSON is many small, short-lived allocations: a sixth of a simulation's time goes with the
/// system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A Gardener landscape in a jar.
///
/// Data goes to standard output, everything else to standard error. Exit codes: 0 done; 1 failed, or an expectation did
/// not hold; 2 usage or unreadable input.
#[derive(Debug, Parser)]
#[command(name = "terrarium", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(simulate::Arguments),
    /// Print the version of Terrarium and of the Gardener that it emulates
    Version,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = Output::standard();
    let outcome = match &arguments.command {
        Command::Simulate(arguments) => simulate::run(arguments, &mut output),
        Command::Version => output.line(&format!(
            "terrarium {} (emulates Gardener {})",
            env!("CARGO_PKG_VERSION"),
            landscape::GARDENER_VERSION
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
