// SPDX-License-Identifier: Apache-2.0
//! Objects that a store shows: those of the watch, and the component's own writes until the watch has caught up.
//!
//! A watch delivers a change some time after the write was answered. A pass that saw only the watch would create an
//! object a second time, or decide by a state that it has changed itself. So a client with a store
//! ([`crate::Api::with_store`]) hands over what its writes return, and the objects that it reads after a conflict:
//!
//! ```text
//!   write ──answer──► version 7 of an object: shown at once, and pending
//!   watch ──────────► versions 5 and 6 of it: kept behind it
//!         ──────────► anything at version 7 or later: nothing is pending, the watch is shown again
//! ```
//!
//! **Rules.** Versions are revisions of one log, so they can be compared, and a watch delivers in their order.
//!
//! * Look-ups, lists, indices and observers follow what is shown. Subscribers, and so the queues of controllers, follow
//!   the watch: they are called when it delivers, with its previous state.
//! * The answer of a deletion has no version, so a deleted object is hidden until the watch has no object of its
//!   uid. One that waits for finalizers was only updated.
//! * An object that the store's selectors do not select is hidden.
//! * An answer that arrives after the watch has passed its version changes nothing.
//! * Only writes that the watch has not delivered take space. A list delivers all up to its version.

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::meta::ObjectMeta;

use super::{AnyChange, Derive};
use crate::erased::{Object, Shared};
use crate::queue::ObjectKey;

/// Keys of the shown objects by derived values.
pub(super) struct IndexData {
    pub(super) derive: Box<Derive>,
    pub(super) keys: BTreeMap<String, BTreeSet<ObjectKey>>,
}

