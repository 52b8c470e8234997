// SPDX-License-Identifier: Apache-2.0
//! Sentences about the actions on an object, derived from the fields that changed.
//!
//! One table serves the log, which shows every action, and the output of `terrarium clock`, which shows those that are news
//! in addition to operations, maintenances and Events.
//!
//! | field | sentence |
//! | --- | --- |
//! | annotation gardener.cloud/operation | `requested reconcile`; `reconcile taken up` |
//! | annotation shoot.gardener.cloud/tasks | `maintained: nothing to do` |
//! | status.credentials.rotation | `rotation of certificateAuthorities: Preparing` |
//! | a container's state | `gardenlet v1.120.0 started`, `… ended with exit code 137: last line` |

use api::constants::{annotation, label, task};
use api::joined;
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::changes::{Change, cut, short};

/// Sentence about a maintenance run that changed nothing.
pub const NOTHING_TO_DO: &str = "maintained: nothing to do";
/// Maximum number of characters of a process's last line.
const MAX_LAST_LINE: usize = 100;

/// A changed object.
#[derive(Clone, Copy, Debug)]
pub struct ChangedObject<'a> {
    /// Kind of the object.
    pub kind: &'a str,
    /// The object after the change.
    pub object: &'a Value,
    /// Fields that changed.
    pub changes: &'a [Change],
    /// Landscape time of the change.
    pub time: DateTime<Utc>,
}

/// An action on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Subject of the action, one word.
    pub subject: &'static str,
    /// Sentence about the action.
    pub text: String,
    /// True if `terrarium clock` shows the action in addition to operations, maintenances and Events.
    pub is_news: bool,
    /// Fields that need no other text.
    covers: &'static [&'static str],
}

impl Action {
    /// True if the sentence replaces the text about a field.
    pub fn covers(&self, path: &str) -> bool {
        self.covers.iter().any(|pattern| fits(pattern, path).is_some())
    }
}

/// A row of the table.
struct Rule {
    /// Kinds of objects; empty: all.
    kinds: &'static [&'static str],
    /// Field, including all fields below it; `*` stands for one name.
    field: &'static str,
    subject: &'static str,
    says: Says,
    is_news: bool,
    covers: &'static [&'static str],
}

