// SPDX-License-Identifier: Apache-2.0
//! The entries of `metadata.managedFields`: owners of fields after a write, and conflicts that prevent an apply.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::merge::{merged, with_named_parents, without};
use super::path::{Element, text_of};
use super::place::equal;
use super::set::Set;
use super::typed::{Changes, compare, set_of, violations};
use crate::go::quote;
use crate::meta::{ManagedFieldsEntry, Raw, RawExtension, Time};
use crate::schema::Node;
use crate::status::{Status, StatusCause, StatusDetails, reason};

const APPLY: &str = "Apply";
const UPDATE: &str = "Update";
const FIELDS_V1: &str = "FieldsV1";
/// Manager of the fields that existed before the first apply of an untracked object.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// Manager of the fields of the oldest entries, if there were too many.
const ANCIENT: &str = "ancient-changes";
/// Maximum number of entries of operation `Update`.
const MOST_UPDATES: usize = 10;

/// Paths that no manager owns.
const NEVER_OWNED: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// The writer and the time of a write.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// Name of the manager; an empty one is `unknown`.
    pub manager: &'a str,
    /// Version of the kind.
    pub api_version: &'a str,
    /// Subresource of the write; empty for the object itself.
    pub subresource: &'a str,
    /// Landscape time of the write.
    pub now: Time,
    /// True if the subresource can change a top-level field; other fields are not owned by its writers.
    pub owns: fn(&str) -> bool,
}

impl Writer<'_> {
    fn entry(&self, operation: &str) -> ManagedFieldsEntry {
        let manager = if self.manager.is_empty() { "unknown" } else { self.manager };
        ManagedFieldsEntry {
            manager: manager.to_owned(),
            operation: operation.to_owned(),
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
            ..ManagedFieldsEntry::default()
        }
    }
}

/// A version of a kind whose fields have other names than those of the writer's version.
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub struct Version<'a> {
    /// API version, as in entries of `managedFields`.
    pub api_version: &'a str,
    /// Schema of this version.
    pub schema: &'a Node,
    /// Converts a whole object to this version.
    pub to: Box<dyn Fn(&Value) -> Value + 'a>,
    /// Converts a whole object of this version to the writer's.
    pub from: Box<dyn Fn(&Value) -> Value + 'a>,
}

/// The versions of a kind.
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub struct Versions<'a> {
    /// The version of the writer.
    pub own: &'a str,
    /// Schema of the writer's version.
    pub schema: &'a Node,
    /// Versions whose fields have other names. All versions that are not listed have the fields of the writer's.
    pub others: &'a [Version<'a>],
}

impl<'a> Versions<'a> {
    fn other(&self, version: &str) -> Option<&Version<'a>> {
        self.others.iter().find(|other| other.api_version == version)
    }

    /// Returns the version in whose fields an entry is written.
    fn known(&self, version: &str) -> &'a str {
        self.others.iter().find(|other| other.api_version == version).map_or(self.own, |other| other.api_version)
    }

    fn schema_of(&self, version: &str) -> &'a Node {
        self.others.iter().find(|other| other.api_version == version).map_or(self.schema, |other| other.schema)
    }

    fn convert<'v>(&self, tree: &'v Value, from: &str, to: &str) -> Cow<'v, Value> {
        if from == to {
            return Cow::Borrowed(tree);
        }
        let own = self.other(from).map_or(Cow::Borrowed(tree), |other| Cow::Owned((other.from)(tree)));
        match self.other(to) {
            Some(other) => Cow::Owned((other.to)(&own)),
            None => own,
        }
    }
}

/// One manager's entry with its parsed fields.
#[derive(Clone, Debug, PartialEq)]
struct Owner {
    entry: ManagedFieldsEntry,
    fields: Set,
}

/// Identity of a manager, which also orders conflicts: the JSON of an entry without time and fields, and for operation
/// `Apply` without version.
fn identity(entry: &ManagedFieldsEntry) -> String {
    let api_version = if entry.operation == APPLY { "" } else { entry.api_version.as_str() };
    let fields = [
        ("manager", entry.manager.as_str()),
        ("operation", entry.operation.as_str()),
        ("apiVersion", api_version),
        ("subresource", entry.subresource.as_str()),
    ];
    let present = fields.iter().filter(|(_, value)| !value.is_empty());
    let texts: Vec<String> = present.map(|(name, value)| format!("{}:{}", json(name), json(value))).collect();
    format!("{{{}}}", texts.join(","))
}

