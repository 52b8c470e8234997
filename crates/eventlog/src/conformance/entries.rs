// SPDX-License-Identifier: Apache-2.0
//! Requirements on appends, reads, and compaction.

use bytes::Bytes;
use chrono::TimeDelta;

use super::things::{
    delete, done, drain, entries, guarded, heartbeat, history, in_cluster, put, sections, start, update, update_status,
};
use crate::entry::{Key, Revision, Sections, Verb};
use crate::log::{Append, AppendError, EventLog, Guard, MAX_GUARDS, MAX_OBJECT_BYTES, ReadError};
use crate::replay::Replay;
use crate::validator::WatchValidator;

/// Revisions are 1, 2, 3, … and the head is the last of them; a refused append uses none.
pub async fn revisions_rise_by_one_entry_at_a_time(log: &impl EventLog) {
    assert_eq!(log.head(), Revision(0));
    assert_eq!(done(log, put("a", 1)).await, Revision(1));
    log.append(put("a", 1)).await.expect_err("it exists");
    assert_eq!(log.head(), Revision(1));
    assert_eq!(done(log, put("b", 1)).await, Revision(2));
    assert_eq!(log.head(), Revision(2));
}

/// A creation requires that the key is absent, every other change that it is at the revision; the error has the
/// present one.
pub async fn an_append_needs_what_it_expects(log: &impl EventLog) {
    let conflict = |actual: Option<u64>| Err(AppendError::Conflict { actual: actual.map(Revision) });
    assert_eq!(log.append(update("a", Revision(1), 1)).await, conflict(None));
    let created = done(log, put("a", 1)).await;
    assert_eq!(log.append(put("a", 1)).await, conflict(Some(1)));
    let updated = done(log, update("a", created, 2)).await;
    assert_eq!(log.append(update("a", created, 3)).await, conflict(Some(2)));
    assert_eq!(log.append(delete("a", created, 2)).await, conflict(Some(2)));
    done(log, delete("a", updated, 2)).await;
    assert_eq!(log.append(update("a", updated, 3)).await, conflict(None));
    assert_eq!(done(log, put("a", 1)).await, Revision(4));
}

/// A guard on a key fails after any change of it, creation and deletion included.
pub async fn key_guards_see_every_change_of_the_key(log: &impl EventLog) {
    let b = Key::new("garden", "example/things", "ns", "b");
    let mut a = done(log, put("a", 1)).await;
    let mut last = log.head();
    let mut steps = vec![put("b", 1), update("b", Revision(3), 2), update_status("b", Revision(5), 3)];
    steps.push(delete("b", Revision(7), 3));
    for step in steps {
        let unchanged = log.append(guarded(update("a", a, 1), Guard::Key(b.clone(), last))).await;
        a = unchanged.expect("nothing happened to b").revision;
        last = done(log, step).await;
        let changed = log.append(guarded(update("a", a, 1), Guard::Key(b.clone(), Revision(last.0 - 1)))).await;
        assert_eq!(changed, Err(AppendError::GuardFailed), "after revision {last}");
    }
    done(log, guarded(update("a", a, 1), Guard::Key(b, last))).await;
}

/// A guard on a collection fails after creations, deletions and changes outside `status`, of that collection only.
pub async fn collection_guards_do_not_see_status(log: &impl EventLog) {
    let guard = |since: Revision| Guard::Collection("garden".into(), "example/things".into(), since);
    let other = |append: Append| in_cluster("other", append);
    let mut a = done(log, other(put("a", 1))).await;
    let b = done(log, put("b", 1)).await;
    assert_eq!(log.append(guarded(other(update("a", a, 1)), guard(a))).await, Err(AppendError::GuardFailed));
    a = done(log, guarded(other(update("a", a, 1)), guard(b))).await;
    let status = done(log, update_status("b", b, 2)).await;
    a = done(log, guarded(other(update("a", a, 1)), guard(b))).await;
    let spec = done(log, update("b", status, 3)).await;
    assert_eq!(log.append(guarded(other(update("a", a, 1)), guard(status))).await, Err(AppendError::GuardFailed));
    a = done(log, guarded(other(update("a", a, 1)), guard(spec))).await;
    done(log, delete("b", spec, 3)).await;
    assert_eq!(log.append(guarded(other(update("a", a, 1)), guard(spec))).await, Err(AppendError::GuardFailed));
}

