// SPDX-License-Identifier: Apache-2.0
//! Detection of live-locks: writers that react to one another indefinitely within one instant, or create objects
//! without end, so that time would never advance.
//!
//! The rule only; the caller, which counts, decides on the consequence: a simulation fails, a landscape's clock
//! stops.

use std::fmt;
use std::sync::Arc;

use clock::Instant;
use rustc_hash::FxHashMap;

use crate::{Actor, Key, Verb};

/// Maximum number of writes of a single object at one instant.
const WRITES_OF_ONE_OBJECT: u64 = 64;
/// Additional writes for every other object of its cluster that changed at that instant.
const WRITES_PER_OTHER_OBJECT: u64 = 4;
/// Maximum number of writes at one instant.
const WRITES: u64 = 1_000_000;
/// Maximum increase in the number of one owner's objects at one instant.
const NEW_OBJECTS_OF_ONE_OWNER: u64 = 10_000;
/// Maximum number of creations for one owner at one instant, including objects that are deleted again.
const CREATIONS_OF_ONE_OWNER: u64 = 100_000;
/// Maximum number of creations without an owner by one component in one collection at one instant. Other clients have
/// no limit.
const CREATIONS_WITHOUT_OWNER: u64 = 100_000;

/// A limit that was exceeded at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveLock {
    /// The object of the last write.
    pub key: Key,
    /// Writer of that object.
    pub actor: Actor,
    /// The instant.
    pub at: Instant,
    /// Writes of the object at that instant; creations, if `created` is set.
    pub writes: u64,
    /// Group of the objects that were created too often; None: an object was written too often.
    pub created: Option<Created>,
}

/// Group of objects that were created without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// Objects of one owner, `KIND NAME`.
    Of(String),
    /// Objects of a collection, by one component.
    InCollection,
}

/// The controller in an object's owner references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Uid of the owner.
    pub uid: String,
    /// `KIND NAME`, for people.
    pub name: String,
}

impl fmt::Display for LiveLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, actor, at, writes, created } = self;
        let (at, user) = (at.to_rfc3339(), &actor.user);
        match created {
            None => write!(f, "live-lock at {at}: {key} was written {writes} times, last by {user}"),
            Some(Created::Of(owner)) => {
                write!(f, "live-lock at {at}: {owner} got {writes} new objects, the last is {key}, created by {user}")
            }
            Some(Created::InCollection) => {
                let Key { cluster, resource, namespace, .. } = key;
                write!(
                    f,
                    "live-lock at {at}: {cluster}:{resource}/{namespace} got {writes} new objects, the last is {key}, \
                     created by {user}"
                )
            }
        }
    }
}

/// The writes of one instant.
#[derive(Debug, Default)]
pub struct Writes {
    at: Instant,
    all: u64,
    objects: FxHashMap<Key, u64>,
    /// Objects that changed, by cluster.
    changed: FxHashMap<Arc<str>, u64>,
}

impl Writes {
    /// Counts a write; returns the live-lock if it is one too many.
    pub fn count(&mut self, at: Instant, key: &Key, actor: &Actor) -> Option<LiveLock> {
        if at != self.at {
            self.forget();
            self.at = at;
        }
        self.all += 1;
        let writes = if let Some(writes) = self.objects.get_mut(key) {
            *writes += 1;
            *writes
        } else {
            self.objects.insert(key.clone(), 1);
            *self.changed.entry(key.cluster.clone()).or_default() += 1;
            1
        };
        let others = self.changed.get(&key.cluster).map_or(0, |changed| changed - 1);
        let locked = writes > WRITES_OF_ONE_OBJECT + WRITES_PER_OTHER_OBJECT * others || self.all > WRITES;
        locked.then(|| LiveLock { key: key.clone(), actor: actor.clone(), at, writes, created: None })
    }

    /// Resets the counters.
    pub fn forget(&mut self) {
        self.all = 0;
        self.objects.clear();
        self.changed.clear();
    }
}

/// Group of objects that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Family {
    /// Cluster and uid of the owner.
    Owner(Arc<str>, String),
    /// Cluster, resource and namespace, and the creating user.
    Collection(Arc<str>, Arc<str>, Arc<str>, Arc<str>),
}

/// Numbers of creations and deletions.
#[derive(Clone, Copy, Debug, Default)]
struct CreationCounts {
    creations: u64,
    deletions: u64,
}

/// The creations of one instant.
#[derive(Debug, Default)]
pub struct Creations {
    at: Instant,
    made: FxHashMap<Family, CreationCounts>,
    exceeded: bool,
}