fn json(text: &str) -> String {
    Value::from(text).to_string()
}

/// Entries by their identity.
type Owners = BTreeMap<String, Owner>;

fn read(entries: &[ManagedFieldsEntry]) -> Result<Owners, String> {
    let mut owners = Owners::new();
    for (position, entry) in entries.iter().enumerate() {
        if !matches!(entry.operation.as_str(), APPLY | UPDATE) {
            return Err("operation must be `Apply` or `Update`".to_owned());
        }
        if entry.api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match entry.fields_type.as_str() {
            FIELDS_V1 => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {position}")),
            other => {
                return Err(format!("invalid fieldsType {} in managed fields entry {position}", quote(other)));
            }
        }
        let fields = fields_of(entry)?;
        owners.insert(identity(entry), Owner { entry: entry.clone(), fields });
    }
    Ok(owners)
}

fn fields_of(entry: &ManagedFieldsEntry) -> Result<Set, String> {
    match &entry.fields_v1 {
        Some(raw) => Set::from_fields_v1(raw.0.text()),
        None => Ok(Set::default()),
    }
}

fn write(owners: Owners) -> Vec<ManagedFieldsEntry> {
    let entries = owners.into_values().map(|Owner { entry, fields }| ManagedFieldsEntry {
        fields_type: FIELDS_V1.to_owned(),
        fields_v1: Some(RawExtension(Raw::of_json(&fields.to_fields_v1()))),
        ..entry
    });
    let mut entries: Vec<ManagedFieldsEntry> = entries.collect();
    sort(&mut entries);
    entries
}

fn sort(entries: &mut [ManagedFieldsEntry]) {
    entries.sort_by(|one, two| {
        let key = |entry: &ManagedFieldsEntry| (seconds(entry.time), entry.manager.clone());
        let rest = |entry: &ManagedFieldsEntry| (entry.api_version.clone(), entry.subresource.clone());
        one.operation.cmp(&two.operation).then_with(|| key(one).cmp(&key(two))).then_with(|| rest(one).cmp(&rest(two)))
    });
}

fn seconds(time: Option<Time>) -> i64 {
    time.map_or(0, |time| time.0.timestamp())
}

/// Converts a client's entries to the form in which the server keeps them.
///
/// # Errors
/// An invalid entry, with upstream's text.
pub fn decode(entries: &[ManagedFieldsEntry]) -> Result<Vec<ManagedFieldsEntry>, String> {
    read(entries).map(write)
}

/// True if two lists of entries differ, but only in times.
pub fn differ_in_time_only(one: &[ManagedFieldsEntry], two: &[ManagedFieldsEntry]) -> bool {
    let by_identity = |entries: &[ManagedFieldsEntry]| -> BTreeMap<String, Option<RawExtension>> {
        entries
            .iter()
            .map(|entry| (format!("{}{}", identity(entry), entry.api_version), entry.fields_v1.clone()))
            .collect()
    };
    one.len() == two.len() && one != two && by_identity(one) == by_identity(two)
}

/// Returns the entries after a write other than an apply.
///
/// All other managers lose the changed and removed fields; the writer gains the changed ones. An empty entry is
/// removed. Of more than ten entries of this operation the oldest are merged into one, `ancient-changes`. Entries that
/// cannot be affected are not parsed.
pub fn update(entries: &[ManagedFieldsEntry], changes: &Changes, writer: &Writer<'_>) -> Vec<ManagedFieldsEntry> {
    updated(entries, changes, writer, |_| None)
}

