// SPDX-License-Identifier: Apache-2.0
//! Formatting of a log entry as a line.
//!
//! ```text
//!   revision  landscape time        actor      what    object                     what of it changed
//!       1042  2023-07-28T09:07:27Z  gardenlet  status  Shoot garden-demo/local    Reconcile Processing (12%): …
//! ```

use std::collections::BTreeMap;

use api::catalogue;
use apimachinery::catalogue::{Cell, ResourceInfo};
use apimachinery::encode;
use chrono::SecondsFormat;
use eventlog::{Actor, Entry, Key, Sections, Verb};
use serde_json::{Value, json};

use super::actions::{self, Action, ChangedObject};
use super::changes::{self, Change, cut, short};
use super::{secrets, writers};
use crate::names::clusters::NamedCluster;
use crate::renamed_fields;

/// Maximum length of a value in a line.
const VALUE: usize = 48;
/// Maximum length of a sentence in a line.
const SENTENCE: usize = 120;
/// Maximum length of all changes in a line.
const SUMMARY: usize = 200;
/// Maximum length of a value in a difference.
const LONG: usize = 2000;

/// Fields that follow from others; shown only if nothing else changed.
const NOISE: [&str; 10] = [
    "managedFields",
    "generation",
    "observedGeneration",
    "lastUpdateTime",
    "lastTransitionTime",
    "lastHeartbeatTime",
    "lastProbeTime",
    "renewTime",
    "heartbeatTime",
    "uid",
];

/// A decoded log entry with its changes.
#[derive(Clone, Debug)]
pub struct ReadEntry<'a> {
    entry: &'a Entry,
    kind: String,
    object: Value,
    /// Changes without the fields that are never shown.
    pub changes: Vec<Change>,
}

/// Returns the differences of two states of an object, without values of Secrets. A field that was renamed in between has
/// its later name in both.
pub fn differences(key: &Key, mut before: Value, after: &Value) -> Vec<Change> {
    if let Some(row) = row_of(key) {
        renamed_fields::like(&mut before, after, row);
    }
    let mut changes = changes::between(&before, after);
    let kind = after["kind"].as_str().unwrap_or_default();
    for change in &mut changes {
        secrets::hide_change(kind, change);
    }
    changes
}

fn row_of(key: &Key) -> Option<&'static ResourceInfo> {
    let (group, plural) = key.resource.split_once('/')?;
    catalogue::all().iter().find(|row| row.group == group && row.plural == plural)
}

/// Returns the object at a revision.
pub fn tree(sections: &Sections, revision: u64) -> Value {
    let [identity, metadata, managed_fields, rest, status] = sections.parts.clone();
    let served = encode::Sections { identity, metadata, managed_fields, rest, status }.served(revision);
    serde_json::from_slice(&served).unwrap_or_default()
}

impl<'a> ReadEntry<'a> {
    /// Decodes an entry.
    pub fn of(entry: &'a Entry) -> Self {
        let object = tree(&entry.object, entry.revision.0);
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let changes = match (&entry.previous, entry.verb) {
            (Some((_, before)), Verb::Update | Verb::UpdateStatus) => {
                differences(&entry.key, tree(before, entry.revision.0), &object)
            }
            _ => Vec::new(),
        };
        Self { entry, kind, object, changes }
    }

    /// Writer of the entry: a component by its name; others by user and program.
    pub fn actor(&self) -> String {
        name_of(&self.entry.actor)
    }

    /// Formats the entry on one line.
    pub fn line(&self) -> String {
        let Entry { revision, time, actor, .. } = self.entry;
        let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
        let object = self.object();
        let line = format!(
            "{revision:>7}  {time}  {:<28} {:<7} {object:<44}  {}",
            cut(&name_of(actor), 28),
            self.verb(),
            cut(&self.summary(), SUMMARY)
        );
        line.trim_end().to_owned()
    }

    /// `Shoot garden-demo/local`, with its cluster if that is not the garden.
    pub fn object(&self) -> String {
        let key = &self.entry.key;
        let place = if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
        let cluster = match &*key.cluster {
            "garden" => String::new(),
            other => NamedCluster::of_logical(other).map_or_else(|| other.to_owned(), |name| name.to_string()) + ": ",
        };
        format!("{cluster}{} {place}{}", self.kind, key.name)
    }

