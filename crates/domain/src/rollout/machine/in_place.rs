// SPDX-License-Identifier: Apache-2.0
//! Steps of a Machine whose Node is updated in place: from the candidate label to the result, and back to Running.
//!
//! Source: `updateNodeConditionBasedOnLabel`, `inPlaceUpdate`, `drainNodeForInPlace`, `reconcileMachineHealth`.

use chrono::{DateTime, TimeDelta, Utc};

use super::creation::joined;
use super::deletion::{is_forced, wait_for_drain};
use super::{Action, Machine, Node, Operation, Phase, Step, at, go_duration};
use crate::rollout::WaitingOn;
use crate::rollout::drain::{self, SHORT_RETRY};
use crate::rollout::in_place::{Outcome, Reason};
use crate::rollout::timing::Parameter;

const INITIATE_DRAIN: &str = "Initiate node drain";

/// Returns the next step of an update for a Machine that runs; `None`: no step.
pub(super) fn prepare(machine: &Machine, node: Option<&Node>, now: DateTime<Utc>) -> Option<Step> {
    let node = node?;
    let update = &node.update;
    let step = match update.reason {
        None | Some(Reason::UpdateSuccessful) if update.candidate && update.outcome.is_none() => {
            Step::Act(vec![Action::SetUpdate(Reason::CandidateForUpdate)])
        }
        Some(Reason::CandidateForUpdate) if update.selected => {
            Step::Act(vec![Action::SetUpdate(Reason::SelectedForUpdate)])
        }
        Some(Reason::SelectedForUpdate) if !node.unschedulable => Step::Act(vec![Action::Cordon]),
        Some(Reason::SelectedForUpdate) => Step::Drain { forced: is_forced(machine, Some(node), now) },
        // The Node was written, and the Machine was not.
        Some(Reason::DrainSuccessful | Reason::ReadyForUpdate) => Step::Act(begin(machine)),
        _ => return None,
    };
    Some(step)
}

fn begin(machine: &Machine) -> Vec<Action> {
    let text = format!("Machine {} is undergoing an in-place update", machine.name);
    vec![
        Action::SetStatus {
            phase: Phase::InPlaceUpdating,
            operation: Operation::new("InPlaceUpdate", "Processing", text),
            timeout_active: true,
        },
        Action::SetUpdate(Reason::ReadyForUpdate),
    ]
}

/// Returns the step that follows an attempt to drain a selected Node. The drain is forced in the end, but never abandoned.
pub(super) fn after_drain(
    machine: &Machine,
    forced: bool,
    outcome: &drain::Outcome,
    failed_since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Step {
    match outcome {
        drain::Outcome::Drained => {
            let mut actions = vec![Action::SetUpdate(Reason::DrainSuccessful)];
            actions.extend(begin(machine));
            Step::Act(actions)
        }
        drain::Outcome::Failed(error) => {
            let text = format!("Drain failed due to - {error}. Will retry in next sync. {INITIATE_DRAIN}");
            if machine.operation.description != text {
                return Step::Act(vec![Action::SetOperation(Operation::new("DrainNode", "Processing", text))]);
            }
            wait_for_drain(machine, forced, Some(failed_since.unwrap_or(now) + SHORT_RETRY), 0)
        }
        drain::Outcome::Waiting { until, pods_left } => wait_for_drain(machine, forced, *until, *pods_left),
    }
}

/// Returns the step while the Node is being updated, or after the update failed: its result, or the time-out.
pub(super) fn finish(machine: &Machine, node: Option<&Node>, now: DateTime<Utc>) -> Step {
    let name = &machine.name;
    let failed = |text: String| Action::SetStatus {
        phase: Phase::InPlaceUpdateFailed,
        operation: Operation::new("InPlaceUpdate", "Failed", text),
        timeout_active: false,
    };
    let update = node.map(|node| &node.update);
    match update.and_then(|update| update.outcome) {
        Some(Outcome::Successful) => Step::Act(vec![
            Action::SetUpdate(Reason::UpdateSuccessful),
            Action::SetStatus {
                phase: Phase::InPlaceUpdateSuccessful,
                operation: Operation::new(
                    "InPlaceUpdate",
                    "Successful",
                    format!("Machine {name} successfully updated dependencies"),
                ),
                timeout_active: false,
            },
        ]),
        Some(Outcome::Failed) => {
            let reason = update.and_then(|update| update.reason);
            if machine.phase == Phase::InPlaceUpdateFailed && reason == Some(Reason::UpdateFailed) {
                return Step::Rest;
            }
            let failure = update.map(|update| update.failure.as_str()).unwrap_or_default();
            let text = format!("Machine {name} failed to update dependencies: {failure}");
            Step::Act(vec![Action::SetUpdate(Reason::UpdateFailed), failed(text)])
        }
        None if machine.phase == Phase::InPlaceUpdating => {
            let timeout = machine.settings.in_place_update_timeout;
            let text = format!("Machine {name} failed to in-place update in {} minutes.", go_duration(timeout));
            at(machine.phase_since + timeout, now, WaitingOn::InPlaceUpdate { node: name.clone() }, vec![failed(text)])
        }
        None => Step::Rest,
    }
}

/// Returns the step of a Machine whose Node was updated: Running once the Node is healthy.
pub(super) fn rejoin(machine: &Machine, node: Option<&Node>) -> Step {
    if !node.is_some_and(|node| node.is_healthy) {
        return Step::Rest;
    }
    Step::Act(vec![Action::SetStatus { phase: Phase::Running, operation: joined(machine), timeout_active: false }])
}

/// Returns the step that removes the taint for critical components of a Node that was updated and handed over.
pub(super) fn critical_components(
    machine: &Machine,
    node: &Node,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Option<Step> {
    let update = &node.update;
    if !node.critical_components_missing || update.reason != Some(Reason::UpdateSuccessful) || update.outcome.is_some()
    {
        return None;
    }
    if machine.trouble.critical_components_stuck {
        return None;
    }
    let until = update.since? + duration(Parameter::CriticalComponents);
    let waiting_on = WaitingOn::InPlaceUpdate { node: machine.name.clone() };
    Some(at(until, now, waiting_on, vec![Action::RemoveCriticalTaint]))
}
