// SPDX-License-Identifier: Apache-2.0
//! Storage of entries: changes against the object's last state, whole from time to time. Contents of older entries
//! are packed, [`BLOCK`] of them together, since successive changes resemble each other.
//!
//! **Invariants.** Blocks follow each other without a gap and end at [`History::packed`]; entries after it are stored
//! unpacked, so that writes and reads at the head pack and unpack nothing.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rustc_hash::FxHashMap;

use super::Live;
use crate::entry::{Actor, Entry, Key, Revision, Sections, Verb};
use crate::splice::Change;

/// Entries of one block.
pub(super) const BLOCK: u64 = 1024;

/// Sections of an absent object.
static NOTHING: Sections = Sections { parts: [const { Bytes::new() }; 5] };

/// States of objects at a revision, with the revision of the last entry of each.
type States = FxHashMap<Arc<Key>, (Revision, Sections)>;

/// Entries after a revision, and the state at it.
#[derive(Default)]
pub(super) struct History {
    pub(super) compacted: Revision,
    base: BTreeMap<Arc<Key>, (Revision, Sections)>,
    records: VecDeque<Record>,
    /// Contents up to this revision are packed.
    packed: Revision,
    blocks: VecDeque<Block>,
    /// End of the last read of everything, and the states at it: a reader that continues from there needs them again.
    last_read: Option<(Revision, States)>,
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
    /// Change against the state after `previous`.
    Change(Change),
    /// Change in the block of its revision, at this position. `whole`: a change against nothing.
    Packed {
        start: usize,
        length: u32,
        whole: bool,
    },
    /// A volatile entry that was followed by another entry of its object.
    Forgotten,
}

/// The changes of successive entries, compressed together.
struct Block {
    /// The revision before its first entry.
    after: Revision,
    /// The revision of its last entry.
    to: Revision,
    /// Bytes before compression.
    length: usize,
    compressed: Box<[u8]>,
}

impl Block {
    fn unpack(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length);
        DeflateDecoder::new(&*self.compressed).read_to_end(&mut bytes).expect("bytes that were compressed here");
        bytes
    }
}

/// Blocks that were unpacked, by the revision before their first entry.
#[derive(Default)]
struct UnpackedBlocks(FxHashMap<Revision, Vec<u8>>);

impl History {
    pub(super) fn head(&self) -> Revision {
        Revision(self.compacted.0 + self.len())
    }

    pub(super) fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// Returns the bytes of the entries, and those of the packed ones.
    pub(super) fn bytes(&self) -> (usize, usize) {
        let content = |record: &Record| match &record.content {
            Content::Whole(sections) => sections.parts.iter().map(Bytes::len).sum(),
            Content::Change(change) => change.encoded().len(),
            Content::Packed { .. } | Content::Forgotten => 0,
        };
        let kept = self.records.iter().map(|record| size_of::<Record>() + content(record)).sum();
        (kept, self.blocks.iter().map(|block| block.compressed.len()).sum())
    }

    pub(super) fn push(&mut self, record: Record) {
        self.records.push_back(record);
        if self.head().0 - self.packed.0 >= 2 * BLOCK {
            self.pack();
        }
    }

