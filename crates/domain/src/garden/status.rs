// SPDX-License-Identifier: Apache-2.0
//! The status of a Garden: start and progress of operations, and the health of the garden.
//!
//! Source: pkg/operator/controller/garden/{garden/reconciler.go,care} @ v1.120.0.

use api::constants::{annotation, condition, operation_state, operation_type};
use api::core::{Condition, Gardener, LastOperation};
use api::operator::{Garden, GardenStatus};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use super::flow::{DELETION, Progress, RECONCILIATION};
use super::rollout::Rollout;
use super::rotation;
use crate::care::components::Workload;
use crate::care::conditions::{Finding, failed_status};
use crate::conditions;
use crate::last_operation;
use crate::release::NEWEST;
use crate::skew::GardenerVersion;

/// Duration for which a condition is `Progressing` before it fails; gardener-operator's chart has this for all of
/// them.
const THRESHOLD: TimeDelta = TimeDelta::minutes(1);
/// Maximum time that a task waits for a component.
pub const TASK_TIMEOUT: TimeDelta = TimeDelta::minutes(5);
/// Time between two reconciliations.
const SYNC_PERIOD: TimeDelta = TimeDelta::hours(1);

/// Returns true if a Garden is to be deleted.
fn is_deletion(garden: &Garden) -> bool {
    garden.metadata.is_being_deleted()
}

/// Name of the flow that a Garden is in.
pub fn flow_name(garden: &Garden) -> &'static str {
    if is_deletion(garden) { DELETION } else { RECONCILIATION }
}

