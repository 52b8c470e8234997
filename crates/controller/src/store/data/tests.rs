// SPDX-License-Identifier: Apache-2.0
//! Stories of one store: what the watch delivers, what own writes return, and what is shown.

use std::sync::Arc;

use parking_lot::Mutex;

use super::*;
use crate::decode::PartialObject;
use crate::store::{AnyStore, Change, Selection, Store};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("garden", "x", name)
}

/// Reads an object: `a7` is version 7 of `a`, `a'9` of an object that was created again, `a7*` waits for a finalizer,
/// `a8†` is being deleted without one.
fn object(text: &str) -> (ObjectKey, Shared) {
    let start = text.find(|it: char| it.is_ascii_digit()).expect("a version");
    let (uid, rest) = text.split_at(start);
    let digits = rest.trim_end_matches(['*', '†']);
    let name = uid.trim_end_matches('\'');
    let mut metadata = ObjectMeta::named("x", name);
    metadata.uid = uid.to_owned();
    metadata.resource_version = digits.to_owned();
    match &rest[digits.len()..] {
        "" => {}
        "*" => metadata.finalizers = vec!["f".to_owned()],
        _ => metadata.deletion_timestamp = Some(apimachinery::meta::Time::default()),
    }
    (key(name), Arc::new(PartialObject { metadata }))
}

fn text(object: &dyn Object) -> String {
    format!("{}{}", object.meta().uid, object.meta().resource_version)
}

/// Applies a step.
///
/// ```text
/// watch a5      the watch delivers an object      write a7     a write returns an object
/// watch a8 -    it delivers that one's deletion   write a7 -   that the store's selectors do not select
/// mark 9        it delivers a bookmark            delete a     a deletion succeeds: the object of this uid is deleted
/// list 9 a5 b6  it delivers a list at version 9
/// ```
fn step(store: &AnyStore, step: &str) {
    let words: Vec<&str> = step.split_whitespace().collect();
    let number = |text: &str| text.parse().expect("a version");
    match words.as_slice() {
        ["watch", it, rest @ ..] => {
            let (key, object) = object(it);
            let version = version(object.meta());
            store.deliver(key, rest.is_empty().then_some(object), version);
            store.reached(version);
        }
        ["mark", position] => store.reached(number(position)),
        ["list", position, items @ ..] => {
            let mut changes: BTreeMap<_, _> = store.watched_keys().into_iter().map(|key| (key, None)).collect();
            changes.extend(items.iter().map(|it| object(it)).map(|(key, object)| (key, Some(object))));
            for (key, object) in changes {
                store.deliver(key, object, number(position));
            }
            store.listed(number(position));
        }
        ["write", it, rest @ ..] => {
            let (key, object) = object(it);
            store.written(key, object, rest.is_empty());
        }
        ["delete", uid] => store.deleted(key(uid.trim_end_matches('\'')), uid),
        _ => panic!("`{step}` is no step"),
    }
}

/// Runs a story: lines of a step and what is shown after it, with a dot for each pending write.
#[track_caller]
fn check(story: &str) {
    let store = AnyStore::new(Selection::all("garden"));
    let typed = Store::<PartialObject>::of(store.clone());
    let index = typed.index(|object| vec![object.metadata.name.clone()]);
    let observed: Arc<Mutex<BTreeMap<ObjectKey, String>>> = Arc::default();
    let noted = observed.clone();
    typed.observe(move |change| {
        let mut noted = noted.lock();
        let old = change.old.as_ref().map(|old| text(&**old));
        assert_eq!(noted.remove(&change.key), old, "the last state is the old one of the next change");
        noted.extend(change.new.as_ref().map(|new| (change.key.clone(), text(&**new))));
    });
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (what, expected) = line.split_once('→').expect("a step and what is shown");
        step(&store, what);
        let shown: Vec<String> = store.read().objects.values().map(|object| text(&**object)).collect();
        let pending = ".".repeat(store.read().pending.len());
        let found = format!("{} {pending}", shown.join(" "));
        assert_eq!(found.trim(), expected.trim(), "after `{}`", what.trim());
        assert_eq!(observed.lock().values().cloned().collect::<Vec<_>>(), shown, "an observer follows what is shown");
        for name in ["a", "b"] {
            assert_eq!(index.get(name), typed.get(&key(name)).into_iter().collect::<Vec<_>>(), "so does an index");
        }
    }
}

#[test]
fn an_own_write_is_shown_before_the_watch_delivers_it() {
    check(
        "watch a5 → a5
         write a7 → a7 .
         watch a6 → a7 .
         watch a7 → a7
         write b8 → a7 b8 .
         watch b8 → a7 b8",
    );
}

