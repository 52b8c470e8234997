// SPDX-License-Identifier: Apache-2.0
//! One operation on a Shoot: start write, flow, result write, Events, and the Cluster copy in the seed.

use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, condition, finalizer, label, operation_state, operation_type, task};
use api::core::{CloudProfileSpec, LastError, Project, Seed, Shoot};
use api::extensions::{Cluster, ClusterSpec};
use api::kubernetes::core::ConfigMap;
use api::machine::MachineDeployment;
use apimachinery::meta::{ObjectMeta, RawExtension, Time};
use controller::{Action, Error, EventType, ObjectKey, ObjectRef, Patch, Requeue};
use domain::annotations;
use domain::care::conditions::set_progressing;
use domain::cloud_profile::{self, Resolved};
use domain::last_operation::{
    INITIALIZE_OPERATION, OperationType, TaskFailure, Verdict, flow_error, initialization_error, last_operation,
    progress_description, verdict,
};
use domain::shoot_components::Component;
use domain::upgrade::changes::EXPOSURE;
use domain::worker_pool::manual_rollout;
use domain::{in_place, reconcile as rules, rotation, seed_readiness, shoot_facts};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::super::botanist::dns::Domains;
use super::super::botanist::{self, Botanist};
use super::super::configuration::NODE_AGENT_AUTHORIZER;
use super::super::copies::copied_tree;
use super::super::flow::run::{Ended, Progress};
use super::super::flow::{self, Facts, Plan, Task};
use super::super::shared::{GARDEN, Gardenlet, garden_key};
use super::{SEED_NOT_READY, now};

/// Objects that a run reads in addition to the Shoot.
struct Surroundings {
    project: Arc<Project>,
    cloud_profile: Arc<CloudProfileSpec>,
    /// CloudProfile and Seed, as included in the Cluster object.
    copies: (RawExtension, RawExtension),
    seed: Arc<Seed>,
}

impl Surroundings {
    /// Reads the objects; after an error the pass is retried with back-off, and nothing is written.
    fn read(gardenlet: &Gardenlet, shoot: &Shoot) -> Result<Self, Error> {
        let namespace = &shoot.metadata.namespace;
        let project = gardenlet
            .stores
            .projects
            .list()
            .into_iter()
            .find(|project| project.spec.namespace.as_deref() == Some(namespace))
            .ok_or_else(|| Error::Failed(format!("cannot find Project for namespace '{namespace}'")))?;
        let seed = gardenlet
            .stores
            .seeds
            .get(&garden_key("", &gardenlet.options.seed_name))
            .ok_or_else(|| Error::Failed(format!("seed \"{}\" not found", gardenlet.options.seed_name)))?;
        let profile = cloud_profile::resolve(shoot, &mut &gardenlet.stores)
            .map_err(|error| Error::Failed(format!("cannot read the CloudProfile: {error}")))?;
        let copy = match &profile {
            Resolved::Cluster(profile) => gardenlet.copies.of(&**profile),
            Resolved::Namespaced(profile) => gardenlet.copies.of(&**profile),
        };
        let copies = (copy, gardenlet.copies.of(&*seed));
        Ok(Self { project, cloud_profile: Arc::new(profile.spec().clone()), copies, seed })
    }
}

/// Result of a run.
enum Outcome {
    Success,
    Failure { description: String, errors: Vec<TaskFailure> },
}

/// Creates or reconciles a Shoot.
pub(crate) async fn reconcile(
    gardenlet: Arc<Gardenlet>,
    shoot: Arc<Shoot>,
    key: &ObjectKey,
    operation: OperationType,
) -> Result<Requeue, Error> {
    run(&gardenlet, &shoot, key, operation, &flow::reconcile::TASKS).await
}

/// Deletes a Shoot.
pub(crate) async fn delete(gardenlet: Arc<Gardenlet>, shoot: Arc<Shoot>, key: &ObjectKey) -> Result<Requeue, Error> {
    if !shoot.metadata.has_finalizer(finalizer::GARDENER) {
        return Ok(Requeue::OnChange);
    }
    let is_done = shoot.status.last_operation.as_ref().is_some_and(|operation| {
        operation.r#type == operation_type::DELETE && operation.state == operation_state::SUCCEEDED
    });
    if shoot.status.uid.is_empty() || is_done {
        return finalize(&gardenlet, &shoot).await;
    }
    let schedule = rules::schedule(&shoot, &gardenlet.settings(), gardenlet.context.clock.now());
    if !schedule.reconcile_now {
        return super::skip(&gardenlet, &shoot, key, schedule.requeue).await;
    }
    run(&gardenlet, &shoot, key, OperationType::Delete, &flow::delete::TASKS).await
}

