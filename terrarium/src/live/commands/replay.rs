// SPDX-License-Identifier: Apache-2.0
//! `terrarium replay`: folds the log again, and compares the result with the live state.
//!
//! This process starts from the base checkpoint, or from nothing, and uses only entries. Every collection of the API is
//! listed at some revision; the fold is computed up to exactly that revision and compared object by object. Objects without
//! a kind in the catalogue are compared with the log's own state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::catalogue;
use api::constants::{annotation, namespace};
use apimachinery::catalogue::ResourceInfo;
use apimachinery::schema::EACH;
use clap::Args;
use controller::push_query;
use eventlog::{Key, Replay, Revision, Sections};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::live::ask::{self, kinds};
use crate::live::history::Past;
use crate::live::{Which, block_on};
use crate::output::{Form, Output};
use ops::history::changes::{self, Change};
use ops::history::entry::tree;
use ops::spelling::{counted, plural};

/// Maximum number of lists of a collection with heartbeats, which may change between list and comparison.
const ATTEMPTS: u32 = 5;
/// Number of objects in a page.
const PAGE: &str = "500";
/// Maximum number of differences that are listed.
const NAMED: usize = 2;

/// Fold the log again, also of a landscape that is stopped
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Compare with the lists of the API, object by object
    #[arg(long)]
    verify: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Result of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) base: Revision,
    pub(crate) head: Revision,
    pub(crate) entries: u64,
    pub(crate) objects: usize,
    pub(crate) hash: String,
    /// Numbers of compared collections and objects.
    pub(crate) compared: (usize, usize),
    pub(crate) differences: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let outcome = block_on(async {
        let past = Past::open(&directory).await?;
        let outcome = replay(&past, arguments.verify).await;
        past.close().await?;
        outcome
    })?;
    let Outcome { base, head, entries, objects, hash, compared, differences } = &outcome;
    if arguments.output != Form::Text {
        let mut record =
            json!({ "base": base.0, "head": head.0, "entries": entries, "objects": objects, "hash": hash });
        if arguments.verify {
            record["compared"] = json!({ "collections": compared.0, "objects": compared.1 });
            record["differences"] = json!(differences);
        }
        output.record(arguments.output, &record)?;
        return if differences.is_empty() { Ok(()) } else { Err(Failure::ExitCode(1)) };
    }
    output.line(&format!(
        "replayed {}, from revision {base} to {head}: {}, hash {hash}",
        counted(*entries, "entry", "entries"),
        plural(*objects, "object")
    ))?;
    if !arguments.verify {
        return Ok(());
    }
    if differences.is_empty() {
        return output.line(&format!(
            "the same as the API lists: {} in {}",
            plural(compared.1, "object"),
            plural(compared.0, "collection")
        ));
    }
    let named = differences.iter().take(NAMED).cloned().collect::<Vec<_>>().join("\n  ");
    Err(Failure::Failed(format!(
        "{} from what the API lists:\n  {named}",
        counted(differences.len(), "object differs", "objects differ")
    )))
}

/// Folds a log; with `verify`, compares the result.
pub(crate) async fn replay(past: &Past, verify: bool) -> Result<Outcome, Failure> {
    let base = past.base().await?;
    let mut fold = Fold { past, replay: Replay::new(), at: base };
    if base > Revision(0) {
        fold.replay = Replay::starting_at(past.state_at(base).await?);
    }
    let mut head = past.head().await?;
    fold.to(head).await?;
    let (mut compared, mut differences) = ((0, 0), Vec::new());
    if verify {
        let mut covered = BTreeSet::new();
        for row in fold.rows() {
            covered.insert(row.log_resource());
            let (objects, found) = compare(&mut fold, row).await?;
            compared = (compared.0 + 1, compared.1 + objects);
            differences.extend(found);
        }
        head = fold.at;
        let rest = |key: &Key| !covered.contains(&*key.resource);
        let mut live = past.state_at(head).await?;
        live.retain(|(key, ..)| rest(key));
        differences.extend(uncovered(&fold.replay, rest, &live));
        compared.1 += live.len();
    }
    Ok(Outcome {
        base,
        head,
        entries: fold.replay.entries(),
        objects: fold.replay.state().len(),
        hash: fold.replay.hash(),
        compared,
        differences,
    })
}

