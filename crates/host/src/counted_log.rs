// SPDX-License-Identifier: Apache-2.0
//! The log as everybody writes to it: the clock counts the writes of an instant, and stops for writers that answer one
//! another without end (see [`eventlog::livelock`]).
//!
//! **Deliberately absent**: refusing a write. Time stands, the writers go on, and a person can look at what they do.

use std::sync::Arc;

use eventlog::log::BoxFuture;
use eventlog::{Append, AppendError, Appended, Entry, EventLog, ReadError, Revision, Snapshot, Subscription};

use crate::clock_service::ClockService;

/// A log whose writes a clock counts.
#[derive(Debug)]
pub(crate) struct CountedLog {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) clock: ClockService,
}

impl EventLog for CountedLog {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        self.clock.wrote(&append.key, &append.actor);
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
