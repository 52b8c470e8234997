// SPDX-License-Identifier: Apache-2.0
//! Facts derived from a pod's status, and the order in which pods of a ReplicaSet are deleted.
//!
//! Source: k8s.io/kubernetes pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go (ActivePodsWithRanks).

use std::cmp::Ordering;

use api::constants::annotation;
use api::kubernetes::core::{Pod, PodCondition};
use api::kubernetes::parsed_annotation;
use chrono::{DateTime, TimeDelta, Utc};

/// True if the pod counts as active: it has not ended and is not being deleted.
pub(crate) fn is_active(pod: &Pod) -> bool {
    !is_terminal(pod) && !pod.metadata.is_being_deleted()
}

/// True if all containers have ended and will not be restarted.
pub(crate) fn is_terminal(pod: &Pod) -> bool {
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
}

pub(crate) fn condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    pod.status.conditions.iter().find(|condition| condition.r#type == type_)
}

/// Returns the time since which the pod is ready.
pub(crate) fn ready_since(pod: &Pod) -> Option<DateTime<Utc>> {
    let ready = condition(pod, "Ready").filter(|ready| ready.status == "True")?;
    Some(ready.last_transition_time.0)
}

/// Returns the time at which the pod is available: it has been ready for `min_ready` then. `None`: it is not ready.
pub(crate) fn available_at(pod: &Pod, min_ready: TimeDelta) -> Option<DateTime<Utc>> {
    ready_since(pod).map(|since| since + min_ready)
}

/// A pod with the number of active pods of its owner's owner on its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranked<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) rank: usize,
}

/// Orders pods for deletion: without node before with, pending before running, not ready before ready, lower deletion
/// cost, more pods on the node, ready for a shorter time, more restarts, younger. Times are compared by their magnitude
/// (power of two of nanoseconds), then the uid decides, so that the youngest is not always deleted.
pub(crate) fn compare(a: &Ranked<'_>, b: &Ranked<'_>, now: DateTime<Utc>) -> Ordering {
    let (left, right) = (a.pod, b.pod);
    let phase = |pod: &Pod| match pod.status.phase.as_str() {
        "Pending" => 0,
        "Unknown" => 1,
        "Running" => 2,
        // The value of a missing key in upstream's table.
        _ => 0,
    };
    let cost = |pod: &Pod| parsed_annotation::<i32>(&pod.metadata, annotation::POD_DELETION_COST).unwrap_or(0);
    let restarts = |pod: &Pod| {
        pod.status.container_statuses.iter().map(|container| container.restart_count).max().unwrap_or_default()
    };
    let by_age = |left_time: DateTime<Utc>, right_time: DateTime<Utc>| {
        if left_time == right_time {
            return Ordering::Equal;
        }
        let age = |time| magnitude(now - time);
        age(left_time).cmp(&age(right_time)).then_with(|| left.metadata.uid.cmp(&right.metadata.uid))
    };
    let by_readiness = match (ready_since(left), ready_since(right)) {
        (Some(left), Some(right)) => by_age(left, right),
        _ => Ordering::Equal,
    };
    (!left.spec.node_name.is_empty())
        .cmp(&!right.spec.node_name.is_empty())
        .then_with(|| phase(left).cmp(&phase(right)))
        .then_with(|| ready_since(left).is_some().cmp(&ready_since(right).is_some()))
        .then_with(|| cost(left).cmp(&cost(right)))
        .then_with(|| b.rank.cmp(&a.rank))
        .then(by_readiness)
        .then_with(|| restarts(right).cmp(&restarts(left)))
        .then_with(|| by_age(left.metadata.creation_timestamp.0, right.metadata.creation_timestamp.0))
        .then_with(|| left.metadata.name.cmp(&right.metadata.name))
}

