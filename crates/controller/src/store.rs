// SPDX-License-Identifier: Apache-2.0
//! The copy that a reflector keeps, and look-ups in it by key and by derived key.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use process::watch;

use crate::decode::Readable;
use crate::queue::ObjectKey;

/// What changed in a store.
#[derive(Debug)]
pub struct Change<K> {
    /// Which object.
    pub key: ObjectKey,
    /// Before; `None` when it was not there.
    pub old: Option<Arc<K>>,
    /// After; `None` when it is gone.
    pub new: Option<Arc<K>>,
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), old: self.old.clone(), new: self.new.clone() }
    }
}

impl<K> Change<K> {
    /// The state after the change, or the last one of an object that is gone.
    pub fn object(&self) -> Option<&Arc<K>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Whether what `project` makes of the object differs between before and after, or it came or went.
    pub fn differs<T: PartialEq>(&self, project: impl Fn(&K) -> T) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => project(old) != project(new),
            _ => true,
        }
    }
}

type Derive<K> = dyn Fn(&K) -> Vec<String> + Send + Sync;
type Handler<K> = Arc<dyn Fn(&Change<K>) + Send + Sync>;

struct IndexData<K> {
    derive: Arc<Derive<K>>,
    keys: BTreeMap<String, BTreeSet<ObjectKey>>,
}

impl<K> IndexData<K> {
    fn change(&mut self, key: &ObjectKey, old: Option<&K>, new: Option<&K>) {
        let old = old.map(|object| (self.derive)(object)).unwrap_or_default();
        let new = new.map(|object| (self.derive)(object)).unwrap_or_default();
        if old == new {
            return;
        }
        for value in old {
            if let Some(keys) = self.keys.get_mut(&value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.keys.remove(&value);
                }
            }
        }
        for value in new {
            self.keys.entry(value).or_default().insert(key.clone());
        }
    }
}

struct Data<K> {
    objects: BTreeMap<ObjectKey, Arc<K>>,
    indices: Vec<IndexData<K>>,
}

struct Inner<K> {
    data: RwLock<Data<K>>,
    handlers: Mutex<Arc<Vec<Handler<K>>>>,
    synced: watch::Sender<bool>,
}

