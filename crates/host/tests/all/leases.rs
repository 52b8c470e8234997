// SPDX-License-Identifier: Apache-2.0
//! Leases of gardenlets, listed and watched by clients outside of the landscape.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use chrono::TimeDelta;
use clock::{Clock, Instant, SimulatedClock, TimeSource};
use generic_apiserver::Foundation;
use host::Host;
use http_body::Body as _;
use http_body_util::BodyExt;
use process::transport::{Body, full};
use process::{Transport, User};
use serde_json::{Value, json};

use crate::support::{foundation, get, host_on, send};

const NAMESPACE: &str = "/clusters/garden/apis/coordination.k8s.io/v1/namespaces/gardener-system-seed-lease/leases";
const EVERYWHERE: &str = "/clusters/garden/apis/coordination.k8s.io/v1/leases";

/// Lists and watches as clients send them: path, query of the list, query of the watch without its resource version.
const REFLECTORS: [(&str, &str, &str, &str); 6] = [
    (
        "client-go",
        EVERYWHERE,
        "limit=500&resourceVersion=0",
        "allowWatchBookmarks=true&timeout=7m13s&timeoutSeconds=433&watch=true",
    ),
    ("client-go, a namespace", NAMESPACE, "resourceVersion=0", "allowWatchBookmarks=true&watch=true"),
    ("kube-rs", NAMESPACE, "&limit=500", "&watch=true&timeoutSeconds=290&allowWatchBookmarks=true"),
    ("the Python client", NAMESPACE, "", "watch=True"),
    (
        "kubectl, one by name",
        NAMESPACE,
        "fieldSelector=metadata.name%3Dlocal",
        "fieldSelector=metadata.name%3Dlocal&watch=1",
    ),
    ("by labels", EVERYWHERE, "labelSelector=seed%3Dlocal", "labelSelector=seed%3Dlocal&watch=true"),
];

/// A host with a Lease of the running gardenlet `local`, one of gardenlet `gone`, which has ended, and one of another
/// owner; with landscape time and wall time.
async fn world() -> (Host, SimulatedClock, SimulatedClock) {
    let start: Instant = "2023-07-27T20:00:00Z".parse().expect("an instant");
    let (time, wall) = (SimulatedClock::new(start), SimulatedClock::new(start));
    let clocks = (Clock::new(time.clone()), Clock::new(wall.clone()));
    let host = host_on(Foundation { clock: clocks.0, wall: clocks.1, ..foundation() }).await;
    let namespace = json!({"metadata": {"name": "gardener-system-seed-lease"}});
    assert_eq!(send(&host, "POST", "/clusters/garden/api/v1/namespaces", &[], namespace.to_string()).await.code, 201);
    let other = NAMESPACE.replace("gardener-system-seed-lease", "default");
    for (path, name) in [(NAMESPACE, "local"), (NAMESPACE, "gone"), (&*other, "other")] {
        let lease = json!({
            "metadata": {"name": name, "labels": {"seed": name}},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 2},
        });
        assert_eq!(send(&host, "POST", path, &[], lease.to_string()).await.code, 201, "{name}");
    }
    host.start_renewing("local", "pod-1").await.expect("renewed");
    host.start_renewing("gone", "pod-2").await.expect("renewed");
    host.stop_renewing("gone", "pod-2").await.expect("no longer renewed");
    (host, time, wall)
}

/// Advances time to an instant and fires the timers on the way.
fn pass(clock: &SimulatedClock, to: Instant) {
    clock.advance_to(to);
    while clock.now() < to {
        clock.fire_next(None);
        clock.advance_to(to);
    }
}

fn transport(host: &Host) -> Transport {
    host.transport(User { name: "admin".into(), groups: vec!["system:masters".into()], component: None })
}

async fn watch(host: &Host, path: &str, query: &str) -> Body {
    let request = http::Request::builder().uri(format!("{path}?{query}")).body(full("")).expect("a request");
    let response = transport(host).send(request).await.expect("a response");
    assert_eq!(response.status(), 200, "{path}?{query}");
    response.into_body()
}

