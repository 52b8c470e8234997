// SPDX-License-Identifier: Apache-2.0
//! The simulated kubelet: runs the pods that no process kubelet runs, by writing their status only.
//!
//! A pod without a node is scheduled first; a pod whose node was deleted is deleted. A pod costs one write of its
//! status (none if it was created running), and one more for each change of its fault.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::annotation;
use api::kubernetes::core::{Namespace, Node, NodeSpec, Pod, PodCondition};
use api::kubernetes::storage::{PersistentVolume, PersistentVolumeClaim};
use apimachinery::meta::{DeleteOptions, Preconditions, Quantity, TextMap, Time};
use chrono::TimeDelta;
use controller::{Change, Controller, Error, EventType, ObjectKey, Requeue};

use super::placement::volumes::is_bound;
use super::placement::{Choice, depends_on_pods, wants_others};
use super::{Workload, claim_text, is_waiting, nodes, place, pod_status, pods};

const CONCURRENCY: usize = 5;

/// Runs the kubelet until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("kubelet", &workload.context);
    let known = workload.clone();
    controller.watch_store(&workload.pods, move |change| {
        let mut keys: Vec<ObjectKey> = change.new.iter().map(|_| change.key.clone()).collect();
        let is_placed = |pod: &Option<Arc<Pod>>| {
            pod.as_ref().is_some_and(|pod| pods::is_active(pod) && !pod.spec.node_name.is_empty())
        };
        // A pod that leaves its node makes room for waiting pods; so does one with anti-affinity that ends or changes
        // its labels.
        let cluster = &change.key.cluster;
        if (is_placed(&change.old) && !is_placed(&change.new)) || is_rid_of(change) {
            keys.extend(known.pods_by_place.keys(&place(cluster, "")));
        } else if change.differs(of_interest) {
            keys.extend(known.waiting_for_pods.keys(cluster));
        }
        keys
    });
    let known = workload.clone();
    controller.watch_store(&workload.storage.claims, move |change| {
        let key = &change.key;
        let facts = |claim: &PersistentVolumeClaim| {
            let (metadata, spec) = (&claim.metadata, &claim.spec);
            let node = metadata.annotation(annotation::SELECTED_NODE).map(str::to_owned);
            (
                is_bound(claim),
                metadata.is_being_deleted(),
                claim.status.phase.clone(),
                spec.storage_class_name.clone(),
                node,
            )
        };
        let matters = change.differs(facts);
        let keys = matters.then(|| known.pods_by_claim.keys(&claim_text(&key.cluster, &key.namespace, &key.name)));
        let mut keys = keys.unwrap_or_default();
        keys.retain(|key| known.pods.get(key).is_some_and(|pod| is_waiting(&pod)));
        keys
    });
    let known = workload.clone();
    controller.watch_store(&workload.storage.volumes, move |change: &Change<PersistentVolume>| {
        let facts = |volume: &PersistentVolume| (volume.spec.clone(), volume.metadata.is_being_deleted());
        if change.differs(facts) { known.waiting_with_claims.keys(&change.key.cluster) } else { Vec::new() }
    });
    let known = workload.clone();
    controller
        .watch_store(&workload.storage.classes, move |change| known.waiting_with_claims.keys(&change.key.cluster));
    let known = workload.clone();
    controller.watch_store(&workload.storage.namespaces, move |change: &Change<Namespace>| {
        let matters = change.differs(|namespace| namespace.metadata.labels.clone());
        if matters { known.waiting_for_pods.keys(&change.key.cluster) } else { Vec::new() }
    });
    let known = workload.clone();
    controller.watch_store(&workload.nodes, move |change| {
        // Affected are pods that wait for a node, or whose node was deleted, was lost or is back.
        let cluster = &change.key.cluster;
        let mut keys = match &change.new {
            // The last node of a zone may be deleted.
            None => known.waiting_for_pods.keys(cluster),
            Some(_) if change.differs(placement_facts) => known.waiting_for_node(cluster, &change.key.name),
            Some(_) => Vec::new(),
        };
        if change.new.is_none() || change.differs(|node| nodes::lost_since(node).is_some()) {
            keys.extend(known.pods_by_node.keys(&place(cluster, &change.key.name)));
        }
        keys
    });
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_pod(&key).await }
        })
        .await;
}

