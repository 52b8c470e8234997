// SPDX-License-Identifier: Apache-2.0
//! Requirements on subscriptions.

use futures::{FutureExt, StreamExt};

use super::things::{
    delete, done, drain, entries, heartbeat, history, in_cluster, put, revisions, sections, update, update_status,
};
use crate::entry::{Revision, Verb};
use crate::log::{AppendError, EventLog, Message, ReadError};
use crate::replay::Replay;
use crate::validator::WatchValidator;

/// Every later change is delivered once, in order, and nothing at or below the revision; future revisions are
/// refused.
pub async fn a_subscription_starts_after_its_revision(log: &impl EventLog) {
    let first = done(log, put("a", 1)).await;
    done(log, put("b", 1)).await;
    let mut subscription = log.subscribe(first, None).expect("retained");
    done(log, update("a", first, 2)).await;
    assert_eq!(revisions(&drain(&mut subscription).await), [2, 3]);
    assert_eq!(log.subscribe(Revision(4), None).err(), Some(ReadError::Future(Revision(3))));
}

/// The position is delivered after each commit, even if the entry does not match, and without a backlog.
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

/// A subscription can start at every position, without gap or duplicate.
pub async fn a_subscription_can_be_resumed_anywhere(log: &impl EventLog) {
    history(log).await;
    for cluster in [None, Some("seed")] {
        for from in (0..log.head().0).step_by(37) {
            let mut validator = WatchValidator::new(Revision(from), cluster);
            while validator.position() < log.head() {
                let mut subscription = log.subscribe(validator.position(), cluster).expect("retained");
                // A third of the backlog, then the cut.
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

/// Heartbeats get a revision and are delivered, but do not change the canonical log.
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

/// One subscriber that reads after each of many appends, and one that reads rarely.
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

/// A position is never delivered before an entry that it covers. etcd: "Watch progress notification not synced with
/// stream" (#15220).
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

/// A subscription that is resumed after a cut continues where it stopped, with later entries. etcd: "Watch traveling
/// back in time after network partition" (#15271).
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

/// Compacting up to a deletion removes nothing from a subscriber that has not read it yet: it gets the entry, or is
/// cut before it. etcd: "Watch dropping an event when compacting on delete" (#18089).
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
pub async fn a_subscription_from_a_compaction_gets_later_deletions(log: &impl EventLog) {
    let created = done(log, put("a", 1)).await;
    let deleted = done(log, delete("a", created, 1)).await;
    log.compact(created).await.expect("not in the future");
    let mut subscription = log.subscribe(created, None).expect("retained");
    let told = entries(&drain(&mut subscription).await);
    assert_eq!(told.iter().map(|entry| (entry.revision, entry.verb)).collect::<Vec<_>>(), [(deleted, Verb::Delete)]);
    assert_eq!(told[0].previous, Some((created, sections("a", 1))));
}

/// No old entry is delivered under a revision that does not exist yet. etcd: "Watch on future revision returns old
/// events or notifications" (#20221).
pub async fn a_subscription_to_the_future_is_refused(log: &impl EventLog) {
    let head = done(log, put("a", 1)).await;
    for ahead in [1, 2, 1000] {
        let refused = log.subscribe(Revision(head.0 + ahead), None).err();
        assert_eq!(refused, Some(ReadError::Future(head)));
    }
}
