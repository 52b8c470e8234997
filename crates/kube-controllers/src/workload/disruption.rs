// SPDX-License-Identifier: Apache-2.0
//! The disruption controller: computes the disruptions that PodDisruptionBudgets allow, by the rules of
//! [`domain::disruption`].
//!
//! Source: k8s.io/kubernetes pkg/controller/disruption/disruption.go.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::kubernetes::core::Pod;
use api::kubernetes::policy::{PodDisruptionBudget, PodDisruptionBudgetCondition};
use apimachinery::Resource;
use apimachinery::meta::Time;
use apimachinery::selector::Labels;
use controller::{Change, Controller, Error, ObjectKey, Patch, Requeue};
use domain::disruption::Counts;
use serde_json::json;

use super::objects::{Deployment, ReplicaSet, ReplicationController, StatefulSet, controller_uid};
use super::{Workload, pods};

const CONCURRENCY: usize = 5;

/// Runs the controller until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("disruption", &workload.context);
    controller.watch_store(&workload.budgets, |change| vec![change.key.clone()]);
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change: &Change<Pod>| {
        if known.budgets.is_empty() || !change.differs(counts_as) {
            return Vec::new();
        }
        let selects = |budget: &&Arc<PodDisruptionBudget>| {
            let selector = selector(budget);
            let labels = [&change.old, &change.new].into_iter().flatten().map(|pod| &pod.metadata.labels);
            selector.is_some_and(|selector| labels.into_iter().any(|labels| selector.matches(labels)))
        };
        let near = known.budgets.list_in(&change.key.cluster, &change.key.namespace);
        near.iter().filter(selects).map(|budget| change.key.sibling(&budget.metadata.name)).collect()
    });
    let all_in = |workload: &Arc<Workload>| {
        let known = workload.clone();
        move |key: &ObjectKey| -> Vec<ObjectKey> {
            let near = known.budgets.list_in(&key.cluster, &key.namespace);
            near.iter().map(|budget| key.sibling(&budget.metadata.name)).collect()
        }
    };
    let near = all_in(&workload);
    controller.watch_store(&workload.deployments, move |change| {
        if change.differs(Deployment::replicas) { near(&change.key) } else { Vec::new() }
    });
    let near = all_in(&workload);
    controller.watch_store(&workload.sets, move |change| {
        if change.differs(ReplicaSet::replicas) { near(&change.key) } else { Vec::new() }
    });
    let near = all_in(&workload);
    controller.watch_store(&workload.replication_controllers, move |change| {
        if change.differs(ReplicationController::replicas) { near(&change.key) } else { Vec::new() }
    });
    let near = all_in(&workload);
    controller.watch_store(&workload.stateful_sets, move |change| {
        if change.differs(|set| set.spec.replicas) { near(&change.key) } else { Vec::new() }
    });
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_budget(&key).await }
        })
        .await;
}

/// Returns the properties of a pod that its budgets depend on.
fn counts_as(pod: &Pod) -> (apimachinery::meta::TextMap, bool, Option<String>) {
    (pod.metadata.labels.clone(), is_healthy(pod), controller_uid(&pod.metadata).map(str::to_owned))
}

/// Returns a budget's selector. A budget without a selector selects no pod, one with an empty selector all.
fn selector(budget: &PodDisruptionBudget) -> Option<Labels> {
    Labels::from_selector(budget.spec.selector.as_ref()?).ok()
}

/// True if the pod is ready and not being deleted.
fn is_healthy(pod: &Pod) -> bool {
    !pod.metadata.is_being_deleted() && pods::ready_since(pod).is_some()
}

impl Workload {
    async fn reconcile_budget(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(budget) = self.budgets.get(key) else { return Ok(Requeue::OnChange) };
        let near = self.pods.list_in(&key.cluster, &key.namespace);
        let selector = selector(&budget);
        let selected: Vec<&Arc<Pod>> = near
            .iter()
            .filter(|pod| selector.as_ref().is_some_and(|selector| selector.matches(&pod.metadata.labels)))
            .collect();
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let healthy = selected.iter().filter(|pod| is_healthy(pod)).count();
        let scale = self.scale_of(key, &selected);
        let counts = Counts::of(&budget.spec, number(selected.len()), number(healthy), scale);
        let mut new = PodDisruptionBudget::clone(&budget);
        let status = &mut new.status;
        status.observed_generation = budget.metadata.generation;
        status.expected_pods = counts.expected;
        status.desired_healthy = counts.desired;
        status.current_healthy = counts.healthy;
        status.disruptions_allowed = counts.allowed();
        let (state, reason) =
            if counts.allowed() > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
        let same = |it: &&PodDisruptionBudgetCondition| it.r#type == DISRUPTION_ALLOWED && it.status == state;
        let since = status.conditions.iter().find(same).map(|it| it.last_transition_time);
        status.conditions = vec![PodDisruptionBudgetCondition {
            r#type: DISRUPTION_ALLOWED.to_owned(),
            status: state.to_owned(),
            observed_generation: budget.metadata.generation,
            last_transition_time: since.unwrap_or_else(|| Time::from_instant(self.context.clock.now())),
            reason: reason.to_owned(),
            message: String::new(),
        }];
        if new.status != budget.status {
            // The patch includes counts that are 0.
            let status = serde_json::to_value(&new.status).map_err(|error| Error::Failed(error.to_string()))?;
            let patch = json!({
                "metadata": { "resourceVersion": budget.metadata.resource_version }, "status": status,
            });
            let budgets = self.api::<PodDisruptionBudget>().within(&key.cluster, &key.namespace);
            match budgets.patch_subresource(&key.name, "status", &Patch::Merge(patch)).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(Requeue::OnChange)
    }

    /// Returns the sum of the replicas of some pods' controllers. Pods without a controller, or with one of another
    /// kind, do not count.
    fn scale_of(&self, key: &ObjectKey, selected: &[&Arc<Pod>]) -> i32 {
        let mut seen = BTreeSet::new();
        let mut scale = 0_i32;
        for pod in selected {
            let Some(owner) = pod.metadata.owner_references.iter().find(|owner| owner.controller == Some(true)) else {
                continue;
            };
            let of = key.sibling(&owner.name);
            let (uid, replicas) = match owner.kind.as_str() {
                "ReplicaSet" => {
                    let Some(set) = self.sets.get(&of) else { continue };
                    let deployment = Self::owner_key::<Deployment, _>(&of, &*set);
                    match deployment.and_then(|deployment| self.deployments.get(&deployment)) {
                        Some(deployment) => (deployment.metadata().uid.clone(), deployment.replicas()),
                        None => (set.metadata().uid.clone(), set.replicas()),
                    }
                }
                "ReplicationController" => {
                    let Some(set) = self.replication_controllers.get(&of) else { continue };
                    (set.metadata().uid.clone(), set.replicas())
                }
                "StatefulSet" => {
                    let Some(set) = self.stateful_sets.get(&of) else { continue };
                    (set.metadata().uid.clone(), StatefulSet::clone(&set).spec.replicas.unwrap_or(1))
                }
                _ => continue,
            };
            if seen.insert(uid) {
                scale = scale.saturating_add(replicas);
            }
        }
        scale
    }
}

const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";