impl IndexData {
    pub(super) fn change(&mut self, key: &ObjectKey, old: Option<&dyn Object>, new: Option<&dyn Object>) {
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

/// A write of this client that the watch has not delivered yet.
struct Pending {
    /// Last state from the watch.
    watched: Option<Shared>,
    /// Version of the write; of a deletion, the last known one of the object.
    version: u64,
    /// Uid of the deleted object; `None`: the write was no deletion.
    gone: Option<String>,
}

impl Pending {
    fn is_delivered(&self, position: u64) -> bool {
        let has = |uid: &String| self.watched.as_ref().is_some_and(|watched| watched.meta().uid == *uid);
        position >= self.version && !self.gone.as_ref().is_some_and(has)
    }
}

/// Observer of what a store shows.
pub(super) type Observer = Box<dyn Fn(&AnyChange) + Send + Sync>;

/// Content of a store.
#[derive(Default)]
pub(super) struct Data {
    /// Shown objects.
    pub(super) objects: BTreeMap<ObjectKey, Shared>,
    pub(super) indices: Vec<IndexData>,
    pub(super) observers: Vec<Observer>,
    pending: BTreeMap<ObjectKey, Pending>,
    /// Version up to which the watch has delivered everything.
    position: u64,
}

/// Resource version as a number; 0 if it is not a number.
pub(crate) fn version(metadata: &ObjectMeta) -> u64 {
    metadata.resource_version.parse().unwrap_or_default()
}

/// True if both are the same version of an object.
fn is_same(a: &dyn Object, b: &dyn Object) -> bool {
    let (a, b) = (a.meta(), b.meta());
    a.resource_version == b.resource_version && a.uid == b.uid && !a.resource_version.is_empty()
}

impl Data {
    /// Returns an object as the watch has delivered it.
    pub(super) fn watched_state(&self, key: &ObjectKey) -> Option<&Shared> {
        self.pending.get(key).map_or_else(|| self.objects.get(key), |pending| pending.watched.as_ref())
    }

    /// Returns all objects as the watch has delivered them.
    pub(super) fn watched(&self) -> BTreeMap<ObjectKey, Shared> {
        let mut objects = self.objects.clone();
        for (key, pending) in &self.pending {
            match &pending.watched {
                Some(watched) => objects.insert(key.clone(), watched.clone()),
                None => objects.remove(key),
            };
        }
        objects
    }

    /// Takes the state of an object at a version from the watch; returns the change, if there is one.
    pub(super) fn deliver(&mut self, key: ObjectKey, new: Option<Shared>, version: u64) -> Option<AnyChange> {
        let old = self.watched_state(&key).cloned();
        match (&old, &new) {
            (None, None) => return None,
            (Some(old), Some(new)) if is_same(&**old, &**new) => return None,
            _ => {}
        }
        let is_shown = self.pending.get_mut(&key).is_none_or(|pending| {
            pending.watched.clone_from(&new);
            pending.is_delivered(version)
        });
        if is_shown {
            self.pending.remove(&key);
            self.show(&key, new.clone());
        }
        Some(AnyChange { key, old, new })
    }

    /// Takes the version up to which the watch has delivered everything.
    pub(super) fn reached(&mut self, position: u64) {
        self.position = self.position.max(position);
        let delivered = self.pending.extract_if(.., |_, pending| pending.is_delivered(self.position));
        for (key, pending) in delivered.collect::<Vec<_>>() {
            self.show(&key, pending.watched);
        }
    }

    /// Takes the version of a list that was delivered. An earlier one than before means that the server has lost
    /// changes, own writes perhaps among them: none remains pending.
    pub(super) fn listed(&mut self, position: u64) {
        if position < self.position {
            self.position = 0;
            for (key, pending) in std::mem::take(&mut self.pending) {
                self.show(&key, pending.watched);
            }
        }
        self.reached(position);
    }

    /// Takes an object from the response to a write of this client. `is_selected`: true if the store's selectors select
    /// it.
    pub(super) fn written(&mut self, key: ObjectKey, object: Shared, is_selected: bool) {
        let metadata = object.meta();
        let (shown, pending) = (self.objects.get(&key).map(|shown| shown.meta()), self.pending.get(&key));
        let known = shown.map(version).max(pending.map(|pending| pending.version)).unwrap_or_default();
        let is_gone = pending.is_some_and(|pending| pending.gone.as_ref() == Some(&metadata.uid));
        if version(metadata) <= known.max(self.position) || is_gone {
            return;
        }
        let is_ending = metadata.is_being_deleted() && metadata.deletion_grace_period_seconds.unwrap_or(0) == 0;
        if is_ending && metadata.finalizers.is_empty() && shown.is_some_and(|shown| !shown.finalizers.is_empty()) {
            // It was removed with its last finalizer.
            return self.deleted(key, &metadata.uid);
        }
        if is_selected || shown.is_some() || pending.is_some() {
            self.pend(key, version(metadata), None, is_selected.then_some(object));
        }
    }

    /// Takes the deletion of an object by a write of this client.
    pub(super) fn deleted(&mut self, key: ObjectKey, uid: &str) {
        let shown = self.objects.get(&key).map(|shown| shown.meta()).filter(|shown| shown.uid == uid);
        if let Some(version) = shown.map(version) {
            self.pend(key, version, Some(uid.to_owned()), None);
        }
    }

    fn pend(&mut self, key: ObjectKey, version: u64, gone: Option<String>, shown: Option<Shared>) {
        let watched = self.pending.remove(&key).map_or_else(|| self.objects.get(&key).cloned(), |known| known.watched);
        self.show(&key, shown);
        self.pending.insert(key, Pending { watched, version, gone });
    }

    fn show(&mut self, key: &ObjectKey, new: Option<Shared>) {
        let old = match new.clone() {
            Some(new) => self.objects.insert(key.clone(), new),
            None => self.objects.remove(key),
        };
        match (&old, &new) {
            (None, None) => return,
            (Some(old), Some(new)) if is_same(&**old, &**new) => return,
            _ => {}
        }
        for index in &mut self.indices {
            index.change(key, old.as_deref(), new.as_deref());
        }
        if !self.observers.is_empty() {
            let change = AnyChange { key: key.clone(), old, new };
            self.observers.iter().for_each(|observer| observer(&change));
        }
    }
}

#[cfg(test)]
mod tests;
