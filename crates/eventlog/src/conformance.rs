// SPDX-License-Identifier: Apache-2.0
//! What every implementation of [`EventLog`] promises, as tests: call [`crate::conformance!`] in the implementation's
//! test module with an expression that makes an empty log.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures::{FutureExt, StreamExt};

use crate::entry::{Actor, Entry, Key, Revision, Sections, Verb};
use crate::log::{
    Append, AppendError, EventLog, Expect, Guard, MAX_GUARDS, MAX_OBJECT_BYTES, Message, ReadError, Subscription,
};
use crate::replay::Replay;
use crate::validator::WatchValidator;

/// Runs every clause as a test of its own on a new log.
#[macro_export]
macro_rules! conformance {
    ($new:expr) => {
        $crate::conformance!(@each $new;
            revisions_rise_by_one_entry_at_a_time
            an_append_needs_what_it_expects
            key_guards_see_every_change_of_the_key
            collection_guards_do_not_see_status
            volatile_entries_fail_no_guard
            guards_are_limited_in_number_and_objects_in_size
            a_repeated_append_is_answered_with_the_first_result
            time_never_goes_back
            a_subscription_starts_after_its_revision
            every_subscriber_learns_the_position
            a_subscription_to_a_cluster_gets_that_cluster
            a_subscription_can_be_resumed_anywhere
            entries_carry_the_state_before_and_after
            reading_a_range_gives_what_was_appended
            the_state_at_every_revision_can_be_read
            compaction_forgets_history_and_keeps_state
            volatile_entries_reach_subscribers_and_are_not_history
            replay_gives_the_live_state
            concurrent_writers_leave_no_gap
            a_position_is_in_step_with_the_entries
            a_resumed_subscription_does_not_travel_back_in_time
            no_entry_is_delivered_twice
            no_entry_is_lost_by_a_slow_reader
            compacting_at_a_deletion_drops_no_entry_on_its_way
            a_subscription_that_starts_at_a_compaction_gets_the_deletion_after_it
            a_subscription_to_the_future_is_refused
        );
    };
    (@each $new:expr; $($clause:ident)*) => {
        $(
            #[test]
            fn $clause() {
                $crate::conformance::block_on($crate::conformance::$clause(&$new));
            }
        )*
    };
}

/// Runs a future on a runtime of its own.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

static SEQUENCE: AtomicU64 = AtomicU64::new(0);

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_690_488_000, 0).expect("in range")
}

