// SPDX-License-Identifier: Apache-2.0
//! The rules as tables. A rotation is written as its phase and times of day in hours: `i` start (lastInitiationTime), `f`
//! prepared (lastInitiationFinishedTime), `t` completion requested (lastCompletionTriggeredTime), `c` completed
//! (lastCompletionTime); `auto`: it completes automatically; then waiting pools, with the hour that applies to them.

use api::core::{
    CARotation, ETCDEncryptionKeyRotation, Hibernation, InPlaceUpdatesStatus, ObservabilityRotation,
    PendingWorkerUpdates, SSHAccess, ServiceAccountKeyRotation, ShootCredentials, ShootSSHKeypairRotation, Worker,
    WorkersSettings,
};

use super::*;

fn hour(hour: u32) -> Time {
    Time(format!("2025-06-01T{hour:02}:00:00Z").parse().expect("an instant"))
}

/// Pools a and b, awake, with SSH access, unless specified otherwise in the cell.
fn spec(cell: &str) -> ShootSpec {
    let mut spec = ShootSpec::default();
    let pools: &[&str] = match cell {
        "only-a" => &["a"],
        "workerless" => &[],
        _ => &["a", "b"],
    };
    spec.provider.workers = pools.iter().map(|name| Worker { name: (*name).to_owned(), ..Worker::default() }).collect();
    if cell == "hibernated" {
        spec.hibernation = Some(Hibernation { enabled: Some(true), ..Hibernation::default() });
    }
    spec.kubernetes.version = if cell == "1.34" { "1.34.0" } else { "1.33.4" }.to_owned();
    if cell == "no-ssh" {
        spec.provider.workers_settings = Some(WorkersSettings { ssh_access: Some(SSHAccess { enabled: false }) });
    }
    spec
}

/// Cells of a row for a two-phase rotation.
#[derive(Default)]
struct Cells {
    phase: String,
    times: std::collections::BTreeMap<char, Time>,
    auto: bool,
    pending: Vec<PendingWorkersRollout>,
}

fn read(text: &str) -> Cells {
    let mut cells = Cells::default();
    for word in text.split_whitespace() {
        if let Some((pool, time)) = word.split_once(':') {
            let last_initiation_time = time.parse().ok().map(hour);
            cells.pending.push(PendingWorkersRollout { name: pool.to_owned(), last_initiation_time });
        } else if word == "auto" {
            cells.auto = true;
        } else if let Ok(time) = word[1..].parse() {
            cells.times.insert(word.chars().next().expect("a word"), hour(time));
        } else {
            word.clone_into(&mut cells.phase);
        }
    }
    cells
}

fn status(text: &str) -> ShootStatus {
    let mut rotation = ShootCredentialsRotation::default();
    for part in text.split(';').map(str::trim).filter(|part| *part != "-") {
        let (name, rest) = part.split_once(' ').expect("a name and its state");
        let Cells { phase, times, auto, pending } = read(rest);
        let time = |letter: char| times.get(&letter).copied();
        let (i, f, t, c) = (time('i'), time('f'), time('t'), time('c'));
        match name {
            "ca" => {
                rotation.certificate_authorities = Some(CARotation {
                    phase,
                    last_completion_time: c,
                    last_initiation_time: i,
                    last_initiation_finished_time: f,
                    last_completion_triggered_time: t,
                    pending_workers_rollouts: pending,
                });
            }
            "key" => {
                rotation.service_account_key = Some(ServiceAccountKeyRotation {
                    phase,
                    last_completion_time: c,
                    last_initiation_time: i,
                    last_initiation_finished_time: f,
                    last_completion_triggered_time: t,
                    pending_workers_rollouts: pending,
                });
            }
            "etcd" => {
                rotation.etcd_encryption_key = Some(ETCDEncryptionKeyRotation {
                    phase,
                    last_completion_time: c,
                    last_initiation_time: i,
                    last_initiation_finished_time: f,
                    last_completion_triggered_time: t,
                    auto_complete_after_prepared: auto.then_some(true),
                });
            }
            "ssh" => {
                rotation.ssh_keypair =
                    Some(ShootSSHKeypairRotation { last_initiation_time: i, last_completion_time: c });
            }
            "observability" => {
                rotation.observability =
                    Some(ObservabilityRotation { last_initiation_time: i, last_completion_time: c });
            }
            _ => panic!("{name} is no credential"),
        }
    }
    let credentials = ShootCredentials { rotation: Some(rotation), ..ShootCredentials::default() };
    ShootStatus { credentials: (text != "-").then_some(credentials), ..ShootStatus::default() }
}

