// SPDX-License-Identifier: Apache-2.0
//! What an upgrade watches of a landscape, what it asks for, and how far a move is.

use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, label, namespace, operation_state};
use api::core::{ControllerDeployment, Seed};
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Pod;
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use apimachinery::meta::DeleteOptions;
use chrono::TimeDelta;
use clock::Clock;
use controller::{Api, Error, ListOptions, Patch, Readable, Reflector, Store};
use domain::garden::gardenlet::chart_reference;
use domain::skew::{Component, GardenerVersion};
use host::registry;
use ops::components::{Row, State, end_of, pods_of, problem, rolls};
use process::{Context, watch};
use serde_json::json;

use super::moves::Move;
use super::pass;
use crate::failure::Failure;

/// How often the whole wait for a component may be as long as what is waited for a change.
const MOST_WAITS: i32 = 20;

/// Local copies of what shows how far an upgrade is.
pub(in crate::live) struct View {
    context: Context,
    deployments: Store<Deployment>,
    pods: Store<Pod>,
    leases: Store<Lease>,
    gardens: Store<Garden>,
    gardenlets: Store<Gardenlet>,
    seeds: Store<Seed>,
    changes: watch::Receiver<u64>,
}

impl View {
    /// Reads everything once, and keeps it up to date.
    pub(in crate::live) async fn open(context: Context) -> Self {
        let (changed, changes) = watch::channel(0);
        let changed = Arc::new(changed);
        fn keep<K: Readable>(changed: &Arc<watch::Sender<u64>>, api: Api<K>, options: ListOptions) -> Store<K> {
            let changed = changed.clone();
            Reflector::new(api, options).on_change(move |_| changed.send_modify(|count| *count += 1)).start()
        }
        let ours = || ListOptions::labelled("app=gardener");
        let all = ListOptions::default;
        let view = Self {
            deployments: keep(&changed, Api::all(&context, "*"), ours()),
            pods: keep(&changed, Api::all(&context, "*"), ours()),
            leases: keep(&changed, Api::namespaced(&context, cluster::GARDEN, namespace::INSTANCES), all()),
            gardens: keep(&changed, Api::all(&context, cluster::RUNTIME), all()),
            gardenlets: keep(&changed, Api::namespaced(&context, cluster::GARDEN, namespace::GARDEN), all()),
            seeds: keep(&changed, Api::all(&context, cluster::GARDEN), all()),
            context,
            changes,
        };
        view.deployments.synced().await;
        view.pods.synced().await;
        view.leases.synced().await;
        view.gardens.synced().await;
        view.gardenlets.synced().await;
        view.seeds.synced().await;
        view
    }

    fn has_operator(&self) -> bool {
        self.deployments.list().iter().any(|deployment| deployment.metadata.name == Component::Operator.name())
    }

    /// The Deployments that a move is about: one, but for an extension, which each seed has.
    fn deployments_of(&self, next: &Move) -> Vec<Arc<Deployment>> {
        let (name, cluster) = match next.component {
            Component::Extension => (next.owner.as_str(), None),
            Component::Gardenlet => (next.component.name(), Some(cluster::of_seed(&next.owner))),
            component => (component.name(), Some(cluster::RUNTIME.to_owned())),
        };
        let is_meant = |deployment: &Arc<Deployment>| {
            let at = deployment.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
            deployment.metadata.name == name && cluster.as_deref().is_none_or(|cluster| cluster == at)
        };
        self.deployments.list().into_iter().filter(is_meant).collect()
    }

    /// Asks for the version, unless another component will. A process that was refused before its turn came is started anew.
    ///
    /// # Errors
    /// What has to be changed is not there, or the landscape refuses the change.
    pub(super) async fn ask_for(&self, next: &Move, unchanged_for: TimeDelta) -> Result<(), Failure> {
        self.set(next).await?;
        let refused = || {
            let deployments = self.deployments_of(next);
            let pods = deployments.iter().flat_map(|deployment| pods_of(deployment, &self.pods.list()));
            pods.filter(|pod| end_of(pod, &next.to).is_some()).collect::<Vec<Arc<Pod>>>()
        };
        for pod in refused() {
            let cluster = pod.metadata.annotation(annotation::CLUSTER).unwrap_or(cluster::RUNTIME);
            let api = Api::<Pod>::namespaced(&self.context, cluster, &pod.metadata.namespace);
            match api.delete(&pod.metadata.name, &DeleteOptions::default()).await {
                Err(error) if !error.is_not_found() => return Err(failed(next, &error)),
                _ => {}
            }
        }
        let gone = || if refused().is_empty() { State::Done } else { State::Waits(String::new()) };
        self.until(unchanged_for, gone).await;
        Ok(())
    }