    /// Verb of the entry: `create`, `update`, `status`, `delete`.
    pub fn verb(&self) -> &'static str {
        match self.entry.verb {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::UpdateStatus => "status",
            Verb::Delete => "delete",
        }
    }

    /// Formats the differences, with a line for the old value and one for the new value.
    pub fn difference(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Change { path, before, after } in &self.changes {
            let path = path.trim_start_matches('.');
            for (sign, value) in [('-', before), ('+', after)] {
                lines.extend(value.as_ref().map(|value| format!("{:>9} {sign} {path}: {}", "", short(value, LONG))));
            }
        }
        lines
    }

    /// Formats the entry as one JSON object.
    pub fn json(&self) -> Value {
        let Entry { revision, key, time, actor, .. } = self.entry;
        let changes = self
            .changes
            .iter()
            .map(|change| json!({ "path": change.path, "before": change.before, "after": change.after }));
        json!({
            "revision": revision.0,
            "time": time.to_rfc3339_opts(SecondsFormat::Secs, true),
            "user": &*actor.user,
            "component": &*actor.component,
            "controller": self.controller(),
            "version": &*actor.version,
            "verb": self.verb(),
            "cluster": &*key.cluster,
            "resource": &*key.resource,
            "kind": self.kind,
            "namespace": &*key.namespace,
            "name": &*key.name,
            "summary": self.summary(),
            "changes": changes.collect::<Vec<Value>>(),
        })
    }

    /// Summary of the entry's changes.
    pub fn summary(&self) -> String {
        if self.kind == "Event" && self.entry.verb != Verb::Delete {
            return event(&self.object);
        }
        match self.entry.verb {
            Verb::Delete => String::new(),
            Verb::Create => self.properties(),
            Verb::Update | Verb::UpdateStatus => self.changed(),
        }
    }

    /// Values of the columns of the object's kind.
    fn properties(&self) -> String {
        let row = row_of(&self.entry.key);
        let columns = row.map(|row| row.columns).unwrap_or_default();
        let cells = columns.iter().filter(|column| column.type_ != "date" && column.priority == 0);
        let shown = cells.filter_map(|column| {
            let value = match &column.cell {
                Cell::Path(path) if !path.contains('[') => self.object.pointer(&path.replace('.', "/"))?.clone(),
                Cell::Function(cell) => cell(&self.object),
                Cell::Ago(cell) => cell(&self.object).0.into(),
                Cell::Path(_) | Cell::Condition(..) | Cell::Elapsed(..) | Cell::Age(..) | Cell::Seconds(_) => {
                    return None;
                }
            };
            let text = short(&value, VALUE);
            let says_something = !matches!(text.as_str(), "" | "\"\"" | "null" | "<none>" | "<unknown>" | "<pending>");
            says_something.then(|| format!("{} {text}", column.name))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Controller of the component that wrote the entry; `None`: it cannot be determined.
    pub fn controller(&self) -> Option<&str> {
        writers::of(&self.entry.actor.component, &self.kind, &self.object, &self.changes)
    }

    fn actions(&self) -> Vec<Action> {
        let (kind, changes) = (self.kind.as_str(), self.changes.as_slice());
        actions::of(&ChangedObject { kind, object: &self.object, changes, time: self.entry.time })
    }

    fn changed(&self) -> String {
        let actions = self.actions();
        let mut parts: Vec<String> = actions.iter().map(|action| action.text.clone()).collect();
        let is_operation = |change: &Change| change.path.starts_with(".status.lastOperation");
        if self.changes.iter().any(is_operation) {
            parts.push(operation(&self.object["status"]["lastOperation"]));
        }
        parts.extend(self.conditions());
        let is_told = |change: &&Change| {
            is_operation(change)
                || condition_of(&change.path).is_some()
                || actions.iter().any(|action| action.covers(&change.path))
        };
        let others: Vec<&Change> = self.changes.iter().filter(|change| !is_told(change)).collect();
        // Spec first, then status, then metadata.
        let rank = |change: &Change| match change.path.split('.').nth(1) {
            Some("metadata") => 2,
            Some("status") => 1,
            _ => 0,
        };
        let mut loud: Vec<&Change> = others.iter().copied().filter(|change| !is_noise(&change.path)).collect();
        loud.sort_by_key(|change| rank(change));
        parts.extend(loud.into_iter().map(line));
        if parts.is_empty() {
            // Only dependent fields changed: they are shown rather than nothing.
            parts.extend(others.into_iter().map(line));
        }
        parts.join("; ")
    }

    /// Changed conditions and constraints, each with its new state.
    fn conditions(&self) -> Vec<String> {
        let mut told: BTreeMap<&str, BTreeMap<&str, &Change>> = BTreeMap::new();
        for change in &self.changes {
            if let Some((name, field)) = condition_of(&change.path) {
                told.entry(name).or_default().insert(field, change);
            }
        }
        let text = |value: &Option<Value>| value.as_ref().map(|value| short(value, VALUE));
        let one = |(name, fields): (&str, BTreeMap<&str, &Change>)| {
            let became = |field: &str| fields.get(field).and_then(|change| text(&change.after));
            let why = became("reason").map_or_else(String::new, |reason| format!(" ({reason})"));
            match fields.get("status").map(|change| (text(&change.before), text(&change.after))) {
                Some((Some(before), Some(after))) => Some(format!("{name} {before} → {after}{why}")),
                Some((None, Some(after))) => Some(format!("{name} {after}{why}")),
                Some((_, None)) => Some(format!("{name} removed")),
                // Changed times alone are not shown.
                None => Some(format!("{name}: {}", became("reason").or_else(|| became("message"))?)),
            }
        };
        told.into_iter().filter_map(one).collect()
    }
}

/// Formats a change on one line; sentences are truncated at a greater length than names.
fn line(change: &Change) -> String {
    let is_sentence = change.path.ends_with(".description") || change.path.ends_with(".message");
    change.line(if is_sentence { SENTENCE } else { VALUE })
}

/// Name of a condition and its field, for a path in a condition.
fn condition_of(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(".status.conditions[").or_else(|| path.strip_prefix(".status.constraints["))?;
    let (name, field) = rest.split_once(']')?;
    Some((name, field.trim_start_matches('.')))
}

fn is_noise(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or_default();
    NOISE.contains(&last) || path.contains("managedFields")
}

/// Formats an operation: `Create Processing (12%): …`.
fn operation(operation: &Value) -> String {
    let text = |field: &str| operation[field].as_str().unwrap_or_default();
    let progress = operation["progress"].as_i64().unwrap_or_default();
    format!("{} {} ({progress}%): {}", text("type"), text("state"), text("description").replace('\n', " "))
}

/// Formats an Event: `SchedulingSuccessful of Shoot local: Scheduled to seed 'local'`.
fn event(event: &Value) -> String {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let count = event["count"]
        .as_i64()
        .filter(|count| *count > 1)
        .map_or_else(String::new, |count| format!(" ({count} times)"));
    format!(
        "{} of {} {}{count}: {}",
        text("/reason"),
        text("/involvedObject/kind"),
        text("/involvedObject/name"),
        text("/message").replace('\n', " ")
    )
}

/// Name of a writer: a component by its name; others by user and program.
pub fn name_of(actor: &Actor) -> String {
    if !actor.version.is_empty() {
        return actor.component.to_string();
    }
    match actor.component.split(['/', ' ']).next().filter(|program| !program.is_empty()) {
        Some(program) if *program != *actor.user => format!("{} ({program})", actor.user),
        _ => actor.user.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use eventlog::Revision;

    use super::*;

    fn sections(tree: &Value) -> Sections {
        let text = |value: &Value| value.to_string().trim_start_matches('{').trim_end_matches('}').to_owned();
        let part = |name: &str| tree.get(name).map_or_else(String::new, |value| format!(",\"{name}\":{value}"));
        let parts = [
            format!("{{\"kind\":{},\"apiVersion\":\"v1\",\"metadata\":{{{}", tree["kind"], text(&tree["metadata"])),
            String::new(),
            "}".to_owned(),
            ["spec", "data", "reason", "message", "involvedObject"].map(part).concat(),
            format!("{}}}", part("status")),
        ];
        Sections { parts: parts.map(Bytes::from) }
    }

    fn entry(verb: Verb, resource: &str, before: Option<&Value>, after: &Value) -> Entry {
        Entry {
            revision: Revision(42),
            key: Key::new("garden", resource, "ns", "x"),
            verb,
            time: "2023-07-27T20:00:00Z".parse().expect("an instant"),
            actor: Arc::new(Actor { user: "u".into(), component: "gardenlet".into(), version: "v1.120.0".into() }),
            writer: (1, 1),
            object: sections(after),
            previous: before.map(|tree| (Revision(41), sections(tree))),
            volatile: false,
        }
    }

    #[track_caller]
    fn check(verb: Verb, resource: &str, before: Option<&Value>, after: &Value, line: &str) {
        let entry = entry(verb, resource, before, after);
        assert_eq!(ReadEntry::of(&entry).line().split_whitespace().collect::<Vec<_>>().join(" "), line);
    }

    #[test]
    fn a_line_has_writer_verb_object_and_changes() {
        let shoot = |version: &str, status: Value| {
            json!({ "kind": "Shoot", "metadata": { "name": "x", "uid": "1" },
                "spec": { "region": "local", "kubernetes": { "version": version } }, "status": status })
        };
        let head = "42 2023-07-27T20:00:00Z gardenlet";
        let new = shoot("1.26.4", json!({}));
        let shoots = "core.gardener.cloud/shoots";
        check(
            Verb::Create,
            shoots,
            None,
            &new,
            &format!("{head} create Shoot ns/x Region local, K8S Version 1.26.4, Hibernation Awake"),
        );
        let moved = shoot("1.27.1", json!({}));
        let line = format!("{head} update Shoot ns/x spec.kubernetes.version 1.26.4 → 1.27.1");
        check(Verb::Update, shoots, Some(&new), &moved, &line);
        let status = |progress: i64, state: &str| {
            json!({
                "lastOperation": { "type": "Create", "state": "Processing", "progress": progress, "description": "Working" },
                "conditions": [{ "type": "APIServerAvailable", "status": state, "lastUpdateTime": progress.to_string() }],
                "observedGeneration": progress,
            })
        };
        let (before, after) = (shoot("1.26.4", status(3, "Unknown")), shoot("1.26.4", status(12, "True")));
        let line =
            format!("{head} status Shoot ns/x Create Processing (12%): Working; APIServerAvailable Unknown → True");
        check(Verb::UpdateStatus, shoots, Some(&before), &after, &line);
        check(Verb::Delete, shoots, Some(&after), &after, &format!("{head} delete Shoot ns/x"));
        let event = json!({ "kind": "Event", "metadata": { "name": "x" }, "reason": "Scheduled", "message": "a\nb",
            "involvedObject": { "kind": "Shoot", "name": "local" } });
        let line = format!("{head} create Event ns/x Scheduled of Shoot local: a b");
        check(Verb::Create, "/events", None, &event, &line);
    }

    /// A later release stores an object with its own names of renamed fields.
    #[test]
    fn renamed_fields_are_no_change() {
        let profile = |capabilities: &str, value: &str, manager: &str| {
            json!({ "kind": "CloudProfile", "metadata": { "name": "x", "managedFields": [{ "manager": manager }] },
                "spec": { capabilities: [{ "name": "architecture", "values": [value] }] } })
        };
        let head = "42 2023-07-27T20:00:00Z gardenlet update CloudProfile ns/x";
        let line = format!("{head} metadata.managedFields[a].manager removed; metadata.managedFields[b].manager = b");
        let before = profile("capabilities", "amd64", "a");
        let profiles = "core.gardener.cloud/cloudprofiles";
        check(Verb::Update, profiles, Some(&before), &profile("machineCapabilities", "amd64", "b"), &line);
        let path = "spec.machineCapabilities[architecture].values";
        let line = format!("{head} {path} [\"amd64\"] → [\"arm64\"]");
        check(Verb::Update, profiles, Some(&before), &profile("machineCapabilities", "arm64", "a"), &line);
    }

    #[test]
    fn values_of_secrets_are_never_shown() {
        let secret = |value: &str| json!({ "kind": "Secret", "metadata": { "name": "x" }, "data": { "a": value } });
        let (before, after) = (secret("cGFz1"), secret("cGFz2"));
        let entry = entry(Verb::Update, "/secrets", Some(&before), &after);
        let told = ReadEntry::of(&entry);
        for text in [told.line(), told.difference().join("\n"), told.json().to_string()] {
            assert!(text.contains("data.a") && !text.contains("cGFz"), "{text}");
        }
    }
}
