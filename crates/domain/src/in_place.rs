// SPDX-License-Identifier: Apache-2.0
//! Pools that are updated in place, as `status.inPlaceUpdates` of a Shoot shows them.
//!
//! A pool is pending from the start of the run that changes its nodes until its Worker has reached the hash that the
//! Shoot requests. Until then the API server refuses further changes of it, rotations do not start, and one in
//! progress is not prepared.
//!
//! | strategy | pending ends |
//! | --- | --- |
//! | `AutoInPlaceUpdate` | with the run, when the Worker is ready: [`worker_is_ready`] |
//! | `ManualInPlaceUpdate` | when the Worker reports that it has reached the hash: [`leave`], which may be long after
//! the run |
//!
//! Source: pkg/gardenlet/operation/botanist/worker.go, pkg/gardenlet/controller/shoot/status/reconciler.go @ v1.120.0.

use api::constants::{annotation, operation};
use api::core::{InPlaceUpdatesStatus, Shoot, ShootStatus, Worker as Pool};
use api::extensions::Worker;

use crate::rotation::PREPARING;
use crate::worker_pool::{HashInputs, UpdateStrategy};

/// Returns `status.inPlaceUpdates` at the beginning of a run, if it changes: pools whose nodes the run will change
/// are pending, too.
///
/// `worker` is the Worker before the run; a pool that it does not have is pending until its nodes were created.
pub fn enter(shoot: &Shoot, worker: Option<&Worker>) -> Option<InPlaceUpdatesStatus> {
    let mut updates = shoot.status.in_place_updates.clone().unwrap_or_default();
    let pending = updates.pending_worker_updates.get_or_insert_default();
    let mut is_changed = false;
    for pool in &shoot.spec.provider.workers {
        let list = match UpdateStrategy::of(pool.update_strategy.as_deref()) {
            UpdateStrategy::AutoRollingUpdate => continue,
            UpdateStrategy::AutoInPlaceUpdate => &mut pending.auto_in_place_update,
            UpdateStrategy::ManualInPlaceUpdate => &mut pending.manual_in_place_update,
        };
        let is_known = worker.is_some_and(|worker| worker.spec.pools.iter().any(|known| known.name == pool.name));
        let is_done = is_known && has_reached(shoot, pool, worker);
        if !is_done && !list.contains(&pool.name) {
            list.push(pool.name.clone());
            is_changed = true;
        }
    }
    is_changed.then_some(updates)
}

/// Returns true if the Worker has reached the hash that the Shoot requests.
fn has_reached(shoot: &Shoot, pool: &Pool, worker: Option<&Worker>) -> bool {
    let hashes = worker.and_then(|worker| worker.status.in_place_updates.as_ref());
    let reached = hashes.and_then(|updates| updates.worker_pool_to_hash_map.get(&pool.name));
    reached == Some(&HashInputs::of_shoot(shoot, pool).in_place_pool_hash())
}

/// Removes pools with automatic updates from the status, since the Worker of the run is ready.
pub fn worker_is_ready(status: &mut ShootStatus) {
    let updates = status.in_place_updates.as_mut().and_then(|updates| updates.pending_worker_updates.as_mut());
    if let Some(pending) = updates {
        pending.auto_in_place_update.clear();
    }
    drop_empty(status);
}

/// Removes pools with manual updates whose Worker has reached their hash from the status.
///
/// Returns true if there were any.
pub fn leave(shoot: &mut Shoot, worker: &Worker) -> bool {
    let Some(pending) =
        shoot.status.in_place_updates.as_ref().and_then(|updates| updates.pending_worker_updates.as_ref())
    else {
        return false;
    };
    let waits = |name: &String| {
        let pool = shoot.spec.provider.workers.iter().find(|pool| {
            pool.name == *name
                && UpdateStrategy::of(pool.update_strategy.as_deref()) == UpdateStrategy::ManualInPlaceUpdate
        });
        pool.is_some_and(|pool| !has_reached(shoot, pool, Some(worker)))
    };
    // A Worker without hashes in its status has not been reconciled yet.
    if worker.status.in_place_updates.is_none() || pending.manual_in_place_update.iter().all(waits) {
        return false;
    }
    let left = pending.manual_in_place_update.iter().filter(|name| waits(name)).cloned().collect();
    let updates = shoot.status.in_place_updates.as_mut().and_then(|updates| updates.pending_worker_updates.as_mut());
    if let Some(pending) = updates {
        pending.manual_in_place_update = left;
    }
    drop_empty(&mut shoot.status);
    true
}

