// SPDX-License-Identifier: Apache-2.0
//! The Seed: its registration at the start, and its status.
//!
//! Unlike upstream: the Seed is reconciled when something about it changed instead of periodically, and its heartbeat
//! is not written: the Lease is created once, without renewals, and reads as renewed while this process is connected.
//! Condition `GardenletReady` becomes True only after the Lease exists.
//! Source: cmd/gardenlet/app/app.go, pkg/gardenlet/controller/seed @ v1.120.0.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::{condition, finalizer, label, namespace, role};
use api::core::{Condition, LastOperation, Seed};
use api::kubernetes::coordination::{Lease, LeaseSpec};
use api::kubernetes::core::{ConfigMap, Namespace};
use api::terrarium::Cluster;
use apimachinery::Resource as _;
use apimachinery::meta::{ObjectMeta, OwnerReference, Quantity, Time};
use chrono::TimeDelta;
use clock::TimerClass;
use controller::{Action, Api, Controller, Error, EventType, ListOptions, ObjectKey, ObjectRef, Requeue};
use domain::care::conditions::{initial, set_progressing, updated};
use domain::conditions;
use domain::emergency_stop;
use domain::fault::{self, Process};
use process::Context;

use super::Options;
use super::shared::{GARDEN, Gardenlet, RUNTIME, garden_key};
use super::shoot::responsible_seed;

/// Maximum time to wait for the namespace of the Seed.
const NAMESPACE_TIMEOUT: TimeDelta = TimeDelta::seconds(5);
/// Default of `leaseResyncSeconds` in seconds.
const LEASE_SECONDS: i32 = 2;

/// Creates or updates the Seed from the template, then waits for its namespace.
pub(crate) async fn register(context: &Context, options: &Options) -> Result<(), Error> {
    let mut seed = Seed {
        metadata: ObjectMeta::named("", &options.seed_name),
        spec: options.seed_template.spec.clone(),
        ..Seed::default()
    };
    seed.metadata.labels.clone_from(&options.seed_template.metadata.labels);
    seed.metadata.annotations.clone_from(&options.seed_template.metadata.annotations);
    seed.metadata.labels.insert(label::ROLE.to_owned(), role::SEED.to_owned());
    let stored = Api::<Seed>::all(context, GARDEN).create_or_update(&seed).await?;
    await_namespace(context, &format!("{}{}", namespace::SEED_PREFIX, options.seed_name)).await;
    ensure_lease(context, &stored).await
}

/// Waits until the namespace of the Seed exists in the garden, for a limited time: gardenlet stores nothing in it.
async fn await_namespace(context: &Context, name: &str) {
    let options = ListOptions { field_selector: format!("metadata.name={name}"), ..ListOptions::default() };
    let (there, mut is_there) = process::watch::channel(false);
    let reflector =
        controller::Reflector::new(Api::<Namespace>::all(context, GARDEN), options).on_change(move |change| {
            there.send_replace(change.new.is_some());
        });
    tokio::select! {
        biased;
        _ = is_there.wait_for(|there| *there) => {}
        () = reflector.run() => {}
        () = context.clock.sleep(NAMESPACE_TIMEOUT, TimerClass::Work) => {
            context.output.line(&format!("namespace {name} is not there yet, going on without it"));
        }
    }
}

