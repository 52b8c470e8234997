// SPDX-License-Identifier: Apache-2.0
//! Roll-out of worker pools that a user names: operation `rollout-workers=POOL,…` or `rollout-workers=*`, since v1.132.
//!
//! gardenlet sets an annotation with the instant of the operation on the template of every MachineDeployment of the pools.
//! No hash changes, but machine-controller-manager compares the annotations of templates, so it makes a new MachineSet.
//! The annotation stays; a later operation replaces its value and rolls the nodes again. Validation refuses in-place pools.
//! Source: pkg/gardenlet/controller/shoot/shoot/reconciler.go @ v1.132.0 and v1.149.0,
//! docs/usage/shoot-operations/worker_pool_manual_rollout.md @ v1.149.0.

use std::collections::BTreeSet;

use api::constants::operation;
use api::core::{PendingWorkersRollout, Shoot, ShootSpec, ShootStatus};
use api::machine::MachineDeployment;
use apimachinery::meta::Time;

use super::hash::go_time;
use crate::annotations;
use crate::release::{Release, Releases};

/// Key of the annotation on the template of a MachineDeployment.
pub const ANNOTATION: &str = operation::ROLLOUT_WORKERS;

/// Releases that roll no pool with a MachineDeployment for each of several zones.
const ONE_MACHINE_DEPLOYMENT: Releases = Releases::between(132, 135);

/// Names of the pools that an operation rolls; None: another operation.
fn pools_of<'a>(operation: &'a str, spec: &'a ShootSpec) -> Option<BTreeSet<&'a str>> {
    let names = operation.strip_prefix(operation::ROLLOUT_WORKERS)?;
    let names: BTreeSet<&str> = names.strip_prefix('=').unwrap_or(names).split(',').collect();
    if names.contains("*") {
        return Some(spec.provider.workers.iter().map(|worker| worker.name.as_str()).collect());
    }
    Some(names)
}

/// True if an operation rolls worker pools.
pub fn is_rollout(operation: &str) -> bool {
    operation.starts_with(operation::ROLLOUT_WORKERS)
}

/// Names of the pools that the operations of an annotation roll.
pub fn pools<'a>(operations: &'a str, spec: &'a ShootSpec) -> BTreeSet<&'a str> {
    annotations::operations(operations).into_iter().filter_map(|one| pools_of(one, spec)).flatten().collect()
}

/// Lists the pools of an operation as pending, at the start of a run. Unlike upstream, they are sorted.
pub(crate) fn begin(status: &mut ShootStatus, spec: &ShootSpec, operation: &str, now: Time) {
    let Some(pools) = pools_of(operation, spec) else { return };
    let pending =
        pools.into_iter().map(|pool| PendingWorkersRollout { name: pool.to_owned(), last_initiation_time: Some(now) });
    status.manual_worker_pool_rollout.get_or_insert_default().pending_workers_rollouts.extend(pending);
}

/// Clears the list of pending pools, at the success of a run.
pub(crate) fn succeed(status: &mut ShootStatus) {
    if let Some(rollout) = &mut status.manual_worker_pool_rollout {
        rollout.pending_workers_rollouts.clear();
    }
}

/// Pools whose roll-out a user has started and that no run has finished.
pub fn pending(status: &ShootStatus) -> &[PendingWorkersRollout] {
    status.manual_worker_pool_rollout.as_ref().map_or(&[], |rollout| &rollout.pending_workers_rollouts)
}

/// True if a step from one status to another starts a roll-out of a pool.
pub(crate) fn starts(old: &ShootStatus, new: &ShootStatus, pool: &str) -> bool {
    pending(new).iter().any(|rollout| rollout.name == pool && !pending(old).contains(rollout))
}

/// Value of the annotation for an instant: Go's rendering, in whole seconds.
///
/// Unlike upstream, which renders the fraction and the reading of the monotonic clock, too.
pub fn annotation_value(now: Time) -> String {
    go_time(now)
}

/// Reason why gardenlet cannot roll a pool with a number of MachineDeployments.
///
/// # Errors
/// The pool has no MachineDeployment, or several that the release does not roll.
pub fn check(pool: &str, namespace: &str, machine_deployments: usize, release: Release) -> Result<(), String> {
    let problem = match machine_deployments {
        0 => "no MachineDeployment",
        1 => return Ok(()),
        _ if ONE_MACHINE_DEPLOYMENT.contain(release) => "multiple MachineDeployments",
        _ => return Ok(()),
    };
    Err(format!("{problem} found for worker pool {pool} in namespace {namespace}"))
}

