// SPDX-License-Identifier: Apache-2.0
//! The roll-out of a cluster's pools: desired and actual state, and each machine with its node.

use std::collections::BTreeMap;

use api::cluster;
use api::constants::label;
use api::core::Shoot;
use api::kubernetes::core::Node;
use api::machine::{Machine, MachineDeployment};
use apimachinery::meta::IntOrString;
use controller::Error;
use domain::rollout::Limits;
use maud::{Markup, html};
use ops::explain::lines::Line;
use ops::why::nodes::Cluster;

use super::strip;
use crate::message::Message;
use crate::parts::table;
use crate::view::View;

/// Labels of a Node that is updated in place.
const IN_PLACE: [&str; 3] = [label::CANDIDATE_FOR_UPDATE, label::SELECTED_FOR_UPDATE, label::UPDATE_RESULT];
/// Label of a Machine with the name of its Node.
const NODE: &str = "node";

pub(super) async fn draw(view: &View, shoot: &Shoot) -> Markup {
    match read(view, shoot).await {
        Ok(Some(markup)) => markup,
        Ok(None) => html! { p { "It has no seed yet, so there are no machines." } },
        Err(error) => Message::of_error("machines cannot be read", &error).markup(),
    }
}

async fn read(view: &View, shoot: &Shoot) -> Result<Option<Markup>, Error> {
    let seed = shoot.status.seed_name.as_ref().or(shoot.spec.seed_name.as_ref());
    let namespace = &shoot.status.technical_id;
    let Some(seed) = seed.filter(|_| !namespace.is_empty()) else { return Ok(None) };
    let seed = cluster::of_seed(seed);
    let mut deployments = view.list::<MachineDeployment>(&seed, Some(namespace), "").await?;
    let mut machines = view.list::<Machine>(&seed, Some(namespace), "").await?;
    // Before the cluster's API server exists, its nodes are unknown.
    let nodes = view.list::<Node>(namespace, None, "").await.unwrap_or_default();
    let nodes: BTreeMap<&str, &Node> = nodes.iter().map(|node| (node.metadata.name.as_str(), node)).collect();
    deployments.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    machines.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    let cluster = drained(view, shoot, namespace, &machines).await;
    let pools = deployments.iter().map(|deployment| {
        let own = machines.iter().filter(|machine| is_of(machine, deployment, &deployments));
        pool(deployment, own, &cluster)
    });
    let pools: Vec<Vec<Markup>> = pools.collect();
    let classes: Vec<&str> = deployments.iter().map(|it| it.spec.template.spec.class.name.as_str()).collect();
    let has_marks = |node: &&Node| IN_PLACE.iter().any(|label| node.metadata.labels.contains_key(label));
    let in_place = nodes.values().copied().any(|node| has_marks(&node));
    let rows = machines.iter().map(|machine| {
        let mut cells = cells(machine, &classes, &nodes, &cluster);
        if in_place {
            cells.push(update_in_place(view, shoot, machine, &nodes));
        }
        cells
    });
    let rows: Vec<Vec<Markup>> = rows.collect();
    let mut headers =
        vec!["Machine", "Template", "Phase", "Node", "Node ready", "Cordoned", "Pods to drain", "Last operation"];
    headers.extend(in_place.then_some("Update in place"));
    let strip = strip::draw(view, &seed, namespace, &machines, &classes).await;
    Ok(Some(html! {
        (table::plain("Worker pools and zones", &["MachineDeployment", "Wanted", "Present", "Updated", "Ready", "Strategy", "Budget", "Waits for"], &pools))
        @if rows.is_empty() { p { "No machines." } }
        @else { (table::plain("Machines", &headers, &rows)) }
        (strip)
    }))
}

/// Reads nodes and pods of the cluster, if nodes may be drained, as `terrarium why` does.
async fn drained(view: &View, shoot: &Shoot, namespace: &str, machines: &[Machine]) -> Cluster {
    let is_on_its_way = |machine: &Machine| machine.metadata.is_being_deleted() || phase(machine) != "Running";
    if shoot.status.in_place_updates.is_none() && !machines.iter().any(is_on_its_way) {
        return Cluster::default();
    }
    // Before the cluster's API server exists, its nodes are unknown.
    Cluster::read(&view.reading_context(), namespace, view.now()).await.unwrap_or_default()
}

fn phase(machine: &Machine) -> &str {
    &machine.status.current_status.phase
}

/// True if a Machine belongs to a MachineDeployment: the one with the longest name that the Machine's name begins with.
fn is_of(machine: &Machine, deployment: &MachineDeployment, all: &[MachineDeployment]) -> bool {
    let begins = |it: &&MachineDeployment| {
        machine.metadata.name.strip_prefix(&it.metadata.name).is_some_and(|rest| rest.starts_with('-'))
    };
    let own = all.iter().filter(begins).max_by_key(|it| it.metadata.name.len());
    own.is_some_and(|own| own.metadata.name == deployment.metadata.name)
}

