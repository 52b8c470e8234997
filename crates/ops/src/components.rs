// SPDX-License-Identifier: Apache-2.0
//! Deployments of Gardener's components and their processes: which version each runs and which it is to run, and why it is
//! not there yet.

use std::sync::Arc;

use api::constants::annotation;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ContainerStateTerminated, Pod};
use domain::garden::rollout::last_words;
use domain::skew::GardenerVersion;
use serde_json::{Value, json};

/// How far a move is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody runs another version, and the new one is ready.
    Done,
    /// For what it waits.
    Waits(String),
    /// A process refused to start because of its version.
    Refused(String),
    /// It will not get there by itself.
    Failed(String),
}

/// Pods of a Deployment.
pub fn pods_of(deployment: &Deployment, pods: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
    let selector = deployment.spec.selector.as_ref().map(|selector| selector.match_labels.clone()).unwrap_or_default();
    let cluster = deployment.metadata.annotation(annotation::CLUSTER);
    let is_its = |pod: &Arc<Pod>| {
        pod.metadata.annotation(annotation::CLUSTER) == cluster
            && selector.iter().all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
    };
    pods.iter().filter(|pod| is_its(pod)).cloned().collect()
}

/// A process of the new version that ended and will end again.
pub fn problem(deployment: &Deployment, pods: &[Arc<Pod>], to: &GardenerVersion) -> Option<State> {
    /// Ends of a process after which it is not waited for any longer.
    const ENDS: i32 = 3;
    pods_of(deployment, pods).iter().find_map(|pod| {
        let (end, restarts) = end_of(pod, to)?;
        let why = last_words(&end);
        match end.exit_code {
            3 => Some(State::Refused(why)),
            _ if restarts >= ENDS => Some(State::Failed(why)),
            _ => None,
        }
    })
}

/// How the process of a pod of this version ended that waits to be started again, and how often it was.
pub fn end_of(pod: &Pod, to: &GardenerVersion) -> Option<(ContainerStateTerminated, i32)> {
    let container = pod.status.container_statuses.first()?;
    let is_new = version_of(&pod.spec.containers.first()?.image).is_some_and(|version| version == *to);
    let waits = container.state.waiting.as_ref().is_some_and(|waiting| waiting.reason == "CrashLoopBackOff");
    if !is_new || !waits || pod.metadata.is_being_deleted() {
        return None;
    }
    Some((container.last_state.terminated.clone()?, container.restart_count))
}

/// Why a Deployment is not rolled out; `None`: it is.
pub fn rolls(deployment: &Deployment, pods: &[Arc<Pod>], to: &GardenerVersion) -> Option<String> {
    let name = &deployment.metadata.name;
    let image = deployment.spec.template.spec.containers.first().map_or("", |container| &container.image);
    if version_of(image).is_none_or(|version| version != *to) {
        return Some(format!("Deployment {name} has image {image}"));
    }
    let (wanted, status) = (deployment.spec.replicas.unwrap_or(1), &deployment.status);
    let is_rolled_out = status.observed_generation >= deployment.metadata.generation
        && [status.updated_replicas, status.available_replicas, status.replicas] == [wanted; 3];
    if !is_rolled_out {
        return Some(format!(
            "Deployment {name}: {} of {wanted} updated, {} available",
            status.updated_replicas, status.available_replicas
        ));
    }
    let is_old = |pod: &&Arc<Pod>| {
        let image = pod.spec.containers.first().map_or("", |container| &container.image);
        version_of(image).is_none_or(|version| version != *to)
    };
    let pods = pods_of(deployment, pods);
    pods.iter().find(is_old).map(|pod| format!("pod {} of the old version has not ended", pod.metadata.name))
}

/// A component as `upgrade status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Name of its Deployment.
    pub component: String,
    /// The cluster that it is in.
    pub cluster: String,
    /// Versions of its processes, each once.
    pub runs: Vec<String>,
    /// Version of its Deployment.
    pub wanted: String,
    /// `READY/WANTED` processes.
    pub ready: String,
    /// `ready`, or why it is not.
    pub state: String,
    /// How often its processes were started again.
    pub restarts: i64,
    /// What the one that ended last said last; empty: none ended.
    pub last_words: String,
}

impl Row {
    /// As columns: component, cluster, runs, wanted, ready, state.
    pub fn cells(&self) -> [String; 6] {
        let Self { component, cluster, runs, wanted, ready, state, .. } = self.clone();
        [component, cluster, runs.join(","), wanted, ready, state]
    }

    /// As scripts read it.
    pub fn object(&self) -> Value {
        let Self { component, cluster, runs, wanted, ready, state, .. } = self;
        json!({
            "component": component, "cluster": cluster, "runs": runs, "wanted": wanted, "ready": ready, "state": state,
        })
    }

    /// Of a Deployment; `pods` are those of all.
    pub fn of(deployment: &Deployment, pods: &[Arc<Pod>]) -> Self {
        let tag = |image: &str| image.rsplit_once(':').map_or("", |(_, tag)| tag).to_owned();
        let of_pod = |pod: &Arc<Pod>| tag(pod.spec.containers.first().map_or("", |container| &container.image));
        let wanted = tag(deployment.spec.template.spec.containers.first().map_or("", |container| &container.image));
        let own = pods_of(deployment, pods);
        let mut runs: Vec<String> = own.iter().map(of_pod).collect();
        runs.sort_unstable();
        runs.dedup();
        let state = match GardenerVersion::parse(&wanted) {
            None => "its image has no version of Gardener".to_owned(),
            Some(version) => match problem(deployment, pods, &version) {
                Some(State::Refused(why) | State::Failed(why) | State::Waits(why)) => why,
                Some(State::Done) | None => rolls(deployment, pods, &version).unwrap_or_else(|| "ready".to_owned()),
            },
        };
        let statuses = || own.iter().flat_map(|pod| &pod.status.container_statuses);
        let ends = statuses().filter_map(|status| status.last_state.terminated.as_ref());
        let last = ends.max_by_key(|end| end.finished_at.0);
        Self {
            component: deployment.metadata.name.clone(),
            cluster: deployment.metadata.annotation(annotation::CLUSTER).unwrap_or_default().to_owned(),
            runs,
            wanted,
            ready: format!("{}/{}", deployment.status.ready_replicas, deployment.spec.replicas.unwrap_or(1)),
            state,
            restarts: statuses().map(|status| i64::from(status.restart_count)).sum(),
            last_words: last.map(last_words).unwrap_or_default(),
        }
    }
}

/// The version that an image's tag says.
pub fn version_of(image: &str) -> Option<GardenerVersion> {
    GardenerVersion::parse(image.rsplit_once(':')?.1)
}