/// Source of a rule's sentence.
enum Says {
    By(fn(&RuleMatch<'_>) -> Option<String>),
    /// One sentence for a set field, and one for an unset or false field.
    Either(&'static str, &'static str),
    /// A sentence for a set field.
    Set(&'static str),
}

impl Says {
    fn text(&self, found: &RuleMatch<'_>) -> Option<String> {
        let is_set = found.after("").is_some_and(|value| value != "false");
        match self {
            Self::By(says) => says(found),
            Self::Either(set, unset) => Some((if is_set { set } else { unset }).to_string()),
            Self::Set(set) => is_set.then(|| (*set).to_owned()),
        }
    }
}

/// Changed fields that match a rule.
struct RuleMatch<'a> {
    seen: &'a ChangedObject<'a>,
    /// Name that `*` matches.
    name: &'a str,
    changes: Vec<&'a Change>,
}

const PODS: &[&str] = &["Pod"];
const SHOOTS: &[&str] = &["Shoot"];
const NODES: &[&str] = &["Node"];

/// All rules, in the order of the sentences.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule { kinds: SHOOTS, field: joined!(".metadata.annotations[", annotation::SHOOT_TASKS, "]"), subject: "maintenance", says: Says::By(nothing_to_do), is_news: true,
        covers: &[] },
    Rule { kinds: &[], field: joined!(".metadata.annotations[", annotation::OPERATION, "]"), subject: "operation", says: Says::By(requested), is_news: true,
        covers: &[joined!(".metadata.annotations[", annotation::OPERATION, "]")] },
    Rule { kinds: &[], field: joined!(".metadata.annotations[", annotation::MAINTENANCE_OPERATION, "]"), subject: "operation", says: Says::By(requested_for_maintenance), is_news: true,
        covers: &[joined!(".metadata.annotations[", annotation::MAINTENANCE_OPERATION, "]")] },
    Rule { kinds: SHOOTS, field: ".status.lastMaintenance", subject: "maintenance", says: Says::By(maintained), is_news: false,
        covers: &[".status.lastMaintenance"] },
    Rule { kinds: SHOOTS, field: ".status.credentials.rotation.*", subject: "rotation", says: Says::By(rotation), is_news: true,
        covers: &[".status.credentials.rotation"] },
    Rule { kinds: SHOOTS, field: ".spec.hibernation.enabled", subject: "hibernation", says: Says::Either("asked to hibernate", "asked to wake up"), is_news: true,
        covers: &[".spec.hibernation.enabled"] },
    Rule { kinds: SHOOTS, field: ".spec.seedName", subject: "seed", says: Says::By(scheduled), is_news: false,
        covers: &[".spec.seedName"] },
    Rule { kinds: &[], field: ".metadata.deletionTimestamp", subject: "deletion", says: Says::Set("asked to delete it"), is_news: false,
        covers: &[".metadata.deletionTimestamp", ".metadata.deletionGracePeriodSeconds"] },
    Rule { kinds: &[], field: joined!(".metadata.annotations[", annotation::CONFIRMATION_DELETION, "]"), subject: "deletion", says: Says::Either("confirmed the deletion", "took back the confirmation"), is_news: false,
        covers: &[joined!(".metadata.annotations[", annotation::CONFIRMATION_DELETION, "]")] },
    Rule { kinds: &[], field: joined!(".spec.template.metadata.annotations[", annotation::KUBECTL_RESTARTED_AT, "]"), subject: "restart", says: Says::Set("requested a restart"), is_news: false,
        covers: &[joined!(".spec.template.metadata.annotations[", annotation::KUBECTL_RESTARTED_AT, "]")] },
    Rule { kinds: PODS, field: ".status.containerStatuses[*].lastState.terminated", subject: "process", says: Says::By(ended), is_news: false,
        covers: &[".status.containerStatuses[*]"] },
    Rule { kinds: PODS, field: ".status.containerStatuses[*].state.terminated", subject: "process", says: Says::By(ended), is_news: false,
        covers: &[".status.containerStatuses[*]"] },
    Rule { kinds: PODS, field: ".status.containerStatuses[*].state.running", subject: "process", says: Says::By(started), is_news: false,
        covers: &[".status.containerStatuses[*]"] },
    Rule { kinds: NODES, field: ".spec.unschedulable", subject: "node", says: Says::Either("cordoned", "uncordoned"), is_news: false,
        covers: &[".spec.unschedulable", ".spec.taints"] },
    Rule { kinds: NODES, field: joined!(".metadata.labels[", label::CANDIDATE_FOR_UPDATE, "]"), subject: "node", says: Says::Either("waits for an in-place update", "waits for no in-place update"), is_news: false,
        covers: &[joined!(".metadata.labels[", label::CANDIDATE_FOR_UPDATE, "]")] },
    Rule { kinds: NODES, field: joined!(".metadata.labels[", label::SELECTED_FOR_UPDATE, "]"), subject: "node", says: Says::Either("selected for an in-place update", "no longer selected for an update"), is_news: false,
        covers: &[joined!(".metadata.labels[", label::SELECTED_FOR_UPDATE, "]")] },
];

/// Returns the actions on an object.
pub fn of(seen: &ChangedObject<'_>) -> Vec<Action> {
    let mut actions = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.kinds.is_empty() || rule.kinds.contains(&seen.kind)) {
        let mut found: Vec<RuleMatch<'_>> = Vec::new();
        for change in seen.changes {
            let Some(name) = fits(rule.field, &change.path) else { continue };
            match found.iter_mut().find(|found| found.name == name) {
                Some(found) => found.changes.push(change),
                None => found.push(RuleMatch { seen, name, changes: vec![change] }),
            }
        }
        let texts = found.iter().filter_map(|found| rule.says.text(found));
        actions.extend(texts.map(|text| Action {
            subject: rule.subject,
            text,
            is_news: rule.is_news,
            covers: rule.covers,
        }));
    }
    actions
}

/// Name that `*` of a pattern matches if the path equals the pattern or is below it; empty for a pattern without `*`.
fn fits<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    let Some((before, after)) = pattern.split_once('*') else {
        return path.strip_prefix(pattern).filter(|rest| is_end(rest)).map(|_| "");
    };
    let rest = path.strip_prefix(before)?;
    let is_last = |c: char| if before.ends_with('[') { c == ']' } else { matches!(c, '.' | '[') };
    let length = rest.find(is_last).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(length);
    rest.strip_prefix(after).filter(|rest| is_end(rest)).map(|_| name)
}

