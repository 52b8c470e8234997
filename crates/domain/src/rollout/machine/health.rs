// SPDX-License-Identifier: Apache-2.0
//! Health of a Machine that has run: transitions between Running, Unknown and Failed.

use api::kubernetes::core::NodeCondition;
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use super::creation::joined;
use super::{Action, Machine, Node, ONE_MISSING, Operation, Phase, Step, at, go_duration, in_place};
use crate::rollout::timing::Parameter;

/// Returns the step of a running Machine: it stays Running unless its Node is missing or unhealthy.
///
/// Source: `reconcileMachineHealth`.
pub(super) fn running(
    machine: &Machine,
    node: Option<&Node>,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    let name = &machine.name;
    let text = match node {
        Some(node) if node.is_healthy => {
            return in_place::critical_components(machine, node, duration, now).unwrap_or(Step::Rest);
        }
        None if !machine.has_joined => return Step::Rest,
        None => format!("Node object went missing. Machine {name} is unhealthy - changing MachinePhase to Unknown"),
        Some(_) => format!(
            "Machine {name} is unhealthy - changing MachinePhase to Unknown. Node conditions: {}",
            print_conditions(&machine.conditions)
        ),
    };
    Step::Act(vec![Action::SetStatus {
        phase: Phase::Unknown,
        operation: Operation::new("HealthCheck", "Processing", text),
        timeout_active: false,
    }])
}

/// Returns the step of a Machine in phase Unknown: it stays Unknown until its Node is healthy again, or until the health
/// time-out has passed and no other Machine of the MachineDeployment is being replaced.
pub(super) fn unknown(machine: &Machine, node: Option<&Node>, now: DateTime<Utc>) -> Step {
    if let Some(step) = recovery(machine, node) {
        return step;
    }
    if machine.settings.disable_health_timeout {
        return Step::Rest;
    }
    let timeout = machine.settings.health_timeout;
    let end = machine.phase_since + timeout;
    if now >= end && machine.others_are_replaced {
        return Step::Held;
    }
    let text = format!(
        "Machine {} health checks failing since last {} minutes. Updating machine phase to Failed. Node Conditions: {}",
        machine.name,
        go_duration(timeout),
        print_conditions(&machine.conditions)
    );
    let failed = Action::SetStatus {
        phase: Phase::Failed,
        operation: Operation::new("HealthCheck", "Failed", text),
        timeout_active: false,
    };
    at(end, now, ONE_MISSING, vec![failed])
}

/// Returns the step of a failed Machine: Running once its Node is healthy again. Only preserved Machines exist that long.
pub(super) fn failed(machine: &Machine, node: Option<&Node>) -> Step {
    recovery(machine, node).unwrap_or(Step::Rest)
}

/// Returns the step to Running if the Node is healthy.
fn recovery(machine: &Machine, node: Option<&Node>) -> Option<Step> {
    let running = Action::SetStatus { phase: Phase::Running, operation: joined(machine), timeout_active: false };
    node.is_some_and(|node| node.is_healthy).then(|| Step::Act(vec![running]))
}

/// True if a Node is healthy: it has conditions, Ready is not other than `True`, and none of the configured conditions is
/// other than `False`.
pub fn is_healthy(conditions: &[(&str, &str)], unhealthy_if: &[&str]) -> bool {
    !conditions.is_empty()
        && conditions.iter().all(|(type_, status)| match *type_ {
            crate::rollout::node::READY => *status == "True",
            other => !unhealthy_if.contains(&other) || *status == "False",
        })
}

/// Formats conditions as Go prints them with `%+v`.
fn print_conditions(conditions: &[NodeCondition]) -> String {
    let time = |time: Time| time.to_string().replace('T', " ").replace('Z', " +0000 UTC");
    let texts: Vec<String> = conditions
        .iter()
        .map(|condition| {
            format!(
                "{{Type:{} Status:{} LastHeartbeatTime:{} LastTransitionTime:{} Reason:{} Message:{}}}",
                condition.r#type,
                condition.status,
                time(condition.last_heartbeat_time),
                time(condition.last_transition_time),
                condition.reason,
                condition.message
            )
        })
        .collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_printed_as_go_prints_them() {
        let at = |text: &str| Time::from_instant(text.parse().expect("an instant"));
        let ready = NodeCondition {
            r#type: "Ready".to_owned(),
            status: "False".to_owned(),
            last_heartbeat_time: at("2023-07-28T09:07:27Z"),
            last_transition_time: Time::default(),
            reason: "KubeletNotReady".to_owned(),
            message: "ZT".to_owned(),
        };
        let expected = "{Type:Ready Status:False LastHeartbeatTime:2023-07-28 09:07:27 +0000 UTC \
                        LastTransitionTime:0001-01-01 00:00:00 +0000 UTC Reason:KubeletNotReady Message:ZT}";
        assert_eq!(print_conditions(std::slice::from_ref(&ready)), format!("[{expected}]"));
        assert_eq!(print_conditions(&[ready.clone(), ready]), format!("[{expected} {expected}]"));
        assert_eq!(print_conditions(&[]), "[]");
    }
}