/// Returns true if an operation begins: for a new generation, another process, a deletion, an operation annotation, or a
/// rotation that is completed at once.
pub fn begins(garden: &Garden, identity: &Gardener) -> bool {
    let status = &garden.status;
    let is_delete = status.last_operation.as_ref().is_some_and(|operation| operation.r#type == operation_type::DELETE);
    status.gardener.as_ref() != Some(identity)
        || status.observed_generation != garden.metadata.generation
        || status.last_operation.is_none()
        || is_delete != is_deletion(garden)
        || garden.metadata.annotation(annotation::OPERATION).is_some()
        || (is_over(garden) && !is_deletion(garden) && rotation::completes_itself(status))
}

/// Returns the time at which changes by hand are reverted: that of upstream's hourly reconciliation
/// (`controllers.garden.syncPeriod`), which is left out while there is nothing to repair.
pub fn repaired_at(garden: &Garden) -> Option<DateTime<Utc>> {
    let operation = garden.status.last_operation.as_ref()?;
    Some(operation.last_update_time.0 + SYNC_PERIOD)
}

/// Returns the status at the beginning of an operation: from now on an older operator does not start any more.
pub fn begun(garden: &Garden, identity: &Gardener, now: Time) -> GardenStatus {
    let mut status = garden.status.clone();
    let text = if is_deletion(garden) {
        "Deletion of Garden cluster in progress."
    } else {
        "Reconciliation of Garden cluster initialized."
    };
    status.last_operation = Some(operation(garden, operation_state::PROCESSING, 0, text, now));
    status.gardener = Some(identity.clone());
    status.observed_generation = garden.metadata.generation;
    let asked = garden.metadata.annotation(annotation::OPERATION).unwrap_or_default();
    let release = GardenerVersion::parse(&identity.version).map_or(NEWEST, |version| version.served_release());
    rotation::begin(&mut status, asked, rotation::is_always_whole(garden, release), now);
    let initial = condition_types().map(|type_| conditions::get_or_initial(&garden.status.conditions, type_, now));
    conditions::merge(&mut status.conditions, initial);
    status
}

/// Returns true if the present operation has succeeded.
pub fn is_over(garden: &Garden) -> bool {
    garden.status.last_operation.as_ref().is_some_and(|operation| operation.state == operation_state::SUCCEEDED)
}

/// Returns the status while tasks run, or after some have failed. An unchanged state is not written again.
pub fn in_progress(garden: &Garden, progress: &Progress, now: Time) -> GardenStatus {
    let mut status = garden.status.clone();
    let flow = flow_name(garden);
    let (state, text) = if progress.failures.is_empty() {
        (operation_state::PROCESSING, progress.description(flow))
    } else {
        let error = last_operation::flow_error(flow, &progress.failures);
        (operation_state::ERROR, format!("{error} Operation will be retried."))
    };
    let new = operation(garden, state, progress.percent, &text, now);
    let is_same = status.last_operation.as_ref().is_some_and(|old| {
        (&old.state, &old.description, old.progress) == (&new.state, &new.description, new.progress)
    });
    if !is_same {
        status.last_operation = Some(new);
    }
    status
}

/// Turns a roll-out that takes too long into a failed one. It stays failed until it is done, or until its operation
/// begins again: otherwise a clock that jumps to the next wait would never stop.
pub fn in_time(garden: &Garden, component: &str, rollout: Rollout, now: Time) -> Rollout {
    let Some(operation) = garden.status.last_operation.as_ref().filter(|_| rollout == Rollout::Progresses) else {
        return rollout;
    };
    let text = format!(
        "retry failed with context deadline exceeded, last error: Deployment \"garden/{component}\" is not rolled out"
    );
    let is_late = operation.last_update_time.0 + TASK_TIMEOUT <= now.0;
    let was_late = operation.state == operation_state::ERROR && operation.description.contains(&text);
    if is_late || was_late { Rollout::Failed(text) } else { rollout }
}

/// Returns the status after the last task.
pub fn succeeded(garden: &Garden, now: Time) -> GardenStatus {
    let mut status = garden.status.clone();
    let text = if is_deletion(garden) {
        "Garden cluster has been successfully deleted."
    } else {
        "Garden cluster has been successfully reconciled."
    };
    status.last_operation = Some(operation(garden, operation_state::SUCCEEDED, 100, text, now));
    rotation::succeed(&mut status, now);
    status
}

fn operation(garden: &Garden, state: &str, progress: i32, text: &str, now: Time) -> LastOperation {
    let type_ = if is_deletion(garden) { operation_type::DELETE } else { operation_type::RECONCILE };
    LastOperation {
        description: text.to_owned(),
        last_update_time: now,
        progress,
        state: state.to_owned(),
        r#type: type_.to_owned(),
    }
}

/// The conditions, in the order in which a new status lists them.
fn condition_types() -> [&'static str; 4] {
    [
        condition::VIRTUAL_GARDEN_API_SERVER_AVAILABLE,
        condition::RUNTIME_COMPONENTS_HEALTHY,
        condition::VIRTUAL_COMPONENTS_HEALTHY,
        condition::OBSERVABILITY_COMPONENTS_HEALTHY,
    ]
}

/// Returns the conditions of a Garden with a control plane in this state, and the next instant at which one of them
/// changes although the objects do not.
///
/// `required`: names of the Deployments of the control plane; `found`: the existing ones.
pub fn health(
    garden: &Garden,
    required: &[&str],
    found: &[Workload],
    now: Time,
) -> (Vec<Condition>, Option<DateTime<Utc>>) {
    let findings = [
        Finding::passed("HealthzRequestSucceeded", "API server /healthz endpoint responded with success status code."),
        Finding::passed("RuntimeComponentsRunning", "All runtime components are healthy."),
        control_plane(required, found),
        Finding::passed("ObservabilityComponentsRunning", "All observability components are healthy."),
    ];
    let mut changes_at = None;
    let last_operation = garden.status.last_operation.as_ref();
    let judged = condition_types().into_iter().zip(findings).map(|(type_, finding)| {
        let old = conditions::get_or_initial(&garden.status.conditions, type_, now);
        let (status, end) = if finding.status == "False" {
            failed_status(&old, &finding.reason, last_operation, Some(THRESHOLD), now)
        } else {
            (finding.status, None)
        };
        // A threshold has passed only behind its instant, and times have whole seconds.
        let end = end.map(|end| end + TimeDelta::seconds(1));
        changes_at = changes_at.into_iter().chain(end).min();
        conditions::updated(&old, status, &finding.reason, &finding.message, &finding.codes, now)
    });
    let judged = judged.collect();
    (judged, changes_at)
}

fn control_plane(required: &[&str], found: &[Workload]) -> Finding {
    let missing: Vec<&str> =
        required.iter().copied().filter(|name| !found.iter().any(|workload| workload.name == *name)).collect();
    if !missing.is_empty() {
        return Finding::failed("DeploymentMissing", format!("Missing required deployments: [{}]", missing.join(" ")));
    }
    match found.iter().find_map(|workload| Some((&workload.name, workload.problem()?))) {
        Some((name, problem)) => {
            Finding::failed("DeploymentUnhealthy", format!("Deployment \"garden/{name}\" is unhealthy: {problem}"))
        }
        None => Finding::passed("VirtualComponentsRunning", "All virtual garden components are healthy."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garden::flow;

    fn at(second: i64) -> Time {
        Time(DateTime::from_timestamp(1_690_488_000 + second, 0).expect("in range"))
    }

    fn identity(version: &str) -> Gardener {
        Gardener { id: "i".to_owned(), name: "n".to_owned(), version: version.to_owned() }
    }

    fn reconciled() -> Garden {
        let mut garden = Garden::default();
        garden.metadata.generation = 3;
        garden.status = begun(&garden, &identity("v1.120.0"), at(0));
        garden.status = succeeded(&garden, at(1));
        garden
    }

    #[test]
    fn an_operation_begins_with_the_stamp_of_the_operator() {
        let garden = Garden::default();
        assert!(begins(&garden, &identity("v1.120.0")));
        let status = begun(&garden, &identity("v1.120.0"), at(0));
        assert_eq!(status.gardener, Some(identity("v1.120.0")));
        let operation = status.last_operation.expect("it begins");
        let said = (operation.r#type.as_str(), operation.state.as_str(), operation.progress);
        assert_eq!(said, ("Reconcile", "Processing", 0));
        assert_eq!(operation.description, "Reconciliation of Garden cluster initialized.");
        let types: Vec<&str> = status.conditions.iter().map(|condition| condition.r#type.as_str()).collect();
        assert_eq!(
            types,
            [
                "VirtualGardenAPIServerAvailable",
                "RuntimeComponentsHealthy",
                "VirtualComponentsHealthy",
                "ObservabilityComponentsHealthy",
            ]
        );
    }

    /// Change since a success, and true if another operation begins for it.
    #[test]
    fn an_operation_begins_for_each_of_four_reasons() {
        let check = |change: &dyn Fn(&mut Garden), version: &str, expected: bool| {
            let mut garden = reconciled();
            change(&mut garden);
            assert_eq!(begins(&garden, &identity(version)), expected);
        };
        check(&|_| {}, "v1.120.0", false);
        check(&|_| {}, "v1.121.0", true);
        check(&|garden| garden.metadata.generation = 4, "v1.120.0", true);
        check(
            &|garden| {
                garden.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "reconcile".to_owned());
            },
            "v1.120.0",
            true,
        );
        check(&|garden| garden.metadata.deletion_timestamp = Some(at(2)), "v1.120.0", true);
        check(
            &|garden| {
                rotation::begin(&mut garden.status, "rotate-etcd-encryption-key", false, at(1));
                rotation::succeed(&mut garden.status, at(2));
            },
            "v1.120.0",
            true,
        );
    }

    #[test]
    fn unchanged_progress_is_not_reported_again() {
        let mut garden = reconciled();
        garden.status = begun(&garden, &identity("v1.121.0"), at(2));
        let failure = last_operation::TaskFailure::new("Deploying Gardener Scheduler", "no");
        let progress = flow::Progress { failures: vec![failure], percent: 80, ..flow::Progress::default() };
        garden.status = in_progress(&garden, &progress, at(3));
        let operation = garden.status.last_operation.clone().expect("it runs");
        assert_eq!(
            operation.description,
            "Flow \"Garden reconciliation\" encountered task errors: [task \"Deploying Gardener Scheduler\" failed: no] \
             Operation will be retried."
        );
        assert_eq!((operation.state.as_str(), operation.progress), ("Error", 80));
        assert_eq!(in_progress(&garden, &progress, at(9)), garden.status);
        assert!(!is_over(&garden));
    }

    #[test]
    fn a_roll_out_has_five_minutes_and_stays_failed_then() {
        let mut garden = reconciled();
        garden.status = begun(&garden, &identity("v1.121.0"), at(0));
        let judge =
            |garden: &Garden, second: i64| in_time(garden, "gardener-scheduler", Rollout::Progresses, at(second));
        assert_eq!(judge(&garden, 299), Rollout::Progresses);
        let Rollout::Failed(error) = judge(&garden, 300) else { panic!("it is late") };
        let failure = last_operation::TaskFailure::new("Deploying Gardener Scheduler", error);
        let progress = flow::Progress { failures: vec![failure], ..flow::Progress::default() };
        garden.status = in_progress(&garden, &progress, at(300));
        assert!(matches!(judge(&garden, 301), Rollout::Failed(_)));
        assert_eq!(in_time(&garden, "gardener-scheduler", Rollout::Done, at(302)), Rollout::Done);
        garden.status = begun(&garden, &identity("v1.121.0"), at(400));
        assert_eq!(judge(&garden, 401), Rollout::Progresses);
    }

    #[test]
    fn a_component_that_stops_shows_within_a_minute() {
        let mut garden = reconciled();
        let of = |available: i32| Workload {
            name: "gardener-scheduler".to_owned(),
            replicas: 1,
            updated_replicas: 1,
            available_replicas: available,
            ..Workload::default()
        };
        let judge = |garden: &Garden, found: &[Workload], second: i64| {
            let (conditions, changes_at) = health(garden, &["gardener-scheduler"], found, at(second));
            let condition = conditions::get(&conditions, "VirtualComponentsHealthy").expect("there").clone();
            let changes_at = changes_at.map(|instant| (instant - at(0).0).num_seconds());
            (conditions, condition.status, condition.reason, changes_at)
        };
        let (conditions, status, ..) = judge(&garden, &[of(1)], 5);
        assert_eq!(status, "True");
        garden.status.conditions = conditions;
        let (conditions, status, reason, changes_at) = judge(&garden, &[of(0)], 100);
        assert_eq!((status.as_str(), reason.as_str(), changes_at), ("Progressing", "DeploymentUnhealthy", Some(161)));
        garden.status.conditions = conditions;
        let (_, status, _, changes_at) = judge(&garden, &[of(0)], 161);
        assert_eq!((status.as_str(), changes_at), ("False", None));
        let (_, _, reason, _) = judge(&garden, &[], 161);
        assert_eq!(reason, "DeploymentMissing");
    }
}
