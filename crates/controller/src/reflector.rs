// SPDX-License-Identifier: Apache-2.0
//! A local copy of one kind: list, watch, resume, deletions found by a re-list, bookmarks.

use std::sync::Arc;

use apimachinery::Resource;

use crate::api::{Api, ListOptions};
use crate::queue::ObjectKey;

/// What changed in a store.
#[derive(Clone, Debug)]
pub struct Change<K> {
    /// Which object.
    pub key: ObjectKey,
    /// Before; `None` when it was not there.
    pub old: Option<Arc<K>>,
    /// After; `None` when it is gone.
    pub new: Option<Arc<K>>,
}

/// Keeps a [`Store`] equal to the server.
#[derive(Debug)]
pub struct Reflector<K> {
    api: Api<K>,
}

/// The read handle of a reflector's copy. Cheap to clone.
#[derive(Debug)]
pub struct Store<K> {
    kind: std::marker::PhantomData<fn() -> K>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        todo!()
    }
}

impl<K: Resource> Reflector<K> {
    /// A reflector of what `api` and `options` select. [`crate::Controller`] runs it; without one, use
    /// [`Reflector::start`].
    pub fn new(api: Api<K>, options: ListOptions) -> Self {
        let _ = options;
        Self { api }
    }

    /// The read handle.
    pub fn store(&self) -> Store<K> {
        let _ = &self.api;
        todo!()
    }

    /// Calls `handler` for every change, in order, on the reflector's task. Set before the start.
    pub fn on_change(self, handler: impl Fn(&Change<K>) + Send + Sync + 'static) -> Self {
        drop(handler);
        todo!()
    }

    /// Spawns the reflector's task.
    pub fn start(self) -> Store<K> {
        todo!()
    }
}

impl<K: Resource> Store<K> {
    /// Resolves when the first list has arrived.
    pub async fn synced(&self) {
        todo!()
    }

    /// An object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let _ = key;
        todo!()
    }

    /// An object by namespace and name, whatever its cluster (the first in key order).
    pub fn find(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let _ = (namespace, name);
        todo!()
    }

    /// All objects, in key order.
    pub fn list(&self) -> Vec<Arc<K>> {
        todo!()
    }

    /// The objects of one cluster and namespace, in key order.
    pub fn list_in(&self, cluster: &str, namespace: &str) -> Vec<Arc<K>> {
        let _ = (cluster, namespace);
        todo!()
    }
}
