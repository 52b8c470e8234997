// SPDX-License-Identifier: Apache-2.0
//! The Garden: its operations and its health.
//!
//! Source: pkg/operator/controller/garden/{garden,care} @ v1.120.0.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api::constants::{annotation, finalizer, namespace, operation_state};
use api::core::Gardener;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Namespace, Pod};
use api::operator::{Garden, GardenStatus};
use api::terrarium::Cluster;
use apimachinery::Resource;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use controller::{Api, Change, Controller, Error, ListOptions, ObjectKey, Requeue, Store};
use domain::care::components::Workload;
use domain::conditions;
use domain::garden::control_plane::{self, Component, DesiredComponent, Settings, overrides_name};
use domain::garden::flow::{self, Act, Progress, State};
use domain::garden::rollout::{self, Rollout};
use domain::garden::status;
use process::{Context, watch};

use crate::apply::{self, GARDENER_INFO};
use crate::{GARDEN, RUNTIME, gardenlets};

/// Returns the only key of the queue: there is one Garden.
fn the_key() -> ObjectKey {
    ObjectKey { cluster: RUNTIME.into(), namespace: "".into(), name: GARDEN.into() }
}

/// Starts the controller, which ends with the component. It writes nothing before `leads` is true; when the Garden is
/// reconciled for the first time, it sends true to `told`. Returns the local copy of Gardens.
pub(crate) fn start(
    context: &Context,
    settings: Settings,
    identity: Gardener,
    leads: watch::Receiver<bool>,
    told: watch::Sender<bool>,
) -> Store<Garden> {
    let mut controller = Controller::new("garden", context);
    let context = context.clone();
    let asked = Arc::new(AtomicBool::new(false));
    let always = |_: &Change<Garden>| vec![the_key()];
    let gardens = controller.watch(Api::all(&context, RUNTIME), ListOptions::default(), always);
    let components = ListOptions::labelled("app=gardener");
    let in_garden = || namespace::GARDEN;
    let deployments = Api::<Deployment>::namespaced(&context, RUNTIME, in_garden());
    let deployments = controller.watch(deployments, components.clone(), |_| vec![the_key()]);
    let known = gardens.clone();
    let pods = Api::<Pod>::namespaced(&context, RUNTIME, in_garden());
    let pods = controller.watch(pods, components, move |_| {
        let is_waiting = known.list().iter().any(|garden| !status::is_over(garden));
        if is_waiting { vec![the_key()] } else { Vec::new() }
    });
    let was_asked = asked.clone();
    let maps = Api::<ConfigMap>::namespaced(&context, RUNTIME, in_garden());
    let maps = controller.watch(maps, ListOptions::default(), move |change| {
        let is_override = Component::ALL.iter().any(|component| *change.key.name == *overrides_name(*component));
        if !is_override || !change.differs(|map| map.data.clone()) {
            return Vec::new();
        }
        was_asked.store(true, Ordering::Relaxed);
        vec![the_key()]
    });
    let named = |name: &str| ListOptions::with_field(&format!("metadata.name={name}"));
    let infos = Api::<ConfigMap>::namespaced(&context, GARDEN, namespace::PUBLIC);
    let infos = controller.watch(infos, named(GARDENER_INFO), |_| vec![the_key()]);
    let namespaces =
        controller.watch(Api::<Namespace>::all(&context, GARDEN), named(namespace::PUBLIC), |_| vec![the_key()]);
    let clusters = controller.watch(Api::<Cluster>::all(&context, RUNTIME), named(GARDEN), |_| vec![the_key()]);
    let returned = gardens.clone();
    let operator = Arc::new(Operator {
        told,
        gardens,
        deployments,
        pods,
        maps,
        infos,
        namespaces,
        clusters,
        asked,
        context: context.clone(),
        settings,
        identity,
    });
    let queue = controller.queue();
    let mut led = leads.clone();
    context.tasks.spawn(async move {
        if led.wait_for(|leads| *leads).await.is_ok() {
            queue.add(the_key());
        }
    });
    context.tasks.spawn(controller.run(1, move |_| {
        let (operator, leads) = (operator.clone(), *leads.borrow());
        async move { if leads { operator.pass().await } else { Ok(Requeue::OnChange) } }
    }));
    returned
}

