// SPDX-License-Identifier: Apache-2.0
//! Servers of several releases on one log: an older one does not know a field, which has a default.

use std::sync::Arc;

use apimachinery::catalogue::{FieldDefault, ReleasedField, ResourceInfo};
use apimachinery::release::{Release, Releases};
use bytes::Bytes;
use eventlog::{Append, EventLog as _, Expect, Key, MemoryLog, Sections, Verb};
use futures::FutureExt as _;
use http_body_util::BodyExt as _;
use process::Body;
use serde_json::{Value, json};

use crate::support::{Widget, WidgetStrategy, World, widgets};

const PAINTED: &str = "/clusters/a/apis/example.com/v1/namespaces/n/painted";

/// Widgets whose color is unknown before release 2.
fn painted() -> ResourceInfo {
    const FIELDS: &[ReleasedField] =
        &[ReleasedField { path: &["spec", "color"], releases: Releases::since(2), default: FieldDefault::WithParent }];
    ResourceInfo { plural: "painted", fields: FIELDS, ..widgets() }
}

async fn server(log: &MemoryLog, release: Release) -> World {
    World::on(log.clone(), |builder| builder.release(release).resource::<Widget>(&painted(), WidgetStrategy)).await
}

/// Returns the specification of widget `w` as it is stored.
fn stored(log: &MemoryLog) -> String {
    let [cluster, namespace, name] = ["a", "n", "w"].map(Into::into);
    let key = Key { cluster, resource: "example.com/painted".into(), namespace, name };
    let (_, object) = log.object(&key).expect("an object");
    String::from_utf8(object.parts[3].to_vec()).expect("text")
}

