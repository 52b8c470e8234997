// SPDX-License-Identifier: Apache-2.0
//! The admission chain: its order, its reads, and the effect of concurrent changes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use apimachinery::{DynamicObject, GroupResource, Object as _, Status};
use eventlog::{Append, EventLog, Expect, Key, MemoryLog, Sections, Verb};
use futures::FutureExt as _;
use generic_apiserver::{Attributes, Authorizer, Operation, Plugin, Reads};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{Widget, World};

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";
const GADGETS: &str = "/clusters/a/apis/custom.example.com/v1alpha1/namespaces/n/gadgets";

/// Records its calls.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    fn note(&self, phase: &str, attributes: &mut Attributes<'_>) {
        let color = attributes.object::<Widget>().map(|widget| widget.spec.color.clone()).unwrap_or_default();
        let old = attributes.old::<Widget>().is_some();
        let (operation, name) = (attributes.operation, attributes.name);
        let subresource = &attributes.request.subresource;
        let line = format!("{phase} {operation:?} {name}/{subresource} {color} old={old}");
        self.0.lock().push(line);
    }
}

impl Plugin for Recorder {
    fn name(&self) -> &'static str {
        "Recorder"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        self.note("admit", attributes);
        if attributes.operation == Operation::Create
            && let Some(widget) = attributes.object::<Widget>()
        {
            "red".clone_into(&mut widget.spec.color);
        }
        Ok(())
    }

    fn validate(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        self.note("validate", attributes);
        Ok(())
    }
}

#[tokio::test]
async fn plugins_see_every_write_in_two_phases() {
    let recorder = Recorder::default();
    let world = World::with(|builder| builder.admission(recorder.clone())).await;
    recorder.0.lock().clear();
    let body = json!({"metadata": {"name": "w"}});
    let created = world.send("POST", WIDGETS, &body).await.expect_code(201);
    assert_eq!(created["spec"]["color"], "red");
    let patch = json!({"status": {"phase": "Ready"}});
    world.patch("merge-patch+json", &format!("{WIDGETS}/w/status"), &patch).await.expect_code(200);
    world.send("DELETE", &format!("{WIDGETS}/w"), &Value::Null).await.expect_code(200);
    let lines = recorder.0.lock().clone();
    assert_eq!(
        lines,
        [
            "admit Create w/ grey old=false",
            "validate Create w/ red old=false",
            "admit Update w/status red old=true",
            "validate Update w/status red old=true",
            "admit Delete w/ red old=true",
            "validate Delete w/ red old=true",
        ]
    );
}

/// Refuses a Widget unless a Gadget of the same name exists, on which the decision depends.
struct NeedsGadget {
    log: MemoryLog,
    /// Number of concurrent changes of the gadget during decisions.
    disturb: AtomicUsize,
    runs: Arc<AtomicUsize>,
    key: OnceLock<Key>,
}

impl Plugin for NeedsGadget {
    fn name(&self) -> &'static str {
        "NeedsGadget"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        if !attributes.is_main::<Widget>() {
            return Ok(());
        }
        self.runs.fetch_add(1, Ordering::Relaxed);
        reads.0.guard_key("custom.example.com", "gadgets", attributes.namespace, attributes.name);
        let gadget = reads.0.get_any("custom.example.com", "gadgets", attributes.namespace, attributes.name);
        let Some(gadget) = gadget.and_then(|gadget| gadget.downcast::<DynamicObject>().ok()) else {
            let resource = GroupResource { group: "example.com".to_owned(), resource: "widgets".to_owned() };
            return Err(Status::forbidden(&resource, attributes.name, "there is no gadget of that name"));
        };
        let left = self.disturb.load(Ordering::Relaxed);
        if left > 0 {
            self.disturb.store(left - 1, Ordering::Relaxed);
            // Appends as another writer of the log would.
            let key = self.key.get_or_init(|| Key::new("a", "custom.example.com/gadgets", "n", attributes.name));
            let encoded = gadget.encode();
            let append = Append {
                key: key.clone(),
                expect: Expect::Revision(eventlog::Revision(
                    gadget.metadata.resource_version.parse().expect("a revision"),
                )),
                guards: Vec::new(),
                verb: Verb::Update,
                object: Sections { parts: encoded.parts().map(Clone::clone) },
                volatile: false,
                actor: Arc::default(),
                time: attributes.request.now,
                writer: (9, left as u64),
            };
            self.log.append(append).now_or_never().expect("at once").expect("a change");
        }
        Ok(())
    }
}

async fn with_gadget(disturb: usize) -> (World, Arc<AtomicUsize>) {
    let log = MemoryLog::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let plugin =
        NeedsGadget { log: log.clone(), disturb: AtomicUsize::new(disturb), runs: runs.clone(), key: OnceLock::new() };
    (World::on(log, |builder| builder.admission(plugin)).await, runs)
}

#[tokio::test]
async fn a_decision_is_repeated_when_its_reads_changed() {
    for (disturb, code, runs) in [(0, 201, 1), (1, 201, 2), (200, 201, 201), (201, 409, 201)] {
        let (world, ran) = with_gadget(disturb).await;
        let body = json!({"metadata": {"name": "w"}});
        world.send("POST", WIDGETS, &body).await.expect_failure(
            403,
            "Forbidden",
            "widgets.example.com \"w\" is forbidden: there is no gadget of that name",
        );
        world.send("POST", GADGETS, &body).await.expect_code(201);
        ran.store(0, Ordering::Relaxed);
        let answer = world.send("POST", WIDGETS, &body).await;
        assert_eq!((answer.code, ran.load(Ordering::Relaxed)), (code, runs), "{disturb} changes: {}", answer.text);
    }
}

/// Allows reading for every user.
#[derive(Debug)]
struct ReadOnly;

impl Authorizer for ReadOnly {
    fn authorize(&self, question: &generic_apiserver::authorization::Question<'_>) -> Result<(), String> {
        match question.verb {
            "get" | "list" | "watch" => Ok(()),
            _ if question.resource == "namespaces" => Ok(()),
            _ => Err(String::new()),
        }
    }
}

#[tokio::test]
async fn the_authorizer_sees_verb_resource_and_user() {
    let world = World::with(|builder| builder.authorizer(ReadOnly)).await;
    world.get(WIDGETS).await.expect_code(200);
    let body = json!({"metadata": {"name": "w"}});
    let status = world.send("POST", WIDGETS, &body).await.expect_failure(
        403,
        "Forbidden",
        "widgets.example.com is forbidden: User \"admin\" cannot create resource \"widgets\" in API group \
         \"example.com\" in the namespace \"n\"",
    );
    assert_eq!(status["details"], json!({"group": "example.com", "kind": "widgets"}));
    world.patch("merge-patch+json", &format!("{WIDGETS}/w/status"), &body).await.expect_failure(
        403,
        "Forbidden",
        "widgets.example.com \"w\" is forbidden: User \"admin\" cannot patch resource \"widgets/status\" in API group \
         \"example.com\" in the namespace \"n\"",
    );
}