/// Asserts the rows of a table: circumstances, state and operation before; state after the start at 5:00 and the success
/// at 6:00.
#[track_caller]
fn check(table: &str) {
    for row in table.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [circumstances, before, operation, started, succeeded] = cells[..] else { panic!("five cells: {row}") };
        let spec = spec(circumstances);
        let mut actual = status(before);
        let pools = |status: &mut ShootStatus| {
            if circumstances == "manual-pending" {
                let pending =
                    PendingWorkerUpdates { manual_in_place_update: vec!["a".to_owned()], ..Default::default() };
                status.in_place_updates = Some(InPlaceUpdatesStatus { pending_worker_updates: Some(pending) });
            }
        };
        pools(&mut actual);
        begin(&mut actual, &spec, if operation == "-" { "" } else { operation }, hour(5));
        let mut expected = status(started);
        pools(&mut expected);
        assert_eq!(actual, expected, "start: {row}");
        succeed(&mut actual, &spec, hour(6));
        let mut expected = status(succeeded);
        pools(&mut expected);
        assert_eq!(actual, expected, "success: {row}");
    }
}

/// The first phase: new credentials in addition to the old ones; the end of an earlier rotation remains recorded.
#[test]
fn a_start_prepares_and_its_success_has_prepared() {
    check("
-              | -                        | rotate-ca-start                  | ca Preparing i5              | ca Prepared i5 f6
-              | ca Completed i1 c2       | rotate-ca-start                  | ca Preparing i5 c2           | ca Prepared i5 f6 c2
-              | -                        | rotate-serviceaccount-key-start  | key Preparing i5             | key Prepared i5 f6
-              | -                        | rotate-etcd-encryption-key-start | etcd Preparing i5            | etcd Prepared i5 f6
workerless     | -                        | rotate-ca-start                  | ca Preparing i5              | ca Prepared i5 f6
manual-pending | -                        | rotate-ca-start                  | ca Preparing i5              | ca Preparing i5
manual-pending | -                        | rotate-serviceaccount-key-start  | key Preparing i5             | key Preparing i5
manual-pending | -                        | rotate-etcd-encryption-key-start | etcd Preparing i5            | etcd Prepared i5 f6
-              | ca Preparing i4          | -                                | ca Preparing i4              | ca Prepared i4 f6
-              | ca Prepared i1 f2        | -                                | ca Prepared i1 f2            | ca Prepared i1 f2
");
}

/// The second phase: the old credentials are removed, no node rolls.
#[test]
fn a_completion_clears_fields_of_the_rotation() {
    check("
-              | ca Prepared i1 f2        | rotate-ca-complete                  | ca Completing i1 f2 t5    | ca Completed i1 c6
-              | ca Prepared i3 f4 c2     | rotate-ca-complete                  | ca Completing i3 f4 t5 c2 | ca Completed i3 c6
-              | key Prepared i1 f2       | rotate-serviceaccount-key-complete  | key Completing i1 f2 t5   | key Completed i1 c6
-              | etcd Prepared i1 f2      | rotate-etcd-encryption-key-complete | etcd Completing i1 f2 t5  | etcd Completed i1 c6
manual-pending | ca Prepared i1 f2        | rotate-ca-complete                  | ca Completing i1 f2 t5    | ca Completed i1 c6
-              | ca Completing i1 f2 t4   | -                                   | ca Completing i1 f2 t4    | ca Completed i1 c6
");
}

/// Pools keep the time of the previous rotation until they are named; once none waits, the rotation is prepared.
#[test]
fn pools_roll_when_they_are_named() {
    let start = "rotate-ca-start-without-workers-rollout";
    let key = "rotate-serviceaccount-key-start-without-workers-rollout";
    let waiting = "WaitingForWorkersRollout";
    let preparing = "PreparingWithoutWorkersRollout";
    check(&format!("
-              | -                           | {start} | ca {preparing} i5 a:- b:-    | ca {waiting} i5 a:- b:-
-              | ca Completed i1 c2          | {start} | ca {preparing} i5 c2 a:1 b:1 | ca {waiting} i5 c2 a:1 b:1
-              | -                           | {key}   | key {preparing} i5 a:- b:-   | key {waiting} i5 a:- b:-
manual-pending | -                           | {start} | ca {preparing} i5 a:- b:-    | ca {waiting} i5 a:- b:-
workerless     | -                           | {start} | ca {preparing} i5            | ca {waiting} i5
-              | ca {waiting} i3 a:- b:-     | -       | ca {waiting} i3 a:- b:-      | ca {waiting} i3 a:- b:-
-              | ca {waiting} i3 a:- b:-     | rotate-rollout-workers=a   | ca {waiting} i3 b:- | ca {waiting} i3 b:-
-              | ca {waiting} i3 a:- b:-     | rotate-rollout-workers=a,b | ca {waiting} i3     | ca Prepared i3 f6
-              | ca {waiting} i3 b:-; key {waiting} i3 a:- b:- | rotate-rollout-workers=b | ca {waiting} i3; key {waiting} i3 a:- | ca Prepared i3 f6; key {waiting} i3 a:-
-              | ca {preparing} i3 a:- b:-; key {waiting} i3 a:- | rotate-rollout-workers=a | ca {preparing} i3 a:- b:-; key {waiting} i3 | ca {waiting} i3 a:- b:-; key Prepared i3 f6
only-a         | ca {waiting} i3 a:- b:-     | -       | ca {waiting} i3 a:-          | ca {waiting} i3 a:-
only-a         | ca {waiting} i3 b:-         | -       | ca {waiting} i3              | ca Prepared i3 f6
hibernated     | ca {waiting} i3 a:- b:-     | -       | ca {waiting} i3              | ca Prepared i3 f6
manual-pending | ca {waiting} i3 a:-         | rotate-rollout-workers=a | ca {waiting} i3 | ca {waiting} i3
"));
}

/// SSH key pair and passwords are replaced within one run; without SSH access there is no key pair.
#[test]
fn one_phase_rotations_begin_and_end_with_a_run() {
    check("
-              | -                        | rotate-ssh-keypair               | ssh i5                       | ssh i5 c6
-              | ssh i1 c2                | rotate-ssh-keypair               | ssh i5 c2                    | ssh i5 c6
-              | ssh i4                   | -                                | ssh i4                       | ssh i4 c6
-              | ssh i1 c2                | -                                | ssh i1 c2                    | ssh i1 c2
no-ssh         | -                        | rotate-ssh-keypair               | -                            | -
no-ssh         | ssh i1 c2; ca Completed i1 c2 | -                           | ssh i1 c2; ca Completed i1 c2 | ca Completed i1 c2
-              | -                        | rotate-observability-credentials | observability i5             | observability i5 c6
-              | observability i1 c2      | rotate-observability-credentials | observability i5 c2          | observability i5 c6
");
}

/// All credentials at once, with the same instant; the SSH key pair only with SSH access.
#[test]
fn all_credentials_rotate_at_one_instant() {
    let (start, complete) = ("rotate-credentials-start", "rotate-credentials-complete");
    let all = |phase: &str, times: &str| format!("ca {phase} {times}; key {phase} {times}; etcd {phase} {times}");
    let one = |times: &str| format!("ssh {times}; observability {times}");
    check(&format!(
        "
- | - | {start} | {}; {} | {}; {}
no-ssh | - | {start} | {}; observability i5 | {}; observability i5 c6
- | {} | {complete} | {} | {}
",
        all("Preparing", "i5"),
        one("i5"),
        all("Prepared", "i5 f6"),
        one("i5 c6"),
        all("Preparing", "i5"),
        all("Prepared", "i5 f6"),
        all("Prepared", "i1 f2"),
        all("Completing", "i1 f2 t5"),
        all("Completed", "i1 c6"),
    ));
    let rolled = |phase: &str| format!("ca {phase} i5 a:- b:-; key {phase} i5 a:- b:-");
    check(&format!(
        "- | - | {start}-without-workers-rollout | {}; etcd Preparing i5; {} | {}; etcd Prepared i5 f6; {}",
        rolled("PreparingWithoutWorkersRollout"),
        one("i5"),
        rolled("WaitingForWorkersRollout"),
        one("i5 c6"),
    ));
}

/// One operation rotates the key that encrypts etcd; its second phase begins when the first one is done. Since Kubernetes
/// 1.34, each of its operations does.
#[test]
fn the_key_of_etcd_rotates_in_one_operation() {
    check("
-     | -                           | rotate-etcd-encryption-key       | etcd Preparing i5 auto        | etcd Prepared i5 f6 auto
-     | etcd Prepared i1 f2 auto    | -                                | etcd Completing i1 f2 t5 auto | etcd Completed i1 c6
-     | etcd Completing i1 f2 t3 auto | -                              | etcd Completing i1 f2 t3 auto | etcd Completed i1 c6
-     | etcd Prepared i1 f2         | reconcile                        | etcd Prepared i1 f2           | etcd Prepared i1 f2
-     | etcd Completed i1 c2        | rotate-etcd-encryption-key-start | etcd Preparing i5 c2          | etcd Prepared i5 f6 c2
1.34  | -                           | rotate-etcd-encryption-key-start | etcd Preparing i5 auto        | etcd Prepared i5 f6 auto
1.34  | etcd Prepared i1 f2         | -                                | etcd Completing i1 f2 t5      | etcd Completed i1 c6
1.34  | ca Prepared i1 f2; key Prepared i1 f2; etcd Completed i1 c3 | rotate-credentials-complete | ca Completing i1 f2 t5; key Completing i1 f2 t5; etcd Completed i1 c3 | ca Completed i1 c6; key Completed i1 c6; etcd Completed i1 c3
");
}

/// One run starts several operations of one annotation.
#[test]
fn several_operations_begin_at_once() {
    check("
-     | - | reconcile;rotate-ssh-keypair; rotate-observability-credentials | ssh i5; observability i5 | ssh i5 c6; observability i5 c6
-     | - | rotate-ca-start;rotate-etcd-encryption-key | ca Preparing i5; etcd Preparing i5 auto | ca Prepared i5 f6; etcd Prepared i5 f6 auto
");
}

/// Operations that a rotation of all credentials includes; start and completion do not include each other's.
#[test]
fn all_credentials_include_each_of_them() {
    for (all, operation, expected) in [
        ("rotate-credentials-start", "rotate-ca-start", true),
        ("rotate-credentials-start", "rotate-ca-start-without-workers-rollout", false),
        ("rotate-credentials-start", "rotate-serviceaccount-key-start", true),
        ("rotate-credentials-start", "rotate-etcd-encryption-key", true),
        ("rotate-credentials-start", "rotate-etcd-encryption-key-start", true),
        ("rotate-credentials-start", "rotate-etcd-encryption-key-complete", false),
        ("rotate-credentials-start", "rotate-ssh-keypair", true),
        ("rotate-credentials-start", "rotate-observability-credentials", true),
        ("rotate-credentials-start", "rotate-credentials-start", false),
        ("rotate-credentials-start", "reconcile", false),
        ("rotate-credentials-start-without-workers-rollout", "rotate-etcd-encryption-key-start", true),
        ("rotate-credentials-start-without-workers-rollout", "rotate-ca-start-without-workers-rollout", true),
        ("rotate-credentials-start-without-workers-rollout", "rotate-ca-start", false),
        ("rotate-credentials-complete", "rotate-ca-complete", true),
        ("rotate-credentials-complete", "rotate-etcd-encryption-key-complete", true),
        ("rotate-credentials-complete", "rotate-etcd-encryption-key", false),
        ("rotate-credentials-complete", "rotate-ssh-keypair", false),
        ("rotate-ca-start", "rotate-ca-start", false),
    ] {
        assert_eq!(includes(all, operation), expected, "{all} includes {operation}");
    }
}

/// A reconciliation and an unknown operation are no rotations.
#[test]
fn other_operations_change_nothing() {
    for operation in [
        "",
        "reconcile",
        "retry",
        "maintain",
        "force-in-place-update",
        "rotate-foo",
        "rotate-foo-start",
        "rotate-etcd-encryption-key-start-without-workers-rollout",
        "rotate-ca",
    ] {
        assert!(!is_begun_by_run(operation), "{operation}");
        let mut actual = ShootStatus::default();
        begin(&mut actual, &spec("-"), operation, hour(5));
        assert_eq!(actual, ShootStatus::default(), "{operation}");
    }
    for operation in [
        "rotate-credentials-start",
        "rotate-ca-complete",
        "rotate-ssh-keypair",
        "rotate-observability-credentials",
        "rotate-rollout-workers=a",
        "rollout-workers=a",
        "rotate-etcd-encryption-key",
        "rotate-etcd-encryption-key-complete",
    ] {
        assert!(is_begun_by_run(operation), "{operation}");
    }
}

/// A pool's hash may differ from the one that the Worker extension knows only in these phases.
#[test]
fn nodes_roll_in_two_phases_only() {
    for (given, expected) in [
        ("-", false),
        ("ca Preparing i1", true),
        ("key Preparing i1", true),
        ("ca WaitingForWorkersRollout i1", true),
        ("ca PreparingWithoutWorkersRollout i1 a:-", false),
        ("ca Prepared i1 f2; key Completing i1 f2 t3; etcd Preparing i1", false),
        ("ca Completed i1 c2; ssh i3", false),
    ] {
        assert_eq!(may_roll_nodes(&status(given)), expected, "{given}");
    }
}

/// Pending in-place updates are removed with their pools.
#[test]
fn pending_in_place_updates_are_removed_with_their_pools() {
    let pending = |auto: &[&str], manual: &[&str]| InPlaceUpdatesStatus {
        pending_worker_updates: Some(PendingWorkerUpdates {
            auto_in_place_update: auto.iter().map(|name| (*name).to_owned()).collect(),
            manual_in_place_update: manual.iter().map(|name| (*name).to_owned()).collect(),
        }),
    };
    for (circumstances, before, after) in [
        ("-", pending(&["a"], &["b"]), Some(pending(&["a"], &["b"]))),
        ("only-a", pending(&["a"], &["b"]), Some(pending(&["a"], &[]))),
        ("only-a", pending(&["b"], &[]), None),
        ("hibernated", pending(&["a"], &["b"]), None),
    ] {
        let mut actual = ShootStatus { in_place_updates: Some(before), ..ShootStatus::default() };
        begin(&mut actual, &spec(circumstances), "", hour(5));
        assert_eq!(actual.in_place_updates, after, "{circumstances}");
    }
}
