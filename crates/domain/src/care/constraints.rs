// SPDX-License-Identifier: Apache-2.0
//! Constraints of a Shoot: obstacles to hibernation and maintenance.

use api::constants::condition;
use api::core::{Condition, LastError, LastOperation};
use apimachinery::meta::Time;

use super::conditions::{Finding, initial, is_pardoned, updated};

/// The constraints that care writes, in their order.
const OWNED: [&str; 7] = [
    condition::HIBERNATION_POSSIBLE,
    condition::MAINTENANCE_PRECONDITIONS_SATISFIED,
    condition::CA_CERTIFICATE_VALIDITIES_ACCEPTABLE,
    condition::CRDS_WITH_PROBLEMATIC_CONVERSION_WEBHOOKS,
    condition::MANUAL_IN_PLACE_WORKERS_UPDATED,
    condition::PRESERVED_FAILED_MACHINES_ABSENT,
    condition::AUTOMATIC_CREDENTIALS_ROTATION_POSSIBLE,
];

/// Constraints about machines: a hibernated Shoot has no machines, and does not have these constraints.
const OF_MACHINES: [&str; 2] =
    [condition::MANUAL_IN_PLACE_WORKERS_UPDATED, condition::PRESERVED_FAILED_MACHINES_ABSENT];

/// True if a constraint exists only while it is violated.
fn is_shown_only_when_violated(type_: &str) -> bool {
    !matches!(type_, condition::HIBERNATION_POSSIBLE | condition::MAINTENANCE_PRECONDITIONS_SATISFIED)
}

/// Inputs of the constraints.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    /// True if the Shoot is hibernated according to spec or status.
    pub is_hibernated: bool,
    /// True if kube-apiserver is reachable.
    pub is_control_plane_running: bool,
    /// Pools with strategy `ManualInPlaceUpdate` that wait for an update, in spec order.
    pub pending_manual_pools: &'a [String],
    /// Number of failed machines that are preserved; `None` if the release does not have the constraint.
    pub preserved_failed_machines: Option<i32>,
    /// Finding of [`automatic_rotation`](super::automatic_rotation); `None` if the release does not have the constraint.
    pub automatic_rotation: Option<&'a Finding>,
    /// Value of `status.lastOperation`.
    pub last_operation: Option<&'a LastOperation>,
    /// Value of `status.lastErrors`.
    pub last_errors: &'a [LastError],
}

/// Returns the finding for a constraint; `None` if the release or the Shoot does not have it.
fn finding(type_: &str, inputs: &Inputs<'_>) -> Option<Finding> {
    if inputs.is_hibernated && OF_MACHINES.contains(&type_) {
        return None;
    }
    if type_ == condition::PRESERVED_FAILED_MACHINES_ABSENT {
        return inputs.preserved_failed_machines.map(preserved_failed_machines);
    }
    if type_ == condition::AUTOMATIC_CREDENTIALS_ROTATION_POSSIBLE {
        // Checked whether the Shoot is hibernated or not.
        return inputs.automatic_rotation.cloned();
    }
    Some(finding_of_every_release(type_, inputs))
}

/// Source: pkg/gardenlet/controller/shoot/care/constraints.go (`checkPreservation`) @ v1.147.0.
fn preserved_failed_machines(count: i32) -> Finding {
    if count > 0 {
        return Finding::failed("FailedMachinesPreserved", format!("Cluster has {count} preserved failed machine(s)."));
    }
    Finding::passed("NoFailedMachinesPreserved", "No failed machines are being preserved.")
}

fn finding_of_every_release(type_: &str, inputs: &Inputs<'_>) -> Finding {
    if inputs.is_hibernated {
        return Finding::passed("ConstraintNotChecked", "Shoot cluster has been hibernated.");
    }
    if type_ == condition::MANUAL_IN_PLACE_WORKERS_UPDATED {
        return if inputs.pending_manual_pools.is_empty() {
            Finding::passed(
                "NoWorkerPoolsWithManualInPlaceUpdateStrategyPending",
                "No worker pools with manual in-place update strategy are pending",
            )
        } else {
            Finding::failed(
                "WorkerPoolsWithManualInPlaceUpdateStrategyPending",
                format!(
                    "Some worker pools in your Shoot with update strategy ManualInPlaceUpdate are pending update: {}",
                    inputs.pending_manual_pools.join(", ")
                ),
            )
        };
    }
    if !inputs.is_control_plane_running {
        return Finding::failed("ConstraintNotChecked", "Shoot control plane is not running at the moment.");
    }
    match type_ {
        condition::CA_CERTIFICATE_VALIDITIES_ACCEPTABLE => {
            Finding::passed("NoExpiringCACertificates", "All CA certificates are still valid for at least 8760h0m0s.")
        }
        condition::CRDS_WITH_PROBLEMATIC_CONVERSION_WEBHOOKS => Finding::passed(
            "NoCRDsWithProblematicConversionWebhooks",
            "No CRDs have multiple stored versions present and a conversion webhook configured",
        ),
        _ => Finding::passed("NoProblematicWebhooks", "All webhooks are properly configured."),
    }
}