/// Returns the action of the Events about an operation.
const fn action(operation: OperationType) -> Action {
    match operation {
        OperationType::Create | OperationType::Reconcile | OperationType::Restore => Action::Reconcile,
        OperationType::Delete => Action::Delete,
        OperationType::Migrate => Action::Migrate,
    }
}

/// Runs the last steps of a deletion: removes the Cluster copy and the finalizer.
async fn finalize(gardenlet: &Gardenlet, shoot: &Shoot) -> Result<Requeue, Error> {
    if !shoot.status.technical_id.is_empty() {
        let clusters = gardenlet.seed::<Cluster>("");
        match clusters.delete(&shoot.status.technical_id, &Default::default()).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
    }
    let api = gardenlet.shoots(&shoot.metadata.namespace);
    let Some(present) = api.get_opt(&shoot.metadata.name).await? else { return Ok(Requeue::OnChange) };
    let mut new = present.clone();
    new.metadata.finalizers.retain(|finalizer| finalizer != finalizer::GARDENER);
    api.update(&present, &new).await?;
    Ok(Requeue::OnChange)
}

async fn run(
    gardenlet: &Arc<Gardenlet>,
    shoot: &Arc<Shoot>,
    key: &ObjectKey,
    operation: OperationType,
    tasks: &'static [Task],
) -> Result<Requeue, Error> {
    let surroundings = Surroundings::read(gardenlet, shoot)?;
    let refusal = seed_readiness::refusal(&surroundings.seed, &gardenlet.identity, gardenlet.release());
    if let Some(description) = refusal.filter(|_| !surroundings.seed.metadata.is_being_deleted()) {
        let last = shoot.status.last_operation.as_ref();
        if last.is_none_or(|last| last.description != description) {
            let (percent, state) = (last.map_or(0, |last| last.progress), operation_state::ERROR);
            let last = last_operation(operation, state, percent, &description, now(gardenlet));
            let status = json!({ "gardener": gardenlet.identity, "lastOperation": last });
            write_status(gardenlet, shoot, status).await?;
        }
        return Ok(Requeue::WorkAt(gardenlet.context.clock.now() + SEED_NOT_READY));
    }
    let follows_change = operation != OperationType::Reconcile
        || shoot.metadata.generation != shoot.status.observed_generation
        || shoot.metadata.annotations.contains_key(annotation::OPERATION);
    let shoot = Arc::new(start(gardenlet, shoot, operation, &surroundings).await?);
    let botanist = match prepare(gardenlet, &shoot, operation, &surroundings, follows_change).await {
        Ok(botanist) => botanist,
        Err(error) => {
            let provider = &shoot.spec.provider.r#type;
            let failure = TaskFailure::of_provider(provider, INITIALIZE_OPERATION, error.to_string());
            let description = initialization_error(&error.to_string());
            let failed = Failed { description, errors: vec![failure], percent: 0 };
            return fail(gardenlet, &shoot, key, operation, failed, false).await;
        }
    };
    if let Some(problem) = seed_readiness::problem(&surroundings.seed, &gardenlet.identity)
        && !surroundings.seed.metadata.is_being_deleted()
    {
        let text = format!("Shoot cannot be synced with Seed: seed is not yet ready: {problem}");
        write_status(gardenlet, &shoot, json!({ "lastOperation": { "description": text } })).await?;
        return Ok(Requeue::WorkAt(gardenlet.context.clock.now() + SEED_NOT_READY));
    }
    let about = ObjectRef::of(&*shoot);
    let (reason, message) = operation.start_event();
    gardenlet.recorder.publish_action(&about, EventType::Normal, reason, action(operation), message).await?;
    let ended = run_flow(gardenlet, &botanist, operation, tasks).await;
    botanist.write_finished_tasks().await?;
    let outcome = if ended.failures.is_empty() {
        Outcome::Success
    } else {
        let description = flow_error(operation.flow_name(), &ended.failures);
        Outcome::Failure { description, errors: ended.failures }
    };
    match outcome {
        Outcome::Success => {
            let (reason, message) = operation.success_event();
            gardenlet.recorder.publish_action(&about, EventType::Normal, reason, action(operation), message).await?;
            let new = succeed(gardenlet, &shoot, operation, &botanist).await?;
            if operation == OperationType::Delete {
                botanist.destroy_project_secrets().await.map_err(|error| Error::Failed(error.to_string()))?;
                return finalize(gardenlet, &new).await;
            }
            write_cluster(gardenlet, &new, &surroundings).await?;
            let schedule = rules::schedule(&new, &gardenlet.settings(), gardenlet.context.clock.now());
            Ok(gardenlet.requeue(schedule.requeue, key))
        }
        Outcome::Failure { description, errors } => {
            let failed = Failed { description, errors, percent: ended.percent };
            fail(gardenlet, &shoot, key, operation, failed, true).await
        }
    }
}

