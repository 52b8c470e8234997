// SPDX-License-Identifier: Apache-2.0
//! State from entries, and the canonical log.
//!
//! The canonical log has the bytes that the same seed and input reproduce: no wall time, no writer, no volatile
//! entry.
//!
//! ```text
//! entry   = revision · nanoseconds since 1970 · verb · cluster · resource · namespace · name · user · component ·
//!           version · change        numbers: 8 bytes, little endian; verb: 1 byte; texts: varint length and bytes
//! change  = against the object's last state that is history, see `splice`; a creation is a change of nothing
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use crate::entry::{Actor, Entry, Key, Revision, Sections, Verb};
use crate::log::Snapshot;
use crate::splice;

/// Folds entries, in order, into the resulting state.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    state: BTreeMap<Key, (Revision, Sections)>,
    /// Last state that is history, of objects whose last entry is volatile.
    ordinary: BTreeMap<Key, Sections>,
    canonical: Canonical,
    entries: u64,
}

/// Difference between a replay and a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Key of the object.
    pub key: Key,
    /// Revision of the object by the replay, if it exists there.
    pub replayed: Option<Revision>,
    /// Revision of the object in the state, if it exists there.
    pub live: Option<Revision>,
}

impl Replay {
    /// Creates a replay from the beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a replay that continues from a state, for a log whose beginning is compacted; its hash covers the
    /// applied entries.
    pub fn starting_at(state: Snapshot) -> Self {
        let state = state.into_iter().map(|(key, revision, sections)| (key, (revision, sections))).collect();
        Self { state, ..Self::default() }
    }

    /// Applies one entry, and returns its canonical form: empty for a volatile one.
    pub fn push(&mut self, entry: &Entry) -> Vec<u8> {
        let mut out = Vec::new();
        let previous = self.state.get(&entry.key).map(|(_, sections)| sections);
        if entry.volatile {
            if !self.ordinary.contains_key(&entry.key)
                && let Some(previous) = previous
            {
                self.ordinary.insert(entry.key.clone(), previous.clone());
            }
        } else {
            let ordinary = self.ordinary.remove(&entry.key);
            let none = Sections::default();
            let before = ordinary.as_ref().or(previous).unwrap_or(&none);
            canonical(
                entry.revision,
                entry.time,
                entry.verb,
                &entry.key,
                &entry.actor,
                before,
                &entry.object,
                &mut out,
            );
            self.canonical.push(&out);
            self.entries += 1;
        }
        if entry.verb == Verb::Delete {
            self.state.remove(&entry.key);
        } else {
            self.state.insert(entry.key.clone(), (entry.revision, entry.object.clone()));
        }
        out
    }

    /// The state so far.
    pub fn state(&self) -> &BTreeMap<Key, (Revision, Sections)> {
        &self.state
    }

    /// Number of entries of history that were applied.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Hash of the canonical log so far: 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        self.canonical.hash()
    }

    /// Returns the first difference, in key order, to a state of [`crate::EventLog::state_at`].
    pub fn difference(&self, live: &[(Key, Revision, Sections)]) -> Option<Difference> {
        let live: BTreeMap<_, _> = live.iter().map(|(key, revision, sections)| (key, (*revision, sections))).collect();
        let replayed = self.state.iter().map(|(key, (revision, sections))| (key, (*revision, sections)));
        let replayed: BTreeMap<_, _> = replayed.collect();
        let keys = replayed.keys().chain(live.keys()).filter(|key| replayed.get(*key) != live.get(*key)).min();
        keys.map(|key| Difference {
            key: (*key).clone(),
            replayed: replayed.get(key).map(|(revision, _)| *revision),
            live: live.get(key).map(|(revision, _)| *revision),
        })
    }
}

/// The running hash of a canonical log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canonical(Sha256);

impl Canonical {
    pub(crate) fn push(&mut self, entry: &[u8]) {
        self.0.update(entry);
    }

    pub(crate) fn hash(&self) -> String {
        self.0.clone().finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a String takes everything");
            text
        })
    }
}

/// Appends the canonical form of an entry without its change.
pub(crate) fn canonical_head(
    revision: Revision,
    time: DateTime<Utc>,
    verb: Verb,
    key: &Key,
    actor: &Actor,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&revision.0.to_le_bytes());
    // After the year 2262 the nanoseconds exceed 64 bits; for the hash the lower ones are enough.
    let nanos = time.timestamp().wrapping_mul(1_000_000_000).wrapping_add(i64::from(time.timestamp_subsec_nanos()));
    out.extend_from_slice(&nanos.to_le_bytes());
    out.push(match verb {
        Verb::Create => 0,
        Verb::Update => 1,
        Verb::UpdateStatus => 2,
        Verb::Delete => 3,
    });
    let key = [&key.cluster, &key.resource, &key.namespace, &key.name];
    for text in key.into_iter().chain([&actor.user, &actor.component, &actor.version]) {
        splice::push_varint(out, text.len());
        out.extend_from_slice(text.as_bytes());
    }
}

#[expect(clippy::too_many_arguments, reason = "the fields of an entry that count, each once")]
fn canonical(
    revision: Revision,
    time: DateTime<Utc>,
    verb: Verb,
    key: &Key,
    actor: &Actor,
    before: &Sections,
    after: &Sections,
    out: &mut Vec<u8>,
) {
    canonical_head(revision, time, verb, key, actor, out);
    splice::encode(before, after, out);
}
