// SPDX-License-Identifier: Apache-2.0
//! The log of a simulation: everything in memory, appends complete at once.

use std::sync::Arc;

use crate::entry::{Entry, Key, Revision, Sections};
use crate::log::{Append, AppendError, Appended, BoxFuture, EventLog, ReadError, Subscription};

/// A log in memory. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }
}

impl EventLog for MemoryLog {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        let _ = append;
        todo!()
    }

    fn head(&self) -> Revision {
        todo!()
    }

    fn read(&self, _: Revision, _: Revision, _: Option<&str>) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        todo!()
    }

    fn subscribe(&self, _: Revision, _: Option<&str>) -> Result<Subscription, ReadError> {
        todo!()
    }

    fn state_at(&self, _: Revision) -> BoxFuture<Result<Vec<(Key, Revision, Sections)>, ReadError>> {
        todo!()
    }

    fn compact(&self, _: Revision) -> BoxFuture<Result<(), ReadError>> {
        todo!()
    }
}
