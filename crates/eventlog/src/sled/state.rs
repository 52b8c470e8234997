// SPDX-License-Identifier: Apache-2.0
//! State of the writer: every object, and the data by which expectations and guards are judged.

use std::collections::VecDeque;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rpds::RedBlackTreeMapSync;
use rustc_hash::FxHashMap;

use crate::codec::put_key;
use crate::entry::{Entry, Key, Revision, Sections, Verb};
use crate::log::{Append, AppendError, Expect, Guard, MAX_GUARDS, MAX_OBJECT_BYTES};
use crate::splice::{Change, Corrupt};

use super::checkpoint::{Contents, Head, Object};
use super::record::{Content, Record};

/// Number of records of one object that are kept as changes before one is kept whole.
const CHANGES_BETWEEN_WHOLES: u8 = 63;

/// Bytes of a key, an actor's texts and the like; values of the API stay far below.
const MAX_NAMES: usize = 3072;

/// Number of appends that are remembered, to answer repeated ones.
const REMEMBERED: usize = 1 << 16;

/// Number of revisions that heartbeats may take before the next reservation is written.
const RESERVE: u64 = 4096;

/// Objects by key; a clone is a snapshot.
pub(super) type Objects = RedBlackTreeMapSync<Arc<Key>, Arc<Live>>;

/// Heartbeats that are their object's last entry; a clone is a snapshot.
pub(super) type Heartbeats = RedBlackTreeMapSync<Revision, Arc<Entry>>;

/// Present state of an object.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) revision: Revision,
    pub(super) sections: Sections,
    /// Revision and state of the last record, if a heartbeat followed.
    ordinary: Option<(Revision, Sections)>,
    /// Records since one was kept whole.
    changes: u8,
}

impl Live {
    /// Revision and state of the last record: the basis of the next change in history.
    pub(super) fn ordinary(&self) -> (Revision, &Sections) {
        match &self.ordinary {
            Some((revision, sections)) => (*revision, sections),
            None => (self.revision, &self.sections),
        }
    }

    pub(super) fn changes(&self) -> u8 {
        self.changes
    }
}

/// Recent appends.
#[derive(Clone, Debug, Default)]
pub(super) struct Writers {
    order: VecDeque<(u64, u64)>,
    revisions: FxHashMap<(u64, u64), Revision>,
}

impl Writers {
    pub(super) fn push(&mut self, writer: (u64, u64), revision: Revision) {
        if self.revisions.insert(writer, revision).is_none() {
            self.order.push_back(writer);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.revisions.remove(&oldest);
        }
    }

    /// Highest number of a writer.
    pub(super) fn highest(&self) -> u64 {
        self.order.iter().map(|(writer, _)| *writer).max().unwrap_or_default()
    }

    pub(super) fn get(&self, writer: (u64, u64)) -> Option<Revision> {
        self.revisions.get(&writer).copied()
    }

    /// Recent appends, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = ((u64, u64), Revision)> {
        self.order.iter().map(|writer| (*writer, self.revisions[writer]))
    }
}

/// Result of an append.
#[derive(Debug)]
pub(super) enum Decision {
    /// It is a repetition.
    Repeated(Revision),
    /// An entry, and its record unless it is a heartbeat.
    Entry(Arc<Entry>, Option<Box<(Record, Vec<u8>)>>),
}

/// The state of the log at its head.
#[derive(Debug, Default)]
pub(super) struct Fold {
    pub(super) objects: Objects,
    pub(super) heartbeats: Heartbeats,
    pub(super) writers: Writers,
    pub(super) head: Revision,
    /// Revision of the last record.
    pub(super) link: Revision,
    pub(super) time: DateTime<Utc>,
    /// Revision up to which heartbeats need no write.
    pub(super) ceiling: Revision,
    /// Last deletion of each deleted object, after `floor`.
    deleted: FxHashMap<Arc<Key>, Revision>,
    /// Last change outside `status`, by cluster and resource, after `floor`.
    collections: FxHashMap<Collection, Revision>,
    /// Revision before which deletions and collections are unknown: guards that go back further fail.
    floor: Revision,
}

