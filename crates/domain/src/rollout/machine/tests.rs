// SPDX-License-Identifier: Apache-2.0
//! Life cycles of Machines, step by step.

use super::*;
use crate::rollout::drain::Outcome;

fn machine(phase: Phase) -> Machine {
    let created = DateTime::UNIX_EPOCH;
    let has_joined = !matches!(phase, Phase::New | Phase::Pending | Phase::CrashLoopBackOff);
    Machine { phase, has_vm: phase != Phase::New, has_joined, ..Machine::new("m", created) }
}

fn seconds(at: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(at)
}

#[track_caller]
fn check(machine: &Machine, node: Option<Node>, now: i64, expected: &Step) {
    assert_eq!(&step(machine, node.as_ref(), Parameter::default_base, seconds(now)), expected);
}

fn act(machine: &Machine, node: Option<Node>, now: i64) -> Vec<Action> {
    match step(machine, node.as_ref(), Parameter::default_base, seconds(now)) {
        Step::Act(actions) => actions,
        other => panic!("{other:?} and no actions at {now}"),
    }
}

/// Asserts phase, and type, state and text of the operation.
#[track_caller]
fn becomes(actions: &[Action], expected: (Phase, &str, &str, &str)) {
    let found = actions.iter().find_map(|action| match action {
        Action::SetStatus { phase, operation, .. } => {
            Some((*phase, operation.type_.as_str(), operation.state.as_str(), operation.description.as_str()))
        }
        _ => None,
    });
    assert_eq!(found, Some(expected), "{actions:?}");
}

const NOT_READY: Node = Node {
    created: DateTime::UNIX_EPOCH,
    ready_since: None,
    is_healthy: false,
    lost_since: None,
    critical_components_missing: true,
    unschedulable: false,
    is_terminating: false,
    update: Update {
        candidate: false,
        selected: false,
        outcome: None,
        reason: None,
        since: None,
        failure: String::new(),
    },
};

fn ready(since: i64) -> Node {
    Node { ready_since: Some(seconds(since)), is_healthy: true, ..NOT_READY }
}

fn waits(until: i64, waiting_on: WaitingOn) -> Step {
    Step::Wait { until: seconds(until), waiting_on }
}

#[test]
fn a_machine_boots_joins_and_runs() {
    check(&machine(Phase::New), None, 29, &waits(30, ONE_MISSING));
    let created = act(&machine(Phase::New), None, 30);
    assert_eq!(created[..2], [Action::CreateBootstrapToken, Action::RecordVm]);
    check(&machine(Phase::Pending), None, 60, &Step::Act(vec![Action::RegisterNode]));
    check(&machine(Phase::Pending), Some(NOT_READY), 15, &Step::Act(vec![Action::MarkNodeReady]));
    check(&machine(Phase::Pending), Some(ready(10)), 24, &waits(25, ONE_MISSING));
    let mut pending = machine(Phase::Pending);
    pending.operation = Operation::new("Create", "Processing", "Creating machine on cloud provider");
    check(
        &pending,
        Some(ready(10)),
        25,
        &Step::Act(vec![
            Action::RemoveCriticalTaint,
            Action::SetStatus {
                phase: Phase::Running,
                operation: Operation::new("Create", "Successful", "Machine m successfully joined the cluster"),
                timeout_active: false,
            },
            Action::DeleteBootstrapToken,
        ]),
    );
    check(&machine(Phase::Running), Some(ready(10)), 99, &Step::Rest);
}

