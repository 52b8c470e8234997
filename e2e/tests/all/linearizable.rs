// SPDX-License-Identifier: Apache-2.0
//! Linearizability of a landscape with three gardener-apiservers, in both forms.
//!
//! Clients create, read, list, change and delete a few objects. A watch records the writes; their revisions are their order.
//! A history is linearizable if each operation has a position in this order such that
//!
//! - an operation that ended before another one began is not behind it;
//! - its answer is true there: a write is at its own revision, a read and a list show the state of their position, a refusal
//!   has its reason (no object, an object, another revision than the named one).
//!
//! [`violations`] gives every operation the first position that is possible, and compares it with the writes that began after
//! the operation had ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clock::Random;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::Transport;
use process::transport::full;
use serde_json::{Value, json};
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{administrator, campaign, sandbox, send, until_pods};

/// Operations of a history, unless `TERRARIUM_TEST_OPERATIONS` has another number.
const OPERATIONS: u64 = 2_000;
/// Concurrent clients.
const CLIENTS: u64 = 12;
/// Objects that the clients share.
const OBJECTS: u64 = 5;

/// A kind of gardener-apiserver that no controller writes.
const COLLECTION: &str = "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/default/internalsecrets";
/// Label that has an object's value, which no other write uses.
const LABEL: &str = "value";
/// Name of the object that ends the watch.
const LAST: &str = "last";

/// State of an object: uid, revision and value.
type State = (String, u64, String);

/// Answer of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// The object was created or changed.
    Written(State),
    /// The object with this uid was deleted.
    Deleted(String),
    /// A read found the object.
    Read(State),
    /// A list as of a revision.
    Listed(u64, BTreeMap<String, State>),
    /// A read, change or deletion found no object.
    Absent,
    /// A creation found an object.
    Present,
    /// A change found another revision than this one.
    Conflict(u64),
}

/// An operation; `began` and `ended` are its places in the order of all beginnings and ends.
#[derive(Clone, Debug)]
struct Operation {
    began: u64,
    ended: u64,
    /// Name of the object; empty for a list.
    object: String,
    answer: Answer,
}

/// States of the objects, by name and by the revision that begins them; `None`: no object.
#[derive(Debug, Default)]
struct States {
    objects: BTreeMap<String, BTreeMap<u64, Option<State>>>,
    /// Revisions of deletions, by uid.
    deletions: BTreeMap<String, u64>,
}

impl States {
    /// Adds an event of a watch.
    fn add(&mut self, event: &Value) {
        let (name, state) = state(&event["object"]);
        let revision = state.1;
        let is_deleted = event["type"] == "DELETED";
        if is_deleted {
            let earlier = self.deletions.insert(state.0.clone(), revision);
            assert_eq!(earlier, None, "two objects have the same UID: {event}");
        }
        self.objects.entry(name).or_default().insert(revision, (!is_deleted).then_some(state));
    }

    /// State of an object at a position.
    fn at(&self, object: &str, position: u64) -> Option<&State> {
        self.objects.get(object)?.range(..=position).next_back()?.1.as_ref()
    }

    /// First position from `bound` on at which the state of an object fulfils a condition.
    fn first(&self, object: &str, bound: u64, fulfils: impl Fn(Option<&State>) -> bool) -> Option<u64> {
        if fulfils(self.at(object, bound)) {
            return Some(bound);
        }
        let mut later = self.objects.get(object)?.range(bound + 1..);
        later.find(|(_, state)| fulfils(state.as_ref())).map(|(revision, _)| *revision)
    }

    /// All objects at a position.
    fn all(&self, position: u64) -> BTreeMap<String, State> {
        let at = |name: &String| Some((name.clone(), self.at(name, position)?.clone()));
        self.objects.keys().filter_map(at).collect()
    }

    /// States of an object, or of all if the name is empty, that begin near a revision.
    fn near(&self, object: &str, revision: u64) -> Vec<(u64, String, Option<State>)> {
        let named = self.objects.iter().filter(|(name, _)| object.is_empty() || *name == object);
        let near = named.flat_map(|(name, states)| {
            let range = states.range(revision.saturating_sub(20)..revision + 20);
            range.map(|(revision, state)| (*revision, name.clone(), state.clone()))
        });
        near.collect()
    }

