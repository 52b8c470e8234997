// SPDX-License-Identifier: Apache-2.0
//! Deployments of Gardener's components and their processes: running version, desired version, and the reason if they
//! differ. [`gardenlets`] names the Seeds that hold up an extension.

pub mod gardenlets;

use std::fmt;
use std::sync::Arc;

use api::cluster;
use api::constants::annotation;
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ContainerStateTerminated, ContainerStatus, Pod};
use api::seedmanagement::Gardenlet;
use domain::garden::components::Program;
use domain::garden::rollout::{is_end_of_landscape, last_words};
use domain::profile::Profile;
use domain::skew::start_up::{compared_with, is_about_records, rule_of_line, stays_refused};
use domain::skew::{Component, GardenerVersion, Instance, Landscape, Rule, lease, library};
use serde_json::{Value, json};

/// Progress of a component's move to a new version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No process of another version runs, and the new version is ready.
    Done,
    /// The move is waiting for this condition.
    Waits(String),
    /// A process refused to start because of its version.
    Refused(String),
    /// The move needs an action of a user.
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

/// Exit code of a process that is refused because of its version.
const REFUSED: i32 = 3;
/// Number of ends of a process after which a command no longer waits for it.
const ENDS: i32 = 3;

/// Tag of an image; empty without a colon.
fn tag(image: &str) -> &str {
    image.rsplit_once(':').map_or("", |(_, tag)| tag)
}

/// State of a Deployment with a process of the new version that ended and will end again; `None`: it has no such process.
pub fn problem(deployment: &Deployment, pods: &[Arc<Pod>], to: &GardenerVersion) -> Option<State> {
    pods_of(deployment, pods).iter().find_map(|pod| {
        let (end, restarts) = end_of(pod, to)?;
        let why = last_words(&end);
        match end.exit_code {
            REFUSED => Some(State::Refused(why)),
            _ if restarts >= ENDS => Some(State::Failed(why)),
            _ => None,
        }
    })
}

/// Last end of a pod's process of version `to` that is in back-off before its restart, and its number of restarts; `None`:
/// the pod has another version, is being deleted, or its process is not in back-off or ended with the landscape.
pub fn end_of(pod: &Pod, to: &GardenerVersion) -> Option<(ContainerStateTerminated, i32)> {
    let container = pod.status.container_statuses.first()?;
    let is_new = version_of(&pod.spec.containers.first()?.image).is_some_and(|version| version == *to);
    let waits = container.state.waiting.as_ref().is_some_and(|waiting| waiting.reason == "CrashLoopBackOff");
    if !is_new || !waits || pod.metadata.is_being_deleted() {
        return None;
    }
    let end = container.last_state.terminated.as_ref().filter(|end| !is_end_of_landscape(end))?;
    Some((end.clone(), container.restart_count))
}

/// Reason for which a Deployment is not rolled out; `None`: it is.
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

/// Reason for which a Deployment is not rolled out, with the process of its version that does not start, if there is one;
/// `None`: it is rolled out.
pub fn obstacle(deployment: &Arc<Deployment>, pods: &[Arc<Pod>], to: &GardenerVersion) -> Option<String> {
    let waits = rolls(deployment, pods, to)?;
    let crash = crashes(std::slice::from_ref(deployment), pods).into_iter().next();
    Some(crash.map_or_else(|| waits.clone(), |crash| format!("{waits}; {crash}")))
}

/// State of a move whose wait is over: refused if a version rule has refused a process of its Deployments.
/// `unanswered`: reason for which a process of them does not answer.
pub fn given_up(why: String, deployments: &[Arc<Deployment>], pods: &[Arc<Pod>], unanswered: Option<String>) -> State {
    let crashes = crashes(deployments, pods);
    let is_missing = |crash: &&Crash| !why.contains(&crash.line);
    match (crashes.iter().find(|crash| crash.is_refused()), unanswered) {
        (Some(refused), _) => State::Refused(refused.to_string()),
        (None, Some(unanswered)) => State::Waits(format!("{why}; {unanswered}")),
        (None, None) => match crashes.iter().find(is_missing) {
            Some(crash) => State::Waits(format!("{why}; {crash}")),
            None => State::Waits(why),
        },
    }
}

/// A process that does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Name of the component.
    pub component: String,
    /// Cluster of the process.
    pub cluster: String,
    /// Version of the process.
    pub version: String,
    /// Version rule that refuses it; None for another reason.
    pub rule: Option<Rule>,
    /// Exit code of the process.
    pub exit_code: i32,
    /// Last line that the process printed.
    pub line: String,
    /// Number of restarts of the process.
    pub restarts: i32,
}