/// Creates the Lease; its renewals are derived when it is read.
async fn ensure_lease(context: &Context, seed: &Seed) -> Result<(), Error> {
    let leases = Api::<Lease>::namespaced(context, GARDEN, namespace::SEED_LEASE);
    let namespace = Namespace { metadata: ObjectMeta::named("", namespace::SEED_LEASE), ..Namespace::default() };
    match Api::<Namespace>::all(context, GARDEN).create(&namespace).await {
        Err(error) if !error.is_already_exists() => return Err(error),
        _ => {}
    }
    let mut metadata = ObjectMeta::named(namespace::SEED_LEASE, &seed.metadata.name);
    metadata.owner_references = vec![OwnerReference {
        api_version: Seed::api_version(),
        kind: Seed::KIND.to_owned(),
        name: seed.metadata.name.clone(),
        uid: seed.metadata.uid.clone(),
        ..OwnerReference::default()
    }];
    let lease = Lease {
        metadata,
        spec: LeaseSpec {
            holder_identity: Some(seed.metadata.name.clone()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            // While this process runs, the host shows the Lease as renewed.
            renew_time: None,
            ..LeaseSpec::default()
        },
    };
    leases.create_or_update(&lease).await?;
    Ok(())
}

/// Runs the Seed controller until the component stops.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>) {
    let mut controller = Controller::new("seed", &gardenlet.context);
    controller.watch_store(&gardenlet.stores.seeds, |change| vec![change.key.clone()]);
    let key = garden_key("", &gardenlet.options.seed_name);
    controller.watch_store(&gardenlet.stores.shoots, move |change| {
        // A Seed that is being deleted waits for the last of its Shoots.
        if change.new.is_none() { vec![key.clone()] } else { Vec::new() }
    });
    // A fault may disconnect this gardenlet from its seed for a while.
    let (queue, key) = (controller.queue(), garden_key("", &gardenlet.options.seed_name));
    gardenlet.stores.faults.subscribe(move |_| queue.add(key.clone()));
    controller
        .run(1, move |key| {
            let gardenlet = gardenlet.clone();
            async move { pass(&gardenlet, &key).await }
        })
        .await;
}

async fn pass(gardenlet: &Gardenlet, key: &ObjectKey) -> Result<Requeue, Error> {
    let Some(seed) = gardenlet.stores.seeds.get(key) else { return Ok(Requeue::OnChange) };
    if seed.metadata.name != gardenlet.options.seed_name {
        return Ok(Requeue::OnChange);
    }
    if seed.metadata.is_being_deleted() {
        return delete(gardenlet, &seed).await;
    }
    if let Some(wait) = unreachable(gardenlet) {
        return Ok(wait);
    }
    let is_current = seed.status.gardener.as_ref() == Some(&gardenlet.identity)
        && seed.status.observed_generation == seed.metadata.generation
        && seed.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded");
    let seed = if is_current { (*seed).clone() } else { reconcile(gardenlet, &seed).await? };
    care(gardenlet, &seed).await?;
    Ok(Requeue::OnChange)
}

fn operation(type_: &str, state: &str, progress: i32, description: &str, now: Time) -> LastOperation {
    LastOperation {
        description: description.to_owned(),
        last_update_time: now,
        progress,
        state: state.to_owned(),
        r#type: type_.to_owned(),
    }
}

/// Runs one reconciliation: start write, success write.
async fn reconcile(gardenlet: &Gardenlet, seed: &Seed) -> Result<Seed, Error> {
    let api = gardenlet.garden::<Seed>("");
    let now = Time::from_instant(gardenlet.context.clock.now());
    let mut seed = seed.clone();
    if !seed.metadata.has_finalizer(finalizer::GARDENER) {
        let mut new = seed.clone();
        new.metadata.finalizers.push(finalizer::GARDENER.to_owned());
        seed = api.update(&seed, &new).await?;
    }
    let cluster = Api::<Cluster>::all(&gardenlet.context, RUNTIME).get_opt(&gardenlet.seed_cluster).await?;
    let mut new = seed.clone();
    let text = "Reconciliation of Seed cluster initialized.";
    new.status.last_operation = Some(operation("Reconcile", "Processing", 0, text, now));
    new.status.gardener = Some(gardenlet.identity.clone());
    new.status.observed_generation = seed.metadata.generation;
    new.status.kubernetes_version = cluster.map(|cluster| format!("v{}", cluster.spec.kubernetes_version));
    (new.status.capacity, new.status.allocatable) = resources(gardenlet);
    if new.status.cluster_identity.is_none() {
        let garden = gardenlet.garden::<ConfigMap>("kube-system").get_opt("cluster-identity").await?;
        let garden = garden.and_then(|map| map.data.get("cluster-identity").cloned());
        let garden = garden.unwrap_or_else(|| GARDEN.to_owned());
        new.status.cluster_identity = Some(format!("{garden}-{}-seed", seed.metadata.name));
    }
    let started = api.update_status(&seed, &new).await?;
    let mut new = started.clone();
    let text = "Seed cluster has been successfully reconciled.";
    new.status.last_operation = Some(operation("Reconcile", "Succeeded", 100, text, now));
    for condition in &mut new.status.conditions {
        set_progressing(condition, now);
    }
    api.update_status(&started, &new).await
}

