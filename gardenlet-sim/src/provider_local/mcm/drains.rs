// SPDX-License-Identifier: Apache-2.0
//! Attempts to drain Nodes: they are held in memory, and begin again after a restart.

use std::collections::BTreeMap;

use api::constants::annotation;
use api::kubernetes::core::Pod as PodObject;
use api::kubernetes::policy::PodDisruptionBudget;
use apimachinery::meta::{DeleteOptions, Preconditions};
use apimachinery::selector::Labels;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, Error, ListOptions, ObjectKey, Patch};
use domain::fault;
use domain::rollout::Parameter;
use domain::rollout::drain::{Answer, Attempt, Outcome, Pod, Request, SHORT_RETRY, Terms};
use domain::rollout::machine::{self, Step, after_drain};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;

use super::super::provider::place;
use super::family::Family;

/// Maximum duration of a forced drain: upstream's time-out, which is never reached here.
const FORCED: TimeDelta = TimeDelta::minutes(1);

/// Current attempts by cluster and Node; `None` while a pass has taken the attempt.
#[derive(Debug, Default)]
pub(super) struct Drains(Mutex<BTreeMap<(String, String), Option<Running>>>);

#[derive(Debug)]
struct Running {
    attempt: Attempt,
    /// Time of the failure.
    failed: Option<DateTime<Utc>>,
    /// True if the Machine is being deleted; false if its Node is updated in place.
    is_deletion: bool,
}

impl Drains {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Option<Running>>> {
        self.0.lock()
    }

    /// Takes the current attempt for a pass. Later changes of pods trigger another pass.
    fn take(&self, key: &(String, String)) -> Option<Running> {
        self.lock().insert(key.clone(), None).flatten()
    }

    /// True if a Node is being drained: then changes of its pods trigger passes.
    pub(super) fn is_running(&self, cluster: &str, node: &str) -> bool {
        let all = self.lock();
        !all.is_empty() && all.contains_key(&(cluster.to_owned(), node.to_owned()))
    }

    /// Removes the attempt after a drain, or when the Machine is deleted.
    pub(super) fn forget(&self, cluster: &str, node: &str) {
        self.lock().remove(&(cluster.to_owned(), node.to_owned()));
    }
}