/// "create call fails: CrashLoopBackOff, retry interval by code, Failed after creationTimeout"
#[test]
fn a_machine_that_the_provider_refuses_is_tried_again() {
    let mut refused = machine(Phase::New);
    refused.trouble.create_error = Some(ProviderError { code: "ResourceExhausted".into(), message: "no quota".into() });
    let actions = act(&refused, None, 30);
    assert_eq!(actions[0], Action::Hit(Fault::CreateError));
    let text = "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no quota]";
    becomes(&actions, (Phase::CrashLoopBackOff, "Create", "Failed", text));
    for (code, retry) in [("ResourceExhausted", 600), ("Unavailable", 5), ("Unknown", 5), ("Internal", 180)] {
        let again = Machine {
            phase: Phase::CrashLoopBackOff,
            operation_since: seconds(30),
            error_code: code.into(),
            ..machine(Phase::New)
        };
        check(&again, None, 30, &waits(30 + retry, ONE_MISSING));
        assert_eq!(act(&again, None, 30 + retry)[1], Action::RecordVm);
    }
    becomes(&act(&refused, None, 1201), (Phase::Failed, "Create", "Failed", text));
}

/// "Pending > creationTimeout → Failed, lastOperation type kept"
#[test]
fn an_unjoined_machine_fails_at_the_creation_time_out() {
    let mut pending = machine(Phase::Pending);
    pending.operation.type_ = "Create".into();
    pending.trouble.never_joins = true;
    assert_eq!(act(&pending, None, 0), [Action::Hit(Fault::NeverJoins)]);
    pending.trouble.lasting = vec![Fault::NeverJoins];
    check(&pending, None, 0, &waits(1200, ONE_MISSING));
    let text = "Machine m failed to join the cluster in 20m0s minutes.";
    becomes(&act(&pending, None, 1200), (Phase::Failed, "Create", "Failed", text));

    let mut pending = machine(Phase::Pending);
    pending.trouble.joins_not_ready = true;
    pending.trouble.lasting = vec![Fault::JoinsNotReady];
    check(&pending, Some(NOT_READY), 15, &waits(1200, ONE_MISSING));

    let mut pending = machine(Phase::Pending);
    pending.trouble.critical_components_stuck = true;
    pending.trouble.lasting = vec![Fault::CriticalComponentsStuck];
    pending.settings.creation_timeout = TimeDelta::minutes(10);
    check(&pending, Some(ready(10)), 25, &waits(600, ONE_MISSING));
}

/// "Node missing, machine has conditions, phase Running → Unknown"; "Phase Unknown > healthTimeout → Failed unless
/// disableHealthTimeout is true"; "at most 1 machine per MD is in replacement".
#[test]
fn a_machine_with_an_unhealthy_node_becomes_unknown_then_failed() {
    let printed = "[{Type: Status: LastHeartbeatTime:0001-01-01 00:00:00 +0000 UTC \
                   LastTransitionTime:0001-01-01 00:00:00 +0000 UTC Reason: Message:}]";
    let running = Machine { conditions: vec![NodeCondition::default()], ..machine(Phase::Running) };
    let missing = "Node object went missing. Machine m is unhealthy - changing MachinePhase to Unknown";
    becomes(&act(&running, None, 5), (Phase::Unknown, "HealthCheck", "Processing", missing));
    let unwell = &format!("Machine m is unhealthy - changing MachinePhase to Unknown. Node conditions: {printed}");
    becomes(&act(&running, Some(NOT_READY), 5), (Phase::Unknown, "HealthCheck", "Processing", unwell));
    check(&Machine { has_joined: false, ..running.clone() }, None, 5, &Step::Rest);

    let unknown = Machine { phase: Phase::Unknown, ..running };
    let back = "Machine m successfully re-joined the cluster";
    becomes(&act(&unknown, Some(ready(9)), 9), (Phase::Running, "HealthCheck", "Successful", back));
    check(&unknown, None, 599, &waits(600, ONE_MISSING));
    let text = format!(
        "Machine m health checks failing since last 10m0s minutes. Updating machine phase to Failed. \
         Node Conditions: {printed}"
    );
    becomes(&act(&unknown, None, 600), (Phase::Failed, "HealthCheck", "Failed", &text));
    check(&Machine { others_are_replaced: true, ..unknown.clone() }, None, 600, &Step::Held);
    let mut patient = unknown;
    patient.settings.disable_health_timeout = true;
    check(&patient, None, 9999, &Step::Rest);
}