    async fn set(&self, next: &Move) -> Result<(), Failure> {
        let version = format!("v{}", next.to);
        let has_operator = self.has_operator();
        let gardenlet = self.gardenlets.find(namespace::GARDEN, &next.owner);
        match next.component {
            Component::Apiserver
            | Component::ControllerManager
            | Component::Scheduler
            | Component::AdmissionController
                if has_operator =>
            {
                return Ok(());
            }
            Component::Gardenlet => {
                if let Some(gardenlet) = gardenlet {
                    let is_updated = gardenlet.metadata.label(label::AUTO_UPDATE_GARDENLET) == Some("true");
                    if is_updated && has_operator {
                        return Ok(());
                    }
                    // The whole reference, as gardener-operator replaces it.
                    let reference = json!({ "ref": chart_reference(&version) });
                    let helm = json!({ "helm": { "ociRepository": reference } });
                    let patch = json!({ "spec": { "deployment": helm } });
                    let api = Api::<Gardenlet>::namespaced(&self.context, cluster::GARDEN, namespace::GARDEN);
                    let done = api.patch(&next.owner, &Patch::Merge(patch)).await;
                    return done.map(drop).map_err(|error| failed(next, &error));
                }
            }
            Component::Extension if self.follows_gardenlet(next) => return Ok(()),
            _ => {}
        }
        let deployments = self.deployments_of(next);
        if deployments.is_empty() && next.component == Component::Extension {
            return self.declare_library(next, &version).await;
        }
        if deployments.is_empty() {
            return Err(Failure::Failed(format!("{next}: there is no Deployment of it")));
        }
        for deployment in deployments {
            self.set_image(next, &deployment, &version).await?;
        }
        match self.provider_of(next) {
            // Where no Gardenlet object says so, no other component gives it the version.
            Some(provider) => self.set_image(next, &provider, &version).await,
            None => Ok(()),
        }
    }

    /// provider-local of the seed whose gardenlet moves: it has no releases of its own, unless it says so.
    fn provider_of(&self, next: &Move) -> Option<Arc<Deployment>> {
        let cluster = cluster::of_seed(&next.owner);
        let is_meant = |deployment: &Arc<Deployment>| {
            deployment.metadata.name == gardenlet_sim::provider_local::DEPLOYMENT
                && deployment.metadata.annotation(annotation::CLUSTER) == Some(&cluster)
                && deployment.metadata.annotation(annotation::COMPONENT_VERSION).is_none()
        };
        let is_gardenlet = next.component == Component::Gardenlet;
        is_gardenlet.then(|| self.deployments.list().into_iter().find(is_meant)).flatten()
    }

    /// Whether the gardenlet of each seed gives an extension its version.
    fn follows_gardenlet(&self, next: &Move) -> bool {
        next.owner == gardenlet_sim::provider_local::DEPLOYMENT && !self.gardenlets.is_empty()
    }

    async fn declare_library(&self, next: &Move, version: &str) -> Result<(), Failure> {
        let patch = json!({ "metadata": { "annotations": { annotation::EXTENSIONS_LIBRARY_VERSION: version } } });
        let api = Api::<ControllerDeployment>::all(&self.context, cluster::GARDEN);
        let done = api.patch(&next.owner, &Patch::Merge(patch)).await;
        done.map(drop).map_err(|error| failed(next, &error))
    }

    async fn set_image(&self, next: &Move, deployment: &Deployment, version: &str) -> Result<(), Failure> {
        let Some(container) = deployment.spec.template.spec.containers.first() else {
            return Err(Failure::Failed(format!("{next}: its Deployment has no container")));
        };
        let repository =
            container.image.rsplit_once(':').map_or(container.image.as_str(), |(repository, _)| repository);
        let containers = json!([{ "name": container.name, "image": format!("{repository}:{version}") }]);
        let patch = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
        let cluster = deployment.metadata.annotation(annotation::CLUSTER).unwrap_or(cluster::RUNTIME);
        let api = Api::<Deployment>::namespaced(&self.context, cluster, &deployment.metadata.namespace);
        let done = api.patch(&deployment.metadata.name, &Patch::Strategic(patch)).await;
        done.map(drop).map_err(|error| failed(next, &error))
    }

