// SPDX-License-Identifier: Apache-2.0
//! Steps from the deletion of a Machine until its object is removed: drain, VM, Node, finalizer. The description of the
//! last operation records the progress.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Action, Fault, Machine, Node, ONE_TERMINATING, Operation, Phase, ProviderError, Step, at, in_place, preservation,
};
use crate::rollout::WaitingOn;
use crate::rollout::drain::{Outcome, SHORT_RETRY};
use crate::rollout::timing::Parameter;

const GET_VM_STATUS: &str = "getting VM Status";
const INITIATE_DRAIN: &str = "Initiate node drain";
const DELETE_ATTACHMENTS: &str = "Delete Volume Attachments";
const INITIATE_VM_DELETION: &str = "Initiate VM deletion";
const INITIATE_NODE_DELETION: &str = "Initiate node object deletion";
const INITIATE_FINALIZER_REMOVAL: &str = "Initiate machine object finalizer removal";

/// Duration after which the pods of a lost Node are deleted without eviction.
const LOST: TimeDelta = TimeDelta::minutes(5);

/// Returns the operation that a MachineSet writes when it deletes a Machine.
pub fn deletion_requested() -> Operation {
    Operation::new("Delete", "Processing", "Deleting machine from cloud provider")
}

fn operation(description: impl Into<String>) -> Operation {
    Operation::new("Delete", "Processing", description)
}

/// Returns the next step of a Machine that is being deleted.
///
/// Source: `triggerDeletionFlow`. Unlike upstream there is no delay between two steps.
pub(super) fn delete(
    machine: &Machine,
    node: Option<&Node>,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    let description = machine.operation.description.as_str();
    let is_deletion = machine.operation.type_ == "Delete" && machine.phase == Phase::Terminating;
    if !is_deletion || description == deletion_requested().description {
        return Step::Act(vec![Action::SetStatus {
            phase: Phase::Terminating,
            operation: operation("Set machine status to termination. Now, getting VM Status"),
            timeout_active: false,
        }]);
    }
    if description.contains(GET_VM_STATUS) {
        let text = if node.is_none() && !machine.has_joined {
            format!("Skipping drain as nodeName is not a valid one for machine. {INITIATE_VM_DELETION}")
        } else {
            INITIATE_DRAIN.to_owned()
        };
        return Step::Act(vec![Action::SetOperation(operation(text))]);
    }
    if description.contains(INITIATE_DRAIN) {
        return match node {
            // A user may have cordoned the Node.
            Some(node) if !node.unschedulable || !node.is_terminating => {
                Step::Act(vec![Action::MarkTerminating, Action::Cordon])
            }
            _ => Step::Drain { forced: is_forced(machine, node, now) },
        };
    }
    if description.contains(DELETE_ATTACHMENTS) {
        let name = &machine.name;
        let text = match node {
            Some(_) => format!("Node Volumes for node: {name} are already detached. Moving to VM Deletion."),
            None => {
                format!("Skipping deleteNodeVolAttachments due to - node \"{name}\" not found. Moving to VM Deletion.")
            }
        };
        return Step::Act(vec![Action::SetOperation(operation(format!("{text} {INITIATE_VM_DELETION}")))]);
    }
    if description.contains(INITIATE_VM_DELETION) {
        return delete_vm(machine, duration, now);
    }
    if description.contains(INITIATE_NODE_DELETION) {
        let mut actions = vec![
            Action::SetOperation(operation(format!(
                "Deletion of Node Object \"{}\" is successful. {INITIATE_FINALIZER_REMOVAL}",
                machine.name
            ))),
            Action::RemoveFinalizer,
        ];
        if node.is_none() {
            return Step::Act(actions);
        }
        actions.insert(0, Action::DeleteNode);
        return at(machine.operation_since + duration(Parameter::NodeDelete), now, ONE_TERMINATING, actions);
    }
    Step::Act(vec![Action::RemoveFinalizer])
}

/// True if the description of a deletion's last operation names a step after the drain.
pub fn is_after_drain(description: &str) -> bool {
    [DELETE_ATTACHMENTS, INITIATE_VM_DELETION, INITIATE_NODE_DELETION, INITIATE_FINALIZER_REMOVAL]
        .iter()
        .any(|step| description.contains(step))
}

