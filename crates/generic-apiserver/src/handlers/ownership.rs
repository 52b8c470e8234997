// SPDX-License-Identifier: Apache-2.0
//! Managed fields of every write: the manager, the tracked objects, and the entries after the write.
//!
//! An object is tracked from its creation on if its creator has a name of its own: a `fieldManager`, or a `User-Agent`.
//! Objects that the landscape's own components and commands create are not tracked until a client applies to them; from
//! then on writes of components and commands are tracked, too.
//!
//! Unlike upstream, where every object is tracked. Most writes of a landscape are those of its components, to objects
//! to which no client applies, and entries would be more than half of their size in the log.

use std::borrow::Cow;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::fields::{self, Writer};
use apimachinery::meta::{ManagedFieldsEntry, Time};
use apimachinery::schema::Node;
use http::header::USER_AGENT;
use serde_json::Value;

use super::Scope;
use crate::heartbeat;
use crate::kind::AnyObject;
use crate::storage::stored::Stored;

/// Longest name of a manager that is taken from `User-Agent`, in bytes.
const LONGEST: usize = 128;

/// Managed fields in a client's new version of an object.
#[derive(Clone, Debug, Default)]
pub(super) enum ClientEntries {
    /// No entries that count.
    #[default]
    Nothing,
    /// An empty list: the object is not tracked any more.
    Reset,
    /// Entries of the object.
    Entries(Vec<ManagedFieldsEntry>),
}

impl ClientEntries {
    /// Reads the entries from `tree`, the tree of a new version, before anything else reads them: an empty list differs
    /// from no list.
    pub(super) fn of(tree: &Value) -> Self {
        match tree.get("metadata").and_then(|metadata| metadata.get("managedFields")) {
            Some(Value::Array(entries)) => match entries.as_slice() {
                [] => Self::Reset,
                [Value::Object(entry)] if entry.is_empty() => Self::Reset,
                _ => Self::Entries(Vec::new()),
            },
            _ => Self::Nothing,
        }
    }

    /// Replaces the entries by `entries`, their typed form.
    pub(super) fn with(self, entries: Vec<ManagedFieldsEntry>) -> Self {
        match self {
            Self::Entries(_) => Self::Entries(entries),
            other => other,
        }
    }
}

/// Version in which a client reads and writes.
pub(super) struct ClientVersion<'a> {
    pub(super) api_version: &'a str,
    pub(super) info: &'a ResourceInfo,
    pub(super) node: &'a Node,
}