impl Crash {
    /// Crash of a pod's process that ended with an error and is not ready again; None for any other pod.
    fn of(component: &str, pod: &Pod) -> Option<Self> {
        let container = pod.status.container_statuses.first()?;
        let end = container.last_state.terminated.as_ref().filter(|end| end.exit_code != 0)?;
        if container.ready || pod.metadata.is_being_deleted() || is_end_of_landscape(end) {
            return None;
        }
        let line = last_words(end);
        Some(Self {
            component: component.to_owned(),
            cluster: pod.metadata.annotation(annotation::CLUSTER).unwrap_or_default().to_owned(),
            version: tag(&pod.spec.containers.first()?.image).to_owned(),
            rule: rule_of_line(&line).filter(|_| end.exit_code == REFUSED),
            exit_code: end.exit_code,
            line,
            restarts: container.restart_count,
        })
    }

    /// True if the process has the version of its Deployment's template. The Deployment replaces pods of an older template,
    /// left by an interrupted roll-out.
    fn is_current(&self, deployment: &Deployment) -> bool {
        deployment.spec.template.spec.containers.first().is_some_and(|container| tag(&container.image) == self.version)
    }

    /// True if the process was refused because of its version.
    pub const fn is_refused(&self) -> bool {
        self.exit_code == REFUSED
    }

    /// Instance that the process would be; None: no rule applies to the component.
    pub fn instance(&self) -> Option<Instance> {
        lease::instance(&self.component, cluster::seed(&self.cluster).unwrap_or_default(), &self.version)
    }

    /// Instance from which the steps of the component begin. A process that was refused because of a recorded version has
    /// not run in its own version, so they begin at the recorded one. None: the version is invalid, or no rule applies.
    pub fn origin(&self) -> Option<Instance> {
        let instance = self.instance()?;
        match self.rule {
            Some(rule) if is_about_records(rule) => {
                Some(Instance { version: compared_with(&self.line)?.to_string(), ..instance })
            }
            _ => GardenerVersion::parse(&instance.version).map(|_| instance),
        }
    }

    /// True if a restart among the instances that run now fails again. A refusal ends with the instance that caused it.
    pub fn is_lasting(&self, running: &Landscape, profile: Profile) -> bool {
        match (self.rule, self.instance()) {
            (Some(rule), Some(instance)) => stays_refused(running, &instance, rule, profile),
            _ => self.is_refused() || self.restarts >= ENDS,
        }
    }

    /// Formats the crash as JSON for scripts.
    pub fn object(&self) -> Value {
        let Self { component, cluster, version, rule, exit_code, line, restarts } = self;
        json!({
            "component": component, "cluster": cluster, "version": version, "rule": rule.map(|rule| rule.to_string()),
            "exitCode": exit_code, "message": line, "restarts": restarts,
        })
    }
}

/// `gardener-scheduler v1.146.0 (runtime) does not start: …`.
impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.trim_start_matches("Error: ");
        let (code, Self { component, cluster, version, .. }) = (self.exit_code, self);
        write!(f, "{component} {version} ({cluster}) does not start: ")?;
        if line.is_empty() { write!(f, "it ends with exit code {code}") } else { f.write_str(line) }
    }
}

/// True for the Deployments of components with version rules, false for those of a user with the same labels.
fn is_known(name: &str) -> bool {
    Component::named(name).is_some() || library::of_component(name).is_some()
}

/// Processes of Gardener's components that do not start in the versions of their Deployments; `deployments` and `pods`:
/// those of all components.
pub fn crashes(deployments: &[Arc<Deployment>], pods: &[Arc<Pod>]) -> Vec<Crash> {
    let of = |deployment: &Arc<Deployment>| -> Vec<Crash> {
        let own = pods_of(deployment, pods);
        let ended = own.iter().filter_map(|pod| Crash::of(&deployment.metadata.name, pod));
        ended.filter(|crash| crash.is_current(deployment)).collect()
    };
    deployments.iter().filter(|one| is_known(&one.metadata.name)).flat_map(of).collect()
}

/// Deviation of a component from its state after an upgrade to a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// May be resolved without a user.
    Passing(String),
    /// Lasts until a user acts.
    Lasting(String),
}

/// A component as `upgrade status` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Name of its Deployment.
    pub component: String,
    /// Cluster of the Deployment.
    pub cluster: String,
    /// Versions of the running processes, without duplicates.
    pub runs: Vec<String>,
    /// Version in the image tag of its Deployment.
    pub wanted: String,
    /// `READY/WANTED` processes.
    pub ready: String,
    /// `ready`, or the reason for which it is not.
    pub state: String,
    /// Number of restarts of its processes.
    pub restarts: i64,
    /// Last line of the process that ended most recently; empty: none has ended.
    pub last_words: String,
    /// Process of the Deployment's version that does not start.
    pub crash: Option<Crash>,
    /// True if an annotation pins its Deployment to a version.
    pub is_pinned: bool,
    /// Reason for which its Deployment starts no process of the component; None: it does.
    pub(crate) absence: Option<Absence>,
}

