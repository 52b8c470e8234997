// SPDX-License-Identifier: Apache-2.0
//! State of a Shoot between two runs of maintenance: gardenlet reconciles it, schedules hibernate it and wake it up.

use api::constants::{annotation, operation, operation_state};
use api::core::{InPlaceUpdatesStatus, LastOperation, Shoot};
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};

use crate::hibernation::{self, LOOK_BACK, TRIGGER_DEADLINE};
use crate::last_operation::OperationType;
use crate::{maintenance, rotation};

/// Treats the manifest as the state at the beginning: schedules count from there, and so do credentials of a Shoot
/// that is not created yet.
pub(super) fn begin(shoot: &mut Shoot, from: DateTime<Utc>) {
    if shoot.metadata.creation_timestamp.is_zero() {
        shoot.metadata.creation_timestamp = Time::from_instant(from);
    }
    let seen = shoot.status.last_hibernation_trigger_time.map(|time| time.0);
    if has_schedules(shoot) && seen.is_none_or(|seen| seen < from) {
        shoot.status.last_hibernation_trigger_time = Some(Time::from_instant(from));
    }
}

/// Returns true if the Shoot has hibernation schedules.
fn has_schedules(shoot: &Shoot) -> bool {
    shoot.spec.hibernation.as_ref().is_some_and(|hibernation| !hibernation.schedules.is_empty())
}

/// Applies to a Shoot the work of gardenlet until its next window: its operation is done, its tasks are removed,
/// pools with automatic in-place updates are done, a rotation has advanced as far as it can. `by_hand`: pools that
/// wait for a selection of nodes by the user from now on.
pub(super) fn settle(shoot: &mut Shoot, by_hand: &[String], now: DateTime<Utc>) {
    let is_waiting =
        shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == operation_state::FAILED)
            && shoot.metadata.annotation(annotation::OPERATION) != Some(operation::RETRY);
    if is_waiting {
        return;
    }
    let mut asked = String::new();
    if !maintenance::is_requested(shoot) {
        asked = shoot.metadata.annotations.remove(annotation::OPERATION).unwrap_or_default();
    }
    shoot.metadata.annotations.remove(annotation::SHOOT_TASKS);
    let done = || LastOperation { r#type: OperationType::Reconcile.as_str().to_owned(), ..LastOperation::default() };
    operation_state::SUCCEEDED.clone_into(&mut shoot.status.last_operation.get_or_insert_with(done).state);
    settle_in_place(shoot, by_hand);
    let mut run = |asked: &str| {
        rotation::begin(&mut shoot.status, &shoot.spec, asked, Time::from_instant(now));
        rotation::succeed(&mut shoot.status, &shoot.spec, Time::from_instant(now));
        rotation::completes_itself(&shoot.status)
    };
    if run(&asked) {
        run("");
    }
}

fn settle_in_place(shoot: &mut Shoot, by_hand: &[String]) {
    if shoot.status.in_place_updates.is_none() && by_hand.is_empty() {
        return;
    }
    let updates = shoot.status.in_place_updates.get_or_insert_default();
    let pending = updates.pending_worker_updates.get_or_insert_default();
    pending.auto_in_place_update.clear();
    let new = by_hand.iter().filter(|pool| !pending.manual_in_place_update.contains(pool));
    pending.manual_in_place_update.extend(new.cloned().collect::<Vec<_>>());
    if pending.manual_in_place_update.is_empty() {
        *updates = InPlaceUpdatesStatus::default();
    }
}

/// Hibernates the Shoot or wakes it up as its schedules have requested since the last call. A switch that the API
/// server would refuse does not happen now; its controller tries again until the activation is too old.
pub(super) fn follow_schedules(shoot: &mut Shoot, now: DateTime<Utc>, is_taken: impl Fn(&Shoot, &Shoot) -> bool) {
    let Some(seen) = shoot.status.last_hibernation_trigger_time.filter(|_| has_schedules(shoot)) else { return };
    let version = shoot.status.gardener.version.clone();
    let mut at = now;
    while at > seen.0 {
        let Some(decision) = hibernation::decide(shoot, &version, LOOK_BACK, at) else { return };
        if let Some(switch) = decision.switch {
            let mut switched = shoot.clone();
            switched.spec.hibernation.get_or_insert_default().enabled = Some(switch.enabled());
            // The server refuses it if an operation waits for maintenance, or if it refuses every change.
            let waits = shoot.metadata.annotation(annotation::MAINTENANCE_OPERATION).is_some();
            if is_taken(if waits { &switched } else { shoot }, shoot) {
                switched.status.hibernated = switch.enabled();
                *shoot = switched;
            } else if hibernation::decide(shoot, &version, TRIGGER_DEADLINE, now)
                .is_some_and(|one| one.switch.is_some())
            {
                return;
            }
            break;
        }
        at -= LOOK_BACK;
    }
    shoot.status.last_hibernation_trigger_time = Some(Time::from_instant(now));
}
