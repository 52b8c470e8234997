// SPDX-License-Identifier: Apache-2.0
//! The Worker controller: creates MachineDeployments and MachineClasses for a shoot's pools, and waits for their
//! machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::constants::{annotation, label};
use api::core::Shoot;
use api::extensions::{InPlaceUpdatesWorkerStatus, Worker, WorkerPool};
use api::kubernetes::core::Secret;
use api::machine::{Machine, MachineClass, MachineDeployment, MachineSet};
use apimachinery::meta::TextMap;
use apimachinery::meta::{ByteString, DeleteOptions, ObjectMeta, Time};
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Controller, Error, ListOptions, ObjectKey, Requeue, Store};
use domain::rollout::in_place::{self, Reason};
use domain::rollout::replicas::Situation;
use domain::rollout::wanted::{self, DesiredDeployment};
use domain::rollout::worker_wait::{self, Awaited, Wait, is_updated};
use domain::shoot_facts::is_hibernation_enabled;
use domain::worker_pool::{HashInputs, UpdateStrategy, manual_rollout};
use parking_lot::Mutex;

use super::extensions::{self, Extension, has_work};
use super::provider::Provider;
use crate::draft::Draft;

/// State of the Worker controller between passes.
#[derive(Debug, Default)]
struct Memory {
    /// Start of the operation for which the MachineDeployments of a Worker were listed in its status, by uid.
    listed: Mutex<BTreeMap<String, Time>>,
}

/// Starts the controller of Workers.
pub(super) fn start(provider: &Arc<Provider>) {
    let mut controller = Controller::new("worker", &provider.context);
    let workers: Store<Worker> = controller.watch(provider.seed_api::<Worker>(""), ListOptions::default(), |change| {
        let object = change.new.as_ref().filter(|object| has_work(&***object));
        object.map(|_| change.key.clone()).into_iter().collect()
    });
    let busy = |workers: &Store<Worker>, seed: &str, namespace: &str| {
        let in_namespace = workers.list_in(seed, namespace);
        let busy = in_namespace.iter().filter(|worker| has_work(&***worker));
        busy.map(|worker| ObjectKey::of(seed, &**worker)).collect::<Vec<_>>()
    };
    let of = workers.clone();
    controller.watch_store(&provider.deployments, move |change| {
        // Machines that replace deleted ones complete a manual update, as selected nodes do.
        let workers = of.list_in(&change.key.cluster, &change.key.namespace);
        let concerned = workers.iter().filter(|worker| has_work(&***worker) || has_manual_pools(worker));
        concerned.map(|worker| ObjectKey::of(&change.key.cluster, &**worker)).collect()
    });
    let of = workers.clone();
    controller.watch_store(&provider.sets, move |change| busy(&of, &change.key.cluster, &change.key.namespace));
    let of = workers.clone();
    controller.watch_store(&provider.machines, move |change| {
        let (seed, namespace) = (&*change.key.cluster, &*change.key.namespace);
        if change.new.is_none() {
            return busy(&of, seed, namespace);
        }
        // The Machine's Node was selected for an update.
        let is_selected = change.old.is_some() && change.differs(update_reason);
        let workers = if is_selected { of.list_in(seed, namespace) } else { Vec::new() };
        workers.iter().filter(|worker| has_manual_pools(worker)).map(|worker| ObjectKey::of(seed, &**worker)).collect()
    });
    let of = workers.clone();
    controller.watch_store(&provider.classes, move |change| {
        if change.new.is_some() {
            return Vec::new();
        }
        busy(&of, &change.key.cluster, &change.key.namespace)
    });
    let of = workers.clone();
    controller.watch_store(&provider.clusters, move |change| busy(&of, &change.key.cluster, &change.key.name));

    let memory = Arc::new(Memory::default());
    let provider = provider.clone();
    let tasks = provider.context.tasks.clone();
    tasks.spawn(controller.run(5, move |key| {
        let (provider, workers, memory) = (provider.clone(), workers.clone(), memory.clone());
        async move { reconcile(&provider, &workers, &memory, &key).await }
    }));
}

