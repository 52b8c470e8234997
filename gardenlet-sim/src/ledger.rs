// SPDX-License-Identifier: Apache-2.0
//! A store that includes its own writes.
//!
//! A watch delivers a change some time after the write was answered. A pass that read the store alone would create an
//! object a second time. The ledger holds written objects until the store has caught up.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apimachinery::Resource;
use controller::{Api, Error, ObjectKey, Store};
use parking_lot::{Mutex, MutexGuard};

/// A store with the objects that were written since.
pub(crate) struct Ledger<K> {
    store: Store<K>,
    written: Arc<Mutex<BTreeMap<ObjectKey, Written<K>>>>,
}

enum Written<K> {
    Present(Arc<K>),
    /// The object with this uid was deleted.
    Gone(String),
}

impl<K> Clone for Ledger<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), written: self.written.clone() }
    }
}

/// Omits the objects, since Secrets are among them.
impl<K> fmt::Debug for Ledger<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

impl<K: Resource> Ledger<K> {
    /// Creates a ledger over a store. Only the ledger's own writer may create objects and delete them at once.
    pub(crate) fn new(store: Store<K>) -> Self {
        let written: Arc<Mutex<BTreeMap<ObjectKey, Written<K>>>> = Arc::default();
        let ledger = Self { store: store.clone(), written: written.clone() };
        store.subscribe(move |change| {
            let mut written = lock(&written);
            let is_superseded = match (written.get(&change.key), &change.new, &change.old) {
                (Some(Written::Present(ours)), Some(new), _) => version(new) >= version(ours),
                (Some(Written::Present(ours)), None, Some(old)) => ours.metadata().uid == old.metadata().uid,
                (Some(Written::Gone(uid)), new, _) => new.as_ref().is_none_or(|new| new.metadata().uid != *uid),
                _ => false,
            };
            if is_superseded {
                written.remove(&change.key);
            }
        });
        ledger
    }

    /// Returns the store, without the writes that the watch has not delivered yet.
    pub(crate) fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Returns an object, as it is after the last write.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let stored = self.store.get(key);
        match lock(&self.written).get(key) {
            None => stored,
            Some(written) => merge(written, stored),
        }
    }

    /// Returns the objects of one cluster and namespace, in key order.
    pub(crate) fn list_in(&self, cluster: &str, namespace: &str) -> Vec<Arc<K>> {
        let stored = self.store.list_in(cluster, namespace);
        let written = lock(&self.written);
        let mut entries = written
            .range(ObjectKey::new(cluster, namespace, "")..)
            .take_while(|(key, _)| &*key.cluster == cluster && &*key.namespace == namespace)
            .peekable();
        if entries.peek().is_none() {
            return stored;
        }
        let mut objects: BTreeMap<String, Option<Arc<K>>> =
            stored.into_iter().map(|object| (object.metadata().name.clone(), Some(object))).collect();
        for (key, entry) in entries {
            let stored = objects.remove(&*key.name).flatten();
            objects.insert(key.name.to_string(), merge(entry, stored));
        }
        objects.into_values().flatten().collect()
    }

    /// Creates an object and remembers it.
    pub(crate) async fn create(&self, api: &Api<K>, cluster: &str, object: &K) -> Result<Arc<K>, Error> {
        let created = Arc::new(api.create(object).await?);
        self.remember(cluster, &created);
        Ok(created)
    }

    /// Writes what differs between `stored` and `new`, status last, and remembers the result.
    ///
    /// An object that is being deleted and loses its last finalizer is removed; its status is not written any more.
    pub(crate) async fn save(&self, api: &Api<K>, cluster: &str, stored: &Arc<K>, new: &K) -> Result<Arc<K>, Error> {
        let written = api.update(stored, new).await?;
        let mut present = if is_same(&written, &**stored) { stored.clone() } else { Arc::new(written) };
        let metadata = new.metadata();
        if metadata.is_being_deleted() && metadata.finalizers.is_empty() {
            self.forget(cluster, new);
            return Ok(present);
        }
        // `new` has the resource version that it was made from: with that, an unchanged status would return outdated
        // metadata.
        let mut new = new.clone();
        *new.metadata_mut() = present.metadata().clone();
        let written = api.update_status(&present, &new).await?;
        if !is_same(&written, &*present) {
            present = Arc::new(written);
        }
        if !is_same(&*present, &**stored) {
            self.remember(cluster, &present);
        }
        Ok(present)
    }

    /// Deletes an object. One with finalizers is read again; one without is removed.
    pub(crate) async fn delete(&self, api: &Api<K>, cluster: &str, object: &K) -> Result<Option<Arc<K>>, Error> {
        api.delete_object(object, false, None).await?;
        if object.metadata().finalizers.is_empty() {
            self.forget(cluster, object);
            return Ok(None);
        }
        let Some(left) = api.get_opt(&object.metadata().name).await? else {
            self.forget(cluster, object);
            return Ok(None);
        };
        let left = Arc::new(left);
        self.remember(cluster, &left);
        Ok(Some(left))
    }

    /// Stores the object that a write returned.
    pub(crate) fn remember(&self, cluster: &str, object: &Arc<K>) {
        let key = key(cluster, &**object);
        if self.store.get(&key).is_some_and(|stored| version(&stored) >= version(object)) {
            return;
        }
        lock(&self.written).insert(key, Written::Present(object.clone()));
    }

    fn forget(&self, cluster: &str, object: &K) {
        let key = key(cluster, object);
        let uid = object.metadata().uid.clone();
        let mut written = lock(&self.written);
        if self.store.get(&key).is_some_and(|stored| stored.metadata().uid == uid) {
            written.insert(key, Written::Gone(uid));
        } else {
            written.remove(&key);
        }
    }
}

fn merge<K: Resource>(written: &Written<K>, stored: Option<Arc<K>>) -> Option<Arc<K>> {
    match (written, stored) {
        (Written::Present(ours), Some(stored)) if version(&stored) >= version(ours) => Some(stored),
        (Written::Present(ours), _) => Some(ours.clone()),
        (Written::Gone(uid), stored) => stored.filter(|stored| stored.metadata().uid != *uid),
    }
}

/// Returns the resource version as a number. Versions of one server are revisions of its log and can be compared.
fn version<K: Resource>(object: &Arc<K>) -> u64 {
    object.metadata().resource_version.parse().unwrap_or_default()
}

fn is_same<K: Resource>(a: &K, b: &K) -> bool {
    a.metadata().resource_version == b.metadata().resource_version
}

fn key<K: Resource>(cluster: &str, object: &K) -> ObjectKey {
    ObjectKey::new(cluster, &object.metadata().namespace, &object.metadata().name)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

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

    /// Writes the changes.
    pub(crate) async fn save(&mut self, ledger: &Ledger<K>, api: &Api<K>, cluster: &str) -> Result<(), Error> {
        if let Some(changed) = self.changed.take() {
            self.stored = ledger.save(api, cluster, &self.stored, &changed).await?;
        }
        Ok(())
    }
}