/// True if pods are deleted without eviction: the label is set, the drain time-out has passed, or the Node has been lost
/// for more than 5 minutes.
pub(super) fn is_forced(machine: &Machine, node: Option<&Node>, now: DateTime<Utc>) -> bool {
    let label = if machine.deleting.is_some() { machine.force_deletion } else { machine.force_drain };
    label
        || drain_end(machine).is_some_and(|end| now >= end)
        || node.and_then(|node| node.lost_since).is_some_and(|since| now - since > LOST)
}

/// Returns the instant at which the drain time-out forces a drain.
fn drain_end(machine: &Machine) -> Option<DateTime<Utc>> {
    let since_failure = (machine.phase == Phase::Failed).then_some(machine.phase_since);
    machine.deleting.or(since_failure).or(machine.selected).map(|since| since + machine.settings.drain_timeout)
}

/// Returns the step that follows an attempt to drain the Node. `forced`: mode of the attempt. `failed_since`: instant of
/// the last failed attempt.
pub fn after_drain(
    machine: &Machine,
    forced: bool,
    outcome: &Outcome,
    failed_since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Step {
    if machine.deleting.is_none() {
        return match machine.phase {
            Phase::Failed => preservation::after_drain(machine, forced, outcome, failed_since, now),
            _ => in_place::after_drain(machine, forced, outcome, failed_since, now),
        };
    }
    let done = |text: String| Step::Act(vec![Action::SetOperation(operation(text))]);
    match outcome {
        Outcome::Drained if forced => done(format!("Force Drain successful. {DELETE_ATTACHMENTS}")),
        Outcome::Drained => done(format!("Drain successful. {INITIATE_VM_DELETION}")),
        Outcome::Failed(error) if forced => done(format!(
            "Drain failed due to - {error}. However, since it's a force deletion shall continue deletion of VM. \
             {DELETE_ATTACHMENTS}"
        )),
        Outcome::Failed(error) => {
            let text = format!("Drain failed due to - {error}. Will retry in next sync. {INITIATE_DRAIN}");
            if machine.operation.description != text {
                return Step::Act(vec![Action::SetOperation(Operation::new("Delete", "Failed", text))]);
            }
            wait_for_drain(machine, forced, Some(failed_since.unwrap_or(now) + SHORT_RETRY), 0)
        }
        Outcome::Waiting { until, pods_left } => wait_for_drain(machine, forced, *until, *pods_left),
    }
}

/// Returns the wait for the drain, or for the instant at which it is forced.
pub(super) fn wait_for_drain(machine: &Machine, forced: bool, until: Option<DateTime<Utc>>, pods_left: u32) -> Step {
    let waiting_on = WaitingOn::Drain { node: machine.name.clone(), pods_left };
    let end = drain_end(machine).filter(|_| !forced);
    match until.into_iter().chain(end).min() {
        Some(until) => Step::Wait { until, waiting_on },
        None => Step::Rest,
    }
}

fn delete_vm(machine: &Machine, duration: impl Fn(Parameter) -> TimeDelta, now: DateTime<Utc>) -> Step {
    let wait = if machine.operation.state == "Failed" {
        if machine.operation.description.contains("Aborting operation") { TimeDelta::minutes(10) } else { SHORT_RETRY }
    } else if machine.has_vm {
        duration(Parameter::VmDelete)
    } else {
        TimeDelta::zero()
    };
    let due = machine.operation_since + wait;
    if let Some(ProviderError { code, message }) = machine.trouble.vm_delete_error.as_ref().filter(|_| machine.has_vm) {
        let error = format!("machine codes error: code = [{code}] message = [{message}]");
        let rest = match code.as_str() {
            "Unknown" | "DeadlineExceeded" | "Aborted" | "Unavailable" => "However, will re-try in the next resync.",
            _ => "Aborting operation.",
        };
        let text = format!("VM deletion failed due to - {error}. {rest} {INITIATE_VM_DELETION}");
        let failed = Action::SetOperation(Operation::new("Delete", "Failed", text));
        return at(due, now, ONE_TERMINATING, vec![Action::Hit(Fault::VmDeleteError), failed]);
    }
    let text = format!("VM deletion was successful. {INITIATE_NODE_DELETION}");
    at(due, now, ONE_TERMINATING, vec![Action::SetOperation(operation(text))])
}
