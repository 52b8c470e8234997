// SPDX-License-Identifier: Apache-2.0
//! Preservation of a Machine: the annotation that requests it, its expiry, and the events that end it earlier.
//!
//! The rules are those of [`domain::rollout::preservation`].

use api::constants::annotation;
use api::core::Worker;
use api::kubernetes::core::Node;
use api::machine::Machine;
use chrono::{DateTime, Utc};
use domain::rollout::machine::Phase;
use domain::rollout::preservation::{AUTO_PRESERVED, Cause, NOW, Preservation};

use crate::explain::lines::Line;
use crate::show;

/// Field of a worker pool: the maximum number of failed machines that are preserved without a user's request.
const MAXIMUM: &str = "autoPreserveFailedMachineMax";

/// Lines about the preservation of a Machine with its Node; none for a Machine without an expiry. `pool`: its worker pool
/// with its index in the Shoot.
pub(super) fn lines(
    machine: &Machine,
    node: Option<&Node>,
    pool: Option<(usize, &Worker)>,
    now: DateTime<Utc>,
) -> Vec<Line> {
    let preservation = Preservation::of(machine, node);
    let Some(expiry) = preservation.expiry else { return Vec::new() };
    let has_failed = Phase::of(&machine.status.current_status.phase) == Phase::Failed;
    let purpose = if has_failed { "instead of being deleted and replaced" } else { "from the cluster-autoscaler" };
    if expiry <= now {
        return vec![Line::of(format!(
            "preserved until {}: that is over; waits for machine-controller-manager, which releases it",
            show(expiry)
        ))];
    }
    let line = Line::of(format!("preserved until {} {purpose}: ", show(expiry)));
    let Some(cause) = preservation.cause() else {
        let text = match &preservation.node {
            Some(value) if preservation.is_unclear() => {
                format!(
                    "annotation {}={value} of the Node has no meaning, so nothing changes before",
                    annotation::NODE_PRESERVE
                )
            }
            _ => {
                "no annotation asks for it any more; waits for machine-controller-manager, which releases it".to_owned()
            }
        };
        return vec![line.text(text)];
    };
    let Cause { value, is_of_node } = cause;
    let owner = if is_of_node { "Node" } else { "Machine" };
    let mut line = line.text(format!("annotation {}={value} of the {owner}", annotation::NODE_PRESERVE));
    let is_automatic = value == AUTO_PRESERVED;
    let maximum = pool.and_then(|(index, pool)| {
        let maximum = pool.machine_controller_manager.as_ref()?.auto_preserve_failed_machine_max?;
        Some((format!("spec.provider.workers[{index}].machineControllerManager.{MAXIMUM}"), maximum))
    });
    if is_automatic {
        line = line.text(", set by machine-controller-manager");
        if let Some((path, maximum)) = maximum {
            line = line.text(" since ").field(&path, &path).text(format!(" is {maximum}"));
        }
    }
    let mut ends = vec!["at that time".to_owned()];
    // The MachineSet preserves a failed machine without the annotation again.
    ends.push(if is_automatic && has_failed {
        format!("when the annotation is false, or {MAXIMUM} is lowered")
    } else {
        "when the annotation is removed or false".to_owned()
    });
    if value != NOW && has_failed {
        ends.push("when the machine runs again".to_owned());
    }
    let then = if has_failed { "; released while it has failed, it is deleted and replaced" } else { "" };
    vec![line, Line::of(format!("it ends {}{then}", ends.join(", ")))]
}

#[cfg(test)]
mod tests {
    use apimachinery::Resource;
    use serde_json::json;

    use super::*;

    /// Annotations of Machine and Node (`-`: none), phase, expiry in hours from now; the lines, joined by ` | `.
    const LINES: &str = "
-              -           Failed  -  =>
when-failed    -           Failed  -  =>
when-failed    -           Failed  5  => preserved until 2025-06-01T17:00:00Z instead of being deleted and replaced: annotation K=when-failed of the Machine | it ends at that time, when the annotation is removed or false, when the machine runs again; released while it has failed, it is deleted and replaced
-              now         Failed  5  => preserved until 2025-06-01T17:00:00Z instead of being deleted and replaced: annotation K=now of the Node | it ends at that time, when the annotation is removed or false; released while it has failed, it is deleted and replaced
auto-preserved when-failed Failed  5  => preserved until 2025-06-01T17:00:00Z instead of being deleted and replaced: annotation K=when-failed of the Node | it ends at that time, when the annotation is removed or false, when the machine runs again; released while it has failed, it is deleted and replaced
auto-preserved -           Failed  5  => preserved until 2025-06-01T17:00:00Z instead of being deleted and replaced: annotation K=auto-preserved of the Machine, set by machine-controller-manager since spec.provider.workers[1].machineControllerManager.autoPreserveFailedMachineMax is 2 | it ends at that time, when the annotation is false, or autoPreserveFailedMachineMax is lowered, when the machine runs again; released while it has failed, it is deleted and replaced
now            -           Pending 5  => preserved until 2025-06-01T17:00:00Z from the cluster-autoscaler: annotation K=now of the Machine | it ends at that time, when the annotation is removed or false
now            false       Failed  5  => preserved until 2025-06-01T17:00:00Z instead of being deleted and replaced: no annotation asks for it any more; waits for machine-controller-manager, which releases it
now            keep        Failed  5  => preserved until 2025-06-01T17:00:00Z instead of being deleted and replaced: annotation K=keep of the Node has no meaning, so nothing changes before
now            -           Failed  0  => preserved until 2025-06-01T12:00:00Z: that is over; waits for machine-controller-manager, which releases it
now            -           Failed -1  => preserved until 2025-06-01T11:00:00Z: that is over; waits for machine-controller-manager, which releases it
";

    #[test]
    fn a_preserved_machine_has_a_cause_an_expiry_and_ends() {
        let now: DateTime<Utc> = "2025-06-01T12:00:00Z".parse().expect("an instant");
        let pool: Worker =
            serde_json::from_value(json!({ "name": "w", "machineControllerManager": { MAXIMUM: 2 } })).expect("a pool");
        for row in LINES.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let words: Vec<&str> = given.split_whitespace().collect();
            let annotations = |word: &str| match word {
                "-" => json!({}),
                value => json!({ annotation::NODE_PRESERVE: value }),
            };
            let mut status = json!({ "phase": words[2] });
            if words[3] != "-" {
                let hours = chrono::TimeDelta::hours(words[3].parse().expect("hours"));
                status["preserveExpiryTime"] = json!(show(now + hours));
            }
            let machine = json!({
                "metadata": { "name": "m", "annotations": annotations(words[0]) }, "status": { "currentStatus": status },
            });
            let node = json!({ "metadata": { "name": "m", "annotations": annotations(words[1]) } });
            let machine = Machine::read(machine.to_string().as_bytes()).expect("a Machine");
            let node = Node::read(node.to_string().as_bytes()).expect("a Node");
            let found = lines(&machine, Some(&node), Some((1, &pool)), now);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" | ").replace(annotation::NODE_PRESERVE, "K"), expected.trim(), "row: {row}");
        }
    }
}
