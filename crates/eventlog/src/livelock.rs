// SPDX-License-Identifier: Apache-2.0
//! When writers answer one another for ever within one instant: time would never move again.
//!
//! The rule only; whoever counts says what becomes of it: a simulation fails, a landscape's clock stops.

use std::fmt;
use std::sync::Arc;

use clock::Instant;
use rustc_hash::FxHashMap;

use crate::{Actor, Key};

/// Writes that one object may get at one instant if it is alone.
const WRITES_OF_ONE_OBJECT: u64 = 64;
/// More of them for every other object of its cluster that changed at that instant.
const WRITES_PER_OTHER_OBJECT: u64 = 4;
/// Writes at one instant in all.
const WRITES: u64 = 1_000_000;

/// What happened too often at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveLock {
    /// The object of the last write.
    pub key: Key,
    /// Its writer.
    pub actor: Actor,
    /// The instant.
    pub at: Instant,
    /// Writes of the object at that instant.
    pub writes: u64,
}

impl fmt::Display for LiveLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, actor, at, writes } = self;
        write!(f, "live-lock at {}: {key} was written {writes} times, last by {}", at.to_rfc3339(), actor.user)
    }
}

/// The writes of one instant.
#[derive(Debug, Default)]
pub struct Writes {
    at: Instant,
    all: u64,
    objects: FxHashMap<Key, u64>,
    /// Objects that changed, by cluster.
    changed: FxHashMap<Arc<str>, u64>,
}

impl Writes {
    /// Counts a write; an answer says that it is one too many.
    pub fn count(&mut self, at: Instant, key: &Key, actor: &Actor) -> Option<LiveLock> {
        if at != self.at {
            self.forget();
            self.at = at;
        }
        self.all += 1;
        let writes = if let Some(writes) = self.objects.get_mut(key) {
            *writes += 1;
            *writes
        } else {
            self.objects.insert(key.clone(), 1);
            *self.changed.entry(key.cluster.clone()).or_default() += 1;
            1
        };
        let others = self.changed.get(&key.cluster).map_or(0, |changed| changed - 1);
        let locked = writes > WRITES_OF_ONE_OBJECT + WRITES_PER_OTHER_OBJECT * others || self.all > WRITES;
        locked.then(|| LiveLock { key: key.clone(), actor: actor.clone(), at, writes })
    }

    /// Begins to count anew.
    pub fn forget(&mut self) {
        self.all = 0;
        self.objects.clear();
        self.changed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Instant {
        Instant::from_timestamp(1_690_488_000 + second, 0).expect("in range")
    }

    /// How many writes of one object are let through, with so many others of its cluster and of another cluster.
    #[track_caller]
    fn check(others: u64, elsewhere: u64, expected: u64) {
        let mut writes = Writes::default();
        let actor = Actor::default();
        for (cluster, number) in [("garden", others), ("seed", elsewhere)] {
            for n in 0..number {
                let key = Key::new(cluster, "r", "ns", &format!("other-{n}"));
                assert_eq!(writes.count(at(0), &key, &actor), None);
            }
        }
        let key = Key::new("garden", "r", "ns", "a");
        let (let_through, lock) =
            (0..1000).find_map(|n| Some((n, writes.count(at(0), &key, &actor)?))).expect("there is a limit");
        assert_eq!(let_through, expected, "{others} others, {elsewhere} elsewhere");
        assert_eq!(lock, LiveLock { key: key.clone(), actor: actor.clone(), at: at(0), writes: expected + 1 });
        assert_eq!(writes.count(at(1), &key, &actor), None, "a new instant counts from the beginning");
    }

    #[test]
    fn one_object_may_be_written_64_times_and_4_times_more_for_every_other_that_changed() {
        check(0, 0, 64);
        check(1, 0, 68);
        check(10, 0, 104);
        check(0, 10, 64);
    }
}
