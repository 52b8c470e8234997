// SPDX-License-Identifier: Apache-2.0
//! Conditions that a landscape waits for until it is ready: Deployments, the Garden, APIServices, Seeds.

use std::sync::Arc;

use api::cluster;
use api::constants::{condition, namespace};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Pod;
use api::operator::Garden;
use controller::{Api, ListOptions};
use domain::garden::components::Program;
use domain::profile::Profile;
use host::registry;
use ops::upgrade::components::crashes;

use crate::live::client::Client;

/// First condition that is not met, with details.
pub(in crate::live) async fn missing(
    client: &Client,
    context: &process::Context,
) -> Result<Option<String>, controller::Error> {
    Ok(look(client, context).await?.map(|missing| match missing {
        Missing::Yet(what) | Missing::Refused(what) => what,
    }))
}

/// Condition that is not met.
pub(super) enum Missing {
    /// May be met later.
    Yet(String),
    /// A component's version must not run together with the others: the condition will not be met.
    Refused(String),
}

/// Finds the first condition that is not met; `None`: the landscape is ready.
pub(super) async fn look(client: &Client, context: &process::Context) -> Result<Option<Missing>, controller::Error> {
    let yet = |what: String| Ok(Some(Missing::Yet(what)));
    let (deployments, _) = Api::<Deployment>::all(context, "*").list(&ListOptions::labelled("app=gardener")).await?;
    let has_operator = client.facts.operator == Some(true);
    let deployments: Vec<Arc<Deployment>> = deployments.into_iter().map(Arc::new).collect();
    let lacks = lacks(&deployments, has_operator, client.facts.seeds as usize);
    for deployment in deployments {
        let wanted = deployment.spec.replicas.unwrap_or(1);
        if deployment.status.available_replicas < wanted {
            let labels = ListOptions::labelled(&format!("role={}", deployment.metadata.name));
            let (pods, _) = Api::<Pod>::all(context, "*").list(&labels).await?;
            let pods: Vec<Arc<Pod>> = pods.into_iter().map(Arc::new).collect();
            let leases = Api::<Lease>::namespaced(context, cluster::GARDEN, namespace::INSTANCES);
            let (leases, _) = leases.list(&ListOptions::default()).await?;
            let running = registry::landscape(leases.iter().map(|lease| &lease.metadata), "");
            let profile = Profile::named(&client.facts.profile).unwrap_or_default();
            // A process that was refused because of another process that has ended since is started again.
            let ended = crashes(std::slice::from_ref(&deployment), &pods);
            let refused = ended.iter().find(|crash| crash.is_refused() && crash.is_lasting(&running, profile));
            if let Some(refused) = refused {
                let line = refused.line.trim_start_matches("Error: ");
                return Ok(Some(Missing::Refused(format!("{} did not start: {line}", deployment.metadata.name))));
            }
            let containers = || pods.iter().filter_map(|pod| pod.status.container_statuses.first());
            let words = containers().find_map(|container| {
                let last = container.last_state.terminated.as_ref();
                let waiting = container.state.waiting.as_ref();
                last.map(|last| last.message.clone())
                    .or_else(|| Some(format!("{}: {}", waiting?.reason, waiting?.message)))
            });
            let name = &deployment.metadata.name;
            return yet(words.map_or_else(|| name.clone(), |words| format!("{name}:\n{words}")));
        }
    }
    if has_operator && let Some(what) = garden_lacks(context).await? {
        return yet(what);
    }
    if let Some(component) = lacks {
        return yet(format!("there is no Deployment {component}"));
    }
    if let Some(name) = client.unavailable_api_service().await {
        return yet(format!("APIService {name} is not available"));
    }
    let (seeds, _) = Api::<Seed>::all(context, cluster::GARDEN).list(&ListOptions::default()).await?;
    // Same as column STATUS: extensions may still be missing.
    let is_ready = |seed: &Seed| {
        let status = |type_: &str| {
            let condition = seed.status.conditions.iter().find(|it| it.r#type == type_);
            condition.map_or("", |condition| condition.status.as_str())
        };
        seed.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded")
            && status(condition::SEED_GARDENLET_READY) == "True"
            && matches!(status(condition::SEED_EXTENSIONS_READY), "True" | "Progressing")
    };
    let ready = seeds.iter().filter(|seed| is_ready(seed)).count();
    let wanted = client.facts.seeds as usize;
    if ready < wanted { yet(format!("{ready} of {wanted} Seeds")) } else { Ok(None) }
}

/// First component without its Deployments; `seeds`: number of Seeds that have a gardenlet and an extension each.
fn lacks(deployments: &[Arc<Deployment>], has_operator: bool, seeds: usize) -> Option<String> {
    let of_seed = Program::ALL.into_iter().filter(|program| program.is_of_seed());
    let count = |program: &Program| deployments.iter().filter(|one| one.metadata.name == program.name()).count();
    let control_plane =
        ops::upgrade::components::missing(deployments, has_operator, &[]).into_iter().map(|row| row.component);
    control_plane.chain(of_seed.filter(|program| count(program) < seeds).map(|it| it.name().to_owned())).next()
}

/// Reason for which the Garden is not ready; `None`: it is reconciled.
async fn garden_lacks(context: &process::Context) -> Result<Option<String>, controller::Error> {
    let (gardens, _) = Api::<Garden>::all(context, cluster::RUNTIME).list(&ListOptions::default()).await?;
    let Some(garden) = gardens.first() else { return Ok(Some("there is no Garden".to_owned())) };
    let name = &garden.metadata.name;
    Ok(match &garden.status.last_operation {
        Some(operation) if operation.state == "Succeeded" => None,
        Some(operation) => Some(format!("Garden {name}: {}", operation.description)),
        None => Some(format!("Garden {name}: no gardener-operator reconciles it")),
    })
}
