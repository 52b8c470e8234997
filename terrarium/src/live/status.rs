// SPDX-License-Identifier: Apache-2.0
//! `terrarium status`: what runs, and what time waits for.

use api::kubernetes::core::Pod;
use clap::Args;
use controller::{Api, ListOptions};
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
    let (clock, pods) = block_on(async {
        let clock = client.clock().await?;
        let pods = Api::<Pod>::all(&client.context(), "*").list(&ListOptions::labelled("app=gardener")).await;
        let (pods, _) = pods.map_err(|error| Failure::Failed(error.to_string()))?;
        Ok((clock, pods))
    })?;
    if arguments.output == "json" {
        let mut object = up::object(&client);
        object["clock"] = json!(clock);
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
    Ok(())
}
