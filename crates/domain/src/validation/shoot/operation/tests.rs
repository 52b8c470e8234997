// SPDX-License-Identifier: Apache-2.0
//! Refusal of operations, as tables (garden-api 7.2).

use api::core::*;
use apimachinery::meta::Time;

use super::*;
use crate::skew::GardenerVersion;

const NOW: &str = "metadata.annotations[gardener.cloud/operation]";
const LATER: &str = "metadata.annotations[maintenance.gardener.cloud/operation]";

/// Returns a Shoot with pools a and b as described by words: `TYPE/STATE` of the last operation, `CREDENTIAL=PHASE`, or a
/// word for a property.
fn shoot(words: &str) -> Shoot {
    let mut shoot = Shoot::default();
    let pool = |name: &str| Worker { name: name.to_owned(), ..Worker::default() };
    shoot.spec.provider.workers = vec![pool("a"), pool("b")];
    let mut rotation = ShootCredentialsRotation::default();
    let mut pending = PendingWorkerUpdates::default();
    for word in words.split_whitespace() {
        if let Some((r#type, state)) = word.split_once('/') {
            let (r#type, state) = (r#type.to_owned(), state.to_owned());
            shoot.status.last_operation = Some(LastOperation { r#type, state, ..LastOperation::default() });
            continue;
        }
        match word.split_once('=').unwrap_or((word, "")) {
            ("ca", phase) => rotation.certificate_authorities.get_or_insert_default().phase = phase.to_owned(),
            ("key", phase) => rotation.service_account_key.get_or_insert_default().phase = phase.to_owned(),
            ("etcd", phase) => rotation.etcd_encryption_key.get_or_insert_default().phase = phase.to_owned(),
            ("auto", pool) => pending.auto_in_place_update.push(pool.to_owned()),
            ("manual", pool) => pending.manual_in_place_update.push(pool.to_owned()),
            ("in-place", _) => {
                shoot.spec.provider.workers[1].update_strategy = Some("AutoInPlaceUpdate".to_owned());
            }
            ("hibernated", _) => shoot.spec.hibernation.get_or_insert_default().enabled = Some(true),
            ("waking", _) => shoot.status.hibernated = true,
            ("encrypting", _) => shoot.status.encrypted_resources.push("configmaps".to_owned()),
            ("leaving", _) => {
                shoot.metadata.deletion_timestamp = Some(Time("2025-06-01T00:00:00Z".parse().expect("a time")));
            }
            _ => panic!("{word} is no word"),
        }
    }
    shoot.status.credentials = Some(ShootCredentials { rotation: Some(rotation), ..ShootCredentials::default() });
    let is_pending = pending != PendingWorkerUpdates::default();
    shoot.status.in_place_updates =
        is_pending.then_some(InPlaceUpdatesStatus { pending_worker_updates: Some(pending) });
    shoot
}

/// Returns the errors of a Shoot with these two annotations; an empty value leaves the annotation out.
fn said(words: &str, now: &str, later: &str, gate: bool) -> Vec<String> {
    let mut shoot = shoot(words);
    for (key, value) in [("gardener.cloud/operation", now), ("maintenance.gardener.cloud/operation", later)] {
        if !value.is_empty() {
            shoot.metadata.annotations.insert(key.to_owned(), value.to_owned());
        }
    }
    let gates = Gates { credentials_rotation_without_workers_rollout: gate, ..Gates::default() };
    errors_of(&shoot, gates)
}

fn errors_of(shoot: &Shoot, gates: Gates) -> Vec<String> {
    let mut errors = Errors::new();
    operations(&mut errors, shoot, gates);
    errors.iter().map(ToString::to_string).collect()
}

/// Returns the errors of a release for a Shoot of a Kubernetes version with these two annotations.
fn said_by(release: &str, kubernetes: &str, words: &str, [now, later]: [&str; 2]) -> Vec<String> {
    let mut shoot = shoot(words);
    kubernetes.clone_into(&mut shoot.spec.kubernetes.version);
    for (key, value) in [("gardener.cloud/operation", now), ("maintenance.gardener.cloud/operation", later)] {
        shoot.metadata.annotations.insert(key.to_owned(), value.to_owned());
    }
    errors_of(&shoot, Gates::of_release(&GardenerVersion::parse(release).expect("a version")))
}

/// Rows `Shoot | operation | message`, one row per message; the gate is on, the operation is set in both annotations in turn.
#[track_caller]
fn check(table: &str) {
    let rows: Vec<[&str; 3]> = table
        .lines()
        .filter(|row| !row.is_empty())
        .map(|row| {
            let cells: Vec<&str> = row.splitn(3, '|').map(str::trim).collect();
            cells.try_into().expect("three cells")
        })
        .collect();
    for [words, operation, _] in &rows {
        let bodies: Vec<&str> = rows
            .iter()
            .filter(|row| row[..2] == [*words, *operation])
            .map(|row| row[2])
            .filter(|body| !body.is_empty())
            .collect();
        let expected = |path: &str| -> Vec<String> { bodies.iter().map(|body| format!("{path}: {body}")).collect() };
        assert_eq!(said(words, operation, "", true), expected(NOW), "{words} | {operation}");
        assert_eq!(said(words, "", operation, true), expected(LATER), "{words} | {operation} in the window");
    }
}

/// A rotation starts if the Shoot can be reconciled and no rotation of the same credentials is in progress.
#[test]
fn a_start_needs_a_created_shoot_without_rotation() {
    check("
Create/Succeeded                | rotate-ca-start |
Restore/Succeeded               | rotate-ca-start |
Reconcile/Succeeded             | rotate-ca-start |
Reconcile/Processing            | rotate-ca-start |
Reconcile/Failed                | rotate-ca-start |
Reconcile/Succeeded ca=Completed | rotate-ca-start |
Reconcile/Succeeded key=Prepared etcd=Completing | rotate-ca-start |
Reconcile/Succeeded ca=Preparing | rotate-ssh-keypair |
Reconcile/Succeeded ca=Preparing | rotate-observability-credentials |
                    | rotate-ca-start | Forbidden: cannot start CA rotation if shoot was not yet created successfully or is not ready for reconciliation
Create/Processing   | rotate-ca-start | Forbidden: cannot start CA rotation if shoot was not yet created successfully or is not ready for reconciliation
Migrate/Succeeded   | rotate-ca-start | Forbidden: cannot start CA rotation if shoot was not yet created successfully or is not ready for reconciliation
Delete/Processing   | rotate-serviceaccount-key-start | Forbidden: cannot start service account key rotation if shoot was not yet created successfully or is not ready for reconciliation
Create/Error        | rotate-etcd-encryption-key-start | Forbidden: cannot start ETCD encryption key rotation if shoot was not yet created successfully or is not ready for reconciliation
Create/Failed       | rotate-credentials-start | Forbidden: cannot start rotation of all credentials if shoot was not yet created successfully or is not ready for reconciliation
Reconcile/Succeeded ca=Preparing | rotate-ca-start | Forbidden: cannot start CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not 'Completed'
Reconcile/Succeeded ca=WaitingForWorkersRollout | rotate-ca-start-without-workers-rollout | Forbidden: cannot start CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not 'Completed'
Reconcile/Succeeded key=Prepared | rotate-serviceaccount-key-start | Forbidden: cannot start service account key rotation if .status.credentials.rotation.serviceAccountKey.phase is not 'Completed'
Reconcile/Succeeded etcd=Completing | rotate-etcd-encryption-key-start | Forbidden: cannot start ETCD encryption key rotation if .status.credentials.rotation.etcdEncryptionKey.phase is not 'Completed'
Reconcile/Succeeded ca=Prepared key=Preparing etcd=Completing | rotate-credentials-start | Forbidden: cannot start rotation of all credentials if .status.credentials.rotation.certificateAuthorities.phase is not 'Completed'
Reconcile/Succeeded ca=Prepared key=Preparing etcd=Completing | rotate-credentials-start | Forbidden: cannot start rotation of all credentials if .status.credentials.rotation.serviceAccountKey.phase is not 'Completed'
Reconcile/Succeeded ca=Prepared key=Preparing etcd=Completing | rotate-credentials-start | Forbidden: cannot start rotation of all credentials if .status.credentials.rotation.etcdEncryptionKey.phase is not 'Completed'
Reconcile/Succeeded auto=a manual=b | rotate-ca-start | Forbidden: cannot start CA rotation if status.inPlaceUpdates.pendingWorkerUpdates.autoInPlaceUpdate is not empty
Reconcile/Succeeded auto=a manual=b | rotate-ca-start | Forbidden: cannot start CA rotation if status.inPlaceUpdates.pendingWorkerUpdates.manualInPlaceUpdate is not empty
Reconcile/Succeeded manual=b | rotate-serviceaccount-key-start | Forbidden: cannot start service account key rotation if status.inPlaceUpdates.pendingWorkerUpdates.manualInPlaceUpdate is not empty
Reconcile/Succeeded manual=b | rotate-etcd-encryption-key-start |
");
}

/// A rotation is completed only once all its credentials are prepared.
#[test]
fn a_completion_needs_a_prepared_rotation() {
    check("
Reconcile/Succeeded ca=Prepared | rotate-ca-complete |
Reconcile/Error ca=Prepared     | rotate-ca-complete |
Reconcile/Succeeded             | rotate-ca-complete | Forbidden: cannot complete CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not 'Prepared'
Reconcile/Succeeded ca=Completed | rotate-ca-complete | Forbidden: cannot complete CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not 'Prepared'
Reconcile/Succeeded key=Preparing | rotate-serviceaccount-key-complete | Forbidden: cannot complete service account key rotation if .status.credentials.rotation.serviceAccountKey.phase is not 'Prepared'
Reconcile/Succeeded etcd=Completing | rotate-etcd-encryption-key-complete | Forbidden: cannot complete ETCD encryption key rotation if .status.credentials.rotation.etcdEncryptionKey.phase is not 'Prepared'
Reconcile/Succeeded ca=Prepared key=Prepared etcd=Prepared | rotate-credentials-complete |
Reconcile/Succeeded ca=Prepared key=WaitingForWorkersRollout | rotate-credentials-complete | Forbidden: cannot complete rotation of all credentials if .status.credentials.rotation.serviceAccountKey.phase is not 'Prepared'
Reconcile/Succeeded ca=Prepared key=WaitingForWorkersRollout | rotate-credentials-complete | Forbidden: cannot complete rotation of all credentials if .status.credentials.rotation.etcdEncryptionKey.phase is not 'Prepared'
");
}

/// Pools are rolled by name while the rotation waits for them.
#[test]
fn pools_are_rolled_while_a_rotation_waits_for_them() {
    check("
Reconcile/Succeeded ca=WaitingForWorkersRollout  | rotate-rollout-workers=a |
Reconcile/Succeeded key=WaitingForWorkersRollout | rotate-rollout-workers=a,b |
Reconcile/Succeeded ca=Prepared | rotate-rollout-workers=a | Forbidden: either .status.credentials.rotation.certificateAuthorities.phase or .status.credentials.rotation.serviceAccountKey.phase must be in 'WaitingForWorkersRollout' in order to trigger workers rollout
Reconcile/Succeeded ca=WaitingForWorkersRollout | rotate-rollout-workers=a,a | Duplicate value: \"pool name a was specified multiple times\"
Reconcile/Succeeded ca=WaitingForWorkersRollout | rotate-rollout-workers=c | Invalid value: \"c\": worker pool name c does not exist in .spec.provider.workers[]
Reconcile/Succeeded ca=WaitingForWorkersRollout | rotate-rollout-workers= | Required value: must provide at least one pool name via rotate-rollout-workers=<poolName1>[,<poolName2>,...]
Reconcile/Succeeded ca=WaitingForWorkersRollout | rotate-rollout-workers= | Invalid value: \"\": worker pool name  does not exist in .spec.provider.workers[]
Reconcile/Succeeded ca=WaitingForWorkersRollout | rotate-rollout-workers | Invalid value: \"rotate-rollout-workers\": worker pool name rotate-rollout-workers does not exist in .spec.provider.workers[]
");
}

/// Operations that need the cluster's API server are refused while it does not run; authorities, SSH key pair and
/// passwords can be rotated.
#[test]
fn a_hibernated_shoot_refuses_operations_that_need_its_apiserver() {
    let text = "Forbidden: operation is not permitted when shoot is hibernated or is waking up";
    for words in ["Reconcile/Succeeded hibernated", "Reconcile/Succeeded waking"] {
        for operation in [
            "rotate-credentials-start",
            "rotate-credentials-start-without-workers-rollout",
            "rotate-etcd-encryption-key-start",
            "rotate-serviceaccount-key-start",
            "rotate-serviceaccount-key-start-without-workers-rollout",
        ] {
            check(&format!("{words} | {operation} | {text}"));
        }
        for operation in [
            "rotate-ca-start",
            "rotate-ca-start-without-workers-rollout",
            "rotate-ssh-keypair",
            "rotate-observability-credentials",
            "reconcile",
        ] {
            check(&format!("{words} | {operation} |"));
        }
        check(&format!("{words} ca=WaitingForWorkersRollout | rotate-rollout-workers=a | {text}"));
        check(&format!("{words} ca=Prepared | rotate-ca-complete |"));
        check(&format!("{words} etcd=Prepared | rotate-etcd-encryption-key-complete | {text}"));
    }
}

/// The encryption key is not rotated while resources are being re-encrypted.
#[test]
fn a_pending_encryption_change_blocks_rotations() {
    let text = "Forbidden: operation is not permitted because a previous encryption configuration change is currently being \
                rolled out";
    for operation in ["rotate-credentials-start", "rotate-etcd-encryption-key-start"] {
        check(&format!("Reconcile/Succeeded encrypting | {operation} | {text}"));
    }
    for operation in ["rotate-ca-start", "rotate-credentials-start-without-workers-rollout"] {
        check(&format!("Reconcile/Succeeded encrypting | {operation} |"));
    }
}

/// Annotations of an object: the second one must not repeat an operation of the first, or a part of it.
#[test]
fn the_two_annotations_do_not_repeat_each_other() {
    let words = "Reconcile/Succeeded";
    let equal = format!("metadata.annotations: Forbidden: annotations {NOW} and {LATER} must not be equal");
    assert_eq!(said(words, "reconcile", "reconcile", false), [equal]);
    let refused = |now: &str, later: &str| {
        vec![format!("{NOW}: Forbidden: operation '{now}' is not permitted when maintenance operation is '{later}'")]
    };
    for part in ["rotate-ca-start", "rotate-serviceaccount-key-start", "rotate-etcd-encryption-key-start"] {
        let all = "rotate-credentials-start";
        assert_eq!(said(words, part, all, false), refused(part, all));
        assert_eq!(said(words, all, part, false), refused(all, part));
    }
    let words = "Reconcile/Succeeded ca=Prepared key=Prepared etcd=Prepared";
    for part in ["rotate-ca-complete", "rotate-serviceaccount-key-complete", "rotate-etcd-encryption-key-complete"] {
        let all = "rotate-credentials-complete";
        assert_eq!(said(words, part, all, false), refused(part, all));
        assert_eq!(said(words, all, part, false), refused(all, part));
    }
    let words = "Reconcile/Succeeded";
    for (now, later) in [("reconcile", "rotate-ca-start"), ("rotate-ssh-keypair", "rotate-credentials-start")] {
        assert_eq!(said(words, now, later, false), Vec::<String>::new());
    }
}

/// Operations for the next maintenance are not checked for a Shoot in deletion, which has no further maintenance.
#[test]
fn operations_for_the_window_do_not_block_a_deletion() {
    let text = "Forbidden: cannot complete CA rotation if .status.credentials.rotation.certificateAuthorities.phase is not \
                'Prepared'";
    assert_eq!(said("Delete/Processing leaving", "", "rotate-ca-complete", false), Vec::<String>::new());
    assert_eq!(said("Delete/Processing leaving", "rotate-ca-complete", "", false), [format!("{NOW}: {text}")]);
}

/// Operations that only gated ones can complete are refused without the gate; an unknown operation is unsupported in
/// any case.
#[test]
fn operations_behind_the_gate_and_unknown_ones_are_refused() {
    let words = "Reconcile/Succeeded ca=WaitingForWorkersRollout";
    for operation in ["rotate-serviceaccount-key-start-without-workers-rollout", "rotate-rollout-workers=a"] {
        let text = format!(
            "Forbidden: the {operation} operation can only be used when the CredentialsRotationWithoutWorkersRollout \
             feature gate is enabled"
        );
        assert_eq!(said(words, operation, "", false), [format!("{NOW}: {text}")]);
        assert_eq!(said(words, "", operation, false), [format!("{LATER}: {text}")]);
        assert_eq!(said(words, operation, "", true), Vec::<String>::new());
    }
    let supported = |all: &[&str]| {
        let quoted: Vec<String> = all.iter().map(|one| format!("{one:?}")).collect();
        format!("supported values: {}", quoted.join(", "))
    };
    let mut immediate: Vec<&str> = MAINTENANCE.to_vec();
    immediate.extend(["force-in-place-update", "maintain", "retry"]);
    immediate.sort_unstable();
    for unknown in [
        "rotate-foo",
        "rotate-etcd-encryption-key-start-without-workers-rollout",
        "Reconcile",
        "rotate-kubeconfig-credentials",
    ] {
        let text = format!("{NOW}: Unsupported value: {unknown:?}: {}", supported(&immediate));
        assert_eq!(said(words, unknown, "", false), [text]);
        let text = format!("{LATER}: Unsupported value: {unknown:?}: {}", supported(&MAINTENANCE));
        assert_eq!(said(words, "", unknown, false), [text]);
    }
    let text = format!("{LATER}: Unsupported value: \"retry\": {}", supported(&MAINTENANCE));
    assert_eq!(said(words, "", "retry", false), [text]);
}

/// One operation rotates the key that encrypts etcd since 1.128; for Kubernetes 1.34 it is the only one.
#[test]
fn the_key_of_etcd_is_rotated_by_one_operation() {
    let ready = "Reconcile/Succeeded";
    let said = |release: &str, kubernetes: &str, words: &str, operation: &str| {
        said_by(release, kubernetes, words, [operation, ""])
    };
    let whole = "rotate-etcd-encryption-key";
    assert!(said("1.127.0", "1.33.0", ready, whole)[0].contains("Unsupported value: \"rotate-etcd-encryption-key\""));
    assert_eq!(said("1.128.0", "1.33.0", ready, whole), [""; 0]);
    assert_eq!(said("1.128.0", "1.33.0", ready, "rotate-etcd-encryption-key-start"), [""; 0]);
    for (words, half) in [(ready, "start"), ("Reconcile/Succeeded etcd=Prepared", "complete")] {
        let operation = format!("rotate-etcd-encryption-key-{half}");
        let text = format!(
            "{NOW}: Forbidden: for Kubernetes versions >= 1.34, operation '{operation}' is no longer supported, please use \
             'rotate-etcd-encryption-key' instead, which performs a complete etcd encryption key rotation"
        );
        for release in ["1.128.0", "1.141.0"] {
            assert_eq!(said(release, "1.34.0", words, &operation), [text.as_str()], "{release}");
        }
    }
    let prepared = "Reconcile/Succeeded ca=Prepared key=Prepared etcd=Completed";
    assert_eq!(said("1.141.0", "1.34.0", prepared, "rotate-credentials-complete"), [""; 0]);
    assert_eq!(said("1.141.0", "1.33.0", prepared, "rotate-credentials-complete").len(), 1);
    let text = "cannot start ETCD encryption key rotation if .status.credentials.rotation.etcdEncryptionKey.phase is not \
                'Completed'";
    assert_eq!(said("1.141.0", "1.34.0", prepared, whole), [""; 0]);
    let preparing = "Reconcile/Succeeded etcd=Preparing";
    assert_eq!(said("1.141.0", "1.34.0", preparing, whole), [format!("{NOW}: Forbidden: {text}")]);
}

/// Several operations may be in one annotation since 1.133, as long as they do not conflict.
#[test]
fn several_compatible_operations_are_accepted() {
    let together = |operation: &str, others: &str, kind: &str| {
        format!("Forbidden: operation '{operation}' is not permitted to be run together with {others} {kind}operations")
    };
    let (ca, ca_without) = ("rotate-ca-start", "rotate-ca-start-without-workers-rollout");
    let alone = |operation: &str| {
        format!("Forbidden: operation '{operation}' is not permitted to be run in parallel with other operations")
    };
    let conflict = |now: &str, later: &str| {
        format!("{NOW}: Forbidden: operation '{now}' is not permitted when maintenance operation is '{later}'")
    };
    let hibernated = |operation: &str| {
        format!("Forbidden: operation '{operation}' is not permitted when shoot is hibernated or is waking up")
    };
    let ready = "Reconcile/Succeeded";
    let both = format!("{ca};{ca_without}");
    let equal = "must not have any equal operations";
    let rows: [(&str, &str, &str, Vec<String>); 13] = [
        (ready, "reconcile;rotate-ssh-keypair", "", vec![]),
        (ready, " rotate-ca-start ; rotate-observability-credentials;", "", vec![]),
        (ready, "reconcile;reconcile", "", vec![]),
        (ready, "reconcile;retry", "", vec![format!("{NOW}: {}", alone("retry"))]),
        (ready, "", "maintain;reconcile", vec![format!("{LATER}: {}", alone("maintain"))]),
        (ready, &both, "", vec![format!("{NOW}: {}", together(ca, ca_without, ""))]),
        (ready, "", &both, vec![format!("{LATER}: {}", together(ca, ca_without, "maintenance "))]),
        (
            ready,
            "rotate-ca-start;reconcile",
            "rotate-ssh-keypair;reconcile",
            vec![format!("metadata.annotations: Forbidden: annotations {NOW} and {LATER} {equal}")],
        ),
        (
            ready,
            "rotate-serviceaccount-key-start;rotate-ca-start",
            "rotate-credentials-start",
            vec![conflict("rotate-ca-start, rotate-serviceaccount-key-start", "rotate-credentials-start")],
        ),
        (
            ready,
            "rotate-credentials-start",
            "rotate-etcd-encryption-key;rotate-ssh-keypair",
            vec![conflict("rotate-credentials-start", "rotate-etcd-encryption-key")],
        ),
        (
            "Reconcile/Succeeded hibernated",
            "rotate-ca-start;rotate-etcd-encryption-key",
            "",
            vec![format!("{NOW}: {}", hibernated("rotate-etcd-encryption-key"))],
        ),
        (
            "Reconcile/Succeeded encrypting",
            "",
            "rotate-etcd-encryption-key;rotate-ca-start",
            vec![format!(
                "{LATER}: Forbidden: operation 'rotate-etcd-encryption-key' is not permitted because a previous \
                 encryption configuration change is currently being rolled out"
            )],
        ),
        ("Reconcile/Succeeded ca=WaitingForWorkersRollout", "rotate-rollout-workers=a;rotate-ssh-keypair", "", vec![]),
    ];
    for (words, now, later, expected) in rows {
        assert_eq!(said_by("1.133.0", "1.32.0", words, [now, later]), expected, "{words} {now:?} {later:?}");
    }
    let one = said_by("1.132.0", "1.32.0", ready, ["reconcile;rotate-ssh-keypair", ""]);
    assert!(one[0].contains("Unsupported value: \"reconcile;rotate-ssh-keypair\""), "{one:?}");
}

/// An older release does not have a later operation: it refuses the operation as unsupported, not by a feature gate.
#[test]
fn an_operation_exists_from_its_release_on() {
    let words = "Reconcile/Succeeded";
    for (operation, since) in [
        ("rotate-ca-start-without-workers-rollout", 112),
        ("rotate-rollout-workers=a", 112),
        ("force-in-place-update", 118),
        ("rollout-workers=a", 132),
        ("rotate-etcd-encryption-key", 128),
    ] {
        let said = |minor: u16| said_by(&format!("1.{minor}.0"), "1.30.0", words, [operation, ""]);
        let before = said(since - 1);
        assert!(before[0].contains(&format!("Unsupported value: {operation:?}: supported values: ")), "{before:?}");
        assert_eq!(before.len(), 1, "{before:?}");
        assert!(!said(since).iter().any(|text| text.contains("Unsupported value")), "{:?}", said(since));
    }
}

/// Nodes of one pool or of all pools can be replaced since 1.132, alone or, since 1.133, together with other operations.
#[test]
fn nodes_of_pools_are_replaced_at_any_time() {
    let (ready, in_place) = ("Reconcile/Succeeded", "Reconcile/Succeeded in-place");
    let unknown = "worker pool name * does not exist in .spec.provider.workers[]";
    let no_in_place = "worker pool b is using in-place update strategy; manual worker pool rollout is not supported for such \
                       pools";
    let no_name = "must provide either '*' or at least one pool name via rollout-workers=<poolName1>[,<poolName2>,...]";
    let rows: Vec<(&str, &str, Vec<String>)> = vec![
        (ready, "rollout-workers=a", vec![]),
        (ready, "rollout-workers=b,a", vec![]),
        (ready, "rollout-workers=*", vec![]),
        (
            ready,
            "rollout-workers=a,*",
            vec![
                "Forbidden: if '*' is provided, no other pool names are allowed".to_owned(),
                format!("Invalid value: \"*\": {unknown}"),
            ],
        ),
        (
            ready,
            "rollout-workers=c",
            vec!["Invalid value: \"c\": worker pool name c does not exist in .spec.provider.workers[]".to_owned()],
        ),
        (
            ready,
            "rollout-workers=a,a",
            vec!["Duplicate value: \"pool name a was specified multiple times\"".to_owned()],
        ),
        (
            ready,
            "rollout-workers=",
            vec![
                format!("Required value: {no_name}"),
                "Invalid value: \"\": worker pool name  does not exist in .spec.provider.workers[]".to_owned(),
            ],
        ),
        (in_place, "rollout-workers=a", vec![]),
        (in_place, "rollout-workers=b", vec![format!("Invalid value: \"b\": {no_in_place}")]),
        (in_place, "rollout-workers=*", vec![format!("Invalid value: \"b\": {no_in_place}")]),
    ];
    for release in ["1.132.0", "1.133.0", "1.149.0"] {
        for (words, operation, bodies) in &rows {
            for (path, both) in [(NOW, [*operation, ""]), (LATER, ["", *operation])] {
                let expected: Vec<String> = bodies.iter().map(|body| format!("{path}: {body}")).collect();
                assert_eq!(said_by(release, "1.32.0", words, both), expected, "{release} {words} {both:?}");
            }
        }
    }
    let hibernated =
        |release: &str| said_by(release, "1.32.0", "Reconcile/Succeeded hibernated", ["rollout-workers=a", ""]);
    let text = "is not permitted when shoot is hibernated or is waking up";
    assert_eq!(hibernated("1.132.0"), [format!("{NOW}: Forbidden: operation {text}")]);
    assert_eq!(hibernated("1.133.0"), [format!("{NOW}: Forbidden: operation 'rollout-workers=a' {text}")]);
    assert_eq!(hibernated("1.131.0").len(), 1, "unknown only");
    let several = ["rollout-workers=a;rotate-ssh-keypair", "reconcile"];
    assert_eq!(said_by("1.133.0", "1.32.0", ready, several), [""; 0]);
}