/// Cluster and resource.
type Collection = (Arc<str>, Arc<str>);

impl Fold {
    /// Starts from a checkpoint: first its objects, then the rest.
    pub(super) fn load(&mut self, object: Object) {
        let Object { key, revision, changes, sections } = object;
        self.objects.insert_mut(Arc::new(key), Arc::new(Live { revision, sections, ordinary: None, changes }));
    }

    /// Loads the rest of a checkpoint after its objects.
    pub(super) fn start(&mut self, contents: Contents) {
        let Head { revision, link, time } = contents.head;
        (self.head, self.link, self.time) = (revision, link, time);
        (self.ceiling, self.floor) = (revision, revision);
        self.writers = contents.writers;
        for entry in contents.heartbeats {
            let entry = Arc::new(entry);
            if let Some(live) = self.objects.get(&entry.key) {
                let live = Live {
                    revision: entry.revision,
                    sections: entry.object.clone(),
                    ordinary: Some((live.revision, live.sections.clone())),
                    changes: live.changes,
                };
                self.objects.insert_mut(Arc::new(entry.key.clone()), Arc::new(live));
                self.heartbeats.insert_mut(entry.revision, entry);
            }
        }
    }

    /// Applies an earlier record.
    pub(super) fn replay(&mut self, record: &Record) -> Result<(), Corrupt> {
        let live = self.objects.get(&record.key).cloned();
        let (previous, before) = match &live {
            Some(live) => (live.ordinary().0, live.ordinary().1.clone()),
            None => (Revision(0), Sections::default()),
        };
        if record.previous != previous || record.link != self.link || record.revision <= self.link {
            return Err(Corrupt);
        }
        let object = record.object(&before)?;
        let whole = matches!(record.content, Content::Whole(_));
        self.time = self.time.max(record.time);
        self.settle(&Arc::new(record.key.clone()), record.verb, record.revision, object, live.as_deref(), whole);
        self.writers.push(record.writer, record.revision);
        self.head = self.head.max(record.revision);
        self.link = record.revision;
        Ok(())
    }

    /// Judges an append and applies it.
    pub(super) fn decide(&mut self, append: Append) -> Result<Decision, AppendError> {
        if let Some(revision) = self.writers.get(append.writer) {
            return Ok(Decision::Repeated(revision));
        }
        let size: usize = append.object.parts.iter().map(bytes::Bytes::len).sum();
        if append.guards.len() > MAX_GUARDS || size > MAX_OBJECT_BYTES || size_of_names(&append) > MAX_NAMES {
            return Err(AppendError::TooLarge);
        }
        let found = self.objects.get_key_value(&append.key).map(|(key, live)| (key.clone(), live.clone()));
        let actual = found.as_ref().map(|(_, live)| live.revision);
        let expected = match append.expect {
            Expect::Absent => None,
            Expect::Revision(revision) => Some(revision),
        };
        if actual != expected {
            return Err(AppendError::Conflict { actual });
        }
        if !append.guards.iter().all(|guard| self.holds(guard)) {
            return Err(AppendError::GuardFailed);
        }
        Ok(self.commit(append, found))
    }

