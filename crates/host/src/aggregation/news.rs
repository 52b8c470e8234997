// SPDX-License-Identifier: Apache-2.0
//! Whether the watches of the aggregated groups can have been told anything since somebody last looked.
//!
//! Objects of these groups are written by their API servers alone, through the host's log, and their watches are opened
//! through the host. So an API server that was asked since the last such write and the last such watch says the same again.
//!
//! **Invariants.** A write counts from before it reaches the log until it has been answered; a watch from when its server
//! has opened it, before its client knows. While a write is under way nothing is said ([`News::now`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has happened so far. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct News(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    begun: AtomicU64,
    ended: AtomicU64,
    opened: AtomicU64,
}

/// A moment: two that are equal have neither a write nor a new watch between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    writes: u64,
    watches: u64,
}

/// A write that is under way until this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Counts>);

impl News {
    pub(super) fn write(&self) -> UnderWay {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        UnderWay(self.0.clone())
    }

    pub(super) fn watch_was_opened(&self) {
        self.0.opened.fetch_add(1, Ordering::SeqCst);
    }

    /// The present moment; `None` while a write is under way.
    pub(super) fn now(&self) -> Option<Moment> {
        // In this order: a write that begins in between is seen as under way.
        let ended = self.0.ended.load(Ordering::SeqCst);
        let watches = self.0.opened.load(Ordering::SeqCst);
        let writes = self.0.begun.load(Ordering::SeqCst);
        (writes == ended).then_some(Moment { writes, watches })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_ends_with_a_write_or_a_new_watch() {
        let news = News::default();
        let first = news.now();
        assert!(first.is_some());
        assert_eq!(news.now(), first);
        let write = news.write();
        assert_eq!(news.now(), None, "it may be in the log already");
        drop(write);
        let second = news.now();
        assert!(second.is_some() && second != first);
        news.watch_was_opened();
        assert!(news.now().is_some() && news.now() != second);
    }
}