impl Creations {
    /// Counts a creation or a deletion; other changes do not count. Returns the live-lock if it is a creation too
    /// many, which the caller must then refuse.
    pub fn count(
        &mut self,
        at: Instant,
        key: &Key,
        verb: Verb,
        owner: Option<Owner>,
        actor: &Actor,
    ) -> Option<LiveLock> {
        if at != self.at {
            self.forget();
            self.at = at;
        }
        if !matches!(verb, Verb::Create | Verb::Delete) {
            return None;
        }
        let is_component = !actor.version.is_empty();
        let Key { cluster, resource, namespace, .. } = key;
        let (family, created) = match owner {
            Some(Owner { uid, name }) => (Family::Owner(cluster.clone(), uid), Created::Of(name)),
            None if is_component => {
                let family = (cluster.clone(), resource.clone(), namespace.clone(), actor.user.clone());
                (Family::Collection(family.0, family.1, family.2, family.3), Created::InCollection)
            }
            None => return None,
        };
        let made = self.made.entry(family).or_default();
        if verb == Verb::Delete {
            made.deletions += 1;
            return None;
        }
        let creations = made.creations + 1;
        let is_too_many = match created {
            Created::Of(_) => {
                let more = creations.saturating_sub(made.deletions);
                more > NEW_OBJECTS_OF_ONE_OWNER || creations > CREATIONS_OF_ONE_OWNER
            }
            Created::InCollection => creations > CREATIONS_WITHOUT_OWNER,
        };
        if !is_too_many {
            made.creations = creations;
            return None;
        }
        self.exceeded = true;
        let (key, actor, created) = (key.clone(), actor.clone(), Some(created));
        Some(LiveLock { key, actor, at, writes: creations, created })
    }

    /// Returns true if a creation has exceeded a limit since the last reset.
    pub fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    /// Resets the counters.
    pub fn forget(&mut self) {
        self.made.clear();
        self.exceeded = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Instant {
        Instant::from_timestamp(1_690_488_000 + second, 0).expect("in range")
    }

    /// Checks the number of allowed writes of one object, with so many changed others in its cluster and in another
    /// one.
    #[track_caller]
    fn check(others: u64, elsewhere: u64, expected: u64) {
        let mut writes = Writes::default();
        let actor = Actor::default();
        for (cluster, number) in [("garden", others), ("seed", elsewhere)] {
            for n in 0..number {
                let key = Key::new(cluster, "r", "ns", &format!("other-{n}"));
                assert_eq!(writes.count(at(0), &key, &actor), None);
            }
        }
        let key = Key::new("garden", "r", "ns", "a");
        let (let_through, lock) =
            (0..1000).find_map(|n| Some((n, writes.count(at(0), &key, &actor)?))).expect("there is a limit");
        assert_eq!(let_through, expected, "{others} others, {elsewhere} elsewhere");
        let expected =
            LiveLock { key: key.clone(), actor: actor.clone(), at: at(0), writes: expected + 1, created: None };
        assert_eq!(lock, expected);
        assert_eq!(writes.count(at(1), &key, &actor), None, "a new instant counts from the beginning");
    }

    #[test]
    fn writes_of_an_object_are_bounded_by_other_changes() {
        check(0, 0, 64);
        check(1, 0, 68);
        check(10, 0, 104);
        check(0, 10, 64);
    }

    fn owner(uid: &str) -> Option<Owner> {
        (!uid.is_empty()).then(|| Owner { uid: uid.to_owned(), name: "ReplicaSet web".to_owned() })
    }

    /// Checks the number of pods that are allowed at one instant, with an owner or without, for a component or for
    /// another client; `deletions` before each creation.
    #[track_caller]
    fn check_creations(uid: &str, version: &str, deletions: usize, expected: Option<u64>) {
        let mut creations = Creations::default();
        let actor = Actor { user: "somebody".into(), component: "c".into(), version: version.into() };
        let key = |n: u64| Key::new("garden", "/pods", "default", &format!("web-{n}"));
        for n in 0..200_000 {
            for _ in 0..deletions {
                assert_eq!(creations.count(at(0), &key(n), Verb::Delete, owner(uid), &actor), None);
            }
            let lock = creations.count(at(0), &key(n), Verb::Create, owner(uid), &actor);
            assert_eq!(lock.is_some(), Some(n) == expected, "{n}");
            let Some(lock) = lock else { continue };
            let whose = if uid.is_empty() { "garden:/pods/default" } else { "ReplicaSet web" };
            let writes = n + 1;
            let text = format!(
                "live-lock at 2023-07-27T20:00:00+00:00: {whose} got {writes} new objects, the last is \
                 garden:/pods/default/web-{n}, created by somebody"
            );
            assert_eq!(lock.to_string(), text);
            assert!(creations.is_exceeded());
            let again = creations.count(at(0), &key(n), Verb::Create, owner(uid), &actor);
            assert_eq!(again.map(|lock| lock.writes), Some(writes), "what was refused does not count");
            assert_eq!(creations.count(at(0), &key(n), Verb::Create, owner("another"), &actor), None);
            assert_eq!(creations.count(at(1), &key(n), Verb::Create, owner(uid), &actor), None, "a new instant");
            assert!(!creations.is_exceeded());
            return;
        }
        assert_eq!(expected, None);
    }

    #[test]
    fn creations_of_an_owner_are_bounded_clients_are_not() {
        check_creations("u", "v1", 0, Some(10_000));
        check_creations("u", "", 0, Some(10_000));
        check_creations("u", "v1", 1, Some(100_000));
        check_creations("", "v1", 0, Some(100_000));
        check_creations("", "", 0, None);
    }
}
