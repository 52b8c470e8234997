// SPDX-License-Identifier: Apache-2.0
//! Reason for which gardener-apiserver does not answer, so that objects of Gardener cannot be read, and for which a process
//! of any component does not answer ([`of_processes`]).
//!
//! The host itself answers for faults, Deployments and pods, so the reason can be read without gardener-apiserver.

use std::fmt;
use std::sync::Arc;

use api::cluster;
use api::constants::{annotation, namespace};
use api::core::Project;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Pod;
use api::terrarium::{self, ClockStatus, Fault};
use chrono::{DateTime, SecondsFormat, Utc};
use controller::{Api, ListOptions};
use domain::fault::{self, Process, State};
use domain::skew::Component;
use process::Context;
use process::participant::CLOCK_NAME;

use crate::upgrade::components::Row;

/// First words of the hold of landscape time that lasts while the event log takes no writes.
pub const LOG_HOLD: &str = "the event log, which takes no writes";

/// Reason for which gardener-apiserver does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The reason; None if neither a fault nor its processes show one.
    reason: Option<String>,
    remedy: Remedy,
}

/// Command after which gardener-apiserver may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Remedy {
    /// Moves time to the end of a fault.
    Until(DateTime<Utc>),
    /// Removes the fault with this ID.
    Clear(String),
    /// Moves time, which a restart of a process waits for.
    Advance,
}

impl Silence {
    /// Returns the reason for which objects of Gardener cannot be read at an instant; None if they can be read.
    pub async fn of_apiserver(context: &Context, now: DateTime<Utc>) -> Option<Self> {
        let projects = Api::<Project>::all(context, cluster::GARDEN);
        match projects.get_opt(namespace::GARDEN).await {
            Ok(_) => None,
            Err(_) => Some(Self::read(context, now).await),
        }
    }

    /// Looks up the reason for which a request to gardener-apiserver has failed.
    pub async fn read(context: &Context, now: DateTime<Utc>) -> Self {
        let options = ListOptions::labelled("app=gardener");
        let faults = Api::<Fault>::all(context, cluster::RUNTIME).list(&ListOptions::default()).await;
        let deployments = Api::<Deployment>::all(context, "*").list(&options).await;
        let pods = Api::<Pod>::all(context, "*").list(&options).await;
        let pods: Vec<Arc<Pod>> = pods.map(|(pods, _)| pods).unwrap_or_default().into_iter().map(Arc::new).collect();
        let deployments = deployments.map(|(deployments, _)| deployments).unwrap_or_default();
        let rows: Vec<Row> = deployments.iter().map(|deployment| Row::of(deployment, &pods)).collect();
        Self::of(&faults.map(|(faults, _)| faults).unwrap_or_default(), &rows, now)
    }

    fn of(faults: &[Fault], rows: &[Row], now: DateTime<Utc>) -> Self {
        let name = Component::Apiserver.name();
        let is_its = |fault: &&Fault| {
            fault::acts_on_processes(fault) && fault.spec.component == name && fault::state(fault, now) == State::Active
        };
        if let Some(fault) = faults.iter().find(is_its) {
            let until = fault.spec.until.map(|until| until.0);
            return Self {
                reason: Some(sentence(fault)),
                remedy: until.map_or_else(|| Remedy::Clear(fault.metadata.name.clone()), Remedy::Until),
            };
        }
        let row = rows.iter().find(|row| row.component == name);
        let reason = row.map_or_else(|| Some(format!("there is no Deployment {name}")), Row::silence);
        Self { reason, remedy: Remedy::Advance }
    }

    /// Command after which gardener-apiserver may answer, and its effect.
    pub fn remedy(&self) -> (String, &'static str) {
        match &self.remedy {
            Remedy::Until(end) => {
                (format!("terrarium clock until {}", text(*end)), "moves time to the end of the fault")
            }
            Remedy::Clear(id) => (format!("terrarium fault clear {id}"), "ends the fault"),
            Remedy::Advance => ("terrarium clock advance 10m".to_owned(), "moves time without it"),
        }
    }
}

/// Formats the reason: `gardener-apiserver does not answer: REASON`.
impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not answer", Component::Apiserver.name())?;
        self.reason.iter().try_for_each(|reason| write!(f, ": {reason}"))
    }
}

/// Formats an active fault with its duration.
fn sentence(fault: &Fault) -> String {
    let (id, kind) = (&fault.metadata.name, &fault.spec.kind);
    let end = fault.spec.until.map_or_else(|| "it is cleared".to_owned(), |until| text(until.0));
    format!("fault {id} ({kind}) acts since {}, until {end}", text(fault.metadata.creation_timestamp.0))
}

/// Returns the sentence about the first of a component's processes that does not answer: an active fault acts on it, or
/// landscape time waits for its report or no longer does; about the event log if that takes no writes. None: there is no
/// such process. `component`: name of the Deployment; `pods`: its pods.
pub async fn of_processes(context: &Context, component: &str, pods: &[Arc<Pod>]) -> Option<String> {
    let clock = Api::<terrarium::Clock>::all(context, cluster::RUNTIME).get_opt(CLOCK_NAME).await;
    let faults = Api::<Fault>::all(context, cluster::RUNTIME).list(&ListOptions::default()).await;
    let faults = faults.map(|(faults, _)| faults).unwrap_or_default();
    unanswered(component, pods, &faults, &clock.ok()??.status)
}

