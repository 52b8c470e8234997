// SPDX-License-Identifier: Apache-2.0
//! Changes of each Shoot in a log, and their comparison with a forecast.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::core::{Shoot, ShootCredentialsRotation};
use api::kubernetes::core::Node;
use api::machine::MachineDeployment;
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use domain::forecast::{Change, Subject};
use domain::shoot_facts::has_ssh_access;
use domain::worker_pool::Effect;
use eventlog::{Entry, Verb};

use super::life::Stretch;

/// Maximum duration of the effects of one run; no other run begins in it.
const OF_ONE_RUN: TimeDelta = TimeDelta::hours(6);

/// Time, pool, old version and new version; no pool: the control plane.
type Move = (DateTime<Utc>, Option<String>, String, String);

/// Time, credentials, and true if their rotation begins (false: ends).
type Turn = (DateTime<Utc>, &'static str, bool);

/// Changes of one Shoot. Instants are in whole seconds.
#[derive(Debug, Default)]
struct ShootChanges {
    moves: Vec<Move>,
    /// `status.lastMaintenance.description` of each run that has one.
    descriptions: BTreeMap<DateTime<Utc>, String>,
    /// `status.lastMaintenance.failureReason` of each run that failed.
    failures: BTreeMap<DateTime<Utc>, String>,
    /// Operations that maintenance has performed.
    operations: Vec<(DateTime<Utc>, String)>,
    /// Rotations that gardenlet began and ended.
    turns: Vec<Turn>,
    /// Instants at which a pool got another machine class.
    rolled: BTreeSet<DateTime<Utc>>,
    /// Instants at which a node got a kubelet of another version.
    restarted: BTreeSet<DateTime<Utc>>,
    /// Object at each instant, for the end of each stretch.
    states: BTreeMap<DateTime<Utc>, Arc<Shoot>>,
}

/// Changes of all Shoots, by name.
#[derive(Debug, Default)]
pub(crate) struct Story(BTreeMap<String, ShootChanges>);

impl Story {
    /// Reads the changes from a log.
    pub(crate) fn of(entries: &[Arc<Entry>]) -> Self {
        let mut story = Self::default();
        let mut shoots: BTreeMap<String, Arc<Shoot>> = BTreeMap::new();
        let mut classes: BTreeMap<String, String> = BTreeMap::new();
        let mut kubelets: BTreeMap<String, String> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.verb != Verb::Delete) {
            let at = cut(entry.time);
            match &*entry.key.resource {
                "core.gardener.cloud/shoots" => {
                    let shoot: Arc<Shoot> = Arc::new(typed(entry));
                    let name = shoot.metadata.name.clone();
                    let own = story.0.entry(name.clone()).or_default();
                    if let Some(before) = shoots.insert(name, shoot.clone()) {
                        own.learn(&before, &shoot, at);
                    }
                    own.states.insert(entry.time, shoot);
                }
                "machine.sapcloud.io/machinedeployments" => {
                    let deployment: MachineDeployment = typed(entry);
                    let class = deployment.spec.template.spec.class.name.clone();
                    let before = classes.insert(deployment.metadata.name.clone(), class.clone());
                    if before.is_some_and(|before| before != class) {
                        story.of_cluster(&entry.key.namespace).rolled.insert(at);
                    }
                }
                "/nodes" => {
                    let node: Node = typed(entry);
                    let version = node.status.node_info.kubelet_version.clone();
                    let before =
                        kubelets.insert(format!("{}/{}", entry.key.cluster, node.metadata.name), version.clone());
                    if before.is_some_and(|before| !before.is_empty() && before != version) {
                        story.of_cluster(&entry.key.cluster).restarted.insert(at);
                    }
                }
                _ => {}
            }
        }
        story
    }

    /// The Shoot of a technical id, `shoot--demo--s1`.
    fn of_cluster(&mut self, id: &str) -> &mut ShootChanges {
        self.0.entry(id.rsplit("--").next().unwrap_or_default().to_owned()).or_default()
    }

    /// Compares the rows of a forecast with the changes of a Shoot in a stretch; the error is the difference.
    pub(crate) fn agrees(&self, stretch: &Stretch, changes: &[Change]) -> Result<(), String> {
        let own = self.0.get(&stretch.given.metadata.name).ok_or("the log has no such Shoot")?;
        Comparison { own, stretch, changes }.agree()
    }
}

fn typed<K: serde::de::DeserializeOwned>(entry: &Entry) -> K {
    serde_json::from_slice(&entry.object.parts.concat()).unwrap_or_else(|error| panic!("{}: {error}", entry.key))
}

fn cut(time: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp(time.timestamp(), 0).expect("in range")
}