fn drop_empty(status: &mut ShootStatus) {
    let is_empty = status.in_place_updates.as_ref().is_some_and(|updates| {
        let pending = updates.pending_worker_updates.as_ref();
        pending.is_none_or(|one| one.auto_in_place_update.is_empty() && one.manual_in_place_update.is_empty())
    });
    if is_empty {
        status.in_place_updates = None;
    }
}

/// Treatment of the operation annotation after pools were removed from the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The annotation stays.
    Keep,
    /// The permission to force changes is not needed any more.
    Remove,
    /// A run is requested: it finds the rotation prepared.
    Reconcile,
}

/// Returns the fate of the operation annotation after [`leave`].
pub fn operation_after(shoot: &Shoot) -> Operation {
    let pending = shoot.status.in_place_updates.as_ref().and_then(|updates| updates.pending_worker_updates.as_ref());
    if pending.is_some_and(|pending| !pending.manual_in_place_update.is_empty()) {
        return Operation::Keep;
    }
    let rotation = shoot.status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref());
    let authorities = rotation.and_then(|rotation| rotation.certificate_authorities.as_ref());
    let key = rotation.and_then(|rotation| rotation.service_account_key.as_ref());
    if authorities.is_some_and(|one| one.phase == PREPARING) || key.is_some_and(|one| one.phase == PREPARING) {
        return Operation::Reconcile;
    }
    let is_forced = shoot.metadata.annotation(annotation::OPERATION) == Some(operation::FORCE_IN_PLACE_UPDATE);
    if pending.is_none() && is_forced { Operation::Remove } else { Operation::Keep }
}

#[cfg(test)]
mod tests {
    use api::core::{CARotation, PendingWorkerUpdates, ShootCredentials, ShootCredentialsRotation};
    use api::extensions::{InPlaceUpdatesWorkerStatus, WorkerPool};
    use apimachinery::meta::Time;

    use super::*;

    /// A Shoot with pools `auto` and `manual`, which are updated in place, and `rolling`.
    fn shoot(auto: &[&str], manual: &[&str]) -> Shoot {
        let mut shoot = Shoot::default();
        shoot.spec.kubernetes.version = "1.31.1".to_owned();
        let strategies =
            [("auto", "AutoInPlaceUpdate"), ("manual", "ManualInPlaceUpdate"), ("rolling", "AutoRollingUpdate")];
        shoot.spec.provider.workers = strategies
            .map(|(name, strategy)| Pool {
                name: name.to_owned(),
                update_strategy: Some(strategy.to_owned()),
                ..Pool::default()
            })
            .into();
        shoot.status.in_place_updates = pending(auto, manual);
        shoot
    }

    fn pending(auto: &[&str], manual: &[&str]) -> Option<InPlaceUpdatesStatus> {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let pending = PendingWorkerUpdates { auto_in_place_update: list(auto), manual_in_place_update: list(manual) };
        (!auto.is_empty() || !manual.is_empty())
            .then_some(InPlaceUpdatesStatus { pending_worker_updates: Some(pending) })
    }

    /// A Worker that has all pools, and has reached the hashes of these.
    fn worker(shoot: &Shoot, reached: &[&str]) -> Worker {
        let mut worker = Worker::default();
        let mut hashes = InPlaceUpdatesWorkerStatus::default();
        for pool in &shoot.spec.provider.workers {
            worker.spec.pools.push(WorkerPool { name: pool.name.clone(), ..WorkerPool::default() });
            let hash = HashInputs::of_shoot(shoot, pool).in_place_pool_hash();
            let hash = if reached.contains(&pool.name.as_str()) { hash } else { "old".to_owned() };
            hashes.worker_pool_to_hash_map.insert(pool.name.clone(), hash);
        }
        worker.status.in_place_updates = Some(hashes);
        worker
    }

    /// node-rollout 5.3: new and changed pools are pending from the start of the run on.
    #[test]
    fn a_run_begins_with_the_pools_that_it_changes() {
        let new = shoot(&[], &[]);
        assert_eq!(enter(&new, None), pending(&["auto"], &["manual"]), "a new Shoot");
        for (reached, before, after) in [
            (&["auto", "manual"][..], (&[][..], &[][..]), None),
            (&["auto"], (&[], &[]), pending(&[], &["manual"])),
            (&[], (&[], &[]), pending(&["auto"], &["manual"])),
            (&[], (&["auto"], &["manual"]), None),
            (&["manual"], (&[], &["manual"]), pending(&["auto"], &["manual"])),
        ] {
            let shoot = shoot(before.0, before.1);
            assert_eq!(enter(&shoot, Some(&worker(&shoot, reached))), after, "{reached:?} {before:?}");
        }
        // An old hash in the status is not the one of a pool that was removed and added again.
        let mut gone = worker(&new, &["auto", "manual"]);
        gone.spec.pools.retain(|pool| pool.name != "manual");
        assert_eq!(enter(&new, Some(&gone)), pending(&[], &["manual"]));
    }