    /// First position at or after `bound` at which an answer is true.
    fn position(&self, Operation { object, answer, .. }: &Operation, bound: u64) -> Option<u64> {
        match answer {
            Answer::Written(state) => {
                let is_so = self.objects.get(object)?.get(&state.1)?.as_ref() == Some(state);
                Some(state.1).filter(|revision| is_so && *revision > bound)
            }
            Answer::Deleted(uid) => self.deletions.get(uid).copied().filter(|revision| *revision > bound),
            Answer::Read(state) => {
                let at = bound.max(state.1);
                (self.at(object, at) == Some(state)).then_some(at)
            }
            // Revisions of other collections may lie between the list's and the bound.
            Answer::Listed(revision, objects) => {
                let at = bound.max(*revision);
                (self.all(*revision) == *objects && self.all(at) == *objects).then_some(at)
            }
            Answer::Absent => self.first(object, bound, |state| state.is_none()),
            Answer::Present => self.first(object, bound, |state| state.is_some()),
            Answer::Conflict(named) => {
                self.first(object, bound, |state| state.is_some_and(|(_, revision, _)| revision != named))
            }
        }
    }
}

/// An operation for which no position is possible.
#[derive(Debug)]
#[expect(dead_code, reason = "the message of a failed test shows them")]
struct Violation {
    operation: Operation,
    /// First position that operations before it leave.
    from: u64,
    /// First revision of the writes after it.
    next_write: u64,
    /// States of its object, or of all, from some revisions before `from` on.
    states: Vec<(u64, String, Option<State>)>,
}

/// Returns the operations for which no position is possible.
fn violations(mut operations: Vec<Operation>, states: &States) -> Vec<Violation> {
    operations.sort_by_key(|operation| operation.began);
    let later = first_later_writes(&operations, states);
    // Ends and positions of the operations that have one, by their ends.
    let mut ended: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut bound, mut violations) = (0, Vec::new());
    for operation in operations {
        let pending = ended.split_off(&operation.began);
        bound = ended.into_values().fold(bound, u64::max);
        ended = pending;
        let next_write = later.range(operation.ended..).next().map_or(u64::MAX, |(_, revision)| *revision);
        match states.position(&operation, bound).filter(|position| *position < next_write) {
            Some(position) => {
                ended.insert(operation.ended, position);
            }
            None => {
                let states = states.near(&operation.object, bound);
                violations.push(Violation { operation, from: bound, next_write, states });
            }
        }
    }
    violations
}

/// Returns the first revision of all writes that began at or after the beginning of each write, by that beginning.
fn first_later_writes(operations: &[Operation], states: &States) -> BTreeMap<u64, u64> {
    let (mut first, mut later) = (u64::MAX, BTreeMap::new());
    for operation in operations.iter().rev() {
        let revision = match &operation.answer {
            Answer::Written(state) => Some(state.1),
            Answer::Deleted(uid) => states.deletions.get(uid).copied(),
            _ => None,
        };
        if let Some(revision) = revision {
            first = first.min(revision);
            later.insert(operation.began, first);
        }
    }
    later
}

/// Name and state of an object as the API returns it.
fn state(object: &Value) -> (String, State) {
    let meta = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{object}")).to_owned();
    let value = meta["labels"][LABEL].as_str().unwrap_or_default().to_owned();
    (text(&meta["name"]), (text(&meta["uid"]), revision(object), value))
}

fn revision(object: &Value) -> u64 {
    let revision = object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
    revision.unwrap_or_else(|| panic!("{object} has no revision"))
}

fn manifest(name: &str, value: &str, revision: Option<u64>) -> Value {
    let mut object = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "InternalSecret",
        "metadata": { "name": name, "labels": { LABEL: value } },
    });
    if let Some(revision) = revision {
        object["metadata"]["resourceVersion"] = revision.to_string().into();
    }
    object
}

/// A client, which sends one operation after the other.
struct Client {
    number: u64,
    transport: Transport,
    /// Beginnings and ends so far, of all clients.
    order: Arc<AtomicU64>,
    random: Random,
    /// Latest revision of each object that the client has seen.
    seen: BTreeMap<String, u64>,
}

impl Client {
    /// Sends operations, and returns them.
    async fn run(mut self, count: u64) -> Vec<Operation> {
        let mut operations = Vec::new();
        for number in 0..count {
            operations.push(self.operate(number).await);
        }
        operations
    }

