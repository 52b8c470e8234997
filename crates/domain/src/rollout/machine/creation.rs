// SPDX-License-Identifier: Apache-2.0
//! Steps from a Machine's creation until it is Running or Failed.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Action, Fault, Machine, Node, ONE_MISSING, Operation, Phase, ProviderError, Step, at, earliest, go_duration,
};
use crate::rollout::timing::Parameter;

/// Returns the delay before a VM creation that failed with this code is retried.
fn retry(code: &str) -> TimeDelta {
    match code {
        "ResourceExhausted" => TimeDelta::minutes(10),
        "Unknown" | "DeadlineExceeded" | "Aborted" | "Unavailable" => TimeDelta::seconds(5),
        _ => TimeDelta::minutes(3),
    }
}

/// Source: `machineCreateErrorHandler`. Unlike upstream a repeated refusal is written again, so that the written time
/// determines the next attempt.
pub(super) fn create(machine: &Machine, duration: impl Fn(Parameter) -> TimeDelta, now: DateTime<Utc>) -> Step {
    let due = if machine.phase == Phase::CrashLoopBackOff {
        machine.operation_since + retry(&machine.error_code)
    } else {
        machine.created + duration(Parameter::VmCreate)
    };
    if let Some(ProviderError { code, message }) = &machine.trouble.create_error {
        let is_late = now - machine.created > machine.settings.creation_timeout;
        let text = format!("Cloud provider message - machine codes error: code = [{code}] message = [{message}]");
        let actions = vec![
            Action::Hit(Fault::CreateError),
            Action::SetStatus {
                phase: if is_late { Phase::Failed } else { Phase::CrashLoopBackOff },
                operation: Operation { code: code.clone(), ..Operation::new("Create", "Failed", text) },
                timeout_active: false,
            },
        ];
        return at(due, now, ONE_MISSING, actions);
    }
    let actions = vec![
        Action::CreateBootstrapToken,
        Action::RecordVm,
        Action::SetStatus {
            phase: Phase::Pending,
            operation: Operation::new("Create", "Processing", "Creating machine on cloud provider"),
            timeout_active: true,
        },
    ];
    at(due, now, ONE_MISSING, actions)
}

/// Returns the step while the VM boots, its Node registers, becomes Ready and receives its critical components; all
/// within the creation time-out.
pub(super) fn join(
    machine: &Machine,
    node: Option<&Node>,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    let stage = match node {
        // The kubelet registers only once, and the Node object was deleted.
        None if machine.has_joined => Step::Rest,
        None if machine.trouble.never_joins => once(machine, Fault::NeverJoins),
        None => at(machine.phase_since + duration(Parameter::Boot), now, ONE_MISSING, vec![Action::RegisterNode]),
        Some(node) => become_running(machine, node, duration, now),
    };
    let timeout = machine.settings.creation_timeout;
    let text = format!("Machine {} failed to join the cluster in {} minutes.", machine.name, go_duration(timeout));
    let failed = Action::SetStatus {
        phase: Phase::Failed,
        operation: Operation::new(&machine.operation.type_, "Failed", text),
        timeout_active: false,
    };
    earliest(stage, at(machine.phase_since + timeout, now, ONE_MISSING, vec![failed]))
}

/// Records a permanent fault once; after that only the time-out follows.
fn once(machine: &Machine, fault: Fault) -> Step {
    if machine.trouble.lasting.contains(&fault) { Step::Rest } else { Step::Act(vec![Action::Hit(fault)]) }
}

fn become_running(
    machine: &Machine,
    node: &Node,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    let Some(ready_since) = node.ready_since else {
        if machine.trouble.joins_not_ready {
            return once(machine, Fault::JoinsNotReady);
        }
        if machine.trouble.unhealthy {
            return Step::Rest;
        }
        return at(node.created + duration(Parameter::Join), now, ONE_MISSING, vec![Action::MarkNodeReady]);
    };
    if node.critical_components_missing && machine.trouble.critical_components_stuck {
        return once(machine, Fault::CriticalComponentsStuck);
    }
    if !node.is_healthy {
        return Step::Rest;
    }
    let mut actions = Vec::new();
    let mut wait = TimeDelta::zero();
    if node.critical_components_missing {
        actions.push(Action::RemoveCriticalTaint);
        wait = duration(Parameter::CriticalComponents);
    }
    actions.push(Action::SetStatus { phase: Phase::Running, operation: joined(machine), timeout_active: false });
    actions.push(Action::DeleteBootstrapToken);
    at(ready_since + wait, now, ONE_MISSING, actions)
}

/// Returns the operation of a Machine that became Running.
pub(super) fn joined(machine: &Machine) -> Operation {
    let name = &machine.name;
    if machine.operation.type_ == "Create" && machine.operation.state != "Successful" {
        Operation::new("Create", "Successful", format!("Machine {name} successfully joined the cluster"))
    } else {
        Operation::new("HealthCheck", "Successful", format!("Machine {name} successfully re-joined the cluster"))
    }
}