/// Returns the properties by which a pod on a node affects the placement of others; `None`: it is not on a node.
fn of_interest(pod: &Pod) -> Option<(String, TextMap)> {
    let is_present = !pods::is_terminal(pod) && !pod.spec.node_name.is_empty();
    is_present.then(|| (pod.spec.node_name.clone(), pod.metadata.labels.clone()))
}

/// True if a pod with affinity terms is no longer on its node.
fn is_rid_of(change: &Change<Pod>) -> bool {
    let is_there = |pod: &Option<Arc<Pod>>| pod.as_ref().is_some_and(|pod| of_interest(pod).is_some());
    change.old.as_ref().is_some_and(|pod| wants_others(&pod.spec)) && is_there(&change.old) && !is_there(&change.new)
}

/// Returns the properties of a node that decide whether pods fit, other than the pods on it.
fn placement_facts(node: &Node) -> (bool, NodeSpec, TextMap, BTreeMap<String, Quantity>) {
    let ready = node.status.conditions.iter().find(|condition| condition.r#type == "Ready");
    let is_ready = ready.is_some_and(|ready| ready.status == "True");
    (is_ready, node.spec.clone(), node.metadata.labels.clone(), node.status.allocatable.clone())
}

impl Workload {
    /// Returns the waiting pods that may fit because this node was created or changed: those that it may take, those
    /// whose placement depends on the nodes of others, and those not considered yet because the cluster had no node.
    fn waiting_for_node(&self, cluster: &str, node: &str) -> Vec<ObjectKey> {
        let mut keys = self.pods_by_place.keys(&place(cluster, ""));
        keys.retain(|key| {
            self.pods.get(key).is_some_and(|pod| {
                pods::condition(&pod, "PodScheduled").is_none()
                    || depends_on_pods(&pod.spec)
                    || self.places.may_take(cluster, node, &pod.spec)
            })
        });
        keys
    }

    async fn reconcile_pod(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(pod) = self.pods.get(key) else { return Ok(Requeue::OnChange) };
        if self.is_process(&key.cluster, &pod.metadata.labels, &pod.spec) {
            return Ok(Requeue::OnChange);
        }
        if pod.metadata.is_being_deleted() {
            return self.end(key, &pod).await;
        }
        if !pod.spec.node_name.is_empty() && !self.has_node(&key.cluster, &pod.spec.node_name) {
            // A pod that ran is deleted with its node; one that never ran waits for a node of that name.
            let has_run = !pod.status.container_statuses.is_empty();
            return if has_run { self.remove(key, &pod).await } else { Ok(Requeue::OnChange) };
        }
        if pods::is_terminal(&pod) {
            return Ok(Requeue::OnChange);
        }
        if pod.spec.node_name.is_empty() {
            return self.schedule(key, &pod).await;
        }
        if self.is_lost(key, &pod) {
            return Ok(Requeue::OnChange);
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
        let network = (self.options.pod_network_of)(&key.cluster);
        let at = pod_status::At { host: &host, network: network.as_deref() };
        new.status = pod_status::changed(&pod, at, &format!("{}/{}", key.cluster, pod.metadata.uid), fault, now);
        self.api::<Pod>().update_status(&pod, &new).await?;
        Ok(Requeue::OnChange)
    }

    /// Removes a pod that is being deleted after its end duration, at the latest when its grace period is over. On a
    /// lost node, nothing is done.
    async fn end(&self, key: &ObjectKey, pod: &Pod) -> Result<Requeue, Error> {
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        if grace == 0 {
            return Ok(Requeue::OnChange);
        }
        let has_run = !pod.status.container_statuses.is_empty();
        let is_there = has_run && self.has_node(&key.cluster, &pod.spec.node_name);
        if !is_there || pods::is_terminal(pod) {
            return self.remove(key, pod).await;
        }
        if self.is_lost(key, pod) {
            return Ok(Requeue::OnChange);
        }
        let wanted = pod_status::annotations(&pod.metadata);
        if wanted.never_ends {
            return Ok(Requeue::OnChange);
        }
        let grace = TimeDelta::seconds(grace);
        let takes = wanted.end.unwrap_or_else(|| (self.options.pod_end_of)(&key.cluster)).min(grace);
        // The deletion timestamp is the end of the grace period.
        let asked = pod.metadata.deletion_timestamp.map(|end| end.0 - grace);
        let due = asked.map_or_else(|| self.context.clock.now(), |asked| asked + takes);
        if self.context.clock.now() < due {
            return Ok(Requeue::WorkAt(due));
        }
        self.remove(key, pod).await
    }

    /// True if the kubelet of a pod's node no longer reports.
    fn is_lost(&self, key: &ObjectKey, pod: &Pod) -> bool {
        let node = self.nodes.get(&ObjectKey::new(&key.cluster, "", &pod.spec.node_name));
        node.is_some_and(|node| nodes::lost_since(&node).is_some())
    }

    /// Deletes a pod without a grace period.
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

    /// Writes the selected node to a pod's claims. The pod gets this node once the claims are bound.
    async fn select_node(&self, key: &ObjectKey, node: &str, claims: &[String]) -> Result<Requeue, Error> {
        for name in claims {
            let Some(claim) = self.storage.claims.get(&key.sibling(name)) else { continue };
            let mut new = PersistentVolumeClaim::clone(&claim);
            new.metadata.annotations.insert(annotation::SELECTED_NODE.to_owned(), node.to_owned());
            self.api::<PersistentVolumeClaim>().update(&claim, &new).await?;
        }
        Ok(Requeue::OnChange)
    }

    /// Assigns a node to the pod, or reports why it waits for one: in its condition, and in an Event when that changes.
    async fn schedule(&self, key: &ObjectKey, pod: &Pod) -> Result<Requeue, Error> {
        let mut new = pod.clone();
        let labels = &pod.metadata.labels;
        // A node may have been reserved for it while its claims had no volumes.
        self.places.forget(&pod.metadata.uid);
        let message = match self.choose_node(&key.cluster, &key.namespace, labels, &pod.spec) {
            Choice::Node(node) => {
                new.spec.node_name = node;
                self.places.assume(key, &pod.metadata.uid, labels, &new.spec);
                if let Err(error) = self.api().update(pod, &new).await {
                    self.places.forget(&pod.metadata.uid);
                    return Err(error);
                }
                return Ok(Requeue::OnChange);
            }
            Choice::Bind(node, claims) => {
                new.spec.node_name.clone_from(&node);
                self.places.assume(key, &pod.metadata.uid, labels, &new.spec);
                return self.select_node(key, &node, &claims).await;
            }
            Choice::Nowhere(message) => message,
            Choice::NoNodes => return Ok(Requeue::OnChange),
        };
        let is_known = |it: &PodCondition| it.r#type == "PodScheduled" && it.status == "False" && it.message == message;
        if pod.status.conditions.iter().any(is_known) {
            return Ok(Requeue::OnChange);
        }
        self.event("default-scheduler", pod, EventType::Warning, "FailedScheduling", &message).await;
        let since = pods::condition(pod, "PodScheduled").filter(|it| it.status == "False");
        let since = since.map(|it| it.last_transition_time);
        new.status.conditions.retain(|it| it.r#type != "PodScheduled");
        new.status.conditions.push(PodCondition {
            r#type: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            last_transition_time: since.unwrap_or_else(|| Time::from_instant(self.context.clock.now())),
            reason: "Unschedulable".to_owned(),
            message,
            ..PodCondition::default()
        });
        self.api().update_status(pod, &new).await?;
        Ok(Requeue::OnChange)
    }
}
