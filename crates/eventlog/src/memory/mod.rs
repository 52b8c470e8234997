// SPDX-License-Identifier: Apache-2.0
//! The log of a simulation: everything in memory, appends complete at once.

mod history;

use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;

use crate::entry::{Entry, Key, Revision, Sections, Verb};
use crate::log::{
    Append, AppendError, Appended, BoxFuture, EventLog, Expect, Guard, MAX_GUARDS, MAX_OBJECT_BYTES, ReadError,
    Snapshot, Subscription,
};
use crate::replay::{Canonical, canonical_head};
use crate::splice;

use crate::subscribers::Subscribers;
use history::{Content, History, Record};

/// A log in memory. Cheap to clone; clones share it.
#[derive(Clone, Default)]
pub struct MemoryLog(Arc<Mutex<State>>);

/// Memory use of a log, in bytes of contents, without the allocator's overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Bytes of the existing objects.
    pub objects: usize,
    /// Bytes of entries: their heads, and the contents of the newest.
    pub entries: usize,
    /// Bytes of the packed contents of older entries.
    pub packed: usize,
}

/// Number of entries of one object that are kept as changes before one is kept whole.
const CHANGES_BETWEEN_WHOLES: u8 = 63;

#[derive(Default)]
struct State {
    history: History,
    objects: FxHashMap<Arc<Key>, Live>,
    /// Last deletion of each deleted object, within retained history.
    deleted: FxHashMap<Arc<Key>, Revision>,
    /// Last change outside `status`, by cluster and resource.
    collections: FxHashMap<(Arc<str>, Arc<str>), Revision>,
    appended: FxHashMap<(u64, u64), Revision>,
    subscribers: Subscribers,
    canonical: Canonical,
    /// Entries of history so far: volatile ones left out.
    entries: u64,
    time: DateTime<Utc>,
    retain: Option<u64>,
    closed: bool,
    scratch: Vec<u8>,
}

struct Live {
    revision: Revision,
    sections: Sections,
    /// Revision and state of the last entry that is history, if a volatile one came since.
    ordinary: Option<Box<(Revision, Sections)>>,
    /// Last change that was not volatile.
    changed: Revision,
    /// Entries since one was kept whole.
    changes: u8,
}

impl MemoryLog {
    /// Creates an empty log that keeps all history.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty log that keeps at least the last `entries` of history, and at most twice as many.
    pub fn with_history(entries: u64) -> Self {
        let log = Self::default();
        log.state().retain = Some(entries);
        log
    }

    /// Hash of the canonical log: every entry since the log began, compacted ones included. 64 hexadecimal digits.
    pub fn canonical_hash(&self) -> String {
        self.state().canonical.hash()
    }

    /// Number of entries of history since the log began; volatile ones do not count.
    pub fn entries(&self) -> u64 {
        self.state().entries
    }

    /// Revision up to which history is forgotten; 0 for none.
    pub fn compacted(&self) -> Revision {
        self.state().history.compacted
    }

    /// Number of objects.
    pub fn objects(&self) -> usize {
        self.state().objects.len()
    }

    /// Returns the log's use of memory.
    pub fn account(&self) -> Account {
        let state = self.state();
        let size = |sections: &Sections| sections.parts.iter().map(bytes::Bytes::len).sum::<usize>();
        let objects = state.objects.values().map(|live| size_of::<Live>() + size(&live.sections)).sum();
        let (entries, packed) = state.history.bytes();
        Account { objects, entries, packed }
    }

    /// Returns the present state of an object.
    pub fn object(&self, key: &Key) -> Option<(Revision, Sections)> {
        self.state().objects.get(key).map(|live| (live.revision, live.sections.clone()))
    }

    /// Refuses all requests from now on; subscriptions end.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.subscribers.close();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryLog(head {})", self.head())
    }
}