struct Operator {
    context: Context,
    settings: Settings,
    /// Content of `status.gardener`.
    identity: Gardener,
    gardens: Store<Garden>,
    deployments: Store<Deployment>,
    pods: Store<Pod>,
    maps: Store<ConfigMap>,
    infos: Store<ConfigMap>,
    namespaces: Store<Namespace>,
    clusters: Store<Cluster>,
    /// True if configuration overrides have changed since the last operation began.
    asked: Arc<AtomicBool>,
    /// Set to true when the Garden is reconciled.
    told: watch::Sender<bool>,
}

impl Operator {
    fn api(&self) -> Api<Garden> {
        Api::all(&self.context, RUNTIME).with_store(&self.gardens)
    }

    fn now(&self) -> Time {
        Time::from_instant(self.context.clock.now())
    }

    /// Returns the current Garden; `None`: there is none, or more than one.
    fn garden(&self) -> Option<Garden> {
        let gardens = self.gardens.list();
        let garden = match gardens.as_slice() {
            [] => return None,
            [garden] => garden,
            _ => {
                tracing::error!(
                    "there can be at most one operator.gardener.cloud/v1alpha1.Garden resource in the system at a time"
                );
                return None;
            }
        };
        Some(Garden::clone(garden))
    }

    async fn write_status(&self, garden: &Garden, status: GardenStatus) -> Result<Garden, Error> {
        if garden.status == status {
            return Ok(garden.clone());
        }
        let new = Garden { status, ..garden.clone() };
        self.api().update_status(garden, &new).await
    }

    async fn pass(&self) -> Result<Requeue, Error> {
        let Some(mut garden) = self.garden() else { return Ok(Requeue::OnChange) };
        let is_deletion = garden.metadata.is_being_deleted();
        if is_deletion && !garden.metadata.has_finalizer(finalizer::OPERATOR) {
            return Ok(Requeue::OnChange);
        }
        // Both are evaluated: the operation that begins covers the changed overrides, too.
        let is_asked = self.asked.swap(false, Ordering::Relaxed);
        if status::begins(&garden, &self.identity) || is_asked {
            // A request that was not carried out remains one.
            garden = self.begin(&garden).await.inspect_err(|_| {
                self.asked.fetch_or(is_asked, Ordering::Relaxed);
            })?;
        }
        if status::is_over(&garden) {
            match self.repaired_at(&garden) {
                Some(at) if at <= self.now().0 => garden = self.begin(&garden).await?,
                repaired_at => return self.care(garden, repaired_at).await,
            }
        }
        let tasks = if is_deletion { flow::deletion() } else { flow::reconciliation(&garden) };
        let progress = flow::progress(&tasks, |act| self.state(&garden, act));
        if progress.is_finished() {
            return self.finish(garden).await;
        }
        let acts = futures::future::join_all(progress.running.iter().map(|task| self.act(&garden, task.act)));
        let (said, done) = futures::future::join(self.say(&garden, &progress), acts).await;
        done.into_iter().collect::<Result<(), Error>>()?;
        let garden = said?;
        let since = garden.status.last_operation.as_ref().map(|operation| operation.last_update_time.0);
        let is_waiting = progress.failures.is_empty();
        Ok(match since.filter(|_| is_waiting) {
            // Not a work timer: the clock must not jump to the time at which a task is late.
            Some(since) => Requeue::At(since + status::TASK_TIMEOUT),
            None => Requeue::OnChange,
        })
    }

    /// Writes the start of an operation: from then on an older operator refuses to start.
    async fn begin(&self, garden: &Garden) -> Result<Garden, Error> {
        let garden = self.write_status(garden, status::begun(garden, &self.identity, self.now())).await?;
        tracing::info!(garden = garden.metadata.name, "{} begins", status::flow_name(&garden));
        let mut new = garden.clone();
        new.metadata.annotations.remove(annotation::OPERATION);
        if !garden.metadata.is_being_deleted() && !new.metadata.has_finalizer(finalizer::OPERATOR) {
            new.metadata.finalizers.push(finalizer::OPERATOR.to_owned());
        }
        if new == garden { Ok(garden) } else { self.api().update(&garden, &new).await }
    }

