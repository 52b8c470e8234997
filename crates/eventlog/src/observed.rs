// SPDX-License-Identifier: Apache-2.0
//! A log in front of another one: an observer is called with each append first, and may refuse it.
//!
//! **Deliberately absent**: changing an append. The observer may close the log behind.

use std::fmt;
use std::sync::Arc;

use crate::entry::{Entry, Revision};
use crate::log::{Append, AppendError, Appended, BoxFuture, EventLog, ReadError, Snapshot, Subscription};

/// Answer of an observer: nothing, or a refusal.
pub trait Verdict {
    /// Returns the reason for which the append is refused.
    fn refusal(self) -> Option<AppendError>;
}

impl Verdict for () {
    fn refusal(self) -> Option<AppendError> {
        None
    }
}

impl Verdict for Option<AppendError> {
    fn refusal(self) -> Option<AppendError> {
        self
    }
}

/// A log, and the observer of its appends.
pub struct Observed<F> {
    log: Arc<dyn EventLog>,
    observer: F,
}

impl<F, V> Observed<F>
where
    F: Fn(&Append) -> V + Send + Sync + 'static,
    V: Verdict,
{
    /// Wraps `log`; `observer` is called with every append that is made through the wrapper, also with those that the
    /// log then refuses.
    pub fn new(log: Arc<dyn EventLog>, observer: F) -> Self {
        Self { log, observer }
    }
}

impl<F> fmt::Debug for Observed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observed").field(&self.log).finish()
    }
}

impl<F, V> EventLog for Observed<F>
where
    F: Fn(&Append) -> V + Send + Sync + 'static,
    V: Verdict,
{
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        match (self.observer)(&append).refusal() {
            None => self.log.append(append),
            Some(refusal) => Box::pin(std::future::ready(Err(refusal))),
        }
    }

    fn durable(&self, revision: Revision) -> BoxFuture<Result<(), AppendError>> {
        self.log.durable(revision)
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

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.log.state_of(revision, resource)
    }

    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        self.log.compact(revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryLog;

    crate::conformance!(Observed::new(Arc::new(MemoryLog::new()), |_: &Append| {}));
}
