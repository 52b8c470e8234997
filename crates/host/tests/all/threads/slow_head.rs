// SPDX-License-Identifier: Apache-2.0
//! A log whose head is returned slowly, as when the thread is descheduled at that moment.

use std::sync::Arc;

use eventlog::log::{BoxFuture, Snapshot};
use eventlog::{Append, AppendError, Appended, Entry, EventLog, MemoryLog, ReadError, Revision, Subscription};

/// Number of yields to other threads before the head is returned.
const TURNS: usize = 300;

#[derive(Debug, Default)]
pub(crate) struct SlowHead(MemoryLog);

impl EventLog for SlowHead {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        self.0.append(append)
    }

    fn durable(&self, revision: Revision) -> BoxFuture<Result<(), AppendError>> {
        self.0.durable(revision)
    }

    fn head(&self) -> Revision {
        let head = self.0.head();
        (0..TURNS).for_each(|_| std::thread::yield_now());
        head
    }

    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        self.0.read(from, to, cluster)
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        self.0.subscribe(from, cluster)
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.0.state_at(revision)
    }

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.0.state_of(revision, resource)
    }

    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        self.0.compact(revision)
    }
}
