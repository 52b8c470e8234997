// SPDX-License-Identifier: Apache-2.0
//! The fold of the log: the newest version of every object, recent changes, and watchers.
//!
//! ```text
//! log ──subscription──▶ feed ──▶ collection: persistent map path → Stored, ring of Events ──▶ watchers' queues
//! ```
//!
//! A collection holds one resource of all logical clusters. A past state is the present map with the ring's changes
//! undone, so that only the ring is kept for it; older states are read from the log: a watch that begins before the
//! ring receives the changes in pieces ([`replay`]).

mod feed;
mod lately;
pub(crate) mod partial;
pub(crate) mod present;
pub(crate) mod renamed;
pub(crate) mod replay;
pub(crate) mod selection;
pub(crate) mod stored;
mod view;
pub(crate) mod watcher;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use eventlog::{Append, AppendError, Entry, EventLog, Key, ReadError, Revision, Verb};
use parking_lot::{Mutex, MutexGuard};
use process::participant::LineCounts;
use rpds::RedBlackTreeMapSync;
use rustc_hash::FxHashMap;

use self::feed::Feed;
use self::lately::RecentlyDecoded;
use self::replay::Replay;
use self::stored::{Event, Stored};
use self::watcher::Watcher;
use crate::kind::{AnyObject, Kind};
use crate::observer::{Observed, Observer};
use crate::status::Failure;

/// Maximum number of changes in the ring of a collection: older ones are in the log.
const RING: usize = 1024;

/// Number of bits of an ordinal that count creations of a key; the others are the revision at which counting began, so
/// that servers that began at another revision return other ordinals.
const LIVES: u32 = 24;

/// Maximum number of keys whose creations are counted.
const COUNTED: usize = 1 << 17;

/// Maximum number of revisions that a new fold replays; for a longer log it loads the state.
const REPLAYED: u64 = 8192;

pub(crate) type Map = RedBlackTreeMapSync<Arc<str>, Arc<Stored>>;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// One resource of all clusters.
pub(crate) struct Collection {
    kind: Arc<dyn Kind>,
    map: Map,
    ring: VecDeque<Arc<Event>>,
    /// Size of the objects of the ring, in bytes.
    ring_bytes: usize,
    /// Number of changes at the ring's end that may have frames.
    framed: usize,
    /// Revision of the last change that was removed from the ring: watches start there or later.
    floor: Revision,
    watchers: Vec<Arc<Watcher>>,
}

/// Reason for which the log could not be followed or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreError {
    /// The log is closed.
    Closed,
    /// The revision is no longer retained; the oldest retained one.
    Compacted(Revision),
    /// The revision has not been assigned yet; the present one.
    Future(Revision),
}

impl From<ReadError> for StoreError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Compacted(oldest) => Self::Compacted(oldest),
            ReadError::Future(head) => Self::Future(head),
            ReadError::Closed => Self::Closed,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::Unavailable("the event log cannot be reached".to_owned()),
            StoreError::Compacted(_) => {
                Self::Expired("The resourceVersion for the provided list is too old.".to_owned(), None)
            }
            StoreError::Future(head) => Self::FutureRevision(head.0 + 1, head),
        }
    }
}

struct State {
    position: Revision,
    collections: Vec<Collection>,
    /// Size of the rings of all collections, in bytes.
    recent: usize,
    /// Revision at which counting began: objects that were created before have lower ordinals.
    base: Revision,
    /// Number of creations of each key since then, by the key's hash.
    creations: FxHashMap<u64, u64>,
    /// Decoded objects of pending appends of this server, by sequence.
    pending: FxHashMap<u64, Box<AnyObject>>,
    /// Folded appends of this server, by sequence.
    finished: FxHashMap<u64, Arc<Stored>>,
    names: FxHashMap<u64, u64>,
    /// True if a change was delivered to a watch of a client that does not participate in landscape time.
    reached_others: bool,
    /// True if watches end as soon as they are opened.
    is_retired: bool,
}