async fn reconcile(
    provider: &Provider,
    workers: &Store<Worker>,
    memory: &Memory,
    key: &ObjectKey,
) -> Result<Requeue, Error> {
    let has_work = |worker: &Arc<Worker>| {
        has_work(&**worker) || is_updated_by_hand(provider, worker) || has_unrecorded_update(provider, worker)
    };
    let Some(stored) = workers.get(key).filter(has_work) else { return Ok(Requeue::OnChange) };
    let api = provider.api_of(workers);
    let now = provider.context.clock.now();
    let is_ordered = stored.metadata.annotations.contains_key(annotation::OPERATION);
    let mut draft = Draft::new(stored);
    extensions::begin(&mut draft, &api, now).await?;
    if is_ordered {
        provider.refresh_shoot(&key.namespace).await?;
    }
    if draft.get().metadata.is_being_deleted() {
        if delete_machines(provider, &key.namespace).await? {
            let finalizer = draft.get().finalizer();
            draft.edit().metadata.finalizers.retain(|present| *present != finalizer);
            draft.save(&api).await?;
        }
        return Ok(Requeue::OnChange);
    }
    let Some(shoot) = provider.shoot(&key.namespace) else { return Ok(Requeue::OnChange) };
    let worker = draft.get().clone();
    let wanted = wanted::machine_deployments(&worker, &shoot, provider.release);
    if !has_begun_rollout(provider, &key.namespace, &wanted, &shoot) {
        return Ok(Requeue::OnChange);
    }
    let is_hibernated = is_hibernation_enabled(&shoot.spec);
    if is_hibernated {
        force_deletion(provider, &key.namespace).await?;
    }
    deploy_classes(provider, &wanted).await?;
    deploy_machine_deployments(provider, &wanted, is_hibernated).await?;
    list_machine_deployments(memory, &mut draft, &wanted, now);
    draft.save(&api).await?;

    match wait(provider, &key.namespace, &wanted, is_hibernated) {
        Wait::Waiting(reason) => {
            tracing::debug!(kind = "Worker", name = %key, %reason, "waits");
            return Ok(Requeue::OnChange);
        }
        Wait::Failed(error) => {
            let error = format!("failed while waiting for all machine deployments to be ready: '{error}'");
            extensions::fail(&mut draft, &error, now);
        }
        Wait::Ready => {
            if !clean_up(provider, &key.namespace, &wanted).await? {
                return Ok(Requeue::OnChange);
            }
            record_in_place_hashes(provider, &mut draft, &shoot);
            extensions::succeed(&mut draft, now);
        }
    }
    draft.save(&api).await?;
    Ok(Requeue::OnChange)
}

