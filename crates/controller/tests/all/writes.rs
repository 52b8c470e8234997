// SPDX-License-Identifier: Apache-2.0
//! Requests of clients: merge patches, Events, Leases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api::kubernetes::coordination::Lease;
use apimachinery::meta::ObjectMeta;
use chrono::TimeDelta;
use controller::leadership::{Election, Leadership};
use controller::{Action, Api, EventType, ObjectRef, Recorder};
use serde_json::json;

use crate::support::{self, Refusal, World, config_map};

#[test]
fn an_update_patches_the_differences_to_the_read_version() {
    World::run(|world| async move {
        let api = world.api();
        let stored = api.create(&config_map("a", "1")).await.expect("created");
        world.server.requests();
        let mut new = stored.clone();
        new.data.insert("more".to_owned(), "2".to_owned());
        new.metadata.labels.insert("l".to_owned(), "v".to_owned());
        let updated = api.update(&stored, &new).await.expect("updated");
        assert_eq!(updated.data, new.data);
        assert_eq!(
            world.server.requests(),
            [
                r#"PATCH /api/v1/namespaces/x/configmaps/a {"data":{"more":"2"},"metadata":{"labels":{"l":"v"},"resourceVersion":"1"}}"#
            ]
        );
        let error = api.update(&stored, &new).await.expect_err("the version is old");
        assert!(error.is_conflict(), "{error}");
    });
}

#[test]
fn equal_content_is_no_request() {
    World::run(|world| async move {
        let api = world.api();
        let stored = api.create(&config_map("a", "1")).await.expect("created");
        world.server.requests();
        let mut new = stored.clone();
        new.metadata.resource_version = "99".to_owned();
        api.update(&stored, &new).await.expect("nothing to do");
        api.update_status(&stored, &new).await.expect("nothing to do");
        assert_eq!(world.server.requests(), Vec::<String>::new());
    });
}

#[test]
fn create_or_update_keeps_foreign_fields() {
    World::run(|world| async move {
        let api = Api::all(&world.context, "garden");
        let mut wanted = config_map("a", "1");
        wanted.metadata.labels.insert("mine".to_owned(), "1".to_owned());
        api.create_or_update(&wanted).await.expect("created");
        let mut other = api.in_namespace_of(&wanted).get("a").await.expect("there");
        let before = other.clone();
        other.metadata.labels.insert("theirs".to_owned(), "1".to_owned());
        api.update(&before, &other).await.expect("updated");
        world.server.requests();
        api.create_or_update(&wanted).await.expect("nothing to do");
        assert_eq!(world.server.requests(), ["GET /api/v1/namespaces/x/configmaps/a"]);

        wanted.data = [("other".to_owned(), "2".to_owned())].into();
        let written = api.create_or_update(&wanted).await.expect("updated");
        assert_eq!(written.data, wanted.data, "what the object no longer says is gone");
        assert_eq!(written.metadata.label("theirs"), Some("1"));
    });
}

#[test]
fn a_refusal_keeps_its_reason() {
    World::run(|world| async move {
        world.server.refuse(Refusal::Status(422, "Invalid"));
        let error = world.api().create(&config_map("a", "1")).await.expect_err("refused");
        assert_eq!(error.reason(), "Invalid");
        assert_eq!(world.api().get_opt("a").await.expect("an answer").map(|it| it.data), None);
    });
}

