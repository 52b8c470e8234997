// SPDX-License-Identifier: Apache-2.0
//! Conversion of a check's finding to a condition: thresholds, masked failures, and times of changes.

use std::collections::BTreeMap;

use api::constants::{condition, operation_state, operation_type};
use api::core::{Condition, LastError, LastOperation};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

pub use crate::conditions::{initial, updated};

/// Returns the types of a Shoot's conditions in the order of `status.conditions`.
pub fn condition_types(is_workerless: bool) -> Vec<&'static str> {
    let mut types = vec![
        condition::API_SERVER_AVAILABLE,
        condition::CONTROL_PLANE_HEALTHY,
        condition::OBSERVABILITY_COMPONENTS_HEALTHY,
    ];
    if !is_workerless {
        types.push(condition::EVERY_NODE_READY);
    }
    types.push(condition::SYSTEM_COMPONENTS_HEALTHY);
    types
}

/// Finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `True` if the check passed, `False` if it failed, `Unknown` if it could not be made.
    pub status: &'static str,
    /// Reason in one word.
    pub reason: String,
    /// Message for users.
    pub message: String,
    /// Error codes.
    pub codes: Vec<String>,
}

impl Finding {
    /// Returns the finding of a check that passed.
    pub fn passed(reason: &str, message: &str) -> Self {
        Self { status: "True", reason: reason.to_owned(), message: message.to_owned(), codes: Vec::new() }
    }

    /// Returns the finding of a check that failed.
    pub fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self { status: "False", reason: reason.to_owned(), message: message.into(), codes: Vec::new() }
    }

    /// Returns the finding of a check that could not be made.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self { status: "Unknown", reason: "ConditionCheckError".to_owned(), message: message.into(), codes: Vec::new() }
    }

    /// Adds an error code.
    pub fn with_code(mut self, code: &str) -> Self {
        self.codes.push(code.to_owned());
        self
    }
}

/// A condition, and the instant of a change by time alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The condition.
    pub condition: Condition,
    /// Instant at which a threshold passes, if the failure is masked until then.
    pub changes_at: Option<DateTime<Utc>>,
}

/// Durations for which `Progressing` may mask a failure, by condition type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds(pub BTreeMap<String, TimeDelta>);

impl Default for Thresholds {
    /// Returns the thresholds of gardenlet's chart.
    fn default() -> Self {
        let minute = TimeDelta::minutes(1);
        Self(
            [
                (condition::API_SERVER_AVAILABLE, minute),
                (condition::CONTROL_PLANE_HEALTHY, minute),
                (condition::OBSERVABILITY_COMPONENTS_HEALTHY, minute),
                (condition::SYSTEM_COMPONENTS_HEALTHY, minute),
                (condition::EVERY_NODE_READY, TimeDelta::minutes(5)),
            ]
            .into_iter()
            .map(|(type_, threshold)| (type_.to_owned(), threshold))
            .collect(),
        )
    }
}

/// Returns the status of a failed check, and the instant at which time alone would change it.
pub(crate) fn failed_status(
    condition: &Condition,
    reason: &str,
    last_operation: Option<&LastOperation>,
    threshold: Option<TimeDelta>,
    now: Time,
) -> (&'static str, Option<DateTime<Utc>>) {
    let Some(threshold) = threshold else { return ("False", None) };
    let operation_ends = last_operation
        .filter(|operation| operation.state == operation_state::SUCCEEDED)
        .map(|operation| operation.last_update_time.0 + threshold)
        .filter(|end| now.0 <= *end);
    match condition.status.as_str() {
        "True" => ("Progressing", Some(now.0 + threshold)),
        "Progressing" => {
            let transition_ends = Some(condition.last_transition_time.0 + threshold).filter(|end| now.0 <= *end);
            match operation_ends.max(transition_ends) {
                Some(end) => ("Progressing", Some(end)),
                None => ("False", None),
            }
        }
        "False" if operation_ends.is_some() || condition.reason != reason => ("Progressing", Some(now.0 + threshold)),
        _ => ("False", None),
    }
}

