// SPDX-License-Identifier: Apache-2.0
//! `terrarium kubeconfig`: prints a landscape's kubeconfig, or merges it into a file.

use clap::Args;

use super::client::Client;
use super::{KubeconfigFile, Which, kubeconfig, up};
use crate::failure::Failure;
use crate::output::Output;

/// Print a kubeconfig with the contexts of a landscape
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    file: KubeconfigFile,
    /// Merge it into the kubeconfig file instead
    #[arg(long, conflicts_with = "unmerge")]
    merge: bool,
    /// Take the landscape's contexts out of the kubeconfig file
    #[arg(long)]
    unmerge: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let path = || {
        let missing = || Failure::input("there is no kubeconfig file to change", "name one with --kubeconfig");
        arguments.file.path().ok_or_else(missing)
    };
    if arguments.unmerge {
        return kubeconfig::unmerge(&path()?, &arguments.which.landscape);
    }
    let client = Client::of(&arguments.which.directory()?)?;
    let config = kubeconfig::of(&client, &up::seed_names(client.facts.seeds));
    if arguments.merge {
        return kubeconfig::merge(&path()?, &config, false);
    }
    output.line(kubeconfig::yaml(&config)?.trim_end())
}