    async fn operate(&mut self, number: u64) -> Operation {
        let draw = |bound, purpose| self.random.below(bound, purpose, &self.number.to_string(), number);
        let object = format!("object-{}", draw(OBJECTS, "object"));
        let value = format!("{}-{number}", self.number);
        let path = format!("{COLLECTION}/{object}");
        let known = self.seen.get(&object).copied();
        let patch = || json!({ "metadata": { "labels": { LABEL: value } } });
        let (method, path, body) = match (draw(12, "operation"), known) {
            (0..=3, _) => (Method::GET, path, Value::Null),
            (4 | 5, _) => (Method::GET, COLLECTION.to_owned(), Value::Null),
            (6, _) => (Method::DELETE, path, Value::Null),
            (7, _) => (Method::PATCH, path, patch()),
            (8 | 9, Some(revision)) => (Method::PUT, path, manifest(&object, &value, Some(revision))),
            _ => (Method::POST, COLLECTION.to_owned(), manifest(&object, &value, None)),
        };
        let is_list = method == Method::GET && path == COLLECTION;
        let began = self.order.fetch_add(1, Ordering::SeqCst);
        let answer = send(&self.transport, method.clone(), &path, body).await;
        let ended = self.order.fetch_add(1, Ordering::SeqCst);
        let (status, body) = answer.unwrap_or_else(|| panic!("{method} {path} got no answer"));
        let answer = match (status, body["reason"].as_str()) {
            (StatusCode::OK, _) if is_list => {
                let items = body["items"].as_array().expect("items");
                Answer::Listed(revision(&body), items.iter().map(state).collect())
            }
            (StatusCode::OK | StatusCode::CREATED, _) if method == Method::DELETE => {
                Answer::Deleted(body["details"]["uid"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned())
            }
            (StatusCode::OK | StatusCode::CREATED, _) => {
                let (name, state) = state(&body);
                assert_eq!(name, object, "{method} {path}");
                self.seen.insert(name, state.1);
                if method == Method::GET { Answer::Read(state) } else { Answer::Written(state) }
            }
            (StatusCode::NOT_FOUND, Some("NotFound")) => Answer::Absent,
            (StatusCode::CONFLICT, Some("AlreadyExists")) => Answer::Present,
            (StatusCode::CONFLICT, Some("Conflict")) => Answer::Conflict(known.expect("it was named")),
            _ => panic!("{method} {path}: {status} {body}"),
        };
        Operation { began, ended, object: if is_list { String::new() } else { object }, answer }
    }
}

/// Records the writes from a revision on, up to the creation of [`LAST`].
async fn record(transport: Transport, version: u64) -> States {
    let path = format!("{COLLECTION}?watch=true&resourceVersion={version}");
    let response = transport.send(http::Request::get(path).body(full("")).expect("a request")).await;
    let (mut body, mut rest, mut states) = (response.expect("a watch").into_body(), Vec::new(), States::default());
    while let Some(frame) = body.frame().await {
        let frame = frame.expect("the watch continues");
        rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).expect("a watch's line is JSON");
            if event["object"]["metadata"]["name"] == LAST {
                return states;
            }
            states.add(&event);
        }
    }
    panic!("the watch ended before the history")
}