    /// Writes the progress of the flow and the health of the garden.
    async fn say(&self, garden: &Garden, progress: &Progress) -> Result<Garden, Error> {
        let mut status = status::in_progress(garden, progress, self.now());
        if status.last_operation != garden.status.last_operation
            && let Some(operation) = &status.last_operation
        {
            if operation.state == operation_state::ERROR {
                tracing::error!(progress = operation.progress, error = operation.description, "Reconciliation failed");
            } else {
                tracing::info!(progress = operation.progress, tasks = operation.description, "Executing flow");
            }
        }
        if !garden.metadata.is_being_deleted() {
            let (health, _) = self.health(garden);
            conditions::merge(&mut status.conditions, health);
        }
        self.write_status(garden, status).await
    }

    async fn finish(&self, garden: Garden) -> Result<Requeue, Error> {
        if !garden.metadata.is_being_deleted() {
            gardenlets::update(&self.context, &self.settings.version).await?;
        }
        let mut status = status::succeeded(&garden, self.now());
        if garden.metadata.is_being_deleted() {
            let garden = self.write_status(&garden, status).await?;
            let mut new = garden.clone();
            new.metadata.finalizers.retain(|name| name != finalizer::OPERATOR);
            self.api().update(&garden, &new).await?;
            return Ok(Requeue::OnChange);
        }
        let (health, changes_at) = self.health(&Garden { status: status.clone(), ..garden.clone() });
        conditions::merge(&mut status.conditions, health);
        self.write_status(&garden, status).await?;
        self.told.send_replace(true);
        tracing::info!(garden = garden.metadata.name, "Garden cluster has been successfully reconciled");
        Ok(changes_at.map_or(Requeue::OnChange, Requeue::At))
    }

    /// Returns when changes of the control plane by others are reverted; `None` if there are none.
    fn repaired_at(&self, garden: &Garden) -> Option<DateTime<Utc>> {
        if garden.metadata.is_being_deleted() {
            return None;
        }
        let is_changed = Component::ALL.into_iter().any(|component| self.deployed(garden, component) == State::Runs);
        is_changed.then(|| status::repaired_at(garden))?
    }

    /// Updates the conditions of a Garden without a running operation; `repaired_at`: time of the next reconciliation.
    async fn care(&self, garden: Garden, repaired_at: Option<DateTime<Utc>>) -> Result<Requeue, Error> {
        if garden.metadata.is_being_deleted() {
            return Ok(Requeue::OnChange);
        }
        let mut status = garden.status.clone();
        let (health, changes_at) = self.health(&garden);
        conditions::merge(&mut status.conditions, health);
        self.write_status(&garden, status).await?;
        Ok(changes_at.into_iter().chain(repaired_at).min().map_or(Requeue::OnChange, Requeue::At))
    }

    fn health(&self, garden: &Garden) -> (Vec<api::core::Condition>, Option<DateTime<Utc>>) {
        let required = Component::ALL.map(Component::name);
        let found: Vec<Workload> = Component::ALL
            .iter()
            .filter_map(|component| {
                let deployment = self.deployment(*component)?;
                // The generation is omitted: a Deployment that was just changed is no less healthy.
                Some(Workload {
                    name: component.name().to_owned(),
                    replicas: deployment.spec.replicas.unwrap_or(1),
                    updated_replicas: deployment.status.updated_replicas,
                    available_replicas: deployment.status.available_replicas,
                    ..Workload::default()
                })
            })
            .collect();
        status::health(garden, &required, &found, self.now())
    }

    fn deployment(&self, component: Component) -> Option<Arc<Deployment>> {
        self.deployments.find(namespace::GARDEN, component.name())
    }

    fn wanted(&self, garden: &Garden, component: Component) -> Result<DesiredComponent, String> {
        let overrides = self.maps.find(namespace::GARDEN, &overrides_name(component));
        let overrides = apply::overrides(overrides.as_deref())?;
        Ok(control_plane::wanted(component, garden, &self.settings, &overrides))
    }

    fn info(&self) -> Option<Arc<ConfigMap>> {
        self.infos.find(namespace::PUBLIC, GARDENER_INFO)
    }