pub(crate) struct Store {
    log: Arc<dyn EventLog>,
    writer: u64,
    /// Cluster whose objects are folded; `None`: all.
    cluster: Option<&'static str>,
    sequence: AtomicU64,
    by_resource: BTreeMap<Arc<str>, usize>,
    /// Observers of changes, by resource.
    observers: Observers,
    state: Mutex<State>,
    feed: Feed,
    lately: RecentlyDecoded,
    /// Number of participants' watches that are not registered yet: see [`replay`].
    replays: AtomicUsize,
    /// Maximum size of the rings of all collections, in bytes.
    recent_bytes: usize,
}

/// Observers of changes, by resource.
pub(crate) type Observers = BTreeMap<Arc<str>, Vec<Arc<dyn Observer>>>;

/// Index of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectionId(pub(crate) usize);

impl Store {
    pub(crate) fn new(
        log: Arc<dyn EventLog>,
        writer: u64,
        cluster: Option<&'static str>,
        kinds: Vec<Arc<dyn Kind>>,
        observers: Observers,
        recent_bytes: usize,
    ) -> Self {
        let by_resource =
            kinds.iter().enumerate().map(|(index, kind)| (kind.names().log_resource.clone(), index)).collect();
        let collections = kinds
            .into_iter()
            .map(|kind| Collection {
                kind,
                map: Map::new_sync(),
                ring: VecDeque::new(),
                ring_bytes: 0,
                framed: 0,
                floor: Revision(0),
                watchers: Vec::new(),
            })
            .collect();
        // A writer that restarts must not repeat a sequence number: the log would answer with the old result.
        let sequence = AtomicU64::new(log.head().0 << 20);
        Self {
            feed: Feed::default(),
            lately: RecentlyDecoded::default(),
            replays: AtomicUsize::new(0),
            recent_bytes,
            log,
            writer,
            cluster,
            sequence,
            by_resource,
            observers,
            state: Mutex::new(State {
                position: Revision(0),
                collections,
                recent: 0,
                base: Revision(0),
                creations: FxHashMap::default(),
                pending: FxHashMap::default(),
                finished: FxHashMap::default(),
                names: FxHashMap::default(),
                reached_others: false,
                is_retired: false,
            }),
        }
    }

    fn follows(&self, cluster: &str) -> bool {
        self.cluster.is_none_or(|followed| followed == cluster)
    }

    pub(crate) fn collection(&self, group: &str, plural: &str) -> Option<CollectionId> {
        self.by_resource.get(format!("{group}/{plural}").as_str()).copied().map(CollectionId)
    }

    pub(crate) fn kind(&self, id: CollectionId) -> Arc<dyn Kind> {
        lock(&self.state).collections[id.0].kind.clone()
    }

    /// Returns the number of decoded objects and the size of the recent changes in bytes.
    pub(crate) fn account(&self) -> (usize, usize) {
        let state = lock(&self.state);
        let decoded = |collection: &Collection| collection.map.values().filter(|stored| stored.is_decoded()).count();
        let decoded = state.collections.iter().map(decoded).sum();
        (decoded, state.collections.iter().map(|collection| collection.ring_bytes).sum())
    }

    pub(crate) fn position(&self) -> Revision {
        lock(&self.state).position
    }

    pub(crate) fn get(&self, id: CollectionId, path: &str) -> Option<Arc<Stored>> {
        lock(&self.state).collections[id.0].map.get(path).cloned()
    }

    /// Returns the typed object, with its resource version; `None` if the stored bytes are not of the kind.
    pub(crate) fn decoded(&self, stored: &Arc<Stored>, kind: &dyn Kind) -> Option<Arc<AnyObject>> {
        if let Some(object) = stored.known() {
            return Some(object);
        }
        let object = stored.decode(kind)?;
        self.lately.decoded(stored);
        Some(object)
    }