    fn commit(&mut self, append: Append, found: Option<(Arc<Key>, Arc<Live>)>) -> Decision {
        let revision = Revision(self.head.0 + 1);
        self.head = revision;
        self.time = self.time.max(append.time);
        self.writers.push(append.writer, revision);
        let (key, live) = match found {
            Some((key, live)) => (key, Some(live)),
            None => (Arc::new(append.key), None),
        };
        let live = live.as_deref();
        let entry = Entry {
            revision,
            key: (*key).clone(),
            verb: append.verb,
            time: self.time,
            actor: append.actor,
            writer: append.writer,
            object: append.object,
            previous: live.map(|live| (live.revision, live.sections.clone())),
            // Only an object that continues to exist can have a heartbeat.
            volatile: append.volatile && live.is_some() && append.verb != Verb::Delete,
        };
        if entry.volatile
            && let Some(live) = live
        {
            if live.ordinary.is_some() {
                self.heartbeats.remove_mut(&live.revision);
            }
            let (ordinary, sections) = live.ordinary();
            let ordinary = Some((ordinary, sections.clone()));
            let live = Live { revision, sections: entry.object.clone(), ordinary, changes: live.changes };
            self.objects.insert_mut(key, Arc::new(live));
            let entry = Arc::new(entry);
            self.heartbeats.insert_mut(revision, entry.clone());
            return Decision::Entry(entry, None);
        }
        let none = Sections::default();
        let (previous, before) = live.map_or((Revision(0), &none), Live::ordinary);
        let whole = live.is_none_or(|live| live.changes >= CHANGES_BETWEEN_WHOLES);
        let content = if whole {
            Content::Whole(entry.object.clone())
        } else {
            Content::Change(Change::between(before, &entry.object))
        };
        let record = Record {
            revision,
            link: self.link,
            verb: entry.verb,
            key: entry.key.clone(),
            time: entry.time,
            actor: entry.actor.clone(),
            writer: entry.writer,
            previous,
            content,
        };
        self.link = revision;
        self.settle(&key, entry.verb, revision, entry.object.clone(), live, whole);
        let bytes = record.encode();
        Decision::Entry(Arc::new(entry), Some(Box::new((record, bytes))))
    }

    /// Applies a record's result.
    fn settle(
        &mut self,
        key: &Arc<Key>,
        verb: Verb,
        revision: Revision,
        object: Sections,
        live: Option<&Live>,
        whole: bool,
    ) {
        if let Some(live) = live
            && live.ordinary.is_some()
        {
            self.heartbeats.remove_mut(&live.revision);
        }
        if verb != Verb::UpdateStatus {
            let collection = (key.cluster.clone(), key.resource.clone());
            self.collections.insert(collection, revision);
        }
        if verb == Verb::Delete {
            self.deleted.insert(key.clone(), revision);
            self.objects.remove_mut(key);
            return;
        }
        if live.is_none() {
            self.deleted.remove(key);
        }
        let changes = if whole { 0 } else { live.map_or(0, |live| live.changes).saturating_add(1) };
        self.objects.insert_mut(key.clone(), Arc::new(Live { revision, sections: object, ordinary: None, changes }));
    }

    fn holds(&self, guard: &Guard) -> bool {
        match guard {
            Guard::Key(key, since) => match (self.objects.get(key), self.deleted.get(key)) {
                (Some(live), _) => live.ordinary().0 <= *since,
                (None, Some(deleted)) => *deleted <= *since,
                // Deleted before the remembered deletions, or never created.
                (None, None) => self.floor <= *since,
            },
            Guard::Collection(cluster, resource, since) => {
                let changed = self.collections.get(&(cluster.clone(), resource.clone()));
                changed.copied().unwrap_or(self.floor) <= *since
            }
        }
    }

    /// Forgets deletions up to a revision.
    pub(super) fn raise_floor(&mut self, to: Revision) {
        self.floor = self.floor.max(to);
        self.deleted.retain(|_, revision| *revision > to);
    }

    /// True if heartbeats have used up the reserved revisions. Revisions that a record covers need no reservation.
    pub(super) fn is_beyond_reserved(&self) -> bool {
        self.head > self.ceiling && self.head > self.link
    }

    /// Reserves revisions for heartbeats if that is needed, or costs nothing since it is written with a record;
    /// returns the new reservation.
    pub(super) fn reserve(&mut self, has_records: bool) -> Option<Revision> {
        let needed = self.is_beyond_reserved();
        let free = has_records && self.ceiling.0 < self.head.0 + RESERVE / 2 && !self.heartbeats.is_empty();
        (needed || free).then(|| {
            self.ceiling = Revision(self.head.0 + RESERVE);
            self.ceiling
        })
    }

    /// Returns the head of a checkpoint of the present state.
    pub(super) fn checkpoint_head(&self) -> Head {
        Head { revision: self.head, link: self.link, time: self.time }
    }
}

fn size_of_names(append: &Append) -> usize {
    let mut key = Vec::new();
    put_key(&mut key, &append.key);
    key.len() + append.actor.user.len() + append.actor.component.len() + append.actor.version.len()
}
