// SPDX-License-Identifier: Apache-2.0
//! Contents of a Shoot's `status.lastOperation` and `status.lastErrors`: texts, progress, error codes, and final errors.
//!
//! Source: pkg/gardenlet/controller/shoot/shoot/{reconciler,reconciler_reconcile,reconciler_delete}.go,
//! pkg/utils/flow/{flow,progress}.go, pkg/apis/core/v1beta1/helper/errors.go @ v1.120.0.

use api::constants::{operation_state, operation_type};
use api::core::{LastError, LastOperation};
use apimachinery::meta::Time;
use chrono::TimeDelta;

use crate::error_codes;

/// Type of an operation of gardenlet on a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationType {
    /// All runs up to the first successful one.
    Create,
    /// All runs after the first successful one.
    Reconcile,
    /// A deletion timestamp is set.
    Delete,
    /// The control plane is removed from this seed.
    Migrate,
    /// The control plane is restored on this seed.
    Restore,
}

/// Task ID under which a failed initialisation is recorded.
pub const INITIALIZE_OPERATION: &str = "initializeOperation";

impl OperationType {
    /// Returns the value of `lastOperation.type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => operation_type::CREATE,
            Self::Reconcile => operation_type::RECONCILE,
            Self::Delete => operation_type::DELETE,
            Self::Migrate => operation_type::MIGRATE,
            Self::Restore => operation_type::RESTORE,
        }
    }

    /// Parses `lastOperation.type`.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Create, Self::Reconcile, Self::Delete, Self::Migrate, Self::Restore]
            .into_iter()
            .find(|operation| operation.as_str() == text)
    }

    /// Returns the description written at the start.
    pub const fn started(self) -> &'static str {
        match self {
            Self::Create | Self::Reconcile => "Reconciliation of Shoot cluster initialized.",
            Self::Restore => "Restoration of Shoot cluster initialized.",
            Self::Migrate => "Preparation of Shoot cluster for migration initialized.",
            Self::Delete => "Deletion of Shoot cluster in progress.",
        }
    }

    /// Returns the description of a success.
    pub const fn succeeded(self) -> &'static str {
        match self {
            Self::Create | Self::Reconcile => "Shoot cluster has been successfully reconciled.",
            Self::Restore => "Shoot cluster has been successfully restored.",
            Self::Migrate => "Shoot cluster has been successfully prepared for migration.",
            Self::Delete => "Shoot cluster has been successfully deleted.",
        }
    }

    /// Returns the name of the flow.
    pub const fn flow_name(self) -> &'static str {
        match self {
            Self::Create | Self::Reconcile => "Shoot cluster reconciliation",
            Self::Restore => "Shoot cluster restoration",
            Self::Migrate => "Shoot cluster preparation for migration",
            Self::Delete => "Shoot cluster deletion",
        }
    }

    /// Returns reason and message of the Event at the start.
    pub const fn start_event(self) -> (&'static str, &'static str) {
        match self {
            Self::Create | Self::Reconcile => ("Reconciling", "Reconciling Shoot cluster"),
            Self::Restore => ("Reconciling", "Restoring Shoot cluster"),
            Self::Migrate => ("PrepareMigration", "Preparing Shoot cluster for migration"),
            Self::Delete => ("Deleting", "Deleting Shoot cluster"),
        }
    }

    /// Returns reason and message of the Event after a success.
    pub const fn success_event(self) -> (&'static str, &'static str) {
        match self {
            Self::Create | Self::Reconcile => ("Reconciled", "Reconciled Shoot cluster"),
            Self::Restore => ("Reconciled", "Restored Shoot cluster"),
            Self::Migrate => ("MigrationPrepared", "Prepared Shoot cluster for migration"),
            Self::Delete => ("Deleted", "Deleted Shoot cluster"),
        }
    }

    /// Returns the reason of the warning Event after a failure; its message is the failure's description.
    pub const fn failure_reason(self) -> &'static str {
        match self {
            Self::Create | Self::Reconcile | Self::Restore => "ReconcileError",
            Self::Migrate => "MigrationPreparationFailed",
            Self::Delete => "DeleteError",
        }
    }
}

/// Returns `floor(100 × succeeded / total)`; 100 for a flow without tasks.
pub fn progress(succeeded: usize, total: usize) -> i32 {
    if total == 0 {
        return 100;
    }
    i32::try_from(100 * succeeded / total).unwrap_or(100)
}