/// The versions of a Shoot by pool.
fn versions(shoot: &Shoot) -> BTreeMap<Option<String>, Vec<String>> {
    let mut versions = BTreeMap::from([(None, vec![shoot.spec.kubernetes.version.clone()])]);
    for worker in &shoot.spec.provider.workers {
        let own = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.clone());
        let image = worker.machine.image.as_ref().and_then(|image| image.version.clone());
        versions.insert(Some(worker.name.clone()), vec![own.unwrap_or_default(), image.unwrap_or_default()]);
    }
    versions
}

/// Instants at which the rotation of each kind of credentials, and its completion, were initiated.
fn rotations(shoot: &Shoot) -> Vec<(&'static str, Option<Time>, Option<Time>)> {
    let credentials = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
    let Some(rotation) = credentials else { return Vec::new() };
    let ShootCredentialsRotation {
        certificate_authorities,
        service_account_key,
        etcd_encryption_key,
        ssh_keypair,
        observability,
        ..
    } = rotation;
    let mut found = Vec::new();
    found.extend(
        certificate_authorities
            .as_ref()
            .map(|one| ("authorities", one.last_initiation_time, one.last_completion_triggered_time)),
    );
    found.extend(
        service_account_key.as_ref().map(|one| ("key", one.last_initiation_time, one.last_completion_triggered_time)),
    );
    found.extend(
        etcd_encryption_key.as_ref().map(|one| ("etcd", one.last_initiation_time, one.last_completion_triggered_time)),
    );
    found.extend(ssh_keypair.as_ref().map(|one| ("ssh", one.last_initiation_time, None)));
    found.extend(observability.as_ref().map(|one| ("observability", one.last_initiation_time, None)));
    found
}

/// Rotations that an operation begins or ends, according to garden-api 7.1.
fn turns(operation: &str, shoot: &Shoot) -> Vec<(&'static str, bool)> {
    let both = ["authorities", "key", "etcd"];
    let operation = operation.strip_suffix("-without-workers-rollout").unwrap_or(operation);
    let (of, begins): (&[&'static str], bool) = match operation {
        "rotate-credentials-start" => (&["authorities", "key", "etcd", "ssh", "observability"], true),
        "rotate-credentials-complete" => (&both, false),
        "rotate-ca-start" => (&both[..1], true),
        "rotate-ca-complete" => (&both[..1], false),
        "rotate-serviceaccount-key-start" => (&both[1..2], true),
        "rotate-serviceaccount-key-complete" => (&both[1..2], false),
        "rotate-etcd-encryption-key-start" => (&both[2..], true),
        "rotate-etcd-encryption-key-complete" => (&both[2..], false),
        "rotate-ssh-keypair" => (&["ssh"], true),
        "rotate-observability-credentials" => (&["observability"], true),
        _ => (&[], true),
    };
    let is_there = |of: &&str| *of != "ssh" || has_ssh_access(&shoot.spec);
    of.iter().copied().filter(is_there).map(|of| (of, begins)).collect()
}

impl ShootChanges {
    fn learn(&mut self, before: &Shoot, after: &Shoot, at: DateTime<Utc>) {
        let known = versions(before);
        for (pool, new) in versions(after) {
            for (old, new) in known.get(&pool).into_iter().flatten().zip(&new).filter(|(old, new)| old != new) {
                self.moves.push((at, pool.clone(), old.clone(), new.clone()));
            }
        }
        let triggered = |shoot: &Shoot| shoot.status.last_maintenance.as_ref().map(|last| last.triggered_time);
        if let Some(last) = after.status.last_maintenance.as_ref().filter(|_| triggered(before) != triggered(after)) {
            self.descriptions.insert(at, last.description.clone());
            self.failures.extend(last.failure_reason.clone().map(|reason| (at, reason)));
        }
        let waiting =
            |shoot: &Shoot| shoot.metadata.annotation("maintenance.gardener.cloud/operation").map(str::to_owned);
        if let (Some(operation), None) = (waiting(before), waiting(after)) {
            self.operations.push((at, operation));
        }
        let known = rotations(before);
        for (of, begun, ending) in rotations(after) {
            let (_, begun_before, ending_before) =
                known.iter().find(|(known, ..)| *known == of).copied().unwrap_or((of, None, None));
            if begun != begun_before {
                self.turns.push((at, of, true));
            }
            if ending.is_some() && ending != ending_before {
                self.turns.push((at, of, false));
            }
        }
    }
}

/// Comparison of one Shoot in one stretch with one forecast.
struct Comparison<'a> {
    own: &'a ShootChanges,
    stretch: &'a Stretch,
    changes: &'a [Change],
}

impl<'a> Comparison<'a> {
    fn agree(&self) -> Result<(), String> {
        self.moves()?;
        self.operations()?;
        self.turns()?;
        self.failures()?;
        self.descriptions()?;
        self.nodes()
    }

