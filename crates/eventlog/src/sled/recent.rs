// SPDX-License-Identifier: Apache-2.0
//! The last entries, in memory, for followers that are slightly behind the head.
//!
//! A follower reads the head, then the state at it, then the entries after it, while the head advances. The store has both,
//! too, but the time in which sled opens grows with the history, and a past state is a walk over every object that ever
//! existed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::entry::{Entry, Key, Revision, Sections};
use crate::log::Snapshot;

use super::state::Objects;

/// Maximum number of entries. Few in tests, which read the past of short histories from the store, too.
const MAX_ENTRIES: usize = if cfg!(test) { 64 } else { 1024 };
/// Maximum bytes of the objects in the entries; the last entry is always kept.
const MAX_BYTES: usize = 4 << 20;

/// All entries after a revision.
#[derive(Debug, Default)]
pub(super) struct Recent {
    floor: Revision,
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
}

impl Recent {
    /// Creates an empty range after a revision.
    pub(super) fn after(floor: Revision) -> Self {
        Self { floor, ..Self::default() }
    }

    /// Adds the next entry, and drops the oldest ones if there are too many.
    pub(super) fn push(&mut self, entry: &Arc<Entry>) {
        self.bytes += bytes_of(entry);
        self.entries.push_back(entry.clone());
        while self.entries.len() > MAX_ENTRIES || (self.bytes > MAX_BYTES && self.entries.len() > 1) {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= bytes_of(&oldest);
            self.floor = oldest.revision;
        }
    }

    /// Returns the entries after a revision, newest first; `None`: some of them have been dropped.
    fn newest_first(&self, from: Revision) -> Option<impl Iterator<Item = &Arc<Entry>>> {
        let entries = self.entries.iter().rev();
        (from >= self.floor).then(|| entries.take_while(move |entry| entry.revision > from))
    }

    /// Returns the entries after a revision, in order; `None`: some of them have been dropped.
    pub(super) fn entries(&self, from: Revision, cluster: Option<&str>) -> Option<Vec<Arc<Entry>>> {
        let is_wanted = |entry: &&Arc<Entry>| cluster.is_none_or(|cluster| *cluster == *entry.key.cluster);
        let mut entries: Vec<Arc<Entry>> = self.newest_first(from)?.filter(is_wanted).cloned().collect();
        entries.reverse();
        Some(entries)
    }

    /// Returns the previous states of the objects that the entries after a revision have changed; `None`: some of
    /// these entries have been dropped.
    pub(super) fn before(&self, at: Revision) -> Option<Before> {
        let mut before = BTreeMap::new();
        for entry in self.newest_first(at)? {
            // An older entry has the state before a newer one.
            before.insert(entry.key.clone(), entry.previous.clone());
        }
        Some(Before(before))
    }
}

/// States of objects at a revision; `None`: the object did not exist.
#[derive(Debug)]
pub(super) struct Before(BTreeMap<Key, Option<(Revision, Sections)>>);

impl Before {
    /// Returns all objects at the revision, in key order, of one resource or of all: `now` with the changes reverted.
    pub(super) fn state(mut self, now: &Objects, resource: Option<&str>) -> Snapshot {
        let is_wanted = |key: &Key| resource.is_none_or(|resource| *resource == *key.resource);
        let mut snapshot = Snapshot::new();
        for (key, live) in now.iter().filter(|(key, _)| is_wanted(key)) {
            match self.0.remove(&**key) {
                None => snapshot.push(((**key).clone(), live.revision, live.sections.clone())),
                Some(None) => {}
                Some(Some((revision, sections))) => snapshot.push(((**key).clone(), revision, sections)),
            }
        }
        let existing = snapshot.len();
        let deleted = self.0.into_iter().filter(|(key, _)| is_wanted(key));
        snapshot.extend(deleted.filter_map(|(key, before)| before.map(|(revision, object)| (key, revision, object))));
        if snapshot.len() > existing {
            snapshot.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        }
        snapshot
    }
}

fn bytes_of(entry: &Entry) -> usize {
    entry.object.parts.iter().map(bytes::Bytes::len).sum()
}