impl<'a> RuleMatch<'a> {
    /// Change of a field below the rule's field, or of that field itself.
    fn change(&self, below: &str) -> Option<&'a Change> {
        self.changes.iter().copied().find(|change| change.path.ends_with(below))
    }

    /// New value of a field; `None`: it did not change, or was removed.
    fn after(&self, below: &str) -> Option<String> {
        Some(text(self.change(below)?.after.as_ref()?))
    }

    fn before(&self, below: &str) -> Option<String> {
        Some(text(self.change(below)?.before.as_ref()?))
    }

    /// Name of a pod's container, with its image's version.
    fn process(&self) -> String {
        let containers = self.seen.object["spec"]["containers"].as_array().into_iter().flatten();
        let image = containers.filter(|container| container["name"] == self.name).find_map(|it| it["image"].as_str());
        let tag = image.and_then(|image| image.rsplit_once(':')).map(|(_, tag)| tag).filter(|tag| !tag.contains('/'));
        tag.map_or_else(|| self.name.to_owned(), |tag| format!("{} {tag}", self.name))
    }
}

fn text(value: &Value) -> String {
    short(value, usize::MAX)
}

fn requested(found: &RuleMatch<'_>) -> Option<String> {
    Some(match (found.before(""), found.after("")) {
        (None, Some(after)) => format!("requested {after}"),
        (Some(before), Some(after)) => format!("requested {after} instead of {before}"),
        (before, None) => format!("{} taken up", before?),
    })
}

fn requested_for_maintenance(found: &RuleMatch<'_>) -> Option<String> {
    Some(match (found.before(""), found.after("")) {
        (_, Some(after)) => format!("requested {after} for the next maintenance"),
        // The waiting operation is requested now, and another sentence reports that.
        (before, None) if found.seen.changes.iter().any(|change| change.after.as_ref().map(text) == before) => {
            return None;
        }
        (before, None) => format!("{} waits for maintenance no more", before?),
    })
}

/// Every maintenance run adds tasks. A run with findings changes the specification, or has written its result at the same
/// instant.
fn nothing_to_do(found: &RuleMatch<'_>) -> Option<String> {
    let has_task = |tasks: Option<String>| {
        tasks.is_some_and(|tasks| tasks.split(',').any(|task| task == task::DEPLOY_DNS_RECORD_INGRESS))
    };
    let is_maintenance = !has_task(found.before("")) && has_task(found.after(""));
    let changes_spec = found.seen.changes.iter().any(|change| change.path.starts_with(".spec"));
    let triggered = found.seen.object["status"]["lastMaintenance"]["triggeredTime"].as_str();
    let triggered = triggered.and_then(|time| time.parse::<DateTime<Utc>>().ok());
    let has_findings = triggered.is_some_and(|time| time.timestamp() == found.seen.time.timestamp());
    (is_maintenance && !changes_spec && !has_findings).then(|| NOTHING_TO_DO.to_owned())
}

fn maintained(found: &RuleMatch<'_>) -> Option<String> {
    let result = &found.seen.object["status"]["lastMaintenance"];
    let part = |field: &str| result[field].as_str().unwrap_or_default().replace('\n', " ");
    Some(match part("state").as_str() {
        "" => return None,
        "Failed" => format!("maintenance failed: {}; {}", part("failureReason"), part("description")),
        "Processing" => format!("maintains: {}", part("description")),
        _ => format!("maintained: {}", part("description")),
    })
}

