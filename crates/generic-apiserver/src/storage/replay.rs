// SPDX-License-Identifier: Apache-2.0
//! The beginning of a watch that starts before the ring: read from the log, at the pace of the watching client.
//!
//! ```text
//! request      at                 floor          position
//!   │ delivered │ next piece … │    │ ring … ─────▶ │ live
//! ```
//!
//! A piece is read when everything before it was taken, so that a queue holds no more than a piece, however long the
//! history is. The watcher is registered once the ring reaches back to the revision read so far; then the ring's
//! changes are queued under the lock under which new ones are delivered: nothing is missing at the seam, and nothing is
//! delivered twice. No barrier passes a participant's watcher that is not registered yet: the store reports no line counts
//! while there is one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use eventlog::log::BoxFuture;
use eventlog::{Entry, ReadError, Revision};

use super::watcher::Watcher;
use super::{CollectionId, Store, StoreError, event_of};

/// Maximum number of revisions in a piece.
const PIECE: u64 = 1024;

type Piece = BoxFuture<Result<Vec<Arc<Entry>>, ReadError>>;

/// Reads the changes before the ring for a watcher.
pub(crate) struct Replay {
    store: Arc<Store>,
    id: CollectionId,
    watcher: Arc<Watcher>,
    /// Revision up to which everything was queued.
    at: Revision,
    /// Revision up to which the pending piece extends, and the piece.
    reading: Option<(Revision, Piece)>,
    /// Present until the watcher of a participant is registered.
    unregistered: Option<Unregistered>,
}

/// A participant's watcher in [`Store::replays`].
struct Unregistered(Arc<Store>);

impl Unregistered {
    fn new(store: &Arc<Store>) -> Self {
        store.replays.fetch_add(1, Ordering::SeqCst);
        Self(store.clone())
    }
}

impl Drop for Unregistered {
    fn drop(&mut self) {
        self.0.replays.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Progress of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Items were queued; there may be more.
    Queued,
    /// All entries were queued, and the watcher receives new changes.
    Done,
}

impl Replay {
    /// Queues the changes after `from`, or a first piece of them; in the latter case returns the replay of the others.
    pub(super) async fn begin(
        store: &Arc<Store>,
        id: CollectionId,
        from: Revision,
        watcher: &Arc<Watcher>,
    ) -> Result<Option<Self>, StoreError> {
        let unregistered = watcher.is_participants().then(|| Unregistered::new(store));
        let (store, watcher) = (store.clone(), watcher.clone());
        let mut replay = Self { store, id, watcher, at: from, reading: None, unregistered };
        // The first piece shows whether the log still has the requested revision.
        if replay.join() {
            return Ok(None);
        }
        if let Some((to, piece)) = replay.reading.take() {
            let entries = piece.await?;
            replay.queue(&entries, to);
        }
        Ok((!replay.join()).then_some(replay))
    }

    /// Returns the revision up to which everything was queued.
    pub(crate) fn at(&self) -> Revision {
        self.at
    }

    /// Queues the next piece; must be called only when the watcher's queue is empty, and not after [`Progress::Done`].
    ///
    /// # Errors
    /// The log has discarded the next entries, or is closed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Progress, StoreError>> {
        if self.reading.is_none() && self.join() {
            return Poll::Ready(Ok(Progress::Done));
        }
        let Some((to, piece)) = &mut self.reading else { return Poll::Pending };
        let read = std::task::ready!(piece.as_mut().poll(cx));
        let to = *to;
        self.reading = None;
        match read {
            Err(error) => Poll::Ready(Err(error.into())),
            Ok(entries) if self.queue(&entries, to) => Poll::Ready(Ok(Progress::Queued)),
            Ok(_) => {
                // A long history without changes for this watch must not keep the thread from others.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    /// Registers the watcher if the ring reaches back to this position; otherwise begins to read the next piece.
    fn join(&mut self) -> bool {
        match self.store.join(self.id, self.at, &self.watcher) {
            Ok(()) => {
                self.unregistered = None;
                true
            }
            Err(floor) => {
                let to = floor.min(Revision(self.at.0 + PIECE));
                self.reading = Some((to, self.store.log.read(self.at, to, self.store.cluster)));
                false
            }
        }
    }

    /// Queues the changes of a piece that the watcher selects; returns true if there are any.
    fn queue(&mut self, entries: &[Arc<Entry>], to: Revision) -> bool {
        let kind = self.store.kind(self.id);
        let resource = &kind.names().log_resource;
        let mut any = false;
        for entry in entries.iter().filter(|entry| entry.key.resource == *resource) {
            any |= self.watcher.offer(&Arc::new(event_of(entry)));
        }
        self.watcher.reached(to);
        self.at = to;
        any
    }
}
