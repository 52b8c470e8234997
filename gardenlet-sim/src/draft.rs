// SPDX-License-Identifier: Apache-2.0
//! An object under change: its stored state and its new state.

use std::sync::Arc;

use apimachinery::Resource;
use controller::{Api, Error};

/// An object under change: its stored state and its new state.
#[derive(Debug)]
pub(crate) struct Draft<K> {
    stored: Arc<K>,
    changed: Option<Box<K>>,
}

impl<K: Resource> Draft<K> {
    /// Creates a draft of a stored object.
    pub(crate) fn new(stored: Arc<K>) -> Self {
        Self { stored, changed: None }
    }

    /// Returns the new state of the object.
    pub(crate) fn get(&self) -> &K {
        self.changed.as_deref().unwrap_or(&self.stored)
    }

    /// Returns the new state of the object for changes.
    pub(crate) fn edit(&mut self) -> &mut K {
        self.changed.get_or_insert_with(|| Box::new((*self.stored).clone()))
    }

    /// Replaces the stored state; drops unsaved changes.
    pub(crate) fn reset(&mut self, stored: Arc<K>) {
        self.stored = stored;
        self.changed = None;
    }

    /// Writes the changes, status last.
    ///
    /// An object that is being deleted and loses its last finalizer is removed; its status is not written any more.
    pub(crate) async fn save(&mut self, api: &Api<K>) -> Result<(), Error> {
        let Some(mut new) = self.changed.take() else { return Ok(()) };
        self.keep(api.update(&self.stored, &new).await?);
        let metadata = new.metadata();
        if metadata.is_being_deleted() && metadata.finalizers.is_empty() {
            return Ok(());
        }
        // `new` has the resource version that it was made from: with that, an unchanged status would return outdated
        // metadata.
        *new.metadata_mut() = self.stored.metadata().clone();
        self.keep(api.update_status(&self.stored, &new).await?);
        Ok(())
    }

    /// Keeps the answer of a write, unless it is the same version.
    fn keep(&mut self, written: K) {
        if written.metadata().resource_version != self.stored.metadata().resource_version {
            self.stored = Arc::new(written);
        }
    }
}