    /// Returns the present map and its revision.
    pub(crate) fn root(&self, id: CollectionId) -> (Map, Revision) {
        let state = lock(&self.state);
        (state.collections[id.0].map.clone(), state.position)
    }

    /// Returns the map as it was at `revision`; `None`: the ring does not reach that far back.
    pub(crate) fn root_at(&self, id: CollectionId, revision: Revision) -> Option<Map> {
        let state = lock(&self.state);
        let collection = &state.collections[id.0];
        if revision < collection.floor {
            return None;
        }
        let mut map = collection.map.clone();
        for event in collection.ring.iter().rev().take_while(|event| event.revision > revision) {
            match &event.old {
                Some(old) => map.insert_mut(event.path.clone(), old.clone()),
                None => {
                    map.remove_mut(&event.path);
                }
            }
        }
        Some(map)
    }

    /// Returns the map as it was at `revision`, like [`Store::root_at`], from the log if necessary.
    pub(crate) async fn past(&self, id: CollectionId, revision: Revision) -> Result<Map, StoreError> {
        if let Some(map) = self.root_at(id, revision) {
            return Ok(map);
        }
        let resource = self.kind(id).names().log_resource.clone();
        let mut map = Map::new_sync();
        for (key, revision, sections) in self.log.state_of(revision, &resource).await? {
            if self.follows(&key.cluster) {
                let path = stored::path(&key.cluster, &key.namespace, &key.name);
                map.insert_mut(path.into(), Arc::new(Stored::new(&key, revision, sections)));
            }
        }
        Ok(map)
    }

    /// Returns the ordinal of a key's next UID, different from all earlier ones of the key: the number of its creations
    /// since counting began, and the revision at which counting began.
    pub(crate) fn ordinal(&self, id: CollectionId, path: &str) -> u64 {
        let state = lock(&self.state);
        (state.base.0 << LIVES) + state.creations.get(&hash(id, path)).copied().unwrap_or(0)
    }

    /// Returns a number that is different for each name generated from one prefix.
    pub(crate) fn next_name(&self, id: CollectionId, prefix: &str) -> u64 {
        let mut state = lock(&self.state);
        let count = state.names.entry(hash(id, prefix)).or_default();
        *count += 1;
        *count - 1
    }

    /// Resolves when all entries that were in the log at the time of the call are folded.
    pub(crate) async fn fresh(&self) -> Result<(), StoreError> {
        self.reach(self.log.head()).await
    }

    /// Resolves when the fold has reached `revision`.
    pub(crate) async fn reach(&self, revision: Revision) -> Result<(), StoreError> {
        if self.position() >= revision {
            return Ok(());
        }
        std::future::poll_fn(|cx| self.poll_reach(revision, cx)).await
    }