/// Returns the description of a running flow: the names of the running tasks, sorted and joined, except at start and end.
pub fn progress_description<'a>(flow_name: &str, progress: i32, running: impl IntoIterator<Item = &'a str>) -> String {
    match progress {
        0 => format!("Starting {flow_name}"),
        100 => format!("{flow_name} finished"),
        _ => {
            let mut names: Vec<&str> = running.into_iter().collect();
            names.sort_unstable();
            names.join(", ")
        }
    }
}

/// A task that ended with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFailure {
    /// Name of the task, which is also its ID.
    pub task: String,
    /// Message of the error.
    pub message: String,
    /// Codes reported with the error or found in its text.
    pub codes: Vec<String>,
}

impl TaskFailure {
    /// Creates a failure without codes.
    pub fn new(task: &str, message: impl Into<String>) -> Self {
        Self { task: task.to_owned(), message: message.into(), codes: Vec::new() }
    }

    /// Creates a failure reported by the extension of a provider, with the codes found in its text.
    pub fn of_provider(provider: &str, task: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let codes = error_codes::of_text(provider, &message).into_iter().map(str::to_owned).collect();
        Self { task: task.to_owned(), message, codes }
    }

    /// Returns `task "NAME" failed: MESSAGE`.
    pub fn description(&self) -> String {
        format!("task \"{}\" failed: {}", self.task, self.message)
    }

    /// Converts the failure to an item of `status.lastErrors`.
    pub fn to_last_error(&self, now: Time) -> LastError {
        LastError {
            description: self.description(),
            task_id: Some(self.task.clone()),
            codes: self.codes.clone(),
            last_update_time: Some(now),
        }
    }
}

/// Returns the error of a flow, with its first letter in upper case as in the status.
pub fn flow_error(flow_name: &str, failures: &[TaskFailure]) -> String {
    let list: Vec<String> = failures.iter().map(TaskFailure::description).collect();
    format!("Flow \"{flow_name}\" encountered task errors: [{}]", list.join(", "))
}

/// Returns the description of a run that could not be initialized.
pub fn initialization_error(message: &str) -> String {
    format!("Could not initialize a new operation for Shoot cluster: {message}")
}

/// Result of a failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// [`operation_state::ERROR`] or [`operation_state::FAILED`].
    pub state: &'static str,
    /// Description, with ` Operation will be retried.` if it is.
    pub description: String,
    /// True if `retryCycleStartTime` is cleared.
    pub ends_retry_cycle: bool,
}

/// Decides whether a failed run is retried: not with a non-retryable code, and not once the retry cycle is
/// `retry_duration` old.
pub fn verdict<'a>(
    description: &str,
    codes: impl IntoIterator<Item = &'a str>,
    retry_cycle_start: Option<Time>,
    retry_duration: TimeDelta,
    now: Time,
) -> Verdict {
    let is_out_of_time = retry_cycle_start.is_some_and(|start| now.0 - start.0 >= retry_duration);
    if is_out_of_time || codes.into_iter().any(is_non_retryable) {
        return Verdict { state: operation_state::FAILED, description: description.to_owned(), ends_retry_cycle: true };
    }
    Verdict {
        state: operation_state::ERROR,
        description: format!("{description} Operation will be retried."),
        ends_retry_cycle: false,
    }
}

/// Codes after which gardenlet does not retry automatically.
const NON_RETRYABLE: [&str; 7] = [
    "ERR_INFRA_UNAUTHENTICATED",
    "ERR_INFRA_UNAUTHORIZED",
    "ERR_INFRA_QUOTA_EXCEEDED",
    "ERR_INFRA_RATE_LIMITS_EXCEEDED",
    "ERR_INFRA_DEPENDENCIES",
    "ERR_CONFIGURATION_PROBLEM",
    "ERR_PROBLEMATIC_WEBHOOK",
];

/// True if gardenlet does not retry after this code.
pub fn is_non_retryable(code: &str) -> bool {
    NON_RETRYABLE.contains(&code)
}

/// All codes, sorted.
pub const CODES: [&str; 11] = [
    "ERR_CLEANUP_CLUSTER_RESOURCES",
    "ERR_CONFIGURATION_PROBLEM",
    "ERR_INFRA_DEPENDENCIES",
    "ERR_INFRA_QUOTA_EXCEEDED",
    "ERR_INFRA_RATE_LIMITS_EXCEEDED",
    "ERR_INFRA_RESOURCES_DEPLETED",
    "ERR_INFRA_UNAUTHENTICATED",
    "ERR_INFRA_UNAUTHORIZED",
    "ERR_PROBLEMATIC_WEBHOOK",
    "ERR_RETRYABLE_CONFIGURATION_PROBLEM",
    "ERR_RETRYABLE_INFRA_DEPENDENCIES",
];

