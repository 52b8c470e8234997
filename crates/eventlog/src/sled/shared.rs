// SPDX-License-Identifier: Apache-2.0
//! State that the handles and the log's threads share: the head, the entries that are not durable yet, store and
//! base.
//!
//! An append is judged, numbered and shown under one lock. The writer's thread then makes it durable. Two kinds of
//! callers wait for that ([`Shared::durable`]): those that send data out of the process, and those that read the
//! store, which has durable records only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::entry::{Entry, Revision};
use crate::log::{Append, AppendError, Appended, ReadError};
use crate::subscribers::Subscribers;

use super::checkpoint::Base;
use super::directory::Directory;
use super::recent::Recent;
use super::record::Record;
use super::state::{Decision, Fold};
use super::store::{Broken, Store};
use super::trouble::{Trouble, no_room};
use super::writer::Command;

/// Maximum number of bytes of records that are not durable yet: then appends wait. Below [`super::trouble::ROOM`], so
/// that there is room for entries that were shown.
const UNSYNCED_BYTES: usize = 4 << 20;

/// State of a log, shared by the handles, the subscriptions and the log's threads.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    published: Mutex<Published>,
    /// Notified when there is work for the writer.
    work: Condvar,
    /// Notified when an attempt of the writer, or its thread, has ended.
    attempted: Notify,
    trouble: Mutex<Option<Trouble>>,
    /// Notified when the trouble changes.
    changed: Notify,
    /// Held by tests to block the writer.
    #[cfg(test)]
    pub(super) gate: Mutex<()>,
    /// Set by tests: the journal accepts no frame.
    #[cfg(test)]
    pub(super) full: AtomicBool,
    healed: Mutex<Vec<String>>,
    /// The store cannot be used, and must be rebuilt from the journals.
    store_failed: AtomicBool,
}

/// The log at its head.
pub(super) struct Published {
    pub(super) fold: Fold,
    /// Revision up to which everything is as durable as was requested.
    pub(super) durable: Revision,
    pub(super) work: Work,
    pub(super) recent: Recent,
    pub(super) base: Arc<Base>,
    pub(super) subscribers: Subscribers,
    /// None once the log is closed.
    store: Option<Store>,
}

/// Work for the writer's thread, and the outcome of its attempts.
#[derive(Default)]
pub(super) struct Work {
    /// Records that the writer has not taken.
    pub(super) records: Vec<(Record, Vec<u8>)>,
    pub(super) commands: Vec<Command>,
    /// True if a failed attempt is to be repeated.
    pub(super) retry: bool,
    /// Bytes of records that are not durable.
    unsynced_bytes: usize,
    /// Maximum number of entries that are not durable.
    limit: u64,
    /// Number of attempts that failed.
    failures: u64,
    /// True if the last attempt failed.
    has_failed: bool,
    /// True if no appends are accepted any more.
    pub(super) is_closing: bool,
    /// True if no thread works any more.
    has_ended: bool,
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Published(head {})", self.fold.head)
    }
}

impl Shared {
    /// Creates the state of a log that was just opened, with the maximum number of entries that are not durable;
    /// `None`: no thread writes it.
    pub(super) fn new(directory: Directory, fold: Fold, base: Base, store: Store, unsynced: Option<usize>) -> Self {
        let is_read_only = unsynced.is_none();
        let limit = unsynced.map_or(0, |entries| entries as u64);
        let work = Work { limit, is_closing: is_read_only, has_ended: is_read_only, ..Work::default() };
        let published = Published {
            durable: fold.head,
            recent: Recent::after(fold.head),
            fold,
            work,
            base: Arc::new(base),
            subscribers: Subscribers::default(),
            store: Some(store),
        };
        Self {
            directory,
            published: Mutex::new(published),
            work: Condvar::new(),
            attempted: Notify::new(),
            trouble: Mutex::default(),
            changed: Notify::new(),
            #[cfg(test)]
            gate: Mutex::default(),
            #[cfg(test)]
            full: AtomicBool::new(false),
            healed: Mutex::default(),
            store_failed: AtomicBool::new(false),
        }
    }