    /// Appends a change and waits until this server's fold has applied it; `decoded` becomes the stored object's
    /// decoded form.
    pub(crate) async fn append(&self, change: Change, decoded: Box<AnyObject>) -> Result<Arc<Stored>, AppendError> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        lock(&self.state).pending.insert(sequence, decoded);
        let _on_the_way = OnTheWay { store: self, sequence };
        let key = change.key.clone();
        let sections = change.object.clone();
        let append = Append {
            key: change.key,
            expect: change.expect,
            guards: change.guards,
            verb: change.verb,
            object: change.object,
            volatile: change.volatile,
            actor: change.actor,
            time: change.time,
            writer: (self.writer, sequence),
        };
        let appended = self.log.append(append).await;
        let revision = appended?.revision;
        self.reach(revision).await.map_err(|_| AppendError::Closed)?;
        let finished = lock(&self.state).finished.remove(&sequence);
        Ok(finished.unwrap_or_else(|| Arc::new(Stored::new(&key, revision, sections))))
    }

    /// Registers a watcher and queues, without a gap, the items that it has to see first; or, if these are older than
    /// the ring, the first of them, and returns a replay that reads the others.
    ///
    /// # Errors
    /// [`StoreError::Compacted`] if changes after `from` are in neither ring nor log.
    pub(crate) async fn watch(
        this: &Arc<Self>,
        id: CollectionId,
        from: WatchStart,
        watcher: &Arc<Watcher>,
    ) -> Result<Option<Replay>, StoreError> {
        match from {
            WatchStart::State => {
                let mut state = lock(&this.state);
                let (position, is_retired) = (state.position, state.is_retired);
                let collection = &mut state.collections[id.0];
                collection.watchers.retain(|watcher| !watcher.is_closed());
                for (_, object) in range(&collection.map, watcher.prefix(), "") {
                    watcher.initial(object);
                }
                watcher.synced(position);
                if is_retired {
                    watcher.close();
                } else {
                    collection.watchers.push(watcher.clone());
                }
                Ok(None)
            }
            WatchStart::After(revision) => Replay::begin(this, id, revision, watcher).await,
        }
    }

    /// Registers a watcher that has received everything up to `at`, and queues later changes; otherwise returns the
    /// revision up to which the log has to be read first.
    fn join(&self, id: CollectionId, at: Revision, watcher: &Arc<Watcher>) -> Result<(), Revision> {
        let mut state = lock(&self.state);
        let (position, is_retired) = (state.position, state.is_retired);
        let collection = &mut state.collections[id.0];
        collection.watchers.retain(|watcher| !watcher.is_closed());
        if at < collection.floor {
            return Err(collection.floor);
        }
        for event in collection.ring.iter().filter(|event| event.revision > at) {
            watcher.offer(event);
        }
        watcher.reached(position);
        if is_retired {
            watcher.close();
        } else {
            collection.watchers.push(watcher.clone());
        }
        Ok(())
    }

    /// Deletes every object below a prefix, also if finalizers keep it.
    pub(crate) async fn clear(&self, prefix: &str, actor: &Arc<eventlog::Actor>, time: chrono::DateTime<chrono::Utc>) {
        for (resource, index) in &self.by_resource {
            let (map, _) = self.root(CollectionId(*index));
            for (_, object) in range(&map, prefix, "") {
                let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
                let append = Append {
                    key: object.key(resource),
                    expect: eventlog::Expect::Revision(object.revision),
                    guards: Vec::new(),
                    verb: Verb::Delete,
                    object: object.sections.clone(),
                    volatile: false,
                    actor: actor.clone(),
                    time,
                    writer: (self.writer, sequence),
                };
                // A concurrent change of an object of a deleted cluster makes the append fail; a later call deletes the object.
                if let Err(error) = self.log.append(append).await {
                    tracing::warn!(%error, name = %object.name, "cannot remove an object of a deleted cluster");
                }
            }
        }
        let _ = self.fresh().await;
    }

    /// Returns the revision up to which the log was followed, and the number of lines delivered to each participant's watch.
    /// `None`: the lines of a watch are not known yet, because it starts before the ring.
    pub(crate) fn line_counts(&self) -> Option<(Revision, LineCounts)> {
        if self.replays.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let mut state = lock(&self.state);
        let position = state.position;
        let mut line_counts = LineCounts::default();
        for collection in &mut state.collections {
            collection.watchers.retain(|watcher| !watcher.is_closed());
            line_counts.0.extend(collection.watchers.iter().filter_map(|watcher| watcher.line_counts()));
        }
        Some((position, line_counts))
    }

    fn apply(&self, entry: &Arc<Entry>) {
        let mut state = lock(&self.state);
        if entry.revision <= state.position {
            return;
        }
        state.position = entry.revision;
        let decoded = if entry.writer.0 == self.writer { state.pending.remove(&entry.writer.1) } else { None };
        self.tell(&entry.key, (entry.verb != Verb::Delete).then_some(&entry.object));
        let Some(index) = self.by_resource.get(&entry.key.resource).copied() else { return };
        let state = &mut *state;
        let collection = &mut state.collections[index];
        let path = stored::path(&entry.key.cluster, &entry.key.namespace, &entry.key.name);
        let known = collection.map.get(path.as_str()).cloned();
        let mut object = Stored::new(&entry.key, entry.revision, entry.object.clone());
        let own = decoded.is_some();
        if let Some(mut decoded) = decoded {
            collection.kind.metadata_mut(&mut *decoded).resource_version = entry.revision.to_string();
            object = object.with_decoded(decoded.into());
        }
        let object = Arc::new(object);
        if own {
            self.lately.decoded(&object);
            state.finished.insert(entry.writer.1, object.clone());
        }
        let superseded = known.clone();
        let event = if entry.verb == Verb::Delete {
            let path: Arc<str> = path.into();
            collection.map.remove_mut(&path);
            Event::new(entry.revision, path, known, None).with_gone(object)
        } else {
            if entry.verb == Verb::Create {
                if state.creations.len() >= COUNTED {
                    // Most keys, those of Events, are created once. Counting restarts above all ordinals so far.
                    state.base = entry.revision;
                    state.creations.clear();
                }
                *state.creations.entry(hash(CollectionId(index), &path)).or_default() += 1;
            }
            let path: Arc<str> = path.into();
            collection.map.insert_mut(path.clone(), object.clone());
            Event::new(entry.revision, path, known, Some(object))
        };
        let before = collection.ring_bytes;
        state.reached_others |= collection.fan_out(Arc::new(event));
        state.recent = (state.recent + collection.ring_bytes).saturating_sub(before);
        state.forget_oldest(self.recent_bytes);
        if let Some(superseded) = superseded {
            superseded.forget_decoded();
        }
    }

    /// Returns true if a change was delivered to a watch of a client that does not participate in landscape time, since
    /// the last call.
    pub(crate) fn take_reached_others(&self) -> bool {
        std::mem::take(&mut lock(&self.state).reached_others)
    }

    /// Notifies the observers of a resource of an object; `None`: it was deleted.
    fn tell(&self, key: &Key, object: Option<&eventlog::Sections>) {
        let Some(observers) = self.observers.get(&key.resource) else { return };
        let (group, plural) = key.resource.split_once('/').unwrap_or(("", &key.resource));
        let parts = object.map(|object| &object.parts);
        let Key { cluster, namespace, name, .. } = key;
        for observer in observers {
            observer.changed(&Observed { group, plural, cluster, namespace, name, parts });
        }
    }

    /// Replaces the state by that at the beginning of the retained history, after the log discarded entries that were
    /// not folded yet.
    fn load(&self, revision: Revision, objects: Vec<(Key, Revision, eventlog::Sections)>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        (state.position, state.base) = (revision, revision);
        state.recent = 0;
        state.creations.clear();
        for collection in &mut state.collections {
            collection.map = Map::new_sync();
            collection.ring.clear();
            (collection.ring_bytes, collection.framed) = (0, 0);
            collection.floor = revision;
            for watcher in std::mem::take(&mut collection.watchers) {
                watcher.cut();
            }
        }
        for observer in self.observers.values().flatten() {
            observer.reset();
        }
        for (key, changed, sections) in objects {
            if !self.follows(&key.cluster) {
                continue;
            }
            self.tell(&key, Some(&sections));
            let Some(index) = self.by_resource.get(&key.resource).copied() else { continue };
            let path = stored::path(&key.cluster, &key.namespace, &key.name);
            let object = Arc::new(Stored::new(&key, changed, sections));
            state.collections[index].map.insert_mut(path.into(), object);
        }
    }
}

