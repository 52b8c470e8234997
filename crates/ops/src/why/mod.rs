// SPDX-License-Identifier: Apache-2.0
//! Reasons for which a Shoot of a landscape waits, and its next maintenance.
//!
//! Each line names the object and field that it was read from; these objects are the only source. The lines about the next
//! maintenance come from the same functions as the controller's.
//!
//! **Tour.** [`nodes`] reasons for which drains and in-place updates wait; [`preserved`] preserved failed machines;
//! [`pending`] changes of the spec that are not rolled out.

pub mod nodes;
mod pending;
mod preserved;

use std::collections::BTreeMap;

use api::cluster;
use api::constants::{annotation, label, operation};
use api::core::{PendingWorkersRollout, Shoot, Worker};
use api::machine::{Machine, MachineDeployment};
use apimachinery::meta::ObjectMeta;
use chrono::{DateTime, Utc};
use clock::Random;
use controller::{Api, ListOptions};
use domain::cloud_profile::reference_path;
use domain::forecast::{self, Change, Offer, Settings, Subject, refusal};
use domain::maintenance::upcoming;
use domain::release::Release;
use domain::rotation;
use domain::shoot_facts::is_hibernation_enabled;
use domain::versions::Moment;
use domain::worker_pool::manual_rollout;
use process::Context;

use pending::Pending;

use crate::Error;
use crate::explain;
use crate::explain::lines::{About, Line};
use crate::forecast::rows;
use crate::forecast::unmoved;
use crate::gates::gates_for;
use crate::inventory::Inventory;
use crate::names::ProfileKey;
use crate::names::clusters::NamedCluster;
use crate::show;
use crate::spelling::plural;

/// Path of the field that marks a Shoot's deletion.
const DELETED: &str = "metadata.deletionTimestamp";

/// State of a Shoot, with the reasons for which it waits, and its next maintenance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Why {
    /// Current state, and the reasons for which it waits.
    pub present: Vec<Line>,
    /// Its next maintenance.
    pub maintenance: Vec<Line>,
}

impl Why {
    /// Returns all lines below a heading for the Shoot with the displayed name `name`.
    pub fn lines(self, name: &str, now: DateTime<Utc>) -> Vec<Line> {
        let heading = Line::of(format!("Shoot {name} at {}", show(now)));
        let present = self.present.into_iter().map(Line::deeper);
        std::iter::once(heading).chain(present).chain(self.maintenance).collect()
    }
}

/// Examines a Shoot, displayed as `name`; `pool`: the only worker pool to report. `seed`: random seed of the landscape;
/// `release`: release whose rules apply to the forecast of the next maintenance.
///
/// # Errors
/// The Shoot has no such pool; the server's error message.
pub async fn of(
    context: &Context,
    name: &str,
    shoot: &Shoot,
    now: DateTime<Utc>,
    (seed, release): (u64, Release),
    pool: Option<&str>,
) -> Result<Why, Error> {
    if let Some(pool) = pool
        && !shoot.spec.provider.workers.iter().any(|worker| worker.name == *pool)
    {
        let names: Vec<&str> = shoot.spec.provider.workers.iter().map(|worker| worker.name.as_str()).collect();
        return Err(Error::input(
            format!("Shoot {name} has no worker pool {pool}"),
            format!("it has {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") }),
        ));
    }
    let mut why = Why::default();
    let lines = &mut why.present;
    operation(shoot, lines);
    rotations(shoot, lines);
    machines(context, shoot, now, pool, lines).await?;
    in_place(shoot, pool, lines);
    let inventory = Inventory::of_shoot(context, shoot, release).await?;
    let pending = pending::of(context, shoot, pool, &inventory.forms(shoot)).await?;
    lines.extend(pending.lines.iter().cloned());
    lines.extend(last_maintenance(shoot));
    maintenance(&inventory, shoot, (now, seed), pool, &pending, &mut why.maintenance);
    Ok(why)
}

/// Returns changes of a Shoot's spec that are not rolled out to its control plane and nodes, one line each: `FIELD: OLD to
/// NEW; WHEN`.
///
/// # Errors
/// The server's error message.
pub async fn pending(context: &Context, shoot: &Shoot, release: Release) -> Result<Vec<Line>, Error> {
    let inventory = Inventory::of_shoot(context, shoot, release).await?;
    Ok(pending::of(context, shoot, None, &inventory.forms(shoot)).await?.lines)
}

