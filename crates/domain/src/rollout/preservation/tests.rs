// SPDX-License-Identifier: Apache-2.0
//! Cases of machine_util_test.go and machine_test.go of machine-controller-manager v0.62.1, each as the sequence of one
//! Machine's steps.

use chrono::TimeDelta;

use super::*;

fn instant(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

/// Annotation of Machine and Node (`-`: none), the value that was applied last, phase, expiry in seconds, and status and
/// message of the condition; the step that is due at second 100.
///
/// Flags after the phase: `c` cordoned, `s` the cluster-autoscaler may not remove the Node, `m` the Node is missing.
const DUE: &str = "
# Nothing says anything, or something that is not known.
-              -           - Failed     -   -       => nothing
keep           -           - Failed     -   -       => nothing
-              keep        - Failed     200 -       => nothing
false          -           - Failed     -   -       => nothing
# now: whatever the phase.
now            -           - Running    -   -       => begin
now            -           - Running    200 -       => disable
now            -           - Running s  200 -       => tell True
now            -           - Running sc 200 True    => uncordon
now            -           - Running s  200 True    => nothing
now            -           - Running s  100 True    => stop, forget
now            -           - Unknown    -   -       => begin
now            -           - Failed s   200 True    => nothing
# when-failed: begun, kept from the autoscaler, drained.
when-failed    -           - Running    -   -       => nothing
when-failed    -           - Failed     -   -       => begin
when-failed    -           - Failed     200 -       => disable
when-failed    -           - Failed s   200 -       => drain
when-failed    -           - Failed s   200 False   => drain
when-failed    -           - Failed sc  200 True    => nothing
when-failed    -           - Failed s   100 True    => stop, forget
when-failed    -           - Running s  200 True    => stop
when-failed    -           - Failed m   -   -       => begin
when-failed    -           - Failed m   200 -       => nothing
# auto-preserved: only while it has failed.
auto-preserved -           - Failed     -   -       => begin
auto-preserved -           - Running s  200 True    => stop, forget
auto-preserved -           - Running    -   -       => nothing
# Removed, or false: stopped.
-              -           - Failed s   200 True    => stop
false          -           - Failed s   200 True    => stop
# The Node wins, and is noted on the Machine.
now            false       - Failed s   200 True    => stop
now            false       - Failed     -   -       => follow false
-              false   false Failed     -   -       => nothing
auto-preserved when-failed - Failed     -   -       => begin
auto-preserved when-failed - Failed sc  200 True    => follow when-failed
now            -         now Running s  200 True    => stop
-              -         now Running    -   -       => follow
";

/// Parses a row of the table.
fn row(words: &[&str]) -> (Preservation, Phase, bool) {
    let [machine, node, applied, phase, rest @ ..] = words else { panic!("{words:?}") };
    let (flags, [expiry, told]) = match rest {
        [expiry, told] => ("", [*expiry, *told]),
        [flags, expiry, told] => (*flags, [*expiry, *told]),
        _ => panic!("{words:?}"),
    };
    let text = |word: &str| (word != "-").then(|| word.to_owned());
    let preservation = Preservation {
        machine: text(machine),
        node: text(node),
        applied: text(applied).unwrap_or_default(),
        expiry: text(expiry).map(|seconds| instant(seconds.parse().expect("seconds"))),
        told: text(told).map(|status| PreservedCondition {
            holds: status == "True",
            reason: BY_USER.to_owned(),
            message: if status == "True" { DRAINED } else { NOT_DRAINED }.to_owned(),
            since: instant(50),
        }),
        scale_down_disabled: flags.contains('s'),
        lacks_node: flags.contains('m'),
    };
    (preservation, Phase::of(phase), flags.contains('c'))
}

#[test]
fn the_next_change_of_each_state() {
    for line in DUE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (before, expected) = line.split_once("=>").expect("a row");
        let words: Vec<&str> = before.split_whitespace().collect();
        let (preservation, phase, is_cordoned) = row(&words);
        let found = match preservation.due(phase, is_cordoned, instant(100)) {
            Due::Nothing => "nothing".to_owned(),
            Due::Drain => "drain".to_owned(),
            Due::Change(Change::Begin) => "begin".to_owned(),
            Due::Change(Change::DisableScaleDown) => "disable".to_owned(),
            Due::Change(Change::Tell(told)) => format!("tell {}", if told.holds { "True" } else { "False" }),
            Due::Change(Change::Stop { forget }) => format!("stop{}", if forget { ", forget" } else { "" }),
            Due::Change(Change::Uncordon) => "uncordon".to_owned(),
            Due::Change(Change::FollowNode(value)) => format!("follow {value}").trim_end().to_owned(),
        };
        assert_eq!(found, expected.trim(), "{line}");
    }
}

/// Rows of [`DUE`] without its last column, and the annotation that requests the preservation.
#[test]
fn the_nodes_annotation_precedes_the_machines() {
    for (words, expected) in [
        ("- - - Failed 200 -", None),
        ("false - - Failed 200 -", None),
        ("now - - Failed 200 -", Some((NOW, false))),
        ("auto-preserved - - Failed 200 -", Some((AUTO_PRESERVED, false))),
        ("auto-preserved when-failed - Failed 200 -", Some((WHEN_FAILED, true))),
        ("now false - Failed 200 -", None),
        ("now keep - Failed 200 -", None),
        ("now - when-failed Failed 200 -", None),
        // Without its Node the annotation of the Machine applies.
        ("now - when-failed Failed m 200 -", Some((NOW, false))),
    ] {
        let (preservation, ..) = row(&words.split_whitespace().collect::<Vec<_>>());
        let expected = expected.map(|(value, is_of_node)| Cause { value, is_of_node });
        assert_eq!(preservation.cause(), expected, "{words}");
    }
}

