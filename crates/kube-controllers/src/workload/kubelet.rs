// SPDX-License-Identifier: Apache-2.0
//! The simulated kubelet: pods that nobody runs as a process run here, as a status and nothing else.
//!
//! A pod without a node gets one first; a pod whose node is gone is deleted. A pod costs one write of its status (none if it was created running), and one
//! more for each change of what is wrong with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::kubernetes::core::{Pod, PodCondition};
use apimachinery::meta::{DeleteOptions, Preconditions, Time};
use controller::{Controller, Error, ObjectKey, Requeue};

use super::{Workload, cluster_of, place, pod_status, pods};

const CONCURRENCY: usize = 5;

/// Runs the kubelet until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("kubelet", &workload.context);
    controller.watch_store(&workload.pods, |change| change.new.iter().map(|_| change.key.clone()).collect());
    let known = workload.clone();
    controller.watch_store(&workload.nodes, move |change| {
        // Pods that wait for a node, or whose node is gone.
        let name = if change.new.is_some() { "" } else { &*change.key.name };
        known.pods_by_place.keys(&place(&change.key.cluster, name))
    });
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_pod(&key).await }
        })
        .await;
}

impl Workload {
    async fn reconcile_pod(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(pod) = self.pods.get(key) else { return Ok(Requeue::OnChange) };
        if self.is_process(pod_status::images(&pod.spec)) {
            return Ok(Requeue::OnChange);
        }
        if pod.metadata.is_being_deleted() {
            return self.end(key, &pod).await;
        }
        if !pod.spec.node_name.is_empty() && !self.has_node(&key.cluster, &pod.spec.node_name) {
            // What ran there is gone with the node; what never did waits for a node of that name.
            let has_run = !pod.status.container_statuses.is_empty();
            return if has_run { self.remove(key, &pod).await } else { Ok(Requeue::OnChange) };
        }
        if pods::is_terminal(&pod) {
            return Ok(Requeue::OnChange);
        }
        if pod.spec.node_name.is_empty() {
            return self.schedule(key, &pod).await;
        }
        let wanted = pod_status::annotations(&pod.metadata);
        let fault = wanted.fault.as_deref();
        if fault == Some("Pending") || pod_status::says(&pod, fault) {
            return Ok(Requeue::OnChange);
        }
        let now = self.context.clock.now();
        let start = wanted.start.unwrap_or(self.options.pod_start);
        let due = pod.metadata.creation_timestamp.0 + start;
        if pod.status.container_statuses.is_empty() && now < due {
            return Ok(Requeue::WorkAt(due));
        }
        let mut new = Pod::clone(&pod);
        let host = self.host_address(&key.cluster, &pod.spec.node_name);
        new.status = pod_status::changed(&pod, &host, &format!("{}/{}", key.cluster, pod.metadata.uid), fault, now);
        self.api::<Pod>().update_status(&pod, &new).await?;
        Ok(Requeue::OnChange)
    }

    /// Nothing has to stop: the pod goes as soon as its finalizers let it.
    async fn end(&self, key: &ObjectKey, pod: &Pod) -> Result<Requeue, Error> {
        if pod.metadata.deletion_grace_period_seconds.unwrap_or(0) == 0 {
            return Ok(Requeue::OnChange);
        }
        self.remove(key, pod).await
    }

    /// Deletes a pod that has nothing to stop.
    async fn remove(&self, key: &ObjectKey, pod: &Pod) -> Result<Requeue, Error> {
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: Some(pod.metadata.uid.clone()), resource_version: None }),
            ..DeleteOptions::default()
        };
        match self.api::<Pod>().within(&key.cluster, &key.namespace).delete(&key.name, &options).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(Requeue::OnChange),
        }
    }

    /// Puts the pod on a node, or says why it waits for one.
    async fn schedule(&self, key: &ObjectKey, pod: &Pod) -> Result<Requeue, Error> {
        let mut new = pod.clone();
        if let Some(node) = self.choose_node(&key.cluster, &pod.spec.node_selector, &BTreeMap::new()) {
            new.spec.node_name = node;
            self.api().update(pod, &new).await?;
            return Ok(Requeue::OnChange);
        }
        if pods::condition(pod, "PodScheduled").is_some_and(|known| known.status == "False") {
            return Ok(Requeue::OnChange);
        }
        let nodes = self.nodes.list_in_cluster(cluster_of(pod)).len();
        new.status.conditions.push(PodCondition {
            r#type: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            last_transition_time: Time::from_instant(self.context.clock.now()),
            reason: "Unschedulable".to_owned(),
            message: format!("0/{nodes} nodes are available."),
            ..PodCondition::default()
        });
        self.api().update_status(pod, &new).await?;
        Ok(Requeue::OnChange)
    }
}