/// Type, name, resource version and renewal of the waiting events.
fn waiting(body: &mut Body) -> Vec<(String, String, u64, String)> {
    let mut text = String::new();
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut *body).poll_frame(&mut cx) {
        text.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap_or_default()));
    }
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let object = &event["object"];
        assert_eq!((&object["apiVersion"], &object["kind"]), (&json!("coordination.k8s.io/v1"), &json!("Lease")));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = text(&object["metadata"]["resourceVersion"]).parse().expect("a number");
        (text(&event["type"]), text(&object["metadata"]["name"]), version, text(&object["spec"]["renewTime"]))
    };
    text.lines().filter(|line| !line.contains("BOOKMARK")).map(event).collect()
}

#[tokio::test]
async fn a_list_and_a_watch_see_an_hour_of_renewals() {
    for (client, path, list, query) in REFLECTORS {
        let (host, time, wall) = world().await;
        let list = get(&host, &format!("{path}?{list}")).await.json();
        let listed = list["items"].as_array().expect("items").iter().find(|item| item["metadata"]["name"] == "local");
        assert_eq!(listed.expect("listed")["spec"]["renewTime"], "2023-07-27T20:00:00.000000Z", "{client}");
        let version = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
        let mut body = watch(&host, path, &format!("{query}&resourceVersion={version}")).await;
        let mut last = version.parse::<u64>().expect("a number");
        let start = time.now();
        let first = ("MODIFIED".to_owned(), "local".to_owned(), last, "2023-07-27T20:00:00.000000Z".to_owned());
        assert_eq!(waiting(&mut body), [first], "{client}: the list may be old");
        for step in 1..=360 {
            let now = start + TimeDelta::seconds(10 * step);
            time.advance_to(now);
            pass(&wall, now);
            let renewed = now.format("%Y-%m-%dT%H:%M:%S.000000Z").to_string();
            let seen = waiting(&mut body);
            let expected = ("MODIFIED".to_owned(), "local".to_owned(), last, renewed);
            assert_eq!(seen, [expected], "{client}, {step}");
            // Another object is written, and a watch can resume from its revision.
            if step % 20 == 0 {
                let map = json!({"metadata": {"generateName": "m-"}});
                let path = "/clusters/garden/api/v1/namespaces/default/configmaps";
                assert_eq!(send(&host, "POST", path, &[], map.to_string()).await.code, 201);
                last = host.server().position().0;
                drop(body);
                body = watch(&host, path_of(client), &format!("{query}&resourceVersion={last}")).await;
            }
        }
        host.stop_renewing("local", "pod-1").await.expect("stored");
        let seen = waiting(&mut body);
        assert_eq!((seen.len(), seen[0].3.as_str()), (1, "2023-07-27T21:00:00.000000Z"), "{client}");
        pass(&wall, start + TimeDelta::hours(2));
        assert_eq!(waiting(&mut body), [], "{client}: its owner has gone");
    }
}

fn path_of(client: &str) -> &'static str {
    REFLECTORS.iter().find(|row| row.0 == client).expect("a client").1
}

/// Source: k8s.io/apiserver pkg/endpoints/request/requestinfo.go: the query parameter opens watches of collections
/// only; the deprecated path is another route.
#[tokio::test]
async fn a_named_lease_is_no_watch() {
    let (host, ..) = world().await;
    let lease = get(&host, &format!("{NAMESPACE}/local")).await.json();
    assert_eq!(lease["spec"]["renewTime"], "2023-07-27T20:00:00.000000Z");
    assert_eq!(get(&host, &format!("{NAMESPACE}/local?watch=true")).await.json(), lease);
    let protobuf = [("accept", "application/vnd.kubernetes.protobuf")];
    let object = send(&host, "GET", &format!("{NAMESPACE}/local"), &protobuf, String::new()).await;
    let asked = send(&host, "GET", &format!("{NAMESPACE}/local?watch=true"), &protobuf, String::new()).await;
    assert_eq!((asked.code, &asked.headers["content-type"]), (200, &object.headers["content-type"]));
    assert!(!asked.body.is_empty() && asked.body == object.body);
    let path = NAMESPACE.replace("/v1/", "/v1/watch/");
    let mut body = watch(&host, &format!("{path}/local"), "").await;
    let seen = waiting(&mut body);
    assert_eq!(seen.first().map(|(type_, name, ..)| (type_.as_str(), name.as_str())), Some(("ADDED", "local")));
    assert!(seen.iter().all(|(_, name, ..)| name == "local"), "{seen:?}");
}

