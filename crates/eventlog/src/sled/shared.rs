// SPDX-License-Identifier: Apache-2.0
//! What readers see: the published state, the store, the base of history.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;

use crate::entry::{Entry, Revision};
use crate::log::{AppendError, ReadError};
use crate::subscribers::Subscribers;

use super::checkpoint::Base;
use super::directory::Directory;
use super::state::{Fold, Heartbeats, Objects};
use super::store::{Broken, Store};

/// Shared by the handles, the subscriptions and the log's threads.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    published: Mutex<Published>,
    failed: OnceLock<String>,
    failure: Notify,
}

/// The log as everybody may see it: durable up to `head`.
#[derive(Default)]
pub(super) struct Published {
    pub(super) head: Revision,
    pub(super) objects: Objects,
    pub(super) heartbeats: Heartbeats,
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
            objects: fold.objects.clone(),
            heartbeats: fold.heartbeats.clone(),
            base: Arc::new(base),
            subscribers: Subscribers::default(),
            store: Some(store),
        };
        Self { directory, published: Mutex::new(published), failed: OnceLock::new(), failure: Notify::new() }
    }

    pub(super) fn published(&self) -> MutexGuard<'_, Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what a commit group made.
    pub(super) fn publish(&self, fold: &Fold, entries: &[Arc<Entry>]) {
        let mut published = self.published();
        published.head = fold.head;
        published.objects = fold.objects.clone();
        published.heartbeats = fold.heartbeats.clone();
        if published.subscribers.any() {
            for entry in entries {
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

    /// The storage failed: nothing is written any more.
    pub(super) fn fail(&self, message: &str) -> AppendError {
        if self.failed.set(message.to_owned()).is_ok() {
            self.failure.notify_waiters();
        }
        AppendError::Storage(self.failed.get().cloned().unwrap_or_default())
    }

    pub(super) fn fail_read(&self, error: &Broken) -> ReadError {
        self.fail(&error.0);
        ReadError::Closed
    }

    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.get().map(String::as_str)
    }

    /// Waits until the storage fails.
    pub(super) async fn failure(&self) -> String {
        let mut notified = std::pin::pin!(self.failure.notified());
        notified.as_mut().enable();
        match self.failed.get() {
            Some(message) => message.clone(),
            None => {
                notified.await;
                self.failed.get().cloned().unwrap_or_default()
            }
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