impl State {
    /// Drops the oldest changes of all collections until the remaining ones have at most this size. Each collection
    /// keeps its last change.
    fn forget_oldest(&mut self, limit: usize) {
        while self.recent > limit {
            let rings = self.collections.iter_mut().filter(|collection| collection.ring.len() > 1);
            let oldest = rings.min_by_key(|collection| collection.ring.front().map(|event| event.revision));
            let Some(bytes) = oldest.and_then(Collection::forget_oldest) else { return };
            self.recent -= bytes;
        }
    }
}

impl Collection {
    /// Queues a change for the watchers; returns true if one of them does not participate in landscape time.
    fn fan_out(&mut self, event: Arc<Event>) -> bool {
        let (mut closed, mut reached_others) = (false, false);
        for watcher in &self.watchers {
            reached_others |= watcher.offer(&event) && !watcher.is_participants();
            closed |= watcher.is_closed();
        }
        if closed {
            self.watchers.retain(|watcher| !watcher.is_closed());
        }
        self.ring_bytes += event.size();
        self.ring.push_back(event);
        if self.ring.len() > RING {
            self.forget_oldest();
        }
        self.framed += 1;
        self.forget_frames();
        reached_others
    }

    /// Drops the oldest change of the ring; returns its size in bytes.
    fn forget_oldest(&mut self) -> Option<usize> {
        let oldest = self.ring.pop_front()?;
        let bytes = oldest.size();
        self.ring_bytes -= bytes;
        self.floor = oldest.revision;
        Some(bytes)
    }