/// Returns the entries like [`update`], for a kind with versions that name its fields in another way: each entry has
/// the fields of the version in which it was written. `old` and `new` are whole objects in the writer's version.
pub fn update_across(
    entries: &[ManagedFieldsEntry],
    (old, new): (&Value, &Value),
    schema: &Node,
    writer: &Writer<'_>,
    others: &[Version<'_>],
) -> Vec<ManagedFieldsEntry> {
    let versions = Versions { own: writer.api_version, schema, others };
    let own = compare(old, new, schema);
    updated(entries, &own, writer, |version| {
        let other = versions.other(version)?;
        Some(compare(&(other.to)(old), &(other.to)(new), other.schema))
    })
}

/// Returns the entries after a write; `in_version` returns the changes in the fields of another version.
fn updated(
    entries: &[ManagedFieldsEntry],
    changes: &Changes,
    writer: &Writer<'_>,
    in_version: impl Fn(&str) -> Option<Changes>,
) -> Vec<ManagedFieldsEntry> {
    let changes = changes.retain(writer.owns);
    if changes.is_empty() {
        return entries.to_vec();
    }
    let taken = changes.taken();
    let lost = taken.union(&changes.removed);
    let ends = lost.ends();
    let mut own = writer.entry(UPDATE);
    let own_identity = identity(&own);
    let gained = taken.difference(&Set::of_names(NEVER_OWNED));
    let mut out: Vec<ManagedFieldsEntry> = Vec::with_capacity(entries.len() + 1);
    let mut previous = None;
    for entry in entries {
        let is_own = entry.operation == UPDATE && identity(entry) == own_identity;
        let text = entry.fields_v1.as_ref().map_or("", |raw| raw.0.text());
        let elsewhere = in_version(&entry.api_version).map(|changes| {
            let changes = changes.retain(writer.owns);
            changes.taken().union(&changes.removed)
        });
        if !is_own && elsewhere.is_none() && !ends.iter().any(|end| text.contains(end.as_str())) {
            out.push(entry.clone());
            continue;
        }
        let Ok(fields) = fields_of(entry) else { continue };
        let left = fields.difference(elsewhere.as_ref().unwrap_or(&lost));
        if is_own {
            previous = Some((entry.time, left));
        } else if left == fields {
            out.push(entry.clone());
        } else if !left.is_empty() {
            out.push(with_fields(entry.clone(), &left));
        }
    }
    let (time, left) = previous.unwrap_or_default();
    own.time = if gained.is_empty() { time } else { Some(writer.now) };
    let fields = left.union(&gained);
    if !fields.is_empty() {
        out.push(with_fields(own, &fields));
    }
    cap(&mut out);
    sort(&mut out);
    out
}

fn with_fields(entry: ManagedFieldsEntry, fields: &Set) -> ManagedFieldsEntry {
    let fields_v1 = Some(RawExtension(Raw::of_json(&fields.to_fields_v1())));
    ManagedFieldsEntry { fields_type: FIELDS_V1.to_owned(), fields_v1, ..entry }
}

/// Merges the oldest entries of operation `Update` until their number is within the limit.
fn cap(entries: &mut Vec<ManagedFieldsEntry>) {
    let mut updates: Vec<(i64, String)> = entries
        .iter()
        .filter(|entry| entry.operation == UPDATE)
        .map(|entry| (seconds(entry.time), identity(entry)))
        .collect();
    if updates.len() <= MOST_UPDATES {
        return;
    }
    updates.sort();
    let Ok(mut owners) = read(entries) else { return };
    let mut first_of: BTreeMap<String, String> = BTreeMap::new();
    let mut left = updates.len();
    for (_, manager) in updates {
        if left <= MOST_UPDATES {
            break;
        }
        let Some(version) = owners.get(&manager).map(|owner| owner.entry.api_version.clone()) else { continue };
        let Some(first) = first_of.get(&version).cloned() else {
            first_of.insert(version, manager);
            continue;
        };
        let bucket = ManagedFieldsEntry {
            manager: ANCIENT.to_owned(),
            operation: UPDATE.to_owned(),
            api_version: version,
            ..ManagedFieldsEntry::default()
        };
        let name = identity(&bucket);
        if !owners.contains_key(&name)
            && let Some(oldest) = owners.remove(&first)
        {
            owners.insert(name.clone(), Owner { entry: bucket, fields: oldest.fields });
        }
        if let Some(next) = owners.remove(&manager)
            && let Some(bucket) = owners.get_mut(&name)
        {
            bucket.fields = bucket.fields.union(&next.fields);
            bucket.entry.time = next.entry.time;
            left -= 1;
        }
    }
    *entries = write(owners);
}

/// Returns the entries of an untracked object that is now written: the writer owns all of it.
///
/// `empty` is a new object in which no field was set.
pub fn track_all(empty: &Value, object: &Value, schema: &Node, writer: &Writer<'_>) -> Vec<ManagedFieldsEntry> {
    update(&[], &compare(empty, object, schema), writer)
}

/// A field of another manager that an apply would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Manager of the field, as conflicts show it: `"name" with subresource "status" using v1`.
    pub manager: String,
    /// The field.
    pub path: Vec<Element>,
}