impl Family<'_> {
    /// Begins or continues the drain of a Machine's Node, and returns the next step.
    pub(super) async fn drain(&mut self, machine: &machine::Machine, forced: bool, uid: &str) -> Result<Step, Error> {
        let key = (self.namespace.clone(), machine.name.clone());
        if !self.is_cordon_seen(&machine.name) {
            return Ok(Step::Rest);
        }
        let known = self.drains.take(&key);
        let is_deletion = machine.deleting.is_some();
        let is_fresh = |running: &Running| {
            running.attempt.is_forced() == forced
                && running.is_deletion == is_deletion
                && running.failed.is_none_or(|failed| self.now < failed + SHORT_RETRY)
        };
        let mut running = match known.filter(is_fresh) {
            Some(running) => running,
            None => {
                let volumes = [Parameter::VolumeDetach, Parameter::VolumeReattach];
                let volumes = volumes.map(|parameter| self.provider.duration(parameter, uid, 0));
                let (retries, timeout) = if forced {
                    (1, FORCED)
                } else {
                    (machine.settings.max_evict_retries, machine.settings.drain_timeout)
                };
                let terms = Terms::new(forced, retries, timeout, volumes[0] + volumes[1]);
                let attempt = Attempt::begin(&machine.name, terms, self.pods_of(&machine.name), self.now);
                Running { attempt, failed: None, is_deletion }
            }
        };
        if running.failed.is_none() {
            loop {
                let present = self.pods_of(&machine.name);
                let is_there = |pod: &Pod| present.iter().any(|known| known.uid == pod.uid);
                let due = running.attempt.requests(is_there, self.now);
                if due.is_empty()
                    && !(running.attempt.outcome() == Outcome::Drained && running.attempt.take_up(present, self.now))
                {
                    break;
                }
                for (index, request) in due {
                    let pod = running.attempt.pod(index).clone();
                    let answer = self.ask(&machine.name, &pod, request).await?;
                    running.attempt.answer(index, request, answer, self.now);
                }
            }
        }
        let outcome = running.attempt.outcome();
        if matches!(outcome, Outcome::Failed(_)) && running.failed.is_none() {
            running.failed = Some(self.now);
        }
        let step = after_drain(machine, forced, &outcome, running.failed, self.now);
        if outcome == Outcome::Drained || (forced && running.failed.is_some()) {
            self.drains.lock().remove(&key);
        } else {
            self.drains.lock().insert(key, Some(running));
        }
        Ok(step)
    }

    /// True if the watch has delivered the cordon of a Node. Until then its pods stay, so that each watcher of pods observes the
    /// cordon before the removal of a pod.
    fn is_cordon_seen(&self, node: &str) -> bool {
        let has_node = self.individual(node).is_some_and(|individual| individual.node.is_some());
        let seen = self.provider.nodes.get_watched(&ObjectKey::new(&self.namespace, "", node));
        !has_node || seen.is_some_and(|node| node.spec.unschedulable)
    }

    /// Returns the pods of a Node that have to be evicted.
    fn pods_of(&self, node: &str) -> Vec<Pod> {
        let pods = self.provider.pods_by_node.get(&place(&self.namespace, node));
        pods.into_iter().filter_map(|pod| Some(Pod::of(&pod)?.with_volumes(self.volumes(&pod)))).collect()
    }

    /// Returns the volumes of a pod's claims that exist.
    fn volumes(&self, pod: &PodObject) -> Vec<String> {
        let key = |claim: &str| ObjectKey::new(&self.namespace, &pod.metadata.namespace, claim);
        let claims = Pod::claims(pod).filter_map(|claim| self.provider.claim_store.get(&key(claim)));
        claims.map(|claim| claim.spec.volume_name.clone()).collect()
    }

    /// Sends the request to evict or delete a pod.
    async fn ask(&self, node: &str, pod: &Pod, request: Request) -> Result<Answer, Error> {
        let pods = Api::<PodObject>::namespaced(&self.provider.context, &self.namespace, &pod.namespace);
        let asked = match request {
            Request::Delete => {
                let preconditions = Preconditions { uid: Some(pod.uid.clone()), resource_version: None };
                let options = DeleteOptions {
                    grace_period_seconds: Some(0),
                    preconditions: Some(preconditions),
                    ..DeleteOptions::default()
                };
                pods.delete(&pod.name, &options).await
            }
            Request::Evict => {
                if let Some(refused) = self.refusal(node, pod).await? {
                    return Ok(refused);
                }
                if self.acts(node, fault::POD_TERMINATION_HANGS).await? {
                    let never = json!({ "metadata": { "annotations": { (annotation::POD_END): "never" } } });
                    match pods.patch(&pod.name, &Patch::Merge(never)).await {
                        Err(error) if !error.is_not_found() => return Err(error),
                        _ => {}
                    }
                }
                let body = json!({
                    "apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": { "name": pod.name, "namespace": pod.namespace },
                    "deleteOptions": { "preconditions": { "uid": pod.uid } },
                });
                pods.post(&pod.name, "eviction", &body).await
            }
        };
        let Err(error) = asked else { return Ok(Answer::Accepted) };
        // Another pod of this name causes a conflict: the requested pod was deleted.
        if error.is_not_found() || error.is_conflict() {
            return Ok(Answer::Gone);
        }
        let Some(status) = error.status() else { return Err(error) };
        if status.code != 429 {
            return Ok(Answer::Error(status.message.clone()));
        }
        Ok(match self.misconfigured_budget(pod).await? {
            Some(budget) => Answer::Misconfigured(budget),
            None => Answer::Refused,
        })
    }

    /// Returns the answer of a fault that replaces a PodDisruptionBudget.
    async fn refusal(&self, node: &str, pod: &Pod) -> Result<Option<Answer>, Error> {
        let Some(fault) = self.faults_of(node, &[fault::DRAIN_BLOCKED_BY_PDB]).into_iter().next() else {
            return Ok(None);
        };
        self.note_fault(&fault, node).await?;
        let is_misconfigured = fault.spec.settings.get(fault::MISCONFIGURED).is_some_and(|value| value == "true");
        Ok(Some(if is_misconfigured {
            Answer::Misconfigured(format!("{}/{}", pod.namespace, fault.metadata.name))
        } else {
            Answer::Refused
        }))
    }

    /// Returns a pod's budget if all of the budget's pods are healthy and none of them may be evicted.
    ///
    /// Source: `isMisconfiguredPdb`.
    async fn misconfigured_budget(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let key = ObjectKey::new(&self.namespace, &pod.namespace, &pod.name);
        let Some(object) = self.provider.pod_store.get(&key) else { return Ok(None) };
        let budgets = Api::<PodDisruptionBudget>::namespaced(&self.provider.context, &self.namespace, &pod.namespace);
        let (budgets, _) = budgets.list(&ListOptions::default()).await?;
        let selects = |budget: &&PodDisruptionBudget| {
            let selector = budget.spec.selector.as_ref().and_then(|selector| Labels::from_selector(selector).ok());
            selector.is_some_and(|selector| selector.matches(&object.metadata.labels))
        };
        let is_misconfigured = |budget: &&PodDisruptionBudget| {
            let status = &budget.status;
            status.observed_generation == budget.metadata.generation
                && status.expected_pods > 0
                && status.current_healthy >= status.expected_pods
                && status.disruptions_allowed == 0
        };
        let found = budgets.iter().find(selects).filter(is_misconfigured);
        Ok(found.map(|budget| format!("{}/{}", budget.metadata.namespace, budget.metadata.name)))
    }
}
