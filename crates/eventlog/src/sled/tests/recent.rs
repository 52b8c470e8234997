// SPDX-License-Identifier: Apache-2.0
//! The last entries, which are in memory.

use futures::StreamExt;

use super::restart::{close, done, fill, heartbeat, open};
use super::*;
use crate::conformance::{delete, put, update_status};
use crate::log::Message;
use crate::{Replay, Revision};

/// Followers that are slightly behind the head need nothing of sled, which is opened after the start.
#[test]
fn followers_of_a_start_do_not_wait_for_sled() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 20);
    close(log);
    store::released(&directory.join(STORE)).expect("nobody's");
    let held = fs::File::open(directory.join("store/db")).expect("sled's file");
    held.lock().expect("locked");
    let log = open(&directory);
    let start = log.head();
    let mut states = vec![(start, block_on(log.state_at(start)).expect("the head"))];
    let mut at = block_on(done(&log, put("new", 0)));
    for number in 0..20 {
        let beat = if number % 2 == 0 { heartbeat("new", at, number) } else { update_status("new", at, number) };
        at = block_on(done(&log, beat));
        states.push((at, block_on(log.state_at(at)).expect("the head")));
    }
    let deleted = block_on(log.state_at(start)).expect("retained")[0].clone();
    block_on(done(&log, delete(&deleted.0.name, deleted.1, 1)));
    let head = log.head();
    states.push((head, block_on(log.state_at(head)).expect("the head")));
    for (revision, state) in &states {
        assert_eq!(block_on(log.state_at(*revision)).as_ref(), Ok(state), "at {revision}");
    }
    let mut messages = log.subscribe(start, None).expect("retained").messages;
    let mut told = Vec::new();
    while told.last().is_none_or(|entry: &Arc<Entry>| entry.revision < head) {
        if let Some(Message::Entry(entry)) = block_on(messages.next()) {
            told.push(entry);
        }
    }
    assert_eq!(told.len(), 22);
    let mut replay = Replay::starting_at(states[0].1.clone());
    for entry in &told {
        replay.push(entry);
    }
    assert_eq!(replay.difference(&states[states.len() - 1].1), None);
    drop(held);
    // The store returns the same retained entries: heartbeats that were followed by others are not history.
    let kept = block_on(log.read(start, head, None)).expect("retained");
    let revisions: Vec<Revision> = kept.iter().map(|entry| entry.revision).collect();
    let expected: Vec<Revision> = told.iter().filter(|entry| !entry.volatile).map(|entry| entry.revision).collect();
    assert_eq!(revisions, expected);
    close(log);
}