/// True if a failure is masked: no operation has succeeded yet, or an operation without errors is running.
pub fn is_pardoned(last_operation: Option<&LastOperation>, last_errors: &[LastError]) -> bool {
    let Some(operation) = last_operation else { return true };
    let is_first_or_last = matches!(operation.r#type.as_str(), operation_type::CREATE | operation_type::DELETE);
    (is_first_or_last && operation.state != operation_state::SUCCEEDED)
        || (operation.state == operation_state::PROCESSING && last_errors.is_empty())
}

/// Returns the condition that follows from a finding.
pub fn judge(
    old: &Condition,
    finding: &Finding,
    last_operation: Option<&LastOperation>,
    last_errors: &[LastError],
    thresholds: &Thresholds,
    now: Time,
) -> Judged {
    let (mut status, mut changes_at) = if finding.status == "False" {
        failed_status(old, &finding.reason, last_operation, thresholds.0.get(&old.r#type).copied(), now)
    } else {
        (finding.status, None)
    };
    if status == "False" && is_pardoned(last_operation, last_errors) {
        (status, changes_at) = ("Progressing", None);
    }
    // A threshold has passed only *after* its instant, and times are in whole seconds.
    let changes_at = changes_at.map(|end| end + TimeDelta::seconds(1));
    Judged { condition: updated(old, status, &finding.reason, &finding.message, &finding.codes, now), changes_at }
}

/// Applies a successful operation to a condition, so that the next care pass checks it again: every status except `False`
/// becomes `Progressing`, and only `lastUpdateTime` changes in addition.
pub fn set_progressing(condition: &mut Condition, now: Time) {
    if condition.status != "False" {
        "Progressing".clone_into(&mut condition.status);
        condition.last_update_time = now;
    }
}

/// Returns the finding for every condition of a hibernated Shoot.
pub fn hibernated() -> Finding {
    Finding::passed("ConditionNotChecked", "Shoot cluster has been hibernated.")
}

/// Returns the finding for a control plane that cannot be checked: the Shoot is not created yet, is being deleted, or
/// does not run.
pub fn not_running(last_operation: Option<&LastOperation>) -> Finding {
    let message = match last_operation {
        None => "Shoot control plane has not been fully created yet.",
        Some(operation)
            if operation.r#type == operation_type::CREATE && operation.state != operation_state::SUCCEEDED =>
        {
            "Shoot control plane has not been fully created yet."
        }
        Some(operation) if operation.r#type == operation_type::DELETE => {
            "Shoot control plane has already been or is about to be deleted."
        }
        Some(_) => "Shoot control plane is not running at the moment.",
    };
    Finding::unknown(message)
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;
    use crate::last_operation::{self, OperationType};

    fn at(seconds: i64) -> Time {
        Time(Utc.with_ymd_and_hms(2023, 7, 28, 9, 0, 0).single().expect("valid instant") + TimeDelta::seconds(seconds))
    }

    fn operation(type_: OperationType, state: &str, updated_at: i64) -> LastOperation {
        last_operation::last_operation(type_, state, 50, "", at(updated_at))
    }

    /// Asserts the outcome for a present condition, its transition and the operation, and a finding: the resulting
    /// condition and the instant of its change.
    #[track_caller]
    fn check(
        status: &str,
        transition: i64,
        operation: Option<LastOperation>,
        finding: &Finding,
        expected: (&str, Option<i64>),
    ) {
        let mut old = initial("APIServerAvailable", at(transition));
        old.status = status.to_owned();
        old.reason = "APIServerDown".to_owned();
        let judged = judge(&old, finding, operation.as_ref(), &[], &Thresholds::default(), at(1000));
        let changes_at = judged.changes_at.map(|instant| (instant - at(0).0).num_seconds());
        assert_eq!((judged.condition.status.as_str(), changes_at), expected);
    }

    #[test]
    fn failures_are_masked_until_a_threshold_passes() {
        let down = Finding::failed("APIServerDown", "x");
        let idle = Some(operation(OperationType::Reconcile, "Succeeded", 0));
        check("True", 0, idle.clone(), &down, ("Progressing", Some(1061)));
        check("Progressing", 940, idle.clone(), &down, ("Progressing", Some(1001)));
        check("Progressing", 939, idle.clone(), &down, ("False", None));
        check("False", 0, idle.clone(), &down, ("False", None));
        check("False", 0, idle.clone(), &Finding::failed("Other", "x"), ("Progressing", Some(1061)));
        check("Unknown", 0, idle, &down, ("False", None));
        // An operation masks failures up to the threshold after its end, including that instant.
        for (updated, expected) in [(940, ("Progressing", Some(1061))), (939, ("False", None))] {
            let ended = Some(operation(OperationType::Reconcile, "Succeeded", updated));
            check("False", 0, ended, &down, expected);
        }
        let fresh = Some(operation(OperationType::Reconcile, "Succeeded", 990));
        check("Progressing", 0, fresh.clone(), &down, ("Progressing", Some(1051)));
        check("False", 0, fresh, &down, ("Progressing", Some(1061)));
    }

    #[test]
    fn failures_are_masked_during_creation_and_healthy_operations() {
        let down = Finding::failed("APIServerDown", "x");
        check("Unknown", 0, None, &down, ("Progressing", None));
        check("Unknown", 0, Some(operation(OperationType::Create, "Error", 0)), &down, ("Progressing", None));
        check("Unknown", 0, Some(operation(OperationType::Reconcile, "Processing", 0)), &down, ("Progressing", None));
        check("Unknown", 0, Some(operation(OperationType::Reconcile, "Error", 0)), &down, ("False", None));
        check("Unknown", 0, Some(operation(OperationType::Create, "Succeeded", 0)), &down, ("False", None));
    }

    #[test]
    fn a_passed_check_is_true_at_once() {
        let up = Finding::passed("HealthzRequestSucceeded", "x");
        check("Progressing", 0, Some(operation(OperationType::Reconcile, "Succeeded", 0)), &up, ("True", None));
    }

    #[test]
    fn times_change_only_with_their_fields() {
        let old = initial("EveryNodeReady", at(0));
        let same = updated(&old, "Unknown", &old.reason, &old.message, &[], at(5));
        assert_eq!(same, old);
        let turned = updated(&old, "True", &old.reason, &old.message, &[], at(5));
        assert_eq!((turned.last_transition_time, turned.last_update_time), (at(5), at(0)));
        let said = updated(&old, "Unknown", "EveryNodeReady", "All nodes are ready.", &[], at(5));
        assert_eq!((said.last_transition_time, said.last_update_time), (at(0), at(5)));
        assert_eq!(updated(&old, "True", "R", "", &[], at(5)).message, "No message given.");
        let mut progressing = turned;
        set_progressing(&mut progressing, at(9));
        assert_eq!((progressing.status.as_str(), progressing.last_update_time), ("Progressing", at(9)));
        assert_eq!(progressing.last_transition_time, at(5));
    }
}
