// SPDX-License-Identifier: Apache-2.0
//! `terrarium`: the command line of the landscape in a jar.
//!
//! **Tour.** [`live`] landscapes of processes; [`simulate`] a whole landscape in one process; [`questions`] questions
//! before acting; [`explain`] words; [`usage`] order of command line words, and errors about them; [`completion`] of words
//! in a shell; [`input`] options of commands about manifests, and refusals of manifests; [`output`] the only access to the
//! terminal, [`progress`] of a command that moves time. Computations of commands are in [`ops`].

mod completion;
mod explain;
mod failure;
mod input;
mod live;
mod output;
mod progress;
mod questions;
#[cfg(test)]
mod reference;
mod simulate;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::{Form, Output};

// Allocator of the process. Decoding and encoding JSON makes many small, short-lived allocations: with the system's
// allocator it takes a sixth of a simulation's time.
use mimalloc as _;

/// A Gardener landscape in a jar.
///
/// Data goes to standard output, everything else to standard error. Exit codes: 0 done; 1 failed, or an expectation did
/// not hold; 2 usage or unreadable input; 3 a component refused to start because of its version; 4 the landscape or its
/// directory is held by another process; 130 interrupted. `--landscape NAME` and `--data-dir DIR`, which most commands have,
/// may stand before the command.
#[derive(Debug, Parser)]
#[command(name = "terrarium", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(Box<live::up::Arguments>),
    Down(live::down::Arguments),
    Status(live::status::Arguments),
    Landscape(live::landscapes::Arguments),
    Kubeconfig(live::kubeconfig_command::Arguments),
    #[command(hide = true)]
    Credential(live::credential::Arguments),
    Kubectl(live::kubectl::Arguments),
    Get(live::get::Arguments),
    Events(live::events::Arguments),
    Dashboard(live::dashboard::Arguments),
    Logs(live::logs::Arguments),
    Config(live::config::Arguments),
    Clock(live::clock::Arguments),
    Log(live::log::Arguments),
    Fault(live::fault::Arguments),
    At(live::at::Arguments),
    Assert(live::assert::Arguments),
    Wait(live::wait::Arguments),
    Replay(live::replay::Arguments),
    Doctor(live::doctor::Arguments),
    Dump(live::dump::Arguments),
    Simulate(simulate::Arguments),
    Forecast(questions::forecast::Arguments),
    Rollout(questions::rollout::Arguments),
    Versions(questions::versions::Arguments),
    Why(questions::why::Arguments),
    Skew(questions::skew::Arguments),
    Upgrade(questions::upgrade::Arguments),
    /// Be a process of a landscape: started by `up` and by the process kubelet
    #[command(hide = true)]
    Component {
        /// Name of the component
        name: String,
        /// Directory of the landscape, for the host
        #[command(flatten)]
        which: live::Which,
        #[command(flatten)]
        start: live::start::Start,
        /// Options for joining a landscape that did not start this process
        #[command(flatten)]
        joining: Box<component::joining::Arguments>,
    },
    Explain(explain::Arguments),
    /// Print a script that completes commands, flags and names in a shell
    ///
    /// Load it when the shell starts: `source <(terrarium completion bash)` in ~/.bashrc, the same with zsh in ~/.zshrc,
    /// `terrarium completion fish | source` in ~/.config/fish/config.fish. Names of Shoots, Seeds and faults are those of
    /// the landscape that the words name, if it runs.
    Completion {
        /// Shell that reads the script
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the version of Terrarium and of the Gardener that it emulates
    Version {
        /// Form of the output
        #[arg(short, long, value_enum, default_value_t)]
        output: Form,
    },
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if completion::answer(&words) {
        return ExitCode::SUCCESS;
    }
    let mut output = Output::standard();
    let words = usage::in_order(words);
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        // Help and version are printed in clap's own form.
        Err(error) if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.exit()
        }
        Err(error) => {
            let failure = usage::failure(&error, &Arguments::command(), &words);
            output.failure(&failure);
            return ExitCode::from(failure.exit_code());
        }
    };
    let outcome = match &arguments.command {
        Command::Up(arguments) => live::up::run(arguments, &mut output),
        Command::Down(arguments) => live::down::run(arguments, &mut output),
        Command::Status(arguments) => live::status::run(arguments, &mut output),
        Command::Kubeconfig(arguments) => live::kubeconfig_command::run(arguments, &mut output),
        Command::Credential(arguments) => live::credential::run(arguments, &mut output),
        Command::Landscape(arguments) => live::landscapes::run(arguments, &mut output),
        Command::Kubectl(arguments) => live::kubectl::run(arguments),
        Command::Get(arguments) => live::get::run(arguments, &mut output),
        Command::Dashboard(arguments) => live::dashboard::run(arguments, &mut output),
        Command::Events(arguments) => live::events::run(arguments, &mut output),
        Command::Logs(arguments) => live::logs::run(arguments, &mut output),
        Command::Explain(arguments) => explain::run(arguments, &mut output),
        Command::Completion { shell } => {
            completion::script(*shell, words.first()).and_then(|script| output.line(&script))
        }
        Command::Config(arguments) => live::config::run(arguments, &mut output),
        Command::Clock(arguments) => live::clock::run(arguments, &mut output),
        Command::Log(arguments) => live::log::run(arguments, &mut output),
        Command::Fault(arguments) => live::fault::run(arguments, &mut output),
        Command::At(arguments) => live::at::run(arguments, &mut output),
        Command::Assert(arguments) => live::assert::run(arguments, &mut output),
        Command::Wait(arguments) => live::wait::run(arguments, &mut output),
        Command::Replay(arguments) => live::replay::run(arguments, &mut output),
        Command::Doctor(arguments) => live::doctor::run(arguments, &mut output),
        Command::Dump(arguments) => live::dump::run(arguments, &mut output),
        Command::Component { name, which, start, joining } => {
            return run_component(name, which, *start, joining);
        }
        Command::Simulate(arguments) => simulate::run(arguments, &mut output),
        Command::Forecast(arguments) => questions::forecast::run(arguments, &mut output),
        Command::Rollout(arguments) => questions::rollout::run(arguments, &mut output),
        Command::Versions(arguments) => questions::versions::run(arguments, &mut output),
        Command::Why(arguments) => questions::why::run(arguments, &mut output),
        Command::Skew(arguments) => questions::skew::run(arguments, &mut output),
        Command::Upgrade(arguments) => questions::upgrade::run(arguments, &mut output),
        Command::Version { output: form } => version(*form, &mut output),
    };
    output.end_progress();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn version(form: Form, output: &mut Output) -> Result<(), Failure> {
    let (own, gardener) = (env!("CARGO_PKG_VERSION"), landscape::GARDENER_VERSION);
    match form {
        Form::Text => output.line(&format!("terrarium {own} (emulates Gardener {gardener})")),
        _ => output.record(form, &serde_json::json!({ "terrarium": own, "gardener": gardener })),
    }
}

fn run_component(
    name: &str,
    which: &live::Which,
    start: live::start::Start,
    joining: &component::joining::Arguments,
) -> ExitCode {
    if name == "host" {
        return live::host::run(which, start);
    }
    match live::components::binary(name) {
        Some(binary) if joining.is_given() => component::joining::run(&binary, joining),
        Some(binary) => binary.main(),
        None => {
            process::child::say(&format!("error: there is no component {name}"));
            ExitCode::from(2)
        }
    }
}