    #[test]
    fn only_rotated_pools_are_pending() {
        let before = shoot(&[], &[]);
        let worker = worker(&before, &["auto", "manual"]);
        let mut scaled = before.clone();
        for pool in &mut scaled.spec.provider.workers {
            pool.maximum = 9;
            pool.labels.insert("a".to_owned(), "b".to_owned());
        }
        assert_eq!(enter(&scaled, Some(&worker)), None);
        let mut rotated = before.clone();
        let authorities = CARotation {
            phase: PREPARING.to_owned(),
            last_initiation_time: Some(Time("2025-06-01T00:00:00Z".parse().expect("a time"))),
            ..CARotation::default()
        };
        let rotation = ShootCredentialsRotation {
            certificate_authorities: Some(authorities),
            ..ShootCredentialsRotation::default()
        };
        rotated.status.credentials = Some(ShootCredentials { rotation: Some(rotation), ..ShootCredentials::default() });
        assert_eq!(enter(&rotated, Some(&worker)), pending(&["auto"], &["manual"]));
    }

    /// node-rollout 5.6.
    #[test]
    fn pools_leave_when_they_are_done() {
        let mut status = shoot(&["auto"], &["manual"]).status;
        worker_is_ready(&mut status);
        assert_eq!(status.in_place_updates, pending(&[], &["manual"]));
        let mut status = shoot(&["auto"], &[]).status;
        worker_is_ready(&mut status);
        assert_eq!(status.in_place_updates, None);

        for (before, reached, after) in [
            ((&[][..], &["manual"][..]), &["manual"][..], Some(pending(&[], &[]))),
            ((&["auto"], &["manual"]), &["auto", "manual"], Some(pending(&["auto"], &[]))),
            ((&[], &["manual"]), &[], None),
            ((&["auto"], &[]), &["auto", "manual"], None),
            ((&[], &[]), &["auto", "manual"], None),
            ((&[], &["manual", "gone"]), &[], Some(pending(&[], &["manual"]))),
        ] {
            let mut shoot = shoot(before.0, before.1);
            let worker = worker(&shoot, reached);
            let is_changed = leave(&mut shoot, &worker);
            assert_eq!(is_changed.then_some(shoot.status.in_place_updates), after, "{before:?} {reached:?}");
        }
        let mut early = shoot(&[], &["manual"]);
        assert!(!leave(&mut early, &Worker::default()), "the Worker was not reconciled yet");
    }

    #[test]
    fn work_that_waited_for_the_last_pool_continues() {
        let phase = |shoot: &mut Shoot, phase: &str| {
            let authorities = CARotation { phase: phase.to_owned(), ..CARotation::default() };
            let rotation = ShootCredentialsRotation {
                certificate_authorities: Some(authorities),
                ..ShootCredentialsRotation::default()
            };
            shoot.status.credentials =
                Some(ShootCredentials { rotation: Some(rotation), ..ShootCredentials::default() });
        };
        for (auto, manual, rotation, operation, expected) in [
            (&[][..], &[][..], "", "", Operation::Keep),
            (&[], &[], "", "force-in-place-update", Operation::Remove),
            (&["auto"], &[], "", "force-in-place-update", Operation::Keep),
            (&[], &["manual"], "", "force-in-place-update", Operation::Keep),
            (&[], &[], "", "rotate-ssh-keypair", Operation::Keep),
            (&[], &[], "Preparing", "", Operation::Reconcile),
            (&[], &[], "Preparing", "force-in-place-update", Operation::Reconcile),
            (&[], &["manual"], "Preparing", "", Operation::Keep),
            (&[], &[], "Prepared", "", Operation::Keep),
        ] {
            let mut shoot = shoot(auto, manual);
            phase(&mut shoot, rotation);
            if !operation.is_empty() {
                shoot.metadata.annotations.insert("gardener.cloud/operation".to_owned(), operation.to_owned());
            }
            assert_eq!(operation_after(&shoot), expected, "{auto:?} {manual:?} {rotation} {operation}");
        }
    }
}
