// SPDX-License-Identifier: Apache-2.0
//! The node life cycle: taints on a Node that is no longer Ready, and eviction of its pods.
//!
//! ```text
//! Ready False, Unknown ─► taints not-ready, unreachable (NoSchedule, NoExecute); pods are not Ready
//!                     └─ after 5 min, or as long as a pod tolerates it ─► its pods are deleted; they end when their kubelet
//!                        reports again, or with their Node
//! ```
//!
//! Source: k8s.io/kubernetes pkg/controller/nodelifecycle, pkg/controller/tainteviction.

use std::sync::Arc;

use api::constants::taint;
use api::kubernetes::core::{Node, Pod, Taint, Toleration};
use apimachinery::meta::{DeleteOptions, Preconditions, Time};
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Controller, Error, ObjectKey, Requeue};

use super::{Workload, place, pods};

const CONCURRENCY: usize = 5;
/// Duration for which a pod without a toleration stays on a lost Node.
const PATIENCE: TimeDelta = TimeDelta::seconds(300);

/// Runs the controller until the component stops.
pub(crate) async fn run(workload: Arc<Workload>) {
    let mut controller = Controller::new("node-lifecycle", &workload.context);
    controller.watch_store(&workload.nodes, |change| {
        let concerns = |node: &Node| (ready(node).map(|(status, _)| status.to_owned()), node.spec.clone());
        if change.differs(concerns) { vec![change.key.clone()] } else { Vec::new() }
    });
    controller.watch_store(&workload.pods, |_| Vec::new());
    controller
        .run(CONCURRENCY, move |key| {
            let workload = workload.clone();
            async move { workload.reconcile_node(&key).await }
        })
        .await;
}

/// Returns the status of condition Ready and the time of its last transition.
fn ready(node: &Node) -> Option<(&str, DateTime<Utc>)> {
    let ready = node.status.conditions.iter().find(|condition| condition.r#type == "Ready")?;
    Some((ready.status.as_str(), ready.last_transition_time.0))
}

/// Returns the time since which a Node is lost: it was Ready, and no longer is.
pub(crate) fn lost_since(node: &Node) -> Option<DateTime<Utc>> {
    // A Node that is still registering is not Ready either.
    let is_new = node.spec.taints.iter().any(|taint| taint.key == taint::UNINITIALIZED);
    ready(node).filter(|(status, _)| *status != "True" && !is_new).map(|(_, since)| since)
}

/// Returns the taints that follow from a Node's condition Ready.
fn wanted_taints(node: &Node) -> Vec<Taint> {
    let key = match ready(node) {
        _ if lost_since(node).is_none() => return Vec::new(),
        Some(("Unknown", _)) => taint::UNREACHABLE,
        _ => taint::NOT_READY,
    };
    let since = lost_since(node).map(Time::from_instant);
    let taint = |effect: &str, time_added| Taint {
        key: key.to_owned(),
        value: String::new(),
        effect: effect.to_owned(),
        time_added,
    };
    vec![taint("NoSchedule", since), taint("NoExecute", since)]
}

/// Returns the duration for which a pod stays on a Node with these taints; `None`: indefinitely.
///
/// Source: pkg/controller/tainteviction (`getMinTolerationTime`); plugin/pkg/admission/defaulttolerationseconds.
fn patience(pod: &Pod, taints: &[Taint]) -> Option<TimeDelta> {
    // DaemonSet pods tolerate the taints. The controller adds the tolerations; pods of an earlier release lack them.
    if pod.metadata.owner_references.iter().any(|owner| owner.controller == Some(true) && owner.kind == "DaemonSet") {
        return None;
    }
    let of = |taint: &Taint| {
        let found: Vec<&Toleration> =
            pod.spec.tolerations.iter().filter(|toleration| tolerates(toleration, taint)).collect();
        match found[..] {
            // Admission adds a toleration of this duration; pods of an earlier release lack it.
            [] => Some(PATIENCE),
            _ => {
                let seconds = found.iter().map(|toleration| toleration.toleration_seconds);
                let least = seconds.flatten().min();
                least.map(|seconds| TimeDelta::seconds(seconds.clamp(0, i64::from(u32::MAX))))
            }
        }
    };
    taints.iter().filter(|taint| taint.effect == "NoExecute").filter_map(of).min()
}

/// True if a toleration matches a taint.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    (toleration.effect.is_empty() || toleration.effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match toleration.operator.as_str() {
            "Exists" => true,
            _ => !toleration.key.is_empty() && toleration.value == taint.value,
        }
}