/// Writes the start of an operation; returns the written Shoot.
async fn start(
    gardenlet: &Gardenlet,
    shoot: &Shoot,
    operation: OperationType,
    surroundings: &Surroundings,
) -> Result<Shoot, Error> {
    let status = &shoot.status;
    let now = now(gardenlet);
    let mut errors = status.last_errors.clone();
    errors.retain(|error| error.task_id.as_deref() != Some(INITIALIZE_OPERATION));
    let is_switched = operation == OperationType::Delete
        && status.last_operation.as_ref().is_none_or(|last| last.r#type != OperationType::Delete.as_str());
    let is_new_cycle = status.retry_cycle_start_time.is_none()
        || shoot.metadata.generation != status.observed_generation
        || status.gardener.version != gardenlet.identity.version
        || is_switched;
    let progress = 0;
    let mut patch = json!({
        "gardener": gardenlet.identity,
        "observedGeneration": shoot.metadata.generation,
        "lastOperation": last_operation(operation, operation_state::PROCESSING, progress, operation.started(), now),
    });
    let mut set = |name: &str, value: Value| patch[name] = value;
    if errors != status.last_errors {
        set("lastErrors", if errors.is_empty() { Value::Null } else { json!(errors) });
    }
    if is_new_cycle {
        set("retryCycleStartTime", json!(now));
    }
    if operation != OperationType::Delete {
        set("seedName", json!(shoot.spec.seed_name));
    }
    if status.uid.is_empty() {
        set("uid", json!(shoot.metadata.uid));
    }
    if status.technical_id.is_empty() {
        let id = cluster::technical_id(&surroundings.project.metadata.name, &shoot.metadata.name);
        set("technicalID", json!(id));
    }
    let asked = shoot.metadata.annotation(annotation::OPERATION).unwrap_or_default();
    check_rollout(gardenlet, shoot, asked)?;
    let mut rotated = status.clone();
    rotation::begin(&mut rotated, &shoot.spec, asked, now);
    if rotated.credentials != status.credentials {
        set("credentials", difference(&json!(status.credentials), json!(rotated.credentials)));
    }
    if rotated.manual_worker_pool_rollout != status.manual_worker_pool_rollout {
        set("manualWorkerPoolRollout", json!(rotated.manual_worker_pool_rollout));
    }
    let mut begun = shoot.clone();
    begun.status = rotated;
    if operation != OperationType::Delete {
        let key = gardenlet.seed_key(&status.technical_id, &shoot.metadata.name);
        if let Some(updates) = in_place::enter(&begun, gardenlet.stores.workers.get(&key).as_deref()) {
            begun.status.in_place_updates = Some(updates);
        }
    }
    if begun.status.in_place_updates != status.in_place_updates {
        set("inPlaceUpdates", difference(&json!(status.in_place_updates), json!(begun.status.in_place_updates)));
    }
    let mut patch = json!({ "status": patch });
    let begun: Vec<&str> =
        annotations::operations(asked).into_iter().filter(|operation| rotation::is_begun_by_run(operation)).collect();
    if !begun.is_empty() {
        // A local copy may lag behind an operation that has already begun: the version prevents a second start.
        patch["metadata"] = json!({ "resourceVersion": shoot.metadata.resource_version });
    }
    let api = gardenlet.shoots(&shoot.metadata.namespace);
    let started = api.patch_subresource(&shoot.metadata.name, "status", &Patch::Merge(patch)).await?;
    if begun.is_empty() {
        return Ok(started);
    }
    roll_out(gardenlet, &started, asked, now).await?;
    remove_operations(gardenlet, started, asked, &begun).await
}

/// Returns the MachineDeployments of a Shoot's pool.
fn machine_deployments(gardenlet: &Gardenlet, shoot: &Shoot, pool: &str) -> Vec<Arc<MachineDeployment>> {
    let namespace = &shoot.status.technical_id;
    let mut found = gardenlet.stores.machine_deployments.list_in(&gardenlet.seed_cluster, namespace);
    found.retain(|deployment| deployment.metadata.label(label::WORKER_POOL) == Some(pool));
    found
}

/// Returns an error if the roll-out of pools cannot be carried out; nothing is written then.
fn check_rollout(gardenlet: &Gardenlet, shoot: &Shoot, asked: &str) -> Result<(), Error> {
    for pool in manual_rollout::pools(asked, &shoot.spec) {
        let count = machine_deployments(gardenlet, shoot, pool).len();
        manual_rollout::check(pool, &shoot.status.technical_id, count, gardenlet.release()).map_err(Error::Failed)?;
    }
    Ok(())
}

/// Marks the MachineDeployments of the pools that an operation names, so that their machines are replaced.
///
/// Unlike upstream, after the status and not before it: only the write of the status shows whether the operation has
/// already begun.
async fn roll_out(gardenlet: &Gardenlet, shoot: &Shoot, asked: &str, now: Time) -> Result<(), Error> {
    let api = gardenlet.seed::<MachineDeployment>(&shoot.status.technical_id);
    let annotations = json!({ manual_rollout::ANNOTATION: manual_rollout::annotation_value(now) });
    let patch = Patch::Merge(json!({ "spec": { "template": { "metadata": { "annotations": annotations } } } }));
    for pool in manual_rollout::pools(asked, &shoot.spec) {
        for deployment in machine_deployments(gardenlet, shoot, pool) {
            api.patch(&deployment.metadata.name, &patch).await?;
        }
    }
    Ok(())
}

/// Removes operations that have begun from the Shoot's annotation, unless the annotation was changed.
async fn remove_operations(gardenlet: &Gardenlet, shoot: Shoot, asked: &str, begun: &[&str]) -> Result<Shoot, Error> {
    let mut left = annotations::operations(asked);
    left.retain(|operation| !begun.contains(operation));
    let left = (!left.is_empty()).then(|| annotations::join_operations(&left));
    let api = gardenlet.shoots(&shoot.metadata.namespace);
    let mut present = shoot;
    loop {
        if present.metadata.annotation(annotation::OPERATION) != Some(asked) {
            return Ok(present);
        }
        let mut new = present.clone();
        annotations::set_operation(&mut new.metadata.annotations, left.clone());
        match api.update(&present, &new).await {
            Err(error) if error.is_conflict() => present = api.get(&present.metadata.name).await?,
            result => return result,
        }
    }
}

/// Returns a merge patch from one value to another: `null` for removed fields.
fn difference(old: &Value, new: Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(mut new)) => {
            for (key, before) in old {
                let after = new.get_mut(key).map_or(Value::Null, Value::take);
                new.insert(key.clone(), difference(before, after));
            }
            Value::Object(new)
        }
        (_, new) => new,
    }
}

