// SPDX-License-Identifier: Apache-2.0
//! Status of a Deployment: counts, and the conditions with upstream's reasons and messages.
//!
//! Source: k8s.io/kubernetes pkg/controller/deployment/progress.go, deployment/util/deployment_util.go.

use api::kubernetes::apps::{DeploymentCondition, DeploymentStatus};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use super::objects::{Deployment, ReplicaSet};
use super::sizes::Wish;

pub(crate) const AVAILABLE: &str = "Available";
pub(crate) const PROGRESSING: &str = "Progressing";
pub(crate) const REPLICA_FAILURE: &str = "ReplicaFailure";

const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

/// Returns the condition of a type.
pub(crate) fn find<'a>(status: &'a DeploymentStatus, type_: &str) -> Option<&'a DeploymentCondition> {
    status.conditions.iter().find(|condition| condition.r#type == type_)
}

/// Sets a condition. A condition with the same status and reason is left unchanged; the transition time changes only
/// with the status.
pub(crate) fn set(status: &mut DeploymentStatus, type_: &str, value: &str, reason: &str, message: &str, now: Time) {
    let old = find(status, type_);
    if old.is_some_and(|old| old.status == value && old.reason == reason) {
        return;
    }
    let since = old.filter(|old| old.status == value).map_or(now, |old| old.last_transition_time);
    status.conditions.retain(|condition| condition.r#type != type_);
    status.conditions.push(DeploymentCondition {
        r#type: type_.to_owned(),
        status: value.to_owned(),
        last_update_time: now,
        last_transition_time: since,
        reason: reason.to_owned(),
        message: message.to_owned(),
    });
}

/// Sets the condition Progressing when a Deployment is paused or resumed.
pub(crate) fn pause(deployment: &Deployment, status: &mut DeploymentStatus, now: Time) {
    if deployment.progress_deadline().is_none() {
        return;
    }
    let reason = find(status, PROGRESSING).map(|condition| condition.reason.clone());
    let is_marked = reason.as_deref() == Some(PAUSED);
    if reason.as_deref() == Some(TIMED_OUT) || deployment.spec.paused == is_marked {
        return;
    }
    if deployment.spec.paused {
        set(status, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now);
    } else {
        set(status, PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed", now);
    }
}

/// Sets the counts of all sets, and the condition Available.
pub(crate) fn count(
    deployment: &Deployment,
    wish: Wish,
    new: Option<&ReplicaSet>,
    old: &[ReplicaSet],
    status: &mut DeploymentStatus,
    now: Time,
) {
    let sum = |of: fn(&ReplicaSet) -> i32| old.iter().chain(new).map(of).sum::<i32>();
    let available = sum(|set| set.status.available_replicas);
    status.observed_generation = deployment.metadata.generation;
    status.replicas = sum(|set| set.status.replicas);
    status.updated_replicas = new.map_or(0, |set| set.status.replicas);
    status.ready_replicas = sum(|set| set.status.ready_replicas);
    status.available_replicas = available;
    status.unavailable_replicas = (sum(ReplicaSet::replicas) - available).max(0);
    if available >= wish.replicas - wish.unavailable {
        let message = "Deployment has minimum availability.";
        set(status, AVAILABLE, "True", "MinimumReplicasAvailable", message, now);
    } else {
        let message = "Deployment does not have minimum availability.";
        set(status, AVAILABLE, "False", "MinimumReplicasUnavailable", message, now);
    }
}

/// True if the roll-out is complete.
pub(crate) fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let replicas = deployment.replicas();
    status.updated_replicas == replicas
        && status.replicas == replicas
        && status.available_replicas == replicas
        && status.observed_generation >= deployment.metadata.generation
}

fn has_progressed(old: &DeploymentStatus, new: &DeploymentStatus) -> bool {
    new.updated_replicas > old.updated_replicas
        || new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        || new.ready_replicas > old.ready_replicas
        || new.available_replicas > old.available_replicas
}

/// Returns the time at which the progress deadline expires; `None`: the Deployment is complete, has already failed, or
/// has no deadline.
pub(crate) fn deadline(deployment: &Deployment, status: &DeploymentStatus) -> Option<DateTime<Utc>> {
    let condition = find(status, PROGRESSING)?;
    if matches!(condition.reason.as_str(), NEW_SET_AVAILABLE | TIMED_OUT | PAUSED) {
        return None;
    }
    Some(condition.last_update_time.0 + deployment.progress_deadline()? + TimeDelta::seconds(1))
}

/// Sets the condition Progressing, after [`count`]. `old` is the status as it is stored.
pub(crate) fn progress(
    deployment: &Deployment,
    old: &DeploymentStatus,
    new_set: Option<&ReplicaSet>,
    status: &mut DeploymentStatus,
    now: Time,
) {
    if deployment.progress_deadline().is_none() {
        status.conditions.retain(|condition| condition.r#type != PROGRESSING);
        return;
    }
    let current = find(status, PROGRESSING).cloned();
    let was_complete = status.replicas == status.updated_replicas
        && current.as_ref().is_some_and(|condition| condition.reason == NEW_SET_AVAILABLE);
    if was_complete {
        return;
    }
    let what = match new_set {
        Some(set) => format!("ReplicaSet \"{}\"", set.metadata.name),
        None => format!("Deployment \"{}\"", deployment.metadata.name),
    };
    if is_complete(deployment, status) {
        let message = format!("{what} has successfully progressed.");
        set(status, PROGRESSING, "True", NEW_SET_AVAILABLE, &message, now);
    } else if has_progressed(old, status) {
        // Unlike other conditions this one is renewed each time, since the deadline counts from it.
        let since = current.filter(|it| it.status == "True").map_or(now, |it| it.last_transition_time);
        status.conditions.retain(|condition| condition.r#type != PROGRESSING);
        set(status, PROGRESSING, "True", "ReplicaSetUpdated", &format!("{what} is progressing."), now);
        if let Some(condition) = status.conditions.last_mut() {
            condition.last_transition_time = since;
        }
    } else if deadline(deployment, status).is_some_and(|deadline| deadline <= now.0) {
        set(status, PROGRESSING, "False", TIMED_OUT, &format!("{what} has timed out progressing."), now);
    }
}

/// Sets the condition ReplicaFailure, copied from the sets: the new one's first.
pub(crate) fn failure(new: Option<&ReplicaSet>, old: &[ReplicaSet], status: &mut DeploymentStatus, now: Time) {
    let failed = new.into_iter().chain(old).find_map(|set| {
        set.status.conditions.iter().find(|condition| condition.r#type == REPLICA_FAILURE && condition.status == "True")
    });
    match failed {
        Some(it) => set(status, REPLICA_FAILURE, "True", &it.reason, &it.message, now),
        None => status.conditions.retain(|condition| condition.r#type != REPLICA_FAILURE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time(DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("a valid instant"))
    }

    fn replica_set(replicas: i32, available: i32) -> ReplicaSet {
        let mut set = ReplicaSet::default();
        "web-1".clone_into(&mut set.metadata.name);
        set.spec.replicas = Some(replicas);
        set.status.replicas = replicas;
        set.status.ready_replicas = available;
        set.status.available_replicas = available;
        set
    }

    fn deployment() -> Deployment {
        let mut deployment = Deployment::default();
        "web".clone_into(&mut deployment.metadata.name);
        deployment.spec.replicas = Some(3);
        deployment
    }

    /// Runs one pass over the sets; returns the conditions as `type=status reason: message (update, transition)`.
    fn step(deployment: &mut Deployment, new: &ReplicaSet, old: &[ReplicaSet], seconds: i64) -> Vec<String> {
        let before = deployment.status.clone();
        let mut status = before.clone();
        pause(deployment, &mut status, at(seconds));
        count(deployment, Wish::rolling(3, None, None), Some(new), old, &mut status, at(seconds));
        progress(deployment, &before, Some(new), &mut status, at(seconds));
        deployment.status = status;
        let seconds = |time: Time| (time.0 - at(0).0).num_seconds();
        let conditions = deployment.status.conditions.iter().map(|it| {
            let (update, transition) = (seconds(it.last_update_time), seconds(it.last_transition_time));
            format!("{}={} {}: {} ({update}, {transition})", it.r#type, it.status, it.reason, it.message)
        });
        conditions.collect()
    }

    #[test]
    fn a_rollout_progresses_and_is_done_in_upstreams_words() {
        let mut deployment = deployment();
        assert_eq!(
            step(&mut deployment, &replica_set(3, 0), &[], 0),
            [
                "Available=False MinimumReplicasUnavailable: Deployment does not have minimum availability. (0, 0)",
                "Progressing=True ReplicaSetUpdated: ReplicaSet \"web-1\" is progressing. (0, 0)",
            ]
        );
        assert_eq!(deployment.status.unavailable_replicas, 3);
        assert_eq!(
            step(&mut deployment, &replica_set(3, 1), &[], 5)[1],
            "Progressing=True ReplicaSetUpdated: ReplicaSet \"web-1\" is progressing. (5, 0)"
        );
        let done = [
            "Available=True MinimumReplicasAvailable: Deployment has minimum availability. (9, 9)",
            "Progressing=True NewReplicaSetAvailable: ReplicaSet \"web-1\" has successfully progressed. (9, 0)",
        ];
        let mut sorted = step(&mut deployment, &replica_set(3, 3), &[], 9);
        sorted.sort();
        assert_eq!(sorted, done);
        let settled = deployment.status.clone();
        step(&mut deployment, &replica_set(3, 3), &[], 99);
        assert_eq!(deployment.status, settled, "nothing to say any more");
        assert_eq!(deadline(&deployment, &deployment.status), None);
    }

    #[test]
    fn without_progress_the_deadline_passes_once() {
        let mut deployment = deployment();
        deployment.spec.progress_deadline_seconds = Some(10);
        step(&mut deployment, &replica_set(3, 0), &[], 0);
        assert_eq!(deadline(&deployment, &deployment.status), Some(at(11).0));
        step(&mut deployment, &replica_set(3, 0), &[], 10);
        assert_eq!(find(&deployment.status, PROGRESSING).expect("set").reason, "ReplicaSetUpdated");
        let conditions = step(&mut deployment, &replica_set(3, 0), &[], 11);
        assert_eq!(
            conditions[1],
            "Progressing=False ProgressDeadlineExceeded: ReplicaSet \"web-1\" has timed out progressing. (11, 11)"
        );
        assert_eq!(deadline(&deployment, &deployment.status), None);
        deployment.spec.progress_deadline_seconds = Some(i32::MAX);
        assert_eq!(step(&mut deployment, &replica_set(3, 0), &[], 12).len(), 1, "no deadline, no condition");
    }

    #[test]
    fn a_pause_is_a_condition_without_deadline() {
        let mut deployment = deployment();
        step(&mut deployment, &replica_set(3, 3), &[], 0);
        deployment.spec.paused = true;
        let mut status = deployment.status.clone();
        pause(&deployment, &mut status, at(5));
        let paused = find(&status, PROGRESSING).expect("set").clone();
        assert_eq!((paused.status.as_str(), paused.reason.as_str()), ("Unknown", "DeploymentPaused"));
        assert_eq!(paused.message, "Deployment is paused");
        assert_eq!(deadline(&deployment, &status), None);
        deployment.spec.paused = false;
        pause(&deployment, &mut status, at(6));
        let resumed = find(&status, PROGRESSING).expect("set");
        assert_eq!((resumed.reason.as_str(), resumed.message.as_str()), ("DeploymentResumed", "Deployment is resumed"));
    }
}