/// Reason for which a configuration is not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// The stored entries cannot be read.
    Entries(String),
    /// The configuration is not an object of the type; one text for each violation.
    Typed(Vec<String>),
    /// Conflicts: fields of other managers would change. They are in the order of the managers, then of the paths.
    Conflicts(Vec<Conflict>),
}

/// Result of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object; `None` if it did not change.
    pub object: Option<Value>,
    /// Entries of the object's `managedFields`.
    pub entries: Vec<ManagedFieldsEntry>,
}

/// Applies a configuration to an object.
///
/// `live` has no `managedFields`; for an object that does not exist yet it is `empty`. With `force` fields change their
/// manager instead of being conflicts. Fields that the manager applied before and does not apply any more are removed,
/// unless another manager owns them.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply(
    empty: &Value,
    live: &Value,
    config: &Value,
    entries: &[ManagedFieldsEntry],
    schema: &Node,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Applied, ApplyError> {
    let versions = Versions { own: writer.api_version, schema, others: &[] };
    apply_across(empty, live, config, entries, &versions, writer, force)
}

/// Applies a configuration like [`apply`], for a kind with versions that name its fields in another way. All trees are
/// in the writer's version.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply_across(
    empty: &Value,
    live: &Value,
    config: &Value,
    entries: &[ManagedFieldsEntry],
    versions: &Versions<'_>,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Applied, ApplyError> {
    let schema = versions.schema;
    let before = if entries.is_empty() {
        let unknown = Writer { manager: BEFORE_FIRST_APPLY, ..*writer };
        track_all(empty, live, schema, &unknown)
    } else {
        entries.to_vec()
    };
    let mut owners = read(&before).map_err(ApplyError::Entries)?;
    let violations = violations(config, schema);
    if !violations.is_empty() {
        return Err(ApplyError::Typed(violations));
    }
    let own = writer.entry(APPLY);
    let own_identity = identity(&own);
    let last = owners.remove(&own_identity);
    let config_set = set_of(config, schema).retain(writer.owns);
    let everything = merged(live, config, schema);
    let object = match &last {
        Some(last) if !last.fields.is_empty() => {
            let mut owned: BTreeMap<&str, Set> = BTreeMap::from([(versions.own, config_set.clone())]);
            for owner in owners.values() {
                let set = owned.entry(versions.known(&owner.entry.api_version)).or_default();
                *set = set.union(&owner.fields);
            }
            let home = versions.known(&last.entry.api_version);
            let there =
                pruned(&versions.convert(&everything, versions.own, home), &last.fields, &owned, home, versions);
            versions.convert(&there, home, versions.own).into_owned()
        }
        _ => everything,
    };
    let mut changes = BTreeMap::from([(versions.own, compare(live, &object, schema).retain(writer.owns))]);
    for other in versions.others {
        let changed = compare(&(other.to)(live), &(other.to)(&object), other.schema).retain(writer.owns);
        changes.insert(other.api_version, changed);
    }
    let of = |owner: &Owner| &changes[versions.known(&owner.entry.api_version)];
    let conflicts: Vec<Conflict> = owners
        .values()
        .flat_map(|owner| {
            let paths = owner.fields.intersection(&of(owner).taken()).paths();
            paths.into_iter().map(|path| Conflict { manager: shown(&owner.entry), path })
        })
        .collect();
    if !force && !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    for owner in owners.values_mut() {
        let changes = of(owner);
        owner.fields = owner.fields.difference(&changes.taken().union(&changes.removed));
    }
    owners.retain(|_, owner| !owner.fields.is_empty());
    let is_same = equal(live, &object);
    let fields = config_set.difference(&Set::of_names(NEVER_OWNED));
    if !fields.is_empty() {
        // As upstream: if the object does not change, neither does the time.
        let previous = last.and_then(|last| last.entry.time);
        let time = if is_same { previous } else { Some(writer.now) };
        owners.insert(own_identity, Owner { entry: ManagedFieldsEntry { time, ..own }, fields });
    }
    Ok(Applied { object: (!is_same).then_some(object), entries: write(owners) })
}

