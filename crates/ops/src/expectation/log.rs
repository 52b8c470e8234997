// SPDX-License-Identifier: Apache-2.0
//! Expectations about the history of a landscape: entries of its log.

use apiextensions::Expression;
use eventlog::{Entry, Verb};
use serde_json::Value;

use super::count::Count;
use super::cursor::{Cursor, Fields};
use super::target::{Amount, Target};
use super::{Defaults, Times};
use crate::Error;
use crate::history::entry::ReadEntry;
use crate::history::writers;
use crate::instant::Place;
use crate::names::clusters::NamedCluster;
use crate::spelling::nearest;

/// Verbs of entries.
const VERBS: [(&str, Verb); 4] =
    [("create", Verb::Create), ("update", Verb::Update), ("status", Verb::UpdateStatus), ("delete", Verb::Delete)];
/// Actor that stands for every component of Gardener.
const COMPONENT: &str = "component";

/// Expected entries.
#[derive(Clone, Debug)]
pub struct LogItem {
    /// Objects of the entries; `None`: all.
    target: Option<Target>,
    /// Writer of the entries, and true if every other writer is meant.
    actor: Option<(String, bool)>,
    verb: Option<Verb>,
    /// Cluster of the entries; `None`: all.
    pub cluster: Option<NamedCluster>,
    /// First position; `None`: the beginning.
    pub since: Option<Place>,
    /// Last position; `None`: the end.
    pub until: Option<Place>,
    count: Option<Count>,
    pub(super) expressions: Vec<Expression>,
}

/// Entries that match, and the known writers of all.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    matching: Vec<Value>,
    has_actor: bool,
}

impl LogItem {
    /// Reads `{object?, actor?, verb?, cluster?, since?, until?}`; `count` and `expressions`: the modifiers next to it.
    pub(super) fn read(
        cursor: Cursor<'_>,
        count: Option<Count>,
        expressions: Vec<Expression>,
        defaults: &Defaults,
    ) -> Result<Self, Error> {
        let fields = cursor.fields("`log`", &["object", "actor", "verb", "cluster", "since", "until"])?;
        if count.is_none() && expressions.is_empty() {
            return Err(cursor.refuse("nothing is expected of the log", "add `count` or `cel`"));
        }
        let cluster = match fields.get("cluster") {
            None => None,
            Some(given) => {
                let parsed = given.text("`cluster`")?.parse::<NamedCluster>();
                Some(parsed.map_err(|hint| given.refuse(format!("{} is no cluster", given.value), hint))?)
            }
        };
        let defaults =
            Defaults { cluster: cluster.clone().unwrap_or_else(|| defaults.cluster.clone()), ..defaults.clone() };
        let target = match fields.get("object") {
            Some(given) if given.value.is_string() => Some(Target::read_short(given, "`object`", &defaults)?),
            Some(given) => Some(Target::read(given, "`object`", Amount::Any, &defaults)?),
            None => None,
        };
        if let (Some(target), Some(given)) = (&target, fields.get("object"))
            && !(target.labels.is_empty() && target.fields.is_empty())
        {
            return Err(given.refuse("entries of the log are not selected by labels or fields", "use `cel`"));
        }
        let verb = match (fields.text("verb")?, fields.get("verb")) {
            (Some(text), Some(given)) => match VERBS.iter().find(|(name, _)| *name == text) {
                Some((_, verb)) => Some(*verb),
                None => {
                    let hint = format!("use {}", VERBS.map(|(name, _)| name).join(", "));
                    return Err(given.refuse(format!("`{text}` is no verb"), hint));
                }
            },
            _ => None,
        };
        let actor = fields.text("actor")?.map(|actor| match actor.strip_prefix('!') {
            Some(other) => (other.to_owned(), true),
            None => (actor.to_owned(), false),
        });
        let (since, until) = (place(fields, "since")?, place(fields, "until")?);
        let cluster = cluster.or_else(|| target.as_ref().map(|target| target.cluster.clone()));
        Ok(Self { target, actor, verb, cluster, since, until, count, expressions })
    }

    /// Returns the name of the entries in messages.
    pub(super) fn subject(&self) -> String {
        self.target.as_ref().map_or_else(|| "the log".to_owned(), |target| format!("the log of {target}"))
    }

    /// Adds an entry of the cluster and range, if it matches.
    pub fn add(&self, entry: &Entry, into: &mut Entries) {
        // Heartbeats are not part of the history.
        if entry.volatile {
            return;
        }
        let key = &entry.key;
        let is_of = |target: &Target| {
            target.row.log_resource() == *key.resource
                && target.namespace.as_deref().is_none_or(|namespace| namespace == &*key.namespace)
                && target.name.as_deref().is_none_or(|name| name == &*key.name)
        };
        let read = ReadEntry::of(entry);
        let is_by = |name: &str| {
            if name == COMPONENT {
                return !entry.actor.version.is_empty();
            }
            let names = [Some(&*entry.actor.component), Some(&*entry.actor.user), read.controller()];
            names.into_iter().flatten().any(|known| writers::is_meant(name, known))
        };
        let is_written = self.actor.as_ref().is_none_or(|(name, is_other)| {
            let is_by = is_by(name);
            into.has_actor |= is_by;
            is_by != *is_other
        });
        let is_verb = self.verb.is_none_or(|verb| verb == entry.verb);
        if is_written && is_verb && self.target.as_ref().is_none_or(is_of) {
            into.matching.push(read.json());
        }
    }

    /// Returns the differences from the entries.
    pub(super) fn differences(&self, entries: &Entries, times: Times) -> Vec<String> {
        let mut lines = Vec::new();
        // A misspelt name has no entries, as is perhaps expected.
        if let Some((name, _)) = self.actor.as_ref().filter(|(name, _)| !entries.has_actor && name != COMPONENT)
            && !writers::names().any(|known| writers::is_meant(name, known))
        {
            let near = nearest(name, writers::names());
            lines.push(format!("{}: no entry in the range is by `{name}`; {near}", self.subject()));
        }
        let found = entries.matching.len();
        if let Some(count) = self.count.filter(|count| !count.holds(found as u64)) {
            let last = entries.matching.last().map_or_else(String::new, |entry| {
                let text = |field: &str| entry[field].as_str().unwrap_or_default();
                let place =
                    if text("namespace").is_empty() { String::new() } else { format!("{}/", text("namespace")) };
                let object = format!("{} {place}{}", text("kind"), text("name"));
                format!(" (last: revision {}, {} {object} by {})", entry["revision"], text("verb"), text("user"))
            });
            lines.push(format!("{}: expected {count} entries, found {found}{last}", self.subject()));
        }
        let entries = Value::Array(entries.matching.clone());
        super::judging::judge(&self.expressions, ("entries", &entries), times, &mut lines);
        lines
    }
}

/// Reads a position in the log.
fn place(fields: Fields<'_>, key: &str) -> Result<Option<Place>, Error> {
    let Some(given) = fields.get(key) else { return Ok(None) };
    let text = given.literal().unwrap_or_default();
    if text.starts_with("step ") {
        return Err(given.refuse(format!("`{text}` names a step of a scenario"), "use a revision or an instant"));
    }
    text.parse().map(Some).map_err(|what: String| given.refuse(what, ""))
}