#[test]
fn an_event_is_written_once_and_counted_after() {
    World::run(|world| async move {
        let recorder = Recorder::named(&world.context, "garden", "shoot-scheduler");
        let about = ObjectRef {
            api_version: "core.gardener.cloud/v1beta1".to_owned(),
            kind: "Shoot".to_owned(),
            namespace: "x".to_owned(),
            name: "local".to_owned(),
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
        };
        let publish = |message: &'static str| {
            let (recorder, about) = (recorder.clone(), about.clone());
            async move { recorder.publish(&about, EventType::Warning, "SchedulingFailed", message).await }
        };
        publish("no").await.expect("written");
        world.pass(TimeDelta::seconds(90)).await;
        publish("no").await.expect("counted");
        publish("never").await.expect("written");

        let events = world.server.all();
        assert_eq!(events.len(), 2);
        let name = events[0]["metadata"]["name"].as_str().expect("a name").to_owned();
        let (prefix, hex) = name.split_once('.').expect("a name and an instant");
        assert_eq!(prefix, "local");
        let nanoseconds = i64::from_str_radix(hex, 16).expect("hexadecimal");
        assert_eq!(nanoseconds / 1_000_000, support::start().timestamp_millis());
        assert_eq!(
            events[0],
            json!({
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": "x", "uid": "uid-1", "resourceVersion": "2"},
                "involvedObject": {
                    "kind": "Shoot",
                    "namespace": "x",
                    "name": "local",
                    "uid": "u",
                    "apiVersion": "core.gardener.cloud/v1beta1",
                    "resourceVersion": "7",
                },
                "reason": "SchedulingFailed",
                "message": "no",
                "source": {"component": "shoot-scheduler"},
                "firstTimestamp": "2023-07-27T20:00:00Z",
                "lastTimestamp": "2023-07-27T20:01:30Z",
                "count": 2,
                "type": "Warning",
                "eventTime": null,
                "reportingComponent": "shoot-scheduler",
                "reportingInstance": "",
            })
        );
        assert_eq!(events[1]["message"], "never");
        assert_eq!(events[1]["count"], 1);
    });
}

#[test]
fn events_with_actions_become_series_of_events_k8s_io() {
    World::run(|world| async move {
        let about = ObjectRef { namespace: "x".to_owned(), name: "local".to_owned(), ..ObjectRef::default() };
        let recorder = Recorder::named(&world.context, "garden", "shoot-controller").with_actions(true);
        let publish = |message: &'static str| {
            let (recorder, about) = (recorder.clone(), about.clone());
            async move {
                recorder.publish_action(&about, EventType::Normal, "Reconciling", Action::Reconcile, message).await
            }
        };
        publish("first").await.expect("written");
        world.pass(TimeDelta::seconds(90)).await;
        publish("second").await.expect("counted");
        let requests = world.server.requests();
        let path = "/apis/events.k8s.io/v1/namespaces/x/events";
        assert!(requests[0].starts_with("POST") && requests[0].contains(path), "{requests:?}");
        assert!(requests[1].starts_with("PATCH") && requests[1].contains(path), "{requests:?}");
        let mut event = world.server.all().remove(0);
        event["metadata"] = json!(null);
        let instance = format!("shoot-controller-{}", world.context.identity.instance);
        assert_eq!(
            event,
            json!({
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": null,
                "eventTime": "2023-07-27T20:00:00.000000Z",
                "series": {"count": 2, "lastObservedTime": "2023-07-27T20:01:30.000000Z"},
                "reportingController": "shoot-controller",
                "reportingInstance": instance,
                "action": "Reconcile",
                "reason": "Reconciling",
                "regarding": {"namespace": "x", "name": "local"},
                "note": "first",
                "type": "Normal",
            })
        );
    });
}

#[test]
fn events_with_actions_of_older_releases_are_those_of_core() {
    World::run(|world| async move {
        let about = ObjectRef { namespace: "x".to_owned(), name: "local".to_owned(), ..ObjectRef::default() };
        let recorder = Recorder::named(&world.context, "garden", "shoot-controller").with_actions(false);
        let written = recorder.publish_action(&about, EventType::Normal, "R", Action::Reconcile, "m").await;
        written.expect("written");
        let event = world.server.all().remove(0);
        assert_eq!((&event["apiVersion"], &event["count"]), (&json!("v1"), &json!(1)));
        assert_eq!((&event["action"], &event["source"]["component"]), (&json!(null), &json!("shoot-controller")));
    });
}

