// SPDX-License-Identifier: Apache-2.0
//! Reads of admission plugins, and the guards that result from decisive reads.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use eventlog::{Guard, Key, Revision};

use crate::admission::Snapshot;
use crate::storage::{CollectionId, Store, range, stored};

/// The state of one cluster, as of the request.
pub(crate) struct View<'a> {
    store: &'a Store,
    cluster: &'a str,
    position: Revision,
    pub(crate) guards: Vec<Guard>,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("cluster", &self.cluster).field("position", &self.position).finish_non_exhaustive()
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(store: &'a Store, cluster: &'a str) -> Self {
        Self { store, cluster, position: store.position(), guards: Vec::new() }
    }

    pub(crate) fn guard(&mut self, guard: Guard) {
        if !self.guards.contains(&guard) {
            self.guards.push(guard);
        }
    }

    /// Requires that the object of a key did not change since the view was taken.
    pub(crate) fn guard_key_since(&mut self, key: Key) {
        self.guard(Guard::Key(key, self.position));
    }

    pub(crate) fn stored(&self, id: CollectionId, namespace: &str, name: &str) -> Option<Arc<stored::Stored>> {
        self.store.get(id, &stored::path(self.cluster, namespace, name))
    }
}

impl Snapshot for View<'_> {
    fn get_any(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Arc<dyn Any + Send + Sync>> {
        let id = self.store.collection(group, plural)?;
        let kind = self.store.kind(id);
        self.store.decoded(&self.stored(id, namespace, name)?, &*kind)
    }

    fn list_any(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Arc<dyn Any + Send + Sync>> {
        let Some(id) = self.store.collection(group, plural) else { return Vec::new() };
        let kind = self.store.kind(id);
        let (map, _) = self.store.root(id);
        let prefix = match namespace {
            Some(namespace) => format!("{}/{namespace}/", self.cluster),
            None => format!("{}/", self.cluster),
        };
        range(&map, &prefix, "").filter_map(|(_, object)| self.store.decoded(object, &*kind)).collect()
    }

    fn guard_key(&mut self, group: &str, plural: &str, namespace: &str, name: &str) {
        self.guard_key_since(Key::new(self.cluster, &format!("{group}/{plural}"), namespace, name));
    }

    fn guard_collection(&mut self, group: &str, plural: &str) {
        self.guard(Guard::Collection(self.cluster.into(), format!("{group}/{plural}").into(), self.position));
    }
}
