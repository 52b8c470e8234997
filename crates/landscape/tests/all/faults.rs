// SPDX-License-Identifier: Apache-2.0
//! Simulated faults and their effects: Shoots in state Error, Failed Shoots, and their retries.

use apimachinery::meta::TextMap;
use std::collections::BTreeMap;

use api::core::{LastOperation, Shoot};
use api::terrarium::{Fault, FaultShoot};
use apimachinery::meta::{DeleteOptions, ObjectMeta, Time};
use chrono::TimeDelta;
use controller::{Api, Patch};
use eventlog::EventLog as _;
use landscape::{Options, preset, wait};
use serde_json::json;

use crate::support::{Audited, evening, instant, is};

const TASK: &str = "Deploying Shoot infrastructure";
const FLOW: &str = "Flow \"Shoot cluster reconciliation\" encountered task errors: ";
const OPERATION: &str = "gardener.cloud/operation";
const MAINTENANCE_OPERATION: &str = "maintenance.gardener.cloud/operation";

fn shoots(audited: &Audited) -> Api<Shoot> {
    Api::namespaced(&audited.admin, "garden", preset::NAMESPACE)
}

fn faults(audited: &Audited) -> Api<Fault> {
    Api::all(&audited.admin, "runtime")
}

/// A landscape with a Shoot that has been created.
fn landscape() -> Audited {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    audited
}

/// Creates fault `f` of the Shoot; without `times` it hits every time.
#[track_caller]
fn inject(audited: &mut Audited, times: Option<i32>, settings: &[(&str, &str)]) {
    let mut fault = Fault { metadata: ObjectMeta::named("", "f"), ..Fault::default() };
    "task-fails".clone_into(&mut fault.spec.kind);
    fault.spec.shoot = Some(FaultShoot { namespace: preset::NAMESPACE.to_owned(), name: "local".to_owned() });
    (fault.spec.times, fault.spec.always) = (times, times.is_none());
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    fault.spec.settings = settings.collect();
    let api = faults(audited);
    audited.run(api.create(&fault)).expect("a valid fault");
}

#[track_caller]
fn clear(audited: &mut Audited) {
    let api = faults(audited);
    audited.run(api.delete("f", &DeleteOptions::default())).expect("it is there");
}

#[track_caller]
fn patch(audited: &mut Audited, patch: serde_json::Value) -> Shoot {
    let api = shoots(audited);
    audited.run(api.patch("local", &Patch::Merge(patch))).expect("the change is valid")
}

#[track_caller]
fn annotate(audited: &mut Audited, key: &str, value: Option<&str>) -> Shoot {
    patch(audited, json!({ "metadata": { "annotations": { key: value } } }))
}

