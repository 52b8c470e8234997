// SPDX-License-Identifier: Apache-2.0
//! The objects of the suite, appends of them, and reading of subscriptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::{FutureExt, StreamExt};

use crate::entry::{Actor, Entry, Key, Revision, Sections, Verb};
use crate::log::{Append, EventLog, Expect, Guard, Message, Subscription};

static SEQUENCE: AtomicU64 = AtomicU64::new(0);

pub(super) fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_690_488_000, 0).expect("in range")
}

/// Sections of an object with this status; the rest has several hundred bytes that stay the same.
pub(super) fn sections(name: &str, status: u64) -> Sections {
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

pub(super) fn append(name: &str, expect: Expect, verb: Verb, object: Sections) -> Append {
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

pub(super) fn heartbeat(name: &str, at: Revision, status: u64) -> Append {
    Append { volatile: true, ..update(name, at, status) }
}

pub(super) fn in_cluster(cluster: &str, append: Append) -> Append {
    Append { key: Key { cluster: cluster.into(), ..append.key }, ..append }
}

pub(super) fn guarded(append: Append, guard: Guard) -> Append {
    Append { guards: vec![guard], ..append }
}

pub(super) async fn done(log: &impl EventLog, append: Append) -> Revision {
    log.append(append).await.expect("an append that holds").revision
}

/// Returns all messages that a subscription has at present.
pub(super) async fn drain(subscription: &mut Subscription) -> Vec<Message> {
    let mut messages = Vec::new();
    // Logs with threads of their own need some yields to the runtime.
    for _ in 0..64 {
        while let Some(Some(message)) = subscription.messages.next().now_or_never() {
            messages.push(message);
        }
        tokio::task::yield_now().await;
    }
    messages
}

pub(super) fn entries(messages: &[Message]) -> Vec<Arc<Entry>> {
    let entry = |message: &Message| match message {
        Message::Entry(entry) => Some(entry.clone()),
        Message::Position(_) => None,
    };
    messages.iter().filter_map(entry).collect()
}

pub(super) fn revisions(messages: &[Message]) -> Vec<u64> {
    entries(messages).iter().map(|entry| entry.revision.0).collect()
}

/// A history with creations, changes, deletions and another creation of the same key, in three clusters.
pub(super) async fn history(log: &impl EventLog) {
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