    pub(super) fn published(&self) -> MutexGuard<'_, Published> {
        self.published.lock()
    }

    /// Judges an append, and shows its entry. The error is the append itself: it must wait until more is durable.
    pub(super) fn append(&self, append: Box<Append>) -> Result<Result<Appended, AppendError>, Box<Append>> {
        // A closed log reports that it is closed, whatever is wrong with its directory.
        if self.published().work.is_closing {
            return Ok(Err(AppendError::Closed));
        }
        let root = self.directory.root();
        if let Some(trouble) = self.failed().or_else(|| self.directory.gone()).or_else(|| no_room(root)) {
            return Ok(Err(self.set(trouble)));
        }
        let mut published = self.published();
        if published.work.is_closing {
            return Ok(Err(AppendError::Closed));
        }
        if published.is_full() {
            return Err(append);
        }
        let (entry, record) = match published.fold.decide(*append) {
            Err(refused) => return Ok(Err(refused)),
            Ok(Decision::Repeated(revision)) => return Ok(Ok(Appended { revision })),
            Ok(Decision::Entry(entry, record)) => (entry, record),
        };
        published.show(&entry);
        let revision = entry.revision;
        if record.is_none() && published.durable.0 + 1 == revision.0 && !published.fold.is_beyond_reserved() {
            // A heartbeat after the last durable entry needs no write.
            published.durable = revision;
        } else {
            let work = &mut published.work;
            work.unsynced_bytes += record.as_ref().map_or(0, |record| record.1.len());
            work.records.extend(record.map(|record| *record));
            self.work.notify_one();
        }
        Ok(Ok(Appended { revision }))
    }

    /// Waits until everything up to a revision is durable.
    ///
    /// # Errors
    /// The attempt to write it failed, or the log was closed before.
    pub(super) async fn durable(&self, revision: Revision) -> Result<(), AppendError> {
        self.wait(|published| published.durable >= revision).await
    }

    /// Waits until an append may be judged.
    ///
    /// # Errors
    /// Those of [`Shared::durable`].
    pub(super) async fn room(&self) -> Result<(), AppendError> {
        self.wait(|published| !published.is_full()).await
    }

    async fn wait(&self, is_reached: impl Fn(&Published) -> bool) -> Result<(), AppendError> {
        let mut before = None;
        loop {
            let mut attempted = std::pin::pin!(self.attempted.notified());
            attempted.as_mut().enable();
            {
                let mut published = self.published();
                if is_reached(&published) {
                    return Ok(());
                }
                let work = &mut published.work;
                let has_failed = work.failures > *before.get_or_insert(work.failures);
                if let Some(trouble) = self.trouble().filter(|trouble| has_failed || trouble.is_lasting()) {
                    return Err(AppendError::Storage(trouble.to_string()));
                }
                if work.has_ended {
                    return Err(AppendError::Closed);
                }
                if work.has_failed {
                    work.retry = true;
                    self.work.notify_one();
                }
            }
            attempted.await;
        }
    }

    /// Sends a command to the writer's thread; `false`: the thread has ended.
    pub(super) fn command(&self, command: Command) -> bool {
        let mut published = self.published();
        let is_heard = !published.work.has_ended;
        if is_heard {
            published.work.commands.push(command);
            self.work.notify_one();
        }
        is_heard
    }

    /// Waits in the writer's thread until there is work, such as entries after a revision.
    pub(super) fn worked(&self, written: Revision) -> MutexGuard<'_, Published> {
        let mut published = self.published();
        while published.fold.head <= written && published.work.commands.is_empty() && !published.work.retry {
            self.work.wait(&mut published);
        }
        published.work.retry = false;
        published
    }

    /// Records the outcome of an attempt of the writer: the last durable revision and the bytes of records that
    /// became durable; `None` for a failure.
    pub(super) fn attempted(&self, done: Option<(Revision, usize)>) {
        let mut published = self.published();
        let work = &mut published.work;
        work.has_failed = done.is_none();
        match done {
            Some((durable, bytes)) => {
                work.unsynced_bytes = work.unsynced_bytes.saturating_sub(bytes);
                // A heartbeat that needed no write may have been appended meanwhile.
                published.durable = published.durable.max(durable);
            }
            None => work.failures += 1,
        }
        drop(published);
        self.attempted.notify_waiters();
    }

    /// Marks the end of the writer's thread; commands that it has not taken find the log closed.
    pub(super) fn end(&self) {
        let mut published = self.published();
        published.work.is_closing = true;
        published.work.has_ended = true;
        let unheard = std::mem::take(&mut published.work.commands);
        drop(published);
        drop(unheard);
        self.attempted.notify_waiters();
    }

    /// Waits for the end of the writer's thread.
    pub(super) async fn ended(&self) {
        loop {
            let mut attempted = std::pin::pin!(self.attempted.notified());
            attempted.as_mut().enable();
            if self.published().work.has_ended {
                return;
            }
            attempted.await;
        }
    }

    /// Store and base, if history after a revision is retained.
    pub(super) fn store(&self, from: Revision) -> Result<(Store, Arc<Base>), ReadError> {
        let published = self.published();
        published.check(from)?;
        let store = published.store.clone().ok_or(ReadError::Closed)?;
        Ok((store, published.base.clone()))
    }

    /// Ends subscriptions and reads; returns the store.
    pub(super) fn close(&self) -> Option<Store> {
        let mut published = self.published();
        published.subscribers.close();
        published.store.take()
    }

    /// The storage failed, or was removed: nothing is written any more.
    pub(super) fn fail(&self, message: &str) -> AppendError {
        let failed = || Trouble::Failed(format!("{message}; the log must be opened again"));
        self.set(self.directory.gone().unwrap_or_else(failed))
    }

    /// Sets the trouble; a lasting one is never replaced.
    pub(super) fn set(&self, trouble: Trouble) -> AppendError {
        let mut held = self.held();
        if !held.as_ref().is_some_and(Trouble::is_lasting) && held.as_ref() != Some(&trouble) {
            *held = Some(trouble);
            self.changed.notify_waiters();
            self.attempted.notify_waiters();
        }
        AppendError::Storage(held.as_ref().map(Trouble::to_string).unwrap_or_default())
    }

    /// Clears a passing trouble.
    pub(super) fn clear(&self) {
        let mut held = self.held();
        if held.as_ref().is_some_and(|trouble| !trouble.is_lasting()) {
            *held = None;
            self.changed.notify_waiters();
        }
    }

    pub(super) fn fail_read(&self, error: &Broken) -> ReadError {
        self.fail_store(&error.0);
        ReadError::Closed
    }

    /// Marks the store as failed. Its contents are in the journals.
    pub(super) fn fail_store(&self, message: &str) -> AppendError {
        self.store_failed.store(true, Ordering::Release);
        let passing = || Trouble::Passing(format!("{message}; the store must be rebuilt"));
        self.set(self.directory.gone().unwrap_or_else(passing))
    }

    pub(super) fn store_failed(&self) -> bool {
        self.store_failed.load(Ordering::Acquire)
    }

    /// Replaces a store that failed.
    pub(super) fn replace_store(&self, store: Store) {
        self.published().store = Some(store);
        self.store_failed.store(false, Ordering::Release);
    }

    /// Records repaired damage.
    pub(super) fn heal(&self, notes: Vec<String>) {
        self.healed.lock().extend(notes);
    }

    pub(super) fn healed(&self) -> Vec<String> {
        self.healed.lock().clone()
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.held().clone()
    }

    /// Returns the trouble if it ends only with the log.
    pub(super) fn failed(&self) -> Option<Trouble> {
        self.held().clone().filter(Trouble::is_lasting)
    }

    fn held(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock()
    }

    /// Waits until the trouble differs from the known one.
    pub(super) async fn trouble_after(&self, known: Option<Trouble>) -> Option<Trouble> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let trouble = self.trouble();
            if trouble != known {
                return trouble;
            }
            changed.await;
        }
    }
}

impl Published {
    /// True if an append has to wait until more is durable.
    fn is_full(&self) -> bool {
        let Work { has_failed, limit, unsynced_bytes, .. } = self.work;
        has_failed || self.fold.head.0 - self.durable.0 >= limit || unsynced_bytes >= UNSYNCED_BYTES
    }

    /// Shows an entry to subscribers and readers.
    fn show(&mut self, entry: &Arc<Entry>) {
        self.recent.push(entry);
        if self.subscribers.any() {
            self.subscribers.publish(entry);
        }
    }

    pub(super) fn check(&self, revision: Revision) -> Result<(), ReadError> {
        if self.store.is_none() {
            Err(ReadError::Closed)
        } else if revision < self.base.revision() {
            Err(ReadError::Compacted(self.base.revision()))
        } else if revision > self.fold.head {
            Err(ReadError::Future(self.fold.head))
        } else {
            Ok(())
        }
    }
}
