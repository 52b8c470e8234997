// SPDX-License-Identifier: Apache-2.0
//! Histories of clients of two instances on one log, recorded while other tasks run between a decision, its entry and
//! its response, and compared with the log.
//!
//! The log defines the only order of changes of an object. A history is correct if each response was true at some
//! moment between request and response, in an order in which an earlier response precedes later requests.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use eventlog::Verb;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::{Draws, Garden, run, shoot};

const SECRETS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/internalsecrets";
const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";
const CLIENTS: usize = 6;
const REQUESTS: usize = 14;
const HISTORIES: u64 = 40;

/// Request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Create,
    /// Replaces the object at the revision that the client received last.
    Replace(u64),
    /// Adds a key, at any revision.
    Patch,
    Delete,
    Read,
}

/// A request and its response.
#[derive(Debug)]
struct Exchange {
    object: &'static str,
    request: Request,
    code: u16,
    /// Revision in the response; for a deletion that of the deleted object.
    revision: u64,
    /// Numbers of request and response in one sequence.
    sent: u64,
    answered: u64,
    /// The log's head at the response.
    head: u64,
}

/// State of an object from an entry on: its revision, `None` while there is none.
type States = Vec<(u64, Option<u64>)>;

/// Clients of two instances, each with its own random numbers.
struct Recorder {
    instances: [Garden; 2],
    count: Cell<u64>,
    history: RefCell<Vec<Exchange>>,
}

