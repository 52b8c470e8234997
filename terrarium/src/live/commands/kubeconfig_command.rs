// SPDX-License-Identifier: Apache-2.0
//! `terrarium kubeconfig`: prints a landscape's kubeconfig, or merges it into a file.

use std::path::PathBuf;

use clap::Args;
use process::pki::MAX_GROUPS;
use serde_json::Value;

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::credential::{self, CredentialOptions};
use crate::live::directory::write_private;
use crate::live::kubeconfig::{self, User};
use crate::live::{KubeconfigFile, Which, block_on, up};
use crate::output::Output;
use ops::names::clusters::NamedCluster;

/// Print a kubeconfig with the contexts of a landscape
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    file: KubeconfigFile,
    /// Only this cluster: garden, runtime, seed/NAME or shoot/PROJECT/NAME [default: all but shoots]
    #[arg(value_name = "CLUSTER", conflicts_with = "unmerge")]
    cluster: Option<NamedCluster>,
    #[command(flatten)]
    wanted: CredentialOptions,
    /// For a Shoot: with one certificate, which expires, for a machine without terrarium [default: clients ask terrarium
    /// for one whenever they start]
    #[arg(long = "static")]
    is_static: bool,
    /// Write it to this file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["merge", "unmerge"])]
    out: Option<PathBuf>,
    /// Merge it into the kubeconfig file instead
    #[arg(long, conflicts_with = "unmerge")]
    merge: bool,
    /// Remove the landscape's contexts from the kubeconfig file
    #[arg(long, conflicts_with_all = ["user", "viewer", "expiration", "is_static"])]
    unmerge: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let path = || {
        let missing = || Failure::input("there is no kubeconfig file to change", "name one with --kubeconfig");
        arguments.file.path().ok_or_else(missing)
    };
    if arguments.unmerge {
        return kubeconfig::unmerge(&path()?, &arguments.which.name(), &arguments.which.directory()?.real());
    }
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    let wanted = &arguments.wanted;
    let config = match &arguments.cluster {
        Some(NamedCluster::Shoot(name)) => {
            let name = &block_on(client.shoot(name))?;
            let mut config = block_on(credential::kubeconfig(&client, name, wanted))?;
            if !arguments.is_static {
                credential::renew(&mut config, &directory, &client.facts.name, name, wanted)?;
            }
            config
        }
        _ if wanted.viewer || wanted.expiration.is_some() || arguments.is_static => {
            let hint = "name one: `terrarium kubeconfig shoot/PROJECT/NAME`";
            return Err(Failure::input("--viewer, --expiration and --static are for the kubeconfig of a shoot", hint));
        }
        cluster => arguments.own(&client, cluster.as_ref())?,
    };
    if arguments.merge {
        return kubeconfig::merge(&path()?, &config, false, &arguments.file.of_kubectl()).map(drop);
    }
    let text = kubeconfig::yaml(&config)?;
    match &arguments.out {
        None => output.line(text.trim_end()),
        Some(file) => write_private(file, &text)
            .map_err(|error| Failure::input(format!("cannot write {}: {error}", file.display()), "")),
    }
}

impl Arguments {
    /// Returns the kubeconfig of clusters whose users belong to the landscape.
    fn own(&self, client: &Client, cluster: Option<&NamedCluster>) -> Result<Value, Failure> {
        let CredentialOptions { user, groups, .. } = &self.wanted;
        if groups.len() > MAX_GROUPS {
            let hint = "kubectl's --as-group adds groups to a user that may impersonate";
            return Err(Failure::input(format!("a certificate holds at most {MAX_GROUPS} groups"), hint));
        }
        let authorities = &client.cluster_authorities;
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let user = match user {
            Some(name) => User::OfCluster { authorities, name, groups: &groups },
            None => User::admin(authorities),
        };
        match cluster {
            None => kubeconfig::of(client, &up::seed_names(client.facts.seeds), &user),
            Some(cluster) => {
                block_on(async { Ok(cluster.must_exist(&client.transport()).await?) })?;
                kubeconfig::of_cluster(client, cluster, &user)
            }
        }
    }
}