/// Builds the run with everything that the flow needs, and writes the Cluster copy that extensions read.
async fn prepare(
    gardenlet: &Arc<Gardenlet>,
    shoot: &Arc<Shoot>,
    operation: OperationType,
    surroundings: &Surroundings,
    follows_change: bool,
) -> Result<Botanist, Error> {
    write_cluster(gardenlet, shoot, surroundings).await?;
    let domains = Domains::read(gardenlet, shoot, follows_change).await?;
    let identity = gardenlet.read::<ConfigMap>("kube-system", "cluster-identity", follows_change).await?;
    let identity = identity.and_then(|map| map.data.get("cluster-identity").cloned());
    let facts = facts(gardenlet, shoot, &surroundings.seed, &domains);
    Ok(Botanist::new(
        gardenlet.clone(),
        botanist::Inputs {
            operation,
            shoot: shoot.clone(),
            project: surroundings.project.clone(),
            cloud_profile: surroundings.cloud_profile.clone(),
            seed: surroundings.seed.clone(),
            domains,
            garden_identity: identity.unwrap_or_else(|| GARDEN.to_owned()),
            facts,
            follows_change,
        },
    ))
}

/// Determines the facts that the conditions of the flow's table read.
fn facts(gardenlet: &Gardenlet, shoot: &Shoot, seed: &Seed, domains: &Domains) -> Facts {
    let spec = &shoot.spec;
    let stores = &gardenlet.stores;
    let technical_id = &shoot.status.technical_id;
    let workerless = spec.provider.workers.is_empty();
    let is_set = |key: &str| annotations::is_true(&shoot.metadata.annotations, key);
    let rotation = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
    let key_phase = rotation.and_then(|rotation| Some(rotation.service_account_key.as_ref()?.phase.as_str()));
    let etcd_phase = rotation.and_then(|rotation| Some(rotation.etcd_encryption_key.as_ref()?.phase.as_str()));
    let api_server = stores.deployments.get(&gardenlet.seed_key(technical_id, "kube-apiserver"));
    let namespace = stores.namespaces.get(&gardenlet.seed_key("", technical_id));
    let infrastructure = stores.infrastructures.get(&gardenlet.seed_key(technical_id, &shoot.metadata.name));
    let control_plane = stores.control_planes.get(&gardenlet.seed_key(technical_id, &shoot.metadata.name));
    let namespace_gone = namespace.is_none_or(|namespace| namespace.metadata.is_being_deleted());
    let has_infrastructure = infrastructure.is_some() || workerless;
    let networks = (
        spec.networking.as_ref().and_then(|networking| networking.nodes.as_ref()),
        shoot.status.networking.as_ref().is_some_and(|networking| !networking.nodes.is_empty()),
    );
    let authorizer = api_server.as_ref().is_some_and(|server| {
        server.spec.template.metadata.annotations.contains_key(annotation::NODE_AGENT_AUTHORIZER)
            && server.status.available_replicas > 0
    });
    Facts {
        workerless,
        hibernated: shoot_facts::is_hibernation_enabled(spec),
        skip_readiness: shoot.metadata.annotations.contains_key(annotation::SHOOT_SKIP_READINESS),
        seed_backup: seed.spec.backup.is_some(),
        node_agent_authorizer: gardenlet.options.config.gate(NODE_AGENT_AUTHORIZER, &gardenlet.identity.version),
        authorizer_ready: authorizer,
        service_account_key_preparing: matches!(key_phase, Some("Preparing" | "PreparingWithoutWorkersRollout")),
        service_account_key_completing: key_phase == Some("Completing"),
        etcd_key_preparing: etcd_phase == Some("Preparing"),
        etcd_key_completing: etcd_phase == Some("Completing"),
        encryption_changed: domain::encryption::changes(shoot, gardenlet.release()),
        exposure: !domains.publish_api_server() && gardenlet.has_component(EXPOSURE),
        ssh_access: shoot_facts::has_ssh_access(spec),
        kube_proxy: Component::KubeProxy.is_required_by(spec),
        nginx_ingress: spec
            .addons
            .as_ref()
            .and_then(|addons| addons.nginx_ingress.as_ref())
            .is_some_and(|ingress| ingress.enabled),
        managed_issuer: shoot.metadata.annotation(annotation::AUTHENTICATION_ISSUER) == Some("managed"),
        restart_control_plane_pods: annotations::has_task(
            &shoot.metadata.annotations,
            task::RESTART_CONTROL_PLANE_PODS,
        ),
        nodes_network_known: networks.0.is_some() || networks.1,
        namespace_gone,
        no_cleanup: namespace_gone || api_server.is_none() || !has_infrastructure,
        control_plane_deployment_needed: control_plane.is_some_and(|plane| !plane.metadata.is_being_deleted()),
        api_server_scaled: api_server.is_some_and(|server| server.spec.replicas != Some(0)),
        kube_controller_manager: stores
            .deployments
            .get(&gardenlet.seed_key(technical_id, "kube-controller-manager"))
            .is_some(),
        skip_cleanup: is_set(annotation::SHOOT_SKIP_CLEANUP),
    }
}

