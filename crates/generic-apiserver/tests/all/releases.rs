// SPDX-License-Identifier: Apache-2.0
//! Servers of several releases beside each other: an older one does not know a field, which has a default.

use apimachinery::catalogue::{FieldDefault, ReleasedField, ResourceInfo};
use apimachinery::release::{Release, Releases};
use eventlog::{Key, MemoryLog};
use futures::FutureExt as _;
use http_body_util::BodyExt as _;
use process::Body;
use serde_json::{Value, json};

use crate::support::{Widget, WidgetStrategy, World, widgets};

const PAINTED: &str = "/clusters/a/apis/example.com/v1/namespaces/n/painted";

/// Widgets of which releases before 2 know no color.
fn painted() -> ResourceInfo {
    const FIELDS: &[ReleasedField] =
        &[ReleasedField { path: &["spec", "color"], releases: Releases::since(2), default: FieldDefault::WithParent }];
    ResourceInfo { plural: "painted", fields: FIELDS, ..widgets() }
}

async fn server(log: &MemoryLog, release: Release) -> World {
    World::on(log.clone(), |builder| builder.release(release).resource::<Widget>(&painted(), WidgetStrategy)).await
}

/// The specification of widget `w` as it is stored.
fn stored(log: &MemoryLog) -> String {
    let [cluster, namespace, name] = ["a", "n", "w"].map(Into::into);
    let key = Key { cluster, resource: "example.com/painted".into(), namespace, name };
    let (_, object) = log.object(&key).expect("an object");
    String::from_utf8(object.parts[3].to_vec()).expect("text")
}

#[tokio::test]
async fn a_default_of_an_unknown_field_is_not_stored_and_not_shown() {
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
    assert_eq!(answer.headers.get("warning"), None, "nobody but the server itself has set the field");
    assert_eq!(spec(&answer.expect_code(200)), json!({"size": 2}));
    assert_eq!(stored(&log), r#","spec":{"size":2}"#);
}

#[tokio::test]
async fn a_default_of_an_unknown_field_is_no_change_of_the_specification() {
    let log = MemoryLog::new();
    let path = format!("{PAINTED}/w");
    let one = server(&log, Release(1)).await;
    let body = json!({"metadata": {"name": "w"}, "spec": {"size": 1}});
    one.send("POST", PAINTED, &body).await.expect_code(201);
    // The one that made the object, one that reads it from the log, and one that knows the field.
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

/// The next frame of a watch, which is there.
fn next(watch: &mut Body) -> Value {
    let frame = watch.frame().now_or_never().flatten().expect("a frame").expect("no error");
    let frame = frame.into_data().expect("data");
    serde_json::from_slice(frame.split(|byte| *byte == b'\n').next().expect("a line")).expect("JSON")
}

#[tokio::test]
async fn an_object_that_an_older_release_stored_shows_the_default_of_a_later_field() {
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
