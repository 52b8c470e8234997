// SPDX-License-Identifier: Apache-2.0
//! `terrarium status`: what runs, and what time waits for.

use api::core::Shoot;
use api::kubernetes::core::Pod;
use clap::Args;
use controller::{Api, ListOptions};
use domain::skew::GardenerVersion;
use domain::skew::releases::{kubernetes_minors, supports_kubernetes};
use serde_json::json;

use super::client::Client;
use super::{Which, block_on, up};
use crate::failure::Failure;
use crate::output::Output;

/// Show processes, clock and log of a landscape
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// One JSON object
    #[arg(short = 'o', long = "output", value_parser = ["text", "json"], default_value = "text")]
    output: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    let (clock, pods, shoots) = block_on(async {
        let clock = client.clock().await?;
        let pods = Api::<Pod>::all(&client.context(), "*").list(&ListOptions::labelled("app=gardener")).await;
        let (pods, _) = pods.map_err(|error| Failure::Failed(error.to_string()))?;
        let shoots = Api::<Shoot>::all(&client.context(), "garden").list(&ListOptions::default()).await;
        // Without a gardener-apiserver there are no Shoots to ask for; the rest can be told all the same.
        Ok((clock, pods, shoots.map(|(shoots, _)| shoots).unwrap_or_default()))
    })?;
    let dropped = dropped_versions(&client.facts.gardener_version, &shoots);
    if arguments.output == "json" {
        let mut object = up::object(&client);
        object["clock"] = json!(clock);
        object["warnings"] = json!(dropped.iter().collect::<Vec<_>>());
        return output.line(&object.to_string());
    }
    output.line(&format!(
        "landscape {} · Gardener {} (emulated) · https://{} · process {}",
        client.facts.name, client.facts.gardener_version, client.host.address, client.host.pid
    ))?;
    output.line(&format!("clock {}", super::clock::summary(&clock)))?;
    for line in super::clock::waits(&clock) {
        output.line(&line)?;
    }
    for pod in pods {
        let container = pod.status.container_statuses.first();
        let ready = container.is_some_and(|container| container.ready);
        let restarts = container.map_or(0, |container| container.restart_count);
        let waiting = container.and_then(|container| container.state.waiting.as_ref());
        let state = waiting.map_or(pod.status.phase.as_str(), |waiting| waiting.reason.as_str());
        let image = pod.spec.containers.first().map_or("", |container| container.image.as_str());
        let version = image.rsplit_once(':').map_or("", |(_, tag)| tag);
        let name = &pod.metadata.name;
        output.line(&format!("  {name:<56} {version:<10} {state:<18} ready {ready}  restarts {restarts}"))?;
    }
    if let Some(warning) = dropped {
        output.line(&format!("warning {warning}"))?;
    }
    Ok(())
}

/// How many clusters are named.
const NAMED: usize = 3;

/// `W3 KubernetesVersionDropped`: Shoots on a Kubernetes version that the emulated Gardener does not support. They go on
/// in profile `documents`, and fail in profile `upstream`.
fn dropped_versions(gardener: &str, shoots: &[Shoot]) -> Option<String> {
    let gardener = GardenerVersion::parse(gardener)?;
    let is_outside = |shoot: &&Shoot| !supports_kubernetes(&gardener, &shoot.spec.kubernetes.version);
    let outside: Vec<&Shoot> = shoots.iter().filter(is_outside).collect();
    if outside.is_empty() {
        return None;
    }
    let (oldest, newest) = kubernetes_minors(&gardener);
    let name = |shoot: &&Shoot| {
        let meta = &shoot.metadata;
        format!("{}/{} ({})", meta.namespace, meta.name, shoot.spec.kubernetes.version)
    };
    let mut names: Vec<String> = outside.iter().take(NAMED).map(name).collect();
    if outside.len() > NAMED {
        names.push(format!("and {} more", outside.len() - NAMED));
    }
    Some(format!(
        "W3 KubernetesVersionDropped: Gardener v{gardener} supports Kubernetes 1.{oldest} to 1.{newest}; outside of it: {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shoots_on_versions_outside_of_the_list_are_named() {
        let shoot = |name: &str, version: &str| {
            let mut shoot = Shoot::default();
            shoot.metadata.namespace = "garden-demo".to_owned();
            shoot.metadata.name = name.to_owned();
            shoot.spec.kubernetes.version = version.to_owned();
            shoot
        };
        assert_eq!(dropped_versions("v1.120.0", &[shoot("a", "1.27.1"), shoot("b", "1.32.9")]), None);
        let some = ["a", "b", "c", "d", "e"].map(|name| shoot(name, "1.26.4"));
        assert_eq!(
            dropped_versions("v1.120.0", &some).as_deref(),
            Some(
                "W3 KubernetesVersionDropped: Gardener v1.120.0 supports Kubernetes 1.27 to 1.32; outside of it: \
                 garden-demo/a (1.26.4), garden-demo/b (1.26.4), garden-demo/c (1.26.4), and 2 more"
            )
        );
    }
}