fn histories_are_linearizable(sandbox: &Sandbox) {
    let _campaign = campaign();
    let variable = std::env::var_os("TERRARIUM_TEST_OPERATIONS");
    let operations: u64 = variable.and_then(|text| text.to_str()?.parse().ok()).unwrap_or(OPERATIONS);
    sandbox.terrarium(&["up"]);
    let scale = ["-n", "garden", "scale", "deployment", "gardener-apiserver", "--replicas", "3"];
    sandbox.kubectl(Kubectl::Newest, "runtime", &scale);
    until_pods(sandbox, "app=gardener,role=gardener-apiserver", |pods| {
        let is_ready = |pod: &&Value| pod["status"]["containerStatuses"][0]["ready"] == true;
        pods.iter().filter(is_ready).count() == 3
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let (history, states) = runtime.expect("a runtime").block_on(async {
        let transport = administrator(sandbox);
        let (status, list) = send(&transport, Method::GET, COLLECTION, Value::Null).await.expect("an answer");
        assert_eq!((status, &list["items"]), (StatusCode::OK, &json!([])), "{list}");
        let recorded = record(administrator(sandbox), revision(&list));
        let order = Arc::new(AtomicU64::new(1));
        let clients = (0..CLIENTS).map(|number| {
            let (transport, order) = (administrator(sandbox), order.clone());
            let client = Client { number, transport, order, random: Random::new(3), seen: BTreeMap::new() };
            client.run(operations.div_ceil(CLIENTS))
        });
        let work = async {
            let histories = futures::future::join_all(clients).await;
            let last = send(&transport, Method::POST, COLLECTION, manifest(LAST, "", None)).await.expect("an answer");
            assert_eq!(last.0, StatusCode::CREATED, "{}", last.1);
            histories.into_iter().flatten().collect::<Vec<Operation>>()
        };
        futures::join!(work, recorded)
    });
    let kinds = history.iter().fold(BTreeMap::<String, u64>::new(), |mut kinds, operation| {
        let text = format!("{:?}", operation.answer);
        *kinds.entry(text.split('(').next().unwrap_or_default().to_owned()).or_default() += 1;
        kinds
    });
    assert_eq!(kinds.len(), 7, "each kind of answer was given: {kinds:?}");
    let writes: usize = states.objects.values().map(BTreeMap::len).sum();
    assert_eq!(writes as u64, kinds["Written"] + kinds["Deleted"], "the watch has each write once: {kinds:?}");
    let violations = violations(history, &states);
    assert!(
        violations.is_empty(),
        "{} violations, the first ones: {:#?}",
        violations.len(),
        &violations[..3.min(violations.len())]
    );
}

#[test]
fn histories_of_processes_are_linearizable() {
    histories_are_linearizable(&sandbox("linearizable-processes").with_components("processes"));
}

#[test]
fn histories_of_one_process_are_linearizable() {
    histories_are_linearizable(&sandbox("linearizable-inside").with_components("inside"));
}

#[test]
fn answers_that_no_order_explains_are_violations() {
    let state = |uid: &str, revision: u64, value: &str| (uid.to_owned(), revision, value.to_owned());
    let mut states = States::default();
    for (type_, uid, revision, value) in
        [("ADDED", "a", 10, "1"), ("MODIFIED", "a", 20, "2"), ("DELETED", "a", 30, "2"), ("ADDED", "b", 40, "3")]
    {
        let revision = u64::to_string(&revision);
        let metadata = json!({ "name": "x", "uid": uid, "resourceVersion": revision, "labels": { LABEL: value } });
        states.add(&json!({ "type": type_, "object": { "metadata": metadata } }));
    }
    let first = || Answer::Written(state("a", 10, "1"));
    let second = || Answer::Written(state("a", 20, "2"));
    let list = |revision: u64, states: &[State]| {
        Answer::Listed(revision, states.iter().map(|state| ("x".to_owned(), state.clone())).collect())
    };
    // Operations as (began, ended, answer), and how many of them are violations.
    let cases = [
        // One after the other.
        (vec![(1, 2, first()), (3, 4, Answer::Read(state("a", 10, "1"))), (5, 6, second())], 0),
        // A read during a change may show either state.
        (
            vec![
                (1, 9, second()),
                (2, 3, Answer::Read(state("a", 10, "1"))),
                (4, 5, Answer::Read(state("a", 20, "2"))),
            ],
            0,
        ),
        // Two reads during it go back.
        (
            vec![
                (1, 9, second()),
                (2, 3, Answer::Read(state("a", 20, "2"))),
                (4, 5, Answer::Read(state("a", 10, "1"))),
            ],
            1,
        ),
        // A read after a change does not show it.
        (vec![(1, 2, second()), (3, 4, Answer::Read(state("a", 10, "1")))], 1),
        // A read shows a change before it began.
        (vec![(1, 2, Answer::Read(state("a", 20, "2"))), (3, 4, second())], 1),
        // A value that was never written, a change that the watch does not have.
        (vec![(1, 2, Answer::Read(state("a", 20, "9")))], 1),
        (vec![(1, 2, Answer::Written(state("a", 15, "9")))], 1),
        // Lists: between revisions, stale, of a mixed state.
        (vec![(1, 2, second()), (3, 4, list(25, &[state("a", 20, "2")]))], 0),
        (vec![(1, 2, second()), (3, 4, list(15, &[state("a", 10, "1")]))], 1),
        (vec![(1, 2, list(35, &[state("a", 20, "2")]))], 1),
        // Refusals have their reason somewhere in their time.
        (vec![(1, 2, second()), (3, 9, Answer::Absent), (4, 5, Answer::Deleted("a".to_owned()))], 0),
        (vec![(1, 2, Answer::Written(state("b", 40, "3"))), (3, 4, Answer::Absent)], 1),
        (
            vec![
                (1, 2, Answer::Deleted("a".to_owned())),
                (3, 4, Answer::Present),
                (5, 6, Answer::Written(state("b", 40, "3"))),
            ],
            1,
        ),
        (vec![(1, 2, first()), (3, 4, Answer::Conflict(10)), (5, 6, second())], 1),
        (vec![(1, 2, second()), (3, 4, Answer::Conflict(10)), (5, 6, Answer::Deleted("a".to_owned()))], 0),
        // An answer that becomes true only after the operation has ended.
        (vec![(1, 2, second()), (3, 4, Answer::Absent), (5, 6, Answer::Deleted("a".to_owned()))], 1),
        // A deletion of an object that is not deleted.
        (vec![(1, 2, Answer::Deleted("b".to_owned()))], 1),
    ];
    for (operations, expected) in cases {
        let operation = |(began, ended, answer)| Operation { began, ended, object: "x".to_owned(), answer };
        let history: Vec<Operation> = operations.into_iter().map(operation).collect();
        assert_eq!(violations(history.clone(), &states).len(), expected, "{history:#?}");
    }
}