impl Scope {
    pub(super) fn spoken(&self) -> ClientVersion<'_> {
        let names = self.names();
        match &self.via {
            // A custom kind of a cluster is merged by the row's tree, which also decodes it.
            Some(view) if view.is_alike() => {
                ClientVersion { api_version: &view.api_version, info: &view.info, node: &names.node }
            }
            Some(view) => ClientVersion { api_version: &view.api_version, info: &view.info, node: &view.node },
            None => ClientVersion { api_version: &names.api_version, info: &names.info, node: &names.node },
        }
    }

    /// Returns a stored object in the client's version.
    pub(super) fn in_spoken<'v>(&self, stored: &'v Value) -> Cow<'v, Value> {
        match &self.via {
            Some(view) if !view.is_alike() => Cow::Owned(view.shown(stored)),
            _ => Cow::Borrowed(stored),
        }
    }

    /// Returns an object of the client's version in the stored form.
    pub(super) fn in_stored(&self, spoken: Value) -> Value {
        match &self.via {
            Some(view) if !view.is_alike() => view.stored(&spoken),
            _ => spoken,
        }
    }

    /// Returns the versions of the kind that name fields in another way than the client's version.
    pub(super) fn other_versions(&self) -> Vec<fields::Version<'_>> {
        let via = self.via.as_ref().filter(|view| !view.is_alike());
        let mut all = Vec::new();
        if let Some(via) = via {
            let names = self.names();
            all.push(fields::Version {
                api_version: &names.api_version,
                schema: &names.node,
                to: Box::new(move |tree| via.stored(tree)),
                from: Box::new(move |tree| via.shown(tree)),
            });
        }
        for view in self.views.iter().filter(|view| via.is_none_or(|via| via.api_version != view.api_version)) {
            all.push(fields::Version {
                api_version: &view.api_version,
                schema: &view.node,
                to: Box::new(move |tree| match via {
                    Some(via) => view.shown(&via.stored(tree)),
                    None => view.shown(tree),
                }),
                from: Box::new(move |tree| match via {
                    Some(via) => via.shown(&view.stored(tree)),
                    None => view.stored(tree),
                }),
            });
        }
        all
    }

    /// Returns the entries after a write of a kind that has such versions.
    fn entries_across(&self, known: &[ManagedFieldsEntry], old: &Value, new: &Value) -> Vec<ManagedFieldsEntry> {
        let manager = self.manager();
        let (old, new) = (self.in_spoken(old), self.in_spoken(new));
        let others = self.other_versions();
        fields::update_across(known, (&old, &new), self.spoken().node, &self.writer(&manager), &others)
    }

    /// Returns the name of the writing client; empty if it has none.
    pub(super) fn manager(&self) -> String {
        let named = self.call.query.text("fieldManager");
        if !named.is_empty() {
            return named.to_owned();
        }
        let agent = self.agent();
        if agent.is_empty() {
            let component = self.call.user.component.as_ref();
            return component.map(|(name, _)| name.to_string()).unwrap_or_default();
        }
        agent
    }

    /// Returns `User-Agent` up to the first slash, without unprintable characters.
    fn agent(&self) -> String {
        let agent = self.call.header(USER_AGENT).split('/').next().unwrap_or_default();
        let mut name: String = agent.chars().filter(|character| !character.is_control()).collect();
        while name.len() > LONGEST {
            name.pop();
        }
        name
    }

    pub(super) fn writer<'a>(&'a self, manager: &'a str) -> Writer<'a> {
        let info = &self.names().info;
        let owns: fn(&str) -> bool = match &*self.context.subresource {
            "status" if info.custom => |name| name == "status",
            "status" => |name| matches!(name, "status" | "metadata"),
            _ if self.names().has_subresource("status") => |name| name != "status",
            _ => |_| true,
        };
        Writer {
            manager,
            api_version: self.spoken().api_version,
            subresource: &self.context.subresource,
            now: Time::from_instant(self.now()),
            owns,
        }
    }

    /// True if a new object is tracked.
    fn tracks_creation(&self) -> bool {
        let user = &self.call.user;
        let is_own = user.component.is_some()
            || user.name.starts_with("system:") && !user.name.starts_with("system:serviceaccount:");
        if is_own {
            return false;
        }
        if !self.call.query.text("fieldManager").is_empty() {
            return true;
        }
        let agent = self.agent();
        !agent.is_empty() && !self.server.own_agents.contains(&agent.as_str())
    }

    /// Returns the entries of a new object.
    pub(super) fn entries_of_new(&self, object: &AnyObject, given: &ClientEntries) -> Vec<ManagedFieldsEntry> {
        let known = match given {
            ClientEntries::Entries(entries) => fields::decode(entries).unwrap_or_default(),
            ClientEntries::Nothing | ClientEntries::Reset => Vec::new(),
        };
        if matches!(given, ClientEntries::Reset) || known.is_empty() && !self.tracks_creation() {
            return Vec::new();
        }
        let tree = self.kind.to_tree_without_entries(object);
        if !self.views.is_empty() {
            return self.entries_across(&known, &self.kind.empty_tree(), &tree);
        }
        let changes = fields::compare(&self.kind.empty_tree(), &tree, &self.names().node);
        fields::update(&known, &changes, &self.writer(&self.manager()))
    }

    /// Returns the entries of a changed object. Only the sections that differ are compared.
    pub(super) fn entries_of_changed(
        &self,
        object: &AnyObject,
        old: &AnyObject,
        given: &ClientEntries,
    ) -> Vec<ManagedFieldsEntry> {
        let stored = &self.kind.metadata(old).managed_fields;
        let known = match given {
            _ if !self.context.subresource.is_empty() => None,
            ClientEntries::Reset => return Vec::new(),
            ClientEntries::Entries(entries) if entries != stored => {
                fields::decode(entries).ok().filter(|entries| !entries.is_empty())
            }
            ClientEntries::Entries(_) | ClientEntries::Nothing => None,
        };
        let known = known.as_ref().unwrap_or(stored);
        if known.is_empty() {
            return Vec::new();
        }
        if !self.views.is_empty() {
            let (old, new) = (self.kind.to_tree_without_entries(old), self.kind.to_tree_without_entries(object));
            return self.entries_across(known, &old, &new);
        }
        let trees = self.kind.differing_trees(object, old);
        let changes = fields::compare(&trees.old, &trees.new, &self.names().node);
        if changes.is_empty() {
            return known.clone();
        }
        fields::update(known, &changes, &self.writer(&self.manager()))
    }

    /// True if an update changes only times of entries and heartbeat fields: then the stored times are kept.
    pub(super) fn is_of_times_only(
        &self,
        entries: &[ManagedFieldsEntry],
        old: &AnyObject,
        stored: &Stored,
        encoded: &eventlog::Sections,
    ) -> bool {
        if !fields::differ_in_time_only(entries, &self.kind.metadata(old).managed_fields) {
            return false;
        }
        let mut rest = encoded.clone();
        rest.parts[MANAGED_FIELDS].clone_from(&stored.sections.parts[MANAGED_FIELDS]);
        rest.parts == stored.sections.parts || heartbeat::is_only(self.names(), &stored.sections, &rest)
    }
}

/// Index of the section that holds the entries.
const MANAGED_FIELDS: usize = 2;

/// True if a patch may read or change the entries; other patches are applied to an object without them.
pub(super) fn concerns_entries(patch: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(patch, text).is_some();
    // A JSON patch may also replace all of the metadata, or all of the object.
    has(b"managedFields") || has(b"\"/metadata\"") || has(b"\"\"") || has(b"\\u")
}