#[tokio::test]
async fn defaults_of_unknown_fields_are_neither_stored_nor_shown() {
    let log = MemoryLog::new();
    let old = server(&log, Release(1)).await;
    let spec = |answer: &Value| answer["spec"].clone();
    let body = json!({"metadata": {"name": "w"}, "spec": {"size": 1}});
    let tried = old.send("POST", &format!("{PAINTED}?dryRun=All"), &body).await.expect_code(201);
    assert_eq!(spec(&tried), json!({"size": 1}));
    let created = old.send("POST", &format!("{PAINTED}?fieldManager=me"), &body).await.expect_code(201);
    assert_eq!(spec(&created), json!({"size": 1}));
    assert_eq!(created["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:spec": {"f:size": {}}}));
    assert_eq!(stored(&log), r#","spec":{"size":1}"#);

    let path = format!("{PAINTED}/w");
    let answer = old.patch("merge-patch+json", &path, &json!({"spec": {"size": 2}})).await;
    assert_eq!(answer.headers.get("warning"), None, "only the server itself has set the field");
    assert_eq!(spec(&answer.expect_code(200)), json!({"size": 2}));
    assert_eq!(stored(&log), r#","spec":{"size":2}"#);
}

#[tokio::test]
async fn defaults_of_unknown_fields_change_no_specification() {
    let log = MemoryLog::new();
    let path = format!("{PAINTED}/w");
    let one = server(&log, Release(1)).await;
    let body = json!({"metadata": {"name": "w"}, "spec": {"size": 1}});
    one.send("POST", PAINTED, &body).await.expect_code(201);
    // The server that created the object, one that reads it from the log, and one that knows the field.
    for (label, world) in [one, server(&log, Release(1)).await, server(&log, Release::UNION).await].iter().enumerate() {
        let labels = json!({"metadata": {"labels": {"label": label.to_string()}}});
        for type_ in ["merge-patch+json", "strategic-merge-patch+json"] {
            let answer = world.patch(type_, &path, &labels).await.expect_code(200);
            assert_eq!(answer["metadata"]["generation"], 1, "{label} {type_}");
        }
        let mut whole = world.get(&path).await.expect_code(200);
        whole["metadata"]["labels"]["put"] = json!(label.to_string());
        let answer = world.send("PUT", &path, &whole).await.expect_code(200);
        assert_eq!(answer["metadata"]["generation"], 1, "{label} PUT");
    }
    let whole = r#","spec":{"size":1,"color":"grey"}"#;
    assert_eq!(stored(&log), whole, "the server that knows the field stores its default with the first change");
}

#[tokio::test]
async fn an_unknown_field_that_a_newer_server_has_set_stays() {
    let log = MemoryLog::new();
    let path = format!("{PAINTED}/w");
    let new = server(&log, Release::UNION).await;
    let body = json!({"metadata": {"name": "w"}, "spec": {"size": 1, "color": "blue"}});
    new.send("POST", PAINTED, &body).await.expect_code(201);
    let old = server(&log, Release(1)).await;
    let answer = old.patch("merge-patch+json", &path, &json!({"spec": {"size": 2}})).await.expect_code(200);
    assert_eq!(answer["spec"], json!({"size": 2}));
    assert_eq!(stored(&log), r#","spec":{"size":2,"color":"blue"}"#);
}

/// Returns the next frame of a watch, which is available.
fn next(watch: &mut Body) -> Value {
    let frame = watch.frame().now_or_never().flatten().expect("a frame").expect("no error");
    let frame = frame.into_data().expect("data");
    serde_json::from_slice(frame.split(|byte| *byte == b'\n').next().expect("a line")).expect("JSON")
}

#[tokio::test]
async fn objects_of_older_releases_show_later_defaults() {
    let log = MemoryLog::new();
    let path = format!("{PAINTED}/w");
    let old = server(&log, Release(1)).await;
    old.send("POST", PAINTED, &json!({"metadata": {"name": "w"}, "spec": {"size": 1}})).await.expect_code(201);
    let new = server(&log, Release::UNION).await;
    let whole = json!({"size": 1, "color": "grey"});
    let got = new.get(&path).await.expect_code(200);
    assert_eq!(got["spec"], whole);
    let list = new.get(PAINTED).await.expect_code(200);
    assert_eq!(list["items"][0]["spec"], whole);
    let (_, mut watch) = new.open("GET", &format!("{PAINTED}?watch=true"), &[], "").await;
    assert_eq!(next(&mut watch)["object"]["spec"], whole, "what was there");
    old.patch("merge-patch+json", &path, &json!({"spec": {"size": 2}})).await.expect_code(200);
    assert_eq!(new.get(&path).await.expect_code(200)["spec"]["size"], 2);
    assert_eq!(
        next(&mut watch)["object"]["spec"],
        json!({"size": 2, "color": "grey"}),
        "what the older server changes"
    );
    assert_eq!(stored(&log), r#","spec":{"size":2}"#, "to read is no write");
    let answer = new.patch("merge-patch+json", &path, &json!({"spec": {"color": "grey"}})).await.expect_code(200);
    assert_eq!(answer["metadata"]["generation"], 2, "nor is it a change to say what is the default");
}

/// Specifications of widget `w` that servers of both releases show to a read; a watch must show the same.
async fn shown(servers: &[World; 2], watches: &mut [Body; 2]) -> [Value; 2] {
    let mut shown = [Value::Null, Value::Null];
    for ((world, watch), shown) in servers.iter().zip(watches).zip(&mut shown) {
        *shown = world.get(&format!("{PAINTED}/w")).await.expect_code(200)["spec"].clone();
        assert_eq!(next(watch)["object"]["spec"], *shown, "a watch shows what a read shows");
    }
    shown
}

#[tokio::test]
async fn each_release_shows_its_fields_of_all_writes() {
    let log = MemoryLog::new();
    let path = format!("{PAINTED}/w");
    let servers = [server(&log, Release(1)).await, server(&log, Release(2)).await];
    let [old, new] = &servers;
    let mut watches = Vec::new();
    for world in &servers {
        watches.push(world.open("GET", &format!("{PAINTED}?watch=true"), &[], "").await.1);
    }
    let mut watches: [Body; 2] = watches.try_into().expect("two watches");
    let create = |spec: Value| json!({"metadata": {"name": "w"}, "spec": spec});
    new.send("POST", PAINTED, &create(json!({"size": 1, "color": "blue"}))).await.expect_code(201);
    assert_eq!(shown(&servers, &mut watches).await, [json!({"size": 1}), json!({"size": 1, "color": "blue"})]);
    for (size, color, writer, change) in [
        (2, "blue", old, json!({"size": 2})),
        (3, "blue", old, json!({"size": 3})),
        (4, "red", new, json!({"size": 4, "color": "red"})),
        (5, "red", old, json!({"size": 5})),
        (6, "grey", new, json!({"size": 6, "color": null})),
        (7, "grey", old, json!({"size": 7})),
    ] {
        let patch = json!({ "spec": change });
        let answer = writer.patch("merge-patch+json", &path, &patch).await.expect_code(200);
        let expected = [json!({"size": size}), json!({"size": size, "color": color})];
        assert_eq!(answer["spec"], expected[usize::from(std::ptr::eq(writer, new))]);
        assert_eq!(shown(&servers, &mut watches).await, expected, "{size}");
    }
    // A value that the older server kept for the object must not appear in another one of the same name.
    old.send("DELETE", &path, &Value::Null).await.expect_code(200);
    for (world, watch) in servers.iter().zip(&mut watches) {
        assert_eq!(world.get(&path).await.code, 404);
        assert_eq!(next(watch)["type"], "DELETED");
    }
    old.send("POST", PAINTED, &create(json!({"size": 8}))).await.expect_code(201);
    assert_eq!(shown(&servers, &mut watches).await, [json!({"size": 8}), json!({"size": 8, "color": "grey"})]);
    old.patch("merge-patch+json", &path, &json!({"spec": {"size": 9}})).await.expect_code(200);
    assert_eq!(shown(&servers, &mut watches).await, [json!({"size": 9}), json!({"size": 9, "color": "grey"})]);
    assert_eq!(stored(&log), r#","spec":{"size":9}"#);
}

/// Appends entries of an object of an unknown resource, so many that a server loads the state instead of reading them.
async fn lengthen(log: &MemoryLog) {
    let key = Key::new("a", "example.com/others", "", "other");
    let (mut expect, mut verb) = (Expect::Absent, Verb::Create);
    for sequence in 0..8_200 {
        let object = Sections {
            parts: [Bytes::from(sequence.to_string()), Bytes::new(), Bytes::new(), Bytes::new(), Bytes::new()],
        };
        let append = Append {
            key: key.clone(),
            expect,
            guards: Vec::new(),
            verb,
            object,
            volatile: false,
            actor: Arc::default(),
            time: chrono::DateTime::UNIX_EPOCH,
            writer: (7, sequence),
        };
        let revision = log.append(append).await.expect("it is as expected").revision;
        (expect, verb) = (Expect::Revision(revision), Verb::Update);
    }
}

#[tokio::test]
async fn a_restarted_server_shows_its_fields_of_stored_objects() {
    let log = MemoryLog::new();
    let path = format!("{PAINTED}/w");
    for is_long in [false, true] {
        if is_long {
            lengthen(&log).await;
        }
        let name = if is_long { "later" } else { "w" };
        let colored = json!({"metadata": {"name": "colored"}, "spec": {"size": 1, "color": "blue"}});
        if !is_long {
            server(&log, Release(2)).await.send("POST", PAINTED, &colored).await.expect_code(201);
        }
        let plain = json!({"metadata": {"name": name}, "spec": {"size": 1}});
        server(&log, Release(1)).await.send("POST", PAINTED, &plain).await.expect_code(201);
        // A restart of each release, with a short log that is read, and with a long one whose state is loaded.
        let (old, new) = (server(&log, Release(1)).await, server(&log, Release(2)).await);
        for (world, of_plain, of_colored) in [
            (&old, json!({"size": 1}), json!({"size": 1})),
            (&new, json!({"size": 1, "color": "grey"}), json!({"size": 1, "color": "blue"})),
        ] {
            assert_eq!(world.get(&path).await.expect_code(200)["spec"], of_plain, "{is_long}");
            assert_eq!(
                world.get(&format!("{PAINTED}/colored")).await.expect_code(200)["spec"],
                of_colored,
                "{is_long}"
            );
        }
        let label = json!({"metadata": {"labels": {"restarted": is_long.to_string()}}});
        let labelled = old.patch("merge-patch+json", &format!("{PAINTED}/colored"), &label).await.expect_code(200);
        assert_eq!(labelled["spec"], json!({"size": 1}));
        let whole = new.get(&format!("{PAINTED}/colored")).await.expect_code(200);
        assert_eq!(whole["spec"], json!({"size": 1, "color": "blue"}), "the older server has put it back");
    }
}
