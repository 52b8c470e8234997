// SPDX-License-Identifier: Apache-2.0
//! Reading the past: entries of a range, and states, from the store and the checkpoint below it.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustc_hash::FxHashMap;

use crate::blocking;
use crate::entry::{Entry, Key, Revision, Sections, Verb};
use crate::log::{AppendError, BoxFuture, Message, ReadError, Subscription};

use super::checkpoint::Base;
use super::record::{Content, Record};
use super::shared::Shared;
use super::state::Heartbeats;
use super::store::{Broken, Store, key_of};

/// Number of entries that are read in one step: less than a millisecond.
const CHUNK: usize = 128;

/// Returns an object after the record at a revision, from its changes since it was last whole.
fn object_after(store: &Store, base: &Base, key: &Key, revision: Revision) -> Result<Sections, Broken> {
    let mut changes: Vec<Record> = Vec::new();
    let mut at = revision;
    let mut sections = loop {
        if at == Revision(0) {
            break Sections::default();
        }
        if at <= base.revision() {
            let held = base.get(key)?.filter(|(held, _)| *held == at);
            break held.ok_or_else(|| Broken(format!("the base checkpoint does not have {key} at {at}")))?.1;
        }
        let record = store.record(at)?;
        if let Content::Whole(sections) = record.content {
            break sections;
        }
        at = record.previous;
        changes.push(record);
    };
    for record in changes.iter().rev() {
        sections = record.object(&sections)?;
    }
    Ok(sections)
}

/// Reads a range of entries piece by piece.
#[derive(Debug)]
pub(super) struct Cursor {
    at: Revision,
    to: Revision,
    cluster: Option<Arc<str>>,
    /// Heartbeats of the range that are not read yet.
    heartbeats: VecDeque<Arc<Entry>>,
    /// State of each object after the last of its entries, so that a long range applies each change once.
    states: FxHashMap<Key, (Revision, Sections)>,
}

impl Cursor {
    pub(super) fn new(from: Revision, to: Revision, cluster: Option<&str>, heartbeats: &Heartbeats) -> Self {
        let matches = |entry: &Entry| cluster.is_none_or(|cluster| *cluster == *entry.key.cluster);
        let range = Revision(from.0 + 1)..=to;
        let heartbeats = if range.is_empty() {
            VecDeque::new()
        } else {
            heartbeats.range(range).map(|(_, entry)| entry.clone()).filter(|entry| matches(entry)).collect()
        };
        Self { at: from, to, cluster: cluster.map(Arc::from), heartbeats, states: FxHashMap::default() }
    }

    /// Returns true if everything was read.
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.to
    }

    /// The next entries; few or none if the others are of other clusters.
    pub(super) fn next(&mut self, shared: &Shared) -> Result<Vec<Arc<Entry>>, ReadError> {
        let from = self.at;
        let (store, base) = shared.store(from)?;
        let read = self.chunk(&store, &base);
        // Records that were compacted meanwhile may be missing in the range that was read.
        shared.store(from)?;
        read.map_err(|error| shared.fail_read(&error))
    }

    fn chunk(&mut self, store: &Store, base: &Base) -> Result<Vec<Arc<Entry>>, Broken> {
        let mut entries = Vec::new();
        let mut count = 0;
        for found in store.range(self.at, self.to).take(CHUNK) {
            let (revision, bytes) = found?;
            count += 1;
            self.at = revision;
            let record = Record::decode(&bytes)?;
            if self.cluster.as_ref().is_some_and(|cluster| *cluster != record.key.cluster) {
                continue;
            }
            let previous = if record.previous == Revision(0) {
                None
            } else {
                let known = self.states.remove(&record.key).filter(|(at, _)| *at == record.previous);
                Some(match known {
                    Some(known) => known,
                    None => (record.previous, object_after(store, base, &record.key, record.previous)?),
                })
            };
            let none = Sections::default();
            let object = record.object(previous.as_ref().map_or(&none, |(_, sections)| sections))?;
            self.states.insert(record.key.clone(), (revision, object.clone()));
            self.heartbeats_before(revision, &mut entries);
            entries.push(Arc::new(Entry {
                revision,
                key: record.key,
                verb: record.verb,
                time: record.time,
                actor: record.actor,
                writer: record.writer,
                object,
                previous,
                volatile: false,
            }));
        }
        if count < CHUNK {
            self.at = self.to;
            self.heartbeats_before(Revision(self.to.0 + 1), &mut entries);
        }
        Ok(entries)
    }

    fn heartbeats_before(&mut self, revision: Revision, entries: &mut Vec<Arc<Entry>>) {
        while let Some(entry) = self.heartbeats.pop_front_if(|entry| entry.revision < revision) {
            entries.push(entry);
        }
    }
}