/// Simulates a deletion whose drain ends with the given outcome, and returns its steps.
fn delete(mut machine: Machine, mut node: Option<Node>, drain: &Outcome) -> Vec<String> {
    let (mut now, mut story) = (seconds(100), Vec::new());
    machine.deleting = Some(now);
    let mut failed = None;
    loop {
        let mut next = step(&machine, node.as_ref(), Parameter::default_base, now);
        if let Step::Drain { forced } = next {
            story.push(format!("drain{}", if forced { ", forced" } else { "" }));
            let outcome = if forced { &Outcome::Drained } else { drain };
            if failed.is_none_or(|failed| now >= failed + TimeDelta::seconds(5)) {
                failed = Some(now);
            }
            next = after_drain(&machine, forced, outcome, failed, now);
        }
        match next {
            Step::Rest | Step::Held | Step::Drain { .. } => panic!("a deletion does not rest: {story:?}"),
            Step::Wait { until, .. } => {
                story.push(format!("wait {}", (until - now).num_seconds()));
                now = until;
            }
            Step::Act(actions) => {
                for action in actions {
                    match action {
                        Action::SetStatus { operation, .. } | Action::SetOperation(operation) => {
                            machine.phase = Phase::Terminating;
                            machine.operation = operation;
                            machine.operation_since = now;
                            story.push(machine.operation.description.clone());
                        }
                        Action::MarkTerminating => {
                            node = node.map(|node| Node { is_terminating: true, ..node });
                        }
                        Action::Cordon => {
                            node = node.map(|node| Node { unschedulable: true, ..node });
                            story.push("cordon".into());
                        }
                        Action::DeleteNode => {
                            node = None;
                            story.push("delete node".into());
                        }
                        Action::Hit(Fault::VmDeleteError) => machine.trouble.vm_delete_error = None,
                        Action::RemoveFinalizer => return story,
                        other => panic!("no {other:?} in a deletion"),
                    }
                }
            }
        }
        assert!(story.len() < 4000, "it never ends: {:?}", &story[..20]);
    }
}

const END: [&str; 5] = [
    "wait 30",
    "VM deletion was successful. Initiate node object deletion",
    "wait 2",
    "delete node",
    "Deletion of Node Object \"m\" is successful. Initiate machine object finalizer removal",
];

/// A deletion has the documented descriptions, in order.
#[test]
fn a_machine_is_cordoned_drained_and_deleted() {
    let start = ["Set machine status to termination. Now, getting VM Status", "Initiate node drain", "cordon", "drain"];
    let story = delete(machine(Phase::Running), Some(ready(1)), &Outcome::Drained);
    assert_eq!(story[..4], start);
    assert_eq!(story[4], "Drain successful. Initiate VM deletion");
    assert_eq!(story[5..], END);
    let forced = Machine { force_deletion: true, ..machine(Phase::Running) };
    let story = delete(forced, Some(ready(1)), &Outcome::Drained);
    assert_eq!(
        story[3..6],
        [
            "drain, forced",
            "Force Drain successful. Delete Volume Attachments",
            "Node Volumes for node: m are already detached. Moving to VM Deletion. Initiate VM deletion",
        ]
    );
    let story = delete(machine(Phase::Pending), None, &Outcome::Drained);
    assert_eq!(
        story[1..3],
        ["Skipping drain as nodeName is not a valid one for machine. Initiate VM deletion", "wait 30"]
    );
}

