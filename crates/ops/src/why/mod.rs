// SPDX-License-Identifier: Apache-2.0
//! What a Shoot of a landscape waits for, and what will happen to it.
//!
//! Each line names the object and the field that it was read from. Nothing is stored anywhere but in these objects: the
//! lines about the next maintenance come from the same functions as the controller's.
//!
//! **Tour.** [`nodes`] what drains and updates in place wait for; [`pending`] changes of the spec that are not rolled out.

pub mod nodes;
mod pending;

use api::cluster;
use api::constants::{annotation, operation};
use api::core::{PendingWorkersRollout, Shoot};
use api::machine::{Machine, MachineDeployment};
use chrono::{DateTime, Utc};
use clock::Random;
use controller::{Api, ListOptions};
use domain::forecast::{self, Offer, Settings};
use domain::maintenance::upcoming;
use domain::reconcile::is_hibernation_enabled;
use domain::rotation;
use process::Context;

use crate::forecast::gates_for;
use crate::world::{ProfileKey, World};
use crate::{Error, explain, show};

/// The lines about a Shoot, which is shown as `name`; `pool`: this worker pool only. `seed` is the landscape's.
///
/// # Errors
/// It has no such pool; the server's words.
pub async fn lines(
    context: &Context,
    name: &str,
    shoot: &Shoot,
    now: DateTime<Utc>,
    seed: u64,
    pool: Option<&str>,
) -> Result<Vec<String>, Error> {
    if let Some(pool) = pool
        && !shoot.spec.provider.workers.iter().any(|worker| worker.name == *pool)
    {
        let names: Vec<&str> = shoot.spec.provider.workers.iter().map(|worker| worker.name.as_str()).collect();
        return Err(Error::input(
            format!("Shoot {name} has no worker pool {pool}"),
            format!("it has {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") }),
        ));
    }
    let mut lines = vec![format!("Shoot {name} at {}", show(now))];
    operation(shoot, &mut lines);
    rotations(shoot, &mut lines);
    machines(context, shoot, pool, &mut lines).await?;
    in_place(shoot, pool, &mut lines);
    let world = World::of_shoot(context, shoot).await?;
    pending::lines(context, shoot, pool, &world.forms(shoot), &mut lines).await?;
    maintenance(&world, shoot, now, seed, pool, &mut lines);
    Ok(lines)
}

/// What the spec of a Shoot says and its control plane and nodes do not know yet: `FIELD: OLD to NEW; WHEN`, a line each.
///
/// # Errors
/// The server's words.
pub async fn pending(context: &Context, shoot: &Shoot) -> Result<Vec<String>, Error> {
    let world = World::of_shoot(context, shoot).await?;
    let mut lines = Vec::new();
    pending::lines(context, shoot, None, &world.forms(shoot), &mut lines).await?;
    Ok(lines.into_iter().map(|line| line.trim().to_owned()).collect())
}

/// What runs, what failed, what is unhealthy.
fn operation(shoot: &Shoot, lines: &mut Vec<String>) {
    let status = &shoot.status;
    match &status.last_operation {
        None => lines.push("  status.lastOperation: none yet: gardenlet has not begun".to_owned()),
        Some(last) => lines.push(format!(
            "  status.lastOperation: {} {} ({}%): {}",
            last.r#type, last.state, last.progress, last.description
        )),
    }
    if shoot.spec.seed_name.is_none() {
        lines.push("  spec.seedName: not set; waits for gardener-scheduler".to_owned());
    }
    for error in &status.last_errors {
        lines.push(format!("  status.lastErrors: {} [{}]", error.description, error.codes.join(", ")));
    }
    let (generation, observed) = (shoot.metadata.generation, status.observed_generation);
    if generation != observed {
        lines.push(format!(
            "  metadata.generation {generation}, status.observedGeneration {observed}: waits for gardenlet"
        ));
    }
    for (path, conditions) in [("status.conditions", &status.conditions), ("status.constraints", &status.constraints)] {
        for condition in conditions.iter().filter(|condition| condition.status != "True") {
            lines.push(format!(
                "  {path} {}: {} {}: {}",
                condition.r#type, condition.status, condition.reason, condition.message
            ));
        }
    }
    for key in [annotation::OPERATION, annotation::MAINTENANCE_OPERATION, annotation::SHOOT_TASKS] {
        if let Some(value) = shoot.metadata.annotation(key) {
            let when = if key == annotation::MAINTENANCE_OPERATION {
                "waits for the next maintenance"
            } else {
                "waits for gardenlet"
            };
            lines.push(format!("  annotation {key}={value}: {when}"));
        }
    }
    if shoot.metadata.is_being_deleted() {
        lines.push(format!(
            "  metadata.deletionTimestamp is set; finalizers left: {}",
            shoot.metadata.finalizers.join(", ")
        ));
    }
}

