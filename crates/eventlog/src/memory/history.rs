// SPDX-License-Identifier: Apache-2.0
//! Entries as they are kept: changes against the object's last state, whole from time to time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rustc_hash::FxHashMap;

use super::Live;
use crate::entry::{Actor, Entry, Key, Revision, Sections, Verb};
use crate::splice::Change;

/// Entries after a revision, and the state at it.
#[derive(Default)]
pub(super) struct History {
    pub(super) compacted: Revision,
    base: BTreeMap<Arc<Key>, (Revision, Sections)>,
    records: VecDeque<Record>,
}

pub(super) struct Record {
    pub(super) key: Arc<Key>,
    pub(super) verb: Verb,
    pub(super) time: DateTime<Utc>,
    pub(super) actor: Arc<Actor>,
    pub(super) writer: (u64, u64),
    /// Last entry of the object that is history; 0 for a creation.
    pub(super) previous: Revision,
    pub(super) content: Content,
    pub(super) volatile: bool,
}

pub(super) enum Content {
    Whole(Box<Sections>),
    /// Against the state after `previous`.
    Change(Change),
    /// A volatile entry that another entry of its object followed.
    Forgotten,
}

impl History {
    pub(super) fn head(&self) -> Revision {
        Revision(self.compacted.0 + self.len())
    }

    pub(super) fn len(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }

    pub(super) fn forget_volatile(&mut self, revision: Revision) {
        if let Some(index) = self.index(revision)
            && let Some(record) = self.records.get_mut(index)
        {
            record.content = Content::Forgotten;
        }
    }

    fn index(&self, revision: Revision) -> Option<usize> {
        revision.0.checked_sub(self.compacted.0 + 1).and_then(|index| usize::try_from(index).ok())
    }

    fn record(&self, revision: Revision) -> &Record {
        self.index(revision).and_then(|index| self.records.get(index)).expect("a retained revision")
    }

    /// The object after the entry at a revision.
    fn object_after(&self, key: &Key, revision: Revision) -> Sections {
        let mut changes = Vec::new();
        let mut at = revision;
        let mut sections = loop {
            if at <= self.compacted {
                let base = self.base.get(key).map(|(_, sections)| sections.clone());
                break base.unwrap_or_default();
            }
            let record = self.record(at);
            match &record.content {
                Content::Whole(sections) => break (**sections).clone(),
                Content::Change(change) => changes.push(change),
                Content::Forgotten => {}
            }
            at = record.previous;
        };
        for change in changes.into_iter().rev() {
            sections = apply(change, &sections);
        }
        sections
    }

    pub(super) fn read(&self, from: Revision, to: Revision, cluster: Option<&str>) -> Vec<Arc<Entry>> {
        // The state of each object as reading proceeds, so that a long range applies each change once.
        let mut states: FxHashMap<&Key, (Revision, Sections)> = FxHashMap::default();
        let mut entries = Vec::new();
        for revision in (from.0 + 1..=to.0).map(Revision) {
            let record = self.record(revision);
            if cluster.is_some_and(|cluster| cluster != &*record.key.cluster) {
                continue;
            }
            let known = states.get(&*record.key).filter(|(at, _)| *at == record.previous);
            let previous = match known {
                _ if record.previous == Revision(0) => None,
                Some((_, sections)) => Some((record.previous, sections.clone())),
                None => Some((record.previous, self.object_after(&record.key, record.previous))),
            };
            let object = match &record.content {
                Content::Whole(sections) => (**sections).clone(),
                Content::Change(change) => match &previous {
                    Some((_, sections)) => apply(change, sections),
                    None => apply(change, &Sections::default()),
                },
                Content::Forgotten => continue,
            };
            if !record.volatile {
                states.insert(&record.key, (revision, object.clone()));
            }
            entries.push(Arc::new(Entry {
                revision,
                key: (*record.key).clone(),
                verb: record.verb,
                time: record.time,
                actor: record.actor.clone(),
                writer: record.writer,
                object,
                previous,
                volatile: record.volatile,
            }));
        }
        entries
    }

    pub(super) fn state_at(&self, revision: Revision) -> Vec<(Key, Revision, Sections)> {
        let mut last: BTreeMap<&Arc<Key>, Revision> = self.base.iter().map(|(key, (at, _))| (key, *at)).collect();
        for (record, at) in self.records.iter().zip(self.compacted.0 + 1..=revision.0) {
            if matches!(record.content, Content::Forgotten) {
                continue;
            }
            if record.verb == Verb::Delete {
                last.remove(&record.key);
            } else {
                last.insert(&record.key, Revision(at));
            }
        }
        last.into_iter().map(|(key, at)| ((**key).clone(), at, self.object_after(key, at))).collect()
    }

    /// Forgets entries up to `to`; the writers of the forgotten ones.
    pub(super) fn compact(&mut self, to: Revision, live: &FxHashMap<Arc<Key>, Live>) -> Vec<(u64, u64)> {
        let mut writers = Vec::new();
        while self.compacted < to
            && let Some(record) = self.records.pop_front()
        {
            self.compacted.0 += 1;
            writers.push(record.writer);
            let Record { key, verb, content, volatile, .. } = record;
            if volatile {
                continue;
            }
            if verb == Verb::Delete {
                self.base.remove(&key);
                continue;
            }
            let sections = match (live.get(&key), content) {
                // Nothing came since: share the bytes with the live object.
                (Some(live), _) if live.revision == self.compacted => live.sections.clone(),
                (_, Content::Whole(sections)) => *sections,
                (_, Content::Change(change)) => {
                    let before = self.base.get(&key).map(|(_, sections)| sections.clone());
                    apply(&change, &before.unwrap_or_default())
                }
                (_, Content::Forgotten) => continue,
            };
            self.base.insert(key, (self.compacted, sections));
        }
        writers
    }
}

fn apply(change: &Change, before: &Sections) -> Sections {
    change.apply(before).expect("a change kept in memory fits the state it was made from")
}