    /// Returns the state of a task whose predecessors are done.
    fn state(&self, garden: &Garden, act: Act) -> State {
        let done = |is_done: bool| if is_done { State::Done } else { State::Runs };
        match act {
            Act::Nothing => State::Done,
            Act::KubernetesVersion => {
                let wanted = garden.spec.virtual_cluster.kubernetes.version.trim_start_matches('v');
                let cluster = self.clusters.list();
                let is_so = |cluster: &Arc<Cluster>| cluster.spec.kubernetes_version.trim_start_matches('v') == wanted;
                done(cluster.first().is_none_or(is_so))
            }
            Act::SystemResources => done(!self.namespaces.is_empty()),
            Act::GardenerInfo => {
                let info = apply::gardener_info(garden, &self.settings.version);
                done(apply::says(self.info().as_deref(), &info))
            }
            Act::Deploy(component) => self.deployed(garden, component),
            Act::Wait(component) => self.rolled_out(garden, component),
            Act::DeployAndWait(component) => match self.deployed(garden, component) {
                State::Done => self.rolled_out(garden, component),
                other => other,
            },
            Act::Destroy(component) => done(self.deployment(component).is_none() && self.pods_of(component).is_empty()),
        }
    }

    /// Returns `Done` if a component's configuration and Deployment are in the desired state.
    fn deployed(&self, garden: &Garden, component: Component) -> State {
        let wanted = match self.wanted(garden, component) {
            Ok(wanted) => wanted,
            Err(error) => return State::Failed(error),
        };
        let has_map =
            wanted.configuration.as_ref().is_none_or(|(name, _)| self.maps.find(namespace::GARDEN, name).is_some());
        let lacks_nothing =
            |stored: &Arc<Deployment>| control_plane::component_lacks(component, stored, &wanted.deployment).is_none();
        let is_done = has_map && self.deployment(component).as_ref().is_some_and(lacks_nothing);
        if is_done { State::Done } else { State::Runs }
    }

    fn rolled_out(&self, garden: &Garden, component: Component) -> State {
        let Some(deployment) = self.deployment(component) else { return State::Runs };
        let pods = self.pods_of(component);
        let pods: Vec<&Pod> = pods.iter().map(|pod| &**pod).collect();
        let rollout = rollout::of(&deployment, &pods);
        // A process ends in wall time: landscape time that passes in the meantime does not make it late.
        let is_ending = pods.iter().any(|pod| pod.metadata.is_being_deleted());
        if is_ending && rollout == Rollout::Progresses {
            return State::Runs;
        }
        match status::in_time(garden, component.name(), rollout, self.now()) {
            Rollout::Done => State::Done,
            Rollout::Progresses => State::Runs,
            Rollout::Failed(error) => State::Failed(error),
        }
    }

    fn pods_of(&self, component: Component) -> Vec<Arc<Pod>> {
        let mut pods = self.pods.list();
        pods.retain(|pod| pod.metadata.labels.get("role").is_some_and(|role| role == component.name()));
        pods
    }

    /// Executes the remaining work of a task.
    async fn act(&self, garden: &Garden, act: Act) -> Result<(), Error> {
        let context = &self.context;
        match act {
            Act::Nothing | Act::Wait(_) => Ok(()),
            Act::KubernetesVersion => apply::kubernetes_version(context, garden).await,
            Act::SystemResources => apply::system_resources(context).await,
            Act::GardenerInfo => {
                let info = apply::gardener_info(garden, &self.settings.version);
                apply::write_gardener_info(context, self.info().is_some(), &info).await
            }
            Act::Deploy(component) | Act::DeployAndWait(component) => {
                if self.deployed(garden, component) == State::Done {
                    return Ok(());
                }
                let wanted = self.wanted(garden, component).map_err(Error::Failed)?;
                apply::component(context, component, &wanted, self.deployment(component).as_deref()).await
            }
            Act::Destroy(component) => {
                if self.deployment(component).is_none() {
                    return Ok(());
                }
                let prefix = format!("{}-config-", component.name());
                let names: Vec<String> = self.maps.list().iter().map(|map| map.metadata().name.clone()).collect();
                let names: Vec<String> = names.into_iter().filter(|name| name.starts_with(&prefix)).collect();
                apply::destroy(context, component, &names).await
            }
        }
    }
}