/// A rotation with phases is reported at each phase, others at start and completion.
fn rotation(found: &RuleMatch<'_>) -> Option<String> {
    let (what, rotation) = (found.name, &found.seen.object["status"]["credentials"]["rotation"][found.name]);
    let is_set = |field: &str| {
        let path = format!(".status.credentials.rotation.{what}.{field}");
        found.changes.iter().any(|change| change.path == path && change.after.is_some())
    };
    let mut parts = Vec::new();
    if is_set("phase") {
        parts.push(format!("rotation of {what}: {}", rotation["phase"].as_str().unwrap_or_default()));
    } else if is_set("lastCompletionTime") {
        parts.push(format!("rotation of {what} completed"));
    } else if is_set("lastInitiationTime") {
        parts.push(format!("rotation of {what} begun"));
    }
    if found.changes.iter().any(|change| change.path.contains(".pendingWorkersRollouts")) {
        let pools = rotation["pendingWorkersRollouts"].as_array().into_iter().flatten();
        let pools: Vec<&str> = pools.filter_map(|pool| pool["name"].as_str()).collect();
        let left = if pools.is_empty() { "no pool is left".to_owned() } else { format!("left: {}", pools.join(", ")) };
        parts.push(format!("roll-out of workers for {what}: {left}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn scheduled(found: &RuleMatch<'_>) -> Option<String> {
    Some(match (found.before(""), found.after("")?) {
        (None, seed) => format!("scheduled to Seed {seed}"),
        (Some(before), seed) => format!("moved from Seed {before} to {seed}"),
    })
}

fn started(found: &RuleMatch<'_>) -> Option<String> {
    found.after("").map(|_| format!("{} started", found.process()))
}

fn ended(found: &RuleMatch<'_>) -> Option<String> {
    let state = if found.changes[0].path.contains("].lastState") { "lastState" } else { "state" };
    let statuses = found.seen.object["status"]["containerStatuses"].as_array()?;
    let end = &statuses.iter().find(|status| status["name"] == found.name)?[state]["terminated"];
    // Reported when it becomes the state, not when the state becomes the last state.
    end.as_object()?;
    let how = match (end["signal"].as_i64().unwrap_or_default(), end["exitCode"].as_i64().unwrap_or_default()) {
        (0, code) => format!("ended with exit code {code}"),
        (signal, code) => format!("was ended by signal {signal} (exit code {code})"),
    };
    let words = end["message"].as_str().unwrap_or_default().trim().lines().last().unwrap_or_default();
    let words = if words.is_empty() { String::new() } else { format!(": {}", cut(words.trim(), MAX_LAST_LINE)) };
    Some(format!("{} {how}{words}", found.process()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::changes::between;

    /// Checks sentences; `!` marks those that `terrarium clock` shows.
    #[track_caller]
    fn check(kind: &str, before: &Value, after: &Value, expected: &[&str]) {
        let changes = between(before, after);
        let time = "2027-01-31T22:10:05.5Z".parse().expect("an instant");
        let actions = of(&ChangedObject { kind, object: after, changes: &changes, time });
        let texts: Vec<String> =
            actions.iter().map(|action| format!("{}{}", if action.is_news { "!" } else { "" }, action.text)).collect();
        assert_eq!(texts, expected, "{before} → {after}");
    }

    fn annotated(annotations: &Value) -> Value {
        json!({ "metadata": { "annotations": annotations } })
    }

    #[test]
    fn the_fields_of_the_table_are_those_of_the_rules() {
        let fields: Vec<&str> = RULES.iter().map(|rule| rule.field).collect();
        for annotation in
            ["gardener.cloud/operation", "maintenance.gardener.cloud/operation", "shoot.gardener.cloud/tasks"]
        {
            assert!(fields.contains(&format!(".metadata.annotations[{annotation}]").as_str()), "{annotation}");
        }
    }

    #[test]
    fn requests_are_told_by_what_they_ask_for() {
        let none = annotated(&json!({ "a": "b" }));
        let asks = |operation: &str| annotated(&json!({ "a": "b", "gardener.cloud/operation": operation }));
        check("Shoot", &none, &asks("rotate-credentials-start"), &["!requested rotate-credentials-start"]);
        check("Seed", &none, &asks("reconcile"), &["!requested reconcile"]);
        check("Shoot", &asks("maintain"), &asks("reconcile"), &["!requested reconcile instead of maintain"]);
        check("Shoot", &asks("reconcile"), &none, &["!reconcile taken up"]);
        let waits = annotated(&json!({ "a": "b", "maintenance.gardener.cloud/operation": "rotate-ca-start" }));
        check("Shoot", &none, &waits, &["!requested rotate-ca-start for the next maintenance"]);
        check("Shoot", &waits, &none, &["!rotate-ca-start waits for maintenance no more"]);
        check("Shoot", &waits, &asks("rotate-ca-start"), &["!requested rotate-ca-start"]);
        check("Shoot", &none, &annotated(&json!({ "a": "c" })), &[]);
    }

    #[test]
    fn a_maintenance_without_findings_is_known_by_its_tasks() {
        let tasks = "deployInfrastructure,deployDNSRecordInternal,deployDNSRecordExternal,deployDNSRecordIngress";
        let shoot = |annotations: Value, version: &str, triggered: &str| {
            json!({ "metadata": { "annotations": annotations }, "spec": { "kubernetes": { "version": version } },
                "status": { "lastMaintenance": { "triggeredTime": triggered, "state": "Succeeded", "description": "d" } } })
        };
        let (long_ago, now) = ("2027-01-30T22:10:05Z", "2027-01-31T22:10:05Z");
        let asked = json!({ "shoot.gardener.cloud/tasks": tasks, "gardener.cloud/operation": "reconcile" });
        let before = shoot(json!({}), "1.31.1", long_ago);
        let after = shoot(asked.clone(), "1.31.1", long_ago);
        check("Shoot", &before, &after, &["!maintained: nothing to do", "!requested reconcile"]);
        let raised = shoot(asked.clone(), "1.31.2", long_ago);
        check("Shoot", &before, &raised, &["!requested reconcile"]);
        check("Shoot", &shoot(json!({}), "1.31.1", now), &shoot(asked, "1.31.1", now), &["!requested reconcile"]);
        let infrastructure = json!({ "shoot.gardener.cloud/tasks": "deployInfrastructure" });
        check("Shoot", &before, &shoot(infrastructure, "1.31.1", long_ago), &[]);
        check("Shoot", &before, &shoot(json!({}), "1.31.1", now), &["maintained: d"]);
    }

    #[test]
    fn rotations_are_told_by_their_phases() {
        let rotation = |rotation: Value| json!({ "status": { "credentials": { "rotation": rotation } } });
        let begun = rotation(json!({
            "certificateAuthorities": { "phase": "Preparing", "lastInitiationTime": "t" },
            "sshKeypair": { "lastInitiationTime": "t" },
        }));
        let none = json!({ "status": {} });
        check(
            "Shoot",
            &none,
            &begun,
            &["!rotation of certificateAuthorities: Preparing", "!rotation of sshKeypair begun"],
        );
        let done = rotation(json!({
            "certificateAuthorities": { "phase": "Prepared", "lastInitiationTime": "t" },
            "sshKeypair": { "lastInitiationTime": "t", "lastCompletionTime": "u" },
        }));
        check(
            "Shoot",
            &begun,
            &done,
            &["!rotation of certificateAuthorities: Prepared", "!rotation of sshKeypair completed"],
        );
    }

    #[test]
    fn pools_that_are_left_are_named() {
        let left = |pools: Value| {
            json!({ "status": { "credentials": { "rotation": { "certificateAuthorities": { "phase": "WaitingForWorkersRollout",
                "pendingWorkersRollouts": pools } } } } })
        };
        let both =
            left(json!([{ "name": "a", "lastInitiationTime": "t" }, { "name": "b", "lastInitiationTime": "t" }]));
        let one = left(json!([{ "name": "b", "lastInitiationTime": "t" }]));
        check("Shoot", &both, &one, &["!roll-out of workers for certificateAuthorities: left: b"]);
        check("Shoot", &one, &left(json!([])), &["!roll-out of workers for certificateAuthorities: no pool is left"]);
    }

    #[test]
    fn a_process_is_told_by_its_start_and_its_end() {
        let pod = |statuses: Value| {
            json!({ "spec": { "containers": [{ "name": "gardenlet", "image": "gardener/gardenlet:v1.120.0" }] },
                "status": { "containerStatuses": statuses } })
        };
        let running = |since: &str, last: Value| {
            pod(json!([{ "name": "gardenlet", "state": { "running": { "startedAt": since } }, "lastState": last }]))
        };
        let first = running("t", json!({}));
        check("Pod", &pod(json!([])), &first, &["gardenlet v1.120.0 started"]);
        let end = |code: i64, signal: i64| json!({ "terminated": { "exitCode": code, "signal": signal, "message": "a\nlast line\n" } });
        let waiting = pod(
            json!([{ "name": "gardenlet", "state": { "waiting": { "reason": "CrashLoopBackOff" } }, "lastState": end(3, 0) }]),
        );
        check("Pod", &first, &waiting, &["gardenlet v1.120.0 ended with exit code 3: last line"]);
        check("Pod", &waiting, &running("u", end(3, 0)), &["gardenlet v1.120.0 started"]);
        check(
            "Pod",
            &first,
            &running("u", end(137, 9)),
            &["gardenlet v1.120.0 was ended by signal 9 (exit code 137): last line", "gardenlet v1.120.0 started"],
        );
        let changes = between(&first, &waiting);
        let actions =
            of(&ChangedObject { kind: "Pod", object: &waiting, changes: &changes, time: DateTime::UNIX_EPOCH });
        assert!(actions[0].covers(".status.containerStatuses[gardenlet].restartCount"));
        assert!(!actions[0].covers(".status.phase"));
    }

    #[test]
    fn patterns_end_where_names_do() {
        assert_eq!(fits(".a[*].b", ".a[x.y/z].b.c"), Some("x.y/z"));
        assert_eq!(fits(".a.*", ".a.b.c"), Some("b"));
        assert_eq!(fits(".a.*.c", ".a.b.c"), Some("b"));
        assert_eq!(fits(".a[k]", ".a[k]"), Some(""));
        for (pattern, path) in [(".a", ".ab"), (".a[*].b", ".a[x].bc"), (".a.*.c", ".a.b.d"), (".a", ".b")] {
            assert_eq!(fits(pattern, path), None, "{pattern} {path}");
        }
    }
}
