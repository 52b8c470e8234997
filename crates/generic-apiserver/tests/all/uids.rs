// SPDX-License-Identifier: Apache-2.0
//! Uids of objects that are created again, over restarts and compacted history: no two objects have the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use eventlog::observed::Observed;
use eventlog::{Append, EventLog, Expect, MemoryLog, Verb};
use futures::FutureExt;
use serde_json::json;

use crate::support::World;

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";

/// A server over a log, as after a start of its process.
async fn started(log: &MemoryLog) -> World {
    World::on(log.clone(), |builder| builder).await
}

async fn create(world: &World, name: &str) -> String {
    let body = json!({"metadata": {"name": name}, "spec": {"size": 1}});
    let object = world.send("POST", WIDGETS, &body).await.expect_code(201);
    object["metadata"]["uid"].as_str().expect("a uid").to_owned()
}

async fn delete(world: &World, name: &str) {
    world.send("DELETE", &format!("{WIDGETS}/{name}"), &json!(null)).await.expect_code(200);
}

#[tokio::test]
async fn uids_differ_after_history_was_compacted() {
    let log = MemoryLog::new();
    let world = started(&log).await;
    let mut uids = BTreeSet::new();
    create(&world, "stays").await;
    uids.insert(create(&world, "a").await);
    delete(&world, "a").await;
    log.compact(log.head()).await.expect("retained");
    // The deletion was compacted, so a server that starts now has no record of the first object.
    let world = started(&log).await;
    assert!(uids.insert(create(&world, "a").await), "the uid of the first object is not used again");
    delete(&world, "a").await;
    // This deletion was not compacted, and a server that starts now reads it.
    let again = started(&log).await;
    assert!(uids.insert(create(&again, "a").await));
    log.compact(log.head()).await.expect("retained");
    let again = started(&log).await;
    // The object exists at the base.
    delete(&again, "a").await;
    assert!(uids.insert(create(&again, "a").await));
    assert_eq!(uids.len(), 4);
}

/// The uid follows from the log: every server computes the same, whenever it started.
#[tokio::test]
async fn a_uid_does_not_depend_on_when_the_server_started() {
    let mut uids = BTreeSet::new();
    for late in [false, true] {
        let log = MemoryLog::new();
        let world = started(&log).await;
        create(&world, "a").await;
        delete(&world, "a").await;
        log.compact(log.head()).await.expect("retained");
        let mut world = started(&log).await;
        create(&world, "a").await;
        delete(&world, "a").await;
        if late {
            world = started(&log).await;
        }
        uids.insert(create(&world, "a").await);
    }
    assert_eq!(uids.len(), 1, "{uids:?}");
}

/// Another server creates and deletes the object between the decision about a creation and its entry.
#[tokio::test]
async fn uids_differ_despite_an_object_in_between() {
    let log = MemoryLog::new();
    started(&log).await;
    let (other, is_done) = (log.clone(), AtomicBool::new(false));
    let wrapped = Observed::new(Arc::new(log.clone()), move |append: &Append| {
        if &*append.key.name != "a" || is_done.swap(true, Ordering::Relaxed) {
            return;
        }
        let first = Append { guards: Vec::new(), writer: (99, 1), ..append.clone() };
        let created = other.append(first.clone()).now_or_never().expect("at once").expect("it is absent");
        let deletion =
            Append { expect: Expect::Revision(created.revision), verb: Verb::Delete, writer: (99, 2), ..first };
        other.append(deletion).now_or_never().expect("at once").expect("it is there");
    });
    let world = World::over(log.clone(), Arc::new(wrapped), |builder| builder).await;
    create(&world, "a").await;
    let entries = log.read(eventlog::Revision(0), log.head(), None).await.expect("retained");
    let created = entries.iter().filter(|entry| entry.verb == Verb::Create && &*entry.key.name == "a");
    let uids: Vec<String> = created
        .map(|entry| {
            let text = entry.object.parts.concat();
            let object: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
            object["metadata"]["uid"].as_str().expect("a uid").to_owned()
        })
        .collect();
    assert!(uids.len() == 2 && uids[0] != uids[1], "{uids:?}");
}