#[test]
fn an_event_deleted_by_the_server_is_created_again() {
    World::run(|world| async move {
        let recorder = Recorder::new(&world.context, "garden");
        let about = ObjectRef { namespace: "x".to_owned(), name: "local".to_owned(), ..ObjectRef::default() };
        recorder.publish(&about, EventType::Normal, "R", "m").await.expect("written");
        world.server.requests();
        world.server.refuse(Refusal::Status(404, "NotFound"));
        world.server.refuse(Refusal::Status(409, "AlreadyExists"));
        recorder.publish(&about, EventType::Normal, "R", "m").await.expect("an Event that exists is no failure");
        let requests = world.server.requests();
        assert!(requests[0].starts_with("PATCH") && requests[1].starts_with("POST"), "{requests:?}");
        assert!(requests[1].contains(r#""count":2"#));
    });
}

#[test]
fn sources_that_write_at_one_instant_use_different_names() {
    World::run(|world| async move {
        let about = ObjectRef { namespace: "x".to_owned(), name: "local".to_owned(), ..ObjectRef::default() };
        for source in ["a", "b", "c"] {
            let recorder = Recorder::named(&world.context, "garden", source);
            recorder.publish(&about, EventType::Normal, "R", "m").await.expect("written");
        }
        assert_eq!(world.server.all().len(), 3);
    });
}

fn election() -> Election {
    Election {
        cluster: "garden".to_owned(),
        namespace: "x".to_owned(),
        name: "election".to_owned(),
        registry: "garden".to_owned(),
        registrations: "registrations".to_owned(),
        selector: "component=test".to_owned(),
    }
}

/// Registers a process by name.
async fn register(world: &World, name: &str) {
    let mut lease = Lease { metadata: ObjectMeta::named("registrations", name), ..Lease::default() };
    lease.metadata.labels.insert("component".to_owned(), "test".to_owned());
    lease.spec.holder_identity = Some(name.to_owned());
    Api::namespaced(&world.context, "garden", "registrations").create(&lease).await.expect("registered");
}

#[test]
fn a_single_process_leads_at_once_and_after_restarts() {
    World::run(|world| async move {
        register(&world, "test-0").await;
        let first = Leadership::acquire(&world.context, election()).await;
        let lease = world.server.stored("election").expect("a Lease");
        assert_eq!(lease["spec"]["holderIdentity"], "test-0");
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
        drop(first);
        Leadership::acquire(&world.context, election()).await;
        assert_eq!(world.server.stored("election").expect("a Lease")["spec"]["leaseTransitions"], 0);
        assert_eq!(world.clock.next_timer(), None);
    });
}

#[test]
fn another_process_leads_when_the_first_is_unregistered() {
    World::run(|world| async move {
        register(&world, "test-0").await;
        let leadership = Leadership::acquire(&world.context, election()).await;
        register(&world, "test-1").await;
        let mut other = world.context.clone();
        other.identity.instance = "test-1".into();
        let (leads, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (noted, context) = (leads.clone(), other.clone());
        other.tasks.spawn(async move {
            Leadership::acquire(&context, election()).await;
            noted.store(true, Ordering::Relaxed);
        });
        let noted = lost.clone();
        world.context.tasks.spawn(async move {
            leadership.lost().await;
            noted.store(true, Ordering::Relaxed);
        });
        world.settle().await;
        world.pass_wall(TimeDelta::hours(1)).await;
        assert!(!leads.load(Ordering::Relaxed), "the first one is registered");
        world.server.remove_from("registrations", "test-0");
        world.settle().await;
        assert!(leads.load(Ordering::Relaxed) && lost.load(Ordering::Relaxed));
        let lease = world.server.stored("election").expect("a Lease");
        assert_eq!(lease["spec"]["holderIdentity"], "test-1");
        assert_eq!(lease["spec"]["leaseTransitions"], 1);
        assert_eq!(world.clock.fired(), 0, "an election takes no landscape time");
    });
}