/// Walks over all objects at a past revision, in key order.
#[derive(Debug)]
pub(super) struct States {
    at: Revision,
    /// Position up to which the index was read; `None` once it was read.
    position: Option<Vec<u8>>,
    /// Resource of the objects; `None`: all.
    resource: Option<Arc<str>>,
    last: BTreeMap<Key, Revision>,
}

/// Result of a step of [`States`].
pub(super) enum Step {
    /// Nothing yet.
    More,
    /// The next object.
    Object(Box<(Key, Revision, Sections)>),
    /// There are no more.
    End,
}

impl States {
    pub(super) fn new(base: &Base, at: Revision, resource: Option<Arc<str>>) -> Self {
        let mut states = Self { at, position: Some(Vec::new()), resource, last: BTreeMap::new() };
        let of_base = base.keys().filter(|(key, _)| states.is_wanted(key));
        states.last = of_base.map(|(key, revision)| ((**key).clone(), revision)).collect();
        states
    }

    fn is_wanted(&self, key: &Key) -> bool {
        self.resource.as_ref().is_none_or(|resource| *resource == key.resource)
    }

    pub(super) fn step(&mut self, store: &Store, base: &Base) -> Result<Step, Broken> {
        if let Some(position) = self.position.take() {
            if let Some((next, change)) = store.next_object(&position, self.at)? {
                // Objects at or before the base are in the base, whatever remains of them here.
                match change.filter(|(revision, _)| *revision > base.revision()) {
                    None => {}
                    Some((_, Verb::Delete)) => drop(self.last.remove(&key_of(&next)?)),
                    Some((revision, _)) => {
                        let key = key_of(&next)?;
                        if self.is_wanted(&key) {
                            self.last.insert(key, revision);
                        }
                    }
                }
                self.position = Some(next);
            }
            return Ok(Step::More);
        }
        let Some((key, revision)) = self.last.pop_first() else { return Ok(Step::End) };
        let sections = object_after(store, base, &key, revision)?;
        Ok(Step::Object(Box::new((key, revision, sections))))
    }
}

/// A subscription: first the store's entries, then new ones.
struct Following {
    shared: Arc<Shared>,
    /// Resolves once the entries of the cursor are durable: the store has durable entries only.
    durable: Option<BoxFuture<Result<(), AppendError>>>,
    past: Cursor,
    ready: VecDeque<Message>,
    live: Subscription,
}

/// Returns the entries of the cursor, followed by those of a live subscription.
pub(super) fn follow(shared: Arc<Shared>, past: Cursor, live: Subscription) -> Subscription {
    if past.is_done() {
        return live;
    }
    let (durable, to) = (shared.clone(), past.to);
    let durable = blocking::wait(async move { durable.durable(to).await });
    Subscription {
        messages: Box::pin(Following { shared, durable: Some(durable), past, ready: VecDeque::new(), live }),
    }
}

impl futures::Stream for Following {
    type Item = Message;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Message>> {
        let this = &mut *self;
        if let Some(durable) = &mut this.durable {
            match futures::ready!(durable.as_mut().poll(context)) {
                Ok(()) => this.durable = None,
                Err(_) => return Poll::Ready(None),
            }
        }
        if this.ready.is_empty() && !this.past.is_done() {
            match this.past.next(&this.shared) {
                Ok(entries) => this.ready.extend(entries.into_iter().map(Message::Entry)),
                // The next entries were compacted away: the subscriber is cut and gets the reason when it subscribes
                // again.
                Err(_) => return Poll::Ready(None),
            }
        }
        if let Some(message) = this.ready.pop_front() {
            return Poll::Ready(Some(message));
        }
        if this.past.is_done() {
            return this.live.messages.as_mut().poll_next(context);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