    fn is_within(&self, at: DateTime<Utc>) -> bool {
        cut(self.stretch.from) <= at && at < cut(self.stretch.until)
    }

    /// Rows of a subject.
    fn of(&self, subject: Subject) -> impl Iterator<Item = &'a Change> {
        self.changes.iter().filter(move |change| change.subject == subject)
    }

    fn moves(&self) -> Result<(), String> {
        let versions = self.of(Subject::Kubernetes).chain(self.of(Subject::MachineImage));
        let mut foretold: Vec<Move> = versions
            .filter(|change| change.failure.is_none())
            .filter_map(|change| {
                Some((cut(change.time), change.pool.clone(), change.from.clone()?, change.to.clone()?))
            })
            .collect();
        let mut happened: Vec<Move> = self.own.moves.iter().filter(|one| self.is_within(one.0)).cloned().collect();
        foretold.sort();
        happened.sort();
        same("versions", &foretold, &happened)
    }

    fn operations(&self) -> Result<(), String> {
        let foretold: Vec<_> = self
            .of(Subject::Operation)
            .map(|change| (cut(change.time), change.to.clone().unwrap_or_default()))
            .collect();
        // A mere reconciliation is no change.
        let happened =
            self.own.operations.iter().filter(|(at, operation)| self.is_within(*at) && operation != "reconcile");
        let happened: Vec<_> = happened.cloned().collect();
        same("operations", &foretold, &happened)
    }

    /// Rotations of an operation are performed by gardenlet in the run that follows, and are complete at the end.
    fn turns(&self) -> Result<(), String> {
        let mut foretold = Vec::new();
        for change in self.of(Subject::Operation) {
            let operation = change.to.as_deref().unwrap_or_default();
            let shoot = self.state_at(change.time).ok_or("it is not there")?;
            foretold.extend(turns(operation, &shoot).into_iter().map(|(of, begins)| (cut(change.time), of, begins)));
        }
        let run_of = |at: DateTime<Utc>| {
            let runs = self.of(Subject::Operation).map(|change| cut(change.time));
            runs.filter(|run| *run <= at && at < *run + OF_ONE_RUN).max()
        };
        let happened = self.own.turns.iter().filter(|turn| self.is_within(turn.0));
        let mut happened: Vec<Turn> =
            happened.map(|(at, of, begins)| (run_of(*at).unwrap_or(*at), *of, *begins)).collect();
        foretold.sort_unstable();
        happened.sort_unstable();
        same("rotations", &foretold, &happened)
    }

    fn state_at(&self, at: DateTime<Utc>) -> Option<Arc<Shoot>> {
        self.own.states.range(..=at).next_back().map(|(_, shoot)| shoot.clone())
    }

    /// A failure that repeats every day is predicted once.
    fn failures(&self) -> Result<(), String> {
        let mut told: BTreeMap<DateTime<Utc>, Vec<&str>> = BTreeMap::new();
        for change in self.changes {
            if let Some(failure) = &change.failure {
                told.entry(cut(change.time)).or_default().push(failure);
            }
        }
        for (at, failures) in &told {
            let happened = self.own.failures.get(at).ok_or_else(|| format!("nothing failed at {at}: {failures:?}"))?;
            for failure in failures {
                if !happened.contains(failure) {
                    return Err(format!("the failure at {at} differs\n  foretold {failure}\n  happened {happened}"));
                }
            }
        }
        for (at, happened) in self.own.failures.iter().filter(|(at, _)| self.is_within(**at)) {
            // Remove the predicted parts; only commas may remain.
            let mut rest = happened.clone();
            for known in told.range(..=*at).flat_map(|(_, failures)| failures) {
                rest = rest.replace(known, "");
            }
            let prefixes =
                ["Control Plane: Kubernetes maintenance failure due to:", "Kubernetes maintenance failure due to:"];
            for prefix in prefixes {
                rest = rest.replace(prefix, "");
            }
            for pool in self.state_at(*at).iter().flat_map(|shoot| &shoot.spec.provider.workers) {
                rest = rest.replace(&format!("Worker pool {:?}:", pool.name), "");
            }
            if !rest.trim_matches([',', ' ']).is_empty() {
                return Err(format!("a failure at {at} is not foretold: {happened}"));
            }
        }
        Ok(())
    }

    /// Each run's description has the changes of the rows, and no others; repeated failures are predicted once.
    fn descriptions(&self) -> Result<(), String> {
        for change in self.changes {
            let at = cut(change.time);
            let told = self.own.descriptions.get(&at);
            let piece = self.piece(change);
            if !told.is_some_and(|description| description.contains(&piece)) {
                return Err(format!("at {at}\n  foretold {piece}\n  happened {told:?}"));
            }
        }
        for (at, description) in self.own.descriptions.iter().filter(|(at, _)| self.is_within(**at)) {
            let mut rest = description
                .as_str()
                .split_once("successful. ")
                .map_or(description.as_str(), |parts| parts.1)
                .to_owned();
            let of_now = self.changes.iter().filter(|change| cut(change.time) == *at);
            let failed_before = self.changes.iter().filter(|change| cut(change.time) < *at && change.failure.is_some());
            let mut pieces: Vec<String> = of_now.chain(failed_before).map(|change| self.piece(change)).collect();
            // A piece may be a prefix of another one.
            pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
            for piece in &pieces {
                rest = rest.replacen(piece, "", 1);
            }
            if !rest.trim_matches([',', ' ']).is_empty() {
                return Err(format!("at {at} is not foretold: {rest}\n  of {description}"));
            }
        }
        Ok(())
    }

    /// The part of a description for a change, according to versions-and-maintenance 4.8.
    fn piece(&self, change: &Change) -> String {
        let Change { subject, pool, from, to, reason, failure, .. } = change;
        let whose = pool.as_ref().map_or_else(|| "Control Plane".to_owned(), |pool| format!("Worker pool {pool:?}"));
        let (from, to) = (from.as_deref().unwrap_or_default(), to.as_deref().unwrap_or_default());
        match (subject, failure) {
            (Subject::Kubernetes, None) => {
                format!("{whose}: Updated Kubernetes version from {from:?} to {to:?}. Reason: {reason}")
            }
            (Subject::Kubernetes, Some(_)) if pool.is_none() => {
                format!("{whose}: Kubernetes version update failed. Reason for update: {reason}")
            }
            (Subject::Kubernetes, Some(_)) => {
                format!("{whose}: Kubernetes version maintenance failed. Reason for update: {reason}")
            }
            (Subject::MachineImage, None) => {
                let shoot = self.state_at(change.time);
                let image = shoot.as_ref().and_then(|shoot| {
                    let worker =
                        shoot.spec.provider.workers.iter().find(|worker| Some(&worker.name) == pool.as_ref())?;
                    worker.machine.image.as_ref().map(|image| image.name.clone())
                });
                let image = image.unwrap_or_default();
                format!("{whose}: Updated machine image {image:?} from {from:?} to {to:?}. Reason: {reason}")
            }
            (Subject::MachineImage, Some(_)) => {
                format!("{whose}: machine image version maintenance failed. Reason for update: {reason}")
            }
            (Subject::Migration | Subject::Operation | Subject::Blocked | Subject::HashForm, _) => reason.clone(),
        }
    }

    /// Pools get other machines, and nodes other kubelets, in exactly the predicted runs.
    fn nodes(&self) -> Result<(), String> {
        // A hibernated Shoot has no nodes, and gets new ones when it wakes up. A run also rolls out pending changes.
        if self.stretch.given.spec.hibernation.is_some() || self.stretch.is_pending {
            return Ok(());
        }
        let runs: BTreeSet<DateTime<Utc>> = self.changes.iter().map(|change| cut(change.time)).collect();
        let is = |at: DateTime<Utc>, effect: Effect| {
            self.changes.iter().any(|change| cut(change.time) == at && change.effect == effect)
        };
        let has_happened = |events: &BTreeSet<DateTime<Utc>>, at: DateTime<Utc>| {
            events.range(at..at + OF_ONE_RUN).any(|at| self.is_within(*at))
        };
        for at in &runs {
            let (rolls, restarts) = (is(*at, Effect::Rolling), is(*at, Effect::KubeletRestart));
            let rolled = has_happened(&self.own.rolled, *at);
            if rolls != rolled {
                return Err(format!("nodes are replaced at {at}: foretold {rolls}, happened {rolled}"));
            }
            let restarted = has_happened(&self.own.restarted, *at);
            if !rolls && restarts != restarted {
                return Err(format!("kubelets are restarted at {at}: foretold {restarts}, happened {restarted}"));
            }
        }
        let mut strays = self.own.rolled.iter().chain(&self.own.restarted).filter(|at| self.is_within(**at));
        match strays.find(|at| !runs.iter().any(|run| (*run..*run + OF_ONE_RUN).contains(at))) {
            Some(at) => Err(format!("nodes change at {at}, and nothing is foretold")),
            None => Ok(()),
        }
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, foretold: &[T], happened: &[T]) -> Result<(), String> {
    if foretold == happened {
        return Ok(());
    }
    let without = |some: &[T], others: &[T]| -> Vec<String> {
        some.iter().filter(|one| !others.contains(one)).map(|one| format!("{one:?}")).collect()
    };
    Err(format!(
        "{what} differ\n  only foretold: {}\n  only happened: {}",
        without(foretold, happened).join(", "),
        without(happened, foretold).join(", ")
    ))
}
