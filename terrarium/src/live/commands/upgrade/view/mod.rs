// SPDX-License-Identifier: Apache-2.0
//! Observation of a landscape during an upgrade, requests of the moves, and their states.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, label, namespace, operation_state};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use api::kubernetes::core::Pod;
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use apimachinery::meta::DeleteOptions;
use chrono::TimeDelta;
use clock::Clock;
use controller::{Api, Error, ListOptions, Patch, Readable, Reflector, Store};
use domain::garden::gardenlet::{chart_note, chart_patch};
use domain::profile::Profile;
use domain::skew::{Component, GardenerVersion, Landscape, library};
use domain::upgrade::Plan;
use host::registry;
use ops::upgrade::components::gardenlets::{Gardenlets, Pin, undeployed_changes};
use ops::upgrade::components::{Defect, Row, State, crashes, end_of, given_up, missing, obstacle, pods_of, problem};
use ops::upgrade::fleet;
use ops::upgrade::silence;
use ops::upgrade::skew;
use process::{Context, watch};
use serde_json::json;

use super::moves::{self, Move};
use super::pass;
use crate::failure::Failure;

/// Time between two requests to a landscape in which nothing changes.
const PROBE: TimeDelta = TimeDelta::seconds(2);
/// Maximum number of unanswered requests in a row.
const SILENCES: u32 = 2;
/// Error after more unanswered requests.
const GONE: &str = "the landscape does not answer any more: its host has ended; `terrarium up` starts it again, and what was \
                    begun goes on";
/// Maximum total wait for a component, as a multiple of the wait for a change.
const MOST_WAITS: i32 = 20;

/// Local copies of the objects that show the progress of an upgrade.
pub(in crate::live) struct View {
    context: Context,
    /// Name of the landscape.
    name: String,
    profile: Profile,
    deployments: Store<Deployment>,
    pods: Store<Pod>,
    leases: Store<Lease>,
    gardens: Store<Garden>,
    gardenlets: Store<Gardenlet>,
    seeds: Store<Seed>,
    changes: watch::Receiver<u64>,
}

