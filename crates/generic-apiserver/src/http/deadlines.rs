// SPDX-License-Identifier: Apache-2.0
//! Instants by which a client must have read the large responses of its connection.
//!
//! Bytes that are passed to a connection stay in memory until the client reads them, in the buffers of HTTP/1.1 as well
//! as in those of an HTTP/2 stream whose window is closed. Only the end of the connection frees them.
//!
//! Unlike upstream: an HTTP/2 response that is not read in time ends its connection, not only its stream.

use std::collections::BTreeSet;
use std::sync::Arc;

use clock::{Clock, Instant, TimerClass};
use futures::future::{Either, select};
use process::watch;

/// Deadlines of one connection. Cheap to clone; clones are of one connection.
#[derive(Clone)]
pub(super) struct Deadlines(Arc<watch::Sender<Open>>);

#[derive(Default)]
struct Open {
    /// Deadlines by instant and number.
    all: BTreeSet<(Instant, u64)>,
    next: u64,
}

impl Deadlines {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Open::default())))
    }

    /// Adds a deadline that lasts until the returned value is dropped.
    pub(super) fn at(&self, instant: Instant) -> Deadline {
        let mut entry = (instant, 0);
        self.0.send_modify(|open| {
            entry.1 = open.next;
            open.next += 1;
            open.all.insert(entry);
        });
        Deadline { entry, deadlines: self.clone() }
    }

    /// Resolves when a deadline passes.
    pub(super) async fn passed(self, wall: Clock) {
        let mut open = self.0.subscribe();
        loop {
            let first = open.borrow().all.first().map(|(instant, _)| *instant);
            let changed = std::pin::pin!(open.changed());
            // No error is possible, since the sender is held here.
            let Some(first) = first else {
                let _ = changed.await;
                continue;
            };
            if let Either::Right(_) = select(changed, wall.sleep_until(first, TimerClass::Calendar)).await {
                return;
            }
        }
    }
}

/// A deadline of a connection.
pub(super) struct Deadline {
    entry: (Instant, u64),
    deadlines: Deadlines,
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.deadlines.0.send_modify(|open| {
            open.all.remove(&self.entry);
        });
    }
}