fn seed_cluster(shoot: &Shoot) -> Option<(String, String)> {
    let seed = shoot.status.seed_name.as_ref().or(shoot.spec.seed_name.as_ref())?;
    let namespace = Some(shoot.status.technical_id.clone()).filter(|name| !name.is_empty())?;
    Some((cluster::of_seed(seed), namespace))
}

/// Roll-outs: replicas that are not up to date, Machines on their way.
async fn machines(context: &Context, shoot: &Shoot, pool: Option<&str>, lines: &mut Vec<String>) -> Result<(), Error> {
    let Some((cluster, namespace)) = seed_cluster(shoot) else { return Ok(()) };
    let all = ListOptions::default();
    let deployments = Api::<MachineDeployment>::namespaced(context, &cluster, &namespace).list(&all).await;
    let (deployments, _) = deployments?;
    let is_of = |name: &str| pool.is_none_or(|pool| name.starts_with(&format!("{namespace}-{pool}-")));
    for deployment in deployments.iter().filter(|deployment| is_of(&deployment.metadata.name)) {
        let (wanted, status) = (deployment.spec.replicas, &deployment.status);
        let is_done = status.updated_replicas == wanted && status.replicas == wanted && status.ready_replicas == wanted;
        if !is_done {
            lines.push(format!(
                "  MachineDeployment {}: {wanted} wanted; status.updatedReplicas {}, readyReplicas {}, replicas {}",
                deployment.metadata.name, status.updated_replicas, status.ready_replicas, status.replicas
            ));
        }
    }
    let (machines, _) = Api::<Machine>::namespaced(context, &cluster, &namespace).list(&all).await?;
    let is_on_its_way =
        |machine: &&Machine| machine.metadata.is_being_deleted() || machine.status.current_status.phase != "Running";
    let is_updated = shoot.status.in_place_updates.is_some();
    let nodes = if is_updated || machines.iter().any(|machine| is_on_its_way(&machine)) {
        Some(nodes::Cluster::read(context, &namespace).await?)
    } else {
        None
    };
    for machine in machines.iter().filter(|machine| is_of(&machine.metadata.name)) {
        let status = &machine.status;
        let phase = &status.current_status.phase;
        let last = &status.last_operation;
        if phase.is_empty() {
            lines.push(format!(
                "  Machine {}: status is empty; waits for machine-controller-manager",
                machine.metadata.name
            ));
        } else if is_on_its_way(&machine) {
            lines.push(format!(
                "  Machine {}: status.currentStatus.phase {phase}, status.lastOperation {} {}: {}",
                machine.metadata.name, last.r#type, last.state, last.description
            ));
        }
        lines.extend(nodes.iter().flat_map(|nodes| nodes.lines(machine)));
    }
    Ok(())
}