/// Returns the constraints that follow from `old` and the inputs: care's own first, in their order, then those written by
/// others.
pub fn judge(old: &[Condition], inputs: &Inputs<'_>, now: Time) -> Vec<Condition> {
    let mut constraints = Vec::new();
    for type_ in OWNED {
        let before = old.iter().find(|constraint| constraint.r#type == type_).cloned();
        let Some(finding) = finding(type_, inputs) else { continue };
        let is_shown = !is_shown_only_when_violated(type_)
            || finding.status != "True"
            || (inputs.is_hibernated && type_ != condition::AUTOMATIC_CREDENTIALS_ROTATION_POSSIBLE);
        if !is_shown {
            continue;
        }
        let mut status = finding.status;
        if status == "False" && is_pardoned(inputs.last_operation, inputs.last_errors) {
            status = "Progressing";
        }
        let before = before.unwrap_or_else(|| initial(type_, now));
        constraints.push(updated(&before, status, &finding.reason, &finding.message, &finding.codes, now));
    }
    constraints.extend(old.iter().filter(|constraint| !OWNED.contains(&constraint.r#type.as_str())).cloned());
    constraints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::last_operation::{OperationType, last_operation};

    fn types(constraints: &[Condition]) -> Vec<(&str, &str, &str)> {
        constraints
            .iter()
            .map(|constraint| (constraint.r#type.as_str(), constraint.status.as_str(), constraint.reason.as_str()))
            .collect()
    }

    #[test]
    fn a_healthy_shoot_shows_two_constraints() {
        let operation = last_operation(OperationType::Reconcile, "Succeeded", 100, "", Time::default());
        let inputs = Inputs { is_control_plane_running: true, last_operation: Some(&operation), ..Inputs::default() };
        assert_eq!(
            types(&judge(&[], &inputs, Time::default())),
            [
                ("HibernationPossible", "True", "NoProblematicWebhooks"),
                ("MaintenancePreconditionsSatisfied", "True", "NoProblematicWebhooks"),
            ]
        );
        let pending = ["b".to_owned(), "a".to_owned()];
        let inputs = Inputs { pending_manual_pools: &pending, ..inputs };
        let constraints = judge(&[], &inputs, Time::default());
        assert_eq!(
            constraints[2].message,
            "Some worker pools in your Shoot with update strategy ManualInPlaceUpdate are pending update: b, a"
        );
    }

    #[test]
    fn a_hibernated_shoot_shows_four_and_keeps_those_of_others() {
        let foreign = Condition { r#type: "ReadyForMigration".to_owned(), ..Condition::default() };
        let inputs = Inputs { is_hibernated: true, ..Inputs::default() };
        let constraints = judge(&[foreign], &inputs, Time::default());
        assert_eq!(constraints.len(), 5);
        assert!(constraints[..4].iter().all(|c| c.reason == "ConstraintNotChecked" && c.status == "True"));
        assert_eq!(constraints[4].r#type, "ReadyForMigration");
    }

    #[test]
    fn preserved_failed_machines_are_reported_while_awake() {
        for (is_hibernated, count, expected) in [
            (false, None, None),
            (false, Some(0), None),
            (false, Some(2), Some("False FailedMachinesPreserved Cluster has 2 preserved failed machine(s).")),
            (true, Some(2), None),
        ] {
            let operation = last_operation(OperationType::Reconcile, "Succeeded", 100, "", Time::default());
            let inputs = Inputs {
                is_hibernated,
                is_control_plane_running: true,
                last_operation: Some(&operation),
                preserved_failed_machines: count,
                ..Inputs::default()
            };
            let constraints = judge(&[], &inputs, Time::default());
            let found = constraints.iter().find(|one| one.r#type == "PreservedFailedMachinesAbsent");
            let text = found.map(|one| format!("{} {} {}", one.status, one.reason, one.message));
            assert_eq!(text.as_deref(), expected, "{is_hibernated} {count:?}");
        }
    }

    #[test]
    fn pools_that_wait_for_users_are_unreported_in_hibernation() {
        let pending = ["a".to_owned()];
        let inputs = Inputs { is_hibernated: true, pending_manual_pools: &pending, ..Inputs::default() };
        let constraints = judge(&[], &inputs, Time::default());
        assert!(constraints.iter().all(|one| one.r#type != "ManualInPlaceWorkersUpdated"), "{constraints:?}");
    }

    #[test]
    fn an_impossible_rotation_is_reported_awake_and_hibernated() {
        for is_hibernated in [false, true] {
            for (finding, is_shown) in [
                (None, false),
                (Some(Finding::passed("AutomaticCredentialsRotationPossible", "m")), false),
                (Some(Finding::failed("MaintenanceWindowDuringHibernation", "m")), true),
            ] {
                let operation = last_operation(OperationType::Reconcile, "Succeeded", 100, "", Time::default());
                let inputs = Inputs {
                    is_hibernated,
                    is_control_plane_running: true,
                    last_operation: Some(&operation),
                    automatic_rotation: finding.as_ref(),
                    ..Inputs::default()
                };
                let constraints = judge(&[], &inputs, Time::default());
                let found = constraints.iter().find(|one| one.r#type == "AutomaticCredentialsRotationPossible");
                assert_eq!(found.is_some(), is_shown, "{finding:?}");
                assert!(found.is_none_or(|one| one.status == "False"), "{found:?}");
            }
        }
    }
}