/// Sections of an object with this status; the rest has several hundred bytes that stay the same.
fn sections(name: &str, status: u64) -> Sections {
    let part = |text: String| Bytes::from(text);
    Sections {
        parts: [
            part(format!(r#"{{"kind":"Thing","metadata":{{"name":"{name}""#)),
            part(r#","creationTimestamp":"2023-07-27T20:00:00Z""#.to_owned()),
            part("}".to_owned()),
            part(format!(r#","spec":{{"text":"{}"}}"#, "long ".repeat(80))),
            part(format!(r#","status":{{"before":"same","number":{status},"after":"same"}}}}"#)),
        ],
    }
}

fn append(name: &str, expect: Expect, verb: Verb, object: Sections) -> Append {
    Append {
        key: Key::new("garden", "example/things", "ns", name),
        expect,
        guards: Vec::new(),
        verb,
        object,
        volatile: false,
        actor: Arc::new(Actor { user: "admin".into(), component: "test".into(), version: "".into() }),
        time: start(),
        writer: (1, SEQUENCE.fetch_add(1, Ordering::Relaxed)),
    }
}

/// Creates the thing `name` of cluster `garden`.
pub fn put(name: &str, status: u64) -> Append {
    append(name, Expect::Absent, Verb::Create, sections(name, status))
}

/// Updates it.
pub fn update(name: &str, at: Revision, status: u64) -> Append {
    append(name, Expect::Revision(at), Verb::Update, sections(name, status))
}

/// Updates its status.
pub fn update_status(name: &str, at: Revision, status: u64) -> Append {
    append(name, Expect::Revision(at), Verb::UpdateStatus, sections(name, status))
}

/// Deletes it in its last state.
pub fn delete(name: &str, at: Revision, status: u64) -> Append {
    append(name, Expect::Revision(at), Verb::Delete, sections(name, status))
}

fn heartbeat(name: &str, at: Revision, status: u64) -> Append {
    Append { volatile: true, ..update(name, at, status) }
}

fn in_cluster(cluster: &str, append: Append) -> Append {
    Append { key: Key { cluster: cluster.into(), ..append.key }, ..append }
}

fn guarded(append: Append, guard: Guard) -> Append {
    Append { guards: vec![guard], ..append }
}

async fn done(log: &impl EventLog, append: Append) -> Revision {
    log.append(append).await.expect("an append that holds").revision
}

/// Everything that a subscription has to say at present.
async fn drain(subscription: &mut Subscription) -> Vec<Message> {
    let mut messages = Vec::new();
    // Logs that work in the background get some turns of the runtime.
    for _ in 0..64 {
        while let Some(Some(message)) = subscription.messages.next().now_or_never() {
            messages.push(message);
        }
        tokio::task::yield_now().await;
    }
    messages
}

fn entries(messages: &[Message]) -> Vec<Arc<Entry>> {
    let entry = |message: &Message| match message {
        Message::Entry(entry) => Some(entry.clone()),
        Message::Position(_) => None,
    };
    messages.iter().filter_map(entry).collect()
}

fn revisions(messages: &[Message]) -> Vec<u64> {
    entries(messages).iter().map(|entry| entry.revision.0).collect()
}

/// Revisions are 1, 2, 3, … and the head is the last of them; a refusal uses none.
pub async fn revisions_rise_by_one_entry_at_a_time(log: &impl EventLog) {
    assert_eq!(log.head(), Revision(0));
    assert_eq!(done(log, put("a", 1)).await, Revision(1));
    log.append(put("a", 1)).await.expect_err("it exists");
    assert_eq!(log.head(), Revision(1));
    assert_eq!(done(log, put("b", 1)).await, Revision(2));
    assert_eq!(log.head(), Revision(2));
}

/// A creation needs the key to be absent, everything else needs it at the revision; the error tells the present one.
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

/// Heartbeats are no change to any guard.
pub async fn volatile_entries_fail_no_guard(log: &impl EventLog) {
    let b = done(log, put("b", 1)).await;
    done(log, heartbeat("b", b, 2)).await;
    let key = Guard::Key(Key::new("garden", "example/things", "ns", "b"), b);
    done(log, guarded(put("a", 1), key)).await;
    let collection = Guard::Collection("garden".into(), "example/things".into(), Revision(3));
    done(log, guarded(in_cluster("other", put("c", 1)), collection)).await;
}

/// More than 8 guards, or more than 1.5 MiB, are refused.
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

/// Same writer and sequence: the first result, whatever happened since; nothing is written.
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
pub async fn time_never_goes_back(log: &impl EventLog) {
    let at = |seconds: i64| start() + TimeDelta::seconds(seconds);
    for (name, time) in [("a", 10), ("b", 5), ("c", 20)] {
        done(log, Append { time: at(time), ..put(name, 1) }).await;
    }
    let entries = log.read(Revision(0), log.head(), None).await.expect("retained");
    assert_eq!(entries.iter().map(|entry| entry.time).collect::<Vec<_>>(), [at(10), at(10), at(20)]);
}

/// Every later change once, in order, and nothing at or below the revision; what is to come is refused.
pub async fn a_subscription_starts_after_its_revision(log: &impl EventLog) {
    let first = done(log, put("a", 1)).await;
    done(log, put("b", 1)).await;
    let mut subscription = log.subscribe(first, None).expect("retained");
    done(log, update("a", first, 2)).await;
    assert_eq!(revisions(&drain(&mut subscription).await), [2, 3]);
    assert_eq!(log.subscribe(Revision(4), None).err(), Some(ReadError::Future(Revision(3))));
}

/// After each commit the position comes, whether the entry matches or not, also when nothing was behind.
pub async fn every_subscriber_learns_the_position(log: &impl EventLog) {
    let last = |messages: &[Message]| match messages.last() {
        Some(Message::Position(position)) => position.0,
        other => panic!("a position comes last, not {other:?}"),
    };
    let mut all = log.subscribe(Revision(0), None).expect("retained");
    let mut other = log.subscribe(Revision(0), Some("other")).expect("retained");
    assert_eq!((last(&drain(&mut all).await), last(&drain(&mut other).await)), (0, 0));
    done(log, put("a", 1)).await;
    assert_eq!((last(&drain(&mut all).await), last(&drain(&mut other).await)), (1, 1));
    done(log, put("b", 1)).await;
    done(log, in_cluster("other", put("b", 1))).await;
    assert_eq!((last(&drain(&mut all).await), last(&drain(&mut other).await)), (3, 3));
    let mut late = log.subscribe(Revision(3), None).expect("retained");
    assert_eq!(last(&drain(&mut late).await), 3);
}

/// Entries of other clusters are left out.
pub async fn a_subscription_to_a_cluster_gets_that_cluster(log: &impl EventLog) {
    let before = done(log, in_cluster("other", put("a", 1))).await;
    done(log, put("a", 1)).await;
    let mut subscription = log.subscribe(Revision(0), Some("other")).expect("retained");
    done(log, in_cluster("other", update("a", before, 2))).await;
    done(log, put("b", 1)).await;
    assert_eq!(revisions(&drain(&mut subscription).await), [1, 3]);
    let read = log.read(Revision(0), log.head(), Some("other")).await.expect("retained");
    assert_eq!(read.iter().map(|entry| entry.revision.0).collect::<Vec<_>>(), [1, 3]);
}

/// A history with creations, changes, deletions and another creation of the same key, in three clusters.
async fn history(log: &impl EventLog) {
    for round in 0..4 {
        for cluster in ["garden", "seed", "shoot"] {
            for name in ["a", "b"] {
                let of = |append: Append| in_cluster(cluster, append);
                let mut at = done(log, of(put(name, round))).await;
                for number in 0..40 {
                    let verb = if number % 3 == 0 { update(name, at, number) } else { update_status(name, at, number) };
                    at = done(log, of(verb)).await;
                }
                if round < 3 {
                    done(log, of(delete(name, at, 39))).await;
                }
            }
        }
    }
}

/// From every position the rest follows, without gap or duplicate.
pub async fn a_subscription_can_be_resumed_anywhere(log: &impl EventLog) {
    history(log).await;
    for cluster in [None, Some("seed")] {
        for from in (0..log.head().0).step_by(37) {
            let mut validator = WatchValidator::new(Revision(from), cluster);
            while validator.position() < log.head() {
                let mut subscription = log.subscribe(validator.position(), cluster).expect("retained");
                // A third of what is there, then cut.
                let messages = drain(&mut subscription).await;
                let third = messages.len().div_ceil(3);
                for message in &messages[..third] {
                    validator.push(message).expect("a subscription without fault");
                }
            }
            validator.finish(log).await.expect("retained").expect("a subscription without gap");
        }
    }
}

/// The object after the change, and the state before it with its revision; for a deletion the last state.
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

/// The same entries that subscribers got, for any range.
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

/// Exact past reads: what a fold of the entries up to there gives.
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

/// History up to the revision is gone, the state at it and everything after it is not.
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

/// Heartbeats get a revision and are told, but leave the canonical log as it is.
pub async fn volatile_entries_reach_subscribers_and_are_not_history(log: &impl EventLog) {
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    let mut at = done(log, put("a", 1)).await;
    for number in 0..3 {
        at = done(log, heartbeat("a", at, 100 + number)).await;
    }
    assert_eq!(log.append(update("a", Revision(1), 2)).await, Err(AppendError::Conflict { actual: Some(at) }));
    at = done(log, update_status("a", at, 2)).await;
    at = done(log, heartbeat("a", at, 200)).await;
    let told = entries(&drain(&mut subscription).await);
    let seen: Vec<_> = told.iter().map(|entry| (entry.revision.0, entry.volatile)).collect();
    assert_eq!(seen, [(1, false), (2, true), (3, true), (4, true), (5, false), (6, true)]);
    assert_eq!(told[5].object, sections("a", 200));
    let live = log.state_at(at).await.expect("retained");
    assert_eq!(live, [(told[0].key.clone(), at, sections("a", 200))]);
    let mut all = Replay::new();
    let mut ordinary = Replay::new();
    for entry in &told {
        all.push(entry);
        if !entry.volatile {
            ordinary.push(entry);
        }
    }
    assert_eq!((all.hash(), all.entries()), (ordinary.hash(), 2));
}

/// A fold of all entries is the state, and gives the same hash however it is obtained.
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

/// Many writers on few keys: each append that was acknowledged is there once, in an order that respects expectations.
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

/// One subscriber that reads after each of many appends, with one that reads only now and then.
async fn watched(log: &impl EventLog, appends: u64) -> (Vec<Message>, Vec<Message>) {
    let (mut quick, mut slow) = (Vec::new(), Vec::new());
    let mut first = log.subscribe(Revision(0), None).expect("retained");
    let mut second = log.subscribe(Revision(0), None).expect("retained");
    let mut at = done(log, put("a", 0)).await;
    for number in 0..appends {
        at = done(log, update("a", at, number)).await;
        while let Some(Some(message)) = first.messages.next().now_or_never() {
            quick.push(message);
        }
        if number % 7 == 0 {
            slow.extend(second.messages.next().now_or_never().flatten());
        }
    }
    quick.extend(drain(&mut first).await);
    slow.extend(drain(&mut second).await);
    (quick, slow)
}

/// A position never comes before an entry that it covers. etcd: "Watch progress notification not synced with stream"
/// (#15220).
pub async fn a_position_is_in_step_with_the_entries(log: &impl EventLog) {
    let (quick, slow) = watched(log, 100).await;
    for messages in [quick, slow] {
        let mut last = Revision(0);
        let mut position = Revision(0);
        for message in messages {
            match message {
                Message::Entry(entry) => {
                    assert!(entry.revision > position, "{} was said to be delivered", entry.revision);
                    last = entry.revision;
                }
                Message::Position(at) => {
                    assert!(at >= last, "{at} after {last}");
                    position = at;
                }
            }
        }
        assert_eq!(position, log.head());
    }
}

/// What is delivered after a cut goes on where it stopped, with later entries. etcd: "Watch traveling back in time after
/// network partition" (#15271).
pub async fn a_resumed_subscription_does_not_travel_back_in_time(log: &impl EventLog) {
    history(log).await;
    let mut validator = WatchValidator::new(Revision(0), None);
    for cut in [3, 100, 1, 0, 7] {
        let mut subscription = log.subscribe(validator.position(), None).expect("retained");
        for message in drain(&mut subscription).await.iter().take(cut) {
            validator.push(message).expect("later entries only");
        }
        drop(subscription);
        done(log, put(&format!("new-{cut}"), 1)).await;
    }
    validator.finish(log).await.expect("retained").expect("no gap");
}

/// An append that is repeated is delivered once. etcd: "Duplicated watch event due to bug in TXN caching" (#17247).
pub async fn no_entry_is_delivered_twice(log: &impl EventLog) {
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    let append = put("a", 1);
    for _ in 0..3 {
        done(log, append.clone()).await;
    }
    log.append(put("a", 2)).await.expect_err("it exists");
    assert_eq!(revisions(&drain(&mut subscription).await), [1]);
}

/// A reader that falls behind gets everything, or is cut and can resume. etcd: "Watch events lost during stream
/// starvation" (#17529).
pub async fn no_entry_is_lost_by_a_slow_reader(log: &impl EventLog) {
    let mut starving = log.subscribe(Revision(0), None).expect("retained");
    let (_, slow) = watched(log, 2000).await;
    assert_eq!(revisions(&slow), (1..=log.head().0).collect::<Vec<_>>());
    let mut validator = WatchValidator::new(Revision(0), None);
    while validator.position() < log.head() {
        for message in drain(&mut starving).await {
            validator.push(&message).expect("a subscription without fault");
        }
        starving = log.subscribe(validator.position(), None).expect("retained");
    }
    validator.finish(log).await.expect("retained").expect("no gap");
}

/// Compacting up to a deletion takes nothing from a subscriber that has not read it yet: it gets the entry, or is cut
/// before it. etcd: "Watch dropping an event when compacting on delete" (#18089).
pub async fn compacting_at_a_deletion_drops_no_entry_on_its_way(log: &impl EventLog) {
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    let created = done(log, put("a", 1)).await;
    let deleted = done(log, delete("a", created, 1)).await;
    log.compact(deleted).await.expect("not in the future");
    done(log, put("b", 1)).await;
    let seen = revisions(&drain(&mut subscription).await);
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>(), "no gap");
    let mut after = log.subscribe(deleted, None).expect("retained");
    assert_eq!(revisions(&drain(&mut after).await), [3]);
}

/// etcd: "Missing delete event on watch opened on same revision as compaction" (#19179).
pub async fn a_subscription_that_starts_at_a_compaction_gets_the_deletion_after_it(log: &impl EventLog) {
    let created = done(log, put("a", 1)).await;
    let deleted = done(log, delete("a", created, 1)).await;
    log.compact(created).await.expect("not in the future");
    let mut subscription = log.subscribe(created, None).expect("retained");
    let told = entries(&drain(&mut subscription).await);
    assert_eq!(told.iter().map(|entry| (entry.revision, entry.verb)).collect::<Vec<_>>(), [(deleted, Verb::Delete)]);
    assert_eq!(told[0].previous, Some((created, sections("a", 1))));
}

/// Nothing old is delivered under a revision that does not exist yet. etcd: "Watch on future revision returns old events
/// or notifications" (#20221).
pub async fn a_subscription_to_the_future_is_refused(log: &impl EventLog) {
    let head = done(log, put("a", 1)).await;
    for ahead in [1, 2, 1000] {
        let refused = log.subscribe(Revision(head.0 + ahead), None).err();
        assert_eq!(refused, Some(ReadError::Future(head)));
    }
}