    /// Waits until a move is done, or cannot be, or nothing has changed for `unchanged_for`.
    pub(super) async fn wait(&self, next: &Move, unchanged_for: TimeDelta) -> State {
        self.until(unchanged_for, || self.state(next)).await
    }

    /// Waits until no component works on the Garden.
    pub(super) async fn garden_is_reconciled(&self, unchanged_for: TimeDelta) -> State {
        self.until(unchanged_for, || self.garden_state()).await
    }

    async fn until(&self, unchanged_for: TimeDelta, look: impl Fn() -> State) -> State {
        let mut changes = self.changes.clone();
        let end = Clock::wall().now() + unchanged_for * MOST_WAITS;
        loop {
            let state = look();
            let State::Waits(_) = &state else { return state };
            let has_changed = tokio::select! {
                biased;
                changed = changes.changed() => changed.is_ok(),
                () = pass(unchanged_for) => false,
            };
            if !has_changed || Clock::wall().now() > end {
                return look();
            }
        }
    }

    fn garden_state(&self) -> State {
        let gardens = self.gardens.list();
        let Some(garden) = gardens.first() else { return State::Done };
        let Some(operation) = &garden.status.last_operation else {
            return State::Waits("gardener-operator has not begun to reconcile the Garden".to_owned());
        };
        let is_observed = garden.status.observed_generation >= garden.metadata.generation;
        match operation.state.as_str() {
            operation_state::SUCCEEDED if is_observed => State::Done,
            operation_state::ERROR | operation_state::FAILED => {
                State::Failed(format!("the Garden is not reconciled: {}", operation.description))
            }
            _ => State::Waits(format!("the Garden: {}", operation.description)),
        }
    }

    /// How far a move is.
    pub(super) fn state(&self, next: &Move) -> State {
        let mut deployments = self.deployments_of(next);
        deployments.extend(self.provider_of(next));
        for deployment in &deployments {
            if let Some(problem) = problem(deployment, &self.pods.list(), &next.to) {
                return problem;
            }
        }
        if self.has_operator()
            && let State::Failed(why) = self.garden_state()
        {
            return State::Failed(why);
        }
        if let Some(waits) = deployments.iter().find_map(|deployment| rolls(deployment, &self.pods.list(), &next.to)) {
            return State::Waits(waits);
        }
        let leases = self.leases.list();
        let landscape = registry::landscape(leases.iter().map(|lease| &lease.metadata), "");
        let is_old = |text: &str| GardenerVersion::parse(text).is_none_or(|version| version != next.to);
        let mut of_move = landscape
            .instances
            .iter()
            .filter(|instance| instance.component == next.component && instance.owner == next.owner);
        if let Some(old) = of_move.find(|instance| is_old(&instance.version)) {
            return State::Waits(format!("an instance at {} is still registered", old.version));
        }
        match next.component {
            Component::Operator => match self.gardens.list().first() {
                Some(garden) if garden.status.gardener.as_ref().is_none_or(|operator| is_old(&operator.version)) => {
                    State::Waits("gardener-operator has not begun to reconcile the Garden".to_owned())
                }
                _ => State::Done,
            },
            Component::Gardenlet => match self.seeds.find("", &next.owner) {
                Some(seed) if seed.status.gardener.as_ref().is_none_or(|gardenlet| is_old(&gardenlet.version)) => {
                    State::Waits(format!("gardenlet has not reconciled Seed {}", next.owner))
                }
                _ => State::Done,
            },
            _ => State::Done,
        }
    }
}

impl View {
    /// Every Deployment of Gardener's components, in the order of clusters and names.
    pub(super) fn rows(&self) -> Vec<Row> {
        let pods = self.pods.list();
        self.deployments.list().iter().map(|deployment| Row::of(deployment, &pods)).collect()
    }
}

fn failed(next: &Move, error: &Error) -> Failure {
    Failure::Failed(format!("{next}: {error}"))
}