/// True if the local copies of the MachineDeployments show the manual roll-outs that the Shoot records: kinds are
/// watched independently.
fn has_begun_rollout(provider: &Provider, namespace: &str, wanted: &[DesiredDeployment<'_>], shoot: &Shoot) -> bool {
    let deployments = provider.deployments.list_in(&provider.seed, namespace);
    wanted.iter().all(|wanted| {
        let found = deployments.iter().find(|deployment| deployment.metadata.name == wanted.name);
        found.is_none_or(|deployment| manual_rollout::is_annotated(shoot, &wanted.pool.name, deployment))
    })
}

/// Deploys MachineClasses and their Secrets.
async fn deploy_classes(provider: &Provider, wanted: &[DesiredDeployment<'_>]) -> Result<(), Error> {
    for wanted in wanted {
        let class = wanted.machine_class();
        let namespace = &class.metadata.namespace;
        let api = provider.api_of(&provider.classes);
        let key = provider.seed_key(namespace, &class.metadata.name);
        if let Some(stored) = provider.classes.get(&key) {
            let mut new = class;
            new.metadata = stored.metadata.clone();
            api.update(&stored, &new).await?;
            continue;
        }
        let mut metadata = ObjectMeta::named(namespace, &class.metadata.name);
        metadata.labels.insert(label::PURPOSE.to_owned(), "machineclass".to_owned());
        let user_data = format!("#!/bin/bash\n# {}\n", wanted.pool.user_data_secret_ref.name);
        let data = BTreeMap::from([("userData".to_owned(), ByteString(user_data.into_bytes()))]);
        let secret = Secret { metadata, data, r#type: "Opaque".to_owned(), ..Secret::default() };
        provider.seed_api::<Secret>(namespace).create_or_update(&secret).await?;
        api.create(&class).await?;
    }
    Ok(())
}

async fn deploy_machine_deployments(
    provider: &Provider,
    wanted: &[DesiredDeployment<'_>],
    is_hibernated: bool,
) -> Result<(), Error> {
    let Some(first) = wanted.first() else { return Ok(()) };
    let namespace = &first.worker.metadata.namespace;
    let api = provider.api_of(&provider.deployments);
    let existing = provider.deployments.list_in(&provider.seed, namespace);
    let situation = Situation {
        hibernated: is_hibernated,
        autoscaled: wanted::is_autoscaled(first.worker),
        all_existing_are_zero: !existing.is_empty() && existing.iter().all(|deployment| deployment.spec.replicas == 0),
        ..Situation::default()
    };
    for wanted in wanted {
        let stored = existing.iter().find(|deployment| deployment.metadata.name == wanted.name);
        let replicas = Situation {
            existing: stored.map(|deployment| deployment.spec.replicas),
            minimum: wanted.share.minimum,
            maximum: wanted.share.maximum,
            ..situation
        }
        .replicas();
        let new = wanted.machine_deployment(stored.map(|stored| &**stored), replicas);
        match stored {
            Some(stored) => drop(api.update(stored, &new).await?),
            None => drop(api.create(&new).await?),
        }
    }
    Ok(())
}

/// Lists the MachineDeployments in the Worker's status, once per operation; the time is always later than the last.
fn list_machine_deployments(
    memory: &Memory,
    draft: &mut Draft<Worker>,
    wanted: &[DesiredDeployment<'_>],
    now: DateTime<Utc>,
) {
    let worker = draft.get();
    let Some(started) = worker.status.last_operation.as_ref().map(|operation| operation.last_update_time) else {
        return;
    };
    let uid = worker.metadata.uid.clone();
    let mut listed = memory.listed.lock();
    if wanted.is_empty() || listed.get(&uid) == Some(&started) {
        return;
    }
    listed.insert(uid, started);
    let last = worker.status.machine_deployments_last_update_time;
    let time = match last {
        Some(last) if last >= Time::from(now) => Time::from(last.0 + TimeDelta::seconds(1)),
        _ => Time::from(now),
    };
    let status = &mut draft.edit().status;
    status.machine_deployments = wanted.iter().map(DesiredDeployment::summary).collect();
    status.machine_deployments_last_update_time = Some(time);
}

fn wait(provider: &Provider, namespace: &str, wanted: &[DesiredDeployment<'_>], is_hibernated: bool) -> Wait {
    let deployments = provider.deployments.list_in(&provider.seed, namespace);
    let sets = provider.sets.list_in(&provider.seed, namespace);
    let mut owned: Vec<(&MachineDeployment, &DesiredDeployment<'_>, Vec<&MachineSet>)> = Vec::new();
    for wanted in wanted {
        let Some(deployment) = deployments.iter().find(|deployment| deployment.metadata.name == wanted.name) else {
            return Wait::Waiting(format!("machine deployment {namespace}/{} is missing", wanted.name));
        };
        let is_owned = |set: &&Arc<MachineSet>| {
            set.metadata.owner_references.iter().any(|owner| owner.uid == deployment.metadata.uid)
        };
        let sets = sets.iter().filter(is_owned).map(|set| &**set).collect();
        owned.push((&**deployment, wanted, sets));
    }
    let awaited: Vec<Awaited<'_>> = owned
        .iter()
        .map(|(deployment, wanted, sets)| {
            let is_old = |set: &&&MachineSet| set.spec.template.spec.class.name != wanted.class_name;
            let old: Vec<&MachineSet> = sets.iter().filter(is_old).copied().collect();
            let selected = selected_machines(provider, wanted.pool, &old);
            Awaited { deployment, class_name: &wanted.class_name, sets, selected }
        })
        .collect();
    worker_wait::wait(&awaited, is_hibernated, provider.release)
}

fn is_manual(pool: &WorkerPool) -> bool {
    UpdateStrategy::of(pool.update_strategy.as_deref()) == UpdateStrategy::ManualInPlaceUpdate
}

fn has_manual_pools(worker: &Worker) -> bool {
    worker.spec.pools.iter().any(is_manual)
}

/// Returns the progress of the in-place update of a Machine's Node.
fn update_reason(machine: &Machine) -> Option<Reason> {
    let condition = machine.status.conditions.iter().find(|condition| condition.r#type == in_place::CONDITION);
    condition.and_then(|condition| Reason::of(&condition.reason))
}

/// Returns the number of Machines of a pool's old MachineSets that were selected for an update, including failed ones.
fn selected_machines(provider: &Provider, pool: &WorkerPool, old: &[&MachineSet]) -> usize {
    if !is_manual(pool) || old.is_empty() {
        return 0;
    }
    let is_of = |machine: &Machine| {
        machine.metadata.owner_references.iter().any(|owner| old.iter().any(|set| set.metadata.uid == owner.uid))
    };
    let namespace = &old[0].metadata.namespace;
    let machines = provider.machines.list_in(&provider.seed, namespace);
    let is_selected = |machine: &Machine| {
        update_reason(machine).is_some_and(|reason| reason != Reason::CandidateForUpdate) && is_of(machine)
    };
    machines.iter().filter(|machine| is_selected(machine)).count()
}

/// True if selected nodes of manual pools are being updated: the Worker waits for them, and records the pool's hash
/// after the last one. A failed node is reported once.
fn is_updated_by_hand(provider: &Provider, worker: &Worker) -> bool {
    let namespace = &worker.metadata.namespace;
    has_manual_pools(worker)
        && provider
            .machines
            .list_in(&provider.seed, namespace)
            .iter()
            .any(|machine| update_reason(machine).is_some_and(Reason::is_under_way))
}

/// True if the machines of a manual pool are in the desired state, and the Worker has not recorded the pool's hash: no
/// node was selected, but new machines replaced deleted ones.
///
/// Unlike upstream, where each new Machine of such a pool starts a reconciliation, only the last one that is needed
/// does.
/// Source: `MachineConditionChangedPredicate` in extensions/pkg/controller/worker/controller.go @ v1.149.0.
fn has_unrecorded_update(provider: &Provider, worker: &Worker) -> bool {
    if !has_manual_pools(worker) {
        return false;
    }
    let namespace = &worker.metadata.namespace;
    let Some(shoot) = provider.shoot(namespace) else { return false };
    let deployments = provider.deployments.list_in(&provider.seed, namespace);
    let wanted = wanted::machine_deployments(worker, &shoot, provider.release);
    let is_deployed = |pool: &WorkerPool| {
        wanted.iter().filter(|wanted| wanted.pool.name == pool.name).all(|wanted| {
            let found = deployments.iter().find(|deployment| deployment.metadata.name == wanted.name);
            found.is_some_and(|found| found.spec.template.spec.class.name == wanted.class_name)
        })
    };
    let recorded = worker.status.in_place_updates.as_ref().map(|updates| &updates.worker_pool_to_hash_map);
    worker.spec.pools.iter().filter(|pool| is_manual(pool)).any(|pool| {
        let hash = HashInputs::of_extension_pool(&shoot, pool).in_place_pool_hash();
        recorded.and_then(|hashes| hashes.get(&pool.name)) != Some(&hash)
            && is_deployed(pool)
            && is_updated(pool, deployments.iter().map(|deployment| &**deployment))
    })
}

/// Deletes MachineDeployments and MachineClasses that are no longer needed; returns true if no such MachineDeployment
/// is left.
async fn clean_up(provider: &Provider, namespace: &str, wanted: &[DesiredDeployment<'_>]) -> Result<bool, Error> {
    let names: BTreeSet<&str> = wanted.iter().map(|wanted| wanted.name.as_str()).collect();
    let classes: BTreeSet<&str> = wanted.iter().map(|wanted| wanted.class_name.as_str()).collect();
    let api = provider.api_of(&provider.deployments);
    let mut is_done = true;
    for deployment in provider.deployments.list_in(&provider.seed, namespace) {
        if names.contains(deployment.metadata.name.as_str()) {
            continue;
        }
        is_done = false;
        if !deployment.metadata.is_being_deleted() {
            api.delete_object(&deployment, false, None).await?;
        }
    }
    for class in provider.classes.list_in(&provider.seed, namespace) {
        if !classes.contains(class.metadata.name.as_str()) {
            delete_class(provider, &class).await?;
        }
    }
    Ok(is_done)
}

async fn delete_class(provider: &Provider, class: &Arc<MachineClass>) -> Result<(), Error> {
    if class.metadata.is_being_deleted() {
        return Ok(());
    }
    let namespace = &class.metadata.namespace;
    provider.api_of(&provider.classes).delete_object(class, false, None).await?;
    match provider.seed_api::<Secret>(namespace).delete(&class.metadata.name, &DeleteOptions::default()).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Deletes all machine objects of a Worker; returns true if none is left.
async fn delete_machines(provider: &Provider, namespace: &str) -> Result<bool, Error> {
    let deployments = provider.deployments.list_in(&provider.seed, namespace);
    let classes = provider.classes.list_in(&provider.seed, namespace);
    if deployments.is_empty() && classes.is_empty() {
        let machines = provider.machines.list_in(&provider.seed, namespace);
        return Ok(machines.is_empty() && provider.sets.list_in(&provider.seed, namespace).is_empty());
    }
    force_deletion(provider, namespace).await?;
    for deployment in deployments.iter().filter(|deployment| !deployment.metadata.is_being_deleted()) {
        provider.api_of(&provider.deployments).delete_object(deployment, false, None).await?;
    }
    for class in &classes {
        delete_class(provider, class).await?;
    }
    Ok(false)
}

/// Marks all Machines for a forced drain.
async fn force_deletion(provider: &Provider, namespace: &str) -> Result<(), Error> {
    let api = provider.api_of(&provider.machines);
    for machine in provider.machines.list_in(&provider.seed, namespace) {
        let mut new = (*machine).clone();
        new.metadata.labels.insert(label::MACHINE_FORCE_DELETION.to_owned(), "True".to_owned());
        api.update(&machine, &new).await?;
    }
    Ok(())
}

/// Records the hashes of in-place pools whose machines are updated.
fn record_in_place_hashes(provider: &Provider, draft: &mut Draft<Worker>, shoot: &Shoot) {
    let worker = draft.get();
    let old = worker.status.in_place_updates.clone().unwrap_or_default().worker_pool_to_hash_map;
    let deployments = provider.deployments.list_in(&provider.seed, &worker.metadata.namespace);
    let mut hashes = TextMap::new();
    for pool in &worker.spec.pools {
        if !UpdateStrategy::of(pool.update_strategy.as_deref()).is_in_place() {
            continue;
        }
        let is_reached = is_updated(pool, deployments.iter().map(|deployment| &**deployment));
        let hash = if is_reached {
            Some(HashInputs::of_extension_pool(shoot, pool).in_place_pool_hash())
        } else {
            old.get(&pool.name).cloned()
        };
        hashes.extend(hash.map(|hash| (pool.name.clone(), hash)));
    }
    if hashes != old {
        let status = &mut draft.edit().status;
        status.in_place_updates =
            (!hashes.is_empty()).then_some(InPlaceUpdatesWorkerStatus { worker_pool_to_hash_map: hashes });
    }
}