/// Reason for which a Deployment starts no process of its component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// There is no Deployment.
    Deployment,
    /// There is no Deployment, since the version of the Gardenlet cannot be told, with the reason.
    Version(String),
    /// The image does not belong to the component.
    Image(String),
    /// It has 0 replicas. Instances that joined from elsewhere may run.
    Replicas,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deployment => f.write_str("there is no Deployment of it"),
            Self::Version(why) => f.write_str(why),
            Self::Image(image) => write!(f, "its image {image} is not one of this component"),
            Self::Replicas => f.write_str("its Deployment has 0 replicas"),
        }
    }
}

impl Absence {
    fn of(deployment: &Deployment) -> Option<Self> {
        let program = Program::named(&deployment.metadata.name)?;
        let image = deployment.spec.template.spec.containers.first().map_or("", |container| &container.image);
        if Program::of(image).is_none_or(|(found, _)| found != program) {
            return Some(Self::Image(image.to_owned()));
        }
        (deployment.spec.replicas == Some(0)).then_some(Self::Replicas)
    }
}

/// True if a cluster has a Deployment of this name.
fn has_deployment(deployments: &[Arc<Deployment>], name: &str, cluster: &str) -> bool {
    deployments.iter().map(|deployment| &deployment.metadata).any(|metadata| {
        metadata.name == name && metadata.annotation(annotation::CLUSTER).unwrap_or_default() == cluster
    })
}

/// Components without a Deployment: those of the control plane, the gardenlet of each Seed that had one, and the gardenlet of
/// each Gardenlet whose version cannot be told. `has_operator`: gardener-operator is one of them.
pub fn missing(
    deployments: &[Arc<Deployment>],
    has_operator: bool,
    seeds: &[Arc<Seed>],
    gardenlets: &[Arc<Gardenlet>],
) -> Vec<Row> {
    let control_plane = Program::ALL.into_iter().filter(|program| !program.is_of_seed());
    let control_plane = control_plane.filter(|program| has_operator || *program != Program::Operator);
    let control_plane = control_plane.map(|program| (program, cluster::RUNTIME.to_owned(), Absence::Deployment));
    let mut unknown: Vec<(&str, String)> = gardenlets::without_version(gardenlets).collect();
    let mut of_seeds: Vec<(&str, Absence)> = Vec::new();
    for seed in seeds.iter().filter(|seed| seed.status.gardener.is_some()) {
        let name = seed.metadata.name.as_str();
        let own = unknown.iter().position(|(gardenlet, _)| *gardenlet == name);
        let why = own.map_or(Absence::Deployment, |own| Absence::Version(unknown.remove(own).1));
        of_seeds.push((name, why));
    }
    of_seeds.extend(unknown.into_iter().map(|(name, why)| (name, Absence::Version(why))));
    let of_seeds = of_seeds.into_iter().map(|(name, why)| (Program::Gardenlet, cluster::of_seed(name), why));
    control_plane
        .chain(of_seeds)
        .filter(|(program, cluster, _)| !has_deployment(deployments, program.name(), cluster))
        .map(|(program, cluster, absence)| Row {
            component: program.name().to_owned(),
            cluster,
            ready: "0/0".to_owned(),
            state: absence.to_string(),
            absence: Some(absence),
            ..Row::default()
        })
        .collect()
}

impl Row {
    /// Formats the row as columns: component, cluster, runs, wanted, ready, state.
    pub fn cells(&self) -> [String; 6] {
        let Self { component, cluster, runs, wanted, ready, state, .. } = self.clone();
        let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        [component, cluster, or_dash(runs.join(",")), or_dash(wanted), ready, state]
    }

    /// Reason for which no process of the component is started, unless a joined instance runs; `running`: all running
    /// instances.
    pub fn absence(&self, running: &Landscape) -> Option<String> {
        let Self { component, cluster, absence, .. } = self;
        let absence = absence.as_ref()?;
        let own = lease::instance(component, cluster::seed(cluster).unwrap_or_default(), "");
        let is_own =
            |one: &Instance| own.as_ref().is_some_and(|own| (own.component, &own.owner) == (one.component, &one.owner));
        if *absence == Absence::Replicas && running.instances.iter().any(is_own) {
            return None;
        }
        Some(format!("{component} ({cluster}): {absence}"))
    }

    /// Reason for which the version of its Gardenlet cannot be told; None: it can, or it has a Deployment.
    pub fn unknown_version(&self) -> Option<&str> {
        match &self.absence {
            Some(Absence::Version(why)) => Some(why),
            _ => None,
        }
    }