impl State {
    fn append(&mut self, append: Append) -> Result<Appended, AppendError> {
        if self.closed {
            return Err(AppendError::Closed);
        }
        if let Some(revision) = self.appended.get(&append.writer) {
            return Ok(Appended { revision: *revision });
        }
        let size: usize = append.object.parts.iter().map(bytes::Bytes::len).sum();
        if append.guards.len() > MAX_GUARDS || size > MAX_OBJECT_BYTES {
            return Err(AppendError::TooLarge);
        }
        let actual = self.objects.get(&append.key).map(|live| live.revision);
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
        let revision = Revision(self.history.head().0 + 1);
        self.time = self.time.max(append.time);
        self.commit(revision, append);
        if let Some(retain) = self.retain
            && self.history.len() > 2 * retain
        {
            let to = Revision(self.history.head().0 - retain);
            self.compact(to);
        }
        Ok(Appended { revision })
    }

    fn commit(&mut self, revision: Revision, append: Append) {
        let Append { key, verb, object, volatile, actor, writer, .. } = append;
        let time = self.time;
        let (key, before) = match self.objects.remove_entry(&key) {
            Some((key, live)) => (key, Some(live)),
            None => (Arc::new(key), None),
        };
        let current = before.as_ref().map(|live| (live.revision, live.sections.clone()));
        // Basis of the next change in history: the state before a heartbeat, if the last entry was one.
        let ordinary = before.as_ref().map(|live| match &live.ordinary {
            Some(ordinary) => (ordinary.0, &ordinary.1),
            None => (live.revision, &live.sections),
        });
        let none = Sections::default();
        let (previous, base) = ordinary.unwrap_or((Revision(0), &none));

        let object = share(object, current.as_ref().map_or(&none, |(_, sections)| sections));
        self.scratch.clear();
        canonical_head(revision, time, verb, &key, &actor, &mut self.scratch);
        let head = self.scratch.len();
        splice::encode(base, &object, &mut self.scratch);
        if !volatile {
            self.canonical.push(&self.scratch);
            self.entries += 1;
        }
        let changes = before.as_ref().map_or(CHANGES_BETWEEN_WHOLES, |live| live.changes);
        let whole = !volatile && changes >= CHANGES_BETWEEN_WHOLES;
        let content = if whole {
            Content::Whole(Box::new(object.clone()))
        } else {
            Content::Change(splice::Change::from_encoded(self.scratch[head..].into()))
        };
        if let Some(live) = &before
            && live.ordinary.is_some()
        {
            self.history.forget_volatile(live.revision);
        }
        self.history.push(Record {
            key: key.clone(),
            verb,
            time,
            actor: actor.clone(),
            writer,
            previous,
            content,
            volatile,
        });
        self.appended.insert(writer, revision);
        if !volatile && verb != Verb::UpdateStatus {
            self.touch_collection(&key, revision);
        }

        if verb == Verb::Delete {
            self.deleted.insert(key.clone(), revision);
        } else {
            if before.is_none() {
                self.deleted.remove(&key);
            }
            let (changed, ordinary) = match (volatile, before) {
                (true, Some(live)) => {
                    (live.changed, live.ordinary.or_else(|| Some(Box::new((live.revision, live.sections)))))
                }
                _ => (revision, None),
            };
            let changes = if volatile {
                changes
            } else if whole {
                0
            } else {
                changes + 1
            };
            self.objects.insert(key.clone(), Live { revision, sections: object.clone(), ordinary, changed, changes });
        }
        if self.subscribers.any() {
            let key = (*key).clone();
            let entry = Entry { revision, key, verb, time, actor, writer, object, previous: current, volatile };
            self.subscribers.publish(&Arc::new(entry));
        }
    }

    fn touch_collection(&mut self, key: &Arc<Key>, revision: Revision) {
        let collection = (key.cluster.clone(), key.resource.clone());
        self.collections.insert(collection, revision);
    }

