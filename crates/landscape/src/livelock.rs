// SPDX-License-Identifier: Apache-2.0
//! The guard against controllers that answer one another for ever within one instant.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clock::{Clock, Instant};
use eventlog::log::BoxFuture;
use eventlog::{
    Actor, Append, AppendError, Appended, Entry, EventLog, Key, MemoryLog, ReadError, Revision, Snapshot, Subscription,
};
use rustc_hash::FxHashMap;

use crate::runtime::Stop;

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

/// A log that closes itself, and stops the runtime, when an instant has too many writes.
#[derive(Debug)]
pub(crate) struct GuardedLog {
    log: MemoryLog,
    clock: Clock,
    stop: Stop,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    at: Instant,
    writes: u64,
    objects: FxHashMap<Key, u64>,
    /// Objects that changed, by cluster.
    changed: FxHashMap<Arc<str>, u64>,
    pub(crate) live_lock: Option<LiveLock>,
}

impl GuardedLog {
    pub(crate) fn new(log: MemoryLog, clock: Clock, stop: Stop) -> Self {
        Self { log, clock, stop, counts: Arc::default() }
    }

    pub(crate) fn counts(&self) -> Arc<Mutex<Counts>> {
        self.counts.clone()
    }
}

impl Counts {
    /// Counts a write; whether it is one too many.
    fn count(&mut self, at: Instant, key: &Key, actor: &Actor) -> bool {
        if at != self.at {
            self.at = at;
            self.writes = 0;
            self.objects.clear();
            self.changed.clear();
        }
        self.writes += 1;
        let writes = if let Some(writes) = self.objects.get_mut(key) {
            *writes += 1;
            *writes
        } else {
            self.objects.insert(key.clone(), 1);
            *self.changed.entry(key.cluster.clone()).or_default() += 1;
            1
        };
        let others = self.changed.get(&key.cluster).map_or(0, |changed| changed - 1);
        let locked = writes > WRITES_OF_ONE_OBJECT + WRITES_PER_OTHER_OBJECT * others || self.writes > WRITES;
        if locked && self.live_lock.is_none() {
            self.live_lock = Some(LiveLock { key: key.clone(), actor: actor.clone(), at, writes });
        }
        locked
    }
}

pub(crate) fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EventLog for GuardedLog {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        if lock(&self.counts).count(self.clock.now(), &append.key, &append.actor) {
            self.log.close();
            self.stop.stop();
        }
        self.log.append(append)
    }

    fn head(&self) -> Revision {
        self.log.head()
    }

    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        self.log.read(from, to, cluster)
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        self.log.subscribe(from, cluster)
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.log.state_at(revision)
    }

    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        self.log.compact(revision)
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
        let mut counts = Counts::default();
        let actor = Actor::default();
        for (cluster, number) in [("garden", others), ("seed", elsewhere)] {
            for n in 0..number {
                assert!(!counts.count(at(0), &Key::new(cluster, "r", "ns", &format!("other-{n}")), &actor));
            }
        }
        let key = Key::new("garden", "r", "ns", "a");
        let let_through = (1..1000).find(|_| counts.count(at(0), &key, &actor)).expect("a limit") - 1;
        assert_eq!(let_through, expected, "{others} others, {elsewhere} elsewhere");
        assert_eq!(counts.live_lock.as_ref().map(|lock| lock.writes), Some(expected + 1));
        assert!(!counts.count(at(1), &key, &actor), "a new instant counts from the beginning");
    }

    #[test]
    fn one_object_may_be_written_64_times_and_4_times_more_for_every_other_that_changed() {
        check(0, 0, 64);
        check(1, 0, 68);
        check(10, 0, 104);
        check(0, 10, 64);
    }
}
