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
use domain::garden::rollout::is_end_of_landscape;
use domain::profile::Profile;
use domain::skew::Landscape;
use host::registry;
use ops::upgrade::components::{crashes, pods_of};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// May be met later.
    Yet(String),
    /// A component's version must not run together with the others: the condition will not be met.
    Refused(String),
}

/// Finds the first condition that is not met; `None`: the landscape is ready.
pub(super) async fn look(client: &Client, context: &process::Context) -> Result<Option<Missing>, controller::Error> {
    let (deployments, _) = Api::<Deployment>::all(context, "*").list(&ListOptions::labelled("app=gardener")).await?;
    let has_operator = client.facts.operator == Some(true);
    let deployments: Vec<Arc<Deployment>> = deployments.into_iter().map(Arc::new).collect();
    let stopped = stopped(&deployments);
    let yet = |what: String| Ok(Some(Missing::Yet(after_stopped(&stopped, what))));
    let lacks = lacks(&deployments, has_operator, client.facts.seeds as usize);
    let unavailable: Vec<Arc<Deployment>> = deployments.into_iter().filter(|one| is_unavailable(one)).collect();
    if !unavailable.is_empty() {
        let (pods, _) = Api::<Pod>::all(context, "*").list(&ListOptions::labelled("app=gardener")).await?;
        let pods: Vec<Arc<Pod>> = pods.into_iter().map(Arc::new).collect();
        let leases = Api::<Lease>::namespaced(context, cluster::GARDEN, namespace::INSTANCES);
        let (leases, _) = leases.list(&ListOptions::default()).await?;
        let running = registry::landscape(leases.iter().map(|lease| &lease.metadata), "");
        let profile = Profile::named(&client.facts.profile).unwrap_or_default();
        if let Some(missing) = first_unavailable(&unavailable, &pods, &running, profile) {
            return match missing {
                Missing::Yet(what) => yet(what),
                refused @ Missing::Refused(_) => Ok(Some(refused)),
            };
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
    let ready = seeds.iter().filter(|seed| seed_lacks(seed).is_none()).count();
    let wanted = client.facts.seeds as usize;
    if ready < wanted { yet(format!("{ready} of {wanted} Seeds")) } else { Ok(None) }
}

/// Reason for which a Seed is not ready; `None`: it is ready, as in column STATUS. Extensions may still be missing.
pub(super) fn seed_lacks(seed: &Seed) -> Option<String> {
    match &seed.status.last_operation {
        None => return Some("no gardenlet reconciles it".to_owned()),
        Some(operation) if operation.state != "Succeeded" => return Some(operation.description.clone()),
        Some(_) => {}
    }
    let wanted: [(&str, &[&str]); 2] =
        [(condition::SEED_GARDENLET_READY, &["True"]), (condition::SEED_EXTENSIONS_READY, &["True", "Progressing"])];
    wanted.into_iter().find_map(|(type_, accepted)| lacks_condition(seed, type_, accepted))
}

/// Reason for which a condition of a Seed has no accepted status.
pub(super) fn lacks_condition(seed: &Seed, type_: &str, accepted: &[&str]) -> Option<String> {
    match seed.status.conditions.iter().find(|condition| condition.r#type == type_) {
        None => Some(format!("condition {type_} is missing")),
        Some(condition) if accepted.contains(&condition.status.as_str()) => None,
        Some(condition) => Some(format!("condition {type_} is {}: {}", condition.status, condition.message)),
    }
}

/// Names of the Deployments that are to have no instances: others may wait for them.
fn stopped(deployments: &[Arc<Deployment>]) -> Vec<String> {
    let stopped = deployments.iter().filter(|deployment| deployment.spec.replicas == Some(0));
    let mut names: Vec<String> = stopped.map(|deployment| deployment.metadata.name.clone()).collect();
    // Each Seed has a gardenlet.
    names.dedup();
    names
}

/// A condition that is not met, after the Deployments without instances.
fn after_stopped(stopped: &[String], what: String) -> String {
    match stopped {
        [] => what,
        [one] => format!("Deployment {one} has 0 replicas; {what}"),
        all => format!("Deployments {} have 0 replicas; {what}", all.join(", ")),
    }
}

fn is_unavailable(deployment: &Deployment) -> bool {
    deployment.status.available_replicas < deployment.spec.replicas.unwrap_or(1)
}

/// Reason for which some Deployments are unavailable: a process that is refused, else one that fails, since others may only
/// wait for it, else the first one.
fn first_unavailable(
    deployments: &[Arc<Deployment>],
    pods: &[Arc<Pod>],
    running: &Landscape,
    profile: Profile,
) -> Option<Missing> {
    let crashes_of = |deployment: &Arc<Deployment>| crashes(std::slice::from_ref(deployment), pods);
    // A process that was refused because of another process that has ended since is started again.
    let ended: Vec<_> = deployments.iter().flat_map(crashes_of).collect();
    if let Some(refused) = ended.iter().find(|crash| crash.is_refused() && crash.is_lasting(running, profile)) {
        let line = refused.line.trim_start_matches("Error: ");
        return Some(Missing::Refused(format!("{} did not start: {line}", refused.component)));
    }
    let fails = |deployment: &&Arc<Deployment>| !crashes_of(deployment).is_empty();
    let deployment = deployments.iter().find(fails).or_else(|| deployments.first())?;
    let own = pods_of(deployment, pods);
    let words = own.iter().filter_map(|pod| pod.status.container_statuses.first()).find_map(|container| {
        let last = container.last_state.terminated.as_ref().filter(|last| !is_end_of_landscape(last));
        let waiting = container.state.waiting.as_ref();
        last.map(|last| last.message.clone()).or_else(|| Some(format!("{}: {}", waiting?.reason, waiting?.message)))
    });
    let name = &deployment.metadata.name;
    let wanted = deployment.spec.replicas.unwrap_or(1);
    let counts = || format!("{name}: {} of {wanted} instances are available", deployment.status.available_replicas);
    Some(Missing::Yet(words.map_or_else(counts, |words| format!("{name}:\n{words}"))))
}

/// First component without its Deployments; `seeds`: number of Seeds that have a gardenlet and an extension each.
fn lacks(deployments: &[Arc<Deployment>], has_operator: bool, seeds: usize) -> Option<String> {
    let of_seed = Program::ALL.into_iter().filter(|program| program.is_of_seed());
    let count = |program: &Program| deployments.iter().filter(|one| one.metadata.name == program.name()).count();
    let control_plane =
        ops::upgrade::components::missing(deployments, has_operator, &[], &[]).into_iter().map(|row| row.component);
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

#[cfg(test)]
mod tests {
    use api::constants::annotation;
    use domain::garden::rollout::{STOPPED, UNOBSERVED};
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(tree: Value) -> Arc<T> {
        Arc::new(serde_json::from_value(tree).expect("an object"))
    }

    fn deployment(name: &str) -> Arc<Deployment> {
        let labels = json!({ "app": "gardener", "role": name });
        let containers = json!([{ "name": name, "image": "gardener/image:v1.122.0" }]);
        read(json!({
            "metadata": { "name": name, "annotations": { annotation::CLUSTER: "runtime" } },
            "spec": {
                "replicas": 1, "selector": { "matchLabels": labels }, "template": { "spec": { "containers": containers } },
            },
        }))
    }

    fn pod(name: &str, container: &Value) -> Arc<Pod> {
        read(json!({
            "metadata": {
                "name": format!("{name}-1"), "labels": { "app": "gardener", "role": name },
                "annotations": { annotation::CLUSTER: "runtime" },
            },
            "spec": { "containers": [{ "name": name, "image": "gardener/image:v1.122.0" }] },
            "status": { "containerStatuses": [container] },
        }))
    }

    fn ended(code: i32, reason: &str, message: &str) -> Value {
        json!({
            "state": { "running": {} }, "restartCount": 4,
            "lastState": { "terminated": { "exitCode": code, "reason": reason, "message": message } },
        })
    }

    #[test]
    fn deployments_without_instances_are_named_before_those_that_wait() {
        let mut deployments = ["gardener-apiserver", "gardener-scheduler", "gardenlet"].map(deployment);
        let what = || "gardenlet: 0 of 1 instances are available".to_owned();
        assert_eq!(after_stopped(&stopped(&deployments), what()), what());
        Arc::make_mut(&mut deployments[0]).spec.replicas = Some(0);
        let one = "Deployment gardener-apiserver has 0 replicas; gardenlet: 0 of 1 instances are available";
        assert_eq!(after_stopped(&stopped(&deployments), what()), one);
        Arc::make_mut(&mut deployments[1]).spec.replicas = Some(0);
        let two = "Deployments gardener-apiserver, gardener-scheduler have 0 replicas; gardenlet: 0 of 1 instances are \
                   available";
        assert_eq!(after_stopped(&stopped(&deployments), what()), two);
    }

    /// Containers of gardener-admission-controller and gardener-apiserver; the condition that is not met.
    #[test]
    fn a_refused_component_is_named_before_those_that_wait() {
        let line = "Error: failed verifying Gardener version: no [rule=T2, component=gardener-apiserver, \
                    version=v1.122.0, against=1.120.0]";
        let refused =
            Missing::Refused(format!("gardener-apiserver did not start: {}", line.trim_start_matches("Error: ")));
        let yet = |text: &str| Missing::Yet(text.to_owned());
        let (waits, stopped) = (json!({ "state": { "running": {} } }), ended(0, "Completed", STOPPED));
        let killed = ended(137, UNOBSERVED, "the host before, process 7, was killed");
        for (admission, apiserver, expected) in [
            (stopped.clone(), ended(3, "Error", line), refused.clone()),
            (killed.clone(), ended(3, "Error", line), refused),
            (killed.clone(), ended(1, "Error", "error: no"), yet("gardener-apiserver:\nerror: no")),
            (stopped, killed, yet("gardener-admission-controller: 0 of 1 instances are available")),
            (
                json!({ "state": { "waiting": { "reason": "ImagePullBackOff", "message": "m" } } }),
                waits,
                yet("gardener-admission-controller:\nImagePullBackOff: m"),
            ),
        ] {
            let names = ["gardener-admission-controller", "gardener-apiserver"];
            let pods = [pod(names[0], &admission), pod(names[1], &apiserver)];
            let found = first_unavailable(&names.map(deployment), &pods, &Landscape::default(), Profile::Documents);
            assert_eq!(found, Some(expected), "{admission} {apiserver}");
        }
    }
}