/// The read handle of a reflector's copy. Cheap to clone; look-ups are logarithmic.
pub struct Store<K> {
    inner: Arc<Inner<K>>,
    cluster: Arc<str>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), cluster: self.cluster.clone() }
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl<K> Store<K> {
    fn read(&self) -> RwLockReadGuard<'_, Data<K>> {
        self.inner.data.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Data<K>> {
        self.inner.data.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Readable> Store<K> {
    /// An empty store of the objects of `cluster`, `*` for all clusters.
    pub(crate) fn new(cluster: &str) -> Self {
        let data = RwLock::new(Data { objects: BTreeMap::new(), indices: Vec::new() });
        let inner = Inner { data, handlers: Mutex::default(), synced: watch::Sender::new(false) };
        Self { inner: Arc::new(inner), cluster: cluster.into() }
    }

    /// Resolves when the first list has arrived.
    pub async fn synced(&self) {
        let mut receiver = self.inner.synced.subscribe();
        // The sender lives in the store that is borrowed here, so it cannot be gone.
        let _ = receiver.wait_for(|synced| *synced).await;
    }

    /// Whether the first list has arrived.
    pub fn is_synced(&self) -> bool {
        *self.inner.synced.borrow()
    }

    pub(crate) fn set_synced(&self) {
        self.inner.synced.send_if_modified(|synced| !std::mem::replace(synced, true));
    }

    /// An object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.read().objects.get(key).cloned()
    }

    /// An object by namespace and name, whatever its cluster (the first in key order).
    pub fn find(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let data = self.read();
        let mut key = ObjectKey::new(&self.cluster, namespace, name);
        if &*self.cluster != "*" {
            return data.objects.get(&key).cloned();
        }
        // From cluster to cluster: one look-up in each, then on to the first key behind it.
        let mut cluster = data.objects.keys().next()?.cluster.clone();
        loop {
            key.cluster = cluster.clone();
            if let Some(object) = data.objects.get(&key) {
                return Some(object.clone());
            }
            let behind = ObjectKey::new(&format!("{cluster}\0"), "", "");
            cluster = data.objects.range((Bound::Included(behind), Bound::Unbounded)).next()?.0.cluster.clone();
        }
    }

    /// All objects, in key order.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.read().objects.values().cloned().collect()
    }

    /// All keys, in order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read().objects.keys().cloned().collect()
    }

    /// The objects of one cluster and namespace, in key order.
    pub fn list_in(&self, cluster: &str, namespace: &str) -> Vec<Arc<K>> {
        self.range(ObjectKey::new(cluster, namespace, ""), |key| {
            &*key.cluster == cluster && &*key.namespace == namespace
        })
    }

    /// The objects of one cluster, in key order.
    pub fn list_in_cluster(&self, cluster: &str) -> Vec<Arc<K>> {
        self.range(ObjectKey::new(cluster, "", ""), |key| &*key.cluster == cluster)
    }

    fn range(&self, from: ObjectKey, within: impl Fn(&ObjectKey) -> bool) -> Vec<Arc<K>> {
        let data = self.read();
        data.objects.range(from..).take_while(|(key, _)| within(key)).map(|(_, object)| object.clone()).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.read().objects.is_empty()
    }

    /// An index by what `derive` makes of an object; it is kept up to date from now on. An object is found under every
    /// value that `derive` returns.
    pub fn index(&self, derive: impl Fn(&K) -> Vec<String> + Send + Sync + 'static) -> Index<K> {
        let mut data = self.write();
        let mut index = IndexData { derive: Arc::new(derive), keys: BTreeMap::new() };
        for (key, object) in &data.objects {
            index.change(key, None, Some(object));
        }
        data.indices.push(index);
        Index { store: self.clone(), position: data.indices.len() - 1 }
    }

    /// Calls `handler` for every object that is there, and for every change from now on, in order.
    pub fn subscribe(&self, handler: impl Fn(&Change<K>) + Send + Sync + 'static) {
        let mut handlers = self.inner.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        let present: Vec<_> = self.read().objects.iter().map(|(key, object)| (key.clone(), object.clone())).collect();
        for (key, object) in present {
            handler(&Change { key, old: None, new: Some(object) });
        }
        Arc::make_mut(&mut handlers).push(Arc::new(handler));
    }

    /// Sets or removes an object, and tells the handlers unless nothing changed. A version that is stored already is
    /// no change.
    pub(crate) fn set(&self, key: ObjectKey, new: Option<Arc<K>>) -> bool {
        let mut guard = self.write();
        let data = &mut *guard;
        let old = match &new {
            Some(object) => {
                let version = &object.object_meta().resource_version;
                if data.objects.get(&key).is_some_and(|old| {
                    let old = old.object_meta();
                    old.resource_version == *version && old.uid == object.object_meta().uid && !version.is_empty()
                }) {
                    return false;
                }
                data.objects.insert(key.clone(), object.clone())
            }
            None => match data.objects.remove(&key) {
                None => return false,
                removed => removed,
            },
        };
        for index in &mut data.indices {
            index.change(&key, old.as_deref(), new.as_deref());
        }
        drop(guard);
        self.tell(&Change { key, old, new });
        true
    }

    fn tell(&self, change: &Change<K>) {
        // Handlers run without any lock, so that they may read this store.
        let handlers = self.inner.handlers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for handler in handlers.iter() {
            handler(change);
        }
    }
}

/// Look-ups in a [`Store`] by a derived key. Cheap to clone.
pub struct Index<K> {
    store: Store<K>,
    position: usize,
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), position: self.position }
    }
}

impl<K> fmt::Debug for Index<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("store", &self.store).finish_non_exhaustive()
    }
}