#[tokio::test]
async fn a_watch_from_long_ago_sees_renewals() {
    let (host, time, wall) = world().await;
    let start = time.now();
    let from = get(&host, NAMESPACE).await.json()["metadata"]["resourceVersion"].as_str().expect("one").to_owned();
    for query in ["watch=true&resourceVersion=1".to_owned(), format!("watch=true&resourceVersion={from}")] {
        let mut body = watch(&host, NAMESPACE, &query).await;
        let _ = waiting(&mut body);
        pass(&wall, wall.now() + TimeDelta::seconds(10));
        let names: Vec<String> = waiting(&mut body).into_iter().map(|event| event.1).collect();
        assert_eq!(names, ["local"], "{query}");
    }
    // While landscape time runs faster than wall time, so do the renewals.
    let mut body = watch(&host, NAMESPACE, &format!("watch=true&resourceVersion={from}")).await;
    assert_eq!(waiting(&mut body).len(), 1);
    assert_eq!(waiting(&mut body), []);
    time.advance_to(start + TimeDelta::hours(1));
    pass(&wall, wall.now() + TimeDelta::seconds(1));
    assert_eq!(waiting(&mut body)[0].3, "2023-07-27T21:00:00.000000Z");
}

/// A Lease as components read it.
async fn stored(host: &Host, name: &str) -> Value {
    let gardenlet = Some(("gardenlet".into(), "v1.120.0".into()));
    let user = User { name: "gardenlet".into(), groups: vec!["system:masters".into()], component: gardenlet };
    let request = http::Request::get(format!("{NAMESPACE}/{name}")).body(full("")).expect("a request");
    let response = host.transport(user).send(request).await.expect("a response");
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    serde_json::from_slice(&body).expect("JSON")
}

#[tokio::test]
async fn no_client_takes_a_lease_from_its_running_owner() {
    let (host, time, _) = world().await;
    time.advance_to(time.now() + TimeDelta::minutes(5));
    let now = json!("2023-07-27T20:05:00.000000Z");
    let path = format!("{NAMESPACE}/local");
    let merge = json!({"spec": {"renewTime": "2023-07-27T19:00:00.000000Z"}});
    let mut replaced = get(&host, &path).await.json();
    assert_eq!(replaced["spec"]["renewTime"], now);
    replaced["metadata"]["annotations"] = json!({"terrarium.dev/owner-has-gone": "true", "a": "b"});
    for (method, type_, body) in [
        ("PUT", "application/json", replaced),
        ("PATCH", "application/merge-patch+json", merge.clone()),
        ("PATCH", "application/merge-patch+json", json!({"spec": {"holderIdentity": "me"}})),
        ("PATCH", "application/merge-patch+json", json!({"spec": {"leaseDurationSeconds": 9}})),
    ] {
        let answer = send(&host, method, &path, &[("content-type", type_)], body.to_string()).await;
        assert_eq!((answer.code, &answer.json()["spec"]["renewTime"]), (200, &now), "{body}");
        let stored = stored(&host, "local").await;
        let expected = json!({"holderIdentity": "local", "leaseDurationSeconds": 2});
        assert_eq!(stored["spec"], expected, "{body}");
        assert_eq!(stored["metadata"]["annotations"], json!({"a": "b"}), "{body}");
    }
    // Once its owner has ended, other clients renew it, as a gardenlet outside of the landscape does.
    host.stop_renewing("local", "pod-1").await.expect("stored");
    assert_eq!(stored(&host, "local").await["spec"]["renewTime"], now);
    let patch = [("content-type", "application/merge-patch+json")];
    assert_eq!(send(&host, "PATCH", &path, &patch, merge.to_string()).await.code, 200);
    assert_eq!(stored(&host, "local").await["spec"]["renewTime"], merge["spec"]["renewTime"]);
}

