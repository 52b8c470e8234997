// SPDX-License-Identifier: Apache-2.0
//! Revisions of a Deployment and the annotations that carry them, for `kubectl rollout history` and `undo`.
//!
//! Source: k8s.io/kubernetes pkg/controller/deployment/util/deployment_util.go, deployment/sync.go (cleanupDeployment).

use std::cmp::Ordering;

use api::constants::annotation;
use api::kubernetes::deployment_revision;
use apimachinery::meta::ObjectMeta;

use super::objects::ReplicaSet;

/// Annotations of a Deployment that are not copied to its ReplicaSets.
const OWN: [&str; 7] = [
    annotation::KUBECTL_LAST_APPLIED,
    annotation::DEPLOYMENT_REVISION,
    annotation::DEPLOYMENT_REVISION_HISTORY,
    annotation::DEPLOYMENT_DESIRED_REPLICAS,
    annotation::DEPLOYMENT_MAX_REPLICAS,
    annotation::DEPLOYMENT_ROLLBACK_TO,
    annotation::CLUSTER,
];

/// Returns the next revision, after those of the old sets.
pub(crate) fn next_revision(old: &[ReplicaSet]) -> i64 {
    old.iter().map(|set| deployment_revision(&set.metadata)).max().unwrap_or(0).saturating_add(1)
}

/// Orders sets by creation time, oldest first; ties are broken by name.
pub(crate) fn by_creation(a: &ReplicaSet, b: &ReplicaSet) -> Ordering {
    let created = |set: &ReplicaSet| set.metadata.creation_timestamp.0;
    created(a).cmp(&created(b)).then_with(|| a.metadata.name.cmp(&b.metadata.name))
}

/// Sets the new set's annotations: the Deployment's and, unless the set has a higher one, the next revision. A set that
/// is the target of a rollback records the revision that it had.
pub(crate) fn annotate_new(deployment: &ObjectMeta, set: &mut ObjectMeta, next: i64) {
    for (key, value) in deployment.annotations.iter().filter(|(key, _)| !OWN.contains(&key.as_str())) {
        set.annotations.insert(key.clone(), value.clone());
    }
    let old = set.annotation(annotation::DEPLOYMENT_REVISION).map(str::to_owned);
    if deployment_revision(set) >= next {
        return;
    }
    set.annotations.insert(annotation::DEPLOYMENT_REVISION.to_owned(), next.to_string());
    if let Some(old) = old {
        let history = set.annotations.get_or_insert(annotation::DEPLOYMENT_REVISION_HISTORY, String::new);
        if !history.split(',').any(|known| known == old) {
            if !history.is_empty() {
                history.push(',');
            }
            history.push_str(&old);
        }
    }
}

/// Stores in a set's annotations the desired and the maximum number of replicas of its Deployment.
pub(crate) fn annotate_size(set: &mut ObjectMeta, desired: i32, max: i32) {
    set.annotations.insert(annotation::DEPLOYMENT_DESIRED_REPLICAS.to_owned(), desired.to_string());
    set.annotations.insert(annotation::DEPLOYMENT_MAX_REPLICAS.to_owned(), max.to_string());
}

/// Returns the old sets beyond the limit that can be deleted: lowest revision first, only those that are observed to be
/// scaled down.
pub(crate) fn surplus(old: &[ReplicaSet], limit: i32) -> Vec<&ReplicaSet> {
    let mut alive: Vec<&ReplicaSet> = old.iter().filter(|set| !set.metadata.is_being_deleted()).collect();
    let count = alive.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    alive.sort_by(|a, b| {
        deployment_revision(&a.metadata).cmp(&deployment_revision(&b.metadata)).then_with(|| by_creation(a, b))
    });
    alive.truncate(count);
    alive.retain(|set| {
        set.status.replicas == 0 && set.replicas() == 0 && set.metadata.generation <= set.status.observed_generation
    });
    alive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, revision: i64, replicas: i32) -> ReplicaSet {
        let mut set = ReplicaSet { metadata: ObjectMeta::named("n", name), ..ReplicaSet::default() };
        set.metadata.annotations.insert("deployment.kubernetes.io/revision".to_owned(), revision.to_string());
        set.spec.replicas = Some(replicas);
        set
    }

    #[test]
    fn each_new_template_and_rollback_is_a_revision() {
        let mut deployment = ObjectMeta::default();
        for key in [
            "kubernetes.io/change-cause",
            "kubectl.kubernetes.io/last-applied-configuration",
            "deployment.kubernetes.io/revision",
        ] {
            deployment.annotations.insert(key.to_owned(), "x".to_owned());
        }
        let mut new = ObjectMeta::default();
        assert_eq!(next_revision(&[]), 1);
        annotate_new(&deployment, &mut new, 1);
        let keys: Vec<&str> = new.annotations.keys().map(String::as_str).collect();
        assert_eq!(keys, ["deployment.kubernetes.io/revision", "kubernetes.io/change-cause"]);
        assert_eq!(deployment_revision(&new), 1);

        assert_eq!(next_revision(&[set("b", 2, 0), set("c", 3, 0)]), 4);
        annotate_new(&deployment, &mut new, 4);
        annotate_new(&deployment, &mut new, 4);
        assert_eq!(new.annotation("deployment.kubernetes.io/revision"), Some("4"));
        assert_eq!(new.annotation("deployment.kubernetes.io/revision-history"), Some("1"));
        annotate_new(&deployment, &mut new, 6);
        assert_eq!(new.annotation("deployment.kubernetes.io/revision-history"), Some("1,4"));
        annotate_new(&deployment, &mut new, 2);
        assert_eq!(new.annotation("deployment.kubernetes.io/revision"), Some("6"), "a revision never goes back");
    }

    #[test]
    fn history_keeps_old_sets_up_to_the_limit() {
        let old = [set("c", 3, 0), set("a", 1, 0), set("b", 2, 1)];
        let names = |limit| surplus(&old, limit).iter().map(|set| set.metadata.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(10), [""; 0]);
        assert_eq!(names(2), ["a"]);
        assert_eq!(names(1), ["a"], "one that has replicas stays");
        assert_eq!(names(0), ["a", "c"]);
    }
}