/// "Drain failed …: state Failed, retried after 5 s"; "forced iff now − deletionTimestamp > drainTimeout".
#[test]
fn a_failed_drain_is_repeated_until_its_time_out() {
    let story = delete(machine(Phase::Running), Some(ready(1)), &Outcome::Failed("because".into()));
    let failed = "Drain failed due to - because. Will retry in next sync. Initiate node drain";
    assert_eq!(story[4..9], [failed, "drain", "wait 5", "drain", "wait 5"]);
    let forced = story.iter().position(|line| line == "drain, forced").expect("it is forced in the end");
    assert_eq!(story[..forced].iter().filter(|line| *line == "wait 5").count(), 7200 / 5);
    assert_eq!(story[forced + 1], "Force Drain successful. Delete Volume Attachments");
    // Pods of a Node that was lost long before are deleted without eviction.
    let lost = Node { lost_since: Some(seconds(-400)), ..NOT_READY };
    assert_eq!(delete(machine(Phase::Failed), Some(lost), &Outcome::Drained)[3], "drain, forced");
    let lost = Node { lost_since: Some(seconds(-200)), ..NOT_READY };
    assert_eq!(delete(machine(Phase::Failed), Some(lost), &Outcome::Drained)[3], "drain");
}

#[test]
fn a_failed_deletion_of_a_vm_is_retried() {
    for (code, text, wait) in [
        ("Unavailable", "However, will re-try in the next resync.", "wait 5"),
        ("Internal", "Aborting operation.", "wait 600"),
    ] {
        let mut stuck = machine(Phase::Running);
        stuck.trouble.vm_delete_error = Some(ProviderError { code: code.into(), message: "no".into() });
        let story = delete(stuck, Some(ready(1)), &Outcome::Drained);
        let failed = format!(
            "VM deletion failed due to - machine codes error: code = [{code}] message = [no]. {text} \
             Initiate VM deletion"
        );
        assert_eq!(story[5..8], ["wait 30".to_owned(), failed, wait.to_owned()]);
    }
}

#[test]
fn the_token_is_named_by_the_end_of_the_machine() {
    assert_eq!(bootstrap_token_id("shoot--p--s-w-z1-7kqzw-mlh5k"), "6d6c68");
    assert_eq!(bootstrap_token_id("a"), "61");
}

#[test]
fn health_tolerates_a_missing_ready_condition_and_no_unknown_one() {
    let unhealthy_if = ["KernelDeadlock", "DiskPressure"];
    assert!(is_healthy(&[("Ready", "True"), ("DiskPressure", "False")], &unhealthy_if));
    assert!(is_healthy(&[("DiskPressure", "False"), ("PIDPressure", "True")], &unhealthy_if));
    assert!(!is_healthy(&[("Ready", "Unknown")], &unhealthy_if));
    assert!(!is_healthy(&[("Ready", "True"), ("KernelDeadlock", "Unknown")], &unhealthy_if));
    assert!(!is_healthy(&[], &unhealthy_if));
}

fn updating(reason: Option<Reason>, change: impl FnOnce(&mut Update)) -> Node {
    let mut node = ready(0);
    node.critical_components_missing = false;
    (node.update.reason, node.update.since) = (reason, Some(seconds(0)));
    change(&mut node.update);
    node
}

/// node-rollout 5.5, rows 2 to 6: two steps for a Node that is selected before it is a candidate.
#[test]
fn a_node_becomes_a_candidate_then_selected_then_is_drained() {
    let running = machine(Phase::Running);
    let labelled = |reason| updating(reason, |update| (update.candidate, update.selected) = (true, true));
    let set = |reason| Step::Act(vec![Action::SetUpdate(reason)]);
    check(&running, Some(labelled(None)), 0, &set(Reason::CandidateForUpdate));
    check(&running, Some(labelled(Some(Reason::UpdateSuccessful))), 0, &set(Reason::CandidateForUpdate));
    check(&running, Some(labelled(Some(Reason::CandidateForUpdate))), 0, &set(Reason::SelectedForUpdate));
    let selected = labelled(Some(Reason::SelectedForUpdate));
    check(&running, Some(selected.clone()), 0, &Step::Act(vec![Action::Cordon]));
    let cordoned = Node { unschedulable: true, ..selected };
    check(&running, Some(cordoned.clone()), 0, &Step::Drain { forced: false });
    let forced = Machine { force_drain: true, ..machine(Phase::Running) };
    check(&forced, Some(cordoned.clone()), 0, &Step::Drain { forced: true });
    let long = Machine { selected: Some(seconds(0)), ..machine(Phase::Running) };
    check(&long, Some(cordoned.clone()), 2 * 3600 - 1, &Step::Drain { forced: false });
    check(&long, Some(cordoned), 2 * 3600, &Step::Drain { forced: true });
    let waits = updating(Some(Reason::CandidateForUpdate), |update| update.candidate = true);
    check(&running, Some(waits), 0, &Step::Rest);
    let nothing = updating(None, |update| update.selected = true);
    check(&running, Some(nothing), 0, &Step::Rest);
}