/// Heartbeats do not fail guards.
pub async fn volatile_entries_fail_no_guard(log: &impl EventLog) {
    let b = done(log, put("b", 1)).await;
    done(log, heartbeat("b", b, 2)).await;
    let key = Guard::Key(Key::new("garden", "example/things", "ns", "b"), b);
    done(log, guarded(put("a", 1), key)).await;
    let collection = Guard::Collection("garden".into(), "example/things".into(), Revision(3));
    done(log, guarded(in_cluster("other", put("c", 1)), collection)).await;
}

/// Appends with more than [`MAX_GUARDS`] guards, or more than 1.5 MiB, are refused.
pub async fn guards_are_limited_in_number_and_objects_in_size(log: &impl EventLog) {
    let guard = Guard::Key(Key::new("garden", "example/things", "ns", "b"), Revision(0));
    let with = |count: usize| Append { guards: vec![guard.clone(); count], ..put("a", 1) };
    assert_eq!(log.append(with(MAX_GUARDS + 1)).await, Err(AppendError::TooLarge));
    let sized = |name: &str, size: usize| {
        let mut object = Sections::default();
        object.parts[4] = Bytes::from(vec![b'x'; size]);
        Append { object, ..put(name, 1) }
    };
    assert_eq!(log.append(sized("a", MAX_OBJECT_BYTES + 1)).await, Err(AppendError::TooLarge));
    assert_eq!(log.head(), Revision(0));
    done(log, with(MAX_GUARDS)).await;
    done(log, sized("b", MAX_OBJECT_BYTES)).await;
}

/// An append with the same writer and sequence has the first result, whatever happened since; nothing is written.
pub async fn a_repeated_append_is_answered_with_the_first_result(log: &impl EventLog) {
    let first = put("a", 1);
    let created = done(log, first.clone()).await;
    let second = update("a", created, 2);
    let updated = done(log, second.clone()).await;
    assert_eq!(done(log, first).await, created);
    assert_eq!(done(log, second).await, updated);
    assert_eq!(log.head(), updated);
}

/// The time of an entry is at least that of the one before.
pub async fn time_never_decreases(log: &impl EventLog) {
    let at = |seconds: i64| start() + TimeDelta::seconds(seconds);
    for (name, time) in [("a", 10), ("b", 5), ("c", 20)] {
        done(log, Append { time: at(time), ..put(name, 1) }).await;
    }
    let entries = log.read(Revision(0), log.head(), None).await.expect("retained");
    assert_eq!(entries.iter().map(|entry| entry.time).collect::<Vec<_>>(), [at(10), at(10), at(20)]);
}

/// An entry has the object after the change, and the state before it with its revision; for a deletion the last
/// state.
pub async fn entries_carry_the_state_before_and_after(log: &impl EventLog) {
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    let created = done(log, put("a", 1)).await;
    let updated = done(log, update_status("a", created, 2)).await;
    done(log, delete("a", updated, 2)).await;
    done(log, put("a", 3)).await;
    let of = |status: u64| sections("a", status);
    let expected = [
        (Verb::Create, of(1), None),
        (Verb::UpdateStatus, of(2), Some((created, of(1)))),
        (Verb::Delete, of(2), Some((updated, of(2)))),
        (Verb::Create, of(3), None),
    ];
    let told = entries(&drain(&mut subscription).await);
    let read = log.read(Revision(0), log.head(), None).await.expect("retained");
    for entries in [told, read] {
        let seen: Vec<_> =
            entries.iter().map(|entry| (entry.verb, entry.object.clone(), entry.previous.clone())).collect();
        assert_eq!(seen, expected);
    }
}

/// A range has the same entries that subscribers received.
pub async fn reading_a_range_gives_what_was_appended(log: &impl EventLog) {
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    history(log).await;
    let told = entries(&drain(&mut subscription).await);
    assert_eq!(told.len() as u64, log.head().0);
    for (from, to) in [(0, told.len()), (0, 1), (70, 200), (100, 100), (333, 334), (500, told.len())] {
        let read = log.read(Revision(from as u64), Revision(to as u64), None).await.expect("retained");
        assert_eq!(read, told[from..to], "{from} to {to}");
    }
    let head = log.head();
    assert_eq!(log.read(head, Revision(head.0 + 1), None).await, Err(ReadError::Future(head)));
}