    /// Drops the frames of changes that are in no watcher's queue any more; those of the newest may still be requested.
    fn forget_frames(&mut self) {
        self.framed = self.framed.min(self.ring.len());
        while self.framed > 1 {
            let oldest = &self.ring[self.ring.len() - self.framed];
            if Arc::strong_count(oldest) > 1 {
                return;
            }
            oldest.forget_frames();
            self.framed -= 1;
        }
    }
}

/// Removes the state of a pending append, also when its client disconnects meanwhile.
struct OnTheWay<'a> {
    store: &'a Store,
    sequence: u64,
}

impl Drop for OnTheWay<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.store.state);
        state.pending.remove(&self.sequence);
        state.finished.remove(&self.sequence);
    }
}

/// One change to append.
pub(crate) struct Change {
    pub(crate) key: Key,
    pub(crate) expect: eventlog::Expect,
    pub(crate) guards: Vec<eventlog::Guard>,
    pub(crate) verb: Verb,
    pub(crate) object: eventlog::Sections,
    pub(crate) volatile: bool,
    pub(crate) actor: Arc<eventlog::Actor>,
    pub(crate) time: chrono::DateTime<chrono::Utc>,
}

/// Start of a watch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchStart {
    /// The watch starts with the present state as `ADDED` frames.
    State,
    /// The watch starts with the changes after a revision.
    After(Revision),
}

/// Returns the objects below `prefix` whose path is greater than `after`, in order.
pub(crate) fn range<'a>(
    map: &'a Map,
    prefix: &'a str,
    after: &'a str,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Stored>)> {
    let start = if after >= prefix && !after.is_empty() { Bound::Excluded(after) } else { Bound::Included(prefix) };
    map.range::<str, _>((start, Bound::Unbounded)).take_while(move |(path, _)| path.starts_with(prefix))
}

fn event_of(entry: &Entry) -> Event {
    let path: Arc<str> = stored::path(&entry.key.cluster, &entry.key.namespace, &entry.key.name).into();
    let previous = |(revision, sections): &(Revision, eventlog::Sections)| {
        Arc::new(Stored::new(&entry.key, *revision, sections.clone()))
    };
    let old = entry.previous.as_ref().map(previous);
    let object = Arc::new(Stored::new(&entry.key, entry.revision, entry.object.clone()));
    if entry.verb == Verb::Delete {
        let old = old.or_else(|| Some(object.clone()));
        Event::new(entry.revision, path, old, None).with_gone(object)
    } else {
        Event::new(entry.revision, path, old, Some(object))
    }
}

fn hash(id: CollectionId, path: &str) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    (id.0, path).hash(&mut hasher);
    hasher.finish()
}
