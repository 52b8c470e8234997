// SPDX-License-Identifier: Apache-2.0
//! Store of a reflector, with look-ups by key and by derived key.
//!
//! **Tour.** `data` the shown objects: those of the watch, and own writes; `selection` the objects that belong to a
//! store.

mod data;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use process::watch;

pub(crate) use self::data::version;
use self::data::{Data, IndexData, Observer};
pub(crate) use self::selection::Selection;
use crate::decode::Readable;
use crate::erased::{Object, Shared, typed, typed_ref};
use crate::queue::ObjectKey;

/// Change of an object in a store.
#[derive(Debug)]
pub struct Change<K> {
    /// Key of the object.
    pub key: ObjectKey,
    /// State before; `None` if the object was created.
    pub old: Option<Arc<K>>,
    /// State after; `None` if the object was deleted.
    pub new: Option<Arc<K>>,
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), old: self.old.clone(), new: self.new.clone() }
    }
}

impl<K> Change<K> {
    /// The state after the change, or the last one of a deleted object.
    pub fn object(&self) -> Option<&Arc<K>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// True if the result of `project` differs between before and after, or if the object was created or deleted.
    pub fn differs<T: PartialEq>(&self, project: impl Fn(&K) -> T) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => project(old) != project(new),
            _ => true,
        }
    }
}

/// Change of an untyped object.
pub(crate) struct AnyChange {
    key: ObjectKey,
    old: Option<Shared>,
    new: Option<Shared>,
}

impl AnyChange {
    fn typed<K: Readable>(&self) -> Change<K> {
        let typed = |object: &Option<Shared>| object.clone().map(typed);
        Change { key: self.key.clone(), old: typed(&self.old), new: typed(&self.new) }
    }
}

type Derive = dyn Fn(&dyn Object) -> Vec<String> + Send + Sync;
type Handler = Arc<dyn Fn(&AnyChange) + Send + Sync>;

struct Inner {
    data: RwLock<Data>,
    handlers: Mutex<Arc<Vec<Handler>>>,
    synced: watch::Sender<bool>,
    selection: Selection,
}

/// Store of untyped objects. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AnyStore(Arc<Inner>);

impl fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("selection", &self.0.selection).finish_non_exhaustive()
    }
}

impl AnyStore {
    /// Creates an empty store.
    pub(crate) fn new(selection: Selection) -> Self {
        let (data, handlers, synced) = (RwLock::default(), Mutex::default(), watch::Sender::new(false));
        Self(Arc::new(Inner { data, handlers, synced, selection }))
    }

    /// Objects that belong to the store.
    pub(crate) fn selection(&self) -> &Selection {
        &self.0.selection
    }

    fn read(&self) -> RwLockReadGuard<'_, Data> {
        self.0.data.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Data> {
        self.0.data.write()
    }

    pub(crate) async fn synced(&self) {
        let mut receiver = self.0.synced.subscribe();
        // The sender belongs to the store that is borrowed here, so it is not dropped.
        let _ = receiver.wait_for(|synced| *synced).await;
    }

    pub(crate) fn is_synced(&self) -> bool {
        *self.0.synced.borrow()
    }