#[test]
fn an_answer_after_the_watch_changes_nothing() {
    check(
        "watch a5   → a5
         watch a8   → a8
         write a7   → a8
         watch a9 - →
         write a8   →
         write b9   →
         delete a   →",
    );
}

#[test]
fn a_deleted_object_is_hidden_until_the_watch_deletes_it() {
    check(
        "watch a5   → a5
         delete a   → .
         watch a6   → .
         write a6   → .
         watch a7 - →
         write a6   →",
    );
}

#[test]
fn a_deleted_object_stays_hidden_when_the_watch_delivers_it() {
    check(
        "write a5   → a5 .
         delete a   → .
         watch b4   → b4 .
         watch a5   → b4 .
         watch a6 - → b4",
    );
}

#[test]
fn a_deletion_with_finalizers_is_an_update() {
    check(
        "watch a5*  → a5
         write a6*  → a6 .
         write a7†  → .
         watch a6*  → .
         watch a7 - →",
    );
}

#[test]
fn an_ending_object_is_shown_until_the_watch_deletes_it() {
    check(
        "watch a5   → a5
         write a6†  → a6 .
         watch a6†  → a6
         watch a7 - →",
    );
}

#[test]
fn an_object_that_was_created_again_is_another_one() {
    check(
        "watch a5   → a5
         delete a   → .
         write a'8  → a'8 .
         delete a   → a'8 .
         watch a7 - → a'8 .
         watch a'8  → a'8
         delete a   → a'8",
    );
}

#[test]
fn an_object_that_others_created_again_ends_an_own_deletion() {
    check(
        "watch a5   → a5
         delete a   → .
         list 9 a'8 → a'8",
    );
}

#[test]
fn a_later_write_of_others_wins() {
    check(
        "watch a5   → a5
         write a6   → a6 .
         watch a6   → a6
         watch a7   → a7
         write a8   → a8 .
         watch a9 - →
         write b10  → b10 .
         watch b11  → b11",
    );
}

#[test]
fn of_two_own_writers_the_later_version_is_shown() {
    check(
        "watch a5 → a5
         write a7 → a7 .
         write a6 → a7 .
         watch a6 → a7 .
         write a8 → a8 .
         watch a7 → a8 .
         watch a8 → a8",
    );
}

#[test]
fn an_object_that_is_no_longer_selected_is_hidden() {
    check(
        "watch a5   → a5
         write a6 - → .
         watch a6 - →
         write b7 - →
         write b8   → b8 .
         write b9 - → .
         watch b8   → .
         watch b9 - →",
    );
}

#[test]
fn an_undelivered_write_is_dropped_once_the_watch_is_later() {
    check(
        "write a5   → a5 .
         watch b6   → b6
         write a7   → a7 b6 .
         mark 7     → b6",
    );
}

#[test]
fn nothing_older_than_a_list_remains() {
    check(
        "list 4 a3      → a3
         write a5       → a5 .
         write b6       → a5 b6 ..
         list 6 a5      → a5
         write b8       → a5 b8 .
         delete a       → b8 ..
         list 7 a5      → b8 ..
         list 9 b8      → b8
         write a12      → a12 b8 .
         list 5 a5      → a5",
    );
}

#[test]
fn only_undelivered_writes_take_space() {
    let store = AnyStore::new(Selection::all("garden"));
    for version in 1..=1000 {
        step(&store, &format!("write a{version}"));
        step(&store, &format!("write b{version}"));
    }
    assert_eq!(store.read().pending.len(), 2);
    for version in 1001..=2000 {
        step(&store, &format!("write c{version}"));
        step(&store, &format!("watch c{version}"));
    }
    assert_eq!(store.read().pending.len(), 0);
}

#[test]
fn subscribers_get_watched_changes_with_the_previous_state() {
    let store = AnyStore::new(Selection::all("garden"));
    step(&store, "watch a5");
    step(&store, "write a7");
    step(&store, "write b8");
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (sink, shown) = (told.clone(), Store::<PartialObject>::of(store.clone()));
    shown.clone().subscribe(move |change: &Change<PartialObject>| {
        let name = |object: Option<&Arc<PartialObject>>| object.map_or_else(|| "-".to_owned(), |it| text(&**it));
        let now = shown.get(&change.key);
        sink.lock().push([change.old.as_ref(), change.new.as_ref(), now.as_ref()].map(name).join(" "));
    });
    for it in ["watch a6", "watch a7", "watch b8", "delete a", "watch a9 -"] {
        step(&store, it);
    }
    assert_eq!(*told.lock(), ["- a5 a7", "a5 a6 a7", "a6 a7 a7", "- b8 b8", "a7 - -"]);
}
