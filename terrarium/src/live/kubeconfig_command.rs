// SPDX-License-Identifier: Apache-2.0
//! `terrarium kubeconfig`: prints a landscape's kubeconfig, or merges it into a file.

use std::path::PathBuf;

use apimachinery::meta::ObjectMeta;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use clap::Args;
use process::pki::MAX_GROUPS;
use serde_json::{Value, json};

use super::ask::clusters::ClusterName;
use super::ask::instant::duration;
use super::ask::{self, shoots::ShootName};
use super::client::Client;
use super::directory::write_private;
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
    /// Only this cluster: garden, runtime, seed/NAME or shoot/PROJECT/NAME [default: all but shoots]
    #[arg(value_name = "CLUSTER", conflicts_with = "unmerge")]
    cluster: Option<ClusterName>,
    /// Of a shoot: with the rights of a viewer
    #[arg(long, requires = "cluster")]
    viewer: bool,
    /// Of a shoot: how long it is valid, of landscape time (`30m`, `24h`) [default: 1h]
    #[arg(long, value_name = "D", requires = "cluster", value_parser = duration)]
    expiration: Option<TimeDelta>,
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

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let path = || {
        let missing = || Failure::input("there is no kubeconfig file to change", "name one with --kubeconfig");
        arguments.file.path().ok_or_else(missing)
    };
    if arguments.unmerge {
        return kubeconfig::unmerge(&path()?, &arguments.which.name());
    }
    let client = Client::of(&arguments.which.directory()?)?;
    let config = match &arguments.cluster {
        Some(ClusterName::Shoot(name)) => block_on(arguments.shoot(&client, name))?,
        _ if arguments.viewer || arguments.expiration.is_some() => {
            let hint = "name one: `terrarium kubeconfig shoot/PROJECT/NAME`";
            return Err(Failure::input("--viewer and --expiration are for the kubeconfig of a shoot", hint));
        }
        cluster => arguments.own(&client, cluster.as_ref())?,
    };
    if arguments.merge {
        return kubeconfig::merge(&path()?, &config, false).map(drop);
    }
    let text = kubeconfig::yaml(&config)?;
    match &arguments.out {
        None => output.line(text.trim_end()),
        Some(file) => write_private(file, &text)
            .map_err(|error| Failure::input(format!("cannot write {}: {error}", file.display()), "")),
    }
}

impl Arguments {
    /// The kubeconfig of clusters whose users are the landscape's.
    fn own(&self, client: &Client, cluster: Option<&ClusterName>) -> Result<Value, Failure> {
        if self.groups.len() > MAX_GROUPS {
            let hint = "kubectl's --as-group adds groups to a user that may impersonate";
            return Err(Failure::input(format!("a certificate holds at most {MAX_GROUPS} groups"), hint));
        }
        let authorities = &client.cluster_authorities;
        let groups: Vec<&str> = self.groups.iter().map(String::as_str).collect();
        let user = match &self.user {
            Some(name) => User::OfCluster { authorities, name, groups: &groups },
            None => User::admin(authorities),
        };
        match cluster {
            None => kubeconfig::of(client, &up::seed_names(client.facts.seeds), &user),
            Some(cluster) => {
                block_on(cluster.must_exist(&client.transport()))?;
                kubeconfig::of_cluster(client, cluster, &user)
            }
        }
    }

    /// The kubeconfig of a shoot, by the road that every user takes.
    async fn shoot(&self, client: &Client, shoot: &ShootName) -> Result<Value, Failure> {
        let (transport, shoot) = (client.transport(), shoot.find(&client.context()).await?);
        let ObjectMeta { namespace, name, .. } = &shoot.metadata;
        let (kind, resource) = if self.viewer {
            ("ViewerKubeconfigRequest", "viewerkubeconfig")
        } else {
            ("AdminKubeconfigRequest", "adminkubeconfig")
        };
        let mut request = json!({ "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": kind, "spec": {} });
        if let Some(expiration) = self.expiration {
            request["spec"]["expirationSeconds"] = json!(expiration.num_seconds());
        }
        let path = format!(
            "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/{namespace}/shoots/{name}/{resource}"
        );
        let impersonated = self.user.iter().map(|user| ("Impersonate-User", user.as_str()));
        let impersonated: Vec<_> =
            impersonated.chain(self.groups.iter().map(|group| ("Impersonate-Group", group.as_str()))).collect();
        let answer = ask::create(&transport, &path, &impersonated, &request).await?;
        let unreadable = || Failure::Failed(format!("{kind}: the answer holds no kubeconfig"));
        let text = answer["status"]["kubeconfig"].as_str().ok_or_else(unreadable)?;
        let text = STANDARD.decode(text).map_err(|_| unreadable())?;
        serde_yaml_ng::from_slice(&text).map_err(|_| unreadable())
    }
}