/// True if a MachineDeployment of a pool has the annotation of the pool's last pending roll-out, or needs none: a
/// copy of a MachineDeployment may be older than the Shoot with the roll-out in its status.
pub fn is_annotated(shoot: &Shoot, pool: &str, deployment: &MachineDeployment) -> bool {
    let last = pending(&shoot.status).iter().rfind(|rollout| rollout.name == pool);
    let Some(time) = last.and_then(|rollout| rollout.last_initiation_time) else { return true };
    let annotated = deployment.spec.template.metadata.annotation(ANNOTATION);
    annotated == Some(&annotation_value(time)) || deployment.metadata.creation_timestamp >= time
}

#[cfg(test)]
mod tests {
    use api::core::Worker;

    use super::*;

    fn at(text: &str) -> Time {
        Time(text.parse().expect("RFC 3339"))
    }

    fn spec(pools: &[&str]) -> ShootSpec {
        let mut spec = ShootSpec::default();
        spec.provider.workers =
            pools.iter().map(|name| Worker { name: (*name).to_owned(), ..Worker::default() }).collect();
        spec
    }

    #[test]
    fn operations_name_pools_or_all() {
        let spec = spec(&["b", "a"]);
        for (operations, expected) in [
            ("rollout-workers=a", "a"),
            ("rollout-workers=b,a", "a b"),
            ("rollout-workers=*", "a b"),
            ("rollout-workers=a;rotate-ssh-keypair", "a"),
            ("rotate-rollout-workers=a", ""),
            ("reconcile", ""),
            ("", ""),
        ] {
            let found: Vec<&str> = pools(operations, &spec).into_iter().collect();
            assert_eq!(found.join(" "), expected, "{operations}");
        }
    }

    #[test]
    fn pools_are_pending_until_a_run_succeeds() {
        let (first, second) = (at("2025-11-14T10:00:00Z"), at("2025-11-14T11:00:00Z"));
        let spec = spec(&["a", "b"]);
        let mut status = ShootStatus::default();
        begin(&mut status, &spec, "rollout-workers=*", first);
        let names = |status: &ShootStatus| {
            let listed =
                pending(status).iter().map(|rollout| format!("{}@{:?}", rollout.name, rollout.last_initiation_time));
            listed.collect::<Vec<_>>()
        };
        assert_eq!(names(&status), [format!("a@{:?}", Some(first)), format!("b@{:?}", Some(first))]);
        let old = status.clone();
        begin(&mut status, &spec, "rollout-workers=b", second);
        assert!(starts(&old, &status, "b") && !starts(&old, &status, "a"));
        succeed(&mut status);
        assert!(pending(&status).is_empty() && status.manual_worker_pool_rollout.is_some(), "the object stays, empty");
    }

    #[test]
    fn releases_before_135_roll_one_machine_deployment_only() {
        for (count, minor, expected) in [
            (1, 132, ""),
            (0, 132, "no MachineDeployment found for worker pool a in namespace ns"),
            (2, 132, "multiple MachineDeployments found for worker pool a in namespace ns"),
            (2, 134, "multiple MachineDeployments found for worker pool a in namespace ns"),
            (2, 135, ""),
            (0, 149, "no MachineDeployment found for worker pool a in namespace ns"),
        ] {
            let said = check("a", "ns", count, Release(minor)).err().unwrap_or_default();
            assert_eq!(said, expected, "{count} at v1.{minor}");
        }
    }

    #[test]
    fn stale_machine_deployments_lack_the_annotation() {
        let mut shoot = Shoot::default();
        let mut deployment = MachineDeployment::default();
        assert!(is_annotated(&shoot, "a", &deployment), "nothing is pending");
        let now = at("2025-11-14T10:00:00Z");
        begin(&mut shoot.status, &spec(&["a"]), "rollout-workers=a", now);
        assert!(!is_annotated(&shoot, "a", &deployment) && is_annotated(&shoot, "b", &deployment));
        let value = annotation_value(now);
        assert_eq!(value, "2025-11-14 10:00:00 +0000 UTC");
        deployment.spec.template.metadata.annotations.insert(ANNOTATION.to_owned(), value);
        assert!(is_annotated(&shoot, "a", &deployment));
        let mut younger = MachineDeployment::default();
        younger.metadata.creation_timestamp = now;
        assert!(is_annotated(&shoot, "a", &younger), "of a zone that the same change adds");
    }
}