/// Returns what the Machines of a pool wait for, one sentence each.
fn waits<'a>(machines: impl Iterator<Item = &'a Machine>, cluster: &Cluster) -> Vec<String> {
    let mut waits = Vec::new();
    for machine in machines {
        let name = &machine.metadata.name;
        match phase(machine) {
            "Running" => {}
            "" => waits.push(format!("Machine {name}: machine-controller-manager has not begun")),
            phase => waits.push(format!("Machine {name}: {phase}: {}", machine.status.last_operation.description)),
        }
        waits.extend(cluster.lines(machine).iter().map(Line::sentence));
    }
    waits
}

/// Shows the progress of a node's update in place, and the form that selects it if the pool waits for that.
fn update_in_place(view: &View, shoot: &Shoot, machine: &Machine, nodes: &BTreeMap<&str, &Node>) -> Markup {
    let name = machine.metadata.labels.get(NODE).map(String::as_str).unwrap_or_default();
    let Some(node) = nodes.get(name) else { return html! {} };
    let has = |label: &str| node.metadata.labels.contains_key(label);
    let is_candidate = has(label::CANDIDATE_FOR_UPDATE);
    let is_selected = has(label::SELECTED_FOR_UPDATE);
    html! {
        @if let Some(result) = node.metadata.labels.get(label::UPDATE_RESULT) { (result) }
        @else if is_selected { "selected" }
        @else if is_candidate { "candidate" }
        @if is_candidate && !is_selected && view.at.is_none() {
            " " form.inline method="post" action="/dashboard/do/cluster" {
                (super::about(view, shoot))
                input type="hidden" name="node" value=(name);
                button type="submit" name="step" value="select-node" aria-label={"Update this node, " (name)} { "Update this node" }
            }
        }
    }
}

fn pool<'a>(
    deployment: &MachineDeployment,
    machines: impl Iterator<Item = &'a Machine>,
    cluster: &Cluster,
) -> Vec<Markup> {
    let (wanted, status) = (deployment.spec.replicas, &deployment.status);
    let strategy = &deployment.spec.strategy;
    let budget = strategy.rolling_update.as_ref().map(|update| {
        let text = |value: Option<&IntOrString>| value.map_or_else(|| "default".to_owned(), ToString::to_string);
        let (surge, unavailable) = (update.max_surge.as_ref(), update.max_unavailable.as_ref());
        let Some((max_surge, max_unavailable)) = surge.cloned().zip(unavailable.cloned()) else {
            return format!("surge {}, unavailable {}", text(surge), text(unavailable));
        };
        let (more, fewer) = Limits { max_surge, max_unavailable }.resolve(wanted);
        format!(
            "surge {} → at most {}, unavailable {} → at least {} ready",
            text(surge),
            wanted.saturating_add(more),
            text(unavailable),
            wanted.saturating_sub(fewer)
        )
    });
    let details = self::waits(machines, cluster);
    let mut waits = Vec::new();
    if status.updated_replicas < wanted {
        waits.push(format!("{} to be updated", wanted - status.updated_replicas));
    }
    if status.replicas > wanted {
        waits.push(format!("{} to go", status.replicas - wanted));
    }
    if status.ready_replicas < wanted {
        waits.push(format!("{} to become ready", wanted - status.ready_replicas));
    }
    vec![
        html! { (deployment.metadata.name) },
        html! { (wanted) },
        html! { (status.replicas) },
        html! { (status.updated_replicas) },
        html! { (status.ready_replicas) },
        html! { (strategy.r#type) },
        html! { (budget.unwrap_or_default()) },
        html! { @if waits.is_empty() { "nothing" } @else { (waits.join(", ")) }
        @if !details.is_empty() { ul.waits { @for line in &details { li { (line) } } } } },
    ]
}

fn cells(machine: &Machine, classes: &[&str], nodes: &BTreeMap<&str, &Node>, cluster: &Cluster) -> Vec<Markup> {
    let name = machine.metadata.labels.get(NODE).map(String::as_str).unwrap_or_default();
    let node = nodes.get(name);
    let ready = node.and_then(|node| node.status.conditions.iter().find(|it| it.r#type == "Ready"));
    let is_new = classes.contains(&machine.spec.class.name.as_str());
    let phase = phase(machine);
    vec![
        html! { (machine.metadata.name) },
        html! { @if is_new { span.badge.v-supported { "new" } } @else { span.badge.v-deprecated { "old" } } },
        html! { @if phase.is_empty() { "none yet" } @else { (phase) } @if machine.metadata.deletion_timestamp.is_some() { ", is deleted" } },
        html! { (name) },
        html! { @match ready { Some(ready) => { span class={"chip c-" (ready.status)} { (ready.status) } } None => { "–" } } },
        html! { @if node.is_some_and(|node| node.spec.unschedulable) { "cordoned" } @else { "no" } },
        html! { @match cluster.left(machine) { Some(left) => { (left) } None => { "–" } } },
        html! { (machine.status.last_operation.description) },
    ]
}