/// A replay that can be continued.
struct Fold<'a> {
    past: &'a Past,
    replay: Replay,
    at: Revision,
}

impl Fold<'_> {
    async fn to(&mut self, to: Revision) -> Result<(), Failure> {
        let replay = &mut self.replay;
        self.past
            .each(self.at, to, None, |entry| {
                replay.push(entry);
                Ok(true)
            })
            .await?;
        self.at = self.at.max(to);
        Ok(())
    }

    /// One row per resource, in the version in which its objects are stored.
    fn rows(&self) -> Vec<&'static ResourceInfo> {
        let mut stored: BTreeMap<Arc<str>, String> = BTreeMap::new();
        for (key, (revision, sections)) in self.replay.state() {
            stored
                .entry(key.resource.clone())
                .or_insert_with(|| tree(sections, revision.0)["apiVersion"].as_str().unwrap_or_default().to_owned());
        }
        let mut rows: BTreeMap<String, &ResourceInfo> = BTreeMap::new();
        for row in catalogue::all() {
            let resource = row.log_resource();
            let is_stored = stored.get(resource.as_str()).is_none_or(|version| *version == kinds::api_version(row));
            if is_stored {
                rows.entry(resource).or_insert(row);
            }
        }
        rows.into_values().collect()
    }
}

/// Compares a collection across all clusters; returns the number of objects, and the differences.
async fn compare(fold: &mut Fold<'_>, row: &ResourceInfo) -> Result<(usize, Vec<String>), Failure> {
    let mut attempts = ATTEMPTS;
    loop {
        let (revision, listed) = list(fold.past, row).await?;
        if revision < fold.at {
            let what =
                format!("{} are listed as of revision {revision}, after {} was acknowledged", row.plural, fold.at);
            return Ok((listed.len(), vec![what]));
        }
        fold.to(revision).await?;
        let differences = differences(fold, row, &listed);
        attempts -= 1;
        // A heartbeat is dropped from the log when the next one is written: the list may show it, but the fold cannot.
        if differences.is_empty() || row.heartbeat_fields.is_empty() || attempts == 0 {
            return Ok((listed.len(), differences));
        }
    }
}

/// Lists a collection by cluster, namespace and name; returns the revision of the list as well.
async fn list(past: &Past, row: &ResourceInfo) -> Result<(Revision, BTreeMap<Key, Value>), Failure> {
    let cluster = if catalogue::is_aggregated(row) { "garden" } else { "*" };
    let (mut objects, mut next) = (BTreeMap::new(), String::new());
    loop {
        let mut path = kinds::path(cluster, row, None, None);
        push_query(&mut path, "limit", PAGE);
        if !next.is_empty() {
            push_query(&mut path, "continue", &next);
        }
        let mut page = ask::tree(&past.transport, &path, "application/json").await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let revision = text(&page["metadata"]["resourceVersion"]).parse().map(Revision);
        let revision = revision.map_err(|_| Failure::Failed(format!("the list at {path} has no resourceVersion")))?;
        for mut object in page["items"].as_array_mut().map(std::mem::take).unwrap_or_default() {
            object["apiVersion"] = kinds::api_version(row).into();
            object["kind"] = row.kind.into();
            let of = if cluster == "*" { take_cluster(&mut object) } else { cluster.to_owned() };
            let metadata = &object["metadata"];
            let key = Key::new(&of, &row.log_resource(), &text(&metadata["namespace"]), &text(&metadata["name"]));
            objects.insert(key, object);
        }
        next = text(&page["metadata"]["continue"]);
        if next.is_empty() {
            return Ok((revision, objects));
        }
    }
}

/// Removes the annotation with the cluster from an object that was listed across all clusters.
fn take_cluster(object: &mut Value) -> String {
    let Some(metadata) = object["metadata"].as_object_mut() else { return String::new() };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return String::new();
    };
    let cluster = annotations.remove(annotation::CLUSTER);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    cluster.and_then(|cluster| Some(cluster.as_str()?.to_owned())).unwrap_or_default()
}

