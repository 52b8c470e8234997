// SPDX-License-Identifier: Apache-2.0
//! Log in memory for tests, whose entries become durable when the test opens its gate.

use std::sync::Arc;

use eventlog::log::{BoxFuture, ReadError, Snapshot, Subscription};
use eventlog::{Append, AppendError, Appended, Entry, EventLog, MemoryLog, Revision};
use process::watch;

/// Durability of all entries of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Entries are not durable yet.
    Shut,
    /// Entries are durable.
    Open,
    /// Entries cannot become durable; the reason.
    Broken(&'static str),
}

/// A log in memory behind a gate.
#[derive(Debug)]
pub(crate) struct GatedLog {
    log: MemoryLog,
    gate: watch::Receiver<Gate>,
}

impl GatedLog {
    /// Creates a log without durable entries; returns its gate, too.
    pub(crate) fn shut() -> (watch::Sender<Gate>, Arc<dyn EventLog>) {
        let (sender, gate) = watch::channel(Gate::Shut);
        (sender, Arc::new(Self { log: MemoryLog::new(), gate }))
    }
}

impl EventLog for GatedLog {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        self.log.append(append)
    }

    fn durable(&self, _: Revision) -> BoxFuture<Result<(), AppendError>> {
        let mut gate = self.gate.clone();
        Box::pin(async move {
            gate.wait_for(|gate| *gate != Gate::Shut).await.expect("its sender");
            match *gate.borrow() {
                Gate::Broken(reason) => Err(AppendError::Storage(reason.to_owned())),
                Gate::Open | Gate::Shut => Ok(()),
            }
        })
    }

    fn head(&self) -> Revision {
        self.log.head()
    }

    fn read(&self, from: Revision, to: Revision, of: Option<&str>) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        self.log.read(from, to, of)
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        self.log.subscribe(from, cluster)
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.log.state_at(revision)
    }

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.log.state_of(revision, resource)
    }

    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        self.log.compact(revision)
    }
}
