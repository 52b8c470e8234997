// SPDX-License-Identifier: Apache-2.0
//! The guard against controllers that answer one another for ever within one instant: a simulation fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clock::Clock;
use eventlog::livelock::{LiveLock, Writes};
use eventlog::log::BoxFuture;
use eventlog::{
    Append, AppendError, Appended, Entry, EventLog, MemoryLog, ReadError, Revision, Snapshot, Subscription,
};

use crate::runtime::Stop;

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
    writes: Writes,
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

pub(crate) fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EventLog for GuardedLog {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        let mut counts = lock(&self.counts);
        if let Some(live_lock) = counts.writes.count(self.clock.now(), &append.key, &append.actor) {
            counts.live_lock.get_or_insert(live_lock);
            self.log.close();
            self.stop.stop();
        }
        drop(counts);
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