    fn holds(&self, guard: &Guard) -> bool {
        match guard {
            Guard::Key(key, since) => match (self.objects.get(key), self.deleted.get(key)) {
                (Some(live), _) => live.changed <= *since,
                (None, Some(deleted)) => *deleted <= *since,
                // Deleted before the remembered deletions, or never created.
                (None, None) => self.history.compacted <= *since,
            },
            Guard::Collection(cluster, resource, since) => {
                let changed = self.collections.get(&(cluster.clone(), resource.clone()));
                changed.is_none_or(|changed| changed <= since)
            }
        }
    }

    fn compact(&mut self, to: Revision) {
        for writer in self.history.compact(to, &self.objects) {
            self.appended.remove(&writer);
        }
        self.deleted.retain(|_, revision| *revision > to);
    }

    fn check(&self, revision: Revision) -> Result<(), ReadError> {
        if self.closed {
            Err(ReadError::Closed)
        } else if revision < self.history.compacted {
            Err(ReadError::Compacted(self.history.compacted))
        } else if revision > self.history.head() {
            Err(ReadError::Future(self.history.head()))
        } else {
            Ok(())
        }
    }

    /// Returns the objects at a revision whose keys `is_wanted` accepts.
    fn state_at(&self, revision: Revision, is_wanted: &dyn Fn(&Key) -> bool) -> Vec<(Key, Revision, Sections)> {
        if revision == self.history.head() {
            let objects = self.objects.iter().filter(|(key, _)| is_wanted(key));
            let mut all: Vec<_> =
                objects.map(|(key, live)| ((**key).clone(), live.revision, live.sections.clone())).collect();
            all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            return all;
        }
        self.history.state_at(revision, is_wanted)
    }
}

/// Returns the object with its unchanged sections replaced by the bytes that are already held.
fn share(mut object: Sections, held: &Sections) -> Sections {
    for (part, held) in object.parts.iter_mut().zip(&held.parts) {
        if part == held {
            *part = held.clone();
        }
    }
    object
}