/// Runs the flow; writes progress to the Shoot's status.
async fn run_flow(
    gardenlet: &Arc<Gardenlet>,
    botanist: &Botanist,
    operation: OperationType,
    tasks: &'static [Task],
) -> Ended {
    let plan = Plan::new(tasks, botanist.facts.clone());
    let shoot = &botanist.shoot;
    let errors = Mutex::new(shoot.status.last_errors.clone());
    let report = |progress: Progress| {
        let description =
            progress_description(operation.flow_name(), progress.percent, progress.running.iter().copied());
        let now = now(gardenlet);
        let operation = last_operation(operation, operation_state::PROCESSING, progress.percent, description, now);
        let mut status = json!({ "lastOperation": operation });
        {
            let mut errors = errors.lock();
            let before = errors.len();
            forget(&mut errors, &progress.succeeded);
            if errors.len() != before {
                status["lastErrors"] = if errors.is_empty() { Value::Null } else { json!(*errors) };
            }
        }
        async move {
            let written = async {
                botanist.write_finished_tasks().await?;
                write_status(gardenlet, shoot, status).await
            };
            if let Err(error) = written.await {
                // The next report repeats the progress; the flow continues.
                tracing::warn!(%error, namespace = shoot.metadata.namespace, name = shoot.metadata.name, "progress");
            }
        }
    };
    flow::run::run(plan, &gardenlet.context.clock, |task| botanist.perform(task), report).await
}