impl Workload {
    async fn reconcile_node(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(node) = self.nodes.get(key) else { return Ok(Requeue::OnChange) };
        let wanted = wanted_taints(&node);
        let is_new = node.spec.taints.iter().any(|taint| taint.key == taint::UNINITIALIZED);
        let is_ours = |taint: &Taint| !is_new && matches!(taint.key.as_str(), taint::NOT_READY | taint::UNREACHABLE);
        let mut new = Node::clone(&node);
        new.spec.taints.retain(|taint| !is_ours(taint) || wanted.iter().any(|it| it.key == taint.key));
        for taint in &wanted {
            let same = |it: &Taint| it.key == taint.key && it.effect == taint.effect;
            if !new.spec.taints.iter().any(same) {
                new.spec.taints.push(taint.clone());
            }
        }
        self.api::<Node>().update(&node, &new).await?;
        let Some(since) = lost_since(&node) else { return Ok(Requeue::OnChange) };
        let mut next = Requeue::OnChange;
        for pod in self.pods_by_place.get(&place(&key.cluster, &key.name)) {
            self.tell_lost(&pod).await?;
            let Some(patience) = patience(&pod, &wanted) else { continue };
            if since + patience > self.context.clock.now() {
                next = next.earliest(Requeue::WorkAt(since + patience));
            } else {
                self.evict_by_taint(key, &pod).await?;
            }
        }
        Ok(next)
    }

    /// Sets a pod on a lost Node to not ready.
    async fn tell_lost(&self, pod: &Pod) -> Result<(), Error> {
        if pods::ready_since(pod).is_none() {
            return Ok(());
        }
        let mut new = pod.clone();
        for ready in new.status.conditions.iter_mut().filter(|condition| condition.r#type == "Ready") {
            "False".clone_into(&mut ready.status);
            ready.last_transition_time = Time::from_instant(self.context.clock.now());
        }
        match self.api::<Pod>().update_status(pod, &new).await {
            Err(error) if error.is_not_found() => Ok(()),
            other => other.map(drop),
        }
    }

    async fn evict_by_taint(&self, key: &ObjectKey, pod: &Pod) -> Result<(), Error> {
        let options = DeleteOptions {
            preconditions: Some(Preconditions { uid: Some(pod.metadata.uid.clone()), resource_version: None }),
            ..DeleteOptions::default()
        };
        let pods = self.api::<Pod>().within(&key.cluster, &pod.metadata.namespace);
        match pods.delete(&pod.metadata.name, &options).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use api::kubernetes::core::NodeCondition;

    use super::*;

    fn node(status: &str, taints: &[&str]) -> Node {
        let mut node = Node::default();
        node.status.conditions =
            vec![NodeCondition { r#type: "Ready".into(), status: status.into(), ..NodeCondition::default() }];
        node.spec.taints = taints.iter().map(|key| Taint { key: (*key).into(), ..Taint::default() }).collect();
        node
    }

    #[test]
    fn a_node_that_is_no_longer_ready_is_tainted() {
        let keys = |node: &Node| {
            let taints = wanted_taints(node);
            taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect::<Vec<_>>()
        };
        assert_eq!(keys(&node("True", &[])), [""; 0]);
        assert_eq!(keys(&node("False", &[taint::UNINITIALIZED])), [""; 0], "it registers");
        let not_ready = ["node.kubernetes.io/not-ready:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"];
        assert_eq!(keys(&node("False", &[])), not_ready);
        let unreachable = ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"];
        assert_eq!(keys(&node("Unknown", &[])), unreachable);
    }

    /// "tolerationSeconds … how long the Pod stays bound to a node that has one of these taints"; "Kubernetes adds a
    /// toleration with tolerationSeconds=300 … DaemonSet pods are created with NoExecute tolerations … with no
    /// tolerationSeconds".
    #[test]
    fn pods_stay_on_a_lost_node_while_tolerating_it() {
        let taints = wanted_taints(&node("Unknown", &[]));
        let pod = |tolerations: &[(&str, &str, Option<i64>)]| {
            let mut pod = Pod::default();
            pod.spec.tolerations = tolerations
                .iter()
                .map(|(key, operator, seconds)| Toleration {
                    key: (*key).into(),
                    operator: (*operator).into(),
                    toleration_seconds: *seconds,
                    ..Toleration::default()
                })
                .collect();
            pod
        };
        let unreachable = taint::UNREACHABLE;
        for (tolerations, expected) in [
            (&[][..], Some(300)),
            (&[(unreachable, "Exists", Some(20))], Some(20)),
            (&[(unreachable, "Exists", None)], None),
            (&[("", "Exists", None)], None),
            (&[("other", "Exists", None)], Some(300)),
            (&[(unreachable, "Exists", None), ("", "Exists", Some(7))], Some(7)),
        ] {
            assert_eq!(patience(&pod(tolerations), &taints), expected.map(TimeDelta::seconds), "{tolerations:?}");
        }
    }
}