    pub(crate) fn set_synced(&self) {
        self.0.synced.send_if_modified(|synced| !std::mem::replace(synced, true));
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Shared> {
        self.read().objects.get(key).cloned()
    }

    fn get_watched(&self, key: &ObjectKey) -> Option<Shared> {
        self.read().watched_state(key).cloned()
    }

    fn find(&self, namespace: &str, name: &str) -> Option<Shared> {
        let data = self.read();
        let mut key = ObjectKey::new(&self.0.selection.cluster, namespace, name);
        if !self.0.selection.is_wildcard() {
            return data.objects.get(&key).cloned();
        }
        // One look-up per cluster, then on to the first key of the next one.
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

    fn list(&self) -> Vec<Shared> {
        self.read().objects.values().cloned().collect()
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.read().objects.keys().cloned().collect()
    }

    /// Returns the keys of all objects that the watch has delivered.
    pub(crate) fn watched_keys(&self) -> Vec<ObjectKey> {
        self.read().watched().into_keys().collect()
    }

    fn range(&self, from: ObjectKey, within: &dyn Fn(&ObjectKey) -> bool) -> Vec<Shared> {
        let data = self.read();
        data.objects.range(from..).take_while(|(key, _)| within(key)).map(|(_, object)| object.clone()).collect()
    }

    fn index(&self, derive: Box<Derive>) -> usize {
        let mut data = self.write();
        let mut index = IndexData { derive, keys: BTreeMap::new() };
        for (key, object) in &data.objects {
            index.change(key, None, Some(&**object));
        }
        data.indices.push(index);
        data.indices.len() - 1
    }

    fn subscribe(&self, handler: Handler) {
        let mut handlers = self.0.handlers.lock();
        let present = self.read().watched();
        for (key, object) in present {
            handler(&AnyChange { key, old: None, new: Some(object) });
        }
        Arc::make_mut(&mut handlers).push(handler);
    }

    fn observe(&self, observer: Observer) {
        let mut data = self.write();
        for (key, object) in &data.objects {
            observer(&AnyChange { key: key.clone(), old: None, new: Some(object.clone()) });
        }
        data.observers.push(observer);
    }

    /// Takes the state of an object at a version from the watch, and calls the handlers unless nothing changed. A
    /// version that was delivered already is no change.
    pub(crate) fn deliver(&self, key: ObjectKey, new: Option<Shared>, version: u64) {
        let change = self.write().deliver(key, new, version);
        if let Some(change) = change {
            self.tell(&change);
        }
    }

    /// Takes the version up to which the watch has delivered everything.
    pub(crate) fn reached(&self, position: u64) {
        self.write().reached(position);
    }

    /// Takes the version of a list that was delivered.
    pub(crate) fn listed(&self, position: u64) {
        self.write().listed(position);
    }

    /// Takes an object from the response to a write of this client. `is_selected`: true if the store's selectors select
    /// it.
    pub(crate) fn written(&self, key: ObjectKey, object: Shared, is_selected: bool) {
        self.write().written(key, object, is_selected);
    }

    /// Takes the deletion of an object by a write of this client.
    pub(crate) fn deleted(&self, key: ObjectKey, uid: &str) {
        self.write().deleted(key, uid);
    }

    fn tell(&self, change: &AnyChange) {
        // Handlers run without any lock, so that they may read this store.
        let handlers = self.0.handlers.lock().clone();
        for handler in handlers.iter() {
            handler(change);
        }
    }
}

/// Store of a reflector. Cheap to clone; look-ups are logarithmic.
///
/// It shows what the watch has delivered, and writes by its clients ([`crate::Api::with_store`]) as soon as they are
/// answered.
pub struct Store<K> {
    store: AnyStore,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl<K> Store<K> {
    /// The untyped store.
    pub(crate) fn any(&self) -> &AnyStore {
        &self.store
    }

    /// Waits until the first list has arrived.
    pub async fn synced(&self) {
        self.store.synced().await;
    }

    /// True if the first list has arrived.
    pub fn is_synced(&self) -> bool {
        self.store.is_synced()
    }

    /// Keys of all objects, in order.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.store.keys()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.store.read().objects.len()
    }

    /// True if there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Readable> Store<K> {
    /// Creates the typed view of a store that holds only objects of this type.
    pub(crate) fn of(store: AnyStore) -> Self {
        Self { store, kind: PhantomData }
    }

    /// Returns an object by its key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.store.get(key).map(typed)
    }

    /// Returns an object as the watch has delivered it, without later writes of this client.
    pub fn get_watched(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.store.get_watched(key).map(typed)
    }

    /// Returns an object by namespace and name in any cluster (the first in key order).
    pub fn find(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.store.find(namespace, name).map(typed)
    }

    /// Returns all objects, in key order.
    pub fn list(&self) -> Vec<Arc<K>> {
        all_typed(self.store.list())
    }

    /// Returns the objects of one cluster and namespace, in key order.
    pub fn list_in(&self, cluster: &str, namespace: &str) -> Vec<Arc<K>> {
        let is_within = |key: &ObjectKey| &*key.cluster == cluster && &*key.namespace == namespace;
        all_typed(self.store.range(ObjectKey::new(cluster, namespace, ""), &is_within))
    }

    /// Returns the objects of one cluster, in key order.
    pub fn list_in_cluster(&self, cluster: &str) -> Vec<Arc<K>> {
        all_typed(self.store.range(ObjectKey::new(cluster, "", ""), &|key| &*key.cluster == cluster))
    }

    /// Creates an index by derived values, which is updated from now on. An object is found under every value that
    /// `derive` returns.
    pub fn index(&self, derive: impl Fn(&K) -> Vec<String> + Send + Sync + 'static) -> Index<K> {
        let position = self.store.index(Box::new(move |object| derive(typed_ref(object))));
        Index { store: self.clone(), position }
    }

    /// Calls `observer` for every shown object, and for every change of what is shown from now on. The store is locked
    /// meanwhile, so that data derived by the observer agrees with it; the observer must not read it.
    pub fn observe(&self, observer: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.store.observe(Box::new(move |change| observer(&change.typed())));
    }

    /// Calls `handler` for every object that the watch has delivered, and for every change that it delivers from now
    /// on, in order.
    pub fn subscribe(&self, handler: impl Fn(&Change<K>) + Send + Sync + 'static) {
        self.store.subscribe(Arc::new(move |change| handler(&change.typed())));
    }
}

fn all_typed<K: Readable>(objects: Vec<Shared>) -> Vec<Arc<K>> {
    objects.into_iter().map(typed).collect()
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

impl AnyStore {
    fn keys_of(&self, index: usize, value: &str) -> Vec<ObjectKey> {
        let data = self.read();
        data.indices[index].keys.get(value).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    fn objects_of(&self, index: usize, value: &str) -> Vec<Shared> {
        let data = self.read();
        let Some(keys) = data.indices[index].keys.get(value) else { return Vec::new() };
        keys.iter().filter_map(|key| data.objects.get(key).cloned()).collect()
    }
}

impl<K: Readable> Index<K> {
    /// Returns the keys of the objects with this value, in order.
    pub fn keys(&self, value: &str) -> Vec<ObjectKey> {
        self.store.store.keys_of(self.position, value)
    }

    /// Returns the objects with this value, in key order.
    pub fn get(&self, value: &str) -> Vec<Arc<K>> {
        all_typed(self.store.store.objects_of(self.position, value))
    }

    /// Number of objects with this value.
    pub fn count(&self, value: &str) -> usize {
        self.store.store.read().indices[self.position].keys.get(value).map_or(0, BTreeSet::len)
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::ObjectMeta;

    use super::*;
    use crate::decode::PartialObject;

    fn new(cluster: &str) -> Store<PartialObject> {
        Store::of(AnyStore::new(Selection::all(cluster)))
    }

    fn object(namespace: &str, name: &str, version: &str, label: &str) -> Arc<PartialObject> {
        let mut metadata = ObjectMeta::named(namespace, name);
        metadata.resource_version = version.to_owned();
        metadata.labels.insert("seed".to_owned(), label.to_owned());
        Arc::new(PartialObject { metadata })
    }

    fn put(store: &Store<PartialObject>, cluster: &str, namespace: &str, name: &str, version: &str, label: &str) {
        let object = object(namespace, name, version, label);
        store.any().deliver(ObjectKey::new(cluster, namespace, name), Some(object), 0);
    }

    fn names(objects: &[Arc<PartialObject>]) -> Vec<&str> {
        objects.iter().map(|object| object.metadata.name.as_str()).collect()
    }

    #[test]
    fn objects_are_listed_in_key_order_by_namespace() {
        let store = new("*");
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
    fn objects_are_looked_up_in_the_first_cluster() {
        let store = new("*");
        put(&store, "a", "x", "1", "1", "");
        put(&store, "b", "x", "2", "1", "of b");
        put(&store, "c", "x", "2", "1", "of c");
        assert_eq!(
            store.find("x", "2").and_then(|object| object.metadata.label("seed").map(str::to_owned)).as_deref(),
            Some("of b")
        );
        assert!(store.find("x", "1").is_some());
        assert!(store.find("y", "1").is_none());
        assert!(new("*").find("x", "1").is_none());
    }

    #[test]
    fn an_index_follows_its_store() {
        let store = new("garden");
        put(&store, "garden", "x", "1", "1", "aws");
        let index = store.index(|object| object.metadata.label("seed").map(str::to_owned).into_iter().collect());
        put(&store, "garden", "x", "2", "2", "aws");
        put(&store, "garden", "x", "3", "3", "gcp");
        assert_eq!(names(&index.get("aws")), ["1", "2"]);
        put(&store, "garden", "x", "1", "4", "gcp");
        assert_eq!(names(&index.get("aws")), ["2"]);
        assert_eq!(names(&index.get("gcp")), ["1", "3"]);
        store.any().deliver(ObjectKey::new("garden", "x", "3"), None, 0);
        assert_eq!((index.count("gcp"), index.count("aws"), index.count("none")), (1, 1, 0));
    }

    #[test]
    fn handlers_see_existing_objects_and_every_change_once() {
        let store = new("garden");
        put(&store, "garden", "x", "1", "1", "");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        store.subscribe(move |change: &Change<PartialObject>| {
            let version = |object: &Option<Arc<PartialObject>>| {
                object.as_ref().map_or_else(|| "-".to_owned(), |object| object.metadata.resource_version.clone())
            };
            sink.lock().push(format!("{} {} {}", change.key.name, version(&change.old), version(&change.new)));
        });
        put(&store, "garden", "x", "1", "1", "redelivered");
        put(&store, "garden", "x", "1", "2", "");
        store.any().deliver(ObjectKey::new("garden", "x", "1"), None, 0);
        store.any().deliver(ObjectKey::new("garden", "x", "1"), None, 0);
        assert_eq!(*seen.lock(), ["1 - 1", "1 1 2", "1 2 -"]);
    }
}