impl<K: Readable> Index<K> {
    /// The keys of the objects with this value, in order.
    pub fn keys(&self, value: &str) -> Vec<ObjectKey> {
        let data = self.store.read();
        data.indices[self.position].keys.get(value).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// The objects with this value, in key order.
    pub fn get(&self, value: &str) -> Vec<Arc<K>> {
        let data = self.store.read();
        let Some(keys) = data.indices[self.position].keys.get(value) else { return Vec::new() };
        keys.iter().filter_map(|key| data.objects.get(key).cloned()).collect()
    }

    /// How many objects have this value.
    pub fn count(&self, value: &str) -> usize {
        self.store.read().indices[self.position].keys.get(value).map_or(0, BTreeSet::len)
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::ObjectMeta;

    use super::*;
    use crate::decode::PartialObject;

    fn object(namespace: &str, name: &str, version: &str, label: &str) -> Arc<PartialObject> {
        let mut metadata = ObjectMeta::named(namespace, name);
        metadata.resource_version = version.to_owned();
        metadata.labels.insert("seed".to_owned(), label.to_owned());
        Arc::new(PartialObject { metadata })
    }

    fn put(store: &Store<PartialObject>, cluster: &str, namespace: &str, name: &str, version: &str, label: &str) {
        store.set(ObjectKey::new(cluster, namespace, name), Some(object(namespace, name, version, label)));
    }

    fn names(objects: &[Arc<PartialObject>]) -> Vec<&str> {
        objects.iter().map(|object| object.metadata.name.as_str()).collect()
    }

    #[test]
    fn objects_are_listed_in_key_order_and_by_cluster_and_namespace() {
        let store = Store::new("*");
        for (cluster, namespace, name) in
            [("b", "x", "1"), ("a", "y", "2"), ("a", "x", "4"), ("a", "x", "3"), ("a", "x-y", "5")]
        {
            put(&store, cluster, namespace, name, "1", "");
        }
        assert_eq!(names(&store.list()), ["3", "4", "5", "2", "1"]);
        assert_eq!(names(&store.list_in("a", "x")), ["3", "4"]);
        assert_eq!(names(&store.list_in_cluster("a")), ["3", "4", "5", "2"]);
        assert_eq!(names(&store.list_in("c", "x")), Vec::<&str>::new());
    }

    #[test]
    fn an_object_is_found_in_the_first_cluster_that_has_it() {
        let store = Store::new("*");
        put(&store, "a", "x", "1", "1", "");
        put(&store, "b", "x", "2", "1", "of b");
        put(&store, "c", "x", "2", "1", "of c");
        assert_eq!(
            store.find("x", "2").and_then(|object| object.metadata.label("seed").map(str::to_owned)).as_deref(),
            Some("of b")
        );
        assert!(store.find("x", "1").is_some());
        assert!(store.find("y", "1").is_none());
        assert!(Store::<PartialObject>::new("*").find("x", "1").is_none());
    }

    #[test]
    fn an_index_follows_its_store() {
        let store = Store::new("garden");
        put(&store, "garden", "x", "1", "1", "aws");
        let index = store.index(|object| object.metadata.label("seed").map(str::to_owned).into_iter().collect());
        put(&store, "garden", "x", "2", "2", "aws");
        put(&store, "garden", "x", "3", "3", "gcp");
        assert_eq!(names(&index.get("aws")), ["1", "2"]);
        put(&store, "garden", "x", "1", "4", "gcp");
        assert_eq!(names(&index.get("aws")), ["2"]);
        assert_eq!(names(&index.get("gcp")), ["1", "3"]);
        store.set(ObjectKey::new("garden", "x", "3"), None);
        assert_eq!((index.count("gcp"), index.count("aws"), index.count("none")), (1, 1, 0));
    }

    #[test]
    fn handlers_see_what_is_there_and_every_change_once() {
        let store = Store::new("garden");
        put(&store, "garden", "x", "1", "1", "");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        store.subscribe(move |change: &Change<PartialObject>| {
            let version = |object: &Option<Arc<PartialObject>>| {
                object.as_ref().map_or_else(|| "-".to_owned(), |object| object.metadata.resource_version.clone())
            };
            sink.lock().expect("no panic").push(format!(
                "{} {} {}",
                change.key.name,
                version(&change.old),
                version(&change.new)
            ));
        });
        put(&store, "garden", "x", "1", "1", "redelivered");
        put(&store, "garden", "x", "1", "2", "");
        store.set(ObjectKey::new("garden", "x", "1"), None);
        store.set(ObjectKey::new("garden", "x", "1"), None);
        assert_eq!(*seen.lock().expect("no panic"), ["1 - 1", "1 1 2", "1 2 -"]);
    }
}