/// Returns when a fault that disconnects gardenlet from its seed ends; until then, gardenlet does not report ready.
fn unreachable(gardenlet: &Gardenlet) -> Option<Requeue> {
    let now = gardenlet.context.clock.now();
    let itself = Process {
        component: &gardenlet.context.identity.component,
        pod: &gardenlet.context.identity.instance,
        seed: Some(&gardenlet.options.seed_name),
    };
    let faults = gardenlet.stores.faults.list();
    let fault = faults.iter().find(|fault| fault::stops_heartbeats(fault, itself, now))?;
    Some(fault.spec.until.map_or(Requeue::OnChange, |until| Requeue::At(until.0)))
}

/// Returns the capacity, and the part of it that is not reserved.
fn resources(gardenlet: &Gardenlet) -> (BTreeMap<String, Quantity>, BTreeMap<String, Quantity>) {
    let config = &gardenlet.options.config;
    let quantity = |count: u32| count.to_string().parse::<Quantity>().unwrap_or_default();
    let mut capacity = BTreeMap::new();
    let mut allocatable = BTreeMap::new();
    for name in config.resource_names() {
        let all = config.capacity.get(name).copied().unwrap_or_default();
        let reserved = config.reserved.get(name).copied().unwrap_or_default();
        capacity.insert(name.to_owned(), quantity(all));
        allocatable.insert(name.to_owned(), quantity(all.saturating_sub(reserved)));
    }
    (capacity, allocatable)
}

/// Updates the conditions that gardenlet is responsible for.
async fn care(gardenlet: &Gardenlet, seed: &Seed) -> Result<(), Error> {
    let is_unknown = |condition: &Condition| condition.status == "Unknown";
    if conditions::get(&seed.status.conditions, condition::SEED_GARDENLET_READY).is_some_and(is_unknown) {
        // The condition says that the Lease is renewed, which another client may have deleted or rewritten. Without it
        // gardener-controller-manager would take the condition back at once.
        ensure_lease(&gardenlet.context, seed).await?;
    }
    let now = Time::from_instant(gardenlet.context.clock.now());
    let mut new = seed.clone();
    for (type_, reason, message) in [
        (condition::SEED_GARDENLET_READY, condition::SEED_GARDENLET_READY, "Gardenlet is posting ready status."),
        (condition::SEED_SYSTEM_COMPONENTS_HEALTHY, "SystemComponentsRunning", "All system components are healthy."),
    ] {
        let set = |old: &Condition| updated(old, "True", reason, message, &[], now);
        match new.status.conditions.iter_mut().find(|condition| condition.r#type == type_) {
            Some(condition) => *condition = set(condition),
            None => new.status.conditions.push(set(&initial(type_, now))),
        }
    }
    let release = gardenlet.release();
    emergency_stop::set_condition(&mut new.status.conditions, emergency_stop::is_active(seed, release), release, now);
    gardenlet.garden::<Seed>("").update_status(seed, &new).await?;
    Ok(())
}

/// Removes the Seed's finalizer once no Shoot refers to it.
async fn delete(gardenlet: &Gardenlet, seed: &Seed) -> Result<Requeue, Error> {
    if !seed.metadata.has_finalizer(finalizer::GARDENER) {
        return Ok(Requeue::OnChange);
    }
    let shoots: Vec<String> = gardenlet
        .stores
        .shoots
        .list()
        .iter()
        .filter(|shoot| responsible_seed(shoot) == Some(seed.metadata.name.as_str()))
        .map(|shoot| format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name))
        .collect();
    if !shoots.is_empty() {
        let message = format!(
            "Can't delete Seed, because the following objects are still referencing it: Shoots=[{}]",
            shoots.join(" ")
        );
        let about = ObjectRef::of(seed);
        let (type_, reason) = (EventType::Normal, "ResourceReferenced");
        gardenlet.recorder.publish_action(&about, type_, reason, Action::Delete, &message).await?;
        return Ok(Requeue::OnChange);
    }
    let mut new = seed.clone();
    new.metadata.finalizers.retain(|finalizer| finalizer != finalizer::GARDENER);
    gardenlet.garden::<Seed>("").update(seed, &new).await?;
    Ok(Requeue::OnChange)
}