/// Returns the merged object without the fields that its applier has given up and no other manager owns. `merged` and
/// `last` are in version `home`; `owned` are the owned fields, by version.
fn pruned(merged: &Value, last: &Set, owned: &BTreeMap<&str, Set>, home: &str, versions: &Versions<'_>) -> Value {
    let schema = versions.schema_of(home);
    let fields = |value: &Value| with_named_parents(&set_of(value, schema), schema);
    let last = with_named_parents(last, schema);
    let mut rest = without(merged, &last, schema);
    // Fields with another manager are restored,
    let elsewhere = owned.keys().filter(|version| **version != home);
    for version in std::iter::once(&home).chain(elsewhere) {
        let Some(set) = owned.get(version) else { continue };
        let schema = versions.schema_of(version);
        let fields = |value: &Value| with_named_parents(&set_of(value, schema), schema);
        let whole = versions.convert(merged, home, version);
        let owned = fields(&versions.convert(&rest, home, version)).union(&with_named_parents(set, schema));
        let kept = without(&whole, &fields(&whole).difference(&owned), schema);
        rest = versions.convert(&kept, version, home).into_owned();
    }
    // and so are fields that this applier never owned.
    let gone = fields(merged).difference(&fields(&rest)).intersection(&last);
    without(merged, &gone, schema)
}

/// Formats a manager for conflicts. Upstream never shows a time here: the identity of a manager holds none.
fn shown(entry: &ManagedFieldsEntry) -> String {
    let mut text = quote(&entry.manager);
    if !entry.subresource.is_empty() {
        text.push_str(" with subresource ");
        text.push_str(&quote(&entry.subresource));
    }
    if entry.operation == UPDATE {
        text.push_str(" using ");
        text.push_str(&entry.api_version);
    }
    text
}

/// Returns a 409 for conflicts, with a cause for each.
pub fn conflict_status(conflicts: &[Conflict]) -> Status {
    let message = match conflicts {
        [one] => {
            format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, text_of(&one.path))
        }
        several => {
            let mut lines = Vec::new();
            let mut known: Option<&str> = None;
            for conflict in several {
                if known != Some(conflict.manager.as_str()) {
                    lines.push(format!("conflicts with {}:", conflict.manager));
                    known = Some(&conflict.manager);
                }
                lines.push(format!("- {}", text_of(&conflict.path)));
            }
            format!("Apply failed with {} conflicts: {}", several.len(), lines.join("\n"))
        }
    };
    let causes = conflicts.iter().map(|conflict| StatusCause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", conflict.manager),
        field: text_of(&conflict.path),
    });
    let mut status = Status::failure(409, reason::CONFLICT, message);
    status.details = Some(StatusDetails { causes: causes.collect(), ..StatusDetails::default() });
    status
}

/// Returns the conflicts that remain for an object of client-side apply: a field whose value equals that in the last
/// applied configuration may be taken over.
///
/// `None`: the configuration is of another version, or missing, so that all remain.
pub fn allowed_by_last_applied(
    conflicts: &[Conflict],
    last_applied: &str,
    live: &Value,
    schema: &Node,
    api_version: &str,
) -> Option<Vec<Conflict>> {
    let config: Value = serde_json::from_str(last_applied).ok()?;
    if config.get("apiVersion").and_then(Value::as_str) != Some(api_version) || !violations(&config, schema).is_empty()
    {
        return None;
    }
    let changes = compare(&config, live, schema);
    let differing = changes.taken().union(&changes.removed);
    let allowed = set_of(&config, schema).difference(&differing);
    let allowed: BTreeSet<Vec<Element>> = allowed.paths().into_iter().collect();
    Some(conflicts.iter().filter(|conflict| !allowed.contains(&conflict.path)).cloned().collect())
}