#[track_caller]
fn until_state(audited: &mut Audited, limit: &str, state: &str) -> Shoot {
    let api = shoots(audited);
    audited.until_done(limit, wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", state)))
}

/// Returns the last operation at each change of its state.
fn states(audited: &Audited) -> Vec<LastOperation> {
    let log = audited.landscape.log();
    let entries = audited.landscape.run(log.read(eventlog::Revision(0), log.head(), None)).expect("no failure");
    let mut all: Vec<LastOperation> = Vec::new();
    for entry in entries.expect("retained") {
        if &*entry.key.resource != "core.gardener.cloud/shoots" {
            continue;
        }
        let shoot: Shoot = serde_json::from_slice(&entry.object.parts.concat()).expect("a Shoot");
        let Some(operation) = shoot.status.last_operation else { continue };
        if all.last().is_none_or(|last| (&last.r#type, &last.state) != (&operation.r#type, &operation.state)) {
            all.push(operation);
        }
    }
    all
}

fn operation(shoot: &Shoot) -> &LastOperation {
    shoot.status.last_operation.as_ref().expect("an operation")
}

/// An error without a code is retried with back-off; every failed try records the reason, and the first successful one
/// ends the series.
#[test]
fn a_task_that_fails_twice_is_tried_three_times() {
    let mut audited = landscape();
    inject(&mut audited, Some(2), &[("task", TASK), ("message", "no network")]);
    annotate(&mut audited, OPERATION, Some("reconcile"));
    let shoot = until_state(&mut audited, "2023-07-27T21:30:00Z", "Error");
    let error = operation(&shoot);
    assert_eq!(error.description, format!("{FLOW}[task \"{TASK}\" failed: no network] Operation will be retried."));
    assert!((1..100).contains(&error.progress), "what does not depend on the task goes on: {}", error.progress);
    assert_eq!(shoot.status.last_errors.len(), 1);
    let last = &shoot.status.last_errors[0];
    assert_eq!(last.description, format!("task \"{TASK}\" failed: no network"));
    assert_eq!((last.task_id.as_deref(), last.codes.as_slice()), (Some(TASK), &[][..]));
    assert_eq!(last.last_update_time, Some(error.last_update_time));
    assert!(shoot.status.retry_cycle_start_time.is_some());

    let api = shoots(&audited);
    let done = |shoot: &Shoot| is(shoot, "Reconcile", "Succeeded");
    let shoot = audited.until_done("2023-07-27T21:30:00Z", wait::for_object(&api, "local", done));
    assert!(shoot.status.last_errors.is_empty() && shoot.status.retry_cycle_start_time.is_none());
    let states = states(&audited);
    let tail: Vec<&str> = states.iter().rev().take(6).rev().map(|operation| operation.state.as_str()).collect();
    assert_eq!(tail, ["Processing", "Error", "Processing", "Error", "Processing", "Succeeded"]);
    let events = audited.events("local");
    let event = ("ReconcileError".to_owned(), format!("{FLOW}[task \"{TASK}\" failed: no network]"));
    assert!(events.contains(&event), "without the suffix: {events:?}");

    let api = faults(&audited);
    let fault = audited.run(api.get("f")).expect("it stays until it is cleared");
    assert_eq!((fault.status.times, fault.status.last_target.as_str()), (2, "Shoot garden-demo/local"));
}

/// Retried for twelve hours, then failed until a user requests another try.
#[test]
fn after_twelve_hours_of_errors_a_shoot_has_failed() {
    let mut audited = landscape();
    inject(&mut audited, None, &[("task", TASK)]);
    annotate(&mut audited, OPERATION, Some("reconcile"));
    let first = until_state(&mut audited, "2023-07-27T21:30:00Z", "Error");
    let begun = first.status.retry_cycle_start_time.expect("a retry cycle").0;
    let shoot = until_state(&mut audited, "2023-07-28T09:00:00Z", "Failed");
    let failed = operation(&shoot);
    assert_eq!(failed.description, format!("{FLOW}[task \"{TASK}\" failed: fault f]"));
    let took = failed.last_update_time.0 - begun;
    assert!(took >= TimeDelta::hours(12) && took < TimeDelta::minutes(12 * 60 + 17), "{took}");
    assert_eq!(shoot.status.retry_cycle_start_time, None);
    let tries = states(&audited).iter().filter(|operation| operation.state == "Error").count();
    assert!((50..70).contains(&tries), "5 ms, doubled each time, at most 1000 s: {tries}");
    let label = shoot.metadata.label("shoot.gardener.cloud/status");
    assert_eq!(label, Some("unhealthy"));
}

/// A Shoot fails at once with a code that is not retried. Then only a retry has an effect; operations for the
/// maintenance window remain pending, and a changed specification is tried.
#[test]
fn a_failed_shoot_waits_for_a_retry() {
    let mut audited = landscape();
    let before = audited.shoot("local").metadata.generation;
    assert_eq!(annotate(&mut audited, OPERATION, Some("retry")).metadata.generation, before, "it has not failed");
    let settings = [("task", TASK), ("code", "ERR_INFRA_QUOTA_EXCEEDED"), ("message", "no room")];
    inject(&mut audited, None, &settings);
    annotate(&mut audited, OPERATION, Some("reconcile"));
    let shoot = until_state(&mut audited, "2023-07-27T21:30:00Z", "Failed");
    assert_eq!(operation(&shoot).description, format!("{FLOW}[task \"{TASK}\" failed: no room]"));
    assert_eq!(shoot.status.last_errors[0].codes, ["ERR_INFRA_QUOTA_EXCEEDED"]);
    let generation = shoot.metadata.generation;
    assert_eq!(generation, before + 1);

    let shoot = annotate(&mut audited, OPERATION, Some("reconcile"));
    assert_eq!(shoot.metadata.generation, generation, "nothing but a retry counts");
    audited.until("2023-07-27T23:00:00Z");
    let shoot = annotate(&mut audited, OPERATION, None);
    assert_eq!((operation(&shoot).state.as_str(), shoot.metadata.generation), ("Failed", generation));

    // The first window forces a new Kubernetes version: the changed specification is tried, and fails again.
    annotate(&mut audited, MAINTENANCE_OPERATION, Some("reconcile"));
    audited.until("2023-07-28T10:00:00Z");
    let shoot = audited.shoot("local");
    assert_eq!((shoot.spec.kubernetes.version.as_str(), operation(&shoot).state.as_str()), ("1.27.1", "Failed"));
    let generation = shoot.metadata.generation;
    assert_eq!(shoot.status.observed_generation, generation);
    let last = operation(&shoot).last_update_time;

    // The second window has nothing to change: the operation is skipped and kept, the tasks are added.
    audited.until("2023-07-29T10:00:00Z");
    let shoot = audited.shoot("local");
    assert_eq!((shoot.metadata.generation, operation(&shoot).last_update_time), (generation, last));
    assert_eq!(shoot.metadata.annotation(MAINTENANCE_OPERATION), Some("reconcile"));
    assert_eq!(shoot.metadata.annotation(OPERATION), None);
    let tasks = shoot.metadata.annotation("shoot.gardener.cloud/tasks").unwrap_or_default();
    assert!(tasks.contains("deployInfrastructure"), "{tasks}");

    clear(&mut audited);
    let shoot = annotate(&mut audited, OPERATION, Some("retry"));
    assert_eq!((shoot.metadata.generation, shoot.metadata.annotation(OPERATION)), (generation + 1, None));
    let shoot = until_state(&mut audited, "2023-07-29T11:00:00Z", "Succeeded");
    assert_eq!(shoot.metadata.annotation(MAINTENANCE_OPERATION), Some("reconcile"));
    assert!(shoot.status.last_errors.is_empty());

    // The next window performs it.
    audited.until("2023-07-30T10:00:00Z");
    let shoot = audited.shoot("local");
    assert_eq!(shoot.metadata.annotation(MAINTENANCE_OPERATION), None);
    assert_eq!((shoot.metadata.generation, shoot.status.observed_generation), (generation + 2, generation + 2));
    assert_eq!(operation(&shoot).state, "Succeeded");
}

/// A confined change of a Failed Shoot causes a retry in the next window, where it is rolled out.
#[test]
fn confined_changes_of_a_failed_shoot_are_retried_in_windows() {
    let mut audited = landscape();
    // Maintenance must find nothing to change: its own change of a Failed Shoot would cause another retry.
    let old = audited.shoot("local");
    let mut new = old.clone();
    "1.27.1".clone_into(&mut new.spec.kubernetes.version);
    let image = new.spec.provider.workers[0].machine.image.as_mut().expect("it was defaulted");
    image.version = Some("1096.1.0".to_owned());
    let api = shoots(&audited);
    audited.run(api.update(&old, &new)).expect("the versions are offered");
    until_state(&mut audited, "2023-07-27T21:30:00Z", "Succeeded");
    patch(&mut audited, json!({ "spec": { "maintenance": { "confineSpecUpdateRollout": true } } }));
    inject(&mut audited, Some(1), &[("task", TASK), ("message", "InvalidParameter")]);
    annotate(&mut audited, OPERATION, Some("reconcile"));
    let failed = until_state(&mut audited, "2023-07-27T21:30:00Z", "Failed");
    assert_eq!(failed.status.last_errors[0].codes, ["ERR_CONFIGURATION_PROBLEM"]);
    let shoot = patch(&mut audited, json!({ "spec": { "purpose": "testing" } }));
    assert_eq!(shoot.metadata.generation, failed.metadata.generation);
    let needs_retry = "maintenance.shoot.gardener.cloud/needs-retry-operation";
    assert_eq!(shoot.metadata.annotation(needs_retry), Some("true"));
    audited.until("2023-07-28T08:59:59Z");
    assert!(is(&audited.shoot("local"), "Reconcile", "Failed"), "it waits for the window");
    audited.until("2023-07-28T10:30:00Z");
    let shoot = audited.shoot("local");
    assert_eq!(operation(&shoot).state, "Succeeded");
    assert_eq!(shoot.metadata.annotation(needs_retry), None);
    assert_eq!(shoot.status.observed_generation, shoot.metadata.generation);
}

/// gardener-controller-manager retries after a provider's rate limits, 10 to 15 minutes later.
#[test]
fn rate_limits_are_tried_again_by_themselves() {
    let mut audited = landscape();
    inject(&mut audited, Some(1), &[("task", TASK), ("message", "RequestLimitExceeded")]);
    annotate(&mut audited, OPERATION, Some("reconcile"));
    let shoot = until_state(&mut audited, "2023-07-27T21:30:00Z", "Failed");
    let failed = operation(&shoot).last_update_time.0;
    until_state(&mut audited, "2023-07-27T21:30:00Z", "Succeeded");
    let again = states(&audited).iter().rev().nth(1).expect("a try").last_update_time.0 - failed;
    assert!((TimeDelta::minutes(10)..=TimeDelta::minutes(15)).contains(&again), "{again}");
}

/// The deletion of a Failed Shoot begins; a failed deletion has its own message, and is retried.
#[test]
fn a_failed_shoot_can_be_deleted() {
    let mut audited = landscape();
    inject(&mut audited, Some(1), &[("task", TASK), ("code", "ERR_INFRA_DEPENDENCIES")]);
    annotate(&mut audited, OPERATION, Some("reconcile"));
    until_state(&mut audited, "2023-07-27T21:30:00Z", "Failed");
    clear(&mut audited);
    inject(&mut audited, Some(1), &[("task", "Destroying shoot infrastructure")]);
    annotate(&mut audited, "confirmation.gardener.cloud/deletion", Some("true"));
    let api = shoots(&audited);
    audited.run(api.delete("local", &DeleteOptions::default())).expect("it is confirmed");
    let failing = |shoot: &Shoot| is(shoot, "Delete", "Error");
    let shoot = audited.until_done("2023-07-27T22:00:00Z", wait::for_object(&api, "local", failing));
    let flow = "Flow \"Shoot cluster deletion\" encountered task errors: ";
    let task = "[task \"Destroying shoot infrastructure\" failed: fault f]";
    assert_eq!(operation(&shoot).description, format!("{flow}{task} Operation will be retried."));
    audited.until("2023-07-27T22:30:00Z");
    assert!(audited.run(api.get_opt("local")).expect("an answer").is_none(), "it is gone");
    let events: BTreeMap<_, _> = audited.events("local").into_iter().collect();
    assert_eq!(events.get("DeleteError"), Some(&format!("{flow}{task}")));
}

/// A fault of another Shoot, or an expired one, has no effect; an invalid one is rejected.
#[test]
fn a_fault_hits_only_its_shoot_and_must_be_valid() {
    let mut audited = landscape();
    let mut fault = Fault { metadata: ObjectMeta::named("", "other"), ..Fault::default() };
    "task-fails".clone_into(&mut fault.spec.kind);
    fault.spec.shoot = Some(FaultShoot { namespace: preset::NAMESPACE.to_owned(), name: "other".to_owned() });
    fault.spec.settings = TextMap::from([("task".to_owned(), TASK.to_owned())]);
    let mut late = fault.clone();
    (late.metadata.name, late.spec.shoot, late.spec.until) =
        ("late".to_owned(), None, Some(Time(instant("2023-07-27T20:30:00Z"))));
    let mut wrong = fault.clone();
    (wrong.metadata.name, wrong.spec.kind) = ("wrong".to_owned(), "task-fail".to_owned());
    let api = faults(&audited);
    let fault = audited.run(api.create(&fault)).expect("a valid fault");
    assert_eq!(fault.spec.times, Some(1), "it hits once");
    audited.run(api.create(&late)).expect("a valid fault");
    let error = audited.run(api.create(&wrong)).expect_err("no such kind").to_string();
    assert_eq!(
        error,
        "Fault.terrarium.dev \"wrong\" is invalid: spec.kind: Unsupported value: \"task-fail\": supported values: \
         \"task-fails\", \"component-crash\", \"component-partition\", \"seed-unreachable\", \"create-error\", \"never-joins\", \
         \"joins-not-ready\", \"critical-components-stuck\", \"node-unhealthy\", \"node-object-deleted\", \
         \"drain-blocked-by-pdb\", \"pod-termination-hangs\", \"vm-delete-error\", \"quota-exceeded\", \
         \"provider-outage\", \"os-update-fails\", \"kubelet-unhealthy-after-update\", \"node-agent-silent\", \
         \"in-place-duration\""
    );
    audited.until("2023-07-27T20:31:00Z");
    annotate(&mut audited, OPERATION, Some("reconcile"));
    let shoot = until_state(&mut audited, "2023-07-27T21:30:00Z", "Succeeded");
    assert_eq!(shoot.status.observed_generation, shoot.metadata.generation);
    assert!(states(&audited).iter().all(|operation| operation.state != "Error"));
}
