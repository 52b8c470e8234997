// SPDX-License-Identifier: Apache-2.0
//! What readers see: the published state, the store, the base of history.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Utc};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::entry::{Entry, Revision};
use crate::log::{AppendError, ReadError};
use crate::subscribers::Subscribers;

use super::checkpoint::Base;
use super::directory::Directory;
use super::recent::Recent;
use super::state::{Fold, Heartbeats, Objects};
use super::store::{Broken, Store};
use super::trouble::Trouble;

/// Shared by the handles, the subscriptions and the log's threads.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    published: Mutex<Published>,
    trouble: Mutex<Option<Trouble>>,
    /// The trouble is another.
    changed: Notify,
    healed: Mutex<Vec<String>>,
    /// The store cannot be used: it is to be made anew from the journals.
    store_failed: AtomicBool,
}

/// The log as everybody may see it: durable up to `head`.
#[derive(Default)]
pub(super) struct Published {
    pub(super) head: Revision,
    /// Landscape time of the last entry.
    pub(super) time: DateTime<Utc>,
    pub(super) objects: Objects,
    pub(super) heartbeats: Heartbeats,
    pub(super) recent: Recent,
    pub(super) base: Arc<Base>,
    pub(super) subscribers: Subscribers,
    /// None once the log is closed.
    store: Option<Store>,
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Published(head {})", self.head)
    }
}

impl Shared {
    pub(super) fn new(directory: Directory, fold: &Fold, base: Base, store: Store) -> Self {
        let published = Published {
            head: fold.head,
            time: fold.time,
            objects: fold.objects.clone(),
            heartbeats: fold.heartbeats.clone(),
            recent: Recent::after(fold.head),
            base: Arc::new(base),
            subscribers: Subscribers::default(),
            store: Some(store),
        };
        Self {
            directory,
            published: Mutex::new(published),
            trouble: Mutex::default(),
            changed: Notify::new(),
            healed: Mutex::default(),
            store_failed: AtomicBool::new(false),
        }
    }

    pub(super) fn published(&self) -> MutexGuard<'_, Published> {
        self.published.lock()
    }

    /// Shows what a commit group made.
    pub(super) fn publish(&self, fold: &Fold, entries: &[Arc<Entry>]) {
        let mut published = self.published();
        published.head = fold.head;
        published.time = fold.time;
        published.objects = fold.objects.clone();
        published.heartbeats = fold.heartbeats.clone();
        let has_subscribers = published.subscribers.any();
        for entry in entries {
            published.recent.push(entry);
            if has_subscribers {
                published.subscribers.publish(entry);
            }
        }
    }

    /// Store and base, if history after a revision is retained.
    pub(super) fn store(&self, from: Revision) -> Result<(Store, Arc<Base>), ReadError> {
        let published = self.published();
        published.check(from)?;
        let store = published.store.clone().ok_or(ReadError::Closed)?;
        Ok((store, published.base.clone()))
    }

    /// Ends subscriptions and reads; the store is given up.
    pub(super) fn close(&self) -> Option<Store> {
        let mut published = self.published();
        published.subscribers.close();
        published.store.take()
    }

    /// The storage failed, or is gone: nothing is written any more.
    pub(super) fn fail(&self, message: &str) -> AppendError {
        let failed = || Trouble::Failed(format!("{message}; the log must be opened again"));
        self.set(self.directory.gone().unwrap_or_else(failed))
    }

    /// Something is wrong; what lasts is never forgotten.
    pub(super) fn set(&self, trouble: Trouble) -> AppendError {
        let mut held = self.held();
        if !held.as_ref().is_some_and(Trouble::is_lasting) && held.as_ref() != Some(&trouble) {
            *held = Some(trouble);
            self.changed.notify_waiters();
        }
        AppendError::Storage(held.as_ref().map(Trouble::to_string).unwrap_or_default())
    }

    /// There is room again.
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

    /// The store cannot be used any more. What it held is in the journals.
    pub(super) fn fail_store(&self, message: &str) -> AppendError {
        self.store_failed.store(true, Ordering::Release);
        let passing = || Trouble::Passing(format!("{message}; the store is to be made anew"));
        self.set(self.directory.gone().unwrap_or_else(passing))
    }

    pub(super) fn store_failed(&self) -> bool {
        self.store_failed.load(Ordering::Acquire)
    }

    /// Takes another store in the place of one that failed.
    pub(super) fn replace_store(&self, store: Store) {
        self.published().store = Some(store);
        self.store_failed.store(false, Ordering::Release);
    }

    /// Notes what was made good.
    pub(super) fn heal(&self, notes: Vec<String>) {
        self.healed.lock().extend(notes);
    }

    pub(super) fn healed(&self) -> Vec<String> {
        self.healed.lock().clone()
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.held().clone()
    }

    /// What ends only with the log.
    pub(super) fn failed(&self) -> Option<Trouble> {
        self.held().clone().filter(Trouble::is_lasting)
    }

    fn held(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock()
    }

    /// Waits until the trouble is another than the one that is known.
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
    pub(super) fn check(&self, revision: Revision) -> Result<(), ReadError> {
        if self.store.is_none() {
            Err(ReadError::Closed)
        } else if revision < self.base.revision() {
            Err(ReadError::Compacted(self.base.revision()))
        } else if revision > self.head {
            Err(ReadError::Future(self.head))
        } else {
            Ok(())
        }
    }
}