fn unanswered(component: &str, pods: &[Arc<Pod>], faults: &[Fault], clock: &ClockStatus) -> Option<String> {
    let now = clock.now?.0;
    if let Some(log) = clock.waits_for.iter().find(|it| it.starts_with(LOG_HOLD)) {
        return Some(format!("landscape time is held for {log}"));
    }
    pods.iter().find_map(|pod| {
        let at = pod.metadata.annotation(annotation::CLUSTER).unwrap_or_default();
        let process = Process { component, pod: &pod.metadata.name, seed: cluster::seed(at) };
        // Participants of the clock have these names.
        let name = format!("{at}/{}", pod.metadata.name);
        let acts = |fault: &&Fault| fault::cuts_off(fault, process, Some(at), now);
        if let Some(fault) = faults.iter().find(acts) {
            return Some(format!("{name} does not answer: {}", sentence(fault)));
        }
        if clock.dropped.contains(&name) {
            return Some(format!("{name} does not answer: landscape time no longer waits for it"));
        }
        clock.waits_for.contains(&name).then(|| format!("{name} does not answer: landscape time waits for it"))
    })
}

fn text(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::{MicroTime, Time};

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("an instant")
    }

    fn fault(kind: &str, component: &str, until: Option<&str>) -> Fault {
        let mut fault = Fault::default();
        fault.metadata.name = "f-1".to_owned();
        fault.metadata.creation_timestamp = Time::from_instant(at("2023-07-27T20:00:00Z"));
        (fault.spec.kind, fault.spec.component, fault.spec.always) = (kind.to_owned(), component.to_owned(), true);
        fault.spec.until = until.map(|until| Time::from_instant(at(until)));
        fault
    }

    fn row(runs: &[&str]) -> Row {
        Row {
            component: "gardener-apiserver".to_owned(),
            cluster: "runtime".to_owned(),
            runs: runs.iter().map(|&version| version.to_owned()).collect(),
            wanted: "v1.120.0".to_owned(),
            ..Row::default()
        }
    }

    #[test]
    fn a_process_that_does_not_answer_is_named() {
        let mut pod = Pod::default();
        pod.metadata.name = "gardenlet-1".to_owned();
        pod.metadata.annotations.insert(annotation::CLUSTER.to_owned(), "seed--a".to_owned());
        let pods = [Arc::new(pod)];
        let name = "seed--a/gardenlet-1";
        let partition = fault("component-partition", "gardenlet", None);
        let acts = "seed--a/gardenlet-1 does not answer: fault f-1 (component-partition) acts since \
                    2023-07-27T20:00:00Z, until it is cleared";
        for (faults, dropped, waits_for, expected) in [
            (vec![], "", "", None),
            (vec![fault("component-partition", "gardener-scheduler", None)], "seed--b/gardenlet-1", "other", None),
            (vec![], name, "", Some("seed--a/gardenlet-1 does not answer: landscape time no longer waits for it")),
            (vec![], "", name, Some("seed--a/gardenlet-1 does not answer: landscape time waits for it")),
            (vec![partition], name, "", Some(acts)),
            (
                vec![],
                "",
                "the event log, which takes no writes: the disk is full",
                Some("landscape time is held for the event log, which takes no writes: the disk is full"),
            ),
        ] {
            let clock = ClockStatus {
                now: Some(MicroTime(at("2023-07-27T20:05:00Z"))),
                dropped: vec![dropped.to_owned()],
                waits_for: vec![waits_for.to_owned()],
                ..ClockStatus::default()
            };
            let found = unanswered("gardenlet", &pods, &faults, &clock);
            assert_eq!(found.as_deref(), expected, "{dropped} {waits_for}");
        }
    }

    /// Faults and processes; sentence and remedy.
    #[test]
    fn an_active_fault_of_the_apiserver_is_named_before_its_processes() {
        let ten = Some("2023-07-27T20:10:00Z");
        let (partition, crash) = ("component-partition", "component-crash");
        for (faults, rows, sentence, remedy) in [
            (
                vec![fault(partition, "gardenlet", None), fault(partition, "gardener-apiserver", ten)],
                vec![row(&["v1.120.0"])],
                "gardener-apiserver does not answer: fault f-1 (component-partition) acts since 2023-07-27T20:00:00Z, \
                 until 2023-07-27T20:10:00Z",
                "terrarium clock until 2023-07-27T20:10:00Z",
            ),
            (
                vec![fault(crash, "gardener-apiserver", None)],
                vec![row(&[])],
                "gardener-apiserver does not answer: fault f-1 (component-crash) acts since 2023-07-27T20:00:00Z, until it \
                 is cleared",
                "terrarium fault clear f-1",
            ),
            (
                vec![fault(partition, "gardener-apiserver", Some("2023-07-27T20:05:00Z"))],
                vec![row(&[])],
                "gardener-apiserver does not answer: no instance of gardener-apiserver v1.120.0 (runtime) runs",
                "terrarium clock advance 10m",
            ),
            (
                Vec::new(),
                Vec::new(),
                "gardener-apiserver does not answer: there is no Deployment gardener-apiserver",
                "terrarium clock advance 10m",
            ),
            (
                vec![fault("task-fails", "", None)],
                vec![row(&["v1.120.0"])],
                "gardener-apiserver does not answer",
                "terrarium clock advance 10m",
            ),
        ] {
            let silence = Silence::of(&faults, &rows, at("2023-07-27T20:05:00Z"));
            assert_eq!((silence.to_string().as_str(), silence.remedy().0.as_str()), (sentence, remedy));
        }
    }
}
