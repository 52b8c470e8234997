// SPDX-License-Identifier: Apache-2.0
//! `terrarium kubectl`: the user's kubectl, on a cluster of the landscape.
//!
//! It uses a separate kubeconfig in the landscape's directory, so that no file of the user is read or changed.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::{Which, block_on, kubeconfig};
use ops::names::clusters::NamedCluster;

/// Name of the kubeconfig file in the landscape's directory.
const KUBECONFIG: &str = "kubectl.kubeconfig";

/// Run kubectl on a cluster of a landscape
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Cluster: garden, runtime, seed/NAME or shoot/PROJECT/NAME
    #[arg(long, value_name = "CLUSTER", default_value = "garden")]
    cluster: NamedCluster,
    /// Arguments of kubectl; options of terrarium come before the first of them
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<OsString>,
}

/// Replaces this process by kubectl; returns only on failure.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    let cluster = block_on(client.cluster(&arguments.cluster))?;
    let config = kubeconfig::yaml(&kubeconfig::of_cluster(&client, &cluster, &client.user())?)?;
    let name = format!("{}-{KUBECONFIG}", cluster.logical());
    directory.write(&name, &config)?;
    let error = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(directory.join(&name))
        .args(&arguments.words)
        .env_remove("KUBECONFIG")
        .exec();
    Err(if error.kind() == ErrorKind::NotFound {
        Failure::input("there is no kubectl on the PATH", "`terrarium get` prints objects without it")
    } else {
        Failure::Failed(format!("cannot run kubectl: {error}"))
    })
}
