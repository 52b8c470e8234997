// SPDX-License-Identifier: Apache-2.0
//! `terrarium kubeconfig`: prints a landscape's kubeconfig, or merges it into a file.

use std::path::PathBuf;

use clap::Args;
use process::pki::{MAX_GROUPS, Pair};

use super::ask::clusters::ClusterName;
use super::authority::LandscapeAuthority;
use super::client::Client;
use super::directory::{Directory, write_private};
use super::kubeconfig::{self, User};
use super::{KubeconfigFile, Which, block_on, up};
use crate::failure::Failure;
use crate::output::Output;

/// Print a kubeconfig with the contexts of a landscape
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    file: KubeconfigFile,
    /// Only this cluster: garden, runtime or seed/NAME [default: all of these]
    #[arg(value_name = "CLUSTER", conflicts_with = "unmerge", value_parser = own_cluster)]
    cluster: Option<ClusterName>,
    /// With a certificate for this user, to try what it may do
    #[arg(long = "as", value_name = "USER", conflicts_with = "unmerge")]
    user: Option<String>,
    /// A group of that user
    #[arg(long = "group", value_name = "GROUP", requires = "user")]
    groups: Vec<String>,
    /// Write it to a file of its own instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["merge", "unmerge"])]
    out: Option<PathBuf>,
    /// Merge it into the kubeconfig file instead
    #[arg(long, conflicts_with = "unmerge")]
    merge: bool,
    /// Take the landscape's contexts out of the kubeconfig file
    #[arg(long)]
    unmerge: bool,
}

/// A cluster whose users are the landscape's.
fn own_cluster(text: &str) -> Result<ClusterName, String> {
    match text.parse() {
        Ok(ClusterName::Shoot(..)) | Err(_) => Err("use garden, runtime or seed/NAME".to_owned()),
        Ok(cluster) => Ok(cluster),
    }
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
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    let certificate = arguments.certificate(&directory)?;
    let user = match (&arguments.user, &certificate) {
        (Some(name), Some(certificate)) => {
            User { name: format!("terrarium-{}-as-{name}", client.facts.name), certificate }
        }
        _ => client.user(),
    };
    let config = match &arguments.cluster {
        None => kubeconfig::of(&client, &up::seed_names(client.facts.seeds), &user),
        Some(cluster) => {
            block_on(cluster.must_exist(&client.transport()))?;
            kubeconfig::of_cluster(&client, cluster, &user)
        }
    };
    if arguments.merge {
        return kubeconfig::merge(&path()?, &config, false);
    }
    let text = kubeconfig::yaml(&config)?;
    match &arguments.out {
        None => output.line(text.trim_end()),
        Some(file) => write_private(file, &text)
            .map_err(|error| Failure::input(format!("cannot write {}: {error}", file.display()), "")),
    }
}

impl Arguments {
    /// The certificate of the user that was asked for.
    fn certificate(&self, directory: &Directory) -> Result<Option<Pair>, Failure> {
        let Some(user) = &self.user else { return Ok(None) };
        if self.groups.len() > MAX_GROUPS {
            let hint = "kubectl's --as-group adds groups to a user that may impersonate";
            return Err(Failure::input(format!("a certificate holds at most {MAX_GROUPS} groups"), hint));
        }
        let groups: Vec<&str> = self.groups.iter().map(String::as_str).collect();
        let certificate = LandscapeAuthority::of(directory)?.client(user, &groups);
        certificate.map(Some).map_err(|error| Failure::input(format!("user `{user}`: {error}"), ""))
    }
}