impl View {
    /// Reads everything that the host serves once, and keeps it up to date. Gardenlets and Seeds are read as soon as a
    /// gardener-apiserver answers: [`View::garden_is_read`].
    ///
    /// # Errors
    /// The host of the landscape does not answer.
    pub(in crate::live) async fn open(context: Context, name: &str, profile: Profile) -> Result<Self, Failure> {
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
            name: name.to_owned(),
            profile,
            changes,
        };
        let synced = async {
            view.deployments.synced().await;
            view.pods.synced().await;
            view.leases.synced().await;
            view.gardens.synced().await;
        };
        let is_there = tokio::select! {
            biased;
            () = synced => true,
            () = view.gone() => false,
        };
        if is_there { Ok(view) } else { Err(Failure::Failed(GONE.to_owned())) }
    }

    /// Waits until a gardener-apiserver has served Gardenlets and Seeds, which the moves to a version depend on.
    ///
    /// # Errors
    /// None answers within `limit`, with the reason; the host of the landscape does not answer.
    pub(in crate::live) async fn garden_is_read(&self, to: &GardenerVersion, limit: TimeDelta) -> Result<(), Failure> {
        let synced = async {
            self.gardenlets.synced().await;
            self.seeds.synced().await;
        };
        tokio::select! {
            biased;
            () = synced => return Ok(()),
            () = pass(limit) => {}
            () = self.gone() => return Err(Failure::Failed(GONE.to_owned())),
        }
        let name = Component::Apiserver.name();
        let rows = self.rows();
        let why = rows.iter().find(|row| row.component == name).map_or_else(
            || format!("there is no Deployment {name}"),
            |row| row.silence().unwrap_or_else(|| format!("{name} does not answer")),
        );
        Err(Failure::Refused(format!(
            "not every component is at v{to}: {why}; without {name}, Gardenlets and Seeds cannot be read"
        )))
    }

    fn has_operator(&self) -> bool {
        self.deployments.list().iter().any(|deployment| deployment.metadata.name == Component::Operator.name())
    }

    /// Returns the moves of a plan, and notes: on each extension with its own releases, and on each Gardenlet of which more
    /// than the tag of the chart is replaced.
    ///
    /// # Errors
    /// A move is impossible in the current state of the landscape.
    pub(in crate::live) fn moves(&self, plan: &Plan) -> Result<(Vec<Move>, Vec<String>), Failure> {
        let (moves, others): (Vec<Move>, Vec<Move>) = moves::of(plan)
            .into_iter()
            .partition(|next| next.component != Component::Extension || !self.deployments_of(next).is_empty());
        moves.iter().try_for_each(|next| self.is_possible(next))?;
        let kept = |next: &Move| {
            format!(
                "extension {} stays at library v{}, which its manifest says: a release of the extension changes that",
                next.owner, next.from
            )
        };
        let mut notes: Vec<String> = others.iter().map(kept).collect();
        let mut known = BTreeSet::new();
        for next in moves.iter().filter(|next| next.component == Component::Gardenlet) {
            let gardenlet = self.gardenlets.find(namespace::GARDEN, &next.owner);
            let is_first = known.insert(&next.owner);
            if let Some(gardenlet) = gardenlet.filter(|_| is_first && !self.follows_operator(&next.owner)) {
                notes.extend(chart_note(&gardenlet, &format!("v{}", next.to)));
            }
        }
        Ok((moves, notes))
    }

    /// Refuses the move of a gardenlet whose Gardenlet pins another version.
    fn is_possible(&self, next: &Move) -> Result<(), Failure> {
        let gardenlet =
            (next.component == Component::Gardenlet).then(|| self.gardenlets.find(namespace::GARDEN, &next.owner));
        let Some(gardenlet) = gardenlet.flatten() else { return Ok(()) };
        let Some(why) = Pin::of(&gardenlet).and_then(|pin| pin.obstacle(&next.to)) else { return Ok(()) };
        let (name, landscape) = (&next.owner, &self.name);
        let edit = format!("kubectl --context terrarium-{landscape} -n garden edit gardenlet {name}");
        Err(Failure::input(format!("{next}: {why}"), format!("remove that field, or set it: `{edit}`")))
    }

    /// The components that gardener-operator replaces by itself.
    pub(super) fn made_by_operator<'a>(&self, moves: &'a [Move]) -> Vec<&'a Move> {
        let is_made = |next: &&Move| match next.component {
            Component::Operator | Component::Extension => false,
            Component::Gardenlet => self.follows_operator(&next.owner),
            _ => true,
        };
        if self.has_operator() { moves.iter().filter(is_made).collect() } else { Vec::new() }
    }

    /// True if gardener-operator gives the gardenlet of a Seed its own version.
    fn follows_operator(&self, seed: &str) -> bool {
        let gardenlet = self.gardenlets.find(namespace::GARDEN, seed);
        let follows =
            |gardenlet: Arc<Gardenlet>| gardenlet.metadata.label(label::AUTO_UPDATE_GARDENLET) == Some("true");
        self.has_operator() && gardenlet.is_some_and(follows)
    }

    /// Deployments of a move: one, or for an extension one per seed, except Deployments with a pinned version.
    fn deployments_of(&self, next: &Move) -> Vec<Arc<Deployment>> {
        let (name, cluster) = match next.component {
            Component::Extension => (library::deployment_of(&next.owner).unwrap_or_default(), None),
            Component::Gardenlet => (next.component.name().to_owned(), Some(cluster::of_seed(&next.owner))),
            component => (component.name().to_owned(), Some(cluster::RUNTIME.to_owned())),
        };
        let is_meant = |deployment: &Arc<Deployment>| {
            let at = deployment.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
            let is_pinned = deployment.metadata.annotation(annotation::COMPONENT_VERSION).is_some();
            deployment.metadata.name == name
                && cluster.as_deref().is_none_or(|cluster| cluster == at)
                && !(is_pinned && next.component == Component::Extension)
        };
        self.deployments.list().into_iter().filter(is_meant).collect()
    }

    /// Requests the version unless another component will. A process that was refused before its move is started again.
    ///
    /// # Errors
    /// An object to change is missing, or the landscape refuses the change.
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
        let gardenlet = self.gardenlets.find(namespace::GARDEN, &next.owner);
        match next.component {
            Component::Apiserver
            | Component::ControllerManager
            | Component::Scheduler
            | Component::AdmissionController
                if self.has_operator() =>
            {
                return Ok(());
            }
            Component::Gardenlet => {
                if let Some(gardenlet) = gardenlet {
                    self.is_possible(next)?;
                    if self.follows_operator(&gardenlet.metadata.name) {
                        return Ok(());
                    }
                    let patch = chart_patch(&gardenlet, &version);
                    let api = Api::<Gardenlet>::namespaced(&self.context, cluster::GARDEN, namespace::GARDEN);
                    let done = api.patch(&next.owner, &Patch::Merge(patch)).await;
                    return done.map(drop).map_err(|error| failed(next, &error));
                }
            }
            // The gardenlets set their version once the last of them has been updated.
            Component::Extension if !self.gardenlets.is_empty() => return Ok(()),
            _ => {}
        }
        let deployments = self.deployments_of(next);
        if deployments.is_empty() {
            return Err(Failure::Failed(format!("{next}: there is no Deployment of it")));
        }
        for deployment in deployments {
            self.set_image(next, &deployment, &version).await?;
        }
        Ok(())
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

    /// Waits until a move is done or impossible, or nothing has changed for `unchanged_for`.
    pub(super) async fn wait(&self, next: &Move, unchanged_for: TimeDelta) -> State {
        match self.until(unchanged_for, || self.state(next)).await {
            State::Waits(why) => self.explained(why, &self.deployments_of(next)).await,
            state => state,
        }
    }

    /// Waits until no component works on the Garden.
    pub(super) async fn garden_is_reconciled(&self, unchanged_for: TimeDelta) -> State {
        let state = self.until(unchanged_for, || self.garden_state()).await;
        let State::Waits(why) = state else { return state };
        let is_operator = |deployment: &Arc<Deployment>| deployment.metadata.name == Component::Operator.name();
        let operator: Vec<Arc<Deployment>> = self.deployments.list().into_iter().filter(is_operator).collect();
        self.explained(why, &operator).await
    }

    /// State after a wait in which nothing has changed: adds the process of some Deployments that does not start or answer.
    async fn explained(&self, why: String, deployments: &[Arc<Deployment>]) -> State {
        let pods = self.pods.list();
        let mut unanswered = None;
        for deployment in deployments {
            let own = pods_of(deployment, &pods);
            unanswered = silence::of_processes(&self.context, &deployment.metadata.name, &own).await;
            if unanswered.is_some() {
                break;
            }
        }
        given_up(why, deployments, &pods, unanswered)
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
                () = self.gone() => return State::Failed(GONE.to_owned()),
            };
            if !has_changed || Clock::wall().now() > end {
                return look();
            }
        }
    }

    /// Waits until the host of the landscape no longer responds.
    async fn gone(&self) {
        let leases = Api::<Lease>::namespaced(&self.context, cluster::GARDEN, namespace::INSTANCES);
        let (all, mut silent) = (ListOptions::default(), 0);
        while silent <= SILENCES {
            pass(PROBE).await;
            let answers = tokio::select! {
                biased;
                answer = leases.list(&all) => !matches!(answer, Err(Error::Transport(_))),
                () = pass(PROBE) => false,
            };
            silent = if answers { 0 } else { silent + 1 };
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

    /// Sentence about the obstacle of a move; None: the move is complete.
    pub(super) fn obstacle(&self, next: &Move) -> Option<String> {
        match (self.state(next), self.garden_state()) {
            (State::Waits(why), _) | (State::Done, State::Waits(why)) => Some(why),
            _ => None,
        }
    }

    /// State of a move.
    pub(super) fn state(&self, next: &Move) -> State {
        let deployments = self.deployments_of(next);
        let leases = self.leases.list();
        let landscape = registry::landscape(leases.iter().map(|lease| &lease.metadata), "");
        for deployment in &deployments {
            match problem(deployment, &self.pods.list(), &next.to) {
                // The instance that caused the refusal may have ended: then the process starts at its kubelet's next attempt.
                Some(State::Refused(why)) if !self.is_refused(deployment, &landscape) => return State::Waits(why),
                Some(problem) => return problem,
                None => {}
            }
        }
        if self.has_operator()
            && let State::Failed(why) = self.garden_state()
        {
            return State::Failed(why);
        }
        let pods = self.pods.list();
        if let Some(waits) = deployments.iter().find_map(|deployment| obstacle(deployment, &pods, &next.to)) {
            // It follows the gardenlets.
            let is_held = next.component == Component::Extension && !self.gardenlets.is_empty();
            return State::Waits(if is_held { self.held(waits, next, &landscape) } else { waits });
        }
        let is_old = |text: &str| GardenerVersion::parse(text).is_none_or(|version| version != next.to);
        let mut of_move = landscape
            .instances
            .iter()
            .filter(|instance| instance.component == next.component && instance.owner == next.owner);
        // One Deployment of an extension may have its own version.
        let old = of_move.find(|instance| next.component != Component::Extension && is_old(&instance.version));
        if let Some(old) = old {
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
    /// Adds the Seeds that hold up the move of an extension to a reason.
    fn held(&self, why: String, next: &Move, running: &Landscape) -> String {
        let (seeds, gardenlets) = (self.seeds.list(), self.gardenlets.list());
        let (deployments, pods) = (self.deployments.list(), self.pods.list());
        let found =
            Gardenlets { running, seeds: &seeds, gardenlets: &gardenlets, deployments: &deployments, pods: &pods };
        found.explained(why, &next.to)
    }

    /// True if a process of a Deployment is still refused for its version.
    fn is_refused(&self, deployment: &Arc<Deployment>, running: &Landscape) -> bool {
        let ended = crashes(std::slice::from_ref(deployment), &self.pods.list());
        ended.is_empty() || ended.iter().any(|crash| crash.is_lasting(running, self.profile))
    }

    /// Waits until every instance of every component is ready at a version, and the rules allow them.
    ///
    /// # Errors
    /// The components do not reach the version: the first obstacle, and the number of others.
    pub(in crate::live) async fn is_at(&self, to: &GardenerVersion, unchanged_for: TimeDelta) -> Result<(), Failure> {
        let look = || {
            let defects = self.defects(to);
            let lasts = defects.iter().any(|defect| matches!(defect, Defect::Lasting(_)));
            match defects.first() {
                None => State::Done,
                Some(Defect::Passing(why) | Defect::Lasting(why)) if !lasts => State::Waits(why.clone()),
                Some(_) => State::Refused(String::new()),
            }
        };
        if let State::Failed(why) = self.until(unchanged_for, look).await {
            return Err(Failure::Failed(why));
        }
        let texts = self.defects(to).into_iter().map(|(Defect::Passing(why) | Defect::Lasting(why))| why);
        let mut found: Vec<String> = texts.collect();
        let fleet = fleet::without_shoots(&self.context).await?;
        found.extend(skew::rows(&fleet, self.profile).into_iter().map(|row| format!("{}: {}", row.rule, row.message)));
        let Some((first, rest)) = found.split_first() else { return Ok(()) };
        let more = match rest.len() {
            0 => String::new(),
            more => format!(" (and {more} more: `terrarium upgrade status` and `terrarium skew check` show them)"),
        };
        Err(Failure::Refused(format!("not every component is at v{to}: {first}{more}")))
    }

    /// Components that are not at a version, lasting defects first.
    fn defects(&self, to: &GardenerVersion) -> Vec<Defect> {
        let leases = self.leases.list();
        let running = registry::landscape(leases.iter().map(|lease| &lease.metadata), "");
        let mut defects: Vec<Defect> =
            self.rows().iter().filter_map(|row| row.defect(to, &running, self.profile)).collect();
        defects.sort_by_key(|defect| matches!(defect, Defect::Passing(_)));
        defects
    }

    /// Every Deployment of Gardener's components, in the order of clusters and names, then components without one.
    pub(super) fn rows(&self) -> Vec<Row> {
        let (deployments, pods) = (self.deployments.list(), self.pods.list());
        let rows = deployments.iter().map(|deployment| Row::of(deployment, &pods));
        let (seeds, gardenlets) = (self.seeds.list(), self.gardenlets.list());
        rows.chain(missing(&deployments, !self.gardens.is_empty(), &seeds, &gardenlets)).collect()
    }

    /// Notes on Gardenlets whose version cannot be told and whose gardenlets run in an earlier one.
    pub(super) fn undeployed_changes(&self) -> Vec<String> {
        undeployed_changes(&self.gardenlets.list(), &self.deployments.list())
    }

    /// Waits until Seeds and Gardenlets are read, if a gardener-apiserver serves them soon.
    pub(super) async fn seeds_are_read(&self) {
        let synced = async {
            self.gardenlets.synced().await;
            self.seeds.synced().await;
        };
        tokio::select! {
            biased;
            () = synced => {}
            () = pass(PROBE) => {}
        }
    }
}

fn failed(next: &Move, error: &Error) -> Failure {
    Failure::Failed(format!("{next}: {error}"))
}

#[cfg(test)]
mod tests;