impl Recorder {
    fn tick(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    async fn client(&self, number: usize, seed: u64) {
        let mut draws = Draws::new(seed * 100 + number as u64);
        let mut seen: BTreeMap<&str, Value> = BTreeMap::new();
        for turn in 0..REQUESTS {
            let instance = &self.instances[usize::from(draws.below(2) == 1)];
            let object = ["a", "b"][usize::from(draws.below(2) == 1)];
            let path = format!("{SECRETS}/{object}");
            let key = format!("client-{number}-{turn}");
            let sent = self.tick();
            let (request, answer) = match draws.below(8) {
                0 | 1 => {
                    let secret = json!({
                        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret",
                        "metadata": { "name": object, "namespace": "garden-demo" }, "stringData": { key: "x" },
                    });
                    (Request::Create, instance.post(&secret).await)
                }
                2 | 3 if seen.contains_key(object) => {
                    let mut secret = seen[object].clone();
                    secret["stringData"] = json!({ key: "x" });
                    (Request::Replace(revision(&secret)), instance.put(&secret).await)
                }
                4 | 5 => (Request::Patch, instance.merge(&path, &json!({ "stringData": { key: "x" } })).await),
                6 => (Request::Delete, instance.delete(&path).await),
                _ => (Request::Read, instance.send("GET", &path, "application/json", &Value::Null).await),
            };
            if answer.code < 300 && request != Request::Delete {
                seen.insert(object, answer.body.clone());
            }
            self.history.borrow_mut().push(Exchange {
                object,
                request,
                code: answer.code,
                revision: revision(&answer.body),
                sent,
                answered: self.tick(),
                head: instance.head().0,
            });
        }
    }
}

fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// True if a response agrees with a state; `before` is the state before it.
fn is_true(exchange: &Exchange, before: Option<(u64, Option<u64>)>, state: (u64, Option<u64>)) -> bool {
    let (entry, present) = state;
    match (exchange.request, exchange.code) {
        (Request::Read, 200) => present == Some(exchange.revision),
        (Request::Read | Request::Patch | Request::Delete | Request::Replace(_), 404) => present.is_none(),
        (Request::Create, 409) => present.is_some(),
        (Request::Replace(expected), 409) => present != Some(expected),
        // A write is its own entry.
        (Request::Create, 201) => entry == exchange.revision && before.is_some_and(|(_, before)| before.is_none()),
        (Request::Replace(expected), 200) => {
            entry == exchange.revision && before.is_some_and(|(_, before)| before == Some(expected))
        }
        (Request::Patch, 200) => entry == exchange.revision && before.is_some_and(|(_, before)| before.is_some()),
        (Request::Delete, 200) => present.is_none() && before.is_some_and(|(_, before)| before.is_some()),
        other => panic!("{other:?} is no answer that was expected: {exchange:?}"),
    }
}

/// Finds for each response the first state with which it agrees, and which is not before a state that an earlier response showed.
fn check(states: &States, exchanges: &[&Exchange]) {
    let mut told: Vec<(u64, usize)> = Vec::new();
    for exchange in exchanges {
        let first = told.iter().filter(|(answered, _)| *answered < exchange.sent).map(|(_, at)| *at).max().unwrap_or(0);
        let found = (first..states.len())
            .take_while(|at| states[*at].0 <= exchange.head)
            .find(|at| is_true(exchange, at.checked_sub(1).map(|before| states[before]), states[*at]));
        let at = found.unwrap_or_else(|| panic!("never true: {exchange:?}\n{states:?}\n{exchanges:#?}"));
        told.push((exchange.answered, at));
    }
}

async fn record(seed: u64) {
    let garden = Garden::with_demo_objects().await;
    let other = garden.another_demo_instance();
    garden.delay_appends(seed);
    let recorder = Recorder { instances: [garden, other], count: Cell::new(0), history: RefCell::default() };
    join_all((0..CLIENTS).map(|number| recorder.client(number, seed))).await;

    let entries = recorder.instances[0].entries().await;
    let mut history = recorder.history.into_inner();
    history.sort_by_key(|exchange| exchange.answered);
    for object in ["a", "b"] {
        let own = entries
            .iter()
            .filter(|entry| &*entry.key.name == object && entry.key.resource.ends_with("/internalsecrets"));
        let mut states: States = vec![(0, None)];
        let mut keys: Vec<String> = Vec::new();
        for entry in own {
            let rest: Value = serde_json::from_slice(
                &[b"{", entry.object.parts[3].strip_prefix(b",").unwrap_or_default(), b"}"].concat(),
            )
            .expect("JSON");
            let new: Vec<String> = rest["data"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
            if entry.verb == Verb::Update {
                assert!(keys.iter().all(|key| new.contains(key)), "an update is lost: {keys:?} {new:?}");
            }
            keys = if entry.verb == Verb::Delete { Vec::new() } else { new };
            states.push((entry.revision.0, (entry.verb != Verb::Delete).then_some(entry.revision.0)));
        }
        let exchanges: Vec<&Exchange> = history.iter().filter(|exchange| exchange.object == object).collect();
        assert!(states.len() > 3 && exchanges.len() > 10, "there is something to check");
        check(&states, &exchanges);
    }
}

#[test]
#[should_panic(expected = "never true")]
fn a_response_older_than_an_earlier_one_is_found() {
    let exchange = |request, revision, sent, answered| Exchange {
        object: "a",
        request,
        code: 200,
        revision,
        sent,
        answered,
        head: 7,
    };
    let (write, read) = (exchange(Request::Patch, 7, 1, 2), exchange(Request::Read, 5, 3, 4));
    check(&vec![(0, None), (5, Some(5)), (7, Some(7))], &[&write, &read]);
}

#[test]
fn responses_of_two_instances_fit_one_order() {
    run(async {
        for seed in 1..=HISTORIES {
            record(seed).await;
        }
    });
}

/// A Shoot is created with a version while another instance removes that version from the CloudProfile.
#[test]
fn no_delay_lets_a_shoot_use_a_removed_version() {
    run(async {
        let mut taken = [0; 2];
        for seed in 1..=HISTORIES {
            let garden = Garden::with_demo_objects().await;
            let other = garden.another_demo_instance();
            garden.delay_appends(seed);
            let without =
                json!({"spec": {"kubernetes": {"versions": [{"version": "1.27.1", "classification": "supported"}]}}});
            let new = shoot("local", "1.26.4");
            let (created, removed) = futures::future::join(garden.post(&new), other.merge(PROFILE, &without)).await;
            assert!(
                (created.code < 300) != (removed.code < 300),
                "seed {seed}: the Shoot {} {}, the version {} {}",
                created.code,
                created.body["message"],
                removed.code,
                removed.body["message"]
            );
            taken[usize::from(created.code < 300)] += 1;
        }
        assert!(taken.iter().all(|count| *count > 0), "both come first at times: {taken:?}");
    });
}