impl EventLog for MemoryLog {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        let log = self.clone();
        Box::pin(async move { log.state().append(append) })
    }

    /// Memory is never durable: the entry is as durable as it will ever be.
    fn durable(&self, _: Revision) -> BoxFuture<Result<(), AppendError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn head(&self) -> Revision {
        self.state().history.head()
    }

    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        let mut state = self.state();
        let checked = state.check(from).and_then(|()| state.check(to.max(from)));
        let entries = checked.map(|()| state.history.read(from, to, cluster));
        Box::pin(std::future::ready(entries))
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        let mut state = self.state();
        state.check(from)?;
        let head = state.history.head();
        let backlog = state.history.read(from, head, cluster);
        Ok(state.subscribers.subscribe(backlog, head, cluster))
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>> {
        let state = self.state();
        let all = state.check(revision).map(|()| state.state_at(revision, &|_| true));
        Box::pin(std::future::ready(all))
    }

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>> {
        let state = self.state();
        let of_resource = |key: &Key| *key.resource == *resource;
        let all = state.check(revision).map(|()| state.state_at(revision, &of_resource));
        Box::pin(std::future::ready(all))
    }

    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        let mut state = self.state();
        let done = match state.check(revision.max(state.history.compacted)) {
            Ok(()) => {
                state.compact(revision);
                Ok(())
            }
            refused => refused,
        };
        Box::pin(std::future::ready(done))
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;
    use crate::conformance::{block_on, delete, put, update, update_status};
    use crate::log::Message;

    crate::conformance!(MemoryLog::new());

    #[test]
    fn history_is_kept_up_to_twice_its_length() {
        block_on(async {
            let log = MemoryLog::with_history(10);
            let mut last = log.append(put("a", 0)).await.expect("created").revision;
            for number in 1..100 {
                last = log.append(update("a", last, number)).await.expect("updated").revision;
                let retained = log.head().0 - log.compacted().0;
                assert!(retained <= 20 && (retained >= 10 || log.compacted() == Revision(0)), "{retained} entries");
            }
            assert_eq!(log.entries(), 100);
        });
    }

    /// Creates a log of some thousand entries of seven objects that are created, changed, renewed and deleted;
    /// returns each entry as it was published.
    async fn long() -> (MemoryLog, Vec<Arc<Entry>>) {
        let log = MemoryLog::new();
        let mut published = log.subscribe(Revision(0), None).expect("a new log");
        let mut at: [Option<Revision>; 7] = [None; 7];
        for number in 0..5 * history::BLOCK {
            let object = usize::try_from(number * number % 7).expect("small");
            let name = format!("thing-{object}");
            let next = match at[object] {
                None => put(&name, number),
                Some(last) if number % 89 == 0 => delete(&name, last, number),
                Some(last) if number % 5 == 0 => Append { volatile: true, ..update(&name, last, number) },
                Some(last) => update_status(&name, last, number),
            };
            let verb = next.verb;
            let revision = log.append(next).await.expect("what it expects holds").revision;
            at[object] = (verb != Verb::Delete).then_some(revision);
        }
        let mut all = Vec::new();
        while let Some(Some(message)) = published.messages.next().now_or_never() {
            if let Message::Entry(entry) = message {
                all.push(entry);
            }
        }
        (log, all)
    }

    /// Returns the remembered revisions: a volatile entry that was followed by another one of its object is
    /// forgotten.
    fn remembered(all: &[Arc<Entry>], from: Revision, to: Revision) -> Vec<Revision> {
        let is_last =
            |entry: &Entry| !all.iter().any(|other| other.key == entry.key && other.revision > entry.revision);
        let part = all.iter().filter(|entry| entry.revision > from && entry.revision <= to);
        part.filter(|entry| !entry.volatile || is_last(entry)).map(|entry| entry.revision).collect()
    }

    #[test]
    fn packed_entries_read_as_they_were_written() {
        block_on(async {
            let (log, all) = long().await;
            let head = log.head();
            let (kept, packed) = log.state().history.bytes();
            assert!(packed > 0 && packed < kept, "{packed} of {kept}");
            let check = |read: &[Arc<Entry>]| {
                for entry in read {
                    let written = &all[usize::try_from(entry.revision.0 - 1).expect("small")];
                    assert_eq!((&entry.key, entry.verb, &entry.object), (&written.key, written.verb, &written.object));
                }
            };
            for compacted in [0, 700, history::BLOCK, 3 * history::BLOCK + 1] {
                log.compact(Revision(compacted)).await.expect("it is retained");
                for from in [compacted, compacted + 1, 4 * history::BLOCK - 1, head.0 - 3].map(Revision) {
                    // One read of the whole range, and successive reads of its parts.
                    let read = log.read(from, head, None).await.expect("it is retained");
                    assert_eq!(
                        read.iter().map(|entry| entry.revision).collect::<Vec<_>>(),
                        remembered(&all, from, head)
                    );
                    check(&read);
                    let mut pieces = Vec::new();
                    let mut at = from;
                    while at < head {
                        let to = Revision((at.0 + 333).min(head.0));
                        pieces.extend(log.read(at, to, None).await.expect("it is retained"));
                        at = to;
                    }
                    assert_eq!(pieces, read);
                }
                for at in [compacted, 2 * history::BLOCK + 17, 4 * history::BLOCK].map(Revision) {
                    let Ok(state) = log.state_at(at).await else { continue };
                    for (key, revision, object) in state {
                        let last = all.iter().rfind(|entry| entry.key == key && entry.revision <= at);
                        // A heartbeat that was followed by another entry is forgotten, with its contents.
                        let Some(last) = last.filter(|last| last.revision == revision) else { continue };
                        assert_eq!(object, last.object, "{key} at {at}");
                    }
                }
            }
        });
    }

    #[test]
    fn the_hash_covers_compacted_entries() {
        block_on(async {
            let (all, some) = (MemoryLog::new(), MemoryLog::with_history(5));
            for log in [&all, &some] {
                let mut last = log.append(put("a", 0)).await.expect("created").revision;
                for number in 1..200 {
                    last = log.append(update("a", last, number)).await.expect("updated").revision;
                }
            }
            assert_eq!(all.canonical_hash(), some.canonical_hash());
        });
    }
}