/// A past state is the fold of the entries up to it.
pub async fn the_state_at_every_revision_can_be_read(log: &impl EventLog) {
    history(log).await;
    let mut replay = Replay::new();
    assert_eq!(log.state_at(Revision(0)).await, Ok(Vec::new()));
    for entry in log.read(Revision(0), log.head(), None).await.expect("retained") {
        replay.push(&entry);
        if entry.revision.0 % 29 == 0 || entry.revision == log.head() {
            let state = log.state_at(entry.revision).await.expect("retained");
            assert!(state.is_sorted_by(|a, b| a.0 < b.0), "key order");
            assert_eq!(replay.difference(&state), None, "at {}", entry.revision);
            let resource = entry.key.resource.clone();
            let own: crate::log::Snapshot = state.into_iter().filter(|(key, ..)| key.resource == resource).collect();
            assert_eq!(log.state_of(entry.revision, &resource).await, Ok(own), "{resource} at {}", entry.revision);
        }
    }
    let head = log.head();
    assert_eq!(log.state_of(head, "nobody/nothing").await, Ok(Vec::new()));
    assert_eq!(log.state_at(Revision(head.0 + 1)).await, Err(ReadError::Future(head)));
    assert_eq!(log.state_of(Revision(head.0 + 1), "x").await, Err(ReadError::Future(head)));
}

/// History up to the revision is forgotten, the state at it and everything after it is not.
pub async fn compaction_forgets_history_and_keeps_state(log: &impl EventLog) {
    history(log).await;
    let head = log.head();
    let at = Revision(400);
    let (then, now) = (log.state_at(at).await, log.state_at(head).await);
    let later = log.read(at, head, None).await;
    log.compact(at).await.expect("not in the future");
    assert_eq!(log.state_at(at).await, then);
    assert_eq!(log.state_at(head).await, now);
    assert_eq!(log.read(at, head, None).await, later);
    assert_eq!(log.head(), head);
    let gone = ReadError::Compacted(at);
    assert_eq!(log.state_at(Revision(399)).await, Err(gone));
    assert_eq!(log.read(Revision(399), head, None).await, Err(gone));
    assert_eq!(log.subscribe(Revision(399), None).err(), Some(gone));
    log.compact(Revision(100)).await.expect("already forgotten");
    log.compact(head).await.expect("not in the future");
    assert_eq!(log.state_at(head).await, now);
    let future = ReadError::Future(head);
    assert_eq!(log.compact(Revision(head.0 + 1)).await, Err(future));
    done(log, put("new", 1)).await;
}

/// A fold of all entries is the state, and its hash does not depend on how it was obtained.
pub async fn replay_gives_the_live_state(log: &impl EventLog) {
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    history(log).await;
    let mut told = Replay::new();
    let mut read = Replay::new();
    for entry in entries(&drain(&mut subscription).await) {
        told.push(&entry);
    }
    for entry in log.read(Revision(0), log.head(), None).await.expect("retained") {
        read.push(&entry);
    }
    let live = log.state_at(log.head()).await.expect("retained");
    assert_eq!((told.difference(&live), read.difference(&live)), (None, None));
    assert_eq!(told.hash(), read.hash());
    assert_eq!(told.entries(), log.head().0);
}

/// Many writers on few keys: each acknowledged append is in the log once, in an order that respects expectations.
pub async fn concurrent_writers_leave_no_gap(log: &impl EventLog) {
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    for name in ["a", "b", "c"] {
        done(log, put(name, 0)).await;
    }
    let writers = (0..8u64).map(|writer| async move {
        let mut acknowledged = Vec::new();
        for number in 0..50u64 {
            let name = ["a", "b", "c"][((writer + number) % 3) as usize];
            let mut at = Revision((writer + number) % 3 + 1);
            loop {
                if (writer + number) % 4 == 0 {
                    tokio::task::yield_now().await;
                }
                match log.append(update(name, at, writer * 1000 + number)).await {
                    Ok(done) => break acknowledged.push(done.revision),
                    Err(AppendError::Conflict { actual: Some(actual) }) => at = actual,
                    Err(error) => panic!("{error}"),
                }
            }
            tokio::task::yield_now().await;
        }
        acknowledged
    });
    let mut acknowledged = futures::future::join_all(writers).await.concat();
    acknowledged.sort_unstable();
    assert_eq!(acknowledged, (4..=log.head().0).map(Revision).collect::<Vec<_>>());
    let mut validator = WatchValidator::new(Revision(0), None);
    let messages = drain(&mut subscription).await;
    for message in &messages {
        validator.push(message).expect("a subscription without fault");
    }
    validator.finish(log).await.expect("retained").expect("a subscription without gap");
    assert_eq!(validator.position(), log.head());
    let mut last = std::collections::BTreeMap::new();
    for entry in entries(&messages) {
        let before = last.insert(entry.key.name.clone(), entry.revision);
        assert_eq!(entry.previous.as_ref().map(|(revision, _)| *revision), before, "{}", entry.revision);
    }
}