#[tokio::test]
async fn a_write_without_a_renewal_renews_no_ownerless_lease() {
    let (host, time, _) = world().await;
    time.advance_to(time.now() + TimeDelta::minutes(5));
    let path = format!("{NAMESPACE}/gone");
    let patch = [("content-type", "application/merge-patch+json")];
    let omitted = json!({"spec": {"renewTime": null}});
    assert_eq!(send(&host, "PATCH", &path, &patch, omitted.to_string()).await.code, 200);
    assert_eq!(stored(&host, "gone").await["spec"]["renewTime"], "2023-07-27T20:00:00.000000Z");
    assert_eq!(send(&host, "DELETE", &path, &[], "").await.code, 200);
    let lease = json!({"metadata": {"name": "gone"}, "spec": {"holderIdentity": "gone"}});
    assert_eq!(send(&host, "POST", NAMESPACE, &[], lease.to_string()).await.code, 201);
    assert_eq!(stored(&host, "gone").await["spec"]["renewTime"], "2023-07-27T20:05:00.000000Z");
    // Its owner starts: the Lease of a gardenlet reads as renewed again.
    host.start_renewing("gone", "pod-2").await.expect("renewed");
    time.advance_to(time.now() + TimeDelta::minutes(5));
    assert_eq!(get(&host, &path).await.json()["spec"]["renewTime"], "2023-07-27T20:10:00.000000Z");
}

/// Waiting events as JSON, without bookmarks.
fn events(body: &mut Body) -> Vec<Value> {
    let mut text = String::new();
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut *body).poll_frame(&mut cx) {
        text.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap_or_default()));
    }
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    events.filter(|event| event["type"] != "BOOKMARK").collect()
}

#[tokio::test]
async fn renewals_have_the_form_of_the_watch() {
    for (form, query, kind, renewed_at) in [
        ("Table", "", "Table", ""),
        ("Table", "&includeObject=None", "Table", ""),
        ("Table", "&includeObject=Object", "Table", "/rows/0/object/spec/renewTime"),
        ("PartialObjectMetadata", "", "PartialObjectMetadata", ""),
    ] {
        let (host, time, wall) = world().await;
        let start = time.now();
        let accept = format!("application/json;as={form};v=v1;g=meta.k8s.io");
        let uri = format!("{NAMESPACE}?watch=true&fieldSelector=metadata.name%3Dlocal{query}");
        let request = http::Request::get(uri).header("accept", accept).body(full("")).expect("a request");
        let response = transport(&host).send(request).await.expect("a response");
        assert_eq!(response.status(), 200, "{form}{query}");
        let mut body = response.into_body();
        let first = events(&mut body);
        assert_eq!((first.len(), &first[0]["type"], &first[0]["object"]["kind"]), (1, &json!("ADDED"), &json!(kind)));
        assert_eq!(first[0]["object"]["columnDefinitions"].is_array(), kind == "Table", "{form}{query}");

        pass(&wall, start + TimeDelta::seconds(10));
        time.advance_to(start + TimeDelta::minutes(3));
        let next = events(&mut body);
        let event = next.first().expect("a renewal");
        assert_eq!((next.len(), &event["type"], &event["object"]["kind"]), (1, &json!("MODIFIED"), &json!(kind)));
        if kind == "Table" {
            assert_eq!(event["object"]["columnDefinitions"], Value::Null, "{query}");
            assert_eq!(event["object"]["rows"][0]["cells"], json!(["local", "local", "3m"]), "{query}");
        }
        if !renewed_at.is_empty() {
            assert_eq!(event["object"].pointer(renewed_at), Some(&json!("2023-07-27T20:03:00.000000Z")));
            let list = format!("{NAMESPACE}?fieldSelector=metadata.name%3Dlocal{query}");
            let accept = format!("application/json;as={form};v=v1;g=meta.k8s.io");
            let list = send(&host, "GET", &list, &[("accept", accept.as_str())], "").await.json();
            assert_eq!(list.pointer(renewed_at), Some(&json!("2023-07-27T20:03:00.000000Z")));
        }

        host.stop_renewing("local", "pod-1").await.expect("stored");
        let last = events(&mut body);
        assert_eq!((last.len(), &last[0]["object"]["kind"]), (1, &json!(kind)), "{form}{query}");
        time.advance_to(start + TimeDelta::hours(1));
        pass(&wall, start + TimeDelta::hours(1));
        assert_eq!(events(&mut body), Vec::<Value>::new(), "{form}{query}: its owner has gone");
    }
}