    /// Packs the oldest unpacked entries.
    fn pack(&mut self) {
        let (after, to) = (self.packed, Revision(self.packed.0 + BLOCK));
        let mut bytes = Vec::new();
        for revision in (after.0 + 1..=to.0).map(Revision) {
            let Some(record) = self.index(revision).and_then(|index| self.records.get_mut(index)) else { continue };
            let (change, whole) = match std::mem::replace(&mut record.content, Content::Forgotten) {
                Content::Whole(sections) => (Change::between(&NOTHING, &sections), true),
                Content::Change(change) => (change, false),
                Content::Packed { .. } | Content::Forgotten => continue,
            };
            let length = u32::try_from(change.encoded().len()).expect("an object is smaller than 4 GiB");
            record.content = Content::Packed { start: bytes.len(), length, whole };
            bytes.extend_from_slice(change.encoded());
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes).expect("memory takes what is written");
        let compressed = encoder.finish().expect("memory takes what is written").into_boxed_slice();
        self.blocks.push_back(Block { after, to, length: bytes.len(), compressed });
        self.packed = to;
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

    /// Returns the object after the entry at a revision, given its state before; `None`: the entry is forgotten.
    fn follow(&self, revision: Revision, before: &Sections, unpacked: &mut UnpackedBlocks) -> Option<Sections> {
        Some(match &self.record(revision).content {
            Content::Whole(sections) => (**sections).clone(),
            Content::Change(change) => apply(change, before),
            Content::Packed { start, length, whole } => {
                let index = self.blocks.partition_point(|block| block.to < revision);
                let block = self.blocks.get(index).expect("the block of a packed entry");
                let bytes = unpacked.0.entry(block.after).or_insert_with(|| block.unpack());
                let change = Change::from_encoded(bytes[*start..][..*length as usize].into());
                apply(&change, if *whole { &NOTHING } else { before })
            }
            Content::Forgotten => return None,
        })
    }

    /// Returns the object after the entry at a revision.
    fn object_after(&self, key: &Key, revision: Revision, unpacked: &mut UnpackedBlocks) -> Sections {
        let mut changes = Vec::new();
        let mut at = revision;
        let mut sections = loop {
            if at <= self.compacted {
                let base = self.base.get(key).map(|(_, sections)| sections.clone());
                break base.unwrap_or_default();
            }
            changes.push(at);
            let record = self.record(at);
            if matches!(record.content, Content::Whole(_) | Content::Packed { whole: true, .. }) {
                break Sections::default();
            }
            at = record.previous;
        };
        for at in changes.into_iter().rev() {
            sections = self.follow(at, &sections, unpacked).unwrap_or(sections);
        }
        sections
    }

    pub(super) fn read(&mut self, from: Revision, to: Revision, cluster: Option<&str>) -> Vec<Arc<Entry>> {
        // State of each object during the read, so that a long range applies each change once.
        let mut states = match self.last_read.take() {
            Some((at, states)) if at == from && cluster.is_none() => states,
            _ => States::default(),
        };
        let mut unpacked = UnpackedBlocks::default();
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
                None => {
                    let sections = self.object_after(&record.key, record.previous, &mut unpacked);
                    Some((record.previous, sections))
                }
            };
            let before = previous.as_ref().map_or(&NOTHING, |(_, sections)| sections);
            let Some(object) = self.follow(revision, before, &mut unpacked) else { continue };
            if record.verb == Verb::Delete {
                states.remove(&record.key);
            } else if !record.volatile {
                states.insert(record.key.clone(), (revision, object.clone()));
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
        if cluster.is_none() && to < self.head() {
            self.last_read = Some((to, states));
        }
        entries
    }

    pub(super) fn state_at(
        &self,
        revision: Revision,
        is_wanted: &dyn Fn(&Key) -> bool,
    ) -> Vec<(Key, Revision, Sections)> {
        let base = self.base.iter().filter(|(key, _)| is_wanted(key));
        let mut last: BTreeMap<&Arc<Key>, Revision> = base.map(|(key, (at, _))| (key, *at)).collect();
        for (record, at) in self.records.iter().zip(self.compacted.0 + 1..=revision.0) {
            if matches!(record.content, Content::Forgotten) || !is_wanted(&record.key) {
                continue;
            }
            if record.verb == Verb::Delete {
                last.remove(&record.key);
            } else {
                last.insert(&record.key, Revision(at));
            }
        }
        let mut unpacked = UnpackedBlocks::default();
        let object =
            |(key, at): (&Arc<Key>, Revision)| ((**key).clone(), at, self.object_after(key, at, &mut unpacked));
        last.into_iter().map(object).collect()
    }

    /// Forgets entries up to `to`; returns the writers of the forgotten ones.
    pub(super) fn compact(&mut self, to: Revision, live: &FxHashMap<Arc<Key>, Live>) -> Vec<(u64, u64)> {
        let mut writers = Vec::new();
        let mut unpacked = UnpackedBlocks::default();
        while self.compacted < to && !self.records.is_empty() {
            let revision = Revision(self.compacted.0 + 1);
            let record = self.record(revision);
            let (is_deletion, is_forgotten) = (record.verb == Verb::Delete, record.volatile);
            let sections = match live.get(&record.key) {
                _ if is_deletion || is_forgotten => None,
                // The object has not changed since: share the bytes with the live object.
                Some(live) if live.revision == revision => Some(live.sections.clone()),
                _ => {
                    let before = self.base.get(&record.key).map(|(_, sections)| sections.clone());
                    self.follow(revision, &before.unwrap_or_default(), &mut unpacked)
                }
            };
            let Some(Record { key, writer, .. }) = self.records.pop_front() else { break };
            self.compacted = revision;
            writers.push(writer);
            if is_deletion && !is_forgotten {
                self.base.remove(&key);
            } else if let Some(sections) = sections {
                self.base.insert(key, (revision, sections));
            }
        }
        self.packed = self.packed.max(self.compacted);
        while self.blocks.front().is_some_and(|block| block.to <= self.compacted) {
            self.blocks.pop_front();
        }
        writers
    }
}

fn apply(change: &Change, before: &Sections) -> Sections {
    change.apply(before).expect("a change kept in memory fits the state it was made from")
}