/// Removes the errors of tasks that have succeeded from a list.
fn forget(errors: &mut Vec<LastError>, succeeded: &[&str]) {
    errors.retain(|error| error.task_id.as_deref().is_none_or(|task| !succeeded.contains(&task)));
}

pub(super) async fn write_status(gardenlet: &Gardenlet, shoot: &Shoot, status: Value) -> Result<(), Error> {
    let api = gardenlet.shoots(&shoot.metadata.namespace);
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_subresource(&shoot.metadata.name, "status", &patch).await.map(drop)
}

/// Writes the success of an operation; returns the written Shoot.
async fn succeed(
    gardenlet: &Gardenlet,
    shoot: &Shoot,
    operation: OperationType,
    botanist: &Botanist,
) -> Result<Shoot, Error> {
    let api = gardenlet.shoots(&shoot.metadata.namespace);
    let key = garden_key(&shoot.metadata.namespace, &shoot.metadata.name);
    loop {
        let present = match gardenlet.stores.shoots.get(&key) {
            Some(present) => present,
            None => api.get(&shoot.metadata.name).await?.into(),
        };
        let now = now(gardenlet);
        let mut new = Shoot::clone(&present);
        let status = &mut new.status;
        status.last_operation =
            Some(last_operation(operation, operation_state::SUCCEEDED, 100, operation.succeeded(), now));
        status.last_errors.clear();
        status.retry_cycle_start_time = None;
        rotation::succeed(status, &botanist.shoot.spec, now);
        if operation != OperationType::Delete {
            status.seed_name.clone_from(&new.spec.seed_name);
            status.hibernated = botanist.facts.hibernated;
            status.conditions.iter_mut().for_each(|condition| set_progressing(condition, now));
            for constraint in &mut status.constraints {
                if matches!(
                    constraint.r#type.as_str(),
                    condition::HIBERNATION_POSSIBLE | condition::MAINTENANCE_PRECONDITIONS_SATISFIED
                ) {
                    set_progressing(constraint, now);
                }
            }
        }
        match api.update_status(&present, &new).await {
            // The local copy lags behind a write of others.
            Err(error) if error.is_conflict() => drop(api.get_shared(&shoot.metadata.name).await?),
            result => return result,
        }
    }
}

/// Failure of a run.
struct Failed {
    description: String,
    errors: Vec<TaskFailure>,
    percent: i32,
}