/// Returns the power of two of an age in nanoseconds; -1: the age is not positive.
fn magnitude(age: TimeDelta) -> i64 {
    match age.num_nanoseconds() {
        Some(nanoseconds) if nanoseconds <= 0 => -1,
        Some(nanoseconds) => i64::from(nanoseconds.ilog2()),
        None => 63,
    }
}

#[cfg(test)]
mod tests {
    use api::kubernetes::core::ContainerStatus;
    use apimachinery::meta::{ObjectMeta, Time};

    use super::*;

    fn instant(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("a valid instant")
    }

    /// Returns a pod that has been running and ready on a node for an hour.
    fn pod(name: &str) -> Pod {
        let mut pod = Pod { metadata: ObjectMeta::named("n", name), ..Pod::default() };
        pod.metadata.uid = name.to_owned();
        pod.metadata.creation_timestamp = Time(instant(-3600));
        "node".clone_into(&mut pod.spec.node_name);
        "Running".clone_into(&mut pod.status.phase);
        pod.status.conditions = vec![PodCondition {
            r#type: "Ready".to_owned(),
            status: "True".to_owned(),
            last_transition_time: Time(instant(-3600)),
            ..PodCondition::default()
        }];
        pod.status.container_statuses = vec![ContainerStatus::default()];
        pod
    }

    fn changed(change: impl Fn(&mut Pod)) -> Pod {
        // The name would put it last if nothing else counted.
        let mut pod = pod("z");
        change(&mut pod);
        pod
    }

    /// "Pending (and unschedulable) pods are scaled down first. If controller.kubernetes.io/pod-deletion-cost annotation
    /// is set, then the pod with the lower value will come first. Pods on nodes with more replicas come before pods on
    /// nodes with fewer replicas. If the pods' creation times differ, the pod that was created more recently comes
    /// before the older pod."
    #[test]
    fn less_valuable_pods_are_deleted_first() {
        let other = pod("a");
        let first = [
            changed(|pod| pod.spec.node_name.clear()),
            changed(|pod| "Pending".clone_into(&mut pod.status.phase)),
            changed(|pod| pod.status.conditions.clear()),
            changed(|pod| {
                let cost = "controller.kubernetes.io/pod-deletion-cost".to_owned();
                pod.metadata.annotations.insert(cost, "-1".to_owned());
            }),
            changed(|pod| pod.status.conditions[0].last_transition_time = Time(instant(-60))),
            changed(|pod| pod.status.container_statuses[0].restart_count = 1),
            changed(|pod| pod.metadata.creation_timestamp = Time(instant(-60))),
        ];
        for pod in &first {
            let (a, b) = (Ranked { pod: &other, rank: 1 }, Ranked { pod, rank: 1 });
            assert_eq!(compare(&a, &b, instant(0)), Ordering::Greater, "{pod:?}");
            assert_eq!(compare(&b, &a, instant(0)), Ordering::Less, "{pod:?}");
        }
        let crowded = pod("z");
        let (a, b) = (Ranked { pod: &other, rank: 1 }, Ranked { pod: &crowded, rank: 2 });
        assert_eq!(compare(&a, &b, instant(0)), Ordering::Greater);
    }

    #[test]
    fn ages_of_one_magnitude_are_ordered_by_uid() {
        let (old, young) = (pod("a"), changed(|pod| pod.metadata.creation_timestamp = Time(instant(-3500))));
        let (a, b) = (Ranked { pod: &old, rank: 1 }, Ranked { pod: &young, rank: 1 });
        assert_eq!(compare(&a, &b, instant(0)), Ordering::Less);
    }

    #[test]
    fn a_pod_is_available_after_its_minimum_ready_time() {
        let pod = pod("a");
        assert_eq!(available_at(&pod, TimeDelta::seconds(10)), Some(instant(-3590)));
        let unready = changed(|pod| "False".clone_into(&mut pod.status.conditions[0].status));
        assert_eq!(available_at(&unready, TimeDelta::zero()), None);
    }
}