    /// Reason for which no instance of the component runs although its processes have not failed; None: one runs, its
    /// processes fail, or they are not started ([`Row::absence`]). `running`: all running instances.
    pub fn pending(&self, running: &Landscape) -> Option<String> {
        let Self { component, cluster, state, .. } = self;
        let own = lease::instance(component, cluster::seed(cluster).unwrap_or_default(), "");
        let is_own =
            |one: &Instance| own.as_ref().is_some_and(|own| (own.component, &own.owner) == (one.component, &one.owner));
        let is_out = !is_known(component) || self.absence.is_some() || self.crash.is_some() || state == "ready";
        let runs = running.instances.iter().any(is_own);
        (!is_out && !runs).then(|| format!("{component} ({cluster}) does not run: {state}"))
    }

    /// Reason for which not all instances are ready at a version; `None` if all are. `running`: all running instances.
    pub fn defect(&self, to: &GardenerVersion, running: &Landscape, profile: Profile) -> Option<Defect> {
        let Self { component, cluster, wanted, state, .. } = self;
        if !is_known(component) {
            return None;
        }
        if let Some(absence) = self.absence(running) {
            return Some(Defect::Lasting(absence));
        }
        if let Some(crash) = &self.crash {
            let kind = if crash.is_lasting(running, profile) { Defect::Lasting } else { Defect::Passing };
            return Some(kind(crash.to_string()));
        }
        let is_other = GardenerVersion::parse(wanted).is_none_or(|version| version != *to);
        if is_other && !self.is_pinned {
            return Some(Defect::Lasting(format!(
                "{component} ({cluster}): its Deployment asks for {wanted}, not v{to}"
            )));
        }
        (state != "ready" && self.absence.is_none())
            .then(|| Defect::Passing(format!("{component} ({cluster}): {state}")))
    }

    /// Reason for which none of its processes can answer a request; `None` if one runs.
    pub fn silence(&self) -> Option<String> {
        let Self { component, cluster, wanted, runs, crash, .. } = self;
        match crash {
            _ if !runs.is_empty() => None,
            Some(crash) => Some(crash.to_string()),
            None => Some(format!("no instance of {component} {wanted} ({cluster}) runs")),
        }
    }

    /// Formats the row as JSON for scripts.
    pub fn object(&self) -> Value {
        let Self { component, cluster, runs, wanted, ready, state, restarts, last_words, crash, .. } = self;
        let rule = crash.as_ref().and_then(|crash| crash.rule).map(|rule| rule.to_string());
        json!({
            "component": component, "cluster": cluster, "runs": runs, "wanted": wanted, "ready": ready, "state": state,
            "restarts": restarts, "rule": rule, "exitCode": crash.as_ref().map(|crash| crash.exit_code),
            "message": last_words,
        })
    }

    /// Row of a Deployment. `pods`: pods of all Deployments.
    pub fn of(deployment: &Deployment, pods: &[Arc<Pod>]) -> Self {
        let name = &deployment.metadata.name;
        let of_pod =
            |pod: &&Arc<Pod>| tag(pod.spec.containers.first().map_or("", |container| &container.image)).to_owned();
        let image = deployment.spec.template.spec.containers.first().map_or("", |container| &container.image);
        let wanted = tag(image).to_owned();
        let own = pods_of(deployment, pods);
        let runs = |pod: &&Arc<Pod>| {
            let is_up = |status: &ContainerStatus| status.state.running.is_some();
            pod.status.container_statuses.first().is_some_and(is_up) && Crash::of(name, pod).is_none()
        };
        let mut runs: Vec<String> = own.iter().filter(runs).map(|pod| of_pod(&pod)).collect();
        runs.sort_unstable();
        runs.dedup();
        let crash = own.iter().filter_map(|pod| Crash::of(name, pod)).find(|crash| crash.is_current(deployment));
        let absence = Absence::of(deployment);
        let state = match GardenerVersion::parse(&wanted) {
            _ if absence.is_some() => absence.as_ref().map(ToString::to_string).unwrap_or_default(),
            None => "its image has no version of Gardener".to_owned(),
            Some(version) => match (rolls(deployment, pods, &version), &crash) {
                (None, None) => "ready".to_owned(),
                (Some(text), None) => text,
                (_, Some(crash)) => crash.line.clone(),
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
            crash,
            is_pinned: deployment.metadata.annotation(annotation::COMPONENT_VERSION).is_some(),
            absence,
        }
    }
}

/// Version of Gardener in an image's tag; `None`: the tag is no version.
pub fn version_of(image: &str) -> Option<GardenerVersion> {
    GardenerVersion::parse(image.rsplit_once(':')?.1)
}

#[cfg(test)]
mod tests;