#[test]
fn a_drained_node_is_ready_for_its_update() {
    let Step::Act(actions) = after_drain(&machine(Phase::Running), false, &Outcome::Drained, None, seconds(0)) else {
        panic!("it goes on")
    };
    assert_eq!(actions[0], Action::SetUpdate(Reason::DrainSuccessful));
    assert_eq!(actions[2], Action::SetUpdate(Reason::ReadyForUpdate));
    becomes(
        &actions,
        (Phase::InPlaceUpdating, "InPlaceUpdate", "Processing", "Machine m is undergoing an in-place update"),
    );
    let failed = Outcome::Failed("no".into());
    let Step::Act(actions) = after_drain(&machine(Phase::Running), true, &failed, None, seconds(0)) else {
        panic!("it says so")
    };
    let text = "Drain failed due to - no. Will retry in next sync. Initiate node drain";
    assert_eq!(actions, [Action::SetOperation(Operation::new("DrainNode", "Processing", text))]);
}

#[test]
fn a_result_ends_an_update_at_any_time() {
    let done = |outcome, failure: &str| {
        let failure = failure.to_owned();
        updating(Some(Reason::ReadyForUpdate), |update| (update.outcome, update.failure) = (Some(outcome), failure))
    };
    use crate::rollout::in_place::Outcome as Result;
    for phase in [Phase::InPlaceUpdating, Phase::InPlaceUpdateFailed] {
        let actions = act(&machine(phase), Some(done(Result::Successful, "")), 5000);
        assert_eq!(actions[0], Action::SetUpdate(Reason::UpdateSuccessful));
        let text = "Machine m successfully updated dependencies";
        becomes(&actions, (Phase::InPlaceUpdateSuccessful, "InPlaceUpdate", "Successful", text));
        let actions = act(&machine(phase), Some(done(Result::Failed, "no room")), 5000);
        assert_eq!(actions[0], Action::SetUpdate(Reason::UpdateFailed));
        let text = "Machine m failed to update dependencies: no room";
        becomes(&actions, (Phase::InPlaceUpdateFailed, "InPlaceUpdate", "Failed", text));
    }
    let told = updating(Some(Reason::UpdateFailed), |update| update.outcome = Some(Result::Failed));
    check(&machine(Phase::InPlaceUpdateFailed), Some(told), 5000, &Step::Rest);
    let silent = updating(Some(Reason::ReadyForUpdate), |_| ());
    let actions = act(&machine(Phase::InPlaceUpdating), Some(silent), 1200);
    let text = "Machine m failed to in-place update in 20m0s minutes.";
    becomes(&actions, (Phase::InPlaceUpdateFailed, "InPlaceUpdate", "Failed", text));
    let actions = act(&machine(Phase::InPlaceUpdateSuccessful), Some(ready(0)), 0);
    let text = "Machine m successfully re-joined the cluster";
    becomes(&actions, (Phase::Running, "HealthCheck", "Successful", text));
}

#[test]
fn critical_components_of_an_updated_node_are_awaited() {
    let updated = Node { critical_components_missing: true, ..updating(Some(Reason::UpdateSuccessful), |_| ()) };
    check(&machine(Phase::Running), Some(updated.clone()), 15, &Step::Act(vec![Action::RemoveCriticalTaint]));
    let mut stuck = machine(Phase::Running);
    stuck.trouble.critical_components_stuck = true;
    check(&stuck, Some(updated), 15, &Step::Rest);
}