fn differences(fold: &Fold<'_>, row: &ResourceInfo, listed: &BTreeMap<Key, Value>) -> Vec<String> {
    let resource = row.log_resource();
    let is_of = |key: &Key| *key.resource == *resource;
    let own: BTreeMap<&Key, &(Revision, Sections)> = fold.replay.state().iter().filter(|(key, _)| is_of(key)).collect();
    let mut found = Vec::new();
    for key in own.keys().copied().chain(listed.keys().filter(|key| !own.contains_key(*key))) {
        let text = match (own.get(key), listed.get(key)) {
            (Some((at, sections)), Some(listed)) => {
                let mut differing = changes::between(&tree(sections, at.0), listed);
                differing.retain(|change| !is_computed(key, &change.path) && !is_of_other_release(row, change));
                differing.first().map(|change| format!("{key}: replayed and listed differ: {}", change.line(60)))
            }
            (Some((at, _)), None) => Some(format!("{key}: replayed at revision {at}, and not listed")),
            (None, Some(_)) => Some(format!("{key}: listed, and not replayed")),
            (None, None) => None,
        };
        found.extend(text);
    }
    found
}

/// True if an API server shows a field different from its stored value because only some releases have it: a field of
/// another release is hidden, and one added after the last write has its default.
fn is_of_other_release(row: &ResourceInfo, change: &Change) -> bool {
    if change.before.is_some() && change.after.is_some() {
        return false;
    }
    let mut words = Vec::new();
    let mut rest = change.path.as_str();
    while let Some(begin) = rest.find(['.', '[']) {
        let is_item = rest[begin..].starts_with('[');
        let word = &rest[begin + 1..];
        let end = if is_item { word.find(']').map(|end| end + 1) } else { word.find(['.', '[']) };
        let end = end.unwrap_or(word.len());
        words.push(if is_item { EACH } else { &word[..end] });
        rest = &word[end..];
    }
    row.fields.iter().any(|field| words.starts_with(field.path))
}

/// True if a field is computed when it is read: the log has neither the time of the clock nor the state of a process.
fn is_computed(key: &Key, path: &str) -> bool {
    match &*key.resource {
        "terrarium.dev/clocks" => path.starts_with(".status"),
        "coordination.k8s.io/leases" => &*key.namespace == namespace::SEED_LEASE && path == ".spec.renewTime",
        _ => false,
    }
}

/// Compares objects without a kind in the catalogue with the log's own state.
fn uncovered(replay: &Replay, rest: impl Fn(&Key) -> bool, live: &[(Key, Revision, Sections)]) -> Vec<String> {
    let live: BTreeMap<&Key, (&Revision, &Sections)> =
        live.iter().map(|(key, at, object)| (key, (at, object))).collect();
    let own: BTreeMap<&Key, (&Revision, &Sections)> =
        replay.state().iter().filter(|(key, _)| rest(key)).map(|(key, (at, object))| (key, (at, object))).collect();
    let keys: BTreeSet<&Key> = own.keys().chain(live.keys()).copied().collect();
    let differ = keys.into_iter().filter(|key| own.get(key) != live.get(key));
    differ.map(|key| format!("{key}: replayed, and the log's own state, differ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_other_releases_are_no_difference() {
        let row = catalogue::of::<api::core::Seed>();
        let differing = |stored: Value, listed: Value| {
            let mut found = changes::between(&stored, &listed);
            found.retain(|change| !is_of_other_release(row, change));
            found.into_iter().map(|change| change.path).collect::<Vec<_>>()
        };
        let seed = |dns: Value, settings: Value| json!({ "spec": { "dns": dns, "settings": settings } });
        let secret = json!({ "provider": { "type": "local", "secretRef": { "name": "a" } } });
        let listed = seed(json!({ "provider": { "type": "local" } }), json!({}));
        assert_eq!(differing(seed(secret.clone(), json!({})), listed.clone()), [""; 0], "hidden");
        let defaulted = json!({ "loadBalancerServices": { "zonalIngress": { "enabled": true } } });
        assert_eq!(differing(listed.clone(), seed(json!({ "provider": { "type": "local" } }), defaulted)), [""; 0]);
        let other = json!({ "provider": { "type": "local", "secretRef": { "name": "b" } } });
        let text = ".spec.dns.provider.secretRef.name";
        assert_eq!(differing(seed(secret, json!({})), seed(other, json!({}))), [text], "another value");
        assert_eq!(differing(listed, seed(json!({}), json!({}))), [".spec.dns.provider.type"]);
    }
}