/// Rotations of credentials that wait for somebody.
fn rotations(shoot: &Shoot, lines: &mut Vec<String>) {
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
        lines.push(format!("  {path}.{field}.phase is {phase}: {waits}"));
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

/// Pools whose update in place has begun.
fn in_place(shoot: &Shoot, pool: Option<&str>, lines: &mut Vec<String>) {
    let Some(pending) = shoot.status.in_place_updates.as_ref().and_then(|one| one.pending_worker_updates.as_ref())
    else {
        return;
    };
    let is_of = |name: &&String| pool.is_none_or(|pool| *name == pool);
    for name in pending.auto_in_place_update.iter().filter(is_of) {
        lines.push(format!("  status.inPlaceUpdates.pendingWorkerUpdates.autoInPlaceUpdate {name}: nodes are updated one after the other"));
    }
    for name in pending.manual_in_place_update.iter().filter(is_of) {
        lines.push(format!(
            "  status.inPlaceUpdates.pendingWorkerUpdates.manualInPlaceUpdate {name}: waits for nodes with label \
             node.machine.sapcloud.io/selected-for-update=true"
        ));
    }
}

/// The next run, what it will do, and what it will not.
fn maintenance(
    world: &World,
    shoot: &Shoot,
    now: DateTime<Utc>,
    seed: u64,
    pool: Option<&str>,
    lines: &mut Vec<String>,
) {
    if let Some(last) = &shoot.status.last_maintenance {
        let failure = last.failure_reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        lines.push(format!(
            "  status.lastMaintenance: {} at {}: {}{failure}",
            last.state,
            show(last.triggered_time.0),
            last.description.trim_end()
        ));
    }
    if shoot.metadata.is_being_deleted() {
        lines.push("No maintenance any more: metadata.deletionTimestamp is set".to_owned());
        return;
    }
    let random = Random::new(seed);
    let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
    let (run, span) = forecast::next_run(shoot, now, &draw);
    // The upcoming maintenance of a Shoot whose window waits has the window of before.
    let waits = upcoming::upcoming(shoot, run).is_some();
    let field = if waits {
        format!("annotation {}", annotation::UPCOMING_TIME_WINDOW)
    } else {
        "spec.maintenance.timeWindow".to_owned()
    };
    lines.push(format!(
        "Next maintenance at {}, in the window from {} to {} ({field})",
        show(run),
        show(span.earliest),
        show(span.end)
    ));
    if waits {
        lines.push(format!("  {}", explain::waiting(shoot)));
    }
    if is_hibernation_enabled(&shoot.spec) {
        lines.push(
            "  spec.hibernation.enabled is true: versions change, nodes come with them when it wakes up".to_owned(),
        );
    }
    let key = ProfileKey::of(shoot);
    let offers = world.offers();
    let Some(offered) = offers.get(&key) else {
        lines.push(format!("  spec.cloudProfile: {key} does not exist any more; maintenance cannot run"));
        return;
    };
    let offer = Offer { name: key.name.clone(), first: offered.clone(), changes: Vec::new() };
    let settings = Settings {
        from: now + chrono::TimeDelta::nanoseconds(1),
        until: run,
        draw: &draw,
        gates: gates_for(shoot),
        forms: &|shoot| world.forms(shoot),
    };
    let course = forecast::course(shoot, &offer, &settings);
    let is_of = |name: Option<&String>| pool.is_none() || name.map(String::as_str) == pool || name.is_none();
    if course.changes.is_empty() {
        lines.push("  it changes nothing; the Shoot is reconciled, with infrastructure and DNS records".to_owned());
    }
    for change in course.changes.iter().filter(|change| is_of(change.pool.as_ref())) {
        let whose = change.pool.as_ref().map_or_else(String::new, |pool| format!(" of worker pool {pool}"));
        let what = match (&change.from, &change.to, &change.failure) {
            (_, _, Some(failure)) => format!("will fail: {failure}"),
            (Some(from), Some(to), None) => {
                format!("{from} to {to}: {}; nodes: {}", change.reason, change.effect.as_str())
            }
            _ => format!("{}; nodes: {}", change.reason, change.effect.as_str()),
        };
        lines.push(format!("  {}{whose} {what}", change.subject.as_str()));
    }
    lines.push(format!("Versions by {key}, as of the next maintenance:"));
    let explained = explain::lines(shoot, &key.name, offered, run);
    let mut shown = true;
    for line in explained {
        if !line.starts_with(' ') {
            shown = pool.is_none_or(|pool| {
                !line.contains(" of worker pool ") || line.contains(&format!(" of worker pool {pool}:"))
            });
        }
        if shown {
            lines.push(format!("  {line}"));
        }
    }
}