#[test]
fn a_machine_set_keeps_preserved_failed_machines() {
    for (words, is_kept, is_candidate) in [
        ("- - - Failed - -", false, true),
        ("keep - - Failed - -", false, true),
        ("false - - Failed - -", false, false),
        ("now - - Failed - -", true, false),
        ("when-failed - - Failed - -", true, false),
        ("auto-preserved - - Failed - -", true, false),
        ("when-failed false - Failed - -", false, false),
        ("- when-failed - Failed - -", true, true),
        ("- keep - Failed - -", false, true),
        ("when-failed - now Failed - -", false, false),
        // The Node is missing: upstream does not wait for the Machine's own controller.
        ("when-failed - - Failed m - -", false, false),
        ("when-failed - - Failed m 200 -", true, false),
        // A Machine whose expiry has passed is kept until its preservation is stopped, unless the Node's value is unknown.
        ("when-failed - - Failed 100 True", true, false),
        ("- keep - Failed 100 True", false, true),
        ("- - - Running - -", false, false),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let (preservation, phase, _) = row(&words);
        let standing = preservation.standing(phase, instant(100));
        assert_eq!((standing.is_kept, standing.is_candidate), (is_kept, is_candidate), "{words:?}");
    }
}

#[test]
fn the_condition_has_result_and_requester_of_the_drain() {
    let expiry = Some(instant(4 * 86_400));
    for (value, drained, told, expected) in [
        (NOW, None, None, Some("True Preserved by user. Machine preserved until 1970-01-05 00:00:00 +0000 UTC.")),
        (
            AUTO_PRESERVED,
            Some(true),
            None,
            Some(
                "True Preserved by MCM. Preserved node drained successfully. Machine preserved until 1970-01-05 00:00:00 \
                 +0000 UTC.",
            ),
        ),
        (
            WHEN_FAILED,
            Some(false),
            None,
            Some(
                "False Preserved by user. Preserved node could not be drained. Machine preserved until 1970-01-05 00:00:00 \
                 +0000 UTC.",
            ),
        ),
        (WHEN_FAILED, Some(false), Some(NOT_DRAINED), None),
    ] {
        let told = told.map(|message: &str| PreservedCondition {
            holds: false,
            reason: BY_USER.to_owned(),
            message: message.to_owned(),
            since: instant(1),
        });
        let preservation = Preservation { machine: Some(value.to_owned()), expiry, told, ..Preservation::default() };
        let told = preservation.told_after(drained, instant(7));
        let text = told.map(|told| {
            assert_eq!(told.since, instant(7));
            let condition = told.to_condition();
            format!("{} {} {}", condition.status, condition.reason, condition.message)
        });
        assert_eq!(text.as_deref(), expected, "{value} {drained:?}");
    }
}

/// Phase, `forget`; annotations left on the Node; whether the Node is cordoned.
#[test]
fn the_end_of_a_preservation_keeps_foreign_fields() {
    let annotations = |keys: &[(&str, &str)]| {
        keys.iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect::<apimachinery::meta::TextMap>()
    };
    let by_controller = [
        (annotation::NODE_PRESERVE, NOW),
        (annotation::SCALE_DOWN_DISABLED, "true"),
        (annotation::SCALE_DOWN_DISABLED_BY_MCM, "true"),
    ];
    let by_user = [(annotation::NODE_PRESERVE, NOW), (annotation::SCALE_DOWN_DISABLED, "true")];
    for (before, phase, forget, left, is_cordoned) in [
        (&by_controller[..], Phase::Failed, true, vec![], true),
        (&by_controller[..], Phase::Running, false, vec![annotation::NODE_PRESERVE], false),
        (&by_user[..], Phase::Failed, true, vec![annotation::SCALE_DOWN_DISABLED], true),
    ] {
        let mut node = Node::default();
        node.metadata.annotations = annotations(before);
        node.spec.unschedulable = true;
        change_node(&Change::Stop { forget }, &mut node, phase, instant(9));
        let keys: Vec<&str> = node.metadata.annotations.keys().map(String::as_str).collect();
        assert_eq!((keys, node.spec.unschedulable), (left, is_cordoned));
        let [condition] = node.status.conditions.as_slice() else { panic!("one condition") };
        assert_eq!(
            (condition.status.as_str(), condition.reason.as_str(), condition.message.as_str()),
            ("False", "Preservation stopped.", "")
        );
        let mut machine = Machine::default();
        machine.metadata.annotations = annotations(&[(annotation::NODE_PRESERVE, NOW)]);
        machine.status.current_status.preserve_expiry_time = Some(Time::from(instant(9)));
        change_machine(&Change::Stop { forget }, &mut machine, instant(0), instant(9));
        assert_eq!(machine.metadata.annotations.is_empty(), forget);
        assert_eq!(machine.status.current_status.preserve_expiry_time, None);
    }
}