/// Writes the failure of an operation, in or before its flow; returns when to retry.
async fn fail(
    gardenlet: &Gardenlet,
    shoot: &Shoot,
    key: &ObjectKey,
    operation: OperationType,
    failed: Failed,
    has_flow: bool,
) -> Result<Requeue, Error> {
    let Failed { description, errors, percent } = failed;
    if has_flow {
        let about = ObjectRef::of(shoot);
        let (type_, reason) = (EventType::Warning, operation.failure_reason());
        gardenlet.recorder.publish_action(&about, type_, reason, action(operation), &description).await?;
    }
    let now = now(gardenlet);
    // A flow reports all its failures, so older errors are dropped, even those of tasks that it did not reach. Without
    // a flow, older errors may still apply.
    let mut items = if has_flow { Vec::new() } else { shoot.status.last_errors.clone() };
    items.extend(errors.iter().map(|error| error.to_last_error(now)));
    let codes: Vec<&str> = items.iter().flat_map(|error| error.codes.iter().map(String::as_str)).collect();
    let retry_duration = gardenlet.options.config.retry_duration;
    let Verdict { state, description, ends_retry_cycle } =
        verdict(&description, codes, shoot.status.retry_cycle_start_time, retry_duration, now);
    let mut status = json!({
        "gardener": gardenlet.identity,
        "lastOperation": last_operation(operation, state, percent, description.clone(), now),
        "lastErrors": items,
    });
    if ends_retry_cycle {
        status["retryCycleStartTime"] = Value::Null;
    }
    write_status(gardenlet, shoot, status).await?;
    if state == operation_state::FAILED {
        return Ok(Requeue::OnChange);
    }
    Err(Error::Failed(format!("{key}: {description}")))
}

/// Refreshes the Cluster copy of a Shoot that is not being reconciled.
pub(crate) async fn sync_cluster(gardenlet: &Gardenlet, shoot: &Shoot) -> Result<(), Error> {
    if shoot.status.technical_id.is_empty() {
        return Ok(());
    }
    let surroundings = Surroundings::read(gardenlet, shoot)?;
    write_cluster(gardenlet, shoot, &surroundings).await
}

/// Writes the Cluster object, by which extensions read CloudProfile, Seed and Shoot. All three are long, and mostly a
/// few words of the Shoot differ: their texts are compared and written as a whole, without parsing them on either side.
async fn write_cluster(gardenlet: &Gardenlet, shoot: &Shoot, surroundings: &Surroundings) -> Result<(), Error> {
    let name = &shoot.status.technical_id;
    let clusters = gardenlet.seed::<Cluster>("").with_store(&gardenlet.stores.clusters);
    let (cloud_profile, seed) = surroundings.copies.clone();
    let spec = ClusterSpec { cloud_profile, seed: Some(seed), shoot: RawExtension::from(copied_tree(shoot)) };
    let stored = match gardenlet.known::<Cluster>(&gardenlet.seed_cluster, "", name) {
        // The local copy may not be complete yet.
        None => clusters.get_shared(name).await?,
        known => known,
    };
    match stored {
        None => clusters.create(&Cluster { metadata: ObjectMeta::named("", name), spec }).await.map(drop),
        Some(stored) if stored.spec == spec => Ok(()),
        Some(stored) => clusters.replace(&Cluster { metadata: stored.metadata.clone(), spec }).await.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_sets_removed_fields_to_null() {
        let tree = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        for (old, new, expected) in [
            ("null", r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":{"b":1,"c":[1]}}"#, r#"{"a":{"b":2}}"#, r#"{"a":{"b":2,"c":null}}"#),
            (r#"{"a":{"c":[1,2]}}"#, r#"{"a":{"c":[2]},"d":"e"}"#, r#"{"a":{"c":[2]},"d":"e"}"#),
            (r#"{"a":1}"#, "null", "null"),
        ] {
            assert_eq!(difference(&tree(old), tree(new)), tree(expected), "{old} {new}");
        }
    }

    #[test]
    fn a_task_that_succeeds_takes_its_own_error_along() {
        let error = |task: Option<&str>| LastError { task_id: task.map(str::to_owned), ..LastError::default() };
        let mut errors = vec![error(Some("Deploying Shoot namespace in Seed")), error(Some("other")), error(None)];
        forget(&mut errors, &["Deploying Shoot namespace in Seed"]);
        assert_eq!(errors, [error(Some("other")), error(None)]);
    }
}