/// Creates a last operation.
pub fn last_operation(
    operation: OperationType,
    state: &str,
    progress: i32,
    description: impl Into<String>,
    now: Time,
) -> LastOperation {
    LastOperation {
        description: description.into(),
        last_update_time: now,
        progress,
        state: state.to_owned(),
        r#type: operation.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::{TimeZone as _, Utc};

    use super::*;

    fn at(hour: u32) -> Time {
        Time(Utc.with_ymd_and_hms(2023, 7, 28, hour, 0, 0).single().expect("valid instant"))
    }

    #[test]
    fn progress_is_rounded_down() {
        #[track_caller]
        fn check(succeeded: usize, total: usize, expected: i32) {
            assert_eq!(progress(succeeded, total), expected);
        }
        check(0, 90, 0);
        check(1, 101, 0);
        check(1, 90, 1);
        check(64, 90, 71);
        check(89, 90, 98);
        check(90, 90, 100);
        check(0, 0, 100);
    }

    #[test]
    fn description_names_running_tasks_sorted_except_at_either_end() {
        #[track_caller]
        fn check(percent: i32, running: &[&str], expected: &str) {
            let actual = progress_description("Shoot cluster reconciliation", percent, running.iter().copied());
            assert_eq!(actual, expected);
        }
        check(0, &["Deploying Shoot namespace in Seed"], "Starting Shoot cluster reconciliation");
        check(
            12,
            &["Waiting until main and event etcd report readiness", "Deploying referenced resources"],
            "Deploying referenced resources, Waiting until main and event etcd report readiness",
        );
        check(100, &[], "Shoot cluster reconciliation finished");
    }

    #[test]
    fn failed_tasks_are_listed_in_the_flow_error() {
        let failures = [TaskFailure::new("Deploying Shoot infrastructure", "no network"), TaskFailure::new("B", "c")];
        assert_eq!(
            flow_error(OperationType::Create.flow_name(), &failures),
            "Flow \"Shoot cluster reconciliation\" encountered task errors: \
             [task \"Deploying Shoot infrastructure\" failed: no network, task \"B\" failed: c]"
        );
    }

    #[test]
    fn errors_are_retried_until_a_code_or_twelve_hours() {
        #[track_caller]
        fn check(codes: &[&str], start: Option<Time>, state: &str, description: &str) {
            let verdict = verdict("Boom.", codes.iter().copied(), start, TimeDelta::hours(12), at(12));
            assert_eq!((verdict.state, verdict.description.as_str()), (state, description));
            assert_eq!(verdict.ends_retry_cycle, state == "Failed");
        }
        check(&[], None, "Error", "Boom. Operation will be retried.");
        check(&[], Some(at(1)), "Error", "Boom. Operation will be retried.");
        check(&[], Some(at(0)), "Failed", "Boom.");
        check(&["ERR_RETRYABLE_INFRA_DEPENDENCIES"], Some(at(11)), "Error", "Boom. Operation will be retried.");
        check(&["ERR_INFRA_QUOTA_EXCEEDED"], Some(at(11)), "Failed", "Boom.");
    }

    #[test]
    fn texts_are_those_of_upstream() {
        #[track_caller]
        fn check(operation: OperationType, started: &str, succeeded: &str, flow: &str) {
            assert_eq!((operation.started(), operation.succeeded(), operation.flow_name()), (started, succeeded, flow));
            assert_eq!(OperationType::parse(operation.as_str()), Some(operation));
        }
        for operation in [OperationType::Create, OperationType::Reconcile] {
            check(
                operation,
                "Reconciliation of Shoot cluster initialized.",
                "Shoot cluster has been successfully reconciled.",
                "Shoot cluster reconciliation",
            );
        }
        check(
            OperationType::Delete,
            "Deletion of Shoot cluster in progress.",
            "Shoot cluster has been successfully deleted.",
            "Shoot cluster deletion",
        );
        check(
            OperationType::Restore,
            "Restoration of Shoot cluster initialized.",
            "Shoot cluster has been successfully restored.",
            "Shoot cluster restoration",
        );
        check(
            OperationType::Migrate,
            "Preparation of Shoot cluster for migration initialized.",
            "Shoot cluster has been successfully prepared for migration.",
            "Shoot cluster preparation for migration",
        );
    }
}