/// Adds the running operation, failures and unhealthy conditions.
fn operation(shoot: &Shoot, lines: &mut Vec<Line>) {
    let status = &shoot.status;
    let operation = match &status.last_operation {
        None => ": none yet: gardenlet has not begun".to_owned(),
        Some(last) => format!(": {} {} ({}%): {}", last.r#type, last.state, last.progress, last.description),
    };
    lines.push(Line::of_field("status.lastOperation").text(operation));
    if shoot.spec.seed_name.is_none() {
        lines.push(Line::of_field("spec.seedName").text(": not set; waits for gardener-scheduler"));
    }
    for error in &status.last_errors {
        let text = format!(": {} [{}]", error.description, error.codes.join(", "));
        lines.push(Line::of_field("status.lastErrors").text(text));
    }
    let (generation, observed) = (shoot.metadata.generation, status.observed_generation);
    if generation != observed {
        let line = Line::of_field("metadata.generation")
            .text(format!(" {generation}, "))
            .field("status.observedGeneration", "status.observedGeneration")
            .text(format!(" {observed}: waits for gardenlet"));
        lines.push(line);
    }
    for (path, conditions) in [("status.conditions", &status.conditions), ("status.constraints", &status.constraints)] {
        for condition in conditions.iter().filter(|condition| condition.status != "True") {
            let text =
                format!(" {}: {} {}: {}", condition.r#type, condition.status, condition.reason, condition.message);
            lines.push(Line::of_field(path).text(text));
        }
    }
    for key in [annotation::OPERATION, annotation::MAINTENANCE_OPERATION, annotation::SHOOT_TASKS] {
        if let Some(value) = shoot.metadata.annotation(key) {
            let when = if key == annotation::MAINTENANCE_OPERATION {
                "waits for the next maintenance"
            } else {
                "waits for gardenlet"
            };
            lines.push(Line::of_annotation(key).text(format!("={value}: {when}")));
        }
    }
    if shoot.metadata.is_being_deleted() {
        let left = shoot.metadata.finalizers.join(", ");
        lines.push(Line::of_field(DELETED).text(format!(" is set; finalizers left: {left}")));
    }
}

fn seed_cluster(shoot: &Shoot) -> Option<(String, String)> {
    let seed = shoot.status.seed_name.as_ref().or(shoot.spec.seed_name.as_ref())?;
    let namespace = Some(shoot.status.technical_id.clone()).filter(|name| !name.is_empty())?;
    Some((cluster::of_seed(seed), namespace))
}

/// Adds roll-outs: replicas that are not up to date, and Machines being created or deleted.
async fn machines(
    context: &Context,
    shoot: &Shoot,
    now: DateTime<Utc>,
    pool: Option<&str>,
    lines: &mut Vec<Line>,
) -> Result<(), Error> {
    let Some((cluster, namespace)) = seed_cluster(shoot) else { return Ok(()) };
    let all = ListOptions::default();
    let deployments = Api::<MachineDeployment>::namespaced(context, &cluster, &namespace).list(&all).await;
    let (deployments, _) = deployments?;
    let pools = pools(shoot, &deployments);
    let is_of = |name: &str| pool.is_none_or(|pool| pools.get(name).is_some_and(|(_, worker)| worker.name == pool));
    for deployment in deployments.iter().filter(|deployment| is_of(&deployment.metadata.name)) {
        let (wanted, status) = (deployment.spec.replicas, &deployment.status);
        let is_done = status.updated_replicas == wanted && status.replicas == wanted && status.ready_replicas == wanted;
        if !is_done {
            let text = format!(
                ": {wanted} wanted; status.updatedReplicas {}, readyReplicas {}, replicas {}",
                status.updated_replicas, status.ready_replicas, status.replicas
            );
            lines.push(of_object("MachineDeployment", "machinedeployment", &cluster, &deployment.metadata).text(text));
        }
    }
    let (machines, _) = Api::<Machine>::namespaced(context, &cluster, &namespace).list(&all).await?;
    let is_on_its_way =
        |machine: &&Machine| machine.metadata.is_being_deleted() || machine.status.current_status.phase != "Running";
    let is_updated = shoot.status.in_place_updates.is_some();
    let nodes = if is_updated || machines.iter().any(|machine| is_on_its_way(&machine)) {
        Some(nodes::Cluster::read(context, &namespace, now).await?)
    } else {
        None
    };
    for machine in machines.iter().filter(|machine| is_of(deployment_of(machine))) {
        let status = &machine.status;
        let phase = &status.current_status.phase;
        let last = &status.last_operation;
        let line = of_object("Machine", "machine", &cluster, &machine.metadata);
        if phase.is_empty() {
            lines.push(line.text(": status is empty; waits for machine-controller-manager"));
        } else if is_on_its_way(&machine) {
            lines.push(line.text(format!(
                ": status.currentStatus.phase {phase}, status.lastOperation {} {}: {}",
                last.r#type, last.state, last.description
            )));
        }
        lines.extend(nodes.iter().flat_map(|nodes| nodes.lines(machine)).map(Line::deeper));
        if let Some(nodes) = nodes.as_ref().filter(|_| is_on_its_way(&machine)) {
            let pool = pools.get(deployment_of(machine)).copied();
            let preserved = preserved::lines(machine, nodes.node(machine), pool, now);
            lines.extend(preserved.into_iter().map(Line::deeper));
        }
    }
    Ok(())
}

/// Worker pools of a Shoot with their indices, by the names of their MachineDeployments. The name alone does not identify
/// the pool, since one pool's name may be a prefix of another's.
fn pools<'a>(shoot: &'a Shoot, deployments: &'a [MachineDeployment]) -> BTreeMap<&'a str, (usize, &'a Worker)> {
    let pool_of = |deployment: &MachineDeployment| {
        let name = deployment.metadata.label(label::WORKER_POOL)?;
        shoot.spec.provider.workers.iter().enumerate().find(|(_, worker)| worker.name == name)
    };
    deployments
        .iter()
        .filter_map(|deployment| Some((deployment.metadata.name.as_str(), pool_of(deployment)?)))
        .collect()
}

/// Name of a Machine's MachineDeployment.
fn deployment_of(machine: &Machine) -> &str {
    machine.metadata.label("name").unwrap_or_default()
}

/// Returns a line that begins with kind and name of an object in a cluster.
fn of_object(shown: &str, kind: &'static str, cluster: &str, object: &ObjectMeta) -> Line {
    let (namespace, name) = (object.namespace.clone(), object.name.clone());
    let text = format!("{shown} {name}");
    let about = NamedCluster::of_logical(cluster).map(|cluster| About::Object { kind, cluster, namespace, name });
    Line::default().words(text, about)
}

/// Adds rotations of credentials that wait for a user, and pools that a user must roll by name.
fn rotations(shoot: &Shoot, lines: &mut Vec<Line>) {
    let rolled: Vec<&str> =
        manual_rollout::pending(&shoot.status).iter().map(|rollout| rollout.name.as_str()).collect();
    if !rolled.is_empty() {
        let text = format!(": {}: the reconciliation that replaces the nodes is not done", rolled.join(", "));
        lines.push(Line::of_field("status.manualWorkerPoolRollout.pendingWorkersRollouts").text(text));
    }
    let Some(state) = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref()) else {
        return;
    };
    let path = "status.credentials.rotation";
    let mut tell = |field: &str, operation: &str, phase: &str, pending: &[PendingWorkersRollout]| {
        let pools: Vec<&str> = pending.iter().map(|pool| pool.name.as_str()).collect();
        let waits = match phase {
            rotation::WAITING_FOR_WORKERS_ROLLOUT if pools.is_empty() => "waits for a reconciliation".to_owned(),
            rotation::WAITING_FOR_WORKERS_ROLLOUT => format!(
                "waits for the annotation {}={}={}",
                annotation::OPERATION,
                operation::ROTATE_ROLLOUT_WORKERS,
                pools.join(",")
            ),
            rotation::PREPARED => format!("waits for the annotation {}={operation}-complete", annotation::OPERATION),
            "" | rotation::COMPLETED => return,
            _ => "waits for the reconciliation that carries it out".to_owned(),
        };
        lines.push(Line::of_field(format!("{path}.{field}.phase")).text(format!(" is {phase}: {waits}")));
    };
    if let Some(one) = &state.certificate_authorities {
        tell("certificateAuthorities", "rotate-ca", &one.phase, &one.pending_workers_rollouts);
    }
    if let Some(one) = &state.service_account_key {
        tell("serviceAccountKey", "rotate-serviceaccount-key", &one.phase, &one.pending_workers_rollouts);
    }
    if let Some(one) = &state.etcd_encryption_key {
        tell("etcdEncryptionKey", "rotate-etcd-encryption-key", &one.phase, &[]);
    }
}

/// Adds pools whose in-place update has begun.
fn in_place(shoot: &Shoot, pool: Option<&str>, lines: &mut Vec<Line>) {
    let Some(pending) = shoot.status.in_place_updates.as_ref().and_then(|one| one.pending_worker_updates.as_ref())
    else {
        return;
    };
    let is_of = |name: &&String| pool.is_none_or(|pool| *name == pool);
    let path = "status.inPlaceUpdates.pendingWorkerUpdates";
    for name in pending.auto_in_place_update.iter().filter(is_of) {
        let text = format!(" {name}: nodes are updated one after the other");
        lines.push(Line::of_field(format!("{path}.autoInPlaceUpdate")).text(text));
    }
    for name in pending.manual_in_place_update.iter().filter(is_of) {
        let text = format!(" {name}: waits for nodes with label node.machine.sapcloud.io/selected-for-update=true");
        lines.push(Line::of_field(format!("{path}.manualInPlaceUpdate")).text(text));
    }
}

/// Result of the last run.
fn last_maintenance(shoot: &Shoot) -> Option<Line> {
    let last = shoot.status.last_maintenance.as_ref()?;
    let failure = last.failure_reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
    let (at, description) = (show(last.triggered_time.0), last.description.trim_end());
    Some(Line::of_field("status.lastMaintenance").text(format!(": {} at {at}: {description}{failure}", last.state)))
}

/// Forecast of the next run: its changes, and the versions that stay.
fn maintenance(
    inventory: &Inventory,
    shoot: &Shoot,
    (now, seed): (DateTime<Utc>, u64),
    pool: Option<&str>,
    pending: &Pending,
    lines: &mut Vec<Line>,
) {
    if shoot.metadata.is_being_deleted() {
        lines.push(Line::of("No maintenance any more: ").field(DELETED, DELETED).text(" is set"));
        return;
    }
    let random = Random::new(seed);
    let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
    let (run, span) = forecast::next_run(shoot, now, &draw);
    // If a Shoot's new window is not in effect yet, its upcoming maintenance has the previous window.
    let waits = upcoming::upcoming(shoot, run).is_some();
    let (earliest, end) = (show(span.earliest), show(span.end));
    let line = Line::of(format!("Next maintenance at {}, in the window from {earliest} to {end} (", show(run)));
    let line = if waits {
        line.text("annotation ").annotation(annotation::UPCOMING_TIME_WINDOW)
    } else {
        line.field(explain::TIME_WINDOW, explain::TIME_WINDOW)
    };
    lines.push(line.text(")"));
    if waits {
        lines.push(explain::waiting(shoot).deeper());
    }
    if is_hibernation_enabled(&shoot.spec) {
        let text = " is true: versions change, nodes come with them when it wakes up";
        lines.push(Line::of_field("spec.hibernation.enabled").text(text).deeper());
    }
    let key = ProfileKey::of(shoot);
    let offers = inventory.offers();
    let Some(offered) = offers.get(&key) else {
        let text = format!(": {key} does not exist any more; maintenance cannot run");
        lines.push(Line::of_field(reference_path(&shoot.spec)).text(text).deeper());
        return;
    };
    let offer = Offer { name: key.name.clone(), first: offered.clone(), changes: Vec::new() };
    let settings = Settings {
        from: now + chrono::TimeDelta::nanoseconds(1),
        until: run,
        draw: &draw,
        gates: gates_for(inventory.release),
        disables_nginx_ingress: inventory.disables_nginx_ingress,
        forms: &|shoot| inventory.forms(shoot),
    };
    let course = forecast::course(shoot, &offer, &settings);
    let is_of = |name: Option<&String>| pool.is_none() || name.map(String::as_str) == pool || name.is_none();
    // Without changes the run still writes its request for a reconciliation, which the API server checks like any other write.
    let unchanged = course.changes.is_empty();
    let refused = unchanged.then(|| refusal::of_validation(shoot, shoot, settings.gates)).flatten();
    if let Some(message) = &refused {
        let text = "it fails until these fields are corrected, since the API server refuses each change of the Shoot";
        lines.push(Line::of(format!("{text}: {message}")).deeper());
    } else if pending.confined > 0 {
        let what = plural(pending.confined, "confined change");
        let nodes = if pending.effects.is_empty() { "none".to_owned() } else { pending.effects.join("; ") };
        lines.push(Line::of(format!("it rolls out {what} of the specification; nodes: {nodes}")).deeper());
    }
    if unchanged {
        if refused.is_none() {
            let what = if pending.confined > 0 { "no version changes" } else { "it changes nothing" };
            let text = format!("{what}; the Shoot is reconciled, with infrastructure and DNS records");
            lines.push(Line::of(text).deeper());
        }
        let next = unmoved::later(&course.next_change(&offer, &settings));
        lines.extend(next.map(|next| Line::of(next).deeper()));
    }
    for change in course.changes.iter().filter(|change| is_of(change.pool.as_ref())) {
        let whose = change.pool.as_ref().map_or_else(String::new, |pool| format!(" of worker pool {pool}"));
        let what = match (&change.from, &change.to, &change.failure) {
            (_, _, Some(failure)) => format!("will fail: {failure}"),
            (Some(from), Some(to), None) => {
                format!("{from} to {to}: {}; nodes: {}", rows::reason(change), change.effect.as_str())
            }
            _ => format!("{}; nodes: {}", rows::reason(change), change.effect.as_str()),
        };
        let subject = change.subject.as_str();
        let line = match field_of(shoot, change) {
            Some(path) => Line::default().field(subject, path),
            None => Line::of(subject),
        };
        lines.push(line.text(format!("{whose} {what}")).deeper());
    }
    lines.push(Line::of(format!("Versions by {key}, as of the next maintenance:")));
    lines.extend(
        explain::lines(shoot, &key.name, offered, Moment::new(run, inventory.release), pool)
            .into_iter()
            .map(Line::deeper),
    );
}

/// Path of the changed field; `None`: it is not a field of the Shoot, or there are several.
fn field_of(shoot: &Shoot, change: &Change) -> Option<String> {
    let mut workers = shoot.spec.provider.workers.iter();
    let pool = change.pool.as_ref().and_then(|pool| workers.position(|worker| worker.name == *pool));
    match (change.subject, pool) {
        (Subject::Kubernetes, None) => Some("spec.kubernetes.version".to_owned()),
        (Subject::Kubernetes, Some(pool)) => Some(format!("spec.provider.workers[{pool}].kubernetes.version")),
        (Subject::MachineImage, Some(pool)) => Some(format!("spec.provider.workers[{pool}].machine.image.version")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(tree: Value) -> T {
        serde_json::from_value(tree).expect("an object")
    }

    /// Zone 1 of pool `a` and pool `a-z1` have MachineDeployments whose names begin alike.
    #[test]
    fn machines_belong_to_the_pool_of_their_deployment() {
        let shoot: Shoot =
            read(json!({ "spec": { "provider": { "workers": [{ "name": "a" }, { "name": "a-z1" }] } } }));
        let deployment = |name: &str, pool: &str| -> MachineDeployment {
            read(json!({ "metadata": { "name": name, "labels": { label::WORKER_POOL: pool } } }))
        };
        let deployments = [deployment("s-a-z1", "a"), deployment("s-a-z1-z1", "a-z1"), deployment("s-b-z1", "b")];
        let pools = pools(&shoot, &deployments);
        let pool = |deployment: &str| {
            let machine =
                json!({ "metadata": { "name": format!("{deployment}-x"), "labels": { "name": deployment } } });
            pools.get(deployment_of(&read(machine))).map(|(index, worker)| (*index, worker.name.as_str()))
        };
        assert_eq!(pool("s-a-z1"), Some((0, "a")));
        assert_eq!(pool("s-a-z1-z1"), Some((1, "a-z1")));
        assert_eq!(pool("s-b-z1"), None, "the pool was removed");
    }
}
